"""Growing a kernel tree: from binned data to a `SoftTree`.

Depth first in one compiled loop. With a limit on leaves, best first from Python, with the same search and division of
a node. With several threads, the top of the tree is grown from Python until there are enough nodes to share out, and
the loop grows the subtrees; a tree does not depend on the number of threads.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from softwood.density.finishing import depth_first, finish
from softwood.density.problem import GrowthProblem, Limits
from softwood.interrupts import Stopped, interruptible, new_stop
from softwood.loops import grow as loop
from softwood.loops.scan import SLACK, SQUARED
from softwood.steps import Steps
from softwood.tree import SoftTree

__all__ = ["Workspace", "grow_nodes", "grow_tree"]

# Nodes between two looks at the clock.
_BUDGET = 2000
# From so many cells on (rows times features) a tree is grown in a thread of its own, so that an interrupt is heard.
_LONG = 200_000
# All features' tables at once up to this size (bytes), so that they stay in a near cache; else one after the other.
_TABLES_AT_ONCE = 1 << 25
# With several threads: subtrees of at most this part of the rows are handed out.
_HAND_OUT = 1 / 24


def grow_tree(
    problem: GrowthProblem,
    limits: Limits,
    *,
    seed: int,
    rows: np.ndarray | None = None,
    n_jobs: int | None = None,
    steps: Steps | None = None,
) -> SoftTree:
    """Grow a tree and hand it over with the kernels it was grown with; arguments as in `grow_nodes`."""
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
) -> np.ndarray:
    """Nodes of a tree depth first, (n_nodes, 8 + q), columns as in `softwood.loops.grow`.

    Parameters
    ----------
    rows : rows to grow it on; None: all
    weights : (n,) weights of all rows in place of the problem's own
    steps : told of every so many nodes; None: nobody is
    space : memory of earlier trees of the same problem, to be used again
    """
    n, p = problem.bins.codes.shape
    rows = np.arange(n, dtype=np.uint32) if rows is None else rows.astype(np.uint32)
    weights = problem.weights if weights is None else weights
    space = Workspace() if space is None else space
    grower = _Grower(problem, limits, weights, float(weights[rows].sum()), space.stop)
    root = _Node(rows, np.ones(len(rows)), np.array([[-np.inf] * p, [np.inf] * p]), np.uint64(seed), 0)
    threads = effective_n_jobs(n_jobs)

    def work() -> np.ndarray:
        if limits.max_leaf_nodes is not None:
            return depth_first(_grow_best_first(grower, root, limits.max_leaf_nodes, steps))[0]
        if threads > 1:
            return depth_first(_grow_shared_out(grower, root, threads, steps))[0]
        return grower.grow(root, steps, space)

    return interruptible(work, space.stop) if len(rows) * p >= _LONG else work()


@dataclass
class _Node:
    """A node to be grown: its rows, their shares, and its place in the tree."""

    rows: np.ndarray
    shares: np.ndarray
    intervals: np.ndarray
    seed: np.uint64
    depth: int


class Workspace:
    """Arrays that are used again from tree to tree, for fresh memory costs more than it seems to.

    `stop` is the flag that asks the loops to stop; several workspaces may share one.
    """

    def __init__(self, stop: np.ndarray | None = None) -> None:
        self.stop = new_stop() if stop is None else stop
        self._arrays: dict[str, np.ndarray] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
        """The array of this name with at least so many lines, new ones all 0; its content is that of the last use."""
        array = self._arrays.get(name)
        if array is None or len(array) < shape[0] or array.shape[1:] != shape[1:] or array.dtype != dtype:
            array = self._arrays[name] = np.zeros(shape, dtype=dtype)
        return array

    def keep(self, **arrays: np.ndarray) -> None:
        """Remember arrays that were made longer."""
        self._arrays.update(arrays)


class _Grower:
    """The compiled loops with their arguments put together."""

    def __init__(
        self, problem: GrowthProblem, limits: Limits, weights: np.ndarray, total: float, stop: np.ndarray
    ) -> None:
        self.problem, self.limits, self.weights, self.stop = problem, limits, weights, stop
        self.p = problem.bins.codes.shape[1]
        self.q = problem.stored_outputs
        self.targets, self.labels, self.squares = problem.target_arrays
        self.criterion = problem.criterion_number
        needs_general = problem.cells is not None or bool(np.any((problem.kinds > 0) & (problem.widths > 0)))
        none = (None,) * 5
        self.kernels: tuple = none
        if needs_general:
            cells = np.empty((0, 0)) if problem.cells is None else problem.cells
            by_cell = np.zeros(self.p, dtype=bool) if problem.by_cell is None else problem.by_cell
            self.kernels = (
                problem.kinds, problem.shapes.edges, problem.shapes.cdfs, cells, by_cell
            )  # fmt: skip
        self.max_depth = np.iinfo(np.int64).max if limits.max_depth is None else limits.max_depth
        self.min_gain = limits.min_gain_merit(problem, total)
        self.n_draw = self.p if limits.n_draw is None else limits.n_draw

    def scratch(self, m: int, space: Workspace) -> dict:
        """Work space for nodes of up to `m` rows."""
        q, most = self.q, self.problem.bins.most
        at_once = self.p * (most + 1) * (1 + q) * 8 <= _TABLES_AT_ONCE
        n_words = (most >> 6) + 1
        is_random = self.limits.random_thresholds
        is_single = q == 1 and self.criterion == SQUARED
        make = space.array
        scratch = {
            "points": make("points", (m, 1 + q if self.labels is None else 1)),
            "node_labels": None if self.labels is None else make("node_labels", (m,), np.int32),
            "left_rows": make("left_rows", (m,), np.uint32),
            "left_shares": make("left_shares", (m,)),
            "order": make("order", (self.p,), np.int64),
            "numbers": make("numbers", (q,), np.int32),
            "totals": make("totals", (q,)),
            "words": make("words", (n_words,), np.uint64),
            "groups": make("groups", ((n_words >> 6) + 1,), np.uint64),
            "atoms": make("atoms", (most, 3 + q)),
            **dict.fromkeys(("tables", "single", "lines", "node_codes", "bin_shares", "node_shares")),
        }
        if is_random:
            own: dict[str, np.ndarray | None] = {
                "work": make("work", (1 + q,)),
                "node_codes": make("node_codes", (m,), self.problem.bins.codes.dtype),
                "bin_shares": make("bin_shares", (most + 1,)),
                "node_shares": make("node_shares", (m,)),
            }
        else:
            own = {
                "tables": make("tables", (self.p if at_once else 1, most + 1, 1 + q)),
                "single": make("single", (most + 1, 5)) if is_single else None,
                "lines": None if is_single else make("lines", (most + 1, 5)),
                "work": None if is_single else make("work", (4, q)),
            }
        return {**scratch, **own}

    def data(self) -> tuple:
        bins, problem = self.problem.bins, self.problem
        return (bins.values, bins.lows, bins.highs, bins.offsets, problem.widths, *self.kernels)

    def grow(self, root: _Node, steps: Steps | None, space: Workspace) -> np.ndarray:
        """Finished nodes below and with `root`, depth first; columns as in `softwood.loops.grow`."""
        m, limits = len(root.rows), self.limits
        state = np.array([0, 1, m], dtype=np.int64)
        nodes = space.array("nodes", (64, loop.SUMS + self.q))
        stack = space.array("stack", (64, 4), np.int64)
        seeds = space.array("seeds", (64,), np.uint64)
        intervals = space.array("intervals", (64, 2, self.p))
        rows, shares = space.array("rows", (2 * m,), np.uint32), space.array("shares", (2 * m,))
        stack[0], seeds[0], intervals[0] = (0, -1, 0, root.depth), root.seed, root.intervals
        rows[:m], shares[:m] = root.rows, root.shares
        scratch = self.scratch(m, space)
        budget = _BUDGET if steps is not None else np.iinfo(np.int64).max >> 1
        while state[1] > 0:
            step = None if steps is None else steps.begin()
            # Grow whatever the loop found too short: it needs a line, two stack entries, and twice the top node's rows.
            nodes = _at_least(nodes, state[0] + 1)
            stack = _at_least(stack, state[1] + 1)
            seeds = _at_least(seeds, state[1] + 1)
            intervals = _at_least(intervals, state[1] + 1)
            begin = stack[state[1] - 1, 0]
            rows = _at_least(rows, 2 * state[2] - begin)
            shares = _at_least(shares, 2 * state[2] - begin)
            loop.grow(
                self.problem.bins.codes, self.targets, self.labels, self.squares, self.weights, *self.data(),
                self.max_depth, limits.min_mass, self.min_gain, self.n_draw, limits.cutoff, self.criterion,
                self.problem.targets.is_class, budget, state, nodes, stack, seeds, intervals, rows, shares,
                scratch["points"], scratch["node_labels"], scratch["left_rows"], scratch["left_shares"],
                self.problem.bins.priority, scratch["order"], scratch["tables"], scratch["words"], scratch["groups"],
                scratch["atoms"], scratch["single"], scratch["lines"], scratch["work"], scratch["node_codes"],
                scratch["bin_shares"], scratch["node_shares"], scratch["numbers"], scratch["totals"], self.stop,
            )  # fmt: skip
            self._check_stop()
            if step is not None:
                step.end(n_nodes=int(state[0]))
        space.keep(nodes=nodes, stack=stack, seeds=seeds, intervals=intervals, rows=rows, shares=shares)
        return nodes[: state[0]].copy()

    def _check_stop(self) -> None:
        if self.stop[0]:
            raise Stopped

    def weigh(self, node: _Node, scratch: dict) -> np.ndarray:
        """The node's line as a leaf, (1, 8 + q)."""
        line = np.zeros((1, loop.SUMS + self.q))
        line[0, : loop.MASS] = [-1, 0, node.depth, -1, np.nan, np.nan]
        loop.weigh(
            node.rows, 0, node.shares, len(node.rows), self.weights, self.targets, self.labels, self.squares,
            scratch["points"], scratch["node_labels"], line, 0,
        )  # fmt: skip
        return line

    def _search(
        self, node: _Node, line: np.ndarray, scratch: dict, base: float, tie: float
    ) -> tuple[int, float, float, float]:
        """Feature (-1: none), threshold, left mass and gain of the node's best split."""
        mass, min_mass, totals = line[0, loop.MASS], self.limits.min_mass, scratch["totals"]
        n_outputs = loop.number_labels(line, 0, scratch["node_labels"], len(node.rows), scratch["numbers"], totals)
        points = (
            self.problem.bins.codes, node.rows, 0, scratch["points"], scratch["node_labels"], len(node.rows),
            self.n_draw, scratch["order"],
        )  # fmt: skip
        if self.limits.random_thresholds:
            return loop.search_random(
                *points, node.seed, *self.data(), node.intervals, mass, totals[:n_outputs], min_mass, tie, base,
                self.criterion, scratch["node_codes"], scratch["bin_shares"], scratch["node_shares"],
                scratch["work"][: 1 + n_outputs],
            )  # fmt: skip
        return loop.search_node(
            *points, *self.data(), node.intervals, mass, min_mass, tie, base, self.criterion, n_outputs,
            scratch["tables"], scratch["words"], scratch["groups"], scratch["atoms"], scratch["single"],
            scratch["lines"], scratch["work"], self.stop,
        )  # fmt: skip

    def split(
        self, node: _Node, line: np.ndarray, scratch: dict
    ) -> tuple[float, Callable[[], tuple[_Node, _Node]]] | None:
        """Gain of the node's best split, entered in its line, and a function that divides the node; None for a leaf."""
        limits = self.limits
        mass = line[0, loop.MASS]
        base, impure = loop.merit_and_impurity(line, 0, self.criterion, self.problem.targets.is_class)
        if node.depth >= self.max_depth or mass < 2.0 * limits.min_mass * SLACK or impure <= 1e-12 * mass:
            return None
        loop.draw_features(scratch["order"], self.problem.bins.priority, node.seed, self.n_draw)
        feature, threshold, left_mass, gain = self._search(node, line, scratch, base, loop.tie_of(base, impure, mass))
        self._check_stop()
        if feature < 0 or gain < self.min_gain:
            return None

        def divide() -> tuple[_Node, _Node]:
            bins = self.problem.bins
            rows, shares, m = node.rows.copy(), node.shares.copy(), len(node.rows)
            left_rows, left_shares = np.empty_like(rows), np.empty_like(shares)
            n_left, n_right = loop.divide(
                bins.codes, rows, shares, 0, m, feature, threshold, left_mass / mass, bins.values,
                bins.offsets[feature], bins.offsets[feature + 1] - bins.offsets[feature],
                self.problem.widths[feature], *self.kernels, *node.intervals[:, feature], limits.cutoff, left_rows,
                left_shares,
            )  # fmt: skip
            below, above = node.intervals.copy(), node.intervals.copy()
            below[1, feature] = above[0, feature] = threshold
            seeds = [np.uint64(loop.next_seed(node.seed, side)) for side in range(2)]  # numba hands out Python ints
            return (
                _Node(left_rows[:n_left].copy(), left_shares[:n_left].copy(), below, seeds[0], node.depth + 1),
                _Node(rows[:n_right].copy(), shares[:n_right].copy(), above, seeds[1], node.depth + 1),
            )

        line[0, loop.FEATURE : loop.MASS] = [feature, threshold, left_mass / mass]
        return gain, divide


def _at_least(array: np.ndarray, length: int) -> np.ndarray:
    """The array, or one with room for twice `length` entries."""
    if len(array) >= length:
        return array
    longer = np.empty((2 * int(length), *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


def _leaf(line: np.ndarray) -> np.ndarray:
    line[0, loop.FEATURE : loop.MASS] = [-1, np.nan, np.nan]
    return line


def _grow_best_first(grower: _Grower, root: _Node, max_leaf_nodes: int, steps: Steps | None) -> np.ndarray:
    """Split the leaf with the largest gain, as long as there may be more leaves."""
    scratch = grower.scratch(len(root.rows), Workspace())
    done: list[np.ndarray] = []
    heap: list[tuple] = []

    def enter(node: _Node, parent: int, side: int) -> None:
        line = grower.weigh(node, scratch)
        line[0, [loop.PARENT, loop.SIDE]] = parent, side
        found = grower.split(node, line, scratch)
        done.append(line)
        if found is not None:
            heapq.heappush(heap, (-found[0], len(done) - 1, found[1]))

    enter(root, -1, 0)
    n_leaves = 1
    while heap and n_leaves < max_leaf_nodes:
        step = None if steps is None else steps.begin()
        _, number, divide = heapq.heappop(heap)
        children = divide()
        if min(len(child.rows) for child in children) == 0:
            _leaf(done[number])
            continue
        for side, child in enumerate(children):
            enter(child, number, side)
        n_leaves += 1
        if step is not None:
            step.end(n_nodes=len(done))
    for _, number, _ in heap:
        _leaf(done[number])
    return np.concatenate(done)


def _grow_shared_out(grower: _Grower, root: _Node, threads: int, steps: Steps | None) -> np.ndarray:
    """Grow the top here, and the subtrees below it in threads."""
    scratch = grower.scratch(len(root.rows), Workspace())
    small = max(256, int(len(root.rows) * _HAND_OUT))
    top: list[np.ndarray] = []
    tasks: list[tuple[_Node, int, int]] = []
    pending = [(root, -1, 0)]
    while pending:
        node, parent, side = pending.pop()
        if len(node.rows) <= small:
            tasks.append((node, parent, side))
            continue
        line = grower.weigh(node, scratch)
        line[0, [loop.PARENT, loop.SIDE]] = parent, side
        found = grower.split(node, line, scratch)
        children = None if found is None else found[1]()
        if children is None or min(len(child.rows) for child in children) == 0:
            top.append(_leaf(line))
            continue
        top.append(line)
        pending += [(child, len(top) - 1, k) for k, child in enumerate(children)]
    tasks.sort(key=lambda task: -len(task[0].rows))  # the long ones first
    grown = Parallel(n_jobs=threads, prefer="threads", require="sharedmem")(
        delayed(grower.grow)(node, steps, Workspace()) for node, _, _ in tasks
    )
    pieces, total = list(top), len(top)
    for (_, parent, side), nodes in zip(tasks, grown, strict=True):
        nodes[:, loop.PARENT] += total
        nodes[0, [loop.PARENT, loop.SIDE]] = parent, side
        pieces.append(nodes)
        total += len(nodes)
    return np.concatenate(pieces)
