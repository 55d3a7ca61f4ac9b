"""Training of crisp oblique trees whose shape is found in the same optimisation.

Classes are trained by the loss of their best paths, real targets by mixtures of leaves with gates that get steeper.
Before each pass the rows are counted at all nodes of the complete tree, and splits that do not save their cost are
pruned from the bottom up. The rows are counted again each time, so a pruned node can be split again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from softwood.compiled import gradient as loop
from softwood.gradient.data import LearningSet
from softwood.gradient.loops.annealed import AnnealedDescent, AnnealedScratch
from softwood.gradient.loops.max_path import MaxPathDescent, MaxPathScratch
from softwood.gradient.one_stage_training import StagedTree
from softwood.gradient.starting import column_start, fitted_start, linear_start, random_start

# Loss that a split must save to take part in a pass: in nats for classes, in variances of the target for reals.
COST_IN_TRAINING = 2.0
# Part of the passes after which the learning rate falls, and what is left of it in the last pass.
STEADY, LAST_RATE = 0.6, 0.05
# Part of the passes after which gates get steeper.
GENTLE = 0.3
# Rows of batch arrays are longer than the batch by this many numbers, one cache line: rows of 256 numbers would all map
# to the same places of the cache.
PADDING = 8


@dataclass(frozen=True)
class Recipe:
    """How a tree is initialised and trained.

    Attributes
    ----------
    init : initial gates: "linear" fits, tests of single "columns", "fitted" (the better of both) or "random"
    l1, l2 : penalties on the weights of the gates, relative to a loss that is added up over the rows
    is_trained : whether gates are trained
    is_pure : classes: whether a leaf predicts only its largest class
    gentle, steep : reals: steepness of the gates at the beginning and at the end
    """

    init: str
    l1: float = 0.0
    l2: float = 0.0
    is_trained: bool = True
    is_pure: bool = True
    gentle: float = 1.0
    steep: float = 50.0


@dataclass(frozen=True)
class Pace:
    """Length of a training.

    Attributes
    ----------
    n_passes, batch_size, rate : passes over the rows, rows of a step, learning rate
    """

    n_passes: int
    batch_size: int
    rate: float

    def rate_at(self, number: int) -> float:
        """Learning rate of a pass."""
        done = number / max(self.n_passes - 1, 1)
        if done < STEADY:
            return self.rate
        return self.rate * (LAST_RATE + (1.0 - LAST_RATE) * (1.0 - done) / (1.0 - STEADY))

    def steepness_at(self, number: int, recipe: Recipe) -> float:
        """Steepness of the gates in a pass."""
        done = max(number / max(self.n_passes - 1, 1) - GENTLE, 0.0) / (1.0 - GENTLE)
        return float(recipe.gentle * (recipe.steep / recipe.gentle) ** done)


class CrispTraining:
    """A tree in training.

    Parameters
    ----------
    rows : weights with mean 1
    unit : number of rows that a weight of 1 stands for; costs, penalties and the prior are in numbers of rows
    prior : the value of a node is the mean of its rows and of this many rows with the value of its parent
    seed : of the order of the rows, and of random gates
    gates : initial gates, in place of those of the recipe
    """

    def __init__(
        self,
        rows: LearningSet,
        is_class: bool,
        depth: int,
        recipe: Recipe,
        pace: Pace,
        prior: float,
        unit: float,
        seed: list[int],
        gates: np.ndarray | None = None,
    ) -> None:
        self.rows, self.is_class, self.recipe, self.pace = rows, is_class, recipe, pace
        self.prior, self.unit = prior / unit, unit
        self._rng = np.random.default_rng(seed)
        self.gates = self._first_gates(depth) if gates is None else gates.copy()

    def _first_gates(self, depth: int) -> np.ndarray:
        rows, kind = self.rows, self.recipe.init
        d = rows.points.shape[1]
        if kind == "random":
            return random_start(depth, d, self._rng)
        if kind == "fitted":
            return fitted_start(rows, rows, self.is_class, depth)
        if kind == "columns":
            return column_start(rows, depth)
        # Without a penalty, the weights would be infinite if the rows can be divided without error.
        return linear_start(rows, self.is_class, depth, max(self.recipe.l2, 1e-3) / self.unit)

    def passes(self) -> Iterator[None]:
        """Train: one pass for each item. The gates are those of the last pass."""
        if not self.recipe.is_trained:
            return iter(())
        return self._passes_by_paths() if self.is_class else self._annealed_passes()

    def _passes_by_paths(self) -> Iterator[None]:
        rows, gates, recipe, size = self.rows, self.gates, self.recipe, self.pace.batch_size
        n_inner, q = len(gates), rows.targets.shape[1]
        scratch = self._path_scratch(0)
        descent = MaxPathDescent(
            first=np.zeros_like(gates), second=np.zeros_like(gates), steps=np.zeros(n_inner, np.int64),
            by_gates=np.zeros_like(gates),
        )  # fmt: skip
        splits, place = np.empty(n_inner, np.int64), np.empty(2 * n_inner + 1, np.int64)
        logits = np.empty((2 * n_inner + 1, q))
        l2 = recipe.l2 / (self.unit * len(rows))
        for number in range(self.pace.n_passes):
            counts = NodeCounts(self, rows)
            alive = counts.pruned(COST_IN_TRAINING)
            alive[0] = True
            n_splits = loop.order_splits(alive, splits, place)
            if n_splits > len(scratch.inputs):
                scratch = self._path_scratch(n_splits)
            loop.fill_logits(counts.values, splits[:n_splits], place, recipe.is_pure, logits)
            loop.max_path_pass(
                rows.arrays, self._rng.permutation(len(rows)), size, gates, splits[:n_splits], place, logits,
                self.pace.rate_at(number), l2, scratch, descent,
            )  # fmt: skip
            yield

    def _path_scratch(self, n_splits: int) -> MaxPathScratch:
        """Scratch space for a batch of rows and this many splits."""
        d, q, width = self.gates.shape[1] - 1, self.rows.targets.shape[1], self.pace.batch_size + PADDING
        depth = int(np.log2(len(self.gates) + 1))
        inputs, by_inputs = np.empty((2, n_splits, width))
        return MaxPathScratch(
            batch=np.empty((d, width)), inputs=inputs, by_inputs=by_inputs,
            sides=np.empty((n_splits, q, width), np.float32), best=np.empty((depth + 1, 2, q, width)),
            shares=np.empty(q),
        )  # fmt: skip

    def _annealed_passes(self) -> Iterator[None]:
        rows, gates, recipe, size = self.rows, self.gates, self.recipe, self.pace.batch_size
        n_inner, d = len(gates), gates.shape[1] - 1
        n_nodes, q = 2 * n_inner + 1, rows.targets.shape[1]
        values = NodeCounts(self, rows).values[n_inner:].copy()
        width = size + PADDING
        scratch = AnnealedScratch(
            batch=np.empty((d, width)), sides=np.empty((n_inner, width)), shares=np.empty((n_nodes, width)),
            outputs=np.empty((n_nodes, q, width)), by_output=np.empty((q, width)), by_input=np.empty((1, width)),
        )  # fmt: skip
        descent = AnnealedDescent(
            first=np.zeros_like(gates), second=np.zeros_like(gates), value_first=np.zeros_like(values),
            value_second=np.zeros_like(values), by_gates=np.zeros_like(gates), by_values=np.zeros_like(values),
        )  # fmt: skip
        total = self.unit * len(rows)
        steps = 0
        for number in range(self.pace.n_passes):
            steps = loop.annealed_pass(
                rows.arrays, self._rng.permutation(len(rows)), size, gates, values,
                self.pace.steepness_at(number, recipe), self.pace.rate_at(number), recipe.l1 / total,
                recipe.l2 / total, steps, scratch, descent,
            )  # fmt: skip
            yield

    def tree(self, cost: float) -> StagedTree:
        """The tree so far, pruned; a split costs `cost`."""
        counts = NodeCounts(self, self.rows)
        alive = counts.pruned(cost)
        return StagedTree(self.gates.copy(), alive.astype(float), alive, counts.mass, counts.sums)


class NodeCounts:
    """Masses of the rows at all nodes of a tree in training, values of the nodes, and their losses as leaves."""

    def __init__(self, training: CrispTraining, rows: LearningSet) -> None:
        gates = training.gates
        n_nodes, q = 2 * len(gates) + 1, rows.targets.shape[1]
        self._n_inner, self._unit, self._is_class = len(gates), training.unit, training.is_class
        self.mass, self.sums, self.squares = np.zeros(n_nodes), np.zeros((n_nodes, q)), np.zeros(n_nodes)
        tree = StagedTree(gates, gates[:, 0], gates[:, 0] > 0.0, self.mass, self.sums)
        bottom = tree.add_up(rows)
        if not self._is_class:
            loop.add_squares(rows.arrays, bottom, self.squares)
        self.values = np.empty((n_nodes, q))
        loop.fill_values(self.mass, self.sums, training.prior, self.values)
        self.losses = self.losses_with(self.values)

    def losses_with(self, values: np.ndarray) -> np.ndarray:
        """Sum of the losses of the rows of each node, (n_nodes,), if the node were a leaf with its row of `values`."""
        losses = np.empty(len(self.mass))
        loop.fill_losses(self.mass, self.sums, self.squares, values, self._is_class, losses)
        return losses

    def errors_with(self, values: np.ndarray) -> np.ndarray:
        """Weight of the rows of each node that are not of the largest class of its value."""
        errors = np.empty(len(self.mass))
        loop.fill_node_errors(self.mass, self.sums, values, errors)
        return errors

    def pruned(self, cost: float) -> np.ndarray:
        """Which nodes are split, (n_inner,), if a split must save `cost`."""
        alive = np.empty(self._n_inner, dtype=bool)
        loop.prune(self.losses, cost / self._unit, np.empty(len(self.mass)), alive)
        return alive
