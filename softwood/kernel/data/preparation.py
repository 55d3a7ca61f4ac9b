"""Training data of kernel models, read and binned once for all trees that are grown from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softwood.core.columns import Columns
from softwood.core.targets import ClassTargets, RealTargets
from softwood.kernel.data.binning import Bins, bin_features
from softwood.kernel.data.category_statistics import SETS_UP_TO
from softwood.kernel.data.column_statistics import standard_deviations
from softwood.kernel.data.kernels import Kernel
from softwood.kernel.data.measurement_errors import Errors, combine_widths
from softwood.kernel.data.outliers import without_outliers
from softwood.kernel.growing.problem import GrowthProblem
from softwood.trees.nodes import KernelShapes

# splitter="auto" is exact up to this number of rows; with more rows, a few hundred bins are as accurate and faster.
EXACT_UP_TO = 10_000


@dataclass(frozen=True)
class TrainingData:
    """What a tree is grown from, except for the bandwidths.

    Attributes
    ----------
    matrix : (n, p) encoded rows;  targets;  weights : (n,)
    bins : the binned matrix
    deviations : (p,) standard deviation of each column, without outliers, 0 for categories
    kernels, kinds, shapes : kernel of each column, the number of its shape, and the table of shapes
    errors : known measurement errors
    """

    matrix: np.ndarray
    targets: ClassTargets | RealTargets
    weights: np.ndarray
    bins: Bins
    deviations: np.ndarray
    kernels: list[Kernel]
    kinds: np.ndarray
    shapes: KernelShapes
    errors: Errors
    criterion: str

    def problem(self, widths: np.ndarray) -> GrowthProblem:
        """The data with bandwidths (p,), in the units of the columns."""
        combined, cells = combine_widths(widths, self.kernels, self.errors, self.matrix)
        by_cell = None
        if cells is not None:
            by_cell = ~np.isnan(cells).all(axis=0)
            combined = np.where(by_cell, 1.0, combined)  # any width above 0: not crisp
        return GrowthProblem(
            self.bins, self.targets, self.weights, combined, self.kinds, self.shapes, self.criterion, cells, by_cell
        )


def prepare(
    matrix: np.ndarray,
    targets: ClassTargets | RealTargets,
    weights: np.ndarray,
    columns: Columns,
    kernels: tuple[list[Kernel], np.ndarray, KernelShapes],
    errors: Errors,
    *,
    criterion: str,
    splitter: str,
    max_bins: int,
    n_jobs: int | None,
) -> TrainingData:
    """Bin the features and measure their spread; `matrix` has statistics in columns of many categories."""
    is_exact = splitter == "exact" or (splitter == "auto" and len(matrix) <= EXACT_UP_TO)
    equal_weights = bool(np.all(weights == weights[0]))
    n_categories = np.where(columns.n_categories > SETS_UP_TO, 0, columns.n_categories)
    bins = bin_features(
        matrix, None if equal_weights else weights, None if is_exact else max_bins, n_jobs, n_categories
    )
    deviations = np.where(columns.is_category, 0.0, standard_deviations(matrix, weights))
    deviations = without_outliers(bins, weights, deviations)
    return TrainingData(matrix, targets, weights, bins, deviations, *kernels, errors, criterion)


def common_errors(errors: Errors) -> Errors:
    """The errors that are the same for all rows."""
    return {j: error for j, error in errors.items() if np.ndim(error) == 0}
