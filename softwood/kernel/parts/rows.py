"""Growth by levels: what is done with a part of the rows.

A part is coded by bins once. After that, its state (the rows of each node, with their memberships) is a function of the
part and of the splits so far. The functions here replace the state, or return a summary of it; summaries of parts are
merged by `softwood.kernel.parts.numbers.merged`. A state keeps the rows of the last level that was requested. If they
are lost, it computes them again from the splits.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

import softwood.compiled.boosting as loop
from softwood.core.losses import Loss
from softwood.kernel.growing.loops.groups import Bins, Kernels
from softwood.kernel.parts.loops.divide import DivideSpace, Members
from softwood.kernel.parts.loops.sums import BLOCK
from softwood.kernel.parts.numbers import Largest, draw_counts, exact_sum, is_drawn, whole

# Kinds of rows, to be combined. Rows that are not for training are validation rows.
TRAIN, SCORED = 1, 2
# Arrays of targets are filled up to a multiple of this length: processors compute several numbers at once, and may
# round those at the end of an array differently.
_PADDING = 64
# Rows whose gradients are computed at once, a multiple of _PADDING.
_WEIGHED = 1 << 14


@dataclass(frozen=True)
class CodedRows:
    """A part of the rows.

    Attributes
    ----------
    bins : the bins of all features, with the codes of these rows
    targets : as trees or the loss take them: classes (int32), numbers (n,) or (n, n_targets); and padding
    weights : (n,) and padding of weight 0
    kinds : (n,) see `TRAIN`
    keys : (n,) for draws by content; None if nothing is drawn
    """

    bins: Bins
    targets: np.ndarray
    weights: np.ndarray
    kinds: np.ndarray
    keys: np.ndarray | None

    def __len__(self) -> int:
        return len(self.kinds)

    def __sizeof__(self) -> int:
        """Bytes, for the workers of a cluster, as of `Growing`."""
        arrays = (self.bins.codes, self.targets, self.weights, self.kinds, self.keys)
        return sum(array.nbytes for array in arrays if array is not None)


def padded(array: np.ndarray) -> np.ndarray:
    """The array, filled up with zeros; see `_PADDING`."""
    n = max(1, -(-len(array) // _PADDING)) * _PADDING
    out = np.zeros((n, *array.shape[1:]), dtype=array.dtype)
    out[: len(array)] = array
    return out


def joined(parts: list[CodedRows]) -> CodedRows:
    """Several parts as one."""
    first = parts[0]
    if len(parts) == 1:
        return first

    def join(name: str) -> np.ndarray:
        return np.concatenate([getattr(part, name)[: len(part)] for part in parts])

    return CodedRows(
        first.bins._replace(codes=np.concatenate([part.bins.codes for part in parts])),
        padded(join("targets")),
        padded(join("weights")),
        join("kinds"),
        None if first.keys is None else join("keys"),
    )


@dataclass(frozen=True)
class Reach:
    """How mass is spread: half-widths (p,), other shapes than the box or None, and the smallest share."""

    widths: np.ndarray
    kernels: Kernels | None
    cutoff: float
    is_soft: bool


class Splits(NamedTuple):
    """Splits of a level of a tree: slots of type `SLOT`, and the sets of categories that go left (n_slots, n_words)."""

    slots: np.ndarray
    subsets: np.ndarray


# For each level the splits of each tree, None for trees that stay as they are
Levels = list[list[Splits | None]]


@dataclass(frozen=True)
class Growing:
    """The state of a part while several trees grow.

    Attributes
    ----------
    members, values : rows of each tree, and what is added up; see `softwood.kernel.parts.loops.sums`
    labels : classes of the rows; None if there are none
    raw : (n, n_scores) raw scores of boosting, with padding
    largest : largest hessian and gradient
    reached : number of levels that trees have grown since, and the rows of each tree at the last one; see `at_level`
    """

    reach: Reach
    members: list[Members]
    values: list[np.ndarray]
    labels: np.ndarray | None = None
    raw: np.ndarray | None = None
    largest: np.ndarray | None = None
    reached: list[Any] = field(default_factory=list)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "reached": []}

    def __sizeof__(self) -> int:
        """Bytes, so that the workers of a cluster know how much memory a state takes."""
        members = [*self.members, *(self.reached[1] if self.reached else [])]
        arrays = [array for of_tree in members for array in of_tree] + [*self.values, self.raw]
        return sum(array.nbytes for array in arrays if array is not None)


class Request(NamedTuple):
    """Histograms that a tree requests: slots (n_nodes,), and features of each (n_nodes, n_features).

    totals : slots whose sums it requests
    """

    slots: np.ndarray
    features: np.ndarray
    totals: np.ndarray


@dataclass(frozen=True)
class TreesSetup:
    """Trees that begin to grow.

    Attributes
    ----------
    seeds : of the draws of each tree
    rate : mean number of times that a row is drawn; None: every row is taken once
    exponents : of the columns that are added up
    """

    reach: Reach
    seeds: list[int]
    rate: float | None
    exponents: tuple[int, ...]


def begin_trees(rows: CodedRows, _: Any, setup: TreesSetup) -> Growing:
    """All rows at the roots of the trees."""
    n = len(rows)
    weights, targets = rows.weights[:n], rows.targets[:n]
    labels = targets if targets.dtype.kind == "i" else None
    if labels is not None:
        columns = weights[:, None]
    else:
        squares = np.einsum("ij,ij->i", targets, targets)[:, None]
        columns = weights[:, None] * np.concatenate([np.ones((n, 1)), targets, squares], axis=1)
    columns = np.ldexp(columns, np.array(setup.exponents[: columns.shape[1]]))
    same = None
    members, values = [], []
    for seed in setup.seeds:
        if setup.rate is None:
            same = _rounded(columns, setup.reach.is_soft) if same is None else same
            members.append(_root(np.arange(n, dtype=np.uint32), setup.reach.is_soft))
            values.append(same)
        else:
            assert rows.keys is not None
            counts = draw_counts(rows.keys, setup.rate, seed)
            members.append(_root(np.flatnonzero(counts).astype(np.uint32), setup.reach.is_soft))
            values.append(_rounded(columns * counts[:, None], setup.reach.is_soft))
    return Growing(setup.reach, members, values, labels)


def _rounded(columns: np.ndarray, is_soft: bool) -> np.ndarray:
    """Numbers that are added up: whole ones, unless they are to be multiplied by shares first."""
    return np.ascontiguousarray(columns) if is_soft else whole(np.ascontiguousarray(columns), 0)


def _root(rows: np.ndarray, is_soft: bool) -> Members:
    return Members(rows, np.ones(len(rows)) if is_soft else None, np.array([0, len(rows)], dtype=np.int64))


@dataclass(frozen=True)
class RoundSetup:
    """A round of boosting that begins.

    Attributes
    ----------
    base : (n_scores,) start value of the raw scores
    exponents : of hessian, gradient and weight
    subsample : fraction of the rows that are drawn, and the seed; None: all
    """

    loss: Loss
    base: np.ndarray
    reach: Reach
    exponents: tuple[int, int, int]
    subsample: tuple[float, int] | None = None


def begin_round(
    rows: CodedRows,
    state: Growing | None,
    setup: RoundSetup,
    levels: Levels | None = None,
    slot_values: list[np.ndarray] | None = None,
) -> Growing:
    """Raw scores with the trees of the last round, if their levels and values are given; all rows at the roots.

    The arrays of the state are reused: allocating new memory would take as long as the computation.
    """
    if state is None:
        state = _before_first_round(rows, setup)
    assert state.raw is not None
    if slot_values is not None:
        for score, (members, added) in enumerate(zip(at_level(rows, state, levels or []), slot_values, strict=True)):
            loop.add_slot_values(members, added, state.raw[:, score])
    return replace(state, reach=setup.reach, largest=_weigh(rows, state, setup), reached=[])


def _weigh(rows: CodedRows, state: Growing, setup: RoundSetup) -> np.ndarray:
    """Fill the numbers that are added up; returns the largest hessian and gradient.

    Rows are processed in blocks, so that gradients and hessians stay in the cache.
    """
    assert state.raw is not None
    loss, n, n_scores = setup.loss, len(rows), setup.loss.n_scores
    scales, is_whole = np.ldexp(1.0, np.array(setup.exponents)), not setup.reach.is_soft
    largest = np.zeros(2)
    for begin in range(0, n, _WEIGHED):
        part = slice(begin, begin + _WEIGHED)
        weights = rows.weights[part]
        gradient, hessian = (np.empty((len(weights), n_scores), order="F") for _ in range(2))
        loss.gradients(rows.targets[part], state.raw[part], weights, gradient, hessian)
        counts = (rows.kinds[part] & TRAIN).astype(np.float64)
        if setup.subsample is not None:
            fraction, seed = setup.subsample
            assert rows.keys is not None
            counts *= is_drawn(rows.keys[part], fraction, seed)
        for score, values in enumerate(state.values):
            found = loop.weigh_rows(
                hessian[:, score], gradient[:, score], weights, counts, scales, is_whole, values[part]
            )  # fmt: skip
            np.maximum(largest, found, out=largest)
    return largest


def _before_first_round(rows: CodedRows, setup: RoundSetup) -> Growing:
    """Start values as raw scores, and memory for what is computed in each round."""
    n, n_scores, is_soft = len(rows), setup.loss.n_scores, setup.reach.is_soft
    raw = np.array(np.broadcast_to(setup.base, (len(rows.weights), n_scores)), order="F")
    return Growing(
        setup.reach,
        members=[_root(np.arange(n, dtype=np.uint32), is_soft)] * n_scores,
        values=[np.empty((n, 4), np.float64 if is_soft else np.int64) for _ in range(n_scores)],
        raw=raw,
    )


def at_level(rows: CodedRows, state: Growing, levels: Levels) -> list[Members]:
    """Rows of each tree after these levels: rows of split slots are shared between their children.

    Continues from the level that the state has reached, and stores the new one there.
    """
    n, members = state.reached or (0, state.members)
    if n > len(levels):
        n, members = 0, state.members
    for splits in levels[n:]:
        members = [
            of_tree if own is None else _divided(rows.bins, of_tree, own, state.reach)
            for of_tree, own in zip(members, splits, strict=True)
        ]
    state.reached[:] = [len(levels), members]
    return members


def _divided(bins: Bins, members: Members, splits: Splits, reach: Reach) -> Members:
    slots = splits.slots
    sizes = np.diff(members.begins)
    is_split = slots["feature"] >= 0
    most = int(sizes[is_split].max(initial=0)) + 1
    # A row of a split node may go to both children. One entry more, since the loop writes before it counts.
    capacity = len(members.rows) + 1 + (int(sizes[is_split].sum()) if reach.is_soft else 0)
    rows = np.empty(capacity, dtype=np.uint32)
    shares = np.empty(capacity) if reach.is_soft else None
    begins = np.zeros(1 + len(slots) + int(is_split.sum()), dtype=np.int64)
    space = DivideSpace(
        np.empty(most, np.uint32), np.empty(most) if reach.is_soft else None, np.empty(bins.most + 1)
    )  # fmt: skip
    loop.divide_slots(
        bins, reach.widths, reach.kernels, slots, splits.subsets, reach.cutoff, members, rows, shares, begins, space
    )  # fmt: skip
    n = int(begins[-1])
    if shares is None:
        return Members(rows[:n], None, begins)
    return Members(rows[:n].copy(), shares[:n].copy(), begins)


def add_up(
    rows: CodedRows, state: Growing, levels: Levels, requests: list[Request], n_columns: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Sums (n_slots, n_totals) and histograms that each tree requests, after these levels.

    Histograms are (n_nodes, n_features, most + 1, n_columns) whole numbers.
    """
    bins, labels = rows.bins, state.labels
    out = []
    for members, values, request in zip(at_level(rows, state, levels), state.values, requests, strict=True):
        n_values = 1 if labels is not None else min(n_columns, values.shape[1])
        totals = np.zeros((len(request.totals), n_columns if labels is not None else values.shape[1]), np.int64)
        block = np.empty((BLOCK, values.shape[1]), np.int64)
        loop.add_totals(members.rows, members.begins, request.totals, members.shares, values, labels, totals, block)
        tables = np.zeros((*request.features.shape, bins.most + 1, n_columns), np.int64)
        block = np.empty((BLOCK + 1, n_values), np.int64)
        for k, slot in enumerate(request.slots.tolist()):
            begin, end = members.begins[slot], members.begins[slot + 1]
            loop.add_node(
                bins.codes,
                members.rows,
                begin,
                end,
                members.shares,
                values,
                labels,
                request.features[k],
                tables[k],
                block,
            )
        out.append((totals, tables))
    return out


def add_up_round(rows: CodedRows, state: Growing, requests: list[Request], n_columns: int, loss: Loss) -> list[Any]:
    """The sums that a round begins with: those of `losses_of`, and those of `add_up` for the roots."""
    return [*losses_of(rows, state, loss), add_up(rows, state, [], requests, n_columns)]


def losses_of(rows: CodedRows, state: Growing, loss: Loss) -> list[Any]:
    """Exact sums of losses and weights of scored training rows and of validation rows; largest hessian, gradient."""
    assert state.raw is not None
    assert state.largest is not None
    sums = []
    for kind in (TRAIN | SCORED, 0):
        chosen = np.flatnonzero(rows.kinds == kind)
        weights = rows.weights[chosen]
        found = loss.row_losses(padded(rows.targets[chosen]), np.asfortranarray(padded(state.raw[chosen])))
        sums += [exact_sum(found[: len(chosen)] * weights), exact_sum(weights)]
    return [sums, Largest(state.largest)]
