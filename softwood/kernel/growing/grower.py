"""The compiled growth loop with its arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from softwood.compiled import growing as loop
from softwood.core.steps import Steps
from softwood.core.threads import Stopped
from softwood.kernel.growing.loops.frontier import COUNTS, OPEN_NODE, Frontier
from softwood.kernel.growing.loops.groups import NodeTable
from softwood.kernel.growing.loops.tree_groups import NODE, Rules
from softwood.kernel.growing.problem import GrowthProblem, Limits
from softwood.kernel.growing.workspace import Scratch, Workspace, at_least, scratch_for

__all__ = ["Grower", "Root", "keep_frontier", "rules_of"]

# The compiled loop returns to Python after this many nodes, to report progress.
_BUDGET = 2000
_NO_LIMIT = np.iinfo(np.int64).max >> 1
# Arrays of a frontier that are reused from tree to tree.
_ARRAYS = Frontier._fields[2:]


class Root(NamedTuple):
    """The root of a tree, or of a subtree: rows and their shares, interval on each feature (2, p), and its place."""

    rows: np.ndarray
    shares: np.ndarray
    intervals: np.ndarray
    seed: np.uint64
    depth: int = 0


class Grower:
    """Growth of one tree.

    Parameters
    ----------
    weights : (n,) weights of all rows
    total : weight of the rows that the tree is grown on
    stop : flag that asks the loops to stop
    """

    def __init__(
        self, problem: GrowthProblem, limits: Limits, weights: np.ndarray, total: float, stop: np.ndarray
    ) -> None:
        self.problem, self.stop, self._has_random_thresholds = problem, stop, limits.random_thresholds
        labels, targets = problem.target_arrays
        if weights is not problem.weights:
            targets = np.column_stack([weights, targets[:, 1:]])
        self._rules = rules_of(problem, limits, total)
        self._arguments = (
            problem.bins, problem.widths, problem.kernels, labels, targets, self._rules,
            problem.criterion_number,
        )  # fmt: skip

    def scratch(self, m: int, space: Workspace) -> Scratch:
        """Scratch space for nodes of up to `m` rows."""
        return scratch_for(self.problem, m, space, random_thresholds=self._has_random_thresholds)

    def begin(self, root: Root, space: Workspace, few_rows: int = 0) -> Frontier:
        """The frontier with the root alone; nodes with at most `few_rows` rows will not be grown."""
        m, p, n_words = len(root.rows), len(self.problem.widths), self.problem.bins.n_words
        arrays = {
            "lines": ((64,), NODE), "sums": ((64, self.problem.stored_outputs), np.float64),
            "stack": ((64,), OPEN_NODE), "intervals": ((64, 2, p), np.float64), "heap": ((64,), OPEN_NODE),
            "gains": ((64,), np.float64),
            "rows": ((2 * m,), np.uint32), "shares": ((2 * m,), np.float64), "subsets": ((64, n_words), np.uint32),
        }  # fmt: skip
        frontier = Frontier(
            counts=np.zeros(1, COUNTS),
            stop=self.stop,
            **{name: space.array(f"frontier_{name}", *array) for name, array in arrays.items()},
        )
        counts = frontier.counts[0]
        counts["n_waiting"], counts["n_rows"], counts["few_rows"] = 1, m, few_rows
        place = {"node": -1, "parent": -1, "side": 0, "depth": root.depth, "begin": 0, "size": m, "feature": -1}
        for name, value in place.items():
            frontier.stack[name][0] = value
        frontier.stack["seed"][0], frontier.stack["min_mass"][0] = root.seed, self._rules.min_mass
        frontier.intervals[0], frontier.rows[:m], frontier.shares[:m] = root.intervals, root.rows, root.shares
        return frontier

    def grow(
        self,
        frontier: Frontier,
        scratch: Scratch,
        steps: Steps | None = None,
        max_leaf_nodes: int | None = None,
    ) -> Frontier:
        """Go on growing: depth first, or best first to a number of leaves; returns the frontier with longer arrays."""
        counts, by_gain = frontier.counts[0], max_leaf_nodes is not None
        counts["most_splits"] = _NO_LIMIT if max_leaf_nodes is None else max_leaf_nodes - 1
        budget = _NO_LIMIT if steps is None else _BUDGET
        is_grown = False
        while not is_grown:
            step = None if steps is None or steps.is_stopped else steps.begin()
            if steps is not None and steps.is_stopped:  # nodes that are not divided yet remain leaves
                counts["most_splits"] = counts["n_splits"]
            frontier = _lengthened(frontier)
            counts["most_nodes"] = counts["n_nodes"] + budget
            is_grown = loop.grow(*self._arguments, by_gain, frontier, *scratch)
            if self.stop[0]:
                raise Stopped
            if step is not None:
                step.end(n_nodes=int(counts["n_nodes"]))
        return frontier

    def table(self, frontier: Frontier, copy: Callable[[np.ndarray], np.ndarray] = np.asarray) -> NodeTable:
        """The nodes in the order in which they were visited."""
        arrays = [frontier.lines, frontier.sums, *([frontier.subsets] if self.problem.bins.n_words else [])]
        return NodeTable(*(copy(array[: frontier.counts["n_nodes"][0]]) for array in arrays))


def keep_frontier(frontier: Frontier, space: Workspace) -> None:
    """Keep the arrays of a frontier for the next tree."""
    space.keep(**{f"frontier_{name}": getattr(frontier, name) for name in _ARRAYS})


def rules_of(problem: GrowthProblem, limits: Limits, total: float) -> Rules:
    """The limits as the compiled loops take them, for a root of mass `total`."""
    return Rules(
        max_depth=np.iinfo(np.int64).max if limits.max_depth is None else limits.max_depth,
        min_mass=limits.min_mass,
        min_gain=limits.min_gain_merit(problem, total),
        n_draw=len(problem.widths) if limits.n_draw is None else limits.n_draw,
        cutoff=limits.cutoff,
        is_class=problem.targets.is_class,
        rare_mass=limits.rare_mass,
    )


def _lengthened(frontier: Frontier) -> Frontier:
    """The frontier with space for the next node, see `softwood.kernel.growing.loops.frontier.is_full`."""
    counts = frontier.counts[0]
    n_waiting, n_rows = counts["n_waiting"], counts["n_rows"]
    if n_waiting:
        n_rows = n_rows + frontier.stack["size"][n_waiting - 1]
    wanted = dict.fromkeys(("lines", "sums", "subsets"), counts["n_nodes"] + n_waiting)
    wanted |= dict.fromkeys(("stack", "intervals"), n_waiting + 1)
    wanted |= {"heap": counts["n_open"] + 1, "gains": counts["n_splits"] + 1, "rows": n_rows, "shares": n_rows}
    return frontier._replace(**{name: at_least(getattr(frontier, name), length) for name, length in wanted.items()})
