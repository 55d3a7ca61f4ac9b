"""A tree that is still growing: arrays with room to spare, and the rules for giving it more.

The compiled loops learn rows until there is no room for what may come next; then the arrays are enlarged here, and the
loop goes on where it stopped. Features and classes that appear in mid-stream widen the arrays in the same way.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from softwood.compiled import stream as compiled
from softwood.stream.drift import ADWIN
from softwood.stream.growing.checks import check_state
from softwood.stream.growing.rows import NO_PREDICTIONS, OneRow, as_rows
from softwood.stream.growing.threads import ThreadLock
from softwood.stream.loops.alarms import ALARM, BEFORE, N_BUCKETS, N_DETECTOR, N_WINDOW, RECENT
from softwood.stream.loops.layout import (
    DEPTH,
    EVENT,
    LEFT,
    N_COUNTERS,
    N_EVENTS,
    N_IN_BATCH,
    N_INNER,
    N_KEYS,
    N_NODE_INTS,
    N_NODE_NUMBERS,
    N_NODES,
    N_ROWS,
    OWNER,
    SLOT,
    SLOTS_ARE_ALL,
    THRESHOLD,
    Settings,
    Statistics,
    TreeNodes,
)
from softwood.trees.tree import SoftTree

__all__ = ["DriftEvent", "GrowingTree", "Limits", "SplitEvent", "as_compiled", "keep_last", "new_detector", "writeable"]

# Rows that a compiled loop learns before Python looks for an interrupt.
ROWS_PER_CALL = 8192
# By the numbers that loops write.
KINDS = ("split", "replace")
# By the numbers in saved states.
DRIFT_KINDS = ("drift", "restart")
FIRST_ROOM = 8
# Replaced tests that the log keeps; up to twice as many until it is cleaned up.
MOST_REPLACED = 5000
# The same of alarms.
MOST_DRIFTS = 5000
# A tree whose mean error is larger than this restarts on every alarm.
LITTLE_TO_LOSE = 0.3


@dataclass(frozen=True)
class Limits:
    """How large a growing tree may become.

    Attributes
    ----------
    max_inner : inner nodes
    max_bytes : bytes of all arrays of the tree; half of them for nodes, half for the statistics of leaves. There is
        always room for four nodes and four leaves' statistics, and features that come later do not take nodes back.
    """

    max_inner: float = np.inf
    max_bytes: float = np.inf


@dataclass(frozen=True)
class SplitEvent:
    """An entry of the audit log: a leaf became an inner node, or a test was replaced.

    Attributes
    ----------
    kind : "split" or "replace"
    n_samples : rows that the tree had learned
    node, feature : numbers of the node and of the column (of the encoded table)
    threshold : rows with values up to this pass the test
    merit, second_merit : of the test, and of the best test on another feature (of the test before, if it was replaced)
    bound : Hoeffding's, for the difference of merits
    weight_seen : weight that the decision rests on
    """

    kind: str
    n_samples: int
    node: int
    feature: int
    threshold: float
    merit: float
    second_merit: float
    bound: float
    weight_seen: float


@dataclass(frozen=True)
class DriftEvent:
    """An alarm of a model's detectors: its errors have risen.

    Attributes
    ----------
    kind : of a single tree "drift" (the tree learns on) or "restart" (the tree has begun anew, from one leaf); of a
        forest "warning" (a spare tree has begun to learn) or "drift" (the spare tree has taken the place of the tree)
    n_samples : rows that the model had learned
    tree : number of the tree, 0 of a single one
    """

    kind: str
    n_samples: int
    tree: int = 0


def keep_last(drifts: list[DriftEvent]) -> None:
    """Forget the oldest alarms of a log that has become long."""
    if len(drifts) > 2 * MOST_DRIFTS:
        del drifts[:-MOST_DRIFTS]


def new_detector(delta: float) -> np.ndarray:
    """State of a detector that has seen nothing, see `softwood.stream.loops.alarms`; empty if there is none."""
    if delta <= 0.0:
        return np.zeros(0)
    return np.concatenate([ADWIN(delta, max_buckets=N_BUCKETS, mode="up")._state, np.zeros(N_DETECTOR - N_WINDOW)])


@dataclass
class GrowingTree:
    """What growing trees share: their arrays, room, and the log of splits.

    A family names its arrays in `axes`: for each the sizes of its axes, numbers or "nodes", "slots", "features",
    "outputs", "alarms"; sizes such as ("features", 2) have two places more, the first ones.

    Attributes
    ----------
    arrays : the whole state, by name
    settings : how it grows
    log : the audit log of the tree, oldest first; a restart empties it
    drifts : alarms, oldest first
    lock : taken by models while they learn, and while they read what learning changes
    """

    settings: Settings
    limits: Limits
    n_features: int
    n_outputs: int
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    log: list[SplitEvent] = field(default_factory=list)
    drifts: list[DriftEvent] = field(default_factory=list)
    lock: ThreadLock = field(default_factory=ThreadLock, init=False, repr=False, compare=False)

    axes: ClassVar[dict[str, tuple]] = {
        "nodes": ("nodes", N_NODE_INTS),
        "numbers": ("nodes", N_NODE_NUMBERS),
        "slots": ("slots", ("outputs", 2)),
        "is_category": ("features",),
        "events": ("events",),
        "counters": (N_COUNTERS,),
        "detector": ("alarms",),
    }
    types: ClassVar[dict[str, Any]] = {
        "events": EVENT,
        "nodes": np.int64,
        "keys": np.int64,
        "places": np.int64,
        "slots": np.int64,
        "is_category": np.int64,
        "counters": np.int64,
    }
    # scratch space, not part of the state
    scratch: ClassVar[tuple[str, ...]] = ("events",)
    # whether targets are classes
    classifies: ClassVar[bool]
    # what is made of the arrays when it is needed
    caches: ClassVar[tuple[str, ...]] = ("_arguments",)
    # how many nodes and slots must be free before a row is learned
    wants_all_leaves: ClassVar[bool] = False
    # arrays that have an axis, with its place in each, and those with neither nodes nor slots: each new feature asks
    _along: ClassVar[dict[str, list[tuple[str, int]]]]
    _of_fixed_length: ClassVar[list[str]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._along = {}
        for name, axes in cls.axes.items():
            for k, size in enumerate(axes):
                axis = size[0] if isinstance(size, tuple) else size
                if isinstance(axis, str):
                    cls._along.setdefault(axis, []).append((name, k))
        cls._of_fixed_length = [name for name, axes in cls.axes.items() if not {"nodes", "slots"} & set(axes)]

    def __post_init__(self) -> None:
        if self.arrays:
            return
        self._sizes = {
            "nodes": FIRST_ROOM,
            "slots": FIRST_ROOM,
            "events": 4 * FIRST_ROOM,
            "features": self.n_features,
            "outputs": self.n_outputs,
            "alarms": N_DETECTOR if self.settings.drift_delta > 0.0 else 0,
        }
        self.arrays = {name: self._empty(name) for name in self.axes}
        self.arrays["slots"][:, OWNER] = -1
        self.arrays["detector"] = new_detector(self.settings.drift_delta)
        self._plant()
        self._apply_limits()
        self._warn_of_size()

    def _plant(self) -> None:
        """The first leaf."""
        self.arrays["nodes"][0] = -1
        self.arrays["nodes"][0, [DEPTH, N_KEYS]] = 0
        self.arrays["numbers"][0, THRESHOLD] = np.nan
        self.arrays["counters"][N_NODES] = 1

    # Size

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.arrays["counters"][N_NODES])

    @property
    def n_inner(self) -> int:
        """Number of inner nodes."""
        return int(self.arrays["counters"][N_INNER])

    @property
    def n_rows(self) -> int:
        """Number of rows learned."""
        return int(self.arrays["counters"][N_ROWS])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays.values())

    def _shape(self, axes: tuple, sizes: dict[str, int]) -> tuple[int, ...]:
        def size(axis: Any) -> int:
            if isinstance(axis, tuple):
                return sizes[axis[0]] + axis[1]
            return sizes[axis] if isinstance(axis, str) else axis

        return tuple(size(axis) for axis in axes)

    def _empty(self, name: str, sizes: dict[str, int] | None = None) -> np.ndarray:
        shape = self._shape(self.axes[name], sizes or self._sizes)
        return np.zeros(shape, dtype=self.types.get(name, np.float64))

    def _resize(self, **sizes: int) -> None:
        """Give arrays other sizes; what they held stays at the same places."""
        wanted = self._sizes | sizes
        changed = [axis for axis, size in sizes.items() if size != self._sizes[axis]]
        resized = {}  # put in place together: without memory for all of them, nothing has changed
        for name in {name for axis in changed for name, _ in self._along[axis]}:
            old = self.arrays[name]
            new = np.empty(self._shape(self.axes[name], wanted), dtype=old.dtype)
            kept = tuple(map(slice, map(min, old.shape, new.shape)))
            new[kept] = old[kept]
            for k, (before, after) in enumerate(zip(old.shape, new.shape, strict=True)):
                if before < after:
                    new[(slice(None),) * k + (slice(before, None),)] = 0
            if name == "slots":
                new[len(old) :, OWNER] = -1
            resized[name] = new
        self._sizes = wanted
        self.arrays |= resized
        self._forget_arguments()

    def _groups(self) -> tuple:
        """The arrays in the named tuples of `softwood.stream.loops.layout` that the loops take."""
        raise NotImplementedError

    def _tree_nodes(self) -> TreeNodes:
        """What all trees have."""
        arrays = self.arrays
        return TreeNodes(arrays["nodes"], arrays["numbers"], arrays["counters"], self.settings, arrays["detector"])

    def _statistics(self) -> Statistics:
        """What leaves have seen, with room of its own for the sides of a test."""
        arrays, sides = self.arrays, np.empty((2, max(3, self.n_outputs)))
        return Statistics(
            arrays["slots"], arrays["stats"], arrays.get("seen"), arrays["is_category"], arrays["events"], sides
        )  # fmt: skip

    @cached_property
    def _arguments(self) -> tuple:
        """The groups, compiled, until one of their arrays is replaced."""
        return as_compiled(self._groups())

    def _forget_arguments(self) -> None:
        for name in self.caches:
            self.__dict__.pop(name, None)

    def _bytes_of(self, axis: str) -> int:
        """Bytes of one place on an axis, over all arrays."""
        total = 0
        for name, k in self._along[axis]:
            array = self.arrays[name]
            total += array.nbytes // max(1, array.shape[k])
        return total

    def _most(self, axis: str) -> float:
        """Places on the axis of nodes or of slots that the limit of memory allows."""
        if self.limits.max_bytes == np.inf:
            return np.inf
        fixed = sum(self.arrays[name].nbytes for name in self._of_fixed_length)
        return max(4, int((self.limits.max_bytes - fixed) // 2 // self._bytes_of(axis)))

    def _apply_limits(self) -> None:
        """After a change of width: fewer nodes and slots may be allowed."""
        most_nodes = self._most("nodes")
        if self._sizes["nodes"] > most_nodes:
            self._resize(nodes=max(self.n_nodes, int(most_nodes)))
        self.change_settings(max_inner=self._most_inner())
        most_slots = self._most("slots")
        if len(self.arrays["slots"]) > most_slots:
            self._drop_slots(int(most_slots))
        self.arrays["counters"][SLOTS_ARE_ALL] = int(len(self.arrays["slots"]) >= most_slots)

    def change_settings(self, **values: float) -> None:
        """Change settings of a tree that is growing."""
        self.settings = self.settings._replace(**{name: float(value) for name, value in values.items()})
        self._forget_arguments()

    def _warn_of_size(self) -> None:
        """Say it once if the limit of memory cannot be kept, as columns or classes are too many for four nodes."""
        if self.nbytes > self.limits.max_bytes and "_has_warned" not in self.__dict__:
            self.__dict__["_has_warned"] = True
            most, least = self.limits.max_bytes / 2**20, self.nbytes / 2**20
            what = f"a tree of {self.n_features} columns and {self.n_outputs} outputs takes {least:.2g} MiB"
            limit = f"and its limit is {most:g} MiB"
            warnings.warn(f"max_size cannot be kept: {what} from the start, {limit}.", UserWarning, stacklevel=2)

    def _most_inner(self) -> float:
        """Number of inner nodes that the limits allow."""
        by_memory = (self._most("nodes") - 1) // 2
        if self.wants_all_leaves:
            # room for the children of all leaves is kept free
            by_memory = (by_memory - 1) // 2
        return min(self.limits.max_inner, by_memory)

    def _drop_slots(self, n: int) -> None:
        """Keep `n` slots, those of the heaviest leaves."""
        owners = self.arrays["slots"][:, OWNER]
        weight = np.where(owners >= 0, self._promise(np.maximum(owners, 0)), -1.0)
        kept = np.sort(np.argsort(-weight, kind="stable")[:n])
        for slot in np.setdiff1d(np.flatnonzero(owners >= 0), kept):
            self.arrays["nodes"][owners[slot], SLOT] = -1
        for name, axes in self.axes.items():
            if "slots" in axes:
                self.arrays[name] = np.ascontiguousarray(np.take(self.arrays[name], kept, axis=axes.index("slots")))
        self._sizes["slots"] = n
        self._forget_arguments()
        owners = self.arrays["slots"][:, OWNER]
        self.arrays["nodes"][owners[owners >= 0], SLOT] = np.flatnonzero(owners >= 0)

    def _promise(self, nodes: np.ndarray) -> np.ndarray:
        """What further splits of leaves may win, in any unit."""
        raise NotImplementedError

    def _make_room(self) -> None:
        """Take the events out, and enlarge what is full."""
        self._read_events()
        counters = self.arrays["counters"]
        n_leaves = self.n_inner + 1
        wanted = self.n_nodes + 2 * (n_leaves if self.wants_all_leaves else 1)
        if self.n_inner < self.settings.max_inner and wanted > self._sizes["nodes"]:
            self._resize(nodes=int(max(wanted, min(2 * self._sizes["nodes"], self._most("nodes")))))
        slots = self._wanted_slots()
        if slots > self._sizes["slots"] and not counters[SLOTS_ARE_ALL]:
            most = self._most("slots")
            self._resize(slots=int(min(max(slots, 2 * self._sizes["slots"]), most)))
            counters[SLOTS_ARE_ALL] = int(self._sizes["slots"] >= most)

    def _wanted_slots(self) -> int:
        """Slots without which the next row is not learned."""
        return self.n_inner + 2

    def _read_events(self) -> None:
        n = int(self.arrays["counters"][N_EVENTS])
        for event in self.arrays["events"][:n].tolist():
            self.log.append(SplitEvent(KINDS[event[0]], *event[1:]))
        self.arrays["counters"][N_EVENTS] = 0
        if len(self.log) > 2 * MOST_REPLACED + self.n_nodes:
            # Splits are as many as inner nodes; tests can be replaced for ever.
            replaced = [event for event in self.log if event.kind == "replace"]
            forgotten = set(map(id, replaced[:-MOST_REPLACED]))
            self.log = [event for event in self.log if id(event) not in forgotten]

    # Alarms

    def _heed_alarm(self) -> bool:
        """Log an alarm and do what it asks for; whether there was one since the last call."""
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
        """Begin anew with one leaf, as large as the arrays are now; what is known of the columns stays."""
        for name, axes in self.axes.items():
            if {"nodes", "slots"} & set(axes):
                self.arrays[name][...] = 0
        self.arrays["slots"][:, OWNER] = -1
        self.arrays["counters"][[N_INNER, N_EVENTS, N_IN_BATCH]] = 0
        self._plant()
        self.log = []

    def widen(self, n_features: int, n_outputs: int) -> None:
        """Make room for features and classes that have not been there before."""
        if n_features == self.n_features and n_outputs == self.n_outputs:
            return
        self._resize(features=n_features, outputs=n_outputs)
        self.n_features, self.n_outputs = n_features, n_outputs
        self._apply_limits()
        self._warn_of_size()

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

    def _copy_as_zeros(self, column: int, sibling: int) -> None:
        raise NotImplementedError

    # Learning and predicting

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
                    self._heed_alarm()
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
                self._heed_alarm()
            else:
                self._make_room()
            done, is_alarm, n_events = self._learn(row.rows, 0)
        if is_alarm:
            self._heed_alarm()
        if n_events:
            self._read_events()

    def _learn(self, rows: Any, start: int) -> tuple[int, bool, int]:
        """Call the compiled loop; returns what `softwood.stream.loops.layout.Learned` says."""
        raise NotImplementedError

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
        """All that a copy needs to go on from here, as arrays."""
        alarms = [(len(KINDS) + DRIFT_KINDS.index(event.kind), event.n_samples, *[0] * 7) for event in self.drifts]
        splits = [(KINDS.index(kind), *rest) for kind, *rest in map(astuple, self.log)]
        log = np.array(splits + alarms, dtype=EVENT)
        kept = {name: array for name, array in self.arrays.items() if name not in self.scratch}
        return {**kept, "settings": np.array(self.settings, dtype=np.float64), "log": log}

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray], limits: Limits, n_features: int, n_outputs: int) -> Self:
        """The tree with the arrays that `state` gave, which are taken over; an error if they do not fit together."""
        tree = object.__new__(cls)
        tree.settings, tree.limits, tree.n_features, tree.n_outputs = Settings(), limits, n_features, n_outputs
        tree.arrays, tree.log, tree.drifts, tree.lock = {}, [], [], ThreadLock()
        tree._sizes = {"nodes": 0, "slots": 0, "events": 4 * FIRST_ROOM, "features": n_features, "outputs": n_outputs}
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
        log, n_kinds = state["log"].tolist(), len(KINDS)
        self.log = [SplitEvent(KINDS[event[0]], *event[1:]) for event in log if event[0] < n_kinds]
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

    def structure(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes that are in use (n_nodes, N_NODE_INTS), their numbers, and which are inner."""
        nodes = self.arrays["nodes"][: self.n_nodes]
        return nodes, self.arrays["numbers"][: self.n_nodes], nodes[:, LEFT] >= 0

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


def as_compiled(groups: Sequence[NamedTuple | None]) -> tuple:
    """Named tuples of arrays as the compiled loops take them: with many short calls, these are made once."""
    return tuple(None if group is None else getattr(compiled, type(group).__name__)(*group) for group in groups)


def writeable(array: np.ndarray) -> np.ndarray:
    """The array itself, or a copy in memory if it is a map of a file, or read-only."""
    return array if type(array) is np.ndarray and array.flags.carray else np.array(array, order="C")
