"""Forests and extra trees of kernel trees: the estimators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.metrics import accuracy_score, r2_score

from softwood.core.estimators import estimator
from softwood.core.parameters import check_flag, parameter_error
from softwood.core.steps import Steps
from softwood.core.targets import RealTargets
from softwood.kernel.base import SearchedKernelClassifier, SearchedKernelRegressor
from softwood.kernel.forest_base import KernelForest
from softwood.kernel.forest_values import MOST_STEPS, TreeDraw, size_of_errors, with_values_fitted_together
from softwood.kernel.growing.bagging import Draws, tree_seed
from softwood.kernel.growing.problem import Limits
from softwood.kernel.refining import DistinctRows, Learned
from softwood.kernel.rows import TreeRows
from softwood.kernel.tree import KernelTreeClassifier, KernelTreeRegressor


@estimator
class KernelForestClassifier(SearchedKernelClassifier, KernelForest):
    """Random forest of kernel density decision trees, for classes.

    Each tree is grown on a bootstrap sample, and each split considers a few randomly drawn features. The forest
    predicts the mean of the trees' probabilities. Every training point is spread out by a kernel, and predictions are
    averaged over a kernel around the point.

    Parameters
    ----------
    criterion : {"gini", "entropy"}
        Impurity that the splits reduce.
    class_weight : dict, {"balanced", "balanced_subsample"} or None
        Weights of the classes, by label. "balanced" gives all classes the same total weight, "balanced_subsample" does
        so separately in the rows of each tree. None gives every class the weight 1.

    Attributes
    ----------
    oob_decision_function_ : ndarray of shape (n_rows, n_classes)
        Class probabilities by the trees that were not grown on a row. Only if `oob_score` is set. They are nan for rows
        of weight 0 and for rows on which every tree was grown.

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

    criterion: Literal["gini", "entropy"] = "gini"
    max_features: int | float | Literal["sqrt", "log2"] | None = "sqrt"
    class_weight: dict[Any, float] | Literal["balanced", "balanced_subsample"] | None = None  # type: ignore[assignment]

    oob_decision_function_: np.ndarray = field(init=False)

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


@estimator
class KernelForestRegressor(SearchedKernelRegressor, KernelForest):
    """Random forest of kernel density decision trees, for real targets.

    Each tree is grown on a bootstrap sample, and the forest predicts the mean of the trees' predictions. Every training
    point is spread out by a kernel, and predictions are averaged over a kernel around the point. The target may be a
    matrix.

    Parameters
    ----------
    refine : bool or "auto"
        Whether the leaf values of all trees are fitted together after growing, to the rows out of the bag of each tree.
        A leaf then adds to the prediction what other trees leave of the target, and is no longer the mean of its rows.
        "auto" is True if the bandwidth is chosen and `bootstrap` is True, and no column has more than 255 categories.
        Requires ``bootstrap=True``.

    Attributes
    ----------
    oob_prediction_ : ndarray of shape (n_rows,) or (n_rows, n_outputs_)
        Predictions by the trees that were not grown on a row, before these are refined. Only if `oob_score` is set.
        They are nan for rows of weight 0 and for rows on which every tree was grown.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import KernelForestRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = KernelForestRegressor(20, bandwidth=0.1, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[np.pi / 2]])[0] - 1) < 0.05)
    True
    """

    criterion: Literal["squared_error"] = "squared_error"
    refine: bool | Literal["auto"] = "auto"

    oob_prediction_: np.ndarray = field(init=False)
    _tree_class: ClassVar[type] = KernelTreeRegressor

    def _oob_results(
        self, every: np.ndarray, truth: np.ndarray, found: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, Callable[..., float]]:
        self.oob_prediction_ = every[:, 0] if self._is_flat_ else every
        return truth, found[:, 0] if self._is_flat_ else found, r2_score

    def _check_parameters(self) -> Limits:
        if self.refine != "auto":
            check_flag(self, "refine", self.refine)
            if self.refine and not self.bootstrap:
                raise parameter_error(self, "refine", "'auto' or False with bootstrap=False", self.refine)
        return super()._check_parameters()

    def _check_level(self) -> None:
        super()._check_level()
        if self.refine not in ("auto", False):
            raise self._no_level("refine", "'auto' or False")

    def _refine(self, stages: Steps, rows: TreeRows, draws: Draws) -> Callable[[], float] | None:
        is_refined = isinstance(self.bandwidth, str) and self.bootstrap if self.refine == "auto" else self.refine
        if not is_refined or stages.is_stopped:
            return None
        data, kernels = rows.data, self._prediction_kernels_
        assert isinstance(data.targets, RealTargets)
        cells = None if kernels.is_crisp else kernels.cells(data.errors, data.matrix)
        distinct = DistinctRows.of(data.matrix, cells, Learned.of(data.targets), draws.weights, rows.seed)

        def drawn(number: int) -> TreeDraw:
            masses = draws.masses(tree_seed(rows.seed, number))
            which = np.flatnonzero(masses)
            sums = np.bincount(distinct.place[which], weights=masses[which], minlength=len(distinct.points))
            return TreeDraw(sums, np.unique(distinct.place[draws.rest(masses)]))

        grown = self.forest_, distinct, drawn, data.targets, self.n_jobs
        with stages.stage("refine", "step", MOST_STEPS) as steps:
            self.forest_ = with_values_fitted_together(*grown, steps)
        return partial(size_of_errors, *grown)


@estimator
class KernelExtraTreesClassifier(KernelForestClassifier):
    """Extremely randomised kernel density decision trees, for classes.

    Like `KernelForestClassifier`, but each drawn feature is tried with a single random threshold, drawn uniformly from
    the range that holds mass of the node, and every tree is grown on all rows unless `bootstrap` is True.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelExtraTreesClassifier(20, bandwidth=0.2, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    bootstrap: bool = False

    _random_thresholds: ClassVar[bool] = True


@estimator
class KernelExtraTreesRegressor(KernelForestRegressor):
    """Extremely randomised kernel density decision trees, for real targets.

    Like `KernelForestRegressor`, but each drawn feature is tried with a single random threshold, drawn uniformly from
    the range that holds mass of the node, and every tree is grown on all rows unless `bootstrap` is True.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import KernelExtraTreesRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = KernelExtraTreesRegressor(20, bandwidth=0.1, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.95)
    True
    """

    bootstrap: bool = False

    _random_thresholds: ClassVar[bool] = True
