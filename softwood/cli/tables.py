"""Tables from files, targets, and columns as a model wants them."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softwood.cli.errors import CommandError, UsageError
from softwood.core.csv_files import frames_of, parse_labels
from softwood.core.extras import require
from softwood.core.frames import Frame
from softwood.core.tables import is_missing_value

if TYPE_CHECKING:
    from softwood.fitted import FittedModel

SUFFIXES = (".csv", ".csv.gz", ".parquet")
# Whole numbers with more different values than this are targets of regression.
MOST_CLASSES = 20
# What separates columns; the first one of those that give the most columns.
SEPARATORS = (",", ";", "\t", "|")
# Bytes of a file that show how it is written.
_HEAD = 1 << 16


def read_table(path: str, target: str | None = None, task: str | None = None, classes: Any = None) -> Frame:
    """A table from a file, or from standard input if the path is ``-``.

    Parameters
    ----------
    target : column of labels or targets, if there is one; see `parse_labels`
    task, classes : kind of problem, and the classes of a fitted model, where they are known
    """
    name = "standard input" if path == "-" else path
    check_path(path)
    with reading(name):
        if path.lower().endswith(".parquet"):
            table = Frame.from_arrow(parquet().read_table(path))
        else:
            content = sys.stdin.buffer.read() if path == "-" else None
            head = _head(path) if content is None else content[:_HEAD]
            if not head.strip():
                raise CommandError(f"{name} is empty.")
            with open_text(path, content) as file:
                found = list(frames_of(file, **_options(head), as_text=() if target is None else (target,)))
            table = found[0] if found else Frame({})
    if len(table) == 0:
        raise CommandError(f"{name} has no rows.")
    if target is None or target not in table.columns or path.lower().endswith(".parquet"):
        return table
    labels, named = parse_labels(table[target], task, classes)
    if named:
        words = f"{', '.join(map(repr, named))} in column {target!r} is a class"
        print(f"{words}; leave the cells of rows without one empty", file=sys.stderr)
    return Frame({column: labels if column == target else table[column] for column in table.columns})


def check_path(path: str) -> None:
    """Raise an error unless there is a file of a kind that can be read."""
    if path != "-":
        if not Path(path).exists():
            raise CommandError(f"there is no file {path!r}.")
        if not path.lower().endswith(SUFFIXES):
            raise UsageError(f"{path!r} must end in one of {', '.join(SUFFIXES)}.")


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Name the file in errors of its content, its compression, or the disk."""
    try:
        yield
    except (ValueError, OSError, EOFError) as error:
        raise CommandError(f"{name} cannot be read: {error}") from None


def parquet() -> Any:
    """The module that reads Parquet files."""
    return require("pyarrow.parquet", "cli", "Reading Parquet files")


def is_empty(path: str) -> bool:
    """Whether there is nothing in a CSV file."""
    return not path.lower().endswith(".parquet") and not _head(path).strip()


def open_text(path: str, content: bytes | None = None) -> io.TextIOWrapper:
    """The text of a file, or of its content."""
    raw: Any = io.BytesIO(content) if content is not None else (gzip.open if _is_gzip(path) else open)(path, "rb")
    return io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")


def _is_gzip(path: str) -> bool:
    return path.lower().endswith(".gz")


def is_missing(values: np.ndarray) -> np.ndarray:
    """Which cells of a column are missing, (n_rows,) bool."""
    if values.dtype.kind in "biu":
        return np.zeros(len(values), dtype=bool)
    return np.array([is_missing_value(value) for value in values], dtype=bool)


def separator_of(path: str) -> str:
    """What separates the columns of a CSV file."""
    return _options(_head(path)).get("separator", ",")


def in_pandas(path: str, table: Frame | None = None, **more: Any) -> str:
    """Python that reads a table as `read_table` does, with further options, for the output of ``--verbose``."""
    if path.lower().endswith(".parquet"):
        return f"pd.read_parquet({path!r})"
    own = {"separator": "sep", "decimal": "decimal"}
    found = _options(b"" if path == "-" else _head(path))
    options = {own[name]: repr(value) for name, value in found.items()} | more
    dates = [] if table is None else [name for name in table.columns if table[name].dtype.kind == "M"]
    options |= {"parse_dates": repr(dates)} if dates else {}
    return f"pd.read_csv({', '.join([repr(path), *(f'{name}={value}' for name, value in options.items())])})"


def labels_in_pandas(path: str, target: str, y: np.ndarray) -> list[str]:
    """Python that reads labels as `read_table` does, if it takes more than reading the table."""
    if path.lower().endswith(".parquet") or not all(isinstance(label, str) for label in y.tolist()):
        return []
    name = repr(target)
    return [f"table[{name}] = {in_pandas(path, usecols=f'[{name}]', dtype='str', keep_default_na=False)}[{name}]"]


def _head(path: str) -> bytes:
    with (gzip.open if _is_gzip(path) else open)(path, "rb") as file:
        return file.read(_HEAD)


def _options(head: bytes) -> dict[str, Any]:
    """Separators of a CSV file that begins like this, as `frames_of` takes them: none for commas."""
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
    return {"separator": best} | ({"decimal": ","} if has_commas and not has_points else {})


def check_column(table: Frame, column: str, option: str, path: str) -> None:
    """Raise an error unless the table has this column; `option` is where it was named."""
    if column not in table.columns:
        shown = ", ".join(table.columns[:20]) + (", ..." if len(table.columns) > 20 else "")
        raise UsageError(f"{option}: {path} has no column {column!r}; it has {shown}.")


def split_target(table: Frame, target: str, path: str) -> tuple[Frame, np.ndarray]:
    """Rows that have a target, and these targets; a note about the others."""
    check_column(table, target, "--target", path)
    without = is_missing(table[target])
    if without.all():
        raise CommandError(f"column {target!r} of {path} has no values.")
    if without.any():
        first = int(np.argmax(without))
        print(f"{int(without.sum())} rows without {target!r} are left out, the first is row {first}", file=sys.stderr)
        table = table[~without]
    return table, table[target]


def task_of(y: np.ndarray) -> str:
    """Kind of problem by the target."""
    if y.dtype.kind not in "iuf":
        return "classification"
    n_different = len(np.unique(y[~np.isnan(y)]))
    is_few = n_different <= MOST_CLASSES and 2 * n_different <= len(y)
    return "classification" if y.dtype.kind in "iu" and is_few else "regression"


class Problem:
    """A table with a target, for fitting.

    Attributes
    ----------
    X, y, weights : features, targets, and weights or None
    task : "classification" or "regression"
    """

    def __init__(self, X: Any, y: np.ndarray, weights: np.ndarray | None, task: str) -> None:
        self.X, self.y, self.weights, self.task = X, y, weights, task

    def rows(self, chosen: np.ndarray) -> Problem:
        """Some of the rows."""
        return Problem(
            self.X[chosen], self.y[chosen], None if self.weights is None else self.weights[chosen], self.task
        )

    def smallest_class(self) -> int:
        """Number of rows of the class that has the fewest."""
        return int(np.unique(self.y, return_counts=True)[1].min())


def read_problem(chosen: Any) -> Problem:
    """The table of a command that fits models."""
    read = read_table(chosen.data, chosen.target, chosen.task)
    table, y = split_target(read, chosen.target, chosen.data)
    others = [*chosen.drop, *([] if chosen.weight is None else [chosen.weight])]
    for column in others:
        check_column(table, column, "--drop" if column in chosen.drop else "--weight", chosen.data)
    X = table.drop([chosen.target, *others])
    if X.shape[1] == 0:
        raise UsageError(f"{chosen.data} has no columns beside the target.")
    weights = None if chosen.weight is None else table[chosen.weight]
    task = chosen.task or task_of(y)
    if task == "classification" and len(set(y.tolist())) < 2:
        raise CommandError(f"column {chosen.target!r} has only one value, {y[0]!r}.")
    if task == "regression" and y.dtype.kind not in "biuf":
        raise UsageError(f"--task: column {chosen.target!r} holds no numbers.")
    return Problem(X, y, weights, task)


def columns_for(known: FittedModel, table: Frame, path: str) -> Any:
    """The columns that a model was fitted to, in its order."""
    names = list(map(str, known.columns.keys or known.columns.inputs))
    if not known.has_names and known.columns.keys is None:
        if table.shape[1] != len(names):
            raise UsageError(f"{path} has {table.shape[1]} columns, and the model takes {len(names)} without names.")
        return table.to_matrix()
    missing = [name for name in names if name not in table.columns]
    if missing:
        shown = ", ".join(map(repr, missing[:5])) + (", ..." if len(missing) > 5 else "")
        raise UsageError(f"{path} lacks {'columns' if len(missing) > 1 else 'the column'} {shown} of the model.")
    return table[names]
