"""Batches of rows that lie side by side, so that the processor computes several of them at once.

Arguments that recur
--------------------
points : (n, d);  order : numbers of rows; None: all rows in their order
batch : (d, b) the batch ``order[begin : begin + n]``, column by column;  n : number of its rows
gates : (n_gates, d + 1) weights and bias
"""


def fill_batch(points, order, begin, n, batch):
    """Gather the rows of a batch."""
    for i in range(n):
        row = begin + i if order is None else order[begin + i]
        for j in range(points.shape[1]):
            batch[j, i] = points[row, j]


def fill_gate_inputs(batch, n, gates, node, inputs, row):
    """Inputs of the gate of a node for all rows, ``weights @ x + bias``, in a row of `inputs`.

    Four columns are added in one go over the rows, one after the other.
    """
    d = batch.shape[0]
    whole = d - d % 4
    bias = gates[node, d]
    for i in range(n):
        inputs[row, i] = bias
    for j in range(0, whole, 4):
        p, q, r, s = gates[node, j], gates[node, j + 1], gates[node, j + 2], gates[node, j + 3]
        for i in range(n):
            z = inputs[row, i] + p * batch[j, i] + q * batch[j + 1, i]
            inputs[row, i] = z + r * batch[j + 2, i] + s * batch[j + 3, i]
    for j in range(whole, d):
        p = gates[node, j]
        for i in range(n):
            inputs[row, i] += p * batch[j, i]
