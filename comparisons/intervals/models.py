"""The models of the comparison: each returns intervals, or quantiles of the target, of test rows."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from softwood import KernelBoostingRegressor, KernelForestRegressor, KernelTreeRegressor

__all__ = ["COVERAGES", "LEVELS", "MODELS", "Fold", "run_model"]

COVERAGES = (0.8, 0.9, 0.95)
# Quantiles by which the continuous ranked probability score is measured.
LEVELS = np.arange(1, 20) / 20
SEED = 0
# Part of the training rows by which models without folds are calibrated.
HELD_OUT = 0.25

# The ends of intervals by coverage, and the quantiles, where a model has them.
Answer = tuple[dict[float, np.ndarray], np.ndarray | None]


@dataclass(frozen=True)
class Fold:
    """Training rows, in random order, and test rows; all numbers."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def run_model(name: str, fold: Fold) -> dict[str, float]:
    """Coverages, the interval score at 0.9 and the CRPS in standard deviations of the target, and seconds."""
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        intervals, quantiles = MODELS[name](fold)
        logging.disable(logging.NOTSET)
    seconds = time.process_time() - begin
    y, unit = fold.y_test, float(fold.y.std())
    covered = {c: float(((ends[:, 0] <= y) & (y <= ends[:, 1])).mean()) for c, ends in intervals.items()}
    return {
        **{f"coverage_{round(100 * c)}": covered.get(c, np.nan) for c in COVERAGES},
        "interval_score": interval_score(intervals[0.9], y) / unit if 0.9 in intervals else np.nan,
        "crps": crps(quantiles, y) / unit if quantiles is not None else np.nan,
        "seconds": seconds,
    }


def interval_score(ends: np.ndarray, y: np.ndarray, coverage: float = 0.9) -> float:
    """Mean width, plus the distance of targets outside times 2 / (1 - coverage)."""
    low, high = ends.T
    outside = np.maximum(low - y, 0) + np.maximum(y - high, 0)
    return float((high - low + 2 / (1 - coverage) * outside).mean())


def crps(quantiles: np.ndarray, y: np.ndarray) -> float:
    """Twice the mean pinball loss of the quantiles."""
    above = y[:, None] - quantiles
    return float(2 * np.maximum(LEVELS * above, (LEVELS - 1) * above).mean())


def _parts(fold: Fold) -> tuple[slice, slice]:
    """Rows to learn and rows to calibrate; they are in random order."""
    n = round((1 - HELD_OUT) * len(fold.y))
    return slice(0, n), slice(n, None)


def _fitted(model: Any) -> Callable[[Fold], Answer]:
    """A model of softwood with the scores that its fit leaves."""
    return lambda fold: _softwood(clone(model).fit(fold.X, fold.y), fold)


def _softwood_quantiles(fold: Fold) -> Answer:
    learn, rest = _parts(fold)
    model = KernelBoostingRegressor(loss="quantile", quantile=(0.05, 0.25, 0.5, 0.75, 0.95), random_state=SEED)
    return _softwood(model.fit(fold.X[learn], fold.y[learn]).calibrate(fold.X[rest], fold.y[rest]), fold)


def _softwood(model: Any, fold: Fold) -> Answer:
    ends = {coverage: model.predict_interval(fold.X_test, coverage) for coverage in COVERAGES}
    return ends, model.predict_quantiles(fold.X_test, LEVELS)


def _lightgbm(**options: Any) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_jobs=1, verbose=-1, random_state=SEED, **options)


def _mapie(kind: str) -> Callable[[Fold], Answer]:
    def run(fold: Fold) -> Answer:
        from mapie import regression

        if kind == "CQR":
            learn, rest = _parts(fold)
            estimator = _lightgbm(objective="quantile", alpha=0.05)
            model = regression.ConformalizedQuantileRegressor(estimator, confidence_level=0.9)
            model.fit(fold.X[learn], fold.y[learn]).conformalize(fold.X[rest], fold.y[rest])
        elif kind == "CV+":
            model = regression.CrossConformalRegressor(_lightgbm(), confidence_level=0.9, cv=5, random_state=SEED)
            model.fit_conformalize(fold.X, fold.y)
        else:
            model = regression.JackknifeAfterBootstrapRegressor(
                _lightgbm(), confidence_level=0.9, resampling=30, random_state=SEED
            )
            model.fit_conformalize(fold.X, fold.y)
        return {0.9: model.predict_interval(fold.X_test)[1][:, :, 0]}, None

    return run


def _crepes(fold: Fold) -> Answer:
    """A random forest, calibrated out of the bag, with widths by the errors of neighbours."""
    from crepes import WrapRegressor
    from crepes.extras import DifficultyEstimator
    from sklearn.ensemble import RandomForestRegressor

    model = WrapRegressor(RandomForestRegressor(oob_score=True, random_state=SEED))
    model.fit(fold.X, fold.y)
    difficulty = DifficultyEstimator()
    difficulty.fit(X=fold.X, residuals=fold.y - model.learner.oob_prediction_, scaler=True, oob=True)
    model.calibrate(fold.X, fold.y, de=difficulty, oob=True)
    ends = {coverage: model.predict_int(fold.X_test, confidence=coverage) for coverage in COVERAGES}
    return ends, None


def _quantile_forest(fold: Fold) -> Answer:
    from quantile_forest import RandomForestQuantileRegressor

    model = RandomForestQuantileRegressor(random_state=SEED).fit(fold.X, fold.y)
    return _of_quantiles(model.predict(fold.X_test, quantiles=LEVELS.tolist()))


def _ngboost(fold: Fold) -> Answer:
    from ngboost import NGBRegressor

    model = NGBRegressor(verbose=False, random_state=SEED).fit(fold.X, fold.y)
    found = model.pred_dist(fold.X_test)
    return _of_quantiles(np.column_stack([found.ppf(level) for level in LEVELS]))


def _catboost(fold: Fold) -> Answer:
    from catboost import CatBoostRegressor

    loss = "MultiQuantile:alpha=" + ",".join(f"{level:.2f}" for level in LEVELS)
    model = CatBoostRegressor(
        loss_function=loss, verbose=False, random_seed=SEED, thread_count=1, allow_writing_files=False
    )
    return _of_quantiles(np.sort(model.fit(fold.X, fold.y).predict(fold.X_test), axis=1))


def _of_quantiles(quantiles: np.ndarray) -> Answer:
    return {0.9: quantiles[:, [0, -1]]}, quantiles


MODELS: dict[str, Callable[[Fold], Answer]] = {
    "softwood forest": _fitted(KernelForestRegressor(random_state=SEED)),
    "softwood tree": _fitted(KernelTreeRegressor(random_state=SEED)),
    "softwood boosting": _fitted(KernelBoostingRegressor(random_state=SEED)),
    "softwood quantile boosting": _softwood_quantiles,
    "MAPIE CV+": _mapie("CV+"),
    "MAPIE J+aB": _mapie("J+aB"),
    "MAPIE CQR": _mapie("CQR"),
    "crepes": _crepes,
    "quantile-forest": _quantile_forest,
    "NGBoost": _ngboost,
    "CatBoost": _catboost,
}
