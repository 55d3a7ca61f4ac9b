"""Extra trees: one random threshold for each drawn feature, and the best of those splits."""

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.kernel import box_share, kernel_cdf, kernel_share
from softwood.loops.random import next_seed, to_unit
from softwood.loops.scan import SLACK, merit_of, middle_of


@compiled
def support_of(
    codes, feature, rows, begin, m, values, offset, n_bins, width, kinds, edges, cells, by_cell, lo, hi, node_codes
):
    """Part of the axis that holds mass of the node's points, and their codes copied to `node_codes`.

    Returns
    -------
    its two ends; the second is not above the first if there is nothing to divide
    """
    if kinds is not None:  # noqa: SIM102 (compiled code drops the outer branch if there are none)
        if by_cell[feature]:
            kind = kinds[feature]
            last = edges.shape[1] - 1
            start = np.inf
            stop = -np.inf
            for k in range(m):
                i = rows[begin + k]
                c = codes[i, feature]
                node_codes[k] = c
                if c != n_bins:
                    x = values[offset + c]
                    start = min(start, x + cells[i, feature] * edges[kind, 0])
                    stop = max(stop, x + cells[i, feature] * edges[kind, last])
            return max(start, lo), min(stop, hi)
    lowest = np.int64(n_bins)
    highest = np.int64(-1)
    for k in range(m):
        c = np.int64(codes[rows[begin + k], feature])
        node_codes[k] = c
        lowest = min(lowest, c)
        highest = max(highest, c)
    if highest == n_bins:  # some are missing: look again without them
        highest = np.int64(-1)
        for k in range(m):
            c = np.int64(node_codes[k])
            if c != n_bins:
                highest = max(highest, c)
    if highest < 0:
        return 0.0, 0.0
    reach_left = -width
    reach_right = width
    if kinds is not None:
        kind = kinds[feature]
        reach_left = width * edges[kind, 0]
        reach_right = width * edges[kind, edges.shape[1] - 1]
    return max(values[offset + lowest] + reach_left, lo), min(values[offset + highest] + reach_right, hi)


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


@compiled
def left_shares(
    rows, begin, m, threshold, values, offset, n_bins, width, feature, kinds, edges, cdfs, cells, by_cell, lo, hi,
    node_codes, table, shares,
):  # fmt: skip
    """Share of each of the node's points on the left of a threshold, (m,) in `shares`; nan where missing.

    With many points the shares of the bins are computed first, in `table` (n_bins + 1,), and looked up.
    """
    is_cell = False
    if kinds is not None:
        is_cell = by_cell[feature]
    if m > 2 * n_bins and not is_cell:
        for c in range(n_bins):
            x = values[offset + c]
            if kinds is None:
                table[c] = box_share(threshold, x, width, lo, hi)
            if kinds is not None:
                kind = kinds[feature]
                lower = kernel_cdf(lo, x, width, edges[kind], cdfs[kind])
                upper = kernel_cdf(hi, x, width, edges[kind], cdfs[kind])
                table[c] = kernel_share(threshold, x, width, edges[kind], cdfs[kind], lower, upper)
        table[n_bins] = np.nan
        for k in range(m):
            shares[k] = table[node_codes[k]]
        return
    for k in range(m):
        c = node_codes[k]
        if c == n_bins:
            shares[k] = np.nan
            continue
        x = values[offset + c]
        if kinds is None:
            shares[k] = box_share(threshold, x, width, lo, hi)
        if kinds is not None:
            kind = kinds[feature]
            w = cells[rows[begin + k], feature] if is_cell else width
            lower = kernel_cdf(lo, x, w, edges[kind], cdfs[kind])
            upper = kernel_cdf(hi, x, w, edges[kind], cdfs[kind])
            shares[k] = kernel_share(threshold, x, w, edges[kind], cdfs[kind], lower, upper)


@compiled
def left_sums(points, labels, m, shares, left):
    """Add up the left parts of the points whose value is known, in `left` (1 + q,), and their whole mass.

    Returns
    -------
    mass of the points whose value is known
    """
    for o in range(left.shape[0]):
        left[o] = 0.0
    known = 0.0
    if labels is not None:
        mass = 0.0
        for k in range(m):
            if shares[k] == shares[k]:
                part = points[k, 0] * shares[k]
                known += points[k, 0]
                mass += part
                left[1 + labels[k]] += part
        left[0] = mass
    if labels is None:
        for k in range(m):
            if shares[k] == shares[k]:
                known += points[k, 0]
                for o in range(left.shape[0]):
                    left[o] += points[k, o] * shares[k]
    return known


@compiled
def search_random(
    codes, rows, begin, points, labels, m, n_draw, order, seed, values, lows, highs, offsets, widths, kinds, edges,
    cdfs, cells, by_cell, intervals, total, totals, min_mass, tie, base, criterion, node_codes, table, shares, work,
):  # fmt: skip
    """Best of one random split for each feature of `order` (the first `n_draw`, and more if none can be split).

    The threshold is uniform over the part of the feature's axis that holds mass of the node. Arguments and results
    are as in `softwood.loops.grow.search_node`.

    Parameters
    ----------
    totals : (q,) sums of targets of the node
    node_codes, table, shares : scratch space, (m,), (n_bins + 1,) and (m,);  work : (1 + q,)
    """
    best_feature = -1
    best_threshold = np.nan
    best_mass = 0.0
    best = -np.inf
    for f in range(order.shape[0]):
        if f >= n_draw and best_feature >= 0:
            break
        j = order[f]
        n_bins = offsets[j + 1] - offsets[j]
        lo = intervals[0, j]
        hi = intervals[1, j]
        start, stop = support_of(
            codes, j, rows, begin, m, values, offsets[j], n_bins, widths[j], kinds, edges, cells, by_cell, lo, hi,
            node_codes,
        )  # fmt: skip
        if not stop > start:
            continue
        # The draw depends on the seed and the feature alone: neither equal rows nor the order of rows change it.
        threshold = start + to_unit(next_seed(next_seed(seed, order.shape[0]), j)) * (stop - start)
        if widths[j] <= 0.0:
            threshold = settle_crisp(threshold, values, lows, highs, offsets[j], n_bins)
        if not (threshold > lo and threshold < hi):
            continue
        left_shares(
            rows, begin, m, threshold, values, offsets[j], n_bins, widths[j], j, kinds, edges, cdfs, cells, by_cell,
            lo, hi, node_codes, table, shares,
        )  # fmt: skip
        known = left_sums(points, labels, m, shares, work)
        if known < total * SLACK:  # the points whose value is missing are divided as the others are
            part = work[0] / known
            left_missing(points, labels, m, shares, part, work)
        left_mass = work[0]
        if left_mass < min_mass * SLACK or total - left_mass < min_mass * SLACK:
            continue
        merit = merit_of(left_mass, work[1:], total, totals, criterion)
        gain = merit - base
        if (gain > tie or (gain >= -tie and widths[j] <= 0.0)) and merit > best + tie:
            best_feature = j
            best_threshold = threshold
            best_mass = left_mass
            best = merit
    return best_feature, best_threshold, best_mass, best - base


@compiled
def left_missing(points, labels, m, shares, part, left):
    """Add the left parts of the points whose value is missing."""
    for k in range(m):
        if shares[k] != shares[k]:
            left[0] += part * points[k, 0]
            if labels is not None:
                left[1 + labels[k]] += part * points[k, 0]
            if labels is None:
                for o in range(1, left.shape[0]):
                    left[o] += part * points[k, o]
