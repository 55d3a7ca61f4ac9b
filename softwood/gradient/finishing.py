"""From a tree in standardised units to the `SoftTree` that is handed over, in the user's units."""

from __future__ import annotations

import numpy as np

from softwood.gates import Gate
from softwood.gradient.data import LearningSet, Scaling
from softwood.gradient.growing import GrownTree
from softwood.gradient.refining import scratch_of
from softwood.loops.soft_joint import Nodes, node_sums
from softwood.loops.soft_split import IDENTITY, LOGISTIC
from softwood.targets import RealTargets
from softwood.tree import SoftTree

__all__ = ["finish"]


def finish(
    tree: GrownTree, rows: LearningSet, total_mass: float, link: int, scaling: Scaling, targets: object
) -> SoftTree:
    """The finished tree.

    Parameters
    ----------
    rows : those whose mass and impurity the nodes tell
    total_mass : their weight as the user counts it
    targets : the `ClassTargets` or `RealTargets`, for the units of the values
    """
    nodes = tree.arrays()
    left, right, gates, values = nodes
    weights, bias = scaling.fold_back(gates)
    mass, impurity = _mass_and_impurity(rows, nodes)
    impurity = np.maximum(impurity.sum(axis=1), 0.0)
    if isinstance(targets, RealTargets):
        values = targets.mean + targets.scale * values
        impurity = impurity * targets.square_scale / values.shape[1]
    elif link == LOGISTIC:
        values = np.column_stack([-0.5 * values, 0.5 * values])
        impurity = 2.0 * impurity  # of both classes: p (1 - p) + (1 - p) p
    inner = left >= 0
    bias[~inner] = 0.0
    missing_left = np.full(len(left), 0.5)
    missing_left[inner] = mass[left[inner]] / np.maximum(mass[inner], np.finfo(float).tiny)
    return SoftTree.from_nodes(
        children_left=left,
        children_right=right,
        value=values,
        n_features=weights.shape[1],
        gate=np.where(inner, Gate.SIGMOID, Gate.LEAF),
        weights=weights,
        bias=bias,
        missing_left=missing_left,
        mass=mass * (total_mass / rows.weights.sum()),
        impurity=impurity,
        link="identity" if link == IDENTITY else "softmax",
        center=scaling.center,
        scale=scaling.spread,
    )


def _mass_and_impurity(rows: LearningSet, nodes: Nodes) -> tuple[np.ndarray, np.ndarray]:
    """Mass of the rows in each node, (n_nodes,), and the variance of each of their targets, (n_nodes, q)."""
    n_nodes, q = len(nodes.left), rows.targets.shape[1]
    mass, sums, squares = np.zeros(n_nodes), np.zeros((n_nodes, q)), np.zeros((n_nodes, q))
    node_sums(rows.arrays, nodes, scratch_of(nodes), mass, sums, squares)
    total = np.maximum(mass, np.finfo(float).tiny)[:, None]
    return mass, squares / total - (sums / total) ** 2
