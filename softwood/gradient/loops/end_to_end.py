"""End-to-end trees: expectation and maximisation of a probabilistic tree whose gates get steeper.

The complete tree lies in arrays without pointers, as in `softwood.gradient.loops.one_stage`; the nodes from `n_gates`
on are leaves. A row reaches a leaf with the product of its gates ``sigmoid(steepness z)``; given its target, it belongs
to the leaf in proportion to that and to the probability of the target there.

Arguments that recur
--------------------
points, likelihoods : fields of `EndToEndRows`
gates : (>= n_gates, d + 1);  n_gates : gates in use, ``2 ** depth - 1``
scratch : `EndToEndScratch`;  batch, sides, shares : its fields
n : number of rows of a batch, as in `softwood.trees.loops.batches`
"""

from typing import NamedTuple

import numpy as np

from softwood.gradient.loops.adam import adam_row, adam_step
from softwood.gradient.loops.gate_gradients import fill_gate_gradient
from softwood.trees.loops.batches import fill_batch, fill_gate_inputs
from softwood.trees.loops.gates import sigmoid


class EndToEndRows(NamedTuple):
    """Training rows.

    Attributes
    ----------
    points : (n, d) standardised inputs
    likelihoods : (n, n_leaves) probability of each row's target at each leaf, up to a factor for each row
    weights : (n,)
    """

    points: np.ndarray
    likelihoods: np.ndarray
    weights: np.ndarray


class EndToEndScratch(NamedTuple):
    """Scratch space for a batch of `b` rows.

    Attributes
    ----------
    batch : (d, b);  sides : (n_gates, b) part that each gate sends left
    shares, belongs : (2 n_gates + 1, b) share of each row in each node, before and after its target is known
    factors : (b,)
    """

    batch: np.ndarray
    sides: np.ndarray
    shares: np.ndarray
    belongs: np.ndarray
    factors: np.ndarray


class EndToEndDescent(NamedTuple):
    """Gradient and moments of Adam, of the shape of the gates; all of it begins with 0."""

    by_gates: np.ndarray
    first: np.ndarray
    second: np.ndarray


def leaf_shares(batch, n, gates, n_gates, steepness, sides, shares):
    """Fill the probability that each row reaches each node, and the part that each gate sends left."""
    for i in range(n):
        shares[0, i] = 1.0
    for node in range(n_gates):
        fill_gate_inputs(batch, n, gates, node, sides, node)
        for i in range(n):
            share, side = shares[node, i], sigmoid(steepness * sides[node, i])
            sides[node, i] = side
            shares[2 * node + 1, i] = share * side
            shares[2 * node + 2, i] = share * (1.0 - side)


def posteriors(points, likelihoods, gates, n_gates, steepness, scratch, out):
    """The expectation: to what part each row belongs to each leaf, given its target, (n, n_leaves) in `out`.

    Returns
    -------
    mean of the logarithm of the likelihood
    """
    size = scratch.batch.shape[1]
    n_leaves = n_gates + 1
    total = 0.0
    for begin in range(0, points.shape[0], size):
        n = min(size, points.shape[0] - begin)
        fill_batch(points, None, begin, n, scratch.batch)
        leaf_shares(scratch.batch, n, gates, n_gates, steepness, scratch.sides, scratch.shares)
        for i in range(n):
            norm = 0.0
            for leaf in range(n_leaves):
                part = scratch.shares[n_gates + leaf, i] * likelihoods[begin + i, leaf]
                out[begin + i, leaf] = part
                norm += part
            norm = max(norm, 1e-300)
            for leaf in range(n_leaves):
                out[begin + i, leaf] /= norm
            total += np.log(norm)
    return total / points.shape[0]


def fill_posterior_gradient(rows, order, begin, n, gates, n_gates, first_gate, steepness, scratch, by_gates):
    """Gradient of a batch's mean negative log likelihood by the gates from `first_gate` on.

    The batch is ``order[begin : begin + n]``.
    """
    sides, shares, belongs, factors = scratch.sides, scratch.shares, scratch.belongs, scratch.factors
    fill_batch(rows.points, order, begin, n, scratch.batch)
    leaf_shares(scratch.batch, n, gates, n_gates, steepness, sides, shares)
    for i in range(n):
        row = order[begin + i]
        norm = 0.0
        for leaf in range(n_gates + 1):
            part = shares[n_gates + leaf, i] * rows.likelihoods[row, leaf]
            belongs[n_gates + leaf, i] = part
            norm += part
        factors[i] = -rows.weights[row] / n * steepness / max(norm, 1e-300)
    for node in range(n_gates - 1, -1, -1):
        for i in range(n):
            belongs[node, i] = belongs[2 * node + 1, i] + belongs[2 * node + 2, i]
    for node in range(first_gate, n_gates):
        for i in range(n):  # the derivative by the input of the gate, in the place of its side
            side = sides[node, i]
            sides[node, i] = factors[i] * (belongs[2 * node + 1, i] * (1.0 - side) - belongs[2 * node + 2, i] * side)
        fill_gate_gradient(rows.points, order, begin, n, sides, node, by_gates, node)


def maximise_pass(rows, order, gates, n_gates, first_gate, steepness, rate, n_steps, scratch, descent):
    """One pass of Adam over the gates from `first_gate` on; returns the number of steps done so far.

    `scratch` sets the size of the batches.
    """
    size = scratch.batch.shape[1]
    for begin in range(0, order.shape[0], size):
        n = min(size, order.shape[0] - begin)
        fill_posterior_gradient(
            rows, order, begin, n, gates, n_gates, first_gate, steepness, scratch, descent.by_gates
        )  # fmt: skip
        n_steps += 1
        step = adam_step(n_steps, rate)
        for node in range(first_gate, n_gates):
            adam_row(gates, descent.by_gates, descent.first, descent.second, node, step, 0, 0.0, 0.0)
    return n_steps
