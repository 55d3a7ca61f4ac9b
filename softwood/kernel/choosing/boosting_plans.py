"""What the parameter `quality` of boosting stands for: how settings are chosen, and what the model is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

# A bandwidth in standard deviations, and `crisp_every`: one round in so many has a bandwidth of 0; 0: none.
Kernels: TypeAlias = tuple[float, int]
SOFT, WIDE, MIXED, CRISP = (0.4, 0), (0.8, 0), (0.4, 3), (0.0, 0)


@dataclass(frozen=True)
class Plan:
    """A quality; comparisons/boosting says which data sets the numbers were chosen on.

    Attributes
    ----------
    kernels : bandwidths in standard deviations and `crisp_every` that are tried first
    kernels_of_many : the same for tables of more than `FOLD_ROWS` different rows
    beyond : which of these is tried after them, by the best one
    max_leaves, min_mass, shares : numbers of leaves, smallest masses of a leaf, shares of the features; the first of
        each is used with all bandwidths
    leaves_of_many : numbers of leaves for tables of more than `FOLD_ROWS` different rows
    categories : how the categories of a column are ordered, see `BoostingRules`
    trends : whether trees are added to a linear trend
    n_folds, n_parts : number of folds of a small table, and how many of them are held out, one after the other
    learning_rate, l2 : of the model, and penalty of the leaf values; trials have larger rates
    subsample : share of the rows that each tree is grown from
    n_models : models that differ in the rows and columns that are drawn, and with several settings; the result is their
        mean
    n_of_given : the same if the number of rounds is given
    n_settings : so many of the best settings are those of the models in turn
    """

    kernels: tuple[Kernels, ...] = (WIDE, MIXED)
    kernels_of_many: tuple[Kernels, ...] = (SOFT, MIXED)
    beyond: Mapping[Kernels, Kernels] = field(default_factory=lambda: {WIDE: (0.8, 3), SOFT: WIDE, MIXED: CRISP})
    max_leaves: tuple[int, ...] = (16,)
    leaves_of_many: tuple[int, ...] = (16, 31)
    min_mass: tuple[float, ...] = (10.0,)
    shares: tuple[float, ...] = (1.0,)
    categories: tuple[str, ...] = ("sets",)
    trends: tuple[bool, ...] = (False, True)
    n_folds: int = 3
    n_parts: int = 2
    learning_rate: float = 0.12
    l2: float = 1.0
    subsample: float = 0.8
    n_models: int = 1
    n_of_given: int = 1
    n_settings: int = 2

    def without_mixtures(self, crisp_every: int) -> Plan:
        """The plan with `crisp_every` given, whatever the bandwidth."""
        kernels = (0.4, crisp_every), (0.0, crisp_every)
        beyond = {kernels[0]: (0.8, crisp_every), kernels[1]: (0.1, crisp_every)} if self.beyond else {}
        return replace(self, kernels=kernels, kernels_of_many=kernels, beyond=beyond)


_BALANCED = Plan(shares=(1.0, 0.5), categories=("sets", "mixed", "codes"), n_models=2)
PLANS = {
    "fast": Plan(beyond={}, kernels_of_many=(SOFT, MIXED, CRISP), leaves_of_many=(31,), n_folds=4, n_parts=1),
    "balanced": _BALANCED,
    "best": replace(_BALANCED, learning_rate=0.06, n_parts=3, n_models=6, n_of_given=6, n_settings=3),
}
