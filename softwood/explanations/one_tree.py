"""Targets and nodes that functions about one tree take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from softwood.core.parameters import check_count
from softwood.core.targets import read_classes
from softwood.fitted import FittedModel
from softwood.trees.gates import Gate
from softwood.trees.tree import SoftTree


def read_targets(known: FittedModel, y: Any, n: int) -> np.ndarray:
    """Targets of `n` rows in the form of predictions, (n, n_outputs): a class is a row of zeros and a one."""
    if known.classes is not None:
        matrix = _class_matrix(y, known.classes)
    else:
        matrix = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        matrix = matrix.reshape(len(matrix), -1)
    if len(matrix) != n:
        raise ValueError(f"y must have as many rows as X. Got {len(matrix)} rows, X has {n}.")
    if matrix.shape[1] != known.n_outputs:
        raise ValueError(
            f"y must have {known.n_outputs} columns, one for each output of the {known.kind}. Got {matrix.shape[1]}."
        )
    return matrix


def check_node(caller: str, tree: SoftTree, node: Any) -> int:
    """Check that `node` is the number of a node with an oblique gate."""
    node = check_count(caller, "node", node, low=0, high=tree.n_nodes - 1)
    if tree.gate[node] in (Gate.LEAF, Gate.KERNEL, Gate.SUBSET):
        what = "is a leaf" if tree.gate[node] == Gate.LEAF else "tests a single column"
        raise ValueError(f"The 'node' parameter of {caller} must be a node with an oblique gate. Node {node} {what}.")
    return node


def _class_matrix(y: Any, classes: Sequence[Any]) -> np.ndarray:
    """Rows of class probabilities in the order of `classes`, (n_rows, n_classes)."""
    given = read_classes(y)
    shares = given.matrix()
    if given.labels is None and not hasattr(y, "columns") and shares.shape[1] == len(classes):
        return shares  # probabilities without names: the columns are those of `predict_proba`
    number = {name: k for k, name in enumerate(classes)}
    names = given.classes.tolist()
    new = [name for name in names if name not in number]
    if new:
        raise ValueError(f"y holds classes that were not seen in fit: {new[:3]!r}. Known are {list(number)[:5]!r}.")
    out = np.zeros((len(shares), len(number)))
    out[:, [number[name] for name in names]] = shares
    return out
