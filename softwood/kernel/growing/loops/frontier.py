"""The frontier of a growing tree: the nodes whose split is not made yet, and the rows of these nodes.

Nodes that were just made wait on a stack, to be searched. In depth-first growth, a node is divided as soon as it is
searched. In best-first growth, it moves to a heap, and the node with the largest gain is divided next.
"""

from typing import NamedTuple

import numpy as np

from softwood.kernel.growing.loops.groups import NO_SETS

# A node whose split is not made yet.
OPEN_NODE = np.dtype(
    [
        ("node", np.int64),  # its number; -1 until it is visited
        ("parent", np.int64),
        ("side", np.int64),
        ("depth", np.int64),
        ("begin", np.int64),  # its rows are those from here on
        ("size", np.int64),
        ("seed", np.uint64),
        ("min_mass", np.float64),  # smallest mass of a child that the search looks for
        ("feature", np.int64),  # the split that the search has found; -1: none yet
        ("threshold", np.float64),
        ("missing_left", np.float64),
        ("gain", np.float64),
    ]
)
COUNTS = np.dtype(
    [
        ("n_nodes", np.int64),  # visited
        ("n_waiting", np.int64),
        ("n_open", np.int64),
        ("n_rows", np.int64),
        ("n_splits", np.int64),
        ("most_splits", np.int64),
        ("most_nodes", np.int64),  # return to the caller after so many
        ("few_rows", np.int64),  # nodes with at most so many rows are not searched, but left on the heap
    ]
)


class Frontier(NamedTuple):
    """The state of growing.

    Attributes
    ----------
    counts : (1,) of type `COUNTS`
    stop : (1,) not 0 if growth is to be given up
    lines, sums, subsets : the visited nodes, see `softwood.kernel.growing.loops.groups.NodeTable`; without columns of
        `subsets` if no feature has categories
    stack : (capacity,) of type `OPEN_NODE`: the nodes that wait to be searched, the next one last
    intervals : (capacity, 2, p) their lower and upper ends on each feature
    heap : (capacity,) of type `OPEN_NODE`: the nodes that are searched and not divided; entry k has a gain at least as
        large as those of 2 k + 1 and 2 k + 2
    gains : (capacity,) gains of the splits in the order in which they were made
    rows, shares : (capacity,) rows of the nodes and their shares. Rows at the end are given back with their node, so
        that those of depth-first growth are the rows of a path
    """

    counts: np.ndarray
    stop: np.ndarray
    lines: np.ndarray
    sums: np.ndarray
    stack: np.ndarray
    intervals: np.ndarray
    heap: np.ndarray
    gains: np.ndarray
    rows: np.ndarray
    shares: np.ndarray
    subsets: np.ndarray = NO_SETS


def is_full(frontier):
    """Whether an array is too short for the next node: to visit all that wait, and to divide the last one of them."""
    n_waiting = frontier.counts[0]["n_waiting"]
    return (
        frontier.counts[0]["n_nodes"] + n_waiting > frontier.lines.shape[0]
        or n_waiting + 1 > frontier.stack.shape[0]
        or frontier.counts[0]["n_open"] + 1 > frontier.heap.shape[0]
        or frontier.counts[0]["n_splits"] + 1 > frontier.gains.shape[0]
        or frontier.counts[0]["n_rows"] + frontier.stack[n_waiting - 1]["size"] > frontier.rows.shape[0]
    )


def visit(frontier, at):
    """Give the node at place `at` of the stack a number, and begin its line as that of a leaf."""
    if frontier.stack[at]["node"] >= 0:
        return
    node = frontier.counts[0]["n_nodes"]
    frontier.counts[0]["n_nodes"] += 1
    frontier.stack[at]["node"] = node
    frontier.lines[node]["parent"] = frontier.stack[at]["parent"]
    frontier.lines[node]["side"] = frontier.stack[at]["side"]
    frontier.lines[node]["depth"] = frontier.stack[at]["depth"]
    frontier.lines[node]["feature"] = -1
    frontier.lines[node]["threshold"] = np.nan
    frontier.lines[node]["missing_left"] = np.nan


def find_intervals(lines, node, intervals):
    """Lower and upper end of a node on each feature, (2, p): the nearest thresholds on its way up."""
    for j in range(intervals.shape[1]):
        intervals[0, j] = -np.inf
        intervals[1, j] = np.inf
    parent = lines[node]["parent"]
    while parent >= 0:
        j = lines[parent]["feature"]
        threshold = lines[parent]["threshold"]  # nan at a split of categories
        if lines[node]["side"] == 0:
            intervals[1, j] = threshold if threshold < intervals[1, j] else intervals[1, j]
        else:
            intervals[0, j] = threshold if threshold > intervals[0, j] else intervals[0, j]
        node = parent
        parent = lines[node]["parent"]


def split_intervals(intervals, at, feature, threshold):
    """Replace the interval of the node at place `at` of the stack by those of its children, the left one last."""
    for j in range(intervals.shape[2]):
        intervals[at + 1, 0, j] = intervals[at, 0, j]
        intervals[at + 1, 1, j] = intervals[at, 1, j]
    if not np.isnan(threshold):  # it is nan at a split of categories
        intervals[at + 1, 1, feature] = threshold
        intervals[at, 0, feature] = threshold


def append_rows(left_rows, left_shares, n, rows, shares, end):
    """Copy `n` rows of a left child and their shares to the place `end`."""
    for k in range(n):
        rows[end + k] = left_rows[k]
        shares[end + k] = left_shares[k]


def comes_before(nodes, one, others, other):
    """Whether a node is divided before another: the larger gain, or the older one of equal gains."""
    if nodes[one]["gain"] == others[other]["gain"]:
        return nodes[one]["node"] < others[other]["node"]
    return nodes[one]["gain"] > others[other]["gain"]


def push_open(frontier, at):
    """Copy a node of the stack to the heap."""
    heap, stack = frontier.heap, frontier.stack
    place = frontier.counts[0]["n_open"]
    while place > 0:
        above = (place - 1) >> 1
        if not comes_before(stack, at, heap, above):
            break
        heap[place] = heap[above]
        place = above
    heap[place] = stack[at]
    frontier.counts[0]["n_open"] += 1


def pop_open(frontier):
    """Move the node with the largest gain from the heap to the stack, which is empty."""
    heap = frontier.heap
    frontier.stack[0] = heap[0]
    find_intervals(frontier.lines, heap[0]["node"], frontier.intervals[0])
    frontier.counts[0]["n_waiting"] = 1
    last = frontier.counts[0]["n_open"] - 1
    place = 0
    while 2 * place + 1 < last:
        below = 2 * place + 1
        if below + 1 < last and comes_before(heap, below + 1, heap, below):
            below += 1
        if comes_before(heap, last, heap, below):
            break
        heap[place] = heap[below]
        place = below
    heap[place] = heap[last]
    frontier.counts[0]["n_open"] = last
