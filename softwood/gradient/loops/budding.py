"""Budding trees: every node is partly a leaf and partly split, and all of it is trained by gradient descent.

The complete tree lies in arrays without pointers, as in `softwood.gradient.loops.one_stage`. With ``g`` the gate of a
node, ``v`` its value and ``b`` its bud in [0, 1], its response is ``(1 - b) v + b (g left + (1 - g) right)``. Only
nodes that are awake, those with a bud above 0 at the start of a pass, have living children.

Arguments that recur
--------------------
rows, link : as in `softwood.gradient.loops.soft_split`
tree : `BuddingNodes`;  scratch : `BuddingScratch`;  gradient : `BuddingGradient`
"""

from typing import NamedTuple

import numpy as np

from softwood.gradient.loops.adam import adam_row, adam_step
from softwood.gradient.loops.one_stage import gate_input
from softwood.gradient.loops.soft_split import fill_errors
from softwood.trees.loops.gates import sigmoid


class BuddingNodes(NamedTuple):
    """A budding tree, and which part of it lives.

    Attributes
    ----------
    gates : (n_inner, d + 1);  values : (n_nodes, q);  buds, awake : (n_inner,)
    living : numbers of the root and of the children of living nodes that are awake, rising
    """

    gates: np.ndarray
    values: np.ndarray
    buds: np.ndarray
    awake: np.ndarray
    living: np.ndarray


class BuddingScratch(NamedTuple):
    """Scratch space for a row: sides (n_inner,), outputs and errors of nodes (n_nodes, q), error of the tree (q,)."""

    sides: np.ndarray
    outputs: np.ndarray
    errors: np.ndarray
    error: np.ndarray


class BuddingGradient(NamedTuple):
    """Derivatives of the loss, of the shapes of what they are taken by; loops add to them."""

    by_gates: np.ndarray
    by_values: np.ndarray
    by_buds: np.ndarray


class BuddingAdam(NamedTuple):
    """Moments of gates and values, and `steps` (2, n_nodes) of values and of gates; all begin with 0.

    A gate takes its first step when its node becomes active, and Adam is corrected by the number of its own steps.
    """

    gate_first: np.ndarray
    gate_second: np.ndarray
    value_first: np.ndarray
    value_second: np.ndarray
    steps: np.ndarray


def respond(points, i, tree, scratch):
    """Fill the response of every living node for row `i`; children first."""
    q = tree.values.shape[1]
    n_inner = tree.gates.shape[0]
    for k in range(tree.living.shape[0] - 1, -1, -1):
        node = tree.living[k]
        if node < n_inner and tree.awake[node]:
            bud = tree.buds[node]
            side = sigmoid(gate_input(points, i, tree.gates, node))
            scratch.sides[node] = side
            for o in range(q):
                below = side * scratch.outputs[2 * node + 1, o] + (1.0 - side) * scratch.outputs[2 * node + 2, o]
                scratch.outputs[node, o] = (1.0 - bud) * tree.values[node, o] + bud * below
        else:
            for o in range(q):
                scratch.outputs[node, o] = tree.values[node, o]


def add_budding_gradient(rows, order, begin, end, link, tree, scratch, gradient):
    """Add the gradient of a batch's mean loss by gates, values and buds of the living nodes.

    The batch is ``order[begin:end]``. A node that sleeps gets the derivative of its bud from its sleeping gate and the
    values of its sleeping children.
    """
    points, values, outputs, errors = rows.points, tree.values, scratch.outputs, scratch.errors
    d = points.shape[1]
    q = values.shape[1]
    n_inner = tree.gates.shape[0]
    for place in range(begin, end):
        i = order[place]
        weight = rows.weights[i] / (end - begin)
        respond(points, i, tree, scratch)
        for o in range(q):
            scratch.error[o] = outputs[0, o]
        fill_errors(rows.targets, i, link, scratch.error)
        for o in range(q):
            errors[0, o] = scratch.error[o]
        for k in range(tree.living.shape[0]):
            node = tree.living[k]
            bud = tree.buds[node] if node < n_inner and tree.awake[node] else 0.0
            for o in range(q):
                gradient.by_values[node, o] += weight * errors[node, o] * (1.0 - bud)
            if node >= n_inner:
                continue
            left = 2 * node + 1
            right = 2 * node + 2
            side = scratch.sides[node]
            if not tree.awake[node]:
                side = sigmoid(gate_input(points, i, tree.gates, node))
                for o in range(q):
                    outputs[left, o] = values[left, o]
                    outputs[right, o] = values[right, o]
            slope = 0.0
            by_bud = 0.0
            for o in range(q):
                below = side * outputs[left, o] + (1.0 - side) * outputs[right, o]
                by_bud += errors[node, o] * (below - values[node, o])
                slope += errors[node, o] * (outputs[left, o] - outputs[right, o])
            gradient.by_buds[node] += weight * by_bud
            if tree.awake[node]:
                amount = weight * bud * slope * side * (1.0 - side)
                for j in range(d):
                    gradient.by_gates[node, j] += amount * points[i, j]
                gradient.by_gates[node, d] += amount
                for o in range(q):
                    errors[left, o] = errors[node, o] * bud * side
                    errors[right, o] = errors[node, o] * bud * (1.0 - side)


def budding_pass(rows, order, batch, link, tree, rate, bud_rate, split_cost, scratch, gradient, adam):
    """One pass in batches: Adam for gates and values, plain steps for buds, which cost `split_cost` each.

    Buds are kept in [0, 1]; a bud that leaves 0 wakes its node, but not before the next pass. The gradient is 0 before
    and after.
    """
    by_gates, by_values, by_buds, steps = gradient.by_gates, gradient.by_values, gradient.by_buds, adam.steps
    n = order.shape[0]
    n_inner = tree.gates.shape[0]
    for begin in range(0, n, batch):
        end = min(begin + batch, n)
        add_budding_gradient(rows, order, begin, end, link, tree, scratch, gradient)
        for k in range(tree.living.shape[0]):
            node = tree.living[k]
            steps[0, node] += 1
            step = adam_step(steps[0, node], rate)
            adam_row(tree.values, by_values, adam.value_first, adam.value_second, node, step, 0, 0.0, 0.0)
            if node < n_inner:
                if tree.awake[node]:
                    steps[1, node] += 1
                    step = adam_step(steps[1, node], rate)
                    adam_row(tree.gates, by_gates, adam.gate_first, adam.gate_second, node, step, 0, 0.0, 0.0)
                moved = tree.buds[node] - bud_rate * (by_buds[node] + split_cost)
                tree.buds[node] = min(max(moved, 0.0), 1.0)
                by_buds[node] = 0.0


def budding_outputs(points, tree, scratch, out):
    """Outputs of the tree, (n, q) in `out`."""
    for i in range(points.shape[0]):
        respond(points, i, tree, scratch)
        for o in range(out.shape[1]):
            out[i, o] = scratch.outputs[0, o]
