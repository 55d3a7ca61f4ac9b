"""Soft Hoeffding trees: transparent tests and smooth gates, grown by Hoeffding's bound and trained by gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import Tags

from softwood.stream.base import StreamClassifierBase, StreamModel, StreamRegressorBase
from softwood.stream.growing.arrays import Limits
from softwood.stream.growing.soft import SoftClassTree, SoftRealTree
from softwood.stream.growing.tree import GrowingTree
from softwood.stream.hoeffding import SplittingTree
from softwood.stream.loops.layout import INFO_GAIN
from softwood.stream.settings import read_limits, read_settings

__all__ = ["SoftHoeffdingTreeClassifier", "SoftHoeffdingTreeRegressor"]

# Depth of trees with max_depth="auto", which is enough for 32 classes and fewer.
USUAL_DEPTH = 7


@dataclass(kw_only=True, eq=False, repr=False)
class SoftStreamTree(StreamModel):
    """A tree with smooth gates, trained by gradient steps."""

    gamma: float = 1.0
    learning_rate: float = 0.01
    batch_size: int = 1
    scaler_memory: float | None = None
    outlier_limit: float | None = 30.0
    random_state: Any = None


@dataclass(kw_only=True, eq=False, repr=False)
class _SoftHoeffdingTree(SplittingTree, SoftStreamTree):
    """What classifier and regressor share."""

    max_depth: int | str | None = "auto"  # type: ignore[assignment]
    alpha: float = 0.5
    grace_period: float = 20
    tau: float = 1.0
    min_share: float = 0.02
    weigh_by_share: bool = True
    bias: bool = True
    gate_init: float = 0.5
    leaf_init: float = 1.0
    alpha_learning_rate: float = 0.003
    alpha_pull: float = 0.01
    recheck_period: float | None = None
    count_period: float = 5.0
    merit_range: str = "test"
    restart_rise: float | None = 0.15

    @classmethod
    def as_published(cls, **changes: Any) -> Self:
        """The tree of the paper, with other parameters as given.

        Its alpha is fixed, its gates are random and have no bias, a row counts in a leaf only if its share is above
        1/4, and leaves split by the Hoeffding bound. New leaves start from the values of their parent and, scaled
        down, from the class shares of their side.
        """
        settings: dict[str, Any] = {
            "max_depth": 7,
            "alpha": 0.3,
            "grace_period": 200,
            "tau": 0.05,
            "min_share": 0.25,
            "weigh_by_share": False,
            "bias": False,
            "gate_init": 0.0,
            "leaf_init": 0.1,
            "alpha_learning_rate": 0.0,
            "alpha_pull": 0.0,
            "count_period": 0.0,
            "merit_range": "classes",
            "restart_rise": None,
            "outlier_limit": None,
        }
        return cls(**(settings | changes))

    def _new_growth(self, n_features: int, n_outputs: int, seed: int) -> GrowingTree:
        is_class = is_classifier(self)
        fixed: dict[str, float] = {"split_criterion": INFO_GAIN, "max_share_to_split": 1.0}
        if isinstance(self.max_depth, str) and self.max_depth == "auto":
            fixed |= {"max_depth": USUAL_DEPTH, "deeper_for_classes": float(is_class)}
        settings = read_settings(self, vars(self), **fixed)
        if settings.gate_init > 0 and not self.bias:
            raise ValueError(
                f"The 'gate_init' parameter of {type(self).__name__} must be 0 if bias=False: a gate without a bias "
                f"cannot agree with a test. Got {self.gate_init!r} instead."
            )
        limits = read_limits(self)
        if self.max_depth == 0:
            limits = Limits(max_inner=0)
        tree = (SoftClassTree if is_class else SoftRealTree)(settings, limits, n_features, n_outputs)
        tree.seed = np.uint64(seed)
        return tree

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if tags.regressor_tags is not None:
            # One pass over the 200 rows of scikit-learn's check is too little for gradient steps.
            tags.regressor_tags.poor_score = True
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class SoftHoeffdingTreeClassifier(_SoftHoeffdingTree, StreamClassifierBase):
    """Soft Hoeffding tree for classes (SoHoT; Köbschall, Hartung and Kramer 2024).

    A gate sends the share ``alpha * S(w @ z + b) + (1 - alpha) * [x[feature] <= threshold]`` of a row to the left,
    where `S` is the smooth step of width `gamma` and `z` the row standardised by running means and deviations. Each
    leaf holds a vector. The vectors of the leaves, weighted by the shares of the row, are added up and passed through a
    softmax. Every gate and leaf that a row reaches takes a step of Adam on the cross-entropy. Leaves keep statistics as
    in a Hoeffding tree, and split by the Hoeffding bound.

    The defaults differ from the paper: a new gate agrees with its test, each `alpha` is learned and pulled towards 0,
    statistics are weighted by share, leaves split early and begin with the class frequencies of their rows, single
    outliers have little effect, and a tree whose error rate jumps begins again. For the tree of the paper, use
    ``SoftHoeffdingTreeClassifier.as_published()``.

    Parameters
    ----------
    max_depth : maximum depth of the tree; None for no limit. "auto" is 7, or ``ceil(log2(n_classes)) + 2`` if that is
        more
    alpha : initial weight of the smooth step in a gate; 0 gives a crisp tree, 1 an oblique soft tree
    gamma : width of the smooth step
    learning_rate : learning rate of Adam
    grace_period, delta, tau : see `HoeffdingTreeClassifier`
    min_share : a row enters the statistics of a leaf only if its share is larger than this (the paper's epsilon_s)
    weigh_by_share : whether a row enters the statistics weighted by its share, or with its full weight
    bias : whether gates have a bias
    gate_init : slope of a new gate along the feature of its test, so that both agree; 0 for small random weights
    leaf_init : how far the values of two new leaves are moved towards the class frequencies on their sides of the test;
        0 if both are to start with the value of their parent
    alpha_learning_rate : learning rate of the alphas, which do not fall below 0.02; 0 to keep them fixed
    alpha_pull : penalty on each alpha; larger values give more transparent trees
    recheck_period : weight after which the test of an inner node is compared with the best one, and replaced if that is
        better by more than the Hoeffding bound; None to keep all tests
    count_period : weight per class for which the values of a new leaf follow the class frequencies of its rows, from
        those that it begins with; then they are trained by gradients. 0 to train them from the first row on. No effect
        in regressors
    merit_range : range of the information gain in the Hoeffding bound: "test" (1 bit, which a test with two sides
        cannot exceed) or "classes" (the logarithm of their number, as in the paper). No effect in regressors
    batch_size : number of rows whose mean gradient makes a step
    scaler_memory : total weight above which old rows fade from the running means and deviations; None for no fading
    outlier_limit : values that are more than this many running standard deviations from the running mean enter means,
        deviations and the statistics of leaves as if they were that far away, and so do targets in gradients. If most
        values are further away than a third of this, means and deviations forget the past. None for no limit, as in
        the paper
    drift_delta : allowed probability of a false alarm of the ADWIN detector that watches the errors of predictions made
        before a row is learned; None for no detector. Alarms are in ``drifts_``
    restart_rise : with an alarm the tree starts again from one leaf if its recent error rate is higher by more than
        this than before, or above 0.3; a tree with smaller errors adapts faster than a new one would learn. None to
        learn on in any case, as in the paper
    min_branch_fraction, max_inner_nodes, max_size, class_weight, categorical_features : see `HoeffdingTreeClassifier`
    random_state : seed of the random weights

    Examples
    --------
    >>> from softwood.stream import SEA, SoftHoeffdingTreeClassifier
    >>> X, y = SEA(seed=0).take(5_000)
    >>> model = SoftHoeffdingTreeClassifier(random_state=0)
    >>> model.partial_fit(X[:4000], y[:4000], classes=[0, 1]).score(X[4000:], y[4000:]) > 0.95
    True
    """


@dataclass(kw_only=True, eq=False, repr=False)
class SoftHoeffdingTreeRegressor(_SoftHoeffdingTree, StreamRegressorBase):
    """Soft Hoeffding tree for real targets.

    It minimises the squared error of the target, standardised by its running mean and deviation. Tests are chosen by
    the reduction of the target's variance.

    Parameters are those of `SoftHoeffdingTreeClassifier`, without `class_weight`. `restart_rise` is None by default;
    in place of the error rate it refers to the mean of ``e / (e + 3 * m)``, where `e` is the absolute error of a row
    and `m` the mean of all so far.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood.stream import SoftHoeffdingTreeRegressor
    >>> X = np.random.default_rng(0).uniform(size=(5000, 3))
    >>> model = SoftHoeffdingTreeRegressor(random_state=0).partial_fit(X, np.sin(6 * X[:, 0]))
    >>> model.score(X, np.sin(6 * X[:, 0])) > 0.9
    True
    """

    restart_rise: float | None = None
