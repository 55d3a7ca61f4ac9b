"""Extra trees: one random threshold for each drawn feature, and the best of those splits."""

import numpy as np

from softwood.kernel.growing.loops.scan import LARGEST, SLACK, merit_of
from softwood.kernel.growing.loops.subset import ABSENT, set_members
from softwood.trees.loops.kernel import box_shares, kernel_cdf, kernel_share
from softwood.trees.loops.random import next_seed, to_unit
from softwood.trees.loops.sets import is_category
from softwood.trees.loops.thresholds import middle_of

# A node with more than so many times the minimum mass is searched on where none of the drawn splits is admissible.
PATIENCE = 10.0


def copy_codes(codes, feature, rows, begin, m, node_codes):
    """Copy the codes of a node's points on one feature to `node_codes`."""
    for k in range(m):
        node_codes[k] = codes[rows[begin + k], feature]


def code_range(node_codes, m):
    """Lowest and highest code of a node's points."""
    low = node_codes[0]
    high = node_codes[0]
    for k in range(m):  # in the codes' own type, so that the processor compares many at once
        low = node_codes[k] if node_codes[k] < low else low
        high = node_codes[k] if node_codes[k] > high else high
    return int(low), int(high)


def highest_known(node_codes, m, n_bins):
    """Highest code of the points whose value is known; -1 if there are none."""
    highest = -1
    for k in range(m):
        c = int(node_codes[k])
        highest = max(highest, c if c != n_bins else -1)
    return highest


def kernel_support(node_codes, bins, kernels, feature, rows, begin, m, width, lowest, highest):
    """Where the first kernel of a node's points begins and the last one ends; whether they all are the same one."""
    values, edges, shape = bins.values, kernels.edges, kernels.kinds[feature]
    offset = bins.offsets[feature]
    n_bins = bins.offsets[feature + 1] - offset
    last = edges.shape[1] - 1
    if not kernels.by_cell[feature]:
        start = values[offset + lowest] + width * edges[shape, 0]
        return start, values[offset + highest] + width * edges[shape, last], lowest == highest
    start = np.inf
    stop = -np.inf
    for k in range(m):
        if node_codes[k] != n_bins:
            x = values[offset + node_codes[k]]
            w = kernels.cells[rows[begin + k], feature]
            start = min(start, x + w * edges[shape, 0])
            stop = max(stop, x + w * edges[shape, last])
    return start, stop, False


def settle_crisp(threshold, values, lows, highs, offset, n_bins):
    """Move a threshold out of the bin it lies in, so that the bin's points and its mean are on the same side."""
    first = 0
    size = n_bins
    while size > 0:  # bins whose mean is not above the threshold
        half = size >> 1
        if values[offset + first + half] <= threshold:
            first += half + 1
            size -= half + 1
        else:
            size = half
    if first == 0 or first == n_bins:
        return threshold
    low = highs[offset + first - 1]
    high = lows[offset + first]
    if threshold < low:
        return low
    return middle_of(low, high) if threshold >= high else threshold


def copy_values(values, offset, n_bins, table):
    """Copy the places of a feature's bins to `table` (n_bins + 1,), with nan for missing values after them."""
    for c in range(n_bins):
        table[c] = values[offset + c]
    table[n_bins] = np.nan


def look_up(table, node_codes, m, found):
    """The entry of `table` for the code of each point, (m,) in `found`."""
    for k in range(m):
        found[k] = table[node_codes[k]]


def look_up_known(values, offset, n_bins, node_codes, m, found):
    """`look_up` without a table: the value of each point's bin, nan where missing."""
    for k in range(m):
        c = int(node_codes[k])
        found[k] = values[offset + c] if c < n_bins else np.nan


def left_shares(node_codes, bins, kernels, feature, rows, begin, m, threshold, width, interval, shares):
    """Share of each of the node's points on the left of a threshold, (m,) in `shares`; nan where missing."""
    values, edges, cdfs, shape = bins.values, kernels.edges, kernels.cdfs, kernels.kinds[feature]
    offset = bins.offsets[feature]
    n_bins = bins.offsets[feature + 1] - offset
    lo, hi = interval
    for k in range(m):
        shares[k] = np.nan
        if node_codes[k] != n_bins:
            x = values[offset + node_codes[k]]
            w = kernels.cells[rows[begin + k], feature] if kernels.by_cell[feature] else width
            lower = kernel_cdf(lo, x, w, shape, edges, cdfs)
            upper = kernel_cdf(hi, x, w, shape, edges, cdfs)
            shares[k] = kernel_share(threshold, x, w, shape, edges, cdfs, lower, upper)


def left_masses(points, labels, m, shares, n_outputs, work):
    """Add up the left parts of points with labels: the masses of the classes in the second row of `work` (2, q).

    Returns
    -------
    mass on the left
    """
    for o in range(n_outputs):
        work[1, o] = 0.0
    mass = 0.0
    of_class = 0.0
    current = labels[0]
    for k in range(m):  # points of a class mostly follow one another: their sum stays in a register
        label = labels[k]
        if label != current:
            work[1, current] += of_class
            mass += of_class
            of_class = 0.0
            current = label
        of_class += points[k, 0] * shares[k]
    work[1, current] += of_class
    return mass + of_class


def left_sums(points, m, shares, n_outputs, work):
    """Add up the left parts of points with targets: the sums of targets in the second row of `work` (2, q).

    Returns
    -------
    mass on the left
    """
    if n_outputs == 1:
        mass, work[1, 0] = left_pair(points, m, shares)
        return mass
    mass = 0.0
    for k in range(m):
        mass += points[k, 0] * shares[k]
    for o in range(n_outputs):
        total = 0.0
        for k in range(m):
            total += points[k, 1 + o] * shares[k]
        work[1, o] = total
    return mass


def left_pair(points, m, shares):
    """Mass and sum of one target on the left: four partial sums of each, which are two vectors for the processor."""
    mass_0, mass_1, mass_2, mass_3 = 0.0, 0.0, 0.0, 0.0
    sum_0, sum_1, sum_2, sum_3 = 0.0, 0.0, 0.0, 0.0
    whole = m - (m & 3)
    for k in range(0, whole, 4):
        mass_0 += points[k, 0] * shares[k]
        sum_0 += points[k, 1] * shares[k]
        mass_1 += points[k + 1, 0] * shares[k + 1]
        sum_1 += points[k + 1, 1] * shares[k + 1]
        mass_2 += points[k + 2, 0] * shares[k + 2]
        sum_2 += points[k + 2, 1] * shares[k + 2]
        mass_3 += points[k + 3, 0] * shares[k + 3]
        sum_3 += points[k + 3, 1] * shares[k + 3]
    for k in range(whole, m):
        mass_0 += points[k, 0] * shares[k]
        sum_0 += points[k, 1] * shares[k]
    return (mass_0 + mass_1) + (mass_2 + mass_3), (sum_0 + sum_1) + (sum_2 + sum_3)


def share_missing(points, m, shares):
    """Divide the points whose value is missing as the others are: replace nan in `shares` by the mean share."""
    mass = 0.0
    known = 0.0
    for k in range(m):
        if not np.isnan(shares[k]):
            mass += points[k, 0] * shares[k]
            known += points[k, 0]
    for k in range(m):
        if np.isnan(shares[k]):
            shares[k] = mass / known


def draw_set(node_codes, m, n_bins, seed, table):
    """Draw a set of the categories of a node, neither empty nor all of them, in `table` (n_bins + 1,).

    Every category is in the set with probability one half, independently of the others; if that leaves a side empty,
    the category with the least draw changes sides. An entry of the table is 1 in the set, 0 outside, `ABSENT` for bins
    without points, and nan for missing values.

    Returns
    -------
    whether there are two categories or more
    """
    for c in range(n_bins):
        table[c] = ABSENT
    for k in range(m):
        table[node_codes[k]] = 0.0
    n = 0
    n_left = 0
    least, at = 2.0, 0
    for c in range(n_bins):
        if table[c] != ABSENT:
            part = to_unit(next_seed(seed, c))
            table[c] = 1.0 if part < 0.5 else 0.0
            n += 1
            n_left += 1 if part < 0.5 else 0
            if part < least:
                least, at = part, c
    table[n_bins] = np.nan
    if n_left == 0 or n_left == n:
        table[at] = 1.0 - table[at]
    return n > 1


def keep_drawn(table, bins, j, absent_left, ranks, subset):
    """Write the set of a table of `draw_set` as bits; ranks : (n_bins,) scratch space."""
    for c in range(bins.offsets[j + 1] - bins.offsets[j]):
        ranks[c] = ABSENT if table[c] == ABSENT else int(1.0 - table[c])
    set_members(ranks, bins, j, 0, absent_left, subset, 0)


def search_random(bins, widths, kernels, rows, begin, m, scratch, n_draw, intervals, goal, seed, random):
    """Best of one random split for each feature of `scratch.order` (the first `n_draw`, and more if none can be split).

    The threshold is uniform over the part of the feature's axis that holds mass of the node. Arguments and results
    are as in `softwood.kernel.growing.loops.search.search_thresholds`; random : scratch space.
    """
    values, offsets, table, shares, work = bins.values, bins.offsets, random.bin_shares, random.shares, random.work
    total, base, min_mass, tie, n_outputs = goal.total, goal.base, goal.min_mass, goal.tie, goal.n_outputs
    n_features = scratch.order.shape[0]
    best_feature = -1
    best_threshold = np.nan
    best_mass = 0.0
    best = -np.inf
    least = min_mass * SLACK
    n_tried = 0
    for o in range(n_outputs):
        work[0, o] = scratch.totals[o]
    for f in range(n_features):
        # As in scikit-learn, a small node whose draws all fail is a leaf; large nodes try further features.
        if f >= n_draw and (best_feature >= 0 or (n_tried > 0 and total < PATIENCE * min_mass)):
            break
        j = scratch.order[f]
        offset, width = offsets[j], widths[j]
        n_bins = offsets[j + 1] - offset
        interval = intervals[0, j], intervals[1, j]
        copy_codes(bins.codes, j, rows, begin, m, random.codes)
        lowest, highest = code_range(random.codes, m)
        has_missing = highest == n_bins
        if has_missing:
            highest = highest_known(random.codes, m, n_bins)
            if highest < 0:
                continue
        is_one = lowest == highest  # one place: every threshold would divide all points alike
        by_set = is_category(bins.n_categories, j)
        start = values[offset + lowest] - width
        stop = values[offset + highest] + width
        if kernels is not None:
            start, stop, is_one = kernel_support(random.codes, bins, kernels, j, rows, begin, m, width, lowest, highest)
        start = max(start, interval[0], -LARGEST)
        stop = min(stop, interval[1], LARGEST)
        if is_one or not stop > start:
            continue
        n_tried += 1
        # The draw depends on the seed and the feature alone: neither equal rows nor the order of rows change it.
        draw = next_seed(next_seed(seed, n_features), j)
        part = to_unit(draw)
        threshold = start + part * (stop - start)
        if not threshold < np.inf:  # the length is beyond all numbers
            threshold = (1.0 - part) * start + part * stop
        crisp = width <= 0.0
        if by_set:
            threshold = np.nan
            draw_set(random.codes, m, n_bins, draw, table)
            look_up(table, random.codes, m, shares)
        else:
            if crisp:
                threshold = settle_crisp(threshold, values, bins.lows, bins.highs, offset, n_bins)
            if not (threshold > interval[0] and threshold < interval[1]):
                continue
            if kernels is not None:
                left_shares(random.codes, bins, kernels, j, rows, begin, m, threshold, width, interval, shares)
            elif m > n_bins:
                copy_values(values, offset, n_bins, table)
                box_shares(table, n_bins, threshold, width, interval, np.nan)
                look_up(table, random.codes, m, shares)
            else:
                look_up_known(values, offset, n_bins, random.codes, m, shares)
                box_shares(shares, m, threshold, width, interval, np.nan)
        if has_missing:
            share_missing(scratch.points, m, shares)
        left_mass = 0.0
        if scratch.points.shape[1] == 1:
            left_mass = left_masses(scratch.points, scratch.labels, m, shares, n_outputs, work)
        else:
            left_mass = left_sums(scratch.points, m, shares, n_outputs, work)
        if left_mass < least or total - left_mass < least:
            continue
        merit = merit_of(left_mass, total, work, 1, n_outputs, goal.criterion)
        gain = merit - base
        if (gain > tie or (gain >= -tie and crisp)) and merit > best + tie:
            best_feature = j
            best_threshold = threshold
            best_mass = left_mass
            best = merit
            if by_set:
                keep_drawn(table, bins, j, 2.0 * left_mass >= total, random.ranks, random.subset)
    # A split without gain has a gain of 0, not what rounding makes of it.
    return best_feature, best_threshold, best_mass, max(best - base, 0.0)
