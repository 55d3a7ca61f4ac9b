"""Extra trees: one random threshold for each drawn feature, and the best of those splits."""

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.kernel import box_share, kernel_cdf, kernel_share
from softwood.loops.random import next_seed, to_unit
from softwood.loops.scan import LARGEST, SLACK, merit_of, middle_of

# A node with more than so many times the minimum mass is searched on where none of the drawn splits is admissible.
PATIENCE = 10.0


@compiled
def support_of(codes, values, offset, n_bins, kernels, feature, node, width, interval, node_codes):
    """Part of the axis that holds mass of the node's points, and their codes copied to `node_codes`.

    Returns
    -------
    its two ends, and whether a value is missing; the second is not above the first if there is nothing to divide
    """
    rows, begin, m = node.rows, node.begin, node.size
    lo, hi = interval
    for k in range(m):
        node_codes[k] = codes[rows[begin + k], feature]
    low = node_codes[0]
    high = node_codes[0]
    for k in range(m):  # in the codes' own type, so that the processor compares many at once
        low = node_codes[k] if node_codes[k] < low else low
        high = node_codes[k] if node_codes[k] > high else high
    lowest = np.int64(low)
    highest = np.int64(high)
    has_missing = highest == n_bins
    if has_missing:
        highest = np.int64(-1)
        for k in range(m):
            c = np.int64(node_codes[k])
            highest = max(highest, c if c != n_bins else np.int64(-1))
    is_one = lowest == highest  # one place: every threshold would divide all points alike
    if kernels is not None:
        is_one = is_one and not kernels.by_cell[feature]  # but not those of different widths
    if highest < 0 or is_one:
        return 0.0, 0.0, has_missing
    start = values[offset + lowest] - width
    stop = values[offset + highest] + width
    if kernels is not None:
        edges, kind = kernels.edges, kernels.kinds[feature]
        last = edges.shape[1] - 1
        start = values[offset + lowest] + width * edges[kind, 0]
        stop = values[offset + highest] + width * edges[kind, last]
        if kernels.by_cell[feature]:
            start = np.inf
            stop = -np.inf
            for k in range(m):
                if node_codes[k] != n_bins:
                    x = values[offset + node_codes[k]]
                    w = kernels.cells[rows[begin + k], feature]
                    start = min(start, x + w * edges[kind, 0])
                    stop = max(stop, x + w * edges[kind, last])
    return max(start, lo, -LARGEST), min(stop, hi, LARGEST), has_missing


@compiled
def settle_crisp(threshold, values, lows, highs, offset, n_bins):
    """Move a threshold out of the bin it lies in, so that the bin's points and its mean are on the same side."""
    first = np.int64(0)
    size = np.int64(n_bins)
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


@compiled(reassociate=True)
def left_sums_of_boxes(
    values, offset, n_bins, points, labels, m, threshold, width, interval, node_codes, table, left
):  # fmt: skip
    """Add up the left parts of the points, in `left` (1 + q,), for boxes of one width and values that are all known.

    With many points the shares of the bins are computed first, in `table` (n_bins + 1,), and looked up.
    """
    lo, hi = interval
    for o in range(left.shape[0]):
        left[o] = 0.0
    is_table = m > n_bins
    if is_table:
        for c in range(n_bins):
            table[c] = box_share(threshold, values[offset + c], width, lo, hi)
    mass = 0.0
    first = 0.0
    for k in range(m):
        if is_table:
            share = table[node_codes[k]]
        else:
            share = box_share(threshold, values[offset + node_codes[k]], width, lo, hi)
        part = points[k, 0] * share
        mass += part
        if labels is not None:
            left[1 + labels[k]] += part
        if labels is None:
            first += points[k, 1] * share
            for o in range(2, left.shape[0]):
                left[o] += points[k, o] * share
    left[0] = mass
    if labels is None:
        left[1] = first


@compiled
def left_shares(bins, kernels, feature, node, threshold, width, interval, node_codes, shares):
    """Share of each of the node's points on the left of a threshold, (m,) in `shares`; nan where missing."""
    rows, begin, m = node.rows, node.begin, node.size
    values, offset = bins.values, bins.offsets[feature]
    n_bins = bins.offsets[feature + 1] - offset
    lo, hi = interval
    for k in range(m):
        shares[k] = np.nan
        if node_codes[k] != n_bins:
            x = values[offset + node_codes[k]]
            if kernels is None:
                shares[k] = box_share(threshold, x, width, lo, hi)
            if kernels is not None:
                kind = kernels.kinds[feature]
                edges, cdf = kernels.edges[kind], kernels.cdfs[kind]
                w = kernels.cells[rows[begin + k], feature] if kernels.by_cell[feature] else width
                lower = kernel_cdf(lo, x, w, edges, cdf)
                upper = kernel_cdf(hi, x, w, edges, cdf)
                shares[k] = kernel_share(threshold, x, w, edges, cdf, lower, upper)


@compiled(reassociate=True)
def left_sums(points, labels, m, shares, left):
    """Add up the left parts of the points, in `left` (1 + q,)."""
    for o in range(left.shape[0]):
        left[o] = 0.0
    mass = 0.0
    if labels is not None:
        for k in range(m):
            part = points[k, 0] * shares[k]
            mass += part
            left[1 + labels[k]] += part
    if labels is None:
        first = 0.0
        for k in range(m):  # sums that stay in registers
            mass += points[k, 0] * shares[k]
            first += points[k, 1] * shares[k]
        left[1] = first
        for o in range(2, left.shape[0]):
            for k in range(m):
                left[o] += points[k, o] * shares[k]
    left[0] = mass


@compiled
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


@compiled
def search_random(bins, widths, kernels, node, labels, intervals, goal, criterion, seed, totals, random):
    """Best of one random split for each feature of `node.order` (the first `n_draw`, and more if none can be split).

    The threshold is uniform over the part of the feature's axis that holds mass of the node. Arguments and results
    are as in `softwood.loops.grow.search_node`.

    Parameters
    ----------
    totals : (>= q,) sums of targets of the node, or the masses of its labels
    random : scratch space
    """
    codes, values, lows, highs, offsets, _ = bins
    m, points, order, n_draw = node.size, node.points, node.order, node.n_draw
    total, base, min_mass, tie, n_outputs = goal
    node_codes, table, shares, work = random
    totals, work = totals[:n_outputs], work[: 1 + n_outputs]
    best_feature = -1
    best_threshold = np.nan
    best_mass = 0.0
    best = -np.inf
    least = min_mass * SLACK
    n_tried = 0
    for f in range(order.shape[0]):
        # As in scikit-learn, a small node whose draws all fail is a leaf; a large one has bad luck, and goes on.
        if f >= n_draw and (best_feature >= 0 or (n_tried > 0 and total < PATIENCE * min_mass)):
            break
        j = order[f]
        n_bins = offsets[j + 1] - offsets[j]
        interval = intervals[0, j], intervals[1, j]
        start, stop, has_missing = support_of(
            codes, values, offsets[j], n_bins, kernels, j, node, widths[j], interval, node_codes
        )
        if not stop > start:
            continue
        n_tried += 1
        # The draw depends on the seed and the feature alone: neither equal rows nor the order of rows change it.
        part = to_unit(next_seed(next_seed(seed, order.shape[0]), j))
        threshold = start + part * (stop - start)
        if not threshold < np.inf:  # the length is beyond all numbers
            threshold = (1.0 - part) * start + part * stop
        crisp = widths[j] <= 0.0
        if crisp:
            threshold = settle_crisp(threshold, values, lows, highs, offsets[j], n_bins)
        if not (threshold > interval[0] and threshold < interval[1]):
            continue
        is_general = has_missing
        if kernels is not None:
            is_general = True
        if is_general:
            left_shares(bins, kernels, j, node, threshold, widths[j], interval, node_codes, shares)
            if has_missing:
                share_missing(points, m, shares)
            left_sums(points, labels, m, shares, work)
        else:
            left_sums_of_boxes(
                values, offsets[j], n_bins, points, labels, m, threshold, widths[j], interval, node_codes, table, work
            )
        left_mass = work[0]
        if left_mass < least or total - left_mass < least:
            continue
        merit = merit_of(left_mass, work[1:], total, totals, criterion)
        gain = merit - base
        if (gain > tie or (gain >= -tie and crisp)) and merit > best + tie:
            best_feature = j
            best_threshold = threshold
            best_mass = left_mass
            best = merit
    return best_feature, best_threshold, best_mass, best - base
