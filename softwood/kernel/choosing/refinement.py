"""Choosing how long to refine a tree, and of how many leaves, by held-out loss.

The trees of all sizes are those that best-first growth passes through, so each part of the rows grows one tree. A
refined tree needs fewer leaves than a grown one: sizes are halved from the best one of grown trees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softwood.core.steps import Steps
from softwood.kernel.data.preparation import TrainingData
from softwood.kernel.growing.finishing import depth_first, finish
from softwood.kernel.growing.growing import GrowthByGain
from softwood.kernel.growing.loops.groups import NodeTable
from softwood.kernel.growing.problem import Limits
from softwood.kernel.growing.workspace import Workspace
from softwood.kernel.prediction import PredictionKernels
from softwood.kernel.refining import DistinctRows, Learned, Refinement
from softwood.trees.tree import SoftTree

__all__ = ["Refined", "RefinementChoice"]

# Passes between two losses, the largest number of passes, and how many losses in a row may be no better.
EVERY, MOST_PASSES, PATIENCE = 5, 80, 2
# The largest number of passes where only the loss of two kinds of trees is compared.
FEW_PASSES = 20
# Stronger shrinkages, tried one after the other as long as the loss falls by this part of a standard error.
STRENGTHS, BETTER_BY = (10.0, 100.0), 0.1
# Sizes are halved so many times.
HALVINGS = 3


@dataclass(frozen=True)
class Refined:
    """Trees of one size and strength of the shrinkage: the best number of passes, the mean loss, its standard error.

    Attributes
    ----------
    outputs : of each part, those of its distinct held-out rows, see `Refinement.outputs`
    """

    loss: float
    error: float
    size: int
    n_passes: int
    strength: float
    outputs: list[np.ndarray]


class RefinementChoice:
    """What refined trees are compared with.

    Parameters
    ----------
    parts : training and held-out rows
    widths : (p,) half-widths that trees grow with;  kernels : that they predict with
    is_free : (p,) the columns whose half-widths are trained
    learned : what predictions are fitted to; the trees grow from the targets of `data`
    """

    def __init__(
        self,
        data: TrainingData,
        limits: Limits,
        parts: list[tuple[np.ndarray, np.ndarray]],
        widths: np.ndarray,
        kernels: PredictionKernels,
        is_free: np.ndarray,
        learned: Learned,
        *,
        seed: int,
        steps: Steps,
    ) -> None:
        self._data, self._limits, self._kernels, self._is_free = data, limits, kernels, is_free
        self._learned, self._seed, self._steps = learned, seed, steps
        self._problem = data.problem(widths)
        self._parts = parts
        cells = None if kernels.is_crisp else kernels.cells(data.errors, data.matrix)
        self._rows = [[self._distinct(rows, cells) for rows in part] for part in parts]

    def choose(self, most: int, within: float, *, halve: bool) -> Refined:
        """Number of leaves, at most `most`, number of passes, and strength of the shrinkage.

        The tree is the smallest one whose loss is at most `within` standard errors above the least one.

        Parameters
        ----------
        halve : whether smaller trees are tried
        """
        growths = self._grow(most)
        found: list[Refined] = []
        for size in sorted({max(2, -(-most // 2**k)) for k in range(HALVINGS + 1 if halve else 1)}):
            found.append(self._refine(growths, size))
            if self._steps.is_stopped:
                break
        best = min(found, key=lambda each: each.loss)
        chosen = next(each for each in found if each.loss <= best.loss + within * best.error)
        for strength in STRENGTHS:
            other = self._refine(growths, chosen.size, strength)
            if other.loss >= chosen.loss - BETTER_BY * chosen.error:
                break
            chosen = other
        return chosen

    @property
    def has_rows(self) -> bool:
        """Whether there are rows to hold out."""
        return bool(self._parts)

    def loss(self, size: int, *, refines: bool) -> float:
        """Held-out loss of trees of so many leaves, after a few passes or without refining."""
        return self._refine(self._grow(size), size, most=FEW_PASSES if refines else 0).loss

    def held_out(self, chosen: Refined) -> list[np.ndarray]:
        """Of each part, the outputs of its held-out rows, nan for rows without weight; see `Refinement.outputs`."""
        found = []
        for outputs, (_, rows) in zip(chosen.outputs, self._rows, strict=True):
            found.append(np.where(rows.place[:, None] < 0, np.nan, outputs[rows.place]))
        return found

    def _distinct(self, rows: np.ndarray, cells: np.ndarray | None) -> DistinctRows:
        data = self._data
        own = None if cells is None else cells[rows]
        return DistinctRows.of(data.matrix[rows], own, self._learned.take(rows), data.weights[rows], self._seed)

    def _grow(self, most: int) -> list[GrowthByGain]:
        space, growths = Workspace(), []
        for train, _ in self._parts:
            growths.append(GrowthByGain(self._problem, self._limits, seed=self._seed, rows=train, space=space))
            growths[-1].grow_to(most)
        return growths

    def _tree(self, growth: GrowthByGain, size: int) -> SoftTree:
        """The tree that had so many leaves while it grew."""
        n = min(2 * size - 1, len(growth.nodes.lines))
        lines = growth.nodes.lines[:n].copy()
        lines["feature"][np.setdiff1d(np.arange(n), growth.order[: n // 2])] = -1
        subsets = None if growth.nodes.subsets is None else growth.nodes.subsets[:n]
        nodes = depth_first(NodeTable(lines, growth.nodes.sums[:n], subsets))[0]
        return self._kernels.of(finish(self._problem, nodes), self._data.errors)

    def _refine(
        self, growths: list[GrowthByGain], size: int, strength: float = 1.0, most: int = MOST_PASSES
    ) -> Refined:
        """Refine the trees of all parts for as long as their held-out loss falls."""
        step = self._steps.begin()
        trained = [
            Refinement(self._tree(growth, size), rows, self._problem, self._data.deviations, self._is_free, strength)
            for growth, (rows, _) in zip(growths, self._rows, strict=True)
        ]

        def judged() -> Refined:
            outputs = [each.outputs(rows) for each, (_, rows) in zip(trained, self._rows, strict=True)]
            loss, error = self._loss(trained, outputs)
            return Refined(loss, error, size, trained[0].n_passes, strength, outputs)

        best, since = judged(), 0
        while since < PATIENCE and trained[0].n_passes < most:
            for refinement in trained:
                for _ in range(EVERY):
                    refinement.step()
            found = judged()
            best, since = (found, 0) if found.loss < best.loss else (best, since + 1)
        step.end(validation_loss=best.loss, n_leaves=size, n_passes=best.n_passes)
        return best

    def _loss(self, trained: list[Refinement], outputs: list[np.ndarray]) -> tuple[float, float]:
        """Mean held-out loss, and its standard error; rows that are held out several times count once in it."""
        mass = total = squares = 0.0
        for refinement, found, (_, rows) in zip(trained, outputs, self._rows, strict=True):
            losses, weights = refinement.losses(rows, found), rows.weights
            mass, total = mass + float(weights.sum()), total + float(weights @ losses)
            squares += float(weights @ losses**2)
        mean = total / mass
        distinct = float(self._data.weights[np.unique(np.concatenate([test for _, test in self._parts]))].sum())
        error = np.sqrt(max(squares / mass - mean**2, 0.0) / distinct)
        return mean, float(error)
