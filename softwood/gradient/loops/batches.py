"""Batches of rows that lie side by side, so that the processor computes several of them at once.

Arguments that recur
--------------------
batch : (d + 1, b) inputs of the rows of the batch, column by column; the last line is 1;  n : number of its rows
gates : (n_inner, d + 1) weights and bias
"""


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


def fill_gate_gradient(points, order, begin, n, by_inputs, line, by_gates, node):
    """Gradient by the gate of a node, from that by its inputs, which is a line of `by_inputs`.

    The batch is ``order[begin : begin + n]``. Four rows are added in one go over the columns, one after the other.
    """
    d = points.shape[1]
    whole = n - n % 4
    total = 0.0
    for j in range(d):
        by_gates[node, j] = 0.0
    for i in range(0, whole, 4):
        p, q, r, s = by_inputs[line, i], by_inputs[line, i + 1], by_inputs[line, i + 2], by_inputs[line, i + 3]
        if p != 0.0 or q != 0.0 or r != 0.0 or s != 0.0:
            one, two, three, four = order[begin + i], order[begin + i + 1], order[begin + i + 2], order[begin + i + 3]
            for j in range(d):
                g = by_gates[node, j] + p * points[one, j] + q * points[two, j]
                by_gates[node, j] = g + r * points[three, j] + s * points[four, j]
            total = total + p + q + r + s
    for i in range(whole, n):
        p, one = by_inputs[line, i], order[begin + i]
        for j in range(d):
            by_gates[node, j] += p * points[one, j]
        total += p
    by_gates[node, d] = total
