"""Soft trees as a user meets them: scikit-learn's contract, every parameter, odd data, copies, text, interrupts."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from softwood import SoftTreeClassifier, SoftTreeRegressor, export_text
from softwood.gradient import growing, refining
from tests.callbacks import Recorder, interrupt
from tests.gradient.soft_trees import BOTH, answer, assert_same_tree, lines_of, problem, refine_losses, small

both = pytest.mark.parametrize("model_class", BOTH)


@parametrize_with_checks([model_class() for model_class in BOTH])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# ------------------------------------------------------------------ every parameter

WRONG = {
    "init": ["soft", None, 1],
    "init_slope": [0.0, -1.0, None, np.inf],
    "learning_rate": [0.0, -0.1, None, np.nan, "fast"],
    "n_learning_rates": [0, -1, 2.0, None, True],
    "learning_rate_decay": [0.0, 1.5, None],
    "max_iter": [0, 2.5, None],
    "n_iter_no_change": [0, 1.5, None],
    "select": ["test", None, True],
    "validation_fraction": [0.0, 0.95, 3, None],
    "growth": ["best", None],
    "max_depth": [0, 2.0, True],
    "max_leaf_nodes": [1, 2.5, True],
    "min_gain": [-0.1, 1.5, None],
    "l1_regularization": [-1.0, None, np.inf],
    "l2_regularization": [-1.0, None, "x"],
    "refine": [1, None, "yes"],
    "refine_max_iter": [0, 1.5, None],
    "refine_learning_rate": [0.0, -1.0, None],
    "categorical_features": ["all", [5], ["x"]],
    "handle_unknown": ["ignore", None, True],
    "verbose": [-1, 0.5, None],
}


@both
@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_wrong_values_are_told_by_name(model_class, name, value):
    X, y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]
    with pytest.raises(ValueError, match=f"'{name}' parameter of {model_class.__name__} must be .* Got .* instead"):
        model_class(**{name: value}).fit(X, y)


def test_every_parameter_is_looked_at():
    for model_class in BOTH:
        assert set(model_class().get_params()) - {"random_state", "class_weight"} == set(WRONG)
    for value in ("heavy", 3, [1, 2]):
        with pytest.raises(ValueError, match="'class_weight' parameter of SoftTreeClassifier"):
            SoftTreeClassifier(class_weight=value).fit([[0.0], [1.0]], [0, 1])


EFFECTS = {
    "init": "random",
    "init_slope": 4.0,
    "learning_rate": 0.02,
    "n_learning_rates": 1,
    "learning_rate_decay": 0.3,
    "max_iter": 1,
    "n_iter_no_change": 1,
    "select": "training",
    "validation_fraction": 0.6,
    "growth": "depth",
    "max_depth": 1,
    "max_leaf_nodes": 2,
    "min_gain": 0.3,
    "l1_regularization": 0.05,
    "l2_regularization": 0.05,
    "refine": True,
    "categorical_features": [3],
    "random_state": 7,
}


@both
@pytest.mark.parametrize("name", EFFECTS)
def test_every_parameter_has_an_effect(model_class, name):
    X, y = problem(model_class, n=400, n_classes=2)
    X[:, 3] = np.round(X[:, 3])
    y = y + X[:, 3] if model_class is SoftTreeRegressor else y ^ (X[:, 3] == 1)
    base = {"min_gain": 0.0}
    if name == "n_iter_no_change":
        base |= {"max_iter": 25, "learning_rate_decay": 1.0, "init": "random"}  # its losses go up and down
    before, after = (small(model_class, **{**base, **given}).fit(X, y) for given in ({}, {name: EFFECTS[name]}))
    assert before.get_n_leaves() > 3
    assert np.abs(answer(before, X) - answer(after, X)).max() > 1e-3


@both
@pytest.mark.parametrize(("name", "value"), [("refine_max_iter", 1), ("refine_learning_rate", 0.001)])
def test_parameters_of_the_joint_pass_have_an_effect(model_class, name, value):
    X, y = problem(model_class, n=200, n_classes=2)
    before, after = (small(model_class, refine=True, max_iter=1, **given).fit(X, y) for given in ({}, {name: value}))
    assert refine_losses(before) != refine_losses(after)


@both
def test_limits_hold(model_class):
    X, y = problem(model_class, n=200)
    assert small(model_class, max_depth=2).fit(X, y).get_depth() == 2
    assert small(model_class, max_leaf_nodes=5).fit(X, y).get_n_leaves() == 5


@both
def test_fit_changes_no_parameter(model_class):
    X, y = problem(model_class)
    model = small(model_class, categorical_features=[1], random_state=np.random.RandomState(0))
    before = {name: value for name, value in model.get_params().items() if name != "random_state"}
    model.fit(np.round(X), y)
    after = model.get_params()
    assert all(after[name] is value for name, value in before.items())


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


@both
def test_wrong_validation_rows(model_class):
    X, y = problem(model_class)
    model = small(model_class)
    for given in ({"X_val": X}, {"y_val": y}):
        with pytest.raises(ValueError, match="X_val and y_val must be given together"):
            model.fit(X, y, **given)
    with pytest.raises(ValueError, match="sample_weight_val is given without X_val and y_val"):
        model.fit(X, y, sample_weight_val=np.ones(len(X)))
    with pytest.raises(ValueError, match="X_val has 150 rows, but y_val has 10"):
        model.fit(X, y, X_val=X, y_val=y[:10])
    with pytest.raises(ValueError, match="3 features"):
        model.fit(X, y, X_val=X[:, :3], y_val=y)
    with pytest.raises(ValueError, match=r"leave no row of X_val with a weight above zero"):
        model.fit(X, y, X_val=X, y_val=y, sample_weight_val=np.zeros(len(X)))
    with pytest.raises(ValueError, match="sample_weight_val must hold finite numbers of at least 0"):
        model.fit(X, y, X_val=X, y_val=y, sample_weight_val=-np.ones(len(X)))


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


def test_validation_rows_may_lack_classes():
    X, y = problem(SoftTreeClassifier)
    words = np.array(["c", "a", "b"])[y]
    part = words != "b"
    model = small(SoftTreeClassifier).fit(X, words, X_val=X[part], y_val=words[part])
    assert model.get_n_leaves() > 1
    assert model.score(X[part], words[part]) > 0.7


# ------------------------------------------------------------------ odd data

ODD = {
    "single row": ([[1.0, 2.0]], [1]),
    "two rows": ([[0.0, 1.0], [1.0, 1.0]], [0, 1]),
    "two equal rows": ([[0.0, 1.0], [0.0, 1.0]], [0, 1]),
    "three rows": ([[0.0, 1.0], [1.0, np.nan], [2.0, 0.0]], [0, 1, 1]),
    "one class": (np.arange(20.0).reshape(10, 2), np.ones(10)),
    "a class for each row": (np.arange(20.0).reshape(10, 2), np.arange(10)),
    "constant columns": (np.full((10, 2), 3.0), [0, 1] * 5),
    "duplicates": (np.repeat([[0.0, 1.0], [1.0, 0.0]], 20, axis=0), np.repeat([0, 1], 20)),
    "contradicting duplicates": (np.zeros((40, 2)), np.arange(40) % 2),
    "all missing": (np.full((10, 2), np.nan), [0, 1] * 5),
    "smallest numbers": (np.arange(20.0).reshape(10, 2) * 5e-324, [0, 1] * 5),
    "largest numbers": (np.array([[1.7e308, -1.7e308], [-1.7e308, 1.7e308]] * 5), [0, 1] * 5),
}


@both
@pytest.mark.parametrize("start", ["hard", "paper", "random"])
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


@both
def test_what_is_plain_is_learned(model_class):
    for name in ("duplicates", "largest numbers"):
        X, y = (np.array(part) for part in ODD[name])
        X, y = np.tile(X, (4, 1)), np.tile(y, 4)
        assert np.abs(small(model_class, max_iter=25).fit(X, y).predict(X) - y).max() < 0.2
    X, y = (np.array(part) for part in ODD["contradicting duplicates"])
    assert answer(small(model_class).fit(X, y), X) == pytest.approx(0.5)


# ------------------------------------------------------------------ the finished model


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_gradient_is_the_slope_of_the_prediction(n_classes):
    model_class = SoftTreeClassifier if n_classes else SoftTreeRegressor
    X, y = problem(model_class, n_classes=n_classes)
    model = small(model_class).fit(X, y)
    rows, step = np.random.default_rng(1).normal(size=(20, 4)), 1e-5
    gradient = model.input_gradient(rows)
    assert gradient.shape == (20, n_classes or 1, 4)
    for j in range(4):
        move = step * np.eye(4)[j]
        slope = (answer(model, rows + move) - answer(model, rows - move)).reshape(20, -1) / (2 * step)
        np.testing.assert_allclose(gradient[:, :, j], slope, atol=1e-7)
    assert np.abs(gradient).max() > 0.1
    if n_classes:
        np.testing.assert_allclose(gradient.sum(axis=1), 0.0, atol=1e-12)


@both
def test_copies(model_class):
    X, y = problem(model_class)
    model = small(model_class).fit(X, y)
    expected = answer(model, X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(answer(again, X), expected)
    assert_same_tree(again.tree_, model.tree_)
    X_gone = np.where(np.arange(4) == 1, np.nan, X)
    np.testing.assert_array_equal(answer(again, X_gone), answer(model, X_gone))
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    for attribute in ("tree_", "history_"):
        assert not hasattr(fresh, attribute)
    for call in (fresh.predict, fresh.apply, fresh.memberships, fresh.harden):
        with pytest.raises(NotFittedError):
            call(X) if call != fresh.harden else call()
    np.testing.assert_array_equal(answer(fresh.fit(X, y), X), expected)


def test_in_pipelines_and_searches():
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), small(SoftTreeClassifier))
    search = GridSearchCV(pipeline, {"softtreeclassifier__init": ["hard", "random"]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9


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
    told = [*lines_of(model, "grow"), *lines_of(model, "refine")]
    for line, step in zip(lines, told, strict=True):
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
