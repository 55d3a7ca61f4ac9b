"""Growth by levels: trees that grow from sums of whole numbers, which parts of the rows add up.

The holder of the row partitions (`Parts`) computes the sums and divides the rows; the best splits are chosen here.
There is one exchange for each level: the splits of all nodes are sent, and sums and histograms of their children come
back. If a node has a histogram for the same features as its parent, only the histogram of the child with less mass is
computed; that of the other child is the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from softwood.kernel.parts.loops.divide import SLOT
from softwood.kernel.parts.rows import Levels, Request, Splits, add_up
from softwood.kernel.parts.sources import Parts

# Bytes of the histograms of one request; with more, a level takes several exchanges.
_MOST_BYTES = 1 << 26
# Histograms of the open nodes are kept for differences if those of the largest level take at most this many bytes.
_MOST_KEPT = 1 << 28


@dataclass
class OpenNode:
    """A node that may be split.

    Attributes
    ----------
    number, slot : its number in the tree, and its slot in the parts
    order : features in the order of the search, of which `n_seen` have been searched
    table : its histogram; None if it has none, or it is not kept
    parent, sibling : the parent's histogram, and the child with less mass, if the histogram is their difference
    """

    number: int
    slot: int
    order: np.ndarray
    n_seen: int = 0
    is_done: bool = False
    table: np.ndarray | None = None
    parent: np.ndarray | None = None
    sibling: OpenNode | None = None


class LevelTree:
    """A tree that grows by levels: the base of trees of boosting and of other trees.

    Parameters
    ----------
    n_window : number of features that a node searches at once; if none of them can be split, it searches the next ones
    p : number of all features
    n_columns, most : columns and lines of a histogram
    n_totals : number of sums of a node; if these are more than the columns, they are not read from its histogram
    max_leaves, max_depth : None for no limit

    Attributes
    ----------
    levels : the splits of each level
    subsets : (>= n_nodes, n_words) the set of categories of each split
    lines_of_slots : the node in each slot
    dead : nodes that are not part of the finished tree
    """

    def __init__(
        self,
        n_window: int,
        p: int,
        n_columns: int,
        n_totals: int,
        most: int,
        max_leaves: int | None,
        max_depth: int | None,
    ) -> None:
        self.n_window, self.n_columns, self.n_totals = n_window, n_columns, n_totals
        self.max_leaves, self.max_depth = max_leaves, max_depth
        self.levels: list[Splits] = []
        self.subsets = np.zeros((0, 0), np.uint32)
        self.lines_of_slots = [0]
        self._open: list[OpenNode] = []
        self._divided: list[tuple[int, int, int]] = []  # node, its child with less mass, and the other one
        self._unknown: list[int] = []  # new nodes whose sums are to come
        self._known: dict[int, np.ndarray] = {}  # sums of new nodes
        self._totals: dict[int, np.ndarray] = {}
        self._size = n_window * (most + 1) * n_columns * 8
        widest = min(2.0 ** (60 if max_depth is None else max_depth), max_leaves or np.inf)
        self._keeps = n_window == p and widest * self._size <= _MOST_KEPT
        self.is_finished = False
        self.dead: set[int] = set()  # children of splits that were undone

    # Implemented by each kind of tree

    def node_order(self, number: int) -> np.ndarray:
        """Features of a node in the order of the search."""
        raise NotImplementedError

    def may_split(self, number: int) -> bool:
        """Whether to search for a split of this node, as far as its sums are known."""
        raise NotImplementedError

    def enter(self, number: int, totals: np.ndarray) -> None:
        """Store the sums of a node."""
        raise NotImplementedError

    def choose(self, nodes: list[OpenNode], tables: np.ndarray, features: np.ndarray) -> list[bool]:
        """Search for the best splits of nodes; returns whether the search of each has ended."""
        raise NotImplementedError

    def gain(self, number: int) -> float:
        """Gain of the best split of a node; -inf if there is none."""
        raise NotImplementedError

    def slot_of(self, number: int) -> tuple[int, float, float, float, float]:
        """Best split of a node, as a line of type `SLOT`."""
        raise NotImplementedError

    def split(self, number: int) -> tuple[int, int, bool]:
        """Split a node; returns the numbers of the children, and whether the left one has less mass."""
        raise NotImplementedError

    def settle(self, number: int, left: int, right: int) -> None:
        """Called when the sums of both children are known."""

    def undo(self, number: int) -> None:
        """Undo the split of a node: one of its children has no mass."""
        raise NotImplementedError

    def mass(self, number: int) -> float:
        """Mass of a node."""
        raise NotImplementedError

    def lines_left(self, number: int) -> np.ndarray | None:
        """Which lines of a histogram go left by the split of a node, (n_lines,) bool; None if rows can be divided."""
        return None

    # Levels

    def begin(self) -> None:
        """Open the root."""
        self._open = [OpenNode(0, 0, self.node_order(0))]
        self._unknown = [0]

    def request(self) -> Request:
        """The next histograms that are needed, and sums of new nodes that cannot be read from them."""
        wanted = [node for node in self._open if not node.is_done and node.sibling is None]
        wanted = wanted[: max(1, _MOST_BYTES // self._size)]
        n = self.n_window
        features = np.zeros((len(wanted), n), dtype=np.int64)
        for k, node in enumerate(wanted):  # the last window overlaps the one before
            begin = min(node.n_seen, len(node.order) - n)
            features[k] = node.order[begin : begin + n]
        self._wanted = wanted
        known = {node.number for node in wanted} if self.n_totals == self.n_columns else set()
        place = {number: slot for slot, number in enumerate(self.lines_of_slots)}
        self._summed = [number for number in self._unknown if number not in known]
        slots, totals = [node.slot for node in wanted], [place[number] for number in self._summed]
        return Request(np.array(slots, dtype=np.int64), features, np.array(totals, dtype=np.int64))

    def receive(self, totals: np.ndarray, tables: np.ndarray, request: Request) -> None:
        """Store the sums of new nodes, and search the histograms."""
        if self._unknown:
            found = self._known | dict(zip(self._summed, totals, strict=True))
            for k, node in enumerate(self._wanted):
                found.setdefault(node.number, tables[k, 0].sum(axis=0))
            self._enter_all(found)
        nodes, kept = [], []
        for k, node in enumerate(self._wanted):
            node.n_seen += self.n_window
            if self._keeps:
                node.table = tables[k]
            if not node.is_done and self._is_worth(node):
                nodes.append(node)
                kept.append(k)
        self._search(nodes, tables[kept], request.features[kept])
        self._search_differences()

    def _enter_all(self, found: dict[int, np.ndarray]) -> None:
        """Sums of the children with less mass; those of the others are what is left of their parents'."""
        if not self.levels:
            self._enter(0, found[0])
        for number, small, large in self._divided:
            self._enter(small, found[small])
            self._enter(large, self._totals[number] - found[small])
            if self.mass(small) > 0.0 and self.mass(large) > 0.0:
                self.settle(number, min(small, large), max(small, large))
                continue
            # Because of rounding, one child has no rows: the node stays a leaf, in both slots.
            self.undo(number)
            self.dead |= {small, large}
            for node in self._open:
                node.is_done = node.is_done or node.number in (small, large)
            self.lines_of_slots = [number if line in (small, large) else line for line in self.lines_of_slots]
        self._divided, self._unknown, self._known = [], [], {}

    def _enter(self, number: int, totals: np.ndarray) -> None:
        self._totals[number] = totals
        self.enter(number, totals)

    def renumbered(self, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes that are part of the finished tree, and the new number of each of all nodes."""
        alive = np.array([number not in self.dead for number in range(n_nodes)])
        return np.flatnonzero(alive), np.cumsum(alive) - 1

    def _is_worth(self, node: OpenNode) -> bool:
        if not node.is_done and not self.may_split(node.number):
            node.is_done = True
        return not node.is_done

    def _search(self, nodes: list[OpenNode], tables: np.ndarray, features: np.ndarray) -> None:
        if not nodes:
            return
        for node, has_ended in zip(nodes, self.choose(nodes, tables, features), strict=True):
            node.is_done = has_ended or node.n_seen >= len(node.order)

    def _search_differences(self) -> None:
        """Nodes whose histogram is the difference between their parent's and their sibling's."""
        nodes, tables = [], []
        for node in self._open:
            if node.sibling is not None and node.sibling.table is not None and node.table is None:
                assert node.parent is not None
                node.table = node.parent - node.sibling.table
                node.parent = None
                node.n_seen = len(node.order)
                if self._is_worth(node):
                    nodes.append(node)
                    tables.append(node.table)
        if nodes:
            features = np.stack([node.order for node in nodes])
            self._search(nodes, np.stack(tables), features)

    def next_level(self) -> Splits | None:
        """Split the open nodes with the largest gains; returns the splits, or None if the tree is finished."""
        candidates = [node for node in self._open if self.gain(node.number) > -np.inf]
        candidates.sort(key=lambda node: (-self.gain(node.number), node.number))
        n_leaves = len(set(self.lines_of_slots))
        if self.max_leaves is not None:
            candidates = candidates[: max(0, self.max_leaves - n_leaves)]
        if not candidates:
            self.is_finished = True
            return None
        chosen = {node.slot: node for node in candidates}
        slots = np.zeros(len(self.lines_of_slots), dtype=SLOT)
        slots["feature"] = -1
        subsets = np.zeros((len(slots), self.subsets.shape[1]), np.uint32)
        lines: list[int] = []
        self._open = []
        may_go_on = self.max_leaves is None or n_leaves + len(candidates) < self.max_leaves
        for slot, number in enumerate(self.lines_of_slots):
            node = chosen.get(slot)
            if node is None:
                lines.append(number)
                continue
            slots[slot], subsets[slot] = self.slot_of(number), self.subsets[number]
            left, right, left_is_smaller = self.split(number)
            small, large = (left, right) if left_is_smaller else (right, left)
            self._divided.append((number, small, large))
            totals = self._totals_of_child(node, slots[slot]["feature"], left_is_smaller)
            if totals is None:
                self._unknown.append(small)
            else:
                self._known[small] = totals
            if may_go_on:
                self._open_children(node, (left, right), len(lines), left_is_smaller)
            lines += [left, right]
        self.lines_of_slots = lines
        self.levels.append(Splits(slots, subsets))
        if not self._unknown:
            self._enter_all(self._known)
        return self.levels[-1]

    def _totals_of_child(self, node: OpenNode, feature: int, is_left: bool) -> np.ndarray | None:
        """Sums of a child, if no row is divided and the histogram of the node is known: they need no exchange."""
        lines = None if node.table is None else self.lines_left(node.number)
        if lines is None or node.table is None:
            return None
        table = node.table[np.flatnonzero(node.order == feature)[0]]
        return table[: len(lines)][lines == is_left].sum(axis=0)

    def _open_children(self, node: OpenNode, numbers: tuple[int, int], slot: int, left_is_smaller: bool) -> None:
        children = [OpenNode(number, slot + side, self.node_order(number)) for side, number in enumerate(numbers)]
        worth = [self.may_split(number) for number in numbers]
        if self._keeps and any(worth):
            small, large = children if left_is_smaller else children[::-1]
            large.parent, large.sibling = node.table, small
            self._open += children
        else:
            self._open += [child for child, is_worth in zip(children, worth, strict=True) if is_worth]


def grow_levels(parts: Parts, trees: list[Any], begun: tuple[list[Request], Any] | None = None) -> Levels:
    """Grow trees whose rows are at the roots, level by level, until all of them are finished.

    Parameters
    ----------
    trees : `LevelTree` of the same kind
    begun : the first requests of the trees, and their results; None: the roots are not open yet

    Returns
    -------
    the splits of all levels
    """
    n_columns = trees[0].n_columns
    if begun is None:
        requests = begin_levels(trees)
        begun = requests, parts.summary("add up", add_up, [], requests, n_columns)
    requests, found = begun
    levels: Levels = []
    while True:
        for tree, request, (totals, tables) in zip(trees, requests, found, strict=True):
            tree.receive(totals, tables, request)
        requests = [tree.request() for tree in trees]
        while not any(len(request.slots) for request in requests):
            splits = [None if tree.is_finished else tree.next_level() for tree in trees]
            if all(tree.is_finished for tree in trees):
                return levels
            levels.append(splits)
            requests = [tree.request() for tree in trees]
            if any(len(request.totals) for request in requests):
                break
        found = parts.summary("add up", add_up, levels, requests, n_columns)


def begin_levels(trees: list[Any]) -> list[Request]:
    """Open the roots of the trees; returns their first requests."""
    for tree in trees:
        tree.begin()
    return [tree.request() for tree in trees]
