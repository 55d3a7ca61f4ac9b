"""The gradient by a gate, from that by its inputs."""


def fill_gate_gradient(points, order, begin, n, by_inputs, row, by_gates, node):
    """Gradient by the gate of a node, from that by its inputs, which is a row of `by_inputs`.

    The batch is ``order[begin : begin + n]``. Four rows are added in one go over the columns, one after the other.
    """
    d = points.shape[1]
    whole = n - n % 4
    total = 0.0
    for j in range(d):
        by_gates[node, j] = 0.0
    for i in range(0, whole, 4):
        p, q, r, s = by_inputs[row, i], by_inputs[row, i + 1], by_inputs[row, i + 2], by_inputs[row, i + 3]
        if p != 0.0 or q != 0.0 or r != 0.0 or s != 0.0:
            one, two, three, four = order[begin + i], order[begin + i + 1], order[begin + i + 2], order[begin + i + 3]
            for j in range(d):
                g = by_gates[node, j] + p * points[one, j] + q * points[two, j]
                by_gates[node, j] = g + r * points[three, j] + s * points[four, j]
            total = total + p + q + r + s
    for i in range(whole, n):
        p, one = by_inputs[row, i], order[begin + i]
        for j in range(d):
            by_gates[node, j] += p * points[one, j]
        total += p
    by_gates[node, d] = total
