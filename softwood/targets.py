"""Targets of the training rows, classes or real numbers: all that differs between a classifier and a regressor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from softwood.columns import is_missing_value

__all__ = ["ClassTargets", "RealTargets", "read_classes", "read_reals"]


@dataclass(frozen=True)
class ClassTargets:
    """Classes of the training rows: one label each, or a row of probabilities.

    Attributes
    ----------
    classes : (n_classes,)
    labels : (n,) int32 number of the class of each row, or None if the labels are fuzzy
    shares : (n, n_classes) probabilities of fuzzy labels, or None
    """

    classes: np.ndarray
    labels: np.ndarray | None
    shares: np.ndarray | None

    is_class = True

    def __len__(self) -> int:
        rows = self.labels if self.shares is None else self.shares
        assert rows is not None
        return len(rows)

    def matrix(self) -> np.ndarray:
        """Rows of class probabilities, (n, n_classes)."""
        if self.shares is not None:
            return self.shares
        assert self.labels is not None
        return (self.labels[:, None] == np.arange(len(self.classes))).astype(np.float64)

    def take(self, rows: np.ndarray) -> ClassTargets:
        """The targets of some rows; the classes stay."""
        return ClassTargets(
            self.classes,
            None if self.labels is None else self.labels[rows],
            None if self.shares is None else self.shares[rows],
        )

    def numbered_as(self, classes: np.ndarray, name: str) -> ClassTargets:
        """The same targets with classes numbered by `classes`; `name` is the user's name for them, for errors."""
        place = {label: k for k, label in enumerate(classes.tolist())}
        unknown = [label for label in self.classes.tolist() if label not in place]
        if unknown:
            raise ValueError(f"{name} has the class {unknown[0]!r}, which y does not have.")
        number = np.array([place[label] for label in self.classes.tolist()])
        if self.labels is not None:
            return ClassTargets(classes, number[self.labels].astype(np.int32), None)
        assert self.shares is not None
        shares = np.zeros((len(self.shares), len(classes)))
        shares[:, number] = self.shares
        return ClassTargets(classes, None, shares)

    def loss(self, prediction: np.ndarray, weights: np.ndarray) -> float:
        """Fraction of the mass whose most probable class is not the predicted one."""
        truth = self.labels if self.shares is None else self.shares.argmax(axis=1)
        return float(np.average(prediction.argmax(axis=1) != truth, weights=weights))

    def scaled_predictions(self, prediction: np.ndarray) -> np.ndarray:
        """Predictions on the scale of `matrix`: probabilities as they are."""
        return prediction


@dataclass(frozen=True)
class RealTargets:
    """Real targets of the training rows, brought to mean 0 and a common scale so that no square overflows.

    Attributes
    ----------
    scaled : (n, n_targets)
    mean : (n_targets,)
    scale : float, the same for all targets: their relative sizes count in the squared error
    is_flat : whether the user gave a vector
    """

    scaled: np.ndarray
    mean: np.ndarray
    scale: float
    is_flat: bool

    is_class = False

    def __len__(self) -> int:
        return len(self.scaled)

    def matrix(self) -> np.ndarray:
        """Scaled targets, (n, n_targets)."""
        return self.scaled

    def take(self, rows: np.ndarray) -> RealTargets:
        """The targets of some rows, on the same scale."""
        return RealTargets(self.scaled[rows], self.mean, self.scale, self.is_flat)

    @property
    def square_scale(self) -> float:
        """Square of the scale, which is the unit of impurities, limited to the range of floats."""
        return min(max(self.scale, 1e-150), 1e150) ** 2

    def loss(self, prediction: np.ndarray, weights: np.ndarray) -> float:
        """Mean squared error of predictions in the user's units, on the common scale."""
        error = (self.scaled_predictions(prediction) - self.scaled) ** 2
        return float(np.average(error.mean(axis=1), weights=weights))

    def scaled_predictions(self, prediction: np.ndarray) -> np.ndarray:
        """Predictions in the user's units on the scale of `matrix`."""
        return (prediction - self.mean) / self.scale


def read_classes(y: Any) -> ClassTargets:
    """Labels (a vector), or a matrix of class probabilities (an array, or a frame with a column per class)."""
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] > 1:
        return _fuzzy(y)
    labels = column_or_1d(array, warn=True)
    if labels.dtype.kind == "O" and any(map(is_missing_value, labels)):
        raise ValueError("Input y contains NaN or None; every row needs a class.")
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    return ClassTargets(classes, codes.astype(np.int32), None)


def _fuzzy(y: Any) -> ClassTargets:
    names = getattr(y, "columns", None)
    shares = check_array(y, dtype=np.float64, input_name="y")
    if np.any(shares < 0) or not np.allclose(shares.sum(axis=1), 1.0, rtol=0, atol=1e-6):
        raise ValueError(
            "A matrix as y must hold class probabilities: every row at least 0 and adding up to 1. "
            "For class labels give a vector."
        )
    classes = np.arange(shares.shape[1]) if names is None else np.asarray(list(names))
    return ClassTargets(classes, None, shares / shares.sum(axis=1, keepdims=True))


def read_reals(y: Any, weights: np.ndarray) -> RealTargets:
    """A vector, or a matrix with a column per target."""
    if y is None:
        raise ValueError("This regressor requires y to be passed, but the target y is None.")
    targets = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    is_flat = targets.ndim == 1
    targets = targets.reshape(len(targets), -1)
    # Halve the numbers before summing, so that the mean of huge numbers does not overflow.
    largest = float(np.abs(targets).max(initial=0.0)) or 1.0
    mean = np.average(targets / largest, axis=0, weights=weights) * largest
    spread = targets / largest - mean / largest
    size = float(np.sqrt(np.average((spread**2).sum(axis=1), weights=weights)))
    scale = size * largest if size > 0 else 1.0
    return RealTargets(spread * (largest / scale), mean, scale, is_flat)
