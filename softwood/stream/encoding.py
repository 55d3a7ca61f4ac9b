"""Growing encoding of the rows of a stream, from arrays, frames and dicts.

A feature that is a number has one column, from its first value on. A category has a column of zeros and ones, from the
first row with it on. A date has columns for the days since the first date, hour, weekday and month, from that date on.
A category after the first 255 of its feature is treated as unknown: too many categories are no reason to stop a stream.
Columns are in the order in which they appear, row by row, so they do not depend on how rows are divided into blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from numbers import Number
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from softwood.core.columns import MAX_CATEGORIES, Columns, column_titles
from softwood.core.dates import Dates, date_kind, kind_of_cell, read_time, read_times
from softwood.core.encoding import as_numbers, check_columns, prepare_table, read_table, refuse_infinity
from softwood.core.tables import column_cells, is_missing_value, is_text, type_names

if TYPE_CHECKING:
    import pandas as pd

# What counts as a number in a dict; numpy's truth values are not among Python's numbers.
NUMBERS = (Number, np.bool_)


class GrowingEncoder:
    """Columns of features that appear over time.

    Attributes
    ----------
    numbers : column of each feature that is a number
    categories : columns of the categories of each feature, in the order in which they appeared
    dates : how each feature that is a date is encoded, and the first of its columns
    names : of the columns; ``name=category`` for categories
    """

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.categories: dict[Any, dict[Hashable, int]] = {}
        self.dates: dict[Any, tuple[Dates, int]] = {}
        self.names: list[str] = []
        self._category_columns: dict[Hashable, np.ndarray] = {}  # of all categories of a feature
        self._take_all: Callable[[dict], tuple] | None = None  # the values of all numbers
        self._n_taken = 0

    def __len__(self) -> int:
        return len(self.names)

    def copy(self) -> GrowingEncoder:
        """A copy that can learn without changing this one."""
        new = GrowingEncoder()
        new.numbers, new.names = dict(self.numbers), list(self.names)
        new.categories = {key: dict(known) for key, known in self.categories.items()}
        new.dates = dict(self.dates)
        return new

    def add(self, key: Hashable, value: Any, is_category: bool, title: Any) -> bool:
        """Add the column of a value, unless there is one, or no more are allowed; whether it was added.

        Parameters
        ----------
        key, title : the feature, and its name
        """
        if not is_category:
            if key in self.numbers:
                return False
            self.numbers[key] = len(self.names)
            self.names.append(str(title))
            return True
        known = self.categories.setdefault(key, {})
        if value in known or len(known) >= MAX_CATEGORIES:
            return False
        known[value] = len(self.names)
        self.names.append(f"{title}={value}")
        return True

    def add_date(self, key: Hashable, date: Dates, title: Any) -> None:
        """Add the columns of a feature that is a date; arguments as in `add`."""
        self.dates[key] = date, len(self.names)
        self.names += date.titles(str(title))

    # Dicts

    @staticmethod
    def check(x: dict) -> None:
        """An error that names the feature if a row cannot be learned."""
        for key, value in x.items():
            try:
                if is_missing_value(value):
                    continue
                if not isinstance(value, NUMBERS):
                    hash(value)
                    continue
                number = float(value)  # type: ignore[arg-type]
            except (TypeError, ValueError, OverflowError) as error:
                what = f"Feature {key!r} is {type(value).__name__}, neither a number nor a category"
                raise ValueError(f"{what}: {error}.") from error
            if math.isinf(number):
                raise ValueError(f"Feature {key!r} is infinite; only finite numbers and missing values are taken.")

    def learn(self, x: dict) -> list[tuple[int, int | None]]:
        """Add what is new in a row, sorted by name or number, so that the order of a dict does not matter.

        Returns
        -------
        the new columns of categories, each with an older column of the same feature or None
        """
        new: list[tuple[int, int | None]] = []
        for key in sorted(x, key=lambda k: (type(k).__name__, k if isinstance(k, int) else str(k))):
            value = x[key]
            if is_missing_value(value):
                continue
            kind = kind_of_cell(value)
            if kind is not None:
                if key not in self.dates:
                    self.add_date(key, Dates.learn(*_first_time(key, kind, value), "all"), key)
                continue
            is_category = not isinstance(value, NUMBERS)
            if self.add(key, value, is_category, key) and is_category:
                at, first = len(self.names) - 1, next(iter(self.categories[key].values()))
                new.append((at, None if first == at else first))
        return new

    def _all_numbers(self, x: dict) -> Sequence:
        """The values of all features that are numbers."""
        if self._take_all is None or self._n_taken != len(self.numbers):
            if len(self.numbers) < 2:
                return [x[key] for key in self.numbers]
            self._take_all, self._n_taken = itemgetter(*self.numbers), len(self.numbers)
        return self._take_all(x)

    def read(self, x: dict, row: np.ndarray) -> bool:
        """Fill a row of the matrix, nan where missing; False if the dict holds something that is not known."""
        if len(x) == len(self.numbers) == len(row):
            # All features are numbers and present: the usual case.
            try:
                values = self._all_numbers(x)
                total = sum(values)
                if total - total == 0.0:  # neither nan nor infinity among them, nor text
                    row[:] = values
                    return True
            except (KeyError, TypeError, ValueError, OverflowError):
                pass
        row[:] = np.nan
        is_known = True
        for key, value in x.items():
            if is_missing_value(value):
                continue
            if isinstance(value, NUMBERS):
                at = self.numbers.get(key)
                if at is None:
                    is_known = False
                else:
                    row[at] = value
                continue
            kind = kind_of_cell(value)
            if kind is not None:
                is_known &= key in self.dates
                if key in self.dates:
                    date, at = self.dates[key]
                    times = read_time(value, str(key), date.kind, date.zone)[0]
                    row[at : at + len(date.parts)] = date.encode(times)[0]
                continue
            known = self.categories.get(key, {})
            columns = self._category_columns.get(key)
            if columns is None or len(columns) != len(known):
                columns = self._category_columns[key] = np.fromiter(known.values(), np.int64, len(known))
            row[columns] = 0.0
            at = known.get(value)
            if at is not None:
                row[at] = 1.0
            elif len(known) < MAX_CATEGORIES:
                is_known = False
        if np.isinf(row).any():
            self.check(x)
        return is_known

    # Frames of pandas, whose rows are read as dicts are

    def check_frame(self, X: pd.DataFrame) -> None:
        """An error that names the feature if a row cannot be learned."""
        for column, kind in X.dtypes.items():
            if kind.kind == "O" or (
                kind.kind == "f" and np.isinf(X[column].to_numpy(np.float64, na_value=np.nan)).any()
            ):
                for value in X[column].tolist():
                    self.check({column: value})

    def read_numbers(self, X: pd.DataFrame) -> np.ndarray | None:
        """The rows of a frame of numbers whose columns are known, nan where missing; None for other frames."""
        if not all(kind.kind in "biuf" for kind in X.dtypes) or not all(key in self.numbers for key in X.columns):
            return None
        matrix = np.full((len(X), len(self)), np.nan)
        values = X.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(values).any():
            self.check_frame(X)
        matrix[:, [self.numbers[key] for key in X.columns]] = values
        return matrix

    def read_frame(self, X: pd.DataFrame) -> np.ndarray:
        """The rows of a frame, nan where missing; what is not known is left out."""
        matrix = self.read_numbers(X)
        if matrix is None:
            matrix = np.empty((len(X), len(self)))
            for row, x in zip(matrix, X.to_dict(orient="records"), strict=True):
                self.read(x, row)
        return matrix

    # Tables, whose features are the numbers of their columns

    @classmethod
    def from_columns(cls, columns: Columns | None) -> GrowingEncoder:
        """The encoder of a table's columns; None if nothing has been learned."""
        encoder = cls()
        if columns is not None:
            encoder.names = list(columns.names)
            for at, j in enumerate(columns.source.tolist()):
                known, date = columns.categories[j], columns.date(j)
                if date is not None:
                    encoder.dates.setdefault(j, (date, at))
                elif known is None:
                    encoder.numbers[j] = at
                else:
                    own = encoder.categories.setdefault(j, {})
                    own[known[len(own)]] = at
        return encoder

    def as_columns(self, inputs: tuple[str, ...], keys: tuple | None) -> Columns:
        """The encoding of a table with these names of columns; see `Columns`."""
        source = np.empty(len(self.names), dtype=np.int64)
        for j, at in self.numbers.items():
            source[at] = j
        for j, known in self.categories.items():
            source[list(known.values())] = j
        for j, (date, at) in self.dates.items():
            source[at : at + len(date.parts)] = j
        # a column without any value so far has no categories yet
        has_one = set(self.numbers) | set(self.dates)
        categories = [None if j in has_one else tuple(self.categories.get(j, ())) for j in range(len(inputs))]
        dates = tuple(self.dates[j][0] if j in self.dates else None for j in range(len(inputs))) if self.dates else ()
        return Columns(tuple(self.names), source, tuple(categories), inputs, keys=keys, dates=dates)

    def fill_categories(self, key: Hashable, values: np.ndarray, is_missing: np.ndarray, matrix: np.ndarray) -> None:
        """Fill the columns of all categories of a feature: 0 or 1, nan where the value is missing."""
        known = self.categories.get(key, {})
        places = np.array([known.get(value, -1) for value in values.tolist()])
        for at in known.values():
            matrix[:, at] = np.where(is_missing, np.nan, places == at)


def read_growing_table(
    estimator: Any,
    X: Any,
    *,
    categorical_features: Any = "from_dtype",
    columns: Columns | None = None,
    learn: bool | np.ndarray,
) -> tuple[np.ndarray, Columns, list[int]]:
    """Validate and encode a block of a stream's rows.

    Parameters
    ----------
    estimator, X, categorical_features : as in `softwood.core.encoding.read_table`
    columns : the encoding learned from the earlier blocks; None for the first block
    learn : whether to add what is new to the encoding; or for each row whether to add what is new in it, (n_rows,)

    Returns
    -------
    matrix, `columns` with the new ones, and for each of these the row with which it comes; 0 up to the first row that
    is learned
    """
    X, is_frame, wanted, kinds = prepare_table(estimator, X, categorical_features, columns, "parts")
    counts = learn if isinstance(learn, np.ndarray) else np.ones(X.shape[0] if hasattr(X, "shape") else 0, dtype=bool)
    # A frame's column may hold numbers or text; that is known from its first value on.
    first: list[int | None] = []
    if is_frame and isinstance(categorical_features, str) and _may_be_late(X, columns):
        first = [_first_known(X, j, counts) for j in range(X.shape[1])]
    if not wanted.any() and not any(kinds) and all(row == 0 for row in first):
        matrix, found = read_table(estimator, X, reset=columns is None, categorical_features=None, columns=columns)
        return matrix, found, [0] * len(found.names) if columns is None else []
    check_columns(estimator, X, reset=columns is None)
    inputs, keys = column_titles(X) if columns is None else (columns.inputs, columns.keys)
    if X.shape[0] == 0:
        raise ValueError(f"Found array with 0 sample(s) (shape={tuple(X.shape)}) while a minimum of 1 is required.")
    encoder = GrowingEncoder.from_columns(columns)
    n_known = len(encoder)
    kinds = kinds or [None] * len(inputs)
    for j, row in enumerate(first):
        if not any(j in known for known in (encoder.numbers, encoder.categories, encoder.dates)):
            kinds[j] = None if row is None else date_kind(X, j, type_names(X)[j])
            wanted[j] = kinds[j] is None and (row is None or is_text(X, j, type_names(X)[j]))
    cells = [_cells(X, j, inputs[j], kinds[j], encoder) for j in range(len(inputs))]
    arrivals: list[tuple[int, int, Any]] = []  # row, column of the table, category or date
    for j, (values, is_missing) in enumerate(cells):
        if kinds[j] is not None:
            rows = np.flatnonzero(~is_missing & counts)[:1]
            if learn is not False and j not in encoder.dates:
                arrivals += [(int(row), j, values[row]) for row in rows]
        elif not wanted[j]:
            if learn is not False or columns is None:
                arrivals.append(((first[j] or 0) if first else 0, j, None))
        elif learn is not False:
            rows = np.flatnonzero(~is_missing & counts)
            present, known = values[rows].tolist(), encoder.categories.get(j, {})
            new = [value for value in dict.fromkeys(present) if value not in known][: MAX_CATEGORIES - len(known)]
            arrivals += [(int(rows[present.index(value)]), j, value) for value in new]
    arrivals.sort(key=lambda arrival: arrival[:2])
    new_rows: list[int] = []
    for row, j, value in arrivals:
        n_before, kind = len(encoder), kinds[j]
        if kind is None:
            encoder.add(j, value, bool(wanted[j]), inputs[j])
        else:
            _, zone = read_times(X, j, inputs[j], kind, None)
            encoder.add_date(j, Dates.learn(np.array([value]), kind, zone, "all"), inputs[j])
        new_rows += [row] * (len(encoder) - n_before)
    matrix = np.empty((X.shape[0], len(encoder)))
    for j, (values, is_missing) in enumerate(cells):
        if wanted[j]:
            encoder.fill_categories(j, values, is_missing, matrix)
            continue
        if kinds[j] is not None:
            if j in encoder.dates:
                date, at = encoder.dates[j]
                matrix[:, at : at + len(date.parts)] = date.encode(values)
            continue
        numbers = as_numbers(values, is_missing, inputs[j], estimator)
        if j in encoder.numbers:  # not if it is predicted from before it is learned
            matrix[:, encoder.numbers[j]] = numbers
    refuse_infinity(matrix, encoder.names)
    first_learned = int(np.argmax(counts))
    assert len(new_rows) == len(encoder) - n_known
    return matrix, encoder.as_columns(inputs, keys), [0 if row <= first_learned else row for row in new_rows]


def _cells(X: Any, j: int, name: str, kind: str | None, encoder: GrowingEncoder) -> tuple[np.ndarray, np.ndarray]:
    """The cells of a column, dates as `read_times` reads them, and where they are missing."""
    if kind is None:
        return column_cells(X, j)
    times, _ = read_times(X, j, name, kind, encoder.dates[j][0].zone if j in encoder.dates else None)
    return times, np.isnat(times)


def _first_time(key: Hashable, kind: str, value: Any) -> tuple[np.ndarray, str, str]:
    """The first value of a feature of dicts that is a date, as `Dates.learn` takes it."""
    times, zone = read_time(value, str(key), kind, None)
    return times, kind, zone


def _may_be_late(X: Any, columns: Columns | None) -> bool:
    """Whether columns of a frame may appear after its first row, or have not appeared in the blocks before."""
    return X.shape[0] > 0 and (columns is None or len(set(columns.source.tolist())) < X.shape[1])


def _first_known(X: Any, j: int, counts: np.ndarray) -> int | None:
    """First of the rows that count in which a column has a value; None if there is none."""
    known = np.flatnonzero(~column_cells(X, j)[1] & counts)
    return int(known[0]) if len(known) else None
