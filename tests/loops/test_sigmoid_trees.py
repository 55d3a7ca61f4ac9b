"""Shares and predictions of trees of sigmoid gates against recursion."""

import numpy as np
import pytest
from softwood.compiled.trees import predict_sigmoid, share_row

from softwood.gradient.loops.soft_split import IDENTITY, SOFTMAX
from tests.reference.soft import Tree, predict

sizes = pytest.mark.parametrize("n_leaves", [1, 2, 6])


def scratch(tree):
    """What is not filled is not a number."""
    return np.full((2, len(tree.left)), np.nan)


@pytest.mark.tiny
@sizes
@pytest.mark.parametrize("seed", range(3))
def test_shares_are_those_of_the_recursion(n_leaves, seed):
    tree, points = Tree.random(seed, n_leaves), np.random.default_rng(seed).normal(size=(5, 3))
    shares, sides = scratch(tree)
    for i, x in enumerate(points):
        share_row(points, i, tree.left, tree.right, tree.gates, 0.0, shares, sides)
        assert shares == pytest.approx(tree.shares(x))
        inner = tree.left >= 0
        assert sides[inner] == pytest.approx([tree.side(node, x) for node in np.flatnonzero(inner)])
        assert shares[~inner].sum() == pytest.approx(1.0)


@pytest.mark.tiny
def test_a_share_that_is_too_small_is_not_divided():
    tree, points = Tree.random(1, 6), np.random.default_rng(1).normal(size=(5, 3))
    shares, sides = scratch(tree)
    for i, x in enumerate(points):
        exact = tree.shares(x)
        share_row(points, i, tree.left, tree.right, tree.gates, 0.3, shares, sides)
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
def test_predictions_are_those_of_the_recursion(n_leaves, is_softmax, seed):
    tree, points = Tree.random(seed, n_leaves, q=3), np.random.default_rng(seed).normal(size=(5, 3))
    tree.values *= 50.0 if seed else 1.0
    points[2, 1] = np.nan
    shares, sides = scratch(tree)
    found = np.full((5, 3), np.inf)
    predict_sigmoid(points, tree.left, tree.right, tree.gates, tree.values, is_softmax, shares, sides, found)
    link = SOFTMAX if is_softmax else IDENTITY
    known = [0, 1, 3, 4] if n_leaves > 1 else range(5)  # a lone root asks for no value
    for i in known:
        assert found[i] == pytest.approx(predict(tree.output(points[i]), link))
    assert np.isnan(found[2, 0]) == (n_leaves > 1)
