"""The prediction kernels of a fitted model: set by `fit`, and not affected by later changes of parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from softwood.core.arrays import is_within, require_array
from softwood.kernel.data.kernels import Kernel
from softwood.kernel.data.measurement_errors import Errors, Function, combine_widths, width_slopes
from softwood.kernel.data.preparation import common_errors
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.nodes import KernelShapes
from softwood.trees.tree import SoftTree

Finished = TypeVar("Finished", SoftTree, SoftForest)


@dataclass(frozen=True)
class PredictionKernels:
    """Kernels around the points to predict.

    Attributes
    ----------
    widths : (p,) half-width of each column's kernel, before measurement errors
    kernels, kinds, shapes : kernel of each column, the number of its shape, and the table of shapes
    measurement_error : errors of the columns, as the user gave them
    is_crisp : whether predictions use no kernels
    is_as_grown : whether trees are grown with these same kernels
    has_node_widths : whether every node keeps the half-width it was grown with
    has_crisp_trees : whether some trees of a forest have no kernels
    """

    widths: np.ndarray
    kernels: list[Kernel]
    kinds: np.ndarray
    shapes: KernelShapes
    measurement_error: Any
    is_crisp: bool
    is_as_grown: bool
    has_node_widths: bool
    has_crisp_trees: bool = False

    def __post_init__(self) -> None:
        n = len(self.kernels)
        if not is_within(require_array("widths", self.widths, np.float64, (n,)), 0.0, np.inf):
            raise ValueError("widths must be at least 0.")
        is_right = self.kinds.shape == (n,) and self.kinds.dtype.kind == "i"
        if not is_right or not is_within(self.kinds, 0, len(self.shapes) - 1):
            raise ValueError("kinds must hold a row of shapes for each column.")

    def of(self, finished: Finished, errors: Errors) -> Finished:
        """The tree or forest with the prediction kernels; `errors` are the measurement errors in fitting."""
        if self.is_crisp:
            return finished.crisp()
        if self.is_as_grown:
            return finished
        if self.has_node_widths or self.has_crisp_trees:
            kernel = np.where(finished.gate == Gate.KERNEL, self.kinds[finished.feature], 0).astype(np.int32)
            return replace(finished, kernel=kernel, shapes=self.shapes)
        nowhere = np.empty((0, len(self.widths)))
        combined, _ = combine_widths(self.widths, self.kernels, common_errors(errors), nowhere)
        return finished.with_kernel(combined, self.kinds, self.shapes)

    def cells(self, errors: Errors, matrix: np.ndarray) -> np.ndarray | None:
        """Half-widths of single cells (n, p) with these errors; None if no column has different ones.

        If some trees have no kernels, the half-widths of these follow, (n, 2 p).
        """
        cells = combine_widths(self.widths, self.kernels, errors, matrix)[1]
        if cells is None or not self.has_crisp_trees:
            return cells
        of_crisp = combine_widths(np.zeros_like(self.widths), self.kernels, errors, matrix)[1]
        return cells if of_crisp is None else np.hstack([cells, of_crisp])

    def cell_slopes(
        self, functions: dict[int, Function | None], matrix: np.ndarray, cells: np.ndarray | None
    ) -> np.ndarray | None:
        """Derivatives of the half-widths of single cells with respect to the values; None if they are all 0."""
        return None if cells is None else width_slopes(self.widths, self.kernels, functions, matrix, cells)
