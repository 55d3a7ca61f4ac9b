"""The choice, by folds, of how a crisp tree is trained and of its size; all rows then train the tree."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from threading import Event
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from softwood.compiled.gradient import add_leaves
from softwood.core.steps import Steps
from softwood.core.threads import Threads
from softwood.gradient.crisp_training import CrispTraining, NodeCounts, Pace, Recipe
from softwood.gradient.data import HEAVY, LearningSet
from softwood.gradient.one_stage_training import CheckedRules, StagedTree

# Costs of a split to try: in nats for classes, in variances of the target for reals.
CLASS_COSTS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0)
REAL_COSTS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.2, 1.6, 2.4, 3.2, 4.8, 6.4, 9.6, 12.8, 19.2, 25.6)
# Number of folds, and of repetitions in tables with few rows; in larger tables, a part of the rows is held out instead.
N_FOLDS, MANY_ROWS = 5, 5_000
REPEATS = ((300, 3), (1_000, 2))
# Tables with fewer rows have more passes with smaller batches. Visits of rows in all passes, at most; passes, at least.
FEW_ROWS, MOST_VISITS, FEWEST_PASSES = 2_000, 6_000_000, 8
# Trees are compared by log loss and this many times the share of errors: log loss alone prefers few leaves.
ERROR_WEIGHT = 3.0
# Names of parts of a recipe in records.
_NAMES = {"l1": "l1_regularization", "l2": "l2_regularization"}


def recipes_for(is_class: bool, n: int) -> list[Recipe]:
    """Recipes to try for `n` rows: the penalty matters most, then the initial gates, then the values of leaves.

    The conventional tree that training starts from is tried for real targets, where a few rows with large errors can
    make training worse, and for many rows, where small differences can be measured.
    """
    untrained = [Recipe("columns", is_trained=False)] if n > MANY_ROWS or not is_class else []
    if is_class:
        return [
            *untrained,
            *(Recipe("linear", l2=penalty) for penalty in (0.1, 1.0, 10.0, 100.0)),
            Recipe("columns", l2=10.0),
            Recipe("linear", l2=0.5, is_pure=False),
            Recipe("columns", l2=0.5, is_pure=False),
        ]
    return [
        *untrained,
        Recipe("columns", l1=0.1, l2=0.1),
        Recipe("columns", l1=0.1, l2=0.1, gentle=3.0, steep=30.0),
        Recipe("columns", l1=0.3, l2=0.1),
        Recipe("columns", l1=0.0, l2=0.1, gentle=3.0, steep=30.0),
        Recipe("linear", l2=10.0),
    ]


def fold_rows(
    rows: LearningSet, is_class: bool, unit: float, fraction: float, seed: int
) -> list[tuple[LearningSet, LearningSet]]:
    """Pairs of training rows and validation rows.

    Classes are divided evenly. A row with a large part of the weight of its class is on both sides, with parts of its
    weight, as in `divide_rows`. Weights keep their unit, which is `unit` rows.
    """
    n = len(rows)
    labels = rows.targets.argmax(axis=1) if is_class else np.zeros(n, dtype=np.int64)
    is_heavy = rows.weights > HEAVY * np.bincount(labels, weights=rows.weights)[labels]
    n_folds, repeats = min(N_FOLDS, n), next((times for most, times in REPEATS if n < most), 1)
    part = 1.0 / n_folds
    if n > MANY_ROWS:
        n_folds, repeats, part = 1, 1, fraction
    is_heavy &= rows.weights * unit * min(part, 1.0 - part) >= 1.0
    pairs = []
    for repeat in range(repeats):
        order = np.random.default_rng([seed, 21, repeat]).permutation(n)
        order = order[np.argsort(labels[order], kind="stable")]
        place = np.empty(n, dtype=np.int64)
        place[order] = np.arange(n)
        for fold in range(n_folds):
            if n > MANY_ROWS:  # every k-th row, so that the part of each class is the same
                held_out = np.floor((place + 1) * part) > np.floor(place * part)
            else:
                held_out = place % n_folds == fold
            shares = np.where(is_heavy, part, held_out.astype(float))
            learn, validation = np.flatnonzero(shares < 1.0), np.flatnonzero(shares > 0.0)
            if len(learn) and len(validation):
                pairs.append((_weighted(rows, learn, 1.0 - shares), _weighted(rows, validation, shares)))
    return pairs


def _weighted(rows: LearningSet, which: np.ndarray, shares: np.ndarray) -> LearningSet:
    part = rows.take_raw(which)
    return LearningSet(part.points, part.targets, part.weights * shares[which])


@dataclass(frozen=True)
class Verdict:
    """Results of a recipe on one fold, for each cost of a split.

    Attributes
    ----------
    losses : (n_costs,) mean loss of the rows held out;  n_splits : (n_costs,)
    mass : weight of these rows
    training : on the other rows
    """

    losses: np.ndarray
    n_splits: np.ndarray
    mass: float
    training: CrispTraining | None = None


@dataclass(frozen=True)
class Candidate:
    """A recipe with a cost of splits, and its results on the folds."""

    recipe: Recipe
    cost: float
    loss: float
    n_splits: float

    def record(self) -> dict[str, Any]:
        """The record for ``search_``."""
        recipe = {_NAMES.get(name, name): value for name, value in asdict(self.recipe).items()}
        return {**recipe, "split_cost": self.cost, "loss": self.loss, "n_splits": self.n_splits}

    @classmethod
    def of(cls, record: dict[str, Any]) -> Candidate:
        """The candidate of a record of ``search_``."""
        recipe = Recipe(**{part.name: record[_NAMES.get(part.name, part.name)] for part in fields(Recipe)})
        return cls(recipe, record["split_cost"], record["loss"], record["n_splits"])


def best_candidate(recipe: Recipe, verdicts: list[Verdict], costs: np.ndarray) -> Candidate:
    """The cost with the smallest loss, averaged over folds and neighbouring costs; the largest of tied costs."""
    masses = np.array([verdict.mass for verdict in verdicts])
    losses = masses @ np.array([verdict.losses for verdict in verdicts]) / masses.sum()
    n_splits = np.mean([verdict.n_splits for verdict in verdicts], axis=0)
    padded = np.pad(losses, 1, mode="edge")
    smooth = (padded[:-2] + 2.0 * padded[1:-1] + padded[2:]) / 4.0 if len(losses) > 2 else losses
    best = int(np.flatnonzero(smooth <= smooth.min() * (1.0 + 1e-9))[-1])
    return Candidate(recipe, float(costs[best]), float(smooth[best]), float(n_splits[best]))


class CrispWork:
    """Chooses the best recipe for the rows and parameters of a fit, and trains with it.

    Parameters
    ----------
    rows : all rows, weights with mean 1;  n_rows : total weight, as a number of rows
    rules : checked parameters of a `OneStageTreeClassifier`; None stands for "auto"
    fraction : part of the rows for validation, if there are many
    """

    def __init__(
        self, rows: LearningSet, is_class: bool, n_rows: float, rules: CheckedRules, fraction: float, seed: int
    ) -> None:
        self._rows, self._is_class, self._rules, self._seed = rows, is_class, rules, seed
        self._unit, self._fraction = n_rows / len(rows), fraction
        # Held-out rows, and the trees of the chosen candidate that were trained without them, with their prior.
        self._judged: list[tuple[LearningSet, StagedTree, float]] = []
        self.pace = _pace(rules, len(rows), is_class)
        self.recipes = _recipes(rules, is_class, len(rows), n_rows)
        costs = CLASS_COSTS if is_class else REAL_COSTS
        self.costs = np.array(costs if rules.split_cost is None else [rules.split_cost * n_rows])

    def training(self, recipe: Recipe, seed: list[int], gates: np.ndarray | None = None) -> CrispTraining:
        """The training on all rows."""
        rules = self._rules
        return CrispTraining(
            self._rows, self._is_class, rules.max_depth, recipe, self.pace, rules.prior, self._unit, seed, gates
        )

    def choose(
        self, pairs: list[tuple[LearningSet, LearningSet]] | None, stages: Steps, n_jobs: int | None
    ) -> tuple[list[Candidate], Candidate]:
        """All candidates, and the best of them.

        Parameters
        ----------
        pairs : training rows and validation rows; None: folds
        stages : record each training
        """
        if pairs is None:
            pairs = fold_rows(self._rows, self._is_class, self._unit, self._fraction, self._seed)
        verdicts: list[list[Verdict]] = [[] for _ in self.recipes]
        if len(self.recipes) * len(self.costs) > 1 and pairs:
            numbers = [(k, pair) for pair in range(len(pairs)) for k in range(len(self.recipes))]
            stop = Event()

            def judge(number: int) -> Verdict:
                k, pair = numbers[number]
                return self._validate(pairs[pair], self.recipes[k], k, pair, stop)

            with Threads(effective_n_jobs(n_jobs)) as threads:
                found = threads.map(judge, len(numbers))
                try:
                    with stages.stage("choice", "training", len(numbers)) as steps:
                        for (k, _), step in zip(numbers, steps, strict=False):
                            verdict = next(found)
                            verdicts[k].append(verdict)
                            step.end(validation_loss=float(verdict.losses.min()), recipe=k)
                finally:
                    stop.set()
                    found.close()
        tried = [
            best_candidate(recipe, mine, self.costs)
            for recipe, mine in zip(self.recipes, verdicts, strict=True)
            if mine
        ]
        if not tried:
            middle = float(self.costs[min(4, len(self.costs) - 1)])
            tried = [Candidate(self.recipes[0], middle, np.nan, np.nan)]
        chosen = min(tried, key=lambda one: one.loss)
        self._judged = [
            (validation, verdict.training.tree(chosen.cost), verdict.training.prior)
            for verdict, (_, validation) in zip(
                verdicts[self.recipes.index(chosen.recipe)][:N_FOLDS], pairs, strict=False
            )  # those of the first time, if folds are repeated
            if verdict.training is not None
        ]
        return tried, chosen

    def held_out(self) -> tuple[LearningSet, np.ndarray] | None:
        """The rows held out in the choice, and their outputs by the trees of the chosen candidate."""
        if not self._judged:
            return None
        rows = (
            np.concatenate([getattr(own, name) for own, _, _ in self._judged])
            for name in ("points", "targets", "weights")
        )
        return LearningSet(*rows), np.concatenate([tree.read(own, prior)[1] for own, tree, prior in self._judged])

    def _validate(self, pair: tuple[LearningSet, LearningSet], recipe: Recipe, *numbers: Any) -> Verdict:
        """Train on one part, and measure the loss on the other part for each cost."""
        (learn, validation), (k, fold, stop) = pair, numbers
        mean = float(learn.weights.mean())
        learn = LearningSet(learn.points, learn.targets, learn.weights / mean)
        rules, is_class = self._rules, self._is_class
        seed = [self._seed, 22, k, fold]
        training = CrispTraining(
            learn, is_class, rules.max_depth, recipe, self.pace, rules.prior, self._unit * mean, seed
        )
        for _ in training.passes():
            if stop.is_set():
                break
        counts, held_out = NodeCounts(training, learn), NodeCounts(training, validation)
        measured = held_out.losses_with(counts.values)
        if is_class:
            measured = measured + ERROR_WEIGHT * held_out.errors_with(counts.values)
        mass = float(validation.weights.sum())
        found = [add_leaves(measured, counts.pruned(cost)) for cost in self.costs]
        losses, n_splits = np.array([loss for _, loss in found]) / mass, np.array([n for n, _ in found])
        return Verdict(losses, n_splits, mass, training)


def _pace(rules: CheckedRules, n: int, is_class: bool) -> Pace:
    """The given pace, or one by the number of rows: large batches are better if there are many rows."""
    is_small = n < FEW_ROWS
    passes = (30 if is_small else 60) if is_class else (200 if is_small else 100)
    passes = max(min(passes, MOST_VISITS // n), FEWEST_PASSES)
    rate = (0.02 if is_small else 0.05) if is_class else 0.01
    return Pace(
        n_passes=passes if rules.max_iter is None else rules.max_iter,
        batch_size=(32 if is_small else 256) if rules.batch_size is None else rules.batch_size,
        rate=rate if rules.learning_rate is None else rules.learning_rate,
    )


def _recipes(rules: CheckedRules, is_class: bool, n: int, n_rows: float) -> list[Recipe]:
    """Recipes to try, where the parameters leave a choice."""
    found = []
    for recipe in recipes_for(is_class, n):
        changes: dict[str, Any] = {}
        if not recipe.is_trained and rules.init not in ("auto", recipe.init):
            continue  # no conventional tree
        if rules.init != "auto":
            changes["init"] = rules.init
        if rules.l1_regularization is not None:
            changes["l1"] = rules.l1_regularization * n_rows
        if rules.l2_regularization is not None:
            changes["l2"] = rules.l2_regularization * n_rows
        found.append(replace(recipe, **changes))
    return list(dict.fromkeys(found))
