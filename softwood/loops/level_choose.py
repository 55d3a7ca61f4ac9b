"""Growth by levels, choosing: the best splits of nodes from their histograms of whole numbers.

The searches are those of growth node by node: `softwood.loops.boost_search` for boosting, `softwood.loops.scan` for
trees and forests.

Arguments that recur
--------------------
tables : (n_nodes, n_features, most + 1, n_columns), see `softwood.loops.level_sums`
units : (n_columns,) what 1 means in each column
numbers : (n_nodes,) which nodes the tables belong to
"""

from typing import NamedTuple

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.atoms import take_atoms
from softwood.loops.boost_search import EMPTY, choose_split, search_feature
from softwood.loops.groups import Goal
from softwood.loops.grow import merit_and_impurity, tie_of
from softwood.loops.kernel import box_share, kernel_cdf, kernel_share
from softwood.loops.random import next_seed, to_unit
from softwood.loops.scan import EVEN, LARGEST, SLACK, merit_of, scan_box, scan_box_single, sum_atoms
from softwood.loops.scan_general import scan_atoms
from softwood.loops.scan_random import settle_crisp


class BoostSpace(NamedTuple):
    """Scratch space of `choose_boosted`; `splits` (n_leaves, 6) is filled with the best splits of the leaves.

    Attributes
    ----------
    table : (p, most + 1, 4);  found : (n_features, 6);  lines : (5, 2 * most);  rates : (most,);  totals : (2, 3)
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


@compiled
def node_goal(nodes, number, criterion, rules):
    """What the splits of a node are measured by."""
    lines, sums = nodes
    mass = lines[number]["mass"]
    base, impure = merit_and_impurity(lines, sums, number, criterion, rules.is_class)
    return Goal(mass, base, rules.min_mass, tie_of(base, impure, mass), sums.shape[1])


@compiled
def atoms_of(table, units, bins, j, total, n_columns, search):
    """Occupied bins of a feature as atoms, see `softwood.loops.atoms`; returns their number."""
    tables, words, groups, atoms = search.tables, search.words, search.groups, search.atoms
    offset = bins.offsets[j]
    n_bins = bins.offsets[j + 1] - offset
    to_floats(table, units, n_bins + 1, total, 0, tables[0])
    return take_atoms(tables[0], words, groups, bins.values, offset, n_bins, n_columns, False, atoms)


@compiled
def choose_searched(tables, units, features, numbers, nodes, bins, reach, kernels, rules, criterion, search, single):
    """Best splits of nodes of a tree.

    Parameters
    ----------
    features : (n_nodes, n_features) features of each node, in the order of the search
    nodes : lines and sums of all nodes, see `softwood.loops.groups.NodeTable`
    reach : half-widths (p,), and intervals of all nodes (n_nodes, 2, p)
    search, single : scratch space as in `softwood.loops.grow.search_node`, one of them None

    Returns
    -------
    (n_nodes, 4) feature (-1: none), threshold, left mass and gain of each
    """
    widths, bounds = reach
    out = np.zeros((numbers.shape[0], 4))
    for k in range(numbers.shape[0]):
        node = numbers[k]
        goal = node_goal(nodes, node, criterion, rules)
        total, base, min_mass, tie, n_outputs = goal.total, goal.base, goal.min_mass, goal.tie, goal.n_outputs
        best_feature, best_threshold, best_mass, best = -1, np.nan, 0.0, -np.inf
        has_sums = False
        for f in range(features.shape[1]):
            j = features[k, f]
            lo, hi = bounds[node, 0, j], bounds[node, 1, j]
            crisp = widths[j] <= 0.0
            n_columns = n_outputs
            n = np.int64(0)
            if search is not None:
                n_columns = (n_outputs + 3) >> 2 << 2  # a scan takes four of them at a time
                n = atoms_of(tables[k, f], units, bins, j, total, n_columns, search)
            if single is not None:
                n = atoms_of(tables[k, f], units, bins, j, total, n_columns, single)
            if n == 0 or (n == 1 and crisp):
                continue
            merit, threshold, left_mass = -np.inf, np.nan, 0.0
            is_box = True
            if kernels is not None:
                kind = kernels.kinds[j]
                if kind > 0 and not crisp:
                    is_box = False
                    shape = kernels.edges[kind], kernels.cdfs[kind]
                    if search is not None:
                        atoms = search.atoms
                    if single is not None:
                        atoms = single.atoms
                    merit, threshold, left_mass = scan_atoms(atoms, n, widths[j], shape, (lo, hi), goal, criterion)
            if is_box:
                if single is not None:
                    merit, threshold, left_mass = scan_box_single(
                        single.atoms, n, bins.lows, bins.highs, lo, hi, widths[j], min_mass, tie, single.lines
                    )
                if search is not None:
                    if not has_sums:  # which are the same for all features
                        sum_atoms(search.atoms, n, n_columns, search.work[0])
                        has_sums = True
                    merit, threshold, left_mass = scan_box(
                        search.atoms, n, bins.lows, bins.highs, (lo, hi), widths[j], min_mass, tie, criterion,
                        n_columns, search.lines, search.work,
                    )  # fmt: skip
            gain = merit - base
            # A crisp split without gain is still worth a try (two crossed features); a soft one could go on for ever.
            if gain > tie or (gain >= -tie and crisp):
                nearer_halves = abs(2.0 * left_mass - total) < abs(2.0 * best_mass - total) - EVEN * total
                if merit > best + tie or (merit > best - tie and nearer_halves):
                    best_feature, best_threshold, best_mass, best = j, threshold, left_mass, max(best, merit)
        out[k, 0], out[k, 1], out[k, 2], out[k, 3] = best_feature, best_threshold, best_mass, best - base
    return out


@compiled
def left_of(atoms, n, j, threshold, width, interval, kernels, left):
    """Sums of the atoms' parts on the left of a threshold, in `left` (1 + n_outputs,): mass, and sums of targets."""
    lo, hi = interval
    for o in range(left.shape[0]):
        left[o] = 0.0
    for a in range(n):
        x = atoms[a, 0]
        part = 0.0
        if kernels is None:
            part = box_share(threshold, x, width, lo, hi)
        if kernels is not None:
            edges, cdf = kernels.edges[kernels.kinds[j]], kernels.cdfs[kernels.kinds[j]]
            lower, upper = kernel_cdf(lo, x, width, edges, cdf), kernel_cdf(hi, x, width, edges, cdf)
            part = kernel_share(threshold, x, width, edges, cdf, lower, upper)
        for o in range(left.shape[0]):
            left[o] += part * atoms[a, 2 + o]


@compiled
def random_threshold(atoms, n, j, width, interval, kernels, part):
    """A threshold in the range that holds mass of the atoms, at this part of its length; nan if there is none."""
    reach_low, reach_high = -width, width
    if kernels is not None:
        edges = kernels.edges[kernels.kinds[j]]
        reach_low, reach_high = width * edges[0], width * edges[edges.shape[0] - 1]
    start = max(atoms[0, 0] + reach_low, interval[0], -LARGEST)
    stop = min(atoms[n - 1, 0] + reach_high, interval[1], LARGEST)
    if n == 1 or not stop > start:  # one place: every threshold would divide all points alike
        return np.nan
    threshold = start + part * (stop - start)
    if not threshold < np.inf:  # the length is beyond all numbers
        threshold = (1.0 - part) * start + part * stop
    return threshold


@compiled
def choose_random(tables, units, features, numbers, nodes, bins, reach, kernels, rules, criterion, seeds, search):
    """As `choose_searched`, of one random threshold for each feature, as in `softwood.loops.scan_random`.

    seeds : (n_nodes,) seeds of the nodes that the tables belong to

    Returns
    -------
    (n_nodes, 5) with the number of features that could be tried in the last column
    """
    widths, bounds = reach
    n_features = widths.shape[0]
    out = np.zeros((numbers.shape[0], 5))
    for k in range(numbers.shape[0]):
        node = numbers[k]
        goal = node_goal(nodes, node, criterion, rules)
        total, base, min_mass, tie, n_outputs = goal.total, goal.base, goal.min_mass, goal.tie, goal.n_outputs
        least = min_mass * SLACK
        best_feature, best_threshold, best_mass, best = -1, np.nan, 0.0, -np.inf
        left, totals = search.work[0, : 1 + n_outputs], search.work[1, :n_outputs]
        for o in range(n_outputs):
            totals[o] = nodes[1][node, o]
        n_tried = 0
        for f in range(features.shape[1]):
            j = features[k, f]
            interval = bounds[node, 0, j], bounds[node, 1, j]
            n = atoms_of(tables[k, f], units, bins, j, total, n_outputs, search)
            if n == 0:
                continue
            part = to_unit(next_seed(next_seed(seeds[k], n_features), j))
            threshold = random_threshold(search.atoms, n, j, widths[j], interval, kernels, part)
            if np.isnan(threshold):
                continue
            n_tried += 1
            crisp = widths[j] <= 0.0
            if crisp:
                offset = bins.offsets[j]
                threshold = settle_crisp(
                    threshold, bins.values, bins.lows, bins.highs, offset, bins.offsets[j + 1] - offset
                )
            if not (threshold > interval[0] and threshold < interval[1]):
                continue
            left_of(search.atoms, n, j, threshold, widths[j], interval, kernels, left)
            if left[0] < least or total - left[0] < least:
                continue
            merit = merit_of(left[0], left[1:], total, totals, criterion)
            gain = merit - base
            if (gain > tie or (gain >= -tie and crisp)) and merit > best + tie:
                best_feature, best_threshold, best_mass, best = j, threshold, left[0], merit
        out[k, 0], out[k, 1], out[k, 2], out[k, 3] = best_feature, best_threshold, best_mass, best - base
        out[k, 4] = n_tried
    return out
