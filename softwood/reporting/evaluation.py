"""How a model does on rows with known targets: sums only, so that no row can be read from the page."""

from __future__ import annotations

from typing import Any

import numpy as np

N_BINS = 10
# A confusion matrix of more classes cannot be read.
MOST_CLASSES = 30
SMALLEST_PROBABILITY = 1e-15


def evaluate_classes(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, Any]:
    """Scores, confusion matrix and calibration of class probabilities, (n_rows, n_classes)."""
    n, n_classes = probabilities.shape
    predicted = probabilities.argmax(axis=1)
    own = probabilities[np.arange(n), labels]
    truth = np.eye(n_classes)[labels]
    confusion = np.zeros((n_classes, n_classes), dtype=np.int64)
    np.add.at(confusion, (labels, predicted), 1)
    if n_classes == 2:  # of two classes, the probability of the second one
        stated, is_true = probabilities[:, 1], labels == 1
    else:
        stated, is_true = probabilities.max(axis=1), predicted == labels
    return {
        "kind": "classes",
        "n": n,
        "scores": {
            "accuracy": float(np.mean(predicted == labels)),
            "log loss": float(-np.log(np.clip(own, SMALLEST_PROBABILITY, 1.0)).mean()),
            "Brier score": float(((probabilities - truth) ** 2).sum(axis=1).mean()),
        },
        "confusion": confusion.tolist() if n_classes <= MOST_CLASSES else None,
        "calibration": _calibration(stated, is_true),
    }


def _calibration(stated: np.ndarray, is_true: np.ndarray) -> list[dict[str, float]]:
    """Mean probability and observed frequency in bins of equal width; empty bins are left out."""
    bins = np.clip((stated * N_BINS).astype(np.int64), 0, N_BINS - 1)
    return [
        {"stated": float(stated[rows].mean()), "observed": float(is_true[rows].mean()), "n": int(rows.sum())}
        for rows in (bins == k for k in range(N_BINS))
        if rows.any()
    ]


def evaluate_targets(predicted: np.ndarray, targets: np.ndarray) -> dict[str, Any]:
    """Scores of real predictions, (n_rows, n_outputs), and means of the first output by tenths of the prediction."""
    errors = targets - predicted
    spread = ((targets - targets.mean(axis=0)) ** 2).mean()
    order = np.argsort(predicted[:, 0], kind="stable")
    parts = [rows for rows in np.array_split(order, N_BINS) if len(rows)]
    return {
        "kind": "targets",
        "n": len(targets),
        "scores": {
            "R²": float(1.0 - (errors**2).mean() / spread) if spread > 0 else None,
            "root mean squared error": float(np.sqrt((errors**2).mean())),
            "mean absolute error": float(np.abs(errors).mean()),
        },
        "means": [
            {
                "predicted": float(predicted[rows, 0].mean()),
                "observed": float(targets[rows, 0].mean()),
                "deviation": float(errors[rows, 0].std()),
                "n": len(rows),
            }
            for rows in parts
        ],
    }
