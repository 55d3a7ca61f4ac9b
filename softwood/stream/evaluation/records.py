"""The record of a run: measures by window, times and sizes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from softwood.core.parameters import parameter_error
from softwood.stream.evaluation.baselines import BASELINES, Baselines
from softwood.stream.evaluation.learners import Learner, Outcome
from softwood.stream.evaluation.measures import MEASURES, Measure, SkillMeasure
from softwood.stream.evaluation.results import PrequentialResult

_PERCENTILES = (50, 95, 99)


class Record:
    """Results of a run so far: measures of the window, and of all windows before it.

    Parameters
    ----------
    learner : whose outcomes come
    wanted : names of measures; None: all that fit
    window : rows of a window
    latency, memory : whether to measure these
    delay : rows after which labels come
    on_window : called at the end of each window
    """

    def __init__(
        self,
        learner: Learner,
        wanted: list[str] | None,
        window: int,
        latency: bool,
        memory: bool,
        delay: int = 0,
        on_window: Callable[[int, dict[str, float]], object] | None = None,
    ) -> None:
        self._on_window = on_window
        self.n_samples = 0
        self.n_unscored = 0
        self.learner = learner
        self._baselines = Baselines(learner.codes is not None, delay)
        own = ("r2", "mae", "rmse") if learner.codes is None else ("accuracy", "cross_entropy", "kappa")
        self._beside = {name: {measure: MEASURES[measure]() for measure in own} for name in BASELINES}
        self._wanted = wanted
        self._window = window
        self._seconds = 0.0
        self._latencies = Latencies() if latency else None
        self._ends: list[int] = []
        self._sizes: list[int] | None = None
        if memory:
            size_of(learner.model)  # a model that cannot be pickled fails now rather than at the end of a window
            self._sizes = []
        takes = {"numbers"} if learner.codes is None else {"labels", "probabilities"}
        fitting = [name for name, measure in MEASURES.items() if measure.takes in takes]
        self._set_measures(wanted or fitting, fitting)
        self._has_looked = False

    def _set_measures(self, names: list[str], fitting: list[str]) -> None:
        for name in names:
            if name not in fitting:
                what = f"some of {', '.join(map(repr, fitting))} for this model"
                raise parameter_error("prequential", "measures", what, name)
        self.current: dict[str, Measure] = {name: MEASURES[name]() for name in names}
        self._total: dict[str, Measure] = {name: MEASURES[name]() for name in names}
        self._curves: dict[str, list[float]] = {name: [] for name in names}

    def add(self, outcome: Outcome) -> None:
        """Add a block, whose rows may belong to several windows."""
        if not self._has_looked and outcome.is_scored.any():
            self._has_looked = True
            self._leave_out_probabilities(outcome)
        self._seconds += outcome.seconds
        if self._latencies is not None and outcome.row_seconds is not None:
            self._latencies.add(outcome.row_seconds)
        beside = self._baselines.predict(outcome.y)
        for name, baseline in beside.items():
            for measure in self._beside[name].values():
                _add_scored(measure, baseline, baseline.is_scored)
        start = 0
        while start < len(outcome):
            stop = min(len(outcome), start + self._window - self.n_samples % self._window)
            self._update(outcome, beside, start, stop)
            self.n_samples += stop - start
            if self.n_samples % self._window == 0:
                self._close_window()
            start = stop
        self._measure_memory()

    def _leave_out_probabilities(self, outcome: Outcome) -> None:
        """With the first prediction it is known whether a classifier gives probabilities."""
        if self.learner.codes is None or outcome.probabilities is not None:
            return
        fitting = [name for name, measure in MEASURES.items() if measure.takes == "labels"]
        n_windows = len(self._ends)
        self._set_measures(self._wanted or fitting, fitting)
        self._curves = {name: [np.nan] * n_windows for name in self.current}

    def _update(self, outcome: Outcome, beside: dict[str, Outcome], start: int, stop: int) -> None:
        chosen: Any = slice(start, stop)
        is_scored = outcome.is_scored[chosen]
        if not is_scored.all():
            self.n_unscored += int((~is_scored).sum())
            chosen = start + np.flatnonzero(is_scored)
            if len(chosen) == 0:
                return
        y = outcome.y[chosen]
        for measure in self.current.values():
            prediction = getattr(outcome, measure.takes)[chosen]
            if isinstance(measure, SkillMeasure):
                baseline = beside[measure.beside]
                assert baseline.labels is not None
                # a row for which the baseline has no label yet counts as an error of it
                other = np.where(baseline.is_scored, baseline.labels, -1)[chosen]
                prediction = np.column_stack([prediction, other])
            measure.update(y, prediction)

    def _close_window(self) -> None:
        self._ends.append(self.n_samples)
        for name, measure in self.current.items():
            self._curves[name].append(measure.get())
            self._total[name].merge(measure)
            measure.reset()
        if self._on_window is not None:
            self._on_window(self.n_samples, {name: values[-1] for name, values in self._curves.items()})

    def _measure_memory(self) -> None:
        """The size of the model, for all windows that ended since the last time."""
        if self._sizes is not None and len(self._sizes) < len(self._ends):
            self._sizes += [size_of(self.learner.model)] * (len(self._ends) - len(self._sizes))

    def finish(self, interrupted: bool) -> PrequentialResult:
        """Close the last window, and put the results together."""
        if self.n_samples > (self._ends[-1] if self._ends else 0):
            self._close_window()
        self._measure_memory()
        curves = {"n_samples": np.array(self._ends, dtype=np.int64)}
        curves |= {name: np.array(values, dtype=np.float64) for name, values in self._curves.items()}
        codes = self.learner.codes
        return PrequentialResult(
            scores={name: measure.get() for name, measure in self._total.items()},
            curves=curves,
            n_samples=self.n_samples,
            n_unscored=self.n_unscored,
            seconds=self._seconds,
            latency=None if self._latencies is None else self._latencies.get(),
            memory=None if self._sizes is None else np.array(self._sizes, dtype=np.int64),
            classes=None if codes is None else codes.to_array(),
            interrupted=interrupted,
            baselines={name: _known(measures) for name, measures in self._beside.items()},
            window=self._window,
        )


def _add_scored(measure: Measure, outcome: Outcome, is_scored: np.ndarray) -> None:
    """Add the rows with a prediction to a measure, if there are predictions of its kind."""
    prediction = getattr(outcome, measure.takes)
    if prediction is None:
        return
    if is_scored.all():
        measure.update(outcome.y, prediction)
    elif is_scored.any():
        measure.update(outcome.y[is_scored], prediction[is_scored])


def _known(measures: dict[str, Measure]) -> dict[str, float]:
    """Scores that are defined."""
    found = {name: measure.get() for name, measure in measures.items()}
    return {name: score for name, score in found.items() if not np.isnan(score)}


class Latencies:
    """Percentiles of times from counts in bins of 1 %, from 10 nanoseconds to a day."""

    _FIRST, _STEP, _N = 1e-8, np.log(1.01), 3000

    def __init__(self) -> None:
        self._counts = np.zeros(self._N, dtype=np.int64)
        self._max = 0.0

    def add(self, seconds: np.ndarray) -> None:
        """Add the times of rows."""
        places = np.log(np.maximum(seconds, self._FIRST) / self._FIRST) / self._STEP
        np.add.at(self._counts, np.minimum(places.astype(np.int64), self._N - 1), 1)
        self._max = max(self._max, float(seconds.max()))

    def get(self) -> dict[str, float]:
        """In microseconds; nan without rows."""
        below = np.cumsum(self._counts)
        if below[-1] == 0:
            return {f"p{p}": np.nan for p in _PERCENTILES} | {"max": np.nan}
        found = {}
        for p in _PERCENTILES:
            place = int(np.searchsorted(below, p / 100 * below[-1]))
            middle = self._FIRST * np.exp((place + 0.5) * self._STEP)
            found[f"p{p}"] = 1e6 * min(float(middle), self._max)
        return found | {"max": 1e6 * self._max}


class _ByteCounter:
    """A file that only counts what is written to it."""

    def __init__(self) -> None:
        self.n_bytes = 0

    def write(self, data: Any) -> int:
        n = memoryview(data).nbytes
        self.n_bytes += n
        return n


def size_of(model: Any) -> int:
    """Bytes of a model: as it says itself, or of its pickle."""
    n_bytes = getattr(model, "nbytes_", None)
    if n_bytes is not None:
        return int(n_bytes)
    counter = _ByteCounter()
    pickle.Pickler(counter, protocol=5).dump(model)
    return counter.n_bytes
