"""Streams of all kinds as blocks of rows: generators, arrays, data frames, files, and iterators of (x, y)."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import sys
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from softwood.core.csv_files import frames_of
from softwood.core.extras import require
from softwood.core.frames import Frame
from softwood.core.parameters import parameter_error
from softwood.core.tables import is_missing_value, refuse_lazy

_OWNER = "prequential"  # whose parameters the errors are about
_SUFFIXES = (".csv", ".csv.gz", ".parquet")


@dataclass(frozen=True)
class Block:
    """Some rows of a stream, one after the other.

    Attributes
    ----------
    rows : (n, n_features) array or data frame (pandas, polars), or a list of n dicts
    y : (n,) labels or targets
    """

    rows: Any
    y: np.ndarray

    def __len__(self) -> int:
        return len(self.y)

    def part(self, begin: int, end: int) -> Block:
        """The rows from `begin` up to `end`, without it."""
        rows = self.rows.iloc[begin:end] if hasattr(self.rows, "iloc") else self.rows[begin:end]
        return Block(rows, self.y[begin:end])


@dataclass(frozen=True)
class Source:
    """A stream that was opened.

    Attributes
    ----------
    blocks : the rows, to be read once
    n_samples : number of rows, None if it is not known before they are read
    find_classes : returns the labels that may occur, or None if they are not known; a table is searched for them
    feature_names : names of the columns of blocks that are arrays, None if they have none
    """

    blocks: Iterator[Block]
    n_samples: int | None = None
    find_classes: Callable[[], np.ndarray | None] = lambda: None
    feature_names: tuple[Hashable, ...] | None = None


def open_stream(
    stream: Any,
    *,
    target: Hashable | None = None,
    block_size: int = 1000,
    max_samples: int | None = None,
    has_text_labels: bool = False,
) -> Source:
    """Open a stream and read it in blocks of at most `block_size` rows.

    Nothing is read beyond the block that is asked for. Files are never in memory as a whole, and blocks of arrays and
    frames are parts of them, not copies.

    Parameters
    ----------
    stream : any of these

        - stream of softwood, or the like: ``blocks(n_samples, block_size)`` gives pairs of X and codes of its
          ``classes``; without an end, it needs `max_samples`
        - tuple (X, y) of arrays or data frames, rows in the order of time
        - data frame (pandas, polars) with a column `target`
        - path to a .csv, .csv.gz or .parquet file with a column `target`, or "-" for CSV on standard input
        - iterable of pairs (x, y), x a dict or a row of numbers, such as the data sets of river

    target : name of the column to be predicted, of files and frames
    block_size : most rows of a block
    max_samples : most rows to read; None: all of them
    has_text_labels : whether the targets of a CSV file are text, also where they look like numbers or missing values

    Examples
    --------
    >>> import numpy as np
    >>> from softwood.stream.evaluation.sources import open_stream
    >>> source = open_stream((np.zeros((5, 2)), np.arange(5)), block_size=2)
    >>> source.n_samples, [block.y.tolist() for block in source.blocks]
    (5, [[0, 1], [2, 3], [4]])
    """
    for table in stream if isinstance(stream, tuple) else (stream,):
        refuse_lazy(table, "stream", _OWNER)
    is_file = isinstance(stream, str | os.PathLike)
    if target is None and (is_file or _is_frame(stream)):
        raise parameter_error(_OWNER, "target", f"the name of a column of the {'file' if is_file else 'frame'}", target)
    if target is not None and not (is_file or _is_frame(stream)):
        raise parameter_error(_OWNER, "target", "None for a stream that is neither a file nor a frame", target)
    if is_file:
        source = _open_file(Path(stream).expanduser(), target, block_size, max_samples, has_text_labels)
    elif _is_frame(stream):
        X, y = _split_frame(stream, target)
        source = _open_table(X, y, block_size, max_samples)
    elif hasattr(stream, "blocks"):
        source = _open_generator(stream, block_size, max_samples)
    elif isinstance(stream, tuple) and len(stream) == 2:
        source = _open_table(*stream, block_size, max_samples)
    elif isinstance(stream, Iterable) and not isinstance(stream, np.ndarray | Mapping):
        source = _open_pairs(stream, block_size, max_samples)
    else:
        raise parameter_error(
            _OWNER,
            "stream",
            "a generator, a tuple (X, y), a data frame, the path of a file, or an iterable of (x, y)",
            stream,
        )
    return replace(source, blocks=_checked(source.blocks))


def _checked(blocks: Iterator[Block]) -> Iterator[Block]:
    """The blocks that have rows, with their lengths and targets checked."""
    n_before = 0
    for block in blocks:
        n = len(block)
        if len(block.rows) != n:
            raise ValueError(f"X and y must have as many rows. Got {len(block.rows)} rows of X and {n} of y.")
        if block.y.ndim != 1:
            raise ValueError(f"y must have one dimension. Got the shape {block.y.shape}.")
        if block.y.dtype.kind in "fO":
            is_missing = (
                [is_missing_value(value) for value in block.y] if block.y.dtype == object else np.isnan(block.y)
            )
            if np.any(is_missing):
                raise ValueError(f"Every row needs a target. Row {n_before + int(np.argmax(is_missing))} has none.")
        if n:
            yield block
        n_before += n
    if n_before == 0:
        raise ValueError("The stream is empty: there is not one row in it.")


def _open_generator(stream: Any, block_size: int, max_samples: int | None) -> Source:
    """A stream of softwood: it has codes of the classes, and may be finite."""
    n_samples = getattr(stream, "n_samples", None)
    if n_samples is not None:
        n_left = n_samples - getattr(stream, "position", 0)
        max_samples = n_left if max_samples is None else min(max_samples, n_left)
    if max_samples is None:
        raise parameter_error(_OWNER, "max_samples", "an int for a stream without end", max_samples)
    classes = getattr(stream, "classes", None)
    labels = None if classes is None else np.asarray(classes)
    names = getattr(stream, "feature_names", None)
    blocks = (
        Block(np.asarray(X, dtype=np.float64), np.asarray(y) if labels is None else labels[y])
        for X, y in stream.blocks(max_samples, block_size)
    )
    return Source(blocks, max_samples, lambda: labels, None if names is None else tuple(names))


# ---------------------------------------------------------------- tables in memory


def _is_frame(table: Any) -> bool:
    return hasattr(table, "columns") and (
        isinstance(table, Frame) or hasattr(table, "iloc") or hasattr(table, "get_column")
    )


def _split_frame(frame: Any, target: Hashable | None) -> tuple[Any, Any]:
    """Columns to predict from, and the target."""
    names = list(frame.columns)
    if target not in names:
        shown = ", ".join(repr(name) for name in names[:20]) + (", …" if len(names) > 20 else "")
        raise ValueError(f"There is no target column {target!r}. The columns are {shown}.")
    if isinstance(frame, Frame):
        return frame.drop([str(target)]), frame[str(target)]
    return (frame.drop(columns=target) if hasattr(frame, "iloc") else frame.drop(target)), frame[target]


def _open_table(X: Any, y: Any, block_size: int, max_samples: int | None) -> Source:
    if not (_is_frame(X) or (isinstance(X, Sequence) and len(X) and isinstance(X[0], Mapping))):
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, a row for each sample. Got the shape {X.shape}.")
    targets = _targets(y)
    n = len(targets) if targets.ndim else 0
    if len(X) != n:
        raise ValueError(f"X and y must have as many rows. Got {len(X)} rows of X and {n} of y.")
    n = n if max_samples is None else min(n, max_samples)
    blocks = (
        Block(_numbers(_rows(X, start, min(start + block_size, n))), targets[start : min(start + block_size, n)])
        for start in range(0, n, block_size)
    )
    return Source(blocks, n, lambda: _unique(targets))


def _rows(table: Any, start: int, stop: int) -> Any:
    """Rows start to stop of an array, a frame or a list, as a view."""
    return table.iloc[start:stop] if hasattr(table, "iloc") else table[start:stop]


def _numbers(rows: Any) -> Any:
    """Arrays of numbers as float64; frames, dicts and arrays of text as they are."""
    return rows.astype(np.float64, copy=False) if isinstance(rows, np.ndarray) and rows.dtype.kind in "fiub" else rows


def _unique(y: np.ndarray) -> np.ndarray | None:
    """The different labels in order; None if they cannot be put in order."""
    try:
        return np.unique(y)
    except TypeError:
        return None


def _targets(y: Any) -> np.ndarray:
    """Targets as an array, of the narrowest type that holds them, so that 1 and "1" stay apart."""
    array = np.asarray(y)
    if array.dtype == object or (array.dtype.kind in "US" and isinstance(y, list)):
        values = list(y) if isinstance(y, list) else array.tolist()
        if any(isinstance(value, str) for value in values) and not all(isinstance(value, str) for value in values):
            array = np.empty(len(values), dtype=object)
            array[:] = values
        elif not any(is_missing_value(value) for value in values):
            array = np.asarray(values)
    return array


# ---------------------------------------------------------------- files


def _open_file(
    path: Path, target: Hashable | None, block_size: int, max_samples: int | None, has_text_labels: bool
) -> Source:
    name = path.name.lower()
    if str(path) != "-" and not path.exists():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    if str(path) != "-" and not name.endswith(_SUFFIXES):
        raise ValueError(f"The name of a file must end with {', '.join(_SUFFIXES)}. Got {path.name!r}.")
    if name.endswith(".parquet"):
        parquet = require("pyarrow.parquet", "streams", "Reading a Parquet file")
        # Without these two options whole row groups are read, and a file may be one group.
        file = parquet.ParquetFile(path, buffer_size=1 << 16, pre_buffer=False)
        n_samples = file.metadata.num_rows
        n_samples = n_samples if max_samples is None else min(n_samples, max_samples)
        frames = (_for_models(Frame.from_arrow(batch)) for batch in file.iter_batches(batch_size=block_size))
        return Source(_file_blocks(frames, file, target, max_samples), n_samples)
    text: Any = _LiveLines(sys.stdin.fileno()) if name == "-" else _open_text(path)
    as_text = [str(target)] if has_text_labels else []
    frames = (
        _for_models(_with_labels(frame, target) if has_text_labels else frame)
        for frame in frames_of(text, block_size, as_text=as_text)
    )
    return Source(_file_blocks(frames, text, target, max_samples))


def _open_text(path: Path) -> io.TextIOWrapper:
    opened: Any = gzip.open(path) if path.name.lower().endswith(".gz") else open(path, "rb")  # noqa: SIM115
    return io.TextIOWrapper(opened, encoding="utf-8-sig", newline="")


def _for_models(frame: Frame) -> Any:
    """The frame of pandas, if it is installed, for models that are not softwood's."""
    try:
        import pandas as pd
    except ImportError:
        return frame
    return pd.DataFrame({name: frame[name] for name in frame.columns})


def _with_labels(frame: Frame, target: Hashable) -> Frame:
    """The frame with None for empty labels."""
    labels = {name: np.where(frame[name] == "", None, frame[name]) for name in frame.columns if name == target}
    return Frame({name: labels.get(name, frame[name]) for name in frame.columns})


class _LiveLines:
    """Lines of a file that is still being written, as they arrive; other readers wait until their buffer is full.

    Parameters
    ----------
    descriptor : of the file
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __iter__(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8-sig")()
        rest = ""
        while data := os.read(self._descriptor, 1 << 16):
            *lines, rest = (rest + decoder.decode(data)).split("\n")
            for line in lines:
                yield line + "\n"
        rest += decoder.decode(b"", final=True)
        if rest:
            yield rest

    def __enter__(self) -> _LiveLines:
        return self

    def __exit__(self, *_: Any) -> None:
        """The file stays open."""


def _file_blocks(frames: Iterable[Any], file: Any, target: Hashable, max_samples: int | None) -> Iterator[Block]:
    n_left = max_samples
    with file:
        for frame in frames:
            X, y = _split_frame(frame if n_left is None else frame[:n_left], target)
            yield Block(X, _targets(y))
            if n_left is not None:
                n_left -= len(X)
                if n_left <= 0:
                    return


# ---------------------------------------------------------------- pairs of (x, y)


def _open_pairs(stream: Iterable[Any], block_size: int, max_samples: int | None) -> Source:
    n_samples = getattr(stream, "n_samples", None)  # of the data sets of river
    n_samples = n_samples if isinstance(n_samples, int) else len(stream) if isinstance(stream, Sequence) else None
    if n_samples is not None and max_samples is not None:
        n_samples = min(n_samples, max_samples)
    return Source(_pair_blocks(islice(stream, max_samples), block_size), n_samples)


def _pair_blocks(pairs: Iterator[Any], block_size: int) -> Iterator[Block]:
    n_before = 0
    while some := list(islice(pairs, block_size)):
        for i, pair in enumerate(some, start=n_before):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ValueError(f"The stream must be made of pairs (x, y). Entry {i} is {pair!r}.")
        rows = [x for x, _ in some]
        y = _targets([label for _, label in some])
        if not all(isinstance(x, Mapping) for x in rows):
            rows = _stacked(rows, n_before)
        yield Block(rows, y)
        n_before += len(some)


def _stacked(rows: list[Any], n_before: int) -> Any:
    """Rows of numbers as one matrix."""
    arrays = []
    for i, x in enumerate(rows, start=n_before):
        try:
            arrays.append(np.asarray(x, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise ValueError(f"x must be a dict or a row of numbers. In pair {i} it is {x!r}.") from error
        if arrays[-1].ndim != 1 or len(arrays[-1]) != len(arrays[0]):
            raise ValueError(
                f"x must be a dict or a row of numbers, as many in each. In pair {i} its shape is {arrays[-1].shape}"
                + (f", and in pair {n_before} {arrays[0].shape}." if arrays[0].ndim == 1 else ".")
            )
    return np.stack(arrays)


# ---------------------------------------------------------------- rows as the model wants them


class RowReader:
    """Blocks as a table, for models that take tables, or as dicts, for models that take one dict after the other.

    Parameters
    ----------
    feature_names : names of the columns of arrays; None: river's way, their numbers
    """

    def __init__(self, feature_names: Sequence[Hashable] | None = None) -> None:
        self._names = feature_names
        self._keys: tuple[Hashable, ...] | None = None  # of dicts, as the first block has them
        self._is_frame = False
        self._has_warned = False

    def table(self, block: Block) -> Any:
        """Rows as an array or a data frame, (n, n_features).

        Dicts become columns in the order in which their keys are first seen, nan where a key is missing; a frame if
        some values are not numbers. A table cannot grow, so keys that come after the first block are left out, with a
        warning.
        """
        if not isinstance(block.rows, list):
            return block.rows
        if self._keys is None:
            self._keys = tuple(dict.fromkeys(chain.from_iterable(block.rows)))
            self._is_frame = not all(_is_number(value) for row in block.rows for value in row.values())
        elif not self._has_warned:
            self._warn_of_new_keys(block.rows)
        keys = self._keys
        if self._is_frame:
            return _for_models(Frame({str(key): _column([row.get(key) for row in block.rows]) for key in keys}))
        try:
            return np.array([[_or_nan(row.get(key)) for key in keys] for row in block.rows], dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Values that were numbers in the first block are so no longer: {error}.") from error

    def dicts(self, block: Block) -> list[Any]:
        """Rows as dicts, by name of the column."""
        rows = block.rows
        if isinstance(rows, list):
            return rows
        if hasattr(rows, "iloc"):
            return rows.to_dict("records")
        if hasattr(rows, "to_dicts"):
            return rows.to_dicts()
        names = range(rows.shape[1]) if self._names is None else self._names
        return [dict(zip(names, row, strict=True)) for row in rows.tolist()]

    def _warn_of_new_keys(self, rows: list[Any]) -> None:
        assert self._keys is not None
        known = set(self._keys)
        new = [key for key in dict.fromkeys(chain.from_iterable(rows)) if key not in known]
        if new:
            warnings.warn(
                f"Keys that were not in the first block are left out: {', '.join(map(repr, new[:5]))}"
                f"{', …' if len(new) > 5 else ''}. A larger block_size lets the first block see more keys.",
                stacklevel=2,
            )
            self._has_warned = True


def _column(cells: list[Any]) -> np.ndarray:
    """Cells of a column, as numbers if all of them are."""
    if all(_is_number(cell) and not isinstance(cell, bool | np.bool_) for cell in cells):
        return np.array([_or_nan(cell) for cell in cells], dtype=np.float64)
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def _or_nan(value: Any) -> Any:
    return np.nan if value is None else value


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, int | float | np.number | np.bool_)
