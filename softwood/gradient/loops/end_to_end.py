"""End-to-end trees: expectation and maximisation of a probabilistic tree whose gates get steeper.

The complete tree lies in arrays without pointers, as in `softwood.gradient.loops.one_stage`; the nodes from `n_gates`
on are leaves. A row reaches a leaf with the product of its gates ``sigmoid(steepness z)``; given its target, it belongs
to the leaf in proportion to that and to the probability of the target there.

Arguments that recur
--------------------
points, likelihoods : fields of `EndToEndRows`
gates : (>= n_gates, d + 1);  n_gates : gates in use, ``2 ** depth - 1``
shares, belongs : (2 n_gates + 1,) scratch space: share of a row in each node, before and after its target is known
"""

from typing import NamedTuple

import numpy as np

from softwood.gradient.loops.adam import adam_line, adam_step
from softwood.gradient.loops.one_stage import gate_input
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


class EndToEndDescent(NamedTuple):
    """Gradient and moments of Adam, of the shape of the gates; all of it begins with 0."""

    by_gates: np.ndarray
    first: np.ndarray
    second: np.ndarray


def leaf_shares(points, i, gates, n_gates, steepness, shares):
    """Fill the probability that row `i` reaches each node."""
    shares[0] = 1.0
    for node in range(n_gates):
        side = sigmoid(steepness * gate_input(points, i, gates, node))
        shares[2 * node + 1] = shares[node] * side
        shares[2 * node + 2] = shares[node] * (1.0 - side)


def posteriors(points, likelihoods, gates, n_gates, steepness, shares, out):
    """The expectation: to what part each row belongs to each leaf, given its target, (n, n_leaves) in `out`.

    Returns
    -------
    mean of the logarithm of the likelihood
    """
    n_leaves = n_gates + 1
    total = 0.0
    for i in range(points.shape[0]):
        leaf_shares(points, i, gates, n_gates, steepness, shares)
        norm = 0.0
        for leaf in range(n_leaves):
            out[i, leaf] = shares[n_gates + leaf] * likelihoods[i, leaf]
            norm += out[i, leaf]
        norm = max(norm, 1e-300)
        for leaf in range(n_leaves):
            out[i, leaf] /= norm
        total += np.log(norm)
    return total / points.shape[0]


def add_posterior_gradient(
    rows, order, begin, end, gates, n_gates, first_gate, steepness, shares, belongs, by_gates
):  # fmt: skip
    """Add the gradient of a batch's mean negative log likelihood by the gates from `first_gate` on.

    The batch is ``order[begin:end]``.
    """
    points = rows.points
    d = points.shape[1]
    for k in range(begin, end):
        i = order[k]
        weight = rows.weights[i] / (end - begin)
        leaf_shares(points, i, gates, n_gates, steepness, shares)
        norm = 0.0
        for leaf in range(n_gates + 1):
            belongs[n_gates + leaf] = shares[n_gates + leaf] * rows.likelihoods[i, leaf]
            norm += belongs[n_gates + leaf]
        norm = max(norm, 1e-300)
        for node in range(n_gates - 1, -1, -1):
            belongs[node] = belongs[2 * node + 1] + belongs[2 * node + 2]
        for node in range(first_gate, n_gates):
            side = shares[2 * node + 1] / shares[node] if shares[node] > 1e-300 else 0.5
            amount = -weight * steepness * (belongs[2 * node + 1] * (1.0 - side) - belongs[2 * node + 2] * side) / norm
            for j in range(d):
                by_gates[node, j] += amount * points[i, j]
            by_gates[node, d] += amount


def maximise_pass(
    rows, order, batch, gates, n_gates, first_gate, steepness, rate, n_steps, shares, belongs, descent
):  # fmt: skip
    """One pass of Adam over the gates from `first_gate` on, in batches; returns the number of steps done so far."""
    by_gates = descent.by_gates
    n = order.shape[0]
    for begin in range(0, n, batch):
        end = min(begin + batch, n)
        add_posterior_gradient(
            rows, order, begin, end, gates, n_gates, first_gate, steepness, shares, belongs, by_gates
        )  # fmt: skip
        n_steps += 1
        step = adam_step(n_steps, rate)
        for node in range(first_gate, n_gates):
            adam_line(gates, by_gates, descent.first, descent.second, node, step, 0, 0.0, 0.0)
    return n_steps
