"""End-to-end trees (Hehn, Kooij, Hamprecht 2019): expectation and maximisation, with gates that get steeper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from softwood.base import ClassifierBase, RegressorBase
from softwood.gradient.data import LearningSet
from softwood.gradient.model import Training, ValidatedTree
from softwood.gradient.one_stage import finish_staged
from softwood.gradient.one_stage_training import StagedTree, row_losses
from softwood.gradient.starting import random_start
from softwood.loops import end_to_end as loop
from softwood.parameters import check_count, check_number

__all__ = ["EndToEndTreeClassifier", "EndToEndTreeRegressor"]

BATCH = 32
# Part of the total variance that a leaf has at least, and rows with the overall shares that it has beside its own.
LEAST_VARIANCE, PRIOR_ROWS = 1e-3, 1.0


class _Rules(NamedTuple):
    """How the tree is trained; see the parameters of `EndToEndTreeClassifier`."""

    depth: int
    level_max_iter: int
    max_iter: int
    n_iter_no_change: int
    rate: float
    steepness: float
    prior: float


class _Expectation:
    """Rows, the leaves' distributions in closed form, and the passes over the gates."""

    def __init__(self, rows: LearningSet, is_class: bool, seed: int, depth: int) -> None:
        self.rows, self.is_class = rows, is_class
        self.rng = np.random.default_rng([seed, 7])
        self.gates = random_start(depth, rows.points.shape[1], self.rng)
        self.mean = np.average(rows.targets, axis=0, weights=rows.weights)
        spread = np.average((rows.targets - self.mean) ** 2, axis=0, weights=rows.weights)
        self.variance = np.maximum(spread, 1e-12)

    def likelihoods(self, belongs: np.ndarray) -> np.ndarray:
        """Probability of each row's target at each leaf, (n, n_leaves), given to what part rows belong to leaves."""
        targets, weighted = self.rows.targets, belongs * self.rows.weights[:, None]
        mass = weighted.sum(axis=0) + PRIOR_ROWS
        means = (weighted.T @ targets + PRIOR_ROWS * self.mean) / mass[:, None]
        if self.is_class:
            return np.maximum(targets @ means.T, 1e-12)
        squares = (weighted.T @ targets**2 + PRIOR_ROWS * (self.variance + self.mean**2)) / mass[:, None]
        variances = np.maximum(squares - means**2, LEAST_VARIANCE * self.variance)
        logs = -0.5 * (((targets[:, None, :] - means) ** 2 / variances).sum(axis=2) + np.log(variances).sum(axis=1))
        return np.exp(logs - logs.max(axis=1, keepdims=True))

    def staged(self, n_gates: int) -> StagedTree:
        """The complete tree of the first gates, before it is known which of its nodes are split."""
        n_nodes, q = 2 * n_gates + 1, self.rows.targets.shape[1]
        return StagedTree(
            self.gates[:n_gates], np.ones(n_gates), np.ones(n_gates, dtype=bool), np.zeros(n_nodes),
            np.zeros((n_nodes, q)),
        )  # fmt: skip

    def run(self, n_gates: int, first_gate: int, steepness: np.ndarray, rate: float, after: Any = None) -> None:
        """Passes with these steepnesses; `after` is called after each and ends them if it returns True."""
        rows, n = self.rows, len(self.rows)
        shares, belongs = np.empty(2 * n_gates + 1), np.empty(2 * n_gates + 1)
        descent = loop.Descent(*np.zeros((3, *self.gates.shape)))
        posterior = np.empty((n, n_gates + 1))
        likelihoods = np.ones((n, n_gates + 1))
        n_steps = np.int64(0)
        for steep in steepness:
            loop.posteriors(rows.points, likelihoods, self.gates, n_gates, steep, shares, posterior)
            likelihoods = self.likelihoods(posterior)
            n_steps = loop.maximise_pass(
                loop.Rows(rows.points, likelihoods, rows.weights), self.rng.permutation(n), BATCH, self.gates, n_gates,
                first_gate, steep, rate, n_steps, shares, belongs, descent,
            )  # fmt: skip
            if after is not None and after():
                break


@dataclass(kw_only=True, eq=False, repr=False)
class _EndToEndTree(ValidatedTree):
    """What classifier and regressor share."""

    max_depth: int = 6
    learning_rate: float = 0.01
    level_max_iter: int = 10
    max_iter: int = 60
    steepness: float = 20.0
    n_iter_no_change: int = 15
    prior: float = 1.0

    def _check_parameters(self) -> _Rules:
        return _Rules(
            depth=check_count(self, "max_depth", self.max_depth, high=12),
            level_max_iter=check_count(self, "level_max_iter", self.level_max_iter),
            max_iter=check_count(self, "max_iter", self.max_iter),
            n_iter_no_change=check_count(self, "n_iter_no_change", self.n_iter_no_change),
            rate=check_number(self, "learning_rate", self.learning_rate, low=0.0, open_low=True),
            steepness=check_number(self, "steepness", self.steepness, low=1.0),
            prior=check_number(self, "prior", self.prior, low=0.0, open_low=True),
        )

    def _train(self, data: Training, rules: _Rules) -> None:
        train, validation = data.parts()
        model = _Expectation(train, data.is_class, data.seed, rules.depth)
        tree = None
        try:
            for level in range(rules.depth):
                n_gates = 2 ** (level + 1) - 1
                model.run(n_gates, 2**level - 1, np.ones(rules.level_max_iter), rules.rate)
                tree = model.staged(n_gates)
            assert tree is not None
            _anneal(tree, model, validation, rules)
        finally:
            if tree is not None:
                tree.alive = _dividing(tree.add_up(train), tree.n_inner)
                self.history_ = tree.history
                self.tree_ = finish_staged(
                    tree, data.everything(), data.total_mass, data.scaling, data.targets, rules.prior
                )


def _anneal(tree: StagedTree, model: _Expectation, validation: LearningSet, rules: _Rules) -> None:
    """All gates together, steeper from pass to pass; the pass is kept whose crisp tree validates best.

    So far, on an interrupt.
    """
    n_gates, since = tree.n_inner, 0
    best: list[Any] = [np.inf, model.gates.copy()]

    def after() -> bool:
        nonlocal since
        tree.gates = model.gates
        tree.alive = _dividing(tree.add_up(model.rows), n_gates)
        losses = row_losses(tree.read(validation, rules.prior)[1], validation.targets, model.is_class)
        loss = float(np.average(losses, weights=validation.weights))
        tree.history.append({"epoch": len(tree.history) + 1, "validation_loss": loss})
        since += 1
        if loss < best[0]:
            best[:], since = [loss, model.gates.copy()], 0
        return since >= rules.n_iter_no_change

    try:
        after()
        model.run(n_gates, 0, np.geomspace(1.0, rules.steepness, rules.max_iter), rules.rate, after)
    finally:
        tree.gates = best[1]


def _dividing(bottom: np.ndarray, n_gates: int) -> np.ndarray:
    """Which nodes are split, (n_gates,): those whose rows end at more than one node of the last level, `bottom`."""
    n_ends = np.zeros(2 * n_gates + 1, dtype=np.int64)
    n_ends[bottom] = 1
    for node in range(n_gates - 1, -1, -1):
        n_ends[node] = n_ends[2 * node + 1] + n_ends[2 * node + 2]
    return n_ends[:n_gates] > 1


@dataclass(kw_only=True, eq=False, repr=False)
class EndToEndTreeClassifier(ClassifierBase, _EndToEndTree):
    """End-to-end tree for classes: trained as a probabilistic tree, read as a crisp one.

    Expectation: to what part each row belongs to each leaf, given its class. Maximisation: class shares of leaves in
    closed form, gates by gradient. The tree grows level by level, the gates of a new level first alone; then all gates
    are trained together while they get steeper, and the pass is kept whose crisp tree is best on validation rows.
    Inputs are standardised inside; a missing value counts as the column's mean.

    Parameters
    ----------
    max_depth : int, default=6
    learning_rate : float, default=0.01
        Of Adam, for the gates.
    level_max_iter : int, default=10
        Passes for each new level.
    max_iter : int, default=60
        Passes of all gates together.
    steepness : float, default=20.0
        Factor of the gates in the last of these passes; it is 1 in the first.
    n_iter_no_change : int, default=15
        Passes without a smaller validation loss that end the training.
    prior : float, default=1.0
        The value of a node is the mean of its rows and of so many rows with its parent's value.
    validation_fraction : float, default=0.25
        Part of the rows that chooses the pass, unless `fit` is given rows for it.
    categorical_features : "from_dtype", None, or columns by name, number or mask, default="from_dtype"
        Columns to be taken as categories.
    handle_unknown : "missing" or "error", default="missing"
        What a category is at predict time that was not there at fit time: a missing value, or an error.
    class_weight : dict or "balanced", default=None
        Weights of classes.
    random_state : int or RandomState, default=None
        Validation part, first gates, order of rows.

    Attributes
    ----------
    tree_ : SoftTree
    history_ : list of dicts
        Validation loss of the crisp tree after each of the last passes.
    columns_ : Columns
    feature_importances_ : (n_features_in,) array
    classes_ : (n_classes,) array
    """


@dataclass(kw_only=True, eq=False, repr=False)
class EndToEndTreeRegressor(RegressorBase, _EndToEndTree):
    """End-to-end tree for real targets, normal at each leaf; the target may be a matrix.

    Parameters are those of `EndToEndTreeClassifier` without `class_weight`. Attributes are the same, with
    ``n_outputs_`` in place of ``classes_``.
    """
