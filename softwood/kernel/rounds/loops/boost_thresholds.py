"""The best threshold of boosting on a column of numbers, crisp or with kernels.

Arguments that recur are explained in `softwood.kernel.rounds.loops.boost_scores`.
"""

import numpy as np

from softwood.kernel.growing.loops.scan import LARGEST, SLACK, THIN
from softwood.kernel.rounds.loops.boost_scores import (
    EMPTY,
    GAIN,
    LEFT_G,
    LEFT_H,
    LEFT_W,
    LINE_G,
    LINE_H,
    LINE_W,
    MISSING_LEFT,
    PLACE,
    RATE,
    SCORE,
    SLOPE,
    THRESHOLD,
    TIE,
    best_candidate,
    split_score,
)
from softwood.trees.loops.thresholds import middle_of


def between_bins(table, j, c, bins, empty):
    """Threshold between a bin and the next one: the middle of the gap between the nearest bins that are not empty."""
    offset = bins.offsets[j]
    n_bins = bins.offsets[j + 1] - offset
    before = c
    while before > 0 and table[j, before, 2] <= empty:
        before -= 1
    after = c + 1
    while after < n_bins - 1 and table[j, after, 2] <= empty:
        after += 1
    return middle_of(bins.highs[offset + before], bins.lows[offset + after])


def scan_crisp(table, j, bins, total, start, rules, limits, lines, out, line):
    """Best threshold between bins, better than what is in line `line` of `out`.

    A split next to an empty bin has the score of the split before it, so empty bins need no test.
    """
    n_bins = bins.offsets[j + 1] - bins.offsets[j]
    left_h, left_g, left_w = start
    for c in range(n_bins - 1):
        left_h += table[j, c, 0]
        left_g += table[j, c, 1]
        left_w += table[j, c, 2]
        lines[LINE_H, c] = left_h
        lines[LINE_G, c] = left_g
        lines[LINE_W, c] = left_w
    known = start[2], total[2] - table[j, n_bins, 2]
    best = best_candidate(lines, 0, n_bins - 1, total, known, rules, limits, out, line)
    if best >= 0:
        out[line, THRESHOLD] = between_bins(table, j, best, bins, EMPTY * total[2])


def set_rates(bins, j, interval, reach, lines):
    """Share of each bin per unit of the threshold, while the threshold passes through the bin's box.

    0 for a box that is cut thin by the node's interval or lies outside; such a bin changes sides as a whole.
    """
    lo, hi = interval
    offset = bins.offsets[j]
    for c in range(bins.offsets[j + 1] - offset):
        width = reach[offset + c]
        length = min(bins.values[offset + c] + width, hi) - max(bins.values[offset + c] - width, lo)
        lines[RATE, c] = 1.0 / length if length > THIN * 2.0 * width else 0.0


def within_gap(t, table, j, bins, reach, empty):
    """The threshold, or the middle of the gap after it if no box of a bin that is not empty covers it."""
    offset = bins.offsets[j]
    after = np.inf
    for c in range(bins.offsets[j + 1] - offset):
        width = reach[offset + c]
        if table[j, c, 2] > empty and bins.values[offset + c] + width > t:
            if bins.values[offset + c] - width <= t:
                return t
            after = min(after, bins.values[offset + c] - width)
    return middle_of(t, after) if after < np.inf else t


def first_from(places, j, end, x):
    """Number of the first place of a feature that is not below `x`; `end` if all are."""
    first = 0
    size = end
    while size > 0:
        half = size >> 1
        if places[j, first + half] < x:
            first += half + 1
            size -= half + 1
        else:
            size = half
    return first


def list_edges(table, j, kinds, begin, end, empty, lines):
    """Write the numbers of the edges of bins that are not empty, without branches; returns how many there are.

    Most bins of a small leaf are empty: the loop over what is left has nothing to skip.
    """
    n = 0
    for e in range(begin, end):
        lines[SCORE, n] = e
        n += int(table[j, kinds[j, e] >> 2, 2] > empty)
    return n


def left_sums(table, j, edges, begin, end, lo, empty, start, lines):
    """Sums on the left of a threshold at the edges of bins that are not empty, and the slope of the weight after it.

    `set_rates` comes before it. lo : lower end of the node

    Returns
    -------
    number of candidates
    """
    n = list_edges(table, j, edges.kinds, begin, end, empty, lines)
    left_h, left_g, left_w = start
    slope_h, slope_g, slope_w = 0.0, 0.0, 0.0
    t = lo
    n_covering = 0
    for k in range(n):
        e = int(lines[SCORE, k])
        kind = edges.kinds[j, e]
        c = kind >> 2
        rate = lines[RATE, c]
        before = t
        t = max(edges.places[j, e], lo)
        step = t - before
        left_h += slope_h * step
        left_g += slope_g * step
        left_w += slope_w * step
        is_end = int(kind & 1)
        signed = rate * (1.0 - 2.0 * is_end)
        slope_h += signed * table[j, c, 0]
        slope_g += signed * table[j, c, 1]
        slope_w += signed * table[j, c, 2]
        if rate > 0.0:
            n_covering += 1 - 2 * is_end
        elif is_end != 0:  # a bin that changes sides as a whole
            left_h += table[j, c, 0]
            left_g += table[j, c, 1]
            left_w += table[j, c, 2]
        if n_covering == 0:  # no box reaches further: forget rounding errors of the slopes
            slope_h, slope_g, slope_w = 0.0, 0.0, 0.0
        lines[LINE_H, k] = left_h
        lines[LINE_G, k] = left_g
        lines[LINE_W, k] = left_w
        lines[SLOPE, k] = slope_w
        lines[PLACE, k] = t
    return n


def scan_boxes(table, j, bins, edges, interval, total, start, rules, limits, lines, out, line):
    """As `scan_crisp`, where the mass of every bin is spread by a box: sums are linear between its edges.

    interval : the node's ends on the feature, both finite
    """
    lo, hi = interval
    width = edges.widths[j]
    n_bins = bins.offsets[j + 1] - bins.offsets[j]
    # boxes that begin before this end before the node
    first = first_from(edges.places, j, 2 * n_bins, lo - 2.0 * width)
    end = max(first, first_from(edges.places, j, 2 * n_bins, hi))
    set_rates(bins, j, interval, edges.reach, lines)
    empty = EMPTY * total[2]
    n = left_sums(table, j, edges, first, end, lo, empty, start, lines)
    begin = 0
    while begin < n and lines[PLACE, begin] <= lo:
        begin += 1
    known = start[2], total[2] - table[j, n_bins, 2]
    e = best_candidate(lines, begin, n, total, known, rules, limits, out, line)
    if e >= 0:
        t = lines[PLACE, e]
        while e + 1 < n and lines[PLACE, e + 1] == t:
            e += 1
        is_covered = lines[SLOPE, e] * width > empty
        out[line, THRESHOLD] = t if is_covered else within_gap(t, table, j, bins, edges.reach, empty)


def scan_missing(table, j, n_bins, above, total, rules, limits, out, line):
    """As `scan_crisp`, of one split: all values to the left, missing ones to the right.

    above : a threshold that no value of the node is above
    """
    min_hessian, least = rules.min_hessian, rules.min_mass * SLACK
    left_h = total[0] - table[j, n_bins, 0]
    left_g = total[1] - table[j, n_bins, 1]
    left_w = total[2] - table[j, n_bins, 2]
    enough = left_w > EMPTY * total[2] and left_w >= least and total[2] - left_w >= least
    if enough and left_h >= min_hessian and total[0] - left_h >= min_hessian:
        s = split_score(left_h, left_g, total[0], total[1], rules.l2, limits)
        if s - TIE * abs(s) > out[line, GAIN]:
            out[line, GAIN] = s
            out[line, THRESHOLD] = above
            out[line, LEFT_H] = left_h
            out[line, LEFT_G] = left_g
            out[line, LEFT_W] = left_w


def search_feature(table, j, bins, edges, interval, total, rules, limits, lines, out, line):
    """Best split on one feature, in line `line` of `out`; missing values go to the side where they do better, or alone.

    Without missing values, those of later points will go to the side with the larger weight.

    interval : the leaf's ends on the feature
    """
    start = 0.0, 0.0, 0.0
    n_bins = bins.offsets[j + 1] - bins.offsets[j]
    out[line, GAIN] = -np.inf
    has_missing = table[j, n_bins, 2] > EMPTY * total[2]
    for side in range(2 if has_missing else 1):
        if side == 1:
            start = table[j, n_bins, 0], table[j, n_bins, 1], table[j, n_bins, 2]
        before = out[line, GAIN]
        if edges.widths[j] > 0.0:
            within = max(interval[0], -LARGEST), min(interval[1], LARGEST)
            scan_boxes(table, j, bins, edges, within, total, start, rules, limits, lines, out, line)
        else:
            scan_crisp(table, j, bins, total, start, rules, limits, lines, out, line)
        if out[line, GAIN] > before:
            out[line, MISSING_LEFT] = side
    if not has_missing:
        out[line, MISSING_LEFT] = 1.0 if 2.0 * out[line, LEFT_W] >= total[2] else 0.0
    elif n_bins > 0:
        # Known values go left, those of later points that are a little larger too.
        first = bins.offsets[j]
        last = bins.offsets[j + 1] - 1
        above = bins.highs[last] + (bins.highs[last] - bins.lows[first]) + edges.widths[j]
        before = out[line, GAIN]
        scan_missing(table, j, n_bins, min(above, interval[1], LARGEST), total, rules, limits, out, line)
        if out[line, GAIN] > before:
            out[line, MISSING_LEFT] = 0.0
