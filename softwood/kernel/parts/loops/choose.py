"""Growth of a tree by levels, choosing: the best splits of nodes from their histograms of whole numbers.

The searches are those of growth node by node, see `softwood.kernel.growing.loops.scan`.

Arguments that recur
--------------------
tables : (n_nodes, n_features, most + 1, n_columns), see `softwood.kernel.parts.loops.sums`
units : (n_columns,) unit of each column
numbers : (n_nodes,) which nodes the tables belong to;  nodes : `LevelNodes`
kernels : as of growth node by node, but half-widths in `cells` are those of bins (most, p) and not of rows
"""

from typing import NamedTuple

import numpy as np

from softwood.kernel.growing.loops.atoms import take_atoms
from softwood.kernel.growing.loops.groups import Goal
from softwood.kernel.growing.loops.scan import LARGEST, SLACK, merit_of
from softwood.kernel.growing.loops.scan_feature import is_better, keep_subset, scan_feature
from softwood.kernel.growing.loops.scan_general import place_knots, scan_general
from softwood.kernel.growing.loops.scan_random import PATIENCE, settle_crisp
from softwood.kernel.growing.loops.subset import ABSENT, set_members
from softwood.kernel.growing.loops.weigh import merit_and_impurity, tie_of
from softwood.trees.loops.kernel import box_share, kernel_cdf, kernel_share
from softwood.trees.loops.random import next_seed, to_unit
from softwood.trees.loops.sets import is_category

# A bin with less than this fraction of the node's mass counts as empty.
EMPTY = 1e-10


class LevelNodes(NamedTuple):
    """All nodes of a tree that grows by levels.

    Attributes
    ----------
    lines, sums : see `softwood.kernel.growing.loops.groups.NodeTable`
    bounds : (n_nodes, 2, p) lower and upper end on each feature
    seeds : (n_nodes,)
    subsets : (n_nodes, n_words) sets of categories, filled where the best split is one
    n_seen : (n_nodes,) number of features that were searched before, without finding a split
    """

    lines: np.ndarray
    sums: np.ndarray
    bounds: np.ndarray
    seeds: np.ndarray
    subsets: np.ndarray
    n_seen: np.ndarray


def first_new(n_seen, features, n_features):
    """The first column of `features` that a node has not searched: its last features overlap those before."""
    return max(0, n_seen - (n_features - features.shape[1]))


def node_goal(nodes, number, criterion, rules):
    """What the splits of a node are measured by."""
    mass = nodes.lines[number]["mass"]
    base, impure = merit_and_impurity(nodes.lines, nodes.sums, number, criterion, rules.is_class)
    return Goal(mass, base, rules.min_mass, tie_of(base, impure, mass), nodes.sums.shape[1], criterion, rules.rare_mass)


def atoms_of(tables, units, k, f, bins, j, total, n_columns, search):
    """Occupied bins of a feature as atoms, see `softwood.kernel.growing.loops.atoms`; returns their number.

    Bins with a negligible part of the `total` mass count as empty. k, f : the table of feature `j`
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


def width_of(kernels, j, c, width):
    """Half-width of a bin of a feature; width : that of the feature, if all its bins have the same."""
    if kernels is not None and kernels.by_cell[j]:
        return kernels.cells[c, j]
    return width


def scan_bins(bins, kernels, j, n, interval, goal, search):
    """As `scan_feature`, for a feature whose bins have different half-widths."""
    atoms, shape, at = search.atoms, kernels.kinds[j], 0
    for a in range(n):
        x, width = atoms[a, 0], kernels.cells[int(atoms[a, 1]) - bins.offsets[j], j]
        lower = kernel_cdf(interval[0], x, width, shape, kernels.edges, kernels.cdfs)
        upper = kernel_cdf(interval[1], x, width, shape, kernels.edges, kernels.cdfs)
        at = place_knots(x, width, shape, kernels.edges, kernels.cdfs, lower, upper, a, search.knots, at)
    return scan_general(search.knots, at, atoms, n, interval, goal, search.work)


def choose_searched(tables, units, features, numbers, nodes, bins, widths, kernels, rules, criterion, search, out):
    """Best splits of nodes of a tree.

    Parameters
    ----------
    features : (n_nodes, n_features) features of each node, in the order of the search. A node that was searched before
        takes the first of them that can be split
    search : scratch space as in `softwood.kernel.growing.loops.search.search_thresholds`
    out : (n_nodes, >= 4) filled with feature (-1: none), threshold, left mass and gain of each
    """
    is_single = search.work.shape[1] == 1
    for k in range(numbers.shape[0]):
        node = numbers[k]
        goal = node_goal(nodes, node, criterion, rules)
        n_columns = 1 if is_single else (goal.n_outputs + 3) >> 2 << 2  # a scan takes four of them at a time
        best_feature, best_threshold, best_mass, best = -1, np.nan, 0.0, -np.inf
        has_sums = False
        n_seen = nodes.n_seen[node]
        for f in range(first_new(n_seen, features, widths.shape[0]), features.shape[1]):
            if n_seen > 0 and best_feature >= 0:
                break
            j = features[k, f]
            interval = nodes.bounds[node, 0, j], nodes.bounds[node, 1, j]
            n = atoms_of(tables, units, k, f, bins, j, goal.total, n_columns, search)
            if n > 0 and kernels is not None and kernels.by_cell[j]:
                merit, threshold, left_mass = scan_bins(bins, kernels, j, n, interval, goal, search)
                last, rare = -1, -1
            else:
                merit, threshold, left_mass, last, rare, has_sums = scan_feature(
                    bins, widths, kernels, j, n, interval, goal, n_columns, has_sums, search
                )
            if is_better(merit, left_mass, best, best_mass, widths[j] <= 0.0, goal):
                best_feature, best_threshold, best_mass, best = j, threshold, left_mass, max(best, merit)
                if last >= 0:
                    keep_subset(bins, j, last, rare, left_mass, goal.total, search, nodes.subsets, node)
        # A split without gain has a gain of 0, not what rounding makes of it.
        out[k, 0], out[k, 1], out[k, 2], out[k, 3] = best_feature, best_threshold, best_mass, max(best - goal.base, 0.0)


def place_parts(atoms, n, bins, j, threshold, width, interval, kernels, lines):
    """Part of each atom on the left of a threshold, in the first column of `lines`."""
    lo, hi = interval
    for a in range(n):
        x = atoms[a, 0]
        if kernels is None:
            lines[a, 0] = box_share(threshold, x, width, lo, hi)
        else:
            w = width_of(kernels, j, int(atoms[a, 1]) - bins.offsets[j], width)
            lower = kernel_cdf(lo, x, w, kernels.kinds[j], kernels.edges, kernels.cdfs)
            upper = kernel_cdf(hi, x, w, kernels.kinds[j], kernels.edges, kernels.cdfs)
            lines[a, 0] = kernel_share(threshold, x, w, kernels.kinds[j], kernels.edges, kernels.cdfs, lower, upper)


def draw_parts(atoms, n, offset, seed, lines):
    """A random set of categories, see `softwood.kernel.growing.loops.scan_random.draw_set`: 1 or 0 for each atom."""
    n_left = 0
    least, at = 2.0, 0
    for a in range(n):
        part = to_unit(next_seed(seed, int(atoms[a, 1]) - offset))
        lines[a, 0] = 1.0 if part < 0.5 else 0.0
        n_left += 1 if part < 0.5 else 0
        if part < least:
            least, at = part, a
    if n_left == 0 or n_left == n:
        lines[at, 0] = 1.0 - lines[at, 0]


def keep_drawn_parts(atoms, n, bins, j, absent_left, search, subsets, line):
    """Write the set of `draw_parts` as bits."""
    offset, ranks = bins.offsets[j], search.subset.ranks
    for c in range(bins.offsets[j + 1] - offset):
        ranks[c] = ABSENT
    for a in range(n):
        ranks[int(atoms[a, 1]) - offset] = int(1.0 - search.lines[a, 0])
    set_members(ranks, bins, j, 0, absent_left, subsets, line)


def left_of(atoms, n, lines, n_outputs, work):
    """Sums of the atoms' parts on the left, in the second row of `work` (> 1, >= n_outputs).

    lines : parts of the atoms in the first column

    Returns
    -------
    mass on the left
    """
    mass = 0.0
    for o in range(n_outputs):
        work[1, o] = 0.0
    for a in range(n):
        part = lines[a, 0]
        mass += part * atoms[a, 2]
        for o in range(n_outputs):
            work[1, o] += part * atoms[a, 3 + o]
    return mass


def random_threshold(atoms, n, bins, j, width, interval, kernels, part):
    """A threshold in the range that holds mass of the atoms, at this part of its length; nan if there is none."""
    start, stop = atoms[0, 0] - width, atoms[n - 1, 0] + width
    is_one = n == 1  # one place: every threshold would divide all points alike
    if kernels is not None:
        kind, last = kernels.kinds[j], kernels.edges.shape[1] - 1
        start, stop = np.inf, -np.inf
        for a in range(n):
            w = width_of(kernels, j, int(atoms[a, 1]) - bins.offsets[j], width)
            start = min(start, atoms[a, 0] + w * kernels.edges[kind, 0])
            stop = max(stop, atoms[a, 0] + w * kernels.edges[kind, last])
    start = max(start, interval[0], -LARGEST)
    stop = min(stop, interval[1], LARGEST)
    if is_one or not stop > start:
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
        n_seen = nodes.n_seen[node]
        for f in range(first_new(n_seen, features, n_features), features.shape[1]):
            if n_seen > 0 and (best_feature >= 0 or (n_tried > 0 and total < PATIENCE * min_mass)):
                break
            j = features[k, f]
            interval = nodes.bounds[node, 0, j], nodes.bounds[node, 1, j]
            n = atoms_of(tables, units, k, f, bins, j, total, n_outputs, search)
            if n == 0:
                continue
            draw = next_seed(next_seed(nodes.seeds[node], n_features), j)
            threshold = random_threshold(search.atoms, n, bins, j, widths[j], interval, kernels, to_unit(draw))
            if np.isnan(threshold):
                continue
            n_tried += 1
            crisp = widths[j] <= 0.0
            offset = bins.offsets[j]
            by_set = is_category(bins.n_categories, j)
            if by_set:
                threshold = np.nan
                draw_parts(search.atoms, n, offset, draw, search.lines)
            else:
                if crisp:
                    threshold = settle_crisp(
                        threshold, bins.values, bins.lows, bins.highs, offset, bins.offsets[j + 1] - offset
                    )
                if not (threshold > interval[0] and threshold < interval[1]):
                    continue
                place_parts(search.atoms, n, bins, j, threshold, widths[j], interval, kernels, search.lines)
            left_mass = left_of(search.atoms, n, search.lines, n_outputs, search.work)
            if left_mass < least or total - left_mass < least:
                continue
            merit = merit_of(left_mass, total, search.work, 1, n_outputs, criterion)
            gain = merit - base
            if (gain > tie or (gain >= -tie and crisp)) and merit > best + tie:
                best_feature, best_threshold, best_mass, best = j, threshold, left_mass, merit
                if by_set:
                    absent_left = 2.0 * left_mass >= total
                    keep_drawn_parts(search.atoms, n, bins, j, absent_left, search, nodes.subsets, node)
        out[k, 0], out[k, 1], out[k, 2], out[k, 3] = best_feature, best_threshold, best_mass, max(best - base, 0.0)
        out[k, 4] = n_tried
