"""Drift detectors in files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from softwood.files.checks import check_array, check_entries, is_within
from softwood.files.estimators import checked_parameters
from softwood.files.values import damage
from softwood.stream.drift import ADWIN, DDM, DriftDetector, PageHinkley
from softwood.stream.loops import drift as loops
from softwood.stream.loops.drift import LAST, N_ALARMS

__all__ = ["build_detector", "check_window", "detector_state"]

# Far above any number of values, far below where floats are no longer whole.
MOST = 2.0**50
# Above sums of squares of any values.
LARGEST_SUM = 1e250


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
    n_settings = {ADWIN: loops.A_TOTAL, PageHinkley: loops.P_N, DDM: loops.D_N}[_family(detector)]
    if not np.array_equal(numbers[2:n_settings], first[2:n_settings]):
        raise damage("the state of a detector does not fit its parameters")
    check_window(numbers) if isinstance(detector, ADWIN) else _check_sums(numbers, n_settings)
    detector._state = numbers
    return detector


def _family(detector: DriftDetector) -> type[DriftDetector]:
    return next(kind for kind in (ADWIN, PageHinkley, DDM) if isinstance(detector, kind))


def _check_sums(state: np.ndarray, n_settings: int) -> None:
    """Raise an error unless the numbers of a detector other than ADWIN are ones that it can hold."""
    known = state[n_settings:]
    # the lowest sum is infinite before the first value
    if np.isnan(known).any() or not (known[np.isfinite(known)] < LARGEST_SUM).all() or np.any(known == -np.inf):
        raise damage("the state of a detector holds numbers that it cannot hold")
    if state[LAST] not in (0.0, 1.0, 2.0) or not (_is_count(state[N_ALARMS]) and _is_count(known[0])):
        raise damage("the counters of a detector are damaged")


def check_window(state: np.ndarray) -> None:
    """Raise an error unless the window of an ADWIN is one that its loops can go on with."""
    counts = state[loops.A_COUNTS : loops.A_FIRST_BUCKET]
    used = np.flatnonzero(counts)
    is_right = state[LAST] in (0.0, 2.0) and all(map(_is_count, (state[N_ALARMS], state[loops.A_TICK], *counts)))
    is_right = is_right and counts.max() <= state[loops.A_BUCKETS] and counts[-1] == 0.0
    is_right = is_right and state[loops.A_LEVELS] == (used[-1] + 1.0 if len(used) else 0.0)
    is_right = is_right and state[loops.A_WIDTH] == counts @ 2.0 ** np.arange(loops.N_LEVELS)
    numbers = np.concatenate([state[[loops.A_TOTAL, loops.A_SQUARES]], state[loops.A_FIRST_BUCKET :]])
    if not is_right or not is_within(numbers, -LARGEST_SUM, LARGEST_SUM):
        raise damage("the window of a detector is damaged")


def _is_count(number: float) -> bool:
    return bool(0.0 <= number <= MOST and number == np.floor(number))
