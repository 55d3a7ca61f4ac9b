"""Spreads of columns with outliers, and models that do not lose such a column."""

import numpy as np
import pytest

from softwood import KernelBoostingRegressor, KernelForestRegressor, KernelTreeClassifier, KernelTreeRegressor
from softwood.kernel.data.binning import bin_features
from softwood.kernel.data.column_statistics import standard_deviations
from softwood.kernel.data.outliers import without_outliers


def spreads(X, weights=None, max_bins=None):
    weights = np.ones(len(X)) if weights is None else weights
    deviations = standard_deviations(X, weights)
    return without_outliers(bin_features(X, weights, max_bins), weights, deviations), deviations


@pytest.mark.parametrize("max_bins", [None, 200])
@pytest.mark.parametrize("n", [30, 300, 3000])
def test_a_column_with_an_outlier_has_the_spread_of_its_other_values(n, max_bins):
    rng = np.random.default_rng(0)
    X = rng.normal(scale=3.0, size=(n, 4))
    X[4, 0], X[5, 1], X[7, 2] = 1e12, -1e300, np.nan
    found, plain = spreads(X, max_bins=max_bins)
    np.testing.assert_allclose(found[:2], 3.0, rtol=0.35)
    np.testing.assert_array_equal(found[2:], plain[2:])


def test_ordinary_columns_keep_their_standard_deviations():
    rng = np.random.default_rng(0)
    n = 2000
    columns = [
        rng.normal(size=n), rng.exponential(size=n), rng.lognormal(sigma=1.5, size=n), rng.poisson(0.3, size=n),
        rng.random(n) < 0.004, np.where(rng.random(n) < 0.03, rng.exponential(size=n), 0.0), np.full(n, 2.0),
    ]  # fmt: skip
    found, plain = spreads(np.column_stack(columns).astype(float))
    np.testing.assert_array_equal(found, plain)


def test_weights_are_repetitions_and_their_unit_does_not_matter():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 2))
    X[3, 0] = 1e9
    weights = rng.integers(1, 3, size=80).astype(float)
    weighted = spreads(X, weights)[0]
    np.testing.assert_allclose(weighted, spreads(np.repeat(X, weights.astype(int), axis=0))[0], rtol=1e-9)
    np.testing.assert_allclose(weighted, spreads(X, weights / weights.sum())[0], rtol=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        KernelTreeRegressor(random_state=0),
        KernelTreeRegressor(random_state=0, trend="linear", max_leaf_nodes=8),
        KernelTreeRegressor(random_state=0, growth="level"),
        KernelTreeRegressor(bandwidth=0.3, max_leaf_nodes=30),
        KernelForestRegressor(n_estimators=10, random_state=0),
        KernelBoostingRegressor(max_iter=50, random_state=0),
    ],
    ids=["auto", "trend", "level", "given", "forest", "boosting"],
)
def test_one_outlier_does_not_make_a_column_useless(model):
    rng = np.random.default_rng(0)
    X, held_out = rng.normal(size=(400, 3)), rng.normal(size=(400, 3))
    y, truth = (np.sin(2.0 * rows[:, 0]) + 0.5 * rows[:, 1] for rows in (X, held_out))
    before = model.fit(X, y).score(held_out, truth)
    X[5, 0] = 1e12
    assert model.fit(X, y).score(held_out, truth) > before - 0.1 > 0.7


def test_the_unit_of_such_a_column_does_not_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=200) > 0).astype(int)
    X[5, 0] = 2.0**40
    scaled = X * [2.0**-20, 1.0]
    # Not refined: the folds depend on what the rows hold, and may choose other numbers of passes.
    one, other = (KernelTreeClassifier(refine=False, random_state=0).fit(rows, y) for rows in (X, scaled))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(scaled), rtol=1e-6, atol=1e-9)
