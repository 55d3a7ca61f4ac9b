"""Hoeffding trees: crisp trees that split a leaf once its best test is surely the best."""

from __future__ import annotations

from typing import ClassVar, Literal

from softwood.core.estimators import estimator
from softwood.core.parameters import check_flag, check_number
from softwood.stream.base import StreamClassifierBase, StreamRegressorBase, StreamTree
from softwood.stream.growing.events import DriftEvent
from softwood.stream.growing.hoeffding import HoeffdingClassTree, HoeffdingRealTree
from softwood.stream.growing.tree import GrowingTree
from softwood.stream.settings import read_limits, read_settings


@estimator
class SplittingTree(StreamTree):
    """A tree that splits leaves by Hoeffding's bound, within limits of size.

    Parameters
    ----------
    grace_period : float
        Weight that a leaf must receive between two attempts to split it.
    max_depth : int or None
        Largest depth of the tree. None means no limit.
    delta : float
        Allowed probability that the chosen split is not the best one.
    tau : float
        A leaf is split even without a clear winner once the Hoeffding bound is below this value.
    min_branch_fraction : float
        Smallest fraction of the weight of a leaf that each side of a split must receive.
    max_inner_nodes : int or None
        Largest number of inner nodes. None means no limit.
    max_size : float or None
        Largest memory in MiB. None means no limit. When it is reached, new leaves have no statistics and do not split.
    drift_delta : float or None
        Allowed probability of a false alarm of the ADWIN detector that watches the errors of predictions made before a
        row is learned. Alarms are in ``drifts_``. None means no detector.
    restart_rise : float or None
        After an alarm, the tree starts again from one leaf if its recent error rate is higher by more than this than
        before, or above 0.3. A tree with smaller errors adapts faster than a new one would learn. None keeps the tree
        in any case. In regressors, the mean of ``e / (e + 3 * m)`` is in the place of the error rate, where `e` is the
        absolute error of a row and `m` the mean of all so far.

    Attributes
    ----------
    drifts_ : list of DriftEvent
        Alarms of the detector that watches the errors, in order.
    """

    grace_period: float = 200
    max_depth: int | None = None
    delta: float = 1e-7
    tau: float = 0.05
    min_branch_fraction: float = 0.01
    max_inner_nodes: int | None = None
    max_size: float | None = 100.0
    drift_delta: float | None = 0.002
    restart_rise: float | None = None

    _leading: ClassVar[tuple[str, ...]] = (
        "grace_period", "max_depth", "delta", "tau", "split_criterion", "leaf_prediction",
    )  # fmt: skip

    @property
    def drifts_(self) -> list[DriftEvent]:
        """Alarms of the detector that watches the errors, in order."""
        return list(self._grown.drifts)


@estimator
class HoeffdingTreeClassifier(SplittingTree, StreamClassifierBase):
    """Hoeffding tree for classes.

    Each row follows one path to a leaf. A leaf keeps the weight of each class and, for each feature and class, a normal
    distribution. Each time it has received another `grace_period` of weight, it compares the best splits of its
    features. It splits if the best one exceeds the best split on any other feature by more than the Hoeffding bound, or
    if the bound has fallen below `tau`, which means that both are about equally good. On columns of
    numbers it is the tree of river's class of the same name with ``delta=1e-7``, ``inherited_weight=0``,
    ``unseen_values="ignored"`` and ``restart_rise=None``.

    With ``leaf_prediction="nba"``, a leaf compares naive Bayes with its most frequent class for each row before the row
    is learned: for a row of weight 3 three times, so that weights mean repetition. river's and MOA's trees compare
    once.

    Parameters
    ----------
    split_criterion : {"info_gain", "gini"}
        Merit of a split: the information gain or the reduction of the Gini impurity.
    leaf_prediction : {"mc", "nb", "nba"}
        Predictions of leaves: class frequencies of the leaf ("mc"), naive Bayes ("nb"), or the one of the two that has
        been right more often in this leaf ("nba").
    binary_split : bool
        Whether all tests have two sides. By default, a leaf may divide the categories of a column all at once, with a
        side for each that has more than `min_branch_fraction` of the weight, and one for the others together. In the
        tree these are tests one after the other.
    unseen_values : {"unlikely", "ignored"}
        What naive Bayes makes of a value that a class has not shown in the leaf. "unlikely": the class gets a density
        of 0 if none of its rows, or none with this value, has come to the leaf, and shares of categories are counted
        with one more row of each category, as in MOA. "ignored": the column says nothing about this class, as in
        river.
    inherited_weight : float
        What a new leaf knows of the rows of its parent counts as this weight. It begins with the normal distributions
        of its parent, as naive Bayes takes columns to be independent within a class, if naive Bayes has been right in
        the parent more often by 0.2 of late than its most frequent class. With 0, or other leaves
        than "nba", it begins with nothing, as in river and MOA.
    max_share_to_split : float
        A leaf is not split if one class has more than this share of its weight.
    max_size : float or None
        Largest memory in MiB. None means no limit. When it is reached, the leaves with the least to gain from a split
        lose their statistics.

    Examples
    --------
    >>> from softwood.stream import SEA, HoeffdingTreeClassifier
    >>> X, y = SEA(seed=0).take(5_000)
    >>> model = HoeffdingTreeClassifier()
    >>> model.partial_fit(X[:4000], y[:4000], classes=[0, 1]).score(X[4000:], y[4000:]) > 0.9
    True
    """

    delta: float = 0.01
    split_criterion: Literal["info_gain", "gini"] = "info_gain"
    leaf_prediction: Literal["mc", "nb", "nba"] = "nba"
    max_share_to_split: float = 0.99
    binary_split: bool = False
    unseen_values: Literal["unlikely", "ignored"] = "unlikely"
    inherited_weight: float = 50.0
    restart_rise: float | None = 0.15

    def _new_growth(self, n_features: int, n_outputs: int, seed: int) -> GrowingTree:
        many_ways = 1.0 - check_flag(self, "binary_split", self.binary_split)
        settings = read_settings(self, vars(self), many_ways=many_ways, judges_copies=1.0)
        return HoeffdingClassTree(settings, read_limits(self), n_features, n_outputs)


@estimator
class HoeffdingTreeRegressor(SplittingTree, StreamRegressorBase):
    """Hoeffding tree for real targets.

    Each row follows one path to a leaf. Each time a leaf has received another `grace_period` of weight, it compares the
    best splits of its features by the reduction of the target's variance, which it finds in histograms of the features
    that widen as needed. It splits if the merit of the second best split,
    divided by that of the best one, is below 1 minus the Hoeffding bound.

    Parameters
    ----------
    leaf_prediction : {"mean", "model", "adaptive"}
        Predictions of leaves: the mean target ("mean"), a linear model in each leaf ("model"), or the one of the two
        with the smaller recent error in this leaf ("adaptive").
    learning_rate : float
        Learning rate of the linear models.
    model_selector_decay : float
        Factor by which past errors decay with each row, for "adaptive".

    Examples
    --------
    >>> import numpy as np
    >>> from softwood.stream import HoeffdingTreeRegressor
    >>> X = np.random.default_rng(0).uniform(size=(5000, 3))
    >>> model = HoeffdingTreeRegressor().partial_fit(X, np.sin(6 * X[:, 0]))
    >>> model.score(X, np.sin(6 * X[:, 0])) > 0.8
    True
    """

    leaf_prediction: Literal["mean", "model", "adaptive"] = "adaptive"
    learning_rate: float = 0.1
    model_selector_decay: float = 0.95
    max_size: float | None = 500.0

    def _new_growth(self, n_features: int, n_outputs: int, seed: int) -> GrowingTree:
        rate = check_number(self, "learning_rate", self.learning_rate, low=0, open_low=True, high=1)
        settings = read_settings(self, vars(self), learning_rate=rate)
        return HoeffdingRealTree(settings, read_limits(self), n_features, n_outputs)
