"""The summary of table 2: means of the folds, published and ours side by side, and what is to be counted in them."""

from __future__ import annotations

import csv
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from papers.kernel_density.table2_columns import COLUMNS, DATA_SETS, FAMILIES, GROUPS, N_FOLDS

PUBLISHED_FILE = Path(__file__).resolve().with_name("published.csv")
FAR = 1.5  # points between published and ours that ask for an explanation

# data set and column -> points
Published = dict[tuple[str, str], float]

# ---------------------------------------------------------------- figures


class Figure(NamedTuple):
    """One cell of the table of a group, in points.

    `error` is the standard error of the mean of one draw of ten folds, which is what a published figure is.
    `low` and `high` are the smallest and the largest such mean over the repeats.
    """

    group: str
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


def read_published(path: Path = PUBLISHED_FILE) -> Published:
    with path.open(newline="", encoding="utf-8") as lines:
        return {
            (row["dataset"], column): float(row[column])
            for row in csv.DictReader(lines)
            for column in COLUMNS
            if row.get(column)
        }


def summarise(folds: list[dict[str, Any]], published: Published, n_folds: int = N_FOLDS) -> list[Figure]:
    """Figures of all groups, data sets and columns, in the order of the tables.

    Only complete repeats count, and in a data set only those that all its columns of the group have: so columns are
    compared on the same folds, also while a run is going on, and a group does not lose repeats that another has not.
    """
    complete = complete_repeats(folds, n_folds)
    names = [*DATA_SETS, *sorted({row["data_set"] for row in folds} - set(DATA_SETS))]
    figures = []
    for group, columns in GROUPS.items():
        for name in names:
            runs = {column: complete[name, column] for column in columns if (name, column) in complete}
            shared = sorted(set.intersection(*map(set, runs.values()))) if runs else []
            if shared:
                figures += [
                    _figure(group, name, column, [repeats[r] for r in shared], published.get((name, column)))
                    for column, repeats in runs.items()
                ]
    return figures


def complete_repeats(
    folds: list[dict[str, Any]], n_folds: int
) -> dict[tuple[str, str], dict[int, list[dict[str, Any]]]]:
    """Lines of the folds by data set and column, and within them by repeat; only repeats with all folds."""
    rows: dict[tuple[str, str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in folds:
        rows[row["data_set"], row["column"], row["repeat"]].append(row)
    complete: dict[tuple[str, str], dict[int, list[dict[str, Any]]]] = defaultdict(dict)
    for (name, column, repeat), members in rows.items():
        if len(members) == n_folds:
            complete[name, column][repeat] = members
    return dict(complete)


def _figure(group: str, name: str, column: str, repeats: list[list[dict[str, Any]]], published: float | None) -> Figure:
    runs = [np.array([100 * row["accuracy"] for row in rows]) for rows in repeats]
    means = [float(run.mean()) for run in runs]
    variances = [run.var(ddof=1) / len(run) for run in runs if len(run) > 1]
    return Figure(
        group=group,
        data_set=name,
        column=column,
        published=published,
        ours=statistics.fmean(means),
        error=float(np.sqrt(np.mean(variances))) if variances else float("nan"),
        repeats=len(repeats),
        low=min(means),
        high=max(means),
        parameter=statistics.median(row["parameter"] for rows in repeats for row in rows),
        seconds=statistics.median(row["seconds"] for rows in repeats for row in rows),
    )


SUMMARY_FIELDS = (
    "group", "data_set", "column", "published", "ours", "standard_error", "difference", "repeats", "lowest_repeat",
    "highest_repeat", "median_parameter", "seconds_per_fold",
)  # fmt: skip


def write_summary(figures: list[Figure], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(SUMMARY_FIELDS)
        for f in figures:
            told = ["", ""] if f.published is None else [f"{f.published:.1f}", f"{f.ours - f.published:.2f}"]
            parameter = "" if math.isnan(f.parameter) else f"{f.parameter:.3g}"
            writer.writerow(
                [
                    f.group, f.data_set, f.column, told[0], f"{f.ours:.2f}", f"{f.error:.2f}", told[1], f.repeats,
                    f"{f.low:.2f}", f"{f.high:.2f}", parameter, f"{f.seconds:.3g}",
                ]
            )  # fmt: skip


# ---------------------------------------------------------------- tables of families


def family_sections(figures: list[Figure], published: Published) -> list[str]:
    """Lines of the page: a table for each family, and what is to be counted in it."""
    lines = []
    for family in FAMILIES:
        members = [f for f in figures if f.group == family]
        if members:
            found = [*_counts(members, published), *_gaps(members), *_far(members)]
            lines += [f"**{family}**", "", *table(members, published=True), "", *found, ""]
    return lines


def table(
    figures: list[Figure], *, published: bool, mark: Callable[[Figure, str], str] = lambda _, text: text
) -> list[str]:
    """The figures of a group, with a row of means; `mark` may set a cell off."""
    cells = {(f.data_set, f.column): f for f in figures}
    names, columns = data_sets_of(figures), columns_of(figures)
    compared = {f.column for f in figures if published and f.published is not None}

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
            row.append("" if f is None else mark(f, f"{f.ours:.1f} ± {f.error:.1f}"))
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


def data_sets_of(figures: list[Figure]) -> list[str]:
    return list(dict.fromkeys(f.data_set for f in figures))


def columns_of(figures: list[Figure]) -> list[str]:
    """Columns that have figures, in the order of their group."""
    present = {f.column for f in figures}
    return [column for column in GROUPS[figures[0].group] if column in present]


# ---------------------------------------------------------------- what is counted

# Columns, of which the best counts, and the column that they are held against. The paper counts the better reading.
CONTESTS = {
    "decision tree": (
        (("tree_kernel",), "tree_sklearn"),
        (("tree_crisp",), "tree_sklearn"),
        (("tree_kernel", "tree_crisp"), "tree_sklearn"),
        (("tree_auto",), "tree_sklearn"),
    ),
    "random forest": (
        (("forest_kernel",), "forest_sklearn"),
        (("forest_crisp",), "forest_sklearn"),
        (("forest_kernel", "forest_crisp"), "forest_sklearn"),
        (("default_forest",), "forest_sklearn"),
    ),
    "extra trees": (
        (("extra_kernel",), "extra_sklearn"),
        (("extra_crisp",), "extra_sklearn"),
        (("extra_kernel", "extra_crisp"), "extra_sklearn"),
        (("default_extra",), "extra_sklearn"),
    ),
    "boosting": (
        (("boost_kernel",), "xgboost"),
        (("boost_kernel",), "hgb_default"),
        (("boost_kernel",), "lightgbm_default"),
    ),
}
# Bandwidth chosen by the default, and with more effort.
DEFAULTS = {
    "decision tree": ("tree_auto", "tree_kernel"),
    "random forest": ("default_forest", "forest_kernel"),
    "extra trees": ("default_extra", "extra_kernel"),
}

# data set -> column -> points
Scores = dict[str, dict[str, float]]


def scores_of(cells: Iterable[tuple[str, str, float]]) -> Scores:
    scores: Scores = defaultdict(dict)
    for name, column, points in cells:
        scores[name][column] = points
    return dict(scores)


def contest(scores: Scores, ours: Iterable[str], theirs: Iterable[str]) -> dict[int, list[str]]:
    """Data sets by whether the best of `ours` is better (1), equal (0) or worse (-1), to the decimal that is printed.

    Only data sets that have all of these columns.
    """
    outcome: dict[int, list[str]] = {1: [], 0: [], -1: []}
    for name, points in scores.items():
        if all(column in points for column in (*ours, *theirs)):
            difference = round(max(points[c] for c in ours), 1) - round(max(points[c] for c in theirs), 1)
            outcome[int(np.sign(difference))].append(name)
    return outcome


def told(outcome: dict[int, list[str]]) -> str:
    n = sum(map(len, outcome.values()))
    text = f"better on {len(outcome[1])} of {n} data sets"
    if outcome[0]:
        text += f", equal on {len(outcome[0])} ({', '.join(outcome[0])})"
    if outcome[-1]:
        text += f", worse on {len(outcome[-1])} ({', '.join(outcome[-1])})"
    return text


def _counts(figures: list[Figure], published: Published) -> list[str]:
    here = scores_of((f.data_set, f.column, f.ours) for f in figures)
    there = scores_of((name, column, points) for (name, column), points in published.items())
    lines = []
    for ours, theirs in CONTESTS[figures[0].group]:
        outcome = contest(here, ours, [theirs])
        names = {name for members in outcome.values() for name in members}
        if not names:
            continue
        titles = [COLUMNS[column].title for column in ours]
        who = titles[0] if len(ours) == 1 else f"the better of {' and '.join(titles)}"
        text = f"- {who[0].upper()}{who[1:]} against {COLUMNS[theirs].title}: {told(outcome)}."
        then = contest({name: there[name] for name in here if name in names & there.keys()}, ours, [theirs])
        lines.append(text + (f" Published: {told(then)}." if any(then.values()) else ""))
    return lines


def _gaps(figures: list[Figure]) -> list[str]:
    default, chosen = DEFAULTS.get(figures[0].group, ("", ""))
    scores = scores_of((f.data_set, f.column, f.ours) for f in figures)
    gaps = {
        name: points[default] - points[chosen]
        for name, points in scores.items()
        if default in points and chosen in points
    }
    if not gaps:
        return []
    worst = min(gaps, key=lambda name: gaps[name])
    return [
        f"- {COLUMNS[default].title.capitalize()} against {COLUMNS[chosen].title}: "
        f"{statistics.fmean(gaps.values()):+.2f} points on average over {len(gaps)} data sets, "
        f"at worst {gaps[worst]:+.2f} ({worst})."
    ]


def _far(figures: list[Figure]) -> list[str]:
    """How many figures lie near the published ones; kernel models that do not are named."""
    compared = [f for f in figures if f.published is not None]
    ours, others = (
        [f for f in compared if COLUMNS[f.column].is_baseline is is_baseline] for is_baseline in (False, True)
    )
    counts = [
        f"{sum(not _is_far(f) for f in members)} of {len(members)} figures of {whose}"
        for members, whose in ((ours, "kernel models"), (others, "other models"))
        if members
    ]
    lines = [f"- Within {FAR} points of the published figure: {' and '.join(counts)}."] if counts else []
    for f in filter(_is_far, ours):
        size = abs(f.ours - f.published) / f.error if f.error > 0 else float("inf")
        spread = f"; from {f.low:.1f} to {f.high:.1f} over {f.repeats} draws of the folds" if f.repeats > 1 else ""
        lines.append(
            f"    - {f.data_set}, {COLUMNS[f.column].title}: {f.ours:.1f} against {f.published:.1f}, "
            f"{f.ours - f.published:+.1f} points or {size:.1f} standard errors{spread}."
        )
    return lines


def _is_far(figure: Figure) -> bool:
    return abs(figure.ours - figure.published) > FAR


# ---------------------------------------------------------------- the page
