"""What the boosting estimators have in common; the estimators are in `softwood.density.boosting`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.callback import with_callbacks
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from softwood.base import Fit
from softwood.density.bagging import draws_of
from softwood.density.binning import Bins, bin_features
from softwood.density.choosing import best_of
from softwood.density.kernels import find_column
from softwood.density.level_fitting import fit_boosting
from softwood.density.model import KernelModel
from softwood.density.newton import NewtonLimits, boosted_forest
from softwood.density.preparation import TrainingData, common_errors
from softwood.density.reading import Reading
from softwood.density.rounds import Boosted, BoostingData, BoostingRules, boost
from softwood.forest import SoftForest
from softwood.losses import Loss, unit_of
from softwood.parameters import check_flag, check_integer, check_number, parameter_error
from softwood.steps import Steps
from softwood.targets import ClassTargets, RealTargets, read_classes, read_reals
from softwood.tree import SoftTree

__all__ = ["KernelBoosting"]

# Scales that "auto" compares, in standard deviations.
AUTO_GRID = (0.0, 0.05, 0.15, 0.4)
# "auto" runs at most AUTO_ROUNDS rounds, with a larger learning rate to make up for the rounds left out: on three folds
# up to AUTO_FOLD_ROWS different rows, and with more rows on one part of at most AUTO_ROWS training rows.
AUTO_ROUNDS, AUTO_FOLD_ROWS, AUTO_ROWS = 30, 1000, 8000
# early_stopping="auto" stops early above this number of rows, as in scikit-learn.
STOP_FROM = 10_000
# The training loss is computed on at most this many different rows, drawn by content.
SCORED_ROWS = 20_000


@dataclass(kw_only=True, eq=False, repr=False)
class KernelBoosting(KernelModel):
    """What the classifier and the regressor share."""

    loss: str
    learning_rate: float = 0.1
    max_iter: int = 100
    bandwidth_decay: float = 1.0
    max_leaf_nodes: int | None = 31
    min_mass: float = 20.0
    l2_regularization: float = 0.0
    subsample: float = 1.0
    max_features: Any = 1.0
    monotonic_cst: Any = None
    cutoff: float = 0.0001
    early_stopping: Any = "auto"
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    tol: float = 1e-07

    forest_: SoftForest = field(init=False)
    _rules: ClassVar[tuple[str, ...]] = ("auto", "silverman", "loo")
    # Histogram trees of boxes; the other kernel models have these as parameters.
    kernel: ClassVar[str] = "box"
    splitter: ClassVar[str] = "hist"
    cv: ClassVar[int] = 3

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Fit the model.

        After an interrupt, the rounds that are finished make up a working model.

        Parameters
        ----------
        X : (n_rows, n_features_in) array or data frame
            Text and category columns of frames are categories; missing values are allowed everywhere.
        y : (n_rows,) labels or targets
            A classifier also takes a matrix of class probabilities.
        sample_weight : (n_rows,) weights
            A weight of 2 has the same effect as repeating the row.
        X_val, y_val, sample_weight_val : validation rows
            If given, no rows of `X` are set aside. The loss of the validation rows is stored in ``validation_score_``,
            and stops the training early unless ``early_stopping=False``.
        """
        with self._fitting(X, y, sample_weight) as fit:
            fit.worker._boost(fit, X, y, sample_weight, X_val, y_val, sample_weight_val)
        return self

    def _boost(
        self, fit: Fit, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, sample_weight_val: Any
    ) -> None:
        rules = self._check_parameters()
        if self.growth == "level":
            if X_val is not None or y_val is not None:
                raise ValueError("growth='level' takes no X_val and y_val; set validation_fraction.")
            fit_boosting(self, fit, self._level_source(X, y, sample_weight), rules)
            return
        matrix, targets, weights, rows = self._read_training_data(X, y, sample_weight)
        weights = self._with_class_weights(targets, weights)
        loss, learned = self._loss_and_targets(targets, y, rows)
        loss.check_targets(learned)
        validation = self._read_validation(X_val, y_val, sample_weight_val, targets)
        unit = unit_of(learned)  # losses and gains are those of the targets in this unit
        learned = learned if unit == 1.0 else learned / unit
        if validation is not None and unit != 1.0:
            validation = replace(validation, y=validation.y / unit)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        train = BoostingData(matrix, learned, weights, draws_of(matrix, targets, weights, seed).group)
        is_given = validation is not None
        if not is_given:
            is_held_out = self._held_out_rows(train, seed)
            if is_held_out is not None:  # bins and bandwidths must not depend on them
                kept = np.flatnonzero(~is_held_out)
                train, validation = _rows_of(train, ~is_held_out), _rows_of(train, is_held_out)
                targets, rows = targets.take(kept), rows[kept]
        if validation is None or (is_given and self.early_stopping is False):
            rules = replace(rules, n_iter_no_change=None)
        data = self._prepare(train.matrix, targets, train.weights, rows, len(np.asarray(y)), None, "squared_error")
        if len(common_errors(data.errors)) < len(data.errors):
            raise parameter_error(self, "measurement_error", "one number for a column", self.measurement_error)
        if self._has_node_widths and data.errors:
            raise self._no_errors_with_node_widths()
        rules = self._rules_for(rules, data, loss)
        stages = fit.steps("stage", self._n_stages())
        widths = self._given_widths(data)
        if widths is None:
            with stages.stage("choose bandwidth", "trial", len(AUTO_GRID)) as steps:
                self.bandwidth_ = self._choose_scale(train, data, loss, rules, seed, steps)
            widths = self.bandwidth_ * data.deviations
        reading = self._make_reading(widths, data)
        self.bandwidths_, self._reading_, self._loss_ = widths, reading, loss
        result = Boosted(loss.start(train.y, train.weights))

        def results() -> dict[str, Any]:
            return {"history_": list(stages.history), **self._results(result, rules, data, unit)}

        try:
            with stages.stage("boost", "round", rules.n_rounds) as steps:
                boost(
                    train, data.bins, data.problem(widths).widths, loss, _with_reading(rules, reading, data), seed,
                    validation=validation, scored=np.flatnonzero(train.group < SCORED_ROWS),
                    n_threads=effective_n_jobs(self.n_jobs), result=result, steps=steps, snapshot=results,
                )  # fmt: skip
        except KeyboardInterrupt:
            if result.n_rounds:
                self.__dict__.update(results())
            raise
        self.__dict__.update(results())

    def _level_targets(self, targets: ClassTargets | RealTargets, y: Any, rows: np.ndarray) -> np.ndarray:
        self._loss_and_targets(targets, y, rows)  # an error if there are several columns
        return super()._level_targets(targets, y, rows)

    def _read_validation(
        self, X: Any, y: Any, sample_weight: Any, targets: ClassTargets | RealTargets
    ) -> BoostingData | None:
        """The validation rows passed to `fit`; None if there are none."""
        rows = self._read_validation_rows(X, y, sample_weight)
        if rows is None:
            return None
        matrix, weights = rows
        given = read_classes(y) if isinstance(targets, ClassTargets) else read_reals(y, np.ones(len(matrix)))
        if isinstance(targets, ClassTargets) and isinstance(given, ClassTargets):
            given = given.numbered_as(targets.classes, "y_val")
        loss, learned = self._loss_and_targets(given, y, np.arange(len(matrix)))
        loss.check_targets(learned)
        weights = weights * self._class_weights(given, weights)
        if not weights.any():
            raise ValueError("sample_weight_val and class_weight leave no row of X_val with a weight above zero.")
        return BoostingData(matrix, learned, weights, np.arange(len(matrix)))

    # Reading the parameters

    def _check_parameters(self) -> BoostingRules:
        self._check_kernel_parameters()
        check_integer(self, "n_iter_no_change", self.n_iter_no_change, low=1)
        check_number(self, "validation_fraction", self.validation_fraction, low=0.0, open_low=True, high=0.9)
        if not (isinstance(self.early_stopping, str) and self.early_stopping == "auto"):
            check_flag(self, "early_stopping", self.early_stopping)
        limits = self._limits()
        n_rounds = check_integer(self, "max_iter", self.max_iter, low=1)
        assert n_rounds is not None
        return BoostingRules(
            learning_rate=check_number(self, "learning_rate", self.learning_rate, low=0.0, open_low=True),
            n_rounds=n_rounds,
            limits=NewtonLimits(
                max_leaves=limits.max_leaf_nodes,
                max_depth=limits.max_depth,
                min_mass=limits.min_mass,
                min_gain=limits.min_gain,
                l2=check_number(self, "l2_regularization", self.l2_regularization, low=0.0),
                cutoff=limits.cutoff,
            ),
            decay=check_number(self, "bandwidth_decay", self.bandwidth_decay, low=0.0, open_low=True, high=1.0),
            subsample=check_number(self, "subsample", self.subsample, low=0.0, open_low=True, high=1.0),
            n_iter_no_change=self.n_iter_no_change,
            tol=check_number(self, "tol", self.tol, low=0.0),
        )

    def _rules_for(self, rules: BoostingRules, data: TrainingData, loss: Loss) -> BoostingRules:
        """The rules, completed by those that depend on the columns."""
        directions = self._directions()
        if directions is not None and loss.n_scores > 1:
            raise parameter_error(self, "monotonic_cst", "None with more than two classes", self.monotonic_cst)
        min_mass = self._least_mass(rules.limits.min_mass, data.weights)
        limits = replace(rules.limits, directions=directions, min_mass=min_mass)
        return replace(rules, limits=limits, n_features=self._n_draw(data.matrix.shape[1]))

    def _directions(self) -> np.ndarray | None:
        """Monotonic constraint of each encoded column, (p,); None if there is none."""
        spec, columns = self.monotonic_cst, self.columns_
        if spec is None:
            return None
        n = len(columns.categories)
        per_input = np.zeros(n, dtype=np.int64)
        if isinstance(spec, Mapping):
            items = {find_column(self, "monotonic_cst", column, columns): value for column, value in spec.items()}
        else:
            if np.ndim(spec) != 1 or len(spec) != n:
                raise parameter_error(
                    self, "monotonic_cst", f"a dict by column, or one of -1, 0, 1 for each of {n}", spec
                )
            items = dict(enumerate(spec))
        for j, value in items.items():
            if value not in (-1, 0, 1):
                raise parameter_error(self, "monotonic_cst", f"-1, 0 or 1 for column {columns.inputs[j]!r}", value)
            if value != 0 and columns.categories[j] is not None:
                raise parameter_error(self, "monotonic_cst", "given for columns of numbers", columns.inputs[j])
            per_input[j] = int(value)
        return columns.spread(per_input).astype(np.int64) if per_input.any() else None

    def _loss_and_targets(self, targets: Any, y: Any, rows: np.ndarray) -> tuple[Loss, np.ndarray]:
        """The loss, and the targets of the kept rows in the form that the loss takes."""
        raise NotImplementedError

    @property
    def _has_node_widths(self) -> bool:
        return self.bandwidth_decay != 1.0

    def _no_errors_with_node_widths(self) -> ValueError:
        return parameter_error(self, "bandwidth_decay", "1.0 with measurement errors", self.bandwidth_decay)

    # Parts of the rows

    def _held_out_rows(self, data: BoostingData, seed: int) -> np.ndarray | None:
        """Mask of the rows set aside as validation rows, drawn by content, (n,) bool; None if there are none."""
        is_auto = isinstance(self.early_stopping, str)
        n_groups = int(data.group.max()) + 1
        if not (len(data.matrix) > STOP_FROM if is_auto else self.early_stopping):
            return None
        if n_groups < 2:
            if is_auto:
                return None
            raise ValueError("early_stopping=True needs at least two different rows in X to set some of them aside.")
        n_held_out = min(max(1, round(n_groups * float(self.validation_fraction))), n_groups - 1)
        return np.random.default_rng([seed, 1]).permutation(n_groups)[data.group] < n_held_out

    def _bins_of(self, data: BoostingData) -> Bins:
        equal = bool(np.all(data.weights == data.weights[0]))
        return bin_features(data.matrix, None if equal else data.weights, self.max_bins, self.n_jobs)

    def _choose_scale(
        self, train: BoostingData, data: TrainingData, loss: Loss, rules: BoostingRules, seed: int, steps: Steps
    ) -> float:
        """Bandwidth with the smallest held-out loss; each is compared at its best number of rounds."""
        parts = _auto_parts(train, seed)
        if not parts:
            return 0.0
        n_rounds = min(rules.n_rounds, AUTO_ROUNDS)
        rate = min(rules.learning_rate * rules.n_rounds / n_rounds, max(rules.learning_rate, 0.3))
        rules = replace(rules, n_rounds=n_rounds, learning_rate=rate, n_iter_no_change=self.n_iter_no_change)
        prepared = [(part, held_out, self._bins_of(part)) for part, held_out in parts]
        tried: dict[float, float] = {}
        for scale in AUTO_GRID:
            step = steps.begin()
            widths = scale * data.deviations
            reading = _with_reading(rules, self._make_reading(widths, data), data)
            total = 0.0
            for part, held_out, bins in prepared:
                result = boost(
                    part, bins, data.problem(widths).widths, loss, reading, seed, validation=held_out,
                    n_threads=effective_n_jobs(self.n_jobs),
                )  # fmt: skip
                total += min(result.validation_losses) * held_out.weights.sum()
            tried[scale] = total / sum(held_out.weights.sum() for _, held_out, _ in prepared)
            if step.end(bandwidth=scale, validation_loss=tried[scale]):
                break
        return best_of(tried)

    # The finished model

    def _results(self, result: Boosted, rules: BoostingRules, data: TrainingData, unit: float) -> dict[str, Any]:
        """Attributes of the estimator fitted with the rounds so far."""
        n_rounds = max(1, result.n_rounds if rules.n_iter_no_change is None else result.best_round)
        n_trees = n_rounds * self._loss_.n_scores
        output = np.array(result.output[:n_trees])
        forest = boosted_forest(result.trees[:n_trees], output, result.base, rules.limits.cutoff)
        if unit != 1.0:
            base, value = self._loss_.out_of_unit(forest.base, forest.value, unit)
            forest = replace(forest, base=base, value=value)
        return {
            "n_iter_": n_rounds,
            "train_score_": -np.array(result.train_losses),
            "validation_score_": -np.array(result.validation_losses),
            "forest_": self._reading_.of(forest, data.errors),
        }

    @property
    def _finished(self) -> SoftForest:
        check_is_fitted(self, "forest_")
        return self.forest_

    def _raw(self, X: Any, **conditions: Any) -> np.ndarray:
        matrix, widths = self._read_points(X, **conditions)
        return self._finished.predict(matrix, widths=widths, n_jobs=self.n_jobs)

    def _staged_raw(self, X: Any, **conditions: Any) -> Iterator[np.ndarray]:
        matrix, widths = self._read_points(X, **conditions)
        return self._finished.staged_predict(matrix, widths=widths, step=self._loss_.n_scores, n_jobs=self.n_jobs)


def _with_reading(rules: BoostingRules, reading: Reading, data: TrainingData) -> BoostingRules:
    """The rules with the prediction kernel, if it differs from the kernel that trees are grown with."""
    if reading.is_as_grown:
        return rules

    def read(tree: SoftTree, matrix: np.ndarray) -> np.ndarray:
        cells = reading.cells(common_errors(data.errors), matrix)
        return reading.of(tree, data.errors).predict(matrix, widths=cells)[:, 0]

    return replace(rules, read=read)


def _rows_of(data: BoostingData, chosen: np.ndarray) -> BoostingData:
    """The chosen rows, with their groups numbered without gaps."""
    group = np.unique(data.group[chosen], return_inverse=True)[1]
    return BoostingData(data.matrix[chosen], data.y[chosen], data.weights[chosen], group)


def _auto_parts(data: BoostingData, seed: int) -> list[tuple[BoostingData, BoostingData]]:
    """Training and held-out rows, divided by content: three folds, or one part if there are many rows."""
    n_groups = int(data.group.max()) + 1
    if n_groups < 3:
        return []
    number = np.random.default_rng([seed, 2]).permutation(n_groups)[data.group]
    if n_groups <= AUTO_FOLD_ROWS:
        return [(_rows_of(data, number % 3 != fold), _rows_of(data, number % 3 == fold)) for fold in range(3)]
    n_held_out = min(n_groups // 4, AUTO_ROWS // 3)
    is_held_out = number < n_held_out
    return [(_rows_of(data, ~is_held_out & (number < n_held_out + AUTO_ROWS)), _rows_of(data, is_held_out))]
