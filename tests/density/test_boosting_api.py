"""Boosting as a user meets it: scikit-learn's contract, every parameter, the finished model."""

import pickle

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from softwood import KernelBoostingClassifier, KernelBoostingRegressor
from softwood.density import boosting_base, newton
from tests.density.boosts import BOTH, assert_same_forest, problem, small
from tests.density.forests import answer


# as scikit-learn checks its own histogram boosting: with the default of 20, five rounds learn too little
@parametrize_with_checks([model_class(max_iter=5, min_mass=5.0) for model_class in BOTH])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# ------------------------------------------------------------------ every parameter

WRONG = {
    "loss": ["gini", None, 1],
    "learning_rate": [0.0, -0.1, None, np.nan, "fast"],
    "max_iter": [0, -1, 2.0, None, True],
    "bandwidth": [-1.0, np.nan, "wide", "cv", None, [0.1], {"x": 0.1}],
    "bandwidth_decay": [0.0, 1.5, None],
    "prediction_kernel": ["square", 3],
    "prediction_bandwidth": [-1.0, "wide", None, [0.1]],
    "bandwidth_unit": ["cm", None],
    "measurement_error": [0.5, {"x": 1.0}, [-1.0, 0.0]],
    "max_leaf_nodes": [1, 2.5, True],
    "max_depth": [0, 2.0, True],
    "min_mass": [0.0, -1.0, None],
    "min_gain": [-1e-9, None],
    "l2_regularization": [-1.0, None, np.inf],
    "subsample": [0.0, 1.5, None],
    "max_features": [0, 0.0, 1.5, "all", True],
    "monotonic_cst": [[1], "rising"],
    "max_bins": [1, 256, None],
    "cutoff": [-1e-9, 0.2],
    "categorical_features": ["all", [5], ["x"]],
    "handle_unknown": ["ignore", None, True],
    "early_stopping": ["yes", 1, None],
    "validation_fraction": [0.0, 0.95, 3, None],
    "n_iter_no_change": [0, 1.5, None],
    "tol": [-1.0, None],
    "verbose": [-1, 0.5],
}


@pytest.mark.parametrize("model_class", BOTH)
@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_wrong_values_are_told_by_name(model_class, name, value):
    X, y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]
    model = model_class(**{"max_iter": 2, "bandwidth": 0.1, name: value})
    with pytest.raises(ValueError, match=f"'{name}' parameter of {model_class.__name__} must be .* Got .* instead"):
        model.fit(X, y)


@pytest.mark.parametrize(
    ("loss", "quantile"),
    [("quantile", None), ("quantile", 0.0), ("quantile", 1.0), ("quantile", "x"), ("squared_error", 0.5)],
)
def test_wrong_quantiles_are_told_by_name(loss, quantile):
    with pytest.raises(ValueError, match=r"'quantile' parameter of KernelBoostingRegressor must be .* Got"):
        KernelBoostingRegressor(loss=loss, quantile=quantile).fit([[0.0], [1.0]], [0, 1])


def test_every_parameter_is_looked_at():
    others = {"n_jobs", "random_state", "class_weight", "quantile"}  # checked elsewhere, or by scikit-learn and joblib
    for model_class in BOTH:
        assert set(model_class().get_params()) - others == set(WRONG)


EFFECTS = {
    "learning_rate": 0.3,
    "max_iter": 6,
    "bandwidth": 0.1,
    "bandwidth_decay": 0.7,
    "prediction_kernel": None,
    "prediction_bandwidth": 0.05,
    "bandwidth_unit": "absolute",
    "measurement_error": {0: 0.5},
    "max_leaf_nodes": 3,
    "max_depth": 2,
    "min_mass": 15.0,
    "min_gain": 5.0,
    "l2_regularization": 10.0,
    "subsample": 0.5,
    "max_features": 1,
    "monotonic_cst": [-1, 0, 0, 0],
    "max_bins": 4,
    "cutoff": 0.1,
    "categorical_features": [3],
    "early_stopping": True,
}


@pytest.mark.parametrize("model_class", BOTH)
@pytest.mark.parametrize("name", EFFECTS)
def test_every_parameter_has_an_effect(model_class, name):
    X, y = problem(model_class, n_classes=2)
    X[:, 0], X[:, 3] = 2 * X[:, 0], np.round(X[:, 3])
    y = y + X[:, 3] if model_class is KernelBoostingRegressor else y
    before, after = (small(model_class, **given).fit(X, y) for given in ({}, {name: EFFECTS[name]}))
    assert np.abs(answer(before, X) - answer(after, X)).max() > 1e-3


def test_limits_hold():
    X, y = problem(KernelBoostingRegressor)
    for tree in small(KernelBoostingRegressor, max_leaf_nodes=4).fit(X, y).forest_:
        assert tree.n_leaves == 4
    assert small(KernelBoostingRegressor, max_depth=2).fit(X, y).get_depth() == 2
    for parameters in ({}, {"max_leaf_nodes": None}):
        model = small(KernelBoostingRegressor, min_mass=9.5, cutoff=0.0, **parameters).fit(X, y)
        assert model.forest_.mass.min() >= 9.5 * (1 - 1e-6)
        assert model.get_n_leaves() == sum(tree.n_leaves for tree in model.forest_)


def test_fit_changes_no_parameter():
    for model_class in BOTH:
        X, y = problem(model_class, n_classes=2)
        model = small(model_class, bandwidth={0: 0.3}, measurement_error=[0.1, 0, 0, 0], monotonic_cst={0: 1})
        before = pickle.dumps(model.get_params())
        model.fit(X, y)
        assert pickle.dumps(model.get_params()) == before


# ------------------------------------------------------------------ the finished model


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("parameters", [{}, {"prediction_kernel": "gaussian"}, {"bandwidth_decay": 0.8}])
def test_gradient_is_the_slope_of_the_raw_score(n_classes, parameters):
    model_class = KernelBoostingClassifier if n_classes else KernelBoostingRegressor
    X, y = problem(model_class, n_classes=n_classes)
    model = small(model_class, bandwidth=0.6, cutoff=0.0, **parameters).fit(X, y)
    raw = model.decision_function if n_classes else model.predict
    rows, step = np.random.default_rng(1).normal(size=(20, 4)), 1e-6
    gradient = model.input_gradient(rows)
    assert gradient.shape == (20, 3 if n_classes == 3 else 1, 4)
    for j in range(4):
        up, down = rows + step * np.eye(4)[j], rows - step * np.eye(4)[j]
        slope = (raw(up) - raw(down)).reshape(20, -1) / (2 * step)
        np.testing.assert_allclose(gradient[:, :, j], slope, atol=1e-5)
    assert np.abs(gradient).max() > 0.1


@pytest.mark.parametrize("model_class", BOTH)
def test_importances(model_class):
    X, y = problem(model_class, n=300)
    model = small(model_class, max_iter=20).fit(X, y)
    found = model.feature_importances_
    assert found.sum() == pytest.approx(1.0)
    total = np.sum([tree.impurity_decreases() for tree in model.forest_], axis=0)
    np.testing.assert_allclose(found, total / total.sum())
    assert found.argmax() == 0
    assert found.argmin() == 3
    lone = small(model_class, min_mass=1000.0).fit(X, y)
    assert lone.feature_importances_.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("model_class", BOTH)
def test_paths_and_leaves(model_class):
    X, y = problem(model_class)
    model = small(model_class, max_iter=4).fit(X, y)
    n_trees = 12 if is_classifier(model) else 4
    path, pointer = model.decision_path(X)
    assert pointer.tolist() == model.forest_.offsets.tolist()
    assert path.shape == (120, pointer[-1])
    assert model.apply(X).shape == (120, n_trees)
    leaf = model.forest_.children_left < 0
    np.testing.assert_allclose(model.memberships(X)[:, leaf].sum(axis=1), n_trees)


@pytest.mark.parametrize("model_class", BOTH)
def test_copies(model_class):
    X, y = problem(model_class)
    model = small(model_class, prediction_kernel="triangle").fit(X, y)
    expected = answer(model, X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(answer(again, X), expected)
    assert_same_forest(again.forest_, model.forest_)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    for attribute in ("forest_", "n_iter_", "feature_importances_"):
        assert not hasattr(fresh, attribute)
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    np.testing.assert_array_equal(answer(fresh.fit(X, y), X), expected)


def test_in_pipelines_and_searches():
    X, y = load_iris(return_X_y=True)
    name = "kernelboostingclassifier__bandwidth"
    pipeline = make_pipeline(StandardScaler(), small(KernelBoostingClassifier))
    assert GridSearchCV(pipeline, {name: [0.1, 0.4]}, cv=3).fit(X, y).best_score_ > 0.9
    model = small(KernelBoostingClassifier, max_iter=3)
    alone = cross_val_score(model, X, y, cv=3)
    with parallel_config(backend="threading"):  # threads within threads
        found = cross_val_score(clone(model).set_params(n_jobs=2), X, y, cv=3, n_jobs=2)
    np.testing.assert_array_equal(found, alone)


@pytest.mark.parametrize("model_class", BOTH)
@pytest.mark.parametrize("bandwidth", [0.3, "auto", "silverman", "loo"])
def test_hardly_any_data(model_class, bandwidth):
    for X, y in (
        (np.arange(2.0)[:, None], [0, 1]),
        (np.zeros((5, 2)), [0, 1, 0, 1, 1]),
        (np.array([[np.nan], [np.nan]]), [0, 1]),
        (np.array([[np.nan, 1.0], [2.0, np.nan], [2.0, 1.0]]), [0, 1, 1]),
    ):
        for min_mass in (1.0, 20.0):
            stop = len(np.unique(np.nan_to_num(X), axis=0)) > 1  # a lone row cannot be set aside
            model = model_class(bandwidth=bandwidth, max_iter=3, min_mass=min_mass, early_stopping=stop).fit(X, y)
            assert model.predict(X).shape == (len(X),)
            assert np.isfinite(answer(model, X)).all()


@pytest.mark.parametrize("model_class", BOTH)
@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e9, 1e150])
def test_any_scale(model_class, scale):
    X, y = problem(model_class)
    for bandwidth in (0.0, 0.3):
        expected = answer(small(model_class, bandwidth=bandwidth).fit(X, y), X)
        found = answer(small(model_class, bandwidth=bandwidth).fit(X * scale, y), X * scale)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
        if model_class is KernelBoostingRegressor:
            size = max(scale, 1e-100)  # squares of gradients must not vanish
            found = small(model_class, bandwidth=bandwidth).fit(X, y * size).predict(X)
            np.testing.assert_allclose(found / size, expected, rtol=1e-6, atol=1e-6)


# ------------------------------------------------------------------ telling, and interrupts


def test_progress_is_told_when_asked(capsys):
    X, y = load_iris(return_X_y=True)
    small(KernelBoostingClassifier, max_iter=4, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("[KernelBoostingClassifier] round 4 of 4, ")
    assert lines[-1].endswith(" s")
    small(KernelBoostingClassifier, max_iter=4, verbose=2, early_stopping=True).fit(X, y)
    told = capsys.readouterr().out.splitlines()
    expected = [f"[KernelBoostingClassifier] round {k} of 4, validation loss 0." for k in (1, 2, 3, 4)]
    assert all(line.startswith(start) for line, start in zip(told, expected, strict=True))
    small(KernelBoostingRegressor, max_iter=2, verbose=1, bandwidth="auto").fit(X, y)
    told = capsys.readouterr().out.splitlines()
    starts = [f"[KernelBoostingRegressor] bandwidth {scale:.3g} sd: held-out" for scale in boosting_base.AUTO_GRID]
    assert all(line.startswith(start) for line, start in zip(told[:-1], starts, strict=True))
    for bandwidth in ("auto", 0.3):
        small(KernelBoostingClassifier, max_iter=2, bandwidth=bandwidth).fit(X, y)
        assert capsys.readouterr().out == ""


def interrupt(model, after):
    """Interrupt it as from the keyboard when so many rounds are done."""

    def tell(result):
        if result.n_rounds >= after:
            raise KeyboardInterrupt

    model._progress = lambda: tell
    return model


@pytest.mark.parametrize("model_class", BOTH)
@pytest.mark.parametrize("parameters", [{}, {"prediction_kernel": "triangle"}, {"early_stopping": True}])
def test_an_interrupt_leaves_a_working_model(model_class, parameters):
    X, y = problem(model_class)
    model = interrupt(small(model_class, **parameters), 3)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    expected = small(model_class, max_iter=3, **parameters).fit(X, y)
    assert model.n_iter_ == expected.n_iter_
    assert_same_forest(model.forest_, expected.forest_)
    np.testing.assert_array_equal(answer(model, X), answer(expected, X))
    assert len(list(model.staged_predict(X))) == model.n_iter_


def test_an_interrupt_within_a_round_leaves_those_that_are_complete(monkeypatch):
    X, y = problem(KernelBoostingClassifier)
    grow, n_calls = newton.NewtonGrower.grow, iter(range(100))

    def stop(*arguments):
        if next(n_calls) == 7:  # two rounds of three trees, and one more
            raise KeyboardInterrupt
        return grow(*arguments)

    monkeypatch.setattr(newton.NewtonGrower, "grow", stop)
    model = small(KernelBoostingClassifier)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    assert model.n_iter_ == 2
    assert_same_forest(model.forest_, small(KernelBoostingClassifier, max_iter=2).fit(X, y).forest_)


@pytest.mark.parametrize("bandwidth", [0.3, "auto"])
def test_an_interrupt_before_the_first_round_leaves_nothing(monkeypatch, bandwidth):
    def stop(*arguments):
        raise KeyboardInterrupt

    X, y = problem(KernelBoostingRegressor)
    monkeypatch.setattr(newton.NewtonGrower, "grow", stop)
    model = small(KernelBoostingRegressor, bandwidth=bandwidth)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
