"""Choosing the number of leaves of a kernel tree, together with its bandwidth.

Best-first growth passes through the best trees of all sizes, so one growth on training rows scores every size on
held-out rows. Sizes double as long as the loss of the best one falls.

The loss is the squared error of the targets or of the class probabilities. Measured on tables of 100 to 2 000 rows,
it chose smaller and more accurate trees than the share of wrong classes, which is noisier, or the cross-entropy, whose
best trees are twice as large. With thousands of held-out rows the share of wrong classes is less noisy, and its mean
with the squared error chose more accurate trees, above all with many classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from softwood.compiled.growing import losses_by_size
from softwood.core.steps import Steps
from softwood.core.targets import ClassTargets, RealTargets
from softwood.kernel.choosing.bandwidth import AUTO_COLUMNS, auto_parts, content_folds
from softwood.kernel.data.preparation import TrainingData
from softwood.kernel.growing.finishing import node_values
from softwood.kernel.growing.growing import GrowthByGain
from softwood.kernel.growing.loops.groups import NO_SETS
from softwood.kernel.growing.problem import GrowthProblem, Limits
from softwood.kernel.growing.workspace import Workspace

# Number of leaves of the first trees.
FIRST_LEAVES = 64
# If the best size exceeds this fraction of the largest one, larger trees are tried.
NEAR_THE_END = 0.6
# Larger trees are grown with this many of the best bandwidths, if their loss is at most this many times the smallest.
FOLLOWED, FAR_FROM_BEST = 3, 1.3
# The chosen tree is the smallest one whose loss is at most this many standard errors above the smallest loss: in folds,
# in samples of a large table, and with max_leaf_nodes="small". The losses of two equally good trees on the same rows
# differ by much less than one standard error.
BEST_WITHIN, BEST_WITHIN_SAMPLES, SMALL_WITHIN = 0.25, 0.1, 1.0
# Losses are averaged over sizes that differ by at most this fraction.
SPAN = 0.2
# Tables of at most FEW_CELLS cells are divided into folds several times, because the choice is noisy and cheap. The
# split search visits all outputs of a cell, so a cell counts once for every FEW_OUTPUTS outputs.
FEW_CELLS, FEW_OUTPUTS, TIMES = 50_000, 20, 3
# With at least this many rows, losses are smooth, and larger bandwidths are not tried once the loss rises.
MANY_ROWS = 10_000

Parts = list[tuple[np.ndarray, np.ndarray]]


def smoothed(losses: np.ndarray) -> np.ndarray:
    """Means over the sizes from 1 - SPAN to 1 + SPAN times each size."""
    sizes = np.arange(1, len(losses) + 1)
    begin = np.ceil((1 - SPAN) * sizes).astype(int) - 1
    end = np.minimum(np.floor((1 + SPAN) * sizes).astype(int), len(losses))
    sums = np.concatenate([[0.0], np.cumsum(losses)])
    return (sums[end] - sums[begin]) / (end - begin)


@dataclass
class SizePath:
    """Held-out losses by bandwidth and size.

    Attributes
    ----------
    losses, errors : for each scale of the bandwidth the mean loss of trees of 1, 2, ... leaves, and its standard error
    gains : for each scale the gain between the last split of trees of 1, 2, ... leaves and the next one
    complete : the scales with which no tree could have grown larger
    """

    losses: dict[float, np.ndarray] = field(default_factory=dict)
    errors: dict[float, np.ndarray] = field(default_factory=dict)
    gains: dict[float, np.ndarray] = field(default_factory=dict)
    complete: set[float] = field(default_factory=set)

    def least(self, scale: float) -> tuple[float, int]:
        """Smallest smoothed loss with a scale, and the number of leaves."""
        losses = smoothed(self.losses[scale])
        size = int(losses.argmin())
        return float(losses[size]), size + 1

    def choose(self, within: float) -> tuple[float, int]:
        """Scale and size of the smallest tree whose loss is at most `within` standard errors above the least one.

        The size is at least 2.
        """
        if not self.losses:
            return 0.0, 2
        least, size, scale = min((*self.least(scale), scale) for scale in self.losses)
        # Losses are summed up from differences: those of equally good trees differ by rounding.
        rounding = 1e-12 * max(float(losses[0]) for losses in self.losses.values())
        limit = least + rounding + within * float(self.errors[scale][size - 1])
        found = []
        for each, losses in self.losses.items():
            means = smoothed(losses)
            good = np.flatnonzero(means <= limit)
            if len(good):
                found.append((int(good[0]) + 1, float(means[good[0]]), each))
        size, _, scale = min(found)
        return scale, max(size, 2)

    def columns(self) -> dict[str, np.ndarray]:
        """A column each of bandwidths, sizes, losses and standard errors."""
        sizes = [len(losses) for losses in self.losses.values()]
        none = [np.empty(0)]
        return {
            "bandwidth": np.repeat(list(self.losses), sizes),
            "max_leaf_nodes": np.concatenate([np.arange(1, size + 1) for size in sizes] or none),
            "loss": np.concatenate([*self.losses.values()] or none),
            "standard_error": np.concatenate([*self.errors.values()] or none),
        }


@dataclass
class _Trial:
    """Trees with one bandwidth, one for the training rows of each part."""

    problem: GrowthProblem
    growths: list[GrowthByGain]


class SizeChoice:
    """Compares sizes of a tree, and bandwidths, by held-out loss.

    Parameters
    ----------
    widths : half-widths (p,) that a scale of 1 stands for
    crisp : whether the tree will predict without kernels
    quick : whether folds are drawn only once, and the share of wrong classes never counts
    """

    def __init__(
        self, data: TrainingData, limits: Limits, widths: np.ndarray, seed: int, *, crisp: bool, steps: Steps,
        quick: bool = False,
    ) -> None:  # fmt: skip
        self._data, self._limits, self._widths, self._seed = data, limits, widths, seed
        self._crisp, self._steps, self._quick = crisp, steps, quick
        self._parts, self._is_sampled = _parts_of(data, seed, 1 if quick else TIMES)
        self._truth = data.targets.matrix()
        self._trials: dict[float, _Trial] = {}

    def compare(self, scales: Iterable[float], most: int | None = None) -> SizePath:
        """Losses of trees of all sizes, or of up to `most` leaves; none if there are no rows to hold out."""
        path = SizePath()
        if self._parts:
            self._compare(path, scales, FIRST_LEAVES if most is None else most)
            if most is None:
                self._lengthen(path)
            self._trials.clear()
        return path

    def within(self, *, small: bool) -> float:
        """How many standard errors the loss of a chosen tree may be above the least one."""
        return SMALL_WITHIN if small else BEST_WITHIN_SAMPLES if self._is_sampled else BEST_WITHIN

    @property
    def is_folded(self) -> bool:
        """Whether the parts are folds of all rows, and not samples."""
        return not self._is_sampled

    def limits(self, path: SizePath, scale: float, size: int) -> Limits:
        """Limits of the tree to grow from all rows, if this scale and size are best.

        In folds, trees grow on nearly all rows, and the number of leaves is that of the best size. In samples of a
        large table they grow on few rows, and more rows justify more leaves: the tree is then grown as long as a split
        gains as much as those of the best size. The gain of a chance split does not depend on the number of rows, and
        that of a real one grows with it.
        """
        if not self._is_sampled:
            return replace(self._limits, max_leaf_nodes=size)
        problem = self._data.problem(scale * self._widths)
        unit = Limits(min_gain=1.0).min_gain_merit(problem, float(self._data.weights.sum()))
        gain = float(path.gains[scale][size - 1]) / unit
        return replace(self._limits, min_gain=max(gain, self._limits.min_gain))

    def _compare(self, path: SizePath, scales: Iterable[float], most: int) -> None:
        """Small trees of all scales."""
        space = Workspace()
        least: list[float] = []
        for scale in scales:
            self._trials[scale] = self._begin(scale, space)
            self._grow(path, scale, most)
            least.append(path.least(scale)[0])
            gets_worse = len(least) > 3 and min(least[-2:]) > 1.05 * min(least)
            if self._steps.is_stopped or (gets_worse and len(self._data.matrix) >= MANY_ROWS):
                break

    def _lengthen(self, path: SizePath) -> None:
        """Larger trees of the best scales, as long as their loss falls."""
        followed = sorted(path.losses, key=path.least)[:FOLLOWED]
        while not self._steps.is_stopped:
            most = FAR_FROM_BEST * min(path.least(scale)[0] for scale in path.losses)
            followed = [
                scale
                for scale in followed
                if scale not in path.complete
                and path.least(scale)[0] <= most
                and path.least(scale)[1] >= NEAR_THE_END * len(path.losses[scale])
            ]
            if not followed:
                break
            self._trials = {scale: self._trials[scale] for scale in followed}  # frees the others
            for scale in followed:
                self._grow(path, scale, 2 * len(path.losses[scale]))

    def _begin(self, scale: float, space: Workspace) -> _Trial:
        limits = replace(self._limits, n_draw=min(AUTO_COLUMNS, self._limits.n_draw or AUTO_COLUMNS))
        problem = self._data.problem(scale * self._widths)
        growths = [GrowthByGain(problem, limits, seed=self._seed, rows=train, space=space) for train, _ in self._parts]
        return _Trial(problem, growths)

    def _grow(self, path: SizePath, scale: float, most: int) -> None:
        """Add the losses of trees of up to `most` leaves to the path."""
        step = self._steps.begin()
        trial, weights = self._trials[scale], self._data.weights
        sums, mass, gains = np.zeros((most, 2)), 0.0, np.zeros(most)
        for growth, (_, test) in zip(trial.growths, self._parts, strict=True):
            growth.grow_to(most)
            found = self._losses(trial.problem, growth, test)
            sums[: len(found)] += found
            sums[len(found) :] += found[-1]  # the tree cannot grow any more
            mass += float(weights[test].sum())
            gains += _gains_between(growth.gains, most)
        means = np.maximum(sums, 0.0) / mass  # below 0 by rounding
        path.losses[scale] = means[:, 0]
        # Rows that are held out several times do not count several times.
        n_times = mass / float(weights[np.unique(np.concatenate([test for _, test in self._parts]))].sum())
        spread = np.maximum(means[:, 1] - means[:, 0] ** 2, 0.0)
        path.errors[scale] = np.sqrt(spread / (mass / n_times))
        path.gains[scale] = np.exp(gains / len(self._parts))
        if all(growth.is_complete for growth in trial.growths):
            path.complete.add(scale)
        loss, size = path.least(scale)
        step.end(bandwidth=float(scale), validation_loss=loss, n_leaves=size)

    def _losses(self, problem: GrowthProblem, growth: GrowthByGain, test: np.ndarray) -> np.ndarray:
        """Sums of the losses of held-out rows and of their squares, (n_sizes, 2)."""
        data, nodes = self._data, growth.nodes
        if isinstance(data.targets, RealTargets):
            values = nodes.sums / nodes.lines["mass"][:, None]
        else:
            values = node_values(problem, nodes)[0]
        widths, kernels = problem.widths, problem.kernels
        if self._crisp:
            widths, kernels = np.zeros_like(widths), None
        losses = np.empty((len(growth.order) + 1, 2))
        losses_by_size(
            problem.bins, widths, kernels, nodes.lines, NO_SETS if nodes.subsets is None else nodes.subsets,
            growth.order, np.ascontiguousarray(values),
            test.astype(np.uint32), self._truth[test], data.weights[test],
            not self._quick and self._is_sampled and data.targets.is_class, losses,
        )  # fmt: skip
        return losses


def _parts_of(data: TrainingData, seed: int, times: int) -> tuple[Parts, bool]:
    """Training and held-out rows, and whether these are samples of a large table."""
    n = len(data.matrix)
    parts = auto_parts(data, seed)
    is_sampled = bool(parts) and len(parts[0][0]) + len(parts[0][1]) < n
    n_outputs = len(data.targets.classes) if isinstance(data.targets, ClassTargets) else data.targets.scaled.shape[1]
    if data.matrix.size * -(-n_outputs // FEW_OUTPUTS) <= FEW_CELLS and not is_sampled:
        for time in range(1, times):
            parts += content_folds(data.matrix, 5, seed + time)
    return parts, is_sampled


def _gains_between(gains: np.ndarray, most: int) -> np.ndarray:
    """Logarithms of gains between those of the splits that trees of 1, 2, ... leaves have made, and the next one.

    They are the means of the logarithms of both; of the splits made, the least gain counts. A tree that cannot grow any
    more has no next gain; a quarter of the last gain is used instead.
    """
    least = np.log(np.maximum(np.minimum.accumulate(gains), np.finfo(float).tiny))
    made, following = np.full(most, np.inf), np.full(most, -np.inf)
    made[1 : len(least) + 1] = least[: most - 1]
    made[len(least) + 1 :] = least[-1] if len(least) else 0.0
    following[: len(least)] = least[:most]
    following[len(least) :] = (least[-1] if len(least) else 0.0) - np.log(4.0)
    made[0] = following[0]  # a root alone has made none
    return (made + following) / 2
