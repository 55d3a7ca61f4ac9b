"""Hoeffding trees: crisp trees that split a leaf once its best test is surely the best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softwood.core.parameters import check_number
from softwood.stream.base import StreamClassifierBase, StreamModel, StreamRegressorBase
from softwood.stream.growing.events import DriftEvent
from softwood.stream.growing.hoeffding import HoeffdingClassTree, HoeffdingRealTree
from softwood.stream.growing.tree import GrowingTree
from softwood.stream.settings import read_limits, read_settings

__all__ = ["HoeffdingTreeClassifier", "HoeffdingTreeRegressor"]


@dataclass(kw_only=True, eq=False, repr=False)
class SplittingTree(StreamModel):
    """A tree that splits leaves by Hoeffding's bound, within limits of size."""

    grace_period: float = 200
    max_depth: int | None = None
    delta: float = 1e-7
    tau: float = 0.05
    min_branch_fraction: float = 0.01
    max_inner_nodes: int | None = None
    max_size: float | None = 100.0
    drift_delta: float | None = 0.002

    @property
    def drifts_(self) -> list[DriftEvent]:
        """Alarms of the detector that watches the errors, in order."""
        return list(self._grown.drifts)


@dataclass(kw_only=True, eq=False, repr=False)
class HoeffdingTreeClassifier(SplittingTree, StreamClassifierBase):
    """Hoeffding tree for classes.

    Each row follows one path to a leaf. A leaf keeps the weight of each class and, for each feature and class, a normal
    distribution. Each time it has received another `grace_period` of weight, it compares the best splits of its
    features. It splits if the best one exceeds the best split on any other feature by more than the Hoeffding bound, or
    if the bound has fallen below `tau`, which means that both are about equally good. On the same stream and with the
    same settings it grows the same tree as river's class of the same name.

    Parameters
    ----------
    grace_period : weight that a leaf must receive between two attempts to split it
    max_depth : maximum depth of the tree; None for no limit
    split_criterion : "info_gain" or "gini"
    delta : allowed probability that the chosen split is not the best one
    tau : a leaf is split even without a clear winner once the Hoeffding bound is below this value
    leaf_prediction : "mc" (class frequencies of the leaf), "nb" (naive Bayes) or "nba" (the one of the two that
        has been right more often in this leaf)
    min_branch_fraction : minimum fraction of the weight of a leaf that each side of a split must receive
    max_share_to_split : a leaf is not split if one class has more than this share of its weight
    max_inner_nodes : maximum number of inner nodes; None for no limit
    max_size : maximum memory in MiB; None for no limit. When it is reached, the leaves with the least to gain from a
        split lose their statistics. In regressors and soft trees, new leaves then have no statistics and do not split.
    drift_delta : allowed probability of a false alarm of the ADWIN detector that watches the errors of predictions made
        before a row is learned; None for no detector. Alarms are in ``drifts_``; they do not change the tree
    class_weight : dict of class weights, "balanced" (from the class weights seen so far on the stream), or None
    categorical_features : "from_dtype" (text and category columns of frames), None, or names, numbers or a mask of
        columns. New categories may appear at any time.

    Examples
    --------
    >>> from softwood.stream import SEA, HoeffdingTreeClassifier
    >>> X, y = SEA(seed=0).take(5_000)
    >>> model = HoeffdingTreeClassifier()
    >>> model.partial_fit(X[:4000], y[:4000], classes=[0, 1]).score(X[4000:], y[4000:]) > 0.9
    True
    """

    split_criterion: str = "info_gain"
    leaf_prediction: str = "nba"
    max_share_to_split: float = 0.99

    def _new_growth(self, n_features: int, n_outputs: int, seed: int) -> GrowingTree:
        settings = read_settings(self, vars(self), restart_rise=np.inf)
        return HoeffdingClassTree(settings, read_limits(self), n_features, n_outputs)


@dataclass(kw_only=True, eq=False, repr=False)
class HoeffdingTreeRegressor(SplittingTree, StreamRegressorBase):
    """Hoeffding tree for real targets.

    It grows as `HoeffdingTreeClassifier` does, with the reduction of the target's variance as the merit of a split. A
    leaf finds it in histograms of the features, which widen as needed. It splits if the merit of the second best split,
    divided by that of the best one, is below 1 minus the Hoeffding bound.

    Parameters
    ----------
    grace_period, max_depth, delta, tau, min_branch_fraction, max_inner_nodes, max_size, categorical_features : see
        `HoeffdingTreeClassifier`
    leaf_prediction : "mean", "model" (a linear model in each leaf) or "adaptive" (the one of the two with the smaller
        recent error in this leaf)
    learning_rate : learning rate of the linear models
    model_selector_decay : factor by which past errors decay with each row, for "adaptive"

    Examples
    --------
    >>> import numpy as np
    >>> from softwood.stream import HoeffdingTreeRegressor
    >>> X = np.random.default_rng(0).uniform(size=(5000, 3))
    >>> model = HoeffdingTreeRegressor().partial_fit(X, np.sin(6 * X[:, 0]))
    >>> model.score(X, np.sin(6 * X[:, 0])) > 0.8
    True
    """

    leaf_prediction: str = "adaptive"
    learning_rate: float = 0.1
    model_selector_decay: float = 0.95
    max_size: float | None = 500.0

    def _new_growth(self, n_features: int, n_outputs: int, seed: int) -> GrowingTree:
        rate = check_number(self, "learning_rate", self.learning_rate, low=0, open_low=True, high=1)
        settings = read_settings(self, vars(self), learning_rate=rate, restart_rise=np.inf)
        return HoeffdingRealTree(settings, read_limits(self), n_features, n_outputs)
