"""Best-first growth: the splits of the tree grown depth first, of which the best open one is always made next."""

from dataclasses import replace

import numpy as np
import pytest

from softwood.compiled import growing as loop
from softwood.kernel.data.binning import bin_features
from softwood.kernel.growing.loops.groups import NodeTable
from softwood.kernel.growing.loops.grow_best_first import MOST_NODES, MOST_SPLITS, N_NODES, N_SPLITS, OPEN, OpenPile
from softwood.kernel.growing.loops.scan import BINARY_ENTROPY, ENTROPY, SQUARED
from softwood.kernel.growing.loops.tree_groups import NODE, Rules
from softwood.trees.tree import children_of
from tests.kernel.growing.loops.growth import EXTRA_TREES, TREES, longer, problem, run, tree_of
from tests.reference.growing import intervals
from tests.reference.records import as_columns, assert_same_records

SEEDS = range(4)
GROWTHS = [(*each, False) for each in TREES] + [(*each, True) for each in EXTRA_TREES]


def rules_for(given, **changes):
    is_class = given.labels is not None or given.criterion == BINARY_ENTROPY
    return Rules(9, 0.5, 0.0, 2, 0.01, is_class)._replace(**changes)


def run_best_first(
    given, rules, *, most_splits, seed=0, room=64, spare=64, budget=1000, random=False, stop=0, pauses=()
):
    """Nodes, the order of the splits, and how many calls it took; arrays that are too short are made longer.

    `pauses` are numbers of splits at which growth ends at first, and then goes on.
    """
    n, p = given.X.shape
    pile = OpenPile(
        state=np.array([1, 0, n, 0, 0, most_splits, 0, -1]),
        stop=np.full(1, stop, np.uint8),
        lines=np.zeros(room, NODE),
        sums=np.full((room, given.q), np.nan),
        nodes=np.zeros(room, OPEN),
        seeds=np.zeros(room, np.uint64),
        heap=np.full(room, 77),
        order=np.full(room, 77),
        intervals=np.full((2, p), np.nan),
        rows=np.arange(n + spare, dtype=np.uint32),
        shares=np.ones(n + spare),
    )
    pile.lines[0] = (-1, 0, 0, -1, np.nan, np.nan, 0.0, 0.0)
    pile.nodes["size"][0], pile.seeds[0] = n, seed
    scratch = given.scratch(n, random=random)
    n_calls, is_finished = 0, False
    for pause in pauses:
        pile.state[MOST_SPLITS], pile.state[MOST_NODES] = pause, 1000
        assert loop.grow_best_first(
            given.bins, given.widths, given.kernels, given.labels, given.targets, rules, given.criterion, pile, *scratch
        )
        assert pile.state[N_SPLITS] <= pause
    pile.state[MOST_SPLITS] = most_splits
    while not is_finished:
        n_calls += 1
        before = pile.state[N_NODES]
        pile.state[MOST_NODES] = before + budget
        is_finished = loop.grow_best_first(
            given.bins, given.widths, given.kernels, given.labels, given.targets, rules, given.criterion, pile, *scratch
        )
        assert pile.state[N_NODES] <= before + budget + 1
        if stop:
            break
        if pile.state[N_NODES] == before and not is_finished:
            names = ("lines", "sums", "nodes", "seeds", "heap", "order", "rows", "shares")
            pile = pile._replace(**{name: longer(getattr(pile, name)) for name in names})
    n_nodes, n_splits = pile.state[[N_NODES, N_SPLITS]]
    return NodeTable(pile.lines[:n_nodes], pile.sums[:n_nodes]), pile.order[:n_splits], n_calls


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
        whole, _ = run(given, rules, seed=seed, room=400, spare=400, random=random)
        found, order, n_calls = run_best_first(
            given, rules, most_splits=most_splits, seed=seed, room=400, spare=400, random=random
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
@pytest.mark.parametrize(("kind", "general", "random"), GROWTHS)
def test_growth_goes_on_where_arrays_were_too_short_or_nodes_enough(kind, general, random):
    for seed in SEEDS:
        given = problem(seed, kind, general)
        rules = rules_for(given)
        expected, order, n_calls = run_best_first(
            given, rules, most_splits=9, seed=seed, room=400, spare=400, random=random
        )
        assert n_calls == 1
        for options in ({"room": 1}, {"room": 400, "spare": 1}, {"room": 400, "budget": 1}):
            found, again, n_calls = run_best_first(given, rules, most_splits=9, seed=seed, random=random, **options)
            assert n_calls > 1
            assert_same_records(found.lines, expected.lines)
            np.testing.assert_array_equal(found.sums, expected.sums)
            assert again.tolist() == order.tolist()


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
def test_limits_and_stops():
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
        for nodes in (run_best_first(given, rules, most_splits=100, spare=4000, room=400)[0], run(given, rules)[0]):
            tree = tree_of(given, nodes)
            masses = tree.memberships(X).sum(axis=0)
            assert nodes.lines["mass"] == pytest.approx(masses, rel=1e-9)
            assert masses.min() >= min_mass * (1 - 1e-5)
            assert tree.n_leaves > 8


@pytest.mark.tiny
@pytest.mark.parametrize("seed", SEEDS)
def test_ends_of_nodes(seed):
    given = problem(seed, "targets", general=True)
    nodes, _ = run(given, rules_for(given), room=400)
    lo, hi = intervals(tree_of(given, nodes))
    out = np.full((2, 4), 7.0)
    for node in range(len(nodes.lines)):
        loop.find_intervals(nodes.lines, node, out)
        np.testing.assert_array_equal(out, [lo[node], hi[node]])


@pytest.mark.tiny
@pytest.mark.parametrize("seed", SEEDS)
def test_open_nodes_come_by_gain_and_age(seed):
    rng = np.random.default_rng(seed)
    nodes, heap, n = np.zeros(60, OPEN), np.full(60, -1), 0
    nodes["gain"] = rng.integers(12, size=60) / 4
    is_open = set()
    for node in range(60):
        loop.open_node(nodes, heap, n, node)
        is_open.add(node)
        n += 1
        for _ in range(rng.integers(3) if node < 59 else n):  # at the end, all
            if n == 0:
                break
            first = max(is_open, key=lambda k: (nodes["gain"][k], -k))
            assert heap[0] == first
            assert all(loop.comes_before(nodes, first, k) for k in is_open - {first})
            assert not any(loop.comes_before(nodes, k, first) for k in is_open)
            loop.close_first(nodes, heap, n)
            is_open.remove(first)
            n -= 1
    assert not is_open


@pytest.mark.tiny
@pytest.mark.parametrize(("kind", "general", "random"), GROWTHS)
def test_a_tree_of_some_leaves_can_go_on_growing(kind, general, random):
    for seed in SEEDS:
        given = problem(seed, kind, general)
        rules, options = rules_for(given), {"seed": seed, "room": 400, "spare": 400, "random": random}
        expected, order, _ = run_best_first(given, rules, most_splits=9, **options)
        found, again, _ = run_best_first(given, rules, most_splits=9, pauses=(0, 1, 4), **options)
        assert_same_records(found.lines, expected.lines)
        np.testing.assert_array_equal(found.sums, expected.sums)
        assert again.tolist() == order.tolist()


@pytest.mark.tiny
def test_the_line_of_a_child():
    lines = np.zeros(3, NODE)
    lines["depth"] = 4
    loop.enter_child(lines, 2, 1, 1)
    assert lines[2].tolist()[:4] == (1, 1, 5, -1)
    assert np.isnan([lines[2]["threshold"], lines[2]["missing_left"]]).all()
