"""All rows of a block pass a gate at once: against plain Python and finite differences."""

import numpy as np
import pytest

from softwood.compiled.layers import gate_slopes, leaf_slopes, route_rows, route_slopes, share_block
from softwood.nn.loops.route import BLOCK
from softwood.trees.gates import Gate
from softwood.trees.loops.layout import BIAS, BLEND_AT, WIDTH
from tests.reference.layers import numeric_slopes, shares, sums
from tests.reference.trees import random_points
from tests.trees.loops.layers import random_layer

pytestmark = pytest.mark.tiny


def problem(gamma, n, kind=np.float64):
    """Trees of smooth steps (of sigmoids if `gamma` is 0), and what their gates compute for rows."""
    trees, weights, numbers, value = random_layer(4, gates=(Gate.BLEND if gamma > 0 else Gate.SIGMOID,))
    numbers[:, WIDTH], numbers[:, BLEND_AT] = gamma, 1.0
    points = random_points(7, n, 3)
    z = weights @ points.T + numbers[:, [BIAS]]
    if gamma == 0:
        z = 1 / (1 + np.exp(-z))
    lines = int((np.diff(trees.gates) + np.diff(trees.leaves)).max())
    return trees, weights, numbers, value.astype(kind), points, z.astype(kind), np.empty((2, lines, BLOCK), kind)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("gamma", [0.0, 1.5])
@pytest.mark.parametrize("n", [0, 1, BLOCK + 5])
def test_sums(gamma, n, kind):
    trees, weights, numbers, value, points, z, room = problem(gamma, n, kind)
    out = np.zeros((3, value.shape[1], n), kind)
    route_rows(z, kind(gamma), value, trees, room[0], out)
    expected = sums(points, trees, weights, numbers, value)
    np.testing.assert_allclose(out.transpose(2, 0, 1), expected, rtol=0, atol=1e-13 if kind == np.float64 else 2e-6)


def test_shares_of_a_block():
    trees, weights, numbers, _, points, z, room = problem(1.5, 5)
    share_block(z, 1.5, 1, 4, trees.gates[0], trees, 0, room[0])
    for r in range(3):
        of_gates, of_leaves = shares(points[1 + r], 0, trees, weights, numbers)
        n_gates, n_leaves = trees.gates[1], trees.leaves[1]
        expected = [of_gates.get(k, 0.0) for k in range(n_gates)] + [of_leaves.get(k, 0.0) for k in range(n_leaves)]
        np.testing.assert_allclose(room[0][: n_gates + n_leaves, r], expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("gamma", [0.0, 1.5])
def test_slopes(gamma):
    trees, _, _, value, _, z, room = problem(gamma, 3)
    slope = np.random.default_rng(1).normal(size=(3, value.shape[1], 3))

    def loss():
        out = np.zeros_like(slope)
        route_rows(z, np.float64(gamma), value, trees, room[0], out)
        return float((out * slope).sum())

    by_z, by_value = np.full_like(z, np.nan), np.zeros_like(value)
    route_slopes(z, np.float64(gamma), value, trees, room[0], room[1], slope, by_z, by_value)
    np.testing.assert_allclose(by_z, numeric_slopes(loss, z), rtol=0, atol=2e-8)
    np.testing.assert_allclose(by_value, numeric_slopes(loss, value), rtol=0, atol=2e-8)
    assert np.count_nonzero(by_z) >= 5


def test_slopes_from_leaves_to_gates():
    """In two stages for one block of one tree: the same as for all."""
    trees, _, _, value, _, z, room = problem(1.5, 4)
    slope = np.random.default_rng(2).normal(size=(3, value.shape[1], 4))
    whole, by_value = np.empty_like(z), np.zeros_like(value)
    route_slopes(z, 1.5, value, trees, room[0], room[1], slope, whole, by_value)
    share_block(z, 1.5, 0, 4, trees.gates[0], trees, 0, room[0])
    part, own = np.full_like(z, np.nan), np.zeros_like(value)
    leaf_slopes(0, 0, 4, value, trees, room[0], slope, room[1], own)
    lines = slice(trees.gates[1], trees.gates[1] + trees.leaves[1])
    np.testing.assert_allclose(room[1][lines, :4], value[: trees.leaves[1]] @ slope[0], rtol=0, atol=1e-13)
    gate_slopes(z, 1.5, 0, 4, trees.gates[0], trees, 0, room[0], room[1], part)
    np.testing.assert_allclose(part[: trees.gates[1]], whole[: trees.gates[1]], rtol=0, atol=1e-14)
    np.testing.assert_allclose(own[: trees.leaves[1]], by_value[: trees.leaves[1]], rtol=0, atol=1e-14)
