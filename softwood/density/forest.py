"""Forests and extra trees of kernel trees: the estimators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import accuracy_score, r2_score

from softwood.base import ClassifierBase, RegressorBase
from softwood.density.ensemble import KernelForest
from softwood.density.problem import Limits
from softwood.density.tree import KernelTreeClassifier, KernelTreeRegressor
from softwood.parameters import check_choice

__all__ = [
    "KernelExtraTreesClassifier",
    "KernelExtraTreesRegressor",
    "KernelForestClassifier",
    "KernelForestRegressor",
]


@dataclass(kw_only=True, eq=False, repr=False)
class KernelForestClassifier(ClassifierBase, KernelForest):
    """Random forest of kernel density decision trees, for classes.

    Trees are grown on bootstrap samples with a few features drawn at each node, and their probabilities averaged. Every
    training point is spread by a kernel, and predictions are averaged over a kernel around the point.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    bandwidth : float, sequence, dict, "auto", "oob", "cv", "silverman" or "loo", default="auto"
        Half-width of the kernels, in standard deviations of the columns: a number for all columns, one per column, or
        a dict by column (others 0); ``0`` is the conventional forest. ``"auto"`` and ``"oob"`` choose one number for
        all columns by the loss of the trees on rows they have not seen, ``"auto"`` with some of the trees and at a
        bounded cost, ``"oob"`` with all of them; ``"cv"`` by `cv` folds. ``"silverman"`` and ``"loo"`` are rules for
        each column.
    kernel, prediction_kernel, prediction_bandwidth, bandwidth_unit, measurement_error
        As in `KernelTreeClassifier`.
    criterion : "gini" or "entropy", default="gini"
    splitter, max_bins, max_depth, min_mass, min_gain, max_leaf_nodes
        Limits and search of each tree, as in `KernelTreeClassifier`.
    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        Features to draw for each node's search.
    bootstrap : bool, default=True
        Whether each tree gets rows drawn with replacement, or all rows.
    max_samples : int or float, default=None
        Rows to draw for each tree, as a number or a part; None draws as many as there are.
    oob_score : bool or callable, default=False
        Predict each row by the trees that have not seen it, and score that; a callable takes (truth, prediction).
    class_weight : dict, "balanced" or "balanced_subsample", default=None
        Weights of classes, "balanced_subsample" found anew in the rows of each tree.
    ccp_alpha, cutoff, categorical_features, handle_unknown
        As in `KernelTreeClassifier`.
    cv : int, splitter or iterable of (train, test), default=5
        Folds of ``bandwidth="cv"``.
    warm_start : bool, default=False
        Keep the trees of the last `fit` and add others up to `n_estimators`.
    n_jobs : int, default=None
        Workers for growing and predicting, through joblib: threads, or what `joblib.parallel_config` says. The forest
        does not depend on it.
    random_state : int or RandomState, default=None
        Rows and features drawn, and the choice of the bandwidth.
    verbose : int, default=0
        1 prints the progress about once a second, 2 after every tree.

    Attributes
    ----------
    forest_ : SoftForest
        The finished trees, with the prediction kernel.
    estimators_ : list of KernelTreeClassifier
        The same trees one by one.
    bandwidth_ : float
        The chosen scale, if it was chosen.
    bandwidths_ : (n_encoded,) array
        Half-width of each column of the encoded table, in its own units.
    feature_importances_ : (n_features_in,) array
    oob_score_, oob_decision_function_
        Score and class probabilities (n_rows, n_classes) out of the bag, with `oob_score`; nan for rows of weight 0 and
        rows that every tree has seen.
    classes_ : (n_classes,) array

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelForestClassifier(20, bandwidth=0.2, oob_score=True, random_state=0).fit(X, y)
    >>> bool(model.oob_score_ > 0.9)
    True
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    criterion: str = "gini"
    max_features: Any = "sqrt"

    _tree_class: ClassVar[type] = KernelTreeClassifier
    _class_weight_rules: ClassVar[tuple[str, ...]] = ("balanced", "balanced_subsample")

    def _check_parameters(self) -> Limits:
        check_choice(self, "criterion", self.criterion, ("gini", "entropy"))
        return super()._check_parameters()

    @property
    def _balances_draws(self) -> bool:
        return isinstance(self.class_weight, str) and self.class_weight == "balanced_subsample"

    def _class_weights(self, targets: Any, weights: np.ndarray) -> np.ndarray | float:
        factors = super()._class_weights(targets, weights)
        return 1.0 if self._balances_draws else factors

    def _keep_oob(self, every: np.ndarray, truth: np.ndarray, found: np.ndarray, weights: np.ndarray) -> None:
        self.oob_decision_function_ = every
        labels = self.classes_[found.argmax(axis=1)]
        if truth.ndim > 1 and truth.shape[1] > 1:  # fuzzy labels
            truth = self.classes_[truth.argmax(axis=1)]
        truth = truth.reshape(-1)
        if len(found) == 0:  # nothing is out of the bag
            self.oob_score_ = np.nan
        elif callable(self.oob_score):
            self.oob_score_ = self.oob_score(truth, labels)
        else:
            self.oob_score_ = accuracy_score(truth, labels, sample_weight=weights)

    def predict_proba(self, X: Any, measurement_error: Any = None) -> np.ndarray:
        """Class probabilities, the mean over trees.

        Parameters
        ----------
        X : (n_rows, n_features_in) array or data frame
        measurement_error : known errors of the cells of `X`, as in `fit`

        Returns
        -------
        (n_rows, n_classes)
        """
        return self._probabilities(X, measurement_error=measurement_error)

    def predict(self, X: Any, measurement_error: Any = None) -> np.ndarray:
        """Most probable class of each row, (n_rows,); parameters as in `predict_proba`."""
        return self._classes(X, measurement_error=measurement_error)

    def _largest(self, matrix: np.ndarray, widths: np.ndarray | None) -> np.ndarray:
        return self._predict_matrix(matrix, widths).argmax(axis=1)


@dataclass(kw_only=True, eq=False, repr=False)
class KernelForestRegressor(RegressorBase, KernelForest):
    """Random forest of kernel density decision trees, for real targets.

    As `KernelForestClassifier`, with the squared error and all features at each node by default; the target may be a
    matrix. Out of the bag, ``oob_prediction_`` takes the place of ``oob_decision_function_`` and ``oob_score_`` is R²;
    there is no `class_weight`.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import KernelForestRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = KernelForestRegressor(20, bandwidth=0.1, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[np.pi / 2]])[0] - 1) < 0.05)
    True
    """

    _tree_class: ClassVar[type] = KernelTreeRegressor

    def _check_parameters(self) -> Limits:
        check_choice(self, "criterion", self.criterion, ("squared_error",))
        return super()._check_parameters()

    def _keep_oob(self, every: np.ndarray, truth: np.ndarray, found: np.ndarray, weights: np.ndarray) -> None:
        self.oob_prediction_ = every[:, 0] if self._is_flat_ else every
        found = found[:, 0] if self._is_flat_ else found
        if len(found) == 0:  # nothing is out of the bag
            self.oob_score_ = np.nan
        elif callable(self.oob_score):
            self.oob_score_ = self.oob_score(truth, found)
        else:
            self.oob_score_ = r2_score(truth, found, sample_weight=weights)

    def predict(self, X: Any, measurement_error: Any = None) -> np.ndarray:
        """Predicted targets, the mean over trees.

        Parameters
        ----------
        X : (n_rows, n_features_in) array or data frame
        measurement_error : known errors of the cells of `X`, as in `fit`

        Returns
        -------
        (n_rows,), or (n_rows, n_targets) if it was fitted to a matrix
        """
        return self._targets(X, measurement_error=measurement_error)


@dataclass(kw_only=True, eq=False, repr=False)
class KernelExtraTreesClassifier(KernelForestClassifier):
    """Extremely randomised kernel density decision trees, for classes.

    As `KernelForestClassifier`, but each drawn feature is tried with a single random threshold, uniform over the part
    of its axis that holds mass of the node; and every tree gets all rows unless `bootstrap` is True. Parameters and
    attributes are the same.
    """

    bootstrap: bool = False

    _random_thresholds: ClassVar[bool] = True


@dataclass(kw_only=True, eq=False, repr=False)
class KernelExtraTreesRegressor(KernelForestRegressor):
    """Extremely randomised kernel density decision trees, for real targets.

    As `KernelForestRegressor`, but each drawn feature is tried with a single random threshold, uniform over the part of
    its axis that holds mass of the node; and every tree gets all rows unless `bootstrap` is True. Parameters and
    attributes are the same.
    """

    bootstrap: bool = False

    _random_thresholds: ClassVar[bool] = True
