"""The shape of trees as layers hold it: gates and leaves numbered separately, one tree after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.loops.layout import FEATURE, KIND, LEFT, LOWER, N_COLUMNS, RIGHT, SHAPE, UPPER
from softwood.trees.nodes import KernelShapes
from softwood.trees.tree import SoftTree


@dataclass(frozen=True)
class Structure:
    """Gates and leaves of one or several trees.

    Attributes
    ----------
    table, gates, leaves : see `softwood.trees.loops.layout.LayerTrees`
    shapes : of the trees, see `SoftTree`
    gate_nodes, leaf_nodes : numbers of the gates and leaves in the arrays of the `SoftTree` or `SoftForest`
    """

    table: np.ndarray
    gates: np.ndarray
    leaves: np.ndarray
    shapes: KernelShapes
    gate_nodes: np.ndarray
    leaf_nodes: np.ndarray

    @classmethod
    def of(cls, trees: SoftTree | SoftForest) -> Structure:
        """The structure of finished trees."""
        offsets = trees.offsets if isinstance(trees, SoftForest) else np.array([0, trees.n_nodes], dtype=np.int64)
        begin = np.repeat(offsets[:-1], np.diff(offsets))
        tree = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        order = np.lexsort((np.arange(trees.n_nodes), trees.depth, tree))  # parents before children
        is_gate = trees.children_left[order] >= 0
        gate_nodes, leaf_nodes = order[is_gate], order[~is_gate]
        code = np.empty(trees.n_nodes, dtype=np.int64)
        code[gate_nodes] = np.arange(len(gate_nodes))
        code[leaf_nodes] = -1 - np.arange(len(leaf_nodes))
        table = np.full((len(gate_nodes), N_COLUMNS), -1, dtype=np.int64)
        table[:, LEFT] = code[trees.children_left[gate_nodes] + begin[gate_nodes]]
        table[:, RIGHT] = code[trees.children_right[gate_nodes] + begin[gate_nodes]]
        table[:, KIND] = trees.gate[gate_nodes]
        table[:, FEATURE] = np.maximum(trees.feature[gate_nodes], 0)
        table[:, SHAPE] = trees.kernel[gate_nodes]
        bound_kernels(table)
        n_trees = len(offsets) - 1
        counts = [np.bincount(tree[nodes], minlength=n_trees) for nodes in (gate_nodes, leaf_nodes)]
        starts = [np.concatenate([[0], np.cumsum(count)]).astype(np.int64) for count in counts]
        return cls(table, starts[0], starts[1], trees.shapes, gate_nodes, leaf_nodes)

    @classmethod
    def complete(cls, n_trees: int, depth: int, kind: Gate, feature: np.ndarray | None = None) -> Structure:
        """Complete trees whose gates, level by level, all have the same kind.

        Parameters
        ----------
        feature : (n_trees * n_gates,) of kernel gates
        """
        n_gates = 2**depth - 1
        gate, tree = np.arange(n_gates), np.arange(n_trees)[:, None]
        table = np.full((n_trees * n_gates, N_COLUMNS), -1, dtype=np.int64)
        for column, child in ((LEFT, 2 * gate + 1), (RIGHT, 2 * gate + 2)):
            code = np.where(
                child < n_gates, child + tree * n_gates, -1 - (child - n_gates + tree * (n_gates + 1))
            )  # fmt: skip
            table[:, column] = code.ravel()
        table[:, KIND], table[:, SHAPE] = kind, 0
        table[:, FEATURE] = 0 if feature is None else feature
        bound_kernels(table)
        starts = [np.arange(n_trees + 1, dtype=np.int64) * size for size in (n_gates, n_gates + 1)]
        gates, leaves = starts
        return cls(table, gates, leaves, KernelShapes.box(), np.arange(gates[-1]), np.arange(leaves[-1]))

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.gates) - 1

    def levels(self) -> list[np.ndarray]:
        """Gates of each depth, in order."""
        found = []
        level = self.gates[:-1][np.diff(self.gates) > 0]
        while len(level):
            found.append(level)
            below = self.table[level][:, [LEFT, RIGHT]].ravel()
            level = np.sort(below[below >= 0])
        return found


def bound_kernels(table: np.ndarray) -> None:
    """Fill the columns UPPER and LOWER of a table of gates."""
    table[:, [UPPER, LOWER]] = -1
    n = len(table)
    parent, is_left = np.full(n, -1), np.zeros(n, dtype=bool)
    for column in (LEFT, RIGHT):
        inner = np.flatnonzero(table[:, column] >= 0)
        parent[table[inner, column]] = inner
        is_left[table[inner, column]] = column == LEFT
    kernels = np.flatnonzero(table[:, KIND] == Gate.KERNEL)
    gate, child = parent[kernels], kernels
    while len(kernels):  # all kernel gates go up one step at a time
        kept = gate >= 0
        kernels, gate, child = kernels[kept], gate[kept], child[kept]
        is_same = (table[gate, KIND] == Gate.KERNEL) & (table[gate, FEATURE] == table[kernels, FEATURE])
        for column, side in ((UPPER, is_left[child]), (LOWER, ~is_left[child])):
            found = is_same & side & (table[kernels, column] < 0)
            table[kernels[found], column] = gate[found]
        gate, child = parent[gate], gate
