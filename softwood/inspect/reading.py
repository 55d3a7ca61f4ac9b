"""A tree together with what its estimator knows: encoded rows, names of columns and classes, targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils.validation import check_array, check_is_fitted

from softwood.gates import Gate
from softwood.targets import read_classes
from softwood.tree import SoftTree

__all__ = ["TreeReading", "check_node", "read_model"]


@dataclass(frozen=True)
class TreeReading:
    """A tree, with names of its columns and outputs.

    Attributes
    ----------
    model : the estimator, or None for a bare tree
    tree : its tree
    columns : names of the columns of X
    source : (n_features,) the column of X that each feature of the tree comes from
    outputs : names of the classes or targets; "" for a target without a name
    is_class : whether the outputs are classes; None if this is not known, for a bare tree
    """

    model: Any
    tree: SoftTree
    columns: tuple[str, ...]
    source: np.ndarray
    outputs: tuple[str, ...]
    is_class: bool | None

    @property
    def name(self) -> str:
        """Name of the model in messages."""
        return type(self.tree if self.model is None else self.model).__name__

    def points(self, X: Any) -> tuple[np.ndarray, np.ndarray | None]:
        """Encoded rows, (n_rows, n_features), and half-widths of single cells or None."""
        if self.model is None:
            return self.tree._points(X), None
        return self.model._read_points(X)

    def memberships(self, X: Any) -> sparse.csr_array:
        """Share of each row in each node, sparse (n_rows, n_nodes)."""
        points, widths = self.points(X)
        return self.tree.memberships(points, widths=widths)

    def add_up(self, per_feature: np.ndarray) -> np.ndarray:
        """Sum values of the tree's features (last axis) over each column of X."""
        out = np.zeros((*per_feature.shape[:-1], len(self.columns)))
        for k, j in enumerate(self.source):
            out[..., j] += per_feature[..., k]
        return out

    def targets(self, y: Any, n: int) -> np.ndarray:
        """Targets in the form of the tree's predictions, (n_rows, n_outputs): a class is a row of zeros and a one."""
        if self.is_class:
            matrix = _class_matrix(y, self.model.classes_)
        else:
            matrix = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
            matrix = matrix.reshape(len(matrix), -1)
        if len(matrix) != n:
            raise ValueError(f"y must have as many rows as X. Got {len(matrix)} rows, X has {n}.")
        if matrix.shape[1] != self.tree.n_outputs:
            raise ValueError(
                f"y must have {self.tree.n_outputs} columns, one for each output of the tree. Got {matrix.shape[1]}."
            )
        return matrix


def read_model(model: Any, caller: str) -> TreeReading:
    """The tree of a model; `caller` is the name of the function in the error message if there is none."""
    if isinstance(model, SoftTree):
        columns = tuple(f"x[{j}]" for j in range(model.n_features))
        outputs = _numbered(model.n_outputs)
        return TreeReading(None, model, columns, np.arange(model.n_features), outputs, None)
    try:
        check_is_fitted(model)
    except TypeError:  # no estimator at all
        tree = None
    else:
        tree = getattr(model, "tree_", None)
    if not isinstance(tree, SoftTree):
        raise TypeError(f"{caller} takes a SoftTree or a fitted estimator of softwood with one. Got {model!r}.")
    is_class = is_classifier(model)
    outputs = tuple(map(str, model.classes_)) if is_class else _numbered(tree.n_outputs)
    return TreeReading(model, tree, model.columns_.inputs, model.columns_.source, outputs, is_class)


def check_node(tree: SoftTree, node: Any) -> int:
    """Check that `node` is the number of a node with an oblique gate."""
    if not isinstance(node, int | np.integer) or isinstance(node, bool) or not 0 <= node < tree.n_nodes:
        raise ValueError(
            f"The 'node' parameter must be an int in the range [0, {tree.n_nodes - 1}]. Got {node!r} instead."
        )
    if tree.gate[node] in (Gate.LEAF, Gate.KERNEL, Gate.SUBSET):
        what = "is a leaf" if tree.gate[node] == Gate.LEAF else "tests a single column"
        raise ValueError(f"The 'node' parameter must be a node with an oblique gate. Node {node} {what}.")
    return int(node)


def _numbered(n: int) -> tuple[str, ...]:
    return ("",) if n == 1 else tuple(map(str, range(n)))


def _class_matrix(y: Any, classes: Sequence[Any]) -> np.ndarray:
    """Rows of class probabilities in the order of `classes`, (n_rows, n_classes)."""
    given = read_classes(y)
    shares = given.matrix()
    if given.labels is None and not hasattr(y, "columns") and shares.shape[1] == len(classes):
        return shares  # probabilities without names: the columns are those of `predict_proba`
    number = {name: k for k, name in enumerate(np.asarray(classes).tolist())}
    names = given.classes.tolist()
    new = [name for name in names if name not in number]
    if new:
        raise ValueError(f"y holds classes that were not seen in fit: {new[:3]!r}. Known are {list(number)[:5]!r}.")
    out = np.zeros((len(shares), len(number)))
    out[:, [number[name] for name in names]] = shares
    return out
