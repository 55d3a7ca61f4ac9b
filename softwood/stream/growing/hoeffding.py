"""Growing Hoeffding trees, for classes and for real targets."""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.compiled.stream import learn_classes, learn_targets, predict_classes, predict_targets
from softwood.core.losses import softmax_gradient
from softwood.stream.growing.new_categories import zeros_in_histograms, zeros_in_normals, zeros_in_scaler
from softwood.stream.growing.target_units import RealGrowingTree
from softwood.stream.growing.tree import GrowingTree
from softwood.stream.loops.hoeffding_targets import FEW
from softwood.stream.loops.layout import (
    CENTRE,
    FEATURE,
    INVERSE,
    LEFT,
    MEAN,
    MODEL,
    MODEL_SCORE,
    N_NODES,
    N_SCALER_ROWS,
    OWNER,
    PLAIN,
    PLAIN_SCORE,
    RIGHT,
    SLOT,
    SPREAD,
    THRESHOLD,
    UNLIKELY,
    WEIGHT,
    ClassNodes,
    RealNodes,
)
from softwood.stream.loops.observers import BIN_MEAN, BIN_SQUARES, CENTER, FACTOR, N_BIN_NUMBERS, N_NORMAL_NUMBERS, N
from softwood.stream.loops.scales import LARGEST_ROOT
from softwood.trees.gates import Gate
from softwood.trees.tree import SoftTree

# Bins of a feature's histogram in a leaf of a regressor; halves and pairs of them must be whole.
N_BINS = 64


class HoeffdingTree(GrowingTree):
    """What both share: rows go down one path."""

    def _plant(self) -> None:
        super()._plant()
        self.arrays["nodes"][0, SLOT] = 0
        self.arrays["slots"][0, OWNER] = 0

    def _values(self) -> tuple[np.ndarray, np.ndarray]:
        """Value and impurity of each node."""
        raise NotImplementedError

    def snapshot(self) -> SoftTree:
        """The tree as it is now; its leaves hold class shares, or means."""
        nodes, numbers, inner = self.structure()
        values, impurity = self._values()
        mass = numbers[:, WEIGHT]
        missing_left = np.full(self.n_nodes, 0.5)
        # a missing value goes to the heavier side as a whole
        missing_left[inner] = mass[nodes[inner, LEFT]] >= mass[nodes[inner, RIGHT]]
        return SoftTree.from_nodes(
            children_left=nodes[:, LEFT],
            children_right=nodes[:, RIGHT],
            value=values,
            n_features=self.n_features,
            gate=np.where(inner, Gate.KERNEL, Gate.LEAF),
            feature=nodes[:, FEATURE],
            threshold=numbers[:, THRESHOLD],
            missing_left=missing_left,
            mass=mass,
            impurity=impurity,
        )

    def input_gradient(self, points: np.ndarray) -> np.ndarray:
        """Derivative of `predict` with respect to the points, (n, n_outputs, n_features): of the models in leaves."""
        out = np.zeros((len(points), self.n_outputs, self.n_features))
        if self.settings.leaf_prediction != PLAIN:
            leaves = self.snapshot().apply(points)
            has_model = self._uses_model(leaves)
            out[has_model] = np.nan_to_num(self._model_gradient(points[has_model], leaves[has_model]))
        return out

    def _uses_model(self, leaves: np.ndarray) -> np.ndarray:
        """Whether these leaves predict with their models, (n,) bool."""
        raise NotImplementedError

    def _model_gradient(self, points: np.ndarray, leaves: np.ndarray) -> np.ndarray:
        """Derivative of the models of these leaves, (n, n_outputs, n_features); nan where a value is missing."""
        raise NotImplementedError

    def importances(self) -> np.ndarray:
        """Merits of the tests of the tree by feature, weighted by what has come to the node."""
        nodes, numbers, inner = self.structure()
        merit = {event.node: event.merit for event in self.log}
        total = np.zeros(self.n_features)
        for node in np.flatnonzero(inner):
            total[nodes[node, FEATURE]] += numbers[node, WEIGHT] * max(merit.get(int(node), 0.0), 0.0)
        return total / total.sum() if total.sum() > 0 else total


class HoeffdingClassTree(HoeffdingTree):
    """A growing tree for classes."""

    classifies = True
    axes = GrowingTree.axes | {
        "counts": ("nodes", "outputs"),
        "keys": ("nodes", "outputs"),
        "stats": ("slots", "features", "outputs", N_NORMAL_NUMBERS),
    }

    def _groups(self) -> tuple:
        prediction, parent = np.empty((2, self.n_outputs)), np.empty(self.arrays["stats"].shape[1:])
        classes = ClassNodes(self.arrays["counts"], self.arrays["keys"], prediction, parent)
        return self._tree_nodes(), classes, self._statistics()

    def _promise(self, nodes: np.ndarray) -> np.ndarray:
        counts = self.arrays["counts"][nodes]
        return counts.sum(axis=1) - counts.max(axis=1)

    def _copy_as_zeros(self, column: int, sibling: int) -> None:
        zeros_in_normals(self.arrays["stats"], column, sibling)

    def _learn(self, rows: Any, start: int) -> tuple[int, bool, int]:
        return learn_classes(rows, start, *self._arguments)

    def _predict(self, rows: Any) -> None:
        predict_classes(rows, *self._arguments)

    def _uses_model(self, leaves: np.ndarray) -> np.ndarray:
        numbers = self.arrays["numbers"][leaves]
        is_better = numbers[:, MODEL_SCORE] >= numbers[:, PLAIN_SCORE]
        has_seen = self.arrays["counts"][leaves].any(axis=1) & (self.arrays["nodes"][leaves, SLOT] >= 0)
        return has_seen & ((self.settings.leaf_prediction == MODEL) | is_better)

    def _model_gradient(self, points: np.ndarray, leaves: np.ndarray) -> np.ndarray:
        slots, stats = self.arrays["nodes"][leaves, SLOT], self.arrays["stats"]
        center, factor = (np.swapaxes(stats[slots, :, :, number], 1, 2) for number in (CENTER, FACTOR))
        logs = 2.0 * factor * (points[:, None, :] - center)  # derivatives of the logarithms of normal densities
        logs[:, :, self.arrays["is_category"] > 0] = 0.0
        if self.settings.unseen_values == UNLIKELY:
            # Rows whose density is 0 in all classes get the class frequencies of the leaf.
            is_dead = self._has_no_density(points, slots) | (self.arrays["counts"][leaves] <= 0.0)
            logs[is_dead.all(axis=1)] = 0.0
        return softmax_gradient(self.predict(points), np.nan_to_num(logs))

    def _has_no_density(self, points: np.ndarray, slots: np.ndarray) -> np.ndarray:
        """Whether the density of a row in a class is 0, as the class has not shown a value of it, (n, n_outputs)."""
        stats, known = self.arrays["stats"], ~np.isnan(points)[:, :, None]
        n, center, factor = (stats[slots, :, :, number] for number in (N, CENTER, FACTOR))
        is_unseen = np.where(
            self.arrays["is_category"][:, None] > 0,
            (points[:, :, None] > 0.5) & (n == 0.0),
            (factor == 0.0) & ((points[:, :, None] != center) | (n == 0.0)),
        )
        return (known & is_unseen).any(axis=1)

    def _values(self) -> tuple[np.ndarray, np.ndarray]:
        counts = self.arrays["counts"][: self.n_nodes]
        total = counts.sum(axis=1, keepdims=True)
        shares = np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1.0 / max(1, self.n_outputs))
        terms = np.where(shares > 0, shares * np.log2(np.where(shares > 0, shares, 1.0)), 0.0)
        return shares, -terms.sum(axis=1)


class HoeffdingRealTree(RealGrowingTree, HoeffdingTree):
    """A growing tree for real targets."""

    classifies = False
    axes = GrowingTree.axes | {
        "models": ("nodes", ("features", 1)),
        "scaler": (N_SCALER_ROWS, "features"),
        "stats": ("slots", "features", N_BINS + 1, N_BIN_NUMBERS),
    }

    def _groups(self) -> tuple:
        return self._tree_nodes(), RealNodes(self.arrays["models"], self.arrays["scaler"]), self._statistics()

    def _promise(self, nodes: np.ndarray) -> np.ndarray:
        return self.arrays["numbers"][nodes, SPREAD]

    def _copy_as_zeros(self, column: int, sibling: int) -> None:
        zeros_in_scaler(self.arrays["scaler"], column, sibling)
        zeros_in_histograms(self.arrays["stats"], column, sibling)

    def _learn(self, rows: Any, start: int) -> tuple[int, bool, int]:
        return learn_targets(rows, start, *self._arguments)

    def _predict(self, rows: Any) -> None:
        tree, reals, _ = self._arguments
        predict_targets(rows, tree, reals)

    def _uses_model(self, leaves: np.ndarray) -> np.ndarray:
        numbers = self.arrays["numbers"][leaves]
        is_better = (numbers[:, WEIGHT] >= FEW) & (numbers[:, MODEL_SCORE] <= numbers[:, PLAIN_SCORE])
        return (self.settings.leaf_prediction == MODEL) | is_better

    def _model_gradient(self, points: np.ndarray, leaves: np.ndarray) -> np.ndarray:
        scaler = self.arrays["scaler"]
        with np.errstate(over="ignore"):
            is_near = np.abs((points - scaler[CENTRE]) * scaler[INVERSE]) <= LARGEST_ROOT  # others count as there
        slopes = self.arrays["models"][leaves, 1:] * scaler[INVERSE] * self.unit
        return np.where(is_near, slopes, 0.0)[:, None, :]

    @property
    def _knows_targets(self) -> bool:
        return bool(np.any(self.arrays["numbers"][0, [MEAN, SPREAD]] != 0.0))

    def _change_unit(self, factor: float) -> None:
        numbers, stats = self.arrays["numbers"], self.arrays["stats"][:, :, :N_BINS]
        numbers[:, MEAN] *= factor
        self.arrays["models"] *= factor
        stats[..., BIN_MEAN] *= factor
        for _ in range(2):  # the square of the factor may be no float
            numbers[:, [SPREAD, MODEL_SCORE, PLAIN_SCORE]] *= factor
            stats[..., BIN_SQUARES] *= factor
        self._change_log(factor)

    def _values(self) -> tuple[np.ndarray, np.ndarray]:
        numbers = self.arrays["numbers"][: int(self.arrays["counters"][N_NODES])]
        spread = numbers[:, SPREAD] / np.maximum(numbers[:, WEIGHT], np.finfo(float).tiny)
        if self.unit != 1.0:  # as far as floats go
            with np.errstate(over="ignore"):
                spread = np.minimum(spread * self.unit * self.unit, np.finfo(float).max)
        return numbers[:, [MEAN]] * self.unit, spread
