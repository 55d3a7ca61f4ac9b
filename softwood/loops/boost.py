"""Growing the trees of boosting: histograms of second-order sums, the best leaf first.

A row counts with its hessian, gradient and weight. A split's gain is the decrease of the loss's second-order
approximation, ``G**2 / (H + l2)`` of both sides less that of the node. Binning, adding up histograms, choosing a split
and dividing the rows are separate steps: histograms of parts of the rows add up to that of all.

Arguments that recur
--------------------
codes : (n, p) bin of every cell; the bin after a feature's last one means missing
rows_sums : (n, 3) hessian, gradient and weight of each row
rows, shares : the pile: rows of the nodes, one after the other, and their memberships; shares is None if no kernel has
    a width, and the code for it is then not compiled
table : (p, n_bins + 1, 3) sums of the rows of a node by feature and bin, the last line for missing values
values, lows, highs, offsets, widths : bins and half-widths of the features, as in `softwood.loops.grow`
leaves : (n_leaves, 12) the open leaves, columns below;  bounds : (n_leaves, 2, p) their intervals
found : (n_features, 6) best split of a node on each feature, columns below
"""

import numba
import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.grow import BLOCK
from softwood.loops.kernel import box_share
from softwood.loops.scan import SLACK, THIN, middle_of

# Columns of `found`.
GAIN, THRESHOLD, LEFT_H, LEFT_G, LEFT_W, MISSING_LEFT = range(6)
# Columns of `leaves`: where the rows are, the line in the node table, sums, limits of the value, and the best split.
BEGIN, SIZE, LINE, DEPTH, SUM_H, SUM_G, SUM_W, LOWEST, HIGHEST, SLOT, BEST_GAIN, BEST_FEATURE = range(12)
# Columns of the node table.
NODE_PARENT, NODE_SIDE, NODE_DEPTH, NODE_FEATURE, NODE_THRESHOLD, NODE_MISSING, NODE_H, NODE_G, NODE_W, NODE_VALUE = (
    range(10)
)
NODE_COLUMNS = 10
# A bin with less than this part of the node's weight is empty: what subtraction leaves behind.
EMPTY = 1e-10
# Scores closer than this part are equal, and the first one is taken: rounding errors must not decide.
TIE = 1e-12
# The largest number: a threshold must be finite.
LARGEST = np.finfo(np.float64).max
# Cells of a search that are worth waking other threads for.
WORTH_THREADS = 1 << 15


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
def split_score(left_h, left_g, h, g, l2, lowest, highest, direction):
    """Score of both sides together; -inf if they break the direction (1: rising, -1: falling, 0: any)."""
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
def scan_crisp(
    table, j, values, lows, highs, offset, n_bins, start, total, min_mass, min_hessian, l2, lowest, highest, direction,
    out, line,
):  # fmt: skip
    """Best threshold between bins, better than what is in line `line` of `out`; start : left sums to begin with.

    total : sums of the node;  start : (3,) sums of the missing values if they go left, else 0
    """
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
            s = split_score(left_h, left_g, total[0], total[1], l2, lowest, highest, direction)
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
def scan_boxes(
    table, j, values, offset, n_bins, lo, hi, width, start, total, min_mass, min_hessian, l2, lowest, highest,
    direction, lines, out, line,
):  # fmt: skip
    """As `scan_crisp`, where the mass of every bin is spread by a box: sums are linear between its edges."""
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
            s = split_score(left_h, left_g, total[0], total[1], l2, lowest, highest, direction)
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
def scan_missing(
    table, j, n_bins, above, total, min_mass, min_hessian, l2, lowest, highest, direction, out, line
):  # fmt: skip
    """As `scan_crisp`, of one split: all values to the left, missing ones to the right.

    above : a threshold that no value of the node is above
    """
    least = min_mass * SLACK
    left_h = total[0] - table[j, n_bins, 0]
    left_g = total[1] - table[j, n_bins, 1]
    left_w = total[2] - table[j, n_bins, 2]
    enough = left_w > EMPTY * total[2] and left_w >= least and total[2] - left_w >= least
    if enough and left_h >= min_hessian and total[0] - left_h >= min_hessian:
        s = split_score(left_h, left_g, total[0], total[1], l2, lowest, highest, direction)
        if s - TIE * abs(s) > out[line, 0]:
            out[line, 0] = s
            out[line, 1] = above
            out[line, 2] = left_h
            out[line, 3] = left_g
            out[line, 4] = left_w


@compiled
def search_feature(
    table, j, values, lows, highs, offsets, widths, interval, total, min_mass, min_hessian, l2, lowest, highest,
    direction, lines, start, out, line,
):  # fmt: skip
    """Best split on one feature, in line `line` of `out`; missing values go to the side where they do better, or alone.

    Without missing values, those of later points will go to the side with the larger weight.
    """
    n_bins = offsets[j + 1] - offsets[j]
    out[line, GAIN] = -np.inf
    has_missing = table[j, n_bins, 2] > EMPTY * total[2]
    for side in range(2 if has_missing else 1):
        for o in range(3):
            start[o] = table[j, n_bins, o] if side == 1 else 0.0
        before = out[line, GAIN]
        if widths[j] > 0.0:
            scan_boxes(
                table, j, values, offsets[j], n_bins, interval[0, j], interval[1, j], widths[j], start, total,
                min_mass, min_hessian, l2, lowest, highest, direction, lines, out, line,
            )  # fmt: skip
        else:
            scan_crisp(
                table, j, values, lows, highs, offsets[j], n_bins, start, total, min_mass, min_hessian, l2, lowest,
                highest, direction, out, line,
            )  # fmt: skip
        if out[line, GAIN] > before:
            out[line, MISSING_LEFT] = side
    if not has_missing:
        out[line, MISSING_LEFT] = 1.0 if 2.0 * out[line, LEFT_W] >= total[2] else 0.0
    elif n_bins > 0:
        # Known values go left, those of later points that are a little larger too.
        first = offsets[j]
        last = offsets[j + 1] - 1
        above = min(highs[last] + (highs[last] - lows[first]) + widths[j], interval[1, j], LARGEST)
        before = out[line, GAIN]
        scan_missing(
            table, j, n_bins, above, total, min_mass, min_hessian, l2, lowest, highest, direction, out, line,
        )  # fmt: skip
        if out[line, GAIN] > before:
            out[line, MISSING_LEFT] = 0.0


@compiled
def search_block(
    f0, f1, features, codes, rows, shares, rows_sums, leaves, small, large, tables, bounds, values, lows, highs,
    offsets, widths, directions, min_mass, min_hessian, l2, found, block, lines, totals,
):  # fmt: skip
    """Histograms and best splits on the features `f0` to `f1` of the list, for a leaf and its sibling.

    The leaf `small` is added up row by row; `large`, if it is not -1, has its parent's table, from which that of
    `small` is taken. found : (2, n_features, 6); block, lines, totals : scratch space of this block
    """
    slot = int(leaves[small, SLOT])
    for f in range(f0, f1):
        j = features[f]
        for c in range(tables.shape[2]):
            for o in range(3):
                tables[slot, j, c, o] = 0.0
    add_histograms(
        codes, rows, int(leaves[small, BEGIN]), int(leaves[small, SIZE]), shares, rows_sums, features, f0, f1,
        tables[slot], block,
    )  # fmt: skip
    for side in range(2):
        leaf = small if side == 0 else large
        if leaf < 0:
            break
        for o in range(3):
            totals[0, o] = leaves[leaf, SUM_H + o]
        own = int(leaves[leaf, SLOT])
        for f in range(f0, f1):
            j = features[f]
            if side == 1:
                subtract_histogram(tables[own], tables[slot], j)
            direction = 0 if directions is None else directions[j]
            search_feature(
                tables[own], j, values, lows, highs, offsets, widths, bounds[leaf], totals[0], min_mass, min_hessian,
                l2, leaves[leaf, LOWEST], leaves[leaf, HIGHEST], direction, lines, totals[1], found[side], f,
            )  # fmt: skip


def _search_parallel(
    n_blocks, features, codes, rows, shares, rows_sums, leaves, small, large, tables, bounds, values, lows, highs,
    offsets, widths, directions, min_mass, min_hessian, l2, found, block, lines, totals,
):  # fmt: skip
    """`search_block` for all features, a block of them for each thread."""
    p = features.shape[0]
    for b in numba.prange(n_blocks):
        search_block(
            p * b // n_blocks, p * (b + 1) // n_blocks, features, codes, rows, shares, rows_sums, leaves, small, large,
            tables, bounds, values, lows, highs, offsets, widths, directions, min_mass, min_hessian, l2, found,
            block[b], lines[b], totals[b],
        )  # fmt: skip


search_parallel = compiled(_search_parallel, parallel=True)


@compiled
def choose_split(leaves, leaf, found, features, l2, min_gain, splits):
    """Enter the best split of a leaf over its features, the first of equals; a gain of 0 or less is none."""
    leaves[leaf, BEST_FEATURE] = -1
    leaves[leaf, BEST_GAIN] = -np.inf
    base = score(
        leaves[leaf, SUM_G], leaves[leaf, SUM_H], l2, leaves[leaf, LOWEST], leaves[leaf, HIGHEST]
    )  # fmt: skip
    best = -np.inf
    for f in range(features.shape[0]):
        s = found[f, GAIN]
        if s - base > min_gain + TIE * abs(base) and s - TIE * abs(s) > best:
            best = s
            leaves[leaf, BEST_GAIN] = s - base
            leaves[leaf, BEST_FEATURE] = features[f]
            for c in range(found.shape[1]):
                splits[leaf, c] = found[f, c]


@compiled
def divide_rows(
    codes, rows, shares, begin, m, feature, threshold, missing_left, values, offset, n_bins, width, lo, hi, cutoff,
    left_rows, left_shares,
):  # fmt: skip
    """The left child's rows and shares to `left_rows` and `left_shares`; the right child's in place of the node's.

    Returns
    -------
    number of rows on the left and on the right
    """
    n_left = np.int64(0)
    n_right = np.int64(0)
    for k in range(m):
        i = rows[begin + k]
        c = codes[i, feature]
        part = missing_left if c == n_bins else box_share(threshold, values[offset + c], width, lo, hi)
        if shares is None:
            left_rows[n_left] = i
            rows[begin + n_right] = i
            n_left += np.int64(part > 0.5)
            n_right += np.int64(part <= 0.5)
        if shares is not None:
            u = shares[begin + k]
            left = u * part
            left *= np.float64(left >= cutoff)
            right = u - left
            right *= np.float64(right >= cutoff)
            left = u - right
            left_rows[n_left] = i
            left_shares[n_left] = left
            rows[begin + n_right] = i
            shares[begin + n_right] = right
            n_left += np.int64(left > 0.0)
            n_right += np.int64(right > 0.0)
    return n_left, n_right


@compiled
def place_smaller(rows, shares, begin, end, n_left, n_right, left_rows, left_shares):
    """Put the smaller child's rows at the end of the pile, and the larger child's where the node's were."""
    if n_left <= n_right:
        for k in range(n_left):
            rows[end + k] = left_rows[k]
            if shares is not None:
                shares[end + k] = left_shares[k]
        return
    for k in range(n_right):
        rows[end + k] = rows[begin + k]
        if shares is not None:
            shares[end + k] = shares[begin + k]
    for k in range(n_left):
        rows[begin + k] = left_rows[k]
        if shares is not None:
            shares[begin + k] = left_shares[k]


@compiled
def set_sums(leaves, leaf, rows, shares, rows_sums):
    """Add up the sums of a leaf's rows: exactly, not by what the search found."""
    for o in range(3):
        leaves[leaf, SUM_H + o] = 0.0
    begin = int(leaves[leaf, BEGIN])
    h = 0.0
    g = 0.0
    w = 0.0
    for k in range(int(leaves[leaf, SIZE])):
        i = rows[begin + k]
        u = 1.0
        if shares is not None:
            u = shares[begin + k]
        h += u * rows_sums[i, 0]
        g += u * rows_sums[i, 1]
        w += u * rows_sums[i, 2]
    leaves[leaf, SUM_H] = h
    leaves[leaf, SUM_G] = g
    leaves[leaf, SUM_W] = w


@compiled
def next_leaf(leaves, n_leaves, best_first):
    """The open leaf to split next: that with the largest gain, or the last one; -1 if there is none."""
    best = -1
    for leaf in range(n_leaves):
        if leaves[leaf, BEST_FEATURE] >= 0 and (
            best < 0 or not best_first or leaves[leaf, BEST_GAIN] > leaves[best, BEST_GAIN]
        ):
            best = leaf
    return best


@compiled
def write_line(nodes, leaves, leaf, parent, side, l2):
    """Enter a leaf in the node table."""
    line = int(leaves[leaf, LINE])
    nodes[line, NODE_PARENT] = parent
    nodes[line, NODE_SIDE] = side
    nodes[line, NODE_DEPTH] = leaves[leaf, DEPTH]
    nodes[line, NODE_FEATURE] = -1.0
    nodes[line, NODE_THRESHOLD] = np.nan
    nodes[line, NODE_MISSING] = np.nan
    nodes[line, NODE_H] = leaves[leaf, SUM_H]
    nodes[line, NODE_G] = leaves[leaf, SUM_G]
    nodes[line, NODE_W] = leaves[leaf, SUM_W]
    nodes[line, NODE_VALUE] = leaf_value(
        leaves[leaf, SUM_G], leaves[leaf, SUM_H], l2, leaves[leaf, LOWEST], leaves[leaf, HIGHEST]
    )  # fmt: skip


@compiled
def limit_children(leaves, leaf, other, direction, l2):
    """Limits of the values of two children, `leaf` the left one: on a constrained feature both stay on their side."""
    leaves[other, LOWEST] = leaves[leaf, LOWEST]
    leaves[other, HIGHEST] = leaves[leaf, HIGHEST]
    if direction != 0:
        low, high = leaves[leaf, LOWEST], leaves[leaf, HIGHEST]
        middle = 0.5 * (
            leaf_value(leaves[leaf, SUM_G], leaves[leaf, SUM_H], l2, low, high)
            + leaf_value(leaves[other, SUM_G], leaves[other, SUM_H], l2, low, high)
        )
        if direction > 0:
            leaves[leaf, HIGHEST] = middle
            leaves[other, LOWEST] = middle
        else:
            leaves[leaf, LOWEST] = middle
            leaves[other, HIGHEST] = middle


@compiled
def free_slot(leaves, leaf, free, state):
    """Give back the table of a leaf that will not be split."""
    free[state[4]] = np.int64(leaves[leaf, SLOT])
    state[4] += 1


@compiled
def split_leaf(
    leaf, codes, rows_sums, values, offsets, widths, directions, l2, cutoff, state, leaves, splits, bounds, nodes, rows,
    shares, left_rows, left_shares,
):  # fmt: skip
    """Split an open leaf: it becomes the left child, the right child is a new leaf.

    Returns
    -------
    the child with fewer rows and the other one; -1 twice if a side would have no rows, which rounding may do
    """
    begin = int(leaves[leaf, BEGIN])
    j = int(leaves[leaf, BEST_FEATURE])
    threshold = splits[leaf, THRESHOLD]
    n_left, n_right = divide_rows(
        codes, rows, shares, begin, int(leaves[leaf, SIZE]), j, threshold, splits[leaf, MISSING_LEFT], values,
        offsets[j], offsets[j + 1] - offsets[j], widths[j], bounds[leaf, 0, j], bounds[leaf, 1, j], cutoff, left_rows,
        left_shares,
    )  # fmt: skip
    leaves[leaf, BEST_FEATURE] = -1
    end = state[2]
    if n_left > 0 or n_right > 0:
        place_smaller(rows, shares, begin, end, n_left, n_right, left_rows, left_shares)
    if n_left == 0 or n_right == 0:  # all rows are where they were
        return np.int64(-1), np.int64(-1)
    state[2] = end + min(n_left, n_right)
    other = state[1]
    state[1] += 1
    line = int(leaves[leaf, LINE])
    nodes[line, NODE_FEATURE] = j
    nodes[line, NODE_THRESHOLD] = threshold
    nodes[line, NODE_MISSING] = splits[leaf, MISSING_LEFT]
    leaves[other, BEST_FEATURE] = -1
    leaves[leaf, SIZE] = n_left
    leaves[other, SIZE] = n_right
    leaves[leaf, BEGIN] = end if n_left <= n_right else begin
    leaves[other, BEGIN] = begin if n_left <= n_right else end
    leaves[leaf, DEPTH] += 1
    leaves[other, DEPTH] = leaves[leaf, DEPTH]
    leaves[leaf, LINE] = state[0]
    leaves[other, LINE] = state[0] + 1
    state[0] += 2
    set_sums(leaves, leaf, rows, shares, rows_sums)
    set_sums(leaves, other, rows, shares, rows_sums)
    limit_children(leaves, leaf, other, 0 if directions is None else directions[j], l2)
    for k in range(bounds.shape[2]):
        bounds[other, 0, k] = bounds[leaf, 0, k]
        bounds[other, 1, k] = bounds[leaf, 1, k]
    bounds[leaf, 1, j] = threshold
    bounds[other, 0, j] = threshold
    write_line(nodes, leaves, leaf, line, 0, l2)
    write_line(nodes, leaves, other, line, 1, l2)
    small = leaf if n_left <= n_right else other
    large = other if n_left <= n_right else leaf
    leaves[large, SLOT] = leaves[leaf, SLOT]  # the parent's table goes to the larger child
    return small, large


@compiled
def is_splittable(leaves, leaf, max_depth, min_mass):
    """Whether a split of this leaf may be looked for; -1 is no leaf."""
    if leaf < 0:
        return False
    return leaves[leaf, DEPTH] < max_depth and leaves[leaf, SUM_W] >= 2.0 * min_mass * SLACK


@compiled
def grow_boosted(
    codes, rows_sums, values, lows, highs, offsets, widths, features, directions, n_blocks, max_leaves, max_depth,
    min_mass, min_hessian, min_gain, l2, cutoff, best_first, state, free, leaves, splits, bounds, nodes, tables, rows,
    shares, left_rows, left_shares, found, block, lines, totals,
):  # fmt: skip
    """Go on growing until there is no split left, or an array is too short; the caller then makes it longer.

    Parameters
    ----------
    features : list of the features to look at;  directions : (p,) monotonic constraints, or None
    n_blocks : threads to divide the features among; None: one, and no code for several is compiled
    state : (5,) number of nodes, of leaves, length of the pile, whether the root has been searched, free slots
    free : numbers of the free slots of `tables`;  best_first : whether the leaf with the largest gain goes first
    splits : (n_leaves, 6) best split of each open leaf, columns as `found`
    tables : (n_slots, p, n_bins + 1, 3) histograms of the open leaves, by slot
    found : (2, n_features, 6), block, lines, totals : scratch space, the last three for each block
    """
    while True:
        small = np.int64(0)
        large = np.int64(-1)
        if state[3] == 0:  # the root
            state[3] = 1
            set_sums(leaves, 0, rows, shares, rows_sums)
            write_line(nodes, leaves, 0, -1, 0, l2)
            leaves[0, BEST_FEATURE] = -1
        else:
            leaf = next_leaf(leaves, state[1], best_first)
            if leaf < 0 or state[1] >= max_leaves:
                return
            too_short = state[1] == leaves.shape[0] or state[0] + 2 > nodes.shape[0] or state[4] == 0
            if too_short or state[2] + int(leaves[leaf, SIZE]) > rows.shape[0]:
                return
            small, large = split_leaf(
                leaf, codes, rows_sums, values, offsets, widths, directions, l2, cutoff, state, leaves, splits, bounds,
                nodes, rows, shares, left_rows, left_shares,
            )  # fmt: skip
            if small < 0:
                free_slot(leaves, leaf, free, state)
                continue
            if state[1] >= max_leaves:
                return
        may_small = is_splittable(leaves, small, max_depth, min_mass)
        may_large = is_splittable(leaves, large, max_depth, min_mass)
        if not may_small and not may_large:
            if large >= 0:
                free_slot(leaves, large, free, state)
            continue
        state[4] -= 1
        leaves[small, SLOT] = free[state[4]]
        sibling = large if may_large else np.int64(-1)
        in_threads = False
        if n_blocks is not None:
            in_threads = (leaves[small, SIZE] + 2 * tables.shape[2]) * features.shape[0] > WORTH_THREADS
        if not in_threads:
            search_block(
                np.int64(0), features.shape[0], features, codes, rows, shares, rows_sums, leaves, small, sibling,
                tables, bounds, values, lows, highs, offsets, widths, directions, min_mass, min_hessian, l2, found,
                block[0], lines[0], totals[0],
            )  # fmt: skip
        if n_blocks is not None:  # noqa: SIM102 (compiled code drops the outer branch if there is one block)
            if in_threads:
                search_parallel(
                    n_blocks, features, codes, rows, shares, rows_sums, leaves, small, sibling, tables, bounds,
                    values, lows, highs, offsets, widths, directions, min_mass, min_hessian, l2, found, block, lines,
                    totals,
                )  # fmt: skip
        if may_small:
            choose_split(leaves, small, found[0], features, l2, min_gain, splits)
        if may_large:
            choose_split(leaves, large, found[1], features, l2, min_gain, splits)
        if leaves[small, BEST_FEATURE] < 0:
            free_slot(leaves, small, free, state)
        if large >= 0 and leaves[large, BEST_FEATURE] < 0:
            free_slot(leaves, large, free, state)


@compiled
def add_leaf_values(leaves, n_leaves, rows, shares, nodes, raw, column):
    """Add to the raw scores of the training rows what the leaves they are in predict, by membership."""
    for leaf in range(n_leaves):
        value = nodes[int(leaves[leaf, LINE]), NODE_VALUE]
        begin = int(leaves[leaf, BEGIN])
        for k in range(int(leaves[leaf, SIZE])):
            if shares is None:
                raw[rows[begin + k], column] += value
            if shares is not None:
                raw[rows[begin + k], column] += shares[begin + k] * value
