"""Batches of rows that lie side by side, so that the processor computes several of them at once.

Arguments that recur
--------------------
batch : (d + 1, b) inputs of the rows of the batch, column by column; the last line is 1;  n : number of its rows
gates : (n_inner, d + 1) weights and bias
"""

from softwood.trees.loops.products import dot_rows


def fill_batch(points, order, begin, n, batch):
    """Gather the rows ``order[begin : begin + n]``."""
    d = points.shape[1]
    for i in range(n):
        row = order[begin + i]
        for j in range(d):
            batch[j, i] = points[row, j]
        batch[d, i] = 1.0


def fill_gate_inputs(batch, n, gates, node, inputs, line):
    """Inputs of the gate of a node for all rows, in a line of `inputs`.

    Four columns are added in one go over the rows, one after the other.
    """
    d = batch.shape[0] - 1
    whole = d - d % 4
    for i in range(n):
        inputs[line, i] = gates[node, d]
    for j in range(0, whole, 4):
        p, q, r, s = gates[node, j], gates[node, j + 1], gates[node, j + 2], gates[node, j + 3]
        for i in range(n):
            z = inputs[line, i] + p * batch[j, i] + q * batch[j + 1, i]
            inputs[line, i] = z + r * batch[j + 2, i] + s * batch[j + 3, i]
    for j in range(whole, d):
        p = gates[node, j]
        for i in range(n):
            inputs[line, i] += p * batch[j, i]


def fill_gate_gradient(batch, n, by_inputs, line, by_gates, node):
    """Gradient by the gate of a node, from that by its inputs, which is a line of `by_inputs`."""
    for j in range(batch.shape[0]):
        by_gates[node, j] = dot_rows(batch, j, by_inputs, line, n)
