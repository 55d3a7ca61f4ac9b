"""Soft Hoeffding trees: limits, the log of splits, gradients by the input and the tree behind it."""

import numpy as np
import pytest
from sklearn.base import is_classifier

from softwood.stream import SEA
from tests.stream.test_hoeffding import assert_log_describes_the_tree
from tests.stream.test_model import (
    SOFT,
    SoftHoeffdingTreeClassifier,
    SoftHoeffdingTreeRegressor,
    answer,
    assert_same_model,
    learn,
    problem,
    small,
)

GROWING = [SoftHoeffdingTreeClassifier, SoftHoeffdingTreeRegressor]
both = pytest.mark.parametrize("model_class", GROWING)


@both
def test_as_published(model_class):
    X, _ = problem(model_class, n=3000)
    y = X[:, 0] > 0.3
    model = learn(model_class.as_published(random_state=0), X, y)
    tree = model.tree_
    inner = tree.children_left >= 0
    assert inner.sum() > 0
    assert (tree.blend[inner] == 0.3).all()
    assert model.score(X, y) > 0.5


def check_snapshot(model, X):
    """The tree says what the model says; its leaves share each row; its gradient is that of the predictions."""
    tree = model.tree_
    found = tree.predict(X)
    np.testing.assert_allclose(found if is_classifier(model) else found[:, 0], answer(model, X), rtol=1e-12, atol=1e-12)
    shares = model.memberships(X).toarray()
    np.testing.assert_allclose(shares[:, tree.children_left < 0].sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_array_equal(model.decision_path(X).toarray() > 0, shares > 0)
    leaves = np.where(tree.children_left < 0, shares, -1.0)
    np.testing.assert_array_equal(model.apply(X), leaves.argmax(axis=1))
    gradient = model.input_gradient(X)
    step = 1e-6
    for j in range(X.shape[1]):
        up, down = X.copy(), X.copy()
        up[:, j] += step
        down[:, j] -= step
        same_side = np.ones(len(X), dtype=bool)  # a test that is crossed is a jump
        for node in np.flatnonzero((tree.children_left >= 0) & (tree.feature == j) & (tree.blend < 1)):
            same_side &= np.abs(X[:, j] - tree.threshold[node]) > 2 * step
        assert same_side.mean() > 0.9
        expected = (answer(model, up) - answer(model, down)).reshape(len(X), -1) / (2 * step)
        np.testing.assert_allclose(gradient[same_side, :, j], expected[same_side], atol=2e-6)


@pytest.mark.parametrize("model_class", SOFT)
@pytest.mark.parametrize("scale", [1.0, 1e3])
def test_the_snapshot_is_the_tree(model_class, scale):
    X, y = problem(model_class, n=2000)
    X = X * [1.0, scale, 1.0] + [0.0, 0.0, 5.0]
    model = learn(small(model_class), X, y)
    assert model.tree_.n_nodes > 5
    check_snapshot(model, X[:200])


@both
@pytest.mark.parametrize("recheck", [None, 300.0])
def test_the_log_describes_the_tree(model_class, recheck):
    X, y = problem(model_class, n=4000)
    X[2000:] = X[2000:, [2, 0, 1]]
    model = learn(small(model_class, recheck_period=recheck, restart_rise=None), X, y)
    assert len(model.log_) > 5
    kinds = {event.kind for event in model.log_}
    assert kinds == ({"split", "replace"} if recheck else {"split"})
    assert_log_describes_the_tree(model)


def test_crisp_and_smooth_ends():
    X, y = SEA(seed=0).take(3000)
    crisp = learn(small(SoftHoeffdingTreeClassifier, alpha=0.0, alpha_learning_rate=0.0), X, y)
    assert not crisp.input_gradient(X[:50]).any()
    assert set(np.unique(crisp.memberships(X).data)) == {1.0}
    smooth = learn(small(SoftHoeffdingTreeClassifier, alpha=1.0, alpha_learning_rate=0.0), X, y)
    assert smooth.input_gradient(X[:50]).any()
    check_snapshot(smooth, X[:100])


@pytest.mark.parametrize("model_class", SOFT)
def test_batches_are_something_else_than_parts(model_class):
    X, y = problem(model_class)
    one, mean = (learn(small(model_class, batch_size=b), X, y) for b in (1, 8))
    assert not np.array_equal(answer(one, X), answer(mean, X))
    rows = small(model_class, batch_size=8)
    for i in range(len(X)):
        learn(rows, X[i : i + 1], y[i : i + 1], **({"classes": np.unique(y)} if is_classifier(rows) else {}))
    assert_same_model(mean, rows)


def test_inner_nodes_of_a_snapshot_show_the_mean_of_their_leaves():
    X, y = SEA(seed=0).take(2000)
    model = SoftHoeffdingTreeClassifier(random_state=0).fit(X, y)
    tree = model.tree_
    sides = [tree.children_left[0], tree.children_right[0]]
    assert tree.value[0] == pytest.approx(np.average(tree.value[sides], axis=0, weights=tree.mass[sides]))
    assert tree.children_left[0] < 0 or len(np.unique(tree.value[:, 0])) > 2
