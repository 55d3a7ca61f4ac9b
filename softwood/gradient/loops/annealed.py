"""Complete oblique trees trained as mixtures of their leaves, with gates that get steeper, for real targets.

The nodes lie in arrays without pointers, as in `softwood.gradient.loops.one_stage`; all inner nodes are split. Rows are
taken in batches, as in `softwood.trees.loops.batches`.
"""

from typing import NamedTuple

import numpy as np

from softwood.gradient.loops.adam import adam_row, adam_step
from softwood.gradient.loops.gate_gradients import fill_gate_gradient
from softwood.trees.loops.batches import fill_batch, fill_gate_inputs
from softwood.trees.loops.products import dot_rows

# Inputs of the sigmoid beyond this count as this.
LARGEST_INPUT = 30.0


class AnnealedScratch(NamedTuple):
    """Scratch space for a batch of `b` rows.

    Attributes
    ----------
    batch : (d, b);  sides : (n_inner, b) part that each gate sends left;  shares : (n_nodes, b)
    outputs : (n_nodes, q, b) of the subtrees;  by_output : (q, b);  by_input : (1, b)
    """

    batch: np.ndarray
    sides: np.ndarray
    shares: np.ndarray
    outputs: np.ndarray
    by_output: np.ndarray
    by_input: np.ndarray


class AnnealedDescent(NamedTuple):
    """Moments of Adam, kept from pass to pass, 0 at the beginning.

    Attributes
    ----------
    first, second : (n_inner, d + 1);  value_first, value_second : (n_inner + 1, q) of the leaves
    by_gates, by_values : gradients of the same shapes, 0 between two steps
    """

    first: np.ndarray
    second: np.ndarray
    value_first: np.ndarray
    value_second: np.ndarray
    by_gates: np.ndarray
    by_values: np.ndarray


def fill_mixtures(batch, n, gates, values, steepness, sides, shares, outputs):
    """Shares of the rows in all nodes, and the outputs of all subtrees; that of the tree is ``outputs[0]``."""
    n_inner = gates.shape[0]
    for i in range(n):
        shares[0, i] = 1.0
    for node in range(n_inner):
        fill_gate_inputs(batch, n, gates, node, sides, node)
        for i in range(n):
            sides[node, i] = -min(max(steepness * sides[node, i], -LARGEST_INPUT), LARGEST_INPUT)
        for i in range(n):
            sides[node, i] = np.exp(sides[node, i])
        for i in range(n):
            side = 1.0 / (1.0 + sides[node, i])
            sides[node, i] = side
            shares[2 * node + 1, i] = shares[node, i] * side
            shares[2 * node + 2, i] = shares[node, i] * (1.0 - side)
    for node in range(2 * n_inner, -1, -1):
        for o in range(values.shape[1]):
            if node >= n_inner:
                for i in range(n):
                    outputs[node, o, i] = values[node - n_inner, o]
            else:
                for i in range(n):
                    left, right = outputs[2 * node + 1, o, i], outputs[2 * node + 2, o, i]
                    outputs[node, o, i] = right + sides[node, i] * (left - right)


def fill_output_gradient(rows, order, begin, n, outputs, by_output):
    """Derivative of the batch's mean squared error, halved, by the tree's output; returns its sum over the rows."""
    loss = 0.0
    for i in range(n):
        row = order[begin + i]
        for o in range(rows.targets.shape[1]):
            error = outputs[0, o, i] - rows.targets[row, o]
            loss += 0.5 * rows.weights[row] * error * error
            by_output[o, i] = rows.weights[row] / n * error
    return loss


def fill_input_gradient(node, n, steepness, sides, shares, outputs, by_output, by_input):
    """Derivative by the input of the gate of a node."""
    for i in range(n):
        by_input[0, i] = 0.0
    for o in range(by_output.shape[0]):
        for i in range(n):
            by_input[0, i] += by_output[o, i] * (outputs[2 * node + 1, o, i] - outputs[2 * node + 2, o, i])
    for i in range(n):
        side = sides[node, i]
        by_input[0, i] *= steepness * shares[node, i] * side * (1.0 - side)


def annealed_pass(rows, order, size, gates, values, steepness, rate, l1, l2, n_steps, scratch, descent):
    """One pass of Adam over the rows in batches of `size`; returns the number of steps so far.

    Parameters
    ----------
    rows : `softwood.gradient.loops.soft_split.Rows`, weights with mean 1;  order : in which they are visited
    gates : (n_inner, d + 1);  values : (n_inner + 1, q) of the leaves
    steepness : factor of the inputs of the gates
    rate, l1, l2 : learning rate, and penalties on the weights
    n_steps : number of steps before
    scratch : `AnnealedScratch`;  descent : `AnnealedDescent`
    """
    batch, sides, shares, outputs = scratch.batch, scratch.sides, scratch.shares, scratch.outputs
    by_output, by_input, by_gates, by_values = scratch.by_output, scratch.by_input, descent.by_gates, descent.by_values
    n_inner, d = gates.shape[0], rows.points.shape[1]
    for begin in range(0, order.shape[0], size):
        n = min(size, order.shape[0] - begin)
        n_steps += 1
        step = adam_step(n_steps, rate)
        fill_batch(rows.points, order, begin, n, batch)
        fill_mixtures(batch, n, gates, values, steepness, sides, shares, outputs)
        fill_output_gradient(rows, order, begin, n, outputs, by_output)
        for node in range(n_inner):
            fill_input_gradient(node, n, steepness, sides, shares, outputs, by_output, by_input)
            fill_gate_gradient(rows.points, order, begin, n, by_input, 0, by_gates, node)
            adam_row(gates, by_gates, descent.first, descent.second, node, step, d, l1, l2)
        for leaf in range(n_inner + 1):
            for o in range(values.shape[1]):
                by_values[leaf, o] = dot_rows(shares, n_inner + leaf, by_output, o, n)
            adam_row(values, by_values, descent.value_first, descent.value_second, leaf, step, 0, 0.0, 0.0)
    return n_steps
