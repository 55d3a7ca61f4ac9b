"""The tables and figures of the One-Stage Tree paper from single fits, published figures beside ours."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import ttest_rel

from papers.one_stage.models import TITLES
from softwood.stats import friedman_test, holm, nemenyi_test, wilcoxon_signed_rank

HERE = Path(__file__).resolve().parent
CLASSES = (
    "pima_diabetes", "spectf", "german_credit_numeric", "ionosphere", "credit_default_taiwan", "messidor",
    "wine_quality_red", "wine_quality_white", "spambase", "credit_a", "fertility", "hepatitis", "megawatt1",
)  # fmt: skip
REALS = (
    "boston_housing", "airfoil_self_noise", "openml_589_fri_c2_1000_25", "openml_620_fri_c1_1000_25",
    "bike_sharing_day",
)  # fmt: skip
BUDDING_SETS = (
    "boston_housing", "german_credit_numeric", "magic_gamma", "pima_diabetes", "spambase", "ecoli", "glass", "yeast",
)  # fmt: skip
# Data sets with their usual number of training rows, the first ones, and the depth of DTSemNet's table (2024).
OBLIQUE = {"letter": (16_000, 10), "pendigits": (7_494, 8), "satimage": (4_435, 6)}
USUAL = "usual"
# Accuracy of DTSemNet, and of CART beside it, as published.
DTSEMNET = {"letter": (89.2, 70.1), "pendigits": (97.0, 89.9), "satimage": (87.6, 84.2)}
# Tables show the seeds that all models have; one-stage trees and CART have more.
N_SEEDS, MORE_SEEDS = 5, 15
PARTS = ("0.05", "0.10", "0.15", "0.20", "0.25", "0.30")

Rows = list[dict[str, Any]]


def published() -> dict[tuple[str, str, str], float]:
    """Figures of the paper by table, data set (or depth) and model (or part)."""
    with (HERE / "published.csv").open(newline="", encoding="utf-8") as lines:
        return {(row["table"], row["data_set"], row["model"]): float(row["score"]) for row in csv.DictReader(lines)}


def scores(
    rows: Rows, data_set: str, model: str, what: str = "test_score", n_seeds: int = N_SEEDS, **place: Any
) -> np.ndarray:
    """Scores of the first seeds, in their order."""
    place = {"test_part": "0.2", "depth": 6, "validation": "0.25", **place}
    found = {
        row["seed"]: row[what] for row in rows
        if row["data_set"] == data_set and row["model"] == model and row["seed"] < n_seeds
        and all(row[key] == v for key, v in place.items())
    }  # fmt: skip
    return np.array([found[seed] for seed in sorted(found)], dtype=float)


def mean_or_nan(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else np.nan


def matrix(rows: Rows, data_sets: Sequence[str], models: Sequence[str], **place: Any) -> np.ndarray:
    """Mean scores, (n_data_sets, n_models), nan where nothing was run."""
    return np.array([[mean_or_nan(scores(rows, s, m, **place)) for m in models] for s in data_sets])


def cell(values: np.ndarray) -> str:
    if not len(values):
        return ""
    return f"{values.mean():.2f} ± {values.std(ddof=1):.2f}" if len(values) > 1 else f"{values.mean():.2f}"


def comparison(rows: Rows, table: str, data_sets: Sequence[str], models: Sequence[str], **place: Any) -> list[str]:
    """A table of scores: for each model the published figure, if there is one, and ours."""
    known = published()
    shown = [m for m in models if any((table, s, m) in known for s in data_sets)]
    head = [f"{TITLES[m]}: published" for m in shown] + [f"{TITLES[m]}: ours" for m in models]
    lines = ["| data set | " + " | ".join(head) + " |", "| --- |" + " ---: |" * len(head)]
    for name in data_sets:
        cells = [f"{known[table, name, m]:.2f}" if (table, name, m) in known else "" for m in shown]
        means = [mean_or_nan(scores(rows, name, m, **place)) for m in models]
        for m, mean in zip(models, means, strict=True):
            text = cell(scores(rows, name, m, **place))
            cells.append(f"**{text}**" if text and mean == np.nanmax(means) else text)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def counts(rows: Rows, table: str, data_sets: Sequence[str], **place: Any) -> list[str]:
    """One-stage trees against the published figure and against CART."""
    known, lines = published(), []
    both = [s for s in data_sets if (table, s, "one_stage") in known and len(scores(rows, s, "one_stage", **place))]
    below = [s for s in both if scores(rows, s, "one_stage", **place).mean() < known[table, s, "one_stage"]]
    listed = f"; not on {', '.join(below)}" if below else ""
    lines.append(f"- One-stage tree: at least the published figure on {len(both) - len(below)} of {len(both)}{listed}.")
    for other in ("cart", "end_to_end", "soft", "budding"):
        pairs = {
            s: (mean_or_nan(scores(rows, s, "one_stage", **place)), mean_or_nan(scores(rows, s, other, **place)))
            for s in data_sets
        }
        pairs = {s: pair for s, pair in pairs.items() if np.all(np.isfinite(pair))}
        if pairs:
            worse = [s for s, (a, b) in pairs.items() if a <= b]
            listed = f"; not on {', '.join(worse)}" if worse else ""
            good = len(pairs) - len(worse)
            lines.append(f"- One-stage tree against {TITLES[other]}: better on {good} of {len(pairs)}{listed}.")
    return lines


def pairs(rows: Rows, data_sets: Sequence[str]) -> list[str]:
    """One-stage trees against CART on the same splits, all seeds: paired t-tests with Holm's correction."""
    found = {
        s: (scores(rows, s, "cart", n_seeds=MORE_SEEDS), scores(rows, s, "one_stage", n_seeds=MORE_SEEDS))
        for s in data_sets
    }
    found = {s: pair for s, pair in found.items() if len(pair[0]) == len(pair[1]) > 1}
    if not found:
        return []
    p_values = {s: float(ttest_rel(ours, cart).pvalue) for s, (cart, ours) in found.items()}
    corrected = dict(zip(p_values, holm([1.0 if np.isnan(p) else p for p in p_values.values()]), strict=True))
    lines = ["| data set | seeds | CART | one-stage tree | difference | splits | p, Holm |", "| --- |" + " ---: |" * 6]
    for s, (cart, ours) in found.items():
        splits = scores(rows, s, "one_stage", "splits", n_seeds=MORE_SEEDS).mean()
        lines.append(
            f"| {s} | {len(ours)} | {cell(cart)} | {cell(ours)} | {(ours - cart).mean():+.2f} | {splits:.1f} "
            f"| {corrected[s]:.2g} |"
        )
    differences = {s: (ours - cart).mean() for s, (cart, ours) in found.items()}
    means = np.mean([[cart.mean(), ours.mean()] for cart, ours in found.values()], axis=0)
    above = [s for s, d in differences.items() if d > 0.0 and corrected[s] < 0.05]
    below = [s for s, d in differences.items() if d < 0.0 and corrected[s] < 0.05]
    better = sum(d > 0.0 for d in differences.values())
    return [
        *lines, "",
        f"- Means: CART {means[0]:.2f}, one-stage tree {means[1]:.2f}. Above CART on {better} of {len(found)}, "
        f"significantly (5 %, Holm) on {len(above)}, significantly below on {len(below)}.",
    ]  # fmt: skip


def oblique(rows: Rows) -> list[str]:
    """Crisp oblique trees on their usual rows."""
    lines = [
        "| data set | depth | DTSemNet: published | CART: published | CART: ours | one-stage tree: ours | splits |",
        "| --- |" + " ---: |" * 6,
    ]
    for name, (_, depth) in OBLIQUE.items():
        place = {"test_part": USUAL, "depth": depth, "n_seeds": 10}
        theirs = DTSEMNET[name]
        splits = scores(rows, name, "one_stage", "splits", **place)
        lines.append(
            f"| {name} | {depth} | {theirs[0]:.1f} | {theirs[1]:.1f} | {cell(scores(rows, name, 'cart', **place))} "
            f"| {cell(scores(rows, name, 'one_stage', **place))} | {mean_or_nan(splits):.0f} |"
        )
    return lines


def ranks(rows: Rows, data_sets: Sequence[str], models: Sequence[str], of: str = "one_stage") -> list[str]:
    """Friedman's and Nemenyi's tests over the data sets that all models have."""
    table = matrix(rows, data_sets, models)
    whole = np.isfinite(table).all(axis=1)
    if whole.sum() < 2:
        return []
    test = friedman_test(table[whole], higher_is_better=True)
    lines = [
        f"- Friedman's test of {len(models)} models on {whole.sum()} data sets: chi-square {test.statistic:.2f}, "
        f"p = {test.p_value:.2g}. Average ranks: "
        + ", ".join(f"{TITLES[m]} {rank:.2f}" for rank, m in sorted(zip(test.ranks, models, strict=True)))
        + "."
    ]
    if len(models) > 2:
        pairs = nemenyi_test(table[whole], higher_is_better=True)
        at = models.index(of)
        found = ", ".join(f"{TITLES[m]} {pairs.p_values[at, k]:.3g}" for k, m in enumerate(models) if k != at)
        lines.append(f"- Nemenyi's p-values of the {TITLES[of]} against: {found}.")
    return lines


def table_7(rows: Rows) -> list[str]:
    known = published()
    depths = range(1, 10)
    lines = [
        "| depth | " + " | ".join(map(str, depths)) + " |", "| --- |" + " ---: |" * 9,
        "| complete tree | " + " | ".join(str(2**d - 1) for d in depths) + " |",
        "| one-stage tree: published | " + " | ".join(f"{known['7', str(d), 'one_stage']:.1f}" for d in depths) + " |",
    ]  # fmt: skip
    splits, accuracy = [], {"one_stage": [], "cart": []}  # type: ignore[var-annotated]
    for depth in depths:
        found = [mean_or_nan(scores(rows, s, "one_stage", "splits", depth=depth)) for s in CLASSES]
        splits.append(np.nanmean(found) if np.isfinite(found).any() else np.nan)
        for model, means in accuracy.items():
            table = matrix(rows, CLASSES, [model], depth=depth)
            means.append(np.nanmean(table) if np.isfinite(table).any() else np.nan)

    def line(title: str, values: list[float], digits: int) -> str:
        return f"| {title} | " + " | ".join("" if np.isnan(v) else f"{v:.{digits}f}" for v in values) + " |"

    lines.append(line("one-stage tree: ours", splits, 1))
    lines.append(line("its mean accuracy", accuracy["one_stage"], 2))
    lines.append(line("CART's mean accuracy", accuracy["cart"], 2))
    return lines


def table_8(rows: Rows) -> list[str]:
    known = published()
    lines = [
        "| data set | " + " | ".join(f"{part}: published | ours" for part in PARTS) + " |",
        "| --- |" + " ---: |" * (2 * len(PARTS)),
    ]
    for name in CLASSES:
        cells = []
        for part in PARTS:
            ours = scores(rows, name, "proximal", validation=f"{float(part) / 0.8:.4g}")
            cells += [f"{known['8', name, part]:.2f}", f"{ours.mean():.2f}" if len(ours) else ""]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def table_9(rows: Rows) -> list[str]:
    known = published()
    models = ("proximal", "joint", "gumbel")
    lines = [
        "| data sets, rows | " + " | ".join(f"{TITLES[m]}: published | ours" for m in models) + " |",
        "| --- |" + " ---: |" * (2 * len(models)),
    ]
    for kind, data_sets in (("classification", CLASSES), ("regression", REALS)):
        for part in ("train", "test"):
            wins = np.zeros(len(models))
            for name in data_sets:
                means = np.array([mean_or_nan(scores(rows, name, m, f"{part}_score")) for m in models])
                if np.isfinite(means).all():
                    best = means == means.max()
                    wins += best / best.sum()
            cells = []
            for m, won in zip(models, wins, strict=True):
                name = "one_stage" if m == "proximal" else m  # the paper's one-stage tree
                cells += [f"{known['9', f'{kind} {part}', name]:g}", f"{won:g}"]
            lines.append(f"| {kind}, {part} | " + " | ".join(cells) + " |")
    return [*lines, "", *ranks(rows, (*CLASSES, *REALS), models, of="proximal")]


def sections(rows: Rows) -> dict[str, str]:
    """The text of each part of the page that is made from runs."""
    trees = ("cart", "soft", "budding", "end_to_end", "as_published", "one_stage")
    parts = {
        "table 2": [
            *comparison(rows, "2", CLASSES, trees), "", *counts(rows, "2", CLASSES), *ranks(rows, CLASSES, trees),
        ],
        "table 3": [*comparison(rows, "3", REALS, trees), "", *counts(rows, "3", REALS)],
        "pairs": [*pairs(rows, CLASSES), "", *pairs(rows, REALS)],
        "oblique": oblique(rows),
        "table 4": [
            *comparison(rows, "4", BUDDING_SETS, ("budding", "cart", "one_stage"), test_part="0.333"), "",
            *counts(rows, "4", BUDDING_SETS, test_part="0.333"),
        ],
        "table 6": ranks(rows, (*CLASSES, *REALS), ("one_stage", "one_stage_forest", "xgboost", "linear_svm", "mlp")),
        "table 7": table_7(rows),
        "table 8": table_8(rows),
        "table 9": table_9(rows),
    }  # fmt: skip
    both = matrix(rows, REALS, ["one_stage", "cart"])
    if np.isfinite(both).all():
        test = wilcoxon_signed_rank(both[:, 0], both[:, 1])
        parts["table 3"].append(f"- Wilcoxon's signed ranks, one-stage tree against CART: p = {test.p_value:.3g}.")
    return {title: "\n".join(lines) for title, lines in parts.items()}


def write_summary(path: Path, rows: Rows) -> None:
    """Means and standard deviations of all that was run."""
    places = ("data_set", "model", "test_part", "depth", "validation")
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in places), []).append(row)
    with path.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow([*places, "n_seeds", "train_score", "test_score", "test_sd", "splits"])
        for place, group in sorted(groups.items(), key=lambda item: tuple(map(str, item[0]))):
            train, test = ([row[f"{part}_score"] for row in group] for part in ("train", "test"))
            splits = [row["splits"] for row in group if not np.isnan(row["splits"])]
            deviation = f"{np.std(test, ddof=1):.3f}" if len(test) > 1 else ""
            writer.writerow([
                *place, len(group), f"{np.mean(train):.3f}", f"{np.mean(test):.3f}", deviation,
                f"{np.mean(splits):.1f}" if splits else "",
            ])  # fmt: skip


def write_figures(folder: Path, rows: Rows) -> None:
    """Figure 5: accuracy by depth; figure 6: training and test scores of the three architectures."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 5, figsize=(13, 7.5), layout="constrained")
    for ax, name in zip(axes.flat, CLASSES, strict=False):
        styles = {"one_stage": "o-", "cart": "s--", "end_to_end": "^:", "soft": "v:", "budding": "d:"}
        for model, style in styles.items():
            means = [mean_or_nan(scores(rows, name, model, depth=depth)) for depth in range(1, 10)]
            ax.plot(range(1, 10), means, style, markersize=3, linewidth=1, label=TITLES[model])
        ax.set_title(name, fontsize=9)
    for ax in axes.flat[len(CLASSES) :]:
        ax.axis("off")
    axes.flat[len(CLASSES)].legend(*axes[0, 0].get_legend_handles_labels(), frameon=False, loc="center")
    figure.supxlabel("depth")
    figure.supylabel("test accuracy (%)")
    figure.savefig(folder / "one_stage_figure_5.png", dpi=100)
    plt.close(figure)
    models = ("proximal", "joint", "gumbel")
    names = (*CLASSES, *REALS)
    figure, ax = plt.subplots(figsize=(13, 4.5), layout="constrained")
    for k, model in enumerate(models):
        place = np.arange(len(names)) + 0.27 * (k - 1)
        test = [mean_or_nan(scores(rows, name, model)) for name in names]
        train = [mean_or_nan(scores(rows, name, model, "train_score")) for name in names]
        ax.bar(place, test, 0.25, color=f"C{k}", label=f"{TITLES[model]}, test")
        ax.plot(place, train, "o", color=f"C{k}", markeredgecolor="black", label=f"{TITLES[model]}, training")
    ax.set_xticks(np.arange(len(names)), names, rotation=35, ha="right", fontsize=8)
    ax.set_ylim(0, 105)
    ax.set_ylabel("accuracy or R² (%)")
    figure.legend(fontsize=8, ncols=6, loc="outside upper center", frameon=False)
    figure.savefig(folder / "one_stage_figure_6.png", dpi=100)
    plt.close(figure)
