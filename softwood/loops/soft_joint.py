"""All gates and values of a soft tree at once: outputs, sums by node, gradients, and passes of Adam.

Arguments that recur
--------------------
points, targets, link : as in `softwood.loops.soft_split`
left, right : (n_nodes,) children, -1 at leaves; children come after their parents
gates : (n_nodes, d + 1) weights and bias;  values : (n_nodes, q), of which those of leaves count
shares, sides : (n_nodes,) scratch space: share of a row in each node, and the part that its gate sends left
outputs : (n_nodes, q) scratch space: output of the subtree below each node;  error : (q,)
"""

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.adam import adam_line
from softwood.loops.soft_split import fill_errors, row_loss

# Shares smaller than this have no part in training.
LEAST_SHARE = 1e-3


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
def tree_outputs(points, left, right, gates, values, shares, sides, out):
    """Outputs of the tree, (n, q) in `out`."""
    for i in range(points.shape[0]):
        share_row(points, i, left, right, gates, 0.0, shares, sides)
        for o in range(values.shape[1]):
            out[i, o] = 0.0
        for node in range(left.shape[0]):
            if left[node] < 0:
                for o in range(values.shape[1]):
                    out[i, o] += shares[node] * values[node, o]


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
def add_normal_equations(points, targets, weights, left, right, gates, values, number, shares, sides, error, left_side,
                         right_side):  # fmt: skip
    """Add up the normal equations of the best changes of the leaves' values, by squared error.

    Parameters
    ----------
    number : (n_nodes,) of each leaf among the leaves
    left_side, right_side : (n_leaves, n_leaves) and (n_leaves, q), are added to
    """
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
def tree_loss(points, targets, weights, link, left, right, gates, values, shares, sides, error):
    """Weighted mean of the loss."""
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
def node_sums(points, targets, weights, left, right, gates, shares, sides, mass, sums, squares):
    """Add up, by share, the weight of the rows in each node, their targets and the squares of these.

    `mass` is (n_nodes,), `sums` and `squares` are (n_nodes, n_targets); all begin with 0. The targets here need not be
    those of the training.
    """
    for i in range(points.shape[0]):
        share_row(points, i, left, right, gates, 0.0, shares, sides)
        for node in range(left.shape[0]):
            part = weights[i] * shares[node]
            mass[node] += part
            for o in range(targets.shape[1]):
                sums[node, o] += part * targets[i, o]
                squares[node, o] += part * targets[i, o] ** 2


@compiled(reassociate=True)
def add_gradient(
    points, targets, i, weight, link, left, right, gates, values, least, shares, sides, outputs, error, by_gates,
    by_values,
):  # fmt: skip
    """Add the derivatives of the loss of row `i`, times `weight`, by all gates and by the values of leaves."""
    d = points.shape[1]
    q = values.shape[1]
    share_row(points, i, left, right, gates, least, shares, sides)
    for node in range(left.shape[0] - 1, -1, -1):
        for o in range(q):
            if left[node] >= 0:
                below = sides[node] * outputs[left[node], o] + (1.0 - sides[node]) * outputs[right[node], o]
            else:
                below = values[node, o]
            outputs[node, o] = below
    for o in range(q):
        error[o] = outputs[0, o]
    fill_errors(targets, i, link, error)
    for node in range(left.shape[0]):
        part = weight * shares[node]
        if left[node] < 0:
            for o in range(q):
                by_values[node, o] += part * error[o]
        elif shares[node] >= least:
            slope = 0.0
            for o in range(q):
                slope += error[o] * (outputs[left[node], o] - outputs[right[node], o])
            amount = part * slope * sides[node] * (1.0 - sides[node])
            for j in range(d):
                by_gates[node, j] += amount * points[i, j]
            by_gates[node, d] += amount


@compiled
def refine_pass(
    points, targets, weights, order, batch, link, left, right, gates, values, rate, l1, l2, n_steps, shares, sides,
    outputs, error, by_gates, by_values, gate_moments, value_moments,
):  # fmt: skip
    """One pass of Adam over the rows of `order` in batches; changes `gates` and `values`.

    Parameters
    ----------
    n_steps : steps that were done before
    by_gates, by_values : 0, as the gates and values;  gate_moments, value_moments : (2, ...) of these, kept from pass
        to pass

    Returns
    -------
    number of steps done so far
    """
    n = order.shape[0]
    for begin in range(0, n, batch):
        end = min(begin + batch, n)
        for k in range(begin, end):
            i = order[k]
            add_gradient(
                points, targets, i, weights[i] / (end - begin), link, left, right, gates, values, LEAST_SHARE, shares,
                sides, outputs, error, by_gates, by_values,
            )  # fmt: skip
        n_steps += 1
        for node in range(left.shape[0]):
            if left[node] >= 0:
                adam_line(
                    gates[node], by_gates[node], gate_moments[0, node], gate_moments[1, node], n_steps, rate,
                    points.shape[1], l1, l2,
                )  # fmt: skip
            else:
                adam_line(
                    values[node], by_values[node], value_moments[0, node], value_moments[1, node], n_steps, rate, 0,
                    0.0, 0.0,
                )  # fmt: skip
    return n_steps
