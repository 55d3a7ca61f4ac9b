"""Layers gate by gate: sums and derivatives against plain Python and finite differences."""

import numpy as np
import pytest

from softwood.compiled.layers import (
    add_kernel_slopes,
    add_multiple,
    count_reached,
    kernel_part,
    leaf_along,
    mark_reached,
    oblique_part,
    pass_on,
    project,
    project_known,
    reach_gates,
    walk_rows,
    walk_slopes,
)
from softwood.trees.gates import Gate
from softwood.trees.loops.gate_walk import ALONG, BY_HIGH, BY_MASS, HIGH, LOW, MASS, N_ROOM, PART, SHARE
from softwood.trees.loops.layout import SHAPE, THRESHOLD, WIDTH, LayerTrees
from tests.reference.layers import kernel_mass, numeric_slopes, shares, smooth_step, sums
from tests.reference.trees import ALL_GATES, random_points
from tests.trees.loops.layers import random_layer

pytestmark = pytest.mark.tiny
KINDS = [(Gate.KERNEL,), (Gate.SIGMOID,), (Gate.OBLIQUE,), (Gate.BLEND,), ALL_GATES]
kinds = pytest.mark.parametrize("gates", KINDS, ids=lambda gates: "+".join(Gate(g).name for g in gates))


def room(trees):
    most = int(np.diff(trees.gates).max())
    return np.empty(most, np.int64), np.full((most, N_ROOM), np.nan)


@kinds
def test_sums(gates):
    trees, weights, numbers, value = random_layer(3, gates=gates)
    points = random_points(0, 12, 3, missing=0.15)
    out = np.zeros((12, 3, value.shape[1]))
    walk_rows(points, trees, weights, numbers, value, *room(trees), out)
    np.testing.assert_allclose(out, sums(points, trees, weights, numbers, value), rtol=0, atol=1e-13)


@kinds
def test_what_is_reached(gates):
    trees, weights, numbers, value = random_layer(5, gates=gates)
    points = random_points(1, 4, 3, missing=0.1)
    expected = [[shares(x, t, trees, weights, numbers) for t in range(3)] for x in points]
    assert count_reached(points, trees, weights, numbers, *room(trees)) == sum(
        len(of_gates) for row in expected for of_gates, _ in row
    )
    moved, reached = np.zeros(len(numbers), np.bool_), np.zeros(len(value), np.bool_)
    mark_reached(points, trees, weights, numbers, *room(trees), moved, reached)
    assert set(np.flatnonzero(reached)) == {leaf for row in expected for _, leaves in row for leaf in leaves}
    assert set(np.flatnonzero(moved)) <= {gate for row in expected for of_gates, _ in row for gate in of_gates}
    if gates in [(Gate.KERNEL,), (Gate.SIGMOID,)]:
        assert moved.any()
    if gates == (Gate.OBLIQUE,):
        assert not moved.any()
    nodes, numbers_of_gates = room(trees)
    n = reach_gates(points, 0, 0, trees, weights, numbers, points[:0], nodes, numbers_of_gates)
    found = {int(node): numbers_of_gates[node, SHARE] for node in nodes[:n]}
    assert found == pytest.approx(expected[0][0][0], abs=1e-13)


@kinds
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_slopes(gates, missing):
    trees, weights, numbers, value = random_layer(39, gates=gates, n_leaves=(7, 1, 3), widths=3.0)
    points = random_points(2, 3, 3, missing=missing)
    slope = np.random.default_rng(0).normal(size=(3, 3, value.shape[1]))

    def loss():
        return float((sums(points, trees, weights, numbers, value) * slope).sum())

    by_weights = np.zeros((0, 3)) if weights is None else np.zeros_like(weights)
    by_points, by_numbers, by_value = np.zeros_like(points), np.zeros_like(numbers), np.zeros_like(value)
    walk_slopes(
        points, trees, weights, numbers, value, *room(trees), slope, by_points, by_weights, by_numbers, by_value
    )  # fmt: skip
    wanted = [(by_points, points), (by_value, value)] + ([] if weights is None else [(by_weights, weights)])
    for found, array in wanted:
        np.testing.assert_allclose(found, numeric_slopes(loss, array), rtol=0, atol=2e-8)
    columns = [0, THRESHOLD, WIDTH]  # the others are fixed
    expected = numeric_slopes(loss, numbers)[:, columns]
    np.testing.assert_allclose(by_numbers[:, columns], expected, rtol=0, atol=2e-8)
    only = [np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, numbers.shape[1])), np.zeros_like(value)]
    walk_slopes(points, trees, weights, numbers, value, *room(trees), slope, *only)
    np.testing.assert_array_equal(only[3], by_value)


def test_gates_in_the_tests_have_slopes():
    """So that the comparison above is not one of zeros: a kernel gate below another on the same feature, and cut."""
    trees, weights, numbers, value = random_layer(39, n_leaves=(7, 1, 3), widths=3.0)
    points = random_points(2, 3, 3)
    by_points, by_numbers, by_value = np.zeros_like(points), np.zeros_like(numbers), np.zeros_like(value)
    slopes = by_points, np.zeros((0, 3)), by_numbers, by_value
    walk_slopes(points, trees, weights, numbers, value, *room(trees), np.ones((3, 3, 2)), *slopes)
    assert np.count_nonzero(by_numbers[:, THRESHOLD]) >= 7
    assert np.count_nonzero(by_points) >= 4
    assert (trees.table[:, 5:] >= 0).sum() >= 6


def test_projections():
    weights, points = np.array([[0.0, 2.0, -1.0]]), np.array([[np.nan, 0.5, 3.0], [np.inf, 1.0, np.nan]])
    assert np.isnan(project(weights, 0, points, 0))
    assert project_known(weights, 0, points, 0) == -2.0
    assert np.isnan(project_known(weights, 0, points, 1))
    plain = np.nan_to_num(points, posinf=1.0)
    assert project(weights, 0, plain, 0) == pytest.approx(weights[0] @ plain[0])


@pytest.mark.parametrize("z", [-3.0, -0.3, 0.0, 0.2, 5.0])
def test_parts_of_oblique_gates(z):
    assert oblique_part(Gate.SIGMOID, z, 2.0) == pytest.approx(
        (1 / (1 + np.exp(-z)), np.exp(-z) / (1 + np.exp(-z)) ** 2)
    )
    assert oblique_part(Gate.OBLIQUE, z, 2.0) == (float(z > 0), 0.0)
    part, slope = oblique_part(Gate.BLEND, z, 2.0)
    assert part == pytest.approx(smooth_step(z, 2.0))
    assert slope == pytest.approx((smooth_step(z + 1e-6, 2.0) - smooth_step(z - 1e-6, 2.0)) / 2e-6, abs=1e-6)


def test_kernel_gates():
    """A gate under another on its feature gets the part of the kernel that the other one left."""
    edges, cdfs = np.array([[-1.0, 1.0]]), np.array([[0.0, 1.0]])
    table = np.array([[1, -1, 0, 0, 0, -1, -1], [-2, -3, 0, 0, 0, 0, -1]])
    numbers = np.zeros((2, 5))
    numbers[:, THRESHOLD], numbers[:, WIDTH] = (0.6, 0.1), 1.0
    space, trees = np.zeros((2, N_ROOM)), LayerTrees(table, np.array([0, 2]), np.array([0, 3]), edges, cdfs)
    space[0, PART] = kernel_part(0.3, 1.0, 0, 0, trees, numbers, space)
    space[1, PART] = kernel_part(0.3, 1.0, 1, 0, trees, numbers, space)
    masses = [kernel_mass(threshold - 0.3, 1.0, edges[0], cdfs[0]) for threshold in (0.6, 0.1)]
    assert space[:, MASS] == pytest.approx(masses)
    assert (space[1, HIGH], space[1, LOW]) == (space[0, MASS], 0.0)
    assert space[:, PART] == pytest.approx([masses[0], masses[1] / masses[0]])
    by_mass = pass_on(2.0, 1, 0, table, space)
    assert by_mass == pytest.approx(2.0 / masses[0])
    assert space[0, BY_MASS] == pytest.approx(-2.0 * masses[1] / masses[0] ** 2)
    assert space[0, BY_HIGH] == 0.0
    by_points, by_numbers = np.zeros((1, 1)), np.zeros((2, 5))
    add_kernel_slopes(by_mass, np.array([[0.3]]), 0, 1, 1.0, trees, numbers, by_points, by_numbers)
    density = 0.5
    assert by_points[0, 0] == pytest.approx(-by_mass * density)
    assert by_numbers[1, THRESHOLD] == pytest.approx(by_mass * density)
    assert by_numbers[1, WIDTH] == pytest.approx(-by_mass * density * (0.1 - 0.3) / 1.0)
    assert table[1, SHAPE] == 0
    assert ALONG < N_ROOM


def test_leaves_and_multiples():
    value, slope, by_value = np.array([[1.0, 2.0]]), np.array([[[3.0, -1.0]]]), np.zeros((1, 2))
    assert leaf_along(0, 0, 0.5, 0, value, slope, by_value) == 1.0
    np.testing.assert_array_equal(by_value, [[1.5, -0.5]])
    target = np.ones((2, 3))
    add_multiple(2.0, np.array([[1.0, np.nan, -1.0]]), 0, target, 1)
    np.testing.assert_array_equal(target, [[1, 1, 1], [3, 1, -1]])
