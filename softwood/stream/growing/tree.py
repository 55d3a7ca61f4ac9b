"""A growing tree: learning, alarms, the audit log, and its state."""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from softwood.stream.growing.arrays import FIRST_EVENTS, Limits, TreeArrays, writeable
from softwood.stream.growing.checks import check_state
from softwood.stream.growing.events import DRIFT_KINDS, SPLIT_KINDS, DriftEvent, SplitEvent, keep_last
from softwood.stream.growing.rows import NO_PREDICTIONS, OneRow, as_rows
from softwood.stream.growing.threads import ThreadLock
from softwood.stream.loops.alarms import ALARM, BEFORE, N_DETECTOR, RECENT
from softwood.stream.loops.layout import EVENT, N_EVENTS, N_IN_BATCH, N_INNER, OWNER, SLOTS_ARE_ALL, Settings
from softwood.trees.tree import SoftTree

# Rows that a compiled loop learns before Python looks for an interrupt.
ROWS_PER_CALL = 8192
# Replaced tests that the log keeps; up to twice as many until it is cleaned up.
MOST_REPLACED = 5000
# A tree whose mean error is larger than this restarts on every alarm.
LITTLE_TO_LOSE = 0.3


@dataclass
class GrowingTree(TreeArrays):
    """What growing trees share.

    Attributes
    ----------
    log : the audit log of the tree, oldest first; a restart empties it
    drifts : alarms, oldest first
    lock : taken by models while they learn, and while they read what learning changes
    """

    log: list[SplitEvent] = field(default_factory=list)
    drifts: list[DriftEvent] = field(default_factory=list)
    lock: ThreadLock = field(default_factory=ThreadLock, init=False, repr=False, compare=False)

    # whether targets are classes
    classifies: ClassVar[bool]

    # Learning

    def learn(self, points: np.ndarray, targets: np.ndarray, weights: np.ndarray, out: np.ndarray | None) -> None:
        """Learn rows one after the other; `out` gets the prediction for each before it was learned.

        Parameters
        ----------
        points : (n, n_features) float64 in C order, nan where missing
        targets : (n,) int64 numbers of the classes, or float64 targets
        weights : (n,) float64; rows of weight 0 are predicted but not learned
        out : (n, n_outputs) float64 or None
        """
        for begin in range(0, len(points), ROWS_PER_CALL):
            part = slice(begin, begin + ROWS_PER_CALL)
            # a copy: a loop that stops within a row notes there what is left of its weight
            left_over = weights[part].copy()
            found = NO_PREDICTIONS if out is None else out[part]
            rows = as_rows(points[part], found, targets[part], left_over, is_class=self.classifies)
            done = 0
            while True:
                done, is_alarm, _ = self._learn(rows, done)
                if is_alarm:
                    self._handle_alarm()
                if done == len(left_over):
                    break
                if not is_alarm:
                    self._make_room()
        if self.arrays["counters"][N_EVENTS]:
            self._read_events()

    def learn_row(self, row: OneRow) -> None:
        """`learn` for a single row, with less around it."""
        done, is_alarm, n_events = self._learn(row.rows, 0)
        while done == 0:
            if is_alarm:
                self._handle_alarm()
            else:
                self._make_room()
            done, is_alarm, n_events = self._learn(row.rows, 0)
        if is_alarm:
            self._handle_alarm()
        if n_events:
            self._read_events()

    def _learn(self, rows: Any, start: int) -> tuple[int, bool, int]:
        """Call the compiled loop; returns what `softwood.stream.loops.layout.Learned` says."""
        raise NotImplementedError

    def _make_room(self) -> None:
        """Take the events out, and enlarge what is full."""
        self._read_events()
        self._enlarge()

    def mark_category(self, column: int, sibling: int | None) -> None:
        """Say that a column stands for a category.

        Parameters
        ----------
        sibling : another category of the same source, or None: rows that had that one were 0 in the new column
        """
        is_category = self.arrays["is_category"]
        is_category[column] = is_category.max() + 1 if sibling is None else is_category[sibling]
        if sibling is not None:
            self._copy_as_zeros(column, sibling)
        self._forget_arguments()  # they count the categories of each source

    def _copy_as_zeros(self, column: int, sibling: int) -> None:
        raise NotImplementedError

    # Events and alarms

    def _read_events(self) -> None:
        n = int(self.arrays["counters"][N_EVENTS])
        for event in self.arrays["events"][:n].tolist():
            self.log.append(SplitEvent(SPLIT_KINDS[event[0]], *event[1:]))
        self.arrays["counters"][N_EVENTS] = 0
        if len(self.log) > 2 * MOST_REPLACED + self.n_nodes:
            # There are as many splits as inner nodes. Replacements of tests have no limit.
            replaced = [event for event in self.log if event.kind == "replace"]
            forgotten = set(map(id, replaced[:-MOST_REPLACED]))
            self.log = [event for event in self.log if id(event) not in forgotten]

    def _handle_alarm(self) -> bool:
        """Log an alarm, and restart the tree if its errors have risen too far; whether there was an alarm."""
        detector = self.arrays["detector"]
        if not len(detector) or not detector[ALARM]:
            return False
        detector[ALARM] = 0.0
        rise = self.settings.restart_rise
        is_lost = detector[RECENT] - detector[BEFORE] > rise or (rise < np.inf and detector[RECENT] > LITTLE_TO_LOSE)
        if is_lost:
            self._restart()
        self.drifts.append(DriftEvent("restart" if is_lost else "drift", self.n_rows))
        keep_last(self.drifts)
        return True

    def _restart(self) -> None:
        """Restart with one leaf, in arrays of the present size; what is known of the columns is kept."""
        for name, axes in self.axes.items():
            if {"nodes", "slots"} & set(axes):
                self.arrays[name][...] = 0
        self.arrays["slots"][:, OWNER] = -1
        self.arrays["counters"][[N_INNER, N_EVENTS, N_IN_BATCH]] = 0
        self._plant()
        self.log = []

    # Answers

    def predict(self, points: np.ndarray) -> np.ndarray:
        """Class probabilities, or predicted targets in the one column, (n, n_outputs)."""
        out = np.empty((len(points), self.n_outputs))
        self._predict(as_rows(np.ascontiguousarray(points), out))
        return out

    def predict_row(self, row: OneRow) -> None:
        """`predict` for a single row, with less around it."""
        self._predict(row.rows)

    def _predict(self, rows: Any) -> None:
        """Call the compiled loop."""
        raise NotImplementedError

    def input_gradient(self, points: np.ndarray) -> np.ndarray:
        """Derivative of `predict` with respect to the points, (n, n_outputs, n_features)."""
        raise NotImplementedError

    def snapshot(self) -> SoftTree:
        """The tree as it is now."""
        raise NotImplementedError

    def importances(self) -> np.ndarray:
        """Part of each feature in the decisions, (n_features,), adding up to 1; zeros in a tree without any."""
        raise NotImplementedError

    # State

    def state(self) -> dict[str, np.ndarray]:
        """All that a copy needs to continue from here, as arrays."""
        alarms = [
            (len(SPLIT_KINDS) + DRIFT_KINDS.index(event.kind), event.n_samples, *[0] * 7) for event in self.drifts
        ]
        splits = [(SPLIT_KINDS.index(kind), *rest) for kind, *rest in map(astuple, self.log)]
        log = np.array(splits + alarms, dtype=EVENT)
        kept = {name: array for name, array in self.arrays.items() if name not in self.scratch}
        return {**kept, "settings": np.array(self.settings, dtype=np.float64), "log": log}

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray], limits: Limits, n_features: int, n_outputs: int) -> Self:
        """The tree with the arrays that `state` gave, which are taken over; an error if they do not fit together."""
        tree = object.__new__(cls)
        tree.settings, tree.limits, tree.n_features, tree.n_outputs = Settings(), limits, n_features, n_outputs
        tree.arrays, tree.log, tree.drifts, tree.lock = {}, [], [], ThreadLock()
        tree._sizes = {"nodes": 0, "slots": 0, "events": FIRST_EVENTS, "features": n_features, "outputs": n_outputs}
        tree._take_over(state)
        if limits.max_inner > 0 and not tree._keeps_limits():
            raise ValueError("the arrays do not fit the limits of nodes and memory")
        return tree

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take over copies of what `state` gave; an error, and no change, if the arrays do not fit together."""
        self._take_over({name: np.array(array, order="C") for name, array in state.items()})

    def _take_over(self, state: dict[str, np.ndarray]) -> None:
        wanted = {name: axes for name, axes in self.axes.items() if name not in self.scratch}
        types = {name: self.types.get(name, np.float64) for name in wanted} | {"settings": np.float64, "log": EVENT}
        wanted |= {"settings": (len(Settings._fields),), "log": ("log",)}
        for name, axes in wanted.items():
            if name not in state or state[name].ndim != len(axes):
                raise ValueError(f"the array {name!r} is missing or damaged")
        sizes = self._sizes | {name: len(state[name]) for name in ("nodes", "slots", "log")}
        settings = dict(zip(Settings._fields, state["settings"].tolist(), strict=False))  # a damaged array may be short
        sizes["alarms"] = N_DETECTOR if settings.get("drift_delta", 0.0) > 0.0 else 0
        for name, axes in wanted.items():
            if state[name].shape != self._shape(axes, sizes):
                raise ValueError(
                    f"the array {name!r} has shape {state[name].shape}, expected {self._shape(axes, sizes)}"
                )
            if state[name].dtype != types[name]:
                raise ValueError(f"the array {name!r} has type {state[name].dtype}, expected {np.dtype(types[name])}")
        check_state(state, self.n_features, self.n_outputs)
        self._sizes = {name: size for name, size in sizes.items() if name != "log"}
        self.arrays = {name: self._empty(name) if name in self.scratch else state[name] for name in self.axes}
        self.settings = Settings(*state["settings"].tolist())
        self._forget_arguments()
        log, n_kinds = state["log"].tolist(), len(SPLIT_KINDS)
        self.log = [SplitEvent(SPLIT_KINDS[event[0]], *event[1:]) for event in log if event[0] < n_kinds]
        self.drifts = [DriftEvent(DRIFT_KINDS[event[0] - n_kinds], event[1]) for event in log if event[0] >= n_kinds]

    def _keeps_limits(self) -> bool:
        """Whether numbers of nodes and slots are those that `_apply_limits` allows: others would be cut off later."""
        most_slots = self._most("slots")
        is_all = self._sizes["slots"] >= most_slots
        return (
            self._sizes["slots"] <= most_slots
            and bool(self.arrays["counters"][SLOTS_ARE_ALL]) == is_all
            and self.settings.max_inner == self._most_inner()
        )

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name not in self.caches}
        state["arrays"] = {name: array for name, array in self.arrays.items() if name not in self.scratch}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Memory maps may be read-only, and loops change the arrays.
        self.arrays = {name: writeable(array) for name, array in self.arrays.items()}
        for name in self.scratch:
            self.arrays[name] = self._empty(name)
