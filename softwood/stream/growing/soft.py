"""Growing soft trees: soft Hoeffding trees, and the complete soft tree that does not grow."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from softwood.compiled.stream import learn_soft, observe_rows, predict_soft, split_leaves
from softwood.core.losses import softmax_gradient
from softwood.stream.growing.arrays import as_compiled
from softwood.stream.growing.events import SplitEvent
from softwood.stream.growing.hoeffding import N_BINS
from softwood.stream.growing.new_categories import zeros_in_histograms, zeros_in_normals, zeros_in_scaler
from softwood.stream.growing.rows import NO_PREDICTIONS, as_rows
from softwood.stream.growing.target_units import RealGrowingTree
from softwood.stream.growing.tree import GrowingTree
from softwood.stream.loops.layout import (
    ALL_WEIGHT,
    ALPHA_AT,
    BIAS_AT,
    DEPTH,
    FADE_1,
    FADE_2,
    FEATURE,
    FIRST_WEIGHT,
    LAST_ATTEMPT,
    LEFT,
    LEFT_WEIGHT,
    N_INNER,
    N_NODES,
    N_SCALER_ROWS,
    N_TAKEN,
    OWNER,
    PARENT,
    PROBABILITIES,
    RAW,
    RIGHT,
    RUN,
    SLOT,
    TARGETS,
    THRESHOLD,
    VARIANCE,
    WEIGHT,
    Path,
    SoftNodes,
)
from softwood.stream.loops.observers import N_BIN_NUMBERS, N_NORMAL_NUMBERS
from softwood.stream.loops.scales import SURPRISES
from softwood.trees.gates import Gate
from softwood.trees.tree import SoftTree

# Numbers that a gradient keeps at once, for shares and outputs of rows in all nodes.
_BLOCK_NUMBERS = 2**21


class SoftGrowingTree(GrowingTree):
    """What soft trees for classes and for real targets share.

    Attributes
    ----------
    seed : of the first weights of gates
    """

    axes = GrowingTree.axes | {
        "gates": (3, "nodes", ("features", 2)),
        "values": (3, "nodes", "outputs"),
        "gate_slopes": ("nodes", ("features", 2)),
        "value_slopes": ("nodes", "outputs"),
        "scaler": (N_SCALER_ROWS, "features"),
        "target_scaler": (N_SCALER_ROWS, 1),
        "seen": ("slots", "outputs"),
        "places": ("nodes", 3),
        "shares": ("nodes", 5),
        # all nodes may change in the same row
        "events": ("nodes",),
    }
    scratch = ("events", "places", "shares")
    caches = ("_arguments", "_readers")
    wants_all_leaves = True
    is_class: ClassVar[bool]
    seed: np.uint64 = np.uint64(0)

    def _plant(self) -> None:
        super()._plant()
        self.arrays["numbers"][:, [FADE_1, FADE_2]] = 1.0
        if self.limits.max_inner > 0:
            self.arrays["nodes"][0, SLOT] = 0
            self.arrays["slots"][0, OWNER] = 0
            self.arrays["counters"][N_TAKEN] = 1

    def complete(self, depth: int, random_state: np.random.RandomState) -> None:
        """Make it the complete tree of a depth, with small random weights and values, and grow no more."""
        n_inner = 2**depth - 1
        n_nodes = 2 * n_inner + 1
        self._resize(nodes=n_nodes, slots=0)
        nodes = self.arrays["nodes"]
        number = np.arange(n_nodes)
        nodes[:] = -1
        nodes[:n_inner, LEFT] = 2 * number[:n_inner] + 1
        nodes[:n_inner, RIGHT] = 2 * number[:n_inner] + 2
        nodes[1:, PARENT] = (number[1:] - 1) // 2
        nodes[:, DEPTH] = [int(math.log2(i + 1)) for i in range(n_nodes)]
        self.arrays["numbers"][:, THRESHOLD] = np.nan
        self.arrays["numbers"][:, [FADE_1, FADE_2]] = 1.0
        gates, values = self.arrays["gates"], self.arrays["values"]
        gates[0, :n_inner, ALPHA_AT] = 1.0
        gates[0, :n_inner, FIRST_WEIGHT:] = random_state.uniform(-0.01, 0.01, (n_inner, self.n_features))
        values[0, n_inner:] = random_state.uniform(-0.01, 0.01, (n_nodes - n_inner, self.n_outputs))
        counters = self.arrays["counters"]
        counters[N_NODES], counters[N_INNER] = n_nodes, n_inner
        self.change_settings(max_inner=0.0)

    def _wanted_slots(self, n_tests: int) -> int:
        return 3 * int(self.arrays["counters"][N_TAKEN])

    def _drop_slots(self, n: int) -> None:
        super()._drop_slots(n)
        self.arrays["counters"][N_TAKEN] = np.count_nonzero(self.arrays["slots"][:, OWNER] >= 0)

    def _restart(self) -> None:
        weight = self.arrays["numbers"][0, ALL_WEIGHT]
        super()._restart()
        self.arrays["numbers"][0, ALL_WEIGHT] = weight

    def _apply_limits(self) -> None:
        if self.limits.max_inner > 0:
            super()._apply_limits()

    def _promise(self, nodes: np.ndarray) -> np.ndarray:
        return self.arrays["numbers"][nodes, WEIGHT]

    def _copy_as_zeros(self, column: int, sibling: int) -> None:
        zeros_in_scaler(self.arrays["scaler"], column, sibling)

    def _groups(self) -> tuple:
        arrays: dict[str, Any] = self.arrays | {"seed": self.seed}
        soft = SoftNodes(**{name: arrays[name] for name in SoftNodes._fields})
        path = self._new_path(self.arrays["places"], self.arrays["shares"])
        # A tree that does not grow has no use for statistics.
        return self._tree_nodes(), soft, path, self._statistics() if self.settings.max_inner > 0 else None

    def _new_path(self, places: np.ndarray, shares: np.ndarray) -> Path:
        tests, x, within = np.empty(len(places)), np.empty(1 + self.n_features), np.empty((1, self.n_features))
        return Path(places, shares, tests, x, within, np.empty((1, self.n_outputs)))

    @cached_property
    def _readers(self) -> tuple:
        """What predicting takes: the compiled groups of the nodes, and paths that no thread is using."""
        return *self._arguments[:2], self.arrays["places"], self.arrays["shares"], []

    def _learn(self, rows: Any, start: int) -> tuple[int, bool, int]:
        return learn_soft(rows, start, *self._arguments)

    def _predict(self, rows: Any) -> None:
        self._fill(rows, PROBABILITIES if self.is_class else TARGETS)

    def input_gradient(self, points: np.ndarray) -> np.ndarray:
        """Derivative of `predict` with respect to the points, (n, n_outputs, n_features); 0 where a value is missing.

        Not by the finished tree: here a missing value counts as the mean in the smooth step of a gate, and is divided
        in its test.
        """
        tree = self.snapshot()
        block = max(1, _BLOCK_NUMBERS // (tree.n_nodes * (self.n_outputs + 1)))
        parts = [points[first : first + block] for first in range(0, len(points), block)]
        out = np.concatenate([np.empty((0, self.n_outputs, self.n_features)), *(_gradient(tree, p) for p in parts)])
        return softmax_gradient(self.predict(points), out) if self.is_class else out

    def raw(self, points: np.ndarray) -> np.ndarray:
        """Outputs before the softmax of classes and the scale of targets, (n, n_outputs)."""
        out = np.empty((len(points), self.n_outputs))
        self._fill(as_rows(np.ascontiguousarray(points), out), RAW)
        return out

    def _fill(self, rows: Any, kind: int) -> None:
        tree, soft, places, shares, paths = self._readers
        # A path of its own: several threads may predict at once.
        try:
            path = paths.pop()
        except IndexError:
            (path,) = as_compiled([self._new_path(np.empty_like(places), np.empty_like(shares))])
        predict_soft(rows, kind, tree, soft, path)
        paths.append(path)

    # Growing beside a layer, which learns

    def observe_rows(self, points: np.ndarray, targets: np.ndarray | None) -> None:
        """Add rows to the statistics of nodes and to the running means, and learn nothing.

        Parameters
        ----------
        points : (n, n_features) float64 in C order, nan where missing
        targets : (n,) int64 numbers of the classes, or float64 targets; None: rows enter only the running means
        """
        observe_rows(as_rows(points, NO_PREDICTIONS, targets, is_class=self.is_class), *self._arguments)

    def is_split_due(self) -> bool:
        """Whether a leaf has seen enough rows since the last attempt to split it."""
        slots = self.arrays["slots"]
        taken = np.flatnonzero(slots[:, OWNER] >= 0)
        seen = self.arrays["seen"][taken].sum(axis=1) - self.arrays["numbers"][slots[taken, OWNER], LAST_ATTEMPT]
        return bool(np.any(seen >= self.settings.grace_period))

    def split_leaves(self) -> list[SplitEvent]:
        """Split the leaves that have seen enough rows; returns the splits. The setting `batch_size` must be above 1."""
        n_before = len(self.log)
        while not split_leaves(self.is_class, *self._arguments):
            self._make_room()
        self._read_events()
        return self.log[n_before:]

    @property
    def alphas(self) -> np.ndarray:
        """Part of the smooth step in each inner node's gate, nan at leaves, (n_nodes,)."""
        inner = self.structure()[2]
        return np.where(inner, self.arrays["gates"][0, : self.n_nodes, ALPHA_AT], np.nan)

    @property
    def weights(self) -> np.ndarray:
        """Weights of the standardised features in each inner node's gate, 0 at leaves, (n_nodes, n_features)."""
        inner = self.structure()[2]
        return np.where(inner[:, None], self.arrays["gates"][0, : self.n_nodes, FIRST_WEIGHT:], 0.0)

    def standardised(self, points: np.ndarray) -> np.ndarray:
        """Rows as the gates see them, (n, n_features)."""
        scaler = self.arrays["scaler"]
        return np.nan_to_num((points - scaler[1]) * scaler[2], nan=0.0)

    def snapshot(self) -> SoftTree:
        """The tree as it is now, in the user's units."""
        nodes, numbers, inner = self.structure()
        scaler, n = self.arrays["scaler"], self.n_nodes
        gates = np.where(inner[:, None], self.arrays["gates"][0, :n], 0.0)
        weights = gates[:, FIRST_WEIGHT:] * scaler[2]
        bias = gates[:, BIAS_AT] * (self.settings.bias > 0) - weights @ scaler[1]
        values = self.arrays["values"][0, :n].copy()
        if not self.is_class:
            target = self.arrays["target_scaler"]
            values = target[1, 0] + values * math.sqrt(target[3, 0])
        # An inner node shows the mean of its leaves; children have higher numbers than their parents.
        for node in np.flatnonzero(inner)[::-1]:
            sides = nodes[node, [LEFT, RIGHT]]
            mass = numbers[sides, WEIGHT]
            values[node] = np.average(values[sides], axis=0, weights=mass if mass.sum() > 0 else None)
        passed = numbers[:, LEFT_WEIGHT] / np.maximum(numbers[:, WEIGHT], np.finfo(float).tiny)
        # Gates of the complete tree have no test; any test does where its part is 0.
        has_test = inner & (nodes[:, FEATURE] >= 0)
        return SoftTree.from_nodes(
            children_left=nodes[:, LEFT],
            children_right=nodes[:, RIGHT],
            value=values,
            n_features=self.n_features,
            gate=np.where(inner, Gate.BLEND, Gate.LEAF),
            feature=np.where(has_test, nodes[:, FEATURE], np.where(inner, 0, -1)),
            threshold=np.where(has_test, numbers[:, THRESHOLD], np.where(inner, 0.0, np.nan)),
            # a test that no row has come to divides a missing value in halves, as the loops do
            missing_left=np.where(has_test & (numbers[:, WEIGHT] > 0), passed, 0.5),
            width=np.where(inner, self.settings.gamma, 0.0),
            blend=gates[:, ALPHA_AT],
            weights=weights,
            bias=np.where(inner, bias, 0.0),
            mass=numbers[:, WEIGHT],
            link="softmax" if self.is_class else "identity",
            center=scaler[1],
            scale=np.where(scaler[2] > 0, np.sqrt(scaler[3]), 1.0),
        )

    def importances(self) -> np.ndarray:
        """Parts of the features in each gate, tests and weights, weighted by what has come to the node."""
        nodes, numbers, inner = self.structure()
        mass = np.where(numbers[:, WEIGHT] > 0, numbers[:, WEIGHT], 0.5 ** nodes[:, DEPTH])
        sizes = np.abs(self.weights)
        alpha = self.alphas
        total = np.zeros(self.n_features)
        for node in np.flatnonzero(inner):
            size = sizes[node].sum()
            if size > 0:
                total += mass[node] * alpha[node] * sizes[node] / size
            if nodes[node, FEATURE] >= 0:
                total[nodes[node, FEATURE]] += mass[node] * (1.0 - alpha[node])
        return total / total.sum() if total.sum() > 0 else total


def _gradient(tree: SoftTree, points: np.ndarray) -> np.ndarray:
    """Derivative of the outputs before the link, (n, n_outputs, n_features).

    Changing the part that a gate sends to the left moves a row's share in the gate from one child's output to the
    other's.
    """
    assert tree.weights is not None
    assert tree.center is not None
    missing = np.isnan(points)
    left, right, inner = tree.children_left, tree.children_right, np.flatnonzero(tree.children_left >= 0)
    width = np.where(tree.width > 0, tree.width, 1.0)  # leaves have none
    steps = np.clip((np.where(missing, tree.center, points) @ tree.weights.T + tree.bias) / width, -0.5, 0.5)
    slopes = tree.blend * (1.5 - 6.0 * steps**2) / width
    steps = 0.5 + 1.5 * steps - 2.0 * steps**3
    tested = points[:, tree.feature]
    passed = np.where(np.isnan(tested), tree.missing_left, tested <= tree.threshold)
    parts = tree.blend * steps + (1.0 - tree.blend) * passed
    shares = np.ones((tree.n_nodes, len(points)))
    for node in inner:  # children have higher numbers than their parents
        shares[left[node]] = shares[node] * parts[:, node]
        shares[right[node]] = shares[node] * (1.0 - parts[:, node])
    outputs = np.repeat(tree.value[:, None, :], len(points), axis=1)
    out = np.zeros((len(points), tree.n_outputs, tree.n_features))
    for node in inner[::-1]:
        change = outputs[left[node]] - outputs[right[node]]
        outputs[node] = outputs[right[node]] + parts[:, node, None] * change
        out += ((shares[node] * slopes[:, node])[:, None] * change)[:, :, None] * tree.weights[node]
    return np.where(missing[:, None, :], 0.0, out)


class SoftClassTree(SoftGrowingTree):
    """A soft tree for classes."""

    is_class = classifies = True
    axes = SoftGrowingTree.axes | {"stats": ("slots", "features", "outputs", N_NORMAL_NUMBERS)}

    def widen(self, n_features: int, n_outputs: int) -> None:
        """Add new features and classes; a new class is as rare as a row of weight 1 among those seen."""
        old = self.n_outputs
        super().widen(n_features, n_outputs)
        if 0 < old < n_outputs:
            values = self.arrays["values"][0]
            highest = values[:, :old].max(axis=1, keepdims=True)
            together = highest + np.log(np.exp(values[:, :old] - highest).sum(axis=1, keepdims=True))
            # files of earlier releases do not hold the weight
            seen = self.arrays["numbers"][0, ALL_WEIGHT] or self.n_rows
            values[:, old:] = together - math.log(seen + 1.0)

    def _copy_as_zeros(self, column: int, sibling: int) -> None:
        super()._copy_as_zeros(column, sibling)
        zeros_in_normals(self.arrays["stats"], column, sibling)


class SoftRealTree(RealGrowingTree, SoftGrowingTree):
    """A soft tree for real targets."""

    is_class = classifies = False
    axes = SoftGrowingTree.axes | {"stats": ("slots", "features", N_BINS + 1, N_BIN_NUMBERS)}

    def snapshot(self) -> SoftTree:
        """The tree as it is now, in the user's units."""
        tree = super().snapshot()
        return tree if self.unit == 1.0 else replace(tree, value=tree.value * self.unit)

    @property
    def _has_firm_scale(self) -> bool:
        # until as many far targets have come as make the loops forget their scale
        scaler = self.arrays["target_scaler"][:, 0]
        return bool(self.settings.outlier_limit > 0.0 and scaler[VARIANCE] > 0.0 and scaler[RUN] + 1.0 < SURPRISES)

    @property
    def _knows_targets(self) -> bool:
        return bool(np.any(self.arrays["target_scaler"][[1, 3], 0] != 0.0))

    def _change_unit(self, factor: float) -> None:
        scaler = self.arrays["target_scaler"][:, 0]  # all else is of standardised targets
        scaler[1] *= factor
        scaler[3] = scaler[3] * factor * factor
        scaler[2] = 1.0 / math.sqrt(scaler[3]) if scaler[3] > 0.0 else 0.0

    def _copy_as_zeros(self, column: int, sibling: int) -> None:
        super()._copy_as_zeros(column, sibling)
        zeros_in_histograms(self.arrays["stats"], column, sibling)
