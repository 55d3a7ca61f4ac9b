"""Baselines on a stream: the last label or target, and the most frequent label or the mean."""

from __future__ import annotations

import numpy as np

from softwood.stream.evaluation.learners import Outcome

# In the order in which they are shown; the second of a regressor is the mean.
BASELINES = ("no_change", "majority")


class Baselines:
    """Predictions from the labels or targets alone, of rows that have come before.

    Parameters
    ----------
    is_class : whether these are codes of classes, or real targets
    delay : rows after which the label or target of a row is known
    """

    def __init__(self, is_class: bool, delay: int = 0) -> None:
        self._is_class = is_class
        self._delay = delay
        self._tail = np.empty(0, dtype=np.int64 if is_class else np.float64)
        self._counts = np.zeros(0)
        self._best = -1
        self._n, self._sum = 0, 0.0

    def predict(self, y: np.ndarray) -> dict[str, Outcome]:
        """Predictions for the next rows, by baseline, and remember the rows.

        Parameters
        ----------
        y : (n,) codes of their classes, or their targets
        """
        together = np.concatenate([self._tail, y])
        # what becomes known right before each row; the first rows of all have nothing before them
        places = np.arange(len(y)) + len(self._tail) - 1 - self._delay
        is_known = places >= 0
        arriving = together[np.maximum(places, 0)]
        self._tail = together[max(0, len(together) - 1 - self._delay) :]
        if self._is_class:
            return self._classes(y, arriving, is_known)
        return self._targets(y, arriving, is_known)

    def _classes(self, y: np.ndarray, arriving: np.ndarray, is_known: np.ndarray) -> dict[str, Outcome]:
        n_classes = max(len(self._counts), int(arriving.max(initial=-1)) + 1)
        counts = np.append(self._counts, np.zeros(n_classes - len(self._counts)))
        added = np.zeros((n_classes, len(y)), dtype=np.int64)  # whole numbers are added up faster
        added[arriving, np.arange(len(y))] = is_known
        before = counts[:, None] + np.cumsum(added, axis=1)
        total = counts.sum() + np.cumsum(is_known)
        is_scored = total > 0
        shares = np.ascontiguousarray((before / np.where(is_scored, total, 1.0)).T)
        majority = self._majority(counts, before, arriving)
        if len(y):
            self._counts = before[:, -1].copy()
        return {
            "no_change": Outcome(y, is_known, arriving, None, None, 0.0, None),
            "majority": Outcome(y, is_scored, majority, shares, None, 0.0, None),
        }

    def _majority(self, counts: np.ndarray, before: np.ndarray, arriving: np.ndarray) -> np.ndarray:
        """The most frequent class before each row; of equally frequent ones that which was so first.

        Parameters
        ----------
        counts, before : (n_classes,) rows of each class so far, and (n_classes, n) the same before each row
        """
        rows = np.arange(len(arriving))
        if not len(rows):
            return rows
        own = before[arriving, rows]
        largest = np.maximum.accumulate(np.append(counts.max(), own))
        is_new = own > largest[:-1]  # the class that arrives makes a new largest number
        last = np.maximum.accumulate(np.where(is_new, rows, -1))
        found = np.where(last >= 0, arriving[last], self._best)
        self._best = int(found[-1])
        return found

    def _targets(self, y: np.ndarray, arriving: np.ndarray, is_known: np.ndarray) -> dict[str, Outcome]:
        n = self._n + np.cumsum(is_known)
        total = self._sum + np.cumsum(np.where(is_known, arriving, 0.0))
        if len(y):
            self._n, self._sum = int(n[-1]), float(total[-1])
        means = total / np.maximum(n, 1)
        return {
            "no_change": Outcome(y, is_known, None, None, arriving, 0.0, None),
            "majority": Outcome(y, n > 0, None, None, means, 0.0, None),
        }
