"""Table 2 of Kernel Density Decision Trees (2022): accuracy of single trees on twelve data sets.

    python papers/kernel_density/table2.py [--data-sets iris wine] [--columns tree_kernel tree_auto] [--repeats 1]

Data come from the folder SOFTWOOD_DATA, or from OpenML. Every finished fold is a line of table2_folds.csv, and a fold
that has its line is not run again: stop it and start it again as you like. At the end, and with --summary alone,
table2.csv and the table in docs/papers/kernel_density.md are written anew from those lines.

The protocol (section 4 of the paper): features brought to mean 0 and standard deviation 1, ten random folds, and inside
each training part another ten-fold cross-validation that chooses the one tuned parameter of the model.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import time
from collections.abc import Callable, Iterable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.tree import DecisionTreeClassifier

from softwood import KernelTreeClassifier, SoftTree
from softwood.datasets import load
from softwood.pruning import prune_cost_complexity

HERE = Path(__file__).resolve().parent
FOLDS_FILE = HERE / "table2_folds.csv"
SUMMARY_FILE = HERE / "table2.csv"
PUBLISHED_FILE = HERE / "published.csv"
PAGE = HERE.parents[1] / "docs" / "papers" / "kernel_density.md"

# smallest first, so that something can be seen early
DATA_SETS = (
    "iris", "wine", "glass", "image_segmentation_train", "sonar", "ionosphere", "yeast",
    "spambase", "optdigits", "pendigits", "satimage", "letter",
)  # fmt: skip
N_FOLDS = 10
# On small sets the draw of the folds moves the result by more than the differences of interest: there the ten folds are
# drawn ten times, and the mean is reported.
SMALL = 2000
REPEATS_SMALL, REPEATS_LARGE = 10, 1
FAR = 1.5  # points between published and ours that ask for an explanation

ALPHAS = np.geomspace(1e-5, 1.0, 21)
BANDWIDTHS = np.geomspace(1e-2, 1.0, 9)

# ---------------------------------------------------------------- models


class Model(NamedTuple):
    """A fitted model and the parameter that was chosen for it."""

    fitted: Any
    parameter: float


# training rows, labels and a seed -> the models of one or several columns
Fit = Callable[[np.ndarray, np.ndarray, int], dict[str, Model]]


def _inner_folds(seed: int) -> KFold:
    return KFold(N_FOLDS, shuffle=True, random_state=seed)


def fit_sklearn_tree(X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Model]:
    """Alpha by inner folds: one tree a fold, pruned at every alpha, as a tree fitted with that alpha would be."""
    X = X.astype(np.float32)  # as scikit-learn's tree sees it
    right = np.zeros(len(ALPHAS))
    for train, test in _inner_folds(seed).split(X):
        fitted = DecisionTreeClassifier(random_state=seed).fit(X[train], y[train])
        tree = as_soft_tree(fitted)
        for k, alpha in enumerate(ALPHAS):
            found = fitted.classes_[prune_cost_complexity(tree, alpha).predict_largest(X[test])]
            right[k] += np.mean(found == y[test])
    alpha = float(ALPHAS[int(np.argmax(right))])
    return {"tree_sklearn": Model(DecisionTreeClassifier(random_state=seed, ccp_alpha=alpha).fit(X, y), alpha)}


def as_soft_tree(fitted: DecisionTreeClassifier) -> SoftTree:
    """A fitted tree of scikit-learn as a `SoftTree`."""
    tree = fitted.tree_
    return SoftTree.from_nodes(
        children_left=tree.children_left, children_right=tree.children_right, feature=tree.feature,
        threshold=np.where(tree.children_left >= 0, tree.threshold, np.nan), value=tree.value[:, 0],
        mass=tree.weighted_n_node_samples, impurity=tree.impurity, n_features=tree.n_features,
    )  # fmt: skip


def fit_kernel_tree(X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Model]:
    """The bandwidth is chosen for the reading with the prediction kernel; the same tree is read without it, too."""
    kernel = KernelTreeClassifier(bandwidth="cv", cv=N_FOLDS, random_state=seed).fit(X, y)
    crisp = KernelTreeClassifier(bandwidth=kernel.bandwidth_, prediction_kernel=None).fit(X, y)
    return {
        "tree_kernel": Model(kernel, kernel.bandwidth_),
        "tree_kernel_read_crisp": Model(crisp, kernel.bandwidth_),
    }


def fit_crisp_tree(X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Model]:
    """The bandwidth is chosen for the crisp reading."""
    search = GridSearchCV(
        KernelTreeClassifier(prediction_kernel=None), {"bandwidth": BANDWIDTHS}, cv=_inner_folds(seed)
    )
    search.fit(X, y)
    return {"tree_crisp": Model(search, search.best_params_["bandwidth"])}


def fit_default_tree(X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, Model]:
    model = KernelTreeClassifier(random_state=seed).fit(X, y)
    return {"tree_auto": Model(model, model.bandwidth_)}


class Column(NamedTuple):
    """A column of the table: how it is headed and how it is fitted. A fit may serve several columns."""

    group: str
    title: str
    fit: Fit


# In the order of the table. Published figures are found in published.csv under the same name.
COLUMNS = {
    "tree_sklearn": Column("decision tree", "scikit-learn, pruned", fit_sklearn_tree),
    "tree_kernel": Column("decision tree", "kernel tree", fit_kernel_tree),
    "tree_crisp": Column("decision tree", "kernel tree read crisply", fit_crisp_tree),
    "tree_kernel_read_crisp": Column("decision tree", "same, bandwidth of the kernel reading", fit_kernel_tree),
    "tree_auto": Column("decision tree", "kernel tree, default", fit_default_tree),
}

# ---------------------------------------------------------------- folds and their file

FIELDS = ("data_set", "column", "repeat", "fold", "accuracy", "parameter", "seconds")


def read_standardised(name: str) -> tuple[np.ndarray, np.ndarray]:
    data = load(name)
    X = data.X.to_numpy(dtype=float)
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0), data.y


def read_folds(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as lines:
        return [
            {
                **row,
                "repeat": int(row["repeat"]),
                "fold": int(row["fold"]),
                **{name: float(row[name]) for name in FIELDS[4:]},
            }
            for row in csv.DictReader(lines)
        ]


def write_folds(path: Path, rows: list[dict[str, Any]], *, append: bool) -> None:
    new = not (append and path.exists())
    with path.open("w" if new else "a", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, FIELDS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows(
            {
                **row,
                "accuracy": f"{row['accuracy']:.6f}",
                "parameter": f"{row['parameter']:.6g}",
                "seconds": f"{row['seconds']:.3f}",
            }
            for row in rows
        )


def served_by(fit: Fit) -> list[str]:
    return [name for name, column in COLUMNS.items() if column.fit is fit]


def drop_folds(path: Path, data_sets: Iterable[str], columns: Iterable[str]) -> None:
    """Forget the folds of these columns, and of those that the same fits serve."""
    data_sets = set(data_sets)
    columns = {other for column in columns for other in served_by(COLUMNS[column].fit)}
    kept = [row for row in read_folds(path) if row["data_set"] not in data_sets or row["column"] not in columns]
    write_folds(path, kept, append=False)


def run(
    data_sets: Iterable[str],
    columns: Iterable[str],
    repeats: int | None = None,
    *,
    path: Path = FOLDS_FILE,
    n_folds: int = N_FOLDS,
    read: Callable[[str], tuple[np.ndarray, np.ndarray]] = read_standardised,
) -> None:
    """Append the missing folds to the file, each as soon as it is done."""
    done = {(row["data_set"], row["column"], row["repeat"], row["fold"]) for row in read_folds(path)}
    fits = dict.fromkeys(COLUMNS[column].fit for column in columns)  # each once, in the order of the columns
    start = time.monotonic()
    for name in data_sets:
        X, y = read(name)
        times = repeats or (REPEATS_SMALL if len(y) < SMALL else REPEATS_LARGE)
        for fit, repeat in product(fits, range(times)):
            folds = KFold(n_folds, shuffle=True, random_state=repeat).split(X)
            for fold, (train, test) in enumerate(folds):
                if all((name, column, repeat, fold) in done for column in served_by(fit)):
                    continue
                rows = run_fold(fit, X[train], y[train], X[test], y[test], repeat)
                rows = [{"data_set": name, "repeat": repeat, "fold": fold, **row} for row in rows]
                write_folds(path, rows, append=True)
                told = ", ".join(f"{row['column']} {row['accuracy']:.4f} at {row['parameter']:.3g}" for row in rows)
                print(
                    f"[{time.monotonic() - start:7.1f} s] {name} repeat {repeat + 1}/{times} "
                    f"fold {fold + 1}/{n_folds}: {told} ({rows[0]['seconds']:.1f} s)",
                    flush=True,
                )


def run_fold(
    fit: Fit, X_train: np.ndarray, y_train: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, seed: int
) -> list[dict[str, Any]]:
    began = time.monotonic()
    models = fit(X_train, y_train, seed)
    seconds = time.monotonic() - began
    return [
        {
            "column": column,
            "accuracy": float(np.mean(model.fitted.predict(X_test) == y_test)),
            "parameter": model.parameter,
            "seconds": seconds,
        }
        for column, model in models.items()
    ]


# ---------------------------------------------------------------- summary


class Figure(NamedTuple):
    """One cell of the table, in points.

    `error` is the standard error of the mean of one draw of ten folds, which is what a published figure is.
    `low` and `high` are the smallest and the largest such mean over the repeats.
    """

    data_set: str
    column: str
    published: float | None
    ours: float
    error: float
    repeats: int
    low: float
    high: float
    parameter: float
    seconds: float


def read_published(path: Path = PUBLISHED_FILE) -> dict[tuple[str, str], float]:
    with path.open(newline="", encoding="utf-8") as lines:
        return {
            (row["dataset"], column): float(row[column])
            for row in csv.DictReader(lines)
            for column in COLUMNS
            if row.get(column)
        }


def summarise(
    folds: list[dict[str, Any]], published: dict[tuple[str, str], float], n_folds: int = N_FOLDS
) -> list[Figure]:
    """Figures of all data sets and columns, in the order of the table.

    Only complete repeats count, and in a data set only those that all its columns have: so columns are compared on the
    same folds, also while a run is going on.
    """
    names = [*DATA_SETS, *sorted({row["data_set"] for row in folds} - set(DATA_SETS))]
    figures = []
    for name in names:
        complete = {column: _complete_repeats(folds, name, column, n_folds) for column in COLUMNS}
        present = [repeats for repeats in complete.values() if repeats]
        repeats = sorted(set.intersection(*present)) if present else []
        for column in COLUMNS:
            if not complete[column] or not repeats:
                continue
            rows = [
                row for row in folds if row["data_set"] == name and row["column"] == column and row["repeat"] in repeats
            ]
            runs = [np.array([100 * row["accuracy"] for row in rows if row["repeat"] == r]) for r in repeats]
            means = [float(run.mean()) for run in runs]
            variances = [run.var(ddof=1) / len(run) for run in runs if len(run) > 1]
            figures.append(
                Figure(
                    data_set=name,
                    column=column,
                    published=published.get((name, column)),
                    ours=statistics.fmean(means),
                    error=float(np.sqrt(np.mean(variances))) if variances else float("nan"),
                    repeats=len(repeats),
                    low=min(means),
                    high=max(means),
                    parameter=statistics.median(row["parameter"] for row in rows),
                    seconds=statistics.fmean(row["seconds"] for row in rows),
                )
            )
    return figures


def _complete_repeats(folds: list[dict[str, Any]], name: str, column: str, n_folds: int) -> set[int]:
    repeats = [row["repeat"] for row in folds if row["data_set"] == name and row["column"] == column]
    return {repeat for repeat in repeats if repeats.count(repeat) == n_folds}


SUMMARY_FIELDS = (
    "data_set", "column", "published", "ours", "standard_error", "difference", "repeats", "lowest_repeat",
    "highest_repeat", "median_parameter", "seconds_per_fold",
)  # fmt: skip


def write_summary(figures: list[Figure], path: Path = SUMMARY_FILE) -> None:
    with path.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(SUMMARY_FIELDS)
        for f in figures:
            told = ["", ""] if f.published is None else [f"{f.published:.1f}", f"{f.ours - f.published:.2f}"]
            writer.writerow(
                [
                    f.data_set, f.column, told[0], f"{f.ours:.2f}", f"{f.error:.2f}", told[1], f.repeats,
                    f"{f.low:.2f}", f"{f.high:.2f}", f"{f.parameter:.3g}", f"{f.seconds:.3g}",
                ]
            )  # fmt: skip


def markdown(figures: list[Figure]) -> str:
    """A table for each group of columns, published and ours side by side, and what is to be counted in them."""
    lines = []
    for group in dict.fromkeys(column.group for column in COLUMNS.values()):
        members = [f for f in figures if COLUMNS[f.column].group == group]
        if members:
            lines += [f"**{group}**", "", *_table(members), ""]
    return "\n".join(lines + _counts(figures) + _far(figures)) + "\n"


def _table(figures: list[Figure]) -> list[str]:
    cells = {(f.data_set, f.column): f for f in figures}
    names = list(dict.fromkeys(f.data_set for f in figures))
    columns = [column for column in COLUMNS if any(f.column == column for f in figures)]
    compared = {f.column for f in figures if f.published is not None}

    head = ["data set"]
    for column in columns:
        title = COLUMNS[column].title
        head += [f"{title}: published", "ours"] if column in compared else [title]
    rows = [head, ["---"] + ["---:"] * (len(head) - 1)]
    for name in names:
        row = [name]
        for column in columns:
            f = cells.get((name, column))
            if column in compared:
                row.append("" if f is None or f.published is None else f"{f.published:.1f}")
            row.append("" if f is None else f"{f.ours:.1f} ± {f.error:.1f}")
        rows.append(row)
    row = ["**mean**"]
    for column in columns:
        every = [cells.get((name, column)) for name in names]
        if column in compared:
            row.append(_mean([f.published if f else None for f in every]))
        row.append(_mean([f.ours if f else None for f in every]))
    return ["| " + " | ".join(row) + " |" for row in [*rows, row]]


def _mean(values: list[float | None]) -> str:
    """Only complete columns have a mean that can be compared."""
    return "" if None in values else f"{statistics.fmean(values):.2f}"


def _counts(figures: list[Figure]) -> list[str]:
    cells = {(f.data_set, f.column): f for f in figures}
    names = list(dict.fromkeys(f.data_set for f in figures))
    lines = []
    for column, words in (
        ("tree_kernel", "The kernel tree"),
        ("tree_crisp", "Read crisply, it"),
        ("tree_auto", "With the default bandwidth, it"),
    ):
        pairs = [(cells.get((name, column)), cells.get((name, "tree_sklearn"))) for name in names]
        pairs = [(ours, theirs) for ours, theirs in pairs if ours and theirs]
        if not pairs:
            continue
        not_better = [ours.data_set for ours, theirs in pairs if ours.ours <= theirs.ours]
        text = f"- {words} beats scikit-learn's pruned tree on {len(pairs) - len(not_better)} of {len(pairs)} data sets"
        lines.append(text + (f" (not on {', '.join(not_better)})." if not_better else "."))
    pairs = [(cells.get((name, "tree_auto")), cells.get((name, "tree_kernel"))) for name in names]
    gaps = {auto.data_set: auto.ours - cv.ours for auto, cv in pairs if auto and cv}
    if gaps:
        worst = min(gaps, key=lambda name: gaps[name])
        mean = statistics.fmean(gaps.values())
        lines.append(
            f"- The default bandwidth against the cross-validated one: {mean:+.2f} points on average "
            f"over {len(gaps)} data sets, at worst {gaps[worst]:+.2f} ({worst})."
        )
    return lines


def _far(figures: list[Figure]) -> list[str]:
    compared = [f for f in figures if f.published is not None and f.column != "tree_sklearn"]
    far = [f for f in compared if abs(f.ours - f.published) > FAR]
    near = len(compared) - len(far)
    lines = [f"- {near} of {len(compared)} kernel-tree figures lie within {FAR} points of the published one."]
    if far:
        lines[0] += " The others:"
    for f in far:
        size = abs(f.ours - f.published) / f.error if f.error > 0 else float("inf")
        spread = f"; from {f.low:.1f} to {f.high:.1f} over {f.repeats} draws of the folds" if f.repeats > 1 else ""
        lines.append(
            f"    - {f.data_set}, {COLUMNS[f.column].title}: {f.ours:.1f} against {f.published:.1f}, "
            f"{f.ours - f.published:+.1f} points or {size:.1f} standard errors{spread}."
        )
    return lines


def write_page(text: str, path: Path = PAGE) -> None:
    """Put the text between the markers of the page."""
    begin, end = "<!-- table 2: begin, written by papers/kernel_density/table2.py -->", "<!-- table 2: end -->"
    page = path.read_text(encoding="utf-8") if path.exists() else f"{begin}\n{end}\n"
    if begin not in page or end not in page:
        raise ValueError(f"{path} must have the lines {begin!r} and {end!r}.")
    before, rest = page.split(begin, 1)
    after = rest.split(end, 1)[1]
    path.write_text(f"{before}{begin}\n\n{text}\n{end}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-sets", nargs="+", default=DATA_SETS, choices=DATA_SETS, metavar="NAME")
    parser.add_argument("--columns", nargs="+", default=tuple(COLUMNS), choices=tuple(COLUMNS), metavar="NAME")
    parser.add_argument(
        "--repeats", type=int, help=f"draws of the ten folds ({REPEATS_SMALL} below {SMALL} rows, else {REPEATS_LARGE})"
    )
    parser.add_argument("--fresh", action="store_true", help="run the chosen data sets and columns anew")
    parser.add_argument("--summary", action="store_true", help="run nothing, only write the tables")
    options = parser.parse_args()
    if options.fresh:
        drop_folds(FOLDS_FILE, options.data_sets, options.columns)
    if not options.summary:
        run(options.data_sets, options.columns, options.repeats)
    figures = summarise(read_folds(FOLDS_FILE), read_published())
    write_summary(figures)
    text = markdown(figures)
    write_page(text)
    print(text)


if __name__ == "__main__":
    main()
