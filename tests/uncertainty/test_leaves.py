"""Targets in the leaves against the definition, and against quantile-forest."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError

import softwood
from softwood import KernelExtraTreesRegressor, KernelForestRegressor, KernelTreeRegressor
from softwood.uncertainty import leaves

MODELS = [
    KernelTreeRegressor(bandwidth=0.3, max_leaf_nodes=6, refine=False, trend=None),
    KernelTreeRegressor(bandwidth=0.3, max_leaf_nodes=6, trend="linear"),
    KernelForestRegressor(6, bandwidth=0.2, random_state=0),
    KernelForestRegressor(6, bandwidth=0, random_state=0),
    KernelExtraTreesRegressor(6, bandwidth=0.2, random_state=0),
]


def _rows(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + rng.normal(size=n) * (0.2 + (X[:, 1] > 0))


def slow_weights(model, new, X, weights):
    """Weights of the training rows: shares of the same leaves, over the mass of the leaf, mean over trees."""
    trees = model._read_trees
    is_leaf = trees.children_left < 0
    new, old = (trees.memberships(rows).toarray() * is_leaf for rows in (new, X))
    found = np.zeros((len(new), len(X)))
    for leaf in np.flatnonzero(is_leaf):
        mass = weights @ old[:, leaf]
        if mass > 0:
            found += np.outer(new[:, leaf], weights * old[:, leaf] / mass)
    return found / found.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("model", MODELS)
def test_memberships_are_weights_of_the_training_rows(model):
    X, y = _rows()
    weights = np.random.default_rng(1).integers(1, 4, size=150).astype(float)
    model.fit(X, y, weights).keep_targets(X, y, weights)
    new = _rows(20, seed=2)[0]
    expected = slow_weights(model, new, X, weights)
    beside = (model._finished.predict(X) - model._read_trees.predict(X))[:, 0]
    added = (model._finished.predict(new) - model._read_trees.predict(new))[:, 0]
    found = model.predict_distribution(new, source="leaves")
    kept = y - beside
    assert found.mean == pytest.approx(expected @ kept + added)
    for place in (-1.0, 0.0, 1.0):
        slow = (expected * (kept[None] + added[:, None] <= place)).sum(axis=1)
        assert found.cdf(place) == pytest.approx(slow, abs=1e-9)
    quantiles = model.predict_quantiles(new, [0.1, 0.5, 0.9], source="leaves")
    assert np.all(np.diff(quantiles, axis=1) >= 0)


def test_plain_means_are_predictions():
    """Without refining and trend, a leaf predicts the mean of its targets (but for the cutoff of small shares)."""
    X, y = _rows()
    model = KernelTreeRegressor(bandwidth=0.3, max_leaf_nodes=6, refine=False, trend=None, cutoff=0).fit(X, y)
    found = model.keep_targets(X, y).predict_distribution(X)
    assert found.mean == pytest.approx(model.predict(X), abs=0.05)
    crisp = KernelTreeRegressor(bandwidth=0, max_leaf_nodes=6, refine=False, trend=None).fit(X, y)
    assert crisp.keep_targets(X, y).predict_distribution(X).mean == pytest.approx(crisp.predict(X))


def test_weights_are_repetitions():
    X, y = _rows()
    weights = np.random.default_rng(1).integers(0, 4, size=150)
    rows = np.repeat(np.arange(150), weights)
    model = KernelForestRegressor(5, bandwidth=0.2, random_state=0).fit(X, y)
    one = model.keep_targets(X, y, weights).predict_quantiles(X, [0.1, 0.9], source="leaves")
    assert one == pytest.approx(model.keep_targets(X[rows], y[rows]).predict_quantiles(X, [0.1, 0.9], source="leaves"))


def test_many_values_are_kept_in_parts(monkeypatch):
    X, y = _rows(400)
    model = KernelForestRegressor(10, bandwidth=0.2, random_state=0).fit(X, y)
    full = model.keep_targets(X, y).predict_quantiles(X, [0.1, 0.5, 0.9], source="leaves")
    monkeypatch.setattr(leaves, "MOST_VALUES", 50)
    parts = model.keep_targets(X, y).predict_quantiles(X, [0.1, 0.5, 0.9], source="leaves")
    assert len(model.leaf_targets_.values) == 50
    assert np.abs(parts - full).mean() < 0.1


def test_files_keep_the_targets(tmp_path):
    X, y = _rows()
    model = KernelForestRegressor(5, bandwidth=0.2, random_state=0).fit(X, y).keep_targets(X, y)
    softwood.save(model, tmp_path / "model")
    again = softwood.load(tmp_path / "model").predict_quantiles(X, 0.3, source="leaves")
    assert np.array_equal(again, model.predict_quantiles(X, 0.3, source="leaves"))


def test_quantile_forest_has_the_same_definition():
    """Its forest, read by softwood: all rows in each tree, so both weigh the same rows."""
    quantile_forest = pytest.importorskip("quantile_forest")
    X, y = _rows(300)
    options = {"n_estimators": 10, "min_samples_leaf": 5, "max_features": 0.5, "bootstrap": False, "random_state": 0}
    theirs = quantile_forest.RandomForestQuantileRegressor(**options, max_samples_leaf=None).fit(X, y)
    plain = RandomForestRegressor(**options).fit(X, y)
    ours = KernelForestRegressor(2, bandwidth=0).fit(X, y)
    ours.forest_ = softwood.SoftForest.from_sklearn(plain)
    ours.keep_targets(X, y)
    new = _rows(50, seed=3)[0]
    found = ours.predict_distribution(new, source="leaves")
    heaviest = found.weights.max(axis=1)
    for level in (0.05, 0.25, 0.5, 0.75, 0.95):
        # their quantile of n values has the rank level * (n - 1), so it may be a value before or after that of the cdf
        low, high = (theirs.predict(new, quantiles=level, interpolation=kind) for kind in ("lower", "higher"))
        assert np.all(np.isin(high.round(12), y.round(12)))
        assert np.all(found.cdf(high + 1e-9) >= level - heaviest)
        assert np.all(found.cdf(low - 1e-9) <= level + heaviest)


def test_what_is_refused():
    X, y = _rows()
    model = KernelExtraTreesRegressor(3, bandwidth=0.2, random_state=0).fit(X, y)
    with pytest.raises(NotFittedError, match="keep_targets"):
        model.predict_distribution(X, source="leaves")
    with pytest.raises(NotFittedError, match="calibrate"):
        model.predict_distribution(X)
    with pytest.raises(ValueError, match="'source' parameter"):
        model.keep_targets(X, y).predict_quantiles(X, 0.5, source="trees")
    assert np.array_equal(model.predict_quantiles(X, 0.5), model.predict_quantiles(X, 0.5, source="leaves"))
    with pytest.raises(ValueError, match="needs a model of one target"):
        KernelForestRegressor(3).fit(X, np.column_stack([y, y])).keep_targets(X, y)
    model.fit(X, y)
    assert not hasattr(model, "leaf_targets_")
