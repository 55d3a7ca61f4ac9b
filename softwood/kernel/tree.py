"""Kernel density decision trees: the estimators.

From "Kernel Density Decision Trees" (2022). The tree is grown on a kernel density estimate of the training points
instead of on the points themselves. Its prediction can be averaged over a kernel around the point to predict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from softwood.base import Fit
from softwood.core.estimators import estimator
from softwood.core.losses import BinaryLogLoss, SoftmaxLogLoss
from softwood.core.parameters import check_choice, check_flag, parameter_error
from softwood.core.steps import Steps
from softwood.core.targets import ClassTargets, RealTargets
from softwood.kernel.base import SearchedKernelClassifier, SearchedKernelModel, SearchedKernelRegressor
from softwood.kernel.choosing.bandwidth import auto_parts
from softwood.kernel.choosing.refinement import SCALE, RefinementChoice, is_trend_better
from softwood.kernel.choosing.tree_settings import LeftOpen, TreeSettings, choose_settings
from softwood.kernel.data.bandwidths import loo_widths, silverman_widths, stated_widths
from softwood.kernel.data.category_statistics import as_sets
from softwood.kernel.data.column_statistics import standard_deviations
from softwood.kernel.data.preparation import TrainingData
from softwood.kernel.growing.growing import grow_tree
from softwood.kernel.growing.per_node import grow_tree_per_node
from softwood.kernel.growing.problem import Limits
from softwood.kernel.prediction import PredictionKernels
from softwood.kernel.refining import DistinctRows, Learned, Passes, Refinement, probabilities
from softwood.kernel.rows import TreeRows, TreeRowsInMemory
from softwood.kernel.trend import HeldOutTrend, Trend, held_out_trend
from softwood.trees.forest import SoftForest
from softwood.trees.pruning import merge_equal_leaves, prune_cost_complexity, pruning_path
from softwood.trees.tree import SoftTree
from softwood.uncertainty.held_out import HeldOut, own_copies

# By default, where the number of leaves is also chosen, a trend of more classes is not tried: it takes long.
MOST_TREND_OUTPUTS = 10


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
    refine : bool, int or "auto"
        Whether thresholds, half-widths and leaf values are trained together after growing. The columns and the places
        of the tests stay. An int is the number of passes over the rows; True chooses it by held-out loss. "auto" is
        True if the number of leaves is given or chosen and the bandwidth is chosen. The number of leaves is then
        chosen for refined trees. Half-widths are trained in columns without measurement errors, unless they are given
        as numbers. Leaf values are shrunk towards the nodes above them, as strongly as held-out rows say unless the
        number of passes is given; in trees of sets of categories alone, nothing else changes. Those of a refined
        classifier are logarithms of probabilities, and its prediction is the softmax of their weighted sum. A leaf may
        have less mass than `min_mass` after refining; leaves that lose all rows are dropped. Trees that predict without
        kernels are not refined.
    trend : {"linear", "auto"} or None
        Whether a linear function of at most eight columns is added to the tree. Its columns are chosen by held-out
        loss, and the tree is grown from what it does not explain. Outside of the range of the training rows, a column
        counts as the nearest end of it, and a missing value counts as the mean. Categories and columns with measurement
        errors have no trend. "auto" tries a trend if the number of leaves is given or chosen and the bandwidth is
        chosen, and keeps it if the held-out loss of refined trees beside it is smaller, or larger by at most a quarter
        of its standard error; trees of classes with more than 256 chosen leaves have none. The model is then the sum
        ``forest_`` of the tree and of one tree for each column of the trend. Trends of classes add up to log odds, or
        to scores before the softmax.
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
        The finished tree, with the prediction kernel. With a trend, what the tree adds to it.
    forest_ : SoftForest
        Sum of ``tree_`` and of a tree for each column of the trend. Only if the model has a trend.
    bandwidth_ : float
        The chosen bandwidth in standard deviations. Only if `bandwidth` is "auto" or "cv".
    n_passes_ : int
        Number of passes over the rows in refining. 0 if the tree was not refined.
    size_path_ : dict of arrays
        Held-out losses before refining, in columns: ``bandwidth``, ``max_leaf_nodes``, ``loss`` and
        ``standard_error``. Only if `max_leaf_nodes` is "auto" or "small". The bandwidth is 1 where it was not chosen
        with the size. For more than 2 000 rows, these are the losses of the last choice, of the size with the chosen
        bandwidth.
    """

    bandwidth: (
        float | Sequence[float] | np.ndarray | Mapping[Any, float] | Literal["auto", "cv", "silverman", "loo"]
    ) = "auto"
    max_leaf_nodes: int | Literal["auto", "small"] | None = "auto"
    refine: bool | int | Literal["auto"] = "auto"
    trend: Literal["linear", "auto"] | None = "auto"
    min_mass: float = 1.0
    cutoff: float = 1e-2
    bandwidth_per_node: bool = False

    n_passes_: int = field(init=False)
    size_path_: dict[str, np.ndarray] = field(init=False)
    _leading: ClassVar[tuple[str, ...]] = (
        "bandwidth", "max_leaf_nodes", "refine", "trend", "kernel", "criterion", "max_depth", "min_mass", "min_gain",
        "max_features", "ccp_alpha", "merge_equal",
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
            widths = self._given_widths(data)
            targets, alone, given = data.targets, rows, widths
            trend = self._choose_trend(rows, limits, widths, stages)
            rows, learned = _beside(alone, trend)
            choice = self._choose(rows, limits, given, learned, stages)
            if trend is not None and self.trend == "auto" and learned.is_class and choice.is_too_large:
                trend = None  # scores of classes have to be refined, and such large trees are not
                rows, learned = _beside(alone, trend)
                choice = self._choose(rows, limits, given, learned, stages)
            data, widths, passes = rows.data, choice.widths, choice.passes
            problem = rows.problem(widths)
            with stages.stage("grow", "part") as steps:
                if self.bandwidth_per_node:
                    tree = grow_tree_per_node(
                        problem, data.matrix, self._node_rule(), choice.limits, seed=rows.seed, steps=steps
                    )
                else:
                    tree = rows.grow_tree(problem, choice.limits, steps)
            kernels = self._make_prediction_kernels(widths, data)
            tree = self._pruned(tree, kernels, data)
            held_out = None
            if isinstance(rows, TreeRowsInMemory):
                held_out = partial(self._held_out, *own_copies(data.matrix.size, rows, choice, learned, targets))
            if trend is not None:
                learned = Learned.of(targets, trend.trend.predict(data.matrix))
            if _is_refined(tree, passes, learned):
                tree, widths = self._refine(tree, rows, widths, learned, passes or Passes(0), stages)
                kernels = self._make_prediction_kernels(widths, data)
            tree = as_sets(tree, self.columns_.n_categories, rows.categories)
            if trend is not None:
                self._add_trend(tree, trend.trend, targets, rows.total)
            if held_out is not None and not stages.is_stopped:
                self._hold_out(data.matrix.size, held_out)
        self.bandwidths_, self._prediction_kernels_, self.tree_ = widths, kernels, tree
        self.n_passes_ = 0 if passes is None else passes.n_passes

    def _choose_trend(
        self, rows: TreeRows, limits: Limits, widths: np.ndarray | None, stages: Steps
    ) -> HeldOutTrend | None:
        """The trend that the tree is grown beside; None if there is none, or if trees without it are better.

        Parameters
        ----------
        widths : (p,) half-widths if they are given, or None
        """
        is_crisp = widths is not None and not np.any(widths)
        if self.trend is None or (self.trend == "auto" and (is_crisp or not self._may_have_trend)):
            return None
        with stages.stage("trend", "trial") as steps:
            if self.trend == "auto" and self._chooses_size and rows.data.targets.matrix().shape[1] > MOST_TREND_OUTPUTS:
                return None
            found = held_out_trend(rows.data, self._has_common_width(rows.data), rows.seed)
            if self.trend == "linear" or found is None:
                return found
            own = SCALE * rows.data.deviations if widths is None else widths
            size = self.max_leaf_nodes
            without, beside = (
                self._refinement_choice(each, limits, own, learned, steps)
                for each, learned in (_beside(rows, None), _beside(rows, found))
            )
            is_better = is_trend_better(
                without,
                beside,
                None if size is None or isinstance(size, str) else int(size),
                refines=self._refines,
            )
            return found if is_better else None

    @property
    def _has_limited_size(self) -> bool:
        """Whether the number of leaves is given or chosen."""
        return self._chooses_size or isinstance(self.max_leaf_nodes, Integral)

    @property
    def _may_have_trend(self) -> bool:
        """Whether "auto" tries a trend: not for trees of a given bandwidth, or whose size nothing limits."""
        if self.bandwidth_per_node or getattr(self, "merge_equal", False):
            return False
        if self.prediction_kernel is None or not isinstance(self.bandwidth, str):
            return False
        return self._has_limited_size

    def _has_common_width(self, data: TrainingData) -> np.ndarray:
        """Columns without measurement errors in which all rows have the same half-width, (p,)."""
        kernels = self._make_prediction_kernels(np.zeros(len(data.deviations)), data).kernels
        found = np.array([not own.scale and not other.scale for own, other in zip(data.kernels, kernels, strict=True)])
        found[[j for j, error in data.errors.items() if np.any(error)]] = False
        return found

    def _add_trend(self, tree: SoftTree, trend: Trend, targets: ClassTargets | RealTargets, mass: float) -> None:
        """Set ``forest_``, the sum of the trend and the tree, and the loss whose link makes predictions of it."""
        n_outputs, scale, square_scale = tree.n_outputs, 1.0, 1.0
        if isinstance(targets, RealTargets):
            scale, square_scale = targets.scale, targets.square_scale / n_outputs
            trend = trend.scaled(targets.mean, scale)
        else:
            self._loss_ = BinaryLogLoss() if n_outputs == 1 else SoftmaxLogLoss(n_outputs)
        gains = square_scale * trend.explained(scale)
        trees = [tree, *trend.stumps(tree.n_features, mass, tree.shapes, gains)]
        self.forest_ = SoftForest.sum(trees, np.zeros(len(trees)), trend.base)

    @property
    def _read_trees(self) -> SoftTree:
        check_is_fitted(self, "tree_")
        return self.tree_

    @property
    def _finished(self) -> SoftTree | SoftForest:
        return getattr(self, "forest_", self._read_trees)

    @property
    def _n_trend_trees(self) -> int:
        return len(self.forest_) - 1 if hasattr(self, "forest_") else 0

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Effective alphas of cost-complexity pruning, and the total impurity of the leaves at each alpha.

        As in scikit-learn's `DecisionTreeClassifier.cost_complexity_pruning_path`.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features_in)
            The rows. Text and category columns of frames are categories. Missing values are allowed everywhere.
        y : array-like of shape (n_rows,)
            Labels or targets.

        Returns
        -------
        Bunch
            ``ccp_alphas`` and ``impurities``.
        """
        full = clone(self).set_params(
            ccp_alpha=0.0, refine=False, **({"merge_equal": False} if hasattr(self, "merge_equal") else {})
        )
        if self.max_leaf_nodes == "auto":  # the penalty replaces the choice
            full.set_params(max_leaf_nodes=None)
        alphas, impurities = pruning_path(full.fit(X, y, sample_weight).tree_)
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    def _pruned(self, tree: SoftTree, kernels: PredictionKernels, data: TrainingData) -> SoftTree:
        """A grown tree after pruning, with the kernels that it predicts with."""
        if self.ccp_alpha > 0:
            tree = prune_cost_complexity(tree, self.ccp_alpha)
        return kernels.of(self._simplify(tree), data.errors)

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
        self._check_refine()
        self._check_trend()
        return self._limits()

    def _check_refine(self) -> None:
        refine: Any = self.refine
        if refine == "auto":
            return
        if not isinstance(refine, bool | np.bool_ | Integral) or refine < 0:
            raise parameter_error(self, "refine", "'auto', a bool or an int in the range [0, inf)", refine)
        if refine and self.bandwidth_per_node:
            raise parameter_error(self, "refine", "'auto' or False with bandwidth_per_node", self.refine)

    def _check_trend(self) -> None:
        if self.trend is not None:
            check_choice(self, "trend", self.trend, ("linear", "auto"))
        if self.trend == "linear":
            for name in ("bandwidth_per_node", "merge_equal"):
                if getattr(self, name, False):
                    raise parameter_error(self, "trend", f"None or 'auto' with {name}", self.trend)

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

    @property
    def _refines(self) -> bool:
        """Whether the tree is refined; "auto" leaves trees of a given bandwidth, or whose size nothing limits."""
        if self.bandwidth_per_node:
            return False
        if isinstance(self.refine, str):
            return isinstance(self.bandwidth, str) and self._has_limited_size
        return bool(self.refine)

    def _choose(
        self, rows: TreeRows, limits: Limits, widths: np.ndarray | None, learned: Learned, stages: Steps
    ) -> TreeSettings:
        """Choose what is not given.

        Sets ``bandwidth_`` and ``size_path_`` if held-out loss decides.
        """
        data = rows.trial
        is_soft = widths is None or bool(np.any(widths > 0)) or bool(data.errors)
        is_crisp = self.prediction_kernel is None  # settings are chosen for such predictions
        refines = self._refines and (learned.offset is not None or (is_soft and not is_crisp))
        is_given = not isinstance(self.refine, str | bool | np.bool_)
        passes = Passes(int(self.refine)) if refines and is_given else None
        left_open = LeftOpen(
            str(self.bandwidth) if widths is None else None, str(self.max_leaf_nodes) if self._chooses_size else None,
            refines and not is_given,
        )  # fmt: skip
        if widths is not None and left_open == (None, None, False):
            return TreeSettings(widths, limits, passes, [], limits)
        with stages.stage("choose", "trial") as steps:
            found = choose_settings(
                data, limits, left_open, widths, lambda: self._folds(rows),
                lambda own: self._refinement_choice(rows, limits, own, learned, steps),
                seed=rows.seed, crisp=is_crisp, steps=steps,
            )  # fmt: skip
        if found.bandwidth is not None:
            self.bandwidth_ = found.bandwidth
        if found.size_path is not None:
            self.size_path_ = found.size_path
        return found if passes is None else found._replace(passes=passes)

    def _held_out(
        self, rows: TreeRows, choice: TreeSettings, learned: Learned, targets: ClassTargets | RealTargets
    ) -> HeldOut | None:
        """The held-out rows that settings were chosen by, with predictions by trees with the chosen settings.

        None if there are none, or if columns of many categories have statistics that know the targets of these rows.

        Parameters
        ----------
        learned : what the trees of the parts learn, with a trend that does not know the held-out rows
        """
        if not choice.parts or not isinstance(rows, TreeRowsInMemory) or rows.categories is not None:
            return None
        data, found = rows.data, choice.held_out
        predictions = (
            self._predict_parts(rows, choice, learned, targets)
            if found is None
            else [_predictions(outputs, targets) for outputs in found]
        )
        which, first = np.unique(np.concatenate([test for _, test in choice.parts]), return_index=True)
        truth = targets.in_units(targets.matrix()[which])
        return HeldOut.of(data.matrix[which], np.concatenate(predictions)[first], truth, rows.counts[which])

    def _predict_parts(
        self, rows: TreeRowsInMemory, choice: TreeSettings, learned: Learned, targets: ClassTargets | RealTargets
    ) -> list[np.ndarray]:
        """Predictions of the held-out rows of each part, by trees that are grown for them."""
        data, problem, passes = rows.data, rows.problem(choice.widths), choice.passes
        kernels, found = self._make_prediction_kernels(choice.widths, data), []
        cells = None if kernels.is_crisp else kernels.cells(data.errors, data.matrix)
        for train, test in choice.parts:
            tree = self._pruned(grow_tree(problem, choice.own_limits, seed=rows.seed, rows=train), kernels, data)
            own = data.matrix[test], None if cells is None else cells[test]
            if _is_refined(tree, passes, learned):
                refinement = self._refinement(tree, rows, choice.widths, learned, passes or Passes(0), train)
                for _ in range(0 if passes is None else passes.n_passes):
                    refinement.step()
                rows_of = DistinctRows.of(*own, learned.take(test), np.ones(len(test)), rows.seed)
                found.append(_predictions(refinement.outputs(rows_of)[rows_of.place], targets))
            else:
                outputs = tree.predict(own[0], widths=own[1])
                found.append(outputs if learned.offset is None else outputs + targets.in_units(learned.offset[test]))
        return found

    def _refinement_choice(
        self, rows: TreeRows, limits: Limits, widths: np.ndarray, learned: Learned, steps: Steps
    ) -> RefinementChoice:
        data, seed = rows.trial, rows.seed
        kernels = self._make_prediction_kernels(widths, data)
        return RefinementChoice(
            data, limits, auto_parts(data, seed), widths, kernels, self._is_free(data), learned, seed=seed, steps=steps
        )

    def _is_free(self, data: TrainingData) -> np.ndarray:
        """Columns whose half-widths are refined, (p,): where the user has said nothing about them."""
        is_chosen = isinstance(self.bandwidth, str) and isinstance(self.prediction_bandwidth, str)
        is_free = np.array([is_chosen and not kernel.scale for kernel in data.kernels])
        is_free[[j for j, error in data.errors.items() if np.any(error)]] = False
        return is_free

    def _refine(
        self, tree: SoftTree, rows: TreeRows, widths: np.ndarray, learned: Learned, passes: Passes, stages: Steps
    ) -> tuple[SoftTree, np.ndarray]:
        """The refined tree, and the half-widths of the columns."""
        refinement = self._refinement(tree, rows, widths, learned, passes, np.arange(len(rows.data.matrix)))
        with stages.stage("refine", "pass", passes.n_passes) as steps:
            for step in steps:
                step.end(train_loss=refinement.step())
        return refinement.finish(), refinement.widths(widths)

    def _refinement(
        self, tree: SoftTree, rows: TreeRows, widths: np.ndarray, learned: Learned, passes: Passes, which: np.ndarray
    ) -> Refinement:
        """The refinement of a tree that was grown from the rows with the numbers `which`."""
        data = rows.data
        cells = self._make_prediction_kernels(widths, data).cells(data.errors, data.matrix)
        distinct = DistinctRows.of(
            data.matrix[which], None if cells is None else cells[which], learned.take(which), data.weights[which],
            rows.seed,
        )  # fmt: skip
        return Refinement(tree, distinct, data.problem(widths), data.deviations, self._is_free(data), passes.strength)

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


def _beside(rows: TreeRows, trend: HeldOutTrend | None) -> tuple[TreeRows, Learned]:
    """The rows with what a trend leaves of their targets, and what the finished tree learns beside it."""
    targets = rows.data.targets
    if trend is None:
        return rows, Learned.of(targets)
    return rows.beside(trend), Learned.of(targets, trend.predict(rows.data.matrix))


def _is_refined(tree: SoftTree, passes: Passes | None, learned: Learned) -> bool:
    """Whether the values of a grown tree are trained; beside a trend, those of classes are: means are no scores."""
    if learned.offset is None:
        return passes is not None and tree.n_leaves > 1
    return passes is not None or learned.is_class


def _predictions(outputs: np.ndarray, targets: ClassTargets | RealTargets) -> np.ndarray:
    """Predictions from the outputs of a refinement."""
    if isinstance(targets, RealTargets):
        return targets.in_units(outputs)
    found = probabilities(outputs)
    return np.hstack([1.0 - found, found]) if found.shape[1] == 1 else found


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
