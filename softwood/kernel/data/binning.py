"""Bins of features: one per distinct value for the exact search, a few hundred quantiles for the histogram search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from softwood.compiled.growing import encode_column
from softwood.core.threads import Threads
from softwood.kernel.data.column_statistics import blocks_of, category_skewness, known_cells, skewness_of
from softwood.kernel.growing.loops.groups import Bins

# Of a feature with more bins than this, neighbours are merged within this part of the half-width of the kernel.
FEW_BINS, NARROW = 64, 0.125


def bin_features(
    X: np.ndarray,
    weights: np.ndarray | None,
    max_bins: int | None,
    n_jobs: int | None = None,
    n_categories: np.ndarray | None = None,
) -> Bins:
    """Bin all features.

    Parameters
    ----------
    X : (n, p) in C order, nan where missing
    weights : (n,) weights of the rows, for quantiles and means; None if they are equal
    max_bins : largest number of bins per feature, by quantiles; None: one per distinct value
    n_jobs : threads, over features
    n_categories : (p,) number of categories of each column, 0 for numbers; None if no column has any. Every category
        has a bin of its own, whatever `max_bins` is
    """
    n, p = X.shape
    if n_categories is None or not n_categories.any():
        n_categories = np.zeros(0, np.int64)
    is_category = n_categories > 0 if len(n_categories) else np.zeros(p, dtype=bool)
    blocks = [(X, block, weights, max_bins) for block in blocks_of(np.flatnonzero(~is_category), n)]
    blocks += [(X, block, weights, None) for block in blocks_of(np.flatnonzero(is_category), n)]
    parts = [part for found in _for_all(_bin_block, blocks, n_jobs) for part in found]
    skewness, counts = np.zeros(p), np.zeros(p, np.int64)
    for part in parts:
        skewness[part.columns], counts[part.columns] = part.skewness, part.counts
    for j in np.flatnonzero(is_category):
        skewness[j] = category_skewness(X[:, j], weights)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    values, lows, highs = np.empty((3, offsets[-1]))
    for part in parts:
        # All bins of a column move by the same distance from their places in this part to those in the table.
        moves = offsets[part.columns] - (np.cumsum(part.counts) - part.counts)
        places = np.arange(len(part.values)) + np.repeat(moves, part.counts)
        values[places], lows[places], highs[places] = part.values, part.lows, part.highs
    codes = np.empty((n, p), dtype=np.uint8 if counts.max(initial=0) <= 255 else np.uint32)
    cuts = [lows[begin + 1 : end] for begin, end in pairwise(offsets.tolist())]
    _for_all(encode_column, [(X, j, cuts[j], codes) for j in range(p)], n_jobs)
    codes[:, counts == 0] = 0  # a column without any value has no bins, so "missing" is 0
    return Bins(
        codes, values, lows, highs, offsets, np.argsort(skewness, kind="stable"),
        np.asarray(n_categories, dtype=np.int64),
        X,
    )  # fmt: skip


def merge_narrow_bins(bins: Bins, widths: np.ndarray, weights: np.ndarray) -> Bins:
    """Merge neighbouring bins that are much narrower than the kernel, which hides where in them a value lies.

    Parameters
    ----------
    widths : (p,) half-widths of the kernels;  weights : (n,) weights of the rows
    """
    is_category = bins.n_categories > 0 if len(bins.n_categories) else np.zeros(len(widths), dtype=bool)
    may_merge = (np.diff(bins.offsets) > FEW_BINS) & (widths > 0) & ~is_category
    if not may_merge.any():
        return bins
    numbers: list[np.ndarray] = []  # for each feature, the new number of each of its bins
    for j, (begin, end) in enumerate(pairwise(bins.offsets)):
        numbers.append(np.arange(end - begin))
        if may_merge[j]:
            values = bins.values[begin:end]
            with np.errstate(over="ignore", invalid="ignore"):
                place = np.floor((values - values[0]) / (NARROW * widths[j]))
                steps = np.diff(place, prepend=place[0])
            numbers[j] = np.cumsum(steps != 0)  # nan, too: of places that are too large for a float
    counts = [number[-1] + 1 if len(number) else 0 for number in numbers]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    if offsets[-1] == bins.offsets[-1]:
        return bins
    codes = np.empty_like(bins.codes)
    values, lows, highs = np.empty((3, offsets[-1]))
    for j, number in enumerate(numbers):
        old, new = slice(*bins.offsets[j : j + 2]), slice(*offsets[j : j + 2])
        if counts[j] == len(number):
            codes[:, j] = bins.codes[:, j]
            values[new], lows[new], highs[new] = bins.values[old], bins.lows[old], bins.highs[old]
            continue
        codes[:, j] = np.append(number, counts[j])[bins.codes[:, j]]
        starts = np.flatnonzero(np.diff(number, prepend=-1))
        lows[new] = bins.lows[old][starts]
        highs[new] = bins.highs[old][np.append(starts[1:], len(number)) - 1]
        masses = np.bincount(bins.codes[:, j], weights, minlength=len(number) + 1)[:-1]
        sums = np.add.reduceat(masses * (bins.values[old] - lows[new][number]), starts)
        means = np.divide(sums, totals := np.add.reduceat(masses, starts), out=np.zeros(counts[j]), where=totals > 0)
        values[new] = np.clip(lows[new] + means, lows[new], highs[new])
    return bins._replace(codes=codes, values=values, lows=lows, highs=highs, offsets=offsets)


def _for_all(work: Callable, arguments: list[tuple], n_jobs: int | None) -> list:
    """Call `work` with each of the `arguments`, in threads if `n_jobs` asks for several."""
    found: list[Any] = [None] * len(arguments)

    def do(item: int, _: int) -> None:
        found[item] = work(*arguments[item])

    with Threads(effective_n_jobs(n_jobs)) as threads:
        threads.run(do, len(arguments))
    return found


@dataclass(frozen=True)
class _ColumnBins:
    """Bins of some columns.

    Attributes
    ----------
    columns : (n_columns,) their numbers;  counts : (n_columns,) number of bins of each;  skewness : (n_columns,)
    values, lows, highs : mean, smallest and largest value of each bin, column by column
    """

    columns: np.ndarray
    counts: np.ndarray
    skewness: np.ndarray
    values: np.ndarray
    lows: np.ndarray
    highs: np.ndarray


def _bin_block(
    X: np.ndarray, columns: np.ndarray, weights: np.ndarray | None, max_bins: int | None
) -> list[_ColumnBins]:
    """Bin a block of columns."""
    return [_bin_known(*known, weights, max_bins) for known in known_cells(X, columns)]


def _bin_known(
    columns: np.ndarray, x: np.ndarray, rows: np.ndarray | None, weights: np.ndarray | None, max_bins: int | None
) -> _ColumnBins:
    """Bin columns with the same number of known values; `x` and `rows` as in `known_cells`."""
    n_columns, known = x.shape
    if known == 0:
        none = np.empty(0)
        return _ColumnBins(columns, np.zeros(n_columns, np.int64), np.zeros(n_columns), none, none, none)
    if weights is None:
        x = np.sort(x, axis=1)
    else:
        order = np.argsort(x, axis=1, kind="stable")
        x = np.take_along_axis(x, order, axis=1)
        weights = weights[order if rows is None else np.take_along_axis(rows, order, axis=1)]
    is_start = np.ones(x.shape, dtype=bool)
    np.not_equal(x[:, 1:], x[:, :-1], out=is_start[:, 1:])
    if max_bins is not None and known > max_bins:
        for number in np.flatnonzero(np.count_nonzero(is_start, axis=1) > max_bins):
            is_start[number] = starts_by_quantiles(x[number], None if weights is None else weights[number], max_bins)
    starts = np.flatnonzero(is_start)
    values = x.ravel()
    lows, highs = values[starts], values[np.append(starts[1:], x.size) - 1]
    sizes = np.diff(np.append(starts, x.size))
    # Means of differences from the smallest value: exact for equal values, and safe for huge ones.
    offsets = values - np.repeat(lows, sizes)
    if weights is None:
        means = np.add.reduceat(offsets, starts) / sizes
    else:
        own = weights.ravel()
        sums, masses = np.add.reduceat(offsets * own, starts), np.add.reduceat(own, starts)
        means = np.divide(sums, masses, out=np.zeros(len(starts)), where=masses > 0)  # classes may have no weight
    means = np.clip(lows + means, lows, highs)
    return _ColumnBins(columns, np.count_nonzero(is_start, axis=1), skewness_of(x, weights), means, lows, highs)


def starts_by_quantiles(x: np.ndarray, weights: np.ndarray | None, max_bins: int) -> np.ndarray:
    """Which of the sorted values begin a bin, if there are too many different ones."""
    known = len(x)
    goals = np.arange(1, max_bins) / max_bins
    if weights is None:
        at = np.floor(known * goals).astype(np.int64)
    else:
        cumulated = np.cumsum(weights)
        at = np.minimum(np.searchsorted(cumulated, cumulated[-1] * goals, side="right"), known - 1)
    is_start = np.zeros(known, dtype=bool)
    is_start[0] = is_start[np.searchsorted(x, x[at], side="left")] = True
    return is_start
