"""Growing encoding of the rows of a stream: new columns and new categories may appear at any time."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from numbers import Number
from operator import itemgetter

import numpy as np

from softwood.core.columns import MAX_CATEGORIES, is_missing_value

__all__ = ["NUMBERS", "FeaturePlaces"]

# What counts as a number in a dict; numpy's truth values are not among Python's numbers.
NUMBERS = (Number, np.bool_)


class FeaturePlaces:
    """Columns of the features of dicts, in the order of arrival; new ones of the same row are sorted by name.

    So the order of a dict does not matter.
    """

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.categories: dict[Hashable, dict[Hashable, int]] = {}
        self.names: list[str] = []
        self._category_columns: dict[Hashable, np.ndarray] = {}  # of all categories of a feature
        self._take_all: Callable[[dict], tuple] | None = None  # the values of all numbers
        self._n_taken = 0

    def __len__(self) -> int:
        return len(self.names)

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

    def copy(self) -> FeaturePlaces:
        """A copy that can learn without changing this one."""
        new = FeaturePlaces()
        new.numbers, new.names = dict(self.numbers), list(self.names)
        new.categories = {key: dict(known) for key, known in self.categories.items()}
        return new

    def learn(self, x: dict) -> list[tuple[int, int | None]]:
        """Take in what is new in a row; returns the new columns of categories, each with an older one or None."""
        new: list[tuple[int, int | None]] = []
        for key in sorted(x, key=lambda k: (type(k).__name__, str(k))):
            value = x[key]
            if is_missing_value(value):
                continue
            if isinstance(value, NUMBERS):
                if key not in self.numbers:
                    self.numbers[key] = len(self.names)
                    self.names.append(str(key))
                continue
            known = self.categories.setdefault(key, {})
            if value not in known and len(known) < MAX_CATEGORIES:
                new.append((len(self.names), next(iter(known.values()), None)))
                known[value] = len(self.names)
                self.names.append(f"{key}={value}")
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
            # All features are numbers and there: the usual case.
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
