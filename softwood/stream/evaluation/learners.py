"""Models of three kinds, each tested on a block and trained on it: softwood's, scikit-learn's and river's."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError

from softwood.core.parameters import parameter_error
from softwood.stream.evaluation.sources import Block, RowReader

_OWNER = "prequential"


@dataclass(frozen=True)
class Outcome:
    """Predictions of a model for the rows of a block before it learned them.

    Attributes
    ----------
    y : (n,) codes of the classes, or targets
    is_scored : (n,) bool, where there was a prediction
    labels : (n,) codes of the predicted classes; None of a regressor
    probabilities : (n, n_classes), columns by code; None of a regressor, and if the model gives none
    numbers : (n,) predictions of a regressor; None of a classifier
    seconds : time that testing and training took
    row_seconds : (n,) that of each row; None if it was not asked for
    """

    y: np.ndarray
    is_scored: np.ndarray
    labels: np.ndarray | None
    probabilities: np.ndarray | None
    numbers: np.ndarray | None
    seconds: float
    row_seconds: np.ndarray | None

    def __len__(self) -> int:
        return len(self.y)


class ClassCodes:
    """Numbers of classes in the order in which they became known.

    Parameters
    ----------
    labels : classes that are known from the start
    """

    def __init__(self, labels: Iterable[Hashable] = ()) -> None:
        self._codes: dict[Hashable, int] = {}
        self._sorted = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        for label in labels:
            self.of(label)

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def labels(self) -> list[Hashable]:
        """The classes by code."""
        return list(self._codes)

    def to_array(self) -> np.ndarray:
        """The classes by code, (n_classes,); labels of several types as they are."""
        labels = self.labels
        kinds = {type(label) for label in labels}
        array = np.empty(len(labels), dtype=object)
        array[:] = labels
        return np.array(labels) if len(kinds) == 1 else array

    def of(self, label: Hashable) -> int:
        """The code of a class, which is the next one if it is new."""
        return self._codes.setdefault(label, len(self._codes))

    def _known_codes(self, labels: np.ndarray) -> np.ndarray | None:
        """Codes of labels that are whole numbers; None if there is a class that is new, or anything else than such."""
        if len(self._sorted[0]) != len(self._codes):
            if not all(type(label) is int for label in self._codes):
                return None
            known = np.array(list(self._codes), dtype=np.int64)
            order = np.argsort(known)
            self._sorted = known[order], order
        known, codes = self._sorted
        places = np.minimum(np.searchsorted(known, labels), len(known) - 1)
        return codes[places] if np.array_equal(known[places], labels) else None

    def encode(self, labels: np.ndarray) -> np.ndarray:
        """Codes of labels, (n,) int64."""
        if labels.dtype.kind == "i" and len(self._codes):
            found = self._known_codes(labels)
            if found is not None:
                return found
        try:
            different, places = np.unique(labels, return_inverse=True)
        except TypeError:  # labels of several types have no order
            return np.array([self.of(label) for label in labels.tolist()], dtype=np.int64)
        codes = np.array([self.of(label) for label in different.tolist()], dtype=np.int64)
        return codes[places]


class Learner(ABC):
    """A model that is tested and trained block by block.

    Parameters
    ----------
    model : trained in place
    classes : (n_classes,) labels that may occur, as far as they are known; None if the model is a regressor
    reader : how rows become what the model takes
    latency : whether to take the time of each row
    """

    def __init__(self, model: Any, classes: np.ndarray | None, reader: RowReader, latency: bool) -> None:
        self.model = model
        self.codes = None if classes is None else ClassCodes(classes.tolist())
        self._classes = classes
        self._reader = reader
        self._latency = latency

    @abstractmethod
    def run(self, block: Block) -> Outcome:
        """Test the model on a block, and train it on the same rows."""

    def test(self, block: Block) -> Outcome:
        """Test the model on a block, without training it."""
        raise NotImplementedError

    def train(self, block: Block) -> float:
        """Train the model on a block; returns the seconds that it took."""
        raise NotImplementedError

    def _class_option(self) -> dict[str, Any]:
        """The classes for a model that does not know them yet."""
        return {} if self._classes is None or hasattr(self.model, "classes_") else {"classes": self._classes}

    def _outcome(
        self, y: np.ndarray, prediction: np.ndarray | None, seconds: float, row_seconds: np.ndarray | None
    ) -> Outcome:
        """The outcome of all rows: probabilities by the model's classes, labels, numbers, or None: not scored."""
        labels = probabilities = numbers = None
        if self.codes is None:
            y = np.asarray(y, dtype=np.float64)
            numbers = None if prediction is None else np.asarray(prediction, dtype=np.float64).reshape(len(y))
        else:
            y = self.codes.encode(y)
            if prediction is not None and prediction.ndim == 2:
                probabilities = self._by_code(prediction)
                labels = probabilities.argmax(axis=1)
            elif prediction is not None:
                labels = self.codes.encode(prediction)
        is_scored = np.full(len(y), prediction is not None)
        return Outcome(y, is_scored, labels, probabilities, numbers, seconds, row_seconds)

    def _by_code(self, probabilities: np.ndarray) -> np.ndarray:
        """Columns in the order of the codes rather than of the model's ``classes_``."""
        assert self.codes is not None
        places = np.array([self.codes.of(label) for label in np.asarray(self.model.classes_).tolist()])
        if len(places) != probabilities.shape[1]:
            raise ValueError(
                f"{type(self.model).__name__} has {len(places)} classes_ but predicts "
                f"{probabilities.shape[1]} probabilities."
            )
        if len(places) == len(self.codes) and (places == np.arange(len(places))).all():
            return probabilities
        sorted_ones = np.zeros((len(probabilities), len(self.codes)))
        sorted_ones[:, places] = probabilities
        return sorted_ones


class RowByRow(Learner):
    """Softwood's own: ``test_then_train`` predicts and learns one row after the other in compiled code."""

    def run(self, block: Block) -> Outcome:
        """Test the model on a block, and train it on the same rows."""
        X, y = self._reader.table(block), block.y
        if not self._latency:
            start = perf_counter()
            prediction = self.model.test_then_train(X, y, **self._class_option())
            return self._outcome(y, prediction, perf_counter() - start, None)
        row_seconds = np.empty(len(y))
        rows = []
        for i in range(len(y)):
            row, target = X.iloc[i : i + 1] if hasattr(X, "iloc") else X[i : i + 1], y[i : i + 1]
            start = perf_counter()
            rows.append(self.model.test_then_train(row, target, **self._class_option()))
            row_seconds[i] = perf_counter() - start
        return self._outcome(y, np.concatenate(rows), float(row_seconds.sum()), row_seconds)


class BlockByBlock(Learner):
    """scikit-learn's way: predict a block, then ``partial_fit`` on it."""

    def __init__(self, model: Any, classes: np.ndarray | None, reader: RowReader, latency: bool) -> None:
        super().__init__(model, classes, reader, latency)
        self._predict = model.predict if classes is None else getattr(model, "predict_proba", model.predict)

    def run(self, block: Block) -> Outcome:
        """Test the model on a block, and train it on the same rows."""
        outcome = self.test(block)
        seconds = outcome.seconds + self.train(block)
        row_seconds = np.full(len(block), seconds / len(block)) if self._latency else None
        return replace(outcome, seconds=seconds, row_seconds=row_seconds)

    def test(self, block: Block) -> Outcome:
        """Test the model on a block, without training it."""
        X = self._reader.table(block)
        start = perf_counter()
        try:
            prediction = np.asarray(self._predict(X))
        except NotFittedError:
            prediction = None
        return self._outcome(block.y, prediction, perf_counter() - start, None)

    def train(self, block: Block) -> float:
        """Train the model on a block; returns the seconds that it took."""
        X = self._reader.table(block)
        start = perf_counter()
        self.model.partial_fit(X, block.y, **self._class_option())
        return perf_counter() - start


class DictByDict(Learner):
    """river's way: ``predict_proba_one`` or ``predict_one``, then ``learn_one``, with a dict for each row."""

    def __init__(self, model: Any, classes: np.ndarray | None, reader: RowReader, latency: bool) -> None:
        super().__init__(model, classes, reader, latency)
        self._has_probabilities = classes is not None and hasattr(model, "predict_proba_one")

    def run(self, block: Block) -> Outcome:
        """Test the model on a block, and train it on the same rows."""
        learn = self.model.learn_one
        answers = []
        row_seconds = np.empty(len(block))
        for i, (x, y) in enumerate(zip(self._reader.dicts(block), block.y.tolist(), strict=True)):
            start = perf_counter()
            answers.append(self._answer(x))
            learn(x, y)
            row_seconds[i] = perf_counter() - start
        seconds = float(row_seconds.sum())
        return self._gathered(block.y, answers, seconds, row_seconds if self._latency else None)

    def test(self, block: Block) -> Outcome:
        """Test the model on a block, without training it."""
        rows = self._reader.dicts(block)
        start = perf_counter()
        answers = [self._answer(x) for x in rows]
        return self._gathered(block.y, answers, perf_counter() - start, None)

    def train(self, block: Block) -> float:
        """Train the model on a block; returns the seconds that it took."""
        rows = self._reader.dicts(block)
        start = perf_counter()
        for x, y in zip(rows, block.y.tolist(), strict=True):
            self.model.learn_one(x, y)
        return perf_counter() - start

    def _answer(self, x: dict) -> Any:
        """Probabilities by label, a label or a number; None or an empty dict if the model makes no prediction."""
        if self._has_probabilities:
            try:
                return self.model.predict_proba_one(x)
            except NotImplementedError:  # river: the classifier predicts labels only
                self._has_probabilities = False
        return self.model.predict_one(x)

    def _gathered(self, y: np.ndarray, answers: list[Any], seconds: float, row_seconds: np.ndarray | None) -> Outcome:
        n = len(y)
        is_scored = np.array([answer is not None and answer != {} for answer in answers])
        if self.codes is None:
            numbers = np.array([np.nan if answer is None else answer for answer in answers], dtype=np.float64)
            return Outcome(np.asarray(y, dtype=np.float64), is_scored, None, None, numbers, seconds, row_seconds)
        labels = np.zeros(n, dtype=np.int64)
        given: list[tuple[int, int, float]] = []  # row, column, probability
        for i in np.flatnonzero(is_scored).tolist():
            answer = answers[i]
            if self._has_probabilities:
                given += [(i, self.codes.of(label), p) for label, p in answer.items()]
                # the first of equal ones, as in river
                answer = max(answer, key=answer.get)
            labels[i] = self.codes.of(answer)
        codes = self.codes.encode(y)
        probabilities = None
        if self._has_probabilities:
            probabilities = np.zeros((n, len(self.codes)))
            for i, k, p in given:
                probabilities[i, k] = p
        return Outcome(codes, is_scored, labels, probabilities, None, seconds, row_seconds)


class Delayed(Learner):
    """Delayed labels: a model is trained on a row when `delay` more rows have been tested.

    Parameters
    ----------
    learner : trains and tests
    delay : rows
    is_row_by_row : whether blocks are cut into rows; otherwise a block is trained on when the label of its last row has
        come
    """

    def __init__(self, learner: Learner, delay: int, is_row_by_row: bool) -> None:
        self._learner = learner
        self.model, self.codes, self._latency = learner.model, learner.codes, learner._latency
        self._delay = delay
        self._is_row_by_row = is_row_by_row
        self._waiting: deque[Block] = deque()
        self._n_waiting = 0

    def run(self, block: Block) -> Outcome:
        """Test the model on a block, and train it on the rows whose labels come meanwhile."""
        pieces = [block.part(i, i + 1) for i in range(len(block))] if self._is_row_by_row else [block]
        return _joined([self._step(piece) for piece in pieces], self._latency)

    def _step(self, piece: Block) -> Outcome:
        outcome = self._learner.test(piece)
        seconds = outcome.seconds
        self._waiting.append(piece)
        self._n_waiting += len(piece)
        while self._waiting and self._n_waiting - len(self._waiting[0]) >= self._delay:
            due = self._waiting.popleft()
            self._n_waiting -= len(due)
            seconds += self._learner.train(due)
        return replace(outcome, seconds=seconds)


def _joined(parts: list[Outcome], latency: bool) -> Outcome:
    """Outcomes one after the other; classes that only some know have the probability 0 in the others."""
    n_classes = max((p.probabilities.shape[1] for p in parts if p.probabilities is not None), default=None)
    labels = probabilities = numbers = None
    lengths = [len(part) for part in parts]
    if any(part.labels is not None for part in parts):
        labels = np.concatenate([np.zeros(len(p), np.int64) if p.labels is None else p.labels for p in parts])
    if any(part.numbers is not None for part in parts):
        numbers = np.concatenate([np.full(len(p), np.nan) if p.numbers is None else p.numbers for p in parts])
    if n_classes is not None:
        probabilities = np.zeros((sum(lengths), n_classes))
        for end, part in zip(np.cumsum(lengths), parts, strict=True):
            if part.probabilities is not None:
                probabilities[end - len(part) : end, : part.probabilities.shape[1]] = part.probabilities
    return Outcome(
        y=np.concatenate([part.y for part in parts]),
        is_scored=np.concatenate([part.is_scored for part in parts]),
        labels=labels,
        probabilities=probabilities,
        numbers=numbers,
        seconds=sum(part.seconds for part in parts),
        row_seconds=np.repeat([p.seconds / len(p) for p in parts], lengths) if latency else None,
    )


def make_learner(
    model: Any,
    *,
    classes: Any = None,
    find_classes: Callable[[], np.ndarray | None] = lambda: None,
    feature_names: Sequence[Hashable] | None = None,
    latency: bool = False,
    delay: int = 0,
) -> Learner:
    """Find the kind of a model.

    Parameters
    ----------
    model : object with ``test_then_train``, with ``partial_fit`` and ``predict``, or with ``learn_one`` and
        ``predict_one``, looked for in this order
    classes : (n_classes,) labels that the user gave
    find_classes : gives the labels that the stream is known to have, or None, if the user gave none
    feature_names : names of the columns of arrays
    latency : whether to take the time of each row
    delay : rows after which the label of a row comes
    """
    kind: type[Learner]
    is_row_by_row = hasattr(model, "test_then_train") or not hasattr(model, "partial_fit")
    if hasattr(model, "test_then_train") and not (delay and hasattr(model, "partial_fit")):
        kind, is_class = RowByRow, _classifies(model)
    elif hasattr(model, "partial_fit") and hasattr(model, "predict"):
        kind, is_class = BlockByBlock, _classifies(model)
    elif hasattr(model, "learn_one") and hasattr(model, "predict_one"):
        kind, is_class = DictByDict, _classifies_one(model)
    else:
        raise parameter_error(
            _OWNER, "model", "a model with test_then_train, with partial_fit and predict, or with learn_one", model
        )
    labels = None
    if is_class:
        labels = _read_classes(classes) if classes is not None else find_classes()
        if labels is None:
            labels = np.array([]) if kind is DictByDict else getattr(model, "classes_", None)
        if labels is None:
            expected = f"the labels that may occur, for {type(model).__name__} and a stream without a list of them"
            raise parameter_error(_OWNER, "classes", expected, classes)
    elif classes is not None:
        raise parameter_error(_OWNER, "classes", "None for a regressor", classes)
    learner = kind(model, labels, RowReader(feature_names), latency)
    if not delay:
        return learner
    if kind is RowByRow:
        raise parameter_error(_OWNER, "delay", "0 for a model without partial_fit", delay)
    return Delayed(learner, delay, is_row_by_row)


def _read_classes(classes: Any) -> np.ndarray:
    labels = np.asarray(classes)
    if labels.ndim != 1 or len(labels) == 0 or len(set(labels.tolist())) < len(labels):
        raise parameter_error(_OWNER, "classes", "a list of different labels, or None", classes)
    return labels


def _classifies(model: Any) -> bool:
    """Whether a model of scikit-learn's kind is a classifier; one that only looks like it by its methods."""
    if hasattr(model, "__sklearn_tags__"):
        return bool(is_classifier(model))
    return bool(getattr(model, "_estimator_type", None) == "classifier") or hasattr(model, "predict_proba")


def _classifies_one(model: Any) -> bool:
    """Whether a model of river's kind is a classifier; river decides for its own models."""
    base = getattr(sys.modules.get("river"), "base", None)
    if base is not None and isinstance(model, base.Classifier | base.Regressor):
        return isinstance(model, base.Classifier)
    return hasattr(model, "predict_proba_one")
