"""Growth of a tree by levels, choosing: the best splits of nodes from their histograms of whole numbers.

The searches are those of growth node by node, see `softwood.kernel.growing.loops.scan`.

Arguments that recur
--------------------
tables : (n_nodes, n_features, most + 1, n_columns), see `softwood.kernel.parts.loops.sums`
units : (n_columns,) what 1 means in each column
numbers : (n_nodes,) which nodes the tables belong to;  nodes : `LevelNodes`
"""

from typing import NamedTuple

import numpy as np

from softwood.kernel.growing.loops.atoms import take_atoms
from softwood.kernel.growing.loops.groups import Goal
from softwood.kernel.growing.loops.scan import EVEN, LARGEST, SLACK, merit_of, scan_box, scan_box_single, sum_atoms
from softwood.kernel.growing.loops.scan_general import scan_atoms
from softwood.kernel.growing.loops.scan_random import settle_crisp
from softwood.kernel.growing.loops.weigh import merit_and_impurity, tie_of
from softwood.trees.loops.kernel import box_share, kernel_cdf, kernel_share
from softwood.trees.loops.random import next_seed, to_unit

# A bin with less than this part of the node's mass is empty.
EMPTY = 1e-10


class LevelNodes(NamedTuple):
    """All nodes of a tree that grows by levels.

    Attributes
    ----------
    lines, sums : see `softwood.kernel.growing.loops.groups.NodeTable`
    bounds : (n_nodes, 2, p) lower and upper end on each feature
    seeds : (n_nodes,)
    """

    lines: np.ndarray
    sums: np.ndarray
    bounds: np.ndarray
    seeds: np.ndarray


def node_goal(nodes, number, criterion, rules):
    """What the splits of a node are measured by."""
    mass = nodes.lines[number]["mass"]
    base, impure = merit_and_impurity(nodes.lines, nodes.sums, number, criterion, rules.is_class)
    return Goal(mass, base, rules.min_mass, tie_of(base, impure, mass), nodes.sums.shape[1], criterion, 0.0)


def atoms_of(tables, units, k, f, bins, j, total, n_columns, search):
    """Occupied bins of a feature as atoms, see `softwood.kernel.growing.loops.atoms`; returns their number.

    Bins with less than a trifle of the `total` mass are empty. k, f : the table of feature `j`
    """
    offset = bins.offsets[j]
    n_bins = bins.offsets[j + 1] - offset
    for c in range(n_bins + 1):
        is_empty = tables[k, f, c, 0] * units[0] <= EMPTY * total
        for o in range(tables.shape[3]):
            search.tables[0, c, o] = 0.0 if is_empty else tables[k, f, c, o] * units[o]
    return take_atoms(
        search.tables, 0, search.words, search.groups, bins.values, offset, n_bins, n_columns, False, search.atoms
    )


def choose_searched(tables, units, features, numbers, nodes, bins, widths, kernels, rules, criterion, search, out):
    """Best splits of nodes of a tree.

    Parameters
    ----------
    features : (n_nodes, n_features) features of each node, in the order of the search
    search : scratch space as in `softwood.kernel.growing.loops.search.search_thresholds`
    out : (n_nodes, >= 4) filled with feature (-1: none), threshold, left mass and gain of each
    """
    is_single = search.work.shape[1] == 1
    for k in range(numbers.shape[0]):
        node = numbers[k]
        goal = node_goal(nodes, node, criterion, rules)
        total, base, min_mass, tie = goal.total, goal.base, goal.min_mass, goal.tie
        n_columns = 1 if is_single else (goal.n_outputs + 3) >> 2 << 2  # a scan takes four of them at a time
        best_feature, best_threshold, best_mass, best = -1, np.nan, 0.0, -np.inf
        has_sums = False
        for f in range(features.shape[1]):
            j = features[k, f]
            lo, hi = nodes.bounds[node, 0, j], nodes.bounds[node, 1, j]
            crisp = widths[j] <= 0.0
            n = atoms_of(tables, units, k, f, bins, j, total, n_columns, search)
            if n == 0 or (n == 1 and crisp):
                continue
            merit, threshold, left_mass = -np.inf, np.nan, 0.0
            kind = 0
            if kernels is not None:
                kind = kernels.kinds[j]
            if kind > 0 and not crisp:
                merit, threshold, left_mass = scan_atoms(
                    search.atoms, n, widths[j], kind, kernels, (lo, hi), goal, search.knots, search.work
                )
            elif is_single:
                merit, threshold, left_mass = scan_box_single(
                    search.atoms, n, bins.lows, bins.highs, lo, hi, widths[j], min_mass, tie, search.lines
                )
            else:
                if not has_sums:  # which are the same for all features
                    sum_atoms(search.atoms, n, n_columns, search.work)
                    has_sums = True
                merit, threshold, left_mass = scan_box(
                    search.atoms, n, bins.lows, bins.highs, (lo, hi), widths[j], min_mass, tie, criterion, n_columns,
                    search.lines, search.work,
                )  # fmt: skip
            gain = merit - base
            # A crisp split without gain is still worth a try (two crossed features); a soft one could go on for ever.
            if gain > tie or (gain >= -tie and crisp):
                nearer_halves = abs(2.0 * left_mass - total) < abs(2.0 * best_mass - total) - EVEN * total
                if merit > best + tie or (merit > best - tie and nearer_halves):
                    best_feature, best_threshold, best_mass, best = j, threshold, left_mass, max(best, merit)
        out[k, 0], out[k, 1], out[k, 2], out[k, 3] = best_feature, best_threshold, best_mass, best - base


def left_of(atoms, n, j, threshold, width, interval, kernels, n_outputs, work):
    """Sums of the atoms' parts on the left of a threshold, in the second row of `work` (> 1, >= n_outputs).

    Returns
    -------
    mass on the left
    """
    lo, hi = interval
    mass = 0.0
    for o in range(n_outputs):
        work[1, o] = 0.0
    for a in range(n):
        x = atoms[a, 0]
        part = 0.0
        if kernels is None:
            part = box_share(threshold, x, width, lo, hi)
        else:
            lower = kernel_cdf(lo, x, width, kernels.kinds[j], kernels.edges, kernels.cdfs)
            upper = kernel_cdf(hi, x, width, kernels.kinds[j], kernels.edges, kernels.cdfs)
            part = kernel_share(threshold, x, width, kernels.kinds[j], kernels.edges, kernels.cdfs, lower, upper)
        mass += part * atoms[a, 2]
        for o in range(n_outputs):
            work[1, o] += part * atoms[a, 3 + o]
    return mass


def random_threshold(atoms, n, j, width, interval, kernels, part):
    """A threshold in the range that holds mass of the atoms, at this part of its length; nan if there is none."""
    reach_low, reach_high = -width, width
    if kernels is not None:
        kind, last = kernels.kinds[j], kernels.edges.shape[1] - 1
        reach_low, reach_high = width * kernels.edges[kind, 0], width * kernels.edges[kind, last]
    start = max(atoms[0, 0] + reach_low, interval[0], -LARGEST)
    stop = min(atoms[n - 1, 0] + reach_high, interval[1], LARGEST)
    if n == 1 or not stop > start:  # one place: every threshold would divide all points alike
        return np.nan
    threshold = start + part * (stop - start)
    if not threshold < np.inf:  # the length is beyond all numbers
        threshold = (1.0 - part) * start + part * stop
    return threshold


def choose_random(tables, units, features, numbers, nodes, bins, widths, kernels, rules, criterion, search, out):
    """As `choose_searched`, of one random threshold for each feature, as in `scan_random`.

    out : (n_nodes, 5) with the number of features that could be tried in the last column
    """
    n_features = widths.shape[0]
    for k in range(numbers.shape[0]):
        node = numbers[k]
        goal = node_goal(nodes, node, criterion, rules)
        total, base, min_mass, tie, n_outputs = goal.total, goal.base, goal.min_mass, goal.tie, goal.n_outputs
        least = min_mass * SLACK
        best_feature, best_threshold, best_mass, best = -1, np.nan, 0.0, -np.inf
        for o in range(n_outputs):
            search.work[0, o] = nodes.sums[node, o]
        n_tried = 0
        for f in range(features.shape[1]):
            j = features[k, f]
            interval = nodes.bounds[node, 0, j], nodes.bounds[node, 1, j]
            n = atoms_of(tables, units, k, f, bins, j, total, n_outputs, search)
            if n == 0:
                continue
            part = to_unit(next_seed(next_seed(nodes.seeds[node], n_features), j))
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
            left_mass = left_of(search.atoms, n, j, threshold, widths[j], interval, kernels, n_outputs, search.work)
            if left_mass < least or total - left_mass < least:
                continue
            merit = merit_of(left_mass, total, search.work, 1, n_outputs, criterion)
            gain = merit - base
            if (gain > tie or (gain >= -tie and crisp)) and merit > best + tie:
                best_feature, best_threshold, best_mass, best = j, threshold, left_mass, merit
        out[k, 0], out[k, 1], out[k, 2], out[k, 3] = best_feature, best_threshold, best_mass, best - base
        out[k, 4] = n_tried
