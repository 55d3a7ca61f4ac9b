"""Kernel trees as a user meets them: CART at bandwidth 0, what must not matter, sharing, targets, kernels, errors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tests.kernel.grown import KernelTreeClassifier, KernelTreeRegressor
from tests.models import problem

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


# ------------------------------------------------------------------ sharing


# ------------------------------------------------------------------ targets and weights


def test_several_targets_are_one_tree():
    X, y = load_diabetes(return_X_y=True)
    both = KernelTreeRegressor(bandwidth=0.5, max_depth=5).fit(X, np.column_stack([y, -2 * y]))
    one = KernelTreeRegressor(bandwidth=0.5, max_depth=5).fit(X, y)
    np.testing.assert_allclose(both.predict(X), np.column_stack([one.predict(X), -2 * one.predict(X)]), rtol=1e-9)


# ------------------------------------------------------------------ stopping


def test_a_side_may_have_exactly_the_minimum():
    X, y = problem(KernelTreeClassifier, n=200)
    heavy = KernelTreeClassifier(bandwidth=0.2, min_mass=9.5).fit(X, y).tree_
    assert heavy.mass.min() >= 9.5 * (1 - 1e-6)
    assert np.any(np.isclose(heavy.mass, 9.5)), "a side may have exactly the minimum"


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
