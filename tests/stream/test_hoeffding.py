"""Hoeffding trees: leaves, limits, the log of splits and the tree behind it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier

import softwood
from softwood.stream import SEA, Agrawal, SoftHoeffdingTreeClassifier, SoftHoeffdingTreeRegressor
from softwood.stream.growing.arrays import FIRST_EVENTS
from tests.stream.test_model import HARD, HoeffdingTreeClassifier, HoeffdingTreeRegressor, answer, learn, problem, small

both = pytest.mark.parametrize("model_class", HARD)
growing = pytest.mark.parametrize("model_class", [*HARD, SoftHoeffdingTreeClassifier, SoftHoeffdingTreeRegressor])


@pytest.mark.parametrize("leaves", ["mc", "nb", "nba", "mean", "model", "adaptive"])
def test_leaves(leaves):
    model_class = HoeffdingTreeClassifier if leaves in ("mc", "nb", "nba") else HoeffdingTreeRegressor
    X, y = problem(model_class, n=3000)
    model = learn(small(model_class, leaf_prediction=leaves), X, y)
    assert model.score(X, y) > 0.7
    if leaves in ("mc", "mean"):
        found = model.tree_.predict(X)
        np.testing.assert_allclose(found if leaves == "mc" else found[:, 0], answer(model, X), atol=1e-12)


@pytest.mark.parametrize("missing", [False, True])
def test_the_snapshot_is_the_tree(missing):
    X, y = problem(HoeffdingTreeClassifier, n=3000)
    if missing:
        X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    model = learn(small(HoeffdingTreeClassifier, leaf_prediction="mc", max_depth=None), X, y)
    assert model.tree_.n_nodes > 10
    np.testing.assert_allclose(model.tree_.predict(X), model.predict_proba(X), atol=1e-12)
    shares = model.memberships(X).toarray()
    np.testing.assert_array_equal(shares[:, model.tree_.children_left < 0].sum(axis=1), 1.0)
    assert set(np.unique(shares)) == {0.0, 1.0}
    np.testing.assert_allclose(shares[:, 0].sum(), model.tree_.mass[0])
    assert not model.input_gradient(X[:5]).any()


def assert_log_describes_the_tree(model):
    tree = model.tree_
    events = {event.node: event for event in model.log_ if event.kind == "split"}
    assert sorted(events) == np.flatnonzero(tree.children_left >= 0).tolist()
    times = [event.n_samples for event in model.log_]
    assert times == sorted(times)
    last = {event.node: event for event in model.log_}
    for node, event in last.items():
        assert event.feature == tree.feature[node]
        assert event.threshold == tree.threshold[node]
        assert event.merit >= event.second_merit
        assert event.bound > 0
        assert 0 < event.weight_seen <= event.n_samples
        parent = tree.parent[node]
        assert parent < 0 or events[parent].n_samples < events[node].n_samples


@both
def test_the_log_describes_the_tree(model_class):
    X, y = problem(model_class, n=5000)
    model = learn(small(model_class, max_depth=None), X, y)
    assert len(model.log_) > 10
    assert_log_describes_the_tree(model)
    assert model.log_[0].n_samples == 40 * round(model.log_[0].n_samples / 40)


@growing
def test_limits_of_nodes_and_depth(model_class):
    X, y = problem(model_class, n=4000)
    for n_inner in (0, 1, 5):
        model = learn(small(model_class, max_inner_nodes=n_inner, max_depth=7), X, y)
        assert model.tree_.n_nodes == 2 * n_inner + 1
    for depth in (0, 1, 3):
        model = learn(small(model_class, max_depth=depth), X, y)
        assert model.get_depth() == depth
        assert np.isfinite(answer(model, X)).all()


@growing
def test_a_limit_of_memory_is_kept(model_class):
    limit, n_cells, n_nodes = (0.25, 8, 50) if model_class in HARD else (0.4, 4, 15)
    model, largest = small(model_class, max_depth=None, max_size=limit), 0
    rng = np.random.default_rng(0)
    for _ in range(30):
        X = rng.uniform(size=(10_000, 4))
        y = np.floor(n_cells * X[:, 0]) + np.floor(n_cells * X[:, 1])
        y = (y % 2).astype(int) if is_classifier(model) else y
        learn(model, X, y)
        largest = max(largest, model.nbytes_)
    assert model.n_samples_seen_ == 300_000
    assert largest <= limit * 2**20
    assert model.tree_.n_nodes > n_nodes
    assert model.score(X, y) > 0.55
    assert_log_describes_the_tree(model)


def test_streams_with_text_and_numbers():
    for stream in (SEA(seed=0), Agrawal(seed=0)):
        X, y = stream.take(4000)
        model = HoeffdingTreeClassifier()
        assert np.isfinite(model.test_then_train(X, y, classes=np.unique(y))).all()
        assert model.score(X, y) > 0.55


@pytest.mark.parametrize("model_class", [HoeffdingTreeClassifier, SoftHoeffdingTreeClassifier])
def test_categories_of_one_column_do_not_compete_with_one_another(model_class):
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "blue"], size=600)
    X = pd.DataFrame({"noise": rng.normal(size=600), "colour": colour})
    model = model_class(grace_period=200, tau=0.0).fit(X, colour == "red")
    first = model.log_[0]
    assert model.columns_.names[first.feature].startswith("colour=")
    assert first.n_samples <= 210
    assert first.merit - first.second_merit > first.bound


def test_the_first_target_is_predicted_at_once():
    model = HoeffdingTreeRegressor().partial_fit([[0.0]], [7.0])
    assert model.predict([[0.0]]).tolist() == [7.0]


def test_the_log_forgets_the_oldest_of_endless_replacements(monkeypatch):
    monkeypatch.setattr("softwood.stream.growing.tree.MOST_REPLACED", 5)
    model = SoftHoeffdingTreeClassifier(recheck_period=20, grace_period=20, delta=0.9, max_depth=1, random_state=0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    # the column that counts changes every 60 rows
    y = X[np.arange(6000), (np.arange(6000) // 60) % 2] > 0
    model.fit(X, y)
    kinds = [event.kind for event in model.log_]
    assert kinds.count("split") == model.growth_.n_inner
    assert 5 <= kinds.count("replace") <= 2 * 5 + 3
    assert model.log_[-1].n_samples > 5000


def categories(n=3_000, seed=0):
    """A text column of eight categories, each of another class, and a number that says nothing."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(8, size=n)
    X = pd.DataFrame({"kind": np.array(list("abcdefgh"), dtype=object)[codes], "noise": rng.normal(size=n)})
    return X, np.array([0, 1, 2, 0, 1, 2, 0, 1])[codes]


def test_categories_are_split_many_ways_or_one_after_the_other():
    X, y = categories()
    many, two = (HoeffdingTreeClassifier(binary_split=value, max_depth=None).fit(X, y) for value in (False, True))
    # all at once: the first attempt to split
    assert {event.n_samples for event in many.log_} == {200}
    assert len(many.log_) == 7
    assert [event.merit > 0.0 for event in many.log_] == [True] + [False] * 6
    assert len({event.n_samples for event in two.log_}) > 1
    assert many.score(X, y) == 1.0
    assert many.feature_importances_.sum() == pytest.approx(1.0)
    encoded = np.column_stack([(X["kind"] == value).to_numpy(float) for value in many.columns_.categories[0]])
    order = [many.columns_.names.index(f"kind={value}") for value in many.columns_.categories[0]]
    points = np.zeros((len(X), len(many.columns_.names)))
    points[:, order], points[:, many.columns_.names.index("noise")] = encoded, X["noise"]
    assert np.array_equal(many.tree_.predict(points).argmax(axis=1), many.predict(X))


def test_ids_are_not_split_many_ways():
    """Each row has another text: sides of one row would win everything."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"id": [f"row {i}" for i in range(600)], "x": rng.normal(size=600)})
    model = HoeffdingTreeClassifier(grace_period=100).fit(X, (X["x"] > 0).astype(int))
    assert model.log_
    assert all(model.columns_.names[event.feature] == "x" for event in model.log_)


@pytest.mark.parametrize("unseen_values", ["unlikely", "ignored"])
def test_values_that_a_class_has_not_shown(unseen_values):
    X = np.array([[0.0], [1.0], [2.0], [3.0], [9.0]])
    model = HoeffdingTreeClassifier(leaf_prediction="nb", unseen_values=unseen_values).fit(X, [0, 0, 0, 0, 1])
    found = model.predict_proba([[8.0], [9.0], [1e200]])
    if unseen_values == "unlikely":  # the only row of class 1 had another value; far from both, class shares are left
        assert found[0].tolist() == [1.0, 0.0]
        assert found[2].tolist() == [0.8, 0.2]
    else:
        assert found[0, 1] > 0.9
    assert found[1, 1] > 0.9


def test_ids_take_no_room_for_splits_that_cannot_be():
    # of 255 categories only two are in more than a hundredth of the rows
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=1000)
    name = np.where(rng.random(1000) < 0.5, np.where(label == 1, "b", "a"), [f"row {i}" for i in range(1000)])
    X = pd.DataFrame({"id": name, "x": rng.normal(size=1000)})
    whole = HoeffdingTreeClassifier(grace_period=200).partial_fit(X, label, classes=[0, 1])
    parts = HoeffdingTreeClassifier(grace_period=200)
    for begin in range(0, 1000, 33):
        parts.partial_fit(X[begin : begin + 33], label[begin : begin + 33], classes=[0, 1])
    assert whole.growth_.n_features > 100
    assert whole.growth_.n_inner > 0
    # room for leaves of all categories would be that of more than a hundred
    assert len(whole.growth_.arrays["slots"]) < 50
    assert whole.log_ == parts.log_
    np.testing.assert_array_equal(whole.predict_proba(X), parts.predict_proba(X))


def test_a_tree_whose_splits_took_many_tests_is_saved(tmp_path):
    # one split takes more tests than a new log has room for
    rng = np.random.default_rng(0)
    X, y = rng.integers(60, size=(3000, 1)), rng.integers(2, size=60)
    model = HoeffdingTreeClassifier(categorical_features=[0]).partial_fit(X, y[X[:, 0]], classes=[0, 1])
    assert model.growth_.n_inner > FIRST_EVENTS
    softwood.save(model, tmp_path / "tree.softwood")
    again = softwood.load(tmp_path / "tree.softwood").partial_fit(X, 1 - y[X[:, 0]])
    model.partial_fit(X, 1 - y[X[:, 0]])
    assert again.log_ == model.log_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
