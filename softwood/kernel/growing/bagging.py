"""Growing the trees of a forest: the rows of each tree, growing in parallel, and out-of-bag predictions.

All random choices depend only on the seed and the number of the tree, so the forest does not depend on the number of
workers. A row with a whole-number weight is drawn as often as that many equal rows: rows are sorted by their content,
and each has as many places in this order as its weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from softwood.core.steps import Step, Steps
from softwood.core.targets import ClassTargets, RealTargets
from softwood.core.threads import Stopped, Threads, new_stop
from softwood.kernel.data.row_keys import row_numbers
from softwood.kernel.growing.finishing import finish_forest
from softwood.kernel.growing.growing import grow_nodes
from softwood.kernel.growing.loops.groups import NodeTable
from softwood.kernel.growing.problem import GrowthProblem, Limits
from softwood.kernel.growing.workspace import Workspace
from softwood.trees.forest import SoftForest
from softwood.trees.pruning import prune_cost_complexity

# Without bootstrap, trees that are grown to compare bandwidths get this fraction of the rows.
_HELD_IN = 0.632
# Of rows with more equals than this, on average, less than a twentieth is out of the bag of a tree.
_MOST_REPEATED = 3.0
# Size in bytes of the blocks of memory that the nodes of several trees share until the forest is put together.
_BLOCK = 1 << 22


@dataclass(frozen=True)
class Draws:
    """How the rows of each tree are drawn.

    Attributes
    ----------
    weights : (n,) weight of each row, 0 for rows that are not used
    group : (n,) rows with the same content have the same number
    order : rows that may be drawn, equal ones side by side
    n_draws : number of rows drawn for a tree, with replacement; None: every row is taken once
    held_in : whether each tree gets some of the rows without replacement, to choose a bandwidth by held-out loss
    factors : (n,) class weights; None: 1
    labels : (n,) classes, if class weights are balanced within each draw
    """

    weights: np.ndarray
    group: np.ndarray
    order: np.ndarray
    n_draws: int | None
    held_in: bool = False
    factors: np.ndarray | None = None
    labels: np.ndarray | None = None

    @property
    def has_rest(self) -> bool:
        """Whether a tree leaves enough rows out; of rows with many equals, nearly all have one that is drawn."""
        n_contents = int(self.group.max()) + 1
        return self.held_in or (self.n_draws is not None and self.n_draws < _MOST_REPEATED * n_contents)

    def masses(self, seed: int) -> np.ndarray:
        """Mass of each row in the tree with this seed, (n,), before class weights."""
        rng = np.random.default_rng(seed)
        if self.held_in:
            chosen = rng.random(int(self.group.max()) + 1) < _HELD_IN
            chosen[rng.integers(len(chosen))] = True  # at least one
            return np.where(chosen[self.group], self.weights, 0.0)
        if self.n_draws is None:
            return self.weights
        n, total, is_whole = self._places
        if is_whole:
            drawn = rng.integers(0, int(total), size=self.n_draws)
            if total != n:
                drawn = np.searchsorted(self._ends, drawn, side="right")
        else:
            drawn = np.searchsorted(self._ends, total * rng.random(self.n_draws), side="right")
            drawn = np.minimum(drawn, n - 1)
        masses = np.zeros(len(self.weights))
        masses[self.order] = np.bincount(drawn, minlength=n)
        return masses if is_whole else masses * (total / self.n_draws)

    @cached_property
    def _places(self) -> tuple[int, float, bool]:
        """Number of rows in the order, their weight, and whether all weights are whole numbers that can be counted."""
        weights = self.weights[self.order]
        total = float(weights.sum())
        return len(weights), total, bool(np.all(weights == np.floor(weights))) and total < 2**53

    @cached_property
    def _ends(self) -> np.ndarray:
        """Where the places of each row in the order end."""
        return np.cumsum(self.weights[self.order])

    def tree_weights(self, masses: np.ndarray) -> np.ndarray:
        """Masses times the weights of the classes, (n,)."""
        if self.factors is not None:
            return masses * self.factors
        if self.labels is not None:
            counts = np.bincount(self.labels, weights=masses)
            factors = counts.sum() / (np.count_nonzero(counts) * np.where(counts > 0, counts, 1.0))
            return masses * factors[self.labels]
        return masses

    def rest(self, masses: np.ndarray) -> np.ndarray:
        """Rows that were not drawn and have no equal row that was drawn."""
        drawn = np.zeros(int(self.group.max()) + 1, dtype=bool)
        drawn[self.group[masses > 0]] = True
        return np.flatnonzero(~drawn[self.group] & (self.weights > 0))

    def within(self, rows: np.ndarray) -> Draws:
        """The same draws restricted to some of the rows."""
        weights = np.zeros_like(self.weights)
        weights[rows] = self.weights[rows]
        order = self.order[weights[self.order] > 0]
        n_draws = self.n_draws
        if n_draws is not None:
            n_draws = max(1, round(n_draws * float(weights.sum() / self.weights.sum())))
        return replace(self, weights=weights, order=order, n_draws=n_draws)


def draws_of(matrix: np.ndarray, targets: ClassTargets | RealTargets, weights: np.ndarray, seed: int) -> Draws:
    """Draws that take every row once; the order of the rows depends only on their content and the seed."""
    numbers = row_numbers(matrix, seed)
    order = np.argsort(numbers, kind="stable")
    is_new = np.diff(numbers[order], prepend=-1.0) > 0
    if not is_new.all():  # sort equal rows by their targets, so that rows with equal targets are side by side
        labels = targets.labels if isinstance(targets, ClassTargets) else None
        order = np.lexsort((labels, numbers) if labels is not None else (*targets.matrix().T, numbers))
    group = np.empty(len(order), dtype=np.int64)
    group[order] = np.cumsum(is_new) - 1
    return Draws(weights, group, order, None)


def tree_seed(seed: int, number: int) -> int:
    """Seed of one tree of an ensemble."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0])


def grow_trees(
    problem: GrowthProblem,
    limits: Limits,
    draws: Draws,
    seed: int,
    numbers: range,
    *,
    n_jobs: int | None = None,
    grown: list[NodeTable] | None = None,
    steps: Steps | None = None,
    snapshot: Callable[[list[NodeTable]], dict[str, Any]] | None = None,
) -> list[NodeTable]:
    """Grow the trees with these numbers; returns their nodes in the order of the numbers.

    Workers that share memory take the next tree whenever they finish one. Other workers get the data once, together
    with the numbers of all their trees.

    Parameters
    ----------
    grown : list to append the trees to, so that they are kept after an interrupt
    steps : where each tree is reported
    snapshot : returns the attributes of an estimator fitted with the given trees, in any order
    """
    grown = [] if grown is None else grown
    n_workers = max(1, min(effective_n_jobs(n_jobs), len(numbers)))
    _ = problem.target_arrays  # made once, before there are workers
    backend, _ = get_active_backend(prefer="threads")
    done: dict[int, NodeTable] = {}
    stop = new_stop()
    steps = Steps() if steps is None else steps

    def end(step: Step, number: int, table: NodeTable) -> None:
        done[number] = table
        step.end(
            None if snapshot is None else lambda: snapshot(list(done.values())),
            n_leaves=int(np.count_nonzero(table.lines["feature"] < 0)),
        )

    def grow(item: int, worker: int) -> None:
        if steps.is_stopped:
            return
        step = steps.begin()
        try:
            end(step, numbers[item], _grow_one(problem, limits, draws, seed, numbers[item], spaces[worker]))
        except Stopped:
            pass
        except BaseException:
            stop[0] = 1  # trees that are growing in other threads end as well
            raise

    try:
        if getattr(backend, "supports_sharedmem", False):
            spaces = [Workspace(stop, _BLOCK) for _ in range(n_workers)]
            with Threads(n_workers) as threads:
                try:
                    threads.run(grow, len(numbers))
                except BaseException:
                    stop[0] = 1  # an interrupt while this thread waits for the last trees of the others
                    raise
        else:  # the user's backend
            parts = [numbers[k::n_workers] for k in range(n_workers)]
            found = Parallel(n_jobs=n_jobs)(delayed(_grow_some)(problem, limits, draws, seed, part) for part in parts)
            for part, tables in zip(parts, found, strict=True):
                for number, table in zip(part, tables, strict=True):
                    end(steps.begin(), number, table)
    finally:
        for number in numbers:
            if number not in done:
                break
            grown.append(done[number])
    return grown


def size_of_errors(errors: np.ndarray, counts: np.ndarray, variances: np.ndarray, n_trees: int) -> float:
    """Size of the errors of the mean of `n_trees`, as a part of those of the means of fewer trees.

    Parameters
    ----------
    errors : (n,) squared errors of the means of few trees
    counts, variances : see `out_of_bag`
    """
    total, less = errors.sum(), without_variance(errors, counts, variances, n_trees).sum()
    return float(np.sqrt(less / total)) if 0.0 < less < total else 1.0


def without_variance(errors: np.ndarray, counts: np.ndarray, variances: np.ndarray, n_trees: int) -> np.ndarray:
    """Squared errors of means of few trees, without the variance that a mean of `n_trees` does not have."""
    return errors - variances * (1.0 / counts - 1.0 / n_trees)


def _grow_some(problem: GrowthProblem, limits: Limits, draws: Draws, seed: int, numbers: range) -> list[NodeTable]:
    """Grow some of the trees, in a separate process."""
    space = Workspace()
    return [_grow_one(problem, limits, draws, seed, number, space) for number in numbers]


def _grow_one(
    problem: GrowthProblem, limits: Limits, draws: Draws, seed: int, number: int, space: Workspace
) -> NodeTable:
    own = tree_seed(seed, number)
    masses = draws.masses(own)
    rows, weights = np.flatnonzero(masses), draws.tree_weights(masses)
    return grow_nodes(problem, limits, seed=own, rows=rows, weights=weights, n_jobs=1, space=space)


def assemble(
    problem: GrowthProblem,
    tables: list[NodeTable],
    ccp_alpha: float,
    *,
    consume: bool = False,
    n_jobs: int | None = None,
) -> SoftForest:
    """The forest of these trees, pruned if asked for; `consume` and `n_jobs` as in `finish_forest`."""
    forest = finish_forest(problem, tables, consume=consume, n_jobs=n_jobs)
    return SoftForest.mean([prune_cost_complexity(tree, ccp_alpha) for tree in forest]) if ccp_alpha > 0 else forest


def out_of_bag(
    forest: SoftForest,
    draws: Draws,
    seed: int,
    matrix: np.ndarray,
    cells: np.ndarray | None,
    n_jobs: int | None = None,
    scaled: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean prediction of each row by the trees that have not seen it.

    Parameters
    ----------
    forest : the trees with the numbers 0, 1, ...
    cells : (n, p) half-widths of single cells, or None
    scaled : function applied to the predictions of a tree; None: none

    Returns
    -------
    means : (n, n_outputs) mean predictions, nan for rows that all trees have seen
    counts : (n,) number of trees for each row
    variances : (n,) variance of the trees' predictions for each row, summed over outputs; nan with fewer than two trees
    """
    n = len(matrix)
    squares = np.zeros(n)
    sums, counts = np.zeros((n, forest.n_outputs)), np.zeros(n, dtype=np.int64)
    bounds = np.linspace(0, n, min(effective_n_jobs(n_jobs), max(1, n // 500)) + 1).astype(np.int64)

    def add(part: int, _: int) -> None:
        begin, end = bounds[part : part + 2]
        for number in range(len(forest)):
            rows = draws.rest(draws.masses(tree_seed(seed, number)))
            rows = rows[np.searchsorted(rows, begin) : np.searchsorted(rows, end)]
            if len(rows):
                widths = None if cells is None else cells[rows]
                found = forest.sum_of(np.array([number]), matrix[rows], widths=widths, n_jobs=1)
                found = found if scaled is None else scaled(found)
                sums[rows] += found
                squares[rows] += np.einsum("ij,ij->i", found, found)
                counts[rows] += 1

    with Threads(len(bounds) - 1) as threads:
        threads.run(add, len(bounds) - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = sums / counts[:, None]
        variances = (squares - counts * np.einsum("ij,ij->i", means, means)) / (counts - 1)
    return means, counts, np.where(counts > 1, np.maximum(variances, 0.0), np.nan)
