"""Figures 1, 3 and 4 of Kernel Density Decision Trees (2022), drawn into docs/images.

    python papers/kernel_density/figures.py [--figures 1 3 4]

Needs matplotlib (pip install "softwood[plots]"). The paper does not say how its toy sets were drawn: those of
`softwood.datasets` stand for them, so figures 3 and 4 are to be compared in kind, not in number.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from softwood import KernelTreeClassifier, KernelTreeRegressor
from softwood.datasets import TOY_CLASSIFICATION, TOY_REGRESSION, toy_classification, toy_regression

mpl.use("Agg")
import matplotlib.pyplot as plt

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
SIZES = (50, 1000)
N_TEST = 10_000
ALPHAS = np.geomspace(1e-5, 1.0, 21)
BANDWIDTHS = np.geomspace(1e-2, 1.0, 9)
COLOURS = np.array([[0.85, 0.37, 0.13], [0.15, 0.42, 0.70], [0.25, 0.60, 0.30]])  # one for each class
MARKERS = ("o", "X", "^")
# As in the paper: no size is chosen, and no share of a point is too small.
FULLY_GROWN = {"max_leaf_nodes": None, "cutoff": 1e-6}

# ---------------------------------------------------------------- figure 1


BOX = (0.0, 6.0, 0.0, 6.0)


def small_example() -> tuple[np.ndarray, np.ndarray]:
    """Two classes on the two sides of a slanting line, which a crisp tree must follow in steps."""
    first = [[0.8, 2.0], [1.2, 3.9], [2.3, 3.3], [1.6, 5.2], [3.1, 4.7], [4.3, 5.4]]
    second = [[1.5, 0.7], [2.6, 1.6], [3.6, 2.9], [4.0, 1.1], [5.2, 4.2], [5.0, 2.2]]
    return np.array(first + second), np.repeat([0, 1], [len(first), len(second)])


def figure_1() -> plt.Figure:
    X, y = small_example()
    half_width = 0.7
    cart = DecisionTreeClassifier(random_state=0).fit(X, y)
    given = {"bandwidth": half_width, "bandwidth_unit": "absolute", **FULLY_GROWN}
    kernel = KernelTreeClassifier(**given).fit(X, y)
    crisp = KernelTreeClassifier(**given, prediction_kernel=None).fit(X, y)
    figure, axes = plt.subplots(1, 3, figsize=(9, 3.35), layout="constrained")
    titles = ("data, and the partition of CART", "partition of a kernel tree", "prediction with the box kernel")
    for ax, model, title in zip(axes, (cart, crisp, kernel), titles, strict=True):
        draw_probabilities(ax, model, BOX, resolution=600)
        if model is not kernel:
            draw_partition(ax, model)
        if model is crisp:
            for corner in X - half_width:
                square = plt.Rectangle(corner, 2 * half_width, 2 * half_width, fill=False, ec="0.2", lw=0.6, ls=":")
                ax.add_patch(square)
        draw_points(ax, X, y, size=34)
        ax.set_title(title, fontsize=11)
    return figure


def draw_partition(ax: plt.Axes, model: Any, resolution: int = 600) -> None:
    """White lines where the leaf changes."""
    across, up = np.linspace(*BOX[:2], resolution), np.linspace(*BOX[2:], resolution)
    leaf = model.apply(np.column_stack([a.ravel() for a in np.meshgrid(across, up)])).reshape(resolution, resolution)
    for number in np.unique(leaf):
        rows, columns = np.nonzero(leaf == number)  # a box, as every leaf
        corner = across[columns.min()], up[rows.min()]
        size = across[columns.max()] - corner[0], up[rows.max()] - corner[1]
        ax.add_patch(plt.Rectangle(corner, *size, fill=False, ec="white", lw=1.0))


# ---------------------------------------------------------------- figures 3 and 4


def inner_folds() -> KFold:
    return KFold(10, shuffle=True, random_state=0)


def tuned(model: Any, name: str, grid: np.ndarray) -> GridSearchCV:
    return GridSearchCV(model, {name: grid}, cv=inner_folds())


def classifiers() -> dict[str, Any]:
    return {
        "decision tree": tuned(DecisionTreeClassifier(random_state=0), "ccp_alpha", ALPHAS),
        "random forest": RandomForestClassifier(random_state=0),
        "kernel tree": KernelTreeClassifier(bandwidth="cv", random_state=0, **FULLY_GROWN),
        "kernel tree,\nread crisply": tuned(
            KernelTreeClassifier(prediction_kernel=None, **FULLY_GROWN), "bandwidth", BANDWIDTHS
        ),
    }


def regressors() -> dict[str, Any]:
    return {
        "decision tree": tuned(DecisionTreeRegressor(random_state=0), "ccp_alpha", ALPHAS),
        "random forest": RandomForestRegressor(random_state=0),
        "kernel tree": KernelTreeRegressor(bandwidth="cv", random_state=0, **FULLY_GROWN),
        "kernel tree,\nread crisply": tuned(
            KernelTreeRegressor(prediction_kernel=None, **FULLY_GROWN), "bandwidth", BANDWIDTHS
        ),
    }


def figure_3() -> plt.Figure:
    return toy_figure(TOY_CLASSIFICATION, toy_classification, classifiers(), draw_class_data, draw_class_model)


def figure_4() -> plt.Figure:
    return toy_figure(TOY_REGRESSION, toy_regression, regressors(), draw_value_data, draw_value_model)


def toy_figure(
    kinds: tuple[str, ...],
    draw_set: Callable[..., tuple[np.ndarray, np.ndarray]],
    models: dict[str, Any],
    draw_data: Callable[..., None],
    draw_model: Callable[..., None],
) -> plt.Figure:
    """A row for each kind and size, the data in the first column and a model with its test score in each other."""
    rows = [(kind, size) for kind in kinds for size in SIZES]
    figure, axes = plt.subplots(
        len(rows), 1 + len(models), figsize=(1.55 * (1 + len(models)), 1.55 * len(rows)), layout="constrained"
    )
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02, wspace=0.02, hspace=0.02)
    start = time.monotonic()
    for (kind, size), line in zip(rows, axes, strict=True):
        X, y = draw_set(kind, size, random_state=0)
        X_test, y_test = draw_set(kind, N_TEST, random_state=1)
        draw_data(line[0], X, y, X_test, y_test)
        line[0].set_ylabel(f"{kind}, {size}", fontsize=9)
        for ax, (title, model) in zip(line[1:], models.items(), strict=True):
            score = 100 * model.fit(X, y).score(X_test, y_test)
            draw_model(ax, model, X, y, X_test, y_test)
            ax.text(
                0.96, 0.04, f"{score:.1f}", transform=ax.transAxes, ha="right", va="bottom", fontsize=9,
                bbox={"fc": "white", "ec": "none", "alpha": 0.8, "pad": 1.5},
            )  # fmt: skip
            print(f"[{time.monotonic() - start:6.1f} s] {kind} {size} {title!r}: {score:.1f}", flush=True)
    for ax, title in zip(axes[0], ["data", *models], strict=True):
        ax.set_title(title, fontsize=10)
    return figure


# ---------------------------------------------------------------- panels


def draw_probabilities(ax: plt.Axes, model: Any, box: tuple[float, ...], resolution: int = 160) -> None:
    """Classes as colours, mixed by their probability."""
    across, up = np.linspace(*box[:2], resolution), np.linspace(*box[2:], resolution)
    grid = np.column_stack([a.ravel() for a in np.meshgrid(across, up)])
    probabilities = model.predict_proba(grid)
    shade = probabilities @ (0.45 + 0.55 * COLOURS[: probabilities.shape[1]])
    ax.imshow(
        np.clip(shade, 0, 1).reshape(resolution, resolution, 3), extent=box, origin="lower", aspect="auto",
        interpolation="nearest",
    )  # fmt: skip
    ax.set(xlim=box[:2], ylim=box[2:], xticks=[], yticks=[])


def draw_points(ax: plt.Axes, X: np.ndarray, y: np.ndarray, size: float) -> None:
    for label in np.unique(y):
        rows = X[y == label]
        edge = {"linewidths": 0.6, "edgecolors": "white"} if size > 10 else {"linewidths": 0}
        ax.scatter(*rows.T, s=size, color=COLOURS[label] * 0.8, marker=MARKERS[label], **edge)


def _box(X: np.ndarray) -> tuple[float, float, float, float]:
    """The middle of the test points, the same for both sizes."""
    low, high = np.quantile(X, [0.002, 0.998], axis=0)
    margin = 0.05 * (high - low)
    (left, down), (right, up) = low - margin, high + margin
    return left, right, down, up


def draw_class_data(ax: plt.Axes, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> None:
    box = _box(X_test)
    draw_points(ax, X, y, size=12 if len(y) < 200 else 2.5)
    ax.set(xlim=box[:2], ylim=box[2:], xticks=[], yticks=[])


def draw_class_model(
    ax: plt.Axes, model: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray
) -> None:
    draw_probabilities(ax, model, _box(X_test))


def draw_value_data(ax: plt.Axes, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> None:
    few = len(y) < 200
    ax.scatter(X[:, 0], y, s=7 if few else 2, color=COLOURS[1], alpha=0.9 if few else 0.5, linewidths=0)
    low, high = np.quantile(y_test, [0.001, 0.999])
    ax.set(xlim=(-0.02, 1.02), ylim=(low - 0.15, high + 0.15), xticks=[], yticks=[])


def draw_value_model(
    ax: plt.Axes, model: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray
) -> None:
    draw_value_data(ax, X, y, X_test, y_test)
    ax.collections[0].set(color="0.75", alpha=0.6)
    across = np.linspace(0, 1, 1000)[:, None]
    ax.plot(across[:, 0], model.predict(across), color=COLOURS[0], lw=1.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    figures = {"1": figure_1, "3": figure_3, "4": figure_4}
    parser.add_argument("--figures", nargs="+", default=tuple(figures), choices=tuple(figures))
    for number in parser.parse_args().figures:
        IMAGES.mkdir(parents=True, exist_ok=True)
        path = IMAGES / f"kernel_density_figure_{number}.png"
        figures[number]().savefig(path, dpi=100)
        print(f"figure {number}: {path.name}, {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
