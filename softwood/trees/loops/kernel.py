"""Piecewise-constant kernels: distribution function and density.

A kernel shape is a row of edges (in units of the half-width) and the row of distribution values at these edges, rising
from 0 to 1. A half-width of 0 is the crisp limit: all mass sits on the point itself and ``x <= t`` goes left.
"""

import numpy as np


def kernel_cdf(t, x, width, shape, edges, cdfs):
    """Mass at or below `t` of the kernel around `x` (paper: F(t, x))."""
    distance = t - x
    if distance >= width * edges[shape, edges.shape[1] - 1]:
        return 1.0
    if distance <= width * edges[shape, 0]:
        return 0.0
    z = distance / width
    k = 1
    while k < edges.shape[1] - 1 and z > edges[shape, k]:
        k += 1
    return cdfs[shape, k - 1] + (cdfs[shape, k] - cdfs[shape, k - 1]) * (z - edges[shape, k - 1]) / (edges[shape, k] - edges[shape, k - 1])


def kernel_density(t, x, width, shape, edges, cdfs):
    """Density at `t` of the kernel around `x`; 0 for a crisp point."""
    distance = t - x
    if distance >= width * edges[shape, edges.shape[1] - 1] or distance <= width * edges[shape, 0]:
        return 0.0
    z = distance / width
    k = 1
    while k < edges.shape[1] - 1 and z > edges[shape, k]:
        k += 1
    density = (cdfs[shape, k] - cdfs[shape, k - 1]) / ((edges[shape, k] - edges[shape, k - 1]) * width)
    return density if density < np.inf else 0.0  # a width below all normal numbers is none


def kernel_share(t, x, width, shape, edges, cdfs, lower, upper):
    """Share that goes left at `t` of a point whose mass between the bounds `lower` and `upper` is in the node.

    The bounds are values of the distribution function: those of the interval's ends on this feature.
    """
    mass = kernel_cdf(t, x, width, shape, edges, cdfs)
    if mass >= upper:
        return 1.0
    if mass <= lower:
        return 0.0
    return (mass - lower) / (upper - lower)


def box_share(t, x, width, lo, hi):
    """Share that goes left at `t` of a box around `x`, cut to the node's interval from `lo` to `hi`.

    Which side a point is on cannot be predicted, that it is on both is rare: only the latter is branched on.
    """
    start = max(lo, x - width)
    stop = min(hi, x + width)
    part = float(t >= stop)
    if (t > start) & (t < stop):
        part = (t - start) / (stop - start)
    return part


def box_shares(x, n, t, width, interval, missing):
    """`box_share` of many boxes: replace their centres `x` (>= n,) by the shares, and nan by `missing`.

    Without branches, so that the processor computes several of them at once.
    """
    lo, hi = interval
    for k in range(n):
        is_missing = np.isnan(x[k])
        centre = t if is_missing else x[k]
        start = max(lo, centre - width)
        stop = min(hi, centre + width)
        length = stop - start
        part = (t - start) / (length if length > 0.0 else 1.0)
        whole = float(t >= stop)
        part = min(part if part > whole else whole, 1.0)  # nan, where ends overflow, is not larger
        x[k] = missing if is_missing else part
