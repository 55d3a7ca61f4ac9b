"""``softwood fit``: fit a model to a table, and save it."""

from __future__ import annotations

import argparse
import time
from typing import Any

from softwood.cli.arguments import (
    add_columns,
    add_data,
    add_general,
    add_number,
    add_output,
    add_seed,
    add_settings,
    add_target,
    check_output,
    read_settings,
)  # fmt: skip
from softwood.cli.errors import UsageError
from softwood.cli.names import BATCH, STREAM


def add(commands: Any) -> None:
    """Describe the arguments."""
    parser = commands.add_parser(
        "fit",
        help="fit a model to a table, print its score on held-out rows, and save it",
        description="Fit a model to a part of the rows and print its scores on the others; then fit it to all rows and "
        "save it. The kind of problem follows from the target.",
    )
    add_data(parser)
    add_target(parser)
    parser.add_argument(
        "--model",
        default="kernel-tree",
        metavar="NAME",
        help=f"one of {', '.join(BATCH | STREAM)} (default %(default)s)",
    )
    add_settings(parser)
    add_columns(parser)
    add_number(parser, "--held-out", 0.2, "part of the rows that the scores are from; 0 for no scores", "PART")
    add_seed(parser)
    add_output(parser, "file of the model, such as model.softwood", required=True)
    add_general(parser, run)


def run(chosen: argparse.Namespace) -> int:
    """Fit, score, fit again to all rows, and save."""
    from softwood.cli.names import class_of, make_model
    from softwood.cli.printing import in_python, print_json, print_table, working
    from softwood.cli.scores import score
    from softwood.cli.tables import read_problem

    check_output(chosen.output)
    if not 0.0 <= chosen.held_out < 1.0:
        raise UsageError(f"--held-out: must be in the range [0, 1), got {chosen.held_out}.")
    settings = read_settings(chosen.set)
    class_of(chosen.model, "classification")  # a wrong name is an error before the data are read
    problem = read_problem(chosen)
    model = make_model(chosen.model, problem.task, settings, chosen.seed)
    in_python(chosen, *_python(chosen, model, settings, problem))
    scores: dict[str, Any] = {}
    if chosen.held_out > 0:
        from sklearn.base import clone

        with working(f"fitting {type(model).__name__} to {1 - chosen.held_out:.0%} of {len(problem.y):,} rows"):
            train, test = _divided(problem, chosen.held_out, chosen.seed)
            part = _fitted(clone(model), train)
        scores = {name: interval[0] for name, interval in score(part, test, n_draws=0).items()}
    begin = time.perf_counter()
    with working(f"fitting {type(model).__name__} to {len(problem.y):,} rows"):
        _fitted(model, problem)
    seconds = time.perf_counter() - begin
    from softwood.files.saving import save

    save(model, chosen.output, metadata=_metadata(chosen))
    facts = {
        "model": type(model).__name__, "rows": len(problem.y), "columns": problem.X.shape[1],
        "leaves": model.get_n_leaves(), "depth": model.get_depth(), "seconds": seconds, "file": str(chosen.output),
    }  # fmt: skip
    if chosen.json:
        print_json(facts | {"task": problem.task, "held_out_scores": scores})
        return 0
    print_table(("", ""), [*facts.items(), *((f"{name}, held out", value) for name, value in scores.items())])
    return 0


def _fitted(model: Any, problem: Any) -> Any:
    weights = {} if problem.weights is None else {"sample_weight": problem.weights}
    return model.fit(problem.X, problem.y, **weights)


def _divided(problem: Any, part: float, seed: int) -> tuple[Any, Any]:
    """Rows to fit, and rows to score; each class in both parts if it has enough rows."""
    import numpy as np
    from sklearn.model_selection import train_test_split

    is_class = problem.task == "classification" and problem.smallest_class() >= 2
    try:
        train, test = train_test_split(
            np.arange(len(problem.y)), test_size=part, random_state=seed, stratify=problem.y if is_class else None
        )
    except ValueError:  # fewer rows than classes in a part
        train, test = train_test_split(np.arange(len(problem.y)), test_size=part, random_state=seed)
    return problem.rows(train), problem.rows(test)


def _metadata(chosen: argparse.Namespace) -> dict[str, Any]:
    """What other commands need to know of the table: its target, and the columns that are no features."""
    dropped = {"dropped": list(chosen.drop)} if chosen.drop else {}
    return {"target": chosen.target, **dropped, **({} if chosen.weight is None else {"weight": chosen.weight})}


def _python(chosen: argparse.Namespace, model: Any, settings: dict[str, Any], problem: Any) -> list[str]:
    from softwood.cli.tables import in_pandas, labels_in_pandas

    kind = type(model)
    home = "softwood.stream" if chosen.model in STREAM else "softwood"
    given = settings | ({"random_state": model.random_state} if "random_state" in model.get_params() else {})
    words = ", ".join(f"{name}={value!r}" for name, value in given.items())
    dropped = [chosen.target, *chosen.drop, *([] if chosen.weight is None else [chosen.weight])]
    return [
        "import pandas as pd, softwood",
        f"from {home} import {kind.__name__}",
        f"table = {in_pandas(chosen.data, problem.X)}",
        *labels_in_pandas(chosen.data, chosen.target, problem.y),
        f"model = {kind.__name__}({words}).fit(table.drop(columns={dropped!r}), table[{chosen.target!r}])",
        f"softwood.save(model, {str(chosen.output)!r}, metadata={_metadata(chosen)!r})",
    ]
