"""A model as the report reads it: trees with the names of their estimator, thinned out if they are too many."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from softwood.explanations.shapley_model import absent_shares
from softwood.export import PortableModel
from softwood.export.javascript_source import NODE_ENTRIES, common_entries
from softwood.reporting.arrays import pack, pack_weights
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.pruning import cut_below
from softwood.trees.tree import SoftTree

__all__ = ["packed_model", "read_for_report", "thinned", "used_inputs"]


def read_for_report(model: Any) -> tuple[PortableModel, list[str]]:
    """The model in portable form, and notes on what the page cannot reproduce of it."""
    try:
        return PortableModel.of(model, "report").one_hot(), []
    except NotFittedError:
        raise
    except ValueError as error:
        # Its trees do not tell all: leaves with models of their own, or kernels that are functions of the row.
        trees = getattr(model, "_finished", None)
        if not isinstance(trees, SoftTree | SoftForest) or not hasattr(model, "columns_"):
            raise
        check_is_fitted(model)
        known = PortableModel(
            type(model).__name__,
            trees,
            model.columns_,
            has_names=hasattr(model, "feature_names_in_"),
            grows=hasattr(model, "growth_"),
            fill=trees.center if hasattr(model, "growth_") else None,
            classes=tuple(np.asarray(model.classes_).tolist()) if is_classifier(model) else None,
        )
        reason = str(error).partition(". ")[0]
        return known.one_hot(), [
            f"{reason}. This page computes with the trees alone, so its predictions differ from the model's."
        ]


def used_inputs(known: PortableModel) -> list[int]:
    """Columns of the table that a gate reads, in their order."""
    trees = known.trees
    used = np.zeros(trees.n_features, dtype=bool)
    used[trees.feature[np.isin(trees.gate, (Gate.KERNEL, Gate.BLEND))]] = True
    if trees.weights is not None:
        used |= np.any(trees.weights[trees.children_left >= 0] != 0.0, axis=0)
    return sorted(set(known.columns.source[used].tolist()))


def packed_model(known: PortableModel) -> dict[str, Any]:
    """The model for evaluator.js, with packed arrays, and what the page shows besides: masses of nodes."""
    forest = known.forest
    inner = forest.children_left >= 0
    nodes = {entry: pack(getattr(forest, name)) for entry, name in NODE_ENTRIES.items() if name != "threshold"}
    mass, absent = np.nan_to_num(forest.mass), absent_shares(forest)
    return {
        **common_entries(known),
        **nodes,
        "threshold": pack(np.where(inner, np.nan_to_num(forest.threshold), 0.0)),
        "weights": None if forest.weights is None else pack_weights(forest.weights * inner[:, None]),
        "mass": pack(mass),
        "absentLeft": None if np.array_equal(absent, forest.missing_left) else pack(absent),
        "deviations": None if forest.scale is None else forest.scale.tolist(),
        "nValues": forest.value.shape[1],
        "isMixture": _is_mixture(known),
        "isMean": bool(forest.is_mean),
        "valueLabels": known.named.value_labels,
        "scale": known.named.scale,
    }


def _is_mixture(known: PortableModel) -> bool:
    """Whether the values of nodes, after the link of the tree, are probabilities of the outputs."""
    if known.link != "identity" or known.trees.value.shape[1] != known.n_outputs or known.n_outputs < 2:
        return False
    if known.classes is not None or known.trees.link == "softmax":
        return True
    value = known.trees.value
    return bool(np.all(value >= 0.0) and np.allclose(value.sum(axis=1), 1.0))


def thinned(known: PortableModel, n_nodes: int) -> tuple[PortableModel, str]:
    """The model with at most about `n_nodes` nodes, and what was left out.

    Of an ensemble, the first trees remain; of a tree, the nodes with the largest mass.
    """
    trees = known.trees
    if isinstance(trees, SoftForest) and len(trees) > 1:
        n_trees = max(1, int(np.searchsorted(trees.offsets, n_nodes, side="right")) - 1)
        words = f"It holds the first {n_trees:,} of {len(trees):,} trees"
        return replace(known, trees=trees.first(n_trees)), words
    tree = trees[0] if isinstance(trees, SoftForest) else trees
    mass = np.nan_to_num(tree.mass)
    inner = np.flatnonzero(tree.children_left >= 0)
    n_inner = max(1, n_nodes // 2)
    # A parent is at least as heavy as its children, and comes first where masses are equal.
    kept = inner[np.lexsort((tree.depth[inner], -mass[inner]))[:n_inner]]
    cut = np.ones(tree.n_nodes, dtype=bool)
    cut[kept] = False
    smaller = cut_below(tree, cut)
    words = f"It holds the {smaller.n_nodes:,} heaviest of {tree.n_nodes:,} nodes"
    return replace(known, trees=smaller), words
