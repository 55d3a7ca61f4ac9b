"""From the points of a node to the atoms of a feature: places in rising order with their masses and sums of targets.

Points are coded by bin (one bin per distinct value, or a few hundred quantile bins). Adding them up by bin and
reading the occupied bins in order is a histogram and a sort at once; bit sets of the occupied bins keep it cheap for
small nodes. Every table is left empty for the next node.
"""

import numpy as np


def lowest_bit(word):
    """Position of the lowest set bit."""
    return int(word & (~word + np.uint64(1))).bit_length() - 1


def add_points(codes, feature, rows, begin, points, labels, first, last, tables, slot):
    """Add the points `first` to `last` of a node to the table of one feature.

    Parameters
    ----------
    codes : (n, p) bins;  rows : from `begin` on the rows of the node
    points : (>= last, 1 + q) mass, and mass times target; (>= last, 1) if each row has one label
    labels : (>= last,) the class of each row; not read if there are targets
    tables : (> slot, n_bins + 1, 1 + q) mass and sums of each bin; the last line is for missing values
    """
    if points.shape[1] == 1:
        for k in range(first, last):
            c = codes[rows[begin + k], feature]
            tables[slot, c, 0] += points[k, 0]
            tables[slot, c, 1 + labels[k]] += points[k, 0]
    elif points.shape[1] == 2:  # spelled out: one addition of two numbers for the processor
        for k in range(first, last):
            c = codes[rows[begin + k], feature]
            tables[slot, c, 0] += points[k, 0]
            tables[slot, c, 1] += points[k, 1]
    else:
        for k in range(first, last):
            c = codes[rows[begin + k], feature]
            for o in range(points.shape[1]):
                tables[slot, c, o] += points[k, o]


def mark_points(codes, feature, rows, begin, m, words, groups):
    """Set the bits of the bins that hold a point of the node, and of the words that hold a set bit."""
    for k in range(m):
        c = codes[rows[begin + k], feature]
        words[c >> 6] |= np.uint64(1) << np.uint64(c & 63)
        groups[c >> 12] |= np.uint64(1) << np.uint64((c >> 6) & 63)


def take_atoms(tables, slot, words, groups, values, offset, n_bins, n_outputs, sparse, atoms):
    """Move the occupied bins of a feature, in rising order, to the list of atoms; empty the table.

    The mass of points whose value is missing is spread over the atoms in proportion to theirs: a missing value is
    distributed as the node's other points are.

    Parameters
    ----------
    tables, slot : as in `add_points`
    n_outputs : how many of the table's columns after the mass are in use
    sparse : the bins are marked in `words` and `groups`; else all are looked at
    atoms : (>= n_bins, 3 + q) filled with place, bin, mass, sums of targets

    Returns
    -------
    number of atoms
    """
    n = 0
    if sparse:
        for g in range(groups.shape[0]):
            group = groups[g]
            groups[g] = 0
            while group != 0:
                w = (g << 6) + lowest_bit(group)
                group &= group - np.uint64(1)
                word = words[w]
                words[w] = 0
                while word != 0:
                    c = (w << 6) + lowest_bit(word)
                    word &= word - np.uint64(1)
                    if c < n_bins:
                        atoms[n, 1] = c
                        n += 1
    else:
        for c in range(n_bins):
            atoms[n, 1] = c
            n += int(tables[slot, c, 0] > 0.0)  # without a branch: which bins are occupied cannot be predicted
    for a in range(n):
        c = int(atoms[a, 1])
        atoms[a, 0] = values[offset + c]
        atoms[a, 1] = offset + c
        if n_outputs == 1:  # spelled out: a loop of two steps would take longer to begin
            atoms[a, 2] = tables[slot, c, 0]
            atoms[a, 3] = tables[slot, c, 1]
            tables[slot, c, 0] = 0.0
            tables[slot, c, 1] = 0.0
        else:
            for o in range(1 + n_outputs):
                atoms[a, 2 + o] = tables[slot, c, o]
                tables[slot, c, o] = 0.0
    if tables[slot, n_bins, 0] > 0.0:
        total = 0.0
        for a in range(n):
            total += atoms[a, 2]
        for a in range(n):
            part = atoms[a, 2] / total
            for o in range(1 + n_outputs):
                atoms[a, 2 + o] += part * tables[slot, n_bins, o]
        for o in range(1 + n_outputs):
            tables[slot, n_bins, o] = 0.0
    return n
