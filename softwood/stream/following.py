"""Intervals and sets of stream models, from the errors on the rows before they are learned."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import NotFittedError

from softwood.stream.adaptive_scores import AdaptiveScores
from softwood.uncertainty.calibration import ErrorCalibration
from softwood.uncertainty.spread import Spread


def error_scores(predictions: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Scores of a regressor: errors, (n,)."""
    return targets - predictions[:, 0]


def share_scores(predictions: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Scores of a classifier: 1 minus the probability of the class, (n,)."""
    return 1.0 - predictions[np.arange(len(codes)), codes]


def as_sets(probabilities: np.ndarray, bound: float, *, allow_empty: bool) -> np.ndarray:
    """Classes whose score is at most the bound, (n, n_classes) bool."""
    sets = 1.0 - probabilities <= bound
    if not allow_empty and sets.shape[1]:
        sets[np.arange(len(sets)), probabilities.argmax(axis=1)] = True
    return sets


class FollowedErrors:
    """What models for scikit-learn and for river share."""

    _errors: AdaptiveScores | None = None
    _has_tails: ClassVar[bool] = True

    def follow_errors(self, coverages: Any = 0.9, *, window: int = 500, rate: float = 0.01) -> Self:
        """Follow the errors from now on, for intervals and sets: each row is predicted before it is learned.

        Intervals and sets are those of adaptive conformal inference (Gibbs and Candès, 2021): they come from the errors
        on the latest rows, and widen after rows that they have missed. So they cover what was asked for over a long
        time, in streams that drift too.

        Parameters
        ----------
        coverages : float or sequence of float, default=0.9
            Coverages that `predict_interval` or `predict_set` can be asked for, in (0, 1).
        window : int, default=500
            Number of the latest errors that are kept.
        rate : float, default=0.01
            How fast the levels adapt. Larger values follow drift faster, and make widths less even. With 0, intervals
            come from the latest errors alone.

        Returns
        -------
        model
            The model itself.
        """
        self._errors = AdaptiveScores.of(self, coverages, window, rate, has_tails=self._has_tails)
        return self

    @property
    def _followed(self) -> AdaptiveScores:
        if self._errors is None:
            raise NotFittedError(
                f"This {type(self).__name__} does not follow its errors, which intervals and sets need. Call "
                "follow_errors() before it learns."
            )
        return self._errors

    @property
    def followed_coverage(self) -> dict[float, float]:
        """Share of the rows so far whose interval or set contained the truth, by the coverage that is followed."""
        found = self._followed
        return {
            coverage: n / found.n_rows if found.n_rows else np.nan
            for coverage, n in zip(found.coverages.tolist(), found.n_covered.tolist(), strict=True)
        }

    def _as_calibration(self) -> ErrorCalibration:
        """The latest errors, as those of any calibration."""
        recent = self._followed.recent
        if not len(recent):
            raise NotFittedError(f"This {type(self).__name__} has followed no row yet.")
        spread = Spread(np.ones(1), None)
        return ErrorCalibration(recent[:, None].copy(), np.ones(len(recent)), None, None, False, spread)
