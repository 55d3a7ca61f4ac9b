"""Alarms of single trees, and trees that restart."""

import numpy as np
import pytest

import softwood
from softwood.stream import (
    HoeffdingTreeClassifier,
    HoeffdingTreeRegressor,
    SoftHoeffdingTreeClassifier,
    SoftHoeffdingTreeRegressor,
    adaptation,
)
from softwood.stream.growing.events import MOST_DRIFTS, DriftEvent, keep_last
from softwood.stream.loops.layout import LEFT

CHANGE = 1200


def reversed_labels(n=2 * CHANGE, seed=3):
    """Two columns, and a border whose sides change places in the middle."""
    X = np.random.default_rng(seed).uniform(size=(n, 2))
    y = (X[:, 1] < 0.5 + 0.3 * np.sin(6.0 * X[:, 0])).astype(np.int64)
    y[CHANGE:] = 1 - y[CHANGE:]
    return X, y


def jumping_targets(n=2 * CHANGE, seed=3):
    X = np.random.default_rng(seed).uniform(size=(n, 2))
    return X, 3.0 * X[:, 0] + np.where(np.arange(n) < CHANGE, 0.0, 10.0 * X[:, 1])


CLASSIFIERS = {
    "hoeffding": HoeffdingTreeClassifier,
    "kept": lambda **more: HoeffdingTreeClassifier(restart_rise=None, **more),
    "majority": lambda **more: HoeffdingTreeClassifier(leaf_prediction="mc", restart_rise=None, **more),
    "soft": lambda **more: SoftHoeffdingTreeClassifier(random_state=0, **more),
    "published": lambda **more: SoftHoeffdingTreeClassifier.as_published(random_state=0, **more),
}
REGRESSORS = {
    "hoeffding": HoeffdingTreeRegressor,
    "hoeffding, restarting": lambda **more: HoeffdingTreeRegressor(restart_rise=0.15, **more),
    "soft": lambda **more: SoftHoeffdingTreeRegressor(random_state=0, **more),
    "soft, restarting": lambda **more: SoftHoeffdingTreeRegressor(random_state=0, restart_rise=0.15, **more),
}
MAKERS = [(make, True) for make in CLASSIFIERS.values()] + [(make, False) for make in REGRESSORS.values()]
IDS = [*CLASSIFIERS, *(f"{name}, real" for name in REGRESSORS)]


def learn(model, X, y, is_class, weights=None):
    if is_class:
        return model.partial_fit(X, y, classes=[0, 1], sample_weight=weights)
    return model.partial_fit(X, y, sample_weight=weights)


def assert_same_state(one, other):
    first, second = one.growth_.state(), other.growth_.state()
    assert first.keys() == second.keys()
    for name, array in first.items():
        if name in ("nodes", "numbers", "values", "gates", "gate_slopes", "value_slopes", "models", "counts", "keys"):
            continue  # room beyond the nodes may differ
        if name not in ("slots", "stats", "seen"):
            np.testing.assert_array_equal(array, second[name], err_msg=name)
    assert one.drifts_ == other.drifts_
    assert one.log_ == other.log_


@pytest.mark.parametrize(("make", "is_class"), MAKERS, ids=IDS)
def test_an_alarm_soon_after_a_change(make, is_class):
    X, y = reversed_labels() if is_class else jumping_targets()
    model = learn(make(), X[:CHANGE], y[:CHANGE], is_class)
    n_before = len(model.drifts_)
    learn(model, X[CHANGE:], y[CHANGE:], is_class)
    late = model.drifts_[n_before:]
    assert n_before <= 1
    assert late
    assert 0 < late[0].n_samples - CHANGE <= 300
    assert not make(drift_delta=None).fit(X, y).drifts_


@pytest.mark.parametrize("name", ["kept", "majority", "published"])
def test_alarms_of_trees_that_do_not_restart_change_nothing_else(name):
    X, y = reversed_labels()
    model, other = (learn(CLASSIFIERS[name](drift_delta=delta), X, y, True) for delta in (0.002, None))
    assert {event.kind for event in model.drifts_} == {"drift"}
    assert not other.drifts_
    assert model.log_ == other.log_
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("name", ["hoeffding", "soft"])
def test_a_tree_restarts(name):
    X, y = reversed_labels()
    model, other = (CLASSIFIERS[name](restart_rise=rise) for rise in (0.15, None))
    right, kept = ((m.test_then_train(X, y, classes=[0, 1]).argmax(1) == y)[CHANGE:].mean() for m in (model, other))
    (event,) = [event for event in model.drifts_ if event.kind == "restart"]
    assert event.n_samples > CHANGE
    assert event.n_samples <= CHANGE + 200
    assert "restart" not in {found.kind for found in other.drifts_}
    assert right > kept + 0.02
    # the log is that of the present tree
    assert all(found.n_samples > event.n_samples for found in model.log_)
    assert len(model.log_) == model.growth_.n_inner > 0
    assert model.n_samples_seen_ == len(X)
    if name == "soft":
        np.testing.assert_allclose(model.tree_.predict(X[:50]), model.predict_proba(X[:50]), atol=1e-12)


def test_small_rises_do_not_restart():
    X, y = reversed_labels()
    flips = np.random.default_rng(0).random(len(y)) < np.where(np.arange(len(y)) < CHANGE, 0.0, 0.08)
    y = np.where(np.arange(len(y)) < CHANGE, y, 1 - y) ^ flips
    model = SoftHoeffdingTreeClassifier(drift_delta=0.1, random_state=0).partial_fit(X, y, classes=[0, 1])
    assert "drift" in {event.kind for event in model.drifts_}
    assert "restart" not in {event.kind for event in model.drifts_}


@pytest.mark.parametrize(("make", "is_class"), MAKERS, ids=IDS)
def test_any_division_of_the_stream_gives_the_same(make, is_class):
    X, y = reversed_labels() if is_class else jumping_targets()
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.5, 100.0], len(y), p=[0.1, 0.2, 0.5, 0.15, 0.05])
    whole = learn(make(), X, y, is_class, weights)
    parts = make()
    for begin in [0, 1, 2, 500, 501, 1199, 1250, 1251, 1900]:
        end = {0: 1, 1: 2, 2: 500, 500: 501, 501: 1199, 1199: 1250, 1250: 1251, 1251: 1900, 1900: len(y)}[begin]
        learn(parts, X[begin:end], y[begin:end], is_class, weights[begin:end])
    assert whole.drifts_
    assert_same_state(whole, parts)
    np.testing.assert_array_equal(whole._outputs(X), parts._outputs(X))


def test_a_weight_of_two_is_the_row_twice():
    X, y = reversed_labels()
    one = SoftHoeffdingTreeClassifier(random_state=0).partial_fit(
        X, y, classes=[0, 1], sample_weight=np.full(len(y), 2.0)
    )
    two = SoftHoeffdingTreeClassifier(random_state=0).partial_fit(
        np.repeat(X, 2, axis=0), np.repeat(y, 2), classes=[0, 1]
    )
    assert "restart" in {event.kind for event in one.drifts_}
    np.testing.assert_array_equal(one.growth_.arrays["detector"], two.growth_.arrays["detector"])
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


@pytest.mark.parametrize(("make", "is_class"), MAKERS, ids=IDS)
def test_files_keep_alarms(make, is_class, tmp_path):
    X, y = reversed_labels() if is_class else jumping_targets()
    cut = CHANGE + 20  # errors have begun to rise
    model = learn(make(), X[:cut], y[:cut], is_class)
    softwood.save(model, tmp_path / "tree.softwood")
    again = learn(softwood.load(tmp_path / "tree.softwood"), X[cut:], y[cut:], is_class)
    learn(model, X[cut:], y[cut:], is_class)
    assert again.drifts_
    assert again.drifts_ == model.drifts_
    softwood.save(again, tmp_path / "tree.softwood")
    assert softwood.load(tmp_path / "tree.softwood").drifts_ == model.drifts_
    np.testing.assert_array_equal(again._outputs(X), model._outputs(X))


@pytest.mark.parametrize("name", ["hoeffding", "soft"])
def test_rows_one_by_one_of_a_model_for_river(name):
    river = pytest.importorskip("softwood.stream.river", exc_type=ImportError)
    X, y = reversed_labels()
    model = CLASSIFIERS[name]().partial_fit(X, y, classes=[0, 1])
    peer = river.HoeffdingTreeClassifier() if name == "hoeffding" else river.SoftHoeffdingTreeClassifier(seed=0)
    assert peer.drifts == []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        peer.learn_one(dict(enumerate(row)), label)
    assert [event.kind for event in peer.drifts] == [event.kind for event in model.drifts_]
    assert (
        peer.n_nodes == len(peer._growth.log) * 2 + 1 == int((peer._growth.structure()[0][:, LEFT] >= 0).sum()) * 2 + 1
    )


def test_adaptation_reports_the_alarms_of_the_tree():
    X, y = reversed_labels()
    model = SoftHoeffdingTreeClassifier(random_state=0).partial_fit(X[:500], y[:500], classes=[0, 1])
    before = len(model.drifts_)
    result = adaptation(model, (X[500:], y[500:]))
    assert result.drifts.tolist() == [event.n_samples - 500 for event in model.drifts_[before:]]
    assert len(result.drifts) >= 1


@pytest.mark.parametrize("name", ["HoeffdingTreeClassifier", "SoftHoeffdingTreeClassifier"])
def test_new_labels_and_columns_after_a_restart(name):
    river = pytest.importorskip("softwood.stream.river", exc_type=ImportError)
    X, y = reversed_labels()
    model = getattr(river, name)(**({"seed": 0} if name.startswith("Soft") else {}))
    for i, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        more = {"text": "abc"[i % 3]} if i > CHANGE + 300 else {}
        model.learn_one({**dict(enumerate(row)), **more}, 2 if i > CHANGE + 400 and i % 5 == 0 else label)
    assert "restart" in {event.kind for event in model.drifts}
    shares = model.predict_proba_one({0: 0.5, 1: 0.5, "text": "a"})
    assert set(shares) == {0, 1, 2}
    assert abs(sum(shares.values()) - 1.0) < 1e-9


def test_batches_that_an_alarm_ends():
    X, y = reversed_labels()
    model = SoftHoeffdingTreeClassifier(batch_size=7, random_state=0)
    shares = model.test_then_train(X, y, classes=[0, 1])
    assert "restart" in {event.kind for event in model.drifts_}
    assert np.isfinite(shares).all()
    other = SoftHoeffdingTreeClassifier(batch_size=7, random_state=0)
    for begin in range(0, len(y), 11):
        other.partial_fit(X[begin : begin + 11], y[begin : begin + 11], classes=[0, 1])
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))


def test_a_long_log_forgets_its_oldest_alarms():
    drifts = [DriftEvent("drift", i) for i in range(2 * MOST_DRIFTS)]
    keep_last(drifts)
    assert len(drifts) == 2 * MOST_DRIFTS
    drifts.append(DriftEvent("restart", 2 * MOST_DRIFTS))
    keep_last(drifts)
    assert len(drifts) == MOST_DRIFTS
    assert drifts[-1].kind == "restart"
