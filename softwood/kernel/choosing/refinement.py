"""Choosing how long to refine a tree, of how many leaves, and whether beside a trend, by held-out loss.

The trees of all sizes are those that best-first growth passes through, so each part of the rows grows one tree. A
refined tree needs fewer leaves than a grown one: sizes are halved from the best one of grown trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

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

# Passes between two losses, the largest number of passes, and how many losses in a row may be no better.
EVERY, MOST_PASSES, PATIENCE = 4, 40, 2
# The largest number of passes where only the loss of two kinds of trees is compared. Before, trees are given up whose
# loss is larger by so many standard errors.
FEW_PASSES, FAR_BEHIND = 12, 2.0
# Stronger shrinkages, tried one after the other as long as the loss falls by this part of a standard error.
STRENGTHS, BETTER_BY = (10.0, 100.0), 0.1
# Sizes are halved so many times.
HALVINGS = 3
# Trees with and without a trend are compared with this bandwidth, in standard deviations, if none is given: refining
# changes it. If no number of leaves is given, they have these numbers.
SCALE, SIZES = 0.3, (8, 64)
# Trees that are wide to begin with are tried, too: bandwidths are chosen for grown trees, and refining makes better use
# of rows that many leaves share.
WIDE = 0.65
# A trend is kept if the loss beside it is at most so many standard errors larger: in the folds, it is fitted to fewer
# rows than trees are.
KEPT_WITHIN = 0.25


@dataclass(frozen=True)
class Refined:
    """Trees of one size and strength of the shrinkage: the best number of passes, the mean loss, its standard error.

    `is_wider` says whether they began with the larger ones of two half-widths.

    Attributes
    ----------
    outputs : of each part, those of its distinct held-out rows, see `Refinement.outputs`
    """

    loss: float
    error: float
    size: int
    n_passes: int
    strength: float
    is_wider: bool = False
    outputs: list[np.ndarray] = field(default_factory=list, repr=False)


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
        self.parts = parts
        cells = None if kernels.is_crisp else kernels.cells(data.errors, data.matrix)
        self._rows = [[self._distinct(rows, cells) for rows in part] for part in parts]
        held_out = np.unique(np.concatenate([test for _, test in parts] or [np.empty(0, dtype=np.int64)]))
        self._mass = float(data.weights[held_out].sum())

    def choose(self, most: int, within: float, *, halve: bool, wider: RefinementChoice | None = None) -> Refined:
        """Number of leaves, at most `most`, number of passes, and strength of the shrinkage.

        The tree is the smallest one whose loss is at most `within` standard errors above the least one.

        Parameters
        ----------
        halve : whether smaller trees are tried
        wider : trees of larger half-widths, which are chosen if they are better once they are refined
        """
        if not self.parts:
            return Refined(loss=0.0, error=0.0, size=most, n_passes=0, strength=1.0)
        growths = self._grow(most)
        found: list[_Race] = []
        for size in sorted({max(2, -(-most // 2**k)) for k in range(HALVINGS + 1 if halve else 1)}):
            found.append(self._race(growths, size))
            self._run(found[-1], MOST_PASSES if halve or wider is None else FEW_PASSES)
            if self._steps.is_stopped:
                break
        best = min((each.best for each in found), key=lambda each: each.loss)
        race = next(each for each in found if each.best.loss <= best.loss + within * best.error)
        is_wider = False
        if wider is not None and not self._steps.is_stopped:
            other = wider.races([race.best.size])[0]
            self._run(other, FEW_PASSES)
            is_wider = other.best.loss < race.best.loss - BETTER_BY * race.best.error
            race = other if is_wider else race
            self._run(race)
        chosen = race.best
        for strength in STRENGTHS:
            if chosen.n_passes == MOST_PASSES:  # more passes are better, so less shrinkage is
                break
            other = race.restarted(strength)
            self._run(other, chosen.n_passes)
            if other.best.loss >= chosen.loss - BETTER_BY * chosen.error:
                break
            self._run(other)
            chosen = other.best
        return replace(chosen, is_wider=is_wider)

    @property
    def has_rows(self) -> bool:
        """Whether there are rows to hold out."""
        return bool(self.parts)

    def races(self, sizes: Sequence[int]) -> list[_Race]:
        """Trees of these sizes, before they are refined."""
        growths = self._grow(max(sizes))
        return [self._race(growths, size) for size in sizes]

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
        for train, _ in self.parts:
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

    def _race(self, growths: list[GrowthByGain], size: int) -> _Race:
        trained = [
            Refinement(self._tree(growth, size), rows, self._problem, self._data.deviations, self._is_free)
            for growth, (rows, _) in zip(growths, self._rows, strict=True)
        ]
        return _Race(trained, [rows for _, rows in self._rows], self._mass, size)

    def _run(self, race: _Race, most: int = MOST_PASSES) -> None:
        """Refine trees for as long as their held-out loss falls, at most so many passes."""
        step = self._steps.begin()
        while race.goes_on(most):
            race.advance()
        best = race.best
        step.end(validation_loss=best.loss, n_leaves=best.size, n_passes=best.n_passes)


class _Race:
    """Trees of one size, one for each part of the rows, that are refined a few passes at a time.

    Parameters
    ----------
    trained : the trees;  held_out : the rows that each is judged on
    mass : of all held-out rows; those that are held out several times count once

    Attributes
    ----------
    best : the trees with the least loss so far
    """

    def __init__(
        self, trained: list[Refinement], held_out: list[DistinctRows], mass: float, size: int, strength: float = 1.0
    ) -> None:
        self._trained, self._held_out, self._mass, self._size, self._strength = trained, held_out, mass, size, strength
        self._since = 0
        self.best = self._judged()

    def restarted(self, strength: float) -> _Race:
        """The same trees from the beginning, with another strength of the shrinkage."""
        trained = [refinement.restarted(strength) for refinement in self._trained]
        return _Race(trained, self._held_out, self._mass, self._size, strength)

    def goes_on(self, most: int) -> bool:
        """Whether fewer passes than `most` have been made, and the loss still falls."""
        return self._since < PATIENCE and self._trained[0].n_passes < most

    def advance(self) -> None:
        """Make a few passes."""
        for refinement in self._trained:
            for _ in range(EVERY):
                refinement.step()
        found = self._judged()
        self.best, self._since = (found, 0) if found.loss < self.best.loss else (self.best, self._since + 1)

    def _judged(self) -> Refined:
        """Mean held-out loss, and its standard error."""
        mass = total = squares = 0.0
        outputs = [each.outputs(rows) for each, rows in zip(self._trained, self._held_out, strict=True)]
        for refinement, found, rows in zip(self._trained, outputs, self._held_out, strict=True):
            losses, weights = refinement.losses(rows, found), rows.weights
            mass, total = mass + float(weights.sum()), total + float(weights @ losses)
            squares += float(weights @ losses**2)
        mean = total / mass
        error = float(np.sqrt(max(squares / mass - mean**2, 0.0) / self._mass))
        return Refined(mean, error, self._size, self._trained[0].n_passes, self._strength, outputs=outputs)


def is_trend_better(without: RefinementChoice, beside: RefinementChoice, size: int | None, *, refines: bool) -> bool:
    """Whether trees beside the trend predict held-out rows better than trees without it.

    Parameters
    ----------
    size : the number of leaves; None: the better one of a few
    refines : whether the trees are compared after some passes
    """
    if not without.has_rows:
        return False
    sizes = SIZES if size is None else (size,)
    races = [(race, each is beside) for each in (without, beside) for race in each.races(sizes)]
    while True:
        best = min((race.best for race, _ in races), key=lambda each: each.loss)
        races = [each for each in races if each[0].best.loss <= best.loss + FAR_BEHIND * best.error]
        going_on = [race for race, _ in races if refines and race.goes_on(FEW_PASSES)]
        if not going_on or len({is_beside for _, is_beside in races}) == 1:
            break
        for race in going_on:
            race.advance()
    return any(is_beside and race.best.loss <= best.loss + KEPT_WITHIN * best.error for race, is_beside in races)
