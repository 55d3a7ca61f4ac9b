"""Results on standard output, as tables for people or as JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from softwood.core.extras import require

__all__ = ["in_python", "number", "print_json", "print_table", "print_text", "working", "write_text"]

# Width of tables if the output is no terminal.
WIDTH = 160


def _console(*, is_error: bool = False) -> Any:
    file = sys.stderr if is_error else sys.stdout
    width = None if file.isatty() else WIDTH
    return require("rich.console", "cli", "Printing tables").Console(file=file, width=width, highlight=False)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str | None = None) -> None:
    """A table; columns of numbers are aligned to the right."""
    rich = require("rich.table", "cli", "Printing tables")
    text = require("rich.text", "cli", "Printing tables").Text
    lines = [[cell if isinstance(cell, str) else number(cell) for cell in row] for row in rows]
    table = rich.Table(
        title=title, title_justify="left", box=None, pad_edge=False, header_style="bold", show_header=any(columns)
    )
    for k, column in enumerate(columns):
        is_number = bool(lines) and all(_is_number(line[k]) for line in lines)
        table.add_column(text(column), justify="right" if is_number else "left", overflow="fold")
    for line in lines:
        table.add_row(*(text(cell) for cell in line))
    _console().print(table)


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
    """Say on standard error what is being done; a terminal shows that it goes on."""
    if sys.stderr.isatty():
        return _console(is_error=True).status(what)
    print(what, file=sys.stderr)
    return nullcontext()


def write_text(path: Path, text: str) -> None:
    """Write a file, all or nothing."""
    from softwood.files.atomic import replacing

    with replacing(path) as file:
        file.write(text.encode("utf-8"))
