"""The models of `tests.golden.models` predict what they predicted when their predictions were stored."""

import numpy as np
import pytest

from tests.contract.specs import SPECS
from tests.golden.models import FILE, cases, predictions

STORED = dict(np.load(FILE))
# Training turns a difference in rounding between processors into another model; these models are only alike.
TRAINED = (
    "SoftTree",
    "OneStage",
    "Budding",
    "EndToEnd",
    "LinearDiscriminant",
    "SoftHoeffding",
    "SmoothStep",
    "StreamForest",
)


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_models_predict_what_they_predicted(spec):
    others = []
    for name, found in predictions(spec):
        expected = STORED[name]
        spread = max(np.ptp(expected), 1e-3)
        difference = np.abs(found - expected)
        if spec.name.startswith(TRAINED):
            is_same = np.median(difference) <= 0.1 * spread
        else:
            is_same = difference.max() <= 1e-7 * spread
        if not is_same:
            others.append(f"{name}: {difference.max():.3g} of {spread:.3g}")
    assert not others, "\n".join(others)


def test_every_case_is_stored():
    names = {f"{spec.name}, {name}" for spec in SPECS for name in cases(spec)}
    assert names == set(STORED)
