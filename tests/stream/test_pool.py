"""Pools that tune on the stream: who learns, who predicts, and the same in parts, copies and errors."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import cross_val_score

from softwood.stream import SEA, HoeffdingTreeClassifier, HoeffdingTreeRegressor, ModelPool, SoftHoeffdingTreeClassifier
from tests.stream.test_model import assert_same_state, problem, state


def make_pool(n=4, **options):
    models = [HoeffdingTreeClassifier(grace_period=30 * (k + 1), tau=0.5, max_depth=k) for k in range(n)]
    return ModelPool(models, **{"period": 25, "window": 200, **options})


def real_pool(**options):
    models = [
        HoeffdingTreeRegressor(grace_period=g, leaf_prediction=how) for g in (50, 200) for how in ("mean", "model")
    ]
    return ModelPool(models, **{"period": 25, **options})


def pool_state(pool):
    found = {name: getattr(pool, name).copy() for name in ("losses_", "n_trained_", "_learners")}
    found |= {"draws": pool._state.get_state()[1].copy(), "n": pool._n_in_period}
    for k, model in enumerate(pool.models_):
        if hasattr(model, "growth_"):
            found |= {f"{k} {name}": value for name, value in state(model).items() if name != "columns_"}
    return found


@pytest.fixture(scope="module")
def sea():
    return SEA(seed=0).take(2000)


# ------------------------------------------------------------------ who learns, and who predicts


@pytest.mark.parametrize(("n", "share", "expected"), [(8, 0.5, 4), (10, 0.2, 2), (5, 1.0, 5), (2, 0.5, 2), (1, 0.5, 1)])
def test_a_half_of_the_pool_learns(sea, n, share, expected):
    X, y = sea
    pool = make_pool(n, train_share=share)
    for begin in range(0, 1000, 25):
        before = pool.n_trained_.copy() if hasattr(pool, "n_trained_") else np.zeros(n)
        losses = pool.losses_.copy() if begin else np.full(n, np.inf)
        pool.partial_fit(X[begin : begin + 25], y[begin : begin + 25], classes=[0, 1])
        trained = np.flatnonzero(pool.n_trained_ - before == 25)
        assert len(trained) == expected
        assert pool.n_trained_.sum() - before.sum() == 25 * expected
        best_half = np.argsort(losses, kind="stable")[: (expected + 1) // 2]
        assert set(best_half) <= set(trained)
    n_turns = -(-n // max(1, expected // 2))
    assert n_turns <= 20
    assert (pool.n_trained_ > 0).all()
    assert [model.n_samples_seen_ for model in pool.models_] == pool.n_trained_.tolist()


def test_all_models_get_a_turn_soon(sea):
    X, y = sea
    pool = make_pool(12)
    pool.partial_fit(X[:25], y[:25], classes=[0, 1])
    assert (pool.n_trained_ > 0).sum() == 6
    assert np.isinf(pool.losses_).sum() == 6
    pool.partial_fit(X[25:75], y[25:75])
    assert (pool.n_trained_ > 0).all()
    assert np.isfinite(pool.losses_).all()


@pytest.mark.parametrize("make", [make_pool, real_pool])
def test_the_best_model_of_the_last_decision_predicts(make, sea):
    X, y = sea
    pool, classes = make(), {"classes": [0, 1]} if make is make_pool else {}
    pool.partial_fit(X[:25], y[:25], **classes)
    for begin in range(25, 1000, 25):
        best = pool.models_[int(np.argmin(pool.losses_))]
        assert pool.best_model_ is best
        copy = pickle.loads(pickle.dumps(best))
        rows = slice(begin, begin + 25)
        np.testing.assert_array_equal(pool.test_then_train(X[rows], y[rows]), copy.test_then_train(X[rows], y[rows]))
    assert pool.predict(X).tolist() == pool.best_model_.predict(X).tolist()
    # in the middle of a period too, predictions are those that learning would have found
    pool.partial_fit(X[:10], y[:10])
    predict = pool.predict_proba if make is make_pool else pool.predict
    before = predict(X[10:11])
    np.testing.assert_array_equal(before, pool.test_then_train(X[10:11], y[10:11]))


def test_losses_are_those_of_predictions_before_learning(sea):
    X, y = sea
    pool = ModelPool([HoeffdingTreeClassifier()], window=100.0)
    probabilities = pool.test_then_train(X, y, classes=[0, 1])
    expected = 0.0
    for i, loss in enumerate(-np.log(np.maximum(probabilities[np.arange(len(y)), y], 1e-15))):
        part = max(1 / 100, 1 / (i + 1))
        expected = (1 - part) * expected + part * loss
    assert pool.losses_[0] == pytest.approx(expected, rel=1e-6)
    reals = ModelPool([HoeffdingTreeRegressor()], window=1e9)
    found = reals.test_then_train(X, y)
    assert reals.losses_[0] == pytest.approx(np.mean((found - y) ** 2))


def test_a_pool_beats_its_worst_model():
    X, y = SEA(seed=1, noise=0.1).take(6000)
    models = [
        HoeffdingTreeClassifier(grace_period=g, leaf_prediction=how) for g in (100, 6000) for how in ("mc", "nba")
    ]

    def accuracy(model):
        return np.mean(model.test_then_train(X, y, classes=[0, 1]).argmax(axis=1)[1000:] == y[1000:])

    single = [accuracy(clone(model)) for model in models]
    found = accuracy(ModelPool(models))
    assert found >= min(single)
    assert found > np.mean(single) - 0.01


# ------------------------------------------------------------------ parts and copies


@settings(max_examples=10)
@given(cuts=st.lists(st.integers(1, 299), max_size=5, unique=True).map(sorted))
@pytest.mark.parametrize("make", [make_pool, real_pool])
def test_any_partition_gives_the_same_pool(make, cuts):
    X, y = SEA(seed=0).take(300)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], 300)
    classes = {"classes": [0, 1]} if make is make_pool else {}
    whole, parts = make(), make()
    expected = whole.test_then_train(X, y, sample_weight=weights, **classes)
    found = [
        parts.test_then_train(X[a:b], y[a:b], sample_weight=weights[a:b], **classes)
        for a, b in zip([0, *cuts], [*cuts, 300], strict=True)
    ]
    np.testing.assert_array_equal(np.concatenate(found), expected)
    assert_same_state(pool_state(whole), pool_state(parts))


def test_fit_starts_over(sea):
    X, y = sea
    pool = make_pool().fit(X, y)
    once = pool_state(pool)
    assert_same_state(once, pool_state(make_pool().partial_fit(X, y, classes=[0, 1])))
    pool.partial_fit(X, y)
    assert_same_state(once, pool_state(pool.fit(X, y)))
    other = pool_state(make_pool(random_state=1).fit(X, y))
    assert not np.array_equal(once["n_trained_"], other["n_trained_"])
    drawn = make_pool(random_state=np.random.RandomState(0)).fit(X, y)
    assert drawn.score(X, y) > 0.8
    make_pool(random_state=None).fit(X, y)


def test_rows_without_weight_do_not_count(sea):
    X, y = sea
    weights = np.ones(len(y))
    weights[:60] = weights[500:700] = 0.0
    pool = make_pool().partial_fit(X, y, classes=[0, 1], sample_weight=weights)
    assert [model.n_samples_seen_ for model in pool.models_] == pool.n_trained_.tolist()
    assert np.isfinite(pool.losses_).all()


def test_copies_go_on_bit_for_bit(sea):
    X, y = sea
    pool = make_pool().partial_fit(X[:333], y[:333], classes=[0, 1])
    again = pickle.loads(pickle.dumps(pool))
    np.testing.assert_array_equal(pool.test_then_train(X[333:], y[333:]), again.test_then_train(X[333:], y[333:]))
    assert_same_state(pool_state(pool), pool_state(again))
    fresh = clone(pool)
    assert not hasattr(fresh, "models_")
    assert [m.get_params() for m in fresh.models] == [m.get_params() for m in pool.models]
    assert all(one is not other for one, other in zip(fresh.models, pool.models, strict=True))
    assert not any(hasattr(model, "growth_") for model in pool.models)
    assert fresh.set_params(period=7).period == 7
    assert pool.get_params(deep=False).keys() == {"models", "train_share", "window", "period", "random_state"}


def test_grids():
    model = SoftHoeffdingTreeClassifier(random_state=3)
    grid = {"alpha": [0.1, 0.3], "max_depth": [3, 5, 7]}
    whole = ModelPool.from_grid(model, grid, period=7)
    settings = [(m.alpha, m.max_depth, m.random_state) for m in whole.models]
    assert len(set(settings)) == 6
    assert {s[2] for s in settings} == {3}
    assert whole.period == 7
    drawn = ModelPool.from_grid(model, grid, n_models=4, random_state=1)
    chosen = [(m.alpha, m.max_depth, m.random_state) for m in drawn.models]
    assert len(set(chosen)) == 4
    assert set(chosen) < set(settings)
    assert drawn.random_state == 1
    assert len(ModelPool.from_grid(model, [{"alpha": [0.1]}, {"gamma": [0.5, 2.0]}], n_models=10).models) == 3


def test_as_a_scikit_learn_estimator(sea):
    X, y = sea
    assert is_classifier(make_pool())
    assert is_regressor(real_pool())
    assert not hasattr(real_pool(), "predict_proba")
    assert cross_val_score(make_pool(), X, np.array(["no", "yes"])[y], cv=3).min() > 0.7
    pool = make_pool().fit(X, y)
    assert pool.classes_.tolist() == [0, 1]
    assert pool.n_features_in_ == 3
    assert pool.nbytes_ == sum(model.nbytes_ for model in pool.models_)
    X, y = problem(HoeffdingTreeRegressor, n=2000)
    assert real_pool().fit(X, y).score(X, y) > 0.7


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_with_new_categories(frame):
    rng = np.random.default_rng(0)
    town = rng.choice(["Oslo", "Rome"], 400)
    town[200:] = rng.choice(["Bern", "Rome"], 200)
    table = frame({"town": town, "size": rng.normal(size=400)})
    y = np.where(town == "Rome", "up", "down")
    pool = make_pool().partial_fit(table[:200], y[:200], classes=["up", "down"])
    pool.partial_fit(table[200:], y[200:])
    assert pool.feature_names_in_.tolist() == ["town", "size"]
    assert pool.score(table, y) > 0.8


# ------------------------------------------------------------------ errors


def test_nothing_learned(sea):
    pool = make_pool()
    for call in (pool.predict, pool.predict_proba):
        with pytest.raises(NotFittedError):
            call(sea[0])
    for name in ("best_model_", "classes_", "n_features_in_", "nbytes_", "feature_names_in_"):
        assert not hasattr(pool, name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("models", v) for v in ([], None, 3, "x", [HoeffdingTreeClassifier], [SGDClassifier()])],
        ("models", [HoeffdingTreeClassifier(), HoeffdingTreeRegressor()]),
        *[("train_share", v) for v in (0.0, 1.5, None, "x")],
        *[("window", v) for v in (0.5, None, np.inf)],
        *[("period", v) for v in (0, 1.5, None, True)],
    ],
)
def test_wrong_values_are_reported_by_name(sea, name, value):
    X, y = sea
    for call, classes in (("fit", {}), ("partial_fit", {"classes": [0, 1]}), ("test_then_train", {"classes": [0, 1]})):
        pool = make_pool().set_params(**{name: value})
        before = dict(vars(pool))
        with pytest.raises(ValueError, match=f"'{name}' parameter of ModelPool must be .* Got .* instead"):
            getattr(pool, call)(X, y, **classes)
        assert vars(pool) == before


def test_wrong_models_are_reported_at_once(sea):
    X, y = sea
    models = [HoeffdingTreeClassifier() for _ in range(6)] + [HoeffdingTreeClassifier(tau=-1.0)]
    with pytest.raises(ValueError, match="'tau' parameter of HoeffdingTreeClassifier"):
        ModelPool(models).fit(X[:1], y[:1])
    models[-1] = HoeffdingTreeClassifier(class_weight="heavy")
    with pytest.raises(ValueError, match="'class_weight' parameter of HoeffdingTreeClassifier"):
        ModelPool(models).fit(X[:1], y[:1])


def test_errors_change_nothing(sea):
    X, y = sea
    with pytest.raises(ValueError, match="classes must be given in the first call"):
        make_pool().partial_fit(X, y)
    pool = make_pool().partial_fit(X[:110], y[:110], classes=[0, 1])
    before = pool_state(pool)
    infinite = X.copy()
    infinite[-1, 0] = np.inf
    unknown = y.copy()
    unknown[-1] = 7
    for wrong, message in (
        ((infinite, y), "infinity"),
        ((X, unknown), "y holds 7"),
        ((X[:, :2], y), "2 features"),
        ((X, y[:50]), "inconsistent"),
        ((X, None), "requires y"),
        ((X, y, [0, 1, 2]), "but the calls before"),
        ((X, y, None, -np.ones(len(y))), "sample_weight"),
        ((X[:0], y[:0]), "0 sample"),
    ):
        with pytest.raises(ValueError, match=message):
            pool.partial_fit(*wrong)
        assert_same_state(before, pool_state(pool))
    with pytest.raises(ValueError, match="infinity"):
        pool.fit(infinite, y)
    with pytest.raises(ValueError, match="sample_weight is zero for all rows"):
        pool.fit(X, y, sample_weight=np.zeros(len(y)))
    assert_same_state(before, pool_state(pool))
