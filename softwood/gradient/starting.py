"""Initial gates of a complete tree: random numbers, tests of single columns, or linear fits at each node."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from softwood.compiled.gradient import best_test, column_gates, logistic_gate
from softwood.gradient.data import LearningSet
from softwood.gradient.loops.first_gates import LEAST_SPREAD, SPREAD

# Points, targets and weights of the rows of a node.
Part = tuple[np.ndarray, np.ndarray, np.ndarray]
# Smallest number of rows on either side of a linear gate.
LEAST_ROWS = 3
# With fewer validation rows than this at a node, the training rows decide which gate is better.
FEW = 20


def random_start(depth: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Gates (2 ** depth - 1, d + 1) of small random numbers."""
    return rng.normal(scale=1.0 / np.sqrt(d + 1), size=(2**depth - 1, d + 1))


def column_start(rows: LearningSet, depth: int) -> np.ndarray:
    """Gates (2 ** depth - 1, d + 1) that test one column each, as a conventional tree does."""
    gates = np.empty((2**depth - 1, rows.points.shape[1] + 1))
    orders = np.ascontiguousarray(np.argsort(rows.points, axis=0, kind="stable").T)
    column_gates(rows.arrays, orders, gates)
    return gates


def linear_start(rows: LearningSet, is_class: bool, depth: int, penalty: float) -> np.ndarray:
    """Gates (2 ** depth - 1, d + 1) by linear fits to the rows of each node.

    Two groups of classes are divided by a logistic regression, with ``penalty / 2`` times the squared weights; real
    targets as in `fitted_start`.
    """

    def gate_of(mine: Part) -> np.ndarray | None:
        return _logistic(*mine, penalty) if is_class else _linear(*mine, False)

    return _node_by_node(depth, gate_of, rows)


def _node_by_node(depth: int, gate_of: Callable[..., np.ndarray | None], *sets: LearningSet) -> np.ndarray:
    """Gates (2 ** depth - 1, d + 1), each from the rows of these sets that the gates above send to its node.

    Parameters
    ----------
    gate_of : function of points, targets and weights of each set at a node; None where there is nothing to divide: the
        node then has the gate of its parent
    """
    gates = np.zeros((2**depth - 1, sets[0].points.shape[1] + 1))
    members = {0: [np.arange(len(rows)) for rows in sets]}
    for node, gate in enumerate(gates):
        here = members.pop(node)
        parts = [(s.points[rows], s.targets[rows], s.weights[rows]) for s, rows in zip(sets, here, strict=True)]
        found = gate_of(*parts)
        gate[:] = gates[max(node - 1, 0) // 2] if found is None else found
        sides = [points @ gate[:-1] + gate[-1] > 0.0 for points, _, _ in parts]
        members[2 * node + 1] = [rows[side] for rows, side in zip(here, sides, strict=True)]
        members[2 * node + 2] = [rows[~side] for rows, side in zip(here, sides, strict=True)]
    return gates


def _logistic(points: np.ndarray, targets: np.ndarray, weights: np.ndarray, penalty: float) -> np.ndarray | None:
    """A logistic regression between two groups of classes as a gate; None if it leaves too few rows on a side."""
    n, d = points.shape
    if n < 2 * LEAST_ROWS:
        return None
    # two classes are two groups, whichever comes first
    coded = targets[:, 1].copy() if targets.shape[1] == 2 else 0.5 + 0.5 * _two_groups(points, targets, weights)
    share = np.average(coded, weights=weights)
    if not 1e-12 < share < 1.0 - 1e-12:
        return None
    gate = np.empty(d + 1)
    logistic_gate(points, coded, weights, penalty, gate)
    inputs = points @ gate[:-1] + gate[-1]
    if not LEAST_ROWS <= np.count_nonzero(inputs > 0.0) <= n - LEAST_ROWS:
        middle = np.median(inputs)
        gate[-1] -= middle
        if not LEAST_ROWS <= np.count_nonzero(inputs > middle) <= n - LEAST_ROWS:
            return None
    return gate


def fitted_start(rows: LearningSet, validation: LearningSet, is_class: bool, depth: int) -> np.ndarray:
    """Gates (2 ** depth - 1, d + 1) that divide the rows of each node along a linear fit, or by one column.

    The one that makes the validation rows of the node purer is taken; with few of them, the training rows decide.
    The linear fit: real targets as they are (several: their first principal component); classes are divided in
    two groups along the first principal component of their means, and the groups are fitted. It has a ridge penalty
    that grows as a node has fewer rows, and is cut at its mean, so both children get rows.
    """

    def gate_of(mine: Part, held_out: Part) -> np.ndarray | None:
        tried = [gate for gate in (_linear(*mine, is_class), _one_column(*mine)) if gate is not None]
        deciding = held_out if len(held_out[0]) >= FEW else mine
        return min(tried, key=lambda gate: _impurity(gate, *deciding), default=None)

    return _node_by_node(depth, gate_of, rows, validation)


def _impurity(gate: np.ndarray, points: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
    """Squared error of the means on the two sides of a gate, added up."""
    side = points @ gate[:-1] + gate[-1] > 0.0
    total = 0.0
    for part in (side, ~side):
        if part.any():
            mean = np.average(targets[part], axis=0, weights=weights[part])
            total += float(weights[part] @ ((targets[part] - mean) ** 2).sum(axis=1))
    return total


def _one_column(points: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
    """The best axis-aligned test as a gate."""
    if len(points) < 2:
        return None
    orders = np.ascontiguousarray(np.argsort(points, axis=0, kind="stable").T)
    sums = np.empty((2, targets.shape[1]))
    feature, threshold = best_test(points, targets, weights, orders, 0, len(points), sums)
    if feature < 0:
        return None
    column = points[:, feature]
    spread = np.sqrt(np.average((column - np.average(column, weights=weights)) ** 2, weights=weights))
    if not spread > LEAST_SPREAD:
        return None
    gate = np.zeros(points.shape[1] + 1)
    gate[feature], gate[-1] = -SPREAD / spread, SPREAD / spread * threshold
    return gate


def _linear(points: np.ndarray, targets: np.ndarray, weights: np.ndarray, is_class: bool) -> np.ndarray | None:
    """A ridge fit of the targets as a gate."""
    n, d = points.shape
    if n < 2:
        return None
    weights = weights / weights.sum()
    mean = weights @ targets
    if is_class:
        coded = _two_groups(points, targets, weights)
    else:
        centred = targets - mean
        coded = centred @ _first_axis(centred * np.sqrt(weights)[:, None])
    center = weights @ points
    moved = points - center
    coded = coded - weights @ coded
    if not np.any(np.abs(coded) > 1e-12):
        return None
    weighted = moved * weights[:, None]
    ridge = 1e-3 + 0.5 * d / n
    direction = np.linalg.solve(moved.T @ weighted + ridge * np.eye(d), weighted.T @ coded)
    spread = np.sqrt(weights @ (moved @ direction) ** 2)
    if not spread > LEAST_SPREAD:
        return None
    direction *= SPREAD / spread
    return np.append(direction, -center @ direction)


def _two_groups(points: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """1 or -1 for each row (between, for fuzzy labels): classes on two sides of the middle of their means."""
    mass = weights @ targets
    present = np.flatnonzero(mass > 1e-12)
    if len(present) < 2:
        return np.zeros(len(points))
    means = (targets[:, present] * weights[:, None]).T @ points / mass[present][:, None]
    middle = mass[present] @ means / mass[present].sum()
    moved = (means - middle) * np.sqrt(mass[present])[:, None]
    scores = (means - middle) @ _first_axis(moved)
    group = np.where(scores > 0.0, 1.0, -1.0)
    if np.all(group == group[0]):  # the means are the same: the largest class against the others
        group = np.where(np.arange(len(present)) == mass[present].argmax(), 1.0, -1.0)
    return targets[:, present] @ group


def _first_axis(moved: np.ndarray) -> np.ndarray:
    """Direction of the largest spread, its largest part positive, so that it does not depend on rounding."""
    _, _, axes = np.linalg.svd(moved, full_matrices=False)
    axis = axes[0]
    return axis * (np.sign(axis[np.abs(axis).argmax()]) or 1.0)
