"""Growing a kernel tree whose bandwidths are estimated anew at every node, from the points of the node.

The kernels of a feature then differ along a path, so the part of a point's kernel that is in a node is not given by
the node's interval: its two ends, as values of the distribution function, are carried for every point and feature
(the paper's bound probabilities). This costs n times p numbers per open node; the common case is
`softwood.density.growing`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from softwood.density.growing import GrowthProblem, Limits, finish
from softwood.loops import grow as loop
from softwood.loops.kernel import kernel_cdf
from softwood.loops.scan import SLACK
from softwood.loops.scan_general import scan_points
from softwood.targets import ClassTargets, RealTargets
from softwood.tree import SoftTree

__all__ = ["grow_tree_per_node"]

WidthRule = Callable[[np.ndarray, ClassTargets | RealTargets, np.ndarray], np.ndarray]


def grow_tree_per_node(
    problem: GrowthProblem,
    X: np.ndarray,
    rule: WidthRule,
    limits: Limits,
    *,
    seed: int,
    progress: Callable[[int], None] | None = None,
) -> SoftTree:
    """Grow a tree depth first, with the half-widths that `rule` gives for the points of each node and their masses."""
    n, p = X.shape
    n_outputs = problem.stored_outputs
    targets = problem.targets
    labels = targets.labels if isinstance(targets, ClassTargets) and n_outputs > 1 else None
    matrix = targets.matrix()
    if targets.is_class and n_outputs == 1:
        matrix = matrix[:, 1:2] if matrix.shape[1] > 1 else np.zeros((n, 1))
    squares = (matrix**2).sum(axis=1)
    n_draw = p if limits.n_draw is None else limits.n_draw
    max_depth = np.inf if limits.max_depth is None else limits.max_depth
    min_gain = limits.min_gain_merit(problem, float(problem.weights.sum()))
    criterion = problem.criterion_number
    edges, cdfs = problem.shapes.edges[problem.kinds], problem.shapes.cdfs[problem.kinds]
    order = np.empty(p, dtype=np.int64)
    lines: list[np.ndarray] = []
    widths_of: list[float] = []
    everywhere = (-np.inf, np.inf)
    stack = [(np.arange(n), np.ones(n), np.zeros((n, p)), np.ones((n, p)), -1, 0, 0, np.uint64(seed))]
    while stack:
        rows, shares, lower, upper, parent, side, depth, node_seed = stack.pop()
        masses = shares * problem.weights[rows]
        weighted = masses[:, None] * matrix[rows]
        line = np.zeros((1, loop.SUMS + n_outputs))
        line[0, : loop.SUMS] = [parent, side, depth, -1, np.nan, np.nan, masses.sum(), masses @ squares[rows]]
        line[0, loop.SUMS :] = weighted.sum(axis=0)
        number = len(lines)
        lines.append(line)
        widths_of.append(0.0)
        if progress is not None and number % 100 == 0:
            progress(number)
        mass = line[0, loop.MASS]
        base, impure = loop.merit_and_impurity(line, 0, criterion, targets.is_class)
        if depth >= max_depth or mass < 2.0 * limits.min_mass * SLACK or impure <= 1e-12 * mass:
            continue
        loop.draw_features(order, node_seed, n_draw)
        widths = rule(X[rows], targets.take(rows), masses)
        points = masses[:, None] if labels is not None else np.hstack([masses[:, None], weighted])
        tie = 1e-10 * impure
        best, best_feature, best_threshold, best_mass = -np.inf, -1, np.nan, 0.0
        for k, j in enumerate(order.tolist()):
            if k >= n_draw and best_feature >= 0:
                break
            x = np.ascontiguousarray(X[rows, j])
            if np.isnan(x).all():
                continue
            merit, threshold, left_mass = scan_points(
                x, np.full(len(rows), widths[j]), np.ascontiguousarray(lower[:, j]), np.ascontiguousarray(upper[:, j]),
                np.ascontiguousarray(points), None if labels is None else labels[rows], len(rows), edges[j], cdfs[j],
                *everywhere, limits.min_mass, tie, criterion, n_outputs,
            )  # fmt: skip
            if merit - base > tie and merit > best + tie:
                best, best_feature, best_threshold, best_mass = merit, j, threshold, left_mass
        if best_feature < 0 or best - base < min_gain:
            continue
        j, missing_left = best_feature, best_mass / mass
        reached = np.array(
            [kernel_cdf(best_threshold, x, widths[j], edges[j], cdfs[j]) if x == x else np.nan for x in X[rows, j]]
        )
        room = upper[:, j] - lower[:, j]
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.clip((reached - lower[:, j]) / room, 0.0, 1.0)
        part = np.where(reached >= upper[:, j], 1.0, np.where(reached <= lower[:, j], 0.0, part))
        part = np.where(np.isnan(reached), missing_left, part)
        left, right = shares * part, shares * (1.0 - part)
        left, right = (
            np.where(left < limits.cutoff, 0.0, np.where(right < limits.cutoff, shares, left)),
            np.where(right < limits.cutoff, 0.0, np.where(left < limits.cutoff, shares, right)),
        )
        in_left, in_right = np.flatnonzero(left > 0), np.flatnonzero(right > 0)
        if len(in_left) == 0 or len(in_right) == 0:
            continue
        line[0, loop.FEATURE : loop.MASS] = [j, best_threshold, missing_left]
        widths_of[number] = widths[j]
        known = np.where(np.isnan(reached), 1.0, reached)
        below, above = upper.copy(), lower.copy()
        below[:, j] = np.minimum(upper[:, j], known)
        above[:, j] = np.where(np.isnan(reached), lower[:, j], np.maximum(lower[:, j], known))
        seeds = [np.uint64(loop.next_seed(node_seed, k)) for k in range(2)]  # numba hands out Python ints
        stack.append(
            (rows[in_right], right[in_right], above[in_right], upper[in_right], number, 1, depth + 1, seeds[1])
        )
        stack.append((rows[in_left], left[in_left], lower[in_left], below[in_left], number, 0, depth + 1, seeds[0]))
    return finish(problem, limits, np.concatenate(lines), np.array(widths_of))
