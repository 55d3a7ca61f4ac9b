"""From the survey of rows in parts to training data: bins, the sample, and the third pass, which codes the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from softwood.compiled.growing import encode_column
from softwood.core.columns import Columns
from softwood.core.targets import ClassTargets, RealTargets
from softwood.kernel.data.binning import Bins, bin_features
from softwood.kernel.data.kernels import Kernel
from softwood.kernel.data.preparation import TrainingData
from softwood.kernel.data.row_keys import row_numbers
from softwood.kernel.parts.numbers import draw_keys
from softwood.kernel.parts.rows import SCORED, TRAIN, CodedRows, padded
from softwood.kernel.parts.sources import RawRows
from softwood.kernel.parts.survey import Survey, Weighting
from softwood.kernel.parts.targets import ScaledReals
from softwood.trees.tree import KernelShapes

__all__ = ["Coding", "bins_of", "code_rows", "sample_data", "sample_targets"]


def bins_of(found: Survey, max_bins: int, n_jobs: int | None) -> Bins:
    """Bins of the sample. Between two bins of a part of the rows, others may lie: the next bin begins right there."""
    rows = found.sample
    equal = bool(np.all(rows.weights == rows.weights[0]))
    bins = bin_features(rows.matrix, None if equal else rows.weights, max_bins, n_jobs)
    if found.is_whole:
        return bins
    highs = bins.highs.copy()
    for begin, end in pairwise(bins.offsets):
        highs[begin : end - 1] = np.nextafter(bins.lows[begin + 1 : end], -np.inf)
    return bins._replace(highs=highs)


def sample_targets(found: Survey, classes: np.ndarray | None, is_flat: bool) -> ClassTargets | RealTargets:
    """Targets of the sample; `is_flat` as of `RealTargets`."""
    given = found.sample.targets
    if classes is not None:
        is_labels = given.dtype.kind == "i"
        return ClassTargets(classes, given if is_labels else None, None if is_labels else given)
    scaled = ScaledReals.of(found)
    return RealTargets(scaled(given), scaled.mean, scaled.scale, is_flat)


def sample_data(
    found: Survey,
    bins: Bins,
    targets: ClassTargets | RealTargets,
    columns: Columns,
    kernels: tuple[list[Kernel], np.ndarray, KernelShapes],
    criterion: str,
) -> TrainingData:
    """The sample as training data, with the deviations of all rows."""
    p = found.sample.matrix.shape[1]
    deviations = np.where(columns.is_category, 0.0, found.deviations[:p])
    return TrainingData(
        found.sample.matrix, targets, found.sample.weights, bins, deviations, *kernels, {}, criterion
    )  # fmt: skip


@dataclass(frozen=True)
class Coding:
    """How rows are coded.

    Attributes
    ----------
    bins : the bins, without codes
    targets : function from the targets of `RawRows` to those of `CodedRows`
    validation, scored : fraction of the rows that are validation rows; and of those whose training loss is computed
    seed : of the draws by content;  has_keys : whether rows are drawn later on
    """

    bins: Bins
    weighting: Weighting
    targets: Callable[[np.ndarray], np.ndarray]
    seed: int
    validation: float = 0.0
    scored: float = 0.0
    has_keys: bool = False


def code_rows(raw: RawRows, coding: Coding) -> CodedRows:
    """A coded part."""
    n, p = raw.matrix.shape
    bins = coding.bins
    codes = np.zeros((n, p), dtype=np.uint8)
    matrix = np.ascontiguousarray(raw.matrix)
    for j in range(p):
        begin, end = bins.offsets[j], bins.offsets[j + 1]
        if end > begin:  # a column without any value has no bins, so "missing" is 0
            encode_column(matrix, j, bins.lows[begin + 1 : end], codes)
    numbers = row_numbers(raw.matrix, coding.seed + 1)
    kinds = np.where(numbers >= coding.validation, TRAIN, 0).astype(np.uint8)
    kinds[(numbers >= 1.0 - coding.scored) & (kinds == TRAIN)] |= SCORED
    return CodedRows(
        bins._replace(codes=codes),
        padded(np.ascontiguousarray(coding.targets(raw.targets))),
        padded(coding.weighting.of(raw)),
        kinds,
        draw_keys(raw.matrix, raw.targets, coding.seed) if coding.has_keys else None,
    )
