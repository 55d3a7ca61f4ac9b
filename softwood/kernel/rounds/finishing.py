"""From the nodes of trees of boosting to finished trees and forests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from softwood.kernel.rounds.loops.boost import NODE
from softwood.kernel.rounds.newton import NewtonTree
from softwood.kernel.trend import Trend
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.structure import children_of
from softwood.trees.tree import SoftTree


def boosted_tree(tree: NewtonTree) -> SoftTree:
    """The tree as a `SoftTree`, with an output for each of its values."""
    return SoftTree.from_nodes(**_columns([tree]), n_features=len(tree.widths))


def boosted_forest(trees: list[NewtonTree], output: np.ndarray, base: np.ndarray) -> SoftForest:
    """The sum of the trees; `output` (n_trees,) is the raw score that each adds to, `base` the start value."""
    return SoftForest.from_nodes(
        offsets=np.concatenate([[0], np.cumsum([len(tree.nodes) for tree in trees])]).astype(np.int64),
        output=np.asarray(output, dtype=np.int32),
        base=np.asarray(base, dtype=np.float64),
        is_mean=False,
        n_features=len(trees[0].widths),
        **_columns(trees),
    )


def with_trend(forest: SoftForest, trend: Trend, part: float, mass: float, gain: float) -> SoftForest:
    """The forest with this part of a linear trend, as stumps at its end.

    Parameters
    ----------
    mass : of the training rows
    gain : what the trend decreases twice the loss of a row by
    """
    trend = replace(trend, slopes=part * trend.slopes, base=part * trend.base)
    n_values, n_scores = forest.value.shape[1], forest.n_outputs
    largest = np.abs(trend.slopes * trend.spread[:, None]).max() or 1.0
    gain = gain / max(trend.explained(largest).sum(), 1.0)  # the largest part is 1, unless all are 0
    trends = [trend] if n_values == n_scores else [trend.output(k) for k in range(n_scores)]
    stumps = [own.stumps(forest.n_features, mass, forest.shapes, gain * own.explained(largest)) for own in trends]
    output = np.repeat(np.arange(len(trends)), len(trend.columns))
    base = (1.0 - part) * forest.base + trend.base
    return replace(
        forest.with_trees_of(SoftForest.sum([stump for own in stumps for stump in own], output, base)), base=base
    )


def _columns(trees: list[NewtonTree]) -> dict[str, np.ndarray]:
    """Columns of all trees, one after the other."""
    sizes = [len(tree.nodes) for tree in trees]
    starts = np.cumsum([0, *sizes[:-1]])
    # As bytes, because numpy compares types of records field by field.
    nodes = np.concatenate([tree.nodes.view(np.uint8) for tree in trees]).view(NODE)
    parent, feature = nodes["parent"], nodes["feature"]
    left, right = children_of(parent, nodes["side"], np.repeat(starts, sizes))
    is_inner = feature >= 0
    width = np.concatenate([tree.widths[tree.nodes["feature"]] for tree in trees])
    # The remaining loss, up to a constant that is the same for all nodes of a tree; differences are gains.
    h, g, w = nodes["h"], nodes["g"], nodes["w"]
    # In sums of whole numbers, hessians that are much smaller than those of other rows are rounded to 0.
    gained = np.divide(g * g, h, out=np.zeros_like(h), where=h > 0) / w
    if trees[0].gained is not None:
        gained = np.concatenate([tree.gained for tree in trees if tree.gained is not None]) / w
    most = np.repeat(np.maximum.reduceat(gained, starts), sizes)
    sets: dict[str, np.ndarray] = {}
    if trees[0].subsets is not None:
        subsets = np.concatenate([tree.subsets for tree in trees if tree.subsets is not None])
        # Only a split of categories has no threshold.
        kinds = np.where(is_inner, np.where(np.isnan(nodes["threshold"]), Gate.SUBSET, Gate.KERNEL), Gate.LEAF)
        sets = {"gate": kinds, "subsets": subsets}
    return sets | {
        "children_left": left,
        "children_right": right,
        "parent": parent,
        "depth": nodes["depth"],
        "feature": feature,
        "threshold": nodes["threshold"],
        "missing_left": np.where(is_inner, nodes["missing_left"], 0.5),
        "width": np.where(is_inner, width, 0.0),
        "value": np.concatenate([tree.values for tree in trees]),
        "mass": w,
        "impurity": most - gained,
    }
