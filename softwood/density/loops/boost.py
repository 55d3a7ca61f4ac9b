"""Growing the trees of boosting, the best leaf first.

Binning, adding up histograms, choosing a split and dividing the rows are separate steps; histograms and the choice of
a split are in `softwood.density.loops.boost_search`, which also says what the arguments are that recur here.
"""

from typing import NamedTuple

import numpy as np

from softwood.density.loops.boost_search import (
    LEFT_G,
    LEFT_H,
    LEFT_W,
    LENGTH,
    MISSING_LEFT,
    N_FREE,
    N_LEAVES,
    N_NODES,
    SEARCHED,
    SIBLING,
    THRESHOLD,
    add_block,
    choose_split,
    count_blocks,
    is_splittable,
    leaf_value,
    search_part,
    set_subset,
)
from softwood.density.loops.groups import NO_SETS, SPLIT
from softwood.trees.loops.kernel import box_share
from softwood.trees.loops.sets import has_member, is_category

# A line of the node table, with sums of hessian, gradient and weight.
NODE = np.dtype([*SPLIT, *((name, np.float64) for name in ("h", "g", "w", "value"))])


class Columns(NamedTuple):
    """The codes of the bins, (p, n): dividing the rows reads one feature only."""

    codes: np.ndarray


class Pile(NamedTuple):
    """The state of growing.

    Attributes
    ----------
    state : (6,) number of nodes (0: the root is still to come), of leaves, length of the pile, free slots; and the
        leaf to search with its sibling, -1 if there is none
    free : numbers of the free slots of the histograms
    leaves : (capacity,) the leaves;  splits : (capacity, 6) the best split of each open one, columns as of `found`
    bounds : (capacity, 2, p) their intervals;  nodes : (capacity,) of type `NODE`
    rows : (capacity,) rows of the leaves, one after the other;  left_rows : (n,) scratch space
    parts : (most + 1,) scratch space
    shares, left_shares : memberships that go with `rows` and `left_rows`; None if no kernel has a width
    subsets, node_subsets : (capacity, n_words) sets of categories of the open leaves, and of the nodes
    """

    state: np.ndarray
    free: np.ndarray
    leaves: np.ndarray
    splits: np.ndarray
    bounds: np.ndarray
    nodes: np.ndarray
    rows: np.ndarray
    left_rows: np.ndarray
    parts: np.ndarray
    shares: np.ndarray | None = None
    left_shares: np.ndarray | None = None
    subsets: np.ndarray = NO_SETS
    node_subsets: np.ndarray = NO_SETS


def begin_tree(state, free, leaves, bounds):
    """Make the rows of the pile one leaf, whose sums are still to come, with all slots free.

    The state has the number of the rows and that of the slots.
    """
    n_slots = state[N_FREE]
    for slot in range(n_slots):
        free[slot] = n_slots - 1 - slot
    leaves[0]["begin"], leaves[0]["size"], leaves[0]["line"], leaves[0]["depth"] = 0, state[LENGTH], 0, 0
    leaves[0]["feature"], leaves[0]["lowest"], leaves[0]["highest"] = -1, -np.inf, np.inf
    for j in range(bounds.shape[2]):
        bounds[0, 0, j] = -np.inf
        bounds[0, 1, j] = np.inf


def set_parts(bins, j, width, split, interval, parts):
    """Share of the rows of each bin that goes left, and that of rows without a value after the last bin.

    split : threshold, and share of rows without a value that goes left;  interval : the node's ends on the feature
    """
    threshold, missing_left = split
    lo, hi = interval
    offset = bins.offsets[j]
    n_bins = bins.offsets[j + 1] - offset
    for c in range(n_bins):
        parts[c] = box_share(threshold, bins.values[offset + c], width, lo, hi)
    parts[n_bins] = missing_left


def set_category_parts(bins, j, subsets, leaf, missing_left, parts):
    """As `set_parts`, for a column of categories: 1 in the leaf's set, 0 outside."""
    offset = bins.offsets[j]
    n_bins = bins.offsets[j + 1] - offset
    for c in range(n_bins):
        parts[c] = 1.0 if has_member(subsets, leaf, int(bins.values[offset + c])) else 0.0
    parts[n_bins] = missing_left


def divide_by_bin(codes, j, parts, rows, shares, begin, m, cutoff, left_rows, left_shares):
    """Share the rows of a node between its children, as `softwood.density.loops.grow.divide`, by the parts of their bins.

    codes : (p, n) see `Columns`

    Returns
    -------
    number of rows on the left and on the right
    """
    n_left = 0
    n_right = 0
    # Written on both sides and counted where there is a share, without branches: which side a row is on cannot be
    # predicted. By its sign, a share below the cutoff is multiplied by 0: a comparison would become a branch.
    if shares is None:
        for k in range(m):
            i = rows[begin + k]
            is_left = parts[codes[j, i]] > 0.5
            left_rows[n_left] = i
            rows[begin + n_right] = i
            n_left += is_left
            n_right += not is_left
        return n_left, n_right
    for k in range(m):
        i = rows[begin + k]
        left_rows[n_left] = i
        rows[begin + n_right] = i
        u = shares[begin + k]
        left = u * parts[codes[j, i]]
        left *= 0.5 + np.copysign(0.5, left - cutoff)
        right = u - left
        right *= 0.5 + np.copysign(0.5, right - cutoff)
        left = u - right
        left_shares[n_left] = left
        shares[begin + n_right] = right
        n_left += left > 0.0
        n_right += right > 0.0
    return n_left, n_right


def place_smaller(rows, shares, begin, end, n_left, n_right, left_rows, left_shares):
    """Put the smaller child's rows at the end of the pile, and the larger child's where the node's were."""
    if n_left <= n_right:
        for k in range(n_left):
            rows[end + k] = left_rows[k]
        if shares is not None:
            for k in range(n_left):
                shares[end + k] = left_shares[k]
        return
    for k in range(n_right):
        rows[end + k] = rows[begin + k]
    for k in range(n_left):
        rows[begin + k] = left_rows[k]
    if shares is not None:
        for k in range(n_right):
            shares[end + k] = shares[begin + k]
        for k in range(n_left):
            shares[begin + k] = left_shares[k]


def set_sums(leaves, leaf, rows, shares, rows_sums):
    """Add up the sums of a leaf's rows."""
    begin = leaves[leaf]["begin"]
    h = 0.0
    g = 0.0
    w = 0.0
    if shares is None:
        for k in range(leaves[leaf]["size"]):
            i = rows[begin + k]
            h += rows_sums[i, 0]
            g += rows_sums[i, 1]
            w += rows_sums[i, 2]
    else:
        for k in range(leaves[leaf]["size"]):
            i = rows[begin + k]
            u = shares[begin + k]
            h += u * rows_sums[i, 0]
            g += u * rows_sums[i, 1]
            w += u * rows_sums[i, 2]
    leaves[leaf]["h"] = h
    leaves[leaf]["g"] = g
    leaves[leaf]["w"] = w


def next_leaf(leaves, n_leaves, best_first):
    """The open leaf to split next: that with the largest gain, or the last one; -1 if there is none."""
    best = -1
    for leaf in range(n_leaves):
        if leaves[leaf]["feature"] >= 0 and (best < 0 or not best_first or leaves[leaf]["gain"] > leaves[best]["gain"]):
            best = leaf
    return best


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


def free_slot(leaves, leaf, free, state):
    """Give back the table of a leaf that will not be split."""
    free[state[N_FREE]] = leaves[leaf]["slot"]
    state[N_FREE] += 1


def split_leaf(leaf, bins, columns, edges, rows_sums, pile, directions, rules):
    """Split an open leaf: it becomes the left child, the right child is a new leaf.

    Without shares, the sums of the children are those that the search has found. With shares, which the cutoff may
    have changed, those of the child with fewer rows are added up, and those of the other one are what is left.

    Returns
    -------
    the child with fewer rows and the other one; -1 twice if a side would have no rows, which rounding may do
    """
    state, leaves, splits, bounds, nodes = pile.state, pile.leaves, pile.splits, pile.bounds, pile.nodes
    begin = leaves[leaf]["begin"]
    j = leaves[leaf]["feature"]
    threshold, missing_left = splits[leaf, THRESHOLD], splits[leaf, MISSING_LEFT]
    by_set = is_category(bins.n_categories, j)
    if by_set:
        set_category_parts(bins, j, pile.subsets, leaf, missing_left, pile.parts)
    else:
        interval = bounds[leaf, 0, j], bounds[leaf, 1, j]
        set_parts(bins, j, edges.widths[j], (threshold, missing_left), interval, pile.parts)
    n_left, n_right = divide_by_bin(
        columns.codes, j, pile.parts, pile.rows, pile.shares, begin, leaves[leaf]["size"], rules.cutoff, pile.left_rows,
        pile.left_shares,
    )  # fmt: skip
    leaves[leaf]["feature"] = -1
    end = state[LENGTH]
    if n_left > 0 or n_right > 0:
        place_smaller(pile.rows, pile.shares, begin, end, n_left, n_right, pile.left_rows, pile.left_shares)
    if n_left == 0 or n_right == 0:  # all rows are where they were
        return -1, -1
    state[LENGTH] = end + min(n_left, n_right)
    other = state[N_LEAVES]
    state[N_LEAVES] += 1
    line = leaves[leaf]["line"]
    nodes[line]["feature"] = j
    nodes[line]["threshold"] = np.nan if by_set else threshold
    nodes[line]["missing_left"] = missing_left
    if by_set:
        for word in range(pile.subsets.shape[1]):
            pile.node_subsets[line, word] = pile.subsets[leaf, word]
    small = leaf if n_left <= n_right else other
    large = other if n_left <= n_right else leaf
    h, g, w = leaves[leaf]["h"], leaves[leaf]["g"], leaves[leaf]["w"]
    leaves[small]["begin"], leaves[small]["size"] = end, min(n_left, n_right)
    leaves[large]["begin"], leaves[large]["size"] = begin, max(n_left, n_right)
    if pile.shares is None:
        is_left = small == leaf
        left_h, left_g, left_w = splits[leaf, LEFT_H], splits[leaf, LEFT_G], splits[leaf, LEFT_W]
        leaves[small]["h"] = left_h if is_left else h - left_h
        leaves[small]["g"] = left_g if is_left else g - left_g
        leaves[small]["w"] = left_w if is_left else w - left_w
    else:
        set_sums(leaves, small, pile.rows, pile.shares, rows_sums)
    leaves[large]["h"] = h - leaves[small]["h"]
    leaves[large]["g"] = g - leaves[small]["g"]
    leaves[large]["w"] = w - leaves[small]["w"]
    leaves[large]["slot"] = leaves[leaf]["slot"]  # the parent's table goes to the larger child
    depth = leaves[leaf]["depth"] + 1
    direction = 0
    if directions is not None:
        direction = directions[j]
    limit_children(leaves, leaf, other, direction, rules.l2)
    for k in range(bounds.shape[2]):
        bounds[other, 0, k] = bounds[leaf, 0, k]
        bounds[other, 1, k] = bounds[leaf, 1, k]
    if not by_set:
        bounds[leaf, 1, j] = threshold
        bounds[other, 0, j] = threshold
    for side in range(2):
        child = leaf if side == 0 else other
        leaves[child]["depth"] = depth
        leaves[child]["line"] = state[N_NODES]
        leaves[child]["feature"] = -1
        state[N_NODES] += 1
        write_line(nodes, leaves, child, line, side, rules.l2)
    return small, large


def settle_leaves(leaves, n_leaves, nodes, rows, shares, rows_sums, l2):
    """Add up the sums of all leaves exactly, without the rounding errors of differences, and enter their values."""
    for leaf in range(n_leaves):
        set_sums(leaves, leaf, rows, shares, rows_sums)
        line = leaves[leaf]["line"]
        write_line(nodes, leaves, leaf, nodes[line]["parent"], nodes[line]["side"], l2)


def next_search(bins, columns, edges, rows_sums, directions, rules, pile):
    """Split leaves until there is one to search, or an array is too short, or the tree is finished.

    The leaf to search and its sibling are entered in the state.
    """
    state, free, leaves, nodes = pile.state, pile.free, pile.leaves, pile.nodes
    small, large = 0, -1
    while True:
        if state[N_NODES] == 0:
            begin_tree(state, free, leaves, pile.bounds)
            state[N_NODES] = 1
            set_sums(leaves, small, pile.rows, pile.shares, rows_sums)
            write_line(nodes, leaves, small, large, small, rules.l2)
        else:
            leaf = next_leaf(leaves, state[N_LEAVES], rules.best_first)
            if leaf < 0 or state[N_LEAVES] >= rules.max_leaves:
                return
            too_short = state[N_LEAVES] == leaves.shape[0] or state[N_NODES] + 2 > nodes.shape[0] or state[N_FREE] == 0
            if too_short or state[LENGTH] + leaves[leaf]["size"] > pile.rows.shape[0]:
                return
            small, large = split_leaf(leaf, bins, columns, edges, rows_sums, pile, directions, rules)
            if small < 0:
                free_slot(leaves, leaf, free, state)
                continue
            if state[N_LEAVES] >= rules.max_leaves:
                return
        may_large = is_splittable(leaves, large, rules.max_depth, rules.min_mass)
        if large >= 0 and not may_large:
            free_slot(leaves, large, free, state)
        if may_large or is_splittable(leaves, small, rules.max_depth, rules.min_mass):
            state[N_FREE] -= 1
            leaves[small]["slot"] = free[state[N_FREE]]
            state[SEARCHED] = small
            state[SIBLING] = large if may_large else -1
            return


def end_search(bins, features, rules, pile, space):
    """Enter the best splits of the leaves that were searched."""
    state, leaves, splits = pile.state, pile.leaves, pile.splits
    for side in range(2):
        leaf = state[SEARCHED] if side == 0 else state[SIBLING]
        if leaf >= 0:
            if is_splittable(leaves, leaf, rules.max_depth, rules.min_mass):
                choose_split(leaves, leaf, space.found[side], features, rules.l2, rules.min_gain, splits)
            j = leaves[leaf]["feature"]
            if j >= 0 and is_category(bins.n_categories, j):
                split = splits[leaf, THRESHOLD], splits[leaf, LEFT_W]
                set_subset(
                    space.tables[leaves[leaf]["slot"]], j, bins, leaves[leaf]["w"], split, rules, space.keys[0],
                    space.ranks[0], pile.subsets, leaf,
                )  # fmt: skip
            if j < 0:
                free_slot(leaves, leaf, pile.free, state)
    state[SEARCHED] = -1
    state[SIBLING] = -1


def search_cost(size, n_bins, is_soft):
    """Time that a search takes for each feature, in that of adding one row to a histogram."""
    return size + 2 * n_bins * (10 if is_soft else 3)


def grow_boosted(bins, columns, edges, rows_sums, features, directions, rules, pile, space, most):
    """Go on growing until there is no split left, or the caller has something to do.

    The caller makes arrays longer that are too short; and if a leaf is to be searched (see `Pile`), it adds up its
    blocks, if there are several, and searches all parts of the features. If an array is too short or the tree is
    finished, there is no leaf to search.

    Parameters
    ----------
    features : list of the features to look at;  directions : (p,) monotonic constraints, or None
    most : a search that costs more than this, see `search_cost`, is left to the caller
    """
    state = pile.state
    is_soft = edges.places.shape[1] > 0
    while True:
        if state[SEARCHED] >= 0:
            end_search(bins, features, rules, pile, space)
        next_search(bins, columns, edges, rows_sums, directions, rules, pile)
        if state[SEARCHED] < 0:
            return
        size = pile.leaves[state[SEARCHED]]["size"]
        if search_cost(size, space.tables.shape[2], is_soft) > most:
            return
        n_blocks = count_blocks(size)
        for b in range(n_blocks if n_blocks > 1 else 0):
            add_block((b, n_blocks, 0), bins, rows_sums, pile, features, space)
        search_part((0, 1), bins, edges, rows_sums, pile, features, directions, rules, space)


def add_leaf_values(leaves, n_leaves, rows, shares, nodes, scores):
    """Add to the raw scores (n,) of the training rows what the leaves they are in predict, by membership."""
    for leaf in range(n_leaves):
        value = nodes[leaves[leaf]["line"]]["value"]
        begin = leaves[leaf]["begin"]
        if shares is None:
            for k in range(leaves[leaf]["size"]):
                scores[rows[begin + k]] += value
        else:
            for k in range(leaves[leaf]["size"]):
                scores[rows[begin + k]] += shares[begin + k] * value
