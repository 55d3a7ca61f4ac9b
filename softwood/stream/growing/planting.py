"""Trees of a growing forest: how they are made, which columns they see, and when they are replaced.

What a tree draws depends on the seed, the number of the tree and the number of the row alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softwood.compiled.trees import next_seed, to_unit
from softwood.stream.drift import ADWIN
from softwood.stream.growing.arrays import Limits, writeable
from softwood.stream.growing.checks import check_forest
from softwood.stream.growing.events import DriftEvent, SplitEvent
from softwood.stream.growing.threads import ThreadLock
from softwood.stream.growing.tree import GrowingTree
from softwood.stream.loops.drift import DRIFT, NOTHING
from softwood.stream.loops.forest import LOSS, N_ADJUSTMENT, N_LOSSES, N_SCORES, N_SIZES
from softwood.stream.loops.layout import N_SCALER_ROWS, Settings

# Arrays that files hold, besides those of the trees.
SAVED = (
    "columns", "spare_columns", "scores", "spare_scores", "detectors", "n_planted", "is_category", "target_scaler",
    "adjustment",
)  # fmt: skip

# The past of a new tree, which is that of the present one, has the weight of so many rows.
ROWS_OF_TRUST = 10.0
# A spare tree whose loss is more than this times that of the present tree does not replace it.
CLEARLY_WORSE = 1.2


def _next(seed: Any, salt: int) -> np.uint64:
    """A new seed from a seed and a number; compiled functions hand Python ints back."""
    with np.errstate(over="ignore"):  # intended; uncompiled, numpy would warn
        return np.uint64(next_seed(np.uint64(seed), np.int64(salt)))


@dataclass(frozen=True)
class Recipe:
    """How a tree is made: its class, settings and limits, and the share of the columns that it sees."""

    kind: type[GrowingTree]
    settings: Settings
    limits: Limits
    max_features: float

    def __post_init__(self) -> None:
        if not all(value >= 0.0 for value in self.settings) or self.settings.batch_size > 2**53:
            raise ValueError("settings must be numbers of at least 0.")
        if not 0.0 < self.max_features <= 1.0:
            raise ValueError(f"max_features must be in (0, 1], got {self.max_features}.")


@dataclass(frozen=True)
class ForestRules:
    """What the trees of a forest have in common.

    Attributes
    ----------
    rate : mean number of times that a tree learns a row
    warning_delta, drift_delta : of the detectors; None: there are none
    memory : rows after which a loss has faded to about a third
    sharpness : of the votes; 0: a plain mean
    adjusts : whether votes are adjusted by their errors
    """

    rate: float
    warning_delta: float | None
    drift_delta: float | None
    memory: float
    sharpness: float
    adjusts: bool = False

    def __post_init__(self) -> None:
        for name, low, high in (("rate", 0.0, 100.0), ("memory", 1.0, 1e308), ("sharpness", 0.0, 1e308)):
            if not low <= getattr(self, name) <= high:
                raise ValueError(f"{name} must be in [{low}, {high}], got {getattr(self, name)}.")
        for delta in (self.warning_delta, self.drift_delta):
            if delta is not None and not 0.0 < delta <= 1.0:
                raise ValueError(f"warning_delta and drift_delta must be in (0, 1], got {delta}.")


class ForestTrees:
    """Trees that learn the same stream, and spare trees beside them.

    Parameters
    ----------
    recipes : of the tree in each place
    seed : of all draws
    classifies : whether targets are classes

    Attributes
    ----------
    trees, spares : the tree in each place, and the one that learns beside it since a warning, or None
    columns, spare_columns : (n_trees, n_features) bool, columns that these trees see
    scores, spare_scores : (n_trees, N_SCORES) see `softwood.stream.loops.forest`
    detectors : (n_trees, 2, n_numbers) states of the warning and the drift detector of each tree
    n_planted : (n_trees,) int64, trees that have been made in each place
    is_category : (n_features,) as the trees' array of the same name
    target_scaler : (N_SCALER_ROWS, 1) running scale of real targets, see `softwood.stream.loops.layout.RealNodes`
    adjustment : (N_ADJUSTMENT,) what the errors of the votes have shown, see `softwood.stream.loops.forest`
    n_rows : rows learned, those of weight 0 left out
    drifts : alarms, oldest first
    n_jobs : threads for blocks of rows; the forest does not depend on it
    lock : as that of `GrowingTree`
    """

    def __init__(
        self,
        recipes: Sequence[Recipe],
        rules: ForestRules,
        n_features: int,
        n_outputs: int,
        seed: int,
        classifies: bool,
    ) -> None:
        n = len(recipes)
        self.recipes, self.rules, self.seed, self.classifies = list(recipes), rules, seed, classifies
        self.n_features, self.n_outputs, self.n_rows = n_features, n_outputs, 0
        self.n_jobs: int | None = None
        self.lock = ThreadLock()
        self.drifts: list[DriftEvent] = []
        self.is_category = np.zeros(n_features, dtype=np.int64)
        self.target_scaler, self.adjustment = np.zeros((N_SCALER_ROWS, 1)), np.zeros(N_ADJUSTMENT)
        self.columns, self.spare_columns = (np.zeros((n, n_features), dtype=np.bool_) for _ in range(2))
        self.scores, self.spare_scores = np.zeros((n, N_SCORES)), np.zeros((n, N_SCORES))
        deltas = (rules.warning_delta, rules.drift_delta)
        self._new_detectors = np.array([ADWIN(1.0 if delta is None else delta, mode="up")._state for delta in deltas])
        self.detectors = np.array([self._new_detectors] * n)
        self.n_planted = np.zeros(n, dtype=np.int64)
        self.trees: list[GrowingTree] = []
        self.spares: list[GrowingTree | None] = [None] * n
        for number in range(n):
            tree, self.columns[number] = self._new_tree(number)
            self.trees.append(tree)
        self._draw_seeds = np.array([self._seed_of(number, 0) for number in range(n)], dtype=np.uint64)

    def restore(
        self, trees: list[GrowingTree], spares: list[GrowingTree | None], arrays: dict[str, np.ndarray]
    ) -> None:
        """Continue from the trees and arrays of a forest with the same recipes, rules, features and outputs.

        Raises a ValueError if they are not those of such a forest.

        Parameters
        ----------
        arrays : the attributes `SAVED`
        """
        n = len(self.recipes)
        if len(trees) != n or len(spares) != n:
            raise ValueError(f"A forest must have {n} trees, got {len(trees)} and {len(spares)} spares.")
        for tree, recipe in zip([*trees, *spares], [*self.recipes, *self.recipes], strict=True):
            wanted = (recipe.kind, self.n_features, self.n_outputs)
            if tree is not None and (type(tree), tree.n_features, tree.n_outputs) != wanted:
                raise ValueError("A tree does not fit its forest.")
        check_forest(self, trees, arrays)
        self.trees, self.spares = trees, spares
        for name in SAVED:
            setattr(self, name, arrays[name])

    def _seed_of(self, number: int, use: int) -> np.uint64:
        """Seed of a tree's draws: 0 for weights, 1 for the trees planted in its place."""
        return _next(_next(self.seed, number), use)

    def _new_tree(self, number: int) -> tuple[GrowingTree, np.ndarray]:
        """The next tree for a place, and the columns that it sees."""
        recipe = self.recipes[number]
        tree = recipe.kind(recipe.settings, recipe.limits, self.n_features, self.n_outputs)
        tree.arrays["is_category"][:] = self.is_category
        self.n_planted[number] += 1
        if hasattr(tree, "seed"):
            tree.seed = _next(self._seed_of(number, 1), self.n_planted[number])
        first = self._first_of_source()
        drawn = np.unique(first)
        n_seen = max(1, round(recipe.max_features * len(drawn)))
        seen = drawn[np.argsort(self._column_draws(number, drawn.tolist()), kind="stable")[:n_seen]]
        return tree, np.isin(first, seen)

    def _first_of_source(self) -> np.ndarray:
        """For each column the first one of its source, (n_features,): categories are seen all or none."""
        first = np.arange(self.n_features)
        for source in range(1, int(self.is_category.max(initial=0)) + 1):
            own = self.is_category == source
            first[own] = np.flatnonzero(own)[0]
        return first

    def _column_draws(self, number: int, columns: Sequence[int]) -> np.ndarray:
        """A number in [0, 1) for each column: those with small ones are seen by the last tree of a place."""
        seed = _next(_next(self._seed_of(number, 2), self.n_planted[number]), 0)
        return np.array([to_unit(_next(seed, column)) for column in columns], dtype=np.float64)

    def _all_trees(self) -> list[GrowingTree]:
        return [*self.trees, *(spare for spare in self.spares if spare is not None)]

    def widen(self, n_features: int, n_outputs: int) -> None:
        """Add features and classes."""
        if n_features == self.n_features and n_outputs == self.n_outputs:
            return
        new = range(self.n_features, n_features)
        self.n_features, self.n_outputs = n_features, n_outputs
        self.__dict__.pop("_one", None)
        self.is_category = np.concatenate([self.is_category, np.zeros(len(new), dtype=np.int64)])
        for tree in self._all_trees():
            tree.widen(n_features, n_outputs)
        shares = [recipe.max_features for recipe in self.recipes]
        seen = np.array([self._column_draws(t, new) < share for t, share in enumerate(shares)]).reshape(
            len(shares), len(new)
        )
        for name in ("columns", "spare_columns"):
            columns = np.concatenate([getattr(self, name), seen], axis=1)
            if n_features:
                columns[~columns.any(axis=1), -1] = True  # no tree is without any
            setattr(self, name, columns)

    def mark_category(self, column: int, sibling: int | None) -> None:
        """Say that a column stands for a category; see `GrowingTree.mark_category`."""
        for tree in self._all_trees():
            tree.mark_category(column, sibling)
        self.is_category[column] = self.trees[0].arrays["is_category"][column]
        if sibling is not None:
            for columns in (self.columns, self.spare_columns):
                columns[:, column] = columns[:, sibling]

    def _handle_alarm(self, number: int, what: int) -> str | None:
        """Do what an alarm of a tree's detectors asks for; returns the kind of the event, None if there is none."""
        if what == NOTHING or (self.rules.drift_delta if what == DRIFT else self.rules.warning_delta) is None:
            return None
        if what == DRIFT and self.spares[number] is not None:
            if self.spare_scores[number, LOSS] > CLEARLY_WORSE * self.scores[number, LOSS]:
                return None  # errors have risen, but not by a drift that a younger tree copes with better
        else:
            self.spares[number], self.spare_columns[number] = self._new_tree(number)
            self.spare_scores[number] = self.scores[number]
            # A new tree is taken to be as good as the present one, until it has shown what it can.
            trusted = self.spare_scores[number, [N_LOSSES, N_SIZES]]
            self.spare_scores[number, [N_LOSSES, N_SIZES]] = np.minimum(trusted, ROWS_OF_TRUST)
            if self.rules.drift_delta is not None:  # then both are compared by the rows from here on
                self.scores[number, N_LOSSES] = self.spare_scores[number, N_LOSSES]
        if what != DRIFT:
            return "warning"
        spare = self.spares[number]
        assert spare is not None
        self.trees[number], self.spares[number] = spare, None
        self.columns[number] = self.spare_columns[number]
        self.scores[number] = self.spare_scores[number]
        self.detectors[number] = self._new_detectors
        return "drift"

    # Size

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees."""
        return sum(tree.n_nodes for tree in self.trees)

    @property
    def n_inner(self) -> int:
        """Number of inner nodes of all trees."""
        return sum(tree.n_inner for tree in self.trees)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(tree.nbytes for tree in self._all_trees()) + self.detectors.nbytes

    @property
    def log(self) -> list[SplitEvent]:
        """The audit logs of the trees, one after the other."""
        return [event for tree in self.trees for event in tree.log]

    @property
    def losses(self) -> np.ndarray:
        """Recent loss of each tree, (n_trees,)."""
        return self.scores[:, LOSS].copy()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_one"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # pickles of earlier releases have neither
        state = {"target_scaler": np.zeros((N_SCALER_ROWS, 1)), "adjustment": np.zeros(N_ADJUSTMENT)} | state
        arrays = {name: writeable(value) for name, value in state.items() if isinstance(value, np.ndarray)}
        self.__dict__.update(state | arrays)
