"""A linear trend beside a kernel tree, or beside boosting: a weighted sum of columns, to which trees add the rest.

Columns are chosen one after the other, each the one that explains most of what is left of the targets, as long as the
squared error of held-out rows falls. Class scores are then those of a logistic regression on these columns. Beyond the
range of the training rows, a column has the value at the end of the range. A missing value counts as the mean.

Along one column, such a function is that of a stump with a box kernel as wide as the range. So a model with a trend is
a `SoftForest` that adds up, and everything that works on forests works on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from softwood.core.targets import RealTargets
from softwood.kernel.choosing.bandwidth import content_folds
from softwood.kernel.data.preparation import TrainingData
from softwood.kernel.data.row_keys import row_numbers
from softwood.kernel.refining import SMALLEST_SCALE, DistinctRows, Learned
from softwood.trees.nodes import KernelShapes
from softwood.trees.tree import SoftTree

# The largest number of columns to choose from: those with the largest correlations.
CANDIDATES = 100
# Weight, in rows, of the penalty on a change of the targets by one standard deviation of a column.
RIDGE = 1.0
# A column whose part that others do not explain is smaller than this is not added.
COLLINEAR = 1e-6
# Ranges end at most so many standard deviations from the median: values beyond are outliers.
REACH = 20.0
FOLDS = 5


@dataclass(frozen=True)
class Size:
    """How many columns a trend has.

    Attributes
    ----------
    most : the largest number of columns
    worth : columns are added as long as they explain this part of what all of them explain
    """

    most: int
    worth: float


# A tree is read together with its trend.
READABLE = Size(8, 0.01)
# Of the logistic regression: the penalty on the intercept compared with that on slopes, the largest number of steps,
# the smallest part of a step that is tried, and the decrease of the loss that ends it.
INTERCEPT, NEWTON_STEPS, SMALLEST_STEP, CONVERGED = 1e-3, 20, 1e-3, 1e-6


@dataclass(frozen=True)
class Trend:
    """A linear function of some columns, each limited to a range.

    Attributes
    ----------
    columns : (k,) numbers of the columns
    low, high, mean, spread : (k,) ranges, means and standard deviations of the columns
    slopes : (k, n_outputs) change of the outputs per unit of a column
    base : (n_outputs,) outputs where all columns have their means
    """

    columns: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mean: np.ndarray
    spread: np.ndarray
    slopes: np.ndarray
    base: np.ndarray

    def predict(self, matrix: np.ndarray) -> np.ndarray:
        """Outputs for encoded rows, (n, n_outputs)."""
        return self.base + (_standardised(matrix[:, self.columns], self) * self.spread) @ self.slopes

    @property
    def largest(self) -> float:
        """No output is larger than this number."""
        reach = np.maximum(self.high - self.mean, self.mean - self.low)
        return float((np.abs(self.base) + reach @ np.abs(self.slopes)).max()) * (1.0 + 1e-9)

    def scaled(self, mean: np.ndarray, scale: float) -> Trend:
        """The trend of targets in the user's units, which have this mean and scale."""
        return replace(self, slopes=self.slopes * scale, base=mean + scale * self.base)

    def output(self, k: int) -> Trend:
        """That of one output."""
        return replace(self, slopes=self.slopes[:, [k]], base=self.base[[k]])

    def explained(self, scale: float) -> np.ndarray:
        """Variance of the outputs, in units of `scale`, that each column would explain alone, (k,)."""
        return ((self.spread[:, None] * (self.slopes / scale)) ** 2).sum(axis=1)

    def stumps(self, n_features: int, mass: float, shapes: KernelShapes, gains: np.ndarray) -> list[SoftTree]:
        """A stump for each column. They add up to the trend without its base.

        Parameters
        ----------
        gains : (k,) decrease of the impurity by each column
        """
        out = []
        for j, low, high, mean, slope, gain in zip(
            self.columns.tolist(), self.low, self.high, self.mean, self.slopes, gains, strict=True
        ):
            left = (high - mean) / (high - low)
            out.append(
                SoftTree.from_nodes(
                    children_left=[1, -1, -1],
                    children_right=[2, -1, -1],
                    feature=[j, -1, -1],
                    threshold=[low / 2 + high / 2, np.nan, np.nan],
                    width=[high / 2 - low / 2, 0.0, 0.0],
                    missing_left=[left, 0.5, 0.5],
                    value=[0.0 * slope, (low - mean) * slope, (high - mean) * slope],
                    mass=[mass, left * mass, (1.0 - left) * mass],
                    impurity=[float(gain), 0.0, 0.0],
                    n_features=n_features,
                    shapes=shapes,
                )
            )
        return out


@dataclass(frozen=True)
class HeldOutTrend:
    """Trends that were fitted without the rows that they predict.

    Attributes
    ----------
    trend : fitted to all rows;  without_fold : fitted to all rows but those of one fold
    numbers : of all rows, see `row_numbers`, with this seed: their ranks tell the folds
    """

    trend: Trend
    without_fold: list[Trend]
    numbers: np.ndarray
    seed: int
    is_class: bool

    def predict(self, matrix: np.ndarray) -> np.ndarray:
        """Scaled targets, or scores of classes, of each row, by a trend of other rows, (n, n_outputs)."""
        fold = np.searchsorted(self.numbers, row_numbers(matrix, self.seed)) % len(self.without_fold)
        out = np.empty((len(matrix), len(self.trend.base)))
        for k, trend in enumerate(self.without_fold):
            rows = np.flatnonzero(fold == k)
            out[rows] = trend.predict(matrix[rows])
        return out

    def scaled(self, mean: np.ndarray, scale: float) -> HeldOutTrend:
        """The trends of targets in the user's units, see `Trend.scaled`."""
        return replace(
            self,
            trend=self.trend.scaled(mean, scale),
            without_fold=[own.scaled(mean, scale) for own in self.without_fold],
        )

    def residuals(self, matrix: np.ndarray, truth: np.ndarray) -> np.ndarray:
        """What these predictions leave of scaled targets, or of class probabilities, (n, n_outputs)."""
        return Learned.beside(truth, self.is_class, self.predict(matrix)).residuals()

    def data(self, data: TrainingData) -> TrainingData:
        """The rows with residuals as targets for a tree."""
        residuals = self.residuals(data.matrix, data.targets.matrix())
        scale = data.targets.scale if isinstance(data.targets, RealTargets) else 1.0
        targets = RealTargets(residuals, np.zeros(residuals.shape[1]), scale, is_flat=False)
        return replace(data, targets=targets, criterion="squared_error")

    @property
    def largest(self) -> float:
        """No prediction is larger than this number."""
        return max(trend.largest for trend in self.without_fold)


def held_out_trend(
    data: TrainingData, is_candidate: np.ndarray, seed: int, size: Size = READABLE
) -> HeldOutTrend | None:
    """The trend of some rows; None if no column explains anything of held-out rows.

    Parameters
    ----------
    is_candidate : (p,) columns to choose from; categories are left out
    """
    scale = data.targets.scale if isinstance(data.targets, RealTargets) else 1.0
    # In the units of the targets, the slope of a narrower column might overflow.
    candidates = np.flatnonzero((data.deviations > max(1.0, scale) * SMALLEST_SCALE) & is_candidate)
    rows = DistinctRows.of(data.matrix, None, Learned.of(data.targets), data.weights, seed)
    folds = [test for _, test in content_folds(rows.points, FOLDS, seed)]
    if len(folds) < 2 or len(candidates) == 0:
        return None
    truth, is_class = rows.learned.truth, rows.learned.is_class
    candidates = _best_correlated(rows, candidates, data.deviations)
    ranges = _Ranges.of(rows, candidates, data.deviations)
    Z = _standardised(rows.points[:, candidates], ranges)
    moments = [_moments(Z[fold], truth[fold], rows.weights[fold]) for fold in folds]
    orders, n = _choose(moments, Z.shape[1], size)
    if n == 0:
        return None

    def fitted(chosen: np.ndarray, train: np.ndarray) -> Trend:
        """The trend of some of the columns and rows."""
        own, Y, weights = Z[train][:, chosen], truth[train], rows.weights[train]
        if is_class:
            found = _logistic(own, Y, weights)
            found = found[:, 1:] - found[:, :1] if found.shape[1] == 2 else found
        else:
            found = _ridge(_moments(own, Y, weights), np.arange(n), n)
        return Trend(
            candidates[chosen], ranges.low[chosen], ranges.high[chosen], ranges.mean[chosen], ranges.spread[chosen],
            found[1:] / ranges.spread[chosen, None], found[0],
        )  # fmt: skip

    trend = fitted(np.sort(orders[-1][:n]), np.arange(len(truth)))
    without_fold = [
        fitted(order[:n], np.sort(np.concatenate([fold for i, fold in enumerate(folds) if i != k])))
        for k, order in enumerate(orders[: len(folds)])
    ]
    return HeldOutTrend(trend, without_fold, np.unique(row_numbers(rows.points, seed)), seed, is_class)


@dataclass(frozen=True)
class _Ranges:
    """Ranges, means and standard deviations of columns."""

    low: np.ndarray
    high: np.ndarray
    mean: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, rows: DistinctRows, columns: np.ndarray, deviations: np.ndarray) -> _Ranges:
        matrix, spread = rows.points[:, columns], deviations[columns]
        known = ~np.isnan(matrix)
        weights = known * (rows.weights / rows.weights.max())[:, None]
        low, high = np.nanmin(matrix, axis=0), np.nanmax(matrix, axis=0)
        for j in np.flatnonzero(high / spread - low / spread > REACH):
            middle = _median(matrix[known[:, j], j], weights[known[:, j], j])
            low[j] = max(low[j], middle - REACH * spread[j])
            high[j] = min(high[j], middle + REACH * spread[j])
        scaled = np.where(known, np.clip(matrix, low, high) / spread, 0.0)
        mean = (weights * scaled).sum(axis=0) / weights.sum(axis=0) * spread
        return cls(low, high, mean, spread)


def _median(values: np.ndarray, weights: np.ndarray) -> float:
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(cumulated, 0.5 * cumulated[-1])]])


def _standardised(matrix: np.ndarray, ranges: _Ranges | Trend) -> np.ndarray:
    """Columns within their ranges, in standard deviations from the mean, 0 where missing."""
    z = np.clip(matrix, ranges.low, ranges.high) / ranges.spread - ranges.mean / ranges.spread
    return np.where(np.isnan(z), 0.0, z)


def _best_correlated(rows: DistinctRows, columns: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """At most `CANDIDATES` of some columns: those with the largest correlations with the targets."""
    if len(columns) <= CANDIDATES:
        return columns
    Z = _standardised(rows.points[:, columns], _Ranges.of(rows, columns, deviations))
    truth = rows.learned.truth
    spread = truth - np.average(truth, axis=0, weights=rows.weights)
    merit = (((Z * rows.weights[:, None]).T @ spread) ** 2).sum(axis=1)
    return columns[np.sort(np.argsort(-merit, kind="stable")[:CANDIDATES])]


def _moments(Z: np.ndarray, truth: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted sums of products of 1, the columns and the targets."""
    both = np.column_stack([np.ones(len(Z)), Z, truth])
    return (both * weights[:, None]).T @ both


def _choose(moments: Sequence[np.ndarray], p: int, size: Size) -> tuple[list[np.ndarray], int]:
    """Columns in the order of their choice, without each fold and from all rows, and the best number of them."""
    total = np.sum(moments, axis=0)
    orders = [_forward(total - fold, p, size.most) for fold in moments] + [_forward(total, p, size.most)]
    most = min(map(len, orders))
    losses = np.zeros(most + 1)
    for fold, order in zip(moments, orders, strict=False):
        for k in range(most + 1):
            found = _ridge(total - fold, order[:k], p)
            used = np.concatenate([[0], 1 + order[:k]])
            cross, own = fold[used, 1 + p :], fold[np.ix_(used, used)]
            losses[k] += np.trace(fold[1 + p :, 1 + p :]) - 2 * (found * cross).sum() + (found * (own @ found)).sum()
    least = losses.min()
    return orders, int(np.flatnonzero(losses <= least + size.worth * (losses[0] - least))[0])


def _forward(total: np.ndarray, p: int, most: int) -> np.ndarray:
    """Columns in the order in which each explains most of what is left of the targets."""
    left = _without(total, 0)
    own = np.diag(left)[1 : 1 + p].copy()
    order: list[int] = []
    while len(order) < min(most, p):
        rest = np.diag(left)[1 : 1 + p]
        is_open = (rest > COLLINEAR * own) & (own > 0)
        is_open[order] = False
        if not is_open.any():
            break
        merit = np.where(is_open, (left[1 : 1 + p, 1 + p :] ** 2).sum(axis=1) / np.where(is_open, rest, 1.0), -1.0)
        order.append(int(merit.argmax()))
        left = _without(left, 1 + order[-1])
    return np.array(order, dtype=np.int64)


def _without(moments: np.ndarray, j: int) -> np.ndarray:
    """Moments of what a column does not explain."""
    return moments - np.outer(moments[:, j], moments[j]) / moments[j, j]


def _ridge(moments: np.ndarray, columns: np.ndarray, p: int) -> np.ndarray:
    """Coefficients (1 + k, n_outputs) of the intercept and of some of `p` columns."""
    used = np.concatenate([[0], 1 + columns])
    penalty = np.full(len(used), RIDGE)
    penalty[0] = 0.0
    return np.linalg.solve(moments[np.ix_(used, used)] + np.diag(penalty), moments[used, 1 + p :])


def _logistic(Z: np.ndarray, truth: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Coefficients (1 + k, n_classes) of a logistic regression, by Newton steps of all classes at once."""
    A, q = np.column_stack([np.ones(len(Z)), Z]), truth.shape[1]
    prior = (weights @ truth + 1.0 / q) / (weights.sum() + 1.0)
    start = np.zeros((A.shape[1], q))
    start[0] = np.log(prior) - np.log(prior).mean()
    penalty = np.full(A.shape[1], RIDGE)
    penalty[0] = INTERCEPT * RIDGE

    def loss_of(found: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss, and the probabilities."""
        scores = A @ found
        scores -= scores.max(axis=1, keepdims=True)
        parts = np.exp(scores)
        total = parts.sum(axis=1, keepdims=True)
        loss = weights @ (np.log(total[:, 0]) - (scores * truth).sum(axis=1))
        return loss + 0.5 * penalty @ ((found - start) ** 2).sum(axis=1), parts / total

    found, (loss, parts) = start, loss_of(start)
    for _ in range(NEWTON_STEPS):
        slope = A.T @ ((parts - truth) * weights[:, None]) + penalty[:, None] * (found - start)
        step = np.empty_like(found)
        for k in range(q):
            curved = (A * (weights * parts[:, k] * (1.0 - parts[:, k]))[:, None]).T @ A + np.diag(penalty)
            step[:, k] = np.linalg.solve(curved, slope[:, k]) * ((q - 1) / q)  # the scores of two classes move apart
        size, (lower, after) = 1.0, loss_of(found - step)
        while lower > loss and size > SMALLEST_STEP:
            size /= 2
            lower, after = loss_of(found - size * step)
        if not lower < loss:
            break
        is_done = loss - lower < CONVERGED * loss
        found, loss, parts = found - size * step, lower, after
        if is_done:
            break
    return found
