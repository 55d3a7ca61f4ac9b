"""A table of the nodes of a tree: structure, mass, impurity, prediction, and the rows that reach them."""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.base import read_weights
from softwood.core.extras import require
from softwood.explanations.one_tree import read_targets
from softwood.fitted import FittedModel
from softwood.outputs import Outputs
from softwood.trees.tree import SoftTree


def node_table(model: Any, X: Any = None, y: Any = None, sample_weight: Any = None, *, as_frame: bool = False) -> Any:
    """Table of the nodes of a fitted tree, one entry per node.

    Parameters
    ----------
    model : fitted estimator with a ``tree_``, or SoftTree
        The model to describe.
    X : array-like or data frame of shape (n_rows, n_features_in), or None, default=None
        Rows to share among the nodes.
    y : array-like or None, default=None
        Labels or targets of these rows. For a `SoftTree`, which does not store class names, a matrix with a column for
        each output.
    sample_weight : array-like of shape (n_rows,) or None, default=None
        Weights of these rows.
    as_frame : bool, default=False
        If True, return a pandas DataFrame with one column for each class or target.

    Returns
    -------
    dict of arrays, or DataFrame
        ``node``, ``parent`` (-1 for the root), ``depth``, ``side`` ("root", "left", "right") and ``is_leaf``;
        ``mass``, ``mass_share`` (fraction of the root's mass) and ``impurity`` of the training rows;
        ``prediction`` (n_nodes, n_outputs): class probabilities, targets, or parts of raw scores; if two classes have
        a single score, it is that of the second class.

        With `X`: ``n_rows``, the number of these rows that reach the node; ``weight``, the sum of their weights times
        memberships; ``weight_share``, this sum as a fraction of the total weight.

        With `y`: ``distribution`` (n_nodes, n_classes), the class shares of these rows, which add up to 1; for real
        targets ``target_mean`` (n_nodes, n_targets). Both are nan at nodes that no row reaches.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import LinearDiscriminantTreeClassifier
    >>> from softwood.explanations import node_table
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantTreeClassifier(random_state=0).fit(X, y)
    >>> table = node_table(model, X, y)
    >>> table["side"][:3].tolist(), table["weight"][0].item()
    (['root', 'left', 'right'], 150.0)
    >>> float(table["weight_share"][table["is_leaf"]].sum())
    1.0
    """
    known = FittedModel.of(model, "node_table")
    tree = known.single_tree("node_table")
    table: dict[str, np.ndarray] = {
        "node": np.arange(tree.n_nodes),
        "parent": tree.parent.copy(),
        "depth": tree.depth.copy(),
        "side": _sides(tree),
        "is_leaf": tree.children_left < 0,
        "mass": tree.mass.copy(),
        "mass_share": _parts(tree.mass),
        "impurity": tree.impurity.copy(),
        "prediction": tree.node_predictions.copy(),
    }
    if X is not None:
        table |= _of_rows(known, X, y, sample_weight)
    elif y is not None or sample_weight is not None:
        raise ValueError(f"{'y' if y is not None else 'sample_weight'} is given without X.")
    return _frame(table, known.outputs) if as_frame else table


def _sides(tree: SoftTree) -> np.ndarray:
    sides = np.full(tree.n_nodes, "right", dtype="<U5")
    sides[tree.children_left[tree.children_left >= 0]] = "left"
    sides[0] = "root"
    return sides


def _parts(amounts: np.ndarray) -> np.ndarray:
    """Amounts divided by the amount of the root; nan if that is 0."""
    return amounts / amounts[0] if amounts[0] != 0 else np.full(len(amounts), np.nan)


def _of_rows(known: FittedModel, X: Any, y: Any, sample_weight: Any) -> dict[str, np.ndarray]:
    """Columns of the table that describe the given rows."""
    shares = known.memberships(X, known.tree())
    n = shares.shape[0]
    weights = read_weights(sample_weight, n)
    weight = shares.T @ weights
    table = {
        "n_rows": np.asarray((shares > 0).sum(axis=0)).ravel().astype(np.int64),
        "weight": weight,
        "weight_share": _parts(weight),
    }
    if y is not None:
        sums = shares.T @ (weights[:, None] * read_targets(known, y, n))
        means = np.full(sums.shape, np.nan)
        np.divide(sums, weight[:, None], out=means, where=weight[:, None] > 0)
        table["distribution" if known.classes is not None else "target_mean"] = means
    return table


def _frame(table: dict[str, np.ndarray], outputs: Outputs) -> Any:
    """The table as a DataFrame, with a column for each column of a matrix."""
    pandas = require("pandas", None, "A table as a data frame")
    flat: dict[str, np.ndarray] = {}
    for name, values in table.items():
        if values.ndim == 1:
            flat[name] = values
        else:
            names = outputs.scores if name == "prediction" else outputs.names
            flat |= {f"{name}[{output}]" if output else name: values[:, k] for k, output in enumerate(names)}
    return pandas.DataFrame(flat)
