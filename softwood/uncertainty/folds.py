"""Folds of rows in which equal rows stay together, so that a weight has the same effect as repeated rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def equal_rows(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One row of each content, in an order that depends only on the contents, and the number of each row's content."""
    rows = np.ascontiguousarray(matrix, dtype=np.float64) + 0.0  # -0 counts as 0
    items = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).reshape(len(rows))
    _, first, place = np.unique(items, return_index=True, return_inverse=True)
    return first, place.reshape(-1)


def folds(matrix: np.ndarray, n_folds: int, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Training and held-out rows of each fold."""
    first, place = equal_rows(matrix)
    if len(first) < n_folds:
        raise ValueError(f"There are {len(first)} different rows, too few for {n_folds} folds.")
    fold = (np.random.default_rng(seed).permutation(len(first)) % n_folds)[place]
    for k in range(n_folds):
        yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)
