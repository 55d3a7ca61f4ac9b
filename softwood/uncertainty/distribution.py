"""Distributions of the target of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

# Rows whose scores are computed at once.
_BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Distribution:
    """Distributions of the target of rows: values with probabilities, returned by `predict_distribution`.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_values), or (1, n_values) if all rows have the same values
        Values in rising order.
    weights : ndarray of shape (n_rows, n_values), or (1, n_values) if all rows have the same probabilities
        Probabilities of the values, which add up to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import KernelForestRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = KernelForestRegressor(20, bandwidth=0.1, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> found = model.predict_distribution([[np.pi / 2]])
    >>> bool(abs(found.mean[0] - 1) < 0.05), found.quantile([0.1, 0.5, 0.9]).shape
    (True, (1, 3))
    """

    values: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return max(len(self.values), len(self.weights))

    @property
    def mean(self) -> np.ndarray:
        """Means, (n_rows,)."""
        return np.einsum("ij,ij->i", *np.broadcast_arrays(self.values, self.weights))

    def quantile(self, levels: Any) -> np.ndarray:
        """Quantiles: the smallest value at which the distribution function reaches a level.

        Parameters
        ----------
        levels : float or array-like of shape (n_levels,)
            Numbers from 0 to 1.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_levels)
            Quantiles.
        """
        wanted = check_levels(levels)
        total = np.cumsum(self.weights, axis=1)
        out = np.empty((len(self), len(wanted)))
        for k, level in enumerate(wanted.tolist()):
            place = np.minimum((total < level - 1e-9).sum(axis=1), total.shape[1] - 1)
            out[:, k] = self.values[np.arange(len(self)) if len(self.values) > 1 else 0, place]
        return out if np.ndim(levels) else out[:, 0]

    def cdf(self, y: Any) -> np.ndarray:
        """Probability that the target is at most `y`.

        Parameters
        ----------
        y : float or array-like of shape (n_rows,)
            A number for all rows, or one for each.

        Returns
        -------
        ndarray of shape (n_rows,)
            Probabilities.
        """
        y = np.broadcast_to(np.asarray(y, dtype=np.float64), (len(self),))
        found = np.einsum("ij,ij->i", *np.broadcast_arrays(self.weights, self.values <= y[:, None]))
        return np.clip(found, 0.0, 1.0)

    def crps(self, y: Any) -> np.ndarray:
        """Continuous ranked probability score of each row; smaller is better.

        It is the integral of the squared difference between the distribution function and the step at the truth.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            True targets.

        Returns
        -------
        ndarray of shape (n_rows,)
            Scores, in units of the target.
        """
        truth = np.broadcast_to(np.asarray(y, dtype=np.float64), (len(self),))
        out = np.empty(len(self))
        for begin in range(0, len(self), _BLOCK):
            rows = slice(begin, begin + _BLOCK)
            values = self.values[rows] if len(self.values) > 1 else self.values
            weights = self.weights[rows] if len(self.weights) > 1 else self.weights
            own = truth[rows, None]
            distance = (weights * np.abs(values - own)).sum(axis=1)
            below = np.cumsum(weights, axis=1)[:, :-1]
            out[rows] = distance - (below * (1.0 - below) * np.diff(values, axis=1)).sum(axis=1)
        return np.maximum(out, 0.0)


def check_levels(levels: Any) -> np.ndarray:
    """Levels of quantiles, (n_levels,), numbers from 0 to 1."""
    found = np.atleast_1d(np.asarray(levels, dtype=np.float64))
    if found.ndim != 1 or len(found) == 0 or not np.all((found >= 0.0) & (found <= 1.0)):
        raise ValueError(f"Quantiles must be numbers from 0 to 1. Got {levels!r} instead.")
    return found
