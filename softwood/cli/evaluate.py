"""``softwood evaluate``: scores of a saved model on a table, with intervals."""

from __future__ import annotations

import argparse
from typing import Any

from softwood.cli.arguments import add_data, add_general, add_model, add_seed, add_target, target_of
from softwood.cli.errors import CommandError, UsageError

__all__ = ["add", "run"]


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
    parser.add_argument("--draws", type=int, default=200, metavar="N", help="bootstrap samples (default %(default)s)")
    parser.add_argument("--level", type=float, default=0.95, help="level of the intervals (default %(default)s)")
    add_seed(parser)
    add_general(parser)
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Print the scores."""
    from softwood.cli.names import load_model
    from softwood.cli.printing import in_python, number, print_json, print_table
    from softwood.cli.scores import score
    from softwood.cli.tables import (
        Problem,
        check_column,
        columns_for,
        in_pandas,
        labels_in_pandas,
        read_table,
        split_target,
    )
    from softwood.files.saving import read_metadata
    from softwood.fitted import FittedModel

    if chosen.draws < 0 or not 0.0 < chosen.level < 1.0:
        raise UsageError("--draws must be at least 0, and --level in the range (0, 1).")
    model, metadata = load_model(chosen.model), read_metadata(chosen.model)
    target = target_of(chosen, metadata)
    known = FittedModel.of(model, "evaluate")
    read = read_table(chosen.data, target, classes=known.classes)
    table, y = split_target(read, target, chosen.data)
    if chosen.weight is not None:
        check_column(table, chosen.weight, "--weight", chosen.data)
    X = columns_for(known, table if known.has_names else table.drop([target]), chosen.data)
    in_python(
        chosen,
        "import pandas as pd, softwood",
        f"table = {in_pandas(chosen.data, table)}",
        *labels_in_pandas(chosen.data, target, y),
        f"softwood.load({str(chosen.model)!r}).score(table, table[{target!r}])",
    )
    weights = None if chosen.weight is None else table[chosen.weight]
    try:
        problem = Problem(X, y if not _is_regressor(model) else y.astype(float), weights, "")
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


def _is_regressor(model: Any) -> bool:
    from sklearn.base import is_regressor

    return is_regressor(model)
