"""Statistics of columns, by blocks: with many columns, one call of numpy for all columns of a block."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

# Cells of a block: few enough for the cache. A column with more cells is a block of its own.
_CELLS = 1 << 16


def blocks_of(columns: np.ndarray, n: int) -> list[np.ndarray]:
    """The numbers of the columns, divided into blocks; the table has `n` rows."""
    size = max(1, _CELLS // max(n, 1))
    return [columns[begin : begin + size] for begin in range(0, len(columns), size)]


def known_cells(X: np.ndarray, columns: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    """The cells of a block that are not missing, for all columns with the same number of them together.

    Rows of the results are contiguous, so that sums along them have the same bits as those of a single column.

    Yields
    ------
    columns : numbers of the columns
    cells : (n_columns, n_known) their values, in the order of the rows
    rows : (n_columns, n_known) the rows of the cells; None if they are all rows
    """
    cells = np.ascontiguousarray(X[:, columns].T)
    is_known = ~np.isnan(cells)
    counts = is_known.sum(axis=1)
    for count in np.unique(counts):
        chosen = counts == count
        if count == X.shape[0]:
            yield columns[chosen], cells if chosen.all() else cells[chosen], None
        else:
            shape = np.count_nonzero(chosen), count
            rows = np.nonzero(is_known[chosen])[1].reshape(shape)
            yield columns[chosen], cells[chosen][is_known[chosen]].reshape(shape), rows


def means_of(cells: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Mean of each row of `cells` with these weights, of the same shape; 0 if no cell of the row has a weight."""
    if weights is None:
        return cells.mean(axis=1)
    totals = weights.sum(axis=1)
    return np.divide((cells * weights).sum(axis=1), totals, out=np.zeros(len(cells)), where=totals > 0)


def standard_deviations(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Standard deviation of each column, (p,); 0 for constant ones. Missing values do not count."""
    out = np.zeros(X.shape[1])
    for block in blocks_of(np.arange(X.shape[1]), len(X)):
        for columns, x, rows in known_cells(X, block):
            if x.shape[1] == 0:
                continue
            own = np.broadcast_to(weights, x.shape) if rows is None else weights[rows]
            largest = np.abs(x).max(axis=1)
            largest[largest == 0] = 1.0  # so that no square overflows
            z = x / largest[:, None]
            deviations = np.sqrt(means_of((z - means_of(z, own)[:, None]) ** 2, own)) * largest
            out[columns] = np.where(x.min(axis=1) == x.max(axis=1), 0.0, deviations)
    return out


def category_skewness(x: np.ndarray, weights: np.ndarray | None) -> float:
    """Skewness of the ranks of categories by their weight, which does not depend on their numbers."""
    known = ~np.isnan(x)
    if not known.any():
        return 0.0
    own = None if weights is None else weights[known]
    masses = np.bincount(x[known].astype(np.int64), weights=own).astype(np.float64)
    masses = np.sort(masses[masses > 0])[::-1]
    return float(skewness_of(np.arange(len(masses), dtype=np.float64)[None], masses[None])[0])


def skewness_of(x: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Skewness of sorted values (n_columns, n) with these weights; 0 for columns in which they are all the same."""
    out = np.zeros(len(x))
    varies = x[:, 0] != x[:, -1]
    x, weights = x[varies], None if weights is None else weights[varies]
    z = x / np.maximum(np.abs(x[:, :1]), np.abs(x[:, -1:]))  # so that no power overflows
    z -= means_of(z, weights)[:, None]
    square = z * z
    variance, third = means_of(square, weights), means_of(square * z, weights)
    # The power 1.5 of a variance may be 0 if all weights but one are tiny.
    out[varies] = np.divide(third, variance, out=np.zeros_like(third), where=variance > 0)
    out[varies] /= np.sqrt(np.where(variance > 0, variance, 1.0))
    return out
