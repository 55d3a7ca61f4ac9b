"""Rows of a stream as the compiled loops take them."""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.compiled.stream import Rows

# What the loops get if predictions are not needed.
NO_PREDICTIONS = np.empty((0, 0))


def as_rows(
    points: np.ndarray, out: np.ndarray, targets: np.ndarray | None = None, weights: np.ndarray | None = None, *,
    is_class: bool = False,
) -> Any:  # fmt: skip
    """The tuple `softwood.stream.loops.layout.Rows`, compiled; without targets and weights for predictions.

    With `is_class`, targets are int64 numbers of classes, else float64.
    """
    return Rows(points, targets if is_class else None, None if is_class else targets, weights, out)


class OneRow:
    """A single row, in arrays that are reused for the next one, so that the argument of the loops is made once.

    Parameters
    ----------
    points : (1, n_features) float64 in C order, nan where missing
    targets : (1,) int64 number of the class, or float64 target
    weights : (1,) weight, which may be changed
    out : (1, n_outputs) gets the prediction; `NO_PREDICTIONS` if it is not needed

    Attributes
    ----------
    rows : all of them as the loops take them
    values, outputs : (n_features,) those of `points`, and (n_outputs,) those of `out`, empty if these are not needed
    """

    __slots__ = ("out", "outputs", "points", "rows", "targets", "values", "weights")

    def __init__(self, points: np.ndarray, targets: np.ndarray, weights: np.ndarray, out: np.ndarray) -> None:
        self.points, self.targets, self.weights, self.out = points, targets, weights, out
        self.values, self.outputs = points[0], out.reshape(-1)
        self.rows = as_rows(points, out, targets, weights, is_class=targets.dtype.kind == "i")

    def __reduce__(self) -> tuple:
        return OneRow, (self.points, self.targets, self.weights, self.out)

    @classmethod
    def empty(cls, n_features: int, n_outputs: int, *, is_class: bool) -> OneRow:
        """Arrays for a row; without predictions if `n_outputs` is 0."""
        targets = np.zeros(1, dtype=np.int64 if is_class else np.float64)
        out = np.empty((1, n_outputs)) if n_outputs else NO_PREDICTIONS
        return cls(np.empty((1, n_features)), targets, np.ones(1), out)
