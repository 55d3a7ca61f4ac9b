"""Growth by levels, choosing: the best splits of whole-number histograms, against all thresholds."""

import numpy as np
import pytest

from softwood.compiled.growing import (
    atoms_of,
    choose_random,
    choose_searched,
    draw_parts,
    first_new,
    keep_drawn_parts,
    left_of,
    merit_and_impurity,
    node_goal,
    place_parts,
    random_threshold,
    scan_bins,
    width_of,
)
from softwood.kernel.growing.loops.groups import NO_SETS, Bins, Goal, Kernels, SubsetSpace
from softwood.kernel.growing.loops.scan import ENTROPY, SQUARED
from softwood.kernel.growing.loops.tree_groups import NODE, Rules, Search
from softwood.kernel.growing.workspace import knots_for
from softwood.kernel.parts.loops.choose import LevelNodes
from tests.kernel.growing.loops.growth import nonsense
from tests.reference import random_search as slow
from tests.reference.kernels import BOX, STAIRS, left_share, table
from tests.reference.search import Axis

N_BINS, P = 6, 3
UNIT = 2.0**-20


def bins_of(seed):
    values = np.sort(np.random.default_rng(seed).normal(size=(P, N_BINS)), axis=1).ravel()
    offsets = N_BINS * np.arange(P + 1)
    return Bins(np.empty((0, P), np.uint8), values, values, values, offsets, np.arange(P))


def tables_of(seed, n_columns, *, missing=False):
    """Histograms of two nodes with the same sums over every feature, and these sums."""
    rng = np.random.default_rng(seed)
    out = np.zeros((2, P, N_BINS + 1, n_columns), np.int64)
    for node in range(2):
        rows = np.column_stack([rng.uniform(0.5, 2, 60), rng.normal(size=(60, n_columns - 1))])
        if n_columns > 2:  # classes
            labels = rng.integers(0, n_columns - 1, 60)
            rows[:, 1:] = rows[:, :1] * (labels[:, None] == np.arange(n_columns - 1))
        for j in range(P):
            codes = rng.integers(0, N_BINS + (1 if missing else 0), 60)
            np.add.at(out[node, j], codes, np.rint(rows / UNIT).astype(np.int64))
    return out, out[:, 0].sum(axis=1) * UNIT


def kernels_of(shape):
    if shape is BOX:
        return None
    edges, cdf = table(shape)
    boxed = np.full(len(edges), 1.0)
    boxed[0] = -1.0
    return Kernels(
        np.ones(P, np.int64), np.stack([boxed, edges]), np.stack([cdf, cdf]), np.empty((0, 0)), np.zeros(P, bool)
    )


def search_of(q, kernels=None):
    columns = q if q == 1 else -(-q // 4) * 4
    return Search(
        np.zeros((1, N_BINS + 1, 1 + columns)), np.zeros(1, np.uint64), np.zeros(1, np.uint64),
        np.zeros((N_BINS, 3 + columns)), np.zeros((N_BINS + 1, 5)), np.zeros((5, columns)), np.zeros(1, np.uint8),
        SubsetSpace(
            np.zeros(N_BINS), np.zeros(N_BINS, np.int64), np.zeros(N_BINS, np.int64), np.zeros((N_BINS, columns)),
            NO_SETS,
        ),
        knots_for(kernels, N_BINS, 0, columns, nonsense),
    )  # fmt: skip


def nodes_of(totals, seeds=(0, 0), n_seen=0):
    lines = np.zeros(2, NODE)
    lines["mass"] = totals[:, 0]
    lines["square"] = 1e3
    bounds = np.tile(np.array([[-np.inf], [np.inf]]), (2, 1, P))
    return LevelNodes(
        lines, np.ascontiguousarray(totals[:, 1:]), bounds, np.array(seeds, np.uint64), np.zeros((2, 1), np.uint32),
        np.full(2, n_seen),
    )  # fmt: skip


def axis_of(given, bins, node, j, width, shape):
    own = given[node, j] * UNIT
    held = own[:, 0] > 0
    x = np.append(bins.values[N_BINS * j : N_BINS * (j + 1)], np.nan)[held]
    return Axis(x, width, own[held, 0], own[held, 1:], shape=shape)


@pytest.mark.tiny
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("shape", [BOX, STAIRS])
@pytest.mark.parametrize(("q", "criterion", "name"), [(1, SQUARED, "squared"), (3, ENTROPY, "entropy")])
@pytest.mark.parametrize("width", [0.0, 0.4])
def test_no_split_is_better_than_the_one_found(width, q, criterion, name, shape, missing):
    bins = bins_of(0)
    given, totals = tables_of(1, 1 + q, missing=missing)
    nodes, rules, kernels = nodes_of(totals), Rules(5, 1.0, 0.0, P, 0.0, q > 1), kernels_of(shape)
    found = np.full((2, 4), np.nan)
    numbers, features = np.array([1, 0]), np.array([[2, 0, 1], [0, 1, 2]])
    asked = np.stack([given[node][order] for node, order in zip(numbers, features, strict=True)])
    choose_searched(
        asked, np.full(1 + q, UNIT), features, numbers, nodes, bins, np.full(P, width), kernels, rules, criterion,
        search_of(q, kernels), found,
    )  # fmt: skip
    for (feature, threshold, left_mass, gain), node in zip(found, numbers, strict=True):
        axes = [axis_of(given, bins, node, j, width, shape) for j in range(P)]
        base = merit_and_impurity(nodes.lines, nodes.sums, node, criterion, q > 1)[0]
        best = max(
            axis.merit(t, name)
            for axis in axes
            for t in axis.candidates(20, 1.0)
            if 1.0 <= axis.left(t)[0] <= totals[node, 0] - 1.0
        )
        assert gain == pytest.approx(best - base, rel=1e-6, abs=1e-8)
        axis = axes[int(feature)]
        assert axis.merit(threshold, name) - base == pytest.approx(gain, rel=1e-6, abs=1e-8)
        assert axis.left(threshold)[0] == pytest.approx(left_mass)


@pytest.mark.tiny
@pytest.mark.parametrize("shape", [BOX, STAIRS])
@pytest.mark.parametrize("width", [0.0, 0.4])
def test_the_best_of_random_splits_is_taken(width, shape):
    bins = bins_of(2)
    given, totals = tables_of(3, 2)
    seeds, kernels, found = (7, 8), kernels_of(shape), np.full((2, 5), np.nan)
    nodes, rules = nodes_of(totals, seeds), Rules(5, 1.0, 0.0, P, 0.0, False)
    numbers, features = np.arange(2), np.tile(np.arange(P), (2, 1))
    choose_random(
        given, np.full(2, UNIT), features, numbers, nodes, bins, np.full(P, width), kernels, rules, SQUARED,
        search_of(1, kernels), found,
    )  # fmt: skip
    for node in range(2):
        best = -np.inf
        for j in range(P):
            axis = axis_of(given, bins, node, j, width, shape)
            ends = axis.x.min() + width * shape.edges[0], axis.x.max() + width * shape.edges[-1]
            part = slow.to_unit(slow.next_seed(slow.next_seed(int(seeds[node]), P), j))
            t = ends[0] + part * (ends[1] - ends[0])
            mass = axis.left(t)[0]
            if 1.0 <= mass <= totals[node, 0] - 1.0 and axis.merit(t, "squared") > best:
                best, feature = axis.merit(t, "squared"), j
        base = merit_and_impurity(nodes.lines, nodes.sums, node, SQUARED, False)[0]
        assert found[node, 0] == feature
        assert found[node, 3] == pytest.approx(best - base)
        assert found[node, 4] == P


@pytest.mark.tiny
@pytest.mark.parametrize("choose", [choose_searched, choose_random])
def test_a_node_that_was_searched_before_takes_the_first_split(choose):
    """With two features before, the first of these was among them, and the second one is taken."""
    bins = bins_of(2)
    given, totals = tables_of(3, 2)
    features = np.array([[1, 0], [0, 2]])
    for n_seen, expected in ((2, features[:, 1]), (1, features[:, 0])):
        nodes, found = nodes_of(totals, (7, 8), n_seen), np.full((2, 5), np.nan)
        asked = np.stack([given[node][features[node]] for node in range(2)])
        choose(
            asked, np.full(2, UNIT), features, np.arange(2), nodes, bins, np.zeros(P), None,
            Rules(5, 1.0, 0.0, 2, 0.0, False), SQUARED, search_of(1), found,
        )  # fmt: skip
        np.testing.assert_array_equal(found[:, 0], expected)
    assert [first_new(n_seen, features, P) for n_seen in range(3)] == [0, 0, 1]


@pytest.mark.tiny
def test_bins_with_half_widths_of_their_own():
    """Half the bins of a feature are crisp: no split is better than the one found."""
    bins = bins_of(0)
    given, totals = tables_of(1, 2)
    edges, cdf = table(BOX)
    cells = np.where(np.arange(N_BINS)[:, None] % 2 == 0, 0.5, 0.0) * np.ones(P)
    kernels = Kernels(np.zeros(P, np.int64), edges[None], cdf[None], cells, np.ones(P, bool))
    nodes, rules, found = nodes_of(totals), Rules(5, 1.0, 0.0, P, 0.0, False), np.full((2, 4), np.nan)
    numbers, features = np.arange(2), np.tile(np.arange(P), (2, 1))
    choose_searched(
        given, np.full(2, UNIT), features, numbers, nodes, bins, np.ones(P), kernels, rules, SQUARED,
        search_of(1, kernels), found,
    )  # fmt: skip
    for node in range(2):
        base = merit_and_impurity(nodes.lines, nodes.sums, node, SQUARED, False)[0]
        axes = [axis_of(given, bins, node, j, cells[:, j], BOX) for j in range(P)]
        best = max(
            axis.merit(t, "squared")
            for axis in axes
            for t in axis.candidates(20, 1.0)
            if 1.0 <= axis.left(t)[0] <= totals[node, 0] - 1.0
        )
        assert found[node, 3] == pytest.approx(best - base, rel=1e-6)
    space = search_of(1, kernels)
    n = atoms_of(given, np.full(2, UNIT), 1, 2, bins, 2, totals[1, 0], 1, space)
    goal = Goal(*node_goal(nodes, 1, SQUARED, rules))
    merit, threshold, mass = scan_bins(bins, kernels, 2, n, (-np.inf, np.inf), goal, space)
    assert axes[2].merit(threshold, "squared") == pytest.approx(merit)
    assert axes[2].left(threshold)[0] == pytest.approx(mass)
    assert [width_of(kernels, 0, c, 9.0) for c in (0, 1)] == [0.5, 0.0]
    assert width_of(None, 0, 0, 9.0) == width_of(kernels._replace(by_cell=np.zeros(P, bool)), 0, 0, 9.0) == 9.0


@pytest.mark.tiny
@pytest.mark.parametrize("is_random", [False, True])
def test_sets_of_categories(is_random):
    """The only feature has categories; the mass that the set leaves on the left is that of its bins."""
    values = np.arange(float(N_BINS))
    bins = Bins(
        np.empty((0, 1), np.uint8), values, values, values, np.array([0, N_BINS]), np.arange(1), np.array([N_BINS + 1])
    )  # fmt: skip
    given, totals = tables_of(3, 2)
    given = np.ascontiguousarray(given[:, :1])
    given[:, :, 2] = 0  # a category that no row has
    totals = given[:, 0].sum(axis=1) * UNIT
    nodes, rules, found = nodes_of(totals, (3, 4)), Rules(5, 1.0, 0.0, 1, 0.0, False), np.full((2, 5), np.nan)
    choose = choose_random if is_random else choose_searched
    choose(
        given, np.full(2, UNIT), np.zeros((2, 1), np.int64), np.arange(2), nodes, bins, np.zeros(1), None, rules,
        SQUARED, search_of(1), found,
    )  # fmt: skip
    for node in range(2):
        base = merit_and_impurity(nodes.lines, nodes.sums, node, SQUARED, False)[0]
        merits = {}
        for chosen in range(1, 2**N_BINS - 1):
            is_left = (chosen >> np.arange(N_BINS)) & 1 == 1
            left = given[node, 0, :-1][is_left].sum(axis=0) * UNIT
            right = totals[node] - left
            if min(left[0], right[0]) >= 1.0:
                merits[chosen] = left[1] ** 2 / left[0] + right[1] ** 2 / right[0], left[0]
        own = int(nodes.subsets[node, 0]) & (2**N_BINS - 1)
        assert np.isnan(found[node, 1])
        assert found[node, 3] == pytest.approx(merits[own][0] - base)
        assert found[node, 2] == pytest.approx(merits[own][1])
        if not is_random:
            assert found[node, 3] == pytest.approx(max(merit for merit, _ in merits.values()) - base)


@pytest.mark.tiny
def test_drawn_sets():
    atoms, lines, space = np.zeros((4, 4)), np.zeros((5, 5)), search_of(1)
    atoms[:, 1] = 10, 11, 13, 14
    for seed in range(20):
        draw_parts(atoms, 4, 10, seed, lines)
        assert set(lines[:4, 0]) == {0.0, 1.0}
    values = np.arange(float(N_BINS))
    bins = Bins(
        np.empty((0, 1), np.uint8), values, values, values, np.array([0, N_BINS]), np.arange(1), np.array([N_BINS])
    )  # fmt: skip
    atoms[:, 1] -= 10
    space.lines[:4, 0] = 1.0, 0.0, 0.0, 1.0
    for absent_left, expected in ((False, 0b010001), (True, 0b110101)):
        subsets = np.zeros((1, 1), np.uint32)
        keep_drawn_parts(atoms, 4, bins, 0, absent_left, space, subsets, 0)
        assert subsets[0, 0] == expected


@pytest.mark.tiny
def test_steps_of_the_choice():
    bins = bins_of(6)
    given, totals = tables_of(7, 3)
    given[0, 1, 2] = 1, 1, 0  # a trifle: no atom
    space, units = search_of(2), np.array([UNIT, 2 * UNIT, UNIT])
    n = atoms_of(given, units, 0, 1, bins, 1, 1e6, 4, space)
    np.testing.assert_array_equal(space.atoms[2, 2:5], given[0, 1, 3] * units, "after the atom that is left out")
    n = atoms_of(given, np.full(3, UNIT), 0, 1, bins, 1, 1e6, 4, space)
    assert n == N_BINS - 1
    kept = np.delete(np.arange(N_BINS), 2)
    np.testing.assert_array_equal(space.atoms[:n, 0], bins.values[N_BINS + kept])
    np.testing.assert_allclose(space.atoms[:n, 2:5], given[0, 1, kept] * UNIT)
    place_parts(space.atoms, n, bins, 1, 0.1, 0.3, (-np.inf, np.inf), None, space.lines)
    mass = left_of(space.atoms, n, space.lines, 2, space.work)
    shares = [left_share(0.1, x, 0.3, -np.inf, np.inf) for x in space.atoms[:n, 0]]
    np.testing.assert_allclose([mass, *space.work[1, :2]], shares @ space.atoms[:n, 2:5])
    t = random_threshold(space.atoms, n, bins, 1, 0.3, (-0.5, np.inf), None, 0.5)
    low, high = max(space.atoms[0, 0] - 0.3, -0.5), space.atoms[n - 1, 0] + 0.3
    assert t == pytest.approx(0.5 * (low + high))
    assert np.isnan(random_threshold(space.atoms, 1, bins, 1, 0.3, (-np.inf, np.inf), None, 0.5))
    goal = Goal(*node_goal(nodes_of(totals), 1, SQUARED, Rules(5, 1.5, 0.0, P, 0.0, True)))
    assert (goal.total, goal.min_mass, goal.n_outputs) == (totals[1, 0], 1.5, 2)
    assert goal.base == pytest.approx((totals[1, 1:] ** 2).sum() / totals[1, 0])
