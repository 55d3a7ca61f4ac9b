"""Tables 1 and 2 of Soft Decision Trees (2012): error, accuracy and size of soft, hard and discriminant trees.

    python papers/soft_decision_tree/tables.py [--data-sets concrete spambase] [--columns soft hard] [--summary]

Data, and the folds in soft_tree_splits, come from the folder SOFTWOOD_DATA. Every finished run is a line of runs.csv,
and a run that has its line is not done again: stop it and start it again as you like. At the end, and with --summary
alone, tables.csv and the tables in docs/papers/soft_decision_tree.md are written anew from those lines.

The protocol: one third of the rows is for testing. The others are divided in two halves, five times; one half trains,
the other validates, and the other way round: ten runs. Regression targets have mean 0 and standard deviation 1 (of the
training half; the test rows of all rows, as in the files the folds come from).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from softwood import LinearDiscriminantTreeClassifier, SoftTreeClassifier, SoftTreeRegressor
from softwood.datasets import load_dataset

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # a script finds only what is beside it

from comparisons.results import Results, write_sections
from papers.soft_decision_tree.hard_tree import PrePrunedTree
from papers.soft_decision_tree.tables_summary import CLASSES, REALS, sections, write_summary

HERE = Path(__file__).resolve().parent
SCRIPT = "papers/soft_decision_tree/tables.py"
RUNS, SUMMARY = HERE / "runs.csv", HERE / "tables.csv"
PAGE = HERE.parents[1] / "docs" / "papers" / "soft_decision_tree.md"
RESULTS = Results(
    about={"data_set": str, "column": str, "replication": int, "half": int},
    figures={"score": float, "nodes": int, "seconds": float},
)

# As near to the paper as its text allows: the run and the growth by its rules, its start, its step halving.
AS_PUBLISHED = {
    "select": "training", "growth": "depth", "min_gain": 0.0, "learning_rate_decay": 1.0, "n_iter_no_change": 25,
    "init": "paper", "refine": False,
}  # fmt: skip


class Halves(NamedTuple):
    """Rows of one run."""

    X: np.ndarray
    y: np.ndarray
    X_val: np.ndarray
    y_val: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def read_halves(name: str) -> Iterator[tuple[int, int, Halves]]:
    """Replication, half and rows of the ten runs."""
    data = load_dataset(name)
    folder = os.environ.get("SOFTWOOD_DATA")
    if folder is None:
        raise SystemExit("The folds of the paper are read from the folder that SOFTWOOD_DATA names; it is not set.")
    folds = pd.read_csv(Path(folder) / "soft_tree_splits" / f"{name}.csv.gz")
    X = data.X.select_dtypes("number").to_numpy(dtype=float)  # the paper leaves out the sex of abalones
    is_class = name in CLASSES
    y = np.unique(data.y, return_inverse=True)[1].astype(int) if is_class else data.y.astype(float)
    test = np.flatnonzero(folds["part"] == "test")
    y_test = y[test] if is_class else (y[test] - y.mean()) / y.std(ddof=1)
    for replication in range(1, 6):
        half = folds[f"rep{replication}"].to_numpy()
        for number, other in ((1, 2), (2, 1)):
            train, validation = np.flatnonzero(half == number), np.flatnonzero(half == other)
            mean, deviation = (0, 1) if is_class else (y[train].mean(), y[train].std(ddof=1))
            y_train, y_val = (
                (y[rows] - mean) / deviation if deviation != 1 else y[rows] for rows in (train, validation)
            )
            yield replication, number, Halves(X[train], y_train, X[validation], y_val, X[test], y_test)


def soft(is_class: bool, **parameters: Any) -> Any:
    kind = SoftTreeClassifier if is_class else SoftTreeRegressor
    return kind(random_state=0, **parameters)


COLUMNS: dict[str, Callable[[bool], Any]] = {
    "soft": lambda is_class: soft(is_class),
    "soft_unrefined": lambda is_class: soft(is_class, refine=False),
    "soft_as_published": lambda is_class: soft(is_class, **AS_PUBLISHED),
    "hard": lambda is_class: PrePrunedTree(is_class=is_class),
    "hard_full": lambda is_class: PrePrunedTree(is_class=is_class, prune=False),
    "ldt": lambda is_class: LinearDiscriminantTreeClassifier(random_state=0),
}


def run_one(column: str, is_class: bool, rows: Halves) -> dict[str, Any]:
    """Test error (of regression) or accuracy in percent, number of nodes, seconds to fit."""
    model = COLUMNS[column](is_class)
    began = time.monotonic()
    model.fit(rows.X, rows.y, X_val=rows.X_val, y_val=rows.y_val)
    seconds = time.monotonic() - began
    prediction = model.predict(rows.X_test)
    correct = 100.0 * float(np.mean(prediction == rows.y_test))
    return {
        "score": correct if is_class else float(np.mean((prediction - rows.y_test) ** 2)),
        "nodes": model.n_nodes if isinstance(model, PrePrunedTree) else model.tree_.n_nodes,
        "seconds": seconds,
    }


def run(
    data_sets: list[str],
    columns: list[str],
    path: Path,
    read: Callable[[str], Iterator[tuple[int, int, Halves]]] = read_halves,
) -> None:
    """Append the missing runs to the file, each as soon as it is done."""
    done = RESULTS.done(path)
    for name in data_sets:
        is_class = name in CLASSES
        wanted = [column for column in columns if is_class or column != "ldt"]
        for replication, half, rows in read(name):
            for column in wanted:
                place = {"data_set": name, "column": column, "replication": replication, "half": half}
                if tuple(place.values()) not in done:
                    result = run_one(column, is_class, rows)
                    RESULTS.append(path, [{**place, **result}])
                    print(
                        f"{name} {replication}-{half} {column}: {result['score']:.4f}, {result['nodes']} nodes, "
                        f"{result['seconds']:.2f} s",
                        flush=True,
                    )


def repeat(line: dict[str, Any]) -> dict[str, Any]:
    """The figures of a line, from the present code."""
    rows = next(
        rows
        for replication, half, rows in read_halves(line["data_set"])
        if (replication, half) == (line["replication"], line["half"])
    )
    return run_one(line["column"], line["data_set"] in CLASSES, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", nargs="+", choices=[*REALS, *CLASSES], default=[*REALS, *CLASSES])
    parser.add_argument("--columns", nargs="+", choices=[*COLUMNS], default=[*COLUMNS])
    parser.add_argument("--runs-file", type=Path, default=RUNS, help="another file of runs; it alone is then written")
    parser.add_argument("--summary", action="store_true", help="run nothing, only write the tables")
    options = parser.parse_args()
    if not options.summary:
        run(options.data_sets, options.columns, options.runs_file)
    if options.runs_file == RUNS:
        runs = RESULTS.read(RUNS)
        write_summary(SUMMARY, runs)
        write_sections(PAGE, sections(runs), SCRIPT, runs)


if __name__ == "__main__":
    main()
