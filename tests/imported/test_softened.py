import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from softwood import SoftTree, explain, load, save, soften
from softwood.export import FittedModel, from_json, to_json
from tests.imported.data import labels, table

QUIET = {"verbose": -1, "n_jobs": 1}
CLASSIFIERS = [
    DecisionTreeClassifier(random_state=0),
    RandomForestClassifier(10, random_state=0),
    GradientBoostingClassifier(n_estimators=10, random_state=0),
    HistGradientBoostingClassifier(max_iter=10),
    lightgbm.LGBMClassifier(n_estimators=10, **QUIET),
]
REGRESSORS = [
    DecisionTreeRegressor(random_state=0),
    ExtraTreesRegressor(10, random_state=0),
    HistGradientBoostingRegressor(max_iter=10, loss="poisson"),
    lightgbm.LGBMRegressor(n_estimators=10, objective="tweedie", **QUIET),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_without_kernels_classifiers_stay_as_they_are(model, n_classes):
    X, z = table()
    model = clone(model).fit(X, labels(z, n_classes))
    soft = soften(model, X, bandwidth=0)
    np.testing.assert_allclose(soft.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(soft.predict(X), model.predict(X))


def test_scores_of_the_exponential_loss_are_halves_of_log_odds():
    X, z = table()
    model = GradientBoostingClassifier(loss="exponential", n_estimators=10).fit(X, z > 0)
    soft = soften(model, X, bandwidth=0.0)
    np.testing.assert_allclose(soft.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", [*CLASSIFIERS, xgboost.XGBClassifier(n_estimators=10, n_jobs=1)], ids=repr)
def test_explanations_are_those_of_the_class_that_they_name(model, n_classes):
    X, _ = table()
    names = np.array(["ant", "bee", "cow"])
    y = np.digitize(X[:, 0], np.quantile(X[:, 0], np.arange(1, n_classes) / n_classes))
    soft = soften(clone(model).fit(X, y), X, bandwidth=0.1)
    soft.set_params(classes=names[:n_classes]).fit(X)
    rows = np.median(X, axis=0) + np.array([[-2.0], [2.0]]) * np.eye(X.shape[1])[0]
    change = np.diff(soft.predict_proba(rows), axis=0)[0]
    for k in (0, n_classes - 1):
        assert abs(change[k]) > 0.2
        low, high = (explain(soft, row, output=k) for row in rows)
        assert np.sign(high.contributions[0] - low.contributions[0]) == np.sign(change[k])
        what = "raw score" if soft.link != "identity" else "probability"
        assert f"to the {what} of {names[k]}" in str(low)
    for row in rows:
        assert str(explain(soft, row)).startswith(f"SoftenedClassifier predicts {soft.predict(row[None])[0]} with")


@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
def test_without_kernels_regressors_stay_as_they_are(model):
    X, z = table()
    model = clone(model).fit(X, np.abs(z))
    np.testing.assert_allclose(soften(model, X, bandwidth=0).predict(X), model.predict(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("objective", ["binary:logistic", "multi:softprob", "count:poisson", "reg:squarederror"])
def test_models_of_xgboost(objective):
    X, z = table()
    kind = xgboost.XGBRegressor if objective.startswith(("reg", "count")) else xgboost.XGBClassifier
    y = np.abs(z) if kind is xgboost.XGBRegressor else np.digitize(z, [0.0] if "binary" in objective else [-0.5, 0.5])
    model = kind(objective=objective, n_estimators=10, max_depth=3).fit(X, y)
    soft = soften(model, X, bandwidth=0)
    answer = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    np.testing.assert_allclose(getattr(soft, answer)(X), getattr(model, answer)(X), rtol=1e-5, atol=1e-6)


def smooth(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=n)


@pytest.mark.parametrize(
    ("model", "most"),
    [(DecisionTreeRegressor(min_samples_leaf=5), 0.8), (ExtraTreesRegressor(20, min_samples_leaf=5), 1.0)],
)
def test_the_bandwidth_is_chosen_on_held_out_rows_and_helps(model, most):
    model = clone(model).set_params(random_state=0).fit(*smooth(400, 0))
    soft = soften(model, *smooth(400, 1))
    X, y = smooth(2000, 2)
    assert soft.bandwidth_ > 0
    losses = {trial["bandwidth"]: trial["validation_loss"] for trial in soft.history_}
    assert losses[soft.bandwidth_] == min(losses.values())
    assert np.mean((soft.predict(X) - y) ** 2) < most * np.mean((model.predict(X) - y) ** 2)
    assert np.abs(soft.input_gradient(X)).max() > 0


def test_labels_with_kernels_keep_their_probabilities():
    X, z = table(800)
    model = RandomForestClassifier(10, random_state=0).fit(X[:300], labels(z[:300]))
    soft = soften(model, X[300:], labels(z[300:]))
    probabilities = soft.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert set(soft.predict(X)) <= {"ant", "bee", "cow"}


def test_bandwidths_of_columns():
    frame = pd.DataFrame(smooth(200, 0)[0], columns=["a", "b", "c"])
    model = DecisionTreeRegressor(max_depth=4).fit(frame, smooth(200, 0)[1])
    soft = soften(model, frame, bandwidth={"a": 0.5})
    np.testing.assert_allclose(soft.bandwidths_, [0.5 * frame["a"].std(ddof=0), 0, 0])
    np.testing.assert_array_equal(soft.feature_names_in_, ["a", "b", "c"])
    assert soften(model, frame, bandwidth=[0.1, 0.2, 0.3]).tree_.width.max() > 0


def test_exports_take_softened_models():
    X, z = table()
    for model, y in ((GradientBoostingClassifier(n_estimators=5), z > 0), (DecisionTreeRegressor(max_depth=4), z)):
        soft = soften(model.fit(X, y), X, bandwidth=0.1)
        expected = soft.predict_proba(X) if hasattr(soft, "predict_proba") else soft.predict(X)[:, None]
        np.testing.assert_allclose(FittedModel.of(soft).predict(X), expected, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(from_json(to_json(soft)).predict(X), FittedModel.of(soft).predict(X))


def test_weights_count_as_repeated_rows():
    X, y = smooth(300, 1)
    model = DecisionTreeRegressor(min_samples_leaf=5).fit(*smooth(400, 0))
    twice = soften(model, np.repeat(X, 2, axis=0), np.repeat(y, 2))
    weighted = soften(model, X, y, sample_weight=np.full(300, 2.0))
    np.testing.assert_allclose(weighted.bandwidths_, twice.bandwidths_, rtol=1e-12)


def test_a_bare_tree_has_targets():
    model = DecisionTreeRegressor(max_depth=3).fit(*smooth(100, 0))
    X = smooth(100, 1)[0]
    np.testing.assert_array_equal(soften(SoftTree.from_sklearn(model), X, bandwidth=0).predict(X), model.predict(X))


def test_a_clone_can_be_fitted_again():
    model = DecisionTreeRegressor(max_depth=3).fit(*smooth(100, 0))
    soft = soften(model, *smooth(100, 1))
    again = clone(soft).fit(*smooth(100, 1))
    np.testing.assert_array_equal(again.bandwidths_, soft.bandwidths_)


def test_files_hold_softened_models(tmp_path):
    X, z = table()
    for model, y in ((GradientBoostingClassifier(n_estimators=5), labels(z)), (DecisionTreeRegressor(max_depth=4), z)):
        soft = soften(model.fit(X, y), X, y)
        save(soft, tmp_path / "model.softwood")
        again = load(tmp_path / "model.softwood")
        np.testing.assert_array_equal(again.predict(X), soft.predict(X))
        np.testing.assert_array_equal(again.fit(X, y).bandwidths_, soft.bandwidths_)


def test_what_is_wrong_is_named():
    X, y = smooth(100, 0)
    tree = DecisionTreeRegressor(max_depth=3).fit(X, y)
    by_class = DecisionTreeClassifier(max_depth=3).fit(X, y > 0)
    with pytest.raises(ValueError, match="requires y"):
        soften(tree, X)
    with pytest.raises(ValueError, match="'bandwidth' parameter of SoftenedRegressor"):
        soften(tree, X, y, bandwidth="cv")
    with pytest.raises(ValueError, match="'bandwidth' parameter of SoftenedRegressor"):
        soften(tree, X, y, bandwidth=-1)
    with pytest.raises(ValueError, match="X has 2 columns, but the trees were grown from 3"):
        soften(tree, X[:, :2], y)
    with pytest.raises(ValueError, match="y has the class 'new'"):
        soften(by_class, X, np.array(["new"] * 100))
    with pytest.raises(ValueError, match="y must have 1 columns"):
        soften(tree, X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="sample_weight is zero"):
        soften(tree, X, y, sample_weight=np.zeros(100))
    with pytest.raises(ValueError, match="raw scores of the objective 'cross_entropy'"):
        soften(lightgbm.LGBMRegressor(objective="cross_entropy", **QUIET).fit(X, y > 0), X, y > 0)
    with pytest.raises(TypeError, match="soften takes"):
        soften(LinearRegression().fit(X, y), X, y)
