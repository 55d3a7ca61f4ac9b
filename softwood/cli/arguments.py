"""Arguments that several verbs have."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

from softwood.cli.errors import UsageError


def add_data(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """The table."""
    more: dict[str, Any] = {"nargs": "?", "default": "-"} if optional else {}
    parser.add_argument("data", metavar="DATA", help=".csv, .csv.gz or .parquet file, or - for standard input", **more)


def add_model(parser: argparse.ArgumentParser) -> None:
    """A saved model."""
    parser.add_argument("model", type=Path, metavar="MODEL", help="file of a saved model")


def add_target(parser: argparse.ArgumentParser, *, required: bool = True, default: str = "") -> None:
    """The column to predict; `default` says in words what is taken if it is not given."""
    words = "column to predict" + (f" (default: {default})" if default else "")
    parser.add_argument("--target", required=required, metavar="COLUMN", help=words)


def target_of(chosen: argparse.Namespace, metadata: dict[str, Any]) -> str:
    """The column to predict: that of the command, or that of the file of a model with this metadata."""
    found = chosen.target or metadata.get("target")
    if not isinstance(found, str):
        raise UsageError("--target: no file of a model names the column to predict; give it.")
    return found


def add_columns(parser: argparse.ArgumentParser) -> None:
    """Columns that are no features, and the kind of problem."""
    parser.add_argument("--drop", nargs="+", default=[], metavar="COLUMN", help="columns to leave out")
    parser.add_argument("--weight", metavar="COLUMN", help="column with the weights of the rows")
    add_task(parser, "by the target; text, truth values and few whole numbers are classes")


def add_task(parser: argparse.ArgumentParser, default: str = "by the target") -> None:
    """The kind of problem; `default` says in words what is taken if it is not given."""
    kinds = ("classification", "regression")
    parser.add_argument("--task", choices=kinds, help=f"kind of problem (default: {default})")


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Parameters of a model."""
    parser.add_argument(
        "--set",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME=VALUE",
        help="parameters of the model, such as max_depth=4 bandwidth=0.1",
    )


def add_number(parser: argparse.ArgumentParser, name: str, default: float, what: str, metavar: str = "N") -> None:
    """A number of the type of its default, which the help shows."""
    parser.add_argument(
        name, type=type(default), default=default, metavar=metavar, help=f"{what} (default %(default)s)"
    )


def add_seed(parser: argparse.ArgumentParser, of: str = "the model and of splits") -> None:
    """Seed of everything that is random."""
    add_number(parser, "--seed", 0, f"seed of {of}", "SEED")


def add_output(parser: argparse.ArgumentParser, what: str, *, required: bool = False) -> None:
    """A file to write."""
    parser.add_argument("-o", "--output", type=Path, required=required, metavar="FILE", help=what)


def add_general(
    parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace], int], *, json: bool = True
) -> None:
    """What the verb runs, and how it prints."""
    parser.set_defaults(run=run)
    if json:
        parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--verbose", action="store_true", help="show the Python that does the same, and whole errors")


def check_output(path: Path | None, suffixes: tuple[str, ...] = ()) -> None:
    """Raise an error if a file cannot be written there, before any work is done."""
    if path is None:
        return
    if suffixes and not path.name.lower().endswith(suffixes):
        raise UsageError(f"--output: {str(path)!r} must end in one of {', '.join(suffixes)}.")
    if not path.parent.is_dir():
        raise UsageError(f"--output: there is no folder {str(path.parent)!r}.")
    if path.is_dir():
        raise UsageError(f"--output: {str(path)!r} is a folder.")


def read_settings(words: list[str]) -> dict[str, Any]:
    """Parameters from words such as ``max_depth=4``: Python literals, and text otherwise."""
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"--set: {word!r} must have the form NAME=VALUE.")
        if name in found:
            raise UsageError(f"--set: {name} is given twice.")
        try:
            found[name] = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            found[name] = text
    return found
