"""The division of a node: each point is shared between the two children by its own values."""

import numpy as np

from softwood.kernel.growing.loops.subset import subset_parts
from softwood.trees.loops.kernel import box_shares, kernel_cdf, kernel_share
from softwood.trees.loops.sets import is_category

LENIENT = 1.0 - 1e-6  # as SLACK, for masses that the search has added up in another order


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


def left_parts(bins, widths, kernels, intervals, subsets, node, split, rows, begin, m, parts):
    """Part of each of a node's points on the left of its split, (m,) in `parts`.

    Parameters
    ----------
    intervals : (2, p) the node's lower and upper end on each feature
    subsets : the set of a split of categories is in row `node`
    split : feature, threshold (not read if the feature has categories), and part of the points without a value that
        goes left
    rows : from `begin` on the `m` rows of the node
    """
    feature, threshold, missing_left = split
    lo, hi = intervals[0, feature], intervals[1, feature]
    if is_category(bins.n_categories, feature):
        subset_parts(bins.codes, bins, feature, subsets, node, missing_left, rows, begin, m, parts)
    elif kernels is None:
        place_points(bins.points, feature, rows, begin, m, parts)
        box_shares(parts, m, threshold, widths[feature], (lo, hi), missing_left)
    else:
        kernel_parts(bins.points, kernels, rows, begin, m, split, (widths[feature], lo, hi), parts)


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


def are_heavy(targets, rows, shares, begin, m, parts, cutoff, least):
    """Whether both children have at least the mass `least`, if shares below `cutoff` are given to the larger side.

    Most children have it after a few rows, and the other rows need not be read.
    """
    left_mass = 0.0
    right_mass = 0.0
    for k in range(m):
        u = shares[begin + k]
        left = u * parts[k]
        left = left if left >= cutoff else 0.0
        right = u - left
        right = right if right >= cutoff else 0.0
        weight = targets[rows[begin + k], 0]
        left_mass += weight * (u - right)
        right_mass += weight * right
        if left_mass >= least and right_mass >= least:
            return True
    return False


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


def cutoff_for(targets, rows, shares, begin, m, parts, rules):
    """The cutoff with which no child of a node is too light: that of the rules, or 0; -1 if there is none.

    The masses of both children must be at least `min_mass`. Where the cutoff would take too much from a child, nothing
    is cut off, and if that does not help, the node is not divided. (A search over bins only estimates the masses.)

    parts : (m,) part of each point that goes left
    """
    least = rules.min_mass * LENIENT
    if rules.min_mass <= 0.0 or are_heavy(targets, rows, shares, begin, m, parts, rules.cutoff, least):
        return rules.cutoff
    return 0.0 if are_heavy(targets, rows, shares, begin, m, parts, 0.0, least) else -1.0


def share_out(rows, shares, begin, m, cutoff, left_rows, left_shares):
    """Share the points of a node between its children by the parts in `left_shares` (m,) that go left.

    The right child's rows and shares replace the node's, the left child's go to `left_rows` and `left_shares`.

    cutoff : a part smaller than this (of the whole point) is given to the larger side, so shares still add up

    Returns
    -------
    number of rows on the left and on the right
    """
    part_shares(shares, begin, m, cutoff, left_shares)
    return sort_out(rows, shares, begin, m, left_rows, left_shares)
