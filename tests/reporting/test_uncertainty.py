"""The page shows the intervals and sets that Python predicts."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from softwood import (
    KernelBoostingRegressor,
    KernelForestRegressor,
    KernelTreeClassifier,
    KernelTreeRegressor,
    SoftTreeRegressor,
    report,
)
from softwood.reporting.uncertainty import COVERAGES
from tests.reporting.test_computing import listed

INTERVALS = "return JSON.parse(arguments[0]).map((row) => softwoodReport.intervals(row));"


def _rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[rng.random((n, 3)) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + rng.normal(size=n) * (0.2 + (np.nan_to_num(X[:, 1]) > 0))
    return X, y


@pytest.mark.parametrize(
    "model",
    [
        KernelTreeRegressor(random_state=0),
        KernelForestRegressor(5, random_state=0),
        KernelBoostingRegressor(random_state=0),
        SoftTreeRegressor(random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_intervals(model, page, tmp_path):
    X, y = _rows()
    report(model.fit(X, y), tmp_path / "page.html")
    new = _rows(200, seed=1)[0]
    shown = page.open(tmp_path / "page.html")
    found = np.array(shown.run(INTERVALS, listed(new)))[:, :, 0]
    for k, coverage in enumerate(COVERAGES):
        np.testing.assert_allclose(found[:, k], model.predict_interval(new, coverage), rtol=0, atol=1e-9)
    assert "95 %" in shown.text("#uncertainty")


def test_several_targets(page, tmp_path):
    X, y = _rows()
    model = KernelForestRegressor(5, random_state=0).fit(X, np.column_stack([y, -2 * y]))
    report(model, tmp_path / "page.html")
    found = np.array(page.open(tmp_path / "page.html").run(INTERVALS, listed(X)))
    np.testing.assert_allclose(found[:, 1], np.swapaxes(model.predict_interval(X, 0.9), 1, 2), rtol=0, atol=1e-9)


def test_sets(page, tmp_path):
    iris = load_iris()
    model = KernelTreeClassifier(random_state=0).fit(iris.data, iris.target_names[iris.target])
    report(model, tmp_path / "page.html")
    shown = page.open(tmp_path / "page.html")
    found = shown.run(INTERVALS, listed(iris.data))
    for k, coverage in enumerate(COVERAGES):
        sets = model.predict_set(iris.data, coverage)
        assert [row[k] for row in found] == [np.flatnonzero(own).tolist() for own in sets]
    assert "the class is one of" in shown.text("#uncertainty")


def test_pages_of_models_without_scores_or_with_groups_show_none(page, tmp_path):
    X, y = _rows()
    bare = KernelTreeRegressor(bandwidth=0.1, max_leaf_nodes=4).fit(X, y)
    grouped = KernelTreeRegressor(bandwidth=0.1, max_leaf_nodes=4).fit(X, y).calibrate(X, y, by=1)
    sorts = KernelBoostingRegressor(loss="quantile", quantile=(0.1, 0.9), random_state=0).fit(X, y)
    for model in (bare, grouped, sorts):
        report(model, tmp_path / "page.html")
        assert page.open(tmp_path / "page.html").text("#uncertainty") == ""


def test_few_rows_and_dates(page, tmp_path):
    X, y = _rows(30)
    model = KernelForestRegressor(5, random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="too few"):
        assert np.isinf(model.predict_interval(X, 0.95)).all()
    report(model, tmp_path / "page.html")
    assert "−∞ to ∞" in page.open(tmp_path / "page.html").text("#uncertainty")
    table = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=300), "b": _rows()[0][:, 1]})
    model = KernelForestRegressor(5, random_state=0).fit(table, _rows()[1])
    report(model, tmp_path / "page.html")
    page.open(tmp_path / "page.html")
