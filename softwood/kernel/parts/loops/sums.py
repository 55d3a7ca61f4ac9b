"""Growth by levels, adding up: histograms of whole numbers.

Numbers of the rows are multiplied by a power of two and rounded, so sums are exact: the order of the rows, and how they
are divided into parts, do not matter.

Arguments that recur, here and in `softwood.kernel.parts.loops.divide`
----------------------------------------------------------------------
codes : (n, p) bins of the rows, see `softwood.kernel.growing.loops.groups.Bins`
rows, shares : rows of the nodes, node after node, and their memberships; shares is None if every row is in one node
values : (n, n_columns) what is added up: whole numbers if shares is None; else floats, to be multiplied by the share
labels : (n,) class of each row, which has a column of its own; None if there are none
"""

import numpy as np

from softwood.kernel.rounds.loops.add_four import add_four, add_rows, are_neighbours

# Rows whose numbers stay in the first-level cache while all features read them.
BLOCK = 512


def weigh_rows(hessian, gradient, weights, counts, scales, is_whole, values):
    """Numbers of boosting that are added up: hessian, gradient and weight, times the count of the row and a scale.

    Parameters
    ----------
    hessian, gradient, weights : (>= n,);  counts : (n,);  scales : (3,)
    is_whole : whether they are rounded to whole numbers
    values : (n, 4) filled, with 0 in the last column

    Returns
    -------
    largest hessian and absolute gradient, before scaling
    """
    largest_h = 0.0
    largest_g = 0.0
    s0, s1, s2 = scales[0], scales[1], scales[2]
    for i in range(values.shape[0]):
        h = hessian[i] * counts[i]
        g = gradient[i] * counts[i]
        w = weights[i] * counts[i]
        largest_h = max(largest_h, h)
        largest_g = max(largest_g, abs(g))
        if is_whole:
            values[i, 0] = int(np.rint(h * s0))
            values[i, 1] = int(np.rint(g * s1))
            values[i, 2] = int(np.rint(w * s2))
        else:
            values[i, 0] = values.dtype.type(h * s0)
            values[i, 1] = values.dtype.type(g * s1)
            values[i, 2] = values.dtype.type(w * s2)
        values[i, 3] = 0
    return largest_h, largest_g


def gather_values(rows, first, last, shares, values, block):
    """Whole numbers of the rows from `first` to `last`, times their shares: lines of `block`."""
    if shares is None:
        for k in range(first, last):
            i = rows[k]
            for o in range(block.shape[1]):
                block[k - first, o] = int(values[i, o])
        return
    for k in range(first, last):
        i = rows[k]
        for o in range(block.shape[1]):
            block[k - first, o] = int(np.rint(shares[k] * values[i, o]))


def add_classes(codes, rows, first, last, labels, features, tables, block):
    """Add some rows to the tables of their features: in the first column, and in that of their class."""
    for f in range(features.shape[0]):
        j = features[f]
        for k in range(first, last):
            i = rows[k]
            c = codes[i, j]
            tables[f, c, 0] += block[k - first, 0]
            tables[f, c, 1 + labels[i]] += block[k - first, 0]


def add_columns(codes, rows, first, last, features, tables, block):
    """Add some rows to the tables of their features, in all columns."""
    n_columns = tables.shape[2]
    for f in range(features.shape[0]):
        j = features[f]
        if n_columns == 4:
            for k in range(last - first):
                c = codes[rows[first + k], j]
                add_four(tables, f, c, block[k, 0], block[k, 1], block[k, 2], block[k, 3])
        else:
            for k in range(first, last):
                c = codes[rows[k], j]
                for o in range(n_columns):
                    tables[f, c, o] += block[k - first, o]


def add_node(codes, rows, begin, end, shares, values, labels, features, tables, block):
    """Add the rows of a node to the tables of its features.

    Parameters
    ----------
    features : (n_features,) features to look at
    tables : (n_features, most + 1, n_columns) whole numbers; lines are bins, the line after the last bin is for missing
        values. With labels, the columns after the first one are the classes; else the first columns of `values`
    block : (BLOCK + 1, 1 with labels, else n_columns) scratch space
    """
    n_features = features.shape[0]
    # tables are numbered as the features are
    is_row_by_row = tables.shape[2] == 4 and are_neighbours(features, 0, n_features) and features[0] == 0
    for first in range(begin, end, BLOCK):
        last = min(first + BLOCK, end)
        gather_values(rows, first, last, shares, values, block)
        if labels is not None:
            add_classes(codes, rows, first, last, labels, features, tables, block)
        elif is_row_by_row:
            add_rows(codes, rows, first, last, 0, n_features, tables, block)
        else:
            add_columns(codes, rows, first, last, features, tables, block)


def add_totals(rows, begins, slots, shares, values, labels, totals, block):
    """Sums of some nodes, (n_nodes, n_totals): the columns of `values`, or the first one and the classes.

    Parameters
    ----------
    begins : where the rows of each slot begin, and the last ones end;  slots : (n_nodes,)
    block : (BLOCK, n_columns of `values`) scratch space
    """
    for node in range(slots.shape[0]):
        end = begins[slots[node] + 1]
        for first in range(begins[slots[node]], end, BLOCK):
            last = min(first + BLOCK, end)
            gather_values(rows, first, last, shares, values, block)
            if labels is not None:
                for k in range(last - first):
                    totals[node, 0] += block[k, 0]
                    totals[node, 1 + labels[rows[first + k]]] += block[k, 0]
            else:
                for k in range(last - first):
                    for o in range(block.shape[1]):
                        totals[node, o] += block[k, o]
