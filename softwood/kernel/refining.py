"""Refining: the thresholds, the half-widths and the leaf values of a grown tree are trained together.

A greedy tree fixes a threshold before it knows what is below it, and gives each leaf the mean of its rows although rows
are shared among leaves. Refining keeps the tests and their places, and minimises the loss of the predictions by
gradient descent (Adam): the squared error, or the cross-entropy of classes. Values of classes become logarithms of
probabilities, of which the prediction is the softmax. A column keeps one half-width for all of its gates, so the tree
remains a kernel tree. Values start at those of the tree, shrunk towards the nodes above them (hierarchical shrinkage),
and a penalty draws them there.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit, softmax

from softwood.compiled.layers import refine_slopes, refined_sums
from softwood.core.targets import ClassTargets, RealTargets
from softwood.kernel.data.row_keys import row_keys
from softwood.kernel.growing.finishing import node_values
from softwood.kernel.growing.loops.groups import NodeTable
from softwood.kernel.growing.loops.tree_groups import NODE
from softwood.kernel.growing.problem import GrowthProblem
from softwood.trees.gate_tables import Structure
from softwood.trees.gates import Gate
from softwood.trees.loops.gate_walk import N_ROOM
from softwood.trees.loops.layout import FEATURE, MISSING_LEFT, N_GATE_NUMBERS, THRESHOLD, WIDTH, LayerTrees
from softwood.trees.loops.refine import LearnedRows, RowSpace
from softwood.trees.pruning import without_empty_nodes
from softwood.trees.tree import SoftTree

# Steps of Adam, for thresholds in standard deviations and logarithms of half-widths, and for values; how much of the
# means of the gradients and of their squares a step keeps; and the gradient below which steps become small.
GATE_RATE, VALUE_RATE, KEPT, KEPT_SQUARES, SMALL = 0.1, 0.2, 0.9, 0.95, 1e-6
# The search puts thresholds exactly where kernels end, and there the slope jumps: rounding would decide on which side
# they are. They start so many standard deviations above.
NUDGE = 1e-7
# Half-widths stay in this range, in standard deviations.
WIDTHS = (1e-3, 5.0)
# Gates of columns with a smaller standard deviation stay as they are: slopes would overflow.
SMALLEST_SCALE = 1e-303
# Weights, in rows, of the node above, towards which a value is shrunk, and of the penalty on a change of the value; the
# strength multiplies both.
SHRINKAGE, PENALTY = 3.0, 0.1
# Part of the start values of classes that is the share of each class in all rows, so that none is 0.
MIXED = 0.02
# Added to the curvature of the loss of a leaf beside a trend, whose start value is a Newton step.
CURVATURE = 1.0
# A pass goes through at most so many rows; larger tables are gone through in several passes.
BATCH = 2048
# Rows whose shares are in memory at once.
BLOCK = 8192


class Passes(NamedTuple):
    """How a tree is refined: the number of passes, and the strength of the shrinkage, see `Refinement`."""

    n_passes: int
    strength: float = 1.0


@dataclass(frozen=True)
class Learned:
    """What the predictions of a tree are fitted to.

    Attributes
    ----------
    truth : (n, n_outputs) class probabilities, or scaled targets; of two classes with an offset, the second alone
    is_class : whether they are classes
    offset : (n, n_outputs) what is added to the tree, or None
    """

    truth: np.ndarray
    is_class: bool
    offset: np.ndarray | None = None

    @classmethod
    def of(cls, targets: ClassTargets | RealTargets, trend: np.ndarray | None = None) -> Learned:
        """The targets of some rows, beside the outputs of a trend or None."""
        truth = targets.matrix()
        return cls(truth, targets.is_class) if trend is None else cls.beside(truth, targets.is_class, trend)

    @classmethod
    def beside(cls, truth: np.ndarray, is_class: bool, trend: np.ndarray) -> Learned:
        """Scaled targets or class probabilities beside the outputs of a trend."""
        return cls(truth[:, -trend.shape[1] :], is_class, trend)

    def residuals(self) -> np.ndarray:
        """What the offset leaves of the truth, (n, n_outputs)."""
        if self.offset is None:
            return self.truth
        return self.truth - (probabilities(self.offset) if self.is_class else self.offset)

    def take(self, rows: np.ndarray) -> Learned:
        """Those of some rows."""
        return Learned(self.truth[rows], self.is_class, None if self.offset is None else self.offset[rows])


@dataclass(frozen=True)
class DistinctRows:
    """Rows in an order that depends on their content alone, equal ones as one row with the sum of their weights.

    So neither the order of the rows matters, nor whether a repeated row is given as a weight.

    Attributes
    ----------
    points : (n, p);  weights : (n,)
    learned : means over equal rows
    squares : (n,) mean sum of squares of the truth
    cells : (n, p) half-widths of single cells, or (0, p)
    place : for each row that was given, the number of its content; -1 for those without weight
    """

    points: np.ndarray
    weights: np.ndarray
    learned: Learned
    squares: np.ndarray
    cells: np.ndarray
    place: np.ndarray

    @classmethod
    def of(
        cls, matrix: np.ndarray, cells: np.ndarray | None, learned: Learned, weights: np.ndarray, seed: int
    ) -> DistinctRows:
        """The distinct ones of some rows with a weight; cells (n, p) or None."""
        place = np.full(len(matrix), -1)
        rows = np.flatnonzero(weights > 0)
        if len(rows) < len(matrix):
            matrix, cells = matrix[rows], None if cells is None else cells[rows]
            learned, weights = learned.take(rows), weights[rows]
        truth = learned.truth
        keys = row_keys(matrix if cells is None else np.column_stack([matrix, cells]), seed)
        order = np.lexsort((weights, *truth.T, keys))  # the same order of sums, too
        begin = np.flatnonzero(np.diff(keys[order], prepend=~keys[order[:1]]))
        mass = np.add.reduceat(weights[order], begin)
        place[rows[order]] = np.repeat(np.arange(len(begin)), np.diff(begin, append=len(order)))

        def mean(numbers: np.ndarray) -> np.ndarray:
            own = weights[order].reshape(-1, *[1] * (numbers.ndim - 1)) * numbers[order]
            return np.add.reduceat(own, begin) / mass.reshape(-1, *[1] * (numbers.ndim - 1))

        first = order[begin]
        offset = None if learned.offset is None else learned.offset[first]
        return cls(
            np.ascontiguousarray(matrix[first]), mass, Learned(mean(truth), learned.is_class, offset),
            mean((truth**2).sum(axis=1)), np.empty((0, matrix.shape[1])) if cells is None else cells[first],
            place,
        )  # fmt: skip

    def compiled(self) -> LearnedRows:
        """The rows as the compiled loops take them."""
        truth, offset = self.learned.truth, self.learned.offset
        return LearnedRows(
            self.points, np.ascontiguousarray(truth),
            np.empty((0, truth.shape[1])) if offset is None else np.ascontiguousarray(offset), self.weights,
        )  # fmt: skip


class Refinement:
    """A tree that is being refined.

    Parameters
    ----------
    tree : with the kernels that it will predict with
    rows : to learn from
    problem : the data that the tree was grown from
    deviations : (p,) standard deviations of the columns
    is_free : (p,) bool, the columns whose half-widths are trained
    strength : factor of the shrinkage of the values that it starts from, and of the penalty on their change
    """

    def __init__(
        self, tree: SoftTree, rows: DistinctRows, problem: GrowthProblem, deviations: np.ndarray, is_free: np.ndarray,
        strength: float = 1.0,
    ) -> None:  # fmt: skip
        self._tree, self._rows, self._problem = tree, rows, problem
        self._is_class, self._learned = rows.learned.is_class, rows.compiled()
        self._structure = structure = Structure.of(tree)
        gates, n_outputs = structure.gate_nodes, tree.n_outputs
        self._feature = structure.table[:, FEATURE]
        self._trees = LayerTrees(
            structure.table, structure.gates, structure.leaves, tree.shapes.edges, tree.shapes.cdfs,
            tree.set_words[gates],
        )  # fmt: skip
        is_soft = (tree.gate[gates] == Gate.KERNEL) & ((tree.width[gates] > 0) | (len(rows.cells) > 0))
        self._unit = np.where(is_soft & (deviations > SMALLEST_SCALE)[self._feature], deviations[self._feature], 0.0)
        self._is_free = is_free[self._feature] & (tree.width[gates] > 0) & (self._unit > 0)
        with np.errstate(over="ignore"):  # of columns with the largest numbers
            most = np.minimum(WIDTHS[1] * self._unit, np.finfo(float).max / 16)
        self._widths = np.where(self._is_free, [WIDTHS[0] * self._unit, most], tree.width[gates])
        shape = (1, 1, n_outputs)
        self._space = RowSpace(
            np.empty(len(gates), np.int64), np.empty((len(gates), N_ROOM)), np.empty(shape), np.empty(shape)
        )
        n = len(rows.points)
        self._ends = np.linspace(0, n, -(-n // BATCH) + 1).astype(np.int64)
        self._masses = np.add.reduceat(rows.weights, self._ends[:-1])
        self._curvature = None  # of the loss beside an offset, in each node
        if self._is_class and rows.learned.offset is not None:
            part = probabilities(rows.learned.offset)
            self._curvature = self._add_up(tree, part * (1.0 - part))
        self._begin(strength)

    def restarted(self, strength: float) -> Refinement:
        """A refinement of the same tree from the beginning, with another strength."""
        other = copy(self)
        other._begin(strength)
        return other

    def _begin(self, strength: float) -> None:
        tree, gates = self._tree, self._structure.gate_nodes
        self._numbers = np.zeros((len(gates), N_GATE_NUMBERS))
        self._numbers[:, THRESHOLD] = np.nan_to_num(tree.threshold[gates]) + NUDGE * self._unit
        self._numbers[:, WIDTH] = tree.width[gates]
        self._numbers[:, MISSING_LEFT] = tree.missing_left[gates]
        self._start = np.ascontiguousarray(self._start_values(strength)[self._structure.leaf_nodes])
        self._value = self._start.copy()
        self._penalty = PENALTY * strength / float(self._rows.weights.sum())
        self._means = [np.zeros((2, *like)) for like in ((2, len(gates)), self._value.shape)]
        self.n_passes = 0

    @property
    def has_gates(self) -> bool:
        """Whether there is anything to share among leaves."""
        return len(self._numbers) > 0

    def step(self) -> float:
        """One pass over a batch of rows; returns their mean loss before it."""
        if not self.has_gates:
            return 0.0
        k = self.n_passes % len(self._masses)
        mass = self._masses[k]
        by_numbers, by_value = np.zeros_like(self._numbers), np.zeros_like(self._value)
        loss = refine_slopes(
            self._learned, self._rows.cells, self._ends[k], self._ends[k + 1], self._is_class, self._trees,
            self._numbers, self._value, self._space, by_numbers, by_value,
        )  # fmt: skip
        by_gates = np.empty((2, len(by_numbers)))
        np.multiply(by_numbers[:, THRESHOLD], self._unit / mass, out=by_gates[0])
        by_width = np.where(self._is_free, by_numbers[:, WIDTH] * self._numbers[:, WIDTH], 0.0)
        by_gates[1] = np.bincount(self._feature, by_width)[self._feature] / mass  # of all gates of a column together
        by_value = by_value / mass + self._penalty * (self._value - self._start)
        self.n_passes += 1
        moved = GATE_RATE * _adam(by_gates, self._means[0], self.n_passes)
        self._numbers[:, THRESHOLD] -= moved[0] * self._unit
        widths = self._numbers[:, WIDTH] * np.exp(-moved[1])
        self._numbers[:, WIDTH] = np.minimum(np.maximum(widths, self._widths[0]), self._widths[1])
        self._value -= VALUE_RATE * _adam(by_value, self._means[1], self.n_passes)
        return loss / mass

    def outputs(self, rows: DistinctRows) -> np.ndarray:
        """Scaled targets, or scores of classes, of each row, with what is added to the tree."""
        out = np.empty((len(rows.points), self._value.shape[1]))
        if self.has_gates:
            refined_sums(rows.points, rows.cells, self._trees, self._numbers, self._value, self._space, out)
        else:
            out[:] = self._value
        if rows.learned.offset is not None:
            out += rows.learned.offset
        return out

    def losses(self, rows: DistinctRows, outputs: np.ndarray) -> np.ndarray:
        """Squared error of the targets, or log loss of the class probabilities, of each row with these outputs."""
        truth = rows.learned.truth
        if self._is_class:
            return _log_losses(outputs, truth)
        return (outputs**2 - 2.0 * outputs * truth).sum(axis=1) + rows.squares

    def widths(self, widths: np.ndarray) -> np.ndarray:
        """Half-widths of the columns (p,), given those before refining."""
        widths = widths.copy()
        widths[self._feature[self._is_free]] = self._numbers[self._is_free, WIDTH]
        return widths

    def finish(self) -> SoftTree:
        """The refined tree, without leaves that have lost all rows.

        Masses, impurities and values of inner nodes are those of the rows in its nodes.
        """
        return without_empty_nodes(self._with_all_nodes())

    def _with_all_nodes(self) -> SoftTree:
        nodes, is_kernel = self._structure.gate_nodes, self._unit > 0
        threshold, width = self._tree.threshold.copy(), self._tree.width.copy()
        threshold[nodes[is_kernel]] = self._numbers[is_kernel, THRESHOLD]
        width[nodes[is_kernel]] = self._numbers[is_kernel, WIDTH]
        tree = replace(self._tree, threshold=threshold, width=width)
        mass, sums, squares = self._sums(tree)
        inner, left = nodes, tree.children_left[nodes]
        missing_left = tree.missing_left.copy()
        missing_left[inner] = np.clip(mass[left] / np.maximum(mass[inner], np.finfo(float).tiny), 0.0, 1.0)
        tree = replace(tree, missing_left=missing_left)
        if np.isnan(self._rows.points).any():
            mass, sums, squares = self._sums(tree)
        lines = np.zeros(tree.n_nodes, NODE)
        lines["mass"], lines["square"] = mass, squares
        for node in np.flatnonzero(mass <= 0):  # no row is left in it: it is described as the node above
            lines[node], sums[node] = lines[tree.parent[node]], sums[tree.parent[node]]
        value, impurity = node_values(self._problem, NodeTable(lines, sums))
        tree = replace(tree, mass=mass, impurity=impurity, value=value)
        leaves, targets = self._structure.leaf_nodes, self._problem.targets
        if not self._is_class:
            assert isinstance(targets, RealTargets)
            value[leaves] = targets.mean + targets.scale * self._value
            return replace(tree, value=value)
        if self._rows.learned.offset is not None:  # scores, which have no meaning without the offset
            value[leaves] = self._value
            for node in inner[np.argsort(-tree.depth[inner], kind="stable")]:
                below = [tree.children_left[node], tree.children_right[node]]
                value[node] = np.average(value[below], axis=0, weights=mass[below] + np.finfo(float).tiny)
            return replace(tree, value=value)
        value = _shrunk(tree, self._problem, 0.0)
        value[leaves] = self._value
        return replace(tree, value=value - value.mean(axis=1, keepdims=True), link="softmax")

    def _start_values(self, strength: float) -> np.ndarray:
        """Start values of all nodes: those of the tree, shrunk towards the nodes above them; of classes, scores."""
        shrunk = _shrunk(self._tree, self._problem, SHRINKAGE * strength)
        if self._curvature is None:
            return shrunk
        return shrunk * self._tree.mass[:, None] / (self._curvature + CURVATURE)

    def _sums(self, tree: SoftTree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mass of each node, sums of targets as they are stored, and of their squares."""
        rows = self._rows
        truth, residuals = rows.learned.truth, rows.learned.residuals()
        squares = rows.squares - (truth**2).sum(axis=1) + (residuals**2).sum(axis=1)
        is_pair = isinstance(self._problem.targets, ClassTargets) and self._problem.stored_outputs == 1
        stored = residuals[:, 1:2] if is_pair else residuals
        total = self._add_up(tree, np.column_stack([np.ones(len(squares)), squares, stored]))
        return total[:, 0], np.ascontiguousarray(total[:, 2:]), total[:, 1]

    def _add_up(self, tree: SoftTree, numbers: np.ndarray) -> np.ndarray:
        """Weighted sums of the numbers of the rows in each node, (n_nodes, k)."""
        rows = self._rows
        total = np.zeros((tree.n_nodes, numbers.shape[1]))
        for begin in range(0, len(numbers), BLOCK):
            block = slice(begin, begin + BLOCK)
            cells = rows.cells[block] if len(rows.cells) else None
            shares = tree.memberships(rows.points[block], widths=cells)
            total += shares.T @ (numbers[block] * rows.weights[block, None])
        return total


def _adam(slope: np.ndarray, means: np.ndarray, n_passes: int) -> np.ndarray:
    """Step of Adam for a rate of 1; updates the means of the gradients and of their squares, (2, ...).

    The gradient is divided by its own size plus the mean size in its line: gates that hardly matter move little.
    """
    means[0] += (1.0 - KEPT) * (slope - means[0])
    means[1] += (1.0 - KEPT_SQUARES) * (slope * slope - means[1])
    sizes = means[1] / (1.0 - KEPT_SQUARES**n_passes)
    sizes = np.sqrt(sizes) + np.sqrt(sizes.sum(axis=-1, keepdims=True) / sizes.shape[-1])
    return means[0] / (1.0 - KEPT**n_passes) / (sizes + SMALL)


def _shrunk(tree: SoftTree, problem: GrowthProblem, shrinkage: float) -> np.ndarray:
    """Values of all nodes, shrunk towards the node above; of classes, logarithms of probabilities that are not 0."""
    value = problem.targets.scaled_predictions(tree.value)
    shrunk = value.copy()
    for depth in range(1, tree.max_depth + 1):
        nodes = np.flatnonzero(tree.depth == depth)
        above = tree.parent[nodes]
        kept = tree.mass[above] / (tree.mass[above] + shrinkage) if shrinkage else np.ones(len(nodes))
        shrunk[nodes] = shrunk[above] + (value[nodes] - value[above]) * kept[:, None]
    if not problem.targets.is_class:
        return shrunk
    prior = (tree.mass[0] * value[0] + 1.0 / value.shape[1]) / (tree.mass[0] + 1.0)
    return np.log((1.0 - MIXED) * shrunk + MIXED * prior)


def probabilities(scores: np.ndarray) -> np.ndarray:
    """Probabilities from the scores of classes, or from that of the second of two."""
    return expit(scores) if scores.shape[1] == 1 else softmax(scores, axis=1)


def _log_losses(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Log loss of each row, given the scores of classes, or that of the second of two."""
    if scores.shape[1] == 1:
        return np.logaddexp(0.0, scores[:, 0]) - scores[:, 0] * truth[:, 0]
    scores = scores - scores.max(axis=1, keepdims=True)
    return np.log(np.exp(scores).sum(axis=1)) - (scores * truth).sum(axis=1)
