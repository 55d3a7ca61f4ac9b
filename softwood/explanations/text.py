"""Text of a tree with the column and class names of its estimator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from softwood.core.parameters import check_count, check_integer, parameter_error
from softwood.fitted import FittedModel
from softwood.trees.forest import SoftForest
from softwood.trees.text import tree_text


def export_text(
    model: Any,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    tree: int | None = None,
    max_depth: int | None = None,
    decimals: int = 3,
) -> str:
    """Text of a fitted estimator or of a `SoftTree`: a line per node with its test, mass and value.

    Parameters
    ----------
    model : fitted estimator, SoftTree or SoftForest
        The model to print.
    feature_names : sequence of str or None, default=None
        Names of the columns. None uses those of the estimator.
    class_names : sequence of str or None, default=None
        Names of the classes. None uses those of the estimator.
    tree : int or None, default=None
        Number of the tree. Required for an ensemble.
    max_depth : int or None, default=None
        Largest depth to show. Deeper nodes are only counted. None shows all nodes.
    decimals : int, default=3
        Number of decimal places.

    Returns
    -------
    str
        A line for each node.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier, export_text
    >>> iris = load_iris(as_frame=True)
    >>> model = KernelTreeClassifier(bandwidth=0.2, max_depth=1).fit(iris.data, iris.target_names[iris.target])
    >>> print(export_text(model))
    [mass 150.0, setosa: 0.333]
    |-- petal length (cm) <= 2.450 ±0.352  [mass 50.0, setosa: 1.000]
    |-- petal length (cm) >  2.450 ±0.352  [mass 100.0, versicolor: 0.500]

    ±0.352 is the half-width of the prediction kernel: a flower within this distance of the threshold goes partly to
    both sides.
    """
    known = FittedModel.of(model, "export_text")
    check_integer("export_text", "tree", tree, low=0, high=known.n_trees - 1, or_none=True)
    shown = known.single_tree("export_text", "export_text(model, tree=0)") if tree is None else known.tree(tree)
    columns = known.columns
    if feature_names is None and not known.is_bare:
        feature_names = columns.names
    if class_names is None:
        class_names = known.outputs.node_labels(known.trees, tree or 0)
    for name, given, needed in (
        ("feature_names", feature_names, shown.n_features),
        ("class_names", class_names, shown.n_outputs),
    ):
        if given is None:
            continue
        if isinstance(given, str) or not isinstance(given, Iterable) or len(list(given)) != needed:
            raise parameter_error("export_text", name, f"a list of {needed} names, or None", given)
    check_integer("export_text", "max_depth", max_depth, low=0, or_none=True)
    check_count("export_text", "decimals", decimals, low=0)
    text = tree_text(
        shown,
        feature_names=feature_names,
        class_names=class_names,
        is_category=columns.is_category.tolist(),
        categories=columns.coded,
        max_depth=max_depth,
        decimals=decimals,
    )
    if known.trend == 0 or tree is not None:
        return text
    return _trend_text(known, decimals, feature_names, class_names) + text


def _trend_text(
    known: FittedModel, decimals: int, feature_names: Sequence[str] | None, class_names: Sequence[str] | None
) -> str:
    """Lines for what is added to the tree: the start value, and a linear function of each of some columns."""
    labels, head = [f"{name}: " for name in class_names] if class_names else [""] * known.trees.n_outputs, "Sum of"
    if len(labels) > 1 and list(class_names or []) == list(known.outputs.value_labels or []):
        labels, head = [f"{name}: " for name in known.outputs.scores], "Sum of the scores of classes"
    names = known.columns.names if feature_names is None else feature_names

    def written(values: np.ndarray, style: str) -> str:
        return ", ".join(f"{label}{value:{style}}" for label, value in zip(labels, values.tolist(), strict=True))

    assert isinstance(known.trees, SoftForest)
    lines = [head, f"  {written(known.trees.base, f'.{decimals}f')}"]
    for part in known.linear_parts:
        low, high, center = (f"{value:.{decimals}f}" for value in (part.low, part.high, part.center))
        slope = written(part.slope, f"+.{decimals + 1}g")
        lines.append(f"  {slope}  for each unit of {names[part.feature]} above {center}, from {low} to {high}")
    return "\n".join([*lines, "and the tree"]) + "\n"
