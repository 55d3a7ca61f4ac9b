"""Crisp trees as one operator of ONNX for machine learning."""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.export.onnx_builder import Builder
from softwood.fitted import FittedModel
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate

SUM, NO_TRANSFORM, LESS_OR_EQUAL = 1, 0, 0


def is_for_tree_operator(known: FittedModel, has_missing: bool) -> bool:
    """Whether every row takes one path: crisp tests of single columns, and missing values go to one side."""
    forest = known.forest
    inner = forest.children_left >= 0
    is_axis = np.all(forest.gate[inner] == Gate.KERNEL)
    one_way = not has_missing or bool(np.all(np.isin(forest.missing_left[inner], (0.0, 1.0))))
    return bool(forest.is_crisp and is_axis and one_way and forest.link == "identity" and inner.any())


def add_tree_operator(builder: Builder, forest: SoftForest, points: str, ml_opset: int) -> str:
    """Add the operator; returns the scores, (n_rows, n_scores).

    Values are multiplied by the factor of the mean, so that the sum of the trees is their mean.
    """
    add = _add_ensemble if ml_opset >= 5 else _add_regressor
    scores = add(builder, forest, points)
    return builder.op("Add", scores, builder.row(forest.base))


def _add_ensemble(builder: Builder, forest: SoftForest, points: str) -> str:
    """TreeEnsemble of version 5: nodes and leaves are numbered apart, and a leaf has one target.

    A leaf with several values becomes as many trees of the same tests: this is how the operator takes them.
    """
    tables = _Tables(forest)
    tensor = builder.onnx.numpy_helper.from_array
    with np.errstate(over="ignore"):
        splits, weights = tables.splits.astype(builder.dtype), tables.leaf_values.astype(builder.dtype)
    return builder.op(
        "TreeEnsemble", points, domain="ai.onnx.ml", n_targets=forest.n_outputs, aggregate_function=SUM,
        post_transform=NO_TRANSFORM, tree_roots=tables.roots, nodes_featureids=tables.features,
        nodes_modes=tensor(np.full(len(splits), LESS_OR_EQUAL, dtype=np.uint8), "nodes_modes"),
        nodes_splits=tensor(splits, "nodes_splits"),
        nodes_truenodeids=tables.left, nodes_trueleafs=tables.left_is_leaf,
        nodes_falsenodeids=tables.right, nodes_falseleafs=tables.right_is_leaf,
        nodes_missing_value_tracks_true=tables.missing_left,
        leaf_targetids=tables.leaf_targets, leaf_weights=tensor(weights, "leaf_weights"),
    )  # fmt: skip


class _Tables:
    """Nodes and leaves of all trees as the operator numbers them: one copy of a tree for each of its values."""

    def __init__(self, forest: SoftForest) -> None:
        is_leaf = forest.children_left < 0
        begin = forest._begin
        left, right = forest.children_left + begin, forest.children_right + begin
        inner = np.flatnonzero(~is_leaf)
        number = np.where(is_leaf, np.cumsum(is_leaf) - 1, np.cumsum(~is_leaf) - 1)
        n_inner, n_leaves, q = len(inner), int(is_leaf.sum()), forest.value.shape[1]
        tree_of = np.repeat(np.arange(len(forest)), forest.sizes)
        blocks: dict[str, list[Any]] = {name: [] for name in ("roots", "left", "right", "targets", "values")}
        # A lone leaf has no root to start from: a test with the same leaf on both sides.
        lone = np.flatnonzero(is_leaf[forest.offsets[:-1]])
        n_nodes = n_inner + len(lone)
        for output in range(q):
            node_shift, leaf_shift = output * n_nodes, output * n_leaves
            for name, children in (("left", left), ("right", right)):
                own = children[inner]
                shifted = number[own] + np.where(is_leaf[own], leaf_shift, node_shift)
                blocks[name].append(np.concatenate([shifted, number[forest.offsets[lone]] + leaf_shift]))
            roots = number[forest.offsets[:-1]] + node_shift
            roots[lone] = node_shift + n_inner + np.arange(len(lone))
            blocks["roots"].append(roots)
            blocks["targets"].append(forest.output[tree_of[is_leaf]] + output)
            blocks["values"].append(forest.value[is_leaf, output] * forest.factor)
        joined = {name: np.concatenate(parts) for name, parts in blocks.items()}

        def repeated(column: np.ndarray, of_lone: float) -> np.ndarray:
            return np.tile(np.concatenate([column[inner], np.full(len(lone), of_lone, dtype=column.dtype)]), q)

        self.roots, self.left, self.right = (joined[name].tolist() for name in ("roots", "left", "right"))
        self.left_is_leaf = np.tile(np.r_[is_leaf[left[inner]], np.ones(len(lone), bool)].astype(int), q).tolist()
        self.right_is_leaf = np.tile(np.r_[is_leaf[right[inner]], np.ones(len(lone), bool)].astype(int), q).tolist()
        self.features = repeated(forest.feature.astype(np.int64), 0).tolist()
        self.splits = repeated(forest.threshold, 0.0)
        self.missing_left = repeated((forest.missing_left >= 0.5).astype(np.int64), 0).tolist()
        self.leaf_targets, self.leaf_values = joined["targets"].tolist(), joined["values"]


def _add_regressor(builder: Builder, forest: SoftForest, points: str) -> str:
    """TreeEnsembleRegressor of version 3, whose results are float32."""
    tensor = builder.onnx.numpy_helper.from_array
    is_leaf = forest.children_left < 0
    tree_of = np.repeat(np.arange(len(forest)), forest.sizes)
    own = np.arange(forest.n_nodes) - forest._begin
    leaves, q = np.flatnonzero(is_leaf), forest.value.shape[1]
    with np.errstate(over="ignore"):
        splits = np.where(is_leaf, 0.0, forest.threshold).astype(builder.dtype)
        weights = (forest.value[leaves] * forest.factor).ravel().astype(builder.dtype)
    result = builder.op(
        "TreeEnsembleRegressor", points, domain="ai.onnx.ml", n_targets=forest.n_outputs,
        nodes_treeids=tree_of.tolist(), nodes_nodeids=own.tolist(),
        nodes_featureids=np.maximum(forest.feature, 0).tolist(),
        nodes_modes=["LEAF" if leaf else "BRANCH_LEQ" for leaf in is_leaf],
        nodes_values_as_tensor=tensor(splits, "nodes_values"),
        nodes_truenodeids=np.maximum(forest.children_left, 0).tolist(),
        nodes_falsenodeids=np.maximum(forest.children_right, 0).tolist(),
        nodes_missing_value_tracks_true=(forest.missing_left >= 0.5).astype(int).tolist(),
        target_treeids=np.repeat(tree_of[leaves], q).tolist(), target_nodeids=np.repeat(own[leaves], q).tolist(),
        target_ids=(forest.output[tree_of[leaves]][:, None] + np.arange(q)).ravel().tolist(),
        target_weights_as_tensor=tensor(weights, "target_weights"),
    )  # fmt: skip
    return result if builder.dtype == np.float32 else builder.op("CastLike", result, builder.number(0.0))
