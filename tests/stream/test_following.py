"""Intervals and sets of streams: what they cover, before and after drift."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import softwood
from softwood.stream import (
    HoeffdingTreeClassifier,
    HoeffdingTreeRegressor,
    SoftHoeffdingTreeRegressor,
    StreamForestClassifier,
    StreamForestRegressor,
    river,
)
from softwood.stream.adaptive_scores import AdaptiveScores


def _stream(n, seed=0, *, drift=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    noise = rng.normal(size=n) * np.where(drift & (np.arange(n) > n // 2), 4.0, 1.0)
    return X, 2 * X[:, 0] + noise + np.where(drift & (np.arange(n) > n // 2), 3.0, 0.0)


def slow_bounds(scores, missed, has_tails):
    """The ends by counting ranks among n + 1."""
    tail = missed / 2 if has_tails else missed
    rank = int(np.ceil((len(scores) + 1) * (1 - tail) - 1e-9))
    if rank > len(scores):
        return -np.inf, np.inf
    ordered = sorted(scores)
    return (sorted(scores, reverse=True)[rank - 1] if has_tails else -np.inf), ordered[rank - 1]


@pytest.mark.parametrize("has_tails", [True, False])
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=60), st.integers(2, 20))
def test_scores_against_slow_ones(has_tails, scores, window):
    found = AdaptiveScores.of(None, (0.5, 0.8), window, 0.05, has_tails=has_tails)
    levels = np.array([0.5, 0.2])
    for at, score in enumerate(scores):
        latest = scores[max(0, at - window) : at]
        for k in range(2):
            low, high = slow_bounds(latest, levels[k], has_tails) if 0 < levels[k] < 1 else found.bounds(k)
            assert found.bounds(k) == (low, high)
            levels[k] += 0.05 * ([0.5, 0.2][k] - (not low <= score <= high))
        found.add(np.array([float(score)]))
        assert found.levels == pytest.approx(levels)
    assert found.recent.tolist() == scores[-window:]
    assert found.n_rows == len(scores)


@pytest.mark.parametrize("model_class", [HoeffdingTreeRegressor, SoftHoeffdingTreeRegressor, StreamForestRegressor])
@pytest.mark.parametrize("drift", [False, True])
def test_intervals_cover_what_was_asked_for(model_class, drift):
    X, y = _stream(4000, drift=drift)
    model = model_class().follow_errors((0.8, 0.9))
    for begin in range(0, 4000, 500):
        model.partial_fit(X[begin : begin + 500], y[begin : begin + 500])
    assert model.followed_coverage == pytest.approx({0.8: 0.8, 0.9: 0.9}, abs=0.015)
    ends = model.predict_interval(X[:20], 0.8)
    assert np.all(ends[:, 0] < model.predict(X[:20]))
    assert np.all(model.predict_interval(X[:20], 0.9)[:, 1] >= ends[:, 1])


def test_what_the_rate_is_for():
    """After drift, the coverage of the latest errors alone falls behind."""
    X, y = _stream(3000, drift=True)
    late = {}
    for rate in (0.0, 0.05):
        model = HoeffdingTreeRegressor().follow_errors(0.9, rate=rate)
        before = model.partial_fit(X[:1500], y[:1500]).followed_coverage[0.9] * 1499
        late[rate] = (model.partial_fit(X[1500:2000], y[1500:2000]).followed_coverage[0.9] * 1999 - before) / 500
    assert late[0.05] > late[0.0] + 0.03
    assert late[0.05] == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("model_class", [HoeffdingTreeClassifier, StreamForestClassifier])
def test_sets_cover_what_was_asked_for(model_class):
    X, y = _stream(3000, 1, drift=True)
    labels = np.array(["low", "mid", "high"])[np.digitize(y, [-1, 1])]
    model = model_class().follow_errors(0.9).partial_fit(X, labels, classes=np.unique(labels))
    assert model.followed_coverage[0.9] == pytest.approx(0.9, abs=0.02)
    sets = model.predict_set(X)
    assert sets.shape == (3000, 3)
    assert sets.any(axis=1).all()


def test_following_changes_no_model():
    X, y = _stream(600)
    one, two = HoeffdingTreeRegressor().partial_fit(X, y), HoeffdingTreeRegressor().follow_errors().partial_fit(X, y)
    assert np.array_equal(one.predict(X), two.predict(X))
    assert np.array_equal(two.test_then_train(X, y), one.test_then_train(X, y))


def test_blocks_are_rows_one_by_one():
    X, y = _stream(300)
    blocks, rows = HoeffdingTreeRegressor().follow_errors(window=50), HoeffdingTreeRegressor().follow_errors(window=50)
    blocks.partial_fit(X, y)
    for i in range(300):
        rows.partial_fit(X[i : i + 1], y[i : i + 1])
    assert np.array_equal(blocks.predict_interval(X), rows.predict_interval(X))
    quantiles = blocks.predict_quantiles(X[:5], [0.1, 0.5, 0.9])
    assert np.all(np.diff(quantiles, axis=1) > 0)
    assert blocks.predict_distribution(X).crps(y).mean() < 1.5


def test_rows_of_weight_0_and_a_second_fit():
    X, y = _stream(200)
    weights = (np.arange(200) % 2).astype(float)
    one = HoeffdingTreeRegressor().follow_errors().fit(X, np.where(weights > 0, y, 1e12), weights)
    two = HoeffdingTreeRegressor().follow_errors().fit(X[1::2], y[1::2])
    assert np.array_equal(one.predict_interval(X), two.predict_interval(X))
    assert np.array_equal(one.fit(X[1::2], y[1::2]).predict_interval(X), two.predict_interval(X))


def test_river_models():
    X, y = _stream(400)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    records = frame.to_dict(orient="records")
    one, many = river.HoeffdingTreeRegressor().follow_errors(), river.HoeffdingTreeRegressor().follow_errors()
    for x, target in zip(records, y, strict=True):
        one.learn_one(x, target)
    many.learn_many(frame, pd.Series(y))
    assert one.followed_coverage[0.9] == pytest.approx(0.9, abs=0.03)
    assert many.predict_interval_many(frame)[:3] == pytest.approx(
        np.array([one.predict_interval_one(x) for x in records[:3]])
    )
    batch = HoeffdingTreeRegressor().follow_errors().partial_fit(X, y)
    assert many.predict_interval_many(frame) == pytest.approx(batch.predict_interval(X))
    labels = np.where(y > 0, "up", "down").tolist()
    model = river.HoeffdingTreeClassifier().follow_errors(0.8)
    assert model.predict_set_one(records[0], 0.8) == set()
    for x, label in zip(records, labels, strict=True):
        model.learn_one(x, label)
    assert model.predict_set_one(records[0], 0.8) <= {"up", "down"}
    assert model.followed_coverage[0.8] == pytest.approx(0.8, abs=0.05)


def test_files_go_on(tmp_path):
    X, y = _stream(400)
    records = pd.DataFrame(X, columns=["a", "b", "c"]).to_dict(orient="records")
    model = HoeffdingTreeRegressor().follow_errors(window=60).partial_fit(X[:200], y[:200])
    softwood.save(model, tmp_path / "batch")
    loaded = softwood.load(tmp_path / "batch").partial_fit(X[200:], y[200:])
    assert np.array_equal(loaded.predict_interval(X), model.partial_fit(X[200:], y[200:]).predict_interval(X))
    model = river.HoeffdingTreeRegressor().follow_errors(window=60)
    for x, target in zip(records, y, strict=True):
        model.learn_one(x, target)
    softwood.save(model, tmp_path / "river")
    assert softwood.load(tmp_path / "river").predict_interval_one(records[0]) == model.predict_interval_one(records[0])


def test_what_is_refused():
    X, y = _stream(50)
    model = HoeffdingTreeRegressor().partial_fit(X, y)
    with pytest.raises(NotFittedError, match="follow_errors"):
        model.predict_interval(X)
    with pytest.raises(TypeError, match="follow_errors"):
        model.calibrate(X, y)
    with pytest.raises(ValueError, match=r"one of those that the stream follows: 0.9"):
        model.follow_errors().predict_interval(X, 0.8)
    for wrong in (0, 1.0, "0.9", (), (0.9, None)):
        with pytest.raises(ValueError, match="coverage"):
            model.follow_errors(wrong)
    with pytest.raises(ValueError, match="'window' parameter"):
        model.follow_errors(window=1)
    with pytest.raises(ValueError, match="'rate' parameter"):
        model.follow_errors(rate=-1)
    assert np.isinf(model.follow_errors().predict_interval(X)).all()
