"""Bins of features: one per distinct value for the exact search, a few hundred quantiles for the histogram search."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from softwood.density.threads import Threads
from softwood.loops.binning import encode_column
from softwood.loops.groups import Bins

__all__ = ["Bins", "bin_features", "merge_narrow_bins"]

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
    most = [None if own else max_bins for own in is_category]
    columns = _for_all(_bin_column, [(X[:, j], weights, most[j]) for j in range(p)], n_jobs)
    skewness = [
        _category_skewness(X[:, j], weights) if is_category[j] else columns[j][-1] for j in range(p)
    ]  # fmt: skip
    counts = [len(values) for values, *_ in columns]
    codes = np.empty((n, p), dtype=np.uint8 if max(counts, default=0) <= 255 else np.uint32)
    _for_all(encode_column, [(X, j, lows[1:], codes) for j, (_, lows, *_) in enumerate(columns)], n_jobs)
    codes[:, np.array(counts, dtype=np.int64) == 0] = 0  # a column without any value has no bins, so "missing" is 0
    empty = [np.empty(0)]
    return Bins(
        codes,
        np.concatenate(empty + [values for values, *_ in columns]),
        np.concatenate(empty + [lows for _, lows, *_ in columns]),
        np.concatenate(empty + [highs for _, _, highs, _ in columns]),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.argsort(skewness, kind="stable").astype(np.int64),
        np.asarray(n_categories, dtype=np.int64),
    )


def merge_narrow_bins(bins: Bins, widths: np.ndarray, weights: np.ndarray) -> Bins:
    """Merge neighbouring bins that are much narrower than the kernel, which hides where in them a value lies.

    Parameters
    ----------
    widths : (p,) half-widths of the kernels;  weights : (n,) weights of the rows
    """
    is_category = bins.n_categories > 0 if len(bins.n_categories) else np.zeros(len(widths), dtype=bool)
    numbers: list[np.ndarray] = []  # for each feature, the new number of each of its bins
    for j, (begin, end) in enumerate(pairwise(bins.offsets)):
        numbers.append(np.arange(end - begin))
        if end - begin > FEW_BINS and widths[j] > 0 and not is_category[j]:
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


def _bin_column(
    x: np.ndarray, weights: np.ndarray | None, max_bins: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Mean, smallest and largest value of each bin of a feature, and its skewness."""
    if weights is None:
        x = np.sort(x)
        known = len(x) - np.count_nonzero(np.isnan(x[::-1])) if np.isnan(x[-1:]).any() else len(x)
    else:
        order = np.argsort(x, kind="stable")
        x, weights = x[order], weights[order]
        known = len(x) - np.count_nonzero(np.isnan(x))
        weights = weights[:known]
    x = x[:known]
    starts = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]])) if known else np.empty(0, dtype=np.int64)
    if max_bins is not None and len(starts) > max_bins:
        goals = np.arange(1, max_bins) / max_bins
        if weights is None:
            at = np.floor(known * goals).astype(np.int64)
        else:
            cumulated = np.cumsum(weights)
            at = np.minimum(np.searchsorted(cumulated, cumulated[-1] * goals, side="right"), known - 1)
        starts = np.unique(np.concatenate([[0], np.searchsorted(x, np.unique(x[at]), side="left")]))
    if known == 0:
        return np.empty(0), np.empty(0), np.empty(0), 0.0
    lows = x[starts]
    highs = x[np.concatenate([starts[1:], [known]]) - 1]
    # Means of differences from the smallest value: exact for equal values, and safe for huge ones.
    offsets = x - np.repeat(lows, np.diff(np.append(starts, known)))
    if weights is None:
        means = np.add.reduceat(offsets, starts) / np.diff(np.append(starts, known))
    else:
        sums, masses = np.add.reduceat(offsets * weights, starts), np.add.reduceat(weights, starts)
        means = np.divide(sums, masses, out=np.zeros(len(starts)), where=masses > 0)  # classes may have no weight
    return np.clip(lows + means, lows, highs), lows, highs, _skewness(x, weights)


def _category_skewness(x: np.ndarray, weights: np.ndarray | None) -> float:
    """Skewness of the ranks of categories by their weight, which does not depend on their numbers."""
    known = ~np.isnan(x)
    if not known.any():
        return 0.0
    own = None if weights is None else weights[known]
    masses = np.bincount(x[known].astype(np.int64), weights=own).astype(np.float64)
    masses = np.sort(masses[masses > 0])[::-1]
    return _skewness(np.arange(len(masses), dtype=np.float64), masses)


def _skewness(x: np.ndarray, weights: np.ndarray | None) -> float:
    """Skewness of sorted values; 0 if they are all the same."""
    if x[0] == x[-1]:
        return 0.0
    z = x / max(abs(x[0]), abs(x[-1]))  # so that no power overflows
    z = z - np.average(z, weights=weights)
    square = z * z
    variance = float(np.average(square, weights=weights))
    return float(np.average(square * z, weights=weights)) / variance**1.5 if variance > 0 else 0.0
