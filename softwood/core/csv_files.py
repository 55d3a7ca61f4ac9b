"""Tables from text with separators, as `Frame`; types are found as pandas finds them, and dates besides.

A column is whole numbers, numbers, truth values, dates (2020-01-31 or 2020-01-31 12:30:59), or text. Cells such as
``NA`` and empty ones are missing.
"""

from __future__ import annotations

import csv
import datetime
import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from softwood.core.dates import DATE_TEXT
from softwood.core.frames import Frame

# What pandas takes for a missing value.
MISSING = frozenset(
    {
        "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
        "NULL", "NaN", "None", "n/a", "nan", "null",
    }
)  # fmt: skip
_FLAGS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
# Rows whose cells are lists at a time; the text of the others is kept as it is in the file.
_BLOCK = 1 << 14
_END = "\0"


def frames_of(
    lines: Iterable[str],
    n_rows: int | None = None,
    *,
    separator: str = ",",
    decimal: str = ".",
    as_text: Collection[str] = (),
    only: Collection[str] | None = None,
) -> Iterator[Frame]:
    r"""Tables of at most `n_rows` rows of a file; one with all of them if it is None.

    Parameters
    ----------
    lines : the file, with ends of lines, as ``open(path, newline="")`` gives it
    separator, decimal : what separates columns, and the digits of a number
    as_text : columns whose cells remain text, empty ones too
    only : columns to return; None: all of them

    Raises
    ------
    ValueError
        If the text is not a table.

    Examples
    --------
    >>> from softwood.core.csv_files import frames_of
    >>> (table,) = frames_of(["size,city,day\n", "1.5,Rome,2020-01-31\n", ",Oslo,2020-02-01\n"])
    >>> [str(dtype) for dtype in table.dtypes]
    ['float64', 'object', 'datetime64[us]']
    """
    reader = csv.reader(lines, delimiter=separator, strict=True)
    try:
        names = next((row for row in reader if row), None)
        if names is None:
            return
        names = _titles(names)
        for texts in _blocks(reader, len(names), n_rows):
            columns = {}
            for name, text in zip(names, texts, strict=True):
                if only is not None and name not in only:
                    continue
                cells = text.split(_END)
                is_text = name in as_text
                columns[name] = np.array(cells, dtype=object) if is_text else parse_column(cells, text, decimal)
            yield Frame(columns)
    except csv.Error as error:
        raise ValueError(f"line {reader.line_num}: {error}") from None


def _titles(names: list[str]) -> list[str]:
    """Names of the columns; one without a name is named by its number."""
    names = [name or f"Unnamed: {k}" for k, name in enumerate(names)]
    names[0] = names[0].removeprefix("\ufeff")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"there are {names.count(twice)} columns with the name {twice!r}; rename them")
    return names


def _blocks(reader: Any, width: int, n_rows: int | None) -> Iterator[list[str]]:
    """The cells of each column in one text, for every `n_rows` rows."""
    rows = (row for row in reader if row)
    while True:
        parts: list[tuple[str, ...]] = []
        n_left = n_rows
        while n_left is None or n_left > 0:
            some = list(islice(rows, _BLOCK if n_left is None else min(n_left, _BLOCK)))
            if not some:
                break
            for k, row in enumerate(some):
                if len(row) > width:
                    line = reader.line_num - len(some) + k + 1
                    raise ValueError(f"about line {line} there are {len(row)} cells, and {width} columns")
                if len(row) < width:
                    row += [""] * (width - len(row))
            columns = zip(*some, strict=True)
            parts.append(tuple(_END.join(cells) for cells in columns))
            if any(text.count(_END) != len(some) - 1 for text in parts[-1]):
                raise ValueError("it holds a zero byte, and is no text")
            n_left = None if n_left is None else n_left - len(some)
        if not parts:
            return
        yield [_END.join(texts) for texts in zip(*parts, strict=True)]
        if n_rows is None:
            return


def parse_column(cells: list[str], text: str = "", decimal: str = ".") -> np.ndarray:
    """The cells of a column as numbers, truth values, dates or text; nan, NaT or None where missing.

    Parameters
    ----------
    text : all cells in one text, if the caller has it
    """
    text = text or _END.join(cells)
    known = [cell for cell in cells if cell not in MISSING]
    if not known:
        return np.full(len(cells), np.nan)
    if "_" not in text and text.isascii():  # Python reads 1_000 as a number
        numbers = _numbers(cells, known, decimal)
        if numbers is not None:
            return numbers
    if all(cell in _FLAGS for cell in known):
        flags = [_FLAGS.get(cell) for cell in cells]
        return np.array(flags, dtype=bool if len(known) == len(cells) else object)
    dates = _dates(cells, known)
    if dates is not None:
        return dates
    same: dict[str, str | None] = dict.fromkeys(MISSING)  # equal text is kept once
    return np.array([same.setdefault(cell, cell) for cell in cells], dtype=object)


def _numbers(cells: list[str], known: list[str], decimal: str) -> np.ndarray | None:
    if decimal != ".":
        known = [cell.replace(decimal, ".") for cell in known]
    if len(known) == len(cells):
        try:
            return np.array(list(map(int, known)), dtype=np.int64)
        except (ValueError, OverflowError):
            pass
    try:
        values = np.array(list(map(float, known)))
    except ValueError:
        return None
    if len(known) == len(cells):
        return values
    out = np.full(len(cells), np.nan)
    out[[cell not in MISSING for cell in cells]] = values
    return out


def _dates(cells: list[str], known: list[str]) -> np.ndarray | None:
    """Dates, if all are, with or without a time zone."""
    if not DATE_TEXT.fullmatch(known[0]) or not all(map(DATE_TEXT.fullmatch, known)):
        return None
    try:
        read = [None if cell in MISSING else datetime.datetime.fromisoformat(cell) for cell in cells]
    except ValueError:  # such as February 30
        return None
    zones = {date.tzinfo is not None for date in read if date is not None}
    if len(zones) > 1:
        return None
    if zones == {False}:
        return np.array(read, dtype="M8[us]")
    return np.array([None if date is None else date.astimezone(datetime.UTC) for date in read], dtype=object)


def parse_labels(texts: np.ndarray, task: str | None = None, classes: Any = None) -> tuple[np.ndarray, list[str]]:
    """Labels or targets: numbers or truth values if nothing is lost by that, otherwise the text of the file.

    A label such as "003" is text, and so is "NA" among labels that are text; then only an empty cell has no label.

    Parameters
    ----------
    texts : cells of the column
    task, classes : kind of problem, and the classes of a fitted model, where they are known

    Returns
    -------
    the labels, None or nan where there is none, and words such as "NA" that are labels
    """
    cells = texts.tolist()
    found = parse_column(cells)
    known = [cell for cell in cells if cell.strip() and cell not in MISSING]
    if classes is not None:
        is_text = all(isinstance(label, str) for label in classes)
    elif not known:
        is_text = task != "regression"
    elif found.dtype.kind in "if":
        has_zeros = any(re.match(r"\s*[+-]?0\d", cell) for cell in known)
        is_merged = task == "classification" and len(set(known)) > len(set(found[~np.isnan(found)].tolist()))
        is_text = task != "regression" and (has_zeros or is_merged)
    else:
        is_text = not all(cell in _FLAGS for cell in known)
    if not is_text:
        return found, []
    named = sorted({cell for cell in cells if cell.strip() and cell in MISSING})
    return np.array([cell if cell.strip() else None for cell in cells], dtype=object), named
