"""Growth by levels, dividing: the rows of all open nodes are shared between children at once.

All nodes of a level have a slot: the nodes that are split, and the leaves, which keep their rows. A split slot is
followed by those of its two children. Arguments that recur are explained in `softwood.loops.level_sums`.
"""

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.kernel import box_share, kernel_cdf, kernel_share

# The split of a slot.
SLOT = np.dtype(
    [
        ("feature", np.int64),  # -1: a leaf
        ("threshold", np.float64),
        ("missing_left", np.float64),
        ("low", np.float64),  # ends of the node's interval on the feature
        ("high", np.float64),
    ]
)


@compiled
def share_bins(bins, widths, kernels, slots, slot, parts):
    """Share of the rows of each bin that goes left, and that of rows without a value after the last bin."""
    j = slots[slot]["feature"]
    t, lo, hi = slots[slot]["threshold"], slots[slot]["low"], slots[slot]["high"]
    width, offset = widths[j], bins.offsets[j]
    n_bins = bins.offsets[j + 1] - offset
    for c in range(n_bins):
        x = bins.values[offset + c]
        if kernels is None:
            parts[c] = box_share(t, x, width, lo, hi)
        if kernels is not None:
            edges, cdf = kernels.edges[kernels.kinds[j]], kernels.cdfs[kernels.kinds[j]]
            lower, upper = kernel_cdf(lo, x, width, edges, cdf), kernel_cdf(hi, x, width, edges, cdf)
            parts[c] = kernel_share(t, x, width, edges, cdf, lower, upper)
    parts[n_bins] = slots[slot]["missing_left"]


@compiled
def divide_slot(column, rows, shares, begin, end, parts, cutoff, new_rows, new_shares, at, right_rows, right_shares):
    """Share the rows of a slot between its children: the left child's from `at` on, and the right child's after them.

    A share smaller than `cutoff` (of the whole row) is given to the larger side.

    Parameters
    ----------
    column : (n,) bins of all rows on the feature;  parts : as `share_bins` leaves them
    right_rows, right_shares : (>= end - begin,) scratch space

    Returns
    -------
    where the right child begins and ends
    """
    n_left = at
    n_right = np.int64(0)
    for k in range(begin, end):
        i = rows[k]
        part = parts[column[i]]
        # Written on both sides and counted where there is a share, without branches: which side a row is on cannot be
        # predicted.
        new_rows[n_left] = i
        right_rows[n_right] = i
        if shares is None:
            n_left += np.int64(part > 0.5)
            n_right += np.int64(part <= 0.5)
        if shares is not None:
            u = shares[k]
            left = u * part
            left *= np.float64(left >= cutoff)
            right = u - left
            right *= np.float64(right >= cutoff)
            left = u - right
            new_shares[n_left] = left
            right_shares[n_right] = right
            n_left += np.int64(left > 0.0)
            n_right += np.int64(right > 0.0)
    for k in range(n_right):
        new_rows[n_left + k] = right_rows[k]
        if shares is not None:
            new_shares[n_left + k] = right_shares[k]
    return n_left, n_left + n_right


@compiled
def copy_slot(rows, shares, begin, end, new_rows, new_shares, at):
    """Copy the rows of a leaf."""
    for k in range(begin, end):
        new_rows[at + k - begin] = rows[k]
        if shares is not None:
            new_shares[at + k - begin] = shares[k]


@compiled
def divide_slots(bins, codes, reach, kernels, slots, cutoff, pile, shares, new_pile, new_shares, scratch):
    """Divide all slots of a level.

    Parameters
    ----------
    reach : (p,) half-widths of the kernels;  kernels : None if all are boxes
    pile : rows, and where each slot begins (n_slots + 1,); `new_pile` is filled, its arrays one longer than necessary
    scratch : right rows and shares, see `divide_slot`, and (most + 1,) parts
    """
    rows, begins = pile
    new_rows, new_begins = new_pile
    right_rows, right_shares, parts = scratch
    at = np.int64(0)
    n = 0
    new_begins[0] = 0
    for slot in range(slots.shape[0]):
        begin, end = begins[slot], begins[slot + 1]
        j = slots[slot]["feature"]
        if j < 0:
            copy_slot(rows, shares, begin, end, new_rows, new_shares, at)
            at += end - begin
        else:
            share_bins(bins, reach, kernels, slots, slot, parts)
            middle, at = divide_slot(
                codes[:, j], rows, shares, begin, end, parts, cutoff, new_rows, new_shares, at, right_rows, right_shares
            )
            n += 1
            new_begins[n] = middle
        n += 1
        new_begins[n] = at


@compiled
def add_slot_values(rows, begins, shares, slot_values, raw, column):
    """Add to the raw scores of the rows the values of the slots they are in, by membership."""
    for slot in range(slot_values.shape[0]):
        value = slot_values[slot]
        for k in range(begins[slot], begins[slot + 1]):
            if shares is None:
                raw[rows[k], column] += value
            if shares is not None:
                raw[rows[k], column] += shares[k] * value
