"""Trees that test sets of categories, written with columns of zeros and ones: for readers that know no such sets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from softwood.core.columns import Columns
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.tree import SoftTree

Finished = TypeVar("Finished", bound=SoftTree | SoftForest)


def one_hot_trees(trees: Finished, columns: Columns) -> tuple[Finished, Columns]:
    """The same trees for a table whose categories are columns of zeros and ones, and the encoding of this table.

    A set of one category, or of all but one, becomes a crisp test of its column. Any other set becomes a crisp oblique
    gate with weight 1 for the columns of its categories. Predictions do not change.

    Parameters
    ----------
    columns : encoding of the trees' table; a column that is tested by sets must have categories
    """
    places = columns.one_hot()
    by_set = np.flatnonzero(trees.gate == Gate.SUBSET)
    for j in np.unique(trees.feature[by_set]).tolist():
        if columns.categories[columns.source[j]] is None or not columns.as_codes:
            raise ValueError(
                f"Feature {columns.names[j]!r} is tested by sets of categories whose names are not known; "
                "give the estimator instead of its trees."
            )
    if not columns.as_codes:
        return trees, columns
    first = places.first_of(columns)  # of the columns of zeros and ones of each feature
    changed = ("gate", "threshold", "bias", "missing_left", "children_left", "children_right")
    arrays: dict[str, Any] = {name: getattr(trees, name).copy() for name in changed}
    arrays["feature"] = np.where(trees.feature >= 0, first[trees.feature], -1).astype(np.int32)
    weights = np.zeros((trees.n_nodes, len(places.names)))
    if trees.weights is not None:
        weights[:, first] = trees.weights
    for node in by_set.tolist():
        j = int(trees.feature[node])
        known = columns.categories[columns.source[j]]
        assert known is not None
        _write_gate(arrays, weights, node, np.isin(np.arange(len(known)), trees.members(node)), int(first[j]))
    has_weights = trees.weights is not None or bool(np.any(arrays["gate"] == Gate.OBLIQUE))
    arrays["weights"] = weights if has_weights else None
    return replace(trees, n_features=len(places.names), subsets=None, center=None, scale=None, **arrays), places


def _write_gate(arrays: dict[str, Any], weights: np.ndarray, node: int, is_left: np.ndarray, begin: int) -> None:
    """Replace the gate of a node by one of the columns of zeros and ones from `begin` on.

    Parameters
    ----------
    arrays, weights : those of the nodes, which are changed
    is_left : (n_categories,) bool
    """
    n, n_left = len(is_left), int(is_left.sum())
    shown = np.array([1]) if n == 2 else np.arange(n)  # of two categories, only the second has a column
    if 0 < n_left < n and (n == 2 or n_left in (1, n - 1)):
        alone = 1 if n == 2 else int(np.flatnonzero(is_left if n_left == 1 else ~is_left)[0])
        arrays["gate"][node], arrays["threshold"][node] = Gate.KERNEL, 0.5
        arrays["feature"][node] = begin + int(np.flatnonzero(shown == alone)[0])
        if is_left[alone]:  # a test sends zeros to the left, so that the category itself goes right
            left, right = arrays["children_left"][node], arrays["children_right"][node]
            arrays["children_left"][node], arrays["children_right"][node] = right, left
            arrays["missing_left"][node] = 1.0 - arrays["missing_left"][node]
        return
    arrays["gate"][node], arrays["feature"][node] = Gate.OBLIQUE, -1
    # The weights of a gate that has all categories on one side are there for missing values, which are divided.
    arrays["bias"][node] = 0.5 if n_left == n == 2 else -0.5
    weights[node, begin : begin + len(shown)] = is_left[shown] if n_left else -1.0
