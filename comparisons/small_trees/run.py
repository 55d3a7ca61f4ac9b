"""Small kernel trees beside CART, on real tables of up to 20 000 rows, ten folds.

    python comparisons/small_trees/run.py [--data-sets iris wine] [--models default small] [--jobs 1] [--summary]

Data come from the folder SOFTWOOD_DATA, or from OpenML. Every result is a line of runs.csv, and what has its line is
not run again: stop it and start it again as you like. At the end, and with --summary alone, the tables in
docs/comparisons/small_trees.md are written from those lines.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import KFold, StratifiedKFold

from softwood.datasets import Dataset, available, load_dataset

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # a script finds only what is beside it

from comparisons.results import Results, write_sections  # noqa: E402
from comparisons.small_trees.models import MODELS, Fold, encode, run_fold  # noqa: E402
from comparisons.small_trees.summary import tables  # noqa: E402

RUNS = ROOT / "comparisons" / "small_trees" / "runs.csv"
PAGE = ROOT / "docs" / "comparisons" / "small_trees.md"
SCRIPT = "comparisons/small_trees/run.py"
RESULTS = Results(
    about={"data_set": str, "task": str, "rows": int, "fold": int, "model": str},
    figures={"score": float, "log_loss": float, "leaves": int, "fit_seconds": float, "parameter": str},
)
MOST_ROWS = 20_000
N_FOLDS = 10
SEED = 0


def folds_of(data: Dataset) -> Iterator[Fold]:
    """The ten folds of a data set, drawn by a fixed seed; classes are spread evenly."""
    is_class = data.task == "classification"
    encoded = encode(data.X)
    splitter = (StratifiedKFold if is_class else KFold)(N_FOLDS, shuffle=True, random_state=SEED)
    for train, test in splitter.split(encoded, data.y):
        yield Fold(data.X, encoded, np.asarray(data.y), train, test, is_class)


def run_data_set(name: str, models: tuple[str, ...], done: set[tuple[str, int, str]], runs: Path) -> None:
    """Run what is missing for one data set; each fold's lines are written at once."""
    data = load_dataset(name)
    if len(data.y) > MOST_ROWS:
        return
    for number, fold in enumerate(folds_of(data)):
        missing = {model for model in models if (name, number, model) not in done}
        if not missing:
            continue
        about = {"data_set": name, "task": data.task, "rows": len(data.y), "fold": number}
        RESULTS.append(runs, [{**about, **result} for result in run_fold(fold, missing)])
    print(f"{name}: done", file=sys.stderr, flush=True)


def repeat(line: dict[str, Any]) -> dict[str, Any]:
    """The figures of a line, from the present code."""
    fold = next(islice(folds_of(load_dataset(line["data_set"])), line["fold"], None))
    return next(run_fold(fold, {line["model"]}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", nargs="+", default=None, metavar="NAME")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS, metavar="MODEL")
    parser.add_argument("--jobs", type=int, default=1, help="data sets that are run at the same time")
    parser.add_argument("--runs", type=Path, default=RUNS, help="the file of results")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page with the tables")
    parser.add_argument("--summary", action="store_true", help="only write the tables")
    chosen = parser.parse_args()
    if not chosen.summary:
        done = {(line["data_set"], line["fold"], line["model"]) for line in RESULTS.read(chosen.runs)}
        names = chosen.data_sets or available()
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        Parallel(n_jobs=chosen.jobs)(
            delayed(run_data_set)(name, tuple(chosen.models), done, chosen.runs) for name in names
        )
    runs = RESULTS.read(chosen.runs)
    write_sections(chosen.page, {"tables": tables(runs)}, SCRIPT, runs)


if __name__ == "__main__":
    main()
