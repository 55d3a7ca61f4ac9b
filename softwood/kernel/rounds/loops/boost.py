"""Growing the trees of boosting, the best leaf first.

Binning, adding up histograms, choosing a split and dividing the rows are separate steps; histograms and the choice of
a split are in `softwood.kernel.rounds.loops.boost_search`; `boost_scores` says what the arguments are that recur here.
"""

from typing import NamedTuple

import numpy as np

from softwood.kernel.growing.loops.groups import NO_SETS, SPLIT
from softwood.kernel.rounds.loops.boost_categories import set_subset
from softwood.kernel.rounds.loops.boost_scores import LEFT_G, LEFT_H, LEFT_W, MISSING_LEFT, THRESHOLD, leaf_value
from softwood.kernel.rounds.loops.boost_search import (
    DIVIDED,
    LENGTH,
    N_FREE,
    N_LEAVES,
    N_NODES,
    SEARCHED,
    SIBLING,
    add_block,
    choose_split,
    count_blocks,
    is_splittable,
    search_part,
)
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
    state : (7,) number of nodes (0: the root is still to come), of leaves, length of the pile, free slots; the leaf to
        search with its sibling, -1 if there is none; and the leaf whose rows are to be divided, -1 if there is none
    free : numbers of the free slots of the histograms
    leaves : (capacity,) the leaves;  splits : (capacity, 6) the best split of each open one, columns as of `found`
    bounds : (capacity, 2, p) their intervals;  nodes : (capacity,) of type `NODE`
    rows : (capacity,) rows of the leaves, one after the other
    left_rows, right_rows : (n,) scratch space; (0,) is enough for the right ones if leaves are not divided by blocks
    parts : (most + 1,) shares of the bins of the feature by which a leaf is divided
    counts : (MOST_BLOCKS, 2) numbers of rows of each of its blocks that go left, and right
    sums : (MOST_BLOCKS, 3) sums of those that go to the side with fewer rows
    shares, left_shares, right_shares : memberships that go with the rows; None if no kernel has a width
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
    right_rows: np.ndarray
    parts: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    shares: np.ndarray | None = None
    left_shares: np.ndarray | None = None
    right_shares: np.ndarray | None = None
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


def set_parts(bins, j, reach, split, interval, parts):
    """Share of the rows of each bin that goes left, and that of rows without a value after the last bin.

    reach : half-width of each bin, see `Edges`
    split : threshold, and share of rows without a value that goes left;  interval : the node's ends on the feature
    """
    threshold, missing_left = split
    lo, hi = interval
    offset = bins.offsets[j]
    n_bins = bins.offsets[j + 1] - offset
    for c in range(n_bins):
        parts[c] = box_share(threshold, bins.values[offset + c], reach[offset + c], lo, hi)
    parts[n_bins] = missing_left


def set_category_parts(bins, j, subsets, leaf, missing_left, parts):
    """As `set_parts`, for a column of categories: 1 in the leaf's set, 0 outside."""
    offset = bins.offsets[j]
    n_bins = bins.offsets[j + 1] - offset
    for c in range(n_bins):
        parts[c] = 1.0 if has_member(subsets, leaf, int(bins.values[offset + c])) else 0.0
    parts[n_bins] = missing_left


def set_leaf_parts(leaf, bins, edges, pile):
    """Shares of the bins of a leaf's feature that go left by its best split."""
    j = pile.leaves[leaf]["feature"]
    threshold, missing_left = pile.splits[leaf, THRESHOLD], pile.splits[leaf, MISSING_LEFT]
    if is_category(bins.n_categories, j):
        set_category_parts(bins, j, pile.subsets, leaf, missing_left, pile.parts)
    else:
        interval = pile.bounds[leaf, 0, j], pile.bounds[leaf, 1, j]
        set_parts(bins, j, edges.reach, (threshold, missing_left), interval, pile.parts)


def divide_rows(codes, j, cutoff, pile, begin, end, left_at, right_at, is_apart):
    """Share some rows of a leaf between its children by `pile.parts`, as `softwood.kernel.growing.loops.divide`.

    Parameters
    ----------
    codes : see `Columns`;  left_at : where the left child's rows begin in `pile.left_rows`
    right_at : where the right child's begin: in `pile.right_rows`, or, if not `is_apart`, in `pile.rows`

    Returns
    -------
    number of rows on the left and on the right
    """
    rows, shares, parts = pile.rows, pile.shares, pile.parts
    left_rows, left_shares = pile.left_rows, pile.left_shares
    right_rows = pile.right_rows if is_apart else rows
    right_shares = pile.right_shares if is_apart else shares
    n_left = left_at
    n_right = right_at
    # Written on both sides and counted where there is a share, without branches: which side a row is on cannot be
    # predicted. By its sign, a share below the cutoff is multiplied by 0: a comparison would become a branch.
    if shares is None:
        for k in range(begin, end):
            i = rows[k]
            is_left = parts[codes[j, i]] > 0.5
            left_rows[n_left] = i
            right_rows[n_right] = i
            n_left += is_left
            n_right += not is_left
    else:
        for k in range(begin, end):
            i = rows[k]
            left_rows[n_left] = i
            right_rows[n_right] = i
            u = shares[k]
            left = u * parts[codes[j, i]]
            left *= 0.5 + np.copysign(0.5, left - cutoff)
            right = u - left
            right *= 0.5 + np.copysign(0.5, right - cutoff)
            left = u - right
            left_shares[n_left] = left
            right_shares[n_right] = right
            n_left += left > 0.0
            n_right += right > 0.0
    return n_left - left_at, n_right - right_at


def sum_rows(rows, shares, begin, end, rows_sums):
    """Sums h, g, w of some rows of the pile."""
    h = 0.0
    g = 0.0
    w = 0.0
    if shares is None:
        for k in range(begin, end):
            i = rows[k]
            h += rows_sums[i, 0]
            g += rows_sums[i, 1]
            w += rows_sums[i, 2]
    else:
        for k in range(begin, end):
            i = rows[k]
            u = shares[k]
            h += u * rows_sums[i, 0]
            g += u * rows_sums[i, 1]
            w += u * rows_sums[i, 2]
    return h, g, w


def copy_rows(rows, shares, begin, end, new_rows, new_shares, at):
    """Copy some rows and their shares to `at`."""
    for k in range(end - begin):
        new_rows[at + k] = rows[begin + k]
    if shares is not None:
        for k in range(end - begin):
            new_shares[at + k] = shares[begin + k]


def count_sides(counts, n_blocks):
    """Numbers of rows on the left and on the right, of the first blocks together."""
    n_left = 0
    n_right = 0
    for b in range(n_blocks):
        n_left += counts[b, 0]
        n_right += counts[b, 1]
    return n_left, n_right


def divide_leaf(leaf, columns, rows_sums, pile, cutoff):
    """Divide a leaf's rows: those of the side with fewer rows go to the end of the pile, the others stay where it was.

    With shares, the smaller side is added up, block by block. `divide_block` and then `place_block`, for all blocks, do
    the same, in threads.
    """
    begin, size, end = pile.leaves[leaf]["begin"], pile.leaves[leaf]["size"], pile.state[LENGTH]
    j = pile.leaves[leaf]["feature"]
    n_blocks = count_blocks(size)
    n_left = 0
    n_right = 0
    for b in range(n_blocks):
        first, last = begin + size * b // n_blocks, begin + size * (b + 1) // n_blocks
        left, right = divide_rows(columns.codes, j, cutoff, pile, first, last, n_left, begin + n_right, False)
        pile.counts[b, 0], pile.counts[b, 1] = left, right
        n_left += left
        n_right += right
    if n_left > n_right:
        copy_rows(pile.rows, pile.shares, begin, begin + n_right, pile.rows, pile.shares, end)
        copy_rows(pile.left_rows, pile.left_shares, 0, n_left, pile.rows, pile.shares, begin)
    else:
        copy_rows(pile.left_rows, pile.left_shares, 0, n_left, pile.rows, pile.shares, end)
    if pile.shares is not None:
        side = 0 if n_left <= n_right else 1
        for b in range(n_blocks):
            last = end + pile.counts[b, side]
            pile.sums[b, 0], pile.sums[b, 1], pile.sums[b, 2] = sum_rows(pile.rows, pile.shares, end, last, rows_sums)
            end = last


def divide_block(place, columns, pile, cutoff):
    """Divide the rows of a block of the leaf that `pile.state` names.

    place : number of the block, and that of all blocks
    """
    b, n_blocks = place
    leaf = pile.state[DIVIDED]
    begin, size = pile.leaves[leaf]["begin"], pile.leaves[leaf]["size"]
    first, last = size * b // n_blocks, size * (b + 1) // n_blocks
    j = pile.leaves[leaf]["feature"]
    left, right = divide_rows(columns.codes, j, cutoff, pile, begin + first, begin + last, first, first, True)
    pile.counts[b, 0], pile.counts[b, 1] = left, right


def place_block(place, rows_sums, pile):
    """Put the rows of a block where `divide_leaf` puts them, once all blocks are divided, and add them up.

    place : as of `divide_block`
    """
    b, n_blocks = place
    leaf = pile.state[DIVIDED]
    begin, size = pile.leaves[leaf]["begin"], pile.leaves[leaf]["size"]
    first = size * b // n_blocks
    n_left, n_right = count_sides(pile.counts, n_blocks)
    left_at, right_at = count_sides(pile.counts, b)
    left_at += pile.state[LENGTH] if n_left <= n_right else begin
    right_at += begin if n_left <= n_right else pile.state[LENGTH]
    left, right = pile.counts[b, 0], pile.counts[b, 1]
    copy_rows(pile.left_rows, pile.left_shares, first, first + left, pile.rows, pile.shares, left_at)
    copy_rows(pile.right_rows, pile.right_shares, first, first + right, pile.rows, pile.shares, right_at)
    if pile.shares is not None:
        at = left_at if n_left <= n_right else right_at
        last = at + (left if n_left <= n_right else right)
        pile.sums[b, 0], pile.sums[b, 1], pile.sums[b, 2] = sum_rows(pile.rows, pile.shares, at, last, rows_sums)


def set_sums(leaves, leaf, rows, shares, rows_sums):
    """Add up the sums of a leaf's rows."""
    begin = leaves[leaf]["begin"]
    end = begin + leaves[leaf]["size"]
    leaves[leaf]["h"], leaves[leaf]["g"], leaves[leaf]["w"] = sum_rows(rows, shares, begin, end, rows_sums)


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


def split_leaf(leaf, bins, pile, directions, rules):
    """Split an open leaf whose rows are divided: it becomes the left child, the right child is a new leaf.

    Without shares, the sums of the children are those that the search has found. With shares, which the cutoff may
    have changed, those of the child with fewer rows were added up, and those of the other one are what is left.

    Returns
    -------
    the child with fewer rows and the other one; -1 twice if a side would have no rows, which rounding may do
    """
    state, leaves, splits, bounds, nodes = pile.state, pile.leaves, pile.splits, pile.bounds, pile.nodes
    begin = leaves[leaf]["begin"]
    j = leaves[leaf]["feature"]
    threshold, missing_left = splits[leaf, THRESHOLD], splits[leaf, MISSING_LEFT]
    by_set = is_category(bins.n_categories, j)
    n_blocks = count_blocks(leaves[leaf]["size"])
    n_left, n_right = count_sides(pile.counts, n_blocks)
    leaves[leaf]["feature"] = -1
    if n_left == 0 or n_right == 0:  # all rows are where they were
        return -1, -1
    end = state[LENGTH]
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
        leaves[small]["h"], leaves[small]["g"], leaves[small]["w"] = 0.0, 0.0, 0.0
        for b in range(n_blocks):
            leaves[small]["h"] += pile.sums[b, 0]
            leaves[small]["g"] += pile.sums[b, 1]
            leaves[small]["w"] += pile.sums[b, 2]
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


def settle_leaf(leaf, pile, rows_sums, l2):
    """Add up the sums of a leaf exactly, without the rounding errors of differences, and enter its value."""
    set_sums(pile.leaves, leaf, pile.rows, pile.shares, rows_sums)
    line = pile.leaves[leaf]["line"]
    write_line(pile.nodes, pile.leaves, leaf, pile.nodes[line]["parent"], pile.nodes[line]["side"], l2)


def settle_leaves(pile, rows_sums, l2):
    """`settle_leaf` for all leaves."""
    for leaf in range(pile.state[N_LEAVES]):
        settle_leaf(leaf, pile, rows_sums, l2)


def is_too_short(pile, leaf):
    """Whether an array has no room for the children of a leaf."""
    state = pile.state
    if state[N_LEAVES] == pile.leaves.shape[0] or state[N_NODES] + 2 > pile.nodes.shape[0] or state[N_FREE] == 0:
        return True
    return state[LENGTH] + pile.leaves[leaf]["size"] > pile.rows.shape[0]


def next_search(bins, columns, edges, rows_sums, directions, rules, pile, most_rows):
    """Split leaves until there is one to search or to divide, or an array is too short, or the tree is finished.

    The leaf to search and its sibling, or the leaf to divide, are entered in the state.
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
            leaf = state[DIVIDED]
            state[DIVIDED] = -1
            if leaf < 0:
                leaf = next_leaf(leaves, state[N_LEAVES], rules.best_first)
                if leaf < 0 or state[N_LEAVES] >= rules.max_leaves or is_too_short(pile, leaf):
                    return
                set_leaf_parts(leaf, bins, edges, pile)
                if leaves[leaf]["size"] > most_rows:
                    state[DIVIDED] = leaf
                    return
                divide_leaf(leaf, columns, rows_sums, pile, rules.cutoff)
            small, large = split_leaf(leaf, bins, pile, directions, rules)
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


def grow_boosted(bins, columns, edges, rows_sums, features, directions, rules, pile, space, most, most_rows):
    """Go on growing until there is no split left, or the caller has something to do.

    The caller makes arrays longer that are too short. If there is a leaf to divide (see `Pile`), the caller divides all
    of its blocks, and then places them. If there is a leaf to search, the caller adds up its blocks, if there are
    several, and then searches all parts of the features. If an array is too short or the tree is finished, there is
    neither.

    Parameters
    ----------
    features : list of the features to look at;  directions : (p,) monotonic constraints, or None
    most : a search that costs more than this, see `search_cost`, is left to the caller
    most_rows : the division of a leaf with more rows is left to the caller
    """
    state = pile.state
    is_soft = edges.places.shape[1] > 0
    while True:
        if state[SEARCHED] >= 0:
            end_search(bins, features, rules, pile, space)
        next_search(bins, columns, edges, rows_sums, directions, rules, pile, most_rows)
        if state[SEARCHED] < 0:
            return
        size = pile.leaves[state[SEARCHED]]["size"]
        if search_cost(size, space.tables.shape[2], is_soft) > most:
            return
        n_blocks = count_blocks(size)
        for b in range(n_blocks if n_blocks > 1 else 0):
            add_block((b, n_blocks, 0), bins, rows_sums, pile, features, space)
        search_part((0, 1), bins, edges, rows_sums, pile, features, directions, rules, space)


def first_row(rows, begin, end, row):
    """Place of the first row in a part of the pile that is not below `row`; rows are in ascending order there."""
    while begin < end:
        middle = (begin + end) >> 1
        if rows[middle] < row:
            begin = middle + 1
        else:
            end = middle
    return begin


def add_leaf_values(leaves, rows, shares, nodes, first, last, scores):
    """Add to the raw scores (n,) of the rows from `first` to `last` what the leaves they are in predict, by membership.

    The rows of each leaf are in ascending order.
    """
    for leaf in range(leaves.shape[0]):
        value = nodes[leaves[leaf]["line"]]["value"]
        begin = leaves[leaf]["begin"]
        end = begin + leaves[leaf]["size"]
        begin = first_row(rows, begin, end, first)
        end = first_row(rows, begin, end, last)
        if shares is None:
            for k in range(begin, end):
                scores[rows[k]] += value
        else:
            for k in range(begin, end):
                scores[rows[k]] += shares[k] * value
