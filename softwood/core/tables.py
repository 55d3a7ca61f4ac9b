"""Cells of tables: arrays, and frames of pandas, polars and `Frame`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from softwood.core.frames import Frame


def is_frame(X: Any) -> bool:
    """Whether a table is a data frame."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def type_names(X: Any) -> list[str]:
    """Names of the types of a frame's columns."""
    return [str(dtype).lower() for dtype in X.dtypes]


def column_cells(X: Any, j: int) -> tuple[np.ndarray, np.ndarray]:
    """One column as an array, and where it is missing."""
    if hasattr(X, "iloc"):
        series = X.iloc[:, j]
        is_missing = series.isna().to_numpy(dtype=bool)
        values = series.astype(object).to_numpy()
    elif hasattr(X, "get_column"):
        series = X.get_column(X.columns[j])
        is_missing = series.is_null().to_numpy()
        values = np.array(series.to_list(), dtype=object)
    else:
        values = X[X.columns[j]] if isinstance(X, Frame) else np.asarray(X)[:, j]
        if values.dtype.kind == "f":
            return values, np.isnan(values)
        is_missing = np.array([is_missing_value(v) for v in values], dtype=bool)
    return values, is_missing


def take_rows(table: Any, rows: np.ndarray) -> Any:
    """Some rows of a table or vector of any kind."""
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    if isinstance(table, list | tuple):
        return [table[row] for row in rows.tolist()]
    return (table if hasattr(table, "__getitem__") else np.asarray(table))[rows]


def is_missing_value(value: Any) -> bool:
    """Whether `value` is None, nan or another missing value."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA, which is neither equal nor unequal to itself
        return True


def is_text(X: Any, j: int, kind: str) -> bool:
    """Whether a frame's column holds text, categories or truth values, by its type or, for objects, by its cells."""
    if kind.startswith(("list", "array", "struct")):  # of text, perhaps
        return False
    if any(word in kind for word in ("category", "categorical", "enum", "string", "str", "bool")):
        return True
    if kind != "object":
        return False
    values, is_missing = column_cells(X, j)
    known = values[~is_missing].tolist()
    return any(isinstance(v, str) for v in known) or (
        len(known) > 0 and all(isinstance(v, bool | np.bool_) for v in known)
    )


def without_sparse_columns(X: Any) -> Any:
    """The frame with ordinary columns in place of pandas' sparse ones."""
    places = [j for j, kind in enumerate(type_names(X)) if kind.startswith("sparse")]
    if not places:
        return X
    X = X.copy(deep=False)
    for j in places:
        X.isetitem(j, X.iloc[:, j].sparse.to_dense())
    return X


def without_mask(X: np.ma.MaskedArray) -> np.ndarray:
    """The array with missing values in place of masked cells."""
    cells, mask = np.ma.getdata(X), np.ma.getmaskarray(X)
    if mask.any():
        cells = cells.astype(np.float64 if cells.dtype.kind in "biuf" else object)
        cells[mask] = np.nan
    return cells


def refuse_masked(given: Any, name: str) -> None:
    """Raise an error for targets or weights with masked cells, whose mask numpy would drop, and for sparse ones."""
    if sparse.issparse(given):
        raise TypeError(f"{name} is a sparse matrix; give an array, for example {name}.toarray().ravel().")
    n_masked = int(np.ma.count_masked(given)) if isinstance(given, np.ma.MaskedArray) else 0
    if n_masked:
        raise ValueError(
            f"{name} has {n_masked} masked values, but every row needs one: drop these rows from all arguments, for "
            f"example with X[~{name}.mask]."
        )


def refuse_lazy(table: Any, name: str, taker: str) -> None:
    """Raise an error for a lazy frame, as in polars, that says what to do."""
    if callable(getattr(table, "collect", None)) and not hasattr(table, "shape"):
        raise TypeError(
            f"{name} is a {type(table).__name__}, whose rows are not computed yet; call .collect() and give the result "
            f"to {taker}."
        )
