"""Groups of arrays that the loops of kernel trees take as one argument, beside `softwood.kernel.growing.loops.groups`.

Beside these there are arguments that recur:

labels : (n,) class of each row; None if there are targets
targets : (n, 1 + q) weight of each row, and its targets; (n, 1) if there are labels. Side by side, for rows of a node
    are far from one another in memory
kernels : None if all kernels are boxes of one width per feature
criterion : see `softwood.kernel.growing.loops.scan`
"""

from typing import NamedTuple

import numpy as np

from softwood.kernel.growing.loops.groups import NO_SETS, SPLIT, SubsetSpace

# A line of the table of nodes, with the mass times the square of the targets; the sums of targets, or the masses of
# classes, are in an array beside it.
NODE = np.dtype([*SPLIT, ("mass", np.float64), ("square", np.float64)])


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


class NodeScratch(NamedTuple):
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


class Knots(NamedTuple):
    """Scratch space of the scan of kernels of several pieces, and of kernel widths that differ from cell to cell.

    Attributes
    ----------
    times, rates, owners : (n_knots,) breakpoints, changes of slope there (nan: a step), and the atoms they belong to
    orders : (3, n_knots);  open_rates : (n_atoms,) slopes of the shares of the atoms
    cells : (4, m) and atoms : (m, 3 + q), see `scan_general.scan_points`; without entries if
        widths do not differ from cell to cell
    """

    times: np.ndarray = np.zeros(0)
    rates: np.ndarray = np.zeros(0)
    owners: np.ndarray = np.zeros(0, np.int64)
    orders: np.ndarray = np.zeros((3, 0), np.int64)
    open_rates: np.ndarray = np.zeros(0)
    cells: np.ndarray = np.zeros((4, 0))
    atoms: np.ndarray = np.zeros((0, 0))


class Search(NamedTuple):
    """Scratch space of the search over all thresholds, all tables and sets empty.

    Attributes
    ----------
    tables : (p or 1, n_bins + 1, 1 + q) for the bins of every feature, or of one
    words, groups : sets of bins;  atoms : (n_bins, 3 + q);  lines : (n_bins + 1, 5);  work : (5, q)
    stop : as in `softwood.kernel.growing.loops.frontier.Frontier`

    For one output with squared error, q is 1; else the number of outputs rounded up to a multiple of four.
    """

    tables: np.ndarray
    words: np.ndarray
    groups: np.ndarray
    atoms: np.ndarray
    lines: np.ndarray
    work: np.ndarray
    stop: np.ndarray
    subset: SubsetSpace = SubsetSpace()
    knots: Knots = Knots()


class RandomSearch(NamedTuple):
    """Scratch space of the search of extra trees.

    Attributes
    ----------
    codes : (m,);  bin_shares : (n_bins + 1,);  shares : (m,);  work : (2, q)
    ranks : (n_bins,);  subset : (1, n_words) the set of categories that was found
    """

    codes: np.ndarray
    bin_shares: np.ndarray
    shares: np.ndarray
    work: np.ndarray
    ranks: np.ndarray = np.zeros(0, np.int64)
    subset: np.ndarray = NO_SETS
