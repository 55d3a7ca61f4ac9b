"""Training of one-stage trees: gates, values and architecture of a complete tree in one optimisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softwood.gradient.data import LearningSet
from softwood.gradient.starting import fitted_start, random_start
from softwood.loops import one_stage as loop

__all__ = ["MODES", "StageRules", "StagedTree", "train_one_stage"]

MODES = {"proximal": loop.PROXIMAL, "joint": loop.JOINT, "gumbel": loop.GUMBEL}
# Smaller probabilities count as this in the validation loss, the cross-entropy.
LEAST_PROBABILITY = 1e-9
# Passes over all rows, validation rows too, when the shape is known; with this part of the learning rate.
FINAL_PASSES, FINAL_RATE = 5, 0.3


@dataclass(frozen=True)
class StageRules:
    """How a one-stage tree is trained; see the parameters of `OneStageTreeClassifier`."""

    architecture: str = "proximal"
    max_depth: int = 6
    init: str = "fitted"
    rate: float = 0.01
    batch: int = 32
    max_iter: int = 200
    n_iter_no_change: int = 15
    warm_up: int = 3
    architecture_learning_rate: float = 0.5
    split_cost: float = 0.001
    prior: float = 5.0
    l1: float = 0.0
    l2: float = 0.0


@dataclass
class StagedTree:
    """A complete tree in standardised units, of which the nodes that are `alive` are split.

    Attributes
    ----------
    gates : (n_inner, d + 1);  gamma : (n_inner,) in [0, 1];  alive : (n_inner,) bool
    mass, sums : of the rows that pass each node, see `softwood.loops.one_stage`
    history : a line for each pass: losses, splits of the tree
    """

    gates: np.ndarray
    gamma: np.ndarray
    alive: np.ndarray
    mass: np.ndarray
    sums: np.ndarray
    history: list[dict[str, Any]] = field(default_factory=list)

    @property
    def n_inner(self) -> int:
        """Number of nodes that can be split."""
        return len(self.gates)

    def nodes(self, prior: float) -> loop.Nodes:
        """As the loops take it."""
        return loop.Nodes(self.gates, self.alive, self.mass, self.sums, prior)

    def copy(self) -> StagedTree:
        """The same tree; only the history is shared."""
        return StagedTree(
            self.gates.copy(), self.gamma.copy(), self.alive.copy(), self.mass.copy(), self.sums.copy(), self.history
        )

    def splits(self) -> list[int]:
        """The nodes that are split and reached, parents first."""
        found, level = [], [0]
        while level:
            here = [node for node in level if node < self.n_inner and self.alive[node]]
            found += here
            level = [child for node in here for child in (2 * node + 1, 2 * node + 2)]
        return found

    def add_up(self, rows: LearningSet) -> np.ndarray:
        """Make mass and sums those of these rows; returns the node of the last level of each, (n,)."""
        bottom = np.full(len(rows), -1, dtype=np.int64)
        loop.refresh(rows.arrays, self.gates, bottom, self.mass, self.sums)
        return bottom

    def read(self, rows: LearningSet, prior: float) -> tuple[np.ndarray, np.ndarray]:
        """Leaf (n,) and prediction (n, q) of each row."""
        leaves, out = np.empty(len(rows), dtype=np.int64), np.empty((len(rows), self.sums.shape[1]))
        loop.leaves_and_values(rows.points, self.nodes(prior), leaves, out)
        return leaves, out


def first_tree(train: LearningSet, validation: LearningSet, is_class: bool, rules: StageRules, seed: int) -> StagedTree:
    """The tree before training: all nodes split."""
    d, q = train.points.shape[1], train.targets.shape[1]
    if rules.init == "random":
        gates = random_start(rules.max_depth, d, np.random.default_rng([seed, 3]))
    else:
        gates = fitted_start(train, validation, is_class, rules.max_depth)
    n_inner = len(gates)
    n_nodes = 2 * n_inner + 1
    return StagedTree(gates, np.ones(n_inner), np.ones(n_inner, dtype=bool), np.zeros(n_nodes), np.zeros((n_nodes, q)))


def row_losses(prediction: np.ndarray, targets: np.ndarray, is_class: bool) -> np.ndarray:
    """Cross-entropy of class probabilities, or squared error, of each row."""
    if is_class:
        return -(targets * np.log(np.maximum(prediction, LEAST_PROBABILITY))).sum(axis=1)
    return ((prediction - targets) ** 2).sum(axis=1)


def train_one_stage(
    tree: StagedTree,
    train: LearningSet,
    validation: LearningSet,
    is_class: bool,
    rules: StageRules,
    seed: int,
    progress: Callable[[dict[str, Any]], None] | None = None,
) -> None:
    """Train `tree` in place; the pass with the smallest loss of the validation rows is kept, also on an interrupt.

    The validation loss is that of the discrete tree, the one that predicts. With the architecture "joint" the
    training rows are validation.
    """
    mode = MODES[rules.architecture]
    if mode == loop.JOINT:
        validation = train
    rng = np.random.default_rng([seed, 4, len(tree.history)])  # a warm start goes on, and does not repeat itself
    bottom, state = tree.add_up(train), _state_of(tree, rules.max_depth)

    def enter(epoch: int) -> float:
        """Add a line to the history and return the validation loss."""
        losses = [
            float(np.average(row_losses(tree.read(rows, rules.prior)[1], rows.targets, is_class), weights=rows.weights))
            for rows in (train, validation)
        ]
        line = {
            "epoch": epoch, "training_loss": losses[0], "validation_loss": losses[1], "n_splits": len(tree.splits()),
        }  # fmt: skip
        tree.history.append(line)
        if progress is not None:
            progress(line)
        return losses[1]

    n_before = len(tree.history)
    best, since = (enter(n_before), tree.gates.copy(), tree.gamma.copy(), tree.alive.copy()), 0
    try:
        for epoch in range(rules.max_iter):
            gamma_rate = rules.architecture_learning_rate if epoch >= rules.warm_up else 0.0
            loop.train_pass(
                train.arrays, rng.permutation(len(train)), validation.arrays, rng.permutation(len(validation)), mode,
                tree.nodes(rules.prior), tree.gamma, bottom,
                loop.Pace(rules.batch, rules.rate, rules.l1, rules.l2, gamma_rate, rules.split_cost),
                np.uint64(rng.integers(1, 2**62)), *state,
            )  # fmt: skip
            loop.discretise(loop.PROXIMAL, tree.gamma, np.uint64(0), tree.alive)
            bottom = tree.add_up(train)
            loss = enter(n_before + epoch + 1)
            since += 1
            if loss < best[0]:
                best, since = (loss, tree.gates.copy(), tree.gamma.copy(), tree.alive.copy()), 0
            elif since >= rules.n_iter_no_change:
                break
    finally:
        _, tree.gates, tree.gamma, tree.alive = best
        tree.add_up(train)


def settle(tree: StagedTree, rows: LearningSet, rules: StageRules, seed: int) -> None:
    """Train the gates of the pruned tree a little more, on all rows; its shape stays."""
    if not tree.alive[0]:
        return
    rng = np.random.default_rng([seed, 9])
    shape, state = tree.alive.astype(float), _state_of(tree, rules.max_depth)
    pace = loop.Pace(rules.batch, FINAL_RATE * rules.rate, rules.l1, rules.l2, 0.0, 0.0)
    for _ in range(FINAL_PASSES):
        bottom, order = tree.add_up(rows), rng.permutation(len(rows))
        loop.train_pass(
            rows.arrays, order, rows.arrays, order, loop.PROXIMAL, tree.nodes(rules.prior), shape, bottom, pace,
            np.uint64(rng.integers(1, 2**62)), *state,
        )  # fmt: skip


def _state_of(tree: StagedTree, depth: int) -> tuple[loop.Scratch, loop.Descent]:
    """Scratch space of `loop.train_pass`, and what it keeps from pass to pass."""
    n_inner, q = tree.n_inner, tree.sums.shape[1]
    scratch = loop.Scratch(
        path=np.empty(depth, np.int64), inputs=np.empty(depth), values=np.empty((depth + 1, q)), spare=np.empty(q)
    )
    descent = loop.Descent(
        first=np.zeros_like(tree.gates), second=np.zeros_like(tree.gates), steps=np.zeros(n_inner, np.int64),
        by_gates=np.zeros_like(tree.gates), touched=np.zeros(n_inner, dtype=bool), by_architecture=np.zeros(n_inner),
    )  # fmt: skip
    return scratch, descent


def prune(tree: StagedTree, validation: LearningSet, is_class: bool, prior: float) -> None:
    """Drop every split, from the bottom up, whose removal does not raise the loss of the validation rows."""
    alive = tree.alive
    leaves, prediction = tree.read(validation, prior)
    losses = validation.weights * row_losses(prediction, validation.targets, is_class)
    path = np.zeros((len(validation), tree.n_inner), dtype=bool)
    above = leaves.copy()
    while np.any(above > 0):
        above = np.where(above > 0, (above - 1) >> 1, 0)
        path[np.arange(len(above)), above] = True
    for node in sorted(tree.splits(), reverse=True):
        rows = np.flatnonzero(path[:, node]) if node else np.arange(len(validation))
        alive[node] = False
        trial = tree.read(validation.take_raw(rows), prior)[1] if len(rows) else np.empty((0, tree.sums.shape[1]))
        after = validation.weights[rows] * row_losses(trial, validation.targets[rows], is_class)
        if after.sum() <= losses[rows].sum() * (1.0 + 1e-12):
            losses[rows] = after
        else:
            alive[node] = True
    kept = tree.splits()
    alive[:] = False  # what no row can reach is not split
    alive[kept] = True
