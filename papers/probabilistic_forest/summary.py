"""Tables and the picture of the experiments with noise, from single runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

Rows = list[dict[str, Any]]
TITLES = {
    "forest_sklearn": "scikit-learn's forest",
    "prf_10": "PRF, 10 trees",
    "prf_100": "PRF, 100 trees",
    "forest": "kernel forest",
    "forest_given": "kernel forest, given the errors",
    "forest_crisp_given": "kernel forest, bandwidth 0, given the errors",
    "forest_narrow_given": "kernel forest, bandwidth 0.1, given the errors",
    "forest_narrow_given_in_fit": "kernel forest, bandwidth 0.1, given the errors in fit too",
    "boosting": "kernel boosting",
    "boosting_given": "kernel boosting, given the errors",
    "boosting_given_in_fit": "kernel boosting, given the errors in fit too",
    "boosting_fast_given": "kernel boosting, quality fast, given the errors",
    "boosting_small_given": "kernel boosting, 50 rounds of given settings, given the errors",
}


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
    """A line for each model, a column for each setting and level; means over the seeds that all models have."""
    models = [name for name in TITLES if any(row["model"] == name for row in rows)]
    means: dict[str, list[float]] = {name: [] for name in models}
    titles, best = [], []
    for setting, level in settings(rows):
        found = [values(rows, setting, level, name, what) for name in models]
        n = min(map(len, found))
        if n == 0:
            continue
        titles.append(f"{setting} {level:g}")
        own = [float(each[:n].mean()) for each in found]
        best.append((max if what == "accuracy" else min)(own))
        for name, mean in zip(models, own, strict=True):
            means[name].append(mean)
    lines = ["| model | " + " | ".join(titles) + " |", "| --- |" + " ---: |" * len(titles)]
    for name in models:
        cells = [
            f"**{mean:.{digits}f}**" if mean == first else f"{mean:.{digits}f}"
            for mean, first in zip(means[name], best, strict=True)
        ]
        lines.append(f"| {TITLES[name]} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def against_prf(rows: Rows) -> str:
    """Differences in accuracy from PRF with 100 trees, and ratios of seconds."""
    lines = [
        "| model | better on | smallest difference | mean | largest | PRF's time / own: smallest | median | largest |",
        "| --- |" + " ---: |" * 7,
    ]
    for name in [name for name in TITLES if name.startswith(("forest", "boosting"))]:
        differences, ratios = [], []
        for setting, level in settings(rows):
            own, theirs = (values(rows, setting, level, model, "accuracy") for model in (name, "prf_100"))
            if n := min(len(own), len(theirs)):
                differences.append(float(own[:n].mean() - theirs[:n].mean()))
                seconds = [values(rows, setting, level, model, "seconds")[:n].sum() for model in ("prf_100", name)]
                ratios.append(seconds[0] / seconds[1])
        if differences:
            better = f"{sum(difference >= 0 for difference in differences)} of {len(differences)}"
            low, mean, high = min(differences), float(np.mean(differences)), max(differences)
            times = " | ".join(f"{ratio:.1f}" for ratio in (min(ratios), float(np.median(ratios)), max(ratios)))
            lines.append(f"| {TITLES[name]} | {better} | {low:+.2f} | {mean:+.2f} | {high:+.2f} | {times} |")
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
    shown = ("forest_sklearn", "prf_100", "forest_given", "forest_narrow_given", "boosting", "boosting_given")
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
