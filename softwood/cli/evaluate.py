"""``softwood evaluate``: scores of a saved model on a table, with intervals."""

from __future__ import annotations

import argparse
from typing import Any

from softwood.cli.arguments import (
    add_data,
    add_general,
    add_model,
    add_number,
    add_seed,
    add_target,
    target_of,
)  # fmt: skip
from softwood.cli.errors import CommandError, UsageError


def add(commands: Any) -> None:
    """Describe the arguments."""
    parser = commands.add_parser(
        "evaluate",
        help="scores of a saved model on a table, with bootstrap intervals",
        description="Scores of a saved model on a table that it has not been fitted to, with intervals from bootstrap "
        "samples of the rows.",
    )
    add_model(parser)
    add_data(parser)
    add_target(parser, required=False, default="that of the file of the model")
    parser.add_argument("--weight", metavar="COLUMN", help="column with the weights of the rows")
    add_number(parser, "--draws", 200, "bootstrap samples")
    add_number(parser, "--level", 0.95, "level of the intervals", "LEVEL")
    add_seed(parser)
    add_general(parser, run)


def run(chosen: argparse.Namespace) -> int:
    """Print the scores."""
    from sklearn.base import is_regressor

    from softwood.cli import tables
    from softwood.cli.names import load_model
    from softwood.cli.printing import in_python, number, print_json, print_table
    from softwood.cli.scores import score
    from softwood.files.saving import read_metadata
    from softwood.fitted import FittedModel

    if chosen.draws < 0 or not 0.0 < chosen.level < 1.0:
        raise UsageError("--draws must be at least 0, and --level in the range (0, 1).")
    model, metadata = load_model(chosen.model), read_metadata(chosen.model)
    target = target_of(chosen, metadata)
    known = FittedModel.of(model, "evaluate")
    read = tables.read_table(chosen.data, target, classes=known.classes)
    table, y = tables.split_target(read, target, chosen.data)
    if chosen.weight is not None:
        tables.check_column(table, chosen.weight, "--weight", chosen.data)
    X = tables.columns_for(known, table if known.has_names else table.drop([target]), chosen.data)
    in_python(
        chosen,
        "import pandas as pd, softwood",
        f"table = {tables.in_pandas(chosen.data, table)}",
        *tables.labels_in_pandas(chosen.data, target, y),
        f"softwood.load({str(chosen.model)!r}).score(table, table[{target!r}])",
    )
    weights = None if chosen.weight is None else table[chosen.weight]
    try:
        problem = tables.Problem(X, y.astype(float) if is_regressor(model) else y, weights, "")
    except (TypeError, ValueError):
        raise CommandError(
            f"column {target!r} holds no numbers, and {type(model).__name__} predicts numbers."
        ) from None
    scores = score(model, problem, n_draws=chosen.draws, level=chosen.level, seed=chosen.seed)
    if chosen.json:
        print_json({
            "rows": len(y),
            "scores": {name: {"value": value, "low": low, "high": high} for name, (value, low, high) in scores.items()},
        })  # fmt: skip
        return 0
    columns = ["score", "value"] + ([f"{chosen.level:.0%} interval"] if chosen.draws else [])
    rows = [
        [name, value, *([f"{number(low)} to {number(high)}"] if chosen.draws else [])]
        for name, (value, low, high) in scores.items()
    ]
    print_table(columns, rows, title=f"{type(model).__name__} on {len(y):,} rows")
    return 0
