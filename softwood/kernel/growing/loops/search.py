"""The search of a node's best split over all features and thresholds."""

import numpy as np

from softwood.kernel.growing.loops.atoms import add_points, mark_points, take_atoms
from softwood.kernel.growing.loops.scan_cells import scan_column
from softwood.kernel.growing.loops.scan_feature import is_better, keep_subset, scan_feature
from softwood.trees.loops.random import next_seed

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


def is_by_cell(kernels, j):
    """Whether the half-widths of a feature differ from cell to cell."""
    found = False
    if kernels is not None:
        found = kernels.by_cell[j]
    return found


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
    is_single = search.work.shape[1] == 1  # one output with squared error or two-class Gini
    n_columns = 1 if is_single else (goal.n_outputs + 3) >> 2 << 2  # a scan takes four of them at a time
    at_once = search.tables.shape[0] > 1
    if at_once:
        for first in range(0, m, BLOCK):
            end = min(first + BLOCK, m)
            for f in range(n_draw):
                j = scratch.order[f]
                if is_by_cell(kernels, j):
                    continue
                add_points(bins.codes, j, rows, begin, scratch.points, scratch.labels, first, end, search.tables, j)
    best_feature, best_threshold, best_mass, best = -1, np.nan, 0.0, -np.inf
    has_sums = False
    for f in range(scratch.order.shape[0]):
        if search.stop[0] != 0 or (f >= n_draw and best_feature >= 0):
            break
        j = scratch.order[f]
        n_bins = bins.offsets[j + 1] - bins.offsets[j]
        lo, hi = intervals[0, j], intervals[1, j]
        interval = lo, hi
        if is_by_cell(kernels, j):
            merit, threshold, left_mass = scan_column(bins, kernels, j, rows, begin, m, scratch, interval, goal, search)
            last, rare, has_sums = -1, -1, False
        else:
            slot = j if at_once else 0
            if not at_once or f >= n_draw:
                add_points(bins.codes, j, rows, begin, scratch.points, scratch.labels, 0, m, search.tables, slot)
            sparse = 2 * m < n_bins
            if sparse:
                mark_points(bins.codes, j, rows, begin, m, search.words, search.groups)
            n = take_atoms(
                search.tables, slot, search.words, search.groups, bins.values, bins.offsets[j], n_bins, n_columns,
                sparse, search.atoms,
            )  # fmt: skip
            merit, threshold, left_mass, last, rare, has_sums = scan_feature(
                bins, widths, kernels, j, n, interval, goal, n_columns, has_sums, search
            )
        if is_better(merit, left_mass, best, best_mass, widths[j] <= 0.0, goal):
            best_feature, best_threshold, best_mass, best = j, threshold, left_mass, max(best, merit)
            if last >= 0:
                keep_subset(bins, j, last, rare, left_mass, goal.total, search, search.subset.found, 0)
    # A split without gain has a gain of 0, not what rounding makes of it.
    return best_feature, best_threshold, best_mass, max(best - goal.base, 0.0)
