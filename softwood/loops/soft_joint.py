"""All gates and values of a soft tree at once: outputs, sums by node, gradients, and passes of Adam.

Arguments that recur
--------------------
rows : `Rows`;  link : as in `softwood.loops.soft_split`
tree : `Nodes`;  scratch : `Scratch`;  points, left, right, gates, shares, sides : fields of these
"""

from typing import NamedTuple

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.adam import adam_line
from softwood.loops.soft_split import fill_errors, row_loss

# Shares smaller than this have no part in training.
LEAST_SHARE = 1e-3


class Nodes(NamedTuple):
    """A tree in standardised units; loops take it apart at their top.

    Attributes
    ----------
    left, right : (n_nodes,) children, -1 at leaves; children come after their parents
    gates : (n_nodes, d + 1) weights and bias
    values : (n_nodes, q), of which those of leaves count
    """

    left: np.ndarray
    right: np.ndarray
    gates: np.ndarray
    values: np.ndarray


class Scratch(NamedTuple):
    """Room for one row.

    Attributes
    ----------
    shares, sides : (n_nodes,) share of the row in each node, and the part that its gate sends left
    outputs : (n_nodes, q) output of the subtree below each node
    error : (q,)
    """

    shares: np.ndarray
    sides: np.ndarray
    outputs: np.ndarray
    error: np.ndarray


class Descent(NamedTuple):
    """Gradients and moments of Adam, kept from pass to pass; all of it begins with 0.

    Attributes
    ----------
    by_gates, by_values : as the gates and values
    gate_moments, value_moments : (2, ...) of these
    """

    by_gates: np.ndarray
    by_values: np.ndarray
    gate_moments: np.ndarray
    value_moments: np.ndarray


@compiled(reassociate=True)
def share_row(points, i, left, right, gates, least, shares, sides):
    """Fill the share of row `i` in each node, and the part that each gate sends left.

    A share of less than `least` is not divided but goes left as a whole: it is too small to matter in training.
    """
    d = points.shape[1]
    shares[0] = 1.0
    for node in range(left.shape[0]):
        if left[node] >= 0:
            side = 1.0
            if shares[node] >= least:
                z = 0.0
                for j in range(d):
                    z += gates[node, j] * points[i, j]
                side = 1.0 / (1.0 + np.exp(-(z + gates[node, d])))
            sides[node] = side
            shares[left[node]] = shares[node] * side
            shares[right[node]] = shares[node] * (1.0 - side)


@compiled
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


@compiled
def add_normal_equations(rows, tree, number, scratch, left_side, right_side):
    """Add up the normal equations of the best changes of the leaves' values, by squared error.

    Parameters
    ----------
    number : (n_nodes,) of each leaf among the leaves
    left_side, right_side : (n_leaves, n_leaves) and (n_leaves, q), are added to
    """
    points, targets, weights = rows
    left, right, gates, values = tree
    shares, sides, _, error = scratch
    n_nodes = left.shape[0]
    q = values.shape[1]
    for i in range(points.shape[0]):
        share_row(points, i, left, right, gates, 0.0, shares, sides)
        for o in range(q):
            error[o] = targets[i, o]
        for node in range(n_nodes):
            if left[node] < 0:
                for o in range(q):
                    error[o] -= shares[node] * values[node, o]
        for node in range(n_nodes):
            if left[node] < 0 and shares[node] > 0.0:
                part = weights[i] * shares[node]
                for o in range(q):
                    right_side[number[node], o] += part * error[o]
                for other in range(n_nodes):
                    if left[other] < 0:
                        left_side[number[node], number[other]] += part * shares[other]


@compiled
def tree_loss(rows, link, tree, scratch):
    """Weighted mean of the loss."""
    points, targets, weights = rows
    left, right, gates, values = tree
    shares, sides, _, error = scratch
    loss = 0.0
    total = 0.0
    for i in range(points.shape[0]):
        share_row(points, i, left, right, gates, 0.0, shares, sides)
        for o in range(values.shape[1]):
            error[o] = 0.0
        for node in range(left.shape[0]):
            if left[node] < 0:
                for o in range(values.shape[1]):
                    error[o] += shares[node] * values[node, o]
        loss += weights[i] * row_loss(targets, i, link, error)
        total += weights[i]
    return loss / total


@compiled
def node_sums(rows, tree, scratch, mass, sums, squares):
    """Add up, by share, the weight of the rows in each node, their targets and the squares of these.

    `mass` is (n_nodes,), `sums` and `squares` are (n_nodes, n_targets); all begin with 0. The targets here need not be
    those of the training.
    """
    points, targets, weights = rows
    left, right, gates, _ = tree
    shares, sides, _, _ = scratch
    for i in range(points.shape[0]):
        share_row(points, i, left, right, gates, 0.0, shares, sides)
        for node in range(left.shape[0]):
            part = weights[i] * shares[node]
            mass[node] += part
            for o in range(targets.shape[1]):
                sums[node, o] += part * targets[i, o]
                squares[node, o] += part * targets[i, o] ** 2


@compiled(reassociate=True)
def add_gradient(rows, order, begin, end, link, tree, least, scratch, by_gates, by_values):
    """Add the derivatives of the mean loss of a batch, ``order[begin:end]``, by all gates and the values of leaves."""
    points, targets, weights = rows
    left, right, gates, values = tree
    shares, sides, outputs, error = scratch
    d = points.shape[1]
    q = values.shape[1]
    for k in range(begin, end):
        i = order[k]
        weight = weights[i] / (end - begin)
        share_row(points, i, left, right, gates, least, shares, sides)
        for node in range(left.shape[0] - 1, -1, -1):
            if left[node] >= 0:
                one, other, side = left[node], right[node], sides[node]
                for o in range(q):
                    outputs[node, o] = side * outputs[one, o] + (1.0 - side) * outputs[other, o]
            else:
                for o in range(q):
                    outputs[node, o] = values[node, o]
        for o in range(q):
            error[o] = outputs[0, o]
        fill_errors(targets, i, link, error)
        for node in range(left.shape[0]):
            part = weight * shares[node]
            if left[node] < 0:
                for o in range(q):
                    by_values[node, o] += part * error[o]
            elif shares[node] >= least:
                one, other, side = left[node], right[node], sides[node]
                slope = 0.0
                for o in range(q):
                    slope += error[o] * (outputs[one, o] - outputs[other, o])
                amount = part * slope * side * (1.0 - side)
                for j in range(d):
                    by_gates[node, j] += amount * points[i, j]
                by_gates[node, d] += amount


@compiled
def refine_pass(rows, order, batch, link, tree, rate, l1, l2, n_steps, scratch, descent):
    """One pass of Adam over the rows of `order` in batches; changes gates and values.

    Parameters
    ----------
    n_steps : steps that were done before
    descent : `Descent`

    Returns
    -------
    number of steps done so far
    """
    left, _, gates, values = tree
    by_gates, by_values, gate_moments, value_moments = descent
    n = order.shape[0]
    none = np.int64(0)  # a plain 0 would be a type of its own, and compile `adam_line` again
    for begin in range(0, n, batch):
        end = min(begin + batch, n)
        add_gradient(rows, order, begin, end, link, tree, LEAST_SHARE, scratch, by_gates, by_values)
        n_steps += 1
        for node in range(left.shape[0]):
            if left[node] >= 0:
                adam_line(
                    gates[node], by_gates[node], gate_moments[0, node], gate_moments[1, node], n_steps, rate,
                    rows.points.shape[1], l1, l2,
                )  # fmt: skip
            else:
                adam_line(
                    values[node], by_values[node], value_moments[0, node], value_moments[1, node], n_steps, rate,
                    none, 0.0, 0.0,
                )  # fmt: skip
    return n_steps
