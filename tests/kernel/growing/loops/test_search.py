"""The search of a node over all thresholds, against the reference search."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.compiled import growing as loop
from softwood.compiled.trees import next_seed
from softwood.kernel.data.binning import bin_features
from softwood.kernel.growing.loops.groups import Goal
from softwood.kernel.growing.loops.scan import SQUARED
from softwood.kernel.growing.loops.tree_groups import NODE
from tests.kernel.growing.loops.growth import KINDS, problem
from tests.reference import random_search as slow_random
from tests.reference.search import best_gain_of
from tests.strategies import CRITERION_NAMES

SEEDS = range(6)


@pytest.mark.tiny
def test_draws_depend_on_the_seed_alone_and_are_fair():
    counts = np.zeros((5, 5))
    for seed in range(400):
        order = np.empty(5, dtype=np.int64)
        loop.draw_features(order, np.arange(len(order)), np.uint64(seed), 2)
        assert sorted(order) == [0, 1, 2, 3, 4]
        again = np.empty(5, dtype=np.int64)
        loop.draw_features(again, np.arange(len(again)), np.uint64(seed), 2)
        assert np.array_equal(order, again)
        counts[np.arange(5), order] += 1
    assert np.all(np.abs(counts - 80) < 45)  # five standard deviations


@pytest.mark.tiny
@given(st.integers(0, 2**64 - 1), st.permutations(range(6)), st.integers(1, 6))
def test_draws_are_those_of_the_reference(seed, priority, n_draw):
    order = np.empty(6, dtype=np.int64)
    loop.draw_features(order, np.array(priority), np.uint64(seed), n_draw)
    assert order.tolist() == slow_random.draw_features(priority, seed, n_draw)


@pytest.mark.tiny
def test_all_features_in_order_if_all_are_wanted():
    order = np.empty(4, dtype=np.int64)
    loop.draw_features(order, np.arange(len(order)), np.uint64(9), 4)
    assert order.tolist() == [0, 1, 2, 3]


@pytest.mark.tiny
def test_seeds_of_the_nodes_of_a_tree_are_all_different():
    seeds = [np.uint64(1)]
    for level in range(8):
        seeds += [np.uint64(next_seed(s, k)) for s in seeds[2**level - 1 :] for k in range(2)]
    assert len(set(map(int, seeds))) == len(seeds)


@pytest.mark.tiny
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize("at_once", [False, True])
def test_no_split_of_a_node_is_better_than_the_one_found(kind, general, at_once):
    n_found = 0
    for seed in SEEDS:
        given, rng = problem(seed, kind, general), np.random.default_rng(seed)
        rows = np.append([0, 0], rng.permutation(14)[:11]).astype(np.uint32)  # those of the node from place 2 on
        at, shares = rows[2:], np.append([9.0, 9.0], rng.random(11) + 0.2)
        masses = shares[2:] * given.weights[at]
        # ends that leave a part of every kernel inside
        ends = np.array([[-np.inf] * 4, [np.inf] * 4])
        ends[:, 2] = np.nanmin(given.X[at, 2]) - 0.1, np.nanmax(given.X[at, 2]) + 0.4
        scratch, search, _ = given.scratch(11, at_once)
        lines, sums = np.zeros(1, NODE), np.zeros((1, given.q))
        loop.weigh(rows, 2, shares, 11, given.labels, given.targets, scratch, lines, sums, 0)
        base, impure = loop.merit_and_impurity(lines, sums, 0, given.criterion, given.labels is not None)
        n_outputs = loop.number_labels(sums, 0, 11, scratch)
        min_mass, n_draw, tie = 0.4, 1 + seed // 2, loop.tie_of(base, impure, masses.sum())
        # the one that cannot be split comes first every other time: the search goes on
        order = np.append(3, rng.permutation(3)) if seed % 2 else rng.permutation(4)
        feature, threshold, left, gain = loop.search_thresholds(
            given.bins, given.widths, given.kernels, rows, 2, 11, scratch._replace(order=order), n_draw, ends,
            Goal(masses.sum(), base, min_mass, tie, n_outputs, given.criterion), search,
        )  # fmt: skip
        name = CRITERION_NAMES[given.criterion]
        axes = [given.axis(at, masses, j, *ends[:, j]) for j in range(4)]
        best = best_gain_of(axes, order, n_draw, name, min_mass, base, tie)
        assert (feature >= 0) == np.isfinite(best)
        assert not search.tables.any(), "left empty for the next node"
        if feature < 0:
            continue
        n_found += 1
        assert gain >= best - 1e-9 * masses.sum()
        assert axes[feature].merit(threshold, name) - base == pytest.approx(gain, abs=1e-9 * masses.sum())
        assert axes[feature].left(threshold)[0] == pytest.approx(left, rel=1e-9)
        assert min(left, masses.sum() - left) >= min_mass * (1 - 1e-9)
        assert ends[0, feature] < threshold < ends[1, feature]
        if best_gain_of(axes, order[:n_draw], n_draw, name, min_mass, base, tie) > -np.inf:
            assert feature in order[:n_draw]
    assert n_found >= 4


def search_root(given, order, *, base=None, stop=0):
    """The split of all rows on these features."""
    n = len(given.X)
    rows, shares = np.arange(n, dtype=np.uint32), np.ones(n)
    scratch, search, _ = given.scratch(n)
    lines, sums = np.zeros(1, NODE), np.zeros((1, 1))
    loop.weigh(rows, 0, shares, n, None, given.targets, scratch, lines, sums, 0)
    scratch = scratch._replace(order=np.array(order))
    ends = np.array([[-np.inf] * 4, [np.inf] * 4])
    mass = lines["mass"][0]
    goal = Goal(mass, sums[0, 0] ** 2 / mass if base is None else base, 0.1, 1e-9, 1, SQUARED)
    search.stop[0] = stop
    return loop.search_thresholds(given.bins, given.widths, None, rows, 0, n, scratch, len(order), ends, goal, search)


@pytest.mark.tiny
def test_a_stopped_search_finds_nothing():
    given = problem(0, "one target", general=False)
    assert search_root(given, range(4))[0] >= 0
    assert search_root(given, range(4), stop=1)[0] == -1


@pytest.mark.tiny
def test_crisp_splits_without_gain_are_taken_and_soft_ones_are_not():
    """Two crossed features have a gain only together; soft splits without gain may never terminate."""
    given = problem(0, "one target", general=False)
    given.stored[:] = 1.0
    assert search_root(given, [0])[0] == 0
    assert search_root(given, [1, 2])[0] == -1
    assert search_root(given, [0], base=1e3)[0] == -1


@pytest.mark.tiny
def test_of_equally_good_features_the_one_nearer_to_halves_wins():
    given = problem(0, "one target", general=False, n=4, missing=0.0)
    X = np.array([[0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0]])
    given = replace(given, X=X, bins=bin_features(X, None, None), widths=np.zeros(4), weights=np.ones(4))
    given.stored[:] = 1.0
    for order in ([0, 1, 2], [2, 1, 0], [0, 2, 1]):
        assert search_root(given, order)[:3] == (1, 0.5, 2.0)
    assert [search_root(given, order)[0] for order in ([0, 2], [2, 0])] == [0, 2], "and then the first"
