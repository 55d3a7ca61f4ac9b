"""Growing the trees of boosting: its parts by definition, and whole trees against the slow twin."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.compiled import boosting as loop
from softwood.kernel.data.binning import bin_features
from softwood.kernel.growing.loops.groups import Bins
from softwood.kernel.rounds.loops.boost import NODE, Columns, Pile
from softwood.kernel.rounds.loops.boost_histograms import BLOCK
from softwood.kernel.rounds.loops.boost_scores import LEFT_G, LEFT_H, LEFT_W, MISSING_LEFT, THRESHOLD
from softwood.kernel.rounds.loops.boost_scores import Rules as LoopRules
from softwood.kernel.rounds.loops.boost_search import (
    DIVIDED,
    LEAF,
    MOST_BLOCKS,
    N_FREE,
    N_LEAVES,
    N_NODES,
    SEARCHED,
    SIBLING,
    SearchSpace,
)
from softwood.kernel.rounds.newton import Boxes
from tests.reference.boosting import Column, Leaf, Rules, Split, columns_of, divide, grow, limit, random_problem
from tests.reference.records import as_columns, assert_same_records

NO_LIMIT = np.iinfo(np.int64).max
SUMS = ["h", "g", "w"]


def pile_of(state, room, n_nodes, n_rows, n, p, most, *, is_soft=False, n_slots=0):
    """A pile with room for so many leaves, nodes and rows; filled with nonsense."""
    shares = (np.full(n_rows, 7.0), np.full(n, 7.0), np.full(n, 7.0)) if is_soft else (None, None, None)
    return Pile(
        np.array([*state, -1, -1, -1]), np.zeros(n_slots, np.int64), longer(np.zeros(0, LEAF), room),
        np.full((room, 6), np.nan), np.full((room, 2, p), np.nan), longer(np.zeros(0, NODE), n_nodes),
        np.full(n_rows, 77, np.uint32), np.full(n, 78, np.uint32), np.full(n, 79, np.uint32), np.full(most + 1, 7.0),
        np.full((MOST_BLOCKS, 2), 7), np.full((MOST_BLOCKS, 3), 7.0), *shares,
    )  # fmt: skip


# ------------------------------------------------------------------ sums of a leaf


@pytest.mark.tiny
@pytest.mark.parametrize("is_soft", [False, True])
def test_sums_of_a_leaf(is_soft):
    rng = np.random.default_rng(0)
    sums = rng.normal(size=(20, 3))
    pile, shares = rng.permutation(20).astype(np.uint32), rng.random(20) if is_soft else None
    leaves = np.zeros(2, LEAF)
    leaves[1]["begin"], leaves[1]["size"] = 3, 11
    loop.set_sums(leaves, 1, pile, shares, sums)
    expected = (shares[3:14] if is_soft else np.ones(11)) @ sums[pile[3:14]]
    np.testing.assert_allclose(as_columns(leaves, SUMS)[1], expected)
    assert leaves[0] == np.zeros(1, LEAF)[0]


@pytest.mark.tiny
def test_a_tree_begins_with_one_leaf():
    state = np.array([0, 1, 12, 3, -1, -1, -1])
    free, leaves, bounds = np.full(5, 9), np.ones(2, LEAF), np.zeros((2, 2, 3))
    loop.begin_tree(state, free, leaves, bounds)
    np.testing.assert_array_equal(free, [2, 1, 0, 9, 9])
    for name, value in {"begin": 0, "size": 12, "line": 0, "depth": 0, "feature": -1}.items():
        assert leaves[name].tolist() == [value, 1]
    assert (leaves["lowest"][0], leaves["highest"][0]) == (-np.inf, np.inf)
    np.testing.assert_array_equal(bounds[0], [[-np.inf] * 3, [np.inf] * 3])
    assert not bounds[1].any()


# ------------------------------------------------------------------ dividing the rows


@pytest.mark.tiny
@given(
    seed=st.integers(0, 10_000),
    width=st.sampled_from([0.0, 0.3, 2.0]),
    cutoff=st.sampled_from([0.0, 1e-3, 0.1]),
    missing_left=st.sampled_from([0.0, 1.0]),
    is_soft=st.booleans(),
)
def test_no_row_and_no_share_is_lost(seed, width, cutoff, missing_left, is_soft):
    rng = np.random.default_rng(seed)
    m, begin, n_bins = int(rng.integers(1, 15)), 2, 5
    width = width if is_soft else 0.0
    values = np.concatenate([[9.0], np.sort(rng.normal(size=n_bins))])
    lo, hi = (-np.inf, np.inf) if rng.random() < 0.5 else (values[1] - 0.1, values[-1] + 0.1)
    threshold = rng.uniform(values[1], values[-1])
    codes = rng.integers(0, n_bins + 1, size=(m, 2)).astype(np.uint8)
    bins, sums = Bins(codes, values, values, values, np.array([0, 1, 1 + n_bins]), np.arange(2)), rng.random((m, 3))
    end = begin + m + 1
    pile = pile_of((5, 3, end, 0), 3, 0, 3 * m + 9, m, 2, 6, is_soft=is_soft)
    leaf = pile.leaves[2:]
    leaf["begin"], leaf["size"], leaf["feature"] = begin, m, 1
    pile.splits[2, [THRESHOLD, MISSING_LEFT]] = threshold, missing_left
    pile.bounds[2, :, 1] = lo, hi
    pile.rows[begin : begin + m] = rng.permutation(m)
    before = dict.fromkeys(pile.rows[begin : begin + m], 1.0)
    if is_soft:
        pile.shares[begin : begin + m] = rng.uniform(max(cutoff, 0.01), 1.0, size=m)
        before = dict(zip(before, pile.shares[begin : begin + m], strict=True))
    others = [copy_of(pile) for _ in range(3)]
    loop.set_leaf_parts(2, bins, Boxes.of(bins, np.array([0.0, width])).edges, pile)
    column = Column(*[np.append(values[1:], np.nan)[codes[:, 1]]] * 3, width)
    part = column.shares(threshold, lo, hi, missing_left)
    assert pile.parts[codes[:, 1]] == pytest.approx(part, abs=1e-12)
    assert pile.parts[6] == 7.0
    columns = columns_by_feature(bins)
    loop.divide_leaf(2, columns, sums, pile, cutoff)
    n_left, n_right = pile.counts[0]
    places = (end, begin) if n_left <= n_right else (begin, end)
    sides = []
    for place, size in zip(places, (n_left, n_right), strict=True):
        rows = pile.rows[place : place + size]
        assert len(set(rows)) == size, "each row once"
        sides.append(dict(zip(rows, pile.shares[place : place + size] if is_soft else np.ones(size), strict=True)))
    left, right = sides
    assert set(left) | set(right) == set(before)
    for row, share in before.items():
        assert left.get(row, 0.0) + right.get(row, 0.0) == pytest.approx(share, rel=1e-15)
        expected = share * part[row]
        if expected < cutoff:
            assert row not in left
        elif share - expected < cutoff:
            assert row not in right
        else:
            assert left.get(row, 0.0) == pytest.approx(expected, abs=1e-12)
        for side in sides:
            assert side.get(row, np.inf) >= cutoff
    used = {*range(begin, begin + m), *range(end, end + min(n_left, n_right))}
    untouched = [k for k in range(len(pile.rows)) if k not in used]
    assert np.all(pile.rows[untouched] == 77)
    if is_soft:
        assert np.all(pile.shares[untouched] == 7.0)
        small = left if n_left <= n_right else right
        expected = np.array(list(small.values())) @ sums[list(small)] if small else np.zeros(3)
        assert pile.sums[0] == pytest.approx(expected, abs=1e-12)
    # and by blocks, in any order
    held = [k for side, place in zip(sides, places, strict=True) for k in range(place, place + len(side))]
    for n_blocks, other in enumerate(others, 1):
        other.state[DIVIDED], other.parts[:] = 2, pile.parts
        for b in reversed(range(n_blocks)):
            loop.divide_block((b, n_blocks), columns, other, cutoff)
        for b in rng.permutation(n_blocks):
            loop.place_block((b, n_blocks), sums, other)
        assert other.counts[:n_blocks].sum(axis=0).tolist() == [n_left, n_right]
        np.testing.assert_array_equal(other.rows[held], pile.rows[held])
        if is_soft:
            np.testing.assert_array_equal(other.shares[held], pile.shares[held])
            assert other.sums[:n_blocks].sum(axis=0) == pytest.approx(pile.sums[0], abs=1e-12)
            assert np.all(other.sums[n_blocks:] == 7.0)


def copy_of(pile):
    return Pile(*(array if array is None else array.copy() for array in pile))


@pytest.mark.tiny
def test_numbers_of_rows_before_a_block():
    counts = np.array([[1, 2], [0, 4], [3, 0]])
    assert [loop.count_sides(counts, n) for n in range(4)] == [(0, 0), (1, 2), (1, 6), (4, 6)]


# ------------------------------------------------------------------ the list of leaves


@pytest.mark.tiny
@given(
    st.lists(st.tuples(st.integers(-1, 3), st.integers(-2, 4)), min_size=1, max_size=8),
    st.booleans(),
    st.integers(0, 2),
)
def test_the_next_leaf_is_the_best_open_one_or_the_last(given_leaves, best_first, beyond):
    leaves = np.zeros(len(given_leaves) + beyond, LEAF)
    leaves["feature"][: len(given_leaves)], leaves["gain"][: len(given_leaves)] = np.transpose(given_leaves)
    leaves["gain"][len(given_leaves) :] = 99.0  # not in use
    is_open = [k for k, (feature, _) in enumerate(given_leaves) if feature >= 0]
    expected = -1
    if is_open:
        expected = max(is_open, key=lambda k: given_leaves[k][1]) if best_first else is_open[-1]
    assert loop.next_leaf(leaves, len(given_leaves), best_first) == expected


@pytest.mark.tiny
def test_lines_of_the_node_table():
    nodes, leaves = np.zeros(3, NODE), np.zeros(2, LEAF)
    own = {"line": 2, "depth": 4, "h": 2.0, "g": -3.0, "w": 5.0, "lowest": -1.0, "highest": 1.25}
    for name, value in own.items():
        leaves[name][1] = value
    for l2, highest, value in ((0.0, 1.25, 1.25), (0.0, np.inf, 1.5), (4.0, np.inf, 0.5)):
        leaves["highest"][1] = highest
        loop.write_line(nodes, leaves, 1, 7, 1, l2)
        expected = np.array([(7, 1, 4, -1, np.nan, np.nan, 2.0, -3.0, 5.0, value)], NODE)
        assert_same_records(nodes[2:], expected)
    assert_same_records(nodes[:2], np.zeros(2, NODE))


@pytest.mark.tiny
@pytest.mark.parametrize("direction", [-1, 0, 1])
@pytest.mark.parametrize("l2", [0.0, 2.0])
@pytest.mark.parametrize("ends", [(-np.inf, np.inf), (-0.2, 0.3)])
def test_children_stay_on_their_side(direction, l2, ends):
    sums = np.array([[2.0, 1.0, 3.0], [1.5, -0.5, 1.0]])
    leaves = np.zeros(4, LEAF)
    for leaf, own in ((3, sums[0]), (1, sums[1])):
        leaves["h"][leaf], leaves["g"][leaf], leaves["w"][leaf] = own
    leaves["lowest"][3], leaves["highest"][3] = ends  # the node's, whose place the left child takes
    loop.limit_children(leaves, 3, 1, direction, l2)
    lo, hi = np.full((2, 1), np.inf)
    left, right = (Leaf(0, 0, shares, -lo, hi, *ends) for shares in np.eye(2))
    limit(left, right, direction, sums, l2)
    for leaf, expected in ((3, left), (1, right)):
        assert leaves["lowest"][leaf] == pytest.approx(expected.lowest)
        assert leaves["highest"][leaf] == pytest.approx(expected.highest)


@pytest.mark.tiny
def test_a_slot_is_given_back():
    leaves, free, state = np.zeros(3, LEAF), np.array([4, 1, 9, 9]), np.array([0, 0, 0, 2, -1, -1, -1])
    leaves["slot"] = 5, 6, 7
    loop.free_slot(leaves, 2, free, state)
    assert free.tolist() == [4, 1, 7, 9]
    assert state.tolist() == [0, 0, 0, 3, -1, -1, -1]


@pytest.mark.tiny
@pytest.mark.parametrize("width", [0.0, 0.4])
@pytest.mark.parametrize("direction", [None, 1, -1])
@pytest.mark.parametrize("cutoff", [0.0, 0.1, 0.99])
@pytest.mark.parametrize("missing_left", [0.0, 1.0])
def test_a_leaf_is_split_in_two(width, direction, cutoff, missing_left):
    n_divided = 0
    for seed in range(4):
        bins, sums = random_problem(seed, n=12, missing=0.2)
        rng = np.random.default_rng(seed)
        m, begin, length, widths = 8, 2, 12, np.full(3, width)
        directions = None if direction is None else np.array([0, direction, 0])
        rules = Rules(l2=0.5, cutoff=cutoff, directions=directions)
        at = rng.permutation(12)[:m]
        u = rng.uniform(0.5, 1.0, size=m) if width else np.ones(m)
        ends = np.array([[-np.inf] * 3, [np.inf] * 3])
        ends[:, 1] = np.nanmin(bins.values) - 1.0, np.nanmax(bins.values) + 1.0
        known = bins.values[bins.offsets[1] + bins.codes[at, 1][bins.codes[at, 1] < np.diff(bins.offsets)[1]]]
        split = Split(1.0, 1, rng.uniform(known.min(), known.max()), missing_left)
        # what the loop is given: the leaf is the second of three, its line the last of the table
        pile = pile_of((5, 3, length, 0), 4, 9, 30, m, 3, bins.most, is_soft=width > 0)
        leaves, nodes, shares = pile.leaves, pile.nodes, pile.shares
        own = {"begin": begin, "size": m, "line": 4, "depth": 3, "slot": 6, "feature": 1}
        totals = dict(zip(SUMS, u @ sums[at], strict=True))
        for name, value in {**own, **totals, "lowest": -0.4, "highest": 0.6}.items():
            leaves[name][1] = value
        pile.splits[1, [THRESHOLD, MISSING_LEFT]] = split.threshold, missing_left
        if not width:  # what the search finds
            column = columns_of(bins, widths)[1]
            part = column.shares(split.threshold, *ends[:, 1], missing_left)
            pile.splits[1, [LEFT_H, LEFT_G, LEFT_W]] = part[at] @ sums[at]
        pile.bounds[1], pile.rows[begin : begin + m] = ends, at
        if width:
            shares[begin : begin + m] = u
        loop.set_leaf_parts(1, bins, Boxes.of(bins, widths).edges, pile)
        loop.divide_leaf(1, columns_by_feature(bins), sums, pile, cutoff)
        small, large = loop.split_leaf(1, bins, pile, directions, loop_rules(rules))
        # and by the twin
        whole = np.zeros(12)
        whole[at] = u
        parent = Leaf(4, 3, whole, *ends, -0.4, 0.6, split)
        children = divide(parent, columns_of(bins, widths), rules, 5)
        assert leaves["feature"][1] == -1
        if children is None:
            assert (small, large) == (-1, -1)
            assert pile.state.tolist() == [5, 3, length, 0, -1, -1, -1]
            assert pile.rows[begin : begin + m].tolist() == at.tolist()
            continue
        n_divided += 1
        limit(*children, rules.direction(1), sums, rules.l2)
        sizes = [np.count_nonzero(child.shares) for child in children]
        assert (small, large) == ((1, 3) if sizes[0] <= sizes[1] else (3, 1))
        assert pile.state.tolist() == [7, 4, length + min(sizes), 0, -1, -1, -1]
        assert leaves["slot"][large] == 6
        assert (nodes["feature"][4], nodes["threshold"][4], nodes["missing_left"][4]) == (
            1,
            split.threshold,
            missing_left,
        )
        for side, (number, child) in enumerate(zip((1, 3), children, strict=True)):
            leaf = leaves[number]
            part = slice(leaf["begin"], leaf["begin"] + leaf["size"])
            found = np.zeros(12)
            found[pile.rows[part]] = shares[part] if width else 1.0
            assert found == pytest.approx(child.shares, abs=1e-12)
            assert leaf["size"] == sizes[side]
            assert leaf["begin"] == (length if number == small else begin)
            assert leaf["feature"] == -1
            assert pile.bounds[number].tolist() == [child.lo.tolist(), child.hi.tolist()]
            assert [leaf["lowest"], leaf["highest"]] == pytest.approx([child.lowest, child.highest])
            totals = child.shares @ sums
            line = (4, side, 4, -1, np.nan, np.nan, *totals, child.value(totals, rules.l2))
            assert leaf["line"] == 5 + side
            assert list(nodes[5 + side]) == pytest.approx(line, nan_ok=True)
            assert [leaf[name] for name in SUMS] == pytest.approx(totals)
    assert n_divided == 0 if width and cutoff == 0.99 else n_divided >= 2


# ------------------------------------------------------------------ whole trees


@dataclass
class Grown:
    """What the loop leaves behind: node table, and the rows of the leaves."""

    nodes: np.ndarray
    leaves: np.ndarray
    rows: np.ndarray
    shares: np.ndarray | None
    n_calls: int

    def memberships(self, n):
        """(n_leaves, n)"""
        out = np.zeros((len(self.leaves), n))
        for k, leaf in enumerate(self.leaves):
            part = slice(leaf["begin"], leaf["begin"] + leaf["size"])
            np.add.at(out[k], self.rows[part], 1.0 if self.shares is None else self.shares[part])
        return out


def longer(array, by=None):
    """The array with as much room again, or so many lines more, filled with nonsense."""
    more = np.zeros((len(array) if by is None else by, *array.shape[1:]), array.dtype)
    for name in array.dtype.names or [...]:
        more[name] = 7
    return np.concatenate([array, more])


def columns_by_feature(bins):
    return Columns(np.ascontiguousarray(bins.codes.T))


def loop_rules(rules):
    """The rules as the loop takes them."""
    return LoopRules(
        max_leaves=int(min(rules.max_leaves, NO_LIMIT)),
        max_depth=int(min(rules.max_depth, NO_LIMIT)),
        min_mass=rules.min_mass,
        min_hessian=rules.min_hessian,
        min_gain=rules.min_gain,
        l2=rules.l2,
        cutoff=rules.cutoff,
        best_first=rules.best_first,
    )


def grow_fast(bins, sums, widths, rules, rows=None, features=None, room=64, n_parts=None, reach=None):
    """Grow by the loop; what is too short is made longer until the tree is finished.

    With `n_parts`, all searches are left to the caller, who searches so many parts of the features, the last one first;
    and so is the division of leaves with more than a third of the rows.
    """
    n, p = bins.codes.shape
    m = n if rows is None else len(rows)
    features = np.arange(p) if features is None else features
    is_soft = bool(np.any(widths > 0)) or reach is not None
    most = bins.most
    pile = pile_of((0, 1, m, room), room, room, m + room, m, p, most, is_soft=is_soft, n_slots=room)
    if is_soft:
        pile.shares[:m] = 1.0
    space = SearchSpace(
        tables=np.full((room, p, most + 1, 4), 7.0),
        found=np.zeros((2, p, 6)),
        block=np.zeros((n_parts or 1, BLOCK, 4)),
        lines=np.zeros((n_parts or 1, 7, 2 * most)),
    )
    edges, columns, own_rules = Boxes.of(bins, widths, reach).edges, columns_by_feature(bins), loop_rules(rules)
    pile.rows[:m] = np.arange(n) if rows is None else rows
    n_calls = 0
    while True:
        n_calls += 1
        loop.grow_boosted(
            bins, columns, edges, sums, features, rules.directions, own_rules, pile, space, 0 if n_parts else NO_LIMIT,
            m // 3 if n_parts else NO_LIMIT,
        )  # fmt: skip
        if pile.state[DIVIDED] >= 0:
            loop.divide_block((0, 1), columns, pile, rules.cutoff)
            loop.place_block((0, 1), sums, pile)
            continue
        if pile.state[SEARCHED] >= 0:
            for part in reversed(range(n_parts)):
                loop.search_part(
                    (part, n_parts), bins, edges, sums, pile, features, rules.directions, own_rules, space
                )  # fmt: skip
            continue
        if pile.state[N_LEAVES] >= rules.max_leaves or np.all(pile.leaves["feature"][: pile.state[N_LEAVES]] < 0):
            break
        n_tables, n_free = len(space.tables), pile.state[N_FREE]
        more = np.arange(n_tables, 2 * n_tables)
        free = np.concatenate([pile.free[:n_free], more, np.full(n_tables - n_free, -1)])
        pile.state[N_FREE] += n_tables
        names = ["leaves", "splits", "bounds", "nodes", "rows", *(["shares"] if is_soft else [])]
        pile = pile._replace(free=free, **{name: longer(getattr(pile, name)) for name in names})
        space = space._replace(tables=longer(space.tables))
    n_nodes, n_leaves = pile.state[[N_NODES, N_LEAVES]]
    loop.settle_leaves(pile, sums, rules.l2)
    return Grown(pile.nodes[:n_nodes], pile.leaves[:n_leaves], pile.rows, pile.shares, n_calls)


def assert_same_tree(found, nodes, shares):
    assert len(found.nodes) == len(nodes)
    structure = ["parent", "side", "depth", "feature", "missing_left"]
    np.testing.assert_array_equal(as_columns(found.nodes, structure), as_columns(nodes, structure))
    np.testing.assert_allclose(as_columns(found.nodes), as_columns(nodes), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found.memberships(shares.shape[1]), shares, rtol=1e-9, atol=1e-11)


WIDTHS = [np.zeros(3), np.array([0.3, 0.1, 0.6]), np.array([0.0, 0.4, 0.2])]
RULES = {
    "plain": Rules(max_leaves=8, min_mass=3.0),
    "no limit": Rules(min_mass=3.0, best_first=False),
    "all at once": Rules(max_leaves=10_000, min_mass=3.0),
    "two leaves": Rules(max_leaves=2, min_mass=3.0),
    "a lone root": Rules(max_leaves=8, min_mass=1000.0),
    "shallow": Rules(max_leaves=8, min_mass=1.0, max_depth=2),
    "shallow, no limit": Rules(min_mass=1.0, max_depth=2, best_first=False),
    "regular": Rules(max_leaves=8, min_mass=2.0, l2=2.0, min_gain=0.4, min_hessian=2.0),
    "cut off": Rules(max_leaves=12, min_mass=2.0, cutoff=0.05),
    "rising and falling": Rules(max_leaves=12, min_mass=2.0, directions=np.array([1, -1, 1])),
    "one falling, l2": Rules(max_leaves=12, min_mass=2.0, directions=np.array([-1, 0, 0]), l2=0.5, cutoff=0.01),
}


@pytest.mark.tiny
@pytest.mark.parametrize("widths", WIDTHS, ids=["crisp", "boxes", "mixed"])
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_the_tree_is_that_of_the_slow_twin(widths, rules, missing):
    for seed in range(2):
        bins, sums = random_problem(seed, missing=missing)
        expected = grow(bins, sums, widths, rules)
        assert_same_tree(grow_fast(bins, sums, widths, rules), *expected)
    n_leaves = len(expected[1])
    assert n_leaves <= rules.max_leaves
    assert (n_leaves > 1) == (rules.min_mass < 1000), "something to compare"


@pytest.mark.tiny
@pytest.mark.parametrize("widths", WIDTHS, ids=["crisp", "boxes", "mixed"])
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_the_tree_of_bins_with_half_widths_of_their_own(widths, rules, missing):
    for seed in range(3):
        bins, sums = random_problem(seed, missing=missing)
        rng = np.random.default_rng([seed, 1])
        reach = rng.choice([0.01, 0.05, 0.4, 1.5], size=len(bins.values)) * np.repeat(widths, np.diff(bins.offsets))
        assert_same_tree(
            grow_fast(bins, sums, widths, rules, reach=reach), *grow(bins, sums, widths, rules, reach=reach)
        )


@pytest.mark.tiny
@pytest.mark.parametrize("widths", WIDTHS, ids=["crisp", "boxes", "mixed"])
@pytest.mark.parametrize("max_bins", [2, 9])
def test_the_tree_of_coarse_bins(widths, max_bins):
    bins, sums = random_problem(5, missing=0.1, max_bins=max_bins)
    rules = Rules(max_leaves=8, min_mass=3.0)
    assert_same_tree(grow_fast(bins, sums, widths, rules), *grow(bins, sums, widths, rules))


@pytest.mark.tiny
@pytest.mark.parametrize("widths", WIDTHS, ids=["crisp", "boxes", "mixed"])
def test_the_tree_of_some_rows_and_features(widths):
    bins, sums = random_problem(7, missing=0.1)
    rows, features = np.sort(np.random.default_rng(0).permutation(45)[:30]), np.array([0, 2])
    rules = Rules(max_leaves=8, min_mass=3.0)
    found = grow_fast(bins, sums, widths, rules, rows, features)
    assert_same_tree(found, *grow(bins, sums, widths, rules, rows, features))
    assert set(found.nodes["feature"]) <= {-1, 0, 2}
    np.testing.assert_allclose(found.memberships(45).sum(axis=0), np.isin(np.arange(45), rows), atol=1e-12)


@pytest.mark.tiny
@pytest.mark.parametrize("widths", WIDTHS, ids=["crisp", "boxes", "mixed"])
@pytest.mark.parametrize("best_first", [False, True])
def test_growth_goes_on_where_arrays_were_too_short(widths, best_first):
    bins, sums = random_problem(1, missing=0.1)
    rules = Rules(max_leaves=20 if best_first else np.inf, min_mass=2.0, best_first=best_first)
    at_once, in_parts = (grow_fast(bins, sums, widths, rules, room=room) for room in (400, 1))
    assert at_once.n_calls == 1
    assert in_parts.n_calls > 4
    assert_same_records(in_parts.nodes, at_once.nodes)
    np.testing.assert_array_equal(in_parts.memberships(45), at_once.memberships(45))


@pytest.mark.tiny
@pytest.mark.parametrize("widths", WIDTHS, ids=["crisp", "boxes", "mixed"])
@pytest.mark.parametrize("n_parts", [1, 2, 3])
def test_the_caller_may_search(widths, n_parts):
    bins, sums = random_problem(3, missing=0.1)
    rules = Rules(max_leaves=12, min_mass=2.0)
    alone, divided = (grow_fast(bins, sums, widths, rules, n_parts=n) for n in (None, n_parts))
    assert len(alone.leaves) == 12
    assert divided.n_calls > 8
    assert_same_records(divided.nodes, alone.nodes)
    np.testing.assert_array_equal(divided.memberships(45), alone.memberships(45))


@pytest.mark.tiny
def test_the_cost_of_a_search():
    """Rows, and bins of the leaf and of its sibling, which take longer with kernels."""
    assert loop.search_cost(100, 0, False) == loop.search_cost(100, 0, True) == 100
    assert loop.search_cost(100, 7, False) - 100 == 2 * 7 * 3
    assert loop.search_cost(0, 7, True) > 2 * loop.search_cost(0, 7, False)


@pytest.mark.tiny
def test_sums_of_finished_leaves_are_exact():
    """Those by which a tree grows are differences: next to a large neighbour, a small number loses its digits."""
    sums = np.array([[1e9, 1e9, 1e9], [0.1, 0.3, 0.1], [0.2, -0.1, 0.2]])
    pile = pile_of((3, 2, 3, 0), 2, 3, 3, 0, 1, 1)._replace(rows=np.arange(3, dtype=np.uint32))
    leaves, nodes = pile.leaves, pile.nodes
    nodes[:] = np.zeros(3, NODE)
    leaves["begin"], leaves["size"], leaves["line"], leaves["depth"] = [0, 1], [1, 2], [2, 1], 0
    leaves["lowest"], leaves["highest"] = -np.inf, np.inf
    leaves["w"] = 7.0
    nodes["parent"][1:], nodes["side"][1:] = 5, [0, 1]
    for shares in (None, np.array([1.0, 0.5, 0.25])):
        loop.settle_leaves(pile._replace(shares=shares), sums, 0.5)
        u = np.ones(3) if shares is None else shares
        for line, part in ((2, slice(0, 1)), (1, slice(1, 3))):
            h, g, w = u[part] @ sums[part]
            own = (5, line - 1, 0, -1, np.nan, np.nan, h, g, w, -g / (h + 0.5))
            assert list(nodes[line]) == pytest.approx(own, rel=1e-15, nan_ok=True)
        assert nodes[0] == np.zeros(1, NODE)[0]


@pytest.mark.tiny
@pytest.mark.parametrize("min_mass", [1.0, 10.0, 30.0])
def test_what_is_searched_next(min_mass):
    """The root, then both children of the best leaf, if they are heavy enough; slots are given out and taken back."""
    bins, sums = random_problem(0, n=40, weighted=False)
    edges, rules = Boxes.of(bins, np.zeros(3)).edges, Rules(min_mass=min_mass)
    pile = pile_of((0, 1, 40, 3), 4, 9, 99, 40, 3, bins.most, n_slots=3)
    pile.rows[:40] = np.arange(40)

    def go_on(most_rows=NO_LIMIT):
        loop.next_search(bins, columns_by_feature(bins), edges, sums, None, loop_rules(rules), pile, most_rows)

    go_on()
    if min_mass == 30.0:
        assert pile.state.tolist() == [1, 1, 40, 3, -1, -1, -1]
        return
    assert pile.state.tolist() == [1, 1, 40, 2, 0, -1, -1]
    assert pile.leaves["slot"][0] == 0
    # 14 rows to the left, by a split that is better than that of the second feature
    order = np.sort(bins.values[: bins.offsets[1]])
    found = np.full((2, 3, 6), -np.inf)
    on_left = bins.values[bins.codes[:, 0]] <= order[13]
    found[0, :2] = [[90.0, order[13], *sums[on_left].sum(axis=0), 0], [80.0, 0, 0, 0, 0, 0]]
    space = SearchSpace(np.zeros((8, 3, 1, 4)), found, np.zeros((1, 1, 4)), np.zeros((1, 7, 1)))
    loop.end_search(bins, np.arange(3), loop_rules(rules), pile, space)
    assert pile.state.tolist() == [1, 1, 40, 2, -1, -1, -1]
    assert (pile.leaves["feature"][0], pile.splits[0, THRESHOLD]) == (0, order[13])
    go_on(most_rows=39)
    assert pile.state.tolist() == [1, 1, 40, 2, -1, -1, 0], "the caller is to divide"
    loop.divide_block((0, 1), columns_by_feature(bins), pile, 0.0)
    loop.place_block((0, 1), sums, pile)
    go_on()
    assert pile.leaves["size"][:2].tolist() == [14, 26]
    if min_mass == 10.0:  # the smaller one cannot be split, but its rows must be taken from its sibling's
        assert pile.state.tolist() == [3, 2, 54, 1, 0, 1, -1]
    found[:] = -np.inf
    loop.end_search(bins, np.arange(3), loop_rules(rules), pile, space)
    assert pile.state.tolist() == [3, 2, 54, 3, -1, -1, -1], "no split found: all slots are free again"
    assert set(pile.free) == {0, 1, 2}
    go_on()
    assert pile.state[[SEARCHED, SIBLING]].tolist() == [-1, -1]


@pytest.mark.tiny
@pytest.mark.parametrize("widths", WIDTHS, ids=["crisp", "boxes", "mixed"])
def test_columns_without_values_or_without_difference(widths):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(30, np.nan), np.full(30, 2.0), rng.normal(size=30)])
    bins, sums = bin_features(X, None, 255), random_problem(0, n=30)[1]
    rules = Rules(max_leaves=5, min_mass=2.0)
    found = grow_fast(bins, sums, widths, rules)
    assert_same_tree(found, *grow(bins, sums, widths, rules))
    assert set(found.nodes["feature"]) <= {-1, 1, 2}  # a box of equal values can be cut, to no gain


@pytest.mark.tiny
def test_a_split_whose_shares_are_all_cut_off_is_none():
    bins = bin_features(np.array([[0.0], [0.05]]), None, 255)
    sums, widths = np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 1.0]]), np.array([1.0])
    assert len(grow_fast(bins, sums, widths, Rules(min_mass=0.01, max_depth=1)).nodes) == 3
    found = grow_fast(bins, sums, widths, Rules(min_mass=0.01, max_depth=1, cutoff=0.1))
    assert len(found.nodes) == 1
    np.testing.assert_array_equal(found.memberships(2), [[1.0, 1.0]])


@pytest.mark.tiny
@pytest.mark.parametrize("widths", WIDTHS[:2], ids=["crisp", "boxes"])
def test_a_minimum_that_rounding_hides(widths):
    """Ten weights of 0.1 are less than 1 when added up, and enough."""
    bins, sums = random_problem(0, n=40, weighted=False)
    tenth = grow_fast(bins, 0.1 * sums, widths, Rules(max_leaves=8, min_mass=1.0, min_hessian=1e-4))
    whole = grow_fast(bins, sums, widths, Rules(max_leaves=8, min_mass=10.0, min_hessian=1e-3))
    same = ["feature", "threshold", "value"]
    np.testing.assert_allclose(as_columns(tenth.nodes, same), as_columns(whole.nodes, same), rtol=1e-9)


@pytest.mark.tiny
@pytest.mark.parametrize("widths", WIDTHS, ids=["crisp", "boxes", "mixed"])
def test_leaf_values_are_added_by_membership(widths):
    bins, sums = random_problem(2, missing=0.1)
    found = grow_fast(bins, sums, widths, Rules(max_leaves=6, min_mass=3.0))
    scores = np.ones(45)
    for first, last in ((0, 17), (17, 40)):
        loop.add_leaf_values(found.leaves, found.rows, found.shares, found.nodes, first, last, scores)
    values = found.nodes["value"][found.leaves["line"]]
    np.testing.assert_allclose(scores[:40], 1.0 + values @ found.memberships(45)[:, :40], rtol=1e-12)
    assert np.all(scores[40:] == 1.0)


@pytest.mark.tiny
def test_the_first_row_that_is_not_below_a_number():
    rows = np.array([9, 9, 2, 4, 4, 7, 0, 0], np.uint32)
    assert [loop.first_row(rows, 2, 6, row) for row in (0, 2, 3, 4, 5, 7, 8)] == [2, 2, 3, 3, 5, 5, 6]


# ------------------------------------------------------------------ parts of the division


@pytest.mark.tiny
@pytest.mark.parametrize("is_soft", [False, True])
def test_sums_and_copies_of_some_rows(is_soft):
    rng = np.random.default_rng(1)
    sums, rows = rng.normal(size=(20, 3)), rng.permutation(20).astype(np.uint32)
    shares = rng.random(20) if is_soft else None
    expected = (shares[4:15] if is_soft else np.ones(11)) @ sums[rows[4:15]]
    assert loop.sum_rows(rows, shares, 4, 15, sums) == pytest.approx(expected)
    new_rows, new_shares = np.full(14, 77, np.uint32), np.full(14, 7.0) if is_soft else None
    loop.copy_rows(rows, shares, 4, 15, new_rows, new_shares, 2)
    assert new_rows.tolist() == [77, 77, *rows[4:15], 77]
    if is_soft:
        assert new_shares.tolist() == [7.0, 7.0, *shares[4:15], 7.0]


@pytest.mark.tiny
def test_parts_of_the_bins_of_a_feature():
    values = np.array([9.0, 0.0, 1.0, 2.0])
    bins = Bins(np.zeros((0, 2), np.uint8), values, values, values, np.array([0, 1, 4]), np.arange(2))
    parts = np.full(5, 7.0)
    loop.set_parts(bins, 1, np.full(4, 0.5), (1.25, 0.4), (-np.inf, np.inf), parts)
    assert parts.tolist() == [1.0, 0.75, 0.0, 0.4, 7.0]
    loop.set_parts(bins, 1, np.zeros(4), (1.0, 0.4), (-np.inf, np.inf), parts)
    assert parts.tolist() == [1.0, 1.0, 0.0, 0.4, 7.0]


@pytest.mark.tiny
@pytest.mark.parametrize("is_apart", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint32])
def test_some_rows_of_a_leaf_are_divided_by_the_parts_of_their_bins(is_apart, dtype):
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 4, (2, 12)).astype(dtype)
    pile = Pile(
        np.zeros(7, np.int64), np.zeros(1, np.int64), np.zeros(1, LEAF), np.zeros((1, 6)), np.zeros((1, 2, 2)),
        np.zeros(1, NODE), rng.permutation(12).astype(np.uint32), np.full(12, 78, np.uint32),
        np.full(12, 79, np.uint32), np.array([1.0, 0.75, 0.0, 0.02]), np.zeros((1, 2), np.int64), np.zeros((1, 3)),
        rng.random(12) + 0.2, np.full(12, 7.0), np.full(12, 7.0),
    )  # fmt: skip
    rows, shares = pile.rows[2:10].copy(), pile.shares[2:10].copy()
    part = pile.parts[codes[1, rows]]
    left = np.where(shares * part < 0.03, 0.0, shares * part)
    left = np.where(shares - left < 0.03, shares, left)
    n_left, n_right = loop.divide_rows(codes, 1, 0.03, pile, 2, 10, 1, 2, is_apart)
    right_rows, right_shares = (pile.right_rows, pile.right_shares) if is_apart else (pile.rows, pile.shares)
    assert (n_left, n_right) == (np.count_nonzero(left), np.count_nonzero(shares - left > 0))
    assert pile.left_rows[1 : 1 + n_left].tolist() == rows[left > 0].tolist()
    assert pile.left_shares[1 : 1 + n_left] == pytest.approx(left[left > 0])
    assert right_rows[2 : 2 + n_right].tolist() == rows[shares - left > 0].tolist()
    assert right_shares[2 : 2 + n_right] == pytest.approx((shares - left)[shares - left > 0])


@pytest.mark.tiny
def test_a_leaf_is_settled_and_room_is_looked_for():
    rng = np.random.default_rng(3)
    sums = rng.random((6, 3)) + 0.5
    leaves, nodes = np.zeros(3, LEAF), np.zeros(5, NODE)
    leaves[1]["begin"], leaves[1]["size"], leaves[1]["line"], leaves[1]["depth"] = 2, 4, 2, 3
    leaves[1]["lowest"], leaves[1]["highest"] = -np.inf, np.inf
    nodes[2]["parent"], nodes[2]["side"] = 1, 1
    state = np.array([3, 2, 6, 1, -1, -1, -1])
    pile = Pile(
        state, np.zeros(2, np.int64), leaves, np.zeros((3, 6)), np.zeros((3, 2, 1)), nodes,
        np.arange(10, dtype=np.uint32), np.zeros(6, np.uint32), np.zeros(6, np.uint32), np.zeros(2),
        np.zeros((1, 2), np.int64), np.zeros((1, 3)),
    )  # fmt: skip
    loop.settle_leaf(1, pile, sums, 0.25)
    h, g, w = sums[2:6].sum(axis=0)
    found = nodes[2]
    assert (found["parent"], found["side"], found["depth"], found["feature"]) == (1, 1, 3, -1)
    assert [found["h"], found["g"], found["w"], found["value"]] == pytest.approx([h, g, w, -g / (h + 0.25)])
    assert not loop.is_too_short(pile, 1)
    assert loop.is_too_short(pile._replace(rows=pile.rows[:9]), 1)
    for place, value in ((0, 4), (1, 3), (3, 0)):  # nodes, leaves, free slots
        other = state.copy()
        other[place] = value
        assert loop.is_too_short(pile._replace(state=other), 1)
