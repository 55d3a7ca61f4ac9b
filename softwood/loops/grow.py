"""Growing a kernel tree: the search at one node, the division of its points, and the depth-first loop over nodes.

A node is a list of rows with their shares (memberships, paper: u) and an interval per feature. Both children together
take the parent's place on a pile, so memory is bounded by a path, not by the tree. Arguments that recur are explained
in `softwood.loops.groups`.
"""

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.atoms import add_points, mark_points, take_atoms
from softwood.loops.groups import Goal, NodePoints
from softwood.loops.kernel import box_shares, kernel_cdf, kernel_share
from softwood.loops.random import next_seed
from softwood.loops.scan import BINARY_ENTROPY, EVEN, SLACK, scan_box, scan_box_single, sum_atoms
from softwood.loops.scan_general import scan_atoms, scan_cells
from softwood.loops.scan_random import search_random
from softwood.loops.subset import is_category, scan_category, set_members, subset_parts

LENIENT = 1.0 - 1e-6  # as SLACK, for masses that the search has added up in another order
BLOCK = 1024  # rows whose codes stay in the first-level cache while all features read them


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
def weigh(rows, begin, shares, m, labels, targets, desk, lines, sums, line):
    """Gather the points of a node: mass and mass times target, or label; and put mass, squares and sums in its line."""
    weights, matrix, squares = targets.weights, targets.matrix, targets.squares
    points, node_labels = desk.points, desk.labels
    at = np.uint64(begin)  # unsigned, here and below: of other indices numba asks whether they are negative
    m = np.uint64(m)
    for o in range(sums.shape[1]):
        sums[line, o] = 0.0
    total = 0.0
    square = 0.0
    if labels is not None:
        of_class = 0.0
        current = np.uint32(labels[rows[at]])
        for k in range(m):  # points of a class mostly follow one another: their sum stays in a register
            i = rows[at + k]
            label = np.uint32(labels[i])
            if label != current:
                sums[line, current] += of_class
                total += of_class
                of_class = 0.0
                current = label
            mass = shares[at + k] * weights[i]
            points[k, 0] = mass
            node_labels[k] = label
            of_class += mass
        sums[line, current] += of_class
        total += of_class
    if labels is None:
        first = 0.0
        for k in range(m):  # sums that stay in registers
            i = rows[at + k]
            mass = shares[at + k] * weights[i]
            part = mass * matrix[i, 0]
            points[k, 0] = mass
            points[k, 1] = part
            total += mass
            square += mass * squares[i]
            first += part
        sums[line, 0] = first
        if matrix.shape[1] > 1:
            for k in range(m):
                i = rows[at + k]
                for o in range(1, matrix.shape[1]):
                    part = points[k, 0] * matrix[i, o]
                    points[k, 1 + o] = part
                    sums[line, o] += part
    lines[line]["square"] = square
    lines[line]["mass"] = total


@compiled
def number_labels(sums, line, m, labels, desk):
    """Replace the classes of a node's points by numbers without gaps: the search then has only those to look at.

    Returns
    -------
    number of outputs: of the node's classes, or of targets if there are no labels
    """
    node_labels, numbers, totals = desk.labels, desk.numbers, desk.totals
    n_outputs = np.int64(sums.shape[1])
    if labels is not None:
        n_classes = n_outputs
        n_outputs = np.int64(0)
        for o in range(n_classes):
            numbers[o] = n_outputs
            totals[n_outputs] = sums[line, o]  # written over by the next one if there is none of this class
            n_outputs += np.int64(sums[line, o] > 0.0)
        if n_outputs < n_classes:
            for k in range(m):
                node_labels[k] = numbers[np.uint32(node_labels[k])]
    if labels is None:
        for o in range(n_outputs):
            totals[o] = sums[line, o]
    return n_outputs


@compiled
def merit_and_impurity(lines, sums, line, criterion, is_class):
    """Merit of an unsplit node, and its impurity times its mass in the same unit as differences of merit."""
    q = sums.shape[1]
    mass = lines[line]["mass"]
    merit = 0.0
    if criterion is not None:
        for o in range(q):
            s = sums[line, o]
            if s > 0.0:
                merit += s * np.log(s / mass)
        rest = mass - sums[line, 0]
        if criterion == BINARY_ENTROPY and rest > 0.0:
            merit += rest * np.log(rest / mass)
        return merit, -merit
    for o in range(q):
        merit += sums[line, o] ** 2
    merit /= mass
    if not is_class:
        return merit, lines[line]["square"] - merit
    if q == 1:  # two classes, one stored: S - S^2 / W is half of W times Gini
        return merit, sums[line, 0] - merit
    return merit, mass - merit


@compiled
def tie_of(base, impure, mass):
    """Merits closer than this are equal: a trifle of the impurity, but no less than rounding errors."""
    return 1e-10 * impure + 1e-14 * (abs(base) + mass)


@compiled
def search_node(bins, widths, kernels, node, labels, intervals, goal, criterion, search, single):
    """Best split of a node.

    Parameters
    ----------
    node, labels : the points, as `weigh` and `number_labels` leave them
    intervals : (2, p) the node's lower and upper end on each feature
    search, single : scratch space; the latter for one output with squared error or two-class Gini, and one of them None

    Returns
    -------
    feature (-1: none), threshold, left mass, gain (merit over `goal.base`); of no use if the search was stopped. The
    set of a split of categories is in the scratch space, and its threshold is nan
    """
    codes, values, lows, highs, offsets, _, n_categories, _ = bins
    rows, begin, m, points, order, n_draw = node
    total, base, min_mass, tie, n_outputs, rare_mass = goal
    n_columns = n_outputs
    if search is not None:
        tables, words, groups, atoms, lines, work, stop, subset = search
        n_columns = (n_outputs + 3) >> 2 << 2  # a scan takes four of them at a time
    if single is not None:
        tables, words, groups, atoms, lines, work, stop, subset = single
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
    has_sums = False
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
        n = take_atoms(tables[slot], words, groups, values, offsets[j], n_bins, n_columns, sparse, atoms)
        if n == 0 or (n == 1 and crisp):
            continue
        merit, threshold, left_mass = -np.inf, np.nan, 0.0
        last, rare = np.int64(-1), np.int64(-1)
        is_box = True
        if is_category(n_categories, j):
            is_box = False
            sum_atoms(atoms, n, n_columns, work[0])
            merit, last, left_mass, rare = scan_category(
                atoms, n, n_columns, work[0, :n_columns], work[1, :n_columns], bins, j, goal, criterion, rare_mass,
                subset,
            )  # fmt: skip
        if kernels is not None and is_box:
            kind = kernels.kinds[j]
            if kernels.by_cell[j]:
                is_box = False
                merit, threshold, left_mass = scan_cells(bins, kernels, j, node, labels, (lo, hi), goal, criterion)
            elif kind > 0 and not crisp:
                is_box = False
                shape = kernels.edges[kind], kernels.cdfs[kind]
                merit, threshold, left_mass = scan_atoms(atoms, n, widths[j], shape, (lo, hi), goal, criterion)
        if is_box:
            if single is not None:
                merit, threshold, left_mass = scan_box_single(
                    atoms, n, lows, highs, lo, hi, widths[j], min_mass, tie, lines
                )
            if search is not None:
                if not has_sums:  # which are the same for all features
                    sum_atoms(atoms, n, n_columns, work[0])
                    has_sums = True
                merit, threshold, left_mass = scan_box(
                    atoms, n, lows, highs, (lo, hi), widths[j], min_mass, tie, criterion, n_columns, lines, work
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
                if last >= 0:
                    absent_left = rare <= last if rare >= 0 else 2.0 * left_mass >= total
                    set_members(subset.ranks, bins, j, last, absent_left, subset.found, 0)
    # A split without gain has a gain of 0, not what rounding makes of it.
    return best_feature, best_threshold, best_mass, max(best - base, 0.0)


@compiled
def place_points(points, feature, rows, begin, m, x):
    """Value of each of a node's points, (m,) in `x`; nan where missing."""
    at = np.uint64(begin)
    for k in range(np.uint64(m)):
        x[k] = points[rows[at + k], feature]


@compiled
def kernel_parts(points, width, kernels, rows, begin, m, split, interval, parts):
    """Part of each of a node's points on the left of a split, (m,) in `parts`, for any kernel."""
    feature, threshold, missing_left = split
    lo, hi = interval
    kind = kernels.kinds[feature]
    edges, cdf = kernels.edges[kind], kernels.cdfs[kind]
    by_cell, cells = kernels.by_cell[feature], kernels.cells
    for k in range(m):
        i = rows[begin + k]
        x = points[i, feature]
        parts[k] = missing_left
        if not np.isnan(x):
            w = cells[i, feature] if by_cell else width
            lower = kernel_cdf(lo, x, w, edges, cdf)
            upper = kernel_cdf(hi, x, w, edges, cdf)
            parts[k] = kernel_share(threshold, x, w, edges, cdf, lower, upper)


@compiled
def part_shares(shares, begin, m, cutoff, parts):
    """Replace `shares` of a node by the right child's and `parts` (m,) by the left child's.

    A share smaller than `cutoff` (of the whole point) is given to the larger side.
    """
    shares = shares[begin : begin + m]
    for k in range(m):
        u = shares[k]
        left = u * parts[k]
        left = left if left >= cutoff else 0.0
        right = u - left
        right = right if right >= cutoff else 0.0
        parts[k] = u - right
        shares[k] = right


@compiled
def left_mass_of(rows, shares, begin, m, weights, cutoff, parts):
    """Mass of the left child if shares smaller than `cutoff` are given to the larger side."""
    mass = 0.0
    for k in range(m):
        u = shares[begin + k]
        left = u * parts[k]
        left = left if left >= cutoff else 0.0
        right = u - left
        right = right if right >= cutoff else 0.0
        mass += weights[rows[begin + k]] * (u - right)
    return mass


@compiled
def sort_out(rows, shares, begin, m, left_rows, left_shares):
    """Move the rows with a share on the left to `left_rows`, and close the gaps on both sides.

    Returns
    -------
    number of rows on the left and on the right
    """
    at = np.uint64(begin)
    n_left = np.uint64(0)
    n_right = np.uint64(0)
    for k in range(np.uint64(m)):
        i = rows[at + k]
        left = left_shares[k]
        right = shares[at + k]
        # Written on both sides and counted where there is a share, without branches: which side a point is on cannot
        # be predicted.
        left_rows[n_left] = i
        left_shares[n_left] = left
        rows[at + n_right] = i
        shares[at + n_right] = right
        n_left += np.uint64(left > 0.0)
        n_right += np.uint64(right > 0.0)
    return np.int64(n_left), np.int64(n_right)


@compiled
def share_out(rows, shares, begin, m, keep, left_rows, left_shares):
    """Divide a node by the parts in `left_shares` (m,) that go left; arguments and results as in `divide`.

    The masses of both children are at least `min_mass`: where the cutoff would take too much from a child, nothing is
    cut off, and if that does not help, the node is not divided. (A search over bins only estimates the masses.)
    """
    weights, total, min_mass, cutoff = keep
    if min_mass > 0.0:
        least = min_mass * LENIENT
        mass = left_mass_of(rows, shares, begin, m, weights, cutoff, left_shares)
        if min(mass, total - mass) < least:
            cutoff = 0.0
            mass = left_mass_of(rows, shares, begin, m, weights, cutoff, left_shares)
            if min(mass, total - mass) < least:
                return np.int64(0), np.int64(0)
    part_shares(shares, begin, m, cutoff, left_shares)
    return sort_out(rows, shares, begin, m, left_rows, left_shares)


@compiled
def divide(bins, widths, kernels, rows, shares, begin, m, split, interval, keep, left_rows, left_shares):
    """Share the points of a node between its children, by their own values.

    The right child's rows and shares replace the node's, the left child's go to `left_rows` and `left_shares`.

    Parameters
    ----------
    split : feature, threshold, and share of points without a value that goes left
    interval : the node's lower and upper end on the feature
    keep : weights of all rows, mass of the node, smallest mass of a child (0: any), and cutoff: a part smaller than
        this (of the whole point) is given to the larger side, so shares still add up

    Returns
    -------
    number of rows on the left and on the right; both 0 if a child would be too light
    """
    feature, threshold, missing_left = split
    width = widths[feature]
    if kernels is None:
        place_points(bins.points, feature, rows, begin, m, left_shares)
        box_shares(left_shares, m, threshold, width, interval, missing_left)
    if kernels is not None:
        kernel_parts(bins.points, width, kernels, rows, begin, m, split, interval, left_shares)
    return share_out(rows, shares, begin, m, keep, left_rows, left_shares)


@compiled
def divide_by_set(bins, feature, subsets, line, missing_left, rows, shares, begin, m, keep, left_rows, left_shares):
    """As `divide`, for a split of categories by the set in a line of `subsets`."""
    subset_parts(bins, feature, subsets, line, missing_left, rows, begin, m, left_shares)
    return share_out(rows, shares, begin, m, keep, left_rows, left_shares)


@compiled
def keep_set(found, subsets, line):
    """Copy the set that a search has found to a line of the table of nodes."""
    for w in range(subsets.shape[1]):
        subsets[line, w] = found[0, w]


@compiled
def grow(bins, widths, kernels, labels, targets, rules, criterion, pile, desk, search, single, random):
    """Go on growing, depth first, until all nodes or as many as wanted are done, an array is too short, or stopped.

    All of the state is in arrays of the caller, who makes them longer, tells of progress, and calls again.

    Parameters
    ----------
    search, single, random : scratch space of `search_node`, or of the search of extra trees; two of them are None
    """
    state, stop, lines, sums, stack, seeds, intervals, rows, shares, subsets = pile
    max_depth, min_mass, min_gain, n_draw, cutoff, is_class, rare_mass = rules
    left_rows, left_shares, order = desk.left_rows, desk.left_shares, desk.order
    p = widths.shape[0]
    while state[1] > 0 and state[0] < state[3] and stop[0] == 0:
        at = state[1] - 1
        begin = stack[at, 0]
        m = state[2] - begin
        if state[0] == lines.shape[0] or at + 2 > stack.shape[0] or begin + 2 * m > rows.shape[0]:
            return
        depth = stack[at, 3]
        line = state[0]
        state[0] += 1
        state[1] -= 1
        state[2] = begin
        lines[line]["parent"] = stack[at, 1]
        lines[line]["side"] = stack[at, 2]
        lines[line]["depth"] = depth
        lines[line]["feature"] = -1
        lines[line]["threshold"] = np.nan
        lines[line]["missing_left"] = np.nan
        weigh(rows, begin, shares, m, labels, targets, desk, lines, sums, line)
        mass = lines[line]["mass"]
        base, impure = merit_and_impurity(lines, sums, line, criterion, is_class)
        if depth >= max_depth or mass < 2.0 * min_mass * SLACK or impure <= 1e-12 * mass:
            continue
        draw_features(order, bins.priority, seeds[at], n_draw)
        n_outputs = number_labels(sums, line, m, labels, desk)
        node = NodePoints(rows, begin, m, desk.points, order, n_draw)
        node_labels = labels  # not None, which would make it optional: a type of its own
        if labels is not None:
            node_labels = desk.labels
        keep = targets.weights, mass, min_mass, cutoff
        feature, threshold, missing_left = np.int64(-1), np.nan, 0.0
        n_left, n_right = np.int64(0), np.int64(0)
        least = min_mass
        while stop[0] == 0 and n_left == 0 and 2.0 * least * SLACK <= mass:
            goal = Goal(mass, base, least, tie_of(base, impure, mass), n_outputs, rare_mass)
            left_mass, gain = 0.0, 0.0
            if search is not None:
                feature, threshold, left_mass, gain = search_node(
                    bins, widths, kernels, node, node_labels, intervals[at], goal, criterion, search, None
                )
                keep_set(search.subset.found, subsets, line)
            if single is not None:
                feature, threshold, left_mass, gain = search_node(
                    bins, widths, kernels, node, node_labels, intervals[at], goal, criterion, None, single
                )
                keep_set(single.subset.found, subsets, line)
            if random is not None:
                feature, threshold, left_mass, gain = search_random(
                    bins, widths, kernels, node, node_labels, intervals[at], goal, criterion, seeds[at], desk.totals,
                    random,
                )  # fmt: skip
                keep_set(random.subset, subsets, line)
            if stop[0] != 0 or feature < 0 or gain < min_gain:
                break
            missing_left = left_mass / mass
            if is_category(bins.n_categories, feature):
                n_left, n_right = divide_by_set(
                    bins, feature, subsets, line, missing_left, rows, shares, begin, m, keep, left_rows, left_shares
                )
            else:
                n_left, n_right = divide(
                    bins, widths, kernels, rows, shares, begin, m, (feature, threshold, missing_left),
                    (intervals[at, 0, feature], intervals[at, 1, feature]), keep, left_rows, left_shares,
                )  # fmt: skip
            least *= 2.0  # if a child was too light: search for one that is heavier by the masses of the bins
        if n_left == 0:
            continue
        lines[line]["feature"] = feature
        lines[line]["threshold"] = threshold
        lines[line]["missing_left"] = missing_left
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
        if not np.isnan(threshold):
            intervals[at + 1, 1, feature] = threshold
            intervals[at, 0, feature] = threshold
        state[1] = at + 2
        state[2] = middle + n_left
