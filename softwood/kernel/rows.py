"""The rows of a fit, prepared once: what settings are chosen on, and how trees grow from them.

An estimator has one fit, whatever its rows are: it reads and prepares them, chooses what is not given, grows, and
finishes the trees. Only preparing and growing differ between rows in memory, here, and rows in parts
(`softwood.kernel.parts.fits`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs

from softwood.core.losses import Loss
from softwood.core.steps import Steps
from softwood.kernel.data.preparation import TrainingData
from softwood.kernel.growing.bagging import Draws, grow_trees
from softwood.kernel.growing.growing import grow_tree
from softwood.kernel.growing.loops.groups import NodeTable
from softwood.kernel.growing.problem import GrowthProblem, Limits
from softwood.kernel.rounds.rounds import Boosted, BoostingData, BoostingRules, boost
from softwood.trees.tree import SoftTree

__all__ = ["SCORED_ROWS", "BoostingRows", "BoostingRowsInMemory", "Snapshot", "TreeRows", "TreeRowsInMemory"]

# The training loss of boosting is computed on at most this many different rows, drawn by content.
SCORED_ROWS = 20_000

# Attributes of an estimator fitted so far
Snapshot = Callable[..., dict[str, Any]]


class TreeRows(Protocol):
    """The rows that a tree or a forest is fitted to.

    Attributes
    ----------
    seed : of all random choices
    data : the rows, or a sample of them, from which bins and rules for bandwidths are read
    trial : rows for choosing settings by held-out loss;  is_sampled : whether trees grow from other rows than these
    numbers : numbers of these rows in the user's table; None if they are not known
    total : mass of all rows
    factors : weights of the classes, for each row or for each class; 1.0 if there are none
    """

    @property
    def seed(self) -> int: ...  # noqa: D102
    @property
    def data(self) -> TrainingData: ...  # noqa: D102
    @property
    def trial(self) -> TrainingData: ...  # noqa: D102
    @property
    def is_sampled(self) -> bool: ...  # noqa: D102
    @property
    def numbers(self) -> np.ndarray | None: ...  # noqa: D102
    @property
    def total(self) -> float: ...  # noqa: D102
    @property
    def factors(self) -> np.ndarray | float: ...  # noqa: D102

    def problem(self, widths: np.ndarray) -> GrowthProblem:
        """What trees with these half-widths (p,) are grown from and finished with."""

    def grow_tree(self, problem: GrowthProblem, limits: Limits, steps: Steps) -> SoftTree:
        """Grow one tree from all rows."""

    def grow_trees(
        self,
        problem: GrowthProblem,
        limits: Limits,
        draws: Draws,
        numbers: range,
        grown: list[NodeTable],
        steps: Steps,
        snapshot: Snapshot,
    ) -> None:
        """Grow the trees of a forest with these numbers and append them to `grown`, see `grow_trees`."""


@dataclass(frozen=True)
class TreeRowsInMemory:
    """Rows in memory; attributes as of `TreeRows`."""

    data: TrainingData
    seed: int
    numbers: np.ndarray
    factors: np.ndarray | float
    n_jobs: int | None

    is_sampled = False

    @property
    def trial(self) -> TrainingData:
        """All rows."""
        return self.data

    @property
    def total(self) -> float:
        """Mass of all rows."""
        return float(self.data.weights.sum())

    def problem(self, widths: np.ndarray) -> GrowthProblem:
        """The rows with these half-widths."""
        return self.data.problem(widths)

    def grow_tree(self, problem: GrowthProblem, limits: Limits, steps: Steps) -> SoftTree:
        """Grow one tree, node by node."""
        return grow_tree(problem, limits, seed=self.seed, n_jobs=self.n_jobs, steps=steps)

    def grow_trees(
        self,
        problem: GrowthProblem,
        limits: Limits,
        draws: Draws,
        numbers: range,
        grown: list[NodeTable],
        steps: Steps,
        snapshot: Snapshot,
    ) -> None:
        """Grow trees, node by node, each from the rows that are drawn for it."""
        grow_trees(
            problem, limits, draws, self.seed, numbers, n_jobs=self.n_jobs, grown=grown, steps=steps, snapshot=snapshot
        )


class BoostingRows(Protocol):
    """The rows that boosting is fitted to.

    Attributes
    ----------
    seed, data, trial, total : as of `TreeRows`
    train : the rows of `trial` with their targets as the loss takes them
    loss : the loss;  unit : losses and gains are those of the targets divided by this number
    start : (n_scores,) start value of the raw scores
    has_validation : whether there are validation rows
    has_equal_weights : whether all rows, validation rows too, have weight 1
    """

    @property
    def seed(self) -> int: ...  # noqa: D102
    @property
    def data(self) -> TrainingData: ...  # noqa: D102
    @property
    def trial(self) -> TrainingData: ...  # noqa: D102
    @property
    def total(self) -> float: ...  # noqa: D102
    @property
    def train(self) -> BoostingData: ...  # noqa: D102
    @property
    def loss(self) -> Loss: ...  # noqa: D102
    @property
    def unit(self) -> float: ...  # noqa: D102
    @property
    def start(self) -> np.ndarray: ...  # noqa: D102
    @property
    def has_validation(self) -> bool: ...  # noqa: D102
    @property
    def has_equal_weights(self) -> bool: ...  # noqa: D102

    def boost(
        self, widths: np.ndarray, rules: BoostingRules, result: Boosted, steps: Steps, snapshot: Snapshot
    ) -> None:
        """Add trees to `result`, round by round; `widths` (p,) are the half-widths in the first round."""


@dataclass(frozen=True)
class BoostingRowsInMemory:
    """Rows in memory; attributes as of `BoostingRows`.

    Attributes
    ----------
    validation : validation rows; None if there are none
    """

    data: TrainingData
    seed: int
    train: BoostingData
    validation: BoostingData | None
    loss: Loss
    unit: float
    n_jobs: int | None

    @property
    def trial(self) -> TrainingData:
        """All training rows."""
        return self.data

    @property
    def start(self) -> np.ndarray:
        """The best constant raw scores."""
        return self.loss.start(self.train.y, self.train.weights)

    @property
    def has_validation(self) -> bool:
        """Whether there are validation rows."""
        return self.validation is not None

    @property
    def has_equal_weights(self) -> bool:
        """Whether all rows have weight 1."""
        return all(bool(np.all(rows.weights == 1)) for rows in (self.train, self.validation) if rows is not None)

    @property
    def total(self) -> float:
        """Mass of the training rows."""
        return float(self.data.weights.sum())

    def boost(
        self, widths: np.ndarray, rules: BoostingRules, result: Boosted, steps: Steps, snapshot: Snapshot
    ) -> None:
        """Add trees that grow node by node."""
        boost(
            self.train, self.data.bins, self.data.problem(widths).widths, self.loss, rules, self.seed,
            validation=self.validation, scored=np.flatnonzero(self.train.group < SCORED_ROWS),
            n_threads=effective_n_jobs(self.n_jobs), result=result, steps=steps, snapshot=snapshot,
        )  # fmt: skip
