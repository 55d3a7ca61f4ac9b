import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier

from softwood import SoftForest, SoftTree
from tests.imported.data import labels, table, trying_rows


def probabilities(model, X):
    return model.predict_proba(X)


def scores(model, X):
    found = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    return found.reshape(len(X), -1)


def log_scores(model, X):
    return np.log(model.predict(X)).reshape(-1, 1)


MODELS = {
    "tree": (DecisionTreeClassifier(random_state=0), probabilities),
    "tree, targets": (DecisionTreeRegressor(random_state=0, max_depth=6), scores),
    "tree, balanced": (
        DecisionTreeClassifier(class_weight="balanced", criterion="entropy", max_depth=5),
        probabilities,
    ),
    "tree, monotonic": (DecisionTreeRegressor(monotonic_cst=[1, 0, 0, -1], max_depth=5), scores),
    "extra tree": (ExtraTreeClassifier(random_state=0), probabilities),
    "forest": (RandomForestClassifier(20, random_state=0), probabilities),
    "forest, targets": (RandomForestRegressor(20, random_state=0), scores),
    "extra trees": (ExtraTreesClassifier(20, random_state=0), probabilities),
    "extra trees, targets": (ExtraTreesRegressor(20, random_state=0), scores),
    "boosting": (GradientBoostingClassifier(n_estimators=10, random_state=0), scores),
    "boosting, from zero": (GradientBoostingClassifier(n_estimators=10, init="zero", random_state=0), scores),
    "boosting, targets": (GradientBoostingRegressor(n_estimators=20, loss="huber", random_state=0), scores),
    "histogram boosting": (HistGradientBoostingClassifier(max_iter=10), scores),
    "histogram boosting, targets": (HistGradientBoostingRegressor(max_iter=20), scores),
    "histogram boosting, counts": (HistGradientBoostingRegressor(max_iter=20, loss="poisson"), log_scores),
}
TAKE_MISSING = [name for name in MODELS if not name.startswith(("boosting", "tree, monotonic"))]


def fitted(name, missing, n_classes=3):
    model, answer = MODELS[name]
    X, z = table(missing=missing)
    y = labels(z, n_classes) if hasattr(model, "predict_proba") else np.abs(z) if answer is log_scores else z
    return model.fit(X, y), answer


def imported(model):
    return (SoftTree if hasattr(model, "tree_") else SoftForest).from_sklearn(model)


@pytest.mark.parametrize("name", MODELS)
def test_same_predictions_also_next_to_thresholds(name):
    model, answer = fitted(name, 0.0)
    trees = imported(model)
    X = trying_rows(trees)
    np.testing.assert_allclose(trees.predict(X), answer(model, X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", TAKE_MISSING)
def test_same_predictions_with_missing_values(name):
    model, answer = fitted(name, 0.2)
    trees = imported(model)
    X = trying_rows(trees, missing=0.2)
    np.testing.assert_allclose(trees.predict(X), answer(model, X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["boosting", "histogram boosting"])
def test_two_classes_have_one_score(name):
    model, answer = fitted(name, 0.0, n_classes=2)
    trees = imported(model)
    X = trying_rows(trees)
    assert trees.n_outputs == 1
    np.testing.assert_allclose(trees.predict(X), answer(model, X), rtol=1e-12, atol=1e-12)


def test_several_targets():
    X, z = table()
    for model in (DecisionTreeRegressor(max_depth=4), RandomForestRegressor(5, random_state=0)):
        trees = imported(model.fit(X, np.column_stack([z, -z, X[:, 0]])))
        rows = trying_rows(trees)
        np.testing.assert_allclose(trees.predict(rows), model.predict(rows), rtol=1e-12, atol=1e-12)


def test_masses_and_impurities_are_theirs():
    model, _ = fitted("tree", 0.0)
    tree = SoftTree.from_sklearn(model)
    np.testing.assert_array_equal(tree.mass, model.tree_.weighted_n_node_samples)
    np.testing.assert_allclose(tree.feature_importances(), model.feature_importances_, rtol=0, atol=1e-12)


def test_split_by_missing_values_alone():
    """Such a split has an infinite threshold."""
    X = np.array([[np.nan], [np.nan], [1.0], [2.0]] * 20)
    y = np.isnan(X[:, 0]).astype(float)
    for model in (DecisionTreeRegressor(), HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=1)):
        trees = imported(model.fit(X, y))
        rows = np.array([[np.nan], [1.0], [1.5], [-1e30], [1e30]])
        np.testing.assert_allclose(trees.predict(rows)[:, 0], model.predict(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (GradientBoostingRegressor(init=LinearRegression(), n_estimators=2), "starts from a constant"),
        (HistGradientBoostingRegressor(categorical_features=[3], max_iter=2), "column 3"),
        (DecisionTreeClassifier(), "classifiers of one target"),
    ],
)
def test_what_cannot_be_read_is_refused(model, message):
    X, z = table()
    X[:, 3] = np.abs(X[:, 3])
    y = z if not isinstance(model, DecisionTreeClassifier) else np.column_stack([z > 0, z > 1])
    with pytest.raises(ValueError, match=message):
        SoftForest.from_sklearn(model.fit(X, y))


def test_other_models_are_refused():
    X, z = table()
    with pytest.raises(TypeError, match=r"SoftForest\.from_sklearn takes"):
        SoftForest.from_sklearn(LinearRegression().fit(X, z))
    with pytest.raises(TypeError, match="several trees"):
        SoftTree.from_sklearn(RandomForestRegressor(3).fit(X, z))
    assert len(SoftForest.from_sklearn(DecisionTreeRegressor().fit(X, z))) == 1
