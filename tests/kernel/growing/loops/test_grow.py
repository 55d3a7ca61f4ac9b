"""The growth loop and its parts, against slow twins; whole trees are tested in `test_growing.py`."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from softwood.compiled import growing as loop
from softwood.compiled.trees import next_seed
from softwood.kernel.data.binning import bin_features
from softwood.kernel.growing.loops.groups import Goal
from softwood.kernel.growing.loops.scan import BINARY_ENTROPY, ENTROPY, SQUARED
from softwood.kernel.growing.loops.tree_groups import NODE, Rules, Targets
from softwood.trees.tree import children_of
from tests.kernel.growing.loops.growth import EXTRA_TREES, KINDS, TREES, new_desk, problem, run, tree_of
from tests.reference import random_search as slow_random
from tests.reference.gains import impurity, merit
from tests.reference.growing import check_splits, intervals
from tests.reference.kernels import BOX, LATE, STAIRS, left_share
from tests.reference.records import assert_same_records
from tests.reference.search import best_gain_of
from tests.reference.sharing import node_shares
from tests.strategies import CRITERION_NAMES

SEEDS = range(6)

# ------------------------------------------------------------------ drawing features


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
def test_draws_are_those_of_the_slow_twin(seed, priority, n_draw):
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


# ------------------------------------------------------------------ the points of a node


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("criterion", "number", "n_classes"),
    [
        ("gini", SQUARED, 2),
        ("gini", SQUARED, 3),
        ("entropy", BINARY_ENTROPY, 2),
        ("entropy", ENTROPY, 3),
        ("squared_error", SQUARED, 0),
    ],
)
def test_points_of_a_node_and_its_impurity(criterion, number, n_classes):
    rng = np.random.default_rng(0)
    shares, weights = rng.random(9), rng.random(12) + 0.5
    rows = np.array([0, 0, 4, 1, 7, 9, 2, 11, 3], dtype=np.uint32)
    m = 7  # from place 2 on
    at = rows[2:]
    masses = shares[2:] * weights[at]
    labels, targets = None, Targets(weights, np.empty((0, 0)), np.empty(0))
    if n_classes:
        truth = rng.integers(n_classes, size=12).astype(np.int32)
        Y = np.eye(n_classes)[truth]
        stored = Y if n_classes > 2 else Y[:, 1:].copy()
        labels = truth if n_classes > 2 else None
    else:
        Y = stored = rng.normal(size=(12, 2))
    if labels is None:
        targets = Targets(weights, stored, (stored**2).sum(axis=1))
    q = stored.shape[1]
    desk = new_desk(m, 1, q, labels is not None)
    lines, sums = np.zeros(2, NODE), np.full((2, q), np.nan)
    loop.weigh(rows, 2, shares, m, labels, targets, desk, lines, sums, 1)
    assert desk.points[:, 0] == pytest.approx(masses)
    assert lines[1]["mass"] == pytest.approx(masses.sum())
    assert sums[1] == pytest.approx(masses @ stored[at])
    assert lines[0]["mass"] == 0.0
    assert np.isnan(sums[0]).all()
    if labels is not None:
        assert np.array_equal(desk.labels, labels[at])
    else:
        assert desk.points[:, 1:] == pytest.approx(masses[:, None] * stored[at])
        assert lines[1]["square"] == pytest.approx(masses @ (stored[at] ** 2).sum(axis=1))
    found, impure = loop.merit_and_impurity(lines, sums, 1, number, n_classes > 0)
    factor = 0.5 if (criterion, n_classes) == ("gini", 2) else 1.0  # of two classes one is stored
    assert impure == pytest.approx(factor * masses.sum() * impurity(masses, Y[at], criterion))
    if criterion != "entropy":
        assert found == pytest.approx(((masses @ stored[at]) ** 2).sum() / masses.sum())
    else:
        assert found == pytest.approx(-impure)


@pytest.mark.tiny
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_labels_of_a_node_are_numbered_without_gaps(labels):
    present = sorted(set(labels))
    masses = [labels.count(o) / 4 for o in range(5)]
    desk = new_desk(len(labels), 1, 5, True)
    desk.labels[:] = labels
    assert loop.number_labels(np.array([[9.0] * 5, masses]), 1, len(labels), desk) == len(present)
    assert [present[k] for k in desk.labels] == labels
    assert desk.totals[: len(present)].tolist() == [masses[o] for o in present]


@pytest.mark.tiny
def test_sums_of_targets_are_taken_as_they_are():
    desk = new_desk(1, 1, 3, False)
    assert loop.number_labels(np.array([[2.0, 0.0, -1.0]]), 0, 0, desk) == 3
    assert desk.totals.tolist() == [2.0, 0.0, -1.0]


@pytest.mark.tiny
def test_ties_are_a_trifle():
    assert loop.tie_of(-3.0, 2.0, 5.0) == pytest.approx(1e-10 * 2.0 + 1e-14 * 8.0, rel=1e-12)


# ------------------------------------------------------------------ the search at one node


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
        desk, search, _ = given.scratch(11, at_once)
        lines, sums = np.zeros(1, NODE), np.zeros((1, given.q))
        loop.weigh(rows, 2, shares, 11, given.labels, given.targets, desk, lines, sums, 0)
        base, impure = loop.merit_and_impurity(lines, sums, 0, given.criterion, given.labels is not None)
        n_outputs = loop.number_labels(sums, 0, 11, desk)
        min_mass, n_draw, tie = 0.4, 1 + seed // 2, loop.tie_of(base, impure, masses.sum())
        # the one that cannot be split comes first every other time: the search goes on
        order = np.append(3, rng.permutation(3)) if seed % 2 else rng.permutation(4)
        feature, threshold, left, gain = loop.search_node(
            given.bins, given.widths, given.kernels, rows, 2, 11, desk._replace(order=order), n_draw, ends,
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
    desk, search, _ = given.scratch(n)
    lines, sums = np.zeros(1, NODE), np.zeros((1, 1))
    loop.weigh(rows, 0, shares, n, None, given.targets, desk, lines, sums, 0)
    desk = desk._replace(order=np.array(order))
    ends = np.array([[-np.inf] * 4, [np.inf] * 4])
    mass = lines["mass"][0]
    goal = Goal(mass, sums[0, 0] ** 2 / mass if base is None else base, 0.1, 1e-9, 1, SQUARED)
    search.stop[0] = stop
    return loop.search_node(given.bins, given.widths, None, rows, 0, n, desk, len(order), ends, goal, search)


@pytest.mark.tiny
def test_a_stopped_search_finds_nothing():
    given = problem(0, "one target", general=False)
    assert search_root(given, range(4))[0] >= 0
    assert search_root(given, range(4), stop=1)[0] == -1


@pytest.mark.tiny
def test_crisp_splits_without_gain_are_taken_and_soft_ones_are_not():
    """Two crossed features have a gain only together; soft splits to no gain could go on for ever."""
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


# ------------------------------------------------------------------ dividing a node


@pytest.mark.tiny
@pytest.mark.parametrize("general", [False, True])
@pytest.mark.parametrize("feature", [0, 1, 2])
@pytest.mark.parametrize("cutoff", [0.0, 0.05, 0.3])
def test_points_are_divided_by_their_kernels(general, feature, cutoff):
    for seed in SEEDS:
        given, rng = problem(seed, "one target", general), np.random.default_rng(seed)
        before = rng.permutation(14)[:11]
        rows, shares = np.append([77, 77], before).astype(np.uint32), np.append([7.0, 7.0], rng.random(11) + 0.3)
        u = shares[2:].copy()
        x, width = given.X[before, feature], given.cell_widths[before, feature]
        lo, hi = (np.nanmin(x) - 0.1, np.nanmax(x) + 0.05) if seed % 2 else (-np.inf, np.inf)
        threshold = np.nanmedian(x) + 0.07 * rng.random()
        left_rows, left_shares = np.zeros(11, np.uint32), np.zeros(11)
        n_left, n_right = loop.divide(
            given.bins, given.kernels, given.weights, rows, shares, 2, 11, (feature, threshold, 0.4),
            (given.widths[feature], lo, hi), (0.0, 0.0, cutoff), left_rows, left_shares,
        )  # fmt: skip
        known = ~np.isnan(x)
        part = np.full(11, 0.4)
        part[known] = left_share(threshold, x[known], width[known], lo, hi, given.shapes[feature])
        left = np.where(u * part < cutoff, 0.0, u * part)
        left = np.where(u - left < cutoff, u, left)
        for kept, own_rows, own_shares in (
            (left, left_rows[:n_left], left_shares[:n_left]),
            (u - left, rows[2 : 2 + n_right], shares[2 : 2 + n_right]),
        ):
            assert own_rows.tolist() == before[kept > 0].tolist(), "in their order"
            assert own_shares == pytest.approx(kept[kept > 0], rel=1e-9)
        assert rows[:2].tolist() == [77, 77]
        assert shares[:2].tolist() == [7.0, 7.0]


@pytest.mark.tiny
@pytest.mark.parametrize("feature", [0, 1, 2])
def test_places_and_parts_of_points(feature):
    """Of boxes by their places, and of any kernels; nan, or the share of missing values, where there is no value."""
    for seed in SEEDS:
        given, rng = problem(seed, "one target", True), np.random.default_rng(seed)
        rows = np.append([77, 77], rng.permutation(14)[:11]).astype(np.uint32)
        x, places = given.X[rows[2:], feature], np.full(12, 77.0)
        loop.place_points(given.bins.points, feature, rows, 2, 11, places)
        np.testing.assert_array_equal(places, [*x, 77.0])
        threshold, parts = np.nanmedian(x) + 0.07, np.full(12, 77.0)
        loop.kernel_parts(
            given.bins.points, given.kernels, rows, 2, 11, (feature, threshold, 0.4),
            (given.widths[feature], -np.inf, np.inf), parts,
        )  # fmt: skip
        width, shape = given.cell_widths[rows[2:], feature], given.shapes[feature]
        expected = left_share(threshold, np.nan_to_num(x), width, -np.inf, np.inf, shape)
        assert parts == pytest.approx([*np.where(np.isnan(x), 0.4, expected), 77.0])


@pytest.mark.tiny
@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.sampled_from([0.0, 1.0, 0.5]) | st.floats(0, 1)), max_size=20),
    st.sampled_from([0.0, 0.01, 0.1]),
)
def test_shares_are_parted_and_rows_sorted_out(points, cutoff):
    """Both sides add up, none has less than the cutoff, and every row is where it has a share."""
    m = len(points)
    before, parts = np.array([u for u, _ in points]), np.array([part for _, part in points])
    shares, left = np.array([7.0, *before, 7.0]), np.array([*parts, 7.0])
    loop.part_shares(shares, 1, m, cutoff, left)
    assert shares[[0, -1]].tolist() == [7.0, 7.0]
    assert left[-1] == 7.0
    right, left = shares[1:-1].copy(), left[:-1].copy()
    np.testing.assert_allclose(left + right, before, rtol=1e-15)
    for u, part, a, b in zip(before, parts, left, right, strict=True):
        wanted = 0.0 if u * part < cutoff else u * part
        wanted = u if u - wanted < cutoff else wanted
        assert a == pytest.approx(wanted, rel=1e-9, abs=1e-15)
        assert min(x for x in (a, b, 1.0) if x > 0) >= min(cutoff, u) * (1 - 1e-9)
    rows, left_rows, left_shares = np.arange(m + 2, dtype=np.uint32), np.zeros(m, np.uint32), left.copy()
    n_left, n_right = loop.sort_out(rows, shares, 1, m, left_rows, left_shares)
    assert left_rows[:n_left].tolist() == (1 + np.flatnonzero(left > 0)).tolist()
    assert rows[1 : 1 + n_right].tolist() == (1 + np.flatnonzero(right > 0)).tolist()
    assert left_shares[:n_left].tolist() == left[left > 0].tolist()
    assert shares[1 : 1 + n_right].tolist() == right[right > 0].tolist()


@pytest.mark.tiny
@given(
    st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.001, 0.999), st.floats(0.1, 3)), min_size=1, max_size=12),
    st.floats(0, 2),
    st.sampled_from([0.0, 0.02, 0.3]),
)
def test_no_child_is_too_light(points, min_mass, cutoff):
    """Small shares stay on their side where a child would be too light without them; else the node is not divided."""
    u, parts, weights = np.array(points).T.copy()
    m, total = len(points), float(weights @ u)

    def left_of(cutoff):
        left = np.where(u * parts < cutoff, 0.0, u * parts)
        return np.where(u - left < cutoff, u, left)

    def lightest(left):
        return min(weights @ left, total - weights @ left)

    expected = next((left for left in (left_of(cutoff), left_of(0.0)) if lightest(left) >= min_mass), None)
    masses = [lightest(left_of(each)) for each in (cutoff, 0.0)]
    assume(all(abs(mass - min_mass) > 1e-4 * min_mass for mass in masses))
    rows, shares = np.arange(m, dtype=np.uint32), u.copy()
    left_rows, left_shares = np.zeros(m, np.uint32), parts.copy()
    found = loop.left_mass_of(rows, shares, 0, m, weights, cutoff, left_shares)
    assert found == pytest.approx(weights @ left_of(cutoff), abs=1e-12)
    n_left, n_right = loop.share_out(weights, rows, shares, 0, m, (total, min_mass, cutoff), left_rows, left_shares)
    if expected is None:
        assert (n_left, n_right) == (0, 0)
        assert shares.tolist() == u.tolist(), "the node is what it was"
    else:
        assert left_rows[:n_left].tolist() == np.flatnonzero(expected > 0).tolist()
        assert left_shares[:n_left] == pytest.approx(expected[expected > 0], rel=1e-9)
        assert rows[:n_right].tolist() == np.flatnonzero(u - expected > 0).tolist()


# ------------------------------------------------------------------ whole trees


@pytest.mark.tiny
@pytest.mark.parametrize(("kind", "general"), TREES)
def test_no_split_of_a_tree_is_better_than_the_one_found(kind, general):
    for seed in range(2):
        given = problem(seed, kind, general, missing=0.1)
        rules = Rules(max_depth=3, min_mass=0.8, min_gain=0.0, n_draw=4, cutoff=0.0, is_class=given.labels is not None)
        nodes, n_calls = run(given, rules)
        assert n_calls == 1
        criterion = {SQUARED: "gini" if given.labels is not None else "squared_error", ENTROPY: "entropy"}
        n_splits = check_splits(
            tree_of(given, nodes), given.X, given.stored, given.weights, given.cell_widths, given.shapes,
            criterion=criterion[given.criterion], min_mass=0.8, max_depth=3,
        )  # fmt: skip
        assert n_splits >= 2
        squares = given.weights @ (given.stored**2).sum(axis=1)
        assert nodes.lines["square"][0] == pytest.approx(0.0 if given.labels is not None else squares)


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("kind", "general", "random"), [(*each, False) for each in TREES] + [(*each, True) for each in EXTRA_TREES]
)
def test_growth_goes_on_where_arrays_were_too_short_or_nodes_enough(kind, general, random):
    for seed in SEEDS:
        given = problem(seed, kind, general)
        rules = Rules(max_depth=9, min_mass=0.5, min_gain=0.0, n_draw=2, cutoff=0.01, is_class=given.labels is not None)
        expected, n_calls = run(given, rules, seed=seed, room=400, spare=400, random=random)
        assert n_calls == 1
        assert len(expected.lines) > 5
        for options in ({"room": 1}, {"room": 400, "spare": 1}, {"room": 400, "budget": 1}):
            found, n_calls = run(given, rules, seed=seed, random=random, **options)
            assert n_calls > (1 if "spare" in options else 4)
            assert_same_records(found.lines, expected.lines)
            np.testing.assert_array_equal(found.sums, expected.sums)


@pytest.mark.tiny
@pytest.mark.parametrize(("kind", "general"), EXTRA_TREES)
def test_extra_trees_are_those_of_the_slow_twin(kind, general):
    """Node by node: the features drawn by the seed of the path, and the best of one random threshold for each."""
    n_splits = 0
    for seed in SEEDS:
        given = problem(seed, kind, general, missing=0.1)
        is_class = given.labels is not None
        rules = Rules(max_depth=3, min_mass=0.8, min_gain=0.0, n_draw=2, cutoff=0.0, is_class=is_class)
        nodes, _ = run(given, rules, seed=seed, random=True)
        tree = tree_of(given, nodes)
        table = [BOX, STAIRS, LATE]
        shares = np.array([node_shares(tree, table, *each) for each in zip(given.X, given.cell_widths, strict=True)])
        lo, hi = intervals(tree)
        seeds = {0: seed}
        for node in range(tree.n_nodes):
            if node:
                above = int(tree.parent[node])
                seeds[node] = slow_random.next_seed(seeds[above], int(nodes.lines["side"][node]))
            at = np.flatnonzero(shares[:, node] > 1e-12)
            masses, stored = (given.weights * shares[:, node])[at], given.stored[at]
            assert tree.mass[node] == pytest.approx(masses.sum(), rel=1e-9)
            spread = masses.sum() * impurity(masses, stored, "gini" if is_class else "squared_error")
            if tree.depth[node] == 3 or masses.sum() < 1.6 or spread < 1e-9:
                assert tree.feature[node] == -1
                continue
            places = [np.unique(x[~np.isnan(x)]) for x in given.X.T]
            columns = [
                slow_random.Column(
                    given.X[at, j],
                    given.cell_widths[at, j],
                    given.shapes[j],
                    *[places[j]] * 3,
                    lo[node, j],
                    hi[node, j],
                    is_crisp=given.widths[j] == 0,
                    has_own_widths=general and j == 1,
                )
                for j in range(4)
            ]
            order = slow_random.draw_features(given.bins.priority.tolist(), seeds[node], 2)
            base = merit(masses.sum(), masses @ stored, 1.0, np.zeros(given.q), "squared")
            found = slow_random.search(columns, masses, stored, order, 2, seeds[node], 0.8, 1e-10, base, "squared")
            assert tree.feature[node] == found[0]
            if found[0] >= 0:
                n_splits += 1
                assert tree.threshold[node] == pytest.approx(found[1], rel=1e-9)
                assert tree.missing_left[node] == pytest.approx(found[2] / masses.sum(), rel=1e-9)
    assert n_splits > 10


@pytest.mark.tiny
def test_limits_of_growth():
    given = problem(0, "one target", general=False, n=40)
    rules = Rules(max_depth=50, min_mass=0.5, min_gain=0.0, n_draw=4, cutoff=0.0, is_class=False)
    nodes = run(given, rules, room=400, spare=400)[0]
    lines = nodes.lines
    assert lines["depth"].max() > 3
    left, right = children_of(lines["parent"], lines["side"])
    assert run(given, rules._replace(max_depth=2))[0].lines["depth"].max() == 2
    assert run(given, rules._replace(min_mass=3.0))[0].lines["mass"].min() >= 3.0 * (1 - 1e-9)
    merits = nodes.sums[:, 0] ** 2 / lines["mass"]
    inner = left >= 0
    gains = (merits[left] + merits[right] - merits)[inner]
    assert len(run(given, rules._replace(min_gain=gains[0] * (1 + 1e-6)))[0].lines) == 1
    assert len(run(given, rules._replace(min_gain=gains[0] * (1 - 1e-6)))[0].lines) >= 3
    for name in ("threshold", "missing_left"):
        np.testing.assert_array_equal(np.isnan(lines[name]), ~inner)
