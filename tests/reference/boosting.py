"""A tree of boosting by definition: every threshold of every feature is tried, and the best leaf is split next."""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from softwood.kernel.data.binning import bin_features
from softwood.kernel.rounds.loops.boost import NODE
from tests.reference.kernels import left_share

# Lowest and highest value of a leaf, as monotonic constraints give them.
LEAF_LIMITS = [(-np.inf, np.inf), (-np.inf, 0.3), (-0.5, np.inf), (-0.2, 0.4), (0.1, 0.1)]


@dataclass
class Rules:
    """When to stop, and how to regularise; names as in `grow_boosted`."""

    max_leaves: float = np.inf
    max_depth: float = np.inf
    min_mass: float = 1.0
    min_hessian: float = 1e-3
    min_gain: float = 0.0
    l2: float = 0.0
    cutoff: float = 0.0
    directions: np.ndarray | None = None
    best_first: bool = True

    def direction(self, j):
        return 0 if self.directions is None else int(self.directions[j])


@dataclass
class Column:
    """The rows along one feature.

    Attributes
    ----------
    x, lows, highs : (n,) mean, smallest and largest value of each row's bin, nan where missing
    width : half-width of the boxes, one for all rows or (n,)
    """

    x: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    width: float | np.ndarray

    @property
    def known(self):
        return ~np.isnan(self.x)

    def thresholds(self, here, lo, hi):
        """Thresholds to try for the rows `here` of a node, rising."""
        x, width = self.x[here & self.known], self.width_of(here & self.known)
        if np.all(self.width_of(self.known) == 0):
            pairs = pairwise(np.unique(x))
            return [middle(self.highs[self.x == a][0], self.lows[self.x == b][0]) for a, b in pairs]
        starts, stops = np.maximum(x - width, lo), np.minimum(x + width, hi)
        out = []
        for t in np.unique([*starts, *stops]):
            if starts.min() < t < stops.max():  # some on both sides
                is_gap = not np.any((starts <= t) & (t < stops))
                later = starts[starts > t]
                out.append(middle(t, later.min()) if is_gap and len(later) else t)
        return out

    def width_of(self, rows):
        """Half-widths of the rows of a mask."""
        return np.broadcast_to(self.width, self.x.shape)[rows]

    def above(self, hi):
        """A threshold with all values on its left: one range above the largest, or the end of the interval."""
        least, most = np.nanmin(self.lows), np.nanmax(self.highs)
        return min(most + (most - least) + np.max(self.width_of(self.known), initial=0.0), hi)

    def shares(self, t, lo, hi, missing_left):
        """Share of each row that goes left at each `t`, (..., n)."""
        out = np.full((*np.shape(t), len(self.x)), float(missing_left))
        # what is not in the node at all has no share of it: 0 / 0
        with np.errstate(divide="ignore", invalid="ignore"):
            part = left_share(np.asarray(t)[..., None], self.x[self.known], self.width_of(self.known), lo, hi)
        out[..., self.known] = np.nan_to_num(part)
        return out


def middle(low, high):
    """Middle of a gap, never its right end."""
    m = low + 0.5 * (high - low)
    return low if m >= high else m


@dataclass
class Split:
    gain: float
    feature: int
    threshold: float
    missing_left: float


@dataclass
class Leaf:
    """A leaf with the part of each row that is in it."""

    line: int
    depth: int
    shares: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    lowest: float = -np.inf
    highest: float = np.inf
    split: Split | None = None
    totals: np.ndarray = field(default_factory=lambda: np.zeros(3))

    def value(self, sums, l2):
        """Newton step from hessian and gradient, within the limits."""
        return min(max(-sums[1] / (sums[0] + l2), self.lowest), self.highest)

    def score(self, sums, l2):
        """Twice the decrease of ``G v + (H + l2) v² / 2`` by the value `v` from 0."""
        v = self.value(sums, l2)
        return -2.0 * (sums[1] * v + 0.5 * (sums[0] + l2) * v**2)


def columns_of(bins, widths, reach=None):
    """The features of a binned matrix; `reach` is the half-width of each bin if those of a feature differ."""
    out = []
    for j, width in enumerate(widths):
        places = np.full((3, len(bins.codes)), np.nan)
        known = bins.codes[:, j] < bins.offsets[j + 1] - bins.offsets[j]
        at = bins.offsets[j] + bins.codes[known, j].astype(int)
        places[:, known] = bins.values[at], bins.lows[at], bins.highs[at]
        own = np.zeros(len(bins.codes))
        own[known] = width if reach is None else reach[at]
        out.append(Column(*places, own))
    return out


def candidates(leaf, column, j, sums, rules):
    """Threshold, side of missing values and gain of every admissible split of a leaf on one feature."""
    here = leaf.shares > 0
    is_missing = here & ~column.known
    lo, hi = leaf.lo[j], leaf.hi[j]
    if not np.any(here & column.known):
        return
    thresholds = column.thresholds(here, lo, hi)
    sides = [(thresholds, 0.0), (thresholds, 1.0), ([column.above(hi)], 0.0)] if is_missing.any() else [(thresholds, 0)]
    total = leaf.shares @ sums
    base = leaf.score(total, rules.l2)
    tried = [(t, side, part) for ts, side in sides for t, part in zip(ts, column.shares(ts, lo, hi, side), strict=True)]
    for t, side, part in tried:
        left = (leaf.shares * part) @ sums
        right = total - left
        if min(left[2], right[2]) < rules.min_mass * (1 - 1e-9) or min(left[0], right[0]) < rules.min_hessian:
            continue
        if rules.direction(j) * (leaf.value(right, rules.l2) - leaf.value(left, rules.l2)) < 0:
            continue
        missing_left = side if is_missing.any() else float(2 * left[2] >= total[2])
        yield Split(leaf.score(left, rules.l2) + leaf.score(right, rules.l2) - base, j, t, missing_left)


def best_split(leaf, columns, features, sums, rules):
    """The split with the largest gain, the first of equals; None if none gains anything."""
    best, base = None, leaf.score(leaf.shares @ sums, rules.l2)
    for j in features:
        for split in candidates(leaf, columns[j], j, sums, rules):
            is_gain = split.gain > rules.min_gain + 1e-12 * abs(base)
            tie = 1e-12 * abs(base + split.gain)
            if is_gain and (best is None or split.gain > best.gain + tie):
                best = split
    return best


def grow(bins, sums, widths, rules, rows=None, features=None, reach=None):
    """Grow a tree.

    Parameters
    ----------
    bins : the binned matrix;  sums : (n, 3) hessian, gradient and weight of each row;  widths : (p,)
    reach : (total,) half-width of each bin, if those of a feature differ
    rows, features : rows and features to grow it from, all if None

    Returns
    -------
    nodes : (n_nodes,) of the type `boost.NODE`;  shares : (n_leaves, n) of each row in each leaf
    """
    n, p = bins.codes.shape
    columns = columns_of(bins, widths, reach)
    features = range(p) if features is None else features
    start = np.ones(n)
    if rows is not None:
        start = np.isin(np.arange(n), rows).astype(float)
    nodes = []

    def enter(leaf, parent, side):
        leaf.totals = leaf.shares @ sums
        line = parent, side, leaf.depth, -1, np.nan, np.nan, *leaf.totals, leaf.value(leaf.totals, rules.l2)
        nodes.append(dict(zip(NODE.names, line, strict=True)))

    def search(leaf):
        heavy = leaf.totals[2] >= 2 * rules.min_mass * (1 - 1e-9)
        if leaf.depth < rules.max_depth and heavy:
            leaf.split = best_split(leaf, columns, features, sums, rules)

    root = Leaf(0, 0, start, np.full(p, -np.inf), np.full(p, np.inf))
    enter(root, -1, 0)
    search(root)
    leaves = [root]
    while len(leaves) < rules.max_leaves:
        open_leaves = [k for k, leaf in enumerate(leaves) if leaf.split is not None]
        if not open_leaves:
            break
        k = max(open_leaves, key=lambda k: leaves[k].split.gain) if rules.best_first else open_leaves[-1]
        children = divide(leaves[k], columns, rules, len(nodes))
        if children is None:
            leaves[k].split = None
            continue
        split, line = leaves[k].split, leaves[k].line
        nodes[line] |= {"feature": split.feature, "threshold": split.threshold, "missing_left": split.missing_left}
        limit(*children, rules.direction(split.feature), sums, rules.l2)
        for side, child in enumerate(children):
            enter(child, line, side)
            search(child)
        leaves[k] = children[0]
        leaves.append(children[1])
    table = np.array([tuple(line.values()) for line in nodes], dtype=NODE)
    return table, np.array([leaf.shares for leaf in leaves])


def divide(leaf, columns, rules, line):
    """Both children; None if one of them has no rows, which the cut-off may do."""
    j, t = leaf.split.feature, leaf.split.threshold
    part = columns[j].shares(t, leaf.lo[j], leaf.hi[j], leaf.split.missing_left)
    left = leaf.shares * part
    right = leaf.shares - left
    to_right = left < rules.cutoff
    to_left = ~to_right & (right < rules.cutoff)
    left = np.where(to_right, 0.0, np.where(to_left, leaf.shares, left))
    right = leaf.shares - left
    if not left.any() or not right.any():
        return None
    below, above = leaf.hi.copy(), leaf.lo.copy()
    below[j] = above[j] = t
    limits = (leaf.lowest, leaf.highest)
    return (
        Leaf(line, leaf.depth + 1, left, leaf.lo, below, *limits),
        Leaf(line + 1, leaf.depth + 1, right, above, leaf.hi, *limits),
    )


def limit(left, right, direction, sums, l2):
    """Limits of the values on both sides of a split on a constrained feature: the middle between their values."""
    middle_value = 0.5 * sum(leaf.value(leaf.shares @ sums, l2) for leaf in (left, right))
    if direction > 0:
        left.highest = right.lowest = middle_value
    elif direction < 0:
        left.lowest = right.highest = middle_value


def random_problem(seed, *, n=45, p=3, missing=0.0, max_bins=255, weighted=True):
    """A binned matrix, and hessian, gradient and weight of its rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[rng.random((n, p)) < missing] = np.nan
    bins = bin_features(X, None, max_bins)
    gradient = 0.5 * np.nan_to_num(X[:, 0]) - (np.nan_to_num(X[:, 1]) > 0.3) + 0.5 * rng.normal(size=n)
    weight = rng.uniform(0.5, 2.0, size=n) if weighted else np.ones(n)
    return bins, np.column_stack([weight * rng.uniform(0.2, 1.0, size=n), weight * gradient, weight])


def direct_sums(codes, rows, shares, sums, n_bins):
    """(p, n_bins + 1, 4), the last column 0"""
    table = np.zeros((codes.shape[1], n_bins + 1, 4))
    for row, share in zip(rows, shares, strict=True):
        for j in range(codes.shape[1]):
            table[j, codes[row, j], :3] += share * sums[row]
    return table


def vector_values(shares, gradient, hessian, l2):
    """Second-order steps of every raw score in every leaf, (n_leaves, n_scores); shares : (n_leaves, n)"""
    return np.array([-(part @ gradient) / (part @ hessian + l2) for part in shares])


def along(gradient, hessian, direction):
    """Second and first derivative of each row along a direction, from those by all scores."""
    return np.column_stack([hessian @ direction**2, gradient @ direction])
