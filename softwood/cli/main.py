"""The entry point: arguments, exit status, and errors as one line."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from types import ModuleType

from softwood import __version__
from softwood.cli import bench, compare, demo, describe, evaluate, explain, export, fit, predict, report, show, stream
from softwood.cli.errors import CommandError

# In the order of a first session.
VERBS: tuple[ModuleType, ...] = (
    describe, fit, compare, predict, evaluate, show, explain, report, export, stream, bench, demo,
)  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : words after the name of the command; None takes those of the process

    Returns
    -------
    exit status: 0, 1 if the work failed, 2 if the command was called in a wrong way, 130 after an interrupt
    """
    chosen = _parser().parse_args(arguments)
    is_verbose = getattr(chosen, "verbose", False)
    try:
        status = int(chosen.run(chosen) or 0)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # as in: softwood predict ... | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print("softwood: interrupted", file=sys.stderr)
        return 130
    except (CommandError, ImportError, OSError, TypeError, ValueError) as error:
        if is_verbose and not isinstance(error, CommandError):
            traceback.print_exc()
        text = " ".join(_text_of(error).split())
        print(f"softwood: error: {text}", file=sys.stderr)
        return error.status if isinstance(error, CommandError) else 1


def _text_of(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="softwood",
        description="Soft decision trees: fit them to tables, compare, explain and export them, and let them learn "
        "from streams.",
        epilog="DATA is a .csv, .csv.gz or .parquet file, or - for CSV on standard input. Results go to standard "
        "output, progress to standard error.",
    )
    parser.add_argument("--version", action="version", version=f"softwood {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for verb in VERBS:
        verb.add(commands)
    return parser
