"""The search of boosting: the best split of a leaf by histograms of second-order sums.

A row counts with its hessian, gradient and weight. A split's gain is the decrease of the loss's second-order
approximation, ``G**2 / (H + l2)`` of both sides less that of the node. Histograms of parts of the rows add up to that
of all. `softwood.loops.boost` grows trees by this search.

Arguments that recur
--------------------
bins, widths : the binned features, see `softwood.loops.groups`, and half-widths of their kernels
rows_sums : (n, 3) hessian, gradient and weight of each row
rows, shares : the pile: rows of the nodes, one after the other, and their memberships; shares is None if no kernel has
    a width, and the code for it is then not compiled
table : (p, most + 1, 4) sums of the rows of a node by feature and bin, the line after the last bin for missing values;
    the fourth column is 0 and makes a line four numbers, which are added at once
leaves : (n_leaves,) the open leaves, of type `LEAF`;  bounds : (n_leaves, 2, p) their intervals
rules : see `Rules`;  edges : see `Edges`
limits : lowest and highest value of a leaf, and the direction of the feature (1: rising, -1: falling, 0: any)
found : (n_features, 6) best split of a node on each feature, columns below
"""

from typing import NamedTuple

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.boost_histograms import add_histogram, add_histograms, clear_histogram, subtract_histogram
from softwood.loops.scan import LARGEST, SLACK, THIN, middle_of
from softwood.loops.subset import ABSENT, FEW, is_category, rare_below, set_members, sort_by_key

# Entries of the state of a pile, see `softwood.loops.boost.Pile`.
N_NODES, N_LEAVES, LENGTH, N_FREE, SEARCHED, SIBLING = range(6)
# Columns of `found`.
GAIN, THRESHOLD, LEFT_H, LEFT_G, LEFT_W, MISSING_LEFT = range(6)
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
# A leaf of at least twice this many rows is added up in blocks, at most so many; threads may share them. Blocks do not
# depend on the number of threads, so neither do the sums.
BLOCK_ROWS, MOST_BLOCKS = 1 << 15, 8
# A bin with less than this part of the node's weight is empty: what subtraction leaves behind.
EMPTY = 1e-10
# Scores closer than this part are equal, and the first one is taken: rounding errors must not decide.
TIE = 1e-12


class Rules(NamedTuple):
    """When to stop, and how to regularise; see `softwood.density.newton.NewtonLimits`."""

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


class Edges(NamedTuple):
    """Where the boxes of bins begin and end, in ascending order, for each feature with a kernel.

    Attributes
    ----------
    places : (p, 2 * most) the edges;  kinds : (p, 2 * most) the bin times 4, plus 1 at the end of its box, plus 2 if
        no box reaches further
    """

    places: np.ndarray
    kinds: np.ndarray


class SearchSpace(NamedTuple):
    """Scratch space of the search; all but the first two and the last for each part of the features.

    Attributes
    ----------
    tables : (n_slots, p, most + 1, 4) histograms of the open leaves, by slot
    found : (2, n_features, 6) best splits of a leaf and its sibling
    block : (n_threads, BLOCK, 4), the last column 0;  lines : (n_parts, 6, 2 * most);  rates : (n_parts, most)
    totals : (n_parts, 2, 3)
    keys, ranks : (n_parts, most + 1) and (n_parts, 2, most + 1), see `order_categories`
    blocks : (MOST_BLOCKS - 1, p, most + 1, 4) histograms of the blocks of a large leaf but the first; (0, ...) if there
        is none
    """

    tables: np.ndarray
    found: np.ndarray
    block: np.ndarray
    lines: np.ndarray
    rates: np.ndarray
    totals: np.ndarray
    keys: np.ndarray = np.zeros((1, 0))
    ranks: np.ndarray = np.zeros((1, 2, 0), np.int64)
    blocks: np.ndarray = np.zeros((0, 0, 0, 4))


@compiled
def leaf_value(g, h, l2, lowest, highest):
    """Newton step within the limits."""
    return min(max(-g / (h + l2), lowest), highest)


@compiled
def score(g, h, l2, lowest, highest):
    """Twice the decrease of the loss by a leaf with these sums, with its best value within the limits."""
    value = leaf_value(g, h, l2, lowest, highest)
    return -(2.0 * g + (h + l2) * value) * value


@compiled
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


@compiled
def between_bins(table, j, c, n_bins, empty, lows, highs, offset):
    """Threshold between a bin and the next one: the middle of the gap between the nearest bins that are not empty."""
    before = c
    while before > 0 and table[j, before, 2] <= empty:
        before -= 1
    after = c + 1
    while after < n_bins - 1 and table[j, after, 2] <= empty:
        after += 1
    return middle_of(highs[offset + before], lows[offset + after])


@compiled
def score_candidates(left_h, left_g, h, g, l2, limits, scores):
    """Scores of splits with these left sums; loops without branches, which the processor does for several at once."""
    if limits[2] == 0 and limits[0] == -np.inf and limits[1] == np.inf:
        for e in range(scores.shape[0]):
            left = left_h[e] + l2
            right = h - left_h[e] + l2
            right_g = g - left_g[e]
            scores[e] = (left_g[e] * left_g[e] * right + right_g * right_g * left) / (left * right)
    else:
        for e in range(scores.shape[0]):
            scores[e] = split_score(left_h[e], left_g[e], h, g, l2, limits)


@compiled
def largest_of(scores):
    """The largest of some numbers, nan not counted: four at once, because each comparison waits for the one before."""
    a, b, c, d = -np.inf, -np.inf, -np.inf, -np.inf
    n = scores.shape[0]
    for e in range(0, n - 3, 4):
        a = scores[e] if scores[e] > a else a
        b = scores[e + 1] if scores[e + 1] > b else b
        c = scores[e + 2] if scores[e + 2] > c else c
        d = scores[e + 3] if scores[e + 3] > d else d
    for e in range(n - n % 4, n):
        a = scores[e] if scores[e] > a else a
    return max(max(a, b), max(c, d))


@compiled
def best_candidate(lines, begin, end, total, known, rules, limits, out, line):
    """Enter the best of some splits if it is better than what is in `out`: the first of equals.

    Sums rise from split to split: the first ones have too little on the left, the last ones too little on the right.

    Parameters
    ----------
    lines : a column for each split, with its left sums in the first three rows; the fifth row is scratch space
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
    while begin < end and (lines[2, begin] < lowest or lines[0, begin] < rules.min_hessian):
        begin += 1
    while begin < end and (lines[2, end - 1] > highest or lines[0, end - 1] > highest_h):
        end -= 1
    if begin >= end:
        return np.int64(-1)
    scores = lines[4, begin:end]
    score_candidates(lines[0, begin:end], lines[1, begin:end], total[0], total[1], rules.l2, limits, scores)
    best = largest_of(scores)
    enough = best - TIE * abs(best)
    if not enough > out[line, 0]:
        return np.int64(-1)
    e = 0
    while not scores[e] >= enough:
        e += 1
    out[line, 0] = scores[e]
    for o in range(3):
        out[line, 2 + o] = lines[o, begin + e]
    return begin + e


@compiled
def scan_crisp(table, j, lows, highs, offset, n_bins, sums, rules, limits, lines, out, line):
    """Best threshold between bins, better than what is in line `line` of `out`.

    A split next to an empty bin has the score of the split before it, so empty bins need no test.

    Parameters
    ----------
    sums : those of the node, and those to begin with on the left: of the missing values if they go left, else 0
    lines : (6, 2 * most) scratch space
    """
    total, start = sums
    left_h, left_g, left_w = start[0], start[1], start[2]
    for c in range(n_bins - 1):
        left_h += table[j, c, 0]
        left_g += table[j, c, 1]
        left_w += table[j, c, 2]
        lines[0, c] = left_h
        lines[1, c] = left_g
        lines[2, c] = left_w
    known = start[2], total[2] - table[j, n_bins, 2]
    c = best_candidate(lines, np.int64(0), n_bins - 1, total, known, rules, limits, out, line)
    if c >= 0:
        out[line, 1] = between_bins(table, j, c, n_bins, EMPTY * total[2], lows, highs, offset)


@compiled
def set_rates(values, offset, n_bins, reach, rates):
    """Share of each bin per unit of the threshold, while the threshold passes through the bin's box.

    reach : the node's interval, and the half-width. 0 for a box that is cut thin or lies outside; such a bin changes
    sides as a whole.
    """
    lo, hi, width = reach
    thin = THIN * 2.0 * width
    for c in range(n_bins):
        length = min(values[offset + c] + width, hi) - max(values[offset + c] - width, lo)
        rates[c] = 1.0 / length if length > thin else 0.0


@compiled
def within_gap(t, table, j, n_bins, empty, values, offset, width):
    """The threshold, or the middle of the gap after it if no box of a bin that is not empty covers it."""
    after = np.inf
    for c in range(n_bins):
        if table[j, c, 2] > empty and values[offset + c] + width > t:
            if values[offset + c] - width <= t:
                return t
            after = min(after, values[offset + c] - width)
    return middle_of(t, after) if after < np.inf else t


@compiled
def list_edges(table, j, kinds, begin, end, empty, numbers):
    """Write the numbers of the edges of bins that are not empty, without branches; returns how many there are.

    Most bins of a small leaf are empty: the loop over what is left has nothing to skip.
    """
    n = np.int64(0)
    for e in range(begin, end):
        numbers[n] = e
        n += np.int64(table[j, np.uint64(kinds[j, e] >> np.uint32(2)), 2] > empty)
    return n


@compiled
def left_sums(table, j, edges, begin, end, lo, empty, start, rates, lines):
    """Sums on the left of a threshold at the edges of bins that are not empty, and the slope of the weight after it.

    rates : as `set_rates` leaves them;  start : sums to begin with;  lo : lower end of the node
    lines : a column for each of these edges: the three sums, the slope, scratch space, and its place within the node

    Returns
    -------
    number of columns
    """
    places, kinds = edges.places, edges.kinds
    numbers = lines[4]
    n = list_edges(table, j, kinds, begin, end, empty, numbers)
    left_h, left_g, left_w = start[0], start[1], start[2]
    slope_h, slope_g, slope_w = 0.0, 0.0, 0.0
    t = lo
    n_covering = np.int64(0)
    for k in range(n):
        e = np.uint64(np.int64(numbers[k]))  # unsigned: an index that cannot be negative is not checked for it
        kind = kinds[j, e]
        c = np.uint64(kind >> np.uint32(2))
        rate = rates[c]
        before = t
        t = max(places[j, e], lo)
        step = t - before
        left_h += slope_h * step
        left_g += slope_g * step
        left_w += slope_w * step
        is_end = np.int64(kind & np.uint32(1))
        signed = rate * (1.0 - 2.0 * np.float64(is_end))
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
        lines[0, k] = left_h
        lines[1, k] = left_g
        lines[2, k] = left_w
        lines[3, k] = slope_w
        lines[5, k] = t
    return n


@compiled
def scan_boxes(table, j, values, edges, span, reach, sums, rules, limits, scratch, out, line):
    """As `scan_crisp`, where the mass of every bin is spread by a box: sums are linear between its edges.

    Parameters
    ----------
    edges : see `Edges`;  span : where the bins of the feature begin, and their number;  reach : as of `set_rates`
    scratch : lines as of `left_sums`, and (most,) rates
    """
    offset, n_bins = span
    lo, hi, width = reach
    total, start = sums
    lines, rates = scratch
    places = edges.places
    end = 2 * n_bins
    first = np.int64(np.searchsorted(places[j, :end], lo - 2.0 * width))  # boxes that begin before end before the node
    end = max(first, np.int64(np.searchsorted(places[j, :end], hi)))
    set_rates(values, offset, n_bins, reach, rates)
    empty = EMPTY * total[2]
    n = left_sums(table, j, edges, first, end, lo, empty, start, rates, lines)
    begin = np.int64(0)
    while begin < n and lines[5, begin] <= lo:
        begin += 1
    known = start[2], total[2] - table[j, n_bins, 2]
    e = best_candidate(lines, begin, n, total, known, rules, limits, out, line)
    if e >= 0:
        t = lines[5, e]
        while e + 1 < n and lines[5, e + 1] == t:
            e += 1
        is_covered = lines[3, e] * width > empty
        out[line, 1] = t if is_covered else within_gap(t, table, j, n_bins, empty, values, offset, width)


@compiled
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
        if s - TIE * abs(s) > out[line, 0]:
            out[line, 0] = s
            out[line, 1] = above
            out[line, 2] = left_h
            out[line, 3] = left_g
            out[line, 4] = left_w


@compiled
def order_categories(table, j, n_bins, total_w, rules, keys, order):
    """Order the categories of a node by gradient over hessian; those with little weight together.

    Parameters
    ----------
    keys : (n_bins + 1,) scratch space
    order : (n_bins + 1,) filled with bins in their order; the number `n_bins` stands for all rare ones together

    Returns
    -------
    length of the order, and the sums (h, g, w) of the rare ones
    """
    n = 0
    h, g, w = 0.0, 0.0, 0.0
    n_rare = 0
    empty = EMPTY * total_w
    least = rare_below(table[j], 2, n_bins, rules.rare_mass)
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
        keys[c] = table[j, c, 1] / (table[j, c, 0] + rules.category_smooth)
        order[n] = c
        n += 1
    if n_rare > 0:
        keys[n_bins] = g / (h + rules.category_smooth)
        order[n] = n_bins
        n += 1
    sort_by_key(keys, order, n)
    return n, (h, g, w)


@compiled
def stricter(rules):
    """Rules of comparing many sets of categories: the best of many is too good by chance."""
    return Rules(
        rules.max_leaves, rules.max_depth, rules.min_mass, rules.min_hessian, rules.min_gain,
        rules.l2 + rules.category_l2, rules.cutoff, rules.best_first, rules.rare_mass, rules.category_smooth,
        rules.category_l2,
    )  # fmt: skip


@compiled
def scan_categories(table, j, n_bins, sums, rules, limits, scratch, out, line):
    """As `scan_crisp`, of the beginnings of an order of the categories; the threshold is the length less a half."""
    total, start = sums
    lines, keys, order = scratch
    n, rare = order_categories(table, j, n_bins, total[2], rules, keys, order)
    left_h, left_g, left_w = start[0], start[1], start[2]
    for r in range(n - 1):
        c = order[r]
        left_h += rare[0] if c == n_bins else table[j, c, 0]
        left_g += rare[1] if c == n_bins else table[j, c, 1]
        left_w += rare[2] if c == n_bins else table[j, c, 2]
        lines[0, r] = left_h
        lines[1, r] = left_g
        lines[2, r] = left_w
    known = start[2], total[2] - table[j, n_bins, 2]
    chosen = stricter(rules) if n > FEW else rules
    r = best_candidate(lines, np.int64(0), n - 1, total, known, chosen, limits, out, line)
    if r >= 0:
        out[line, THRESHOLD] = r + 0.5


@compiled
def search_category(table, j, n_bins, totals, rules, limits, scratch, out, line):
    """As `search_feature`, for a column of categories; scratch : as of `scan_categories`."""
    total, start = totals[0], totals[1]
    out[line, GAIN] = -np.inf
    has_missing = table[j, n_bins, 2] > EMPTY * total[2]
    for side in range(2 if has_missing else 1):
        for o in range(3):
            start[o] = table[j, n_bins, o] if side == 1 else 0.0
        before = out[line, GAIN]
        scan_categories(table, j, n_bins, (total, start), rules, limits, scratch, out, line)
        if out[line, GAIN] > before:
            out[line, MISSING_LEFT] = side
    if not has_missing:
        out[line, MISSING_LEFT] = 1.0 if 2.0 * out[line, LEFT_W] >= total[2] else 0.0
    else:
        before = out[line, GAIN]
        scan_missing(table, j, n_bins, np.float64(n_bins), total, rules, limits, out, line)
        if out[line, GAIN] > before:
            out[line, MISSING_LEFT] = 0.0


@compiled
def set_subset(table, j, bins, total_w, split, rules, keys, ranks, subsets, line):
    """Write the set of categories of a split that `search_category` has found.

    split : its threshold, and its weight on the left;  keys, ranks : (n,) and (2, n) scratch space, n > n_bins
    """
    threshold, left_w = split
    n_bins = bins.offsets[j + 1] - bins.offsets[j]
    order, rank = ranks[0], ranks[1]
    n, _ = order_categories(table, j, n_bins, total_w, rules, keys, order)
    for c in range(n_bins):
        rank[c] = ABSENT
    of_rare = np.int64(ABSENT)
    for r in range(n):
        if order[r] == n_bins:
            of_rare = np.int64(r)
        else:
            rank[order[r]] = r
    if of_rare != ABSENT:
        for c in range(n_bins):
            if rank[c] == ABSENT:
                rank[c] = of_rare
    last = np.int64(np.floor(threshold))
    absent_left = of_rare <= last if of_rare != ABSENT else 2.0 * left_w >= total_w
    set_members(rank, bins, j, last, absent_left, subsets, line)


@compiled
def search_feature(table, j, bins, widths, edges, bounds, totals, rules, limits, scratch, out, line):
    """Best split on one feature, in line `line` of `out`; missing values go to the side where they do better, or alone.

    Without missing values, those of later points will go to the side with the larger weight.

    Parameters
    ----------
    bounds : (2, p) the leaf's interval on each feature
    totals : (2, 3) sums of the leaf, and scratch space;  scratch : as of `scan_boxes`
    """
    values, lows, highs, offsets = bins.values, bins.lows, bins.highs, bins.offsets
    total, start = totals[0], totals[1]
    n_bins = offsets[j + 1] - offsets[j]
    out[line, GAIN] = -np.inf
    has_missing = table[j, n_bins, 2] > EMPTY * total[2]
    for side in range(2 if has_missing else 1):
        for o in range(3):
            start[o] = table[j, n_bins, o] if side == 1 else 0.0
        before = out[line, GAIN]
        if widths[j] > 0.0:
            reach = max(bounds[0, j], -LARGEST), min(bounds[1, j], LARGEST), widths[j]
            scan_boxes(
                table, j, values, edges, (offsets[j], n_bins), reach, (total, start), rules, limits, scratch, out, line
            )
        else:
            scan_crisp(table, j, lows, highs, offsets[j], n_bins, (total, start), rules, limits, scratch[0], out, line)
        if out[line, GAIN] > before:
            out[line, MISSING_LEFT] = side
    if not has_missing:
        out[line, MISSING_LEFT] = 1.0 if 2.0 * out[line, LEFT_W] >= total[2] else 0.0
    elif n_bins > 0:
        # Known values go left, those of later points that are a little larger too.
        first = offsets[j]
        last = offsets[j + 1] - 1
        above = min(highs[last] + (highs[last] - lows[first]) + widths[j], bounds[1, j], LARGEST)
        before = out[line, GAIN]
        scan_missing(table, j, n_bins, above, total, rules, limits, out, line)
        if out[line, GAIN] > before:
            out[line, MISSING_LEFT] = 0.0


@compiled
def is_splittable(leaves, leaf, max_depth, min_mass):
    """Whether a split of this leaf may be looked for; -1 is no leaf."""
    if leaf < 0:
        return False
    return leaves[leaf]["depth"] < max_depth and leaves[leaf]["w"] >= 2.0 * min_mass * SLACK


@compiled
def count_blocks(size):
    """Number of blocks of a leaf with so many rows."""
    return min(np.int64(MOST_BLOCKS), max(np.int64(1), size // BLOCK_ROWS))


@compiled
def add_block(place, bins, rows_sums, pile, shares, features, space):
    """Histograms of a block of the leaf that `pile.state` names: of the first one in the leaf's table.

    place : number of the block, that of all blocks, and that of the thread
    """
    b, n_blocks, thread = place
    leaf = pile.state[SEARCHED]
    begin, size = pile.leaves[leaf]["begin"], pile.leaves[leaf]["size"]
    first = size * b // n_blocks
    last = size * (b + 1) // n_blocks
    table = space.tables[pile.leaves[leaf]["slot"]] if b == 0 else space.blocks[b - 1]
    n_features = np.int64(features.shape[0])
    for f in range(n_features):
        j = features[f]
        clear_histogram(table, j, bins.offsets[j + 1] - bins.offsets[j] + 1)
    add_histograms(
        bins.codes, pile.rows, begin + first, last - first, shares, rows_sums, features, np.int64(0), n_features,
        table, space.block[thread],
    )  # fmt: skip


@compiled
def search_part(part, bins, widths, edges, rows_sums, pile, shares, features, directions, rules, space):
    """Histograms and best splits on a part of the features, for the leaves that `pile.state` names.

    The first leaf is added up row by row, or by its blocks, if there are several, which `add_block` has filled; the
    other one, if it is not -1, has its parent's table, from which that of the first is taken. Each part may be searched
    in a thread of its own. part : its number, and that of all parts
    """
    b, n_parts = part
    leaves, rows, bounds = pile.leaves, pile.rows, pile.bounds
    small, large = pile.state[SEARCHED], pile.state[SIBLING]
    tables, found = space.tables, space.found
    scratch, totals = (space.lines[b], space.rates[b]), space.totals[b]
    f0 = features.shape[0] * b // n_parts
    f1 = features.shape[0] * (b + 1) // n_parts
    slot = leaves[small]["slot"]
    n_blocks = count_blocks(leaves[small]["size"])
    for f in range(f0, f1):
        j = features[f]
        n_lines = bins.offsets[j + 1] - bins.offsets[j] + 1
        if n_blocks == 1:
            clear_histogram(tables[slot], j, n_lines)
        for block in range(n_blocks - 1):
            add_histogram(tables[slot], space.blocks[block], j, n_lines)
    if n_blocks == 1:
        add_histograms(
            bins.codes, rows, leaves[small]["begin"], leaves[small]["size"], shares, rows_sums, features, f0, f1,
            tables[slot], space.block[b],
        )  # fmt: skip
    for side in range(2):
        leaf = small if side == 0 else large
        if not is_splittable(leaves, leaf, rules.max_depth, rules.min_mass):
            continue
        totals[0, 0] = leaves[leaf]["h"]
        totals[0, 1] = leaves[leaf]["g"]
        totals[0, 2] = leaves[leaf]["w"]
        own = leaves[leaf]["slot"]
        for f in range(f0, f1):
            j = features[f]
            if side == 1:
                n_lines = bins.offsets[j + 1] - bins.offsets[j] + 1
                subtract_histogram(tables[own], tables[slot], j, n_lines)
            direction = np.int64(0)
            if directions is not None:
                direction = np.int64(directions[j])
            limits = leaves[leaf]["lowest"], leaves[leaf]["highest"], direction
            if is_category(bins.n_categories, j):
                n_bins = bins.offsets[j + 1] - bins.offsets[j]
                search_category(
                    tables[own], j, n_bins, totals, rules, limits, (scratch[0], space.keys[b], space.ranks[b, 0]),
                    found[side], f,
                )  # fmt: skip
                continue
            search_feature(
                tables[own], j, bins, widths, edges, bounds[leaf], totals, rules, limits, scratch, found[side], f
            )


@compiled
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
