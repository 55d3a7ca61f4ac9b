"""The models that are compared, and how each is fitted and judged on a fold. All use one thread."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor, early_stopping
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.model_selection import KFold, StratifiedKFold
from xgboost import XGBClassifier, XGBRegressor

from softwood import KernelBoostingClassifier, KernelBoostingRegressor

OURS, TUNED = "softwood", "LightGBM tuned"
FAST, BEST = "softwood fast", "softwood best"
# Beside these on every data set; the further ones on those where they were run.
FURTHER = (FAST, BEST, "ChimeraBoost", "Perpetual", "EBM")
DEFAULTS = (OURS, "LightGBM", "XGBoost", "CatBoost", "HistGradientBoosting", "random forest")
# Smallest probability that counts: without it, a single 0 of a random forest would make its loss infinite.
LEAST = 1e-6
N_BINS = 10  # of the reliability diagram
INNER_FOLDS = 3
MOST_ROUNDS, PATIENCE = 500, 25  # of each draw; early stopping inside the inner folds


@dataclass(frozen=True)
class Fold:
    """Training and test rows; text columns are categories."""

    X: pd.DataFrame
    y: np.ndarray
    train: np.ndarray
    test: np.ndarray
    is_class: bool


def warm_up(names: Sequence[str] = DEFAULTS) -> None:
    """Load the compiled loops, which other packages have in their libraries."""
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(200, 3)), rng.normal(size=200)
    for y in (X[:, 0] > 0, (X[:, 0] > 0) + 1 * (X[:, 1] > 0)):
        KernelBoostingClassifier(random_state=0).fit(X, y).predict_proba(X)
    KernelBoostingRegressor(random_state=0).fit(X, X[:, 0] + 0.1 * noise).predict(X)
    if "ChimeraBoost" in names:  # its loops are compiled when they are called first
        frame = pd.DataFrame(X, columns=list("abc")).assign(d=np.where(noise > 0, "x", "y"))
        for y in (X[:, 0] > 0, (X[:, 0] > 0) + 1 * (X[:, 1] > 0), noise):
            for table, text in ((frame, [3]), (frame[["a", "b", "c"]], None)):
                _further_model("ChimeraBoost", y is not noise).fit(table, y, cat_features=text).predict(table)
    for model in (KernelBoostingClassifier, KernelBoostingRegressor):
        model(bandwidth=0.0, max_iter=3).fit(X, X[:, 0] > 0).predict(X)


def with_categories(X: pd.DataFrame) -> pd.DataFrame:
    """Text columns as categories, which all the packages take."""
    return X.assign(**{name: X[name].astype("category") for name in X if X[name].dtype.kind not in "iufb"})


def run_model(name: str, fold: Fold, draws: int) -> dict[str, Any]:
    """Fit a model to the training rows and judge it on the test rows."""
    start = time.process_time()
    if name == TUNED:
        model, parameter = tuned_lightgbm(fold, draws)
    else:
        model, parameter = default_model(name, fold.is_class), ""
    X = _as_taken(name, fold)
    # Labels are the numbers of the classes, which is what XGBoost takes; a fold may lack a rare class.
    classes, codes = np.unique(fold.y[fold.train], return_inverse=True) if fold.is_class else (None, fold.y[fold.train])
    if name == "CatBoost":
        model.set_params(cat_features=[column for column in X if X[column].dtype == object])
    is_text = [j for j, column in enumerate(X) if X[column].dtype == object]
    model.fit(X.iloc[fold.train], codes, **({"cat_features": is_text} if name == "ChimeraBoost" and is_text else {}))
    seconds = time.process_time() - start
    if name in (OURS, FAST, BEST):
        parameter = (
            f"{model.n_iter_} rounds, bandwidth {model.bandwidth_:g}, {model.max_leaf_nodes_} leaves, "
            f"mass {model.min_mass_:g}, {model.max_features_} columns, crisp every {model.crisp_every_}"
        )
    X_test, y_test = X.iloc[fold.test], fold.y[fold.test]
    if classes is None:
        return {**judge_reals(y_test, model.predict(X_test)), "seconds": seconds, "parameter": parameter}
    return {**judge_classes(y_test, classes, model.predict_proba(X_test)), "seconds": seconds, "parameter": parameter}


def default_model(name: str, is_class: bool) -> Any:
    """A model with the defaults of its package, one thread and a fixed seed."""
    if name in ("ChimeraBoost", "Perpetual", "EBM"):
        return _further_model(name, is_class)
    kinds = {
        OURS: (KernelBoostingClassifier, KernelBoostingRegressor, {"n_jobs": 1}),
        FAST: (KernelBoostingClassifier, KernelBoostingRegressor, {"n_jobs": 1, "quality": "fast"}),
        BEST: (KernelBoostingClassifier, KernelBoostingRegressor, {"n_jobs": 1, "quality": "best"}),
        "LightGBM": (LGBMClassifier, LGBMRegressor, {"n_jobs": 1, "verbose": -1}),
        "XGBoost": (XGBClassifier, XGBRegressor, {"n_jobs": 1, "enable_categorical": True}),
        "CatBoost": (CatBoostClassifier, CatBoostRegressor, {"thread_count": 1, "verbose": False,
                                                             "allow_writing_files": False}),
        "HistGradientBoosting": (HistGradientBoostingClassifier, HistGradientBoostingRegressor, {}),
        "random forest": (RandomForestClassifier, RandomForestRegressor, {"n_jobs": 1}),
    }  # fmt: skip
    classifier, regressor, parameters = kinds[name]
    return (classifier if is_class else regressor)(random_state=0, **parameters)


def _further_model(name: str, is_class: bool) -> Any:
    """A model of a package that only this comparison needs, with its defaults."""
    if name == "ChimeraBoost":
        from chimeraboost import ChimeraBoostClassifier, ChimeraBoostRegressor

        return (ChimeraBoostClassifier if is_class else ChimeraBoostRegressor)(random_state=0, thread_count=1)
    if name == "Perpetual":
        from perpetual import PerpetualClassifier, PerpetualRegressor

        return PerpetualClassifier(num_threads=1) if is_class else PerpetualRegressor(num_threads=1)
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    return (ExplainableBoostingClassifier if is_class else ExplainableBoostingRegressor)(random_state=0, n_jobs=1)


def _as_taken(name: str, fold: Fold) -> pd.DataFrame:
    """The table in the form that the package takes."""
    if name == "random forest":  # columns of 0 and 1
        return pd.get_dummies(fold.X).astype(float)
    if name in ("CatBoost", "ChimeraBoost"):  # text, without missing values
        is_text = fold.X.dtypes == "category"
        return fold.X.assign(**{c: fold.X[c].astype(object).fillna("missing") for c in fold.X.columns[is_text]})
    return fold.X


# Tuning LightGBM


def tuned_lightgbm(fold: Fold, draws: int) -> tuple[Any, str]:
    """LightGBM with the best of some random settings, by the mean loss of inner folds with early stopping."""
    X, y = fold.X.iloc[fold.train].reset_index(drop=True), fold.y[fold.train]
    y = np.unique(y, return_inverse=True)[1] if fold.is_class else y
    splitter = (StratifiedKFold if fold.is_class else KFold)(INNER_FOLDS, shuffle=True, random_state=0)
    parts = list(splitter.split(X, y))
    rng = np.random.default_rng(0)
    best: tuple[float, dict[str, Any], int] = (np.inf, {}, 0)
    for _ in range(draws):
        setting = draw_setting(rng)
        results = [_inner_loss(setting, X, y, train, test, fold.is_class) for train, test in parts]
        loss = float(np.mean([loss for loss, _ in results]))
        if loss < best[0]:
            best = loss, setting, round(np.mean([rounds for _, rounds in results]) * INNER_FOLDS / (INNER_FOLDS - 1))
    _, setting, rounds = best
    model = _lightgbm(fold.is_class, setting).set_params(n_estimators=max(1, rounds))
    words = ", ".join(f"{name} {value:.3g}" for name, value in setting.items())
    return model, f"{draws} draws: {rounds} rounds, {words}"


def draw_setting(rng: np.random.Generator) -> dict[str, Any]:
    """A random setting, from the usual ranges."""
    return {
        "learning_rate": float(10 ** rng.uniform(-1.7, -0.5)),
        "num_leaves": int(2 ** rng.uniform(2, 7)),
        "min_child_samples": int(2 ** rng.uniform(1, 6)),
        "reg_lambda": float(10 ** rng.uniform(-2, 1.5)),
        "subsample": float(rng.uniform(0.5, 1.0)),
        "colsample_bytree": float(rng.uniform(0.4, 1.0)),
    }


def _lightgbm(is_class: bool, setting: dict[str, Any]) -> Any:
    kind = LGBMClassifier if is_class else LGBMRegressor
    return kind(n_jobs=1, verbose=-1, random_state=0, subsample_freq=1, **setting)


def _inner_loss(
    setting: dict[str, Any], X: pd.DataFrame, y: np.ndarray, train: np.ndarray, test: np.ndarray, is_class: bool
) -> tuple[float, int]:
    """Validation loss at the best number of rounds, and that number."""
    if is_class:
        test = test[np.isin(y[test], np.unique(y[train]))]  # LightGBM refuses classes that it has not seen
    model = _lightgbm(is_class, setting).set_params(n_estimators=MOST_ROUNDS)
    model.fit(
        X.iloc[train], y[train], eval_set=[(X.iloc[test], y[test])], callbacks=[early_stopping(PATIENCE, verbose=False)]
    )
    losses = next(iter(model.evals_result_["valid_0"].values()))
    return float(np.min(losses)), int(model.best_iteration_)


# Judging


def judge_reals(y: np.ndarray, predicted: np.ndarray) -> dict[str, Any]:
    """Root mean squared error as loss, R² as score."""
    error = float(np.mean((y - predicted) ** 2))
    score = 1.0 - error / float(np.var(y))
    return {"loss": np.sqrt(error), "score": score, "brier": np.nan, "calibration": np.nan, "bins": ""}


def judge_classes(y: np.ndarray, classes: np.ndarray, probabilities: np.ndarray) -> dict[str, Any]:
    """Log loss, accuracy, Brier score, and calibration of the probability of the predicted class.

    Classes that the training rows lack get the smallest probability.
    """
    everything = np.union1d(classes, y)
    shares = np.full((len(y), len(everything)), LEAST)
    shares[:, np.searchsorted(everything, classes)] = np.clip(probabilities, LEAST, None)
    shares /= shares.sum(axis=1, keepdims=True)
    truth = np.searchsorted(everything, y)
    is_true = np.arange(len(everything)) == truth[:, None]
    surest = shares.max(axis=1)
    is_right = shares.argmax(axis=1) == truth
    place = np.minimum((surest * N_BINS).astype(int), N_BINS - 1)
    counts, sureness, rights = (
        np.bincount(place, weights=weights, minlength=N_BINS) for weights in (np.ones(len(y)), surest, is_right)
    )
    return {
        "loss": float(-np.log(shares[is_true]).mean()),
        "score": float(is_right.mean()),
        "brier": float(((shares - is_true) ** 2).sum(axis=1).mean()),
        "calibration": float(np.abs(sureness - rights).sum() / len(y)),
        "bins": " ".join(f"{n:.0f}:{s:.4g}:{r:.0f}" for n, s, r in zip(counts, sureness, rights, strict=True)),
    }
