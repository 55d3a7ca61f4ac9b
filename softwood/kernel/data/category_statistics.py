"""Columns of many categories as numbers while trees grow: the mean target of each category.

Splits of these numbers cost no more than those of other numbers, however many categories there are. The number of a
training row comes from rows of other folds, so it does not know the row's own target. A category with little mass has
a number near the mean of all rows. In the finished trees, each split of such a column is a set of categories again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.tree import SoftTree

# Columns with more categories are split by the mean target of each category.
SETS_UP_TO = 255
# Folds of the training rows, and the mass at which the mean of a category counts as much as that of all rows.
N_FOLDS, SMOOTHING = 5, 10.0

Trees = TypeVar("Trees", SoftTree, SoftForest)


def columns_of_many(n_categories: np.ndarray) -> np.ndarray:
    """Numbers of the columns that are split by statistics; n_categories : (p,), 0 for numbers."""
    return np.flatnonzero(n_categories > SETS_UP_TO)


@dataclass(frozen=True)
class CategoryStatistics:
    """The number of each category.

    Attributes
    ----------
    tables : by column, the number of each category
    middle : the mean of all rows, the number of unknown categories
    complete : columns without missing values
    """

    tables: dict[int, np.ndarray]
    middle: float
    complete: frozenset[int]

    @classmethod
    def learn(
        cls,
        matrix: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray,
        group: np.ndarray,
        n_categories: np.ndarray,
        seed: int,
    ) -> tuple[CategoryStatistics, np.ndarray]:
        """Statistics of all rows, and the rows (n, p) with numbers from other folds in place of categories.

        Parameters
        ----------
        matrix : (n, p) encoded rows;  y : (n,) one number for each target;  weights : (n,)
        group : (n,) rows with the same number, those of equal content, are in the same fold
        n_categories : (p,) see `columns_of_many`
        """
        encoded = matrix.copy()
        middle, tables, complete = float(np.average(y, weights=weights)), {}, set()
        number = np.random.default_rng([seed, 3]).permutation(int(group.max()) + 1)[group] % N_FOLDS
        for j in columns_of_many(n_categories).tolist():
            is_known = ~np.isnan(matrix[:, j])
            if is_known.all():
                complete.add(j)
            codes = np.where(is_known, matrix[:, j], 0).astype(np.int64)
            kept = weights * is_known
            place = number * n_categories[j] + codes
            size = N_FOLDS * int(n_categories[j])
            masses, sums = (
                np.bincount(place, values, size).reshape(N_FOLDS, -1) for values in (kept, kept * (y - middle))
            )
            tables[j] = middle + sums.sum(axis=0) / (masses.sum(axis=0) + SMOOTHING)
            others = [values.sum(axis=0) - values for values in (masses, sums)]
            apart = middle + others[1] / (np.maximum(others[0], 0.0) + SMOOTHING)
            encoded[:, j] = np.where(is_known, apart[number, codes], np.nan)
        return cls(tables, middle, frozenset(complete)), encoded

    def encode(self, matrix: np.ndarray) -> np.ndarray:
        """Other rows, (n, p), with the numbers of their categories; missing values stay missing."""
        encoded = matrix.copy()
        for j, table in self.tables.items():
            is_known = ~np.isnan(matrix[:, j])
            encoded[is_known, j] = table[matrix[is_known, j].astype(np.int64)]
        return encoded


@dataclass(frozen=True)
class ManyCategories:
    """Training rows with columns of many categories, and the statistics of all of them.

    Attributes
    ----------
    matrix, y, n_categories, seed : as of `CategoryStatistics.learn`, with the numbers of categories in the matrix
    statistics : those of all rows;  encoded : (n, p) the training rows with statistics from other folds
    """

    matrix: np.ndarray
    y: np.ndarray
    n_categories: np.ndarray
    seed: int
    statistics: CategoryStatistics
    encoded: np.ndarray

    @classmethod
    def of(
        cls,
        matrix: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray,
        group: np.ndarray,
        n_categories: np.ndarray,
        seed: int,
    ) -> ManyCategories | None:
        """The columns of many categories, for targets (n, q); None if there are none."""
        if len(columns_of_many(n_categories)) == 0:
            return None
        y = one_number(targets)
        return cls(
            matrix, y, n_categories, seed, *CategoryStatistics.learn(matrix, y, weights, group, n_categories, seed)
        )

    @property
    def is_many(self) -> np.ndarray:
        """Columns that are split by statistics, (p,)."""
        return self.n_categories > SETS_UP_TO

    def apart(
        self, is_training: np.ndarray, is_held_out: np.ndarray, weights: np.ndarray, group: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Encoded training rows and held-out rows of a part; the statistics are those of its training rows.

        weights, group : of the training rows
        """
        learned, encoded = CategoryStatistics.learn(
            self.matrix[is_training], self.y[is_training], weights, group, self.n_categories, self.seed
        )
        return encoded, learned.encode(self.matrix[is_held_out])


def one_number(targets: np.ndarray) -> np.ndarray:
    """Targets (n, q) as one number each: the only one, or the place along their first principal component."""
    if targets.shape[1] == 1:
        return targets[:, 0]
    if targets.shape[1] == 2 and np.allclose(targets.sum(axis=1), 1.0):  # two classes
        return targets[:, 1]
    centered = targets - targets.mean(axis=0)
    axis = np.linalg.eigh(centered.T @ centered)[1][:, -1]
    return centered @ (axis * np.sign(axis[np.argmax(np.abs(axis))]))


def as_sets(trees: Trees, n_categories: np.ndarray, categories: ManyCategories | None) -> Trees:
    """The same trees with a set of categories for each threshold of a column of many categories.

    Categories go left if their statistic is at most the threshold. Unknown categories go where the mean of all rows
    goes, if the column had no missing values in training.

    Parameters
    ----------
    n_categories : (p,) number of categories of each column, 0 for numbers
    """
    if categories is None:
        return trees
    statistics = categories.statistics
    inner = trees.gate == Gate.KERNEL
    nodes = np.flatnonzero(inner & (n_categories > 0)[np.where(inner, trees.feature, 0)])
    if len(nodes) == 0:
        return trees
    subsets = np.zeros((trees.n_nodes, -(-int(n_categories.max()) // 32)), np.uint32)
    subsets[:, : trees.set_words.shape[1]] = trees.set_words
    missing_left = trees.missing_left.copy()
    for j in np.unique(trees.feature[nodes]).tolist():
        own = nodes[trees.feature[nodes] == j]
        numbers = statistics.tables[j]
        order = np.argsort(numbers, kind="stable")
        ends = np.searchsorted(numbers[order], trees.threshold[own], side="right")
        if j in statistics.complete:
            missing_left[own] = statistics.middle <= trees.threshold[own]
        for node, end in zip(own.tolist(), ends.tolist(), strict=True):
            members = order[:end]
            np.bitwise_or.at(subsets[node], members // 32, np.uint32(1) << (members % 32).astype(np.uint32))
    gate, threshold, width, kernel = (a.copy() for a in (trees.gate, trees.threshold, trees.width, trees.kernel))
    gate[nodes], threshold[nodes], width[nodes], kernel[nodes] = Gate.SUBSET, np.nan, 0.0, 0
    return replace(
        trees, gate=gate, threshold=threshold, width=width, kernel=kernel, subsets=subsets, missing_left=missing_left
    )
