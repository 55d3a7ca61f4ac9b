"""Measures of predictions that come in blocks: sums of fixed size, independent of the division into blocks.

Every measure has ``update(y, prediction, weights=None)``, ``merge(other)``, ``get()`` and ``reset()``. The value is nan
as long as it is not defined.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, Self

import numpy as np

LEAST_PROBABILITY = 1e-15

# Scores are binned by the bits of min(p, 1 - p), which are in the order of the numbers. Down to 2**-32 an octave has
# 256 bins, further down it is one, and 0 has its own. There are as many bins near 1 as near 0, and 1 - p is exact
# there, so scores that crowd at either end keep their order.
_FINE_BITS = 8
_HALF = 1022  # exponent of 0.5, as the bits of a double have it
_FINEST = _HALF - 31  # exponent of 2**-32
_SIDE_BINS = 1 + _FINEST + ((_HALF - _FINEST) << _FINE_BITS) + 1  # 0, octaves, bins of the finer octaves, 0.5
_N_BINS = 2 * _SIDE_BINS


class Measure(ABC):
    """A number for the quality of predictions, from rows that come in blocks.

    Attributes
    ----------
    name : what `prequential` calls it
    takes : what it is made of: predicted "labels" or "probabilities" of classes, or predicted "numbers"
    scale : measures of the same scale can be drawn over the same axis
    """

    name: ClassVar[str]
    takes: ClassVar[Literal["labels", "probabilities", "numbers"]]
    scale: ClassVar[str]

    def __init__(self) -> None:
        self.reset()

    def update(self, y: Any, prediction: Any, weights: Any = None) -> None:
        """Add rows.

        Parameters
        ----------
        y : (n,) numbers of the classes, counted from 0, or real targets
        prediction : (n, n_classes) probabilities, or (n,) numbers of classes or real predictions
            A class whose number is n_classes or more was given no probability.
        weights : (n,) weights of the rows, default=None: 1 each
        """
        is_class = self.takes != "numbers"
        y = np.asarray(y, dtype=np.int64 if is_class else np.float64)
        prediction = np.asarray(prediction)
        prediction = prediction.astype(np.int64 if is_class and prediction.ndim == 1 else np.float64, copy=False)
        if y.ndim != 1 or prediction.shape[:1] != y.shape or prediction.ndim > 2:
            raise ValueError(
                f"{type(self).__name__} takes y of shape (n,) and as many predictions. Got the shapes {y.shape} and "
                f"{prediction.shape}."
            )
        if weights is not None:
            weights = np.asarray(weights, dtype=np.float64)
            if weights.shape != y.shape:
                raise ValueError(f"weights must have the shape {y.shape} of y. Got the shape {weights.shape}.")
        if len(y):
            self._add(y, prediction, weights)

    @abstractmethod
    def _add(self, y: np.ndarray, prediction: np.ndarray, weights: np.ndarray | None) -> None:
        """Add rows, at least one, whose shapes were checked."""

    @abstractmethod
    def merge(self, other: Self) -> None:
        """Add all rows of another measure of this kind."""

    @abstractmethod
    def get(self) -> float:
        """The value over all rows since the beginning or the last `reset`; nan if it is not defined."""

    @abstractmethod
    def reset(self) -> None:
        """Forget all rows."""


class _MeanMeasure(Measure):
    """The mean of something that every row has."""

    def reset(self) -> None:
        """Forget all rows."""
        self._sum = 0.0
        self._weight = 0.0

    def _add(self, y: np.ndarray, prediction: np.ndarray, weights: np.ndarray | None) -> None:
        of_rows = self._of_rows(y, prediction)
        self._sum += float(of_rows.sum() if weights is None else of_rows @ weights)
        self._weight += _total(y, weights)

    def _of_rows(self, y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        """What is averaged, (n,)."""
        raise NotImplementedError

    def merge(self, other: Self) -> None:
        """Add all rows of another measure of this kind."""
        self._sum += other._sum
        self._weight += other._weight

    def get(self) -> float:
        """The mean over all rows."""
        return self._sum / self._weight if self._weight > 0 else np.nan


class Accuracy(_MeanMeasure):
    """Share of the rows whose most probable class is the right one.

    Examples
    --------
    >>> from softwood.stream.evaluation.measures import Accuracy
    >>> accuracy = Accuracy()
    >>> accuracy.update([0, 1, 1], [[0.8, 0.2], [0.4, 0.6], [0.7, 0.3]])
    >>> accuracy.update([0], [0])
    >>> accuracy.get()
    0.75
    """

    name, takes, scale = "accuracy", "labels", "share"

    def _of_rows(self, y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        return (_labels(prediction) == y).astype(np.float64)


class CrossEntropy(_MeanMeasure):
    """Mean of minus the natural logarithm of the probability that the right class was given.

    Rows of probabilities are divided by their sums, and no probability counts as less than 1e-15.
    """

    name, takes, scale = "cross_entropy", "probabilities", "nats"

    def _of_rows(self, y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        probabilities = _normalised(prediction, type(self).__name__)
        n_columns = probabilities.shape[1]
        has_column = y < n_columns
        if has_column.all():
            given = probabilities[np.arange(len(y)), y]
        else:
            given = np.zeros(len(y))
            given[has_column] = probabilities[np.flatnonzero(has_column), y[has_column]]
        return -np.log(np.clip(given, LEAST_PROBABILITY, 1.0))


class AUROC(Measure):
    """Area under the receiver operating characteristic, ties counted half.

    Of two classes it is that of the second. Of more it is the mean over the classes of which there are rows, each
    against all others. Scores are counted in some thousands of fixed bins, fine near 0 and near 1, and scores of the
    same bin are taken for ties.
    """

    name, takes, scale = "auroc", "probabilities", "share"

    def reset(self) -> None:
        """Forget all rows."""
        self._counts = np.zeros((0, 2, _N_BINS))  # class; other rows and rows of the class; bin
        self._weight = 0.0

    def _grow(self, n_classes: int) -> None:
        """Have counts for so many classes; to all rows before, a class that is new had the probability 0."""
        n_new = n_classes - len(self._counts)
        if n_new > 0:
            new = np.zeros((n_new, 2, _N_BINS))
            new[:, 0, 0] = self._weight
            self._counts = np.concatenate([self._counts, new])

    def _add(self, y: np.ndarray, prediction: np.ndarray, weights: np.ndarray | None) -> None:
        probabilities = _normalised(prediction, type(self).__name__)
        n_columns = probabilities.shape[1]
        self._grow(max(n_columns, int(y.max()) + 1))
        n_classes = len(self._counts)
        places = _bins(probabilities)
        places += np.arange(0, n_columns * 2 * _N_BINS, 2 * _N_BINS)
        has_column = y < n_columns
        places[np.flatnonzero(has_column), y[has_column]] += _N_BINS
        added = 1.0 if weights is None else np.repeat(weights, n_columns)
        np.add.at(self._counts.reshape(-1), places.reshape(-1), added)
        total = _total(y, weights)
        if n_classes > n_columns:  # classes that were given no probability
            of_class = np.bincount(y, weights, minlength=n_classes)[n_columns:]
            self._counts[n_columns:, 1, 0] += of_class
            self._counts[n_columns:, 0, 0] += total - of_class
        self._weight += total

    def merge(self, other: Self) -> None:
        """Add all rows of another measure of this kind."""
        n_other = len(other._counts)
        self._grow(n_other)
        self._counts[:n_other] += other._counts
        self._counts[n_other:, 0, 0] += other._weight
        self._weight += other._weight

    def get(self) -> float:
        """The area; nan unless there are rows of two classes."""
        n_classes = len(self._counts)
        if n_classes < 2:
            return np.nan
        areas = [self._area(k) for k in ([1] if n_classes == 2 else range(n_classes))]
        defined = [area for area in areas if area is not None]
        return float(np.mean(defined)) if defined else np.nan

    def _area(self, k: int) -> float | None:
        """Share of the pairs (row of the class, other row) in which the former has the higher score."""
        negative, positive = self._counts[k]
        used = np.flatnonzero(negative + positive)  # in a window, few of the bins
        negative, positive = negative[used], positive[used]
        n_negative, n_positive = negative.sum(), positive.sum()
        if n_negative <= 0 or n_positive <= 0:
            return None
        below = np.cumsum(negative) - 0.5 * negative
        return float(positive @ below / n_positive / n_negative)


class Kappa(Measure):
    """Cohen's kappa: how far the accuracy is above that of a guess with the same shares of classes, 1 at the most."""

    name, takes, scale = "kappa", "labels", "share"

    def reset(self) -> None:
        """Forget all rows."""
        self._confusion = np.zeros((0, 0))  # true class, predicted class

    def _grow(self, n_classes: int) -> None:
        n_new = n_classes - len(self._confusion)
        if n_new > 0:
            self._confusion = np.pad(self._confusion, ((0, n_new), (0, n_new)))

    def _add(self, y: np.ndarray, prediction: np.ndarray, weights: np.ndarray | None) -> None:
        labels = _labels(prediction)
        self._grow(int(max(y.max(), labels.max())) + 1)
        n = len(self._confusion)
        self._confusion += np.bincount(y * n + labels, weights, minlength=n * n).reshape(n, n)

    def merge(self, other: Self) -> None:
        """Add all rows of another measure of this kind."""
        n = len(other._confusion)
        self._grow(n)
        self._confusion[:n, :n] += other._confusion

    def get(self) -> float:
        """Kappa; nan if all rows are of one class and predicted so."""
        total = self._confusion.sum()
        if total <= 0:
            return np.nan
        observed = np.trace(self._confusion) / total
        expected = self._confusion.sum(axis=0) @ self._confusion.sum(axis=1) / total**2
        return float((observed - expected) / (1 - expected)) if expected < 1 else np.nan


class SkillMeasure(Measure):
    """How far the accuracy is above that of a baseline: 1 for no error, 0 as good as the baseline, below 0 worse.

    `update` takes two columns: the labels that the model predicted, and those of the baseline.

    Attributes
    ----------
    beside : name of the baseline, see `softwood.stream.evaluation.baselines`
    """

    takes, scale = "labels", "share"
    beside: ClassVar[str]

    def reset(self) -> None:
        """Forget all rows."""
        self._right = np.zeros(2)
        self._weight = 0.0

    def _add(self, y: np.ndarray, prediction: np.ndarray, weights: np.ndarray | None) -> None:
        if prediction.shape[1:] != (2,):
            raise ValueError(f"{type(self).__name__} takes the labels of a model and of its baseline, (n, 2).")
        is_right = prediction == y[:, None]
        self._right += is_right.sum(axis=0) if weights is None else weights @ is_right
        self._weight += _total(y, weights)

    def merge(self, other: Self) -> None:
        """Add all rows of another measure of this kind."""
        self._right += other._right
        self._weight += other._weight

    def get(self) -> float:
        """The skill; nan if the baseline makes no error."""
        wrong = self._weight - self._right
        return float(1.0 - wrong[0] / wrong[1]) if wrong[1] > 0 else np.nan


class KappaTemporal(SkillMeasure):
    """Skill beside the no-change classifier, which predicts the last label (Žliobaitė et al. 2015)."""

    name, beside = "kappa_temporal", "no_change"


class KappaM(SkillMeasure):
    """Skill beside the majority classifier, which predicts the most frequent label so far (Bifet et al. 2015)."""

    name, beside = "kappa_m", "majority"


class MAE(_MeanMeasure):
    """Mean absolute error."""

    name, takes, scale = "mae", "numbers", "target"

    def _of_rows(self, y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        return np.abs(y - prediction)


class RMSE(_MeanMeasure):
    """Square root of the mean squared error."""

    name, takes, scale = "rmse", "numbers", "target"

    def _of_rows(self, y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
        return np.square(y - prediction)

    def get(self) -> float:
        """The root; nan without rows."""
        return float(np.sqrt(super().get()))


class R2(Measure):
    """Coefficient of determination: 1 less the squared error as a part of that of the mean of the targets."""

    name, takes, scale = "r2", "numbers", "share"

    def reset(self) -> None:
        """Forget all rows."""
        self._squared_error = 0.0
        self._weight = 0.0
        self._mean = 0.0
        self._squares = 0.0  # squared distances of the targets from their mean

    def _add(self, y: np.ndarray, prediction: np.ndarray, weights: np.ndarray | None) -> None:
        weight = _total(y, weights)
        if weight <= 0:
            return
        w = np.ones(len(y)) if weights is None else weights
        # The first target is subtracted so that equal targets have a mean without rounding.
        mean = float(y[0] + w @ (y - y[0]) / weight)
        self._squared_error += float(w @ np.square(y - prediction))
        self._join(weight, mean, float(w @ np.square(y - mean)))

    def _join(self, weight: float, mean: float, squares: float) -> None:
        """Add the moments of other targets (Chan, Golub and LeVeque 1979)."""
        total = self._weight + weight
        apart = mean - self._mean
        if self._weight > 0:
            self._squares += squares + apart**2 * self._weight * weight / total
            self._mean += apart * weight / total
        else:
            self._squares, self._mean = squares, mean
        self._weight = total

    def merge(self, other: Self) -> None:
        """Add all rows of another measure of this kind."""
        if other._weight > 0:
            self._squared_error += other._squared_error
            self._join(other._weight, other._mean, other._squares)

    def get(self) -> float:
        """The coefficient; nan if the targets do not vary."""
        return 1 - self._squared_error / self._squares if self._squares > 0 else np.nan


# In the order in which they are shown.
MEASURES: dict[str, type[Measure]] = {
    measure.name: measure for measure in (Accuracy, AUROC, CrossEntropy, Kappa, KappaTemporal, KappaM, R2, MAE, RMSE)
}


def _total(y: np.ndarray, weights: np.ndarray | None) -> float:
    return float(len(y)) if weights is None else float(weights.sum())


def _labels(prediction: np.ndarray) -> np.ndarray:
    """Numbers of the predicted classes, (n,)."""
    return prediction.argmax(axis=1) if prediction.ndim == 2 else prediction


def _normalised(prediction: np.ndarray, owner: str) -> np.ndarray:
    """Probabilities that add up to 1 in each row, (n, n_classes); what is no number counts as 0."""
    if prediction.ndim != 2:
        raise ValueError(f"{owner} takes probabilities of shape (n, n_classes). Got the shape {prediction.shape}.")
    sums = prediction.sum(axis=1)
    if not np.isfinite(sums).all():
        prediction = np.nan_to_num(prediction, nan=0.0, posinf=1.0, neginf=0.0)
        sums = prediction.sum(axis=1)
    sums[sums <= 0] = 1.0
    return np.clip(prediction / sums[:, None], 0.0, 1.0)


def _bins(scores: np.ndarray) -> np.ndarray:
    """The bin of each score in [0, 1]: 0 for 0, the last one for 1, and in their order in between."""
    is_high = scores > 0.5
    # 1 - p of a p in [0.5, 1] has no rounding error
    rest = np.where(is_high, 1.0 - scores, scores)
    steps = rest.view(np.int64) >> (52 - _FINE_BITS)
    exponent = steps >> _FINE_BITS
    fine = steps - (_FINEST << _FINE_BITS) + _FINEST + 1
    place = np.where(exponent < _FINEST, exponent + (rest > 0), fine)
    return np.where(is_high, _N_BINS - 1 - place, place)
