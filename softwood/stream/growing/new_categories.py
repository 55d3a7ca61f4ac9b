"""What leaves of growing trees know of a category that comes for the first time: all rows before had another one."""

from __future__ import annotations

import numpy as np

from softwood.compiled.stream import Statistics, add_sides
from softwood.stream.loops.observers import TOTAL, N


def zeros_in_normals(stats: np.ndarray, column: int, sibling: int) -> None:
    """As many zeros in a column as there are values of its sibling; `stats` as in classifiers."""
    stats[:, column] = 0.0
    stats[:, column, :, N] = stats[:, sibling, :, N]


def zeros_in_histograms(stats: np.ndarray, column: int, sibling: int) -> None:
    """The same for `stats` of regressors: all weight in the first bin."""
    sides, n_bins = np.zeros((2, 3)), stats.shape[2] - 1
    statistics = Statistics(None, stats, None, None, None, sides, None, 1)
    stats[:, column] = 0.0
    for slot in range(len(stats)):
        add_sides(statistics, slot, sibling, n_bins - 1)
        stats[slot, column, 0] = sides[0]
        stats[slot, column, n_bins, TOTAL] = sides[0, 0]


def zeros_in_scaler(scaler: np.ndarray, column: int, sibling: int) -> None:
    """The same for running means and deviations."""
    scaler[:, column] = 0.0
    scaler[0, column] = scaler[0, sibling]
