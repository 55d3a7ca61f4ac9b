"""Fast predictions: the loops against slow twins; whole models against the general walk, which has its own twins."""

import numpy as np
import pytest

from softwood import KernelTreeClassifier, KernelTreeRegressor, SoftForest, SoftTree
from softwood.density.kernels import gaussian
from softwood.loops.predict import Items, KernelTrees, add_crisp_trees, add_kernel_trees, crisp_leaves_fast, share_out
from tests.reference.kernels import BOX, SHAPES
from tests.reference.sharing import node_shares, prediction
from tests.reference.trees import random_points, random_tree

SEEDS = range(4)

# ------------------------------------------------------------------ the loops


def slow_leaf(tree, x):
    """The leaf at the end of a crisp path."""
    node = 0
    while tree.children_left[node] >= 0:
        goes_left = x[tree.feature[node]] <= tree.threshold[node]
        node = (tree.children_left if goes_left else tree.children_right)[node]
    return node


def several(shapes, widths, cutoff=0.0):
    """Trees of different sizes, a lone root among them, and all of them side by side."""
    sizes = (12, 1, 7, 20)
    trees = [random_tree(seed, n_leaves=n, shapes=shapes, widths=widths, cutoff=cutoff) for seed, n in enumerate(sizes)]
    return trees, SoftForest.mean(trees)


def kernel_trees(forest):
    """As the loops take them."""
    return KernelTrees(
        forest._tests, forest._ends, forest.threshold, forest.width, forest.kernel, forest.shapes.edges,
        forest.shapes.cdfs, float(forest.cutoff),
    )  # fmt: skip


def scratch_of(capacity):
    """Filled with nonsense."""
    return Items(
        np.full((capacity, 3), 77, np.uint32), np.full(capacity, np.nan), np.full((2 * capacity, 2), 77, np.uint32),
        np.full((2 * capacity, 2), np.nan), np.full(capacity, 77, np.uint32), np.full(capacity, 77, np.uint32),
    )  # fmt: skip


@pytest.mark.tiny
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_rows", [0, 1, 8, 19])
def test_leaves_of_crisp_paths(seed, n_rows):
    tree, X = random_tree(seed, widths=0.0), random_points(seed, n_rows, 3)
    X[: n_rows // 2, tree.feature[0]] = tree.threshold[0]  # which goes left
    out = np.full(n_rows, -1, np.int32)
    crisp_leaves_fast(X, tree._tests, tree._crisp_thresholds, out)
    assert out.tolist() == [slow_leaf(tree, x) for x in X]


@pytest.mark.tiny
@pytest.mark.parametrize("n_rows", [0, 1, 8, 19])
def test_values_of_crisp_trees_are_added(n_rows):
    trees, forest = several(SHAPES, 0.0)
    X, out, output = random_points(5, n_rows, 3), np.full((n_rows, 5), 0.25), np.array([1, 0, 3, 2])
    numbers = np.array([3, 0, 1])
    add_crisp_trees(
        X, numbers, forest.offsets, output, forest._tests, forest._crisp_thresholds, forest.value, out
    )  # fmt: skip
    expected = np.full((n_rows, 5), 0.25)
    for number in numbers:
        tree, first = trees[number], output[number]
        for i, x in enumerate(X):
            expected[i, first : first + 2] += tree.value[slow_leaf(tree, x)]
    np.testing.assert_allclose(out, expected, rtol=1e-15)


@pytest.mark.tiny
@pytest.mark.parametrize("shapes", [[BOX], SHAPES], ids=["boxes", "all shapes"])
@pytest.mark.parametrize("cutoff", [0.0, 0.02, 0.3])
def test_rows_are_shared_out_among_leaves(shapes, cutoff):
    trees, forest = several(shapes, "any", cutoff)
    X, scratch = random_points(9, 11, 3), scratch_of(400)
    for tree, root in zip(trees, forest.offsets, strict=False):
        n = share_out(X, 2, 9, root, kernel_trees(forest), scratch)
        found = np.zeros((11, tree.n_nodes))
        for (node, row, _), share in zip(scratch.items[:n], scratch.shares[:n], strict=True):
            assert found[row, node - root] == 0.0, "each leaf once"
            found[row, node - root] = share
        expected = np.array([node_shares(tree, shapes, x) for x in X])
        expected[:, tree.children_left >= 0] = 0.0
        expected[[0, 1, 9, 10]] = 0.0
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        assert n == np.count_nonzero(expected), "no item without a share"


@pytest.mark.tiny
def test_scratch_space_that_is_not_enough():
    trees, forest = several(SHAPES, 4.0)
    X = random_points(9, 6, 3)
    n_most = max(np.count_nonzero(node_shares(trees[3], SHAPES, x)[trees[3].children_left < 0]) for x in X)
    assert n_most > 6
    root, arrays = forest.offsets[3], kernel_trees(forest)
    assert share_out(X, 0, 6, root, arrays, scratch_of(n_most + 2)) == -1
    assert share_out(X, 0, 6, root, arrays, scratch_of(12 * n_most)) > n_most
    assert share_out(X, 0, 0, root, arrays, scratch_of(1)) == 0


@pytest.mark.tiny
@pytest.mark.parametrize("shapes", [[BOX], SHAPES], ids=["boxes", "all shapes"])
@pytest.mark.parametrize("cutoff", [0.0, 0.02])
@pytest.mark.parametrize("capacity", [45, 2000])
@pytest.mark.parametrize("batch", [1, 4, 256])
def test_values_of_kernel_trees_are_added(shapes, cutoff, capacity, batch):
    """Where all rows at once are too many for the scratch space, in parts."""
    trees, forest = several(shapes, "any", cutoff)
    X, out, output = random_points(9, 21, 3), np.full((21, 5), 0.25), np.array([1, 0, 3, 2])
    numbers = np.array([3, 0, 1])
    scratch = scratch_of(capacity)
    add_kernel_trees(
        X, numbers, forest.offsets, output, batch, kernel_trees(forest), scratch, forest.value, out
    )  # fmt: skip
    expected = np.full((21, 5), 0.25)
    for number in numbers:
        first = output[number]
        expected[:, first : first + 2] += [prediction(trees[number], shapes, x) for x in X]
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-12)


# ------------------------------------------------------------------ whole models


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
