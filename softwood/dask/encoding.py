"""What workers do first: read a part of the rows, and tell which columns, categories and classes it has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from softwood.base import read_weights
from softwood.core.encoding import find_categories, read_table
from softwood.core.tables import take_rows
from softwood.core.targets import read_classes
from softwood.kernel.parts.sources import RawRows


@dataclass(frozen=True)
class Description:
    """What a part of the rows is made of; two of them can be added.

    Attributes
    ----------
    n_rows : number of rows that have a weight
    names : names of the columns; None if they have none
    categories : categories of each column, or a few of its dates; None for columns of numbers
    n_targets : number of columns of y; 0 for a vector
    classes : different classes of y, or names of its columns; None for real targets
    """

    n_rows: int
    names: tuple | None
    categories: list[set | None]
    n_targets: int
    classes: np.ndarray | None

    def __add__(self, other: Description) -> Description:
        if self.n_rows == 0 or other.n_rows == 0:
            return other if self.n_rows == 0 else self
        if self.names != other.names or len(self.categories) != len(other.categories):
            raise ValueError(f"Parts of X have different columns: {self._columns} and {other._columns}.")
        if self.n_targets != other.n_targets:
            raise ValueError(f"Parts of y have different shapes: {self.n_targets} and {other.n_targets} columns.")
        categories = [
            None if mine is None and theirs is None else (mine or set()) | (theirs or set())
            for mine, theirs in zip(self.categories, other.categories, strict=True)
        ]
        classes = self.classes
        if self.n_targets == 0 and self.classes is not None and other.classes is not None:
            classes = np.unique(np.concatenate([self.classes, other.classes]))
        return Description(self.n_rows + other.n_rows, self.names, categories, self.n_targets, classes)

    @property
    def _columns(self) -> str:
        return str(len(self.categories)) if self.names is None else repr(list(self.names))


def as_given(x: Any, y: Any, weights: Any) -> tuple[Any, Any, Any]:
    """A part as it is."""
    return x, y, weights


def describe(part: tuple[Any, Any, Any], estimator: Any) -> Description:
    """Columns, categories and classes of a part; wrong shapes and missing targets are errors."""
    x, y, weights = part
    if len(np.shape(x)) != 2:
        raise ValueError(f"Parts of X must have rows and columns. Got shape {np.shape(x)}.")
    n = x.shape[0]
    if len(y) != n:
        raise ValueError(f"A part of X has {n} rows, but that of y has {len(y)}.")
    rows = np.flatnonzero(read_weights(weights, n) > 0)
    names = tuple(x.columns) if hasattr(x, "columns") else None
    if len(rows) == 0:
        return Description(0, names, [None] * x.shape[1], 0, None)
    if len(rows) < n:  # the others have no effect, whatever they hold
        x, y = take_rows(x, rows), take_rows(y, rows)
    shape = np.shape(y)
    n_targets = shape[1] if len(shape) == 2 and shape[1] > 1 else 0
    classes = None
    if hasattr(estimator, "class_weight"):
        classes = read_classes(y).classes
    else:
        check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    return Description(
        len(rows),
        names,
        find_categories(estimator, x, estimator.categorical_features, estimator.dates),
        n_targets,
        classes,
    )


@dataclass(frozen=True)
class Reader:
    """Reads and encodes parts.

    Attributes
    ----------
    estimator : a local estimator that knows its columns, and its classes if it has any
    has_shares : whether the targets are probabilities of classes
    """

    estimator: Any
    has_shares: bool

    def __call__(self, x: Any, y: Any, weights: Any) -> RawRows:
        """The rows of a part that have a weight."""
        estimator = self.estimator
        classes = getattr(estimator, "classes_", None)
        sample_weight = read_weights(weights, x.shape[0])
        rows = np.flatnonzero(sample_weight > 0)
        if len(rows) == 0:
            return RawRows(np.empty((0, len(estimator.columns_.names))), self._no_targets(), np.empty(0))
        if len(rows) < len(sample_weight):
            x, y, sample_weight = take_rows(x, rows), take_rows(y, rows), sample_weight[rows]
        matrix, _ = read_table(estimator, x, reset=False, columns=estimator.columns_)
        if classes is None:
            targets = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y").reshape(len(rows), -1)
        else:
            given = read_classes(y)
            given = given.numbered_as(classes, "y") if given.shares is None else given
            targets = given.labels if given.shares is None else given.shares
        return RawRows(matrix, targets, sample_weight)

    def _no_targets(self) -> np.ndarray:
        estimator = self.estimator
        classes = getattr(estimator, "classes_", None)
        if classes is None:
            return np.empty((0, estimator.n_outputs_))
        return np.empty((0, len(classes))) if self.has_shares else np.empty(0, np.int32)
