"""Leaf values of a tree of boosting: the step that the model takes, and values that are not Newton steps."""

from __future__ import annotations

import numpy as np

from softwood.core.losses import Loss
from softwood.kernel.rounds.newton import NewtonTree

# Largest leaf value: sums of their squares over all rows and rounds are finite.
LARGEST_STEP = 1e120


def take_step(values: np.ndarray, max_step: float, learning_rate: float, number: int) -> None:
    """Turn the best leaf values of a tree of round `number` into those that the model adds, in place."""
    if max_step < np.inf:
        np.clip(values, -max_step, max_step, out=values)
    if not max(values.max(), -values.min()) <= LARGEST_STEP / learning_rate:
        raise too_fast(learning_rate, number + 1)
    values *= learning_rate


def too_fast(learning_rate: float, n_rounds: int) -> ValueError:
    """The error if the raw scores grow without limit."""
    return ValueError(
        f"Boosting diverges with learning_rate={learning_rate:g}: the raw scores overflow in round {n_rounds}. Lower "
        "the parameter 'learning_rate'; usual values are between 0.01 and 1."
    )


def refit_leaves(
    tree: NewtonTree,
    loss: Loss,
    y: np.ndarray,
    weights: np.ndarray,
    raw: np.ndarray,
    score: int,
    directions: np.ndarray | None,
) -> None:
    """Set the leaf values to those that minimise the loss within the monotonic constraints."""
    values = tree.values
    for leaf in range(len(tree.leaves)):
        rows, shares = tree.members(leaf)
        for column in range(values.shape[1]):
            at = score + column
            value = loss.leaf_value(y[rows] - raw[rows, at], weights[rows] * shares, at)
            values[tree.leaves["line"][leaf], column] = value
    if directions is not None:
        _keep_directions(tree.nodes, directions)


def _keep_directions(nodes: np.ndarray, directions: np.ndarray) -> None:
    """Clip the leaf values so that the two sides of each constrained split stay in order, as in growing."""
    n = len(nodes)
    parent, side, feature = nodes["parent"], nodes["side"], nodes["feature"]
    mass = np.where(feature < 0, nodes["w"], 0.0)
    total = mass * nodes["value"]
    children = np.zeros((n, 2), dtype=int)
    for line in range(n - 1, 0, -1):  # children come after their parents
        mass[parent[line]] += mass[line]
        total[parent[line]] += total[line]
        children[parent[line], side[line]] = line
    mean = total / mass
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    for node in np.flatnonzero(feature >= 0):
        below = children[node]
        low[below], high[below] = low[node], high[node]
        if direction := directions[feature[node]]:
            middle = np.clip(mean[below], low[node], high[node]).mean()
            lower, upper = below if direction > 0 else below[::-1]
            high[lower] = low[upper] = middle
    nodes["value"] = np.clip(nodes["value"], low, high)
