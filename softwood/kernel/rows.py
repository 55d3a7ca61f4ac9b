"""The rows of a fit, prepared once: what settings are chosen on, and how trees grow from them.

An estimator has one fit, whatever its rows are: it reads and prepares them, chooses what is not given, grows, and
finishes the trees. Only preparing and growing differ between rows in memory, here, and rows in parts
(`softwood.kernel.parts.fits`), which have the same attributes and methods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from joblib import effective_n_jobs

from softwood.core.losses import Loss
from softwood.core.steps import Steps
from softwood.core.targets import RealTargets
from softwood.core.threads import Threads
from softwood.kernel.data.category_statistics import ManyCategories
from softwood.kernel.data.column_statistics import standard_deviations
from softwood.kernel.data.preparation import TrainingData
from softwood.kernel.growing.bagging import Draws, grow_trees
from softwood.kernel.growing.growing import grow_tree
from softwood.kernel.growing.loops.groups import NodeTable
from softwood.kernel.growing.problem import GrowthProblem, Limits
from softwood.kernel.rounds.members import RoundsOfMembers, member_seed
from softwood.kernel.rounds.rounds import Boosted, BoostingData, BoostingRules, Rounds, boost
from softwood.kernel.trend import HeldOutTrend, Size, Trend, held_out_trend
from softwood.trees.tree import SoftTree
from softwood.uncertainty.held_out import HeldOut

if TYPE_CHECKING:
    from softwood.kernel.parts.fits import BoostingRowsInParts, TreeRowsInParts

# The training loss of boosting is computed on at most this many different rows, drawn by content.
SCORED_ROWS = 20_000
# A trend is fitted to at most this many different rows, drawn by content, and has at most so many columns.
TREND_ROWS, TREND_SIZE = 20_000, Size(30, 0.001)

# Attributes of an estimator fitted so far
Snapshot = Callable[..., dict[str, Any]]
TreeRows: TypeAlias = "TreeRowsInMemory | TreeRowsInParts"
BoostingRows: TypeAlias = "BoostingRowsInMemory | BoostingRowsInParts"


@dataclass(frozen=True)
class TreeRowsInMemory:
    """The rows that a tree or a forest is fitted to.

    Attributes
    ----------
    data : the rows; of rows in parts a sample, from which bins and rules for bandwidths are computed
    seed : of all random choices
    numbers : numbers of these rows in the user's table; None if they are not known
    factors : weights of the classes, for each row or for each class; 1.0 if there are none
    categories : how columns of many categories are encoded; None if there are none
    is_sampled : whether trees grow from other rows than those of `trial`
    """

    data: TrainingData
    seed: int
    numbers: np.ndarray | None
    factors: np.ndarray | float
    n_jobs: int | None
    categories: ManyCategories | None = None

    is_sampled = False

    @property
    def trial(self) -> TrainingData:
        """Rows for choosing settings by held-out loss."""
        return self.data

    @property
    def total(self) -> float:
        """Mass of all rows."""
        return float(self.data.weights.sum())

    @property
    def counts(self) -> np.ndarray:
        """Weights of the rows without those of their classes, 0 for rows of classes without weight, (n,)."""
        weights = self.data.weights
        return np.divide(weights, self.factors, out=np.zeros_like(weights), where=np.asarray(self.factors) > 0)

    def beside(self, trend: HeldOutTrend) -> TreeRowsInMemory:
        """The rows with what the trend leaves of their targets."""
        return replace(self, data=trend.data(self.data))

    def problem(self, widths: np.ndarray) -> GrowthProblem:
        """What trees with these half-widths (p,) are grown from and finished with."""
        return self.data.problem(widths)

    def grow_tree(self, problem: GrowthProblem, limits: Limits, steps: Steps) -> SoftTree:
        """Grow one tree from all rows."""
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
        """Grow the trees of a forest with these numbers, and append them to `grown`."""
        grow_trees(
            problem, limits, draws, self.seed, numbers, n_jobs=self.n_jobs, grown=grown, steps=steps, snapshot=snapshot
        )


@dataclass(frozen=True)
class BoostingRowsInMemory:
    """The rows that boosting is fitted to.

    Attributes
    ----------
    data, seed : as of `TreeRowsInMemory`
    train : the rows of `trial` with their targets as the loss takes them
    validation : validation rows; None if there are none
    unit : losses and gains are those of the targets divided by this number
    categories : how columns of many categories are encoded in all these rows; None if there are none
    validation_matrix : the validation rows without statistics of categories
    class_factors : weights of the classes; None if there are none
    trend : linear trend of the raw scores in the user's units; None if none was fitted
    """

    data: TrainingData
    seed: int
    train: BoostingData
    validation: BoostingData | None
    loss: Loss
    unit: float
    n_jobs: int | None
    categories: ManyCategories | None = None
    validation_matrix: np.ndarray | None = None
    class_factors: np.ndarray | None = None
    trend: Trend | None = None

    @property
    def trial(self) -> TrainingData:
        """Rows for choosing settings by held-out loss."""
        return self.data

    def beside_trend(self, is_candidate: np.ndarray) -> BoostingRowsInMemory:
        """The rows with a linear trend of some columns, (p,) bool, if it explains anything of held-out rows."""
        data, targets = self.data, self.data.targets
        drawn = np.flatnonzero(self.train.group < TREND_ROWS)
        if len(drawn) < len(data.matrix):
            data = replace(data, matrix=data.matrix[drawn], targets=targets.take(drawn), weights=data.weights[drawn])
        found = held_out_trend(data, is_candidate, self.seed, TREND_SIZE)
        if found is None:
            return self
        found = found.scaled(targets.mean, targets.scale) if isinstance(targets, RealTargets) else found
        train = replace(self.train, trend=found.predict(self.train.matrix) / self.unit)
        validation = self.validation
        if validation is not None:
            validation = replace(validation, trend=found.trend.predict(validation.matrix) / self.unit)
        return replace(self, train=train, validation=validation, trend=found.trend)

    def with_predictions(self, matrix: np.ndarray, raw: np.ndarray, rows: BoostingData) -> HeldOut | None:
        """Held-out rows with their raw scores; `matrix` are the rows without statistics of categories."""
        raw = self.loss.out_of_unit(raw, raw, self.unit)[0]
        truth, weights = rows.y, rows.weights
        if self.data.targets.is_class:
            if truth.ndim == 1:
                is_pair = self.loss.n_scores == 1  # the share of the second class
                truth = np.stack([1.0 - truth, truth], 1) if is_pair else np.eye(self.loss.n_scores)[truth]
            if self.class_factors is not None:
                factors = self.class_factors[truth.argmax(axis=1)]
                weights = np.divide(weights, factors, out=np.zeros_like(weights), where=factors > 0)
        else:
            truth = (truth * self.unit).reshape(-1, 1)
        return HeldOut.of(matrix, self.loss.predict(raw).reshape(len(raw), -1), truth, weights)

    @cached_property
    def spreads(self) -> np.ndarray:
        """Unit of bandwidths that are chosen, (p,): standard deviations, those of statistics of categories, too."""
        if self.categories is None:
            return self.data.deviations
        spreads = standard_deviations(self.train.matrix, self.train.weights)
        return np.where(self.categories.is_many, spreads, self.data.deviations)

    @property
    def total(self) -> float:
        """Mass of the training rows."""
        return float(self.data.weights.sum())

    @property
    def start(self) -> np.ndarray:
        """The best constant raw scores, (n_scores,)."""
        return self.loss.start(self.train.y, self.train.weights)

    @property
    def has_validation(self) -> bool:
        """Whether there are validation rows."""
        return self.validation is not None

    @property
    def has_equal_weights(self) -> bool:
        """Whether all rows, validation rows too, have weight 1."""
        return all(bool(np.all(rows.weights == 1)) for rows in (self.train, self.validation) if rows is not None)

    def boost(
        self, models: list[tuple[np.ndarray, BoostingRules]], result: Boosted, steps: Steps, snapshot: Snapshot
    ) -> None:
        """Add trees to `result`, round by round; models : half-widths (p,) in the first round, and rules of each."""
        scored = np.flatnonzero(self.train.group < SCORED_ROWS)
        with Threads(effective_n_jobs(self.n_jobs)) as threads:
            members = [
                Rounds(
                    self.train, self.data.bins, widths, self.loss, rules, member_seed(self.seed, number), threads,
                    result if len(models) == 1 else Boosted(result.base),
                    validation=self.validation, scored=scored,
                )
                for number, (widths, rules) in enumerate(models)
            ]  # fmt: skip
            boost(members[0] if len(models) == 1 else RoundsOfMembers(members, result), steps, snapshot)
