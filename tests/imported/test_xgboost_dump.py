import json

import numpy as np
import pytest
import xgboost

from softwood import SoftForest
from tests.imported.data import labels, table, trying_rows

QUIET = {"n_jobs": 1, "max_depth": 4}


def margins(model, X):
    return np.asarray(model.predict(X, output_margin=True), dtype=np.float64).reshape(len(X), -1)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize(
    "model",
    [
        xgboost.XGBRegressor(n_estimators=20, **QUIET),
        xgboost.XGBRegressor(n_estimators=20, gamma=5.0, **QUIET),
        xgboost.XGBRegressor(n_estimators=20, objective="count:poisson", **QUIET),
        xgboost.XGBRegressor(n_estimators=10, booster="dart", rate_drop=0.3, **QUIET),
        xgboost.XGBRFRegressor(n_estimators=10, **QUIET),
        xgboost.XGBClassifier(n_estimators=10, **QUIET),
        xgboost.XGBClassifier(n_estimators=10, objective="binary:logistic", **QUIET),
    ],
)
def test_same_margins(model, missing):
    X, z = table(missing=missing)
    y = np.abs(z)
    if isinstance(model, xgboost.XGBClassifier):
        y = np.unique(labels(z, 2 if model.get_params()["objective"] == "binary:logistic" else 3), return_inverse=True)[
            1
        ]
    model.fit(X, y)
    forest = SoftForest.from_xgboost(model)
    rows = trying_rows(forest, missing=missing)
    expected = margins(model, rows)
    # XGBoost adds up in float32; leaves that differ would differ by far more
    np.testing.assert_allclose(forest.predict(rows), expected, rtol=0, atol=3e-6 * max(1.0, np.abs(expected).max()))


def test_early_stopping_keeps_the_best_rounds():
    X, z = table()
    model = xgboost.XGBRegressor(n_estimators=200, early_stopping_rounds=3, **QUIET)
    model.fit(X[:200], z[:200], eval_set=[(X[200:], z[200:])], verbose=False)
    forest = SoftForest.from_xgboost(model)
    assert len(forest) == model.best_iteration + 1
    np.testing.assert_allclose(forest.predict(X)[:, 0], model.predict(X), rtol=0, atol=1e-5)


def test_boosters_objects_and_text_are_the_same(tmp_path):
    X, z = table()
    model = xgboost.XGBRegressor(n_estimators=5, **QUIET).fit(X, z)
    model.save_model(tmp_path / "model.json")
    text = (tmp_path / "model.json").read_text(encoding="utf-8")
    expected = SoftForest.from_xgboost(model).predict(X)
    for other in (model.get_booster(), text, json.loads(text)):
        np.testing.assert_array_equal(SoftForest.from_xgboost(other).predict(X), expected)
    with pytest.raises(TypeError, match="lacks the start value"):
        SoftForest.from_xgboost(model.get_booster().get_dump(dump_format="json"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"booster": "gblinear"}, "gblinear"),
        ({"multi_strategy": "multi_output_tree"}, "multi_output_tree"),
        ({"enable_categorical": True}, "categories"),
    ],
)
def test_what_cannot_be_read_is_refused(settings, message):
    import pandas as pd

    X, z = table()
    frame = pd.DataFrame(X, columns=list("abcd"))
    if "enable_categorical" in settings:
        frame["d"] = frame["d"].astype(int).astype("category")
    y = np.column_stack([z, -z]) if "multi_strategy" in settings else z
    model = xgboost.XGBRegressor(n_estimators=20, tree_method="hist" if "booster" not in settings else None, **settings)
    with pytest.raises(ValueError, match=message):
        SoftForest.from_xgboost(model.fit(frame, y))


@pytest.mark.parametrize("given", [{}, None, "[1]", {"learner": {}}])
def test_other_things_are_refused(given):
    with pytest.raises(TypeError, match=r"SoftForest\.from_xgboost"):
        SoftForest.from_xgboost(given)
    with pytest.raises(ValueError, match="not JSON"):
        SoftForest.from_xgboost("tree")
