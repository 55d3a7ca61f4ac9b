"""The search of boosting: splits against all candidates of the slow twin."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from softwood.compiled import boosting as loop
from softwood.kernel.growing.loops.groups import Bins
from softwood.kernel.growing.loops.scan import LARGEST
from softwood.kernel.rounds.loops.boost import NODE, Pile
from softwood.kernel.rounds.loops.boost_histograms import BLOCK
from softwood.kernel.rounds.loops.boost_scores import GAIN, LINE_W, MISSING_LEFT, PLACE, RATE, SCORE, SLOPE
from softwood.kernel.rounds.loops.boost_scores import Rules as LoopRules
from softwood.kernel.rounds.loops.boost_search import BLOCK_ROWS, LEAF, MOST_BLOCKS, SEARCHED, SIBLING, SearchSpace
from softwood.kernel.rounds.newton import Boxes
from tests.reference.boosting import Column, Leaf, Rules, candidates, columns_of, direct_sums, random_problem

# ------------------------------------------------------------------ leaf values and scores

limits = st.sampled_from([(-np.inf, np.inf), (-np.inf, 0.3), (-0.5, np.inf), (-0.2, 0.4), (0.1, 0.1)])


@pytest.mark.tiny
@given(st.floats(-3, 3), st.floats(0.01, 5), st.sampled_from([0.0, 0.5, 10.0]), limits)
def test_a_leaf_has_the_best_value_within_its_limits(g, h, l2, ends):
    value, score = loop.leaf_value(g, h, l2, *ends), loop.score(g, h, l2, *ends)
    assert ends[0] <= value <= ends[1]

    def decrease(v):
        return -2.0 * (g * v + 0.5 * (h + l2) * v**2)

    assert score == pytest.approx(decrease(value), abs=1e-12)
    tried = np.clip(np.linspace(-5, 5, 101), *ends)
    assert score >= decrease(tried).max() - 1e-9
    if ends == (-np.inf, np.inf):
        assert score == pytest.approx(g**2 / (h + l2))


@pytest.mark.tiny
@given(
    st.tuples(st.floats(0.01, 5), st.floats(-3, 3)),
    st.tuples(st.floats(0.01, 5), st.floats(-3, 3)),
    st.sampled_from([0.0, 0.5]),
    limits,
    st.sampled_from([-1, 0, 1]),
)
def test_the_score_of_a_split_is_that_of_both_sides(left, right, l2, ends, direction):
    leaf = Leaf(0, 0, np.zeros(0), np.zeros(0), np.zeros(0), *ends)
    h, g = np.add(left, right)
    found = loop.split_score(*left, h, g, l2, (*ends, direction))
    rise = leaf.value(right, l2) - leaf.value(left, l2)
    if direction * rise < -1e-9:
        assert found == -np.inf
    elif direction == 0 or abs(rise) > 1e-9:
        assert found == pytest.approx(leaf.score(left, l2) + leaf.score(right, l2), rel=1e-9, abs=1e-9)


# ------------------------------------------------------------------ best split of a feature


@dataclass
class Node:
    """The bins of a node along one feature, the last row for missing values; empty ones have weight 0."""

    values: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    sums: np.ndarray
    width: float
    lo: float
    hi: float
    ends: tuple
    rules: Rules

    @property
    def total(self):
        return self.sums.sum(axis=0)

    @property
    def scale(self):
        """Size of scores, for tolerances."""
        return np.abs(self.sums).sum() + (self.sums[:, 1] ** 2 / np.maximum(self.sums[:, 0], 1e-3)).sum()

    @property
    def loop_rules(self):
        rules = self.rules
        return LoopRules(9, 9, rules.min_mass, rules.min_hessian, rules.min_gain, rules.l2, rules.cutoff, True)

    @property
    def loop_limits(self):
        return (*self.ends, self.rules.direction(0))

    def leaf(self):
        lo, hi = np.array([self.lo]), np.array([self.hi])
        return Leaf(0, 0, (self.sums[:, 2] > 0).astype(float), lo, hi, *self.ends)

    def column(self):
        return Column(*(np.append(a, np.nan) for a in (self.values, self.lows, self.highs)), self.width)

    def score(self, threshold, missing_left):
        """Score and left sums of a split; the score is nan if a side has next to nothing."""
        leaf, l2 = self.leaf(), self.rules.l2
        left = (leaf.shares * self.column().shares(threshold, self.lo, self.hi, missing_left)) @ self.sums
        right = self.total - left
        if min(left[2], right[2]) < 1e-12:
            return np.nan, left
        return leaf.score(left, l2) + leaf.score(right, l2), left

    def best(self):
        """Largest score of all candidates; -inf if there is none."""
        base = self.leaf().score(self.total, self.rules.l2)
        tried = candidates(self.leaf(), self.column(), 0, self.sums, self.rules)
        return max((split.gain + base for split in tried), default=-np.inf)

    def search(self):
        """What the loop finds: score, threshold, left sums and side of missing values."""
        n_bins = len(self.values)
        # the bins of this feature are not the first ones
        places = [np.concatenate([[99.0, 99.0], a]) for a in (self.values, self.lows, self.highs)]
        bins = Bins(np.empty((0, 1), np.uint8), *places, np.array([2, 2 + n_bins]), np.arange(1))
        out, edges = np.full((3, 6), np.nan), Boxes.of(bins, np.array([self.width])).edges
        loop.search_feature(
            with_zeros(self.sums[None]), 0, bins, edges, (self.lo, self.hi), tuple(self.total), self.loop_rules,
            self.loop_limits, scratch(n_bins), out, 1,
        )  # fmt: skip
        assert np.isnan(out[[0, 2]]).all()
        return out[1]


def with_zeros(sums):
    """The table with its fourth column."""
    return np.concatenate([sums, np.zeros((*sums.shape[:-1], 1))], axis=-1)


def scratch(n_bins):
    return np.full((7, 2 * n_bins), np.nan)


@st.composite
def nodes(draw, widths, *, free=False):
    """A node of few bins; with `free`, without limits of any kind."""
    place = st.integers(-16, 16).map(lambda k: k / 8) | st.floats(-2, 2).map(lambda x: round(x, 4))
    values = np.array(sorted(draw(st.lists(place, min_size=1, max_size=8, unique=True))))
    spread = 0.2 * np.min(np.diff(values), initial=0.5)
    width = draw(widths)
    lo, hi = sorted(
        [draw(st.sampled_from([-np.inf, np.inf]) | place), draw(st.sampled_from([-np.inf, np.inf]) | place)]
    )
    if lo == hi:
        lo, hi = -np.inf, np.inf
    lows, highs = values - spread, values + spread
    if width > 0:
        inside = np.minimum(values + width, hi) - np.maximum(values - width, lo) > 1e-3 * width
    else:
        inside = (lows > lo) & (highs <= hi)
    number = st.integers(-8, 8).map(lambda k: k / 4) | st.floats(-2, 2).map(lambda x: round(x, 3))
    positive = st.sampled_from([1.0, 1.0, 2.0, 0.5]) | st.floats(0.01, 3).map(lambda x: round(x, 3))
    inside &= np.array([draw(st.integers(0, 5)) > 0 for _ in values])  # some bins are empty here
    sums = np.array([[draw(positive), draw(number), draw(positive)] for _ in range(len(values) + 1)])
    sums[:-1][~inside] = 0.0
    if draw(st.booleans()):
        sums[-1] = 0.0
    assume(sums[:, 2].sum() > 0)
    rules = Rules(min_mass=1e-9, min_hessian=1e-9, l2=draw(st.sampled_from([0.0, 0.5])))
    ends = (-np.inf, np.inf)
    if not free:
        part = draw(st.sampled_from([1e-6, 0.05, 0.2, 0.4, 0.5]))
        rules.min_mass = draw(st.sampled_from([1.0, 0.5])) if draw(st.booleans()) else part * sums[:, 2].sum()
        rules.min_hessian = draw(st.sampled_from([1e-3, 0.5]))
        rules.directions = np.array([draw(st.sampled_from([0, 0, 1, -1]))])
        ends = draw(limits)
    return Node(values, lows, highs, sums, width, lo, hi, ends, rules)


def check(node):
    score, threshold, *left, missing_left = node.search()
    best = node.best()
    # sums at the limits of what is admissible may fall on either side of them
    strict = replace(node.rules, min_mass=node.rules.min_mass * 1.000001, min_hessian=node.rules.min_hessian * 1.000001)
    sure = replace(node, rules=strict).best() if node.rules.direction(0) == 0 else -np.inf
    assert score >= (best if np.isclose(best, sure) else sure) - 1e-8 * node.scale
    if node.rules.direction(0) == 0:
        assert score <= best + 1e-8 * node.scale
    if not np.isfinite(score):
        return
    expected, sums = node.score(threshold, missing_left)
    assert score == pytest.approx(expected, abs=1e-8 * node.scale)
    assert left == pytest.approx(sums, abs=1e-9 * node.scale)
    right = node.total - left
    assert min(left[2], right[2]) >= node.rules.min_mass * (1 - 1e-6)
    assert min(left[0], right[0]) >= node.rules.min_hessian * (1 - 1e-6)
    values = [node.leaf().value(side, node.rules.l2) for side in (sums, node.total - sums)]
    assert node.rules.direction(0) * (values[1] - values[0]) >= -1e-9
    if node.sums[-1, 2] == 0:
        assert missing_left == (2 * left[2] >= node.total[2])
    assert missing_left in (0.0, 1.0)
    assert node.lo < threshold <= node.hi
    assert np.isfinite(threshold)


def best_of(node, thresholds, side):
    """Largest score of the admissible splits at these thresholds, missing values left or right; -inf if there is none.

    Twice: by the node's rules, and by rules that are a little stricter, for sums may fall on either side of a limit.
    """
    out = []
    for slack in (1 - 1e-6, 1 + 1e-6):
        best = -np.inf
        for t in thresholds:
            score, left = node.score(t, side)
            right = node.total - left
            values = [node.leaf().value(sums, node.rules.l2) for sums in (left, right)]
            turns = node.rules.direction(0) * (values[1] - values[0]) < (1e-9 if slack > 1 else -1e-9)
            is_enough = min(left[2], right[2]) >= node.rules.min_mass * slack
            is_enough &= min(left[0], right[0]) >= node.rules.min_hessian * slack
            if is_enough and not (turns and node.rules.direction(0)):
                best = np.nanmax([best, score])
        out.append(best)
    return out


def check_scan(node, scan, thresholds, side):
    """A scan writes the best of these thresholds to its line if it is better than what is there, and nothing else.

    Parameters
    ----------
    scan : called with sums to begin with, those of the node, and the table to write to
    """
    most, least = best_of(node, thresholds, side)
    begin, total = tuple(node.sums[-1] if side else np.zeros(3)), tuple(node.total)
    tolerance = 1e-8 * node.scale
    out = np.full((3, 6), np.nan)
    out[1, GAIN] = -np.inf
    scan(begin, total, out)
    assert np.isnan(out[[0, 2]]).all()
    assert np.isnan(out[1, MISSING_LEFT])
    score, threshold, *left, _ = out[1]
    assert least - tolerance <= score <= most + tolerance
    if np.isfinite(score):
        assert np.abs(np.array(thresholds) - threshold).min() <= 1e-12, "one of them, in the middle of its gap"
        expected, sums = node.score(threshold, side)
        assert score == pytest.approx(expected, abs=tolerance)
        assert left == pytest.approx(sums, abs=1e-9 * node.scale)
    for before, is_written in ((score + 1.0, False), (score - 1.0, np.isfinite(score))):
        again = out.copy()
        again[1] = before
        scan(begin, total, again)
        np.testing.assert_array_equal(again[1, :MISSING_LEFT], out[1, :-1] if is_written else [before] * 5)


def second(values, lows=None, highs=None, n_first=2):
    """Bins of a second feature; the first one has two, or so many."""
    places = [np.concatenate([[99.0] * n_first, values if a is None else a]) for a in (values, lows, highs)]
    offsets = np.array([0, n_first, n_first + len(values)])
    return Bins(np.empty((0, 2), np.uint8), *places, offsets, np.arange(2))


def second_table(node):
    """The sums of the node, of the second feature."""
    return with_zeros(np.stack([np.full_like(node.sums, np.nan), node.sums]))


def thresholds_of(node):
    leaf = node.leaf()
    return node.column().thresholds(leaf.shares > 0, node.lo, node.hi)


@pytest.mark.tiny
@pytest.mark.parametrize("ends", [(-np.inf, np.inf), (-0.2, 0.4)])
@pytest.mark.parametrize("direction", [0, 1])
def test_scores_of_candidates(ends, direction):
    rng = np.random.default_rng(0)
    lines = np.zeros((7, 12))
    lines[:2, 1:10] = np.sort(rng.random(9)), rng.normal(size=9)
    loop.score_candidates(lines, 1, 10, 1.5, 0.3, 0.1, (*ends, direction))
    expected = [loop.split_score(h, g, 1.5, 0.3, 0.1, (*ends, direction)) for h, g in lines[:2, 1:10].T]
    np.testing.assert_allclose(lines[SCORE, 1:10], expected, rtol=1e-12)
    assert not lines[SCORE, [0, 10, 11]].any()


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("gradients", "before", "expected"),
    [
        ([9.0, 9.0, 0.1, 2.0, 1.0, 2.0, 9.0, 9.0], -np.inf, 3),  # the first and the last two have too little on a side
        ([9.0, 9.0, 0.1, 2.0, 1.0, 2.0 + 1e-14, 9.0, 9.0], -np.inf, 3),  # no better than the first, but for rounding
        ([9.0, 9.0, 0.1, 2.0, 1.0, 2.1, 9.0, 9.0], -np.inf, 5),
        ([9.0, 9.0, 0.1, 2.0, 1.0, 2.1, 9.0, 9.0], 99.0, -1),
    ],
)
def test_the_first_of_the_best_candidates_is_taken(gradients, before, expected):
    lines, out = np.full((7, 10), np.nan), np.full((2, 6), 7.0)
    lines[:3, 1:9] = np.full(8, 2.0), gradients, [0.5, 0.9, 1.5, 2.0, 2.0, 3.0, 3.2, 4.0]
    rules = LoopRules(9, 9, 1.0, 0.1, 0.0, 0.0, 0.0, True)
    out[1, 0] = before
    found = loop.best_candidate(
        lines, 1, 9, (4.0, 0.0, 4.0), (0.0, 4.0), rules, (-np.inf, np.inf, 0), out, 1
    )  # fmt: skip
    assert found == (expected + 1 if expected >= 0 else -1)
    assert np.all(out[0] == 7.0)
    if expected >= 0:
        np.testing.assert_array_equal(out[1, 2:5], lines[:3, found])
        assert out[1, 0] == pytest.approx(gradients[expected] ** 2)


@pytest.mark.tiny
def test_the_threshold_is_in_the_middle_of_empty_bins():
    lows = np.array([0.0, 2.0, 4.0, 6.0])
    bins = second(lows, lows, lows + 1.0, n_first=1)
    table = np.zeros((2, 5, 4))
    for weights, c, expected in (([1, 1, 1, 1], 1, 3.5), ([1, 1, 0, 1], 1, 4.5), ([1, 0, 0, 1], 1, 3.5)):
        table[1, :4, 2] = weights
        assert loop.between_bins(table, 1, c, bins, 1e-9) == expected


@pytest.mark.tiny
def test_rates_of_boxes_that_are_cut():
    lines = np.full((7, 6), 7.0)
    bins = second(np.arange(5.0))
    loop.set_rates(bins, 1, (0.75, 2.5 + 1e-9), np.full(len(bins.values), 0.5), lines)
    # outside, cut at its lower end, whole, cut thin, outside
    assert lines[RATE].tolist() == pytest.approx([0.0, 1.0 / 0.75, 1.0, 0.0, 0.0, 7.0])


@pytest.mark.tiny
def test_a_threshold_in_a_gap_is_moved_to_its_middle():
    bins, table = second(np.array([0.0, 1.0, 4.0])), np.zeros((2, 4, 4))
    for weights, t, expected in (
        ([1, 1, 1], 0.75, 0.75),
        ([1, 1, 1], 1.5, 2.5),
        ([1, 0, 1], 0.75, 2.125),  # the box of an empty bin covers nothing
        ([1, 1, 0], 1.5, 1.5),  # nothing comes after it
    ):
        table[1, :3, 2] = weights
        assert loop.within_gap(t, table, 1, bins, np.full(len(bins.values), 0.5), 1e-9) == expected


@pytest.mark.tiny
@pytest.mark.parametrize("n", range(10))
def test_the_largest_of_some_scores(n):
    lines = np.full((7, n + 3), 99.0)
    scores = lines[SCORE, 2 : n + 2]
    scores[:] = np.random.default_rng(n).permutation(n)
    assert loop.largest_of(lines, 2, n + 2) == (n - 1 if n else -np.inf)
    if n > 1:
        scores[scores == n - 1] = np.nan
        assert loop.largest_of(lines, 2, n + 2) == n - 2


@pytest.mark.tiny
@given(st.lists(st.integers(0, 9), max_size=12), st.integers(-1, 10), st.integers(0, 3))
def test_the_first_place_that_is_not_below_a_number(given_places, x, beyond):
    places = np.full((2, len(given_places) + beyond), -99.0)
    places[1, : len(given_places)] = np.sort(given_places)
    expected = np.searchsorted(np.sort(given_places), x)
    assert loop.first_from(places, 1, len(given_places), x) == expected


@pytest.mark.tiny
def test_edges_of_bins_that_are_not_empty_are_listed():
    table = np.zeros((2, 5, 4))
    table[1, :, 2] = [1.0, 0.0, 2.0, 1e-12, 3.0]
    kinds = 4 * np.array([[0] * 8, [0, 1, 2, 0, 3, 1, 2, 3]], dtype=np.uint32) + np.uint32(1)
    lines = np.zeros((7, 8))
    n = loop.list_edges(table, 1, kinds, 1, 8, 1e-9, lines)
    np.testing.assert_array_equal(lines[SCORE, :n], [2, 3, 6])


@pytest.mark.tiny
@given(nodes(st.sampled_from([0.05, 0.25, 0.5, 3.0]), free=True))
def test_left_sums_at_the_edges_of_boxes(node):
    bins, n_bins = second(node.values), len(node.values)
    edges, lines = Boxes.of(bins, np.array([0.0, node.width])).edges, scratch(n_bins)
    lo, hi = max(node.lo, -LARGEST), min(node.hi, LARGEST)
    loop.set_rates(bins, 1, (lo, hi), edges.reach, lines)
    start = np.array([0.5, -0.25, 1.0])
    n = loop.left_sums(second_table(node), 1, edges, 0, 2 * n_bins, lo, 1e-9, tuple(start), lines)
    kinds, all_places = edges.kinds[1][: 2 * n_bins], edges.places[1][: 2 * n_bins]
    is_kept = node.sums[kinds >> 2, 2] > 1e-9  # edges of bins that are not empty
    np.testing.assert_array_equal(lines[PLACE, :n], np.maximum(all_places[is_kept], lo))
    column = Column(node.values, node.values, node.values, node.width)
    places, rates = lines[PLACE, :n], lines[RATE, :n_bins]
    for place, found in zip(places, lines.T, strict=False):
        if lo < place < hi:
            part = column.shares(place, node.lo, node.hi, 0.0)
            assert found[: LINE_W + 1] == pytest.approx(start + part @ node.sums[:-1], abs=1e-9 * node.scale)
            covers = (node.values - node.width <= place) & (place < node.values + node.width)
            slope = lines[SLOPE, np.flatnonzero(places == place)[-1]]  # after all edges at this place
            assert slope == pytest.approx((rates * covers) @ node.sums[:-1, 2], abs=1e-7 * node.scale / node.width)


@pytest.mark.tiny
@given(nodes(st.just(0.0)), st.sampled_from([0.0, 1.0]))
def test_the_scan_between_bins(node, side):
    bins = second(node.values, node.lows, node.highs)

    def scan(begin, total, out):
        rest = node.loop_rules, node.loop_limits, scratch(len(node.values))
        loop.scan_crisp(second_table(node), 1, bins, total, begin, *rest, out, 1)

    check_scan(node, scan, thresholds_of(node), side)


@pytest.mark.tiny
@given(nodes(st.sampled_from([0.05, 0.125, 0.25, 0.5, 3.0])), st.sampled_from([0.0, 1.0]))
def test_the_scan_of_boxes(node, side):
    bins = second(node.values)
    edges = Boxes.of(bins, np.array([0.0, node.width])).edges

    def scan(begin, total, out):
        interval = max(node.lo, -LARGEST), min(node.hi, LARGEST)
        rest = node.loop_rules, node.loop_limits, scratch(len(node.values))
        loop.scan_boxes(second_table(node), 1, bins, edges, interval, total, begin, *rest, out, 1)

    check_scan(node, scan, thresholds_of(node), side)


@pytest.mark.tiny
@given(nodes(st.just(0.0)))
def test_the_split_of_missing_values_from_all_others(node):
    above = node.column().above(node.hi)

    def scan(_, total, out):
        loop.scan_missing(
            second_table(node), 1, len(node.values), above, total, node.loop_rules, node.loop_limits, out, 1
        )  # fmt: skip

    has_both = node.sums[:-1, 2].any() and node.sums[-1, 2] > 0
    check_scan(node, scan, [above] if has_both else [], 0.0)


@pytest.mark.tiny
@given(nodes(st.just(0.0)))
def test_no_split_between_bins_is_better_than_the_one_found(node):
    check(node)


@pytest.mark.tiny
@given(nodes(st.sampled_from([0.05, 0.125, 0.25, 0.5, 3.0])))
def test_no_split_of_boxes_is_better_than_the_one_found(node):
    check(node)


@pytest.mark.tiny
@given(nodes(st.sampled_from([0.05, 0.125, 0.25, 0.5, 3.0]), free=True))
def test_no_threshold_between_breakpoints_is_better(node):
    """Theorem 1: sums are linear between breakpoints, and the score is convex in them. No split at all is one, too."""
    score = max(node.search()[0], node.leaf().score(node.total, node.rules.l2))
    low, high = max(node.lo, -6.0), min(node.hi, 6.0)
    tried = [node.score(t, side)[0] for t in np.linspace(low, high, 30)[1:-1] for side in (0.0, 1.0)]
    assert score >= np.nanmax([-np.inf, *tried]) - 1e-8 * node.scale


@pytest.mark.tiny
def test_missing_values_alone():
    """All values on one side: also where there is one value only, and whether or not it has a kernel."""
    sums = np.array([[4.0, -2.0, 4.0], [5.0, 3.0, 5.0]])
    for width in (0.0, 0.5):
        node = Node(
            np.array([1.0]), np.array([1.0]), np.array([1.0]), sums, width, -np.inf, np.inf, (-9.0, 9.0), Rules()
        )
        score, threshold, h, g, w, missing_left = node.search()
        assert score == pytest.approx(2.0**2 / 4 + 3.0**2 / 5)
        assert (h, g, w, missing_left) == (4.0, -2.0, 4.0, 0.0)
        assert threshold == 1.0 + width
        assert replace(node, rules=Rules(min_mass=4.5)).search()[0] == -np.inf
        assert replace(node, sums=sums[:, :] * [[0.0], [1.0]]).search()[0] == -np.inf, "no values at all"
        residue = replace(node, sums=sums * [[1e-12], [1.0]], rules=Rules(min_mass=0.0, min_hessian=0.0))
        assert residue.search()[0] == -np.inf, "what subtraction leaves behind is none"
    # later values a little above the range are values, too
    wide = Node(np.array([1.0, 3.0]), np.array([1.0, 3.0]), np.array([1.0, 3.0]), np.ones((3, 3)), 0.0, -np.inf, np.inf,
                (-np.inf, np.inf), Rules())  # fmt: skip
    wide.sums[2, 1] = -5.0
    assert wide.search()[1] == 5.0
    huge = replace(wide, values=wide.values * 4e307, lows=wide.lows * 4e307, highs=wide.highs * 4e307)
    assert np.isfinite(huge.search()[1])
    assert replace(wide, hi=3.5).search()[1] == 3.5


# ------------------------------------------------------------------ both children of a leaf


@dataclass
class Pair:
    """Two sibling leaves on one pile, as the loop takes them, and as the twin does."""

    bins: Bins
    widths: np.ndarray
    sums: np.ndarray
    pile: Pile
    leaves: list[Leaf]
    rules: Rules
    tables: np.ndarray

    def space(self, n_blocks):
        most, p = self.bins.most, len(self.widths)
        return SearchSpace(
            self.tables.copy(), np.full((2, p, 6), 7.0), np.zeros((n_blocks, BLOCK, 4)),
            np.empty((n_blocks, 7, 2 * most)),
        )  # fmt: skip

    def arguments(self, large, features, space):
        rules = LoopRules(9, 9, self.rules.min_mass, self.rules.min_hessian, 0.0, self.rules.l2, 0.0, True)
        self.pile.state[[SEARCHED, SIBLING]] = 1, large
        edges = Boxes.of(self.bins, self.widths).edges
        return self.bins, edges, self.sums, self.pile, features, self.rules.directions, rules, space

    def best(self, leaf, j):
        """Largest score of a leaf on a feature."""
        base = leaf.score(leaf.shares @ self.sums, self.rules.l2)
        tried = candidates(leaf, columns_of(self.bins, self.widths)[j], j, self.sums, self.rules)
        return max((split.gain + base for split in tried), default=-np.inf)


def sibling_leaves(seed, width, directions):
    """Leaf 1 has fewer rows, and a slot that is not its own yet; leaf 2 has its parent's table."""
    rng = np.random.default_rng(seed)
    bins, sums = random_problem(seed, n=40, p=4, missing=0.15)
    n, p = bins.codes.shape
    shares = rng.uniform(0.2, 1.0, size=n) if width else None
    rows = rng.permutation(n).astype(np.uint32)
    none = np.zeros(0, np.uint32)
    pile = Pile(
        np.zeros(7, np.int64), np.zeros(0, np.int64), np.zeros(3, LEAF), np.zeros((3, 6)),
        np.full((3, 2, p), np.nan), np.zeros(0, NODE), rows, none, none, np.zeros(0), np.zeros((0, 2), np.int64),
        np.zeros((0, 3)), shares,
    )  # fmt: skip
    leaves, columns = [], columns_of(bins, np.full(p, width))
    for number, begin, size, slot in ((1, 5, 14, 2), (2, 19, 21, 0)):
        whole = np.zeros(n)
        whole[rows[begin : begin + size]] = shares[begin : begin + size] if width else 1.0
        # ends within the outermost kernels
        ends = [[sign * np.nanmax(sign * column.x) for column in columns] for sign in (-1, 1)]
        pile.bounds[number] = np.add(ends, [[-0.05 * number], [0.1 * number]])
        leaf = Leaf(0, 0, whole, *pile.bounds[number], -0.8, 0.7)
        values = zip(("h", "g", "w"), whole @ sums, strict=True)
        own = {"begin": begin, "size": size, "slot": slot, "lowest": -0.8, "highest": 0.7, **dict(values)}
        for name, value in own.items():
            pile.leaves[name][number] = value
        leaves.append(leaf)
    tables = np.full((3, p, bins.most + 1, 4), 7.0)
    whole = leaves[0].shares + leaves[1].shares
    tables[0] = direct_sums(bins.codes, np.arange(n), whole, sums, bins.most)
    rules = Rules(min_mass=1.5, min_hessian=0.2, l2=0.3, directions=directions)
    return Pair(bins, np.full(p, width), sums, pile, leaves, rules, tables)


@pytest.mark.tiny
@pytest.mark.parametrize("width", [0.0, 0.3])
@pytest.mark.parametrize("directions", [None, np.array([1, -1, 0, 1])])
@pytest.mark.parametrize("n_parts", [1, 2, 3])
def test_both_leaves_of_a_split_are_searched(width, directions, n_parts):
    features = np.array([2, 0, 3])
    for seed in range(3):
        pair = sibling_leaves(seed, width, directions)
        space = pair.space(n_parts)
        for part in range(n_parts):
            loop.search_part((part, n_parts), *pair.arguments(2, features, space))
        for leaf, found, slot in zip(pair.leaves, space.found, (2, 0), strict=True):
            table = direct_sums(pair.bins.codes, np.arange(40), leaf.shares, pair.sums, pair.bins.most)
            for j in features:
                n_lines = pair.bins.offsets[j + 1] - pair.bins.offsets[j] + 1
                np.testing.assert_allclose(space.tables[slot, j, :n_lines], table[j, :n_lines], rtol=1e-9, atol=1e-12)
            assert found[: len(features), GAIN] == pytest.approx([pair.best(leaf, j) for j in features], rel=1e-9)
            assert np.all(found[len(features) :] == 7.0)
        assert np.all(space.tables[2, 1] == 7.0), "a feature that is not asked for"
        np.testing.assert_array_equal(space.tables[:2, 1], pair.tables[:2, 1])


@pytest.mark.tiny
@pytest.mark.parametrize("width", [0.0, 0.3])
def test_a_leaf_without_a_sibling_is_searched(width):
    features = np.array([2, 0, 3])
    pair = sibling_leaves(0, width, None)
    space = pair.space(1)
    loop.search_part((0, 1), *pair.arguments(-1, features, space))
    expected = [pair.best(pair.leaves[0], j) for j in features]
    assert space.found[0, :3, GAIN] == pytest.approx(expected, rel=1e-9)
    assert np.all(space.found[1] == 7.0)
    np.testing.assert_array_equal(space.tables[:2], pair.tables[:2])


@pytest.mark.tiny
@pytest.mark.parametrize("width", [0.0, 0.3])
def test_blocks_of_a_leaf_add_up_to_it(width):
    features = np.array([2, 0, 3])
    pair = sibling_leaves(0, width, None)
    bins, leaf = pair.bins, pair.leaves[0]
    space = pair.space(2)._replace(blocks=np.full((2, *pair.tables.shape[1:]), 7.0))
    pair.arguments(-1, features, space)  # names the leaf
    for b in range(3):
        loop.add_block((b, 3, b % 2), bins, pair.sums, pair.pile, features, space)
    table = direct_sums(bins.codes, np.arange(40), leaf.shares, pair.sums, bins.most)
    for j in features:
        n_lines = bins.offsets[j + 1] - bins.offsets[j] + 1
        parts = [space.tables[2, j, :n_lines], *space.blocks[:, j, :n_lines]]
        assert min(part[:, 2].sum() for part in parts) > 0
        np.testing.assert_allclose(np.sum(parts, axis=0), table[j, :n_lines], rtol=1e-9, atol=1e-12)
    for other in (space.tables[:, 1], space.blocks[:, 1]):
        assert np.all(other[-1] == 7.0), "a feature that is not asked for"


@pytest.mark.tiny
def test_only_large_leaves_have_blocks():
    for size, expected in ((0, 1), (1, 1), (2, 2), (2.9, 2), (7, 7), (100, MOST_BLOCKS)):
        assert loop.count_blocks(int(size * BLOCK_ROWS)) == expected


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("leaf", "depth", "mass", "expected"),
    [
        (1, 2, 4.0, True),
        (1, 3, 4.0, False),
        (1, 2, 3.999, False),
        (1, 2, 4.0 - 1e-10, True),  # ten times 0.1 is less than 1
        (-1, 2, 4.0, False),
    ],
)
def test_leaves_that_may_be_split(leaf, depth, mass, expected):
    leaves = np.zeros(2, LEAF)
    leaves["depth"][1], leaves["w"][1] = depth, mass
    assert loop.is_splittable(leaves, leaf, 3, 2.0) == expected


@pytest.mark.tiny
def test_the_first_of_equal_features_is_chosen():
    leaves, splits = np.zeros(2, LEAF), np.zeros((2, 6))
    for name, value in {"h": 2.0, "g": 2.0, "lowest": -np.inf, "highest": np.inf}.items():  # score 2
        leaves[name][1] = value
    found = np.arange(24.0).reshape(4, 6)
    features = np.array([1, 4, 6, 7])
    for scores, min_gain, feature in (
        ([2.5, 3.0, 3.0 + 1e-13, 2.9], 0.0, 4),
        ([2.5, 3.0, 3.1, 2.9], 0.0, 6),
        ([2.0, 1.0, -np.inf, 2.0 + 1e-13], 0.0, -1),
        ([2.5, 3.0, 3.1, 2.9], 1.2, -1),
    ):
        found[:, GAIN] = scores
        loop.choose_split(leaves, 1, found, features, 0.0, min_gain, splits)
        assert leaves["feature"][1] == feature
        if feature >= 0:
            assert leaves["gain"][1] == pytest.approx(max(scores) - 2.0)
            np.testing.assert_array_equal(splits[1], found[features == feature][0])
        assert not splits[0].any()
