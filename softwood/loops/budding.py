"""Budding trees: every node is partly a leaf and partly split, and all of it is trained by gradient descent.

The complete tree lies in arrays without pointers, as in `softwood.loops.one_stage`. With ``g`` the gate of a node,
``v`` its value and ``b`` its bud in [0, 1], its response is ``(1 - b) v + b (g left + (1 - g) right)``. Only nodes that
are awake, those with a bud above 0 when a pass began, have living children.

Arguments that recur
--------------------
rows, link : as in `softwood.loops.soft_split`
tree : `Nodes`;  scratch : `Scratch`;  gradient : `Gradient`
"""

from typing import NamedTuple

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.adam import adam_line
from softwood.loops.gates import sigmoid
from softwood.loops.one_stage import gate_input
from softwood.loops.soft_split import fill_errors


class Nodes(NamedTuple):
    """A budding tree, and which part of it lives; loops take it apart at their top.

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


class Scratch(NamedTuple):
    """Room for one row: sides (n_inner,), responses and errors of the nodes (n_nodes, q)."""

    sides: np.ndarray
    outputs: np.ndarray
    errors: np.ndarray


class Gradient(NamedTuple):
    """Derivatives of the loss, of the shapes of what they are taken by; loops add to them."""

    by_gates: np.ndarray
    by_values: np.ndarray
    by_buds: np.ndarray


class Adam(NamedTuple):
    """Moments (2, ...) of gates and values, and `steps` (2, n_nodes) of values and of gates; all begin with 0.

    A gate takes its first step when its node wakes, and the corrections of Adam are those of its own age.
    """

    gate_moments: np.ndarray
    value_moments: np.ndarray
    steps: np.ndarray


@compiled
def respond(points, i, tree, scratch):
    """Fill the response of every living node for row `i`; children first."""
    gates, values, buds, awake, living = tree
    sides, outputs, _ = scratch
    q = values.shape[1]
    n_inner = gates.shape[0]
    for k in range(living.shape[0] - 1, -1, -1):
        node = living[k]
        if node < n_inner and awake[node]:
            bud = buds[node]
            side = sigmoid(gate_input(points, i, gates, node))
            sides[node] = side
            for o in range(q):
                below = side * outputs[2 * node + 1, o] + (1.0 - side) * outputs[2 * node + 2, o]
                outputs[node, o] = (1.0 - bud) * values[node, o] + bud * below
        else:
            for o in range(q):
                outputs[node, o] = values[node, o]


@compiled
def add_budding_gradient(rows, order, begin, end, link, tree, scratch, gradient):
    """Add the gradient of a batch's mean loss by gates, values and buds of the living nodes.

    The batch is ``order[begin:end]``. A node that sleeps gets the derivative of its bud from its sleeping gate and the
    values of its sleeping children.
    """
    points, targets, weights = rows
    gates, values, buds, awake, living = tree
    sides, outputs, errors = scratch
    by_gates, by_values, by_buds = gradient
    d = points.shape[1]
    q = values.shape[1]
    n_inner = gates.shape[0]
    for place in range(begin, end):
        i = order[place]
        weight = weights[i] / (end - begin)
        respond(points, i, tree, scratch)
        for o in range(q):
            errors[0, o] = outputs[0, o]
        fill_errors(targets, i, link, errors[0])
        for k in range(living.shape[0]):
            node = living[k]
            bud = buds[node] if node < n_inner and awake[node] else 0.0
            for o in range(q):
                by_values[node, o] += weight * errors[node, o] * (1.0 - bud)
            if node >= n_inner:
                continue
            left = 2 * node + 1
            right = 2 * node + 2
            side = sides[node]
            if not awake[node]:
                side = sigmoid(gate_input(points, i, gates, node))
                for o in range(q):
                    outputs[left, o] = values[left, o]
                    outputs[right, o] = values[right, o]
            slope = 0.0
            by_bud = 0.0
            for o in range(q):
                below = side * outputs[left, o] + (1.0 - side) * outputs[right, o]
                by_bud += errors[node, o] * (below - values[node, o])
                slope += errors[node, o] * (outputs[left, o] - outputs[right, o])
            by_buds[node] += weight * by_bud
            if awake[node]:
                amount = weight * bud * slope * side * (1.0 - side)
                for j in range(d):
                    by_gates[node, j] += amount * points[i, j]
                by_gates[node, d] += amount
                for o in range(q):
                    errors[left, o] = errors[node, o] * bud * side
                    errors[right, o] = errors[node, o] * bud * (1.0 - side)


@compiled
def budding_pass(rows, order, batch, link, tree, rate, bud_rate, split_cost, scratch, gradient, adam):
    """One pass in batches: Adam for gates and values, plain steps for buds, which cost `split_cost` each.

    Buds are kept in [0, 1]; a bud that leaves 0 wakes its node, but not before the next pass. The gradient is 0 before
    and after.
    """
    gates, values, buds, awake, living = tree
    by_gates, by_values, by_buds = gradient
    gate_moments, value_moments, steps = adam
    none = np.int64(0)  # a plain 0 would be a type of its own, and compile `adam_line` again
    n = order.shape[0]
    n_inner = gates.shape[0]
    for begin in range(0, n, batch):
        end = min(begin + batch, n)
        add_budding_gradient(rows, order, begin, end, link, tree, scratch, gradient)
        for k in range(living.shape[0]):
            node = living[k]
            steps[0, node] += 1
            adam_line(
                values[node], by_values[node], value_moments[0, node], value_moments[1, node], steps[0, node], rate,
                none, 0.0, 0.0,
            )  # fmt: skip
            if node < n_inner:
                if awake[node]:
                    steps[1, node] += 1
                    adam_line(
                        gates[node], by_gates[node], gate_moments[0, node], gate_moments[1, node], steps[1, node], rate,
                        none, 0.0, 0.0,
                    )  # fmt: skip
                moved = buds[node] - bud_rate * (by_buds[node] + split_cost)
                buds[node] = min(max(moved, 0.0), 1.0)
                by_buds[node] = 0.0


@compiled
def budding_outputs(points, tree, scratch, out):
    """Outputs of the tree, (n, q) in `out`."""
    outputs = scratch.outputs
    for i in range(points.shape[0]):
        respond(points, i, tree, scratch)
        for o in range(out.shape[1]):
            out[i, o] = outputs[0, o]
