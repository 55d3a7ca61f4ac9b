"""Predictions of each tree of boosting for held-out rows and validation rows, as soon as it is grown."""

from __future__ import annotations

import numpy as np

import softwood.compiled.boosting as loop
from softwood.kernel.rounds.newton import NewtonTree
from softwood.trees.loops.predict import GATE, KernelTrees
from softwood.trees.nodes import KernelShapes
from softwood.trees.sharing import kernel_lists

# Rows that are predicted at once.
_BLOCK = 1024
# With larger half-widths, ends of boxes may overflow.
_LARGEST_WIDTH = 1e150


class HeldOutRows:
    """Adds the predictions of trees to raw scores; for one thread.

    A finished tree predicts the same, but it takes time to make one.

    Parameters
    ----------
    matrix : (n, p) encoded rows;  n_categories : (p,) number of categories of each column, see `Bins`
    """

    def __init__(self, matrix: np.ndarray, n_categories: np.ndarray) -> None:
        self._matrix, self._n_categories = np.require(matrix, np.float64, ["C", "W"]), n_categories
        self._block = max(1, min(_BLOCK, len(matrix)))
        self._make_room(63, 8)

    def add(
        self, tree: NewtonTree, cells: np.ndarray | None, raw: np.ndarray, column: int, rows: np.ndarray | None = None
    ) -> None:
        """Add the tree's predictions to raw scores (n, n_scores) of the rows, from this column on.

        Parameters
        ----------
        cells : half-widths of single cells (n, p), nan where those of the tree hold; None if they always do
        raw : stored by column if the tree has one value
        rows : numbers of the rows; None: all
        """
        nodes = tree.nodes
        depth = int(nodes["depth"].max())
        if len(nodes) > len(self._trees.gates) or depth >= self._n_frames:
            self._make_room(2 * len(nodes), 2 * depth)
        trees = self._trees
        is_wide = tree.widths.max(initial=0.0) > _LARGEST_WIDTH
        if tree.subsets is not None or is_wide:
            subsets = trees.subsets if tree.subsets is None else tree.subsets
            compiled = loop.KernelTrees(*trees._replace(subsets=subsets, only_boxes=not is_wide))
        else:
            compiled = self._compiled
        loop.set_gates(
            nodes, tree.widths, self._n_categories, trees.gates, trees.missing_left, trees.thresholds, trees.widths,
        )  # fmt: skip
        values = np.ascontiguousarray(tree.values)
        columns = slice(column, column + values.shape[1])
        matrix, part = self._matrix, raw[:, columns]
        if rows is not None:
            matrix, part = matrix[rows], np.zeros((len(rows), values.shape[1]))
            cells = None if cells is None else cells[rows]
        loop.read_rows(matrix, cells, self._block, compiled, self._lists, values, part)
        if rows is not None:
            raw[rows, columns] += part

    def _make_room(self, n_nodes: int, height: int) -> None:
        """Room for trees of up to this many nodes and levels of gates."""
        box = KernelShapes.box()
        missing_left, thresholds, widths = np.zeros((3, n_nodes))
        self._trees = KernelTrees(
            np.zeros(n_nodes, GATE), missing_left, thresholds, widths, box.edges, box.cdfs, True,
            np.zeros((1, 0), np.uint32),
        )  # fmt: skip
        self._compiled = loop.KernelTrees(*self._trees)
        lists = kernel_lists(self._block, height, self._matrix.shape[1])
        self._n_frames, self._lists = len(lists.frames), loop.Lists(*lists)
