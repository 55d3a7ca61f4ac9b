"""The search of a node's best split over all features and thresholds."""

import numpy as np

from softwood.kernel.growing.loops.atoms import add_points, mark_points, take_atoms
from softwood.kernel.growing.loops.scan import EVEN, scan_box, scan_box_single, sum_atoms
from softwood.kernel.growing.loops.scan_general import scan_atoms, scan_cells
from softwood.kernel.growing.loops.subset import scan_category, set_members
from softwood.trees.loops.random import next_seed
from softwood.trees.loops.sets import is_category

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


def search_thresholds(bins, widths, kernels, rows, begin, m, scratch, n_draw, intervals, goal, search):
    """Best split of a node.

    Parameters
    ----------
    rows : from `begin` on the `m` rows of the node
    scratch : the points, as `weigh` and `number_labels` leave them, and the features in the order of the search; the
        first `n_draw` are looked at, and more if those cannot be split
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
                j = scratch.order[f]
                add_points(bins.codes, j, rows, begin, scratch.points, scratch.labels, first, end, search.tables, j)
    best_feature = -1
    best_threshold = np.nan
    best_mass = 0.0
    best = -np.inf
    has_sums = False
    for f in range(scratch.order.shape[0]):
        if search.stop[0] != 0 or (f >= n_draw and best_feature >= 0):
            break
        j = scratch.order[f]
        n_bins = bins.offsets[j + 1] - bins.offsets[j]
        crisp = widths[j] <= 0.0
        lo = intervals[0, j]
        hi = intervals[1, j]
        slot = j if at_once else 0
        if not at_once or f >= n_draw:
            add_points(bins.codes, j, rows, begin, scratch.points, scratch.labels, 0, m, search.tables, slot)
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
            merit, threshold, left_mass = scan_cells(bins, kernels, j, rows, begin, m, scratch, (lo, hi), goal, search)
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
        # A crisp split without gain is worth a try (two crossed features); a soft one may never terminate.
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
