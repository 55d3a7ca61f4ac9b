"""SEA: a sum of two features against a threshold that jumps."""

from __future__ import annotations

import numpy as np

from softwood.core.parameters import check_count, check_integer, check_number
from softwood.stream.generators.base import Stream, numbered_names

_THRESHOLDS = np.array([8.0, 9.0, 7.0, 9.5])


class SEA(Stream):
    """Three features from 0 to 10; the class is 1 if the sum of the first two is above a threshold.

    Equal in distribution to ``SEA`` of river. The thresholds of the four variants are 8, 9, 7 and 9.5.

    Parameters
    ----------
    variant : int, default=0
        Number of the threshold, in [0, 3]; with drift, of the first one.
    noise : float, default=0.0
        Probability that a class is the wrong one, in [0, 1].
    drift_every : int or None, default=None
        Number of samples after which the next variant comes, and after the last one the first. None means no drift.
    seed : int or None, default=None
        Seed of the random numbers.

    References
    ----------
    Street and Kim, "A streaming ensemble algorithm (SEA) for large-scale classification", KDD 2001.

    Examples
    --------
    >>> from softwood.stream.generators import SEA
    >>> stream = SEA(drift_every=50, seed=0)
    >>> X, y = stream.take(100)
    >>> X.shape, stream.position
    ((100, 3), 100)
    >>> bool(((X[:50, 0] + X[:50, 1] > 8) == y[:50]).all()), bool(((X[50:, 0] + X[50:, 1] > 9) == y[50:]).all())
    (True, True)
    """

    def __init__(
        self, variant: int = 0, noise: float = 0.0, drift_every: int | None = None, seed: int | None = None
    ) -> None:
        self.variant = variant
        self.noise = noise
        self.drift_every = drift_every
        self.seed = seed
        check_count(self, "variant", variant, low=0, high=3)
        check_number(self, "noise", noise, low=0, high=1)
        check_integer(self, "drift_every", drift_every, low=1, or_none=True)
        self.n_features = 3
        self.feature_names = numbered_names(3)
        self.classes = np.arange(2)
        self._open(2)

    def _make(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        features, flips = self._generators
        X = 10 * features.random((n, 3))
        variant = np.full(n, self.variant)
        if self.drift_every is not None:
            variant += np.arange(self._position, self._position + n) // self.drift_every
        y = X[:, 0] + X[:, 1] > _THRESHOLDS[variant % 4]
        if self.noise > 0:
            y ^= flips.random(n) < self.noise
        return X, y.astype(np.int64)
