"""Boosting beside a linear trend: when there is one, what the model predicts, and what it does not depend on."""

import pickle

import numpy as np
import pandas as pd
import pytest

import softwood
from softwood import KernelBoostingClassifier, KernelBoostingRegressor, explain
from softwood.explanations import shapley_values
from softwood.export import from_json, to_json, to_python
from softwood.kernel.choosing import boosting_settings
from softwood.kernel.choosing.boosting_settings import Setting, Trial
from tests.kernel.boosts import BOTH

both = pytest.mark.parametrize("model_class", BOTH)
SMALL = {"max_iter": 6, "bandwidth": 0.3, "max_leaf_nodes": 4, "random_state": 0}


def table(model_class, n=400, seed=0, n_classes=2, missing=0.0, slope=1.0):
    """Three columns with a trend, one with a step."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 10.0, 1.0, 1.0]
    linear = 2.0 * X[:, 0] - 0.2 * X[:, 1] + X[:, 3]
    signal = slope * linear + 1.5 * (X[:, 2] > 0.3) + rng.normal(scale=0.3, size=n)
    X[rng.random(X.shape) < missing] = np.nan
    if model_class is KernelBoostingRegressor:
        return X, signal
    return X, np.digitize(signal, [0.7] if n_classes == 2 else [-1.0, 2.0])


def parts(model, X):
    """The raw scores of the stumps of the trend, and those of the trees."""
    forest = model.forest_
    n = len(forest) - model.n_trend_trees_
    return forest.base + forest.sum_of(np.arange(n, len(forest)), X), forest.sum_of(np.arange(n), X)


@both
def test_a_trend_is_kept_where_the_targets_have_one(model_class):
    X, y = table(model_class)
    X_new, y_new = table(model_class, n=2000, seed=1)
    with_trend, without = (model_class(trend=trend, random_state=0).fit(X, y) for trend in ("auto", None))
    assert with_trend.n_trend_trees_ > 0 == without.n_trend_trees_
    assert {trial["trend"] for trial in with_trend.search_} == {"linear", None}
    assert {trial["trend"] for trial in without.search_} == {None}
    assert with_trend.score(X_new, y_new) > without.score(X_new, y_new)
    X, y = table(model_class, slope=0.0)
    assert model_class(random_state=0).fit(X, y).n_trend_trees_ == 0


@both
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_prediction_is_the_sum_of_the_trend_and_the_trees(model_class, missing):
    X, y = table(model_class, missing=missing)
    model = model_class(trend="linear", **SMALL).fit(X, y)
    columns = model.forest_.feature[model.forest_.offsets[-1 - model.n_trend_trees_ : -1]]
    assert {0, 1, 3} <= set(columns.tolist())
    trend, trees = parts(model, X)
    raw = model.decision_function(X) if model_class is KernelBoostingClassifier else model.predict(X)
    np.testing.assert_allclose((trend + trees)[:, 0], raw, rtol=1e-12)
    assert np.var(trend) > 0.5 * np.var(raw)
    if not missing:  # linear within the range: the outermost rows aside
        inner = np.all(np.abs(X) < 2.0 * np.std(X, axis=0), axis=1)
        A = np.column_stack([np.ones(len(X)), X])[inner]
        np.testing.assert_allclose(A @ np.linalg.lstsq(A, trend[inner])[0], trend[inner], atol=1e-9)


@both
def test_predictions_after_each_round(model_class):
    X, y = table(model_class)
    model = model_class(trend="linear", **SMALL).fit(X, y)
    staged = list(model.staged_predict(X))
    assert len(staged) == model.n_iter_ == 6
    np.testing.assert_allclose(staged[-1], model.predict(X), rtol=1e-12)
    if model_class is KernelBoostingRegressor:
        trend, _ = parts(model, X)
        first = model.forest_.sum_of(np.arange(1), X)
        np.testing.assert_allclose(staged[0], (trend + first)[:, 0], rtol=1e-12)


@both
def test_losses_of_validation_rows_are_those_of_the_predictions(model_class):
    (X, y), (X_val, y_val) = (table(model_class, seed=seed) for seed in (0, 1))
    model = model_class(trend="linear", early_stopping=False, **SMALL).fit(X, y, X_val=X_val, y_val=y_val)
    if model_class is KernelBoostingRegressor:
        loss = [np.mean((y_val - predicted) ** 2) for predicted in model.staged_predict(X_val)]
    else:
        loss = [-np.mean(np.log(p[np.arange(len(p)), y_val])) for p in model.staged_predict_proba(X_val)]
    ratio = np.array(loss) / -model.validation_score_[1:]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-9)


@both
def test_a_training_row_starts_from_a_trend_that_has_not_seen_it(model_class):
    X, y = table(model_class, n=60)
    other = y.copy()
    other[7] = 1 - y[7] if model_class is KernelBoostingClassifier else y[7] + 1.0

    def start(y):
        with model_class(trend="linear", **SMALL)._rows(X, y, None, None, (None, None, None, None)) as rows:
            return rows.train.trend * rows.unit

    found = [start(y), start(other)]
    np.testing.assert_allclose(found[0][7], found[1][7], rtol=1e-6)
    assert np.abs(found[0] - found[1]).max() > 1e-3, "but on those of others"


@pytest.mark.parametrize("strategy", ["one_output_per_tree", "multi_output_tree"])
def test_several_classes(strategy):
    X, y = table(KernelBoostingClassifier, n_classes=3)
    model = KernelBoostingClassifier(trend="linear", multi_strategy=strategy, **SMALL).fit(X, y)
    n_columns = len(set(model.forest_.feature[model.forest_.offsets[-1 - model.n_trend_trees_ : -1]].tolist()))
    assert model.n_trend_trees_ == n_columns * (3 if strategy == "one_output_per_tree" else 1)
    trend, trees = parts(model, X)
    np.testing.assert_allclose(trend + trees, model.decision_function(X), rtol=1e-10, atol=1e-12)
    assert model.score(X, y) > 0.9


@both
def test_a_mean_of_models_has_their_trend_once(model_class):
    X, y = table(model_class)
    one, several = (
        model_class(trend="linear", quality=quality, subsample=0.9, **SMALL).fit(X, y) for quality in ("fast", "best")
    )
    for own, other in zip(parts(one, X)[:1], parts(several, X)[:1], strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-9)
    assert one.n_trend_trees_ == several.n_trend_trees_


@both
def test_weights_mean_repetition(model_class):
    X, y = table(model_class, n=120)
    weights = np.random.default_rng(2).integers(0, 4, size=120)
    model = model_class(trend="linear", **SMALL)
    weighted = model.fit(X, y, weights).forest_.predict(X)
    repeated = model.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).forest_.predict(X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-8, atol=1e-8)


@both
def test_bandwidth_0_leaves_the_trend_linear(model_class):
    X, y = table(model_class)
    model = model_class(trend="linear", **{**SMALL, "bandwidth": 0.0}).fit(X, y)
    smooth = model.forest_.width[model.forest_.width > 0]
    assert len(smooth) == model.n_trend_trees_


@both
def test_importances_and_explanations_count_the_trend(model_class):
    X, y = table(model_class)
    model = model_class(trend="linear", **SMALL).fit(X, y)
    importances = model.feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert importances[0] > importances[3] > 0
    found = shapley_values(model, X[:5])
    np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), found.prediction, rtol=1e-6)
    assert np.all(np.abs(found.values[:, 0]).mean(axis=0) > 0.2 * np.abs(found.prediction - found.base_values).mean())
    shown = explain(model, X[:1])
    assert "the linear trend" in str(shown)
    trend, _ = parts(model, X[:1])
    np.testing.assert_allclose(shown.trend, trend[0])
    assert shown.tree < len(model.forest_) - model.n_trend_trees_ == shown.n_trees


@both
def test_files_pickles_and_exports(model_class, tmp_path):
    X, y = table(model_class, missing=0.1)
    model = model_class(trend="linear", **SMALL).fit(X, y)
    softwood.save(model, tmp_path / "model.softwood")
    for copy in (softwood.load(tmp_path / "model.softwood"), pickle.loads(pickle.dumps(model))):
        assert copy.n_trend_trees_ == model.n_trend_trees_
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        np.testing.assert_array_equal(next(copy.staged_predict(X)), next(model.staged_predict(X)))
    expected = model.predict_proba(X) if model_class is KernelBoostingClassifier else model.predict(X)[:, None]
    np.testing.assert_allclose(from_json(to_json(model)).predict(X), expected, rtol=1e-12)
    scope = {}
    exec(to_python(model), scope)
    found = [scope["predict"](row) for row in X[:4]]
    np.testing.assert_allclose(np.reshape(found, (4, -1)), expected[:4], rtol=1e-9)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (KernelBoostingRegressor(monotonic_cst=[1, 0, 0, 0]), "monotonic_cst"),
        (KernelBoostingRegressor(measurement_error={0: 0.1}), "measurement_error"),
        (KernelBoostingRegressor(prediction_kernel="gaussian"), "prediction_kernel"),
        (KernelBoostingRegressor(prediction_bandwidth=0.5), "prediction_bandwidth"),
        (KernelBoostingRegressor(loss="absolute_error"), "loss='absolute_error'"),
        (KernelBoostingRegressor(growth="level"), "growth='level'"),
    ],
)
def test_what_no_trend_goes_with(model, why):
    X, y = table(KernelBoostingRegressor, n=150)
    with pytest.raises(ValueError, match=f"'trend' parameter .* 'auto' or None with {why}"):
        model.set_params(trend="linear").fit(X, y)
    model.set_params(trend="auto", random_state=0, max_leaf_nodes=4).fit(X, y)
    assert model.n_trend_trees_ == 0


@both
def test_measurement_errors_of_columns_with_a_trend(model_class):
    X, y = table(model_class, n=150)
    with pytest.raises(ValueError, match="'auto' or None with measurement errors"):
        model_class(trend="linear", **SMALL).fit(X, y, measurement_error={2: np.full(150, 0.1)})
    assert model_class(random_state=0).fit(X, y, measurement_error={2: np.full(150, 0.1)}).n_trend_trees_ == 0
    model = model_class(trend="linear", **SMALL).fit(X, y)
    with pytest.raises(ValueError, match="linear trend; fit with trend=None"):
        model.predict(X, measurement_error={0: 0.5})
    assert model.predict(X, measurement_error={0: 0.0}).shape == (150,)


@both
def test_no_column_explains_anything(model_class):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = rng.normal(size=100) if model_class is KernelBoostingRegressor else rng.integers(0, 2, size=100)
    words = pd.DataFrame({"word": np.array(["a", "b"])[rng.integers(0, 2, size=100)]})
    for table in (X, words):
        assert model_class(trend="linear", **SMALL).fit(table, y).n_trend_trees_ <= 2


def test_a_trend_has_to_be_worth_it():
    """A trial with a trend is the best one only if its loss is clearly smaller."""
    search = object.__new__(boosting_settings.Search)
    settings = [Setting(0.4, 16, 10.0, 4, "sets", 0, has_trend) for has_trend in (False, True)]
    for start, without, beside, is_kept in (
        (1.0, 0.5, 0.489, True), (1.0, 0.5, 0.491, False), (2.0, 0.02, 0.0195, True), (2.0, 0.02, 0.0197, False),
        (1.0, 0.95, 0.948, True), (1.0, 0.95, 0.9495, False), (1.0, 0.5, np.inf, False),
    ):  # fmt: skip
        losses = [np.array([start, without]), np.array([start / 2, beside])]
        search.trials = [Trial("bandwidth", setting, 0.4, own) for setting, own in zip(settings, losses, strict=True)]
        assert search.best.setting.has_trend == is_kept
