"""Growing the trees of a forest: what each tree is grown from, the trees in parallel, and the rows out of the bag.

Everything that is random depends on the seed and the tree's number alone, so the number of workers does not matter. A
weight means repetition here, too: rows are put in an order that depends on their content, and a whole weight is that
many places in this order to draw from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend

from softwood.density.bandwidths import row_numbers
from softwood.density.growing import GrowthProblem, Limits, grow_tree
from softwood.density.preparation import TrainingData
from softwood.pruning import prune_cost_complexity
from softwood.targets import ClassTargets
from softwood.tree import SoftTree

__all__ = ["Draws", "draws_of", "grow_forest", "out_of_bag", "tree_seed"]

# Part of the rows for each tree where trees that will have all rows are compared on rows they have not seen.
_HELD_IN = 0.632
# A table of all places to draw from may be so many times longer than the rows.
_TABLE = 8


@dataclass(frozen=True)
class Draws:
    """How the rows of each tree are drawn.

    Attributes
    ----------
    weights : (n,) weight of each row, 0 for rows that are no part of this
    group : (n,) rows with the same content have the same number
    order : rows that may be drawn, equal ones side by side
    n_draws : number of rows drawn for a tree, with replacement; None: every row is taken once
    held_in : each tree gets a part of the rows without replacement, for choices by held-out loss
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
        """Whether a tree leaves rows out."""
        return self.n_draws is not None or self.held_in

    def masses(self, seed: int) -> np.ndarray:
        """Mass of each row in the tree with this seed, (n,), before class weights."""
        rng = np.random.default_rng(seed)
        if self.held_in:
            chosen = rng.random(int(self.group.max()) + 1) < _HELD_IN
            return np.where(chosen[self.group], self.weights, 0.0)
        if self.n_draws is None:
            return self.weights
        weights = self.weights[self.order]
        total = weights.sum()
        if np.all(weights == np.floor(weights)):
            places = rng.integers(0, int(total), size=self.n_draws)
            if total == len(weights):
                drawn = places
            elif total <= _TABLE * len(weights):
                drawn = np.repeat(np.arange(len(weights)), weights.astype(np.int64))[places]
            else:
                drawn = np.searchsorted(np.cumsum(weights), places, side="right")
            unit = 1.0
        else:
            drawn = np.searchsorted(np.cumsum(weights), total * rng.random(self.n_draws), side="right")
            drawn = np.minimum(drawn, len(weights) - 1)
            unit = total / self.n_draws
        masses = np.zeros(len(self.weights))
        masses[self.order] = unit * np.bincount(drawn, minlength=len(weights))
        return masses

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
        """Rows that were not drawn, nor any row of the same content."""
        drawn = np.zeros(int(self.group.max()) + 1, dtype=bool)
        drawn[self.group[masses > 0]] = True
        return np.flatnonzero(~drawn[self.group] & (self.weights > 0))

    def within(self, rows: np.ndarray) -> Draws:
        """The same with some of the rows only."""
        weights = np.zeros_like(self.weights)
        weights[rows] = self.weights[rows]
        order = self.order[weights[self.order] > 0]
        n_draws = self.n_draws
        if n_draws is not None:
            n_draws = max(1, round(n_draws * float(weights.sum() / self.weights.sum())))
        return replace(self, weights=weights, order=order, n_draws=n_draws)


def draws_of(data: TrainingData, weights: np.ndarray, seed: int) -> Draws:
    """Every row once; the order of the rows, which the draws go by, depends on their content and the seed alone."""
    targets = data.targets
    y = (
        targets.labels[:, None]
        if isinstance(targets, ClassTargets) and targets.labels is not None
        else targets.matrix()
    )
    numbers = row_numbers(np.column_stack([data.matrix, y.astype(np.float64)]), seed)
    _, group = np.unique(row_numbers(data.matrix, seed), return_inverse=True)
    return Draws(weights, group, np.argsort(numbers, kind="stable"), None)


def tree_seed(seed: int, number: int) -> int:
    """Seed of one tree of an ensemble."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0])


def grow_forest(
    problem: GrowthProblem,
    limits: Limits,
    draws: Draws,
    seed: int,
    numbers: Sequence[int],
    *,
    ccp_alpha: float = 0.0,
    n_jobs: int | None = None,
    trees: list[SoftTree] | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[SoftTree]:
    """Trees with these numbers, in their order.

    Parameters
    ----------
    trees : list to append to, so that an interrupt leaves the trees so far
    progress : called with the number of trees in the list, now and then
    """
    trees = [] if trees is None else trees
    backend, _ = get_active_backend(prefer="threads")
    if getattr(backend, "supports_sharedmem", False):
        tasks = [[number] for number in numbers]
    else:  # the data go to each worker once, with all of its trees
        parts = np.array_split(np.asarray(numbers), max(1, min(effective_n_jobs(n_jobs), len(numbers))))
        tasks = [part.tolist() for part in parts]
    is_generator = getattr(backend, "supports_return_generator", False)
    work = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator" if is_generator else "list")
    _ = problem.target_arrays  # made once, before there are workers
    for grown in work(delayed(_grow_some)(problem, limits, draws, seed, task, ccp_alpha) for task in tasks):
        trees.extend(grown)
        if progress is not None:
            progress(len(trees))
    return trees


def _grow_some(
    problem: GrowthProblem, limits: Limits, draws: Draws, seed: int, numbers: list[int], ccp_alpha: float
) -> list[SoftTree]:
    trees = []
    for number in numbers:
        own = tree_seed(seed, number)
        masses = draws.masses(own)
        tree = grow_tree(
            problem, limits, seed=own, rows=np.flatnonzero(masses), weights=draws.tree_weights(masses), n_jobs=1
        )
        trees.append(prune_cost_complexity(tree, ccp_alpha) if ccp_alpha > 0 else tree)
    return trees


def out_of_bag(
    trees: Sequence[SoftTree],
    draws: Draws,
    seed: int,
    matrix: np.ndarray,
    cells: np.ndarray | None,
    n_jobs: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Mean prediction of each row by the trees that have not seen it.

    Parameters
    ----------
    trees : those with the numbers 0, 1, ...
    cells : (n, p) half-widths of single cells, or None

    Returns
    -------
    sums : (n, n_outputs) mean predictions, nan for rows that all trees have seen
    counts : (n,) number of trees for each row
    """
    n = len(matrix)
    sums, counts = np.zeros((n, trees[0].n_outputs)), np.zeros(n, dtype=np.int64)
    bounds = np.linspace(0, n, min(effective_n_jobs(n_jobs), max(1, n // 500)) + 1).astype(np.int64)

    def add(begin: int, end: int) -> None:
        for number, tree in enumerate(trees):
            rows = draws.rest(draws.masses(tree_seed(seed, number)))
            rows = rows[np.searchsorted(rows, begin) : np.searchsorted(rows, end)]
            if len(rows):
                sums[rows] += tree.predict(matrix[rows], widths=None if cells is None else cells[rows])
                counts[rows] += 1

    parts = zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    Parallel(n_jobs=len(bounds) - 1, prefer="threads", require="sharedmem")(delayed(add)(*part) for part in parts)
    with np.errstate(invalid="ignore"):
        return sums / counts[:, None], counts
