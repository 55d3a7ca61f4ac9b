"""The shape of a complete crisp tree: values of its nodes, their losses as leaves, and pruning with return.

Nodes lie in arrays without pointers, as in `softwood.gradient.loops.one_stage`. All losses follow from sums of the rows
that pass a node, so that no row is visited again.

Arguments that recur
--------------------
mass, sums : (n_nodes,) and (n_nodes, q) weight of the rows that pass each node, and of their targets
squares : (n_nodes,) the same of the squared targets; 0 for classes
values : (n_nodes, q);  losses : (n_nodes,) loss of the rows of each node if it were a leaf
is_split : (n_inner,)
"""

import numpy as np

from softwood.gradient.loops.one_stage import LEAST_MASS

# Smaller probabilities count as this in losses.
LEAST_PROBABILITY = 1e-9
# A subtree must be better than a leaf by more than rounding.
ROUNDING = 1e-12


def fill_values(mass, sums, prior, values):
    """Means of the rows of each node and of `prior` rows with the value of its parent."""
    q = sums.shape[1]
    for o in range(q):
        values[0, o] = sums[0, o] / mass[0]
    for node in range(1, mass.shape[0]):
        parent = (node - 1) >> 1
        for o in range(q):
            values[node, o] = values[parent, o]
            if mass[node] >= LEAST_MASS:
                values[node, o] = (sums[node, o] + prior * values[parent, o]) / (mass[node] + prior)


def add_squares(rows, bottom, squares):
    """Add up the squared targets of the rows on their paths; `bottom` (n,) is the node of the last level of each."""
    for node in range(squares.shape[0]):
        squares[node] = 0.0
    for i in range(rows.targets.shape[0]):
        amount = 0.0
        for o in range(rows.targets.shape[1]):
            amount += rows.weights[i] * rows.targets[i, o] ** 2
        node = bottom[i]
        while True:
            squares[node] += amount
            if node == 0:
                break
            node = (node - 1) >> 1


def fill_losses(mass, sums, squares, values, is_class, losses):
    """Cross-entropy or squared error of the rows that `mass`, `sums` and `squares` count, at each node."""
    q = sums.shape[1]
    for node in range(mass.shape[0]):
        loss = 0.0
        if is_class:
            for o in range(q):
                if sums[node, o] > 0.0:
                    loss -= sums[node, o] * np.log(max(values[node, o], LEAST_PROBABILITY))
        else:
            loss = squares[node]
            for o in range(q):
                loss += values[node, o] * (mass[node] * values[node, o] - 2.0 * sums[node, o])
        losses[node] = max(loss, 0.0)


def fill_node_errors(mass, sums, values, errors):
    """Weight of the rows of each node that are not of its largest class."""
    for node in range(mass.shape[0]):
        largest = 0
        for o in range(sums.shape[1]):
            if values[node, o] > values[node, largest]:
                largest = o
        errors[node] = mass[node] - sums[node, largest]


def prune(losses, cost, below, is_split):
    """Choose the splits of the complete tree with the smallest loss, where each split costs `cost`; from the bottom up.

    Parameters
    ----------
    below : (n_nodes,) scratch space: loss and costs of the best subtree
    is_split : (n_inner,) is filled; nodes below a leaf are not split
    """
    n_inner = is_split.shape[0]
    for node in range(losses.shape[0]):
        below[node] = losses[node]
    for node in range(n_inner - 1, -1, -1):
        total = below[2 * node + 1] + below[2 * node + 2] + cost
        is_split[node] = total < losses[node] - ROUNDING * (1.0 + losses[node])
        if is_split[node]:
            below[node] = total
    for node in range(1, n_inner):
        is_split[node] = is_split[node] and is_split[(node - 1) >> 1]


def add_leaves(judged, is_split):
    """Number of splits, and the sum of `judged` (n_nodes,) over the leaves of a pruned tree."""
    n_inner = is_split.shape[0]
    if not is_split[0]:
        return 0, judged[0]
    n_splits, total = 0, 0.0
    for node in range(n_inner):
        if is_split[node]:
            n_splits += 1
            for child in range(2 * node + 1, 2 * node + 3):
                if child >= n_inner or not is_split[child]:
                    total += judged[child]
    return n_splits, total


def order_splits(is_split, splits, place):
    """Number of splits; fills `splits` with them, children before their parents and left before right, and `place`.

    Parameters
    ----------
    place : (n_nodes,) place of each node in `splits`, -1 if it is not split
    """
    n_inner = is_split.shape[0]
    for k in range(place.shape[0]):
        place[k] = -1
    n = 0
    node = 0
    if not is_split[0]:
        return n
    while True:
        while 2 * node + 1 < n_inner and is_split[2 * node + 1]:
            node = 2 * node + 1
        while True:
            # left subtree of `node` is done
            right = 2 * node + 2
            if right < n_inner and is_split[right] and place[right] < 0:
                node = right
                break
            splits[n] = node
            place[node] = n
            n += 1
            if node == 0:
                return n
            is_right = node % 2 == 0
            node = (node - 1) >> 1
            if not is_right:
                continue
