"""Checks of the states of growing trees and forests that come from outside, such as from a file.

The compiled loops do not check indices: a child, slot or class out of range would access other memory, and with a cycle
or a wrong counter learning would never end. So everything that they follow is checked here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.core.arrays import is_within, require_array
from softwood.stream.drift import ADWIN
from softwood.stream.loops.alarms import N_BUCKETS, N_SIZES, N_WINDOW, SIZE
from softwood.stream.loops.forest import CURVATURE, EXCESS, LARGEST_POWER, LEARNED, LEAST_POWER, N_ERRORS, SQUARES
from softwood.stream.loops.layout import (
    ALPHA_AT,
    DEPTH,
    FEATURE,
    LEFT,
    N_COUNTERS,
    N_EVENTS,
    N_IN_BATCH,
    N_INNER,
    N_KEYS,
    N_NODES,
    N_SLOT_KEYS,
    N_TAKEN,
    OWNER,
    PARENT,
    REPLACE,
    RIGHT,
    SCALED_WEIGHT,
    SLOT,
    SLOTS_ARE_ALL,
    THRESHOLD,
    TOUCHED,
    VARIANCE,
    WEIGHT,
    Settings,
)
from softwood.stream.loops.observers import BIN_N, BIN_WIDTH, LOWER, N_BIN_NUMBERS, TOTAL

# Far above any number of rows, far below an overflow.
LARGEST_COUNTER = 2**62
# Above any range of a histogram, whose values are at most 1e300, and below an overflow of its length.
LARGEST_RANGE = 1e305
# Splits, replaced tests, and two kinds of alarms.
N_KINDS = 4


def check_state(state: dict[str, np.ndarray], n_features: int, n_outputs: int) -> None:
    """Raise a ValueError that names the first array that is damaged; shapes and types have been checked.

    Parameters
    ----------
    state : as `GrowingTree.state` gives it
    """
    for name, is_right in (
        ("counters", _counters_are_right),
        ("nodes", _nodes_are_right),
        ("slots", _slots_are_right),
        ("keys", _keys_are_right),
        ("is_category", _categories_are_right),
        ("numbers", _tests_are_right),
        ("settings", _settings_are_right),
        ("log", _log_is_right),
        ("gates", _gates_are_right),
        ("stats", _histograms_are_right),
    ):
        if name in state and not is_right(state, n_features, n_outputs):
            raise ValueError(f"the array {name!r} is damaged")
    for name, array in state.items():
        if array.dtype.kind == "f" and not _is_finite_enough(name, array):
            raise ValueError(f"the array {name!r} holds numbers that it cannot hold")
    _check_detector(state["detector"], Settings(*state["settings"].tolist()).drift_delta)


def _check_detector(detector: np.ndarray, delta: float) -> None:
    if delta <= 0.0:  # there is none
        return
    ADWIN(delta, max_buckets=N_BUCKETS, mode="up").restore(detector[:N_WINDOW])
    if not is_within(detector[N_WINDOW:], -1e300, 1e300) or detector[SIZE] < 0.0 or detector[N_SIZES] < 0.0:
        raise ValueError("the array 'detector' holds numbers that it cannot hold")


def check_forest(forest: Any, trees: list[Any], arrays: dict[str, np.ndarray]) -> None:
    """Raise a ValueError unless these are arrays of such a `GrowingForest` with these trees."""
    n, p = len(forest.recipes), forest.n_features
    shapes = {"columns": (n, p), "spare_columns": (n, p), "is_category": (p,)}
    for name, array in arrays.items():
        own = getattr(forest, name)
        require_array(name, array, own.dtype, shapes.get(name, own.shape))
    for k, delta in enumerate((forest.rules.warning_delta, forest.rules.drift_delta)):
        for state in arrays["detectors"][:, k]:
            ADWIN(1.0 if delta is None else delta, mode="up").restore(state)
    for name, low, high in (("scores", 0.0, 1e300), ("spare_scores", 0.0, 1e300), ("n_planted", 1, LARGEST_COUNTER)):
        if not is_within(arrays[name], low, high):
            raise ValueError(f"the array {name!r} holds numbers that it cannot hold")
    if not all(np.array_equal(tree.arrays["is_category"], arrays["is_category"]) for tree in trees):
        raise ValueError("the array 'is_category' is not that of the trees")
    scaler = arrays["target_scaler"]
    if not np.isfinite(scaler).all() or scaler[SCALED_WEIGHT, 0] < 0.0 or scaler[VARIANCE, 0] < 0.0:
        raise ValueError("the array 'target_scaler' holds numbers that it cannot hold")
    found = arrays["adjustment"]
    is_right = LEAST_POWER <= 1.0 + found[EXCESS] <= LARGEST_POWER and found[CURVATURE] >= 0.0
    if not forest.classifies:
        is_right = found[SQUARES] >= 0.0 and 0.0 <= found[N_ERRORS] <= LEARNED
    if not np.isfinite(found).all() or not is_right:
        raise ValueError("the array 'adjustment' holds numbers that it cannot hold")


def _counters_are_right(state: dict[str, np.ndarray], n_features: int, n_outputs: int) -> bool:
    counters = state["counters"]
    if len(counters) != N_COUNTERS or counters.min() < 0 or counters.max() > LARGEST_COUNTER:
        return False
    n, n_inner = int(counters[N_NODES]), int(counters[N_INNER])
    is_right = 1 <= n <= len(state["nodes"]) and n == 2 * n_inner + 1 and counters[N_EVENTS] == 0
    if "gates" in state and _settings(state).max_inner > 0:
        is_right &= counters[N_TAKEN] == np.count_nonzero(state["slots"][:, OWNER] >= 0)
    is_right &= counters[N_IN_BATCH] < max(1.0, _settings(state).batch_size) and counters[SLOTS_ARE_ALL] <= 1
    return bool(is_right)


def _nodes_are_right(state: dict[str, np.ndarray], n_features: int, n_outputs: int) -> bool:
    """Whether the nodes in use are one tree, with children after their parents, and point to what is there."""
    n, n_inner = int(state["counters"][N_NODES]), int(state["counters"][N_INNER])
    nodes, slots = state["nodes"][:n], state["slots"]
    children = nodes[:, [LEFT, RIGHT]]
    inner = np.flatnonzero(nodes[:, LEFT] >= 0)
    if len(inner) != n_inner or not (children[nodes[:, LEFT] < 0] == -1).all():
        return False
    below = children[inner]
    if not ((below > inner[:, None]) & (below < n)).all() or np.any(below[:, 0] == below[:, 1]):
        return False
    # As each node has one parent, and there are as many children as nodes without the root, none is there twice.
    if not (nodes[below, PARENT] == inner[:, None]).all() or nodes[0, PARENT] != -1 or nodes[0, DEPTH] != 0:
        return False
    if not (nodes[below, DEPTH] == nodes[inner, DEPTH][:, None] + 1).all():
        return False
    within = [(FEATURE, -1, n_features), (SLOT, -1, len(slots)), (N_KEYS, -1, n_outputs + 1), (TOUCHED, -1, 2)]
    if not all(_is_within(nodes[:, column], low, end) for column, low, end in within):
        return False
    if np.any(nodes[inner, FEATURE] < 0) and (_settings(state).max_inner > 0 or "gates" not in state):
        return False  # only gates of a complete soft tree are without a test
    owned = np.flatnonzero(nodes[:, SLOT] >= 0)
    return bool(np.array_equal(slots[nodes[owned, SLOT], OWNER], owned))


def _slots_are_right(state: dict[str, np.ndarray], n_features: int, n_outputs: int) -> bool:
    slots, n = state["slots"], int(state["counters"][N_NODES])
    owners, n_known, known = slots[:, OWNER], slots[:, N_SLOT_KEYS], slots[:, N_SLOT_KEYS + 1 :]
    if not _is_within(owners, -1, n) or not _is_within(n_known, 0, n_outputs + 1):
        return False
    taken = np.flatnonzero(owners >= 0)
    if not np.array_equal(state["nodes"][owners[taken], SLOT], taken) or not _is_within(known, -1, n_outputs):
        return False
    is_used = np.arange(known.shape[1]) < n_known[:, None]
    return not np.any(is_used & (known < 0))


def _keys_are_right(state: dict[str, np.ndarray], n_features: int, n_outputs: int) -> bool:
    return _is_within(state["keys"], 0, n_outputs)


def _categories_are_right(state: dict[str, np.ndarray], n_features: int, n_outputs: int) -> bool:
    return _is_within(state["is_category"], 0, n_features + 1)


def _tests_are_right(state: dict[str, np.ndarray], n_features: int, n_outputs: int) -> bool:
    n = int(state["counters"][N_NODES])
    nodes, thresholds = state["nodes"][:n], state["numbers"][:n, THRESHOLD]
    has_test = (nodes[:, LEFT] >= 0) & (nodes[:, FEATURE] >= 0)
    return bool(np.isfinite(thresholds[has_test]).all())


def _settings(state: dict[str, np.ndarray]) -> Settings:
    return Settings(*state["settings"].tolist())


def _settings_are_right(state: dict[str, np.ndarray], n_features: int, n_outputs: int) -> bool:
    values = state["settings"]
    return bool(not np.isnan(values).any() and values.min() >= 0.0 and _settings(state).batch_size <= 2**53)


def _log_is_right(state: dict[str, np.ndarray], n_features: int, n_outputs: int) -> bool:
    log, n = state["log"], int(state["counters"][N_NODES])
    if not _is_within(log["kind"], 0, N_KINDS) or not _is_within(log["n_samples"], 0, LARGEST_COUNTER):
        return False
    log = log[log["kind"] <= REPLACE]  # of alarms there is nothing else
    within = [("node", 0, n), ("feature", 0, n_features)]
    names = ("threshold", "merit", "second_merit", "bound", "weight_seen")
    are_numbers = all(not np.isnan(log[name]).any() for name in names)
    return are_numbers and all(_is_within(log[name], low, end) for name, low, end in within)


def _gates_are_right(state: dict[str, np.ndarray], n_features: int, n_outputs: int) -> bool:
    alphas = state["gates"][0, :, ALPHA_AT]
    return bool(((alphas >= 0.0) & (alphas <= 1.0)).all())


def _histograms_are_right(state: dict[str, np.ndarray], n_features: int, n_outputs: int) -> bool:
    """Whether ranges of histograms can be widened: from a wrong one the loop would never arrive at a value."""
    stats = state["stats"]
    if stats.shape[-1] != N_BIN_NUMBERS:
        return True
    ranges = stats[:, :, -1]
    is_right = np.abs(ranges[..., LOWER]) < LARGEST_RANGE
    is_right &= (ranges[..., BIN_WIDTH] >= 0.0) & (ranges[..., BIN_WIDTH] < LARGEST_RANGE)
    return bool((is_right & (ranges[..., TOTAL] >= 0.0)).all()) and not np.any(stats[:, :, :-1, BIN_N] < 0.0)


def _is_within(array: np.ndarray, low: int, end: int) -> bool:
    return array.size == 0 or bool(array.min() >= low and array.max() < end)


def _is_finite_enough(name: str, array: np.ndarray) -> bool:
    """Whether numbers are finite, except thresholds of leaves, sums of squares that overflow, and limits."""
    if name == "settings":
        return True
    if name in ("counts", "seen") and np.any(array < 0.0):
        return False
    if name == "numbers":
        return not np.any(array[:, WEIGHT] < 0.0) and bool(np.isfinite(np.delete(array, THRESHOLD, axis=1)).all())
    if name == "stats":
        return not any(np.isnan(part).any() for part in array)
    return all(bool(np.isfinite(part).all()) for part in array)
