"""Growing forests: trees that learn the same stream, each with draws, columns, detectors and a spare tree of its own.

Trees do not depend on one another, so each learns a block of rows alone, in any thread.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from joblib import effective_n_jobs

from softwood.compiled.stream import (
    adjust_classes,
    adjust_reals,
    bound_targets,
    draw_row,
    draw_weights,
    keep_columns,
    keep_columns_of_all,
    score_spare,
    vote_classes,
    vote_reals,
    watch,
    watch_row,
)
from softwood.core.losses import softmax_gradient
from softwood.core.threads import Threads
from softwood.stream.growing.events import DriftEvent, keep_last
from softwood.stream.growing.planting import ForestTrees
from softwood.stream.growing.rows import OneRow
from softwood.stream.loops.drift import NOTHING
from softwood.stream.loops.forest import EXCESS, LEAST_IN_VOTES, LOSS
from softwood.stream.loops.layout import PLAIN
from softwood.trees.forest import SoftForest
from softwood.trees.tree import SoftTree

# Rows that all trees learn before their votes are counted.
ROWS_PER_ROUND = 2048
# Rows that a tree learns before its detectors look at them; after an alarm the rest is learned again, by the new tree.
ROWS_PER_LOOK = 256
# Targets that are more running standard deviations than this from the mean are learned as if they were there.
OUTLIER_LIMIT = 30.0
# Smallest probability of a leaf whose logarithm a finished tree holds.
LEAST = 1e-12


class _RowOfTrees:
    """A single row as each tree sees it, in arrays that are reused for the next one.

    Attributes
    ----------
    seen, outputs : (n_trees, 1, n_features) the row, and (n_trees, 1, n_outputs) predictions
    rest : (n_trees,) weights with which the trees learn the row, which they may change
    rows : the same for each tree
    """

    def __init__(self, n_trees: int, n_features: int, n_outputs: int, targets: np.ndarray) -> None:
        self.seen, self.outputs = np.empty((n_trees, 1, n_features)), np.empty((n_trees, 1, n_outputs))
        self.rest = np.empty(n_trees)
        self.rows = [OneRow(self.seen[t], targets, self.rest[t : t + 1], self.outputs[t]) for t in range(n_trees)]

    def fill(self, points: np.ndarray, columns: np.ndarray) -> None:
        """Take in a row, (1, n_features), of which each tree sees some columns, (n_trees, n_features)."""
        keep_columns_of_all(points, columns.view(np.uint8), self.seen)


class _OneRowOfAll:
    """Arrays for a single row of all trees of a forest.

    Attributes
    ----------
    targets : (1,) target as the trees learn it
    drawn : (n_trees,) weights with which the trees learn the row
    losses, found : (n_trees, 1) recent losses, and (n_trees,) int64 what detectors report
    vote : (1, n_outputs) of the trees together
    trees, spares : the row as these trees see it
    """

    def __init__(self, n_trees: int, n_features: int, n_outputs: int, is_class: bool) -> None:
        self.targets = np.empty(1, dtype=np.int64 if is_class else np.float64)
        self.drawn, self.losses, self.found = np.empty(n_trees), np.empty((n_trees, 1)), np.empty(n_trees, np.int64)
        self.vote = np.empty((1, n_outputs))
        self.trees, self.spares = (_RowOfTrees(n_trees, n_features, n_outputs, self.targets) for _ in range(2))


class GrowingForest(ForestTrees):
    """Trees that learn the same stream and vote."""

    # Learning

    def learn(self, points: np.ndarray, targets: np.ndarray, weights: np.ndarray, out: np.ndarray | None) -> None:
        """Learn rows one after the other; `out` gets the prediction for each before it was learned.

        Parameters as in `GrowingTree.learn`.
        """
        weights = np.ascontiguousarray(weights)
        targets = self._bounded(targets, weights)
        for begin in range(0, len(points), ROWS_PER_ROUND):
            rows = slice(begin, begin + ROWS_PER_ROUND)
            self._learn_round(points[rows], targets[rows], weights[rows], None if out is None else out[rows])

    def _bounded(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Real targets without outliers, labels as they are."""
        if self.classifies:
            return targets
        bounded = np.empty(len(targets))
        bound_targets(targets, weights, self.target_scaler, OUTLIER_LIMIT, bounded)
        return bounded

    def _learn_round(
        self, points: np.ndarray, targets: np.ndarray, weights: np.ndarray, out: np.ndarray | None
    ) -> None:
        n, n_trees = len(points), len(self.trees)
        outputs, losses = np.empty((n_trees, n, self.n_outputs)), np.empty((n_trees, n))

        def learn(t: int) -> list[DriftEvent]:
            return self._learn_tree(t, points, targets, weights, outputs[t], losses[t])

        with Threads(effective_n_jobs(self.n_jobs)) as threads:
            found = list(threads.map(learn, n_trees))
        self._log_alarms([event for events in found for event in events])
        self.n_rows += int(np.count_nonzero(weights > 0.0))
        if out is None and self.rules.adjusts:
            out = np.empty((n, self.n_outputs))
        if out is not None:
            self._count_votes(outputs, losses, out, targets, weights)

    def _log_alarms(self, events: list[DriftEvent]) -> None:
        """Add alarms to the log, which keeps the last ones."""
        self.drifts += sorted(events, key=lambda event: (event.n_samples, event.tree))
        keep_last(self.drifts)

    def _learn_tree(
        self, number: int, points: np.ndarray, targets: np.ndarray, weights: np.ndarray, outputs: np.ndarray,
        losses: np.ndarray,
    ) -> list[DriftEvent]:  # fmt: skip
        """Let one tree predict and learn rows, with its detectors watching; returns their alarms."""
        n, events = len(points), []
        drawn = np.empty(n)
        draw_weights(self._draw_seeds[number], self.n_rows, self.rules.rate, weights, drawn)
        labels, reals = self._either(targets)
        detectors, scores, memory = self.detectors[number], self.scores[number], self.rules.memory
        seen = self._seen(points, self.columns[number])
        begin = 0
        while begin < n:
            end = min(n, begin + ROWS_PER_LOOK)
            rows = slice(begin, end)
            self.trees[number].learn(seen[rows], targets[rows], drawn[rows], outputs[rows])
            while begin < end:
                at, what = watch(outputs[:end], labels, reals, weights, begin, memory, detectors, scores, losses)
                rows = slice(begin, at)
                begin = at
                if self.spares[number] is not None:
                    self._learn_spare(number, points[rows], targets[rows], weights[rows], drawn[rows])
                kind = self._handle_alarm(number, what)
                if kind is not None:
                    events.append(DriftEvent(kind, self.n_rows + int(np.count_nonzero(weights[:at] > 0.0)), number))
                if kind == "drift":
                    # Whatever the old tree has learned of the rows after the alarm is gone with it.
                    seen = self._seen(points, self.columns[number])
                    break
        return events

    @cached_property
    def _one(self) -> _OneRowOfAll:
        """Arrays for a row as each tree sees it, until there are other columns or classes."""
        return _OneRowOfAll(len(self.trees), self.n_features, self.n_outputs, self.classifies)

    def learn_row(self, row: OneRow) -> None:
        """`learn` for a single row, with less around it."""
        weight = float(row.weights[0])
        if weight <= 0.0:
            return
        one = self._one
        if self.classifies:
            one.targets[0] = row.targets[0]
        else:
            bound_targets(row.targets, row.weights, self.target_scaler, OUTLIER_LIMIT, one.targets)
        draw_row(self._draw_seeds, self.n_rows, self.rules.rate, weight, one.drawn)
        one.trees.rest[:] = one.drawn
        one.trees.fill(row.points, self.columns)
        for tree, own in zip(self.trees, one.trees.rows, strict=True):
            tree.learn_row(own)
        either, memory = self._either(one.targets), self.rules.memory
        watch_row(one.trees.outputs, *either, row.weights, memory, self.detectors, self.scores, one.losses, one.found)
        if self.rules.adjusts:
            self._count_votes(one.trees.outputs, one.losses, one.vote, one.targets, row.weights)
        self.n_rows += 1
        if any(self.spares):
            one.spares.rest[:] = one.drawn
            one.spares.fill(row.points, self.spare_columns)
        events = []
        for t, what in enumerate(one.found.tolist()):
            spare = self.spares[t]
            if spare is not None:
                spare.learn_row(one.spares.rows[t])
                score_spare(one.spares.outputs[t], *either, row.weights, memory, self.spare_scores[t])
            if what != NOTHING:
                kind = self._handle_alarm(t, what)
                if kind is not None:
                    events.append(DriftEvent(kind, self.n_rows, t))
        if events:
            self._log_alarms(events)

    def predict_row(self, row: OneRow) -> None:
        """`predict` for a single row, with less around it."""
        one = self._one
        one.trees.fill(row.points, self.columns)
        for tree, own in zip(self.trees, one.trees.rows, strict=True):
            tree.predict_row(own)
        one.losses[:, 0] = self.scores[:, LOSS]
        self._count_votes(one.trees.outputs, one.losses, row.out)

    def _learn_spare(
        self, number: int, points: np.ndarray, targets: np.ndarray, weights: np.ndarray, drawn: np.ndarray
    ) -> None:
        """Let the spare tree of a place learn rows; it is not watched."""
        spare = self.spares[number]
        assert spare is not None
        found = np.empty((len(points), self.n_outputs))
        spare.learn(self._seen(points, self.spare_columns[number]), targets, drawn, found)
        score_spare(found, *self._either(targets), weights, self.rules.memory, self.spare_scores[number])

    def _either(self, targets: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Targets as labels or as real ones, the other being None."""
        return (targets, None) if self.classifies else (None, targets)

    @staticmethod
    def _seen(points: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """The rows as a tree sees them."""
        if columns.all():
            return points
        seen = np.empty_like(points)
        keep_columns(points, columns.view(np.uint8), seen)
        return seen

    def _seen_by_all(self, points: np.ndarray) -> np.ndarray:
        """A few rows as each tree sees them, (n_trees, n, n_features), in one call."""
        seen = np.empty((len(self.trees), *points.shape))
        keep_columns_of_all(points, self.columns.view(np.uint8), seen)
        return seen

    def _count_votes(
        self, outputs: np.ndarray, losses: np.ndarray, out: np.ndarray, targets: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        """Predictions of the forest from those of the trees, (n_trees, n, n_outputs), and their losses.

        With targets and weights of the rows, their adjustment learns.
        """
        if self.rules.sharpness == 0.0:
            np.mean(outputs, axis=0, out=out)
        elif self.classifies:
            vote_classes(outputs, losses, self.rules.sharpness, out)
        else:
            vote_reals(outputs, losses, self.rules.sharpness, out)
        if self.rules.adjusts:
            (adjust_classes if self.classifies else adjust_reals)(targets, weights, self.adjustment, out)

    def predict(self, points: np.ndarray) -> np.ndarray:
        """Class probabilities, or predicted targets in the one column, (n, n_outputs)."""
        n, n_trees, points = len(points), len(self.trees), np.ascontiguousarray(points)
        outputs, out = np.empty((n_trees, n, self.n_outputs)), np.empty((n, self.n_outputs))
        few = self._seen_by_all(points) if n < ROWS_PER_LOOK else None
        for t, tree in enumerate(self.trees):
            outputs[t] = tree.predict(self._seen(points, self.columns[t]) if few is None else few[t])
        self._count_votes(outputs, np.repeat(self.losses, n).reshape(n_trees, n), out)
        return out

    def input_gradient(self, points: np.ndarray) -> np.ndarray:
        """Derivative of `predict` with respect to the points, (n, n_outputs, n_features)."""
        sharpness, losses = self.rules.sharpness, self.losses
        is_geometric = self.classifies and sharpness != 0.0
        if self.classifies:
            weights = np.exp(-sharpness * (losses - losses.min()))
        else:
            weights = (
                np.divide(losses.min(), losses, out=np.ones(len(losses)), where=losses > losses.min()) ** sharpness
            )
        out = np.zeros((len(points), self.n_outputs, points.shape[1]))
        for tree, columns, weight in zip(self.trees, self.columns, weights / weights.sum(), strict=True):
            seen = self._seen(np.ascontiguousarray(points), columns)
            gradient = tree.input_gradient(seen) * columns
            if is_geometric:  # the mean is that of the logarithms
                p = tree.predict(seen)[:, :, None]
                gradient = np.divide(gradient, p, out=np.zeros(gradient.shape), where=p > LEAST_IN_VOTES)
            out += weight * gradient
        if self.rules.adjusts and is_geometric:
            out *= 1.0 + self.adjustment[EXCESS]
        return softmax_gradient(self.predict(points), out) if is_geometric else out

    def state(self) -> dict[str, np.ndarray]:
        """All numbers of the forest, as arrays."""
        found = {
            f"{kind} {t} {name}": array
            for kind, trees in (("tree", self.trees), ("spare", self.spares))
            for t, tree in enumerate(trees)
            if tree is not None
            for name, array in tree.state().items()
        }
        names = ("columns", "spare_columns", "scores", "spare_scores", "detectors", "n_planted", "is_category")
        found |= {name: getattr(self, name) for name in (*names, "target_scaler", "adjustment")}
        events = [(event.kind == "drift", event.n_samples, event.tree) for event in self.drifts]
        return found | {"n_rows": np.array(self.n_rows), "drifts": np.array(events, dtype=np.int64).reshape(-1, 3)}

    def importances(self) -> np.ndarray:
        """Mean of the trees' importances, adding up to 1; zeros if no tree has made a decision."""
        total = np.sum([tree.importances() for tree in self.trees], axis=0)
        return total / total.sum() if total.sum() > 0 else total

    @property
    def is_plain(self) -> bool:
        """Whether `snapshot` predicts what the forest does: without weighted votes, and without models in leaves."""
        return self.rules.sharpness == 0.0 and all(r.settings.leaf_prediction == PLAIN for r in self.recipes)

    def snapshot(self) -> SoftForest:
        """The trees as they are now, which are averaged; votes and models in leaves are left out."""
        trees: list[SoftTree] = [tree.snapshot() for tree in self.trees]
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
