"""Drift detectors in files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from softwood.files.checks import check_array, check_entries, is_within
from softwood.files.estimators import checked_parameters
from softwood.files.values import damage
from softwood.loops import drift as loops
from softwood.loops.drift import LAST, N_ALARMS
from softwood.stream.drift import ADWIN, LARGEST, DriftDetector

__all__ = ["build_detector", "check_adwin", "detector_state"]

# Far above any number of values, far below where floats are no longer whole.
MOST = 2.0**50


def detector_state(detector: DriftDetector) -> dict[str, Any]:
    """State of a detector."""
    return {"parameters": detector.get_params(), "state": detector._state}


def build_detector(kind: Callable[..., Any], state: dict[str, Any]) -> DriftDetector:
    """A checked detector."""
    check_entries(state, ["parameters", "state"])
    try:
        detector = kind(**checked_parameters(kind, state["parameters"]))
    except ValueError as error:  # the constructor checks the parameters
        raise damage(str(error)) from None
    first = detector._state
    numbers = check_array(state["state"], np.float64, first.shape, "state")
    n_settings = loops.P_N if len(first) == loops.N_PAGE_HINKLEY else loops.D_N
    n_settings = loops.A_TOTAL if isinstance(detector, ADWIN) else n_settings
    if not np.array_equal(numbers[2:n_settings], first[2:n_settings]):
        raise damage("the state of a detector does not fit its parameters")
    # the lowest sums are infinite before the first value
    if np.isnan(numbers).any() or not is_within(np.delete(numbers, np.flatnonzero(np.isinf(first))), -1e220, 1e220):
        raise damage("the state of a detector holds numbers that it cannot hold")
    if numbers[LAST] not in (0.0, 1.0, 2.0) or not _is_count(numbers[N_ALARMS]) or not _is_count(numbers[n_settings]):
        if not isinstance(detector, ADWIN):
            raise damage("the counters of a detector are wrong")
    if isinstance(detector, ADWIN):
        check_adwin(numbers)
    detector._state = numbers
    return detector


def check_adwin(state: np.ndarray) -> None:
    """Raise an error unless the window of an ADWIN is one that its loops can go on with."""
    counts = state[loops.A_COUNTS : loops.A_FIRST_BUCKET]
    levels, width = state[loops.A_LEVELS], state[loops.A_WIDTH]
    is_right = state[LAST] in (0.0, 2.0) and all(map(_is_count, (state[N_ALARMS], state[loops.A_TICK])))
    is_right &= bool(np.all((counts >= 0.0) & (counts <= state[loops.A_BUCKETS]) & (counts == np.floor(counts))))
    is_right &= bool(levels == (np.flatnonzero(counts)[-1] + 1 if counts.any() else levels) and levels in (0.0, *range(1, loops.N_LEVELS)))
    is_right &= bool(width == counts @ 2.0 ** np.arange(loops.N_LEVELS)) and abs(state[loops.A_TOTAL]) <= LARGEST * MOST
    if not is_right:
        raise damage("the window of a detector is damaged")


def _is_count(number: float) -> bool:
    return bool(0.0 <= number <= MOST and number == np.floor(number))
