"""Arrays of a growing tree, with free space, and the limits of their size.

The compiled loops learn rows until there is no space for what may come next; then the arrays are enlarged here, and the
loop continues where it stopped. Features and classes that appear later widen the arrays in the same way.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from softwood.compiled import stream as compiled
from softwood.stream.drift import ADWIN
from softwood.stream.loops.alarms import N_BUCKETS, N_DETECTOR, N_WINDOW
from softwood.stream.loops.layout import (
    DEPTH,
    EVENT,
    LEFT,
    N_COUNTERS,
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

# Nodes for which a new tree has space.
FIRST_SIZE = 8
# Events for which it has space, if these are not one for each node.
FIRST_EVENTS = 32


@dataclass(frozen=True)
class Limits:
    """How large a growing tree may become.

    Attributes
    ----------
    max_inner : inner nodes
    max_bytes : bytes of all arrays of the tree; half of them for nodes, half for the statistics of leaves. There is
        always space for four nodes and four leaves' statistics, and features that come later do not remove nodes.
    """

    max_inner: float = np.inf
    max_bytes: float = np.inf

    def __post_init__(self) -> None:
        if not (self.max_inner >= 0 and self.max_bytes >= 0):
            raise ValueError(f"The limits of a tree must be numbers of at least 0, got {self}.")


def new_detector(delta: float) -> np.ndarray:
    """State of a detector that has seen nothing, see `softwood.stream.loops.alarms`; empty if there is none."""
    if delta <= 0.0:
        return np.zeros(0)
    return np.concatenate([ADWIN(delta, max_buckets=N_BUCKETS, mode="up")._state, np.zeros(N_DETECTOR - N_WINDOW)])


@dataclass
class TreeArrays:
    """Arrays of a growing tree, and how large they are.

    A family names its arrays in `axes`: for each the sizes of its axes, numbers or "nodes", "slots", "features",
    "outputs", "alarms"; sizes such as ("features", 2) have two places more, the first ones.

    Attributes
    ----------
    settings, limits : how it grows, and how large it may become
    arrays : the whole state, by name
    """

    settings: Settings
    limits: Limits
    n_features: int
    n_outputs: int
    arrays: dict[str, np.ndarray] = field(default_factory=dict)

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
            "nodes": FIRST_SIZE,
            "slots": FIRST_SIZE,
            "events": FIRST_EVENTS,
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

    def _bytes_of(self, axis: str) -> int:
        """Bytes of one place on an axis, over all arrays."""
        total = 0
        for name, k in self._along[axis]:
            array = self.arrays[name]
            total += array.nbytes // max(1, array.shape[k])
        return total

    def _resize(self, **sizes: int) -> None:
        """Give arrays other sizes; what they held stays at the same places."""
        wanted = self._sizes | sizes
        changed = [axis for axis, size in sizes.items() if size != self._sizes[axis]]
        resized = {}  # put in place together: without memory for all of them, nothing has changed
        for name in {name for axis in changed for name, _ in self._along[axis]}:
            old = self.arrays[name]
            new = np.zeros(self._shape(self.axes[name], wanted), dtype=old.dtype)
            kept = tuple(map(slice, map(min, old.shape, new.shape)))
            new[kept] = old[kept]
            if name == "slots":
                new[len(old) :, OWNER] = -1
            resized[name] = new
        self._sizes = wanted
        self.arrays |= resized
        self._forget_arguments()

    def widen(self, n_features: int, n_outputs: int) -> None:
        """Add features and classes."""
        if n_features == self.n_features and n_outputs == self.n_outputs:
            return
        self._resize(features=n_features, outputs=n_outputs)
        self.n_features, self.n_outputs = n_features, n_outputs
        self._apply_limits()
        self._warn_of_size()

    def _enlarge(self) -> None:
        """Enlarge what is full; where there is space for a test, a split that takes more of them asks."""
        counters = self.arrays["counters"]
        n_leaves = self.n_inner + 1
        free = (self._sizes["nodes"] - self.n_nodes) // 2
        if not counters[SLOTS_ARE_ALL]:
            free = min(free, self._sizes["slots"] - n_leaves)
        n_left = max(1.0, self.settings.max_inner - self.n_inner)
        n_tests = int(min(max(1, 2 * free), self._most_tests(), n_left))
        if self._sizes["events"] < n_tests:
            self._resize(events=n_tests)
        wanted = self.n_nodes + 2 * (n_leaves if self.wants_all_leaves else n_tests)
        if self.n_inner < self.settings.max_inner and wanted > self._sizes["nodes"]:
            self._resize(nodes=int(max(wanted, min(2 * self._sizes["nodes"], self._most("nodes")))))
        slots = self._wanted_slots(n_tests)
        if slots > self._sizes["slots"] and not counters[SLOTS_ARE_ALL]:
            most = self._most("slots")
            self._resize(slots=int(min(max(slots, 2 * self._sizes["slots"]), most)))
            counters[SLOTS_ARE_ALL] = int(self._sizes["slots"] >= most)

    def _wanted_slots(self, n_tests: int) -> int:
        """Slots without which the next row is not learned, if a split may take so many tests."""
        return self.n_inner + 1 + n_tests

    # Limits

    def change_settings(self, **values: float) -> None:
        """Change settings of a tree that is growing."""
        self.settings = self.settings._replace(**{name: float(value) for name, value in values.items()})
        self._forget_arguments()

    def _most(self, axis: str) -> float:
        """Places on the axis of nodes or of slots that the limit of memory allows."""
        if self.limits.max_bytes == np.inf:
            return np.inf
        fixed = sum(self.arrays[name].nbytes for name in self._of_fixed_length)
        if "events" in self._of_fixed_length:  # a file does not hold them, so limits must not depend on their number
            fixed -= self.arrays["events"][FIRST_EVENTS:].nbytes
        return max(4, int((self.limits.max_bytes - fixed) // 2 // self._bytes_of(axis)))

    def _most_inner(self) -> float:
        """Number of inner nodes that the limits allow."""
        by_memory = (self._most("nodes") - 1) // 2
        if self.wants_all_leaves:
            # space for the children of all leaves is kept free
            by_memory = (by_memory - 1) // 2
        return min(self.limits.max_inner, by_memory)

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
        """What further splits of leaves may gain, in any unit."""
        raise NotImplementedError

    def _warn_of_size(self) -> None:
        """Warn once if the limit of memory cannot be kept: columns or classes are too many for four nodes."""
        if self.nbytes > self.limits.max_bytes and "_has_warned" not in self.__dict__:
            self.__dict__["_has_warned"] = True
            most, least = self.limits.max_bytes / 2**20, self.nbytes / 2**20
            what = f"a tree of {self.n_features} columns and {self.n_outputs} outputs takes {least:.2g} MiB"
            limit = f"and its limit is {most:g} MiB"
            warnings.warn(f"max_size cannot be kept: {what} from the start, {limit}.", UserWarning, stacklevel=2)

    # For the loops

    def _groups(self) -> tuple:
        """The arrays in the named tuples of `softwood.stream.loops.layout` that the loops take."""
        raise NotImplementedError

    def _tree_nodes(self) -> TreeNodes:
        """What all trees have."""
        arrays = self.arrays
        return TreeNodes(arrays["nodes"], arrays["numbers"], arrays["counters"], self.settings, arrays["detector"])

    def _statistics(self) -> Statistics:
        """What leaves have seen, with scratch space for the sides of a test."""
        arrays, sides, source = self.arrays, np.empty((2, max(3, self.n_outputs))), self.arrays["is_category"]
        n_values = np.where(source > 0, np.bincount(source, minlength=1)[source], 0)
        return Statistics(
            arrays["slots"], arrays["stats"], arrays.get("seen"), source, arrays["events"], sides, n_values,
            self._most_tests(),
        )  # fmt: skip

    def _most_tests(self) -> int:
        """Tests that one split may need: one for each category of a source but one."""
        if not self.settings.many_ways:
            return 1
        source = self.arrays["is_category"]
        return max(1, int(np.bincount(source[source > 0], minlength=1).max()) - 1)

    @cached_property
    def _arguments(self) -> tuple:
        """The groups, compiled, until one of their arrays is replaced."""
        return as_compiled(self._groups())

    def _forget_arguments(self) -> None:
        for name in self.caches:
            self.__dict__.pop(name, None)

    def structure(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Nodes that are in use (n_nodes, N_NODE_INTS), their numbers, and which are inner."""
        nodes = self.arrays["nodes"][: self.n_nodes]
        return nodes, self.arrays["numbers"][: self.n_nodes], nodes[:, LEFT] >= 0


def as_compiled(groups: Sequence[NamedTuple | None]) -> tuple:
    """Named tuples of arrays as the compiled loops take them: with many short calls, these are made once."""
    return tuple(None if group is None else getattr(compiled, type(group).__name__)(*group) for group in groups)


def writeable(array: np.ndarray) -> np.ndarray:
    """The array itself, or a copy in memory if it is a map of a file, or read-only."""
    return array if type(array) is np.ndarray and array.flags.carray else np.array(array, order="C")
