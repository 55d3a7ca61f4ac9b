"""What the boosting estimators have in common; the estimators are in `softwood.kernel.boosting`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.callback import with_callbacks
from sklearn.metrics import check_scoring
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from softwood.base import Fit
from softwood.core.losses import Loss, unit_of
from softwood.core.parameters import check_choice, check_count, check_flag, check_integer, check_number, parameter_error
from softwood.core.steps import Steps
from softwood.core.targets import ClassTargets, RealTargets, read_classes, read_reals
from softwood.core.threads import Threads
from softwood.kernel.base import KernelModel
from softwood.kernel.choosing.boosting_settings import MASSES, N_LEAVES, SHARES, Choices, Search, most_rounds
from softwood.kernel.data.binning import Bins, bin_features
from softwood.kernel.data.measurement_errors import error_functions
from softwood.kernel.data.preparation import TrainingData, common_errors
from softwood.kernel.growing.bagging import draws_of
from softwood.kernel.parts.fitting import fit_boosting
from softwood.kernel.prediction import Reading
from softwood.kernel.rounds.newton import NewtonLimits, boosted_forest
from softwood.kernel.rounds.rounds import Boosted, BoostingData, BoostingRules, boost, too_fast
from softwood.trees.forest import SoftForest
from softwood.trees.tree import SoftTree

__all__ = ["KernelBoosting"]

# early_stopping="auto" stops early above this number of rows, as in scikit-learn.
STOP_FROM = 10_000
# l2_regularization="auto", in rows; comparisons/boosting says which data sets it was chosen on.
AUTO_L2 = 3.0
# The training loss is computed on at most this many different rows, drawn by content.
SCORED_ROWS = 20_000


@dataclass(kw_only=True, eq=False, repr=False)
class KernelBoosting(KernelModel):
    """What the classifier and the regressor share."""

    loss: str
    learning_rate: float = 0.1
    max_iter: Any = "auto"
    bandwidth_decay: float = 1.0
    max_leaf_nodes: Any = "auto"
    min_mass: Any = "auto"
    l2_regularization: Any = "auto"
    subsample: float = 1.0
    max_features: Any = "auto"
    monotonic_cst: Any = None
    cutoff: float = 0.0001
    early_stopping: Any = "auto"
    scoring: Any = "loss"
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    tol: float = 1e-07

    forest_: SoftForest = field(init=False)
    search_: list[dict[str, Any]] = field(init=False)
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
                train, validation = train.take(~is_held_out), train.take(is_held_out)
                targets, rows = targets.take(kept), rows[kept]
        if validation is None or (is_given and self.early_stopping is False):
            rules = replace(rules, n_iter_no_change=None)
        data = self._prepare(train.matrix, targets, train.weights, rows, len(np.asarray(y)), None, "squared_error")
        if len(common_errors(data.errors)) < len(data.errors):
            raise parameter_error(self, "measurement_error", "one number for a column", self.measurement_error)
        if self._has_node_widths and data.errors:
            raise self._no_errors_with_node_widths()
        self._loss_ = loss
        rules = replace(self._rules_for(rules, data, loss), score=self._score_function(train, validation))
        rules = self._with_l2(rules, loss, train)
        stages = fit.stages()
        rules, widths = self._searched(train, data, loss, rules, seed, self._given_widths(data), stages)
        reading = self._make_reading(widths, data)
        self.bandwidths_, self._reading_ = widths, reading
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
        if not _is_auto(self.early_stopping):
            check_flag(self, "early_stopping", self.early_stopping)
        limits = self._limits()
        rate = check_number(self, "learning_rate", self.learning_rate, low=0.0, open_low=True)
        return BoostingRules(
            learning_rate=rate,
            n_rounds=self._most_rounds(rate),
            limits=NewtonLimits(
                max_leaves=limits.max_leaf_nodes,
                max_depth=limits.max_depth,
                min_mass=limits.min_mass,
                min_gain=limits.min_gain,
                l2=self._stated_l2(),
                cutoff=limits.cutoff,
            ),
            decay=check_number(self, "bandwidth_decay", self.bandwidth_decay, low=0.0, open_low=True, high=1.0),
            subsample=check_number(self, "subsample", self.subsample, low=0.0, open_low=True, high=1.0),
            n_iter_no_change=self.n_iter_no_change,
            tol=check_number(self, "tol", self.tol, low=0.0),
        )

    def _most_rounds(self, learning_rate: float) -> int:
        if _is_auto(self.max_iter):
            return most_rounds(learning_rate)
        if isinstance(self.max_iter, str):
            raise parameter_error(self, "max_iter", "an int in the range [1, inf) or 'auto'", self.max_iter)
        return check_count(self, "max_iter", self.max_iter)

    def _most_leaves(self) -> int | None:
        if _is_auto(self.max_leaf_nodes):
            return N_LEAVES[0]
        if isinstance(self.max_leaf_nodes, str):
            expected = "an int in the range [2, inf), 'auto' or None"
            raise parameter_error(self, "max_leaf_nodes", expected, self.max_leaf_nodes)
        return super()._most_leaves()

    def _stated_mass(self) -> float:
        if _is_auto(self.min_mass):
            return MASSES[0]
        if isinstance(self.min_mass, str):
            raise parameter_error(self, "min_mass", "a number in the range (0, inf) or 'auto'", self.min_mass)
        return super()._stated_mass()

    def _stated_l2(self) -> float:
        if _is_auto(self.l2_regularization):
            return AUTO_L2
        if isinstance(self.l2_regularization, str):
            expected = "a number in the range [0, inf) or 'auto'"
            raise parameter_error(self, "l2_regularization", expected, self.l2_regularization)
        return check_number(self, "l2_regularization", self.l2_regularization, low=0.0)

    def _with_l2(self, rules: BoostingRules, loss: Loss, train: BoostingData) -> BoostingRules:
        """The rules with the regularisation in the unit of the second derivatives, if it is "auto"."""
        unit = loss.hessian_unit(train.y, train.weights) if _is_auto(self.l2_regularization) else 1.0
        return replace(rules, limits=replace(rules.limits, l2=unit * rules.limits.l2))

    def _n_draw(self, p: int) -> int:
        if isinstance(self.max_features, str):
            check_choice(self, "max_features", self.max_features, ("auto", "sqrt", "log2"))
        return p if _is_auto(self.max_features) else super()._n_draw(p)

    def _rules_for(self, rules: BoostingRules, data: TrainingData, loss: Loss) -> BoostingRules:
        """The rules, completed by those that depend on the columns."""
        directions = self._directions()
        if directions is not None and loss.n_scores > 1:
            raise parameter_error(
                self, "monotonic_cst", "None with more than two classes or with several quantiles", self.monotonic_cst
            )
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
            items = {columns.find(self, "monotonic_cst", column): value for column, value in spec.items()}
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

    def _make_reading(self, widths: np.ndarray, data: TrainingData) -> Reading:
        reading, directions = super()._make_reading(widths, data), self._directions()
        if directions is not None:
            # The mass of a kernel that gets wider as it moves may move the other way.
            is_scaled = np.array([kernel.scale is not None for kernel in reading.kernels])
            for k in np.flatnonzero(is_scaled & (directions != 0)):
                expected = "0 for columns whose prediction_kernel has a scale"
                raise parameter_error(self, "monotonic_cst", expected, self.columns_.names[k])
        return reading

    def _read_points(
        self, X: Any, *, measurement_error: Any = None, **unknown: Any
    ) -> tuple[np.ndarray, np.ndarray | None]:
        found = super()._read_points(X, measurement_error=measurement_error, **unknown)
        directions = None if measurement_error is None else self._directions()
        if directions is not None:
            for k, function in error_functions(self, measurement_error, self.columns_).items():
                if function is not None and directions[k] != 0:
                    expected = "a number or an array for a column with a monotonic constraint"
                    raise parameter_error(self, "measurement_error", expected, self.columns_.names[k])
        return found

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
        is_auto = _is_auto(self.early_stopping)
        n_groups = int(data.group.max()) + 1
        is_large = len(data.matrix) > STOP_FROM and not _is_auto(self.max_iter)  # if auto, the rounds are counted
        if not (is_large if is_auto else self.early_stopping):
            return None
        if n_groups < 2:
            if is_auto:
                return None
            raise ValueError("early_stopping=True needs at least two different rows in X to set some of them aside.")
        n_held_out = min(max(1, round(n_groups * float(self.validation_fraction))), n_groups - 1)
        return np.random.default_rng([seed, 1]).permutation(n_groups)[data.group] < n_held_out

    def _bins_of(self, data: BoostingData) -> Bins:
        equal = bool(np.all(data.weights == data.weights[0]))
        return bin_features(
            data.matrix, None if equal else data.weights, self.max_bins, self.n_jobs, self.columns_.n_categories
        )

    def _searched(
        self,
        train: BoostingData,
        data: TrainingData,
        loss: Loss,
        rules: BoostingRules,
        seed: int,
        widths: np.ndarray | None,
        stages: Steps,
    ) -> tuple[BoostingRules, np.ndarray]:
        """The rules and half-widths with everything that is "auto" chosen."""

        def spread(scale: float | None, rules: BoostingRules) -> tuple[np.ndarray, BoostingRules]:
            chosen = widths if scale is None else scale * data.deviations
            assert chosen is not None
            return data.problem(chosen).widths, _with_reading(rules, self._make_reading(chosen, data), data)

        choices = self._choices(data, rules, widths is None)
        setting = choices.first
        with Threads(effective_n_jobs(self.n_jobs)) as threads:
            search = Search(train, self._bins_of, spread, loss, rules, seed, threads)
            if search.is_possible and choices.trials:
                with stages.stage("search", "trial", len(choices.trials)) as steps:
                    setting = search.choose(choices, rules.n_rounds, steps)
            if search.is_possible and _is_auto(self.max_iter) and rules.n_iter_no_change is None:
                with stages.stage("count rounds", "run", 1) as steps:
                    step = steps.begin()
                    rules = replace(rules, n_rounds=search.count_rounds(setting))
                    step.end(n_rounds=rules.n_rounds)
        if search.trials:
            self.search_ = [trial.as_dict() for trial in search.trials]
        if setting.scale is not None:
            self.bandwidth_ = setting.scale
            widths = setting.scale * data.deviations
        self.max_leaf_nodes_, self.min_mass_, self.max_features_ = (
            setting.max_leaves, setting.min_mass, setting.n_features
        )  # fmt: skip
        assert widths is not None
        return setting.of(rules), widths

    def _choices(self, data: TrainingData, rules: BoostingRules, has_scales: bool) -> Choices:
        """What is compared: the values of the parameters that are "auto", if the rounds are, too."""
        p = data.matrix.shape[1]
        max_leaves: tuple[int | None, ...] = (rules.limits.max_leaves,)
        min_mass: tuple[float, ...] = (rules.limits.min_mass,)
        n_features: tuple[int, ...] = (p if rules.n_features is None else rules.n_features,)
        if _is_auto(self.max_iter):
            if _is_auto(self.max_leaf_nodes):
                max_leaves = N_LEAVES
            if _is_auto(self.min_mass):
                min_mass = tuple(self._least_mass(mass, data.weights) for mass in MASSES)
            if _is_auto(self.max_features) and p > 1:
                n_features = tuple(round(share * p) for share in SHARES)
        return Choices(has_scales, max_leaves, min_mass, n_features)

    def _score_function(self, *parts: BoostingData | None) -> Callable[[BoostingData, np.ndarray], float] | None:
        """The scorer of `scoring` as a function of rows and their raw scores; None for the loss.

        `parts` are all rows that it may be asked for.
        """
        if isinstance(self.scoring, str) and self.scoring == "loss":
            return None
        try:
            scorer = check_scoring(self, self.scoring)
        except (TypeError, ValueError):
            expected = "'loss', a name that sklearn.metrics.get_scorer_names lists, or a scorer"
            raise parameter_error(self, "scoring", expected, self.scoring) from None
        if not all(_are_ones(part.weights) for part in parts if part is not None) and not _takes_weights(scorer):
            expected = "'loss' or a scorer that takes sample_weight, if rows or classes have weights"
            raise parameter_error(self, "scoring", expected, self.scoring)
        classes = getattr(self, "classes_", None)

        def score(rows: BoostingData, raw: np.ndarray) -> float:
            probe = copy(self)
            probe._raw = lambda X, **conditions: raw  # type: ignore[method-assign]
            y = rows.y
            if classes is not None:
                if y.ndim == 2 or (not np.isin(y, (0, 1)).all() and len(classes) == 2):
                    raise parameter_error(self, "scoring", "'loss' with class probabilities as y", self.scoring)
                y = classes[y.astype(np.int64)]
            weighted = {} if _are_ones(rows.weights) else {"sample_weight": rows.weights}
            return float(scorer(probe, rows.matrix, y, **weighted))

        return score

    # The finished model

    def _results(self, result: Boosted, rules: BoostingRules, data: TrainingData, unit: float) -> dict[str, Any]:
        """Attributes of the estimator fitted with the rounds so far."""
        n_rounds = max(1, result.n_rounds if rules.n_iter_no_change is None else result.best_round)
        n_trees = n_rounds * self._loss_.n_scores
        output = np.array(result.output[:n_trees])
        forest = boosted_forest(result.trees[:n_trees], output, result.base)
        if unit != 1.0:
            with np.errstate(over="ignore"):
                base, value = self._loss_.out_of_unit(forest.base, forest.value, unit)
            if not np.isfinite(value).all():
                raise too_fast(self.learning_rate, n_rounds)
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


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"


def _are_ones(weights: np.ndarray) -> bool:
    return bool(np.all(weights == 1))


def _takes_weights(scorer: Callable[..., Any]) -> bool:
    parameters = signature(scorer).parameters.values()
    return any(parameter.name == "sample_weight" or parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def _with_reading(rules: BoostingRules, reading: Reading, data: TrainingData) -> BoostingRules:
    """The rules with the prediction kernel, if it differs from the kernel that trees are grown with."""
    if reading.is_as_grown:
        return rules

    def read(tree: SoftTree, matrix: np.ndarray) -> np.ndarray:
        cells = reading.cells(common_errors(data.errors), matrix)
        return reading.of(tree, data.errors).predict(matrix, widths=cells)[:, 0]

    return replace(rules, read=read)
