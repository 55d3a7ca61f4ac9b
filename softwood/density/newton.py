"""One tree of boosting: a second-order step, grown by histograms, the best leaf first."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import numba
import numpy as np

from softwood.forest import SoftForest
from softwood.loops import boost as loop
from softwood.loops.boost_search import LEAF, Rules, SearchSpace
from softwood.loops.groups import Bins
from softwood.loops.grow import BLOCK
from softwood.tree import SoftTree, children_of

__all__ = ["NewtonGrower", "NewtonLimits", "NewtonTree", "boosted_forest", "boosted_tree"]

# A parallel region must not be entered by two Python threads at once.
_REGION = threading.Lock()
_MIN_HESSIAN = 1e-3  # as in scikit-learn; the value of a child with a smaller hessian is very uncertain


@dataclass(frozen=True)
class NewtonLimits:
    """When to stop growing, and how to regularise.

    Attributes
    ----------
    max_leaves, max_depth : None for no limit
    min_mass : smallest mass (weight times membership) of a leaf
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
    nodes : (n_nodes,) of the type `softwood.loops.boost.NODE`
    widths : (p,) half-widths it was grown with
    leaves : (n_leaves,) of the type `softwood.loops.boost_search.LEAF`
    rows, shares : the rows of the leaves, one after the other, and memberships
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
        begin = self.leaves["begin"][leaf]
        part = slice(begin, begin + self.leaves["size"][leaf])
        return self.rows[part], 1.0 if self.shares is None else self.shares[part]


class NewtonGrower:
    """Grows tree after tree on the same bins, in the same memory."""

    def __init__(self, bins: Bins, limits: NewtonLimits, n_threads: int = 1) -> None:
        self.bins, self.limits = bins, limits
        self.n_threads = max(1, min(n_threads, bins.codes.shape[1], numba.get_num_threads()))
        n, p = bins.codes.shape
        most = bins.most
        room = 32 if limits.max_leaves is None else limits.max_leaves
        self.pile = loop.Pile(
            state=np.zeros(5, np.int64),
            free=np.zeros(0, np.int64),
            leaves=np.zeros(room, LEAF),
            splits=np.zeros((room, 6)),
            bounds=np.zeros((room, 2, p)),
            nodes=np.zeros(2 * room, loop.NODE),
            rows=np.zeros(2 * n, dtype=np.uint32),
            left_rows=np.zeros(n, dtype=np.uint32),
        )
        self.space = SearchSpace(
            tables=np.zeros((min(room, 32) + 1, p, most + 1, 3)),
            found=np.zeros((2, p, 6)),
            block=np.zeros((self.n_threads, BLOCK, 3)),
            lines=np.zeros((self.n_threads, most + 1, 4)),
            totals=np.zeros((self.n_threads, 2, 3)),
        )
        self.shares: np.ndarray | None = None
        self.left_shares: np.ndarray | None = None
        no_limit = np.iinfo(np.int64).max
        self.rules = Rules(
            max_leaves=no_limit if limits.max_leaves is None else limits.max_leaves,
            max_depth=no_limit if limits.max_depth is None else limits.max_depth,
            min_mass=limits.min_mass,
            min_hessian=_MIN_HESSIAN,
            min_gain=limits.min_gain,
            l2=limits.l2,
            cutoff=limits.cutoff,
            best_first=limits.max_leaves is not None,
        )

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
        pile = self.pile
        m = len(self.bins.codes) if rows is None else len(rows)
        is_soft = bool(np.any(widths > 0))
        pile.rows[:m] = np.arange(m) if rows is None else rows
        if is_soft and self.shares is None:
            self.shares, self.left_shares = np.zeros(len(pile.rows)), np.zeros(len(pile.left_rows))
        if is_soft:
            assert self.shares is not None
            self.shares[:m] = 1.0
        free = np.arange(len(self.space.tables) - 1, -1, -1)
        self.pile = pile = pile._replace(free=free)
        pile.state[:] = 1, 1, m, 0, len(free)
        root = pile.leaves[:1]
        root["begin"], root["size"], root["line"], root["depth"], root["feature"] = 0, m, 0, 0, -1
        root["lowest"], root["highest"] = -np.inf, np.inf
        pile.bounds[0] = [[-np.inf], [np.inf]]
        while True:
            self._run(rows_sums, features, widths, is_soft)
            if not self._make_room():
                break
        pile = self.pile
        n_nodes, n_leaves, length = (int(number) for number in pile.state[:3])
        return NewtonTree(
            pile.nodes[:n_nodes].copy(),
            widths,
            pile.leaves[:n_leaves],
            pile.rows[:length],
            self.shares[:length] if is_soft and self.shares is not None else None,
        )

    def _run(self, rows_sums: np.ndarray, features: np.ndarray, widths: np.ndarray, is_soft: bool) -> None:
        n_threads = self.n_threads if self.n_threads > 1 and len(features) > 1 else None
        arguments = (
            self.bins, widths, rows_sums, features, self.limits.directions, n_threads, self.rules, self.pile,
            self.shares if is_soft else None, self.left_shares if is_soft else None, self.space,
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

    def _make_room(self) -> bool:
        """Lengthen the arrays that are too short for the next split; returns False if the tree is finished."""
        pile, rules = self.pile, self.rules
        n_nodes, n_leaves, length, _, n_free = (int(number) for number in pile.state)
        leaf = loop.next_leaf(pile.leaves, n_leaves, rules.best_first)
        if n_leaves >= rules.max_leaves or leaf < 0:
            return False
        longer: dict[str, np.ndarray] = {}
        if n_leaves == len(pile.leaves):
            longer |= {name: _longer(getattr(pile, name)) for name in ("leaves", "splits", "bounds")}
        if n_nodes + 2 > len(pile.nodes):
            longer["nodes"] = _longer(pile.nodes)
        if length + pile.leaves["size"][leaf] > len(pile.rows):
            longer["rows"] = _longer(pile.rows)
            self.shares = None if self.shares is None else _longer(self.shares)
        if n_free == 0:
            n_before = len(self.space.tables)
            self.space = self.space._replace(tables=_longer(self.space.tables))
            n_after = len(self.space.tables)
            longer["free"] = np.zeros(n_after, np.int64)
            longer["free"][: n_after - n_before] = np.arange(n_after - 1, n_before - 1, -1)
            pile.state[4] = n_after - n_before
        self.pile = pile._replace(**longer)
        return True


def _longer(array: np.ndarray) -> np.ndarray:
    """The array with room for twice as many entries."""
    return np.concatenate([array, np.zeros_like(array)])


def boosted_tree(tree: NewtonTree, cutoff: float) -> SoftTree:
    """The tree as a `SoftTree` with one output."""
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
    parent, feature = nodes["parent"], nodes["feature"]
    left, right = children_of(parent, nodes["side"], np.repeat(starts, sizes))
    is_inner = feature >= 0
    width = np.concatenate([tree.widths[tree.nodes["feature"]] for tree in trees])
    # The remaining loss, up to a constant that is the same for all nodes of a tree; differences are gains.
    h, g, w = nodes["h"], nodes["g"], nodes["w"]
    gained = g * g / h / w
    most = np.repeat(np.maximum.reduceat(gained, starts), sizes)
    return {
        "children_left": left,
        "children_right": right,
        "parent": parent,
        "depth": nodes["depth"],
        "feature": feature,
        "threshold": nodes["threshold"],
        "missing_left": np.where(is_inner, nodes["missing_left"], 0.5),
        "width": np.where(is_inner, width, 0.0),
        "value": nodes["value"],
        "mass": w,
        "impurity": most - gained,
    }
