"""Pools for river: its checks, the same decisions as the pool for tables, and any classifier of river."""

import numpy as np
import pytest
from river import checks, linear_model, naive_bayes, preprocessing, tree

from softwood import stream
from softwood.stream import river as for_river
from softwood.stream.river import ModelPoolClassifier, ModelPoolRegressor


def all_checks():
    for pool in (ModelPoolClassifier, ModelPoolRegressor):
        parameters = next(pool._unit_test_params())
        for check in checks.yield_checks(pool(**parameters, seed=0)):
            name = getattr(check, "__name__", None) or check.func.__name__
            yield pytest.param(pool, parameters, check, id=f"{pool.__name__}-{name}")


@pytest.mark.parametrize(("pool", "parameters", "check"), list(all_checks()))
def test_checks_of_river(pool, parameters, check):
    check(pool(**parameters, seed=0))


def test_the_same_decisions_as_the_pool_for_tables():
    X = np.random.default_rng(0).uniform(size=(1500, 3))
    y = np.sin(6 * X[:, 0]) + X[:, 1]
    graces = (30, 100, 300, 1000)
    table = stream.ModelPool([stream.HoeffdingTreeRegressor(grace_period=n) for n in graces], random_state=3)
    pool = ModelPoolRegressor([for_river.HoeffdingTreeRegressor(grace_period=n) for n in graces], seed=3)
    table.partial_fit(X, y)
    for row, target in zip(X.tolist(), y.tolist(), strict=True):
        pool.learn_one(dict(enumerate(row)), target)
    np.testing.assert_array_equal(pool.n_trained_, table.n_trained_)
    np.testing.assert_allclose(pool.losses, table.losses_, rtol=1e-9)
    assert pool.predict_one(dict(enumerate(X[0].tolist()))) == pytest.approx(table.predict(X[:1])[0])


def test_models_of_river():
    pool = ModelPoolClassifier([
        preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        naive_bayes.GaussianNB(),
        tree.HoeffdingTreeClassifier(grace_period=50),
    ], period=20, seed=0)  # fmt: skip
    rng, n_right = np.random.default_rng(0), 0
    for k in range(1000):
        x = {"a": rng.normal(), "b": rng.normal()}
        n_right += k >= 500 and pool.predict_one(x) == (x["a"] + x["b"] > 0)
        pool.learn_one(x, x["a"] + x["b"] > 0)
    assert n_right > 450
    assert pool.best_model is pool.models_[int(np.argmin(pool.losses))]


@pytest.mark.parametrize("wrong", [{"models": []}, {"models": [3]}, {"period": 0}, {"window": 0.5}, {"train_share": 0}])
def test_wrong_parameters_are_reported(wrong):
    parameters = {"models": [for_river.HoeffdingTreeClassifier()]} | wrong
    with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter of ModelPoolClassifier"):
        ModelPoolClassifier(**parameters)
    with pytest.raises(ValueError, match="'models' parameter of ModelPoolRegressor must be a list of regressors"):
        ModelPoolRegressor([for_river.HoeffdingTreeClassifier()])
