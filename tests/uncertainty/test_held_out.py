"""Scores after a plain fit: predictions of rows by models that did not learn from them."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

from softwood import (
    EndToEndTreeClassifier,
    KernelBoostingClassifier,
    KernelBoostingRegressor,
    KernelExtraTreesRegressor,
    KernelForestClassifier,
    KernelForestRegressor,
    KernelTreeClassifier,
    KernelTreeRegressor,
    SoftTreeClassifier,
)
from softwood.kernel.rounds.rounds import Rounds
from softwood.uncertainty import held_out
from softwood.uncertainty.held_out import HeldOut
from tests.uncertainty.noisy_rows import is_in, noisy_rows

CRISP = {"bandwidth": 0, "trend": None}
TREES = {
    "refined": {},
    "refined with a trend": {"trend": "linear"},
    "given number of leaves": {"max_leaf_nodes": 4},
    "not refined": {"refine": False, "trend": None},
    "not refined, with a trend": {"refine": False, "trend": "linear"},
    "given passes": {"refine": 3},
    "no limit": {"max_leaf_nodes": None},
    "crisp": CRISP,
    "pruned": {"max_leaf_nodes": None, "ccp_alpha": 0.02},
    "folds": {"bandwidth": "cv", "cv": 3, "max_leaf_nodes": None},
}


def test_coverage_of_few_rows_over_repetitions():
    """400 times 40 rows; errors of the training rows would cover far less, as the last line shows."""
    X, y = noisy_rows(40 * 400 + 200, 0)
    new, truth = X[-200:], y[-200:]
    covered, naive = [], []
    for rows in np.arange(16_000).reshape(400, 40):
        model = KernelTreeRegressor(**CRISP, max_leaf_nodes="auto").fit(X[rows], y[rows])
        covered.append(is_in(model.predict_interval(new, 0.9), truth).mean())
        errors = y[rows] - model.predict(X[rows])
        low, high = np.sort(errors)[[1, 38]]
        predicted = model.predict(new)
        naive.append(is_in(predicted[:, None] + [[low, high]], truth).mean())
    assert 0.9 < np.mean(covered) < 0.935
    assert np.mean(naive) < 0.87


@pytest.mark.parametrize("settings", ["refined", "given number of leaves", "crisp"])
def test_coverage_of_trees(settings):
    new, truth = noisy_rows(2000, 1)
    found = []
    for seed in range(10, 26):
        X, y = noisy_rows(200, seed)
        model = KernelTreeRegressor(**TREES[settings], random_state=seed).fit(X, y)
        found.append([is_in(model.predict_interval(new, c), truth).mean() for c in (0.8, 0.9, 0.95)])
    assert np.mean(found, axis=0) == pytest.approx([0.805, 0.905, 0.955], abs=0.02)


@pytest.mark.parametrize(
    ("model_class", "expected"),
    [
        (KernelTreeClassifier, 0.905),
        (KernelBoostingClassifier, 0.905),
        (SoftTreeClassifier, 0.905),
    ],
)
def test_coverage_of_classes(model_class, expected):
    new, truth = noisy_rows(2000, 1)
    found = []
    for seed in range(10, 22):
        X, y = noisy_rows(250, seed)
        model = model_class(random_state=seed).fit(X, y > 0)
        found.append(model.predict_set(new, 0.9, allow_empty=True)[np.arange(2000), (truth > 0).astype(int)].mean())
    assert np.mean(found) == pytest.approx(expected, abs=0.03)


def test_extra_trees_of_the_choice_are_fewer_and_cover_more():
    new, truth = noisy_rows(2000, 1)
    found = []
    for seed in range(10, 18):
        X, y = noisy_rows(250, seed)
        model = KernelExtraTreesRegressor(random_state=seed).fit(X, y)
        assert 0.8 < _kept(model).scale < 1.0  # more trees have smaller errors
        found.append(is_in(model.predict_interval(new, 0.9), truth).mean())
    assert 0.89 < np.mean(found) < 0.94


def _smooth(n, seed):
    """A smooth function of six columns and little noise: errors fall fast with the number of rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3:].sum(axis=1) + 0.01 * rng.normal(size=n)


def test_errors_of_boosting_are_those_of_a_model_from_all_rows():
    new, truth = _smooth(2000, 1)
    found, unscaled, ratios, scales = [], [], [], []
    for seed in range(10, 18):
        X, y = _smooth(250, seed)
        model = KernelBoostingRegressor(random_state=seed).fit(X, y)
        kept = _kept(model)
        scales.append(kept.scale)
        ratios.append(np.abs(truth - model.predict(new)).mean() / kept.mean_error)
        found.append([is_in(model.predict_interval(new, c), truth).mean() for c in (0.8, 0.9)])
        vars(model)["_held_out_"] = replace(kept, scale=1.0)
        model.settle_scores()
        unscaled.append([is_in(model.predict_interval(new, c), truth).mean() for c in (0.8, 0.9)])
    assert np.mean(found, axis=0) == pytest.approx([0.8, 0.9], abs=0.03)
    assert np.all(np.mean(unscaled, axis=0) > [0.83, 0.92])
    assert np.mean(scales) == pytest.approx(np.mean(ratios), abs=0.15)  # a power of the number of rows is rough


def test_errors_that_do_not_fall_are_not_scaled():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), rng.normal(size=600)
    assert _kept(KernelBoostingRegressor(random_state=0).fit(X, y)).scale > 0.96
    quantiles = KernelBoostingRegressor(loss="quantile", quantile=(0.1, 0.9), random_state=0)
    assert _kept(quantiles.fit(X, X[:, 0])).scale == 1.0
    assert _kept(KernelBoostingClassifier(random_state=0).fit(X, X[:, 0] > 0)).scale == 1.0


def _kept(model):
    """The rows that a fit has kept."""
    return model.rows_held_out()


@pytest.mark.parametrize("settings", [name for name in TREES if "with a trend" not in name])
def test_a_prediction_does_not_know_the_target_of_its_row(settings):
    """The folds of trees depend on the columns alone, so a target can change without changing what others learn."""
    X, y = noisy_rows(120, 2)
    labels = (y > 0).astype(int)
    options = TREES[settings] | {"trend": None}
    one = KernelTreeClassifier(**options, random_state=0).fit(X, labels)
    n_compared = 0
    for row in range(20):
        other = labels.copy()
        other[row] = 1 - other[row]
        two = KernelTreeClassifier(**options, random_state=0).fit(X, other)
        assert _kept(one).truth[row].argmax() != _kept(two).truth[row].argmax()
        if all(_settings(one)[name] == value for name, value in _settings(two).items()):  # the choice is the same
            n_compared += 1
            assert _kept(one).predictions[row] == pytest.approx(_kept(two).predictions[row], abs=1e-9)
    assert n_compared


def _settings(model):
    names = ("bandwidth_", "n_passes_")
    size = model.get_n_leaves() if model.max_leaf_nodes == "auto" else 0
    return {"size": size, **{name: getattr(model, name, None) for name in names}}


@pytest.mark.parametrize("settings", TREES)
def test_every_row_is_held_out_once(settings):
    X, y = noisy_rows(150, 3)
    found = _kept(KernelTreeRegressor(**TREES[settings], random_state=0).fit(X, 5 + 3 * y))
    assert np.array_equal(found.matrix, X)
    assert found.truth[:, 0] == pytest.approx(5 + 3 * y)
    assert np.array_equal(found.weights, np.ones(150))
    errors = found.predictions[:, 0] - (5 + 3 * y)
    assert 1 < np.sqrt((errors**2).mean()) < 1.2 * 3 * y.std()


def test_samples_of_a_large_table():
    X, y = noisy_rows(3000, 4)
    found = _kept(KernelTreeRegressor(random_state=0, max_leaf_nodes=8).fit(X, y))
    assert len(found.weights) == 1000
    assert len(np.unique(found.matrix[:, 0])) == 1000


def test_equal_rows_are_held_out_together():
    X, y = noisy_rows(100, 5)
    new, truth = noisy_rows(3000, 6)
    twice = np.repeat(np.arange(100), 2)
    model = KernelTreeRegressor(random_state=0, max_leaf_nodes=16).fit(X[twice], y[twice])
    assert is_in(model.predict_interval(new), truth).mean() > 0.85


def test_forests_of_rows_with_many_equals():
    """No row is out of the bag, so the bandwidth is chosen by trees that are grown from some of the contents."""
    X, y = noisy_rows(200, 5)
    new, truth = noisy_rows(3000, 6)
    once = KernelForestRegressor(30, random_state=0).fit(X, y)
    for model in (
        KernelForestRegressor(30, random_state=0).fit(X, y, np.full(200, 5)),
        KernelForestRegressor(30, random_state=0).fit(np.repeat(X, 5, axis=0), np.repeat(y, 5)),
    ):
        assert model.bandwidth_ > 0.1
        assert model.score(new, truth) > once.score(new, truth) - 0.02
        assert is_in(model.predict_interval(new), truth).mean() == pytest.approx(0.9, abs=0.04)
    few = KernelForestClassifier(30, random_state=0).fit(np.repeat(X[:12], 20, axis=0), np.repeat(y[:12] > 0, 20))
    assert few.predict_set(X).any(axis=1).all()


def test_weights_of_classes_do_not_count():
    X, y = noisy_rows(400, 7)
    labels = np.digitize(y, [-1.2, 1.2])
    for model_class in (KernelTreeClassifier, KernelBoostingClassifier, SoftTreeClassifier, EndToEndTreeClassifier):
        model = model_class(random_state=0, class_weight={0: 4.0, 1: 1.0, 2: 0.5}).fit(X, labels)
        weights = _kept(model).weights
        assert weights == pytest.approx(np.full(len(weights), weights[0])), model_class
        assert weights[0] == pytest.approx(1.0, rel=0.05), model_class


@pytest.mark.parametrize("settings", [{}, {"prediction_kernel": None}, {"subsample": 0.5, "max_features": 2}])
def test_scores_of_boosting_are_those_of_the_rounds_that_were_run(settings, monkeypatch):
    seen = {}
    run = Rounds.run

    def noted(self):
        found = run(self)
        seen.setdefault(id(self), [self]).append(self.raw_validation.copy())
        return found

    monkeypatch.setattr(Rounds, "run", noted)
    X, y = noisy_rows(200, 8)
    KernelBoostingRegressor(random_state=0, early_stopping=False, **settings).fit(X, y, X_val=X[:50], y_val=y[:50])
    for rounds, *scores in seen.values():
        for n in (1, len(scores) // 2 or 1, len(scores)):
            assert rounds.held_out_scores(n) == pytest.approx(scores[n - 1], rel=1e-12)


def test_validation_rows_of_boosting():
    X, y = noisy_rows(500, 9)
    model = KernelBoostingRegressor(random_state=0).fit(X[:400], 1e6 * y[:400], X_val=X[400:], y_val=1e6 * y[400:])
    found = _kept(model)
    assert np.array_equal(found.matrix, X[400:])
    assert np.array_equal(found.predictions[:, 0], model.predict(X[400:]))
    assert found.truth[:, 0] == pytest.approx(1e6 * y[400:])


def test_an_interrupted_fit_has_no_scores(monkeypatch):
    """Its model has fewer rounds than those that were held out."""
    X, y = noisy_rows(200, 10)
    run, calls = Rounds.run, iter(range(10**6))
    model = KernelBoostingRegressor(random_state=0, bandwidth=0.1, max_iter=60, validation_fraction=0.2)
    model.set_params(early_stopping=True).fit(X, y)
    assert hasattr(model, "calibration_")

    def stop(self):
        if next(calls) == 8:
            raise KeyboardInterrupt
        return run(self)

    monkeypatch.setattr(Rounds, "run", stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.n_iter_ <= 8
    assert not hasattr(model, "calibration_")


def test_a_failed_fit_leaves_the_scores():
    X, y = noisy_rows(200, 11)
    model = KernelTreeRegressor(random_state=0).fit(X, y)
    before = model.predict_interval(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X, np.full(200, np.nan))
    assert np.array_equal(model.predict_interval(X), before)


def test_a_given_number_of_rounds_is_followed_if_it_is_near():
    X, y = noisy_rows(200, 12)
    assert hasattr(KernelBoostingRegressor(max_iter=80, random_state=0).fit(X, y), "calibration_")
    assert not hasattr(KernelBoostingRegressor(max_iter=2000, random_state=0).fit(X, y), "calibration_")
    assert not hasattr(KernelBoostingRegressor(bandwidth=0.1, max_iter=80, random_state=0).fit(X, y), "calibration_")


def test_a_hardened_tree_has_no_scores_of_the_soft_one():
    X, y = noisy_rows(200, 13)
    model = SoftTreeClassifier(random_state=0).fit(X, y > 0)
    assert hasattr(model, "calibration_")
    assert not hasattr(model.harden(), "calibration_")
    assert hasattr(model, "calibration_")


def test_at_most_so_many_rows_are_kept_and_equal_ones_together(monkeypatch):
    monkeypatch.setattr(held_out, "MOST_ROWS", 50)
    X, y = np.repeat(noisy_rows(100, 14)[0], 2, axis=0), np.arange(200.0)[:, None]
    found = HeldOut.of(X, y, y, np.ones(200))
    assert len(found.weights) == 100
    assert np.all(np.bincount((found.truth[:, 0] // 2).astype(int)) % 2 == 0)
    y[:150] = np.nan
    assert len(HeldOut.of(X, y, y, np.ones(200)).weights) == 50
    assert HeldOut.of(X, np.full((200, 1), np.nan), y, np.ones(200)) is None


@pytest.mark.parametrize(
    "model",
    [
        KernelForestRegressor(10, random_state=0),
        KernelForestClassifier(10, random_state=0),
        KernelTreeRegressor(random_state=0),
        KernelTreeClassifier(bandwidth=0, refine=False, trend=None, random_state=0),
        KernelExtraTreesRegressor(10, random_state=0),
        KernelBoostingRegressor(quality="fast", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_arrays_that_change_after_the_fit(model):
    """Held-out rows are predicted when they are first needed; what the user does with the arrays until then is his."""
    X, y = noisy_rows(150, 12)
    if hasattr(model, "predict_set"):
        y = np.column_stack([y > 0, y <= 0]).astype(float)
    weights, errors = np.ones(150), np.full(X.shape, 0.1)
    expected = clone(model).fit(X, y, weights, measurement_error=errors).calibration_.scores
    given = X.copy(), y.copy(), weights.copy(), errors.copy()
    model.fit(*given[:3], measurement_error=given[3])
    for array in given:
        array[:] = 7.0
    np.testing.assert_array_equal(model.calibration_.scores, expected)


@pytest.mark.parametrize("model", [KernelForestRegressor(10, random_state=0), KernelTreeRegressor(random_state=0)])
def test_rows_of_large_tables_are_predicted_in_the_fit(model, monkeypatch):
    X, y = noisy_rows(150, 13)
    assert callable(vars(model.fit(X, y))["_held_out_"])
    later = model.calibration_.scores
    monkeypatch.setattr(held_out, "FEW_CELLS", 0)
    monkeypatch.setattr("softwood.uncertainty.methods.FEW_CELLS", 0)
    assert isinstance(vars(model.fit(X, y))["_held_out_"], HeldOut)
    np.testing.assert_array_equal(model.calibration_.scores, later)
