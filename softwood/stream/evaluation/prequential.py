"""Prequential evaluation: every row of a stream is first a test and then an example to learn from."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from softwood.core.parameters import check_count, check_flag, check_integer, parameter_error
from softwood.stream.evaluation.learners import make_learner
from softwood.stream.evaluation.measures import MEASURES
from softwood.stream.evaluation.progress import Progress
from softwood.stream.evaluation.records import Record
from softwood.stream.evaluation.results import PrequentialResult
from softwood.stream.evaluation.sources import open_stream

_OWNER = "prequential"


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

    The model is trained in place, and continues from what it has learned before. Ctrl-C ends the run without losing its
    result: that of all blocks before is returned, ``interrupted``. The model may have learned a part of the block in
    which the run stopped.

    Parameters
    ----------
    model : stream model, or model with the methods of scikit-learn or river
        One of three kinds, looked for in this order:

        - with ``test_then_train(X, y)``, as the stream models of softwood: learns row by row
        - with ``partial_fit(X, y)`` and ``predict_proba`` or ``predict``, as in scikit-learn: predicts a block, then
          learns it; ``block_size=1`` for row by row. The first block of a model that is not fitted is learned only.
        - with ``learn_one(x, y)`` and ``predict_proba_one`` or ``predict_one``, as in river: row by row, as dicts. Rows
          for which it predicts nothing are learned only.
    stream : stream, tuple (X, y), data frame, path or iterable of pairs (x, y)
        The rows:

        - stream of softwood, such as those that are generated; without an end, it needs `max_samples`
        - tuple (X, y) of arrays or data frames
        - data frame (pandas, polars) or path of a .csv, .csv.gz or .parquet file, with `target`; files may be larger
          than memory
        - iterable of pairs (x, y), x a dict or a row of numbers, such as the data sets of river.
    target : str or None, default=None
        Name of the column to predict, for files and frames.
    classes : array-like of shape (n_classes,) or None, default=None
        All labels that may occur. Needed by classifiers with ``partial_fit``, unless the stream is a table in memory or
        knows its classes.
    measures : str, iterable of str or None, default=None
        Names of measures: "accuracy", "auroc", "cross_entropy", "kappa", "kappa_temporal" and "kappa_m" of classifiers,
        "r2", "mae" and "rmse" of regressors. None computes all that fit the model. Without probabilities there is
        neither "auroc" nor "cross_entropy". Temporal kappa and kappa M are 0 for a model that is as good as the last
        label, or as the most frequent one.
    block_size : int, default=1000
        Largest number of rows to read at once.
    window : int or None, default=None
        Number of rows for each point of the curves. None means a hundredth of the stream in whole thousands, rounded
        up, or 1000 if its length is not known. The last window may be shorter.
    max_samples : int or None, default=None
        Largest number of rows to take from the stream. None takes all.
    delay : int, default=0
        Number of rows after which the label of a row comes. A row is learned when so many more have been tested; the
        last ones never are. With a delay, models with ``test_then_train`` are called for each row. A model of
        scikit-learn's kind learns a block when all of its labels have come. The baselines get their labels later, too.
    latency : bool, default=False
        Whether to measure what single rows take. Models with ``test_then_train`` are then called for each row, which is
        slower by the cost of the calls. For models with ``partial_fit`` it is the mean over the rows of a block.
    memory : bool, default=False
        Whether to measure the size of the model at the end of each window: its ``nbytes_`` if it has that, and
        otherwise the length of its pickle. If the window ends within a block, it is the size after that block.
    verbose : int, default=0
        If 1, print progress and the scores of the window about once per second.
    on_window : callable or None, default=None
        Called at the end of each window with the number of rows so far and a dict of the scores of the window.

    Returns
    -------
    PrequentialResult
        Scores, curves and costs.

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
        records[name] = Record(learner, wanted, window, latency, memory, delay, options.on_window)
    progress = Progress(source.n_samples) if verbose else None
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
