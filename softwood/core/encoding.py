"""From the user's table to a matrix of numbers.

Numeric columns are kept, with nan where a value is missing. For kernel models, a column of text or categories becomes
one column of the numbers of its categories, with nan where the value is missing. For other models it becomes one column
of zeros and ones per category (a single column if there are two categories), with nan in all of these columns where the
value is missing. The encoding is learned by `fit` and applied unchanged by `predict`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from softwood.core.columns import MAX_CATEGORIES, Columns, column_titles, find_column, one_hot_names, shown_categories
from softwood.core.parameters import parameter_error
from softwood.core.tables import (
    column_cells,
    is_date,
    is_frame,
    is_text,
    refuse_lazy,
    type_names,
    without_mask,
    without_sparse_columns,
)

__all__ = ["as_numbers", "find_categories", "prepare_table", "read_table", "refuse_infinity"]


def read_table(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    categorical_features: Any = "from_dtype",
    handle_unknown: str = "missing",
    as_codes: bool = False,
    columns: Columns | None = None,
    grow: bool = False,
) -> tuple[np.ndarray, Columns]:
    """Validate a table and encode it.

    Parameters
    ----------
    estimator : the estimator whose ``n_features_in_`` and ``feature_names_in_`` are set (if `reset`) or compared
    X : array or data frame (pandas, polars), (n_rows, n_features_in)
    categorical_features : "from_dtype" (text and category columns of frames), None, or names, numbers or a mask of
        columns
    handle_unknown : whether categories that first occur after `fit` are missing values ("missing") or errors ("error")
    as_codes : how categories are encoded, see `Columns`
    columns : the encoding learned by `fit`; None in `fit` itself
    grow : whether this is a fit that continues another one (warm start), whose encoding is `columns`: new categories
        get the last numbers, so that the trees so far remain valid, and columns of another kind are refused

    Returns
    -------
    matrix : (n_rows, n_encoded) float64 in C order, nan where missing
    columns : the encoding
    """
    X, frame, wanted = prepare_table(estimator, X, categorical_features, None if reset else columns)
    if grow:
        assert columns is not None
        _refuse_other_columns(estimator, X, categorical_features, columns)
        columns = replace(columns, handle_unknown=handle_unknown)
    if not wanted.any():
        matrix, cells = _numeric_matrix(estimator, X, frame, reset, columns)
        if cells is None:
            names, keys = column_titles(X if frame else matrix) if columns is None else (columns.inputs, None)
            refuse_infinity(matrix, names)
            matrix = np.require(matrix, requirements=["C", "W"])  # the loops take writable arrays
            if columns is None:
                every = np.arange(matrix.shape[1])
                columns = Columns(names, every, (None,) * len(every), names, handle_unknown, as_codes, keys)
            return matrix, columns
        X, wanted = cells, np.zeros(cells.shape[1], dtype=bool)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if X.shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={tuple(X.shape)}) while a minimum of 1 is required.")
    names, keys = column_titles(X) if columns is None else (columns.inputs, columns.keys)
    as_codes = as_codes if columns is None else columns.as_codes
    blocks: list[np.ndarray] = []
    encoded_names: list[str] = []
    source: list[int] = []
    categories: list[tuple | None] = []
    for j, name in enumerate(names):
        values, is_missing = column_cells(X, j)
        if not wanted[j]:
            block = as_numbers(values, is_missing, name, estimator)[:, None]
            kept, labels = None, [name]
        else:
            kept, codes = _codes(values, is_missing, name, j, columns, grow, estimator)
            if as_codes:
                block, labels = np.where(codes < 0, np.nan, codes)[:, None], [name]
            else:
                block, labels = _one_hot(codes, kept), one_hot_names(name, kept)
        blocks.append(block)
        encoded_names += labels
        source += [j] * len(labels)
        categories.append(kept)
    matrix = np.ascontiguousarray(np.concatenate(blocks, axis=1)) if blocks else np.empty((X.shape[0], 0))
    refuse_infinity(matrix, encoded_names)
    if columns is None:
        origin = np.array(source, dtype=np.int64)
        columns = Columns(tuple(encoded_names), origin, tuple(categories), names, handle_unknown, as_codes, keys)
    return matrix, replace(columns, categories=tuple(categories)) if grow else columns


def _numeric_matrix(
    estimator: Any, X: Any, frame: bool, reset: bool, columns: Columns | None
) -> tuple[np.ndarray, Any]:
    """A table without categories as a matrix of floats.

    If numpy cannot convert its numbers and missing values to floats, its cells are returned as well, to be converted
    column by column.
    """
    try:
        matrix = validate_data(
            estimator, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite=False, ensure_min_samples=1
        )
    except (TypeError, ValueError) as error:
        cells = _cells(X, frame)
        if cells is None:
            raise
        validate_data(estimator, cells, reset=reset, skip_check_array=True)  # report wrong columns first
        named = _first_not_number(cells, columns, estimator)
        if named is not None:
            raise named from error
        if isinstance(error, ValueError):
            raise
        return np.empty((0, 0)), cells
    return matrix, None


def find_categories(estimator: Any, X: Any, categorical_features: Any = "from_dtype") -> list[set | None]:
    """Different categories of each column of a part of a table; None for columns of numbers."""
    X, _, wanted = prepare_table(estimator, X, categorical_features, None)
    found: list[set | None] = []
    for j, is_category in enumerate(wanted):
        values, is_missing = column_cells(X, j) if is_category else (np.empty(0), np.empty(0, dtype=bool))
        found.append(set(values[~is_missing].tolist()) if is_category else None)
    return found


def prepare_table(
    estimator: Any, X: Any, categorical_features: Any, columns: Columns | None
) -> tuple[Any, bool, np.ndarray]:
    """The table, whether it is a frame, and the mask of its categorical columns; anything else is refused.

    A list of rows becomes an array of objects, so that numbers remain numbers next to text.
    """
    refuse_lazy(X, "X", type(estimator).__name__)
    frame = is_frame(X)
    if frame:
        _refuse_repeated_names(X, estimator)
        _refuse_other_names(X, columns, estimator)
        X = without_sparse_columns(X)
    elif isinstance(X, np.ma.MaskedArray):
        X = without_mask(X)
    if columns is None:
        has_categories = categorical_features is not None and not isinstance(categorical_features, str)
    else:
        has_categories = any(c is not None for c in columns.categories)
    if has_categories and not frame:
        cells = X if hasattr(X, "shape") else np.array(X, dtype=object)
        X = check_array(cells, dtype=None, ensure_all_finite=False, estimator=estimator, input_name="X")
    if columns is None:
        wanted = _categorical_mask(estimator, X, categorical_features, frame)
    else:
        wanted = np.array([c is not None for c in columns.categories], dtype=bool)
    _refuse_dates(X, wanted, estimator, frame)
    return X, frame, wanted


def _categorical_mask(estimator: Any, X: Any, wanted: Any, frame: bool) -> np.ndarray:
    """Which columns of the table are categories, (n_features_in,) bool."""
    shape = getattr(X, "shape", None)
    n = shape[1] if shape is not None and len(shape) == 2 else 0
    chosen = wanted.tolist() if isinstance(wanted, np.ndarray) else wanted
    is_list = isinstance(chosen, Iterable) and not isinstance(chosen, str | Mapping)
    if not (is_list or wanted is None or (isinstance(wanted, str) and wanted == "from_dtype")):
        expected = "'from_dtype', None, or a list of columns by name or number, or a mask"
        raise parameter_error(estimator, "categorical_features", expected, wanted)
    if isinstance(wanted, str):
        return np.array([is_text(X, j, kind) for j, kind in enumerate(type_names(X))] if frame else [False] * n, bool)
    mask = np.zeros(n, dtype=bool)
    if wanted is None:
        return mask
    chosen = list(chosen)
    if chosen and all(isinstance(c, bool | np.bool_) for c in chosen):
        if len(chosen) != n:
            raise parameter_error(estimator, "categorical_features", f"a mask of the {n} columns", wanted)
        return np.array(chosen, dtype=bool)
    titles = column_titles(X)
    for column in chosen:
        mask[find_column(estimator, "categorical_features", column, *titles)] = True
    return mask


def _refuse_repeated_names(X: Any, estimator: Any) -> None:
    names = list(X.columns)
    if len(set(names)) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"X has {names.count(name)} columns with the name {name!r}; {type(estimator).__name__} needs different "
            "names. Rename the columns, or drop repeated ones, in pandas with X.loc[:, ~X.columns.duplicated()]."
        )


def _refuse_other_names(X: Any, columns: Columns | None, estimator: Any) -> None:
    """Raise an error for other columns than in `fit`, or in another order; scikit-learn only compares text."""
    if columns is None or columns.keys is None:
        return
    found = column_titles(X)[1]
    if found is not None and found != columns.keys:
        raise ValueError(
            f"The feature names should match those that were passed during fit: {type(estimator).__name__} expects the "
            f"columns {_some(columns.keys)}, in this order. Got {_some(found)} instead. "
            "Bring the columns of X into the order of fit, in pandas with X[list of these names]."
        )


def _some(names: Sequence, n: int = 6) -> str:
    return "[" + ", ".join(map(repr, names[:n])) + (", ...]" if len(names) > n else "]")


def _refuse_other_columns(estimator: Any, X: Any, categorical_features: Any, columns: Columns) -> None:
    """Raise an error if the columns are not those of the last fit, or one has changed from categories to numbers."""
    try:
        validate_data(estimator, X, reset=False, skip_check_array=True)
    except ValueError as error:
        message = "With warm_start=True X must have the columns of the last fit, in the same order. Pass these, or set "
        raise ValueError(f"{error}\n{message}warm_start=False to start a new fit.") from None
    cells = X if hasattr(X, "shape") else np.array(X, dtype=object)
    found = _categorical_mask(estimator, cells, categorical_features, is_frame(X))
    for j, (is_category, known) in enumerate(zip(found, columns.categories, strict=True)):
        if is_category == (known is not None) or column_cells(cells, j)[1].all():
            continue
        kinds = ("numbers", "categories") if is_category else ("categories", "numbers")
        raise _other_kind(columns.inputs[j], *kinds)


def _other_kind(name: str, before: str, now: str) -> ValueError:
    return ValueError(
        f"Column {name!r} held {before} in the last fit, and holds {now} now. With warm_start=True a column must hold "
        "what it held before: convert it, or set warm_start=False to start a new fit."
    )


def _refuse_dates(X: Any, is_category: np.ndarray, estimator: Any, frame: bool) -> None:
    """Raise an error that names the column with dates or times, rather than convert them to numbers."""
    dtype = getattr(X, "dtype", None)
    if not frame and not (isinstance(dtype, np.dtype) and dtype.kind in "mMO" and len(X.shape) == 2):
        return
    kinds = type_names(X) if frame else [str(dtype)] * X.shape[1]
    for j, kind in enumerate(kinds[: len(is_category)]):  # a wrong number of columns is reported later
        if is_category[j]:
            continue
        found = kind if kind.startswith(("date", "time", "period", "duration")) else None
        if kind == "object":  # numpy's dates would silently become numbers
            found = next((type(v).__name__ for v in column_cells(X, j)[0] if is_date(v)), None)
        if found is not None:
            raise _date_error(column_titles(X)[0][j], found, estimator)


def _date_error(name: str, kind: str, estimator: Any) -> ValueError:
    return ValueError(f"Column {name!r} holds dates ({kind}); give {type(estimator).__name__} numbers.")


def as_numbers(values: np.ndarray, is_missing: np.ndarray, name: str, estimator: Any) -> np.ndarray:
    """A column of numbers, nan where missing; an error that names the column for anything else."""
    out = np.full(len(values), np.nan)
    try:
        out[~is_missing] = values[~is_missing].astype(np.float64)
    except (TypeError, ValueError) as error:
        named = _not_number(values, is_missing, name, estimator)
        if named is None:
            raise
        raise named from error
    return out


def _cells(X: Any, frame: bool) -> Any:
    """The table if it is a frame or an array of objects or text, which can hold non-numbers; None otherwise."""
    cells = np.array(X, dtype=object) if isinstance(X, list | tuple) else X
    is_array = isinstance(cells, np.ndarray) and cells.ndim == 2 and cells.dtype.kind in "OUS"
    return cells if frame or is_array else None


def _first_not_number(X: Any, columns: Columns | None, estimator: Any) -> Exception | None:
    """An error that names the first column with a cell that is not a number; None if all cells are numbers."""
    for j, name in enumerate(column_titles(X)[0] if columns is None else columns.inputs):
        named = _not_number(*column_cells(X, j), name, estimator)
        if named is not None:
            return named
    return None


def _not_number(values: np.ndarray, is_missing: np.ndarray, name: str, estimator: Any) -> Exception | None:
    """An error for the first cell of a column that is not a number, of the type that `float` raises; None: all are."""
    for value in values[~is_missing].tolist():
        try:
            float(value)
        except (TypeError, ValueError) as error:
            if is_date(value):  # in a list
                return _date_error(name, type(value).__name__, estimator)
            return type(error)(f"Column {name!r} was expected to hold numbers for {type(estimator).__name__}: {error}.")
    return None


def _codes(
    values: np.ndarray,
    is_missing: np.ndarray,
    name: str,
    j: int,
    columns: Columns | None,
    grow: bool,
    estimator: Any,
) -> tuple[tuple, np.ndarray]:
    """Categories of the table's column `j`, and the number of each row's; -1 where it is missing or unknown."""
    present = list(dict.fromkeys(values[~is_missing].tolist()))
    known = () if columns is None else columns.categories[j]
    assert known is not None
    number = {category: k for k, category in enumerate(known)}
    new = [v for v in present if v not in number]
    if columns is None or grow:
        if grow:
            _check_new_categories(name, known, new, columns)
        known += tuple(sorted(new, key=lambda v: (str(type(v)), v)))
        number, new = {category: k for k, category in enumerate(known)}, []
        if len(known) > MAX_CATEGORIES:
            raise ValueError(
                f"Column {name!r} has {len(known)} different categories, more than the {MAX_CATEGORIES} that "
                f"{type(estimator).__name__} takes. Drop it if it is an identifier. Otherwise replace its rare "
                "categories by a common one, or turn it into numbers with sklearn.preprocessing.TargetEncoder."
            )
    if new and columns is not None and columns.handle_unknown == "error":
        raise ValueError(
            f"Column {name!r} holds categories that were not seen in fit: {new[:3]!r}. Known are {list(known)[:5]!r}"
            f"{' and more' if len(known) > 5 else ''}. "
            "With handle_unknown='missing' they would count as missing values."
        )
    codes = np.array(
        [-1 if m else number.get(v, -1) for v, m in zip(values.tolist(), is_missing, strict=True)], dtype=np.int64
    )
    return known, codes


def _check_new_categories(name: str, known: tuple, new: list, columns: Columns | None) -> None:
    """Raise an error if these categories cannot be added to those of the last fit."""
    before, now = {_kind_of(v) for v in known}, {_kind_of(v) for v in new}
    if known and now - before:
        raise _other_kind(name, " and ".join(sorted(before)), " and ".join(sorted(now)))
    if new and columns is not None and not columns.as_codes:
        raise ValueError(
            f"Column {name!r} holds categories that were not there in the last fit: {_some(new, 3)}. With "
            "warm_start=True they cannot be added to the gates so far: fit to rows with all categories first, or set "
            "warm_start=False to start a new fit."
        )


def _kind_of(category: Any) -> str:
    if isinstance(category, str):
        return "text"
    is_flag = isinstance(category, bool | np.bool_)
    return "truth values" if is_flag else "numbers" if isinstance(category, Real) else type(category).__name__


def _one_hot(codes: np.ndarray, known: tuple) -> np.ndarray:
    """Columns of zeros and ones, nan where the number of the category is -1."""
    block = (codes[:, None] == np.array(shown_categories(known), dtype=np.int64)).astype(np.float64)
    block[codes < 0] = np.nan
    return block


def refuse_infinity(matrix: np.ndarray, names: Sequence[str]) -> None:
    """Raise an error that names the first column with infinity."""
    # A quick check before the slow one: a sum that is finite has no infinite cells.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(matrix.sum()):
            return
    bad = np.isinf(matrix).any(axis=0)
    if bad.any():
        j = int(np.argmax(bad))
        raise ValueError(
            f"Column {names[j]!r} contains infinity; only finite numbers and missing values (NaN) are taken."
        )
