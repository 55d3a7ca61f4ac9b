"""From the user's table to a matrix of numbers.

Numeric columns are kept, with nan where a value is missing. For kernel models, a column of text or categories becomes
one column of the numbers of its categories, with nan where the value is missing. For other models it becomes one column
of zeros and ones per category (a single column if there are two categories), with nan in all of these columns where the
value is missing. A column of dates becomes days and other parts of the dates (`softwood.core.dates`). The encoding is
learned by `fit` and applied unchanged by `predict`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from softwood.core.columns import MAX_CATEGORIES, Columns, column_titles, find_column, one_hot_names, shown_categories
from softwood.core.dates import DATE_TEXT, Dates, date_kind, kind_of_cell, read_times, representatives
from softwood.core.frames import Frame
from softwood.core.parameters import parameter_error
from softwood.core.tables import (
    column_cells,
    is_frame,
    is_text,
    refuse_lazy,
    type_names,
    without_mask,
    without_sparse_columns,
)

# A column of at least so many categories, no two of them equal, is an identifier.
IDENTIFIERS = 20


def read_table(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    categorical_features: Any = "from_dtype",
    handle_unknown: str = "missing",
    as_codes: bool = False,
    dates: str = "error",
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
    dates : whether dates become days and other parts ("parts"), days alone ("days"), or an error ("error")
    columns : the encoding learned by `fit`; None in `fit` itself
    grow : whether this is a fit that continues another one (warm start), whose encoding is `columns`: new categories
        get the last numbers, so that the trees so far remain valid, and columns of another kind are refused

    Returns
    -------
    matrix : (n_rows, n_encoded) float64 in C order, nan where missing
    columns : the encoding
    """
    X, frame, wanted, kinds = prepare_table(estimator, X, categorical_features, None if reset else columns, dates)
    if grow:
        assert columns is not None
        try:
            check_columns(estimator, X, reset=False)
        except ValueError as error:
            message = (
                "With warm_start=True X must have the columns of the last fit, in the same order. Pass these, or set "
            )
            raise ValueError(f"{error}\n{message}warm_start=False to start a new fit.") from None
        _refuse_other_kinds(estimator, X, categorical_features, columns)
        columns = replace(columns, handle_unknown=handle_unknown)
    if not wanted.any() and not any(kinds):
        matrix, X = _read_numbers(estimator, X, frame, reset, columns)
        if matrix is not None:
            names, keys = column_titles(X) if columns is None else (columns.inputs, None)
            refuse_infinity(matrix, names)
            if columns is None:
                every = np.arange(matrix.shape[1])
                columns = Columns(names, every, (None,) * len(every), names, handle_unknown, as_codes, keys)
            return np.require(matrix, requirements=["C", "W"]), columns  # the loops take writable arrays
        wanted = np.zeros(X.shape[1], dtype=bool)
    check_columns(estimator, X, reset)
    if X.shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={tuple(X.shape)}) while a minimum of 1 is required.")
    names, keys = column_titles(X) if columns is None else (columns.inputs, columns.keys)
    as_codes = as_codes if columns is None else columns.as_codes
    finds = (columns is None or grow) and isinstance(categorical_features, str)
    blocks: list[np.ndarray] = []
    titles: list[list[str]] = []
    categories: list[tuple | None] = []
    by_date: list[Dates | None] = []
    for j, name in enumerate(names):
        date, known, kind = None, None, kinds[j] if kinds else None
        if kind is not None:
            block, date = _read_dates(X, j, name, kind, dates, columns)
            title = date.titles(name)
        elif not wanted[j]:
            block, title = as_numbers(*column_cells(X, j), name, estimator)[:, None], [name]
        else:
            known, codes = _codes(*column_cells(X, j), name, j, columns, grow, as_codes, estimator)
            if finds and _are_identifiers(codes):  # they tell nothing of other rows, but would divide these perfectly
                codes[:] = -1
            if as_codes:
                block, title = np.where(codes < 0, np.nan, codes)[:, None], [name]
            else:
                block, title = _one_hot(codes, known), one_hot_names(name, known)
        blocks.append(block)
        titles.append(title)
        categories.append(known)
        by_date.append(date)
    matrix = np.ascontiguousarray(np.concatenate(blocks, axis=1)) if blocks else np.empty((X.shape[0], 0))
    encoded_names = tuple(chain.from_iterable(titles))
    refuse_infinity(matrix, encoded_names)
    if columns is None:
        source = np.repeat(np.arange(len(titles)), [len(title) for title in titles])
        found = tuple(by_date) if any(by_date) else ()
        columns = Columns(encoded_names, source, tuple(categories), names, handle_unknown, as_codes, keys, found)
    return matrix, replace(columns, categories=tuple(categories)) if grow else columns


def _read_numbers(
    estimator: Any, X: Any, frame: bool, reset: bool, columns: Columns | None
) -> tuple[np.ndarray | None, Any]:
    """A table of numbers as a matrix, and the table; None for objects that must be read column by column."""
    options: dict[str, Any] = {"dtype": np.float64, "order": "C", "ensure_all_finite": False, "ensure_min_samples": 1}
    try:
        if isinstance(X, Frame):  # which scikit-learn does not know
            check_columns(estimator, X, reset)
            return check_array(X.to_matrix(), estimator=estimator, input_name="X", **options), X
        matrix = validate_data(estimator, X, reset=reset, **options)
        return matrix, X if frame else matrix
    except (TypeError, ValueError) as error:
        cells = _cells(X, frame)
        if cells is None:
            raise
        check_columns(estimator, cells, reset)  # report wrong columns first
        named = _first_not_number(cells, columns, estimator)
        if named is not None:
            raise named from error
        if isinstance(error, ValueError):
            raise
        # Numbers and missing values that numpy does not convert to float: they are converted column by column.
        return None, cells


def _read_dates(X: Any, j: int, name: str, kind: str, wanted: str, columns: Columns | None) -> tuple[np.ndarray, Dates]:
    """The encoded columns of a column of dates, (n_rows, n_parts), and how they are encoded."""
    date = None if columns is None else columns.date(j)
    times, zone = read_times(X, j, name, kind, None if date is None else date.zone)
    date = Dates.learn(times, kind, zone, wanted) if date is None else date
    return date.encode(times), date


def check_columns(estimator: Any, X: Any, reset: bool) -> None:
    """Set the estimator's names and number of columns, or raise an error if X has others; as `validate_data` does."""
    if not isinstance(X, Frame):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return
    names = list(X.columns)
    if reset:
        estimator.feature_names_in_, estimator.n_features_in_ = np.array(names, dtype=object), len(names)
    elif hasattr(estimator, "feature_names_in_") and names != estimator.feature_names_in_.tolist():
        raise ValueError(
            f"The feature names should match those that were passed during fit: {type(estimator).__name__} expects the "
            f"columns {_some(estimator.feature_names_in_.tolist())}, in this order. Got {_some(names)} instead."
        )
    elif len(names) != estimator.n_features_in_:
        raise ValueError(
            f"X has {len(names)} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input."
        )


def find_categories(estimator: Any, X: Any, categorical_features: Any, dates: str) -> list[set | None]:
    """Different categories of each column of a part of a table, or a few dates; None for columns of numbers.

    The dates are those with which `Dates.learn` finds the same encoding as with all of the column.
    """
    X, _, wanted, kinds = prepare_table(estimator, X, categorical_features, None, dates)
    names = column_titles(X)[0]
    found: list[set | None] = []
    for j, is_category in enumerate(wanted):
        kind = kinds[j] if kinds else None
        if kind is not None:
            found.append(set(representatives(X, j, names[j], kind)))
            continue
        values, is_missing = column_cells(X, j) if is_category else (np.empty(0), np.empty(0, dtype=bool))
        found.append(set(values[~is_missing].tolist()) if is_category else None)
    return found


def prepare_table(
    estimator: Any, X: Any, categorical_features: Any, columns: Columns | None, dates: str
) -> tuple[Any, bool, np.ndarray, list[str | None]]:
    """The table, whether it is a frame, the mask of its categorical columns, and the kinds of its dates.

    Anything else is refused. A list of rows becomes an array of objects, so that numbers remain numbers next to text.
    The kinds of dates (`softwood.core.dates.kind_of_cell`) are an empty list if there are none.
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
    has_dates = any(columns.dates) if columns is not None else _is_list_with_dates(X)
    if (has_categories or has_dates) and not frame:
        cells = X if hasattr(X, "shape") else np.array(X, dtype=object)
        X = check_array(cells, dtype=None, ensure_all_finite=False, estimator=estimator, input_name="X")
    if columns is None:
        wanted = _categorical_mask(estimator, X, categorical_features, frame)
    else:
        wanted = np.array([c is not None for c in columns.categories], dtype=bool)
    found = _kinds_of_dates(X, wanted, frame)
    if columns is None:
        if dates == "error" and any(found):
            raise _date_error(X, found, estimator)
        return X, frame, wanted, found
    names, known = columns.inputs, [None if date is None else date.kind for date in columns.dates]
    titles = column_titles(X)[0] if frame else names
    for j, kind in enumerate(found[: len(names)]):  # a wrong number or order of columns is reported later
        is_moved = titles[j] != names[j] and names[j] in titles
        if kind is not None and not (known and known[j]) and not is_moved:
            owner = type(estimator).__name__
            raise ValueError(f"Column {names[j]!r} held numbers in fit, and holds dates now; give {owner} numbers.")
    return X, frame, wanted, known


def _is_list_with_dates(X: Any) -> bool:
    """Whether this is a list of rows, and one of them holds a date."""
    rows = [row for row in X if isinstance(row, list | tuple)] if isinstance(X, list | tuple) else []
    return any(kind_of_cell(value) is not None for row in rows for value in row)


def _kinds_of_dates(X: Any, is_category: np.ndarray, frame: bool) -> list[str | None]:
    """What columns hold dates, by kind; an empty list if none does."""
    dtype = getattr(X, "dtype", None)
    if not frame and not (isinstance(dtype, np.dtype) and dtype.kind in "mMO" and len(X.shape) == 2):
        return []
    types = type_names(X) if frame else [str(dtype)] * X.shape[1]
    skipped = [*is_category.tolist(), *[False] * (len(types) - len(is_category))]
    found = [None if skipped[j] else date_kind(X, j, name) for j, name in enumerate(types)]
    return found if any(found) else []


def _date_error(X: Any, kinds: list[str | None], estimator: Any) -> ValueError:
    j = next(j for j, kind in enumerate(kinds) if kind is not None)
    taken = " With dates='parts', it becomes days, hour, weekday and month." if hasattr(estimator, "dates") else ""
    return ValueError(
        f"Column {column_titles(X)[0][j]!r} holds dates ({kinds[j]}); give {type(estimator).__name__} numbers.{taken}"
    )


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
        kinds = type_names(X) if frame else []
        are_text = np.array([is_text(X, j, kind) for j, kind in enumerate(kinds)] if frame else [False] * n, dtype=bool)
        for j in np.flatnonzero(are_text).tolist():
            if kinds[j] == "object":
                _refuse_several_kinds(*column_cells(X, j), column_titles(X)[0][j])
        return are_text
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


def _refuse_several_kinds(values: np.ndarray, is_missing: np.ndarray, name: str) -> None:
    """Raise an error for a column of objects that holds text and something else."""
    by_type = {type(value): value for value in values[~is_missing].tolist()}
    by_kind: dict[str, Any] = {}
    for value in by_type.values():
        _refuse_container(value, name)
        by_kind.setdefault(kind_of_cell(value) or _kind_of(value), value)
    if len(by_kind) < 2:
        return
    shown = " and ".join(repr(value) for value in list(by_kind.values())[:2])
    function = "to_datetime" if "date" in by_kind else "to_numeric"
    raise ValueError(
        f"Column {name!r} holds values of several kinds, such as {shown}. Convert it, in pandas with "
        f"pd.{function}(X[{name!r}], errors='coerce'), which makes other values missing, or for categories with "
        f"X[{name!r}].astype(str)."
    )


def _refuse_container(value: Any, name: str) -> None:
    if isinstance(value, list | tuple | set | dict | np.ndarray):
        what = "an array" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
        raise TypeError(
            f"Column {name!r} holds {what}. A cell of this argument must be one string, number or date: give each part "
            "a column of its own."
        )


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


def _refuse_other_kinds(estimator: Any, X: Any, categorical_features: Any, columns: Columns) -> None:
    """Raise an error if a column of categories has become one of numbers since the last fit, or the reverse."""
    cells = X if hasattr(X, "shape") else np.array(X, dtype=object)
    found = _categorical_mask(estimator, cells, categorical_features, is_frame(X))
    for j, (is_category, known) in enumerate(zip(found, columns.categories, strict=True)):
        if columns.date(j) is not None or is_category == (known is not None) or column_cells(cells, j)[1].all():
            continue  # other cells than dates are refused when they are read
        kinds = ("numbers", "categories") if is_category else ("categories", "numbers")
        raise _other_kind(columns.inputs[j], *kinds)


def _other_kind(name: str, before: str, now: str) -> ValueError:
    return ValueError(
        f"Column {name!r} held {before} in the last fit, and holds {now} now. With warm_start=True a column must hold "
        "what it held before: convert it, or set warm_start=False to start a new fit."
    )


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
            _refuse_container(value, name)
            return type(error)(
                f"Column {name!r} was expected to hold numbers for {type(estimator).__name__}: {error}. Convert it, or "
                "name it in categorical_features."
            )
    return None


def _codes(
    values: np.ndarray,
    is_missing: np.ndarray,
    name: str,
    j: int,
    columns: Columns | None,
    grow: bool,
    as_codes: bool,
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
            _refuse_many(name, known, as_codes, estimator)
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


def _are_identifiers(codes: np.ndarray) -> bool:
    present = codes[codes >= 0]
    return len(present) >= IDENTIFIERS and len(np.unique(present)) == len(present)


def _refuse_many(name: str, known: tuple, as_codes: bool, estimator: Any) -> None:
    """Raise an error if so many categories are dates, or would each get a column of zeros and ones."""
    has_dates = all(isinstance(category, str) and DATE_TEXT.fullmatch(category) for category in known)
    if as_codes and not has_dates:
        return
    advice = (
        "Drop it if it is an identifier. Otherwise replace its rare categories by a common one, turn it into numbers "
        "with sklearn.preprocessing.TargetEncoder, or use a kernel model."
    )
    if has_dates:
        advice = f"It holds dates as text: convert it, in pandas with pd.to_datetime(X[{name!r}])."
    raise ValueError(
        f"Column {name!r} has {len(known)} different categories, more than the {MAX_CATEGORIES} that "
        f"{type(estimator).__name__} takes. {advice}"
    )


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
