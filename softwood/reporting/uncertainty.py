"""Intervals and sets of a model for the page, which computes them for every row that it shows."""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.fitted import FittedModel
from softwood.reporting.arrays import pack
from softwood.trees.forest import SoftForest
from softwood.uncertainty.methods import CalibratedModel
from softwood.uncertainty.spread import SMALLEST

COVERAGES = (0.8, 0.9, 0.95)


def packed_uncertainty(model: Any, known: FittedModel, shown: FittedModel) -> dict[str, Any] | None:
    """Bounds of the scores for some coverages, and the forest of the local spread.

    None if the model has no scores, if they are by group, or if the page predicts or encodes rows otherwise.

    Parameters
    ----------
    known, shown : the model, and what the page computes with
    """
    if not isinstance(model, CalibratedModel) or not model.has_scores or known.differs:
        return None
    calibration: Any = model.calibration_
    if calibration.groups is not None:
        return None
    if known.classes is not None:
        bounds = [calibration.bounds(0, coverage, None) for coverage in COVERAGES]
        return {"coverages": COVERAGES, "sets": _plain(np.concatenate(bounds))}
    spread = calibration.spread
    if spread.forest is not None and shown.columns.names != known.columns.names:
        return None
    ends = [[_end(model, coverage, sign) for sign in (-1.0, 1.0)] for coverage in COVERAGES]
    forest = None if spread.forest is None else _packed_forest(spread.forest)
    return {"coverages": COVERAGES, "ends": ends, "unit": spread.unit.tolist(), "forest": forest, "least": SMALLEST}


def _end(model: Any, coverage: float, sign: float) -> dict[str, Any]:
    """For each target, the output that an end is measured from, and how many local spreads it is away."""
    calibration, level = model.calibration_, 0.5 + 0.5 * coverage
    outputs = model._outputs_at(0.5 + sign * 0.5 * coverage).tolist()
    bounds = [calibration.bounds(k, level, None, sign) for k in outputs]
    return {"outputs": outputs, "bounds": _plain(sign * np.concatenate(bounds))}


def _plain(bounds: np.ndarray) -> list[float | None]:
    """Numbers for JSON; None for infinite ones, if there are too few rows."""
    return [float(bound) if np.isfinite(bound) else None for bound in bounds]


def _packed_forest(forest: SoftForest) -> dict[str, Any]:
    inner = forest.children_left >= 0
    return {
        "offsets": forest.offsets.tolist(),
        "left": pack(forest.children_left),
        "right": pack(forest.children_right),
        "feature": pack(np.where(inner, forest.feature, 0)),
        "threshold": pack(np.where(inner, forest.threshold, 0.0)),
        "missingLeft": pack(forest.missing_left),
        "value": pack(forest.value),
        "base": forest.base.tolist(),
        "factor": forest.factor,
    }
