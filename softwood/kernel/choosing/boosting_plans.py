"""What the parameter `quality` of boosting stands for: how settings are chosen, and what the model is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

# A bandwidth in standard deviations, and `crisp_every`: one round in so many has a bandwidth of 0; 0: none.
Kernels: TypeAlias = tuple[float, int]
SOFT, MIXED, CRISP = (0.4, 0), (0.4, 3), (0.0, 0)


@dataclass(frozen=True)
class Plan:
    """A quality; comparisons/boosting says which data sets the numbers were chosen on.

    Attributes
    ----------
    kernels : bandwidths in standard deviations and `crisp_every` that are tried first
    beyond : which of these is tried after them, by the best one
    max_leaves, min_mass, shares : numbers of leaves, smallest masses of a leaf, shares of the features; the first of
        each is used with all bandwidths
    leaves_of_many : numbers of leaves for tables of more than `FOLD_ROWS` different rows
    categories : how the categories of a column are ordered, see `BoostingRules`
    n_folds, n_parts : number of folds of a small table, and how many of them are held out, one after the other
    learning_rate : of the model; trials have larger ones
    l2 : penalty of the leaf values
    subsample : share of the rows that each tree is grown from
    n_models : models that differ in the rows and columns that are drawn; the result is their mean
    """

    kernels: tuple[Kernels, ...] = (SOFT, MIXED)
    beyond: Mapping[Kernels, Kernels] = field(default_factory=lambda: {SOFT: (0.8, 0), MIXED: CRISP, CRISP: (0.1, 0)})
    max_leaves: tuple[int, ...] = (16,)
    leaves_of_many: tuple[int, ...] = (16, 31)
    min_mass: tuple[float, ...] = (10.0,)
    shares: tuple[float, ...] = (1.0,)
    categories: tuple[str, ...] = ("sets",)
    n_folds: int = 3
    n_parts: int = 3
    learning_rate: float = 0.1
    l2: float = 1.0
    subsample: float = 0.8
    n_models: int = 1

    def without_mixtures(self, crisp_every: int) -> Plan:
        """The plan with `crisp_every` given, whatever the bandwidth."""

        def fixed(kernels: Kernels) -> Kernels:
            return 0.0 if kernels[1] else kernels[0], crisp_every

        beyond = {fixed(best): fixed(then) for best, then in self.beyond.items()}
        return replace(self, kernels=tuple(map(fixed, self.kernels)), beyond=beyond)


_BALANCED = Plan(shares=(1.0, 0.5), categories=("sets", "mixed", "codes"))
PLANS = {
    "fast": Plan(beyond={}, leaves_of_many=(31,), n_folds=4, n_parts=1, learning_rate=0.2),
    "balanced": _BALANCED,
    "best": replace(_BALANCED, max_leaves=(16, 8, 31), n_models=4),
}
