"""Tables of the comparison, from the lines of runs.csv."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from comparisons.streams.models import CLASS_MODELS, FOREST, ONE_BY_ONE, REAL_MODELS
from comparisons.streams.streams import STREAMS
from softwood.stats import friedman_test, holm, wilcoxon_signed_rank

ARF = "river ARF(10)"
ENSEMBLES = {FOREST, ONE_BY_ONE, ARF, "river SRP(10)", "river leveraging bagging(10)"}


def tables(runs: list[dict[str, Any]], length: int) -> str:
    """All tables as Markdown, of runs with this length of the streams."""
    frame = pd.DataFrame(runs)
    frame = frame[frame["length"] == length].drop_duplicates(["stream", "model", "rows"], keep="last")
    parts = []
    for task, models in (("classes", CLASS_MODELS), ("reals", REAL_MODELS)):
        part = common_rows(frame[frame["task"] == task], list(models))
        if len(part):
            parts.append(_task(part, task, list(models)))
    if not parts:
        raise ValueError(f"There is nothing to tell yet: no stream of {length} rows has lines of all models.")
    return "\n".join(parts)


def common_rows(frame: pd.DataFrame, models: list[str]) -> pd.DataFrame:
    """Of each stream the lines at the largest number of rows that all models have reached, one for each model."""
    kept = []
    for _, part in frame.groupby("stream"):
        counts = part.groupby("rows")["model"].nunique()
        reached = counts.index[counts == len(models)]
        if len(reached):
            kept.append(part[part["rows"] == reached.max()])
    return pd.concat(kept) if kept else frame.iloc[:0]


def _wide(frame: pd.DataFrame, column: str, models: list[str]) -> pd.DataFrame:
    """Streams in their order by models."""
    table = frame.pivot_table(index="stream", columns="model", values=column)[models]
    return table.loc[[name for name in STREAMS if name in table.index]]


def _task(frame: pd.DataFrame, task: str, models: list[str]) -> str:
    ranked = [model for model in models if model != ONE_BY_ONE]
    error, loss = _wide(frame, "error", ranked), _wide(frame, "loss", ranked)
    rows = frame.groupby("stream")["rows"].first()
    is_class = task == "classes"
    speed = _wide(frame.assign(speed=frame["rows"] / frame["seconds"].clip(lower=1e-9)), "speed", models)
    first, second = ("accuracy", "log loss") if is_class else ("absolute error", "root of the squared error")
    loss = loss if is_class else np.sqrt(loss)
    lines = [
        f"### {len(error)} streams of {'classes' if is_class else 'real targets'}\n",
        f"| model | rank in {first} | rank in {second} | "
        + ("mean accuracy | mean log loss | " if is_class else "")
        + "rows per second (median) | times as fast as ARF: median (all streams together) |",
        "|---|---|---|---|---|---|---|" if is_class else "|---|---|---|---|---|",
    ]
    ranks = {name: dict(zip(ranked, friedman_test(-table.to_numpy()).ranks, strict=True)) if len(table) > 1 else {}
             for name, table in (("error", error), ("loss", loss))}  # fmt: skip
    seconds = _wide(frame.assign(row=frame["seconds"] / frame["rows"]), "row", models).sum()
    for model in models:
        own = [f"{ranks[name][model]:.2f}" if model in ranks[name] else "" for name in ("error", "loss")]
        means = []
        if is_class:
            means = [f"{1 - error[model].mean():.4f}", f"{loss[model].mean():.4f}"] if model in error else ["", ""]
        faster = f"{(speed[model] / speed[ARF]).median():.1f} ({seconds[ARF] / seconds[model]:.1f})"
        lines.append("| " + " | ".join([model, *own, *means, f"{speed[model].median():,.0f}", faster]) + " |")
    parts = ["\n".join(lines) + "\n"]
    if len(error) > 5:
        parts.append(_tests(error, loss, first, second))
    parts.append(_by_stream(1 - error if is_class else error, is_class, rows, first))
    parts.append(_by_stream(loss, False, rows, second))
    return "\n".join(parts)


def _tests(error: pd.DataFrame, loss: pd.DataFrame, first: str, second: str) -> str:
    """Wilcoxon's tests of the forest against each other model, with Holm's correction."""
    others = [model for model in error if model != FOREST]
    lines = [f"| {FOREST} against | better in {first} | p (Holm) | better in {second} | p (Holm) |", "|---" * 5 + "|"]
    columns = []
    for table in (error, loss):
        found = holm([wilcoxon_signed_rank(table[FOREST], table[other]).p_value for other in others])
        columns.append((table, found))
    for k, other in enumerate(others):
        cells = [other]
        for table, p in columns:
            better = int((table[FOREST] < table[other]).sum())
            cells += [f"{better} of {len(table)}", f"{p[k]:.2g}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _by_stream(table: pd.DataFrame, high_is_good: bool, rows: pd.Series, name: str) -> str:
    lines = [
        f"#### {name[0].upper() + name[1:]}\n",
        "| stream | rows | " + " | ".join(table.columns) + " |",
        "|---" * (2 + len(table.columns)) + "|",
    ]
    for stream, values in table.iterrows():
        best = values.max() if high_is_good else values.min()
        cells = [f"**{value:.4g}**" if value == best else f"{value:.4g}" for value in values]
        lines.append(f"| {stream} | {rows[stream]:.0f} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
