"""How trees of sigmoid gates share rows among all of their nodes, and what finished ones predict.

Arguments that recur
--------------------
batch, n : rows as in `softwood.trees.loops.batches`
left, right : (n_nodes,) children, -1 at leaves; children come after their parents
gates : (n_nodes, d + 1) weights and bias
shares, sides : (n_nodes, b) share of each row in each node, and the part that its gate sends left
"""

import numpy as np

from softwood.trees.loops.batches import fill_batch, fill_gate_inputs


def share_rows(batch, n, left, right, gates, least, shares, sides):
    """Fill the share of each row in each node, and the part that each gate sends left.

    A share of less than `least` is not divided but goes left as a whole: it is too small to matter in training.
    """
    for i in range(n):
        shares[0, i] = 1.0
    for node in range(left.shape[0]):
        if left[node] >= 0:
            one, other = left[node], right[node]
            fill_gate_inputs(batch, n, gates, node, sides, node)
            for i in range(n):
                share = shares[node, i]
                side = 1.0
                if share >= least:
                    side = 1.0 / (1.0 + np.exp(-sides[node, i]))
                sides[node, i] = side
                shares[one, i] = share * side
                shares[other, i] = share * (1.0 - side)


def predict_sigmoid(points, left, right, gates, values, is_softmax, batch, shares, sides, out):
    """Predictions of a finished tree of sigmoid gates, (n, q) in `out`; nan for rows at which a gate has no value."""
    q = values.shape[1]
    for begin in range(0, points.shape[0], batch.shape[1]):
        n = min(batch.shape[1], points.shape[0] - begin)
        fill_batch(points, None, begin, n, batch)
        share_rows(batch, n, left, right, gates, 0.0, shares, sides)
        for i in range(begin, begin + n):
            for o in range(q):
                out[i, o] = 0.0
        for node in range(left.shape[0]):
            if left[node] < 0:
                for i in range(n):
                    share = shares[node, i]
                    for o in range(q):
                        out[begin + i, o] += share * values[node, o]
        for i in range(begin, begin + n):
            total = 0.0
            largest = out[i, 0]
            for o in range(q):
                largest = max(largest, out[i, o])
                total += out[i, o]
            if np.isnan(total):
                out[i, 0] = np.nan
            elif is_softmax:
                total = 0.0
                for o in range(q):
                    out[i, o] = np.exp(out[i, o] - largest)
                    total += out[i, o]
                for o in range(q):
                    out[i, o] /= total
