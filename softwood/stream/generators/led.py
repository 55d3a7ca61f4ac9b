"""Digits on a display of seven segments, some of which are wrong."""

from __future__ import annotations

import numpy as np

from softwood.core.parameters import check_count, check_flag, check_number, parameter_error
from softwood.stream.generators.base import Stream, numbered_names

_N_SEGMENTS, _N_IRRELEVANT = 7, 17

# top, upper left, upper right, middle, lower left, lower right, bottom
_DIGITS = """
1110111 0010010 1011101 1011011 0111010
1101011 1101111 1010010 1111111 1111011
"""
_SEGMENTS = np.array([[segment == "1" for segment in digit] for digit in _DIGITS.split()])


class LED(Stream):
    """Which digit is shown, by the seven segments of a display.

    Equal in distribution to ``LED`` of river, and with `n_drift_features` to ``LEDDrift``: 0.01 is taken off the
    probability of noise. What is called drift there are features that have changed places from the first sample on.

    Parameters
    ----------
    noise : float, default=0.0
        Probability that a segment is inverted, in [0, 1], before 0.01 is taken off.
    irrelevant : bool, default=False
        Whether 17 features without meaning follow.
    n_drift_features : int, default=0
        Number of segments that change places with irrelevant features, in [0, 7]. 0 where there are none.
    seed : int or None, default=None
        Seed of the random numbers.

    Attributes
    ----------
    order : ndarray of shape (n_features,)
        Which of the features in their usual order stands at each place.

    References
    ----------
    Breiman, Friedman, Olshen and Stone, "Classification and regression trees", 1984.

    Examples
    --------
    >>> from softwood.stream.generators import LED
    >>> X, y = LED(seed=0).take(2)
    >>> y.tolist()
    [6, 2]
    >>> X.astype(int).tolist()
    [[1, 1, 0, 1, 1, 1, 1], [1, 0, 1, 1, 1, 0, 1]]
    """

    def __init__(
        self, noise: float = 0.0, irrelevant: bool = False, n_drift_features: int = 0, seed: int | None = None
    ) -> None:
        self.noise = noise
        self.irrelevant = irrelevant
        self.n_drift_features = n_drift_features
        self.seed = seed
        check_number(self, "noise", noise, low=0, high=1)
        check_flag(self, "irrelevant", irrelevant)
        check_count(self, "n_drift_features", n_drift_features, low=0, high=_N_SEGMENTS)
        if n_drift_features > 0 and not irrelevant:
            raise parameter_error(self, "n_drift_features", "0 unless irrelevant=True", n_drift_features)
        self.n_features = _N_SEGMENTS + (_N_IRRELEVANT if irrelevant else 0)
        self.feature_names = numbered_names(self.n_features)
        self.classes = np.arange(10)
        self._open(4)

    def _rewind(self) -> None:
        self.order = np.arange(self.n_features)
        first = (self._generators[0].random(2) * (_N_SEGMENTS, _N_IRRELEVANT)).astype(np.int64)
        drifting = np.arange(self.n_drift_features)
        segments = (drifting + first[0]) % _N_SEGMENTS
        others = _N_SEGMENTS + (drifting + first[1]) % _N_IRRELEVANT
        self.order[segments], self.order[others] = others, segments

    def _make(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        _, digits, flips, coins = self._generators
        y = (10 * digits.random(n)).astype(np.int64)
        shown = _SEGMENTS[y]
        if self.noise > 0:
            shown ^= flips.random((n, _N_SEGMENTS)) + 0.01 <= self.noise
        if not self.irrelevant:
            return shown.astype(np.float64), y
        X = np.empty((n, self.n_features))
        X[:, :_N_SEGMENTS] = shown
        X[:, _N_SEGMENTS:] = coins.random((n, _N_IRRELEVANT)) < 0.5
        return (np.take(X, self.order, axis=1) if self.n_drift_features else X), y
