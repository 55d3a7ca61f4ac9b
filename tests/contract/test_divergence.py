"""Learning rates that are far too large: a finite model, or an error that names the parameter."""

import numpy as np
import pytest

from tests.contract.specs import SPECS
from tests.models import answer

RATES = [(spec, name) for spec in SPECS for name in sorted(spec.parameters) if name.endswith("learning_rate")]


@pytest.mark.parametrize(("spec", "name"), RATES, ids=str)
def test_a_learning_rate_that_is_too_large(spec, name):
    X, y = spec.table()
    other = {"max_iter": 40} if "max_iter" in spec.parameters else {}
    by_level = [{"growth": "level"}] if spec.is_kernel else []
    losses = [{"loss": loss} for loss in ("absolute_error", "poisson")] if "quantile" in spec.parameters else []
    y = y if spec.is_classifier else y - y.min()
    for rate in (10.0, 1e10, 1e300):
        for own in ({}, *by_level, *losses, *({**one, **two} for one in by_level for two in losses[1:])):
            model = spec.make(**other).fit(X, y)
            before = dict(vars(model))
            try:
                found = answer(model.set_params(**own, **{name: rate}).fit(X, y), X)
            except ValueError as error:
                assert f"{name!r}" in str(error), str(error)  # noqa: PT017 - most rates raise none
                assert {key: value for key, value in vars(model).items() if key.endswith("_")} == {
                    key: value for key, value in before.items() if key.endswith("_")
                }
            else:
                assert np.isfinite(found).all(), (own, rate)
