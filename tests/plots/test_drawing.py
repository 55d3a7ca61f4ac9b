"""Names of columns, categories and classes in plots, however long or odd they are."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from softwood import KernelTreeClassifier, KernelTreeRegressor, SoftTreeClassifier
from softwood.explanations import error_budget, shapley_values
from softwood.plots import (
    plot_coverage,
    plot_error_budget,
    plot_gate_contributions,
    plot_importances,
    plot_leaf_distribution,
    plot_shapley,
    plot_shapley_dependence,
    plot_shapley_summary,
    plot_surface,
    plot_tree,
)
from softwood.plots.drawing import short

LONG = "price in $_{ or in $, or in some other currency, at the rate of the day on which it was paid"


def test_short_names_keep_both_ends():
    assert short("petal length (cm)") == "petal length (cm)"
    assert short("class with a long name 07", 12) == "class w…e 07"
    assert short("a$b") == r"a\$b"


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({LONG: rng.normal(size=200), "b": rng.normal(size=200)})
    X["city"] = rng.choice([f"in $^^$ number {k}" for k in range(12)], size=200)
    y = np.where(X[LONG] + (X["city"] < "in $^^$ number 3") > 0, f"{LONG} no", f"{LONG} yes")
    return X, y, KernelTreeClassifier(random_state=0).fit(X, y)


def drawings(X, y, model):
    values = shapley_values(model, X[:20])
    numbers = X[[LONG, "b"]]
    small = {"bandwidth": 0.1, "max_depth": 2, "trend": None}
    real = KernelTreeRegressor(**small, measurement_error={0: 0.1}).fit(numbers, X["b"])
    yield plot_tree, (model,), {}
    yield plot_importances, ({LONG: model},), {}
    yield plot_leaf_distribution, (model, X, y), {}
    yield plot_coverage, (model, X, y), {"groups": X["city"]}
    yield plot_shapley, (values,), {}
    yield plot_shapley_summary, (values,), {}
    for by in (0, 2):
        yield plot_shapley_dependence, (values, by), {}
    yield plot_surface, (KernelTreeClassifier(**small).fit(numbers, y), numbers, y), {"output": 0}
    yield plot_error_budget, (error_budget(real, numbers, X["b"]),), {}
    for kind in ("bar", "pie"):
        soft = SoftTreeClassifier(random_state=0, max_leaf_nodes=3).fit(X, y)
        yield plot_gate_contributions, (soft, X), {"kind": kind}


def test_long_names_with_dollars_leave_space(problem):
    for draw, given, options in drawings(*problem):
        ax = draw(*given, **options)
        ax.figure.draw_without_rendering()
        assert ax.get_position().width > 0.4, draw.__name__
        plt.close(ax.figure)
