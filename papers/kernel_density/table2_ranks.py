"""Ranks of the models of table 2 over the data sets: best models, Friedman's and Nemenyi's tests, and diagrams."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from papers.kernel_density.table2_columns import COLUMNS, RANKED
from papers.kernel_density.table2_summary import (
    Figure,
    Published,
    Scores,
    columns_of,
    contest,
    data_sets_of,
    scores_of,
    table,
    told,
)
from softwood.core.extras import require
from softwood.stats import FriedmanTest, NemenyiTest, friedman_test, nemenyi_test, plot_critical_difference

TITLES = {
    "tuned": "all models of the paper, and kernel boosting",
    "defaults": "models at their defaults, nothing tuned",
}
IMAGES = {"tuned": "kernel_density_ranks.png", "defaults": "kernel_density_ranks_defaults.png"}
DIGITS = 6  # of points, so that sums in another order are still ties


class Ranking(NamedTuple):
    """Columns compared on the data sets that all of them have.

    `best` has the columns with the highest mean of each data set, `near` those within one standard error of it, that
    of the best column and of one draw of ten folds; the best are among them.
    """

    columns: list[str]
    scores: Scores
    best: dict[str, set[str]]
    near: dict[str, set[str]]
    friedman: FriedmanTest
    nemenyi: NemenyiTest


def rank(figures: list[Figure]) -> Ranking | None:
    """The ranking of a group, of the columns that have figures; None of less than two columns or data sets."""
    if not figures:
        return None
    columns = columns_of(figures)
    members = {name: {f.column: f for f in figures if f.data_set == name} for name in data_sets_of(figures)}
    members = {name: row for name, row in members.items() if len(row) == len(columns)}
    if len(columns) < 2 or len(members) < 2:
        return None
    scores = scores_of((name, c, round(row[c].ours, DIGITS)) for name, row in members.items() for c in columns)
    best, near = {}, {}
    for name, points in scores.items():
        top = max(points.values())
        best[name] = {c for c in columns if points[c] == top}
        margin = max(members[name][c].error for c in best[name])
        near[name] = best[name] | {c for c in columns if points[c] >= top - margin}
    frame = pd.DataFrame.from_dict(scores, orient="index")[columns]
    frame.columns = [COLUMNS[c].title for c in columns]
    return Ranking(columns, scores, best, near, friedman_test(frame), nemenyi_test(frame))


def rank_sections(figures: list[Figure], published: Published, images: str) -> list[str]:
    """Lines of the page: for each ranked group its table, ranks, tests and diagram; `images` is where those are."""
    lines = []
    for group in RANKED:
        members = [f for f in figures if f.group == group]
        ranking = rank(members)
        if ranking is None:
            continue

        def mark(f: Figure, text: str, ranking: Ranking = ranking) -> str:
            if f.column in ranking.best.get(f.data_set, ()):
                return f"**{text}**"
            return f"*{text}*" if f.column in ranking.near.get(f.data_set, ()) else text

        lines += [
            f"**{TITLES[group]}**", "", *table(members, published=False, mark=mark), "",
            "Bold: the best of a data set. Italic: within one standard error of it.", "",
            *_rank_table(ranking), "",
            *_tests(ranking), *_ahead(ranking, published), *_left_out(group, members, ranking), "",
            f"![Average ranks of {TITLES[group]}]({images}/{IMAGES[group]})", "",
        ]  # fmt: skip
    return lines


def _rank_table(ranking: Ranking) -> list[str]:
    n = len(ranking.scores)
    lines = [
        f"| model | average rank over {n} data sets | best on | best or within one standard error on |",
        "| --- | ---: | ---: | ---: |",
    ]
    for j in np.argsort(ranking.friedman.ranks, kind="stable"):
        column = ranking.columns[j]
        best, near = (sum(column in names for names in found.values()) for found in (ranking.best, ranking.near))
        lines.append(f"| {COLUMNS[column].title} | {ranking.friedman.ranks[j]:.2f} | {best} | {near} |")
    return lines


def _tests(ranking: Ranking) -> list[str]:
    friedman, nemenyi = ranking.friedman, ranking.nemenyi
    k = len(ranking.columns)
    pairs = np.abs(nemenyi.ranks[:, None] - nemenyi.ranks)[np.triu_indices(k, 1)]
    return [
        f"- Friedman's test of {k} models on {friedman.n_data_sets} data sets: chi-square {friedman.statistic:.1f}, "
        f"p = {friedman.p_value:.2g}; Iman and Davenport's F {friedman.f_statistic:.2f}, p = {friedman.f_p_value:.2g}.",
        f"- Nemenyi's critical difference at the level {nemenyi.alpha:g} is {nemenyi.critical_difference:.2f} ranks: "
        f"{int((pairs >= nemenyi.critical_difference).sum())} of {len(pairs)} pairs of models are that far apart.",
    ]


def _ahead(ranking: Ranking, published: Published) -> list[str]:
    """The best kernel model against the best of the others; of the paper's models also as published."""
    there = scores_of(
        (name, column, published[name, column])
        for name in ranking.scores
        for column in ranking.columns
        if (name, column) in published
    )
    of_paper = [column for column in ranking.columns if any(column in points for points in there.values())]
    lines = []
    for whose, columns in (("the paper's models", of_paper), ("all models", ranking.columns)):
        ours = [column for column in columns if not COLUMNS[column].is_baseline]
        theirs = [column for column in columns if COLUMNS[column].is_baseline]
        # untuned, the paper has others' models alone; and without boosting its models are all models
        if not ours or not theirs or (whose != "all models" and columns == ranking.columns):
            continue
        now, then = contest(ranking.scores, ours, theirs), contest(there, ours, theirs)
        text = f"- Of {whose}, the best kernel model against the best other: {told(now)}."
        lines.append(text + (f" Published: {told(then)}." if any(then.values()) else ""))
    return lines


def _left_out(group: str, figures: list[Figure], ranking: Ranking) -> list[str]:
    names = [name for name in data_sets_of(figures) if name not in ranking.scores]
    titles = [COLUMNS[column].title for column in RANKED[group] if column not in ranking.columns]
    lines = [f"- Not ranked, for not all models were run on them: {', '.join(names)}."] if names else []
    return lines + ([f"- Not run: {', '.join(titles)}."] if titles else [])


def draw_ranks(figures: list[Figure], folder: Path) -> None:
    """Draw the critical-difference diagrams of the groups that can be ranked."""
    for group, image in IMAGES.items():
        ranking = rank([f for f in figures if f.group == group])
        if ranking is not None:
            require("matplotlib", "plots", "Drawing the ranks").use("Agg")
            pyplot = require("matplotlib.pyplot", "plots", "Drawing the ranks")
            figure = plot_critical_difference(ranking.nemenyi).figure
            figure.savefig(folder / image, dpi=120)
            pyplot.close(figure)
