"""Certificates: how far readings can be off before a prediction changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

from softwood.core.parameters import parameter_error
from softwood.export.portable import PortableModel
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.tree import KernelShapes

if TYPE_CHECKING:
    from softwood.explanations.loops.certificates import Ensemble, Room, Trees

__all__ = ["Certificates", "certified_radius", "certify"]

# Rounding of a sum of leaf values, relative to the sum of their sizes; and the least that counts as a lead.
_ROUNDING, _LEAST_LEAD = 1e-11, 1e-14
# First trial of how far a reading of oblique gates can move, relative to its size; the search doubles it.
_FIRST_STEP = 1e-3
# Rows for which the predictions of all trees are kept at once.
_BLOCK = 1000


def certified_radius(model: Any, X: Any) -> Certificates:
    """How far the readings of each row can be off while the predicted class is certain to stay the same.

    A certificate is a proof, not an estimate: no row within it has another class. It may be smaller than the largest
    move that keeps the class. For a tree with a single kernel gate it is exact, up to rounding.

    Parameters
    ----------
    model : fitted estimator, `SoftTree` or `SoftForest`
        The class of a `SoftTree` or `SoftForest` with several outputs is the output with the largest prediction.
    X : (n_rows, n_features_in) array or data frame

    Returns
    -------
    Certificates

    Notes
    -----
    Missing values and categories must not change. A reading of a column that is tested crisply, with bandwidth 0, can
    move until it passes a threshold that may change the class.

    The bounds are the better of two, for each tree. The first follows the box of possible readings through the tree:
    each gate sends a part of the row to the left that lies in an interval, so the prediction of each node lies in one
    too. The second uses that the shares of the leaves are masses of the kernel: a box kernel of half-width h that
    moves by d takes a share of at most d / 2h of the row to other leaves.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.explanations import certified_radius
    >>> iris = load_iris(as_frame=True)
    >>> model = KernelTreeClassifier(bandwidth=0.2, max_leaf_nodes=3).fit(iris.data, iris.target)
    >>> certificates = certified_radius(model, iris.data.iloc[[0, 100]])
    >>> certificates.to_frame()["petal length (cm)"].round(2).tolist()
    [1.06, 3.54]

    The petals of the first flower may be up to 1.06 cm longer or shorter than measured, if all else is right: its
    class remains the same. Those of the other one may be 3.54 cm longer or shorter.
    """
    try:
        box = BoxModel.of(model, "certified_radius")
    except ValueError as error:
        model = getattr(model, "best_model_", model)  # of a pool
        if not hasattr(model, "columns_"):  # not fitted, or without a table
            raise
        return _nothing(model, X, str(error))
    matrix = box.known.encode(X)
    predictions = box.known.predict(X)
    columns = box.known.columns
    bandwidths = box.bandwidths
    n, n_inputs = len(matrix), len(columns.inputs)
    radius, reach = np.full(n, np.nan), np.full((n, n_inputs), np.nan)
    column_reasons = {
        name: "a category must not change"
        for name, categories in zip(columns.inputs, columns.categories, strict=True)
        if categories is not None
    }
    reason = ""
    if not box.has_classes:
        reason = "a regressor has no classes; see largest_change"
    else:
        labels = box.labels(predictions)
        reason = box.why_no_radius
        if not reason:
            radius = box.radius(matrix, labels)
        by_feature = box.reach(matrix, labels)
        for k in np.flatnonzero(~columns.is_category):
            reach[:, columns.source[k]] = by_feature[:, k]
    per_input = np.full(n_inputs, np.nan)
    for k in np.flatnonzero(~columns.is_category):
        per_input[columns.source[k]] = bandwidths[k]
    return Certificates(columns.inputs, predictions, radius, reach, per_input, reason, column_reasons, box, matrix)


def certify(model: Any, X: Any, errors: Any) -> np.ndarray:
    """Whether the class of each row is certain, whatever the true readings within the measurement errors are.

    Parameters
    ----------
    model : fitted classifier, or `SoftTree` or `SoftForest` with several outputs
    X : (n_rows, n_features_in) array or data frame
    errors : number, array (n_features_in,) or (n_rows, n_features_in), dict or Series by column
        Largest difference of each reading from the true value, in the units of the column; infinity for a reading
        that may have any value. A single number holds for all columns of numbers. Columns that a dict does not name
        have no error. Categories and missing values do not change.

    Returns
    -------
    (n_rows,) bool
        True: no row within these errors has another class; False: there may be one. A row with two equally probable
        classes is not certain.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.explanations import certify
    >>> iris = load_iris(as_frame=True)
    >>> model = KernelTreeClassifier(bandwidth=0.2, max_leaf_nodes=3).fit(iris.data, iris.target)
    >>> certain = certify(model, iris.data, {"petal length (cm)": 0.1, "petal width (cm)": 0.1})
    >>> int(certain.sum()), len(certain)
    (144, 150)
    """
    box = BoxModel.of(model, "certify")
    if not box.has_classes:
        raise TypeError(
            f"certify takes a classifier, and {box.known.kind} has no classes; "
            "see largest_change of what certified_radius returns."
        )
    matrix = box.known.encode(X)
    deltas = box.read_errors(errors, len(matrix), "certify")
    return box.certain(matrix, deltas, box.labels(box.known.predict(X)))


@dataclass(frozen=True, eq=False, repr=False)
class Certificates:
    """How far readings can be off; `certified_radius` makes it.

    Attributes
    ----------
    columns : names of the columns
    predictions : (n_rows, n_outputs) class probabilities or targets
    radius : (n_rows,)
        The class stays while the sum of ``abs(move) / bandwidth`` over the columns is below the radius. Columns with
        bandwidth 0 must not move. nan if there is no such certificate, with the `reason`.
    reach : (n_rows, n_features_in)
        How far a reading can be off if all others are right, in the units of the column: the class stays while the
        reading moves by less. Infinite if this column cannot change the class of this row; nan for missing values and
        for columns without a certificate, with the reason in `column_reasons`.
    bandwidths : (n_features_in,)
        Half-width of the kernel of each column; infinite for columns that the model does not use, nan for categories.
        For kernels that are no boxes, the half-width of the box with the same highest density. If gates differ, the
        smallest.
    reason : why there is no `radius`; empty if there is one
    column_reasons : why columns have no `reach`, by name
    """

    columns: tuple[str, ...]
    predictions: np.ndarray
    radius: np.ndarray
    reach: np.ndarray
    bandwidths: np.ndarray
    reason: str
    column_reasons: dict[str, str]
    _box: BoxModel | None
    _matrix: np.ndarray

    def bounds(self, errors: Any) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest prediction that measurement errors can lead to, (n_rows, n_outputs) each.

        Parameters
        ----------
        errors : as in `certify`
        """
        if self._box is None:
            raise ValueError(self.reason)
        deltas = self._box.read_errors(errors, len(self._matrix), "bounds")
        return self._box.bounds(self._matrix, deltas)

    def largest_change(self, errors: Any) -> np.ndarray:
        """Largest difference that measurement errors can make to the predictions, (n_rows, n_outputs).

        Predictions are class probabilities or targets. No row within the errors has a prediction that differs by more.

        Parameters
        ----------
        errors : as in `certify`

        Examples
        --------
        >>> import numpy as np
        >>> from softwood import KernelTreeRegressor
        >>> from softwood.explanations import certified_radius
        >>> X = np.arange(20.0)[:, None]
        >>> model = KernelTreeRegressor(bandwidth=1.0, bandwidth_unit="absolute", max_depth=1).fit(X, X[:, 0] >= 10)
        >>> certified_radius(model, [[9.0], [5.0]]).largest_change(0.5).ravel().round(2)
        array([0.24, 0.  ])
        """
        low, high = self.bounds(errors)
        return np.maximum(high - self.predictions, self.predictions - low)

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each row: the radius, and the reach of each column."""
        from softwood.core.extras import require

        pandas = require("pandas", None, "A table as a data frame")
        frame = pandas.DataFrame(self.reach, columns=list(self.columns))
        frame.insert(0, "radius", self.radius, allow_duplicates=True)
        return frame

    def __repr__(self) -> str:
        known = self.radius[~np.isnan(self.radius)]
        what = f"median radius {np.median(known):.3g} bandwidths" if len(known) else f"no radius: {self.reason}"
        return f"<Certificates of {len(self.radius)} rows and {len(self.columns)} columns, {what}>"


@dataclass(frozen=True, eq=False, repr=False)
class BoxModel:
    """A model with all that the loops of `softwood.explanations.loops.certificates` take.

    Attributes
    ----------
    known : the model as exports read it
    forest : its trees
    trees, ensemble, weights : arguments of the loops
    bandwidths : (n_features,) see `Certificates`; nan at features of oblique gates
    """

    known: PortableModel
    forest: SoftForest
    trees: Trees
    ensemble: Ensemble
    weights: np.ndarray | None
    bandwidths: np.ndarray

    @classmethod
    def of(cls, model: Any, caller: str) -> BoxModel:
        """Read a model; a ValueError if its predictions are not those of its trees."""
        from softwood.explanations.loops.certificates import Ensemble, Trees

        known = PortableModel.of(model, caller)
        forest = known.forest
        is_box, rates, bandwidths = _rates(forest)
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
    def has_classes(self) -> bool:
        """Whether the largest output is a class."""
        is_bare = self.known.kind in ("SoftTree", "SoftForest")
        return self.known.classes is not None or (is_bare and self.known.n_outputs > 1)

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
        moving = np.where(self.known.columns.is_category | np.isnan(self.bandwidths), 0.0, self.bandwidths)
        out = np.empty((len(matrix), 1))
        self._search(matrix, np.tile(moving, (len(matrix), 1)), True, labels, out)
        return out[:, 0]

    def reach(self, matrix: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Largest move of each reading alone, (n_rows, n_features); nan where it is missing."""
        starts, is_used = self._first_trials(matrix)
        out = np.where(is_used, np.nan, np.inf) + 0.0 * matrix
        self._search(matrix, starts, False, labels, out)
        out[:, is_used] *= starts[:, is_used]
        out[:, self.known.columns.is_category] = np.nan
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
        starts[:, ~is_used | self.known.columns.is_category] = 0.0
        starts[np.isnan(matrix)] = 0.0
        return starts, is_used

    def read_errors(self, errors: Any, n: int, caller: str) -> np.ndarray:
        """Measurement errors of the features, (n, n_features); 0 for categories."""
        columns = self.known.columns
        n_inputs = len(columns.inputs)
        is_number = np.array([categories is None for categories in columns.categories], dtype=bool)
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
        return np.ascontiguousarray(np.where(columns.is_category, 0.0, columns.spread(per_input)))


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


def _densities(shapes: KernelShapes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each shape of half-width 1 its highest density, the mass that moves per unit, and whether it is one piece.

    A kernel that moves by a little moves half of the sum of the heights of its steps: for a kernel with one peak, the
    highest density.
    """
    highest, moving, is_flat = [], [], []
    for edges, cdf in zip(shapes.edges, shapes.cdfs, strict=True):
        lengths = np.diff(edges)
        densities = np.diff(cdf)[lengths > 0] / lengths[lengths > 0]
        steps = np.diff(np.concatenate([[0.0], densities, [0.0]]))
        highest.append(densities.max())
        moving.append(0.5 * np.abs(steps).sum())
        is_flat.append(len(densities) == 1)
    return np.array(highest), np.array(moving), np.array(is_flat)


def _rates(forest: SoftForest) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`is_box` and `rates` of `Ensemble`, and the bandwidths of the features (n_features,)."""
    highest, moving, is_flat = _densities(forest.shapes)
    p, n_trees = forest.n_features, len(forest)
    is_box, rates = np.ones((n_trees, p), dtype=np.bool_), np.zeros((n_trees, p))
    bandwidths = np.full(p, np.inf)
    tree = np.repeat(np.arange(n_trees), forest.sizes)
    at = np.flatnonzero(forest.gate == Gate.KERNEL)
    place = (tree[at], forest.feature[at])
    with np.errstate(divide="ignore"):
        own = 0.5 * forest.width[at] / highest[forest.kernel[at]]
        mass = moving[forest.kernel[at]] / forest.width[at]
    np.minimum.at(bandwidths, forest.feature[at], own)
    smallest, largest = np.full((n_trees, p), np.inf), np.full((n_trees, p), -np.inf)
    first, last = np.full((n_trees, p), len(highest)), np.full((n_trees, p), -1)
    np.minimum.at(smallest, place, forest.width[at])
    np.maximum.at(largest, place, forest.width[at])
    np.minimum.at(first, place, forest.kernel[at])
    np.maximum.at(last, place, forest.kernel[at])
    np.maximum.at(rates, place, mass)
    is_mixed = (smallest < largest) | ((first < last) & (largest > 0))
    # The shares of gates with different kernels are not masses of one kernel: the shift has no bound.
    rates[is_mixed] = np.inf
    is_box &= ~is_mixed
    has_steps = np.zeros((n_trees, p), dtype=np.bool_)
    np.logical_or.at(has_steps, place, ~is_flat[forest.kernel[at]] & (forest.width[at] > 0))
    is_box &= ~has_steps
    blends = np.flatnonzero(forest.gate == Gate.BLEND)
    rates[tree[blends], forest.feature[blends]] = np.inf
    bandwidths[forest.feature[blends]] = np.nan
    if forest.weights is not None:
        rates[:] = np.inf  # no tree of a family has gates of both kinds
        bandwidths[np.any(forest.weights != 0, axis=0)] = np.nan
    return is_box, rates, bandwidths


def _nothing(model: Any, X: Any, reason: str) -> Certificates:
    """Certificates of a model that has none, for a reason."""
    matrix, columns = model._matrix(X), model.columns_
    classes = hasattr(model, "predict_proba")
    predictions = np.asarray(model.predict_proba(X) if classes else model.predict(X)).reshape(len(matrix), -1)
    n = len(columns.inputs)
    none = np.full((len(matrix), n), np.nan)
    reasons = dict.fromkeys(columns.inputs, reason)
    return Certificates(
        columns.inputs, predictions, none[:, 0], none, np.full(n, np.nan), reason, reasons, None, matrix
    )
