"""Growing a kernel tree: from binned data to a `SoftTree`.

One compiled loop grows a tree, depth first, or best first with `max_leaf_nodes`. With several threads, it grows the top
of the tree first, and then the subtrees. The tree does not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from joblib import effective_n_jobs

from softwood.compiled import growing as loop
from softwood.core.steps import Steps
from softwood.core.threads import Stopped, Threads, interruptible
from softwood.kernel.growing.finishing import depth_first, finish
from softwood.kernel.growing.loops.frontier import COUNTS, OPEN_NODE, Frontier
from softwood.kernel.growing.loops.groups import NodeTable
from softwood.kernel.growing.loops.tree_groups import NODE, Rules
from softwood.kernel.growing.problem import GrowthProblem, Limits
from softwood.kernel.growing.workspace import Scratch, Workspace, at_least, scratch_for
from softwood.trees.tree import SoftTree

Grown = TypeVar("Grown")

# With at least this many cells (rows times features), a tree grows in a separate thread, so that it can be interrupted.
_LONG = 200_000
# The compiled loop returns to Python after this many nodes, to report progress.
_BUDGET = 2000
_NO_LIMIT = np.iinfo(np.int64).max >> 1
# Arrays of a frontier that are reused from tree to tree.
_ARRAYS = Frontier._fields[2:]
# A subtree with at most this fraction of the rows, or this number, is grown by a single thread.
_FRACTION = 1 / 24
_FEW_ROWS = 256


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
    return finish(problem, grow_nodes(problem, limits, seed=seed, rows=rows, n_jobs=n_jobs, steps=steps))


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
            return _grow_in_threads(grower, root, n_threads, steps)
        frontier, scratch = grower.begin(root, space), grower.scratch(len(root.rows), space)
        frontier = grower.grow(frontier, scratch, steps, limits.max_leaf_nodes)
        _keep_frontier(frontier, space)
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
) -> tuple[_Grower, _Root]:
    """What a tree is grown by, and its root."""
    n, p = problem.bins.codes.shape
    rows = np.arange(n, dtype=np.uint32) if rows is None else rows.astype(np.uint32)
    labels = problem.target_arrays[0]
    if labels is not None:  # rows of a class one after the other, and so in all nodes: their sums are faster to compute
        classes = labels[rows].astype(np.min_scalar_type(problem.n_outputs))
        rows = rows[np.argsort(classes, kind="stable")]
    weights = problem.weights if weights is None else weights
    grower = _Grower(problem, limits, weights, float(weights[rows].sum()), space.stop)
    return grower, _Root(rows, np.ones(len(rows)), np.array([[-np.inf] * p, [np.inf] * p]), np.uint64(seed))


def _run(work: Callable[[], Grown], root: _Root, grower: _Grower) -> Grown:
    """Grow, in a separate thread if it takes long, so that it can be interrupted."""
    is_long = len(root.rows) * len(grower.problem.widths) >= _LONG
    return interruptible(work, grower.stop) if is_long else work()


# ------------------------------------------------------------------ the compiled loop and its arguments


class _Root(NamedTuple):
    """The root of a tree, or of a subtree: rows and their shares, interval on each feature (2, p), and its place."""

    rows: np.ndarray
    shares: np.ndarray
    intervals: np.ndarray
    seed: np.uint64
    depth: int = 0


class _Grower:
    """Growth of one tree.

    Parameters
    ----------
    weights : (n,) weights of all rows
    total : weight of the rows that the tree is grown on
    stop : flag that asks the loops to stop
    """

    def __init__(
        self, problem: GrowthProblem, limits: Limits, weights: np.ndarray, total: float, stop: np.ndarray
    ) -> None:
        self.problem, self.stop, self._has_random_thresholds = problem, stop, limits.random_thresholds
        labels, targets = problem.target_arrays
        if weights is not problem.weights:
            targets = np.column_stack([weights, targets[:, 1:]])
        self._rules = rules_of(problem, limits, total)
        self._arguments = (
            problem.bins, problem.widths, problem.kernels, labels, targets, self._rules,
            problem.criterion_number,
        )  # fmt: skip

    def scratch(self, m: int, space: Workspace) -> Scratch:
        """Scratch space for nodes of up to `m` rows."""
        return scratch_for(self.problem, m, space, random_thresholds=self._has_random_thresholds)

    def begin(self, root: _Root, space: Workspace, few_rows: int = 0) -> Frontier:
        """The frontier with the root alone; nodes with at most `few_rows` rows will not be grown."""
        m, p, n_words = len(root.rows), len(self.problem.widths), self.problem.bins.n_words
        arrays = {
            "lines": ((64,), NODE), "sums": ((64, self.problem.stored_outputs), np.float64),
            "stack": ((64,), OPEN_NODE), "intervals": ((64, 2, p), np.float64), "heap": ((64,), OPEN_NODE),
            "gains": ((64,), np.float64),
            "rows": ((2 * m,), np.uint32), "shares": ((2 * m,), np.float64), "subsets": ((64, n_words), np.uint32),
        }  # fmt: skip
        frontier = Frontier(
            counts=np.zeros(1, COUNTS),
            stop=self.stop,
            **{name: space.array(f"frontier_{name}", *array) for name, array in arrays.items()},
        )
        counts = frontier.counts[0]
        counts["n_waiting"], counts["n_rows"], counts["few_rows"] = 1, m, few_rows
        place = {"node": -1, "parent": -1, "side": 0, "depth": root.depth, "begin": 0, "size": m, "feature": -1}
        for name, value in place.items():
            frontier.stack[name][0] = value
        frontier.stack["seed"][0], frontier.stack["min_mass"][0] = root.seed, self._rules.min_mass
        frontier.intervals[0], frontier.rows[:m], frontier.shares[:m] = root.intervals, root.rows, root.shares
        return frontier

    def grow(
        self, frontier: Frontier, scratch: Scratch, steps: Steps | None = None, max_leaf_nodes: int | None = None
    ) -> Frontier:
        """Go on growing: depth first, or best first to a number of leaves; returns the frontier with longer arrays."""
        counts, by_gain = frontier.counts[0], max_leaf_nodes is not None
        counts["most_splits"] = _NO_LIMIT if max_leaf_nodes is None else max_leaf_nodes - 1
        budget = _NO_LIMIT if steps is None else _BUDGET
        is_grown = False
        while not is_grown:
            step = None if steps is None or steps.is_stopped else steps.begin()
            if steps is not None and steps.is_stopped:  # nodes that are not divided yet remain leaves
                counts["most_splits"] = counts["n_splits"]
            frontier = _lengthened(frontier)
            counts["most_nodes"] = counts["n_nodes"] + budget
            is_grown = loop.grow(*self._arguments, by_gain, frontier, *scratch)
            if self.stop[0]:
                raise Stopped
            if step is not None:
                step.end(n_nodes=int(counts["n_nodes"]))
        return frontier

    def table(self, frontier: Frontier, copy: Callable[[np.ndarray], np.ndarray] = np.asarray) -> NodeTable:
        """The nodes in the order in which they were visited."""
        arrays = [frontier.lines, frontier.sums, *([frontier.subsets] if self.problem.bins.n_words else [])]
        return NodeTable(*(copy(array[: frontier.counts["n_nodes"][0]]) for array in arrays))


def _keep_frontier(frontier: Frontier, space: Workspace) -> None:
    """Keep the arrays of a frontier for the next tree."""
    space.keep(**{f"frontier_{name}": getattr(frontier, name) for name in _ARRAYS})


def rules_of(problem: GrowthProblem, limits: Limits, total: float) -> Rules:
    """The limits as the compiled loops take them, for a root of mass `total`."""
    return Rules(
        max_depth=np.iinfo(np.int64).max if limits.max_depth is None else limits.max_depth,
        min_mass=limits.min_mass,
        min_gain=limits.min_gain_merit(problem, total),
        n_draw=len(problem.widths) if limits.n_draw is None else limits.n_draw,
        cutoff=limits.cutoff,
        is_class=problem.targets.is_class,
        rare_mass=limits.rare_mass,
    )


def _lengthened(frontier: Frontier) -> Frontier:
    """The frontier with space for the next node, see `softwood.kernel.growing.loops.frontier.is_full`."""
    counts = frontier.counts[0]
    n_waiting, n_rows = counts["n_waiting"], counts["n_rows"]
    if n_waiting:
        n_rows = n_rows + frontier.stack["size"][n_waiting - 1]
    wanted = dict.fromkeys(("lines", "sums", "subsets"), counts["n_nodes"] + n_waiting)
    wanted |= dict.fromkeys(("stack", "intervals"), n_waiting + 1)
    wanted |= {"heap": counts["n_open"] + 1, "gains": counts["n_splits"] + 1, "rows": n_rows, "shares": n_rows}
    return frontier._replace(**{name: at_least(getattr(frontier, name), length) for name, length in wanted.items()})


# ------------------------------------------------------------------ subtrees in threads


def _grow_in_threads(grower: _Grower, root: _Root, n_threads: int, steps: Steps | None) -> NodeTable:
    """Grow a tree depth first, in this number of threads."""
    m = len(root.rows)
    space = Workspace(grower.stop)
    frontier = grower.begin(root, space, few_rows=max(_FEW_ROWS, int(m * _FRACTION)))
    frontier = grower.grow(frontier, grower.scratch(m, space))
    roots = frontier.heap[: frontier.counts["n_open"][0]]
    roots = roots[np.argsort(-roots["size"], kind="stable")]  # large subtrees first

    def grow(number: int) -> NodeTable:
        node = roots[number]
        rows = slice(node["begin"], node["begin"] + node["size"])
        intervals = np.empty_like(root.intervals)
        loop.find_intervals(frontier.lines, node["node"], intervals)
        own = Workspace(grower.stop)
        here = _Root(frontier.rows[rows], frontier.shares[rows], intervals, node["seed"], node["depth"])
        return grower.table(grower.grow(grower.begin(here, own), grower.scratch(node["size"], own), steps))

    with Threads(n_threads) as threads:
        subtrees = list(threads.map(grow, len(roots)))
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
