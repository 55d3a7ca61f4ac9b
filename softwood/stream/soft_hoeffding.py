"""Soft Hoeffding trees: transparent tests and smooth gates, grown by Hoeffding's bound and trained by gradients."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import Tags

from softwood.core.estimators import estimator
from softwood.stream.base import StreamClassifierBase, StreamRegressorBase, StreamTree
from softwood.stream.growing.arrays import Limits
from softwood.stream.growing.soft import SoftClassTree, SoftRealTree
from softwood.stream.growing.tree import GrowingTree
from softwood.stream.hoeffding import SplittingTree
from softwood.stream.loops.layout import INFO_GAIN
from softwood.stream.settings import read_limits, read_settings

# Depth of trees with max_depth="auto", which is enough for 32 classes and fewer.
USUAL_DEPTH = 7


@estimator
class SoftStreamTree(StreamTree):
    """A tree with smooth gates, trained by gradient steps.

    Parameters
    ----------
    learning_rate : float
        Learning rate of Adam.
    gamma : float
        Width of the smooth step.
    batch_size : int
        Number of rows whose mean gradient makes a step.
    bias : bool
        Whether gates have a bias.
    scaler_memory : float or None
        Total weight above which old rows fade from the running means and deviations. None means no fading.
    outlier_limit : float or None
        Values that are more than this many running standard deviations from the running mean enter means, deviations
        and the statistics of leaves as if they were that far away, and so do targets in gradients. If most values are
        further away than a third of this, means and deviations forget the past. None means no limit, as in the paper.
    random_state : int, RandomState instance or None
        Seed of the random weights.
    """

    gamma: float = 1.0
    learning_rate: float = 0.01
    batch_size: int = 1
    scaler_memory: float | None = None
    outlier_limit: float | None = 30.0
    bias: bool = True
    random_state: int | np.random.RandomState | None = None


@estimator
class _SoftHoeffdingTree(SplittingTree, SoftStreamTree):
    """What classifier and regressor share.

    Parameters
    ----------
    max_depth : int, "auto" or None
        Largest depth of the tree. "auto" is 7, or ``ceil(log2(n_classes)) + 2`` if that is more. None means no limit.
    alpha : float
        Initial weight of the smooth step in a gate. 0 gives a crisp tree, 1 an oblique soft tree.
    alpha_learning_rate : float
        Learning rate of the alphas, which do not fall below 0.02. 0 keeps them fixed.
    alpha_pull : float
        Penalty on each alpha. Larger values give more transparent trees.
    min_share : float
        A row enters the statistics of a leaf only if its share is larger than this (epsilon_s in the paper).
    weigh_by_share : bool
        Whether a row enters the statistics weighted by its share, or with its full weight.
    gate_init : float
        Slope of a new gate along the feature of its test, so that both agree. 0 gives small random weights.
    leaf_init : float
        How far the values of two new leaves are moved towards the targets on their sides of the test. With 0, both
        start with the value of their parent.
    recheck_period : float or None
        Weight after which the test of an inner node is compared with the best one, and replaced if that is better by
        more than the Hoeffding bound. None keeps all tests.
    count_period : float
        Weight per class for which the values of a new leaf follow the class frequencies of its rows, from those that
        it begins with; then they are trained by gradients. With 0, they are trained from the first row on. No effect
        in regressors.
    merit_range : {"test", "classes"}
        Range of the information gain in the Hoeffding bound: 1 bit, which a test with two sides cannot exceed ("test"),
        or the logarithm of the number of classes, as in the paper ("classes"). No effect in regressors.
    """

    max_depth: int | Literal["auto"] | None = "auto"  # type: ignore[assignment]
    alpha: float = 0.5
    grace_period: float = 20
    tau: float = 1.0
    min_share: float = 0.02
    weigh_by_share: bool = True
    gate_init: float = 0.5
    leaf_init: float = 1.0
    alpha_learning_rate: float = 0.003
    alpha_pull: float = 0.01
    recheck_period: float | None = None
    count_period: float = 5.0
    merit_range: Literal["test", "classes"] = "test"

    _leading: ClassVar[tuple[str, ...]] = (
        "max_depth", "learning_rate", "alpha", "gamma", "grace_period", "delta", "tau",
    )  # fmt: skip

    @classmethod
    def as_published(cls, **changes: Any) -> Self:
        """The tree of the paper, with other parameters as given.

        Its alpha is fixed, its gates are random and have no bias, a row counts in a leaf only if its share is above
        1/4, and leaves split by the Hoeffding bound. New leaves start from the values of their parent and, scaled
        down, from the class shares of their side.

        Parameters
        ----------
        **changes : dict
            Parameters that differ from the paper.

        Returns
        -------
        estimator
            The estimator, not fitted.
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


@estimator
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

    Examples
    --------
    >>> from softwood.stream import SEA, SoftHoeffdingTreeClassifier
    >>> X, y = SEA(seed=0).take(5_000)
    >>> model = SoftHoeffdingTreeClassifier(random_state=0)
    >>> model.partial_fit(X[:4000], y[:4000], classes=[0, 1]).score(X[4000:], y[4000:]) > 0.95
    True
    """

    restart_rise: float | None = 0.15


@estimator
class SoftHoeffdingTreeRegressor(_SoftHoeffdingTree, StreamRegressorBase):
    """Soft Hoeffding tree for real targets.

    A gate sends the share ``alpha * S(w @ z + b) + (1 - alpha) * [x[feature] <= threshold]`` of a row to the left,
    where `S` is the smooth step of width `gamma` and `z` the row standardised by running means and deviations. Each
    leaf holds a value, and the prediction is their mean, weighted by the shares of the row. Every gate and leaf that a
    row reaches takes a step of Adam on the squared error of the target, standardised by its running mean and deviation.
    Leaves keep statistics as in a Hoeffding tree, and split by the Hoeffding bound on the reduction of the target's
    variance.

    Parameters
    ----------
    max_depth : int, "auto" or None
        Largest depth of the tree. "auto" is 7. None means no limit.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood.stream import SoftHoeffdingTreeRegressor
    >>> X = np.random.default_rng(0).uniform(size=(5000, 3))
    >>> model = SoftHoeffdingTreeRegressor(random_state=0).partial_fit(X, np.sin(6 * X[:, 0]))
    >>> model.score(X, np.sin(6 * X[:, 0])) > 0.9
    True
    """
