"""Budding trees (İrsoy, Yıldız, Alpaydın 2014): every node is partly a leaf and partly split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from softwood.base import ClassifierBase, RegressorBase
from softwood.gradient.data import LearningSet
from softwood.gradient.finishing import finish
from softwood.gradient.growing import GrownTree, lone_root
from softwood.gradient.model import Training, ValidatedTree
from softwood.gradient.starting import random_start
from softwood.loops import budding as loop
from softwood.loops.soft_split import mean_loss
from softwood.parameters import check_count, check_number

__all__ = ["BuddingTreeClassifier", "BuddingTreeRegressor"]

# Values of sleeping children differ by about this from their parent's: without it no bud would have a gradient.
SLEEPING_SPREAD = 0.5


class _Rules(NamedTuple):
    """How the tree is trained; see the parameters of `BuddingTreeClassifier`."""

    depth: int
    batch: int
    max_iter: int
    n_iter_no_change: int
    rate: float
    bud_rate: float
    split_cost: float


class _Buds:
    """A budding tree in training: arrays of the complete tree, and which part of it lives."""

    def __init__(self, train: LearningSet, link: int, depth: int, seed: int) -> None:
        rng = np.random.default_rng([seed, 5])
        d, q = train.points.shape[1], train.targets.shape[1]
        self.link = link
        self.gates = random_start(depth, d, rng)
        n_inner = len(self.gates)
        self.values = np.zeros((2 * n_inner + 1, q))
        self.values[0] = lone_root(train, link).values[0]
        self.offsets = rng.normal(scale=SLEEPING_SPREAD, size=self.values.shape)
        self.buds = np.zeros(n_inner)
        self.buds[0] = 1.0
        self.steps = np.zeros((2, len(self.values)), np.int64)
        self.scratch = loop.Scratch(np.empty(n_inner), np.empty_like(self.values), np.empty_like(self.values))
        self.wake()

    def wake(self) -> None:
        """Let the nodes live whose parents have a bud; children of the others sleep near their parent's value."""
        n_inner = len(self.gates)
        awake = np.zeros(n_inner, dtype=bool)
        living, level = [], [0]
        while level:
            living += level
            inner = [node for node in level if node < n_inner]
            for node in inner:
                awake[node] = self.buds[node] > 0.0
                if not awake[node]:
                    for child in (2 * node + 1, 2 * node + 2):
                        self.values[child] = self.values[node] + self.offsets[child]
                        if child < n_inner:
                            self.buds[child] = 0.0
            level = [child for node in inner if awake[node] for child in (2 * node + 1, 2 * node + 2)]
        self.awake, self.living = awake, np.array(living, dtype=np.int64)

    @property
    def nodes(self) -> loop.Nodes:
        """As the loops take it."""
        return loop.Nodes(self.gates, self.values, self.buds, self.awake, self.living)

    def run_pass(self, rows: LearningSet, rules: _Rules, work: tuple, rng: np.random.Generator) -> None:
        """One pass."""
        loop.budding_pass(
            rows.arrays, rng.permutation(len(rows)), rules.batch, self.link, self.nodes, rules.rate,
            rules.bud_rate, rules.split_cost, self.scratch, *work,
        )  # fmt: skip
        self.wake()

    def loss(self, rows: LearningSet) -> float:
        """Mean loss."""
        out = np.empty_like(rows.targets)
        loop.budding_outputs(rows.points, self.nodes, self.scratch, out)
        return float(mean_loss(rows.targets, rows.weights, self.link, out))

    def grown(self) -> GrownTree:
        """The same response as a tree of sigmoid gates: a node that is partly a leaf is two gates, one constant."""
        tree = GrownTree([-1], [-1], [np.zeros(self.gates.shape[1])], [self.values[0].copy()])
        pending = [(0, 0)]
        while pending:
            node, number = pending.pop()
            if node >= len(self.gates) or not self.awake[node]:
                continue
            bud = self.buds[node]
            if bud < 1.0:
                constant = np.zeros(self.gates.shape[1])
                constant[-1] = np.log((1.0 - bud) / bud)
                _, number = tree.split(number, constant, np.array([self.values[node], self.values[node]]))
            children = 2 * node + 1, 2 * node + 2
            numbers = tree.split(number, self.gates[node].copy(), self.values[list(children)].copy())
            pending += list(zip(children, numbers, strict=True))
        return tree


@dataclass(kw_only=True, eq=False, repr=False)
class _BuddingTree(ValidatedTree):
    """What classifier and regressor share."""

    max_depth: int = 6
    learning_rate: float = 0.01
    bud_learning_rate: float = 0.5
    split_cost: float = 0.001
    batch_size: int = 32
    max_iter: int = 200
    n_iter_no_change: int = 15
    verbose: int = 0

    def _check_parameters(self) -> _Rules:
        check_count(self, "verbose", self.verbose, low=0)
        return _Rules(
            depth=check_count(self, "max_depth", self.max_depth, high=16),
            batch=check_count(self, "batch_size", self.batch_size),
            max_iter=check_count(self, "max_iter", self.max_iter),
            n_iter_no_change=check_count(self, "n_iter_no_change", self.n_iter_no_change),
            rate=check_number(self, "learning_rate", self.learning_rate, low=0.0, open_low=True),
            bud_rate=check_number(self, "bud_learning_rate", self.bud_learning_rate, low=0.0, open_low=True),
            split_cost=check_number(self, "split_cost", self.split_cost, low=0.0),
        )

    def _train(self, data: Training, rules: _Rules) -> None:
        buds = _Buds(data.train, data.link, rules.depth, data.seed)
        rng = np.random.default_rng([data.seed, 6])
        work = (
            loop.Gradient(np.zeros_like(buds.gates), np.zeros_like(buds.values), np.zeros_like(buds.buds)),
            loop.Adam(np.zeros((2, *buds.gates.shape)), np.zeros((2, *buds.values.shape)), buds.steps),
        )
        self.history_: list[dict[str, Any]] = []
        best, since = (buds.loss(data.validation), buds.grown()), 0
        try:
            for epoch in range(rules.max_iter):
                buds.run_pass(data.train, rules, work, rng)
                loss = buds.loss(data.validation)
                self.history_.append(
                    {
                        "epoch": epoch + 1, "training_loss": buds.loss(data.train), "validation_loss": loss,
                        "n_splits": int(buds.awake.sum()),
                    }
                )  # fmt: skip
                if self.verbose > 1 or (self.verbose and epoch % 10 == 0):
                    print(f"[{type(self).__name__}] pass {epoch + 1}, validation loss {loss:.5f}", flush=True)
                since += 1
                if loss < best[0]:
                    best, since = (loss, buds.grown()), 0
                elif since >= rules.n_iter_no_change:
                    break
        finally:
            self.tree_ = finish(best[1], data.train, data.mass, data.link, data.scaling, data.targets)


@dataclass(kw_only=True, eq=False, repr=False)
class BuddingTreeClassifier(ClassifierBase, _BuddingTree):
    """Budding tree for classes: a soft tree whose nodes may be partly leaves.

    The response of a node is ``(1 - b) v + b (g left + (1 - g) right)`` with a bud ``b`` in [0, 1] that is trained with
    all else on the training rows, at a price. A node whose bud leaves 0 gets children. All paths are visited when
    predicting. Inputs are standardised inside; a missing value counts as the column's mean.

    Parameters
    ----------
    max_depth : int, default=6
    learning_rate : float, default=0.01
        Of Adam, for gates and values.
    bud_learning_rate : float, default=0.5
        Step of the buds.
    split_cost : float, default=0.001
        Price of a bud, in loss.
    batch_size : int, default=32
    max_iter : int, default=200
    n_iter_no_change : int, default=15
        Passes without a smaller validation loss that end the training.
    validation_fraction : float, default=0.25
        Part of the rows that says when to stop, unless `fit` is given rows for it.
    categorical_features : "from_dtype", None, or columns by name, number or mask, default="from_dtype"
        Columns to be taken as categories.
    handle_unknown : "missing" or "error", default="missing"
        What a category is at predict time that was not there at fit time: a missing value, or an error.
    class_weight : dict or "balanced", default=None
        Weights of classes.
    random_state : int or RandomState, default=None
        Validation part, first gates, order of rows.
    verbose : int, default=0

    Attributes
    ----------
    tree_ : SoftTree
        The finished tree. A node that is partly a leaf is there as a gate without weights above its gate.
    history_ : list of dicts
        For each pass: losses of training and validation rows, number of splits.
    columns_ : Columns
    feature_importances_ : (n_features_in,) array
    classes_ : (n_classes,) array
    """


@dataclass(kw_only=True, eq=False, repr=False)
class BuddingTreeRegressor(RegressorBase, _BuddingTree):
    """Budding tree for real targets, with the squared error; the target may be a matrix.

    Parameters are those of `BuddingTreeClassifier` without `class_weight`. Attributes are the same, with ``n_outputs_``
    in place of ``classes_``.
    """
