"""Splits of categories: a set of categories goes to the left child, the others go to the right.

A column of categories holds their numbers, 0, 1, ... A set is a row of bits in words of 32. To search the best set, the
categories of a node are brought into an order, and only its beginnings are compared. If the order is that of the mean
target (one output, or two classes), the best of all sets is among them. With several outputs the categories are ordered
along the first principal component of their means, and the best beginning need not be the best set.

Categories with little mass in the node stay together, as one group: the order of their means would be chance. The few
largest ones never belong to it. Categories that the node has no points of go where this group goes, or to the side with
the larger mass if there is no group.
"""

import numpy as np

from softwood.kernel.growing.loops.scan import SLACK, is_ahead, merit_of
from softwood.trees.loops.sets import has_member

# Rank of a bin that a node has no points of.
ABSENT = -1
# Keys, and distances, closer than this part are equal.
TRIFLE = 1e-9
# So many categories of a node, the largest ones, are never merged with others.
FEW = 4
# Steps of the power method for the principal component: enough for an order, which needs no exact direction.
N_POWERS = 12


def sort_by_key(keys, order, n):
    """Sort the first `n` numbers of `order` by their keys, and equal keys by number.

    The keys are replaced by multiples of a trifle of the largest one: rounding errors must not decide.
    """
    largest = 0.0
    for k in range(n):
        largest = max(largest, abs(keys[order[k]]))
    if largest > 0.0:
        for k in range(n):
            keys[order[k]] = np.floor(keys[order[k]] / (TRIFLE * largest) + 0.5)
    gap = 1
    while 3 * gap + 1 < n:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, n):
            entry = order[k]
            key = keys[entry]
            place = k
            while place >= gap:
                other = order[place - gap]
                if keys[other] < key or (keys[other] == key and other < entry):
                    break
                order[place] = other
                place -= gap
            order[place] = entry
        gap //= 3


def set_members(ranks, bins, j, last, absent_left, subsets, line):
    """Write the set of the categories whose bins have a rank up to `last`.

    Parameters
    ----------
    ranks : (n_bins,) rank of each bin of column `j` in the order of the node, or `ABSENT`
    absent_left : whether categories without a rank belong to the set
    """
    offset = bins.offsets[j]
    n_bins = bins.offsets[j + 1] - offset
    for w in range(subsets.shape[1]):
        subsets[line, w] = 0
    at = 0
    for category in range(bins.n_categories[j]):
        rank = ABSENT
        if at < n_bins and bins.values[offset + at] == category:
            rank = ranks[at]
            at += 1
        if absent_left if rank == ABSENT else rank <= last:
            subsets[line, category >> 5] |= np.uint32(1) << np.uint32(category & 31)


def rare_below(masses, column, n, least):
    """Mass below which a category is rare: `least`, or less if so few categories have this mass.

    masses : (>= n, >= column) mass of each category in this column
    """
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0  # the `FEW` largest masses
    for k in range(n):
        if masses[k, column] > fourth:
            fourth = masses[k, column]
            if fourth > third:
                third, fourth = fourth, third
            if third > second:
                second, third = third, second
            if second > first:
                first, second = second, first
    return SLACK * min(least, fourth)


# Kernel trees: an atom is a category of the node


def merge_rare(atoms, n, n_outputs, least, offset, ranks, work):
    """Merge the atoms of rare categories into one, the last. `ranks` holds the new atom of each bin.

    Parameters
    ----------
    atoms : (>= n, 3 + q) place, bin, mass, sums, as `softwood.kernel.growing.loops.atoms.take_atoms` leaves them
    least : a category with less mass is rare, unless it is one of the `FEW` largest
    ranks : (>= n_bins,) `ABSENT` everywhere
    work : (> 1, >= n_outputs) scratch space in its second row

    Returns
    -------
    number of atoms, and number of the merged one, -1 if there is none
    """
    kept = 0
    n_rare = 0
    least = rare_below(atoms, 2, n, least)
    for a in range(n):
        n_rare += 1 if atoms[a, 2] < least else 0
    if n_rare == 0:
        for a in range(n):
            ranks[int(atoms[a, 1]) - offset] = a
        return n, -1
    mass = 0.0
    for o in range(n_outputs):
        work[1, o] = 0.0
    for a in range(n):
        c = int(atoms[a, 1]) - offset
        if atoms[a, 2] < least:
            ranks[c] = n - n_rare
            mass += atoms[a, 2]
            for o in range(n_outputs):
                work[1, o] += atoms[a, 3 + o]
        else:
            ranks[c] = kept
            for o in range(1 + n_outputs):
                atoms[kept, 2 + o] = atoms[a, 2 + o]
            kept += 1
    atoms[kept, 2] = mass
    for o in range(n_outputs):
        atoms[kept, 3 + o] = work[1, o]
    return kept + 1, kept


def order_keys(atoms, n, n_outputs, total, work, means, keys):
    """Keys to order atoms by: the mean of the only output, or the place along the first principal component.

    Parameters
    ----------
    total : mass of the node;  work : (> 2, >= n_outputs) sums of the node in the first row, then scratch space
    means : (>= n, >= n_outputs) scratch space if there are several outputs
    """
    if n_outputs == 1:
        for a in range(n):
            keys[a] = atoms[a, 3] / atoms[a, 2]
        return
    for o in range(n_outputs):
        work[1, o] = 0.0
    farthest = 0.0
    for a in range(n):
        distance = 0.0
        for o in range(n_outputs):
            mean, middle = atoms[a, 3 + o] / atoms[a, 2], work[0, o] / total
            means[a, o] = mean - middle if abs(mean - middle) > TRIFLE * (abs(mean) + abs(middle)) else 0.0
            distance += means[a, o] * means[a, o] * atoms[a, 2]
        if distance > farthest * (1.0 + TRIFLE):  # a direction to begin with
            farthest = distance
            for o in range(n_outputs):
                work[1, o] = means[a, o]
    for step in range(N_POWERS + 1):
        for o in range(n_outputs):
            work[2, o] = 0.0
        for a in range(n):
            keys[a] = 0.0
            for o in range(n_outputs):
                keys[a] += means[a, o] * work[1, o]
            for o in range(n_outputs):
                work[2, o] += atoms[a, 2] * keys[a] * means[a, o]
        length = 0.0
        for o in range(n_outputs):
            length += work[2, o] * work[2, o]
        if length <= 0.0 or step == N_POWERS:
            break
        for o in range(n_outputs):
            work[1, o] = work[2, o] / np.sqrt(length)


def scan_subset(atoms, n, n_outputs, work, order, goal):
    """Best beginning of an order of atoms.

    Parameters
    ----------
    work : (> 1, >= n_outputs) sums of the node in the first row, then scratch space

    Returns
    -------
    merit, the last atom of the beginning by its place in the order, left mass; merit is -inf if none is admissible
    """
    total, tie = goal.total, goal.tie
    least = goal.min_mass * SLACK
    best = -np.inf
    best_last = -1
    best_mass = 0.0
    left_mass = 0.0
    for o in range(n_outputs):
        work[1, o] = 0.0
    for r in range(n - 1):
        a = order[r]
        left_mass += atoms[a, 2]
        for o in range(n_outputs):
            work[1, o] += atoms[a, 3 + o]
        if left_mass >= least and total - left_mass >= least:
            merit = merit_of(left_mass, total, work, 1, n_outputs, goal.criterion)
            if is_ahead(merit, left_mass, total, tie, best, best_mass):
                best = max(best, merit)
                best_mass = left_mass
                best_last = r
    return best, best_last, best_mass


def scan_category(atoms, n, n_outputs, work, bins, j, goal, space):
    """Best set of the categories of a node; atoms are merged and `space.ranks` holds the order afterwards.

    Categories with less mass than `goal.rare_mass` are merged, see `merge_rare`.

    Parameters
    ----------
    work : (> 2, >= n_outputs) sums of the node in the first row, then scratch space
    space : see `softwood.kernel.growing.loops.groups.SubsetSpace`

    Returns
    -------
    merit, last rank of the set, left mass, rank of the merged categories or -1
    """
    keys, order, ranks = space.keys, space.order, space.ranks
    offset = bins.offsets[j]
    n_bins = bins.offsets[j + 1] - offset
    for c in range(n_bins):
        ranks[c] = ABSENT
    n, rare = merge_rare(atoms, n, n_outputs, goal.rare_mass, offset, ranks, work)
    if n < 2:
        return -np.inf, -1, 0.0, -1
    order_keys(atoms, n, n_outputs, goal.total, work, space.means, keys)
    for a in range(n):
        order[a] = a
    sort_by_key(keys, order, n)
    merit, last, left_mass = scan_subset(atoms, n, n_outputs, work, order, goal)
    for r in range(n):
        keys[order[r]] = r  # from here on the rank of each atom
    for c in range(n_bins):
        if ranks[c] != ABSENT:
            ranks[c] = int(keys[ranks[c]])
    if rare >= 0:
        rare = int(keys[rare])
    return merit, last, left_mass, rare


def subset_parts(codes, bins, feature, subsets, line, missing_left, rows, begin, m, parts):
    """Part of each of a node's points on the left of a split of categories, (m,) in `parts`: 1 or 0 if it is known.

    codes : those of `bins`
    """
    values = bins.values
    offset = bins.offsets[feature]
    n_bins = bins.offsets[feature + 1] - offset
    for k in range(m):
        c = int(codes[rows[begin + k], feature])
        parts[k] = missing_left
        if c < n_bins:
            parts[k] = 1.0 if has_member(subsets, line, int(values[offset + c])) else 0.0
