"""What Shapley values explain: the raw outputs of a model as a function of encoded rows, and its columns as players."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from softwood.core.encoding import read_table
from softwood.outputs import Outputs, named_outputs
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.tree import SoftTree

__all__ = ["ExplainedModel", "absent_shares", "read_explained"]

# Encoded rows, and half-widths of single cells or None.
Points = tuple[np.ndarray, np.ndarray | None]


@dataclass(frozen=True, eq=False, repr=False)
class ExplainedModel:
    """A fitted model as a game needs it.

    Attributes
    ----------
    model : the estimator, or None for a bare tree or forest
    trees : its trees
    columns : names of the players: the columns of the table
    source : (n_features,) number of the column that each feature of the trees comes from
    outputs : names of the outputs, and what they are
    factors : whether the share of a leaf is a product over the columns, so that values can be computed exactly
    score : function from encoded rows and half-widths of cells to outputs, (n_rows, n_outputs); nan is a missing value
    """

    model: Any
    trees: SoftTree | SoftForest
    columns: tuple[str, ...]
    source: np.ndarray
    outputs: Outputs
    factors: bool
    score: Callable[[np.ndarray, np.ndarray | None], np.ndarray]

    def encode(self, X: Any) -> Points:
        """Encoded rows of a table, (n_rows, n_features), nan where missing, and half-widths of cells or None."""
        if _is_empty(X):
            self._check_columns(X)
            return np.empty((0, self.trees.n_features)), None
        model = self.model
        if model is None:
            return self.trees._points(X), None
        if hasattr(model, "_scaling_"):  # its own reader would put means in place of missing values
            return read_table(model, X, reset=False, columns=model.columns_)[0], None
        if hasattr(model, "growth_"):
            return model._matrix(X), None
        return model._read_points(X)

    def _check_columns(self, X: Any) -> None:
        if self.model is None:
            self.trees._points(np.asarray(X, dtype=np.float64))
        else:
            validate_data(self.model, X, reset=False, skip_check_array=True)

    @property
    def used(self) -> np.ndarray:
        """Numbers of the columns that the model may depend on."""
        trees = self.trees
        if self._has_leaf_models:
            return np.arange(len(self.columns))
        is_used = np.zeros(trees.n_features, dtype=bool)
        tests_one = (trees.gate == Gate.KERNEL) | (trees.gate == Gate.SUBSET)
        is_used[trees.feature[tests_one | ((trees.gate == Gate.BLEND) & (trees.blend < 1.0))]] = True
        if trees.weights is not None:
            is_used |= np.any(trees.weights[trees.gate > Gate.KERNEL] != 0.0, axis=0)
        return np.unique(self.source[is_used])

    @property
    def _has_leaf_models(self) -> bool:
        return self.model is not None and hasattr(self.model, "growth_") and _has_leaf_models(self.model.growth_)


def read_explained(model: Any, caller: str) -> ExplainedModel:
    """Read a fitted estimator, a `SoftTree` or a `SoftForest`; `caller` is named in error messages."""
    if isinstance(model, SoftTree | SoftForest):
        names = tuple(f"x[{j}]" for j in range(model.n_features))
        return _explained(None, model, names, np.arange(model.n_features))
    if hasattr(model, "best_model_"):  # a pool predicts with its best model
        check_is_fitted(model)
        return read_explained(model.best_model_, caller)
    try:
        check_is_fitted(model)
    except TypeError:  # no estimator at all
        trees = None
    else:
        trees = getattr(model, "_finished", None)
    if not isinstance(trees, SoftTree | SoftForest):
        raise TypeError(f"{caller} takes a fitted estimator of softwood, a SoftTree or a SoftForest. Got {model!r}.")
    return _explained(model, trees, model.columns_.inputs, model.columns_.source)


def absent_shares(trees: SoftTree | SoftForest) -> np.ndarray:
    """Share of an absent value that goes left at each gate, (n_nodes,).

    It is that of a missing value. Where a missing value goes to one side as a whole, it is the share of the training
    mass that went left, if the masses are known.
    """
    shares = trees.missing_left.copy()
    inner = np.flatnonzero(trees.children_left >= 0)
    begin = np.broadcast_to(trees._begin, trees.n_nodes)[inner]
    left = trees.mass[trees.children_left[inner] + begin]
    both = left + trees.mass[trees.children_right[inner] + begin]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = left / both
    is_whole = (shares[inner] == 0.0) | (shares[inner] == 1.0)
    is_known = np.isfinite(ratio) & (both > 0)
    shares[inner] = np.where(is_whole & is_known, ratio, shares[inner])
    return shares


def _explained(
    model: Any, trees: SoftTree | SoftForest, columns: tuple[str, ...], source: np.ndarray
) -> ExplainedModel:
    growth = getattr(model, "growth_", None)
    only_kernels = bool(np.all(np.isin(trees.gate, (Gate.LEAF, Gate.KERNEL, Gate.SUBSET))))
    is_sum = trees.link == "identity" or isinstance(trees, SoftTree)
    return ExplainedModel(
        model,
        trees,
        columns,
        source,
        named_outputs(model, trees),
        factors=only_kernels and is_sum and not (growth is not None and _has_leaf_models(growth)),
        score=_score_of(model, trees),
    )


def _score_of(model: Any, trees: SoftTree | SoftForest) -> Callable[[np.ndarray, np.ndarray | None], np.ndarray]:
    """Function from encoded rows to raw outputs, with the family's own rule for missing values."""
    growth, scaling = getattr(model, "growth_", None), getattr(model, "_scaling_", None)
    raw = trees.raw if isinstance(trees, SoftTree) else trees.predict
    if growth is not None:
        of_growth = growth.raw if getattr(growth, "is_class", False) else growth.predict
        return lambda points, widths: of_growth(points)
    if scaling is not None:
        return lambda points, widths: raw(scaling.fill(points), widths=widths)
    return lambda points, widths: raw(points, widths=widths)


def _has_leaf_models(growth: Any) -> bool:
    """Whether the leaves of a growing tree predict with models of their own, or trees of a forest vote."""
    from softwood.stream.growing.forest import GrowingForest
    from softwood.stream.growing.hoeffding import HoeffdingTree
    from softwood.stream.loops.layout import (
        PLAIN,
    )

    if isinstance(growth, GrowingForest):
        return not growth.is_plain
    return isinstance(growth, HoeffdingTree) and growth.settings.leaf_prediction != PLAIN


def _is_empty(X: Any) -> bool:
    """Whether a table has columns and no rows."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return len(shape) == 2 and shape[0] == 0
