"""Growing the trees of boosting, the best leaf first.

Binning, adding up histograms, choosing a split and dividing the rows are separate steps; histograms and the choice of
a split are in `softwood.loops.boost_search`, which also says what the arguments are that recur here.
"""

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.boost_search import (
    BEGIN,
    BEST_FEATURE,
    BEST_GAIN,
    DEPTH,
    HIGHEST,
    LINE,
    LOWEST,
    MISSING_LEFT,
    SIZE,
    SLOT,
    SUM_G,
    SUM_H,
    SUM_W,
    THRESHOLD,
    choose_split,
    leaf_value,
    search_block,
    search_parallel,
)
from softwood.loops.kernel import box_share
from softwood.loops.scan import SLACK

# Columns of the node table.
NODE_PARENT, NODE_SIDE, NODE_DEPTH, NODE_FEATURE, NODE_THRESHOLD, NODE_MISSING, NODE_H, NODE_G, NODE_W, NODE_VALUE = (
    range(10)
)
NODE_COLUMNS = 10
# Cells of a search that are worth waking other threads for.
WORTH_THREADS = 1 << 15


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
