"""Growth by levels: the same trees as node by node where both can grow them, and for any division of the rows."""

import pickle

import numpy as np
import pandas as pd
import pytest

import softwood
from softwood.kernel.parts import boosting as level_boosting
from softwood.kernel.parts import growing as level_growing
from softwood.kernel.parts import sources, survey
from softwood.trees.gates import Gate
from tests.models import assert_same_model

KINDS = {
    "KernelTree": {},
    "KernelForest": {"n_estimators": 3},
    "KernelExtraTrees": {"n_estimators": 3, "bootstrap": True},
    "KernelBoosting": {"max_iter": 4},
}


def table(n=300, seed=0, *, missing=False):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, 4)), 3)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def make(kind, ending="Classifier", **parameters):
    settings = KINDS[kind] | {"bandwidth": 0.2, "growth": "level", "random_state": 0, "min_mass": 3.0} | parameters
    return getattr(softwood, kind + ending)(**settings)


# ------------------------------------------------------------------ compared with growth node by node


def test_crisp_trees_are_those_of_growth_node_by_node():
    X, y = table()
    weights = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)  # sums of these are exact
    classes = np.digitize(y, [-0.5, 0.5])
    limits = {"bandwidth": 0.0, "max_depth": 5, "max_leaf_nodes": None, "splitter": "hist", "max_bins": 20}
    for labels in (classes, classes > 0):
        by_level = make("KernelTree", **limits).fit(X, labels, sample_weight=weights)
        by_node = make("KernelTree", **limits | {"growth": "node"}).fit(X, labels, sample_weight=weights)
        assert by_level.get_n_leaves() > 10
        assert_same_model(by_level, by_node)


@pytest.mark.parametrize("kernel", ["box", "triangle"])
@pytest.mark.parametrize("missing", [False, True])
def test_soft_trees_are_those_of_growth_node_by_node(kernel, missing):
    """Where every value has its own bin: growth by levels divides the rows of a bin alike."""
    X, y = table(missing=missing)
    X = np.round(2 * X) / 2
    limits = {"max_depth": 4, "max_leaf_nodes": None, "splitter": "hist", "kernel": kernel}
    limits["cutoff"] = 0.0  # shares that are just as large as a cutoff may be rounded to either side
    by_level = make("KernelTree", "Regressor", **limits).fit(X, y)
    by_node = make("KernelTree", "Regressor", **limits | {"growth": "node"}).fit(X, y)
    np.testing.assert_array_equal(by_level.tree_.feature, by_node.tree_.feature)
    np.testing.assert_allclose(by_level.tree_.threshold, by_node.tree_.threshold, rtol=1e-7)
    np.testing.assert_allclose(by_level.predict(X), by_node.predict(X), rtol=1e-6)


@pytest.mark.parametrize("bandwidth", [0.0, 0.2])
@pytest.mark.parametrize("constraint", [None, [1, 0, 0, -1]])
def test_boosting_is_that_of_growth_node_by_node(bandwidth, constraint):
    X, y = table(missing=True)
    limits = {"max_depth": 3, "max_leaf_nodes": None, "bandwidth": bandwidth, "monotonic_cst": constraint}
    by_level = make("KernelBoosting", "Regressor", **limits).fit(X, y)
    by_node = make("KernelBoosting", "Regressor", **limits | {"growth": "node"}).fit(X, y)
    np.testing.assert_allclose(by_level.predict(X), by_node.predict(X), rtol=1e-6)
    np.testing.assert_allclose(by_level.train_score_, by_node.train_score_, rtol=1e-6)


def assert_close(kind, ending, X, y, **parameters):
    """Growth by levels and by nodes give the same predictions, where every value has a bin of its own."""
    limits = {"max_depth": 4, "max_leaf_nodes": None, "cutoff": 0.0}
    limits |= {} if kind == "KernelBoosting" else {"splitter": "hist"}
    limits |= {"bootstrap": False, "max_features": 1.0} if kind in ("KernelForest", "KernelExtraTrees") else {}
    by_level, by_node = (make(kind, ending, **limits | parameters | {"growth": g}).fit(X, y) for g in ("level", "node"))
    assert by_level.get_n_leaves() == by_node.get_n_leaves() > 8
    method = "predict_proba" if ending == "Classifier" else "predict"
    found, expected = (getattr(model, method)(X) for model in (by_level, by_node))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    return by_level


@pytest.mark.parametrize("bandwidth", [0.0, 0.3])
@pytest.mark.parametrize("ending", ["Classifier", "Regressor"])
@pytest.mark.parametrize("kind", list(KINDS))
def test_sets_of_categories_are_those_of_growth_node_by_node(kind, ending, bandwidth):
    rng = np.random.default_rng(0)
    X, y = table(600, missing=True)
    city = rng.integers(0, 9, len(y))
    y = y + 2 * rng.normal(size=9)[city]
    frame = pd.DataFrame(np.round(X, 1), columns=list("abcd"))
    frame["city"] = pd.Series([f"city {k}" for k in city]).where(rng.random(len(y)) > 0.05, None)
    model = assert_close(kind, ending, frame, y > 0 if ending == "Classifier" else y, bandwidth=bandwidth)
    finished = model.tree_ if kind == "KernelTree" else model.forest_
    assert np.any(finished.gate == Gate.SUBSET)


@pytest.mark.parametrize("bandwidth", [0.0, 0.2])
@pytest.mark.parametrize("ending", ["Classifier", "Regressor"])
@pytest.mark.parametrize("kind", ["KernelForest", "KernelExtraTrees"])
def test_nodes_whose_drawn_features_have_no_split(kind, ending, bandwidth):
    """They search further features, one after the other; and splits without gain are made in both ways of growing."""
    rng = np.random.default_rng(0)
    for seed in range(5):
        X = rng.normal(size=(150, 5))
        X[:, 2], X[:, 3], X[:, 4] = rng.integers(6, size=150), rng.integers(3, size=150), 0.0
        y = np.digitize(X[:, 0] + np.isin(X[:, 2], [1, 4]) + 0.3 * rng.normal(size=150), [-0.3, 0.7])
        model = {
            growth: make(
                kind, ending, growth=growth, n_estimators=4, bootstrap=False, bandwidth=bandwidth, max_features=2,
                max_depth=6, categorical_features=[2, 3], cutoff=0.0, splitter="hist", random_state=seed,
            ).fit(X, y)
            for growth in ("node", "level")
        }  # fmt: skip
        by_node, by_level = model["node"].forest_, model["level"].forest_
        np.testing.assert_array_equal(by_level.feature, by_node.feature)
        np.testing.assert_allclose(by_level.threshold, by_node.threshold, rtol=1e-9)
        np.testing.assert_array_equal(by_level.subsets, by_node.subsets)


MOVING = softwood.Kernel([-1.0, 1.0], [0.5], scale=lambda x: 0.2 + np.abs(x))


@pytest.mark.parametrize(
    "parameters",
    [
        {"measurement_error": {0: 0.3, 2: 0.1}},
        {"measurement_error": [0.1, 0.2, 0.0, 0.3]},
        {"measurement_error": {0: lambda x: 0.1 + 0.2 * np.abs(x)}},
        {"kernel": MOVING},
        {"kernel": {1: MOVING, 2: "triangle"}, "measurement_error": {3: 0.2}},
    ],
    ids=["numbers", "array", "function", "scale", "mixed"],
)
@pytest.mark.parametrize("kind", list(KINDS))
def test_errors_and_scales_are_those_of_growth_node_by_node(kind, parameters, request):
    if kind == "KernelBoosting" and request.node.callspec.id.split("-")[-1] not in ("numbers", "array"):
        pytest.skip("boosting takes one number for a column")
    X, y = table(400, missing=True)
    X = np.round(2 * X) / 2
    assert_close(kind, "Regressor", X, y, **parameters)


def test_errors_given_to_fit():
    X, y = table()
    by_parameter = make("KernelTree", measurement_error={0: 0.3}).fit(X, y > 0)
    assert_same_model(make("KernelTree").fit(X, y > 0, measurement_error={0: 0.3}), by_parameter)
    for given in ({0: np.full(len(y), 0.1)}, np.full(X.shape, 0.1)):
        with pytest.raises(
            ValueError, match=r"The 'measurement_error' parameter .* not errors of single cells"
        ) as error:
            make("KernelTree").fit(X, y > 0, measurement_error=given)
        assert len(str(error.value)) < 500  # not all cells


def test_a_warm_start_adds_the_trees_of_one_fit():
    X, y = table()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(city=np.where(y > 0.5, "Rome", "Oslo"))
    whole = make("KernelForest", "Regressor", n_estimators=5).fit(frame, y)
    model = make("KernelForest", "Regressor", n_estimators=2, warm_start=True).fit(frame, y)
    assert_same_model(model.set_params(n_estimators=5).fit(frame, y), whole)


@pytest.mark.parametrize("kind", list(KINDS))
def test_limits(kind):
    X, y = table()
    model = make(kind, "Regressor", max_depth=3).fit(X, y)
    assert model.get_depth() == 3
    model = make(kind, "Regressor", max_leaf_nodes=6).fit(X, y)
    n_trees = 1 if kind == "KernelTree" else len(model.forest_)
    assert model.get_n_leaves() == 6 * n_trees
    if kind != "KernelExtraTrees":  # whose random thresholds may leave a node unsplit
        assert model.get_depth() == 3  # levels 0 and 1 are complete; four leaves, of which two are split
    model = make(kind, "Regressor", min_mass=40.0, bandwidth=0.0).fit(X, y)
    finished = model.tree_ if kind == "KernelTree" else model.forest_
    assert finished.mass[finished.feature < 0].min() >= 40.0


# ------------------------------------------------------------------ any division


@pytest.mark.parametrize("ending", ["Classifier", "Regressor"])
@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("bandwidth", [0.0, 0.2])
def test_neither_the_order_nor_the_number_of_parts_matters(kind, ending, bandwidth, monkeypatch):
    X, y = table(missing=True)
    weights = np.random.default_rng(1).random(len(y))
    y = np.digitize(y, [-0.5, 0.5]) if ending == "Classifier" else y
    model = make(kind, ending, bandwidth=bandwidth)
    first = model.fit(X, y, weights)
    order = np.random.default_rng(2).permutation(len(y))
    monkeypatch.setattr(sources, "_SMALLEST_PART", 1)
    other = make(kind, ending, bandwidth=bandwidth, n_jobs=5).fit(X[order], y[order], weights[order])
    assert_same_model(first, other)


@pytest.mark.parametrize("kind", ["KernelForest", "KernelBoosting"])
def test_states_that_were_pickled_compute_their_levels_again(kind, monkeypatch):
    X, y = table(missing=True)
    first = make(kind).fit(X, y > 0)
    summary = sources.LocalParts.summary

    def after_pickling(self, *arguments):
        self._states = [pickle.loads(pickle.dumps(state)) for state in self._states]
        return summary(self, *arguments)

    monkeypatch.setattr(sources.LocalParts, "summary", after_pickling)
    assert_same_model(first, make(kind).fit(X, y > 0))


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7, 20, None])
def test_threads_take_turns_with_the_parts(n_threads):
    numbers = [3, 1, 4, 1, 5, 9, 2]
    with sources.LocalParts(numbers, n_threads) as parts:
        parts.update("begin", lambda number, state: [state, number], restart=True)
        parts.update("add", lambda number, state, more: [*state, number + more], 10)
        assert parts.summary("show", lambda number, state: [state[0] is None, state[1], state[2]]) == [7, 25, 95]


def test_large_levels_take_several_exchanges(monkeypatch):
    X, y = table()
    for kind in KINDS:
        first = make(kind, bandwidth=0.0).fit(X, y > 0)
        monkeypatch.setattr(level_growing, "_MOST_BYTES", 1)
        assert_same_model(first, make(kind, bandwidth=0.0).fit(X, y > 0))
        monkeypatch.setattr(level_growing, "_MOST_KEPT", 0)  # no differences of histograms either
        assert_same_model(first, make(kind, bandwidth=0.0).fit(X, y > 0))
        monkeypatch.undo()


def test_gradients_that_grow_are_given_room(monkeypatch):
    X, y = table()
    y = np.exp(np.abs(y) * 3)
    first = make("KernelBoosting", "Regressor", loss="poisson", learning_rate=1.0).fit(X, y)
    monkeypatch.setattr(level_boosting, "_ROOM", 1e-3)  # every round is scaled twice
    second = make("KernelBoosting", "Regressor", loss="poisson", learning_rate=1.0).fit(X, y)
    np.testing.assert_allclose(first.predict(X), second.predict(X), rtol=1e-6)


def test_categories_that_a_sample_lacks(monkeypatch):
    X, y = table(3000)
    city = np.where(np.arange(3000) < 5, "Bern", np.where(y > 0, "Rome", "Oslo"))  # few rows: not in the sample
    frame = pd.DataFrame(X, columns=list("abcd")).assign(city=city)
    monkeypatch.setattr(survey, "SAMPLE_ROWS", 1000)
    for kind in KINDS:
        assert make(kind).fit(frame, y > 0).score(frame, y > 0) > 0.99


def test_bins_of_a_sample(monkeypatch):
    X, y = table(3000)
    whole = make("KernelBoosting", "Regressor", early_stopping=False).fit(X, y)
    monkeypatch.setattr(survey, "SAMPLE_ROWS", 1500)
    model = make("KernelBoosting", "Regressor", early_stopping=False, bandwidth=0.0).fit(X, y)
    # A threshold is between bins: rows are on the same side in training and in prediction.
    raw = model.forest_.predict(X)[:, 0]
    assert -0.5 * np.mean((raw - y) ** 2) == pytest.approx(model.train_score_[-1], rel=1e-9)
    sampled = make("KernelBoosting", "Regressor", early_stopping=False).fit(X, y)
    assert sampled.score(X, y) == pytest.approx(whole.score(X, y), abs=0.02)


# ------------------------------------------------------------------ kinds of data and parameters


@pytest.mark.parametrize("kind", list(KINDS))
def test_frames_with_text_and_several_kinds_of_targets(kind):
    X, y = table(missing=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["city"] = np.where(y > 0, "Rome", "Oslo")
    assert make(kind).fit(frame, y > 0).score(frame, y > 0) > 0.95
    shares = np.column_stack([y <= 0, y > 0]).astype(float) * 0.8 + 0.1
    assert make(kind).fit(frame, shares).score(frame, y > 0) > 0.95
    if kind != "KernelBoosting":
        both = np.column_stack([y, -2 * y])
        model = make(kind, "Regressor").fit(X, both)
        assert model.predict(X).shape == both.shape
        assert model.score(X, both) > 0.3


def test_bandwidths_are_chosen_and_rows_set_aside():
    X, y = table(600)
    for kind in ("KernelTree", "KernelBoosting"):
        for rule in ("auto", "silverman", "loo"):
            model = make(kind, "Regressor", bandwidth=rule).fit(X, y)
            assert model.score(X, y) > 0.2
        assert make(kind, "Regressor", bandwidth="auto").fit(X, y).bandwidth_ >= 0.0
    for kind, rule in (("KernelTree", "cv"), ("KernelForest", "cv"), ("KernelForest", "oob")):
        limits = {"bandwidth": rule, "cv": 3, "max_leaf_nodes": None}
        assert make(kind, "Regressor", **limits).fit(X, y).bandwidth_ > 0.0
    model = make("KernelBoosting", "Regressor", early_stopping=True, max_iter=200, learning_rate=0.5).fit(X, y)
    assert len(model.validation_score_) < 200
    assert model.n_iter_ == np.argmax(model.validation_score_)


def test_rows_that_levels_do_not_take():
    X, y = table()
    with pytest.raises(ValueError, match="growth='level' takes no X_val"):
        make("KernelBoosting", "Regressor").fit(X, y, X_val=X, y_val=y)
