"""``softwood compile``: compile the inner loops beforehand."""

from __future__ import annotations

import argparse
from typing import Any

from softwood.cli.errors import UsageError
from softwood.compiling import FAMILIES, compile_loops

__all__ = ["add", "run"]


def add(commands: Any) -> None:
    """Describe the arguments."""
    families = "\n".join(f"  {name:<17} {meaning}" for name, meaning in FAMILIES.items())
    parser = commands.add_parser(
        "compile",
        help="compile the inner loops beforehand, for container images and continuous integration",
        description="Compile the inner loops of some or all families and keep them on disk, so that first fits are\n"
        "fast. Small models of all kinds are fitted in several processes. NUMBA_CACHE_DIR sets the folder.",
        epilog=f"families:\n{families}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("families", nargs="*", metavar="FAMILY", help="what to compile (default: all)")
    parser.add_argument("-j", "--jobs", type=int, metavar="N", help="processes (default: one for each core)")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Compile."""
    for family in chosen.families:
        if family not in FAMILIES:
            raise UsageError(f"FAMILY: there is no {family!r}; choose from {', '.join(FAMILIES)}.")
    if chosen.jobs is not None and chosen.jobs < 1:
        raise UsageError(f"--jobs: must be at least 1, got {chosen.jobs}.")
    return compile_loops(chosen.families, chosen.jobs)
