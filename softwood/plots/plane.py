"""A table of points in a plane through the data: two columns vary, the others are constant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from softwood.core.columns import column_titles, find_column
from softwood.core.parameters import parameter_error
from softwood.core.tables import column_cells

_MARGIN = 0.06  # fraction of the data's range, on each side


def two_columns(features: Sequence | None, X: Any, caller: str) -> tuple[int, int]:
    """Numbers of two different columns, given as in `find_column`; None: the first two."""
    titles = column_titles(X)
    wanted = [features] if isinstance(features, str) else features
    found = (
        range(len(titles[0]))[:2] if wanted is None else [find_column(caller, "features", c, *titles) for c in wanted]
    )
    if len(found) != 2 or found[0] == found[1]:
        raise parameter_error(
            caller, "features", f"two different columns of X, of which there are {len(titles[0])}", features
        )
    return found[0], found[1]


def numbers(X: Any, j: int, name: str) -> np.ndarray:
    """A column as floats (n_rows,), nan where it is missing."""
    values, is_missing = column_cells(X, j)
    try:
        return np.where(is_missing, np.nan, values).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Column {name!r} must hold numbers to be an axis: {error}.") from error


def limits(values: np.ndarray) -> tuple[float, float]:
    """Lowest and highest value of an axis that shows all `values`."""
    known = values[np.isfinite(values)]
    if len(known) == 0:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    margin = _MARGIN * (high - low) or 0.5
    return low - margin, high + margin


def plane_table(X: Any, pair: tuple[int, int], places: tuple[np.ndarray, np.ndarray]) -> Any:
    """A table of the same type as `X` (array, pandas or polars frame) with a row for each place.

    Parameters
    ----------
    pair : the two columns that vary
    places : values of these columns, (n,) each; the other columns have their median or most frequent category
    """
    n = len(places[0])
    varying = dict(zip(pair, places, strict=True))
    typical = {j: np.full(n, _typical_row(*column_cells(X, j))) for j in range(X.shape[1]) if j not in varying}
    if hasattr(X, "iloc"):
        frame = X.iloc[np.zeros(n, dtype=np.int64)].reset_index(drop=True)
        for j in range(X.shape[1]):
            frame.isetitem(j, varying[j] if j in varying else X.iloc[typical[j], j].array)
        return frame
    if hasattr(X, "get_column"):
        old = [X.get_column(name) for name in X.columns]
        return type(X)(
            [type(s)(s.name, varying[j]) if j in varying else s[typical[j].tolist()] for j, s in enumerate(old)]
        )
    table = np.empty((n, X.shape[1]), dtype=X.dtype if X.dtype.kind in "fO" else np.float64)
    for j in range(X.shape[1]):
        table[:, j] = varying[j] if j in varying else X[typical[j], j]
    return table


def _typical_row(values: np.ndarray, is_missing: np.ndarray) -> int:
    """Row with the median of a column, or with its most frequent value if it does not hold numbers."""
    known = np.flatnonzero(~is_missing)
    if len(known) == 0:
        return 0
    try:
        order = np.argsort(values[known].astype(np.float64), kind="stable")
        return int(known[order[len(order) // 2]])
    except (TypeError, ValueError):
        _, first, counts = np.unique(values[known].astype(str), return_index=True, return_counts=True)
        return int(known[first[np.argmax(counts)]])
