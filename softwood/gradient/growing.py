"""Growing a soft decision tree: leaf by leaf, each split trained by gradient descent while the rest is frozen."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from softwood.compiled import gradient as loop
from softwood.core.estimators import estimator
from softwood.core.parameters import check_choice, check_count, check_flag, check_integer, check_number, parameter
from softwood.core.steps import Best, Steps
from softwood.gradient.cross_selection import N_PARTS, Choice, CrossSelection, parts_of
from softwood.gradient.data import LearningSet, visits
from softwood.gradient.loops.soft_joint import SoftNodes
from softwood.gradient.loops.soft_split import IDENTITY, LOGISTIC, Near

# Rows with a smaller share in a node are left out when its split is trained: their gradients are as small.
NO_SHARE = 0.03
# A node with less mass than this, in rows of average weight, stays a leaf.
LEAST_MASS = 2.0
# Step lengths that make the descent diverge are halved and do not count; after this many, the split is given up.
MOST_HALVINGS = 40
# After this many runs in a row without an improvement, shorter steps are not tried.
VAIN_RUNS = 2
# Largest number of rows of a pass of online descent, and of rows that measure its loss: with much data, gates converge
# long before all rows are visited. All validation rows decide whether a split is kept.
PASS_ROWS, SELECT_ROWS = 20_000, 10_000
# Initial log odds of a pure leaf count this part of a row for the other classes.
PRIOR_ROWS = 0.5


@estimator
class SoftRules:
    """How a soft tree is grown and refined: parameters of `SoftTreeClassifier`, which derives from this.

    Parameters
    ----------
    max_depth : int or None
        Largest depth of the tree. None means no limit.
    max_leaf_nodes : int or None
        Growth ends when the tree has this many leaves. None means no limit.
    min_gain : float
        A split is kept if it lowers the validation loss by more than this fraction. The paper uses 0, which gives
        larger trees.
    learning_rate : float
        Initial step length of the first descent. Every further descent begins with half the one before.
    n_learning_rates : int
        Maximum number of descents for a split, of which the best is kept. Two in a row without a better result end
        the search.
    learning_rate_decay : float
        Factor by which the step length shrinks in one pass over the rows.
    max_iter : int
        Maximum number of passes in a descent.
    n_iter_no_change : int
        A descent ends after this many passes without a smaller loss.
    l1_regularization : float
        Absolute penalty on the weights of the gates, not on the biases, for standardised inputs. It sets many weights
        to 0.
    l2_regularization : float
        Squared penalty on the weights of the gates, not on the biases, for standardised inputs.
    init : {"hard", "paper", "random"}
        Initial gate of a split. "hard": centred on the best axis-aligned test. "paper": the same test, with a bias of 1
        whatever its threshold. "random": small random numbers.
    init_slope : float
        Steepness of the initial gate, per standard deviation.
    select : {"validation", "training"}
        Rows whose loss selects the best pass and the best descent. The paper uses the training rows.
    growth : {"breadth", "depth"}
        Order in which leaves are split: level by level, or the left subtree first, as in the paper.
    refine : bool
        After growth, train all gates and values together with Adam while the validation loss falls. For real targets,
        the values are then fitted to all rows, unless validation rows are passed to `fit`. Not in the paper.
    refine_max_iter : int
        Maximum number of passes of `refine`.
    refine_learning_rate : float
        Initial learning rate of `refine`. It is reduced when the validation loss stops falling.
    """

    init: Literal["hard", "paper", "random"] = parameter("hard", check_choice, choices=("hard", "paper", "random"))
    init_slope: float = parameter(1.0, check_number, low=0.0, open_low=True)
    learning_rate: float = parameter(1.0, check_number, low=0.0, open_low=True)
    n_learning_rates: int = parameter(6, check_count)
    learning_rate_decay: float = parameter(0.9, check_number, low=0.0, open_low=True, high=1.0)
    max_iter: int = parameter(25, check_count)
    n_iter_no_change: int = parameter(5, check_count)
    select: Literal["validation", "training"] = parameter(
        "validation", check_choice, choices=("validation", "training")
    )
    growth: Literal["breadth", "depth"] = parameter("breadth", check_choice, choices=("breadth", "depth"))
    max_depth: int | None = parameter(None, check_integer, low=1, or_none=True)
    max_leaf_nodes: int | None = parameter(None, check_integer, low=2, or_none=True)
    min_gain: float = parameter(0.01, check_number, low=0.0, high=1.0)
    l1_regularization: float = parameter(0.0, check_number, low=0.0)
    l2_regularization: float = parameter(0.0, check_number, low=0.0)
    refine: bool = parameter(True, check_flag)
    refine_max_iter: int = parameter(200, check_count)
    refine_learning_rate: float = parameter(0.01, check_number, low=0.0, open_low=True)


@dataclass
class GrownTree:
    """A tree in standardised units; parents come before their children.

    Attributes
    ----------
    left, right : children of each node, -1 at leaves
    gates : (d + 1,) weights and bias of each node, 0 at leaves
    values : (q,) of each node; of an inner node the one it had as a leaf
    """

    left: list[int]
    right: list[int]
    gates: list[np.ndarray]
    values: list[np.ndarray]

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return (len(self.left) + 1) // 2

    def arrays(self) -> SoftNodes:
        """left, right (n_nodes,) int32; gates (n_nodes, d + 1); values (n_nodes, q)."""
        return SoftNodes(
            np.array(self.left, dtype=np.int32), np.array(self.right, dtype=np.int32), np.array(self.gates),
            np.array(self.values),
        )  # fmt: skip

    def split(self, node: int, gate: np.ndarray, values: np.ndarray) -> tuple[int, int]:
        """Split a leaf by a gate; returns the numbers of the two new leaves."""
        left, right = len(self.left), len(self.left) + 1
        self.left[node], self.right[node] = left, right
        self.gates[node] = gate
        for value in values:
            self.left.append(-1)
            self.right.append(-1)
            self.gates.append(np.zeros_like(gate))
            self.values.append(value)
        return left, right

    def merge_constant_gates(self) -> None:
        """Replace each gate without weights above two leaves by a leaf; its value is their mean."""
        keep = [True] * len(self.left)
        for node in range(len(self.left) - 1, -1, -1):
            left, right = self.left[node], self.right[node]
            if left < 0 or np.any(self.gates[node][:-1]) or self.left[left] >= 0 or self.left[right] >= 0:
                continue
            share = 1.0 / (1.0 + np.exp(-self.gates[node][-1]))
            self.values[node] = share * self.values[left] + (1.0 - share) * self.values[right]
            self.gates[node] = np.zeros_like(self.gates[node])
            self.left[node] = self.right[node] = -1
            keep[left] = keep[right] = False
        number = np.append(np.cumsum(keep) - 1, -1)  # so that the child -1 stays -1
        kept = [node for node, is_kept in enumerate(keep) if is_kept]
        self.left = [int(number[self.left[node]]) for node in kept]
        self.right = [int(number[self.right[node]]) for node in kept]
        self.gates = [self.gates[node] for node in kept]
        self.values = [self.values[node] for node in kept]


@dataclass
class _Leaf:
    """A leaf that may be split, with the share of each row in it."""

    node: int
    depth: int
    path: np.ndarray
    validation_path: np.ndarray


@dataclass
class _Near:
    """Rows with a share in a node, in contiguous copies, because descents visit them many times."""

    rows: LearningSet
    rest: np.ndarray
    path: np.ndarray

    @classmethod
    def of(cls, data: LearningSet, rest: np.ndarray, path: np.ndarray, rows: np.ndarray) -> _Near:
        """Select these rows."""
        return cls(data.take(rows), rest[rows], path[rows])

    @property
    def arrays(self) -> Near:
        """The named tuple that the loops take."""
        return Near(*self.rows.arrays, self.rest, self.path)


@dataclass
class _Run:
    """The result of one descent, its initial learning rate, and what parts of the rows choose."""

    gate: np.ndarray
    values: np.ndarray
    learning_rate: float
    choice: Choice


def grow_soft_tree(
    train: LearningSet,
    validation: LearningSet,
    link: int,
    rules: SoftRules,
    seed: int,
    *,
    tree: GrownTree,
    cross: CrossSelection | None = None,
    steps: Steps | None = None,
    snapshot: Callable[[], dict[str, Any]] | None = None,
) -> GrownTree:
    """Grow `tree`, a lone root from `lone_root`, in place: after an interrupt, it is a complete tree.

    Parameters
    ----------
    train, validation : training rows, and rows that decide whether a split is kept
    link : IDENTITY, LOGISTIC or SOFTMAX of `softwood.gradient.loops.soft_split`
    cross : what is chosen without parts of the validation rows, grows with the tree
    steps : record each split that is tried
    snapshot : attributes of the estimator if the training ended here
    """
    grower = _Grower(train, validation, link, rules, seed)
    outputs = np.tile(tree.values[0], (len(train), 1))
    validation_outputs = np.tile(tree.values[0], (len(validation), 1))
    steps = Steps() if steps is None else steps

    def mean_loss(rows: LearningSet, outputs: np.ndarray) -> float:
        return loop.mean_loss(rows.targets, rows.weights, link, outputs)

    train_loss, loss = mean_loss(train, outputs), mean_loss(validation, validation_outputs)
    steps.note(train_loss=train_loss, validation_loss=loss, n_leaves=1)
    pending = deque([_Leaf(0, 0, np.ones(len(train)), np.ones(len(validation)))])
    while pending:
        if rules.max_leaf_nodes is not None and tree.n_leaves >= rules.max_leaf_nodes:
            break
        leaf = pending.popleft() if rules.growth == "breadth" else pending.pop()
        if rules.max_depth is not None and leaf.depth >= rules.max_depth:
            continue
        step = steps.begin()
        record = {
            "node": leaf.node, "depth": leaf.depth, "kept": False, "train_loss": train_loss, "validation_loss": loss,
            "validation_loss_before": loss,
        }  # fmt: skip
        value = tree.values[leaf.node]
        rest = outputs - leaf.path[:, None] * value
        validation_rest = validation_outputs - leaf.validation_path[:, None] * value
        run = grower.train_split(leaf, rest, validation_rest)
        if run is not None:
            shares, now = grower.read(train, rest, leaf.path, run)
            validation_shares, trial = grower.read(validation, validation_rest, leaf.validation_path, run)
            after = mean_loss(validation, trial)
            is_kept = after < loss * (1.0 - rules.min_gain)
            record |= {
                "kept": is_kept, "learning_rate": run.learning_rate, "train_loss": mean_loss(train, now),
                "validation_loss": after,
            }  # fmt: skip
            if is_kept:
                left, right = tree.split(leaf.node, run.gate, run.values)
                if cross is not None:
                    cross.split(leaf.node, (left, right), run.choice, 1.0 - rules.min_gain)
                outputs, validation_outputs, train_loss, loss = now, trial, record["train_loss"], after
                sides = (left, shares, validation_shares), (right, 1.0 - shares, 1.0 - validation_shares)
                below = [
                    _Leaf(node, leaf.depth + 1, leaf.path * share, leaf.validation_path * validation_share)
                    for node, share, validation_share in sides
                ]
                pending.extend(below if rules.growth == "breadth" else below[::-1])
        if step.end(snapshot, **record, n_leaves=tree.n_leaves):
            break
    return tree


def lone_root(train: LearningSet, link: int) -> GrownTree:
    """The tree before growth: the best constant."""
    value = leaf_values(train.weights @ train.targets, train.weights.sum(), link)
    return GrownTree([-1], [-1], [np.zeros(train.points.shape[1] + 1)], [value])


def leaf_values(sums: np.ndarray, mass: float, link: int) -> np.ndarray:
    """Value of a leaf with these sums of targets: their mean, log odds, or logarithms of class shares with mean 0."""
    if link == IDENTITY:
        return sums / mass
    if link == LOGISTIC:
        return np.log((sums + PRIOR_ROWS) / (mass - sums + PRIOR_ROWS))
    logs = np.log((sums + PRIOR_ROWS) / (mass + PRIOR_ROWS * len(sums)))
    return logs - logs.mean()


class _Grower:
    """The training of single splits."""

    def __init__(self, train: LearningSet, validation: LearningSet, link: int, rules: SoftRules, seed: int) -> None:
        self.train, self.validation, self.link, self.rules, self.seed = train, validation, link, rules, seed
        # once for all nodes; of equal values the order does not matter
        self.orders = np.ascontiguousarray(np.argsort(train.points, axis=0, kind="stable").T)
        self.scratch = np.empty(train.targets.shape[1])

    def train_split(self, leaf: _Leaf, rest: np.ndarray, validation_rest: np.ndarray) -> _Run | None:
        """The best of several descents, each with half the initial step of the previous one; None if none succeeds."""
        rules = self.rules
        masses = np.where(leaf.path > NO_SHARE, leaf.path, 0.0) * self.train.weights
        rows = np.flatnonzero(masses > 0.0)
        if len(rows) < 2 or masses.sum() < LEAST_MASS:
            return None
        begin = self._start(masses, leaf.node)
        if begin is None:
            return None
        near = _Near.of(self.train, rest, leaf.path, rows)
        judges, part = near, np.full(len(rows), N_PARTS)  # in no part
        if rules.select == "validation":
            # rows without a share in the node lose nothing by the split; the rows are shuffled, the first are as good
            reached = np.flatnonzero(leaf.validation_path > NO_SHARE)[:SELECT_ROWS]
            if len(reached) == 0:
                return None
            judges, part = _Near.of(self.validation, validation_rest, leaf.validation_path, reached), parts_of(reached)
        best: Best[_Run | None] = Best(VAIN_RUNS)
        best.offer(np.inf, lambda: None)
        rate, n_runs, choice = rules.learning_rate, 0, Choice(begin)
        for _ in range(MOST_HALVINGS):
            found = self._descend(leaf.node, near, judges, part, begin, rate, choice)
            rate *= 0.5
            if found is None:  # diverged
                continue
            n_runs += 1
            best.offer(found.loss, lambda: found.state)  # noqa: B023 - called at once
            if n_runs == rules.n_learning_rates or best.is_stalled:
                break
        return best.state

    def read(self, data: LearningSet, rest: np.ndarray, path: np.ndarray, run: _Run) -> tuple[np.ndarray, np.ndarray]:
        """Share of each row that goes left, and the tree's outputs with this split."""
        shares, outputs = np.empty(len(data)), np.empty_like(rest)
        loop.split_outputs(data.points, rest, path, run.gate, run.values, shares, outputs)
        return shares, outputs

    def _descend(
        self,
        node: int,
        near: _Near,
        judges: _Near,
        part: np.ndarray,
        begin: tuple[np.ndarray, np.ndarray],
        learning_rate: float,
        choice: Choice,
    ) -> Best[_Run] | None:
        """Passes over the rows until the loss of the validation rows stops falling; None if the descent diverges.

        The loss is infinite if there was no good pass.
        """
        rules, train = self.rules, near.rows
        gate, values = begin[0].copy(), begin[1].copy()
        rng = np.random.default_rng([self.seed, node, 1])
        best: Best[_Run] = Best(rules.n_iter_no_change)
        best.offer(np.inf, lambda: _Run(gate.copy(), values.copy(), learning_rate, choice))
        length, of_parts = learning_rate, np.empty(N_PARTS + 1)
        everything = np.arange(len(train))
        number = min(len(train), PASS_ROWS)
        for epoch in range(rules.max_iter):
            chosen = visits(everything, train.weights, number, epoch * number, rng)
            length = loop.descend(
                near.arrays, chosen, self.link, length, rules.learning_rate_decay ** (1.0 / len(chosen)),
                rules.l1_regularization, rules.l2_regularization, gate, values, self.scratch,
            )  # fmt: skip
            loss = loop.split_loss(judges.arrays, self.link, gate, values, part, of_parts, self.scratch)
            if not np.isfinite(loss):
                return None
            is_gate = np.any(gate[:-1])  # penalties may set all weights to 0
            best.offer(loss if is_gate else np.inf, lambda: _Run(gate.copy(), values.copy(), learning_rate, choice))
            if is_gate:
                choice.offer(loss - of_parts[:N_PARTS], gate, values)
            if best.is_stalled:
                break
        return best

    def _start(self, masses: np.ndarray, node: int) -> tuple[np.ndarray, np.ndarray] | None:
        """First gate and values of a split; None if there is nothing to divide."""
        train, rules = self.train, self.rules
        d = train.points.shape[1]
        gate = np.zeros(d + 1)
        if rules.init == "random":
            if not np.ptp(train.points[masses > 0.0], axis=0).any():
                return None
            rng = np.random.default_rng([self.seed, node, 0])
            gate[:] = rng.uniform(-0.01, 0.01, d + 1)
            total = leaf_values(masses @ train.targets, masses.sum(), self.link)
            return gate, total + rng.uniform(-0.01, 0.01, (2, train.targets.shape[1]))
        sums = np.empty((2, train.targets.shape[1]))
        feature, threshold = loop.best_test(train.points, train.targets, masses, self.orders, 0, len(train), sums)
        if feature < 0:
            return None
        gate[feature] = -rules.init_slope
        # In the paper the bias is 1 for any threshold; a gate centred on the threshold is probably meant.
        gate[d] = 1.0 if rules.init == "paper" else rules.init_slope * threshold
        goes_left = train.points[:, feature] <= threshold
        values = [
            leaf_values(part @ train.targets, part.sum(), self.link)
            for part in (np.where(goes_left, masses, 0.0), np.where(goes_left, 0.0, masses))
        ]
        return gate, np.array(values)
