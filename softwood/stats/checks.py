"""Checks of the input of tests, and differences that are not affected by rounding."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

_DIGITS = 12  # significant digits of a score; a float has about 16


def read_scores(scores: Any) -> tuple[np.ndarray, tuple[str, ...]]:
    """Scores (n_data_sets, n_models) as an array, and the names of the models."""
    columns = getattr(scores, "columns", None)
    table = read_numbers("scores", scores, finite=False)
    if table.ndim != 2 or table.shape[0] < 2 or table.shape[1] < 2:
        raise ValueError(
            "scores must be a table with a row for each of at least 2 data sets and a column for each of at least 2 "
            f"models. Got the shape {table.shape}."
        )
    names = tuple(f"model {j}" for j in range(table.shape[1])) if columns is None else tuple(map(str, columns))
    if np.isnan(table).any():
        row, column = np.argwhere(np.isnan(table))[0]
        raise ValueError(f"scores must not be missing. Got nan in row {row} of {names[column]!r}.")
    return table, names


def read_numbers(name: str, values: Any, *, finite: bool = True) -> np.ndarray:
    """An array of real numbers of any shape; `name` is its name in error messages."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers. {error}") from error
    if finite and not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite numbers. Got {array[~np.isfinite(array)][0]}.")
    return array


def check_alpha(alpha: Any) -> float:
    """A level of significance."""
    if isinstance(alpha, bool) or not isinstance(alpha, Real) or not 0 < float(alpha) < 1:
        raise ValueError(f"The 'alpha' parameter must be a number in the range (0, 1). Got {alpha!r} instead.")
    return float(alpha)


def differences(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The differences a - b to 12 digits of the larger number, so that 0.3 - 0.2 and 0.2 - 0.1 are tied."""
    larger = np.maximum(np.maximum(np.abs(a), np.abs(b)), np.finfo(np.float64).tiny)
    # Up to 22 decimals the power of ten is exact, and equal decimals come out as equal floats.
    decimals = np.clip(_DIGITS - np.ceil(np.log10(larger)), 0, 300)
    return np.rint((a - b) * 10.0**decimals) / 10.0**decimals
