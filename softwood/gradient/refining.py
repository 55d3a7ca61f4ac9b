"""The joint pass: all gates and values of a grown tree are trained together, the best pass is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from softwood.gradient.data import LearningSet
from softwood.gradient.growing import GrownTree
from softwood.loops import soft_joint as loop

__all__ = ["RefineRules", "refine", "refit_values", "scratch_of"]

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


def scratch_of(nodes: loop.Nodes) -> loop.Scratch:
    """Work space of the loops over this tree."""
    n, q = nodes.values.shape
    return loop.Scratch(shares=np.empty(n), sides=np.empty(n), outputs=np.empty((n, q)), error=np.empty(q))


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
    nodes = tree.arrays()
    scratch, gates, values = scratch_of(nodes), nodes.gates, nodes.values
    n = len(train)
    moments = np.zeros((2, *gates.shape)), np.zeros((2, *values.shape))
    descent = loop.Descent(np.zeros_like(gates), np.zeros_like(values), *moments)
    rng = np.random.default_rng([seed, 2])

    def validation_loss() -> float:
        return loop.tree_loss(validation.arrays, link, nodes, scratch)

    losses = [validation_loss()]
    n_steps = np.int64(0)
    best, since, rate, n_slower = losses[0], 0, rules.rate, 0
    for epoch in range(rules.max_iter):
        n_steps = loop.refine_pass(
            train.arrays, rng.permutation(n), BATCH, link, nodes, rate, rules.l1, rules.l2, n_steps, scratch, descent
        )
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
    nodes = tree.arrays()
    values, leaves = nodes.values, np.flatnonzero(nodes.left < 0)
    number = np.full(len(nodes.left), -1)
    number[leaves] = np.arange(len(leaves))
    normal, moved = OLD_VALUE_ROWS * np.eye(len(leaves)), np.zeros((len(leaves), values.shape[1]))
    loop.add_normal_equations(rows.arrays, nodes, number, scratch_of(nodes), normal, moved)
    values[leaves] += np.linalg.solve(normal, moved)
    tree.values = list(values)
