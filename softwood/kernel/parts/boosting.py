"""Boosting with trees that grow by levels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from softwood.core.losses import Loss
from softwood.core.steps import Best
from softwood.kernel.growing.loops.groups import Bins
from softwood.kernel.parts.growing import begin_levels, grow_levels
from softwood.kernel.parts.newton import NewtonLevels
from softwood.kernel.parts.numbers import as_float, exponent_for
from softwood.kernel.parts.rows import Levels, Reach, RoundSetup, add_up, add_up_round, begin_round, losses_of
from softwood.kernel.parts.sources import Parts
from softwood.kernel.rounds.leaves import take_step
from softwood.kernel.rounds.newton import Boxes
from softwood.kernel.rounds.rounds import Boosted, BoostingRules

# Gradients may be this many times larger than those of the round before. If they are even larger, the first histograms
# of the round are computed twice.
_ROOM = 4.0


@dataclass(frozen=True)
class Scales:
    """Number of rows, largest weight, and the largest hessian and gradient that the whole numbers have room for."""

    n_rows: int
    weight: float
    largest: np.ndarray

    @property
    def exponents(self) -> tuple[int, int, int]:
        """Exponents of hessian, gradient and weight."""
        h, g = (exponent_for(float(each), self.n_rows) for each in self.largest)
        return h, g, exponent_for(self.weight, self.n_rows)

    @property
    def units(self) -> np.ndarray:
        """Unit of each column of a histogram."""
        return np.ldexp(1.0, -np.array([*self.exponents, 0]))


class RoundsByLevels:
    """The rounds of boosting on rows in parts; arguments as of `softwood.kernel.rounds.rounds.Rounds`."""

    def __init__(
        self,
        parts: Parts,
        bins: Bins,
        widths: np.ndarray,
        loss: Loss,
        rules: BoostingRules,
        seed: int,
        scales: Scales,
        result: Boosted,
    ) -> None:
        self.parts, self.bins, self.widths, self.loss, self.rules = parts, bins, widths, loss, rules
        self.seed, self.scales, self.result = seed, scales, result
        self.best: Best[int] = Best(rules.n_iter_no_change, rules.tol)
        self.kernels = Boxes.of(bins, widths)
        # Memberships are kept if the first round has any: later rounds have smaller kernels, or none.
        self.is_soft = bool(np.any(widths > 0))

    def begin(self) -> None:
        """Begin the first round."""
        self._begin_round([], None)

    def _begin_round(self, levels: Levels, slot_values: list[np.ndarray] | None) -> dict[str, float]:
        """Begin the next round, once the trees of the last one are added to the raw scores; returns the losses."""
        number, rules, result = self.result.n_rounds, self.rules, self.result
        widths = self.widths * rules.decay**number
        if not np.array_equal(widths, self.kernels.widths):
            self.kernels = Boxes.of(self.bins, widths)
        reach = Reach(widths, None, rules.limits.cutoff, self.is_soft)
        subsample = None if rules.subsample >= 1.0 else (rules.subsample, _seed(self.seed, number, 1))
        setup = RoundSetup(self.loss, result.base, reach, self.scales.exponents, subsample)
        parts = self.parts
        parts.update("begin round", begin_round, setup, levels, slot_values, restart=number == 0)
        if number == rules.n_rounds:
            return self._record_losses(parts.summary("losses", losses_of, self.loss)[0])
        self.trees = self._new_trees(number)
        requests = begin_levels(self.trees)
        sums, (largest,), found = parts.summary("add up round", add_up_round, requests, 4, self.loss)
        if np.any(largest > self.scales.largest):
            self.scales = replace(self.scales, largest=largest)
            parts.update("scale gradients", begin_round, replace(setup, exponents=self.scales.exponents))
            found = parts.summary("add up", add_up, [], requests, 4)
            for tree in self.trees:
                tree.units = self.scales.units
        self.begun = requests, found
        self._next_scales = replace(self.scales, largest=_ROOM * largest)
        return self._record_losses(sums)

    def _new_trees(self, number: int) -> list[NewtonLevels]:
        """A tree for each raw score, with the features it may look at."""
        rng = np.random.default_rng([self.seed, number])
        p = len(self.widths)
        drawn = p if self.rules.n_features is None else min(p, self.rules.n_features)
        trees = []
        for _ in range(self.loss.n_scores):
            features = np.arange(p) if drawn == p else np.sort(rng.permutation(p)[:drawn])
            trees.append(
                NewtonLevels(
                    self.bins,
                    self.rules.limits,
                    self.kernels,
                    features,
                    self.scales.units,
                    is_soft=self.is_soft,
                    category_order=self.rules.category_order(self.seed, number),
                )
            )
        return trees

    def _record_losses(self, sums: list[int]) -> dict[str, float]:
        line, result = {}, self.result
        if sums[1]:
            line["train_loss"] = as_float(sums[0]) / as_float(sums[1])
            result.train_losses.append(line["train_loss"])
        if sums[3]:
            line["validation_loss"] = as_float(sums[2]) / as_float(sums[3])
            result.validation_losses.append(line["validation_loss"])
            self.best.offer(line["validation_loss"], lambda: result.n_rounds)
        return line

    def run(self) -> dict[str, float]:
        """Grow the trees of a round, all of them at once; returns the losses after it."""
        rules, loss = self.rules, self.loss
        trees = self.trees
        levels = grow_levels(self.parts, trees, self.begun)
        slot_values = []
        for score, tree in enumerate(trees):
            grown, lines = tree.finished()
            values = grown.nodes["value"]
            take_step(values, loss.max_step, rules.learning_rate, self.result.n_rounds)
            self.result.trees.append(grown)
            self.result.output.append(score)
            slot_values.append(values[lines])
        self.scales = self._next_scales
        return self._begin_round(levels, slot_values)


def _seed(seed: int, number: int, purpose: int) -> int:
    """Seed of one round, for one purpose."""
    return int(np.random.SeedSequence([seed, number, purpose]).generate_state(1, np.uint64)[0])
