"""Contributions of the columns to the decisions of oblique gates, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.core.extras import require
from softwood.explanations.one_tree import check_node
from softwood.fitted import FittedModel
from softwood.trees.gates import Gate
from softwood.trees.tree import SoftTree


def gate_contributions(model: Any, X: Any, node: int | None = None, *, as_frame: bool = False) -> Any:
    """Contribution of each column to the decision of each oblique gate that a row passes.

    An oblique gate computes the sum ``w @ x + b`` and sends the row to the left if the sum is large. The contribution
    of a column is ``w_j (x_j - mean_j)``: the amount by which it moves the sum away from that of the average row.
    Positive contributions send the row to the left, negative ones to the right. Contributions of the categories of a
    column are added up. A missing value contributes 0.

    Parameters
    ----------
    model : fitted estimator with a tree of oblique gates, or SoftTree
        The model that decides.
    X : array-like or data frame of shape (n_rows, n_features_in)
        The rows.
    node : int or None, default=None
        The gate to use. None uses all gates that each row reaches.
    as_frame : bool, default=False
        If True, return a pandas DataFrame with a row for each row of X, node and column.

    Returns
    -------
    dict of arrays, or DataFrame
        There is an entry for each row and each oblique node that it reaches, ordered by row and then by depth:

        - ``row``, ``node``, and ``membership``, the share of the row that reaches the node;
        - ``left``, the fraction of this share that goes left;
        - ``offset``, the gate's sum for the average row; offset and contributions add up to the sum for this row;
        - ``contribution``, ``absolute`` and ``normalised`` (n_entries, n_features_in): the contributions, their
          absolute values, and the absolute values normalised to a sum of 1 (all 0 if all contributions are 0).

        ``column`` (n_features_in,) holds the names of the columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import LinearDiscriminantTreeClassifier
    >>> from softwood.explanations import gate_contributions
    >>> iris = load_iris(as_frame=True)
    >>> model = LinearDiscriminantTreeClassifier(random_state=0).fit(iris.data, iris.target)
    >>> parts = gate_contributions(model, iris.data.iloc[[0, 100]], node=0)
    >>> parts["row"], parts["left"]
    (array([0, 1]), array([1., 0.]))
    >>> parts["column"][parts["absolute"].argmax(axis=1)].tolist()
    ['petal length (cm)', 'petal length (cm)']
    """
    known = FittedModel.of(model, "gate_contributions")
    tree = known.single_tree("gate_contributions")
    nodes = _gates(tree, node, known.kind)
    points, widths = known.points(X)
    points = known.filled(points)
    shares = tree.memberships(points, widths=widths).tocsc()
    blocks = [_at_node(known, points, shares, k) for k in nodes] or [_nothing(len(known.columns.inputs))]
    table = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    order = np.lexsort([table["node"], tree.depth[table["node"]], table["row"]])
    table = {name: values[order] for name, values in table.items()}
    table["column"] = np.array(known.columns.inputs)
    return _frame(table) if as_frame else table


def _gates(tree: SoftTree, node: int | None, kind: str) -> list[int]:
    """The oblique nodes to use; `kind` is the name of the model in messages."""
    gates = [k for k in range(tree.n_nodes) if tree.gate[k] not in (Gate.LEAF, Gate.KERNEL, Gate.SUBSET)]
    if not gates and tree.n_nodes > 1:
        raise ValueError(
            f"The 'model' parameter must be a tree with oblique gates; each gate of this {kind} tests a single "
            "column. See decision_path and export_text."
        )
    return gates if node is None else [check_node("gate_contributions", tree, node)]


def _at_node(known: FittedModel, points: np.ndarray, shares: Any, node: int) -> dict[str, np.ndarray]:
    """Entries of the rows that reach one gate."""
    tree = known.tree()
    assert tree.weights is not None  # a tree with oblique gates has them
    here = shares[:, [node]].toarray().ravel()
    rows = np.flatnonzero(here > 0)
    left = shares[:, [int(tree.children_left[node])]].toarray().ravel()[rows] / here[rows]
    signed = known.columns.add_up(tree.contributions(points[rows], node))
    absolute = np.abs(signed)
    total = absolute.sum(axis=1, keepdims=True)
    offset = tree.bias[node] + (0.0 if tree.center is None else tree.weights[node] @ tree.center)
    return {
        "row": rows,
        "node": np.full(len(rows), node),
        "membership": here[rows],
        "left": np.minimum(left, 1.0),
        "offset": np.full(len(rows), offset),
        "contribution": signed,
        "absolute": absolute,
        "normalised": np.divide(absolute, total, out=np.zeros_like(absolute), where=total > 0),
    }


def _nothing(n_columns: int) -> dict[str, np.ndarray]:
    """The entries of a lone root."""
    whole, real, table = np.empty(0, dtype=np.int64), np.empty(0), np.empty((0, n_columns))
    return {
        "row": whole, "node": whole, "membership": real, "left": real, "offset": real,
        "contribution": table, "absolute": table, "normalised": table,
    }  # fmt: skip


def _frame(table: dict[str, np.ndarray]) -> Any:
    pandas = require("pandas", None, "A table as a data frame")
    n, q = table["contribution"].shape
    flat = {name: np.repeat(table[name], q) for name in ("row", "node", "membership", "left", "offset")}
    flat["column"] = np.tile(table["column"], n)
    flat |= {name: table[name].ravel() for name in ("contribution", "absolute", "normalised")}
    return pandas.DataFrame(flat)
