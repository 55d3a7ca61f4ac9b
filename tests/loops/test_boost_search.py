"""The search of boosting: histograms, and splits against all candidates of the slow twin."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from softwood.loops import boost_search as loop
from tests.reference.boosting import Column, Leaf, Rules, candidates

# ------------------------------------------------------------------ histograms


def random_rows(rng, n, p, n_bins):
    """Codes, the last bin for missing values; and hessian, gradient and weight of the rows."""
    codes = rng.integers(0, n_bins + 1, size=(n, p)).astype(np.uint8)
    return codes, np.column_stack([rng.random(n), rng.normal(size=n), rng.random(n) + 0.5])


def direct_sums(codes, rows, shares, sums, n_bins):
    """(p, n_bins + 1, 3)"""
    table = np.zeros((codes.shape[1], n_bins + 1, 3))
    for row, share in zip(rows, shares, strict=True):
        for j in range(codes.shape[1]):
            table[j, codes[row, j]] += share * sums[row]
    return table


@pytest.mark.tiny
@pytest.mark.parametrize("m", [0, 1, 40, loop.BLOCK + 3])
@pytest.mark.parametrize("is_soft", [False, True])
def test_histograms_are_sums_by_bin(m, is_soft):
    rng = np.random.default_rng(m)
    codes, sums = random_rows(rng, m + 5, 4, n_bins=6)
    pile = rng.permutation(m + 5).astype(np.uint32)
    shares = rng.random(m + 5) if is_soft else None
    features = np.array([3, 0, 2])
    table, block = np.ones((4, 7, 3)), np.empty((loop.BLOCK, 3))
    loop.add_histograms(codes, pile, 2, m, shares, sums, features, 1, 3, table, block)
    part = slice(2, m + 2)
    expected = direct_sums(codes, pile[part], shares[part] if is_soft else np.ones(m), sums, 6)
    np.testing.assert_allclose(table[[0, 2]], 1.0 + expected[[0, 2]], rtol=1e-12, atol=1e-12)
    assert np.all(table[[1, 3]] == 1.0), "features that are not asked for"


@pytest.mark.tiny
@pytest.mark.parametrize("is_soft", [False, True])
def test_the_rest_is_the_whole_less_the_part(is_soft):
    """And histograms of parts of the rows add up."""
    rng = np.random.default_rng(0)
    codes, sums = random_rows(rng, 50, 3, n_bins=5)
    pile, features = rng.permutation(50).astype(np.uint32), np.arange(3)
    shares = rng.random(50) if is_soft else None
    whole, part, rest = np.zeros((3, 3, 6, 3))
    block = np.empty((loop.BLOCK, 3))
    for table, begin, m in ((whole, 0, 50), (part, 0, 20), (rest, 20, 30)):
        loop.add_histograms(codes, pile, begin, m, shares, sums, features, 0, 3, table, block)
    np.testing.assert_allclose(part + rest, whole, rtol=1e-12, atol=1e-12)
    loop.subtract_histogram(whole, part, 1)
    np.testing.assert_allclose(whole[1], rest[1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(whole[[0, 2]], (part + rest)[[0, 2]], rtol=1e-12, atol=1e-12)


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
        offsets = np.array([2, 2 + n_bins])  # the bins of this feature are not the first ones
        values, lows, highs = (np.concatenate([[99.0, 99.0], a]) for a in (self.values, self.lows, self.highs))
        out = np.full((3, 6), np.nan)
        interval = np.array([[self.lo], [self.hi]])
        rules = self.rules
        loop.search_feature(
            self.sums[None].copy(), 0, values, lows, highs, offsets, np.array([self.width]), interval, self.total,
            rules.min_mass, rules.min_hessian, rules.l2, *self.ends, rules.direction(0), np.empty((n_bins + 1, 4)),
            np.empty(3), out, 1,
        )  # fmt: skip
        assert np.isnan(out[[0, 2]]).all()
        return out[1]


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
    # later values a little above the range are values, too
    wide = Node(np.array([1.0, 3.0]), np.array([1.0, 3.0]), np.array([1.0, 3.0]), np.ones((3, 3)), 0.0, -np.inf, np.inf,
                (-np.inf, np.inf), Rules())  # fmt: skip
    wide.sums[2, 1] = -5.0
    assert wide.search()[1] == 5.0
    huge = replace(wide, values=wide.values * 4e307, lows=wide.lows * 4e307, highs=wide.highs * 4e307)
    assert np.isfinite(huge.search()[1])
    assert replace(wide, hi=3.5).search()[1] == 3.5


@pytest.mark.tiny
def test_the_first_of_equal_features_is_chosen():
    leaves, splits = np.zeros((2, 12)), np.zeros((2, 6))
    leaves[1, [loop.SUM_H, loop.SUM_G, loop.LOWEST, loop.HIGHEST]] = 2.0, 2.0, -np.inf, np.inf  # score 2
    found = np.arange(24.0).reshape(4, 6)
    features = np.array([1, 4, 6, 7])
    for scores, min_gain, feature in (
        ([2.5, 3.0, 3.0 + 1e-13, 2.9], 0.0, 4),
        ([2.5, 3.0, 3.1, 2.9], 0.0, 6),
        ([2.0, 1.0, -np.inf, 2.0 + 1e-13], 0.0, -1),
        ([2.5, 3.0, 3.1, 2.9], 1.2, -1),
    ):
        found[:, loop.GAIN] = scores
        loop.choose_split(leaves, 1, found, features, 0.0, min_gain, splits)
        assert leaves[1, loop.BEST_FEATURE] == feature
        if feature >= 0:
            assert leaves[1, loop.BEST_GAIN] == pytest.approx(max(scores) - 2.0)
            np.testing.assert_array_equal(splits[1], found[features == feature][0])
        assert not splits[0].any()
