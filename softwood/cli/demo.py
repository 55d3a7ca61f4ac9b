"""``softwood demo``: a few models on data that comes with scikit-learn."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from softwood.cli.arguments import check_output

__all__ = ["add", "run"]

FORMATS = (".png", ".pdf", ".svg", ".jpg")


def add(commands: Any) -> None:
    """Describe the arguments."""
    parser = commands.add_parser(
        "demo",
        help="compare a few models on data that comes with scikit-learn",
        description="Fit a CART, kernel trees and a forest to data that comes with scikit-learn; print a table of "
        "their accuracy, size and time, and save a figure of their decision surfaces.",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("softwood-demo.png"),
        metavar="FILE",
        help="file of the figure (default %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the split and the models (default %(default)s)")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Run the demo."""
    check_output(chosen.output, FORMATS)
    from softwood.demo import run_demo

    run_demo(chosen.output, chosen.seed)
    return 0
