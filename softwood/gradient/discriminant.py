"""The linear discriminant tree (Yıldız, Alpaydın 2005): at each node Fisher's discriminant of two groups of classes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
from scipy.spatial.distance import cdist

from softwood.base import ClassifierBase, Fit
from softwood.core.estimators import estimator
from softwood.core.parameters import check_flag, check_integer, check_number, parameter
from softwood.core.steps import Steps
from softwood.gradient.base import Training, ValidatedTree
from softwood.gradient.data import LearningSet
from softwood.gradient.finishing import to_soft_tree
from softwood.gradient.loops.soft_joint import SoftNodes
from softwood.trees.gates import Gate
from softwood.trees.tree import SoftTree

# Directions in which the rows of a node vary less than this part of the largest are left out, as in the paper.
FLAT = 1e-10
# Exchanges of classes are tried together as long as trials times rows are not more than this.
AT_ONCE = 8192


@dataclass
class _Node:
    """A node with its rows; `gate` and children if it is split."""

    rows: np.ndarray
    validation: np.ndarray
    depth: int
    sums: np.ndarray
    gate: np.ndarray | None = None
    children: list[_Node] = field(default_factory=list)

    @classmethod
    def of(cls, train: LearningSet, validation: LearningSet) -> _Node:
        """A root of all rows."""
        return cls(np.arange(len(train)), np.arange(len(validation)), 0, train.weights @ train.targets)

    def walk(self) -> Iterator[_Node]:
        """The node itself and those below, parents first."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending += node.children[::-1]


@estimator
class LinearDiscriminantTreeClassifier(ClassifierBase, ValidatedTree):
    """Linear discriminant tree: crisp oblique splits, pruned after growth.

    The classes at a node are divided into two groups, and Fisher's linear discriminant separates the groups: rows with
    ``w @ x + b > 0`` go left. With more than two classes, the groups are built around the two classes whose means are
    farthest apart; then single classes are moved to the other group as long as this makes the split purer. After
    growth, a subtree is replaced by a leaf if that makes no more errors on the validation rows. A missing value counts
    as the mean of its column. A category is encoded as a column of zeros and ones.

    Parameters
    ----------
    max_depth : int or None
        Largest depth of the tree. None means no limit.
    min_mass : float
        Smallest mass of a leaf, in rows of average weight.
    prune : bool
        Whether to prune.
    validation_fraction : float
        Fraction of the rows set aside for pruning, unless validation rows are passed to `fit`.
    random_state : int, RandomState instance or None
        Controls the validation rows.

    Attributes
    ----------
    tree_ : SoftTree
        The fitted tree. Its values are class probabilities.
    history_ : list of dict
        A dict for each node that was tried: ``stage`` ("fit"), ``iteration``, ``depth``, whether its split was
        ``kept``, and ``n_leaves`` of the tree before pruning.
    n_iter_ : int
        Number of nodes that were tried.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import LinearDiscriminantTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearDiscriminantTreeClassifier(random_state=0).fit(X, y)
    >>> model.get_n_leaves()
    3
    """

    prune: bool = parameter(True, check_flag)
    max_depth: int | None = parameter(None, check_integer, low=1, or_none=True)
    min_mass: float = parameter(1.0, check_number, low=0.0)

    _leading: ClassVar[tuple[str, ...]] = ("max_depth", "min_mass")

    def _train(self, fit: Fit, data: Training, rules: Self) -> None:
        train, validation = data.parts()
        steps = fit.steps("node")

        def results(root: _Node) -> dict[str, Any]:
            if rules.prune:
                _prune(root, validation)
            return {"history_": list(steps.history), "tree_": _finish(root, train, data)}

        root = _Node.of(train, validation)
        try:
            _grow(root, train, validation, rules, steps, lambda: results(copy.deepcopy(root)))
        finally:
            self.__dict__.update(results(root))
        if not steps.is_stopped:
            self._keep_validation(data, self.tree_.predict(data.scaling.restore(validation.points)))


def _grow(
    root: _Node,
    train: LearningSet,
    validation: LearningSet,
    rules: LinearDiscriminantTreeClassifier,
    steps: Steps,
    snapshot: Callable[[], dict[str, Any]] | None = None,
) -> None:
    """Split nodes from `root` on, depth first; `steps` record each node that may be split."""
    max_depth = np.inf if rules.max_depth is None else rules.max_depth
    n_leaves = 1
    pending = [root]
    while pending:
        node = pending.pop()
        mass = node.sums.sum()
        if node.depth >= max_depth or mass < 2.0 * rules.min_mass or _impurity(node.sums) <= 1e-12:
            continue
        step = steps.begin()
        if _split(node, train, validation, rules.min_mass):
            pending += node.children
            n_leaves += 1
        if step.end(snapshot, depth=node.depth, kept=bool(node.children), n_leaves=n_leaves):
            break


def _split(node: _Node, train: LearningSet, validation: LearningSet, min_mass: float) -> bool:
    """Split the node if there is a good division of its rows; returns whether it was split."""
    points, weights = train.points[node.rows], train.weights[node.rows]
    gate = _best_discriminant(points, train.targets[node.rows] * weights[:, None])
    if gate is None:
        return False
    side, validation_side = _goes_left(gate, points), _goes_left(gate, validation.points[node.validation])
    children = []
    for is_here, is_validation_here in ((side, validation_side), (~side, ~validation_side)):
        rows = node.rows[is_here]
        sums = train.weights[rows] @ train.targets[rows]
        children.append(_Node(rows, node.validation[is_validation_here], node.depth + 1, sums))
    if min(child.sums.sum() for child in children) < min_mass * (1.0 - 1e-9):
        return False
    node.gate, node.children = gate, children
    return True


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
    masses = masses[:, masses.sum(axis=0) > 0]
    n_classes = masses.shape[1]
    fisher = _Discriminants(points, masses)
    distances = cdist(fisher.means, fisher.means, "sqeuclidean")
    first, second = np.unravel_index(distances.argmax(), distances.shape)
    is_left = distances[first] < distances[second]
    is_left[first], is_left[second] = True, False
    impurity, gate = fisher.divide(is_left)
    if n_classes == 2:
        return gate
    exchanges = _Exchanges(fisher, is_left, gate)
    n_at_once = max(1, AT_ONCE // len(points))
    improved = True
    while improved:
        improved, k = False, 0
        while k < n_classes:
            tried = np.arange(k, min(k + n_at_once, n_classes))
            k = int(tried[-1]) + 1
            for other in tried[exchanges.impurities(tried) < impurity * (1.0 - 1e-9)]:
                # Exchanges are compared up to rounding; what is kept is measured with the gate itself.
                is_left = exchanges.is_left.copy()
                is_left[other] = not is_left[other]
                now, found = fisher.divide(is_left)
                if now < impurity * (1.0 - 1e-9):
                    exchanges.keep(other, found)
                    impurity, gate, improved, k = now, found, True, int(other) + 1
                    break
    return gate


class _Discriminants:
    """Fisher's discriminants of all divisions of a node's classes in two groups.

    With the covariance of all rows in place of that within the groups the direction is the same, ``1 - p q d' w`` times
    as long (``p`` and ``q``: parts of the groups, ``d``: difference of their means, ``w``: the direction), and a column
    that is constant within each group, which separates them best, does no harm. This covariance does not depend on the
    groups, so it is factored once.

    Attributes
    ----------
    points : (n, d);  masses : (n, n_classes) weight of each row in each class, of each class more than 0
    totals, means : (n_classes,) and (n_classes, d)
    center : (d,) mean of all rows
    roots : (d, rank) the inverse of the covariance is ``roots @ roots.T``, without directions in which nothing varies
    weights : (n,) weight of each row
    labels : (n,) class of each row; None if a row is of several
    """

    def __init__(self, points: np.ndarray, masses: np.ndarray) -> None:
        self.points, self.masses = points, masses
        self.totals = masses.sum(axis=0)
        self.means = (masses.T @ points) / self.totals[:, None]
        self.weights = masses.sum(axis=1)
        is_crisp = np.count_nonzero(masses) == len(masses) and bool(np.all(self.weights > 0))
        self.labels = masses.argmax(axis=1) if is_crisp else None
        parts = self.weights / self.totals.sum()
        self.center = parts @ points
        centred = points - self.center
        sizes, axes = np.linalg.eigh((centred * parts[:, None]).T @ centred)
        keep = sizes > FLAT * max(sizes[-1], 0.0)
        self.roots = axes[:, keep] / np.sqrt(sizes[keep])

    def gate(self, is_left: np.ndarray) -> np.ndarray | None:
        """Gate (d + 1,) of the classes `is_left` against the others; None if all rows would be on one side."""
        if not is_left.any() or is_left.all():
            return None
        mass_left, mass_right = self.totals[is_left].sum(), self.totals[~is_left].sum()
        mean_left = self.totals[is_left] @ self.means[is_left] / mass_left
        mean_right = self.totals[~is_left] @ self.means[~is_left] / mass_right
        difference = mean_left - mean_right
        direction = self.roots @ (self.roots.T @ difference)
        part_left, part_right = mass_left / (mass_left + mass_right), mass_right / (mass_left + mass_right)
        shortening = 1.0 - part_left * part_right * (difference @ direction)
        middle = -0.5 * (mean_left + mean_right) @ direction
        for bias in (middle + max(shortening, 0.0) * np.log(mass_left / mass_right), middle):
            gate = np.append(direction, bias)
            side = _goes_left(gate, self.points)
            if np.all(np.isfinite(gate)) and side.any() and not side.all():
                return gate
        return None

    def divide(self, is_left: np.ndarray) -> tuple[float, np.ndarray | None]:
        """Impurity of the two sides, times their masses, and the gate; infinite and None if it separates nothing."""
        gate = self.gate(is_left)
        if gate is None:
            return np.inf, None
        side = _goes_left(gate, self.points)
        return sum(part.sum() * _impurity(part) for part in (self.sums(side), self.sums(~side))), gate

    def sums(self, rows: np.ndarray) -> np.ndarray:
        """Mass of each class in these rows, (n_classes,)."""
        if self.labels is None:
            return self.masses[rows].sum(axis=0)
        return np.bincount(self.labels[rows], weights=self.weights[rows], minlength=len(self.totals))


class _Exchanges:
    """Divisions of the classes that differ from a given one in a single class, without another pass over all rows.

    The direction of a division is a multiple of the sum of one direction for each class on the left. So a row's side
    depends on the sum of its `projections` on these, the change of a class adds or subtracts one of them, and masses of
    classes change by the rows that change sides.
    """

    def __init__(self, fisher: _Discriminants, is_left: np.ndarray, gate: np.ndarray | None) -> None:
        self.fisher, self.is_left = fisher, is_left.copy()
        self.parts = fisher.totals / fisher.totals.sum()
        # How far each class draws the mean of its group from the mean of all, where all directions vary alike.
        self.pulls = (self.parts[:, None] * (fisher.means - fisher.center)) @ fisher.roots
        self.projections = self.pulls @ ((fisher.points - fisher.center) @ fisher.roots).T
        self.pull, self.projection = self.pulls[is_left].sum(axis=0), self.projections[is_left].sum(axis=0)
        self._take_sides(gate)

    def keep(self, k: int, gate: np.ndarray | None) -> None:
        """Let this class change groups; the gate is that of the new division."""
        sign = -1.0 if self.is_left[k] else 1.0
        self.is_left[k] = not self.is_left[k]
        self.pull += sign * self.pulls[k]
        self.projection += sign * self.projections[k]
        self._take_sides(gate)

    def _take_sides(self, gate: np.ndarray | None) -> None:
        points = self.fisher.points
        self.side = np.zeros(len(points), dtype=bool) if gate is None else _goes_left(gate, points)
        self.sums = self.fisher.sums(self.side)

    def impurities(self, classes: np.ndarray) -> np.ndarray:
        """Impurity of both sides, times their masses, after each of these classes alone has changed groups.

        Infinite where that leaves a group, or a side, empty.
        """
        out = np.full(len(classes), np.inf)
        groups = self.is_left ^ (classes[:, None] == np.arange(len(self.is_left)))
        possible = groups.any(axis=1) & ~groups.all(axis=1)
        classes, groups = classes[possible], groups[possible]
        signs = np.where(self.is_left[classes], -1.0, 1.0)
        part_left, part_right = groups @ self.parts, ~groups @ self.parts
        pull = self.pull + signs[:, None] * self.pulls[classes]
        square = np.einsum("ij,ij->i", pull, pull)
        # With `pull` on one side, `-pull` is on the other: the difference of the means is `factor` times `pull`, and a
        # row goes left if its projection is above the border.
        factor = 1.0 / part_left + 1.0 / part_right
        middle = 0.5 * (1.0 / part_left - 1.0 / part_right) * square
        shortening = np.maximum(1.0 - factor * square, 0.0)
        border = middle - shortening / factor * np.log(part_left / part_right)
        projection = self.projection + signs[:, None] * self.projections[classes]
        side = projection > border[:, None]
        is_empty = side.all(axis=1) | ~side.any(axis=1)
        if is_empty.any():
            side[is_empty] = projection[is_empty] > middle[is_empty, None]
            is_empty = side.all(axis=1) | ~side.any(axis=1)
        left = np.maximum(self.sums + self._changes(side), 0.0)
        right = np.maximum(self.fisher.totals - left, 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = sum(part.sum(axis=1) - (part**2).sum(axis=1) / part.sum(axis=1) for part in (left, right))
        out[possible] = np.where(is_empty, np.inf, found)
        return out

    def _changes(self, side: np.ndarray) -> np.ndarray:
        """What the left side gains of each class, (n_trials, n_classes), if rows go by `side` (n_trials, n)."""
        n_trials, n_classes = len(side), len(self.is_left)
        changed = side != self.side
        if self.fisher.labels is None:
            rows = np.flatnonzero(changed.any(axis=0))
            return (side[:, rows].astype(float) - self.side[rows]) @ self.fisher.masses[rows]
        trial, row = np.nonzero(changed)
        weights = self.fisher.weights[row]
        gains = np.where(self.side[row], -weights, weights)
        places = trial * n_classes + self.fisher.labels[row]
        return np.bincount(places, weights=gains, minlength=n_trials * n_classes).reshape(n_trials, n_classes)


def _prune(root: _Node, validation: LearningSet) -> None:
    """Cut every subtree that makes no fewer errors on the validation rows than a leaf would."""
    errors: dict[int, float] = {}
    for node in list(root.walk())[::-1]:
        truth = (validation.weights[node.validation, None] * validation.targets[node.validation]).sum(axis=0)
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
    left, right = (
        np.array([number[id(node.children[side])] if node.children else -1 for node in nodes]) for side in (0, 1)
    )
    mass = np.array([node.sums.sum() for node in nodes])
    values = np.array([node.sums / node.sums.sum() for node in nodes])
    impurity = np.array([_impurity(node.sums) for node in nodes])
    mass_unit = data.mass / train.weights.sum()
    return to_soft_tree(
        SoftNodes(left, right, gates, values), mass, mass_unit, impurity, Gate.OBLIQUE, data.scaling, data.targets
    )
