"""What the boosting estimators have in common; the estimators are in `softwood.kernel.boosting`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import field, replace
from inspect import signature
from typing import Any, Self, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from sklearn.metrics import check_scoring
from sklearn.utils.validation import check_is_fitted

from softwood.base import Fit, as_counts
from softwood.core.compatibility import with_callbacks
from softwood.core.estimators import estimator
from softwood.core.losses import Loss, unit_of
from softwood.core.parameters import parameter_error
from softwood.core.steps import Steps
from softwood.core.targets import ClassTargets, RealTargets, read_classes, read_reals
from softwood.core.threads import Threads
from softwood.kernel.boosting_parameters import AUTO_LEAVES, BoostingParameters, is_auto
from softwood.kernel.choosing.boosting_plans import CRISP, PLANS
from softwood.kernel.choosing.boosting_settings import FOLD_ROWS, Choices, Search, Setting
from softwood.kernel.data.category_statistics import SETS_UP_TO, ManyCategories, as_sets
from softwood.kernel.data.measurement_errors import are_by_column
from softwood.kernel.data.preparation import common_errors
from softwood.kernel.growing.bagging import draws_of
from softwood.kernel.parts.fits import TRIAL_ROWS, BoostingRowsInParts
from softwood.kernel.parts.sources import Source
from softwood.kernel.prediction import PredictionKernels
from softwood.kernel.rounds.finishing import boosted_forest, with_trend
from softwood.kernel.rounds.leaves import too_fast
from softwood.kernel.rounds.rounds import Boosted, BoostingData, BoostingRules, TreePrediction
from softwood.kernel.rows import BoostingRows, BoostingRowsInMemory
from softwood.trees.forest import SoftForest
from softwood.uncertainty.held_out import HeldOut

__all__ = ["KernelBoosting"]

# Half-widths (p,) and rules of each of the models whose mean is the result.
Members: TypeAlias = list[tuple[np.ndarray, BoostingRules]]

# early_stopping="auto" stops early above this number of rows, as in scikit-learn.
STOP_FROM = 10_000


@estimator
class KernelBoosting(BoostingParameters):
    """What the classifier and the regressor share."""

    forest_: SoftForest = field(init=False)
    search_: list[dict[str, Any]] = field(init=False)

    # While the model is fitted: the raw scores of the validation rows, for scorers that predict with it.
    _known_raw = None  # type: np.ndarray | None

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        measurement_error: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        measurement_error_val: Any = None,
    ) -> Self:
        """Fit the model.

        After an interrupt, the rounds that are finished make up a working model.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features_in)
            The rows. Text and category columns of frames are categories. Missing values are allowed everywhere.
        y : array-like of shape (n_rows,)
            Labels or targets. A classifier also takes a matrix of class probabilities.
        measurement_error : dict, array-like or None, default=None
            Known errors of the cells of `X`: a dict from columns to numbers or to arrays of shape (n_rows,), or an
            array of shape (n_rows, n_features_in). They replace the `measurement_error` of the constructor in these
            columns. With ``growth="level"``, only numbers for columns.
        X_val : array-like, data frame or None, default=None
            Validation rows. If given, no rows of `X` are set aside. Their loss is stored in ``validation_score_``, and
            stops the training early unless ``early_stopping=False``.
        y_val : array-like or None, default=None
            Labels or targets of the validation rows.
        sample_weight_val : array-like or None, default=None
            Weights of the validation rows.
        measurement_error_val : dict, array-like or None, default=None
            Known errors of the cells of `X_val`, in the forms of `measurement_error`.
        """
        with self._fitting(X, y, sample_weight) as fit:
            training = (X, y, sample_weight, measurement_error)
            fit.worker._grow(fit, *training, (X_val, y_val, sample_weight_val, measurement_error_val))
        return self

    def _grow(
        self,
        fit: Fit,
        X: Any,
        y: Any,
        sample_weight: Any,
        measurement_error: Any = None,
        validation: tuple[Any, Any, Any, Any] = (None, None, None, None),
    ) -> None:
        rules = self._check_parameters()
        with self._rows(X, y, sample_weight, measurement_error, validation) as rows:
            self._loss_ = rows.loss
            stages = fit.stages()
            rules = self._rules_for(rules, rows, is_given=validation[0] is not None)
            members, held_out = self._search(rules, rows, stages)
            widths, rules = members[0]
            for own, _ in members:  # that of one with kernels
                widths = np.maximum(widths, own)
            self.bandwidths_ = np.where(self.columns_.is_category, 0.0, widths)
            self._prediction_kernels_ = self._kernels_of(members, widths, rows)
            result = Boosted(rows.start, n_models=len(members))
            n_with_trend = sum(own.has_trend for _, own in members)

            def results() -> dict[str, Any]:
                return {"history_": list(stages.history), **self._results(result, rules, rows, n_with_trend)}

            try:
                with stages.stage("boost", "round", rules.n_rounds) as steps:
                    rows.boost(members, result, steps, results)
            except KeyboardInterrupt:
                if result.n_rounds:
                    self.__dict__.update(results())
                raise
            self.__dict__.update(results())
            if isinstance(rows, BoostingRowsInMemory) and rows.validation is not None:
                held_out = self._predict_validation(rows, rows.validation)
            if held_out is not None and not stages.is_stopped:
                self._held_out_ = held_out

    def _predict_validation(self, rows: BoostingRowsInMemory, validation: BoostingData) -> HeldOut | None:
        """The validation rows with the predictions of the finished model, which has learned nothing else from them."""
        assert rows.validation_matrix is not None
        matrix, kernels = rows.validation_matrix, self._prediction_kernels_
        cells = None if kernels.is_crisp else kernels.cells(validation.errors, matrix)
        scaled = replace(rows, unit=1.0)  # the finished model is in the user's units
        found = replace(validation, y=validation.y if rows.unit == 1.0 else validation.y * rows.unit)
        return scaled.with_predictions(
            matrix, self._finished.predict(matrix, widths=cells, n_jobs=self.n_jobs),
            replace(found, weights=as_counts(found.weights)),
        )  # fmt: skip

    # Rows

    @contextmanager
    def _rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        measurement_error: Any,
        given: tuple[Any, Any, Any, Any],
    ) -> Iterator[BoostingRows]:
        """Read and prepare the rows; `given` are the validation rows, with targets, weights and errors."""
        if self.growth == "level":
            if any(part is not None for part in given):
                raise ValueError("growth='level' takes no X_val and y_val; set validation_fraction.")
            with self._read_parts(X, y, sample_weight) as source:
                yield self._rows_in_parts(source, measurement_error)
            return
        matrix, targets, counts, numbers = self._read_training_data(X, y, sample_weight)
        factors = self._checked_factors(self._class_weights(targets, counts), counts)
        weights = counts * factors
        class_factors = None
        if isinstance(targets, ClassTargets) and targets.labels is not None and isinstance(factors, np.ndarray):
            class_factors = np.zeros(len(targets.classes))
            class_factors[targets.labels] = factors
        loss, learned = self._loss_and_targets(targets, y, numbers)
        loss.check_targets(learned)
        validation = self._read_validation(*given, targets)
        unit = unit_of(learned)
        learned = learned if unit == 1.0 else learned / unit
        if validation is not None and unit != 1.0:
            validation = replace(validation, y=validation.y / unit)
        seed, n_rows = self._new_seed(), len(np.asarray(y))
        if not are_by_column(self.measurement_error):
            expected = "one number for a column, or a function; pass the errors of single cells to fit"
            raise parameter_error(self, "measurement_error", expected, self.measurement_error)
        errors = self._errors(measurement_error, matrix, numbers, n_rows)
        if errors:
            self._check_errors()
        train = BoostingData(matrix, learned, weights, draws_of(matrix, targets, weights, seed).group, errors)
        if validation is None:
            is_held_out = self._held_out_rows(train, seed)
            if is_held_out is not None:  # bins and bandwidths must not depend on them
                kept = np.flatnonzero(~is_held_out)
                train, validation = train.take(~is_held_out), train.take(is_held_out)
                targets, numbers = targets.take(kept), numbers[kept]
        validation_matrix = None if validation is None else validation.matrix
        categories = ManyCategories.of(
            train.matrix, targets.matrix(), train.weights, train.group, self.columns_.n_categories, seed
        )
        if categories is not None:
            train = replace(train, matrix=categories.encoded)
            if validation is not None:
                validation = replace(validation, matrix=categories.statistics.encode(validation.matrix))
        data = self._prepare(train.matrix, targets, train.weights, numbers, n_rows, measurement_error, "squared_error")
        rows = BoostingRowsInMemory(
            data, seed, train, validation, loss, unit, self.n_jobs, categories, validation_matrix, class_factors
        )
        if data.errors or (validation is not None and validation.errors):
            if self.trend == "linear":
                raise parameter_error(self, "trend", "'auto' or None with measurement errors", self.trend)
        elif self.trend == "linear" or (self.trend == "auto" and is_auto(self.max_iter) and not self._refused_by_trend):
            rows = rows.beside_trend(self.columns_.n_categories == 0)
        yield rows

    def _rows_in_parts(self, source: Source, measurement_error: Any = None) -> BoostingRows:
        seed = self._new_seed()
        found, data = self._survey(source, seed, "squared_error", measurement_error)
        if len(common_errors(data.errors)) < len(data.errors):
            expected = "one number for a column with growth='level'"
            raise parameter_error(self, "measurement_error", expected, self.measurement_error)
        if data.errors:
            self._check_errors()
        classes, p = getattr(self, "classes_", None), data.matrix.shape[1]
        unit, n_classes = 1.0, None
        if classes is None:
            ends = np.array([found.lowest[p], found.highest[p]])
            targets = RealTargets(np.stack([found.lowest[p:], found.highest[p:]]), found.means[p:], 1.0, True)
            unit = unit_of(ends)
            loss, _ = self._loss_and_targets(targets, ends, np.arange(2))
            loss.check_targets(ends)
        else:
            n_classes = len(classes)
            numbers = np.arange(n_classes, dtype=np.int32)
            loss, _ = self._loss_and_targets(ClassTargets(classes, numbers, None), None, numbers)
        stops = self.early_stopping
        if is_auto(stops):  # if the trial rows are all rows, the rounds are counted on them
            stops = found.n_rows > (TRIAL_ROWS if is_auto(self.max_iter) else STOP_FROM)
        validation = float(self.validation_fraction) if stops else 0.0
        return BoostingRowsInParts(source, found, data, seed, n_classes, loss, unit, validation)

    @property
    def _has_node_widths(self) -> bool:
        return self.bandwidth_decay != 1.0

    def _kernels_of(self, members: Members, widths: np.ndarray, rows: BoostingRows) -> PredictionKernels:
        """Prediction kernels of a model of these half-widths (p,) and, in some trees, of 0."""
        kernels = self._make_prediction_kernels(widths, rows.data)
        keeps = isinstance(self.prediction_bandwidth, str) and self.prediction_bandwidth == "same"
        has_crisp = any(rules.crisp_every > 0 or not np.array_equal(own, widths) for own, rules in members)
        return replace(kernels, has_crisp_trees=keeps and has_crisp)

    def _check_errors(self) -> None:
        """Refuse parameters that do not go with measurement errors."""
        if self._has_node_widths:
            raise self._no_errors_with_node_widths()
        if not is_auto(self.crisp_every) and self.crisp_every:
            raise parameter_error(self, "crisp_every", "0 or 'auto' with measurement errors", self.crisp_every)

    def _no_errors_with_node_widths(self) -> ValueError:
        return parameter_error(self, "bandwidth_decay", "1.0 with measurement errors", self.bandwidth_decay)

    def _raw_targets(self, targets: ClassTargets | RealTargets, y: Any, rows: np.ndarray) -> np.ndarray:
        self._loss_and_targets(targets, y, rows)  # an error if there are several columns
        return super()._raw_targets(targets, y, rows)

    def _loss_and_targets(self, targets: Any, y: Any, rows: np.ndarray) -> tuple[Loss, np.ndarray]:
        """The loss, and the targets of the kept rows in the form that the loss takes."""
        raise NotImplementedError

    def _held_out_rows(self, data: BoostingData, seed: int) -> np.ndarray | None:
        """Mask of the rows set aside as validation rows, drawn by content, (n,) bool; None if there are none."""
        chooses = is_auto(self.early_stopping)
        n_groups = int(data.group.max()) + 1
        is_large = len(data.matrix) > STOP_FROM and not is_auto(self.max_iter)  # if auto, the rounds are counted
        if not (is_large if chooses else self.early_stopping):
            return None
        if n_groups < 2:
            if chooses:
                return None
            raise ValueError("early_stopping=True needs at least two different rows in X to set some of them aside.")
        n_held_out = min(max(1, round(n_groups * float(self.validation_fraction))), n_groups - 1)
        return np.random.default_rng([seed, 1]).permutation(n_groups)[data.group] < n_held_out

    def _read_validation(
        self, X: Any, y: Any, sample_weight: Any, measurement_error: Any, targets: ClassTargets | RealTargets
    ) -> BoostingData | None:
        """The validation rows passed to `fit`; None if there are none."""
        rows = self._read_validation_rows(X, y, sample_weight)
        if rows is None:
            if measurement_error is not None:
                raise parameter_error(self, "measurement_error_val", "None without X_val", measurement_error)
            return None
        matrix, weights = rows
        given = (
            read_classes(y, targets.classes, "y_val")
            if isinstance(targets, ClassTargets)
            else read_reals(y, np.ones(len(matrix)))
        )
        loss, learned = self._loss_and_targets(given, y, np.arange(len(matrix)))
        loss.check_targets(learned)
        weights = weights * self._class_weights(given, weights)
        if not weights.any():
            raise ValueError("sample_weight_val and class_weight leave no row of X_val with a weight above zero.")
        return BoostingData(matrix, learned, weights, np.arange(len(matrix)), self._errors(measurement_error, matrix))

    # Rules and settings

    def _rules_for(self, rules: BoostingRules, rows: BoostingRows, *, is_given: bool) -> BoostingRules:
        """The rules, completed by those that depend on the rows; is_given : whether the user gave validation rows."""
        loss, train, l2 = rows.loss, rows.train, rules.limits.l2
        if is_auto(self.l2_regularization):  # in the unit of the second derivatives
            l2 = loss.hessian_unit(train.y, train.weights) * l2
        kernels = self._kernels_of([], np.zeros(train.matrix.shape[1]), rows)
        directions = self._checked_directions(loss, kernels)
        min_mass = self._least_mass(rules.limits.min_mass, rows.total)
        stops = rows.has_validation and not (is_given and self.early_stopping is False)
        return replace(
            self._with_one_tree(rules, loss.n_scores),
            limits=replace(rules.limits, directions=directions, min_mass=min_mass, l2=l2),
            n_features=self._n_draw(rows.data.matrix.shape[1]),
            n_iter_no_change=rules.n_iter_no_change if stops else None,
            by_statistic=None if rows.categories is None else rows.categories.is_many,
            score=self._score_function(rows),
            prediction=TreePrediction.of(kernels, rows.data.errors, self.prediction_bandwidth),
        )

    def _search(self, rules: BoostingRules, rows: BoostingRows, stages: Steps) -> tuple[Members, HeldOut | None]:
        """The models with everything that is "auto" chosen, and the rows that rounds were counted on."""
        widths = self._given_widths(rows.data)
        choices = self._choices(rules, rows, widths is None)
        settings, held_out = [choices.first], None
        n_rounds: list[int] = []
        with Threads(effective_n_jobs(self.n_jobs)) as threads:
            plan = PLANS[self.quality]
            search = Search(rows, rules, widths, threads, self.max_bins, plan.n_folds, plan.n_parts)
            if search.is_possible and choices.trials:
                with stages.stage("search", "trial", len(choices.trials)) as steps:
                    settings = search.choose(choices, min(rules.n_models, plan.n_settings), rules.n_rounds, steps)
            if search.is_possible and is_auto(self.max_iter) and rules.n_iter_no_change is None:
                with stages.stage("count rounds", "run", 1) as steps:
                    step = steps.begin()
                    n_rounds = search.count_rounds(settings)
                    rules = replace(rules, n_rounds=round(np.mean(n_rounds)))
                    step.end(n_rounds=rules.n_rounds)
            elif not rows.has_validation:
                search.follow(settings, rules.n_rounds)
            if isinstance(rows, BoostingRowsInMemory):
                held_out = search.held_out(rows)
        if search.trials:
            self.search_ = [trial.as_dict() for trial in search.trials]
        first = settings[0]
        if first.scale is not None:
            self.bandwidth_ = first.scale
        self.max_leaf_nodes_, self.min_mass_, self.max_features_, self.crisp_every_ = (
            first.max_leaves, first.min_mass, first.n_features, first.crisp_every
        )  # fmt: skip
        members = []
        for setting, n_own in zip(settings, n_rounds or [rules.n_rounds] * len(settings), strict=True):
            own = widths if setting.scale is None else setting.scale * rows.spreads
            assert own is not None
            rate = rules.learning_rate * (n_own / rules.n_rounds)  # so that all need the same number of rounds
            members.append((own, replace(setting.of(rules), learning_rate=rate).at(own)))
        draws = rules.one_tree or rules.subsample < 1.0 or first.n_features < rows.data.matrix.shape[1]
        return [members[k % len(members)] for k in range(rules.n_models if draws else len(members))], held_out

    def _choices(self, rules: BoostingRules, rows: BoostingRows, has_scales: bool) -> Choices:
        """What is compared: the values of the parameters that are "auto", if the rounds are, too."""
        plan, p = PLANS[self.quality], rows.data.matrix.shape[1]
        chooses = is_auto(self.max_iter)
        trends = (False,) if rows.trend is None else (True,) if self.trend == "linear" else plan.trends
        others: dict[str, tuple[Any, ...]] = {
            "has_trend": trends,
            "categories": ("sets",),
            "max_leaves": (rules.limits.max_leaves,),
            "min_mass": (rules.limits.min_mass,),
            "n_features": (p if rules.n_features is None else rules.n_features,),
        }
        n_categories = self.columns_.n_categories
        if chooses and np.any((n_categories > 2) & (n_categories <= SETS_UP_TO)):
            others["categories"] = plan.categories
        has_many = int(rows.train.group.max()) >= FOLD_ROWS
        if chooses and is_auto(self.max_leaf_nodes):
            several = plan.leaves_of_many if has_many else plan.max_leaves
            others["max_leaves"] = (AUTO_LEAVES,) if rules.one_tree else several
        if chooses and is_auto(self.min_mass):
            others["min_mass"] = tuple(self._least_mass(mass, rows.total) for mass in plan.min_mass)
        if chooses and is_auto(self.max_features) and p > 1:
            others["n_features"] = tuple(round(share * p) for share in plan.shares)
        may_mix = chooses and is_auto(self.crisp_every) and rules.prediction is None and self.growth == "node"
        if not may_mix or rules.decay != 1.0 or rows.data.errors:
            plan = plan.without_mixtures(rules.crisp_every)
        mixes = may_mix and rules.decay == 1.0 and not rows.data.errors
        kernels = plan.kernels_of_many if has_many else plan.kernels
        kernels, beyond = (kernels, plan.beyond) if rows.spreads.any() else ((CRISP,), {})
        first = {name: values[0] for name, values in others.items()}
        setting = Setting(0.0 if has_scales else None, crisp_every=rules.crisp_every, **first)
        return Choices(setting, mixes, kernels if has_scales else (), beyond, others)

    def _score_function(self, rows: BoostingRows) -> Callable[[BoostingData, np.ndarray], float] | None:
        """The scorer of `scoring` as a function of rows and their raw scores; None for the loss."""
        if isinstance(self.scoring, str) and self.scoring == "loss":
            return None
        try:
            scorer = check_scoring(self, self.scoring)
        except (TypeError, ValueError):
            expected = "'loss', a name that sklearn.metrics.get_scorer_names lists, or a scorer"
            raise parameter_error(self, "scoring", expected, self.scoring) from None
        if not rows.has_equal_weights and not _takes_weights(scorer):
            expected = "'loss' or a scorer that takes sample_weight, if rows or classes have weights"
            raise parameter_error(self, "scoring", expected, self.scoring)
        classes = getattr(self, "classes_", None)

        def score(held_out: BoostingData, raw: np.ndarray) -> float:
            model = copy(self)
            model._known_raw = raw
            y = held_out.y
            if classes is not None:
                if y.ndim == 2 or (not np.isin(y, (0, 1)).all() and len(classes) == 2):
                    raise parameter_error(self, "scoring", "'loss' with class probabilities as y", self.scoring)
                y = classes[y.astype(np.int64)]
            weighted = {} if _are_ones(held_out.weights) else {"sample_weight": held_out.weights}
            try:
                return float(scorer(model, held_out.matrix, y, **weighted))
            except ValueError as error:
                if classes is None and raw.shape[1] > 1:
                    expected = "'loss' or a scorer of predictions with several columns, with several quantiles"
                    raise parameter_error(self, "scoring", expected, self.scoring) from error
                raise

        return score

    # The finished model

    def _results(self, result: Boosted, rules: BoostingRules, rows: BoostingRows, n_with_trend: int) -> dict[str, Any]:
        """Attributes of the estimator fitted with the rounds so far; some of its models have the trend of the rows."""
        n_rounds = max(1, result.n_rounds if rules.n_iter_no_change is None else result.best_round)
        n_trees, unit = n_rounds * result.per_round, rows.unit
        output = np.array(result.output[:n_trees])
        forest = boosted_forest(result.trees[:n_trees], output, result.base)
        forest = as_sets(forest, self.columns_.n_categories, rows.categories)
        if result.n_models > 1:
            forest = replace(forest, value=forest.value / result.n_models)
        if unit != 1.0:
            with np.errstate(over="ignore"):
                base, value = self._loss_.out_of_unit(forest.base, forest.value, unit)
            if not np.isfinite(value).all():
                raise too_fast(rules.learning_rate, n_rounds)
            forest = replace(forest, base=base, value=value)
        forest, n_trees = self._prediction_kernels_.of(forest, rows.data.errors), len(forest)
        if n_with_trend:
            assert rows.trend is not None
            assert rows.train.trend is not None
            y, weights, start = rows.train.y, rows.train.weights, np.broadcast_to(rows.start, rows.train.trend.shape)
            gain = 2.0 * (rows.loss.value(y, start, weights) - rows.loss.value(y, rows.train.trend, weights))
            part = n_with_trend / result.n_models
            forest = with_trend(forest, rows.trend, part, rows.total, n_with_trend * max(0.0, gain))
        return {
            "n_iter_": n_rounds,
            "train_score_": -np.array(result.train_losses),
            "validation_score_": -np.array(result.validation_losses),
            "forest_": forest,
            "n_trend_trees_": len(forest) - n_trees,
            **({} if hasattr(self, "classes_") else {"n_outputs_": self._loss_.n_scores}),
        }

    @property
    def _finished(self) -> SoftForest:
        check_is_fitted(self, "forest_")
        return self.forest_

    @property
    def _n_trend_trees(self) -> int:
        return getattr(self, "n_trend_trees_", 0)  # older files have none

    def _read_points(
        self, X: Any, *, measurement_error: Any = None, **unknown: Any
    ) -> tuple[np.ndarray, np.ndarray | None]:
        found = super()._read_points(X, measurement_error=measurement_error, **unknown)
        if measurement_error is not None:
            self._refuse_functions(measurement_error, self._directions())
        return found

    def _raw(self, X: Any, **conditions: Any) -> np.ndarray:
        """Raw scores of the rows, (n_rows, n_scores)."""
        if self._known_raw is not None:
            return self._known_raw
        matrix, widths = self._read_points(X, **conditions)
        return self._finished.predict(matrix, widths=widths, n_jobs=self.n_jobs)

    def _staged_raw(self, X: Any, **conditions: Any) -> Iterator[np.ndarray]:
        matrix, widths = self._read_points(X, **conditions)
        n_trees = len(self._finished) - self._n_trend_trees
        forest, step = self._finished.first(n_trees), n_trees // self.n_iter_
        trend = self._finished.sum_of(np.arange(n_trees, len(self._finished)), matrix)
        for raw in forest.staged_predict(matrix, widths=widths, step=step, n_jobs=self.n_jobs):
            yield raw + trend


def _are_ones(weights: np.ndarray) -> bool:
    return bool(np.all(weights == 1))


def _takes_weights(scorer: Callable[..., Any]) -> bool:
    parameters = signature(scorer).parameters.values()
    return any(parameter.name == "sample_weight" or parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
