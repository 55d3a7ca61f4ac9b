"""Forests and extra trees of kernel trees: the estimators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import accuracy_score, r2_score

from softwood.kernel.base import SearchedKernelClassifier, SearchedKernelRegressor
from softwood.kernel.forest_base import KernelForest
from softwood.kernel.tree import KernelTreeClassifier, KernelTreeRegressor

__all__ = [
    "KernelExtraTreesClassifier",
    "KernelExtraTreesRegressor",
    "KernelForestClassifier",
    "KernelForestRegressor",
]


@dataclass(kw_only=True, eq=False, repr=False)
class KernelForestClassifier(SearchedKernelClassifier, KernelForest):
    """Random forest of kernel density decision trees, for classes.

    Each tree is grown on a bootstrap sample, and each split considers a few randomly drawn features. The forest
    predicts the mean of the trees' probabilities. Every training point is spread out by a kernel, and predictions are
    averaged over a kernel around the point.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    bandwidth : float, sequence, dict, "auto", "oob", "cv", "silverman" or "loo", default="auto"
        Half-width of the kernels, in units of `bandwidth_unit`. Larger values give smoother predictions and slower
        fits; 0 gives a conventional forest. Either one number for all columns, one number per column, a dict by
        column (columns that it leaves out get 0), or a rule:

        - "auto" and "oob" choose one number of standard deviations for all columns by the loss of the trees on their
          out-of-bag rows. "auto" uses some of the trees and has a bounded cost, "oob" uses all of them.
        - "cv" chooses this number by cross-validation with `cv` folds.
        - "silverman" and "loo" are rules for each column, as in `KernelTreeClassifier`.
    kernel, prediction_kernel, prediction_bandwidth, bandwidth_unit, measurement_error
        As in `KernelTreeClassifier`.
    criterion : "gini" or "entropy", default="gini"
        Impurity that the splits reduce.
    splitter, max_bins, max_depth, min_mass, min_gain, max_leaf_nodes
        Search and limits of each tree, as in `KernelTreeClassifier`.
    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        Number of features drawn for the search at each node; a float is a fraction of all features. None uses all.
    bootstrap : bool, default=True
        If True, grow each tree on rows drawn with replacement; if False, on all rows.
    max_samples : int or float, default=None
        Number of rows to draw for each tree; a float is a fraction of all rows. None draws as many rows as there are.
    oob_score : bool or callable, default=False
        If True, predict each row with the trees that were not grown on it, and compute the score of these predictions.
        A callable is called with (truth, prediction) to compute the score.
    class_weight : dict, "balanced" or "balanced_subsample", default=None
        Weights of the classes. "balanced" gives all classes the same total weight; "balanced_subsample" does this
        separately in the rows of each tree.
    cutoff : float, default=1e-4
        As in `KernelTreeClassifier`. Forests gain little time from larger values.
    ccp_alpha, categorical_features, handle_unknown
        As in `KernelTreeClassifier`.
    cv : int, splitter or iterable of (train, test), default=5
        Folds for ``bandwidth="cv"``.
    warm_start : bool, default=False
        If True, `fit` keeps the trees of the previous fit and adds trees until there are `n_estimators`. Columns and
        classes must be those of that fit. New categories may occur; trees of the previous fit send them to the child
        with the larger mass.
    growth : "node" or "level", default="node"
        As in `KernelTreeClassifier`. With "level", bootstrap samples contain each row a Poisson number of times.
    n_jobs : int, default=None
        Number of joblib workers for growing and predicting: threads, unless `joblib.parallel_config` sets another
        backend. The forest does not depend on it.
    random_state : int or RandomState, default=None
        Controls the rows and features drawn, and the choice of the bandwidth.
    verbose : int, default=0
        If 1, print progress about once per second; if 2 or more, print every step.

    Attributes
    ----------
    forest_ : SoftForest
        The finished trees, with the prediction kernel.
    estimators_ : list of KernelTreeClassifier
        The same trees as separate estimators.
    bandwidth_ : float
        The chosen bandwidth in standard deviations, if `bandwidth` is "auto", "oob" or "cv".
    bandwidths_ : (n_encoded,) array
        Half-width of each column of the encoded table, in the column's own units.
    feature_importances_ : (n_features_in,) array
        Decrease of impurity by each column, normalised to a sum of 1.
    oob_score_, oob_decision_function_
        Out-of-bag score and class probabilities (n_rows, n_classes), if `oob_score` is set. Probabilities are nan for
        rows of weight 0 and for rows on which every tree was grown.
    classes_ : (n_classes,) array
        The class labels.

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

    max_features: Any = "sqrt"

    _tree_class: ClassVar[type] = KernelTreeClassifier
    _class_weight_rules: ClassVar[tuple[str, ...]] = ("balanced", "balanced_subsample")

    @property
    def _balances_draws(self) -> bool:
        return isinstance(self.class_weight, str) and self.class_weight == "balanced_subsample"

    def _class_weights(self, targets: Any, weights: np.ndarray) -> np.ndarray | float:
        factors = super()._class_weights(targets, weights)
        return 1.0 if self._balances_draws else factors

    def _oob_results(
        self, every: np.ndarray, truth: np.ndarray, found: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, Callable[..., float]]:
        self.oob_decision_function_ = every
        if truth.ndim > 1 and truth.shape[1] > 1:  # fuzzy labels
            truth = self.classes_[truth.argmax(axis=1)]
        return truth.reshape(-1), self.classes_[found.argmax(axis=1)], accuracy_score

    def _largest(self, matrix: np.ndarray, widths: np.ndarray | None) -> np.ndarray:
        return self._predict_matrix(matrix, widths).argmax(axis=1)


@dataclass(kw_only=True, eq=False, repr=False)
class KernelForestRegressor(SearchedKernelRegressor, KernelForest):
    """Random forest of kernel density decision trees, for real targets.

    Like `KernelForestClassifier`, but the splits reduce the squared error, and each node considers all features by
    default. The target may be a matrix. The out-of-bag predictions are in ``oob_prediction_``, and ``oob_score_`` is
    R². There is no `class_weight`.

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

    def _oob_results(
        self, every: np.ndarray, truth: np.ndarray, found: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, Callable[..., float]]:
        self.oob_prediction_ = every[:, 0] if self._is_flat_ else every
        return truth, found[:, 0] if self._is_flat_ else found, r2_score


@dataclass(kw_only=True, eq=False, repr=False)
class KernelExtraTreesClassifier(KernelForestClassifier):
    """Extremely randomised kernel density decision trees, for classes.

    Like `KernelForestClassifier`, but each drawn feature is tried with a single random threshold, drawn uniformly from
    the range that holds mass of the node, and every tree is grown on all rows unless `bootstrap` is True. Parameters
    and attributes are the same.
    """

    bootstrap: bool = False

    _random_thresholds: ClassVar[bool] = True


@dataclass(kw_only=True, eq=False, repr=False)
class KernelExtraTreesRegressor(KernelForestRegressor):
    """Extremely randomised kernel density decision trees, for real targets.

    Like `KernelForestRegressor`, but each drawn feature is tried with a single random threshold, drawn uniformly from
    the range that holds mass of the node, and every tree is grown on all rows unless `bootstrap` is True. Parameters
    and attributes are the same.
    """

    bootstrap: bool = False

    _random_thresholds: ClassVar[bool] = True
