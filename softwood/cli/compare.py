"""``softwood compare``: models of softwood beside those of scikit-learn, cross-validated."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from softwood.cli.arguments import add_columns, add_data, add_general, add_seed, add_target, target_of
from softwood.cli.errors import UsageError
from softwood.cli.names import BATCH, STREAM

PEERS = ("sklearn-tree", "sklearn-forest", "sklearn-boosting")
DEFAULT = ("kernel-tree", "kernel-forest", "kernel-boosting", *PEERS)
N_REPEATS, N_FOLDS = 5, 2


def add(commands: Any) -> None:
    """Describe the arguments."""
    parser = commands.add_parser(
        "compare",
        help="cross-validated table of models, with tests and a plot",
        description="Cross-validate models five times in two folds, and test each against the best one by Alpaydın's "
        "combined F test, with Holm's correction. Text columns become zeros and ones for scikit-learn's models.",
    )
    add_data(parser)
    add_target(parser, required=False, default="that of a saved model")
    names = ", ".join([*BATCH, *STREAM, *PEERS])
    parser.add_argument(
        "--models",
        nargs="+",
        default=list(DEFAULT),
        metavar="NAME",
        help=f"some of {names}, and files of saved models, whose parameters are taken (default: {', '.join(DEFAULT)})",
    )
    add_columns(parser)
    parser.add_argument("--rows", type=int, metavar="N", help="draw so many rows of a larger table")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="figure of the losses (.png, .pdf or .svg)")
    add_seed(parser)
    add_general(parser, run)


def run(chosen: argparse.Namespace) -> int:
    """Cross-validate, test, print and draw."""
    import numpy as np
    from sklearn.base import is_classifier

    from softwood.cli.names import class_of
    from softwood.cli.printing import in_python, print_json, print_table
    from softwood.cli.tables import read_problem

    if chosen.plot is not None and (
        chosen.plot.suffix not in (".png", ".pdf", ".svg") or not chosen.plot.parent.is_dir()
    ):
        raise UsageError(f"--plot: {str(chosen.plot)!r} must be a .png, .pdf or .svg file in a folder that is there.")
    saved = _saved(chosen)
    for name in chosen.models:
        if name not in PEERS and name not in saved:
            class_of(name, "classification")
    problem = read_problem(chosen)
    for name, model in saved.items():
        if is_classifier(model) != (problem.task == "classification"):
            raise UsageError(f"--models: {name!r} holds a {type(model).__name__}, and this is {problem.task}.")
    if chosen.rows is not None and chosen.rows < len(problem.y):
        problem = problem.rows(np.random.default_rng(chosen.seed).choice(len(problem.y), chosen.rows, replace=False))
    in_python(
        chosen,
        "from softwood.stats import compare_5x2",
        "compare_5x2(model_a, model_b, X, y, random_state=0)  # for each pair of models",
    )
    results = {name: _cross_validated(name, problem, saved, chosen.seed) for name in dict.fromkeys(chosen.models)}
    loss_name, other_name = ("log loss", "accuracy") if problem.task == "classification" else ("RMSE", "R²")
    p_values = _tested(results)
    lines = [
        {
            "model": name, loss_name: float(found["loss"].mean()), "sd": float(found["loss"].std(ddof=1)),
            other_name: float(found["score"].mean()), "fit (s)": float(found["seconds"].mean()),
            "p against the best": p_values[name],
        }
        for name, found in sorted(results.items(), key=lambda item: item[1]["loss"].mean())
    ]  # fmt: skip
    if chosen.plot is not None:
        _draw(results, loss_name, chosen.plot)
    if chosen.json:
        print_json({"task": problem.task, "rows": len(problem.y), "models": lines})
        return 0
    title = f"{problem.task}, {len(problem.y):,} rows, {N_REPEATS} times {N_FOLDS} folds"
    print_table(list(lines[0]), [list(line.values()) for line in lines], title=title)
    return 0


def _saved(chosen: argparse.Namespace) -> dict[str, Any]:
    """The saved models by file; the first one gives the target and the columns to leave out, unless they are given."""
    from sklearn.base import BaseEstimator

    from softwood.cli.names import load_model
    from softwood.files.saving import read_metadata

    files = [name for name in dict.fromkeys(chosen.models) if Path(name).suffix and Path(name).exists()]
    saved = {name: load_model(Path(name)) for name in files}
    for name, model in saved.items():
        if not isinstance(model, BaseEstimator):
            raise UsageError(f"--models: {name!r} holds a {type(model).__name__}, which cannot be fitted again.")
    metadata = next((found for found in map(read_metadata, files) if "target" in found), {})
    chosen.target = target_of(chosen, metadata)
    if chosen.target == metadata.get("target"):
        chosen.drop = chosen.drop or metadata.get("dropped", [])
        chosen.weight = chosen.weight or metadata.get("weight")
    return saved


def _cross_validated(name: str, problem: Any, saved: dict[str, Any], seed: int) -> dict[str, Any]:
    """Losses, scores and seconds, (5, 2) each."""
    import numpy as np
    from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

    from softwood.cli.printing import working
    from softwood.cli.scores import score

    is_class = problem.task == "classification" and problem.smallest_class() >= N_FOLDS
    folds: Any = RepeatedStratifiedKFold if is_class else RepeatedKFold
    splits = folds(n_splits=N_FOLDS, n_repeats=N_REPEATS, random_state=seed).split(problem.X, problem.y)
    found: dict[str, list[float]] = {"loss": [], "score": [], "seconds": []}
    with working(f"cross-validating {name}"):
        for train, test in splits:
            model = _model(name, problem, saved, seed)
            begin = time.perf_counter()
            part = problem.rows(train)
            model.fit(part.X, part.y, **_weights(model, part))
            found["seconds"].append(time.perf_counter() - begin)
            scores = score(model, problem.rows(test), n_draws=0)
            names = ("log loss", "accuracy") if problem.task == "classification" else ("RMSE", "R²")
            for key, measure in zip(("loss", "score"), names, strict=True):
                found[key].append(scores[measure][0])
    return {key: np.array(values).reshape(N_REPEATS, N_FOLDS) for key, values in found.items()}


def _weights(model: Any, problem: Any) -> dict[str, Any]:
    if problem.weights is None:
        return {}
    steps = getattr(model, "steps", None)
    return {"sample_weight" if steps is None else f"{steps[-1][0]}__sample_weight": problem.weights}


def _model(name: str, problem: Any, saved: dict[str, Any], seed: int) -> Any:
    """A new model: of scikit-learn, with the parameters of a saved one, or with softwood's defaults."""
    from sklearn.base import clone

    from softwood.cli.names import make_model

    if name in PEERS:
        from softwood.cli.peers import make_peer

        return make_peer(name, problem.task, seed)
    return clone(saved[name]) if name in saved else make_model(name, problem.task, {}, seed)


def _tested(results: dict[str, Any]) -> dict[str, float | None]:
    """p-value of each model against the best one, by Holm; None for the best."""
    from softwood.stats import combined_5x2_f_test, holm

    best = min(results, key=lambda name: results[name]["loss"].mean())
    others = [name for name in results if name != best]
    found: dict[str, float | None] = {best: None}
    if others:
        p = [combined_5x2_f_test(results[name]["loss"], results[best]["loss"]).p_value for name in others]
        found |= dict(zip(others, holm(p).tolist(), strict=True))
    return found


def _draw(results: dict[str, Any], loss_name: str, path: Path) -> None:
    """Losses of all folds of each model, the best model on top."""
    from softwood.core.extras import require
    from softwood.files.atomic import replacing

    figures = require("matplotlib.figure", "plots", "Drawing losses")
    order = sorted(results, key=lambda name: -results[name]["loss"].mean())
    figure = figures.Figure(figsize=(7, 0.5 * len(order) + 1.2), layout="constrained")
    axes = figure.subplots()
    for place, name in enumerate(order):
        losses = results[name]["loss"].ravel()
        axes.plot(losses, [place] * len(losses), "o", color="tab:blue", alpha=0.35, markersize=5)
        axes.plot(losses.mean(), place, "|", color="black", markersize=16)
    axes.set_yticks(range(len(order)), order)
    axes.set_xlabel(f"{loss_name}, a dot for each fold")
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:])
