"""A tree, or a tree of a forest, that grows by levels."""

from __future__ import annotations

import numpy as np

from softwood.compiled.growing import choose_random, choose_searched, draw_features, merit_and_impurity
from softwood.compiled.trees import next_seed
from softwood.core.threads import new_stop
from softwood.kernel.growing.finishing import depth_first
from softwood.kernel.growing.growing import rules_of
from softwood.kernel.growing.loops.groups import NodeTable
from softwood.kernel.growing.loops.scan import SLACK
from softwood.kernel.growing.loops.scan_random import PATIENCE
from softwood.kernel.growing.loops.tree_groups import NODE
from softwood.kernel.growing.problem import GrowthProblem, Limits
from softwood.kernel.growing.workspace import search_for
from softwood.kernel.parts.growing import LevelTree, OpenNode
from softwood.kernel.parts.loops.choose import LevelNodes

# Columns of the splits that are found.
FEATURE, THRESHOLD, LEFT_MASS, GAIN, N_TRIED = range(5)


class SearchedLevels(LevelTree):
    """A tree of the general search.

    Parameters
    ----------
    problem : bins, kernels and the kind of targets; its rows are not used
    units : (n_totals,) units of the sums: mass, sums of targets or masses of classes, and mass times squares
    total : mass of all rows, by which `min_gain` is measured
    """

    def __init__(self, problem: GrowthProblem, limits: Limits, units: np.ndarray, total: float, seed: int) -> None:
        p, q, most = len(problem.widths), problem.stored_outputs, problem.bins.most
        n_draw = p if limits.n_draw is None else limits.n_draw
        super().__init__(n_draw, p, 1 + q, len(units), most, limits.max_leaf_nodes, limits.max_depth)
        self.problem, self.bins, self.units = problem, problem.bins, units
        self.kernels, self.criterion = problem.kernels, problem.criterion_number
        self.is_random = limits.random_thresholds
        self.rules = rules_of(problem, limits, total)
        self.lines, self.sums = np.zeros(64, NODE), np.zeros((64, q))
        self.bounds, self.seeds = np.zeros((64, 2, p)), np.zeros(64, np.uint64)
        self.found, self.is_known = np.zeros((64, 5)), np.zeros(64, dtype=bool)
        self.subsets = np.zeros((64, self.bins.n_words), np.uint32)
        self.n_nodes = 1
        self.lines["parent"][0], self.lines["feature"][0], self.found[0, GAIN] = -1, -1, -np.inf
        self.bounds[0] = [[-np.inf], [np.inf]]
        self.seeds[0] = seed
        self.search = search_for(problem, 0, lambda name, *kind: np.zeros(*kind), new_stop(), has_rows=False)

    def node_order(self, number: int) -> np.ndarray:
        """The features in the order of their priority, or drawn."""
        order = np.empty(len(self.problem.widths), dtype=np.int64)
        draw_features(order, self.bins.priority, self.seeds[number], self.n_window)
        return order

    def may_split(self, number: int) -> bool:
        """Whether it has enough mass, is not too deep, and not pure."""
        line = self.lines[number]
        if not self.is_known[number] and number == 0:
            return True
        if line["depth"] >= self.rules.max_depth or line["mass"] < 2.0 * self.rules.min_mass * SLACK:
            return False
        if not self.is_known[number]:
            return True
        impure = merit_and_impurity(self.lines, self.sums, number, self.criterion, self.rules.is_class)[1]
        return bool(impure > 1e-12 * line["mass"])

    def mass(self, number: int) -> float:
        """Its mass."""
        return float(self.lines["mass"][number])

    def enter(self, number: int, totals: np.ndarray) -> None:
        """Mass, sums of targets or masses of classes, and squares."""
        q = self.sums.shape[1]
        numbers = totals * self.units
        self.lines["mass"][number] = numbers[0]
        self.sums[number] = numbers[1 : 1 + q]
        self.lines["square"][number] = numbers[1 + q] if len(numbers) > 1 + q else 0.0
        self.is_known[number] = True

    def choose(self, nodes: list[OpenNode], tables: np.ndarray, features: np.ndarray) -> list[bool]:
        """Search the features of each node."""
        numbers = np.array([node.number for node in nodes])
        found = np.zeros((len(numbers), 5))
        n_seen = np.zeros(self.n_nodes, np.int64)
        n_seen[numbers] = [node.n_seen - features.shape[1] for node in nodes]  # before these features
        nodes_so_far = LevelNodes(self.lines, self.sums, self.bounds, self.seeds, self.subsets, n_seen)
        choose = choose_random if self.is_random else choose_searched
        choose(
            tables, self.units, features, numbers, nodes_so_far, self.bins, self.problem.widths, self.kernels,
            self.rules, self.criterion, self.search, found,
        )  # fmt: skip
        is_split = (found[:, FEATURE] >= 0) & (found[:, GAIN] >= self.rules.min_gain)
        for k in np.flatnonzero(is_split):
            self.found[numbers[k]] = found[k]
        # As in growth node by node: a small node whose draws all fail is a leaf; large nodes try further features.
        if self.is_random:
            few = self.lines["mass"][numbers] < PATIENCE * self.rules.min_mass
            return ((found[:, FEATURE] >= 0) | ((found[:, N_TRIED] > 0) & few)).tolist()
        return (found[:, FEATURE] >= 0).tolist()

    def gain(self, number: int) -> float:
        """Difference of merits."""
        return float(self.found[number, GAIN])

    def slot_of(self, number: int) -> tuple[int, float, float, float, float]:
        """The split that `choose` found."""
        split = self.found[number]
        j = int(split[FEATURE])
        missing_left = split[LEFT_MASS] / self.lines["mass"][number]
        return j, split[THRESHOLD], missing_left, self.bounds[number, 0, j], self.bounds[number, 1, j]

    def split(self, number: int) -> tuple[int, int, bool]:
        """Add the children, with the masses that the search has computed."""
        while self.n_nodes + 2 > len(self.lines):
            for name in ("lines", "sums", "bounds", "seeds", "found", "is_known", "subsets"):
                array = getattr(self, name)
                setattr(self, name, np.concatenate([array, np.zeros_like(array)]))
        left, right = self.n_nodes, self.n_nodes + 1
        self.n_nodes += 2
        lines, split = self.lines, self.found[number]
        j, threshold, missing_left, *_ = self.slot_of(number)
        lines["feature"][number], lines["threshold"][number], lines["missing_left"][number] = j, threshold, missing_left
        for side, child in enumerate((left, right)):
            lines["parent"][child], lines["side"][child] = number, side
            lines["depth"][child] = lines["depth"][number] + 1
            lines["mass"][child] = split[LEFT_MASS] if side == 0 else lines["mass"][number] - split[LEFT_MASS]
            self._close(child)
            self.seeds[child] = next_seed(self.seeds[number], side)
            self.bounds[child] = self.bounds[number]
            if not np.isnan(threshold):
                self.bounds[child, 1 - side, j] = threshold
        return left, right, bool(lines["mass"][left] <= lines["mass"][right])

    def _close(self, number: int) -> None:
        line = self.lines[number]
        line["feature"], line["threshold"], line["missing_left"] = -1, np.nan, np.nan
        self.found[number, GAIN] = -np.inf

    def undo(self, number: int) -> None:
        """It stays a leaf."""
        self._close(number)

    def finished(self) -> NodeTable:
        """The nodes, depth first."""
        alive, new = self.renumbered(self.n_nodes)
        lines = self.lines[alive]
        lines["parent"][1:] = new[lines["parent"][1:]]
        lines["threshold"][lines["feature"] < 0] = np.nan
        lines["missing_left"][lines["feature"] < 0] = np.nan
        subsets = self.subsets[alive] if self.bins.n_words else None
        return depth_first(NodeTable(lines, self.sums[alive], subsets))[0]
