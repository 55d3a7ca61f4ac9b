"""The command ``softwood``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from softwood import __version__
from softwood.compiling import FAMILIES, compile_loops

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
    return int(chosen.run(parser, chosen))


def _run_demo(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> int:
    if chosen.output.suffix not in _FORMATS:
        parser.error(f"--output: {str(chosen.output)!r} must end in one of {', '.join(_FORMATS)}.")
    if not chosen.output.parent.is_dir():
        parser.error(f"--output: there is no folder {str(chosen.output.parent)!r}.")

    from softwood.demo import run_demo  # here, so that --help and --version answer at once

    run_demo(chosen.output, chosen.seed)
    return 0


def _run_compile(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> int:
    for family in chosen.families:
        if family not in FAMILIES:
            parser.error(f"FAMILY: there is no {family!r}; choose from {', '.join(FAMILIES)}.")
    if chosen.jobs is not None and chosen.jobs < 1:
        parser.error(f"--jobs: must be at least 1, got {chosen.jobs}.")
    return compile_loops(chosen.families, chosen.jobs)


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
        help="file of the figure (default %(default)s)",
    )
    demo.add_argument("--seed", type=int, default=0, help="seed of the split and the models (default %(default)s)")
    demo.set_defaults(run=_run_demo)
    families = "\n".join(f"  {name:<17} {meaning}" for name, meaning in FAMILIES.items())
    compiling = commands.add_parser(
        "compile",
        help="compile the inner loops beforehand, for container images and continuous integration",
        description="Compile the inner loops of some or all families and keep them on disk, so that first fits are\n"
        "fast. Small models of all kinds are fitted in several processes. NUMBA_CACHE_DIR sets the folder.",
        epilog=f"families:\n{families}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    compiling.add_argument("families", nargs="*", metavar="FAMILY", help="what to compile (default: all)")
    compiling.add_argument("-j", "--jobs", type=int, metavar="N", help="processes (default: one for each core)")
    compiling.set_defaults(run=_run_compile)
    return parser
