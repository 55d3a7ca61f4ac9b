"""The best set of categories of boosting: the beginnings of an order of the categories are compared.

Arguments that recur are explained in `softwood.kernel.rounds.loops.boost_scores`.
"""

import numpy as np

from softwood.kernel.growing.loops.subset import ABSENT, FEW, rare_below, set_members, sort_by_key
from softwood.kernel.rounds.loops.boost_scores import (
    BY_GRADIENT,
    BY_NUMBER,
    EMPTY,
    GAIN,
    LEFT_W,
    LINE_G,
    LINE_H,
    LINE_W,
    MISSING_LEFT,
    THRESHOLD,
    Rules,
    best_candidate,
)
from softwood.kernel.rounds.loops.boost_thresholds import scan_missing

# The bits of a drawn number.
KEY_BITS = (1 << 31) - 1


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
