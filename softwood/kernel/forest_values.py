"""Leaf values of a forest of real targets that are fitted together, after growing.

Every tree is grown as if there were no others, so all of them leave the same part of the targets unexplained where the
target is steep. The rows out of the bag show this part. Changes of all leaf values are fitted to it by ridge
regression: the columns are the shares of the rows in the leaves of the trees that have not seen them.

The errors out of the bag are those of the forest before. How large those of new rows are afterwards follows from the
errors that leave a row's own target out. With means in leaves K and a ridge regression S, the rows out of the bag are
predicted by K y + S (y - K y), which is linear in the targets. So leaving a target out divides the error of its row by
the element of (1 - S) (1 - K) on the diagonal, 1 - s_ii + (S K)_ii. The last term is what the target has done to the
errors of other rows, by trees that have seen it; without it, the
forest would look worse than it is. The mean of the diagonal is estimated with random signs (Hutchinson).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from scipy.optimize import brentq

from softwood.core.steps import Steps
from softwood.core.targets import RealTargets
from softwood.core.threads import Threads
from softwood.kernel.refining import DistinctRows
from softwood.trees.forest import SoftForest

# Weight, in rows, of the penalty on a change of a leaf value: at least the first number, and the second one times the
# part of the variance of the targets that the forest does not explain. The more of it is noise, the less is fitted.
LEAST_PENALTY, PENALTY = 1.0, 10.0
# What is not explained of a row counts at most so many times the median: an outlier must not spoil the predictions of
# all rows that share leaves with it.
OUTLYING = 10.0
# Steps of the conjugate gradient method, and the length of the residual, compared with the first, at which it ends.
MOST_STEPS, SMALL = 10, 1e-3
# Rows by which the mean of the diagonal is estimated, and vectors of random signs; and the range of the size of errors,
# which is a rough estimate with few rows.
SIGNED_ROWS, N_SIGNS, SIZES = 500, 8, (0.5, 1.5)
# The largest number of shares in memory, about 12 bytes each. Of larger tables, some of the rows are used.
MOST_SHARES = 20_000_000


class TreeDraw(NamedTuple):
    """What a tree has drawn.

    Attributes
    ----------
    masses : (n,) masses of the distinct rows
    rest : numbers of the distinct rows that the tree has not seen
    """

    masses: np.ndarray
    rest: np.ndarray


def with_values_fitted_together(
    forest: SoftForest,
    rows: DistinctRows,
    drawn: Callable[[int], TreeDraw],
    targets: RealTargets,
    n_jobs: int | None,
    steps: Steps,
) -> SoftForest:
    """The forest with other leaf values.

    Parameters
    ----------
    rows : the training rows, with scaled targets
    drawn : returns what the tree with a number has drawn
    targets : tells the unit of the targets
    """
    used, rest, regression = _regression(forest, rows, drawn, targets, n_jobs)
    value = forest.value.copy()
    if len(used):
        value[forest.children_left < 0] += targets.scale * regression.coefficients(rest, steps)
    return replace(forest, value=value)


def size_of_errors(
    forest: SoftForest, rows: DistinctRows, drawn: Callable[[int], TreeDraw], targets: RealTargets, n_jobs: int | None
) -> float:
    """Size of the errors on new rows after fitting the values of this forest together, as a part of that before."""
    used, rest, regression = _regression(forest, rows, drawn, targets, n_jobs)
    few = np.flatnonzero(used < SIGNED_ROWS)
    if not len(few):
        return 1.0
    signs = np.zeros((len(rows.points), N_SIGNS))
    signs[used[few]] = np.random.default_rng(0).choice([-1.0, 1.0], (len(few), N_SIGNS))
    before = signs[used] - regression.shares @ _means_in_leaves(forest, rows, drawn, signs[:SIGNED_ROWS], n_jobs)
    diagonal = regression.diagonal(before, signs[used], few)[:, None]
    after = (rest - regression.shares @ regression.coefficients(rest, Steps(n_steps=MOST_STEPS))) / diagonal
    # Rows that count as one differ from one another as before.
    within = regression.weights @ (rows.squares[used] - (rows.learned.truth[used] ** 2).sum(axis=1))
    sizes = [(regression.weights @ errors**2).sum() + within for errors in (rest, after)]
    return float(np.clip(np.sqrt(sizes[1] / sizes[0]), *SIZES)) if sizes[0] > 0.0 else 1.0


def _regression(
    forest: SoftForest, rows: DistinctRows, drawn: Callable[[int], TreeDraw], targets: RealTargets, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray, _Ridge]:
    """Numbers of the rows out of the bag, what is left of their targets, and the regression for it."""
    shares, counts = _shares_of_leaves(forest, rows, drawn, n_jobs)
    used = np.flatnonzero(counts)
    shares, weights = sparse.diags_array(1.0 / counts[used]) @ shares[used], rows.weights[used]
    rest = rows.learned.truth[used] - shares @ targets.scaled_predictions(forest.value[forest.children_left < 0])
    if not len(used):
        return used, rest, _Ridge(shares, weights, 1.0)
    truth = rows.learned.truth[used] - np.average(rows.learned.truth[used], axis=0, weights=weights)
    left, total = ((weights @ part**2).sum() for part in (rest, truth))
    unexplained = left / total if left < total else 1.0
    most = OUTLYING * np.median(np.abs(rest), axis=0)
    penalty = max(LEAST_PENALTY, PENALTY * unexplained) / len(forest)
    return used, np.clip(rest, -most, most), _Ridge(shares, weights, penalty)


@dataclass(frozen=True)
class _Ridge:
    """Ridge regression.

    Attributes
    ----------
    shares : (n, n_columns);  weights : (n,) of the rows
    penalty : on the squares of the coefficients
    """

    shares: sparse.csr_array
    weights: np.ndarray
    penalty: float

    @cached_property
    def _weighted(self) -> sparse.csr_array:
        return sparse.diags_array(np.sqrt(self.weights)) @ self.shares

    def coefficients(self, y: np.ndarray, steps: Steps) -> np.ndarray:
        """Coefficients (n_columns, n_outputs), from the dual problem by conjugate gradients."""
        A, rest = self._weighted, np.sqrt(self.weights)[:, None] * y
        transposed = A.T.tocsr()
        dual = np.zeros_like(rest)
        direction, size = rest.copy(), np.square(rest).sum(axis=0)
        first = size.max()
        for step in steps:
            image = A @ (transposed @ direction) + self.penalty * direction
            length = size / np.maximum((direction * image).sum(axis=0), np.finfo(float).tiny)
            dual += length * direction
            rest -= length * image
            size, before = np.square(rest).sum(axis=0), size
            direction = rest + size / np.maximum(before, np.finfo(float).tiny) * direction
            step.end(residual=float(np.sqrt(size.max() / max(first, np.finfo(float).tiny))))
            if size.max() <= SMALL**2 * first:
                break
        return transposed @ dual

    def diagonal(self, before: np.ndarray, signs: np.ndarray, few: np.ndarray) -> np.ndarray:
        """Elements of (1 - S) (1 - K) on the diagonal, (n,).

        They are taken as 1 / (1 + c * size) with the size a_ii of A A' / penalty, where A has the shares of the
        weighted rows: for S alone and without the shares of other rows, c would be 1. The mean decides on c.

        Parameters
        ----------
        before : (n, n_signs) product of 1 - K and the signs
        signs : (n, n_signs) random signs of a few rows, 0 for others
        few : numbers of these rows
        """
        after = before - self.shares @ self.coefficients(before, Steps(n_steps=MOST_STEPS))
        sizes = self._weighted.power(2).sum(axis=1) / self.penalty

        def found(c: float) -> np.ndarray:
            return 1.0 / (1.0 + c * sizes)

        def above(c: float) -> float:
            own = found(c)[few, None] - signs[few] * after[few]
            return float(np.average(own.mean(axis=1), weights=self.weights[few]))

        if above(0.0) <= 0.0:
            return np.ones(len(sizes))
        return found(1.0 if above(1.0) >= 0.0 else brentq(above, 0.0, 1.0))


def _shares_of_leaves(
    forest: SoftForest, rows: DistinctRows, drawn: Callable[[int], TreeDraw], n_jobs: int | None
) -> tuple[sparse.csr_array, np.ndarray]:
    """Shares of rows in the leaves of the trees that have not seen them, (n, n_leaves), and the number of these trees.

    Rows are in an order that depends on their content alone, like a random one, so the first of them are a sample.
    """

    def of_tree(number: int, n: int) -> sparse.csr_array:
        tree, which = forest[number], drawn(number).rest
        which = which[: np.searchsorted(which, n)]
        cells = rows.cells[which] if len(rows.cells) else None
        found = tree.memberships(rows.points[which], widths=cells)[:, tree.children_left < 0]
        begins = np.zeros(n + 1, dtype=np.int32)
        begins[1 + which] = np.diff(found.indptr)
        return sparse.csr_array((found.data, found.indices, np.cumsum(begins)), shape=(n, found.shape[1]))

    n = len(rows.points)
    few = min(n, 1000)
    n = min(n, int(MOST_SHARES * few / max(1, of_tree(0, few).nnz * len(forest))))
    with Threads(effective_n_jobs(n_jobs)) as threads:
        parts = list(threads.map(lambda number: of_tree(number, n), len(forest)))
    counts = np.sum([np.diff(part.indptr) > 0 for part in parts], axis=0)
    return sparse.hstack(parts, format="csr"), counts


def _means_in_leaves(
    forest: SoftForest, rows: DistinctRows, drawn: Callable[[int], TreeDraw], y: np.ndarray, n_jobs: int | None
) -> np.ndarray:
    """Values of all leaves (n_leaves, n_outputs), if the first rows had the targets y, and all others 0.

    With the shares that the trees predict with, which are those of growing if the kernels are.
    """

    def of_tree(number: int) -> np.ndarray:
        tree, masses = forest[number], drawn(number).masses[: len(y)]
        which, is_leaf = np.flatnonzero(masses), tree.children_left < 0
        shares = tree.memberships(rows.points[which], widths=rows.cells[which] if len(rows.cells) else None)
        return (shares.T @ (masses[which, None] * y[which]))[is_leaf] / tree.mass[is_leaf, None]

    with Threads(effective_n_jobs(n_jobs)) as threads:
        return np.concatenate(list(threads.map(of_tree, len(forest))))
