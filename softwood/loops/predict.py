"""Fast predictions of trees with axis-aligned gates, for rows without missing values.

The children of a node are a row of two numbers and the choice between them is computed, not branched on: which way a
point goes cannot be predicted, and a wrong guess of the processor costs more than the whole step.
`softwood.loops.walk` has the loops for everything else.
"""

from typing import NamedTuple

import numpy as np

from softwood.loops._compile import compiled
from softwood.loops.kernel import kernel_cdf

STEPS = 4  # that an item makes before it is looked at
LANES = 8  # rows that go down together: the processor waits for memory once for all of them


class KernelTrees(NamedTuple):
    """Trees of kernel gates, their nodes numbered through.

    Attributes
    ----------
    tests : (n_nodes, 3) uint32 feature, left and right child; leaves are their own children
    ends : (n_nodes, 2) values up to which a point goes left as a whole, and from which on right; -inf and inf at leaves
    thresholds, widths, kernels : (n_nodes,);  edges, cdfs : the tables of the kernel shapes
    """

    tests: np.ndarray
    ends: np.ndarray
    thresholds: np.ndarray
    widths: np.ndarray
    kernels: np.ndarray
    edges: np.ndarray
    cdfs: np.ndarray
    cutoff: float


class Items(NamedTuple):
    """Scratch space for parts of rows on their way down.

    Attributes
    ----------
    items : (capacity, 3) node, row, and last link of each item;  shares : (capacity,)
    links : (2 * capacity, 2) a fork that an item has passed, as its feature and the link before it
    link_ends : (2 * capacity, 2) the distribution values between which the item's part of the kernel lies since then
    active, events : (capacity,) items that are on their way, or at a gate that may divide them
    """

    items: np.ndarray
    shares: np.ndarray
    links: np.ndarray
    link_ends: np.ndarray
    active: np.ndarray
    events: np.ndarray


@compiled
def crisp_leaves_fast(points, tests, thresholds, out):
    """Leaf that each row reaches in a tree of crisp tests.

    Parameters
    ----------
    tests : (n_nodes, 3) uint32 feature, left and right child; leaves are their own children
    thresholds : (n_nodes,) inf at leaves
    """
    n = points.shape[0]
    node = np.empty(LANES, np.uint32)
    for begin in range(0, n, LANES):
        lanes = np.uint64(min(LANES, n - begin))  # unsigned: an index that cannot be negative is not checked for it
        for lane in range(lanes):
            node[lane] = 0
        moving = True
        while moving:
            moving = False
            for lane in range(lanes):
                at = node[lane]
                side = np.uint32(points[np.uint64(begin) + lane, tests[at, 0]] > thresholds[at])
                below = tests[at, np.uint32(1) + side]
                moving |= below != at
                node[lane] = below
        for lane in range(lanes):
            out[np.uint64(begin) + lane] = node[lane]


@compiled
def share_out(points, begin, end, root, trees, scratch):
    """Share out the rows `begin` to `end` at once among the leaves of a tree of kernel gates.

    An item is a part of a row on its way down. In each round every item makes a few steps, without branches. Items at a
    leaf are then done; those at a gate that may divide them are seen to one by one.

    Parameters
    ----------
    root : node to start from;  trees : `KernelTrees`;  scratch : `Items`

    Returns
    -------
    number of items, now at their leaves; -1 if the scratch space was not enough, and fewer rows must be taken
    """
    tests, ends, thresholds, widths, kernels, edges, cdfs, cutoff = trees
    items, shares, links, link_ends, active, events = scratch
    none = np.uint32(0xFFFFFFFF)
    one = np.uint32(1)
    only_box = edges.shape[0] == 1
    n_items = np.uint64(end - begin)
    n_links = np.uint64(0)
    n_active = n_items
    capacity = items.shape[0]
    for k in range(n_items):
        items[k, 0] = root
        items[k, 1] = np.uint64(begin) + k
        items[k, 2] = none
        shares[k] = 1.0
        active[k] = k
    while n_active > 0:
        if n_items + n_active > capacity or n_links + 2 * n_active > 2 * capacity:
            return np.int64(-1)
        n_moving = n_active
        n_active = np.uint64(0)
        n_events = np.uint64(0)
        for k in range(n_moving):
            item = active[k]
            at = items[item, 0]
            i = items[item, 1]
            stays = False
            for _ in range(STEPS):
                x = points[i, tests[at, 0]]
                is_right = x > ends[at, 0]
                stays = is_right & (x < ends[at, 1])
                below = tests[at, one + np.uint32(is_right)]
                at = at if stays else below
            items[item, 0] = at
            is_leaf = tests[at, 1] == at
            events[n_events] = item
            n_events += np.uint64(stays & (not is_leaf))
            active[n_active] = item
            n_active += np.uint64(not stays)
        for k in range(n_events):
            item = events[k]
            at = items[item, 0]
            i = items[item, 1]
            j = tests[at, 0]
            lower = 0.0
            upper = 1.0
            before = items[item, 2]
            link = before
            while link != none:
                if links[link, 0] == j:
                    lower = link_ends[link, 0]
                    upper = link_ends[link, 1]
                    break
                link = links[link, 1]
            if only_box:  # the ends say it all
                mass = (ends[at, 1] - points[i, j]) / (ends[at, 1] - ends[at, 0])
            else:
                kind = kernels[at]
                mass = kernel_cdf(thresholds[at], points[i, j], widths[at], edges[kind], cdfs[kind])
            if mass >= upper:
                items[item, 0] = tests[at, 1]
            elif mass <= lower:
                items[item, 0] = tests[at, 2]
            else:
                share = shares[item]
                left = share * (mass - lower) / (upper - lower)
                right = share - left
                if left >= cutoff and right >= cutoff:  # a new item takes the right side
                    items[n_items, 0] = tests[at, 2]
                    items[n_items, 1] = i
                    items[n_items, 2] = n_links
                    shares[n_items] = right
                    links[n_links, 0] = j
                    links[n_links, 1] = before
                    link_ends[n_links, 0] = mass
                    link_ends[n_links, 1] = upper
                    n_links += np.uint64(1)
                    active[n_active] = n_items
                    n_active += np.uint64(1)
                    n_items += np.uint64(1)
                    shares[item] = left
                goes_left = left >= cutoff
                items[item, 0] = tests[at, 1 if goes_left else 2]
                items[item, 2] = n_links
                links[n_links, 0] = j
                links[n_links, 1] = before
                link_ends[n_links, 0] = lower if goes_left else mass
                link_ends[n_links, 1] = mass if goes_left else upper
                n_links += np.uint64(1)
            active[n_active] = item
            n_active += np.uint64(1)
    return np.int64(n_items)


@compiled
def add_kernel_trees(points, numbers, offsets, output, batch, trees, scratch, value, out):
    """Add shares of leaves times their values, for trees of kernel gates one after the other.

    Parameters
    ----------
    numbers : of the trees to add;  offsets : (n_trees + 1,) root of each
    output : (n_trees,) first column of `out` that a tree's values go to
    batch : rows to begin with at once; fewer where the scratch space is too small
    trees : `KernelTrees`;  scratch : `Items`
    """
    items, shares = scratch.items, scratch.shares
    for t in numbers:
        first = output[t]
        size = np.int64(batch)
        begin = np.int64(0)
        while begin < points.shape[0]:
            end = min(begin + size, points.shape[0])
            n = share_out(points, begin, end, offsets[t], trees, scratch)
            if n < 0:
                size = max(size >> 1, np.int64(1))
                continue
            begin = end
            for k in range(n):
                leaf = items[k, 0]
                i = items[k, 1]
                for o in range(value.shape[1]):
                    out[i, first + o] += shares[k] * value[leaf, o]


@compiled
def add_crisp_trees(points, numbers, offsets, output, tests, thresholds, value, out):
    """Add the values of the leaves that each row reaches, for trees of crisp tests; arguments as above."""
    n = points.shape[0]
    node = np.empty(LANES, np.uint32)
    for t in numbers:
        first = output[t]
        for begin in range(0, n, LANES):
            lanes = np.uint64(min(LANES, n - begin))
            for lane in range(lanes):
                node[lane] = offsets[t]
            moving = True
            while moving:
                moving = False
                for lane in range(lanes):
                    at = node[lane]
                    side = np.uint32(points[np.uint64(begin) + lane, tests[at, 0]] > thresholds[at])
                    below = tests[at, np.uint32(1) + side]
                    moving |= below != at
                    node[lane] = below
            for lane in range(lanes):
                for o in range(value.shape[1]):
                    out[np.uint64(begin) + lane, first + o] += value[node[lane], o]
