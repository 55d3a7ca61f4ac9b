"""The best threshold of boosting on a column: splits against all candidates of the slow twin."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from softwood.compiled import boosting as loop
from softwood.kernel.growing.loops.groups import Bins
from softwood.kernel.growing.loops.scan import LARGEST
from softwood.kernel.rounds.loops.boost_scores import GAIN, LINE_W, MISSING_LEFT, PLACE, RATE, SCORE, SLOPE
from softwood.kernel.rounds.loops.boost_scores import Rules as LoopRules
from softwood.kernel.rounds.newton import Boxes
from tests.reference.boosting import LEAF_LIMITS, Column, Leaf, Rules, candidates


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
        ends = draw(st.sampled_from(LEAF_LIMITS))
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
