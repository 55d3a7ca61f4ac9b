"""One tree of boosting: a second-order step, grown by histograms, the best leaf first."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

import softwood.compiled.boosting as loop
from softwood.core.threads import Threads
from softwood.kernel.growing.loops.groups import Bins
from softwood.kernel.rounds.loops.boost import NODE, Columns, Pile
from softwood.kernel.rounds.loops.boost_histograms import BLOCK
from softwood.kernel.rounds.loops.boost_scores import BY_GRADIENT, Edges, Rules
from softwood.kernel.rounds.loops.boost_search import DIVIDED, LEAF, MOST_BLOCKS, N_FREE, SEARCHED, SearchSpace

# A search of at least this many cells of histograms is shared with other threads. A cell takes about a nanosecond, and
# handing over work forty microseconds.
WORTH_THREADS = 1 << 17
# A leaf with more rows than this is divided in blocks by several threads. Work is handed over twice, and a row takes
# one to three nanoseconds.
WORTH_DIVIDING = 1 << 17
_NONE = np.empty(0)
_NO_LIMIT = int(np.iinfo(np.int64).max)
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
    rare_mass : categories with less mass in a leaf stay together, except the few largest ones
    category_smooth : added to the hessian of a category where categories are ordered
    category_l2 : added to `l2` where sets of more than a few categories are compared
    """

    max_leaves: int | None = 31
    max_depth: int | None = None
    min_mass: float = 20.0
    min_gain: float = 0.0
    l2: float = 0.0
    cutoff: float = 1e-6
    directions: np.ndarray | None = None
    rare_mass: float = 30.0
    category_smooth: float = 10.0
    category_l2: float = 10.0


@dataclass(frozen=True)
class NewtonTree:
    """A grown tree, and where the rows it was grown on are.

    Attributes
    ----------
    nodes : (n_nodes,) of the type `softwood.kernel.rounds.loops.boost.NODE`
    widths : (p,) half-widths it was grown with
    leaves : (n_leaves,) of the type `softwood.kernel.rounds.loops.boost_search.LEAF`
    rows, shares : the rows of the leaves, one after the other, and memberships
    subsets : (n_nodes, n_words) sets of categories; None if no column has any
    vectors : (n_nodes, n_scores) values of a tree for all raw scores; None: those in `nodes`, for one
    gained : (n_nodes,) twice the decrease of the loss by these values, without l2; None: by those in `nodes`
    """

    nodes: np.ndarray
    widths: np.ndarray
    leaves: np.ndarray
    rows: np.ndarray
    shares: np.ndarray | None
    subsets: np.ndarray | None = None
    vectors: np.ndarray | None = None
    gained: np.ndarray | None = None

    @property
    def values(self) -> np.ndarray:
        """Values of the nodes, (n_nodes, n_values); writing to it changes the tree."""
        return self.nodes["value"][:, None] if self.vectors is None else self.vectors

    def add_to(self, raw: np.ndarray, column: int, threads: Threads | None = None) -> None:
        """Add the tree's values to raw scores (n, n_scores) of the rows it was grown on, from this column on.

        The scores are stored by column if the tree has one value. The rows must have been given in ascending order.
        """
        scores = raw[:, column] if self.vectors is None else raw
        n_parts = 1 if threads is None or len(scores) < WORTH_DIVIDING else 2 * threads.n_threads

        def add(part: int, _: int) -> None:
            first, last = (len(scores) * end // n_parts for end in (part, part + 1))
            if self.vectors is None:
                loop.add_leaf_values(self.leaves, self.rows, self.shares, self.nodes, first, last, scores)
            else:
                loop.add_leaf_vectors(self.leaves, self.rows, self.shares, self.vectors, first, last, scores)

        if threads is None or n_parts == 1:
            add(0, 0)
        else:
            threads.run(add, n_parts)

    def without_rows(self) -> NewtonTree:
        """The tree without the rows that it was grown on."""
        return NewtonTree(self.nodes, self.widths, _NONE, _NONE, None, self.subsets, self.vectors, self.gained)

    def members(self, leaf: int) -> tuple[np.ndarray, np.ndarray | float]:
        """Rows of a leaf, and their memberships."""
        begin = self.leaves["begin"][leaf]
        part = slice(begin, begin + self.leaves["size"][leaf])
        return self.rows[part], 1.0 if self.shares is None else self.shares[part]


@dataclass(frozen=True)
class BinnedRows:
    """The training rows as growers read them.

    Attributes
    ----------
    columns : the codes by feature
    all_rows : (n,) numbers of the rows
    """

    bins: Bins
    columns: Columns
    all_rows: np.ndarray

    @classmethod
    def of(cls, bins: Bins) -> BinnedRows:
        """All rows of these bins."""
        columns = Columns(np.ascontiguousarray(bins.codes.T))
        return cls(bins, columns, np.arange(len(bins.codes), dtype=np.uint32))


@dataclass(frozen=True)
class Boxes:
    """Half-widths of the kernels (p,), the edges of the bins' boxes as loops take them, and whether any has a width."""

    widths: np.ndarray
    edges: Edges
    is_soft: bool

    @classmethod
    def of(cls, bins: Bins, widths: np.ndarray, reach: np.ndarray | None = None) -> Boxes:
        """Boxes around the bins: of these half-widths (p,), or with one for each bin, (total,), the `reach`."""
        p, largest = len(widths), widths
        if reach is None:
            reach = np.zeros(len(bins.values))
            reach[bins.offsets[0] : bins.offsets[-1]] = np.repeat(widths, np.diff(bins.offsets))
        else:
            largest = np.array([np.max(reach[a:b], initial=0.0) for a, b in pairwise(bins.offsets)])
        is_soft = largest > 0
        shape = p, 2 * bins.most if is_soft.any() else 0
        edges = Edges(largest, np.full(shape, np.inf), np.zeros(shape, np.uint32), reach)
        for j in np.flatnonzero(is_soft):
            here = slice(bins.offsets[j], bins.offsets[j + 1])
            values, own = bins.values[here], reach[here]
            n = len(values)
            with np.errstate(over="ignore"):
                places = np.concatenate([values - own, values + own])
            order = np.argsort(places, kind="stable")  # of edges at one place, those where boxes begin come first
            is_end = order >= n
            n_covering = np.cumsum(1 - 2 * is_end)
            edges.places[j, : 2 * n] = places[order]
            edges.kinds[j, : 2 * n] = 4 * (order % max(n, 1)) + 2 * (n_covering == 0) + is_end
        return cls(widths, edges, bool(is_soft.any()))


class NewtonGrower:
    """Grows tree after tree on the same bins, in the same memory.

    With several threads, large leaves are added up and divided in blocks of rows, and searched by features; trees do
    not depend on the number of threads.
    """

    def __init__(self, data: BinnedRows, limits: NewtonLimits, threads: Threads | None = None) -> None:
        self.data, self.limits, self.threads = data, limits, threads
        n, p = data.bins.codes.shape
        most = data.bins.most
        self.n_parts = 1 if threads is None else max(1, min(threads.n_threads, p))
        self._divides = threads is not None and threads.n_threads > 1 and n > WORTH_DIVIDING
        room = 32 if limits.max_leaves is None else limits.max_leaves
        self.pile = Pile(
            state=np.zeros(7, np.int64),
            free=np.zeros(min(room, 32) + 1, np.int64),
            leaves=np.zeros(room, LEAF),
            splits=np.zeros((room, 6)),
            bounds=np.zeros((room, 2, p)),
            nodes=np.zeros(2 * room, NODE),
            rows=np.zeros(2 * n, dtype=np.uint32),
            left_rows=np.zeros(n, dtype=np.uint32),
            right_rows=np.zeros(n if self._divides else 0, dtype=np.uint32),
            parts=np.zeros(most + 1),
            counts=np.zeros((MOST_BLOCKS, 2), np.int64),
            sums=np.zeros((MOST_BLOCKS, 3)),
            subsets=np.zeros((room, data.bins.n_words), np.uint32),
            node_subsets=np.zeros((2 * room, data.bins.n_words), np.uint32),
        )
        self.space = SearchSpace(
            tables=np.zeros((min(room, 32) + 1, p, most + 1, 4)),
            found=np.zeros((2, p, 6)),
            block=np.zeros((1 if threads is None else threads.n_threads, BLOCK, 4)),
            lines=np.zeros((self.n_parts, 7, 2 * most)),
            keys=np.zeros((self.n_parts, most + 1)),
            ranks=np.zeros((self.n_parts, 2, most + 1), np.int64),
            blocks=np.zeros((MOST_BLOCKS - 1 if loop.count_blocks(n) > 1 else 0, p, most + 1, 4)),
        )
        self.rules = loop_rules(limits)
        self.directions = None if limits.directions is None else np.asarray(limits.directions, dtype=np.int64)

    def grow(
        self,
        rows_sums: np.ndarray,
        rows: np.ndarray | None,
        features: np.ndarray,
        kernels: Boxes,
        category_order: int = BY_GRADIENT,
    ) -> NewtonTree:
        """Grow a tree; the result's arrays are views that the next call overwrites, but for its nodes.

        Parameters
        ----------
        rows_sums : (n, 3) hessian, gradient and weight of each row
        rows : rows to grow it on; None: all
        features : features to look at
        category_order : see `softwood.kernel.rounds.loops.boost_scores.BY_GRADIENT`
        """
        self.rules = self.rules._replace(category_order=category_order)
        m = len(self.data.all_rows) if rows is None else len(rows)
        self.pile.rows[:m] = self.data.all_rows if rows is None else rows
        self._set_shares(m, kernels.is_soft)
        self.pile.state[:] = 0, 1, m, len(self.space.tables), -1, -1, -1
        while True:
            self._run(rows_sums, features, kernels)
            if not self._make_room():
                break
        pile = self.pile
        n_nodes, n_leaves, length = pile.state[:3].tolist()
        self._settle(rows_sums, n_leaves)
        return NewtonTree(
            pile.nodes[:n_nodes].copy(),
            kernels.widths,
            pile.leaves[:n_leaves],
            pile.rows[:length],
            None if pile.shares is None else pile.shares[:length],
            self._sets(n_nodes),
        )

    def _settle(self, rows_sums: np.ndarray, n_leaves: int) -> None:
        """Compute the values of the leaves."""
        pile, l2 = loop.Pile(*self.pile), self.rules.l2
        if self.threads is None or not self._divides:
            loop.settle_leaves(pile, rows_sums, l2)
        else:
            self.threads.run(lambda leaf, _: loop.settle_leaf(leaf, pile, rows_sums, l2), n_leaves)

    def _set_shares(self, m: int, is_soft: bool) -> None:
        """Memberships of `m` rows at the root, or none."""
        pile = self.pile
        if not is_soft:
            self.pile = pile._replace(shares=None, left_shares=None, right_shares=None)
            return
        if pile.shares is None:
            own, left, right = (np.zeros(len(rows)) for rows in (pile.rows, pile.left_rows, pile.right_rows))
            pile = self.pile = pile._replace(shares=own, left_shares=left, right_shares=right)
        assert pile.shares is not None
        pile.shares[:m] = 1.0

    def _sets(self, n_nodes: int) -> np.ndarray | None:
        """Sets of categories of the nodes of the tree, (n_nodes, n_words)."""
        n_categories = self.data.bins.n_categories
        if len(n_categories) == 0:
            return None
        feature = self.pile.nodes["feature"][:n_nodes]
        by_set = (feature >= 0) & (n_categories[feature] > 0)
        return np.where(by_set[:, None], self.pile.node_subsets[:n_nodes], np.uint32(0))

    def _run(self, rows_sums: np.ndarray, features: np.ndarray, kernels: Boxes) -> None:
        """Grow until there is no split left, or an array is too short."""
        # The arguments as the compiled loops take them, converted once for all calls.
        bins, columns, edges = loop.Bins(*self.data.bins), loop.Columns(*self.data.columns), loop.Edges(*kernels.edges)
        pile, space = loop.Pile(*self.pile), loop.SearchSpace(*self.space)
        rules, directions = self.rules, self.directions
        n_parts = min(self.n_parts, len(features))
        most = WORTH_THREADS // len(features) if n_parts > 1 else _NO_LIMIT
        most_rows = WORTH_DIVIDING if self._divides else _NO_LIMIT

        def search(part: int, _: int) -> None:
            loop.search_part((part, n_parts), bins, edges, rows_sums, pile, features, directions, rules, space)

        def add(block: int, thread: int) -> None:
            loop.add_block((block, n_blocks, thread), bins, rows_sums, pile, features, space)

        def divide(block: int, _: int) -> None:
            loop.divide_block((block, n_blocks), columns, pile, rules.cutoff)

        def place(block: int, _: int) -> None:
            loop.place_block((block, n_blocks), rows_sums, pile)

        state, sizes = self.pile.state, self.pile.leaves["size"]
        while True:
            loop.grow_boosted(
                bins, columns, edges, rows_sums, features, directions, rules, pile, space, most, most_rows
            )  # fmt: skip
            if state[DIVIDED] < 0 and state[SEARCHED] < 0:
                return
            assert self.threads is not None
            if state[DIVIDED] >= 0:
                n_blocks = loop.count_blocks(sizes[state[DIVIDED]])
                self.threads.run(divide, n_blocks)
                self.threads.run(place, n_blocks)
                continue
            n_blocks = loop.count_blocks(sizes[state[SEARCHED]])
            if n_blocks > 1:
                self.threads.run(add, n_blocks)
            self.threads.run(search, n_parts)

    def _make_room(self) -> bool:
        """Lengthen the arrays that are too short for the next split; returns False if the tree is finished."""
        pile, rules = self.pile, self.rules
        n_nodes, n_leaves, length, n_free = pile.state[:4].tolist()
        if n_leaves >= rules.max_leaves:
            return False
        leaf = loop.next_leaf(pile.leaves, n_leaves, rules.best_first)
        if leaf < 0:
            return False
        longer: dict[str, np.ndarray] = {}
        if n_leaves == len(pile.leaves):
            longer |= {name: _longer(getattr(pile, name)) for name in ("leaves", "splits", "bounds", "subsets")}
        if n_nodes + 2 > len(pile.nodes):
            longer |= {name: _longer(getattr(pile, name)) for name in ("nodes", "node_subsets")}
        if length + pile.leaves["size"][leaf] > len(pile.rows):
            longer["rows"] = _longer(pile.rows)
            if pile.shares is not None:
                longer["shares"] = _longer(pile.shares)
        if n_free == 0:
            n_before = len(self.space.tables)
            self.space = self.space._replace(tables=_longer(self.space.tables))
            n_after = len(self.space.tables)
            longer["free"] = np.zeros(n_after, np.int64)
            longer["free"][: n_after - n_before] = np.arange(n_after - 1, n_before - 1, -1)
            pile.state[N_FREE] = n_after - n_before
        self.pile = pile._replace(**longer)
        return True


def loop_rules(limits: NewtonLimits) -> Rules:
    """The limits as the compiled loops take them."""
    return Rules(
        max_leaves=_NO_LIMIT if limits.max_leaves is None else limits.max_leaves,
        max_depth=_NO_LIMIT if limits.max_depth is None else limits.max_depth,
        min_mass=limits.min_mass,
        min_hessian=_MIN_HESSIAN,
        min_gain=limits.min_gain,
        l2=limits.l2,
        cutoff=limits.cutoff,
        best_first=limits.max_leaves is not None,
        rare_mass=limits.rare_mass,
        category_smooth=limits.category_smooth,
        category_l2=limits.category_l2,
    )


def _longer(array: np.ndarray) -> np.ndarray:
    """The array with room for twice as many entries."""
    return np.concatenate([array, np.zeros_like(array)])
