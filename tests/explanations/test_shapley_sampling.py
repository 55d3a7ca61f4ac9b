"""Sampled Shapley values against enumeration, and their standard errors."""

import numpy as np
import pytest

import softwood
from softwood import SoftTree
from softwood.explanations import shapley_sampling, shapley_values
from softwood.trees.gates import Gate
from tests.explanations.shapley_models import adds_up, vars_of
from tests.reference.trees import ALL_GATES, random_points, random_tree

# ------------------------------------------------------------------ sampling


def wide_tree(seed, gates, n_features=10):
    return random_tree(seed, n_leaves=8, n_features=n_features, n_outputs=2, gates=gates)


@pytest.mark.parametrize("with_background", [False, True])
@pytest.mark.parametrize("gates", [(Gate.SIGMOID,), (Gate.OBLIQUE,), (Gate.BLEND,), ALL_GATES], ids=str)
def test_sampled_values_are_within_four_standard_errors(gates, with_background):
    tree, X = wide_tree(1, gates), random_points(1, 3, 10, 0.0)
    others = random_points(2, 4, 10, 0.0) if with_background else None
    # just fewer than would be enough to evaluate all sets
    found = shapley_values(tree, X, others, n_samples=368 if with_background else 92, random_state=0)
    exact = shapley_values(tree, X, others, n_samples=4096)
    assert not found.is_exact
    assert exact.is_exact
    assert found.standard_errors.shape == found.values.shape
    assert np.all(np.abs(found.values - exact.values) <= 4 * found.standard_errors + 1e-12)
    assert 0 < found.standard_errors.max() < 0.5
    assert adds_up(found, 1e-12)
    assert np.array_equal(found.base_values, exact.base_values)
    assert "sampled" in repr(found)


def test_sampled_values_of_fitted_models():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12))
    y = X[:, 0] + X[:, 1] * X[:, 2]
    model = softwood.SoftTreeRegressor(max_depth=2, random_state=0).fit(X, y)
    found = shapley_values(model, X[:2], n_samples=64, random_state=0)
    exact = shapley_values(model, X[:2], n_samples=400)
    assert (found.is_exact, exact.is_exact) == (False, True)
    assert np.all(np.abs(found.values - exact.values) <= 4 * found.standard_errors + 1e-12)
    assert found.base_values[0] == pytest.approx(model.predict(np.full((1, 12), np.nan))[0])


def test_standard_errors_are_those_of_repetitions():
    tree, X = wide_tree(1, (Gate.SIGMOID,)), random_points(1, 1, 10, 0.0)
    runs = [shapley_values(tree, X, n_samples=80, random_state=seed) for seed in range(60)]
    spread = np.std([run.values for run in runs], axis=0)
    stated = np.sqrt(np.mean([run.standard_errors**2 for run in runs], axis=0))
    assert spread == pytest.approx(stated, rel=0.4)


def test_the_seed_decides():
    tree, X = wide_tree(1, ALL_GATES), random_points(1, 3, 10, 0.0)
    one = shapley_values(tree, X, n_samples=40, random_state=0, n_jobs=2)
    assert np.array_equal(one.values, shapley_values(tree, X, n_samples=40, random_state=0).values)
    assert np.array_equal(one.standard_errors, shapley_values(tree, X, n_samples=40, random_state=0).standard_errors)
    assert not np.array_equal(one.values, shapley_values(tree, X, n_samples=40, random_state=1).values)


def test_columns_without_a_weight_are_no_players():
    """With nine of thirty columns, all sets are evaluated."""
    tree = wide_tree(4, (Gate.SIGMOID,), n_features=30)
    weights = np.where(np.arange(30) < 9, tree.weights, 0.0)
    few = SoftTree(**{**vars_of(tree), "weights": weights})
    X = random_points(1, 2, 30, 0.0)
    found = shapley_values(few, X)
    assert found.is_exact
    assert np.all(found.values[:, 9:] == 0)
    assert adds_up(found, 1e-12)
    assert not shapley_values(tree, X, n_samples=8).is_exact


def test_interactions_are_not_sampled():
    tree, X = wide_tree(1, (Gate.SIGMOID,)), random_points(1, 1, 10, 0.0)
    with pytest.raises(ValueError, match=r"'interactions' parameter .* must be False .* n_samples=94 or more. Got"):
        shapley_values(tree, X, interactions=True, n_samples=93)
    assert shapley_values(tree, X, interactions=True, n_samples=94).interactions.shape == (1, 10, 10, 2)
    with pytest.raises(ValueError, match=r"weighs several columns at once and has 30 of them\.$"):
        shapley_values(wide_tree(1, (Gate.SIGMOID,), 30), random_points(1, 1, 30, 0.0), interactions=True)


def test_many_samples_are_taken_in_parts(monkeypatch):
    tree, X, others = wide_tree(1, ALL_GATES), random_points(1, 2, 10, 0.0), random_points(2, 3, 10, 0.0)
    whole = [shapley_values(tree, X, others, n_samples=n, random_state=0) for n in (60, 500)]
    monkeypatch.setattr(shapley_sampling, "_MOST_POINTS", 50)
    for n, expected in zip((60, 500), whole, strict=True):
        found = shapley_values(tree, X, others, n_samples=n, random_state=0)
        assert found.is_exact == (n == 500)
        assert np.array_equal(found.values, expected.values)
