"""Training data of gradient-trained trees: standardised inputs, merged rows, a validation part.

A weight of 2 means the row twice, also for learners that visit rows one by one. So equal rows are merged into one row
with the sum of their weights, and sorted by content before the seed shuffles them. Weighted and repeated data, in any
order, then give the same tree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softwood.core.arrays import require_array
from softwood.core.targets import ClassTargets, RealTargets
from softwood.gradient.loops.soft_split import IDENTITY, LOGISTIC, SOFTMAX, Rows

# Columns that vary less than this are taken as constant.
SMALLEST_SCALE = 1e-303
# A row with more than this part of the weight of its class is both a training row and a validation row.
HEAVY = 0.05


@dataclass(frozen=True)
class LearningSet:
    """Training rows or validation rows.

    Attributes
    ----------
    points : (n, d) standardised inputs, none missing
    targets : (n, q) scaled reals, or class shares: of the second class if there are two, else of all
    weights : (n,) with mean 1
    """

    points: np.ndarray
    targets: np.ndarray
    weights: np.ndarray

    def __len__(self) -> int:
        return len(self.points)

    @property
    def arrays(self) -> Rows:
        """The named tuple that the loops take."""
        return Rows(self.points, self.targets, self.weights)

    def take(self, rows: np.ndarray) -> LearningSet:
        """Some of the rows, with weights scaled to mean 1."""
        return LearningSet(self.points[rows], self.targets[rows], with_mean_1(self.weights[rows]))

    def take_raw(self, rows: np.ndarray) -> LearningSet:
        """Some of the rows with their weights as they are."""
        return LearningSet(self.points[rows], self.targets[rows], self.weights[rows])


@dataclass(frozen=True)
class Scaling:
    """Weighted mean and standard deviation of each column.

    A missing value counts as the mean, which is 0 after standardising, so it does not affect any gate. The standard
    deviation of a column that is constant or entirely missing counts as infinite, so the column does not, either.
    """

    center: np.ndarray
    scale: np.ndarray

    def __post_init__(self) -> None:
        require_array("center", self.center, np.float64, (None,))
        require_array("scale", self.scale, np.float64, self.center.shape)
        if not np.all(np.isfinite(self.center)) or not np.all(self.scale > 0.0):
            raise ValueError("center must be finite, and scale above 0.")

    @classmethod
    def of(cls, matrix: np.ndarray, weights: np.ndarray) -> Scaling:
        """The scaling of these rows; columns of huge numbers do not overflow."""
        weights = weights / weights.max()  # equal weights are 1, whatever their unit
        known = ~np.isnan(matrix)
        largest = np.max(np.abs(np.where(known, matrix, 0.0)), axis=0)
        largest[largest == 0.0] = 1.0
        parts = np.where(known, matrix / largest, 0.0)
        mass = np.maximum(weights @ known, np.finfo(float).tiny)
        mean = (weights @ parts) / mass
        spread = np.sqrt((weights @ np.where(known, (parts - mean) ** 2, 0.0)) / mass)
        scale = spread * largest
        # The spread is only rounding, or so small that weights in the user's units would overflow.
        is_flat = (spread <= 1e-14) | (scale < SMALLEST_SCALE)
        return cls(mean * largest, np.where(is_flat, np.inf, scale))

    @property
    def spread(self) -> np.ndarray:
        """Standard deviations, 0 for columns that are not used."""
        return np.where(np.isfinite(self.scale), self.scale, 0.0)

    def standardise(self, matrix: np.ndarray) -> np.ndarray:
        """Columns with mean 0 and standard deviation 1, missing values 0."""
        with np.errstate(over="ignore"):
            points = matrix / self.scale - self.center / self.scale
        return np.nan_to_num(points, nan=0.0, copy=False)

    def restore(self, points: np.ndarray) -> np.ndarray:
        """Columns in their own units, from standardised ones; columns that are not used have their means."""
        return self.center + points * self.spread

    def fill(self, matrix: np.ndarray) -> np.ndarray:
        """Replace missing values by the mean."""
        missing = np.isnan(matrix)
        return np.where(missing, self.center, matrix) if missing.any() else matrix

    def fold_back(self, gates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights (n, d) and biases (n,) for the user's units, from gates (n, d + 1) for standardised inputs."""
        weights = gates[:, :-1] / self.scale
        return weights, gates[:, -1] - gates[:, :-1] @ (self.center / self.scale)


def link_of(targets: ClassTargets | RealTargets) -> int:
    """What the root's output passes: nothing, the logistic function, or the softmax."""
    if isinstance(targets, RealTargets):
        return IDENTITY
    return LOGISTIC if len(targets.classes) == 2 else SOFTMAX


def outputs_of(targets: ClassTargets | RealTargets) -> np.ndarray:
    """Targets as the loops take them, (n, q)."""
    matrix = targets.matrix()
    if link_of(targets) == LOGISTIC:
        matrix = matrix[:, 1:]
    return np.ascontiguousarray(matrix)


def with_all_classes(rows: LearningSet, link: int) -> LearningSet:
    """The same rows with a target for each class, also if there are two."""
    if link != LOGISTIC:
        return rows
    return LearningSet(rows.points, np.column_stack([1.0 - rows.targets, rows.targets]), rows.weights)


def together(a: LearningSet, b: LearningSet, mass_a: float, mass_b: float) -> LearningSet:
    """The rows of both, with weights in proportion to their masses, and mean 1."""
    weights = np.concatenate([a.weights * (mass_a / a.weights.sum()), b.weights * (mass_b / b.weights.sum())])
    return LearningSet(
        np.concatenate([a.points, b.points]), np.concatenate([a.targets, b.targets]), with_mean_1(weights)
    )


def with_mean_1(weights: np.ndarray) -> np.ndarray:
    """Weights with mean 1, without their last bits: equal weights stay equal, whatever their unit.

    Otherwise descent could make visible differences of differences by rounding.
    """
    parts, exponents = np.frexp(weights / weights.max())
    rounded = np.ldexp(np.round(parts * 2.0**40) / 2.0**40, exponents)
    return rounded / rounded.mean()


def merge_rows(matrix: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each different row once, with the sum of its weights, in rising order, first by the first column.

    The order does not depend on the units of the columns: another positive factor gives the same.

    Returns
    -------
    numbers of the rows that stay, and the weight of each
    """
    table = np.ascontiguousarray(np.concatenate([matrix, targets], axis=1) + 0.0)  # -0.0 is 0.0
    table[np.isnan(table)] = np.nan  # one of the many ways to write it
    # Bytes that compare like the numbers: of a negative one all bits are turned, of others the sign.
    bits = table.view(np.int64)
    bits ^= (bits >> 63) | np.int64(-(2**63))
    keys = bits.astype(">i8").view(np.dtype((np.void, table.itemsize * table.shape[1]))).ravel()
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    return first, np.bincount(number.ravel(), weights=weights)


def divide_rows(
    weights: np.ndarray, labels: np.ndarray | None, fraction: float, rng: np.random.Generator
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Rows to learn from with their weights, and rows to validate on with theirs.

    Merged rows go one way or the other as a whole, see `validation_rows`. But of tables with few different rows, such
    as those of categories, that would take away what a row stands for: if it is a large part of its class, and repeated
    so often that both sides get one, its weight is divided.
    """
    groups = np.zeros(len(weights), dtype=np.int64) if labels is None else labels
    is_heavy = weights > HEAVY * np.bincount(groups, weights=weights)[groups]
    is_heavy &= weights * min(fraction, 1.0 - fraction) >= 1.0
    light, heavy = np.flatnonzero(~is_heavy), np.flatnonzero(is_heavy)
    sides = validation_rows(len(light), None if labels is None else labels[light], fraction, rng)
    rows, held_out = (rng.permutation(np.concatenate([light[side], heavy])) for side in sides)
    part = np.where(is_heavy, fraction, 1.0)
    rest = np.where(is_heavy, 1.0 - fraction, 1.0)
    return (rows, (weights * rest)[rows]), (held_out, (weights * part)[held_out])


def validation_rows(
    n: int, labels: np.ndarray | None, fraction: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from and rows to validate on, both shuffled; each class is divided in the same way.

    Parameters
    ----------
    labels : (n,) classes, or None
    fraction : part of the rows, of each class, that validates; of two rows or more at least one does, and every class
        keeps a row to learn from, unless all classes have a single one
    """
    order = rng.permutation(n)
    groups = np.zeros(n, dtype=np.int64) if labels is None else labels
    held_out = np.zeros(n, dtype=bool)
    for group in np.unique(groups):
        members = order[groups[order] == group]
        held_out[members[: min(round(fraction * len(members)), len(members) - 1)]] = True
    if n > 1 and not held_out.any():
        largest = np.bincount(groups).argmax()
        held_out[order[groups[order] == largest][0]] = True
    return order[~held_out[order]], order[held_out[order]]


def visits(rows: np.ndarray, weights: np.ndarray, number: int, n_before: int, rng: np.random.Generator) -> np.ndarray:
    """The next `number` rows of online descent, after `n_before` others: each as often as its weight says, on average.

    A weight is a number of visits, not a longer step, so that steps are as stable as without weights. With equal
    weights the rows follow in their order, again and again.
    """
    chosen = weights[rows]
    if np.ptp(chosen) <= 1e-9 * chosen.max():
        return rows.take(np.arange(n_before, n_before + number), mode="wrap")
    ends = np.cumsum(chosen)
    marks = (np.arange(number) + rng.random()) * (ends[-1] / number)
    return rng.permutation(rows[np.minimum(np.searchsorted(ends, marks, side="right"), len(rows) - 1)])
