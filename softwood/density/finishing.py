"""From the table of nodes that the growing loop returns to finished trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.density.problem import GrowthProblem, Limits
from softwood.forest import SoftForest
from softwood.loops.groups import NODE, NodeTable
from softwood.targets import RealTargets
from softwood.tree import SoftTree, children_of

__all__ = ["depth_first", "finish", "finish_forest", "node_values"]


def finish(problem: GrowthProblem, limits: Limits, nodes: NodeTable, node_widths: np.ndarray | None = None) -> SoftTree:
    """A tree from its nodes.

    Parameters
    ----------
    nodes : the nodes, depth first
    node_widths : (n_nodes,) half-width of each node's kernel; None: the half-width of the node's feature
    """
    return SoftTree.from_nodes(**_columns(problem, nodes, node_widths), **_common(problem, limits))


def finish_forest(
    problem: GrowthProblem, limits: Limits, tables: list[NodeTable], *, consume: bool = False
) -> SoftForest:
    """A forest from the nodes of each of its trees.

    Parameters
    ----------
    consume : whether to drop each table once it is read, so that there are never two copies of all trees
    """
    offsets = np.concatenate([[0], np.cumsum([len(nodes.lines) for nodes in tables])]).astype(np.int64)
    columns: dict[str, np.ndarray] = {}
    for k in range(len(tables)):
        for name, column in _columns(problem, tables[k], None).items():
            if name not in columns:
                columns[name] = np.empty((offsets[-1], *column.shape[1:]), dtype=column.dtype)
            columns[name][offsets[k] : offsets[k + 1]] = column
        if consume:
            tables[k] = NodeTable(np.empty(0, NODE), np.empty((0, 0)))
    return SoftForest.from_nodes(
        offsets=offsets,
        output=np.zeros(len(tables), np.int32),
        base=np.zeros(columns["value"].shape[1]),
        is_mean=True,
        **columns,
        **_common(problem, limits),
    )


def _common(problem: GrowthProblem, limits: Limits) -> dict[str, Any]:
    return {"n_features": len(problem.widths), "shapes": problem.shapes, "cutoff": limits.cutoff}


def _columns(problem: GrowthProblem, nodes: NodeTable, node_widths: np.ndarray | None) -> dict[str, np.ndarray]:
    """Columns of one tree."""
    lines = nodes.lines
    parent, feature = lines["parent"], lines["feature"]
    left, right = children_of(parent, lines["side"])
    is_inner = feature >= 0
    value, impurity = node_values(problem, nodes)
    return {
        "children_left": left,
        "children_right": right,
        "parent": parent,
        "depth": lines["depth"],
        "feature": feature,
        "threshold": lines["threshold"],
        "missing_left": np.where(is_inner, lines["missing_left"], 0.5),
        "width": np.where(is_inner, problem.widths[feature] if node_widths is None else node_widths, 0.0),
        "kernel": np.where(is_inner, problem.kinds[feature], 0),
        "value": value,
        "mass": lines["mass"],
        "impurity": impurity,
    }


def depth_first(nodes: NodeTable) -> tuple[NodeTable, np.ndarray]:
    """The nodes numbered depth first, left before right.

    Returns
    -------
    nodes : the table in the new order
    order : (n_nodes,) the old number of each
    """
    lines = nodes.lines
    n = len(lines)
    left, right = (side.tolist() for side in children_of(lines["parent"], lines["side"]))
    order, pending = [], [0]
    while pending:
        node = pending.pop()
        order.append(node)
        if left[node] >= 0:
            pending += [right[node], left[node]]
    number = np.empty(n + 1, dtype=np.int64)
    number[order] = np.arange(n)
    number[n] = -1  # the root's parent is -1, which indexes this last entry
    lines = lines[order]
    lines["parent"] = number[lines["parent"]]
    return NodeTable(lines, nodes.sums[order]), np.array(order)


def node_values(problem: GrowthProblem, nodes: NodeTable) -> tuple[np.ndarray, np.ndarray]:
    """Value and impurity of each node, in the user's units."""
    targets = problem.targets
    mass = nodes.lines["mass"]
    means = nodes.sums / mass[:, None]
    if isinstance(targets, RealTargets):
        variance = nodes.lines["square"] / mass - np.einsum("ij,ij->i", means, means)
        return targets.mean + targets.scale * means, np.maximum(variance, 0.0) * targets.square_scale / means.shape[1]
    if len(targets.classes) == 1:
        means = np.ones((len(mass), 1))
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
