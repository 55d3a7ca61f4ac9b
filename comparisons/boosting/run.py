"""Kernel boosting at its defaults beside the boosting libraries at theirs, and beside a tuned LightGBM.

    python comparisons/boosting/run.py [--data-sets wine letter] [--models softwood LightGBM] [--max-rows 50000]
        [--repetitions 2] [--draws 50] [--summary]

All tables of the folder SOFTWOOD_DATA with at least 300 rows, five folds, twice; one thread each. Larger tables are
sampled. Every result is a line of runs.csv, and what has its line is not run again: stop it and start it again as you
like. Runs with other numbers of rows are other lines; tables have the largest number that all models have. At the end,
and with --summary alone, the tables and the picture of docs/comparisons/boosting.md are made from those lines.
Needs: pip install lightgbm xgboost catboost chimeraboost perpetual interpret-core
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from softwood.datasets import Dataset, available, load_dataset

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # a script finds only what is beside it

from comparisons.boosting.models import DEFAULTS, FURTHER, TUNED, Fold, run_model, warm_up, with_categories  # noqa: E402
from comparisons.boosting.summary import PICTURE, draw_reliability, read_frame, tables  # noqa: E402
from comparisons.results import Results, write_sections  # noqa: E402

RUNS = ROOT / "comparisons" / "boosting" / "runs.csv"
PAGE = ROOT / "docs" / "comparisons" / "boosting.md"
SCRIPT = "comparisons/boosting/run.py"
RESULTS = Results(
    about={"data_set": str, "task": str, "rows": int, "columns": int, "classes": int, "fold": int, "model": str},
    figures={
        "loss": float, "score": float, "brier": float, "calibration": float, "seconds": float, "parameter": str,
        "bins": str,
    },
)  # fmt: skip
LEAST_ROWS, N_FOLDS, SEED = 300, 5, 0


def folds_of(data: Dataset, max_rows: int, repetitions: int) -> Iterator[tuple[int, Fold]]:
    """The folds of a data set, drawn by a fixed seed, numbered through; rows of a table that is too large are drawn."""
    y = np.asarray(data.y)
    rows = np.random.default_rng(SEED).permutation(len(y))[:max_rows]
    X = with_categories(data.X.iloc[rows].reset_index(drop=True))
    X.columns = [f"x{j}" for j in range(X.shape[1])]  # LightGBM and XGBoost refuse some of the names
    y, is_class = y[rows], data.task == "classification"
    if is_class:  # a class of fewer rows than folds cannot be in all of them
        names, counts = np.unique(y, return_counts=True)
        kept = np.isin(y, names[counts >= N_FOLDS])
        X, y = X[kept].reset_index(drop=True), y[kept]
    for repetition in range(repetitions):
        splitter = (StratifiedKFold if is_class else KFold)(N_FOLDS, shuffle=True, random_state=SEED + repetition)
        for number, (train, test) in enumerate(splitter.split(X, y)):
            yield repetition * N_FOLDS + number, Fold(X, y, train, test, is_class)


def run_data_set(data: Dataset, options: argparse.Namespace, done: set[tuple[str, ...]]) -> None:
    """Run what is missing for one data set."""
    for number, fold in folds_of(data, options.max_rows, options.repetitions):
        if number % N_FOLDS >= options.folds:
            continue
        for model in options.models:
            if (data.name, len(fold.y), number, model) in done:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = run_model(model, fold, options.draws)
            about = {
                "data_set": data.name, "task": data.task, "rows": len(fold.y), "columns": fold.X.shape[1],
                "classes": len(np.unique(fold.y)) if fold.is_class else 0, "fold": number, "model": model,
            }  # fmt: skip
            RESULTS.append(RUNS, [{**about, **result}])


def repeat(line: dict[str, Any]) -> dict[str, Any]:
    """The figures of a line, from the present code."""
    n_repetitions = line["fold"] // N_FOLDS + 1
    folds = folds_of(load_dataset(line["data_set"]), line["rows"], n_repetitions)
    return run_model(line["model"], next(fold for number, fold in folds if number == line["fold"]), draws=0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", nargs="+", default=available())
    parser.add_argument(
        "--models", nargs="+", choices=(*DEFAULTS, *FURTHER, TUNED), default=[*DEFAULTS, *FURTHER, TUNED]
    )
    parser.add_argument("--max-rows", type=int, default=50_000)
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--folds", type=int, default=N_FOLDS, help="only the first folds of each repetition")
    parser.add_argument("--draws", type=int, default=50, help="random settings of the tuned LightGBM")
    parser.add_argument("--summary", action="store_true", help="only write the page")
    options = parser.parse_args()
    done = {tuple(line[name] for name in ("data_set", "rows", "fold", "model")) for line in RESULTS.read(RUNS)}
    if not options.summary:
        warm_up(options.models)
    for name in [] if options.summary else options.data_sets:
        data = load_dataset(name)
        if len(data.y) >= LEAST_ROWS:
            run_data_set(data, options, done)
            print(f"{name}: done", file=sys.stderr, flush=True)
    runs = RESULTS.read(RUNS)
    frame = read_frame(runs)
    write_sections(PAGE, {"tables": tables(frame, runs)}, SCRIPT, runs)
    draw_reliability(frame, PAGE.parent / PICTURE)


if __name__ == "__main__":
    main()
