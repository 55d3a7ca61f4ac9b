"""Validation rows, predicted by choices that other validation rows have made.

Gates are trained on the training rows, and validation rows choose among passes, descents and splits. So the losses of
these rows are too small for intervals and sets. The rows are therefore divided into parts. Beside the tree that all of
them choose, there is one for each part that the other parts choose among the same passes, descents and splits.
"""

from __future__ import annotations

import numpy as np

from softwood.compiled import gradient as loop
from softwood.gradient.data import LearningSet

# More parts leave more rows to choose, as the tree has them.
N_PARTS = 5


def parts_of(rows: np.ndarray) -> np.ndarray:
    """Parts of the validation rows with these numbers; the rows are shuffled."""
    return rows % N_PARTS


class Choice:
    """For each part, the gate and the values of a split with the smallest loss of the other parts.

    Parameters
    ----------
    begin : gate and values before the first descent
    """

    def __init__(self, begin: tuple[np.ndarray, np.ndarray]) -> None:
        self._losses = np.full(N_PARTS, np.inf)
        self.found = [begin] * N_PARTS

    def offer(self, losses: np.ndarray, gate: np.ndarray, values: np.ndarray) -> None:
        """Offer a split with these losses without each part, (N_PARTS,)."""
        better = np.flatnonzero(losses < self._losses)
        if len(better):
            self._losses[better] = losses[better]
            split = gate.copy(), values.copy()
            for part in better.tolist():
                self.found[part] = split


class CrossSelection:
    """The trees that are chosen without each part.

    Parameters
    ----------
    value : (q,) of the lone root
    """

    def __init__(self, validation: LearningSet, link: int, value: np.ndarray) -> None:
        n = len(validation)
        self._part = parts_of(np.arange(n))
        self._rows, self._link = validation, link
        self._outputs = np.tile(value, (N_PARTS, n, 1))
        self._leaves = {0: [(np.ones(n), value) for _ in range(N_PARTS)]}

    def split(self, node: int, children: tuple[int, int], choice: Choice, factor: float) -> None:
        """Split a leaf, for each part if the loss of the other parts falls below `factor` times what it is."""
        points = self._rows.points
        sides: tuple[list[tuple[np.ndarray, np.ndarray]], ...] = ([], [])
        for part, ((path, value), (gate, values)) in enumerate(zip(self._leaves.pop(node), choice.found, strict=True)):
            outputs = self._outputs[part]
            rest = outputs - path[:, None] * value
            shares, now = np.empty(len(path)), np.empty_like(rest)
            loop.split_outputs(points, rest, path, gate, values, shares, now)
            is_kept = self._loss(part, now) < self._loss(part, outputs) * factor
            if is_kept:
                self._outputs[part] = now
            for side, share, own in zip(sides, (shares, 1.0 - shares), values, strict=True):
                side.append((path * share if is_kept else np.zeros_like(path), own))
        self._leaves |= dict(zip(children, sides, strict=True))

    def _loss(self, part: int, outputs: np.ndarray) -> float:
        """Loss of the other parts; inf if there are none."""
        weights = self._rows.weights * (self._part != part)
        return loop.mean_loss(self._rows.targets, weights, self._link, outputs) if weights.any() else np.inf

    @property
    def outputs(self) -> np.ndarray:
        """Outputs of the validation rows by the trees without their parts, (n, q)."""
        return self._outputs[self._part, np.arange(len(self._part))]
