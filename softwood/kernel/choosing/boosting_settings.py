"""Choosing the settings of boosting by held-out loss, at the cost of a few fits.

Trials have few rounds and a large learning rate. They compare bandwidths, first a few, and then one beyond the best of
these. With the best bandwidth, they try a linear trend, and compare numbers of leaves, smallest masses of a leaf, and
numbers of features, one after the other; `softwood.kernel.choosing.boosting_plans` says which. A trial that is clearly
worse than the best one on the first folds ends there. The models whose mean is the result have the best settings. The
number of rounds of each is chosen from the losses of its trial, which is continued if its loss was still falling. It is
increased in proportion to the smaller learning rate of the model and to its larger number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from softwood.core.steps import Steps
from softwood.core.threads import Threads
from softwood.kernel.choosing.boosting_plans import Kernels
from softwood.kernel.choosing.repeated_rows import in_observations
from softwood.kernel.data.binning import Bins, bin_features
from softwood.kernel.rounds.rounds import Boosted, BoostingData, BoostingRules, Rounds
from softwood.kernel.rows import BoostingRows, BoostingRowsInMemory
from softwood.uncertainty.held_out import HeldOut

# comparisons/boosting says which data sets these were chosen on.
# Trials: the learning rate, the largest number of rounds, and rounds without a smaller loss that end a trial.
# With one tree for all raw scores, the learning rate is larger.
FAST_RATE, FAST_RATE_OF_VECTORS, FAST_ROUNDS, FAST_PATIENCE = 0.4, 0.6, 20, 3
# A given number of rounds is followed up to so many times the rounds of a trial.
NEAR = 1.5
# A linear trend must decrease the loss by this part of it, or of its total decrease.
WORTH_OF_TREND = 0.02
# Whether the loss has stalled is checked after every few rounds, because the loss may pause.
RUN_AT_ONCE = 5
# The largest number of rounds with a learning rate of 0.1. The run that counts the rounds ends after PATIENCE rounds in
# which the loss decreases by at most WORTH_WHILE of its total decrease.
MOST_ROUNDS, PATIENCE, WORTH_WHILE = 500, 10, 2e-4
# Up to FOLD_ROWS different rows there are folds; with more rows one part, with at most TRIAL_ROWS training rows in
# trials.
FOLD_ROWS, TRIAL_ROWS = 3000, 8000
# A trial ends after one or two folds if its loss there exceeds that of the best trial by more than this fraction of the
# total decrease of the latter. Losses of single rounds are not compared: slower learners are often better later.
# With more parts, the last fraction applies.
CLEARLY_WORSE = (0.02, 0.005)
# Values of a setting that are reported.
_SHOWN = ("bandwidth", "crisp_every", "max_leaf_nodes", "min_mass", "max_features", "trend")


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
    categories : how categories are ordered, see `BoostingRules`
    crisp_every : one round in so many has a bandwidth of 0; 0: none
    has_trend : whether trees are added to a linear trend
    """

    scale: float | None
    max_leaves: int | None
    min_mass: float
    n_features: int
    categories: str
    crisp_every: int
    has_trend: bool

    @property
    def kernels(self) -> tuple[float | None, int]:
        """What belongs to the kernels."""
        return self.scale, self.crisp_every

    def of(self, rules: BoostingRules) -> BoostingRules:
        """The rules with this setting."""
        limits = replace(rules.limits, max_leaves=self.max_leaves, min_mass=self.min_mass)
        return replace(
            rules, limits=limits, n_features=self.n_features, categories=self.categories, crisp_every=self.crisp_every,
            has_trend=self.has_trend,
        )  # fmt: skip


@dataclass(frozen=True)
class Choices:
    """The values of each setting that are compared.

    Attributes
    ----------
    first : the setting without a search
    mixes : whether models of one mean may have different kernels
    kernels : bandwidths and `crisp_every` that are tried first; empty if the bandwidth is given
    beyond : which of these is tried after the best one
    others : values of other attributes of `Setting`; only one, if it is given
    """

    first: Setting
    mixes: bool
    kernels: tuple[Kernels, ...]
    beyond: Mapping[Kernels, Kernels]
    others: Mapping[str, tuple[Any, ...]]

    @property
    def trials(self) -> list[tuple[str, Callable[[Setting], Setting]]]:
        """The trials in their order: a stage, and the setting as a function of the best one so far.

        Empty if there is nothing to choose.
        """
        others = [
            (name, partial(replace, **{name: value})) for name, values in self.others.items() for value in values[1:]
        ]
        if self.kernels:
            first = [("bandwidth", partial(replace, scale=scale, crisp_every=every)) for scale, every in self.kernels]
            beyond = [("bandwidth", self._beyond)] if self.beyond else []
            return [*first, *beyond, *others]
        return [("bandwidth", replace), *others] if others else []

    def _beyond(self, best: Setting) -> Setting:
        """Kernels beyond the best ones of those that are tried first."""
        assert best.scale is not None
        scale, every = self.beyond[best.scale, best.crisp_every]
        return replace(best, scale=scale, crisp_every=every)


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
            "crisp_every": self.setting.crisp_every,
            "max_leaf_nodes": self.setting.max_leaves,
            "min_mass": self.setting.min_mass,
            "max_features": self.setting.n_features,
            "categories": self.setting.categories,
            "trend": "linear" if self.setting.has_trend else None,
            "learning_rate": self.learning_rate,
            "n_rounds": self.n_rounds,
            "loss": self.loss,
            "losses": self.losses.tolist(),
        }


@dataclass(frozen=True)
class _Part:
    """Training rows and their bins, and held-out rows.

    Attributes
    ----------
    matrix : the held-out rows without statistics of categories
    """

    train: BoostingData
    bins: Bins
    held_out: BoostingData
    matrix: np.ndarray

    def with_scores(self, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray, BoostingData]:
        """The held-out rows with these raw scores, as `BoostingRowsInMemory.with_predictions` takes them."""
        return self.matrix, raw, self.held_out


class _Course:
    """Boosting on the training rows of a part, which can be continued; arguments as of `Rounds`."""

    def __init__(
        self, part: _Part, widths: np.ndarray, rows: BoostingRows, rules: BoostingRules, threads: Threads
    ) -> None:
        self._arguments = widths, rows, rules, threads
        result = Boosted(rows.loss.start(part.train.y, part.train.weights))
        self._rounds = Rounds(
            part.train, part.bins, widths, rows.loss, rules, rows.seed, threads, result, validation=part.held_out
        )
        self._rounds.begin()

    def on(self, part: _Part) -> _Course:
        """The same on another part."""
        return _Course(part, *self._arguments)

    def go_on(self, n_rounds: int, patience: int, worth_while: float) -> np.ndarray:
        """Continue to this total number of rounds, or until the loss has stalled; returns the losses."""
        while len(self.losses) <= n_rounds and not _has_stalled(self.losses, patience, worth_while):
            for _ in range(min(RUN_AT_ONCE, n_rounds + 1 - len(self.losses))):
                self._rounds.run()
        self._rounds.release_memory()
        return np.array(self.losses)

    def scores(self, n_rounds: int) -> np.ndarray:
        """Raw scores of the held-out rows after this many rounds."""
        return self._rounds.held_out_scores(n_rounds)

    @property
    def losses(self) -> list[float]:
        """Losses of the held-out rows, before the first round and after each round."""
        return [np.inf if np.isnan(loss) else loss for loss in self._rounds.result.validation_losses]


@dataclass(frozen=True)
class _Finished:
    """A trial on all parts, with its course on each of them."""

    trial: Trial
    courses: Sequence[_Course]


class Search:
    """Trials on held-out rows.

    Parameters
    ----------
    widths : (p,) half-widths; None if a scale is to be chosen
    max_bins : largest number of bins of a column
    n_folds, n_parts : number of folds of a small table, and how many of them are held out

    Attributes
    ----------
    trials : the trials so far
    """

    def __init__(
        self,
        rows: BoostingRows,
        rules: BoostingRules,
        widths: np.ndarray | None,
        threads: Threads,
        max_bins: int,
        n_folds: int = 3,
        n_parts: int = 3,
    ) -> None:
        self._rows, self._rules, self._widths, self._threads, self._max_bins = rows, rules, widths, threads, max_bins
        self._n_folds, self._n_parts = n_folds, n_parts
        # Rows with statistics of many categories stay as they are: the statistics of the parts count on their order.
        self._data = in_observations(rows.train) if rows.categories is None else rows.train
        self._n_groups = _n_contents(self._data)
        self.trials: list[Trial] = []
        # Trials on all parts with a course for each of them, the best first; the parts by the number of their rows.
        self._finished: list[_Finished] = []
        self._divisions: dict[int, list[_Part]] = {}
        # Those that the rounds were counted or followed on, with these numbers of rounds.
        self._counted: tuple[list[_Part], list[tuple[Sequence[_Course], int]]] = [], []

    @property
    def is_possible(self) -> bool:
        """Whether there are enough different rows to hold some out."""
        return self._n_groups >= self._n_folds

    def choose(self, choices: Choices, n_settings: int, n_rounds: int, steps: Steps) -> list[Setting]:
        """The best settings, the best one first.

        Parameters
        ----------
        n_settings : largest number of settings; their bandwidths are 0 or that of the best one of them with kernels,
            and all or none of them have a trend
        n_rounds : number of rounds of the model; trials have fewer, with a larger learning rate instead
        steps : where each trial is reported
        """
        parts = self._parts(TRIAL_ROWS)
        rounds = min(n_rounds, FAST_ROUNDS * self._rules.pace)
        rate = min(self._rules.learning_rate * n_rounds / rounds, self._fast_rate)
        best = choices.first
        for (stage, vary), step in zip(choices.trials, steps, strict=False):
            trial = self._run(stage, vary(best), parts, rate, rounds, FAST_PATIENCE * self._rules.pace).trial
            if self.best is trial and trial.setting.has_trend and not best.has_trend:
                self._let_go_on(best, parts)  # trees beside a trend need fewer rounds
            best = self.best.setting
            shown = {name: value for name, value in trial.as_dict().items() if name in _SHOWN and value is not None}
            step.end(None, **shown, validation_loss=trial.loss)
        settings = [best]
        for other in (finished.trial.setting for finished in self._finished):
            widths = {setting.scale for setting in [*settings, other]} - {0.0}
            is_alike = len(widths) <= 1 if choices.mixes else other.kernels == best.kernels
            if is_alike and other.has_trend == best.has_trend and other not in settings:
                settings.append(other)
        return settings[:n_settings]

    def count_rounds(self, settings: list[Setting]) -> list[int]:
        """The best numbers of rounds of these settings for all rows, with the learning rate of the model."""
        rate, parts = self._rules.learning_rate, self._parts(None)
        trial_parts, self._counted = self._parts(TRIAL_ROWS), (parts, [])
        training_mass = sum(part.train.weights.sum() for part in parts) / len(parts)
        more = self._data.weights.sum() / training_mass
        found = []
        for setting in settings:
            known = self._finished_of(setting) if parts is trial_parts and self._rules.score is None else None
            if known is None or known.trial.n_rounds >= (FAST_ROUNDS - FAST_PATIENCE) * self._rules.pace:
                most = max(1, round(self._rules.n_rounds * rate / self._fast_rate))
                courses = [] if known is None else known.courses
                known = self._run("rounds", setting, parts, self._fast_rate, most, PATIENCE * self._rules.pace, courses)
            self._counted[1].append((known.courses, known.trial.n_rounds))
            found.append(max(1, round(known.trial.n_rounds * (known.trial.learning_rate / rate * more))))
        return found

    def follow(self, settings: list[Setting], n_rounds: int) -> None:
        """Let these trials go on as far as a model with this given number of rounds, unless that is far."""
        if not self.trials:
            return
        n_trial = max(1, round(n_rounds * self._rules.learning_rate / self.trials[0].learning_rate))
        if n_trial <= NEAR * FAST_ROUNDS * self._rules.pace:
            known = [finished for setting in settings if (finished := self._finished_of(setting)) is not None]
            for course in (course for finished in known for course in finished.courses):
                course.go_on(n_trial, n_trial + 1, 0.0)
            self._counted = self._parts(TRIAL_ROWS), [(finished.courses, n_trial) for finished in known]

    def held_out(self, rows: BoostingRowsInMemory) -> HeldOut | None:
        """Predictions of the held-out rows of the parts that the rounds were counted or followed on."""
        parts, counted = self._counted
        found = []
        for number, part in enumerate(parts):
            scores = [courses[number].scores(n_rounds) for courses, n_rounds in counted]
            found.append(rows.with_predictions(*part.with_scores(np.mean(scores, axis=0))))
        whole = HeldOut.together(found)
        if whole is None or rows.data.targets.is_class or hasattr(rows.loss, "quantile"):
            return whole
        return replace(whole, scale=self._scale_of_errors(found[0], rows))

    def _scale_of_errors(self, first: HeldOut | None, rows: BoostingRowsInMemory) -> float:
        """Size of the errors of a model from all rows, as a part of that of the errors on the first part.

        Errors are taken as a power of the number of rows, of -1 at the least; boosting on half the rows of the part
        gives it.
        """
        (part, *_), counted = self._counted
        half, pace = self._half_of(part), self._rules.pace
        if first is None or half is None:
            return 1.0
        scores = []
        for (course, *_), n_rounds in counted:
            own = course.on(half)
            losses = own.go_on(n_rounds, RUN_AT_ONCE * pace, WORTH_WHILE)
            scores.append(own.scores(1 + int(np.argmin(losses[1:]))))
        second = rows.with_predictions(*half.with_scores(np.mean(scores, axis=0)))
        if second is None or first.mean_error >= second.mean_error:
            return 1.0
        all_rows, more, fewer = (_n_contents(each) for each in (self._data, part.train, half.train))
        exponent = np.log(second.mean_error / first.mean_error) / np.log(more / fewer) if first.mean_error else 1.0
        return float((more / all_rows) ** min(1.0, exponent))

    @property
    def best(self) -> Trial:
        """The trial with the smallest loss so far, the first of several such."""

        def price(trial: Trial) -> float:
            if not trial.setting.has_trend or trial.loss == np.inf:
                return trial.loss
            return trial.loss + WORTH_OF_TREND * min(trial.loss, float(self.trials[0].losses[0]) - trial.loss)

        return min(self.trials, key=price)

    def _finished_of(self, setting: Setting) -> _Finished | None:
        return next((finished for finished in self._finished if finished.trial.setting == setting), None)

    @property
    def _fast_rate(self) -> float:
        return max(self._rules.learning_rate, FAST_RATE_OF_VECTORS if self._rules.one_tree else FAST_RATE)

    def _run(
        self,
        stage: str,
        setting: Setting,
        parts: list[_Part],
        rate: float,
        n_rounds: int,
        patience: int,
        courses: Sequence[_Course] = (),
    ) -> _Finished:
        """Run a trial, or continue its courses; the stage "rounds" only counts."""
        is_count = stage == "rounds"
        if not courses:
            widths = self._widths_of(setting)
            rules = replace(setting.of(self._rules).at(widths), learning_rate=rate)
            rules = rules if is_count else replace(rules, score=None)
            courses = [_Course(part, widths, self._rows, rules, self._threads) for part in parts]
        curves: list[np.ndarray] = []
        for course in courses:
            curves.append(course.go_on(n_rounds, patience, WORTH_WHILE if is_count else 0.0))
            if not is_count and self._is_behind(curves, parts):
                break
        losses = _mean_of_parts(curves, parts)
        if len(curves) < len(parts):  # on the other parts, the same distance from the best one is assumed
            losses = losses + (self.best.loss - self._best_curve(len(curves), parts)[1:].min())
        self.trials.append(Trial(stage, setting, rate, losses))
        finished = _Finished(self.trials[-1], courses)
        if len(curves) == len(parts) and not is_count:
            self._finished = sorted([*self._finished, finished], key=lambda finished: finished.trial.loss)
        return finished

    def _let_go_on(self, setting: Setting, parts: list[_Part]) -> None:
        """Let a trial continue until its loss has stalled."""
        known = self._finished_of(setting)
        if known is None:
            return
        most = max(1, round(self._rules.n_rounds * self._rules.learning_rate / known.trial.learning_rate))
        curves = [course.go_on(most, PATIENCE * self._rules.pace, WORTH_WHILE) for course in known.courses]
        longer = replace(known, trial=replace(known.trial, losses=_mean_of_parts(curves, parts)))
        self.trials[self.trials.index(known.trial)] = longer.trial
        self._finished[self._finished.index(known)] = longer
        self._finished.sort(key=lambda finished: finished.trial.loss)

    def _best_curve(self, n_parts: int, parts: list[_Part]) -> np.ndarray:
        """Mean curve of the best trial on the first parts."""
        return _mean_of_parts([np.array(course.losses) for course in self._finished[0].courses[:n_parts]], parts)

    def _is_behind(self, curves: list[np.ndarray], parts: list[_Part]) -> bool:
        """Whether a trial with these curves on the first parts is clearly worse than the best one."""
        if not self.trials or len(curves) == len(parts):
            return False
        of_best = self._best_curve(len(curves), parts)
        least = of_best[1:].min()
        behind = _mean_of_parts(curves, parts)[1:].min() - least
        return bool(behind > CLEARLY_WORSE[min(len(curves), len(CLEARLY_WORSE)) - 1] * (of_best[0] - least))

    def _parts(self, most_rows: int | None) -> list[_Part]:
        """Training and held-out rows, divided by content: folds, or one part if there are many rows."""
        data, n_groups = self._data, self._n_groups
        number = np.random.default_rng([self._rows.seed, 2]).permutation(n_groups)[data.group]
        n_held_out = min(n_groups // 4, max(TRIAL_ROWS // 3, n_groups // 20))
        is_many = n_groups > FOLD_ROWS
        end = n_groups if most_rows is None or not is_many else min(n_groups, n_held_out + most_rows)
        if end not in self._divisions:
            masks = [number < n_held_out] if is_many else [number % self._n_folds == k for k in range(self._n_parts)]
            self._divisions[end] = [self._part((number < end) & ~is_held_out, is_held_out) for is_held_out in masks]
        return self._divisions[end]

    def _part(self, is_training: np.ndarray, is_held_out: np.ndarray) -> _Part:
        train, held_out = self._data.take(is_training), self._data.take(is_held_out)
        matrix = held_out.matrix
        if self._rows.categories is not None:
            matrices = self._rows.categories.apart(is_training, is_held_out, train.weights, train.group)
            matrix = self._rows.categories.matrix[is_held_out]
            train, held_out = (replace(rows, matrix=own) for rows, own in zip((train, held_out), matrices, strict=True))
        return _Part(train, self._bins(train), held_out, matrix)

    def _half_of(self, part: _Part) -> _Part | None:
        """A part with half the training rows, drawn by content; None if these are a single one."""
        n_groups = _n_contents(part.train)
        if n_groups < 2:
            return None
        chosen = np.random.default_rng([self._rows.seed, 3]).permutation(n_groups)[part.train.group] < n_groups // 2
        train = part.train.take(chosen)
        return replace(part, train=train, bins=self._bins(train))

    def _bins(self, train: BoostingData) -> Bins:
        weights = None if np.all(train.weights == train.weights[0]) else train.weights
        n_categories = self._rows.data.bins.n_categories
        return bin_features(train.matrix, weights, self._max_bins, self._threads.n_threads, n_categories)

    def _widths_of(self, setting: Setting) -> np.ndarray:
        """Half-widths (p,) of a setting, without measurement errors."""
        if setting.scale is not None:
            return setting.scale * self._rows.spreads
        assert self._widths is not None
        return self._widths


def _n_contents(data: BoostingData) -> int:
    """Number of different rows."""
    return int(data.group.max()) + 1


def _has_stalled(losses: list[float], patience: int, worth_while: float) -> bool:
    """Whether the smallest loss has hardly decreased in the last rounds: by this fraction of its total decrease."""
    if len(losses) <= patience:
        return False
    best = min(losses)
    return min(losses[:-patience]) - best <= worth_while * (losses[0] - best)


def _mean_of_parts(curves: list[np.ndarray], parts: list[_Part]) -> np.ndarray:
    """Mean curve of the first parts, weighted by their held-out rows."""
    return _mean_curve(curves, [part.held_out.weights.sum() for part in parts[: len(curves)]])


def _mean_curve(curves: list[np.ndarray], weights: list[float]) -> np.ndarray:
    """Mean of the losses by round; a run that has ended keeps its last loss."""
    longest = max(len(curve) for curve in curves)
    padded = [np.pad(curve, (0, longest - len(curve)), mode="edge") for curve in curves]
    return np.average(padded, axis=0, weights=weights)
