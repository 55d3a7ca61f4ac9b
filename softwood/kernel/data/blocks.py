"""Blocks of columns, for tables with many columns: one call of numpy for all columns of a block."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

__all__ = ["blocks_of", "known_cells", "means_of"]

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
