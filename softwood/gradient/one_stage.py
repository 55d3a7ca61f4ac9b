"""One-stage trees (2022): built and pruned in one optimisation, discrete while training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from softwood.base import ClassifierBase, Fit, RegressorBase
from softwood.gates import Gate
from softwood.gradient.data import LearningSet, Scaling
from softwood.gradient.finishing import to_soft_tree
from softwood.gradient.model import Training, ValidatedTree
from softwood.gradient.one_stage_training import StagedTree, StageRules, first_tree, prune, settle, train_one_stage
from softwood.loops.one_stage import step_value
from softwood.loops.soft_joint import Nodes
from softwood.parameters import check_flag, parameter
from softwood.targets import ClassTargets, RealTargets
from softwood.tree import SoftTree

__all__ = ["OneStageTreeClassifier", "OneStageTreeRegressor"]


@dataclass(kw_only=True, eq=False, repr=False)
class _OneStageTree(StageRules, ValidatedTree):
    """What classifier and regressor share."""

    warm_start: bool = parameter(False, check_flag)

    def _train(self, fit: Fit, data: Training, rules: Self) -> None:
        is_class, everything = data.is_class, data.everything()
        train, validation = data.parts()
        if rules.architecture == "joint":  # no validation rows: all are trained on
            train = validation = everything
        tree = self._continued(fit.earlier, data, rules)
        steps = fit.steps("pass", rules.max_iter, history=None if tree is None else list(fit.earlier["history_"]))
        tree = tree or first_tree(train, validation, is_class, rules, data.seed)

        def end(tree: StagedTree) -> None:
            """What is done with the best tree, in place."""
            if rules.architecture != "joint":
                prune(tree, validation, is_class, rules.prior)
                if not data.is_given:
                    settle(tree, everything, rules, data.seed)

        def results(unpruned: StagedTree, tree: StagedTree) -> dict[str, Any]:
            finished = finish_staged(tree, everything, data.total_mass, data.scaling, data.targets, rules.prior)
            # A warm start goes on before pruning: no pass could be better on the rows that the pruned tree has seen.
            before = unpruned, data.scaling
            return {"_unpruned_": before, "_staged_": tree, "history_": list(steps.history), "tree_": finished}

        def snapshot(best: StagedTree) -> dict[str, Any]:
            tree = best.copy()
            end(tree)
            return results(best, tree)

        finished = tree
        try:
            train_one_stage(tree, train, validation, is_class, rules, data.seed, steps, snapshot)
            finished = tree.copy()
            end(finished)
        finally:
            self.__dict__.update(results(tree, finished))

    def _continued(self, earlier: dict[str, Any], data: Training, rules: Self) -> StagedTree | None:
        """The tree of the last fit in the units of this one; None without a warm start, or if its shape differs."""
        if not rules.warm_start or "_unpruned_" not in earlier:
            return None
        self._refuse_other_targets(earlier)
        tree, scaling = earlier["_unpruned_"]
        d, q = data.train.points.shape[1], len(getattr(self, "classes_", ())) or data.train.targets.shape[1]
        n_inner = 2**rules.max_depth - 1
        if tree.gates.shape != (n_inner, d + 1) or tree.sums.shape[1] != q:
            return None
        weights, bias = scaling.fold_back(tree.gates)
        gates = np.column_stack([weights * data.scaling.spread, bias + weights @ data.scaling.center])
        return StagedTree(
            np.ascontiguousarray(gates), tree.gamma.copy(), tree.alive.copy(), np.zeros_like(tree.mass),
            np.zeros_like(tree.sums),
        )  # fmt: skip


def finish_staged(
    tree: StagedTree,
    rows: LearningSet,
    total_mass: float,
    scaling: Scaling,
    targets: ClassTargets | RealTargets,
    prior: float,
) -> SoftTree:
    """The living part of a complete tree as a `SoftTree`; its values are those of all of `rows`."""
    bottom = tree.add_up(rows)
    splits = tree.splits()
    kept = sorted({0, *splits, *(2 * node + side for node in splits for side in (1, 2))})
    number = {node: k for k, node in enumerate(kept)}
    is_split = np.isin(kept, splits)
    gates = np.zeros((len(kept), tree.gates.shape[1]))
    gates[is_split] = tree.gates[splits]
    left = np.array([number[2 * node + 1] if is_split[k] else -1 for k, node in enumerate(kept)])
    right = np.array([number[2 * node + 2] if is_split[k] else -1 for k, node in enumerate(kept)])
    values = np.empty((len(kept), tree.sums.shape[1]))
    for k, node in enumerate(kept):  # parents come first
        if node == 0:
            values[k] = tree.sums[0] / tree.mass[0]
        else:
            values[k] = values[number[(node - 1) // 2]]
            step_value(node, tree.mass, tree.sums, prior, values[k])
    squares = np.zeros(len(tree.mass))
    np.add.at(squares, bottom, rows.weights * (rows.targets**2).sum(axis=1))
    for node in range(tree.n_inner - 1, -1, -1):
        squares[node] = squares[2 * node + 1] + squares[2 * node + 2]
    mass = np.maximum(tree.mass[kept], 0.0)
    total = np.maximum(mass, np.finfo(float).tiny)
    impurity = np.maximum(squares[kept] / total - ((tree.sums[kept] / total[:, None]) ** 2).sum(axis=1), 0.0)
    mass_unit = total_mass / rows.weights.sum()
    nodes = Nodes(left, right, gates, values)
    return to_soft_tree(nodes, mass, mass_unit, impurity, Gate.OBLIQUE, scaling, targets)


@dataclass(kw_only=True, eq=False, repr=False)
class OneStageTreeClassifier(ClassifierBase, _OneStageTree):
    """One-stage tree for classification: a crisp oblique tree, built and pruned in one optimisation.

    Every node of a complete tree can be split. Training rows follow paths that are sampled by the gates, and gradients
    pass straight through the sampling. The value of a node is the mean of the rows that reach it. Each node has a
    number in [0, 1], trained on validation rows by proximal steps, that decides whether it is split or a leaf; a pruned
    node can be split again later. Validation losses and predictions are those of the resulting discrete tree.

    After training, splits that do not lower the validation loss are removed. Unless validation rows are passed to
    `fit`, the gates are then trained on all rows for five more passes. Inputs are standardised internally. A missing
    value counts as the mean of its column. A category is encoded as a column of zeros and ones.

    Parameters
    ----------
    architecture : "proximal", "joint" or "gumbel", default="proximal"
        How the shape is trained. "proximal": by proximal steps on validation rows; "joint": together with the gates on
        the training rows, without validation rows; "gumbel": sampled, on validation rows.
    max_depth : int, default=6
    init : "fitted" or "random", default="fitted"
        Initial gates: at each node the better of a linear fit and a test of one column; or random numbers, as in the
        paper.
    learning_rate : float, default=0.01
        Learning rate of Adam for the gates.
    batch_size : int, default=32
    max_iter : int, default=200
        Maximum number of passes over the rows.
    n_iter_no_change : int, default=15
        Training ends after this many passes without a smaller validation loss.
    warm_up : int, default=3
        Number of passes before the shape is trained: untrained gates would be pruned.
    architecture_learning_rate : float, default=0.5
        Learning rate of the shape.
    split_cost : float, default=0.001
        Cost of a split in the loss that trains the shape. The loss is half the squared error of class probabilities, or
        of targets in standard deviations.
    prior : float, default=5.0
        The value of a node is the mean of its rows and of this many rows with the value of its parent.
    l1_regularization, l2_regularization : float, default=0.0
        Penalties on the weights of the gates.
    validation_fraction : float, default=0.25
        Fraction of the rows set aside to train the shape, unless validation rows are passed to `fit`.
    warm_start : bool, default=False
        Continue from the tree of the previous fit.
    categorical_features : "from_dtype", None, or columns by name, number or mask, default="from_dtype"
        Columns to treat as categories; "from_dtype" selects the text and category columns of data frames.
    handle_unknown : "missing" or "error", default="missing"
        How `predict` treats categories that were not seen in `fit`: as missing values, or with an error.
    class_weight : dict or "balanced", default=None
        Weights of the classes.
    random_state : int or RandomState, default=None
        Determines the validation rows, the order of the rows and the sampled paths.
    verbose : int, default=0
        1 prints progress about once a second, 2 after every pass.

    Attributes
    ----------
    tree_ : SoftTree
        The fitted tree, without nodes that were pruned.
    history_ : list of dicts
        A line for each pass: ``stage`` ("fit"), ``iteration``, ``train_loss``, ``validation_loss`` and ``n_leaves`` of
        the discrete tree. Iteration 0 is the initial tree. A warm start continues the list, and first repeats the last
        iteration as it is on the new rows.
    n_iter_ : int
        Number of passes.
    columns_ : Columns
        How the table was encoded as a matrix.
    feature_importances_ : (n_features_in,) array
    classes_ : (n_classes,) array

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from softwood import OneStageTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = OneStageTreeClassifier(random_state=0).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.93)
    True
    """


@dataclass(kw_only=True, eq=False, repr=False)
class OneStageTreeRegressor(RegressorBase, _OneStageTree):
    """One-stage tree for regression, with the squared error; `y` may have several columns.

    Parameters are those of `OneStageTreeClassifier` without `class_weight`. Attributes are the same, with
    ``n_outputs_`` in place of ``classes_``.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import OneStageTreeRegressor
    >>> X = np.linspace(0, 6, 300)[:, None]
    >>> model = OneStageTreeRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.95)
    True
    """
