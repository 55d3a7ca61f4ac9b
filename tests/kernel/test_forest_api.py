"""Forests and extra trees as a user meets them: rules, the trees behind the forest, little data, interrupts."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from softwood import KernelForestClassifier, KernelTreeClassifier, KernelTreeRegressor
from softwood.kernel.growing import bagging
from tests.callbacks import Recorder, interrupt, require_callbacks
from tests.kernel.forests import ALL, problem
from tests.models import answer, assert_same_nodes, interrupted


@pytest.mark.parametrize("model_class", ALL)
@pytest.mark.parametrize("value", ["wide", None, -1.0])
def test_all_rules_for_the_bandwidth_are_told(model_class, value):
    with pytest.raises(ValueError, match=r"'auto', 'oob', 'cv', 'silverman'(,| or) 'loo'. Got"):
        model_class(2, bandwidth=value).fit([[0.0], [1.0]], [0, 1])


# ------------------------------------------------------------------ the finished forest


@pytest.mark.parametrize("model_class", ALL)
@pytest.mark.parametrize("parameters", [{"bandwidth": 0.3}, {"bandwidth": 0}, {"bandwidth": 0.3, "kernel": "gaussian"}])
def test_the_trees_are_estimators_whose_mean_is_the_forest(model_class, parameters):
    X, y = problem(model_class)
    model = model_class(5, random_state=0, **parameters).fit(X, y)
    trees = model.estimators_
    assert len(trees) == len(model) == 5
    X[::9, 1] = np.nan
    np.testing.assert_allclose(answer(model, X), np.mean([answer(t, X) for t in trees], axis=0), rtol=0, atol=1e-12)
    gradients = [tree.input_gradient(X) for tree in trees]
    np.testing.assert_allclose(model.input_gradient(X), np.mean(gradients, axis=0), rtol=0, atol=1e-9)
    for tree in trees:
        assert isinstance(tree, KernelTreeClassifier if is_classifier(model) else KernelTreeRegressor)
        assert tree.n_features_in_ == 4
        assert tree.score(X, y) > 0.1
        assert tree.get_depth() <= model.get_depth()
    importances = np.mean([tree.feature_importances_ for tree in trees], axis=0)
    np.testing.assert_allclose(model.feature_importances_, importances)
    leaves, (path, pointer) = model.apply(X), model.decision_path(X)
    for number, tree in enumerate(trees):
        np.testing.assert_array_equal(leaves[:, number], tree.apply(X))
        own = path[:, pointer[number] : pointer[number + 1]]
        np.testing.assert_array_equal(own.toarray(), tree.decision_path(X).toarray())


@pytest.mark.parametrize("model_class", ALL)
def test_prediction_kernels(model_class):
    X, y = problem(model_class)
    model = model_class(3, bandwidth=0.3, random_state=0)
    same, crisp, other = (
        clone(model).set_params(**parameters).fit(X, y)
        for parameters in (
            {},
            {"prediction_kernel": None},
            {"prediction_kernel": "gaussian", "prediction_bandwidth": 1},
        )
    )
    np.testing.assert_array_equal(same.forest_.threshold, crisp.forest_.threshold)
    assert_same_nodes(crisp.forest_, same.forest_.crisp())
    np.testing.assert_array_equal(same.forest_.threshold, other.forest_.threshold)
    inner = other.forest_.feature >= 0
    np.testing.assert_allclose(other.forest_.width[inner], X.std(axis=0)[other.forest_.feature[inner]])


# ------------------------------------------------------------------ little data


# ------------------------------------------------------------------ telling, and interrupts


@pytest.mark.parametrize("model_class", ALL)
@pytest.mark.parametrize(("n_jobs", "n_trees", "at"), [(1, 8, 3), (2, 300, 40)])
def test_an_interrupt_leaves_a_working_forest(model_class, n_jobs, n_trees, at):
    require_callbacks()
    X, y = problem(model_class)
    parameters = {"bandwidth": 0.3, "random_state": 0, "prediction_kernel": "triangle"}
    whole = model_class(n_trees, **parameters).fit(X, y)
    for _ in range(5):  # on a busy machine, one worker may be held up in the first tree while the other grows all
        model = model_class(n_trees, n_jobs=n_jobs, warm_start=True, **parameters).set_callbacks(
            Recorder(at, then=interrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        if hasattr(model, "forest_"):
            break
    n = len(model)
    assert n == at or n_jobs > 1
    assert 0 < n < n_trees
    assert_same_nodes(model.forest_, whole.forest_.first(n))
    np.testing.assert_array_equal(answer(model, X), answer(whole.set_params(n_estimators=n).fit(X, y), X))
    assert len(model.estimators_) == n
    model.set_callbacks().fit(X, y)  # goes on where it was interrupted
    assert_same_nodes(model.forest_, whole.set_params(n_estimators=n_trees).fit(X, y).forest_)


def test_an_interrupt_before_the_first_tree_leaves_nothing():
    X, y = problem(KernelForestClassifier)
    for bandwidth in (0.3, "auto"):
        model = interrupted(KernelForestClassifier(3, bandwidth=bandwidth), X, y, bagging, "grow_nodes")
        with pytest.raises(NotFittedError):
            model.predict(X)


def test_an_interrupt_keeps_the_trees_of_the_last_fit():
    require_callbacks()
    X, y = problem(KernelForestClassifier)
    model = KernelForestClassifier(3, bandwidth=0.3, warm_start=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=9).set_callbacks(Recorder(2, then=interrupt))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    expected = KernelForestClassifier(5, bandwidth=0.3, random_state=0).fit(X, y)
    assert_same_nodes(model.forest_, expected.forest_)
