"""Monotonic constraints hold: along lines in a constrained column, no prediction changes in the wrong direction."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softwood
from tests.contract.specs import SPECS

CONSTRAINED = [spec for spec in SPECS if "monotonic_cst" in spec.parameters]
CITIES = np.array(["Oslo", "Rome", "Bergen", "Lima"])
N_LINES, N_PLACES = 60, 120


def table(n, seed, missing):
    """Two columns of numbers with a constraint, one without, and categories; some cells are missing."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=(3, n))
    frame = pd.DataFrame({"a": a, "city": rng.choice(CITIES, n), "b": np.exp(b), "c": c})
    signal = np.sin(2 * a) + a + np.where(frame["city"] == "Rome", 1.5, 0.0) - np.log(frame["b"]) * (c > 0)
    for name in ("a", "city", "b", "c"):
        frame.loc[rng.random(n) < missing, name] = np.nan
    return frame, (signal + 0.5 * rng.normal(size=n)).to_numpy()


def wrong_steps(model, column, direction, seed):
    """Largest step in the wrong direction, relative to the range of the predictions, and the number of steps."""
    rows, _ = table(N_LINES, seed + 1, 0.15)
    places = np.sort(np.random.default_rng(seed).normal(size=(N_LINES, N_PLACES)) * 2, axis=1)
    lines = rows.loc[np.repeat(np.arange(N_LINES), N_PLACES)].reset_index(drop=True)
    lines[column] = (np.exp(places) if column == "b" else places).ravel()
    said = model.predict_proba(lines)[:, 1] if hasattr(model, "classes_") else model.predict(lines)
    said = said.reshape(N_LINES, N_PLACES, -1)
    steps = direction * np.diff(said, axis=1)
    return -steps.min() / max(np.ptp(said), 1e-300), steps.size


def fits(spec, seed, draw):
    """A model with drawn settings."""
    own = {
        "bandwidth": draw(st.sampled_from([0.0, 0.05, 0.3, 1.0, {"a": 0.5, "c": 0.1}])),
        "cutoff": draw(st.sampled_from([0.0, 1e-4, 0.05, 0.1])),
        "max_iter": draw(st.integers(1, 15)),
        "learning_rate": draw(st.sampled_from([0.1, 1.0])),
        "max_leaf_nodes": draw(st.integers(2, 20)),
        "min_mass": draw(st.sampled_from([0.5, 2.0, 10.0])),
        "prediction_kernel": draw(st.sampled_from(["same", "gaussian", "triangle", None])),
        "prediction_bandwidth": draw(st.sampled_from(["same", 0.2, 1.5])),
        "subsample": draw(st.sampled_from([1.0, 0.6])),
        "l2_regularization": draw(st.sampled_from([0.0, 3.0])),
        "max_features": draw(st.sampled_from([None, 2])),
        "measurement_error": draw(st.sampled_from([None, {"a": 0.3}])),
        "growth": draw(st.sampled_from(["node", "node", "level"])),
        "random_state": seed,
        "monotonic_cst": {"a": 1, "b": -1},
    }
    if own["growth"] == "level":
        own |= {"max_leaf_nodes": None, "max_depth": 4, "max_features": None, "measurement_error": None}
        own |= {"prediction_kernel": "same", "prediction_bandwidth": "same"}
    if not spec.is_classifier:
        losses = ["squared_error", "absolute_error", "poisson", "quantile"]
        own["loss"] = draw(st.sampled_from(losses if own["growth"] == "node" else losses[:1]))
        own["quantile"] = 0.8 if own["loss"] == "quantile" else None
    return spec.model_class(**own)


@pytest.mark.parametrize("spec", CONSTRAINED, ids=str)
def test_predictions_never_step_in_the_wrong_direction(spec):
    """A million steps for all estimators together."""
    counted = 0

    @settings(max_examples=36, deadline=None, derandomize=True, database=None)
    @given(st.data(), st.integers(0, 10_000))
    def check(data, seed):
        nonlocal counted
        model = fits(spec, seed, data.draw)
        frame, y = table(80, seed, data.draw(st.sampled_from([0.0, 0.2])))
        if spec.is_classifier:
            y = np.where(y > np.median(y), "yes", "no")
        elif model.loss == "poisson":
            y = np.round(np.exp(y))
        model.fit(frame, y)
        for column, direction in (("a", 1), ("b", -1)):
            wrong, n = wrong_steps(model, column, direction, seed)
            counted += n
            assert wrong <= 1e-10, f"{model} steps the wrong way in {column} by {wrong:g}"

    check()
    assert counted * len(CONSTRAINED) >= 1_000_000


@pytest.mark.parametrize("spec", CONSTRAINED, ids=str)
def test_half_widths_that_depend_on_the_value_are_refused(spec):
    """A kernel that gets wider as its centre moves may move mass the other way."""
    X, y = spec.table(n_classes=2)
    kernel = softwood.Kernel([-1, 1], [0.5], scale=lambda x: 1 + 5 * np.abs(x))
    with pytest.raises(
        ValueError, match=r"'monotonic_cst' .* must be 0 for columns whose prediction_kernel has a scale"
    ):
        spec.make(prediction_kernel={0: kernel}, monotonic_cst=[1, 0, 0, 0]).fit(X, y)
    model = spec.make(prediction_kernel={1: kernel}, monotonic_cst=[1, 0, 0, 0]).fit(X, y)
    with pytest.raises(ValueError, match="a number or an array for a column with a monotonic constraint"):
        model.predict(X, measurement_error={0: np.abs})
    assert len(model.predict(X, measurement_error={1: np.abs, 0: 0.1})) == len(X)
