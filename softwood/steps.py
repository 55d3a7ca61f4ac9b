"""The steps of a fit, in one place: told to scikit-learn's callbacks, printed, noted in ``history_``, the best kept.

A step is a round of boosting, a tree of a forest, a pass over the rows: whatever a user can wait for.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

__all__ = ["Best", "Step", "Steps"]

# Seconds between two lines of verbose=1.
_PAUSE = 1.0

State = TypeVar("State")


class Steps:
    """Steps of one kind. Each begins with `begin` and ends with `Step.end`, in any thread.

    Without an estimator nobody is told, and only the history is kept.

    Parameters
    ----------
    unit : what a step is, in the singular
    n_steps : how many there are at most; None: not known
    name : of the part of the fit that they belong to
    estimator, context : who is told: the estimator that is fitted, and the context of scikit-learn's callbacks
    data : ``X``, ``y`` and ``metadata`` of the fit, for callbacks
    results : gives the attributes that the fit has set so far
    history : lines of earlier steps, of a fit that is gone on with

    Attributes
    ----------
    history : list of dicts, a line for each finished step: ``stage``, the part of the fit, ``iteration``, its number
        there from 1 on (0 is the state before the first), and what `Step.end` was given, under these names wherever
        it applies: ``train_loss``, ``validation_loss``, ``n_leaves``
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
        self._n_ended = max((line["iteration"] for line in self.history if line["stage"] == name), default=0)
        self._last = None if n_steps is None else self._n_ended + n_steps

    def begin(self) -> Step:
        """Begin a step."""
        return Step(self, self._new_context(self.unit, 0))

    @contextmanager
    def stage(self, name: str, unit: str, n_steps: int | None = None) -> Iterator[Steps]:
        """A step that has steps of its own; they go on with the history, and a stop in them stops this level too."""
        context = self._new_context(name, n_steps)
        steps = Steps(
            unit, n_steps, name=name, estimator=self._estimator, context=context, data=self._data,
            results=self._results, history=self.history,
        )  # fmt: skip
        yield steps
        self.is_stopped = self.is_stopped or steps.is_stopped
        self._end(context, None)

    def note(self, **line: Any) -> None:
        """Add a line to the history that is no step: the state before the first, with ``iteration`` 0."""
        self.history.append({"stage": self.name, "iteration": 0, **line})

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

    def _end_step(self, context: Any, snapshot: Callable[[], dict[str, Any]] | None, line: dict[str, Any]) -> bool:
        with self._lock:
            self._n_ended += 1
            self.history.append({"stage": self.name, "iteration": self._n_ended, **line})
            self._print(line)
            self._end(context, snapshot)
            return self.is_stopped

    def _print(self, line: dict[str, Any]) -> None:
        verbose = 0 if self._estimator is None else self._estimator.verbose
        now = time.monotonic()
        is_last = self._n_ended == self._last
        if verbose > 1 or (verbose == 1 and (is_last or now - self._printed >= _PAUSE)):
            of = "" if self._last is None else f" of {self._last}"
            parts = [f"{self.unit} {self._n_ended}{of}", *(_in_words(*item) for item in line.items())]
            print(f"[{type(self._estimator).__name__}] {', '.join(parts)}, {now - self._start:.1f} s", flush=True)
            self._printed = now


class Step:
    """A step that has begun."""

    def __init__(self, steps: Steps, context: Any) -> None:
        self._steps, self._context = steps, context

    def end(self, snapshot: Callable[[], dict[str, Any]] | None = None, **line: Any) -> bool:
        """Note that the step is done; returns whether a callback wants no further one.

        Parameters
        ----------
        snapshot : gives the attributes that the fit would add to those it has set if it ended here
        line : what is to be known of the step
        """
        return self._steps._end_step(self._context, snapshot, line)


class Best(Generic[State]):
    """The state with the smallest loss so far; and whether no better one has come for long.

    Parameters
    ----------
    n_iter_no_change : so many offers in a row without a fall of the loss by more than `tol` are too long; None: never

    Attributes
    ----------
    loss, state : the smallest loss, and what it belongs to
    """

    state: State

    def __init__(self, n_iter_no_change: int | None, tol: float = 0.0) -> None:
        self.loss = float("inf")
        self._n_iter_no_change, self._tol = n_iter_no_change, tol
        self._reference, self._since = float("inf"), 0

    def offer(self, loss: float, state: Callable[[], State]) -> bool:
        """Keep the state if its loss is the smallest, or if there is none yet; returns whether it was kept.

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
        """Whether to stop."""
        return self._n_iter_no_change is not None and self._since >= self._n_iter_no_change

    def wait_anew(self) -> None:
        """Begin to count from here."""
        self._since = 0


def _in_words(name: str, value: Any) -> str:
    shown = f"{value:.5g}" if isinstance(value, float) else str(value)
    words = name.replace("_", " ")
    return f"{shown} {words.removeprefix('n ')}" if words.startswith("n ") else f"{words} {shown}"
