"""The parameters of the boosting estimators: their defaults, checks, and what "auto" stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from softwood.core.parameters import check_choice, check_count, check_flag, check_integer, check_number, parameter_error
from softwood.kernel.base import KernelModel
from softwood.kernel.choosing.boosting_settings import MASSES, N_LEAVES, most_rounds
from softwood.kernel.rounds.newton import NewtonLimits
from softwood.kernel.rounds.rounds import BoostingRules

__all__ = ["BoostingParameters", "is_auto"]

# l2_regularization="auto", in rows; comparisons/boosting says which data sets it was chosen on.
AUTO_L2 = 3.0


def is_auto(value: Any) -> bool:
    """Whether a parameter is "auto"."""
    return isinstance(value, str) and value == "auto"


@dataclass(kw_only=True, eq=False, repr=False)
class BoostingParameters(KernelModel):
    """Parameters that the classifier and the regressor share."""

    loss: str
    learning_rate: float = 0.1
    max_iter: Any = "auto"
    bandwidth_decay: float = 1.0
    max_leaf_nodes: Any = "auto"
    min_mass: Any = "auto"
    l2_regularization: Any = "auto"
    subsample: float = 1.0
    max_features: Any = "auto"
    monotonic_cst: Any = None
    cutoff: float = 0.0001
    early_stopping: Any = "auto"
    scoring: Any = "loss"
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    tol: float = 1e-07

    _rules: ClassVar[tuple[str, ...]] = ("auto", "silverman", "loo")
    # Histogram trees of boxes; the other kernel models have these as parameters.
    kernel: ClassVar[str] = "box"
    splitter: ClassVar[str] = "hist"
    cv: ClassVar[int] = 3

    def _check_parameters(self) -> BoostingRules:
        self._check_kernel_parameters()
        check_integer(self, "n_iter_no_change", self.n_iter_no_change, low=1)
        check_number(self, "validation_fraction", self.validation_fraction, low=0.0, open_low=True, high=0.9)
        if not is_auto(self.early_stopping):
            check_flag(self, "early_stopping", self.early_stopping)
        limits = self._limits()
        rate = check_number(self, "learning_rate", self.learning_rate, low=0.0, open_low=True)
        return BoostingRules(
            learning_rate=rate,
            n_rounds=self._most_rounds(rate),
            limits=NewtonLimits(
                max_leaves=limits.max_leaf_nodes,
                max_depth=limits.max_depth,
                min_mass=limits.min_mass,
                min_gain=limits.min_gain,
                l2=self._stated_l2(),
                cutoff=limits.cutoff,
            ),
            decay=check_number(self, "bandwidth_decay", self.bandwidth_decay, low=0.0, open_low=True, high=1.0),
            subsample=check_number(self, "subsample", self.subsample, low=0.0, open_low=True, high=1.0),
            n_iter_no_change=self.n_iter_no_change,
            tol=check_number(self, "tol", self.tol, low=0.0),
        )

    def _check_level(self) -> None:
        super()._check_level()
        if self.loss in ("absolute_error", "quantile"):
            raise self._no_level("loss", "'squared_error', 'poisson' or 'log_loss'")
        for name, only in (("scoring", "loss"), ("prediction_kernel", "same"), ("prediction_bandwidth", "same")):
            given = getattr(self, name)
            if not (isinstance(given, str) and given == only):
                raise self._no_level(name, repr(only))

    def _most_rounds(self, learning_rate: float) -> int:
        if is_auto(self.max_iter):
            return most_rounds(learning_rate)
        if isinstance(self.max_iter, str):
            raise parameter_error(self, "max_iter", "an int in the range [1, inf) or 'auto'", self.max_iter)
        return check_count(self, "max_iter", self.max_iter)

    def _most_leaves(self) -> int | None:
        if is_auto(self.max_leaf_nodes):
            return N_LEAVES[0]
        if isinstance(self.max_leaf_nodes, str):
            expected = "an int in the range [2, inf), 'auto' or None"
            raise parameter_error(self, "max_leaf_nodes", expected, self.max_leaf_nodes)
        return super()._most_leaves()

    def _stated_mass(self) -> float:
        if is_auto(self.min_mass):
            return MASSES[0]
        if isinstance(self.min_mass, str):
            raise parameter_error(self, "min_mass", "a number in the range (0, inf) or 'auto'", self.min_mass)
        return super()._stated_mass()

    def _stated_l2(self) -> float:
        if is_auto(self.l2_regularization):
            return AUTO_L2
        if isinstance(self.l2_regularization, str):
            expected = "a number in the range [0, inf) or 'auto'"
            raise parameter_error(self, "l2_regularization", expected, self.l2_regularization)
        return check_number(self, "l2_regularization", self.l2_regularization, low=0.0)

    def _n_draw(self, p: int) -> int:
        if isinstance(self.max_features, str):
            check_choice(self, "max_features", self.max_features, ("auto", "sqrt", "log2"))
        return p if is_auto(self.max_features) else super()._n_draw(p)

    def _directions(self) -> np.ndarray | None:
        """Monotonic constraint of each encoded column, (p,); None if there is none."""
        spec, columns = self.monotonic_cst, self.columns_
        if spec is None:
            return None
        n = len(columns.categories)
        per_input = np.zeros(n, dtype=np.int64)
        if isinstance(spec, Mapping):
            items = {columns.find(self, "monotonic_cst", column): value for column, value in spec.items()}
        else:
            if np.ndim(spec) != 1 or len(spec) != n:
                raise parameter_error(
                    self, "monotonic_cst", f"a dict by column, or one of -1, 0, 1 for each of {n}", spec
                )
            items = dict(enumerate(spec))
        for j, value in items.items():
            if value not in (-1, 0, 1):
                raise parameter_error(self, "monotonic_cst", f"-1, 0 or 1 for column {columns.inputs[j]!r}", value)
            if value != 0 and columns.categories[j] is not None:
                raise parameter_error(self, "monotonic_cst", "given for columns of numbers", columns.inputs[j])
            per_input[j] = int(value)
        # Of a date, the days are constrained, not the other parts.
        spread = np.where(columns.is_step, 0, columns.spread(per_input))
        return spread.astype(np.int64) if per_input.any() else None
