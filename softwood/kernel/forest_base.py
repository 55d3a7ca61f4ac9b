"""What kernel forests and extra trees have in common; the estimators are in `softwood.kernel.forest`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache, partial
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.validation import check_is_fitted

from softwood.base import Fit
from softwood.core.estimators import estimator
from softwood.core.parameters import check_count, check_flag, check_integer, is_real, parameter_error
from softwood.core.steps import Steps
from softwood.core.targets import ClassTargets
from softwood.kernel.base import SearchedKernelModel
from softwood.kernel.choosing.forest_bandwidth import ChosenScale, ForestChoice
from softwood.kernel.data.category_statistics import SETS_UP_TO, as_sets
from softwood.kernel.data.preparation import TrainingData
from softwood.kernel.growing.bagging import Draws, assemble, draws_of, out_of_bag, size_of_errors
from softwood.kernel.growing.loops.groups import NodeTable
from softwood.kernel.growing.problem import Limits
from softwood.kernel.rows import TreeRows
from softwood.trees.forest import SoftForest
from softwood.uncertainty.held_out import HeldOut, own_copies


@estimator
class KernelForest(SearchedKernelModel):
    """What the four estimators share.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    bandwidth : float, array-like, dict or {"auto", "oob", "cv", "silverman", "loo"}
        Half-width of the kernels, in units of `bandwidth_unit`. Larger values give smoother predictions and slower
        fits. 0 gives a conventional forest. Either one number for all columns, one number per column, a dict by
        column (columns that it leaves out get 0), or a rule:

        - "auto" and "oob" choose one number of standard deviations for all columns by the loss of the trees on their
          out-of-bag rows. "auto" uses some of the trees and has a bounded cost, "oob" uses all of them.
        - "cv" chooses this number by cross-validation with `cv` folds.
        - "silverman" applies Silverman's rule of thumb to each column.
        - "loo" chooses for each column the half-width whose leave-one-out prediction of the target from that column
          alone is best.
    max_leaf_nodes : int or None
        Largest number of leaves of a tree, which then grows best first. None means no limit.
    bootstrap : bool
        If True, grow each tree on rows drawn with replacement; if False, on all rows.
    max_samples : int, float or None
        Number of rows to draw for each tree. A float is a fraction of all rows. None draws as many rows as there are.
        Requires ``bootstrap=True``.
    oob_score : bool or callable
        If True, predict each row with the trees that were not grown on it, and compute the score of these predictions.
        A callable is called with (truth, prediction) to compute the score. Requires ``bootstrap=True``.
    cutoff : float
        If a split would send less than this share of a training row to one side, that part goes to the other side.
        Predictions have no cutoff. Forests gain little time from larger values.
    growth : {"node", "level"}
        Whether a tree grows node by node, or level by level from histograms of exact sums. With "level", the model
        depends neither on the order of the rows nor on how they are divided, and is that of `softwood.dask`. The page
        about Dask in the documentation lists all differences. ``max_depth=None`` then means 12, and bootstrap samples
        contain each row a Poisson number of times.
    warm_start : bool
        If True, `fit` keeps the trees of the previous fit and adds trees until there are `n_estimators`. Columns and
        targets must be of the same kind as in that fit. New categories may occur; trees of the previous fit send them
        to the child with the larger mass.
    n_jobs : int or None
        Number of joblib workers for growing and predicting: threads, unless `joblib.parallel_config` sets another
        backend. -1 uses all processors, None means 1. The forest does not depend on it.
    random_state : int, RandomState instance or None
        Controls the rows and features drawn, and the choice of the bandwidth.

    Attributes
    ----------
    forest_ : SoftForest
        The finished trees, with the prediction kernel.
    estimators_ : list of estimators
        The same trees as separate fitted estimators.
    bandwidth_ : float
        The chosen bandwidth in standard deviations. Only if `bandwidth` is "auto", "oob" or "cv".
    oob_score_ : float
        Score of the out-of-bag predictions. Only if `oob_score` is set.
    """

    n_estimators: int = field(default=100, kw_only=False)
    bandwidth: (
        float | Sequence[float] | np.ndarray | Mapping[Any, float] | Literal["auto", "oob", "cv", "silverman", "loo"]
    ) = "auto"
    max_leaf_nodes: int | None = None
    min_mass: float = 1.0
    max_features: int | float | Literal["sqrt", "log2"] | None = 1.0
    bootstrap: bool = True
    max_samples: int | float | None = None
    oob_score: bool | Callable[[np.ndarray, np.ndarray], float] = False
    cv: int | BaseCrossValidator | Iterable[tuple[np.ndarray, np.ndarray]] = 5
    warm_start: bool = False

    forest_: SoftForest = field(init=False)
    oob_score_: float = field(init=False)
    _leading: ClassVar[tuple[str, ...]] = (
        "n_estimators", "bandwidth", "max_features", "max_leaf_nodes", "max_depth", "min_mass", "min_gain", "kernel",
        "criterion", "ccp_alpha", "bootstrap", "max_samples", "oob_score",
    )  # fmt: skip
    _rules: ClassVar[tuple[str, ...]] = ("auto", "oob", "cv", "silverman", "loo")
    _draws_rows: ClassVar[bool] = True
    _random_thresholds: ClassVar[bool] = False
    _tree_class: ClassVar[type]

    def _grow(self, fit: Fit, X: Any, y: Any, sample_weight: Any, measurement_error: Any = None) -> None:
        limits = self._check_parameters()
        before = fit.earlier if self.warm_start and fit.earlier.get("_grown_") is not None else {}
        with self._rows(X, y, sample_weight, measurement_error, before) as rows:
            if rows.categories is not None:  # sets of the finished trees know the row's own target
                for name in ("oob_score", "refine"):
                    given = getattr(self, name, False)
                    if given not in (False, "auto"):
                        expected = f"False with columns of more than {SETS_UP_TO} categories"
                        raise parameter_error(self, name, expected, given)
            stages = fit.stages()
            draws, held_out = self._grow_forest(stages, rows, limits, before)
            if rows.is_sampled or rows.categories is not None:  # the latter know their own targets
                return
            n = len(rows.data.matrix)
            data, draws = own_copies(rows.data.matrix.size, rows.data, draws)
            out_of_bag = self._out_of_bag(data, draws)
            if self.bootstrap and self._wants_oob:
                self._set_oob(rows, draws, y, *out_of_bag()[:2])
            size = self._refine(stages, rows, draws)
            if self.bootstrap and not before and draws.has_rest:  # trees of an earlier fit may have seen other rows
                held_out = (
                    np.arange(n), lambda: out_of_bag()[0], lambda: out_of_bag()[2] * (1.0 if size is None else size())
                )  # fmt: skip
            if held_out is not None:
                self._hold_out(data.matrix.size, partial(_held_out, data, draws.weights, *held_out))

    def _refine(self, stages: Steps, rows: TreeRows, draws: Draws) -> Callable[[], float] | None:
        """Change the finished trees, if they are refined; returns what tells the size of errors after that."""
        return None

    def _grow_forest(
        self, stages: Steps, rows: TreeRows, limits: Limits, before: dict[str, Any]
    ) -> tuple[Draws, tuple[np.ndarray, Callable[[], np.ndarray], Callable[[], float]] | None]:
        """Choose the bandwidth and grow the trees.

        Returns how their rows were drawn, and the arguments of `_held_out` if the choice has predicted held-out rows.
        """
        data = rows.data
        limits = replace(
            limits,
            n_draw=self._n_draw(data.matrix.shape[1]),
            min_mass=self._least_mass(limits.min_mass, rows.total),
            random_thresholds=self._random_thresholds,
        )
        earlier = self._earlier_trees(before) if before else None
        self._seed_ = rows.seed
        if earlier is not None:
            kept = ("bandwidth_", "bandwidths_")
            self.__dict__.update({name: before[name] for name in kept if name in before})
        draws = self._draws(rows)
        chosen = self._choose_widths(rows, limits, draws, stages) if earlier is None else ChosenScale(0.0)
        grown = [] if rows.is_sampled else list(chosen.trees)
        self._prediction_kernels_ = self._make_prediction_kernels(self.bandwidths_, data)
        problem = rows.problem(self.bandwidths_)
        n_before = 0 if earlier is None else len(earlier)
        numbers = range(n_before + len(grown), self.n_estimators)

        def forest_of(tables: list[NodeTable], *, consume: bool = False) -> dict[str, Any]:
            """Attributes of a forest fitted with the earlier trees and the trees in `tables`."""
            forest = None
            if tables:
                forest = assemble(problem, tables, self.ccp_alpha, consume=consume, n_jobs=self.n_jobs)
                forest = as_sets(forest, self.columns_.n_categories, rows.categories)
            if earlier is not None:
                forest = earlier if forest is None else earlier.with_trees_of(forest)
            if forest is None:
                return {}
            kept = {"_grown_": forest if self.warm_start else None}
            return {**kept, "forest_": self._prediction_kernels_.of(forest, data.errors)}

        try:
            with stages.stage("grow", "tree", len(numbers)) as steps:
                rows.grow_trees(problem, limits, draws, numbers, grown, steps, forest_of)
        except KeyboardInterrupt:
            self.__dict__.update(forest_of(grown, consume=True))
            raise
        self.__dict__.update(forest_of(grown, consume=True))
        if stages.is_stopped or chosen.held_out is None:
            return draws, None
        which, scaled, size = chosen.held_out
        return draws, (which, lambda: data.targets.in_units(scaled), lambda: size)

    # Parameters

    def _check_parameters(self) -> Limits:
        self._check_kernel_parameters()
        check_integer(self, "n_estimators", self.n_estimators, low=1)
        check_flag(self, "bootstrap", self.bootstrap)
        check_flag(self, "warm_start", self.warm_start)
        if not callable(self.oob_score):
            check_flag(self, "oob_score", self.oob_score)
        if not self.bootstrap:
            if self._wants_oob:
                raise parameter_error(self, "oob_score", "False with bootstrap=False", self.oob_score)
            if self.max_samples is not None:
                raise parameter_error(self, "max_samples", "None with bootstrap=False", self.max_samples)
        return self._limits()

    def _check_level(self) -> None:
        super()._check_level()
        if self._wants_oob:
            raise self._no_level("oob_score", "False")
        if self._balances_draws:
            raise self._no_level("class_weight", "a dict, 'balanced' or None")

    def _draws(self, rows: TreeRows) -> Draws:
        """How the rows of each tree are drawn."""
        data = rows.trial
        draws = draws_of(data.matrix, data.targets, data.weights, rows.seed)
        if rows.is_sampled:  # only for the choice of the bandwidth; weights of classes are those of the rows
            return replace(draws, n_draws=len(data.matrix)) if self.bootstrap else draws
        if isinstance(rows.factors, np.ndarray):
            draws = replace(draws, factors=rows.factors)
        elif self._balances_draws:
            assert isinstance(data.targets, ClassTargets)
            draws = replace(draws, labels=data.targets.labels)
        return replace(draws, n_draws=self._n_draws(data.weights)) if self.bootstrap else draws

    def _draw_rate(self, n_rows: int) -> float | None:
        if not self.bootstrap or self.max_samples is None:
            return 1.0 if self.bootstrap else None
        return self._n_draws(np.array([float(n_rows)])) / n_rows

    @property
    def _balances_draws(self) -> bool:
        """Whether class weights are computed separately for each tree."""
        return False

    def _n_draws(self, weights: np.ndarray) -> int:
        """Number of rows to draw for each tree; whole-number weights count as repeated rows."""
        is_whole = np.all(weights == np.floor(weights)) and weights.sum() < 2**53
        n = int(weights.sum()) if is_whole else len(weights)
        wanted: Any = self.max_samples
        if wanted is None:
            return n
        if isinstance(wanted, Integral) and wanted is not True:
            return check_count(self, "max_samples", wanted, high=n)
        if not is_real(wanted) or not 0.0 < wanted <= 1.0:
            raise parameter_error(self, "max_samples", f"an int in [1, {n}], a float in (0, 1] or None", wanted)
        return max(1, round(n * float(wanted)))

    def _earlier_trees(self, before: dict[str, Any]) -> SoftForest:
        """Trees of the previous fit, with the categories of this one."""
        trees = before["_grown_"].with_categories(before["columns_"].n_categories, self.columns_.n_categories)
        if self.n_estimators < len(trees):
            expected = f"at least {len(trees)}, the number of trees so far, with warm_start=True"
            raise parameter_error(self, "n_estimators", expected, self.n_estimators)
        if self.n_estimators == len(trees):
            warnings.warn("Warm-start fitting without increasing n_estimators does not fit new trees.", stacklevel=3)
        return trees

    def _choose_widths(self, rows: TreeRows, limits: Limits, draws: Draws, stages: Steps) -> ChosenScale:
        """Set ``bandwidths_``, and ``bandwidth_`` if held-out loss decides."""
        widths = self._given_widths(rows.data)
        chosen = ChosenScale(0.0)
        if widths is None:
            with stages.stage("choose bandwidth", "trial") as steps:
                choice = ForestChoice(
                    rows.trial, limits, draws, rows.seed, self.n_estimators, self.ccp_alpha,
                    self.prediction_kernel is None, self.n_jobs, steps,
                )  # fmt: skip
                if self.bandwidth == "cv":
                    chosen = choice.by_cv(self._folds(rows))
                else:
                    chosen = choice.by_oob() if self.bandwidth == "oob" else choice.by_auto()
            self.bandwidth_ = chosen.scale
            widths = self.bandwidth_ * rows.data.deviations
        self.bandwidths_ = widths
        return chosen

    # Out of the bag

    @property
    def _wants_oob(self) -> bool:
        return callable(self.oob_score) or bool(self.oob_score)

    def _out_of_bag(self, data: TrainingData, draws: Draws) -> Callable[[], tuple[np.ndarray, np.ndarray, float]]:
        """What predicts the rows out of the bag by the present trees.

        It returns predictions, numbers of trees, and the size of the errors of all trees as a part of that of these.
        """
        forest, kernels, targets = self.forest_, self._prediction_kernels_, data.targets

        @cache
        def found() -> tuple[np.ndarray, np.ndarray, float]:
            cells = None if kernels.is_crisp else kernels.cells(data.errors, data.matrix)
            means, counts, variances = out_of_bag(
                forest, draws, self._seed_, data.matrix, cells, self.n_jobs, targets.scaled_predictions
            )
            rows = np.flatnonzero(counts > 1)
            errors = ((means[rows] - targets.take(rows).matrix()) ** 2).sum(axis=1)
            size = size_of_errors(errors, counts[rows], variances[rows], len(forest))
            return targets.in_units(means), counts, size

        return found

    def _set_oob(self, rows: TreeRows, draws: Draws, y: Any, found: np.ndarray, counts: np.ndarray) -> None:
        """Set what is known from the predictions of the rows out of the bag, and the score."""
        numbers = rows.numbers
        assert numbers is not None
        truth = np.asarray(y)[numbers]
        if np.any(counts == 0):
            warnings.warn(
                "Some rows are in the bag of every tree and have no out-of-bag prediction; more trees would help.",
                UserWarning,
                stacklevel=3,
            )
        every = np.full((len(np.asarray(y)), found.shape[1]), np.nan)
        every[numbers] = found
        seen = counts > 0
        truth, predicted, score = self._oob_results(every, truth[seen], found[seen])
        if not seen.any():  # nothing is out of the bag
            self.oob_score_ = np.nan
        elif callable(self.oob_score):
            self.oob_score_ = self.oob_score(truth, predicted)
        else:
            self.oob_score_ = score(truth, predicted, sample_weight=draws.weights[seen])

    def _oob_results(
        self, every: np.ndarray, truth: np.ndarray, found: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, Callable[..., float]]:
        """Set the attribute with the out-of-bag predictions; returns truth, predictions and the default score."""
        raise NotImplementedError

    # The finished forest

    @property
    def _finished(self) -> SoftForest:
        check_is_fitted(self, "forest_")
        return self.forest_

    def _predict_matrix(self, matrix: np.ndarray, widths: np.ndarray | None) -> np.ndarray:
        return self._finished.predict(matrix, widths=widths, n_jobs=self.n_jobs)

    @property
    def estimators_(self) -> list[Any]:
        """The trees as separate fitted estimators; ``forest_`` holds the same trees in flat arrays."""
        shared = self._tree_class().get_params()
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name in shared}
        parameters |= {"cv": 10, "verbose": 0, "class_weight": None} if "class_weight" in shared else {}
        fitted = ("columns_", "bandwidths_", "_prediction_kernels_", "n_features_in_", "feature_names_in_", "classes_")
        estimators = []
        for tree in self._finished:
            estimator = self._tree_class(**parameters)
            estimator.tree_ = tree
            for name in (*fitted, "n_outputs_", "_is_flat_"):
                if hasattr(self, name):
                    setattr(estimator, name, getattr(self, name))
            estimators.append(estimator)
        return estimators

    def __len__(self) -> int:
        return len(self._finished)


def _held_out(
    data: TrainingData,
    weights: np.ndarray,
    which: np.ndarray,
    predictions: Callable[[], np.ndarray],
    size: Callable[[], float],
) -> HeldOut | None:
    """Predictions of rows by trees that have not seen them, and the size of the errors of the finished forest."""
    truth = data.targets.in_units(data.targets.matrix()[which])
    found = HeldOut.of(data.matrix[which], predictions(), truth, weights[which])
    return None if found is None else replace(found, scale=size())
