"""Files of results: a CSV line for every finished run, with the version of softwood that made it.

Comparisons and reproductions of papers append a line as soon as a run is finished, and skip what has its line. Pages
are written from the lines, between markers. ``scripts/stale.py`` repeats some lines, and lists those whose figures are
not those of the present code.
"""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import softwood

__all__ = ["Results", "oldest", "present_version", "write_sections"]

VERSION = "version"


@dataclass(frozen=True)
class Results:
    """The columns of a file of results, with their types (str, int or float).

    Attributes
    ----------
    about : what a line is about; lines that agree in these columns are of the same run
    figures : what was measured
    """

    about: dict[str, type]
    figures: dict[str, type]

    def read(self, path: Path) -> list[dict[str, Any]]:
        """All lines; empty numbers are nan."""
        if not path.exists():
            return []
        types = {**self.about, **self.figures}
        with path.open(newline="", encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))
        return [{name: _value(text, types.get(name, str)) for name, text in row.items()} for row in rows]

    def place(self, row: dict[str, Any]) -> tuple[Any, ...]:
        """What a line is about."""
        return tuple(row[name] for name in self.about)

    def done(self, path: Path) -> set[tuple[Any, ...]]:
        """What the lines of the file are about."""
        return {self.place(row) for row in self.read(path)}

    def append(self, path: Path, rows: Iterable[dict[str, Any]]) -> None:
        """Add lines of the present code, in a single write, so that processes can share the file."""
        lines = [{VERSION: present_version(), **row} for row in rows]
        self._write(path, lines, mode="a" if path.exists() else "w")

    def write(self, path: Path, rows: Iterable[dict[str, Any]]) -> None:
        """Replace all lines."""
        self._write(path, rows, mode="w")

    def _write(self, path: Path, rows: Iterable[dict[str, Any]], mode: str) -> None:
        names = [*self.about, *self.figures, VERSION]
        with path.open(mode, newline="", encoding="utf-8", buffering=1 << 20) as out:
            writer = csv.DictWriter(out, names, lineterminator="\n")
            if mode == "w":
                writer.writeheader()
            writer.writerows({name: _text(row[name]) for name in names} for row in rows)


def _value(text: str, kind: type) -> Any:
    return kind(text or "nan") if kind is float else kind(text)


def _text(value: Any) -> Any:
    if isinstance(value, float):
        return "" if value != value else f"{value:.6g}"
    return value


@cache
def present_version() -> str:
    """Version of softwood; in a git repository with day and name of the last commit that changed the package."""
    root = Path(__file__).resolve().parents[1]
    command = ["git", "-C", str(root), "log", "-1", "--format=%cd.%h", "--date=format:%Y%m%d", "--", "softwood"]
    try:
        commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = ""
    return f"{softwood.__version__}+{commit}" if commit else softwood.__version__


def oldest(rows: Iterable[dict[str, Any]]) -> str:
    """A sentence for a page: the versions that made its lines."""
    versions = sorted({row[VERSION] for row in rows}, key=_order)
    made = f"softwood {versions[0]}" + (f" to {versions[-1]}" if len(versions) > 1 else "")
    return f"Results of {made}; `python scripts/stale.py` lists those that the present code would change."


def _order(version: str) -> tuple[tuple[int, ...], str]:
    release, _, commit = version.partition("+")
    return tuple(int(part) for part in release.split(".") if part.isdigit()), commit


def write_sections(page: Path, sections: dict[str, str], script: str, rows: Iterable[dict[str, Any]] = ()) -> None:
    """Put texts between the markers of the sections of a page, and the versions of the lines that they are made of."""
    rows = list(rows)
    wanted = {**({"versions": oldest(rows)} if rows else {}), **sections}
    marks = {title: (f"<!-- {title}: begin, written by {script} -->", f"<!-- {title}: end -->") for title in wanted}
    text = page.read_text(encoding="utf-8") if page.exists() else "\n".join(f"{a}\n{b}\n" for a, b in marks.values())
    for title, (begin, end) in marks.items():
        if begin not in text or end not in text:
            raise SystemExit(f"{page} has no place for {title}: the lines {begin!r} and {end!r}.")
        head, rest = text.split(begin, 1)
        text = f"{head}{begin}\n\n{wanted[title]}\n\n{end}{rest.split(end, 1)[1]}"
    page.write_text(text, encoding="utf-8")
