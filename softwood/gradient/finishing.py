"""From a tree in standardised units to the finished `SoftTree` in the user's units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import softmax

from softwood.compiled.gradient import node_sums
from softwood.core.targets import RealTargets
from softwood.gradient.base import Training
from softwood.gradient.cross_selection import CrossSelection
from softwood.gradient.data import LearningSet, Scaling
from softwood.gradient.growing import GrownTree
from softwood.gradient.loops.soft_joint import SoftNodes
from softwood.gradient.loops.soft_split import IDENTITY, LOGISTIC
from softwood.gradient.refining import scratch_of
from softwood.trees.gates import Gate
from softwood.trees.tree import SoftTree


def finish(tree: GrownTree, data: Training) -> SoftTree:
    """The `SoftTree` of a tree of sigmoid gates; masses and impurities are those of the training rows."""
    nodes = tree.arrays()
    mass, impurity = _mass_and_impurity(data.train, nodes)
    impurity = np.maximum(impurity.sum(axis=1), 0.0)
    if data.link == LOGISTIC:
        nodes = nodes._replace(values=np.column_stack([-0.5 * nodes.values, 0.5 * nodes.values]))
        impurity = 2.0 * impurity  # of both classes: p (1 - p) + (1 - p) p
    mass_unit = data.mass / data.train.weights.sum()
    link = "identity" if data.link == IDENTITY else "softmax"
    return to_soft_tree(nodes, mass, mass_unit, impurity, Gate.SIGMOID, data.scaling, data.targets, link)


def predict_validation(
    tree: GrownTree, data: Training, cross: CrossSelection | None = None, grown: np.ndarray | None = None
) -> np.ndarray:
    """Predictions of the validation rows in the user's units, (n, n_outputs).

    Parameters
    ----------
    cross : of a classifier: each row is predicted by what the other parts have chosen
    grown : scores of the grown tree; refining changes those of `cross` as it changes these
    """
    scores = scores_of_validation(tree, data)
    if cross is not None and grown is not None:
        found = cross.outputs
        found = np.column_stack([-0.5 * found, 0.5 * found]) if data.link == LOGISTIC else found
        scores = found + (scores - grown)
    return softmax(scores, axis=1) if data.is_class else scores


def scores_of_validation(tree: GrownTree, data: Training) -> np.ndarray:
    """Outputs of the validation rows in the user's units before the softmax, (n, n_outputs)."""
    return replace(finish(tree, data), link="identity").predict(data.scaling.restore(data.validation.points))


def to_soft_tree(
    nodes: SoftNodes,
    mass: np.ndarray,
    mass_unit: float,
    impurity: np.ndarray,
    gate: Gate,
    scaling: Scaling,
    targets: object,
    link: str = "identity",
) -> SoftTree:
    """The `SoftTree`, in the user's units, of nodes in standardised units.

    Parameters
    ----------
    mass, impurity : (n_nodes,);  mass_unit : weight of a mass of 1 in the user's units
    gate : kind of the gates
    targets : the `ClassTargets` or `RealTargets`, for the units of the values
    """
    left, right, gates, values = nodes
    weights, bias = scaling.fold_back(gates)
    inner = left >= 0
    if isinstance(targets, RealTargets):
        values = targets.mean + targets.scale * values
        impurity = impurity * targets.square_scale / values.shape[1]
    missing_left = np.full(len(left), 0.5)
    missing_left[inner] = mass[left[inner]] / np.maximum(mass[inner], np.finfo(float).tiny)
    return SoftTree.from_nodes(
        children_left=left,
        children_right=right,
        value=values,
        n_features=weights.shape[1],
        gate=np.where(inner, gate, Gate.LEAF),
        weights=weights,
        bias=np.where(inner, bias, 0.0),
        missing_left=missing_left,
        mass=mass * mass_unit,
        impurity=impurity,
        link=link,
        center=scaling.center,
        scale=scaling.spread,
    )


def _mass_and_impurity(rows: LearningSet, nodes: SoftNodes) -> tuple[np.ndarray, np.ndarray]:
    """Mass of the rows in each node, (n_nodes,), and the variance of each of their targets, (n_nodes, q)."""
    n_nodes, q = len(nodes.left), rows.targets.shape[1]
    mass, sums, squares = np.zeros(n_nodes), np.zeros((n_nodes, q)), np.zeros((n_nodes, q))
    node_sums(rows.arrays, nodes, scratch_of(nodes), mass, sums, squares)
    total = np.maximum(mass, np.finfo(float).tiny)[:, None]
    return mass, squares / total - (sums / total) ** 2
