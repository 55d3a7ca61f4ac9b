"""Growth by levels, adding up: histograms of whole numbers.

Numbers of the rows are multiplied by a power of two and rounded, so sums are exact: the order of the rows, and how they
are divided into parts, do not matter.

Arguments that recur, here and in `softwood.loops.level_divide`
--------------------------------------------------------------
codes : (n, p) bins of the rows, see `softwood.loops.groups.Bins`
rows, shares : rows of the nodes, node after node, and their memberships; shares is None if every row is in one node
values : (n, n_columns) what is added up: whole numbers if shares is None; else floats, to be multiplied by the share
labels : (n,) class of each row, which has a column of its own; None if there are none
"""

import numpy as np

from softwood.loops._compile import compiled

# Rows whose numbers stay in the first-level cache while all features read them.
BLOCK = 512
# Features whose tables of 256 lines and four columns stay in the second-level cache.
GROUP = 32


@compiled
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
        w = weights[i] * counts[i] * s2
        largest_h = max(largest_h, h)
        largest_g = max(largest_g, abs(g))
        h *= s0
        g *= s1
        values[i, 0] = np.rint(h) if is_whole else h
        values[i, 1] = np.rint(g) if is_whole else g
        values[i, 2] = np.rint(w) if is_whole else w
        values[i, 3] = 0
    return largest_h, largest_g


@compiled
def gather_values(rows, first, last, shares, values, block):
    """Whole numbers of the rows from `first` to `last`, times their shares: lines of `block`."""
    for k in range(first, last):
        i = rows[k]
        for o in range(block.shape[1]):
            if shares is None:
                block[k - first, o] = values[i, o]
            if shares is not None:
                block[k - first, o] = np.int64(np.rint(shares[k] * values[i, o]))


@compiled
def add_four_columns(codes, j, rows, first, last, block, table):
    """Add some rows to the table (n_bins + 1, 4) of feature `j`.

    All four are read before one is written, so that the processor handles them at once.
    """
    for k in range(first, last):
        c = codes[rows[k], j]
        b = k - first
        v0, v1, v2, v3 = block[b, 0], block[b, 1], block[b, 2], block[b, 3]
        t0, t1, t2, t3 = table[c, 0] + v0, table[c, 1] + v1, table[c, 2] + v2, table[c, 3] + v3
        table[c, 0] = t0
        table[c, 1] = t1
        table[c, 2] = t2
        table[c, 3] = t3


@compiled
def add_to_all(codes, rows, first, last, block, tables):
    """Add some rows to the tables (p, n_bins + 1, 4) of all features.

    Faster than feature by feature: the numbers of a row stay in registers. Before that, the codes of all rows are read
    once, one after the other, so that the processor fetches them from memory at the same time.
    """
    touched = np.int64(0)
    for k in range(first, last):
        touched += codes[rows[k], 0]
    block[BLOCK, 0] = touched  # a result that is not used would not be computed
    for group in range(0, tables.shape[0], GROUP):
        end = min(group + GROUP, tables.shape[0])
        for k in range(first, last):
            i = rows[k]
            b = k - first
            v0, v1, v2, v3 = block[b, 0], block[b, 1], block[b, 2], block[b, 3]
            for j in range(group, end):
                c = codes[i, j]
                t0, t1, t2, t3 = tables[j, c, 0] + v0, tables[j, c, 1] + v1, tables[j, c, 2] + v2, tables[j, c, 3] + v3
                tables[j, c, 0] = t0
                tables[j, c, 1] = t1
                tables[j, c, 2] = t2
                tables[j, c, 3] = t3


@compiled
def are_all(features, p):
    """Whether the list of features has all `p` of them, in order."""
    for f in range(features.shape[0]):
        if features[f] != f:
            return False
    return features.shape[0] == p


@compiled
def add_node(codes, rows, begin, end, shares, values, labels, features, tables, block):
    """Add the rows of a node to the tables of its features.

    Parameters
    ----------
    features : (n_features,) features to look at
    tables : (n_features, most + 1, n_columns) whole numbers; lines are bins, the line after the last bin is for missing
        values. With labels, the columns after the first one are the classes; else the first columns of `values`
    block : (BLOCK + 1, 1 with labels, else n_columns) scratch space
    """
    n_columns = tables.shape[2]
    is_row_by_row = labels is None and n_columns == 4 and are_all(features, codes.shape[1])
    for first in range(begin, end, BLOCK):
        last = min(first + BLOCK, end)
        gather_values(rows, first, last, shares, values, block)
        if is_row_by_row:
            add_to_all(codes, rows, first, last, block, tables)
            continue
        for f in range(features.shape[0]):
            j = features[f]
            if labels is not None:
                for k in range(first, last):
                    i = rows[k]
                    c = codes[i, j]
                    tables[f, c, 0] += block[k - first, 0]
                    tables[f, c, 1 + labels[i]] += block[k - first, 0]
            if labels is None:
                if n_columns == 4:
                    add_four_columns(codes, j, rows, first, last, block, tables[f])
                else:
                    for k in range(first, last):
                        c = codes[rows[k], j]
                        for o in range(n_columns):
                            tables[f, c, o] += block[k - first, o]


@compiled
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
            for k in range(last - first):
                if labels is not None:
                    totals[node, 0] += block[k, 0]
                    totals[node, 1 + labels[rows[first + k]]] += block[k, 0]
                if labels is None:
                    for o in range(block.shape[1]):
                        totals[node, o] += block[k, o]
