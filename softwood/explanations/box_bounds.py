"""Bounds of the predictions of a model over boxes of inputs, and searches for the largest box with one class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from softwood.core.parameters import parameter_error
from softwood.explanations.kernel_shifts import shift_rates
from softwood.fitted import FittedModel
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate

if TYPE_CHECKING:
    from softwood.explanations.loops.certificates import Ensemble, Room, Trees

# Rounding of a sum of leaf values, relative to the sum of their sizes; and the least that counts as a lead.
_ROUNDING, _LEAST_LEAD = 1e-11, 1e-14
# First trial of how far an input of oblique gates can move, relative to its size; the search doubles it.
_FIRST_STEP = 1e-3
# Rows for which the predictions of all trees are kept at once.
_BLOCK = 1000


@dataclass(frozen=True, eq=False, repr=False)
class BoxModel:
    """A model with all that the loops of `softwood.explanations.loops.certificates` take.

    Attributes
    ----------
    known : the model, whose predictions are those of its trees
    forest : its trees
    trees, ensemble, weights : arguments of the loops
    bandwidths : (n_features,) see `Certificates`; nan at features of oblique gates
    """

    known: FittedModel
    forest: SoftForest
    trees: Trees
    ensemble: Ensemble
    weights: np.ndarray | None
    bandwidths: np.ndarray

    @classmethod
    def of(cls, model: FittedModel) -> BoxModel:
        """The arguments of the loops for a model whose predictions are those of its trees."""
        from softwood.explanations.loops.certificates import Ensemble, Trees

        known = model.alone()
        forest = known.forest
        is_box, rates, bandwidths = shift_rates(forest)
        sizes = np.abs(forest.value).max(axis=1)
        largest = np.maximum.reduceat(sizes, forest.offsets[:-1]).sum() * forest.factor
        size = float(np.abs(forest.base).max() + (1.0 if forest.link == "softmax" else largest))
        trees = Trees(
            forest.children_left, forest.children_right, forest.parent, forest.gate, forest.feature, forest.threshold,
            forest.missing_left, forest.width, forest.blend, forest.bias, forest.kernel, forest.shapes.edges,
            forest.shapes.cdfs, forest.value, forest.offsets, forest.set_words,
        )  # fmt: skip
        fill = np.full(forest.n_features, np.nan) if known.fill is None else np.array(known.fill, dtype=np.float64)
        ensemble = Ensemble(
            forest.output.astype(np.int64), forest.base, float(forest.factor), forest.link == "softmax",
            is_box, rates, fill, max(_ROUNDING * size, _LEAST_LEAD),
        )  # fmt: skip
        return cls(known, forest, trees, ensemble, forest.weights, bandwidths)

    @property
    def _is_fixed(self) -> np.ndarray:
        """Mask of the features that do not move: categories, and dates of several parts, (n_features,)."""
        columns = self.known.columns
        return ~columns.is_number[columns.source]

    @property
    def has_classes(self) -> bool:
        """Whether the largest output is a class."""
        return self.known.classes is not None or (self.known.is_bare and self.known.n_outputs > 1)

    @property
    def why_no_radius(self) -> str:
        """Why moves cannot be measured in bandwidths; empty if they can."""
        inner = self.forest.children_left >= 0
        if np.any(~np.isin(self.forest.gate[inner], (Gate.KERNEL, Gate.SUBSET))):
            return "gates that weigh several columns have no bandwidth"
        if inner.any() and not np.any((self.bandwidths > 0) & np.isfinite(self.bandwidths)):
            return "all columns that the model uses are tested crisply, with bandwidth 0"
        return ""

    def labels(self, predictions: np.ndarray) -> np.ndarray:
        """Number of the class of each row, (n_rows,)."""
        return predictions.argmax(axis=1).astype(np.int64)

    def radius(self, matrix: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Largest sum of moves in bandwidths, (n_rows,)."""
        moving = np.where(self._is_fixed | np.isnan(self.bandwidths), 0.0, self.bandwidths)
        out = np.empty((len(matrix), 1))
        self._search(matrix, np.tile(moving, (len(matrix), 1)), True, labels, out)
        return out[:, 0]

    def reach(self, matrix: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Largest move of each reading alone, (n_rows, n_features); nan where it is missing."""
        starts, is_used = self._first_trials(matrix)
        out = np.where(is_used, np.nan, np.inf) + 0.0 * matrix
        self._search(matrix, starts, False, labels, out)
        out[:, is_used] *= starts[:, is_used]
        out[:, self._is_fixed] = np.nan
        return out

    def certain(self, matrix: np.ndarray, deltas: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Whether the class is certain in boxes of these half-lengths, (n_rows,)."""
        low = self._bounds(matrix, deltas, labels)[:, 0]
        if low.shape[1] > 1:
            low[np.arange(len(low)), labels] = np.inf  # the lead over itself
        return np.asarray((low > self.ensemble.slack).all(axis=1))

    def bounds(self, matrix: np.ndarray, deltas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bounds of the predictions in boxes of these half-lengths, (n_rows, n_outputs) each."""
        found = self._bounds(matrix, deltas, np.full(len(matrix), -1))
        low, high = found[:, 0] - self.ensemble.slack, found[:, 1] + self.ensemble.slack
        if self.known.link == "logistic":
            return expit(np.column_stack([-high, low])), expit(np.column_stack([-low, high]))
        if self.known.link == "softmax":
            return _softmax_bounds(low, high), _softmax_bounds(high, low)
        return self.known.linked(low), self.known.linked(high)

    def _search(
        self, matrix: np.ndarray, deltas: np.ndarray, is_ball: bool, labels: np.ndarray, out: np.ndarray
    ) -> None:
        from softwood.compiled.explain import search_rows

        for rows in _blocks(len(matrix)):
            centres = self._centres(matrix[rows], labels[rows])
            search_rows(
                matrix[rows], deltas[rows], is_ball, labels[rows], centres, self.trees, self.ensemble, self.weights,
                self._room(), out[rows],
            )  # fmt: skip

    def _bounds(self, matrix: np.ndarray, deltas: np.ndarray, labels: np.ndarray) -> np.ndarray:
        from softwood.compiled.explain import bound_rows

        out = np.empty((len(matrix), 2, self.forest.n_outputs))
        for rows in _blocks(len(matrix)):
            centres = self._centres(matrix[rows], labels[rows])
            bound_rows(
                matrix[rows], deltas[rows], False, labels[rows], centres, self.trees, self.ensemble, self.weights,
                self._room(), out[rows],
            )  # fmt: skip
        return out

    def _centres(self, matrix: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Predictions of the trees without link, (n_rows, n_trees, n_values); of the lead of the class."""
        forest, q = self.forest, self.forest.value.shape[1]
        out = np.zeros((len(matrix), len(forest), q))
        if forest.weights is not None:  # the bound that needs them does not hold
            return out
        whole = replace(forest, link="identity")
        for number in range(len(forest)):
            out[:, number] = whole[number].raw(matrix)
        if q > 1 and q == forest.n_outputs:
            rows = np.flatnonzero(labels >= 0)
            out[rows] = np.take_along_axis(out[rows], labels[rows, None, None], axis=2) - out[rows]
        return out

    def _room(self) -> Room:
        """Scratch space of the loops."""
        from softwood.explanations.loops.certificates import Room

        n, q, p = int(self.forest.sizes.max()), self.forest.value.shape[1], self.forest.n_features
        return Room(
            np.empty(n, np.int64), np.empty(n, np.int64), np.empty((n, 2)), np.empty((n, 2)),
            np.empty((2, n, q)), np.empty((4, q)), np.empty((len(self.forest), 2, q)),
            np.empty((2, self.forest.n_outputs)), np.empty((2, p)), np.empty(p),
        )  # fmt: skip

    def _first_trials(self, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """First trials of the search for the reach, (n_rows, n_features), and which features the model uses.

        Beyond the farthest end of a kernel gate of its feature, a reading changes nothing more.
        """
        forest, p = self.forest, self.forest.n_features
        far_low, far_high = np.full(p, np.inf), np.full(p, -np.inf)
        tests = np.flatnonzero(np.isin(forest.gate, (Gate.KERNEL, Gate.BLEND)))
        ends = forest.width[tests] * np.abs(forest.shapes.edges[forest.kernel[tests]]).max(axis=1)
        np.minimum.at(far_low, forest.feature[tests], forest.threshold[tests] - ends)
        np.maximum.at(far_high, forest.feature[tests], forest.threshold[tests] + ends)
        is_tested = np.isfinite(far_low)
        is_weighed = np.zeros(p, dtype=bool) if forest.weights is None else np.any(forest.weights != 0, axis=0)
        with np.errstate(invalid="ignore"):
            starts = 1.001 * np.maximum(np.abs(matrix - far_low), np.abs(matrix - far_high))
        starts[:, is_weighed] = _FIRST_STEP * (np.abs(matrix[:, is_weighed]) + 1.0)
        is_used = is_tested | is_weighed
        starts[:, ~is_used | self._is_fixed] = 0.0
        starts[np.isnan(matrix)] = 0.0
        return starts, is_used

    def read_errors(self, errors: Any, n: int, caller: str) -> np.ndarray:
        """Measurement errors of the features, (n, n_features); 0 for categories."""
        columns = self.known.columns
        n_inputs = len(columns.inputs)
        is_number = columns.is_number
        if hasattr(errors, "items") and not isinstance(errors, Mapping):  # a Series
            errors = dict(errors.items())
        if isinstance(errors, Mapping):
            per_input = np.zeros((n, n_inputs))
            for column, error in errors.items():
                per_input[:, columns.find(caller, "errors", column)] = _numbers(error, caller, (n,))
        else:
            array = _numbers(errors, caller, (n_inputs,), (n, n_inputs))
            per_input = np.where(is_number, array, 0.0) if array.ndim == 0 else array
            per_input = np.broadcast_to(per_input, (n, n_inputs))
        for j in np.flatnonzero(~(per_input >= 0).all(axis=0)):
            expected = f"at least 0 for column {columns.inputs[j]!r}"
            raise parameter_error(caller, "errors", expected, float(per_input[~(per_input[:, j] >= 0), j][0]))
        for j in np.flatnonzero((per_input > 0).any(axis=0) & ~is_number):
            raise parameter_error(caller, "errors", "given for columns of numbers", columns.inputs[j])
        return np.ascontiguousarray(np.where(is_number[columns.source], columns.spread(per_input), 0.0))


def _blocks(n: int) -> Iterator[slice]:
    return (slice(begin, min(n, begin + _BLOCK)) for begin in range(0, n, _BLOCK))


def _numbers(given: Any, caller: str, *shapes: tuple[int, ...]) -> np.ndarray:
    """A number, or an array of one of these shapes; nan is refused by the caller, who knows the column."""
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        array = None
    if array is None or (array.ndim > 0 and array.shape not in shapes):
        expected = f"numbers: one, or an array of shape {' or '.join(map(str, shapes))}, or a dict of these by column"
        found = given if array is None else f"an array of shape {array.shape}"
        raise parameter_error(caller, "errors", expected, found)
    return array


def _softmax_bounds(own: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Softmax of each output with `own` scores for it and the scores `others` for all others, (n_rows, n_outputs)."""
    out = np.empty(own.shape)
    for k in range(own.shape[1]):
        scores = others.copy()
        scores[:, k] = own[:, k]
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        out[:, k] = powers[:, k] / powers.sum(axis=1)
    return out
