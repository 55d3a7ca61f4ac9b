"""Growing the trees of boosting: its parts by definition, and whole trees against the slow twin."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.density.binning import bin_features
from softwood.loops import boost as loop
from softwood.loops.grow import BLOCK
from tests.reference.boosting import Column, Rules, grow

NO_LIMIT = np.iinfo(np.int64).max

# ------------------------------------------------------------------ sums of a leaf


@pytest.mark.tiny
@pytest.mark.parametrize("is_soft", [False, True])
def test_sums_of_a_leaf(is_soft):
    rng = np.random.default_rng(0)
    sums = rng.normal(size=(20, 3))
    pile, shares = rng.permutation(20).astype(np.uint32), rng.random(20) if is_soft else None
    leaves = np.zeros((2, 12))
    leaves[1, [loop.BEGIN, loop.SIZE]] = 3, 11
    loop.set_sums(leaves, 1, pile, shares, sums)
    expected = (shares[3:14] if is_soft else np.ones(11)) @ sums[pile[3:14]]
    np.testing.assert_allclose(leaves[1, loop.SUM_H : loop.SUM_W + 1], expected)
    assert not leaves[0].any()


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
    pile, shares = np.full(3 * m + 9, 77, dtype=np.uint32), np.full(3 * m + 9, 7.0)
    pile[begin : begin + m] = rng.permutation(m)
    shares[begin : begin + m] = rng.uniform(max(cutoff, 0.01), 1.0, size=m)
    before = dict(zip(pile[begin : begin + m], shares[begin : begin + m], strict=True))
    left_rows, left_shares = np.zeros(m, dtype=np.uint32), np.zeros(m)
    n_left, n_right = loop.divide_rows(
        codes, pile, shares if is_soft else None, begin, m, 1, threshold, missing_left, values, 1, n_bins, width, lo,
        hi, cutoff, left_rows, left_shares if is_soft else None,
    )  # fmt: skip
    column = Column(*[np.append(values[1:], np.nan)[codes[:, 1]]] * 3, width)
    part = column.shares(threshold, lo, hi, missing_left)
    end = begin + m + 1
    loop.place_smaller(
        pile, shares if is_soft else None, begin, end, n_left, n_right, left_rows, left_shares if is_soft else None
    )
    places = (end, begin) if n_left <= n_right else (begin, end)
    sides = []
    for place, size in zip(places, (n_left, n_right), strict=True):
        rows = pile[place : place + size]
        assert len(set(rows)) == size, "each row once"
        sides.append(dict(zip(rows, shares[place : place + size] if is_soft else np.ones(size), strict=True)))
    left, right = sides
    assert set(left) | set(right) == set(before)
    for row, share in before.items():
        share = share if is_soft else 1.0
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
    untouched = [k for k in range(len(pile)) if k not in used]
    assert np.all(pile[untouched] == 77)
    assert np.all(shares[untouched] == 7.0)


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
            part = slice(int(leaf[loop.BEGIN]), int(leaf[loop.BEGIN] + leaf[loop.SIZE]))
            np.add.at(out[k], self.rows[part], 1.0 if self.shares is None else self.shares[part])
        return out


def longer(array):
    return np.concatenate([array, np.full_like(array, 7)])


def grow_fast(bins, sums, widths, rules, rows=None, features=None, room=64):
    """Grow by the loop; what is too short is made longer until the tree is finished."""
    n, p = bins.codes.shape
    m = n if rows is None else len(rows)
    features = np.arange(p) if features is None else features
    is_soft = bool(np.any(widths > 0))
    most = bins.most
    leaves, splits, bounds = np.full((room, 12), 7.0), np.full((room, 6), 7.0), np.full((room, 2, p), 7.0)
    nodes, tables = np.full((room, loop.NODE_COLUMNS), 7.0), np.full((room, p, most + 1, 3), 7.0)
    pile, shares = np.zeros(m + room, dtype=np.uint32), np.ones(m + room) if is_soft else None
    pile[:m] = np.arange(n) if rows is None else rows
    left_rows, left_shares = np.zeros(m, dtype=np.uint32), np.zeros(m) if is_soft else None
    leaves[0] = [0, m, 0, 0, 0, 0, 0, -np.inf, np.inf, 0, -np.inf, -1]
    bounds[0] = [[-np.inf], [np.inf]]
    free = np.arange(room)
    state = np.array([1, 1, m, 0, room])
    scratch = np.zeros((2, p, 6)), np.zeros((1, BLOCK, 3)), np.zeros((1, most + 1, 4)), np.zeros((1, 2, 3))
    n_calls = 0
    while True:
        n_calls += 1
        loop.grow_boosted(
            bins.codes, sums, bins.values, bins.lows, bins.highs, bins.offsets, widths, features, rules.directions,
            None, min(rules.max_leaves, NO_LIMIT), min(rules.max_depth, NO_LIMIT), rules.min_mass, rules.min_hessian,
            rules.min_gain, rules.l2, rules.cutoff, rules.best_first, state, free, leaves, splits, bounds, nodes,
            tables, pile, shares, left_rows, left_shares, *scratch,
        )  # fmt: skip
        if state[1] >= rules.max_leaves or np.all(leaves[: state[1], loop.BEST_FEATURE] < 0):
            break
        leaves, splits, bounds, nodes, pile = map(longer, (leaves, splits, bounds, nodes, pile))
        shares = longer(shares) if is_soft else None
        more = np.arange(len(tables), 2 * len(tables))
        free = np.concatenate([free[: state[4]], more, np.full(len(tables) - state[4], -1)])
        state[4] += len(more)
        tables = longer(tables)
    return Grown(nodes[: state[0]], leaves[: state[1]], pile, shares, n_calls)


def random_problem(seed, *, n=45, p=3, missing=0.0, max_bins=255, weighted=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[rng.random((n, p)) < missing] = np.nan
    bins = bin_features(X, None, max_bins)
    gradient = 0.5 * np.nan_to_num(X[:, 0]) - (np.nan_to_num(X[:, 1]) > 0.3) + 0.5 * rng.normal(size=n)
    weight = rng.uniform(0.5, 2.0, size=n) if weighted else np.ones(n)
    return bins, np.column_stack([weight * rng.uniform(0.2, 1.0, size=n), weight * gradient, weight])


def assert_same_tree(found, nodes, shares):
    assert len(found.nodes) == len(nodes)
    structure = [loop.NODE_PARENT, loop.NODE_SIDE, loop.NODE_DEPTH, loop.NODE_FEATURE, loop.NODE_MISSING]
    np.testing.assert_array_equal(found.nodes[:, structure], nodes[:, structure])
    np.testing.assert_allclose(found.nodes, nodes, rtol=1e-9, atol=1e-11)
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
    assert set(found.nodes[:, loop.NODE_FEATURE]) <= {-1, 0, 2}
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
    np.testing.assert_array_equal(in_parts.nodes, at_once.nodes)
    np.testing.assert_array_equal(in_parts.memberships(45), at_once.memberships(45))


@pytest.mark.tiny
@pytest.mark.parametrize("widths", WIDTHS, ids=["crisp", "boxes", "mixed"])
def test_columns_without_values_or_without_difference(widths):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(30, np.nan), np.full(30, 2.0), rng.normal(size=30)])
    bins, sums = bin_features(X, None, 255), random_problem(0, n=30)[1]
    rules = Rules(max_leaves=5, min_mass=2.0)
    found = grow_fast(bins, sums, widths, rules)
    assert_same_tree(found, *grow(bins, sums, widths, rules))
    assert set(found.nodes[:, loop.NODE_FEATURE]) <= {-1, 1, 2}  # a box of equal values can be cut, to no gain


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
    same = [loop.NODE_FEATURE, loop.NODE_THRESHOLD, loop.NODE_VALUE]
    np.testing.assert_allclose(tenth.nodes[:, same], whole.nodes[:, same], rtol=1e-9)


@pytest.mark.tiny
@pytest.mark.parametrize("widths", WIDTHS, ids=["crisp", "boxes", "mixed"])
def test_leaf_values_are_added_by_membership(widths):
    bins, sums = random_problem(2, missing=0.1)
    found = grow_fast(bins, sums, widths, Rules(max_leaves=6, min_mass=3.0))
    raw = np.ones((45, 2))
    loop.add_leaf_values(found.leaves, len(found.leaves), found.rows, found.shares, found.nodes, raw, 1)
    values = found.nodes[found.leaves[:, loop.LINE].astype(int), loop.NODE_VALUE]
    np.testing.assert_allclose(raw[:, 1], 1.0 + values @ found.memberships(45), rtol=1e-12)
    assert np.all(raw[:, 0] == 1.0)
