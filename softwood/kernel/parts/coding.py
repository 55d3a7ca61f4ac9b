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
from softwood.kernel.data.measurement_errors import Errors
from softwood.kernel.data.outliers import without_outliers
from softwood.kernel.data.preparation import TrainingData
from softwood.kernel.data.row_keys import row_numbers
from softwood.kernel.parts.numbers import draw_keys
from softwood.kernel.parts.rows import SCORED, TRAIN, CodedRows, padded
from softwood.kernel.parts.sources import RawRows
from softwood.kernel.parts.survey import Survey, Weighting
from softwood.kernel.parts.targets import ScaledReals
from softwood.kernel.trend import HeldOutTrend
from softwood.trees.nodes import KernelShapes


def bins_of(found: Survey, max_bins: int, n_jobs: int | None, n_categories: np.ndarray) -> Bins:
    """Bins of the sample; `n_categories` as in `bin_features`.

    Other rows may lie between two bins of the sample: the next bin begins right after each.
    """
    rows = found.sample
    equal = bool(np.all(rows.weights == rows.weights[0]))
    bins = bin_features(rows.matrix, None if equal else rows.weights, max_bins, n_jobs, n_categories)
    if found.is_whole:
        return bins
    bins = _with_all_categories(bins)
    highs = bins.highs.copy()
    for begin, end in pairwise(bins.offsets):
        highs[begin : end - 1] = np.nextafter(bins.lows[begin + 1 : end], -np.inf)
    return bins._replace(highs=highs)


def _with_all_categories(bins: Bins) -> Bins:
    """A bin for every category, also for those that the sample lacks."""
    counts, n = np.diff(bins.offsets), bins.n_categories
    if not n.any():
        return bins
    sizes = np.where(n > 0, n, counts)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    columns = []
    for array in (bins.values, bins.lows, bins.highs):
        own = np.split(array, bins.offsets[1:-1])
        columns.append(np.concatenate([np.arange(float(k)) if k else part for k, part in zip(n, own, strict=True)]))
    codes = bins.codes.copy()
    for j in np.flatnonzero(n):
        codes[:, j] = np.where(np.isnan(bins.points[:, j]), n[j], bins.points[:, j])
    return bins._replace(codes=codes, values=columns[0], lows=columns[1], highs=columns[2], offsets=offsets)


def bin_points(bins: Bins) -> np.ndarray:
    """Values of the bins, (most, p): a column for each feature, filled up with nan."""
    points = np.full((bins.most, len(bins.offsets) - 1), np.nan)
    for j, (begin, end) in enumerate(pairwise(bins.offsets)):
        points[: end - begin, j] = bins.values[begin:end]
    return points


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
    errors: Errors,
    criterion: str,
) -> TrainingData:
    """The sample as training data, with the deviations of all rows but outliers."""
    p = found.sample.matrix.shape[1]
    deviations = np.where(columns.is_category, 0.0, found.deviations[:p])
    deviations = without_outliers(bins, found.sample.weights, deviations)
    return TrainingData(
        found.sample.matrix, targets, found.sample.weights, bins, deviations, *kernels, errors, criterion
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
    trend : of whose predictions the targets are residuals; None if they are not
    """

    bins: Bins
    weighting: Weighting
    targets: Callable[[np.ndarray], np.ndarray]
    seed: int
    validation: float = 0.0
    scored: float = 0.0
    has_keys: bool = False
    trend: HeldOutTrend | None = None


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
    targets = coding.targets(raw.targets)
    if coding.trend is not None:
        targets = coding.trend.residuals(raw.matrix, targets)
    return CodedRows(
        bins._replace(codes=codes),
        padded(np.ascontiguousarray(targets)),
        padded(coding.weighting.of(raw)),
        kinds,
        draw_keys(raw.matrix, raw.targets, coding.seed) if coding.has_keys else None,
    )
