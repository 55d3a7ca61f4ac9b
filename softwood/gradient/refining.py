"""The joint pass: all gates and values of a grown tree are trained together, the best pass is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from softwood.gradient.data import LearningSet
from softwood.gradient.growing import GrownTree
from softwood.loops import soft_joint as loop

__all__ = ["RefineRules", "Scratch", "refine", "refit_values"]

BATCH = 32
# When no pass is better any more, training goes back to the best one and goes on with a rate divided by this, ...
SLOW_DOWN = 3.0
# ... so many times.
TIMES_SLOWER = 2
# A value that is fitted to all rows counts its old one as so many rows.
OLD_VALUE_ROWS = 1.0


@dataclass(frozen=True)
class RefineRules:
    """How long and how fast; see the parameters of `SoftTreeClassifier`."""

    max_iter: int = 200
    rate: float = 0.01
    n_iter_no_change: int = 10
    l1: float = 0.0
    l2: float = 0.0


class Scratch:
    """Work space of the loops over whole trees."""

    def __init__(self, n_nodes: int, n_outputs: int) -> None:
        self.shares, self.sides = np.empty(n_nodes), np.empty(n_nodes)
        self.outputs, self.error = np.empty((n_nodes, n_outputs)), np.empty(n_outputs)


def refine(
    tree: GrownTree,
    train: LearningSet,
    validation: LearningSet,
    link: int,
    rules: RefineRules,
    seed: int,
    progress: Callable[[int, float], None] | None = None,
) -> list[float]:
    """Train all of `tree`, in place: the pass with the smallest validation loss is kept, or nothing changes.

    Returns
    -------
    validation loss before, and after each pass
    """
    if len(tree.left) == 1:
        return []
    left, right, gates, values = tree.arrays()
    scratch = Scratch(len(left), values.shape[1])
    n = len(train)
    by_gates, by_values = np.zeros_like(gates), np.zeros_like(values)
    moments = np.zeros((2, *gates.shape)), np.zeros((2, *values.shape))
    rng = np.random.default_rng([seed, 2])

    def validation_loss() -> float:
        return loop.tree_loss(
            validation.points, validation.targets, validation.weights, link, left, right, gates, values, scratch.shares,
            scratch.sides, scratch.error,
        )  # fmt: skip

    losses = [validation_loss()]
    n_steps = np.int64(0)
    best, since, rate, n_slower = losses[0], 0, rules.rate, 0
    for epoch in range(rules.max_iter):
        n_steps = loop.refine_pass(
            train.points, train.targets, train.weights, rng.permutation(n), BATCH, link, left, right, gates, values,
            rate, rules.l1, rules.l2, n_steps, scratch.shares, scratch.sides, scratch.outputs, scratch.error,
            by_gates, by_values, *moments,
        )  # fmt: skip
        losses.append(validation_loss())
        if progress is not None:
            progress(epoch + 1, losses[-1])
        since += 1
        if losses[-1] < best:
            best, since = losses[-1], 0
            tree.gates, tree.values = list(gates.copy()), list(values.copy())
        elif since >= rules.n_iter_no_change or not np.isfinite(losses[-1]):
            if n_slower == TIMES_SLOWER:
                break
            n_slower, since, rate = n_slower + 1, 0, rate / SLOW_DOWN
            gates[:], values[:] = tree.gates, tree.values
            for moment in moments:
                moment[:] = 0.0
            n_steps = np.int64(0)
    if rules.l1 > 0:
        tree.merge_constant_gates()
    return losses


def refit_values(tree: GrownTree, rows: LearningSet) -> None:
    """Make the values of the leaves those with the smallest squared error over `rows`, near to what they are.

    Given the gates, outputs are linear in the values. Rows that validated may have a say in the end.
    """
    left, right, gates, values = tree.arrays()
    leaves = np.flatnonzero(left < 0)
    number = np.full(len(left), -1)
    number[leaves] = np.arange(len(leaves))
    scratch = Scratch(len(left), values.shape[1])
    normal, moved = OLD_VALUE_ROWS * np.eye(len(leaves)), np.zeros((len(leaves), values.shape[1]))
    loop.add_normal_equations(
        rows.points, rows.targets, rows.weights, left, right, gates, values, number, scratch.shares, scratch.sides,
        scratch.error, normal, moved,
    )  # fmt: skip
    values[leaves] += np.linalg.solve(normal, moved)
    tree.values = list(values)
