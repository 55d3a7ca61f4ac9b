"""Real targets of any size."""

import numpy as np
import pandas as pd
import pytest

import softwood
from softwood.stream import HoeffdingTreeRegressor, SmoothStepTreeRegressor, SoftHoeffdingTreeRegressor, river

every = pytest.mark.parametrize(
    "make",
    [
        lambda: HoeffdingTreeRegressor(grace_period=20),
        lambda: SoftHoeffdingTreeRegressor(grace_period=20, random_state=0),
        lambda: SmoothStepTreeRegressor(max_depth=3, random_state=0),
    ],
    ids=["hoeffding", "soft", "smooth"],
)
HUGE, TINY = 2.0**1000, 2.0**-1000


def data(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, 3.0 + np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]


@every
@pytest.mark.parametrize("scale", [HUGE, TINY])
def test_a_unit_changes_nothing_else(make, scale):
    X, y = data()
    plain, scaled = make().fit(X, y), make().fit(X, y * scale)
    assert plain.growth_.unit == 1.0
    assert scaled.growth_.unit == scale * 2.0  # of the first target
    assert scaled.tree_.n_nodes == plain.tree_.n_nodes
    assert scaled.predict(X) / scale == pytest.approx(plain.predict(X), rel=1e-9)
    assert scaled.tree_.value / scale == pytest.approx(plain.tree_.value, rel=1e-9)
    assert scaled.feature_importances_ == pytest.approx(plain.feature_importances_, rel=1e-9)
    found, expected = make().test_then_train(X, y * scale), make().test_then_train(X, y)
    assert found[1:] / scale == pytest.approx(expected[1:], rel=1e-9)


@every
def test_parts_make_no_difference(make):
    X, y = data(120)
    y = y * np.repeat([0.0, TINY, 1.0, HUGE], 30)
    whole = make().fit(X, y)
    for size in (1, 7, 50):
        parts = make()
        for begin in range(0, len(X), size):
            parts.partial_fit(X[begin : begin + size], y[begin : begin + size])
        assert parts.growth_.unit == whole.growth_.unit
        assert np.array_equal(parts.predict(X), whole.predict(X))
    assert np.all(np.isfinite(whole.predict(X)))


@every
def test_a_tiny_target_before_others_is_forgotten(make):
    X, y = data()
    first = make().fit(X, np.concatenate([[1e-200], y[1:]])).predict(X)
    assert first == pytest.approx(make().fit(X, np.concatenate([[0.0], y[1:]])).predict(X), rel=1e-6)


@every
def test_rows_of_no_weight_choose_no_unit(make):
    X, y = data()
    weights = np.ones(len(X))
    weights[:2] = 0.0
    y[:2] = 1e-200, 1e200
    model = make().fit(X, y, sample_weight=weights)
    assert model.growth_.unit == 1.0
    assert np.array_equal(model.predict(X), make().fit(X[2:], y[2:]).predict(X))


@every
def test_files_know_the_unit(make, tmp_path):
    X, y = data()
    model = make().fit(X[:200], y[:200] * HUGE)
    softwood.save(model, tmp_path / "model.softwood")
    again = softwood.load(tmp_path / "model.softwood")
    assert np.array_equal(again.predict(X), model.predict(X))
    for one in (model, again):
        one.partial_fit(X[200:], y[200:] * HUGE)
    assert np.array_equal(again.predict(X), model.predict(X))


def test_river_learns_the_same():
    X, y = data(100)
    y = y * np.repeat([0.0, TINY, 1.0, HUGE], 25)
    expected = HoeffdingTreeRegressor(grace_period=20).fit(X, y).predict(X)
    one, many = (river.HoeffdingTreeRegressor(grace_period=20) for _ in range(2))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for row, target in zip(frame.to_dict("records"), y.tolist(), strict=True):
        one.learn_one(row, target)
    many.learn_many(frame, pd.Series(y))
    assert [one.predict_one(row) for row in frame.to_dict("records")] == expected.tolist()
    assert many.predict_many(frame).tolist() == expected.tolist()
