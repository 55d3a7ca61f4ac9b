"""Standard deviations of columns in which a few outliers would decide everything.

A bandwidth is a number of standard deviations. A single value of 1e12 makes every bandwidth of its column wider than
all other values, so no split could be seen. The standard deviation of such a column is that of its other values.
"""

from __future__ import annotations

import numpy as np

from softwood.kernel.data.binning import Bins

# The part of the mass at either end that may be outliers: of a column with many different values, and of others.
MANY_VALUES, PART, PART_OF_FEW = 100, 0.01, 0.05
# They are left out if the standard deviation of the other values is smaller by this factor.
FACTOR = 10.0


def without_outliers(bins: Bins, weights: np.ndarray, deviations: np.ndarray) -> np.ndarray:
    """Standard deviations (p,), where outliers dominate those of the other values.

    Parameters
    ----------
    weights : (n,) of the rows;  deviations : (p,) of all values; columns with 0 are left out
    """
    out = deviations.copy()
    for j in np.flatnonzero(deviations > 0):
        own = slice(bins.offsets[j], bins.offsets[j + 1])
        values, part = bins.values[own], PART if own.stop - own.start > MANY_VALUES else PART_OF_FEW
        half = 0.5 * bins.highs[own][-1] - 0.5 * bins.lows[own][0]  # the difference itself may overflow
        reach = (
            1.1 * np.sqrt(2.0 * part) * half
        )  # so small a part of values that are not farther away could not dominate
        if 2.0 * reach < deviations[j]:
            continue
        masses = np.bincount(bins.codes[:, j], weights, minlength=len(values) + 1)[: len(values)]
        total = masses.cumsum()[-1]
        mean = masses @ ((0.5 * values - 0.5 * bins.lows[own][0]) / half) / total
        if 2.0 * reach * max(mean, 1.0 - mean) < deviations[j]:
            continue
        limit = part * total
        is_kept = (np.cumsum(masses) > limit) & (np.cumsum(masses[::-1])[::-1] > limit)
        if np.count_nonzero(is_kept) < 2:
            continue
        values, masses = 0.5 * values[is_kept] - 0.5 * values[is_kept][0], masses[is_kept]
        size = values[-1]  # so that no square overflows, and not all become 0
        z = values / size
        spread = np.sqrt(np.average((z - np.average(z, weights=masses)) ** 2, weights=masses)) * size
        if 2.0 * spread < deviations[j] / FACTOR:
            out[j] = 2.0 * spread
    return out
