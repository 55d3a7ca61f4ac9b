"""The score of a split of boosting, and the best of many candidates.

A row counts with its hessian, gradient and weight. A split's gain is the decrease of the loss's second-order
approximation, ``G**2 / (H + l2)`` of both sides less that of the node.

Arguments that recur
--------------------
bins : the binned features, see `softwood.kernel.growing.loops.groups`
rows_sums : (n, 3) hessian, gradient and weight of each row
rows, shares : the pile: rows of the nodes, one after the other, and their memberships; shares is None if no kernel has
    a width
table : (p, most + 1, 4) sums of the rows of a node by feature and bin, the line after the last bin for missing values;
    the fourth column is 0 and makes a line four numbers, which are added at once
leaves : (n_leaves,) the open leaves, of type `softwood.kernel.rounds.loops.boost_search.LEAF`
bounds : (n_leaves, 2, p) their intervals
rules : see `Rules`;  edges : see `Edges`
total, start : sums (h, g, w) of a node, and those to begin with on the left: of the missing values if they go left,
    else 0
lines : (7, 2 * most) scratch space, columns below
limits : lowest and highest value of a leaf, and the direction of the feature (1: rising, -1: falling, 0: any)
found, out : (n_features, 6) best split of a node on each feature, columns below
"""

from typing import NamedTuple

import numpy as np

from softwood.kernel.growing.loops.scan import SLACK

# Columns of `found`.
GAIN, THRESHOLD, LEFT_H, LEFT_G, LEFT_W, MISSING_LEFT = range(6)
# Rows of `lines`: sums on the left of each candidate, the slope of the weight after it, its score (or, before that, its
# number), its place; and the rate of each bin, see `set_rates`.
LINE_H, LINE_G, LINE_W, SLOPE, SCORE, PLACE, RATE = range(7)
# A bin with less than this part of the node's weight is empty: what subtraction leaves behind.
EMPTY = 1e-10
# Scores closer than this part are equal, and the first one is taken: rounding errors must not decide.
TIE = 1e-12
# Orders of categories: by gradient over hessian, by number, or, from `DRAWN` on, by keys that this number draws.
BY_GRADIENT, BY_NUMBER, DRAWN = 0, 1, 2


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
