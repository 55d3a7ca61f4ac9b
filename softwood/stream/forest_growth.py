"""Growing forests: trees that learn the same stream, each with draws, columns, detectors and a spare tree of its own.

Trees do not know of one another, so each learns a block of rows on its own, in any thread. What a tree draws depends on
the seed, the number of the tree and the number of the row alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from softwood.forest import SoftForest
from softwood.loops.drift import DRIFT, NOTHING
from softwood.loops.random import next_seed, to_unit
from softwood.loops.stream_forest import (
    LOSS,
    N_LOSSES,
    N_SCORES,
    N_SIZES,
    draw_weights,
    keep_columns,
    score_spare,
    vote_classes,
    vote_reals,
    watch,
)
from softwood.stream.drift import ADWIN
from softwood.stream.growth import GrowingTree, Limits, SplitEvent
from softwood.tree import SoftTree

__all__ = ["DriftEvent", "ForestRules", "GrowingForest", "Member", "Recipe"]

# Rows that all trees learn before their votes are counted.
ROWS_PER_ROUND = 2048
# Rows that a tree learns before its detectors look at them; after an alarm the rest is learned again, by the new tree.
ROWS_PER_LOOK = 256
# A new tree is taken to be as good as the one before it, with the weight of so many rows.
ROWS_OF_TRUST = 10.0
# Smallest probability of a leaf whose logarithm a finished tree holds.
LEAST = 1e-12


def _next(seed: Any, salt: int) -> np.uint64:
    """A new seed from a seed and a number; compiled functions hand Python ints back."""
    return np.uint64(next_seed(np.uint64(seed), np.int64(salt)))


@dataclass(frozen=True)
class DriftEvent:
    """An alarm of a model's detectors.

    Attributes
    ----------
    kind : "warning" (a spare tree has begun to learn) or "drift" (the spare tree has taken the place of the tree)
    n_samples : rows that the model had learned
    tree : number of the tree
    """

    kind: str
    n_samples: int
    tree: int


@dataclass(frozen=True)
class Recipe:
    """How a tree is made: its class, settings and limits, and the share of the columns that it sees."""

    kind: type[GrowingTree]
    settings: np.ndarray
    limits: Limits
    max_features: float


@dataclass(frozen=True)
class ForestRules:
    """What the trees of a forest have in common.

    Attributes
    ----------
    rate : mean number of times that a tree learns a row
    warning_delta, drift_delta : of the detectors; None: there are none
    memory : rows after which a loss has faded to about a third
    sharpness : of the votes; 0: a plain mean
    """

    rate: float
    warning_delta: float | None
    drift_delta: float | None
    memory: float
    sharpness: float


@dataclass
class Member:
    """A tree of a forest.

    Attributes
    ----------
    tree, columns : the tree, and (n_features,) bool, which columns it sees
    spare, spare_columns : the tree that learns beside it since a warning, or None
    detectors : (2, n_numbers) states of both detectors
    scores, spare_scores : see `softwood.loops.stream_forest`
    n_planted : trees that have been made in this place
    """

    tree: GrowingTree
    columns: np.ndarray
    detectors: np.ndarray
    scores: np.ndarray
    spare: GrowingTree | None = None
    spare_columns: np.ndarray | None = None
    spare_scores: np.ndarray | None = None
    n_planted: int = 1


@dataclass
class GrowingForest:
    """Trees that learn the same stream.

    Attributes
    ----------
    recipes : of the tree in each place
    seed : of all draws
    is_category : (n_features,) as the trees' array of the same name
    n_rows : rows learned, those of weight 0 left out
    drifts : alarms, oldest first
    n_jobs : threads for blocks of rows; the forest does not depend on it
    """

    recipes: Sequence[Recipe]
    rules: ForestRules
    n_features: int
    n_outputs: int
    seed: int
    is_class: bool
    members: list[Member] = field(default_factory=list)
    is_category: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    n_rows: int = 0
    drifts: list[DriftEvent] = field(default_factory=list)
    n_jobs: int | None = None

    def __post_init__(self) -> None:
        if not self.members:
            self.is_category = np.zeros(self.n_features, dtype=np.int64)
            for number in range(len(self.recipes)):
                tree, columns = self._new_tree(number, 0)
                self.members.append(Member(tree, columns, self._new_detectors(), np.zeros(N_SCORES)))

    # Trees

    def _seed_of(self, number: int, use: int) -> np.uint64:
        """Seed of a tree's draws: 0 for weights, 1 for the trees planted in its place."""
        return _next(_next(self.seed, number), use)

    def _new_tree(self, number: int, n_planted: int) -> tuple[GrowingTree, np.ndarray]:
        """A tree for a place that has had `n_planted`, and the columns that it sees."""
        recipe = self.recipes[number]
        tree = recipe.kind(recipe.settings.copy(), recipe.limits, self.n_features, self.n_outputs)
        tree.arrays["is_category"][:] = self.is_category
        seed = _next(self._seed_of(number, 1), n_planted)
        if hasattr(tree, "seed"):
            tree.seed = seed
        draws = self._column_draws(number, n_planted, range(self.n_features))
        n_kept = max(1, round(recipe.max_features * self.n_features))
        columns = np.zeros(self.n_features, dtype=np.bool_)
        columns[np.argsort(draws, kind="stable")[:n_kept]] = True
        return tree, columns

    def _column_draws(self, number: int, n_planted: int, columns: Sequence[int]) -> np.ndarray:
        """A number in [0, 1) for each column: columns with small ones are seen."""
        seed = _next(_next(self._seed_of(number, 1), n_planted), 1)
        return np.array([to_unit(_next(seed, column)) for column in columns], dtype=np.float64)

    def _new_detectors(self) -> np.ndarray:
        deltas = (self.rules.warning_delta, self.rules.drift_delta)
        return np.array([ADWIN(1.0 if delta is None else delta)._state for delta in deltas])

    def _all_trees(self) -> list[GrowingTree]:
        spares = [member.spare for member in self.members if member.spare is not None]
        return [member.tree for member in self.members] + spares

    def widen(self, n_features: int, n_outputs: int) -> None:
        """Make room for features and classes that have not been there before."""
        if n_features == self.n_features and n_outputs == self.n_outputs:
            return
        new = range(self.n_features, n_features)
        self.n_features, self.n_outputs = n_features, n_outputs
        self.is_category = np.concatenate([self.is_category, np.zeros(len(new), dtype=np.int64)])
        for tree in self._all_trees():
            tree.widen(n_features, n_outputs)
        for number, member in enumerate(self.members):
            member.columns = self._wider(number, member.n_planted, member.columns, new)
            if member.spare_columns is not None:
                member.spare_columns = self._wider(number, member.n_planted, member.spare_columns, new)

    def _wider(self, number: int, n_planted: int, columns: np.ndarray, new: Sequence[int]) -> np.ndarray:
        """Which columns a tree sees, with new ones."""
        is_seen = self._column_draws(number, n_planted, new) < self.recipes[number].max_features
        columns = np.concatenate([columns, is_seen])
        if len(columns) and not columns.any():
            columns[-1] = True
        return columns

    def mark_category(self, column: int, sibling: int | None) -> None:
        """Say that a column stands for a category; see `GrowingTree.mark_category`."""
        for tree in self._all_trees():
            tree.mark_category(column, sibling)
        self.is_category[column] = self.members[0].tree.arrays["is_category"][column]

    # Learning

    def learn(self, points: np.ndarray, targets: np.ndarray, weights: np.ndarray, out: np.ndarray | None) -> None:
        """Learn rows one after the other; `out` gets the prediction for each before it was learned.

        Parameters as in `GrowingTree.learn`.
        """
        for begin in range(0, len(points), ROWS_PER_ROUND):
            rows = slice(begin, begin + ROWS_PER_ROUND)
            self._learn_round(points[rows], targets[rows], weights[rows], None if out is None else out[rows])

    def learn_row(self, points: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> None:
        """`learn` for a single row."""
        self._learn_round(points, targets, weights, None)

    def _learn_round(
        self, points: np.ndarray, targets: np.ndarray, weights: np.ndarray, out: np.ndarray | None
    ) -> None:
        n, n_trees = len(points), len(self.members)
        outputs, losses = np.empty((n_trees, n, self.n_outputs)), np.empty((n_trees, n))
        n_jobs = 1 if n == 1 else min(n_trees, effective_n_jobs(self.n_jobs))
        if n_jobs == 1:
            events = [
                self._teach(number, points, targets, weights, outputs[number], losses[number])
                for number in range(n_trees)
            ]
        else:
            events = Parallel(n_jobs=n_jobs, prefer="threads", require="sharedmem")(
                delayed(self._teach)(number, points, targets, weights, outputs[number], losses[number])
                for number in range(n_trees)
            )
        found = [event for of_tree in events for event in of_tree]
        self.drifts += sorted(found, key=lambda event: (event.n_samples, event.tree))
        self.n_rows += int(np.count_nonzero(weights > 0.0))
        if out is not None:
            self._count_votes(outputs, losses, out)

    def _teach(
        self, number: int, points: np.ndarray, targets: np.ndarray, weights: np.ndarray, outputs: np.ndarray,
        losses: np.ndarray,
    ) -> list[DriftEvent]:  # fmt: skip
        """Let one tree predict and learn rows, with its detectors watching; returns their alarms."""
        member, n, events = self.members[number], len(points), []
        drawn = np.empty(n)
        draw_weights(self._seed_of(number, 0), np.int64(self.n_rows), self.rules.rate, weights, drawn)
        labels, reals = (targets, None) if self.is_class else (None, targets)
        memory = self.rules.memory
        seen, of_spare = self._seen(points, member.columns), self._seen(points, member.spare_columns)
        begin = 0
        while begin < n:
            end = min(n, begin + ROWS_PER_LOOK)
            rows = slice(begin, end)
            member.tree.learn(seen[rows], targets[rows], drawn[rows], outputs[rows])
            while begin < end:
                at, what = watch(
                    outputs[:end], labels, reals, weights, begin, memory, member.detectors, member.scores, losses
                )  # fmt: skip
                rows = slice(begin, at)
                begin = at
                if member.spare is not None:
                    found = np.empty((len(points[rows]), self.n_outputs))
                    member.spare.learn(of_spare[rows], targets[rows], drawn[rows], found)
                    parts = [None if array is None else array[rows] for array in (labels, reals)]
                    score_spare(found, *parts, weights[rows], memory, member.spare_scores)
                kind = self._heed(number, what)
                if kind is not None:
                    n_samples = self.n_rows + int(np.count_nonzero(weights[:at] > 0.0))
                    events.append(DriftEvent(kind, n_samples, number))
                    of_spare = self._seen(points, member.spare_columns)
                if kind == "drift":
                    # Whatever the old tree has learned of the rows after the alarm is gone with it.
                    seen = self._seen(points, member.columns)
                    break
        return events

    @staticmethod
    def _seen(points: np.ndarray, columns: np.ndarray | None) -> np.ndarray:
        """The rows as a tree sees them."""
        if columns is None or columns.all():
            return points
        seen = np.empty_like(points)
        keep_columns(points, columns, seen)
        return seen

    def _heed(self, number: int, what: int) -> str | None:
        """Do what an alarm of a tree's detectors asks for; returns the kind of the event, None if there is none."""
        member = self.members[number]
        if what == NOTHING:
            return None
        if (self.rules.drift_delta if what == DRIFT else self.rules.warning_delta) is None:
            return None
        if what == DRIFT and member.spare is not None:
            tree, columns, scores = member.spare, member.spare_columns, member.spare_scores
        else:
            tree, columns = self._new_tree(number, member.n_planted)
            scores = member.scores.copy()
            scores[N_LOSSES] = min(scores[N_LOSSES], ROWS_OF_TRUST)
            scores[N_SIZES] = min(scores[N_SIZES], ROWS_OF_TRUST)
            member.n_planted += 1
        if what == DRIFT:
            assert columns is not None
            assert scores is not None
            member.tree, member.columns, member.scores = tree, columns, scores
            member.spare = member.spare_columns = member.spare_scores = None
            member.detectors = self._new_detectors()
            return "drift"
        member.spare, member.spare_columns, member.spare_scores = tree, columns, scores
        return "warning"

    # Answers

    def _count_votes(self, outputs: np.ndarray, losses: np.ndarray, out: np.ndarray) -> None:
        """Predictions of the forest from those of the trees, (n_trees, n, n_outputs), and their losses."""
        if self.rules.sharpness == 0.0:
            np.mean(outputs, axis=0, out=out)
        elif self.is_class:
            vote_classes(outputs, losses, self.rules.sharpness, out)
        else:
            vote_reals(outputs, losses, self.rules.sharpness, out)

    @property
    def losses(self) -> np.ndarray:
        """Recent loss of each tree, (n_trees,)."""
        return np.array([member.scores[LOSS] for member in self.members])

    def predict(self, points: np.ndarray) -> np.ndarray:
        """Class probabilities, or predicted targets in the one column, (n, n_outputs)."""
        n, n_trees = len(points), len(self.members)
        outputs, out = np.empty((n_trees, n, self.n_outputs)), np.empty((n, self.n_outputs))
        for number, member in enumerate(self.members):
            outputs[number] = member.tree.predict(self._seen(points, member.columns))
        self._count_votes(outputs, np.repeat(self.losses, n).reshape(n_trees, n), out)
        return out

    # Looking at it

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return sum(member.tree.n_nodes for member in self.members)

    @property
    def n_inner(self) -> int:
        """Number of inner nodes of all trees."""
        return sum(member.tree.n_inner for member in self.members)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(tree.nbytes for tree in self._all_trees()) + sum(m.detectors.nbytes for m in self.members)

    @property
    def log(self) -> list[SplitEvent]:
        """The audit logs of the trees, one after the other."""
        return [event for member in self.members for event in member.tree.log]

    def importances(self) -> np.ndarray:
        """Mean of the trees' importances, adding up to 1; zeros if no tree has made a decision."""
        total = np.sum([member.tree.importances() for member in self.members], axis=0)
        return total / total.sum() if total.sum() > 0 else total

    def snapshot(self) -> SoftForest:
        """The trees as they are now, which are averaged; votes and models in leaves are left out."""
        trees: list[SoftTree] = [member.tree.snapshot() for member in self.members]
        links = {tree.link for tree in trees}
        centers = [tree.center for tree in trees if tree.center is not None]
        scales = [tree.scale for tree in trees if tree.scale is not None]
        center = np.mean(centers, axis=0) if centers else None
        scale = np.mean(scales, axis=0) if scales else None
        if len(links) > 1:  # a crisp tree's probabilities are the softmax of their logarithms
            trees = [
                tree
                if tree.link == "softmax"
                else replace(tree, value=np.log(np.maximum(tree.value, LEAST)), link="softmax")
                for tree in trees
            ]
        return SoftForest.mean([replace(tree, center=center, scale=scale) for tree in trees])
