"""Certificates: how far readings can be off before a prediction changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from softwood.core.extras import require
from softwood.explanations.box_bounds import BoxModel
from softwood.fitted import FittedModel


def certified_radius(model: Any, X: Any) -> Certificates:
    """How far the readings of each row can be off while the predicted class is certain to stay the same.

    A certificate is a proof, not an estimate: no row within it has another class. It may be smaller than the largest
    move that keeps the class. For a tree with a single kernel gate it is exact, up to rounding.

    Parameters
    ----------
    model : fitted estimator, `SoftTree` or `SoftForest`
        The class of a `SoftTree` or `SoftForest` with several outputs is the output with the largest prediction.
    X : array-like or data frame of shape (n_rows, n_features_in)
        The rows.

    Returns
    -------
    Certificates
        How far each row and each value can move.

    Notes
    -----
    Missing values, categories and dates of several parts must not change. A reading of a column that is tested crisply,
    with bandwidth 0, can move until it passes a threshold that may change the class.

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
    known = FittedModel.of(model, "certified_radius")
    if known.differs:
        return _nothing(known, X)
    box = BoxModel.of(known)
    matrix = box.known.encode(X)
    predictions = box.known.predict(X)
    columns = box.known.columns
    bandwidths = box.bandwidths
    n, n_inputs = len(matrix), len(columns.inputs)
    radius, reach = np.full(n, np.nan), np.full((n, n_inputs), np.nan)
    column_reasons = {
        columns.inputs[j]: f"a {'date' if columns.categories[j] is None else 'category'} must not change"
        for j in np.flatnonzero(~columns.is_number).tolist()
    }
    moving = np.flatnonzero(columns.is_number[columns.source])
    reason = ""
    if not box.has_classes:
        reason = "a regressor has no classes; see largest_change"
    else:
        labels = box.labels(predictions)
        reason = box.why_no_radius
        if not reason:
            radius = box.radius(matrix, labels)
        by_feature = box.reach(matrix, labels)
        for k in moving:
            reach[:, columns.source[k]] = by_feature[:, k]
    per_input = np.full(n_inputs, np.nan)
    for k in moving:
        per_input[columns.source[k]] = bandwidths[k]
    return Certificates(columns.inputs, predictions, radius, reach, per_input, reason, column_reasons, box, matrix)


def certify(model: Any, X: Any, errors: Any) -> np.ndarray:
    """Whether the class of each row is certain, whatever the true readings within the measurement errors are.

    Parameters
    ----------
    model : fitted classifier, SoftTree or SoftForest
        The model that predicts. Trees must have several outputs.
    X : array-like or data frame of shape (n_rows, n_features_in)
        The rows.
    errors : float, array-like of shape (n_features_in,) or (n_rows, n_features_in), dict or Series
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
    known = FittedModel.of(model, "certify")
    if known.differs:
        raise ValueError(known.differs)
    box = BoxModel.of(known)
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
    columns : tuple of str
        Names of the columns.
    predictions : ndarray of shape (n_rows, n_outputs)
        Class probabilities or targets.
    radius : ndarray of shape (n_rows,)
        The class stays while the sum of ``abs(move) / bandwidth`` over the columns is below the radius. Columns with
        bandwidth 0 must not move. nan if there is no such certificate, with the `reason`.
    reach : ndarray of shape (n_rows, n_features_in)
        How far a reading can be off if all others are right, in the units of the column: the class stays while the
        reading moves by less. Infinite if this column cannot change the class of this row; nan for missing values and
        for columns without a certificate, with the reason in `column_reasons`.
    bandwidths : ndarray of shape (n_features_in,)
        Half-width of the kernel of each column; infinite for columns that the model does not use, nan for categories.
        For kernels that are no boxes, the half-width of the box with the same highest density. If gates differ, the
        smallest.
    reason : str
        Why there is no `radius`. Empty if there is one.
    column_reasons : dict of str to str
        Why columns have no `reach`, by name.
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
        """Smallest and largest prediction that measurement errors can lead to.

        Parameters
        ----------
        errors : float, array-like, dict or Series
            Largest difference of each value from the true one, as in `certify`.

        Returns
        -------
        low : ndarray of shape (n_rows, n_outputs)
            Smallest predictions.
        high : ndarray of shape (n_rows, n_outputs)
            Largest predictions.
        """
        if self._box is None:
            raise ValueError(self.reason)
        deltas = self._box.read_errors(errors, len(self._matrix), "bounds")
        return self._box.bounds(self._matrix, deltas)

    def largest_change(self, errors: Any) -> np.ndarray:
        """Largest difference that measurement errors can make to the predictions.

        Predictions are class probabilities or targets. No row within the errors has a prediction that differs by more.

        Parameters
        ----------
        errors : float, array-like, dict or Series
            Largest difference of each value from the true one, as in `certify`.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            Largest differences.

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
        pandas = require("pandas", None, "A table as a data frame")
        frame = pandas.DataFrame(self.reach, columns=list(self.columns))
        frame.insert(0, "radius", self.radius, allow_duplicates=True)
        return frame

    def __repr__(self) -> str:
        known = self.radius[~np.isnan(self.radius)]
        what = f"median radius {np.median(known):.3g} bandwidths" if len(known) else f"no radius: {self.reason}"
        return f"<Certificates of {len(self.radius)} rows and {len(self.columns)} columns, {what}>"


def _nothing(known: FittedModel, X: Any) -> Certificates:
    """Certificates of a model that has none, because its predictions are not those of its trees."""
    matrix, columns = known.encode(X), known.columns
    n = len(columns.inputs)
    none = np.full((len(matrix), n), np.nan)
    reasons = dict.fromkeys(columns.inputs, known.differs)
    return Certificates(
        columns.inputs, known.predict(X), none[:, 0], none, np.full(n, np.nan), known.differs, reasons, None, matrix
    )
