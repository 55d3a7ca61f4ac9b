"""Choosing the bandwidth, the number of leaves and the passes of refining of a tree, if they are not given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from softwood.core.steps import Steps
from softwood.kernel.choosing.bandwidth import (
    AUTO_GRID,
    FOLDED_ROWS,
    REFINED_GRID,
    auto_parts,
    best_of,
    choose_by_auto,
    choose_by_cv,
)
from softwood.kernel.choosing.refinement import WIDE, RefinementChoice
from softwood.kernel.choosing.size import SizeChoice
from softwood.kernel.data.preparation import TrainingData
from softwood.kernel.growing.problem import Limits
from softwood.kernel.refining import Passes

Parts = list[tuple[np.ndarray, np.ndarray]]

# By default, trees of which nobody reads the leaves are left as they grow: refining takes long, and gains little.
MOST_REFINED = 256


class LeftOpen(NamedTuple):
    """What the user leaves open.

    Attributes
    ----------
    bandwidth : "auto" or "cv"; None if the half-widths are given
    size : "auto" or "small"; None if the number of leaves is given, or if nothing limits it
    passes : whether the tree is refined for a number of passes that is not given
    """

    bandwidth: str | None
    size: str | None
    passes: bool


class TreeSettings(NamedTuple):
    """What a tree is grown with.

    Attributes
    ----------
    widths : (p,) half-widths, in the columns' units;  limits : with the number of leaves
    passes : None if the tree is not refined
    parts : training and held-out rows that something was chosen by; empty if nothing was
    own_limits : of the trees that are grown from the training rows of the parts
    held_out : of each part, the outputs of the held-out rows by refined trees, if the choice has compared such trees
    bandwidth : in standard deviations, if it was chosen
    size_path : as the attribute ``size_path_`` of the estimators, if the number of leaves was chosen
    """

    widths: np.ndarray
    limits: Limits
    passes: Passes | None
    parts: Parts
    own_limits: Limits
    held_out: list[np.ndarray] | None = None
    bandwidth: float | None = None
    size_path: dict[str, np.ndarray] | None = None

    @property
    def is_too_large(self) -> bool:
        """Whether so many leaves were chosen that trees are not refined."""
        return self.size_path is not None and (self.own_limits.max_leaf_nodes or 0) > MOST_REFINED


def choose_settings(
    data: TrainingData,
    limits: Limits,
    left_open: LeftOpen,
    widths: np.ndarray | None,
    folds: Callable[[], Parts],
    refinement_choice: Callable[[np.ndarray], RefinementChoice],
    *,
    seed: int,
    crisp: bool,
    steps: Steps,
) -> TreeSettings:
    """Choose what is left open.

    Parameters
    ----------
    widths : (p,) half-widths if they are given
    folds : the parts for ``bandwidth="cv"``
    refinement_choice : compares refined trees that grow with these half-widths
    crisp : whether the tree predicts without kernels
    """
    parts, scale = auto_parts(data, seed), None
    grid = REFINED_GRID if left_open.passes and len(data.matrix) <= FOLDED_ROWS else AUTO_GRID
    if left_open.bandwidth == "cv":
        parts = folds()
        scale = choose_by_cv(data, limits, parts, seed, steps, crisp=crisp)
    elif left_open.bandwidth == "auto" and left_open.size is None:
        scale = _scale_of_size(data, limits, grid, left_open, seed=seed, crisp=crisp, steps=steps)
    widths = widths if scale is None else scale * data.deviations
    if left_open.size is None:
        assert widths is not None
        found = TreeSettings(widths, limits, None, parts, limits, bandwidth=scale)
        return _with_passes(found, data, refinement_choice, left_open) if left_open.passes else found
    unit, is_small = data.deviations if widths is None else widths, left_open.size == "small"
    choice = SizeChoice(data, limits, unit, seed, crisp=crisp, steps=steps)
    path = choice.compare(grid.tolist() if widths is None else [1.0])
    times, size = path.choose(choice.within(small=is_small and not left_open.passes))
    found = TreeSettings(
        times * unit, limits, None, parts, replace(limits, max_leaf_nodes=size),
        bandwidth=times if widths is None else scale, size_path=path.columns(),
    )  # fmt: skip
    if left_open.passes and path.losses and size <= MOST_REFINED:
        found = _with_passes(
            found, data, refinement_choice, left_open, choice.within(small=is_small), is_folded=choice.is_folded
        )
        size = found.own_limits.max_leaf_nodes or size
    return found._replace(limits=choice.limits(path, times, size))


def _scale_of_size(
    data: TrainingData, limits: Limits, grid: np.ndarray, left_open: LeftOpen, *, seed: int, crisp: bool, steps: Steps
) -> float:
    """Bandwidth in standard deviations of a tree whose number of leaves is given, or not limited."""
    if not left_open.passes or limits.max_leaf_nodes is None:
        return choose_by_auto(data, limits, seed, steps, crisp=crisp, grid=grid)
    choice = SizeChoice(data, limits, data.deviations, seed, crisp=False, steps=steps, quick=True)
    losses = choice.compare(grid.tolist(), limits.max_leaf_nodes).losses
    return best_of({scale: float(own[-1]) for scale, own in losses.items()}) if losses else 0.0


def _with_passes(
    settings: TreeSettings,
    data: TrainingData,
    refinement_choice: Callable[[np.ndarray], RefinementChoice],
    left_open: LeftOpen,
    within: float = 0.0,
    *,
    is_folded: bool = True,
) -> TreeSettings:
    """The settings with the passes of refining, for which a wider start or fewer leaves may be better.

    Parameters
    ----------
    within : see `RefinementChoice.choose`
    is_folded : whether the number of leaves, if it was chosen, was chosen in folds of all rows
    """
    refined, wider = refinement_choice(settings.widths), None
    if left_open.bandwidth == "auto" and settings.bandwidth is not None and settings.bandwidth < WIDE and is_folded:
        wider = refinement_choice(WIDE * data.deviations)
    most = settings.own_limits.max_leaf_nodes or len(data.matrix)
    found = refined.choose(most, within, halve=left_open.size is not None, wider=wider)
    settings = settings._replace(passes=Passes(found.n_passes, found.strength), parts=refined.parts)
    if left_open.size is not None:
        settings = settings._replace(own_limits=replace(settings.own_limits, max_leaf_nodes=found.size))
    if wider is None or not found.is_wider:
        return settings._replace(held_out=refined.held_out(found))
    return settings._replace(held_out=wider.held_out(found), bandwidth=WIDE, widths=WIDE * data.deviations)
