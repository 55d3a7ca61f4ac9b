"""The base of all estimators: read the user's table, keep the finished tree, and predict with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils import Tags
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from softwood.core.columns import Columns
from softwood.core.compatibility import CallbackSupportMixin
from softwood.core.encoding import read_table
from softwood.core.estimators import documented, estimator
from softwood.core.losses import Loss, SeveralQuantilesError
from softwood.core.memory import check_fits
from softwood.core.parameters import check_choice, check_integer, parameter_error
from softwood.core.steps import Steps
from softwood.core.targets import ClassTargets, RealTargets, read_classes, read_reals
from softwood.core.weights import as_counts, read_weights, rows_with_weight
from softwood.fitted import FittedModel
from softwood.outputs import final_link
from softwood.trees.forest import SoftForest
from softwood.trees.tree import SoftTree
from softwood.uncertainty.held_out import HeldOut
from softwood.uncertainty.methods import CalibratedClassifier, CalibratedRegressor

_SORTS = (
    "This {} predicts several quantiles and sorts them, which exports do not do; fit a model for each quantile, or "
    "export its forest_."
)


@documented
class TreeEstimator(BaseEstimator):
    """Base of all estimators: the methods that work on a finished tree or forest.

    `conditions` are further arguments that `predict` of a family takes besides the rows, such as measurement errors.

    Parameters are dataclass fields. They are declared and documented once, in the common base class of all estimators
    that have them. The decorator generates the constructor, which only stores them, and the docstrings of the
    estimators. Attributes that `fit` sets are not parameters; if they are declared in such a class, then with
    ``field(init=False)``.

    Attributes
    ----------
    feature_importances_ : ndarray of shape (n_features_in_,)
        Decrease of impurity by the splits on each column, normalised to a sum of 1.
    columns_ : Columns
        Encoding of the table as a matrix: names of the encoded columns, and categories.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns of `X`. Only if `X` is a data frame whose column names are all strings.

    Arguments of methods
    --------------------
    X : array-like or data frame of shape (n_rows, n_features_in)
        The rows to predict.
    y : array-like of shape (n_rows,) or (n_rows, n_targets)
        Labels or targets. A classifier also takes a matrix of class probabilities.
    sample_weight : array-like of shape (n_rows,) or None
        Weights of the rows. A weight of 2 has the same effect as repeating the row.
    measurement_error : dict, array-like or None
        Known errors of the cells of `X`: a dict from columns to numbers or to arrays of shape (n_rows,), or an
        array of shape (n_rows, n_features_in). They replace the `measurement_error` of the constructor in these
        columns.
    **conditions : dict
        Further arguments of `predict`, such as `measurement_error` of kernel models.
    """

    tree_: SoftTree
    columns_: Columns
    n_features_in_: int
    # Only if `fit` has predictions of rows by models that did not learn from them: these, or what returns them.
    _held_out_: HeldOut | Callable[[], HeldOut | None]

    def _read_targets(self, y: Any, weights: np.ndarray) -> ClassTargets | RealTargets:
        raise NotImplementedError

    def _refuse_other_targets(self, earlier: dict[str, Any]) -> None:
        """With `warm_start`, raise an error if y differs in kind from that of the previous fit (results `earlier`)."""
        raise NotImplementedError

    def _class_weights(self, targets: Any, weights: np.ndarray) -> np.ndarray | float:
        return 1.0

    @property
    def _finished(self) -> SoftTree | SoftForest:
        """The finished tree or forest."""
        check_is_fitted(self, "tree_")
        return self.tree_

    @property
    def _read_trees(self) -> SoftTree | SoftForest:
        """The tree or forest whose nodes users read: all of it, except for the linear trend of a single tree."""
        return self._finished

    @property
    def _n_trend_trees(self) -> int:
        """Number of trees at the end of the forest that make up a linear trend."""
        return 0

    def _predict_matrix(self, matrix: np.ndarray, widths: np.ndarray | None) -> np.ndarray:
        """Predictions for encoded rows, (n_rows, n_outputs)."""
        out, loss = self._finished.predict(matrix, widths=widths), getattr(self, "_loss_", None)
        return out if loss is None else loss.predict(out)

    def _matrix(self, X: Any) -> np.ndarray:
        """The encoded table of rows to predict."""
        _ = self._finished  # raises an error if the estimator is not fitted
        matrix, _ = read_table(self, X, reset=False, columns=self.columns_)
        return matrix

    def _as_fitted(self) -> FittedModel:
        """The model as exports, explanations, plots and reports read it."""
        trees, loss = self._finished, getattr(self, "_loss_", None)
        is_sorted = isinstance(loss, SeveralQuantilesError)
        return FittedModel(
            type(self).__name__,
            trees,
            self.columns_,
            has_names=hasattr(self, "feature_names_in_"),
            fill=self._fill_values(),
            classes=tuple(np.asarray(self.classes_).tolist()) if is_classifier(self) else None,
            link=final_link(loss),
            is_sorted=is_sorted,
            differs=_SORTS.format(type(self).__name__) if is_sorted else "",
            cell_widths=self._cell_widths,
            gradient=self.input_gradient,
            trend=self._n_trend_trees,
        )

    def _fill_values(self) -> np.ndarray | None:
        """Numbers in place of missing values in weighted sums, (n_encoded,); None in families without them."""
        return None

    def _cell_widths(self, matrix: np.ndarray) -> np.ndarray | None:
        """Half-widths of the kernels of single cells of encoded rows; None in families without them."""
        return None

    def _read_points(self, X: Any, **conditions: Any) -> tuple[np.ndarray, np.ndarray | None]:
        """Encoded rows, and half-widths of single cells (None in families without them)."""
        if conditions:
            raise TypeError(f"{type(self).__name__} takes no {sorted(conditions)[0]!r} when predicting.")
        return self._matrix(X), None

    def _width_slopes(self, matrix: np.ndarray, widths: np.ndarray | None, **conditions: Any) -> np.ndarray | None:
        """Derivatives of the half-widths of single cells with respect to the values; None if they are all 0."""
        return None

    def _gradient(self, X: Any, **conditions: Any) -> np.ndarray:
        """Derivative of the predictions with respect to the encoded columns, (n_rows, n_outputs, n_encoded)."""
        matrix, widths = self._read_points(X, **conditions)
        finished, slopes = self._finished, self._width_slopes(matrix, widths, **conditions)
        n, q = len(matrix), finished.n_outputs
        check_fits("input_gradient", (n, q, self.n_features_in_), (n, q, matrix.shape[1]))
        gradient = finished.input_gradient(matrix, widths=widths, width_slopes=slopes)
        loss: Loss | None = getattr(self, "_loss_", None)
        return gradient if loss is None else loss.predict_gradient(finished.predict(matrix, widths=widths), gradient)

    def memberships(self, X: Any, **conditions: Any) -> sparse.csr_array:
        """Share of each row in each node of ``tree_``; shares of the leaves add up to 1.

        Returns
        -------
        sparse array of shape (n_rows, n_nodes)
            Shares of the rows in the nodes.
        """
        matrix, widths = self._read_points(X, **conditions)
        return self._read_trees.memberships(matrix, widths=widths)

    def apply(self, X: Any, **conditions: Any) -> np.ndarray:
        """Leaf of ``tree_`` with the largest share of each row.

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_trees) for several trees
            Numbers of the leaves.
        """
        matrix, widths = self._read_points(X, **conditions)
        return self._read_trees.apply(matrix, widths=widths)

    def decision_path(self, X: Any, **conditions: Any) -> Any:
        """Nodes that each row reaches, as in scikit-learn.

        Returns
        -------
        indicator : sparse array of shape (n_rows, n_nodes)
            Which nodes each row reaches. The nodes of all trees are side by side if there are several.
        n_nodes_ptr : ndarray of shape (n_trees + 1,)
            The columns of tree ``t`` are ``n_nodes_ptr[t]`` to ``n_nodes_ptr[t + 1]``. Only if there are several trees.
        """
        matrix, widths = self._read_points(X, **conditions)
        trees = self._read_trees
        indicator = trees.decision_path(matrix, widths=widths)
        return (indicator, trees.offsets.copy()) if isinstance(trees, SoftForest) else indicator

    def input_gradient(self, X: Any, **conditions: Any) -> np.ndarray:
        """Derivative of the prediction with respect to each column of X.

        The prediction is that of `predict_proba`, or of `predict` in regressors. The derivative is 0 for categories
        and for missing values, and per day for dates.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs, n_features_in)
            Derivatives of the predictions.
        """
        gradient = self._gradient(X, **conditions)
        gradient[:, :, self.columns_.is_step] = 0.0
        return self.columns_.add_up(gradient)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Decrease of impurity by each column of X, normalised to a sum of 1, (n_features_in,)."""
        return self.columns_.add_up(self._finished.feature_importances())

    def get_depth(self) -> int:
        """Depth of the tree, or of the deepest tree of an ensemble."""
        return self._read_trees.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves, summed over all trees."""
        return self._read_trees.n_leaves

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = False
        return tags


@dataclass
class Fit:
    """A fit that is under way.

    Attributes
    ----------
    estimator : the user's estimator, which does not change until the fit has ended
    worker : a copy of the estimator without fitted attributes, which is fitted in its place
    data : ``X``, ``y`` and ``metadata`` in the form that scikit-learn's callbacks take
    earlier : fitted attributes of the previous fit, for a warm start
    context : context of the callbacks, once the steps have begun; None in versions of scikit-learn without callbacks
    """

    estimator: BatchEstimator
    worker: Any
    data: dict[str, Any]
    earlier: dict[str, Any]
    context: Any = None

    def stages(self, history: list[dict[str, Any]] | None = None) -> Steps:
        """The stages of a fit that has several kinds of steps; call it only once.

        Which stages there are depends on parameters and data, so their number is not passed to scikit-learn.
        """
        return self.steps("stage", history=history)

    def steps(self, unit: str, n_steps: int | None = None, history: list[dict[str, Any]] | None = None) -> Steps:
        """The steps of a fit that has one kind of them; call it only once. Arguments as in `Steps`."""
        self.context = self.estimator._init_callback_context(max_subtasks=n_steps)
        if self.context is not None:
            self.context.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        return Steps(
            unit, n_steps, estimator=self.estimator, context=self.context, data=self.data, results=self.results,
            history=history,
        )  # fmt: skip

    def results(self) -> dict[str, Any]:
        """The fitted attributes so far."""
        return _results_of(self.worker)

    def end(self) -> None:
        """Call the callbacks for the end of the fit, and move the results to the user's estimator."""
        if self.context is not None:
            self.context.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes=self.results, **self.data
            )
        self.hand_over()

    def hand_over(self) -> None:
        """Replace all results of the user's estimator."""
        for name in _results_of(self.estimator):
            delattr(self.estimator, name)
        self.estimator.__dict__.update(self.results())


def _results_of(estimator: Any) -> dict[str, Any]:
    """Results of a fit: the attributes whose name ends in an underscore, hidden ones too."""
    return {name: value for name, value in vars(estimator).items() if name.endswith("_")}


@estimator
class BatchEstimator(CallbackSupportMixin, TreeEstimator):
    """An estimator that is fitted to a whole table.

    A family's `fit`, under the decorator `with_callbacks`, works within `_fitting`, and on its ``worker``:
    it calls `_read_training_data`, grows step by step, and stores the `SoftTree` in ``tree_``, or the `SoftForest` in
    ``forest_``.

    Parameters
    ----------
    categorical_features : "from_dtype", array-like of bool, int or str, or None
        Columns to treat as categories: a mask, numbers or names of columns. "from_dtype" selects the text and category
        columns of data frames. None selects no columns.
    dates : {"parts", "days", "error"}
        What becomes of columns of dates. "parts" makes them days since the first date of the training rows, and the
        hour, the weekday and the month where these vary; "days" makes them days alone; "error" refuses them. Durations
        become days.
    handle_unknown : {"missing", "error"}
        Whether `predict` treats a category that was not seen in `fit` as a missing value or raises an error.
    verbose : int
        If 1, print progress about once per second. If 2 or more, print every step.

    Attributes
    ----------
    calibration_ : Calibration
        Errors on held-out rows, for intervals and sets. Only if `fit` has held rows out, or after `calibrate`.
    """

    categorical_features: Sequence[Any] | np.ndarray | Literal["from_dtype"] | None = "from_dtype"
    dates: Literal["parts", "days", "error"] = "parts"
    handle_unknown: Literal["missing", "error"] = "missing"
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    @property
    def _has_category_codes(self) -> bool:
        """Whether the trees test sets of categories, so that a column of categories is one column of their numbers."""
        return False

    @contextmanager
    def _fitting(self, X: Any, y: Any, sample_weight: Any) -> Iterator[Fit]:
        """Context of a fit.

        A copy of the estimator is fitted. At the end, its fitted attributes replace those of the estimator, all at
        once; after an interrupt, they do so if there is a model by then. If the fit fails, the estimator does not
        change.
        """
        check_integer(self, "verbose", self.verbose, low=0)
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        earlier = _results_of(self)
        worker = object.__new__(type(self))
        worker.__dict__.update({name: value for name, value in vars(self).items() if name not in earlier})
        fit = Fit(self, worker, {"X": X, "y": y, "metadata": metadata}, earlier)
        try:
            yield fit
        except BaseException as stop:
            if not isinstance(stop, Exception) and {"tree_", "forest_"} & set(fit.results()):
                fit.hand_over()
            raise
        fit.end()

    def _read_training_data(
        self, X: Any, y: Any, sample_weight: Any, earlier: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, ClassTargets | RealTargets, np.ndarray, np.ndarray]:
        """Validate and encode the training data; rows of weight 0 are dropped.

        Parameters
        ----------
        earlier : results of the fit that this one continues (warm start), whose encoding is kept; columns and targets
            of another kind are refused. Empty or None: a new fit.

        Returns
        -------
        matrix (n, n_encoded), targets, weights (n,) before class weights, and the numbers of the kept rows
        """
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        check_choice(self, "handle_unknown", self.handle_unknown, ("missing", "error"))
        check_choice(self, "dates", self.dates, ("parts", "days", "error"))
        earlier = earlier or {}
        self.__dict__.update({k: earlier[k] for k in ("n_features_in_", "feature_names_in_") if k in earlier})
        X, y, sample_weight, rows = rows_with_weight(X, y, sample_weight)
        matrix, columns = read_table(
            self,
            X,
            reset=not earlier,
            categorical_features=self.categorical_features,
            handle_unknown=self.handle_unknown,
            as_codes=self._has_category_codes,
            dates=self.dates,
            columns=earlier.get("columns_"),
            grow=bool(earlier),
        )
        check_consistent_length(matrix, y)
        weights = read_weights(sample_weight, len(matrix))
        targets = self._read_targets(y, weights)
        if earlier:
            self._refuse_other_targets(earlier)
        self.columns_ = columns
        return matrix, targets, weights, np.arange(len(matrix)) if rows is None else rows

    def _read_validation_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray] | None:
        """Encoded matrix and weights of the validation rows passed to `fit`; None if there are none."""
        if (X is None) != (y is None):
            raise ValueError("X_val and y_val must be given together.")
        if X is None:
            if sample_weight is not None:
                raise ValueError("sample_weight_val is given without X_val and y_val.")
            return None
        matrix, _ = read_table(self, X, reset=False, columns=self.columns_)
        if len(matrix) != len(y):
            raise ValueError(f"X_val has {len(matrix)} rows, but y_val has {len(y)}.")
        return matrix, read_weights(sample_weight, len(matrix), "sample_weight_val")


@documented
class TreeClassifier(ClassifierMixin, CalibratedClassifier, TreeEstimator):
    """Predictions of classifiers.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    """

    classes_: np.ndarray

    def _largest(self, matrix: np.ndarray, widths: np.ndarray | None) -> np.ndarray:
        """Number of the most probable class of each encoded row, (n_rows,)."""
        if hasattr(self, "_loss_"):
            return self._predict_matrix(matrix, widths).argmax(axis=1)
        return self._finished.predict_largest(matrix, widths=widths)

    def _probabilities(self, X: Any, **conditions: Any) -> np.ndarray:
        matrix, widths = self._read_points(X, **conditions)
        # Sums of shares are rounded: scorers of scikit-learn refuse probabilities above 1, by however little.
        return np.minimum(self._predict_matrix(matrix, widths), 1.0)

    def _classes(self, X: Any, **conditions: Any) -> np.ndarray:
        matrix, widths = self._read_points(X, **conditions)
        return self.classes_[self._largest(matrix, widths)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Class probabilities, columns in the order of ``classes_``.
        """
        return self._probabilities(X)

    def predict_log_proba(self, X: Any, **conditions: Any) -> np.ndarray:
        """Logarithms of the class probabilities; -inf for 0.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            Logarithms, -inf for a probability of 0.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, **conditions))

    def predict(self, X: Any) -> np.ndarray:
        """Most probable class of each row.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predicted labels.
        """
        return self._classes(X)


@estimator
class ClassifierBase(TreeClassifier):
    """Targets of classifiers that are fitted to a table.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights of the classes, by label. "balanced" gives all classes the same total weight. None gives every class
        the weight 1.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels, sorted.
    """

    class_weight: dict[Any, float] | Literal["balanced"] | None = None
    _class_weight_rules: ClassVar[tuple[str, ...]] = ("balanced",)

    def _read_targets(self, y: Any, weights: np.ndarray) -> ClassTargets:
        targets = read_classes(y)
        self.classes_ = targets.classes
        return targets

    def _refuse_other_targets(self, earlier: dict[str, Any]) -> None:
        known, found = earlier["classes_"].tolist(), self.classes_.tolist()
        if known != found:
            raise ValueError(
                f"With warm_start=True y must have the classes of the last fit, {known!r}. Got {found!r} instead. "
                "Pass y with these classes, or set warm_start=False to start a new fit."
            )

    def _class_weights(self, targets: ClassTargets, weights: np.ndarray) -> np.ndarray | float:
        wanted = self.class_weight
        if wanted is None:
            return 1.0
        if not (wanted in self._class_weight_rules if isinstance(wanted, str) else isinstance(wanted, dict)):
            rules = ", ".join(map(repr, self._class_weight_rules))
            raise parameter_error(self, "class_weight", f"a dict, {rules} or None", wanted)
        if targets.labels is None:
            raise ValueError("class_weight needs class labels as y, not a matrix of probabilities; use sample_weight.")
        if isinstance(wanted, str):
            counts = np.bincount(targets.labels, weights=weights, minlength=len(targets.classes))
            factors = counts.sum() / (np.count_nonzero(counts) * np.where(counts > 0, counts, 1.0))
        else:
            factors = compute_class_weight(wanted, classes=targets.classes, y=targets.classes)
        per_row = factors[targets.labels]
        return as_counts(per_row, weights) if per_row.any() else per_row


@documented
class RegressorBase(RegressorMixin, CalibratedRegressor, TreeEstimator):
    """Methods of regressors.

    Attributes
    ----------
    n_outputs_ : int
        Number of targets.
    """

    n_outputs_: int

    def _read_targets(self, y: Any, weights: np.ndarray) -> RealTargets:
        targets = read_reals(y, weights)
        self.n_outputs_ = targets.scaled.shape[1]
        self._is_flat_ = targets.is_flat
        return targets

    def _refuse_other_targets(self, earlier: dict[str, Any]) -> None:
        known, found = earlier["n_outputs_"], self.n_outputs_
        if known != found:
            raise ValueError(
                f"With warm_start=True y must have as many targets as in the last fit, {known}. Got {found} instead. "
                "Pass y with as many targets, or set warm_start=False to start a new fit."
            )

    def _targets(self, X: Any, **conditions: Any) -> np.ndarray:
        matrix, widths = self._read_points(X, **conditions)
        out = self._predict_matrix(matrix, widths)
        return out[:, 0] if self._is_flat_ else out

    def predict(self, X: Any) -> np.ndarray:
        """Predicted target of each row.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs_)
            Predicted targets.
        """
        return self._targets(X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
