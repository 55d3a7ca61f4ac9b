"""Shapley values of kernel trees: every stage of the loop, and the whole, against enumeration."""

from dataclasses import replace

import numpy as np
import pytest

from softwood.compiled.explain import add_pairs, add_shapley, fill_absent, fill_present, go_down, go_up, order_steps
from softwood.explanations.loops.shapley import STEP, Scratch
from softwood.explanations.shapley_exact import _plan
from softwood.trees.forest import SoftForest
from tests.reference.kernels import SHAPES
from tests.reference.shapley import absent_factor, background_worth, factor, interactions, path_worth, shapley, way_to
from tests.reference.trees import random_points, random_tree

SEEDS = range(4)
N_FEATURES = 4
# Features of each player: single ones, or two that are one player.
GROUPS = {"single": [{0}, {1}, {2}, {3}], "grouped": [{0, 2}, {1}, {3}]}


def players_of(groups):
    out = np.empty(N_FEATURES, np.int64)
    for player, features in enumerate(groups):
        out[list(features)] = player
    return out


def tree_of(seed, n_leaves=10, widths="any"):
    return random_tree(seed, n_leaves=n_leaves, n_features=N_FEATURES, n_outputs=2, widths=widths)


def half_widths(seed, shape):
    return np.random.default_rng(seed).choice([np.nan, 0.0, 0.5, 2.0], size=shape)


def scratch_of(plan, n_background=1):
    n, m, q = int(np.diff(plan.offsets).max()), plan.points.shape[0], plan.value.shape[1]
    shapes = n, (n_background, n), (2, n), (n, m), (n, m), (n, q * m), m
    return Scratch(*(np.full(shape, 77.0) for shape in shapes), np.full(n, 77), np.full((2, n), 77))


def walked(seed, groups):
    """A tree, its plan, and the node that each step is."""
    tree = tree_of(seed)
    plan = _plan(SoftForest.mean([tree]), players_of(groups))
    return tree, plan, np.array(list(tree.walk()))


@pytest.mark.tiny
@pytest.mark.parametrize("grouping", GROUPS)
@pytest.mark.parametrize("seed", SEEDS)
def test_steps_are_in_the_order_of_a_walk(seed, grouping):
    trees = [tree_of(seed), tree_of(seed + 10, n_leaves=1), tree_of(seed + 20)]
    forest, player = SoftForest.mean(trees), players_of(GROUPS[grouping])
    order, steps = np.empty(forest.n_nodes, np.int64), np.zeros(forest.n_nodes, STEP)
    most = np.full(3, 77)
    order_steps(
        forest.children_left, forest.children_right, forest.feature, player, forest.offsets, order, steps, most
    )  # fmt: skip
    for number, tree in enumerate(trees):
        begin, end = forest.offsets[number : number + 2]
        walk = list(tree.walk())
        assert (order[begin:end] - begin).tolist() == walk
        step_of = {node: at for at, node in enumerate(walk)}
        assert most[number] == max(len({player[tree.feature[g]] for g, _ in way_to(tree, k)}) for k in walk)
        for at, node in enumerate(walk):
            step, way = steps[begin + at], way_to(tree, node)
            assert step["parent"] == (step_of[way[-1][0]] if way else -1)
            below = [k for k in walk if node == k or node in [g for g, _ in way_to(tree, k)]]
            assert step["stop"] == max(step_of[k] for k in below) + 1 == at + len(below)
            j = tree.feature[node]
            assert step["feature"] == j
            if j >= 0:
                same_feature = [child for gate, child in way if tree.feature[gate] == j]
                same_player = [child for gate, child in way if player[tree.feature[gate]] == player[j]]
                assert step["player"] == player[j]
                assert step["last_feature"] == (step_of[same_feature[-1]] if same_feature else -1)
                assert step["last_player"] == (step_of[same_player[-1]] if same_player else -1)


@pytest.mark.tiny
@pytest.mark.parametrize("grouping", GROUPS)
@pytest.mark.parametrize("seed", SEEDS)
def test_factors_of_absent_players(seed, grouping):
    groups = GROUPS[grouping]
    tree, plan, walk = walked(seed, groups)
    shares = np.random.default_rng(seed).random(tree.n_nodes)
    found = np.full(tree.n_nodes, 77.0)
    fill_absent(plan.steps, shares[walk], 0, tree.n_nodes, found)
    for at, node in enumerate(walk):
        own = groups[players_of(groups)[tree.feature[tree.parent[node]]]] if at else set()
        assert found[at] == pytest.approx(absent_factor(tree, node, own, shares), abs=1e-15)


@pytest.mark.tiny
@pytest.mark.parametrize("by_cell", [False, True])
@pytest.mark.parametrize("grouping", GROUPS)
@pytest.mark.parametrize("seed", SEEDS)
def test_factors_of_present_players(seed, grouping, by_cell):
    groups = GROUPS[grouping]
    tree, plan, walk = walked(seed, groups)
    X = random_points(seed, 6, N_FEATURES, 0.2)
    cells = half_widths(seed, X.shape) if by_cell else None
    scratch = scratch_of(plan)
    for i, x in enumerate(X):
        tables = plan.edges, plan.cdfs, plan.subsets, scratch.bounds
        fill_present(X, i, cells, plan.steps, 0, tree.n_nodes, *tables, scratch.present)
        for at, node in enumerate(walk):
            own = groups[players_of(groups)[tree.feature[tree.parent[node]]]] if at else set()
            expected = factor(tree, SHAPES, node, own, x, cells[i] if by_cell else None)
            assert scratch.present[at] == pytest.approx(expected, abs=1e-14)


def down(plan, scratch, b):
    m = plan.n_points[0]
    return go_down(plan.steps, 0, plan.offsets[1], plan.points[m - 1, :m], scratch, b)


@pytest.mark.tiny
@pytest.mark.parametrize("seed", SEEDS)
def test_products_on_the_way_down(seed):
    """Where neither the row nor the background row has a part, nothing is visited."""
    groups = GROUPS["grouped"]
    tree, plan, walk = walked(seed, groups)
    rng = np.random.default_rng(seed)
    present, absent = rng.random((2, tree.n_nodes)) * (rng.random((2, tree.n_nodes)) < 0.7)
    scratch = scratch_of(plan, 2)
    scratch.present[:], scratch.absent[1] = present, absent
    n = down(plan, scratch, 1)
    step_of = {node: at for at, node in enumerate(walk)}
    visited = []
    for at, node in enumerate(walk[1:], start=1):
        steps = [step_of[child] for _, child in way_to(tree, node)]
        if all(present[k] > 0 or absent[k] > 0 for k in steps):
            visited.append(at)
            last = {plan.steps["player"][plan.steps["parent"][k]]: k for k in steps}
            for k, t in enumerate(plan.points[plan.n_points[0] - 1, : plan.n_points[0]]):
                product = np.prod([t * present[s] + (1 - t) * absent[s] for s in last.values()])
                assert scratch.product[at, k] == pytest.approx(product, rel=1e-12)
                assert scratch.inverse[at, k] == pytest.approx(1 / (t * present[at] + (1 - t) * absent[at]), rel=1e-12)
    assert scratch.visited[:n].tolist() == visited


@pytest.mark.tiny
@pytest.mark.parametrize("seed", SEEDS)
def test_values_and_pairs_on_the_way_up(seed):
    """For one row and one background row, added to what is there."""
    groups = GROUPS["grouped"]
    tree, plan, _ = walked(seed, groups)
    x, z = random_points(seed, 2, N_FEATURES, 0.2)
    scratch = scratch_of(plan, 2)
    arguments = plan.steps, 0, tree.n_nodes, plan.edges, plan.cdfs, plan.subsets, scratch.bounds
    fill_present(np.array([x]), 0, None, *arguments, scratch.present)
    fill_present(np.array([z]), 0, None, *arguments, scratch.absent[1])
    n = down(plan, scratch, 1)
    m = plan.n_points[0]
    weights = plan.weights[m - 1, :m]
    values, pairs = np.ones((2, 3, 3)), np.ones((2, 3, 3, 3))
    go_up(plan.steps, 0, n, plan.value, 1, weights, scratch, 1, 1, values)
    add_pairs(plan.steps, 0, n, plan.value, 1, weights, scratch, 1, 1, pairs)
    worth = background_worth(tree, SHAPES, x, groups, [z])
    assert values[1, :, 1:] - 1 == pytest.approx(shapley(worth, 3), abs=1e-12)
    expected = interactions(worth, 3)
    expected[np.arange(3), np.arange(3)] = 0
    assert pairs[1, :, :, 1:] - 1 == pytest.approx(expected, abs=1e-12)
    assert np.all(values[0] == 1)
    assert np.all(values[:, :, 0] == 1)
    assert np.all(pairs[0] == 1)


@pytest.mark.tiny
@pytest.mark.parametrize("by_cell", [False, True])
@pytest.mark.parametrize("grouping", GROUPS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_game_of_the_path(seed, grouping, by_cell):
    """Two trees that add to different outputs; an absent value may be divided otherwise than a missing one."""
    groups = GROUPS[grouping]
    trees = [replace(tree, missing_left=np.round(tree.missing_left)) for tree in (tree_of(seed), tree_of(seed + 50))]
    forest = SoftForest.sum(trees, [0, 1], [0.0, 0.0, 0.0])
    X = random_points(seed, 2, N_FEATURES, 0.3)
    cells = half_widths(seed, X.shape) if by_cell else None
    plan, n = _plan(forest, players_of(groups)), len(groups)
    values, pairs = np.zeros((2, n, 3)), np.zeros((2, n, n, 3))
    add_shapley(X, cells, None, None, plan, scratch_of(plan), values, pairs)
    alone = np.zeros((2, n, 3))
    add_shapley(X, cells, None, None, plan, scratch_of(plan), alone, None)
    assert np.array_equal(values, alone)
    for i, x in enumerate(X):
        expected, both = np.zeros((n, 3)), np.zeros((n, n, 3))
        for first, tree in enumerate(trees):
            left = tree.children_left
            shares = np.where(left >= 0, tree.mass[left] / tree.mass, 0.5)
            worth = path_worth(tree, SHAPES, x, groups, shares, cells[i] if by_cell else None)
            expected[:, first : first + 2] += shapley(worth, n)
            both[:, :, first : first + 2] += interactions(worth, n)
        assert values[i] == pytest.approx(expected, abs=1e-12)
        for k in range(n):
            pairs[i, k, k] = values[i, k] - pairs[i, k].sum(axis=0)
        assert pairs[i] == pytest.approx(both, abs=1e-12)


@pytest.mark.tiny
@pytest.mark.parametrize("by_cell", [False, True])
@pytest.mark.parametrize("widths", ["any", 0.0, 0.8])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_game_with_background_rows(seed, widths, by_cell):
    tree, groups = tree_of(seed, widths=widths), GROUPS["grouped"]
    X, others = random_points(seed, 2, N_FEATURES, 0.2), random_points(seed + 9, 3, N_FEATURES, 0.2)
    cells, other_cells = (half_widths(seed, X.shape), half_widths(seed + 1, others.shape)) if by_cell else (None, None)
    plan = _plan(SoftForest.mean([tree]), players_of(groups))
    values = np.zeros((2, 3, 2))
    add_shapley(X, cells, others, other_cells, plan, scratch_of(plan, 3), values, None)
    for i, x in enumerate(X):
        worth = background_worth(tree, SHAPES, x, groups, others, cells[i] if by_cell else None, other_cells)
        assert values[i] / 3 == pytest.approx(shapley(worth, 3), abs=1e-12)
