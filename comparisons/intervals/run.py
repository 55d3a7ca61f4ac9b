"""Intervals and distributions of softwood beside those of other packages, on real tables, three folds.

    python comparisons/intervals/run.py [--data-sets concrete abalone] [--models NAME] [--folds 0 1] [--summary]

Data come from the folder SOFTWOOD_DATA, or from OpenML; small tables come first, and of large ones a sample of 2 000
rows is taken. Every result is a line of runs.csv, and what has its line is not run again: stop it and start it again as
you like. At the end, and with --summary alone, the tables of docs/comparisons/intervals.md are made from those lines.
Needs: pip install mapie crepes lightgbm quantile-forest ngboost catboost
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from softwood.datasets import Dataset, available, load_dataset

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # a script finds only what is beside it

from comparisons.intervals.models import COVERAGES, MODELS, Fold, run_model  # noqa: E402
from comparisons.results import Results, write_sections  # noqa: E402

RUNS = ROOT / "comparisons" / "intervals" / "runs.csv"
PAGE = ROOT / "docs" / "comparisons" / "intervals.md"
SCRIPT = "comparisons/intervals/run.py"
RESULTS = Results(
    about={"data_set": str, "rows": int, "fold": int, "model": str},
    figures={
        **{f"coverage_{round(100 * c)}": float for c in COVERAGES},
        "interval_score": float,
        "crps": float,
        "seconds": float,
    },
)
N_FOLDS, MOST_ROWS, SEED = 3, 2_000, 0
OURS = [name for name in MODELS if name.startswith("softwood")]


def sample_of(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """A sample of the rows, with numbered categories and the median for missing values, and their numbers."""
    rows = np.random.default_rng(SEED).permutation(len(data.y))[:MOST_ROWS]
    X = pd.DataFrame(data.X).iloc[rows]
    codes = {name: X[name].astype("category").cat.codes for name in X.columns if X[name].dtype.kind not in "iufb"}
    X = X.assign(**codes).astype(np.float64)
    return X.fillna(X.median()).to_numpy(), rows


def folds_of(data: Dataset) -> Iterator[Fold]:
    """The folds of a sample of a table."""
    matrix, rows = sample_of(data)
    y = np.asarray(data.y, dtype=np.float64)[rows]
    for train, test in KFold(N_FOLDS).split(matrix):
        yield Fold(matrix[train], y[train], matrix[test], y[test])


def run_data_set(data: Dataset, options: argparse.Namespace) -> None:
    """Run what is missing for one table; each line is written at once."""
    done = RESULTS.done(options.runs)
    for number, fold in enumerate(folds_of(data)):
        for model in options.models:
            about = {"data_set": data.name, "rows": len(data.y), "fold": number, "model": model}
            if number in options.folds and RESULTS.place(about) not in done:
                RESULTS.append(options.runs, [{**about, **run_model(model, fold)}])
    print(f"{data.name}: done", file=sys.stderr, flush=True)


def repeat(line: dict[str, Any]) -> dict[str, Any]:
    """The figures of a line, from the present code."""
    return run_model(line["model"], next(islice(folds_of(load_dataset(line["data_set"])), line["fold"], None)))


def sections(lines: list[dict[str, Any]]) -> dict[str, str]:
    """The tables of the page."""
    frame = pd.DataFrame(lines).drop(columns="version")
    all_folds = frame.groupby(["data_set", "model"]).mean(numeric_only=True)
    means = _common_folds(frame).groupby(["data_set", "model"]).mean(numeric_only=True)
    score, crps = means["interval_score"].unstack("model"), means["crps"].unstack("model").dropna(axis=1, how="all")
    return {
        "coverage": _coverages(all_folds),
        "scores": _against(frame.set_index(["data_set", "fold", "model"])["interval_score"].unstack("model")),
        "crps": _ranks(crps),
        "tables": _tables(score, crps),
    }


def _common_folds(frame: pd.DataFrame) -> pd.DataFrame:
    """The lines of the folds that all models with results on a table have: scores are compared on the same rows."""
    n_models = frame.groupby("data_set")["model"].transform("nunique")
    return frame[frame.groupby(["data_set", "fold"])["model"].transform("nunique") == n_models]


def _coverages(means: pd.DataFrame) -> str:
    rows = []
    for model in MODELS:
        if model not in means.index.get_level_values("model"):
            continue
        own = means.xs(model, level="model")
        row = [model, str(len(own))]
        for coverage in COVERAGES:
            found = own[f"coverage_{round(100 * coverage)}"].dropna()
            near = (found - coverage).abs() <= 0.03
            row.append(f"{found.mean():.3f} ({100 * near.mean():.0f} %)" if len(found) else "")
        rows.append([*row, f"{own['seconds'].median():.2f}"])
    return table_of(["", "tables", *(f"asked for {coverage:g}" for coverage in COVERAGES), "seconds"], rows)


def _against(score: pd.DataFrame) -> str:
    """Tables on which each model of softwood is better, over the folds that both have."""
    others = [name for name in MODELS if name in score.columns and name not in OURS]
    rows = []
    for own in OURS:
        if own in score.columns:
            cells = []
            for other in others:
                both = score[[own, other]].dropna().groupby("data_set").mean()
                cells.append(f"{(both[own] < both[other]).sum()} of {len(both)}")
            rows.append([own, *cells])
    return table_of(["", *others], rows)


def _ranks(crps: pd.DataFrame) -> str:
    both = crps.dropna()
    ranks = both.rank(axis=1).mean().sort_values()
    return table_of(
        ["", "mean rank", "mean CRPS"], [[k, f"{ranks[k]:.2f}", f"{both[k].mean():.4f}"] for k in ranks.index]
    )


def _tables(score: pd.DataFrame, crps: pd.DataFrame) -> str:
    parts = []
    for title, frame in (("interval score at coverage 0.9", score), ("CRPS", crps)):
        names = [name for name in MODELS if name in frame.columns]
        rows = [[table, *(_number(frame.loc[table, name]) for name in names)] for table in frame.index]
        parts.append(table_of([title, *names], rows))
    return "\n\n".join(parts)


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.3f}"


def table_of(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def command(
    about: str | None,
    task: str,
    models: Iterable[str],
    files: tuple[Path, Path],
    run: Callable[[Dataset, argparse.Namespace], None],
) -> argparse.Namespace:
    """The options of the command line, after running what is missing for the data sets of a task.

    Parameters
    ----------
    files : the file of results, and the page
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", nargs="+", default=None, metavar="NAME")
    parser.add_argument("--models", nargs="+", default=list(models), choices=list(models), metavar="MODEL")
    parser.add_argument("--folds", nargs="+", type=int, default=list(range(N_FOLDS)), metavar="N")
    parser.add_argument("--runs", type=Path, default=files[0], help="the file of results")
    parser.add_argument("--page", type=Path, default=files[1], help="the page with the tables")
    parser.add_argument("--summary", action="store_true", help="only write the page")
    options = parser.parse_args()
    if not options.summary:
        data_sets = [data for data in map(load_dataset, options.data_sets or available()) if data.task == task]
        with threadpool_limits(1):
            for data in sorted(data_sets, key=lambda data: len(data.y)):
                run(data, options)
    return options


def main() -> None:
    options = command(__doc__, "regression", MODELS, (RUNS, PAGE), run_data_set)
    lines = RESULTS.read(options.runs)
    write_sections(options.page, sections(lines), SCRIPT, lines)


if __name__ == "__main__":
    main()
