"""``softwood describe``: what is in a table."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from softwood.cli.arguments import add_data, add_general, add_target

if TYPE_CHECKING:
    import numpy as np


def add(commands: Any) -> None:
    """Describe the arguments."""
    parser = commands.add_parser(
        "describe",
        help="columns of a table: types, missing values, categories, target candidates",
        description="List the columns of a table: their types as softwood sees them, missing values, numbers of "
        "different values, ranges or most frequent categories, and which columns could be targets.",
    )
    add_data(parser)
    add_target(parser, required=False)
    add_general(parser, run)


def run(chosen: argparse.Namespace) -> int:
    """Print the columns."""
    from softwood.cli.printing import in_python, print_json, print_table
    from softwood.cli.tables import check_column, in_pandas, read_table, task_of

    table = read_table(chosen.data, chosen.target)
    in_python(chosen, "import pandas as pd", f"{in_pandas(chosen.data, table)}.describe(include='all')")
    columns = [_describe(name, table[name]) for name in table.columns]
    title = f"{len(table):,} rows, {table.shape[1]:,} columns"
    facts: dict[str, Any] = {"n_rows": len(table), "n_columns": table.shape[1]}
    if chosen.target is not None:
        check_column(table, chosen.target, "--target", chosen.data)
        own = next(column for column in columns if column["name"] == chosen.target)
        facts |= {"target": chosen.target, "task": task_of(table[chosen.target])}
        title += f"; target {chosen.target}: {facts['task']}, {own['values']}"
    if chosen.json:
        print_json({**facts, "columns": columns})
        return 0
    keys = ("name", "type", "n_missing", "n_different", "values")
    rows = [[*(column[key] for key in keys), column["could_be_target"] or ""] for column in columns]
    print_table(("column", "type", "missing", "different", "values", "as a target"), rows, title=title)
    return 0


def _describe(name: str, column: np.ndarray) -> dict[str, Any]:
    """What a column holds."""
    from collections import Counter

    import numpy as np

    from softwood.cli.printing import number
    from softwood.cli.tables import MOST_CLASSES, is_missing, task_of
    from softwood.core.dates import kind_of_cell
    from softwood.core.encoding import IDENTIFIERS

    known = column[~is_missing(column)]
    counts = Counter(known.tolist())
    n_different = len(counts)
    found: dict[str, Any] = {"name": name, "n_missing": len(column) - len(known), "n_different": n_different}
    task: str | None = None
    if n_different == 0:
        kind, values = "empty", ""
    elif column.dtype.kind in "iuf":
        kind = "number" if column.dtype.kind == "f" else "whole number"
        low, high, middle = (number(float(value)) for value in (known.min(), known.max(), np.median(known)))
        values = f"{low} to {high}, median {middle}"
        is_key = n_different == len(column) and kind == "whole number"
        task = None if is_key else task_of(column)
    elif (kind_of_cell(known[0]) if column.dtype.kind in "mMO" else None) is not None:
        kind, values = str(kind_of_cell(known[0])), f"{_short(min(counts))} to {_short(max(counts))}"
    else:
        is_flag = all(isinstance(value, bool) for value in counts)
        is_key = n_different == len(known) >= IDENTIFIERS
        kind = "truth value" if is_flag else "identifier" if is_key else "category" if n_different <= 255 else "text"
        values = ", ".join(f"{value} {100 * n / len(known):.0f} %" for value, n in counts.most_common(3))
        values += ", ..." if n_different > 3 else ""
        task = "classification" if n_different <= 10 * MOST_CLASSES and not is_key else None
    return found | {"type": kind, "values": values, "could_be_target": task if n_different > 1 else None}


def _short(date: Any) -> str:
    """A date, without a time of day that is midnight."""
    return str(date).removesuffix(" 00:00:00")
