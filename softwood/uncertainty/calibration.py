"""Scores of calibration rows, and the intervals and sets that follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from softwood.core.arrays import all_finite, require_array
from softwood.uncertainty.distribution import Distribution
from softwood.uncertainty.groups import Groups
from softwood.uncertainty.levels import quantiles_of_new, upper_bounds, warn_of_few
from softwood.uncertainty.spread import Spread

# Distributions have so many values, at evenly spaced levels.
N_VALUES = 200


@dataclass(frozen=True)
class Calibration:
    """Scores of rows that the model did not learn from.

    Attributes
    ----------
    scores : (n, n_outputs)
    weights : (n,) above 0; a weight of 2 counts as two rows
    groups, members : the groups with their own coverage, and the number of each row's; None: all rows are one group
    is_cross : whether the rows were held out from models like this one, and not from this one
    """

    scores: np.ndarray
    weights: np.ndarray
    groups: Groups | None
    members: np.ndarray | None
    is_cross: bool

    def __post_init__(self) -> None:
        require_array("scores", self.scores, np.float64, (len(self.weights), None))
        require_array("weights", self.weights, np.float64, (len(self.weights),))
        if not len(self.weights) or not all_finite(self.scores) or not all_finite(self.weights):
            raise ValueError("scores and weights of a calibration must be finite.")
        if np.any(self.weights <= 0):
            raise ValueError("weights of a calibration must be above 0.")
        if (self.groups is None) != (self.members is None):
            raise ValueError("A calibration has groups and members, or neither.")
        if self.members is not None:
            require_array("members", self.members, np.int64, (len(self.weights),))

    def bounds(self, output: int, level: float, members: np.ndarray | None, sign: float = 1.0) -> np.ndarray:
        """Upper bound of `sign` times the score of each new row, given their groups; of size 1 without groups."""
        key = output, level, sign
        if key not in self._bounds:  # sorting takes longer than a small tree predicts
            n_groups = 0 if self.groups is None else self.groups.n_groups
            scores = sign * self.scores[:, output]
            self._bounds[key] = upper_bounds(scores, self.weights, level, self.members, n_groups)
        return self._bounds[key] if members is None else self._bounds[key][members]

    @cached_property
    def _bounds(self) -> dict[tuple[int, float, float], np.ndarray]:
        """Bounds that have been asked for."""
        return {}


@dataclass(frozen=True)
class ErrorCalibration(Calibration):
    """Calibration of a regressor: scores are errors (truth minus prediction) divided by the local spread.

    Attributes
    ----------
    spread : the local spread
    """

    spread: Spread

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scores.shape[1] != len(self.spread.unit):
            raise ValueError("The spread does not fit the scores.")

    def ends(
        self,
        matrix: np.ndarray,
        predictions: np.ndarray,
        coverage: float,
        members: np.ndarray | None,
        sources: tuple[np.ndarray, np.ndarray],
    ) -> np.ndarray:
        """Ends of the intervals, (n, 2, n_targets).

        Each end leaves out half of ``1 - coverage``.

        Parameters
        ----------
        sources : for the lower and the upper ends, the outputs that they are measured from, (n_targets,) each
        """
        level = 0.5 + 0.5 * coverage
        spread = self.spread.of(matrix, predictions)
        low, high = (
            np.column_stack(
                [
                    predictions[:, k] + sign * self.bounds(k, level, members, sign) * spread[:, k]
                    for k in outputs.tolist()
                ]
            )
            for sign, outputs in zip((-1.0, 1.0), sources, strict=True)
        )
        if not all_finite(low) or not all_finite(high):
            warn_of_few(self.weights, level, coverage, "intervals are infinite")
        return np.stack([np.minimum(low, high), np.maximum(low, high)], axis=1)  # quantiles of boosting may cross

    def distribution(self, matrix: np.ndarray, predictions: np.ndarray, levels: np.ndarray | None) -> Distribution:
        """Distributions of one target; `levels` are those of the outputs, if these are quantiles."""
        wanted = (np.arange(N_VALUES) + 0.5) / N_VALUES
        outputs = np.zeros(N_VALUES, np.int64)
        if levels is not None:
            outputs = np.abs(levels - wanted[:, None]).argmin(axis=1)
        values = np.sort(self.quantiles(matrix, predictions, wanted, outputs), axis=1)
        return Distribution(values, np.full((1, N_VALUES), 1.0 / N_VALUES))

    def quantiles(
        self, matrix: np.ndarray, predictions: np.ndarray, levels: np.ndarray, outputs: np.ndarray
    ) -> np.ndarray:
        """Quantiles at these levels in rising order, each measured from one of the outputs, (n, n_levels)."""
        spread = self.spread.of(matrix, predictions)
        found = np.empty((len(predictions), len(levels)))
        for k in np.unique(outputs).tolist():
            own = outputs == k
            scores = quantiles_of_new(self.scores[:, k], self.weights, levels[own])
            found[:, own] = predictions[:, k, None] + spread[:, k, None] * scores
        return found


@dataclass(frozen=True)
class ShareCalibration(Calibration):
    """Calibration of a classifier: the score of a row is 1 minus the probability of its class."""

    def sets(
        self, probabilities: np.ndarray, coverage: float, members: np.ndarray | None, *, allow_empty: bool
    ) -> np.ndarray:
        """Classes in the set of each row, (n, n_classes) bool."""
        bounds = self.bounds(0, coverage, members)
        if np.isinf(bounds).any():
            warn_of_few(self.weights, coverage, coverage, "sets contain all classes")
        is_in = 1.0 - probabilities <= bounds[:, None]
        if not allow_empty:
            is_in[np.arange(len(is_in)), probabilities.argmax(axis=1)] = True
        return is_in
