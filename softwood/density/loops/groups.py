"""Groups of arrays that the loops of kernel trees take as one argument.

A loop that runs over rows takes what it needs out of a group before it begins: looking it up each time costs a fifth.
No field is ever None. What may be None is an argument of its own, for only then is the code behind it left out; and it
is asked ``is not None``, for numba leaves nothing out behind ``is None``.

Beside these there are arguments that recur, each an array or None:

labels : (n,) class of each row; None if there are targets
kernels : None if all kernels are boxes of one width per feature
criterion : see `softwood.loops.scan`
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
# A line of the table of nodes, with the mass times the square of the targets; the sums of targets, or the masses of
# classes, are in an array beside it.
NODE = np.dtype([*SPLIT, ("mass", np.float64), ("square", np.float64)])


# Sets of categories, where there are none.
NO_SETS = np.zeros((1, 0), np.uint32)


class NodeTable(NamedTuple):
    """Finished nodes: lines (n_nodes,) of type `NODE`, and sums (n_nodes, q).

    Splits of categories have their sets in subsets (n_nodes, n_words), see `softwood.loops.subset`; None without any.
    """

    lines: np.ndarray
    sums: np.ndarray
    subsets: np.ndarray | None = None


class Bins(NamedTuple):
    """A matrix coded by bins; a bin is a place with mass.

    Attributes
    ----------
    codes : (n, p) unsigned, bin of each cell; one more than a feature's last bin if the value is missing
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


class Targets(NamedTuple):
    """What is learned: weights (n,); and, where there are no labels, targets (n, q) and their sums of squares (n,)."""

    weights: np.ndarray
    matrix: np.ndarray
    squares: np.ndarray


class Rules(NamedTuple):
    """When to stop growing; `n_draw` is the number of features that a node looks at.

    Categories with less mass in a node than `rare_mass` stay together.
    """

    max_depth: int
    min_mass: float
    min_gain: float
    n_draw: int
    cutoff: float
    is_class: bool
    rare_mass: float = 0.0


class Pile(NamedTuple):
    """The state of growing.

    Attributes
    ----------
    state : (4,) number of nodes done, height of the stack, length of the pile, and after how many nodes to return
    stop : (1,) not 0 if growing is to be given up
    lines, sums : the finished nodes, see `NodeTable`
    stack : (capacity, 4) for each node to do where its rows begin, parent, side, depth
    seeds : (capacity,) and intervals : (capacity, 2, p), which go with the stack
    rows, shares : (capacity,) rows and shares of the nodes to do, one after the other
    subsets : see `NodeTable`; lines without entries if no column has categories
    """

    state: np.ndarray
    stop: np.ndarray
    lines: np.ndarray
    sums: np.ndarray
    stack: np.ndarray
    seeds: np.ndarray
    intervals: np.ndarray
    rows: np.ndarray
    shares: np.ndarray
    subsets: np.ndarray = NO_SETS


class Desk(NamedTuple):
    """Scratch space for the points of one node, in any search.

    Attributes
    ----------
    points : (m, 1 + q) mass, and mass times target; (m, 1) if there are labels
    labels : (m,) their classes; (0,) if there are none
    left_rows, left_shares : (m,) the left child's;  order : (p,) features in the order of the search
    numbers, totals : (q,) number and mass of each class that the node has, or sums of targets
    """

    points: np.ndarray
    labels: np.ndarray
    left_rows: np.ndarray
    left_shares: np.ndarray
    order: np.ndarray
    numbers: np.ndarray
    totals: np.ndarray


class SubsetSpace(NamedTuple):
    """Scratch space of the search of sets of categories: each but the last (n_bins,), and the set that was found."""

    keys: np.ndarray = np.zeros(0)
    order: np.ndarray = np.zeros(0, np.int64)
    ranks: np.ndarray = np.zeros(0, np.int64)
    found: np.ndarray = NO_SETS


class Search(NamedTuple):
    """Scratch space of the search over all thresholds, all tables and sets empty.

    Attributes
    ----------
    tables : (p or 1, n_bins + 1, 1 + q) for the bins of every feature, or of one
    words, groups : sets of bins;  atoms : (n_bins, 3 + q);  lines : (n_bins + 1, 5);  work : (4, q)
    stop : as in `Pile`

    With several outputs, or entropy, q is the number of outputs rounded up to a multiple of four.
    """

    tables: np.ndarray
    words: np.ndarray
    groups: np.ndarray
    atoms: np.ndarray
    lines: np.ndarray
    work: np.ndarray
    stop: np.ndarray
    subset: SubsetSpace = SubsetSpace()


class RandomSearch(NamedTuple):
    """Scratch space of the search of extra trees.

    Attributes
    ----------
    codes : (m,);  bin_shares : (n_bins + 1,);  shares : (m,);  work : (1 + q,)
    subset : (1, n_words) the set of categories that was found
    """

    codes: np.ndarray
    bin_shares: np.ndarray
    shares: np.ndarray
    work: np.ndarray
    subset: np.ndarray = NO_SETS


class NodePoints(NamedTuple):
    """The points of one node.

    Attributes
    ----------
    rows : from `begin` on `size` rows;  points : as in `Desk`
    order : (p,) features in the order of the search; the first `n_draw` are looked at, and more if those cannot be
        split
    """

    rows: np.ndarray
    begin: int
    size: int
    points: np.ndarray
    order: np.ndarray
    n_draw: int


class Goal(NamedTuple):
    """What a split is measured by.

    Attributes
    ----------
    total, base : mass of the node and its merit unsplit;  min_mass : smallest mass of a child
    tie : merits closer than this are equal; the split nearer to halves wins, then the first
    n_outputs : number of targets, or of different labels in the node
    rare_mass : categories with less mass stay together
    """

    total: float
    base: float
    min_mass: float
    tie: float
    n_outputs: int
    rare_mass: float = 0.0
