"""Errors of single cells: predictions given the errors are means over simulated readings.

The models are fitted to errors of single cells, weights, missing values, categories and, if they are classifiers, class
probabilities at once.
"""

import numpy as np
import pandas as pd
import pytest

from tests.contract.specs import SPECS

N_READINGS = 4000


def messy_table(spec, n=240):
    """A frame with missing values and categories; targets or class probabilities; weights; errors of single cells."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    signal = frame["a"] + (frame["b"] > 0)
    frame.loc[rng.random(n) < 0.1, "c"] = np.nan
    frame.insert(1, "kind", rng.choice(["u", "v", "w"], size=n))
    signal = (signal + (frame["kind"] == "u")).to_numpy()
    errors = pd.DataFrame(rng.uniform(0.1, 0.8, size=(n, 2)), columns=["b", "a"])
    weights = rng.integers(0, 3, size=n) * 0.5
    if not spec.is_classifier:
        return frame, signal, weights, errors
    likely = 1 / (1 + np.exp(-2 * signal))
    return frame, np.column_stack([1 - likely, likely]), weights, errors


def raw(model, frame, **errors):
    """What the trees say, before a link: the leaves of boosting add up to raw scores."""
    if hasattr(model, "decision_function"):
        return model.decision_function(frame, **errors)
    return (model.predict_proba if hasattr(model, "predict_proba") else model.predict)(frame, **errors)


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec.is_kernel], ids=str)
def test_predictions_given_the_errors_are_means_over_readings(spec):
    frame, y, weights, errors = messy_table(spec)
    given = {name: errors[name].to_numpy() for name in errors}
    model = spec.make(bandwidth=0.0).fit(frame, y, sample_weight=weights, measurement_error=given)
    rows = frame[:6].assign(a=[0.0, 0.2, -0.3, 0.1, np.nan, 0.4], b=[0.1, -0.1, 0.3, 0.0, 0.2, np.nan])
    rng = np.random.default_rng(6)
    readings = rows.loc[np.repeat(rows.index, N_READINGS)].reset_index(drop=True)
    for name in ("a", "b"):
        readings[name] += rng.uniform(-1, 1, size=len(readings)) * 0.7
    expected = raw(model, rows, measurement_error={"a": np.full(6, 0.7), "b": 0.7})
    assert not np.allclose(raw(model, rows), expected, atol=0.01)
    found = raw(model, readings).reshape(6, N_READINGS, -1)
    standard_error = found.std(axis=1) / np.sqrt(N_READINGS)
    deviation = np.abs(found.mean(axis=1) - expected.reshape(6, -1))
    assert np.all(deviation <= 5 * standard_error + 1e-12)


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec.is_kernel], ids=str)
def test_all_that_is_known_of_rows_counts(spec):
    """Errors by name, in any order; and each of errors, weights and probabilities changes the model."""
    frame, y, weights, errors = messy_table(spec)
    given = {name: errors[name].to_numpy() for name in errors}

    def fitted(y=y, weights=weights, errors=given):
        model = spec.make(bandwidth=0.2).fit(frame, y, sample_weight=weights, measurement_error=errors)
        return raw(model, frame)

    expected = fitted()
    np.testing.assert_array_equal(fitted(errors=errors), expected, "a frame of errors")
    np.testing.assert_array_equal(fitted(errors=errors[["a", "b"]]), expected, "in another order")
    sharp = (y > 0.5).astype(float) if spec.is_classifier else np.round(y)
    for other in (fitted(y=sharp), fitted(weights=None), fitted(errors=None)):
        assert not np.allclose(other, expected, atol=1e-3)
