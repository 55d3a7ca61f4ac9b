"""Tables from files, targets, and columns as a model wants them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from softwood.cli.errors import CommandError, UsageError
from softwood.extras import require

__all__ = ["Problem", "columns_for", "read_problem", "read_table", "split_target", "task_of"]

SUFFIXES = (".csv", ".csv.gz", ".parquet")
# Whole numbers with more different values than this are targets of regression.
MOST_CLASSES = 20


def read_table(path: str) -> Any:
    """A pandas DataFrame from a file, or from standard input if the path is ``-``."""
    pandas = require("pandas", "cli", "Reading tables")
    name = "standard input" if path == "-" else path
    if path != "-":
        if not Path(path).exists():
            raise CommandError(f"there is no file {path!r}.")
        if not path.lower().endswith(SUFFIXES):
            raise UsageError(f"{path!r} must end in one of {', '.join(SUFFIXES)}.")
    try:
        if path.lower().endswith(".parquet"):
            require("pyarrow", "cli", "Reading Parquet files")
            table = pandas.read_parquet(path)
        else:
            table = pandas.read_csv(sys.stdin.buffer if path == "-" else path, low_memory=False)
    except pandas.errors.EmptyDataError:
        raise CommandError(f"{name} is empty.") from None
    except (ValueError, OSError, EOFError) as error:  # of its content, its compression, or the disk
        raise CommandError(f"{name} cannot be read: {error}") from None
    if len(table) == 0:
        raise CommandError(f"{name} has no rows.")
    return table


def _named(table: Any, column: str, option: str, path: str) -> None:
    if column not in table.columns:
        shown = ", ".join(map(str, table.columns[:20])) + (", ..." if len(table.columns) > 20 else "")
        raise UsageError(f"{option}: {path} has no column {column!r}; it has {shown}.")


def split_target(table: Any, target: str, path: str) -> tuple[Any, Any]:
    """Rows that have a target, and these targets; a note about the others."""
    _named(table, target, "--target", path)
    is_missing = table[target].isna()
    if is_missing.all():
        raise CommandError(f"column {target!r} of {path} has no values.")
    if is_missing.any():
        first = int(np.argmax(is_missing.to_numpy()))
        print(
            f"{int(is_missing.sum())} rows without {target!r} are left out, the first is row {first}", file=sys.stderr
        )
        table = table[~is_missing]
    return table, table[target]


def task_of(y: Any) -> str:
    """Kind of problem by the target."""
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(y) or pd.api.types.is_bool_dtype(y):
        return "classification"
    is_few = y.nunique() <= MOST_CLASSES and 2 * y.nunique() <= len(y)
    return "classification" if pd.api.types.is_integer_dtype(y) and is_few else "regression"


class Problem:
    """A table with a target, for fitting.

    Attributes
    ----------
    X, y, weights : features, targets, and weights or None
    task : "classification" or "regression"
    """

    def __init__(self, X: Any, y: Any, weights: Any, task: str) -> None:
        self.X, self.y, self.weights, self.task = X, y, weights, task

    def rows(self, chosen: np.ndarray) -> Problem:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights.iloc[chosen]
        return Problem(self.X.iloc[chosen], self.y.iloc[chosen], weights, self.task)


def read_problem(chosen: Any) -> Problem:
    """The table of a command that fits models."""
    table, y = split_target(read_table(chosen.data), chosen.target, chosen.data)
    others = [*chosen.drop, *([] if chosen.weight is None else [chosen.weight])]
    for column in others:
        _named(table, column, "--drop" if column in chosen.drop else "--weight", chosen.data)
    X = table.drop(columns=[chosen.target, *others])
    if X.shape[1] == 0:
        raise UsageError(f"{chosen.data} has no columns beside the target.")
    weights = None if chosen.weight is None else table[chosen.weight]
    task = chosen.task or task_of(y)
    if task == "classification" and y.nunique() < 2:
        raise CommandError(f"column {chosen.target!r} has only one value, {y.iloc[0]!r}.")
    if task == "regression" and task_of(y) != task and not _are_numbers(y):
        raise UsageError(f"--task: column {chosen.target!r} holds no numbers.")
    return Problem(X, y, weights, task)


def _are_numbers(y: Any) -> bool:
    import pandas as pd

    return pd.api.types.is_numeric_dtype(y)


def columns_for(model: Any, table: Any, path: str) -> Any:
    """The columns that a model was fitted to, in its order."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        if table.shape[1] != model.n_features_in_:
            raise UsageError(
                f"{path} has {table.shape[1]} columns, and the model takes {model.n_features_in_} without names."
            )
        return table.to_numpy()
    missing = [name for name in names if name not in table.columns]
    if missing:
        shown = ", ".join(repr(str(name)) for name in missing[:5]) + (", ..." if len(missing) > 5 else "")
        raise UsageError(f"{path} lacks {'columns' if len(missing) > 1 else 'the column'} {shown} of the model.")
    return table[list(names)]
