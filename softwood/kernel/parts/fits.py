"""The rows of a fit in parts: trees grow by levels, from sums over the parts.

Settings are chosen on some rows of the sample, with trees that grow node by node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from softwood.core.losses import Loss
from softwood.core.steps import Steps
from softwood.core.targets import ClassTargets
from softwood.kernel.data.binning import merge_narrow_bins
from softwood.kernel.data.measurement_errors import Errors, take_errors
from softwood.kernel.data.preparation import TrainingData
from softwood.kernel.growing.bagging import Draws, draws_of, tree_seed
from softwood.kernel.growing.finishing import finish
from softwood.kernel.growing.loops.groups import NodeTable
from softwood.kernel.growing.problem import GrowthProblem, Limits
from softwood.kernel.parts.boosting import RoundsByLevels, Scales
from softwood.kernel.parts.coding import Coding, bin_points, code_rows
from softwood.kernel.parts.growing import grow_levels
from softwood.kernel.parts.numbers import exponent_for
from softwood.kernel.parts.rows import Reach, TreesSetup, begin_trees
from softwood.kernel.parts.searched import SearchedLevels
from softwood.kernel.parts.sources import Parts, Source
from softwood.kernel.parts.survey import Survey
from softwood.kernel.parts.targets import BoostedTargets, ClassNumbers, ScaledReals
from softwood.kernel.rounds.rounds import Boosted, BoostingData, BoostingRules, boost
from softwood.kernel.rows import SCORED_ROWS, Snapshot
from softwood.kernel.trend import HeldOutTrend
from softwood.trees.tree import SoftTree

# max_depth=None: trees end at this depth, because every level of a tree doubles the histograms to exchange.
MAX_DEPTH = 12
# Settings are chosen by held-out loss on at most this many rows of the sample.
TRIAL_ROWS = 20_000
# Trees of a forest that grow at once, unless their rows take more than this many bytes.
_BATCH, _BATCH_BYTES = 8, 1 << 29


@dataclass(frozen=True)
class _RowsInParts:
    """What both kinds share.

    Attributes
    ----------
    source : where the rows are read from;  found : what is known about them;  data : the sample
    """

    source: Source
    found: Survey
    data: TrainingData
    seed: int

    categories = None  # columns of many categories are refused

    @property
    def total(self) -> float:
        """Mass of all rows."""
        return self.found.total

    @cached_property
    def trial(self) -> TrainingData:
        """At most `TRIAL_ROWS` rows of the sample; these are in the order of their keys, which is a random one."""
        data = self.data
        if len(data.matrix) <= TRIAL_ROWS:
            return data
        rows = np.arange(TRIAL_ROWS)
        return replace(
            data, matrix=data.matrix[rows], targets=data.targets.take(rows), weights=data.weights[rows],
            bins=data.bins.take(rows), errors=take_errors(data.errors, rows),
        )  # fmt: skip


# ------------------------------------------------------------------ trees and forests


@dataclass(frozen=True)
class TreeRowsInParts(_RowsInParts):
    """Rows in parts; attributes as of `softwood.kernel.rows.TreeRowsInMemory`.

    Attributes
    ----------
    bin_errors : measurement errors of the values of the bins, see `bin_points`
    draw_rate : how often a row is drawn for a tree of a forest, on average; None: every row is taken once
    trend : that the trees grow beside; None if there is none
    """

    bin_errors: Errors
    draw_rate: float | None = None
    trend: HeldOutTrend | None = None

    is_sampled = True
    numbers = None

    @property
    def factors(self) -> np.ndarray | float:
        """Weights of the classes."""
        factors = self.found.weighting.factors
        return 1.0 if factors is None else factors

    def beside(self, trend: HeldOutTrend) -> TreeRowsInParts:
        """The rows with what the trend leaves of their targets."""
        return replace(self, data=trend.data(self.data), trend=trend)

    def problem(self, widths: np.ndarray) -> GrowthProblem:
        """The bins with these half-widths, without rows: its cells are those of bins."""
        none = np.empty(0, np.int64)
        of_bins = replace(self.data, matrix=bin_points(self.data.bins), errors=self.bin_errors)
        return replace(
            of_bins.problem(widths), targets=self.data.targets.take(none), weights=np.empty(0),
            bins=self.data.bins.without_rows(),
        )  # fmt: skip

    def grow_tree(self, problem: GrowthProblem, limits: Limits, steps: Steps) -> SoftTree:
        """Grow one tree, level by level."""
        growth = self._growth(problem, limits, 1.0)
        step = steps.begin()
        with self._coded(growth, has_keys=False) as parts:
            (nodes,) = growth.grow(parts, [self.seed], None)
        step.end(n_nodes=len(nodes.lines))
        return finish(problem, nodes)

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
        """Grow trees, some at a time, level by level; rows are drawn by their content and not by `draws`."""
        rate = self.draw_rate
        growth = self._growth(problem, limits, 2.0 if rate is None else 2.0 * max(1.0, rate))
        size = max(1, min(_BATCH, _BATCH_BYTES // (self.found.n_rows * 12)))
        with self._coded(growth, has_keys=rate is not None) as parts:
            for first in range(0, len(numbers), size):
                step = steps.begin()
                seeds = [tree_seed(self.seed, number) for number in numbers[first : first + size]]
                for k, table in enumerate(growth.grow(parts, seeds, rate)):
                    step = step if k == 0 else steps.begin()
                    grown.append(table)
                    step.end(lambda: snapshot(grown), n_leaves=int(np.count_nonzero(table.lines["feature"] < 0)))
                if steps.is_stopped:
                    break

    def _coded(self, growth: _Growth, *, has_keys: bool) -> Any:
        coding = Coding(
            growth.problem.bins, self.found.weighting, growth.targets, self.seed, has_keys=has_keys, trend=self.trend
        )  # fmt: skip
        return self.source.coded("code", code_rows, coding)

    def _growth(self, problem: GrowthProblem, limits: Limits, most_draws: float) -> _Growth:
        """Growth of trees; `most_draws` is an upper limit of the mean number of times that a row is drawn."""
        found, targets, trend = self.found, self.data.targets, self.trend
        p, q = len(problem.widths), problem.stored_outputs
        coded: Callable[[np.ndarray], np.ndarray]
        if isinstance(targets, ClassTargets):
            coded, size = ClassNumbers(len(targets.classes)), 1.0
        elif trend is not None and trend.is_class:
            coded, size = ClassNumbers(max(2, q), as_shares=True), 1.0
        else:
            coded = ScaledReals.of(found)
            ends = coded(np.stack([found.lowest[p:], found.highest[p:]]))
            size = float(np.abs(ends).max()) * (1.0 + 1e-9) + (0.0 if trend is None else trend.largest)
        n = int(most_draws * found.n_rows) + 100
        bounds = np.array([1.0, *[size] * q, max(size * size * q, 1e-300)]) * found.most
        exponents = tuple(exponent_for(float(bound), n) for bound in bounds)
        if isinstance(targets, ClassTargets) and q > 1 and targets.labels is not None:
            exponents = (exponents[0],) * (1 + q)
        is_soft = bool(np.any(problem.widths > 0)) or found.has_missing
        reach = Reach(problem.widths, problem.kernels, limits.cutoff, is_soft)
        return _Growth(problem, _with_depth(limits), reach, coded, exponents, found.total)


@dataclass(frozen=True)
class _Growth:
    """What trees are grown from: an empty problem, the limits, how targets are coded, and the scales of the sums."""

    problem: GrowthProblem
    limits: Limits
    reach: Reach
    targets: Callable[[np.ndarray], np.ndarray]
    exponents: tuple[int, ...]
    total: float

    def grow(self, parts: Parts, seeds: list[int], rate: float | None) -> list[NodeTable]:
        """Grow trees at once; `rate` as in `TreesSetup`, but a tree for which no row is drawn takes every row once."""
        setup = TreesSetup(self.reach, seeds, rate, self.exponents)
        parts.update("begin trees", begin_trees, setup, restart=True)
        units = np.ldexp(1.0, -np.array(self.exponents))
        trees = [SearchedLevels(self.problem, self.limits, units, self.total, seed) for seed in seeds]
        grow_levels(parts, trees)
        tables = [tree.finished() for tree in trees]
        for number, table in enumerate(tables):
            if rate is not None and table.lines["mass"][0] == 0:
                (tables[number],) = self.grow(parts, [seeds[number]], None)
        return tables


def _with_depth(limits: Any) -> Any:
    """Limits of a tree, or of one of boosting, with a depth."""
    return replace(limits, max_depth=MAX_DEPTH if limits.max_depth is None else limits.max_depth)


# ------------------------------------------------------------------ boosting


@dataclass(frozen=True)
class BoostingRowsInParts(_RowsInParts):
    """Rows in parts; attributes as of `softwood.kernel.rows.BoostingRowsInMemory`.

    Attributes
    ----------
    n_classes : number of classes; None for real targets
    validation : fraction of the rows that are validation rows
    """

    n_classes: int | None
    loss: Loss
    unit: float
    validation: float

    trend = None

    @property
    def spreads(self) -> np.ndarray:
        """Unit of bandwidths that are chosen, (p,)."""
        return self.trial.deviations

    @property
    def has_validation(self) -> bool:
        """Whether rows are set aside."""
        return self.validation > 0.0

    @property
    def has_equal_weights(self) -> bool:
        """Whether all rows have weight 1."""
        return self.found.most == 1.0 and self.found.total == self.found.n_rows

    @property
    def _targets(self) -> BoostedTargets:
        return BoostedTargets(self.n_classes, self.unit)

    @cached_property
    def train(self) -> BoostingData:
        """The rows of `trial`."""
        trial = self.trial
        learned = self._targets(self.found.sample.targets[: len(trial.matrix)])
        group = draws_of(trial.matrix, trial.targets, trial.weights, self.seed).group
        return BoostingData(trial.matrix, learned, trial.weights, group, trial.errors)

    @property
    def start(self) -> np.ndarray:
        """The best constant raw scores, from the means of the targets of all rows."""
        found, n_classes, p = self.found, self.n_classes, self.data.matrix.shape[1]
        if n_classes is None:
            return self.loss.start(np.array([found.means[p] / self.unit]), None)
        if found.masses is not None:
            classes = np.array([0.0, 1.0]) if n_classes == 2 else np.arange(n_classes)
            return self.loss.start(classes, found.masses)
        means = found.means[p:]
        return self.loss.start(means[1:2] if n_classes == 2 else means[None] / means.sum(), None)

    def boost(
        self, models: list[tuple[np.ndarray, BoostingRules]], result: Boosted, steps: Steps, snapshot: Snapshot
    ) -> None:
        """Add trees that grow level by level; there is one model."""
        ((widths, rules),) = models
        found, data, p = self.found, self.data, len(widths)
        widths = data.problem(widths).widths
        rules = replace(rules, limits=_with_depth(rules.limits))
        bins = data.bins if rules.decay < 1.0 else merge_narrow_bins(data.bins, widths, data.weights)
        coding = Coding(
            bins.without_rows(), found.weighting, self._targets, self.seed, self.validation,
            min(1.0, SCORED_ROWS / found.n_rows), rules.subsample < 1.0,
        )  # fmt: skip
        span = found.highest[p:] - found.lowest[p:] if self.n_classes is None else np.ones(1)
        largest = found.most * np.array([1.0, max(1.0, float(span.max()) / self.unit)])
        scales = Scales(found.n_rows, found.most, largest)
        with self.source.coded("code", code_rows, coding) as parts:
            rounds = RoundsByLevels(parts, coding.bins, widths, self.loss, rules, self.seed, scales, result)
            boost(rounds, steps, snapshot)
