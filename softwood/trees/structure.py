"""Parents and children of the nodes of trees."""

from __future__ import annotations

import numpy as np

__all__ = ["children_of", "parents_and_depths"]


def children_of(parent: np.ndarray, side: np.ndarray, begin: np.ndarray | int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Left and right child of each node, -1 at leaves, from the parents of nodes and their sides (0: left), (n_nodes,).

    Parameters
    ----------
    begin : (n_nodes,) for each node the index of the first node of its tree, if there are several trees; parents and
        children are numbered within their tree
    """
    children = np.full((2, len(parent)), -1, dtype=np.int32)
    below = np.flatnonzero(parent >= 0)
    begin = np.broadcast_to(begin, len(parent))[below]
    children[side[below].astype(np.int64), parent[below] + begin] = below - begin
    return children[0], children[1]


def parents_and_depths(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Parent and depth of each node; an error if the children do not describe one tree."""
    n = len(left)
    inner = np.flatnonzero(left >= 0)
    has_pairs = np.array_equal(left >= 0, right >= 0)
    children = np.concatenate([left[inner], right[inner]]) if has_pairs else inner
    is_tree = has_pairs and len(children) == n - 1 and np.array_equal(np.sort(children), np.arange(1, n))
    parent = np.full(n, -1, dtype=np.int32)
    depth = np.zeros(n, dtype=np.int32)
    if is_tree:
        parent[left[inner]] = inner
        parent[right[inner]] = inner
        level, reached = np.array([0]), 0
        while len(level):
            reached += len(level)
            split = level[left[level] >= 0]
            below = np.concatenate([left[split], right[split]])
            depth[below] = depth[parent[below]] + 1
            level = below
        is_tree = reached == n
    if not is_tree:
        raise ValueError("children_left and children_right must describe one tree with node 0 as its root.")
    return parent, depth
