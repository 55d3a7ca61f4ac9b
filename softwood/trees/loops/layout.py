"""Arrays in which gates are held that are trained, and their columns."""

from typing import NamedTuple

import numpy as np

# Columns of the table of gates. Children that are leaves are -1 - leaf. UPPER and LOWER are, for a kernel gate, the
# next gate above it on the same feature whose left (right) branch it is in, which bounds the kernel from above (below);
# -1 if there is none.
LEFT, RIGHT, KIND, FEATURE, SHAPE, UPPER, LOWER = range(7)
N_COLUMNS = 7
# Columns of the numbers of gates; MISSING_LEFT is the share that goes left if a value is missing.
BIAS, THRESHOLD, WIDTH, BLEND_AT, MISSING_LEFT = range(5)
N_GATE_NUMBERS = 5


class LayerTrees(NamedTuple):
    """Trees whose gates and leaves are numbered one tree after the other, parents before their children.

    Attributes
    ----------
    table : (n_gates, N_COLUMNS) int64
    gates, leaves : (n_trees + 1,) int64, where the gates and the leaves of each tree begin
    edges, cdfs : float64, as in `softwood.trees.tree.SoftTree`
    sets : (n_gates, n_words) uint32, sets of categories; without lines if there are none
    """

    table: np.ndarray
    gates: np.ndarray
    leaves: np.ndarray
    edges: np.ndarray
    cdfs: np.ndarray
    sets: np.ndarray = np.empty((0, 0), np.uint32)
