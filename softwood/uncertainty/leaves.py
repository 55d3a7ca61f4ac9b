"""Targets in the leaves: the memberships of a row are weights of the training rows, and so give a distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from softwood.core.arrays import is_within, require_array
from softwood.trees.forest import SoftForest
from softwood.trees.tree import SoftTree
from softwood.uncertainty.distribution import Distribution

# Rows whose memberships are computed at once, and the most values that are kept apart.
_BLOCK, MOST_VALUES = 2048, 1000


@dataclass(frozen=True)
class LeafTargets:
    """Distributions of the targets in the leaves of trees.

    Attributes
    ----------
    values : (n_values,) targets in rising order; of more than `MOST_VALUES`, means of as many parts of equal weight
    shares, indices, indptr : weights of the values in each node (0 in inner nodes), rows of a sparse matrix
    """

    values: np.ndarray
    shares: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray

    def __post_init__(self) -> None:
        require_array("values", self.values, np.float64, (None,))
        require_array("shares", self.shares, np.float64, (None,))
        require_array("indices", self.indices, np.int32, self.shares.shape)
        require_array("indptr", self.indptr, np.int64, (None,))
        ends = self.indptr
        if len(ends) < 2 or ends[0] != 0 or ends[-1] != len(self.shares) or np.any(np.diff(ends) < 0):
            raise ValueError("indptr does not divide the shares.")
        if not np.all(np.isfinite(self.values)) or np.any(np.diff(self.values) <= 0):
            raise ValueError("values must be finite and rise.")
        if not is_within(self.indices, 0, len(self.values) - 1) or not is_within(self.shares, 0.0, 1.0 + 1e-9):
            raise ValueError("indices or shares of targets are out of range.")

    @classmethod
    def of(
        cls,
        trees: SoftTree | SoftForest,
        matrix: np.ndarray,
        widths: np.ndarray | None,
        y: np.ndarray,
        weights: np.ndarray,
    ) -> LeafTargets:
        """Divide the targets of rows among the leaves by the memberships of the rows."""
        values, place = _values(y, weights)
        total: Any = None
        for begin in range(0, len(matrix), _BLOCK):
            rows = slice(begin, begin + _BLOCK)
            n = len(matrix[rows])
            shares = leaf_shares(trees, matrix[rows], None if widths is None else widths[rows])
            targets = sparse.csr_array((weights[rows], (np.arange(n), place[rows])), shape=(n, len(values)))
            part = shares.T @ targets
            total = part if total is None else total + part
        total = sparse.csr_array(total)
        total.sort_indices()
        mass = np.asarray(total.sum(axis=1)).ravel()
        counts = np.diff(total.indptr)
        shares = total.data / np.repeat(np.where(mass > 0, mass, 1.0), counts)
        return cls(values, shares, total.indices.astype(np.int32), total.indptr.astype(np.int64))

    def distribution(
        self, trees: SoftTree | SoftForest, matrix: np.ndarray, widths: np.ndarray | None, offset: np.ndarray
    ) -> Distribution:
        """Distributions of rows; `offset` is added to the values of each."""
        shape = len(self.indptr) - 1, len(self.values)
        inside = sparse.csr_array((self.shares, self.indices, self.indptr), shape=shape)
        found = np.empty((len(matrix), len(self.values)))
        for begin in range(0, len(matrix), _BLOCK):
            rows = slice(begin, begin + _BLOCK)
            found[rows] = (
                leaf_shares(trees, matrix[rows], None if widths is None else widths[rows]) @ inside
            ).toarray()
        mass = found.sum(axis=1, keepdims=True)
        found = np.where(mass > 0, found / np.where(mass > 0, mass, 1.0), 1.0 / found.shape[1])
        values = self.values[None] if not np.any(offset) else self.values + offset[:, None]
        return Distribution(values, found)


def leaf_shares(trees: SoftTree | SoftForest, matrix: np.ndarray, widths: np.ndarray | None) -> sparse.csr_array:
    """Shares of rows in the leaves, (n, n_nodes); those in inner nodes are left out."""
    found = sparse.csr_array(trees.memberships(matrix, widths=widths))
    is_leaf = trees.children_left < 0
    kept = is_leaf[found.indices]
    counts = np.concatenate([[0], np.cumsum(kept)])[found.indptr]
    return sparse.csr_array((found.data[kept], found.indices[kept], counts), shape=found.shape)


def _values(y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values to keep, and the number of each row's."""
    values, place = np.unique(y, return_inverse=True)
    if len(values) <= MOST_VALUES:
        return values, place
    mass = np.bincount(place, weights=weights)
    part = np.minimum(((np.cumsum(mass) - 0.5 * mass) / mass.sum() * MOST_VALUES).astype(np.int64), MOST_VALUES - 1)
    _, part = np.unique(part, return_inverse=True)
    size = float(np.abs(values).max())
    means = np.bincount(part, weights=mass * (values / size)) / np.bincount(part, weights=mass) * size
    means, merged = np.unique(means, return_inverse=True)
    return means, merged[part][place]
