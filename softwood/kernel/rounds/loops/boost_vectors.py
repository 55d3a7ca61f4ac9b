"""Trees with a value for each of several raw scores: what their splits are searched by, and the values of leaves.

gradient, hessian : (n, n_scores) of the rows;  leaves, rows, shares : see `boost_scores`
"""

from softwood.kernel.rounds.loops.boost import first_row


def project_rows(gradient, hessian, direction, rows_sums):
    """Derivatives of the loss along a direction of the raw scores.

    Parameters
    ----------
    direction : (n_scores,);  rows_sums : (n, 3) filled with hessian and gradient; the weight is left as it is
    """
    for i in range(gradient.shape[0]):
        h = 0.0
        g = 0.0
        for o in range(gradient.shape[1]):
            h += hessian[i, o] * direction[o] * direction[o]
            g += gradient[i, o] * direction[o]
        rows_sums[i, 0], rows_sums[i, 1] = h, g


def add_vectors(first, last, leaves, rows, shares, gradient, hessian, sums):
    """Add up the rows of the leaves from `first` to `last`; sums : (n_nodes, 2, n_scores) gradients, then hessians."""
    for leaf in range(first, last):
        line = leaves[leaf]["line"]
        begin = leaves[leaf]["begin"]
        for k in range(begin, begin + leaves[leaf]["size"]):
            i = rows[k]
            share = 1.0
            if shares is not None:
                share = shares[k]
            for o in range(gradient.shape[1]):
                sums[line, 0, o] += share * gradient[i, o]
            for o in range(gradient.shape[1]):
                sums[line, 1, o] += share * hessian[i, o]


def add_leaf_vectors(leaves, rows, shares, values, first, last, scores):
    """As `add_leaf_values`, with values (n_nodes, n_values) and raw scores (n, n_values)."""
    for leaf in range(leaves.shape[0]):
        line = leaves[leaf]["line"]
        begin = leaves[leaf]["begin"]
        end = begin + leaves[leaf]["size"]
        begin = first_row(rows, begin, end, first)
        end = first_row(rows, begin, end, last)
        for k in range(begin, end):
            i = rows[k]
            share = 1.0
            if shares is not None:
                share = shares[k]
            for o in range(values.shape[1]):
                scores[i, o] += share * values[line, o]
