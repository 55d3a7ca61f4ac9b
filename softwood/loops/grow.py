"""Growing a kernel tree: the search at one node, the division of its points, and the depth-first loop over nodes.

A node is a list of rows with their shares (memberships, paper: u) and an interval per feature. Both children together
take the parent's place on a pile, so memory is bounded by a path, not by the tree.

Arguments that recur
--------------------
codes : (n, p) bin of every cell; the bin after a feature's last one means missing
values, lows, highs : (total,) place, smallest and largest point of each bin, all features one after the other
offsets : (p + 1,) where the bins of each feature begin
widths : (p,) half-width of each feature's kernel; positive for features with widths by cell
kinds : (p,) which row of the tables `edges` and `cdfs` is the shape of each feature's kernel, 0
    the box; None, like the next four, if all are boxes of one width per feature: the code for the rest is then not
    even compiled
cells : (n, p) half-width of each cell, read for the features with `by_cell`
targets : (n, q) and labels : (n,): the one that is not used is None
single : scratch space of `scan_box_single`, for one output with squared error or two-class Gini;  lines, work : that of
    `scan_box`; what is not used is None, and the code for it is not compiled
intervals : (2, p) the node's lower and upper end on each feature
"""

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.atoms import add_points, mark_points, take_atoms
from softwood.loops.kernel import box_share, kernel_cdf, kernel_share
from softwood.loops.random import next_seed
from softwood.loops.scan import BINARY_ENTROPY, EVEN, SLACK, scan_box, scan_box_single
from softwood.loops.scan_general import scan_atoms, scan_cells
from softwood.loops.scan_random import search_random

BLOCK = 1024  # rows whose codes stay in the first-level cache while all features read them

# Columns of the node table that `grow` fills; sums of targets follow.
PARENT, SIDE, DEPTH, FEATURE, THRESHOLD, MISSING_LEFT, MASS, SQUARE, SUMS = range(9)


@compiled
def draw_features(order, priority, seed, n_draw):
    """Copy `priority` to `order`, shuffled if fewer than all are wanted; a search may then go past constant ones."""
    p = order.shape[0]
    for k in range(p):
        order[k] = priority[k]
    if n_draw < p:
        for k in range(p - 1):
            seed = next_seed(seed, k)
            other = k + np.int64(seed % np.uint64(p - k))
            order[k], order[other] = order[other], order[k]


@compiled(reassociate=True)
def weigh(rows, begin, shares, m, weights, targets, labels, squares, points, node_labels, nodes, line):
    """Gather a node's points: mass and mass times target, or label; and put mass, squares and sums in its line."""
    for c in range(MASS, nodes.shape[1]):
        nodes[line, c] = 0.0
    total = 0.0
    if labels is not None:
        for k in range(m):
            i = rows[begin + k]
            mass = shares[begin + k] * weights[i]
            points[k, 0] = mass
            total += mass
            node_labels[k] = labels[i]
            nodes[line, SUMS + labels[i]] += mass
    if targets is not None:
        square = 0.0
        first = 0.0
        for k in range(m):  # sums that stay in registers
            i = rows[begin + k]
            mass = shares[begin + k] * weights[i]
            part = mass * targets[i, 0]
            points[k, 0] = mass
            points[k, 1] = part
            total += mass
            square += mass * squares[i]
            first += part
        nodes[line, SQUARE] = square
        nodes[line, SUMS] = first
        if targets.shape[1] > 1:
            for k in range(m):
                i = rows[begin + k]
                for o in range(1, targets.shape[1]):
                    part = points[k, 0] * targets[i, o]
                    points[k, 1 + o] = part
                    nodes[line, SUMS + o] += part
    nodes[line, MASS] = total


@compiled
def number_labels(nodes, line, node_labels, m, numbers, totals):
    """Replace the classes of a node's points by numbers without gaps: the search then has only those to look at.

    Parameters
    ----------
    node_labels : (>= m,) the classes; None if there are targets
    numbers, totals : (q,) filled with the number of each class, and the mass of each number; of targets, their sums

    Returns
    -------
    number of outputs: of the node's classes, or of targets if there are no labels
    """
    n_outputs = np.int64(nodes.shape[1] - SUMS)
    if node_labels is not None:
        n_classes = n_outputs
        n_outputs = np.int64(0)
        for o in range(n_classes):
            numbers[o] = n_outputs
            if nodes[line, SUMS + o] > 0.0:
                totals[n_outputs] = nodes[line, SUMS + o]
                n_outputs += 1
        if n_outputs < n_classes:
            for k in range(m):
                node_labels[k] = numbers[node_labels[k]]
    if node_labels is None:
        for o in range(n_outputs):
            totals[o] = nodes[line, SUMS + o]
    return n_outputs


@compiled
def merit_and_impurity(nodes, line, criterion, is_class):
    """Merit of an unsplit node, and its impurity times its mass in the same unit as differences of merit."""
    q = nodes.shape[1] - SUMS
    mass = nodes[line, MASS]
    merit = 0.0
    if criterion is not None:
        for o in range(q):
            s = nodes[line, SUMS + o]
            if s > 0.0:
                merit += s * np.log(s / mass)
        rest = mass - nodes[line, SUMS]
        if criterion == BINARY_ENTROPY and rest > 0.0:
            merit += rest * np.log(rest / mass)
        return merit, -merit
    for o in range(q):
        merit += nodes[line, SUMS + o] ** 2
    merit /= mass
    if not is_class:
        return merit, nodes[line, SQUARE] - merit
    if q == 1:  # two classes, one stored: S - S^2 / W is half of W times Gini
        return merit, nodes[line, SUMS] - merit
    return merit, mass - merit


@compiled
def tie_of(base, impure, mass):
    """Merits closer than this are equal: a trifle of the impurity, but no less than rounding errors."""
    return 1e-10 * impure + 1e-14 * (abs(base) + mass)


@compiled
def search_node(
    codes, rows, begin, points, labels, m, n_draw, order, values, lows, highs, offsets, widths, kinds, edges,
    cdfs, cells, by_cell, intervals, total, min_mass, tie, base, criterion, n_outputs, tables, words, groups, atoms,
    single, lines, work, stop,
):  # fmt: skip
    """Best split of a node over the features of `order` (the first `n_draw`, and more if those cannot be split).

    Parameters
    ----------
    begin, m : where the node's rows begin in `rows`, and their number
    points, labels : of the node's rows, as `weigh` and `number_labels` give them
    total, base : mass of the node and its merit unsplit
    tie : merits closer than this are equal; the split nearer to halves wins, then the first
    n_outputs : number of targets, or of different labels in the node
    tables : (p or 1, n_bins + 1, 1 + q) empty tables for the bins of every feature, or of one; words, groups : empty
        sets
    stop : (1,) not 0 if the search is to be given up; what it returns is then of no use, nor are the tables

    Returns
    -------
    feature (-1: none), threshold, left mass, gain (merit over `base`)
    """
    at_once = tables.shape[0] > 1
    no_rows = np.int64(0)  # a plain 0 would be a type of its own, and compile the callee again
    if at_once:
        for first in range(0, m, BLOCK):
            last = min(first + BLOCK, m)
            for f in range(n_draw):
                j = order[f]
                add_points(codes, j, rows, begin, points, labels, first, last, tables[j])
    best_feature = -1
    best_threshold = np.nan
    best_mass = 0.0
    best = -np.inf
    for f in range(order.shape[0]):
        if stop[0] != 0 or (f >= n_draw and best_feature >= 0):
            break
        j = order[f]
        n_bins = offsets[j + 1] - offsets[j]
        crisp = widths[j] <= 0.0
        lo = intervals[0, j]
        hi = intervals[1, j]
        slot = j if at_once else 0
        if not at_once or f >= n_draw:
            add_points(codes, j, rows, begin, points, labels, no_rows, m, tables[slot])
        sparse = 2 * m < n_bins
        if sparse:
            mark_points(codes, j, rows, begin, m, words, groups)
        n = take_atoms(tables[slot], words, groups, values, offsets[j], n_bins, n_outputs, sparse, atoms)
        if n == 0 or (n == 1 and crisp):
            continue
        merit, threshold, left_mass = -np.inf, np.nan, 0.0
        is_box = True
        if kinds is not None:
            kind = kinds[j]
            if by_cell[j]:
                is_box = False
                merit, threshold, left_mass = scan_cells(
                    codes, j, rows, begin, points, labels, m, values, offsets[j], n_bins, cells,
                    edges[kind], cdfs[kind], lo, hi, min_mass, tie, criterion,
                    n_outputs,
                )  # fmt: skip
            elif kind > 0 and not crisp:
                is_box = False
                merit, threshold, left_mass = scan_atoms(
                    atoms, n, widths[j], edges[kind], cdfs[kind], lo, hi, min_mass, tie,
                    criterion, n_outputs,
                )  # fmt: skip
        if is_box:
            if single is not None:
                merit, threshold, left_mass = scan_box_single(
                    atoms, n, lows, highs, lo, hi, widths[j], min_mass, tie, single
                )
            if work is not None:
                merit, threshold, left_mass = scan_box(
                    atoms, n, lows, highs, lo, hi, widths[j], min_mass, tie, criterion, n_outputs, lines, work
                )
        gain = merit - base
        # A crisp split without gain is still worth a try (two crossed features); a soft one could go on for ever.
        if gain > tie or (gain >= -tie and crisp):
            nearer_halves = abs(2.0 * left_mass - total) < abs(2.0 * best_mass - total) - EVEN * total
            if merit > best + tie or (merit > best - tie and nearer_halves):
                best_feature = j
                best_threshold = threshold
                best_mass = left_mass
                best = max(best, merit)
    return best_feature, best_threshold, best_mass, best - base


@compiled
def divide(
    codes, rows, shares, begin, m, feature, threshold, missing_left, values, offset, n_bins, width, kinds, edges, cdfs,
    cells, by_cell, lo, hi, cutoff, left_rows, left_shares,
):  # fmt: skip
    """Share the points of a node between its children, exactly.

    The right child's rows and shares replace the node's, the left child's go to `left_rows` and `left_shares`. A part
    smaller than `cutoff` (of the whole point) is given to the larger side, so shares still add up.

    Returns
    -------
    number of rows on the left and on the right
    """
    n_left = np.int64(0)
    n_right = np.int64(0)
    for k in range(m):
        i = rows[begin + k]
        c = codes[i, feature]
        part = 0.0
        if c == n_bins:
            part = missing_left
        else:
            x = values[offset + c]
            if kinds is None:
                part = box_share(threshold, x, width, lo, hi)
            if kinds is not None:
                kind = kinds[feature]
                w = cells[i, feature] if by_cell[feature] else width
                lower = kernel_cdf(lo, x, w, edges[kind], cdfs[kind])
                upper = kernel_cdf(hi, x, w, edges[kind], cdfs[kind])
                part = kernel_share(threshold, x, w, edges[kind], cdfs[kind], lower, upper)
        u = shares[begin + k]
        left = u * part
        left *= np.float64(left >= cutoff)
        right = u - left
        right *= np.float64(right >= cutoff)
        left = u - right
        # Written on both sides and counted where there is a share, without branches: which side a point is on cannot
        # be predicted.
        left_rows[n_left] = i
        left_shares[n_left] = left
        n_left += np.int64(left > 0.0)
        rows[begin + n_right] = i
        shares[begin + n_right] = right
        n_right += np.int64(right > 0.0)
    return n_left, n_right


@compiled
def grow(
    codes, targets, labels, squares, weights, values, lows, highs, offsets, widths, kinds, edges, cdfs, cells,
    by_cell, max_depth, min_mass, min_gain, n_draw, cutoff, criterion, is_class, budget, state, nodes, stack, seeds,
    intervals, rows, shares, points, node_labels, left_rows, left_shares, priority, order, tables, words, groups,
    atoms, single, lines, work, node_codes, bin_shares, node_shares, numbers, totals, stop,
):  # fmt: skip
    """Go on growing, depth first, until the stack is empty, `budget` nodes are done, an array is too short, or `stop`.

    All of the state is in arrays of the caller, who makes them longer, shows progress, and calls again.

    Parameters
    ----------
    state : (3,) number of nodes done, height of the stack, length of the pile
    nodes : (capacity, 8 + q) the finished nodes, see the column names above; feature -1 is a leaf
    stack : (capacity, 4) for each node to do where its rows begin, parent, side, depth
    seeds : (capacity,) and intervals : (capacity, 2, p), which go with the stack
    rows, shares : (capacity,) the pile: rows and shares of the nodes to do, one after the other
    node_codes, bin_shares, node_shares : scratch space of `search_random`; None to search all thresholds, and then
        `tables` is not
    """
    p = codes.shape[1]
    goal = state[0] + budget
    while state[1] > 0 and state[0] < goal and stop[0] == 0:
        at = state[1] - 1
        begin = stack[at, 0]
        m = state[2] - begin
        if state[0] == nodes.shape[0] or at + 2 > stack.shape[0] or begin + 2 * m > rows.shape[0]:
            return
        depth = stack[at, 3]
        line = state[0]
        state[0] += 1
        state[1] -= 1
        state[2] = begin
        nodes[line, PARENT] = stack[at, 1]
        nodes[line, SIDE] = stack[at, 2]
        nodes[line, DEPTH] = depth
        nodes[line, FEATURE] = -1.0
        nodes[line, THRESHOLD] = np.nan
        nodes[line, MISSING_LEFT] = np.nan
        weigh(rows, begin, shares, m, weights, targets, labels, squares, points, node_labels, nodes, line)
        mass = nodes[line, MASS]
        base, impure = merit_and_impurity(nodes, line, criterion, is_class)
        if depth >= max_depth or mass < 2.0 * min_mass * SLACK or impure <= 1e-12 * mass:
            continue
        draw_features(order, priority, seeds[at], n_draw)
        tie = tie_of(base, impure, mass)
        n_outputs = number_labels(nodes, line, node_labels, m, numbers, totals)
        feature, threshold, left_mass, gain = np.int64(-1), np.nan, 0.0, 0.0
        if tables is not None:
            feature, threshold, left_mass, gain = search_node(
                codes, rows, begin, points, node_labels, m, n_draw, order, values, lows, highs, offsets,
                widths, kinds, edges, cdfs, cells, by_cell, intervals[at], mass, min_mass, tie, base, criterion,
                n_outputs, tables, words, groups, atoms, single, lines, work, stop,
            )  # fmt: skip
        if node_codes is not None:
            feature, threshold, left_mass, gain = search_random(
                codes, rows, begin, points, node_labels, m, n_draw, order, seeds[at], values, lows, highs, offsets,
                widths, kinds, edges, cdfs, cells, by_cell, intervals[at], mass, totals[:n_outputs], min_mass, tie,
                base, criterion, node_codes, bin_shares, node_shares, work[: 1 + n_outputs],
            )  # fmt: skip
        if feature < 0 or gain < min_gain:
            continue
        missing_left = left_mass / mass
        n_left, n_right = divide(
            codes, rows, shares, begin, m, feature, threshold, missing_left, values, offsets[feature],
            offsets[feature + 1] - offsets[feature], widths[feature], kinds, edges, cdfs, cells, by_cell,
            intervals[at, 0, feature], intervals[at, 1, feature], cutoff, left_rows, left_shares,
        )  # fmt: skip
        if n_left == 0 or n_right == 0:
            continue
        nodes[line, FEATURE] = feature
        nodes[line, THRESHOLD] = threshold
        nodes[line, MISSING_LEFT] = missing_left
        middle = begin + n_right
        for k in range(n_left):
            rows[middle + k] = left_rows[k]
            shares[middle + k] = left_shares[k]
        seed = seeds[at]
        for side in range(2):  # the right child stays below, the left child is done next
            entry = at + 1 - side
            stack[entry, 0] = begin if side == 1 else middle
            stack[entry, 1] = line
            stack[entry, 2] = side
            stack[entry, 3] = depth + 1
            seeds[entry] = next_seed(seed, side)
        for j in range(p):
            intervals[at + 1, 0, j] = intervals[at, 0, j]
            intervals[at + 1, 1, j] = intervals[at, 1, j]
        intervals[at + 1, 1, feature] = threshold
        intervals[at, 0, feature] = threshold
        state[1] = at + 2
        state[2] = middle + n_left
