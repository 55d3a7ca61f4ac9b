"""Bandwidths: half-widths of the kernels that are given by the user, or set by a rule for each column.

`softwood.kernel.choosing.bandwidth` chooses one number for all columns by held-out loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from softwood.core.columns import Columns
from softwood.core.parameters import is_real, parameter_error
from softwood.core.targets import ClassTargets, RealTargets
from softwood.kernel.data.column_statistics import standard_deviations

# Half-widths tried by leave-one-out likelihood, in standard deviations.
LOO_GRID = np.geomspace(0.01, 2.0, 16)


def stated_widths(owner: object, name: str, spec: Any, columns: Columns) -> np.ndarray:
    """The user's numbers for each column of the matrix, given as one for all, one per column, or a dict by column."""
    n = len(columns.categories)
    if isinstance(spec, Mapping):
        per_input = np.zeros(n)
        for column, width in spec.items():
            per_input[columns.find(owner, name, column)] = _at_least_zero(owner, name, width)
    elif np.ndim(spec) == 1:
        if len(spec) != n:
            raise parameter_error(owner, name, f"one number for all columns, or one for each of the {n}", spec)
        per_input = np.array([_at_least_zero(owner, name, width) for width in spec])
    else:
        per_input = np.full(n, _at_least_zero(owner, name, spec))
    return np.where(columns.is_category, 0.0, columns.spread(per_input))


def _at_least_zero(owner: object, name: str, value: Any) -> float:
    if not is_real(value) or value < 0:
        known = getattr(owner, "_rules", ("auto", "cv", "silverman", "loo"))
        rules = "'same'" if name == "prediction_bandwidth" else ", ".join(map(repr, known[:-1])) + f" or {known[-1]!r}"
        raise parameter_error(owner, name, f"a number of at least 0, one per column, a dict by column, {rules}", value)
    return float(value)


def silverman_widths(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Half-width of each column by Silverman's rule of thumb: that of the box with the rule's standard deviation."""
    total = weights.sum()
    sd = standard_deviations(X, weights)
    out = np.zeros(X.shape[1])
    for j in range(X.shape[1]):
        known = ~np.isnan(X[:, j])
        if sd[j] > 0:
            order = np.argsort(X[known, j], kind="stable")
            x, cumulated = X[known, j][order], np.cumsum(weights[known][order])
            low, high = x[np.searchsorted(cumulated, cumulated[-1] * np.array([0.25, 0.75]))]
            with np.errstate(over="ignore"):  # what is beyond all numbers is the largest one
                spread = min(sd[j], (high - low) / 1.34) if high > low else sd[j]
                out[j] = np.sqrt(3.0) * 0.9 * spread * total**-0.2
    return np.minimum(out, np.finfo(np.float64).max)


def loo_widths(X: np.ndarray, targets: ClassTargets | RealTargets, weights: np.ndarray) -> np.ndarray:
    """For each column, the half-width whose leave-one-out prediction of the target from that column alone is best.

    Best means the largest likelihood of the classes (with one pseudo-point of prior probability), or the smallest
    squared error. A row of weight 3 counts as three rows, of which one is left out.
    """
    sd = standard_deviations(X, weights)
    matrix = targets.matrix()
    with np.errstate(over="ignore"):  # a half-width beyond all numbers reaches all rows
        widths = [_loo_width(X[:, j], matrix, weights, sd[j], targets.is_class) for j in range(X.shape[1])]
    return np.minimum(widths, np.finfo(np.float64).max)


def _loo_width(x: np.ndarray, matrix: np.ndarray, weights: np.ndarray, sd: float, is_class: bool) -> float:
    known = ~np.isnan(x)
    if sd == 0:
        return 0.0
    order = np.argsort(x[known], kind="stable")
    x, y, w = x[known][order], matrix[known][order], weights[known][order]
    mass = np.concatenate([[0.0], np.cumsum(w)])
    sums = np.concatenate([np.zeros((1, y.shape[1])), np.cumsum(w[:, None] * y, axis=0)])
    prior = sums[-1] / mass[-1]
    losses = []
    for h in LOO_GRID * sd:
        low, high = np.searchsorted(x, x - h, side="left"), np.searchsorted(x, x + h, side="right")
        count = mass[high] - mass[low] - 1.0
        estimate = (sums[high] - sums[low] - y + prior) / (np.maximum(count, 0.0) + 1.0)[:, None]
        if is_class:
            likelihood = (np.maximum(estimate, 1e-12) * y).sum(axis=1)
            losses.append(-(w * np.log(np.maximum(likelihood, 1e-12))).sum())
        else:
            losses.append((w * ((estimate - y) ** 2).sum(axis=1)).sum())
    return float(LOO_GRID[int(np.argmin(losses))] * sd)
