"""Best threshold by trying them all: breakpoints, gaps between them, a dense grid, and the extreme positions."""

import numpy as np

from tests.reference.gains import merit
from tests.reference.kernels import BOX, cdf, table


class Axis:
    """The points of one node along one feature.

    Parameters
    ----------
    x, widths : (n,) places (nan: missing) and half-widths
    masses, sums : (n,) and (n, q) mass of each point, and mass times target
    lo, hi : the node's interval
    lower, upper : (n,) in its place the distribution values at its ends, where these differ by point
    """

    def __init__(self, x, widths, masses, sums, lo=-np.inf, hi=np.inf, shape=BOX, lower=None, upper=None):
        self.x, self.masses, self.sums = np.asarray(x), np.asarray(masses), np.asarray(sums)
        self.widths = np.broadcast_to(widths, self.x.shape)
        self.lo, self.hi, self.shape = lo, hi, shape
        self.known = ~np.isnan(self.x)
        self.has_bounds = lower is not None
        self.lower = lower if self.has_bounds else cdf(lo, self.x, self.widths, shape)
        self.upper = upper if self.has_bounds else cdf(hi, self.x, self.widths, shape)

    def shares(self, t):
        """Share of each point that goes left at each `t`, (..., n); missing ones go as the mass of the others does."""
        known = self.known
        below = cdf(np.asarray(t)[..., None], self.x[known], self.widths[known], self.shape)
        room = self.upper[known] - self.lower[known]
        out = np.empty((*np.shape(t), len(self.x)))
        out[..., known] = np.clip((below - self.lower[known]) / room, 0.0, 1.0)
        out[..., ~known] = (out[..., known] @ self.masses[known] / self.masses[known].sum())[..., None]
        return out

    def left(self, t):
        """Mass and sums on the left of each `t`."""
        shares = self.shares(t)
        return shares @ self.masses, shares @ self.sums

    def merit(self, t, criterion):
        """Merit of the split at `t`."""
        mass, sums = self.left(t)
        return merit(mass, sums, self.masses.sum() - mass, self.sums.sum(axis=0) - sums, criterion)

    def breakpoints(self):
        """Where the slope of a point's share changes, or (crisp points) the share jumps."""
        x, widths = self.x[self.known], self.widths[self.known]
        at = (x[:, None] + widths[:, None] * np.array(self.shape.edges)).ravel()
        if self.has_bounds:
            edges, values = table(self.shape)
            for level in (self.lower, self.upper):
                at = np.append(at, x + widths * np.interp(level[self.known], values, edges))
        at = np.unique(at)
        return at[(at > self.lo) & (at < self.hi)]

    def candidates(self, n_grid, min_mass):
        """Thresholds to try."""
        points = self.breakpoints()
        low = self.lo if np.isfinite(self.lo) else points.min(initial=0.0) - 1.0
        high = self.hi if np.isfinite(self.hi) else points.max(initial=0.0) + 1.0
        crisp = self.x[self.known & (self.widths == 0)]
        total = self.masses.sum()
        tried = [
            points,
            0.5 * (points[1:] + points[:-1]),
            np.nextafter(crisp, -np.inf),
            np.linspace(low, high, n_grid + 2)[1:-1],
            self._where_left_mass_is(np.array([min_mass, total - min_mass]), low, high),
        ]
        out = np.unique(np.concatenate(tried))
        return out[(out > self.lo) & (out < self.hi)]

    def _where_left_mass_is(self, goal, low, high):
        """By halving the interval again and again."""
        low, high = np.full(len(goal), low), np.full(len(goal), high)
        for _ in range(50):
            middle = 0.5 * (low + high)
            too_low = self.left(middle)[0] < goal
            low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
        return high

    def best(self, criterion, min_mass, n_grid=40):
        """Largest merit of the thresholds with the minimum mass on both sides, and its place; -inf if there is none."""
        best, best_t = -np.inf, np.nan
        total, sums = self.masses.sum(), self.sums.sum(axis=0)
        tried = self.candidates(n_grid, min_mass)
        for t, left_mass, left_sums in zip(tried, *self.left(tried), strict=True):
            if left_mass >= min_mass and total - left_mass >= min_mass:
                value = merit(left_mass, left_sums, total - left_mass, sums - left_sums, criterion)
                if value > best:
                    best, best_t = value, t
        return best, best_t


def best_gain_of(axes, order, n_draw, criterion, min_mass, base, tie):
    """Largest gain over the features in `order`: of the first `n_draw`, or of the first after them that has one.

    A gain of 0 counts on a feature without kernels; -inf if there is none.

    Parameters
    ----------
    axes : an `Axis` for each feature, None if it has no values;  base : merit of the node unsplit
    tie : gains closer than this are equal
    """
    best = -np.inf
    for place, j in enumerate(order):
        if place >= n_draw and best > -np.inf:
            break
        if axes[j] is not None:
            gain = axes[j].best(criterion, min_mass)[0] - base
            is_crisp = not np.any(axes[j].widths)
            if gain > tie or (is_crisp and gain >= -tie):
                best = max(best, gain)
    return best
