"""Choosing bandwidths from the data: by a rule for each column, or by the held-out loss of one scale for all columns.

A scale is a bandwidth in standard deviations of the columns.

``"cv"``: k-fold cross-validation on a logarithmic grid of scales from 0.01 to 1, and on larger scales as long as the
loss falls.

``"auto"``, the default: cross-validation on a coarser grid, at a bounded cost. Up to 2 000 rows, there are five folds.
With more rows, trees are grown on a fifth of the rows (at least 1 000, at most 20 000) and compared on up to 2 000
other rows, three times below 10 000 rows and once above. With more than 64 columns, each node searches 64 columns drawn
at random; these trees are less accurate, but the same scales are best.

All trees are grown from the bins of the whole data. Folds are drawn by the content of the rows, so they depend neither
on the order of the rows nor on whether a repeated row is given as a weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from softwood.core.steps import Steps
from softwood.kernel.data.bandwidths import loo_widths, silverman_widths
from softwood.kernel.data.preparation import TrainingData
from softwood.kernel.data.row_keys import row_numbers
from softwood.kernel.growing.growing import grow_tree
from softwood.kernel.growing.problem import Limits

AUTO_GRID = np.array([0.01, 0.032, 0.1, 0.2, 0.32, 0.45, 0.65, 1.0])
# Refining trains the half-widths, so that it needs fewer of them to start with, where folds take long.
REFINED_GRID = np.array([0.032, 0.1, 0.32, 0.65])
CV_GRID = np.geomspace(0.01, 1.0, 9)
STEP = CV_GRID[1] / CV_GRID[0]
MAX_SCALE = 5.0
# Tables of at most this many rows are divided into folds. Samples are drawn from larger ones.
FOLDED_ROWS = 2000
# Limits that bound the cost of "auto" for tables with many columns or rows.
AUTO_COLUMNS, AUTO_ROWS = 64, 20_000


def widths_by_rule(rule: str, data: TrainingData) -> np.ndarray:
    """Half-widths (p,) by "silverman" or "loo"; 0 for categories."""
    if rule == "silverman":
        widths = silverman_widths(data.matrix, data.weights)
    else:
        widths = loo_widths(data.matrix, data.targets, data.weights)
    return np.where(data.deviations > 0, widths, 0.0)


def choose_by_cv(
    data: TrainingData,
    limits: Limits,
    parts: list[tuple[np.ndarray, np.ndarray]],
    seed: int,
    steps: Steps,
    *,
    crisp: bool = False,
) -> float:
    """Scale with the smallest loss over the held-out rows of all `parts`; of several such, the smallest scale."""
    if not parts:
        return 0.0
    tried: dict[float, float] = {}
    for scale in grid_and_beyond(tried):
        tried[scale] = _loss(data, limits, scale, parts, seed, steps, crisp)
        if steps.is_stopped:
            break
    return best_of(tried)


def grid_and_beyond(tried: dict[float, float]) -> Iterator[float]:
    """The scales of the grid, and then larger ones as long as the largest is the best."""
    yield from CV_GRID.tolist()
    while max(tried) == best_of(tried) and max(tried) * STEP <= MAX_SCALE:
        yield max(tried) * STEP


def choose_by_auto(
    data: TrainingData,
    limits: Limits,
    seed: int,
    steps: Steps,
    *,
    crisp: bool = False,
    grid: np.ndarray = AUTO_GRID,
) -> float:
    """Scale of the grid with the smallest held-out loss at a bounded cost."""
    n, p = data.matrix.shape
    limits = replace(limits, n_draw=min(AUTO_COLUMNS, p if limits.n_draw is None else limits.n_draw))
    parts = auto_parts(data, seed)
    if not parts:
        return 0.0
    tried: dict[float, float] = {}
    for scale in grid:
        tried[scale] = _loss(data, limits, scale, parts, seed, steps, crisp)
        # On large data the loss is a smooth function of the scale, and large scales are slow: stop when it rises.
        recent = list(tried.values())[-2:]
        gets_worse = n >= 10_000 and len(tried) > 3 and min(recent) > 1.05 * min(tried.values())
        if gets_worse or steps.is_stopped:
            break
    return best_of(tried)


def auto_parts(data: TrainingData, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Training and held-out rows of "auto": five folds of a small table, samples of a large one."""
    n = len(data.matrix)
    return list(
        content_folds(data.matrix, 5, seed) if n <= FOLDED_ROWS else _samples(data, 3 if n < 10_000 else 1, seed)
    )


def best_of(tried: dict[float, float]) -> float:
    """Scale with the smallest loss, up to rounding; of several such, the smallest scale."""
    least = min(tried.values())
    return min(scale for scale, loss in tried.items() if loss <= least + 1e-12 * abs(least))


def content_folds(matrix: np.ndarray, folds: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Training and held-out rows; equal rows are in the same fold, and the order of rows does not matter."""
    distinct, number = np.unique(row_numbers(matrix, seed), return_inverse=True)
    folds = min(folds, len(distinct))
    if folds < 2:
        return
    for fold in range(folds):
        held_out = number % folds == fold
        yield np.flatnonzero(~held_out), np.flatnonzero(held_out)


def _samples(data: TrainingData, times: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Small training samples and other rows to compare on."""
    order = np.argsort(row_numbers(data.matrix, seed), kind="stable")
    size = min(max(len(order) // 5, 1000), AUTO_ROWS)
    held_out = order[: min(size, 2000)]
    rest = order[len(held_out) :]
    for k in range(times):
        yield np.sort(np.roll(rest, -k * size)[:size]), held_out


def _loss(
    data: TrainingData,
    limits: Limits,
    scale: float,
    parts: list[tuple[np.ndarray, np.ndarray]],
    seed: int,
    steps: Steps,
    crisp: bool,
) -> float:
    """Mean held-out loss of trees with this scale, predicted with kernels or, if `crisp`, without."""
    step = steps.begin()
    problem = data.problem(scale * data.deviations)
    total, mass = 0.0, 0.0
    for train, test in parts:
        tree = grow_tree(problem, limits, seed=seed, rows=train)
        tree = tree.crisp() if crisp else tree
        cells = None if problem.cells is None or crisp else problem.cells[test]
        weights = data.weights[test]
        loss = data.targets.take(test).loss(tree.predict(data.matrix[test], widths=cells), weights)
        total += loss * weights.sum()
        mass += weights.sum()
    step.end(bandwidth=float(scale), validation_loss=total / mass)
    return total / mass
