"""Groups of arrays that loops of kernel trees and of boosting take as one argument.

A loop that runs over rows takes what it needs out of a group before it begins: looking it up each time costs a fifth.
"""

from typing import NamedTuple

import numpy as np

# Columns of all tables of nodes.
SPLIT = [
    ("parent", np.int32),
    ("side", np.int32),  # 0: left child
    ("depth", np.int32),
    ("feature", np.int32),  # -1: a leaf
    ("threshold", np.float64),
    ("missing_left", np.float64),
]
# Sets of categories, where there are none.
NO_SETS = np.zeros((1, 0), np.uint32)


class NodeTable(NamedTuple):
    """Finished nodes: lines (n_nodes,) of type `softwood.kernel.growing.loops.tree_groups.NODE`, and sums (n_nodes, q).

    Splits of categories have their sets in subsets (n_nodes, n_words), see `softwood.kernel.growing.loops.subset`; None
    without any.
    """

    lines: np.ndarray
    sums: np.ndarray
    subsets: np.ndarray | None = None


class Bins(NamedTuple):
    """A matrix coded by bins; a bin is a place with mass.

    Attributes
    ----------
    codes : (n, p) uint8 or uint32, bin of each cell; one more than a feature's last bin if the value is missing
    values, lows, highs : (total,) mean, smallest and largest value of each bin, feature after feature
    offsets : (p + 1,) where the bins of each feature begin
    priority : (p,) features by rising skewness. Of equally good splits the first one in this order is taken: it depends
        on the distribution of the values alone, so neither the order nor the units of the columns matter
    n_categories : (p,) number of categories of a column, whose values are 0, 1, ...; 0 for a column of numbers. (0,) if
        no column has categories
    points : (n, p) the matrix itself, nan where missing. Splits are searched over bins, and rows are divided by their
        own values
    """

    codes: np.ndarray
    values: np.ndarray
    lows: np.ndarray
    highs: np.ndarray
    offsets: np.ndarray
    priority: np.ndarray
    n_categories: np.ndarray = np.zeros(0, np.int64)
    points: np.ndarray = np.zeros((0, 0))

    @property
    def most(self) -> int:
        """Largest number of bins of a feature."""
        return int(np.diff(self.offsets).max(initial=0))

    def take(self, rows: np.ndarray) -> "Bins":
        """The same bins with some of the rows."""
        return self._replace(codes=self.codes[rows], points=self.points[rows])

    def without_rows(self) -> "Bins":
        """The bins alone."""
        p = len(self.offsets) - 1
        return self._replace(codes=np.empty((0, p), np.uint8), points=np.empty((0, p)))

    @property
    def n_words(self) -> int:
        """Length of a set of categories."""
        return -(-int(self.n_categories.max(initial=0)) // 32)


class Kernels(NamedTuple):
    """Kernels that are not all boxes of one width per feature.

    Attributes
    ----------
    kinds : (p,) which row of the tables `edges` and `cdfs` is the shape of each feature's kernel, 0 the box
    cells : (n, p) half-width of each cell, read for the features with `by_cell` (p,)
    """

    kinds: np.ndarray
    edges: np.ndarray
    cdfs: np.ndarray
    cells: np.ndarray
    by_cell: np.ndarray


class SubsetSpace(NamedTuple):
    """Scratch space of the search of sets of categories.

    Attributes
    ----------
    keys, order, ranks : (n_bins,)
    means : (n_bins, q);  (0, 0) for one output
    found : (1, n_words) the set that was found
    """

    keys: np.ndarray = np.zeros(0)
    order: np.ndarray = np.zeros(0, np.int64)
    ranks: np.ndarray = np.zeros(0, np.int64)
    means: np.ndarray = np.zeros((0, 0))
    found: np.ndarray = NO_SETS


class Goal(NamedTuple):
    """What a split is measured by.

    Attributes
    ----------
    total, base : mass of the node and its merit unsplit;  min_mass : smallest mass of a child
    tie : merits closer than this are equal; the split nearer to halves wins, then the first
    n_outputs : number of targets, or of different labels in the node
    criterion : see `softwood.kernel.growing.loops.scan`
    rare_mass : categories with less mass stay together
    """

    total: float
    base: float
    min_mass: float
    tie: float
    n_outputs: int
    criterion: int
    rare_mass: float = 0.0
