"""Rows whose noise depends on a column, and whether targets are inside of intervals."""

import numpy as np

__all__ = ["is_in", "noisy_rows"]


def noisy_rows(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + rng.normal(size=n) * (0.2 + (X[:, 1] > 0))


def is_in(ends, y):
    return (ends[:, 0] <= y) & (y <= ends[:, 1])
