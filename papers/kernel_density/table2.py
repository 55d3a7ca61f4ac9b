"""Table 2 of Kernel Density Decision Trees (2022): accuracy of trees and ensembles on twelve data sets.

    python papers/kernel_density/table2.py [--data-sets iris wine] [--columns tree_kernel tree_auto] [--repeats 1]

Data come from the folder SOFTWOOD_DATA, or from OpenML. Every finished fold is a line of table2_folds.csv, and a fold
that has its line is not run again: stop it and start it again as you like. At the end, and with --summary alone,
table2.csv, the table in docs/papers/kernel_density.md and the diagrams of ranks in docs/images are written anew from
those lines.

The protocol (section 4 of the paper): features brought to mean 0 and standard deviation 1, ten random folds, and inside
each training part a choice of the one tuned parameter of the model; `table2_columns.py` says how.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold

from softwood.datasets import load_dataset

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # a script finds only what is beside it

from comparisons.results import Results, write_sections
from papers.kernel_density.table2_columns import COLUMNS, DATA_SETS, N_FOLDS, Fit, Missing, is_tree, served_by
from papers.kernel_density.table2_ranks import draw_ranks, rank_sections
from papers.kernel_density.table2_summary import family_sections, read_published, summarise, write_summary

ROOT = Path(__file__).resolve().parents[2]
# On small sets the draw of the folds moves the result by more than the differences of interest: there the ten folds are
# drawn several times, and the mean is reported.
SMALL = 2000
REPEATS_TREE, REPEATS_ENSEMBLE, REPEATS_LARGE = 10, 3, 1

# ---------------------------------------------------------------- files


class Files(NamedTuple):
    """What is read and written."""

    folds: Path = ROOT / "papers" / "kernel_density" / "table2_folds.csv"
    summary: Path = ROOT / "papers" / "kernel_density" / "table2.csv"
    page: Path = ROOT / "docs" / "papers" / "kernel_density.md"
    images: Path = ROOT / "docs" / "images"


def files_beside(folds: Path) -> Files:
    """All in the folder of another file of folds."""
    return Files(folds, folds.with_name("table2.csv"), folds.with_name("kernel_density.md"), folds.parent)


RESULTS = Results(
    about={"data_set": str, "column": str, "repeat": int, "fold": int},
    figures={"accuracy": float, "parameter": float, "seconds": float},
)


def drop_folds(path: Path, data_sets: Iterable[str], columns: Iterable[str]) -> None:
    """Forget the folds of these columns, and of those that the same fits serve."""
    data_sets = set(data_sets)
    columns = {other for column in columns for other in served_by(COLUMNS[column].fit)}
    kept = [row for row in RESULTS.read(path) if row["data_set"] not in data_sets or row["column"] not in columns]
    RESULTS.write(path, kept)


# ---------------------------------------------------------------- running


def read_standardised(name: str) -> tuple[np.ndarray, np.ndarray]:
    data = load_dataset(name)
    X = data.X.to_numpy(dtype=float)
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), data.y


class Repeats(NamedTuple):
    """How often the ten folds are drawn; None leaves it to the number of rows."""

    trees: int | None = None
    ensembles: int | None = None

    def times(self, fit: Fit, n_rows: int) -> int:
        wanted, small = (self.trees, REPEATS_TREE) if is_tree(fit) else (self.ensembles, REPEATS_ENSEMBLE)
        return wanted or (small if n_rows < SMALL else REPEATS_LARGE)


class Task(NamedTuple):
    """One fold to run."""

    fit: Fit
    repeat: int
    fold: int
    train: np.ndarray
    test: np.ndarray


def tasks(fits: Iterable[Fit], n_rows: int, repeats: Repeats, n_folds: int) -> Iterator[Task]:
    """All folds of a data set; a repeat of all fits before the next one, so that a stop leaves what can be compared."""
    times = {fit: repeats.times(fit, n_rows) for fit in fits}
    for repeat in range(max(times.values())):
        folds = list(KFold(n_folds, shuffle=True, random_state=repeat).split(np.empty((n_rows, 1))))
        for fit in times:
            if repeat < times[fit]:
                for fold, (train, test) in enumerate(folds):
                    yield Task(fit, repeat, fold, train, test)


def run(
    data_sets: Iterable[str],
    columns: Iterable[str],
    repeats: Repeats,
    *,
    path: Path,
    n_jobs: int = 1,
    budget: float = math.inf,
    n_folds: int = N_FOLDS,
    read: Callable[[str], tuple[np.ndarray, np.ndarray]] = read_standardised,
) -> bool:
    """Append the missing folds to the file, each as soon as it is done; False if `budget` seconds were not enough.

    A model that is not installed is skipped.
    """
    done = RESULTS.done(path)
    fits = dict.fromkeys(COLUMNS[column].fit for column in columns)  # each once, in the order of the columns
    skipped = set()
    start = time.monotonic()
    for name in data_sets:
        X, y = read(name)
        for task in tasks(fits, len(y), repeats, n_folds):
            missing = {c for c in served_by(task.fit) if (name, c, task.repeat, task.fold) not in done}
            if not missing or task.fit in skipped:
                continue
            if time.monotonic() - start >= budget:
                print(f"Stopped after {budget / 60:g} minutes, before {_where(name, task)}.", flush=True)
                return False
            try:
                rows = run_fold(task, X, y, n_jobs)
            except Missing as reason:
                print(f"Skipped {', '.join(served_by(task.fit))}: {reason}.", flush=True)
                skipped.add(task.fit)
                continue
            rows = [{"data_set": name, **row} for row in rows if row["column"] in missing]
            RESULTS.append(path, rows)
            print(f"[{time.monotonic() - start:7.1f} s] {_where(name, task)}: {_told(rows)}", flush=True)
    return True


def run_fold(task: Task, X: np.ndarray, y: np.ndarray, n_jobs: int) -> list[dict[str, Any]]:
    """Lines of the columns that the fit serves. The number of the repeat is the seed."""
    classes, labels = np.unique(y[task.train], return_inverse=True)  # XGBoost wants 0, 1, ...
    began = time.monotonic()
    models = task.fit(X[task.train], labels, task.repeat, n_jobs)
    seconds = time.monotonic() - began
    return [
        {
            "column": column,
            "repeat": task.repeat,
            "fold": task.fold,
            "accuracy": float(np.mean(classes[model.fitted.predict(X[task.test])] == y[task.test])),
            "parameter": model.parameter,
            "seconds": seconds,
        }
        for column, model in models.items()
    ]


def repeat(line: dict[str, Any]) -> dict[str, Any]:
    """The figures of a line, from the present code."""
    X, y = read_standardised(line["data_set"])
    fit = COLUMNS[line["column"]].fit
    for task in tasks([fit], len(y), Repeats(line["repeat"] + 1, line["repeat"] + 1), N_FOLDS):
        if (task.repeat, task.fold) == (line["repeat"], line["fold"]):
            rows = run_fold(task, X, y, n_jobs=1)
            return next(row for row in rows if row["column"] == line["column"])
    raise ValueError(f"There is no fold {line['fold']}.")


def _where(name: str, task: Task) -> str:
    return f"{name} repeat {task.repeat + 1} fold {task.fold + 1}, {served_by(task.fit)[0]}"


def _told(rows: list[dict[str, Any]]) -> str:
    cells = [
        f"{row['column']} {row['accuracy']:.4f}"
        + ("" if math.isnan(row["parameter"]) else f" at {row['parameter']:.3g}")
        for row in rows
    ]
    return f"{', '.join(cells)} ({rows[0]['seconds']:.1f} s)"


# ---------------------------------------------------------------- tables and diagrams


def write_tables(files: Files, n_folds: int = N_FOLDS) -> str:
    """Write the tables, the page and the diagrams; returns what stands on the page."""
    published = read_published()
    folds = RESULTS.read(files.folds)
    figures = summarise(folds, published, n_folds)
    write_summary(figures, files.summary)
    images = Path(os.path.relpath(files.images, files.page.parent)).as_posix()
    text = "\n".join([*family_sections(figures, published), *rank_sections(figures, published, images)])
    write_sections(files.page, {"table 2": text}, "papers/kernel_density/table2.py", folds)
    draw_ranks(figures, files.images)
    return text


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", nargs="+", default=DATA_SETS, choices=DATA_SETS, metavar="NAME")
    parser.add_argument("--columns", nargs="+", default=tuple(COLUMNS), choices=tuple(COLUMNS), metavar="NAME")
    parser.add_argument(
        "--repeats", type=int, metavar="N",
        help=f"draws of the ten folds (below {SMALL} rows {REPEATS_TREE} for trees and {REPEATS_ENSEMBLE} for "
        f"ensembles, else {REPEATS_LARGE})",
    )  # fmt: skip
    parser.add_argument("--repeats-ensemble", type=int, metavar="N", help="the same for ensembles alone")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="n_jobs of the models (2)")
    parser.add_argument("--budget-minutes", type=float, default=math.inf, metavar="M", help="begin no fold after that")
    parser.add_argument(
        "--folds-file", type=Path, metavar="FILE", help="another file of folds; all else is then written beside it"
    )
    parser.add_argument("--fresh", action="store_true", help="run the chosen data sets and columns anew")
    parser.add_argument("--summary", action="store_true", help="run nothing, only write tables and diagrams")
    return parser.parse_args()


def main() -> None:
    options = read_options()
    files = Files() if options.folds_file is None else files_beside(options.folds_file)
    if options.fresh:
        drop_folds(files.folds, options.data_sets, options.columns)
    if not options.summary:
        run(
            [name for name in DATA_SETS if name in options.data_sets],
            options.columns,
            Repeats(options.repeats, options.repeats_ensemble or options.repeats),
            path=files.folds,
            n_jobs=options.jobs,
            budget=60 * options.budget_minutes,
        )
    print(write_tables(files))


if __name__ == "__main__":
    main()
