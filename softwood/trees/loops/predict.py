"""Fast predictions of trees with axis-aligned gates.

In crisp trees, the children of a node are a row of two numbers and the choice between them is computed, not branched
on: which way a point goes cannot be predicted, and a wrong guess of the processor costs more than the whole step.

Trees with kernels take many rows at once, node by node: the rows of a node are a list, and its gate makes the lists of
its two children from it, again without a branch. A row that the gate divides is in both lists.
`softwood.trees.loops.walk` has the loops for everything else.
"""

from typing import NamedTuple

import numpy as np

from softwood.trees.loops.kernel import box_share, kernel_cdf
from softwood.trees.loops.sets import has_member

LANES = 8  # rows that go down together: the processor waits for memory once for all of them

# A node of a tree with kernels, in half a cache line. A point up to `low` goes left as a whole, and one from `high` on
# goes right; `high` is above `low`, also at crisp gates, and both are nan at leaves.
GATE = np.dtype(
    [("low", "f8"), ("high", "f8"), ("feature", "u4"), ("left", "u4"), ("right", "u4"), ("kernel", "u4")]
)  # fmt: skip

# What stands for the kernel of a gate that tests a set of categories.
BY_SET = 2**32 - 1

# A row in the list of a node, and its share there.
ITEM = np.dtype([("row", "i8"), ("share", "f8")])

# Columns of a frame: its node, the list of rows that are still to go to the right child, the bound that the frame sets
# on the kernels of these rows, and the frame that set the same bound before it.
NODE, BEGIN, END, BOUND, BEFORE = 0, 1, 2, 3, 4
LOWER, UPPER, NEITHER = 0, 1, 2

# With larger half-widths, lengths of boxes may overflow.
LARGEST_WIDTH = 1e150


class KernelTrees(NamedTuple):
    """Trees of kernel gates, their nodes numbered through.

    Attributes
    ----------
    gates : (n_nodes,) of type `GATE`
    missing_left, thresholds, widths : (n_nodes,);  edges, cdfs : the tables of the kernel shapes
    only_boxes : whether all kernels are boxes, which `low` and `high` describe completely
    subsets : (n_nodes, n_words) sets of categories
    """

    gates: np.ndarray
    missing_left: np.ndarray
    thresholds: np.ndarray
    widths: np.ndarray
    edges: np.ndarray
    cdfs: np.ndarray
    only_boxes: bool
    subsets: np.ndarray


class Lists(NamedTuple):
    """Scratch space for blocks of up to `block` rows, and trees of up to `height` levels of gates.

    Attributes
    ----------
    items : (block * (height + 2),) of type `ITEM`, lists of rows, one after the other
    spare : (2 * block + 1,) of type `ITEM`, rows that go left, from the front; rows to be divided, from the back
    frames : (height + 1, 5) int64 nodes of the path with something left to do
    bounds : (2, p) int64 last frame that set the lower and the upper bound of each feature; -1 before and after
    """

    items: np.ndarray
    spare: np.ndarray
    frames: np.ndarray
    bounds: np.ndarray


def go_down(points, begin, lanes, root, tests, thresholds, subsets, node):
    """Take the rows from `begin` on, at most `LANES`, from the root of a tree of crisp tests to their leaves.

    Parameters
    ----------
    tests : (n_nodes, 3) uint32 feature, left and right child; leaves are their own children
    thresholds : (n_nodes,) inf at leaves, nan at sets of categories
    subsets : (n_nodes, n_words) these sets; None if there are none
    node : (LANES,) the leaves
    """
    for lane in range(lanes):
        node[lane] = root
    moving = True
    while moving:
        moving = False
        for lane in range(lanes):
            at = node[lane]
            x = points[begin + lane, tests[at, 0]]
            side = int(x > thresholds[at])
            if subsets is not None:  # noqa: SIM102 (compiled code drops the outer branch if there are none)
                if np.isnan(thresholds[at]):
                    side = int(not has_member(subsets, at, int(x)))
            below = tests[at, 1 + side]
            moving |= below != at
            node[lane] = below


def crisp_leaves_fast(points, tests, thresholds, subsets, out):
    """Leaf that each row reaches in a tree of crisp tests; arguments as in `go_down`."""
    node = np.empty(LANES, np.uint32)
    for begin in range(0, points.shape[0], LANES):
        lanes = min(LANES, points.shape[0] - begin)
        go_down(points, begin, lanes, 0, tests, thresholds, subsets, node)
        for lane in range(lanes):
            out[begin + lane] = node[lane]


def partition(points, j, low, high, items, start, stop, spare):
    """Take the list of a node apart, without branches.

    Rows up to `low` go to the front of `spare`, rows from `high` on stay at the start of the list, and rows between
    them, or with a missing value, go to the back of `spare`.

    Returns
    -------
    n_left, n_right : numbers of rows on each side
    """
    n_left = 0
    n_right = start
    back = spare.shape[0] - 1
    for k in range(start, stop):
        x = points[items[k]["row"], j]
        is_left = x <= low
        is_right = x >= high
        spare[n_left if is_left else back] = items[k]
        items[n_right] = items[k]
        n_left += is_left
        n_right += is_right
        back -= not (is_left | is_right)
    return n_left, n_right - start


def partition_by_set(points, j, subsets, node, items, start, stop, spare):
    """`partition` for a set of categories: rows are to be divided if the value is missing."""
    n_left = 0
    n_right = start
    back = spare.shape[0] - 1
    for k in range(start, stop):
        x = points[items[k]["row"], j]
        is_known = not np.isnan(x)
        is_left = is_known and has_member(subsets, node, int(x) if is_known else 0)
        spare[n_left if is_left else back] = items[k]
        items[n_right] = items[k]
        n_left += is_left
        n_right += is_known and not is_left
        back -= not is_known
    return n_left, n_right - start


def partition_cells(points, cells, j, node, trees, items, start, stop, spare):
    """`partition` for rows with half-widths of their own."""
    gates, edges = trees.gates, trees.edges
    low, high, kernel = gates[node]["low"], gates[node]["high"], gates[node]["kernel"]
    threshold = trees.thresholds[node]
    first, last = edges[kernel, 0], edges[kernel, edges.shape[1] - 1]
    n_left = 0
    n_right = start
    back = spare.shape[0] - 1
    for k in range(start, stop):
        row = items[k]["row"]
        x, width = points[row, j], cells[row, j]
        has_own = not np.isnan(width)
        own_low, own_high = threshold - last * width, threshold - first * width
        end = own_low if has_own else low
        is_left = x <= end
        is_right = x >= (own_high if has_own else high)
        is_right &= x > end
        spare[n_left if is_left else back] = items[k]
        items[n_right] = items[k]
        n_left += is_left
        n_right += is_right
        back -= not (is_left | is_right)
    return n_left, n_right - start


def mass_below(x, width, node, trees):
    """Mass at or below the threshold of a node of the kernel around `x`; width : half-width, nan: that of the node."""
    gate = trees.gates[node]
    if np.isnan(width):
        if trees.only_boxes:
            if x <= gate["low"]:
                return 1.0
            if x >= gate["high"]:
                return 0.0
            return (gate["high"] - x) / (gate["high"] - gate["low"])
        width = trees.widths[node]
    return kernel_cdf(trees.thresholds[node], x, width, gate["kernel"], trees.edges, trees.cdfs)


def far_end(side, j, thresholds, frames, bounds):
    """The largest of the thresholds that bound feature `j` from below, or the smallest of those from above."""
    end = -np.inf if side == LOWER else np.inf
    frame = bounds[side, j]
    while frame >= 0:
        threshold = thresholds[frames[frame, NODE]]
        end = max(end, threshold) if side == LOWER else min(end, threshold)
        frame = frames[frame, BEFORE]
    return end


def bound_mass(side, x, width, j, trees, frames, bounds):
    """The largest `mass_below` of the nodes that bound feature `j` from below, or the smallest of those from above."""
    end = 0.0 if side == LOWER else 1.0
    frame = bounds[side, j]
    while frame >= 0:
        mass = mass_below(x, width, frames[frame, NODE], trees)
        end = max(end, mass) if side == LOWER else min(end, mass)
        frame = frames[frame, BEFORE]
    return end


def divide(points, cells, node, begin, n_left, n_right, n_between, trees, lists):
    """Divide the rows between the ends of a gate, and append their parts to the lists of both sides.

    The earlier gates of the path on the same feature have left only the mass between a lower and an upper bound.

    Parameters
    ----------
    cells : (n, p) half-widths of single cells (nan: those of the nodes), or None
    begin : of the list of rows that go right
    n_left, n_right, n_between : numbers of rows that go left, that go right, and that are to be divided
    trees : `KernelTrees`;  lists : `Lists`

    Returns
    -------
    n_left, n_right : with the parts
    """
    only_boxes = trees.only_boxes
    j = trees.gates[node]["feature"]
    last = lists.spare.shape[0] - 1
    lo, hi = -np.inf, np.inf  # the node's interval, for rows with half-widths of their own
    if cells is not None:
        lo = far_end(LOWER, j, trees.thresholds, lists.frames, lists.bounds)
        hi = far_end(UPPER, j, trees.thresholds, lists.frames, lists.bounds)
    for k in range(n_between):
        row = lists.spare[last - k]["row"]
        share = lists.spare[last - k]["share"]
        x = points[row, j]
        width = np.nan
        if cells is not None:
            width = cells[row, j]
        if np.isnan(x):
            left = share * trees.missing_left[node]
        elif only_boxes and width < LARGEST_WIDTH:
            left = share * box_share(trees.thresholds[node], x, width, lo, hi)
        else:
            lower = bound_mass(LOWER, x, width, j, trees, lists.frames, lists.bounds)
            upper = bound_mass(UPPER, x, width, j, trees, lists.frames, lists.bounds)
            mass = mass_below(x, width, node, trees)
            left = share if mass >= upper else 0.0 if mass <= lower else share * (mass - lower) / (upper - lower)
        right = share - left
        if left > 0.0:
            lists.spare[n_left]["row"] = row
            lists.spare[n_left]["share"] = left
            n_left += 1
        if right > 0.0:
            lists.items[begin + n_right]["row"] = row
            lists.items[begin + n_right]["share"] = right
            n_right += 1
    return n_left, n_right


def next_list(gates, frames, bounds, height):
    """After a leaf, go on with the last frame whose right branch is still to do, and take back what others have set.

    Returns
    -------
    height, node, begin, end : number of frames, and where the list of rows is; a height of -1 if all is done
    """
    while height > 0:
        top = height - 1
        node = frames[top, NODE]
        begin, end, which = frames[top, BEGIN], frames[top, END], frames[top, BOUND]
        j = gates[node]["feature"]
        if which != NEITHER:
            bounds[which, j] = frames[top, BEFORE]
        if end > begin:
            if which == NEITHER:
                height = top
            else:  # what was an upper bound on the left is a lower bound on the right
                frames[top, END] = begin
                frames[top, BOUND] = LOWER
                frames[top, BEFORE] = bounds[LOWER, j]
                bounds[LOWER, j] = top
            return height, gates[node]["right"], begin, end
        height = top
    return -1, 0, 0, 0


def add_block(points, cells, begin, end, root, trees, lists, value, first, out):
    """Add shares of leaves times their values for the rows `begin` to `end`, and one tree of kernel gates.

    Parameters
    ----------
    cells : (n, p) half-widths of single cells, or None
    root : node to start from;  trees : `KernelTrees`;  lists : `Lists`
    first : column of `out` that the first value goes to
    """
    gates, subsets = trees.gates, trees.subsets
    n = end - begin
    for k in range(n):
        lists.items[k]["row"] = begin + k
        lists.items[k]["share"] = 1.0
    start = 0
    stop = n
    node = root
    height = 0
    while height >= 0:
        low = gates[node]["low"]
        if np.isnan(low):
            for k in range(start, stop):
                row = lists.items[k]["row"]
                share = lists.items[k]["share"]
                for o in range(value.shape[1]):
                    out[row, first + o] += share * value[node, o]
            height, node, start, stop = next_list(gates, lists.frames, lists.bounds, height)
            continue
        j = gates[node]["feature"]
        by_set = gates[node]["kernel"] == BY_SET
        if by_set:
            n_left, n_right = partition_by_set(points, j, subsets, node, lists.items, start, stop, lists.spare)
        elif cells is not None:
            n_left, n_right = partition_cells(points, cells, j, node, trees, lists.items, start, stop, lists.spare)
        else:
            n_left, n_right = partition(points, j, low, gates[node]["high"], lists.items, start, stop, lists.spare)
        n_between = stop - start - n_left - n_right
        if n_between > 0:
            n_left, n_right = divide(points, cells, node, start, n_left, n_right, n_between, trees, lists)
        goes_left = n_left > 0
        if n_between > 0 or (goes_left and n_right > 0):
            lists.frames[height, NODE] = node
            lists.frames[height, BEGIN] = start
            lists.frames[height, END] = start + n_right if goes_left else start
            lists.frames[height, BOUND] = NEITHER
            if n_between > 0 and not by_set:
                side = UPPER if goes_left else LOWER
                lists.frames[height, BOUND] = side
                lists.frames[height, BEFORE] = lists.bounds[side, j]
                lists.bounds[side, j] = height
            height += 1
        start, stop = (start + n_right, start + n_right + n_left) if goes_left else (start, start + n_right)
        node = gates[node]["left"] if goes_left else gates[node]["right"]
        for k in range(n_left):
            lists.items[start + k] = lists.spare[k]


def add_kernel_trees(points, cells, numbers, offsets, output, block, trees, lists, value, copy, out):
    """Add shares of leaves times their values, for trees of kernel gates.

    All trees add a block of rows before the next block is taken, so that its values stay in the processor's cache.

    Parameters
    ----------
    cells : (n, p) half-widths of single cells (nan: those of the nodes), or None
    numbers : of the trees to add;  offsets : (n_trees + 1,) root of each
    output : (n_trees,) first column of `out` that a tree's values go to
    block : rows to take at once;  trees : `KernelTrees`;  lists : `Lists`
    copy : (block, p) scratch space for a block of rows, which is read in one go here: waiting for rows one by one takes
        longer than all gates of a small tree; (0, p) if rows are to be read where they are
    """
    for begin in range(0, points.shape[0], block):
        end = min(begin + block, points.shape[0])
        part = points[begin:end]
        sums = out[begin:end]
        widths = None
        if cells is not None:
            widths = cells[begin:end]
        if copy.shape[0] > 0:
            for i in range(end - begin):
                for j in range(points.shape[1]):
                    copy[i, j] = part[i, j]
            part = copy
        for k in range(numbers.shape[0]):
            t = numbers[k]
            add_block(part, widths, 0, end - begin, offsets[t], trees, lists, value, output[t], sums)


def add_crisp_trees(points, numbers, offsets, output, tests, thresholds, subsets, value, out):
    """Add the values of the leaves that each row reaches, for trees of crisp tests.

    Arguments are as in `add_kernel_trees` and `go_down`.
    """
    n = points.shape[0]
    node = np.empty(LANES, np.uint32)
    for k in range(numbers.shape[0]):
        t = numbers[k]
        first = output[t]
        for begin in range(0, n, LANES):
            lanes = min(LANES, n - begin)
            go_down(points, begin, lanes, offsets[t], tests, thresholds, subsets, node)
            for lane in range(lanes):
                for o in range(value.shape[1]):
                    out[begin + lane, first + o] += value[node[lane], o]
