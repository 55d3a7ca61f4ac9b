"""Derivatives by gates and values: one row after the other visits the gates that it reaches, forward and backward.

Arguments that recur
--------------------
points : (n, p) rows, nan where missing;  i : number of a row
trees : `LayerTrees`
weights : (n_gates, p) of oblique gates; None if there are none
cells : (n, p) half-widths of single cells in place of the gates' (nan: the gate's); without lines if there are none
numbers : (n_gates, N_GATE_NUMBERS) bias, threshold, width, blend, and share that goes left if a value is missing
value : (n_leaves, n_outputs)
first : first gate of a tree
nodes : (at least the gates of any tree,) int64, room for the gates that a row reaches
room : (as many, N_ROOM) room for numbers of these gates, numbered within their tree
"""

import numpy as np

from softwood.trees.loops.gates import BLEND, KERNEL, OBLIQUE, SIGMOID, SUBSET, sigmoid
from softwood.trees.loops.kernel import kernel_cdf, kernel_density
from softwood.trees.loops.layout import (
    BIAS,
    BLEND_AT,
    FEATURE,
    KIND,
    LEFT,
    LOWER,
    MISSING_LEFT,
    RIGHT,
    SHAPE,
    THRESHOLD,
    UPPER,
    WIDTH,
)
from softwood.trees.loops.sets import has_member

# Numbers of a gate for one row: its share, the part that goes left, the derivative of that part, what an oblique gate
# computes, the kernel's mass at or below the threshold and the bounds of the mass that is in play; then derivatives:
# along the output of the subtree, and by the mass and its bounds.
SHARE, PART, SLOPE, INPUT, MASS, HIGH, LOW, ALONG, BY_MASS, BY_HIGH, BY_LOW = range(11)
N_ROOM = 11


def project(weights, node, points, i):
    """Weights of a gate times a row."""
    p = points.shape[1]
    first = second = third = fourth = 0.0  # four sums, which the processor adds up at once
    for j in range(0, p - 3, 4):
        first += weights[node, j] * points[i, j]
        second += weights[node, j + 1] * points[i, j + 1]
        third += weights[node, j + 2] * points[i, j + 2]
        fourth += weights[node, j + 3] * points[i, j + 3]
    for j in range(p - p % 4, p):
        first += weights[node, j] * points[i, j]
    return (first + second) + (third + fourth)


def project_known(weights, node, points, i):
    """Weights of a gate times a row, without values whose weight is 0: they may be missing or infinite."""
    total = 0.0
    for j in range(points.shape[1]):
        if weights[node, j] != 0.0:
            total += weights[node, j] * points[i, j]
    return total


def half_width(i, node, trees, numbers, cells):
    """Half-width of the kernel of row `i` at a gate."""
    if cells.shape[0] > 0 and not np.isnan(cells[i, trees.table[node, FEATURE]]):
        return cells[i, trees.table[node, FEATURE]]
    return numbers[node, WIDTH]


def kernel_part(x, width, node, first, trees, numbers, room):
    """Part of a row with value `x` that goes left at a kernel gate; notes what `add_kernel_slopes` needs."""
    k = node - first
    shape, upper, lower = trees.table[node, SHAPE], trees.table[node, UPPER] - first, trees.table[node, LOWER] - first
    mass = kernel_cdf(numbers[node, THRESHOLD], x, width, shape, trees.edges, trees.cdfs)
    high, low = 1.0, 0.0
    if upper >= 0:
        high = min(room[upper, MASS], room[upper, HIGH])
    if lower >= 0:
        low = max(room[lower, MASS], room[lower, LOW])
    room[k, MASS], room[k, HIGH], room[k, LOW] = mass, high, low
    room[k, BY_MASS], room[k, BY_HIGH], room[k, BY_LOW] = 0.0, 0.0, 0.0
    return 1.0 if mass >= high else 0.0 if mass <= low else (mass - low) / (high - low)


def oblique_part(kind, z, width):
    """Part that goes left at a gate without a test, and its derivative."""
    if kind == SIGMOID:
        part = sigmoid(z)
        return part, part * (1.0 - part)
    if kind == OBLIQUE:
        return 1.0 if z > 0.0 else 0.0, 0.0
    u = np.copysign(min(abs(z / width), 0.5), z)  # without branches, which could not be predicted
    return 0.5 + u * (1.5 - 2.0 * u * u), (1.5 - 6.0 * u * u) / width


def reach_gates(points, i, first, trees, weights, numbers, cells, nodes, room):
    """List the gates of a tree that a row reaches, parents first, and return their number."""
    nodes[0] = first
    room[0, SHARE] = 1.0
    n = 1
    at = 0
    while at < n:
        node = nodes[at]
        at += 1
        k = node - first
        kind = trees.table[node, KIND]
        part, slope, z = numbers[node, MISSING_LEFT], 0.0, np.nan
        if kind == KERNEL:
            x = points[i, trees.table[node, FEATURE]]
            if not np.isnan(x):
                part = kernel_part(x, half_width(i, node, trees, numbers, cells), node, first, trees, numbers, room)
                slope = 1.0
        elif kind == SUBSET:
            x = points[i, trees.table[node, FEATURE]]
            if not np.isnan(x):
                part = 1.0 if has_member(trees.sets, node, int(x)) else 0.0
        elif weights is not None:
            z = project(weights, node, points, i) + numbers[node, BIAS]
            if np.isnan(z):
                z = project_known(weights, node, points, i) + numbers[node, BIAS]
            x = points[i, trees.table[node, FEATURE]] if kind == BLEND else 0.0
            if not np.isnan(z) and not np.isnan(x):
                part, slope = oblique_part(kind, z, numbers[node, WIDTH])
                if kind == BLEND:
                    blend = numbers[node, BLEND_AT]
                    part = blend * part + (1.0 - blend) * float(x <= numbers[node, THRESHOLD])
                    slope *= blend
        share = room[k, SHARE]
        to_left = share * part
        room[k, PART] = part
        room[k, SLOPE] = slope
        room[k, INPUT] = z
        a, b = trees.table[node, LEFT], trees.table[node, RIGHT]
        if part > 0.0 and a >= 0:
            room[a - first, SHARE] = to_left
            nodes[n] = a
            n += 1
        if part < 1.0 and b >= 0:
            room[b - first, SHARE] = share - to_left
            nodes[n] = b
            n += 1
    return n


def count_reached(points, trees, weights, numbers, nodes, room):
    """Number of gates that the rows reach, added up over rows and trees."""
    gates, total = trees.gates, 0
    no_cells = points[:0]
    for t in range(gates.shape[0] - 1):
        if gates[t + 1] > gates[t]:
            for i in range(points.shape[0]):
                total += reach_gates(points, i, gates[t], trees, weights, numbers, no_cells, nodes, room)
    return total


def mark_reached(points, trees, weights, numbers, nodes, room, moved_gates, reached_leaves):
    """Mark the gates that a gradient of the rows moves, and the leaves that they reach.

    Parameters
    ----------
    moved_gates, reached_leaves : (n_gates,) and (n_leaves,) bool, False
    """
    table, gates, leaves = trees.table, trees.gates, trees.leaves
    no_cells = points[:0]
    for t in range(gates.shape[0] - 1):
        first = gates[t]
        if gates[t + 1] == first:
            reached_leaves[leaves[t]] = points.shape[0] > 0
            continue
        for i in range(points.shape[0]):
            n = reach_gates(points, i, first, trees, weights, numbers, no_cells, nodes, room)
            for at in range(n):
                node = nodes[at]
                part = room[node - first, PART]
                if 0.0 < part < 1.0 and room[node - first, SLOPE] != 0.0:
                    moved_gates[node] = True
                if part > 0.0 and table[node, LEFT] < 0:
                    reached_leaves[-1 - table[node, LEFT]] = True
                if part < 1.0 and table[node, RIGHT] < 0:
                    reached_leaves[-1 - table[node, RIGHT]] = True


def walk_rows(points, trees, weights, numbers, value, nodes, room, out):
    """Sums of leaf values weighted by shares, (n, n_trees, n_outputs); `out` is zeros."""
    table, gates, leaves = trees.table, trees.gates, trees.leaves
    no_cells = points[:0]
    q = value.shape[1]
    for t in range(gates.shape[0] - 1):
        first = gates[t]
        for i in range(points.shape[0]):
            if gates[t + 1] == first:
                for o in range(q):
                    out[i, t, o] = value[leaves[t], o]
                continue
            n = reach_gates(points, i, first, trees, weights, numbers, no_cells, nodes, room)
            for at in range(n):
                node = nodes[at]
                a, b = table[node, LEFT], table[node, RIGHT]
                if a >= 0 and b >= 0:
                    continue
                share = room[node - first, SHARE]
                to_left = share * room[node - first, PART]
                if a < 0 and to_left > 0.0:
                    for o in range(q):
                        out[i, t, o] += to_left * value[-1 - a, o]
                if b < 0 and to_left < share:
                    for o in range(q):
                        out[i, t, o] += (share - to_left) * value[-1 - b, o]


def leaf_along(i, t, share, leaf, value, slope, by_value):
    """Derivative along the output of a leaf; adds to the derivative by its values."""
    along = 0.0
    for o in range(value.shape[1]):
        along += slope[i, t, o] * value[leaf, o]
        by_value[leaf, o] += share * slope[i, t, o]
    return along


def pass_on(by_part, node, first, table, room):
    """Pass the derivative by a kernel gate's part on to the gates that bound it; returns that by its mass."""
    k = node - first
    mass, high, low = room[k, MASS], room[k, HIGH], room[k, LOW]
    by_mass, by_high, by_low = room[k, BY_MASS], room[k, BY_HIGH], room[k, BY_LOW]
    if by_part != 0.0:
        scaled = by_part / (high - low)
        by_mass += scaled
        by_high -= scaled * (mass - low) / (high - low)
        by_low -= scaled * (high - mass) / (high - low)
    upper, lower = table[node, UPPER] - first, table[node, LOWER] - first
    if upper >= 0:
        room[upper, BY_MASS if room[upper, MASS] < room[upper, HIGH] else BY_HIGH] += by_high
    if lower >= 0:
        room[lower, BY_MASS if room[lower, MASS] > room[lower, LOW] else BY_LOW] += by_low
    return by_mass


def add_kernel_slopes(by_mass, points, i, node, width, trees, numbers, by_points, by_numbers):
    """Pass the derivative by a kernel gate's mass on to its threshold, its width and the row."""
    j, shape = trees.table[node, FEATURE], trees.table[node, SHAPE]
    x, threshold = points[i, j], numbers[node, THRESHOLD]
    change = by_mass * kernel_density(threshold, x, width, shape, trees.edges, trees.cdfs)
    if change == 0.0:
        return
    if by_points.shape[0] > 0:
        by_points[i, j] -= change
    if by_numbers.shape[0] > 0:
        by_numbers[node, THRESHOLD] += change
        by_numbers[node, WIDTH] -= change * (threshold - x) / width


def add_multiple(factor, source, k, target, i):
    """Add a multiple of line `k` of one matrix to line `i` of another, where it is not missing."""
    scale, zero = factor, 0.0  # of the type of the matrices
    for j in range(source.shape[1]):
        target[i, j] += zero if np.isnan(source[k, j]) else scale * source[k, j]


def walk_slopes(
    points, trees, weights, numbers, value, nodes, room, slope, by_points, by_weights, by_numbers, by_value
):
    """Derivatives of a loss whose derivative by the sums is `slope` (n, n_trees, n_outputs).

    Parameters
    ----------
    by_points, by_weights, by_numbers, by_value : zeros, each with the shape of what it is the derivative by; those by
        rows or by the gates have no lines if they are not wanted
    """
    table, gates, leaves = trees.table, trees.gates, trees.leaves
    no_cells = points[:0]
    with_points, with_gates = by_points.shape[0] > 0, by_numbers.shape[0] > 0
    for t in range(gates.shape[0] - 1):
        first = gates[t]
        for i in range(points.shape[0]):
            if gates[t + 1] == first:
                leaf_along(i, t, 1.0, leaves[t], value, slope, by_value)
                continue
            n = reach_gates(points, i, first, trees, weights, numbers, no_cells, nodes, room)
            for at in range(n - 1, -1, -1):
                node = nodes[at]
                k = node - first
                share, part = room[k, SHARE], room[k, PART]
                a, b = table[node, LEFT], table[node, RIGHT]
                to_left = share * part
                along_left, along_right = 0.0, 0.0
                if part > 0.0:
                    if a >= 0:
                        along_left = room[a - first, ALONG]
                    else:
                        along_left = leaf_along(i, t, to_left, -1 - a, value, slope, by_value)
                if part < 1.0:
                    if b >= 0:
                        along_right = room[b - first, ALONG]
                    else:
                        along_right = leaf_along(i, t, share - to_left, -1 - b, value, slope, by_value)
                room[k, ALONG] = along_right + part * (along_left - along_right)
                by_part = 0.0
                if 0.0 < part < 1.0:
                    by_part = share * (along_left - along_right) * room[k, SLOPE]
                if table[node, KIND] == KERNEL:
                    if room[k, SLOPE] != 0.0:
                        by_mass = pass_on(by_part, node, first, table, room)
                        if by_mass != 0.0:
                            width = numbers[node, WIDTH]
                            add_kernel_slopes(by_mass, points, i, node, width, trees, numbers, by_points, by_numbers)
                elif weights is not None:
                    if by_part == 0.0:
                        continue
                    if with_points:
                        add_multiple(by_part, weights, node, by_points, i)
                    if with_gates:
                        add_multiple(by_part, points, i, by_weights, node)
                        by_numbers[node, BIAS] += by_part
                        if table[node, KIND] == BLEND:
                            by_numbers[node, WIDTH] -= by_part * room[k, INPUT] / numbers[node, WIDTH]
