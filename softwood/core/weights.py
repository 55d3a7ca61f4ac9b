"""Weights of rows: a weight of 2 means the row twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from softwood.core.tables import refuse_masked, take_rows


def read_weights(sample_weight: Any, n: int, name: str = "sample_weight") -> np.ndarray:
    """Weights of the rows, (n,) float64; `name` is the user's name for them, for error messages."""
    if sample_weight is None:
        return np.ones(n)
    refuse_masked(sample_weight, name)
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from None
    if weights.ndim == 0:
        weights = np.full(n, float(weights))
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got shape {weights.shape} for {name}.")
    if len(weights) != n:
        raise ValueError(f"{name}.shape == {weights.shape}, expected {(n,)}!")
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise ValueError(f"{name} must hold finite numbers of at least 0.")
    return weights


def rows_with_weight(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any, np.ndarray | None]:
    """The rows whose weight is above zero; the others have no effect, whatever they hold.

    Returns
    -------
    X, y and sample_weight of these rows, and their numbers (None: there are no weights, or no targets)
    """
    if sample_weight is None or y is None:
        return X, y, sample_weight, None
    check_consistent_length(X, y)
    weights = read_weights(sample_weight, len(np.asarray(y)))
    rows = np.flatnonzero(weights > 0)
    if len(weights) and len(rows) == 0:
        raise ValueError("sample_weight is zero for all rows; at least one must be above zero.")
    if len(rows) < len(weights):
        X, y, weights = take_rows(X, rows), take_rows(y, rows), weights[rows]
    return X, y, weights, rows


def as_counts(weights: np.ndarray, repeats: np.ndarray | None = None) -> np.ndarray:
    """Weights of the rows on the scale of numbers of rows, the unit of limits such as `min_mass`.

    A whole-number weight counts as repeated rows and is kept. Weights that cannot be numbers of repetitions are scaled
    to a mean of 1: those with a mean below 1, such as weights that add up to 1, and those above 2**53.

    Parameters
    ----------
    weights : (n,) numbers of at least 0, not all 0
    repeats : (n,) how often each row counts in the mean; None: once
    """
    largest = float(weights.max())
    rows = weights > 0
    mean = float(np.average(weights[rows] / largest, weights=None if repeats is None else repeats[rows]))
    return weights / largest / mean if largest * mean < 1.0 or largest > 2.0**53 else weights
