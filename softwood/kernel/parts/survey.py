"""What is known about rows in parts, from two passes over them: ranges; then moments and a sample of the rows.

All results are the same for any division into parts: ranges, exact sums, and a sample drawn by the content of the rows.
A table with no more rows than the sample may have is its own sample. The third pass codes the rows
(`softwood.kernel.parts.coding`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from softwood.compiled.growing import add_moments
from softwood.kernel.data.row_keys import row_numbers
from softwood.kernel.parts.numbers import Largest, as_float, draw_keys, exact_sum, exponent_for, in_columns, whole
from softwood.kernel.parts.sources import RawRows, Source

# Bins and rules for bandwidths are read from about this many rows.
SAMPLE_ROWS = 200_000
# With fewer different rows than this in the sample, more are drawn: there are many equal rows.
_FEW_ROWS = 1000


# ------------------------------------------------------------------ weights


@dataclass(frozen=True)
class Weighting:
    """How the weights of the rows are scaled: divided by two numbers, times the factor of the class."""

    largest: float = 1.0
    mean: float = 1.0
    factors: np.ndarray | None = None

    def of(self, raw: RawRows) -> np.ndarray:
        """Weights of the rows, (n,)."""
        weights = raw.weights if self.largest == self.mean == 1.0 else raw.weights / self.largest / self.mean
        return weights if self.factors is None else weights * self.factors[raw.targets]


def _scaling(largest: float, total: int, n: int) -> Weighting:
    """As `softwood.base.as_counts`, from the largest weight, the exact sum of weights, and the number of rows."""
    mean = as_float(total, n) / largest
    return Weighting(largest, mean) if largest * mean < 1.0 or largest > 2.0**53 else Weighting()


# ------------------------------------------------------------------ the passes


def _ranges(raw: RawRows, n_classes: int | None) -> list[Any]:
    """Number of rows, weight of all and of each class, missing cells; the largest numbers, and least with a minus."""
    matrix, targets, weights = raw
    masses = None
    if targets.dtype.kind == "i" and n_classes is not None:
        masses = [exact_sum(weights[targets == k]) for k in range(n_classes)]
    numbers = in_columns(targets)
    low, high = (
        function.reduce(np.concatenate([matrix, numbers], axis=1), axis=0, initial=start)
        for function, start in ((np.fmin, np.inf), (np.fmax, -np.inf))
    )
    most = np.concatenate([[weights.max(initial=0.0)], -low, high])
    return [len(matrix), exact_sum(weights), masses, int(np.isnan(matrix).any()), Largest(most)]


class _Sampled(NamedTuple):
    """Different rows, by key, with how much weight each of them has, as a whole number."""

    keys: np.ndarray
    matrix: np.ndarray
    targets: np.ndarray
    masses: np.ndarray

    def __add__(self, other: Any) -> _Sampled:
        columns = [np.concatenate(pair) for pair in zip(self, other, strict=True)]
        keys, first, number = np.unique(columns[0], return_index=True, return_inverse=True)
        masses = np.zeros(len(keys), np.int64)
        np.add.at(masses, number, columns[3])
        return _Sampled(keys, columns[1][first], columns[2][first], masses)

    def with_mass(self) -> _Sampled:
        """Without rows whose weight is 0."""
        kept = self.masses > 0
        return _Sampled(*(column[kept] for column in self))


def _draw_sample(raw: RawRows, weighting: Weighting, exponent: int, seed: int, rate: float) -> list[Any]:
    """Rows of the sample; equal ones as one."""
    chosen = np.arange(len(raw.matrix))
    if rate < 1.0:
        chosen = np.flatnonzero(row_numbers(raw.matrix, seed) < rate)
    part = RawRows(*(array[chosen] for array in raw))
    keys = draw_keys(part.matrix, part.targets, seed)
    sampled = _Sampled(keys, part.matrix, part.targets, whole(weighting.of(part), exponent))
    return [sampled + _Sampled(*(column[:0] for column in sampled))]


def _moments(raw: RawRows, weighting: Weighting, exponent: int, middle: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Sums of weights, of weighted values and of their squares, for each column and target, (3, p + n_targets) int64.

    Values are measured from the middle of their range, in halves of its length.
    """
    weights = weighting.of(raw)
    scales = np.ldexp(1.0, [exponent // 2, exponent - exponent // 2])
    out = []
    begin = 0
    for columns in map(np.ascontiguousarray, (raw.matrix, in_columns(raw.targets))):
        end = begin + columns.shape[1]
        sums = np.zeros((3, columns.shape[1]), np.int64)
        add_moments(columns, weights, middle[begin:end] / half[begin:end], half[begin:end], scales, sums)
        out.append(sums)
        begin = end
    return np.concatenate(out, axis=1)


def _moments_and_sample(
    raw: RawRows, weighting: Weighting, exponent: int, middle: np.ndarray, half: np.ndarray, seed: int, rate: float
) -> list[Any]:
    """Both in one pass, because loading the rows may take longer than the computation."""
    moments = _moments(raw, weighting, exponent, middle, half)
    return [moments, *_draw_sample(raw, weighting, exponent, seed, rate)]


@dataclass(frozen=True)
class Survey:
    """What is known about the rows.

    Attributes
    ----------
    n_rows : number of rows with a weight;  total : their weight;  most : largest weight
    masses : (n_classes,) weight of each class; None if targets are not labels
    has_missing : whether cells are missing
    means, deviations : (p + n_targets,) of columns and targets
    lowest, highest : (p + n_targets,)
    sample : rows to read bins from, and weights that add up to `total`
    is_whole : whether the sample is the whole table
    """

    n_rows: int
    total: float
    most: float
    masses: np.ndarray | None
    has_missing: bool
    means: np.ndarray
    deviations: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    sample: RawRows
    is_whole: bool
    weighting: Weighting


def survey(
    source: Source, seed: int, n_classes: int | None, factors_of: Callable[[np.ndarray], np.ndarray | None]
) -> Survey:
    """Pass over the rows twice.

    Parameters
    ----------
    n_classes : number of classes, if targets are labels
    factors_of : returns factors on the weights of the classes, given the weight of each; None: no factors
    """
    n, exact, masses, has_missing, (most,) = source.summary("ranges", _ranges, n_classes)
    if n == 0:
        raise ValueError("sample_weight is zero for all rows; at least one must be above zero.")
    p = (len(most) - 1) // 2
    lowest, highest = -most[1 : 1 + p], most[1 + p :]
    weighting = _scaling(most[0], exact, n)
    total, largest = as_float(exact), most[0]
    if weighting.mean != 1.0 or weighting.largest != 1.0:
        total, largest = float(n), most[0] / weighting.largest / weighting.mean
    shares = None
    if masses is not None:
        unit = weighting.largest * weighting.mean
        shares = np.array([as_float(mass) / unit for mass in masses])
        factors = factors_of(shares)
        if factors is not None:
            weighting = replace(weighting, factors=factors)
            shares = shares * factors
            total, largest = float(shares.sum()), largest * float(factors.max())
    exponent = exponent_for(largest, n)
    with np.errstate(over="ignore", invalid="ignore"):
        known = lowest <= highest  # a column without any value has neither
        middle = np.where(known, 0.5 * lowest + 0.5 * highest, 0.0)
        half = np.where(known & (highest > lowest), 0.5 * highest - 0.5 * lowest, 1.0)
    half[~(half > 0.0)] = 1.0
    rate = min(1.0, SAMPLE_ROWS / n)
    sums, sample = source.summary("survey", _moments_and_sample, weighting, exponent, middle, half, seed, rate)
    sums = sums.astype(np.float64)
    mass = np.where(sums[0] > 0, sums[0], 1.0)
    mean = sums[1] / mass
    deviations = np.where(highest > lowest, np.sqrt(np.maximum(sums[2] / mass - mean * mean, 0.0)), 0.0) * half
    while rate < 1.0 and len(sample.keys) < _FEW_ROWS:
        rate = min(1.0, 64.0 * rate)
        (sample,) = source.summary("sample", _draw_sample, weighting, exponent, seed, rate)
    sample = sample.with_mass()
    weights = np.ldexp(sample.masses.astype(np.float64), -exponent)
    weights *= total / weights.sum() if rate < 1.0 else 1.0
    return Survey(
        n, total, largest, shares, bool(has_missing), middle + mean * half, deviations, lowest, highest,
        RawRows(np.ascontiguousarray(sample.matrix), sample.targets, weights), rate == 1.0, weighting,
    )  # fmt: skip
