"""Choosing the number of leaves of a kernel tree, together with its bandwidth.

Best-first growth passes through the best trees of all sizes, so one growth on training rows scores every size on
held-out rows. Sizes double for as long as the loss of the best one falls.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from softwood.density.choosing import AUTO_COLUMNS, auto_parts
from softwood.density.finishing import node_values
from softwood.density.growing import grow_by_gain
from softwood.density.preparation import TrainingData
from softwood.density.problem import Limits
from softwood.loops.size_path import ERRORS, SQUARED_ERROR, losses_by_size
from softwood.steps import Steps
from softwood.targets import RealTargets

__all__ = ["SizeChoice", "SizePath"]

# Leaves of the largest tree at first.
FIRST_LEAVES = 64
# A best size beyond this part of the largest one is near the end: larger ones are tried.
NEAR_THE_END = 0.6
# Bandwidths with a loss above so many times the best one are given up.
FAR_FROM_BEST = 1.3
# From so many rows on losses are smooth, and larger bandwidths are not tried once they only get worse.
MANY_ROWS = 10_000

Parts = list[tuple[np.ndarray, np.ndarray]]


@dataclass
class SizePath:
    """Held-out losses by bandwidth and size.

    Attributes
    ----------
    losses, errors : for each scale of the bandwidth the mean loss of trees of 1, 2, ... leaves, and its standard error
    complete : the scales with which no tree could have grown larger
    """

    losses: dict[float, np.ndarray] = field(default_factory=dict)
    errors: dict[float, np.ndarray] = field(default_factory=dict)
    complete: set[float] = field(default_factory=set)

    def best(self) -> tuple[float, int]:
        """Scale and number of leaves with the smallest loss; of equal ones the smallest tree."""
        return self._smallest_within(0.0)

    def small(self) -> tuple[float, int]:
        """Scale and number of leaves of the smallest tree within one standard error of the best."""
        scale, size = self.best()
        return self._smallest_within(float(self.errors[scale][size - 1]))

    def _smallest_within(self, slack: float) -> tuple[float, int]:
        least = min(losses.min() for losses in self.losses.values())
        found = []
        for scale, losses in self.losses.items():
            good = np.flatnonzero(losses <= least * (1.0 + 1e-12) + slack)
            if len(good):
                found.append((int(good[0]) + 1, float(losses[good[0]]), scale))
        size, _, scale = min(found)
        return scale, size

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
class SizeChoice:
    """What sizes are compared with.

    Attributes
    ----------
    widths : half-widths (p,) that a scale of 1 stands for
    crisp : whether the tree will be read without kernels
    """

    data: TrainingData
    limits: Limits
    widths: np.ndarray
    seed: int
    crisp: bool
    steps: Steps

    def choose(self, scales: Iterable[float], *, small: bool) -> tuple[float, int, SizePath]:
        """Scale and number of leaves, and the losses that were found.

        Large tables are compared on samples, for which too small trees would be the best: the size is chosen once more
        with all rows that are not held out.
        """
        n = len(self.data.matrix)
        parts = auto_parts(self.data, self.seed)
        path = SizePath()
        if not parts:
            return 0.0, 2, path
        for scale in scales:
            self._try(path, scale, parts, FIRST_LEAVES)
            least = [losses.min() for losses in path.losses.values()]
            if self.steps.is_stopped or (n >= MANY_ROWS and len(least) > 3 and min(least[-2:]) > 1.05 * min(least)):
                break
        scale, size = self._lengthen(path, parts)
        if len(parts[0][0]) + len(parts[0][1]) < n:
            held_out = parts[0][1]
            parts = [(np.setdiff1d(np.arange(n), held_out), held_out)]
            path = SizePath()
            self._try(path, scale, parts, max(FIRST_LEAVES, 2 * size))
            self._lengthen(path, parts)
        scale, size = path.small() if small else path.best()
        return scale, max(size, 2), path

    def _lengthen(self, path: SizePath, parts: Parts) -> tuple[float, int]:
        """Try larger trees for as long as the loss falls; returns the best scale and size.

        Large bandwidths need more leaves than small ones: all are followed whose loss is not far from the best.
        """
        while not self.steps.is_stopped:
            scale, size = path.best()
            least = path.losses[scale][size - 1]
            falling = [
                scale
                for scale, losses in path.losses.items()
                if scale not in path.complete
                and losses.argmin() >= NEAR_THE_END * len(losses)
                and losses.min() < FAR_FROM_BEST * least
            ]
            if not falling:
                break
            for scale in falling:
                self._try(path, scale, parts, 2 * len(path.losses[scale]))
        return path.best()

    def _try(self, path: SizePath, scale: float, parts: Parts, most: int) -> None:
        """Losses of trees of up to `most` leaves."""
        step = self.steps.begin()
        data = self.data
        problem = data.problem(scale * self.widths)
        limits = replace(self.limits, max_leaf_nodes=most)
        if len(parts) > 1 or len(parts[0][0]) + len(parts[0][1]) < len(data.matrix):
            limits = replace(limits, n_draw=min(AUTO_COLUMNS, limits.n_draw or AUTO_COLUMNS))
        is_real = isinstance(data.targets, RealTargets)
        truth, kind = data.targets.matrix(), SQUARED_ERROR if is_real else ERRORS
        sums, mass = np.zeros((most, 2)), 0.0
        path.complete.add(scale)
        for train, test in parts:
            nodes, order = grow_by_gain(problem, limits, seed=self.seed, rows=train)
            if len(order) + 1 == most:
                path.complete.discard(scale)
            values = nodes.sums / nodes.lines["mass"][:, None]
            values = values if is_real else node_values(problem, nodes)[0]
            widths, kernels = problem.widths, problem.kernels
            if self.crisp:
                widths, kernels = np.zeros_like(widths), None
            found = losses_by_size(
                problem.bins, widths, kernels, nodes.lines, order, np.ascontiguousarray(values),
                test.astype(np.uint32), truth[test], data.weights[test], limits.cutoff, kind,
            )  # fmt: skip
            sums[: len(found)] += found
            sums[len(found) :] += found[-1]  # a tree that cannot grow any more
            mass += float(data.weights[test].sum())
        means = sums / mass
        path.losses[scale] = means[:, 0]
        path.errors[scale] = np.sqrt(np.maximum(means[:, 1] - means[:, 0] ** 2, 0.0) / mass)
        size = int(means[:, 0].argmin()) + 1
        step.end(bandwidth=float(scale), validation_loss=float(means[size - 1, 0]), n_leaves=size)
