"""Soft trees as a user meets them: rows to validate on, text, interrupts."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris

from softwood import SoftTreeClassifier, SoftTreeRegressor, export_text
from softwood.gradient import growing, refining
from tests.callbacks import Recorder, interrupt, require_callbacks
from tests.gradient.soft_trees import BOTH, lines_of, small
from tests.models import answer, assert_same_nodes, interrupted, problem

both = pytest.mark.parametrize("model_class", BOTH)


# ------------------------------------------------------------------ rows given to validate on


def test_wrong_targets_to_validate_on():
    X, y = problem(SoftTreeClassifier)
    with pytest.raises(ValueError, match="y_val has 2 targets, but y has 1"):
        small(SoftTreeRegressor).fit(X, y, X_val=X, y_val=np.column_stack([y, y]))
    with pytest.raises(ValueError, match="leave no row of X_val"):
        small(SoftTreeClassifier, class_weight={0: 1, 1: 1, 2: 0}).fit(X, y, X_val=X[y == 2], y_val=y[y == 2])


# ------------------------------------------------------------------ the finished model


def test_text_shows_probabilities():
    iris = load_iris(as_frame=True)
    for classes in (2, 3):
        part = iris.target < classes
        model = small(SoftTreeClassifier, max_leaf_nodes=3).fit(iris.data[part], iris.target_names[iris.target[part]])
        lines = export_text(model).splitlines()
        assert len(lines) == model.tree_.n_nodes
        shown = [float(line.rsplit(": ", 1)[1].rstrip("]")) for line in lines]
        expected = model.tree_.node_predictions.max(axis=1)[list(model.tree_.walk())]
        assert shown == pytest.approx(expected, abs=6e-4)
        assert all(1 / classes - 1e-3 <= p <= 1 for p in shown)
        assert any("setosa" in line for line in lines)
        assert "petal" in lines[1]
    X, y = problem(SoftTreeRegressor)
    text = export_text(small(SoftTreeRegressor, max_leaf_nodes=2).fit(X, y + 100))
    assert "value 100." in text or "value 99." in text


# ------------------------------------------------------------------ interrupts


@both
@pytest.mark.parametrize("after", [1, 2, 5])
def test_an_interrupt_leaves_the_splits_kept_so_far(model_class, after):
    require_callbacks()
    X, y = problem(model_class)
    model = small(model_class)
    model.set_callbacks(Recorder(after, then=interrupt))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert len(lines_of(model, "grow")) == after
    assert model.get_n_leaves() == model.history_[-1]["n_leaves"]
    assert model.history_ == small(model_class).fit(X, y).history_[: after + 1]
    assert np.isfinite(answer(model, X)).all()
    again = pickle.loads(pickle.dumps(model.tree_))
    assert_same_nodes(again, model.tree_)


@both
def test_an_interrupt_within_a_descent(model_class):
    X, y = problem(model_class)
    model = interrupted(small(model_class), X, y, growing._Grower, "train_split", 2)
    assert model.get_n_leaves() == 1 + sum(trial["kept"] for trial in lines_of(model, "grow"))
    assert np.isfinite(answer(model, X)).all()
    np.testing.assert_array_equal(
        answer(model.fit(X, y), X), answer(small(model_class).fit(X, y), X)
    )  # and it can be fitted again


@both
def test_an_interrupt_before_the_first_split_leaves_a_constant(model_class):
    X, y = problem(model_class)
    model = interrupted(small(model_class), X, y, growing._Grower, "train_split", 0)
    assert model.get_n_leaves() == 1
    assert np.ptp(answer(model, X), axis=0) == pytest.approx(0.0)


@both
@pytest.mark.parametrize("after", [1, 4])
def test_an_interrupt_of_the_joint_pass_keeps_the_best_so_far(model_class, after):
    X, y = problem(model_class)
    model = interrupted(small(model_class, refine=True, max_leaf_nodes=4), X, y, refining.loop, "refine_pass", after)
    expected = small(model_class, refine=True, refine_max_iter=after, max_leaf_nodes=4).fit(X, y)
    if model_class is SoftTreeRegressor:  # an interrupt comes before the values are fitted to all rows
        assert np.array_equal(model.tree_.weights, expected.tree_.weights)
    else:
        assert_same_nodes(model.tree_, expected.tree_)
