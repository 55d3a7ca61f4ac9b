"""Growth by levels, choosing: the best splits of nodes of boosting from their histograms of whole numbers.

The search is that of growth node by node, `softwood.loops.boost_search`.

Arguments that recur
--------------------
tables : (n_nodes, n_features, most + 1, n_columns), see `softwood.loops.level_sums`
units : (n_columns,) what 1 means in each column
numbers : (n_nodes,) which nodes the tables belong to
"""

from typing import NamedTuple

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.boost_search import EMPTY, choose_split, search_feature


class BoostSpace(NamedTuple):
    """Scratch space of `choose_boosted`; `splits` (n_leaves, 6) is filled with the best splits of the leaves.

    Attributes
    ----------
    table : (p, most + 1, 4);  found : (n_features, 6);  lines : (6, 2 * most);  rates : (most,);  totals : (2, 3)
    """

    splits: np.ndarray
    table: np.ndarray
    found: np.ndarray
    lines: np.ndarray
    rates: np.ndarray
    totals: np.ndarray


@compiled
def to_floats(table, units, n_lines, total, mass, out):
    """Histogram of one feature as floats; bins with less than a trifle of the `total` mass are empty.

    mass : the column of the mass
    """
    for c in range(n_lines):
        is_empty = table[c, mass] * units[mass] <= EMPTY * total
        for o in range(table.shape[1]):
            out[c, o] = 0.0 if is_empty else table[c, o] * units[o]


@compiled
def choose_boosted(tables, units, numbers, leaves, bins, widths, edges, bounds, features, directions, rules, space):
    """Best splits of leaves of boosting; see `softwood.loops.boost_search` for the arguments.

    tables : for the features of the list;  bounds : (n_leaves, 2, p)
    """
    totals, scratch = space.totals, (space.lines, space.rates)
    for k in range(numbers.shape[0]):
        leaf = numbers[k]
        totals[0, 0] = leaves[leaf]["h"]
        totals[0, 1] = leaves[leaf]["g"]
        totals[0, 2] = leaves[leaf]["w"]
        for f in range(features.shape[0]):
            j = features[f]
            n_lines = bins.offsets[j + 1] - bins.offsets[j] + 1
            to_floats(tables[k, f], units, n_lines, totals[0, 2], 2, space.table[j])
            direction = np.int64(0)
            if directions is not None:
                direction = np.int64(directions[j])
            limits = leaves[leaf]["lowest"], leaves[leaf]["highest"], direction
            search_feature(
                space.table, j, bins, widths, edges, bounds[leaf], totals, rules, limits, scratch, space.found, f
            )
        choose_split(leaves, leaf, space.found, features, rules.l2, rules.min_gain, space.splits)
