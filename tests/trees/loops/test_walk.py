"""Sharing by finished trees: the loops, and the methods of `SoftTree` that run them."""

import numpy as np
import pytest

from softwood.compiled.trees import gradient_rows, member_rows, oblique_input, predict_rows, visit
from softwood.trees.gates import Gate
from softwood.trees.sharing import walk_arguments
from tests.reference.kernels import BOX, SHAPES
from tests.reference.sharing import gradient, interval_membership, node_shares, prediction
from tests.reference.trees import ALL_GATES, random_points, random_tree

KINDS = {
    "kernel": (Gate.KERNEL,),
    "sigmoid": (Gate.SIGMOID,),
    "oblique": (Gate.OBLIQUE,),
    "blend": (Gate.BLEND,),
    "all": ALL_GATES,
}
SEEDS = range(4)


def points(seed, missing=0.2):
    return random_points(100 + seed, 12, 3, missing)


# ------------------------------------------------------------------ the loops


def arguments_of(tree, X, seed=None):
    """Arguments of the loops, and half-widths of single cells if there is a seed for them."""
    cells = None if seed is None else np.random.default_rng(seed).choice([np.nan, 0.0, 0.5, 2.0], size=X.shape)
    arguments = walk_arguments(tree, slice(None), X, cells)
    for array in arguments[-1][1:]:
        array[...] = 77  # scratch space
    return arguments, [None] * len(X) if cells is None else cells


@pytest.mark.tiny
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("by_cell", [False, True])
def test_a_visit_lists_the_nodes_with_a_share(kind, seed, by_cell):
    tree, X = random_tree(seed, gates=KINDS[kind]), points(seed)
    (_, nodes, weights, widths, scratch), cells = arguments_of(tree, X, seed if by_cell else None)
    for i, x in enumerate(X):
        n = visit(X, i, nodes, weights, widths, scratch)
        listed = scratch.nodes[:n].tolist()
        expected = node_shares(tree, SHAPES, x, cells[i])
        assert sorted(listed) == np.flatnonzero(expected).tolist()
        assert scratch.shares[:n] == pytest.approx(expected[listed], abs=1e-12)
        assert all(k == 0 or tree.parent[node] in listed[:k] for k, node in enumerate(listed)), "parents first"
        assert scratch.bounds.tolist() == [[0.0] * 3, [1.0] * 3], "as they were"


@pytest.mark.tiny
def test_input_of_an_oblique_gate():
    weights, bias = np.array([[77.0, 77.0, 77.0], [0.5, 0.0, -2.0]]), np.array([77.0, 1.0])
    X = np.array([[77.0, 77.0, 77.0], [4.0, np.nan, 3.0], [np.nan, 1.0, 3.0]])
    assert oblique_input(X, 1, 1, weights, bias) == 1.0 + 2.0 - 6.0
    assert np.isnan(oblique_input(X, 2, 1, weights, bias))


@pytest.mark.tiny
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("by_cell", [False, True])
def test_loops_over_rows(kind, seed, by_cell):
    """Predictions, memberships by counting and filling, and gradients, all from the same arguments."""
    tree, X = random_tree(seed, gates=KINDS[kind]), points(seed, 0.1)
    arguments, cells = arguments_of(tree, X, seed if by_cell else None)
    leaf = tree.children_left < 0
    shares = np.array([node_shares(tree, SHAPES, *each) for each in zip(X, cells, strict=True)])
    out = np.zeros((len(X), 2))
    predict_rows(*arguments, tree.value, out)
    assert out == pytest.approx(shares[:, leaf] @ tree.value[leaf], abs=1e-11)

    indptr = np.zeros(len(X) + 1, np.int64)
    member_rows(*arguments, indptr, np.empty(0, np.int32), np.empty(0))
    assert indptr[1:].tolist() == np.count_nonzero(shares, axis=1).tolist()
    indptr = np.cumsum(indptr)
    indices, data = np.full(indptr[-1], -1, np.int32), np.zeros(indptr[-1])
    member_rows(*arguments, indptr, indices, data)
    found = np.zeros_like(shares)
    found[np.repeat(np.arange(len(X)), np.diff(indptr)), indices] = data
    assert found == pytest.approx(shares, abs=1e-12)

    out = np.zeros((len(X), 2, 3))
    gradient_rows(*arguments, tree.value, tree.parent, None, out)
    expected = np.array([gradient(tree, SHAPES, *each) for each in zip(X, cells, strict=True)])
    smooth = ~np.isnan(expected)
    assert smooth.mean() > 0.9
    assert out[smooth] == pytest.approx(expected[smooth], abs=1e-4)


# ------------------------------------------------------------------ the methods


@pytest.mark.tiny
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_memberships(kind, seed):
    tree, X = random_tree(seed, gates=KINDS[kind]), points(seed)
    found = tree.memberships(X).toarray()
    expected = np.array([node_shares(tree, SHAPES, x) for x in X])
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.tiny
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_predictions(kind, seed, missing):
    tree, X = random_tree(seed, gates=KINDS[kind]), points(seed, missing)
    expected = np.array([prediction(tree, SHAPES, x) for x in X])
    assert tree.predict(X) == pytest.approx(expected, abs=1e-11)


@pytest.mark.tiny
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_widths_of_single_cells(seed, missing):
    tree, X = random_tree(seed), points(seed, missing)
    rng = np.random.default_rng(seed)
    cells = rng.choice([np.nan, 0.0, 0.5, 2.0], size=X.shape)
    expected = np.array([node_shares(tree, SHAPES, x, c) for x, c in zip(X, cells, strict=True)])
    assert tree.memberships(X, widths=cells).toarray() == pytest.approx(expected, abs=1e-12)
    leaf = tree.children_left < 0
    assert tree.predict(X, widths=cells) == pytest.approx(expected[:, leaf] @ tree.value[leaf], abs=1e-11)


@pytest.mark.tiny
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_gradient_agrees_with_differences(kind, seed):
    tree, X = random_tree(seed, gates=KINDS[kind]), points(seed, 0.1)
    found = tree.input_gradient(X)
    expected = np.array([gradient(tree, SHAPES, x) for x in X])
    smooth = ~np.isnan(expected)
    assert smooth.mean() > 0.95
    assert found[smooth] == pytest.approx(expected[smooth], abs=1e-4)
    assert np.all(found[np.isnan(X)[:, None, :].repeat(2, axis=1)] == 0)


@pytest.mark.tiny
def test_gradient_with_widths_of_single_cells():
    tree, X = random_tree(5), points(5, 0.0)
    cells = np.random.default_rng(0).choice([np.nan, 0.0, 0.5, 2.0], size=X.shape)
    found = tree.input_gradient(X, widths=cells)
    expected = np.array([gradient(tree, SHAPES, x, c) for x, c in zip(X, cells, strict=True)])
    smooth = ~np.isnan(expected)
    assert np.abs(expected[smooth]).max() > 0.1
    assert found[smooth] == pytest.approx(expected[smooth], abs=1e-4)


@pytest.mark.tiny
@pytest.mark.parametrize("seed", SEEDS)
def test_with_one_width_for_each_feature_a_membership_is_a_product_over_features(seed):
    widths = np.array([0.0, 0.7, 3.0])
    tree, X = random_tree(seed, widths=widths), points(seed, 0.0)
    found = tree.memberships(X).toarray()
    expected = [[interval_membership(tree, SHAPES, widths, node, x) for node in range(tree.n_nodes)] for x in X]
    assert found == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.tiny
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_rows", [1, 7, 8, 9])
def test_crisp_trees(seed, n_rows):
    tree, X = random_tree(seed, widths=0.0), points(seed, 0.0)[:n_rows]
    assert tree.is_crisp
    leaves = []
    for x in X:
        node = 0
        while tree.children_left[node] >= 0:
            goes_left = x[tree.feature[node]] <= tree.threshold[node]
            node = (tree.children_left if goes_left else tree.children_right)[node]
        leaves.append(node)
    assert np.array_equal(tree.predict(X), tree.value[leaves])
    assert np.array_equal(tree.apply(X), leaves)


@pytest.mark.tiny
def test_a_crisp_point_on_the_threshold_goes_left():
    tree = random_tree(0, n_leaves=2, widths=0.0, n_features=1, shapes=[BOX])
    X = np.array([[tree.threshold[0]], [np.nextafter(tree.threshold[0], np.inf)]])
    assert tree.apply(X).tolist() == [1, 2]
    assert np.array_equal(tree.predict(X), tree.value[1:])


@pytest.mark.tiny
@pytest.mark.parametrize("seed", SEEDS)
def test_missing_values_in_a_crisp_tree_are_shared(seed):
    tree, X = random_tree(seed, widths=0.0), points(seed, 0.3)
    expected = np.array([prediction(tree, SHAPES, x) for x in X])
    assert tree.predict(X) == pytest.approx(expected, abs=1e-12)


@pytest.mark.tiny
def test_rows_that_reach_all_of_a_large_tree():
    tree = random_tree(
        0, n_leaves=150, n_features=3000, widths=50.0, shapes=[BOX]
    )  # hardly ever the same feature twice
    X = random_points(1, 150, 3000)
    shares = tree.memberships(X)
    assert shares.nnz > 0.8 * shares.shape[0] * shares.shape[1]
    leaf = tree.children_left < 0
    assert tree.predict(X) == pytest.approx(shares[:, leaf] @ tree.value[leaf], abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_do_not_depend_on_their_company(kind):
    tree, X = random_tree(2, n_leaves=40, gates=KINDS[kind]), random_points(3, 150, 3, 0.1)
    alone = np.vstack([tree.predict(x[None]) for x in X])
    assert tree.predict(X) == pytest.approx(alone, abs=1e-14)
    assert tree.memberships(X)[[7]].toarray() == pytest.approx(tree.memberships(X[[7]]).toarray(), abs=0)


@pytest.mark.tiny
def test_no_rows():
    tree = random_tree(0)
    none = np.empty((0, 3))
    assert tree.predict(none).shape == (0, 2)
    assert tree.memberships(none).shape == (0, tree.n_nodes)
    assert tree.input_gradient(none).shape == (0, 2, 3)
    assert tree.apply(none).shape == (0,)


@pytest.mark.tiny
def test_a_lone_root():
    tree = random_tree(0, n_leaves=1)
    X = points(0)
    assert np.array_equal(tree.predict(X), np.repeat(tree.value, len(X), axis=0))
    assert np.all(tree.memberships(X).toarray() == 1)
    assert np.all(tree.input_gradient(X) == 0)
