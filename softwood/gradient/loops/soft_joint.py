"""All gates and values of a soft tree at once: outputs, sums by node, gradients, and passes of Adam.

Arguments that recur
--------------------
rows : `Rows`;  link : as in `softwood.gradient.loops.soft_split`
tree : `SoftNodes`;  scratch : `SoftScratch`
"""

from typing import NamedTuple

import numpy as np

from softwood.gradient.loops.adam import adam_line, adam_step
from softwood.gradient.loops.soft_split import fill_errors, row_loss
from softwood.trees.loops.sigmoid_trees import share_row

# Shares smaller than this have no part in training.
LEAST_SHARE = 1e-3


class SoftNodes(NamedTuple):
    """A tree in standardised units.

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


class SoftScratch(NamedTuple):
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


class SoftDescent(NamedTuple):
    """Gradients and moments of Adam, kept from pass to pass; all of it begins with 0.

    Attributes
    ----------
    by_gates, gate_first, gate_second : as the gates
    by_values, value_first, value_second : as the values
    """

    by_gates: np.ndarray
    gate_first: np.ndarray
    gate_second: np.ndarray
    by_values: np.ndarray
    value_first: np.ndarray
    value_second: np.ndarray


def add_normal_equations(rows, tree, number, scratch, left_side, right_side):
    """Add up the normal equations of the best changes of the leaves' values, by squared error.

    Parameters
    ----------
    number : (n_nodes,) of each leaf among the leaves
    left_side, right_side : (n_leaves, n_leaves) and (n_leaves, q), are added to
    """
    left, values, shares, error = tree.left, tree.values, scratch.shares, scratch.error
    n_nodes = left.shape[0]
    q = values.shape[1]
    for i in range(rows.points.shape[0]):
        share_row(rows.points, i, left, tree.right, tree.gates, 0.0, shares, scratch.sides)
        for o in range(q):
            error[o] = rows.targets[i, o]
        for node in range(n_nodes):
            if left[node] < 0:
                for o in range(q):
                    error[o] -= shares[node] * values[node, o]
        for node in range(n_nodes):
            if left[node] < 0 and shares[node] > 0.0:
                part = rows.weights[i] * shares[node]
                for o in range(q):
                    right_side[number[node], o] += part * error[o]
                for other in range(n_nodes):
                    if left[other] < 0:
                        left_side[number[node], number[other]] += part * shares[other]


def tree_loss(rows, link, tree, scratch):
    """Weighted mean of the loss."""
    left, values, shares, error = tree.left, tree.values, scratch.shares, scratch.error
    loss = 0.0
    total = 0.0
    for i in range(rows.points.shape[0]):
        share_row(rows.points, i, left, tree.right, tree.gates, 0.0, shares, scratch.sides)
        for o in range(values.shape[1]):
            error[o] = 0.0
        for node in range(left.shape[0]):
            if left[node] < 0:
                for o in range(values.shape[1]):
                    error[o] += shares[node] * values[node, o]
        loss += rows.weights[i] * row_loss(rows.targets, i, link, error)
        total += rows.weights[i]
    return loss / total


def node_sums(rows, tree, scratch, mass, sums, squares):
    """Add up, by share, the weight of the rows in each node, their targets and the squares of these.

    `mass` is (n_nodes,), `sums` and `squares` are (n_nodes, n_targets); all begin with 0. The targets here need not be
    those of the training.
    """
    targets, shares = rows.targets, scratch.shares
    for i in range(rows.points.shape[0]):
        share_row(rows.points, i, tree.left, tree.right, tree.gates, 0.0, shares, scratch.sides)
        for node in range(tree.left.shape[0]):
            part = rows.weights[i] * shares[node]
            mass[node] += part
            for o in range(targets.shape[1]):
                sums[node, o] += part * targets[i, o]
                squares[node, o] += part * targets[i, o] ** 2


def add_gradient(rows, order, begin, end, link, tree, least, scratch, by_gates, by_values):
    """Add the derivatives of the mean loss of a batch, ``order[begin:end]``, by all gates and the values of leaves."""
    points, left, right, values = rows.points, tree.left, tree.right, tree.values
    shares, sides, outputs, error = scratch.shares, scratch.sides, scratch.outputs, scratch.error
    d = points.shape[1]
    q = values.shape[1]
    for k in range(begin, end):
        i = order[k]
        weight = rows.weights[i] / (end - begin)
        share_row(points, i, left, right, tree.gates, least, shares, sides)
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
        fill_errors(rows.targets, i, link, error)
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


def refine_pass(rows, order, batch, link, tree, rate, l1, l2, n_steps, scratch, descent):
    """One pass of Adam over the rows of `order` in batches; changes gates and values.

    Parameters
    ----------
    n_steps : steps that were done before
    descent : `SoftDescent`

    Returns
    -------
    number of steps done so far
    """
    by_gates, by_values = descent.by_gates, descent.by_values
    d = rows.points.shape[1]
    n = order.shape[0]
    for begin in range(0, n, batch):
        end = min(begin + batch, n)
        add_gradient(rows, order, begin, end, link, tree, LEAST_SHARE, scratch, by_gates, by_values)
        n_steps += 1
        step = adam_step(n_steps, rate)
        for node in range(tree.left.shape[0]):
            if tree.left[node] >= 0:
                adam_line(tree.gates, by_gates, descent.gate_first, descent.gate_second, node, step, d, l1, l2)
            else:
                adam_line(tree.values, by_values, descent.value_first, descent.value_second, node, step, 0, 0.0, 0.0)
    return n_steps
