"""Kernel trees as a user meets them: CART at bandwidth 0, what must not matter, sharing, targets, kernels, errors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from softwood import Kernel
from tests.kernel.grown import KernelTreeClassifier, KernelTreeRegressor

BOTH = [KernelTreeClassifier, KernelTreeRegressor]


def problem(model_class, n=80, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    return X, np.digitize(signal, [-0.5, 0.7]) if model_class is KernelTreeClassifier else signal


# ------------------------------------------------------------------ bandwidth 0 is CART


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_bandwidth_zero_is_the_tree_of_scikit_learn(criterion, n_classes):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1000, 5)).astype(np.float32).astype(np.float64)  # what scikit-learn's tree sees
    signal = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=1000)
    y = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    weights = rng.uniform(1, 2, size=1000)
    # Deeper down there are ties: columns that divide a node perfectly, and nodes that are pure but for rounding.

    ours = KernelTreeClassifier(bandwidth=0, criterion=criterion, max_depth=3).fit(X, y, weights)
    cart = DecisionTreeClassifier(criterion=criterion, max_depth=3, random_state=0).fit(X, y, weights)
    inner = cart.tree_.children_left >= 0
    assert inner.sum() == 7
    np.testing.assert_array_equal(ours.tree_.children_left, cart.tree_.children_left)
    np.testing.assert_array_equal(ours.tree_.feature[inner], cart.tree_.feature[inner])
    np.testing.assert_allclose(ours.tree_.threshold[inner], cart.tree_.threshold[inner], rtol=1e-12)
    np.testing.assert_allclose(ours.tree_.impurity, cart.tree_.impurity, atol=1e-12)
    np.testing.assert_allclose(ours.predict_proba(X), cart.predict_proba(X), atol=1e-12)


def test_bandwidth_zero_predicts_as_scikit_learn_where_there_are_no_ties():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 3)).astype(np.float32).astype(np.float64)
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=200)
    rows = rng.normal(size=(500, 3)).astype(np.float32).astype(np.float64)
    for depth in (1, 2, 3, 5):
        ours = KernelTreeRegressor(bandwidth=0, max_depth=depth, min_mass=5).fit(X, y)
        cart = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=5, random_state=0).fit(X, y)
        np.testing.assert_allclose(ours.predict(rows), cart.predict(rows), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ours.feature_importances_, cart.feature_importances_, atol=1e-9)
        assert ours.get_n_leaves() == cart.get_n_leaves()
        assert ours.get_depth() == cart.get_depth()


def test_pruning_is_that_of_scikit_learn():
    X, y = load_diabetes(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    ours = KernelTreeRegressor(bandwidth=0, max_depth=4)
    cart = DecisionTreeRegressor(max_depth=4, random_state=0)
    path, expected = ours.cost_complexity_pruning_path(X, y), cart.cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(path.ccp_alphas, expected.ccp_alphas, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(path.impurities, expected.impurities, rtol=1e-6)
    for alpha in expected.ccp_alphas[[2, 5, -2]] * 1.001:
        pruned = KernelTreeRegressor(bandwidth=0, max_depth=4, ccp_alpha=alpha).fit(X, y)
        peer = DecisionTreeRegressor(max_depth=4, ccp_alpha=alpha, random_state=0).fit(X, y)
        assert pruned.get_n_leaves() == peer.get_n_leaves()
        np.testing.assert_allclose(pruned.predict(X), peer.predict(X))


# ------------------------------------------------------------------ what must not matter


@pytest.mark.parametrize("model_class", BOTH)
@pytest.mark.parametrize("bandwidth", [0.3, "auto", "cv", "silverman", "loo"])
def test_weights_are_repetitions(model_class, bandwidth):
    X, y = problem(model_class, n=50)
    weights = np.random.default_rng(1).integers(0, 4, size=50)
    model = model_class(bandwidth=bandwidth, cv=3, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    rows = np.random.default_rng(2).normal(size=(100, 4))
    answer = "predict_proba" if model_class is KernelTreeClassifier else "predict"
    np.testing.assert_allclose(getattr(weighted, answer)(rows), getattr(repeated, answer)(rows), atol=1e-9)


@pytest.mark.parametrize("model_class", BOTH)
@pytest.mark.parametrize("bandwidth", [0.3, "auto", "cv"])
@pytest.mark.parametrize("splitter", ["exact", "hist"])
def test_order_of_rows_and_columns_does_not_matter(model_class, bandwidth, splitter):
    X, y = problem(model_class)
    rng = np.random.default_rng(7)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    if isinstance(bandwidth, str):  # folds are drawn by the content of the rows, in which every cell has its place
        columns = np.arange(X.shape[1])
    model = model_class(bandwidth=bandwidth, splitter=splitter, cv=3, random_state=0)
    new = rng.normal(size=(100, X.shape[1]))
    expected = clone(model).fit(X, y).predict(new)
    found = clone(model).fit(X[rows][:, columns], y[rows]).predict(new[:, columns])
    if model_class is KernelTreeClassifier:
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("model_class", BOTH)
def test_same_tree_for_any_number_of_threads(model_class):
    X, y = problem(model_class, n=2000)
    trees = [model_class(bandwidth=0.2, max_features=2, random_state=4, n_jobs=k).fit(X, y).tree_ for k in (1, 2, 5)]
    for tree in trees[1:]:
        for name in ("feature", "threshold", "value", "mass", "children_right"):
            np.testing.assert_array_equal(getattr(tree, name), getattr(trees[0], name))


@pytest.mark.parametrize("model_class", BOTH)
def test_bins_for_all_values_are_the_exact_search(model_class):
    X, y = problem(model_class, n=120)
    exact, hist = (model_class(bandwidth=0.3, splitter=s).fit(X, y).tree_ for s in ("exact", "hist"))
    np.testing.assert_array_equal(exact.feature, hist.feature)
    np.testing.assert_array_equal(exact.threshold, hist.threshold)


def test_first_splits_are_those_of_many_points_from_the_density():
    """The tree is the one that CART grows on endlessly many points drawn from the kernel density estimate."""
    X, y = load_iris(return_X_y=True)
    h = 0.3 * X.std(axis=0)
    tree = KernelTreeClassifier(bandwidth=0.3, max_depth=2).fit(X, y).tree_
    rng = np.random.default_rng(0)
    drawn = np.repeat(X, 400, axis=0)
    drawn = drawn + rng.uniform(-1, 1, size=drawn.shape) * h
    cart = DecisionTreeClassifier(max_depth=2, random_state=0).fit(drawn, np.repeat(y, 400)).tree_
    assert tree.n_nodes == cart.node_count
    inner = tree.children_left >= 0
    np.testing.assert_array_equal(tree.feature[inner], cart.feature[inner])
    # The first split lies in a gap of the density: anywhere in it is as good.
    np.testing.assert_allclose(tree.threshold[inner][1:], cart.threshold[inner][1:], atol=0.03)
    np.testing.assert_allclose(tree.value, cart.value[:, 0], atol=0.01)


# ------------------------------------------------------------------ sharing


@pytest.mark.parametrize("model_class", BOTH)
@pytest.mark.parametrize(
    "parameters",
    [
        {"bandwidth": 0.4},
        {"bandwidth": 0.4, "kernel": "gaussian", "cutoff": 0.0},
        {"bandwidth": 0.4, "max_leaf_nodes": 9},
        {"bandwidth": "silverman", "bandwidth_per_node": True},
        {"bandwidth": 0.2, "measurement_error": {0: 0.5, 1: lambda x: 0.1 * np.abs(x)}},
        {"bandwidth": 0.5, "kernel": {2: Kernel([-1, -0.2, 0.5], [1, 3], scale=lambda x: 1 + x**2)}},
    ],
)
def test_masses_of_the_nodes_are_sums_of_memberships(model_class, parameters):
    """The tree that is read shares the training rows as the tree that was grown did."""
    X, y = problem(model_class)
    X[::9, 1] = np.nan
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(X))
    model = model_class(**parameters).fit(X, y, weights)
    shares, tree = model.memberships(X).toarray(), model.tree_
    np.testing.assert_allclose(weights @ shares, tree.mass, rtol=1e-4, atol=1e-4)
    inner = np.flatnonzero(tree.children_left >= 0)
    children = shares[:, tree.children_left[inner]] + shares[:, tree.children_right[inner]]
    np.testing.assert_allclose(children, shares[:, inner], atol=1e-12)
    np.testing.assert_allclose(shares[:, tree.children_left < 0].sum(axis=1), 1.0)


def test_gradient_is_the_slope_of_the_prediction():
    X, y = problem(KernelTreeRegressor)
    model = KernelTreeRegressor(bandwidth=0.6, kernel="gaussian", cutoff=0.0).fit(X, y)
    rows = np.random.default_rng(1).normal(size=(20, 4))
    gradient = model.input_gradient(rows)[:, 0]
    step = 1e-6
    for j in range(4):
        up, down = rows.copy(), rows.copy()
        up[:, j] += step
        down[:, j] -= step
        np.testing.assert_allclose(gradient[:, j], (model.predict(up) - model.predict(down)) / (2 * step), atol=1e-5)
    assert np.abs(gradient).max() > 0.1


# ------------------------------------------------------------------ targets and weights


def test_fuzzy_labels():
    X, y = load_iris(return_X_y=True)
    crisp = KernelTreeClassifier(bandwidth=0.3).fit(X, y)
    matrix = pd.DataFrame(np.eye(3)[y], columns=["a", "b", "c"])
    fuzzy = KernelTreeClassifier(bandwidth=0.3).fit(X, matrix)
    assert list(fuzzy.classes_) == ["a", "b", "c"]
    np.testing.assert_allclose(fuzzy.predict_proba(X), crisp.predict_proba(X), atol=1e-12)
    half = KernelTreeClassifier(bandwidth=0.3, max_depth=1).fit(X, np.full((150, 2), 0.5))
    np.testing.assert_allclose(half.predict_proba(X), 0.5)


def test_several_targets_are_one_tree():
    X, y = load_diabetes(return_X_y=True)
    both = KernelTreeRegressor(bandwidth=0.5, max_depth=5).fit(X, np.column_stack([y, -2 * y]))
    one = KernelTreeRegressor(bandwidth=0.5, max_depth=5).fit(X, y)
    np.testing.assert_allclose(both.predict(X), np.column_stack([one.predict(X), -2 * one.predict(X)]), rtol=1e-9)


def test_class_weight_is_a_weight():
    X, y = load_wine(return_X_y=True)
    factors = {0: 1.0, 1: 3.0, 2: 0.5}
    by_class = KernelTreeClassifier(bandwidth=0.5, cutoff=0.0, class_weight=factors).fit(X, y)
    by_row = KernelTreeClassifier(bandwidth=0.5, cutoff=0.0).fit(X, y, sample_weight=[factors[c] for c in y])
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), atol=1e-12)
    balanced = KernelTreeClassifier(bandwidth=0.5, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.tree_.value[0], 1 / 3)


# ------------------------------------------------------------------ stopping


def test_limits_hold():
    X, y = problem(KernelTreeClassifier, n=200)
    assert KernelTreeClassifier(bandwidth=0.2, max_depth=3).fit(X, y).get_depth() == 3
    assert KernelTreeClassifier(bandwidth=0.2, max_leaf_nodes=7).fit(X, y).get_n_leaves() == 7
    heavy = KernelTreeClassifier(bandwidth=0.2, min_mass=9.5).fit(X, y).tree_
    assert heavy.mass.min() >= 9.5 * (1 - 1e-6)
    assert np.any(np.isclose(heavy.mass, 9.5)), "a side may have exactly the minimum"
    full = KernelTreeClassifier(bandwidth=0.2).fit(X, y).tree_
    some = KernelTreeClassifier(bandwidth=0.2, min_gain=0.01).fit(X, y).tree_
    inner = np.flatnonzero(some.children_left >= 0)
    loss = some.mass * some.impurity / some.mass[0]
    assert np.all(loss[inner] - loss[some.children_left[inner]] - loss[some.children_right[inner]] >= 0.01 - 1e-9)
    assert some.n_leaves < full.n_leaves


def test_best_first_without_a_limit_is_depth_first():
    X, y = problem(KernelTreeRegressor)
    depth_first = KernelTreeRegressor(bandwidth=0.3).fit(X, y).tree_
    best_first = KernelTreeRegressor(bandwidth=0.3, max_leaf_nodes=10_000).fit(X, y).tree_
    np.testing.assert_array_equal(depth_first.threshold, best_first.threshold)
    np.testing.assert_allclose(depth_first.value, best_first.value, rtol=1e-12)


def test_merged_leaves_decide_the_same():
    X, y = problem(KernelTreeClassifier, n=150)
    full = KernelTreeClassifier(bandwidth=0.5, prediction_kernel=None).fit(X, y)
    merged = KernelTreeClassifier(bandwidth=0.5, prediction_kernel=None, merge_equal=True).fit(X, y)
    rows = np.random.default_rng(0).normal(size=(500, 4))
    np.testing.assert_array_equal(merged.predict(rows), full.predict(rows))
    assert merged.get_n_leaves() < full.get_n_leaves()


# ------------------------------------------------------------------ kernels, bandwidths and errors


def test_prediction_kernels():
    X, y = load_iris(return_X_y=True)
    same = KernelTreeClassifier(bandwidth=0.3).fit(X, y)
    none = KernelTreeClassifier(bandwidth=0.3, prediction_kernel=None).fit(X, y)
    zero = KernelTreeClassifier(bandwidth=0.3, prediction_bandwidth=0).fit(X, y)
    other = KernelTreeClassifier(bandwidth=0.3, prediction_kernel="gaussian", prediction_bandwidth={0: 0.3}).fit(X, y)
    np.testing.assert_array_equal(same.tree_.threshold, none.tree_.threshold)
    np.testing.assert_array_equal(none.predict_proba(X), zero.predict_proba(X))
    assert none.tree_.is_crisp
    assert not same.tree_.is_crisp
    reads = other.tree_.children_left >= 0
    np.testing.assert_array_equal(other.tree_.width[reads] > 0, other.tree_.feature[reads] == 0)


def test_units_of_bandwidths():
    X, y = load_wine(return_X_y=True)
    in_deviations = KernelTreeClassifier(bandwidth=0.4).fit(X, y)
    absolute = KernelTreeClassifier(bandwidth=0.4 * X.std(axis=0), bandwidth_unit="absolute").fit(X, y)
    by_name = KernelTreeClassifier(bandwidth={j: 0.4 for j in range(13)}).fit(X, y)
    for model in (absolute, by_name):
        np.testing.assert_allclose(model.predict_proba(X), in_deviations.predict_proba(X), atol=1e-9)
    scaled = KernelTreeClassifier(bandwidth=0.4).fit(X * 1000 - 7, y)
    np.testing.assert_allclose(scaled.predict_proba(X * 1000 - 7), in_deviations.predict_proba(X), atol=1e-6)


def test_measurement_error_is_a_bandwidth():
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    errors = {"a": 0.5, "c": 0.25}
    known = KernelTreeClassifier(bandwidth=0, measurement_error=errors).fit(frame, y)
    same = KernelTreeClassifier(bandwidth=errors, bandwidth_unit="absolute").fit(frame, y)
    np.testing.assert_allclose(known.predict_proba(frame), same.predict_proba(frame), atol=1e-12)
    cells = np.zeros((150, 4))
    cells[:, 0], cells[:, 2] = 0.5, 0.25
    by_cell = KernelTreeClassifier(bandwidth=0).fit(frame, y, measurement_error=cells)
    np.testing.assert_array_equal(by_cell.tree_.feature, known.tree_.feature)
    np.testing.assert_allclose(by_cell.tree_.threshold, known.tree_.threshold, atol=1e-9)
    np.testing.assert_allclose(
        by_cell.predict_proba(frame, measurement_error=cells), known.predict_proba(frame), atol=1e-9
    )
    # One uncertain reading is smoothed, the others are as they were.
    rows = frame.iloc[[60, 70]]
    sure, unsure = (known.predict_proba(rows, measurement_error={"c": [0.25, wide]}) for wide in (0.25, 30.0))
    np.testing.assert_allclose(unsure[0], sure[0])
    assert unsure[1].max() < sure[1].max()


@pytest.mark.parametrize("kernel", ["triangle", "gaussian"])
def test_named_kernels_are_as_wide_as_the_box(kernel):
    X, y = load_iris(return_X_y=True)
    model = KernelTreeClassifier(bandwidth=0.3, kernel=kernel).fit(X, y)
    box = KernelTreeClassifier(bandwidth=0.3).fit(X, y)
    assert np.abs(model.predict_proba(X) - box.predict_proba(X)).mean() < 0.05
    assert model.score(X, y) > 0.95


# ------------------------------------------------------------------ tables


def test_missing_values_are_shared_as_the_node_shares():
    X, y = load_iris(return_X_y=True)
    model = KernelTreeClassifier(bandwidth=0.3).fit(X, y)
    nothing = model.predict_proba(np.full((1, 4), np.nan))
    np.testing.assert_allclose(nothing[0], [1 / 3, 1 / 3, 1 / 3], atol=0.02)


# ------------------------------------------------------------------ in company


@pytest.mark.parametrize("model_class", BOTH)
def test_hardly_any_data(model_class):
    for X, y in (
        (np.zeros((1, 1)), [1]),
        (np.zeros((5, 2)), [0, 1, 0, 1, 1]),
        (np.arange(4.0)[:, None], [1, 1, 1, 1]),
        (np.array([[np.nan], [np.nan]]), [0, 1]),
    ):
        model = model_class().fit(X, y)
        assert model.predict(X).shape == (len(X),)
        assert model.get_n_leaves() >= 1
