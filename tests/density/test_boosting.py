"""Boosting as a user meets it: scikit-learn's contract, its histogram boosting at bandwidth 0, and every parameter."""

import pickle
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine, make_friedman1
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from softwood import Kernel, KernelBoostingClassifier, KernelBoostingRegressor
from softwood.density import boosting_base, newton
from softwood.density.bandwidths import loo_widths, silverman_widths
from softwood.loops import boost as loop
from softwood.targets import read_reals

BOTH = [KernelBoostingClassifier, KernelBoostingRegressor]


def problem(model_class, n=120, p=4, seed=0, n_classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    if model_class is KernelBoostingRegressor:
        return X, signal
    return X, np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))


def small(model_class, **parameters):
    """A model of few rounds and small leaves, for small data."""
    return model_class(**{"max_iter": 8, "min_mass": 5.0, "bandwidth": 0.3, "random_state": 0, **parameters})


def answer(model, X):
    """Probabilities, or predictions."""
    return (model.predict_proba if is_classifier(model) else model.predict)(X)


def assert_same_forest(one, other):
    """To the last bit."""
    for field in fields(one):
        if field.name != "shapes":
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name), err_msg=field.name)


def differs(one, other):
    """Whether two forests have other nodes."""
    return len(one.threshold) != len(other.threshold) or not np.array_equal(
        one.threshold, other.threshold, equal_nan=True
    )


@pytest.fixture
def calls(monkeypatch):
    """What `boost` was called with, and its results: the last call is that of the final model."""
    made, boost = [], boosting_base.boost

    def spy(*arguments, **options):
        result = boost(*arguments, **options)
        made.append((arguments, options, result))
        return result

    monkeypatch.setattr(boosting_base, "boost", spy)
    return made


@pytest.fixture
def one_thread():
    """Scikit-learn's threads wait for one another busily, which takes long where there are others."""
    with threadpool_limits(1):
        yield


# as scikit-learn checks its own histogram boosting: with the default of 20, five rounds learn too little
@parametrize_with_checks([model_class(max_iter=5, min_mass=5.0) for model_class in BOTH])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# ------------------------------------------------------------------ bandwidth 0 is histogram boosting

SETTINGS = {"max_iter": 20, "early_stopping": False, "random_state": 0}


def few_values(X, n=200):
    """The columns as ranks of at most `n` values: then both libraries have the same bins."""
    return np.column_stack([np.searchsorted(np.quantile(x, np.linspace(0, 1, n)[1:-1]), x) for x in X.T]).astype(float)


TABLES = {
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "iris": load_iris,
    "diabetes": load_diabetes,
    "friedman": lambda return_X_y: make_friedman1(1000, noise=1.0, random_state=0),
}


@pytest.mark.parametrize("load", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_bandwidth_zero_is_the_boosting_of_scikit_learn(load, missing, one_thread):
    """Scikit-learn keeps gradients in single precision; weights that differ a little leave no ties for it to decide."""
    X, y = load(return_X_y=True)
    rng = np.random.default_rng(0)
    X, weights = few_values(X), rng.uniform(1.0, 1.01, size=len(X))
    X[rng.random(X.shape) < missing] = np.nan
    is_class = y.dtype.kind == "i"
    ours = (KernelBoostingClassifier if is_class else KernelBoostingRegressor)(bandwidth=0, **SETTINGS)
    peer = (HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor)(**SETTINGS)
    found, expected = (answer(model.fit(X, y, sample_weight=weights), X) for model in (ours, peer))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * expected.std())


def losses():
    """Rows, and targets for each loss of a regressor."""
    X, signal = problem(KernelBoostingRegressor, n=600)
    rng = np.random.default_rng(1)
    return few_values(X), {
        "squared_error": signal,
        "absolute_error": signal + rng.standard_t(2, size=600),
        "quantile": signal + rng.standard_t(2, size=600),
        "poisson": rng.poisson(np.exp(signal)).astype(float),
    }


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
@pytest.mark.parametrize("parameters", [{}, {"l2_regularization": 3.0, "max_depth": 3}, {"max_leaf_nodes": 4}])
def test_losses_of_a_regressor_are_those_of_scikit_learn(loss, parameters, one_thread):
    X, targets = losses()
    y, weights = targets[loss], np.random.default_rng(2).uniform(1.0, 1.01, size=600)
    ours = KernelBoostingRegressor(loss=loss, bandwidth=0, **SETTINGS, **parameters)
    peer = HistGradientBoostingRegressor(loss=loss, **SETTINGS, **parameters)
    found, expected = (model.fit(X, y, sample_weight=weights).predict(X) for model in (ours, peer))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * y.std())


@pytest.mark.parametrize(
    "parameters",
    [
        {"loss": "absolute_error"},  # where the error is 0 its slope is not, in scikit-learn
        {"loss": "quantile", "quantile": 0.1},  # quantiles of few numbers are interpolated there
        {"loss": "quantile", "quantile": 0.5},
        {"loss": "quantile", "quantile": 0.9},
        {"loss": "squared_error", "monotonic_cst": [1, 0, -1, 1]},  # clipped values are judged by slopes alone there
        {"loss": "poisson", "monotonic_cst": [1, 0, -1, 1]},
    ],
)
def test_what_scikit_learn_does_in_another_way_is_as_good(parameters, one_thread):
    X, targets = losses()
    y = targets[parameters["loss"]]
    ours = KernelBoostingRegressor(bandwidth=0, **parameters, **SETTINGS).fit(X, y)
    peer = HistGradientBoostingRegressor(**parameters, **SETTINGS).fit(X, y)
    loss = ours._fitted_loss
    raw = np.log if parameters["loss"] == "poisson" else np.asarray
    start = loss.value(y, np.tile(ours.forest_.base, (600, 1)), None)
    found, expected = (loss.value(y, raw(model.predict(X))[:, None], None) for model in (ours, peer))
    assert start - found == pytest.approx(start - expected, rel=0.05)
    if "quantile" in parameters:
        assert np.mean(y <= ours.predict(X)) == pytest.approx(parameters["quantile"], abs=0.04)


def test_a_kernel_helps_where_the_signal_is_smooth():
    rng = np.random.default_rng(0)
    X, new = rng.uniform(-2, 2, size=(2, 300, 1))
    y, truth = X[:, 0] + rng.normal(size=300), new[:, 0]
    crisp, soft = (KernelBoostingRegressor(bandwidth=b).fit(X, y).score(new, truth) for b in (0, 0.5))
    assert soft > crisp + 0.02
    crisp, soft = (KernelBoostingClassifier(bandwidth=b).fit(X, y > 0).score(new, truth > 0) for b in (0, 0.5))
    assert soft > crisp + 0.02


# ------------------------------------------------------------------ rounds

FITS = ["squared_error", "absolute_error", "quantile", "poisson", "2 classes", "3 classes"]


@pytest.fixture(params=FITS)
def fit(request):
    """A model, its rows and its targets, for each loss."""
    X, targets = losses()
    X = X[:200] / X.std(axis=0)
    if request.param.endswith("classes"):
        y = np.digitize(targets["squared_error"], [-0.3, 0.6][: int(request.param[0]) - 1])
        return small(KernelBoostingClassifier), X, y[:200]
    quantile = 0.8 if request.param == "quantile" else None
    return small(KernelBoostingRegressor, loss=request.param, quantile=quantile), X, targets[request.param][:200]


@pytest.mark.parametrize("bandwidth", [0.0, 0.3])
def test_losses_fall(fit, calls, bandwidth):
    model, X, y = fit
    model.set_params(bandwidth=bandwidth, max_iter=15).fit(X, y)
    train = calls[-1][0][0]
    raws = [np.tile(model.forest_.base, (len(train.matrix), 1)), *model._staged_raw(train.matrix)]
    values = [model._fitted_loss.value(train.y, raw, train.weights) for raw in raws]
    assert len(values) == 16
    assert np.all(np.diff(values) < 0)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"bandwidth": 0.0},
        {"bandwidth_decay": 0.8},
        {"subsample": 0.6, "max_features": 2},
        {"prediction_kernel": None},
        {"prediction_kernel": "gaussian"},
        {"prediction_kernel": "triangle", "prediction_bandwidth": 0.6, "bandwidth_decay": 0.8},
        {"prediction_bandwidth": {0: 0.1}},
        {"prediction_kernel": Kernel([-1, 0.5, 1], [1, 2], scale=lambda x: 1 + x**2)},
        {"prediction_kernel": Kernel([-1, 1], [1], scale=lambda x: 1 + x**2), "measurement_error": {1: 0.4}},
        {"measurement_error": {1: 0.4}, "prediction_bandwidth": 0.1},
        {"measurement_error": {1: 0.4}, "prediction_kernel": None},
    ],
)
@pytest.mark.parametrize("model_class", BOTH)
def test_scores_while_learning_are_those_of_the_finished_model(model_class, parameters, calls):
    """What was watched, and what gradients were taken of, is what the model predicts."""
    X, y = problem(model_class, n=200)
    model = small(model_class, early_stopping=True, validation_fraction=0.3, **parameters).fit(X, y)
    (train, *_), options, result = calls[-1]
    assert len(train.matrix) == 140
    for part, found in ((train, result.train_losses), (options["watched"], result.watched_losses)):
        loss, staged = model._fitted_loss, model._staged_raw(part.matrix)
        expected = [loss.value(part.y, raw, part.weights) for raw in staged]
        assert found[1 : model.n_iter_ + 1] == pytest.approx(expected, rel=1e-9)
        base = np.tile(model.forest_.base, (len(part.y), 1))
        assert found[0] == pytest.approx(loss.value(part.y, base, part.weights))
    np.testing.assert_array_equal(model.train_score_, -np.array(result.train_losses))
    np.testing.assert_array_equal(model.validation_score_, -np.array(result.watched_losses))


def test_stages(fit):
    model, X, y = fit
    model.fit(X, y)
    assert model.n_iter_ == 8
    names = ["predict_proba", "decision_function", "predict"] if is_classifier(model) else ["predict"]
    for name in names:
        staged = list(getattr(model, f"staged_{name}")(X))
        final = getattr(model, name)(X)
        assert len(staged) == 8
        assert all(stage.shape == final.shape for stage in staged)
        np.testing.assert_array_equal(staged[-1], final)
        fewer = getattr(clone(model).set_params(max_iter=3).fit(X, y), name)(X)
        np.testing.assert_array_equal(staged[2], fewer)
    n_scores = 3 if is_classifier(model) and len(model.classes_) == 3 else 1
    assert len(model.forest_) == 8 * n_scores
    assert model.forest_.output.tolist() == list(range(n_scores)) * 8


def test_shapes_and_links():
    X, y = problem(KernelBoostingClassifier)
    three = small(KernelBoostingClassifier).fit(X, np.array(["a", "b", "c"])[y])
    assert three.decision_function(X).shape == (120, 3)
    exponentials = np.exp(three.decision_function(X))
    np.testing.assert_allclose(three.predict_proba(X), exponentials / exponentials.sum(axis=1, keepdims=True))
    assert set(three.predict(X)) == {"a", "b", "c"}
    two = small(KernelBoostingClassifier).fit(X, y > 0)
    assert two.decision_function(X).shape == (120,)
    np.testing.assert_allclose(two.predict_proba(X)[:, 1], 1 / (1 + np.exp(-two.decision_function(X))))
    np.testing.assert_array_equal(two.predict(X), two.decision_function(X) > 0)
    counts = small(KernelBoostingRegressor, loss="poisson").fit(X, y)
    np.testing.assert_allclose(counts.predict(X), np.exp(counts.forest_.predict(X)[:, 0]))
    assert counts.predict(X).min() > 0


def test_learning_rate_is_a_factor():
    X, y = problem(KernelBoostingRegressor)
    slow, fast = (small(KernelBoostingRegressor, max_iter=1, learning_rate=rate).fit(X, y) for rate in (0.1, 1.0))
    np.testing.assert_array_equal(slow.forest_.threshold, fast.forest_.threshold)
    np.testing.assert_allclose(slow.predict(X) - y.mean(), 0.1 * (fast.predict(X) - y.mean()))


# ------------------------------------------------------------------ early stopping


def noisy(model_class, n=400):
    X, y = problem(model_class, n=n)
    rng = np.random.default_rng(5)
    if model_class is KernelBoostingRegressor:
        return X, y + 2 * rng.normal(size=n)
    return X, np.where(rng.random(n) < 0.4, rng.integers(3, size=n), y)


@pytest.mark.parametrize("model_class", BOTH)
@pytest.mark.parametrize("patience", [2, 7])
def test_early_stopping_keeps_the_best_round(model_class, patience, calls):
    X, y = noisy(model_class)
    parameters = {"early_stopping": True, "max_iter": 60, "learning_rate": 0.3}
    model = small(model_class, n_iter_no_change=patience, **parameters).fit(X, y)
    scores = model.validation_score_
    assert model.n_iter_ == scores.argmax() > 0
    assert len(scores) == len(model.train_score_) == model.n_iter_ + patience + 1, "stopped when it fell no more"
    assert len(model.forest_) == model.n_iter_ * (3 if is_classifier(model) else 1)
    watched = calls[-1][1]["watched"]
    assert len(watched.matrix) == 40
    loss = model._fitted_loss
    assert -scores.max() == pytest.approx(loss.value(watched.y, model._raw(watched.matrix), watched.weights))
    # a fall by less than tol is none
    sooner = small(model_class, n_iter_no_change=patience, tol=1.0, **parameters).fit(X, y)
    np.testing.assert_array_equal(sooner.validation_score_, scores[: patience + 1])


@pytest.mark.parametrize("model_class", BOTH)
@pytest.mark.parametrize("bandwidth", [0.0, 0.3, "auto", "silverman", "loo"])
def test_nothing_is_learned_from_the_watched_rows(model_class, bandwidth, calls):
    X, y = noisy(model_class)
    parameters = {"early_stopping": True, "n_iter_no_change": 100, "max_iter": 20, "bandwidth": bandwidth}
    model = small(model_class, **parameters).fit(X, y)
    watched = {tuple(row) for row in calls[-1][1]["watched"].matrix}
    is_watched = np.array([tuple(row) in watched for row in X])
    assert is_watched.sum() == 40
    other = y.copy()
    other[is_watched] = y[is_watched][::-1]
    again = small(model_class, **parameters).fit(X, other)
    assert not np.array_equal(model.validation_score_, again.validation_score_)
    np.testing.assert_array_equal(model.train_score_, again.train_score_)
    n_trees = min(len(model.forest_), len(again.forest_))
    assert_same_forest(model.forest_.first(n_trees), again.forest_.first(n_trees))
    # the others are learned from
    other[~is_watched] = y[~is_watched][::-1]
    assert differs(small(model_class, **parameters).fit(X, other).forest_, again.forest_)


def test_bins_are_those_of_the_rows_learned_from(calls):
    X, y = problem(KernelBoostingRegressor, n=200)
    small(KernelBoostingRegressor, early_stopping=True).fit(X, y)
    (train, bins, *_), options, _ = calls[-1]
    assert len(bins.codes) == len(train.matrix) == 180
    assert not np.isin(options["watched"].matrix[:, 0], bins.values[: bins.offsets[1]]).any()


def test_early_stopping_by_default_above_10000_rows():
    X = np.random.default_rng(0).normal(size=(10_001, 1))
    parameters = {"max_iter": 2, "bandwidth": 0, "max_leaf_nodes": 2}
    for n, n_scores in ((10_000, 0), (10_001, 3)):
        for model, y in (
            (KernelBoostingRegressor(**parameters), X[:, 0]),
            (KernelBoostingClassifier(**parameters), X[:, 0] > 0),
        ):
            model.fit(X[:n], y[:n])
            assert len(model.validation_score_) == len(model.train_score_) == n_scores
    off = KernelBoostingRegressor(early_stopping=False, **parameters).fit(X, X[:, 0])
    assert len(off.validation_score_) == 0


@pytest.mark.parametrize(("fraction", "number"), [(0.1, 12), (0.5, 60), (0.001, 0)])
def test_the_part_that_is_watched(fraction, number, calls):
    X, y = problem(KernelBoostingRegressor)
    model = small(KernelBoostingRegressor, early_stopping=True, validation_fraction=fraction).fit(X, y)
    watched = calls[-1][1]["watched"]
    assert (0 if watched is None else len(watched.matrix)) == number
    assert (len(model.validation_score_) > 0) == (number > 0)


def test_at_least_one_round_is_kept():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    model = small(KernelBoostingRegressor, early_stopping=True, learning_rate=1.0, min_mass=1.0).fit(X, y)
    assert model.validation_score_.argmax() == 0
    assert model.n_iter_ == len(model.forest_) == 1


# ------------------------------------------------------------------ monotonic constraints


def along(model, j, n_features, n=60):
    """Raw scores of random rows whose column `j` rises, (20, n); some other cells are missing."""
    rng = np.random.default_rng(3)
    rows = np.repeat(rng.normal(size=(20, 1, n_features)), n, axis=1)
    rows[::3, :, (j + 1) % n_features] = np.nan
    rows[:, :, j] = np.linspace(-3, 3, n)
    return model._raw(rows.reshape(-1, n_features))[:, 0].reshape(20, n)


@pytest.mark.parametrize("loss", FITS[:5])
@pytest.mark.parametrize("bandwidth", [0.0, 0.3])
@pytest.mark.parametrize("spec", [[1, 0, -1, 0], {0: 1, 2: -1}])
def test_monotonic_constraints_hold(loss, bandwidth, spec):
    X, y = problem(KernelBoostingRegressor, n=200)
    parameters = {"bandwidth": bandwidth, "monotonic_cst": spec, "max_iter": 15, "cutoff": 0.0, "subsample": 0.8}
    if loss == "2 classes":
        model = small(KernelBoostingClassifier, **parameters).fit(X, y > 0)
    else:
        quantile = 0.8 if loss == "quantile" else None
        model = small(KernelBoostingRegressor, loss=loss, quantile=quantile, **parameters)
        model.fit(X, np.round(np.exp(y)) if loss == "poisson" else y)
    for j, direction in ((0, 1), (2, -1)):
        values = along(model, j, 4)
        assert np.all(direction * np.diff(values, axis=1) >= -1e-9)
    assert np.ptp(along(model, 0, 4), axis=1).min() > 0.01, "not by being constant"
    free = clone(model).set_params(monotonic_cst=None).fit(X, y > 0 if is_classifier(model) else np.abs(y))
    assert np.any(np.diff(along(free, 0, 4), axis=1) < -1e-3), "which they would not do by themselves"


def test_constraints_by_name_and_against_the_signal():
    X, y = problem(KernelBoostingRegressor, n=200)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    by_name, by_number, by_array = (
        small(KernelBoostingRegressor, monotonic_cst=spec).fit(frame, y)
        for spec in ({"a": -1, "d": 1}, {0: -1, 3: 1}, np.array([-1, 0, 0, 1]))
    )
    assert_same_forest(by_name.forest_, by_number.forest_)
    assert_same_forest(by_name.forest_, by_array.forest_)
    assert by_name.feature_importances_[0] < 0.2, "it rises, so it must not be used to fall"
    none = [small(KernelBoostingRegressor, monotonic_cst=spec).fit(X, y) for spec in (None, [0, 0, 0, 0], {})]
    for model in none[1:]:
        assert_same_forest(model.forest_, none[0].forest_)


def test_refitted_leaves_are_limited_in_the_units_of_the_target():
    """Quantiles of residuals are as large as the target, gradients are not."""
    X = np.random.default_rng(0).uniform(size=(300, 1))
    y = 1e6 * X[:, 0]
    for bandwidth in (0.0, 0.1):
        parameters = {"loss": "absolute_error", "bandwidth": bandwidth, "max_iter": 1, "learning_rate": 1.0}
        free, rising = (
            KernelBoostingRegressor(monotonic_cst=c, **parameters).fit(X, y).score(X, y) for c in (None, [1])
        )
        assert rising > free - 0.01


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ([1, 0], "a dict by column, or one of -1, 0, 1 for each of 3"),
        (1, "a dict by column, or one of -1, 0, 1 for each of 3"),
        ("rising", "a dict by column, or one of -1, 0, 1 for each of 3"),
        ([[1, 0, 0]], "a dict by column, or one of -1, 0, 1 for each of 3"),
        ([2, 0, 0], "-1, 0 or 1 for column 'a'. Got 2"),
        ({"b": 0.5}, "-1, 0 or 1 for column 'b'. Got 0.5"),
        ({"b": "up"}, "-1, 0 or 1 for column 'b'. Got 'up'"),
        ({"x": 1}, "Got 'x'"),
        ({7: 1}, "Got 7"),
        ({"city": 1}, "given for columns of numbers. Got 'city'"),
        ([0, 0, -1], "given for columns of numbers. Got 'city'"),
    ],
)
@pytest.mark.parametrize("model_class", BOTH)
def test_constraints_that_are_none(model_class, spec, message):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(city=["Rome", "Oslo"] * 20)
    with pytest.raises(ValueError, match=f"'monotonic_cst' parameter of {model_class.__name__} must be .*{message}"):
        small(model_class, monotonic_cst=spec).fit(frame, y)
    small(model_class, monotonic_cst={"a": 1, "city": 0}).fit(frame, y)


def test_constraints_are_not_for_several_classes():
    X, y = problem(KernelBoostingClassifier)
    with pytest.raises(ValueError, match=r"'monotonic_cst' .* None with more than two classes"):
        small(KernelBoostingClassifier, monotonic_cst=[1, 0, 0, 0]).fit(X, y)


# ------------------------------------------------------------------ what must not matter


@pytest.mark.parametrize("model_class", BOTH)
@pytest.mark.parametrize(
    "parameters",
    [
        {"bandwidth": 0.0},
        {"bandwidth": 0.3},
        {"bandwidth": "auto"},
        {"bandwidth": "silverman"},
        {"bandwidth": "loo"},
        {"subsample": 0.5},
        {"subsample": 0.5, "max_features": 2, "bandwidth": 0.0},
        {"early_stopping": True, "validation_fraction": 0.3, "n_iter_no_change": 3},
        {"loss": "absolute_error"},
        {"loss": "quantile", "quantile": 0.3},
        {"monotonic_cst": {0: 1}},
    ],
)
def test_weights_are_repetitions(model_class, parameters):
    X, y = problem(model_class, n=60, n_classes=2 if "monotonic_cst" in parameters else 3)
    if "loss" in parameters and model_class is KernelBoostingClassifier:
        parameters = {"class_weight": "balanced"}
    weights = np.random.default_rng(1).integers(0, 4, size=60)
    at = np.repeat(np.arange(60), weights)
    model = small(model_class, **parameters)
    weighted, repeated = clone(model).fit(X, y, sample_weight=weights), clone(model).fit(X[at], y[at])
    rows = np.random.default_rng(2).normal(size=(100, 4))
    np.testing.assert_allclose(answer(weighted, rows), answer(repeated, rows), rtol=0, atol=1e-8)
    assert weighted.n_iter_ == repeated.n_iter_


@pytest.mark.parametrize("model_class", BOTH)
@pytest.mark.parametrize("parameters", [{}, {"subsample": 0.6}, {"bandwidth": "auto"}, {"early_stopping": True}])
def test_order_of_rows_and_columns_does_not_matter(model_class, parameters):
    X, y = problem(model_class)
    X[:5] = X[5:10]  # the same rows with other targets
    rng = np.random.default_rng(7)
    weights = rng.uniform(0.5, 2.0, size=len(X))
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    new = rng.normal(size=(100, X.shape[1]))
    model = small(model_class, **parameters)
    expected = answer(clone(model).fit(X, y, weights), new)
    found = answer(clone(model).fit(X[rows][:, columns], y[rows], weights[rows]), new[:, columns])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("model_class", BOTH)
@pytest.mark.parametrize("bandwidth", [0.0, 0.3])
def test_same_model_for_any_number_of_threads(model_class, bandwidth):
    X, y = problem(model_class, n=1500, p=25)
    X[::7, 3] = np.nan
    assert loop.WORTH_THREADS < (0.9 * 0.9 * 1500 + 2 * 255) * 25, "large enough to be divided"
    parameters = {"max_iter": 4, "bandwidth": bandwidth, "early_stopping": True, "random_state": 0, "subsample": 0.9}
    one, two = (model_class(n_jobs=n, **parameters).fit(X, y) for n in (1, 2))
    assert_same_forest(one.forest_, two.forest_)
    np.testing.assert_array_equal(one.validation_score_, two.validation_score_)
    np.testing.assert_array_equal(answer(one, X), answer(two, X))


@pytest.mark.parametrize("model_class", BOTH)
def test_draws_go_by_the_seed(model_class):
    X, y = problem(model_class)
    for parameters in ({"subsample": 0.5}, {"max_features": 2}, {"early_stopping": True, "subsample": 0.9}):
        one, same, other = (
            small(model_class, **{**parameters, "random_state": seed}).fit(X, y).forest_ for seed in (1, 1, 2)
        )
        assert_same_forest(one, same)
        assert differs(one, other)
    state = np.random.RandomState(1)
    first, second = (small(model_class, subsample=0.5, random_state=state).fit(X, y).forest_ for _ in range(2))
    assert_same_forest(first, small(model_class, subsample=0.5, random_state=1).fit(X, y).forest_)
    assert differs(first, second)
    # nothing is drawn, nothing depends on the seed
    one, other = (small(model_class, random_state=seed).fit(X, y).forest_ for seed in (1, 2))
    assert_same_forest(one, other)


@pytest.mark.parametrize("model_class", BOTH)
def test_rows_and_columns_that_are_drawn(model_class):
    X, y = problem(model_class, p=6)
    model = small(model_class, subsample=0.3, max_iter=6).fit(X, y)
    roots = model.forest_.mass[model.forest_.offsets[:-1]]
    np.testing.assert_allclose(roots, 36.0)
    n_scores = 3 if model_class is KernelBoostingClassifier else 1
    first = model.forest_.threshold[model.forest_.offsets[:-1]][::n_scores]
    assert len(set(first)) > 1, "other rows in each round"
    for wanted, number in ((1, 1), (0.5, 3), ("sqrt", 2), (6, 6), (None, 6)):
        model = small(model_class, max_features=wanted, max_iter=30, bandwidth=0.0, min_mass=2.0).fit(X, y)
        used = [set(tree.feature) - {-1} for tree in model.forest_]
        assert max(len(features) for features in used) <= number
        assert set().union(*used) == set(range(6))


# ------------------------------------------------------------------ targets and weights


def test_class_weight_is_a_weight():
    X, y = load_wine(return_X_y=True)
    factors = {0: 1.0, 1: 3.0, 2: 0.5}
    parameters = {"bandwidth": 0.3 * X.std(axis=0), "bandwidth_unit": "absolute"}
    by_class = small(KernelBoostingClassifier, class_weight=factors, **parameters).fit(X, y)
    by_row = small(KernelBoostingClassifier, **parameters).fit(X, y, sample_weight=[factors[c] for c in y])
    np.testing.assert_allclose(by_class.predict_proba(X), by_row.predict_proba(X), atol=1e-9)
    balanced = small(KernelBoostingClassifier, class_weight="balanced").fit(X, y)
    np.testing.assert_allclose(balanced.forest_.base, 0.0, atol=1e-12)
    two = small(KernelBoostingClassifier, class_weight="balanced").fit(X, y == 0)
    np.testing.assert_allclose(two.forest_.base, 0.0, atol=1e-12)
    for wrong in ("equal", 3):
        with pytest.raises(ValueError, match="'class_weight' parameter of KernelBoostingClassifier must be"):
            small(KernelBoostingClassifier, class_weight=wrong).fit(X, y)
    with pytest.raises(ValueError, match="class_weight needs class labels as y"):
        small(KernelBoostingClassifier, class_weight="balanced").fit(X, np.eye(3)[y])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_fuzzy_labels(n_classes):
    X, y = load_iris(return_X_y=True)
    y = np.minimum(y, n_classes - 1)
    names = ["a", "b", "c"][:n_classes]
    crisp = small(KernelBoostingClassifier).fit(X, y)
    fuzzy = small(KernelBoostingClassifier).fit(X, pd.DataFrame(np.eye(n_classes)[y], columns=names))
    assert list(fuzzy.classes_) == names
    assert set(fuzzy.predict(X)) == set(names)
    np.testing.assert_allclose(fuzzy.predict_proba(X), crisp.predict_proba(X), atol=1e-9)
    even = small(KernelBoostingClassifier).fit(X, np.full((150, n_classes), 1 / n_classes))
    np.testing.assert_allclose(even.predict_proba(X), 1 / n_classes)
    # a row that is 0.7 of a class is two rows of weights 0.7 and 0.3
    shares = 0.7 * np.eye(n_classes)[y] + 0.3 * np.eye(n_classes)[(y + 1) % n_classes]
    mixed = small(KernelBoostingClassifier).fit(X, shares)
    twice = small(KernelBoostingClassifier)
    twice.fit(np.vstack([X, X]), np.append(y, (y + 1) % n_classes), sample_weight=np.repeat([0.7, 0.3], 150))
    np.testing.assert_allclose(mixed.predict_proba(X), twice.predict_proba(X), atol=1e-9)


def test_targets_that_do_not_go():
    X, y = problem(KernelBoostingRegressor)
    with pytest.raises(ValueError, match="y holds one class only"):
        KernelBoostingClassifier().fit(X, np.zeros(120))
    with pytest.raises(ValueError, match=r"targets y of PoissonDeviance must be at least 0. Got -"):
        KernelBoostingRegressor(loss="poisson").fit(X, y)
    with pytest.raises(ValueError, match=r"above 0. All are 0"):
        KernelBoostingRegressor(loss="poisson").fit(X, np.zeros(120))
    with pytest.raises(ValueError, match="one column of targets for boosting, got 2"):
        KernelBoostingRegressor().fit(X, np.column_stack([y, y]))
    assert KernelBoostingRegressor(loss="poisson").__sklearn_tags__().target_tags.positive_only


# ------------------------------------------------------------------ tables


@pytest.mark.parametrize("bandwidth", [0.0, 0.3])
def test_missing_values_that_tell_something_are_learned(bandwidth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    is_missing = rng.random(400) < 0.4
    X[is_missing, 1] = np.nan
    X[:, 2] = np.where(rng.random(400) < 0.5, 1.0, np.nan)  # there, or not
    y = 2.0 * is_missing + (X[:, 0] > 0) * (1.0 + np.isnan(X[:, 2]))
    model = KernelBoostingRegressor(bandwidth=bandwidth, max_iter=1, learning_rate=1.0, max_leaf_nodes=8).fit(X, y)
    assert model.score(X, y) > (0.999 if bandwidth == 0.0 else 0.9)
    # what a missing value says does not depend on how large the others are
    new = np.array([[1.0, x, np.nan] for x in (-3.5, 0.0, 3.5)])
    np.testing.assert_allclose(model.predict(new), model.predict(new)[0])


@pytest.mark.parametrize("bandwidth", [0.0, 0.3])
def test_values_that_are_missing_later_go_to_the_larger_side(bandwidth):
    X = np.arange(100.0)[:, None]
    y = (X[:, 0] > 30) * 1.0
    model = KernelBoostingRegressor(bandwidth=bandwidth, max_iter=1, max_leaf_nodes=2, learning_rate=1.0).fit(X, y)
    right = model.forest_.value[model.forest_.children_right[0], 0] + model.forest_.base[0]
    assert model.predict([[np.nan]])[0] == pytest.approx(right)


@pytest.mark.parametrize("model_class", BOTH)
def test_categories_of_a_messy_frame(model_class):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=150),
            "city": rng.choice(["Rome", "Oslo", "Lima"], size=150),
            "grade": pd.Categorical(rng.choice(["b", "a", "c"], size=150), categories=["a", "b", "c", "unused"]),
            "open": rng.random(150) < 0.5,
        }
    )
    signal = frame["size"] + 2.0 * (frame["city"] == "Oslo") - (frame["grade"] == "a") + 0.5 * frame["open"]
    frame["city"] = frame["city"].astype(object)
    frame.loc[:5, "city"] = None
    frame.loc[7:12, "size"] = np.nan
    y = np.where(signal > 0.5, "yes", "no") if model_class is KernelBoostingClassifier else signal.to_numpy()
    model = small(model_class, max_iter=40, monotonic_cst={"size": 1}).fit(frame, y)
    assert model.score(frame, y) > 0.8
    assert model.feature_importances_.shape == (4,)
    assert model.feature_importances_[[0, 1]].sum() > 0.5
    assert list(model.feature_names_in_) == list(frame.columns)
    assert model.input_gradient(frame).shape == (150, 1, 4)
    assert not model.input_gradient(frame)[:, :, 1:].any()
    assert not model.bandwidths_[1:].any(), "categories have no kernel"
    with pytest.raises(ValueError, match=r"Column 'city' .* not there at fit: \['Lagos'\]"):
        model.predict(frame.assign(city="Lagos"))


# ------------------------------------------------------------------ kernels, bandwidths and errors


@pytest.mark.parametrize("model_class", BOTH)
def test_prediction_kernels(model_class):
    X, y = problem(model_class)
    same, crisp, zero, other, wide = (
        small(model_class, **parameters).fit(X, y)
        for parameters in (
            {},
            {"prediction_kernel": None},
            {"prediction_bandwidth": 0},
            {"prediction_kernel": "gaussian"},
            {"prediction_bandwidth": {0: 1.0}},
        )
    )
    assert crisp.forest_.is_crisp
    assert not same.forest_.is_crisp
    np.testing.assert_array_equal(crisp.predict(X), zero.predict(X))
    n_scores = 3 if is_classifier(same) else 1
    for model in (crisp, other, wide):  # the first trees are the same, later ones make up for the other reading
        np.testing.assert_array_equal(model.forest_[0].threshold, same.forest_[0].threshold)
        values = [forest[3 * n_scores].value[0] for forest in (model.forest_, same.forest_)]
        assert values[0] != values[1]
    inner = other.forest_.feature >= 0
    feature = wide.forest_.feature
    np.testing.assert_allclose(other.forest_.width[inner], 0.3 * X.std(axis=0)[other.forest_.feature[inner]])
    np.testing.assert_allclose(wide.forest_.width[feature == 0], X[:, 0].std())
    assert not wide.forest_.width[feature > 0].any()
    assert len(other.forest_.shapes.edges[0]) > 2


@pytest.mark.parametrize("model_class", BOTH)
def test_bandwidths_decay_from_round_to_round(model_class):
    X, y = problem(model_class)
    model = small(model_class, bandwidth_decay=0.7, max_iter=5).fit(X, y)
    np.testing.assert_allclose(model.bandwidths_, 0.3 * X.std(axis=0))
    n_scores = 3 if is_classifier(model) else 1
    for number, tree in enumerate(model.forest_):
        inner = tree.feature >= 0
        expected = model.bandwidths_[tree.feature[inner]] * 0.7 ** (number // n_scores)
        np.testing.assert_allclose(tree.width[inner], expected)
    other = small(model_class, bandwidth_decay=0.7, max_iter=5, prediction_kernel="triangle").fit(X, y)
    inner = other.forest_.feature >= 0
    numbers = np.repeat(np.arange(len(other.forest_)), other.forest_.sizes)[inner] // n_scores
    np.testing.assert_allclose(
        other.forest_.width[inner], other.bandwidths_[other.forest_.feature[inner]] * 0.7**numbers
    )


@pytest.mark.parametrize("model_class", BOTH)
def test_measurement_error_is_a_bandwidth(model_class):
    X, y = problem(model_class)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    errors = {"a": 0.5, "c": 0.25}
    known = small(model_class, bandwidth=0, measurement_error=errors).fit(frame, y)
    same = small(model_class, bandwidth=errors, bandwidth_unit="absolute").fit(frame, y)
    array = small(model_class, bandwidth=0, measurement_error=[0.5, 0.0, 0.25, 0.0]).fit(frame, y)
    assert_same_forest(known.forest_, same.forest_)
    assert_same_forest(array.forest_, same.forest_)
    both = small(model_class, bandwidth=0.3, measurement_error=errors).fit(frame, y)
    widths = np.hypot(0.3 * X.std(axis=0), [0.5, 0.0, 0.25, 0.0])
    inner = both.forest_.feature >= 0
    np.testing.assert_allclose(both.forest_.width[inner], widths[both.forest_.feature[inner]])
    name = f"'measurement_error' parameter of {model_class.__name__} must be one number for a column"
    for by_cell in (np.full((120, 4), 0.1), {"a": np.full(120, 0.1)}, {"a": np.abs}):
        with pytest.raises(ValueError, match=name):
            small(model_class, measurement_error=by_cell).fit(frame, y)
    with pytest.raises(TypeError, match="measurement_error"):
        known.predict(frame, measurement_error=errors)
    with pytest.raises(ValueError, match=r"'bandwidth_decay' .* must be 1.0 with measurement errors. Got 0.9"):
        small(model_class, bandwidth_decay=0.9, measurement_error=errors).fit(frame, y)


def test_units_of_bandwidths():
    X, y = load_wine(return_X_y=True)
    in_deviations = small(KernelBoostingClassifier, bandwidth=0.4).fit(X, y)
    absolute = small(KernelBoostingClassifier, bandwidth=0.4 * X.std(axis=0), bandwidth_unit="absolute").fit(X, y)
    by_name = small(KernelBoostingClassifier, bandwidth={j: 0.4 for j in range(13)}).fit(X, y)
    for model in (absolute, by_name):
        np.testing.assert_allclose(model.predict_proba(X), in_deviations.predict_proba(X), atol=1e-9)
    some = small(KernelBoostingClassifier, bandwidth={6: 0.4}).fit(X, y)
    assert np.flatnonzero(some.bandwidths_).tolist() == [6]


@pytest.mark.parametrize("model_class", BOTH)
def test_automatic_bandwidth_is_that_of_the_smallest_held_out_loss(model_class, monkeypatch):
    tried = []
    monkeypatch.setattr(boosting_base.KernelBoosting, "_report_scale", lambda _, *pair: tried.append(pair))
    for seed, n in ((0, 90), (1, 150), (2, 1100)):
        X, y = problem(model_class, n=n, seed=seed)
        model = small(model_class, bandwidth="auto", max_iter=5, verbose=1).fit(X, y)
        assert [scale for scale, _ in tried] == list(boosting_base.AUTO_GRID)
        assert model.bandwidth_ == min(tried, key=lambda pair: pair[1])[0]
        np.testing.assert_allclose(model.bandwidths_, model.bandwidth_ * X.std(axis=0))
        fixed = small(model_class, bandwidth=model.bandwidth_, max_iter=5).fit(X, y)
        assert_same_forest(model.forest_, fixed.forest_)
        tried.clear()


def test_automatic_bandwidth_is_small_for_steps_and_large_for_slopes():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(300, 1))
    steps = np.floor(2 * X[:, 0]) % 2 + 0.05 * rng.normal(size=300)
    slopes = X[:, 0] + rng.normal(size=300)
    assert KernelBoostingRegressor(random_state=0).fit(X, steps).bandwidth_ == 0.0
    assert KernelBoostingRegressor(random_state=0).fit(X, slopes).bandwidth_ == 0.4


def test_rules_for_the_bandwidth():
    X, y = problem(KernelBoostingRegressor)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=120)
    silverman, loo = (
        small(KernelBoostingRegressor, bandwidth=rule).fit(X, y, sample_weight=weights) for rule in ("silverman", "loo")
    )
    np.testing.assert_allclose(silverman.bandwidths_, silverman_widths(X, weights))
    np.testing.assert_allclose(loo.bandwidths_, loo_widths(X, read_reals(y, weights), weights))
    assert not hasattr(loo, "bandwidth_")


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
            model = model_class(bandwidth=bandwidth, max_iter=3, min_mass=min_mass, early_stopping=True).fit(X, y)
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
    expected = [f"[KernelBoostingClassifier] round {k} of 4, held-out loss 0." for k in (1, 2, 3, 4)]
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
