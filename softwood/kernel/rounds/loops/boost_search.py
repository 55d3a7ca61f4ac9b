"""The search of boosting: the best split of a leaf by histograms of second-order sums.

A row counts with its hessian, gradient and weight. A split's gain is the decrease of the loss's second-order
approximation, ``G**2 / (H + l2)`` of both sides less that of the node. Histograms of parts of the rows add up to that
of all. `softwood.kernel.rounds.loops.boost` grows trees by this search.

Arguments that recur
--------------------
bins : the binned features, see `softwood.kernel.growing.loops.groups`
rows_sums : (n, 3) hessian, gradient and weight of each row
rows, shares : the pile: rows of the nodes, one after the other, and their memberships; shares is None if no kernel has
    a width
table : (p, most + 1, 4) sums of the rows of a node by feature and bin, the line after the last bin for missing values;
    the fourth column is 0 and makes a line four numbers, which are added at once
leaves : (n_leaves,) the open leaves, of type `LEAF`;  bounds : (n_leaves, 2, p) their intervals
rules : see `Rules`;  edges : see `Edges`
total, start : sums (h, g, w) of a node, and those to begin with on the left: of the missing values if they go left,
    else 0
lines : (7, 2 * most) scratch space, columns below
limits : lowest and highest value of a leaf, and the direction of the feature (1: rising, -1: falling, 0: any)
found, out : (n_features, 6) best split of a node on each feature, columns below
"""

from typing import NamedTuple

import numpy as np

from softwood.kernel.growing.loops.scan import LARGEST, SLACK, THIN
from softwood.kernel.growing.loops.subset import ABSENT, FEW, rare_below, set_members, sort_by_key
from softwood.kernel.rounds.loops.boost_histograms import (
    add_histogram,
    add_histograms,
    clear_histogram,
    subtract_histogram,
)
from softwood.trees.loops.sets import is_category
from softwood.trees.loops.thresholds import middle_of

# Entries of the state of a pile, see `softwood.kernel.rounds.loops.boost.Pile`.
N_NODES, N_LEAVES, LENGTH, N_FREE, SEARCHED, SIBLING, DIVIDED = range(7)
# Columns of `found`.
GAIN, THRESHOLD, LEFT_H, LEFT_G, LEFT_W, MISSING_LEFT = range(6)
# Rows of `lines`: sums on the left of each candidate, the slope of the weight after it, its score (or, before that, its
# number), its place; and the rate of each bin, see `set_rates`.
LINE_H, LINE_G, LINE_W, SLOPE, SCORE, PLACE, RATE = range(7)
# A leaf while the tree grows.
LEAF = np.dtype(
    [
        ("begin", np.int64),  # where its rows are
        ("size", np.int64),
        ("line", np.int64),  # in the node table
        ("depth", np.int64),
        ("slot", np.int64),  # of its histogram
        ("feature", np.int64),  # of its best split; -1: none
        ("gain", np.float64),
        ("h", np.float64),  # sums of its rows: hessian, gradient, weight
        ("g", np.float64),
        ("w", np.float64),
        ("lowest", np.float64),  # limits of its value
        ("highest", np.float64),
    ]
)
# A leaf of at least twice this many rows is added up and divided in blocks, at most so many; threads may share them.
# Blocks do not depend on the number of threads, so neither do the sums.
BLOCK_ROWS, MOST_BLOCKS = 1 << 13, 8
# A bin with less than this part of the node's weight is empty: what subtraction leaves behind.
EMPTY = 1e-10
# Orders of categories: by gradient over hessian, by number, or, from `DRAWN` on, by keys that this number draws.
BY_GRADIENT, BY_NUMBER, DRAWN = 0, 1, 2
# The bits of a drawn number.
KEY_BITS = (1 << 31) - 1
# Scores closer than this part are equal, and the first one is taken: rounding errors must not decide.
TIE = 1e-12


class Rules(NamedTuple):
    """When to stop, and how to regularise; see `softwood.kernel.rounds.newton.NewtonLimits`."""

    max_leaves: int
    max_depth: int
    min_mass: float
    min_hessian: float
    min_gain: float
    l2: float
    cutoff: float
    best_first: bool
    rare_mass: float = 0.0
    category_smooth: float = 0.0
    category_l2: float = 0.0
    category_order: int = BY_GRADIENT


class Edges(NamedTuple):
    """Half-widths of the kernels; and where the boxes of bins begin and end, in ascending order, for each with a width.

    Attributes
    ----------
    widths : (p,) the largest of each feature
    places : (p, 2 * most) the edges;  kinds : (p, 2 * most) the bin times 4, plus 1 at the end of its box, plus 2 if
        no box reaches further
    reach : (total,) half-width of each bin, in the order of `Bins.values`: above 0 in features with a width
    """

    widths: np.ndarray
    places: np.ndarray
    kinds: np.ndarray
    reach: np.ndarray


class SearchSpace(NamedTuple):
    """Scratch space of the search; all but the first two and the last for each part of the features.

    Attributes
    ----------
    tables : (n_slots, p, most + 1, 4) histograms of the open leaves, by slot
    found : (2, n_features, 6) best splits of a leaf and its sibling
    block : (n_threads, BLOCK, 4), the last column 0;  lines : (n_parts, 7, 2 * most)
    keys, ranks : (n_parts, most + 1) and (n_parts, 2, most + 1), see `order_categories`
    blocks : (MOST_BLOCKS - 1, p, most + 1, 4) histograms of the blocks of a large leaf but the first; (0, ...) if there
        is none
    """

    tables: np.ndarray
    found: np.ndarray
    block: np.ndarray
    lines: np.ndarray
    keys: np.ndarray = np.zeros((1, 0))
    ranks: np.ndarray = np.zeros((1, 2, 0), np.int64)
    blocks: np.ndarray = np.zeros((0, 0, 0, 4))


def leaf_value(g, h, l2, lowest, highest):
    """Newton step within the limits."""
    return min(max(-g / (h + l2), lowest), highest)


def score(g, h, l2, lowest, highest):
    """Twice the decrease of the loss by a leaf with these sums, with its best value within the limits."""
    value = leaf_value(g, h, l2, lowest, highest)
    return -(2.0 * g + (h + l2) * value) * value


def split_score(left_h, left_g, h, g, l2, limits):
    """Score of both sides together; -inf if they break the direction."""
    lowest, highest, direction = limits
    right_h = h - left_h
    right_g = g - left_g
    if direction == 0 and lowest == -np.inf and highest == np.inf:
        return left_g * left_g / (left_h + l2) + right_g * right_g / (right_h + l2)
    left_value = leaf_value(left_g, left_h, l2, lowest, highest)
    right_value = leaf_value(right_g, right_h, l2, lowest, highest)
    if direction * (right_value - left_value) < 0.0:
        return -np.inf
    return score(left_g, left_h, l2, lowest, highest) + score(right_g, right_h, l2, lowest, highest)


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


def score_candidates(lines, begin, end, h, g, l2, limits):
    """Scores of splits with these left sums; loops without branches, which the processor does for several at once."""
    if limits[2] == 0 and limits[0] == -np.inf and limits[1] == np.inf:
        for e in range(begin, end):
            left_g = lines[LINE_G, e]
            right_g = g - left_g
            left = lines[LINE_H, e] + l2
            right = h - lines[LINE_H, e] + l2
            lines[SCORE, e] = (left_g * left_g * right + right_g * right_g * left) / (left * right)
    else:
        for e in range(begin, end):
            lines[SCORE, e] = split_score(lines[LINE_H, e], lines[LINE_G, e], h, g, l2, limits)


def largest_of(lines, begin, end):
    """The largest of some scores, nan not counted: four at once, because each comparison waits for the one before."""
    a, b, c, d = -np.inf, -np.inf, -np.inf, -np.inf
    for e in range(begin, end - 3, 4):
        a = lines[SCORE, e] if lines[SCORE, e] > a else a
        b = lines[SCORE, e + 1] if lines[SCORE, e + 1] > b else b
        c = lines[SCORE, e + 2] if lines[SCORE, e + 2] > c else c
        d = lines[SCORE, e + 3] if lines[SCORE, e + 3] > d else d
    for e in range(end - (end - begin) % 4, end):
        a = lines[SCORE, e] if lines[SCORE, e] > a else a
    return max(max(a, b), max(c, d))


def best_candidate(lines, begin, end, total, known, rules, limits, out, line):
    """Enter the best of some splits if it is better than what is in `out`: the first of equals.

    Sums rise from split to split: the first ones have too little on the left, the last ones too little on the right.

    Parameters
    ----------
    known : weight of the missing values on the left, and of all values; some values must be on either side

    Returns
    -------
    number of the split, -1 if none is better
    """
    empty = EMPTY * total[2]
    least = rules.min_mass * SLACK
    lowest = max(least, known[0] + empty)
    highest = min(total[2] - least, known[0] + known[1] - empty)
    highest_h = total[0] - rules.min_hessian
    while begin < end and (lines[LINE_W, begin] < lowest or lines[LINE_H, begin] < rules.min_hessian):
        begin += 1
    while begin < end and (lines[LINE_W, end - 1] > highest or lines[LINE_H, end - 1] > highest_h):
        end -= 1
    if begin >= end:
        return -1
    score_candidates(lines, begin, end, total[0], total[1], rules.l2, limits)
    best = largest_of(lines, begin, end)
    enough = best - TIE * abs(best)
    if not enough > out[line, GAIN]:
        return -1
    e = begin
    while not lines[SCORE, e] >= enough:
        e += 1
    out[line, GAIN] = lines[SCORE, e]
    out[line, LEFT_H] = lines[LINE_H, e]
    out[line, LEFT_G] = lines[LINE_G, e]
    out[line, LEFT_W] = lines[LINE_W, e]
    return e


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


def mix_bits(x):
    """A number that looks as if it were drawn, the same for the same `x`; both have the bits `KEY_BITS`."""
    x = ((x ^ (x >> 15)) * 739982445) & KEY_BITS
    x = ((x ^ (x >> 12)) * 695872825) & KEY_BITS
    return x ^ (x >> 15)


def order_categories(table, j, n_bins, total_w, rules, keys, order):
    """Order the categories of a node, see `BY_GRADIENT`; in that order, those with little weight are together.

    Parameters
    ----------
    keys : (n_bins + 1,) scratch space
    order : (n_bins + 1,) filled with bins in their order; the number `n_bins` stands for all rare ones together

    Returns
    -------
    length of the order, and the sums h, g, w of the rare ones
    """
    n = 0
    h, g, w = 0.0, 0.0, 0.0
    n_rare = 0
    empty = EMPTY * total_w
    by_gradient = rules.category_order == BY_GRADIENT
    least = rare_below(table[j], 2, n_bins, rules.rare_mass) if by_gradient else 0.0
    drawn = mix_bits((mix_bits(rules.category_order) + j) & KEY_BITS)
    for c in range(n_bins):
        weight = table[j, c, 2]
        if weight <= empty:
            continue
        if weight < least:
            h += table[j, c, 0]
            g += table[j, c, 1]
            w += weight
            n_rare += 1
            continue
        if by_gradient:
            keys[c] = table[j, c, 1] / (table[j, c, 0] + rules.category_smooth)
        else:
            keys[c] = c if rules.category_order == BY_NUMBER else mix_bits((drawn + c) & KEY_BITS)
        order[n] = c
        n += 1
    if n_rare > 0:
        keys[n_bins] = g / (h + rules.category_smooth)
        order[n] = n_bins
        n += 1
    sort_by_key(keys, order, n)
    return n, h, g, w


def stricter(rules):
    """Rules of comparing many sets of categories: the best of many is too good by chance."""
    return Rules(
        rules.max_leaves, rules.max_depth, rules.min_mass, rules.min_hessian, rules.min_gain,
        rules.l2 + rules.category_l2, rules.cutoff, rules.best_first, rules.rare_mass, rules.category_smooth,
        rules.category_l2, rules.category_order,
    )  # fmt: skip


def scan_categories(table, j, n_bins, total, start, rules, limits, lines, keys, order, out, line):
    """As `scan_crisp`, of the beginnings of an order of the categories; the threshold is the length less a half.

    keys, order : as of `order_categories`
    """
    n, rare_h, rare_g, rare_w = order_categories(table, j, n_bins, total[2], rules, keys, order)
    left_h, left_g, left_w = start
    for r in range(n - 1):
        c = order[r]
        left_h += rare_h if c == n_bins else table[j, c, 0]
        left_g += rare_g if c == n_bins else table[j, c, 1]
        left_w += rare_w if c == n_bins else table[j, c, 2]
        lines[LINE_H, r] = left_h
        lines[LINE_G, r] = left_g
        lines[LINE_W, r] = left_w
    known = start[2], total[2] - table[j, n_bins, 2]
    chosen = stricter(rules) if n > FEW and rules.category_order == BY_GRADIENT else rules
    best = best_candidate(lines, 0, n - 1, total, known, chosen, limits, out, line)
    if best >= 0:
        out[line, THRESHOLD] = best + 0.5


def search_category(table, j, n_bins, total, rules, limits, lines, keys, order, out, line):
    """As `search_feature`, for a column of categories; keys, order : as of `order_categories`."""
    start = 0.0, 0.0, 0.0
    out[line, GAIN] = -np.inf
    has_missing = table[j, n_bins, 2] > EMPTY * total[2]
    for side in range(2 if has_missing else 1):
        if side == 1:
            start = table[j, n_bins, 0], table[j, n_bins, 1], table[j, n_bins, 2]
        before = out[line, GAIN]
        scan_categories(table, j, n_bins, total, start, rules, limits, lines, keys, order, out, line)
        if out[line, GAIN] > before:
            out[line, MISSING_LEFT] = side
    if not has_missing:
        out[line, MISSING_LEFT] = 1.0 if 2.0 * out[line, LEFT_W] >= total[2] else 0.0
    else:
        before = out[line, GAIN]
        scan_missing(table, j, n_bins, float(n_bins), total, rules, limits, out, line)
        if out[line, GAIN] > before:
            out[line, MISSING_LEFT] = 0.0


def set_subset(table, j, bins, total_w, split, rules, keys, ranks, subsets, line):
    """Write the set of categories of a split that `search_category` has found.

    split : its threshold, and its weight on the left;  keys, ranks : (n,) and (2, n) scratch space, n > n_bins
    """
    threshold, left_w = split
    n_bins = bins.offsets[j + 1] - bins.offsets[j]
    order, rank = ranks[0], ranks[1]
    n = order_categories(table, j, n_bins, total_w, rules, keys, order)[0]
    for c in range(n_bins):
        rank[c] = ABSENT
    of_rare = ABSENT
    for r in range(n):
        if order[r] == n_bins:
            of_rare = r
        else:
            rank[order[r]] = r
    if of_rare != ABSENT:
        for c in range(n_bins):
            if rank[c] == ABSENT:
                rank[c] = of_rare
    if rules.category_order == BY_NUMBER:  # those without rows go with the one before
        before = 0
        for c in range(n_bins):
            if rank[c] == ABSENT:
                rank[c] = before
            before = rank[c]
    last = int(np.floor(threshold))
    absent_left = of_rare <= last if of_rare != ABSENT else 2.0 * left_w >= total_w
    set_members(rank, bins, j, last, absent_left, subsets, line)


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


def is_splittable(leaves, leaf, max_depth, min_mass):
    """Whether a split of this leaf may be looked for; -1 is no leaf."""
    if leaf < 0:
        return False
    return leaves[leaf]["depth"] < max_depth and leaves[leaf]["w"] >= 2.0 * min_mass * SLACK


def count_blocks(size):
    """Number of blocks of a leaf with so many rows."""
    return min(MOST_BLOCKS, max(1, size // BLOCK_ROWS))


def add_block(place, bins, rows_sums, pile, features, space):
    """Histograms of a block of the leaf that `pile.state` names: of the first one in the leaf's table.

    place : number of the block, that of all blocks, and that of the thread
    """
    b, n_blocks, thread = place
    leaf = pile.state[SEARCHED]
    begin, size = pile.leaves[leaf]["begin"], pile.leaves[leaf]["size"]
    first = size * b // n_blocks
    last = size * (b + 1) // n_blocks
    table = space.tables[pile.leaves[leaf]["slot"]] if b == 0 else space.blocks[b - 1]
    n_features = features.shape[0]
    for f in range(n_features):
        j = features[f]
        clear_histogram(table, j, bins.offsets[j + 1] - bins.offsets[j] + 1)
    add_histograms(
        bins.codes, pile.rows, begin + first, last - first, pile.shares, rows_sums, features, 0, n_features, table,
        space.block[thread],
    )  # fmt: skip


def search_part(part, bins, edges, rows_sums, pile, features, directions, rules, space):
    """Histograms and best splits on a part of the features, for the leaves that `pile.state` names.

    The first leaf is added up row by row, or by its blocks, if there are several, which `add_block` has filled; the
    other one, if it is not -1, has its parent's table, from which that of the first is taken. Each part may be searched
    in a thread of its own.

    part : its number, and that of all parts;  directions : (p,) monotonic constraints, or None
    """
    b, n_parts = part
    leaves = pile.leaves
    small, large = pile.state[SEARCHED], pile.state[SIBLING]
    lines = space.lines[b]
    f0 = features.shape[0] * b // n_parts
    f1 = features.shape[0] * (b + 1) // n_parts
    table = space.tables[leaves[small]["slot"]]
    n_blocks = count_blocks(leaves[small]["size"])
    for f in range(f0, f1):
        j = features[f]
        n_lines = bins.offsets[j + 1] - bins.offsets[j] + 1
        if n_blocks == 1:
            clear_histogram(table, j, n_lines)
        for block in range(n_blocks - 1):
            add_histogram(table, space.blocks[block], j, n_lines)
    if n_blocks == 1:
        add_histograms(
            bins.codes, pile.rows, leaves[small]["begin"], leaves[small]["size"], pile.shares, rows_sums, features, f0,
            f1, table, space.block[b],
        )  # fmt: skip
    for side in range(2):
        leaf = small if side == 0 else large
        if not is_splittable(leaves, leaf, rules.max_depth, rules.min_mass):
            continue
        total = leaves[leaf]["h"], leaves[leaf]["g"], leaves[leaf]["w"]
        own, out = space.tables[leaves[leaf]["slot"]], space.found[side]
        for f in range(f0, f1):
            j = features[f]
            n_bins = bins.offsets[j + 1] - bins.offsets[j]
            if side == 1:
                subtract_histogram(own, table, j, n_bins + 1)
            direction = 0
            if directions is not None:
                direction = directions[j]
            limits = leaves[leaf]["lowest"], leaves[leaf]["highest"], direction
            if is_category(bins.n_categories, j):
                search_category(
                    own, j, n_bins, total, rules, limits, lines, space.keys[b], space.ranks[b, 0], out, f
                )  # fmt: skip
            else:
                interval = pile.bounds[leaf, 0, j], pile.bounds[leaf, 1, j]
                search_feature(own, j, bins, edges, interval, total, rules, limits, lines, out, f)


def choose_split(leaves, leaf, found, features, l2, min_gain, splits):
    """Enter the best split of a leaf over its features, the first of equals; a gain of 0 or less is none."""
    leaves[leaf]["feature"] = -1
    leaves[leaf]["gain"] = -np.inf
    base = score(leaves[leaf]["g"], leaves[leaf]["h"], l2, leaves[leaf]["lowest"], leaves[leaf]["highest"])
    best = -np.inf
    for f in range(features.shape[0]):
        s = found[f, GAIN]
        if s - base > min_gain + TIE * abs(base) and s - TIE * abs(s) > best:
            best = s
            leaves[leaf]["gain"] = s - base
            leaves[leaf]["feature"] = features[f]
            for c in range(found.shape[1]):
                splits[leaf, c] = found[f, c]
