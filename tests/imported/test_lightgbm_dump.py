import json

import lightgbm
import numpy as np
import pytest

from softwood import Gate, SoftForest
from tests.imported.data import labels, table, trying_rows

QUIET = {"verbose": -1, "n_jobs": 1}


def raw(model, X):
    return np.asarray(model.predict(X, raw_score=True)).reshape(len(X), -1)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize(
    "model",
    [
        lightgbm.LGBMRegressor(n_estimators=20, **QUIET),
        lightgbm.LGBMRegressor(n_estimators=20, objective="poisson", **QUIET),
        lightgbm.LGBMRegressor(n_estimators=10, boosting_type="rf", subsample=0.5, subsample_freq=1, **QUIET),
        lightgbm.LGBMRegressor(n_estimators=10, boosting_type="dart", **QUIET),
        lightgbm.LGBMClassifier(n_estimators=10, **QUIET),
        lightgbm.LGBMRegressor(n_estimators=10, use_missing=False, **QUIET),
    ],
)
def test_same_raw_scores(model, missing):
    X, z = table(missing=missing)
    y = labels(z) if isinstance(model, lightgbm.LGBMClassifier) else np.abs(z)
    model.fit(X, y)
    forest = SoftForest.from_lightgbm(model)
    rows = trying_rows(forest, missing=missing)
    # a random forest is a mean, but LightGBM's raw scores of it are sums
    expected = model.predict(rows)[:, None] if model.boosting_type == "rf" else raw(model, rows)
    np.testing.assert_allclose(forest.predict(rows), expected, rtol=1e-12, atol=1e-12)


def test_boosters_dumps_and_text_are_the_same():
    X, z = table()
    model = lightgbm.LGBMRegressor(n_estimators=5, **QUIET).fit(X, z)
    dump = model.booster_.dump_model()
    expected = SoftForest.from_lightgbm(model).predict(X)
    for other in (model.booster_, dump, json.dumps(dump)):
        np.testing.assert_array_equal(SoftForest.from_lightgbm(other).predict(X), expected)


def test_a_tree_without_splits():
    X, z = table(50)
    model = lightgbm.LGBMRegressor(n_estimators=2, min_child_samples=50, **QUIET).fit(X, z)
    np.testing.assert_allclose(SoftForest.from_lightgbm(model).predict(X)[:, 0], model.predict(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "fit", "message"),
    [
        ({"linear_tree": True}, {}, "linear_tree"),
        ({"zero_as_missing": True}, {}, "zero_as_missing"),
    ],
)
def test_what_cannot_be_read_is_refused(settings, fit, message):
    X, z = table(missing=0.2)
    X[:, 3] = np.abs(np.nan_to_num(X[:, 3]))
    X[::3, 0] = 0.0
    model = lightgbm.LGBMRegressor(n_estimators=30, **settings, **QUIET).fit(X, z, **fit)
    with pytest.raises(ValueError, match=message):
        SoftForest.from_lightgbm(model)


def test_sets_of_categories():
    """Missing and unknown categories go right, as LightGBM sends them."""
    X, z = table(missing=0.2)
    X[:, 3] = np.random.default_rng(0).integers(0, 50, len(X))
    X[::7, 3] = np.nan
    z = z + np.nan_to_num(np.sin(X[:, 3] * 2.0))
    settings = {"n_estimators": 10, "min_data_per_group": 1, "cat_smooth": 1.0}
    model = lightgbm.LGBMRegressor(**settings, **QUIET).fit(X, z, categorical_feature=[3])
    forest = SoftForest.from_lightgbm(model)
    assert np.any(forest.gate == Gate.SUBSET)
    X[:5, 3] = [-2.0, 49.5, 1000.0, 50.0, 63.0]
    np.testing.assert_array_equal(forest.predict(X)[:, 0], model.predict(X, raw_score=True))
    dump = model.booster_.dump_model()
    node = next(entry["tree_structure"] for entry in dump["tree_info"])
    node["decision_type"], node["threshold"] = "==", "3||many"
    with pytest.raises(ValueError, match=r"Column_\d' of this model is divided by the set '3\|\|many'"):
        SoftForest.from_lightgbm(dump)


@pytest.mark.parametrize("given", [{}, None, "[]", {"tree_info": []}])
def test_other_things_are_refused(given):
    with pytest.raises(TypeError, match=r"SoftForest\.from_lightgbm takes"):
        SoftForest.from_lightgbm(given)
    with pytest.raises(ValueError, match="not JSON"):
        SoftForest.from_lightgbm("tree")
