"""``softwood describe``: what is in a table."""

from __future__ import annotations

import argparse
from typing import Any

from softwood.cli.arguments import add_data, add_general

__all__ = ["add", "run"]


def add(commands: Any) -> None:
    """Describe the arguments."""
    parser = commands.add_parser(
        "describe",
        help="columns of a table: types, missing values, categories, target candidates",
        description="List the columns of a table: their types as softwood sees them, missing values, numbers of "
        "different values, ranges or most frequent categories, and which columns could be targets.",
    )
    add_data(parser)
    add_general(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Print the columns."""
    from softwood.cli.printing import in_python, print_json, print_table
    from softwood.cli.tables import in_pandas, read_table

    table = read_table(chosen.data)
    in_python(chosen, "import pandas as pd", f"{in_pandas(chosen.data)}.describe(include='all')")
    columns = [_describe(table, name) for name in table.columns]
    if chosen.json:
        print_json({"n_rows": len(table), "n_columns": table.shape[1], "columns": columns})
        return 0
    keys = ("name", "type", "n_missing", "n_different", "values")
    rows = [[*(column[key] for key in keys), column["could_be_target"] or ""] for column in columns]
    title = f"{len(table):,} rows, {table.shape[1]:,} columns"
    print_table(("column", "type", "missing", "different", "values", "as a target"), rows, title=title)
    return 0


def _describe(table: Any, name: Any) -> dict[str, Any]:
    import pandas as pd

    from softwood.cli.printing import number
    from softwood.cli.tables import MOST_CLASSES, task_of

    column = table[name]
    known = column.dropna()
    n_different = int(known.nunique())
    found: dict[str, Any] = {"name": str(name), "n_missing": int(column.isna().sum()), "n_different": n_different}
    is_number = pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)
    is_date = pd.api.types.is_datetime64_any_dtype(column)
    task = None
    if len(known) == 0:
        kind, values = "empty", ""
    elif is_date:
        kind, values = "date", f"{known.min()} to {known.max()}"
    elif is_number:
        kind = "whole number" if pd.api.types.is_integer_dtype(column) else "number"
        values = f"{number(float(known.min()))} to {number(float(known.max()))}, median {number(float(known.median()))}"
        task = task_of(column)
        is_key = n_different == len(table) and kind == "whole number"
    else:
        kind = "truth value" if pd.api.types.is_bool_dtype(column) else "category"
        if n_different > 255:
            kind = "text"
        counts = known.value_counts()
        values = ", ".join(f"{value} {100 * n / len(known):.0f} %" for value, n in counts.head(3).items())
        values += ", ..." if n_different > 3 else ""
        task = "classification" if n_different <= 10 * MOST_CLASSES else None
    if n_different < 2 or (is_number and len(known) and is_key):
        task = None
    return found | {"type": kind, "values": values, "could_be_target": task}
