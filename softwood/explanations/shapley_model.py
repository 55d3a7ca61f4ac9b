"""A fitted model as a game: its columns are the players, and its raw outputs the value."""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.fitted import FittedModel
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.tree import SoftTree

# Encoded rows, and half-widths of single cells or None.
Points = tuple[np.ndarray, np.ndarray | None]


def read_points(known: FittedModel, X: Any) -> Points:
    """Encoded rows of a table, which may have no rows, and half-widths of cells or None."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2 and shape[0] == 0:
        known.check_columns(X)
        return np.empty((0, known.trees.n_features)), None
    return known.points(X)


def has_products(known: FittedModel) -> bool:
    """Whether the share of a leaf is a product over the columns, so that values can be computed exactly."""
    only_kernels = bool(np.all(np.isin(known.trees.gate, (Gate.LEAF, Gate.KERNEL, Gate.SUBSET))))
    is_sum = known.trees.link == "identity" or isinstance(known.trees, SoftTree)
    return only_kernels and is_sum and not _has_leaf_models(known)


def used_columns(known: FittedModel) -> np.ndarray:
    """Numbers of the columns that the model may depend on."""
    trees = known.trees
    if _has_leaf_models(known):
        return np.arange(len(known.columns.inputs))
    is_used = np.zeros(trees.n_features, dtype=bool)
    tests_one = (trees.gate == Gate.KERNEL) | (trees.gate == Gate.SUBSET)
    is_used[trees.feature[tests_one | ((trees.gate == Gate.BLEND) & (trees.blend < 1.0))]] = True
    if trees.weights is not None:
        is_used |= np.any(trees.weights[trees.gate > Gate.KERNEL] != 0.0, axis=0)
    return np.unique(known.columns.source[is_used])


def absent_shares(trees: SoftTree | SoftForest) -> np.ndarray:
    """Share of an absent value that goes left at each gate, (n_nodes,).

    It is that of a missing value. Where a missing value goes to one side as a whole, it is the share of the training
    mass that went left, if the masses are known.
    """
    shares = trees.missing_left.copy()
    inner = np.flatnonzero(trees.children_left >= 0)
    begin = np.broadcast_to(trees._begin, trees.n_nodes)[inner]
    left = trees.mass[trees.children_left[inner] + begin]
    both = left + trees.mass[trees.children_right[inner] + begin]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = left / both
    is_whole = (shares[inner] == 0.0) | (shares[inner] == 1.0)
    is_known = np.isfinite(ratio) & (both > 0)
    shares[inner] = np.where(is_whole & is_known, ratio, shares[inner])
    return shares


def _has_leaf_models(known: FittedModel) -> bool:
    """Whether the leaves of a growing tree predict with models of their own, or the trees of a forest vote."""
    return known.growth is not None and bool(known.differs)
