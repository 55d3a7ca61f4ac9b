"""Sets of classes of softwood beside those of other packages, on real tables, three folds.

    python comparisons/intervals/sets.py [--data-sets iris yeast] [--models NAME] [--folds 0 1] [--summary]

As `run.py` beside it, with tables of classes: of large ones a sample of 2 000 rows is taken, every result is a line of
sets.csv, and what has its line is not run again. Sets may be empty, so that models that are right more often than asked
for do not have to cover more. Test rows of classes that the training rows lack are left out.
Needs: pip install mapie crepes lightgbm
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import KFold

from softwood import (
    BuddingTreeClassifier,
    EndToEndTreeClassifier,
    KernelBoostingClassifier,
    KernelExtraTreesClassifier,
    KernelForestClassifier,
    KernelTreeClassifier,
    SoftTreeClassifier,
)
from softwood.datasets import Dataset, load_dataset

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # a script finds only what is beside it

from comparisons.intervals.models import COVERAGES, SEED, Fold  # noqa: E402
from comparisons.intervals.run import N_FOLDS, command, sample_of, table_of  # noqa: E402
from comparisons.results import Results, write_sections  # noqa: E402

RUNS = ROOT / "comparisons" / "intervals" / "sets.csv"
PAGE = ROOT / "docs" / "comparisons" / "sets.md"
SCRIPT = "comparisons/intervals/sets.py"
NAMES = [str(round(100 * coverage)) for coverage in COVERAGES]
RESULTS = Results(
    about={"data_set": str, "rows": int, "classes": int, "fold": int, "model": str},
    figures={f"{what}_{name}": float for what in ("coverage", "size") for name in NAMES} | {"seconds": float},
)


def folds_of(data: Dataset) -> Iterator[Fold]:
    """The folds of a sample of a table; classes are numbered, and test rows are of classes of the training rows."""
    matrix, rows = sample_of(data)
    y = np.unique(np.asarray(data.y), return_inverse=True)[1][rows]
    for train, test in KFold(N_FOLDS).split(matrix):
        classes, found = np.unique(y[train], return_inverse=True)
        test = test[np.isin(y[test], classes)]
        yield Fold(matrix[train], found, matrix[test], np.searchsorted(classes, y[test]))


def run_model(name: str, fold: Fold) -> dict[str, float]:
    """Shares of sets that contain the class, mean numbers of classes in a set, and seconds."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sets = MODELS[name](fold)
    seconds = time.process_time() - begin
    rows = np.arange(len(fold.y_test))
    return {
        **{f"coverage_{k}": float(own[rows, fold.y_test].mean()) for k, own in zip(NAMES, sets, strict=True)},
        **{f"size_{k}": float(own.sum(axis=1).mean()) for k, own in zip(NAMES, sets, strict=True)},
        "seconds": seconds,
    }


def _fitted(model: Any) -> Callable[[Fold], list[np.ndarray]]:
    """A model of softwood with the scores that its fit leaves."""

    def sets(fold: Fold) -> list[np.ndarray]:
        fitted = clone(model).fit(fold.X, fold.y)
        return [fitted.predict_set(fold.X_test, coverage, allow_empty=True) for coverage in COVERAGES]

    return sets


def _mapie(fold: Fold) -> list[np.ndarray]:
    from lightgbm import LGBMClassifier
    from mapie.classification import CrossConformalClassifier

    model = CrossConformalClassifier(
        LGBMClassifier(n_jobs=1, verbose=-1, random_state=SEED), confidence_level=list(COVERAGES),
        conformity_score="lac", cv=5, random_state=SEED,
    )  # fmt: skip
    found = model.fit_conformalize(fold.X, fold.y).predict_set(fold.X_test)[1]
    return [found[:, :, k].astype(bool) for k in range(len(COVERAGES))]


def _crepes(fold: Fold) -> list[np.ndarray]:
    from crepes import WrapClassifier
    from sklearn.ensemble import RandomForestClassifier

    model = WrapClassifier(RandomForestClassifier(oob_score=True, random_state=SEED))
    model.fit(fold.X, fold.y)
    model.calibrate(fold.X, fold.y, oob=True, seed=SEED)
    p_values = np.asarray(model.predict_p(fold.X_test, seed=SEED))
    return [p_values > 1 - coverage for coverage in COVERAGES]


MODELS: dict[str, Callable[[Fold], list[np.ndarray]]] = {
    "softwood forest": _fitted(KernelForestClassifier(random_state=SEED)),
    "softwood extra trees": _fitted(KernelExtraTreesClassifier(random_state=SEED)),
    "softwood tree": _fitted(KernelTreeClassifier(random_state=SEED)),
    "softwood boosting": _fitted(KernelBoostingClassifier(random_state=SEED)),
    "softwood soft tree": _fitted(SoftTreeClassifier(random_state=SEED)),
    "softwood budding tree": _fitted(BuddingTreeClassifier(random_state=SEED)),
    "softwood end-to-end tree": _fitted(EndToEndTreeClassifier(random_state=SEED)),
    "MAPIE": _mapie,
    "crepes": _crepes,
}


def run_data_set(data: Dataset, options: argparse.Namespace) -> None:
    """Run what is missing for one table; each line is written at once."""
    done = RESULTS.done(options.runs)
    for number, fold in enumerate(folds_of(data)):
        for model in options.models:
            classes = len(np.unique(np.asarray(data.y)))
            about = {"data_set": data.name, "rows": len(data.y), "classes": classes, "fold": number, "model": model}
            if number in options.folds and RESULTS.place(about) not in done:
                RESULTS.append(options.runs, [{**about, **run_model(model, fold)}])
    print(f"{data.name}: done", file=sys.stderr, flush=True)


def repeat(line: dict[str, Any]) -> dict[str, Any]:
    """The figures of a line, from the present code."""
    return run_model(line["model"], next(islice(folds_of(load_dataset(line["data_set"])), line["fold"], None)))


def sections(lines: list[dict[str, Any]]) -> dict[str, str]:
    """The tables of the page; models are compared on the tables and folds that all of them have."""
    frame = pd.DataFrame(lines).drop(columns="version")
    every = frame.groupby(["data_set", "fold"])["model"].transform("nunique") == frame["model"].nunique()
    means = frame[every].groupby(["data_set", "model"]).mean(numeric_only=True)
    names = [name for name in MODELS if name in means.index.get_level_values("model")]
    rows, tables = [], means.index.get_level_values("data_set").unique()
    for model in names:
        own = means.xs(model, level="model")
        row = [model]
        for k, coverage in zip(NAMES, COVERAGES, strict=True):
            near = (own[f"coverage_{k}"] - coverage).abs() <= 0.03
            row.append(f"{own[f'coverage_{k}'].mean():.3f} ({100 * near.mean():.0f} %)")
        row += [f"{own[f'size_{k}'].mean():.2f}" for k in NAMES]
        rows.append([*row, f"{own['seconds'].median():.2f}"])
    head = ["", *(f"covered, asked for {coverage:g}" for coverage in COVERAGES)]
    head += [*(f"classes, {coverage:g}" for coverage in COVERAGES), "seconds"]
    size = means["size_90"].unstack("model")[names]
    each = [[table, *(f"{size.loc[table, name]:.2f}" for name in names)] for table in tables]
    return {"sets": table_of(head, rows), "tables": table_of(["mean number of classes, 0.9", *names], each)}


def main() -> None:
    options = command(__doc__, "classification", MODELS, (RUNS, PAGE), run_data_set)
    lines = RESULTS.read(options.runs)
    write_sections(options.page, sections(lines), SCRIPT, lines)


if __name__ == "__main__":
    main()
