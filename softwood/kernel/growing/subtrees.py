"""Growing a tree in several threads: the top of the tree in one, and then each of its subtrees in the next free one."""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed

from softwood.compiled.growing import find_intervals
from softwood.core.steps import Steps
from softwood.kernel.growing.grower import Grower, Root
from softwood.kernel.growing.loops.groups import NodeTable
from softwood.kernel.growing.loops.tree_groups import NODE
from softwood.kernel.growing.workspace import Workspace

__all__ = ["grow_in_threads"]

# A subtree with at most this fraction of the rows, or this number, is grown by a single thread.
_FRACTION = 1 / 24
_FEW_ROWS = 256


def grow_in_threads(grower: Grower, root: Root, n_threads: int, steps: Steps | None) -> NodeTable:
    """Grow a tree depth first, in this number of threads."""
    m = len(root.rows)
    space = Workspace(grower.stop)
    frontier = grower.begin(root, space, few_rows=max(_FEW_ROWS, int(m * _FRACTION)))
    frontier = grower.grow(frontier, grower.scratch(m, space))
    roots = frontier.heap[: frontier.counts["n_open"][0]]
    roots = roots[np.argsort(-roots["size"], kind="stable")]  # large subtrees first

    def grow(node: np.void) -> NodeTable:
        rows = slice(node["begin"], node["begin"] + node["size"])
        intervals = np.empty_like(root.intervals)
        find_intervals(frontier.lines, node["node"], intervals)
        own = Workspace(grower.stop)
        here = Root(frontier.rows[rows], frontier.shares[rows], intervals, node["seed"], node["depth"])
        return grower.table(grower.grow(grower.begin(here, own), grower.scratch(node["size"], own), steps))

    subtrees = Parallel(n_jobs=n_threads, prefer="threads", require="sharedmem")(delayed(grow)(node) for node in roots)
    return _joined(grower.table(frontier), roots, subtrees)


def _joined(top: NodeTable, roots: np.ndarray, subtrees: list[NodeTable]) -> NodeTable:
    """The top of a tree with its subtrees in the places of their roots, depth first."""
    sizes = np.ones(len(top.lines), np.int64)
    sizes[roots["node"]] = [len(subtree.lines) for subtree in subtrees]
    numbers = np.append(np.cumsum(sizes) - sizes, -1)  # of the nodes of the top; the parent of the root is -1
    total = int(sizes.sum())
    lines, sums = np.empty(total, NODE), np.empty((total, top.sums.shape[1]))
    subsets = None if top.subsets is None else np.empty((total, top.subsets.shape[1]), np.uint32)
    joined = NodeTable(lines, sums, subsets)
    pieces = [(top, numbers[:-1], numbers[top.lines["parent"]])]
    for node, subtree in zip(roots, subtrees, strict=True):
        begin = numbers[node["node"]]
        parents = begin + subtree.lines["parent"]
        parents[0], subtree.lines["side"][0] = numbers[node["parent"]], node["side"]
        pieces.append((subtree, begin + np.arange(len(parents)), parents))
    for piece, places, parents in pieces:
        for whole, part in zip(joined, piece, strict=True):
            if whole is not None:
                whole[places] = part
        lines["parent"][places] = parents
    return joined
