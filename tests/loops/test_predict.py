"""Fast predictions against the general walk, which is tested against slow twins."""

import numpy as np
import pytest

from softwood import KernelTreeClassifier, KernelTreeRegressor, SoftTree
from softwood.density.kernels import gaussian


def leaf_sums(tree: SoftTree, X: np.ndarray) -> np.ndarray:
    """Predictions from the memberships alone."""
    leaves = np.where((tree.children_left < 0)[:, None], tree.value, 0.0)
    return tree.memberships(X) @ leaves


def data(n=60, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 1), rng.normal(size=(41, p)) * 1.5


@pytest.mark.tiny
@pytest.mark.parametrize("kernel", ["box", gaussian(5)])
@pytest.mark.parametrize("cutoff", [0.0, 1e-2])
def test_kernel_predictions_are_sums_over_memberships(kernel, cutoff):
    X, y, rows = data()
    tree = KernelTreeClassifier(bandwidth=0.4, kernel=kernel, cutoff=cutoff).fit(X, y).tree_
    np.testing.assert_allclose(tree.predict(rows), leaf_sums(tree, rows), rtol=0, atol=1e-12)


@pytest.mark.tiny
def test_crisp_predictions_follow_one_path():
    X, y, rows = data()
    tree = KernelTreeClassifier(bandwidth=0.2, prediction_kernel=None).fit(X, y).tree_
    np.testing.assert_array_equal(tree.predict(rows), leaf_sums(tree, rows))
    np.testing.assert_array_equal(tree.predict_largest(rows), leaf_sums(tree, rows).argmax(axis=1))
    np.testing.assert_array_equal(tree.predict(rows), tree.value[tree.apply(rows)])


def test_points_exactly_on_edges_and_thresholds():
    X, y, _ = data()
    tree = KernelTreeClassifier(bandwidth=0.4).fit(X, y).tree_
    inner = tree.children_left >= 0
    rows = np.zeros((3 * inner.sum(), X.shape[1]))
    for k, offset in enumerate((-1, 0, 1)):
        at = np.arange(inner.sum()) + k * inner.sum()
        rows[at, tree.feature[inner]] = tree.threshold[inner] + offset * tree.width[inner]
    np.testing.assert_allclose(tree.predict(rows), leaf_sums(tree, rows), rtol=0, atol=1e-12)


def test_many_leaves_per_row_take_smaller_batches():
    """A bandwidth so wide that a batch of rows does not fit the scratch space at once."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 4))
    model = KernelTreeRegressor(bandwidth=3.0, min_mass=0.4).fit(X, rng.normal(size=1500))
    rows = rng.normal(size=(300, 4))
    reached = np.diff(model.tree_.decision_path(rows).indptr)
    assert reached.sum() > max(2 * model.tree_.n_nodes, 64 * 256), "the data must fill the scratch space"
    np.testing.assert_allclose(model.tree_.predict(rows), leaf_sums(model.tree_, rows), rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 255, 256, 257])
def test_any_number_of_rows(n):
    X, y, _ = data()
    rows = np.random.default_rng(n).normal(size=(n, 3))
    for kernel in ("same", None):
        tree = KernelTreeClassifier(bandwidth=0.3, prediction_kernel=kernel).fit(X, y).tree_
        np.testing.assert_allclose(tree.predict(rows), leaf_sums(tree, rows), rtol=0, atol=1e-12)
