"""The rounds of gradient boosting: gradients of a loss, a tree for each raw score, early stopping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import softwood.compiled.boosting as loop
from softwood.core.losses import Loss
from softwood.core.steps import Best, Steps
from softwood.core.threads import Threads
from softwood.kernel.data.binning import Bins, merge_narrow_bins
from softwood.kernel.data.cell_bins import bin_cells
from softwood.kernel.data.kernels import box
from softwood.kernel.data.measurement_errors import Errors, combine_widths, take_errors
from softwood.kernel.prediction import PredictionKernels
from softwood.kernel.rounds.finishing import boosted_tree
from softwood.kernel.rounds.held_out import HeldOutRows
from softwood.kernel.rounds.leaves import refit_leaves, take_step
from softwood.kernel.rounds.loops.boost_scores import BY_GRADIENT, BY_NUMBER, DRAWN
from softwood.kernel.rounds.newton import BinnedRows, Boxes, NewtonGrower, NewtonLimits, NewtonTree
from softwood.kernel.rounds.vectors import draw_direction, with_vectors
from softwood.trees.tree import SoftTree

if TYPE_CHECKING:
    from softwood.kernel.parts.boosting import RoundsByLevels
    from softwood.kernel.rounds.members import RoundsOfMembers

# Scores whose gradients or losses are computed at once: few enough for the cache.
_BLOCK = 1 << 16
# So many rounds with one tree for all raw scores are compared with one round with a tree for each.
PACE = 3
# Orders of categories from round to round, and how many orders can be drawn.
_ORDERS = {"sets": (BY_GRADIENT,), "mixed": (BY_GRADIENT, DRAWN), "codes": (BY_NUMBER,)}
_MOST_DRAWN = 1 << 30
# Bytes of the histograms of all growers: with many features, fewer trees are grown at once.
_MOST_BYTES = 1 << 30


@dataclass(frozen=True)
class BoostingData:
    """Training rows or validation rows.

    Attributes
    ----------
    matrix : (n, p) encoded rows;  y : targets as the loss takes them;  weights : (n,)
    group : (n,) rows with the same content have the same number, for draws by content
    errors : measurement errors
    trend : (n, n_scores) raw scores of a linear trend that has not seen the row; None if there is none
    """

    matrix: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    group: np.ndarray
    errors: Errors = field(default_factory=dict)
    trend: np.ndarray | None = None

    def take(self, chosen: np.ndarray) -> BoostingData:
        """The chosen rows, with their groups numbered without gaps."""
        group = np.unique(self.group[chosen], return_inverse=True)[1]
        errors = take_errors(self.errors, chosen)
        trend = None if self.trend is None else self.trend[chosen]
        return BoostingData(self.matrix[chosen], self.y[chosen], self.weights[chosen], group, errors, trend)


@dataclass(frozen=True)
class TreePrediction:
    """How new trees predict, if the prediction kernels differ from those that trees are grown with.

    Attributes
    ----------
    errors : measurement errors that trees are finished with
    is_as_wide : whether the kernels are as wide as those that trees are grown with
    """

    kernels: PredictionKernels
    errors: Errors
    is_as_wide: bool

    @classmethod
    def of(cls, kernels: PredictionKernels, errors: Errors, prediction_bandwidth: Any) -> TreePrediction | None:
        """None if trees predict as they are grown."""
        if kernels.is_as_grown:
            return None
        is_same = isinstance(prediction_bandwidth, str) and prediction_bandwidth == "same"
        return cls(kernels, errors, is_same and not kernels.is_crisp)

    def at(self, widths: np.ndarray) -> TreePrediction:
        """Of trees that are grown with these half-widths (p,)."""
        return replace(self, kernels=replace(self.kernels, widths=widths)) if self.is_as_wide else self

    @property
    def differs_by_cells_only(self) -> bool:
        """Whether trees predict with the boxes that they are grown with, but for half-widths of single cells."""
        return (
            self.is_as_wide and not self.kernels.kinds.any() and all(own.scale is None for own in self.kernels.kernels)
        )

    def cells(self, rows: BoostingData | None) -> np.ndarray | None:
        """Half-widths of single cells of the rows, if there are any."""
        return None if rows is None or self.kernels.is_crisp else self.kernels.cells(rows.errors, rows.matrix)

    def finish(self, tree: NewtonTree) -> SoftTree:
        """The tree as it predicts."""
        return self.kernels.of(boosted_tree(tree), self.errors)


@dataclass(frozen=True)
class BoostingRules:
    """How boosting goes on from round to round.

    Attributes
    ----------
    categories : how the categories of a column are ordered, of which the search compares the beginnings: "sets" by
        gradient, "mixed" by gradient or at random in turn, "codes" by number
    by_statistic : (p,) columns of statistics of categories: trees grow with kernels on them, and predict without,
        because finished trees have sets; None if there are none
    decay : factor on the bandwidth after each round
    crisp_every : one round in so many has a bandwidth of 0; 0: none
    subsample : fraction of the rows for each round;  n_features : number of features drawn for each tree
    one_tree : whether a round has one tree for all raw scores, with a vector of values in every leaf
    n_iter_no_change, tol : stop after this many rounds in a row in which the validation loss falls by no more than
        `tol`; None: never
    score : function of validation rows and their raw scores, larger is better, that replaces the loss of these rows
    prediction : None if trees predict as they are grown
    has_trend : whether the trees are added to the trend of the rows, not to a constant
    n_models : number of models whose mean is the result; 1 if nothing is drawn, because all would be the same
    """

    learning_rate: float
    n_rounds: int
    limits: NewtonLimits
    categories: str = "sets"
    by_statistic: np.ndarray | None = None
    decay: float = 1.0
    crisp_every: int = 0
    subsample: float = 1.0
    n_features: int | None = None
    one_tree: bool = False
    n_iter_no_change: int | None = None
    tol: float = 0.0
    score: Callable[[BoostingData, np.ndarray], float] | None = None
    prediction: TreePrediction | None = None
    has_trend: bool = False
    n_models: int = 1

    @property
    def pace(self) -> int:
        """How many times the rounds of a model with a tree for each raw score are needed."""
        return PACE if self.one_tree else 1

    def category_order(self, seed: int, number: int) -> int:
        """The order of categories in the trees of a round."""
        orders = _ORDERS[self.categories]
        order = orders[number % len(orders)]
        return DRAWN + (seed + number) % _MOST_DRAWN if order == DRAWN else order

    def at(self, widths: np.ndarray) -> BoostingRules:
        """The rules of trees that are grown with these half-widths (p,)."""
        return self if self.prediction is None else replace(self, prediction=self.prediction.at(self.finished(widths)))

    def finished(self, widths: np.ndarray) -> np.ndarray:
        """Half-widths of finished trees that are grown with these."""
        return widths if self.by_statistic is None else np.where(self.by_statistic, 0.0, widths)


@dataclass
class Boosted:
    """The rounds so far.

    Attributes
    ----------
    base : (n_scores,) start value
    trees, output : the trees in their order, and the first raw score that each adds to
    n_models : number of models whose mean is the result; the trees of a round are side by side
    train_losses, validation_losses : loss, or negative score, before the first round and after each round; empty if
        there are no such rows
    """

    base: np.ndarray
    trees: list[NewtonTree] = field(default_factory=list)
    output: list[int] = field(default_factory=list)
    n_models: int = 1
    train_losses: list[float] = field(default_factory=list)
    validation_losses: list[float] = field(default_factory=list)

    @property
    def per_round(self) -> int:
        """Number of trees of a round, in all models."""
        return self.n_models * (1 if self.trees and self.trees[0].vectors is not None else len(self.base))

    @property
    def n_rounds(self) -> int:
        """Number of complete rounds."""
        return len(self.trees) // self.per_round

    @property
    def best_round(self) -> int:
        """Number of rounds with the smallest validation loss, the fewest of several such; all without such losses."""
        return int(np.argmin(self.validation_losses[: self.n_rounds + 1])) if self.validation_losses else self.n_rounds


def boost(
    rounds: Rounds | RoundsOfMembers | RoundsByLevels, steps: Steps, snapshot: Callable[[], dict[str, Any]]
) -> None:
    """Add trees round by round, until the validation loss has stopped falling.

    Parameters
    ----------
    rounds : of rows in memory, or of rows in parts
    steps : where each round is reported
    snapshot : returns the attributes of an estimator fitted so far
    """
    rounds.begin()
    for step in steps:
        step.end(snapshot, **rounds.run())
        if rounds.best.is_stalled:
            break


class Rounds:
    """The raw scores, and what else changes from round to round.

    Parameters
    ----------
    widths : (p,) half-widths of the kernels in the first round, before measurement errors
    result : where the rounds are stored, so that they are kept after an interrupt
    validation : validation rows
    scored : training rows whose loss is computed after each round; None: none
    """

    def __init__(
        self,
        data: BoostingData,
        bins: Bins,
        widths: np.ndarray,
        loss: Loss,
        rules: BoostingRules,
        seed: int,
        threads: Threads,
        result: Boosted,
        *,
        validation: BoostingData | None = None,
        scored: np.ndarray | None = None,
    ) -> None:
        self.reach: np.ndarray | None = None  # half-widths of the bins, if those of cells differ
        widths, cells = combine_widths(widths, [box()] * len(widths), data.errors, data.matrix)
        if rules.decay == 1.0 and rules.crisp_every == 0:  # otherwise, the kernels of some rounds are narrower
            bins = merge_narrow_bins(bins, widths, data.weights)
        if cells is not None:
            bins, self.reach = bin_cells(bins, widths, cells, data.weights)
        self.data, self.bins, self.loss, self.rules, self.result = data, bins, loss, rules, result
        self.widths, self.seed, self.threads, self.validation = widths, seed, threads, validation
        n, n_scores = len(data.matrix), loss.n_scores
        order: Literal["C", "F"] = "C" if rules.one_tree else "F"  # a tree adds to rows, or to one column
        self.n_trees = 1 if rules.one_tree else n_scores
        self.raw = self._start(data)
        self.updated = self.raw if self.n_trees == 1 else self.raw.copy(order)
        self.raw_validation = None if validation is None else self._start(validation)
        self.gradient, self.hessian = (np.empty((n, n_scores), order=order) for _ in range(2))
        self.all_features, self.n_groups = np.arange(data.matrix.shape[1]), int(data.group.max()) + 1
        self.growers: list[NewtonGrower] = []
        self.kernels: Boxes | None = None
        self.cells: list[np.ndarray | None] = []  # half-widths of training and validation rows that trees predict with
        self.crisp: Boxes | None = None
        self.scored = None
        if scored is not None:
            is_all = len(scored) == n  # a slice makes no copy
            self.scored = slice(None) if is_all else scored
            self.scored_y, self.scored_weights = data.y[self.scored], data.weights[self.scored]
        self.best: Best[int] = Best(rules.n_iter_no_change, rules.tol)

    def _start(self, rows: BoostingData) -> np.ndarray:
        """Raw scores of rows before the first round, (n, n_scores)."""
        start = rows.trend if self.rules.has_trend and rows.trend is not None else self.result.base
        shape = len(rows.matrix), self.loss.n_scores
        return np.array(np.broadcast_to(start, shape), order="C" if self.rules.one_tree else "F")

    def begin(self) -> None:
        """Record the losses of the start values."""
        self.record(self.raw, self.raw_validation)

    def record(self, raw: np.ndarray, raw_validation: np.ndarray | None) -> dict[str, float]:
        """Append the losses of these scores to those of the result, and return them."""
        line = {}
        result, validation = self.result, self.validation
        if self.scored is not None:
            line["train_loss"] = self._mean_loss(self.scored_y, raw[self.scored], self.scored_weights)
            result.train_losses.append(line["train_loss"])
        if validation is not None and raw_validation is not None:
            if self.rules.score is None:
                loss = line["validation_loss"] = self._mean_loss(validation.y, raw_validation, validation.weights)
            else:
                line["validation_score"] = self.rules.score(validation, raw_validation)
                loss = -line["validation_score"]
            result.validation_losses.append(loss)
            self.best.offer(loss, lambda: result.n_rounds)
        return line

    def _prepare(self) -> None:
        """Allocate what each thread needs to grow trees."""
        n, validation, rules = len(self.data.matrix), self.validation, self.rules
        self.growers = _growers(self.bins, rules.limits, self.n_trees, self.threads)
        self.rows_sums = [np.empty((n, 3)) for _ in self.growers]
        for rows_sums in self.rows_sums:
            rows_sums[:, 2] = self.data.weights
        # For predictions of rows that a tree has not been grown from, or of which it predicts otherwise.
        self.all_rows: list[HeldOutRows] = []
        self.held_out: list[HeldOutRows] = []
        if self.reads_grown_trees:
            if rules.subsample < 1.0 or not self.predicts_as_grown:
                self.all_rows = [HeldOutRows(self.data.matrix, self.bins.n_categories) for _ in self.growers]
            if validation is not None:
                self.held_out = [HeldOutRows(validation.matrix, self.bins.n_categories) for _ in self.growers]

    @property
    def reads_grown_trees(self) -> bool:
        """Whether trees predict as they are grown, but for half-widths of single cells."""
        prediction = self.rules.prediction
        return prediction is None or (
            prediction.differs_by_cells_only and self.rules.decay == 1.0 and self.rules.crisp_every == 0
        )

    @property
    def predicts_as_grown(self) -> bool:
        """Whether the memberships of the rows that a tree has been grown from are those of its predictions."""
        return self.rules.by_statistic is None and self.rules.prediction is None

    def release_memory(self) -> None:
        """Release the memory of growing; the next round allocates it again."""
        self.growers, self.rows_sums, self.all_rows, self.held_out, self.cells = [], [], [], [], []

    def share_space(self, other: Rounds) -> None:
        """Use the scratch space of other rounds of the same rows, which do not run at the same time."""
        for name in ("growers", "rows_sums", "all_rows", "held_out", "gradient", "hessian"):
            setattr(self, name, getattr(other, name))

    def run(self) -> dict[str, float]:
        """Add the trees of a round; returns the losses after it."""
        self.grow()
        return self.record(self.raw, self.raw_validation)

    def grow(self) -> None:
        """Add the trees of a round, all of them from the same raw scores."""
        if not self.growers:
            self._prepare()
        n_trees, number = self.n_trees, self.result.n_rounds
        self._read_cells()
        rows, left_out, features = self._draw(number)
        kernels = self._kernels_of(number)
        self._set_gradients(number)
        trees: list[NewtonTree | None] = [None] * n_trees

        def add(score: int, worker: int) -> None:
            trees[score] = self._add_tree(score, worker, rows, left_out, features[score], kernels)

        if len(self.growers) == 1:
            for score in range(n_trees):
                add(score, 0)
        else:
            self.threads.run(add, n_trees)
        if n_trees > 1:
            self.raw[:] = self.updated
        self.result.trees += [tree for tree in trees if tree is not None]
        self.result.output += range(n_trees)

    def _read_cells(self) -> None:
        """Set the half-widths of single cells, if they are not known yet."""
        prediction = self.rules.prediction
        if not self.cells:
            both = (self.data, self.validation)
            self.cells = [None if prediction is None else prediction.cells(rows) for rows in both]

    def held_out_scores(self, n_rounds: int) -> np.ndarray:
        """Raw scores of the validation rows after this many rounds, or after all if there are fewer, (n, n_scores)."""
        validation, result, rules = self.validation, self.result, self.rules
        assert validation is not None
        n = min(n_rounds, result.n_rounds) * result.per_round
        raw = self._start(validation)
        self._read_cells()
        reader = HeldOutRows(validation.matrix, self.bins.n_categories) if self.reads_grown_trees else None
        for tree, score in zip(result.trees[:n], result.output, strict=False):
            finished = None
            if reader is None and rules.prediction is not None:
                finished = rules.prediction.finish(tree)
            self._add_held_out(tree, finished, raw, score, reader)
        return raw

    def _add_held_out(
        self, tree: NewtonTree, finished: SoftTree | None, raw: np.ndarray, score: int, reader: HeldOutRows | None
    ) -> None:
        """Add a tree to raw scores of the validation rows: the finished one if there is one, or else as it is read."""
        cells = self.cells[1]
        if finished is None:
            assert reader is not None
            reader.add(tree, cells, raw, score)
        else:
            assert self.validation is not None
            columns = slice(score, score + tree.values.shape[1])
            raw[:, columns] += finished.predict(self.validation.matrix, widths=cells)

    def _kernels_of(self, number: int) -> Boxes:
        """The kernels of a round."""
        rules = self.rules
        if rules.crisp_every and number % rules.crisp_every == rules.crisp_every - 1:
            self.crisp = self.crisp or Boxes.of(self.bins, np.zeros_like(self.widths))
            return self.crisp
        if self.kernels is None or rules.decay != 1.0:
            self.kernels = Boxes.of(self.bins, self.widths * rules.decay**number, self.reach)
        return self.kernels

    def _draw(self, number: int) -> tuple[np.ndarray | None, np.ndarray | None, list[np.ndarray]]:
        """Rows of a round, and those left out, both None if there are all; and features of each of its trees."""
        p, n_trees, rules = self.data.matrix.shape[1], self.n_trees, self.rules
        if rules.subsample >= 1.0 and (rules.n_features is None or rules.n_features >= p):
            return None, None, [self.all_features] * n_trees  # making a generator takes as long as a small tree
        rng = np.random.default_rng([self.seed, number])
        rows, left_out = _draw_rows(self.data.group, self.n_groups, rules.subsample, rng)
        return rows, left_out, [_draw_features(p, rules.n_features, rng) for _ in range(n_trees)]

    def _in_blocks(self, n: int, work: Callable[[slice], None]) -> None:
        """Call `work` for blocks of `n` rows, in threads.

        The blocks do not depend on the number of threads, because numbers at the ends of arrays may be rounded
        differently.
        """
        size = max(1, _BLOCK // self.loss.n_scores)
        self.threads.run(lambda block, _: work(slice(block * size, (block + 1) * size)), -(-n // size))

    def _set_gradients(self, number: int) -> None:
        data, one_tree = self.data, self.rules.one_tree
        direction = draw_direction(self.loss.n_scores, self.seed, number) if one_tree else None

        def fill(part: slice) -> None:
            gradient, hessian = self.gradient[part], self.hessian[part]
            self.loss.gradients(data.y[part], self.raw[part], data.weights[part], gradient, hessian)
            if one_tree:
                loop.project_rows(gradient, hessian, direction, self.rows_sums[0][part])
            elif self.loss.n_scores == 1:
                self.rows_sums[0][part, 0], self.rows_sums[0][part, 1] = hessian[:, 0], gradient[:, 0]

        self._in_blocks(len(data.y), fill)

    def _mean_loss(self, y: np.ndarray, raw: np.ndarray, weights: np.ndarray) -> float:
        """Weighted mean of the losses of these rows."""
        if len(y) * self.loss.n_scores <= _BLOCK:
            return self.loss.value(y, raw, weights)
        totals: dict[int, float] = {}

        def add(part: slice) -> None:
            if weight := float(weights[part].sum()):
                totals[part.start] = weight * self.loss.value(y[part], raw[part], weights[part])

        self._in_blocks(len(y), add)
        return float(sum(total for _, total in sorted(totals.items())) / weights.sum())

    def _add_tree(
        self,
        score: int,
        worker: int,
        rows: np.ndarray | None,
        left_out: np.ndarray | None,
        features: np.ndarray,
        kernels: Boxes,
    ) -> NewtonTree:
        """Grow the tree of a raw score, or of all, and add it to the scores; returns it without its rows."""
        loss, rules, data, rows_sums = self.loss, self.rules, self.data, self.rows_sums[worker]
        if loss.n_scores > 1 and not rules.one_tree:
            rows_sums[:, 0], rows_sums[:, 1] = self.hessian[:, score], self.gradient[:, score]
        tree = self.growers[worker].grow(
            rows_sums, rows, features, kernels, rules.category_order(self.seed, self.result.n_rounds)
        )
        if rules.by_statistic is not None:
            tree = replace(tree, widths=rules.finished(tree.widths))
        if rules.one_tree:
            tree = with_vectors(tree, self.gradient, self.hessian, rules.limits.l2, self.threads)
        columns = slice(score, score + tree.values.shape[1])
        if not loss.has_exact_leaves:
            refit_leaves(tree, loss, data.y, data.weights, self.raw, score, rules.limits.directions)
        take_step(tree.values, loss.max_step, rules.learning_rate, self.result.n_rounds)
        cells, finished = self.cells[0], None
        if rules.prediction is not None and not self.reads_grown_trees:
            finished = rules.prediction.finish(tree)
        if finished is not None:
            self.updated[:, columns] += finished.predict(data.matrix, widths=cells)
        elif not self.predicts_as_grown:
            self.all_rows[worker].add(tree, cells, self.updated, score)
        else:
            tree.add_to(self.updated, score, self.growers[worker].threads)
            if left_out is not None:
                self.all_rows[worker].add(tree, cells, self.updated, score, left_out)
        if self.raw_validation is not None:
            reader = self.held_out[worker] if finished is None else None
            self._add_held_out(tree, finished, self.raw_validation, score, reader)
        return tree.without_rows()


def _growers(bins: Bins, limits: NewtonLimits, n_trees: int, threads: Threads) -> list[NewtonGrower]:
    """A grower for each tree that is grown at the same time; one that uses all threads if these are few."""
    rows = BinnedRows.of(bins)
    first = NewtonGrower(rows, limits, threads)
    n_growers = min(n_trees, threads.n_threads, max(1, _MOST_BYTES // first.space.tables.nbytes))
    if n_growers == 1:
        return [first]
    return [NewtonGrower(rows, limits) for _ in range(n_growers)]


def _draw_rows(
    group: np.ndarray, n_groups: int, subsample: float, rng: np.random.Generator
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Rows of a round, and the others; equal rows are drawn together, so a weight means repetition."""
    if subsample >= 1.0:
        return None, None
    order = rng.random(n_groups)
    least = np.partition(order, n_drawn := max(1, round(subsample * n_groups)) - 1)[n_drawn]
    is_drawn = (order <= least)[group]
    return np.flatnonzero(is_drawn), np.flatnonzero(~is_drawn)


def _draw_features(p: int, n_features: int | None, rng: np.random.Generator) -> np.ndarray:
    if n_features is None or n_features >= p:
        return np.arange(p)
    return np.sort(rng.permutation(p)[:n_features])
