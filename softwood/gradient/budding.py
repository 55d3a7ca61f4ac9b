"""Budding trees (İrsoy, Yıldız, Alpaydın 2014): every node is partly a leaf and partly split."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from softwood.base import ClassifierBase, Fit, RegressorBase
from softwood.compiled import gradient as loop
from softwood.core.estimators import estimator
from softwood.core.parameters import check_count, check_number, parameter
from softwood.core.steps import Best
from softwood.gradient.base import Training, ValidatedTree
from softwood.gradient.data import LearningSet
from softwood.gradient.finishing import finish, predict_validation
from softwood.gradient.growing import GrownTree, lone_root
from softwood.gradient.loops.budding import BuddingAdam, BuddingGradient, BuddingNodes, BuddingScratch
from softwood.gradient.starting import random_start

# Values of inactive children differ by about this from that of their parent; otherwise buds would have no gradient.
SLEEPING_SPREAD = 0.5


class _Buds:
    """A budding tree in training on `rows`: arrays of the complete tree, and which nodes are active."""

    def __init__(self, rows: LearningSet, link: int, rules: _BuddingTree, seed: int) -> None:
        rng = np.random.default_rng([seed, 5])
        d, q = rows.points.shape[1], rows.targets.shape[1]
        self._rows, self.link, self._rules = rows, link, rules
        self._rng = np.random.default_rng([seed, 6])
        self.gates = random_start(rules.max_depth, d, rng)
        n_inner = len(self.gates)
        self.values = np.zeros((2 * n_inner + 1, q))
        self.values[0] = lone_root(rows, link).values[0]
        self.offsets = rng.normal(scale=SLEEPING_SPREAD, size=self.values.shape)
        self.buds = np.zeros(n_inner)
        self.buds[0] = 1.0
        self.scratch = BuddingScratch(
            np.empty(n_inner), np.empty_like(self.values), np.empty_like(self.values), np.empty(q)
        )  # fmt: skip
        self._gradient = BuddingGradient(
            np.zeros_like(self.gates), np.zeros_like(self.values), np.zeros_like(self.buds)
        )  # fmt: skip
        steps = np.zeros((2, len(self.values)), np.int64)
        of_gates, of_values = np.zeros((2, *self.gates.shape)), np.zeros((2, *self.values.shape))
        self._moments = BuddingAdam(of_gates[0], of_gates[1], of_values[0], of_values[1], steps)
        self.wake()

    def wake(self) -> None:
        """Activate the nodes whose parents have a bud; inactive children keep a value near that of their parent."""
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
    def nodes(self) -> BuddingNodes:
        """The named tuple that the loops take."""
        return BuddingNodes(self.gates, self.values, self.buds, self.awake, self.living)

    def run_pass(self) -> None:
        """One pass."""
        rules = self._rules
        loop.budding_pass(
            self._rows.arrays, self._rng.permutation(len(self._rows)), rules.batch_size, self.link, self.nodes,
            rules.learning_rate, rules.bud_learning_rate, rules.split_cost, self.scratch, self._gradient, self._moments,
        )  # fmt: skip
        self.wake()

    def record(self, **losses: float) -> dict[str, Any]:
        """A record for the history: the loss of the rows, other losses and the number of leaves."""
        return {"train_loss": self.loss(self._rows), **losses, "n_leaves": int(self.awake.sum()) + 1}

    def loss(self, rows: LearningSet) -> float:
        """Mean loss."""
        out = np.empty_like(rows.targets)
        loop.budding_outputs(rows.points, self.nodes, self.scratch, out)
        return float(loop.mean_loss(rows.targets, rows.weights, self.link, out))

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


class _Validated(NamedTuple):
    """A tree, the number of its passes, and its mean loss over all rows, including the validation rows."""

    n_passes: int
    tree: GrownTree
    loss: float


@estimator
class _BuddingTree(ValidatedTree):
    """What classifier and regressor share.

    Parameters
    ----------
    max_depth : int
        Largest depth of the tree, at most 16.
    max_iter : int
        Maximum number of passes over the rows.
    learning_rate : float
        Learning rate of Adam for gates and values.
    bud_learning_rate : float
        Learning rate of the buds.
    split_cost : float
        Cost of a bud, added to the loss.
    batch_size : int
        Number of rows of a step.
    n_iter_no_change : int
        Early stopping comes after this many passes without a smaller validation loss.
    validation_fraction : float
        Fraction of the rows set aside for validation, unless validation rows are passed to `fit`. These find the best
        number of passes; then all rows train the tree for so many passes, and it is kept if their loss is smaller.
    random_state : int, RandomState instance or None
        Controls the validation rows, the initial gates and the order of the rows.

    Attributes
    ----------
    tree_ : SoftTree
        The fitted tree. A node that is partly a leaf appears as two gates, the upper one without weights.
    history_ : list of dict
        A dict for each pass: ``stage``, ``iteration``, ``train_loss`` and ``n_leaves``, where a node that is partly a
        leaf counts as split. Iteration 0 is the initial tree. Stage "early_stopping" has a ``validation_loss``; stage
        "fit" are the passes over all rows. If validation rows are passed to `fit`, "fit" is the only stage.
    """

    max_depth: int = parameter(6, check_count, high=16)
    learning_rate: float = parameter(0.01, check_number, low=0.0, open_low=True)
    bud_learning_rate: float = parameter(0.5, check_number, low=0.0, open_low=True)
    split_cost: float = parameter(0.001, check_number, low=0.0)
    batch_size: int = parameter(32, check_count)
    max_iter: int = parameter(200, check_count)
    n_iter_no_change: int = parameter(15, check_count)

    _leading: ClassVar[tuple[str, ...]] = ("max_depth", "max_iter", "learning_rate")

    def _train(self, fit: Fit, data: Training, rules: Self) -> None:
        """Train until validation rows say stop; if these are a part of the rows, all rows train for as many passes."""
        buds = _Buds(data.train, data.link, rules, data.seed)
        stages = fit.stages()
        best: Best[_Validated] = Best(rules.n_iter_no_change)

        def measure(number: int) -> dict[str, Any]:
            record = buds.record(validation_loss=buds.loss(data.validation))
            losses = record["train_loss"], record["validation_loss"]
            best.offer(losses[1], lambda: _Validated(number, buds.grown(), data.mean_of_parts(*losses)))
            return record

        def results() -> dict[str, Any]:
            return {"history_": list(stages.history), "tree_": finish(best.state.tree, data)}

        first = measure(0)
        try:
            with stages.stage("early_stopping" if data.has_parts else "fit", "pass", rules.max_iter) as steps:
                steps.note(**first)
                for number, step in enumerate(steps, start=1):
                    buds.run_pass()
                    step.end(results, **measure(number))
                    if best.is_stalled:
                        break
            if not stages.is_stopped:
                self._keep_validation(data, predict_validation(best.state.tree, data))
            if data.has_parts and not stages.is_stopped:
                buds = _Buds(data.all_rows(), data.link, rules, data.seed)
                n_passes = best.state.n_passes
                with stages.stage("fit", "pass", n_passes) as steps:
                    steps.note(**buds.record())
                    for number, step in enumerate(steps, start=1):
                        buds.run_pass()
                        record = buds.record()
                        # now and then all buds die in a pass: then the loss is larger than before
                        if number == n_passes and record["train_loss"] < best.state.loss:
                            best.state = _Validated(n_passes, buds.grown(), record["train_loss"])
                        step.end(results, **record)
        finally:
            self.__dict__.update(results())


@estimator
class BuddingTreeClassifier(ClassifierBase, _BuddingTree):
    """Budding tree for classification: a soft tree whose nodes can be partly leaves.

    The response of a node is ``(1 - b) v + b (g left + (1 - g) right)``, with a value ``v``, a sigmoid gate ``g`` and a
    bud ``b`` in [0, 1]. Buds are trained on the training rows together with gates and values, and have a cost. A node
    gets children when its bud becomes positive. Prediction visits all paths. Inputs are standardised internally. A
    missing value counts as the mean of its column.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import BuddingTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = BuddingTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """


@estimator
class BuddingTreeRegressor(RegressorBase, _BuddingTree):
    """Budding tree for regression: a soft tree whose nodes can be partly leaves.

    The response of a node is ``(1 - b) v + b (g left + (1 - g) right)``, with a value ``v``, a sigmoid gate ``g`` and a
    bud ``b`` in [0, 1]. Buds are trained on the training rows together with gates and values, and have a cost. A node
    gets children when its bud becomes positive. Prediction visits all paths. The loss is the squared error; `y` may
    have several columns. Inputs are standardised internally. A missing value counts as the mean of its column.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import BuddingTreeRegressor
    >>> X = np.linspace(0, 6, 300)[:, None]
    >>> model = BuddingTreeRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.9)
    True
    """
