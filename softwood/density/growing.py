"""Growing a kernel tree: from binned data to a `SoftTree`.

Depth first in one compiled loop. With a limit on leaves, best first from Python, with the same search and division of
a node. With several threads, the top of the tree is grown from Python until there are enough nodes to share out, and
the loop grows the subtrees; a tree does not depend on the number of threads.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from softwood.density.binning import Bins
from softwood.gates import Gate
from softwood.loops import grow as loop
from softwood.loops.scan import BINARY_ENTROPY, ENTROPY, SLACK, SQUARED
from softwood.targets import ClassTargets, RealTargets
from softwood.tree import KernelShapes, SoftTree

__all__ = ["CRITERIA", "GrowthProblem", "Limits", "finish", "grow_tree"]

CRITERIA = {"gini": SQUARED, "squared_error": SQUARED, "entropy": ENTROPY}

# Nodes between two looks at the clock and at a pending interrupt.
_BUDGET = 2000
# All features' tables at once up to this size (bytes), so that they stay in a near cache; else one after the other.
_TABLES_AT_ONCE = 1 << 25
# With several threads: subtrees of at most this part of the rows are handed out.
_HAND_OUT = 1 / 24


@dataclass(frozen=True)
class Limits:
    """When to stop growing; see `KernelTreeClassifier` for the meaning of each."""

    max_depth: int | None = None
    min_mass: float = 1.0
    min_gain: float = 0.0
    max_leaf_nodes: int | None = None
    n_draw: int | None = None
    cutoff: float = 0.0
    random_thresholds: bool = False  # extra trees: one random threshold for each drawn feature

    def min_gain_merit(self, problem: GrowthProblem, total: float) -> float:
        """`min_gain` as the compiled loops count it: a difference of merits, for a root of mass `total`."""
        targets = problem.targets
        if isinstance(targets, RealTargets):
            unit = targets.scaled.shape[1] / targets.square_scale
        elif problem.criterion == "entropy":
            unit = np.log(2.0)  # impurities are in bits, merits in natural units
        else:
            unit = 0.5 if problem.stored_outputs == 1 else 1.0  # of two classes one is stored
        return self.min_gain * total * unit


@dataclass(frozen=True)
class GrowthProblem:
    """Data and kernels to grow a tree from.

    Attributes
    ----------
    bins : the binned features
    targets : classes or reals
    weights : (n,) weights of the rows
    widths : (p,) half-width of each feature's kernel, in the units of the feature
    kinds, shapes : (p,) shape of each feature's kernel, and the table of shapes
    cells : (n, p) half-widths of single cells where `by_cell` (p,); None if there are none
    criterion : "gini", "entropy" or "squared_error"
    """

    bins: Bins
    targets: ClassTargets | RealTargets
    weights: np.ndarray
    widths: np.ndarray
    kinds: np.ndarray
    shapes: KernelShapes
    criterion: str
    cells: np.ndarray | None = None
    by_cell: np.ndarray | None = None

    @property
    def stored_outputs(self) -> int:
        """Sums that are kept per node: of two classes one is enough."""
        if isinstance(self.targets, ClassTargets):
            return 1 if len(self.targets.classes) <= 2 else len(self.targets.classes)
        return self.targets.scaled.shape[1]

    @property
    def criterion_number(self) -> int | None:
        """Number of the criterion in the compiled loops."""
        number = CRITERIA[self.criterion]
        return BINARY_ENTROPY if number == ENTROPY and self.stored_outputs == 1 else number

    @cached_property
    def target_arrays(self) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]:
        """Targets (n, q), labels (n,) and sums of squares (n,) as the compiled loops take them: labels, or the rest."""
        if isinstance(self.targets, ClassTargets) and self.targets.labels is not None and self.stored_outputs > 1:
            return None, self.targets.labels, None
        matrix = self.targets.matrix()
        matrix = np.ascontiguousarray(matrix[:, 1:2] if self.targets.is_class and self.stored_outputs == 1 else matrix)
        if matrix.shape[1] == 0:  # a single class
            matrix = np.zeros((len(self.targets), 1))
        return matrix, None, (matrix**2).sum(axis=1)


def grow_tree(
    problem: GrowthProblem,
    limits: Limits,
    *,
    seed: int,
    rows: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    n_jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> SoftTree:
    """Grow a tree on `rows` (all if None) and hand it over with the kernels it was grown with.

    Parameters
    ----------
    weights : (n,) weights of all rows in place of the problem's own
    progress : called now and then with the number of finished nodes
    """
    n, p = problem.bins.codes.shape
    rows = np.arange(n, dtype=np.uint32) if rows is None else rows.astype(np.uint32)
    weights = problem.weights if weights is None else weights
    grower = _Grower(problem, limits, weights, float(weights[rows].sum()))
    root = _Node(rows, np.ones(len(rows)), np.array([[-np.inf] * p, [np.inf] * p]), np.uint64(seed), 0)
    threads = effective_n_jobs(n_jobs)
    if limits.max_leaf_nodes is not None:
        return finish(problem, limits, _grow_best_first(grower, root, limits.max_leaf_nodes, progress))
    if threads > 1:
        return finish(problem, limits, _grow_shared_out(grower, root, threads, progress))
    return finish(problem, limits, grower.grow(root, progress), in_order=True)


@dataclass
class _Node:
    """A node to be grown: its rows, their shares, and its place in the tree."""

    rows: np.ndarray
    shares: np.ndarray
    intervals: np.ndarray
    seed: np.uint64
    depth: int


class _Grower:
    """The compiled loops with their arguments put together."""

    def __init__(self, problem: GrowthProblem, limits: Limits, weights: np.ndarray, total: float) -> None:
        self.problem, self.limits, self.weights = problem, limits, weights
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

    def scratch(self, m: int) -> dict:
        """Work space for nodes of up to `m` rows."""
        q, most = self.q, self.problem.bins.most
        at_once = self.p * (most + 1) * (1 + q) * 8 <= _TABLES_AT_ONCE
        n_words = (most >> 6) + 1
        is_single = q == 1 and self.criterion == SQUARED
        is_random = self.limits.random_thresholds
        return {
            "points": np.empty((m, 1 + q if self.labels is None else 1)),
            "node_labels": None if self.labels is None else np.empty(m, dtype=np.int32),
            "left_rows": np.empty(m, dtype=np.uint32),
            "left_shares": np.empty(m),
            "order": np.empty(self.p, dtype=np.int64),
            "tables": None if is_random else np.zeros((self.p if at_once else 1, most + 1, 1 + q)),
            "words": np.zeros(n_words, dtype=np.uint64),
            "groups": np.zeros((n_words >> 6) + 1, dtype=np.uint64),
            "atoms": np.empty((most, 3 + q)),
            "single": np.empty((most + 1, 5)) if is_single else None,
            "lines": None if is_single else np.empty((most + 1, 5)),
            "work": np.empty(1 + q) if is_random else None if is_single else np.empty((4, q)),
            "node_codes": np.empty(m, dtype=self.problem.bins.codes.dtype) if is_random else None,
            "bin_shares": np.empty(self.problem.bins.most + 1) if is_random else None,
            "node_shares": np.empty(m) if is_random else None,
        }

    def data(self) -> tuple:
        bins, problem = self.problem.bins, self.problem
        return (bins.values, bins.lows, bins.highs, bins.offsets, problem.widths, *self.kernels)

    def grow(self, root: _Node, progress: Callable[[int], None] | None = None) -> np.ndarray:
        """Finished nodes below and with `root`, depth first; columns as in `softwood.loops.grow`."""
        m, limits = len(root.rows), self.limits
        state = np.array([0, 1, m], dtype=np.int64)
        nodes = np.empty((64, loop.SUMS + self.q))
        stack = np.array([[0, -1, 0, root.depth]], dtype=np.int64).repeat(64, axis=0)
        seeds = np.full(64, root.seed, dtype=np.uint64)
        intervals = root.intervals[None].repeat(64, axis=0)
        rows, shares = root.rows, root.shares
        scratch = self.scratch(m)
        while state[1] > 0:
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
                self.problem.targets.is_class, _BUDGET, state, nodes, stack, seeds, intervals, rows, shares,
                scratch["points"], scratch["node_labels"], scratch["left_rows"], scratch["left_shares"],
                self.problem.bins.priority, scratch["order"], scratch["tables"], scratch["words"], scratch["groups"],
                scratch["atoms"], scratch["single"], scratch["lines"], scratch["work"], scratch["node_codes"],
                scratch["bin_shares"], scratch["node_shares"],
            )  # fmt: skip
            if progress is not None:
                progress(int(state[0]))
        return nodes[: state[0]]

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
        mass, min_mass = line[0, loop.MASS], self.limits.min_mass
        points = (
            self.problem.bins.codes, node.rows, 0, scratch["points"], scratch["node_labels"], len(node.rows),
            self.n_draw, scratch["order"],
        )  # fmt: skip
        if self.limits.random_thresholds:
            return loop.search_random(
                *points, node.seed, *self.data(), node.intervals, mass, line[0, loop.SUMS :], min_mass, tie, base,
                self.criterion, scratch["node_codes"], scratch["bin_shares"], scratch["node_shares"], scratch["work"],
            )  # fmt: skip
        return loop.search_node(
            *points, *self.data(), node.intervals, mass, min_mass, tie, base, self.criterion, scratch["tables"],
            scratch["words"], scratch["groups"], scratch["atoms"], scratch["single"], scratch["lines"],
            scratch["work"],
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


def _grow_best_first(
    grower: _Grower, root: _Node, max_leaf_nodes: int, progress: Callable[[int], None] | None
) -> np.ndarray:
    """Split the leaf with the largest gain, as long as there may be more leaves."""
    scratch = grower.scratch(len(root.rows))
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
        _, number, divide = heapq.heappop(heap)
        children = divide()
        if min(len(child.rows) for child in children) == 0:
            _leaf(done[number])
            continue
        for side, child in enumerate(children):
            enter(child, number, side)
        n_leaves += 1
        if progress is not None:
            progress(len(done))
    for _, number, _ in heap:
        _leaf(done[number])
    return np.concatenate(done)


def _grow_shared_out(grower: _Grower, root: _Node, threads: int, progress: Callable[[int], None] | None) -> np.ndarray:
    """Grow the top here, and the subtrees below it in threads."""
    scratch = grower.scratch(len(root.rows))
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
        delayed(grower.grow)(node) for node, _, _ in tasks
    )
    pieces, total = list(top), len(top)
    for (_, parent, side), nodes in zip(tasks, grown, strict=True):
        nodes[:, loop.PARENT] += total
        nodes[0, [loop.PARENT, loop.SIDE]] = parent, side
        pieces.append(nodes)
        total += len(nodes)
        if progress is not None:
            progress(total)
    return np.concatenate(pieces)


def finish(
    problem: GrowthProblem,
    limits: Limits,
    nodes: np.ndarray,
    node_widths: np.ndarray | None = None,
    *,
    in_order: bool = False,
) -> SoftTree:
    """Number the nodes depth first and read off values and impurities.

    Parameters
    ----------
    nodes : finished nodes, columns as in `softwood.loops.grow`
    node_widths : (n_nodes,) half-width of each node's kernel; None: that of its feature
    in_order : whether they are numbered depth first already
    """
    n = len(nodes)
    parent = nodes[:, loop.PARENT].astype(np.int64)
    side = nodes[:, loop.SIDE].astype(np.int64)
    children = np.full((n, 2), -1, dtype=np.int64)
    below = np.flatnonzero(parent >= 0)
    children[parent[below], side[below]] = below
    if not in_order:
        order = _depth_first(children)
        number = np.empty(n + 1, dtype=np.int64)
        number[order] = np.arange(n)
        number[n] = -1  # the place that the child -1 looks up
        nodes, children = nodes[order], number[children[order]]
        node_widths = None if node_widths is None else node_widths[order]
    feature = nodes[:, loop.FEATURE].astype(np.int64)
    is_inner = feature >= 0
    widths = problem.widths[feature] if node_widths is None else node_widths
    value, impurity = _values(problem, nodes)
    return SoftTree.from_nodes(
        children_left=children[:, 0],
        children_right=children[:, 1],
        gate=np.where(is_inner, Gate.KERNEL, Gate.LEAF),
        feature=feature,
        threshold=nodes[:, loop.THRESHOLD],
        missing_left=np.where(is_inner, nodes[:, loop.MISSING_LEFT], 0.5),
        width=np.where(is_inner, widths, 0.0),
        kernel=np.where(is_inner, problem.kinds[feature], 0),
        value=value,
        mass=nodes[:, loop.MASS],
        impurity=impurity,
        n_features=len(problem.widths),
        shapes=problem.shapes,
        cutoff=limits.cutoff,
    )


def _depth_first(children: np.ndarray) -> np.ndarray:
    """Nodes depth first, left before right: each follows its parent or its left sibling's subtree."""
    order = np.empty(len(children), dtype=np.int64)
    pending, k = [0], 0
    left, right = children[:, 0].tolist(), children[:, 1].tolist()
    while pending:
        node = pending.pop()
        order[k] = node
        k += 1
        if left[node] >= 0:
            pending += [right[node], left[node]]
    return order


def _values(problem: GrowthProblem, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Value and impurity of each node, in the user's units."""
    targets = problem.targets
    means = nodes[:, loop.SUMS :] / nodes[:, loop.MASS, None]
    if isinstance(targets, RealTargets):
        variance = nodes[:, loop.SQUARE] / nodes[:, loop.MASS] - (means**2).sum(axis=1)
        return targets.mean + targets.scale * means, np.maximum(variance, 0.0) * targets.square_scale / means.shape[1]
    if len(targets.classes) == 1:
        means = np.ones((len(nodes), 1))
    elif means.shape[1] == 1:
        means = np.hstack([1.0 - means, means])
    means = np.clip(means, 0.0, 1.0)
    means /= means.sum(axis=1, keepdims=True)
    if problem.criterion == "entropy":
        with np.errstate(divide="ignore", invalid="ignore"):
            impurity = -np.where(means > 0, means * np.log2(means), 0.0).sum(axis=1)
    else:
        impurity = 1.0 - (means**2).sum(axis=1)
    return means, np.maximum(impurity, 0.0)
