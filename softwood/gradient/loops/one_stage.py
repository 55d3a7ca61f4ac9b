"""One-stage trees: sampled paths with straight-through gradients, values in closed form, steps on the architecture.

The complete tree of some depth lies in arrays without pointers: the children of node ``m`` are ``2 m + 1`` (left) and
``2 m + 2``; the first `n_inner` nodes can be split. A row touches its path, and for the gradient one path under each
sibling, so a batch costs about the square of the depth, not its power of two.

Arguments that recur
--------------------
rows : `softwood.gradient.loops.soft_split.Rows`
tree : `OneStageNodes`;  gates, mass, sums, prior : its fields
bottom : (n,) node of the last level at which each training row arrives by the signs of the gates, -1 if not yet known
scratch : `OneStageScratch`
seed : of a sampled path; if it is 0, the path follows the signs of the gates
values, row : a value is row `row` of the table `values`
"""

from typing import NamedTuple

import numpy as np

from softwood.gradient.loops.adam import adam_row, adam_step
from softwood.trees.loops.gates import sigmoid
from softwood.trees.loops.products import dot_rows
from softwood.trees.loops.random import next_seed, to_unit

PROXIMAL, JOINT, GUMBEL = 0, 1, 2
# A node with less mass is empty: it is what rounding leaves of rows that came and went.
LEAST_MASS = 1e-9


class OneStageNodes(NamedTuple):
    """A complete tree of which some nodes are split.

    Attributes
    ----------
    gates : (n_inner, d + 1) weights and bias
    alive : (n_inner,) whether a node is split
    mass, sums : (n_nodes,) and (n_nodes, q) weight of the training rows that pass each node, and of their targets
    prior : a node's value is the mean of its rows and of so many rows with its parent's value
    """

    gates: np.ndarray
    alive: np.ndarray
    mass: np.ndarray
    sums: np.ndarray
    prior: float


class OneStageScratch(NamedTuple):
    """Scratch space for the path of one row.

    Attributes
    ----------
    path, inputs : (depth,) its nodes, and the inputs of their gates
    values : (depth + 1, q) values of its nodes
    spare : (1, q)
    """

    path: np.ndarray
    inputs: np.ndarray
    values: np.ndarray
    spare: np.ndarray


class OneStageDescent(NamedTuple):
    """Moments of Adam and gradients, kept from pass to pass; all of it begins with 0.

    Attributes
    ----------
    first, second : (n_inner, d + 1) moments of Adam
    steps : (n_inner,) its steps for each gate
    by_gates : (n_inner, d + 1);  touched : (n_inner,) gates that have a gradient
    by_architecture : (n_inner,)
    """

    first: np.ndarray
    second: np.ndarray
    steps: np.ndarray
    by_gates: np.ndarray
    touched: np.ndarray
    by_architecture: np.ndarray


class OneStagePace(NamedTuple):
    """How far a pass goes.

    Attributes
    ----------
    batch : rows of a step
    rate, l1, l2 : of Adam, for the gates
    gamma_rate : step of the architecture; 0 leaves it as it is
    split_cost : price of a split, in loss
    """

    batch: int
    rate: float
    l1: float
    l2: float
    gamma_rate: float
    split_cost: float


def gate_input(points, i, gates, node):
    """``weights @ x + bias`` of row `i` at a node."""
    d = points.shape[1]
    return dot_rows(points, i, gates, node, d) + gates[node, d]


def _logistic_noise(seed):
    u = to_unit(seed)
    u = min(max(u, 1e-12), 1.0 - 1e-12)
    return np.log(u / (1.0 - u))


def find_bottom(points, i, gates):
    """Node of the last level that row `i` reaches by the signs of the gates."""
    node = 0
    while node < gates.shape[0]:
        node = 2 * node + 1 if gate_input(points, i, gates, node) > 0.0 else 2 * node + 2
    return node


def _add_path(i, node, amount, targets, mass, sums):
    """Add the row, `amount` times, to a node of the last level and to all above it."""
    while True:
        mass[node] += amount
        for o in range(targets.shape[1]):
            sums[node, o] += amount * targets[i, o]
        if node == 0:
            return
        node = (node - 1) >> 1


def refresh(rows, gates, bottom, mass, sums):
    """Find the paths of all training rows again, and add them up."""
    for node in range(mass.shape[0]):
        mass[node] = 0.0
        for o in range(sums.shape[1]):
            sums[node, o] = 0.0
    for i in range(rows.points.shape[0]):
        bottom[i] = find_bottom(rows.points, i, gates)
        _add_path(i, bottom[i], rows.weights[i], rows.targets, mass, sums)


def step_value(node, mass, sums, prior, values, row):
    """Replace the value of a node's parent by that of the node; an empty node has its parent's."""
    if mass[node] < LEAST_MASS:
        return
    for o in range(values.shape[1]):
        values[row, o] = (sums[node, o] + prior * values[row, o]) / (mass[node] + prior)


def root_value(mass, sums, values, row):
    """Fill in the mean of all training rows."""
    for o in range(values.shape[1]):
        values[row, o] = sums[0, o] / mass[0]


def follow(points, i, node, tree, seed, values, row):
    """Go down from `node`, whose value is in `values`, to a leaf, whose value is then there."""
    while node < tree.gates.shape[0] and tree.alive[node]:
        z = gate_input(points, i, tree.gates, node)
        if seed != 0:
            seed = next_seed(seed, node)
            z += _logistic_noise(seed)
        node = 2 * node + 1 if z > 0.0 else 2 * node + 2
        step_value(node, tree.mass, tree.sums, tree.prior, values, row)
    return node


def leaves_and_values(points, tree, leaves, out):
    """Fill in the leaf of each row, (n,), and its value, (n, q), along the path of the signs."""
    for i in range(points.shape[0]):
        root_value(tree.mass, tree.sums, out, i)
        leaves[i] = follow(points, i, 0, tree, np.uint64(0), out, i)


def add_gate_gradient(rows, order, begin, end, tree, seed, scratch, by_gates, touched):
    """Add the straight-through gradient of a batch's mean squared error by the gates on the rows' paths.

    Parameters
    ----------
    order, begin, end : the batch is ``order[begin:end]``; the path of row ``order[k]`` is sampled by `seed` and ``k``
    by_gates : (n_inner, d + 1) is added to;  touched : (n_inner,) is set at the nodes on the paths

    Returns
    -------
    weighted sum of the rows' squared errors, halved
    """
    points, targets, gates, values, spare = rows.points, rows.targets, tree.gates, scratch.values, scratch.spare
    n_inner = gates.shape[0]
    d = points.shape[1]
    q = targets.shape[1]
    row_seed = other_seed = np.uint64(0)
    total = 0.0
    for k in range(begin, end):
        i = order[k]
        if seed != 0:
            row_seed = next_seed(seed, k + 2)
        node = 0
        length = 0
        root_value(tree.mass, tree.sums, values, 0)
        while node < n_inner and tree.alive[node]:
            z = gate_input(points, i, gates, node)
            if seed != 0:
                z += _logistic_noise(next_seed(row_seed, node))
            scratch.path[length] = node
            scratch.inputs[length] = z
            node = 2 * node + 1 if z > 0.0 else 2 * node + 2
            length += 1
            for o in range(q):
                values[length, o] = values[length - 1, o]
            step_value(node, tree.mass, tree.sums, tree.prior, values, length)
        loss = 0.0
        for o in range(q):
            loss += 0.5 * (values[length, o] - targets[i, o]) ** 2
        total += rows.weights[i] * loss
        weight = rows.weights[i] / (end - begin)
        for step in range(length):
            here = scratch.path[step]
            went_left = scratch.inputs[step] > 0.0
            sibling = 2 * here + 2 if went_left else 2 * here + 1
            for o in range(q):
                spare[0, o] = values[step, o]
            step_value(sibling, tree.mass, tree.sums, tree.prior, spare, 0)
            if seed != 0:
                other_seed = next_seed(row_seed, sibling + 7919)
            follow(points, i, sibling, tree, other_seed, spare, 0)
            slope = 0.0
            for o in range(q):
                slope += (values[length, o] - targets[i, o]) * (values[length, o] - spare[0, o])
            if not went_left:
                slope = -slope
            s = sigmoid(scratch.inputs[step])
            amount = weight * slope * s * (1.0 - s)
            for j in range(d):
                by_gates[here, j] += amount * points[i, j]
            by_gates[here, d] += amount
            touched[here] = True
    return total


def add_architecture_gradient(rows, order, begin, end, tree, scratch, by_architecture):
    """Add the derivative of a batch's mean squared error by "split here" at the nodes on the rows' paths of signs.

    Also at the pruned node where a path ends: it may bud again. The batch is ``order[begin:end]``; the rows go round
    if they are fewer.
    """
    points, targets, gates, values, spare = rows.points, rows.targets, tree.gates, scratch.values, scratch.spare
    n_inner = gates.shape[0]
    q = targets.shape[1]
    for k in range(begin, end):
        i = order[k % order.shape[0]]
        weight = rows.weights[i] / (end - begin)
        node = 0
        length = 0
        root_value(tree.mass, tree.sums, values, 0)
        while node < n_inner and tree.alive[node]:
            scratch.path[length] = node
            node = 2 * node + 1 if gate_input(points, i, gates, node) > 0.0 else 2 * node + 2
            length += 1
            for o in range(q):
                values[length, o] = values[length - 1, o]
            step_value(node, tree.mass, tree.sums, tree.prior, values, length)
        for step in range(length):
            part = 0.0
            for o in range(q):
                part += (values[length, o] - targets[i, o]) * (values[length, o] - values[step, o])
            by_architecture[scratch.path[step]] += weight * part
        if node < n_inner:
            for o in range(q):
                spare[0, o] = values[length, o]
            child = 2 * node + 1 if gate_input(points, i, gates, node) > 0.0 else 2 * node + 2
            step_value(child, tree.mass, tree.sums, tree.prior, spare, 0)
            follow(points, i, child, tree, np.uint64(0), spare, 0)
            part = 0.0
            for o in range(q):
                part += (values[length, o] - targets[i, o]) * (spare[0, o] - values[length, o])
            by_architecture[node] += weight * part


def discretise(mode, gamma, seed, alive):
    """Which nodes are split: those with `gamma` of at least one half, or sampled (GUMBEL); the root always is."""
    for node in range(gamma.shape[0]):
        if mode == GUMBEL:
            odds = np.log(max(gamma[node], 1e-6) / max(1.0 - gamma[node], 1e-6))
            alive[node] = odds + _logistic_noise(next_seed(seed, node)) > 0.0
        else:
            alive[node] = gamma[node] >= 0.5
    alive[0] = True


def train_pass(
    rows, order, validation, validation_order, mode, tree, gamma, bottom, pace, seed, scratch, descent
):  # fmt: skip
    """One pass over the training rows in batches: architecture, values, gates, and a step on the architecture.

    The path of a training row is found again when the row is visited, and the sums of the nodes follow: the values are
    those of paths that are at most a pass old, at no cost.

    Parameters
    ----------
    order, validation_order : rows in the order of visits; the validation rows go round if they are fewer
    mode : PROXIMAL, JOINT or GUMBEL
    gamma : (n_inner,) in [0, 1]
    pace : `OneStagePace`;  descent : `OneStageDescent`

    Returns
    -------
    mean squared error of the sampled paths, halved
    """
    gates, by_architecture = tree.gates, descent.by_architecture
    n_inner = gates.shape[0]
    n = order.shape[0]
    d = rows.points.shape[1]
    total = 0.0
    for begin in range(0, n, pace.batch):
        end = min(begin + pace.batch, n)
        seed = next_seed(seed, 1)
        discretise(mode, gamma, seed, tree.alive)
        for k in range(begin, end):
            i = order[k]
            new = find_bottom(rows.points, i, gates)
            if new != bottom[i]:
                if bottom[i] >= 0:
                    _add_path(i, bottom[i], -rows.weights[i], rows.targets, tree.mass, tree.sums)
                _add_path(i, new, rows.weights[i], rows.targets, tree.mass, tree.sums)
                bottom[i] = new
        total += add_gate_gradient(rows, order, begin, end, tree, seed, scratch, descent.by_gates, descent.touched)
        for node in range(n_inner):
            if descent.touched[node]:
                descent.touched[node] = False
                descent.steps[node] += 1
                step = adam_step(descent.steps[node], pace.rate)
                adam_row(gates, descent.by_gates, descent.first, descent.second, node, step, d, pace.l1, pace.l2)
        if pace.gamma_rate > 0.0:
            if mode == JOINT:
                add_architecture_gradient(rows, order, begin, end, tree, scratch, by_architecture)
            else:
                add_architecture_gradient(validation, validation_order, begin, end, tree, scratch, by_architecture)
            for node in range(1, n_inner):
                if by_architecture[node] != 0.0 or tree.alive[node]:
                    cost = pace.split_cost if tree.alive[node] else 0.0
                    moved = gamma[node] - pace.gamma_rate * (by_architecture[node] + cost)
                    gamma[node] = min(max(moved, 0.0), 1.0)
                    by_architecture[node] = 0.0
    return total / n
