"""The search of boosting: the best split of a leaf by histograms of second-order sums.

Histograms of parts of the rows add up to that of all. `softwood.kernel.rounds.loops.boost` grows trees by this search.
Arguments that recur are explained in `softwood.kernel.rounds.loops.boost_scores`.
"""

from typing import NamedTuple

import numpy as np

from softwood.kernel.growing.loops.scan import SLACK
from softwood.kernel.rounds.loops.boost_categories import search_category
from softwood.kernel.rounds.loops.boost_histograms import (
    add_histogram,
    add_histograms,
    clear_histogram,
    subtract_histogram,
)
from softwood.kernel.rounds.loops.boost_scores import GAIN, TIE, score
from softwood.kernel.rounds.loops.boost_thresholds import search_feature
from softwood.trees.loops.sets import is_category

# Entries of the state of a pile, see `softwood.kernel.rounds.loops.boost.Pile`.
N_NODES, N_LEAVES, LENGTH, N_FREE, SEARCHED, SIBLING, DIVIDED = range(7)
# A leaf while the tree grows.
LEAF = np.dtype(
    [
        ("begin", np.int64),  # where its rows are
        ("size", np.int64),
        ("line", np.int64),  # in the node table
        ("depth", np.int64),
        ("slot", np.int64),  # of its histogram
        ("feature", np.int64),  # of its best split; -1: none
        ("gain", np.float64),
        ("h", np.float64),  # sums of its rows: hessian, gradient, weight
        ("g", np.float64),
        ("w", np.float64),
        ("lowest", np.float64),  # limits of its value
        ("highest", np.float64),
    ]
)
# A leaf of at least twice this many rows is added up and divided in blocks, at most so many; threads may share them.
# Blocks do not depend on the number of threads, so neither do the sums.
BLOCK_ROWS, MOST_BLOCKS = 1 << 13, 8


class SearchSpace(NamedTuple):
    """Scratch space of the search; all but the first two and the last for each part of the features.

    Attributes
    ----------
    tables : (n_slots, p, most + 1, 4) histograms of the open leaves, by slot
    found : (2, n_features, 6) best splits of a leaf and its sibling
    block : (n_threads, BLOCK, 4), the last column 0;  lines : (n_parts, 7, 2 * most)
    keys, ranks : (n_parts, most + 1) and (n_parts, 2, most + 1), see `order_categories`
    blocks : (MOST_BLOCKS - 1, p, most + 1, 4) histograms of the blocks of a large leaf but the first; (0, ...) if there
        is none
    """

    tables: np.ndarray
    found: np.ndarray
    block: np.ndarray
    lines: np.ndarray
    keys: np.ndarray = np.zeros((1, 0))
    ranks: np.ndarray = np.zeros((1, 2, 0), np.int64)
    blocks: np.ndarray = np.zeros((0, 0, 0, 4))


def is_splittable(leaves, leaf, max_depth, min_mass):
    """Whether a split of this leaf may be looked for; -1 is no leaf."""
    if leaf < 0:
        return False
    return leaves[leaf]["depth"] < max_depth and leaves[leaf]["w"] >= 2.0 * min_mass * SLACK


def count_blocks(size):
    """Number of blocks of a leaf with so many rows."""
    return min(MOST_BLOCKS, max(1, size // BLOCK_ROWS))


def add_block(place, bins, rows_sums, pile, features, space):
    """Histograms of a block of the leaf that `pile.state` names: of the first one in the leaf's table.

    place : number of the block, that of all blocks, and that of the thread
    """
    b, n_blocks, thread = place
    leaf = pile.state[SEARCHED]
    begin, size = pile.leaves[leaf]["begin"], pile.leaves[leaf]["size"]
    first = size * b // n_blocks
    last = size * (b + 1) // n_blocks
    table = space.tables[pile.leaves[leaf]["slot"]] if b == 0 else space.blocks[b - 1]
    n_features = features.shape[0]
    for f in range(n_features):
        j = features[f]
        clear_histogram(table, j, bins.offsets[j + 1] - bins.offsets[j] + 1)
    add_histograms(
        bins.codes, pile.rows, begin + first, last - first, pile.shares, rows_sums, features, 0, n_features, table,
        space.block[thread],
    )  # fmt: skip


def search_part(part, bins, edges, rows_sums, pile, features, directions, rules, space):
    """Histograms and best splits on a part of the features, for the leaves that `pile.state` names.

    The first leaf is added up row by row, or by its blocks, if there are several, which `add_block` has filled; the
    other one, if it is not -1, has its parent's table, from which that of the first is taken. Each part may be searched
    in a thread of its own.

    part : its number, and that of all parts;  directions : (p,) monotonic constraints, or None
    """
    b, n_parts = part
    leaves = pile.leaves
    small, large = pile.state[SEARCHED], pile.state[SIBLING]
    lines = space.lines[b]
    f0 = features.shape[0] * b // n_parts
    f1 = features.shape[0] * (b + 1) // n_parts
    table = space.tables[leaves[small]["slot"]]
    n_blocks = count_blocks(leaves[small]["size"])
    for f in range(f0, f1):
        j = features[f]
        n_lines = bins.offsets[j + 1] - bins.offsets[j] + 1
        if n_blocks == 1:
            clear_histogram(table, j, n_lines)
        for block in range(n_blocks - 1):
            add_histogram(table, space.blocks[block], j, n_lines)
    if n_blocks == 1:
        add_histograms(
            bins.codes, pile.rows, leaves[small]["begin"], leaves[small]["size"], pile.shares, rows_sums, features, f0,
            f1, table, space.block[b],
        )  # fmt: skip
    for side in range(2):
        leaf = small if side == 0 else large
        if not is_splittable(leaves, leaf, rules.max_depth, rules.min_mass):
            continue
        total = leaves[leaf]["h"], leaves[leaf]["g"], leaves[leaf]["w"]
        own, out = space.tables[leaves[leaf]["slot"]], space.found[side]
        for f in range(f0, f1):
            j = features[f]
            n_bins = bins.offsets[j + 1] - bins.offsets[j]
            if side == 1:
                subtract_histogram(own, table, j, n_bins + 1)
            direction = 0
            if directions is not None:
                direction = directions[j]
            limits = leaves[leaf]["lowest"], leaves[leaf]["highest"], direction
            if is_category(bins.n_categories, j):
                search_category(
                    own, j, n_bins, total, rules, limits, lines, space.keys[b], space.ranks[b, 0], out, f
                )  # fmt: skip
            else:
                interval = pile.bounds[leaf, 0, j], pile.bounds[leaf, 1, j]
                search_feature(own, j, bins, edges, interval, total, rules, limits, lines, out, f)


def choose_split(leaves, leaf, found, features, l2, min_gain, splits):
    """Enter the best split of a leaf over its features, the first of equals; a gain of 0 or less is none."""
    leaves[leaf]["feature"] = -1
    leaves[leaf]["gain"] = -np.inf
    base = score(leaves[leaf]["g"], leaves[leaf]["h"], l2, leaves[leaf]["lowest"], leaves[leaf]["highest"])
    best = -np.inf
    for f in range(features.shape[0]):
        s = found[f, GAIN]
        if s - base > min_gain + TIE * abs(base) and s - TIE * abs(s) > best:
            best = s
            leaves[leaf]["gain"] = s - base
            leaves[leaf]["feature"] = features[f]
            for c in range(found.shape[1]):
                splits[leaf, c] = found[f, c]
