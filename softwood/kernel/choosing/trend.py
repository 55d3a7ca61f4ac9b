"""Choosing whether a tree is grown beside a linear trend, by the held-out loss of refined trees."""

from __future__ import annotations

from softwood.kernel.choosing.refinement import RefinementChoice

__all__ = ["SCALE", "is_trend_better"]

# Bandwidth of the trees that are compared, in standard deviations, if none is given. Refining changes it.
SCALE = 0.3
# Numbers of leaves that are compared if none is given.
SIZES = (8, 64)


def is_trend_better(without: RefinementChoice, beside: RefinementChoice, size: int | None, *, refines: bool) -> bool:
    """Whether trees beside the trend predict held-out rows better than trees without it.

    Parameters
    ----------
    size : the number of leaves; None: the better one of a few
    refines : whether the trees are compared after some passes
    """
    if not without.has_rows:
        return False
    sizes = SIZES if size is None else (size,)
    losses = [min(each.loss(own, refines=refines) for own in sizes) for each in (without, beside)]
    return losses[1] < losses[0]
