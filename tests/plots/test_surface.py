import sys

import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier

from softwood import KernelTreeClassifier, KernelTreeRegressor
from softwood.core.extras import require
from softwood.datasets import toy_classification
from softwood.plots import plot_surface


@pytest.fixture
def moons():
    return toy_classification("moons", 60, random_state=0)


def _lines(ax):
    return [line for collection in ax.collections for line in collection.get_paths() if len(line.vertices) == 2]


def test_surface_of_a_tree_shows_probabilities_and_partition(moons):
    X, y = moons
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.3, max_depth=3).fit(X, y)
    ax = plot_surface(model, X, y, resolution=20)
    (image,) = ax.images
    assert image.get_array().shape == (20, 20, 3)
    assert len(_lines(ax)) == model.get_n_leaves() - 1
    assert ax.get_legend_handles_labels()[1] == ["0", "1"]
    assert ax.get_xlim()[0] < X[:, 0].min() < X[:, 0].max() < ax.get_xlim()[1]


def test_the_grid_is_the_right_way_up():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    model = KernelTreeRegressor(refine=False, trend=None, bandwidth=0).fit(X, [0.0, 1.0, 0.0, 1.0])
    image = plot_surface(model, X, resolution=4).images[0]
    assert np.array_equal(image.get_array(), np.tile([0, 0, 1, 1], (4, 1)))
    assert image.origin == "lower"


def test_one_class_or_one_target_has_a_colour_bar(moons):
    X, y = moons
    ax = plot_surface(
        KernelTreeClassifier(refine=False, trend=None, bandwidth=0.3).fit(X, y), X, y, output=1, resolution=20
    )
    assert ax.figure.axes[1].get_ylabel() == "probability of 1"
    both = KernelTreeRegressor(refine=False, trend=None, bandwidth=0.3).fit(X, np.column_stack([y, 1 - y]))
    assert plot_surface(both, X, np.column_stack([y, 1 - y]), output=1, resolution=20).images
    with pytest.raises(ValueError, match="'output' parameter must say which of the 2 targets"):
        plot_surface(both, X, resolution=20)
    with pytest.raises(ValueError, match=r"in the range \[0, 1\]. Got 2"):
        plot_surface(both, X, output=2, resolution=20)


@pytest.mark.parametrize("model", [LogisticRegression(), RidgeClassifier(), LinearRegression()])
def test_other_estimators(model, moons):
    X, y = moons
    ax = plot_surface(model.fit(X, y), X, y, resolution=20)
    assert _lines(ax) == []


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_other_columns_stand_still(frame):
    rng = np.random.default_rng(0)
    X = frame(
        {"a": rng.normal(size=50), "city": ["Rome", "Oslo"] * 25, "b": rng.normal(size=50), "c": [None, 1.0] * 25}
    )
    y = np.where(X["a"].to_numpy() > 0, "yes", "no")
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1).fit(X, y)
    ax = plot_surface(model, X, y, features=("b", "a"), resolution=10)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("b", "a")
    with pytest.raises(ValueError, match="Column 'city' must hold numbers"):
        plot_surface(model, X, features=("a", "city"))


def test_many_classes():
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1).fit(X, np.arange(40) % 10)
    assert plot_surface(model, X, resolution=10).images


@pytest.mark.parametrize("features", [(0, 0), (0, 2), ("a", "b"), (0,), "ab", (0, True)])
def test_features_are_checked(features, moons):
    X, y = moons
    message = (
        r"'features' parameter of plot_surface must be (two different columns of X, of which there are 2|given for)"
    )
    with pytest.raises(ValueError, match=message):
        plot_surface(KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1).fit(X, y), X, features=features)


def test_features_by_name(moons):
    """Numbers are names of a frame whose names are numbers; by default the first two columns are drawn."""
    X, y = moons
    frame = pd.DataFrame(np.column_stack([X, X[:, 0]]), columns=[2, 1, 0])
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1).fit(frame, y)
    for features, labels in ((None, ("x[2]", "x[1]")), ((1, 2), ("x[1]", "x[2]")), ((0, 1), ("x[0]", "x[1]"))):
        ax = plot_surface(model, frame, features=features, resolution=5)
        assert (ax.get_xlabel(), ax.get_ylabel()) == labels


def test_rows_of_y_are_checked(moons):
    X, y = moons
    with pytest.raises(ValueError, match="Got 59 rows, X has 60"):
        plot_surface(KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1).fit(X, y), X, y[:-1], resolution=5)


def test_draws_into_given_axes_without_pyplot(moons):
    from matplotlib.figure import Figure

    X, y = moons
    ax = Figure().subplots()
    assert (
        plot_surface(KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1).fit(X, y), X, ax=ax, resolution=5)
        is ax
    )
    assert matplotlib.pyplot.get_fignums() == []


def test_missing_matplotlib_is_answered_with_the_command(moons, monkeypatch):
    X, y = moons
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1).fit(X, y)
    monkeypatch.setitem(sys.modules, "matplotlib.collections", None)
    with pytest.raises(ImportError, match=r'needs matplotlib. Install it with: pip install "softwood\[plots\]"'):
        plot_surface(model, X)


def test_an_installed_extra_is_returned():
    assert require("numpy", "plots", "Nothing") is np
