"""Results on standard output, as tables for people or as JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np


def _rich(file: IO[str]) -> Any:
    """A console of rich for a terminal; None for other files, and if rich is not installed."""
    if not file.isatty():
        return None
    try:
        return import_module("rich.console").Console(file=file, highlight=False)
    except ImportError:
        return None


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str | None = None) -> None:
    """A table; columns of numbers are aligned to the right. In a terminal, rich folds long cells, if it is there."""
    lines = [[cell if isinstance(cell, str) else number(cell) for cell in row] for row in rows]
    are_numbers = [bool(lines) and all(_is_number(line[k]) for line in lines) for k in range(len(columns))]
    console = _rich(sys.stdout)
    if console is not None:
        console.print(_rich_table(columns, lines, are_numbers, title))
        return
    table = [list(columns), *lines] if any(columns) else lines
    widths = [max((len(line[k]) for line in table), default=0) for k in range(len(columns))]
    if title is not None:
        print(title)
    for line in table:
        cells = [
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(line, widths, are_numbers, strict=True)
        ]
        print("  ".join(cells).rstrip())


def _rich_table(columns: Sequence[str], lines: list[list[str]], are_numbers: list[bool], title: str | None) -> Any:
    text = import_module("rich.text").Text
    table = import_module("rich.table").Table(
        title=title, title_justify="left", box=None, pad_edge=False, header_style="bold", show_header=any(columns)
    )
    for column, is_number in zip(columns, are_numbers, strict=True):
        table.add_column(text(column), justify="right" if is_number else "left", overflow="fold")
    for line in lines:
        table.add_row(*(text(cell) for cell in line))
    return table


def _is_number(text: str) -> bool:
    first = text.split(" ")[0].replace(",", "").rstrip("%")
    try:
        float(first)
    except ValueError:
        return text in ("", "-")
    return True


def number(value: Any) -> str:
    """A number as people read it."""
    if value is None:
        return "-"
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, int | np.integer):
        return f"{int(value):,}"
    if not math.isfinite(value):
        return "-"
    size = abs(value)
    return f"{value:,.0f}" if size >= 1e3 else f"{value:.4g}"


def print_text(text: str) -> None:
    """Text as it is."""
    print(text)


def print_json(value: Any) -> None:
    """JSON with nan as null."""
    print(json.dumps(_plain(value), indent=2, ensure_ascii=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def in_python(chosen: Any, *lines: str) -> None:
    """With ``--verbose``, the Python that does the same, on standard error."""
    if chosen.verbose:
        print("# the same in Python", *lines, sep="\n", file=sys.stderr)


def working(what: str) -> AbstractContextManager:
    """Say on standard error what is being done; in a terminal, rich shows that it goes on, if it is there."""
    console = _rich(sys.stderr)
    if console is not None:
        return console.status(what)
    print(what, file=sys.stderr)
    return nullcontext()


def write_text(path: Path, text: str) -> None:
    """Write a file, all or nothing."""
    from softwood.files.atomic import replacing

    with replacing(path) as file:
        file.write(text.encode("utf-8"))
