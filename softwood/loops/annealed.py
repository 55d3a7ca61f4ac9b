"""Complete oblique trees trained as mixtures of their leaves, with gates that get steeper, for real targets.

The nodes lie in arrays without pointers, as in `softwood.loops.one_stage`; all inner nodes are split. Rows are taken in
batches that lie side by side, as in `softwood.loops.max_path`.
"""

from typing import NamedTuple

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.adam import adam_line
from softwood.loops.max_path import fill_batch, fill_gate_gradient

# Inputs of the sigmoid beyond this count as this.
LARGEST_INPUT = 30.0


class Scratch(NamedTuple):
    """Room for a batch of `b` rows.

    Attributes
    ----------
    batch : (d + 1, b);  sides : (n_inner, b) part that each gate sends left;  shares : (n_nodes, b)
    outputs : (n_nodes, q, b) of the subtrees;  by_output : (q, b);  by_input : (b,)
    """

    batch: np.ndarray
    sides: np.ndarray
    shares: np.ndarray
    outputs: np.ndarray
    by_output: np.ndarray
    by_input: np.ndarray


class Descent(NamedTuple):
    """Moments of Adam, kept from pass to pass, 0 at the beginning.

    Attributes
    ----------
    first, second : (n_inner, d + 1);  value_first, value_second : (n_inner + 1, q) of the leaves
    by_gate : (d + 1,);  by_value : (q,) gradients, 0 between two steps
    """

    first: np.ndarray
    second: np.ndarray
    value_first: np.ndarray
    value_second: np.ndarray
    by_gate: np.ndarray
    by_value: np.ndarray


@compiled
def fill_outputs(batch, n, gates, values, steepness, sides, shares, outputs):
    """Shares of the rows in all nodes, and the outputs of all subtrees; that of the tree is ``outputs[0]``."""
    n_inner = gates.shape[0]
    d = batch.shape[0] - 1
    q = values.shape[1]
    for i in range(n):
        shares[0, i] = 1.0
    for node in range(n_inner):
        gate, out = gates[node], sides[node]
        for i in range(n):
            out[i] = gate[d]
        for j in range(d):
            weight, column = gate[j], batch[j]
            for i in range(n):
                out[i] += weight * column[i]
        for i in range(n):
            z = min(max(steepness * out[i], -LARGEST_INPUT), LARGEST_INPUT)
            out[i] = 1.0 / (1.0 + np.exp(-z))
            shares[2 * node + 1, i] = shares[node, i] * out[i]
            shares[2 * node + 2, i] = shares[node, i] * (1.0 - out[i])
    for node in range(2 * n_inner, -1, -1):
        for o in range(q):
            if node >= n_inner:
                for i in range(n):
                    outputs[node, o, i] = values[node - n_inner, o]
            else:
                for i in range(n):
                    left, right = outputs[2 * node + 1, o, i], outputs[2 * node + 2, o, i]
                    outputs[node, o, i] = right + sides[node, i] * (left - right)


@compiled
def fill_output_gradient(rows, order, begin, n, outputs, by_output):
    """Derivative of the batch's mean squared error, halved, by the tree's output; returns its sum over the rows."""
    _, targets, weights = rows
    loss = 0.0
    for i in range(n):
        row = order[begin + i]
        for o in range(targets.shape[1]):
            error = outputs[0, o, i] - targets[row, o]
            loss += 0.5 * weights[row] * error * error
            by_output[o, i] = weights[row] / n * error
    return loss


@compiled
def fill_input_gradient(node, n, steepness, sides, shares, outputs, by_output, by_input):
    """Derivative by the input of the gate of a node."""
    for i in range(n):
        by_input[i] = 0.0
    for o in range(by_output.shape[0]):
        for i in range(n):
            by_input[i] += by_output[o, i] * (outputs[2 * node + 1, o, i] - outputs[2 * node + 2, o, i])
    for i in range(n):
        side = sides[node, i]
        by_input[i] *= steepness * shares[node, i] * side * (1.0 - side)


@compiled
def annealed_pass(rows, order, size, gates, values, steepness, rate, l1, l2, step, scratch, descent):
    """One pass of Adam over the rows in batches of `size`; returns the number of steps so far.

    Parameters
    ----------
    rows : `softwood.loops.soft_split.Rows`, weights with mean 1;  order : in which they are visited
    gates : (n_inner, d + 1);  values : (n_inner + 1, q) of the leaves
    steepness : factor of the inputs of the gates
    rate, l1, l2 : learning rate, and penalties on the weights
    step : number of steps before
    """
    points = rows.points
    batch, sides, shares, outputs, by_output, by_input = scratch
    first, second, value_first, value_second, by_gate, by_value = descent
    n_inner, d = gates.shape[0], points.shape[1]
    for begin in range(0, order.shape[0], size):
        n = min(size, order.shape[0] - begin)
        step += 1
        fill_batch(points, order, begin, n, batch)
        fill_outputs(batch, n, gates, values, steepness, sides, shares, outputs)
        fill_output_gradient(rows, order, begin, n, outputs, by_output)
        for node in range(n_inner):
            fill_input_gradient(node, n, steepness, sides, shares, outputs, by_output, by_input)
            fill_gate_gradient(batch, n, by_input, by_gate)
            adam_line(gates[node], by_gate, first[node], second[node], step, rate, d, l1, l2)
        for leaf in range(n_inner + 1):
            for o in range(values.shape[1]):
                for i in range(n):
                    by_value[o] += shares[n_inner + leaf, i] * by_output[o, i]
            adam_line(values[leaf], by_value, value_first[leaf], value_second[leaf], step, rate, 0, 0.0, 0.0)
    return step
