"""The linear discriminant tree (Yıldız, Alpaydın 2005): at each node Fisher's discriminant of two groups of classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from softwood.base import ClassifierBase
from softwood.gates import Gate
from softwood.gradient.data import LearningSet
from softwood.gradient.model import Training, ValidatedTree
from softwood.parameters import check_flag, check_integer, check_number
from softwood.tree import SoftTree

__all__ = ["LinearDiscriminantTreeClassifier"]

# Directions in which the rows of a node vary less than this part of the largest are left out, as in the paper.
FLAT = 1e-10


@dataclass
class _Node:
    """A node with its rows; `gate` and children if it is split."""

    rows: np.ndarray
    watched: np.ndarray
    depth: int
    sums: np.ndarray
    gate: np.ndarray | None = None
    children: list[_Node] = field(default_factory=list)

    def walk(self) -> Iterator[_Node]:
        """The node itself and those below, parents first."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending += node.children[::-1]


class LinearDiscriminantTreeClassifier(ClassifierBase, ValidatedTree):
    """Linear discriminant tree: crisp oblique splits, pruned after growth.

    The classes at a node are divided in two groups, and Fisher's linear discriminant separates these: ``w @ x + b > 0``
    goes left. With more than two classes the groups begin with the two classes whose means are farthest apart; then
    single classes change sides as long as that makes the split purer. After growth a subtree is cut where a leaf
    makes no more errors on validation rows. Missing values and categories are as in `SoftTreeClassifier`.

    Parameters
    ----------
    validation_fraction : float, default=0.25
        Part of the rows for pruning, unless `fit` is given rows for it.
    prune : bool, default=True
    max_depth : int, default=None
    min_mass : float, default=1.0
        Smallest mass of a leaf, in rows of average weight.
    categorical_features : "from_dtype", None, or columns by name, number or mask, default="from_dtype"
        Columns to be taken as categories.
    class_weight : dict or "balanced", default=None
        Weights of classes.
    random_state : int or RandomState, default=None
        Validation part.

    Attributes
    ----------
    tree_ : SoftTree
        The finished tree; its values are class probabilities.
    columns_ : Columns
    feature_importances_ : (n_features_in,) array
    classes_ : (n_classes,) array

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import LinearDiscriminantTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantTreeClassifier(random_state=0).fit(X, y)
    >>> model.get_n_leaves()
    3
    """

    def __init__(
        self,
        *,
        validation_fraction: float = 0.25,
        prune: bool = True,
        max_depth: int | None = None,
        min_mass: float = 1.0,
        categorical_features: Any = "from_dtype",
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.validation_fraction = validation_fraction
        self.prune = prune
        self.max_depth = max_depth
        self.min_mass = min_mass
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.random_state = random_state

    def _check_parameters(self) -> tuple[float, float]:
        check_flag(self, "prune", self.prune)
        depth = check_integer(self, "max_depth", self.max_depth, low=1, or_none=True)
        return np.inf if depth is None else depth, check_number(self, "min_mass", self.min_mass, low=0.0)

    def _train(self, data: Training, rules: tuple[float, float]) -> None:
        train, watched = data.parts()
        root = _grow(train, watched, *rules)
        if self.prune:
            _prune(root, watched)
        self.tree_ = _finish(root, train, data)


def _grow(train: LearningSet, watched: LearningSet, max_depth: float, min_mass: float) -> _Node:
    everything = np.arange(len(train))
    root = _Node(everything, np.arange(len(watched)), 0, train.weights @ train.targets)
    pending = [root]
    while pending:
        node = pending.pop()
        mass = node.sums.sum()
        if node.depth >= max_depth or mass < 2.0 * min_mass or _impurity(node.sums) <= 1e-12:
            continue
        points, weights = train.points[node.rows], train.weights[node.rows]
        gate = _best_discriminant(points, train.targets[node.rows] * weights[:, None])
        if gate is None:
            continue
        side, watched_side = _goes_left(gate, points), _goes_left(gate, watched.points[node.watched])
        for is_here, is_watched_here in ((side, watched_side), (~side, ~watched_side)):
            rows = node.rows[is_here]
            child = _Node(
                rows, node.watched[is_watched_here], node.depth + 1, train.weights[rows] @ train.targets[rows]
            )
            node.children.append(child)
        if min(child.sums.sum() for child in node.children) < min_mass * (1.0 - 1e-9):
            node.children = []
            continue
        node.gate = gate
        pending += node.children
    return root


def _goes_left(gate: np.ndarray, points: np.ndarray) -> np.ndarray:
    return points @ gate[:-1] + gate[-1] > 0.0


def _impurity(sums: np.ndarray) -> float:
    """Gini impurity of class masses."""
    total = sums.sum()
    return float(1.0 - ((sums / total) ** 2).sum()) if total > 0 else 0.0


def _best_discriminant(points: np.ndarray, masses: np.ndarray) -> np.ndarray | None:
    """Gate (d + 1,) of the best division of the classes that was found; None if nothing separates the rows.

    Parameters
    ----------
    points : (n, d);  masses : (n, n_classes) weight of each row in each class
    """
    totals = masses.sum(axis=0)
    present = np.flatnonzero(totals > 0)
    means = (masses[:, present].T @ points) / totals[present][:, None]
    distances = ((means[:, None] - means[None]) ** 2).sum(axis=2)
    first, second = np.unravel_index(distances.argmax(), distances.shape)
    is_left = distances[first] < distances[second]
    is_left[first], is_left[second] = True, False

    def trial(group: np.ndarray) -> tuple[float, np.ndarray | None]:
        gate = _discriminant(points, masses[:, present[group]].sum(axis=1), masses[:, present[~group]].sum(axis=1))
        if gate is None:
            return np.inf, None
        side = _goes_left(gate, points)
        parts = masses[side].sum(axis=0), masses[~side].sum(axis=0)
        return sum(part.sum() * _impurity(part) for part in parts), gate

    impurity, gate = trial(is_left)
    improved = len(present) > 2
    while improved:
        improved = False
        for k in range(len(present)):
            other = is_left.copy()
            other[k] = not other[k]
            if not other.any() or other.all():
                continue
            now, found = trial(other)
            if now < impurity * (1.0 - 1e-9):
                impurity, gate, is_left, improved = now, found, other, True
    return gate


def _discriminant(points: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """Fisher's discriminant of two groups given as weights of the rows; None if all rows would be on one side.

    With the covariance of all rows in place of that within the groups the direction is the same, ``1 - p q d' w`` times
    as long (``p`` and ``q``: parts of the groups, ``d``: difference of their means, ``w``: the direction), and a column
    that is constant within each group, which separates them best, is no trouble.
    """
    mass_left, mass_right = left.sum(), right.sum()
    if mass_left <= 0 or mass_right <= 0:
        return None
    part_left, part_right = left / (mass_left + mass_right), right / (mass_left + mass_right)
    mean_left, mean_right = left @ points / mass_left, right @ points / mass_right
    centred = points - (part_left + part_right) @ points
    sizes, axes = np.linalg.eigh((centred * (part_left + part_right)[:, None]).T @ centred)
    keep = sizes > FLAT * max(sizes[-1], 0.0)
    difference = mean_left - mean_right
    direction = axes[:, keep] @ ((axes[:, keep].T @ difference) / sizes[keep])
    shortening = 1.0 - part_left.sum() * part_right.sum() * (difference @ direction)
    middle = -0.5 * (mean_left + mean_right) @ direction
    is_here = (left > 0) | (right > 0)
    for bias in (middle + max(shortening, 0.0) * np.log(mass_left / mass_right), middle):
        gate = np.append(direction, bias)
        side = _goes_left(gate, points[is_here])
        if np.all(np.isfinite(gate)) and side.any() and not side.all():
            return gate
    return None


def _prune(root: _Node, watched: LearningSet) -> None:
    """Cut every subtree that makes no fewer errors on the validation rows than a leaf would."""
    errors: dict[int, float] = {}
    for node in list(root.walk())[::-1]:
        truth = (watched.weights[node.watched, None] * watched.targets[node.watched]).sum(axis=0)
        as_leaf = float(truth.sum() - truth[node.sums.argmax()])
        below = sum(errors[id(child)] for child in node.children) if node.children else as_leaf
        if as_leaf <= below + 1e-12:
            node.children, node.gate, below = [], None, as_leaf
        errors[id(node)] = below


def _finish(root: _Node, train: LearningSet, data: Training) -> SoftTree:
    nodes = list(root.walk())
    number = {id(node): k for k, node in enumerate(nodes)}
    d = train.points.shape[1]
    gates = np.array([np.zeros(d + 1) if node.gate is None else node.gate for node in nodes])
    weights, bias = data.scaling.fold_back(gates)
    inner = np.array([bool(node.children) for node in nodes])
    mass = np.array([node.sums.sum() for node in nodes])
    left, right = (
        np.array([number[id(node.children[side])] if node.children else -1 for node in nodes]) for side in (0, 1)
    )
    missing_left = np.full(len(nodes), 0.5)
    missing_left[inner] = mass[left[inner]] / mass[inner]
    return SoftTree.from_nodes(
        children_left=left,
        children_right=right,
        value=np.array([node.sums / node.sums.sum() for node in nodes]),
        n_features=d,
        gate=np.where(inner, Gate.OBLIQUE, Gate.LEAF),
        weights=weights,
        bias=np.where(inner, bias, 0.0),
        missing_left=missing_left,
        mass=mass * (data.mass / train.weights.sum()),
        impurity=np.array([_impurity(node.sums) for node in nodes]),
        center=data.scaling.center,
        scale=data.scaling.spread,
    )
