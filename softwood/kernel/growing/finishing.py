"""From the table of nodes that the growing loop returns to finished trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs

from softwood.core.targets import RealTargets
from softwood.core.threads import Threads
from softwood.kernel.growing.loops.groups import NodeTable
from softwood.kernel.growing.loops.tree_groups import NODE
from softwood.kernel.growing.problem import GrowthProblem
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.nodes import NODE_TYPES
from softwood.trees.structure import children_of
from softwood.trees.tree import SoftTree


def finish(problem: GrowthProblem, nodes: NodeTable, node_widths: np.ndarray | None = None) -> SoftTree:
    """A tree from its nodes.

    Parameters
    ----------
    nodes : the nodes, depth first
    node_widths : (n_nodes,) half-width of each node's kernel; None: the half-width of the node's feature
    """
    columns = _new_columns(problem, len(nodes.lines))
    _fill(columns, 0, problem, nodes, node_widths)
    return SoftTree(**columns, **_common(problem))


def finish_forest(
    problem: GrowthProblem, tables: list[NodeTable], *, consume: bool = False, n_jobs: int | None = None
) -> SoftForest:
    """A forest from the nodes of each of its trees.

    Parameters
    ----------
    consume : whether to drop each table once it is read, so that there are never two copies of all trees
    n_jobs : number of threads, over trees
    """
    offsets = np.concatenate([[0], np.cumsum([len(nodes.lines) for nodes in tables])]).astype(np.int64)
    columns = _new_columns(problem, int(offsets[-1]))

    def fill(k: int, _: int) -> None:
        _fill(columns, int(offsets[k]), problem, tables[k], None)
        if consume:
            tables[k] = NodeTable(np.empty(0, NODE), np.empty((0, 0)))

    with Threads(effective_n_jobs(n_jobs)) as threads:
        threads.run(fill, len(tables))
    return SoftForest(
        offsets=offsets,
        output=np.zeros(len(tables), np.int32),
        base=np.zeros(problem.n_outputs),
        is_mean=True,
        **columns,
        **_common(problem),
    )


def _common(problem: GrowthProblem) -> dict[str, Any]:
    return {"n_features": len(problem.widths), "shapes": problem.shapes, "weights": None}


def _new_columns(problem: GrowthProblem, n_nodes: int) -> dict[str, Any]:
    """Columns of the finished nodes, to be filled by `_fill`.

    They are filled in place: for a large forest, allocating memory takes longer than writing the numbers.
    """
    columns: dict[str, Any] = {name: np.empty(n_nodes, dtype=dtype) for name, dtype in NODE_TYPES.items()}
    columns |= {name: np.zeros(n_nodes) for name in ("blend", "bias")}  # used by other kinds of gates
    if problem.bins.n_words:
        columns["subsets"] = np.zeros((n_nodes, problem.bins.n_words), np.uint32)
    return columns | {"value": np.empty((n_nodes, problem.n_outputs))}


def _fill(
    columns: dict[str, np.ndarray], begin: int, problem: GrowthProblem, nodes: NodeTable, node_widths: np.ndarray | None
) -> None:
    """Write the nodes of one tree into the columns, from `begin` on; `node_widths` as in `finish`."""
    lines = nodes.lines
    part = {name: column[begin : begin + len(lines)] for name, column in columns.items()}
    for name in ("parent", "depth", "feature", "threshold", "missing_left", "mass"):
        part[name][:] = lines[name]
    feature, is_leaf = part["feature"], part["feature"] < 0
    part["children_left"][:], part["children_right"][:] = children_of(part["parent"], lines["side"])
    part["gate"][:] = np.where(is_leaf, Gate.LEAF, Gate.KERNEL)
    if nodes.subsets is not None:
        by_set = ~is_leaf & (problem.bins.n_categories[feature] > 0)
        part["gate"][by_set] = Gate.SUBSET
        part["subsets"][by_set] = nodes.subsets[by_set]
    part["width"][:] = problem.widths[feature] if node_widths is None else node_widths
    part["kernel"][:] = problem.kinds[feature]
    for name, neutral in (("missing_left", 0.5), ("width", 0.0), ("kernel", 0)):
        part[name][is_leaf] = neutral
    part["impurity"][:] = node_values(problem, nodes, part["value"])[1]


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
    subsets = None if nodes.subsets is None else nodes.subsets[order]
    return NodeTable(lines, nodes.sums[order], subsets), np.array(order)


def node_values(
    problem: GrowthProblem, nodes: NodeTable, out: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Value and impurity of each node, in the user's units.

    Parameters
    ----------
    out : (n_nodes, n_outputs) array for the values; None: a new one
    """
    targets = problem.targets
    mass, sums = nodes.lines["mass"], nodes.sums
    values = np.empty((len(mass), problem.n_outputs)) if out is None else out
    if isinstance(targets, RealTargets):
        np.divide(sums, mass[:, None], out=values)
        variance = nodes.lines["square"] / mass - np.einsum("ij,ij->i", values, values)
        impurity = np.maximum(variance, 0.0) * targets.square_scale / sums.shape[1]
        values *= targets.scale
        values += targets.mean
        return values, impurity
    if len(targets.classes) == 1:
        values[:] = 1.0
    elif sums.shape[1] == 1:
        np.divide(sums[:, 0], mass, out=values[:, 1])
        np.subtract(1.0, values[:, 1], out=values[:, 0])
    else:
        np.divide(sums, mass[:, None], out=values)
    np.clip(values, 0.0, 1.0, out=values)
    values /= values.sum(axis=1, keepdims=True)
    if problem.criterion == "entropy":
        with np.errstate(divide="ignore", invalid="ignore"):
            impurity = -np.where(values > 0, values * np.log2(values), 0.0).sum(axis=1)
    else:
        impurity = 1.0 - np.einsum("ij,ij->i", values, values)
    return values, np.maximum(impurity, 0.0)
