"""A hyperplane that turns a little with every sample."""

from __future__ import annotations

import numpy as np

from softwood.compiled.stream import turn_hyperplane
from softwood.core.parameters import check_count, check_number
from softwood.stream.generators.base import Stream, numbered_names


class Hyperplane(Stream):
    """Uniform features; the class is 1 above a hyperplane through the middle of the cube that slowly turns.

    The class is 1 if ``weights @ x`` is at least half the sum of the weights. After each sample the first
    `n_drift_features` weights change by `magnitude`, each in a direction of its own, upwards at first.

    Equal in distribution to ``Hyperplane`` of river, which takes 0.01 off both probabilities: classes are wrong with
    probability ``noise - 0.01``, and directions turn with probability ``turn_probability - 0.01`` (never if these are
    below 0).

    Parameters
    ----------
    n_features : int, default=10
        Number of features.
    n_drift_features : int, default=2
        Number of weights that change, in [0, n_features].
    magnitude : float, default=0.0
        Change of a weight by one sample, in [0, 1].
    noise : float, default=0.05
        Probability that a class is the wrong one, in [0, 1], before 0.01 is taken off.
    turn_probability : float, default=0.1
        Probability that the direction of a weight is reversed after a sample, in [0, 1], before 0.01 is taken off.
    seed : int or None, default=None
        Seed of the random numbers.

    References
    ----------
    Hulten, Spencer and Domingos, "Mining time-changing data streams", KDD 2001.

    Examples
    --------
    >>> from softwood.stream.generators import Hyperplane
    >>> stream = Hyperplane(n_features=4, magnitude=0.001, seed=0)
    >>> before = stream.weights
    >>> X, y = stream.take(1000)
    >>> X.shape, stream.classes.tolist()
    ((1000, 4), [0, 1])
    >>> (stream.weights != before).tolist()
    [True, True, False, False]
    """

    def __init__(
        self,
        n_features: int = 10,
        n_drift_features: int = 2,
        magnitude: float = 0.0,
        noise: float = 0.05,
        turn_probability: float = 0.1,
        seed: int | None = None,
    ) -> None:
        self.n_features = n_features
        self.n_drift_features = n_drift_features
        self.magnitude = magnitude
        self.noise = noise
        self.turn_probability = turn_probability
        self.seed = seed
        check_count(self, "n_features", n_features)
        check_count(self, "n_drift_features", n_drift_features, low=0, high=n_features)
        check_number(self, "magnitude", magnitude, low=0, high=1)
        check_number(self, "noise", noise, low=0, high=1)
        check_number(self, "turn_probability", turn_probability, low=0, high=1)
        self.feature_names = numbered_names(n_features)
        self.classes = np.arange(2)
        self._open(4)

    def _rewind(self) -> None:
        self._first_weights = self._generators[0].random(self.n_features)
        self._steps = np.zeros(self.n_drift_features, dtype=np.int64)
        self._directions = np.ones(self.n_drift_features, dtype=np.int64)

    @property
    def weights(self) -> np.ndarray:
        """Weights of the next sample, (n_features,)."""
        weights = self._first_weights.copy()
        weights[: self.n_drift_features] += self.magnitude * self._steps
        return weights

    def _make(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        _, features, flips, turns = self._generators
        X = features.random((n, self.n_features))
        is_flipped = flips.random(n) + 0.01 <= self.noise
        is_turned = turns.random((n, self.n_drift_features)) + 0.01 <= self.turn_probability
        y = np.empty(n, dtype=np.int64)
        steps, directions = self._steps.copy(), self._directions.copy()
        magnitude = float(self.magnitude)
        flags = is_flipped.view(np.uint8), is_turned.view(np.uint8)
        turn_hyperplane(X, y, *flags, self._first_weights, magnitude, steps, directions)
        self._steps, self._directions = steps, directions
        return X, y
