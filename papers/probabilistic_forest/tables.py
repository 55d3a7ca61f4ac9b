"""Experiments in the way of Probabilistic Random Forest (Reis, Baron and Shahaf 2019): noisy columns, noisy labels.

    python papers/probabilistic_forest/tables.py [--prf FOLDER] [--seeds 1] [--budget-minutes 60] [--summary]

FOLDER is a clone of github.com/ireis/PRF, whose code needs numba; without it, and without an installed package PRF, its
lines are skipped. Every finished run is a line of runs.csv, and a run that has its line is not done again. At the end,
and with --summary alone, the tables in docs/papers/probabilistic_forest.md and the picture are written from the lines.

The data are scikit-learn's make_classification with 15 columns, 10 of them informative, and two classes: 1 000 training
rows and 4 000 test rows. The text of the paper was not at hand: settings follow its abstract, and the levels of noise
are ours (see `make_table`). Seconds are processor time of fitting and predicting, one thread, after a first small run.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from softwood import KernelBoostingClassifier, KernelForestClassifier

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # a script finds only what is beside it

from comparisons.results import Results, write_sections
from papers.probabilistic_forest.summary import sections, write_picture

HERE = Path(__file__).resolve().parent
SCRIPT = "papers/probabilistic_forest/tables.py"
RUNS = HERE / "runs.csv"
PAGE = HERE.parents[1] / "docs" / "papers" / "probabilistic_forest.md"
IMAGES = HERE.parents[1] / "docs" / "images"
RESULTS = Results(
    about={"setting": str, "level": float, "model": str, "seed": int}, figures={"accuracy": float, "seconds": float}
)
N_TRAIN, N_TEST, N_COLUMNS = 1000, 4000, 15
# Boosting without a choice of settings; chosen on seeds 0 to 2.
SMALL = {"bandwidth": 0.55, "max_iter": 50, "learning_rate": 0.18, "max_leaf_nodes": 24, "min_mass": 20}
FIRST_SEED = 10  # what models are given was chosen on seeds 0 to 2
LEVELS = {
    "simple noise": (0.5, 1.0),
    "complex noise": (0.5, 1.0),
    "noisy test rows": (0.5, 1.0),
    "simple labels": (0.5, 0.9),
    "complex labels": (0.5, 0.9),
}


class Table(NamedTuple):
    """Readings with their standard deviations, noisy labels, the probabilities of the classes, and true test labels."""

    X: np.ndarray
    deviations: np.ndarray
    y: np.ndarray
    shares: np.ndarray
    X_test: np.ndarray
    deviations_test: np.ndarray
    y_test: np.ndarray


@cache
def make_table(setting: str, level: float, seed: int) -> Table:
    """The data of one run."""
    n = N_TRAIN + N_TEST
    X, y = make_classification(n, N_COLUMNS, n_informative=10, n_redundant=0, n_classes=2, random_state=seed)
    rng = np.random.default_rng(seed)
    by_column, by_row = rng.uniform(size=(1, N_COLUMNS)), rng.uniform(size=(n, 1))
    deviations = np.zeros((n, N_COLUMNS))
    if setting == "simple noise":  # a column has the same noise in all rows
        deviations += by_column * level
    elif setting in ("complex noise", "noisy test rows"):  # differs by column and by row
        deviations += by_column * by_row * 2 * level
    if setting == "noisy test rows":
        deviations[:N_TRAIN] = 0.0
    deviations *= X.std(axis=0)
    X = X + deviations * rng.normal(size=X.shape)
    wrong = np.zeros(N_TRAIN)  # known probability that a label is wrong
    if setting == "simple labels":
        wrong = rng.uniform(0.0, level, N_TRAIN)
    elif setting == "complex labels":  # these labels say nothing, all others are right
        wrong = np.where(rng.random(N_TRAIN) < level, 0.5, 0.0)
    labels = np.where(rng.random(N_TRAIN) < wrong, 1 - y[:N_TRAIN], y[:N_TRAIN])
    shares = np.where(labels[:, None] == [0, 1], 1 - wrong[:, None], wrong[:, None])
    train, test = slice(N_TRAIN), slice(N_TRAIN, None)
    return Table(X[train], deviations[train], labels, shares, X[test], deviations[test], y[test])


def of_prf(table: Table, seed: int, n_trees: int) -> np.ndarray:
    from PRF import prf

    np.random.seed(seed)  # noqa: NPY002 (the code of the paper draws from the global generator)
    model = prf(n_estimators=n_trees, bootstrap=True, keep_proba=0.05)
    model.fit(X=table.X.copy(), dX=table.deviations.copy(), py=table.shares)
    return np.asarray(model.predict(table.X_test.copy(), dX=table.deviations_test.copy()))


def ours(kind: type, given: bool, in_fit: float = 0.0, **settings: Any) -> Callable[[Table, int], np.ndarray]:
    """A model of softwood, which knows the errors and the probabilities of labels, or not.

    in_fit : part of the errors that `fit` gets; noise has blurred the training rows already
    """

    def predict(table: Table, seed: int) -> np.ndarray:
        model = kind(random_state=seed, **settings)
        if not given:
            return model.fit(table.X, table.y).predict(table.X_test)
        shares = table.shares if np.any(table.shares % 1) else table.y
        model.fit(table.X, shares, measurement_error=half_widths(in_fit * table.deviations))
        return model.predict(table.X_test, measurement_error=half_widths(table.deviations_test))

    return predict


def half_widths(deviations: np.ndarray) -> np.ndarray | None:
    """Of the boxes with these standard deviations; None if they are all 0."""
    return np.sqrt(3.0) * deviations if deviations.any() else None


def of_sklearn(table: Table, seed: int) -> np.ndarray:
    return RandomForestClassifier(100, random_state=seed).fit(table.X, table.y).predict(table.X_test)


MODELS: dict[str, Callable[[Table, int], np.ndarray]] = {
    "forest_sklearn": of_sklearn,
    "prf_10": lambda table, seed: of_prf(table, seed, 10),
    "prf_100": lambda table, seed: of_prf(table, seed, 100),
    "forest": ours(KernelForestClassifier, given=False),
    "forest_given": ours(KernelForestClassifier, given=True),
    "forest_crisp_given": ours(KernelForestClassifier, given=True, bandwidth=0.0),
    "forest_narrow_given": ours(KernelForestClassifier, given=True, bandwidth=0.1),
    "forest_narrow_given_in_fit": ours(KernelForestClassifier, given=True, in_fit=0.5, bandwidth=0.1),
    "boosting": ours(KernelBoostingClassifier, given=False),
    "boosting_given": ours(KernelBoostingClassifier, given=True),
    "boosting_given_in_fit": ours(KernelBoostingClassifier, given=True, in_fit=0.5),
    "boosting_fast_given": ours(KernelBoostingClassifier, given=True, quality="fast"),
    "boosting_small_given": ours(KernelBoostingClassifier, given=True, **SMALL),
}


def run_one(setting: str, level: float, model: str, seed: int) -> dict[str, Any]:
    """Accuracy in percent, and seconds of processor time."""
    table = make_table(setting, level, seed)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = MODELS[model](table, seed)
    seconds = time.process_time() - began
    return {"accuracy": 100.0 * float(np.mean(predicted == table.y_test)), "seconds": seconds}


def repeat(line: dict[str, Any]) -> dict[str, Any]:
    """The figures of a line, from the present code."""
    return run_one(*RESULTS.place(line))


def run(path: Path, n_seeds: int, budget_minutes: float) -> None:
    """Append the missing runs to the file, seed by seed."""
    done, end = RESULTS.done(path), time.monotonic() + 60 * budget_minutes
    is_warm: set[str] = set()
    for seed in range(FIRST_SEED, FIRST_SEED + n_seeds):
        for levels in zip(*(reversed(levels) for levels in LEVELS.values()), strict=True):  # the largest levels first
            for setting, level in zip(LEVELS, levels, strict=True):
                for model in MODELS:
                    place = (setting, level, model, seed)
                    if place in done or time.monotonic() > end:
                        continue
                    try:
                        if model not in is_warm:  # what is compiled at the first call is not counted
                            small = make_table("simple noise", 1.0, 99)
                            MODELS[model](Table(*(part[:60] for part in small)), 0)
                            is_warm.add(model)
                        found = run_one(*place)
                    except ImportError as reason:
                        print(f"Skipped {model}: {reason}", flush=True)
                        continue
                    RESULTS.append(path, [{**dict(zip(RESULTS.about, place, strict=True)), **found}])
                    print(*place, f"{found['accuracy']:.2f} {found['seconds']:.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prf", type=Path, help="a clone of github.com/ireis/PRF")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--budget-minutes", type=float, default=600.0)
    parser.add_argument("--summary", action="store_true", help="run nothing, only write tables and the picture")
    options = parser.parse_args()
    if options.prf is not None:
        sys.path.insert(0, str(options.prf))
    if not options.summary:
        run(RUNS, options.seeds, options.budget_minutes)
    rows = RESULTS.read(RUNS)
    write_sections(PAGE, sections(rows), SCRIPT, rows)
    write_picture(IMAGES / "probabilistic_forest.png", rows)


if __name__ == "__main__":
    main()
