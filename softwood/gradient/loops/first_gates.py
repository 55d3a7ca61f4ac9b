"""First gates of a complete tree: penalised logistic fits between two groups of classes, and tests of one column.

The children of node ``m`` are ``2 m + 1`` (left: input above 0) and ``2 m + 2``. A node whose rows cannot be divided
gets the gate of its parent, so that rows that come there later have a way.
"""

import numpy as np

from softwood.gradient.loops.one_stage import gate_input
from softwood.gradient.loops.soft_split import best_test, split_input

# Standard deviation of the inputs of a gate with one column, over the rows of its node.
SPREAD = 2.0
# With a spread below this, the inputs of a gate are nothing but rounding.
LEAST_SPREAD = 1e-12
# Steps of Newton's method, directions of conjugate gradients within each, largest change of an input in a step.
NEWTON_STEPS, DIRECTIONS, LONGEST_STEP = 10, 12, 4.0


def _add_rows(points, i, p, q, r, s, out):
    """Add four rows from row `i` on, times these numbers, one after the other; the last of `out` is for the numbers."""
    d = points.shape[1]
    for j in range(d):
        out[j] = out[j] + p * points[i, j] + q * points[i + 1, j] + r * points[i + 2, j] + s * points[i + 3, j]
    out[d] = out[d] + p + q + r + s


def _add_row(points, i, p, out):
    """`_add_rows` for a single row."""
    d = points.shape[1]
    for j in range(d):
        out[j] += p * points[i, j]
    out[d] += p


def _multiply_back(points, v, out):
    """``v @ points``, and the sum of `v` as last."""
    n = points.shape[0]
    whole = n - n % 4
    for j in range(out.shape[0]):
        out[j] = 0.0
    for i in range(0, whole, 4):
        _add_rows(points, i, v[i], v[i + 1], v[i + 2], v[i + 3], out)
    for i in range(whole, n):
        _add_row(points, i, v[i], out)


def _multiply_both(points, w, curvature, v, out):
    """Fill ``v = points @ w[:-1] + w[-1]``, and `_multiply_back` for ``curvature * v``, in one go over the rows."""
    n = points.shape[0]
    whole = n - n % 4
    for j in range(out.shape[0]):
        out[j] = 0.0
    for i in range(0, whole, 4):
        for k in range(i, i + 4):
            v[k] = split_input(points, k, w)
        p, q, r, s = curvature[i] * v[i], curvature[i + 1] * v[i + 1], curvature[i + 2] * v[i + 2], curvature[i + 3] * v[i + 3]
        _add_rows(points, i, p, q, r, s, out)
    for i in range(whole, n):
        v[i] = split_input(points, i, w)
        _add_row(points, i, curvature[i] * v[i], out)


def logistic_gate(points, sides, weights, penalty, gate):
    """Fill in the gate of a logistic regression with ``penalty / 2`` times the squared weights.

    Parameters
    ----------
    points : (n, d);  sides : (n,) targets in [0, 1];  weights : (n,)
    gate : (d + 1,)
    """
    n, d = points.shape[0], points.shape[1]
    mass, right = 0.0, 0.0
    for i in range(n):
        mass += weights[i]
        right += weights[i] * sides[i]
    for j in range(d):
        gate[j] = 0.0
    gate[d] = np.log(right / (mass - right))
    inputs = np.full(n, gate[d])  # of the gate for all rows; it is changed along with it
    changes = np.empty(n)
    curvature = np.empty(n)
    v = np.empty(n)
    gradient = np.empty(d + 1)
    step = np.empty(d + 1)
    residual = np.empty(d + 1)
    direction = np.empty(d + 1)
    product = np.empty(d + 1)
    for _ in range(NEWTON_STEPS):
        for i in range(n):
            p = 1.0 / (1.0 + np.exp(-inputs[i]))
            v[i] = weights[i] * (p - sides[i])
            curvature[i] = weights[i] * max(p * (1.0 - p), 1e-6)
            changes[i] = 0.0
        _multiply_back(points, v, gradient)
        for j in range(d):
            gradient[j] += penalty * gate[j]
        # conjugate gradients for the step
        size = 0.0
        for j in range(d + 1):
            step[j] = 0.0
            residual[j] = direction[j] = gradient[j]
            size += gradient[j] ** 2
        goal = 1e-3 * size
        for _ in range(DIRECTIONS):
            if size <= goal or size == 0.0:
                break
            _multiply_both(points, direction, curvature, v, product)
            length = 0.0
            for j in range(d + 1):
                if j < d:
                    product[j] += penalty * direction[j]
                length += direction[j] * product[j]
            length = size / length
            for i in range(n):
                changes[i] += length * v[i]
            before, size = size, 0.0
            for j in range(d + 1):
                step[j] += length * direction[j]
                residual[j] -= length * product[j]
                size += residual[j] ** 2
            for j in range(d + 1):
                direction[j] = residual[j] + size / before * direction[j]
        largest = 0.0
        for i in range(n):
            largest = max(largest, abs(changes[i]))
        part = min(1.0, LONGEST_STEP / max(largest, 1e-300))
        for j in range(d + 1):
            gate[j] -= part * step[j]
        for i in range(n):
            inputs[i] -= part * changes[i]
        if largest < 1e-2:
            break


def column_gates(rows, orders, gates):
    """Fill in gates (n_inner, d + 1) that test one column each, as a conventional tree grows them.

    Parameters
    ----------
    orders : (d, n) rows in rising order of each column; is divided with the nodes
    """
    points, weights = rows.points, rows.weights
    n, d = points.shape[0], points.shape[1]
    n_inner = gates.shape[0]
    spare = np.empty(n, np.int64)
    is_left = np.empty(n, np.bool_)
    begins = np.zeros(2 * n_inner + 1, np.int64)
    ends = np.zeros(2 * n_inner + 1, np.int64)
    sums = np.empty((2, rows.targets.shape[1]))
    ends[0] = n
    for node in range(n_inner):
        begin, end = begins[node], ends[node]
        feature, threshold = -1, np.nan
        if end - begin >= 2:
            feature, threshold = best_test(points, rows.targets, weights, orders, begin, end, sums)
        spread = 0.0
        if feature >= 0:
            mass = mean = 0.0
            for k in range(begin, end):
                i = orders[feature, k]
                mass += weights[i]
                mean += weights[i] * points[i, feature]
            mean /= mass
            for k in range(begin, end):
                i = orders[feature, k]
                spread += weights[i] * (points[i, feature] - mean) ** 2 / mass
            spread = np.sqrt(spread)
        is_divided = spread > LEAST_SPREAD
        for j in range(d + 1):
            gates[node, j] = 0.0 if is_divided or node == 0 else gates[(node - 1) >> 1, j]
        if is_divided:
            gates[node, feature] = -SPREAD / spread
            gates[node, d] = SPREAD / spread * threshold
        n_left = 0
        for k in range(begin, end):
            i = orders[0, k]
            is_left[i] = gate_input(points, i, gates, node) > 0.0
            n_left += is_left[i]
        for j in range(d):
            a = b = 0
            for k in range(begin, end):
                i = orders[j, k]
                if is_left[i]:
                    orders[j, begin + a] = i
                    a += 1
                else:
                    spare[b] = i
                    b += 1
            for k in range(b):
                orders[j, begin + a + k] = spare[k]
        middle = begin + n_left
        begins[2 * node + 1], ends[2 * node + 1] = begin, middle
        begins[2 * node + 2], ends[2 * node + 2] = middle, end
