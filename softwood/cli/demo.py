"""``softwood demo``: a few models on data that comes with scikit-learn."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from softwood.cli.arguments import add_seed, check_output

FORMATS = (".png", ".pdf", ".svg", ".jpg")
# The two columns that are drawn: the classes overlap along a slanted border.
_PAIR = ("worst area", "worst smoothness")


def add(commands: Any) -> None:
    """Describe the arguments."""
    parser = commands.add_parser(
        "demo",
        help="compare a few models on data that comes with scikit-learn",
        description="Fit a CART, kernel trees and a forest to data that comes with scikit-learn; print a table of "
        "their accuracy, size and time, and save a figure of their decision surfaces.",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("softwood-demo.png"),
        metavar="FILE",
        help="file of the figure (default %(default)s)",
    )
    add_seed(parser, "the split and the models")
    parser.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Run the demo."""
    check_output(chosen.output, FORMATS)
    run_demo(chosen.output, chosen.seed)
    return 0


def demo_models(seed: int) -> dict[str, Any]:
    """Models to compare, by the names that the demo shows."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    from softwood.kernel.boosting import KernelBoostingClassifier
    from softwood.kernel.forest import KernelForestClassifier
    from softwood.kernel.tree import KernelTreeClassifier

    return {
        "CART (scikit-learn)": DecisionTreeClassifier(random_state=seed),
        "kernel tree": KernelTreeClassifier(random_state=seed),
        "kernel tree, small": KernelTreeClassifier(max_leaf_nodes="small", random_state=seed),
        "random forest (scikit-learn)": RandomForestClassifier(random_state=seed),
        "kernel forest": KernelForestClassifier(random_state=seed),
        "kernel boosting": KernelBoostingClassifier(random_state=seed),
    }


def run_demo(output: Path, seed: int) -> None:
    """Fit the models, print the table, and draw their decision surfaces.

    Parameters
    ----------
    output : file of the figure; the suffix determines the format
    seed : seed of the split into training and test rows, and of the models
    """
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    from softwood.explanations.text import export_text

    data = load_breast_cancer()
    parts = train_test_split(data.data, data.target, test_size=0.4, stratify=data.target, random_state=seed)
    n_train, n_test, n_columns = len(parts[0]), len(parts[1]), parts[0].shape[1]
    print(
        f"Breast cancer data of scikit-learn: {n_columns} columns, {n_train} rows to learn from, {n_test} held out.\n",
        flush=True,
    )
    lines: list[tuple[str, ...]] = [("model", "accuracy", "log loss", "leaves", "fit", "predict")]
    for name, model in demo_models(seed).items():
        lines.append((name, *_measure(model, *parts)))
    print(_aligned(lines))
    print("\nAccuracy and log loss on the held-out rows. Leaves of an ensemble: those of all its trees.")
    print("\nThe whole small kernel tree; ± is the bandwidth, and mass the number of rows in a node:\n")
    small = demo_models(seed)["kernel tree, small"].fit(parts[0], data.target_names[parts[2]])
    print(export_text(small, feature_names=data.feature_names))
    try:
        _draw(output, data, parts, seed)
    except ImportError as error:
        print(f"No figure: {error}")
    else:
        print(f"Decision surfaces of the same models, fitted to two of the columns: {output}")


def _measure(model: Any, X: Any, X_test: Any, y: Any, y_test: Any) -> tuple[str, ...]:
    """Accuracy, log loss, leaves, and times to fit and to predict, as text."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.metrics import accuracy_score, log_loss

    start = time.perf_counter()
    model.fit(X, y)
    fit_time = time.perf_counter() - start
    predict_times = []
    for _ in range(3):
        start = time.perf_counter()
        probabilities = model.predict_proba(X_test)
        predict_times.append(time.perf_counter() - start)
    accuracy = accuracy_score(y_test, model.classes_[probabilities.argmax(axis=1)])
    trees = model.estimators_ if isinstance(model, RandomForestClassifier) else [model]
    leaves = sum(tree.get_n_leaves() for tree in trees)
    return (
        f"{accuracy:.3f}",
        f"{log_loss(y_test, probabilities):.3f}",
        str(leaves),
        f"{1e3 * fit_time:.1f} ms",
        f"{1e3 * min(predict_times):.1f} ms",
    )


def _aligned(lines: list[tuple[str, ...]]) -> str:
    """A table as text: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = (
        "   ".join([line[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True))])
        for line in lines
    )
    return "\n".join(rows)


def _draw(output: Path, data: Any, parts: Any, seed: int) -> None:
    """Surfaces of the models over two columns, with the held-out rows."""
    from sklearn.base import clone

    from softwood.core.extras import require
    from softwood.plots.surface import plot_surface

    figure = require("matplotlib.figure", "plots", "The figure").Figure(figsize=(12, 7.4), layout="constrained")
    models = demo_models(seed)
    columns = [list(data.feature_names).index(name) for name in _PAIR]
    X, X_test = parts[0][:, columns], parts[1][:, columns]
    y, y_test = (data.target_names[labels] for labels in parts[2:])
    n_columns = min(3, len(models))
    grid = figure.subplots(-(-len(models) // n_columns), n_columns, sharex=True, sharey=True, squeeze=False)
    panels = grid.ravel()[: len(models)]
    for panel, (name, model) in zip(panels, models.items(), strict=True):
        fitted = clone(model).fit(X, y)
        plot_surface(fitted, X_test, y_test, ax=panel)
        panel.set(title=f"{name}\naccuracy {fitted.score(X_test, y_test):.3f}", xlabel="", ylabel="")
    for panel in grid[-1]:
        panel.set(xlabel=_PAIR[0])
    for panel in grid[:, 0]:
        panel.set(ylabel=_PAIR[1])
    panels[-1].legend(loc="lower right", framealpha=0.9)
    figure.savefig(output, dpi=110)
