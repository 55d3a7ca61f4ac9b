"""The rounds of gradient boosting: gradients of a loss, a tree for each raw score, early stopping."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from softwood.density.binning import Bins
from softwood.density.newton import NewtonGrower, NewtonLimits, NewtonTree, boosted_tree
from softwood.losses import Loss
from softwood.steps import Best, Steps
from softwood.tree import SoftTree

__all__ = ["Boosted", "BoostingData", "BoostingRules", "boost"]


@dataclass(frozen=True)
class BoostingData:
    """Training rows or validation rows.

    Attributes
    ----------
    matrix : (n, p) encoded rows;  y : targets as the loss takes them;  weights : (n,)
    group : (n,) rows with the same content have the same number, for draws by content
    """

    matrix: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    group: np.ndarray


@dataclass(frozen=True)
class BoostingRules:
    """How boosting goes on from round to round.

    Attributes
    ----------
    decay : factor on the bandwidth after each round
    subsample : fraction of the rows for each round;  n_features : number of features drawn for each tree
    n_iter_no_change, tol : stop after this many rounds in a row in which the validation loss falls by no more than
        `tol`; None: never
    read : function that predicts (n,) with a tree for rows (n, p), if trees predict with other kernels than they were
        grown with
    """

    learning_rate: float
    n_rounds: int
    limits: NewtonLimits
    decay: float = 1.0
    subsample: float = 1.0
    n_features: int | None = None
    n_iter_no_change: int | None = None
    tol: float = 0.0
    read: Callable[[SoftTree, np.ndarray], np.ndarray] | None = None


@dataclass
class Boosted:
    """The rounds so far.

    Attributes
    ----------
    base : (n_scores,) start value
    trees, output : the trees in their order, and the raw score that each adds to
    train_losses, validation_losses : loss before the first round and after each round; empty if there are no such rows
    """

    base: np.ndarray
    trees: list[NewtonTree] = field(default_factory=list)
    output: list[int] = field(default_factory=list)
    train_losses: list[float] = field(default_factory=list)
    validation_losses: list[float] = field(default_factory=list)

    @property
    def n_rounds(self) -> int:
        """Number of complete rounds."""
        return len(self.trees) // len(self.base)

    @property
    def best_round(self) -> int:
        """Number of rounds with the smallest validation loss, the fewest of several such; all without such losses."""
        return int(np.argmin(self.validation_losses[: self.n_rounds + 1])) if self.validation_losses else self.n_rounds


def boost(
    data: BoostingData,
    bins: Bins,
    widths: np.ndarray,
    loss: Loss,
    rules: BoostingRules,
    seed: int,
    *,
    validation: BoostingData | None = None,
    scored: np.ndarray | None = None,
    n_threads: int = 1,
    result: Boosted | None = None,
    steps: Steps | None = None,
    snapshot: Callable[[], dict[str, Any]] | None = None,
) -> Boosted:
    """Add trees round by round.

    Parameters
    ----------
    widths : (p,) half-widths of the kernels in the first round
    validation : validation rows
    scored : training rows whose loss is computed after each round; None: none
    result : where the rounds are stored, so that they are kept after an interrupt
    steps : where each round is reported;  snapshot : returns the attributes of an estimator fitted so far
    """
    result = Boosted(loss.start(data.y, data.weights)) if result is None else result
    n, p = data.matrix.shape
    n_scores = loss.n_scores
    grower = NewtonGrower(bins, rules.limits, n_threads)
    raw = np.tile(result.base, (n, 1))
    raw_validation = None if validation is None else np.tile(result.base, (len(validation.matrix), 1))
    gradient, hessian = np.empty((n, n_scores), order="F"), np.empty((n, n_scores), order="F")
    rows_sums = np.empty((n, 3))
    rows_sums[:, 2] = data.weights

    best: Best[int] = Best(rules.n_iter_no_change, rules.tol)
    steps = Steps() if steps is None else steps

    def note() -> dict[str, float]:
        line = {}
        if scored is not None:
            line["train_loss"] = loss.value(data.y[scored], raw[scored], data.weights[scored])
            result.train_losses.append(line["train_loss"])
        if validation is not None and raw_validation is not None:
            line["validation_loss"] = loss.value(validation.y, raw_validation, validation.weights)
            result.validation_losses.append(line["validation_loss"])
            best.offer(line["validation_loss"], lambda: result.n_rounds)
        return line

    note()
    for number in range(rules.n_rounds):
        step = steps.begin()
        rng = np.random.default_rng([seed, number])
        rows = _draw_rows(data.group, rules.subsample, rng)
        loss.gradients(data.y, raw, data.weights, gradient, hessian)
        updated = raw if n_scores == 1 else raw.copy()  # all trees of a round start from the same scores
        for score in range(n_scores):
            rows_sums[:, 0], rows_sums[:, 1] = hessian[:, score], gradient[:, score]
            features = _draw_features(p, rules.n_features, rng)
            tree = grower.grow(rows_sums, rows, features, widths * rules.decay**number)
            if not loss.has_exact_leaves:
                _refit_leaves(tree, loss, data, raw[:, score], rules.limits.directions)
            values = tree.nodes["value"]
            np.clip(values, -loss.max_step, loss.max_step, out=values)
            values *= rules.learning_rate
            _add_tree(tree, rules, rows, data.matrix, updated, score)
            if validation is not None and raw_validation is not None:
                raw_validation[:, score] += _read(tree, rules, validation.matrix)
            result.trees.append(replace(tree, leaves=_NONE, rows=_NONE, shares=None))
            result.output.append(score)
        raw = updated
        if step.end(snapshot, **note()) or best.is_stalled:
            break
    return result


_NONE = np.empty(0)


def _draw_rows(group: np.ndarray, subsample: float, rng: np.random.Generator) -> np.ndarray | None:
    """Rows of a round; equal rows are drawn together, so a weight means repetition."""
    if subsample >= 1.0:
        return None
    n_groups = int(group.max()) + 1
    drawn = np.zeros(n_groups, dtype=bool)
    drawn[rng.permutation(n_groups)[: max(1, round(subsample * n_groups))]] = True
    return np.flatnonzero(drawn[group])


def _draw_features(p: int, n_features: int | None, rng: np.random.Generator) -> np.ndarray:
    if n_features is None or n_features >= p:
        return np.arange(p)
    return np.sort(rng.permutation(p)[:n_features])


def _refit_leaves(
    tree: NewtonTree, loss: Loss, data: BoostingData, raw: np.ndarray, directions: np.ndarray | None
) -> None:
    """Set the leaf values to those that minimise the loss within the monotonic constraints."""
    for leaf in range(len(tree.leaves)):
        rows, shares = tree.members(leaf)
        value = loss.leaf_value(data.y[rows] - raw[rows], data.weights[rows] * shares)
        tree.nodes["value"][tree.leaves["line"][leaf]] = value
    if directions is not None:
        _keep_directions(tree.nodes, directions)


def _keep_directions(nodes: np.ndarray, directions: np.ndarray) -> None:
    """Clip the leaf values so that the two sides of each constrained split stay in order, as in growing."""
    n = len(nodes)
    parent, side, feature = nodes["parent"], nodes["side"], nodes["feature"]
    mass = np.where(feature < 0, nodes["w"], 0.0)
    total = mass * nodes["value"]
    children = np.zeros((n, 2), dtype=int)
    for line in range(n - 1, 0, -1):  # children come after their parents
        mass[parent[line]] += mass[line]
        total[parent[line]] += total[line]
        children[parent[line], side[line]] = line
    mean = total / mass
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    for node in np.flatnonzero(feature >= 0):
        below = children[node]
        low[below], high[below] = low[node], high[node]
        if direction := directions[feature[node]]:
            middle = np.clip(mean[below], low[node], high[node]).mean()
            lower, upper = below if direction > 0 else below[::-1]
            high[lower] = low[upper] = middle
    nodes["value"] = np.clip(nodes["value"], low, high)


def _add_tree(
    tree: NewtonTree, rules: BoostingRules, rows: np.ndarray | None, matrix: np.ndarray, raw: np.ndarray, score: int
) -> None:
    """Add the tree's predictions, made with the prediction kernel, to the raw scores of the training rows."""
    if rows is None and rules.read is None:
        tree.add_to(raw, score)
    else:
        raw[:, score] += _read(tree, rules, matrix)


def _read(tree: NewtonTree, rules: BoostingRules, matrix: np.ndarray) -> np.ndarray:
    """Predictions of the tree with the prediction kernel, (n,)."""
    finished = boosted_tree(tree, rules.limits.cutoff)
    return finished.predict(matrix)[:, 0] if rules.read is None else rules.read(finished, matrix)
