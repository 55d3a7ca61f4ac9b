"""Kernel density decision trees: the estimators.

From "Kernel Density Decision Trees" (2022). The tree is grown on a kernel density estimate of the training points
instead of on the points themselves. Its prediction can be averaged over a kernel around the point to predict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch

from softwood.base import Fit
from softwood.core.estimators import estimator
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


@estimator
class _KernelTree(SearchedKernelModel):
    """What the classifier and the regressor share.

    Parameters
    ----------
    bandwidth : float, array-like, dict or {"auto", "cv", "silverman", "loo"}
        Half-width of the kernels, in units of `bandwidth_unit`. Larger values give smoother predictions and slower
        fits. 0 gives a conventional tree. Either one number for all columns, one number per column, a dict by column
        (columns that it leaves out get 0), or a rule:

        - "auto" and "cv" choose one number of standard deviations for all columns by held-out loss and store it in
          ``bandwidth_``. "auto" has a bounded cost, "cv" uses all `cv` folds.
        - "silverman" applies Silverman's rule of thumb to each column.
        - "loo" chooses for each column the half-width whose leave-one-out prediction of the target from that column
          alone is best.
    max_leaf_nodes : int, {"auto", "small"} or None
        Number of leaves:

        - "auto" chooses it by held-out loss, together with the bandwidth if that is "auto". The loss is the squared
          error of the probabilities or of the target; above 2 000 rows, the share of wrong classes counts as much. Of
          trees that are practically as good (within a fraction of a standard error), the smallest is taken. If
          `ccp_alpha` is not 0, or with `bandwidth_per_node` or ``growth="level"``, "auto" means no limit.
        - "small" takes the smallest tree within one standard error of the best one.
        - An int grows the tree best first until it has that many leaves.
        - None means no limit.
    bandwidth_per_node : bool
        If True, compute the bandwidths again at every node from the rows in that node. Requires `bandwidth` to be
        numbers, "silverman" or "loo".
    cutoff : float
        If a split would send less than this share of a training row to one side, that part goes to the other side.
        Smaller values are slower, and not more accurate on held-out rows. With 0, the tree is exactly that of the
        density estimate. Predictions have no cutoff. Unequal weights of classes lower it, and it is not applied to a
        split of which a side would be lighter than `min_mass` without the small shares.
    random_state : int, RandomState instance or None
        Controls the folds of the bandwidth choice and the features drawn for `max_features`.

    Attributes
    ----------
    tree_ : SoftTree
        The finished tree, with the prediction kernel.
    bandwidth_ : float
        The chosen bandwidth in standard deviations. Only if `bandwidth` is "auto" or "cv".
    size_path_ : dict of arrays
        Held-out losses, in columns: ``bandwidth``, ``max_leaf_nodes``, ``loss`` and ``standard_error``. Only if
        `max_leaf_nodes` is "auto" or "small". The bandwidth is 1 where it was not chosen with the size. For more than
        2 000 rows, these are the losses of the last choice, of the size with the chosen bandwidth.
    """

    bandwidth: (
        float | Sequence[float] | np.ndarray | Mapping[Any, float] | Literal["auto", "cv", "silverman", "loo"]
    ) = "auto"
    max_leaf_nodes: int | Literal["auto", "small"] | None = "auto"
    min_mass: float = 1.0
    cutoff: float = 1e-2
    bandwidth_per_node: bool = False

    size_path_: dict[str, np.ndarray] = field(init=False)
    _leading: ClassVar[tuple[str, ...]] = (
        "bandwidth", "max_leaf_nodes", "kernel", "criterion", "max_depth", "min_mass", "min_gain", "max_features",
        "ccp_alpha", "merge_equal",
    )  # fmt: skip

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

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features_in)
            The rows. Text and category columns of frames are categories. Missing values are allowed everywhere.
        y : array-like of shape (n_rows,)
            Labels or targets.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Weights of the rows. A weight of 2 has the same effect as repeating the row.

        Returns
        -------
        Bunch
            ``ccp_alphas`` and ``impurities``.
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


@estimator
class KernelTreeClassifier(SearchedKernelClassifier, _KernelTree):
    """Kernel density decision tree for classes.

    Every training point is spread out by a kernel. The splits are those that a conventional tree would choose on
    infinitely many points drawn from this density estimate; they are found exactly, without sampling. Predictions are
    averaged over a kernel around the point, so the probabilities are smooth.

    Parameters
    ----------
    criterion : {"gini", "entropy"}
        Impurity that the splits reduce.
    merge_equal : bool
        If True, merge sibling leaves that predict the same class. This changes probabilities, but not the crisp
        decision (that of ``prediction_kernel=None``).

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

    criterion: Literal["gini", "entropy"] = "gini"
    merge_equal: bool = False

    def _check_parameters(self) -> Limits:
        check_flag(self, "merge_equal", self.merge_equal)
        return super()._check_parameters()

    def _simplify(self, tree: SoftTree) -> SoftTree:
        return merge_equal_leaves(tree) if self.merge_equal else tree


@estimator
class KernelTreeRegressor(SearchedKernelRegressor, _KernelTree):
    """Kernel density decision tree for real targets.

    Every training point is spread out by a kernel. The splits are those that a conventional tree would choose on
    infinitely many points drawn from this density estimate; they are found exactly, without sampling, and reduce the
    squared error. Predictions are averaged over a kernel around the point, so they are smooth. The target may be a
    matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import KernelTreeRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = KernelTreeRegressor(bandwidth=0.2).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[np.pi / 2]])[0] - 1) < 0.05)
    True
    """

    criterion: Literal["squared_error"] = "squared_error"
