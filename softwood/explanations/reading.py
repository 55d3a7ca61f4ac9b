"""A tree together with what its estimator knows: encoded rows, names of columns and classes, targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_is_fitted

from softwood.core.targets import read_classes
from softwood.outputs import Outputs, named_outputs
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.tree import SoftTree

__all__ = ["TreeReading", "check_node", "no_single_tree", "read_model"]


@dataclass(frozen=True)
class TreeReading:
    """A tree, with names of its columns and outputs.

    Attributes
    ----------
    model : the estimator, or None for a bare tree
    tree : its tree
    columns : names of the columns of X
    source : (n_features,) the column of X that each feature of the tree comes from
    outputs : names of the classes or targets, and of the values of the nodes
    is_class : whether the outputs are classes; None if this is not known, for a bare tree
    """

    model: Any
    tree: SoftTree
    columns: tuple[str, ...]
    source: np.ndarray
    outputs: Outputs
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
        """Targets in the form of predictions, (n_rows, n_outputs): a class is a row of zeros and a one."""
        if self.is_class:
            matrix = _class_matrix(y, self.model.classes_)
        else:
            matrix = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
            matrix = matrix.reshape(len(matrix), -1)
        if len(matrix) != n:
            raise ValueError(f"y must have as many rows as X. Got {len(matrix)} rows, X has {n}.")
        if matrix.shape[1] != len(self.outputs.names):
            raise ValueError(
                f"y must have {len(self.outputs.names)} columns, one for each output of the {self.name}. "
                f"Got {matrix.shape[1]}."
            )
        return matrix


def read_model(model: Any, caller: str) -> TreeReading:
    """The tree of a model; `caller` is the name of the function in the error message if there is none."""
    if isinstance(model, SoftTree):
        columns = tuple(f"x[{j}]" for j in range(model.n_features))
        outputs = named_outputs(None, model)
        return TreeReading(None, model, columns, np.arange(model.n_features), outputs, None)
    try:
        check_is_fitted(model)
    except TypeError:  # no estimator at all
        tree = None
    else:
        tree = getattr(model, "tree_", None)
    if not isinstance(tree, SoftTree):
        raise no_single_tree(model, caller)
    outputs = named_outputs(model, tree)
    return TreeReading(model, tree, model.columns_.inputs, model.columns_.source, outputs, outputs.is_class)


def no_single_tree(model: Any, caller: str, how: str = "") -> TypeError:
    """The error for a model without a single tree; of an ensemble, it names what can be done.

    Parameters
    ----------
    how : call that takes one tree of an ensemble, if `caller` has a parameter for it
    """
    forest = getattr(model, "forest_", model)
    if not isinstance(forest, SoftForest):
        return TypeError(f"{caller} takes a SoftTree or a fitted estimator of softwood with one. Got {model!r}.")
    one = how or f"{caller}({'model[0]' if forest is model else 'model.forest_[0]'})"
    return TypeError(
        f"{caller} takes one tree, and this {type(model).__name__} has {len(forest)}. Choose one, such as {one}. "
        "softwood.report(model) shows all trees, and softwood.explain(model, row) explains one prediction."
    )


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
