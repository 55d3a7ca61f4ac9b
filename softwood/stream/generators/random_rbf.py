"""Points around centroids that move through the unit cube."""

from __future__ import annotations

import numpy as np

from softwood.compiled.stream import scatter_around_centroids
from softwood.core.parameters import check_count, check_integer, check_number
from softwood.stream.generators.base import Stream, numbered_names

# a number of moves that no stream reaches, and twice of it is still an int64
_NEVER = 2**61


class RandomRBF(Stream):
    """Points around centroids of random classes; the centroids may move.

    Each centroid has a place in the unit cube, a class, a weight and a spread, all uniform. A sample chooses a
    centroid by weight, a direction, and a distance that is normal times the spread. Moving centroids go straight on by
    `speed` with every sample, in all features upwards at first. In each feature a step that would leave [0, 1] ends at
    the wall, and the next one goes back. Where a centroid is at any time is known at once: a stream costs the same
    however many centroids move.

    Equal in distribution to ``RandomRBFDrift`` of river, and without speed to ``RandomRBF``; the directions of the
    centroids are independent of their places, as they are there without a seed.

    Parameters
    ----------
    n_classes : int, default=2
        Number of classes.
    n_features : int, default=10
        Number of features.
    n_centroids : int, default=50
        Number of centroids.
    speed : float, default=0.0
        Distance that a moving centroid covers with each sample, at least 0.
    n_moving : int or None, default=None
        Number of centroids that move. None means all.
    seed : int or None, default=None
        Seed of the random numbers.
    model_seed : int or None, default=None
        Seed of the centroids alone. None means that they depend on `seed`.

    Attributes
    ----------
    centres : ndarray of shape (n_centroids, n_features)
        Places of the centroids before the first sample.
    velocities : ndarray of shape (n_centroids, n_features)
        Moves of the centroids with each sample.
    centroid_classes : ndarray of shape (n_centroids,)
        Classes of the centroids.
    centroid_weights : ndarray of shape (n_centroids,)
        Weights of the centroids.
    spreads : ndarray of shape (n_centroids,)
        Spreads of the points around the centroids.

    Examples
    --------
    >>> from softwood.stream.generators import RandomRBF
    >>> stream = RandomRBF(n_classes=5, speed=0.001, seed=0)
    >>> X, y = stream.take(10_000)
    >>> X.shape, stream.centres.shape
    ((10000, 10), (50, 10))
    >>> stream.classes.tolist()
    [0, 1, 2, 3, 4]
    """

    def __init__(
        self,
        n_classes: int = 2,
        n_features: int = 10,
        n_centroids: int = 50,
        speed: float = 0.0,
        n_moving: int | None = None,
        seed: int | None = None,
        model_seed: int | None = None,
    ) -> None:
        self.n_classes = n_classes
        self.n_features = n_features
        self.n_centroids = n_centroids
        self.speed = speed
        self.n_moving = n_moving
        self.seed = seed
        self.model_seed = model_seed
        check_count(self, "n_classes", n_classes)
        check_count(self, "n_features", n_features)
        check_count(self, "n_centroids", n_centroids)
        check_number(self, "speed", speed, low=0)
        check_integer(self, "n_moving", n_moving, low=0, high=n_centroids, or_none=True)
        check_integer(self, "model_seed", model_seed, low=0, or_none=True)
        self.feature_names = numbered_names(n_features)
        self.classes = np.arange(n_classes)
        self._open(4)

    def _rewind(self) -> None:
        rng = self._generators[0]
        if self.model_seed is not None:
            rng = np.random.Generator(np.random.PCG64(self.model_seed))
        self.centres = rng.random((self.n_centroids, self.n_features))
        self.centroid_classes = (rng.random(self.n_centroids) * self.n_classes).astype(np.int64)
        self.spreads = rng.random(self.n_centroids)
        self.centroid_weights = rng.random(self.n_centroids)
        directions = rng.random((self.n_centroids, self.n_features))
        self.velocities = self.speed * directions / np.sqrt((directions**2).sum(axis=1, keepdims=True))
        if self.n_moving is not None:
            self.velocities[self.n_moving :] = 0.0

    def _make(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        _, picks, directions, distances = self._generators
        X = directions.random((n, self.n_features))
        y = np.empty(n, dtype=np.int64)
        ends = np.cumsum(self.centroid_weights)
        chosen = np.searchsorted(ends[:-1], ends[-1] * picks.random(n), side="right")
        scatter_around_centroids(
            X,
            y,
            chosen,
            distances.standard_normal(n),
            self._position,
            self.centres,
            self.velocities,
            _moves_to_cover(1.0 - self.centres, self.velocities),
            _moves_to_cover(np.ones_like(self.centres), self.velocities),
            self.spreads,
            self.centroid_classes,
        )
        return X, y


def _moves_to_cover(distance: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Number of the first move that goes further than this distance, int64."""
    if not velocity.any():
        return np.full(distance.shape, _NEVER + 1)
    whole = np.full(distance.shape, float(_NEVER))
    np.divide(distance, velocity, out=whole, where=velocity > distance / _NEVER)
    return np.floor(whole).astype(np.int64) + 1
