"""End-to-end trees (Hehn, Kooij, Hamprecht 2019): expectation and maximisation, with gates that get steeper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from softwood.base import ClassifierBase, Fit, RegressorBase
from softwood.compiled import gradient as loop
from softwood.core.estimators import estimator
from softwood.core.parameters import check_count, check_number, parameter
from softwood.core.steps import Best
from softwood.gradient.base import Training, ValidatedTree
from softwood.gradient.data import LearningSet
from softwood.gradient.loops.end_to_end import EndToEndDescent, EndToEndRows, EndToEndScratch
from softwood.gradient.one_stage import finish_staged
from softwood.gradient.one_stage_training import StagedTree
from softwood.gradient.starting import random_start

BATCH = 32
# Smallest variance of a leaf, as a part of the total variance; rows with the overall mean that are added to each leaf.
LEAST_VARIANCE, PRIOR_ROWS = 1e-3, 1.0


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
        """Probability of each row's target at each leaf, (n, n_leaves), given the share of each row in each leaf."""
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
        """The complete tree of the first gates, with all nodes split."""
        n_nodes, q = 2 * n_gates + 1, self.rows.targets.shape[1]
        return StagedTree(
            self.gates[:n_gates].copy(), np.ones(n_gates), np.ones(n_gates, dtype=bool), np.zeros(n_nodes),
            np.zeros((n_nodes, q)),
        )  # fmt: skip

    def passes(self, n_gates: int, first_gate: int, steepness: np.ndarray, rate: float) -> Iterator[None]:
        """Train the gates from `first_gate` on, a pass for each steepness."""
        rows, n = self.rows, len(self.rows)
        shares, belongs = np.empty((2, 2 * n_gates + 1, BATCH))
        scratch = EndToEndScratch(
            batch=np.empty((rows.points.shape[1], BATCH)), sides=np.empty((n_gates, BATCH)), shares=shares,
            belongs=belongs, factors=np.empty(BATCH),
        )  # fmt: skip
        descent = EndToEndDescent(*np.zeros((3, *self.gates.shape)))
        posterior = np.empty((n, n_gates + 1))
        likelihoods = np.ones((n, n_gates + 1))
        n_steps = 0
        for steep in steepness:
            loop.posteriors(rows.points, likelihoods, self.gates, n_gates, steep, scratch, posterior)
            likelihoods = self.likelihoods(posterior)
            n_steps = loop.maximise_pass(
                EndToEndRows(rows.points, likelihoods, rows.weights), self.rng.permutation(n), self.gates, n_gates,
                first_gate, steep, rate, n_steps, scratch, descent,
            )  # fmt: skip
            yield


@estimator
class _EndToEndTree(ValidatedTree):
    """What classifier and regressor share.

    Parameters
    ----------
    max_depth : int
        Depth of the tree, at most 12.
    max_iter : int
        Maximum number of passes over all gates together.
    level_max_iter : int
        Number of passes for each new level.
    learning_rate : float
        Learning rate of Adam for the gates.
    steepness : float
        Factor that multiplies the gates in the last of the passes over all gates. It grows from 1 in the first.
    prior : float
        The value of a node is the mean of its rows and of this many rows with the value of its parent.
    n_iter_no_change : int
        Training ends after this many passes without a smaller validation loss.
    random_state : int, RandomState instance or None
        Controls the validation rows, the initial gates and the order of the rows.

    Attributes
    ----------
    tree_ : SoftTree
        The fitted crisp tree.
    history_ : list of dict
        A dict for each step. ``stage`` is "levels" for new levels and "anneal" for passes over all gates.
        ``iteration`` counts within the stage, 0 being the state before "anneal". Then ``train_loss``,
        ``validation_loss`` and ``n_leaves`` of the crisp tree.
    """

    max_depth: int = parameter(6, check_count, high=12)
    learning_rate: float = parameter(0.01, check_number, low=0.0, open_low=True)
    level_max_iter: int = parameter(10, check_count)
    max_iter: int = parameter(60, check_count)
    steepness: float = parameter(20.0, check_number, low=1.0)
    n_iter_no_change: int = parameter(15, check_count)
    prior: float = parameter(1.0, check_number, low=0.0, open_low=True)

    _leading: ClassVar[tuple[str, ...]] = ("max_depth", "max_iter", "level_max_iter", "learning_rate")

    def _train(self, fit: Fit, data: Training, rules: Self) -> None:
        train, validation = data.parts()
        model = _Expectation(train, data.is_class, data.seed, rules.max_depth)
        stages = fit.stages()
        kept: StagedTree | None = None

        def crisp(n_gates: int) -> tuple[StagedTree, dict[str, Any]]:
            """The crisp tree of the first gates, and its record in the history."""
            tree = model.staged(n_gates)
            tree.alive = _dividing(tree.add_up(train), n_gates)
            losses = [tree.mean_loss(rows, data.is_class, rules.prior) for rows in (train, validation)]
            return tree, {"train_loss": losses[0], "validation_loss": losses[1], "n_leaves": len(tree.splits()) + 1}

        def results() -> dict[str, Any]:
            assert kept is not None
            tree = kept.copy()
            finished = finish_staged(tree, data.everything(), data.total_mass, data.scaling, data.targets, rules.prior)
            return {"history_": list(stages.history), "tree_": finished}

        try:
            with stages.stage("levels", "level", rules.max_depth) as steps:
                for level, step in enumerate(steps):
                    n_gates = 2 ** (level + 1) - 1
                    for _ in model.passes(n_gates, 2**level - 1, np.ones(rules.level_max_iter), rules.learning_rate):
                        pass
                    tree, record = crisp(n_gates)
                    kept = tree
                    step.end(results, **record)
            if stages.is_stopped:
                return
            steepness = np.geomspace(1.0, rules.steepness, rules.max_iter)
            with stages.stage("anneal", "pass", len(steepness)) as steps:
                best: Best[StagedTree] = Best(rules.n_iter_no_change)
                best.offer(record["validation_loss"], tree.copy)
                steps.note(**record)
                passes = model.passes(n_gates, 0, steepness, rules.learning_rate)
                for step in steps:
                    next(passes)
                    tree, record = crisp(n_gates)
                    best.offer(record["validation_loss"], tree.copy)
                    kept = best.state
                    step.end(results, **record)
                    if best.is_stalled:
                        break
            if kept is not None and not stages.is_stopped:
                self._keep_validation(data, data.targets.in_units(kept.read(validation, rules.prior)[1]))
        finally:
            if kept is not None:
                self.__dict__.update(results())


def _dividing(bottom: np.ndarray, n_gates: int) -> np.ndarray:
    """Which nodes are split, (n_gates,): those whose rows end at more than one node of the last level, `bottom`."""
    n_ends = np.zeros(2 * n_gates + 1, dtype=np.int64)
    n_ends[bottom] = 1
    for node in range(n_gates - 1, -1, -1):
        n_ends[node] = n_ends[2 * node + 1] + n_ends[2 * node + 2]
    return n_ends[:n_gates] > 1


@estimator
class EndToEndTreeClassifier(ClassifierBase, _EndToEndTree):
    """End-to-end tree for classification: trained as a probabilistic tree, used as a crisp one.

    Training alternates two steps. Expectation: the probability of each leaf, given a row and its class. Maximisation:
    the class probabilities of the leaves in closed form, and the gates by gradient steps. The tree grows level by
    level, and at first only the gates of the new level are trained. Then all gates are trained together while they
    become steeper, and the pass whose crisp tree has the smallest validation loss is kept. Inputs are standardised
    internally. A missing value counts as the mean of its column.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import EndToEndTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EndToEndTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """


@estimator
class EndToEndTreeRegressor(RegressorBase, _EndToEndTree):
    """End-to-end tree for regression: trained as a probabilistic tree, used as a crisp one.

    Training alternates two steps. Expectation: the probability of each leaf, given a row and its target. Maximisation:
    the normal distributions of the leaves in closed form, and the gates by gradient steps. The tree grows level by
    level, and at first only the gates of the new level are trained. Then all gates are trained together while they
    become steeper, and the pass whose crisp tree has the smallest validation loss is kept. `y` may have several
    columns. Inputs are standardised internally. A missing value counts as the mean of its column.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import EndToEndTreeRegressor
    >>> X = np.linspace(0, 6, 300)[:, None]
    >>> model = EndToEndTreeRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.9)
    True
    """
