"""Forests of one-stage trees: each is trained on a bag of rows."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable, Iterator
from dataclasses import field, fields, replace
from threading import Event
from typing import Any, ClassVar, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from softwood.base import ClassifierBase, Fit, RegressorBase, as_counts
from softwood.core.compatibility import with_callbacks
from softwood.core.estimators import estimator
from softwood.core.parameters import check_count, check_n_jobs, checked, parameter_error
from softwood.core.targets import ClassTargets, RealTargets
from softwood.gradient.base import GradientModel
from softwood.gradient.crisp_choice import CrispWork
from softwood.gradient.crisp_training import Recipe
from softwood.gradient.data import LearningSet, Scaling
from softwood.gradient.one_stage import OneStageTreeClassifier, OneStageTreeRegressor, finish_staged
from softwood.gradient.one_stage_training import CheckedRules, StageRules, first_tree, prune, train_one_stage
from softwood.trees.forest import SoftForest
from softwood.trees.tree import SoftTree

# Part of the rows that chooses how trees are trained, if there are many rows.
HELD_OUT = 0.25


@estimator
class _OneStageForest(GradientModel):
    """What classifier and regressor share.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    max_depth : int
        Depth of the complete trees that are pruned, at most 16.
    n_jobs : int or None
        Number of trees trained in parallel, by joblib. -1 uses all processors, None means 1. The forest does not depend
        on it.
    random_state : int, RandomState instance or None
        Controls the samples, the initial gates and the order of the rows.

    Attributes
    ----------
    forest_ : SoftForest
        The fitted trees.
    estimators_ : list of estimators
        The same trees as separate fitted estimators, without ``history_``.
    history_ : list of dict
        A dict for each tree, with ``stage`` "fit", ``iteration``, ``train_loss`` of its sample, ``validation_loss`` of
        the other rows, and ``n_leaves``; before them, with ``stage`` "choice", a dict for each training on a fold.
    """

    n_estimators: int = field(default=20, kw_only=False)
    max_depth: int = StageRules.max_depth
    tree_parameters: dict[str, Any] | None = None
    n_jobs: int | None = None

    forest_: SoftForest = field(init=False)
    history_: list[dict[str, Any]] = field(init=False)
    _leading: ClassVar[tuple[str, ...]] = ("n_estimators", "max_depth", "tree_parameters")
    _tree_class: ClassVar[type]

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the trees.

        If the training is interrupted, the trees that are finished are kept: the first ones, without a gap.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features_in)
            The rows. Text and category columns of frames are categories. Missing values are allowed everywhere.
        """
        with self._fitting(X, y, sample_weight) as fit:
            fit.worker._train(fit, X, y, sample_weight)
        return self

    def _train(self, fit: Fit, X: Any, y: Any, sample_weight: Any) -> None:
        n_trees = check_count(self, "n_estimators", self.n_estimators)
        check_n_jobs(self, self.n_jobs)
        rules = self._rules()
        matrix, targets, weights, class_factors = self._read_merged(X, y, sample_weight)
        weights = as_counts(weights)  # as many rows as they add up to are drawn for each tree
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        scaling = Scaling.of(matrix, weights)
        points = np.ascontiguousarray(scaling.standardise(matrix))
        rows = LearningSet(points, np.ascontiguousarray(targets.matrix()), weights)
        self._scaling_ = scaling
        stages = fit.stages()
        recipe = None
        if rules.architecture == "pruned":
            scaled = rows.take(np.arange(len(rows)))  # weights with mean 1
            choice = CrispWork(scaled, isinstance(targets, ClassTargets), float(weights.sum()), rules, HELD_OUT, seed)
            recipe = choice.choose(None, stages, self.n_jobs)[1].recipe
        trees: list[SoftTree] = []
        sums, counts = np.zeros(rows.targets.shape), np.zeros((len(rows), 1))  # of the trees that have not seen a row

        def results() -> dict[str, Any]:
            return {"history_": list(stages.history), "forest_": SoftForest.mean(trees)}

        stopped = Event()

        def work() -> Iterator[Any]:
            for number in range(n_trees):
                if stopped.is_set():
                    return
                yield delayed(_train_one)(rows, targets, scaling, rules, recipe, seed, number)

        found = self._in_parallel(work())
        try:
            with stages.stage("fit", "tree", n_trees) as steps:
                for step in steps:
                    tree, left_out, record = next(found)
                    trees.append(tree)
                    if len(left_out):
                        sums[left_out] += tree.predict(scaling.fill(matrix[left_out]))
                        counts[left_out] += 1
                    step.end(results, **record)
            # A callback may stop the training early. The workers then finish the trees that they have begun:
            # joblib can end its processes by force, but sometimes fails while doing so.
            stopped.set()
            for _ in found:
                pass
        finally:
            if trees:
                self.__dict__.update(results())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # joblib warns of trees that nobody waits for any more
                found.close()
        with np.errstate(invalid="ignore"):
            self._keep_held_out(rows, sums / counts, float(weights.sum()), targets, class_factors)

    def _in_parallel(self, work: Iterable[Any]) -> Generator[Any, None, None]:
        """Results in their order, each as soon as it is there: an interrupt keeps these."""
        try:
            parallel = Parallel(n_jobs=self.n_jobs, return_as="generator")
        except ValueError:  # some backends of joblib's can only hand over all of them at the end
            parallel = Parallel(n_jobs=self.n_jobs)
        yield from parallel(work)

    def _rules(self) -> StageRules:
        """Checked parameters of the trees."""
        given = {} if self.tree_parameters is None else self.tree_parameters
        names = {part.name for part in fields(StageRules)} - {"max_depth"}
        if not isinstance(given, dict) or not set(given) <= names:
            expected = f"None, or a dict of parameters of OneStageTreeClassifier: {', '.join(sorted(names))}"
            raise parameter_error(self, "tree_parameters", expected, given)
        check_count(self, "max_depth", self.max_depth, high=16)
        rules = checked(OneStageTreeClassifier(max_depth=self.max_depth, **given))
        return rules if rules.architecture == "pruned" else rules.sampled()

    @property
    def _finished(self) -> SoftForest:
        check_is_fitted(self, "forest_")
        return self.forest_

    @property
    def estimators_(self) -> list[Any]:
        """The trees as fitted estimators of their own; ``forest_`` holds the same in flat arrays."""
        forest, own = self._finished, self.get_params(deep=False)
        shared = set(self._tree_class().get_params())
        # The forest has already weighted the classes.
        parameters = {name: value for name, value in own.items() if name in shared - {"class_weight", "verbose"}}
        parameters |= self.tree_parameters or {}
        learned = {name: value for name, value in vars(self).items() if name.endswith("_")}
        del learned["forest_"], learned["history_"]
        estimators = []
        for tree in forest:
            estimator = self._tree_class(**parameters)
            vars(estimator).update(learned, tree_=tree)
            estimator._drop_scores()  # those of the forest
            estimators.append(estimator)
        return estimators


def _train_one(
    rows: LearningSet,
    targets: ClassTargets | RealTargets,
    scaling: Scaling,
    rules: CheckedRules,
    recipe: Recipe | None,
    seed: int,
    number: int,
) -> tuple[SoftTree, np.ndarray, dict[str, Any]]:
    """A tree of the forest, the rows that it has not seen, and its record in the history.

    As many rows are drawn as there are, by weight; those that are never drawn validate.

    Parameters
    ----------
    recipe : of a crisp training; None: sampled paths
    """
    rng = np.random.default_rng([seed, 8, number])
    total = rows.weights.sum()
    counts = rng.multinomial(max(1, round(total)), rows.weights / total)
    order = rng.permutation(len(rows))
    bag, left_out = order[counts[order] > 0], order[counts[order] == 0]
    train = replace(rows.take_raw(bag), weights=counts[bag] / counts[bag].mean())
    validation = rows.take(left_out) if len(left_out) else train
    is_class = isinstance(targets, ClassTargets)
    tree_seed = int(rng.integers(2**31))
    prior = rules.prior
    if recipe is not None:
        work = CrispWork(train, is_class, float(counts.sum()), rules, HELD_OUT, tree_seed)
        training = work.training(recipe, [tree_seed])
        for _ in training.passes():
            pass
        # trees of a forest are not pruned, unless splits have a price
        cost = 0.0 if rules.split_cost is None else float(work.costs[0])
        tree, prior = training.tree(cost), training.prior
    else:
        tree = first_tree(train, validation, is_class, rules, tree_seed)
        train_one_stage(tree, train, validation, is_class, rules, tree_seed)
        if rules.architecture != "joint":
            prune(tree, validation, is_class, prior)
    losses = [tree.mean_loss(part, is_class, prior) for part in (train, validation)]
    finished = finish_staged(tree, train, float(counts.sum()), scaling, targets, prior)
    return finished, left_out, {"train_loss": losses[0], "validation_loss": losses[1], "n_leaves": finished.n_leaves}


@estimator
class OneStageForestClassifier(ClassifierBase, _OneStageForest):
    """Bagged one-stage trees for classification; their class probabilities are averaged.

    How trees are trained is chosen once, by folds, as for a single tree. Each tree is then trained on a bootstrap
    sample of the rows, and keeps all splits that lower the loss of its sample. Trees with sampled paths (see
    `architecture` of `OneStageTreeClassifier`) use the rows that are not in the sample as validation rows.

    Parameters
    ----------
    tree_parameters : dict or None
        Further parameters of the trees, by name; see `OneStageTreeClassifier`. None for their defaults.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import OneStageForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OneStageForestClassifier(n_estimators=5, max_depth=3, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    _tree_class = OneStageTreeClassifier


@estimator
class OneStageForestRegressor(RegressorBase, _OneStageForest):
    """Bagged one-stage trees for regression; their predictions are averaged.

    How trees are trained is chosen once, by folds, as for a single tree. Each tree is then trained on a bootstrap
    sample of the rows, and keeps all splits that lower the loss of its sample. Trees with sampled paths (see
    `architecture` of `OneStageTreeRegressor`) use the rows that are not in the sample as validation rows. `y` may have
    several columns.

    Parameters
    ----------
    tree_parameters : dict or None
        Further parameters of the trees, by name; see `OneStageTreeRegressor`. None for their defaults.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import OneStageForestRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = OneStageForestRegressor(n_estimators=5, max_depth=3, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> bool(model.score(X, np.sin(X[:, 0])) > 0.9)
    True
    """

    _tree_class = OneStageTreeRegressor
