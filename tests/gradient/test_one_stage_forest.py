"""Forests of one-stage trees: their trees, interrupts, workers, and that they are better than a tree."""

import pickle
import time

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, parallel_config
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from softwood import (
    OneStageForestClassifier,
    OneStageForestRegressor,
    OneStageTreeClassifier,
    OneStageTreeRegressor,
    SoftForest,
)
from softwood.gradient import one_stage_forest
from tests.models import answer, assert_same_nodes, problem

BOTH = [OneStageForestClassifier, OneStageForestRegressor]


def small(kind, **parameters):
    """A forest of few trees that are trained shortly."""
    few = {"n_estimators": 4, "max_depth": 3, "tree_parameters": {"max_iter": 5}, "random_state": 0}
    return kind(**{**few, **parameters})


@pytest.mark.parametrize("kind", BOTH)
def test_the_forest_is_the_mean_of_its_trees(kind):
    X, y = problem(kind)
    model = small(kind).fit(X, y)
    assert isinstance(model.forest_, SoftForest)
    assert len(model.forest_) == 4
    mean = np.mean([tree.predict(X) for tree in model.forest_], axis=0)
    assert answer(model, X).reshape(len(X), -1) == pytest.approx(mean)
    assert all(tree.is_crisp for tree in model.forest_)
    assert model.get_n_leaves() == sum(tree.n_leaves for tree in model.forest_)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert len({tree.n_nodes for tree in model.forest_} | {tree.bias[0] for tree in model.forest_}) > 2


def test_a_forest_is_better_than_its_tree():
    X, y = load_digits(return_X_y=True)
    train, test = slice(0, 500), slice(500, None)
    forest = OneStageForestClassifier(n_estimators=8, random_state=0).fit(X[train], y[train])
    tree = OneStageTreeClassifier(random_state=0).fit(X[train], y[train])
    assert forest.score(X[test], y[test]) > tree.score(X[test], y[test]) + 0.01


@pytest.mark.parametrize("kind", BOTH)
def test_parameters_of_the_trees(kind):
    X, y = problem(kind)
    plain, cheap = small(kind).fit(X, y), small(kind, tree_parameters={"split_cost": 0.05}).fit(X, y)
    assert len(cheap.forest_) < cheap.get_n_leaves() < plain.get_n_leaves()
    none = small(kind, tree_parameters={"split_cost": 1e6}).fit(X, y)
    assert none.get_n_leaves() == len(none.forest_)
    sampled, dear, joint = (
        small(kind, tree_parameters={"architecture": "proximal", **given}).fit(X, y)
        for given in ({}, {"split_cost": 10.0}, {"architecture": "joint"})
    )
    assert dear.get_n_leaves() < sampled.get_n_leaves() <= joint.get_n_leaves()


def test_bad_values_of_tree_parameters_are_named():
    X, y = problem(OneStageForestClassifier, n=30)
    with pytest.raises(ValueError, match="'learning_rate' parameter"):
        small(OneStageForestClassifier, tree_parameters={"learning_rate": -1}).fit(X, y)


# ------------------------------------------------------------------ the trees as estimators


@pytest.mark.parametrize("kind", BOTH)
def test_the_trees_are_estimators_of_their_own(kind):
    X, y = problem(kind)
    X = pd.DataFrame(X, columns=list("abcd")).assign(city=np.where(X[:, 3] > 0, "Oslo", "Rome"))
    X.loc[::9, "a"] = np.nan
    y = y if kind is OneStageForestRegressor else np.array(["low", "middle", "high"])[y]
    model = small(kind, tree_parameters={"n_iter_no_change": 5}, verbose=0).fit(X, y)
    trees = model.estimators_
    assert len(trees) == 4
    for tree, finished in zip(trees, model.forest_, strict=True):
        assert type(tree) is (OneStageTreeRegressor if kind is OneStageForestRegressor else OneStageTreeClassifier)
        assert_same_nodes(tree.tree_, finished)
        assert (tree.max_depth, tree.n_iter_no_change, tree.random_state) == (3, 5, 0)
        assert repr(tree).startswith(type(tree).__name__)
        found = answer(tree, X)
        assert np.array_equal(found.reshape(len(X), -1), finished.predict(model._matrix(X)))
        assert np.array_equal(answer(pickle.loads(pickle.dumps(tree)), X), found)
        assert tree.feature_importances_.shape == (5,)
        assert tree.feature_names_in_.tolist() == ["a", "b", "c", "d", "city"]
        if is_classifier(tree):
            assert set(tree.predict(X)) <= {"low", "middle", "high"}
        fresh = clone(tree)
        assert fresh.get_params() == tree.get_params()
        with pytest.raises(NotFittedError):
            fresh.predict(X)
        assert np.array_equal(answer(fresh.fit(X, y), X).shape, found.shape)
    assert np.mean([answer(tree, X) for tree in trees], axis=0) == pytest.approx(answer(model, X))
    importances = np.sum([tree.feature_importances_ for tree in trees], axis=0)
    assert importances / importances.sum() == pytest.approx(model.feature_importances_)


def test_trees_of_weighted_classes_and_of_several_targets():
    X, y = problem(OneStageForestClassifier)
    model = small(OneStageForestClassifier, class_weight={0: 50.0, 1: 1.0, 2: 1.0}).fit(X, y)
    assert all(tree.class_weight is None for tree in model.estimators_)
    several = small(OneStageForestRegressor).fit(X, np.column_stack([y, X[:, 0]]))
    assert all(tree.predict(X).shape == (len(X), 2) for tree in several.estimators_)


# ------------------------------------------------------------------ interrupts


def stopped_at(monkeypatch, number, folder):
    """The training of the tree with this number is interrupted, when those before it had time to be handed over."""
    train_one = one_stage_forest._train_one

    def train(*arguments):
        if arguments[-1] == number:
            while not all((folder / str(k)).exists() for k in range(number)):  # workers may be other processes
                time.sleep(0.05)
            time.sleep(0.5)
            raise KeyboardInterrupt
        tree = train_one(*arguments)
        (folder / str(arguments[-1])).touch()
        return tree

    monkeypatch.setattr(one_stage_forest, "_train_one", train)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(("n_jobs", "backend"), [(1, "loky"), (2, "threading"), (2, "loky")])
def test_an_interrupt_leaves_the_first_trees(kind, n_jobs, backend, monkeypatch, tmp_path):
    X, y = problem(kind)
    whole = small(kind, n_estimators=6).fit(X, y)
    stopped_at(monkeypatch, 3, tmp_path)
    model = small(kind, n_estimators=6, n_jobs=n_jobs)
    with parallel_config(backend=backend), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    n = len(model.forest_)
    assert n == 3 or (n_jobs > 1 and 0 < n < 3)
    for one, other in zip(model.forest_, whole.forest_.first(n), strict=True):
        assert_same_nodes(one, other)
    assert np.array_equal(answer(model, X), answer(small(kind, n_estimators=n).fit(X, y), X))
    assert len(model.estimators_) == n
    with parallel_config(backend=backend):
        assert np.array_equal(answer(model.fit(X, y), X), answer(whole, X))  # and it can be fitted again


@pytest.mark.parametrize("kind", BOTH)
def test_an_interrupt_before_the_first_tree_leaves_nothing(kind, monkeypatch, tmp_path):
    X, y = problem(kind)
    stopped_at(monkeypatch, 0, tmp_path)
    model = small(kind)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "forest_")
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("kind", BOTH)
def test_workers_that_hand_over_all_trees_at_the_end(kind, monkeypatch):
    """As joblib's backend "multiprocessing" does."""
    X, y = problem(kind)
    expected = answer(small(kind).fit(X, y), X)

    def without_generators(*, return_as="list", **parameters):
        if return_as != "list":
            raise ValueError(f"Backend does not support return_as={return_as}")
        return Parallel(**parameters)

    monkeypatch.setattr(one_stage_forest, "Parallel", without_generators)
    assert np.array_equal(answer(small(kind).fit(X, y), X), expected)
