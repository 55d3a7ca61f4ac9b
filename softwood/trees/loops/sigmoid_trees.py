"""How trees of sigmoid gates share rows among all of their nodes, and what finished ones predict.

Arguments that recur
--------------------
points : (n, d)
left, right : (n_nodes,) children, -1 at leaves; children come after their parents
gates : (n_nodes, d + 1) weights and bias
shares, sides : (n_nodes,) share of the row in each node, and the part that its gate sends left
"""

import numpy as np

from softwood.trees.loops.products import dot_rows


def share_row(points, i, left, right, gates, least, shares, sides):
    """Fill the share of row `i` in each node, and the part that each gate sends left.

    A share of less than `least` is not divided but goes left as a whole: it is too small to matter in training.
    """
    d = points.shape[1]
    shares[0] = 1.0
    for node in range(left.shape[0]):
        if left[node] >= 0:
            share = shares[node]
            side = 1.0
            if share >= least:
                side = 1.0 / (1.0 + np.exp(-(dot_rows(points, i, gates, node, d) + gates[node, d])))
            sides[node] = side
            shares[left[node]] = share * side
            shares[right[node]] = share * (1.0 - side)


def predict_sigmoid(points, left, right, gates, values, is_softmax, shares, sides, out):
    """Predictions of a finished tree of sigmoid gates, (n, q) in `out`; nan for rows at which a gate has no value."""
    for i in range(points.shape[0]):
        share_row(points, i, left, right, gates, 0.0, shares, sides)
        for o in range(values.shape[1]):
            out[i, o] = 0.0
        for node in range(left.shape[0]):
            if left[node] < 0:
                for o in range(values.shape[1]):
                    out[i, o] += shares[node] * values[node, o]
        total = 0.0
        largest = out[i, 0]
        for o in range(values.shape[1]):
            largest = max(largest, out[i, o])
            total += out[i, o]
        if np.isnan(total):
            out[i, 0] = np.nan
        elif is_softmax:
            total = 0.0
            for o in range(values.shape[1]):
                out[i, o] = np.exp(out[i, o] - largest)
                total += out[i, o]
            for o in range(values.shape[1]):
                out[i, o] /= total
