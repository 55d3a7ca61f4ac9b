"""Forests on streams: soft and crisp Hoeffding trees that are replaced when the stream has changed."""

from __future__ import annotations

import warnings
from dataclasses import field
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import is_classifier

from softwood.core.estimators import estimator
from softwood.core.parameters import (
    check_choice,
    check_count,
    check_flag,
    check_integer,
    check_n_jobs,
    check_number,
    parameter_error,
)
from softwood.stream.base import StreamClassifierBase, StreamModel, StreamRegressorBase
from softwood.stream.growing.events import DriftEvent
from softwood.stream.growing.forest import GrowingForest
from softwood.stream.growing.planting import ForestRules, Recipe
from softwood.stream.hoeffding import HoeffdingTreeClassifier, HoeffdingTreeRegressor
from softwood.stream.soft_hoeffding import SoftHoeffdingTreeClassifier, SoftHoeffdingTreeRegressor
from softwood.trees.forest import SoftForest

# What trees of a forest have other than single ones; rows count several times, so leaves grow sooner.
# Alarms are the forest's.
SOFT_CLASS = {"max_depth": 10, "grace_period": 30, "learning_rate": 0.004, "min_share": 0.1, "drift_delta": None}
SOFT_REAL = {"grace_period": 30, "learning_rate": 0.002, "min_share": 0.1, "drift_delta": None}
CRISP = {"grace_period": 50, "delta": 0.01, "drift_delta": None}
# This share of the trees of a classifier are crisp ones that see all columns and split only where that is surely
# better: if columns are independent within a class, naive Bayes in few leaves is the best tree.
CAREFUL_SHARE = 0.1
CAREFUL = CRISP | {"delta": 1e-7}
# Soft trees learn the other draws of a row at once when their error is smaller than this.
SMALL_CLASS_ERROR = 0.1
SMALL_REAL_ERROR = 0.2
# Leaves of crisp trees try to split when they have become heavier by this share, which spares most searches in vain.
LEAST_GROWTH = 0.2
# Parameters of a tree that are not those of a tree in a forest.
NOT_OF_TREES = {
    "random_state", "class_weight", "categorical_features", "max_size", "drift_delta", "restart_rise",
}  # fmt: skip
# How fast a tree loses its say with its loss: a factor on the loss, and a power of the error.
CLASS_SHARPNESS = 5.0
REAL_SHARPNESS = 4.0


@estimator
class _StreamForest(StreamModel):
    """What classifier and regressor share.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    soft_share : float
        Share of the trees that are soft Hoeffding trees. The others are Hoeffding trees.
    mean_draws : float
        Mean number of times that a tree learns a row.
    max_features : float
        Share of the columns that a Hoeffding tree sees. In classifiers, a tenth of the trees see all columns.
    max_depth : int or None
        Largest depth of the trees. None means 10 for soft trees (7 in regressors) and no limit for the others.
    warning_delta : float or None
        `delta` of the detectors whose alarm starts a spare tree. None means that there are no spare trees.
    drift_delta : float or None
        `delta` of the detectors whose alarm replaces a tree. None means that no tree is replaced.
    voting : {"loss", "mean"}
        Whether the votes of the trees are weighted by their recent loss or equal.
    vote_window : float
        Number of rows after which a loss has faded to about a third.
    adjust_votes : bool
        Whether the probabilities that the votes give are raised to a power, which is learned from the rows so far:
        below 1 where the forest has been too sure. No effect with ``voting="mean"``.
    max_size : float or None
        Largest memory of all trees in MiB, without spare ones. None means no limit.
    n_jobs : int or None
        Number of threads for blocks of rows. -1 uses all processors, None means 1. The model does not depend on it.
    random_state : int, RandomState instance or None
        Seed of all draws.

    Attributes
    ----------
    forest_ : SoftForest
        The trees as they are now, which are averaged: without votes, and without models in leaves.
    drifts_ : list of DriftEvent
        Warnings and drifts reported by the detectors of the trees, in order.
    losses_ : ndarray of shape (n_estimators,)
        Recent loss of each tree: cross-entropy, or absolute error.
    """

    n_estimators: int = field(default=10, kw_only=False)
    soft_share: float = 0.3
    mean_draws: float = 6.0
    max_features: float = 0.6
    max_depth: int | None = None
    warning_delta: float | None = 0.01
    drift_delta: float | None = 0.001
    voting: Literal["loss", "mean"] = "loss"
    vote_window: float = 200.0
    adjust_votes: bool = True
    soft_parameters: dict[str, Any] | None = None
    crisp_parameters: dict[str, Any] | None = None
    max_size: float | None = 500.0
    n_jobs: int | None = None
    random_state: int | np.random.RandomState | None = None

    _leading: ClassVar[tuple[str, ...]] = ("n_estimators", "soft_share", "max_features", "max_depth")

    def _new_growth(self, n_features: int, n_outputs: int, seed: int) -> GrowingForest:  # type: ignore[override]
        is_class = is_classifier(self)
        check_number(self, "mean_draws", self.mean_draws, low=0, open_low=True, high=100)
        for name in ("warning_delta", "drift_delta"):
            if getattr(self, name) is not None:
                check_number(self, name, getattr(self, name), low=0, open_low=True, high=1)
        check_number(self, "vote_window", self.vote_window, low=1)
        sharpness = CLASS_SHARPNESS if is_class else REAL_SHARPNESS
        if check_choice(self, "voting", self.voting, ("loss", "mean")) == "mean":
            sharpness = 0.0
        adjusts = bool(check_flag(self, "adjust_votes", self.adjust_votes)) and self.voting == "loss"
        rules = ForestRules(self.mean_draws, self.warning_delta, self.drift_delta, self.vote_window, sharpness, adjusts)
        forest = GrowingForest(self._recipes(is_class), rules, n_features, n_outputs, seed, is_class)
        forest.n_jobs = check_n_jobs(self, self.n_jobs)
        return forest

    def _recipes(self, is_class: bool) -> list[Recipe]:
        """How the tree in each place is made."""
        n = check_count(self, "n_estimators", self.n_estimators)
        n_soft = round(n * check_number(self, "soft_share", self.soft_share, low=0, high=1))
        share = check_number(self, "max_features", self.max_features, low=0, open_low=True, high=1)
        size = self.max_size
        if size is not None:
            size = check_number(self, "max_size", size, low=0, open_low=True) / n
        check_integer(self, "max_depth", self.max_depth, low=0, or_none=True)
        soft = SoftHoeffdingTreeClassifier if is_class else SoftHoeffdingTreeRegressor
        crisp = HoeffdingTreeClassifier if is_class else HoeffdingTreeRegressor
        soft_defaults = SOFT_CLASS if is_class else SOFT_REAL
        n_careful = min(round(n * CAREFUL_SHARE), n - n_soft) if is_class else 0
        places = [
            (self._recipe("soft_parameters", soft, soft_defaults, size, 1.0), n_soft),
            (self._recipe("crisp_parameters", crisp, CAREFUL, size, 1.0), n_careful),
            (self._recipe("crisp_parameters", crisp, CRISP, size, share), n - n_soft - n_careful),
        ]
        return [recipe for recipe, count in places for _ in range(count)]

    def _recipe(
        self, name: str, kind: type[StreamModel], defaults: dict[str, Any], size: float | None, share: float
    ) -> Recipe:
        """How trees of one kind are made, with the parameters that were given."""
        given = getattr(self, name)
        known = set(kind._get_param_names()) - NOT_OF_TREES
        wanted = f"a dict of parameters of {kind.__name__}, or None"
        if given is not None and (not isinstance(given, dict) or set(given) - known):
            raise parameter_error(self, name, wanted, given)
        depth = {} if self.max_depth is None else {"max_depth": self.max_depth}
        try:
            with warnings.catch_warnings():
                # the trees warn of a limit that is too small, with the columns that they have
                warnings.simplefilter("ignore", UserWarning)
                growth = kind(**{**defaults, **depth, "max_size": size, **(given or {})})._new_growth(1, 2, 0)
        except ValueError as error:
            raise ValueError(f"{parameter_error(self, name, wanted, given)} {error}") from None
        small = SMALL_CLASS_ERROR if is_classifier(self) else SMALL_REAL_ERROR
        # Weights are draws.
        settings = growth.settings._replace(judges_copies=0.0, small_error=small, least_growth=LEAST_GROWTH)
        return Recipe(type(growth), settings, growth.limits, share)

    # Learning

    def _learn(self, X: Any, y: Any, sample_weight: Any, out: str | None) -> np.ndarray | None:
        n_jobs = check_n_jobs(self, self.n_jobs)
        if hasattr(self, "growth_"):
            self.growth_.n_jobs = n_jobs  # type: ignore[attr-defined]
        try:
            return super()._learn(X, y, sample_weight, out)
        finally:  # the number of threads is no part of what was learned
            if hasattr(self, "growth_"):
                self.growth_.n_jobs = None  # type: ignore[attr-defined]

    # Looking at it

    @property
    def _finished(self) -> SoftForest:  # type: ignore[override]
        return super()._finished  # type: ignore[return-value]

    @property
    def forest_(self) -> SoftForest:
        """The trees as they are now, which are averaged: without votes, and without models in leaves."""
        return self._finished

    @property
    def drifts_(self) -> list[DriftEvent]:
        """Warnings and drifts reported by the detectors of the trees, in order."""
        return list(self._grown.drifts)

    @property
    def losses_(self) -> np.ndarray:
        """Recent loss of each tree, (n_estimators,): cross-entropy, or absolute error."""
        return self._grown.losses  # type: ignore[attr-defined]


@estimator
class StreamForestClassifier(_StreamForest, StreamClassifierBase):
    """Forest of soft and crisp Hoeffding trees for classes, which adapts to drift.

    Each tree learns each row a random number of times (online bagging). Crisp trees see a random part of the columns;
    a tenth of the trees are crisp ones that see all columns and split with ``delta=1e-7``.
    Two ADWIN detectors watch the errors of each tree: after a warning a spare tree starts to learn beside it, and when
    the drift is confirmed, the spare replaces it, unless its loss since the warning is more than 1.2 times that of the
    tree. Probabilities are the weighted geometric mean of those of the trees,
    whose weights fall with their recent loss. Draws depend on `random_state`, the number of the tree and the number of
    the row alone: the model is the same for any `n_jobs`, and for any division of the stream into blocks.

    Parameters
    ----------
    soft_parameters : dict or None
        Parameters of the soft trees by name; see `SoftHoeffdingTreeClassifier`. None for defaults that suit a forest.
    crisp_parameters : dict or None
        Parameters of the other trees by name; see `HoeffdingTreeClassifier`. None for defaults that suit a forest.

    Examples
    --------
    >>> from softwood.stream import Agrawal, StreamForestClassifier
    >>> X, y = Agrawal(functions=(0, 2), drift_every=2000, seed=0).take(4_000)
    >>> model = StreamForestClassifier(random_state=0).partial_fit(X, y, classes=[0, 1])
    >>> {event.kind for event in model.drifts_ if event.n_samples > 2000} >= {"warning", "drift"}
    True
    >>> model.score(X[3500:], y[3500:]) > 0.9
    True
    """


@estimator
class StreamForestRegressor(_StreamForest, StreamRegressorBase):
    """Forest of soft and crisp Hoeffding trees for real targets, which adapts to drift.

    Each tree learns each row a random number of times (online bagging). Crisp trees see a random part of the columns.
    Two ADWIN detectors watch the errors of each tree: after a warning a spare tree starts to learn beside it, and when
    the drift is confirmed, the spare replaces it, unless its error since the warning is more than 1.2 times that of the
    tree. Predictions are the weighted mean of those of the trees, whose
    weights fall with their recent absolute error. Draws depend on `random_state`, the number of the tree and the number
    of the row alone: the model is the same for any `n_jobs`, and for any division of the stream into blocks.

    Parameters
    ----------
    adjust_votes : bool
        Whether the mean of the last errors is added to predictions, as far as such means have been followed by further
        errors of their size: on many streams in the order of time errors last. For the rows that come next; False if
        other rows are predicted, or if targets come late. No effect with ``voting="mean"``.
    soft_parameters : dict or None
        Parameters of the soft trees by name; see `SoftHoeffdingTreeRegressor`. None for defaults that suit a forest.
    crisp_parameters : dict or None
        Parameters of the other trees by name; see `HoeffdingTreeRegressor`. None for defaults that suit a forest.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood.stream import StreamForestRegressor
    >>> X = np.random.default_rng(0).uniform(size=(3000, 3))
    >>> model = StreamForestRegressor(random_state=0).partial_fit(X, np.sin(6 * X[:, 0]))
    >>> model.score(X, np.sin(6 * X[:, 0])) > 0.9
    True
    """

    mean_draws: float = 4.0
    max_features: float = 0.8
