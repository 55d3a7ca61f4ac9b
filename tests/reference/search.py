"""Best threshold by trying them all: breakpoints, gaps between them, a dense grid, and the extreme positions."""

import numpy as np

from tests.reference.gains import merit
from tests.reference.kernels import BOX, cdf, left_share, table


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
        self.lo, self.hi, self.shape, self.lower, self.upper = lo, hi, shape, lower, upper

    def shares(self, t):
        """Share of each point that goes left at `t`; missing ones go as the mass of the others does."""
        out = np.full(len(self.x), np.nan)
        known = np.flatnonzero(~np.isnan(self.x))
        for i in known:
            if self.lower is None:
                out[i] = left_share(t, self.x[i], self.widths[i], self.lo, self.hi, self.shape)
            else:
                below = cdf(t, self.x[i], self.widths[i], self.shape)
                room = self.upper[i] - self.lower[i]
                out[i] = min(max((below - self.lower[i]) / room, 0.0), 1.0)
        out[np.isnan(out)] = self.masses[known] @ out[known] / self.masses[known].sum()
        return out

    def left(self, t):
        """Mass and sums on the left of `t`."""
        shares = self.shares(t)
        return shares @ self.masses, shares @ self.sums

    def merit(self, t, criterion):
        mass, sums = self.left(t)
        return merit(mass, sums, self.masses.sum() - mass, self.sums.sum(axis=0) - sums, criterion)

    def breakpoints(self):
        """Where the slope of a point's share changes, or (crisp points) the share jumps."""
        known = ~np.isnan(self.x)
        at = self.x[known, None] + self.widths[known, None] * np.array(self.shape.edges)
        if self.lower is not None:
            edges, values = table(self.shape)
            levels = np.concatenate([self.lower[known], self.upper[known]])
            ends = np.tile(self.x[known], 2) + np.tile(self.widths[known], 2) * np.interp(levels, values, edges)
            at = np.append(at, ends)
        at = np.unique(at)
        return at[(at > self.lo) & (at < self.hi)]

    def candidates(self, n_grid, min_mass):
        """Thresholds to try."""
        points = self.breakpoints()
        if len(points) == 0:
            points = np.array([0.5 * (self.lo + self.hi)]) if np.isfinite(self.hi - self.lo) else np.array([])
        crisp = self.x[~np.isnan(self.x) & (self.widths == 0)]
        tried = [points, 0.5 * (points[1:] + points[:-1]), np.nextafter(crisp, -np.inf)]
        low = self.lo if np.isfinite(self.lo) else points.min(initial=0.0) - 1.0
        high = self.hi if np.isfinite(self.hi) else points.max(initial=0.0) + 1.0
        tried.append(np.linspace(low, high, n_grid + 2)[1:-1])
        total = self.masses.sum()
        tried.append([self._where_left_mass_is(goal, low, high) for goal in (min_mass, total - min_mass)])
        out = np.unique(np.concatenate(tried))
        return out[(out > self.lo) & (out < self.hi)]

    def _where_left_mass_is(self, goal, low, high):
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.left(middle)[0] < goal else (low, middle)
        return high

    def best(self, criterion, min_mass, n_grid=40):
        """Largest merit of the thresholds with the minimum mass on both sides, and its place; -inf if there is none."""
        best, best_t = -np.inf, np.nan
        total = self.masses.sum()
        for t in self.candidates(n_grid, min_mass):
            mass, _ = self.left(t)
            if mass >= min_mass and total - mass >= min_mass:
                value = self.merit(t, criterion)
                if value > best:
                    best, best_t = value, t
        return best, best_t
