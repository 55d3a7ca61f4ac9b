"""Training of one-stage trees: gates, values and architecture of a complete tree in one optimisation."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from softwood.compiled import gradient as loop
from softwood.core.arrays import require_array
from softwood.core.estimators import estimator
from softwood.core.parameters import check_choice, check_count, check_number, or_auto, parameter
from softwood.core.steps import Best, Steps
from softwood.gradient.data import LearningSet
from softwood.gradient.loops.one_stage import (
    GUMBEL,
    JOINT,
    PROXIMAL,
    OneStageDescent,
    OneStageNodes,
    OneStagePace,
    OneStageScratch,
)
from softwood.gradient.starting import fitted_start, random_start

MODES = {"proximal": PROXIMAL, "joint": JOINT, "gumbel": GUMBEL}
# Smaller probabilities count as this in the validation loss, the cross-entropy.
LEAST_PROBABILITY = 1e-9
# Passes over all rows, validation rows too, when the shape is known; with this part of the learning rate.
FINAL_PASSES, FINAL_RATE = 5, 0.3


# What "auto" means for trees that are trained along sampled paths.
SAMPLED = {
    "learning_rate": 0.01, "batch_size": 32, "max_iter": 200, "split_cost": 0.001, "l1_regularization": 0.0,
    "l2_regularization": 0.0,
}  # fmt: skip


@estimator
class StageRules:
    """How a one-stage tree is trained: parameters of `OneStageTreeClassifier`, which derives from this.

    Parameters
    ----------
    max_depth : int
        Depth of the complete tree that is pruned, at most 16.
    architecture : {"pruned", "proximal", "joint", "gumbel"}
        How the shape is found. "pruned": by pruning before each pass. The others sample paths and train a
        number in [0, 1] for each node, as in the paper: "proximal" by proximal steps on validation rows, "joint"
        together with the gates on the training rows, "gumbel" sampled, on validation rows.
    max_iter : int or "auto"
        Number of passes over the rows. "auto" is 30, and 60 from 2 000 rows on (200 and 100 for real targets), fewer
        for more than 100 000 rows; with sampled paths, at most 200.
    learning_rate : float or "auto"
        Learning rate of Adam for the gates. "auto" is 0.02 for fewer than 2 000 rows and 0.05 for more, and 0.01 for
        real targets and for sampled paths.
    batch_size : int or "auto"
        Number of rows of a step. "auto" is 32, and 256 from 2 000 rows on; with sampled paths, 32.
    split_cost : float or "auto"
        Mean loss that a split must save: cross-entropy, or squared error in variances of the target. "auto" chooses it
        by folds. With sampled paths it is a cost in the loss that trains the shape, and "auto" is 0.001.
    prior : float
        The value of a node is the mean of its rows and of this many rows with the value of its parent.
    l1_regularization : float or "auto"
        Absolute penalty on the weights of the gates, relative to the mean loss. "auto" chooses it by folds; with
        sampled paths it is 0. Classes are trained without it, unless paths are sampled.
    l2_regularization : float or "auto"
        Squared penalty on the weights of the gates, relative to the mean loss. "auto" chooses it by folds; with sampled
        paths it is 0.
    init : {"auto", "linear", "columns", "fitted", "random"}
        Initial gates: penalised linear fits at each node, tests of one column as in a conventional tree, at each node
        the better of both, or random numbers. "auto" tries "linear" and "columns"; with sampled paths it is "fitted".
    n_iter_no_change : int
        Sampled paths: training ends after this many passes without a smaller validation loss.
    warm_up : int
        Sampled paths: number of passes before the shape is trained.
    architecture_learning_rate : float
        Sampled paths: learning rate of the shape.
    """

    architecture: Literal["pruned", "proximal", "joint", "gumbel"] = parameter(
        "pruned", check_choice, choices=("pruned", *MODES)
    )
    max_depth: int = parameter(6, check_count, high=16)
    init: Literal["auto", "linear", "columns", "fitted", "random"] = parameter(
        "auto", check_choice, choices=("auto", "linear", "columns", "fitted", "random")
    )
    learning_rate: float | Literal["auto"] = parameter("auto", or_auto(check_number), low=0.0, open_low=True)
    batch_size: int | Literal["auto"] = parameter("auto", or_auto(check_count))
    max_iter: int | Literal["auto"] = parameter("auto", or_auto(check_count))
    n_iter_no_change: int = parameter(15, check_count)
    warm_up: int = parameter(3, check_count, low=0)
    architecture_learning_rate: float = parameter(0.5, check_number, low=0.0)
    split_cost: float | Literal["auto"] = parameter("auto", or_auto(check_number), low=0.0)
    prior: float = parameter(5.0, check_number, low=0.0, open_low=True)
    l1_regularization: float | Literal["auto"] = parameter("auto", or_auto(check_number), low=0.0)
    l2_regularization: float | Literal["auto"] = parameter("auto", or_auto(check_number), low=0.0)

    def sampled(self) -> CheckedRules:
        """Checked parameters of a tree that is trained along sampled paths: its own values in place of "auto"."""
        rules = copy.copy(self)
        rules.init = "fitted" if rules.init == "auto" else rules.init
        for name, value in SAMPLED.items():
            if getattr(rules, name) is None:
                setattr(rules, name, value)
        return rules


# `StageRules` with checked parameters: numbers, and None in place of "auto".
CheckedRules: TypeAlias = Any


@dataclass
class StagedTree:
    """A complete tree in standardised units, of which the nodes that are `alive` are split.

    Attributes
    ----------
    gates : (n_inner, d + 1);  gamma : (n_inner,) in [0, 1];  alive : (n_inner,) bool
    mass, sums : of the rows that pass each node, see `softwood.gradient.loops.one_stage`
    """

    gates: np.ndarray
    gamma: np.ndarray
    alive: np.ndarray
    mass: np.ndarray
    sums: np.ndarray

    def __post_init__(self) -> None:
        n = len(require_array("gates", self.gates, np.float64, (None, None)))
        if n & (n + 1) or self.gates.shape[1] == 0:
            raise ValueError(f"gates must be those of a complete tree, with a bias, got shape {self.gates.shape}.")
        require_array("gamma", self.gamma, np.float64, (n,))
        require_array("alive", self.alive, np.bool_, (n,))
        require_array("mass", self.mass, np.float64, (2 * n + 1,))
        require_array("sums", self.sums, np.float64, (2 * n + 1, None))

    @property
    def n_inner(self) -> int:
        """Number of nodes that can be split."""
        return len(self.gates)

    def nodes(self, prior: float) -> OneStageNodes:
        """The named tuple that the loops take."""
        return OneStageNodes(self.gates, self.alive, self.mass, self.sums, prior)

    def copy(self) -> StagedTree:
        """A copy with its own arrays."""
        return StagedTree(*astuple(self))

    def splits(self) -> list[int]:
        """The nodes that are split and reached, parents first."""
        found, level = [], [0]
        while level:
            here = [node for node in level if node < self.n_inner and self.alive[node]]
            found += here
            level = [child for node in here for child in (2 * node + 1, 2 * node + 2)]
        return found

    def add_up(self, rows: LearningSet) -> np.ndarray:
        """Set mass and sums to those of these rows; returns the node of the last level of each row, (n,)."""
        bottom = np.full(len(rows), -1, dtype=np.int64)
        loop.refresh(rows.arrays, self.gates, bottom, self.mass, self.sums)
        return bottom

    def read(self, rows: LearningSet, prior: float) -> tuple[np.ndarray, np.ndarray]:
        """Leaf (n,) and prediction (n, q) of each row."""
        leaves, out = np.empty(len(rows), dtype=np.int64), np.empty((len(rows), self.sums.shape[1]))
        loop.leaves_and_values(rows.points, self.nodes(prior), leaves, out)
        return leaves, out

    def mean_loss(self, rows: LearningSet, is_class: bool, prior: float) -> float:
        """Weighted mean of `row_losses`."""
        return float(np.average(row_losses(self.read(rows, prior)[1], rows.targets, is_class), weights=rows.weights))


def first_tree(
    train: LearningSet, validation: LearningSet, is_class: bool, rules: CheckedRules, seed: int
) -> StagedTree:
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
    rules: CheckedRules,
    seed: int,
    steps: Steps | None = None,
    snapshot: Callable[[StagedTree], dict[str, Any]] | None = None,
) -> None:
    """Train `tree` in place; the pass with the smallest loss of the validation rows is kept, also on an interrupt.

    The validation loss is that of the discrete tree, the one that predicts. With the architecture "joint" the
    training rows are validation.

    Parameters
    ----------
    steps : record each pass; with the history of an earlier training, this training continues it
    snapshot : attributes of the estimator if the training ended with this tree
    """
    mode = MODES[rules.architecture]
    if mode == JOINT:
        validation = train
    steps = Steps("pass", rules.max_iter) if steps is None else steps
    rng = np.random.default_rng([seed, 4, len(steps.history)])  # a warm start does not repeat the same draws
    bottom, state = tree.add_up(train), _state_of(tree, rules.max_depth)
    best: Best[StagedTree] = Best(rules.n_iter_no_change)

    def measure() -> dict[str, Any]:
        losses = [tree.mean_loss(rows, is_class, rules.prior) for rows in (train, validation)]
        best.offer(losses[1], tree.copy)
        return {"train_loss": losses[0], "validation_loss": losses[1], "n_leaves": len(tree.splits()) + 1}

    steps.note(iteration=steps.history[-1]["iteration"] if steps.history else 0, **measure())
    try:
        for number, step in enumerate(steps):
            gamma_rate = rules.architecture_learning_rate if number >= rules.warm_up else 0.0
            loop.train_pass(
                train.arrays, rng.permutation(len(train)), validation.arrays, rng.permutation(len(validation)), mode,
                tree.nodes(rules.prior), tree.gamma, bottom,
                OneStagePace(
                    rules.batch_size, rules.learning_rate, rules.l1_regularization, rules.l2_regularization, gamma_rate,
                    rules.split_cost,
                ),
                np.uint64(rng.integers(1, 2**62)), *state,
            )  # fmt: skip
            loop.discretise(PROXIMAL, tree.gamma, np.uint64(0), tree.alive)
            bottom = tree.add_up(train)
            step.end(None if snapshot is None else lambda: snapshot(best.state), **measure())
            if best.is_stalled:
                break
    finally:
        vars(tree).update(vars(best.state))


def settle(tree: StagedTree, rows: LearningSet, rules: CheckedRules, seed: int) -> None:
    """Train the gates of the pruned tree for a few more passes on all rows; its shape does not change."""
    if not tree.alive[0]:
        return
    rng = np.random.default_rng([seed, 9])
    shape, state = tree.alive.astype(float), _state_of(tree, rules.max_depth)
    pace = OneStagePace(
        rules.batch_size, FINAL_RATE * rules.learning_rate, rules.l1_regularization, rules.l2_regularization, 0.0, 0.0
    )
    for _ in range(FINAL_PASSES):
        bottom, order = tree.add_up(rows), rng.permutation(len(rows))
        loop.train_pass(
            rows.arrays, order, rows.arrays, order, PROXIMAL, tree.nodes(rules.prior), shape, bottom, pace,
            np.uint64(rng.integers(1, 2**62)), *state,
        )  # fmt: skip


def _state_of(tree: StagedTree, depth: int) -> tuple[OneStageScratch, OneStageDescent]:
    """Scratch space of `loop.train_pass`, and what it keeps from pass to pass."""
    n_inner, q = tree.n_inner, tree.sums.shape[1]
    scratch = OneStageScratch(
        path=np.empty(depth, np.int64), inputs=np.empty(depth), values=np.empty((depth + 1, q)), spare=np.empty((1, q))
    )
    descent = OneStageDescent(
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
    alive[:] = False  # nodes that no row can reach are not split
    alive[kept] = True
