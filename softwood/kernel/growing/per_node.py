"""Growing a kernel tree whose bandwidths are estimated again at every node, from the points of the node.

The kernels of a feature then differ along a path, so the interval of a node does not determine which part of a point's
kernel is in the node. Instead, the two ends of this part are stored for every point and feature as values of the
distribution function (the paper's bound probabilities). This needs n times p numbers per open node. The common case is
in `softwood.kernel.growing.growing`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from softwood.compiled import growing as loop
from softwood.compiled.trees import next_seed
from softwood.core.steps import Steps
from softwood.core.targets import ClassTargets, RealTargets
from softwood.kernel.growing.finishing import finish
from softwood.kernel.growing.loops.divide import LENIENT
from softwood.kernel.growing.loops.groups import Goal, NodeTable, SubsetSpace
from softwood.kernel.growing.loops.scan import SLACK
from softwood.kernel.growing.loops.tree_groups import NODE, Knots
from softwood.kernel.growing.problem import GrowthProblem, Limits
from softwood.trees.tree import SoftTree

__all__ = ["grow_tree_per_node"]

WidthRule = Callable[[np.ndarray, ClassTargets | RealTargets, np.ndarray], np.ndarray]


def grow_tree_per_node(
    problem: GrowthProblem,
    X: np.ndarray,
    rule: WidthRule,
    limits: Limits,
    *,
    seed: int,
    steps: Steps,
) -> SoftTree:
    """Grow a tree depth first, with the half-widths that `rule` gives for the points of each node and their masses."""
    n, p = X.shape
    grower = _Grower(problem, X, rule, limits)
    nodes: list[NodeTable] = []
    widths: list[float] = []
    stack = [_Node(np.arange(n), np.ones(n), np.zeros((n, p)), np.ones((n, p)), -1, 0, 0, np.uint64(seed))]
    while stack:
        step = steps.begin()
        node = stack.pop()
        leaf, points = grower.weigh(node)
        nodes.append(leaf)
        split = None if steps.is_stopped else grower.search(node, leaf, points)
        children = None if split is None else grower.divide(node, split, len(nodes) - 1)
        widths.append(0.0 if split is None or children is None else split.width)
        if split is not None and children is not None:
            line = leaf.lines[0]
            line["feature"], line["threshold"], line["missing_left"] = split[:3]
            if leaf.subsets is not None and split.subset is not None:
                leaf.subsets[0] = split.subset
            stack += children[::-1]
        step.end(n_nodes=len(nodes))
    return finish(problem, limits, join_tables(nodes), np.array(widths))


@dataclass
class _Node:
    """A node to be grown; `lower` and `upper` are the bounds of each point's kernel in it, (n_rows, p)."""

    rows: np.ndarray
    shares: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    parent: int
    side: int
    depth: int
    seed: np.uint64


class _Split(NamedTuple):
    feature: int
    threshold: float
    missing_left: float
    width: float
    subset: np.ndarray | None = None  # (n_words,) of a split of categories


class _Grower:
    """Search and division of one node."""

    def __init__(self, problem: GrowthProblem, X: np.ndarray, rule: WidthRule, limits: Limits) -> None:
        self.problem, self.X, self.rule, self.limits = problem, X, rule, limits
        targets = problem.targets
        self.labels = targets.labels if isinstance(targets, ClassTargets) and problem.stored_outputs > 1 else None
        self.matrix = targets.matrix()
        if targets.is_class and problem.stored_outputs == 1:
            self.matrix = self.matrix[:, 1:2] if self.matrix.shape[1] > 1 else np.zeros((len(X), 1))
        self.squares = (self.matrix**2).sum(axis=1)
        self.min_gain = limits.min_gain_merit(problem, float(problem.weights.sum()))
        self.edges, self.cdfs = problem.shapes.edges[problem.kinds], problem.shapes.cdfs[problem.kinds]

    def weigh(self, node: _Node) -> tuple[NodeTable, np.ndarray]:
        """The node's line as a leaf, and its points as the scan takes them."""
        masses = node.shares * self.problem.weights[node.rows]
        weighted = masses[:, None] * self.matrix[node.rows]
        square = masses @ self.squares[node.rows]
        line = node.parent, node.side, node.depth, -1, np.nan, np.nan, masses.sum(), square
        points = masses[:, None] if self.labels is not None else np.hstack([masses[:, None], weighted])
        n_words = self.problem.bins.n_words
        subsets = np.zeros((1, n_words), np.uint32) if n_words else None
        leaf = NodeTable(np.array([line], NODE), weighted.sum(axis=0)[None], subsets)
        return leaf, np.ascontiguousarray(points)

    def search(self, node: _Node, leaf: NodeTable, points: np.ndarray) -> _Split | None:
        """Best split with bandwidths estimated from the node's points; None for a leaf."""
        limits, problem, p = self.limits, self.problem, self.X.shape[1]
        mass, criterion = leaf.lines["mass"][0], problem.criterion_number
        base, impure = loop.merit_and_impurity(leaf.lines, leaf.sums, 0, criterion, problem.targets.is_class)
        is_deep = limits.max_depth is not None and node.depth >= limits.max_depth
        if is_deep or mass < 2.0 * limits.min_mass * SLACK or impure <= 1e-12 * mass:
            return None
        n_draw = p if limits.n_draw is None else limits.n_draw
        order = np.empty(p, dtype=np.int64)
        loop.draw_features(order, problem.bins.priority, node.seed, n_draw)
        widths = self.rule(self.X[node.rows], problem.targets.take(node.rows), points[:, 0])
        labels = np.zeros(0, np.int32) if self.labels is None else self.labels[node.rows]
        tie = loop.tie_of(base, impure, mass)
        goal = Goal(mass, base, limits.min_mass, tie, problem.stored_outputs, criterion, limits.rare_mass)
        shapes, work = problem.shapes, np.empty((5, goal.n_outputs))
        knots = self._knots(len(points), goal.n_outputs)
        best, split = -np.inf, None
        for k, j in enumerate(order.tolist()):
            if k >= n_draw and split is not None:
                break
            x = self.X[node.rows, j]
            if np.isnan(x).all():
                continue
            if len(problem.bins.n_categories) and problem.bins.n_categories[j] > 0:
                merit, left_mass, subset = self._search_set(node, j, points[:, 0], goal)
                if merit - base > tie and merit > best + tie:
                    best, split = merit, _Split(j, np.nan, left_mass / mass, 0.0, subset)
                continue
            cells = np.array([x, np.full(len(x), widths[j]), node.lower[:, j], node.upper[:, j]])
            merit, threshold, left_mass = loop.scan_points(
                cells, points, labels, len(x), problem.kinds[j], shapes.edges, shapes.cdfs, (-np.inf, np.inf), goal,
                knots, work,
            )  # fmt: skip
            if merit - base > tie and merit > best + tie:
                best, split = merit, _Split(j, threshold, left_mass / mass, widths[j])
        return None if best - base < self.min_gain else split

    def _knots(self, m: int, q: int) -> Knots:
        """Scratch space of the scan of `m` points."""
        n_knots = m * (self.problem.shapes.edges.shape[1] + 1)
        return Knots(
            np.empty(n_knots), np.empty(n_knots), np.empty(n_knots, np.int64), np.empty((2, n_knots), np.int64),
            np.empty(m), np.empty((4, m)), np.empty((m, 3 + q)),
        )  # fmt: skip

    def _search_set(self, node: _Node, j: int, masses: np.ndarray, goal: Goal) -> tuple[float, float, np.ndarray]:
        """Merit, left mass and members, (n_words,), of the best set of categories of column `j`."""
        bins = self.problem.bins
        n_bins, n_words = int(bins.offsets[j + 1] - bins.offsets[j]), bins.n_words
        codes = bins.codes[node.rows, j].astype(np.int64)
        table = np.zeros((n_bins + 1, 1 + self.matrix.shape[1]))
        np.add.at(table, codes, np.column_stack([masses, masses[:, None] * self.matrix[node.rows]]))
        atoms = np.zeros((n_bins, 2 + table.shape[1]))
        no_bits = np.zeros(0, np.uint64)
        q = table.shape[1] - 1
        n = loop.take_atoms(
            table[None], 0, no_bits, no_bits, bins.values, bins.offsets[j], n_bins, q, False, atoms
        )  # fmt: skip
        work = np.zeros((5, q))
        work[0] = atoms[:n, 3:].sum(axis=0)
        space = SubsetSpace(
            np.zeros(n_bins), np.zeros(n_bins, np.int64), np.zeros(n_bins, np.int64), np.zeros((n_bins, q)),
            np.zeros((1, n_words), np.uint32),
        )  # fmt: skip
        merit, last, left_mass, rare = loop.scan_category(atoms, n, q, work, bins, j, goal, space)
        if last >= 0:
            absent_left = rare <= last if rare >= 0 else 2.0 * left_mass >= goal.total
            loop.set_members(space.ranks, bins, j, last, absent_left, space.found, 0)
        return merit, left_mass, space.found[0]

    def divide(self, node: _Node, split: _Split, number: int) -> list[_Node] | None:
        """Left and right child of a node, or None if a side would be empty."""
        j, cutoff = split.feature, self.limits.cutoff
        x, lower, upper = self.X[node.rows, j], node.lower[:, j], node.upper[:, j]
        if split.subset is not None:
            reached = np.zeros(len(x))
            known = ~np.isnan(x)
            category = x[known].astype(np.int64)
            reached[known] = (split.subset[category >> 5] >> (category & 31).astype(np.uint32)) & 1
        elif split.width > 0:
            reached = np.interp((split.threshold - x) / split.width, self.edges[j], self.cdfs[j])
        else:
            reached = (x <= split.threshold).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = (reached - lower) / (upper - lower)
        part = np.where(reached >= upper, 1.0, np.where(reached <= lower, 0.0, part))
        part = np.where(np.isnan(x), split.missing_left, part)
        whole = node.shares * part
        left = np.where(whole < cutoff, 0.0, np.where(node.shares - whole < cutoff, node.shares, whole))
        weights = self.problem.weights[node.rows]
        if min(weights @ left, weights @ (node.shares - left)) < self.limits.min_mass * LENIENT:
            left = whole  # as in `softwood.kernel.growing.loops.grow.share_out`
        right = node.shares - left
        below, above = node.upper.copy(), node.lower.copy()
        if split.subset is None:
            below[:, j] = np.where(np.isnan(x), upper, np.minimum(upper, reached))
            above[:, j] = np.where(np.isnan(x), lower, np.maximum(lower, reached))
        children = []
        for side, shares, low, high in ((0, left, node.lower, below), (1, right, above, node.upper)):
            inside = np.flatnonzero(shares > 0)
            if len(inside) == 0:
                return None
            seed = np.uint64(next_seed(node.seed, side))
            children.append(
                _Node(node.rows[inside], shares[inside], low[inside], high[inside], number, side, node.depth + 1, seed)
            )
        return children


def join_tables(tables: list[NodeTable]) -> NodeTable:
    """The nodes of all tables, one after the other."""
    subsets = [table.subsets for table in tables if table.subsets is not None]
    return NodeTable(
        np.concatenate([table.lines for table in tables]),
        np.concatenate([table.sums for table in tables]),
        np.concatenate(subsets) if subsets else None,
    )
