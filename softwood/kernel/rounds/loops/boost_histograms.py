"""Histograms of boosting: second-order sums of the rows of a node by feature and bin.

Arguments that recur are explained in `softwood.kernel.rounds.loops.boost_scores`.
"""

from softwood.kernel.rounds.loops.add_four import add_four, add_rows, are_neighbours

# Rows whose sums and codes stay in the first-level cache while all features read them.
BLOCK = 512


def gather_rows(rows, begin, first, last, shares, rows_sums, block):
    """Sums of some rows of a node, times their shares: lines of `block`, one after the other."""
    if shares is None:
        for k in range(first, last):
            i = rows[begin + k]
            for o in range(3):
                block[k - first, o] = rows_sums[i, o]
        return
    for k in range(first, last):
        i = rows[begin + k]
        for o in range(3):
            block[k - first, o] = shares[begin + k] * rows_sums[i, o]


def add_histograms(codes, rows, begin, m, shares, rows_sums, features, f0, f1, table, block):
    """Add the rows of a node to the tables of the features `f0` to `f1` of the list; block : (BLOCK, 4) scratch.

    Features that follow one another are added row by row. Of others, four at once, and two of what is left: their lines
    differ, so no addition has to wait for the one before.
    """
    is_row_by_row = are_neighbours(features, f0, f1)
    size = block.shape[0] - 1
    for first in range(0, m, size):
        last = min(first + size, m)
        gather_rows(rows, begin, first, last, shares, rows_sums, block)
        if is_row_by_row:
            j0 = features[f0]
            add_rows(codes, rows, begin + first, begin + last, j0, j0 + f1 - f0, table, block)
            continue
        f = f0
        while f + 4 <= f1:
            j0, j1, j2, j3 = features[f], features[f + 1], features[f + 2], features[f + 3]
            for k in range(last - first):
                i = rows[begin + first + k]
                h, g, w, z = block[k, 0], block[k, 1], block[k, 2], block[k, 3]
                add_four(table, j0, codes[i, j0], h, g, w, z)
                add_four(table, j1, codes[i, j1], h, g, w, z)
                add_four(table, j2, codes[i, j2], h, g, w, z)
                add_four(table, j3, codes[i, j3], h, g, w, z)
            f += 4
        if f + 2 <= f1:
            j0, j1 = features[f], features[f + 1]
            for k in range(last - first):
                i = rows[begin + first + k]
                h, g, w, z = block[k, 0], block[k, 1], block[k, 2], block[k, 3]
                add_four(table, j0, codes[i, j0], h, g, w, z)
                add_four(table, j1, codes[i, j1], h, g, w, z)
            f += 2
        if f < f1:
            j0 = features[f]
            for k in range(last - first):
                i = rows[begin + first + k]
                add_four(table, j0, codes[i, j0], block[k, 0], block[k, 1], block[k, 2], block[k, 3])


def clear_histogram(table, j, n_lines):
    """Set the first lines of a feature's table to 0."""
    for c in range(n_lines):
        for o in range(4):
            table[j, c, o] = 0.0


def add_histogram(table, part, j, n_lines):
    """Add the sums of other rows, in the first lines of one feature."""
    for c in range(n_lines):
        for o in range(4):
            table[j, c, o] += part[j, c, o]


def subtract_histogram(table, part, j, n_lines):
    """Take the sums of a part of the rows from those of all, in the first lines of one feature."""
    for c in range(n_lines):
        for o in range(4):
            table[j, c, o] -= part[j, c, o]
