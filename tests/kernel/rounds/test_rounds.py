"""Rounds of boosting: losses, stages, early stopping, and monotonic constraints."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier

from softwood import Kernel, KernelBoostingClassifier, KernelBoostingRegressor
from softwood.kernel import rows as kernel_rows
from softwood.kernel.data import preparation
from tests.kernel.boosts import BOTH, losses, problem, small
from tests.kernel.forests import differs
from tests.models import assert_same_nodes


@pytest.fixture
def calls(monkeypatch):
    """The arguments of `Rounds`, and its results."""
    made = []

    class Spy(kernel_rows.Rounds):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            made.append((arguments, options, self.result))

    monkeypatch.setattr(kernel_rows, "Rounds", Spy)
    return made


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
    values = [model._loss_.value(train.y, raw, train.weights) for raw in raws]
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
    """Losses that were noted, and what gradients were taken of, is what the model predicts."""
    X, y = problem(model_class, n=200)
    X = np.round(X, 1)  # a bin for each value
    model = small(model_class, early_stopping=True, validation_fraction=0.3, **parameters).fit(X, y)
    (train, *_), options, result = calls[-1]
    assert len(train.matrix) == 140
    for part, found in ((train, result.train_losses), (options["validation"], result.validation_losses)):
        loss, staged = model._loss_, model._staged_raw(part.matrix)
        expected = [loss.value(part.y, raw, part.weights) for raw in staged]
        assert found[1 : model.n_iter_ + 1] == pytest.approx(expected, rel=1e-9)
        base = np.tile(model.forest_.base, (len(part.y), 1))
        assert found[0] == pytest.approx(loss.value(part.y, base, part.weights))
    np.testing.assert_array_equal(model.train_score_, -np.array(result.train_losses))
    np.testing.assert_array_equal(model.validation_score_, -np.array(result.validation_losses))


def test_steps_of_rare_classes_are_limited():
    """A leaf with a few rows of a class that is held to be nearly impossible: its Newton step would be 80 and more."""
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.integers(0, 3, 1500), np.where(np.arange(20) < 6, 3, 0)])
    X = np.concatenate([y[:1500] + 0.1 * rng.normal(size=1500), np.full(20, 30.0)])[:, None]
    model = KernelBoostingClassifier(bandwidth=0.0, max_iter=30, l2_regularization=0.0, random_state=0).fit(X, y)
    assert np.abs(model.forest_.value).max() == pytest.approx(1.0)
    assert np.all(np.diff(model.train_score_) > 0)
    assert model.predict_proba([[30.0]])[0, 3] == pytest.approx(0.3, abs=0.05)


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
    held_out = calls[-1][1]["validation"]
    assert len(held_out.matrix) == 40
    loss = model._loss_
    assert -scores.max() == pytest.approx(loss.value(held_out.y, model._raw(held_out.matrix), held_out.weights))
    # a fall by less than tol is none
    sooner = small(model_class, n_iter_no_change=patience, tol=1.0, **parameters).fit(X, y)
    np.testing.assert_array_equal(sooner.validation_score_, scores[: patience + 1])


@pytest.mark.parametrize("model_class", BOTH)
@pytest.mark.parametrize("bandwidth", [0.0, 0.3, "auto", "silverman", "loo"])
def test_nothing_is_learned_from_the_validation_rows(model_class, bandwidth, calls):
    X, y = noisy(model_class)
    parameters = {"early_stopping": True, "n_iter_no_change": 100, "max_iter": 20, "bandwidth": bandwidth}
    model = small(model_class, **parameters).fit(X, y)
    held_out = {tuple(row) for row in calls[-1][1]["validation"].matrix}
    is_held_out = np.array([tuple(row) in held_out for row in X])
    assert is_held_out.sum() == 40
    other = y.copy()
    other[is_held_out] = y[is_held_out][::-1]
    again = small(model_class, **parameters).fit(X, other)
    assert not np.array_equal(model.validation_score_, again.validation_score_)
    np.testing.assert_array_equal(model.train_score_, again.train_score_)
    n_trees = min(len(model.forest_), len(again.forest_))
    assert_same_nodes(model.forest_.first(n_trees), again.forest_.first(n_trees))
    # the others are learned from
    other[~is_held_out] = y[~is_held_out][::-1]
    assert differs(small(model_class, **parameters).fit(X, other).forest_, again.forest_)


def test_bins_are_those_of_the_rows_learned_from(calls):
    X, y = problem(KernelBoostingRegressor, n=200)
    small(KernelBoostingRegressor, early_stopping=True).fit(X, y)
    (train, bins, *_), options, _ = calls[-1]
    assert len(bins.codes) == len(train.matrix) == 180
    assert not np.isin(options["validation"].matrix[:, 0], bins.values[: bins.offsets[1]]).any()


def test_early_stopping_by_default_above_10000_rows():
    X = np.random.default_rng(0).normal(size=(10_001, 1))
    parameters = {"max_iter": 2, "bandwidth": 0, "max_leaf_nodes": 2}
    for n, n_scores in ((10_000, 0), (10_001, 3)):
        for model, y in (
            (KernelBoostingRegressor(**parameters), X[:, 0]),
            (KernelBoostingClassifier(**parameters), X[:, 0] > 0),
        ):
            model.fit(X[:n], y[:n])
            assert len(model.validation_score_) == n_scores
            assert len(model.train_score_) == 3
    off = KernelBoostingRegressor(early_stopping=False, **parameters).fit(X, X[:, 0])
    assert len(off.validation_score_) == 0


@pytest.mark.parametrize(("fraction", "number"), [(0.1, 12), (0.5, 60), (0.001, 1)])
def test_the_part_that_is_set_aside(fraction, number, calls):
    X, y = problem(KernelBoostingRegressor)
    model = small(KernelBoostingRegressor, early_stopping=True, validation_fraction=fraction).fit(X, y)
    assert len(calls[-1][1]["validation"].matrix) == number
    assert len(model.validation_score_) > 0


@pytest.mark.parametrize("model_class", BOTH)
def test_bandwidths_are_those_of_the_rows_learned_from(model_class, calls, monkeypatch):
    """Validation rows have no part in standard deviations; the rows are binned once."""
    binned = []

    def spy(X, *arguments, bins=preparation.bin_features):
        binned.append(len(X))
        return bins(X, *arguments)

    monkeypatch.setattr(preparation, "bin_features", spy)
    X, y = problem(model_class, n=200)
    model = small(model_class, early_stopping=True, bandwidth=0.3).fit(X, y)
    train = calls[-1][0][0].matrix
    assert binned == [len(train)] == [180]
    np.testing.assert_allclose(model.bandwidths_, 0.3 * train.std(axis=0), rtol=1e-12)
    model.fit(X[:0:-1], y[:0:-1])
    assert not np.allclose(model.bandwidths_, 0.3 * X[1:].std(axis=0), rtol=1e-6)


@pytest.mark.parametrize("early_stopping", [False, "auto", True])
def test_the_loss_curve_of_training_rows(fit, early_stopping):
    model, X, y = fit
    model.set_params(early_stopping=early_stopping, max_iter=6, n_iter_no_change=20).fit(X, y)
    assert len(model.train_score_) == 7
    assert np.all(np.diff(model.train_score_) > 0)
    assert len(model.validation_score_) == (7 if early_stopping is True else 0)


def test_the_loss_curve_of_many_rows_is_that_of_some(monkeypatch):
    monkeypatch.setattr(kernel_rows, "SCORED_ROWS", 50)
    X, y = problem(KernelBoostingRegressor, n=400)
    model = small(KernelBoostingRegressor).fit(X, y)
    order = np.random.default_rng(0).permutation(400)
    again = small(KernelBoostingRegressor).fit(X[order], y[order])
    np.testing.assert_allclose(model.train_score_, again.train_score_, rtol=1e-9)
    whole = -0.5 * ((model.predict(X) - y) ** 2).mean()
    assert model.train_score_[-1] != pytest.approx(whole, rel=1e-9)
    assert model.train_score_[-1] == pytest.approx(whole, rel=0.8)


# ------------------------------------------------------------------ validation rows of the user


@pytest.mark.parametrize("model_class", BOTH)
def test_given_validation_rows(model_class, calls):
    X, y = noisy(model_class)
    X_val, y_val = X[300:], y[300:]
    parameters = {"max_iter": 60, "learning_rate": 0.3, "n_iter_no_change": 3}
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(X_val))
    model = small(model_class, **parameters).fit(X[:300], y[:300], X_val=X_val, y_val=y_val, sample_weight_val=weights)
    assert len(calls[-1][0][0].matrix) == 300, "no rows are set aside"
    assert model.n_iter_ == model.validation_score_.argmax() < 60
    loss, held_out = model._loss_, calls[-1][1]["validation"]
    assert -model.validation_score_.max() == pytest.approx(loss.value(held_out.y, model._raw(X_val), weights))
    # the same rounds as without, up to the best one
    plain = small(model_class, **parameters).fit(X[:300], y[:300])
    assert_same_nodes(model.forest_, plain.forest_.first(len(model.forest_)))
    # they only look on without early stopping
    off = small(model_class, early_stopping=False, **parameters).fit(X[:300], y[:300], X_val=X_val, y_val=y_val)
    assert off.n_iter_ == 60
    assert len(off.validation_score_) == 61


def test_validation_rows_are_read_as_new_rows_are():
    X, y = problem(KernelBoostingClassifier)
    frame = pd.DataFrame(X).rename(columns=str).assign(word=np.where(X[:, 0] > 0, "up", "down"))
    y = np.array(["ant", "bee", "cow"])[y]
    few = frame[y != "ant"][:30].assign(word="new")
    model = small(KernelBoostingClassifier).fit(frame, y, X_val=few, y_val=y[y != "ant"][:30])
    assert len(model.validation_score_) > 1
    expected = np.log(model.predict_proba(few)[np.arange(30), np.searchsorted(model.classes_, y[y != "ant"][:30])])
    assert model.validation_score_[model.n_iter_] == pytest.approx(expected.mean())


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
    assert_same_nodes(by_name.forest_, by_number.forest_)
    assert_same_nodes(by_name.forest_, by_array.forest_)
    assert by_name.feature_importances_[0] < 0.2, "it rises, so it must not be used to fall"
    none = [small(KernelBoostingRegressor, monotonic_cst=spec).fit(X, y) for spec in (None, [0, 0, 0, 0], {})]
    for model in none[1:]:
        assert_same_nodes(model.forest_, none[0].forest_)


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
