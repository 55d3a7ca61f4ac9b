"""End-to-end trees (Hehn, Kooij, Hamprecht 2019): expectation and maximisation, with gates that get steeper."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from softwood.base import ClassifierBase, Fit, RegressorBase
from softwood.compiled import gradient as loop
from softwood.core.parameters import check_count, check_number, parameter
from softwood.core.steps import Best
from softwood.gradient.base import Training, ValidatedTree
from softwood.gradient.data import LearningSet
from softwood.gradient.loops.end_to_end import EndToEndDescent, EndToEndRows, EndToEndScratch
from softwood.gradient.one_stage import finish_staged
from softwood.gradient.one_stage_training import StagedTree
from softwood.gradient.starting import random_start

__all__ = ["EndToEndTreeClassifier", "EndToEndTreeRegressor"]

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


@dataclass(kw_only=True, eq=False, repr=False)
class _EndToEndTree(ValidatedTree):
    """What classifier and regressor share."""

    max_depth: int = parameter(6, check_count, high=12)
    learning_rate: float = parameter(0.01, check_number, low=0.0, open_low=True)
    level_max_iter: int = parameter(10, check_count)
    max_iter: int = parameter(60, check_count)
    steepness: float = parameter(20.0, check_number, low=1.0)
    n_iter_no_change: int = parameter(15, check_count)
    prior: float = parameter(1.0, check_number, low=0.0, open_low=True)

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


@dataclass(kw_only=True, eq=False, repr=False)
class EndToEndTreeClassifier(ClassifierBase, _EndToEndTree):
    """End-to-end tree for classification: trained as a probabilistic tree, used as a crisp one.

    Training alternates two steps. Expectation: the probability of each leaf, given a row and its class. Maximisation:
    the class probabilities of the leaves in closed form, and the gates by gradient steps. The tree grows level by
    level, and at first only the gates of the new level are trained. Then all gates are trained together while they
    become steeper, and the pass whose crisp tree has the smallest validation loss is kept. Inputs are standardised
    internally. A missing value counts as the mean of its column.

    Parameters
    ----------
    max_depth : int, default=6
    learning_rate : float, default=0.01
        Learning rate of Adam for the gates.
    level_max_iter : int, default=10
        Number of passes for each new level.
    max_iter : int, default=60
        Maximum number of passes over all gates together.
    steepness : float, default=20.0
        Factor that multiplies the gates in the last of these passes. It grows from 1 in the first.
    n_iter_no_change : int, default=15
        Training ends after this many passes without a smaller validation loss.
    prior : float, default=1.0
        The value of a node is the mean of its rows and of this many rows with the value of its parent.
    validation_fraction : float, default=0.25
        Fraction of the rows set aside for validation, unless validation rows are passed to `fit`.
    categorical_features : "from_dtype", None, or columns by name, number or mask, default="from_dtype"
        Columns to treat as categories; "from_dtype" selects the text and category columns of data frames.
    dates : "parts", "days" or "error", default="parts"
        What a column of dates becomes: days since the first training date, and hour, weekday and month where they vary;
        days alone; or an error. Durations become days.
    handle_unknown : "missing" or "error", default="missing"
        How `predict` treats categories that were not seen in `fit`: as missing values, or with an error.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    random_state : int or RandomState, default=None
        Determines the validation rows, the initial gates and the order of the rows.
    verbose : int, default=0
        1 prints progress about once a second, 2 after every level and pass.

    Attributes
    ----------
    tree_ : SoftTree
    history_ : list of dicts
        A dict for each step. ``stage`` is "levels" for new levels and "anneal" for passes over all gates;
        ``iteration`` counts within the stage, 0 being the state before "anneal". Then ``train_loss``,
        ``validation_loss`` and ``n_leaves`` of the crisp tree.
    n_iter_ : int
        Number of training steps, over all stages.
    columns_ : Columns
        How the table was encoded as a matrix.
    feature_importances_ : (n_features_in,) array
    classes_ : (n_classes,) array
    """


@dataclass(kw_only=True, eq=False, repr=False)
class EndToEndTreeRegressor(RegressorBase, _EndToEndTree):
    """End-to-end tree for regression, with a normal distribution at each leaf; `y` may have several columns.

    Parameters are those of `EndToEndTreeClassifier` without `class_weight`. Attributes are the same, with
    ``n_outputs_`` in place of ``classes_``.
    """
