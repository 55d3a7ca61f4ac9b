"""Growing a kernel tree best first: always the leaf whose split gains most.

All nodes stay in the order in which they came to be. So the tree with any smaller number of leaves is the beginning of
the table: its splits are the first ones. A tree that has grown to a number of leaves can go on growing.
"""

from typing import NamedTuple

import numpy as np

from softwood.kernel.growing.loops.groups import NO_SETS, Goal
from softwood.kernel.growing.loops.grow import (
    divide,
    divide_by_set,
    draw_features,
    keep_set,
    merit_and_impurity,
    number_labels,
    search_node,
    tie_of,
    weigh,
)
from softwood.kernel.growing.loops.scan import SLACK
from softwood.kernel.growing.loops.scan_random import search_random
from softwood.trees.loops.random import next_seed
from softwood.trees.loops.sets import is_category

# A node while the tree grows: where its rows are, and its best split.
OPEN = np.dtype(
    [
        ("begin", np.int64),
        ("size", np.int64),
        ("feature", np.int64),
        ("gain", np.float64),
        ("threshold", np.float64),
        ("missing_left", np.float64),
        ("least", np.float64),  # smallest mass of a child that the search looks for
    ]
)
# Entries of the state.
N_NODES, N_SEARCHED, N_ROWS, N_SPLITS, N_OPEN, MOST_SPLITS, MOST_NODES, AGAIN = range(8)


class OpenPile(NamedTuple):
    """The state of growing.

    Attributes
    ----------
    state : (8,) number of nodes, of nodes whose best split has been searched, length of the pile, number of splits, of
        open nodes; how many splits to make, after how many nodes to return, and the node that is to be searched
        again, -1 if there is none
    stop : (1,) not 0 if growing is to be given up
    lines, sums : the nodes, see `softwood.kernel.growing.loops.groups.NodeTable`
    nodes : (capacity,) of type `OPEN`;  seeds : (capacity,)
    heap : (capacity,) the open nodes, those with a split that is not made yet: entry k comes before 2 k + 1 and 2 k + 2
    order : (capacity,) the nodes that are split, in the order of their splits
    intervals : (2, p) scratch space
    rows, shares : (capacity,) rows and shares of the nodes
    subsets : as in `softwood.kernel.growing.loops.tree_groups.Pile`
    """

    state: np.ndarray
    stop: np.ndarray
    lines: np.ndarray
    sums: np.ndarray
    nodes: np.ndarray
    seeds: np.ndarray
    heap: np.ndarray
    order: np.ndarray
    intervals: np.ndarray
    rows: np.ndarray
    shares: np.ndarray
    subsets: np.ndarray = NO_SETS


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


def comes_before(nodes, one, other):
    """Whether a node is split before another: the larger gain, or the older one of equal gains."""
    if nodes[one]["gain"] == nodes[other]["gain"]:
        return one < other
    return nodes[one]["gain"] > nodes[other]["gain"]


def open_node(nodes, heap, n, node):
    """Add a node to the `n` open ones."""
    place = n
    while place > 0:
        above = (place - 1) >> 1
        if not comes_before(nodes, node, heap[above]):
            break
        heap[place] = heap[above]
        place = above
    heap[place] = node


def close_first(nodes, heap, n):
    """Take the first of the `n` open nodes away."""
    last = heap[n - 1]
    place = 0
    while 2 * place + 1 < n - 1:
        below = 2 * place + 1
        if below + 1 < n - 1 and comes_before(nodes, heap[below + 1], heap[below]):
            below += 1
        if comes_before(nodes, last, heap[below]):
            break
        heap[place] = heap[below]
        place = below
    heap[place] = last


def enter_child(lines, child, parent, side):
    """Begin the line of a new leaf."""
    lines[child]["parent"] = parent
    lines[child]["side"] = side
    lines[child]["depth"] = lines[parent]["depth"] + 1
    lines[child]["feature"] = -1
    lines[child]["threshold"] = np.nan
    lines[child]["missing_left"] = np.nan


def grow_best_first(bins, widths, kernels, labels, targets, rules, criterion, pile, desk, search, random):
    """Go on growing until there is no split left or enough are made, an array is too short, or stopped.

    The caller makes arrays longer, tells of progress, and calls again. Arguments are as in
    `softwood.kernel.growing.loops.grow.grow`, `pile` is an `OpenPile`.

    Returns
    -------
    whether there is no split left, or enough are made
    """
    state, lines, nodes, seeds, rows, shares = pile.state, pile.lines, pile.nodes, pile.seeds, pile.rows, pile.shares
    intervals, min_mass = pile.intervals, rules.min_mass
    while pile.stop[0] == 0 and state[N_NODES] < state[MOST_NODES]:
        if state[N_SPLITS] == state[MOST_SPLITS]:  # the last leaves are searched if growth goes on
            for node in range(state[N_SEARCHED], state[N_NODES]):
                begin = nodes[node]["begin"]
                weigh(rows, begin, shares, nodes[node]["size"], labels, targets, desk, lines, pile.sums, node)
            return True
        if state[AGAIN] >= 0 or state[N_SEARCHED] < state[N_NODES]:
            node = state[AGAIN]
            if node < 0:
                node = state[N_SEARCHED]
                state[N_SEARCHED] += 1
            state[AGAIN] = -1
            begin = nodes[node]["begin"]
            m = nodes[node]["size"]
            weigh(rows, begin, shares, m, labels, targets, desk, lines, pile.sums, node)
            mass = lines[node]["mass"]
            base, impure = merit_and_impurity(lines, pile.sums, node, criterion, rules.is_class)
            least = max(min_mass, nodes[node]["least"])
            if lines[node]["depth"] >= rules.max_depth or mass < 2.0 * least * SLACK or impure <= 1e-12 * mass:
                continue
            find_intervals(lines, node, intervals)
            draw_features(desk.order, bins.priority, seeds[node], rules.n_draw)
            n_outputs = number_labels(pile.sums, node, m, desk)
            goal = Goal(mass, base, least, tie_of(base, impure, mass), n_outputs, criterion, rules.rare_mass)
            feature, threshold, left_mass, gain = -1, np.nan, 0.0, 0.0
            if search is not None:
                feature, threshold, left_mass, gain = search_node(
                    bins, widths, kernels, rows, begin, m, desk, rules.n_draw, intervals, goal, search
                )
                keep_set(search.subset.found, pile.subsets, node)
            else:
                feature, threshold, left_mass, gain = search_random(
                    bins, widths, kernels, rows, begin, m, desk, rules.n_draw, intervals, goal, seeds[node], random
                )
                keep_set(random.subset, pile.subsets, node)
            if feature >= 0 and gain >= rules.min_gain:
                nodes[node]["feature"] = feature
                nodes[node]["gain"] = gain
                nodes[node]["threshold"] = threshold
                nodes[node]["missing_left"] = left_mass / mass
                nodes[node]["least"] = least
                open_node(nodes, pile.heap, state[N_OPEN], node)
                state[N_OPEN] += 1
            continue
        if state[N_OPEN] == 0:
            return True
        best = pile.heap[0]
        begin = nodes[best]["begin"]
        m = nodes[best]["size"]
        end = state[N_ROWS]
        first = state[N_NODES]
        if first + 2 > lines.shape[0] or end + m > rows.shape[0]:
            return False
        feature = nodes[best]["feature"]
        threshold = nodes[best]["threshold"]
        find_intervals(lines, best, intervals)
        close_first(nodes, pile.heap, state[N_OPEN])
        state[N_OPEN] -= 1
        missing_left = nodes[best]["missing_left"]
        mass = lines[best]["mass"]
        if is_category(bins.n_categories, feature):
            n_left, n_right = divide_by_set(
                bins, targets.weights, rows, shares, begin, m, (feature, threshold, missing_left), pile.subsets, best,
                (mass, min_mass, rules.cutoff), desk.left_rows, desk.left_shares,
            )  # fmt: skip
        else:
            n_left, n_right = divide(
                bins, kernels, targets.weights, rows, shares, begin, m, (feature, threshold, missing_left),
                (widths[feature], intervals[0, feature], intervals[1, feature]), (mass, min_mass, rules.cutoff),
                desk.left_rows, desk.left_shares,
            )  # fmt: skip
        if n_left == 0:  # a child was too light: search for one that is heavier by the masses of the bins
            nodes[best]["least"] *= 2.0
            state[AGAIN] = best
            continue
        for k in range(n_left):
            rows[end + k] = desk.left_rows[k]
            shares[end + k] = desk.left_shares[k]
        state[N_ROWS] = end + n_left
        pile.order[state[N_SPLITS]] = best
        state[N_SPLITS] += 1
        lines[best]["feature"] = feature
        lines[best]["threshold"] = threshold
        lines[best]["missing_left"] = missing_left
        for side in range(2):
            enter_child(lines, first + side, best, side)
            nodes[first + side]["begin"] = end if side == 0 else begin
            nodes[first + side]["size"] = n_left if side == 0 else n_right
            nodes[first + side]["least"] = 0.0
            seeds[first + side] = next_seed(seeds[best], side)
        state[N_NODES] += 2
    return False
