"""First gates of a complete tree: at every node a linear fit that divides its rows, instead of random numbers."""

from __future__ import annotations

import numpy as np

from softwood.gradient.data import LearningSet
from softwood.loops.soft_split import best_test

__all__ = ["fitted_start", "random_start"]

# Standard deviation of the first gates' inputs over the rows of the node: noise of a sampled path is about as large.
SPREAD = 2.0
# With a spread below this a node counts as constant: its gate would be nothing but rounding.
LEAST_SPREAD = 1e-12
# With fewer validation rows than this at a node, its training rows say which gate is better.
FEW = 20


def random_start(depth: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Gates (2 ** depth - 1, d + 1) of small random numbers."""
    return rng.normal(scale=1.0 / np.sqrt(d + 1), size=(2**depth - 1, d + 1))


def fitted_start(rows: LearningSet, validation: LearningSet, is_class: bool, depth: int) -> np.ndarray:
    """Gates (2 ** depth - 1, d + 1) that divide the rows of each node along a linear fit, or by one column.

    Of the two the one is taken that makes the validation rows of the node purer; with few of them the training rows
    decide. The linear fit: real targets as they are (several: their first principal component); classes are divided in
    two groups along the first principal component of their means, and the groups are fitted. It has a ridge penalty
    that grows as a node has fewer rows, and is cut at its mean, so both children get rows.
    """
    d = rows.points.shape[1]
    gates = np.zeros((2**depth - 1, d + 1))
    members = {0: (np.arange(len(rows)), np.arange(len(validation)))}
    for node in range(len(gates)):
        here, held_out = members.pop(node)
        mine = rows.points[here], rows.targets[here], rows.weights[here]
        judges = mine
        if len(held_out) >= FEW:
            judges = validation.points[held_out], validation.targets[held_out], validation.weights[held_out]
        tried = [gate for gate in (_linear(*mine, is_class), _one_column(*mine)) if gate is not None]
        if tried:
            gates[node] = min(tried, key=lambda gate: _impurity(gate, *judges))
        elif node:  # nothing to divide: like its parent, so that a row that comes here has a way
            gates[node] = gates[(node - 1) // 2]
        sides = [points @ gates[node, :-1] + gates[node, -1] > 0.0 for points in (mine[0], validation.points[held_out])]
        members[2 * node + 1] = here[sides[0]], held_out[sides[1]]
        members[2 * node + 2] = here[~sides[0]], held_out[~sides[1]]
    return gates


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
    feature, threshold = best_test(points, targets, weights, orders)
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
