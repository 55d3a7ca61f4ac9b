"""Hoeffding trees: crisp trees that split a leaf once its best test is surely the best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from softwood.loops.stream_layout import (
    ADAPTIVE,
    CRITERION,
    DELTA,
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
    TAU,
)
from softwood.parameters import check_choice, check_integer, check_number
from softwood.stream.growth import GrowingTree, Limits, new_settings
from softwood.stream.hoeffding_growth import HoeffdingClassTree, HoeffdingRealTree
from softwood.stream.model import StreamClassifierBase, StreamModel, StreamRegressorBase

__all__ = ["HoeffdingTreeClassifier", "HoeffdingTreeRegressor"]

CLASS_LEAVES = {"mc": PLAIN, "nb": MODEL, "nba": ADAPTIVE}
REAL_LEAVES = {"mean": PLAIN, "model": MODEL, "adaptive": ADAPTIVE}
CRITERIA = {"info_gain": INFO_GAIN, "gini": GINI}


def growth_settings(model: Any) -> np.ndarray:
    """Settings that all growing trees share, checked."""
    settings = new_settings()
    settings[GRACE] = check_number(model, "grace_period", model.grace_period, low=1)
    settings[DELTA] = check_number(model, "delta", model.delta, low=0, open_low=True, high=1)
    settings[TAU] = check_number(model, "tau", model.tau, low=0)
    depth = check_integer(model, "max_depth", model.max_depth, low=0, or_none=True)
    settings[MAX_DEPTH] = np.inf if depth is None else depth
    settings[MIN_FRACTION] = check_number(model, "min_branch_fraction", model.min_branch_fraction, low=0, high=0.5)
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


@dataclass(kw_only=True, eq=False, repr=False)
class HoeffdingTreeClassifier(SplittingTree, StreamClassifierBase):
    """Hoeffding tree for classes.

    Rows go down one path. A leaf keeps class weights and a normal distribution of each feature for each class; every
    `grace_period` of weight it compares the best tests of its features, and splits when the best is better than the
    second best by more than Hoeffding's bound (or when the bound is below `tau`: both are as good). On the same stream
    and with the same settings it grows the tree of river's class of the same name.

    Parameters
    ----------
    grace_period : weight that a leaf sees between two attempts to split it
    max_depth : depth of the tree, or None
    split_criterion : "info_gain" or "gini"
    delta : probability with which the chosen test may not be the best
    tau : bound below which a split is made in any case
    leaf_prediction : "mc" (class shares), "nb" (naive Bayes) or "nba" (whichever has been right more often)
    min_branch_fraction : least part of the weight on each side of a test
    max_share_to_split : a leaf with a larger share of one class is not split
    max_inner_nodes : limit of inner nodes, or None
    max_size : limit of memory in MiB, or None; when it is reached, leaves that promise little give up their statistics
        (in regressors and soft trees, new leaves have none and do not split)
    class_weight : dict of class weights, "balanced" (by what the stream has brought so far), or None
    categorical_features : "from_dtype" (text and category columns of frames), None, or names, numbers or a mask of
        columns; new categories may come at any time

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

    As `HoeffdingTreeClassifier`, with the decrease of the target's variance as the merit of a test, read off histograms
    of the features that widen as needed. The ratio of the merits of second best and best must be below 1 less the
    bound.

    Parameters
    ----------
    grace_period, max_depth, delta, tau, min_branch_fraction, max_inner_nodes, max_size, categorical_features : see
        `HoeffdingTreeClassifier`
    leaf_prediction : "mean", "model" (a linear model in each leaf) or "adaptive" (whichever has been closer of late)
    learning_rate : of the linear models
    model_selector_decay : factor by which errors fade in "adaptive" with each row

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
