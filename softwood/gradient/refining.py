"""The joint pass: all gates and values of a grown tree are trained together, the best pass is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from softwood.compiled import gradient as loop
from softwood.core.steps import Best, Steps
from softwood.gradient.data import LearningSet
from softwood.gradient.growing import GrownTree, SoftRules
from softwood.gradient.loops.soft_joint import SoftDescent, SoftNodes, SoftScratch

BATCH = 32
# After this many passes without an improvement, training continues from the best pass with a learning rate divided by
# SLOW_DOWN, up to TIMES_SLOWER times.
N_ITER_NO_CHANGE, SLOW_DOWN, TIMES_SLOWER = 10, 3.0, 2
# A value that is fitted to all rows counts its previous value as this many rows.
OLD_VALUE_ROWS = 1.0


def scratch_of(nodes: SoftNodes) -> SoftScratch:
    """Work space of the loops over this tree."""
    n, q = nodes.values.shape
    return SoftScratch(
        batch=np.empty((nodes.gates.shape[1] - 1, BATCH)), shares=np.empty((n, BATCH)), sides=np.empty((n, BATCH)),
        outputs=np.empty((n, q, BATCH)), errors=np.empty((q, BATCH)), output=np.empty(q), by_input=np.empty((1, BATCH)),
    )  # fmt: skip


def refine(
    tree: GrownTree,
    train: LearningSet,
    validation: LearningSet,
    link: int,
    rules: SoftRules,
    seed: int,
    steps: Steps | None = None,
    snapshot: Callable[[], dict[str, Any]] | None = None,
) -> None:
    """Train all of `tree`, in place: the pass with the smallest validation loss is kept, or nothing changes.

    Parameters
    ----------
    steps : record each pass
    snapshot : attributes of the estimator if the training ended here
    """
    if len(tree.left) == 1:
        return
    nodes = tree.arrays()
    scratch, gates, values = scratch_of(nodes), nodes.gates, nodes.values
    n = len(train)
    of_gates, of_values = np.zeros((3, *gates.shape)), np.zeros((3, *values.shape))
    descent = SoftDescent(of_gates[0], of_gates[1], of_gates[2], of_values[0], of_values[1], of_values[2])
    rng = np.random.default_rng([seed, 2])

    steps = Steps("pass", rules.refine_max_iter) if steps is None else steps
    best: Best[tuple[list[np.ndarray], list[np.ndarray]]] = Best(N_ITER_NO_CHANGE)

    def measure() -> dict[str, Any]:
        loss = loop.tree_loss(validation.arrays, link, nodes, scratch)
        best.offer(loss, lambda: (list(gates.copy()), list(values.copy())))
        tree.gates, tree.values = best.state
        return {"validation_loss": loss, "n_leaves": tree.n_leaves}

    steps.note(**measure())
    n_steps = 0
    rate, n_slower = rules.refine_learning_rate, 0
    for step in steps:
        n_steps = loop.refine_pass(
            train.arrays, rng.permutation(n), BATCH, link, nodes, rate, rules.l1_regularization,
            rules.l2_regularization, n_steps, scratch, descent,
        )  # fmt: skip
        record = measure()
        step.end(snapshot, **record)
        if best.is_stalled or not np.isfinite(record["validation_loss"]):
            if n_slower == TIMES_SLOWER:
                break
            n_slower, rate = n_slower + 1, rate / SLOW_DOWN
            best.reset_count()
            gates[:], values[:] = tree.gates, tree.values
            of_gates[1:], of_values[1:] = 0.0, 0.0
            n_steps = 0
    if rules.l1_regularization > 0:
        tree.merge_constant_gates()


def refit_values(tree: GrownTree, rows: LearningSet) -> None:
    """Fit the values of the leaves to `rows` by least squares, with a penalty on their change.

    With fixed gates, the outputs are linear in the values. Validation rows may be among the rows.
    """
    nodes = tree.arrays()
    values, leaves = nodes.values, np.flatnonzero(nodes.left < 0)
    number = np.full(len(nodes.left), -1)
    number[leaves] = np.arange(len(leaves))
    normal, moved = OLD_VALUE_ROWS * np.eye(len(leaves)), np.zeros((len(leaves), values.shape[1]))
    loop.add_normal_equations(rows.arrays, nodes, number, scratch_of(nodes), normal, moved)
    values[leaves] += np.linalg.solve(normal, moved)
    tree.values = list(values)
