"""Tables 2, 3, 4, 6, 7, 8 and 9 and figures 5 to 9 of the One-Stage Tree paper (2022), and crisp oblique trees of 2024.

    python papers/one_stage/tables.py [--only table2 table7 ...] [--seeds 5] [--summary]

Data come from the folder SOFTWOOD_DATA, or from OpenML. Every finished fit is a line of runs.csv, and a fit that has
its line is not done again: stop it and start it again as you like. At the end, and with --summary alone, tables.csv,
the tables in docs/papers/one_stage.md and the figures in docs/images are written anew from those lines.

The protocol: for each of five seeds a fifth of the rows is for testing (a third in table 4); models that need
validation rows take a quarter of the rest, others train on all of it. Depth 6 unless the table says otherwise. CART and
one-stage trees have ten more seeds in tables 2 and 3, to compare them ("pairs"). The settings of one-stage trees were
chosen on seeds 100 to 109. "oblique" is letter, pendigits and satimage with their usual training rows, ten seeds.
Categories are columns of 0 and 1, missing values the mean, the same for all models. Targets of regression are
standardised by the training rows.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from softwood.datasets import load_dataset

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # a script finds only what is beside it

from comparisons.results import Results, write_sections
from papers.one_stage.models import MODELS
from papers.one_stage.pictures import write_pictures
from papers.one_stage.summary import (
    BUDDING_SETS,
    CLASSES,
    OBLIQUE,
    REALS,
    USUAL,
    sections,
    write_figures,
    write_summary,
)

HERE = Path(__file__).resolve().parent
SCRIPT = "papers/one_stage/tables.py"
RUNS, SUMMARY = HERE / "runs.csv", HERE / "tables.csv"
PAGE = HERE.parents[1] / "docs" / "papers" / "one_stage.md"
IMAGES = HERE.parents[1] / "docs" / "images"
RESULTS = Results(
    about={"data_set": str, "model": str, "test_part": str, "depth": int, "validation": str, "seed": int},
    figures={"train_score": float, "test_score": float, "splits": float, "seconds": float},
)


class Task(NamedTuple):
    """One fit."""

    data_set: str
    model: str
    test_part: str = "0.2"
    depth: int = 6
    validation: str = "0.25"
    seed: int = 0


def tasks(name: str, n_seeds: int) -> Iterator[Task]:
    """The fits that a table or figure needs, seed by seed, so that a stop leaves what can be compared."""
    everything = (*CLASSES, *REALS)
    for seed in range(n_seeds):
        if name == "table2":
            models, sets = ("cart", "soft", "budding", "end_to_end", "one_stage", "as_published"), CLASSES
            yield from (Task(s, m, seed=seed) for s in sets for m in models)
        elif name == "table3":
            models = ("cart", "soft", "budding", "end_to_end", "one_stage", "as_published")
            yield from (Task(s, m, seed=seed) for s in REALS for m in models)
        elif name == "pairs":
            seeds = (seed, n_seeds + 2 * seed, n_seeds + 2 * seed + 1)  # ten more, for five
            yield from (Task(s, m, seed=k) for k in seeds for s in everything for m in ("cart", "one_stage"))
        elif name == "oblique":
            seeds = (2 * seed, 2 * seed + 1)
            yield from (
                Task(s, m, test_part=USUAL, depth=depth, seed=k)
                for k in seeds
                for s, (_, depth) in OBLIQUE.items()
                for m in ("cart", "one_stage")
            )
        elif name == "table4":
            models = ("budding", "cart", "one_stage")
            yield from (Task(s, m, test_part="0.333", seed=seed) for s in BUDDING_SETS for m in models)
        elif name == "table6":
            models = ("one_stage", "one_stage_forest", "xgboost", "linear_svm", "mlp")
            yield from (Task(s, m, seed=seed) for s in everything for m in models)
        elif name == "table7":
            models = ("one_stage", "cart", "end_to_end", "soft", "budding")
            yield from (Task(s, m, depth=d, seed=seed) for s in CLASSES for d in range(1, 10) for m in models)
        elif name == "table8":
            # parts of all rows, as in the paper, are parts of the 80 % that are not for testing here
            parts = [f"{float(part) / 0.8:.4g}" for part in ("0.05", "0.10", "0.15", "0.20", "0.25", "0.30")]
            yield from (Task(s, "proximal", validation=v, seed=seed) for s in CLASSES for v in parts)
        elif name == "table9":
            models = ("proximal", "joint", "gumbel")
            yield from (Task(s, m, seed=seed) for s in everything for m in models)


WORK = ("table2", "table3", "pairs", "oblique", "table9", "table4", "table6", "table7", "table8", "pictures")


def read_numbers(name: str) -> tuple[np.ndarray, np.ndarray, bool]:
    """Matrix, targets (class numbers, or reals), and whether they are classes."""
    data = load_dataset(name)
    X = pd.get_dummies(data.X, dtype=float).to_numpy(dtype=float)
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    is_class = name in (*CLASSES, *BUDDING_SETS, *OBLIQUE) and data.task == "classification"
    return X, np.unique(data.y, return_inverse=True)[1] if is_class else data.y.astype(float), is_class


def run_one(task: Task, X: np.ndarray, y: np.ndarray, is_class: bool) -> dict[str, Any]:
    """Scores in percent (accuracy, or R²), number of splits, seconds to fit."""
    stratify = y if is_class and np.bincount(y).min() > 1 else None
    if task.test_part == USUAL:
        n = OBLIQUE[task.data_set][0]
        X, X_test, y, y_test = X[:n], X[n:], y[:n], y[n:]
    else:
        part = float(task.test_part)
        X, X_test, y, y_test = train_test_split(X, y, test_size=part, random_state=task.seed, stratify=stratify)
    if not is_class:
        mean, deviation = y.mean(), y.std()
        y, y_test = (y - mean) / deviation, (y_test - mean) / deviation
    else:  # classes that only test rows have are never found; XGBoost wants numbers without gaps
        known, y = np.unique(y, return_inverse=True)
        y_test = np.searchsorted(known, y_test)
    model = MODELS[task.model](is_class, task.seed, task.depth, float(task.validation))
    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
        seconds = time.monotonic() - began
        scores = [100.0 * float(model.score(*rows)) for rows in ((X, y), (X_test, y_test))]
    tree = getattr(model, "tree_", None)
    splits = np.nan if tree is None else float(np.sum(np.asarray(tree.children_left) >= 0))
    return {"train_score": scores[0], "test_score": scores[1], "splits": splits, "seconds": seconds}


def run(
    wanted: list[Task], path: Path, read: Callable[[str], tuple[np.ndarray, np.ndarray, bool]] = read_numbers
) -> None:
    """Append the missing fits to the file, each as soon as it is done."""
    done = RESULTS.done(path)
    known: dict[str, tuple[np.ndarray, np.ndarray, bool]] = {}
    for task in wanted:
        if task in done:
            continue
        if task.data_set not in known:
            known[task.data_set] = read(task.data_set)
        try:
            result = run_one(task, *known[task.data_set])
        except ImportError as reason:
            print(f"Skipped {task.model}: {reason}", flush=True)
            continue
        RESULTS.append(path, [{**task._asdict(), **result}])
        done.add(task)
        print(
            f"{task.data_set} {task.model} depth {task.depth} seed {task.seed}: {result['test_score']:.2f}, "
            f"{result['splits']:g} splits, {result['seconds']:.2f} s",
            flush=True,
        )


def repeat(line: dict[str, Any]) -> dict[str, Any]:
    """The figures of a line, from the present code."""
    task = Task(*RESULTS.place(line))
    return run_one(task, *read_numbers(task.data_set))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=WORK, default=[*WORK])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--runs-file", type=Path, default=RUNS, help="another file of runs; it alone is then written")
    parser.add_argument("--summary", action="store_true", help="run nothing, only write tables and figures")
    options = parser.parse_args()
    if not options.summary:
        for name in options.only:
            run(list(tasks(name, options.seeds)), options.runs_file)
        if "pictures" in options.only and options.runs_file == RUNS:
            write_pictures(IMAGES)
    if options.runs_file == RUNS:
        runs = RESULTS.read(RUNS)
        write_summary(SUMMARY, runs)
        write_sections(PAGE, sections(runs), SCRIPT, runs)
        write_figures(IMAGES, runs)


if __name__ == "__main__":
    main()
