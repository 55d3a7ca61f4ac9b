"""What all kernel models share: the parameters of the kernels, the rows of a fit, and the prediction kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import field, replace
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.model_selection import BaseCrossValidator, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from softwood.base import BatchEstimator, ClassifierBase, Fit, RegressorBase, as_counts, read_weights, rows_with_weight
from softwood.core.compatibility import with_callbacks
from softwood.core.estimators import documented, estimator
from softwood.core.parameters import (
    check_choice,
    check_count,
    check_integer,
    check_n_jobs,
    check_number,
    parameter_error,
)
from softwood.core.targets import ClassTargets, RealTargets
from softwood.fitted import FittedModel
from softwood.kernel.choosing.bandwidth import content_folds, widths_by_rule
from softwood.kernel.data.bandwidths import stated_widths
from softwood.kernel.data.category_statistics import SETS_UP_TO, ManyCategories, columns_of_many
from softwood.kernel.data.kernels import Kernel, box, resolve_kernels
from softwood.kernel.data.measurement_errors import Errors, are_by_column, error_functions, read_errors
from softwood.kernel.data.preparation import TrainingData, common_errors, prepare
from softwood.kernel.growing.bagging import draws_of
from softwood.kernel.growing.problem import Limits
from softwood.kernel.parts.coding import bin_points, bins_of, sample_data, sample_targets
from softwood.kernel.parts.fits import TreeRowsInParts
from softwood.kernel.parts.sources import LocalSource, RawRows, Source
from softwood.kernel.parts.survey import Survey, survey
from softwood.kernel.prediction import PredictionKernels
from softwood.kernel.rows import TreeRows, TreeRowsInMemory
from softwood.uncertainty.distribution import Distribution
from softwood.uncertainty.leaves import LeafTargets

# A child with less mass than this, or less than this fraction of the total mass, may be an effect of rounding.
_NO_MASS, _NO_PART = 1e-9, 1e-12


@estimator
class KernelModel(BatchEstimator):
    """An estimator with a bandwidth, kernels and measurement errors.

    Parameters
    ----------
    max_depth : int or None
        Largest depth of a tree. None means no limit.
    min_mass : float
        Smallest mass (weight times membership) of a leaf. Larger values give smaller trees.
    prediction_kernel : "same", {"box", "triangle", "gaussian"}, Kernel, dict or None
        Kernel around each row to predict: one for all columns, or a dict by column. "same" is the kernel that the
        trees are grown with. If None, each row follows one path, as in a conventional tree.
    prediction_bandwidth : float, array-like, dict or "same"
        Half-width of the prediction kernel: one number, one per column, or a dict by column, in units of
        `bandwidth_unit`. "same" is the bandwidth that the trees are grown with.
    bandwidth_unit : {"sd", "absolute"}
        Unit of bandwidths that are given as numbers: standard deviations of the columns ("sd"), or the columns' own
        units ("absolute").
    measurement_error : dict, array-like of shape (n_features_in_,) or None
        Known measurement errors of columns, as half-widths in the columns' own units: a dict from columns to numbers
        or to functions of the measured value, or an array. Error and bandwidth are combined as the root of the sum of
        their squares, in `fit` and in predictions with a kernel. Errors of single cells can be passed to `fit` and
        `predict`.
    max_bins : int
        Largest number of bins per column in the histogram search, at most 255.
    growth : {"node", "level"}
        Whether a tree grows node by node, or level by level from histograms of exact sums. With "level", the model
        depends neither on the order of the rows nor on how they are divided, and is that of `softwood.dask`. The page
        about Dask in the documentation lists all differences. ``max_depth=None`` then means 12.
    n_jobs : int or None
        Number of threads. -1 uses all processors, None means 1. The model does not depend on it.

    Attributes
    ----------
    bandwidths_ : ndarray of shape (n_encoded,)
        Half-width of the kernel in each column of the encoded table, in the column's own units.
    """

    bandwidth: float | Sequence[float] | np.ndarray | Mapping[Any, float] | str = "auto"
    max_leaf_nodes: int | str | None = None
    max_depth: int | None = None
    min_mass: float | str = 1.0
    min_gain: float = 0.0
    max_features: int | float | str | None = None
    prediction_kernel: Literal["same", "box", "triangle", "gaussian"] | Kernel | Mapping[Any, str | Kernel] | None = (
        "same"
    )
    prediction_bandwidth: float | Sequence[float] | np.ndarray | Mapping[Any, float] | Literal["same"] = "same"
    bandwidth_unit: Literal["sd", "absolute"] = "sd"
    measurement_error: Mapping[Any, float | Callable[..., Any]] | Sequence[float] | np.ndarray | None = None
    max_bins: int = 255
    cutoff: float = 1e-4
    growth: Literal["node", "level"] = "node"
    n_jobs: int | None = None

    _prediction_kernels_: PredictionKernels = field(init=False)
    bandwidths_: np.ndarray = field(init=False)
    bandwidth_: float = field(init=False)

    # Ways to choose the bandwidth from the data, by name.
    _rules: ClassVar[tuple[str, ...]] = ("auto", "cv", "silverman", "loo")

    def _read_training_data(
        self, X: Any, y: Any, sample_weight: Any, earlier: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, ClassTargets | RealTargets, np.ndarray, np.ndarray]:
        """As for all estimators, with weights scaled to numbers of rows, the unit of `min_mass`."""
        matrix, targets, weights, rows = super()._read_training_data(X, y, sample_weight, earlier)
        return matrix, targets, as_counts(weights), rows

    @property
    def _has_category_codes(self) -> bool:
        return True

    # Rows in parts

    @contextmanager
    def _read_parts(
        self, X: Any, y: Any, sample_weight: Any, earlier: dict[str, Any] | None = None
    ) -> Iterator[Source]:
        """The rows in as many parts as there are threads; `earlier` as in `_read_training_data`."""
        matrix, targets, weights, rows = super()._read_training_data(X, y, sample_weight, earlier)
        learned = self._raw_targets(targets, y, rows)
        yield LocalSource(RawRows(matrix, learned, weights), effective_n_jobs(self.n_jobs))

    def _raw_targets(self, targets: ClassTargets | RealTargets, y: Any, rows: np.ndarray) -> np.ndarray:
        """Targets of the kept rows, in the form of `RawRows`."""
        if isinstance(targets, RealTargets):
            numbers = np.asarray(y, dtype=np.float64)
            return numbers.reshape(len(numbers), -1)[rows]
        learned = targets.labels if targets.shares is None else targets.shares
        assert learned is not None
        return learned

    def _survey(self, source: Source, seed: int, criterion: str, measurement_error: Any) -> tuple[Survey, TrainingData]:
        """What is known about the rows in parts, and the binned sample."""
        for spec in (self.measurement_error, measurement_error):
            if not are_by_column(spec):
                expected = "a number or a function for each column, not errors of single cells, with growth='level'"
                raise parameter_error(self, "measurement_error", expected, spec)
        for j in columns_of_many(self.columns_.n_categories).tolist():
            raise ValueError(
                f"Column {self.columns_.names[j]!r} has {self.columns_.n_categories[j]} different categories. With "
                f"growth='level' and on Dask, columns can have at most {SETS_UP_TO}: merge rare ones, or set "
                "growth='node'."
            )
        classes = getattr(self, "classes_", None)
        kernels = resolve_kernels(self, "kernel", self.kernel, self.columns_)
        found = survey(source, seed, None if classes is None else len(classes), self._factors_of_classes)
        if classes is not None and found.masses is None:
            self._class_weights(ClassTargets(classes, None, np.empty((0, len(classes)))), np.empty(0))
        targets = sample_targets(found, classes, getattr(self, "_is_flat_", True))
        bins = bins_of(found, self.max_bins, self.n_jobs, self.columns_.n_categories)
        errors = self._errors(measurement_error, found.sample.matrix)
        data = sample_data(found, bins, targets, self.columns_, kernels, errors, criterion)
        self._make_prediction_kernels(np.zeros(len(data.deviations)), data)  # check its parameters before any work
        return found, data

    def _factors_of_classes(self, masses: np.ndarray) -> np.ndarray | None:
        """Weights of the classes, given the mass of each; None if there are none."""
        numbers = np.arange(len(masses), dtype=np.int32)
        factors = self._class_weights(ClassTargets(self.classes_, numbers, None), masses)
        return None if isinstance(factors, float) else self._checked_factors(factors, masses)

    def _checked_factors(self, factors: Any, weights: np.ndarray) -> Any:
        """Class weights, if they leave any weight."""
        if not np.any(factors * weights):
            raise ValueError("class_weight is zero for all classes of y.")
        return factors

    # Parameters

    def _check_kernel_parameters(self) -> None:
        check_choice(self, "splitter", self.splitter, ("auto", "exact", "hist"))
        check_choice(self, "bandwidth_unit", self.bandwidth_unit, ("sd", "absolute"))
        check_integer(self, "max_bins", self.max_bins, low=2, high=255)
        if isinstance(self.cv, Integral):
            check_integer(self, "cv", self.cv, low=2)
        check_n_jobs(self, self.n_jobs)
        check_choice(self, "growth", self.growth, ("node", "level"))
        if isinstance(self.bandwidth, str) and self.bandwidth not in self._rules:
            expected = f"a number, one per column, a dict by column, or one of {', '.join(map(repr, self._rules))}"
            raise parameter_error(self, "bandwidth", expected, self.bandwidth)
        if self.growth == "level":
            self._check_level()

    def _check_level(self) -> None:
        """Refuse parameters that growth by levels does not take; docs/guide/dask.md gives the reasons."""
        if self.splitter == "exact":
            raise self._no_level("splitter", "'auto' or 'hist'")
        if not isinstance(self.cv, Integral):
            raise self._no_level("cv", "an int")

    def _no_level(self, name: str, expected: str) -> ValueError:
        return parameter_error(self, name, f"{expected} with growth='level'", getattr(self, name))

    def _limits(self) -> Limits:
        return Limits(
            max_depth=check_integer(self, "max_depth", self.max_depth, low=1, or_none=True),
            min_mass=self._stated_mass(),
            min_gain=check_number(self, "min_gain", self.min_gain, low=0.0),
            max_leaf_nodes=self._most_leaves(),
            cutoff=check_number(self, "cutoff", self.cutoff, low=0.0, high=0.1),
        )

    def _most_leaves(self) -> int | None:
        return check_integer(self, "max_leaf_nodes", self.max_leaf_nodes, low=2, or_none=True)

    def _stated_mass(self) -> float:
        return check_number(self, "min_mass", self.min_mass, low=0.0, open_low=True)

    @staticmethod
    def _least_mass(min_mass: float, total: float) -> float:
        """`min_mass`, or a larger value if rounding requires it; `total` is the mass of all rows."""
        return max(min_mass, _NO_MASS, _NO_PART * total)

    def _new_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _n_draw(self, p: int) -> int:
        """Number of features to look at in each node."""
        wanted = self.max_features
        if wanted is None:
            return p
        if isinstance(wanted, str):
            check_choice(self, "max_features", wanted, ("sqrt", "log2"))
            return max(1, int(np.sqrt(p) if wanted == "sqrt" else np.log2(p)))
        if isinstance(wanted, float | np.floating) and 0.0 < wanted <= 1.0:
            return max(1, int(wanted * p))
        return min(check_count(self, "max_features", wanted), p)

    def _prepare(
        self,
        matrix: np.ndarray,
        targets: Any,
        weights: np.ndarray,
        rows: np.ndarray,
        n_rows: int,
        measurement_error: Any,
        criterion: str,
    ) -> TrainingData:
        """The binned training data; `rows` are the kept ones of the user's `n_rows` rows."""
        data = prepare(
            matrix, targets, weights, self.columns_, resolve_kernels(self, "kernel", self.kernel, self.columns_),
            self._errors(measurement_error, matrix, rows, n_rows), criterion=criterion, splitter=self.splitter,
            max_bins=self.max_bins, n_jobs=self.n_jobs,
        )  # fmt: skip
        self._make_prediction_kernels(np.zeros(matrix.shape[1]), data)  # check its parameters before any work
        return data

    def _errors(
        self, given: Any, matrix: np.ndarray, rows: np.ndarray | None = None, n_rows: int | None = None
    ) -> Errors:
        """Errors of the columns from the parameter, replaced by those in `given`."""
        return {
            **read_errors(self, self.measurement_error, self.columns_, matrix),
            **read_errors(self, given, self.columns_, matrix, rows, n_rows),
        }

    def _given_widths(self, data: TrainingData) -> np.ndarray | None:
        """Half-width of each column's kernel in the column's units; None if held-out loss decides."""
        if not isinstance(self.bandwidth, str):
            widths = stated_widths(self, "bandwidth", self.bandwidth, self.columns_)
            is_sd = self.bandwidth_unit == "sd"
            return widths * data.deviations if is_sd else np.where(data.deviations > 0, widths, 0.0)
        return widths_by_rule(self.bandwidth, data) if self.bandwidth in ("silverman", "loo") else None

    def _folds(self, rows: TreeRows) -> list[tuple[np.ndarray, np.ndarray]]:
        """Training and held-out rows of the folds of `cv`."""
        data, numbers = rows.trial, rows.numbers
        if isinstance(self.cv, Integral):
            return list(content_folds(data.matrix, int(self.cv), rows.seed))
        assert numbers is not None
        number = np.full(int(numbers.max()) + 1, -1)
        number[numbers] = np.arange(len(numbers))  # the user's splits also count the rows of weight 0
        labels = None
        if isinstance(data.targets, ClassTargets) and data.targets.labels is not None:
            labels = np.zeros(len(number), dtype=np.int32)
            labels[numbers] = data.targets.labels
        splits = check_cv(self.cv, labels, classifier=labels is not None).split(np.zeros(len(number)), labels)
        kept = [tuple(number[part[part < len(number)]] for part in map(np.asarray, split)) for split in splits]
        return [(train[train >= 0], test[test >= 0]) for train, test in kept]

    # Prediction kernels

    def _make_prediction_kernels(self, widths: np.ndarray, data: TrainingData) -> PredictionKernels:
        """Prediction kernels of a model with these bandwidths (p,)."""
        kernels, kinds, shapes = data.kernels, data.kinds, data.shapes
        is_crisp = self.prediction_kernel is None
        same_kernel = isinstance(self.prediction_kernel, str) and self.prediction_kernel == "same"
        same_width = isinstance(self.prediction_bandwidth, str) and self.prediction_bandwidth == "same"
        if is_crisp:
            widths, kernels = np.zeros_like(widths), [box()] * len(widths)
        elif not same_kernel:
            kernels, kinds, shapes = resolve_kernels(self, "prediction_kernel", self.prediction_kernel, self.columns_)
        if not is_crisp and not same_width:
            widths = stated_widths(self, "prediction_bandwidth", self.prediction_bandwidth, self.columns_)
            if self.bandwidth_unit == "sd":
                widths = widths * data.deviations
        widths = np.where(self.columns_.is_category, 0.0, widths)
        by_column = len(common_errors(data.errors)) == len(data.errors) and not any(k.scale for k in kernels)
        return PredictionKernels(
            widths, kernels, kinds, shapes,
            measurement_error=None if is_crisp else deepcopy(self.measurement_error),
            is_crisp=is_crisp,
            is_as_grown=same_kernel and same_width and by_column,
            has_node_widths=self._has_node_widths and same_width,
        )  # fmt: skip

    @property
    def _has_node_widths(self) -> bool:
        """Whether half-widths differ from node to node, so that those of the columns cannot replace them."""
        return False

    def _read_points(
        self, X: Any, *, measurement_error: Any = None, **unknown: Any
    ) -> tuple[np.ndarray, np.ndarray | None]:
        matrix, _ = super()._read_points(X, **unknown)
        return matrix, self._cell_widths(matrix, measurement_error)

    def _cell_widths(self, matrix: np.ndarray, measurement_error: Any = None) -> np.ndarray | None:
        kernels = self._prediction_kernels_
        errors = {
            **read_errors(self, kernels.measurement_error, self.columns_, matrix),
            **read_errors(self, measurement_error, self.columns_, matrix),
        }
        if measurement_error is not None:  # these may differ from the errors stored in the tree: set every column
            errors = {j: np.broadcast_to(error, len(matrix)) for j, error in errors.items()}
        if kernels.has_node_widths and errors:
            raise self._no_errors_with_node_widths()
        cells = kernels.cells(errors, matrix)
        if cells is not None and self._n_trend_trees:
            self._keep_widths_of_trend(cells)
        return cells

    def _keep_widths_of_trend(self, cells: np.ndarray) -> None:
        """Let the trees of a linear trend keep their half-widths, (n, p) or (n, 2 p); no column may have errors."""
        forest: Any = self._finished
        own = np.concatenate([self._prediction_kernels_.widths, np.zeros(forest.n_features)])
        for j in np.unique(forest.feature[forest.offsets[len(forest) - self._n_trend_trees : -1]]).tolist():
            for k in range(j, cells.shape[1], forest.n_features):
                if not np.all((cells[:, k] == own[k]) | np.isnan(cells[:, k])):
                    column = self.columns_.inputs[self.columns_.source[j]]
                    expected = f"0 in column {column!r}, of which the model has a linear trend; fit with trend=None"
                    raise parameter_error(self, "measurement_error", expected, "other errors")
                cells[:, k] = np.nan

    def _as_fitted(self) -> FittedModel:
        known = super()._as_fitted()
        if self._prediction_kernels_.is_crisp or self._cell_widths(np.empty((0, len(known.columns.names)))) is None:
            return known
        differs = (
            f"The kernels of this {known.kind} depend on the row, by a function given as measurement_error or as scale "
            "of a Kernel. Functions cannot be exported; fit it with numbers, or export its tree_ or forest_."
        )
        return replace(known, differs=known.differs or differs)

    def _width_slopes(
        self, matrix: np.ndarray, widths: np.ndarray | None, *, measurement_error: Any = None, **_: Any
    ) -> np.ndarray | None:
        functions = {
            **error_functions(self, self._prediction_kernels_.measurement_error, self.columns_),
            **error_functions(self, measurement_error, self.columns_),
        }
        return self._prediction_kernels_.cell_slopes(functions, matrix, widths)

    def _no_errors_with_node_widths(self) -> ValueError:
        raise NotImplementedError


@estimator
class SearchedKernelModel(KernelModel):
    """A kernel model whose trees are grown by the general search: kernels of any shape, exact splits, pruning.

    Parameters
    ----------
    kernel : {"box", "triangle", "gaussian"}, Kernel or dict
        Shape of the kernels: one for all columns, or a dict by column. The named kernels have the same standard
        deviation as a box of the same half-width.
    criterion : {"squared_error"}
        Impurity that the splits reduce.
    min_gain : float
        A node is split only if this lowers the impurity by at least `min_gain`, where the impurity is weighted by the
        node's fraction of the total mass.
    max_features : int, float, {"sqrt", "log2"} or None
        Number of features drawn for the search at each node. A float is a fraction of all features. None uses all.
    ccp_alpha : float
        Penalty per leaf in cost-complexity pruning. Larger values give smaller trees. 0 means no pruning.
    splitter : {"auto", "exact", "hist"}
        "exact" searches all candidate thresholds. "hist" first puts each column into at most `max_bins` bins. "auto" is
        "exact" up to 10 000 rows and "hist" above.
    cv : int, cross-validation splitter or iterable of (train, test)
        Folds for ``bandwidth="cv"``. With an int, equal rows are always in the same fold.
    """

    kernel: Literal["box", "triangle", "gaussian"] | Kernel | Mapping[Any, str | Kernel] = "box"
    criterion: Literal["squared_error", "gini", "entropy"] = "squared_error"
    splitter: Literal["auto", "exact", "hist"] = "auto"
    max_features: int | float | Literal["sqrt", "log2"] | None = None
    ccp_alpha: float = 0.0
    cv: int | BaseCrossValidator | Iterable[tuple[np.ndarray, np.ndarray]] = 10

    # Whether rows are drawn for each tree. Class weights then apply to the rows that are drawn, and not to the bins.
    _draws_rows: ClassVar[bool] = False
    _criteria: ClassVar[tuple[str, ...]] = ("squared_error",)

    def _check_kernel_parameters(self) -> None:
        super()._check_kernel_parameters()
        check_choice(self, "criterion", self.criterion, self._criteria)
        check_number(self, "ccp_alpha", self.ccp_alpha, low=0.0)

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, measurement_error: Any = None) -> Self:
        """Grow the tree or the trees.

        After an interrupt, the trees of a forest that are finished make up a working forest.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features_in)
            The rows. Text and category columns of frames are categories. Missing values are allowed everywhere.
        """
        with self._fitting(X, y, sample_weight) as fit:
            fit.worker._grow(fit, X, y, sample_weight, measurement_error)
        return self

    @contextmanager
    def _rows(
        self, X: Any, y: Any, sample_weight: Any, measurement_error: Any, earlier: dict[str, Any] | None = None
    ) -> Iterator[TreeRows]:
        """Read and prepare the rows; `earlier` as in `_read_training_data`."""
        seed = earlier["_seed_"] if earlier else self._new_seed()
        if self.growth == "level":
            with self._read_parts(X, y, sample_weight, earlier) as source:
                found, data = self._survey(source, seed, self.criterion, measurement_error)
                errors = self._errors(measurement_error, bin_points(data.bins))
                yield TreeRowsInParts(source, found, data, seed, errors, self._draw_rate(found.n_rows))
            return
        matrix, targets, counts, numbers = self._read_training_data(X, y, sample_weight, earlier)
        factors = self._checked_factors(self._class_weights(targets, counts), counts)
        weights = counts if self._draws_rows else counts * factors
        categories, n_categories = None, self.columns_.n_categories
        if len(columns_of_many(n_categories)):
            group = draws_of(matrix, targets, weights, seed).group
            categories = ManyCategories.of(matrix, targets.matrix(), weights, group, n_categories, seed)
            matrix = matrix if categories is None else categories.encoded
        data = self._prepare(matrix, targets, weights, numbers, len(np.asarray(y)), measurement_error, self.criterion)
        yield TreeRowsInMemory(data, seed, numbers, factors, self.n_jobs, categories)

    def _draw_rate(self, n_rows: int) -> float | None:
        """How often a row of this many is drawn for a tree, on average; None: every row is taken once."""
        return None

    def _grow(self, fit: Fit, X: Any, y: Any, sample_weight: Any, measurement_error: Any = None) -> None:
        raise NotImplementedError


@documented
class SearchedKernelClassifier(ClassifierBase):
    """Criteria and predictions of kernel trees and forests for classes."""

    _criteria: ClassVar[tuple[str, ...]] = ("gini", "entropy")

    def predict_proba(self, X: Any, measurement_error: Any = None) -> np.ndarray:
        """Class probabilities; those of a forest are the means over its trees."""
        return self._probabilities(X, measurement_error=measurement_error)

    def predict(self, X: Any, measurement_error: Any = None) -> np.ndarray:
        """Most probable class of each row."""
        return self._classes(X, measurement_error=measurement_error)


@documented
class SearchedKernelRegressor(RegressorBase):
    """Predictions of kernel trees and forests for real targets."""

    leaf_targets_: LeafTargets

    def keep_targets(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Keep the targets of the training rows in the leaves, for `predict_distribution` and `predict_quantiles`.

        A row is divided among the leaves as in a prediction. So the memberships of a new row are weights of the
        training rows, as in quantile regression forests. Memory grows with the memberships of the training rows, and of
        more than 1 000 different targets, means of 1 000 parts are kept.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features_in)
            The training rows.
        y : array-like of shape (n_rows,)
            Their targets.

        Returns
        -------
        estimator
            The estimator itself.
        """
        _ = self._finished
        if not self._is_flat_:
            raise ValueError(f"keep_targets needs a model of one target. This {type(self).__name__} has several.")
        X, y, sample_weight, _ = rows_with_weight(X, y, sample_weight)
        matrix, widths = self._read_points(X)
        check_consistent_length(matrix, y)
        targets = column_or_1d(check_array(y, dtype=np.float64, ensure_2d=False, input_name="y"), warn=True)
        weights = read_weights(sample_weight, len(matrix))
        kept = targets - self._beside_trees(matrix, widths)
        self.leaf_targets_ = LeafTargets.of(self._read_trees, matrix, widths, kept, weights)
        return self

    def _beside_trees(self, matrix: np.ndarray, widths: np.ndarray | None) -> np.ndarray:
        """What a trend adds to the trees, (n,)."""
        if self._read_trees is self._finished:
            return np.zeros(len(matrix))
        whole, tree = (part.predict(matrix, widths=widths) for part in (self._finished, self._read_trees))
        return (whole - tree)[:, 0]

    def _leaf_distribution(self, X: Any, **conditions: Any) -> Distribution:
        matrix, widths = self._read_points(X, **conditions)
        return self.leaf_targets_.distribution(self._read_trees, matrix, widths, self._beside_trees(matrix, widths))

    def predict(self, X: Any, measurement_error: Any = None) -> np.ndarray:
        """Predicted targets; those of a forest are the means over its trees."""
        return self._targets(X, measurement_error=measurement_error)
