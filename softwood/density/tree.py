"""Kernel density decision trees: the estimators.

Kernel Density Decision Trees (2022): a tree grown on the density that kernels around the training points estimate,
instead of on the points; and read, if wanted, by averaging over a kernel around the point to predict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.callback import with_callbacks
from sklearn.utils import Bunch, check_random_state

from softwood.base import ClassifierBase, Fit, RegressorBase
from softwood.density.bandwidths import loo_widths, silverman_widths, standard_deviations, stated_widths
from softwood.density.choosing import choose_by_auto, choose_by_cv
from softwood.density.growing import grow_tree
from softwood.density.growing_per_node import grow_tree_per_node
from softwood.density.model import SearchedKernelModel
from softwood.density.preparation import TrainingData
from softwood.density.problem import Limits
from softwood.parameters import check_choice, check_flag, check_number, parameter_error
from softwood.pruning import merge_equal_leaves, prune_cost_complexity, pruning_path
from softwood.steps import Steps
from softwood.tree import SoftTree

__all__ = ["KernelTreeClassifier", "KernelTreeRegressor"]


@dataclass(kw_only=True, eq=False, repr=False)
class _KernelTree(SearchedKernelModel):
    """What the classifier and the regressor share."""

    bandwidth_per_node: bool = False

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None, measurement_error: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : (n_rows, n_features_in) array or data frame
            Text and category columns of frames are categories; missing values are allowed everywhere.
        y : (n_rows,) labels or targets
            A classifier also takes a matrix of class probabilities, a regressor a matrix of targets.
        sample_weight : (n_rows,) weights; a weight of 2 is the row twice
        measurement_error : known errors of the cells of `X`, in place of those of the parameter of the same name
            where given A dict from columns to numbers or to arrays (n_rows,), or an array (n_rows, n_features_in).
        """
        with self._fitting(X, y, sample_weight) as fit:
            self._grow(fit, X, y, sample_weight, measurement_error)
        return self

    def _grow(self, fit: Fit, X: Any, y: Any, sample_weight: Any, measurement_error: Any) -> None:
        limits = self._check_parameters()
        matrix, targets, weights, rows = self._read_training_data(X, y, sample_weight)
        weights = self._with_class_weights(targets, weights)
        min_mass = self._least_mass(limits.min_mass, weights)
        limits = replace(limits, n_draw=self._n_draw(matrix.shape[1]), min_mass=min_mass)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        data = self._prepare(matrix, targets, weights, rows, len(np.asarray(y)), measurement_error, self.criterion)
        if self.bandwidth_per_node and (data.errors or any(kernel.scale for kernel in data.kernels)):
            raise parameter_error(self, "bandwidth_per_node", "False with measurement errors or scaled kernels", True)
        stages = fit.steps("stage", self._n_stages())
        widths = self._choose_widths(data, limits, seed, rows, stages)
        reading = self._make_reading(widths, data)
        problem = data.problem(widths)
        with stages.stage("grow", "part") as parts:
            if self.bandwidth_per_node:
                tree = grow_tree_per_node(problem, matrix, self._node_rule(), limits, seed=seed, steps=parts)
            else:
                tree = grow_tree(problem, limits, seed=seed, n_jobs=self.n_jobs, steps=parts)
        if self.ccp_alpha > 0:
            tree = prune_cost_complexity(tree, self.ccp_alpha)
        tree = self._simplify(tree)
        self.bandwidths_, self._reading_ = widths, reading
        self.tree_ = reading.of(tree, data.errors)

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Effective alphas of weakest-link pruning and the impurity of the leaves at each, as in scikit-learn.

        Returns
        -------
        bunch with ``ccp_alphas`` and ``impurities``
        """
        full = clone(self).set_params(ccp_alpha=0.0, **({"merge_equal": False} if hasattr(self, "merge_equal") else {}))
        alphas, impurities = pruning_path(full.fit(X, y, sample_weight).tree_)
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    def _simplify(self, tree: SoftTree) -> SoftTree:
        """What is done with the pruned tree before it is handed over."""
        return tree

    # Reading the parameters

    def _check_parameters(self) -> Limits:
        self._check_kernel_parameters()
        check_number(self, "ccp_alpha", self.ccp_alpha, low=0.0)
        check_flag(self, "bandwidth_per_node", self.bandwidth_per_node)
        if self.bandwidth_per_node and isinstance(self.bandwidth, str) and self.bandwidth not in ("silverman", "loo"):
            expected = "a number, one per column, a dict by column, or one of 'silverman', 'loo'"
            raise parameter_error(self, "bandwidth", expected, self.bandwidth)
        if self.bandwidth_per_node and self.max_leaf_nodes is not None:
            raise parameter_error(self, "max_leaf_nodes", "None with bandwidth_per_node", self.max_leaf_nodes)
        return self._limits()

    def _choose_widths(
        self, data: TrainingData, limits: Limits, seed: int, rows: np.ndarray, stages: Steps
    ) -> np.ndarray:
        """Half-width of each column's kernel, in the units of the column; sets ``bandwidth_`` if it is chosen."""
        widths = self._given_widths(data)
        if widths is not None:
            return widths
        is_crisp = self.prediction_kernel is None  # chosen for the reading that will be used
        with stages.stage("choose bandwidth", "trial") as steps:
            if self.bandwidth == "cv":
                parts = self._parts(data, rows, seed)
                self.bandwidth_ = choose_by_cv(data, limits, parts, seed, steps, crisp=is_crisp)
            else:
                self.bandwidth_ = choose_by_auto(data, limits, seed, steps, crisp=is_crisp)
        return self.bandwidth_ * data.deviations

    def _node_rule(self) -> Callable[..., np.ndarray]:
        """Half-widths from the points of one node."""
        is_category = self.columns_.is_category
        stated = (
            None if isinstance(self.bandwidth, str) else stated_widths(self, "bandwidth", self.bandwidth, self.columns_)
        )

        def rule(X: np.ndarray, targets: Any, weights: np.ndarray) -> np.ndarray:
            if stated is not None:
                widths = stated * (standard_deviations(X, weights) if self.bandwidth_unit == "sd" else 1.0)
            elif self.bandwidth == "silverman":
                widths = silverman_widths(X, weights)
            else:
                widths = loo_widths(X, targets, weights)
            return np.where(is_category, 0.0, widths)

        return rule

    @property
    def _has_node_widths(self) -> bool:
        return bool(self.bandwidth_per_node)

    def _no_errors_with_node_widths(self) -> ValueError:
        return parameter_error(self, "bandwidth_per_node", "False with measurement errors", True)


@dataclass(kw_only=True, eq=False, repr=False)
class KernelTreeClassifier(ClassifierBase, _KernelTree):
    """Kernel density decision tree for classes.

    A conventional tree whose training points are clouds of mass: every point is spread by a kernel, splits are those
    that a conventional tree would choose on endlessly many points drawn from the estimated density, found exactly; and
    predictions are averaged over a kernel around the point, so probabilities are smooth.

    Parameters
    ----------
    bandwidth : float, sequence, dict, "auto", "cv", "silverman" or "loo", default="auto"
        Half-width of the kernels: how far the mass of a training point reaches. A number for all columns, one per
        column, or a dict by column (others 0). ``0`` is the conventional tree. ``"auto"`` and ``"cv"`` choose one
        number of standard deviations for all columns by held-out loss, ``"auto"`` at a bounded cost, ``"cv"`` by `cv`
        folds; the number is in ``bandwidth_``. ``"silverman"`` is the rule of thumb for each column, ``"loo"`` the
        leave-one-out likelihood of the target given the column.
    kernel : "box", "triangle", "gaussian", `Kernel`, or a dict of these by column, default="box"
        Shape of the kernels. The named ones have the standard deviation of the box of the same half-width.
    prediction_kernel : "same", None, or as `kernel`, default="same"
        Kernel around the points to predict; None reads the tree crisply, as a conventional one.
    prediction_bandwidth : "same", or a number, sequence or dict as `bandwidth`, default="same"
        Half-width of the prediction kernel.
    bandwidth_unit : "sd" or "absolute", default="sd"
        Whether numbers given as bandwidths are in standard deviations of the columns or in their own units.
    bandwidth_per_node : bool, default=False
        Estimate the bandwidths anew at every node, from the points there; needs a number, ``"silverman"`` or ``"loo"``.
    measurement_error : dict or array, default=None
        Known errors of columns, as half-widths in their own units: a dict from columns to numbers, or to functions of
        the reading; or an array (n_features_in,). They add to the bandwidth as independent errors do, the root of the
        sum of squares, in fitting and in predicting with a kernel. Errors of single cells go to `fit` and `predict`.
    criterion : "gini" or "entropy", default="gini"
        Impurity that splits reduce.
    splitter : "auto", "exact" or "hist", default="auto"
        Search over all breakpoints, or over those of at most `max_bins` bins per column; "auto" is exact up to 10 000
        rows.
    max_bins : int, default=255
        Bins of the histogram search.
    max_depth : int, default=None
    min_mass : float, default=1.0
        Smallest mass (weight times membership) of a leaf. Without it a kernel tree would grow for ever.
    min_gain : float, default=0.0
        Smallest decrease of impurity by a split, weighted by the node's part of the whole mass.
    max_leaf_nodes : int, default=None
        Grow the best splits first, until there are so many leaves.
    max_features : int, float, "sqrt", "log2", default=None
        Features to draw for each node's search; None takes all.
    ccp_alpha : float, default=0.0
        Cost of a leaf in cost-complexity pruning.
    merge_equal : bool, default=False
        Merge leaves that are siblings and predict the same class. Crisp decisions stay the same.
    cutoff : float, default=1e-6
        A share of a point smaller than this goes to the larger side of its fork, in fitting and in predicting. It
        moves at most `cutoff` times the number of nodes that a point visits, so a prediction changes by no more than
        that times the range of the values.
    categorical_features : "from_dtype", None, or columns by name, number or mask, default="from_dtype"
        Columns to be taken as categories; "from_dtype" takes the text and category columns of data frames.
    handle_unknown : "missing" or "error", default="missing"
        What a category is at predict time that was not there at fit time: a missing value, or an error.
    cv : int, splitter or iterable of (train, test), default=10
        Folds of ``bandwidth="cv"``. Folds by number are drawn by the content of the rows: equal rows stay together.
    class_weight : dict or "balanced", default=None
        Weights of classes.
    n_jobs : int, default=None
        Threads for binning and growing; the tree does not depend on it.
    random_state : int or RandomState, default=None
        Folds of the bandwidth choice and features drawn for `max_features`.
    verbose : int, default=0
        1 prints the progress about once a second, 2 more often.

    Attributes
    ----------
    tree_ : SoftTree
        The finished tree, with the prediction kernel.
    bandwidth_ : float
        The chosen scale, with ``bandwidth="auto"`` or ``"cv"``.
    bandwidths_ : (n_encoded,) array
        Half-width of each column of the encoded table, in its own units.
    columns_ : Columns
        How the table became a matrix: names of the encoded columns, categories.
    feature_importances_ : (n_features_in,) array
    classes_ : (n_classes,) array

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelTreeClassifier(bandwidth=0.3).fit(X, y)
    >>> model.predict(X[:2])
    array([0, 0])
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    criterion: str = "gini"
    merge_equal: bool = False

    def _check_parameters(self) -> Limits:
        check_choice(self, "criterion", self.criterion, ("gini", "entropy"))
        check_flag(self, "merge_equal", self.merge_equal)
        return super()._check_parameters()

    def _simplify(self, tree: SoftTree) -> SoftTree:
        return merge_equal_leaves(tree) if self.merge_equal else tree

    def predict_proba(self, X: Any, measurement_error: Any = None) -> np.ndarray:
        """Class probabilities.

        Parameters
        ----------
        X : (n_rows, n_features_in) array or data frame
        measurement_error : known errors of the cells of `X`, in place of those of the parameter of the same name
            where given A dict from columns to numbers or to arrays (n_rows,), or an array (n_rows, n_features_in).

        Returns
        -------
        (n_rows, n_classes)
        """
        return self._probabilities(X, measurement_error=measurement_error)

    def predict(self, X: Any, measurement_error: Any = None) -> np.ndarray:
        """Most probable class of each row, (n_rows,); parameters as in `predict_proba`."""
        return self._classes(X, measurement_error=measurement_error)


@dataclass(kw_only=True, eq=False, repr=False)
class KernelTreeRegressor(RegressorBase, _KernelTree):
    """Kernel density decision tree for real targets.

    As `KernelTreeClassifier`, with the squared error; the target may be a matrix.

    Parameters are those of `KernelTreeClassifier` without `class_weight` and `merge_equal`; the criterion is
    "squared_error". Attributes are the same, with ``n_outputs_`` (number of targets) in place of ``classes_``.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import KernelTreeRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = KernelTreeRegressor(bandwidth=0.2).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[np.pi / 2]])[0] - 1) < 0.05)
    True
    """

    def _check_parameters(self) -> Limits:
        check_choice(self, "criterion", self.criterion, ("squared_error",))
        return super()._check_parameters()

    def predict(self, X: Any, measurement_error: Any = None) -> np.ndarray:
        """Predicted targets.

        Parameters
        ----------
        X : (n_rows, n_features_in) array or data frame
        measurement_error : known errors of the cells of `X`, in place of those of the parameter of the same name
            where given A dict from columns to numbers or to arrays (n_rows,), or an array (n_rows, n_features_in).

        Returns
        -------
        (n_rows,), or (n_rows, n_targets) if it was fitted to a matrix
        """
        return self._targets(X, measurement_error=measurement_error)
