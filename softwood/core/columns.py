"""Names of a table's columns, and their encoding as the columns of a matrix.

The columns of a frame have names: a parameter such as ``bandwidth={2: 0.1}`` means the column with the name 2. A number
means a position in arrays, and in frames whose names are not numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from softwood.core.arrays import is_within, require_array
from softwood.core.dates import Dates
from softwood.core.parameters import parameter_error
from softwood.core.tables import is_frame

# A column with more categories than this is not encoded as columns of zeros and ones, but refused.
MAX_CATEGORIES = 255


@dataclass(frozen=True)
class Columns:
    """Encoding of the columns of a table as columns of a matrix.

    Attributes
    ----------
    names : names of the matrix columns, such as ``city=Rome`` for a category and ``start: weekday`` for a date
    source : (n_encoded,) number of the table's column that each matrix column comes from
    categories : for each of the table's columns None, or its categories in order
    inputs : names of the table's columns, as text
    handle_unknown : whether an unknown category is a missing value ("missing") or an error ("error")
    as_codes : whether a column of categories is one column of their numbers, rather than columns of zeros and ones
    keys : names of the table's columns, if they are not text but numbers or tuples; None for text and for arrays
    dates : for each of the table's columns None, or how its dates are encoded; empty if there are no dates
    """

    names: tuple[str, ...]
    source: np.ndarray
    categories: tuple[tuple | None, ...]
    inputs: tuple[str, ...]
    handle_unknown: str = "missing"
    as_codes: bool = False
    keys: tuple | None = None
    dates: tuple[Dates | None, ...] = ()

    def __post_init__(self) -> None:
        n_inputs = len(self.inputs)
        source = require_array("source", self.source, np.int64, (len(self.names),))
        if len(self.categories) != n_inputs or not is_within(source, 0, n_inputs - 1):
            raise ValueError(f"source and categories must describe the {n_inputs} columns of the table.")
        if self.keys is not None and (len(self.keys) != n_inputs or len(set(self.keys)) < n_inputs):
            raise ValueError(f"keys must be different names of the {n_inputs} columns of the table.")
        if self.handle_unknown not in ("missing", "error"):
            raise ValueError(f"handle_unknown must be 'missing' or 'error', got {self.handle_unknown!r}.")
        if self.dates and len(self.dates) != n_inputs:
            raise ValueError(f"dates must describe the {n_inputs} columns of the table.")
        for j, n in enumerate(np.bincount(source, minlength=n_inputs).tolist()):
            known, date = self.categories[j], self.date(j)
            if date is not None:
                if n != len(date.parts) or known is not None:
                    raise ValueError("The parts of dates do not match the encoded columns.")
                continue
            n_known = 1 if known is None else len(known)
            # Of two categories, one column is enough; a stream has a column for each, as more may come.
            if n != (1 if self.as_codes else n_known) and (n_known, n) != (2, 1):
                raise ValueError("The number of categories does not match the encoded columns.")
            if known is not None and len(set(known)) < n_known:
                raise ValueError("A column must have each of its categories once.")

    def date(self, j: int) -> Dates | None:
        """How the dates of the table's column `j` are encoded; None if it does not hold dates."""
        return self.dates[j] if self.dates else None

    @property
    def is_category(self) -> np.ndarray:
        """Mask of the matrix columns that represent a category, (n_encoded,) bool."""
        return np.array([self.categories[j] is not None for j in self.source], dtype=bool)

    @property
    def is_number(self) -> np.ndarray:
        """Mask of the table's columns that are one number: no categories, no dates of several parts, (n_inputs,)."""
        dates = [self.date(j) for j in range(len(self.inputs))]
        are_several = np.array([date is not None and len(date.parts) > 1 for date in dates], dtype=bool)
        return np.array([known is None for known in self.categories], dtype=bool) & ~are_several

    @property
    def is_step(self) -> np.ndarray:
        """Mask of the matrix columns that jump where the table's column moves: categories, parts of a date but days."""
        is_first = np.zeros(len(self.source), dtype=bool)
        is_first[np.unique(self.source, return_index=True)[1]] = True
        has_date = np.array([self.date(j) is not None for j in self.source], dtype=bool)
        return self.is_category | (has_date & ~is_first)

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
            date, name = self.date(j), self.inputs[j]
            labels = [name] if known is None else one_hot_names(name, known)
            labels = labels if date is None else date.titles(name)
            names += labels
            source += [j] * len(labels)
        return replace(self, names=tuple(names), source=np.array(source, np.int64), as_codes=False)

    def with_parts_of_dates(self) -> Columns:
        """The encoding of a table in which each part of a date is a column of numbers of its own."""
        if not any(self.dates):
            return self
        titles = [
            [name] if date is None else date.titles(name) for name, date in zip(self.inputs, self.dates, strict=True)
        ]
        begin = np.cumsum([0, *map(len, titles)])
        n_before = [int(np.sum(self.source[:at] == j)) for at, j in enumerate(self.source.tolist())]
        is_date = np.array([date is not None for date in self.dates], dtype=bool)
        source = begin[self.source] + np.where(is_date[self.source], n_before, 0)
        categories = [known for known, own in zip(self.categories, titles, strict=True) for _ in own]
        inputs = tuple(title for own in titles for title in own)
        return replace(self, source=source, categories=tuple(categories), inputs=inputs, keys=None, dates=())

    def first_of(self, coded: Columns) -> np.ndarray:
        """The first column of this encoding for each matrix column of `coded`, of which it is `one_hot`, (n_coded,)."""
        part = [int(np.sum(coded.source[:at] == j)) for at, j in enumerate(coded.source.tolist())]
        return np.searchsorted(self.source, coded.source) + np.array(part, dtype=np.int64)

    def find(self, owner: object, parameter: str, column: Any) -> int:
        """Number of a column of the table, given as in `find_column`."""
        return find_column(owner, parameter, column, self.inputs, self.keys)

    def add_up(self, per_encoded: np.ndarray) -> np.ndarray:
        """Sum values of the matrix columns (last axis) over each of the table's columns, (..., n_features_in)."""
        out = np.zeros((*per_encoded.shape[:-1], len(self.categories)))
        np.add.at(out.T, self.source, per_encoded.T)
        return out

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
    if not is_frame(X):
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


def shown_categories(known: tuple) -> list[int]:
    """Numbers of the categories that have a column of zeros and ones: of two categories, only the second."""
    return [1] if len(known) == 2 else list(range(len(known)))


def one_hot_names(name: str, known: tuple) -> list[str]:
    """Names of the columns of zeros and ones of a column with these categories."""
    return [f"{name}={known[k]}" for k in shown_categories(known)]
