"""Running means and deviations of columns and targets, which single outliers cannot change for long.

scaler : (N_SCALER_ROWS, n_features) see `RealNodes` of `softwood.stream.loops.layout`
points, i : (n, n_features) values, nan where missing, and the number of the row that is meant
"""

import math

import numpy as np

from softwood.stream.loops.layout import CENTRE, INVERSE, LAST, RUN, SCALED_WEIGHT, VARIANCE

# Numbers beyond this count as it in running means, and differences beyond its root in running variances.
LARGEST = 1e300
LARGEST_ROOT = 1e150
# Weight of values that contradict a running scale before its past counts for less, and what that counts for then.
SURPRISES, FRESH = 30.0, 8.0
# Part of the limit from which on a value is far from the mean: ten standard deviations, of the usual limit of 30.
SURPRISING = 1.0 / 3.0
# Fewer rows than this cannot be distinguished from outliers.
FEW_ROWS = 16.0


def from_mean(x, scaler, j):
    """Difference of a value from the running mean, bounded so that its square in standard deviations is a float."""
    d = min(max(x, -LARGEST), LARGEST) - scaler[CENTRE, j]
    return d if abs(d * scaler[INVERSE, j]) <= LARGEST_ROOT else math.copysign(LARGEST_ROOT / scaler[INVERSE, j], d)


def update_scaler(scaler, points, i, weight, memory, limit):
    """Add a row to the running means and inverse standard deviations: `update_scale` of each feature."""
    for j in range(points.shape[1]):
        update_scale(scaler, j, points[i, j], weight, memory, limit)


def update_scale(scaler, j, x, weight, memory, limit):
    """Add a value to a running mean and inverse standard deviation; see `RealNodes` for the rows of `scaler`.

    Parameters
    ----------
    x : nan if it is missing
    memory : a weight beyond this counts as this, so that old rows fade
    limit : a value that is further than so many standard deviations from the mean enters as if it were there, so that
        a single one cannot change the scale for long; 0 for no limit
    """
    if np.isnan(x):
        return
    # Within bounds, so that neither the mean nor the square of a huge number overflows.
    d = min(max(x, -LARGEST), LARGEST) - scaler[CENTRE, j]
    past, variance = scaler[SCALED_WEIGHT, j], scaler[VARIANCE, j]
    if limit > 0.0 and variance > 0.0:
        past = past_weight(scaler, j, x, weight, limit)
        if not abs(d) * scaler[INVERSE, j] < 0.5 * limit:
            reach = limit * math.sqrt(variance)
            d = min(max(d, -reach), reach)
    n = min(past + weight, max(memory, weight))
    part = weight / n
    scaler[SCALED_WEIGHT, j] = n
    scaler[CENTRE, j] += part * d
    d = min(max(d, -LARGEST_ROOT), LARGEST_ROOT)
    variance = (1.0 - part) * (variance + part * d * d)
    scaler[VARIANCE, j] = variance
    scaler[INVERSE, j] = 1.0 / math.sqrt(variance) if variance > 0.0 else 0.0
    scaler[LAST, j] = x


def past_weight(scaler, j, x, weight, limit):
    """What the past of a feature counts for when the value `x` comes.

    That is its weight, but no more than FRESH once values of the weight SURPRISES contradict the scale, which then is
    that of the present after some rows. Either more values are far from the mean than near: the scale is too small. Or
    values that vary are all so near to the mean that at most FEW_ROWS rows can have made the variance, and that for a
    quarter of all weight: the scale is that of outliers among the first rows.
    """
    past, run = scaler[SCALED_WEIGHT, j], scaler[RUN, j]
    z = (x - scaler[CENTRE, j]) * scaler[INVERSE, j]
    if abs(z) > SURPRISING * limit:
        run = max(run, 0.0) + weight
    elif z * z * past >= FEW_ROWS:
        run = max(run - weight, 0.0)
    elif x != scaler[LAST, j]:
        run -= weight
    if run >= SURPRISES:
        past, run = min(past, FRESH), 0.0
    elif -run >= max(SURPRISES, 0.25 * past):
        past = min(past, FRESH)
    scaler[RUN, j] = run
    return past
