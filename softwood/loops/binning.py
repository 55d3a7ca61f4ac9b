"""Bins of cells."""

import numpy as np

from softwood.loops._compile import compiled


@compiled
def encode_column(points, feature, cuts, out):
    """Write the bin of each value to column `feature` of `out`; a missing value gets the number after the last bin.

    Parameters
    ----------
    cuts : (n_bins - 1,) smallest value of every bin but the first, rising
    """
    missing = cuts.shape[0] + 1
    for i in range(points.shape[0]):
        x = points[i, feature]
        first = 0
        size = cuts.shape[0]
        while size > 1:  # without branches on the data, which nobody could predict
            half = size >> 1
            first += half if cuts[first + half - 1] <= x else 0
            size -= half
        if size == 1 and cuts[first] <= x:
            first += 1
        out[i, feature] = missing if np.isnan(x) else first
