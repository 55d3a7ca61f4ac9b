"""Forests of one-stage trees: scikit-learn's contract, bags, seeds and jobs, and that they are better than a tree."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from softwood import OneStageForestClassifier, OneStageForestRegressor, OneStageTreeClassifier, SoftForest

BOTH = [OneStageForestClassifier, OneStageForestRegressor]


@parametrize_with_checks([kind(n_estimators=2, max_depth=3) for kind in BOTH])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def problem(kind, n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    return X, signal if kind is OneStageForestRegressor else np.digitize(signal, [-0.5, 0.5])


def answer(model, X):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def small(kind, **parameters):
    return kind(**{"n_estimators": 4, "max_depth": 3, "random_state": 0, **parameters})


@pytest.mark.parametrize("kind", BOTH)
def test_same_seed_same_forest_for_any_number_of_jobs(kind):
    X, y = problem(kind)
    one, two, other = (answer(small(kind, **given).fit(X, y), X) for given in ({}, {"n_jobs": 2}, {"random_state": 1}))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("kind", BOTH)
def test_the_forest_is_the_mean_of_its_trees(kind):
    X, y = problem(kind)
    model = small(kind).fit(X, y)
    assert isinstance(model.forest_, SoftForest)
    assert len(model.forest_) == 4
    mean = np.mean([tree.predict(X) for tree in model.forest_], axis=0)
    assert answer(model, X).reshape(len(X), -1) == pytest.approx(mean)
    assert all(tree.is_crisp for tree in model.forest_)
    assert model.get_n_leaves() == sum(tree.n_leaves for tree in model.forest_)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert len({tree.n_nodes for tree in model.forest_} | {tree.bias[0] for tree in model.forest_}) > 2
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(answer(again, X), answer(model, X))
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("kind", BOTH)
def test_a_weight_is_a_repetition(kind):
    X, y = problem(kind, n=80)
    weights = np.random.default_rng(1).integers(0, 4, size=len(X))
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(len(X)), weights))
    weighted, repeated = small(kind).fit(X, y, sample_weight=weights), small(kind).fit(X[rows], y[rows])
    assert np.array_equal(answer(weighted, X), answer(repeated, X))


@pytest.mark.parametrize("kind", BOTH)
def test_importances_do_not_depend_on_units(kind):
    X, y = problem(kind)
    one, other = small(kind).fit(X, y), small(kind).fit(X * [2.0**-10, 1.0, 2.0**14, 2.0], y)
    np.testing.assert_allclose(one.feature_importances_, other.feature_importances_, rtol=1e-6)
    assert np.count_nonzero(one.feature_importances_) > 1


def test_a_forest_is_better_than_its_tree():
    X, y = load_digits(return_X_y=True)
    train, test = slice(0, 900), slice(900, 1500)
    forest = OneStageForestClassifier(n_estimators=8, random_state=0).fit(X[train], y[train])
    tree = OneStageTreeClassifier(random_state=0).fit(X[train], y[train])
    assert forest.score(X[test], y[test]) > tree.score(X[test], y[test]) + 0.01


@pytest.mark.parametrize("kind", BOTH)
def test_parameters_of_the_trees(kind):
    X, y = problem(kind)
    plain, cheap = small(kind).fit(X, y), small(kind, tree_parameters={"split_cost": 10.0}).fit(X, y)
    assert cheap.get_n_leaves() < plain.get_n_leaves()
    joint = small(kind, tree_parameters={"architecture": "joint"}).fit(X, y)
    assert joint.get_n_leaves() >= plain.get_n_leaves()


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_estimators", 0), ("n_estimators", 2.5), ("max_depth", 0), ("max_depth", 99), ("verbose", -1),
        ("tree_parameters", {"depth": 3}), ("tree_parameters", {"random_state": 3}), ("tree_parameters", [1]),
    ],
)  # fmt: skip
def test_bad_parameters_are_named(kind, name, value):
    X, y = problem(kind, n=30)
    with pytest.raises(ValueError, match=f"'{name}' parameter of {kind.__name__}"):
        small(kind, **{name: value}).fit(X, y)


def test_bad_values_of_tree_parameters_are_named():
    X, y = problem(OneStageForestClassifier, n=30)
    with pytest.raises(ValueError, match="'learning_rate' parameter"):
        small(OneStageForestClassifier, tree_parameters={"learning_rate": -1}).fit(X, y)


def test_classes_may_be_weighted():
    X, y = problem(OneStageForestClassifier)
    model = small(OneStageForestClassifier, class_weight={0: 50.0, 1: 1.0, 2: 1.0}).fit(X, y)
    assert np.mean(model.predict(X) == 0) > np.mean(y == 0)
