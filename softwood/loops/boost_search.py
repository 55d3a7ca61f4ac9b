"""The search of boosting: histograms of second-order sums, and the best split of a leaf.

A row counts with its hessian, gradient and weight. A split's gain is the decrease of the loss's second-order
approximation, ``G**2 / (H + l2)`` of both sides less that of the node. Histograms of parts of the rows add up to that
of all. `softwood.loops.boost` grows trees by this search.

Arguments that recur
--------------------
bins, widths : the binned features, see `softwood.loops.groups`, and half-widths of their kernels
rows_sums : (n, 3) hessian, gradient and weight of each row
rows, shares : the pile: rows of the nodes, one after the other, and their memberships; shares is None if no kernel has
    a width, and the code for it is then not compiled
table : (p, n_bins + 1, 3) sums of the rows of a node by feature and bin, the last line for missing values
leaves : (n_leaves,) the open leaves, of type `LEAF`;  bounds : (n_leaves, 2, p) their intervals
rules : see `Rules`
limits : lowest and highest value of a leaf, and the direction of the feature (1: rising, -1: falling, 0: any)
found : (n_features, 6) best split of a node on each feature, columns below
"""

from typing import NamedTuple

import numba
import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.grow import BLOCK
from softwood.loops.scan import LARGEST, SLACK, THIN, middle_of

# Columns of `found`.
GAIN, THRESHOLD, LEFT_H, LEFT_G, LEFT_W, MISSING_LEFT = range(6)
# A leaf while the tree grows.
LEAF = np.dtype(
    [
        ("begin", np.int64),  # where its rows are
        ("size", np.int64),
        ("line", np.int64),  # in the node table
        ("depth", np.int64),
        ("slot", np.int64),  # of its histogram
        ("feature", np.int64),  # of its best split; -1: none
        ("gain", np.float64),
        ("h", np.float64),  # sums of its rows: hessian, gradient, weight
        ("g", np.float64),
        ("w", np.float64),
        ("lowest", np.float64),  # limits of its value
        ("highest", np.float64),
    ]
)
# A bin with less than this part of the node's weight is empty: what subtraction leaves behind.
EMPTY = 1e-10
# Scores closer than this part are equal, and the first one is taken: rounding errors must not decide.
TIE = 1e-12


class Rules(NamedTuple):
    """When to stop, and how to regularise; see `softwood.density.newton.NewtonLimits`."""

    max_leaves: int
    max_depth: int
    min_mass: float
    min_hessian: float
    min_gain: float
    l2: float
    cutoff: float
    best_first: bool


class SearchSpace(NamedTuple):
    """Scratch space of the search; all but the first two for each block of features.

    Attributes
    ----------
    tables : (n_slots, p, n_bins + 1, 3) histograms of the open leaves, by slot
    found : (2, n_features, 6) best splits of a leaf and its sibling
    block : (n_blocks, BLOCK, 3);  lines : (n_blocks, n_bins + 1, 4);  totals : (n_blocks, 2, 3)
    """

    tables: np.ndarray
    found: np.ndarray
    block: np.ndarray
    lines: np.ndarray
    totals: np.ndarray


@compiled
def leaf_value(g, h, l2, lowest, highest):
    """Newton step within the limits."""
    return min(max(-g / (h + l2), lowest), highest)


@compiled
def score(g, h, l2, lowest, highest):
    """Twice the decrease of the loss by a leaf with these sums, with its best value within the limits."""
    value = leaf_value(g, h, l2, lowest, highest)
    return -(2.0 * g + (h + l2) * value) * value


@compiled
def split_score(left_h, left_g, h, g, l2, limits):
    """Score of both sides together; -inf if they break the direction."""
    lowest, highest, direction = limits
    right_h = h - left_h
    right_g = g - left_g
    if direction == 0 and lowest == -np.inf and highest == np.inf:
        return left_g * left_g / (left_h + l2) + right_g * right_g / (right_h + l2)
    left_value = leaf_value(left_g, left_h, l2, lowest, highest)
    right_value = leaf_value(right_g, right_h, l2, lowest, highest)
    if direction * (right_value - left_value) < 0.0:
        return -np.inf
    return score(left_g, left_h, l2, lowest, highest) + score(right_g, right_h, l2, lowest, highest)


@compiled
def add_histograms(codes, rows, begin, m, shares, rows_sums, features, f0, f1, table, block):
    """Add the rows of a node to the tables of the features `f0` to `f1` of the list; block : (BLOCK, 3) scratch."""
    for first in range(0, m, BLOCK):
        last = min(first + BLOCK, m)
        for k in range(first, last):
            i = rows[begin + k]
            if shares is None:
                for o in range(3):
                    block[k - first, o] = rows_sums[i, o]
            if shares is not None:
                for o in range(3):
                    block[k - first, o] = shares[begin + k] * rows_sums[i, o]
        for f in range(f0, f1):
            j = features[f]
            for k in range(first, last):
                c = codes[rows[begin + k], j]
                table[j, c, 0] += block[k - first, 0]
                table[j, c, 1] += block[k - first, 1]
                table[j, c, 2] += block[k - first, 2]


@compiled
def subtract_histogram(table, part, j):
    """Take the sums of a part of the rows from those of all, on one feature."""
    for c in range(table.shape[1]):
        for o in range(3):
            table[j, c, o] -= part[j, c, o]


@compiled
def scan_crisp(table, j, lows, highs, offset, n_bins, start, total, rules, limits, out, line):
    """Best threshold between bins, better than what is in line `line` of `out`; start : left sums to begin with.

    total : sums of the node;  start : (3,) sums of the missing values if they go left, else 0
    """
    min_mass, min_hessian, l2 = rules.min_mass, rules.min_hessian, rules.l2
    empty = EMPTY * total[2]
    least = min_mass * SLACK
    left_h = start[0]
    left_g = start[1]
    left_w = start[2]
    before = -1
    for c in range(n_bins):
        if table[j, c, 2] <= empty:
            continue
        enough = left_w >= least and total[2] - left_w >= least
        if before >= 0 and enough and left_h >= min_hessian and total[0] - left_h >= min_hessian:
            s = split_score(left_h, left_g, total[0], total[1], l2, limits)
            if s - TIE * abs(s) > out[line, 0]:
                out[line, 0] = s
                out[line, 1] = middle_of(highs[offset + before], lows[offset + c])
                out[line, 2] = left_h
                out[line, 3] = left_g
                out[line, 4] = left_w
        left_h += table[j, c, 0]
        left_g += table[j, c, 1]
        left_w += table[j, c, 2]
        before = c


@compiled
def scan_boxes(table, j, values, span, interval, width, sums, rules, limits, lines, out, line):
    """As `scan_crisp`, where the mass of every bin is spread by a box: sums are linear between its edges.

    span : where the bins of the feature begin, and their number
    sums : those of the node, and those to begin with, as `total` and `start` of `scan_crisp`
    """
    offset, n_bins = span
    lo = max(interval[0], -LARGEST)  # an end must come before the infinity that marks the end of the list
    hi = min(interval[1], LARGEST)
    total, start = sums
    min_mass, min_hessian, l2 = rules.min_mass, rules.min_hessian, rules.l2
    empty = EMPTY * total[2]
    n = 0
    for c in range(n_bins):
        if table[j, c, 2] > empty:
            begin = max(values[offset + c] - width, lo)
            end = min(values[offset + c] + width, hi)
            lines[n, 0] = begin
            lines[n, 1] = end
            lines[n, 2] = 1.0 / (end - begin) if end - begin > THIN * 2.0 * width else 0.0
            lines[n, 3] = c
            n += 1
    if n == 0:
        return
    lines[n, 0] = np.inf  # nothing begins after the last one
    least = min_mass * SLACK
    left_h = start[0]
    left_g = start[1]
    left_w = start[2]
    slope_h = 0.0
    slope_g = 0.0
    slope_w = 0.0
    begun = 0
    ended = 0
    t = lines[0, 0]
    while ended < n:
        is_start = lines[begun, 0] <= lines[ended, 1]
        k = begun if is_start else ended
        t_next = lines[k, 0] if is_start else lines[k, 1]
        has_values = ended > 0 or t > lines[0, 0]  # missing values alone are not for this scan
        enough = has_values and left_w >= least and total[2] - left_w >= least
        if enough and t > lo and t < hi and left_h >= min_hessian and total[0] - left_h >= min_hessian:
            s = split_score(left_h, left_g, total[0], total[1], l2, limits)
            if s - TIE * abs(s) > out[line, 0]:
                out[line, 0] = s
                out[line, 1] = middle_of(t, t_next) if begun == ended else t
                out[line, 2] = left_h
                out[line, 3] = left_g
                out[line, 4] = left_w
        step = t_next - t
        left_h += slope_h * step
        left_g += slope_g * step
        left_w += slope_w * step
        t = t_next
        c = int(lines[k, 3])
        rate = lines[k, 2] if is_start else -lines[k, 2]
        slope_h += rate * table[j, c, 0]
        slope_g += rate * table[j, c, 1]
        slope_w += rate * table[j, c, 2]
        if rate == 0.0 and not is_start:
            left_h += table[j, c, 0]
            left_g += table[j, c, 1]
            left_w += table[j, c, 2]
        begun += 1 if is_start else 0
        ended += 0 if is_start else 1
        if begun == ended:  # no kernel reaches here: forget rounding errors of the slopes
            slope_h = 0.0
            slope_g = 0.0
            slope_w = 0.0


@compiled
def scan_missing(table, j, n_bins, above, total, rules, limits, out, line):
    """As `scan_crisp`, of one split: all values to the left, missing ones to the right.

    above : a threshold that no value of the node is above
    """
    min_hessian, least = rules.min_hessian, rules.min_mass * SLACK
    left_h = total[0] - table[j, n_bins, 0]
    left_g = total[1] - table[j, n_bins, 1]
    left_w = total[2] - table[j, n_bins, 2]
    enough = left_w > EMPTY * total[2] and left_w >= least and total[2] - left_w >= least
    if enough and left_h >= min_hessian and total[0] - left_h >= min_hessian:
        s = split_score(left_h, left_g, total[0], total[1], rules.l2, limits)
        if s - TIE * abs(s) > out[line, 0]:
            out[line, 0] = s
            out[line, 1] = above
            out[line, 2] = left_h
            out[line, 3] = left_g
            out[line, 4] = left_w


@compiled
def search_feature(table, j, bins, widths, bounds, totals, rules, limits, lines, out, line):
    """Best split on one feature, in line `line` of `out`; missing values go to the side where they do better, or alone.

    Without missing values, those of later points will go to the side with the larger weight.

    Parameters
    ----------
    bounds : (2, p) the leaf's interval on each feature
    totals : (2, 3) sums of the leaf, and scratch space
    """
    values, lows, highs, offsets = bins.values, bins.lows, bins.highs, bins.offsets
    total, start = totals[0], totals[1]
    n_bins = offsets[j + 1] - offsets[j]
    out[line, GAIN] = -np.inf
    has_missing = table[j, n_bins, 2] > EMPTY * total[2]
    for side in range(2 if has_missing else 1):
        for o in range(3):
            start[o] = table[j, n_bins, o] if side == 1 else 0.0
        before = out[line, GAIN]
        if widths[j] > 0.0:
            scan_boxes(
                table, j, values, (offsets[j], n_bins), (bounds[0, j], bounds[1, j]), widths[j], (total, start), rules,
                limits, lines, out, line,
            )  # fmt: skip
        else:
            scan_crisp(table, j, lows, highs, offsets[j], n_bins, start, total, rules, limits, out, line)
        if out[line, GAIN] > before:
            out[line, MISSING_LEFT] = side
    if not has_missing:
        out[line, MISSING_LEFT] = 1.0 if 2.0 * out[line, LEFT_W] >= total[2] else 0.0
    elif n_bins > 0:
        # Known values go left, those of later points that are a little larger too.
        first = offsets[j]
        last = offsets[j + 1] - 1
        above = min(highs[last] + (highs[last] - lows[first]) + widths[j], bounds[1, j], LARGEST)
        before = out[line, GAIN]
        scan_missing(table, j, n_bins, above, total, rules, limits, out, line)
        if out[line, GAIN] > before:
            out[line, MISSING_LEFT] = 0.0


@compiled
def search_block(
    part, bins, widths, rows_sums, pile, shares, small, large, features, directions, rules, space
):  # fmt: skip
    """Histograms and best splits on a part of the features, for a leaf and its sibling.

    The leaf `small` is added up row by row; `large`, if it is not -1, has its parent's table, from which that of
    `small` is taken. part : number of the part, and of all parts
    """
    b, n_blocks = part
    leaves, rows, bounds = pile.leaves, pile.rows, pile.bounds
    tables, found = space.tables, space.found
    lines, totals = space.lines[b], space.totals[b]
    f0 = features.shape[0] * b // n_blocks
    f1 = features.shape[0] * (b + 1) // n_blocks
    slot = leaves[small]["slot"]
    for f in range(f0, f1):
        j = features[f]
        for c in range(tables.shape[2]):
            for o in range(3):
                tables[slot, j, c, o] = 0.0
    add_histograms(
        bins.codes, rows, leaves[small]["begin"], leaves[small]["size"], shares, rows_sums, features, f0, f1,
        tables[slot], space.block[b],
    )  # fmt: skip
    for side in range(2):
        leaf = small if side == 0 else large
        if leaf < 0:
            break
        totals[0, 0] = leaves[leaf]["h"]
        totals[0, 1] = leaves[leaf]["g"]
        totals[0, 2] = leaves[leaf]["w"]
        own = leaves[leaf]["slot"]
        for f in range(f0, f1):
            j = features[f]
            if side == 1:
                subtract_histogram(tables[own], tables[slot], j)
            direction = np.int64(0)
            if directions is not None:
                direction = np.int64(directions[j])
            limits = leaves[leaf]["lowest"], leaves[leaf]["highest"], direction
            search_feature(tables[own], j, bins, widths, bounds[leaf], totals, rules, limits, lines, found[side], f)


def _search_parallel(
    n_blocks, bins, widths, rows_sums, pile, shares, small, large, features, directions, rules, space
):  # fmt: skip
    """`search_block` for all features, a block of them for each thread."""
    for b in numba.prange(n_blocks):
        search_block(
            (b, n_blocks), bins, widths, rows_sums, pile, shares, small, large, features, directions, rules, space
        )


search_parallel = compiled(_search_parallel, parallel=True)


@compiled
def choose_split(leaves, leaf, found, features, l2, min_gain, splits):
    """Enter the best split of a leaf over its features, the first of equals; a gain of 0 or less is none."""
    leaves[leaf]["feature"] = -1
    leaves[leaf]["gain"] = -np.inf
    base = score(leaves[leaf]["g"], leaves[leaf]["h"], l2, leaves[leaf]["lowest"], leaves[leaf]["highest"])
    best = -np.inf
    for f in range(features.shape[0]):
        s = found[f, GAIN]
        if s - base > min_gain + TIE * abs(base) and s - TIE * abs(s) > best:
            best = s
            leaves[leaf]["gain"] = s - base
            leaves[leaf]["feature"] = features[f]
            for c in range(found.shape[1]):
                splits[leaf, c] = found[f, c]
