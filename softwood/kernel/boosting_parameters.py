"""The parameters of the boosting estimators: their defaults, checks, and what "auto" stands for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np

from softwood.core.estimators import estimator
from softwood.core.losses import Loss
from softwood.core.parameters import check_choice, check_count, check_flag, check_integer, check_number, parameter_error
from softwood.kernel.base import KernelModel
from softwood.kernel.choosing.boosting_plans import PLANS
from softwood.kernel.choosing.boosting_settings import most_rounds
from softwood.kernel.data.measurement_errors import error_functions
from softwood.kernel.prediction import PredictionKernels
from softwood.kernel.rounds.newton import NewtonLimits
from softwood.kernel.rounds.rounds import BoostingRules

# What "auto" stands for if it is not chosen. The penalty is in rows; comparisons/boosting says which data sets it was
# chosen on.
AUTO_RATE, AUTO_L2, AUTO_LEAVES, AUTO_MASS = 0.1, 3.0, 31, 20.0
# multi_strategy="auto": from this number of classes on, a round has one tree for all. The learning rate is then so many
# times larger.
ONE_TREE_FROM, FASTER = 8, 3.0


def is_auto(value: Any) -> bool:
    """Whether a parameter is "auto"."""
    return isinstance(value, str) and value == "auto"


@estimator
class BoostingParameters(KernelModel):
    """Parameters that the classifier and the regressor share.

    Parameters
    ----------
    max_iter : int or "auto"
        Largest number of rounds. "auto" chooses it by held-out loss, in folds if the table is small; the model is then
        fitted to all rows. If there are validation rows that stop the training early, these decide, and "auto" allows
        500 rounds for a learning rate of 0.1, more for smaller rates.
    learning_rate : float or "auto"
        Factor on the leaf values of each tree. Smaller values need more rounds. "auto" is 0.12 if `max_iter` is "auto"
        (0.06 with ``quality="best"``), otherwise 0.1; if a round has one tree for all classes (see `multi_strategy`),
        three times as much. Of two settings whose models are averaged (see `quality`), the one that needs more rounds
        has a larger rate.
    quality : {"fast", "balanced", "best"}
        How much time the fit takes for what is "auto". "fast" tries two or three kernels on one quarter of the rows.
        "balanced" tries three kernels, and half of the columns for each tree, on two of three folds. If `max_iter` is
        "auto" and trees grow by "node", the model is the mean of two: one with the best setting, one with the next
        best, if there is one; their kernels have the same bandwidth, or 0. "best" uses all folds, and the model is the
        mean of six with up to three settings, which differ in the rows and columns drawn for their trees. Models of a
        mean grow together: a round adds a tree to each.
    bandwidth : float, array-like, dict or {"auto", "silverman", "loo"}
        Half-width of the boxes, in units of `bandwidth_unit`. Larger values give smoother predictions and slower fits.
        0 gives conventional boosting. Either one number for all columns, one number per column, a dict by column
        (columns that it leaves out get 0), or a rule:

        - "auto" chooses one number of standard deviations for all columns, possibly 0, by held-out loss at a bounded
          cost.
        - "silverman" applies Silverman's rule of thumb to each column.
        - "loo" chooses for each column the half-width whose leave-one-out prediction of the target from that column
          alone is best.
    bandwidth_decay : float
        Factor on the bandwidth after each round, in (0, 1]. Below 1, the first rounds learn smooth structure and later
        rounds learn sharper details.
    crisp_every : int or "auto"
        One round in so many has a bandwidth of 0, and learns the steps that kernels blur; 0 means none. "auto"
        chooses 0 or 3 together with the bandwidth if `bandwidth` and `max_iter` are "auto", no measurement errors are
        known, and predictions have the kernels of the fit; otherwise it is 0.
    trend : {"linear", "auto"} or None
        Whether the trees are added to a linear trend: a weighted sum of up to 30 columns of numbers, chosen one after
        the other, as of a ridge or logistic regression. "linear" always fits it. "auto" does so where it lowers the
        held-out loss, if `max_iter` is "auto". There is none with monotonic constraints, measurement errors or other
        prediction kernels than those of the fit, for other losses than "log_loss" and "squared_error", or with
        ``growth="level"``.
    max_leaf_nodes : int, "auto" or None
        Largest number of leaves of a tree. Trees grow best first. "auto" is 16 if `max_iter` is "auto", otherwise 31;
        of more than 3 000 different rows, it chooses 16 or 31, or is 31 with ``quality="fast"``. None means no limit.
    min_mass : float or "auto"
        Smallest mass (weight times membership) of a leaf. Larger values give smaller trees. "auto" is 10 if
        `max_iter` is "auto", otherwise 20.
    min_gain : float
        A node is split only if the gain is larger than this. The gain is twice the decrease of the second-order
        approximation of the loss.
    l2_regularization : float or "auto"
        Added to the sum of second derivatives in every leaf. Larger values give smaller leaf values. 0 means no
        regularisation. "auto" is 1 if `max_iter` is "auto", otherwise 3; with ``loss="poisson"``, times the mean
        target.
    subsample : float or "auto"
        Fraction of the rows drawn without replacement for each round, in (0, 1]. "auto" is 0.8 if `max_iter` is "auto"
        or ``quality="best"``, otherwise 1.
    max_features : int, float, {"auto", "sqrt", "log2"} or None
        Number of columns drawn for each tree. A float is a fraction of all columns. "auto" chooses all or one half if
        `max_iter` is "auto"; otherwise, and with ``quality="fast"``, it is all. None uses all.
    multi_strategy : {"auto", "one_output_per_tree", "multi_output_tree"}
        The trees of a round with more than two classes, or with several quantiles: one for each of them, or one for
        all, with a vector of values in every leaf. Such a tree is searched along a random direction of the raw scores,
        so a round takes little longer than with one output, and learns less. "auto" takes one tree for all from 8
        classes on, if `max_iter` is "auto" and `growth` is "node"; otherwise one for each.
    max_bins : int
        Largest number of bins per column, at most 255. If a column has more than 64, neighbours are merged within an
        eighth of the half-width of the kernel, which hides where in them a value lies.
    cutoff : float
        If a split would send less than this share of a training row to one side, that part goes to the other side.
        Larger values are faster and less exact. Predictions have no cutoff.
    measurement_error : dict, array-like of shape (n_features_in_,) or None
        Known measurement errors of columns, as half-widths in the columns' own units: one number per column, in a dict
        by column or in an array. Error and bandwidth are combined as the root of the sum of their squares, in `fit` and
        in predictions with a kernel. Errors of single cells can be passed to `predict`.
    early_stopping : bool or "auto"
        If True, set some of the rows aside as validation rows, stop when their loss no longer falls, and keep the
        rounds up to the best one. "auto" does so above 10 000 rows if `max_iter` is a number. Validation rows can also
        be passed to `fit`.
    scoring : str, callable or "loss"
        What decides on the number of rounds, by early stopping or with ``max_iter="auto"``: the loss, or a scorer as in
        `sklearn.metrics.make_scorer`, which must take `sample_weight` if rows or classes have weights. Bandwidth and
        number of leaves are always chosen by the loss.
    validation_fraction : float
        Fraction of the rows that early stopping sets aside as validation rows.
    n_iter_no_change : int
        Stop after this many rounds in a row in which the validation loss does not fall by more than `tol`.
    tol : float
        Smallest decrease of the validation loss that counts as an improvement.
    growth : {"node", "level"}
        Whether a tree grows leaf by leaf, or level by level from histograms of exact sums. With "level", the model
        depends neither on the order of the rows nor on how they are divided, and is that of `softwood.dask`. The page
        about Dask in the documentation lists all differences. ``max_depth=None`` then means 12, and the number of
        leaves is limited level by level.
    random_state : int, RandomState instance or None
        Controls the validation rows, the choice of the bandwidth, and the rows and columns drawn for each tree.

    Attributes
    ----------
    forest_ : SoftForest
        The trees. Their sum is the raw score.
    n_iter_ : int
        Number of rounds kept.
    bandwidth_ : float
        The chosen bandwidth in standard deviations. Only if `bandwidth` is "auto". If the model is a mean (see
        `quality`), this and other chosen settings are those of the first model.
    bandwidths_ : ndarray of shape (n_encoded,)
        Half-width of the kernel in each column of the encoded table in the first round, in the column's own units; of
        models with kernels, if others of the mean have none.
    crisp_every_ : int
        The chosen or given `crisp_every`; 0 if no round is crisp.
    max_leaf_nodes_ : int or None
        The chosen or given largest number of leaves.
    min_mass_ : float
        The chosen or given smallest mass of a leaf.
    max_features_ : int
        The chosen or given number of columns of the encoded table that is drawn for each tree.
    n_trend_trees_ : int
        Number of trees at the end of ``forest_`` that make up a linear trend, one for each of its columns and each raw
        score; 0 if there is none.
    search_ : list of dict
        The trials that chose what was "auto", in their order: ``stage``, ``bandwidth``, ``crisp_every``,
        ``max_leaf_nodes``, ``min_mass``, ``max_features``, ``categories`` ("sets", "mixed" with sets by drawn orders
        in every second round, or "codes" for splits in alphabetical order), ``trend``, ``learning_rate``, ``n_rounds``
        with the smallest held-out ``loss``, and ``losses`` before the first round and after each round.
        `softwood.plots.plot_search` draws them. Only if there were trials.
    train_score_ : ndarray of shape (n_rounds + 1,)
        Negative loss on the training rows (on a sample of 20 000, if there are more), before the first round and after
        each round.
    validation_score_ : ndarray of shape (n_rounds + 1,) or (0,)
        Negative loss on the validation rows, or what `scoring` names, before the first round and after each round.
        Empty if there are no validation rows.
    history_ : list of dict
        One line per step, with keys such as ``stage``, ``iteration``, ``train_loss`` and ``validation_loss``.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Gain of the splits on each column, normalised to a sum of 1.
    """

    max_iter: int | Literal["auto"] = "auto"
    learning_rate: float | Literal["auto"] = "auto"
    quality: Literal["fast", "balanced", "best"] = "balanced"
    loss: Literal["log_loss", "squared_error", "absolute_error", "quantile", "poisson"]
    bandwidth: float | Sequence[float] | np.ndarray | Mapping[Any, float] | Literal["auto", "silverman", "loo"] = "auto"
    bandwidth_decay: float = 1.0
    crisp_every: int | Literal["auto"] = "auto"
    trend: Literal["linear", "auto"] | None = "auto"
    max_leaf_nodes: int | Literal["auto"] | None = "auto"
    min_mass: float | Literal["auto"] = "auto"
    l2_regularization: float | Literal["auto"] = "auto"
    subsample: float | Literal["auto"] = "auto"
    max_features: int | float | Literal["auto", "sqrt", "log2"] | None = "auto"
    multi_strategy: Literal["auto", "one_output_per_tree", "multi_output_tree"] = "auto"
    monotonic_cst: Mapping[Any, int] | Sequence[int] | np.ndarray | None = None
    measurement_error: Mapping[Any, float] | Sequence[float] | np.ndarray | None = None
    cutoff: float = 0.0001
    early_stopping: bool | Literal["auto"] = "auto"
    scoring: str | Callable[..., float] = "loss"
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    tol: float = 1e-07

    n_iter_: int = field(init=False)
    crisp_every_: int = field(init=False)
    max_leaf_nodes_: int | None = field(init=False)
    min_mass_: float = field(init=False)
    max_features_: int = field(init=False)
    n_trend_trees_: int = field(init=False)
    train_score_: np.ndarray = field(init=False)
    validation_score_: np.ndarray = field(init=False)
    history_: list[dict[str, Any]] = field(init=False)
    _leading: ClassVar[tuple[str, ...]] = (
        "max_iter", "learning_rate", "bandwidth", "max_leaf_nodes", "max_depth", "min_mass", "min_gain",
        "l2_regularization", "subsample", "max_features", "loss", "quantile", "monotonic_cst", "bandwidth_decay",
    )  # fmt: skip
    _rules: ClassVar[tuple[str, ...]] = ("auto", "silverman", "loo")
    # Histogram trees of boxes; the other kernel models have these as parameters.
    kernel: ClassVar[str] = "box"
    splitter: ClassVar[str] = "hist"
    cv: ClassVar[int] = 3

    def _check_parameters(self) -> BoostingRules:
        self._check_loss()
        self._check_kernel_parameters()
        self._check_trend()
        check_integer(self, "n_iter_no_change", self.n_iter_no_change, low=1)
        check_number(self, "validation_fraction", self.validation_fraction, low=0.0, open_low=True, high=0.9)
        if not is_auto(self.early_stopping):
            check_flag(self, "early_stopping", self.early_stopping)
        check_choice(self, "quality", self.quality, tuple(PLANS))
        check_choice(self, "multi_strategy", self.multi_strategy, ("auto", "one_output_per_tree", "multi_output_tree"))
        limits, plan = self._limits(), PLANS[self.quality]
        chooses = is_auto(self.max_iter)
        n_models = plan.n_models if chooses and self.growth == "node" else plan.n_of_given
        auto_rate, l2 = (plan.learning_rate, plan.l2) if chooses else (AUTO_RATE, AUTO_L2)
        rate = self._number_or_auto("learning_rate", auto_rate, low=0.0, open_low=True)
        subsample = plan.subsample if chooses or n_models > 1 else 1.0
        return BoostingRules(
            learning_rate=rate,
            n_rounds=self._most_rounds(rate),
            limits=NewtonLimits(
                max_leaves=limits.max_leaf_nodes,
                max_depth=limits.max_depth,
                min_mass=limits.min_mass,
                min_gain=limits.min_gain,
                l2=self._number_or_auto("l2_regularization", l2, low=0.0),
                cutoff=limits.cutoff,
            ),
            decay=check_number(self, "bandwidth_decay", self.bandwidth_decay, low=0.0, open_low=True, high=1.0),
            crisp_every=0 if is_auto(self.crisp_every) else self._given_crisp_every(),
            subsample=self._number_or_auto("subsample", subsample, low=0.0, open_low=True, high=1.0),
            n_models=n_models,
            n_iter_no_change=self.n_iter_no_change,
            tol=check_number(self, "tol", self.tol, low=0.0),
        )

    def _check_loss(self) -> None:
        """Check `loss` and what belongs to it."""
        raise NotImplementedError

    def _check_trend(self) -> None:
        if self.trend is not None:
            check_choice(self, "trend", self.trend, ("linear", "auto"))
        if self.trend == "linear" and (why := self._refused_by_trend):
            raise parameter_error(self, "trend", f"'auto' or None with {why}", self.trend)

    @property
    def _refused_by_trend(self) -> str:
        """A parameter that no trend goes with; empty if there is none."""
        if self.loss not in ("log_loss", "squared_error"):
            return f"loss={self.loss!r}"
        if self.growth == "level":
            return "growth='level'"
        for name in ("prediction_kernel", "prediction_bandwidth"):
            if not (isinstance(given := getattr(self, name), str) and given == "same"):
                return name
        return next((name for name in ("monotonic_cst", "measurement_error") if getattr(self, name) is not None), "")

    def _check_level(self) -> None:
        super()._check_level()
        if self.loss in ("absolute_error", "quantile"):
            raise self._no_level("loss", "'squared_error', 'poisson' or 'log_loss'")
        if self.multi_strategy == "multi_output_tree":
            raise self._no_level("multi_strategy", "'auto' or 'one_output_per_tree'")
        if self.quality == "best":
            raise self._no_level("quality", "'fast' or 'balanced'")
        if not is_auto(self.crisp_every) and self.crisp_every:
            raise self._no_level("crisp_every", "0 or 'auto'")
        for name, only in (("scoring", "loss"), ("prediction_kernel", "same"), ("prediction_bandwidth", "same")):
            given = getattr(self, name)
            if not (isinstance(given, str) and given == only):
                raise self._no_level(name, repr(only))

    def _with_one_tree(self, rules: BoostingRules, n_scores: int) -> BoostingRules:
        """The rules if a round has one tree for all raw scores; otherwise unchanged."""
        is_wanted = self.multi_strategy == "multi_output_tree"
        if is_auto(self.multi_strategy):
            is_wanted = n_scores >= ONE_TREE_FROM and self.loss == "log_loss" and self.growth == "node"
            is_wanted &= is_auto(self.max_iter)
        if n_scores == 1 or not is_wanted:
            return rules
        rate = (FASTER if is_auto(self.learning_rate) else 1.0) * rules.learning_rate
        rules = replace(rules, one_tree=True, learning_rate=rate)
        return replace(rules, n_rounds=rules.pace * self._most_rounds(rate)) if is_auto(self.max_iter) else rules

    def _given_crisp_every(self) -> int:
        every: Any = self.crisp_every
        if isinstance(every, bool) or not isinstance(every, Integral) or every < 0:
            raise parameter_error(self, "crisp_every", "an int in the range [0, inf) or 'auto'", every)
        return int(every)

    def _most_rounds(self, learning_rate: float) -> int:
        if is_auto(self.max_iter):
            return most_rounds(learning_rate)
        if isinstance(self.max_iter, str):
            raise parameter_error(self, "max_iter", "an int in the range [1, inf) or 'auto'", self.max_iter)
        return check_count(self, "max_iter", self.max_iter)

    def _most_leaves(self) -> int | None:
        if is_auto(self.max_leaf_nodes):
            return AUTO_LEAVES
        if isinstance(self.max_leaf_nodes, str):
            expected = "an int in the range [2, inf), 'auto' or None"
            raise parameter_error(self, "max_leaf_nodes", expected, self.max_leaf_nodes)
        return super()._most_leaves()

    def _stated_mass(self) -> float:
        return self._number_or_auto("min_mass", AUTO_MASS, low=0.0, open_low=True)

    def _number_or_auto(self, name: str, auto: float, **bounds: Any) -> float:
        """A parameter, or what "auto" stands for."""
        value = getattr(self, name)
        if isinstance(value, str) and not is_auto(value):
            raise parameter_error(self, name, "a number or 'auto'", value)
        return auto if is_auto(value) else check_number(self, name, value, **bounds)

    def _n_draw(self, p: int) -> int:
        if isinstance(self.max_features, str):
            check_choice(self, "max_features", self.max_features, ("auto", "sqrt", "log2"))
        return p if is_auto(self.max_features) else super()._n_draw(p)

    def _checked_directions(self, loss: Loss, kernels: PredictionKernels) -> np.ndarray | None:
        """Monotonic constraint of each encoded column, (p,), that this loss and these prediction kernels can keep."""
        directions = self._directions()
        if directions is None:
            return None
        if loss.n_scores > 1:
            expected = "None with more than two classes or with several quantiles"
            raise parameter_error(self, "monotonic_cst", expected, self.monotonic_cst)
        # The mass of a kernel that gets wider as it moves may move the other way.
        is_scaled = np.array([kernel.scale is not None for kernel in kernels.kernels])
        for k in np.flatnonzero(is_scaled & (directions != 0)):
            expected = "0 for columns whose prediction_kernel has a scale"
            raise parameter_error(self, "monotonic_cst", expected, self.columns_.names[k])
        self._refuse_functions(self.measurement_error, directions)
        return directions

    def _refuse_functions(self, measurement_error: Any, directions: np.ndarray | None) -> None:
        """Refuse errors that are functions of the values, in columns with a monotonic constraint."""
        if measurement_error is None or directions is None:
            return
        for k, function in error_functions(self, measurement_error, self.columns_).items():
            if function is not None and directions[k] != 0:
                expected = "a number or an array for a column with a monotonic constraint"
                raise parameter_error(self, "measurement_error", expected, self.columns_.names[k])

    def _directions(self) -> np.ndarray | None:
        """Monotonic constraint of each encoded column, (p,); None if there is none."""
        spec, columns = self.monotonic_cst, self.columns_
        if spec is None:
            return None
        n = len(columns.categories)
        per_input = np.zeros(n, dtype=np.int64)
        if isinstance(spec, Mapping):
            items = {columns.find(self, "monotonic_cst", column): value for column, value in spec.items()}
        else:
            if np.ndim(spec) != 1 or len(spec) != n:
                raise parameter_error(
                    self, "monotonic_cst", f"a dict by column, or one of -1, 0, 1 for each of {n}", spec
                )
            items = dict(enumerate(spec))
        for j, value in items.items():
            if value not in (-1, 0, 1):
                raise parameter_error(self, "monotonic_cst", f"-1, 0 or 1 for column {columns.inputs[j]!r}", value)
            if value != 0 and columns.categories[j] is not None:
                raise parameter_error(self, "monotonic_cst", "given for columns of numbers", columns.inputs[j])
            per_input[j] = int(value)
        # Of a date, the days are constrained, not the other parts.
        spread = np.where(columns.is_step, 0, columns.spread(per_input))
        return spread.astype(np.int64) if per_input.any() else None
