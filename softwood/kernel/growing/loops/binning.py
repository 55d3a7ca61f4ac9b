"""Bins of cells."""

import numpy as np

# Parts of equal length that the range of the cuts is divided into: in most of them there is one cut or none.
N_PARTS = 1024


def part_of(x, low, scale):
    """Number of the part of the range that a value lies in; never falls if the value rises, whatever the rounding."""
    place = (x - low) * scale
    if not place > 0.0:  # nan, too: of infinity times 0
        return 0
    return int(min(place, N_PARTS - 1.0))


def encode_column(points, feature, cuts, out):
    """Write the bin of each value to column `feature` of `out`; a missing value gets the number after the last bin.

    Only the cuts in the same part of the range as the value are searched.

    Parameters
    ----------
    cuts : (n_bins - 1,) smallest value of every bin but the first, rising
    """
    n_cuts = cuts.shape[0]
    low = 0.0
    scale = 0.0  # all in one part
    if n_cuts > 1:
        low = cuts[0]
        scale = N_PARTS / (cuts[n_cuts - 1] - low)
        scale = scale if scale < np.inf else 0.0
    starts = np.zeros(N_PARTS + 1, np.int64)
    for k in range(n_cuts):
        starts[part_of(cuts[k], low, scale) + 1] += 1
    for k in range(N_PARTS):
        starts[k + 1] += starts[k]
    for i in range(points.shape[0]):
        x = points[i, feature]
        if np.isnan(x):
            out[i, feature] = n_cuts + 1
            continue
        part = part_of(x, low, scale)
        first = starts[part]
        size = starts[part + 1] - first
        while size > 0:  # without branches on the cuts, which nobody could predict
            half = (size + 1) >> 1
            first += half if cuts[first + half - 1] <= x else 0
            size -= half
        out[i, feature] = first
