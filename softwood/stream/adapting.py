"""How a stream model adapts: size of the gradient, growth and loss along a stream, and the tree at chosen times."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from softwood.core.extras import require
from softwood.core.parameters import check_count, check_integer, parameter_error
from softwood.stream.base import StreamModel
from softwood.stream.drift import ADWIN, DriftDetector
from softwood.stream.evaluation.learners import Outcome, make_learner
from softwood.stream.evaluation.sources import Block, open_stream
from softwood.stream.hoeffding import SplittingTree
from softwood.trees.forest import SoftForest
from softwood.trees.tree import SoftTree

_OWNER = "adaptation"
_SMALLEST_PROBABILITY = 1e-15


@dataclass(frozen=True, eq=False)
class Adaptation:
    """How a model adapted, window by window.

    Attributes
    ----------
    n_samples : ndarray of shape (n_windows,)
        Number of rows of the run up to the end of each window.
    gradient_norm : ndarray of shape (n_windows,)
        Mean over the window of ||dL/dT||, the Euclidean norm of the cross-entropy's gradient along the output of the
        tree: of p - onehot(y), where p is predicted before the row is learned.
    loss : ndarray of shape (n_windows,)
        Mean cross-entropy over the window, of the same predictions.
    n_nodes : ndarray of shape (n_windows,)
        Number of nodes of the tree at the end of each window.
    n_added : ndarray of shape (n_windows,)
        Number of nodes that the window has added.
    drifts : ndarray of shape (n_drifts,)
        Rows of the run at which there was an alarm of the tree itself, or of the detector.
    snapshots : dict of int to SoftTree or SoftForest
        The model after so many rows of the run.
    """

    n_samples: np.ndarray
    gradient_norm: np.ndarray
    loss: np.ndarray
    n_nodes: np.ndarray
    n_added: np.ndarray
    drifts: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    snapshots: dict[int, SoftTree | SoftForest] = field(default_factory=dict, repr=False)

    def to_frame(self) -> Any:
        """The numbers as a pandas DataFrame, one row for each window."""
        pandas = require("pandas", None, "A table as a data frame")
        names = ("n_samples", "gradient_norm", "loss", "n_nodes", "n_added")
        return pandas.DataFrame({name: getattr(self, name) for name in names})


def adaptation(
    model: Any,
    stream: Any,
    *,
    n_samples: int | None = None,
    window: int = 1000,
    snapshots: Iterable[int] = (),
    target: Hashable | None = None,
    classes: Any = None,
    detector: DriftDetector | None = None,
) -> Adaptation:
    """Test a classifier on each row of a stream, train it on that row, and watch how it adapts (figure 4 of the paper).

    The model is trained in place, and continues from what it has learned before.

    Parameters
    ----------
    model : classifier of softwood.stream
        The model to train.
    stream : stream, tuple (X, y), data frame, path or iterable of pairs (x, y)
        The rows, as for `prequential`.
    n_samples : int or None, default=None
        Largest number of rows to take from the stream. None takes all. Required for a generator without end.
    window : int, default=1000
        Number of rows that are averaged. The last window may be shorter.
    snapshots : iterable of int, default=()
        Numbers of rows after which the tree is kept. 0 is the tree before the first row.
    target : str or None, default=None
        Name of the column to predict, for files and frames.
    classes : array-like of shape (n_classes,) or None, default=None
        All labels that may occur. None uses those of the stream.
    detector : DriftDetector or None, default=None
        Detector that watches the errors of the model, 0 or 1. It is cloned. None uses the detector of the model, if it
        is a tree that has one, and ``ADWIN(mode="up")`` otherwise.

    Returns
    -------
    Adaptation
        How the model adapted, window by window.

    Examples
    --------
    >>> from softwood.stream import Agrawal, SoftHoeffdingTreeClassifier
    >>> from softwood.stream.adapting import adaptation
    >>> stream = Agrawal(functions=(0, 2), drift_every=3000, seed=0)
    >>> model = SoftHoeffdingTreeClassifier(random_state=0)
    >>> result = adaptation(model, stream, n_samples=6000, snapshots=[3000, 6000])
    >>> result.n_samples.tolist()
    [1000, 2000, 3000, 4000, 5000, 6000]
    >>> bool(result.gradient_norm[3] > 2 * result.gradient_norm[2])  # the drift
    True
    >>> int(result.drifts[0] - 3000) in range(200)  # the alarm
    True
    >>> result.snapshots[3000].n_nodes <= result.snapshots[6000].n_nodes
    True
    """
    if not (isinstance(model, StreamModel) and is_classifier(model)):
        raise parameter_error(_OWNER, "model", "a classifier of softwood.stream", model)
    n_samples = check_integer(_OWNER, "n_samples", n_samples, low=1, or_none=True)
    window = check_count(_OWNER, "window", window)
    wanted = _read_snapshots(snapshots)
    if n_samples is None and hasattr(stream, "blocks") and getattr(stream, "n_samples", None) is None:
        raise parameter_error(_OWNER, "n_samples", "an int for a stream without end", n_samples)
    source = open_stream(stream, target=target, block_size=window, max_samples=n_samples)
    learner = make_learner(
        model, classes=classes, find_classes=source.find_classes, feature_names=source.feature_names
    )  # fmt: skip
    if detector is not None and not isinstance(detector, DriftDetector):
        raise parameter_error(_OWNER, "detector", "a DriftDetector or None", detector)
    record = _Record(_n_nodes(model), ADWIN(mode="up") if detector is None else detector.clone())
    kept: dict[int, SoftTree | SoftForest] = {}
    if 0 in wanted and hasattr(model, "growth_"):
        kept[0] = copy.deepcopy(model._finished)
    n, n_before = 0, getattr(getattr(model, "growth_", None), "n_rows", 0)
    for block in _cut(source.blocks, window, wanted):
        record.add(learner.run(block))
        n += len(block)
        if n in wanted:
            kept[n] = copy.deepcopy(model._finished)  # the tree continues to grow
        if n % window == 0:
            record.close(n, _n_nodes(model))
    if n % window:
        record.close(n, _n_nodes(model))
    missing = sorted(wanted - set(kept))
    if missing:
        raise parameter_error(_OWNER, "snapshots", f"numbers of rows up to {n}, the length of the run", missing[-1])
    found = record.finish(kept)
    return _with_own_alarms(found, model, n_before) if detector is None else found


def _with_own_alarms(result: Adaptation, model: StreamModel, n_before: int) -> Adaptation:
    """The same with the alarms of the tree itself, if it has a detector; the run began after `n_before` rows."""
    if not isinstance(model, SplittingTree) or model.drift_delta is None:
        return result
    alarms = [event.n_samples - n_before for event in model.drifts_ if event.n_samples > n_before]
    return replace(result, drifts=np.array(alarms, dtype=np.int64))


class _Record:
    """Sums over the present window, and the numbers of those before.

    Parameters
    ----------
    n_nodes : of the model before the first row
    detector : gets the errors
    """

    def __init__(self, n_nodes: int, detector: DriftDetector) -> None:
        self._n_before = n_nodes
        self._detector = detector
        self._n_rows = 0
        self._drifts: list[int] = []
        self._windows: list[tuple[int, float, float, int, int]] = []
        self._open()

    def _open(self) -> None:
        self._n, self._norm, self._loss = 0, 0.0, 0.0

    def add(self, outcome: Outcome) -> None:
        """Add rows of the window."""
        assert outcome.probabilities is not None
        rows = np.arange(len(outcome))
        given = outcome.probabilities[rows, outcome.y]
        gradient = outcome.probabilities.copy()
        gradient[rows, outcome.y] -= 1.0
        errors = outcome.probabilities.argmax(axis=1) != outcome.y
        self._drifts += (self._n_rows + 1 + np.flatnonzero(self._detector.update_many(errors))).tolist()
        self._n_rows += len(outcome)
        self._n += len(outcome)
        self._norm += float(np.linalg.norm(gradient, axis=1).sum())
        self._loss -= float(np.log(np.clip(given, _SMALLEST_PROBABILITY, 1.0)).sum())

    def close(self, n_samples: int, n_nodes: int) -> None:
        """End the window."""
        added = n_nodes - self._n_before
        self._windows.append((n_samples, self._norm / self._n, self._loss / self._n, n_nodes, added))
        self._n_before = n_nodes
        self._open()

    def finish(self, snapshots: dict[int, SoftTree | SoftForest]) -> Adaptation:
        """All windows together."""
        n_samples, norm, loss, n_nodes, added = zip(*self._windows, strict=True)
        return Adaptation(
            n_samples=np.array(n_samples, dtype=np.int64),
            gradient_norm=np.array(norm),
            loss=np.array(loss),
            n_nodes=np.array(n_nodes, dtype=np.int64),
            n_added=np.array(added, dtype=np.int64),
            drifts=np.array(self._drifts, dtype=np.int64),
            snapshots=snapshots,
        )


def _cut(blocks: Iterator[Block], window: int, wanted: set[int]) -> Iterator[Block]:
    """The blocks, cut where a window ends or the tree is to be kept."""
    n = 0
    for block in blocks:
        stops = [stop for stop in wanted if n < stop < n + len(block)]
        stops += range(n + window - n % window, n + len(block), window)
        edges = [0, *sorted({stop - n for stop in stops}), len(block)]
        for start, stop in pairwise(edges):
            rows = block.rows.iloc[start:stop] if hasattr(block.rows, "iloc") else block.rows[start:stop]
            yield Block(rows, block.y[start:stop])
        n += len(block)


def _n_nodes(model: StreamModel) -> int:
    """Nodes of a model; the first leaf of each tree is there before the first row."""
    return model.growth_.n_nodes if hasattr(model, "growth_") else getattr(model, "n_estimators", 1)


def _read_snapshots(snapshots: Any) -> set[int]:
    expected = "an iterable of ints in the range [0, inf)"
    if not isinstance(snapshots, Iterable):
        raise parameter_error(_OWNER, "snapshots", expected, snapshots)
    found = list(snapshots)
    for number in found:
        if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < 0:
            raise parameter_error(_OWNER, "snapshots", expected, number)
    return {int(number) for number in found}
