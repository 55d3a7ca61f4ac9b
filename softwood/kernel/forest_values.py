"""Leaf values of a forest of real targets that are fitted together, after growing.

Every tree is grown as if there were no others, so all of them leave the same part of the targets unexplained where the
target is steep. The rows out of the bag show this part. Changes of all leaf values are fitted to it by ridge
regression: the columns are the shares of the rows in the leaves of the trees that have not seen them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse

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
# The largest number of shares in memory, about 12 bytes each. Of larger tables, some of the rows are used.
MOST_SHARES = 20_000_000


def with_values_fitted_together(
    forest: SoftForest,
    rows: DistinctRows,
    out_of_bag: Callable[[int], np.ndarray],
    targets: RealTargets,
    n_jobs: int | None,
    steps: Steps,
) -> SoftForest:
    """The forest with other leaf values.

    Parameters
    ----------
    rows : the training rows, with scaled targets
    out_of_bag : returns the numbers of the rows that a tree has not seen
    targets : tells the unit of the targets
    """
    shares, counts = _shares_of_leaves(forest, rows, out_of_bag, n_jobs)
    used = np.flatnonzero(counts)
    if not len(used):
        return forest
    is_leaf = forest.children_left < 0
    shares = sparse.diags_array(1.0 / counts[used]) @ shares[used]
    rest = rows.learned.truth[used] - shares @ targets.scaled_predictions(forest.value[is_leaf])
    weights = rows.weights[used]
    truth = rows.learned.truth[used] - np.average(rows.learned.truth[used], axis=0, weights=weights)
    left, total = ((weights @ part**2).sum() for part in (rest, truth))
    unexplained = left / total if left < total else 1.0
    penalty = max(LEAST_PENALTY, PENALTY * unexplained) / len(forest)
    most = OUTLYING * np.median(np.abs(rest), axis=0)
    rest = np.clip(rest, -most, most)
    root = np.sqrt(weights)
    change = _ridge(sparse.diags_array(root) @ shares, root[:, None] * rest, penalty, steps)
    value = forest.value.copy()
    value[is_leaf] += targets.scale * change
    return replace(forest, value=value)


def _shares_of_leaves(
    forest: SoftForest, rows: DistinctRows, out_of_bag: Callable[[int], np.ndarray], n_jobs: int | None
) -> tuple[sparse.csr_array, np.ndarray]:
    """Shares of rows in the leaves of the trees that have not seen them, (n, n_leaves), and the number of these trees.

    Rows are in an order that depends on their content alone, like a random one, so the first of them are a sample.
    """

    def of_tree(number: int, n: int) -> sparse.csr_array:
        tree, which = forest[number], out_of_bag(number)
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


def _ridge(A: sparse.csr_array, y: np.ndarray, penalty: float, steps: Steps) -> np.ndarray:
    """Coefficients (n_columns, n_outputs) of a ridge regression, from the dual problem by conjugate gradients."""
    transposed = A.T.tocsr()
    dual, rest = np.zeros_like(y), y.copy()
    direction, size = rest.copy(), np.square(rest).sum(axis=0)
    first = size.max()
    for step in steps:
        image = A @ (transposed @ direction) + penalty * direction
        length = size / np.maximum((direction * image).sum(axis=0), np.finfo(float).tiny)
        dual += length * direction
        rest -= length * image
        size, before = np.square(rest).sum(axis=0), size
        direction = rest + size / np.maximum(before, np.finfo(float).tiny) * direction
        step.end(residual=float(np.sqrt(size.max() / max(first, np.finfo(float).tiny))))
        if size.max() <= SMALL**2 * first:
            break
    return transposed @ dual
