"""The steps of a fit: reported to scikit-learn's callbacks, printed, recorded in ``history_``; and the best step.

A step is a unit of progress, such as a round of boosting, a tree of a forest, or a pass over the rows.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Generic, TypeVar

# Seconds between two messages of verbose=1.
_PAUSE = 1.0

State = TypeVar("State")


class Steps:
    """Steps of one kind. Each begins with `begin` and ends with `Step.end`, in any thread.

    A loop over the steps begins `n_steps` of them one after the other, until a callback asks to stop.

    Without an estimator, only the history is kept.

    Parameters
    ----------
    unit : name of a step, in the singular
    n_steps : largest number of steps; None: not known
    name : name of the stage of the fit that the steps belong to
    estimator, context : the estimator that is fitted, and the context of scikit-learn's callbacks
    data : ``X``, ``y`` and ``metadata`` of the fit, for callbacks
    results : returns the attributes that the fit has set so far
    history : records of the earlier steps of a fit that is continued

    Attributes
    ----------
    history : list of dicts, one for each finished step, with ``stage``, ``iteration`` (the number of the step in its
        stage, from 1; 0 is the state before the first step), and the values given to `Step.end`, such as
        ``train_loss``, ``validation_loss`` and ``n_leaves``
    is_stopped : whether a callback has asked to stop
    """

    def __init__(
        self,
        unit: str = "step",
        n_steps: int | None = None,
        *,
        name: str = "fit",
        estimator: Any = None,
        context: Any = None,
        data: dict[str, Any] | None = None,
        results: Callable[[], dict[str, Any]] = dict,
        history: list[dict[str, Any]] | None = None,
    ) -> None:
        self.unit, self.n_steps, self.name = unit, n_steps, name
        self.history = [] if history is None else history
        self.is_stopped = False
        self._estimator, self._context, self._data, self._results = estimator, context, data or {}, results
        self._lock = threading.RLock()
        self._start = self._printed = time.monotonic()
        self._n_ended = max((record["iteration"] for record in self.history if record["stage"] == name), default=0)
        self._last = None if n_steps is None else self._n_ended + n_steps

    def begin(self) -> Step:
        """Begin a step."""
        return Step(self, self._new_context(self.unit, 0))

    def __iter__(self) -> Iterator[Step]:
        for _ in count() if self.n_steps is None else range(self.n_steps):
            yield self.begin()
            if self.is_stopped:
                break

    @contextmanager
    def stage(self, name: str, unit: str, n_steps: int | None = None) -> Iterator[Steps]:
        """A step with steps of its own. They share the history, and a stop in them also stops this level."""
        context = self._new_context(name, n_steps)
        steps = Steps(
            unit, n_steps, name=name, estimator=self._estimator, context=context, data=self._data,
            results=self._results, history=self.history,
        )  # fmt: skip
        yield steps
        self.is_stopped = self.is_stopped or steps.is_stopped
        self._end(context, None)

    def note(self, **record: Any) -> None:
        """Add a record to the history for the state before the first step, with ``iteration`` 0."""
        self.history.append({"stage": self.name, "iteration": 0, **record})

    def _new_context(self, name: str, n_steps: int | None) -> Any:
        if self._context is None:
            return None
        with self._lock:
            context = self._context.subcontext(task_name=name, max_subtasks=n_steps)
            return context.call_on_fit_task_begin(estimator=self._estimator, **self._data)

    def _end(self, context: Any, snapshot: Callable[[], dict[str, Any]] | None) -> None:
        if context is not None:
            attributes = None if snapshot is None else lambda: {**self._results(), **snapshot()}
            wants_stop = context.call_on_fit_task_end(
                estimator=self._estimator, reconstruction_attributes=attributes, **self._data
            )
            self.is_stopped = self.is_stopped or wants_stop

    def _end_step(self, context: Any, snapshot: Callable[[], dict[str, Any]] | None, record: dict[str, Any]) -> bool:
        with self._lock:
            self._n_ended += 1
            self.history.append({"stage": self.name, "iteration": self._n_ended, **record})
            self._print(record)
            self._end(context, snapshot)
            return self.is_stopped

    def _print(self, record: dict[str, Any]) -> None:
        verbose = 0 if self._estimator is None else self._estimator.verbose
        now = time.monotonic()
        is_last = self._n_ended == self._last
        if verbose > 1 or (verbose == 1 and (is_last or now - self._printed >= _PAUSE)):
            of = "" if self._last is None else f" of {self._last}"
            parts = [f"{self.unit} {self._n_ended}{of}", *(_in_words(*item) for item in record.items())]
            print(f"[{type(self._estimator).__name__}] {', '.join(parts)}, {now - self._start:.1f} s", flush=True)
            self._printed = now


class Step:
    """A step that has begun."""

    def __init__(self, steps: Steps, context: Any) -> None:
        self._steps, self._context = steps, context

    def end(self, snapshot: Callable[[], dict[str, Any]] | None = None, **record: Any) -> bool:
        """Record that the step is done; returns whether a callback has asked to stop.

        Parameters
        ----------
        snapshot : returns the attributes that the fit would set, in addition to those it has set, if it ended here
        record : values for the history and for `verbose`
        """
        return self._steps._end_step(self._context, snapshot, record)


class Best(Generic[State]):
    """The state with the smallest loss so far, and whether the loss has stopped improving.

    Parameters
    ----------
    n_iter_no_change : number of offers in a row without a decrease of the loss by more than `tol` after which the loss
        has stopped improving; None: never

    Attributes
    ----------
    loss, state : the smallest loss, and the state with that loss
    """

    state: State

    def __init__(self, n_iter_no_change: int | None, tol: float = 0.0) -> None:
        self.loss = float("inf")
        self._n_iter_no_change, self._tol = n_iter_no_change, tol
        self._reference, self._since = float("inf"), 0

    def offer(self, loss: float, state: Callable[[], State]) -> bool:
        """Keep the state if it is the first, or if its loss is the smallest so far; returns whether it was kept.

        A loss of nan counts as infinite.
        """
        loss = float("inf") if math.isnan(loss) else loss
        is_first = not hasattr(self, "state")
        is_better = loss < self.loss or is_first
        if is_better:
            self.loss, self.state = loss, state()
        if loss < self._reference - self._tol or is_first:
            self._reference, self._since = loss, 0
        else:
            self._since += 1
        return is_better

    @property
    def is_stalled(self) -> bool:
        """Whether the loss has stopped improving."""
        return self._n_iter_no_change is not None and self._since >= self._n_iter_no_change

    def reset_count(self) -> None:
        """Restart the count of offers without an improvement."""
        self._since = 0


def _in_words(name: str, value: Any) -> str:
    shown = f"{value:.5g}" if isinstance(value, float) else str(value)
    words = name.replace("_", " ")
    return f"{shown} {words.removeprefix('n ')}" if words.startswith("n ") else f"{words} {shown}"
