"""From the points of a node to the atoms of a feature: places in rising order with their masses and sums of targets.

Points are coded by bin (one bin per distinct value, or a few hundred quantile bins). Adding them up by bin and
reading the occupied bins in order is a histogram and a sort at once; bit sets of the occupied bins keep it cheap for
small nodes. Every table is left empty for the next node.
"""

import numpy as np

from softwood.loops._compile import compiled

_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_POSITION = np.zeros(64, dtype=np.int64)
for _k in range(64):
    _POSITION[((int(_DE_BRUIJN) << _k) & (2**64 - 1)) >> 58] = _k


@compiled
def _lowest_bit(word):
    """Position of the lowest set bit."""
    isolated = word & (~word + np.uint64(1))
    return _POSITION[(isolated * np.uint64(0x03F79D71B4CB0A89)) >> np.uint64(58)]


@compiled
def add_points(codes, feature, rows, begin, points, labels, first, last, table):
    """Add the points `first` to `last` of a node to the table of one feature.

    Parameters
    ----------
    codes : (n, p) bins;  rows : from `begin` on the rows of the node
    points : (>= last, 1 + q) mass, and mass times target; (>= last, 1) if each row has one label
    labels : (>= last,) the class of each row; None if there are targets
    table : (n_bins + 1, 1 + q) mass and sums of each bin; the last line is for missing values
    """
    # Unsigned, because of other indices numba asks whether they are negative.
    at, first, last = np.uint64(begin), np.uint64(first), np.uint64(last)
    if labels is not None:
        for k in range(first, last):
            c = codes[rows[at + k], feature]
            table[c, 0] += points[k, 0]
            table[c, np.uint32(1) + np.uint32(labels[k])] += points[k, 0]
    if labels is None:
        if points.shape[1] == 2:  # spelled out: one addition of two numbers for the processor
            for k in range(first, last):
                c = codes[rows[at + k], feature]
                table[c, 0] += points[k, 0]
                table[c, 1] += points[k, 1]
        else:
            for k in range(first, last):
                c = codes[rows[at + k], feature]
                for o in range(points.shape[1]):
                    table[c, o] += points[k, o]


@compiled
def mark_points(codes, feature, rows, begin, m, words, groups):
    """Set the bits of the bins that hold a point of the node, and of the words that hold a set bit."""
    one = np.uint64(1)
    at = np.uint64(begin)
    for k in range(np.uint64(m)):
        c = np.uint64(codes[rows[at + k], feature])
        words[c >> np.uint64(6)] |= one << (c & np.uint64(63))
        groups[c >> np.uint64(12)] |= one << ((c >> np.uint64(6)) & np.uint64(63))


@compiled
def take_atoms(table, words, groups, values, offset, n_bins, n_outputs, sparse, atoms):
    """Move the occupied bins of a feature, in rising order, to the list of atoms; empty the table.

    The mass of points whose value is missing is spread over the atoms in proportion to theirs: a missing value is
    distributed as the node's other points are.

    Parameters
    ----------
    n_outputs : how many of the table's columns after the mass are in use
    sparse : the bins are marked in `words` and `groups`; else all are looked at
    atoms : (>= n_bins, 3 + q) filled with place, bin, mass, sums of targets

    Returns
    -------
    number of atoms
    """
    n = 0
    zero = np.uint64(0)
    one = np.uint64(1)
    if sparse:
        for g in range(groups.shape[0]):
            group = groups[g]
            groups[g] = zero
            while group != zero:
                w = (g << 6) + _lowest_bit(group)
                group &= group - one
                word = words[w]
                words[w] = zero
                while word != zero:
                    c = (w << 6) + _lowest_bit(word)
                    word &= word - one
                    if c < n_bins:
                        atoms[n, 1] = c
                        n += 1
    else:
        for c in range(n_bins):
            if table[c, 0] > 0.0:
                atoms[n, 1] = c
                n += 1
    first = np.uint64(offset)
    for a in range(n):
        c = np.uint64(np.uint32(atoms[a, 1]))
        atoms[a, 0] = values[first + c]
        atoms[a, 1] = first + c
        if n_outputs == 1:  # spelled out: a loop of two steps would take longer to begin
            atoms[a, 2] = table[c, 0]
            atoms[a, 3] = table[c, 1]
            table[c, 0] = 0.0
            table[c, 1] = 0.0
        else:
            for o in range(1 + n_outputs):
                atoms[a, 2 + o] = table[c, o]
                table[c, o] = 0.0
    if table[n_bins, 0] > 0.0:
        total = 0.0
        for a in range(n):
            total += atoms[a, 2]
        for a in range(n):
            part = atoms[a, 2] / total
            for o in range(1 + n_outputs):
                atoms[a, 2 + o] += part * table[n_bins, o]
        for o in range(1 + n_outputs):
            table[n_bins, o] = 0.0
    return n
