"""Trees with a vector of values in every leaf: derivatives along a direction, and values by their definition."""

import numpy as np
import pytest

from softwood.compiled import boosting as loop
from softwood.core.threads import Threads
from softwood.kernel.rounds import newton, vectors
from softwood.kernel.rounds.newton import BinnedRows, Boxes, NewtonGrower, NewtonLimits
from softwood.kernel.rounds.vectors import draw_direction, with_vectors
from tests.reference.boosting import Rules, along, grow, random_problem, vector_values

L2 = 0.7


def problem(width=0.3, n=45, n_scores=4, rows=None):
    """A tree that is searched along a direction, with its vectors, and what it was made of."""
    bins, sums = random_problem(3, n=n, missing=0.05)
    rng = np.random.default_rng(1)
    gradient = rng.normal(size=(n, n_scores)) + sums[:, 1:2] * rng.normal(size=n_scores)
    hessian = rng.uniform(0.1, 1.0, size=(n, n_scores))
    direction = draw_direction(n_scores, 5, 2)
    rows_sums = np.column_stack([np.zeros((n, 2)), sums[:, 2]])
    loop.project_rows(gradient, hessian, direction, rows_sums)
    widths = np.array([width, 0.0, width])
    grower = NewtonGrower(BinnedRows.of(bins), NewtonLimits(max_leaves=6, min_mass=2.0, l2=L2, cutoff=0.0))
    tree = grower.grow(rows_sums, rows, np.arange(3), Boxes.of(bins, widths))
    return tree, bins, gradient, hessian, direction, rows_sums, widths


@pytest.mark.tiny
def test_derivatives_along_a_direction():
    _, _, gradient, hessian, direction, rows_sums, _ = problem()
    np.testing.assert_allclose(rows_sums[:, :2], along(gradient, hessian, direction), rtol=1e-12)
    assert np.mean(direction**2) == pytest.approx(1.0)
    assert not np.array_equal(direction, draw_direction(4, 5, 3))
    assert not np.array_equal(direction, draw_direction(4, 6, 2))


@pytest.mark.tiny
@pytest.mark.parametrize("rows", [None, np.arange(0, 45, 2)])
@pytest.mark.parametrize("width", [0.0, 0.3])
def test_the_tree_and_its_values_are_those_of_the_reference(width, rows):
    tree, bins, gradient, hessian, _, rows_sums, widths = problem(width, rows=rows)
    tree = with_vectors(tree, gradient, hessian, L2, None)
    nodes, shares = grow(bins, rows_sums, widths, Rules(max_leaves=6, min_mass=2.0, l2=L2), rows)
    np.testing.assert_array_equal(tree.nodes["feature"], nodes["feature"])
    np.testing.assert_allclose(tree.nodes["threshold"], nodes["threshold"])
    lines = tree.leaves["line"]
    np.testing.assert_allclose(tree.values[lines], vector_values(shares, gradient, hessian, L2), rtol=1e-9)
    total = shares.sum(axis=0)[None]
    np.testing.assert_allclose(tree.values[:1], vector_values(total, gradient, hessian, L2), rtol=1e-9)
    gained = [((part @ gradient) ** 2 / (part @ hessian)).sum() for part in shares]
    np.testing.assert_allclose(tree.gained[lines], gained, rtol=1e-9)
    # Splits gain for all scores together, whatever direction they were found along.
    assert tree.gained[lines].sum() >= tree.gained[0]


@pytest.mark.tiny
@pytest.mark.parametrize("width", [0.0, 0.3])
def test_values_are_added_to_rows_by_membership(width):
    tree, _, gradient, hessian, *_ = problem(width)
    tree = with_vectors(tree, gradient, hessian, L2, None)
    raw, expected = np.ones((2, *gradient.shape))
    for leaf in range(len(tree.leaves)):
        rows, shares = tree.members(leaf)
        expected[rows] += np.multiply.outer(shares * np.ones(len(rows)), tree.values[tree.leaves["line"][leaf]])
    tree.add_to(raw, 0)
    np.testing.assert_allclose(raw, expected, rtol=1e-12)


@pytest.mark.tiny
@pytest.mark.parametrize("width", [0.0, 0.3])
def test_some_leaves_and_some_rows(width):
    tree, _, gradient, hessian, *_ = problem(width)
    sums, expected = np.zeros((2, len(tree.nodes), 2, 4))
    loop.add_vectors(1, 3, tree.leaves, tree.rows, tree.shares, gradient, hessian, sums)
    values, some = np.arange(4.0 * len(tree.nodes)).reshape(-1, 4), range(10, 30)
    scores, expected_scores = np.ones((2, *gradient.shape))
    loop.add_leaf_vectors(tree.leaves, tree.rows, tree.shares, values, some.start, some.stop, scores)
    for leaf, line in enumerate(tree.leaves["line"]):
        for i, share in zip(*np.broadcast_arrays(*tree.members(leaf)), strict=True):
            if leaf in (1, 2):
                expected[line] += share * np.stack([gradient[i], hessian[i]])
            if i in some:
                expected_scores[i] += share * values[line]
    np.testing.assert_allclose(sums, expected, rtol=1e-12)
    np.testing.assert_allclose(scores, expected_scores, rtol=1e-12)


@pytest.mark.parametrize("width", [0.0, 0.3])
def test_threads_change_no_bit(monkeypatch, width):
    tree, _, gradient, hessian, *_ = problem(width, n=600)
    alone = with_vectors(tree, gradient, hessian, L2, None)
    raw = np.zeros(gradient.shape)
    alone.add_to(raw, 0)
    for module in (newton, vectors):
        monkeypatch.setattr(module, "WORTH_DIVIDING", 10)
    with Threads(2) as threads:
        shared = with_vectors(tree, gradient, hessian, L2, threads)
        by_parts = np.zeros(gradient.shape)
        shared.add_to(by_parts, 0, threads)
    np.testing.assert_array_equal(shared.values, alone.values)
    np.testing.assert_array_equal(by_parts, raw)
