"""Fast predictions: the loops against reference implementations, whole models against the general walk."""

from dataclasses import replace

import numpy as np
import pytest

from softwood import KernelTreeClassifier, KernelTreeRegressor, SoftForest, SoftTree
from softwood.compiled.trees import (
    add_block,
    add_crisp_trees,
    add_kernel_trees,
    bound_mass,
    crisp_leaves_fast,
    divide,
    far_end,
    go_down,
    mass_below,
    next_list,
    partition,
    partition_cells,
)
from softwood.kernel.data.kernels import gaussian
from softwood.trees.loops.predict import BEFORE, BEGIN, BOUND, END, ITEM, LOWER, NEITHER, NODE, UPPER, KernelTrees
from softwood.trees.sharing import kernel_lists
from tests.reference.kernels import BOX, SHAPES, cdf
from tests.reference.sharing import prediction
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


def several(shapes, widths):
    """Trees of different sizes, a lone root among them, and all of them side by side."""
    sizes = (12, 1, 7, 20)
    trees = [random_tree(seed, n_leaves=n, shapes=shapes, widths=widths) for seed, n in enumerate(sizes)]
    return trees, SoftForest.mean(trees)


def kernel_trees(nodes):
    """As the loops take them."""
    return KernelTrees(
        nodes._gates, nodes.missing_left, nodes.threshold, nodes.width, nodes.shapes.edges, nodes.shapes.cdfs,
        nodes._only_boxes, nodes.set_words,
    )  # fmt: skip


def lists_of(block, height, n_features=3):
    """Filled with nonsense, but for the bounds."""
    lists = kernel_lists(block, height, n_features)
    for array in lists[:2]:
        array["row"], array["share"] = 77, np.nan
    lists.frames[:] = 77
    assert np.all(lists.bounds == -1)
    return lists


def items_of(rows, shares):
    items = np.empty(len(rows), ITEM)
    items["row"], items["share"] = rows, shares
    return items


def unsigned(*numbers):
    """As the loops pass them on."""
    return [np.uint64(number) for number in numbers]


@pytest.mark.tiny
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_rows", [0, 1, 8, 19])
def test_leaves_of_crisp_paths(seed, n_rows):
    tree, X = random_tree(seed, widths=0.0), random_points(seed, n_rows, 3)
    X[: n_rows // 2, tree.feature[0]] = tree.threshold[0]  # which goes left
    out = np.full(n_rows, -1, np.int32)
    crisp_leaves_fast(X, tree._tests, tree._crisp_thresholds, None, out)
    assert out.tolist() == [slow_leaf(tree, x) for x in X]
    node = np.full(8, 77, np.uint32)
    last = X[-8:]
    go_down(X, len(X) - len(last), len(last), 0, tree._tests, tree._crisp_thresholds, None, node)
    assert node.tolist() == [slow_leaf(tree, x) for x in last] + [77] * (8 - len(last))


@pytest.mark.tiny
@pytest.mark.parametrize("n_rows", [0, 1, 8, 19])
def test_values_of_crisp_trees_are_added(n_rows):
    trees, forest = several(SHAPES, 0.0)
    X, out, output = random_points(5, n_rows, 3), np.full((n_rows, 5), 0.25), np.array([1, 0, 3, 2], np.int32)
    numbers = np.array([3, 0, 1])
    add_crisp_trees(
        X, numbers, forest.offsets, output, forest._tests, forest._crisp_thresholds, None, forest.value, out
    )  # fmt: skip
    expected = np.full((n_rows, 5), 0.25)
    for number in numbers:
        tree, first = trees[number], output[number]
        for i, x in enumerate(X):
            expected[i, first : first + 2] += tree.value[slow_leaf(tree, x)]
    np.testing.assert_allclose(out, expected, rtol=1e-15)


@pytest.mark.tiny
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [0, 1, 9])
def test_a_list_is_taken_apart(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.choice([-2.0, -1.0, 0.0, 1.0, 2.0, np.nan, -np.inf, np.inf], size=(20, 2))
    rows, shares = rng.permutation(20)[:n], rng.random(n)
    x = X[rows, 1]
    items = np.concatenate([items_of([77] * 3, np.zeros(3)), items_of(rows, shares), items_of([77] * 2, np.zeros(2))])
    spare = items_of([77] * 25, np.zeros(25))
    n_left, n_right = partition(X, 1, -1.0, 1.0, items, *unsigned(3, 3 + n), spare)
    left, right = x <= -1.0, x >= 1.0
    assert (n_left, n_right) == (left.sum(), right.sum())
    assert np.array_equal(spare[:n_left], items_of(rows[left], shares[left]))
    assert np.array_equal(items[3 : 3 + n_right], items_of(rows[right], shares[right]))
    between = ~(left | right)
    assert np.array_equal(spare[::-1][: between.sum()], items_of(rows[between], shares[between]))
    assert items["row"][[0, 1, 2]].tolist() == [77] * 3, "of another list"


@pytest.mark.tiny
@pytest.mark.parametrize("shapes", [[BOX], SHAPES], ids=["boxes", "all shapes"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_list_is_taken_apart_by_half_widths_of_cells(shapes, seed):
    rng = np.random.default_rng(seed)
    tree = random_tree(seed, shapes=shapes)
    X = random_points(seed, 20, 3, 0.1)
    cells = rng.choice([np.nan, 0.0, 0.5, 2.0], size=X.shape)
    for node in np.flatnonzero(tree.children_left >= 0):
        j, t, shape = tree.feature[node], tree.threshold[node], shapes[tree.kernel[node]]
        X[0, j], cells[0, j] = t, 0.0  # goes left
        rows = rng.permutation(20)[:12]
        rows[0] = 0
        items, spare = items_of(rows, rng.random(12)), items_of([77] * 25, np.zeros(25))
        n_left, n_right = partition_cells(
            X, cells, *unsigned(j, node), kernel_trees(tree), items, *unsigned(0, 12), spare
        )
        below = [
            0.5
            if np.isnan(X[i, j])
            else cdf(t, X[i, j], tree.width[node] if np.isnan(cells[i, j]) else cells[i, j], shape)
            for i in rows
        ]
        assert spare["row"][:n_left].tolist() == [i for i, mass in zip(rows, below, strict=True) if mass == 1]
        assert items["row"][:n_right].tolist() == [i for i, mass in zip(rows, below, strict=True) if mass == 0]
        between = [i for i, mass in zip(rows, below, strict=True) if 0 < mass < 1]
        assert spare["row"][::-1][: len(between)].tolist() == between


@pytest.mark.tiny
def test_the_nearest_threshold_on_each_side():
    frames, bounds = np.full((5, 5), -1, np.int64), np.full((2, 2), -1, np.int64)
    frames[:, NODE], frames[3, BEFORE], frames[1, BEFORE] = range(5), 1, 0
    bounds[LOWER, 1], bounds[UPPER, 1] = 3, 4
    thresholds = np.array([-1.0, 2.0, 9.0, 0.5, 3.0])
    assert far_end(LOWER, 1, thresholds, frames, bounds) == 2.0
    assert far_end(UPPER, 1, thresholds, frames, bounds) == 3.0
    assert far_end(LOWER, 0, thresholds, frames, bounds) == -np.inf
    assert far_end(UPPER, 0, thresholds, frames, bounds) == np.inf


@pytest.mark.tiny
@pytest.mark.parametrize("shapes", [[BOX], SHAPES], ids=["boxes", "all shapes"])
def test_mass_below_a_threshold(shapes):
    tree = random_tree(3, shapes=shapes)
    trees = kernel_trees(tree)
    assert trees.only_boxes == (len(shapes) == 1)
    for node in np.flatnonzero(tree.children_left >= 0):
        shape = shapes[tree.kernel[node]]
        for x in tree.threshold[node] + tree.width[node] * np.linspace(-2.5, 2.5, 21):
            expected = cdf(tree.threshold[node], x, tree.width[node], shape)
            assert mass_below(x, np.nan, node, trees) == pytest.approx(expected, abs=1e-12)
            own = cdf(tree.threshold[node], x, 0.7, shape)
            assert mass_below(x, 0.7, node, trees) == pytest.approx(own, abs=1e-12)
    frames, bounds = np.full((3, 5), -1, np.int64), np.full((2, 3), -1, np.int64)
    frames[:, NODE], frames[1:, BEFORE], bounds[:, 2] = np.flatnonzero(tree.children_left >= 0)[:3], [0, 1], 2
    masses = [mass_below(0.1, np.nan, node, trees) for node in frames[:, NODE].tolist()]
    assert bound_mass(LOWER, 0.1, np.nan, 2, trees, frames, bounds) == max(masses)
    assert bound_mass(UPPER, 0.1, np.nan, 2, trees, frames, bounds) == min(masses)
    assert (bound_mass(LOWER, 0.1, np.nan, 0, trees, frames, bounds)) == 0.0
    assert (bound_mass(UPPER, 0.1, np.nan, 0, trees, frames, bounds)) == 1.0


@pytest.mark.tiny
def test_rows_are_divided_within_their_bounds():
    """A gate at 0 after one at -0.5, whose right branch this is, and one at 0.5, whose left branch it is."""
    tree = SoftTree.from_nodes(
        children_left=[1, -1, 3, 5, -1, -1, -1], children_right=[2, -1, 4, 6, -1, -1, -1],
        feature=[0, -1, 0, 0, -1, -1, -1], threshold=[-0.5, np.nan, 0.5, 0.0, np.nan, np.nan, np.nan], width=1.0,
        missing_left=0.25, value=np.zeros((7, 1)), n_features=1,
    )  # fmt: skip
    X = np.array([[-0.8], [0.0], [0.9], [np.nan], [-0.4]])
    lists = lists_of(5, 3, 1)
    lists.frames[0, [NODE, BEFORE]] = 0, -1
    lists.frames[1, [NODE, BEFORE]] = 2, -1
    lists.bounds[:, 0] = 0, 1
    lists.spare[-5:] = items_of(range(5), [0.5] * 5)[::-1]
    n_left, n_right = divide(X, None, np.int64(3), *unsigned(2, 0, 0, 5), kernel_trees(tree), lists)
    found = np.zeros((5, 2))
    for side, items in enumerate((lists.spare[:n_left], lists.items[2 : 2 + n_right])):
        found[items["row"], side] = items["share"]
        assert np.all(items["share"] > 0)
    parts = []
    for x in X.ravel():
        below = [np.clip((t - x + 1) / 2, 0, 1) for t in (-0.5, 0.0, 0.5)]
        part = 0.25 if np.isnan(x) else (below[1] - below[0]) / (below[2] - below[0])
        left = 0.5 * part
        parts.append([left, 0.5 - left])
    assert found == pytest.approx(np.array(parts), abs=1e-12)


@pytest.mark.tiny
def test_the_list_after_a_leaf():
    """Two frames on feature 0: the outer one bounds from above and has a right branch, the inner one is finished."""
    tree = SoftTree.from_nodes(
        children_left=[1, 3, -1, -1, -1], children_right=[2, 4, -1, -1, -1], feature=[0, 0, -1, -1, -1],
        threshold=[1.0, 0.0, np.nan, np.nan, np.nan], width=1.0, value=np.zeros((5, 1)), n_features=1,
    )  # fmt: skip
    columns = [NODE, BEGIN, END, BOUND, BEFORE]
    lists = lists_of(4, 2, 1)
    lists.frames[0, columns] = 0, 0, 3, UPPER, -1
    lists.frames[1, columns] = 1, 3, 3, LOWER, -1
    lists.bounds[:, 0] = 1, 0
    arguments = tree._gates, lists.frames, lists.bounds
    assert next_list(*arguments, 2) == (1, 2, 0, 3), "to the right child of the root, with its frame"
    assert lists.bounds.tolist() == [[0], [-1]], "which is a lower bound from now on"
    assert next_list(*arguments, 1)[0] == -1
    assert lists.bounds.tolist() == [[-1], [-1]]
    lists.frames[0, columns] = 0, 1, 2, NEITHER, 77
    assert next_list(*arguments, 1) == (0, 2, 1, 2), "without a bound the frame is not needed any more"


def expected_sums(trees, numbers, output, shapes, X, cells=None):
    cells = [None] * len(X) if cells is None else cells
    expected = np.full((len(X), 5), 0.25)
    for number in numbers:
        first = output[number]
        expected[:, first : first + 2] += np.array(
            [prediction(trees[number], shapes, x, own) for x, own in zip(X, cells, strict=True)]
        ).reshape(-1, 2)
    return expected


@pytest.mark.tiny
@pytest.mark.parametrize("shapes", [[BOX], SHAPES], ids=["boxes", "all shapes"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_values_of_a_block_of_rows_are_added(shapes, missing):
    trees, forest = several(shapes, "any")
    X, lists = random_points(9, 11, 3, missing), lists_of(7, forest.max_depth)
    for number, root in enumerate(forest.offsets[:-1]):
        out = np.full((11, 5), 0.25)
        add_block(X, None, 2, 9, root, kernel_trees(forest), lists, forest.value, 3, out)
        expected = expected_sums(trees, [number], {number: 3}, shapes, X)
        expected[[0, 1, 9, 10]] = 0.25
        np.testing.assert_allclose(out, expected, rtol=0, atol=1e-12)
        assert np.all(lists.bounds == -1), "as they were"


@pytest.mark.tiny
@pytest.mark.parametrize("shapes", [[BOX], SHAPES], ids=["boxes", "all shapes"])
@pytest.mark.parametrize("widths", ["any", 4.0])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("block", [1, 4, 256])
@pytest.mark.parametrize("is_copied", [False, True])
@pytest.mark.parametrize("of_cells", [None, (np.nan, 0.0, 0.4, 3.0), (0.5, 2.0)], ids=["none", "some", "all"])
def test_values_of_kernel_trees_are_added(shapes, widths, missing, block, is_copied, of_cells):
    """The lists have just the size that is needed if all rows reach all leaves."""
    trees, forest = several(shapes, widths)
    X, out, output = random_points(9, 21, 3, missing), np.full((21, 5), 0.25), np.array([1, 0, 3, 2], np.int32)
    numbers = np.array([3, 0, 1])
    lists, copy = lists_of(min(block, 21), forest.max_depth), np.full((min(block, 21) if is_copied else 0, 3), 7.0)
    cells = None if of_cells is None else np.random.default_rng(2).choice(of_cells, size=X.shape)
    arrays = kernel_trees(forest)
    add_kernel_trees(X, cells, numbers, forest.offsets, output, block, arrays, lists, forest.value, copy, out)
    np.testing.assert_allclose(out, expected_sums(trees, numbers, output, shapes, X, cells), rtol=0, atol=1e-12)


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
def test_kernel_predictions_are_sums_over_memberships(kernel):
    X, y, rows = data()
    tree = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.4, kernel=kernel).fit(X, y).tree_
    np.testing.assert_allclose(tree.predict(rows), leaf_sums(tree, rows), rtol=0, atol=1e-12)


@pytest.mark.tiny
def test_crisp_predictions_follow_one_path():
    X, y, rows = data()
    tree = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2, prediction_kernel=None).fit(X, y).tree_
    np.testing.assert_array_equal(tree.predict(rows), leaf_sums(tree, rows))
    np.testing.assert_array_equal(tree.predict_largest(rows), leaf_sums(tree, rows).argmax(axis=1))
    np.testing.assert_array_equal(tree.predict(rows), tree.value[tree.apply(rows)])


def test_points_exactly_on_edges_and_thresholds():
    X, y, _ = data()
    tree = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.4).fit(X, y).tree_
    inner = tree.children_left >= 0
    rows = np.zeros((3 * inner.sum(), X.shape[1]))
    for k, offset in enumerate((-1, 0, 1)):
        at = np.arange(inner.sum()) + k * inner.sum()
        rows[at, tree.feature[inner]] = tree.threshold[inner] + offset * tree.width[inner]
    np.testing.assert_allclose(tree.predict(rows), leaf_sums(tree, rows), rtol=0, atol=1e-12)


def test_many_leaves_per_row():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 4))
    model = KernelTreeRegressor(
        refine=False, trend=None, bandwidth=3.0, min_mass=0.4, max_leaf_nodes=None, cutoff=0.0
    ).fit(X, rng.normal(size=1500))
    rows = rng.normal(size=(300, 4))
    assert np.diff(model.tree_.decision_path(rows).indptr).mean() > 100
    np.testing.assert_allclose(model.tree_.predict(rows), leaf_sums(model.tree_, rows), rtol=0, atol=1e-9)


def test_rows_do_not_depend_on_the_block(monkeypatch):
    X, y, _ = data(300)
    tree = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.4, max_leaf_nodes=None).fit(X, y).tree_
    rows = np.random.default_rng(3).normal(size=(2500, 3))
    rows[::7, 1] = np.nan
    expected = tree.predict(rows)
    for block in (1, 100):
        monkeypatch.setattr("softwood.trees.sharing._LEAST_BLOCK", block)
        monkeypatch.setattr("softwood.trees.sharing._LARGEST_BLOCK", block)
        np.testing.assert_array_equal(tree.predict(rows), expected)
    monkeypatch.setattr("softwood.trees.sharing._WIDEST_COPY", 2)
    np.testing.assert_array_equal(tree.predict(rows), expected)
    np.testing.assert_array_equal(np.vstack([tree.predict(row[None]) for row in rows[:50]]), expected[:50])


@pytest.mark.tiny
@pytest.mark.parametrize("widths", [0.0, "any"])
def test_rows_on_thresholds_of_crisp_gates_beside_missing_values(widths):
    tree = random_tree(4, n_leaves=20, shapes=[BOX], widths=widths)
    tests = np.flatnonzero((tree.children_left >= 0) & (tree.width == 0))
    assert len(tests) > 0
    X = random_points(5, len(tests) + 10, 3, 0.3)
    X[np.arange(len(tests)), tree.feature[tests]] = tree.threshold[tests]
    assert np.isnan(X).any()
    expected = np.array([prediction(tree, [BOX], x) for x in X])
    np.testing.assert_allclose(tree.predict(X), expected, rtol=0, atol=1e-12)
    assert np.all(tree._gates["high"][tests] == np.nextafter(tree.threshold[tests], np.inf))


def test_half_widths_that_overflow_divide_by_halves():
    tree = SoftTree.from_nodes(
        children_left=[1, -1, -1], children_right=[2, -1, -1], feature=[0, -1, -1], threshold=[1.5, np.nan, np.nan],
        width=1.7e308, value=[[0.5], [0.0], [1.0]], n_features=1,
    )  # fmt: skip
    assert not tree._only_boxes
    assert tree.predict(np.array([[3.0], [-np.inf], [np.inf]])).ravel().tolist() == [0.5, 0.0, 1.0]
    tree = replace(tree, width=np.array([0.5, 0.0, 0.0]))
    assert tree._only_boxes
    widths = np.array([[1.7e308], [np.nan], [0.0]])
    assert tree.predict(np.array([[3.0], [1.5], [1.5]]), widths=widths).ravel().tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 1023, 1024, 1025])
def test_any_number_of_rows(n):
    X, y, _ = data()
    rows = np.random.default_rng(n).normal(size=(n, 3))
    for kernel in ("same", None):
        tree = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.3, prediction_kernel=kernel).fit(X, y).tree_
        np.testing.assert_allclose(tree.predict(rows), leaf_sums(tree, rows), rtol=0, atol=1e-12)
