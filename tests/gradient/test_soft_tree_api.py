"""Soft trees as a user meets them: rows to validate on, odd data, text, progress, interrupts."""

import pickle

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_iris

from softwood import SoftTreeClassifier, SoftTreeRegressor, export_text
from softwood.gradient import growing, refining
from tests.callbacks import Recorder, interrupt, require_callbacks
from tests.contract.test_inputs import ODD
from tests.gradient.soft_trees import BOTH, answer, assert_same_tree, lines_of, problem, small

both = pytest.mark.parametrize("model_class", BOTH)


# ------------------------------------------------------------------ rows given to validate on


@both
def test_validation_rows_may_be_given(model_class):
    X, y = problem(model_class)
    X_val, y_val = problem(model_class, seed=1)
    model = small(model_class).fit(X, y, X_val=X_val, y_val=y_val)
    assert model.get_n_leaves() > 1
    assert model.tree_.mass[0] == pytest.approx(len(X))
    assert small(model_class).fit(X, y).tree_.mass[0] == pytest.approx(0.75 * len(X), abs=2)
    # rows that all say the same are no reason to split
    constant = small(model_class).fit(X, y, X_val=X_val, y_val=np.full(len(X), y[0]))
    assert constant.history_ != model.history_


def test_wrong_targets_to_validate_on():
    X, y = problem(SoftTreeClassifier)
    model = small(SoftTreeClassifier)
    with pytest.raises(ValueError, match="y_val has the class 7, which y does not have"):
        model.fit(X, y, X_val=X, y_val=np.where(y == 2, 7, y))
    with pytest.raises(ValueError, match="y_val has the class '0', which y does not have"):
        model.fit(X, y, X_val=X, y_val=y.astype(str))
    with pytest.raises(ValueError, match="y_val has 2 targets, but y has 1"):
        small(SoftTreeRegressor).fit(X, y, X_val=X, y_val=np.column_stack([y, y]))
    with pytest.raises(ValueError, match="NaN"):
        small(SoftTreeRegressor).fit(X, y, X_val=X, y_val=np.full(len(X), np.nan))
    with pytest.raises(ValueError, match="leave no row of X_val"):
        small(SoftTreeClassifier, class_weight={0: 1, 1: 1, 2: 0}).fit(X, y, X_val=X[y == 2], y_val=y[y == 2])


# ------------------------------------------------------------------ odd data


@both
@pytest.mark.parametrize("start", ["paper", "random"])
@pytest.mark.parametrize(("X", "y"), ODD.values(), ids=ODD)
def test_odd_data(model_class, start, X, y):
    X, y = np.array(X), np.array(y)
    for refine in (False, True):
        model = small(model_class, init=start, refine=refine).fit(X, y)
        found = answer(model, X)
        assert np.isfinite(found).all()
        assert model.predict(X).shape == (len(X),)
        assert np.isfinite(model.input_gradient(X)).all()
        assert model.feature_importances_.sum() == pytest.approx(1.0 if model.get_n_leaves() > 1 else 0.0)
        if is_classifier(model):
            np.testing.assert_allclose(found.sum(axis=1), 1.0)


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


# ------------------------------------------------------------------ telling, and interrupts


@both
def test_progress_is_told_when_asked(model_class, capsys):
    X, y = problem(model_class)
    model = small(model_class, verbose=2, refine=True).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    reported = [*lines_of(model, "grow"), *lines_of(model, "refine")]
    for line, step in zip(lines, reported, strict=True):
        number = f"trial {step['iteration']}" if step["stage"] == "grow" else f"pass {step['iteration']} of 200"
        assert line.startswith(f"[{model_class.__name__}] {number}, ")
        assert f"validation loss {step['validation_loss']:.5g}, " in line
        assert f", {step['n_leaves']} leaves, " in line
    small(model_class, refine=True).fit(X, y)
    assert capsys.readouterr().out == ""
    small(model_class, verbose=1, refine=True).fit(X, y)
    assert len(capsys.readouterr().out.splitlines()) < len(lines)


def interrupted(model, X, y):
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    return model


@both
@pytest.mark.parametrize("after", [1, 2, 5])
def test_an_interrupt_leaves_the_splits_kept_so_far(model_class, after):
    require_callbacks()
    X, y = problem(model_class)
    model = small(model_class)
    model.set_callbacks(Recorder(after, then=interrupt))
    interrupted(model, X, y)
    assert len(lines_of(model, "grow")) == after
    assert model.get_n_leaves() == model.history_[-1]["n_leaves"]
    assert model.history_ == small(model_class).fit(X, y).history_[: after + 1]
    assert np.isfinite(answer(model, X)).all()
    again = pickle.loads(pickle.dumps(model.tree_))
    assert_same_tree(again, model.tree_)


@both
def test_an_interrupt_within_a_descent(model_class, monkeypatch):
    X, y = problem(model_class)
    train_split, numbers = growing._Grower.train_split, iter(range(100))

    def stop(*arguments):
        if next(numbers) == 2:
            raise KeyboardInterrupt
        return train_split(*arguments)

    monkeypatch.setattr(growing._Grower, "train_split", stop)
    model = interrupted(small(model_class), X, y)
    assert model.get_n_leaves() == 1 + sum(trial["kept"] for trial in lines_of(model, "grow"))
    assert np.isfinite(answer(model, X)).all()
    monkeypatch.undo()
    np.testing.assert_array_equal(
        answer(model.fit(X, y), X), answer(small(model_class).fit(X, y), X)
    )  # and it can be fitted again


@both
def test_an_interrupt_before_the_first_split_leaves_a_constant(model_class, monkeypatch):
    def stop(*arguments):
        raise KeyboardInterrupt

    X, y = problem(model_class)
    monkeypatch.setattr(growing._Grower, "train_split", stop)
    model = interrupted(small(model_class), X, y)
    assert model.get_n_leaves() == 1
    assert np.ptp(answer(model, X), axis=0) == pytest.approx(0.0)


@both
@pytest.mark.parametrize("after", [1, 4])
def test_an_interrupt_of_the_joint_pass_keeps_the_best_so_far(model_class, after, monkeypatch):
    X, y = problem(model_class)
    refine_pass, numbers = refining.loop.refine_pass, iter(range(100))

    def stop(*arguments):
        if next(numbers) == after:
            raise KeyboardInterrupt
        return refine_pass(*arguments)

    monkeypatch.setattr(refining.loop, "refine_pass", stop)
    model = interrupted(small(model_class, refine=True, max_leaf_nodes=4), X, y)
    monkeypatch.undo()
    expected = small(model_class, refine=True, refine_max_iter=after, max_leaf_nodes=4).fit(X, y)
    if model_class is SoftTreeRegressor:  # an interrupt comes before the values are fitted to all rows
        assert np.array_equal(model.tree_.weights, expected.tree_.weights)
    else:
        assert_same_tree(model.tree_, expected.tree_)
