"""Growth by levels, choosing: the best splits of leaves of boosting from their histograms of whole numbers.

The search is that of growth node by node, `softwood.kernel.rounds.loops.boost_search`; `boost_scores` beside it
explains the arguments that recur here.
"""

from typing import NamedTuple

import numpy as np

from softwood.kernel.rounds.loops.boost_categories import search_category, set_subset
from softwood.kernel.rounds.loops.boost_scores import EMPTY, LEFT_W, THRESHOLD
from softwood.kernel.rounds.loops.boost_search import choose_split
from softwood.kernel.rounds.loops.boost_thresholds import search_feature
from softwood.trees.loops.sets import is_category


class BoostSpace(NamedTuple):
    """Scratch space of `choose_boosted`.

    Attributes
    ----------
    splits, subsets : (n_leaves, 6) and (n_leaves, n_words), filled with the best splits of the leaves
    table : (p, most + 1, 4);  found : (n_features, 6);  lines : (7, 2 * most)
    keys, ranks : (most + 1,) and (2, most + 1)
    """

    splits: np.ndarray
    table: np.ndarray
    found: np.ndarray
    lines: np.ndarray
    keys: np.ndarray
    ranks: np.ndarray
    subsets: np.ndarray


def set_table(tables, k, f, units, n_lines, total, table, j):
    """Histogram of a feature as floats; bins with a negligible part of the `total` weight are empty."""
    for c in range(n_lines):
        is_empty = tables[k, f, c, 2] * units[2] <= EMPTY * total
        for o in range(tables.shape[3]):
            table[j, c, o] = 0.0 if is_empty else tables[k, f, c, o] * units[o]


def choose_boosted(tables, units, numbers, leaves, bins, edges, bounds, features, directions, rules, space):
    """Best splits of leaves of boosting.

    Parameters
    ----------
    tables : (n_nodes, n_features, most + 1, 4), see `softwood.kernel.parts.loops.sums`, for the features of the list
    units : (4,) unit of each column;  numbers : (n_nodes,) which leaves the tables belong to
    bounds : (n_leaves, 2, p);  directions : (p,) monotonic constraints, or None
    """
    for k in range(numbers.shape[0]):
        leaf = numbers[k]
        total = leaves[leaf]["h"], leaves[leaf]["g"], leaves[leaf]["w"]
        for f in range(features.shape[0]):
            j = features[f]
            n_lines = bins.offsets[j + 1] - bins.offsets[j] + 1
            set_table(tables, k, f, units, n_lines, total[2], space.table, j)
            direction = 0
            if directions is not None:
                direction = directions[j]
            limits = leaves[leaf]["lowest"], leaves[leaf]["highest"], direction
            if is_category(bins.n_categories, j):
                search_category(
                    space.table, j, n_lines - 1, total, rules, limits, space.lines, space.keys, space.ranks[0],
                    space.found, f,
                )  # fmt: skip
            else:
                interval = bounds[leaf, 0, j], bounds[leaf, 1, j]
                search_feature(
                    space.table, j, bins, edges, interval, total, rules, limits, space.lines, space.found, f
                )  # fmt: skip
        choose_split(leaves, leaf, space.found, features, rules.l2, rules.min_gain, space.splits)
        j = leaves[leaf]["feature"]
        if j >= 0 and is_category(bins.n_categories, j):
            split = space.splits[leaf, THRESHOLD], space.splits[leaf, LEFT_W]
            set_subset(space.table, j, bins, total[2], split, rules, space.keys, space.ranks, space.subsets, leaf)
