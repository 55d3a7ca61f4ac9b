"""Random nodes along one feature: few atoms, with ties, gaps, touching kernels and cut intervals."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from softwood.kernel.growing.loops.scan import BINARY_ENTROPY, ENTROPY, SQUARED
from tests.reference.gains import merit
from tests.reference.search import Axis

CRITERION_NAMES = {SQUARED: "squared", ENTROPY: "entropy", BINARY_ENTROPY: "two classes"}

# On a grid, so that breakpoints coincide, or anywhere.
on_grid = st.integers(-16, 16).map(lambda k: k / 8)
places = on_grid | st.floats(-2, 2).map(lambda x: round(x, 4))
masses = st.sampled_from([1.0, 1.0, 2.0, 0.5, 0.125]) | st.floats(0.01, 4).map(lambda x: round(x, 4))


@dataclass
class Node:
    """Atoms with the sums that a criterion needs, an interval, and the smallest mass of a child."""

    x: np.ndarray
    widths: np.ndarray
    masses: np.ndarray
    sums: np.ndarray
    lo: float
    hi: float
    min_mass: float
    criterion: int

    @property
    def name(self):
        return CRITERION_NAMES[self.criterion]

    @property
    def tie(self):
        """As the tree's growth sets it."""
        totals, mass = self.sums.sum(axis=0), self.masses.sum()
        if self.criterion == SQUARED:
            return 1e-10 * max(((self.sums**2).sum(axis=1) / self.masses).sum() - (totals**2).sum() / mass, 0.0)
        return -1e-10 * min(merit(mass, totals, 0.0, totals * 0.0, self.name), 0.0)

    @property
    def scale(self):
        """Size of merits, for tolerances."""
        return max(abs(self.sums).sum(), ((self.sums**2).sum(axis=1) / self.masses).sum(), self.masses.sum())

    def atoms(self):
        return np.column_stack([self.x, np.arange(len(self.x)), self.masses, self.sums])

    def axis(self, shape):
        return Axis(self.x, self.widths, self.masses, self.sums, self.lo, self.hi, shape)


@st.composite
def nodes(draw, *, n_outputs, criteria, widths, shape_reach=(-1.0, 1.0), unique=True, max_size=9):
    """A node whose atoms all have a part, not too thin, in its interval.

    Parameters
    ----------
    widths : strategy for the half-width of all atoms; with `unique` False each draws its own
    shape_reach : first and last edge of the kernel
    """
    x = np.array(sorted(draw(st.lists(places, min_size=1, max_size=max_size, unique=unique))))
    width = np.array([draw(widths)] * len(x) if unique else [draw(widths) for _ in x])
    ends = st.sampled_from([-np.inf, np.inf]) | places.map(lambda p: p + 0.03125) | places
    lo, hi = sorted([draw(ends), draw(ends)])
    if lo == hi:
        lo, hi = -np.inf, np.inf
    start, stop = x + width * shape_reach[0], x + width * shape_reach[1]
    inside = np.minimum(stop, hi) - np.maximum(start, lo) > 1e-3 * width
    inside |= (width == 0) & (x > lo) & (x <= hi)
    if not inside.any():
        lo, hi, inside = -np.inf, np.inf, np.ones(len(x), dtype=bool)
    x, width = x[inside], width[inside]
    mass = np.array([draw(masses) for _ in x])
    criterion = draw(st.sampled_from(criteria))
    q = 1 if criterion == BINARY_ENTROPY else draw(st.sampled_from(n_outputs))
    q = max(q, 2) if criterion == ENTROPY else q
    if draw(st.booleans()) or criterion != SQUARED:  # classes
        parts = np.array([[draw(st.integers(0, 3)) for _ in range(q + (q == 1))] for _ in x], dtype=float)
        parts[parts.sum(axis=1) == 0, 0] = 1
        y = (parts / parts.sum(axis=1, keepdims=True))[:, :q]
    else:
        y = np.array([[draw(st.integers(-8, 8)) / 4 for _ in range(q)] for _ in x])
    part = draw(st.sampled_from([1e-6, 0.05, 0.2, 0.4, 0.5]))
    min_mass = draw(st.sampled_from([1.0, 0.5])) if draw(st.booleans()) else part * mass.sum()
    return Node(x, width, mass, mass[:, None] * y, lo, hi, min_mass, criterion)


def with_slivers(node, width, parts):
    """The node with atoms of which only `parts` (at the lower and at the upper end) of a box are in its interval."""
    for end, sign, part in ((node.lo, 1, parts[0]), (node.hi, -1, parts[1])):
        if part and np.isfinite(end):
            x = end - sign * (width - 2 * width * part)
            node.x, node.widths = np.append(node.x, x), np.append(node.widths, width)
            node.masses = np.append(node.masses, part)
            node.sums = np.vstack([node.sums, part * np.eye(node.sums.shape[1])[:1]])
    order = np.argsort(node.x)
    node.x, node.widths, node.masses, node.sums = (a[order] for a in (node.x, node.widths, node.masses, node.sums))
    return node


def check(node, shape, found, axis=None, precision=1e-9):
    """At least as good as the best by trial, and as good as it says."""
    merit_found, threshold, left_mass = found
    axis = node.axis(shape) if axis is None else axis
    best, best_t = axis.best(node.name, node.min_mass)
    tolerance = precision * node.scale
    assert merit_found >= best - tolerance, f"{merit_found} at {threshold}, but {best} at {best_t}"
    if np.isfinite(merit_found):
        assert node.lo < threshold < node.hi
        mass, _ = axis.left(threshold)
        assert abs(left_mass - mass) <= precision * node.masses.sum()
        assert min(mass, node.masses.sum() - mass) >= node.min_mass - precision * node.masses.sum()
        assert abs(axis.merit(threshold, node.name) - merit_found) <= tolerance
