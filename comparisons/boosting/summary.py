"""Tables and the reliability diagram of the comparison, from the lines of runs.csv."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from comparisons.boosting.models import DEFAULTS, FURTHER, INNER_FOLDS, N_BINS, OURS, TUNED
from softwood.stats import friedman_test, holm, wilcoxon_signed_rank

# The settings were chosen on the first; those of earlier versions were also chosen on the second. The other data sets
# were not looked at before the comparison was run.
CHOSEN_ON = frozenset({
    "add10", "bike_sharing_day", "bike_sharing_hour", "bike_sharing_kaggle", "breast_cancer_wisconsin",
    "california_housing", "ccpp", "chess", "churn", "churn_text", "covertype", "cpu_act", "ionosphere",
    "kr_vs_k_three_vs_eleven", "letter", "magic_gamma", "messidor", "musk2", "nursery", "optdigits",
    "poker_hand_100k", "puma8FH", "puma8NH", "real_estate", "satellite47", "satimage", "sleep", "texture",
    "wine_quality_red", "wine_quality_white",
})  # fmt: skip
CHOSEN_ON_BEFORE = frozenset({
    "abalone", "airfoil_self_noise", "concrete", "credit_a", "ecoli", "flare_F", "german_credit_numeric",
    "kddcup99_10pct", "nursery_uci", "openml_620_fri_c1_1000_25", "pendigits", "plastic", "ringnorm", "spambase",
    "twonorm",
})  # fmt: skip
PICTURE = "../images/boosting_reliability.svg"
LEAST_FOLDS = 3  # of a data set in the tables


def read_frame(runs: list[dict[str, Any]]) -> pd.DataFrame:
    """The lines of the data sets that have all folds of all models at their defaults."""
    return complete_sets(pd.DataFrame(runs), DEFAULTS, LEAST_FOLDS)


def complete_sets(frame: pd.DataFrame, models: tuple[str, ...], least_folds: int) -> pd.DataFrame:
    """Lines of the data sets that all of these models have run on, with the most rows: the folds that all have."""
    own = frame[frame["model"].isin(models)]
    counts = own.groupby(["data_set", "rows", "fold"])["model"].nunique()
    folds = counts[counts == len(models)].reset_index()[["data_set", "rows", "fold"]]
    enough = folds.groupby(["data_set", "rows"])["fold"].transform("size") >= least_folds
    folds = folds[enough]
    folds = folds[folds["rows"] == folds.groupby("data_set")["rows"].transform("max")]
    if not len(folds):
        raise ValueError("There is nothing to tell yet: no data set has all folds of all models.")
    return frame.merge(folds, on=["data_set", "rows", "fold"])


def means(frame: pd.DataFrame, column: str, models: tuple[str, ...] = DEFAULTS) -> pd.DataFrame:
    """Mean of the folds, a row for each data set that has all of these models."""
    table = frame.pivot_table(index="data_set", columns="model", values=column).reindex(columns=list(models))
    return table.dropna()


def tables(frame: pd.DataFrame, runs: list[dict[str, Any]]) -> str:
    """All tables as Markdown; `frame` has the lines of complete data sets, `runs` all lines."""
    names = list(means(frame, "loss").index)
    parts = [about(frame), "### Average ranks\n"]
    for title, group in {"all": names, **by_group(names)}.items():
        parts.append(ranks(frame[frame["data_set"].isin(group)], title))
    parts += [
        "### Qualities, and further models\n",
        further(pd.DataFrame(runs)),
        "### Tuned LightGBM\n",
        tuned(frame),
        "### Probabilities\n",
        probabilities(frame),
    ]
    parts += ["### Time\n", times(frame), "### By data set\n", by_set(frame)]
    return "\n".join(parts)


def by_group(names: Iterable[str]) -> dict[str, list[str]]:
    """The data sets by whether they have been looked at, without empty groups."""
    known = CHOSEN_ON | CHOSEN_ON_BEFORE
    groups = {
        "settings chosen on": [name for name in names if name in CHOSEN_ON],
        "looked at by earlier versions": [name for name in names if name in CHOSEN_ON_BEFORE],
        "not looked at": [name for name in names if name not in known],
    }
    return {title: group for title, group in groups.items() if group}


def about(frame: pd.DataFrame) -> str:
    by_set = frame.groupby("data_set")[["task", "rows"]].first()
    is_class = by_set["task"] == "classification"
    n_folds = frame.groupby("data_set")["fold"].nunique()
    return (
        f"{len(by_set)} data sets, {is_class.sum()} with classes and {(~is_class).sum()} with real targets, of "
        f"{by_set['rows'].min():.0f} to {by_set['rows'].max():.0f} rows; "
        + " and ".join(f"{n} folds on {count}" for n, count in n_folds.value_counts().sort_index().items())
        + ".\n"
    )


def ranks(frame: pd.DataFrame, title: str) -> str:
    """Average ranks in loss and score; Wilcoxon's tests of our losses against each other model's, by Holm."""
    loss, score = means(frame, "loss"), means(frame, "score")
    others = [model for model in DEFAULTS if model != OURS]
    tests = [wilcoxon_signed_rank(np.log(loss[model]), np.log(loss[OURS])) for model in others]
    p_values = dict(zip(others, holm([test.p_value for test in tests]), strict=True))
    friedman = friedman_test(-loss.to_numpy())
    lines = [
        f"Data sets: {title}, {len(loss)}. Friedman's test of the losses: p = {friedman.p_value:.2g}.\n",
        "| model | rank by loss | by accuracy or R² | loss / ours, geometric mean | ours is better on | p (Holm) |",
        "|---|---|---|---|---|---|",
    ]
    by_loss, by_score = loss.rank(axis=1).mean(), score.rank(axis=1, ascending=False).mean()
    for model in by_loss.sort_values().index:
        ratio = np.exp(np.log(loss[model] / loss[OURS]).mean())
        better = "" if model == OURS else f"{(loss[OURS] < loss[model]).sum()} of {len(loss)}"
        p = "" if model == OURS else f"{p_values[model]:.2g}"
        lines.append(f"| {model} | {by_loss[model]:.2f} | {by_score[model]:.2f} | {ratio:.3f} | {better} | {p} |")
    return "\n".join(lines) + "\n"


def further(frame: pd.DataFrame) -> str:
    """Every quality and further model beside each of the most important others, on the data sets of both."""
    rivals = (OURS, "CatBoost", "ChimeraBoost", TUNED)
    lines = [
        "| model | data sets | " + " | ".join(f"better than {rival}; its loss / own" for rival in rivals) + " | "
        "seconds / LightGBM: median | largest |",
        "|---" * (4 + len(rivals)) + "|",
    ]  # fmt: skip
    ours = frame.loc[frame["model"] == OURS, "data_set"].unique()
    for title, names in {"all": list(ours), **by_group(ours)}.items():
        part = frame[frame["data_set"].isin(names)]
        for model in (OURS, *FURTHER):
            cells = []
            for rival in rivals:
                loss = _of_both(part, model, rival, "loss")
                if rival == model or not len(loss):
                    cells.append("")
                    continue
                ratio = np.exp(np.log(loss[rival] / loss[model]).mean())
                cells.append(f"{(loss[model] < loss[rival]).sum()} of {len(loss)}; {ratio:.3f}")
            seconds = _of_both(part, model, "LightGBM", "seconds")
            if len(seconds):
                times = seconds[model] / seconds["LightGBM"]
                n = part.loc[part["model"] == model, "data_set"].nunique()
                cells += [f"{times.median():.3g}", f"{times.max():.3g} on {times.idxmax()}"]
                lines.append(f"| {model}, {title} | {n} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _of_both(frame: pd.DataFrame, model: str, other: str, column: str) -> pd.DataFrame:
    """Mean of the folds that two models have in common, a row for each data set."""
    own = frame[frame["model"].isin((model, other))]
    table = own.pivot_table(index=["data_set", "rows", "fold"], columns="model", values=column)
    if table.shape[1] < len({model, other}):
        return pd.DataFrame()
    return table.dropna().groupby("data_set").mean()


def tuned(frame: pd.DataFrame) -> str:
    """Ours beside LightGBM tuned, on the data sets where that was run."""
    lines = ["| data sets | ours is better on | loss of LightGBM tuned / ours | p (Wilcoxon) |", "|---|---|---|---|"]
    pair = (OURS, TUNED)
    both = complete_sets(frame, pair, LEAST_FOLDS)
    complete = sorted(both["data_set"].unique())
    for title, names in {"all": complete, **by_group(complete)}.items():
        if len(names) > 1:
            loss = means(both[both["data_set"].isin(names)], "loss", pair)
            test = wilcoxon_signed_rank(np.log(loss[TUNED]), np.log(loss[OURS]))
            ratio = np.exp(np.log(loss[TUNED] / loss[OURS]).mean())
            better = (loss[OURS] < loss[TUNED]).sum()
            lines.append(f"| {title}, {len(names)} | {better} | {ratio:.3f} | {test.p_value:.2g} |")
    lines_of = both[both["model"] == TUNED]
    drawn = lines_of["parameter"].str.extract(r"^(\d+) draws")[0].groupby(lines_of["data_set"]).first().value_counts()
    what = f"Random draws of its settings, each with {INNER_FOLDS} inner folds and early stopping: " + ", ".join(
        f"{n} on {count} of the data sets" for n, count in drawn.items()
    )
    return "\n".join(lines) + "\n\n" + what + ".\n"


def probabilities(frame: pd.DataFrame) -> str:
    """Log loss, Brier score and calibration of the models with classes, and the picture."""
    frame = frame[frame["task"] == "classification"]
    lines = [
        "| model | Brier score, rank | Brier score / ours, geometric mean | calibration error, mean | rank |",
        "|---|---|---|---|---|",
    ]
    brier, calibration = means(frame, "brier"), means(frame, "calibration")
    by_brier, by_error = brier.rank(axis=1).mean(), calibration.rank(axis=1).mean()
    for model in by_brier.sort_values().index:
        ratio = np.exp(np.log(brier[model] / brier[OURS]).mean())
        lines.append(
            f"| {model} | {by_brier[model]:.2f} | {ratio:.3f} | {calibration[model].mean():.4f} | "
            f"{by_error[model]:.2f} |"
        )
    words = (
        "The calibration error is the mean distance between the probability of the predicted class and its frequency, "
        f"in {N_BINS} bins of that probability. The diagram has all test rows of all data sets with classes.\n\n"
        f"![Reliability diagram]({PICTURE})"
    )
    return "\n".join(lines) + "\n\n" + words + "\n"


def times(frame: pd.DataFrame) -> str:
    seconds = means(frame, "seconds")
    ratio = seconds.div(seconds["LightGBM"], axis=0)
    lines = ["| model | median seconds | / LightGBM: median | largest | on |", "|---|---|---|---|---|"]
    for model in seconds:
        worst = ratio[model].idxmax()
        lines.append(
            f"| {model} | {seconds[model].median():.3g} | {ratio[model].median():.3g} | {ratio[model].max():.3g} | "
            f"{worst} |"
        )
    return "\n".join(lines) + "\n"


def by_set(frame: pd.DataFrame) -> str:
    """Log loss or root mean squared error of every model."""
    loss = frame.pivot_table(index="data_set", columns="model", values="loss").reindex(columns=[*DEFAULTS, TUNED])
    about = frame.groupby("data_set")[["rows", "columns", "classes"]].first().astype(int)
    lines = [
        "| data set | rows | columns | classes | " + " | ".join(loss.columns) + " |",
        "|---" * (4 + len(loss.columns)) + "|",
    ]
    for name in loss.index:
        best = loss.loc[name, list(DEFAULTS)].min()
        cells = []
        for model in loss.columns:
            value = loss.loc[name, model]
            text = "" if np.isnan(value) else f"{value:.4g}"
            cells.append(f"**{text}**" if model in DEFAULTS and value == best else text)
        rows, columns, classes = about.loc[name]
        star = "" if name in CHOSEN_ON | CHOSEN_ON_BEFORE else " *"
        lines.append(f"| {name}{star} | {rows} | {columns} | {classes or ''} | " + " | ".join(cells) + " |")
    note = "Log loss or root mean squared error; the smallest of the defaults in bold. `*`: not looked at before."
    return note + "\n\n" + "\n".join(lines) + "\n"


def draw_reliability(frame: pd.DataFrame, path: Path) -> None:
    """Frequency of the predicted class by its probability, for each model at its defaults."""
    figure = Figure(figsize=(5.2, 5.0), layout="constrained")
    ax = figure.subplots()
    ax.plot([0, 1], [0, 1], color="0.7", linewidth=1.0)
    for model in DEFAULTS:
        texts = frame.loc[(frame["model"] == model) & (frame["bins"].fillna("") != ""), "bins"]
        cells = np.array([[[float(n) for n in cell.split(":")] for cell in text.split()] for text in texts])
        if not len(cells):
            continue
        counts, sureness, rights = cells.sum(axis=0).T
        there = counts >= 50
        style = {"linewidth": 2.4, "zorder": 3} if model == OURS else {"linewidth": 1.2}
        ax.plot(
            sureness[there] / counts[there],
            rights[there] / counts[there],
            marker="o",
            markersize=3,
            label=model,
            **style,
        )
    ax.set(xlabel="probability of the predicted class", ylabel="how often it is right", xlim=(0.15, 1), ylim=(0.15, 1))
    ax.legend(fontsize="small")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
