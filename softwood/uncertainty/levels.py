"""Quantiles of scores with the correction for finite samples of conformal prediction."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from softwood.core.parameters import is_real

# Levels may be larger than a number of rows by rounding.
_ROUNDING = 1e-9


def check_coverage(coverage: Any) -> float:
    """The coverage, a number between 0 and 1."""
    if not is_real(coverage) or not 0.0 < coverage < 1.0:
        raise ValueError(f"coverage must be a number in the range (0, 1). Got {coverage!r} instead.")
    return float(coverage)


def upper_bound(scores: np.ndarray, weights: np.ndarray, level: float) -> float:
    """The score that that of a new row does not exceed with probability `level`; inf if there are too few scores.

    With n rows of weight 1, it is the score of rank ``ceil((n + 1) * level)``. A row of weight 2 counts as two rows.
    """
    if len(scores) == 0:
        return np.inf
    order = np.argsort(scores, kind="stable")
    total = np.cumsum(weights[order])
    rank = int(np.searchsorted(total, (1.0 - _ROUNDING) * level * (total[-1] + 1.0)))
    return float(scores[order[rank]]) if rank < len(scores) else np.inf


def upper_bounds(
    scores: np.ndarray, weights: np.ndarray, level: float, members: np.ndarray | None, n_groups: int
) -> np.ndarray:
    """Bounds of each group of rows, and in the last place that of all rows, (n_groups + 1,)."""
    bounds = np.empty(n_groups + 1)
    for group in range(n_groups):
        bounds[group] = upper_bound(scores[members == group], weights[members == group], level)
    bounds[-1] = upper_bound(scores, weights, level)
    return bounds


def warn_of_few(weights: np.ndarray, level: float, coverage: float, what: str) -> None:
    """Warn that there are too few rows for this coverage, so that `what`."""
    needed = int(np.ceil(level / (1.0 - level) - _ROUNDING))
    warnings.warn(
        f"There are too few calibration rows for coverage={coverage:g}: it takes {needed} (in each group), and there "
        f"are {weights.sum():.6g} in all. Where they are too few, {what}.",
        UserWarning,
        stacklevel=4,
    )


def quantiles_of_new(scores: np.ndarray, weights: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Quantiles of the score of a new row, interpolated between scores, which are at the levels ``rank / (n + 1)``."""
    order = np.argsort(scores, kind="stable")
    total = np.cumsum(weights[order])
    places = (total - 0.5 * (weights[order] - 1.0)) / (total[-1] + 1.0)  # the middle of the ranks of a row
    return np.interp(levels, places, scores[order])
