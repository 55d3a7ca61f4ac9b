"""The boosting estimators: contract, losses, early stopping, constraints, draws, kernels, and what goes wrong."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from softwood import KernelBoostingClassifier, KernelBoostingRegressor
from softwood.density import boosting_base

LOSSES = [
    {"loss": "squared_error"},
    {"loss": "absolute_error"},
    {"loss": "quantile", "quantile": 0.8},
    {"loss": "poisson"},
]


def data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.exp(0.5 * X[:, 0] + 0.3 * X[:, 1] * X[:, 2]) + 0.1 * rng.random(n)


@parametrize_with_checks([KernelBoostingClassifier(max_iter=5), KernelBoostingRegressor(max_iter=20)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss["loss"])
def test_bandwidth_zero_is_histogram_boosting(loss):
    """Equal within a small part of the spread: with few distinct gradients many splits tie."""
    X, y = data(600)
    settings = {"max_iter": 30, "early_stopping": False, **loss}
    ours = KernelBoostingRegressor(bandwidth=0, **settings).fit(X, y).predict(X)
    peer = HistGradientBoostingRegressor(**settings).fit(X, y).predict(X)
    assert np.sqrt(np.mean((ours - peer) ** 2)) < (0.2 if loss["loss"] == "quantile" else 0.1) * y.std()


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_bandwidth_zero_is_histogram_boosting_of_classes(load):
    X, y = load(return_X_y=True)
    settings = {"max_iter": 20, "early_stopping": False}
    ours = KernelBoostingClassifier(bandwidth=0, **settings).fit(X, y).predict_proba(X)
    peer = HistGradientBoostingClassifier(**settings).fit(X, y).predict_proba(X)
    assert np.abs(ours - peer).mean() < 0.02


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss["loss"])
@pytest.mark.parametrize("bandwidth", [0.0, 0.3])
def test_constraints_hold(loss, bandwidth):
    X, y = data()
    model = KernelBoostingRegressor(bandwidth=bandwidth, monotonic_cst=[-1, 0, 0, 1], max_iter=20, **loss).fit(X, y)
    for column, direction in ((0, -1), (3, 1)):
        rows = np.repeat(X[:20], 40, axis=0)
        rows[:, column] = np.tile(np.linspace(-3, 3, 40), 20)
        steps = np.diff(model.predict(rows).reshape(20, 40), axis=1)
        assert np.all(direction * steps >= -1e-9)


def test_early_stopping_keeps_the_best_round_and_does_not_learn_from_what_it_watches():
    X, y = data(400)
    model = KernelBoostingRegressor(
        bandwidth=0.1, early_stopping=True, learning_rate=0.5, max_iter=100, n_iter_no_change=5, random_state=0
    ).fit(X, y + np.random.default_rng(0).normal(size=400))
    assert model.n_iter_ == max(1, int(np.argmax(model.validation_score_)))
    assert len(model.validation_score_) < 101
    assert len(model.forest_) == model.n_iter_


def test_staged_predictions_end_with_the_prediction():
    X, y = load_iris(return_X_y=True)
    model = KernelBoostingClassifier(bandwidth=0.2, max_iter=6).fit(X, y)
    staged = list(model.staged_predict_proba(X))
    assert len(staged) == model.n_iter_ == 6
    np.testing.assert_allclose(staged[-1], model.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    assert model.decision_function(X).shape == (150, 3)


@pytest.mark.parametrize("bandwidth", [0.0, 0.3])
def test_same_seed_same_model_for_any_number_of_threads(bandwidth, monkeypatch):
    from softwood.loops import boost as loop

    assert loop.WORTH_THREADS < 6000 * 8  # the root is searched in threads
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 8))
    y = X[:, 0] * X[:, 1] + rng.normal(size=6000)
    draws = {"subsample": 0.7, "max_features": 0.6, "random_state": 3, "max_iter": 4, "bandwidth": bandwidth}
    one, two = (KernelBoostingRegressor(n_jobs=jobs, **draws).fit(X, y) for jobs in (1, 2))
    np.testing.assert_array_equal(one.forest_.threshold, two.forest_.threshold)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    other = KernelBoostingRegressor(**{**draws, "random_state": 4}).fit(X, y)
    assert not np.array_equal(one.predict(X), other.predict(X))


def test_missing_values_that_tell_something_are_learned():
    X, y = data()
    X[y > np.median(y), 3] = np.nan
    model = KernelBoostingClassifier(bandwidth=0, max_iter=10).fit(X, y > np.median(y))
    assert model.score(X, y > np.median(y)) > 0.99


def test_frames_with_categories_and_fuzzy_labels():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=200), "kind": rng.choice(["a", "b", None], size=200)})
    y = frame["kind"].eq("a") & (frame["size"] > 0)
    model = KernelBoostingClassifier(bandwidth=0.1, max_iter=10, monotonic_cst={"size": 1}).fit(frame, y)
    assert model.score(frame, y) > 0.9
    shares = np.column_stack([1 - 0.9 * y, 0.9 * y])
    fuzzy = KernelBoostingClassifier(bandwidth=0.1, max_iter=10).fit(frame, shares)
    assert fuzzy.predict_proba(frame)[:, 1].max() < 0.95
    with pytest.raises(ValueError, match=r"'monotonic_cst'.*'kind'"):
        clone(model).set_params(monotonic_cst={"kind": 1}).fit(frame, y)


def test_kernels_of_reading_and_a_bandwidth_that_shrinks():
    X, y = load_diabetes(return_X_y=True)
    crisp = KernelBoostingRegressor(bandwidth=0.3, prediction_kernel=None, max_iter=5).fit(X, y)
    assert crisp.forest_.is_crisp
    shrinking = KernelBoostingRegressor(bandwidth=0.3, bandwidth_decay=0.5, max_iter=3).fit(X, y)
    trees = list(shrinking.forest_)
    widest = [np.max(tree.width) for tree in trees]
    assert widest[0] > widest[1] > widest[2] > 0
    smooth = KernelBoostingRegressor(bandwidth=0.3, prediction_kernel="gaussian", max_iter=5).fit(X, y)
    assert not np.array_equal(smooth.predict(X), crisp.predict(X))


def test_automatic_bandwidth_takes_the_smallest_loss(capsys):
    X, y = data(200)
    model = KernelBoostingRegressor(verbose=1, max_iter=10, random_state=0).fit(X, y)
    lines = [line for line in capsys.readouterr().out.splitlines() if "held-out loss" in line and " sd:" in line]
    losses = {float(line.split()[2]): float(line.split()[-1]) for line in lines}
    assert set(losses) == set(boosting_base.AUTO_GRID)
    assert losses[model.bandwidth_] == min(losses.values())


def test_an_interrupt_leaves_the_rounds_so_far(monkeypatch):
    X, y = data(100)

    def stop(self):
        def tell(result):
            if result.n_rounds == 3:
                raise KeyboardInterrupt

        return tell

    monkeypatch.setattr(boosting_base.KernelBoosting, "_progress", stop)
    model = KernelBoostingRegressor(bandwidth=0.1, max_iter=10)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.n_iter_ == 3
    assert np.all(np.isfinite(model.predict(X)))


def test_slopes_importances_and_pickles():
    X, y = data(150)
    model = KernelBoostingRegressor(bandwidth=0.4, max_iter=5).fit(X, y)
    step = 1e-6
    moved = X[:20] + step * np.eye(4)[0]
    slopes = (model.predict(moved) - model.predict(X[:20])) / step
    close = np.isclose(model.input_gradient(X[:20])[:, 0, 0], slopes, rtol=1e-3, atol=1e-3)
    assert close.mean() > 0.9  # but for points at an edge of a kernel
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"learning_rate": 0.0}, "learning_rate"), ({"max_iter": 0}, "max_iter"), ({"subsample": 1.5}, "subsample"),
        ({"l2_regularization": -1.0}, "l2_regularization"), ({"bandwidth_decay": 0.0}, "bandwidth_decay"),
        ({"loss": "gini"}, "loss"), ({"loss": "quantile"}, "quantile"), ({"quantile": 0.5}, "quantile"),
        ({"early_stopping": "yes"}, "early_stopping"), ({"monotonic_cst": [1]}, "monotonic_cst"),
        ({"monotonic_cst": [2, 0, 0, 0]}, "monotonic_cst"), ({"bandwidth": "cv"}, "bandwidth"),
        ({"validation_fraction": 0.0}, "validation_fraction"), ({"n_iter_no_change": 0}, "n_iter_no_change"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_named(parameters, name):
    X, y = data(40)
    with pytest.raises(ValueError, match=f"'{name}'"):
        KernelBoostingRegressor(**parameters).fit(X, y)


def test_targets_that_do_not_go():
    X, y = data(40)
    with pytest.raises(ValueError, match="one class"):
        KernelBoostingClassifier().fit(X, np.zeros(40, dtype=int))
    with pytest.raises(ValueError, match=r"[Pp]oisson"):
        KernelBoostingRegressor(loss="poisson").fit(X, y - 10)
    with pytest.raises(ValueError, match="one column"):
        KernelBoostingRegressor().fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="'monotonic_cst'"):
        KernelBoostingClassifier(monotonic_cst=[1, 0, 0, 0]).fit(X, np.arange(40) % 3)
