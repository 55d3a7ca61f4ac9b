"""From the user's table to a matrix of numbers, and back to the user's column names.

Numeric columns are kept, with nan where a value is missing. For kernel models, a column of text or categories becomes
one column of the numbers of its categories, with nan where the value is missing. For other models it becomes one column
of zeros and ones per category (a single column if there are two categories), with nan in all of these columns where the
value is missing. The encoding is learned by `fit` and applied unchanged by `predict`.

The columns of a frame have names: a parameter such as ``bandwidth={2: 0.1}`` means the column with the name 2. A number
means a position in arrays, and in frames whose names are not numbers.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, validate_data

from softwood.core.parameters import parameter_error

__all__ = [
    "MAX_CATEGORIES",
    "Columns",
    "column_titles",
    "find_categories",
    "find_column",
    "is_missing_value",
    "read_growing_table",
    "read_table",
    "refuse_lazy",
    "refuse_masked",
    "take_rows",
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
    inputs : names of the table's columns, as text
    handle_unknown : whether an unknown category is a missing value ("missing") or an error ("error")
    as_codes : whether a column of categories is one column of their numbers, rather than columns of zeros and ones
    keys : names of the table's columns, if they are not text but numbers or tuples; None for text and for arrays
    """

    names: tuple[str, ...]
    source: np.ndarray
    categories: tuple[tuple | None, ...]
    inputs: tuple[str, ...]
    handle_unknown: str = "missing"
    as_codes: bool = False
    keys: tuple | None = None

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
        return replace(self, names=tuple(names), source=np.array(source, np.int64), as_codes=False)

    def find(self, owner: object, parameter: str, column: Any) -> int:
        """Number of a column of the table, given as in `find_column`."""
        return find_column(owner, parameter, column, self.inputs, self.keys)

    def add_up(self, per_encoded: np.ndarray) -> np.ndarray:
        """Sum values of the matrix columns over each of the table's columns, (n_features_in,)."""
        return np.bincount(self.source, weights=per_encoded, minlength=len(self.categories))

    def spread(self, per_input: np.ndarray) -> np.ndarray:
        """Repeat values of the table's columns (last axis) for the matrix columns."""
        return per_input[..., self.source]


def find_column(owner: object, parameter: str, column: Any, names: Sequence[str], keys: Sequence | None = None) -> int:
    """Number of a column of a table, given by its name, or by its number if the names are not numbers.

    Parameters
    ----------
    owner, parameter : whose parameter it is, for errors
    names, keys : as `Columns.inputs` and `Columns.keys`
    """
    wanted = _plain_name(column)
    is_flag = isinstance(wanted, bool)  # which is equal to 0 or 1
    for known in (keys or (), names):
        if not is_flag and wanted in known:
            return known.index(wanted)
    numbers_are_names = any(isinstance(name, Integral) for name in keys or ())
    if isinstance(wanted, int) and not is_flag and not numbers_are_names and 0 <= wanted < len(names):
        return wanted
    shown = ", ".join(map(repr, (keys or names)[:6])) + (", ..." if len(names) > 6 else "")
    way = "by name" if numbers_are_names else "by name or number"
    raise parameter_error(owner, parameter, f"given for columns of X, {way} ({len(names)}: {shown})", column)


def column_titles(X: Any) -> tuple[tuple[str, ...], tuple | None]:
    """Names of the columns of a table as `Columns.inputs` and `Columns.keys`; ``x[0]``, ``x[1]``, ... for an array."""
    if not _is_frame(X):
        return tuple(f"x[{j}]" for j in range(X.shape[1])), None
    names = tuple(map(_plain_name, X.columns))
    if all(isinstance(name, str) for name in X.columns):
        return names, None
    return tuple(f"x[{name}]" if isinstance(name, Integral) else str(name) for name in names), names


def _plain_name(name: Any) -> Any:
    """A column's name with which files can be written, and which is equal to itself: text, number or tuple."""
    if isinstance(name, tuple):
        return tuple(map(_plain_name, name))
    if isinstance(name, np.generic):
        name = name.item()
    is_plain = isinstance(name, str | bool | int | float) and name == name
    return name if is_plain else str(name)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def take_rows(table: Any, rows: np.ndarray) -> Any:
    """Some rows of a table or vector of any kind."""
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    if isinstance(table, list | tuple):
        return [table[row] for row in rows.tolist()]
    return (table if hasattr(table, "__getitem__") else np.asarray(table))[rows]


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
        get the last numbers, so that the trees so far remain true, and columns of another kind are refused

    Returns
    -------
    matrix : (n_rows, n_encoded) float64 in C order, nan where missing
    columns : the encoding
    """
    X, frame, wanted = _with_categories(estimator, X, categorical_features, None if reset else columns)
    if grow:
        assert columns is not None
        try:
            validate_data(estimator, X, reset=False, skip_check_array=True)
        except ValueError as error:
            message = (
                "With warm_start=True X must have the columns of the last fit, in the same order. Pass these, or set "
            )
            raise ValueError(f"{error}\n{message}warm_start=False to start a new fit.") from None
        _refuse_other_kinds(estimator, X, categorical_features, columns)
        columns = replace(columns, handle_unknown=handle_unknown)
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
            named = _first_not_number(cells, columns, estimator)
            if named is not None:
                raise named from error
            if isinstance(error, ValueError):
                raise
            # Numbers and missing values that do not convert to float by themselves: column by column.
            X, wanted = cells, np.zeros(cells.shape[1], dtype=bool)
        else:
            names, keys = column_titles(X if frame else matrix) if columns is None else (columns.inputs, None)
            _refuse_infinity(matrix, names)
            matrix = np.require(matrix, requirements=["C", "W"])  # the loops take writable arrays
            if columns is None:
                every = np.arange(matrix.shape[1])
                columns = Columns(names, every, (None,) * len(every), names, handle_unknown, as_codes, keys)
            return matrix, columns
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    n_rows = X.shape[0]
    if n_rows == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={tuple(X.shape)}) while a minimum of 1 is required.")
    names, keys = column_titles(X) if columns is None else (columns.inputs, columns.keys)
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
            kept, codes = _codes(values, is_missing, name, j, columns, grow, estimator)
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
        columns = Columns(tuple(encoded_names), origin, tuple(categories), names, handle_unknown, as_codes, keys)
    return matrix, replace(columns, categories=tuple(categories)) if grow else columns


def read_growing_table(
    estimator: Any,
    X: Any,
    *,
    categorical_features: Any = "from_dtype",
    columns: Columns | None = None,
    learn: bool | np.ndarray,
) -> tuple[np.ndarray, Columns]:
    """Validate and encode a part of a stream's table, whose columns may hold new categories at any time.

    Every category has a column of zeros and ones. The columns are in the order in which the categories first occur, row
    by row, so they do not depend on how the rows are divided into parts. A category that is unknown and not learned, or
    that comes after the first 255 of its column, is encoded as zeros. Other parameters are those of `read_table`.

    Parameters
    ----------
    columns : the encoding learned from the earlier parts; None for the first part
    learn : whether to add new categories to the encoding; or for each row whether to add its categories, (n_rows,)

    Returns
    -------
    matrix, and `columns` with the new categories
    """
    X, frame, wanted = _with_categories(estimator, X, categorical_features, columns)
    # What a frame's column holds is known from its first value on; until then it has no column in the matrix.
    is_late = frame and isinstance(categorical_features, str) and _may_be_late(X, columns)
    counts = learn if isinstance(learn, np.ndarray) else np.ones(X.shape[0] if hasattr(X, "shape") else 0, dtype=bool)
    first = [_first_known(X, j, counts) for j in range(X.shape[1])] if is_late else []
    if not wanted.any() and all(row == 0 for row in first):
        return read_table(estimator, X, reset=columns is None, categorical_features=None, columns=columns)
    validate_data(estimator, X, reset=columns is None, skip_check_array=True)
    inputs, keys = column_titles(X) if columns is None else (columns.inputs, columns.keys)
    if X.shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={tuple(X.shape)}) while a minimum of 1 is required.")
    names = [] if columns is None else list(columns.names)
    source = [] if columns is None else columns.source.tolist()
    for j, row in enumerate(first):
        if j not in source:
            wanted[j] = row is None or _is_text(X, j, _type_names(X)[j])
    categories = [() if w else None for w in wanted] if columns is None else list(columns.categories)
    cells = [_column(X, j) for j in range(len(inputs))]
    new: list[tuple[int, int, Any]] = []  # first row, column of the table, category
    for j, (values, is_missing) in enumerate(cells):
        if wanted[j] and learn is not False:
            rows = np.flatnonzero(~is_missing & counts)
            present, known = values[rows].tolist(), set(categories[j] or ())
            found = [v for v in dict.fromkeys(present) if v not in known]
            # Too many categories are no reason to stop a stream: this one is treated as unknown.
            found = found[: MAX_CATEGORIES - len(known)]
            new += [(int(rows[present.index(v)]), j, v) for v in found]
        elif not wanted[j] and j not in source and (learn is not False or columns is None):
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
    return matrix, Columns(tuple(names), np.array(source, dtype=np.int64), tuple(categories), inputs, keys=keys)


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


def _first_known(X: Any, j: int, counts: np.ndarray) -> int | None:
    """First of the rows that count in which a column has a value; None if there is none."""
    known = np.flatnonzero(~_column(X, j)[1] & counts)
    return int(known[0]) if len(known) else None


def _with_categories(
    estimator: Any, X: Any, categorical_features: Any, columns: Columns | None
) -> tuple[Any, bool, np.ndarray]:
    """The table, whether it is a frame, and the mask of its categorical columns; anything else is refused.

    A list of rows becomes an array of objects, so that numbers remain numbers next to text.
    """
    refuse_lazy(X, "X", type(estimator).__name__)
    frame = _is_frame(X)
    if frame:
        _refuse_repeated_names(X, estimator)
        _refuse_other_names(X, columns, estimator)
        X = _without_sparse_columns(X)
    elif isinstance(X, np.ma.MaskedArray):
        X = _without_mask(X)
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
        return np.array([_is_text(X, j, kind) for j, kind in enumerate(_type_names(X))] if frame else [False] * n, bool)
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


def _refuse_other_kinds(estimator: Any, X: Any, categorical_features: Any, columns: Columns) -> None:
    """Raise an error if a column of categories has become one of numbers since the last fit, or the reverse."""
    cells = X if hasattr(X, "shape") else np.array(X, dtype=object)
    found = _categorical_mask(estimator, cells, categorical_features, _is_frame(X))
    for j, (is_category, known) in enumerate(zip(found, columns.categories, strict=True)):
        if is_category == (known is not None) or _column(cells, j)[1].all():
            continue
        kinds = ("numbers", "categories") if is_category else ("categories", "numbers")
        raise _other_kind(columns.inputs[j], *kinds)


def _other_kind(name: str, before: str, now: str) -> ValueError:
    return ValueError(
        f"Column {name!r} held {before} in the last fit, and holds {now} now. With warm_start=True a column must hold "
        "what it held before: convert it, or set warm_start=False to start a new fit."
    )


def _without_sparse_columns(X: Any) -> Any:
    """The frame with ordinary columns in place of pandas' sparse ones."""
    places = [j for j, kind in enumerate(_type_names(X)) if kind.startswith("sparse")]
    if not places:
        return X
    X = X.copy(deep=False)
    for j in places:
        X.isetitem(j, X.iloc[:, j].sparse.to_dense())
    return X


def _without_mask(X: np.ma.MaskedArray) -> np.ndarray:
    """The array with missing values in place of masked cells."""
    cells, mask = np.ma.getdata(X), np.ma.getmaskarray(X)
    if mask.any():
        cells = cells.astype(np.float64 if cells.dtype.kind in "biuf" else object)
        cells[mask] = np.nan
    return cells


def _is_text(X: Any, j: int, kind: str) -> bool:
    """Whether a frame's column holds text, categories or truth values, by its type or, for objects, by its cells."""
    if any(word in kind for word in ("category", "categorical", "enum", "string", "str", "bool")):
        return True
    if kind != "object":
        return False
    values, is_missing = _column(X, j)
    return any(isinstance(v, str) for v in values[~is_missing])


def _type_names(X: Any) -> list[str]:
    """Names of the types of a frame's columns."""
    return [str(dtype).lower() for dtype in X.dtypes]


def _refuse_dates(X: Any, is_category: np.ndarray, estimator: Any, frame: bool) -> None:
    """Raise an error that names the column with dates or times, rather than convert them to numbers."""
    dtype = getattr(X, "dtype", None)
    if not frame and not (isinstance(dtype, np.dtype) and dtype.kind in "mMO" and len(X.shape) == 2):
        return
    kinds = _type_names(X) if frame else [str(dtype)] * X.shape[1]
    for j, kind in enumerate(kinds[: len(is_category)]):  # a wrong number of columns is reported later
        if is_category[j]:
            continue
        found = kind if kind.startswith(("date", "time", "period", "duration")) else None
        if kind == "object":  # numpy's dates would silently become numbers
            found = next((type(v).__name__ for v in _column(X, j)[0] if _is_date(v)), None)
        if found is not None:
            raise _date_error(column_titles(X)[0][j], found, estimator)


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


def _first_not_number(X: Any, columns: Columns | None, estimator: Any) -> Exception | None:
    """An error that names the first column with a cell that is not a number; None if all cells are numbers."""
    for j, name in enumerate(column_titles(X)[0] if columns is None else columns.inputs):
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
            "warm_start=True they have no place in the gates so far: fit to rows with all categories first, or set "
            "warm_start=False to start a new fit."
        )


def _kind_of(category: Any) -> str:
    if isinstance(category, str):
        return "text"
    is_flag = isinstance(category, bool | np.bool_)
    return "truth values" if is_flag else "numbers" if isinstance(category, Real) else type(category).__name__


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
