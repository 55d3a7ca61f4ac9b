"""Choosing whether a tree is grown beside a linear trend, by held-out loss."""

from __future__ import annotations

from dataclasses import replace

from softwood.core.steps import Steps
from softwood.kernel.choosing.size import SizeChoice
from softwood.kernel.data.preparation import TrainingData
from softwood.kernel.growing.problem import Limits
from softwood.kernel.trend import HeldOutTrend

__all__ = ["is_trend_better"]

# Bandwidths of the trees that are compared, in standard deviations, and their largest number of leaves.
SCALES, MOST_LEAVES = (0.1, 0.45), 128


def is_trend_better(data: TrainingData, found: HeldOutTrend, limits: Limits, seed: int, steps: Steps) -> bool:
    """Whether trees of what the trend leaves predict held-out rows better than trees of the targets.

    Trees have the given number of leaves, or the best one.
    """
    least = []
    for each in (data, replace(data, targets=found.residuals, criterion="squared_error")):
        choice = SizeChoice(each, limits, data.deviations, seed, crisp=False, steps=steps, quick=True)
        size = limits.max_leaf_nodes
        path = choice.compare(SCALES, size or MOST_LEAVES)
        if not path.losses:
            return False
        losses = [path.least(scale)[0] if size is None else float(path.losses[scale][-1]) for scale in path.losses]
        least.append(min(losses) / each.targets.matrix().shape[1])  # both of two classes have the same error
    return least[1] < least[0]
