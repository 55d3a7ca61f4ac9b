"""One split of a soft tree by online gradient descent: a gate and two leaf values, the rest of the tree frozen.

Arguments that recur
--------------------
points, targets, weights, rest, path : the fields of `Rows` and of `Near`
gate : (d + 1,) weights and, last, the bias;  values : (2, q) of the left and of the right leaf
link : IDENTITY, LOGISTIC (two classes, one output) or SOFTMAX: what the root's output passes
"""

from typing import NamedTuple

import numpy as np

from softwood.trees.loops.gates import sigmoid
from softwood.trees.loops.products import dot
from softwood.trees.loops.thresholds import middle_of

IDENTITY, LOGISTIC, SOFTMAX = 0, 1, 2

# Penalties draw weights to 0 once in this many visits, by this many times the amount: with a penalty at every visit,
# single rows would push weights away from 0 again.
SHRINK_EVERY = 32


class Rows(NamedTuple):
    """Training rows or validation rows.

    Attributes
    ----------
    points : (n, d) standardised inputs
    targets : (n, q) reals, or 0 and 1 of the classes
    weights : (n,)
    """

    points: np.ndarray
    targets: np.ndarray
    weights: np.ndarray


class Near(NamedTuple):
    """Rows with a share in the node that is split.

    Attributes
    ----------
    points, targets, weights : as of `Rows`
    rest : (n, q) output of the tree without the node's part
    path : (n,) share of each row in the node
    """

    points: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    rest: np.ndarray
    path: np.ndarray


def split_input(points, i, gate):
    """``weights @ x + bias`` of row `i`."""
    d = points.shape[1]
    return dot(points, i, gate, d) + gate[d]


def _move_gate(points, i, gate, amount):
    d = points.shape[1]
    for j in range(d):
        gate[j] -= amount * points[i, j]
    gate[d] -= amount


def fill_errors(targets, i, link, output):
    """Turn the output of row `i` into the derivative of its loss: prediction less target; in place."""
    q = output.shape[0]
    if link == SOFTMAX:
        largest = output[0]
        for o in range(1, q):
            largest = max(largest, output[o])
        total = 0.0
        for o in range(q):
            output[o] = np.exp(output[o] - largest)
            total += output[o]
        for o in range(q):
            output[o] = output[o] / total - targets[i, o]
    elif link == LOGISTIC:
        output[0] = sigmoid(output[0]) - targets[i, 0]
    else:
        for o in range(q):
            output[o] -= targets[i, o]


def row_loss(targets, i, link, output):
    """Loss of row `i` with this output: half the squared error, or cross-entropy."""
    q = output.shape[0]
    loss = 0.0
    if link == SOFTMAX:
        largest = output[0]
        for o in range(1, q):
            largest = max(largest, output[o])
        total = 0.0
        for o in range(q):
            total += np.exp(output[o] - largest)
            loss -= targets[i, o] * (output[o] - largest)
        return loss + np.log(total)
    if link == LOGISTIC:
        score = output[0]
        return max(score, 0.0) - targets[i, 0] * score + np.log1p(np.exp(-abs(score)))
    for o in range(q):
        loss += 0.5 * (output[o] - targets[i, o]) ** 2
    return loss


def mean_loss(targets, weights, link, outputs):
    """Weighted mean of the loss of outputs (n, q)."""
    loss = 0.0
    total = 0.0
    output = np.empty(outputs.shape[1])
    for i in range(targets.shape[0]):
        for o in range(outputs.shape[1]):
            output[o] = outputs[i, o]
        loss += weights[i] * row_loss(targets, i, link, output)
        total += weights[i]
    return loss / total


def split_outputs(points, rest, path, gate, values, shares, outputs):
    """Fill the share of each row that the gate sends left, (n,), and the output of the tree with this split, (n, q)."""
    for i in range(points.shape[0]):
        share = sigmoid(split_input(points, i, gate))
        shares[i] = share
        for o in range(values.shape[1]):
            outputs[i, o] = rest[i, o] + path[i] * (share * values[0, o] + (1.0 - share) * values[1, o])


def split_gradient(points, targets, rest, path, i, link, gate, values, output):
    """Derivatives of the loss of row `i`: by the gate's input, and by the outputs of the node (in `output`).

    Returns
    -------
    derivative by ``weights @ x + bias``, and the share that goes left
    """
    q = values.shape[1]
    share = sigmoid(split_input(points, i, gate))
    for o in range(q):
        output[o] = rest[i, o] + path[i] * (share * values[0, o] + (1.0 - share) * values[1, o])
    fill_errors(targets, i, link, output)
    slope = 0.0
    for o in range(q):
        output[o] *= path[i]
        slope += output[o] * (values[0, o] - values[1, o])
    return slope * share * (1.0 - share), share


def _descend_single(near, visits, link, step, decay, l1, l2, gate, values):
    """`descend` for one output, in one loop: takes half the time."""
    points, targets, rest, path = near.points, near.targets, near.rest, near.path
    d = points.shape[1]
    bias = gate[d]
    left = values[0, 0]
    right = values[1, 0]
    for k in range(visits.shape[0]):
        i = visits[k]
        share = 1.0 / (1.0 + np.exp(-(dot(points, i, gate, d) + bias)))
        output = rest[i, 0] + path[i] * (share * left + (1.0 - share) * right)
        if link == LOGISTIC:
            output = 1.0 / (1.0 + np.exp(-output))
        error = step * path[i] * (output - targets[i, 0])
        amount = error * (left - right) * share * (1.0 - share)
        for j in range(d):
            gate[j] -= amount * points[i, j]
        bias -= amount
        if (l1 > 0.0 or l2 > 0.0) and (visits.shape[0] - k) % SHRINK_EVERY == 1:  # also after the last
            _shrink(gate, d, min(k + 1, SHRINK_EVERY) * step, l1, l2)
        left -= error * share
        right -= error * (1.0 - share)
        step *= decay
    gate[d] = bias
    values[0, 0] = left
    values[1, 0] = right
    return step


def _shrink(gate, d, step, l1, l2):
    """Draw the weights of a gate to 0, by both penalties."""
    for j in range(d):
        w = gate[j] * (1.0 - min(step * l2, 1.0))
        gate[j] = max(w - step * l1, 0.0) + min(w + step * l1, 0.0)


def descend(near, visits, link, step, decay, l1, l2, gate, values, output):
    """One pass of online gradient descent over the rows of `visits`, in that order; changes `gate` and `values`.

    Parameters
    ----------
    step : length of the first step;  decay : each is shorter than the one before by this factor
    l1, l2 : penalties on the gate's weights, not on its bias
    output : (q,) scratch space

    Returns
    -------
    length of the next step
    """
    points, targets, rest, path = near.points, near.targets, near.rest, near.path
    d = points.shape[1]
    q = values.shape[1]
    if q == 1 and link != SOFTMAX:
        return _descend_single(near, visits, link, step, decay, l1, l2, gate, values)
    for k in range(visits.shape[0]):
        i = visits[k]
        slope, share = split_gradient(points, targets, rest, path, i, link, gate, values, output)
        _move_gate(points, i, gate, step * slope)
        if (l1 > 0.0 or l2 > 0.0) and (visits.shape[0] - k) % SHRINK_EVERY == 1:  # also after the last
            _shrink(gate, d, min(k + 1, SHRINK_EVERY) * step, l1, l2)
        for o in range(q):
            values[0, o] -= step * output[o] * share
            values[1, o] -= step * output[o] * (1.0 - share)
        step *= decay
    return step


def best_test(points, targets, weights, orders, begin, end, sums):
    """Best axis-aligned test of the rows by squared error (Gini of classes), as a conventional tree finds it.

    Parameters
    ----------
    weights : (n,) rows with weight 0 do not count
    orders : (d, n) rows in rising order of each input; those from `begin` to `end` count
    sums : (2, q) scratch space

    Returns
    -------
    feature (-1: there is none), threshold
    """
    q = targets.shape[1]
    for o in range(q):
        sums[0, o] = 0.0
    total = 0.0
    for k in range(begin, end):
        i = orders[0, k]
        weight = weights[i]
        total += weight
        for o in range(q):
            sums[0, o] += weight * targets[i, o]
    base = 0.0
    for o in range(q):
        base += sums[0, o] ** 2 / total
    best = base + 1e-12 * total
    best_feature = -1
    best_threshold = np.nan
    for j in range(points.shape[1]):
        mass = 0.0
        for o in range(q):
            sums[1, o] = 0.0
        last = np.nan
        for k in range(begin, end):
            i = orders[j, k]
            weight = weights[i]
            if weight <= 0.0:
                continue
            x = points[i, j]
            if x > last and mass > 0.0 and mass < total:
                merit = 0.0
                for o in range(q):
                    merit += sums[1, o] ** 2 / mass + (sums[0, o] - sums[1, o]) ** 2 / (total - mass)
                if merit > best:
                    best = merit
                    best_feature = j
                    best_threshold = middle_of(last, x)
            last = x
            mass += weight
            for o in range(q):
                sums[1, o] += weight * targets[i, o]
    return best_feature, best_threshold


def split_loss(near, link, gate, values, part, of_parts, output):
    """Weighted sum of the loss of the tree with this split.

    Parameters
    ----------
    part : (n,) part of each row;  of_parts : gets the sum over the rows of each part
    output : (q,) scratch space
    """
    points, rest, path = near.points, near.rest, near.path
    d = points.shape[1]
    loss = 0.0
    for k in range(of_parts.shape[0]):
        of_parts[k] = 0.0
    for i in range(points.shape[0]):
        share = 1.0 / (1.0 + np.exp(-(dot(points, i, gate, d) + gate[d])))
        for o in range(values.shape[1]):
            output[o] = rest[i, o] + path[i] * (share * values[0, o] + (1.0 - share) * values[1, o])
        of_row = near.weights[i] * row_loss(near.targets, i, link, output)
        loss += of_row
        of_parts[part[i]] += of_row
    return loss
