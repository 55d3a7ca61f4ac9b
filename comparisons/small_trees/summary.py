"""The tables and the picture of the comparison, from the lines of runs.csv."""

from __future__ import annotations

import zlib
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from comparisons.small_trees.models import MODELS, N_FOLDS, PEERS, SOFTWOOD, STOPPED, sizes_of
from softwood.stats import holm, wilcoxon_signed_rank

TASKS = {"classification": "accuracy", "regression": "R²"}
# A first trial of jointly trained trees looked at these, in addition to the half that settings were chosen on.
FIRST_TRIAL = frozenset({
    "abalone", "airfoil_self_noise", "bike_sharing_day", "boston_housing", "breast_cancer_wisconsin", "ccpp",
    "concrete", "cpu_small", "ecoli", "german_credit_numeric", "glass", "ionosphere", "messidor", "pendigits",
    "pima_diabetes", "plastic", "puma8NH", "satimage", "sonar", "spambase", "spectf", "wine_quality_red", "yeast",
})  # fmt: skip
GROUPS = {True: "never looked at", False: "looked at"}
# The size of the peers that each of our sizes is compared with.
AGAINST = {"8": "8", "16": "16", "32": "32", "small": "tuned", "default": "tuned"}
# The peers of which the best one on each data set is compared with ours.
BEST_OF = {
    "classification": ("CART", "hierarchical shrinkage", "FIGS", "ConTree"),
    "regression": ("CART", "hierarchical shrinkage", "FIGS", "linear-tree", "M5"),
}
# Means of several models are those of the same data sets; a model that has fewer than this share is left out of them.
LEAST_SHARE = 0.8
EQUAL = 1e-12


def never_looked_at(name: str) -> bool:
    """Whether a data set is of the half that no setting was chosen on, and was not in the first trial either."""
    return zlib.crc32(name.encode()) % 2 == 1 and name not in FIRST_TRIAL


def read_frame(runs: list[dict[str, Any]]) -> pd.DataFrame:
    """The means of the folds: a row for each data set, model and size that has all folds."""
    frame = pd.DataFrame(runs)
    groups = frame.groupby(["data_set", "task", "rows", "model", "size"])
    means = groups[["score", "log_loss", "leaves", "seconds"]].mean()
    means = means[groups["score"].count() == N_FOLDS].reset_index()
    if not len(means):
        raise ValueError("There is nothing to tell yet: no model has all folds of a data set.")
    # Trees with linear leaves can fail badly on a fold; in means, no R² is worse than that of a constant.
    return means.assign(bounded=means["score"].clip(lower=0.0), unseen=means["data_set"].map(never_looked_at))


def sections(frame: pd.DataFrame, runs: list[dict[str, Any]]) -> dict[str, str]:
    """The sections of the page, as Markdown."""
    parts = []
    for (unseen, group), (task, measure) in product(GROUPS.items(), TASKS.items()):
        own = frame[(frame["unseen"] == unseen) & (frame["task"] == task)]
        if len(own):
            count = own["data_set"].nunique()
            parts += [
                f"### {task.capitalize()}, {group}: {count} data sets\n",
                overview(own, measure),
                pairs(own, task),
            ]
    for task, measure in TASKS.items():
        own = frame[frame["task"] == task]
        if len(own):
            parts += [f"### {measure[0].upper()}{measure[1:]} at tuned sizes\n", by_set(own)]
    texts = {
        "results": results(frame),
        "best": best_of_peers(frame),
        "models": models(),
        "stopped": stopped(runs),
        "tables": "\n".join(parts),
    }
    return {title: text.strip() for title, text in texts.items()}


def table(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """A row for each data set, a column for each model and size."""
    return frame.pivot_table(index="data_set", columns=["model", "size"], values=column)


def markdown(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows]) + "\n"


# Pairs


def results(frame: pd.DataFrame) -> str:
    """How often each of our sizes is better than the peers of that size, on the data sets never looked at."""
    rows = []
    for model, (size, other) in product(SOFTWOOD, AGAINST.items()):
        for task, column in (("classification", "score"), ("classification", "log_loss"), ("regression", "score")):
            values = table(frame[frame["unseen"] & (frame["task"] == task)], column)
            cells = [_counts(values, (model, size), (peer, other), column) for peer in PEERS]
            if any(cells):
                name = TASKS[task] if column == "score" else "log loss"
                rows.append([f"{model}, {_size(size)}", f"{name}, {_size(other)}", *cells])
    return markdown(["", "against", *PEERS], rows) if rows else "There are no results of kernel trees yet.\n"


def _size(size: str) -> str:
    return f"{size} leaves" if size.isdigit() else size


def _counts(values: pd.DataFrame, ours: tuple[str, str], theirs: tuple[str, str], column: str) -> str:
    """Better-equal-worse; nothing where one of the models has no results."""
    gain = _gain(values, ours, theirs, column)
    return f"{(gain > EQUAL).sum()}-{(gain.abs() <= EQUAL).sum()}-{(gain < -EQUAL).sum()}" if len(gain) else ""


def _gain(values: pd.DataFrame, ours: tuple[str, str], theirs: tuple[str, str], column: str) -> pd.Series:
    """By how much ours is better, on the data sets that both models have."""
    if ours not in values or theirs not in values:
        return pd.Series(dtype=float)
    return ((values[ours] - values[theirs]) * (-1 if column == "log_loss" else 1)).dropna()


def best_of_peers(frame: pd.DataFrame) -> str:
    """Each of our sizes against whichever peer of that size is best on a data set, of those that finished."""
    rows = []
    for (unseen, group), (model, size), (task, column) in product(
        GROUPS.items(),
        product(SOFTWOOD, AGAINST),
        (*product(["classification"], ["score", "log_loss"]), ("regression", "score")),
    ):
        values = table(frame[(frame["unseen"] == unseen) & (frame["task"] == task)], column)
        peers = [(peer, AGAINST[size]) for peer in BEST_OF[task] if (peer, AGAINST[size]) in values]
        if not peers or (model, size) not in values:
            continue
        theirs = values[peers].min(axis=1) if column == "log_loss" else values[peers].max(axis=1)
        gain = ((values[model, size] - theirs) * (-1 if column == "log_loss" else 1)).dropna()
        if not len(gain):
            continue
        finished = values.loc[gain.index, peers].notna()
        complete = int(finished.all(axis=1).sum()) if len(peers) == len(BEST_OF[task]) else 0
        counts = [(gain > EQUAL).sum(), (gain.abs() <= EQUAL).sum(), (gain < -EQUAL).sum()]
        name = TASKS[task] if column == "score" else "log loss"
        rows.append([
            f"{model}, {_size(size)}", group, name, str(len(gain)), str(complete), "-".join(map(str, counts)),
            f"{counts[0] / len(gain):.0%}", f"{(counts[0] + counts[1]) / len(gain):.0%}", f"{gain.median():+.4f}",
        ])  # fmt: skip
    head = [
        "",
        "data sets",
        "measure",
        "number",
        "all peers finished",
        "better-equal-worse",
        "better",
        "not worse",
        "median gain",
    ]
    return markdown(head, rows) if rows else "There are no results of peers yet.\n"


def pairs(frame: pd.DataFrame, task: str) -> str:
    """Each of our sizes against every peer of the same size, with Wilcoxon's test corrected by Holm."""
    columns = ("score", "log_loss") if task == "classification" else ("score",)
    found = []
    for ours, peer in product(product(SOFTWOOD, AGAINST), PEERS):
        gains = {column: _gain(table(frame, column), ours, (peer, AGAINST[ours[1]]), column) for column in columns}
        if len(gains["score"]):
            found.append((ours, (peer, AGAINST[ours[1]]), gains))
    if not found:
        return ""
    head, blocks = ["", "against", "data sets"], []
    for column in columns:
        tested = [i for i, (*_, gains) in enumerate(found) if len(gains[column])]
        corrected = holm([_p_value(found[i][2][column]) for i in tested])
        blocks.append((column, dict(zip(tested, corrected, strict=True))))
        name = TASKS[task] if column == "score" else "log loss"
        head += [f"{name}: better-equal-worse", "share better", "mean gain", "p (Holm)"]
    rows = []
    for i, (ours, theirs, gains) in enumerate(found):
        row = [f"{ours[0]}, {_size(ours[1])}", f"{theirs[0]}, {_size(theirs[1])}", str(len(gains["score"]))]
        for column, p_values in blocks:
            gain = gains[column]
            if not len(gain):
                row += ["", "", "", ""]
                continue
            counts = _counts(table(frame, column), ours, theirs, column)
            mean = gain if column == "log_loss" else _gain(table(frame, "bounded"), ours, theirs, "bounded")
            row += [counts, f"{(gain > EQUAL).mean():.0%}", f"{mean.mean():+.4f}", f"{p_values[i]:.2g}"]
        rows.append(row)
    return markdown(head, rows)


def _p_value(gain: pd.Series) -> float:
    """1 where there is nothing to test."""
    if len(gain) < 2 or (gain.abs() <= EQUAL).all():
        return 1.0
    return float(wilcoxon_signed_rank(gain, np.zeros(len(gain))).p_value)


# Means


def common(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the data sets that all models have, but for those that have only few data sets."""
    has = table(frame, "score").notna()
    has = has.loc[:, has.mean() >= LEAST_SHARE]
    names = has.index[has.all(axis=1)]
    keys = pd.MultiIndex.from_frame(frame[["model", "size"]])
    return frame[frame["data_set"].isin(names) & keys.isin(has.columns)]


def overview(frame: pd.DataFrame, measure: str) -> str:
    own = common(frame)
    rows = []
    for model in MODELS:
        for size in sizes_of(model):
            part = own[(own["model"] == model) & (own["size"] == size)]
            if not len(part):
                continue
            loss = "" if part["log_loss"].isna().any() else f"{part['log_loss'].mean():.3f}"
            rows.append([
                f"{model}, {_size(size)}", f"{part['bounded'].mean():.4f}", loss, f"{part['leaves'].median():.0f}",
                f"{part['seconds'].median():.3g}",
            ])  # fmt: skip
    head = ["", f"mean {measure}", "mean log loss", "median leaves", "median seconds"]
    if measure == TASKS["regression"]:
        del head[2]
        rows = [row[:2] + row[3:] for row in rows]
    return f"Means of the {own['data_set'].nunique()} data sets that all of these have:\n\n" + markdown(head, rows)


def by_set(frame: pd.DataFrame) -> str:
    """Score and leaves of every model at the size that it chooses."""
    score, leaves = table(frame, "score"), table(frame, "leaves")
    rows_of = frame.groupby("data_set")["rows"].first()
    columns = [(model, size) for model in MODELS for size in sizes_of(model) if not size.isdigit()]
    columns = [column for column in columns if column in score]
    rows = []
    for name in score.index:
        best = score.loc[name, columns].max()
        cells = []
        for column in columns:
            value = score.loc[name, column]
            text = f"**{value:.3f}**" if np.isclose(value, best) else f"{value:.3f}"
            cells.append("" if np.isnan(value) else f"{text} ({leaves.loc[name, column]:.0f})")
        rows.append([f"{name}{' *' if never_looked_at(name) else ''}", str(rows_of[name]), *cells])
    head = ["data set", "rows", *(f"{model}, {size}" for model, size in columns)]
    return "Leaves in parentheses, the best in bold; `*`: never looked at.\n\n" + markdown(head, rows)


# The peers


def models() -> str:
    return markdown(["name", "model"], [[name, peer.about] for name, peer in PEERS.items()])


def stopped(runs: list[dict[str, Any]]) -> str:
    """Where a peer did not finish."""
    found: dict[tuple[str, str], list[str]] = {}
    for line in runs:
        if line["parameter"].startswith(STOPPED):
            found.setdefault((line["model"], line["size"]), []).append(line["data_set"])
    if not found:
        return "No model was stopped.\n"
    rows = [[f"{model}, {_size(size)}", ", ".join(sorted(names))] for (model, size), names in sorted(found.items())]
    return markdown(["stopped", "data sets"], rows)


# The picture


def draw(frame: pd.DataFrame, path: Path) -> None:
    """Mean accuracy, log loss and R² against the number of leaves, on the data sets never looked at."""
    panels = [("classification", "bounded"), ("classification", "log_loss"), ("regression", "bounded")]
    colours = dict(zip(MODELS, ["black", *mpl.color_sequences["tab10"]], strict=False))
    with mpl.rc_context({"svg.hashsalt": "softwood", "font.size": 10}):
        figure = Figure(figsize=(5.2, 9.2), layout="constrained")
        drawn: set[str] = set()
        for ax, (task, column) in zip(figure.subplots(3, 1, sharex=True), panels, strict=True):
            own = frame[frame["unseen"] & (frame["task"] == task)]
            own = common(own) if len(own) else own
            for model, points in own.dropna(subset=column).groupby("model"):
                _draw_model(ax, points, column, colours[model], own=model in SOFTWOOD)
                drawn.add(model)
            ax.set_ylabel(f"mean {'log loss' if column == 'log_loss' else TASKS[task]}")
            ax.set_title(f"{task}, {own['data_set'].nunique()} data sets never looked at", fontsize="medium")
            ax.grid(color="0.9")
        ax.set_xscale("log", base=2)
        ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        ax.set_xlabel("leaves")
        lines = [Line2D([], [], color=colours[model], label=model, linewidth=2) for model in MODELS if model in drawn]
        marks = (("o", "8, 16 and 32 leaves"), ("D", "tuned size; ours: default"), ("^", "ours: small"))
        lines += [Line2D([], [], color="0.4", marker=mark, linestyle="", label=label) for mark, label in marks]
        figure.legend(handles=lines, loc="outside lower center", ncols=2, frameon=False)
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, metadata={"Date": None})


def _draw_model(ax: Any, points: pd.DataFrame, column: str, colour: Any, *, own: bool) -> None:
    style = {"color": colour, "zorder": 3 if own else 2}
    means = points.groupby("size")[column].mean()
    fixed = [size for size in AGAINST if size.isdigit() and size in means]
    ax.plot([int(size) for size in fixed], means[fixed], marker="o", linewidth=2.6 if own else 1.4, **style)
    for size in means.index.difference(fixed):
        leaves = np.exp(np.log(points.loc[points["size"] == size, "leaves"]).mean())
        ax.plot(leaves, means[size], marker="^" if size == "small" else "D", markersize=8, linestyle="", **style)
