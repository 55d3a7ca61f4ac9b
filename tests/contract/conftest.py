import pytest

from softwood.gradient import crisp_choice


@pytest.fixture(autouse=True)
def _few_folds(monkeypatch):
    """One-stage trees choose by 2 folds in place of 15: what is asked here does not depend on how well they choose."""
    monkeypatch.setattr(crisp_choice, "N_FOLDS", 2)
    monkeypatch.setattr(crisp_choice, "REPEATS", ())
