"""One-stage trees (2022): built and pruned in one optimisation, discrete while training."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np

from softwood.base import ClassifierBase, Fit, RegressorBase
from softwood.compiled.gradient import step_value
from softwood.core.estimators import estimator
from softwood.core.parameters import check_flag, check_n_jobs, parameter
from softwood.core.targets import ClassTargets, RealTargets
from softwood.gradient.base import Training, ValidatedTree
from softwood.gradient.crisp_choice import Candidate, CrispWork
from softwood.gradient.data import LearningSet, Scaling
from softwood.gradient.finishing import to_soft_tree
from softwood.gradient.loops.soft_joint import SoftNodes
from softwood.gradient.one_stage_training import (
    CheckedRules,
    StagedTree,
    StageRules,
    first_tree,
    prune,
    settle,
    train_one_stage,
)
from softwood.trees.gates import Gate
from softwood.trees.tree import SoftTree


@estimator
class _OneStageTree(StageRules, ValidatedTree):
    """What classifier and regressor share.

    Parameters
    ----------
    validation_fraction : float
        Fraction of the rows set aside, unless validation rows are passed to `fit`: to choose, with more than 5 000
        rows; to train the shape, with sampled paths.
    warm_start : bool
        Continue from the tree of the previous fit, with what was chosen there. Columns, categories and targets must be
        of the same kind as in that fit. With another `max_depth`, or after another way of training, `fit` starts from
        the beginning.
    n_jobs : int or None
        Number of folds that are trained in parallel, in threads. -1 uses all processors, None means 1. The tree does
        not depend on it.
    random_state : int, RandomState instance or None
        Controls the folds or validation rows, the order of the rows and the sampled paths.

    Attributes
    ----------
    tree_ : SoftTree
        The fitted tree, without nodes that were pruned.
    search_ : list of dict
        The candidates: a dict for each way to train, with its best ``split_cost``, the ``loss`` of the rows held out
        (log loss and three times the share of errors, or squared error) and the mean ``n_splits``. Penalties and costs
        are relative to a loss that is added up over the rows. Only if `architecture` is "pruned".
    chosen_ : dict
        The best entry of ``search_``. Only if `architecture` is "pruned".
    history_ : list of dict
        Dicts with ``stage``, ``iteration`` and losses. Stage "choice": a dict for each training on a fold, with its
        ``recipe``, the place in ``search_``, and ``validation_loss``. Stage "fit": a dict for each pass over all rows,
        with ``train_loss`` and ``n_leaves`` of the crisp tree; with sampled paths also ``validation_loss``. Iteration 0
        is the initial tree. A warm start continues the list, and first repeats the last iteration as it is on the new
        rows.
    n_iter_ : int
        Number of passes that trained the tree.
    """

    warm_start: bool = parameter(False, check_flag)
    n_jobs: int | None = None

    search_: list[dict[str, Any]] = field(init=False)
    chosen_: dict[str, Any] = field(init=False)
    _leading: ClassVar[tuple[str, ...]] = (
        "max_depth", "architecture", "max_iter", "learning_rate", "batch_size", "split_cost", "prior",
        "l1_regularization", "l2_regularization",
    )  # fmt: skip

    @classmethod
    def as_published(cls, **changes: Any) -> Self:
        """The algorithm of the paper, with other parameters as given.

        Its gates start at random, paths are sampled, and the shape is trained by proximal steps on validation rows,
        without a cost of splits. The ablations of the paper are ``as_published(architecture="joint")`` and
        ``as_published(architecture="gumbel")``.

        Parameters
        ----------
        **changes : dict
            Parameters that differ from the paper.

        Returns
        -------
        estimator
            The estimator, not fitted.
        """
        settings: dict[str, Any] = {
            "architecture": "proximal",
            "init": "random",
            "learning_rate": 0.01,
            "batch_size": 32,
            "max_iter": 200,
            "n_iter_no_change": 15,
            "warm_up": 0,
            "split_cost": 0.0,
            "l1_regularization": 0.0,
            "l2_regularization": 0.0,
        }
        return cls(**(settings | changes))

    def _train(self, fit: Fit, data: Training, rules: Self) -> None:
        check_n_jobs(self, self.n_jobs)
        earlier = self._continued(fit.earlier, rules)
        if rules.architecture == "pruned":
            self._train_crisp(fit, data, rules, earlier)
        else:
            self._train_sampled(fit, data, rules.sampled(), earlier)

    def _train_crisp(self, fit: Fit, data: Training, rules: Self, earlier: dict[str, Any]) -> None:
        """Choose how to train by folds or validation rows, then train on all rows."""
        is_class, rows = data.is_class, data.everything()
        work = CrispWork(rows, is_class, data.n_rows, rules, rules.validation_fraction, data.seed)
        history = list(earlier.get("history_", ()))
        stages = fit.stages(history)
        search: list[Candidate] = []
        if earlier:
            chosen = Candidate.of(earlier["chosen_"])
        else:
            pairs = [data.parts()] if data.is_given else None
            search, chosen = work.choose(pairs, stages, self.n_jobs)
        gates = _last_tree(earlier, data.scaling, rows.targets.shape[1]).gates if earlier else None
        training = work.training(chosen.recipe, [data.seed, 23, len(history)], gates)

        def results() -> dict[str, Any]:
            tree = training.tree(chosen.cost)
            unpruned = tree.copy(), data.scaling
            finished = finish_staged(tree, rows, data.total_mass, data.scaling, data.targets, training.prior)
            found = {"search_": [one.record() for one in search], "chosen_": chosen.record()}
            if earlier:
                found["search_"] = earlier["search_"]
            return {**found, "_unpruned_": unpruned, "_staged_": tree, "history_": list(history), "tree_": finished}

        def record() -> dict[str, Any]:
            tree = training.tree(chosen.cost)
            loss = tree.mean_loss(rows, is_class, training.prior)
            return {"train_loss": loss, "n_leaves": len(tree.splits()) + 1}

        try:
            with stages.stage("fit", "pass", training.pace.n_passes) as steps:
                steps.note(iteration=history[-1]["iteration"] if earlier else 0, **record())
                for _ in training.passes():
                    step = steps.begin()
                    if step.end(results, **record()):
                        break
        finally:
            self.__dict__.update(results())
        if stages.is_stopped:
            return
        held_out = work.held_out()
        if data.is_given:
            validation = data.parts()[1]
            self._keep_validation(data, self.tree_.predict(data.scaling.restore(validation.points)))
        elif held_out is not None:
            own, outputs = held_out
            n_rows = data.n_rows * min(1.0, float(own.weights.sum() / rows.weights.sum()))
            self._keep_held_out(own, data.targets.in_units(outputs), n_rows, data.targets, data.class_factors)

    def _train_sampled(self, fit: Fit, data: Training, rules: CheckedRules, earlier: dict[str, Any]) -> None:
        is_class, everything = data.is_class, data.everything()
        train, validation = data.parts()
        if rules.architecture == "joint":  # no validation rows: all are trained on
            train = validation = everything
        steps = fit.steps("pass", rules.max_iter, history=list(earlier["history_"]) if earlier else None)
        if earlier:
            tree = _last_tree(earlier, data.scaling, train.targets.shape[1])
        else:
            tree = first_tree(train, validation, is_class, rules, data.seed)

        def end(tree: StagedTree) -> None:
            """Prune the best tree and train it on all rows, in place."""
            if rules.architecture != "joint":
                prune(tree, validation, is_class, rules.prior)
                if not data.is_given:
                    settle(tree, everything, rules, data.seed)

        def results(unpruned: StagedTree, tree: StagedTree) -> dict[str, Any]:
            finished = finish_staged(tree, everything, data.total_mass, data.scaling, data.targets, rules.prior)
            # A warm start continues from the tree before pruning: on the rows that the pruned tree was fitted to, no
            # pass would be better.
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
        if not steps.is_stopped and (rules.architecture != "joint" or data.is_given):
            pruned, (own, validation) = tree.copy(), data.parts()
            if rules.architecture != "joint":
                prune(pruned, validation, is_class, rules.prior)
            pruned.add_up(own)
            self._keep_validation(data, data.targets.in_units(pruned.read(validation, rules.prior)[1]))

    @property
    def n_iter_(self) -> int:
        """Number of passes that trained the tree."""
        return max(record["iteration"] for record in self.history_ if record["stage"] == "fit")

    def _continued(self, earlier: dict[str, Any], rules: Self) -> dict[str, Any]:
        if not self.warm_start or "_unpruned_" not in earlier:
            return {}
        # A tree that was trained along sampled paths has no chosen recipe.
        is_known = rules.architecture != "pruned" or "chosen_" in earlier
        is_as_deep = len(earlier["_unpruned_"][0].gates) == 2**rules.max_depth - 1
        return earlier if is_known and is_as_deep else {}


def _last_tree(earlier: dict[str, Any], scaling: Scaling, n_outputs: int) -> StagedTree:
    """The tree of the previous fit in the units of this one, which has `scaling`; its sums are 0."""
    tree, before = earlier["_unpruned_"]
    weights, bias = before.fold_back(tree.gates)
    gates = np.column_stack([weights * scaling.spread, bias + weights @ scaling.center])
    return StagedTree(
        np.ascontiguousarray(gates), tree.gamma.copy(), tree.alive.copy(), np.zeros_like(tree.mass),
        np.zeros((len(tree.mass), n_outputs)),
    )  # fmt: skip


def finish_staged(
    tree: StagedTree,
    rows: LearningSet,
    total_mass: float,
    scaling: Scaling,
    targets: ClassTargets | RealTargets,
    prior: float,
) -> SoftTree:
    """The nodes of a complete tree that are in use, as a `SoftTree`; its values are those of all `rows`."""
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
            step_value(node, tree.mass, tree.sums, prior, values, k)
    squares = np.zeros(len(tree.mass))
    np.add.at(squares, bottom, rows.weights * (rows.targets**2).sum(axis=1))
    for node in range(tree.n_inner - 1, -1, -1):
        squares[node] = squares[2 * node + 1] + squares[2 * node + 2]
    mass = np.maximum(tree.mass[kept], 0.0)
    total = np.maximum(mass, np.finfo(float).tiny)
    impurity = np.maximum(squares[kept] / total - ((tree.sums[kept] / total[:, None]) ** 2).sum(axis=1), 0.0)
    mass_unit = total_mass / rows.weights.sum()
    nodes = SoftNodes(left, right, gates, values)
    return to_soft_tree(nodes, mass, mass_unit, impurity, Gate.OBLIQUE, scaling, targets)


@estimator
class OneStageTreeClassifier(ClassifierBase, _OneStageTree):
    """One-stage tree for classification: a crisp oblique tree, built and pruned in one optimisation.

    Every node of a complete tree can be split. Gates are trained by a loss whose best paths are those of the crisp
    tree: the logit of a class is the largest, over all leaves, of the leaf's own logit less the sum of the margins on
    whose wrong side the row is (after DTSemNet, 2024). Before each pass over the rows, splits that do not earn their
    cost are pruned from the bottom up, and pruned nodes can be split again. Gates begin as penalised logistic
    regressions between two groups of classes, or as tests of single columns.

    The strength of the penalty, the initial gates and the size of the tree matter most. By default they are chosen by
    five folds (repeated if there are fewer than 1 000 rows; with more than 5 000, some of them are held out instead).
    The tree is then trained on all rows.

    The algorithm of the paper, which samples paths and trains the shape on validation rows, is
    ``OneStageTreeClassifier.as_published()``; its ablations are the architectures "joint" and "gumbel".

    Inputs are standardised internally. A missing value counts as the mean of its column. A category is encoded as a
    column of zeros and ones.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from softwood import OneStageTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = OneStageTreeClassifier(random_state=0).fit(X[:400], y[:400])
    >>> bool(model.score(X[400:], y[400:]) > 0.93)
    True
    """


@estimator
class OneStageTreeRegressor(RegressorBase, _OneStageTree):
    """One-stage tree for regression: a crisp oblique tree, built and pruned in one optimisation.

    Every node of a complete tree can be split. The tree is trained on the squared error as a mixture of leaves, with
    gates that get steeper; the crisp tree of these gates is pruned. `y` may have several columns. Gates begin as
    penalised linear regressions, or as tests of single columns.

    The strength of the penalty, the initial gates and the size of the tree matter most. By default they are chosen by
    five folds (repeated if there are fewer than 1 000 rows; with more than 5 000, some of them are held out instead).
    The tree is then trained on all rows.

    The algorithm of the paper, which samples paths and trains the shape on validation rows, is
    ``OneStageTreeRegressor.as_published()``; its ablations are the architectures "joint" and "gumbel".

    Inputs are standardised internally. A missing value counts as the mean of its column. A category is encoded as a
    column of zeros and ones.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import OneStageTreeRegressor
    >>> X = np.linspace(0, 6, 300)[:, None]
    >>> model = OneStageTreeRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.9)
    True
    """
