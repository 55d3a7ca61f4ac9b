"""Growing a kernel tree: from binned data to a `SoftTree`.

One compiled loop grows a tree, depth first, or best first with `max_leaf_nodes`. With several threads, it grows the top
of the tree first, and then the subtrees. The tree does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from joblib import effective_n_jobs

from softwood.core.steps import Steps
from softwood.core.threads import interruptible
from softwood.kernel.growing.finishing import depth_first, finish
from softwood.kernel.growing.grower import Grower, Root, keep_frontier
from softwood.kernel.growing.loops.frontier import Frontier
from softwood.kernel.growing.loops.groups import NodeTable
from softwood.kernel.growing.problem import GrowthProblem, Limits
from softwood.kernel.growing.subtrees import grow_in_threads
from softwood.kernel.growing.workspace import Workspace
from softwood.trees.tree import SoftTree

__all__ = ["GrowthByGain", "grow_nodes", "grow_tree"]

Grown = TypeVar("Grown")

# With at least this many cells (rows times features), a tree grows in a separate thread, so that it can be interrupted.
_LONG = 200_000


def grow_tree(
    problem: GrowthProblem,
    limits: Limits,
    *,
    seed: int,
    rows: np.ndarray | None = None,
    n_jobs: int | None = None,
    steps: Steps | None = None,
) -> SoftTree:
    """Grow a tree; returns it with the kernels it was grown with. Arguments as in `grow_nodes`."""
    return finish(problem, limits, grow_nodes(problem, limits, seed=seed, rows=rows, n_jobs=n_jobs, steps=steps))


def grow_nodes(
    problem: GrowthProblem,
    limits: Limits,
    *,
    seed: int,
    rows: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    n_jobs: int | None = None,
    steps: Steps | None = None,
    space: Workspace | None = None,
) -> NodeTable:
    """Grow the nodes of a tree, numbered depth first.

    Parameters
    ----------
    rows : rows to grow it on; None: all
    weights : (n,) weights of all rows; None: those of the problem
    steps : where progress is reported; None: nowhere
    space : memory of earlier trees of the same problem, to be reused
    """
    space = Workspace() if space is None else space
    grower, root = _begin(problem, limits, seed, rows, weights, space)
    n_threads = effective_n_jobs(n_jobs)

    def work() -> NodeTable:
        if limits.max_leaf_nodes is None and n_threads > 1:
            return grow_in_threads(grower, root, n_threads, steps)
        frontier, scratch = grower.begin(root, space), grower.scratch(len(root.rows), space)
        frontier = grower.grow(frontier, scratch, steps, limits.max_leaf_nodes)
        keep_frontier(frontier, space)
        if limits.max_leaf_nodes is not None:
            return depth_first(grower.table(frontier))[0]
        return grower.table(frontier, space.copy)

    return _run(work, root, grower)


class GrowthByGain:
    """A tree that is grown best first, and can go on growing.

    Attributes
    ----------
    nodes : in the order in which they were made, so that smaller trees are the beginning of larger ones
    order, gains : (n_splits,) the nodes that are split, in the order of their splits, and what the splits gain
    is_complete : whether no further split is possible
    """

    nodes: NodeTable
    order: np.ndarray
    gains: np.ndarray
    is_complete: bool

    def __init__(
        self, problem: GrowthProblem, limits: Limits, *, seed: int, rows: np.ndarray, space: Workspace
    ) -> None:
        """`space` is scratch space, which growths one after the other may share."""
        self._grower, self._root = _begin(problem, limits, seed, rows, None, space)
        self._frontier = self._grower.begin(self._root, Workspace())
        self._space = space

    def grow_to(self, max_leaf_nodes: int) -> None:
        """Go on until there are this many leaves."""

        def work() -> Frontier:
            scratch = self._grower.scratch(len(self._root.rows), self._space)
            return self._grower.grow(self._frontier, scratch, max_leaf_nodes=max_leaf_nodes)

        self._frontier = _run(work, self._root, self._grower)
        n_splits = int(self._frontier.counts["n_splits"][0])
        self.nodes = self._grower.table(self._frontier)
        self.order = self.nodes.lines["parent"][1::2].astype(np.int64)  # the children of a node follow one another
        self.gains = self._frontier.gains[:n_splits]
        self.is_complete = n_splits < max_leaf_nodes - 1


def _begin(
    problem: GrowthProblem,
    limits: Limits,
    seed: int,
    rows: np.ndarray | None,
    weights: np.ndarray | None,
    space: Workspace,
) -> tuple[Grower, Root]:
    """What a tree is grown by, and its root."""
    n, p = problem.bins.codes.shape
    rows = np.arange(n, dtype=np.uint32) if rows is None else rows.astype(np.uint32)
    labels = problem.target_arrays[0]
    if labels is not None:  # rows of a class one after the other, and so in all nodes: their sums are faster to compute
        classes = labels[rows].astype(np.min_scalar_type(problem.n_outputs))
        rows = rows[np.argsort(classes, kind="stable")]
    weights = problem.weights if weights is None else weights
    grower = Grower(problem, limits, weights, float(weights[rows].sum()), space.stop)
    return grower, Root(rows, np.ones(len(rows)), np.array([[-np.inf] * p, [np.inf] * p]), np.uint64(seed))


def _run(work: Callable[[], Grown], root: Root, grower: Grower) -> Grown:
    """Grow, in a separate thread if it takes long, so that it can be interrupted."""
    is_long = len(root.rows) * len(grower.problem.widths) >= _LONG
    return interruptible(work, grower.stop) if is_long else work()
