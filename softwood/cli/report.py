"""``softwood report``: an interactive page about a saved model."""

from __future__ import annotations

import argparse
from typing import Any

from softwood.cli.arguments import add_general, add_model, add_number, add_output, add_target, check_output
from softwood.cli.errors import CommandError, UsageError


def add(commands: Any) -> None:
    """Describe the arguments."""
    parser = commands.add_parser(
        "report",
        help="an interactive page about a saved model, in one HTML file",
        description="Write one HTML file with sliders for the columns of a saved model; predictions and explanations "
        "are computed in the browser.",
    )
    add_model(parser)
    parser.add_argument(
        "data", metavar="DATA", nargs="?", help="table for the ranges of the sliders (default: those of the gates)"
    )
    add_target(parser, required=False, default="that of the file of the model, if the table has it")
    add_number(parser, "--rows", 0, "rows of the table to put into the page")
    add_output(parser, "file to write, which ends in .html", required=True)
    add_general(parser, run, json=False)


def run(chosen: argparse.Namespace) -> int:
    """Write the page."""
    from softwood.cli.names import load_model
    from softwood.cli.printing import in_python, print_text
    from softwood.cli.tables import columns_for, read_table, split_target
    from softwood.files.saving import read_metadata
    from softwood.fitted import FittedModel
    from softwood.reporting.report import report

    check_output(chosen.output, (".html", ".htm"))
    if chosen.data is None and (chosen.target is not None or chosen.rows):
        raise UsageError("--target and --rows need a table.")
    if chosen.rows < 0:
        raise UsageError(f"--rows: must be at least 0, got {chosen.rows}.")
    model = load_model(chosen.model)
    known = FittedModel.of(model, "report")
    X = y = None
    words = ""
    if chosen.data is not None:
        target: Any = chosen.target or read_metadata(chosen.model).get("target")
        table = read_table(chosen.data, target, classes=known.classes)
        words = ", X=table"
        if chosen.target is not None or target in table.columns:
            table, y = split_target(table, target, chosen.data)
            table = table.drop([target])
            words += f", y=table[{target!r}]"
        X = columns_for(known, table, chosen.data)
    rows = chosen.rows or None
    words += "" if rows is None else f", rows={rows}"
    in_python(
        chosen,
        "import softwood",
        f"softwood.report(softwood.load({str(chosen.model)!r}), {str(chosen.output)!r}{words})",
    )
    try:
        made = report(model, chosen.output, X=X, y=y, rows=rows)
    except TypeError as error:
        raise CommandError(str(error)) from None
    print_text(f"{chosen.output}: {len(made.html) / 1e3:,.0f} kB")
    return 0
