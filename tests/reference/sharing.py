"""How a finished tree shares a point among its nodes, by recursion from the definitions of the gates."""

import numpy as np

from softwood.trees.gates import Gate
from tests.reference.kernels import cdf


def node_shares(tree, shapes, x, cells=None):
    """Share of the point `x` (p,) in each node of `tree`, (n_nodes,).

    Parameters
    ----------
    shapes : the tree's kernels, in the order of its table
    cells : (p,) half-widths in place of the nodes', nan where those hold; or None
    """
    out = np.zeros(tree.n_nodes)

    def descend(node, share, lower, upper):
        out[node] = share
        if share == 0 or tree.children_left[node] < 0:
            return
        j = tree.feature[node]
        reached = None
        if tree.gate[node] == Gate.KERNEL and not np.isnan(x[j]):
            width = tree.width[node] if cells is None or np.isnan(cells[j]) else cells[j]
            reached = cdf(tree.threshold[node], x[j], width, shapes[tree.kernel[node]])
            part = min(max((reached - lower[j]) / (upper[j] - lower[j]), 0.0), 1.0)
        else:
            part = other_share(tree, node, x)
        left = share * part
        right = share - left
        for child, child_share, ends, pick in (
            (tree.children_left[node], left, upper, min),
            (tree.children_right[node], right, lower, max),
        ):
            new = ends.copy()
            if reached is not None:
                new[j] = pick(ends[j], reached)
            bounds = (lower, new) if ends is upper else (new, upper)
            descend(child, child_share, *bounds)

    p = tree.n_features
    descend(0, 1.0, np.zeros(p), np.ones(p))
    return out


def other_share(tree, node, x):
    """Share that goes left at a gate that has no kernel, or where the value is missing."""
    gate = tree.gate[node]
    if gate == Gate.SUBSET and not np.isnan(x[tree.feature[node]]):
        category = int(x[tree.feature[node]])
        return float(int(tree.subsets[node, category // 32]) >> category % 32 & 1)
    if gate in (Gate.KERNEL, Gate.SUBSET):
        return tree.missing_left[node]
    used = tree.weights[node] != 0
    z = tree.bias[node] + tree.weights[node][used] @ x[used]
    if np.isnan(z) or (gate == Gate.BLEND and np.isnan(x[tree.feature[node]])):
        return tree.missing_left[node]
    if gate == Gate.SIGMOID:
        return 1 / (1 + np.exp(-z))
    if gate == Gate.OBLIQUE:
        return float(z > 0)
    r = np.clip(z / tree.width[node], -0.5, 0.5)
    passes = x[tree.feature[node]] <= tree.threshold[node]
    return tree.blend[node] * (0.5 + 1.5 * r - 2 * r**3) + (1 - tree.blend[node]) * passes


def prediction(tree, shapes, x, cells=None):
    """Shares of the leaves times their values, (n_outputs,)."""
    leaf = tree.children_left < 0
    return node_shares(tree, shapes, x, cells)[leaf] @ tree.value[leaf]


def gradient(tree, shapes, x, cells=None, step=1e-6):
    """Derivative of the prediction by differences, (n_outputs, p); nan where it changes by jumps or has a kink."""
    out = np.zeros((tree.n_outputs, len(x)))
    here = prediction(tree, shapes, x, cells)
    for j in np.flatnonzero(~np.isnan(x)):
        e = np.eye(len(x))[j] * step
        ahead = (prediction(tree, shapes, x + e, cells) - here) / step
        behind = (here - prediction(tree, shapes, x - e, cells)) / step
        smooth = np.abs(ahead - behind).max() < 1e-3 * (1 + np.abs(ahead).max())
        out[:, j] = 0.5 * (ahead + behind) if smooth else np.nan
    return out


def interval_membership(tree, shapes, widths, node, x):
    """Membership of `x` in a node, with one width per feature: the product over features of its intervals."""
    lo, hi = np.full(tree.n_features, -np.inf), np.full(tree.n_features, np.inf)
    kernel = np.zeros(tree.n_features, dtype=int)
    child = node
    while child != 0:
        above = tree.parent[child]
        j = tree.feature[above]
        kernel[j] = tree.kernel[above]
        if child == tree.children_left[above]:
            hi[j] = min(hi[j], tree.threshold[above])
        else:
            lo[j] = max(lo[j], tree.threshold[above])
        child = above
    parts = [
        max(cdf(hi[j], x[j], widths[j], shapes[kernel[j]]) - cdf(lo[j], x[j], widths[j], shapes[kernel[j]]), 0.0)
        for j in range(tree.n_features)
    ]
    return np.prod(parts)
