"""Settings of boosting by held-out loss, for the price of a few fits.

First come trials with few rounds of a large learning rate: two bandwidths and then one beyond the better of them. With
the best of these, other numbers of leaves, smallest masses of a leaf and numbers of features are tried in turn. The
curve of the best trial also scores all numbers of rounds; if its held-out loss was still falling, it is run again until
it stops. With the learning rate of the model and all rows, the number of rounds is larger in proportion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from softwood.density.binning import Bins
from softwood.density.newton import boosted_forest, boosted_tree
from softwood.density.rounds import Boosted, BoostingData, BoostingRules, Rounds
from softwood.density.threads import Threads
from softwood.losses import Loss
from softwood.steps import Steps

__all__ = [
    "BEYOND",
    "MASSES",
    "N_LEAVES",
    "SCALES",
    "SHARES",
    "Choices",
    "Search",
    "Setting",
    "Trial",
    "most_rounds",
]

# comparisons/boosting says which data sets these were chosen on.
# Bandwidths in standard deviations that are tried first, and which is tried next after each of them.
SCALES = (0.05, 0.4)
BEYOND = {0.05: 0.0, 0.4: 0.8}
# Numbers of leaves, smallest masses of a leaf, shares of the features; the first of each is used with all bandwidths.
N_LEAVES, MASSES, SHARES = (31, 8), (20.0, 5.0), (1.0, 0.5)
# Trials: the learning rate, the largest number of rounds, and rounds without a smaller loss that end a trial.
FAST_RATE, FAST_ROUNDS, FAST_PATIENCE = 0.3, 30, 4
# The number of rounds: the largest with a learning rate of 0.1; the run that counts them ends after PATIENCE rounds in
# which the loss falls by no more than this part of its fall since the start.
MOST_ROUNDS, PATIENCE, WORTH_WHILE = 500, 10, 2e-4
# Held-out rows are read by the trees of this many rounds at once.
READ_AT_ONCE = 5
# Up to FOLD_ROWS different rows there are N_FOLDS folds; with more rows one part, with at most TRIAL_ROWS training rows
# in trials.
N_FOLDS, FOLD_ROWS, TRIAL_ROWS = 3, 3000, 8000
# Parts of a setting that are reported.
_SHOWN = ("bandwidth", "max_leaf_nodes", "min_mass", "max_features")


def most_rounds(learning_rate: float) -> int:
    """Largest number of rounds of ``max_iter="auto"``."""
    return max(1, min(round(MOST_ROUNDS * 0.1 / learning_rate), 10 * MOST_ROUNDS))


@dataclass(frozen=True)
class Setting:
    """What a trial tries.

    Attributes
    ----------
    scale : bandwidth in standard deviations; None: the bandwidths are given
    max_leaves : largest number of leaves of a tree; None: no limit
    min_mass : smallest mass of a leaf
    n_features : number of features drawn for each tree
    """

    scale: float | None
    max_leaves: int | None
    min_mass: float
    n_features: int

    def of(self, rules: BoostingRules) -> BoostingRules:
        """The rules with this setting."""
        limits = replace(rules.limits, max_leaves=self.max_leaves, min_mass=self.min_mass)
        return replace(rules, limits=limits, n_features=self.n_features)


@dataclass(frozen=True)
class Choices:
    """The values of each setting that are compared; only one, if it is given.

    Attributes
    ----------
    has_scales : whether the bandwidth is to be chosen
    """

    has_scales: bool
    max_leaves: tuple[int | None, ...]
    min_mass: tuple[float, ...]
    n_features: tuple[int, ...]

    @property
    def n_trials(self) -> int:
        """Number of trials; 0 if there is nothing to choose."""
        others = sum(len(values) - 1 for values in (self.max_leaves, self.min_mass, self.n_features))
        n_scales = len(SCALES) + 1 if self.has_scales else 1
        return n_scales + others if others or self.has_scales else 0

    @property
    def first(self) -> Setting:
        """The setting without a search."""
        return Setting(0.0 if self.has_scales else None, self.max_leaves[0], self.min_mass[0], self.n_features[0])


@dataclass(frozen=True)
class Trial:
    """A setting, and its mean held-out loss before the first round and after each round."""

    stage: str
    setting: Setting
    learning_rate: float
    losses: np.ndarray = field(repr=False)

    @property
    def n_rounds(self) -> int:
        """Number of rounds with the smallest loss, at least 1."""
        return 1 + int(np.argmin(self.losses[1:]))

    @property
    def loss(self) -> float:
        """The smallest loss after at least one round."""
        return float(self.losses[self.n_rounds])

    def as_dict(self) -> dict[str, Any]:
        """A line of ``search_``."""
        return {
            "stage": self.stage,
            "bandwidth": self.setting.scale,
            "max_leaf_nodes": self.setting.max_leaves,
            "min_mass": self.setting.min_mass,
            "max_features": self.setting.n_features,
            "learning_rate": self.learning_rate,
            "n_rounds": self.n_rounds,
            "loss": self.loss,
            "losses": self.losses.tolist(),
        }


@dataclass(frozen=True)
class _Part:
    """Training rows and their bins, and held-out rows."""

    train: BoostingData
    bins: Bins
    held_out: BoostingData


class Search:
    """Trials on held-out rows.

    Parameters
    ----------
    data : the training rows
    bin : bins the rows of a part
    spread : the half-widths (p,) of a scale, and the rules with the prediction kernel that belongs to them
    loss, rules, seed, n_threads : as in `boost`

    Attributes
    ----------
    trials : the trials so far
    """

    def __init__(
        self,
        data: BoostingData,
        bin: Callable[[BoostingData], Bins],
        spread: Callable[[float | None, BoostingRules], tuple[np.ndarray, BoostingRules]],
        loss: Loss,
        rules: BoostingRules,
        seed: int,
        n_threads: int,
    ) -> None:
        self._data, self._bin, self._spread = data, bin, spread
        self._loss, self._rules, self._seed, self._n_threads = loss, rules, seed, n_threads
        self._n_groups = int(data.group.max()) + 1
        self.trials: list[Trial] = []

    @property
    def is_possible(self) -> bool:
        """Whether there are enough different rows to hold some out."""
        return self._n_groups >= N_FOLDS

    def choose(self, choices: Choices, n_rounds: int, steps: Steps) -> Setting:
        """The best setting.

        Parameters
        ----------
        n_rounds : number of rounds of the model; trials have fewer, with a larger learning rate instead
        steps : where each trial is reported
        """
        parts = self._parts(TRIAL_ROWS)
        rounds = min(n_rounds, FAST_ROUNDS)
        rate = min(self._rules.learning_rate * n_rounds / rounds, self._fast_rate)
        for stage, setting in self._settings(choices):
            step = steps.begin()
            trial = self._run(stage, setting, parts, rate, rounds, FAST_PATIENCE)
            shown = {name: value for name, value in trial.as_dict().items() if name in _SHOWN and value is not None}
            if step.end(None, **shown, validation_loss=trial.loss):
                break
        return self.best.setting

    def count_rounds(self, setting: Setting) -> int:
        """The best number of rounds for all rows, with the learning rate of the model."""
        rate, parts = self._rules.learning_rate, self._parts(None)
        is_known = self.trials and self._n_groups <= FOLD_ROWS and self._rules.score is None
        if is_known and self.best.n_rounds < FAST_ROUNDS - FAST_PATIENCE:
            trial = self.best
        else:
            most = max(1, round(self._rules.n_rounds * rate / self._fast_rate))
            trial = self._run("rounds", setting, parts, self._fast_rate, most, PATIENCE)
        training_mass = sum(part.train.weights.sum() for part in parts) / len(parts)
        more = trial.learning_rate / rate * self._data.weights.sum() / training_mass
        return max(1, round(trial.n_rounds * more))

    @property
    def best(self) -> Trial:
        """The trial with the smallest loss so far, the first of several such."""
        return min(self.trials, key=lambda trial: trial.loss)

    @property
    def _fast_rate(self) -> float:
        return max(self._rules.learning_rate, FAST_RATE)

    def _settings(self, choices: Choices) -> Iterator[tuple[str, Setting]]:
        """The settings to try, each with its stage; what comes later depends on the best so far."""
        first = choices.first
        if choices.has_scales:
            for scale in SCALES:
                yield "bandwidth", replace(first, scale=scale)
            better = self.best.setting.scale
            assert better is not None
            yield "bandwidth", replace(first, scale=BEYOND[better])
        else:
            yield "bandwidth", first
        for name in ("max_leaves", "min_mass", "n_features"):
            for value in getattr(choices, name)[1:]:
                yield name, replace(self.best.setting, **{name: value})

    def _run(
        self, stage: str, setting: Setting, parts: list[_Part], rate: float, n_rounds: int, patience: int
    ) -> Trial:
        rules = replace(setting.of(self._rules), learning_rate=rate, n_rounds=n_rounds, n_iter_no_change=patience)
        if stage == "rounds":
            rules = replace(rules, tol=WORTH_WHILE)
        else:
            rules = replace(rules, tol=0.0, score=None)
        widths, rules = self._spread(setting.scale, rules)
        curves = [self._curve(part, widths, rules) for part in parts]
        trial = Trial(stage, setting, rate, _mean_curve(curves, [part.held_out.weights.sum() for part in parts]))
        self.trials.append(trial)
        return trial

    def _curve(self, part: _Part, widths: np.ndarray, rules: BoostingRules) -> np.ndarray:
        """Held-out loss before the first round and after each round of a part."""
        loss, held_out = self._loss, part.held_out
        result = Boosted(loss.start(part.train.y, part.train.weights))
        raw = np.tile(result.base, (len(held_out.matrix), 1))
        losses: list[float] = []

        def note(raw: np.ndarray) -> None:
            score = rules.score
            value = loss.value(held_out.y, raw, held_out.weights) if score is None else -score(held_out, raw)
            losses.append(np.inf if np.isnan(value) else value)

        note(raw)
        assert rules.n_iter_no_change is not None
        with Threads(self._n_threads) as threads:
            rounds = Rounds(part.train, part.bins, widths, loss, rules, self._seed, threads, result)
            while result.n_rounds < rules.n_rounds and not _has_stalled(losses, rules.n_iter_no_change, rules.tol):
                n_before = result.n_rounds
                for _ in range(min(READ_AT_ONCE, rules.n_rounds - n_before)):
                    rounds.run()
                stages = self._stages(result, n_before, rules, raw, held_out.matrix)
                for raw in stages:
                    note(raw)
        return np.array(losses)

    def _stages(
        self, result: Boosted, n_before: int, rules: BoostingRules, raw: np.ndarray, matrix: np.ndarray
    ) -> Iterator[np.ndarray]:
        """Raw scores of rows after each round after the first `n_before`; `raw` are those before."""
        n_scores = self._loss.n_scores
        new = slice(n_before * n_scores, None)
        trees, output = result.trees[new], np.array(result.output[new])
        if rules.read is None:
            forest = boosted_forest(trees, output, np.zeros(n_scores), rules.limits.cutoff)
            for added in forest.staged_predict(matrix, step=n_scores, n_jobs=self._n_threads):
                yield raw + added
            return
        raw = raw.copy()
        for number, (tree, score) in enumerate(zip(trees, output, strict=True), start=1):
            raw[:, score] += rules.read(boosted_tree(tree, rules.limits.cutoff), matrix)
            if number % n_scores == 0:
                yield raw.copy()

    def _parts(self, most_rows: int | None) -> list[_Part]:
        """Training and held-out rows, divided by content: folds, or one part if there are many rows."""
        data, n_groups = self._data, self._n_groups
        number = np.random.default_rng([self._seed, 2]).permutation(n_groups)[data.group]
        if n_groups <= FOLD_ROWS:
            held_out = [number % N_FOLDS == fold for fold in range(N_FOLDS)]
            return [self._part(~is_held_out, is_held_out) for is_held_out in held_out]
        n_held_out = min(n_groups // 4, max(TRIAL_ROWS // 3, n_groups // 20))
        end = n_groups if most_rows is None else n_held_out + most_rows
        return [self._part((number >= n_held_out) & (number < end), number < n_held_out)]

    def _part(self, is_training: np.ndarray, is_held_out: np.ndarray) -> _Part:
        train = self._data.take(is_training)
        return _Part(train, self._bin(train), self._data.take(is_held_out))


def _has_stalled(losses: list[float], patience: int, worth_while: float) -> bool:
    """Whether the smallest loss has hardly changed in the last rounds: by this part of its fall since the start."""
    if len(losses) <= patience:
        return False
    best = min(losses)
    return min(losses[:-patience]) - best <= worth_while * (losses[0] - best)


def _mean_curve(curves: list[np.ndarray], weights: list[float]) -> np.ndarray:
    """Mean of the losses by round; a run that has ended keeps its last loss."""
    longest = max(len(curve) for curve in curves)
    padded = [np.pad(curve, (0, longest - len(curve)), mode="edge") for curve in curves]
    return np.average(padded, axis=0, weights=weights)
