"""Small kernel trees beside those of other packages, on real tables of up to 20 000 rows, five folds.

    python comparisons/small_trees/run.py [--data-sets iris wine] [--models softwood CART] [--sizes 8 default]
        [--seconds 60] [--summary]

Data come from the folder SOFTWOOD_DATA, or from OpenML; small tables come first. Every result is a line of runs.csv,
and what has its line is not run again: stop it and start it again as you like. A peer that takes longer than
--seconds is stopped, and has no further folds and sizes on that table. At the end, and with --summary alone, the
tables and the picture of docs/comparisons/small_trees.md are made from those lines.
Needs: pip install imodels six pycontree pystreed linear-tree m5py
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from threadpoolctl import threadpool_limits

from softwood.datasets import Dataset, available, load_dataset

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # a script finds only what is beside it

from comparisons.results import Results, write_sections  # noqa: E402
from comparisons.small_trees.models import MODELS, N_FOLDS, SOFTWOOD, STOPPED, Fold, encode, run_model, sizes_of, takes  # noqa: E402
from comparisons.small_trees.summary import draw, read_frame, sections  # noqa: E402

RUNS = ROOT / "comparisons" / "small_trees" / "runs.csv"
PAGE = ROOT / "docs" / "comparisons" / "small_trees.md"
PICTURE = ROOT / "docs" / "images" / "small_trees.svg"
SCRIPT = "comparisons/small_trees/run.py"
RESULTS = Results(
    about={"data_set": str, "task": str, "rows": int, "fold": int, "model": str, "size": str},
    figures={"score": float, "log_loss": float, "leaves": int, "seconds": float, "parameter": str},
)
MOST_ROWS = 20_000
SEED = 0


def folds_of(data: Dataset) -> Iterator[Fold]:
    """The folds of a data set, drawn by a fixed seed; classes are spread evenly, those with too few rows left out."""
    X, y, is_class = data.X, np.asarray(data.y), data.task == "classification"
    if is_class:
        names, counts = np.unique(y, return_counts=True)
        kept = np.isin(y, names[counts >= N_FOLDS])
        X, y = X[kept].reset_index(drop=True), y[kept]
    encoded = encode(X)
    splitter = (StratifiedKFold if is_class else KFold)(N_FOLDS, shuffle=True, random_state=SEED)
    for train, test in splitter.split(encoded, y):
        yield Fold(X, encoded, y, np.random.default_rng(SEED).permutation(train), test, is_class)


def run_data_set(data: Dataset, options: argparse.Namespace) -> None:
    """Run what is missing for one data set; each line is written at once."""
    folds = list(folds_of(data))
    about = {"data_set": data.name, "task": data.task, "rows": len(folds[0].y)}
    lines = {
        (line["model"], line["size"], line["fold"]): line["parameter"].startswith(STOPPED)
        for line in RESULTS.read(options.runs)
        if line["data_set"] == data.name
    }
    for model in options.models:
        if not takes(model, data.task):
            continue
        for size in sizes_of(model):
            for number, fold in enumerate(folds):
                if any(lines.get((model, size, before)) for before in range(N_FOLDS)):
                    break
                if size not in options.sizes or (model, size, number) in lines:
                    continue
                result = run_model(model, size, fold, inf if model in SOFTWOOD else options.seconds)
                RESULTS.append(options.runs, [{**about, "fold": number, "model": model, "size": size, **result}])
                lines[model, size, number] = result["parameter"].startswith(STOPPED)
            if any(lines.get((model, size, number)) for number in range(N_FOLDS)):
                break  # larger sizes would take longer still
    print(f"{data.name}: done", file=sys.stderr, flush=True)


def repeat(line: dict[str, Any]) -> dict[str, Any]:
    """The figures of a line, from the present code."""
    fold = next(islice(folds_of(load_dataset(line["data_set"])), line["fold"], None))
    return run_model(line["model"], line["size"], fold, inf)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = list(dict.fromkeys(size for model in MODELS for size in sizes_of(model)))
    parser.add_argument("--data-sets", nargs="+", default=None, metavar="NAME")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS, metavar="MODEL")
    parser.add_argument("--sizes", nargs="+", default=sizes, choices=sizes, metavar="SIZE")
    parser.add_argument("--seconds", type=float, default=60.0, help="processor seconds of a peer on one fold")
    parser.add_argument("--runs", type=Path, default=RUNS, help="the file of results")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page with the tables")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="the picture of the page")
    parser.add_argument("--summary", action="store_true", help="only write the page and the picture")
    options = parser.parse_args()
    if not options.summary:
        data_sets = [data for data in map(load_dataset, options.data_sets or available()) if len(data.y) <= MOST_ROWS]
        with threadpool_limits(1):
            for data in sorted(data_sets, key=lambda data: len(data.y)):
                run_data_set(data, options)
    runs = RESULTS.read(options.runs)
    frame = read_frame(runs)
    write_sections(options.page, sections(frame, runs), SCRIPT, runs)
    draw(frame, options.picture)


if __name__ == "__main__":
    main()
