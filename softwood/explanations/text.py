"""Text of a tree with the column and class names of its estimator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from softwood.core.parameters import check_count, check_integer, parameter_error
from softwood.explanations.reading import no_single_tree
from softwood.outputs import named_outputs
from softwood.trees.forest import SoftForest
from softwood.trees.text import tree_text
from softwood.trees.tree import SoftTree

__all__ = ["export_text"]


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
    model : fitted estimator, `SoftTree` or `SoftForest`
    feature_names, class_names : names to use; None uses those of the estimator
    tree : number of the tree; required for an ensemble
    max_depth : largest depth to show; deeper nodes are only counted; None shows all nodes
    decimals : number of decimal places

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
    is_category = categories = None
    trees: Any = model
    if not isinstance(model, SoftTree | SoftForest):
        check_is_fitted(model)
        trees = getattr(model, "_finished", None)
        if not isinstance(trees, SoftTree | SoftForest):
            raise no_single_tree(model, "export_text")
    shown = _tree_to_show(model, trees, tree)
    if trees is not model:
        is_category, categories = model.columns_.is_category, model.columns_.coded
        feature_names = model.columns_.names if feature_names is None else feature_names
        if class_names is None:
            class_names = named_outputs(model, trees).node_labels(trees, tree or 0)
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
    return tree_text(
        shown,
        feature_names=feature_names,
        class_names=class_names,
        is_category=is_category,
        categories=categories,
        max_depth=max_depth,
        decimals=decimals,
    )


def _tree_to_show(model: Any, trees: SoftTree | SoftForest, number: int | None) -> SoftTree:
    """The tree of this number, or the only one."""
    n_trees = len(trees) if isinstance(trees, SoftForest) else 1
    check_integer("export_text", "tree", number, low=0, high=n_trees - 1, or_none=True)
    if isinstance(trees, SoftTree):
        return trees
    if number is None:
        raise no_single_tree(model, "export_text", "export_text(model, tree=0)")
    return trees[number]
