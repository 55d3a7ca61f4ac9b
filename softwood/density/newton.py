"""One tree of boosting: a second-order step, grown by histograms, the best leaf first."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numba
import numpy as np

from softwood.density.binning import Bins
from softwood.forest import SoftForest
from softwood.loops import boost as loop
from softwood.loops.grow import BLOCK
from softwood.tree import SoftTree, children_of

__all__ = ["NewtonGrower", "NewtonLimits", "NewtonTree", "boosted_forest", "boosted_tree"]

# A parallel region must not be entered by two Python threads at once.
_REGION = threading.Lock()
_MIN_HESSIAN = 1e-3  # as in scikit-learn: a side with less says next to nothing about its value


@dataclass(frozen=True)
class NewtonLimits:
    """When to stop growing, and how to regularise.

    Attributes
    ----------
    max_leaves, max_depth : None for no limit
    min_mass : smallest weight, by membership, of a leaf
    l2 : added to the hessian of every leaf
    directions : (p,) -1, 0 or 1 for each feature: falling, any, rising; None for no constraint
    """

    max_leaves: int | None = 31
    max_depth: int | None = None
    min_mass: float = 20.0
    min_gain: float = 0.0
    l2: float = 0.0
    cutoff: float = 1e-6
    directions: np.ndarray | None = None


@dataclass(frozen=True)
class NewtonTree:
    """A grown tree, and where the rows it was grown on are.

    Attributes
    ----------
    nodes : (n_nodes, 10) columns as in `softwood.loops.boost`
    widths : (p,) half-widths it was grown with
    leaves : (n_leaves, 12) the leaves;  rows, shares : the rows of the leaves, one after the other, and memberships
    """

    nodes: np.ndarray
    widths: np.ndarray
    leaves: np.ndarray
    rows: np.ndarray
    shares: np.ndarray | None

    def add_to(self, raw: np.ndarray, column: int) -> None:
        """Add the tree's values to the raw scores (n, n_scores) of the rows it was grown on."""
        loop.add_leaf_values(self.leaves, len(self.leaves), self.rows, self.shares, self.nodes, raw, column)

    def members(self, leaf: int) -> tuple[np.ndarray, np.ndarray | float]:
        """Rows of a leaf, and their memberships."""
        begin, size = int(self.leaves[leaf, loop.BEGIN]), int(self.leaves[leaf, loop.SIZE])
        part = slice(begin, begin + size)
        return self.rows[part], 1.0 if self.shares is None else self.shares[part]


class NewtonGrower:
    """Grows tree after tree on the same bins, in the same memory."""

    def __init__(self, bins: Bins, limits: NewtonLimits, n_threads: int = 1) -> None:
        self.bins, self.limits = bins, limits
        self.n_threads = max(1, min(n_threads, bins.codes.shape[1], numba.get_num_threads()))
        n, p = bins.codes.shape
        most = bins.most
        room = 32 if limits.max_leaves is None else limits.max_leaves
        self.leaves = np.zeros((room, 12))
        self.splits = np.zeros((room, 6))
        self.bounds = np.zeros((room, 2, p))
        self.nodes = np.zeros((2 * room, loop.NODE_COLUMNS))
        self.tables = np.zeros((min(room, 32) + 1, p, most + 1, 3))
        self.rows = np.zeros(2 * n, dtype=np.uint32)
        self.shares: np.ndarray | None = None
        self.left_rows = np.zeros(n, dtype=np.uint32)
        self.left_shares: np.ndarray | None = None
        self.scratch = (
            np.zeros((2, p, 6)), np.zeros((self.n_threads, BLOCK, 3)), np.zeros((self.n_threads, most + 1, 4)),
            np.zeros((self.n_threads, 2, 3)),
        )  # fmt: skip

    def grow(
        self, rows_sums: np.ndarray, rows: np.ndarray | None, features: np.ndarray, widths: np.ndarray
    ) -> NewtonTree:
        """Grow a tree; the result's arrays are views that the next call overwrites, but for its nodes.

        Parameters
        ----------
        rows_sums : (n, 3) hessian, gradient and weight of each row
        rows : rows to grow it on; None: all
        features : features to look at;  widths : (p,) half-widths of the kernels
        """
        bins = self.bins
        m = len(bins.codes) if rows is None else len(rows)
        is_soft = bool(np.any(widths > 0))
        self.rows[:m] = np.arange(m) if rows is None else rows
        if is_soft and self.shares is None:
            self.shares, self.left_shares = np.zeros(len(self.rows)), np.zeros(len(self.left_rows))
        if is_soft:
            assert self.shares is not None
            self.shares[:m] = 1.0
        free = np.arange(len(self.tables) - 1, -1, -1)
        state = np.array([1, 1, m, 0, len(free)], dtype=np.int64)
        self.leaves[0] = [0, m, 0, 0, 0, 0, 0, -np.inf, np.inf, 0, -np.inf, -1]
        self.bounds[0] = [[-np.inf], [np.inf]]
        while True:
            self._run(rows_sums, features, widths, state, free, is_soft)
            if not self._make_room(state):
                break
            if len(free) < len(self.tables):
                more = np.arange(len(self.tables) - 1, len(free) - 1, -1)
                free = np.concatenate([free[: state[4]], more, np.zeros(len(free) - state[4], dtype=np.int64)])
                state[4] += len(more)
        n_nodes, n_leaves, length = (int(number) for number in state[:3])
        return NewtonTree(
            self.nodes[:n_nodes].copy(),
            widths,
            self.leaves[:n_leaves],
            self.rows[:length],
            self.shares[:length] if is_soft and self.shares is not None else None,
        )

    def _run(
        self, rows_sums: np.ndarray, features: np.ndarray, widths: np.ndarray, state: np.ndarray, free: np.ndarray,
        is_soft: bool,
    ) -> None:  # fmt: skip
        bins, limits = self.bins, self.limits
        no_limit = np.iinfo(np.int64).max
        n_threads = self.n_threads if self.n_threads > 1 and len(features) > 1 else None
        arguments = (
            bins.codes, rows_sums, bins.values, bins.lows, bins.highs, bins.offsets, widths, features,
            limits.directions, n_threads, no_limit if limits.max_leaves is None else limits.max_leaves,
            no_limit if limits.max_depth is None else limits.max_depth, limits.min_mass, _MIN_HESSIAN, limits.min_gain,
            limits.l2, limits.cutoff, limits.max_leaves is not None, state, free, self.leaves, self.splits, self.bounds,
            self.nodes, self.tables, self.rows, self.shares if is_soft else None, self.left_rows,
            self.left_shares if is_soft else None, *self.scratch,
        )  # fmt: skip
        if n_threads is None:
            loop.grow_boosted(*arguments)
            return
        with _REGION:
            usual = numba.get_num_threads()
            numba.set_num_threads(n_threads)
            try:
                loop.grow_boosted(*arguments)
            finally:
                numba.set_num_threads(usual)

    def _make_room(self, state: np.ndarray) -> bool:
        """Lengthen what was too short for the next split; False if the tree is finished."""
        n_nodes, n_leaves, length, _, n_free = (int(number) for number in state)
        limits = self.limits
        if limits.max_leaves is not None and n_leaves >= limits.max_leaves:
            return False
        is_open = self.leaves[:n_leaves, loop.BEST_FEATURE] >= 0
        if not is_open.any():
            return False
        gains = np.where(is_open, self.leaves[:n_leaves, loop.BEST_GAIN], -np.inf)
        last = len(gains) - 1 - int(np.argmax(is_open[::-1]))
        leaf = int(np.argmax(gains)) if limits.max_leaves is not None else last
        size = int(self.leaves[leaf, loop.SIZE])
        if n_leaves == len(self.leaves):
            self.leaves, self.splits, self.bounds = (_longer(a) for a in (self.leaves, self.splits, self.bounds))
        if n_nodes + 2 > len(self.nodes):
            self.nodes = _longer(self.nodes)
        if length + size > len(self.rows):
            self.rows = _longer(self.rows)
            self.shares = None if self.shares is None else _longer(self.shares)
        if n_free == 0:
            self.tables = _longer(self.tables)
        return True


def _longer(array: np.ndarray) -> np.ndarray:
    """The array with as much room again."""
    return np.concatenate([array, np.zeros_like(array)])


def boosted_tree(tree: NewtonTree, cutoff: float) -> SoftTree:
    """The tree on its own, one output."""
    return SoftTree.from_nodes(**_columns([tree]), n_features=len(tree.widths), cutoff=cutoff)


def boosted_forest(trees: list[NewtonTree], output: np.ndarray, base: np.ndarray, cutoff: float) -> SoftForest:
    """The sum of the trees; `output` (n_trees,) is the raw score that each adds to, `base` the start value."""
    return SoftForest.from_nodes(
        offsets=np.concatenate([[0], np.cumsum([len(tree.nodes) for tree in trees])]).astype(np.int64),
        output=np.asarray(output, dtype=np.int32),
        base=np.asarray(base, dtype=np.float64),
        is_mean=False,
        n_features=len(trees[0].widths),
        cutoff=cutoff,
        **_columns(trees),
    )


def _columns(trees: list[NewtonTree]) -> dict[str, np.ndarray]:
    """Columns of all trees, one after the other."""
    sizes = [len(tree.nodes) for tree in trees]
    starts = np.cumsum([0, *sizes[:-1]])
    nodes = np.concatenate([tree.nodes for tree in trees])
    parent, feature = nodes[:, loop.NODE_PARENT].astype(np.int32), nodes[:, loop.NODE_FEATURE].astype(np.int32)
    left, right = children_of(parent, nodes[:, loop.NODE_SIDE], np.repeat(starts, sizes))
    is_inner = feature >= 0
    width = np.concatenate([tree.widths[tree.nodes[:, loop.NODE_FEATURE].astype(np.int64)] for tree in trees])
    # Loss that is left, up to a number that is the same for all nodes of a tree: differences are gains.
    h, g, w = (nodes[:, column] for column in (loop.NODE_H, loop.NODE_G, loop.NODE_W))
    gained = g * g / h / w
    most = np.repeat(np.maximum.reduceat(gained, starts), sizes)
    return {
        "children_left": left,
        "children_right": right,
        "parent": parent,
        "depth": nodes[:, loop.NODE_DEPTH],
        "feature": feature,
        "threshold": nodes[:, loop.NODE_THRESHOLD],
        "missing_left": np.where(is_inner, nodes[:, loop.NODE_MISSING], 0.5),
        "width": np.where(is_inner, width, 0.0),
        "value": nodes[:, loop.NODE_VALUE],
        "mass": w,
        "impurity": most - gained,
    }
