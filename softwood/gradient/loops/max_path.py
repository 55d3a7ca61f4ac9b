"""Crisp oblique trees trained by the loss of their best paths, for classes.

A path that ends at a leaf costs the sum of the margins on whose wrong side the row is. The logit of a class is the
largest over the leaves of the leaf's own logit less the cost of its path. The path of cost 0 is the one that the crisp
tree takes, so that the tree is discrete in training as it is in prediction, while the cross-entropy of the logits has
bounded gradients that do not depend on sampling.

The complete tree of some depth lies in arrays without pointers, as in `softwood.gradient.loops.one_stage`. Rows are
taken in batches, as in `softwood.trees.loops.batches`.

Arguments that recur
--------------------
gates : (n_inner, d + 1) weights and bias;  logits : (n_nodes, q) of the leaves
splits : (n_splits,) nodes that are split: those below a node come before it, and those to its left before the others
place : (n_nodes,) place of a node in `splits`, -1 if it is not split
n : number of rows of the batch
inputs : (n_splits, b) input of the gate of each split for each row
sides : (n_splits, q, b) whether the best path of a class goes left
"""

import math
from typing import NamedTuple

import numpy as np

from softwood.gradient.loops.adam import adam_row, adam_step
from softwood.gradient.loops.gate_gradients import fill_gate_gradient
from softwood.trees.loops.batches import fill_batch, fill_gate_inputs

# Logit of the classes that are not the leaf's own, if its logits are pure.
OTHER = math.log(0.02)
# Shares below this count as this in logits.
LEAST_SHARE = 1e-3
# A class whose part of the gradient is smaller is left out.
NO_GRADIENT = 1e-7


class MaxPathScratch(NamedTuple):
    """Scratch space for a batch of `b` rows.

    Attributes
    ----------
    batch : (d, b);  inputs, by_inputs : (>= n_splits, b)
    sides : (>= n_splits, q, b) float32, 1 or 0
    best : (depth + 1, 2, q, b) logits at the node of each level that was last visited, left and right children
    shares : (q,)
    """

    batch: np.ndarray
    inputs: np.ndarray
    by_inputs: np.ndarray
    sides: np.ndarray
    best: np.ndarray
    shares: np.ndarray


class MaxPathDescent(NamedTuple):
    """Moments of Adam, kept from pass to pass.

    Attributes
    ----------
    first, second : (n_inner, d + 1), 0 at the beginning;  steps : (n_inner,) number of steps of each gate
    by_gates : (n_inner, d + 1) gradients, 0 between two steps
    """

    first: np.ndarray
    second: np.ndarray
    steps: np.ndarray
    by_gates: np.ndarray


def fill_logits(values, splits, place, is_pure, logits):
    """Logits of all nodes as leaves, from their class shares `values` (n_nodes, q).

    Pure logits know the largest class alone. Of two leaves below a node that have the same class, the one with the
    smaller share of it takes the class that it has most more of than the node: a gate between equal leaves would have
    no gradient.
    """
    n_nodes, q = values.shape[0], values.shape[1]
    for node in range(n_nodes):
        largest = 0
        for k in range(q):
            if values[node, k] > values[node, largest]:
                largest = k
            logits[node, k] = OTHER if is_pure else np.log(max(values[node, k], LEAST_SHARE))
        if is_pure:
            logits[node, largest] = 0.0
    if not is_pure:
        return
    for s in range(splits.shape[0]):
        node = splits[s]
        left, right = 2 * node + 1, 2 * node + 2
        if place[left] >= 0 or place[right] >= 0:
            continue
        same = -1
        for k in range(q):
            if logits[left, k] == 0.0 and logits[right, k] == 0.0:
                same = k
        if same < 0:
            continue
        weaker = left if values[left, same] < values[right, same] else right
        other, lift = -1, 1.0
        for k in range(q):
            if k != same and values[node, k] > LEAST_SHARE and values[weaker, k] / values[node, k] > lift:
                other, lift = k, values[weaker, k] / values[node, k]
        if other >= 0:
            logits[weaker, same] = OTHER
            logits[weaker, other] = 0.0


def fill_best(inputs, n, splits, place, logits, best, sides):
    """Logits of the classes at the root, in ``best[0, 0]`` (q, b), and the sides of their best paths."""
    q = logits.shape[1]
    if splits.shape[0] == 0:
        for k in range(q):
            for i in range(n):
                best[0, 0, k, i] = logits[0, k]
        return
    for s in range(splits.shape[0]):
        node = splits[s]
        level = 0
        above = node
        while above > 0:
            above = (above - 1) >> 1
            level += 1
        side = 0 if (node & 1) == 1 or node == 0 else 1
        left, right = 2 * node + 1, 2 * node + 2
        for k in range(q):
            if place[left] < 0 and place[right] < 0:
                one, other = logits[left, k], logits[right, k]
                for i in range(n):
                    u = one + min(inputs[s, i], 0.0)
                    v = other - max(inputs[s, i], 0.0)
                    sides[s, k, i] = 1.0 if u >= v else 0.0
                    best[level, side, k, i] = max(u, v)
                continue
            for child in range(left, right + 1):
                if place[child] < 0:
                    one = logits[child, k]
                    for i in range(n):
                        best[level + 1, child - left, k, i] = one
            for i in range(n):
                u = best[level + 1, 0, k, i] + min(inputs[s, i], 0.0)
                v = best[level + 1, 1, k, i] - max(inputs[s, i], 0.0)
                sides[s, k, i] = 1.0 if u >= v else 0.0
                best[level, side, k, i] = max(u, v)


def fill_path_gradient(rows, order, begin, n, unit, splits, place, scratch):
    """Gradient of the batch's cross-entropy by the inputs of the gates, in ``by_inputs``; returns the loss.

    Parameters
    ----------
    unit : the loss is added up over the rows and multiplied by this
    """
    targets, best, by_inputs, shares = rows.targets, scratch.best, scratch.by_inputs, scratch.shares
    q = targets.shape[1]
    for s in range(splits.shape[0]):
        for i in range(n):
            by_inputs[s, i] = 0.0
    loss = 0.0
    for i in range(n):
        row = order[begin + i]
        largest = best[0, 0, 0, i]
        for k in range(q):
            largest = max(largest, best[0, 0, k, i])
        total = 0.0
        for k in range(q):
            shares[k] = np.exp(best[0, 0, k, i] - largest)
            total += shares[k]
        weight = rows.weights[row] * unit
        logarithm = np.log(total)
        mass = 0.0
        for k in range(q):
            mass += targets[row, k]
            loss += weight * targets[row, k] * (logarithm - best[0, 0, k, i] + largest)
        for k in range(q):
            slope = mass * shares[k] / total - targets[row, k]
            if abs(slope) < NO_GRADIENT:
                continue
            slope *= weight
            node = 0
            while place[node] >= 0:
                s = place[node]
                z = scratch.inputs[s, i]
                if scratch.sides[s, k, i] > 0.0:
                    by_inputs[s, i] += slope if z < 0.0 else 0.0
                    node = 2 * node + 1
                else:
                    by_inputs[s, i] -= slope if z >= 0.0 else 0.0
                    node = 2 * node + 2
    return loss


def max_path_pass(rows, order, size, gates, splits, place, logits, rate, l2, scratch, descent):
    """One pass of Adam over the rows in batches of `size`; returns the mean loss.

    Parameters
    ----------
    rows : `softwood.gradient.loops.soft_split.Rows`, weights with mean 1;  order : in which they are visited
    rate, l2 : learning rate, and penalty on the weights
    scratch : `MaxPathScratch`;  descent : `MaxPathDescent`
    """
    batch, by_gates = scratch.batch, descent.by_gates
    d = rows.points.shape[1]
    total = 0.0
    for begin in range(0, order.shape[0], size):
        n = min(size, order.shape[0] - begin)
        fill_batch(rows.points, order, begin, n, batch)
        for s in range(splits.shape[0]):
            fill_gate_inputs(batch, n, gates, splits[s], scratch.inputs, s)
        fill_best(scratch.inputs, n, splits, place, logits, scratch.best, scratch.sides)
        total += n * fill_path_gradient(rows, order, begin, n, 1.0 / n, splits, place, scratch)
        for s in range(splits.shape[0]):
            node = splits[s]
            fill_gate_gradient(rows.points, order, begin, n, scratch.by_inputs, s, by_gates, node)
            # A part of the gradient, not a pull after the step: Adam divides a step by the gradients so far, and with
            # none so far the pull would be complete.
            for j in range(d):
                by_gates[node, j] += l2 * gates[node, j]
            descent.steps[node] += 1
            step = adam_step(descent.steps[node], rate)
            adam_row(gates, by_gates, descent.first, descent.second, node, step, d, 0.0, 0.0)
    return total / order.shape[0]
