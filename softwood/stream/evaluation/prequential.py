"""Prequential evaluation: every row of a stream is first a test and then an example to learn from."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import t as student

from softwood.core.extras import require
from softwood.core.parameters import check_count, check_flag, check_integer, check_number, parameter_error
from softwood.stream.evaluation.baselines import BASELINES, Baselines
from softwood.stream.evaluation.learners import Learner, Outcome, make_learner
from softwood.stream.evaluation.measures import MEASURES, Measure, SkillMeasure
from softwood.stream.evaluation.sources import open_stream

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["PrequentialResult", "RunOptions", "half_width", "measure_title", "prequential", "run_models"]

_OWNER = "prequential"
_PERCENTILES = (50, 95, 99)


@dataclass(frozen=True, repr=False, eq=False)
class PrequentialResult:
    """What `prequential` found.

    Attributes
    ----------
    scores : dict, each measure over all rows that were scored
    curves : dict of arrays (n_windows,): ``n_samples``, the row at which each window ends, and each measure over the
        rows of the window; nan where it is not defined
    n_samples : rows of the stream that were tested and learned
    n_unscored : how many of them were learned only, since the model could not predict yet
    seconds : time that the model took to test and to train; reading the stream and measuring are left out
    latency : dict in microseconds, what a row takes: percentiles ``p50``, ``p95``, ``p99`` to 1 % and the exact
        ``max``; None if it was not asked for
    memory : (n_windows,) bytes of the model at the end of each window; None if it was not asked for
    classes : (n_classes,) labels that are known by now; None for a regressor
    interrupted : whether the run was stopped by the user before the stream ended
    baselines : dict of dicts, scores of predictions from the labels alone: "no_change" (the last one) and "majority"
        (the most frequent one so far; for targets, their mean)
    window : rows of a window
    """

    scores: dict[str, float]
    curves: dict[str, np.ndarray]
    n_samples: int
    n_unscored: int
    seconds: float
    latency: dict[str, float] | None = None
    memory: np.ndarray | None = None
    classes: np.ndarray | None = None
    interrupted: bool = False
    baselines: dict[str, dict[str, float]] = field(default_factory=dict)
    window: int = 1

    def interval(self, measure: str, level: float = 0.95) -> tuple[float, float]:
        """Confidence interval of a score, from how it varies between windows (the method of batch means).

        Rows of a stream are no independent draws, so it is the windows that are taken for independent: they should be
        long compared with the time that neighbouring rows have to do with one another. What the model learns, and
        drifts, make the interval wider.

        Parameters
        ----------
        measure : its name
        level : probability with which the interval is to hold the score, default=0.95

        Returns
        -------
        low, high : nan with fewer than two whole windows
        """
        if measure not in self.scores:
            raise parameter_error("interval", "measure", f"one of {', '.join(map(repr, self.scores))}", measure)
        half = half_width(self.whole_windows(measure), level)
        return self.scores[measure] - half, self.scores[measure] + half

    def whole_windows(self, measure: str) -> np.ndarray:
        """Values of a measure in the windows that have all their rows; where it is not defined is left out."""
        ends = np.diff(self.curves["n_samples"], prepend=0)
        values = self.curves[measure][ends == self.window]
        return values[~np.isnan(values)]

    @property
    def samples_per_second(self) -> float:
        """Rows that the model tests and learns in a second."""
        return self.n_samples / self.seconds if self.seconds > 0 else np.nan

    def to_frame(self) -> Any:
        """The curves as a pandas DataFrame, one row for each window."""
        pandas = require("pandas", None, "A table as a data frame")
        return pandas.DataFrame(self.curves | ({} if self.memory is None else {"memory": self.memory}))

    def plot(self, ax: Axes | None = None, measures: str | Iterable[str] | None = None) -> Axes:
        """Draw measures over the stream, window by window.

        Parameters
        ----------
        ax : axes to draw into, default=None: new ones
        measures : names, default=None: the first one and all that are of its scale

        Returns
        -------
        ax : the axes
        """
        names = list(self.scores)
        if measures is None:
            scale = MEASURES[names[0]].scale
            wanted = [name for name in names if MEASURES[name].scale == scale]
        else:
            wanted = [measures] if isinstance(measures, str) else list(measures)
            for name in wanted:
                if name not in names:
                    raise parameter_error("plot", "measures", f"some of {', '.join(map(repr, names))}", name)
        if ax is None:
            ax = require("matplotlib.pyplot", "plots", "Drawing curves").subplots()[1]
        for name in wanted:
            ax.plot(self.curves["n_samples"], self.curves[name], label=measure_title(name))
        ax.set_xlabel("rows")
        if len(wanted) == 1:
            ax.set_ylabel(measure_title(wanted[0]))
        else:
            ax.legend()
        return ax

    def __repr__(self) -> str:
        notes = [f"{self.n_samples:,} rows"]
        if self.n_unscored:
            notes.append(f"{self.n_unscored:,} not scored")
        notes.append(f"{self.samples_per_second:,.0f} rows/s")
        if self.interrupted:
            notes.append("interrupted")
        beside = "".join(f"{measure_title(name):>12}" for name in self.baselines)
        lines = [f"PrequentialResult: {', '.join(notes)}", f"{'':16}{'all rows':>12}{'last window':>14}{beside}"]
        for name, value in self.scores.items():
            last = self.curves[name][-1] if len(self.curves[name]) else np.nan
            others = "".join(
                f"{scores[name]:12.4f}" if name in scores else f"{'':12}" for scores in self.baselines.values()
            )
            lines.append(f"  {measure_title(name):14}{value:12.4f}{last:14.4f}{others}".rstrip())
        if self.latency is not None:
            times = ", ".join(f"{name} {value:.1f}" for name, value in self.latency.items())
            lines.append(f"  {'µs per row':14}  {times}")
        if self.memory is not None and len(self.memory):
            lines.append(f"  {'bytes':14}  {self.memory[-1]:,}, at most {self.memory.max():,}")
        return "\n".join(lines)


def prequential(
    model: Any,
    stream: Any,
    *,
    target: Hashable | None = None,
    classes: Any = None,
    measures: str | Iterable[str] | None = None,
    block_size: int = 1000,
    window: int | None = None,
    max_samples: int | None = None,
    delay: int = 0,
    latency: bool = False,
    memory: bool = False,
    verbose: int = 0,
    on_window: Callable[[int, dict[str, float]], object] | None = None,
) -> PrequentialResult:
    """Test a model on each row of a stream, and then train it on that row.

    The model is trained in place, and goes on from what it has learned before. Ctrl-C ends the run without losing what
    was found: the result of all blocks before is returned, ``interrupted``; of the block in which the run stopped, the
    model may have learned a part.

    Parameters
    ----------
    model : one of three kinds, looked for in this order

        - with ``test_then_train(X, y)``, as the stream models of softwood: learns row by row
        - with ``partial_fit(X, y)`` and ``predict_proba`` or ``predict``, as in scikit-learn: predicts a block, then
          learns it; ``block_size=1`` for row by row. The first block of a model that is not fitted is learned only.
        - with ``learn_one(x, y)`` and ``predict_proba_one`` or ``predict_one``, as in river: row by row, as dicts. Rows
          for which it predicts nothing are learned only.

    stream : any of these

        - stream of softwood, such as those that are generated; without an end, it needs `max_samples`
        - tuple (X, y) of arrays or data frames
        - data frame (pandas, polars) or path of a .csv, .csv.gz or .parquet file, with `target`; files may be larger
          than memory
        - iterable of pairs (x, y), x a dict or a row of numbers, such as the data sets of river

    target : name of the column to predict, of files and frames, default=None
    classes : (n_classes,) all labels that may come, default=None
        Needed by classifiers with ``partial_fit``, unless the stream is a table in memory or knows its classes.
    measures : names, default=None: all that fit the model
        "accuracy", "auroc", "cross_entropy", "kappa", "kappa_temporal" and "kappa_m" of classifiers, "r2", "mae" and
        "rmse" of regressors. Without probabilities there is neither "auroc" nor "cross_entropy". Temporal kappa and
        kappa M are 0 for a model that is as good as the last label, or as the most frequent one.
    block_size : most rows to read at once, default=1000
    window : rows for each point of the curves, default=None
        None: a hundredth of the stream in whole thousands, rounded up; 1000 if its length is not known. The last window
        may be shorter.
    max_samples : most rows to take from the stream, default=None: all
    delay : rows after which the label of a row comes, default=0
        A row is learned when so many more have been tested; the last ones never are. With a delay, models with
        ``test_then_train`` are called for each row. A model of scikit-learn's kind learns a block when all of its
        labels have come. The baselines get their labels later, too.
    latency : whether to measure what single rows take, default=False
        Models with ``test_then_train`` are then called for each row, which is slower by the cost of the calls. Of
        models with ``partial_fit`` it is the mean over the rows of a block.
    memory : whether to measure the size of the model at the end of each window, default=False
        Its ``nbytes_`` if it has that, else the length of its pickle. If the window ends within a block, it is the size
        after that block.
    verbose : 0 or 1, default=0
        Whether to print about once a second how far it is, and the scores of the window.
    on_window : function, default=None
        Called at the end of each window with the number of rows so far and a dict of the scores of the window.

    Returns
    -------
    result : `PrequentialResult`

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from softwood.stream.evaluation.prequential import prequential
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 3))
    >>> y = np.where(X[:, 0] + rng.normal(size=5000) > 0, "up", "down")
    >>> result = prequential(GaussianNB(), (X, y), block_size=100, window=1000)
    >>> result.n_samples, result.n_unscored
    (5000, 100)
    >>> {name: round(score, 2) for name, score in result.scores.items()}
    {'accuracy': 0.75, 'auroc': 0.83, 'cross_entropy': 0.5, 'kappa': 0.51, 'kappa_temporal': 0.51, 'kappa_m': 0.51}
    >>> result.curves["n_samples"].tolist(), result.curves["accuracy"].round(2).tolist()
    ([1000, 2000, 3000, 4000, 5000], [0.74, 0.76, 0.76, 0.75, 0.75])
    """
    options = RunOptions(
        target, classes, measures, block_size, window, max_samples, delay, latency, memory, verbose, on_window
    )
    return run_models({"": model}, stream, options)[""]


@dataclass(frozen=True)
class RunOptions:
    """Parameters of `prequential` other than model and stream."""

    target: Hashable | None = None
    classes: Any = None
    measures: str | Iterable[str] | None = None
    block_size: int = 1000
    window: int | None = None
    max_samples: int | None = None
    delay: int = 0
    latency: bool = False
    memory: bool = False
    verbose: int = 0
    on_window: Callable[[int, dict[str, float]], object] | None = None


def run_models(models: dict[str, Any], stream: Any, options: RunOptions) -> dict[str, PrequentialResult]:
    """Test and train models on the same rows, in one pass over the stream."""
    wanted = _read_measures(options.measures)
    block_size = check_count(_OWNER, "block_size", options.block_size)
    window = check_integer(_OWNER, "window", options.window, low=1, or_none=True)
    max_samples = check_integer(_OWNER, "max_samples", options.max_samples, low=1, or_none=True)
    delay = check_count(_OWNER, "delay", options.delay, low=0)
    latency, memory = check_flag(_OWNER, "latency", options.latency), check_flag(_OWNER, "memory", options.memory)
    verbose = check_count(_OWNER, "verbose", options.verbose, low=0)
    classes = next((model.classes_ for model in models.values() if hasattr(model, "classes_")), options.classes)
    has_text_labels = classes is not None and all(isinstance(label, str) for label in classes)
    source = open_stream(
        stream, target=options.target, block_size=block_size, max_samples=max_samples, has_text_labels=has_text_labels
    )
    window = window or _usual_window(source.n_samples)
    records = {}
    for name, model in models.items():
        learner = make_learner(
            model,
            classes=options.classes,
            find_classes=source.find_classes,
            feature_names=source.feature_names,
            latency=latency,
            delay=delay,
        )
        records[name] = _Record(learner, wanted, window, latency, memory, delay, options.on_window)
    progress = _Progress(source.n_samples) if verbose else None
    interrupted = False
    try:
        for block in source.blocks:
            # all of them before any is counted, so that an interrupt leaves results of the same rows
            outcomes = [record.learner.run(block) for record in records.values()]
            for record, outcome in zip(records.values(), outcomes, strict=True):
                record.add(outcome)
            if progress is not None:
                progress.show(next(iter(records.values())))
    except KeyboardInterrupt:
        interrupted = True
    results = {name: record.finish(interrupted) for name, record in records.items()}
    if progress is not None:
        progress.end(next(iter(results.values())))
    return results


def half_width(values: np.ndarray, level: float) -> float:
    """Half of the confidence interval of a mean by Student's distribution; nan with fewer than two values."""
    level = check_number("interval", "level", level, low=0, high=1)
    if len(values) < 2:
        return np.nan
    return float(student.ppf(0.5 + 0.5 * level, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))


def measure_title(name: str) -> str:
    """Name of a measure or baseline as it is shown."""
    shown = {"auroc": "AUROC", "r2": "R²", "mae": "MAE", "rmse": "RMSE", "kappa_m": "kappa M"}
    return shown.get(name, name.replace("_", " "))


def _read_measures(measures: str | Iterable[str] | None) -> list[str] | None:
    if measures is None:
        return None
    names = [measures] if isinstance(measures, str) else list(measures)
    for name in names:
        if name not in MEASURES:
            raise parameter_error(_OWNER, "measures", f"some of {', '.join(map(repr, MEASURES))}, or None", name)
    if not names:
        raise parameter_error(_OWNER, "measures", "at least one name, or None", names)
    return list(dict.fromkeys(names))


def _usual_window(n_samples: int | None) -> int:
    """A hundredth of the stream in whole thousands."""
    return 1000 if n_samples is None else 1000 * max(1, -(-n_samples // 100_000))


class _Record:
    """What is known of a run so far: measures of the window, and of all windows before it.

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
        self._latencies = _Latencies() if latency else None
        self._ends: list[int] = []
        self._sizes: list[int] | None = None
        if memory:
            _size(learner.model)  # a model that cannot be pickled fails now rather than at the end of a window
            self._sizes = []
        takes = {"numbers"} if learner.codes is None else {"labels", "probabilities"}
        fitting = [name for name, measure in MEASURES.items() if measure.takes in takes]
        self._set_measures(wanted or fitting, fitting)
        self._has_looked = False

    def _set_measures(self, names: list[str], fitting: list[str]) -> None:
        for name in names:
            if name not in fitting:
                what = f"some of {', '.join(map(repr, fitting))} for this model"
                raise parameter_error(_OWNER, "measures", what, name)
        self.current: dict[str, Measure] = {name: MEASURES[name]() for name in names}
        self._total: dict[str, Measure] = {name: MEASURES[name]() for name in names}
        self._curves: dict[str, list[float]] = {name: [] for name in names}

    def add(self, outcome: Outcome) -> None:
        """Take in a block, whose rows may belong to several windows."""
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
            self._sizes += [_size(self.learner.model)] * (len(self._ends) - len(self._sizes))

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


class _Latencies:
    """Percentiles of times from counts in bins of 1 %, from 10 nanoseconds to a day."""

    _FIRST, _STEP, _N = 1e-8, np.log(1.01), 3000

    def __init__(self) -> None:
        self._counts = np.zeros(self._N, dtype=np.int64)
        self._max = 0.0

    def add(self, seconds: np.ndarray) -> None:
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


def _size(model: Any) -> int:
    """Bytes of a model: as it says itself, or of its pickle."""
    n_bytes = getattr(model, "nbytes_", None)
    if n_bytes is not None:
        return int(n_bytes)
    counter = _ByteCounter()
    pickle.Pickler(counter, protocol=5).dump(model)
    return counter.n_bytes


class _Progress:
    """Lines that tell how far a run is, about one a second.

    Parameters
    ----------
    n_samples : rows of the stream, None if that is not known
    """

    def __init__(self, n_samples: int | None) -> None:
        self._n_samples = n_samples
        self._start = self._last = perf_counter()

    def show(self, record: _Record) -> None:
        """Print a line if the last one is long enough ago."""
        now = perf_counter()
        if now - self._last < 1.0:
            return
        self._last = now
        part = f" ({100 * record.n_samples / self._n_samples:.0f} %)" if self._n_samples else ""
        scores = {name: measure.get() for name, measure in record.current.items()}
        rate = record.n_samples / (now - self._start)
        print(f"{record.n_samples:,} rows{part}, {rate:,.0f} rows/s{_listed(scores)}", flush=True)

    def end(self, result: PrequentialResult) -> None:
        """Print the last line, with the scores over all rows."""
        seconds = perf_counter() - self._start
        how = "stopped" if result.interrupted else "done"
        print(f"{result.n_samples:,} rows, {how} after {seconds:.1f} s{_listed(result.scores)}", flush=True)


def _listed(scores: dict[str, float]) -> str:
    known = {name: score for name, score in scores.items() if not np.isnan(score)}
    return "".join(f", {measure_title(name)} {score:.4f}" for name, score in known.items())
