"""Tables whose rows repeat one another, as those of a few categories do: what may be held out apart.

Copies of a row in training and held-out rows are a leak if new rows do not repeat old ones. So equal rows are held out
together. But where rows with equal columns often have different targets, they are different observations, and new rows
will repeat them, too: to hold them out together would show models only rows that are unlike those they have learned.
There, the mass of equal rows is cut into observations of mass 1, which are held out one by one. A weight of 2 has the
same effect as repeating the row, because only masses count.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from softwood.kernel.rounds.rounds import BoostingData

# Rows repeat one another if this part of the mass of equal rows is in groups with several targets.
DIFFERENT = 0.05
# Equal rows are cut into at most this many observations, of the same mass.
MOST_PIECES = 60
# Masses that differ by less than this are equal.
_ROUNDING = 1e-9


def in_observations(data: BoostingData) -> BoostingData:
    """The rows with a group for each observation; the same rows if equal ones must stay together."""
    if data.y.ndim > 1:
        return data
    masses = np.bincount(data.group, data.weights)
    order = np.lexsort((data.y, data.group))
    group, y, weights = data.group[order], data.y[order], data.weights[order]
    is_first = np.diff(group, prepend=-1) > 0
    has_several = np.zeros(len(masses), dtype=bool)
    has_several[group[1:][~is_first[1:] & (np.diff(y) != 0)]] = True
    is_repeated = has_several | (masses > 1.0 + _ROUNDING)
    different = masses[has_several].sum()
    if different == 0.0 or different < DIFFERENT * masses[is_repeated].sum():
        return data
    ends = np.cumsum(weights)
    ends -= (ends - weights)[is_first][np.cumsum(is_first) - 1]  # in the group
    size = np.maximum(1.0, masses / MOST_PIECES)[group]
    first = np.floor((ends - weights) / size + _ROUNDING).astype(np.int64)
    n_pieces = np.maximum(np.ceil(ends / size - _ROUNDING).astype(np.int64) - first, 1)
    row = np.repeat(np.arange(len(order)), n_pieces)
    piece = np.arange(len(row)) - np.repeat(np.cumsum(n_pieces) - n_pieces, n_pieces) + first[row]
    begin = np.maximum((ends - weights)[row], piece * size[row])
    masses_of = np.where(n_pieces[row] == 1, weights[row], np.minimum(ends[row], (piece + 1) * size[row]) - begin)
    per_group = np.maximum.reduceat(first + n_pieces, np.flatnonzero(is_first))
    starts = np.cumsum(per_group) - per_group
    number = starts[np.cumsum(is_first) - 1][row] + piece
    taken = order[row]
    return replace(data.take(taken), weights=masses_of, group=np.unique(number, return_inverse=True)[1])
