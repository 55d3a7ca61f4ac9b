"""Tables of the comparison, from the lines of runs.csv."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from comparisons.small_trees.models import MODELS
from softwood.stats import friedman_test, holm, wilcoxon_signed_rank

# Who is compared with whom: the pairs of the goals, and the default with the fully grown tree.
PAIRS = (
    ("default", "CART tuned"),
    ("default", "CART of the size of default"),
    ("small", "CART of the size of small"),
    ("small", "CART tuned"),
    ("default", "full"),
)
SHORT = {
    "default": "default", "small": "small", "full": "full", "CART tuned": "CART tuned",
    "CART of the size of default": "CART, size of default", "CART of the size of small": "CART, size of small",
    "CART default": "CART default",
}  # fmt: skip
COMPLETE = 10  # folds


def tables(runs: list[dict[str, Any]]) -> str:
    """All tables as Markdown; only data sets with all folds of all models count."""
    frame = pd.DataFrame(runs)
    counts = frame.groupby(["data_set", "model"])["fold"].nunique().unstack().reindex(columns=MODELS)
    complete = counts.index[(counts == COMPLETE).all(axis=1)]
    if not len(complete):
        raise ValueError("There is nothing to tell yet: no data set has all folds of all models.")
    frame = frame[frame["data_set"].isin(complete)]
    tasks = frame.groupby("data_set")["task"].first()
    parts = [_overview(frame, tasks), _pairs(frame, tasks), _ranks(frame)]
    for task, measure in (("classification", "Accuracy"), ("regression", "R²")):
        names = tasks.index[tasks == task]
        if len(names):
            parts.append(f"### {measure} and leaves, {task}\n\n" + _by_set(frame[frame["data_set"].isin(names)]))
    return "\n".join(parts)


def _means(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    return frame.pivot_table(index="data_set", columns="model", values=column)[list(MODELS)]


def _overview(frame: pd.DataFrame, tasks: pd.Series) -> str:
    score, leaves, seconds = _means(frame, "score"), _means(frame, "leaves"), _means(frame, "fit_seconds")
    log_losses = _means(frame, "log_loss") if frame["log_loss"].notna().any() else None
    is_class = tasks == "classification"
    ratio = leaves.div(leaves["CART tuned"], axis=0).median()
    lines = [
        f"{int(is_class.sum())} data sets of classification, {int((~is_class).sum())} of regression.\n",
        "| model | mean accuracy | mean log loss | mean R² | median leaves | leaves / CART tuned | median seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for model in MODELS:
        loss = (
            ""
            if log_losses is None
            else f"{log_losses.loc[log_losses.index.isin(tasks.index[is_class]), model].mean():.3f}"
        )
        r2 = score.loc[~is_class, model].mean()
        lines.append(
            f"| {SHORT[model]} | {score.loc[is_class, model].mean():.4f} | {loss} | {r2:.4f} | "
            f"{leaves[model].median():.0f} | {ratio[model]:.2f} | {seconds[model].median():.3g} |"
        )
    return "\n".join(lines) + "\n"


def _pairs(frame: pd.DataFrame, tasks: pd.Series) -> str:
    """How often one model is better than another, with Wilcoxon's test corrected by Holm."""
    score = _means(frame, "score")
    tests = [wilcoxon_signed_rank(score[a], score[b]) for a, b in PAIRS]
    p_values = holm([test.p_value for test in tests])
    lines = [
        "| | better | equal | worse | share better | classification | regression | mean difference | p (Holm) |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (a, b), p in zip(PAIRS, p_values, strict=True):
        difference = score[a] - score[b]
        better, equal = difference > 1e-12, difference.abs() <= 1e-12
        is_class = tasks.loc[score.index] == "classification"
        lines.append(
            f"| {SHORT[a]} against {SHORT[b]} | {better.sum()} | {equal.sum()} | {(~better & ~equal).sum()} | "
            f"{better.mean():.0%} | {better[is_class].sum()} of {is_class.sum()} | "
            f"{better[~is_class].sum()} of {(~is_class).sum()} | {difference.mean():+.4f} | {p:.2g} |"
        )
    return "\n".join(lines) + "\n"


def _ranks(frame: pd.DataFrame) -> str:
    score = _means(frame, "score")
    test = friedman_test(score.to_numpy())
    ranks = dict(zip(MODELS, test.ranks, strict=True))
    words = ", ".join(f"{SHORT[model]} {rank:.2f}" for model, rank in sorted(ranks.items(), key=lambda each: each[1]))
    return f"Average ranks (1 is best): {words}. Friedman's test: p = {test.p_value:.2g}.\n"


def _by_set(frame: pd.DataFrame) -> str:
    score, leaves = _means(frame, "score"), _means(frame, "leaves")
    rows = frame.groupby("data_set")["rows"].first()
    lines = [
        "| data set | rows | " + " | ".join(SHORT[model] for model in MODELS) + " |",
        "|---" * (2 + len(MODELS)) + "|",
    ]
    for name in score.index:
        best = score.loc[name].max()
        cells = []
        for model in MODELS:
            text = f"{score.loc[name, model]:.3f}"
            text = f"**{text}**" if np.isclose(score.loc[name, model], best) else text
            cells.append(f"{text} ({leaves.loc[name, model]:.0f})")
        lines.append(f"| {name} | {rows[name]:.0f} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
