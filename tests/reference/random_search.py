"""Extra trees by definition: one random threshold for each drawn feature, and the best of those splits."""

from dataclasses import dataclass

import numpy as np

from tests.reference.gains import merit
from tests.reference.kernels import left_share

PATIENCE = 10


def next_seed(seed, salt):
    """The generator splitmix64 with whole numbers of any size."""
    z = (seed + 0x9E3779B97F4A7C15 * (salt + 1)) % 2**64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    return z ^ (z >> 31)


def to_unit(seed):
    """The upper 53 bits as a fraction."""
    return (seed >> 11) / 2**53


def draw_features(priority, seed, n_draw):
    """The features as they are, or shuffled if fewer than all are wanted: each place is drawn from what is left."""
    rest, out = list(priority), []
    if n_draw >= len(rest):
        return rest
    for k in range(len(rest) - 1):
        seed = next_seed(seed, k)
        place = seed % len(rest)
        out.append(rest[place])
        rest[place] = rest[0]  # the first of the rest takes the place of the drawn one
        rest = rest[1:]
    return out + rest


def settle(threshold, means, lows, highs):
    """A crisp threshold moved out of the bin that it cuts, to the side on which it leaves the bin's mean."""
    below = [k for k in range(len(means)) if means[k] <= threshold]
    if not below or len(below) == len(means):
        return threshold
    last, following = below[-1], below[-1] + 1
    if threshold < highs[last]:
        return highs[last]
    if threshold >= lows[following]:
        middle = highs[last] + 0.5 * (lows[following] - highs[last])
        return middle if middle < lows[following] else highs[last]
    return threshold


@dataclass
class Column:
    """The points of a node along one feature.

    Attributes
    ----------
    x : (n,) means of their bins, nan where missing
    widths : (n,) half-widths;  shape : their kernel
    means, lows, highs : (n_bins,) the bins of the whole data
    lo, hi : the node's interval
    is_crisp : whether the feature has no kernel
    has_own_widths : whether the points differ in their widths
    """

    x: np.ndarray
    widths: np.ndarray
    shape: tuple
    means: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    lo: float
    hi: float
    is_crisp: bool
    has_own_widths: bool = False

    def support(self):
        """The ends of the outermost kernels, cut to the interval; None if there is nothing to divide.

        Points at one place with one kernel are all divided alike.
        """
        starts, stops = [], []
        for x, width in zip(self.x, self.widths, strict=True):
            if not np.isnan(x):
                starts.append(x + width * self.shape.edges[0])
                stops.append(x + width * self.shape.edges[-1])
        places = {x for x in self.x if not np.isnan(x)}
        if not places or (len(places) == 1 and not self.has_own_widths):
            return None
        start, stop = max(min(starts), self.lo), min(max(stops), self.hi)
        return (start, stop) if stop > start else None

    def draw(self, seed, n_features, number):
        """The random threshold; None if it is not inside of the interval, or there is nothing to divide."""
        ends = self.support()
        if ends is None:
            return None
        threshold = ends[0] + to_unit(next_seed(next_seed(seed, n_features), number)) * (ends[1] - ends[0])
        return settle(threshold, self.means, self.lows, self.highs) if self.is_crisp else threshold

    def shares(self, threshold, masses):
        """Share of each point on the left; missing values go as the mass of the others does."""
        shares, mass, known = [], 0.0, 0.0
        for x, width, m in zip(self.x, self.widths, masses, strict=True):
            share = np.nan if np.isnan(x) else left_share(threshold, x, width, self.lo, self.hi, self.shape)
            shares.append(share)
            if not np.isnan(x):
                mass, known = mass + m * share, known + m
        return np.array([mass / known if np.isnan(share) else share for share in shares])


def search(columns, masses, targets, order, n_draw, seed, min_mass, tie, base, criterion):
    """Feature (-1: none), threshold, left mass and merit of the best of the random splits.

    Parameters
    ----------
    columns : one `Column` for each feature
    masses, targets : (n,) and (n, q)
    order : features in the order in which they are tried; `n_draw` of them, and more if none of those can be split
    """
    total, sums = masses.sum(), masses @ targets
    found, best, n_tried = (-1, np.nan, 0.0), -np.inf, 0
    for place, j in enumerate(order):
        if place >= n_draw and (found[0] >= 0 or (n_tried > 0 and total < PATIENCE * min_mass)):
            break
        column = columns[j]
        threshold = column.draw(seed, len(columns), int(j))
        if threshold is None:
            continue
        n_tried += 1
        if not column.lo < threshold < column.hi:
            continue
        shares = column.shares(threshold, masses)
        left, left_sums = shares @ masses, (shares * masses) @ targets
        if min(left, total - left) < min_mass * (1 - 1e-9):
            continue
        value = merit(left, left_sums, total - left, sums - left_sums, criterion)
        has_gain = value - base > tie or (value - base >= -tie and column.is_crisp)
        if has_gain and value > best + tie:
            found, best = (int(j), threshold, left), value
    return *found, best
