"""The growth loop in both orders, and the two steps at a node."""

from dataclasses import replace

import numpy as np
import pytest

from softwood.compiled import growing as loop
from softwood.kernel.data.binning import bin_features
from softwood.kernel.growing.loops.scan import ENTROPY, SQUARED
from softwood.kernel.growing.loops.tree_groups import Rules
from softwood.trees.structure import children_of
from tests.kernel.growing.loops.growth import (
    EXTRA_TREES,
    TREES,
    frontier_of,
    grow,
    nodes_of,
    problem,
    rules_for,
    run,
    run_best_first,
    tree_of,
)
from tests.reference import random_search as slow_random
from tests.reference.gains import impurity, merit
from tests.reference.growing import check_splits, intervals
from tests.reference.kernels import BOX, LATE, STAIRS
from tests.reference.records import as_columns, assert_same_records
from tests.reference.sharing import node_shares

SEEDS = range(4)
GROWTHS = [(*each, False) for each in TREES] + [(*each, True) for each in EXTRA_TREES]

# ------------------------------------------------------------------ the steps at a node


@pytest.mark.tiny
@pytest.mark.parametrize(("kind", "general", "random"), GROWTHS)
def test_a_node_is_searched_and_divided(kind, general, random):
    for seed in SEEDS:
        given = problem(seed, kind, general)
        rules = rules_for(given)
        whole = run_best_first(given, rules, most_splits=1, seed=seed, random=random)[0]
        frontier, scratch = frontier_of(given, rules, seed=seed), given.scratch(14, random=random)
        loop.visit(frontier, 0)
        data = given.bins, given.widths, given.kernels
        loop.search_node(*data, given.labels, given.targets, rules, given.criterion, frontier, 0, *scratch)
        here = frontier.stack[0].copy()
        assert here["feature"] == whole.lines["feature"][0]
        assert here["threshold"] == whole.lines["threshold"][0]
        assert here["missing_left"] == whole.lines["missing_left"][0]
        assert frontier.lines["feature"][0] == -1, "not divided yet"
        loop.divide_node(*data, given.targets, rules, frontier, 0, scratch[0])
        assert_same_records(frontier.lines[:1], whole.lines[:1])
        counts, (right, left) = frontier.counts[0], frontier.stack[:2]
        assert (counts["n_waiting"], counts["n_splits"], frontier.gains[0]) == (2, 1, here["gain"])
        assert (left["side"], right["side"], left["depth"], right["depth"]) == (0, 1, 1, 1)
        assert {left["node"], right["node"], left["feature"], right["feature"]} == {-1}
        assert (right["begin"], left["begin"], counts["n_rows"]) == (0, right["size"], left["size"] + right["size"])
        for child, mass in ((left, whole.lines["mass"][1]), (right, whole.lines["mass"][2])):
            at = slice(child["begin"], child["begin"] + child["size"])
            assert given.weights[frontier.rows[at]] @ frontier.shares[at] == pytest.approx(mass)


@pytest.mark.tiny
def test_a_node_with_a_child_that_is_too_light_is_searched_again():
    given = problem(0, "one target", general=False)
    rules, scratch = rules_for(given, min_mass=3.0), given.scratch(14)
    frontier = frontier_of(given, rules)
    loop.visit(frontier, 0)
    frontier.lines["mass"][0] = given.weights.sum()
    frontier.stack[0]["feature"], frontier.stack[0]["threshold"] = 0, -1.0  # all rows are on the right
    frontier.stack[0]["missing_left"] = 0.0
    loop.divide_node(given.bins, given.widths, None, given.targets, rules, frontier, 0, scratch[0])
    assert (frontier.stack[0]["feature"], frontier.stack[0]["min_mass"]) == (-1, 6.0)
    assert frontier.counts[0]["n_waiting"] == 1
    assert frontier.shares[:14].tolist() == [1.0] * 14


# ------------------------------------------------------------------ depth first


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
        expected, n_calls = run(given, rules, seed=seed, capacity=400, spare=400, random=random)
        assert n_calls == 1
        assert len(expected.lines) > 5
        for options in ({"capacity": 1}, {"capacity": 400, "spare": 1}, {"capacity": 400, "budget": 1}):
            found, n_calls = run(given, rules, seed=seed, random=random, **options)
            assert n_calls > (1 if "spare" in options else 4)
            assert_same_records(found.lines, expected.lines)
            np.testing.assert_array_equal(found.sums, expected.sums)


@pytest.mark.tiny
@pytest.mark.parametrize(("kind", "general"), EXTRA_TREES)
def test_extra_trees_are_those_of_the_reference(kind, general):
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
    nodes = run(given, rules, capacity=400, spare=400)[0]
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


@pytest.mark.tiny
def test_rows_of_depth_first_growth_are_those_of_a_path():
    """Crisp: a row is in one waiting node, whatever the size of the tree."""
    given = problem(0, "one target", general=False, n=60, missing=0.0)
    given.widths[:] = 0.0
    rules = rules_for(given, cutoff=0.0, n_draw=4)
    frontier = grow(given, rules, capacity=400, spare=60)[0]
    assert nodes_of(frontier).lines["depth"].max() > 3
    assert len(frontier.rows) == 120
    assert frontier.counts["n_rows"][0] == 0


@pytest.mark.tiny
def test_small_nodes_are_left_open():
    """So that other threads can grow them."""
    given = problem(0, "one target", general=False, n=40)
    rules = rules_for(given)
    whole = run(given, rules, capacity=400, spare=400)[0]
    frontier = grow(given, rules, capacity=400, spare=400, few_rows=12)[0]
    top, n_open = nodes_of(frontier), frontier.counts["n_open"][0]
    small = frontier.heap[:n_open]
    assert n_open > 2
    assert small["size"].max() <= 12
    assert (top.lines["feature"][small["node"]] == -1).all()
    for node in small:
        assert tuple(top.lines[node["node"]])[:3] == (node["parent"], node["side"], node["depth"])
        at = slice(node["begin"], node["begin"] + node["size"])
        assert np.isclose(whole.lines["mass"], given.weights[frontier.rows[at]] @ frontier.shares[at]).any()
    grown = np.delete(np.arange(len(top.lines)), small["node"])
    assert set(top.lines["mass"][grown]) <= set(whole.lines["mass"])


@pytest.mark.tiny
def test_nodes_that_wait_at_the_last_split_remain_leaves():
    given = problem(0, "one target", general=False, n=40)
    rules, scratch = rules_for(given), given.scratch(40)
    frontier = frontier_of(given, rules, capacity=400, spare=400)
    frontier.counts["most_splits"] = 3
    data = given.bins, given.widths, None, None, given.targets, rules, given.criterion
    assert loop.grow(*data, False, frontier, *scratch)
    nodes = nodes_of(frontier)
    left = children_of(nodes.lines["parent"], nodes.lines["side"])[0]
    assert len(left) == 7
    assert np.count_nonzero(left >= 0) == 3
    assert nodes.lines["mass"][0] == pytest.approx(given.weights.sum())
    assert nodes.lines["mass"][left < 0].sum() == pytest.approx(given.weights.sum())


# ------------------------------------------------------------------ best first


def merit_of_node(given, mass, sums):
    """Of an unsplit node."""
    if given.criterion == SQUARED:
        return (sums**2).sum() / mass
    assert given.criterion == ENTROPY
    return sum(s * np.log(s / mass) for s in sums if s > 0)


def follow(given, nodes, order, most_splits):
    """Make the splits of the whole tree in this order; each must be the best of the open ones, up to rounding.

    Returns the numbers of the nodes in the order in which they come to be.
    """
    left, right = children_of(nodes.lines["parent"], nodes.lines["side"])
    merits = np.array([merit_of_node(given, *each) for each in zip(nodes.lines["mass"], nodes.sums, strict=True)])
    gains = np.where(left >= 0, merits[left] + merits[right] - merits, -np.inf)
    made, is_open = [0], {0} if left[0] >= 0 else set()
    for best in order:
        assert best in is_open
        assert gains[made[best]] >= max(gains[made[k]] for k in is_open) - 1e-9
        is_open.remove(best)
        for child in (left[made[best]], right[made[best]]):
            made.append(child)
            if left[child] >= 0:
                is_open.add(len(made) - 1)
    assert len(order) == most_splits or not is_open
    return made


@pytest.mark.tiny
@pytest.mark.parametrize(("kind", "general", "random"), GROWTHS)
@pytest.mark.parametrize("most_splits", [0, 1, 3, 100])
def test_the_best_open_leaf_is_split_next(kind, general, random, most_splits):
    for seed in SEEDS:
        given = problem(seed, kind, general)
        rules = rules_for(given, cutoff=0.0)  # or the gains of children would not be quite those of the search
        whole, _ = run(given, rules, seed=seed, capacity=400, spare=400, random=random)
        found, order, n_calls = run_best_first(
            given, rules, most_splits=most_splits, seed=seed, capacity=400, spare=400, random=random
        )
        assert n_calls == 1
        made = follow(given, whole, order.tolist(), most_splits)
        expected = whole.lines[made]
        names = ["side", "depth", "mass", "square"]
        np.testing.assert_allclose(as_columns(found.lines, names), as_columns(expected, names), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found.sums, whole.sums[made], rtol=1e-9, atol=1e-12)
        parents = [-1] + [k for k in order for _ in range(2)]
        assert found.lines["parent"].tolist() == parents
        is_split = np.isin(np.arange(len(made)), order)
        names = ["feature", "threshold", "missing_left"]
        split = as_columns(found.lines, names)
        np.testing.assert_allclose(split[is_split], as_columns(expected, names)[is_split], rtol=1e-9)
        np.testing.assert_array_equal(split[~is_split], [[-1, np.nan, np.nan]] * np.count_nonzero(~is_split))
    if most_splits == 100:
        assert len(order) > 2, "something to compare"


@pytest.mark.tiny
def test_smaller_trees_are_the_beginning_of_larger_ones():
    given = problem(1, "one target", general=False)
    whole, order, _ = run_best_first(given, rules_for(given), most_splits=100)
    assert len(order) > 5
    for n in range(len(order)):
        some, first, _ = run_best_first(given, rules_for(given), most_splits=n)
        assert first.tolist() == order[:n].tolist()
        np.testing.assert_array_equal(some.sums, whole.sums[: 2 * n + 1])


@pytest.mark.tiny
def test_a_split_whose_shares_would_all_be_cut_off_is_made_without_cutoff():
    given = problem(0, "one target", general=False, missing=0.0)
    given.widths[:] = 50.0, 0.0, 0.0, 0.0
    given.bins.priority[:] = 0, 1, 2, 3
    rules = rules_for(given, n_draw=1, min_mass=0.1)
    n_wide = 0
    for seed in range(30):
        whole, cut = (run_best_first(given, rules._replace(cutoff=c), most_splits=1, seed=seed)[0] for c in (0.0, 0.6))
        if whole.lines["feature"][0] == 0:
            n_wide += 1
            assert_same_records(cut.lines, whole.lines)
            assert cut.lines["mass"].min() >= 0.1
    assert n_wide > 0


@pytest.mark.tiny
def test_masses_of_children_are_those_of_the_rows():
    """The search adds up bins; a split that is too light for the rows themselves is replaced by a heavier one."""
    rng = np.random.default_rng(0)
    n = 400
    X = np.column_stack([rng.lognormal(0, 2, n), rng.random((n, 3))])
    given = problem(0, "one target", general=False)
    given = replace(
        given, X=X, bins=bin_features(X, None, 20), widths=np.array([0.3, 0.0, 0.0, 0.0]), weights=np.ones(n),
        stored=np.log(X[:, :1]) + rng.normal(size=(n, 1)),
    )  # fmt: skip
    for min_mass in (2.0, 6.0):
        rules = rules_for(given, cutoff=0.0, n_draw=4, min_mass=min_mass)
        for nodes in (run_best_first(given, rules, most_splits=100, spare=4000, capacity=400)[0], run(given, rules)[0]):
            tree = tree_of(given, nodes)
            masses = tree.memberships(X).sum(axis=0)
            assert nodes.lines["mass"] == pytest.approx(masses, rel=1e-9)
            assert masses.min() >= min_mass * (1 - 1e-5)
            assert tree.n_leaves > 8


@pytest.mark.tiny
@pytest.mark.parametrize(("kind", "general", "random"), GROWTHS)
def test_a_tree_of_some_leaves_can_go_on_growing(kind, general, random):
    for seed in SEEDS:
        given = problem(seed, kind, general)
        rules, options = rules_for(given), {"seed": seed, "capacity": 400, "spare": 400, "random": random}
        expected, order, _ = run_best_first(given, rules, most_splits=9, **options)
        found, again, _ = run_best_first(given, rules, most_splits=9, pauses=(0, 1, 4), **options)
        assert_same_records(found.lines, expected.lines)
        np.testing.assert_array_equal(found.sums, expected.sums)
        assert again.tolist() == order.tolist()


@pytest.mark.tiny
def test_limits_of_best_first_growth():
    given = problem(0, "one target", general=False, n=30)
    rules = rules_for(given, cutoff=0.0, n_draw=4)
    whole = run_best_first(given, rules, most_splits=100)[0]
    assert whole.lines["depth"].max() > 2
    assert run_best_first(given, rules._replace(max_depth=2), most_splits=100)[0].lines["depth"].max() == 2
    heavy = run_best_first(given, rules._replace(min_mass=3.0), most_splits=100)[0]
    assert 3 <= len(heavy.lines) < len(whole.lines)
    assert heavy.lines["mass"].min() >= 3.0 * (1 - 1e-9)
    merits = whole.sums[:3, 0] ** 2 / whole.lines["mass"][:3]
    gain = merits[1] + merits[2] - merits[0]
    for factor, n_least, n_most in ((1 + 1e-6, 1, 1), (1 - 1e-6, 3, 99)):
        limited = run_best_first(given, rules._replace(min_gain=gain * factor), most_splits=100)[0]
        assert n_least <= len(limited.lines) <= n_most
    assert len(run_best_first(given, rules, most_splits=100, stop=1)[1]) == 0


@pytest.mark.tiny
@pytest.mark.parametrize(("kind", "general", "random"), GROWTHS)
def test_best_first_growth_goes_on_where_arrays_were_too_short_or_nodes_enough(kind, general, random):
    for seed in SEEDS:
        given = problem(seed, kind, general)
        rules = rules_for(given)
        expected, order, n_calls = run_best_first(
            given, rules, most_splits=9, seed=seed, capacity=400, spare=400, random=random
        )
        assert n_calls == 1
        for options in ({"capacity": 1}, {"capacity": 400, "spare": 1}, {"capacity": 400, "budget": 1}):
            found, again, n_calls = run_best_first(given, rules, most_splits=9, seed=seed, random=random, **options)
            assert n_calls > 1
            assert_same_records(found.lines, expected.lines)
            np.testing.assert_array_equal(found.sums, expected.sums)
            assert again.tolist() == order.tolist()
