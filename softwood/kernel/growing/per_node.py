"""Growing a kernel tree whose bandwidths are estimated again at every node, from the points of the node.

The kernels of a feature then differ along a path, so the interval of a node does not determine which part of a point's
kernel is in the node. Instead, the two ends of this part are stored for every point and feature as values of the
distribution function (the paper's bound probabilities). This needs n times p numbers per open node. Weighing a node and
the search of sets of categories are those of `softwood.kernel.growing.loops.grow`; thresholds are searched, and rows
are divided, with the bounds of each point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from softwood.compiled import growing as loop
from softwood.compiled.trees import next_seed
from softwood.core.steps import Steps
from softwood.core.targets import ClassTargets, RealTargets
from softwood.kernel.growing.finishing import finish
from softwood.kernel.growing.growing import rules_of
from softwood.kernel.growing.loops.divide import LENIENT
from softwood.kernel.growing.loops.groups import Goal, NodeTable
from softwood.kernel.growing.loops.tree_groups import NODE
from softwood.kernel.growing.problem import GrowthProblem, Limits
from softwood.kernel.growing.workspace import Workspace, at_least, scratch_for
from softwood.trees.tree import SoftTree

WidthRule = Callable[[np.ndarray, ClassTargets | RealTargets, np.ndarray], np.ndarray]


def grow_tree_per_node(
    problem: GrowthProblem, X: np.ndarray, rule: WidthRule, limits: Limits, *, seed: int, steps: Steps
) -> SoftTree:
    """Grow a tree depth first, with the half-widths that `rule` gives for the points of each node and their masses."""
    n, p = X.shape
    grower = _Grower(problem, X, rule, limits)
    widths: list[float] = []
    stack = [_Node(np.arange(n, dtype=np.uint32), np.ones(n), np.zeros((n, p)), np.ones((n, p)), np.uint64(seed))]
    while stack:
        step = steps.begin()
        node, number = stack.pop(), len(widths)
        goal = grower.weigh(node, number)
        split = None if steps.is_stopped or goal.n_outputs == 0 else grower.search(node, goal)
        children = [] if split is None else grower.divide(node, split, number)
        widths.append(split.width if split is not None and children else 0.0)
        stack += children[::-1]
        step.end(n_nodes=len(widths))
    return finish(problem, grower.table(len(widths)), np.array(widths))


class _Node(NamedTuple):
    """A node to be grown; `lower` and `upper` are the bounds of each point's kernel in it, (n_rows, p)."""

    rows: np.ndarray
    shares: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    seed: np.uint64
    parent: int = -1
    side: int = 0
    depth: int = 0


class _Split(NamedTuple):
    feature: int
    threshold: float
    missing_left: float
    width: float
    subset: np.ndarray | None = None  # (n_words,) of a split of categories


class _Grower:
    """The steps at one node, and the table of nodes."""

    def __init__(self, problem: GrowthProblem, X: np.ndarray, rule: WidthRule, limits: Limits) -> None:
        self.problem, self.X, self.rule = problem, X, rule
        self.rules = rules_of(problem, limits, float(problem.weights.sum()))
        labels, targets = problem.target_arrays
        self.stored = targets[:, 1:] if labels is None else problem.targets.matrix()
        self.edges, self.cdfs = problem.shapes.edges[problem.kinds], problem.shapes.cdfs[problem.kinds]
        # The parts of kernels that are in a node differ from cell to cell.
        by_cell = replace(problem, cells=X, by_cell=np.ones(X.shape[1], dtype=bool))
        self.scratch, space, _ = scratch_for(by_cell, len(X), Workspace())
        assert space is not None
        self.space = space
        if problem.stored_outputs == 1:  # categories are ordered by its mean
            self.space = space._replace(work=np.zeros((5, 1)))
        self.lines, self.sums = np.zeros(64, NODE), np.zeros((64, problem.stored_outputs))
        self.subsets = np.zeros((64, problem.bins.n_words), np.uint32)

    def weigh(self, node: _Node, number: int) -> Goal:
        """Begin the line of a node, and return what its splits are measured by."""
        self.lines, self.sums, self.subsets = (
            at_least(array, number + 1) for array in (self.lines, self.sums, self.subsets)
        )
        self.lines[number] = (node.parent, node.side, node.depth, -1, np.nan, np.nan, 0.0, 0.0)
        m, labels = len(node.rows), self.problem.target_arrays[0]
        masses = node.shares * self.problem.weights[node.rows]
        weighted = masses[:, None] * self.stored[node.rows]
        self.lines["mass"][number], self.sums[number] = masses.sum(), weighted.sum(axis=0)
        self.scratch.points[:m, 0] = masses
        if labels is None:
            self.scratch.points[:m, 1:] = weighted
            self.lines["square"][number] = np.vdot(weighted, self.stored[node.rows])
        else:
            self.scratch.labels[:m] = labels[node.rows]
        criterion, min_mass = self.problem.criterion_number, self.rules.min_mass
        return Goal(*loop.goal_of(self.lines, self.sums, number, m, self.rules, criterion, min_mass, self.scratch))

    def search(self, node: _Node, goal: Goal) -> _Split | None:
        """Best split with bandwidths estimated from the node's points; None for a leaf."""
        problem, scratch, space, m = self.problem, self.scratch, self.space, len(node.rows)
        bins, shapes = problem.bins, problem.shapes
        x = self.X[node.rows]
        widths = self.rule(x, problem.targets.take(node.rows), scratch.points[:m, 0])
        loop.draw_features(scratch.order, bins.priority, node.seed, self.rules.n_draw)
        best, split = -np.inf, None
        for k, j in enumerate(scratch.order.tolist()):
            if k >= self.rules.n_draw and split is not None:
                break
            has_categories = bins.n_words > 0 and bins.n_categories[j] > 0
            if has_categories:
                _, threshold, left_mass, gain = loop.search_thresholds(
                    bins, problem.widths, None, node.rows, 0, m, scratch._replace(order=np.array([j])), 1,
                    np.zeros((2, x.shape[1])), goal, space,
                )  # fmt: skip
            else:
                cells = np.array([x[:, j], np.full(m, widths[j]), node.lower[:, j], node.upper[:, j]])
                merit, threshold, left_mass = loop.scan_points(
                    cells, scratch.points, scratch.labels, m, problem.kinds[j], shapes.edges, shapes.cdfs,
                    (-np.inf, np.inf), goal, space.knots, space.work,
                )  # fmt: skip
                gain = merit - goal.base
            if gain > goal.tie and gain > best + goal.tie:
                subset = space.subset.found[0].copy() if has_categories else None
                best, split = gain, _Split(j, threshold, left_mass / goal.total, widths[j] * (subset is None), subset)
        return None if best < self.rules.min_gain else split

    def divide(self, node: _Node, split: _Split, number: int) -> list[_Node]:
        """Left and right child of a node, and its split in the table; none if a side would be empty."""
        j, cutoff = split.feature, self.rules.cutoff
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
        if min(weights @ left, weights @ (node.shares - left)) < self.rules.min_mass * LENIENT:
            left = whole  # as in `softwood.kernel.growing.loops.divide.share_out`
        below, above = node.upper.copy(), node.lower.copy()
        if split.subset is None:
            below[:, j] = np.where(np.isnan(x), upper, np.minimum(upper, reached))
            above[:, j] = np.where(np.isnan(x), lower, np.maximum(lower, reached))
        children = []
        for side, (shares, low, high) in enumerate(
            ((left, node.lower, below), (node.shares - left, above, node.upper))
        ):
            inside = np.flatnonzero(shares > 0)
            if len(inside) == 0:
                return []
            seed = np.uint64(next_seed(node.seed, side))
            bounds = low[inside], high[inside]
            children.append(_Node(node.rows[inside], shares[inside], *bounds, seed, number, side, node.depth + 1))
        line = self.lines[number]
        line["feature"], line["threshold"], line["missing_left"] = split[:3]
        if split.subset is not None:
            self.subsets[number] = split.subset
        return children

    def table(self, n_nodes: int) -> NodeTable:
        """The nodes, depth first."""
        subsets = self.subsets[:n_nodes] if self.problem.bins.n_words else None
        return NodeTable(self.lines[:n_nodes], self.sums[:n_nodes], subsets)
