"""The best split of one feature, from its atoms: the scan that its kind of column and kernel calls for."""

import numpy as np

from softwood.kernel.growing.loops.scan import is_ahead, scan_box, scan_box_single, sum_atoms
from softwood.kernel.growing.loops.scan_general import scan_atoms
from softwood.kernel.growing.loops.subset import scan_category, set_members
from softwood.trees.loops.sets import is_category


def scan_feature(bins, widths, kernels, j, n, interval, goal, n_columns, has_sums, search):
    """Best split of a feature, from its `n` atoms in `search.atoms`.

    Parameters
    ----------
    interval : the node's lower and upper end on the feature
    n_columns : number of outputs that the scan reads: one, or a multiple of four
    has_sums : whether the first row of `search.work` has the sums of all atoms, which are the same for all features

    Returns
    -------
    merit (-inf: none), threshold (nan for a set of categories), left mass; last rank of the set and rank of the rare
    categories, see `scan_category`; and whether the sums are there now
    """
    crisp = widths[j] <= 0.0
    merit, threshold, left_mass = -np.inf, np.nan, 0.0
    last, rare = -1, -1
    kind = 0
    if kernels is not None:
        kind = kernels.kinds[j]
    if n == 0 or (n == 1 and crisp):
        return merit, threshold, left_mass, last, rare, has_sums
    if is_category(bins.n_categories, j):
        sum_atoms(search.atoms, n, n_columns, search.work)
        merit, last, left_mass, rare = scan_category(
            search.atoms, n, n_columns, search.work, bins, j, goal, search.subset
        )
    elif kind > 0 and not crisp:
        merit, threshold, left_mass = scan_atoms(
            search.atoms, n, widths[j], kind, kernels, interval, goal, search.knots, search.work
        )
    elif search.work.shape[1] == 1:  # one output with squared error or two-class Gini
        merit, threshold, left_mass = scan_box_single(
            search.atoms, n, bins.lows, bins.highs, interval[0], interval[1], widths[j], goal.min_mass, goal.tie,
            search.lines,
        )  # fmt: skip
    else:
        if not has_sums:
            sum_atoms(search.atoms, n, n_columns, search.work)
            has_sums = True
        merit, threshold, left_mass = scan_box(
            search.atoms, n, bins.lows, bins.highs, interval, widths[j], goal.min_mass, goal.tie, goal.criterion,
            n_columns, search.lines, search.work,
        )  # fmt: skip
    return merit, threshold, left_mass, last, rare, has_sums


def is_better(merit, left_mass, best, best_mass, crisp, goal):
    """Whether a split is worth making, and better than the best one so far.

    A crisp split without gain is still worth a try (two crossed features); a soft one may never come to an end.
    """
    gain = merit - goal.base
    is_worth_it = gain > goal.tie or (gain >= -goal.tie and crisp)
    return is_worth_it and is_ahead(merit, left_mass, goal.total, goal.tie, best, best_mass)


def keep_subset(bins, j, last, rare, left_mass, total, search, subsets, line):
    """Write the set of categories that `scan_feature` has found; categories that the node lacks go with the rare ones.

    Without rare ones, they go to the side with the larger mass.
    """
    absent_left = rare <= last if rare >= 0 else 2.0 * left_mass >= total
    set_members(search.subset.ranks, bins, j, last, absent_left, subsets, line)
