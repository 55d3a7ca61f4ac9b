"""Bins of columns whose cells have half-widths of their own: neighbouring values with similar half-widths."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from softwood.kernel.data.binning import starts_by_quantiles
from softwood.kernel.growing.loops.groups import Bins

# Largest number of bins of such a column; with more pairs of a value and a half-width, they are grouped.
MOST_BINS = 255
# Groups of half-widths; each is divided by values.
N_REACHES = 8
# Smallest half-width, as a part of the median of the column: thresholds are at the ends of boxes, and a point has only
# one.
SMALLEST_REACH = 1e-4


def bin_cells(bins: Bins, widths: np.ndarray, cells: np.ndarray, weights: np.ndarray) -> tuple[Bins, np.ndarray]:
    """New bins for the columns whose cells have half-widths of their own.

    Up to `MOST_BINS` different pairs of a value and a half-width have a bin each. Otherwise the half-widths are divided
    at quantiles into `N_REACHES` groups, and each group into bins by quantiles of the values, as many as its mass is a
    part of the whole.

    Parameters
    ----------
    bins : bins by value;  widths : (p,) half-width of each column
    cells : (n, p) half-widths of single cells, nan in columns where all rows have the same
    weights : (n,) weights of the rows

    Returns
    -------
    bins : the same for columns of common half-widths
    reach : (total,) half-width of each bin; all are 0 in a column, or none
    """
    counts = np.diff(bins.offsets)
    parts = (bins.values, bins.lows, bins.highs)
    values, lows, highs = ([part[a:b] for a, b in pairwise(bins.offsets)] for part in parts)
    reach = [np.full(count, width) for count, width in zip(counts, widths, strict=True)]
    numbers = {}
    for j in np.flatnonzero(~np.isnan(cells).all(axis=0)).tolist():
        numbers[j], values[j], lows[j], highs[j], reach[j] = _bin_column(bins.points[:, j], cells[:, j], weights)
        counts[j] = len(values[j])
    codes = np.empty(bins.codes.shape, np.uint8 if counts.max(initial=0) <= 255 else np.uint32)
    for j in range(len(counts)):
        codes[:, j] = numbers.get(j, bins.codes[:, j])
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    joined = (np.concatenate(own) for own in (values, lows, highs))
    new = dict(zip(("values", "lows", "highs"), joined, strict=True))
    return bins._replace(codes=codes, offsets=offsets, **new), np.concatenate(reach)


def _bin_column(x: np.ndarray, reach: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """Number of the bin of each row, and mean, smallest and largest value and mean half-width of each bin, by value."""
    rows = np.flatnonzero(~np.isnan(x))
    rows = rows[np.lexsort((x[rows], reach[rows]))]
    starts = np.flatnonzero(_changes(reach[rows]) | _changes(x[rows]))
    if len(starts) > MOST_BINS:
        rows, starts = _grouped(rows, x, reach, weights)
    sizes = np.diff(np.append(starts, len(rows)))
    lows, highs = (end.reduceat(x[rows], starts) if len(rows) else np.empty(0) for end in (np.minimum, np.maximum))
    means = _means(x[rows], weights[rows], starts, sizes, lows, highs)
    nearest = np.minimum.reduceat(reach[rows], starts) if len(rows) else np.empty(0)
    reaches = _means(reach[rows], weights[rows], starts, sizes, nearest, np.full(len(starts), np.inf))
    if reaches.any():
        reaches = np.maximum(reaches, SMALLEST_REACH * np.median(reaches[reaches > 0]))
    order = np.argsort(means, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    numbers = np.full(len(x), len(starts))
    numbers[rows] = np.repeat(place, sizes)
    return numbers, means[order], lows[order], highs[order], reaches[order]


def _grouped(rows: np.ndarray, x: np.ndarray, reach: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows, by half-width, in another order, and where bins begin."""
    is_first = _changes(reach[rows])
    if is_first.sum() > N_REACHES:
        is_first = starts_by_quantiles(reach[rows], weights[rows], N_REACHES)
    ends = [*np.flatnonzero(is_first).tolist(), len(rows)]
    spare, total = MOST_BINS - (len(ends) - 1), weights[rows].sum()
    is_start = []
    for begin, end in pairwise(ends):
        rows[begin:end] = own = rows[begin:end][np.argsort(x[rows[begin:end]], kind="stable")]
        starts = _changes(x[own])
        most = 1 + int(spare * weights[own].sum() / total)
        if starts.sum() > most:
            starts = starts_by_quantiles(x[own], weights[own], most)
        is_start.append(starts)
    return rows, np.flatnonzero(np.concatenate(is_start))


def _changes(values: np.ndarray) -> np.ndarray:
    """Which values differ from the one before; the first one does."""
    out = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=out[1:])
    return out


def _means(
    values: np.ndarray, weights: np.ndarray, starts: np.ndarray, sizes: np.ndarray, lows: np.ndarray, highs: np.ndarray
) -> np.ndarray:
    """Weighted means of runs of values, of differences from the smallest: exact for equal values."""
    if len(values) == 0:
        return np.empty(0)
    masses = np.add.reduceat(weights, starts)
    sums = np.add.reduceat((values - np.repeat(lows, sizes)) * weights, starts)
    return np.clip(lows + np.divide(sums, masses, out=np.zeros(len(starts)), where=masses > 0), lows, highs)
