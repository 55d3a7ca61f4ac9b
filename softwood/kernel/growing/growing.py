"""Growing a kernel tree: from binned data to a `SoftTree`.

By default, one compiled loop grows the tree depth first. With `max_leaf_nodes`, another one grows it best first, with
the same functions to search and divide a node. With several threads, Python code grows the top of the tree
until there are enough nodes for all threads, and the compiled loop grows the subtrees. The tree does not depend on the
number of threads.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from softwood.compiled import growing as loop
from softwood.compiled.trees import next_seed
from softwood.core.steps import Steps
from softwood.core.threads import Stopped, interruptible, new_stop
from softwood.kernel.growing.finishing import depth_first, finish
from softwood.kernel.growing.loops.groups import Goal, Kernels, NodeTable, SubsetSpace
from softwood.kernel.growing.loops.grow_best_first import (
    MOST_NODES,
    MOST_SPLITS,
    N_NODES,
    N_ROWS,
    N_SPLITS,
    OPEN,
    OpenPile,
)
from softwood.kernel.growing.loops.scan import SLACK, SQUARED
from softwood.kernel.growing.loops.tree_groups import NODE, Desk, Knots, Pile, RandomSearch, Rules, Search
from softwood.kernel.growing.problem import GrowthProblem, Limits
from softwood.trees.tree import SoftTree

__all__ = ["GrowthByGain", "Workspace", "grow_nodes", "grow_tree", "join_tables"]

Grown = TypeVar("Grown")

# The compiled loop returns to Python after this many nodes, to report progress.
_BUDGET = 2000
# With at least this many cells (rows times features), a tree grows in a separate thread, so that it can be interrupted.
_LONG = 200_000
# The tables of all features are filled together up to this size in bytes, and one after the other above.
_TABLES_AT_ONCE = 1 << 25
# With several threads, a subtree with at most this fraction of the rows is grown by a single thread.
_HAND_OUT = 1 / 24
# Arrays in a block of memory begin at multiples of this number of bytes.
_ALIGNMENT = 64


def grow_tree(
    problem: GrowthProblem,
    limits: Limits,
    *,
    seed: int,
    rows: np.ndarray | None = None,
    n_jobs: int | None = None,
    steps: Steps | None = None,
) -> SoftTree:
    """Grow a tree; returns it with the kernels it was grown with. Arguments as in `grow_nodes`."""
    return finish(problem, limits, grow_nodes(problem, limits, seed=seed, rows=rows, n_jobs=n_jobs, steps=steps))


def grow_nodes(
    problem: GrowthProblem,
    limits: Limits,
    *,
    seed: int,
    rows: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    n_jobs: int | None = None,
    steps: Steps | None = None,
    space: Workspace | None = None,
) -> NodeTable:
    """Grow the nodes of a tree.

    Parameters
    ----------
    rows : rows to grow it on; None: all
    weights : (n,) weights of all rows; None: those of the problem
    steps : where progress is reported; None: nowhere
    space : memory of earlier trees of the same problem, to be reused
    """
    space = Workspace() if space is None else space
    grower, root = _begin(problem, limits, seed, rows, weights, space)
    threads = effective_n_jobs(n_jobs)

    def work() -> NodeTable:
        if limits.max_leaf_nodes is not None:
            scratch = grower.scratch(len(root.rows), space)
            pile = grower.grow_best_first(grower.open_pile(root, space), scratch, limits.max_leaf_nodes, steps)
            space.keep(
                node_lines=pile.lines, sums=pile.sums, open_nodes=pile.nodes, seeds=pile.seeds, heap=pile.heap,
                split_order=pile.order, rows=pile.rows, shares=pile.shares, subsets=pile.subsets,
            )  # fmt: skip
            n_nodes = pile.state[N_NODES]
            return depth_first(grower.table(pile, n_nodes, np.copy))[0]
        if threads > 1:
            return depth_first(_grow_shared_out(grower, root, threads, steps))[0]
        return grower.grow(root, steps, space)

    return _run(work, root, grower)


class GrowthByGain:
    """A tree that is grown best first, and can go on growing.

    Attributes
    ----------
    nodes : in the order in which they came to be, so that smaller trees are the beginning of larger ones
    order, gains : (n_splits,) the nodes that are split, in the order of their splits, and what the splits gain
    is_complete : whether no further split is possible
    """

    nodes: NodeTable
    order: np.ndarray
    gains: np.ndarray
    is_complete: bool

    def __init__(
        self, problem: GrowthProblem, limits: Limits, *, seed: int, rows: np.ndarray, space: Workspace
    ) -> None:
        """`space` is scratch space, which growths one after the other may share."""
        self._grower, self._root = _begin(problem, limits, seed, rows, None, space)
        self._pile = self._grower.open_pile(self._root, Workspace())
        self._space = space

    def grow_to(self, max_leaf_nodes: int) -> None:
        """Go on until there are so many leaves."""
        grower = self._grower

        def work() -> OpenPile:
            scratch = grower.scratch(len(self._root.rows), self._space)
            return grower.grow_best_first(self._pile, scratch, max_leaf_nodes, None)

        self._pile = pile = _run(work, self._root, grower)
        n_nodes, n_splits = pile.state[N_NODES], pile.state[N_SPLITS]
        self.nodes = self._grower.table(pile, n_nodes)
        self.order = pile.order[:n_splits]
        self.gains = pile.nodes["gain"][self.order]
        self.is_complete = n_splits < max_leaf_nodes - 1


def _begin(
    problem: GrowthProblem,
    limits: Limits,
    seed: int,
    rows: np.ndarray | None,
    weights: np.ndarray | None,
    space: Workspace,
) -> tuple[_Grower, _Node]:
    """What a tree is grown by, and its root."""
    n, p = problem.bins.codes.shape
    rows = np.arange(n, dtype=np.uint32) if rows is None else rows.astype(np.uint32)
    labels = problem.target_arrays[0]
    if labels is not None:  # rows of a class one after the other, and so in all nodes: their sums are faster to compute
        classes = labels[rows].astype(np.min_scalar_type(problem.n_outputs))
        rows = rows[np.argsort(classes, kind="stable")]
    weights = problem.weights if weights is None else weights
    grower = _Grower(problem, limits, weights, float(weights[rows].sum()), space.stop)
    return grower, _Node(rows, np.ones(len(rows)), np.array([[-np.inf] * p, [np.inf] * p]), np.uint64(seed), 0)


def _run(work: Callable[[], Grown], root: _Node, grower: _Grower) -> Grown:
    """Grow, in a thread if it takes long, so that an interrupt is heard."""
    return interruptible(work, grower.stop) if len(root.rows) * grower.p >= _LONG else work()


@dataclass
class _Node:
    """A node to be grown: its rows, their shares, and its place in the tree."""

    rows: np.ndarray
    shares: np.ndarray
    intervals: np.ndarray
    seed: np.uint64
    depth: int


class Workspace:
    """Arrays that are reused from tree to tree, because allocating new memory is slow.

    Parameters
    ----------
    stop : flag that asks the loops to stop; several workspaces may share one flag
    block : size in bytes of the blocks of memory that hold finished trees; None: each array has its own memory
    """

    def __init__(self, stop: np.ndarray | None = None, block: int | None = None) -> None:
        self.stop = new_stop() if stop is None else stop
        self._block_size = block
        self._block = np.empty(0, np.uint8)  # what is left of the current block
        self._arrays: dict[str, np.ndarray] = {}

    def copy(self, array: np.ndarray) -> np.ndarray:
        """A copy of an array of a finished tree.

        In a block, several trees share large pages, which are faster to get than small ones. And the system gets a
        block back as soon as the last of its arrays is dropped, while the allocator might keep their memory.
        """
        if self._block_size is None:
            return array.copy()
        length = -(-array.nbytes // _ALIGNMENT) * _ALIGNMENT
        if length > len(self._block):
            self._block = _new_block(max(length, self._block_size))
        place, self._block = self._block[: array.nbytes], self._block[length:]
        copied = place.view(array.dtype).reshape(array.shape)
        copied[...] = array
        return copied

    def array(self, name: str, shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
        """The array of this name with at least ``shape[0]`` lines: a new array of zeros, or the old one as it is."""
        array = self._arrays.get(name)
        if array is None or len(array) < shape[0] or array.shape[1:] != shape[1:] or array.dtype != dtype:
            array = self._arrays[name] = np.zeros(shape, dtype=dtype)
        return array

    def keep(self, **arrays: np.ndarray) -> None:
        """Store arrays that were replaced by longer ones."""
        self._arrays.update(arrays)


def _new_block(size: int) -> np.ndarray:
    """Memory of `size` bytes, where possible directly from the system and in large pages."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):  # not Linux
        return np.empty(size, np.uint8)
    block = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel without large pages
        block.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(block, dtype=np.uint8)


class _Scratch(NamedTuple):
    """Scratch space of one worker. The space of the search that is not used is None; see `loop.grow`."""

    desk: Desk
    search: Search | None
    random: RandomSearch | None


class _Grower:
    """The compiled loops together with their arguments."""

    def __init__(
        self, problem: GrowthProblem, limits: Limits, weights: np.ndarray, total: float, stop: np.ndarray
    ) -> None:
        self.bins, self.widths, self.kernels = problem.bins, problem.widths, problem.kernels
        self.labels, targets = problem.target_arrays
        self.targets = targets._replace(weights=weights)
        self.criterion, self.stop = problem.criterion_number, stop
        self.q, self.p = problem.stored_outputs, len(problem.widths)
        self.has_random_thresholds = limits.random_thresholds
        self.rules = Rules(
            max_depth=np.iinfo(np.int64).max if limits.max_depth is None else limits.max_depth,
            min_mass=limits.min_mass,
            min_gain=limits.min_gain_merit(problem, total),
            n_draw=self.p if limits.n_draw is None else limits.n_draw,
            cutoff=limits.cutoff,
            is_class=problem.targets.is_class,
            rare_mass=limits.rare_mass,
        )

    def scratch(self, m: int, space: Workspace) -> _Scratch:
        """Scratch space for nodes of up to `m` rows."""
        q, most = self.q, self.bins.most
        has_labels = self.labels is not None
        make = space.array
        desk = Desk(
            points=make("points", (m, 1 if has_labels else 1 + q)),
            labels=make("labels", (m if has_labels else 0,), np.int32),
            left_rows=make("left_rows", (m,), np.uint32),
            left_shares=make("left_shares", (m,)),
            order=make("order", (self.p,), np.int64),
            numbers=make("numbers", (q,), np.int32),
            totals=make("totals", (q,)),
        )
        n_words = self.bins.n_words
        if self.has_random_thresholds:
            random = RandomSearch(
                codes=make("codes", (m,), self.bins.codes.dtype),
                bin_shares=make("bin_shares", (most + 1,)),
                shares=make("point_shares", (m,)),
                work=make("random_work", (2, q)),
                ranks=make("ranks", (most if n_words else 0,), np.int64),
                subset=make("found_set", (1, n_words), np.uint32),
            )
            return _Scratch(desk, None, random)
        is_single = q == 1 and self.criterion == SQUARED
        q = q if is_single else -(-q // 4) * 4  # the scan takes four outputs at a time
        at_once = self.p * (most + 1) * (1 + q) * 8 <= _TABLES_AT_ONCE
        n_marks = (most >> 6) + 1
        n_ranks = most if n_words else 0
        search = Search(
            tables=make("tables", (self.p if at_once else 1, most + 1, 1 + q)),
            words=make("words", (n_marks,), np.uint64),
            groups=make("groups", ((n_marks >> 6) + 1,), np.uint64),
            atoms=make("atoms", (most, 3 + q)),
            lines=make("lines", (most + 1, 5)),
            work=make("work", (5, q)),
            stop=self.stop,
            subset=SubsetSpace(
                keys=make("keys", (n_ranks,)),
                order=make("category_order", (n_ranks,), np.int64),
                ranks=make("ranks", (n_ranks,), np.int64),
                means=make("means", (0 if is_single else n_ranks, q)),
                found=make("found_set", (1, n_words), np.uint32),
            ),
            knots=knots_for(self.kernels, most, m, q, make),
        )
        return _Scratch(desk, search, None)

    def grow(self, root: _Node, steps: Steps | None, space: Workspace) -> NodeTable:
        """The finished nodes of the subtree at `root`, depth first."""
        m = len(root.rows)
        state = np.array([0, 1, m, 0], dtype=np.int64)
        pile = Pile(
            state=state,
            stop=self.stop,
            lines=space.array("node_lines", (64,), NODE),
            sums=space.array("sums", (64, self.q)),
            stack=space.array("stack", (64, 4), np.int64),
            seeds=space.array("seeds", (64,), np.uint64),
            intervals=space.array("intervals", (64, 2, self.p)),
            rows=space.array("rows", (2 * m,), np.uint32),
            shares=space.array("shares", (2 * m,)),
            subsets=space.array("subsets", (64, self.bins.n_words), np.uint32),
        )
        pile.stack[0], pile.seeds[0], pile.intervals[0] = (0, -1, 0, root.depth), root.seed, root.intervals
        pile.rows[:m], pile.shares[:m] = root.rows, root.shares
        scratch = self.scratch(m, space)
        budget = _BUDGET if steps is not None else np.iinfo(np.int64).max >> 1
        while state[1] > 0:
            step = None if steps is None or steps.is_stopped else steps.begin()
            pile = _with_room(pile)
            state[3] = state[0] + budget
            # If a callback wants to stop, the nodes that are still to do remain leaves.
            rules = self.rules if steps is None or not steps.is_stopped else self.rules._replace(max_depth=-1)
            loop.grow(
                self.bins, self.widths, self.kernels, self.labels, self.targets, rules, self.criterion, pile, *scratch
            )
            self._check_stop()
            if step is not None:
                step.end(n_nodes=int(state[0]))
        names = ("sums", "stack", "seeds", "intervals", "rows", "shares", "subsets")
        space.keep(node_lines=pile.lines, **{name: getattr(pile, name) for name in names})
        return self.table(pile, state[0], space.copy)

    def table(
        self, pile: Pile | OpenPile, n_nodes: int, copy: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> NodeTable:
        """The first nodes of a pile."""
        arrays = [pile.lines, pile.sums, *([pile.subsets] if self.bins.n_words else [])]
        return NodeTable(*(array[:n_nodes] if copy is None else copy(array[:n_nodes]) for array in arrays))

    def open_pile(self, root: _Node, space: Workspace) -> OpenPile:
        """The beginning of best-first growth."""
        m = len(root.rows)
        pile = OpenPile(
            state=np.array([1, 0, m, 0, 0, 0, 0, -1], dtype=np.int64),
            stop=self.stop,
            lines=space.array("node_lines", (64,), NODE),
            sums=space.array("sums", (64, self.q)),
            nodes=space.array("open_nodes", (64,), OPEN),
            seeds=space.array("seeds", (64,), np.uint64),
            heap=space.array("heap", (64,), np.int64),
            order=space.array("split_order", (64,), np.int64),
            intervals=space.array("interval", (2, self.p)),
            rows=space.array("rows", (2 * m,), np.uint32),
            shares=space.array("shares", (2 * m,)),
            subsets=space.array("subsets", (64, self.bins.n_words), np.uint32),
        )
        pile.lines[0] = (-1, 0, root.depth, -1, np.nan, np.nan, 0.0, 0.0)
        pile.nodes["begin"][0], pile.nodes["size"][0], pile.nodes["least"][0], pile.seeds[0] = 0, m, 0.0, root.seed
        pile.rows[:m], pile.shares[:m] = root.rows, root.shares
        return pile

    def grow_best_first(self, pile: OpenPile, scratch: _Scratch, max_leaf_nodes: int, steps: Steps | None) -> OpenPile:
        """Grow a tree to this number of leaves; the nodes stay in the order in which they came to be."""
        state = pile.state
        state[MOST_SPLITS] = max_leaf_nodes - 1
        budget = _BUDGET if steps is not None else np.iinfo(np.int64).max >> 1
        is_finished = False
        while not is_finished:
            step = None if steps is None or steps.is_stopped else steps.begin()
            n_nodes, n_rows = state[N_NODES] + 2, state[N_ROWS] + int(pile.nodes["size"][: state[N_NODES]].max())
            wanted = dict.fromkeys(("lines", "sums", "nodes", "seeds", "heap", "order", "subsets"), n_nodes)
            wanted |= {"rows": n_rows, "shares": n_rows}
            pile = pile._replace(**{name: _at_least(getattr(pile, name), length) for name, length in wanted.items()})
            state[MOST_NODES] = state[N_NODES] + budget
            is_finished = loop.grow_best_first(
                self.bins, self.widths, self.kernels, self.labels, self.targets, self.rules, self.criterion, pile,
                *scratch,
            )  # fmt: skip
            self._check_stop()
            if step is not None and step.end(n_nodes=int(state[N_NODES])):
                state[MOST_SPLITS] = state[N_SPLITS]
        return pile

    def _check_stop(self) -> None:
        if self.stop[0]:
            raise Stopped

    def leaf(self, node: _Node, scratch: _Scratch, parent: int, side: int) -> NodeTable:
        """The node as a leaf: a table of one line."""
        subsets = np.zeros((1, self.bins.n_words), np.uint32) if self.bins.n_words else None
        table = NodeTable(np.zeros(1, NODE), np.zeros((1, self.q)), subsets)
        table.lines[0] = (parent, side, node.depth, -1, np.nan, np.nan, 0.0, 0.0)
        loop.weigh(
            node.rows, 0, node.shares, len(node.rows), self.labels, self.targets, scratch.desk, table.lines, table.sums,
            0,
        )  # fmt: skip
        return table

    def split(self, node: _Node, leaf: NodeTable, scratch: _Scratch) -> list[_Node]:
        """Left and right child of the node by its best split, which is written into `leaf`; none if it remains a leaf.

        The same steps as in the compiled loops.
        """
        rules, (desk, search, random), m = self.rules, scratch, len(node.rows)
        mass = leaf.lines["mass"][0]
        base, impure = loop.merit_and_impurity(leaf.lines, leaf.sums, 0, self.criterion, rules.is_class)
        if node.depth >= rules.max_depth or mass < 2.0 * rules.min_mass * SLACK or impure <= 1e-12 * mass:
            return []
        loop.draw_features(desk.order, self.bins.priority, node.seed, rules.n_draw)
        n_outputs = loop.number_labels(leaf.sums, 0, m, desk)
        tie = loop.tie_of(base, impure, mass)
        least = rules.min_mass
        while 2.0 * least * SLACK <= mass:
            goal = Goal(mass, base, least, tie, n_outputs, self.criterion, rules.rare_mass)
            data = (
                self.bins, self.widths, self.kernels, node.rows, 0, m, desk, rules.n_draw, node.intervals, goal
            )  # fmt: skip
            if random is None:
                feature, threshold, left_mass, gain = loop.search_node(*data, search)
            else:
                feature, threshold, left_mass, gain = loop.search_random(*data, node.seed, random)
            self._check_stop()
            if feature < 0 or gain < rules.min_gain:
                break
            found = random.subset if search is None else search.subset.found  # type: ignore[union-attr]
            by_set = self.bins.n_words > 0 and self.bins.n_categories[feature] > 0
            if leaf.subsets is not None:
                leaf.subsets[0] = found[0] if by_set else 0
            children = self._divide(node, leaf, (feature, threshold, left_mass / mass), mass, by_set)
            if children:
                line = leaf.lines[0]
                line["feature"], line["threshold"], line["missing_left"] = feature, threshold, left_mass / mass
                return children
            least *= 2.0
        return []

    def _divide(
        self, node: _Node, leaf: NodeTable, split: tuple[int, float, float], mass: float, by_set: bool
    ) -> list[_Node]:
        """Both children of a node; none if one of them would be too light."""
        feature, threshold, _ = split
        weights, keep = self.targets.weights, (mass, self.rules.min_mass, self.rules.cutoff)
        rows, shares = node.rows.copy(), node.shares.copy()
        left_rows, left_shares = np.empty_like(rows), np.empty_like(shares)
        below, above = node.intervals.copy(), node.intervals.copy()
        if by_set:
            n_left, n_right = loop.divide_by_set(
                self.bins, weights, rows, shares, 0, len(rows), split, leaf.subsets, 0, keep, left_rows, left_shares
            )
        else:
            reach = (self.widths[feature], *node.intervals[:, feature])
            n_left, n_right = loop.divide(
                self.bins, self.kernels, weights, rows, shares, 0, len(rows), split, reach, keep, left_rows, left_shares
            )
            below[1, feature] = above[0, feature] = threshold
        if n_left == 0:
            return []
        seeds = [np.uint64(next_seed(node.seed, side)) for side in range(2)]
        return [
            _Node(left_rows[:n_left].copy(), left_shares[:n_left].copy(), below, seeds[0], node.depth + 1),
            _Node(rows[:n_right].copy(), shares[:n_right].copy(), above, seeds[1], node.depth + 1),
        ]


def knots_for(kernels: Kernels | None, most: int, m: int, q: int, make: Callable[..., np.ndarray]) -> Knots:
    """Scratch space of the scan of kernels that are not boxes of one width, for nodes of up to `m` rows.

    most, q : as in `Search`;  make : as `Workspace.array`
    """
    if kernels is None:
        return Knots()
    n_cells = m if kernels.by_cell.any() else 0
    n_atoms = max(most, n_cells)
    n_knots = n_atoms * (kernels.edges.shape[1] + 1)
    return Knots(
        times=make("knot_times", (n_knots,)),
        rates=make("knot_rates", (n_knots,)),
        owners=make("knot_owners", (n_knots,), np.int64),
        orders=make("knot_orders", (2, n_knots), np.int64),
        open_rates=make("open_rates", (n_atoms,)),
        cells=make("cells", (4, n_cells)),
        atoms=make("cell_atoms", (n_cells, 3 + q)),
    )


def _with_room(pile: Pile) -> Pile:
    """The pile with room for the next node: a line, two entries of the stack, and twice the rows of the top node."""
    n_done, height, length, _ = pile.state
    n_rows = 2 * length - pile.stack[height - 1, 0]
    wanted = {"lines": n_done + 1, "sums": n_done + 1, "subsets": n_done + 1, "rows": n_rows, "shares": n_rows}
    wanted |= dict.fromkeys(("stack", "seeds", "intervals"), height + 1)
    return pile._replace(**{name: _at_least(getattr(pile, name), length) for name, length in wanted.items()})


def _at_least(array: np.ndarray, length: int) -> np.ndarray:
    """The array, or one with room for twice `length` entries."""
    if len(array) >= length:
        return array
    longer = np.empty((2 * int(length), *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


def join_tables(tables: list[NodeTable]) -> NodeTable:
    """The nodes of all tables, one after the other."""
    subsets = [table.subsets for table in tables if table.subsets is not None]
    return NodeTable(
        np.concatenate([table.lines for table in tables]),
        np.concatenate([table.sums for table in tables]),
        np.concatenate(subsets) if subsets else None,
    )


def _grow_shared_out(grower: _Grower, root: _Node, threads: int, steps: Steps | None) -> NodeTable:
    """Grow the top of the tree here, and the subtrees below it in threads."""
    scratch = grower.scratch(len(root.rows), Workspace())
    small = max(256, int(len(root.rows) * _HAND_OUT))
    top: list[NodeTable] = []
    tasks: list[tuple[_Node, int, int]] = []
    pending = [(root, -1, 0)]
    while pending:
        node, parent, side = pending.pop()
        if len(node.rows) <= small:
            tasks.append((node, parent, side))
            continue
        leaf = grower.leaf(node, scratch, parent, side)
        children = grower.split(node, leaf, scratch)
        top.append(leaf)
        pending += [(child, len(top) - 1, k) for k, child in enumerate(children)]
    tasks.sort(key=lambda task: -len(task[0].rows))  # the long ones first
    grown = Parallel(n_jobs=threads, prefer="threads", require="sharedmem")(
        delayed(grower.grow)(node, steps, Workspace()) for node, _, _ in tasks
    )
    pieces, total = list(top), len(top)
    for (_, parent, side), nodes in zip(tasks, grown, strict=True):
        nodes.lines["parent"] += total
        nodes.lines["parent"][0], nodes.lines["side"][0] = parent, side
        pieces.append(nodes)
        total += len(nodes.lines)
    return join_tables(pieces)
