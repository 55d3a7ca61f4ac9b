"""Shares and predictions of trees of sigmoid gates against recursion."""

import numpy as np
import pytest

from softwood.compiled.trees import fill_batch, predict_sigmoid, share_rows
from softwood.gradient.loops.soft_split import IDENTITY, SOFTMAX
from tests.reference.soft import Tree, predict

sizes = pytest.mark.parametrize("n_leaves", [1, 2, 6])


def scratch(tree, size):
    """Batch, shares and sides; what is not filled is not a number."""
    d, n = tree.gates.shape[1] - 1, len(tree.left)
    return np.full((d, size), np.nan), np.full((n, size), np.nan), np.full((n, size), np.nan)


def shares_and_sides(tree, points, least):
    """Of the rows of the points, in falling order; with space for more rows."""
    n = len(points)
    batch, shares, sides = scratch(tree, n + 2)
    fill_batch(points, np.arange(n)[::-1].copy(), 0, n, batch)
    share_rows(batch, n, tree.left, tree.right, tree.gates, least, shares, sides)
    assert np.isnan(shares[:, n:]).all()
    return zip(points[::-1], shares.T, sides.T, strict=False)


@pytest.mark.tiny
@sizes
@pytest.mark.parametrize("seed", range(3))
def test_shares_are_those_of_the_recursion(n_leaves, seed):
    tree, points = Tree.random(seed, n_leaves), np.random.default_rng(seed).normal(size=(5, 3))
    for x, shares, sides in shares_and_sides(tree, points, 0.0):
        assert shares == pytest.approx(tree.shares(x))
        inner = tree.left >= 0
        assert sides[inner] == pytest.approx([tree.side(node, x) for node in np.flatnonzero(inner)])
        assert shares[~inner].sum() == pytest.approx(1.0)


@pytest.mark.tiny
def test_a_share_that_is_too_small_is_not_divided():
    tree, points = Tree.random(1, 6), np.random.default_rng(1).normal(size=(5, 3))
    for x, shares, sides in shares_and_sides(tree, points, 0.3):
        exact = tree.shares(x)
        assert shares[tree.left < 0].sum() == pytest.approx(1.0)
        for node in np.flatnonzero(tree.left >= 0):
            side = tree.side(node, x) if shares[node] >= 0.3 else 1.0
            assert sides[node] == pytest.approx(side)
            assert shares[tree.left[node]] == pytest.approx(shares[node] * side)
        assert np.any(shares != pytest.approx(exact))


@pytest.mark.tiny
@sizes
@pytest.mark.parametrize("is_softmax", [False, True])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [1, 2, 5, 7])
def test_predictions_are_those_of_the_recursion(n_leaves, is_softmax, seed, size):
    tree, points = Tree.random(seed, n_leaves, q=3), np.random.default_rng(seed).normal(size=(5, 3))
    tree.values *= 50.0 if seed else 1.0
    points[2, 1] = np.nan
    found = np.full((5, 3), np.inf)
    predict_sigmoid(
        points, tree.left, tree.right, tree.gates, tree.values, is_softmax, *scratch(tree, size), found
    )  # fmt: skip
    link = SOFTMAX if is_softmax else IDENTITY
    known = [0, 1, 3, 4] if n_leaves > 1 else range(5)  # a lone root asks for no value
    for i in known:
        assert found[i] == pytest.approx(predict(tree.output(points[i]), link))
    assert np.isnan(found[2, 0]) == (n_leaves > 1)
