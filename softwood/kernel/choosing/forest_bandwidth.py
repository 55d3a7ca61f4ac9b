"""Choosing the bandwidth of a forest: one scale for all columns, by the squared error on rows that trees have not seen.

``"oob"``: grow all trees of the forest for every scale of a grid, and compare the out-of-bag errors. Without bootstrap,
each tree is grown on some of the rows for this comparison. ``"auto"``, the default: the same with fewer trees.
``"cv"``: cross-validation. Columns are binned once. If the trees grown at the chosen scale belong to the final forest,
they are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from softwood.core.steps import Step, Steps
from softwood.kernel.choosing.bandwidth import best_of, grid_and_beyond
from softwood.kernel.data.preparation import TrainingData
from softwood.kernel.growing.bagging import Draws, assemble, grow_trees, out_of_bag, size_of_errors, without_variance
from softwood.kernel.growing.loops.groups import NodeTable
from softwood.kernel.growing.problem import Limits

AUTO_GRID = (0.0, 0.032, 0.1, 0.18, 0.32, 0.56, 1.0)
AUTO_TREES = 20


class ChosenScale(NamedTuple):
    """The best scale.

    Attributes
    ----------
    trees : those of the final forest that have been grown at this scale
    held_out : rows, their scaled predictions by trees that have not seen them, nan where there are none, and the
        size of the errors of as many trees as the forest has, as an estimated part of that of their errors
    """

    scale: float
    trees: Sequence[NodeTable] = ()
    held_out: tuple[np.ndarray, np.ndarray, float] | None = None


@dataclass(frozen=True)
class ForestChoice:
    """The data and the forest for which the scales are compared.

    Attributes
    ----------
    draws : rows of the trees of the final forest
    seed, n_trees, ccp_alpha : of the final forest
    crisp : whether the forest will predict without kernels
    """

    data: TrainingData
    limits: Limits
    draws: Draws
    seed: int
    n_trees: int
    ccp_alpha: float
    crisp: bool
    n_jobs: int | None
    steps: Steps

    def by_oob(self) -> ChosenScale:
        """Scale with the smallest out-of-bag loss."""
        return self._by_out_of_bag(grid_and_beyond, self.n_trees)

    def by_auto(self) -> ChosenScale:
        """As `by_oob`, at a bounded cost."""
        n_trees = min(self.n_trees, AUTO_TREES) if self.draws.has_rest else AUTO_TREES
        return self._by_out_of_bag(lambda tried: AUTO_GRID, n_trees)

    def _by_out_of_bag(self, scales: Callable[[dict[float, float]], Iterable[float]], n_trees: int) -> ChosenScale:
        """The best of these scales; `scales` is a function of the losses of those that have been tried."""
        is_final = self.draws.has_rest
        draws = self.draws if is_final else replace(self.draws, held_in=True)
        tried: dict[float, float] = {}
        kept = ChosenScale(0.0)
        for scale in scales(tried):
            trees, means, tried[scale], size = self._out_of_bag(scale, draws, n_trees)
            if best_of(tried) == scale:
                kept = ChosenScale(scale, trees if is_final else [], (np.arange(len(means)), means, size))
            if _gets_worse(tried) or self.steps.is_stopped:
                break
        return kept._replace(scale=best_of(tried))

    def by_cv(self, parts: list[tuple[np.ndarray, np.ndarray]]) -> ChosenScale:
        """Scale with the smallest loss over the held-out rows of all folds."""
        kept = ChosenScale(0.0)
        if not parts:
            return kept
        tried: dict[float, float] = {}
        rows = np.concatenate([test for _, test in parts])
        for scale in grid_and_beyond(tried):
            predictions, tried[scale] = self._cross_validated(scale, parts)
            if best_of(tried) == scale:
                kept = ChosenScale(scale, [], (rows, predictions, 1.0))
            if _gets_worse(tried) or self.steps.is_stopped:
                break
        return kept._replace(scale=best_of(tried))

    def _out_of_bag(self, scale: float, draws: Draws, n_trees: int) -> tuple[list[NodeTable], np.ndarray, float, float]:
        """Nodes of the trees, their scaled predictions of rows out of the bag, the loss, and the size of errors."""
        step = self.steps.begin()
        problem = self.data.problem(scale * self.data.deviations)
        trees = grow_trees(problem, self.limits, draws, self.seed, range(n_trees), n_jobs=self.n_jobs)
        forest = assemble(problem, trees, self.ccp_alpha)
        cells = None if self.crisp else problem.cells
        targets = self.data.targets
        means, counts, variances = out_of_bag(
            forest.crisp() if self.crisp else forest, draws, self.seed, self.data.matrix, cells, self.n_jobs,
            targets.scaled_predictions,
        )  # fmt: skip
        rows = np.flatnonzero(counts > 1)
        # The error of a mean of few trees includes their variance, which is smaller with large bandwidths. Count only
        # the variance that the final number of trees will have, or large bandwidths would look better than they are.
        errors = ((means[rows] - targets.take(rows).matrix()) ** 2).sum(axis=1)
        variance = counts[rows], variances[rows], self.n_trees
        loss = self._loss(step, scale, without_variance(errors, *variance), rows)
        return trees, means, loss, size_of_errors(errors, *variance)

    def _cross_validated(self, scale: float, parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, float]:
        """Scaled predictions of the held-out rows, and their loss."""
        step = self.steps.begin()
        problem = self.data.problem(scale * self.data.deviations)
        errors, predictions = [], []
        for train, test in parts:
            draws = self.draws.within(train)
            trees = grow_trees(problem, self.limits, draws, self.seed, range(self.n_trees), n_jobs=self.n_jobs)
            forest = assemble(problem, trees, self.ccp_alpha)
            forest = forest.crisp() if self.crisp else forest
            cells = None if problem.cells is None or self.crisp else problem.cells[test]
            found = forest.predict(self.data.matrix[test], widths=cells, n_jobs=self.n_jobs)
            targets = self.data.targets.take(test)
            predictions.append(targets.scaled_predictions(found))
            errors.append(((predictions[-1] - targets.matrix()) ** 2).sum(axis=1))
        rows = np.concatenate([test for _, test in parts])
        return np.concatenate(predictions), self._loss(step, scale, np.concatenate(errors), rows)

    def _loss(self, step: Step, scale: float, errors: np.ndarray, rows: np.ndarray) -> float:
        """Mean squared error, of class probabilities or of targets."""
        loss = float(np.average(errors, weights=self.draws.weights[rows])) if len(rows) else np.inf
        step.end(bandwidth=float(scale), validation_loss=loss)
        return loss


def _gets_worse(tried: dict[float, float]) -> bool:
    """Whether the last two scales were clearly worse than the best; then larger, slower ones are not tried."""
    return len(tried) > 2 and min(list(tried.values())[-2:]) > 1.1 * min(tried.values())
