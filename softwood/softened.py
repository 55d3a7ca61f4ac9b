"""Models of other packages read with kernels: smooth and differentiable, without being trained again.

The tests of the trees stay; a row near a threshold goes partly to both sides. Only the bandwidth is chosen, by the loss
on rows that the model has not seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from softwood.base import RegressorBase, TreeClassifier, TreeEstimator, read_weights
from softwood.core.encoding import read_table
from softwood.core.estimators import estimator
from softwood.core.losses import BinaryLogLoss, Loss, PoissonDeviance, SoftmaxLogLoss
from softwood.core.parameters import check_choice, is_real, parameter_error
from softwood.fitted import FittedModel
from softwood.imported.model import ImportedModel, read_model
from softwood.kernel.data.bandwidths import stated_widths
from softwood.kernel.data.column_statistics import standard_deviations
from softwood.outputs import FINAL_LINKS
from softwood.trees.forest import SoftForest
from softwood.trees.nodes import KernelShapes
from softwood.trees.tree import SoftTree

# Bandwidths that "auto" compares, in standard deviations of the columns.
GRID = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
# "auto" compares on at most this many rows, evenly spaced.
MOST_ROWS = 20_000


def soften(
    model: Any, X: Any, y: Any = None, *, bandwidth: Any = "auto", sample_weight: Any = None
) -> SoftenedClassifier | SoftenedRegressor:
    """Read the trees of a fitted model of another package with kernels.

    The result has the same tests and leaf values as the model. A row whose value is within the half-width of a
    threshold goes partly to both sides, so predictions are continuous and have derivatives (`input_gradient`). With
    ``bandwidth=0``, the predictions are those of the model.

    Parameters
    ----------
    model : fitted model, SoftTree or SoftForest
        A model of scikit-learn (decision tree, random forest, extra trees, gradient boosting, histogram gradient
        boosting), LightGBM or XGBoost, fitted to numbers; or trees of targets.
    X : array-like or data frame of shape (n_rows, n_features_in)
        Rows that the model has not seen in training. The bandwidth with the smallest loss on them is chosen. On the
        training rows a model is best as it is, so that 0 would be chosen.
    y : array-like of shape (n_rows,) or None, default=None
        Labels or targets of these rows. Not needed if `bandwidth` is given.
    bandwidth : float, array-like, dict or "auto", default="auto"
        Half-width of the kernel, a box, in standard deviations of the columns of `X`: one number, one per column, or a
        dict by column. "auto" chooses one number.
    sample_weight : array-like of shape (n_rows,) or None, default=None
        Weights of the rows.

    Returns
    -------
    SoftenedClassifier or SoftenedRegressor
        The model with kernels.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.metrics import brier_score_loss
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from softwood import soften
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> crisp = DecisionTreeClassifier(random_state=0).fit(X[:300], y[:300])
    >>> soft = soften(crisp, X[300:450], y[300:450])
    >>> [round(brier_score_loss(y[450:], model.predict_proba(X[450:])[:, 1]), 2) for model in (crisp, soft)]
    [0.17, 0.11]
    """
    found = ImportedModel(model) if isinstance(model, SoftTree | SoftForest) else read_model(model, "soften")
    if found.link is None:
        raise ValueError(
            f"soften cannot make predictions from the raw scores of the objective {found.objective!r}. The raw scores "
            "themselves are those of SoftForest.from_lightgbm or SoftForest.from_xgboost."
        )
    parameters = {"trees": found.scaled_trees, "link": found.link, "bandwidth": bandwidth, "missing": found.missing}
    if found.classes is None:
        softened: Any = SoftenedRegressor(**parameters)
    else:
        softened = SoftenedClassifier(classes=found.classes, **parameters)
    return softened.fit(X, y, sample_weight)


@estimator
class _Softened(TreeEstimator):
    """What the classifier and the regressor share.

    Parameters
    ----------
    trees : SoftTree or SoftForest
        Crisp trees.
    missing : float
        Number that counts as a missing value besides nan, as in XGBoost.

    Attributes
    ----------
    tree_ : SoftTree
        The tree with kernels. Only if `trees` is a `SoftTree`.
    forest_ : SoftForest
        The trees with kernels. Only if `trees` is a `SoftForest`.
    bandwidth_ : float
        The chosen bandwidth in standard deviations. Only if `bandwidth` is "auto".
    bandwidths_ : ndarray of shape (n_features_in_,)
        Half-width of the kernel in each column, in the column's own units.
    history_ : list of dict
        Bandwidths that were compared, and their losses.
    """

    trees: SoftTree | SoftForest
    link: Literal["identity", "logistic", "softmax", "exp"] = "identity"
    bandwidth: float | Sequence[float] | np.ndarray | Mapping[Any, float] | Literal["auto"] = "auto"
    missing: float = np.nan

    _leading: ClassVar[tuple[str, ...]] = ("trees", "classes", "bandwidth", "link")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Set the half-widths of the kernels.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features_in)
            Rows of numbers that the trees have not been grown from.
        y : array-like of shape (n_rows,) or None, default=None
            Labels or targets. Needed if ``bandwidth="auto"``.
        """
        check_choice(self, "link", self.link, FINAL_LINKS)
        if not isinstance(self.trees, SoftTree | SoftForest):
            raise parameter_error(self, "trees", "a SoftTree or a SoftForest", self.trees)
        is_auto = isinstance(self.bandwidth, str)
        if is_auto and self.bandwidth != "auto":
            expected = "'auto', a number of at least 0, one per column, or a dict by column"
            raise parameter_error(self, "bandwidth", expected, self.bandwidth)
        if is_auto and y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed if bandwidth='auto', but y is None.")
        if not is_real(self.missing) and not (isinstance(self.missing, float) and np.isnan(self.missing)):
            raise parameter_error(self, "missing", "a finite number, or nan", self.missing)
        matrix, columns = read_table(self, X, reset=True, categorical_features=None)
        matrix = self._with_missing(matrix)
        if matrix.shape[1] != self.trees.n_features:
            raise ValueError(f"X has {matrix.shape[1]} columns, but the trees were grown from {self.trees.n_features}.")
        weights = read_weights(sample_weight, len(matrix))
        if not weights.any():
            raise ValueError("sample_weight is zero for all rows; at least one must be above zero.")
        for name in ("tree_", "forest_", "_loss_", "bandwidth_"):
            self.__dict__.pop(name, None)  # of an earlier fit with other parameters
        self._drop_scores()
        self.columns_ = columns
        self._start()
        deviations = standard_deviations(matrix, weights)
        self.history_: list[dict[str, Any]] = []
        if is_auto:
            check_consistent_length(matrix, y)
            rows = np.unique(np.linspace(0, len(matrix) - 1, min(len(matrix), MOST_ROWS)).astype(np.int64))
            self.bandwidth_ = self._choose(matrix[rows], self._truth(y)[rows], weights[rows], deviations)
            widths = self.bandwidth_ * deviations
        else:
            widths = stated_widths(self, "bandwidth", self.bandwidth, columns) * deviations
        self._keep(widths)
        return self

    def _matrix(self, X: Any) -> np.ndarray:
        return self._with_missing(super()._matrix(X))

    def _as_fitted(self) -> FittedModel:
        known = super()._as_fitted()
        if np.isnan(self.missing):
            return known
        differs = (
            f"This {known.kind} counts {self.missing:g} as a missing value, which exports do not do. Set its parameter "
            "missing to nan, fit it again, and give the export nan, or what is missing in its language."
        )
        return replace(known, missing=float(self.missing), differs=differs)

    def _with_missing(self, matrix: np.ndarray) -> np.ndarray:
        """The matrix with nan in place of `missing`, after rounding to float32 as in XGBoost."""
        if np.isnan(self.missing):
            return matrix
        with np.errstate(over="ignore"):
            return np.where(matrix.astype(np.float32) == np.float32(self.missing), np.nan, matrix)

    def _start(self) -> None:
        """Set the attributes that follow from the parameters."""
        raise NotImplementedError

    def _truth(self, y: Any) -> np.ndarray:
        """Targets in the form of predictions, (n_rows, n_outputs)."""
        raise NotImplementedError

    def _choose(self, matrix: np.ndarray, truth: np.ndarray, weights: np.ndarray, deviations: np.ndarray) -> float:
        """The bandwidth with the smallest squared error; of several such, the smallest bandwidth."""
        for scale in GRID:
            self._keep(scale * deviations)
            error = ((self._predict_matrix(matrix, None) - truth) ** 2).sum(axis=1)
            self.history_.append({"bandwidth": scale, "validation_loss": float(np.average(error, weights=weights))})
        least = min(trial["validation_loss"] for trial in self.history_)
        best = [t["bandwidth"] for t in self.history_ if t["validation_loss"] <= least * (1.0 + 1e-12)]
        return float(min(best))

    def _keep(self, widths: np.ndarray) -> None:
        """Read the trees with these half-widths."""
        self.bandwidths_ = widths
        kernels = np.zeros(len(widths), dtype=np.int64)
        soft = self.trees.with_kernel(widths, kernels, KernelShapes.box())
        if isinstance(soft, SoftTree):
            self.tree_ = soft
        else:
            self.forest_ = soft

    @property
    def _finished(self) -> SoftTree | SoftForest:
        check_is_fitted(self, "bandwidths_")
        return self.tree_ if hasattr(self, "tree_") else self.forest_

    def _predict_matrix(self, matrix: np.ndarray, widths: np.ndarray | None) -> np.ndarray:
        return super()._predict_matrix(matrix, widths).reshape(len(matrix), -1)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


@estimator
class SoftenedClassifier(TreeClassifier, _Softened):
    """Trees of another package read with kernels, for classes. `soften` makes it from a model.

    Parameters
    ----------
    classes : array-like of shape (n_classes,)
        The class labels, in the order of the outputs of the trees.
    link : {"identity", "logistic", "softmax"}
        From the predictions of the trees to class probabilities.
    bandwidth : float, array-like, dict or "auto"
        Half-width of the kernel, a box, in standard deviations of the columns: one number, one per column, or a dict by
        column. "auto" chooses the one with the smallest squared error of the probabilities on the rows given to `fit`.
    """

    classes: Sequence[Any] | np.ndarray
    link: Literal["identity", "logistic", "softmax"] = "identity"

    def _start(self) -> None:
        self.classes_ = np.asarray(self.classes)
        n_scores = self.trees.n_outputs
        if self.link == "exp":
            raise parameter_error(self, "link", "'identity', 'logistic' or 'softmax' for classes", self.link)
        if self.link != "identity":
            self._loss_: Loss = BinaryLogLoss() if self.link == "logistic" else SoftmaxLogLoss(n_scores)
        n_outputs = 2 if self.link == "logistic" else n_scores
        if self.classes_.shape != (n_outputs,):
            raise parameter_error(self, "classes", f"one label for each of {n_outputs} outputs", self.classes)

    def _truth(self, y: Any) -> np.ndarray:
        number = {label: k for k, label in enumerate(self.classes_.tolist())}
        labels = np.asarray(y).ravel().tolist()
        unknown = [label for label in labels if label not in number]
        if unknown:
            raise ValueError(f"y has the class {unknown[0]!r}, which the trees do not know.")
        return np.eye(len(number))[[number[label] for label in labels]]


@estimator
class SoftenedRegressor(RegressorBase, _Softened):
    """Trees of another package read with kernels, for real targets. `soften` makes it from a model.

    Parameters
    ----------
    link : {"identity", "exp"}
        From the predictions of the trees to targets.
    bandwidth : float, array-like, dict or "auto"
        Half-width of the kernel, a box, in standard deviations of the columns: one number, one per column, or a dict by
        column. "auto" chooses the one with the smallest squared error of the predictions on the rows given to `fit`.
    """

    link: Literal["identity", "exp"] = "identity"

    def _start(self) -> None:
        if self.link in ("softmax", "logistic"):
            raise parameter_error(self, "link", "'identity' or 'exp' for targets", self.link)
        if self.link == "exp":
            self._loss_: Loss = PoissonDeviance()
        self.n_outputs_ = self.trees.n_outputs
        self._is_flat_ = self.n_outputs_ == 1

    def _truth(self, y: Any) -> np.ndarray:
        targets = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        targets = targets.reshape(len(targets), -1)
        if targets.shape[1] != self.n_outputs_:
            raise ValueError(f"y must have {self.n_outputs_} columns, one for each target. Got {targets.shape[1]}.")
        return targets
