"""The regions of a tree's leaves in a plane through the data."""

from __future__ import annotations

import numpy as np

from softwood.trees.gates import Gate
from softwood.trees.tree import SoftTree

Limits = tuple[float, float]


def partition_lines(
    tree: SoftTree, row: np.ndarray, features: tuple[int, int], limits: tuple[Limits, Limits]
) -> list[np.ndarray]:
    """Borders between the leaves of the crisp tree in a plane: line segments, each (2, 2).

    The border of a gate of any kind is where it sends half of a point to each side.

    Parameters
    ----------
    row : (n_features,) a point of the plane; its entries at `features` do not matter
    features : the two features that vary in the plane
    limits : lowest and highest value of each of the two features

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import SoftTree
    >>> from softwood.plots.partition import partition_lines
    >>> stump = SoftTree.from_nodes(
    ...     children_left=[1, -1, -1], children_right=[2, -1, -1], feature=[1, -1, -1],
    ...     threshold=[0.5, np.nan, np.nan], value=[0, 0, 1], n_features=2)
    >>> partition_lines(stump, np.zeros(2), (0, 1), ((0, 1), (0, 1)))
    [array([[1. , 0.5],
           [0. , 0.5]])]
    """
    (x0, x1), (y0, y1) = limits
    lines: list[np.ndarray] = []
    pending = [(0, np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], dtype=np.float64))]
    while pending:
        node, region = pending.pop()
        if tree.children_left[node] < 0:
            continue
        slope, start = _half_plane(tree, node, row, features)
        left, right, border = _cut(region, region @ slope + start)
        if border is not None:
            lines.append(border)
        if left is not None:
            pending.append((int(tree.children_left[node]), left))
        if right is not None:
            pending.append((int(tree.children_right[node]), right))
    return lines


def _half_plane(tree: SoftTree, node: int, row: np.ndarray, features: tuple[int, int]) -> tuple[np.ndarray, float]:
    """Slope (2,) and start of a linear function of the plane that is above 0 where the gate sends most to the left."""
    if tree.gate[node] == Gate.SUBSET:
        if tree.feature[node] in features:
            raise ValueError(f"Feature {tree.feature[node]} holds categories; a plane has two columns of numbers.")
        category = row[tree.feature[node]]
        if np.isnan(category):
            return np.zeros(2), float(tree.missing_left[node]) - 0.5
        return np.zeros(2), 1.0 if int(category) in tree.members(node) else -1.0
    if tree.gate[node] == Gate.KERNEL or (tree.gate[node] == Gate.BLEND and tree.blend[node] < 0.5):
        weights = np.zeros(tree.n_features)
        weights[tree.feature[node]] = -1.0
        start = float(tree.threshold[node])
    else:
        assert tree.weights is not None  # checked when the tree was made
        weights, start = tree.weights[node], float(tree.bias[node])
    fixed = np.setdiff1d(np.flatnonzero(weights), features)
    start += float(weights[fixed] @ row[fixed])
    if np.isnan(start):  # a missing value: everything goes to the side with the larger share
        return np.zeros(2), float(tree.missing_left[node]) - 0.5
    return weights[list(features)], start


def _cut(region: np.ndarray, height: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]:
    """Cut a convex region where `height`, given at its corners, is 0: the part above, the part below, and the cut."""
    if np.all(height >= 0):
        return region, None, None
    if np.all(height <= 0):
        return None, region, None
    above, below, border = [], [], []
    for here, there, a, b in zip(region, np.roll(region, -1, axis=0), height, np.roll(height, -1), strict=True):
        if a >= 0:
            above.append(here)
        if a <= 0:
            below.append(here)
        if a == 0:
            border.append(here)
        if a * b < 0:
            crossing = here + (there - here) * (a / (a - b))
            above.append(crossing)
            below.append(crossing)
            border.append(crossing)
    return np.array(above), np.array(below), np.array(border)
