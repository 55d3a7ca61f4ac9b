"""Kernel density decision trees: the estimators.

Kernel Density Decision Trees (2022): a tree grown on the density that kernels around the training points estimate,
instead of on the points; and read, if wanted, by averaging over a kernel around the point to predict.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, check_random_state

from softwood.base import ClassifierBase, RegressorBase, TreeEstimator
from softwood.density.bandwidths import loo_widths, silverman_widths, standard_deviations, stated_widths
from softwood.density.choosing import choose_by_auto, choose_by_cv, content_folds, widths_by_rule
from softwood.density.errors import Errors, combine_widths, read_errors
from softwood.density.growing import Limits, grow_tree
from softwood.density.growing_per_node import grow_tree_per_node
from softwood.density.kernels import box, resolve_kernels
from softwood.density.preparation import TrainingData, common_errors, prepare
from softwood.gates import Gate
from softwood.parameters import check_choice, check_flag, check_integer, check_number, parameter_error
from softwood.pruning import merge_equal_leaves, prune_cost_complexity, pruning_path
from softwood.targets import ClassTargets
from softwood.tree import SoftTree

__all__ = ["KernelTreeClassifier", "KernelTreeRegressor"]

_NO_MASS = 1e-9  # a side with less mass than this is no side


class _KernelTree(TreeEstimator):
    """What the classifier and the regressor share."""

    def __init__(
        self,
        *,
        bandwidth: Any = "auto",
        kernel: Any = "box",
        prediction_kernel: Any = "same",
        prediction_bandwidth: Any = "same",
        bandwidth_unit: str = "sd",
        bandwidth_per_node: bool = False,
        measurement_error: Any = None,
        criterion: str = "squared_error",
        splitter: str = "auto",
        max_bins: int = 255,
        max_depth: int | None = None,
        min_mass: float = 1.0,
        min_gain: float = 0.0,
        max_leaf_nodes: int | None = None,
        max_features: Any = None,
        ccp_alpha: float = 0.0,
        cutoff: float = 1e-6,
        categorical_features: Any = "from_dtype",
        cv: Any = 10,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.bandwidth = bandwidth
        self.bandwidth_unit = bandwidth_unit
        self.bandwidth_per_node = bandwidth_per_node
        self.kernel = kernel
        self.prediction_kernel = prediction_kernel
        self.prediction_bandwidth = prediction_bandwidth
        self.measurement_error = measurement_error
        self.criterion = criterion
        self.splitter = splitter
        self.max_bins = max_bins
        self.max_depth = max_depth
        self.min_mass = min_mass
        self.min_gain = min_gain
        self.max_leaf_nodes = max_leaf_nodes
        self.max_features = max_features
        self.ccp_alpha = ccp_alpha
        self.cutoff = cutoff
        self.categorical_features = categorical_features
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

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
        limits = self._check_parameters()
        matrix, targets, weights, rows = self._read_training_data(X, y, sample_weight)
        limits = replace(limits, n_draw=self._n_draw(matrix.shape[1]))
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        data = prepare(
            matrix, targets, weights, self.columns_, resolve_kernels(self, "kernel", self.kernel, self.columns_),
            self._errors(measurement_error, matrix, rows, len(np.asarray(y))), criterion=self.criterion,
            splitter=self.splitter, max_bins=self.max_bins, n_jobs=self.n_jobs,
        )  # fmt: skip
        if self.bandwidth_per_node and (data.errors or any(kernel.scale for kernel in data.kernels)):
            raise parameter_error(self, "bandwidth_per_node", "False with measurement errors or scaled kernels", True)
        widths = self._choose_widths(data, limits, seed, rows)
        problem = data.problem(widths)
        if self.bandwidth_per_node:
            tree = grow_tree_per_node(problem, matrix, self._node_rule(), limits, seed=seed, progress=self._progress())
        else:
            tree = grow_tree(problem, limits, seed=seed, n_jobs=self.n_jobs, progress=self._progress())
        if self.ccp_alpha > 0:
            tree = prune_cost_complexity(tree, self.ccp_alpha)
        tree = self._simplify(tree)
        self.bandwidths_ = widths
        self.tree_ = self._with_prediction_kernel(tree, data)
        return self

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
        check_choice(self, "splitter", self.splitter, ("auto", "exact", "hist"))
        check_choice(self, "bandwidth_unit", self.bandwidth_unit, ("sd", "absolute"))
        check_integer(self, "max_bins", self.max_bins, low=2, high=255)
        if isinstance(self.cv, Integral):
            check_integer(self, "cv", self.cv, low=2)
        check_integer(self, "verbose", self.verbose, low=0)
        check_number(self, "ccp_alpha", self.ccp_alpha, low=0.0)
        check_flag(self, "bandwidth_per_node", self.bandwidth_per_node)
        if isinstance(self.bandwidth, str):
            rules = ("silverman", "loo") if self.bandwidth_per_node else ("auto", "cv", "silverman", "loo")
            if self.bandwidth not in rules:
                expected = f"a number, one per column, a dict by column, or one of {', '.join(map(repr, rules))}"
                raise parameter_error(self, "bandwidth", expected, self.bandwidth)
        if self.bandwidth_per_node and self.max_leaf_nodes is not None:
            raise parameter_error(self, "max_leaf_nodes", "None with bandwidth_per_node", self.max_leaf_nodes)
        min_mass = check_number(self, "min_mass", self.min_mass, low=0.0, open_low=True)
        return Limits(
            max_depth=check_integer(self, "max_depth", self.max_depth, low=1, or_none=True),
            min_mass=max(min_mass, _NO_MASS),
            min_gain=check_number(self, "min_gain", self.min_gain, low=0.0),
            max_leaf_nodes=check_integer(self, "max_leaf_nodes", self.max_leaf_nodes, low=2, or_none=True),
            cutoff=check_number(self, "cutoff", self.cutoff, low=0.0, high=0.1),
        )

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
        number = check_integer(self, "max_features", wanted, low=1)
        assert number is not None
        return min(number, p)

    def _errors(
        self, given: Any, matrix: np.ndarray, rows: np.ndarray | None = None, n_rows: int | None = None
    ) -> Errors:
        """Errors of the columns (the parameter), and in their place those given for single cells."""
        return {
            **read_errors(self, self.measurement_error, self.columns_, matrix),
            **read_errors(self, given, self.columns_, matrix, rows, n_rows),
        }

    def _choose_widths(self, data: TrainingData, limits: Limits, seed: int, rows: np.ndarray) -> np.ndarray:
        """Half-width of each column's kernel, in the units of the column; sets ``bandwidth_`` if it is chosen."""
        if not isinstance(self.bandwidth, str):
            widths = stated_widths(self, "bandwidth", self.bandwidth, self.columns_)
            return (
                widths * data.deviations if self.bandwidth_unit == "sd" else np.where(data.deviations > 0, widths, 0.0)
            )
        if self.bandwidth in ("silverman", "loo"):
            return widths_by_rule(self.bandwidth, data)
        report = self._report_scale if self.verbose else None
        is_crisp = self.prediction_kernel is None  # chosen for the reading that will be used
        if self.bandwidth == "cv":
            self.bandwidth_ = choose_by_cv(data, limits, self._parts(data, rows, seed), seed, report, crisp=is_crisp)
        else:
            self.bandwidth_ = choose_by_auto(data, limits, seed, report, crisp=is_crisp)
        return self.bandwidth_ * data.deviations

    def _parts(self, data: TrainingData, rows: np.ndarray, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Training and held-out rows of the folds of `cv`."""
        if isinstance(self.cv, Integral):
            return list(content_folds(data.matrix, int(self.cv), seed))
        number = np.full(int(rows.max()) + 1, -1)
        number[rows] = np.arange(len(rows))  # the user's splits count the rows of weight 0, too
        labels = None
        if isinstance(data.targets, ClassTargets) and data.targets.labels is not None:
            labels = np.zeros(len(number), dtype=np.int32)
            labels[rows] = data.targets.labels
        splits = check_cv(self.cv, labels, classifier=labels is not None).split(np.zeros(len(number)), labels)
        kept = [tuple(number[part[part < len(number)]] for part in map(np.asarray, split)) for split in splits]
        return [(train[train >= 0], test[test >= 0]) for train, test in kept]

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

    # Kernels for reading the tree

    def _with_prediction_kernel(self, tree: SoftTree, data: TrainingData) -> SoftTree:
        """The tree as it will be read, and what `_read_points` needs to do the same for single cells."""
        kernels, kinds, shapes = data.kernels, data.kinds, data.shapes
        widths = self.bandwidths_
        if self.prediction_kernel is None:
            self._prediction = (np.zeros_like(widths), [box()] * len(widths))
            return tree.crisp()
        is_same = isinstance(self.prediction_kernel, str) and self.prediction_kernel == "same"
        if not is_same:
            kernels, kinds, shapes = resolve_kernels(self, "prediction_kernel", self.prediction_kernel, self.columns_)
        own_width = not (isinstance(self.prediction_bandwidth, str) and self.prediction_bandwidth == "same")
        if own_width:
            widths = stated_widths(self, "prediction_bandwidth", self.prediction_bandwidth, self.columns_)
            if self.bandwidth_unit == "sd":
                widths = widths * data.deviations
        self._prediction = (widths, kernels)
        by_column = len(common_errors(data.errors)) == len(data.errors) and not any(k.scale for k in kernels)
        if is_same and not own_width and by_column:  # as it was grown
            return tree
        if self.bandwidth_per_node and not own_width:  # every node keeps its own width
            return replace(
                tree, kernel=np.where(tree.gate == Gate.KERNEL, kinds[tree.feature], 0).astype(np.int32), shapes=shapes
            )
        combined, _ = combine_widths(widths, kernels, common_errors(data.errors), data.matrix[:0])
        return tree.with_kernel(combined, kinds, shapes)

    def _read_points(
        self, X: Any, *, measurement_error: Any = None, **unknown: Any
    ) -> tuple[np.ndarray, np.ndarray | None]:
        matrix, _ = super()._read_points(X, **unknown)
        widths, kernels = self._prediction
        if self.prediction_kernel is None:
            errors = read_errors(self, measurement_error, self.columns_, matrix)
        else:
            errors = self._errors(measurement_error, matrix)
        if measurement_error is not None:  # the tree holds other errors, or none: every column is said anew
            errors = {j: np.broadcast_to(error, len(matrix)) for j, error in errors.items()}
        if self.bandwidth_per_node and errors:
            raise parameter_error(self, "bandwidth_per_node", "False with measurement errors", True)
        return matrix, combine_widths(widths, kernels, errors, matrix)[1]

    # Telling

    def _progress(self) -> Callable[[int], None] | None:
        if not self.verbose:
            return None
        start = last = time.monotonic()

        def tell(n_nodes: int) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last > 1.0 or self.verbose > 1:
                print(f"[{type(self).__name__}] {n_nodes} nodes, {now - start:.1f} s", flush=True)
                last = now

        return tell

    def _report_scale(self, scale: float, loss: float) -> None:
        print(f"[{type(self).__name__}] bandwidth {scale:.3g} sd: held-out loss {loss:.4f}", flush=True)


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
    cv : int, splitter or iterable of (train, test), default=10
        Folds of ``bandwidth="cv"``. Folds by number are drawn by the content of the rows: equal rows stay together.
    class_weight : dict or "balanced", default=None
        Weights of classes.
    n_jobs : int, default=None
        Threads for binning and growing; the tree does not depend on it.
    random_state : int or RandomState, default=None
        Folds of the bandwidth choice and features drawn for `max_features`.
    verbose : int, default=0
        1 tells now and then how far it is, 2 more often.

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

    def __init__(
        self,
        *,
        bandwidth: Any = "auto",
        kernel: Any = "box",
        prediction_kernel: Any = "same",
        prediction_bandwidth: Any = "same",
        bandwidth_unit: str = "sd",
        bandwidth_per_node: bool = False,
        measurement_error: Any = None,
        criterion: str = "gini",
        splitter: str = "auto",
        max_bins: int = 255,
        max_depth: int | None = None,
        min_mass: float = 1.0,
        min_gain: float = 0.0,
        max_leaf_nodes: int | None = None,
        max_features: Any = None,
        ccp_alpha: float = 0.0,
        merge_equal: bool = False,
        cutoff: float = 1e-6,
        categorical_features: Any = "from_dtype",
        cv: Any = 10,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            bandwidth=bandwidth,
            kernel=kernel,
            prediction_kernel=prediction_kernel,
            prediction_bandwidth=prediction_bandwidth,
            bandwidth_unit=bandwidth_unit,
            bandwidth_per_node=bandwidth_per_node,
            measurement_error=measurement_error,
            criterion=criterion,
            splitter=splitter,
            max_bins=max_bins,
            max_depth=max_depth,
            min_mass=min_mass,
            min_gain=min_gain,
            max_leaf_nodes=max_leaf_nodes,
            max_features=max_features,
            ccp_alpha=ccp_alpha,
            cutoff=cutoff,
            categorical_features=categorical_features,
            cv=cv,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.merge_equal = merge_equal
        self.class_weight = class_weight

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
