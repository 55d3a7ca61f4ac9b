"""The data that a kernel tree is grown from, and the limits of its growth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from softwood.core.targets import ClassTargets, RealTargets
from softwood.kernel.growing.loops.groups import Bins, Kernels
from softwood.kernel.growing.loops.scan import BINARY_ENTROPY, ENTROPY, SQUARED
from softwood.trees.nodes import KernelShapes

CRITERIA = {"gini": SQUARED, "squared_error": SQUARED, "entropy": ENTROPY}


@dataclass(frozen=True)
class Limits:
    """When to stop growing; see `KernelTreeClassifier` for the meaning of each."""

    max_depth: int | None = None
    min_mass: float = 1.0
    min_gain: float = 0.0
    max_leaf_nodes: int | None = None
    n_draw: int | None = None
    cutoff: float = 0.0
    random_thresholds: bool = False  # extra trees: one random threshold for each drawn feature
    rare_mass: float = 10.0  # categories with less mass in a node stay together

    def min_gain_merit(self, problem: GrowthProblem, total: float) -> float:
        """`min_gain` as the compiled loops count it: a difference of merits, for a root of mass `total`."""
        targets = problem.targets
        if isinstance(targets, RealTargets):
            unit = targets.scaled.shape[1] / targets.square_scale
        elif problem.criterion == "entropy":
            unit = np.log(2.0)  # impurities are in bits, merits in natural units
        else:
            unit = 0.5 if problem.stored_outputs == 1 else 1.0  # of two classes one is stored
        return self.min_gain * total * unit


@dataclass(frozen=True)
class GrowthProblem:
    """Data and kernels to grow a tree from.

    Attributes
    ----------
    bins : the binned features
    targets : classes or reals
    weights : (n,) weights of the rows
    widths : (p,) half-width of each feature's kernel, in the units of the feature
    kinds, shapes : (p,) shape of each feature's kernel, and the table of shapes
    cells : (n, p) half-widths of single cells where `by_cell` (p,); None if there are none
    criterion : "gini", "entropy" or "squared_error"
    """

    bins: Bins
    targets: ClassTargets | RealTargets
    weights: np.ndarray
    widths: np.ndarray
    kinds: np.ndarray
    shapes: KernelShapes
    criterion: str
    cells: np.ndarray | None = None
    by_cell: np.ndarray | None = None

    @property
    def n_outputs(self) -> int:
        """Length of a prediction: classes, or targets."""
        return len(self.targets.classes) if isinstance(self.targets, ClassTargets) else self.targets.scaled.shape[1]

    @property
    def stored_outputs(self) -> int:
        """Number of sums stored per node; with two classes, one is enough."""
        if isinstance(self.targets, ClassTargets):
            return 1 if len(self.targets.classes) <= 2 else len(self.targets.classes)
        return self.targets.scaled.shape[1]

    @property
    def criterion_number(self) -> int:
        """Number of the criterion in the compiled loops."""
        number = CRITERIA[self.criterion]
        return BINARY_ENTROPY if number == ENTROPY and self.stored_outputs == 1 else number

    @cached_property
    def target_arrays(self) -> tuple[np.ndarray | None, np.ndarray]:
        """Labels (n,) or None, and weights and targets (if there are no labels), as the compiled loops take them."""
        if isinstance(self.targets, ClassTargets) and self.targets.labels is not None and self.stored_outputs > 1:
            return self.targets.labels, self.weights[:, None]
        matrix = self.targets.matrix()
        matrix = matrix[:, 1:2] if self.targets.is_class and self.stored_outputs == 1 else matrix
        if matrix.shape[1] == 0:  # a single class
            matrix = np.zeros((len(self.targets), 1))
        return None, np.ascontiguousarray(np.column_stack([self.weights, matrix]))

    @property
    def kernels(self) -> Kernels | None:
        """The kernels as the compiled loops take them; None if all are boxes of one width per feature."""
        if self.cells is None and not np.any((self.kinds > 0) & (self.widths > 0)):
            return None
        cells = np.empty((0, 0)) if self.cells is None else self.cells
        by_cell = np.zeros(len(self.widths), dtype=bool) if self.by_cell is None else self.by_cell
        return Kernels(self.kinds, self.shapes.edges, self.shapes.cdfs, cells, by_cell)
