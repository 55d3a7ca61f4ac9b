"""A tree of boosting that grows by levels."""

from __future__ import annotations

import numpy as np

import softwood.compiled.boosting as loop
from softwood.kernel.growing.loops.groups import Bins
from softwood.kernel.parts.growing import LevelTree, OpenNode
from softwood.kernel.parts.loops.boosted import BoostSpace
from softwood.kernel.rounds.loops.boost import NODE
from softwood.kernel.rounds.loops.boost_scores import BY_GRADIENT, LEFT_G, LEFT_H, LEFT_W, MISSING_LEFT, THRESHOLD
from softwood.kernel.rounds.loops.boost_search import LEAF
from softwood.kernel.rounds.newton import Boxes, NewtonLimits, NewtonTree, loop_rules


class NewtonLevels(LevelTree):
    """A tree of boosting; arguments as in `NewtonGrower`.

    Parameters
    ----------
    is_soft : whether rows can be in several nodes
    units : (4,) units of the sums of hessian, gradient and weight; the fourth column is not used
    """

    def __init__(
        self,
        bins: Bins,
        limits: NewtonLimits,
        kernels: Boxes,
        features: np.ndarray,
        units: np.ndarray,
        *,
        is_soft: bool,
        category_order: int = BY_GRADIENT,
    ) -> None:
        super().__init__(len(features), len(features), 4, 4, bins.most, limits.max_leaves, limits.max_depth)
        self.bins, self.limits, self.kernels, self.features, self.units = bins, limits, kernels, features, units
        self.rules, self.is_soft = loop_rules(limits)._replace(category_order=category_order), is_soft
        self.directions = None if limits.directions is None else np.asarray(limits.directions, dtype=np.int64)
        p, most = len(kernels.widths), bins.most
        self.leaves, self.nodes = np.zeros(64, LEAF), np.zeros(64, NODE)
        self.bounds = np.zeros((64, 2, p))
        self.subsets = np.zeros((64, bins.n_words), np.uint32)
        self.space = BoostSpace(
            np.zeros((64, 6)), np.zeros((p, most + 1, 4)), np.zeros((len(features), 6)), np.zeros((7, 2 * most)),
            np.zeros(most + 1), np.zeros((2, most + 1), np.int64), self.subsets,
        )  # fmt: skip
        self.n_nodes = 1
        root = self.leaves[:1]
        root["feature"], root["gain"], root["lowest"], root["highest"] = -1, -np.inf, -np.inf, np.inf
        self.bounds[0] = [[-np.inf], [np.inf]]
        self.nodes["parent"][0] = -1

    def node_order(self, number: int) -> np.ndarray:
        """All features of the tree."""
        return self.features

    def may_split(self, number: int) -> bool:
        """Whether it has enough mass, and is not too deep."""
        return number == 0 or loop.is_splittable(self.leaves, number, self.rules.max_depth, self.rules.min_mass)

    def mass(self, number: int) -> float:
        """Weight of its rows."""
        return float(self.leaves["w"][number])

    def enter(self, number: int, totals: np.ndarray) -> None:
        """Hessian, gradient and weight."""
        for o, name in enumerate(("h", "g", "w")):
            self.leaves[name][number] = totals[o] * self.units[o]

    def choose(self, nodes: list[OpenNode], tables: np.ndarray, features: np.ndarray) -> list[bool]:
        """Search all features."""
        numbers = np.array([node.number for node in nodes])
        loop.choose_boosted(
            tables, self.units, numbers, self.leaves, self.bins, self.kernels.edges, self.bounds, self.features,
            self.directions, self.rules, self.space,
        )  # fmt: skip
        return [True] * len(nodes)

    def gain(self, number: int) -> float:
        """Twice the decrease of the loss."""
        return float(self.leaves["gain"][number])

    def slot_of(self, number: int) -> tuple[int, float, float, float, float]:
        """The split that `choose` found."""
        j, split = int(self.leaves["feature"][number]), self.space.splits[number]
        return j, split[THRESHOLD], split[MISSING_LEFT], self.bounds[number, 0, j], self.bounds[number, 1, j]

    def split(self, number: int) -> tuple[int, int, bool]:
        """Add the children, with the sums that the search has computed."""
        while self.n_nodes + 2 > len(self.leaves):
            self._lengthen()
        left, right = self.n_nodes, self.n_nodes + 1
        self.n_nodes += 2
        leaves, split = self.leaves, self.space.splits[number]
        j = int(leaves["feature"][number])
        line = self.nodes[number]
        by_set = self._is_category(j)
        line["feature"], line["threshold"], line["missing_left"] = j, split[THRESHOLD], split[MISSING_LEFT]
        if by_set:
            line["threshold"] = np.nan
        for side, child in enumerate((left, right)):
            leaves[child] = leaves[number]
            leaves["line"][child], leaves["depth"][child] = child, leaves["depth"][number] + 1
            leaves["feature"][child], leaves["gain"][child] = -1, -np.inf
            for name, column in (("h", LEFT_H), ("g", LEFT_G), ("w", LEFT_W)):
                leaves[name][child] = split[column] if side == 0 else leaves[name][number] - split[column]
            self.nodes["parent"][child], self.nodes["side"][child] = number, side
            self.bounds[child] = self.bounds[number]
            if not by_set:
                self.bounds[child, 1 - side, j] = split[THRESHOLD]
        return left, right, bool(leaves["w"][left] <= leaves["w"][right])

    def _is_category(self, j: int) -> bool:
        return len(self.bins.n_categories) > 0 and self.bins.n_categories[j] > 0

    def lines_left(self, number: int) -> np.ndarray | None:
        """As crisp rows are divided; the last line has those without a value."""
        if self.is_soft:
            return None
        j, split = int(self.nodes["feature"][number]), self.space.splits[number]
        values = self.bins.values[slice(*self.bins.offsets[j : j + 2])]
        is_left = values <= split[THRESHOLD]
        if self._is_category(j):
            categories = values.astype(np.int64)
            is_left = (self.subsets[number, categories >> 5] >> (categories & 31).astype(np.uint32)) & 1 == 1
        return np.append(is_left, split[MISSING_LEFT] > 0.5)

    def settle(self, number: int, left: int, right: int) -> None:
        """Limits of the children's values under monotonic constraints."""
        direction = 0 if self.directions is None else int(self.directions[self.leaves["feature"][number]])
        loop.limit_children(self.leaves, left, right, direction, self.rules.l2)

    def undo(self, number: int) -> None:
        """It stays a leaf."""
        self.leaves["feature"][number], self.leaves["gain"][number] = -1, -np.inf

    def _lengthen(self) -> None:
        def longer(array: np.ndarray) -> np.ndarray:
            return np.concatenate([array, np.zeros_like(array)])

        self.leaves, self.nodes, self.bounds = longer(self.leaves), longer(self.nodes), longer(self.bounds)
        self.subsets = longer(self.subsets)
        self.space = self.space._replace(splits=longer(self.space.splits), subsets=self.subsets)

    def finished(self) -> tuple[NewtonTree, np.ndarray]:
        """The tree, and the node of each slot of the last level."""
        nodes = self.nodes[: self.n_nodes].copy()
        has_children = np.zeros(self.n_nodes, dtype=bool)
        has_children[[nodes["parent"][number] for number in range(1, self.n_nodes) if number not in self.dead]] = True
        for number in range(self.n_nodes):
            kept = nodes[number].copy()
            loop.write_line(nodes, self.leaves, number, kept["parent"], kept["side"], self.rules.l2)
            if has_children[number]:
                for name in ("feature", "threshold", "missing_left"):
                    nodes[name][number] = kept[name]
        alive, new = self.renumbered(self.n_nodes)
        nodes = nodes[alive]
        nodes["parent"][1:] = new[nodes["parent"][1:]]
        none = np.empty(0)
        subsets = None
        if self.bins.n_words:
            by_set = (nodes["feature"] >= 0) & (self.bins.n_categories[nodes["feature"]] > 0)
            subsets = np.where(by_set[:, None], self.subsets[alive], np.uint32(0))
        return NewtonTree(nodes, self.kernels.widths, none, none, None, subsets), new[np.array(self.lines_of_slots)]
