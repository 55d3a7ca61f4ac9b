"""Kernel density decision trees: the estimators.

From "Kernel Density Decision Trees" (2022). The tree is grown on a kernel density estimate of the training points
instead of on the points themselves. Its prediction can be averaged over a kernel around the point to predict.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch

from softwood.base import Fit
from softwood.core.parameters import check_flag, parameter_error
from softwood.core.steps import Steps
from softwood.kernel.base import SearchedKernelClassifier, SearchedKernelModel, SearchedKernelRegressor
from softwood.kernel.choosing.bandwidth import AUTO_GRID, choose_by_auto, choose_by_cv
from softwood.kernel.choosing.size import SizeChoice
from softwood.kernel.data.bandwidths import loo_widths, silverman_widths, stated_widths
from softwood.kernel.data.column_statistics import standard_deviations
from softwood.kernel.growing.per_node import grow_tree_per_node
from softwood.kernel.growing.problem import Limits
from softwood.kernel.rows import TreeRows
from softwood.trees.pruning import merge_equal_leaves, prune_cost_complexity, pruning_path
from softwood.trees.tree import SoftTree

__all__ = ["KernelTreeClassifier", "KernelTreeRegressor"]


@dataclass(kw_only=True, eq=False, repr=False)
class _KernelTree(SearchedKernelModel):
    """What the classifier and the regressor share."""

    max_leaf_nodes: Any = "auto"
    cutoff: float = 1e-2
    bandwidth_per_node: bool = False

    def _grow(self, fit: Fit, X: Any, y: Any, sample_weight: Any, measurement_error: Any = None) -> None:
        limits = self._check_parameters()
        with self._rows(X, y, sample_weight, measurement_error) as rows:
            data = rows.data
            if self.bandwidth_per_node and (data.errors or any(kernel.scale for kernel in data.kernels)):
                expected = "False with measurement errors or scaled kernels"
                raise parameter_error(self, "bandwidth_per_node", expected, True)
            limits = replace(
                limits,
                n_draw=self._n_draw(data.matrix.shape[1]),
                min_mass=self._least_mass(limits.min_mass, rows.total),
                cutoff=limits.cutoff * _lightest(rows.factors),
            )
            stages = fit.stages()
            widths, limits = self._choose(rows, limits, stages)
            problem = rows.problem(widths)
            with stages.stage("grow", "part") as steps:
                if self.bandwidth_per_node:
                    tree = grow_tree_per_node(
                        problem, data.matrix, self._node_rule(), limits, seed=rows.seed, steps=steps
                    )
                else:
                    tree = rows.grow_tree(problem, limits, steps)
        if self.ccp_alpha > 0:
            tree = prune_cost_complexity(tree, self.ccp_alpha)
        tree = self._simplify(tree)
        self.bandwidths_, self._prediction_kernels_ = widths, self._make_prediction_kernels(widths, data)
        self.tree_ = self._prediction_kernels_.of(tree, data.errors)

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Effective alphas of cost-complexity pruning, and the total impurity of the leaves at each alpha.

        As in scikit-learn's `DecisionTreeClassifier.cost_complexity_pruning_path`.

        Returns
        -------
        bunch with ``ccp_alphas`` and ``impurities``
        """
        full = clone(self).set_params(ccp_alpha=0.0, **({"merge_equal": False} if hasattr(self, "merge_equal") else {}))
        if self.max_leaf_nodes == "auto":  # the penalty replaces the choice
            full.set_params(max_leaf_nodes=None)
        alphas, impurities = pruning_path(full.fit(X, y, sample_weight).tree_)
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    def _simplify(self, tree: SoftTree) -> SoftTree:
        """Simplify the pruned tree; does nothing unless a subclass overrides it."""
        return tree

    # Parameters

    def _check_parameters(self) -> Limits:
        self._check_kernel_parameters()
        check_flag(self, "bandwidth_per_node", self.bandwidth_per_node)
        if self.bandwidth_per_node and isinstance(self.bandwidth, str) and self.bandwidth not in ("silverman", "loo"):
            expected = "a number, one per column, a dict by column, 'silverman' or 'loo' with bandwidth_per_node"
            raise parameter_error(self, "bandwidth", expected, self.bandwidth)
        if self.bandwidth_per_node and self.max_leaf_nodes not in (None, "auto"):
            raise parameter_error(self, "max_leaf_nodes", "None or 'auto' with bandwidth_per_node", self.max_leaf_nodes)
        return self._limits()

    def _check_level(self) -> None:
        super()._check_level()
        if self.bandwidth_per_node:
            raise self._no_level("bandwidth_per_node", "False")
        if self.max_leaf_nodes == "small":
            raise self._no_level("max_leaf_nodes", "an int, 'auto' or None")

    def _most_leaves(self) -> int | None:
        if not isinstance(self.max_leaf_nodes, str):
            return super()._most_leaves()
        if self.max_leaf_nodes not in ("auto", "small"):
            expected = "an int in the range [2, inf), 'auto', 'small' or None"
            raise parameter_error(self, "max_leaf_nodes", expected, self.max_leaf_nodes)
        return None

    @property
    def _chooses_size(self) -> bool:
        """Whether held-out loss decides on the number of leaves; "auto" leaves it to a given penalty."""
        if self.max_leaf_nodes == "auto":
            return not self.bandwidth_per_node and self.ccp_alpha == 0 and self.growth == "node"
        return isinstance(self.max_leaf_nodes, str)

    def _choose(self, rows: TreeRows, limits: Limits, stages: Steps) -> tuple[np.ndarray, Limits]:
        """Half-width of each column's kernel, in the column's units, and the limits with the number of leaves.

        Sets ``bandwidth_`` and ``size_path_`` if held-out loss decides.
        """
        widths, data, seed = self._given_widths(rows.data), rows.trial, rows.seed
        if widths is not None and not self._chooses_size:
            return widths, limits
        is_crisp = self.prediction_kernel is None  # settings are chosen for such predictions
        with stages.stage("choose", "trial") as steps:
            if widths is None and self.bandwidth == "cv":
                self.bandwidth_ = choose_by_cv(data, limits, self._folds(rows), seed, steps, crisp=is_crisp)
                widths = self.bandwidth_ * data.deviations
            elif widths is None and not self._chooses_size:
                self.bandwidth_ = choose_by_auto(data, limits, seed, steps, crisp=is_crisp)
                widths = self.bandwidth_ * data.deviations
            if self._chooses_size:
                is_free = widths is None
                unit = data.deviations if widths is None else widths
                choice = SizeChoice(data, limits, unit, seed, crisp=is_crisp, steps=steps)
                scales = AUTO_GRID.tolist() if is_free else [1.0]
                scale, limits, path = choice.choose(scales, small=self.max_leaf_nodes == "small")
                widths = scale * unit
                self.size_path_ = path.columns()
                if is_free:
                    self.bandwidth_ = scale
        assert widths is not None
        return widths, limits

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


def _lightest(factors: np.ndarray | float) -> float:
    """Weight of the lightest class, as a fraction of that of the heaviest one.

    The cutoff is multiplied by it: a small share of a row of a heavy class may outweigh a whole row of a light one.
    """
    heavy, light = np.max(factors), np.min(factors, where=np.asarray(factors) > 0, initial=np.inf)
    return min(1.0, float(light / heavy))


@dataclass(kw_only=True, eq=False, repr=False)
class KernelTreeClassifier(SearchedKernelClassifier, _KernelTree):
    """Kernel density decision tree for classes.

    Every training point is spread out by a kernel. The splits are those that a conventional tree would choose on
    infinitely many points drawn from this density estimate; they are found exactly, without sampling. Predictions are
    averaged over a kernel around the point, so the probabilities are smooth.

    Parameters
    ----------
    bandwidth : float, sequence, dict, "auto", "cv", "silverman" or "loo", default="auto"
        Half-width of the kernels. Larger values give smoother predictions and slower fits; 0 gives a conventional
        tree. Either one number for all columns, one number per column, a dict by column (columns that it leaves out
        get 0), or a rule:

        - "auto" and "cv" choose one number of standard deviations for all columns by held-out loss and store it in
          ``bandwidth_``. "auto" has a bounded cost, "cv" uses all `cv` folds.
        - "silverman" applies Silverman's rule of thumb to each column.
        - "loo" chooses for each column the half-width whose leave-one-out prediction of the target from that column
          alone is best.
    kernel : "box", "triangle", "gaussian", `Kernel`, or a dict of these by column, default="box"
        Shape of the kernels. The named kernels have the same standard deviation as a box of the same half-width.
    prediction_kernel : "same", None, or as `kernel`, default="same"
        Kernel around each point to predict. If None, each point follows one path, as in a conventional tree.
    prediction_bandwidth : "same", or a number, sequence or dict as `bandwidth`, default="same"
        Half-width of the prediction kernel.
    bandwidth_unit : "sd" or "absolute", default="sd"
        Unit of bandwidths that are given as numbers: standard deviations of the columns ("sd"), or the columns' own
        units ("absolute").
    bandwidth_per_node : bool, default=False
        If True, compute the bandwidths again at every node from the points in that node. Requires `bandwidth` to be
        numbers, "silverman" or "loo".
    measurement_error : dict or array, default=None
        Known measurement errors of columns, as half-widths in the columns' own units: a dict from columns to numbers
        or to functions of the reading, or an array (n_features_in,). Error and bandwidth are combined as the root of
        the sum of their squares, in fitting and in predicting with a kernel. Pass errors of single cells to `fit` and
        `predict`.
    criterion : "gini" or "entropy", default="gini"
        Impurity that the splits reduce.
    splitter : "auto", "exact" or "hist", default="auto"
        "exact" searches all candidate thresholds; "hist" first puts each column into at most `max_bins` bins. "auto" is
        "exact" up to 10 000 rows and "hist" above.
    max_bins : int, default=255
        Largest number of bins per column in the histogram search.
    max_depth : int, default=None
        Largest depth of the tree. None means no limit.
    min_mass : float, default=1.0
        Smallest mass (weight times membership) of a leaf. Larger values give smaller trees.
    min_gain : float, default=0.0
        A node is split only if this lowers the impurity by at least `min_gain`, where the impurity is weighted by the
        node's fraction of the total mass.
    max_leaf_nodes : int, "auto", "small" or None, default="auto"
        Number of leaves. ``"auto"`` chooses it, together with the bandwidth if that is ``"auto"``, by held-out loss:
        the squared error of the probabilities or of the target; above 2 000 rows, the share of wrong classes counts as
        much. Of trees that are practically as good (within a fraction of a standard error) it takes the smallest.
        ``"small"`` takes the smallest tree within one standard error of the best one. An int grows the tree best first
        until it has so many leaves. None means no limit; so does ``"auto"`` if `ccp_alpha` is not 0, or with
        `bandwidth_per_node`. See ``size_path_``.
    max_features : int, float, "sqrt", "log2", default=None
        Number of features drawn for the search at each node; a float is a fraction of all features. None uses all.
    ccp_alpha : float, default=0.0
        Penalty per leaf in cost-complexity pruning. Larger values give smaller trees; 0 means no pruning.
    merge_equal : bool, default=False
        If True, merge sibling leaves that predict the same class. This changes probabilities, but not the crisp
        decision (that of ``prediction_kernel=None``).
    cutoff : float, default=1e-2
        If a split would send less than this share of a training row to one side, that part goes to the other side.
        Smaller values are slower, and not more accurate on held-out rows; with 0, the tree is exactly that of the
        density estimate. Predictions have no cutoff. Unequal weights of classes lower it, and it is not applied to a
        split of which a side would be lighter than `min_mass` without the small shares.
    categorical_features : "from_dtype", None, or columns by name, number or mask, default="from_dtype"
        Columns to treat as categories. "from_dtype" selects the text and category columns of data frames; None selects
        no columns.
    handle_unknown : "missing" or "error", default="missing"
        Whether `predict` treats a category that was not seen in `fit` as a missing value or raises an error.
    cv : int, splitter or iterable of (train, test), default=10
        Folds for ``bandwidth="cv"``. With an int, equal rows are always in the same fold.
    class_weight : dict or "balanced", default=None
        Weights of the classes. "balanced" gives all classes the same total weight.
    growth : "node" or "level", default="node"
        Whether a tree grows node by node, or level by level from histograms of exact sums. With "level", the model
        depends neither on the order of the rows nor on how they are divided, and is that of `softwood.dask`; the page
        about Dask in the documentation lists all differences. ``max_depth=None`` then means 12, and
        ``max_leaf_nodes="auto"`` no limit.
    n_jobs : int, default=None
        Number of threads for binning and growing. The tree does not depend on it.
    random_state : int or RandomState, default=None
        Controls the folds of the bandwidth choice and the features drawn for `max_features`.
    verbose : int, default=0
        If 1, print progress about once per second; if 2 or more, print every step.

    Attributes
    ----------
    tree_ : SoftTree
        The finished tree, with the prediction kernel.
    bandwidth_ : float
        The chosen bandwidth in standard deviations, if `bandwidth` is "auto" or "cv".
    bandwidths_ : (n_encoded,) array
        Half-width of each column of the encoded table, in the column's own units.
    size_path_ : dict of arrays
        Held-out losses, if `max_leaf_nodes` is "auto" or "small", in columns: ``bandwidth``, ``max_leaf_nodes``,
        ``loss`` and ``standard_error``. The bandwidth is 1 where it was not chosen with the size. For more than 2000
        rows, these are the losses of the last choice, of the size with the chosen bandwidth.
    columns_ : Columns
        Encoding of the table as a matrix: names of the encoded columns, and categories.
    feature_importances_ : (n_features_in,) array
        Decrease of impurity by each column, normalised to a sum of 1.
    classes_ : (n_classes,) array
        The class labels.

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

    merge_equal: bool = False

    def _check_parameters(self) -> Limits:
        check_flag(self, "merge_equal", self.merge_equal)
        return super()._check_parameters()

    def _simplify(self, tree: SoftTree) -> SoftTree:
        return merge_equal_leaves(tree) if self.merge_equal else tree


@dataclass(kw_only=True, eq=False, repr=False)
class KernelTreeRegressor(SearchedKernelRegressor, _KernelTree):
    """Kernel density decision tree for real targets.

    Like `KernelTreeClassifier`, but the splits reduce the squared error. The target may be a matrix.

    The parameters are those of `KernelTreeClassifier` without `class_weight` and `merge_equal`; `criterion` is
    "squared_error". The attributes are the same, with ``n_outputs_`` (number of targets) in place of ``classes_``.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import KernelTreeRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = KernelTreeRegressor(bandwidth=0.2).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[np.pi / 2]])[0] - 1) < 0.05)
    True
    """
