"""Growth by levels: targets of the parts, in the form that trees and losses take."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softwood.core.targets import scale_of
from softwood.kernel.parts.survey import Survey


@dataclass(frozen=True)
class ClassNumbers:
    """Labels or probabilities of classes for trees; of two classes, only the second one.

    Attributes
    ----------
    as_shares : whether labels become probabilities of 0 and 1
    """

    n_classes: int
    as_shares: bool = False

    def __call__(self, targets: np.ndarray) -> np.ndarray:
        """Numbers (n,) of more than two classes; else (n, n_outputs)."""
        is_labels = targets.dtype.kind == "i"
        if self.n_classes == 1:
            return np.zeros((len(targets), 1))
        if self.n_classes == 2:
            return (targets == 1).astype(np.float64)[:, None] if is_labels else targets[:, 1:2]
        return np.eye(self.n_classes)[targets] if is_labels and self.as_shares else targets


@dataclass(frozen=True)
class ScaledReals:
    """Real targets with mean 0 on a common scale, see `softwood.core.targets.RealTargets`."""

    mean: np.ndarray
    largest: float
    scale: float

    @classmethod
    def of(cls, found: Survey) -> ScaledReals:
        """The mean and the scale of all rows."""
        p = found.sample.matrix.shape[1]
        largest = float(np.abs([found.lowest[p:], found.highest[p:]]).max()) or 1.0
        size = float(np.sqrt(((found.deviations[p:] / largest) ** 2).sum()))
        ends = np.stack([found.lowest[p:], found.highest[p:]]) / largest - found.means[p:] / largest
        return cls(found.means[p:], largest, scale_of(size, float(np.abs(ends).max())) * largest)

    def __call__(self, targets: np.ndarray) -> np.ndarray:
        """The scaled targets, (n, n_targets)."""
        return (targets / self.largest - self.mean / self.largest) * (self.largest / self.scale)


@dataclass(frozen=True)
class BoostedTargets:
    """Targets as the losses take them; n_classes is None for real targets, which are divided by the unit."""

    n_classes: int | None
    unit: float = 1.0

    def __call__(self, targets: np.ndarray) -> np.ndarray:
        """Numbers (n,), classes (n,), or probabilities (n, n_classes)."""
        if self.n_classes is None:
            return targets[:, 0] if self.unit == 1.0 else targets[:, 0] / self.unit
        if self.n_classes > 2:
            return targets
        return targets.astype(np.float64) if targets.dtype.kind == "i" else targets[:, 1]
