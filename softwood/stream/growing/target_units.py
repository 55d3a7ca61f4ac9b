"""Real targets of any size: a growing tree learns them in a unit in which their squares are floats."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from softwood.core.losses import ORDINARY_TARGETS, unit_of
from softwood.stream.growing.rows import OneRow
from softwood.stream.growing.tree import GrowingTree


class RealGrowingTree(GrowingTree):
    """A growing tree for real targets.

    Attributes
    ----------
    unit : power of two by which targets are divided. It is 1 unless a target is huge, or the first one other than 0 is
        tiny. All that the tree holds of targets is in this unit, merits of the log too.
    """

    unit: float = 1.0

    def learn(self, points: np.ndarray, targets: np.ndarray, weights: np.ndarray, out: np.ndarray | None) -> None:
        """Learn rows one after the other; `out` gets the prediction for each before it was learned."""
        begin = 0
        while begin < len(points):
            rows = slice(begin, self._end_of_unit(targets, weights, begin))
            super().learn(points[rows], self._in_unit(targets[rows]), weights[rows], None if out is None else out[rows])
            if out is not None:
                out[rows] *= self.unit
            begin = rows.stop

    def learn_row(self, row: OneRow) -> None:
        """`learn` for a single row, with less around it."""
        low, high = ORDINARY_TARGETS
        size = abs(float(row.targets[0]))
        if self.unit == 1.0 and (size == 0.0 or low <= size <= high):
            super().learn_row(row)
            return
        if size > high * self.unit or 0.0 < size < low * self.unit:
            self._end_of_unit(row.targets, row.weights, 0)
        super().learn_row(OneRow(row.points, self._in_unit(row.targets), row.weights, row.out))
        if self.unit != 1.0:
            row.out *= self.unit

    def predict(self, points: np.ndarray) -> np.ndarray:
        """Predicted targets, (n, 1)."""
        out = super().predict(points)
        if self.unit != 1.0:
            out *= self.unit
        return out

    def predict_row(self, row: OneRow) -> None:
        """`predict` for a single row, with less around it."""
        super().predict_row(row)
        if self.unit != 1.0:
            row.out *= self.unit

    def _in_unit(self, targets: np.ndarray) -> np.ndarray:
        """Targets as the loops get them; an outlier, which is always the first, is as large as the unit allows."""
        high = ORDINARY_TARGETS[1] * self.unit
        if abs(targets[0]) > high:
            targets = np.clip(targets, -high, high)
        return targets if self.unit == 1.0 else targets / self.unit

    def _end_of_unit(self, targets: np.ndarray, weights: np.ndarray, begin: int) -> int:
        """First row after `begin` that needs another unit than the row `begin`.

        That row itself gets the unit that it needs, unless its target is an outlier.
        """
        low, high = ORDINARY_TARGETS
        sizes = np.where(weights[begin:] > 0.0, np.abs(targets[begin:]), 0.0)
        is_too_small = 0.0 < sizes[0] < low * self.unit and not self._knows_targets
        if is_too_small or (sizes[0] > high * self.unit and not self._has_firm_scale):
            new = unit_of(sizes[:1])
            if self._knows_targets:
                self._change_unit(self.unit / new)
            self.unit = new
        is_other = sizes > high * self.unit
        is_other[0] = False
        if sizes[0] == 0.0 and not self._knows_targets:
            first = int(np.argmax(sizes > 0.0))
            is_other[first] |= 0.0 < sizes[first] < low * self.unit
        return begin + int(np.argmax(is_other)) if is_other.any() else len(targets)

    @property
    def _has_firm_scale(self) -> bool:
        """Whether a target that needs another unit is rather an outlier, for which the unit is not changed."""
        return False

    @property
    def _knows_targets(self) -> bool:
        """Whether any target other than 0 has been learned."""
        raise NotImplementedError

    def _change_unit(self, factor: float) -> None:
        """Multiply all that the tree holds of targets by a factor."""
        raise NotImplementedError

    def _change_log(self, factor: float) -> None:
        """The same for merits of the log, which are decreases of variance."""
        self._read_events()
        self.log = [
            replace(event, merit=event.merit * factor * factor, second_merit=event.second_merit * factor * factor)
            for event in self.log
        ]
