"""The smallest data frame: columns with names, so that reading files needs no other package."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


class Frame:
    """Columns with names; each is an array (n_rows,).

    Estimators take it like the frames of pandas and polars: numbers are float64 or int64, truth values bool, dates
    datetime64, and text objects. Missing values are nan, NaT or None.

    Parameters
    ----------
    columns : arrays of the same length by name

    Examples
    --------
    >>> import numpy as np
    >>> from softwood.core.frames import Frame
    >>> table = Frame({"size": np.array([1.0, 2.0]), "city": np.array(["Rome", None], dtype=object)})
    >>> table.shape, table["city"].tolist(), table[1:]["size"].tolist()
    ((2, 2), ['Rome', None], [2.0])
    """

    def __init__(self, columns: Mapping[str, np.ndarray]) -> None:
        self._arrays = dict(columns)
        lengths = {len(array) for array in self._arrays.values()}
        if len(lengths) > 1:
            raise ValueError(f"The columns of a frame must have the same length. Got {sorted(lengths)}.")
        self._n_rows = lengths.pop() if lengths else 0

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self._arrays)

    @property
    def dtypes(self) -> list[np.dtype]:
        """Types of the columns."""
        return [array.dtype for array in self._arrays.values()]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows, and of columns."""
        return self._n_rows, len(self._arrays)

    def __len__(self) -> int:
        return self._n_rows

    def __getitem__(self, what: Any) -> Any:
        """The array of a column by its name, some columns by a list of names, or rows by a slice or an array."""
        if isinstance(what, str):
            return self._arrays[what]
        if isinstance(what, list) and all(isinstance(name, str) for name in what):
            return Frame({name: self._arrays[name] for name in what})
        return Frame({name: array[what] for name, array in self._arrays.items()})

    @classmethod
    def from_arrow(cls, table: Any) -> Frame:
        """The columns of a table or a batch of pyarrow, without an index that pandas has written."""
        columns = {}
        for name, column in zip(table.column_names, table.columns, strict=True):
            kind = str(column.type)
            if re.fullmatch(r"__index_level_\d+__", name):
                continue
            if kind.startswith("decimal"):
                array = np.array([np.nan if value is None else float(value) for value in column.to_pylist()])
            elif kind.startswith("dictionary") or "tz=" in kind:
                array = np.empty(len(column), dtype=object)
                array[:] = column.to_pylist()
            else:
                array = column.to_numpy(zero_copy_only=False)
            columns[name] = array.astype(f"{array.dtype.kind}8[us]") if array.dtype.kind in "mM" else array
        return cls(columns)

    def drop(self, names: Iterable[str]) -> Frame:
        """The frame without some columns."""
        left_out = set(names)
        return Frame({name: array for name, array in self._arrays.items() if name not in left_out})

    def to_matrix(self) -> np.ndarray:
        """All cells in one array, of numbers if all of them are."""
        arrays = list(self._arrays.values())
        if all(array.dtype.kind in "biuf" for array in arrays):
            return np.stack(arrays, axis=1).astype(np.float64) if arrays else np.empty((len(self), 0))
        return np.stack([array.astype(object) for array in arrays], axis=1)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.to_matrix().astype(dtype) if dtype is not None else self.to_matrix()

    def to_dicts(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        cells = [array.tolist() for array in self._arrays.values()]
        return [dict(zip(self._arrays, row, strict=True)) for row in zip(*cells, strict=True)]
