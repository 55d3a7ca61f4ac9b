"""Small problems as the loops of growing take them, and as the reference implementations do."""

from dataclasses import dataclass

import numpy as np

from softwood.compiled import growing as loop
from softwood.kernel.data.binning import bin_features
from softwood.kernel.growing.loops.frontier import COUNTS, OPEN_NODE, Frontier
from softwood.kernel.growing.loops.groups import Bins, Kernels, NodeTable
from softwood.kernel.growing.loops.scan import BINARY_ENTROPY, ENTROPY, SQUARED
from softwood.kernel.growing.loops.tree_groups import NODE, NodeScratch, RandomSearch, Rules, Search
from softwood.kernel.growing.workspace import knots_for
from softwood.trees.nodes import KernelShapes
from softwood.trees.structure import children_of
from softwood.trees.tree import SoftTree
from tests.reference.kernels import BOX, LATE, STAIRS, table
from tests.reference.search import Axis

# Each takes a way of its own through the loops.
TREES = [("one target", False), ("targets", True), ("labels", True), ("labels, entropy", False)]
ENDLESS = 10**6
EXTRA_TREES = [("one target", False), ("labels", True)]


def new_scratch(m, p, q, labelled):
    """Scratch space for the points of a node, filled with nonsense."""
    return NodeScratch(
        points=np.full((m, 1 if labelled else 1 + q), np.nan),
        labels=np.full(m if labelled else 0, 77, dtype=np.int32),
        left_rows=np.full(m, 77, dtype=np.uint32),
        left_shares=np.full(m, np.nan),
        order=np.full(p, 77),
        numbers=np.full(q, 77, dtype=np.int32),
        totals=np.full(q, np.nan),
    )


def nonsense(name, shape, dtype=np.float64):
    """As `Workspace.array` makes one."""
    return np.full(shape, np.nan if dtype == np.float64 else 77, dtype)


@dataclass
class Problem:
    """Rows as the loops take them, and as the references do."""

    X: np.ndarray
    bins: Bins
    widths: np.ndarray
    shapes: list
    cells: np.ndarray | None
    weights: np.ndarray
    labels: np.ndarray | None
    stored: np.ndarray  # (n, q) targets, or classes as columns of 0 and 1
    criterion: int

    @property
    def q(self):
        return self.stored.shape[1]

    @property
    def kernels(self):
        """As the loops take them: the box is the first shape, and the second feature's cells have their own widths."""
        if self.cells is None:
            return None
        shapes = KernelShapes.of([table(shape) for shape in (BOX, STAIRS, LATE)])
        kinds = np.array([(BOX, STAIRS, LATE).index(shape) for shape in self.shapes])
        return Kernels(kinds, shapes.edges, shapes.cdfs, self.cells, np.array([False, True, False, False]))

    @property
    def cell_widths(self):
        """(n, p) half-width of every cell."""
        out = np.tile(self.widths, (len(self.X), 1))
        if self.cells is not None:
            out[:, 1] = self.cells[:, 1]
        return out

    @property
    def targets(self):
        return np.column_stack([self.weights, *([] if self.labels is not None else [self.stored])])

    def scratch(self, m, at_once=True, random=False):
        """Scratch space: of the points, and of the two searches, of which one is None."""
        most, p, q = self.bins.most, self.X.shape[1], self.q
        scratch = new_scratch(m, p, q, self.labels is not None)
        if random:
            nothing = (np.full(size, np.nan) for size in (most + 1, m, (2, q)))
            return scratch, None, RandomSearch(np.empty(m, self.bins.codes.dtype), *nothing)
        is_single = q == 1 and self.criterion == SQUARED
        q = q if is_single else -(-q // 4) * 4  # the scan takes four outputs at a time
        search = Search(
            tables=np.zeros((p if at_once else 1, most + 1, 1 + q)),
            words=np.zeros((most >> 6) + 1, np.uint64),
            groups=np.zeros(1, np.uint64),
            atoms=np.full((most, 3 + q), np.nan),
            lines=np.full((most + 1, 5), np.nan),
            work=np.full((5, q), np.nan),
            stop=np.zeros(1, np.uint8),
            knots=knots_for(self.kernels, most, m, q, nonsense),
        )
        return scratch, search, None

    def axis(self, rows, masses, j, lo, hi):
        """The points of a node along one feature, None if there are none."""
        x, sums = self.X[rows, j], masses[:, None] * self.stored[rows]
        if np.isnan(x).all():
            return None
        return Axis(x, self.cell_widths[rows, j], masses, sums, lo, hi, self.shapes[j])


KINDS = {
    "one target": (1, False, SQUARED),
    "targets": (2, False, SQUARED),
    "one of two classes": (1, False, BINARY_ENTROPY),
    "labels": (3, True, SQUARED),
    "labels, entropy": (3, True, ENTROPY),
}


def problem(seed, kind, general, *, n=14, missing=0.15):
    """Four features: a crisp one with ties, two soft ones, and one with a single value; some cells missing."""
    q, labelled, criterion = KINDS[kind]
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(4, size=n) / 2.0, rng.normal(size=(n, 2)), np.full(n, 3.0)])
    X[rng.random(X.shape) < missing] = np.nan
    labels = rng.integers(q, size=n).astype(np.int32) if labelled else None
    if labelled:
        stored = np.eye(q)[labels]
    else:
        stored = rng.random((n, q)) if criterion == BINARY_ENTROPY else rng.normal(size=(n, q))
    cells = rng.choice([0.0, 0.2, 0.9], size=X.shape) if general else None
    return Problem(
        X, bin_features(X, None, None), np.array([0.0, 1.0 if general else 0.3, 0.6, 0.0]),
        [BOX, STAIRS, LATE, BOX] if general else [BOX] * 4, cells, rng.random(n) + 0.5, labels, stored, criterion,
    )  # fmt: skip


def longer(array):
    return np.concatenate([array, np.full_like(array, 7)])


def frontier_of(given, rules, *, seed=0, capacity=64, spare=64, stop=0):
    """The root alone, with capacity for so many nodes and `spare` rows more than it has."""
    n, p = given.X.shape
    frontier = Frontier(
        counts=np.zeros(1, COUNTS),
        stop=np.full(1, stop, np.uint8),
        lines=np.zeros(capacity, NODE),
        sums=np.full((capacity, given.q), np.nan),
        stack=np.zeros(capacity, OPEN_NODE),
        intervals=np.full((capacity, 2, p), np.nan),
        heap=np.zeros(capacity, OPEN_NODE),
        gains=np.full(capacity, np.nan),
        rows=np.arange(n + spare, dtype=np.uint32),
        shares=np.ones(n + spare),
    )
    frontier.counts[0] = (0, 1, 0, n, 0, ENDLESS, ENDLESS, 0)
    frontier.stack[0] = (-1, -1, 0, 0, 0, n, seed, rules.min_mass, -1, np.nan, np.nan, 0.0)
    frontier.intervals[0] = [[-np.inf] * p, [np.inf] * p]
    return frontier


def grow(given, rules, *, most_splits=None, budget=ENDLESS, random=False, pauses=(), few_rows=0, **options):
    """Grow depth first, or best first with `most_splits`, by `budget` nodes at a time; further options as above.

    Arrays that are too short are made longer. `pauses` are numbers of splits at which best-first growth ends at first,
    and then goes on.

    Returns
    -------
    the frontier, and how many calls it took
    """
    frontier = frontier_of(given, rules, **options)
    scratch = given.scratch(len(given.X), random=random)
    counts = frontier.counts[0]
    counts["few_rows"] = few_rows
    n_calls = 0
    for pause in (*pauses, ENDLESS if most_splits is None else most_splits):
        counts["most_splits"] = pause
        is_grown = False
        while not is_grown:
            n_calls += 1
            before = int(counts["n_nodes"])
            counts["most_nodes"] = min(before + budget, ENDLESS)
            is_grown = loop.grow(
                given.bins, given.widths, given.kernels, given.labels, given.targets, rules, given.criterion,
                most_splits is not None, frontier, *scratch,
            )  # fmt: skip
            if frontier.stop[0]:
                break
            assert counts["n_nodes"] <= before + max(budget, counts["n_waiting"])
            if counts["n_nodes"] == before and not is_grown:
                frontier = Frontier(*frontier[:2], *map(longer, frontier[2:-1]))
        assert counts["n_splits"] <= pause
    return frontier, n_calls


def nodes_of(frontier):
    n_nodes = frontier.counts["n_nodes"][0]
    return NodeTable(frontier.lines[:n_nodes], frontier.sums[:n_nodes])


def run(given, rules, **options):
    """Nodes of a tree grown depth first, and how many calls it took."""
    frontier, n_calls = grow(given, rules, **options)
    return nodes_of(frontier), n_calls


def run_best_first(given, rules, *, most_splits, **options):
    """Nodes of a tree grown best first, the split ones in the order of their splits, and how many calls it took."""
    frontier, n_calls = grow(given, rules, most_splits=most_splits, **options)
    nodes = nodes_of(frontier)
    order = nodes.lines["parent"][1::2].astype(np.int64)
    assert len(order) == frontier.counts["n_splits"][0]
    return nodes, order, n_calls


def rules_for(given, **changes):
    is_class = given.labels is not None or given.criterion == BINARY_ENTROPY
    return Rules(9, 0.5, 0.0, 2, 0.01, is_class)._replace(**changes)


def tree_of(given, nodes):
    """The nodes as a tree."""
    lines = nodes.lines
    left, right = children_of(lines["parent"], lines["side"])
    kinds = [0, 0, 0, 0] if given.kernels is None else given.kernels.kinds
    return SoftTree.from_nodes(
        children_left=left, children_right=right, parent=lines["parent"], depth=lines["depth"],
        feature=lines["feature"], threshold=lines["threshold"], mass=lines["mass"],
        missing_left=np.where(left >= 0, lines["missing_left"], 0.5),
        width=np.where(left >= 0, given.widths[lines["feature"]], 0.0),
        kernel=np.where(left >= 0, np.array(kinds)[lines["feature"]], 0), value=nodes.sums / lines["mass"][:, None],
        impurity=np.zeros(len(lines)), n_features=4,
        shapes=KernelShapes.of([table(shape) for shape in (BOX, STAIRS, LATE)]),
    )  # fmt: skip
