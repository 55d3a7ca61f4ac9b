"""The arguments of `fit` as a list of parts that are read later; other types are refused before any work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dask
import numpy as np
from dask.delayed import Delayed
from distributed import Future

from softwood.core.columns import Columns
from softwood.core.dates import kind_of_cell
from softwood.core.encoding import read_table


@dataclass(frozen=True)
class Chunks:
    """Parts of the rows.

    Attributes
    ----------
    parts : for each part X, y and weights (or None), as delayed objects or futures
    """

    parts: list[tuple[Any, Any, Any]]

    def __len__(self) -> int:
        return len(self.parts)


def is_lazy(X: Any) -> bool:
    """Whether this is a Dask collection of rows."""
    return dask.is_dask_collection(X) and not isinstance(X, Delayed)


def read_chunks(X: Any, y: Any, sample_weight: Any, owner: str, dates: str) -> Chunks:
    """The parts of the table, the targets and the weights, which must be divided alike.

    Parameters
    ----------
    dates : parameter of the estimator
    """
    if y is None:
        raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
    parts, sizes = _parts("X", X, owner, 2)
    _check_types(X, owner, dates)
    others = []
    for name, given in (("y", y), ("sample_weight", sample_weight)):
        if given is None:
            others.append([None] * len(parts))
            continue
        own, own_sizes = _parts(name, given, owner, 1)
        if len(own) != len(parts):
            raise ValueError(
                f"X has {len(parts)} parts, but {name} has {len(own)}; divide both alike, for example with "
                f"{name}.rechunk or {name}.repartition."
            )
        if sizes is not None and own_sizes is not None and sizes != own_sizes:
            raise ValueError(
                f"The parts of X have {_shown(sizes)} rows, but those of {name} have {_shown(own_sizes)}; divide both "
                f"alike, for example with {name}.rechunk."
            )
        others.append(own)
    return Chunks(list(zip(parts, *others, strict=True)))


def _parts(name: str, given: Any, owner: str, n_axes: int) -> tuple[list[Any], tuple[int, ...] | None]:
    """The parts, and their numbers of rows where these are known."""
    if isinstance(given, list | tuple):
        if not given or not all(isinstance(part, Future | Delayed) for part in given):
            raise TypeError(f"{name} is a {type(given).__name__}; a list must hold futures or delayed parts.")
        return list(given), None
    if not is_lazy(given):
        raise TypeError(
            f"{name} is a {type(given).__name__}; softwood.dask.{owner} takes Dask arrays, Dask frames, or a list of "
            f"futures or delayed parts. For a table in memory use softwood.{owner}."
        )
    if hasattr(given, "chunks") and hasattr(given, "rechunk"):
        if given.ndim not in (n_axes, 2):
            raise ValueError(f"{name} must have {n_axes} dimensions. Got {given.ndim}.")
        if given.ndim == 2 and given.numblocks[1] > 1:
            given = given.rechunk({1: -1})
        sizes = given.chunks[0]
        blocks = given.to_delayed().ravel().tolist()
        return blocks, None if any(np.isnan(size) for size in sizes) else tuple(int(size) for size in sizes)
    return parts_of_frame(given), None


def parts_of_frame(frame: Any) -> list[Delayed]:
    """The parts of a frame as it is divided.

    The graph is not optimised: Dask would join files by the sizes of the columns that it reads, and divide X and y
    differently.
    """
    return list(frame.to_delayed(optimize_graph=False))


def _check_types(X: Any, owner: str, dates: str) -> None:
    """Refuse columns that can never be numbers, categories or dates."""
    if isinstance(X, list | tuple):
        return
    if not hasattr(X, "columns"):
        if X.dtype.kind not in ("biufO" if dates == "error" else "biufOmM"):
            raise ValueError(f"X holds {X.dtype}; give {owner} numbers.")
        return
    for name, dtype in X.dtypes.items():
        refused = ("complex",) if dates != "error" else ("complex", "date", "time", "period", "duration")
        if str(dtype).startswith(refused):
            raise ValueError(f"Column {str(name)!r} holds {dtype}; give {owner} numbers.")


def _shown(sizes: tuple[int, ...]) -> str:
    return ", ".join(map(str, sizes[:5])) + (", ..." if len(sizes) > 5 else "")


def columns_of(
    estimator: Any, names: tuple | None, categories: list[set | None], earlier: Columns | None = None
) -> Columns:
    """The encoding of the whole table, from the categories of all parts; sets the estimator's column names.

    A small table with all the categories, and with dates that stand for all, is read as `fit` would read the whole one.
    With the encoding of an `earlier` fit (warm start), its categories keep their numbers.
    """
    n = max([1, *(len(found) for found in categories if found is not None)])
    cells = np.zeros((n, len(categories)), dtype=object)
    for j, found in enumerate(categories):
        if found is not None:
            cells[:, j] = [*found, *[None] * (n - len(found))]
    table: Any = cells
    if names is not None:
        import pandas as pd

        table = pd.DataFrame(cells, columns=list(names))
    mask = [found is not None and not any(map(kind_of_cell, found)) for found in categories]
    _, columns = read_table(
        estimator, table, reset=earlier is None, categorical_features=mask if any(mask) else None,
        handle_unknown=estimator.handle_unknown, as_codes=True, dates=estimator.dates,
        columns=earlier, grow=earlier is not None,
    )  # fmt: skip
    return columns
