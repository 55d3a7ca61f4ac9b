"""The trees of a model for the page: packed arrays, and fewer trees or nodes if there are too many."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from softwood.explanations.shapley_model import absent_shares
from softwood.export.javascript_source import NODE_ENTRIES, common_entries
from softwood.fitted import FittedModel
from softwood.reporting.arrays import pack, pack_weights
from softwood.trees.forest import SoftForest
from softwood.trees.pruning import cut_below


def packed_model(known: FittedModel) -> dict[str, Any]:
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
        "isMixture": known.nodes_have_probabilities,
        "isMean": bool(forest.is_mean),
        "valueLabels": known.outputs.value_labels,
        "scale": known.outputs.scale,
    }


def thinned(known: FittedModel, n_nodes: int) -> tuple[FittedModel, str]:
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
