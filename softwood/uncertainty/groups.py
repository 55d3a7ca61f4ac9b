"""Groups of rows that get their own coverage: by a column, or by leaf."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# A column of numbers with more different values than this is divided at its quartiles.
MOST_VALUES, PARTS = 12, 4


@dataclass(frozen=True)
class Groups:
    """Rule that divides rows into groups.

    Attributes
    ----------
    columns : (k,) encoded columns: one, or the indicators of one column's categories; none: groups are leaves
    values : (m,) sorted: a value for each group, or the borders between groups of numbers
    has_borders : whether `values` are borders
    """

    columns: np.ndarray
    values: np.ndarray
    has_borders: bool

    def __post_init__(self) -> None:
        if self.columns.ndim != 1 or self.values.ndim != 1 or np.any(np.diff(self.values) <= 0):
            raise ValueError("columns and values of groups must be vectors, and values sorted.")

    @classmethod
    def by_column(cls, matrix: np.ndarray, columns: np.ndarray, *, is_category: bool) -> Groups:
        """Groups by the value of a column, which is one or several columns of the encoded matrix."""
        found = _read(matrix, columns)
        known = found[~np.isnan(found)]
        values = np.unique(known)
        if is_category or len(values) <= MOST_VALUES:
            return cls(columns, values, False)
        borders = np.quantile(known, np.arange(1, PARTS) / PARTS, method="inverted_cdf")
        return cls(columns, np.unique(borders), True)

    @classmethod
    def by_leaf(cls, leaves: np.ndarray) -> Groups:
        """Groups by the leaf with the largest share of a row."""
        return cls(np.empty(0, np.int64), np.unique(leaves).astype(np.float64), False)

    @property
    def is_by_leaf(self) -> bool:
        """Whether groups are leaves."""
        return len(self.columns) == 0

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.values) + self.has_borders

    def members(self, matrix: np.ndarray, leaves: np.ndarray | None = None) -> np.ndarray:
        """Number of the group of each encoded row, -1 where the value is missing or new, (n,)."""
        found = _read(matrix, self.columns) if leaves is None else leaves.astype(np.float64)
        if self.has_borders:
            return np.where(np.isnan(found), -1, np.searchsorted(self.values, found))
        place = np.minimum(np.searchsorted(self.values, found), len(self.values) - 1)
        return np.where(self.values[place] == found, place, -1)


def _read(matrix: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """One number for each row: the value of the column, or the place of its largest indicator."""
    chosen = matrix[:, columns]
    if chosen.shape[1] == 1:
        return chosen[:, 0]
    is_known = ~np.isnan(chosen).any(axis=1) & (chosen.max(axis=1, initial=-np.inf) > 0)
    return np.where(is_known, np.argmax(np.nan_to_num(chosen), axis=1), np.nan)
