"""The picture of coverage."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LinearRegression

from softwood import KernelForestClassifier, KernelForestRegressor
from softwood.plots import plot_coverage


def test_points_are_shares_of_covered_rows():
    X, y = load_diabetes(return_X_y=True)
    model = KernelForestRegressor(10, bandwidth=0.2, random_state=0).fit(X[:300], y[:300])
    ax = plot_coverage(model, X[300:], y[300:], coverages=(0.5, 0.9))
    ends = model.predict_interval(X[300:], 0.9)
    share = np.mean((ends[:, 0] <= y[300:]) & (y[300:] <= ends[:, 1]))
    assert ax.lines[-1].get_xdata().tolist() == [0.5, 0.9]
    assert ax.lines[-1].get_ydata()[1] == pytest.approx(share)


def test_groups_and_classes():
    X, y = load_iris(return_X_y=True)
    model = KernelForestClassifier(10, bandwidth=0.2, random_state=0).fit(X[::2], y[::2])
    ax = plot_coverage(model, X[1::2], y[1::2], groups=np.where(X[1::2, 0] > 5.8, "long", "short"))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["long", "short"]
    sets = model.predict_set(X[1::2], 0.95)
    is_long = X[1::2, 0] > 5.8
    assert ax.lines[1].get_ydata()[-1] == pytest.approx(sets[np.arange(75), y[1::2]][is_long].mean())


def test_what_is_refused():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(TypeError, match="predict_interval or predict_set"):
        plot_coverage(LinearRegression().fit(X, y), X, y)
    model = KernelForestRegressor(5, bandwidth=0.2).fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="models of one target"):
        plot_coverage(model, X, y)
