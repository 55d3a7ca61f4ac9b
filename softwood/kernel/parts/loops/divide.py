"""Growth by levels, dividing: the rows of all open nodes are shared between children at once.

All nodes of a level have a slot: the nodes that are split, and the leaves, which keep their rows. A split slot is
followed by those of its two children. Arguments that recur are explained in `softwood.kernel.parts.loops.sums`.
"""

from typing import NamedTuple

import numpy as np

from softwood.trees.loops.kernel import box_share, kernel_cdf, kernel_share
from softwood.trees.loops.sets import has_member, is_category

# The split of a slot.
SLOT = np.dtype(
    [
        ("feature", np.int64),  # -1: a leaf
        ("threshold", np.float64),  # not used for a set of categories
        ("missing_left", np.float64),
        ("low", np.float64),  # ends of the node's interval on the feature
        ("high", np.float64),
    ]
)


class Members(NamedTuple):
    """Rows of the slots of a tree, memberships or None, and where each slot begins (n_slots + 1,)."""

    rows: np.ndarray
    shares: np.ndarray | None
    begins: np.ndarray


class DivideSpace(NamedTuple):
    """Scratch space: rows that go right and their memberships, at least as many as a slot has; (most + 1,) parts."""

    rows: np.ndarray
    shares: np.ndarray | None
    parts: np.ndarray


def share_bins(bins, widths, kernels, slots, subsets, slot, parts):
    """Share of the rows of each bin that goes left, and that of rows without a value after the last bin."""
    j = slots[slot]["feature"]
    t, lo, hi = slots[slot]["threshold"], slots[slot]["low"], slots[slot]["high"]
    width, offset = widths[j], bins.offsets[j]
    n_bins = bins.offsets[j + 1] - offset
    by_set = is_category(bins.n_categories, j)
    for c in range(n_bins):
        x = bins.values[offset + c]
        if by_set:
            parts[c] = 1.0 if has_member(subsets, slot, int(x)) else 0.0
        elif kernels is None:
            parts[c] = box_share(t, x, width, lo, hi)
        else:
            kind = kernels.kinds[j]
            w = kernels.cells[c, j] if kernels.by_cell[j] else width
            lower = kernel_cdf(lo, x, w, kind, kernels.edges, kernels.cdfs)
            upper = kernel_cdf(hi, x, w, kind, kernels.edges, kernels.cdfs)
            parts[c] = kernel_share(t, x, w, kind, kernels.edges, kernels.cdfs, lower, upper)
    parts[n_bins] = slots[slot]["missing_left"]


def divide_slot(codes, j, members, slot, cutoff, new_rows, new_shares, at, space):
    """Share the rows of a slot between its children: the left child's from `at` on, and the right child's after them.

    A share smaller than `cutoff` (of the whole row) is given to the larger side. `share_bins` comes before it.

    Returns
    -------
    where the right child begins and ends
    """
    rows, parts, right_rows = members.rows, space.parts, space.rows
    begin, end = members.begins[slot], members.begins[slot + 1]
    n_left = at
    n_right = 0
    # Written on both sides and counted where there is a share, without branches: which side a row is on cannot be
    # predicted. By its sign, a share below the cutoff is multiplied by 0: a comparison would become a branch.
    if members.shares is None:
        for k in range(begin, end):
            i = rows[k]
            is_left = parts[codes[i, j]] > 0.5
            new_rows[n_left] = i
            right_rows[n_right] = i
            n_left += is_left
            n_right += not is_left
    else:
        for k in range(begin, end):
            i = rows[k]
            new_rows[n_left] = i
            right_rows[n_right] = i
            u = members.shares[k]
            left = u * parts[codes[i, j]]
            left *= 0.5 + np.copysign(0.5, left - cutoff)
            right = u - left
            right *= 0.5 + np.copysign(0.5, right - cutoff)
            left = u - right
            new_shares[n_left] = left
            space.shares[n_right] = right
            n_left += left > 0.0
            n_right += right > 0.0
        for k in range(n_right):
            new_shares[n_left + k] = space.shares[k]
    for k in range(n_right):
        new_rows[n_left + k] = right_rows[k]
    return n_left, n_left + n_right


def copy_slot(members, slot, new_rows, new_shares, at):
    """Copy the rows of a leaf, to `at`."""
    begin, end = members.begins[slot], members.begins[slot + 1]
    for k in range(begin, end):
        new_rows[at + k - begin] = members.rows[k]
    if members.shares is not None:
        for k in range(begin, end):
            new_shares[at + k - begin] = members.shares[k]


def divide_slots(bins, widths, kernels, slots, subsets, cutoff, members, new_rows, new_shares, new_begins, space):
    """Divide all slots of a level.

    Parameters
    ----------
    widths : (p,) half-widths of the kernels;  kernels : None if all are boxes; half-widths in
        `cells` are those of bins (most, p) and not of rows
    subsets : (n_slots, n_words) sets of categories that go left
    new_rows, new_shares, new_begins : the `Members` of the next level; rows and shares one longer than necessary
    """
    at = 0
    n = 0
    new_begins[0] = 0
    for slot in range(slots.shape[0]):
        j = slots[slot]["feature"]
        if j < 0:
            copy_slot(members, slot, new_rows, new_shares, at)
            at += members.begins[slot + 1] - members.begins[slot]
        else:
            share_bins(bins, widths, kernels, slots, subsets, slot, space.parts)
            middle, at = divide_slot(bins.codes, j, members, slot, cutoff, new_rows, new_shares, at, space)
            n += 1
            new_begins[n] = middle
        n += 1
        new_begins[n] = at


def add_slot_values(members, slot_values, scores):
    """Add to the raw scores (n,) of the rows the values of the slots they are in, by membership."""
    for slot in range(slot_values.shape[0]):
        value = slot_values[slot]
        begin, end = members.begins[slot], members.begins[slot + 1]
        if members.shares is None:
            for k in range(begin, end):
                scores[members.rows[k]] += value
        else:
            for k in range(begin, end):
                scores[members.rows[k]] += members.shares[k] * value
