"""Pseudo-random numbers of rows that depend only on their content.

Folds and samples drawn by these numbers do not depend on the order of the rows. Equal rows stay together, so a weight
has the same effect as repeated rows. Rows with the same values in different columns have different numbers.
"""

from __future__ import annotations

import numpy as np

from softwood.compiled.growing import key_rows


def row_keys(X: np.ndarray, seed: int) -> np.ndarray:
    """64 pseudo-random bits for each row that depend only on its content and the seed, (n,) uint64."""
    rows, keys = np.ascontiguousarray(X, dtype=np.float64), np.empty(len(X), np.uint64)
    key_rows(rows, rows.view(np.uint64), np.uint64(seed), keys)
    return keys


def row_numbers(X: np.ndarray, seed: int) -> np.ndarray:
    """A pseudo-random number in [0, 1) for each row that depends only on its content and the seed, (n,)."""
    return (row_keys(X, seed) >> np.uint64(11)).astype(np.float64) / 2.0**53
