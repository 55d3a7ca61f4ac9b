"""Parents and children of the nodes of trees."""

from __future__ import annotations

import numpy as np


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


def check_structure(
    left: np.ndarray, right: np.ndarray, parent: np.ndarray, depth: np.ndarray, offsets: np.ndarray
) -> None:
    """Raise a ValueError unless the nodes from each offset to the next are one tree, whose root comes first.

    Every child has its parent's number and is one level deeper, so there are no cycles, and no node has two parents.
    There are as many children as nodes that are not roots, so each node is reached from the root of its tree.
    """
    sizes = np.diff(offsets)
    size = np.repeat(sizes, sizes) if len(sizes) > 1 else sizes[0]
    inner = np.flatnonzero(left >= 0)
    is_tree = np.array_equal(left < 0, right < 0) and 2 * len(inner) == len(left) - len(sizes)
    is_tree = is_tree and all(bool(np.all((child >= -1) & (child < size))) for child in (left, right))
    if not is_tree or np.any(left[inner] == right[inner]):
        raise ValueError("children_left and children_right must describe one tree with node 0 as its root.")
    begin = np.repeat(offsets[:-1], sizes)[inner] if len(sizes) > 1 else 0
    number, below = inner - begin, depth[inner] + 1
    is_right = not np.any(parent[offsets[:-1]] != -1) and not np.any(depth[offsets[:-1]])
    for child in (left[inner] + begin, right[inner] + begin):
        is_right = is_right and np.array_equal(parent[child], number) and np.array_equal(depth[child], below)
    if not is_right:
        raise ValueError("parent and depth do not agree with children_left and children_right.")
