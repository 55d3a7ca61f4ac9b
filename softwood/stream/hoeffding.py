"""Hoeffding trees: crisp trees that split a leaf once its best test is surely the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softwood.core.parameters import check_choice, check_integer, check_number
from softwood.stream.base import StreamClassifierBase, StreamModel, StreamRegressorBase
from softwood.stream.growing.hoeffding import HoeffdingClassTree, HoeffdingRealTree
from softwood.stream.growing.tree import DriftEvent, GrowingTree, Limits, new_settings
from softwood.stream.loops.layout import (
    ADAPTIVE,
    CRITERION,
    DELTA,
    DRIFT_DELTA,
    FADING,
    GINI,
    GRACE,
    INFO_GAIN,
    LEAF_PREDICTION,
    MAX_DEPTH,
    MAX_SHARE,
    MIN_FRACTION,
    MODEL,
    PLAIN,
    RATE,
    RESTART_RISE,
    TAU,
)

__all__ = ["HoeffdingTreeClassifier", "HoeffdingTreeRegressor"]

CLASS_LEAVES = {"mc": PLAIN, "nb": MODEL, "nba": ADAPTIVE}
REAL_LEAVES = {"mean": PLAIN, "model": MODEL, "adaptive": ADAPTIVE}
CRITERIA = {"info_gain": INFO_GAIN, "gini": GINI}


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to the model."""
    return isinstance(value, str) and value == "auto"


def growth_settings(model: Any, usual_depth: int | None = None) -> np.ndarray:
    """Settings that all growing trees share, checked; with a `usual_depth`, the largest depth may be "auto"."""
    settings = new_settings()
    settings[GRACE] = check_number(model, "grace_period", model.grace_period, low=1)
    settings[DELTA] = check_number(model, "delta", model.delta, low=0, open_low=True, high=1)
    settings[TAU] = check_number(model, "tau", model.tau, low=0)
    depth = model.max_depth
    if usual_depth is not None and is_auto(depth):
        depth = usual_depth
    depth = check_integer(model, "max_depth", depth, low=0, or_none=True)
    settings[MAX_DEPTH] = np.inf if depth is None else depth
    settings[MIN_FRACTION] = check_number(model, "min_branch_fraction", model.min_branch_fraction, low=0, high=0.5)
    if model.drift_delta is not None:
        settings[DRIFT_DELTA] = check_number(model, "drift_delta", model.drift_delta, low=0, open_low=True, high=1)
    settings[RESTART_RISE] = np.inf
    return settings


def size_limits(model: Any) -> Limits:
    """Limits of nodes and memory, checked."""
    inner = check_integer(model, "max_inner_nodes", model.max_inner_nodes, low=0, or_none=True)
    size = model.max_size
    if size is not None:
        size = check_number(model, "max_size", size, low=0, open_low=True)
    return Limits(np.inf if inner is None else inner, np.inf if size is None else size * 2**20)


@dataclass(kw_only=True, eq=False, repr=False)
class SplittingTree(StreamModel):
    """A tree that splits leaves by Hoeffding's bound, within limits; `growth_settings` and `size_limits` read these."""

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
        check_is_fitted(self, "growth_")
        return list(self.growth_.drifts)


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
        settings = growth_settings(self)
        settings[CRITERION] = CRITERIA[check_choice(self, "split_criterion", self.split_criterion, CRITERIA)]
        settings[LEAF_PREDICTION] = CLASS_LEAVES[
            check_choice(self, "leaf_prediction", self.leaf_prediction, CLASS_LEAVES)
        ]
        settings[MAX_SHARE] = check_number(self, "max_share_to_split", self.max_share_to_split, low=0, high=1)
        return HoeffdingClassTree(settings, size_limits(self), n_features, n_outputs)


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
        settings = growth_settings(self)
        settings[LEAF_PREDICTION] = REAL_LEAVES[
            check_choice(self, "leaf_prediction", self.leaf_prediction, REAL_LEAVES)
        ]
        settings[RATE] = check_number(self, "learning_rate", self.learning_rate, low=0, open_low=True, high=1)
        settings[FADING] = check_number(self, "model_selector_decay", self.model_selector_decay, low=0, high=1)
        return HoeffdingRealTree(settings, size_limits(self), n_features, n_outputs)
