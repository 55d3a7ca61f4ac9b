"""Pictures of the user guide, drawn into docs/images.

Run:  python docs/pictures.py [name ...]

A picture shows one idea. Its name is that of its function: guide_missing.png is drawn by missing().
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from softwood import (
    KernelBoostingRegressor,
    KernelForestClassifier,
    KernelForestRegressor,
    KernelTreeClassifier,
    KernelTreeRegressor,
    OneStageTreeClassifier,
    SoftTreeClassifier,
    explanations,
    soften,
)
from softwood.datasets import toy_classification
from softwood.explanations import shapley_values
from softwood.plots import (
    plot_error_budget,
    plot_search,
    plot_shapley,
    plot_shapley_summary,
    plot_size_path,
    plot_surface,
    plot_tree,
)
from softwood.stream import (
    Agrawal,
    HoeffdingTreeClassifier,
    SoftHoeffdingTreeClassifier,
    StreamForestClassifier,
    compare_prequential,
)

IMAGES = Path(__file__).parent / "images"


def spreading() -> Figure:
    """A row near a threshold is in both leaves."""
    x, target = np.array([1.0, 2.2, 3.4, 4.6, 6.2, 7.4]), np.array([1.0, 1.2, 0.9, 2.8, 3.1, 2.9])
    h = 1.0
    figure, (above, below) = plt.subplots(2, 1, figsize=(7, 4.2), sharex=True, height_ratios=(1, 2))
    for k, value in enumerate(x):
        above.broken_barh([(value - h, 2 * h)], (0.15 * k, 0.12), color="C0", alpha=0.35)
        above.plot(value, 0.15 * k + 0.06, "o", color="C0", markersize=4)
    above.set(yticks=[], ylabel="boxes of\nthe rows")
    grid = np.linspace(0, 8.4, 500)[:, None]
    for name, bandwidth, style in (("CART", 0.0, ":"), ("kernel tree", h, "-")):
        model = KernelTreeRegressor(bandwidth=bandwidth, bandwidth_unit="absolute", max_leaf_nodes=2)
        below.plot(grid[:, 0], model.fit(x[:, None], target).predict(grid), style, label=f"{name}, 2 leaves")
    above.axvline(model.tree_.threshold[0], color="0.3", linestyle="--", linewidth=1)
    below.scatter(x, target, color="0.4", s=18)
    below.set(xlabel="x", ylabel="target and prediction")
    below.legend()
    return figure


def _curves(models: dict) -> Figure:
    """The data of examples/choosing_size.py, and a model in each panel."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, size=(150, 1))
    y = np.sin(X[:, 0]) + np.where(X[:, 0] > 6, 1.5, 0) + rng.normal(0, 0.3, 150)
    grid = np.linspace(0, 10, 1000)[:, None]
    figure, axes = plt.subplots(1, 3, figsize=(11, 3), sharey=True)
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        ax.scatter(X[:, 0], y, s=6, color="0.7")
        ax.plot(grid[:, 0], model.fit(X, y).predict(grid), color="C0")
        ax.set_title(name)
    return figure


def bandwidths() -> Figure:
    """From steps to ramps to a curve that is too smooth."""
    return _curves({f"bandwidth {h}": KernelTreeRegressor(bandwidth=h, max_leaf_nodes=12) for h in (0, 0.2, 1.0)})


def sizes() -> Figure:
    """Too few leaves, enough, and too many."""
    return _curves({f"{k} leaves": KernelTreeRegressor(bandwidth=0.05, max_leaf_nodes=k) for k in (3, 12, 100)})


def size_path() -> Figure:
    """Held-out losses by number of leaves and bandwidth."""
    data = load_breast_cancer()
    ax = plot_size_path(KernelTreeClassifier(trend=None, random_state=0).fit(data.data, data.target))
    ax.figure.set_size_inches(7, 4.2)
    return ax.figure


def missing() -> Figure:
    """A row with a missing value is divided at the tests that need it."""
    iris = load_iris(as_frame=True)
    model = KernelTreeClassifier(max_leaf_nodes=4, bandwidth=0.2).fit(iris.data, iris.target_names[iris.target])
    figure, axes = plt.subplots(2, 1, figsize=(9, 5.4))
    row = iris.data.iloc[[60]]
    plot_tree(model, row, ax=axes[0]).set_title("all columns known")
    plot_tree(model, row.assign(**{"petal width (cm)": np.nan}), ax=axes[1]).set_title("petal width missing")
    return figure


def thermometers() -> Figure:
    """The same reading means less if it comes from a poor sensor."""
    rng = np.random.default_rng(0)
    truth, error = rng.uniform(50, 100, 400), rng.choice([0.5, 8.0], 400)
    X = pd.DataFrame({"temp": truth + rng.uniform(-error, error)})
    y = np.where(truth > 75, "hot", "fine")
    model = KernelTreeClassifier(bandwidth=0, min_mass=5).fit(X, y, measurement_error={"temp": error})
    readings = pd.DataFrame({"temp": np.linspace(60, 90, 300)})
    figure, ax = plt.subplots(figsize=(7, 3.4))
    for name, half_width in {"accurate to ±0.5 degrees": 0.5, "accurate to ±8 degrees": 8.0}.items():
        errors = {"temp": np.full(300, half_width)}
        ax.plot(readings["temp"], model.predict_proba(readings, measurement_error=errors)[:, 1], label=name)
    ax.set(xlabel="reading in degrees", ylabel="probability of hot")
    ax.legend()
    return figure


def error_budget() -> Figure:
    """Which of three sensors to improve: the one that is read to the smallest error."""
    rng = np.random.default_rng(0)
    truth, errors = rng.uniform(size=(3000, 3)), {"pressure": 0.1, "flow": 0.4, "noise": 0.4}
    power = 3 * (truth[:, 0] > 0.5) + 2 * truth[:, 1]
    X = pd.DataFrame(truth + rng.uniform(-1, 1, size=truth.shape) * [*errors.values()], columns=[*errors])
    model = KernelForestRegressor(50, measurement_error=errors, random_state=0).fit(X[:1500], power[:1500])
    found = explanations.error_budget(model, X[1500:], power[1500:], rows="measured")
    return plot_error_budget(found).figure


def _surfaces(models: dict, X: np.ndarray, y: np.ndarray) -> Figure:
    figure, axes = plt.subplots(1, len(models), figsize=(3.7 * len(models), 3.6), sharey=True)
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        plot_surface(model.fit(X, y), X, y, ax=ax, partition=False).set_title(name)
    return figure


def forests() -> Figure:
    """The surface of a forest has many small steps, that of a kernel forest has none."""
    X, y = toy_classification("moons", 200, random_state=0)
    models = {
        "random forest": RandomForestClassifier(100, random_state=0),
        "kernel forest": KernelForestClassifier(100, random_state=0),
    }
    return _surfaces(models, X, y)


def interval() -> Figure:
    """Three quantiles make an interval."""
    data = load_diabetes(as_frame=True)
    X, y = data.data[["bmi"]], data.target
    model = KernelBoostingRegressor(loss="quantile", quantile=(0.1, 0.5, 0.9), random_state=0).fit(X, y)
    grid = pd.DataFrame({"bmi": np.linspace(X["bmi"].min(), X["bmi"].max(), 300)})
    low, middle, high = model.predict(grid).T
    figure, ax = plt.subplots(figsize=(7, 3.4))
    ax.scatter(X["bmi"], y, s=6, color="0.7")
    ax.fill_between(grid["bmi"], low, high, alpha=0.3, label="10 % to 90 %")
    ax.plot(grid["bmi"], middle, label="median")
    ax.set(xlabel="body mass index, standardised", ylabel="progression of the disease")
    ax.legend()
    return figure


def search() -> Figure:
    """The trials that chose the settings of boosting."""
    data = load_diabetes()
    ax = plot_search(KernelBoostingRegressor(random_state=0).fit(data.data, data.target))
    ax.figure.set_size_inches(7, 4)
    return ax.figure


def oblique() -> Figure:
    """A slanted border: many steps, one smooth gate, one crisp gate."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + X[:, 1] + rng.normal(0, 0.4, 300) > 0).astype(int)
    models = {
        "CART": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
        "soft decision tree": SoftTreeClassifier(random_state=0),
        "one-stage tree": OneStageTreeClassifier(max_depth=3, random_state=0),
    }
    return _surfaces(models, X, y)


def drift() -> Figure:
    """Accuracy along a stream whose rule changes."""
    models = {
        "Hoeffding tree, no restart": HoeffdingTreeClassifier(restart_rise=None),
        "Hoeffding tree": HoeffdingTreeClassifier(),
        "soft Hoeffding tree": SoftHoeffdingTreeClassifier(random_state=0),
        "forest of 10": StreamForestClassifier(10, random_state=0),
    }
    stream = Agrawal(functions=(0, 2, 5, 8), drift_every=5_000, seed=0)
    found = compare_prequential(models, stream, max_samples=20_000, window=500)
    figure, ax = plt.subplots(figsize=(8, 3.4))
    found.plot("accuracy", ax=ax)
    for row in (5_000, 10_000, 15_000):
        ax.axvline(row, color="0.5", linestyle="--", linewidth=1)
    return figure


def shapley() -> Figure:
    """One row, and all rows."""
    iris = load_iris(as_frame=True)
    model = KernelTreeClassifier(max_leaf_nodes=4, bandwidth=0.2).fit(iris.data, iris.target_names[iris.target])
    values = shapley_values(model, iris.data)
    figure, axes = plt.subplots(1, 2, figsize=(13, 3.2))
    plot_shapley(values, row=77, output="virginica", ax=axes[0])
    plot_shapley_summary(values, output="virginica", ax=axes[1])
    return figure


def softened() -> Figure:
    """A boosted model of scikit-learn as it is, and with kernels."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(400, 1))
    y = (rng.random(400) < 1 / (1 + np.exp(-3 * np.sin(1.5 * X[:, 0])))).astype(int)
    crisp = GradientBoostingClassifier(n_estimators=60, random_state=0).fit(X[:200], y[:200])
    grid = np.linspace(-3, 3, 600)[:, None]
    figure, ax = plt.subplots(figsize=(7, 3.4))
    ax.plot(grid[:, 0], 1 / (1 + np.exp(-3 * np.sin(1.5 * grid[:, 0]))), color="0.7", linewidth=4, label="true")
    ax.plot(grid[:, 0], crisp.predict_proba(grid)[:, 1], linewidth=1, label="GradientBoostingClassifier")
    ax.plot(grid[:, 0], soften(crisp, X[200:], y[200:]).predict_proba(grid)[:, 1], label="softened")
    ax.set(xlabel="x", ylabel="probability")
    ax.legend()
    return figure


PICTURES = {
    f"guide_{draw.__name__}.png": draw
    for draw in (
        spreading,
        bandwidths,
        sizes,
        size_path,
        missing,
        thermometers,
        error_budget,
        forests,
        interval,
        search,
        oblique,
        drift,
        shapley,
        softened,
    )
}


def main(folder: Path, names: list[str]) -> None:
    """Draw the named pictures, or all."""
    with plt.rc_context({"figure.constrained_layout.use": True, "savefig.dpi": 110}):
        for name, draw in PICTURES.items():
            if not names or draw.__name__ in names:
                draw().savefig(folder / name, metadata={"Software": None})
                plt.close("all")


if __name__ == "__main__":
    plt.switch_backend("agg")
    main(IMAGES, sys.argv[1:])
