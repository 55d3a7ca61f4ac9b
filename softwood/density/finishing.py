"""From the table of nodes that the growing loop leaves behind to finished trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.density.problem import GrowthProblem, Limits
from softwood.forest import SoftForest
from softwood.gates import Gate
from softwood.loops import grow as loop
from softwood.targets import RealTargets
from softwood.tree import SoftTree

__all__ = ["depth_first", "finish", "finish_forest"]


def finish(
    problem: GrowthProblem, limits: Limits, nodes: np.ndarray, node_widths: np.ndarray | None = None
) -> SoftTree:
    """A tree from its nodes.

    Parameters
    ----------
    nodes : (n_nodes, 8 + q) the nodes depth first, columns as in `softwood.loops.grow`
    node_widths : (n_nodes,) half-width of each node's kernel; None: that of its feature
    """
    return SoftTree(**_arrays(problem, limits, nodes, node_widths))


def finish_forest(
    problem: GrowthProblem, limits: Limits, tables: list[np.ndarray], *, consume: bool = False
) -> SoftForest:
    """A forest from the nodes of each of its trees.

    Parameters
    ----------
    consume : whether each table is given up once it is read, so that there are never two copies of all trees
    """
    offsets = np.concatenate([[0], np.cumsum([len(nodes) for nodes in tables])]).astype(np.int64)
    n_trees, out = len(tables), {}
    for k in range(n_trees):
        for name, array in _arrays(problem, limits, tables[k], None).items():
            if not isinstance(array, np.ndarray):
                out[name] = array
                continue
            if name not in out:
                out[name] = np.empty((offsets[-1], *array.shape[1:]), dtype=array.dtype)
            out[name][offsets[k] : offsets[k + 1]] = array
        if consume:
            tables[k] = np.empty((0, 0))
    return SoftForest(
        offsets=offsets,
        output=np.zeros(n_trees, np.int32),
        base=np.zeros(out["value"].shape[1]),
        is_mean=True,
        **out,
    )


def _arrays(
    problem: GrowthProblem, limits: Limits, nodes: np.ndarray, node_widths: np.ndarray | None
) -> dict[str, Any]:
    """Arrays of one tree."""
    n = len(nodes)
    parent = nodes[:, loop.PARENT].astype(np.int32)
    children = np.full((2, n), -1, dtype=np.int32)
    below = np.flatnonzero(parent >= 0)
    children[nodes[below, loop.SIDE].astype(np.int64), parent[below]] = below
    feature = nodes[:, loop.FEATURE].astype(np.int32)
    is_inner = feature >= 0
    widths = problem.widths[feature] if node_widths is None else node_widths
    value, impurity = _values(problem, nodes)
    return {
        "children_left": children[0],
        "children_right": children[1],
        "parent": parent,
        "depth": nodes[:, loop.DEPTH].astype(np.int32),
        "gate": np.where(is_inner, np.int8(Gate.KERNEL), np.int8(Gate.LEAF)),
        "feature": feature,
        "threshold": nodes[:, loop.THRESHOLD].copy(),
        "missing_left": np.where(is_inner, nodes[:, loop.MISSING_LEFT], 0.5),
        "width": np.where(is_inner, widths, 0.0),
        "kernel": np.where(is_inner, problem.kinds[feature], 0).astype(np.int32),
        "blend": np.zeros(n),
        "bias": np.zeros(n),
        "weights": None,
        "value": value,
        "mass": nodes[:, loop.MASS].copy(),
        "impurity": impurity,
        "n_features": len(problem.widths),
        "shapes": problem.shapes,
        "cutoff": limits.cutoff,
    }


def depth_first(nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The nodes numbered depth first, left before right.

    Returns
    -------
    nodes : the table in the new order
    order : (n_nodes,) the old number of each
    """
    n = len(nodes)
    parent = nodes[:, loop.PARENT].astype(np.int64)
    children = np.full((n, 2), -1, dtype=np.int64)
    below = np.flatnonzero(parent >= 0)
    children[parent[below], nodes[below, loop.SIDE].astype(np.int64)] = below
    left, right = children[:, 0].tolist(), children[:, 1].tolist()
    order, pending = [], [0]
    while pending:
        node = pending.pop()
        order.append(node)
        if left[node] >= 0:
            pending += [right[node], left[node]]
    number = np.empty(n + 1, dtype=np.int64)
    number[order] = np.arange(n)
    number[n] = -1  # the place that the parent -1 looks up
    nodes = nodes[order]
    nodes[:, loop.PARENT] = number[nodes[:, loop.PARENT].astype(np.int64)]
    return nodes, np.array(order)


def _values(problem: GrowthProblem, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Value and impurity of each node, in the user's units."""
    targets = problem.targets
    means = nodes[:, loop.SUMS :] / nodes[:, loop.MASS, None]
    if isinstance(targets, RealTargets):
        variance = nodes[:, loop.SQUARE] / nodes[:, loop.MASS] - np.einsum("ij,ij->i", means, means)
        return targets.mean + targets.scale * means, np.maximum(variance, 0.0) * targets.square_scale / means.shape[1]
    if len(targets.classes) == 1:
        means = np.ones((len(nodes), 1))
    elif means.shape[1] == 1:
        means = np.hstack([1.0 - means, means])
    np.clip(means, 0.0, 1.0, out=means)
    means /= means.sum(axis=1, keepdims=True)
    if problem.criterion == "entropy":
        with np.errstate(divide="ignore", invalid="ignore"):
            impurity = -np.where(means > 0, means * np.log2(means), 0.0).sum(axis=1)
    else:
        impurity = 1.0 - np.einsum("ij,ij->i", means, means)
    return means, np.maximum(impurity, 0.0)
