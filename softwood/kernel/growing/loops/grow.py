"""Growing a kernel tree: the search and the division of a node, and the loop over nodes.

A node is a list of rows with their shares (memberships, paper: u) and an interval per feature. Every order of growth
uses the same two steps. They take arrays from the frontier each time: a name for an array costs some nanoseconds.
Arguments that recur are explained in `softwood.kernel.growing.loops.tree_groups`.
"""

import numpy as np

from softwood.kernel.growing.loops.divide import cutoff_for, left_parts, share_out
from softwood.kernel.growing.loops.frontier import append_rows, is_full, pop_open, push_open, split_intervals, visit
from softwood.kernel.growing.loops.scan_random import search_random
from softwood.kernel.growing.loops.search import draw_features, search_thresholds
from softwood.kernel.growing.loops.weigh import goal_of, weigh
from softwood.trees.loops.random import next_seed


def keep_set(found, subsets, node):
    """Copy the set that a search has found to the table of nodes."""
    for w in range(subsets.shape[1]):
        subsets[node, w] = found[0, w]


def search_node(bins, widths, kernels, labels, targets, rules, criterion, frontier, at, scratch, search, random):
    """Weigh the node at place `at` of the stack, and search its best split.

    The split is written to the stack; the feature remains -1 if the node is to remain a leaf.
    """
    here = frontier.stack[at]
    node, begin, m, seed = here["node"], here["begin"], here["size"], here["seed"]
    weigh(frontier.rows, begin, frontier.shares, m, labels, targets, scratch, frontier.lines, frontier.sums, node)
    goal = goal_of(frontier.lines, frontier.sums, node, m, rules, criterion, here["min_mass"], scratch)
    if goal.n_outputs == 0:
        return
    draw_features(scratch.order, bins.priority, seed, rules.n_draw)
    feature, threshold, left_mass, gain = -1, np.nan, 0.0, 0.0
    if search is not None:
        feature, threshold, left_mass, gain = search_thresholds(
            bins, widths, kernels, frontier.rows, begin, m, scratch, rules.n_draw, frontier.intervals[at], goal, search
        )
        keep_set(search.subset.found, frontier.subsets, node)
    else:
        feature, threshold, left_mass, gain = search_random(
            bins, widths, kernels, frontier.rows, begin, m, scratch, rules.n_draw, frontier.intervals[at], goal, seed,
            random,
        )  # fmt: skip
        keep_set(random.subset, frontier.subsets, node)
    if feature >= 0 and gain >= rules.min_gain:
        frontier.stack[at]["feature"] = feature
        frontier.stack[at]["threshold"] = threshold
        frontier.stack[at]["missing_left"] = left_mass / goal.total
        frontier.stack[at]["gain"] = gain


def divide_node(bins, widths, kernels, targets, rules, frontier, at, scratch):
    """Divide the node at place `at` of the stack, the last one: its children take its place, the left one last.

    If a child would be too light, the node has to be searched again, for heavier children by the masses of the bins.
    """
    here = frontier.stack[at]
    node, begin, m, seed, depth = here["node"], here["begin"], here["size"], here["seed"], here["depth"]
    feature, threshold, missing_left = here["feature"], here["threshold"], here["missing_left"]
    left_parts(
        bins, widths, kernels, frontier.intervals[at], frontier.subsets, node, (feature, threshold, missing_left),
        frontier.rows, begin, m, scratch.left_shares,
    )  # fmt: skip
    cutoff = cutoff_for(targets, frontier.rows, frontier.shares, begin, m, scratch.left_shares, rules)
    if cutoff < 0.0:
        frontier.stack[at]["min_mass"] *= 2.0
        frontier.stack[at]["feature"] = -1
        return
    n_left, n_right = share_out(
        frontier.rows, frontier.shares, begin, m, cutoff, scratch.left_rows, scratch.left_shares
    )  # fmt: skip
    frontier.lines[node]["feature"] = feature
    frontier.lines[node]["threshold"] = threshold
    frontier.lines[node]["missing_left"] = missing_left
    frontier.gains[frontier.counts[0]["n_splits"]] = here["gain"]
    frontier.counts[0]["n_splits"] += 1
    # The right child's rows are where the node's were; the left child's follow them if there is nothing behind.
    end = frontier.counts[0]["n_rows"]
    if begin + m == end:
        end = begin + n_right
    append_rows(scratch.left_rows, scratch.left_shares, n_left, frontier.rows, frontier.shares, end)
    frontier.counts[0]["n_rows"] = end + n_left
    split_intervals(frontier.intervals, at, feature, threshold)
    for side in range(2):
        child = at + 1 - side
        frontier.stack[child]["node"] = -1
        frontier.stack[child]["parent"] = node
        frontier.stack[child]["side"] = side
        frontier.stack[child]["depth"] = depth + 1
        frontier.stack[child]["begin"] = begin if side == 1 else end
        frontier.stack[child]["size"] = n_right if side == 1 else n_left
        frontier.stack[child]["seed"] = next_seed(seed, side)
        frontier.stack[child]["min_mass"] = rules.min_mass
        frontier.stack[child]["feature"] = -1
    frontier.counts[0]["n_waiting"] = at + 2


def grow(bins, widths, kernels, labels, targets, rules, criterion, by_gain, frontier, scratch, search, random):
    """Go on growing until there are no more nodes or as many splits as wanted, an array is too short, or stopped.

    Depth first, nodes are numbered in the order of a walk. Best first, they are numbered in the order in which they
    are made, so the tree with any smaller number of leaves is the beginning of the table. All of the state is in arrays
    of the caller, who makes them longer, reports progress, and calls again.

    Parameters
    ----------
    by_gain : whether the node with the largest gain is always divided next; else growth is depth first
    search, random : scratch space of `search_thresholds`, or of the search of extra trees; one of them is None

    Returns
    -------
    whether the tree is grown
    """
    counts, stack = frontier.counts, frontier.stack
    while frontier.stop[0] == 0:
        is_last = counts[0]["n_splits"] == counts[0]["most_splits"]
        if counts[0]["n_waiting"] == 0:
            if is_last or not by_gain or counts[0]["n_open"] == 0:
                return True
            pop_open(frontier)
        if is_full(frontier) or counts[0]["n_nodes"] >= counts[0]["most_nodes"]:
            return False
        at = counts[0]["n_waiting"] - 1
        if is_last:  # the other nodes remain leaves; they are searched if growth goes on
            for k in range(at, -1, -1):
                visit(frontier, k)
                weigh(
                    frontier.rows, stack[k]["begin"], frontier.shares, stack[k]["size"], labels, targets, scratch,
                    frontier.lines, frontier.sums, stack[k]["node"],
                )  # fmt: skip
            return True
        if stack[at]["feature"] < 0:
            visit(frontier, at)
            counts[0]["n_waiting"] = at
            if stack[at]["size"] <= counts[0]["few_rows"]:
                push_open(frontier, at)
                continue
            search_node(
                bins, widths, kernels, labels, targets, rules, criterion, frontier, at, scratch, search, random
            )  # fmt: skip
            if stack[at]["feature"] < 0:
                if stack[at]["begin"] + stack[at]["size"] == counts[0]["n_rows"]:
                    counts[0]["n_rows"] = stack[at]["begin"]
                continue
            if by_gain:
                push_open(frontier, at)
                continue
            counts[0]["n_waiting"] = at + 1
        divide_node(bins, widths, kernels, targets, rules, frontier, at, scratch)
    return False
