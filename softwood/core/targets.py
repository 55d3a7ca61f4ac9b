"""Targets of the training rows, classes or real numbers: all that differs between a classifier and a regressor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d

from softwood.core.tables import is_missing_value, refuse_masked

# Smallest scale of real targets, as a part of the distance of the furthest one from the mean.
SMALLEST_SCALE = 1e-60


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

    def in_units(self, scaled: np.ndarray) -> np.ndarray:
        """The same: probabilities have no unit."""
        return scaled


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

    def in_units(self, scaled: np.ndarray) -> np.ndarray:
        """Numbers on the scale of `matrix` in the user's units."""
        return self.mean + self.scale * scaled


def read_labels(y: Any, name: str = "y") -> np.ndarray:
    """Labels, (n,), none of them missing; `name` is the user's name for them, for errors."""
    refuse_masked(y, name)
    labels = column_or_1d(np.asarray(y), warn=True)
    if labels.dtype.kind == "O":
        cells = labels.tolist()
        if any(map(is_missing_value, cells)):
            raise ValueError(f"Input {name} contains NaN or None; every row needs a class.")
        if len({type(cell) for cell in cells}) == 1 and isinstance(cells[0], bool | np.bool_ | int | np.integer):
            labels = np.array(cells)
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise ValueError(f"Input {name} contains NaN or infinity; every row needs a class.")
    return labels


def find_classes(labels: np.ndarray, name: str = "y") -> tuple[np.ndarray, np.ndarray]:
    """The different labels, and the number of each row's."""
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError:  # they have no order
        kinds = ", ".join(sorted({type(label).__name__ for label in labels.tolist()}))
        raise ValueError(
            f"{name} must be labels of one type. Got {kinds} instead. Convert them, for example to text with "
            f"{name}.astype(str)."
        ) from None


def read_classes(y: Any, known: np.ndarray | None = None, name: str = "y") -> ClassTargets:
    """Labels (a vector), or a matrix of class probabilities (an array, or a frame with a column per class).

    Parameters
    ----------
    known : the classes, if they have been read before, and these are further rows
    name : the user's name for `y`, for errors
    """
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] > 1:
        found = _fuzzy(y)
    else:
        labels = read_labels(y)
        classes, codes = find_classes(labels)
        if known is None:  # warns if there are many classes for these rows
            check_classification_targets(labels)
        found = ClassTargets(classes, codes.astype(np.int32), None)
    return found if known is None else found.numbered_as(known, name)


def _fuzzy(y: Any) -> ClassTargets:
    names = getattr(y, "columns", None)
    refuse_masked(y, "y")
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
    refuse_masked(y, "y")
    try:
        targets = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        raise ValueError(f"A regressor needs numbers as y: {error}. For classes, use the classifier.") from None
    is_flat = targets.ndim == 1
    targets = targets.reshape(len(targets), -1)
    # Divide by the largest number before summing, so that the mean of huge numbers does not overflow.
    largest = float(np.abs(targets).max(initial=0.0)) or 1.0
    mean = np.average(targets / largest, axis=0, weights=weights) * largest
    spread = targets / largest - mean / largest
    size = float(np.sqrt(np.average((spread**2).sum(axis=1), weights=weights)))
    scale = scale_of(size, float(np.abs(spread[weights > 0]).max(initial=0.0))) * largest
    return RealTargets(spread * (largest / scale), mean, scale, is_flat)


def scale_of(deviation: float, furthest: float) -> float:
    """Scale of real targets: their standard deviation; 1 if they are all the same.

    The deviation is tiny compared with the distance of the furthest target from the mean if nearly all weight is on
    equal targets. Then this distance limits it, so that fourth powers of scaled targets do not overflow.
    """
    return max(deviation, SMALLEST_SCALE * furthest) or 1.0
