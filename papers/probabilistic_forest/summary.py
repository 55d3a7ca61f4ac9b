"""Tables and the picture of the experiments with noise, from single runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

Rows = list[dict[str, Any]]
TITLES = {
    "forest_sklearn": "scikit-learn's forest", "prf_10": "PRF, 10 trees", "prf_100": "PRF, 100 trees",
    "forest": "kernel forest", "forest_given": "kernel forest, given the errors", "boosting": "kernel boosting",
    "boosting_given": "kernel boosting, given the errors",
    "boosting_given_in_fit": "kernel boosting, given the errors in fit too",
}  # fmt: skip


def values(rows: Rows, setting: str, level: float, model: str, what: str) -> np.ndarray:
    """Figures of all seeds, in their order."""
    found = {
        row["seed"]: row[what]
        for row in rows
        if (row["setting"], row["level"], row["model"]) == (setting, level, model)
    }
    return np.array([found[seed] for seed in sorted(found)])


def settings(rows: Rows) -> list[tuple[str, float]]:
    """Settings in the order of the file, with their levels."""
    found = {(row["setting"], row["level"]) for row in rows}
    names = list(dict.fromkeys(row["setting"] for row in rows))
    return [(name, level) for name in names for level in sorted(level for other, level in found if other == name)]


def table_of(rows: Rows, what: str, digits: int) -> str:
    """A line for each setting and level, a column for each model; means over the seeds that all models have."""
    models = [name for name in TITLES if any(row["model"] == name for row in rows)]
    lines = ["| setting | level | " + " | ".join(TITLES[name] for name in models) + " |"]
    lines.append("| --- | ---: |" + " ---: |" * len(models))
    for setting, level in settings(rows):
        found = [values(rows, setting, level, name, what) for name in models]
        n = min(map(len, found))
        if n == 0:
            continue
        means = [float(own[:n].mean()) for own in found]
        best = (max if what == "accuracy" else min)(means)
        cells = [f"**{mean:.{digits}f}**" if mean == best else f"{mean:.{digits}f}" for mean in means]
        lines.append(f"| {setting} | {level:g} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def against_prf(rows: Rows) -> str:
    """Smallest and largest difference in accuracy from PRF with 100 trees, and ratio of seconds."""
    lines = ["| model | smallest difference | mean | largest | seconds of PRF / own |", "| --- |" + " ---: |" * 4]
    for name in ("forest", "forest_given", "boosting", "boosting_given", "boosting_given_in_fit"):
        differences, ratios = [], []
        for setting, level in settings(rows):
            own, theirs = (values(rows, setting, level, model, "accuracy") for model in (name, "prf_100"))
            if n := min(len(own), len(theirs)):
                differences.append(float(own[:n].mean() - theirs[:n].mean()))
                seconds = [values(rows, setting, level, model, "seconds")[:n].sum() for model in ("prf_100", name)]
                ratios.append(seconds[0] / seconds[1])
        if differences:
            low, mean, high = min(differences), float(np.mean(differences)), max(differences)
            lines.append(f"| {TITLES[name]} | {low:+.2f} | {mean:+.2f} | {high:+.2f} | {np.median(ratios):.1f} |")
    return "\n".join(lines)


def sections(rows: Rows) -> dict[str, str]:
    """Texts for the page, by the name of their place."""
    return {
        "accuracy": table_of(rows, "accuracy", 2),
        "differences": against_prf(rows),
        "seconds": table_of(rows, "seconds", 2),
    }


def write_picture(path: Path, rows: Rows) -> None:
    """Accuracy by level of noise, a panel for each setting."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(setting for setting, _ in settings(rows)))
    figure, axes = plt.subplots(1, len(names), figsize=(3.1 * len(names), 3.6), layout="constrained", squeeze=False)
    shown = ("forest_sklearn", "prf_100", "forest_given", "boosting", "boosting_given")
    for ax, name in zip(axes[0], names, strict=True):
        levels = [level for setting, level in settings(rows) if setting == name]
        for model in shown:
            points = [(level, values(rows, name, level, model, "accuracy")) for level in levels]
            points = [(level, own.mean()) for level, own in points if len(own)]
            if points:
                ax.plot(*zip(*points, strict=True), marker="o", markersize=3, label=TITLES[model])
        ax.set(title=name, xlabel="level")
    axes[0, 0].set_ylabel("accuracy in percent")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize="small")
    figure.savefig(path, dpi=100, metadata={"Software": None})
    plt.close(figure)
