"""Growing a kernel tree: the search at one node, the division of its points, and the depth-first loop over nodes.

A node is a list of rows with their shares (memberships, paper: u) and an interval per feature. Both children together
take the parent's place on a pile, so memory is bounded by a path, not by the tree. Arguments that recur are explained
in `softwood.kernel.growing.loops.tree_groups`.
"""

import numpy as np

from softwood.kernel.growing.loops.atoms import add_points, mark_points, take_atoms
from softwood.kernel.growing.loops.groups import Goal
from softwood.kernel.growing.loops.scan import (
    BINARY_ENTROPY,
    EVEN,
    SLACK,
    SQUARED,
    scan_box,
    scan_box_single,
    sum_atoms,
)
from softwood.kernel.growing.loops.scan_general import scan_atoms, scan_cells
from softwood.kernel.growing.loops.scan_random import search_random
from softwood.kernel.growing.loops.subset import scan_category, set_members, subset_parts
from softwood.trees.loops.kernel import box_shares, kernel_cdf, kernel_share
from softwood.trees.loops.random import next_seed
from softwood.trees.loops.sets import is_category

LENIENT = 1.0 - 1e-6  # as SLACK, for masses that the search has added up in another order
BLOCK = 1024  # rows whose codes stay in the first-level cache while all features read them


def draw_features(order, priority, seed, n_draw):
    """Copy `priority` to `order`, shuffled if fewer than all are wanted; a search may then go past constant ones."""
    p = order.shape[0]
    for k in range(p):
        order[k] = priority[k]
    if n_draw < p:
        for k in range(p - 1):
            seed = next_seed(seed, k)
            other = k + int(seed % np.uint64(p - k))
            order[k], order[other] = order[other], order[k]


def weigh(rows, begin, shares, m, labels, targets, desk, lines, sums, line):
    """Gather the points of a node: mass and mass times target, or label; and put mass, squares and sums in its line."""
    weights, matrix, squares = targets.weights, targets.matrix, targets.squares
    points, node_labels = desk.points, desk.labels
    for o in range(sums.shape[1]):
        sums[line, o] = 0.0
    total = 0.0
    square = 0.0
    if labels is not None:
        of_class = 0.0
        current = labels[rows[begin]]
        for k in range(m):  # points of a class mostly follow one another: their sum stays in a register
            i = rows[begin + k]
            label = labels[i]
            if label != current:
                sums[line, current] += of_class
                total += of_class
                of_class = 0.0
                current = label
            mass = shares[begin + k] * weights[i]
            points[k, 0] = mass
            node_labels[k] = label
            of_class += mass
        sums[line, current] += of_class
        total += of_class
    else:
        first = 0.0
        for k in range(m):  # sums that stay in registers
            i = rows[begin + k]
            mass = shares[begin + k] * weights[i]
            part = mass * matrix[i, 0]
            points[k, 0] = mass
            points[k, 1] = part
            total += mass
            square += mass * squares[i]
            first += part
        sums[line, 0] = first
        if matrix.shape[1] > 1:
            for k in range(m):
                i = rows[begin + k]
                for o in range(1, matrix.shape[1]):
                    part = points[k, 0] * matrix[i, o]
                    points[k, 1 + o] = part
                    sums[line, o] += part
    lines[line]["square"] = square
    lines[line]["mass"] = total


def number_labels(sums, line, m, desk):
    """Replace the classes of a node's points by numbers without gaps: the search then has only those to look at.

    Returns
    -------
    number of outputs: of the node's classes, or of targets if there are no labels
    """
    node_labels, numbers, totals = desk.labels, desk.numbers, desk.totals
    n_classes = sums.shape[1]
    if desk.points.shape[1] > 1:  # there are targets
        for o in range(n_classes):
            totals[o] = sums[line, o]
        return n_classes
    n_outputs = 0
    for o in range(n_classes):
        numbers[o] = n_outputs
        totals[n_outputs] = sums[line, o]  # written over by the next one if there is none of this class
        n_outputs += 1 if sums[line, o] > 0.0 else 0
    if n_outputs < n_classes:
        for k in range(m):
            node_labels[k] = numbers[node_labels[k]]
    return n_outputs


def merit_and_impurity(lines, sums, line, criterion, is_class):
    """Merit of an unsplit node, and its impurity times its mass in the same unit as differences of merit."""
    q = sums.shape[1]
    mass = lines[line]["mass"]
    merit = 0.0
    if criterion != SQUARED:
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


def tie_of(base, impure, mass):
    """Merits closer than this are equal: a trifle of the impurity, but no less than rounding errors."""
    return 1e-10 * impure + 1e-14 * (abs(base) + mass)


def search_node(bins, widths, kernels, rows, begin, m, desk, n_draw, intervals, goal, search):
    """Best split of a node.

    Parameters
    ----------
    rows : from `begin` on the `m` rows of the node
    desk : the points, as `weigh` and `number_labels` leave them, and the features in the order of the search; the first
        `n_draw` are looked at, and more if those cannot be split
    intervals : (2, p) the node's lower and upper end on each feature
    search : scratch space

    Returns
    -------
    feature (-1: none), threshold, left mass, gain (merit over `goal.base`); of no use if the search was stopped. The
    set of a split of categories is in the scratch space, and its threshold is nan
    """
    total, base, min_mass, tie = goal.total, goal.base, goal.min_mass, goal.tie
    is_single = search.work.shape[1] == 1  # one output with squared error or two-class Gini
    n_columns = 1 if is_single else (goal.n_outputs + 3) >> 2 << 2  # a scan takes four of them at a time
    at_once = search.tables.shape[0] > 1
    if at_once:
        for first in range(0, m, BLOCK):
            end = min(first + BLOCK, m)
            for f in range(n_draw):
                j = desk.order[f]
                add_points(bins.codes, j, rows, begin, desk.points, desk.labels, first, end, search.tables, j)
    best_feature = -1
    best_threshold = np.nan
    best_mass = 0.0
    best = -np.inf
    has_sums = False
    for f in range(desk.order.shape[0]):
        if search.stop[0] != 0 or (f >= n_draw and best_feature >= 0):
            break
        j = desk.order[f]
        n_bins = bins.offsets[j + 1] - bins.offsets[j]
        crisp = widths[j] <= 0.0
        lo = intervals[0, j]
        hi = intervals[1, j]
        slot = j if at_once else 0
        if not at_once or f >= n_draw:
            add_points(bins.codes, j, rows, begin, desk.points, desk.labels, 0, m, search.tables, slot)
        sparse = 2 * m < n_bins
        if sparse:
            mark_points(bins.codes, j, rows, begin, m, search.words, search.groups)
        n = take_atoms(
            search.tables, slot, search.words, search.groups, bins.values, bins.offsets[j], n_bins, n_columns, sparse,
            search.atoms,
        )  # fmt: skip
        if n == 0 or (n == 1 and crisp):
            continue
        merit, threshold, left_mass = -np.inf, np.nan, 0.0
        last, rare = -1, -1
        is_category_column = is_category(bins.n_categories, j)
        by_cell, kind = False, 0
        if kernels is not None:
            by_cell, kind = kernels.by_cell[j], kernels.kinds[j]
        if is_category_column:
            sum_atoms(search.atoms, n, n_columns, search.work)
            merit, last, left_mass, rare = scan_category(
                search.atoms, n, n_columns, search.work, bins, j, goal, search.subset
            )
        elif by_cell:
            merit, threshold, left_mass = scan_cells(bins, kernels, j, rows, begin, m, desk, (lo, hi), goal, search)
        elif kind > 0 and not crisp:
            merit, threshold, left_mass = scan_atoms(
                search.atoms, n, widths[j], kind, kernels, (lo, hi), goal, search.knots, search.work
            )
        elif is_single:
            merit, threshold, left_mass = scan_box_single(
                search.atoms, n, bins.lows, bins.highs, lo, hi, widths[j], min_mass, tie, search.lines
            )
        else:
            if not has_sums:  # which are the same for all features
                sum_atoms(search.atoms, n, n_columns, search.work)
                has_sums = True
            merit, threshold, left_mass = scan_box(
                search.atoms, n, bins.lows, bins.highs, (lo, hi), widths[j], min_mass, tie, goal.criterion, n_columns,
                search.lines, search.work,
            )  # fmt: skip
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
                    set_members(search.subset.ranks, bins, j, last, absent_left, search.subset.found, 0)
    # A split without gain has a gain of 0, not what rounding makes of it.
    return best_feature, best_threshold, best_mass, max(best - base, 0.0)


def place_points(points, feature, rows, begin, m, x):
    """Value of each of a node's points, (m,) in `x`; nan where missing."""
    for k in range(m):
        x[k] = points[rows[begin + k], feature]


def kernel_parts(points, kernels, rows, begin, m, split, reach, parts):
    """Part of each of a node's points on the left of a split, (m,) in `parts`, for any kernel."""
    feature, threshold, missing_left = split
    width, lo, hi = reach
    shape, edges, cdfs = kernels.kinds[feature], kernels.edges, kernels.cdfs
    by_cell, cells = kernels.by_cell[feature], kernels.cells
    for k in range(m):
        i = rows[begin + k]
        x = points[i, feature]
        parts[k] = missing_left
        if not np.isnan(x):
            w = cells[i, feature] if by_cell else width
            lower = kernel_cdf(lo, x, w, shape, edges, cdfs)
            upper = kernel_cdf(hi, x, w, shape, edges, cdfs)
            parts[k] = kernel_share(threshold, x, w, shape, edges, cdfs, lower, upper)


def part_shares(shares, begin, m, cutoff, parts):
    """Replace `shares` of a node by the right child's and `parts` (m,) by the left child's.

    A share smaller than `cutoff` (of the whole point) is given to the larger side.
    """
    for k in range(m):
        u = shares[begin + k]
        left = u * parts[k]
        left = left if left >= cutoff else 0.0
        right = u - left
        right = right if right >= cutoff else 0.0
        parts[k] = u - right
        shares[begin + k] = right


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


def sort_out(rows, shares, begin, m, left_rows, left_shares):
    """Move the rows with a share on the left to `left_rows`, and close the gaps on both sides.

    Returns
    -------
    number of rows on the left and on the right
    """
    n_left = 0
    n_right = 0
    for k in range(m):
        i = rows[begin + k]
        left = left_shares[k]
        right = shares[begin + k]
        # Written on both sides and counted where there is a share, without branches: which side a point is on cannot
        # be predicted.
        left_rows[n_left] = i
        left_shares[n_left] = left
        rows[begin + n_right] = i
        shares[begin + n_right] = right
        n_left += int(left > 0.0)
        n_right += int(right > 0.0)
    return n_left, n_right


def share_out(weights, rows, shares, begin, m, keep, left_rows, left_shares):
    """Divide a node by the parts in `left_shares` (m,) that go left; arguments and results as in `divide`.

    The masses of both children are at least `min_mass`: where the cutoff would take too much from a child, nothing is
    cut off, and if that does not help, the node is not divided. (A search over bins only estimates the masses.)
    """
    total, min_mass, cutoff = keep
    if min_mass > 0.0:
        least = min_mass * LENIENT
        mass = left_mass_of(rows, shares, begin, m, weights, cutoff, left_shares)
        if min(mass, total - mass) < least:
            cutoff = 0.0
            mass = left_mass_of(rows, shares, begin, m, weights, cutoff, left_shares)
            if min(mass, total - mass) < least:
                return 0, 0
    part_shares(shares, begin, m, cutoff, left_shares)
    return sort_out(rows, shares, begin, m, left_rows, left_shares)


def divide(bins, kernels, weights, rows, shares, begin, m, split, reach, keep, left_rows, left_shares):
    """Share the points of a node between its children, by their own values.

    The right child's rows and shares replace the node's, the left child's go to `left_rows` and `left_shares`.

    Parameters
    ----------
    weights : of all rows
    split : feature, threshold, and share of points without a value that goes left
    reach : half-width of the kernel on the feature, and the node's lower and upper end
    keep : mass of the node, smallest mass of a child (0: any), and cutoff: a part smaller than this (of the whole
        point) is given to the larger side, so shares still add up

    Returns
    -------
    number of rows on the left and on the right; both 0 if a child would be too light
    """
    feature, threshold, missing_left = split
    width, lo, hi = reach
    if kernels is None:
        place_points(bins.points, feature, rows, begin, m, left_shares)
        box_shares(left_shares, m, threshold, width, (lo, hi), missing_left)
    else:
        kernel_parts(bins.points, kernels, rows, begin, m, split, reach, left_shares)
    return share_out(weights, rows, shares, begin, m, keep, left_rows, left_shares)


def divide_by_set(bins, weights, rows, shares, begin, m, split, subsets, line, keep, left_rows, left_shares):
    """As `divide`, for a split of categories by the set in a line of `subsets`; its threshold is not used."""
    feature, _, missing_left = split
    subset_parts(bins.codes, bins, feature, subsets, line, missing_left, rows, begin, m, left_shares)
    return share_out(weights, rows, shares, begin, m, keep, left_rows, left_shares)


def keep_set(found, subsets, line):
    """Copy the set that a search has found to a line of the table of nodes."""
    for w in range(subsets.shape[1]):
        subsets[line, w] = found[0, w]


def grow(bins, widths, kernels, labels, targets, rules, criterion, pile, desk, search, random):
    """Go on growing, depth first, until all nodes or as many as wanted are done, an array is too short, or stopped.

    All of the state is in arrays of the caller, who makes them longer, tells of progress, and calls again.

    Parameters
    ----------
    search, random : scratch space of `search_node`, or of the search of extra trees; one of them is None
    """
    state, lines, stack, seeds = pile.state, pile.lines, pile.stack, pile.seeds
    intervals, rows, shares = pile.intervals, pile.rows, pile.shares
    min_mass = rules.min_mass
    while state[1] > 0 and state[0] < state[3] and pile.stop[0] == 0:
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
        weigh(rows, begin, shares, m, labels, targets, desk, lines, pile.sums, line)
        mass = lines[line]["mass"]
        base, impure = merit_and_impurity(lines, pile.sums, line, criterion, rules.is_class)
        if depth >= rules.max_depth or mass < 2.0 * min_mass * SLACK or impure <= 1e-12 * mass:
            continue
        draw_features(desk.order, bins.priority, seeds[at], rules.n_draw)
        n_outputs = number_labels(pile.sums, line, m, desk)
        tie = tie_of(base, impure, mass)
        feature, threshold, missing_left = -1, np.nan, 0.0
        n_left, n_right = 0, 0
        least = min_mass
        while pile.stop[0] == 0 and n_left == 0 and 2.0 * least * SLACK <= mass:
            goal = Goal(mass, base, least, tie, n_outputs, criterion, rules.rare_mass)
            left_mass, gain = 0.0, 0.0
            if search is not None:
                feature, threshold, left_mass, gain = search_node(
                    bins, widths, kernels, rows, begin, m, desk, rules.n_draw, intervals[at], goal, search
                )
                keep_set(search.subset.found, pile.subsets, line)
            else:
                feature, threshold, left_mass, gain = search_random(
                    bins, widths, kernels, rows, begin, m, desk, rules.n_draw, intervals[at], goal, seeds[at], random
                )
                keep_set(random.subset, pile.subsets, line)
            if pile.stop[0] != 0 or feature < 0 or gain < rules.min_gain:
                break
            missing_left = left_mass / mass
            if is_category(bins.n_categories, feature):
                n_left, n_right = divide_by_set(
                    bins, targets.weights, rows, shares, begin, m, (feature, threshold, missing_left), pile.subsets,
                    line, (mass, min_mass, rules.cutoff), desk.left_rows, desk.left_shares,
                )  # fmt: skip
            else:
                n_left, n_right = divide(
                    bins, kernels, targets.weights, rows, shares, begin, m, (feature, threshold, missing_left),
                    (widths[feature], intervals[at, 0, feature], intervals[at, 1, feature]),
                    (mass, min_mass, rules.cutoff), desk.left_rows, desk.left_shares,
                )  # fmt: skip
            least *= 2.0  # if a child was too light: search for one that is heavier by the masses of the bins
        if n_left == 0:
            continue
        lines[line]["feature"] = feature
        lines[line]["threshold"] = threshold
        lines[line]["missing_left"] = missing_left
        middle = begin + n_right
        for k in range(n_left):
            rows[middle + k] = desk.left_rows[k]
            shares[middle + k] = desk.left_shares[k]
        seed = seeds[at]
        for side in range(2):  # the right child stays below, the left child is done next
            entry = at + 1 - side
            stack[entry, 0] = begin if side == 1 else middle
            stack[entry, 1] = line
            stack[entry, 2] = side
            stack[entry, 3] = depth + 1
            seeds[entry] = next_seed(seed, side)
        for j in range(widths.shape[0]):
            intervals[at + 1, 0, j] = intervals[at, 0, j]
            intervals[at + 1, 1, j] = intervals[at, 1, j]
        if not np.isnan(threshold):
            intervals[at + 1, 1, feature] = threshold
            intervals[at, 0, feature] = threshold
        state[1] = at + 2
        state[2] = middle + n_left
