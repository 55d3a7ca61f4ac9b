"""The command ``softwood``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from softwood import __version__

__all__ = ["main"]

_FORMATS = (".png", ".pdf", ".svg", ".jpg")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : words after the name of the command; None takes those of the process

    Returns
    -------
    exit status
    """
    parser = _parser()
    chosen = parser.parse_args(arguments)
    if chosen.output.suffix not in _FORMATS:
        parser.error(f"--output: {str(chosen.output)!r} must end in one of {', '.join(_FORMATS)}.")
    if not chosen.output.parent.is_dir():
        parser.error(f"--output: there is no folder {str(chosen.output.parent)!r}.")

    from softwood.demo import run_demo  # here, so that --help and --version answer at once

    run_demo(chosen.output, chosen.seed)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="softwood", description="Soft decision trees.")
    parser.add_argument("--version", action="version", version=f"softwood {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="compare a few models on data that comes with scikit-learn",
        description="Fit a CART, kernel trees and a forest to data that comes with scikit-learn; print a table of "
        "their accuracy, size and time, and save a figure of their decision surfaces.",
    )
    demo.add_argument(
        "--output",
        type=Path,
        default=Path("softwood-demo.png"),
        metavar="FILE",
        help="the figure (default %(default)s)",
    )
    demo.add_argument("--seed", type=int, default=0, help="of the split and the models (default %(default)s)")
    return parser
