"""Losses of gradient boosting: start value, derivatives, link, and the leaf values where these are quantiles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.special import expit

from softwood.core.parameters import check_integer, is_real, parameter_error

# Less than half the distance from 1 to the next float, so that it does not change a sum with any undecided row; but a
# gradient of 1 divided by it, and the square of the quotient, are finite.
SMALLEST_HESSIAN = 1e-16

# Start values are limited to priors of at least this: raw scores of about -35 to 35, with hessians above the smallest.
SMALLEST_PRIOR = 1e-15

# exp(300) = 2e130, so that squares of sums over any number of rows are still finite.
LARGEST_LOG = 300.0

# Its exponential is near the largest float. Only for predictions: the square of the exponential is not finite.
LARGEST_PREDICTED_LOG = 709.0

# Targets whose largest absolute value is in this range are not rescaled: sums of their squares neither overflow nor
# vanish.
ORDINARY_TARGETS = 1e-100, 1e100

# Limit of the Newton steps of losses with a log link: a factor of 22 026 in odds or counts. In a leaf with a few rows
# of a class that is predicted to be nearly impossible, the quadratic model would give much larger steps; with many rare
# classes the loss then rose from round to round.
LARGEST_LOG_STEP = 10.0

# Cumulative weights that differ from the wanted quantile by less than this fraction of the total count as equal to it.
ROUNDING = 1e-12


class Loss(ABC):
    """A loss of the target and of raw scores, which boosting adds up and the link turns into predictions.

    In all methods `y` is (n,), `raw` is (n, n_scores), and `weights` is (n,), or None for all ones. A weight of 2 has
    the same effect as repeating the row.

    Attributes
    ----------
    n_scores : number of raw scores per row
    has_exact_leaves : whether the leaf values are Newton steps; if not, `leaf_value` computes them
    max_step : largest absolute leaf value

    Examples
    --------
    >>> import numpy as np
    >>> from softwood.core.losses import loss_by_name
    >>> loss = loss_by_name("log_loss", n_classes=2)
    >>> y = np.array([0.0, 1.0, 1.0, 1.0])
    >>> raw = np.tile(loss.start(y, None), (4, 1))
    >>> loss.predict(raw)[0]
    array([0.25, 0.75])
    >>> gradient, hessian = np.empty((4, 1)), np.empty((4, 1))
    >>> loss.gradients(y, raw, None, gradient, hessian)
    >>> gradient.ravel()
    array([ 0.75, -0.25, -0.25, -0.25])
    """

    n_scores: int = 1
    has_exact_leaves: bool = True
    max_step: float = np.inf

    def check_targets(self, y: np.ndarray) -> None:
        """Raise a ValueError if the loss is not defined for these targets."""
        if not np.isfinite(y).all():
            raise ValueError(f"The targets y of {type(self).__name__} must be finite. Got NaN or infinity.")

    @abstractmethod
    def start(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """The best constant raw score, (n_scores,); always finite."""

    def gradients(
        self, y: np.ndarray, raw: np.ndarray, weights: np.ndarray | None, gradient: np.ndarray, hessian: np.ndarray
    ) -> None:
        """Fill `gradient` and `hessian`, (n, n_scores), with the weighted derivatives with respect to `raw`.

        Both are float64. `hessian` is the diagonal of the Hessian, at least `SMALLEST_HESSIAN` times the weight.
        """
        self._fill_derivatives(y, raw, gradient, hessian)
        np.maximum(hessian, SMALLEST_HESSIAN, out=hessian)
        if weights is not None:
            gradient *= weights[:, None]
            hessian *= weights[:, None]

    def value(self, y: np.ndarray, raw: np.ndarray, weights: np.ndarray | None) -> float:
        """Weighted mean of the loss."""
        losses = self.row_losses(y, raw)
        return float(losses.mean() if weights is None else (losses * weights).sum() / weights.sum())

    def hessian_unit(self, y: np.ndarray, weights: np.ndarray) -> float:
        """What the second derivatives are proportional to, if they depend on the unit of the targets; otherwise 1."""
        return 1.0

    def out_of_unit(self, base: np.ndarray, values: np.ndarray, unit: float) -> tuple[np.ndarray, np.ndarray]:
        """Start value and leaf values for the targets, from those for the targets divided by `unit`."""
        return base * unit, values * unit

    def predict(self, raw: np.ndarray) -> np.ndarray:
        """Predictions from raw scores: (n,), which are the scores, or class probabilities (n, n_classes)."""
        return raw[:, 0].copy()

    def predict_gradient(self, raw: np.ndarray, raw_gradient: np.ndarray) -> np.ndarray:
        """Derivatives of the predictions from those of the raw scores, by the chain rule.

        Parameters
        ----------
        raw : (n, n_scores)
        raw_gradient : (n, n_scores, p) derivatives with respect to any p variables

        Returns
        -------
        (n, n_outputs, p), of the outputs of `predict`
        """
        return raw_gradient

    def leaf_value(self, residuals: np.ndarray, weights: np.ndarray | None, score: int = 0) -> float:
        """The best constant to add to the raw scores of rows with these residuals ``y - raw``, both (n,).

        0 if no row has a weight. Only for losses without exact leaves. `score` is the number of the raw score.
        """
        raise NotImplementedError(f"Leaf values of {type(self).__name__} are Newton steps.")

    @abstractmethod
    def _fill_derivatives(self, y: np.ndarray, raw: np.ndarray, gradient: np.ndarray, hessian: np.ndarray) -> None:
        """Fill both with derivatives that are not weighted yet."""

    @abstractmethod
    def row_losses(self, y: np.ndarray, raw: np.ndarray) -> np.ndarray:
        """The loss of each row, (n,)."""


class SquaredError(Loss):
    """Half the squared error; raw scores are predictions."""

    def start(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """The mean, (1,)."""
        return np.array([np.average(y, weights=weights)])

    def _fill_derivatives(self, y: np.ndarray, raw: np.ndarray, gradient: np.ndarray, hessian: np.ndarray) -> None:
        np.subtract(raw[:, 0], y, out=gradient[:, 0])
        hessian.fill(1.0)

    def row_losses(self, y: np.ndarray, raw: np.ndarray) -> np.ndarray:
        """The loss of each row, (n,)."""
        return 0.5 * (raw[:, 0] - y) ** 2


class _PiecewiseLinearError(Loss):
    """An error with one slope for raw scores above the target and one for those below.

    The second derivative is 0; as usual, the weight is used in its place.
    """

    has_exact_leaves = False

    def __init__(self, slope_above: float, slope_below: float) -> None:
        self._slope_above = slope_above
        self._slope_below = slope_below

    def start(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """The median or quantile, (1,)."""
        return np.array([self.leaf_value(y, weights)])

    def leaf_value(self, residuals: np.ndarray, weights: np.ndarray | None, score: int = 0) -> float:
        """The median or quantile of the residuals; the middle of the interval if it is not unique."""
        part = self._slope_below / (self._slope_below + self._slope_above)
        return _quantile(residuals, part) if weights is None else _weighted_quantile(residuals, weights, part)

    def _fill_derivatives(self, y: np.ndarray, raw: np.ndarray, gradient: np.ndarray, hessian: np.ndarray) -> None:
        # 1 or 0, stored in the output arrays
        is_above, is_below = gradient[:, 0], hessian[:, 0]
        np.greater(raw[:, 0], y, out=is_above)
        np.less(raw[:, 0], y, out=is_below)
        gradient *= self._slope_above
        hessian *= self._slope_below
        gradient -= hessian
        hessian.fill(1.0)

    def row_losses(self, y: np.ndarray, raw: np.ndarray) -> np.ndarray:
        """The loss of each row, (n,)."""
        residuals = y - raw[:, 0]
        return np.maximum(self._slope_below * residuals, -self._slope_above * residuals)


class AbsoluteError(_PiecewiseLinearError):
    """The absolute error; raw scores are predictions of the median."""

    def __init__(self) -> None:
        super().__init__(1.0, 1.0)


class QuantileError(_PiecewiseLinearError):
    """The pinball loss; raw scores are predictions of a quantile.

    Parameters
    ----------
    quantile : the quantile to predict: the fraction of targets below the prediction, in (0, 1)
    """

    def __init__(self, quantile: float) -> None:
        if not is_real(quantile) or not 0 < quantile < 1:
            raise parameter_error(self, "quantile", "a number in the range (0, 1)", quantile)
        super().__init__(1.0 - quantile, float(quantile))
        self.quantile = float(quantile)


class SeveralQuantilesError(Loss):
    """The sum of the pinball losses of several quantiles; there is a raw score for each.

    Parameters
    ----------
    quantiles : the quantiles to predict, each in (0, 1), in rising order
    """

    has_exact_leaves = False

    def __init__(self, quantiles: Sequence[float]) -> None:
        self._parts = [QuantileError(quantile) for quantile in quantiles]
        self.quantile = tuple(part.quantile for part in self._parts)
        if not self._parts or any(left >= right for left, right in pairwise(self.quantile)):
            raise parameter_error(self, "quantiles", "numbers in the range (0, 1), in rising order", quantiles)
        self.n_scores = len(self._parts)

    def start(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """The quantiles, (n_quantiles,)."""
        return np.concatenate([part.start(y, weights) for part in self._parts])

    def predict(self, raw: np.ndarray) -> np.ndarray:
        """The raw scores in rising order, (n, n_quantiles).

        Quantiles that are learned apart may cross. Sorting them never makes the loss larger.
        """
        return np.sort(raw, axis=1)

    def predict_gradient(self, raw: np.ndarray, raw_gradient: np.ndarray) -> np.ndarray:
        """The derivatives in the order of the raw scores, (n, n_quantiles, p)."""
        order = np.argsort(raw, axis=1, kind="stable")
        return np.take_along_axis(raw_gradient, order[:, :, None], axis=1)

    def leaf_value(self, residuals: np.ndarray, weights: np.ndarray | None, score: int = 0) -> float:
        """The quantile of the residuals that belongs to the raw score."""
        return self._parts[score].leaf_value(residuals, weights)

    def _fill_derivatives(self, y: np.ndarray, raw: np.ndarray, gradient: np.ndarray, hessian: np.ndarray) -> None:
        for k, part in enumerate(self._parts):
            one = slice(k, k + 1)
            part._fill_derivatives(y, raw[:, one], gradient[:, one], hessian[:, one])

    def row_losses(self, y: np.ndarray, raw: np.ndarray) -> np.ndarray:
        """The sum of the losses of all quantiles, (n,)."""
        losses = [part.row_losses(y, raw[:, k : k + 1]) for k, part in enumerate(self._parts)]
        return np.sum(losses, axis=0)


class PoissonDeviance(Loss):
    """Half the Poisson deviance without the terms that depend only on `y`; raw scores are logarithms of predictions.

    In training, raw scores are clipped at `LARGEST_LOG`.
    """

    max_step = LARGEST_LOG_STEP

    def check_targets(self, y: np.ndarray) -> None:
        """Raise a ValueError unless all targets are at least 0 and some are larger."""
        super().check_targets(y)
        if y.min() < 0:
            raise ValueError(f"The targets y of PoissonDeviance must be at least 0. Got {y.min()}.")
        if y.max() == 0:
            raise ValueError("Some of the targets y of PoissonDeviance must be above 0. All are 0.")

    def start(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """The logarithm of the mean, (1,)."""
        return np.log([max(np.average(y, weights=weights), SMALLEST_PRIOR)])

    def predict(self, raw: np.ndarray) -> np.ndarray:
        """Expected counts, (n,); (n, n_targets) from the raw scores of several targets."""
        counts = np.exp(np.minimum(raw, LARGEST_PREDICTED_LOG))
        return counts[:, 0] if counts.shape[1] == 1 else counts

    def predict_gradient(self, raw: np.ndarray, raw_gradient: np.ndarray) -> np.ndarray:
        """The derivatives of the expected counts, (n, n_targets, p)."""
        slopes = np.where(raw <= LARGEST_PREDICTED_LOG, self.predict(raw).reshape(raw.shape), 0.0)
        return slopes[:, :, None] * raw_gradient

    def hessian_unit(self, y: np.ndarray, weights: np.ndarray) -> float:
        """The mean target."""
        return float(np.average(y, weights=weights))

    def out_of_unit(self, base: np.ndarray, values: np.ndarray, unit: float) -> tuple[np.ndarray, np.ndarray]:
        """The same leaf values, which are logarithms, and another start value."""
        return base + np.log(unit), values

    def _fill_derivatives(self, y: np.ndarray, raw: np.ndarray, gradient: np.ndarray, hessian: np.ndarray) -> None:
        np.minimum(raw, LARGEST_LOG, out=hessian)
        np.exp(hessian, out=hessian)
        np.subtract(hessian[:, 0], y, out=gradient[:, 0])

    def row_losses(self, y: np.ndarray, raw: np.ndarray) -> np.ndarray:
        """The loss of each row, (n,)."""
        log_count = np.minimum(raw[:, 0], LARGEST_LOG)
        return np.exp(log_count) - y * log_count


class BinaryLogLoss(Loss):
    """Cross-entropy of two classes; `y` is 0, 1 or the probability of the second, raw scores are its log odds."""

    max_step = LARGEST_LOG_STEP

    def check_targets(self, y: np.ndarray) -> None:
        """Raise a ValueError unless all targets are in [0, 1]."""
        super().check_targets(y)
        if y.min() < 0 or y.max() > 1:
            raise ValueError(
                "The targets y of BinaryLogLoss must be probabilities of the second class, in [0, 1]. "
                f"Got values from {y.min()} to {y.max()}."
            )

    def start(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """The log odds of the prior, (1,)."""
        prior = np.average(y, weights=weights)
        return np.log([max(prior, SMALLEST_PRIOR) / max(1.0 - prior, SMALLEST_PRIOR)])

    def predict(self, raw: np.ndarray) -> np.ndarray:
        """Class probabilities, (n, 2)."""
        probabilities = np.empty((len(raw), 2))
        # not as 1 minus the other, which would lose all digits of a small probability
        expit(-raw[:, 0], out=probabilities[:, 0])
        expit(raw[:, 0], out=probabilities[:, 1])
        return probabilities

    def predict_gradient(self, raw: np.ndarray, raw_gradient: np.ndarray) -> np.ndarray:
        """The derivatives of both probabilities, (n, 2, p)."""
        second = self.predict(raw).prod(axis=1)[:, None, None] * raw_gradient
        return np.concatenate([-second, second], axis=1)

    def _fill_derivatives(self, y: np.ndarray, raw: np.ndarray, gradient: np.ndarray, hessian: np.ndarray) -> None:
        expit(raw, out=gradient)
        np.subtract(1.0, gradient, out=hessian)
        hessian *= gradient
        gradient[:, 0] -= y

    def row_losses(self, y: np.ndarray, raw: np.ndarray) -> np.ndarray:
        """The loss of each row, (n,)."""
        score = raw[:, 0]
        return np.maximum(score, 0.0) - y * score + np.log1p(np.exp(-np.abs(score)))


class SoftmaxLogLoss(Loss):
    """Cross-entropy of any number of classes; raw scores are log probabilities up to a constant per row.

    `y` holds the number of the class of each row, (n,) int32, or its class probabilities, (n, n_classes).

    Parameters
    ----------
    n_classes : number of classes, including those that no row has
    """

    max_step = LARGEST_LOG_STEP

    def __init__(self, n_classes: int) -> None:
        check_integer(self, "n_classes", n_classes, low=1)
        self.n_scores = int(n_classes)

    def check_targets(self, y: np.ndarray) -> None:
        """Raise a ValueError unless these are numbers of classes, or rows of class probabilities."""
        super().check_targets(y)
        if y.ndim == 1:
            if y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= self.n_scores:
                raise ValueError(
                    f"Labels y of SoftmaxLogLoss must be integers from 0 to {self.n_scores - 1}. "
                    f"Got {y.dtype} values from {y.min()} to {y.max()}."
                )
        elif y.shape != (len(y), self.n_scores):
            raise ValueError(f"A matrix y of SoftmaxLogLoss must have {self.n_scores} columns. Got shape {y.shape}.")
        elif y.min() < 0 or not np.allclose(y.sum(axis=1), 1.0, rtol=0, atol=1e-6):
            raise ValueError("Rows of a matrix y of SoftmaxLogLoss must be at least 0 and add up to 1.")

    def start(self, y: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Logarithms of the priors, (n_classes,), with mean 0."""
        if y.ndim == 1:
            mass = np.bincount(y, weights=weights, minlength=self.n_scores)
            priors = mass / mass.sum()
        else:
            priors = np.average(y, axis=0, weights=weights)
        logs = np.log(np.maximum(priors, SMALLEST_PRIOR))
        return logs - logs.mean()

    def predict(self, raw: np.ndarray) -> np.ndarray:
        """Class probabilities, (n, n_classes)."""
        probabilities = np.empty(raw.shape)
        _softmax(raw, probabilities)
        return probabilities

    def predict_gradient(self, raw: np.ndarray, raw_gradient: np.ndarray) -> np.ndarray:
        """The derivatives of the probabilities, (n, n_classes, p)."""
        return softmax_gradient(self.predict(raw), raw_gradient)

    def _fill_derivatives(self, y: np.ndarray, raw: np.ndarray, gradient: np.ndarray, hessian: np.ndarray) -> None:
        _softmax(raw, gradient)
        np.subtract(1.0, gradient, out=hessian)
        hessian *= gradient
        if y.ndim == 2:
            gradient -= y
        else:
            gradient[np.arange(len(y)), y] -= 1.0

    def row_losses(self, y: np.ndarray, raw: np.ndarray) -> np.ndarray:
        """The loss of each row, (n,)."""
        below_largest = raw - _row_maxima(raw)[:, None]
        if y.ndim == 2:
            of_truth = (y * below_largest).sum(axis=1)
        else:
            of_truth = below_largest[np.arange(len(y)), y]
        return np.log(np.exp(below_largest).sum(axis=1)) - of_truth


def softmax_gradient(probabilities: np.ndarray, raw_gradient: np.ndarray) -> np.ndarray:
    """Derivatives of the softmax, (n, n_classes, p), from its values (n, n_classes) and those of the raw scores."""
    p = probabilities[:, :, None]
    return p * (raw_gradient - (p * raw_gradient).sum(axis=1, keepdims=True))


def unit_of(y: np.ndarray) -> float:
    """Unit to divide the targets by: 1, or a power of two if their squares would overflow or vanish."""
    largest = float(np.abs(y).max(initial=0.0))
    low, high = ORDINARY_TARGETS
    return 1.0 if largest == 0.0 or low <= largest <= high else float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1))


def loss_by_name(
    name: str, n_classes: int | None = None, quantile: float | list[float] | tuple[float, ...] | None = None
) -> Loss:
    """The loss of this name.

    Parameters
    ----------
    name : "squared_error", "absolute_error", "quantile", "poisson" or "log_loss"
    n_classes : for "log_loss", which has one score for two classes and a score per class otherwise
    quantile : for "quantile", in (0, 1), or several in rising order
    """
    if name == "quantile":
        if quantile is None:
            raise ValueError("The loss 'quantile' needs a quantile, a number in the range (0, 1). Got None instead.")
        return SeveralQuantilesError(quantile) if isinstance(quantile, list | tuple) else QuantileError(quantile)
    if name == "log_loss":
        if n_classes is None:
            raise ValueError("The loss 'log_loss' needs n_classes, the number of classes. Got None instead.")
        return BinaryLogLoss() if n_classes == 2 else SoftmaxLogLoss(n_classes)
    plain: dict[str, type[Loss]] = {
        "squared_error": SquaredError,
        "absolute_error": AbsoluteError,
        "poisson": PoissonDeviance,
    }
    if name not in plain:
        known = ", ".join(repr(known) for known in [*plain, "quantile", "log_loss"])
        raise ValueError(f"A loss must be one of {known}. Got {name!r} instead.")
    return plain[name]()


def _quantile(values: np.ndarray, part: float) -> float:
    """The middle of all values that have at most `part` of the rows below and at most the rest above."""
    n = len(values)
    if n == 0:
        return 0.0
    low = max(int(np.ceil((part - ROUNDING) * n)) - 1, 0)
    high = min(int(np.floor((part + ROUNDING) * n)), n - 1)
    ordered = np.partition(values, (low, high))
    return float(0.5 * ordered[low] + 0.5 * ordered[high])


def _weighted_quantile(values: np.ndarray, weights: np.ndarray, part: float) -> float:
    """As `_quantile`, with weights."""
    counts = weights > 0
    if not counts.all():
        values, weights = values[counts], weights[counts]
    if len(values) == 0:
        return 0.0
    order = np.argsort(values)
    mass = np.cumsum(weights[order])
    # The first value that reaches the quantile, and the first beyond it; usually they are the same.
    low = np.searchsorted(mass, (part - ROUNDING) * mass[-1], side="left")
    high = min(np.searchsorted(mass, (part + ROUNDING) * mass[-1], side="right"), len(values) - 1)
    return float(0.5 * values[order[low]] + 0.5 * values[order[high]])


def _row_maxima(matrix: np.ndarray) -> np.ndarray:
    """Largest entry of each row; column by column, unless there are many: numpy is slow along short rows."""
    if matrix.flags.c_contiguous and matrix.shape[1] >= 16:
        return matrix.max(axis=1)
    largest = matrix[:, 0].copy()
    for column in matrix.T[1:]:
        np.maximum(largest, column, out=largest)
    return largest


def _softmax(raw: np.ndarray, out: np.ndarray) -> None:
    np.subtract(raw, _row_maxima(raw)[:, None], out=out)
    np.exp(out, out=out)
    out /= np.einsum("ij->i", out)[:, None]
