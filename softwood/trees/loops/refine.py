"""Derivatives of a loss by the gates and values of one tree of kernel gates and sets of categories.

Arguments are those of `softwood.trees.loops.gate_walk`.
"""

from typing import NamedTuple

import numpy as np

from softwood.trees.loops.gate_walk import (
    ALONG,
    PART,
    SHARE,
    SLOPE,
    add_kernel_slopes,
    half_width,
    leaf_along,
    pass_on,
    reach_gates,
)
from softwood.trees.loops.gates import KERNEL
from softwood.trees.loops.layout import KIND, LEFT, RIGHT


class LearnedRows(NamedTuple):
    """Rows to learn from.

    points : (n, p)
    targets : (n, n_outputs)
    offset : (n, n_outputs) what is added to the sums of the tree, or (0, n_outputs) for nothing
    weights : (n,)
    """

    points: np.ndarray
    targets: np.ndarray
    offset: np.ndarray
    weights: np.ndarray


class RowSpace(NamedTuple):
    """Scratch space for one row: `nodes` and `room` as in `gate_walk`; out, slope : (1, 1, n_outputs)."""

    nodes: np.ndarray
    room: np.ndarray
    out: np.ndarray
    slope: np.ndarray


def add_leaves(n, trees, value, space):
    """Sum of leaf values weighted by shares, of the row whose `n` gates were reached last; fills ``space.out``."""
    q = value.shape[1]
    for o in range(q):
        space.out[0, 0, o] = 0.0
    for at in range(n):
        node = space.nodes[at]
        a, b = trees.table[node, LEFT], trees.table[node, RIGHT]
        if a >= 0 and b >= 0:
            continue
        share = space.room[node, SHARE]
        to_left = share * space.room[node, PART]
        if a < 0 and to_left > 0.0:
            for o in range(q):
                space.out[0, 0, o] += to_left * value[-1 - a, o]
        if b < 0 and to_left < share:
            for o in range(q):
                space.out[0, 0, o] += (share - to_left) * value[-1 - b, o]


def loss_slope(targets, i, weight, is_class, out, slope):
    """Loss of row `i`, whose sums are `out`, and its derivative by them, times the weight.

    The loss of classes is the cross-entropy of the softmax of the sums; a single sum is the log odds of the second of
    two classes. The loss of real targets is half of the squared error.
    """
    q = targets.shape[1]
    loss = 0.0
    if not is_class:
        for o in range(q):
            error = out[0, 0, o] - targets[i, o]
            slope[0, 0, o] = weight * error
            loss += 0.5 * error * error
        return weight * loss
    if q == 1:
        score, target = out[0, 0, 0], targets[i, 0]
        small = np.exp(-abs(score))
        part = 1.0 / (1.0 + small) if score >= 0.0 else small / (1.0 + small)
        slope[0, 0, 0] = weight * (part - target)
        return weight * (max(score, 0.0) - target * score + np.log1p(small))
    largest = out[0, 0, 0]
    for o in range(1, q):
        largest = max(largest, out[0, 0, o])
    total = 0.0
    for o in range(q):
        slope[0, 0, o] = np.exp(out[0, 0, o] - largest)
        total += slope[0, 0, o]
    for o in range(q):
        loss -= targets[i, o] * (out[0, 0, o] - largest)
        slope[0, 0, o] = weight * (slope[0, 0, o] / total - targets[i, o])
    return weight * (loss + np.log(total))


def refine_slopes(rows, cells, begin, end, is_class, trees, numbers, value, space, by_numbers, by_value):
    """Add the derivatives of the weighted loss of rows `begin` to `end`, which is returned.

    Parameters
    ----------
    rows : `LearnedRows`
    by_numbers, by_value : zeros, of the shapes of `numbers` and `value`
    """
    points = rows.points
    none = by_numbers[:0]  # no weights of oblique gates, and no derivatives by points
    loss = 0.0
    for i in range(begin, end):
        n = reach_gates(points, i, 0, trees, none, numbers, cells, space.nodes, space.room)
        add_leaves(n, trees, value, space)
        if rows.offset.shape[0] > 0:
            for o in range(value.shape[1]):
                space.out[0, 0, o] += rows.offset[i, o]
        loss += loss_slope(rows.targets, i, rows.weights[i], is_class, space.out, space.slope)
        for at in range(n - 1, -1, -1):
            node = space.nodes[at]
            share, part = space.room[node, SHARE], space.room[node, PART]
            a, b = trees.table[node, LEFT], trees.table[node, RIGHT]
            to_left = share * part
            along_left, along_right = 0.0, 0.0
            if part > 0.0:
                if a >= 0:
                    along_left = space.room[a, ALONG]
                else:
                    along_left = leaf_along(0, 0, to_left, -1 - a, value, space.slope, by_value)
            if part < 1.0:
                if b >= 0:
                    along_right = space.room[b, ALONG]
                else:
                    along_right = leaf_along(0, 0, share - to_left, -1 - b, value, space.slope, by_value)
            space.room[node, ALONG] = along_right + part * (along_left - along_right)
            if trees.table[node, KIND] == KERNEL and space.room[node, SLOPE] != 0.0:
                by_part = share * (along_left - along_right) if 0.0 < part < 1.0 else 0.0
                by_mass = pass_on(by_part, node, 0, trees.table, space.room)
                if by_mass != 0.0:
                    width = half_width(i, node, trees, numbers, cells)
                    add_kernel_slopes(by_mass, points, i, node, width, trees, numbers, none, by_numbers)
    return loss


def refined_sums(points, cells, trees, numbers, value, space, out):
    """Fill `out` (n, n_outputs) with the sums of leaf values weighted by shares."""
    none = points[:0]
    for i in range(points.shape[0]):
        n = reach_gates(points, i, 0, trees, none, numbers, cells, space.nodes, space.room)
        add_leaves(n, trees, value, space)
        for o in range(out.shape[1]):
            out[i, o] = space.out[0, 0, o]
