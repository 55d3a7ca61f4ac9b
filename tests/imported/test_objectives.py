"""Every objective and option of other packages that is accepted, against the original; all others are refused."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from softwood import SoftForest, SoftTree, soften
from softwood.imported import lightgbm_dump, xgboost_dump
from tests.imported.data import labels, table

N = 1000


def data(missing: float = 0.1) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Rows, and targets by kind."""
    X, z = table(N, missing=missing)
    size = np.abs(z) + 0.1
    return X, {
        "real": z,
        "positive": size,
        "part": 1.0 / (1.0 + np.exp(-z)),
        "two": (z > 0).astype(int),
        "three": np.digitize(z, np.quantile(z, [0.3, 0.6])),
        "grade": np.random.default_rng(0).integers(0, 4, N),
        "censored": np.where(z > 0, size, -size),
        "several": np.column_stack([z, -2 * z, z**2]),
        "labels": np.column_stack([z > 0, z > 1, z < 0]).astype(int),
    }


def softened(model: Any, X: np.ndarray) -> np.ndarray:
    """Predictions of a softened model without kernels, in the shape of a booster's."""
    soft = soften(model, X, bandwidth=0)
    if not hasattr(soft, "predict_proba"):
        return soft.predict(X)
    found = soft.predict_proba(X)
    return found[:, 1] if found.shape[1] == 2 else found


# ------------------------------------------------------------------ XGBoost

XGBOOST = {
    "reg:squarederror": "real",
    "reg:linear": "real",
    "reg:squaredlogerror": "positive",
    "reg:pseudohubererror": "real",
    "reg:absoluteerror": "real",
    "reg:quantileerror": "real",
    "reg:logistic": "part",
    "reg:gamma": "positive",
    "reg:tweedie": "positive",
    "count:poisson": "positive",
    "binary:logistic": "two",
    "binary:logitraw": "two",
    "binary:hinge": "two",
    "multi:softmax": "three",
    "multi:softprob": "three",
    "rank:ndcg": "grade",
    "rank:pairwise": "grade",
    "rank:map": "two",
    "survival:cox": "censored",
    "survival:aft": "positive",
}
XGBOOST_OPTIONS: list[dict[str, Any]] = [
    {},
    {"base_score": 0.3},
    {"booster": "dart", "rate_drop": 0.4},
    {"num_parallel_tree": 3, "subsample": 0.5},
]


def xgboost_booster(objective: str, y: np.ndarray, X: np.ndarray, **options: Any) -> tuple[Any, Any]:
    own = {"reg:quantileerror": {"quantile_alpha": 0.3}, "multi:softmax": {"num_class": 3}}
    own["multi:softprob"] = own["multi:softmax"]
    rows = xgboost.DMatrix(X, y)
    if objective == "survival:aft":
        rows = xgboost.DMatrix(X)
        rows.set_float_info("label_lower_bound", y)
        rows.set_float_info("label_upper_bound", 2 * y)
    if objective.startswith("rank"):
        rows.set_group([50] * (N // 50))
    parameters = {"objective": objective, "max_depth": 3, "nthread": 1, "verbosity": 0, **own.get(objective, {})}
    return xgboost.train(parameters | options, rows, 10), rows


def test_all_objectives_of_xgboost_are_here():
    assert set(XGBOOST) == set(xgboost_dump.OBJECTIVES)


@pytest.mark.parametrize("options", XGBOOST_OPTIONS, ids=str)
@pytest.mark.parametrize("objective", XGBOOST)
def test_xgboost(objective, options):
    X, targets = data()
    booster, rows = xgboost_booster(objective, targets[XGBOOST[objective]], X, **options)
    margins = booster.predict(rows, output_margin=True).reshape(N, -1)
    # XGBoost adds up in float32
    size = 3e-6 * max(1.0, np.abs(margins).max())
    np.testing.assert_allclose(SoftForest.from_xgboost(booster).predict(X), margins, rtol=0, atol=size)
    if xgboost_dump.OBJECTIVES[objective][1] is None:
        with pytest.raises(ValueError, match=f"objective '{objective}'"):
            soften(booster, X, bandwidth=0)
        return
    found, expected = softened(booster, X), booster.predict(rows)
    if objective == "multi:softmax":  # a booster gives the class
        found = found.argmax(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=size)


@pytest.mark.parametrize("objective", ["reg:squarederror", "reg:absoluteerror", "count:poisson", "binary:logistic"])
def test_xgboost_with_several_targets(objective):
    X, targets = data()
    y = targets["labels"] if objective == "binary:logistic" else np.abs(targets["several"])
    kind = xgboost.XGBClassifier if objective == "binary:logistic" else xgboost.XGBRegressor
    model = kind(objective=objective, n_estimators=5, n_jobs=1).fit(X, y)
    margins = model.predict(X, output_margin=True)
    np.testing.assert_allclose(SoftForest.from_xgboost(model).predict(X), margins, rtol=1e-5, atol=1e-5)
    if objective == "binary:logistic":
        with pytest.raises(ValueError, match="binary:logistic of 3 targets"):
            soften(model, X, bandwidth=0)
    else:
        np.testing.assert_allclose(softened(model, X), model.predict(X), rtol=1e-5, atol=1e-5)


def test_xgboost_with_several_quantiles():
    X, targets = data()
    booster, rows = xgboost_booster("reg:quantileerror", targets["real"], X, quantile_alpha=[0.1, 0.5, 0.9])
    np.testing.assert_allclose(softened(booster, X), booster.predict(rows), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", [xgboost.XGBClassifier, xgboost.XGBRegressor])
def test_missing_of_xgboost(kind):
    """The number counts as missing, in float32 as in XGBoost, and so does nan."""
    X, targets = data(missing=0.3)
    X[np.isnan(X)] = -999.1
    model = kind(n_estimators=10, max_depth=3, n_jobs=1, missing=-999.1)
    model.fit(X, targets["three" if kind is xgboost.XGBClassifier else "real"])
    X[:50, 1] = np.nan
    X[50:100, 1] = float(np.float32(-999.1))
    for bandwidth in (0, 0.2):
        soft = soften(model, X, bandwidth=bandwidth)
        gone = np.where(np.abs(X + 999.1) < 1e-3, np.nan, X)
        np.testing.assert_allclose(soft.bandwidths_, bandwidth * np.nanstd(gone, axis=0))
        for method in ("predict", "memberships", "apply", "input_gradient"):
            one, other = (getattr(soft, method)(rows) for rows in (X, gone))
            same = one.toarray() if method == "memberships" else one
            np.testing.assert_array_equal(same, other.toarray() if method == "memberships" else other)
    soft = soften(model, X, bandwidth=0)
    np.testing.assert_allclose(soft.predict(X).astype(float), model.predict(X), rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match=r"missing=-999\.1, but in a SoftForest only nan"):
        SoftForest.from_xgboost(model)
    found = SoftForest.from_xgboost(model.get_booster()).predict(gone)
    np.testing.assert_allclose(found, model.predict(X, output_margin=True).reshape(N, -1), rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="'missing' parameter of Softened"):
        soften(model, X, bandwidth=0).set_params(missing="no").fit(X)


def test_rounds_up_to_the_best_of_xgboost():
    """Whether it was the parameter or a callback that stopped early."""
    X, targets = data()
    y = targets["real"]
    for given in ({"early_stopping_rounds": 3}, {"callbacks": [xgboost.callback.EarlyStopping(rounds=3)]}):
        model = xgboost.XGBRegressor(n_estimators=100, n_jobs=1, **given)
        model.fit(X[:300], y[:300], eval_set=[(X[300:], y[300:])], verbose=False)
        assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
        np.testing.assert_allclose(softened(model, X), model.predict(X), rtol=1e-5, atol=1e-5)


def test_an_objective_that_is_not_known_is_refused_by_name():
    import json

    X, targets = data()
    document = json.loads(bytes(xgboost_booster("reg:squarederror", targets["real"], X)[0].save_raw("json")))
    document["learner"]["objective"]["name"] = "reg:surprise"
    with pytest.raises(ValueError, match=r"does not know the objective 'reg:surprise'.*'reg:tweedie'"):
        SoftForest.from_xgboost(document)
    dump = lightgbm.train({"verbose": -1}, lightgbm.Dataset(X, targets["real"]), 2).dump_model()
    with pytest.raises(ValueError, match=r"does not know the objective 'surprise'.*'tweedie'"):
        SoftForest.from_lightgbm(dump | {"objective": "surprise"})


# ------------------------------------------------------------------ LightGBM

LIGHTGBM = {
    "regression": "real",
    "regression_l1": "real",
    "huber": "real",
    "fair": "real",
    "quantile": "real",
    "mape": "real",
    "poisson": "positive",
    "gamma": "positive",
    "tweedie": "positive",
    "binary": "two",
    "multiclass": "three",
    "multiclassova": "three",
    "cross_entropy": "part",
    "cross_entropy_lambda": "part",
    "lambdarank": "grade",
    "rank_xendcg": "grade",
    "custom": "real",
}
FOREST = {"boosting": "rf", "bagging_fraction": 0.5, "bagging_freq": 1}
LIGHTGBM_OPTIONS: list[dict[str, Any]] = [{}, {"boosting": "dart", "drop_rate": 0.5}, FOREST, {"use_missing": False}]
# of one objective only
LIGHTGBM_SPECIAL = [
    ("regression", {"data_sample_strategy": "goss"}),
    ("regression", {"boost_from_average": False}),
    ("regression", {"reg_sqrt": True}),
    ("regression", {"extra_trees": True, "path_smooth": 1.0}),
    ("binary", {"sigmoid": 2.0}),
    ("binary", {"is_unbalance": True}),
    ("multiclassova", {"sigmoid": 2.0}),
]


def lightgbm_booster(objective: str, y: np.ndarray, X: np.ndarray, **options: Any) -> Any:
    parameters = {"num_leaves": 8, "verbose": -1, "num_threads": 1, **options}
    parameters["objective"] = _squares if objective == "custom" else objective
    if objective.startswith("multi"):
        parameters["num_class"] = 3
    group = [50] * (N // 50) if "rank" in objective else None
    return lightgbm.train(parameters, lightgbm.Dataset(X, y, group=group, **_categorical(options)), 10)


def _categorical(options: dict[str, Any]) -> dict[str, Any]:
    return {"categorical_feature": [3]} if "cat_smooth" in options else {}


def _squares(predicted, rows):
    return predicted - rows.get_label(), np.ones(len(predicted))


def test_all_objectives_of_lightgbm_are_here():
    assert set(LIGHTGBM) == set(lightgbm_dump.LINKS)


CASES = [(objective, options) for objective in LIGHTGBM for options in LIGHTGBM_OPTIONS] + LIGHTGBM_SPECIAL
CASES.remove(("custom", FOREST))  # LightGBM has none


@pytest.mark.parametrize(("objective", "options"), CASES, ids=str)
def test_lightgbm(objective, options):
    X, targets = data()
    booster = lightgbm_booster(objective, targets[LIGHTGBM[objective]], X, **options)
    raw = booster.predict(X, raw_score=True).reshape(N, -1)
    if options is FOREST:  # its raw scores are sums
        raw = raw / booster.num_trees() * raw.shape[1]
    np.testing.assert_allclose(SoftForest.from_lightgbm(booster).predict(X), raw, rtol=1e-12, atol=1e-12)
    if lightgbm_dump.LINKS[objective] is None or "reg_sqrt" in options:
        with pytest.raises(ValueError, match=f"objective '{objective}"):
            soften(booster, X, bandwidth=0)
    else:
        np.testing.assert_allclose(softened(booster, X), booster.predict(X), rtol=1e-12, atol=1e-12)


def test_zero_as_missing_of_lightgbm_where_zero_stays_on_its_side():
    """Without zeros or missing values in training, they go to one side of every threshold, or the model is refused."""
    X, targets = data(missing=0.0)
    X = np.abs(X) + 0.5
    booster = lightgbm_booster("regression", targets["real"], X, zero_as_missing=True)
    X[:100, 1] = 0.0
    X[100:200, 1] = np.nan
    forest = SoftForest.from_lightgbm(booster)
    np.testing.assert_allclose(forest.predict(X)[:, 0], booster.predict(X), rtol=1e-12)


@pytest.mark.parametrize("options", [{}, {"use_missing": False}], ids=str)
def test_categories_of_lightgbm(options):
    """LightGBM casts categories to int: -0.5 is 0, and -1 is none that it knows."""
    X, targets = data()
    X[:, :3] = np.nan_to_num(X[:, :3], nan=1.0)
    X[:, 3] = np.random.default_rng(0).integers(0, 40, N)
    y = targets["real"] + np.where(X[:, 3] == 0, 3.0, np.sin(2 * X[:, 3]))
    X[::7, 3] = np.nan
    categories = {"min_data_per_group": 1, "cat_smooth": 1.0}
    booster = lightgbm_booster("regression", y, X[:, [3, 3, 3, 3]], **options, **categories)
    strange = [-0.5, -1e-9, -0.999, -1.0, -1.5, -2.0, 0.5, 39.5, 40.0, 63.0, 64.0, 1e6, 1e9, np.nan, -0.0]
    rows = X[:, [3, 3, 3, 3]].copy()
    rows[: len(strange), 3] = strange
    forest = SoftForest.from_lightgbm(booster)
    np.testing.assert_allclose(forest.predict(rows)[:, 0], booster.predict(rows), rtol=1e-12)
    np.testing.assert_allclose(softened(booster, rows), booster.predict(rows), rtol=1e-12)


def test_early_stopping_of_lightgbm():
    X, targets = data()
    model = lightgbm.LGBMRegressor(n_estimators=100, learning_rate=0.8, verbose=-1, n_jobs=1)
    stop = lightgbm.early_stopping(3, verbose=False)
    y = targets["real"]
    model.fit(X[:300], y[:300], eval_X=(X[300:],), eval_y=(y[300:],), callbacks=[stop])
    assert model.best_iteration_ < 100
    np.testing.assert_allclose(softened(model, X), model.predict(X), rtol=1e-12)


def test_lightgbm_with_linear_trees_is_refused():
    X, targets = data()
    booster = lightgbm_booster("regression", targets["real"], X, linear_tree=True)
    with pytest.raises(ValueError, match="linear_tree=True"):
        soften(booster, X, bandwidth=0)


# ------------------------------------------------------------------ scikit-learn

SMALL = {"random_state": 0}
SKLEARN: list[tuple[Any, str]] = [
    *((DecisionTreeClassifier(criterion=c, **SMALL), "three") for c in ("gini", "entropy", "log_loss")),
    (DecisionTreeClassifier(class_weight="balanced", monotonic_cst=[1, 0, 0, -1], **SMALL), "two"),
    *(
        (DecisionTreeRegressor(criterion=c, max_depth=5, **SMALL), "positive")
        for c in ("squared_error", "absolute_error", "poisson")
    ),
    (DecisionTreeRegressor(max_depth=5, ccp_alpha=0.01, **SMALL), "several"),
    (ExtraTreeClassifier(**SMALL), "three"),
    (ExtraTreeRegressor(max_depth=6, **SMALL), "several"),
    (RandomForestClassifier(5, **SMALL), "three"),
    (RandomForestRegressor(5, criterion="poisson", max_depth=6, **SMALL), "positive"),
    (RandomForestRegressor(5, max_depth=6, **SMALL), "several"),
    (ExtraTreesClassifier(5, bootstrap=True, **SMALL), "two"),
    (ExtraTreesRegressor(5, max_depth=6, **SMALL), "several"),
    *((GradientBoostingClassifier(loss=loss, n_estimators=5, **SMALL), "two") for loss in ("log_loss", "exponential")),
    (GradientBoostingClassifier(n_estimators=5, **SMALL), "three"),
    (GradientBoostingClassifier(n_estimators=5, init="zero", **SMALL), "three"),
    *(
        (GradientBoostingRegressor(loss=loss, n_estimators=5, **SMALL), "real")
        for loss in ("squared_error", "absolute_error", "huber", "quantile")
    ),
    (GradientBoostingRegressor(init=DummyRegressor(strategy="constant", constant=3.0), n_estimators=5), "real"),
    (HistGradientBoostingClassifier(max_iter=5, **SMALL), "two"),
    (HistGradientBoostingClassifier(max_iter=5, early_stopping=True, **SMALL), "three"),
    *(
        (HistGradientBoostingRegressor(loss=loss, quantile=0.7 if loss == "quantile" else None, max_iter=5, **SMALL), y)
        for loss, y in (
            ("squared_error", "real"), ("absolute_error", "real"), ("quantile", "real"), ("poisson", "positive"),
            ("gamma", "positive"),
        )
    ),
    (HistGradientBoostingRegressor(monotonic_cst=[1, 0, 0, -1], interaction_cst="pairwise", max_iter=5), "real"),
]  # fmt: skip


def takes_missing(model: Any) -> bool:
    return bool(model.__sklearn_tags__().input_tags.allow_nan)


@pytest.mark.parametrize(("model", "kind"), SKLEARN, ids=lambda value: value if isinstance(value, str) else repr(value))
def test_scikit_learn(model, kind):
    X, targets = data(missing=0.1 if takes_missing(model) else 0.0)
    model.fit(X, targets[kind])
    rows = data(missing=0.2 if takes_missing(model) else 0.0)[0]
    soft = soften(model, rows, bandwidth=0)
    answer = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    np.testing.assert_allclose(getattr(soft, answer)(rows), getattr(model, answer)(rows), rtol=1e-9, atol=1e-12)
    if answer == "predict_proba":
        np.testing.assert_array_equal(soft.predict(rows), model.predict(rows))


@pytest.mark.parametrize(
    ("model", "kind", "error", "message"),
    [
        (IsolationForest(n_estimators=2), "real", TypeError, "IsolationForest"),
        (RandomTreesEmbedding(n_estimators=2), "real", TypeError, "RandomTreesEmbedding"),
        (AdaBoostClassifier(n_estimators=2), "two", TypeError, "AdaBoostClassifier"),
        (BaggingRegressor(n_estimators=2), "real", TypeError, "BaggingRegressor"),
        (LinearRegression(), "real", TypeError, "LinearRegression"),
        (DecisionTreeClassifier(max_depth=2), "labels", ValueError, "classifiers of one target"),
        (RandomForestClassifier(2), "labels", ValueError, "classifiers of one target"),
        (GradientBoostingRegressor(init=LinearRegression(), n_estimators=2), "real", ValueError, "another model"),
        (HistGradientBoostingRegressor(categorical_features=[3], max_iter=2), "real", ValueError, "column 3"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_refused_of_scikit_learn(model, kind, error, message):
    X, targets = data(missing=0.0)
    X[:, 3] = np.abs(X[:, 3])
    model.fit(X, targets[kind])
    for read in (SoftForest.from_sklearn, SoftTree.from_sklearn, lambda given: soften(given, X, bandwidth=0)):
        with pytest.raises(error, match=message):
            read(model)


def test_text_labels_of_all_packages():
    X, z = table(N)
    y = labels(z)
    for model in (
        lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1),
        HistGradientBoostingClassifier(max_iter=3),
        RandomForestClassifier(3),
    ):
        model.fit(X, y)
        np.testing.assert_array_equal(soften(model, X, bandwidth=0).predict(X), model.predict(X))
