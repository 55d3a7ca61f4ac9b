"""Growing the trees of boosting, the best leaf first.

Binning, adding up histograms, choosing a split and dividing the rows are separate steps; histograms and the choice of
a split are in `softwood.loops.boost_search`, which also says what the arguments are that recur here.
"""

from typing import NamedTuple

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.boost_search import (
    MISSING_LEFT,
    THRESHOLD,
    choose_split,
    leaf_value,
    search_block,
    search_parallel,
)
from softwood.loops.groups import SPLIT
from softwood.loops.grow import divide
from softwood.loops.scan import SLACK

# A line of the node table, with sums of hessian, gradient and weight.
NODE = np.dtype([*SPLIT, *((name, np.float64) for name in ("h", "g", "w", "value"))])
# Cells of a search that are worth waking other threads for.
WORTH_THREADS = 1 << 15


class Pile(NamedTuple):
    """The state of growing.

    Attributes
    ----------
    state : (5,) number of nodes, of leaves, length of the pile, whether the root has been searched, free slots
    free : numbers of the free slots of the histograms
    leaves : (capacity,) the leaves;  splits : (capacity, 6) the best split of each open one, columns as of `found`
    bounds : (capacity, 2, p) their intervals;  nodes : (capacity,) of type `NODE`
    rows : (capacity,) rows of the leaves, one after the other;  left_rows : (n,) scratch space
    """

    state: np.ndarray
    free: np.ndarray
    leaves: np.ndarray
    splits: np.ndarray
    bounds: np.ndarray
    nodes: np.ndarray
    rows: np.ndarray
    left_rows: np.ndarray


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
    begin = leaves[leaf]["begin"]
    h = 0.0
    g = 0.0
    w = 0.0
    for k in range(leaves[leaf]["size"]):
        i = rows[begin + k]
        u = 1.0
        if shares is not None:
            u = shares[begin + k]
        h += u * rows_sums[i, 0]
        g += u * rows_sums[i, 1]
        w += u * rows_sums[i, 2]
    leaves[leaf]["h"] = h
    leaves[leaf]["g"] = g
    leaves[leaf]["w"] = w


@compiled
def next_leaf(leaves, n_leaves, best_first):
    """The open leaf to split next: that with the largest gain, or the last one; -1 if there is none."""
    best = -1
    for leaf in range(n_leaves):
        if leaves[leaf]["feature"] >= 0 and (best < 0 or not best_first or leaves[leaf]["gain"] > leaves[best]["gain"]):
            best = leaf
    return best


@compiled
def write_line(nodes, leaves, leaf, parent, side, l2):
    """Enter a leaf in the node table."""
    line = leaves[leaf]["line"]
    nodes[line]["parent"] = parent
    nodes[line]["side"] = side
    nodes[line]["depth"] = leaves[leaf]["depth"]
    nodes[line]["feature"] = -1
    nodes[line]["threshold"] = np.nan
    nodes[line]["missing_left"] = np.nan
    nodes[line]["h"] = leaves[leaf]["h"]
    nodes[line]["g"] = leaves[leaf]["g"]
    nodes[line]["w"] = leaves[leaf]["w"]
    nodes[line]["value"] = leaf_value(
        leaves[leaf]["g"], leaves[leaf]["h"], l2, leaves[leaf]["lowest"], leaves[leaf]["highest"]
    )  # fmt: skip


@compiled
def limit_children(leaves, leaf, other, direction, l2):
    """Limits of the values of two children, `leaf` the left one: on a constrained feature both stay on their side."""
    low, high = leaves[leaf]["lowest"], leaves[leaf]["highest"]
    leaves[other]["lowest"] = low
    leaves[other]["highest"] = high
    if direction != 0:
        middle = 0.5 * (
            leaf_value(leaves[leaf]["g"], leaves[leaf]["h"], l2, low, high)
            + leaf_value(leaves[other]["g"], leaves[other]["h"], l2, low, high)
        )
        if direction > 0:
            leaves[leaf]["highest"] = middle
            leaves[other]["lowest"] = middle
        else:
            leaves[leaf]["lowest"] = middle
            leaves[other]["highest"] = middle


@compiled
def free_slot(leaves, leaf, free, state):
    """Give back the table of a leaf that will not be split."""
    free[state[4]] = leaves[leaf]["slot"]
    state[4] += 1


@compiled
def split_leaf(leaf, bins, widths, rows_sums, pile, shares, left_shares, directions, rules):
    """Split an open leaf: it becomes the left child, the right child is a new leaf.

    Returns
    -------
    the child with fewer rows and the other one; -1 twice if a side would have no rows, which rounding may do
    """
    state, _, leaves, splits, bounds, nodes, rows, left_rows = pile
    begin = leaves[leaf]["begin"]
    j = leaves[leaf]["feature"]
    threshold, missing_left = splits[leaf, THRESHOLD], splits[leaf, MISSING_LEFT]
    n_left, n_right = divide(
        bins, widths, None, rows, shares, begin, leaves[leaf]["size"], (j, threshold, missing_left),
        (bounds[leaf, 0, j], bounds[leaf, 1, j]), rules.cutoff, left_rows, left_shares,
    )  # fmt: skip
    leaves[leaf]["feature"] = -1
    end = state[2]
    if n_left > 0 or n_right > 0:
        place_smaller(rows, shares, begin, end, n_left, n_right, left_rows, left_shares)
    if n_left == 0 or n_right == 0:  # all rows are where they were
        return np.int64(-1), np.int64(-1)
    state[2] = end + min(n_left, n_right)
    other = state[1]
    state[1] += 1
    line = leaves[leaf]["line"]
    nodes[line]["feature"] = j
    nodes[line]["threshold"] = threshold
    nodes[line]["missing_left"] = missing_left
    depth = leaves[leaf]["depth"] + 1
    for side in range(2):
        child = leaf if side == 0 else other
        is_left = side == 0
        leaves[child]["size"] = n_left if is_left else n_right
        leaves[child]["begin"] = end if is_left == (n_left <= n_right) else begin
        leaves[child]["depth"] = depth
        leaves[child]["line"] = state[0] + side
        leaves[child]["feature"] = -1
        set_sums(leaves, child, rows, shares, rows_sums)
    state[0] += 2
    direction = np.int64(0)
    if directions is not None:
        direction = np.int64(directions[j])
    limit_children(leaves, leaf, other, direction, rules.l2)
    for k in range(bounds.shape[2]):
        bounds[other, 0, k] = bounds[leaf, 0, k]
        bounds[other, 1, k] = bounds[leaf, 1, k]
    bounds[leaf, 1, j] = threshold
    bounds[other, 0, j] = threshold
    for side in range(2):
        write_line(nodes, leaves, leaf if side == 0 else other, line, side, rules.l2)
    small = leaf if n_left <= n_right else other
    large = other if n_left <= n_right else leaf
    leaves[large]["slot"] = leaves[leaf]["slot"]  # the parent's table goes to the larger child
    return small, large


@compiled
def is_splittable(leaves, leaf, max_depth, min_mass):
    """Whether a split of this leaf may be looked for; -1 is no leaf."""
    if leaf < 0:
        return False
    return leaves[leaf]["depth"] < max_depth and leaves[leaf]["w"] >= 2.0 * min_mass * SLACK


@compiled
def grow_boosted(bins, widths, rows_sums, features, directions, n_blocks, rules, pile, shares, left_shares, space):
    """Go on growing until there is no split left, or an array is too short; the caller then makes it longer.

    Parameters
    ----------
    features : list of the features to look at;  directions : (p,) monotonic constraints, or None
    n_blocks : threads to divide the features among; None: one, and no code for several is compiled
    shares, left_shares : memberships that go with `pile.rows` and `pile.left_rows`, or None
    """
    state, free, leaves, splits, _, nodes, rows, _ = pile
    max_leaves, max_depth, min_mass, _, min_gain, l2, _, best_first = rules
    tables, found, _, _, _ = space
    root, none, one = np.int64(0), np.int64(-1), np.int64(1)  # plain numbers would be types of their own
    while True:
        small = root
        large = none
        if state[3] == 0:
            state[3] = 1
            set_sums(leaves, root, rows, shares, rows_sums)
            write_line(nodes, leaves, root, none, root, l2)
            leaves[root]["feature"] = -1
        else:
            leaf = next_leaf(leaves, state[1], best_first)
            if leaf < 0 or state[1] >= max_leaves:
                return
            too_short = state[1] == leaves.shape[0] or state[0] + 2 > nodes.shape[0] or state[4] == 0
            if too_short or state[2] + leaves[leaf]["size"] > rows.shape[0]:
                return
            small, large = split_leaf(leaf, bins, widths, rows_sums, pile, shares, left_shares, directions, rules)
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
        leaves[small]["slot"] = free[state[4]]
        sibling = large if may_large else none
        in_threads = False
        if n_blocks is not None:
            in_threads = (leaves[small]["size"] + 2 * tables.shape[2]) * features.shape[0] > WORTH_THREADS
        if not in_threads:
            search_block(
                (root, one), bins, widths, rows_sums, pile, shares, small, sibling, features, directions, rules, space
            )
        if n_blocks is not None:  # noqa: SIM102 (compiled code drops the outer branch if there is one block)
            if in_threads:
                search_parallel(
                    n_blocks, bins, widths, rows_sums, pile, shares, small, sibling, features, directions, rules, space
                )
        if may_small:
            choose_split(leaves, small, found[0], features, l2, min_gain, splits)
        if may_large:
            choose_split(leaves, large, found[1], features, l2, min_gain, splits)
        if leaves[small]["feature"] < 0:
            free_slot(leaves, small, free, state)
        if large >= 0 and leaves[large]["feature"] < 0:
            free_slot(leaves, large, free, state)


@compiled
def add_leaf_values(leaves, n_leaves, rows, shares, nodes, raw, column):
    """Add to the raw scores of the training rows what the leaves they are in predict, by membership."""
    for leaf in range(n_leaves):
        value = nodes[leaves[leaf]["line"]]["value"]
        begin = leaves[leaf]["begin"]
        for k in range(leaves[leaf]["size"]):
            if shares is None:
                raw[rows[begin + k], column] += value
            if shares is not None:
                raw[rows[begin + k], column] += shares[begin + k] * value
