"""One row, in whatever form it is given, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from softwood.core.extras import require
from softwood.core.parameters import parameter_error


def as_table(caller: str, row: Any, names: Sequence[str], has_names: bool, keys: Sequence | None = None) -> Any:
    """A table of one row that a model takes.

    Parameters
    ----------
    caller : name of the public function, for errors
    row : dict or Series by column, sequence of values, or a table with one row
    names : names of the model's columns
    has_names : whether the model was fitted to a frame with these names
    keys : names of that frame that are not text, as in `Columns`
    """
    if hasattr(row, "columns") or getattr(row, "ndim", None) == 2:
        if len(row) != 1:
            raise parameter_error(caller, "row", "a single row", f"a table of {len(row)} rows")
        return row
    if hasattr(row, "items") and not isinstance(row, Mapping):  # a Series
        has_labels = (has_names or keys is not None) and list(map(str, row.index)) != list(map(str, range(len(row))))
        row = dict(row.items()) if has_labels else list(row)
    if isinstance(row, Mapping):
        titles = dict(zip(keys or names, names, strict=True))
        given = {titles.get(name, str(name)): value for name, value in row.items()}
        for name in names:
            if name not in given:
                raise parameter_error(caller, "row", f"a row with the column {name!r}", sorted(given))
        unknown = sorted(set(given) - set(names))
        if unknown:
            raise parameter_error(caller, "row", f"a row of the columns {', '.join(map(repr, names))}", unknown[0])
        cells = [given[name] for name in names]
    else:
        is_flat = isinstance(row, Sequence | np.ndarray) and not isinstance(row, str) and np.ndim(row) == 1
        if not is_flat or len(row) != len(names):
            found = f"{len(row)} values" if is_flat else row
            raise parameter_error(
                caller, "row", f"a row of {len(names)} values, a dict, or a table with one row", found
            )
        cells = list(row)
    if has_names:
        pandas = require("pandas", None, "A row without a frame")
        return pandas.DataFrame({name: [cell] for name, cell in zip(names, cells, strict=True)})
    try:
        return np.array([cells], dtype=np.float64)
    except (TypeError, ValueError):
        table = np.empty((1, len(cells)), dtype=object)
        table[0, :] = cells
        return table
