"""All gates and values of a soft tree at once: outputs, sums by node, gradients, and passes of Adam.

Arguments that recur
--------------------
rows : `Rows`;  link : as in `softwood.gradient.loops.soft_split`
tree : `SoftNodes`;  scratch : `SoftScratch`
"""

from typing import NamedTuple

import numpy as np

from softwood.gradient.loops.adam import adam_row, adam_step
from softwood.gradient.loops.gate_gradients import fill_gate_gradient
from softwood.gradient.loops.soft_split import fill_errors, row_loss
from softwood.trees.loops.batches import fill_batch
from softwood.trees.loops.products import dot_rows
from softwood.trees.loops.sigmoid_trees import share_rows

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
    """Scratch space for a batch of `b` rows.

    Attributes
    ----------
    batch : (d, b)
    shares, sides : (n_nodes, b) share of each row in each node, and the part that its gate sends left
    outputs : (n_nodes, q, b) output of the subtree below each node
    errors : (q, b) derivatives by the output of the tree
    output : (q,) of one row
    by_input : (1, b) derivatives by the input of one gate
    """

    batch: np.ndarray
    shares: np.ndarray
    sides: np.ndarray
    outputs: np.ndarray
    errors: np.ndarray
    output: np.ndarray
    by_input: np.ndarray


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
    left, values, shares, errors = tree.left, tree.values, scratch.shares, scratch.errors
    n_nodes = left.shape[0]
    q = values.shape[1]
    for begin in range(0, rows.points.shape[0], shares.shape[1]):
        n = min(shares.shape[1], rows.points.shape[0] - begin)
        fill_batch(rows.points, None, begin, n, scratch.batch)
        share_rows(scratch.batch, n, left, tree.right, tree.gates, 0.0, shares, scratch.sides)
        for o in range(q):
            for i in range(n):
                errors[o, i] = rows.targets[begin + i, o]
        for node in range(n_nodes):
            if left[node] < 0:
                for o in range(q):
                    for i in range(n):
                        errors[o, i] -= shares[node, i] * values[node, o]
        for node in range(n_nodes):
            if left[node] < 0:
                for i in range(n):
                    scratch.by_input[0, i] = rows.weights[begin + i] * shares[node, i]
                for o in range(q):
                    right_side[number[node], o] += dot_rows(scratch.by_input, 0, errors, o, n)
                for other in range(n_nodes):
                    if left[other] < 0:
                        left_side[number[node], number[other]] += dot_rows(scratch.by_input, 0, shares, other, n)


def tree_loss(rows, link, tree, scratch):
    """Weighted mean of the loss."""
    shares, output = scratch.shares, scratch.output
    loss = 0.0
    total = 0.0
    for begin in range(0, rows.points.shape[0], shares.shape[1]):
        n = min(shares.shape[1], rows.points.shape[0] - begin)
        fill_batch(rows.points, None, begin, n, scratch.batch)
        share_rows(scratch.batch, n, tree.left, tree.right, tree.gates, 0.0, shares, scratch.sides)
        fill_leaf_sums(n, tree, shares, scratch.errors)
        for i in range(n):
            for o in range(output.shape[0]):
                output[o] = scratch.errors[o, i]
            loss += rows.weights[begin + i] * row_loss(rows.targets, begin + i, link, output)
            total += rows.weights[begin + i]
    return loss / total


def fill_leaf_sums(n, tree, shares, out):
    """Values of the leaves, added up by share, (q, b) in `out`."""
    for o in range(out.shape[0]):
        for i in range(n):
            out[o, i] = 0.0
    for node in range(tree.left.shape[0]):
        if tree.left[node] < 0:
            for o in range(out.shape[0]):
                value = tree.values[node, o]
                for i in range(n):
                    out[o, i] += shares[node, i] * value


def node_sums(rows, tree, scratch, mass, sums, squares):
    """Add up, by share, the weight of the rows in each node, their targets and the squares of these.

    `mass` is (n_nodes,), `sums` and `squares` are (n_nodes, n_targets); all begin with 0. The targets here need not be
    those of the training.
    """
    targets, shares = rows.targets, scratch.shares
    for begin in range(0, rows.points.shape[0], shares.shape[1]):
        n = min(shares.shape[1], rows.points.shape[0] - begin)
        fill_batch(rows.points, None, begin, n, scratch.batch)
        share_rows(scratch.batch, n, tree.left, tree.right, tree.gates, 0.0, shares, scratch.sides)
        for node in range(tree.left.shape[0]):
            for i in range(n):
                part = rows.weights[begin + i] * shares[node, i]
                mass[node] += part
                for o in range(targets.shape[1]):
                    sums[node, o] += part * targets[begin + i, o]
                    squares[node, o] += part * targets[begin + i, o] ** 2


def fill_outputs(n, tree, scratch):
    """Outputs of all subtrees, from the sides of the rows."""
    left, outputs, sides = tree.left, scratch.outputs, scratch.sides
    for node in range(left.shape[0] - 1, -1, -1):
        for o in range(outputs.shape[1]):
            if left[node] >= 0:
                one, other = left[node], tree.right[node]
                for i in range(n):
                    side = sides[node, i]
                    outputs[node, o, i] = side * outputs[one, o, i] + (1.0 - side) * outputs[other, o, i]
            else:
                value = tree.values[node, o]
                for i in range(n):
                    outputs[node, o, i] = value


def fill_gradient(rows, order, begin, n, link, tree, least, scratch, by_gates, by_values):
    """Derivatives of the mean loss of a batch by all gates and the values of leaves.

    The batch is ``order[begin : begin + n]``.
    """
    left, shares, sides, outputs = tree.left, scratch.shares, scratch.sides, scratch.outputs
    errors, output, by_input = scratch.errors, scratch.output, scratch.by_input
    q = errors.shape[0]
    fill_batch(rows.points, order, begin, n, scratch.batch)
    share_rows(scratch.batch, n, left, tree.right, tree.gates, least, shares, sides)
    fill_outputs(n, tree, scratch)
    for i in range(n):
        row = order[begin + i]
        weight = rows.weights[row] / n
        for o in range(q):
            output[o] = outputs[0, o, i]
        fill_errors(rows.targets, row, link, output)
        for o in range(q):
            errors[o, i] = weight * output[o]
    for node in range(left.shape[0]):
        if left[node] < 0:
            for o in range(q):
                by_values[node, o] = dot_rows(shares, node, errors, o, n)
        else:
            one, other = left[node], tree.right[node]
            for i in range(n):
                by_input[0, i] = 0.0
            for o in range(q):
                for i in range(n):
                    by_input[0, i] += errors[o, i] * (outputs[one, o, i] - outputs[other, o, i])
            for i in range(n):  # 0 for shares that are not divided: their side is 1
                by_input[0, i] *= shares[node, i] * sides[node, i] * (1.0 - sides[node, i])
            fill_gate_gradient(rows.points, order, begin, n, by_input, 0, by_gates, node)


def refine_pass(rows, order, batch, link, tree, rate, l1, l2, n_steps, scratch, descent):
    """One pass of Adam over the rows of `order` in batches of `batch`; changes gates and values.

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
        size = min(batch, n - begin)
        fill_gradient(rows, order, begin, size, link, tree, LEAST_SHARE, scratch, by_gates, by_values)
        n_steps += 1
        step = adam_step(n_steps, rate)
        for node in range(tree.left.shape[0]):
            if tree.left[node] >= 0:
                adam_row(tree.gates, by_gates, descent.gate_first, descent.gate_second, node, step, d, l1, l2)
            else:
                adam_row(tree.values, by_values, descent.value_first, descent.value_second, node, step, 0, 0.0, 0.0)
    return n_steps
