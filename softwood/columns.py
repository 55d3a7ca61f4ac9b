"""From the user's table to a matrix of numbers, and back to the user's column names.

Numeric columns are kept, with nan where a value is missing. For kernel models, a column of text or categories becomes
one column of the numbers of its categories, with nan where the value is missing. For other models it becomes one column
of zeros and ones per category (a single column if there are two categories), with nan in all of these columns where the
value is missing. The encoding is learned by `fit` and applied unchanged by `predict`.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from softwood.parameters import parameter_error

__all__ = [
    "MAX_CATEGORIES",
    "Columns",
    "find_categories",
    "is_missing_value",
    "read_growing_table",
    "read_table",
    "refuse_lazy",
]

# A column with more categories than this is taken for an identifier or free text, and refused.
MAX_CATEGORIES = 255

# Types of cells that are dates or times. The types of pandas derive from these, except Period.
_DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)


@dataclass(frozen=True)
class Columns:
    """Encoding of the columns of a table as columns of a matrix.

    Attributes
    ----------
    names : names of the matrix columns, such as ``city=Rome`` for a category
    source : (n_encoded,) number of the table's column that each matrix column comes from
    categories : for each of the table's columns None, or its categories in order
    inputs : names of the table's columns
    handle_unknown : whether an unknown category is a missing value ("missing") or an error ("error")
    as_codes : whether a column of categories is one column of their numbers, rather than columns of zeros and ones
    """

    names: tuple[str, ...]
    source: np.ndarray
    categories: tuple[tuple | None, ...]
    inputs: tuple[str, ...]
    handle_unknown: str = "missing"
    as_codes: bool = False

    @property
    def is_category(self) -> np.ndarray:
        """Mask of the matrix columns that represent a category, (n_encoded,) bool."""
        return np.array([self.categories[j] is not None for j in self.source], dtype=bool)

    @property
    def n_categories(self) -> np.ndarray:
        """Number of categories of the matrix columns that hold numbers of categories, 0 for others, (n_encoded,)."""
        counts = [len(self.categories[j] or ()) if self.as_codes else 0 for j in self.source]
        return np.array(counts, dtype=np.int64)

    @property
    def coded(self) -> tuple[tuple | None, ...]:
        """For each of the matrix columns None, or the categories whose numbers it holds, in order."""
        return tuple(self.categories[j] if self.as_codes else None for j in self.source)

    def one_hot(self) -> Columns:
        """The encoding of the same table with columns of zeros and ones."""
        if not self.as_codes:
            return self
        names: list[str] = []
        source: list[int] = []
        for j, known in enumerate(self.categories):
            labels = [self.inputs[j]] if known is None else _one_hot_names(self.inputs[j], known)
            names += labels
            source += [j] * len(labels)
        return Columns(tuple(names), np.array(source, np.int64), self.categories, self.inputs, self.handle_unknown)

    def add_up(self, per_encoded: np.ndarray) -> np.ndarray:
        """Sum values of the matrix columns over each of the table's columns, (n_features_in,)."""
        return np.bincount(self.source, weights=per_encoded, minlength=len(self.categories))

    def spread(self, per_input: np.ndarray) -> np.ndarray:
        """Repeat values of the table's columns (last axis) for the matrix columns."""
        return per_input[..., self.source]


def read_table(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    categorical_features: Any = "from_dtype",
    handle_unknown: str = "missing",
    as_codes: bool = False,
    columns: Columns | None = None,
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

    Returns
    -------
    matrix : (n_rows, n_encoded) float64 in C order, nan where missing
    columns : the encoding
    """
    X, frame, wanted = _with_categories(estimator, X, categorical_features, None if reset else columns)
    if not wanted.any():
        try:
            matrix = validate_data(
                estimator, X, reset=reset, dtype=np.float64, order="C", ensure_all_finite=False, ensure_min_samples=1
            )
        except (TypeError, ValueError) as error:
            cells = _cells(X, frame)
            if cells is None:
                raise
            validate_data(estimator, cells, reset=reset, skip_check_array=True)  # report wrong columns first
            named = _first_not_number(cells, estimator)
            if named is not None:
                raise named from error
            if isinstance(error, ValueError):
                raise
            # Numbers and missing values that do not convert to float by themselves: column by column.
            X, wanted = cells, np.zeros(cells.shape[1], dtype=bool)
        else:
            names = _input_names(estimator, matrix.shape[1])
            _refuse_infinity(matrix, names)
            matrix = np.require(matrix, requirements=["C", "W"])  # loops would be compiled again for a read-only one
            if columns is None:
                every = np.arange(matrix.shape[1])
                columns = Columns(names, every, (None,) * len(every), names, handle_unknown, as_codes)
            return matrix, columns
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    n_rows = X.shape[0]
    if n_rows == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={tuple(X.shape)}) while a minimum of 1 is required.")
    names = _input_names(estimator, X.shape[1])
    as_codes = as_codes if columns is None else columns.as_codes
    blocks: list[np.ndarray] = []
    encoded_names: list[str] = []
    source: list[int] = []
    categories: list[tuple | None] = []
    for j, name in enumerate(names):
        values, is_missing = _column(X, j)
        if not wanted[j]:
            block = _numbers(values, is_missing, name, estimator)[:, None]
            kept, labels = None, [name]
        else:
            kept, codes = _codes(values, is_missing, name, j, columns, estimator)
            if as_codes:
                block, labels = np.where(codes < 0, np.nan, codes)[:, None], [name]
            else:
                block, labels = _one_hot(codes, kept), _one_hot_names(name, kept)
        blocks.append(block)
        encoded_names += labels
        source += [j] * len(labels)
        categories.append(kept)
    matrix = np.ascontiguousarray(np.concatenate(blocks, axis=1)) if blocks else np.empty((n_rows, 0))
    _refuse_infinity(matrix, encoded_names)
    if columns is None:
        origin = np.array(source, dtype=np.int64)
        columns = Columns(tuple(encoded_names), origin, tuple(categories), names, handle_unknown, as_codes)
    return matrix, columns


def read_growing_table(
    estimator: Any, X: Any, *, categorical_features: Any = "from_dtype", columns: Columns | None = None, learn: bool
) -> tuple[np.ndarray, Columns]:
    """Validate and encode a part of a stream's table, whose columns may hold new categories at any time.

    Every category has a column of zeros and ones. The columns are in the order in which the categories first occur, row
    by row, so they do not depend on how the rows are divided into parts. A category that is unknown and not learned, or
    that comes after the first 255 of its column, is encoded as zeros. Other parameters are those of `read_table`.

    Parameters
    ----------
    columns : the encoding learned from the earlier parts; None for the first part
    learn : whether to add new categories to the encoding

    Returns
    -------
    matrix, and `columns` with the new categories
    """
    X, frame, wanted = _with_categories(estimator, X, categorical_features, columns)
    # What a frame's column holds is known from its first value on; until then it has no column in the matrix.
    is_late = frame and isinstance(categorical_features, str)
    first = [_first_known(X, j) for j in range(X.shape[1])] if is_late and _may_be_late(X, columns) else []
    if not wanted.any() and all(row == 0 for row in first):
        return read_table(estimator, X, reset=columns is None, categorical_features=None, columns=columns)
    validate_data(estimator, X, reset=columns is None, skip_check_array=True)
    inputs = _input_names(estimator, X.shape[1])
    if X.shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={tuple(X.shape)}) while a minimum of 1 is required.")
    names = [] if columns is None else list(columns.names)
    source = [] if columns is None else columns.source.tolist()
    for j, row in enumerate(first):
        if j not in source:
            wanted[j] = row is None or _is_text(X, j)
    categories = [() if w else None for w in wanted] if columns is None else list(columns.categories)
    cells = [_column(X, j) for j in range(len(inputs))]
    new: list[tuple[int, int, Any]] = []  # first row, column of the table, category
    for j, (values, is_missing) in enumerate(cells):
        if wanted[j] and learn:
            rows = np.flatnonzero(~is_missing)
            present, known = values[rows].tolist(), set(categories[j] or ())
            found = [v for v in dict.fromkeys(present) if v not in known]
            # Too many categories are no reason to stop a stream: this one is treated as unknown.
            found = found[: MAX_CATEGORIES - len(known)]
            new += [(int(rows[present.index(v)]), j, v) for v in found]
        elif not wanted[j] and j not in source and (learn or columns is None):
            new.append((first[j] or 0 if first else 0, j, None))
            categories[j] = None
    for _, j, category in sorted(new, key=lambda arrival: arrival[:2]):
        names.append(f"{inputs[j]}={category}" if wanted[j] else inputs[j])
        source.append(j)
        if wanted[j]:
            categories[j] = (*(categories[j] or ()), category)
    matrix = np.empty((X.shape[0], len(names)))
    for j, (values, is_missing) in enumerate(cells):
        places = [at for at, k in enumerate(source) if k == j]
        if not wanted[j]:
            numbers = _numbers(values, is_missing, inputs[j], estimator)
            for at in places:  # none if the column is predicted from before it is learned
                matrix[:, at] = numbers
            continue
        number = {category: k for k, category in enumerate(categories[j] or ())}
        codes = np.array([number.get(v, -1) for v in values.tolist()])
        for k, at in enumerate(places):
            matrix[:, at] = np.where(is_missing, np.nan, codes == k)
    _refuse_infinity(matrix, names)
    return matrix, Columns(tuple(names), np.array(source, dtype=np.int64), tuple(categories), inputs)


def find_categories(estimator: Any, X: Any, categorical_features: Any = "from_dtype") -> list[set | None]:
    """Different categories of each column of a part of a table; None for columns of numbers."""
    X, _, wanted = _with_categories(estimator, X, categorical_features, None)
    found: list[set | None] = []
    for j, is_category in enumerate(wanted):
        values, is_missing = _column(X, j) if is_category else (np.empty(0), np.empty(0, dtype=bool))
        found.append(set(values[~is_missing].tolist()) if is_category else None)
    return found


def _may_be_late(X: Any, columns: Columns | None) -> bool:
    """Whether columns of a frame may come later than its first row, or have not come with the parts before."""
    return X.shape[0] > 0 and (columns is None or len(set(columns.source.tolist())) < X.shape[1])


def _first_known(X: Any, j: int) -> int | None:
    """First row in which a column has a value; None if there is none."""
    known = np.flatnonzero(~_column(X, j)[1])
    return int(known[0]) if len(known) else None


def _input_names(estimator: Any, n: int) -> tuple[str, ...]:
    names = getattr(estimator, "feature_names_in_", None)
    return tuple(f"x[{j}]" for j in range(n)) if names is None else tuple(str(name) for name in names)


def _with_categories(
    estimator: Any, X: Any, categorical_features: Any, columns: Columns | None
) -> tuple[Any, bool, np.ndarray]:
    """The table, whether it is a frame, and the mask of its categorical columns; anything else is refused.

    A list of rows becomes an array of objects, so that numbers remain numbers next to text.
    """
    refuse_lazy(X, "X", type(estimator).__name__)
    frame = hasattr(X, "columns") and hasattr(X, "dtypes")
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
        return np.array([_is_text(X, j) for j in range(n)], dtype=bool) if frame else np.zeros(n, dtype=bool)
    mask = np.zeros(n, dtype=bool)
    if wanted is None:
        return mask
    chosen = list(chosen)
    if chosen and all(isinstance(c, bool | np.bool_) for c in chosen):
        if len(chosen) != n:
            raise parameter_error(estimator, "categorical_features", f"a mask of the {n} columns", wanted)
        return np.array(chosen, dtype=bool)
    names = [str(c) for c in X.columns] if frame else []
    for column in chosen:
        if isinstance(column, str) and column in names:
            mask[names.index(column)] = True
        elif isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < n:
            mask[int(column)] = True
        else:
            raise parameter_error(estimator, "categorical_features", "columns of X by name or number", column)
    return mask


def _is_text(X: Any, j: int) -> bool:
    """Whether a frame's column holds text, categories or truth values, by its type or, for objects, by its cells."""
    kind = _type_name(X, j)
    if any(word in kind for word in ("category", "categorical", "enum", "string", "str", "bool")):
        return True
    if kind != "object":
        return False
    values, is_missing = _column(X, j)
    return any(isinstance(v, str) for v in values[~is_missing])


def _type_name(X: Any, j: int) -> str:
    dtypes = X.dtypes
    return str(dtypes.iloc[j] if hasattr(dtypes, "iloc") else dtypes[j]).lower()


def _refuse_dates(X: Any, is_category: np.ndarray, estimator: Any, frame: bool) -> None:
    """Raise an error that names the column with dates or times, rather than convert them to numbers."""
    dtype = getattr(X, "dtype", None)
    if not frame and not (isinstance(dtype, np.dtype) and dtype.kind in "mMO" and len(X.shape) == 2):
        return
    for j in range(min(X.shape[1], len(is_category))):  # a wrong number of columns is reported later
        if is_category[j]:
            continue
        kind = _type_name(X, j) if frame else str(dtype)
        found = kind if kind.startswith(("date", "time", "period", "duration")) else None
        if kind == "object":  # numpy's dates would silently become numbers
            found = next((type(v).__name__ for v in _column(X, j)[0] if _is_date(v)), None)
        if found is not None:
            raise _date_error(str(X.columns[j]) if frame else f"x[{j}]", found, estimator)


def _is_date(value: Any) -> bool:
    is_period = type(value).__name__ == "Period"
    return is_period or (isinstance(value, _DATES) and not is_missing_value(value))


def _date_error(name: str, kind: str, estimator: Any) -> ValueError:
    return ValueError(f"Column {name!r} holds dates ({kind}); give {type(estimator).__name__} numbers.")


def _column(X: Any, j: int) -> tuple[np.ndarray, np.ndarray]:
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
        values = np.asarray(X)[:, j]
        if values.dtype.kind == "f":
            return values, np.isnan(values)
        is_missing = np.array([is_missing_value(v) for v in values], dtype=bool)
    return values, is_missing


def refuse_lazy(table: Any, name: str, taker: str) -> None:
    """Raise an error for a lazy frame, as in polars, that says what to do."""
    if callable(getattr(table, "collect", None)) and not hasattr(table, "shape"):
        raise TypeError(
            f"{name} is a {type(table).__name__}, whose rows are not computed yet; call .collect() and give the result "
            f"to {taker}."
        )


def is_missing_value(value: Any) -> bool:
    """Whether `value` is None, nan or another missing value."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA, which is neither equal nor unequal to itself
        return True


def _numbers(values: np.ndarray, is_missing: np.ndarray, name: str, estimator: Any) -> np.ndarray:
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


def _first_not_number(X: Any, estimator: Any) -> Exception | None:
    """An error that names the first column with a cell that is not a number; None if all cells are numbers."""
    n = X.shape[1]
    for j, name in enumerate(_input_names(estimator, n)[:n]):
        named = _not_number(*_column(X, j), name, estimator)
        if named is not None:
            return named
    return None


def _not_number(values: np.ndarray, is_missing: np.ndarray, name: str, estimator: Any) -> Exception | None:
    """An error for the first cell of a column that is not a number, of the type that `float` raises; None: all are."""
    for value in values[~is_missing].tolist():
        try:
            float(value)
        except (TypeError, ValueError) as error:
            if _is_date(value):  # in a list
                return _date_error(name, type(value).__name__, estimator)
            return type(error)(f"Column {name!r} was expected to hold numbers for {type(estimator).__name__}: {error}.")
    return None


def _codes(
    values: np.ndarray, is_missing: np.ndarray, name: str, j: int, columns: Columns | None, estimator: Any
) -> tuple[tuple, np.ndarray]:
    """Categories of the table's column `j`, and the number of each row's; -1 where it is missing or unknown."""
    present = list(dict.fromkeys(values[~is_missing].tolist()))
    known = None if columns is None else columns.categories[j]
    if known is None:
        known = tuple(sorted(present, key=lambda v: (str(type(v)), v)))
        if len(known) > MAX_CATEGORIES:
            raise ValueError(
                f"Column {name!r} has {len(known)} different categories, more than the {MAX_CATEGORIES} that "
                f"{type(estimator).__name__} takes; drop it if it is an identifier, or group its categories."
            )
    number = {category: k for k, category in enumerate(known)}
    new = [v for v in present if v not in number]
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


def _shown(known: tuple) -> list[int]:
    """Numbers of the categories that have a column of zeros and ones: of two categories, only the second."""
    return [1] if len(known) == 2 else list(range(len(known)))


def _one_hot(codes: np.ndarray, known: tuple) -> np.ndarray:
    """Columns of zeros and ones, nan where the number of the category is -1."""
    block = (codes[:, None] == np.array(_shown(known), dtype=np.int64)).astype(np.float64)
    block[codes < 0] = np.nan
    return block


def _one_hot_names(name: str, known: tuple) -> list[str]:
    return [f"{name}={known[k]}" for k in _shown(known)]


def _refuse_infinity(matrix: np.ndarray, names: Sequence[str]) -> None:
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
