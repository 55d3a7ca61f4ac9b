"""Growth by levels: fits of the estimators, from rows in parts to trees.

`fit_boosting`, `fit_tree` and `fit_forest` work on an estimator that has read its columns and classes, and on a
`Source` of rows: the memory of this process, or a cluster. They set the estimator's fitted attributes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from softwood.core.losses import Loss, unit_of
from softwood.core.parameters import parameter_error
from softwood.core.steps import Steps
from softwood.core.targets import ClassTargets, RealTargets, scale_of
from softwood.kernel.choosing.bandwidth import choose_by_auto
from softwood.kernel.choosing.forest_bandwidth import ForestChoice
from softwood.kernel.data.binning import merge_narrow_bins
from softwood.kernel.data.kernels import resolve_kernels
from softwood.kernel.data.preparation import TrainingData
from softwood.kernel.growing.bagging import assemble, draws_of, tree_seed
from softwood.kernel.growing.finishing import finish
from softwood.kernel.growing.loops.groups import NodeTable
from softwood.kernel.growing.problem import GrowthProblem, Limits
from softwood.kernel.parts.boosting import Scales, boost_by_levels
from softwood.kernel.parts.growing import Parts, grow_levels
from softwood.kernel.parts.numbers import exponent_for
from softwood.kernel.parts.preparation import (
    Coding,
    Source,
    Survey,
    bins_of,
    code_rows,
    sample_data,
    survey,
)
from softwood.kernel.parts.rows import Reach, TreesSetup, begin_trees
from softwood.kernel.parts.searched import SearchedLevels
from softwood.kernel.parts.targets import BoostedTargets, ClassNumbers, ScaledReals
from softwood.kernel.rounds.rounds import Boosted, BoostingData
from softwood.trees.pruning import prune_cost_complexity

__all__ = ["fit_boosting", "fit_forest", "fit_tree"]

# max_depth=None: trees end at this depth, for every level of a tree doubles the histograms to exchange.
MAX_DEPTH = 12
# The bandwidth is chosen by held-out loss on at most this many rows of the sample.
AUTO_ROWS = 20_000
# Trees of a forest that grow at once, unless their rows take more than this many bytes.
_BATCH, _BATCH_BYTES = 8, 1 << 29
# As in `softwood.kernel.boosting_base`.
STOP_FROM, SCORED_ROWS = 10_000, 20_000


@dataclass(frozen=True)
class _Prepared:
    """What all fits begin with.

    Attributes
    ----------
    found : what is known about the rows;  data : the sample as training data
    factors : weights of the classes; None: 1
    """

    seed: int
    found: Survey
    data: TrainingData
    factors: np.ndarray | None


def _prepare(estimator: Any, source: Source, criterion: str) -> _Prepared:
    """Go through the rows, and bin the sample."""
    seed = int(check_random_state(estimator.random_state).randint(np.iinfo(np.int32).max))
    classes = getattr(estimator, "classes_", None)
    kernels = resolve_kernels(estimator, "kernel", estimator.kernel, estimator.columns_)
    if any(kernel.scale for kernel in kernels[0]):
        raise parameter_error(estimator, "kernel", "of the same width everywhere with growth='level'", estimator.kernel)

    def factors_of(masses: np.ndarray) -> np.ndarray | None:
        assert classes is not None
        numbers = np.arange(len(masses), dtype=np.int32)
        factors = estimator._class_weights(ClassTargets(classes, numbers, None), masses)
        if isinstance(factors, float):
            return None
        if not np.any(factors * masses):
            raise ValueError("class_weight is zero for all classes of y.")
        return factors

    found = survey(source, seed, None if classes is None else len(classes), factors_of)
    if classes is not None and found.masses is None and estimator.class_weight is not None:
        estimator._class_weights(ClassTargets(classes, None, np.empty((0, len(classes)))), np.empty(0))
    targets = _sample_targets(found, classes, getattr(estimator, "_is_flat_", True))
    bins = bins_of(found, estimator.max_bins, estimator.n_jobs)
    data = sample_data(found, bins, targets, estimator.columns_, kernels, criterion)
    estimator._make_reading(np.zeros(len(data.deviations)), data)  # what is wrong with its parameters is told early
    return _Prepared(seed, found, data, found.weighting.factors)


def _sample_targets(found: Survey, classes: np.ndarray | None, is_flat: bool) -> ClassTargets | RealTargets:
    given = found.sample.targets
    if classes is not None:
        is_labels = given.dtype.kind == "i"
        return ClassTargets(classes, given if is_labels else None, None if is_labels else given)
    scaled = _scaled_reals(found)
    return RealTargets(scaled(given), scaled.mean, scaled.scale, is_flat)


def _scaled_reals(found: Survey) -> ScaledReals:
    p = found.sample.matrix.shape[1]
    largest = float(np.abs([found.lowest[p:], found.highest[p:]]).max()) or 1.0
    size = float(np.sqrt(((found.deviations[p:] / largest) ** 2).sum()))
    ends = np.stack([found.lowest[p:], found.highest[p:]]) / largest - found.means[p:] / largest
    return ScaledReals(found.means[p:], largest, scale_of(size, float(np.abs(ends).max())) * largest)


def _small(data: TrainingData) -> TrainingData:
    """At most `AUTO_ROWS` rows of the sample; rows are in the order of their keys, which is a random one."""
    if len(data.matrix) <= AUTO_ROWS:
        return data
    rows = np.arange(AUTO_ROWS)
    return replace(
        data, matrix=data.matrix[rows], targets=data.targets.take(rows), weights=data.weights[rows],
        bins=data.bins.take(rows),
    )  # fmt: skip


def _depth(limit: int | None) -> int:
    return MAX_DEPTH if limit is None else limit


# ------------------------------------------------------------------ boosting


def fit_boosting(estimator: Any, fit: Any, source: Source, rules: Any) -> None:
    """Fit a boosting estimator; `rules` as it has checked them."""
    prepared = _prepare(estimator, source, "squared_error")
    seed, found, data = prepared.seed, prepared.found, prepared.data
    p = data.matrix.shape[1]
    classes = getattr(estimator, "classes_", None)
    unit = 1.0
    if classes is None:
        if len(found.lowest) > p + 1:
            raise ValueError(f"y must be one column of targets for boosting, got {len(found.lowest) - p}.")
        extremes = np.array([found.lowest[p], found.highest[p]])
        unit = unit_of(extremes)
        loss, _ = estimator._loss_and_targets(RealTargets(extremes[:, None], np.zeros(1), 1.0, True), extremes, [0, 1])
        loss.check_targets(extremes)
    else:
        numbers = np.arange(len(classes), dtype=np.int32)
        loss, _ = estimator._loss_and_targets(ClassTargets(classes, numbers, None), None, numbers)
    coded = BoostedTargets(None if classes is None else len(classes), unit)
    validation = _validation(estimator, found.n_rows)
    stages = fit.stages()
    rules = replace(
        estimator._rules_for(rules, data, loss), n_iter_no_change=rules.n_iter_no_change if validation else None
    )
    rules, widths = _chosen(estimator, data, coded, found, loss, rules, seed, stages)
    limits = replace(rules.limits, max_depth=_depth(rules.limits.max_depth))
    rules = replace(rules, limits=replace(limits, min_mass=_least_mass(rules.limits.min_mass, found)))
    estimator.bandwidths_, estimator._loss_ = widths, loss
    estimator._reading_ = estimator._make_reading(widths, data)
    result = Boosted(_start(loss, found, classes, unit, p))

    def results() -> dict[str, Any]:
        return {"history_": list(stages.history), **estimator._results(result, rules, data, unit)}

    bins = data.bins if rules.decay < 1.0 else merge_narrow_bins(data.bins, widths, data.weights)
    coding = Coding(
        bins.without_rows(), found.weighting, coded, seed, validation,
        min(1.0, SCORED_ROWS / found.n_rows), rules.subsample < 1.0,
    )  # fmt: skip
    span = found.highest[p:] - found.lowest[p:] if classes is None else np.ones(1)
    scales = Scales(found.n_rows, found.most, found.most * np.array([1.0, max(1.0, float(span.max()) / unit)]))
    try:
        with (
            source.coded("code", code_rows, coding) as parts,
            stages.stage("boost", "round", rules.n_rounds) as steps,
        ):
            boost_by_levels(
                parts, coding.bins, widths, loss, rules, seed, scales, result=result, steps=steps, snapshot=results
            )
    except KeyboardInterrupt:
        if result.n_rounds:
            estimator.__dict__.update(results())
        raise
    estimator.__dict__.update(results())


def _least_mass(min_mass: float, found: Survey) -> float:
    return max(min_mass, 1e-9, 1e-12 * found.total)


def _validation(estimator: Any, n_rows: int) -> float:
    """Fraction of the rows that are validation rows."""
    stops = estimator.early_stopping
    if isinstance(stops, str):  # "auto"; the rounds of a table that is its own sample are counted on it
        stops = n_rows > (AUTO_ROWS if isinstance(estimator.max_iter, str) else STOP_FROM)
    return float(estimator.validation_fraction) if stops else 0.0


def _start(loss: Loss, found: Survey, classes: np.ndarray | None, unit: float, p: int) -> np.ndarray:
    """Start value of the raw scores, from the means of the targets."""
    if classes is None:
        return loss.start(np.array([found.means[p] / unit]), None)
    if found.masses is not None:
        if len(classes) == 2:
            return loss.start(np.array([0.0, 1.0]), found.masses)
        return loss.start(np.arange(len(classes)), found.masses)
    means = found.means[p:]
    return loss.start(means[1:2] if len(classes) == 2 else means[None] / means.sum(), None)


def _chosen(
    estimator: Any, data: TrainingData, coded: Any, found: Survey, loss: Loss, rules: Any, seed: int, stages: Steps
) -> tuple[Any, np.ndarray]:
    """Rules and half-widths with everything that is "auto" chosen on some rows of the sample, by trees of nodes."""
    small = _small(data)
    learned = coded(found.sample.targets[: len(small.matrix)])
    group = draws_of(small.matrix, small.targets, small.weights, seed).group
    train = BoostingData(small.matrix, learned, small.weights, group)
    rules = estimator._with_l2(rules, loss, train)
    return estimator._searched(train, small, loss, rules, seed, estimator._given_widths(data), stages)


# ------------------------------------------------------------------ trees and forests


@dataclass(frozen=True)
class _Growth:
    """What trees are grown from: an empty problem, the limits, and the scales of the sums."""

    problem: GrowthProblem
    limits: Limits
    reach: Reach
    exponents: tuple[int, ...]
    units: np.ndarray
    total: float

    def grow(self, parts: Parts, seeds: list[int], rate: float | None) -> list[NodeTable]:
        """Grow trees at once; `rate` as in `TreesSetup`, but a tree for which no row is drawn takes every row once."""
        setup = TreesSetup(self.reach, seeds, rate, self.exponents)
        parts.update("begin trees", begin_trees, setup, anew=True)
        trees = [SearchedLevels(self.problem, self.limits, self.units, self.total, seed) for seed in seeds]
        grow_levels(parts, trees)
        tables = [tree.finished() for tree in trees]
        for number, table in enumerate(tables):
            if rate is not None and table.lines["mass"][0] == 0:
                (tables[number],) = self.grow(parts, [seeds[number]], None)
        return tables


def _growth(prepared: _Prepared, widths: np.ndarray, limits: Limits, most_draws: float) -> tuple[_Growth, Any]:
    """The growth of trees with these half-widths, and the function that codes targets."""
    found, data = prepared.found, prepared.data
    problem = data.problem(widths)
    p, q = len(widths), problem.stored_outputs
    coded: Any
    if isinstance(data.targets, ClassTargets):
        coded = ClassNumbers(len(data.targets.classes))
        size = 1.0
    else:
        coded = _scaled_reals(found)
        ends = coded(np.stack([found.lowest[p:], found.highest[p:]]))
        size = float(np.abs(ends).max()) * (1.0 + 1e-9)
    problem = replace(
        problem, targets=data.targets.take(np.empty(0, np.int64)), weights=np.empty(0),
        bins=data.bins.without_rows(),
    )  # fmt: skip
    n = int(most_draws * found.n_rows) + 100
    bounds = np.array([1.0, *[size] * q, max(size * size * q, 1e-300)]) * found.most
    exponents = tuple(exponent_for(float(bound), n) for bound in bounds)
    if isinstance(data.targets, ClassTargets) and q > 1 and data.targets.labels is not None:
        exponents = (exponents[0],) * (1 + q)
    is_soft = bool(np.any(widths > 0)) or found.has_missing
    reach = Reach(problem.widths, problem.kernels, limits.cutoff, is_soft)
    limits = replace(limits, max_depth=_depth(limits.max_depth), min_mass=_least_mass(limits.min_mass, found))
    units = np.ldexp(1.0, -np.array(exponents))
    return _Growth(problem, limits, reach, exponents, units, found.total), coded


def _coding(prepared: _Prepared, growth: _Growth, coded: Any, *, has_keys: bool) -> Coding:
    return Coding(growth.problem.bins, prepared.found.weighting, coded, prepared.seed, has_keys=has_keys)


def fit_tree(estimator: Any, fit: Any, source: Source, limits: Limits) -> None:
    """Fit a kernel tree; `limits` as it has checked them."""
    prepared = _prepare(estimator, source, estimator.criterion)
    data, seed, factors = prepared.data, prepared.seed, prepared.factors
    p = data.matrix.shape[1]
    if factors is not None:  # a small share of a row of a heavy class may outweigh a whole row of a light one
        light = np.min(factors, where=factors > 0, initial=np.inf)
        limits = replace(limits, cutoff=limits.cutoff * min(1.0, float(light / factors.max())))
    limits = replace(limits, n_draw=estimator._n_draw(p))
    stages = fit.stages()
    widths = estimator._given_widths(data)
    if widths is None:
        with stages.stage("choose", "trial") as steps:
            least = replace(limits, min_mass=_least_mass(limits.min_mass, prepared.found))
            crisp = estimator.prediction_kernel is None
            estimator.bandwidth_ = choose_by_auto(_small(data), least, seed, steps, crisp=crisp)
        widths = estimator.bandwidth_ * data.deviations
    growth, coded = _growth(prepared, widths, limits, 1.0)
    with (
        source.coded("code", code_rows, _coding(prepared, growth, coded, has_keys=False)) as parts,
        stages.stage("grow", "tree", 1) as steps,
    ):
        step = steps.begin()
        (nodes,) = growth.grow(parts, [seed], None)
        step.end(n_nodes=len(nodes.lines))
    tree = finish(growth.problem, growth.limits, nodes)
    if estimator.ccp_alpha > 0:
        tree = prune_cost_complexity(tree, estimator.ccp_alpha)
    tree = estimator._simplify(tree)
    estimator.bandwidths_ = widths
    estimator._reading_ = estimator._make_reading(widths, data)
    estimator.tree_ = estimator._reading_.of(tree, {})


def fit_forest(estimator: Any, fit: Any, source: Source, limits: Limits) -> None:
    """Fit a forest; `limits` as it has checked them."""
    prepared = _prepare(estimator, source, estimator.criterion)
    data, found = prepared.data, prepared.found
    seed = estimator._seed_ = prepared.seed
    limits = replace(
        limits, n_draw=estimator._n_draw(data.matrix.shape[1]), random_thresholds=estimator._random_thresholds
    )
    rate = _draw_rate(estimator, found) if estimator.bootstrap else None
    stages = fit.stages()
    widths = estimator._given_widths(data)
    if widths is None:
        widths = _choose_for_forest(estimator, prepared, limits, stages)
    growth, coded = _growth(prepared, widths, limits, 2.0 if rate is None else 2.0 * max(1.0, rate))
    estimator.bandwidths_, estimator._reading_ = widths, estimator._make_reading(widths, data)
    tables: list[NodeTable] = []

    def forest_of(grown: list[NodeTable]) -> dict[str, Any]:
        forest = assemble(growth.problem, growth.limits, grown, estimator.ccp_alpha, n_jobs=estimator.n_jobs)
        return {"_grown_": None, "forest_": estimator._reading_.of(forest, {})}

    seeds = [tree_seed(seed, number) for number in range(estimator.n_estimators)]
    size = max(1, min(_BATCH, _BATCH_BYTES // (found.n_rows * 12)))
    try:
        with (
            source.coded("code", code_rows, _coding(prepared, growth, coded, has_keys=rate is not None)) as parts,
            stages.stage("grow", "tree", len(seeds)) as steps,
        ):
            for first in range(0, len(seeds), size):
                step = steps.begin()
                for number, table in enumerate(growth.grow(parts, seeds[first : first + size], rate)):
                    step = step if number == 0 else steps.begin()
                    tables.append(table)
                    step.end(lambda: forest_of(tables), n_leaves=int(np.count_nonzero(table.lines["feature"] < 0)))
                if steps.is_stopped:
                    break
    except KeyboardInterrupt:
        if tables:
            estimator.__dict__.update(forest_of(tables))
        raise
    estimator.__dict__.update(forest_of(tables))


def _draw_rate(estimator: Any, found: Survey) -> float:
    """Mean number of times that a row is drawn for a tree."""
    wanted = estimator.max_samples
    if wanted is None:
        return 1.0
    return estimator._n_draws(np.array([float(found.n_rows)])) / found.n_rows


def _choose_for_forest(estimator: Any, prepared: _Prepared, limits: Limits, stages: Steps) -> np.ndarray:
    """Half-widths by held-out loss on some rows of the sample, with trees that grow node by node."""
    small = _small(prepared.data)
    limits = replace(limits, min_mass=_least_mass(limits.min_mass, prepared.found))
    draws = draws_of(small.matrix, small.targets, small.weights, prepared.seed)
    if estimator.bootstrap:
        draws = replace(draws, n_draws=len(small.matrix))
    with stages.stage("choose bandwidth", "trial") as steps:
        choice = ForestChoice(
            small, limits, draws, prepared.seed, estimator.n_estimators, estimator.ccp_alpha,
            estimator.prediction_kernel is None, estimator.n_jobs, steps,
        )  # fmt: skip
        estimator.bandwidth_, _ = choice.by_auto()
    return estimator.bandwidth_ * prepared.data.deviations
