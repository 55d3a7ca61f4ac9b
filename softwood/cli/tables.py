"""Tables from files, targets, and columns as a model wants them."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softwood.cli.errors import CommandError, UsageError
from softwood.core.extras import require

if TYPE_CHECKING:
    from softwood.fitted import FittedModel

__all__ = [
    "Problem", "columns_for", "in_pandas", "labels_in_pandas", "labels_of", "read_problem", "read_table",
    "separator_of", "split_target", "task_of",
]  # fmt: skip

SUFFIXES = (".csv", ".csv.gz", ".parquet")
# Whole numbers with more different values than this are targets of regression.
MOST_CLASSES = 20
# What separates columns; the first one of those that give the most columns.
SEPARATORS = (",", ";", "\t", "|")
# Bytes of a file that show how it is written.
_HEAD = 1 << 16


def read_table(path: str, target: str | None = None, task: str | None = None, classes: Any = None) -> Any:
    """A pandas DataFrame from a file, or from standard input if the path is ``-``.

    Parameters
    ----------
    target : column of labels or targets, if there is one; see `labels_of`
    task, classes : kind of problem, and the classes of a fitted model, where they are known
    """
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
            content = sys.stdin.buffer.read() if path == "-" else None
            options = _options(_head(path) if content is None else content[:_HEAD])

            def read(**more: Any) -> Any:
                return pandas.read_csv(path if content is None else io.BytesIO(content), **options, **more)

            table = read(low_memory=False)
            if target is not None and target in table.columns:
                texts = read(usecols=[target], dtype=str, keep_default_na=False)[target]
                table[target] = labels_of(table[target], texts, task, classes)
    except pandas.errors.EmptyDataError:
        raise CommandError(f"{name} is empty.") from None
    except (ValueError, OSError, EOFError) as error:  # of its content, its compression, or the disk
        raise CommandError(f"{name} cannot be read: {error}") from None
    if len(table) == 0:
        raise CommandError(f"{name} has no rows.")
    return table


def labels_of(found: Any, texts: Any, task: str | None = None, classes: Any = None) -> Any:
    """Labels or targets of a CSV file: numbers if nothing is lost by that, otherwise the text of the file.

    A label such as "003" is text, and so is "NA" among labels that are text; then only an empty cell has no label.

    Parameters
    ----------
    found : the column as pandas reads it;  texts : its text
    """
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    is_empty = texts.str.strip() == ""
    known = texts[~is_empty & found.notna()]
    if classes is not None:
        is_text = all(isinstance(label, str) for label in classes)
    elif found.isna().all():
        is_text = task != "regression"
    elif is_numeric_dtype(found) and not is_bool_dtype(found):
        has_zeros = bool(known.str.match(r"\s*[+-]?0\d").any())
        is_merged = task == "classification" and known.nunique() > found.nunique()
        is_text = task != "regression" and (has_zeros or is_merged)
    else:
        is_text = not all(isinstance(label, bool) for label in found.dropna())
    if not is_text:
        return found
    named = sorted(set(texts[~is_empty & found.isna()]))
    if named:
        print(
            f"{', '.join(map(repr, named))} in column {found.name!r} is a class; leave the cells of rows without one "
            "empty",
            file=sys.stderr,
        )
    return texts.where(~is_empty)


def separator_of(path: str) -> str:
    """What separates the columns of a CSV file."""
    return _options(_head(path)).get("sep", ",")


def in_pandas(path: str, **more: Any) -> str:
    """Python that reads a table as `read_table` does, with further options, for the output of ``--verbose``."""
    if path.lower().endswith(".parquet"):
        return f"pd.read_parquet({path!r})"
    options = {name: repr(value) for name, value in _options(b"" if path == "-" else _head(path)).items()} | more
    return f"pd.read_csv({', '.join([repr(path), *(f'{name}={value}' for name, value in options.items())])})"


def labels_in_pandas(path: str, y: Any) -> list[str]:
    """Python that reads labels as `labels_of` does, if it takes more than reading the table."""
    if path.lower().endswith(".parquet") or not all(isinstance(label, str) for label in y):
        return []
    name = repr(y.name)
    return [f"table[{name}] = {in_pandas(path, usecols=f'[{name}]', dtype='str', keep_default_na=False)}[{name}]"]


def _head(path: str) -> bytes:
    with (gzip.open if path.lower().endswith(".gz") else open)(path, "rb") as file:
        return file.read(_HEAD)


def _options(head: bytes) -> dict[str, str]:
    """Options with which pandas reads a CSV file that begins like this: none for commas."""
    text = head.decode("utf-8", errors="replace")
    lines = text.splitlines()[: -1 if len(head) == _HEAD else None]  # the last line may be a part
    counts = {}
    for separator in SEPARATORS:
        rows = [row for row in csv.reader(lines, delimiter=separator) if row]
        widths = {len(row) for row in rows}
        counts[separator] = widths.pop() if len(widths) == 1 else 1
    best = max(SEPARATORS, key=lambda separator: counts[separator])
    if best == ",":
        return {}
    cells = [cell for row in csv.reader(lines[1:], delimiter=best) for cell in row]
    has_commas = any(re.fullmatch(r"\s*[+-]?\d+,\d+\s*", cell) for cell in cells)
    has_points = any(re.fullmatch(r"\s*[+-]?\d+\.\d+\s*", cell) for cell in cells)
    return {"sep": best} | ({"decimal": ","} if has_commas and not has_points else {})


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
    read = read_table(chosen.data, chosen.target, chosen.task)
    table, y = split_target(read, chosen.target, chosen.data)
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


def columns_for(known: FittedModel, table: Any, path: str) -> Any:
    """The columns that a model was fitted to, in its order."""
    names = known.columns.keys or known.columns.inputs
    if not known.has_names:
        if table.shape[1] != len(names):
            raise UsageError(f"{path} has {table.shape[1]} columns, and the model takes {len(names)} without names.")
        return table.to_numpy()
    missing = [name for name in names if name not in table.columns]
    if missing:
        shown = ", ".join(repr(str(name)) for name in missing[:5]) + (", ..." if len(missing) > 5 else "")
        raise UsageError(f"{path} lacks {'columns' if len(missing) > 1 else 'the column'} {shown} of the model.")
    return table[list(names)]
