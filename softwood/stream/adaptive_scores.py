"""Scores of the latest rows of a stream, and levels that follow how often the truth was covered.

Adaptive conformal inference (Gibbs and Candès, 2021): after each row, the share of rows that an interval may miss is
raised if it contained the truth, and lowered if not. So the coverage over a long time is that asked for, however the
stream changes.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softwood.core.arrays import all_finite, require_array
from softwood.core.parameters import check_count, check_number
from softwood.uncertainty.levels import check_coverage


@dataclass
class AdaptiveScores:
    """Scores of the latest rows, and the level of each coverage.

    Attributes
    ----------
    coverages : (k,) the coverages that are followed
    window : number of scores that are kept
    rate : change of a level after a row
    has_tails : whether both large and small scores are missed, as with errors; if not, only large ones
    recent : (n,) the latest scores, oldest first
    levels : (k,) shares that may be missed; at most 0 stands for intervals that contain everything
    n_rows, n_covered : rows so far, and how many of them were covered, (k,)
    """

    coverages: np.ndarray
    window: int
    rate: float
    has_tails: bool
    recent: np.ndarray
    levels: np.ndarray
    n_rows: int
    n_covered: np.ndarray
    _ordered: list[float] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        require_array("coverages", self.coverages, np.float64, (None,))
        for name, dtype in (("levels", np.float64), ("n_covered", np.int64)):
            require_array(name, getattr(self, name), dtype, self.coverages.shape)
        require_array("recent", self.recent, np.float64, (None,))
        if not all_finite(self.recent) or not all_finite(self.levels) or len(self.recent) > self.window:
            raise ValueError("recent and levels must be finite, and recent no longer than the window.")
        self._ordered = sorted(self.recent.tolist())

    @classmethod
    def of(cls, owner: object, coverages: Any, window: Any, rate: Any, *, has_tails: bool) -> AdaptiveScores:
        """No scores yet; checks the parameters."""
        listed = (
            [coverages] if not isinstance(coverages, Sequence | np.ndarray) or isinstance(coverages, str) else coverages
        )
        wanted = np.array(sorted({check_coverage(coverage) for coverage in np.asarray(listed, dtype=object).tolist()}))
        if not len(wanted):
            raise ValueError("coverages must hold at least one number.")
        window = check_count(owner, "window", window, low=2)
        rate = check_number(owner, "rate", rate, low=0.0, high=1.0)
        return cls(wanted, window, rate, has_tails, np.empty(0), 1.0 - wanted, 0, np.zeros(len(wanted), np.int64))

    def emptied(self) -> AdaptiveScores:
        """The same without scores."""
        k = len(self.coverages)
        return AdaptiveScores(
            self.coverages, self.window, self.rate, self.has_tails, np.empty(0), 1.0 - self.coverages, 0,
            np.zeros(k, np.int64),
        )  # fmt: skip

    def place(self, coverage: Any) -> int:
        """Number of a coverage among those that are followed."""
        wanted = check_coverage(coverage)
        found = np.flatnonzero(np.isclose(self.coverages, wanted, rtol=0, atol=1e-12))
        if not len(found):
            shown = ", ".join(f"{known:g}" for known in self.coverages)
            raise ValueError(
                f"coverage must be one of those that the stream follows: {shown}. Got {wanted:g} instead. Pass others "
                "to follow_errors."
            )
        return int(found[0])

    def bounds(self, k: int) -> tuple[float, float]:
        """The smallest and the largest score that a coverage contains; infinite without enough scores."""
        missed = float(self.levels[k])
        if missed >= 1.0:
            return np.inf, -np.inf
        scores, n = self._ordered, len(self._ordered)
        tail = 0.5 * missed if self.has_tails else missed
        rank = int(np.ceil((n + 1) * (1.0 - tail) - 1e-9)) - 1
        if missed <= 0.0 or rank >= n:
            return -np.inf, np.inf
        return (scores[n - 1 - rank] if self.has_tails else -np.inf), scores[rank]

    def add(self, scores: np.ndarray) -> None:
        """Follow rows with these scores, in their order."""
        recent, ordered = self.recent.tolist(), self._ordered
        for score in scores[np.isfinite(scores)].tolist():
            for k, coverage in enumerate(self.coverages.tolist()):
                low, high = self.bounds(k)
                is_covered = low <= score <= high
                self.levels[k] += self.rate * ((1.0 - coverage) - (not is_covered))
                self.n_covered[k] += is_covered
            self.n_rows += 1
            insort(ordered, score)
            recent.append(score)
            if len(ordered) > self.window:
                ordered.pop(bisect_left(ordered, recent[-1 - self.window]))
        self.recent = np.array(recent[-self.window :])
