"""Scores of a model on rows that it has not seen, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from softwood.cli.errors import CommandError

# Score, and the ends of its interval; None without an interval.
Interval = tuple[float, float | None, float | None]
# Probabilities below this count as this in the logarithm.
LEAST_PROBABILITY = 1e-15


def predictions(model: Any, X: Any) -> np.ndarray:
    """Class probabilities or targets."""
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


def score(model: Any, problem: Any, *, n_draws: int, level: float = 0.95, seed: int = 0) -> dict[str, Interval]:
    """Scores by name, each with its interval over bootstrap samples of the rows.

    Parameters
    ----------
    problem : with ``X``, ``y`` and ``weights``, which count as numbers of rows
    n_draws : number of bootstrap samples; 0 for no intervals
    level : part of the samples within the interval
    """
    found = predictions(model, problem.X)
    weights = np.ones(len(problem.y)) if problem.weights is None else np.asarray(problem.weights, dtype=np.float64)
    measures = _of_classes(model, found, problem.y) if is_classifier(model) else _of_targets(found, problem.y)
    every = np.arange(len(weights))
    values = {name: measure(every, weights) for name, measure in measures.items()}
    if n_draws == 0:
        return {name: (value, None, None) for name, value in values.items()}
    rng = np.random.default_rng(seed)
    draws: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(n_draws):
        rows = rng.integers(len(every), size=len(every))
        for name, measure in measures.items():
            draws[name].append(measure(rows, weights[rows]))
    ends = [(1 - level) / 2, (1 + level) / 2]
    intervals: dict[str, Interval] = {}
    for name, sample in draws.items():
        known = [value for value in sample if np.isfinite(value)]
        low, high = np.quantile(known, ends) if known else (np.nan, np.nan)
        intervals[name] = (values[name], float(low), float(high))
    return intervals


Measure = Callable[[np.ndarray, np.ndarray], float]


def _of_classes(model: Any, shares: np.ndarray, y: Any) -> dict[str, Measure]:
    classes = model.classes_.tolist()
    number = {label: k for k, label in enumerate(classes)}
    labels = np.asarray(y).tolist()
    unknown = next((label for label in labels if label not in number), None)
    if unknown is not None:
        raise CommandError(f"the target holds {unknown!r}, which is none of the model's classes {classes[:10]!r}.")
    codes = np.array([number[label] for label in labels])
    guessed = shares.argmax(axis=1)
    is_right = (guessed == codes).astype(np.float64)
    losses = -np.log(np.maximum(shares[np.arange(len(codes)), codes], LEAST_PROBABILITY))
    squares = ((shares - (codes[:, None] == np.arange(len(classes)))) ** 2).sum(axis=1)

    def balanced(rows: np.ndarray, weights: np.ndarray) -> float:
        return float(balanced_accuracy_score(codes[rows], guessed[rows], sample_weight=weights))

    def area(rows: np.ndarray, weights: np.ndarray) -> float:
        if len(np.unique(codes[rows])) < 2:
            return np.nan
        return float(roc_auc_score(codes[rows], shares[rows, 1], sample_weight=weights))

    measures: dict[str, Measure] = {
        "accuracy": _mean_of(is_right), "log loss": _mean_of(losses), "Brier score": _mean_of(squares),
    }  # fmt: skip
    if len(classes) == 2:
        measures["AUROC"] = area
    elif len(np.unique(codes)) == len(classes):
        measures["balanced accuracy"] = balanced
    return measures


def _of_targets(found: np.ndarray, y: Any) -> dict[str, Measure]:
    truth = np.asarray(y, dtype=np.float64)
    squares, sizes = (found - truth) ** 2, np.abs(found - truth)

    def r2(rows: np.ndarray, weights: np.ndarray) -> float:
        mean = np.average(truth[rows], weights=weights)
        spread = np.average((truth[rows] - mean) ** 2, weights=weights)
        return float(1.0 - np.average(squares[rows], weights=weights) / spread) if spread > 0 else np.nan

    def rmse(rows: np.ndarray, weights: np.ndarray) -> float:
        return float(np.sqrt(np.average(squares[rows], weights=weights)))

    return {"R²": r2, "RMSE": rmse, "MAE": _mean_of(sizes)}


def _mean_of(values: np.ndarray) -> Measure:
    return lambda rows, weights: float(np.average(values[rows], weights=weights))
