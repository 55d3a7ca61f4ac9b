"""Check of a fitted kernel tree, node by node: no threshold found by trying them all is better than the tree's."""

import numpy as np

from tests.reference.gains import gain, impurity
from tests.reference.kernels import interval_mass
from tests.reference.search import Axis
from tests.reference.sharing import node_shares

MERITS = {"gini": "squared", "squared_error": "squared", "entropy": "entropy"}


def check_splits(tree, X, Y, weights, widths, shapes, *, criterion, min_mass, max_depth=np.inf, n_grid=25):
    """Compare every node of a tree, grown without cut-off, with the slow search.

    Parameters
    ----------
    X : (n, p) training rows;  Y : (n, q) class shares or targets;  weights : (n,)
    widths : (n, p) half-width of each cell
    shapes : (p,) kernel of each feature

    Returns
    -------
    number of splits that were compared
    """
    by_node = {k: shapes[j] for k, j in zip(tree.kernel, tree.feature, strict=True) if j >= 0}
    table = [by_node.get(k) for k in range(len(tree.shapes))]
    shares = np.array([node_shares(tree, table, x, cells) for x, cells in zip(X, widths, strict=True)])
    lo, hi = intervals(tree)
    n_splits = 0
    for node in range(tree.n_nodes):
        masses = weights * shares[:, node]
        mass = masses.sum()
        assert abs(tree.mass[node] - mass) <= 1e-9 * weights.sum()
        assert tree.value[node] == _approx(masses @ Y / mass)
        axes = [axis(X, Y, masses, widths, shapes, j, lo[node, j], hi[node, j]) for j in range(X.shape[1])]
        best = max((best_gain(a, criterion, min_mass, n_grid) for a in axes if a is not None), default=-np.inf)
        tolerance = 1e-8 * mass * impurity(masses, Y, criterion) + 1e-12 * mass * (1 + (Y**2).max())
        if tree.children_left[node] >= 0:
            n_splits += 1
            j, t = tree.feature[node], tree.threshold[node]
            assert lo[node, j] < t < hi[node, j]
            shared = axes[j].shares(t)
            found = gain(axes[j].masses, axes[j].targets, shared, criterion)
            assert found >= best - tolerance, f"node {node}: gain {found}, but {best} is possible"
            left = shared @ axes[j].masses
            assert min(left, mass - left) >= min_mass * (1 - 1e-6)
            assert abs(tree.missing_left[node] - left / mass) <= 1e-7
        elif tree.depth[node] < max_depth:
            assert best <= tolerance, f"leaf {node} could be split with gain {best}"
    return n_splits


def _approx(expected):
    import pytest

    return pytest.approx(expected, rel=1e-8, abs=1e-8)


def intervals(tree):
    """Ends of the interval of each node on each feature, twice (n_nodes, p)."""
    lo = np.full((tree.n_nodes, tree.n_features), -np.inf)
    hi = np.full((tree.n_nodes, tree.n_features), np.inf)
    for node in tree.walk():
        if node:
            above = tree.parent[node]
            lo[node], hi[node] = lo[above], hi[above]
            ends = hi if node == tree.children_left[above] else lo
            ends[node, tree.feature[above]] = tree.threshold[above]
    return lo, hi


def axis(X, Y, masses, widths, shapes, j, lo, hi):
    """The points of a node along feature `j`; None if all values are missing."""
    here = masses > 1e-12 * masses.sum()
    for i in np.flatnonzero(here & ~np.isnan(X[:, j])):
        # a sliver that rounding may have let in
        here[i] = interval_mass(X[i, j], widths[i, j], lo, hi, shapes[j]) > 1e-12
    if np.all(np.isnan(X[here, j])):
        return None
    out = Axis(X[here, j], widths[here, j], masses[here], masses[here, None] * Y[here], lo, hi, shapes[j])
    out.targets = Y[here]
    return out


def best_gain(a, criterion, min_mass, n_grid):
    """Largest gain along an axis."""
    _, t = a.best(MERITS[criterion], min_mass, n_grid)
    return -np.inf if np.isnan(t) else gain(a.masses, a.targets, a.shares(t), criterion)
