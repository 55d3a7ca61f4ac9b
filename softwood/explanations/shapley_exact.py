"""Shapley values of trees whose leaf shares are products over the columns: arrays and threads of the compiled loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from joblib import effective_n_jobs

from softwood.core.threads import Threads
from softwood.explanations.shapley_model import Points, absent_shares
from softwood.fitted import FittedModel
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.tree import SoftTree

if TYPE_CHECKING:
    from softwood.explanations.loops.shapley import Plan

# Rows and background rows of one call of the loop: little enough that an interrupt does not wait long.
_ROWS, _BACKGROUND = 64, 256
# Largest number of factors of background rows that are kept at once.
_MOST_FACTORS = 2**22


def exact_values(
    known: FittedModel, rows: Points, background: Points | None, interactions: bool, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Shapley values, (n_rows, n_columns, n_outputs), and interactions, (n_rows, n_columns, n_columns, n_outputs).

    Parameters
    ----------
    rows, background : encoded rows, and half-widths of their cells or None
    interactions : if False, the second result is None
    """
    trees = known.trees
    forest = SoftForest.mean([trees]) if isinstance(trees, SoftTree) else trees
    plan = _plan(forest, known.columns.source)
    n, p, q = len(rows[0]), len(known.columns.inputs), forest.n_outputs
    values = np.zeros((n, p, q))
    pairs = np.zeros((n, p, p, q)) if interactions else None
    parts = [slice(begin, begin + _ROWS) for begin in range(0, n, _ROWS)]

    def add(number: int, worker: int) -> None:
        part = parts[number]
        _add_part(plan, _part(rows, part), background, values[part], None if pairs is None else pairs[part])

    with Threads(effective_n_jobs(n_jobs)) as threads:
        threads.run(add, len(parts))
    factor = forest.factor / (1 if background is None else len(background[0]))
    values *= factor
    if pairs is not None:
        pairs *= factor
        diagonal = np.arange(p)
        pairs[:, diagonal, diagonal] = values - pairs.sum(axis=2)
    return values, pairs


def _plan(forest: SoftForest, players: np.ndarray) -> Plan:
    """The trees in the form that the loop takes."""
    from softwood.compiled.explain import fill_absent, order_steps
    from softwood.explanations.loops.shapley import BY_SET, STEP, Plan

    order, steps = np.empty(forest.n_nodes, np.int64), np.zeros(forest.n_nodes, STEP)
    most = np.empty(len(forest), np.int64)
    order_steps(
        forest.children_left, forest.children_right, forest.feature, players.astype(np.int64), forest.offsets, order,
        steps, most,
    )  # fmt: skip
    for name in ("kernel", "threshold", "width", "missing_left"):
        steps[name] = getattr(forest, name)[order]
    steps["kernel"][forest.gate[order] == Gate.SUBSET] = BY_SET
    absent = np.ones(forest.n_nodes)
    shares = absent_shares(forest)[order]
    for tree in range(len(forest)):
        fill_absent(steps, shares, forest.offsets[tree], forest.offsets[tree + 1], absent)
    n_points = np.maximum(1, (most + 1) // 2)  # exact for the degree, one less than the number of players
    points, weights = _gauss_legendre(n_points)
    return Plan(
        steps, forest.value[order], forest.offsets, forest.output.astype(np.int64), absent, n_points, points, weights,
        forest.shapes.edges, forest.shapes.cdfs, forest.set_words[order],
    )  # fmt: skip


def _gauss_legendre(n_points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of the integral over [0, 1], those of n points in line n - 1, (most, most) each."""
    points, weights = np.zeros((2, n_points.max(), n_points.max()))
    for n in np.unique(n_points).tolist():
        place, weight = np.polynomial.legendre.leggauss(n)
        points[n - 1, :n], weights[n - 1, :n] = 0.5 * (place + 1.0), 0.5 * weight
    return points, weights


def _part(points: Points, part: slice) -> Points:
    return points[0][part], None if points[1] is None else points[1][part]


def _add_part(
    plan: Plan, rows: Points, background: Points | None, values: np.ndarray, pairs: np.ndarray | None
) -> None:
    """Add the values of some rows, summed over the background rows, a block of them at a time."""
    from softwood.compiled.explain import add_shapley
    from softwood.explanations.loops.shapley import Scratch

    n, m, q = int(np.diff(plan.offsets).max()), plan.points.shape[0], plan.value.shape[1]
    size = min(_BACKGROUND, max(1, _MOST_FACTORS // n))
    blocks: list[Points | None] = [None]
    if background is not None:
        blocks = [_part(background, slice(begin, begin + size)) for begin in range(0, len(background[0]), size)]
    for block in blocks:
        others, cells = (None, None) if block is None else block
        scratch = Scratch(
            np.empty(n), np.empty((1 if others is None else len(others), n)), np.empty((2, n)), np.empty((n, m)),
            np.empty((n, m)), np.empty((n, q * m)), np.empty(m), np.empty(n, np.int64), np.empty((2, n), np.int64),
        )  # fmt: skip
        add_shapley(rows[0], rows[1], others, cells, plan, scratch, values, pairs)
