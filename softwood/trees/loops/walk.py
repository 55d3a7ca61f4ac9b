"""How finished trees share points among their nodes: crisp paths, soft visits, predictions, memberships, gradients.

Arguments that recur
--------------------
points : (n, p) values, nan where missing
tree : `Nodes`;  scratch : `Scratch`
weights : (n_nodes, p) of oblique gates; None if the tree has none
cells : (n, p) half-widths of single cells in place of the nodes' (nan: the node's); or None
cell_slopes : (n, p) derivatives of the half-widths of single cells with respect to the values; None if these are all 0

The last three are separate arguments, because each of them may be None.
"""

from typing import NamedTuple

import numpy as np

from softwood.trees.loops.gates import BLEND, KERNEL, SUBSET, oblique_share, oblique_slope
from softwood.trees.loops.kernel import kernel_cdf, kernel_density
from softwood.trees.loops.sets import has_member

# What is to be done with a fork when the branch below it is finished.
GO_RIGHT, RESTORE_LOWER, NOTHING = 0, 1, 2


class Nodes(NamedTuple):
    """The arrays of a tree, as in `softwood.trees.tree.SoftTree`; edges and cdfs are the tables of the kernel shapes.

    Points have no number of a category that is beyond the bits of `subsets`.

    Loops take them apart at their top: reading a field within a loop costs a count of references each time.
    """

    left: np.ndarray
    right: np.ndarray
    gate: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    width: np.ndarray
    blend: np.ndarray
    bias: np.ndarray
    kernel: np.ndarray
    edges: np.ndarray
    cdfs: np.ndarray
    subsets: np.ndarray


class Scratch(NamedTuple):
    """Scratch space for the path of one row through a tree.

    Attributes
    ----------
    bounds : (2, p) the part of the kernel on each feature that is still in play; 0 and 1 before and after each row
    frames, frame_nodes : (depth, 4) and (depth,) open forks of the path
    nodes, shares : (n_nodes,) the nodes that the row reaches, and its share in each
    """

    bounds: np.ndarray
    frames: np.ndarray
    frame_nodes: np.ndarray
    nodes: np.ndarray
    shares: np.ndarray


def oblique_input(points, i, node, weights, bias):
    """``weights @ x + bias`` of an oblique gate for row `i`; nan if a value with a weight is missing."""
    z = bias[node]
    for j in range(points.shape[1]):
        if weights[node, j] != 0.0:
            z += weights[node, j] * points[i, j]
    return z


def visit(points, i, tree, weights, cells, scratch):
    """List the nodes that row `i` reaches, parents before children, with its share in each, and return their number."""
    n = height = 0
    node = 0
    share = 1.0
    while True:
        scratch.nodes[n] = node
        scratch.shares[n] = share
        n += 1
        if tree.left[node] >= 0:
            j = tree.feature[node]
            part = tree.missing_left[node]  # the share that goes left
            mass = np.nan  # at or below the threshold of a kernel gate
            if tree.gate[node] == KERNEL:
                x = points[i, j]
                if not np.isnan(x):
                    h = tree.width[node]
                    if cells is not None:  # noqa: SIM102 (compiled code drops the outer branch if there are none)
                        if not np.isnan(cells[i, j]):
                            h = cells[i, j]
                    mass = kernel_cdf(tree.threshold[node], x, h, tree.kernel[node], tree.edges, tree.cdfs)
                    lower, upper = scratch.bounds[0, j], scratch.bounds[1, j]
                    part = 1.0 if mass >= upper else 0.0 if mass <= lower else (mass - lower) / (upper - lower)
            elif tree.gate[node] == SUBSET:
                if not np.isnan(points[i, j]):
                    part = 1.0 if has_member(tree.subsets, node, int(points[i, j])) else 0.0
            elif weights is not None:
                z = oblique_input(points, i, node, weights, tree.bias)
                passes = False
                if tree.gate[node] == BLEND:
                    z = np.nan if np.isnan(points[i, j]) else z
                    passes = points[i, j] <= tree.threshold[node]
                if not np.isnan(z):
                    part = oblique_share(tree.gate[node], z, tree.width[node], tree.blend[node], passes)
            if part >= 1.0:
                node = tree.left[node]
                continue
            if part <= 0.0:
                node = tree.right[node]
                continue
            share_left = share * part
            scratch.frame_nodes[height] = node
            scratch.frames[height, 0] = GO_RIGHT
            scratch.frames[height, 2] = share - share_left
            scratch.frames[height, 3] = mass
            if not np.isnan(mass):  # bounds change on kernel gates only, which have a mass
                scratch.frames[height, 1] = scratch.bounds[1, j]
                scratch.bounds[1, j] = mass
            height += 1
            share = share_left
            node = tree.left[node]
            continue
        again = False  # after a leaf, back to the last fork whose right branch is still to do
        while height > 0 and not again:
            top = height - 1
            j = tree.feature[scratch.frame_nodes[top]]
            todo = scratch.frames[top, 0]
            if todo == GO_RIGHT:
                mass = scratch.frames[top, 3]
                if np.isnan(mass):
                    scratch.frames[top, 0] = NOTHING
                else:
                    scratch.bounds[1, j] = scratch.frames[top, 1]
                    scratch.frames[top, 1] = scratch.bounds[0, j]
                    scratch.bounds[0, j] = mass
                    scratch.frames[top, 0] = RESTORE_LOWER
                share = scratch.frames[top, 2]
                node = tree.right[scratch.frame_nodes[top]]
                again = True
            else:
                if todo == RESTORE_LOWER:
                    scratch.bounds[0, j] = scratch.frames[top, 1]
                height -= 1
        if not again:
            return n


def predict_rows(points, tree, weights, cells, scratch, value, out):
    """Add up shares of leaves times their values; `out` (n, n_outputs) is zeros."""
    left, nodes, shares = tree.left, scratch.nodes, scratch.shares
    q = value.shape[1]
    for i in range(points.shape[0]):
        n = visit(points, i, tree, weights, cells, scratch)
        for k in range(n):
            node = nodes[k]
            if left[node] < 0:
                for o in range(q):
                    out[i, o] += shares[k] * value[node, o]


def member_rows(points, tree, weights, cells, scratch, indptr, indices, data):
    """Count the nodes that each row reaches (`indices` empty) or fill the sparse matrix of memberships."""
    nodes, shares = scratch.nodes, scratch.shares
    for i in range(points.shape[0]):
        n = visit(points, i, tree, weights, cells, scratch)
        if indices.shape[0] == 0:
            indptr[i + 1] = n
        else:
            for k in range(n):
                indices[indptr[i] + k] = nodes[k]
                data[indptr[i] + k] = shares[k]


def gradient_rows(points, tree, weights, cells, scratch, value, parent, cell_slopes, out):
    """Derivative of the prediction with respect to the point, (n, n_outputs, p).

    The share of a leaf is a product, so its derivative is the share times the sum of the factors' logarithmic
    derivatives: one factor per feature of kernel gates, ``F(upper) - F(lower)``, and one per oblique gate. With
    ``F = G((t - x) / h)``, the derivative of F is the density times ``-(1 + (t - x) / h * dh/dx)``.
    """
    nodes, shares = scratch.nodes, scratch.shares
    p = points.shape[1]
    q = value.shape[1]
    ends = np.empty((2, p))  # distribution values at the ends of the leaf's interval
    slopes = np.empty((2, p))  # their derivatives
    total = np.zeros(p)
    touched = np.empty(p, np.int64)
    is_touched = np.zeros(p, np.bool_)
    for i in range(points.shape[0]):
        n = visit(points, i, tree, weights, cells, scratch)
        for k in range(n):
            leaf = nodes[k]
            if tree.left[leaf] >= 0:
                continue
            n_touched = 0
            for j in range(p):
                total[j] = 0.0
            child = leaf
            node = parent[leaf]
            while node >= 0:
                j = tree.feature[node]
                if tree.gate[node] == KERNEL:
                    x = points[i, j]
                    if not np.isnan(x):
                        if not is_touched[j]:
                            is_touched[j] = True
                            touched[n_touched] = j
                            n_touched += 1
                            ends[0, j] = 0.0
                            ends[1, j] = 1.0
                            slopes[0, j] = 0.0
                            slopes[1, j] = 0.0
                        h = tree.width[node]
                        if cells is not None:  # noqa: SIM102
                            if not np.isnan(cells[i, j]):
                                h = cells[i, j]
                        shape = tree.kernel[node]
                        mass = kernel_cdf(tree.threshold[node], x, h, shape, tree.edges, tree.cdfs)
                        slope = -kernel_density(tree.threshold[node], x, h, shape, tree.edges, tree.cdfs)
                        if cell_slopes is not None:  # noqa: SIM102
                            if slope != 0.0:
                                slope *= 1.0 + (tree.threshold[node] - x) / h * cell_slopes[i, j]
                        if child == tree.left[node] and mass < ends[1, j]:
                            ends[1, j] = mass
                            slopes[1, j] = slope
                        elif child == tree.right[node] and mass > ends[0, j]:
                            ends[0, j] = mass
                            slopes[0, j] = slope
                elif weights is not None and tree.gate[node] != SUBSET:
                    z = oblique_input(points, i, node, weights, tree.bias)
                    passes = tree.gate[node] == BLEND and points[i, j] <= tree.threshold[node]
                    if not np.isnan(z) and not (tree.gate[node] == BLEND and np.isnan(points[i, j])):
                        slope = oblique_slope(tree.gate[node], z, tree.width[node], tree.blend[node])
                        if slope != 0.0:
                            part = oblique_share(tree.gate[node], z, tree.width[node], tree.blend[node], passes)
                            factor = slope / part if child == tree.left[node] else -slope / (1.0 - part)
                            for f in range(p):
                                total[f] += factor * weights[node, f]
                child = node
                node = parent[node]
            for t in range(n_touched):
                j = touched[t]
                is_touched[j] = False
                if ends[1, j] > ends[0, j]:  # a mass that is no smaller than the share: the ratio does not overflow
                    rate = shares[k] / (ends[1, j] - ends[0, j]) * (slopes[1, j] - slopes[0, j])
                    for o in range(q):
                        out[i, o, j] += rate * value[leaf, o]
            for o in range(q):
                for j in range(p):
                    out[i, o, j] += shares[k] * value[leaf, o] * total[j]
