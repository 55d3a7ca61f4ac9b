"""Figures 3, 4 and 5 of the Soft Hoeffding Tree paper (2024): docs/images/soft_hoeffding_figure_{3,4,5}.png.

    python papers/soft_hoeffding/figures.py [--only 3 4 5] [--rows 100000]

Single trees of depth 7, gamma 1 and learning rate 0.01; important features are counted in the decisions about each row
before it is learned. The numbers behind figures 3 and 5 are written to figures.csv, and not computed again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from softwood.stream import Agrawal, SmoothStepTreeClassifier, SoftHoeffdingTreeClassifier
from softwood.stream.adapting import adaptation
from softwood.stream.evaluation.measures import AUROC
from softwood.stream.transparency import important_features

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # a script finds only what is beside it

from comparisons.results import Results
from papers.soft_hoeffding.streams import STREAMS, TITLES, Rows, length, make_stream

HERE = Path(__file__).resolve().parent
NUMBERS = HERE / "figures.csv"
IMAGES = HERE.parents[1] / "docs" / "images"
RESULTS = Results(
    about={"stream": str, "model": str, "n_samples": int}, figures={"important_share": float, "auroc": float}
)
BLOCK = 1000
ALPHAS = [f"{k / 10:g}" for k in range(11)]
SHOWN = ("sea_50", "hyperplane_0.001", "agrawal_perturbed", "sleep", "satimage", "covertype")
PAIR = {"alpha 0.3": "SoHoT as published, α = 0.3", "defaults": "SoHoT, our defaults", "ST": "ST"}
# Classification functions of the two Agrawal streams of figure 4, and rows between drifts.
FUNCTIONS, EVERY, WIDTH = (1, 3, 5, 7), 25_000, 5_000


def make_model(name: str) -> Any:
    if name == "ST":
        return SmoothStepTreeClassifier(outlier_limit=None, random_state=0)
    if name == "defaults":
        return SoftHoeffdingTreeClassifier(random_state=0)
    return SoftHoeffdingTreeClassifier.as_published(alpha=float(name.split()[1]), random_state=0)


def explained(model: Any, rows: Rows) -> tuple[float, float]:
    """Mean proportion of important features in the decisions about rows of a stream, and AUROC."""
    area = AUROC()
    total, n_rules, n_features = 0.0, 0, rows.X.shape[1]
    for start in range(0, len(rows.y), BLOCK):
        X, y = rows.X[start : start + BLOCK], rows.y[start : start + BLOCK]
        if start and model.growth_.n_nodes > 1:
            found = important_features(model, X)
            total += found.mean * found.n_rules
            n_rules += found.n_rules
        known = {} if start else {"classes": rows.classes}
        area.update(y, model.test_then_train(X, y, **known))
    return (total / n_rules / n_features if n_rules else np.nan), area.get()


def numbers(wanted: list[tuple[str, str]], n_rows: int, path: Path) -> dict[tuple[str, str], tuple[float, float]]:
    """Important features and AUROC of streams and models, from the file or else computed and added to it."""
    known = {RESULTS.place(row): (row["important_share"], row["auroc"]) for row in RESULTS.read(path)}
    present: tuple[str, Rows] | None = None
    for stream, model in sorted(wanted, key=lambda pair: STREAMS.index(pair[0])):
        place = (stream, model, length(stream, 1.0, n_rows))
        if place in known:
            continue
        if present is None or present[0] != stream:
            present = stream, make_stream(stream, place[2], 0)
        share, area = known[place] = explained(make_model(model), present[1])
        line = {"stream": stream, "model": model, "n_samples": place[2], "important_share": share, "auroc": area}
        RESULTS.append(path, [line])
        print(f"{stream}, {model}: {share:.3f} important, AUROC {area:.3f}", flush=True)
    return {(s, m): known[s, m, length(s, 1.0, n_rows)] for s, m in wanted}


def figure_3(folder: Path, n_rows: int, path: Path = NUMBERS) -> None:
    """Alpha against the proportion of important features and AUROC."""
    plt = drawing()
    names = [f"alpha {alpha}" for alpha in ALPHAS]
    found = numbers([(s, name) for s in SHOWN for name in names], n_rows, path)
    figure, axes = plt.subplots(2, 3, figsize=(9.6, 5.2), sharex=True, layout="constrained")
    for ax, stream in zip(axes.flat, SHOWN, strict=True):
        shares, areas = zip(*(found[stream, name] for name in names), strict=True)
        x = np.array(ALPHAS, dtype=float)
        left = ax.plot(x, shares, "o-", color="C0", markersize=3.5, label="important features (left)")
        ax.set_title(TITLES[stream], fontsize=10)
        ax.set_ylim(0, 1.05 * max([0.5, *(share for share in shares if not np.isnan(share))]))
        ax.tick_params(axis="y", colors="C0")
        right = ax.twinx()
        lines = right.plot(x, areas, "s--", color="C3", markersize=3.5, label="AUROC (right)")
        right.tick_params(axis="y", colors="C3")
        right.margins(y=0.12)
    figure.supxlabel("α", fontsize=11)
    figure.legend(handles=[*left, *lines], loc="outside upper center", ncols=2, frameon=False)
    figure.savefig(folder / "soft_hoeffding_figure_3.png", dpi=110)
    plt.close(figure)


def figure_4(folder: Path) -> None:
    """Gradient norm and nodes added around drifts, of the published tree and of ours."""
    plt = drawing()
    from softwood.plots import plot_growth

    models = {"SoHoT as published": "alpha 0.3", "our defaults": "defaults"}
    kinds = {"abrupt drift": None, "gradual drift": WIDTH}
    figure, axes = plt.subplots(4, 2, figsize=(10, 8), sharex=True, layout="constrained")
    n_rows = EVERY * len(FUNCTIONS) - WIDTH  # the next gradual drift would begin there
    for column, (kind, width) in enumerate(kinds.items()):
        for row, (title, name) in enumerate(models.items()):
            stream = Agrawal(functions=FUNCTIONS, drift_every=EVERY, drift_width=width, seed=0)
            result = adaptation(make_model(name), stream, n_samples=n_rows, window=BLOCK)
            pair = axes[2 * row : 2 * row + 2, column]
            plot_growth(result, drifts=range(EVERY, n_rows, EVERY), axes=pair)
            pair[0].set_title(f"{title}, {kind}", fontsize=10)
            if column or row:
                pair[0].get_legend().remove()
            if row == 0:
                pair[1].set_xlabel("")
    figure.savefig(folder / "soft_hoeffding_figure_4.png", dpi=110)
    plt.close(figure)


def figure_5(folder: Path, n_rows: int, path: Path = NUMBERS) -> None:
    """Proportion of important features on all streams."""
    plt = drawing()
    found = numbers([(s, name) for s in STREAMS for name in PAIR], n_rows, path)
    figure, ax = plt.subplots(figsize=(10, 4), layout="constrained")
    for k, (name, title) in enumerate(PAIR.items()):
        place = np.arange(len(STREAMS)) + 0.28 * (k - 1)
        ax.bar(place, [found[s, name][0] for s in STREAMS], 0.26, color=f"C{k}", label=title)
    ax.set_xticks(np.arange(len(STREAMS)), [TITLES[s] for s in STREAMS], rotation=40, ha="right", fontsize=9)
    ax.set_ylabel("important features, proportion")
    ax.margins(x=0.01)
    figure.legend(loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(folder / "soft_hoeffding_figure_5.png", dpi=110)
    plt.close(figure)


def drawing() -> Any:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", type=int, choices=(3, 4, 5), default=[3, 4, 5])
    parser.add_argument("--rows", type=int, default=100_000, help="most rows of a stream in figures 3 and 5")
    options = parser.parse_args()
    if 3 in options.only:
        figure_3(IMAGES, options.rows)
    if 4 in options.only:
        figure_4(IMAGES)
    if 5 in options.only:
        figure_5(IMAGES, options.rows)


if __name__ == "__main__":
    main()
