"""Training rows with predictions by models that did not learn from them: what `fit` leaves for intervals and sets."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from softwood.uncertainty.folds import equal_rows

# So many rows are kept at most.
MOST_ROWS = 20_000
# In tables of at most so many cells, they are predicted when they are first needed.
FEW_CELLS = 1_000_000


def own_copies(n_cells: int, *data: Any) -> Any:
    """What the held-out rows of a small table are predicted from later: arrays of the user may change until then."""
    return deepcopy(data) if n_cells <= FEW_CELLS else data


@dataclass(frozen=True)
class HeldOut:
    """Rows and their predictions by models that did not learn from them.

    Attributes
    ----------
    matrix : (n, p) encoded rows
    predictions : (n, n_outputs)
    truth : (n, n_targets) targets, or probabilities of the classes
    weights : (n,) how many rows each counts for
    scale : size of the errors of the finished model on new rows, as an estimated part of that of these errors
    """

    matrix: np.ndarray
    predictions: np.ndarray
    truth: np.ndarray
    weights: np.ndarray
    scale: float = 1.0

    @property
    def mean_error(self) -> float:
        """Mean size of the errors of a regressor."""
        return float(np.average(np.abs(self.truth - self.predictions).mean(axis=1), weights=self.weights))

    @classmethod
    def of(cls, matrix: np.ndarray, predictions: np.ndarray, truth: np.ndarray, weights: np.ndarray) -> HeldOut | None:
        """Those of some rows that have a finite prediction and a weight; None if there are none."""
        rows = np.flatnonzero(np.isfinite(predictions).all(axis=1) & (weights > 0))
        if len(rows) > MOST_ROWS:  # drawn by content, so that a weight has the same effect as repeated rows
            first, place = equal_rows(matrix[rows])
            rows = rows[np.random.default_rng(0).permutation(len(first))[place] < MOST_ROWS]
        if not len(rows):
            return None
        return cls(matrix[rows], predictions[rows], truth[rows], weights[rows])

    @classmethod
    def together(cls, parts: Iterable[HeldOut | None]) -> HeldOut | None:
        """Several of them as one."""
        found = [part for part in parts if part is not None]
        if not found:
            return None
        names = ("matrix", "predictions", "truth", "weights")
        matrix, predictions, truth, weights = (
            np.concatenate([getattr(part, name) for part in found]) for name in names
        )
        return cls(matrix, predictions, truth, weights)
