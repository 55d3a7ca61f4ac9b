"""One-stage, budding and end-to-end trees as a user meets them: contract, parameters, tables, odd data, interrupts."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from softwood import OneStageTreeClassifier, OneStageTreeRegressor, export_text
from softwood.gradient import budding, end_to_end, one_stage, one_stage_training
from tests.gradient.soft_trees import answer, assert_same_tree
from tests.gradient.staged_trees import (
    ALL,
    BUDDING,
    CLASSIFIERS,
    END_TO_END,
    ONE_STAGE,
    REGRESSORS,
    problem,
    small,
    validation_losses,
)

every = pytest.mark.parametrize("model_class", ALL)
classifiers = pytest.mark.parametrize("model_class", CLASSIFIERS)
regressors = pytest.mark.parametrize("model_class", REGRESSORS)
one_stage_both = pytest.mark.parametrize("model_class", ONE_STAGE)


@parametrize_with_checks([model_class() for model_class in ALL])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


# ------------------------------------------------------------------ every parameter


def with_parameters(names):
    """Each model with each of the names that it has as a parameter."""
    return [(model_class, name) for model_class in ALL for name in names if name in model_class().get_params()]


POSITIVE = [0.0, -1.0, None, np.nan, np.inf, "x"]
NOT_NEGATIVE = [-0.1, None, np.inf, "x"]
COUNT = [0, -1, 2.0, None, True]
WRONG = {
    "architecture": ["best", None, 1],
    "max_depth": [*COUNT, 17],
    "init": ["hard", None, True],
    "learning_rate": POSITIVE,
    "batch_size": COUNT,
    "max_iter": COUNT,
    "n_iter_no_change": COUNT,
    "warm_up": [-1, 1.5, None],
    "architecture_learning_rate": NOT_NEGATIVE,
    "bud_learning_rate": POSITIVE,
    "level_max_iter": COUNT,
    "steepness": [0.5, -1.0, None, np.inf],
    "split_cost": NOT_NEGATIVE,
    "prior": POSITIVE,
    "l1_regularization": NOT_NEGATIVE,
    "l2_regularization": NOT_NEGATIVE,
    "validation_fraction": [0.0, 0.95, 3, None],
    "warm_start": [1, None, "yes"],
    "categorical_features": ["all", [5], ["x"]],
    "handle_unknown": ["ignore", None, True],
    "verbose": [-1, 0.5, None],
}


@pytest.mark.parametrize(("model_class", "name"), with_parameters(WRONG))
def test_wrong_values_are_told_by_name(model_class, name):
    X, y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]
    for value in WRONG[name]:
        with pytest.raises(ValueError, match=f"'{name}' parameter of {model_class.__name__} must be .* Got .* instead"):
            model_class(**{name: value}).fit(X, y)


@every
def test_every_parameter_is_looked_at(model_class):
    assert set(model_class().get_params()) - {"random_state", "class_weight"} <= set(WRONG)


@classifiers
def test_wrong_class_weights(model_class):
    for value in ("heavy", 3, [1, 2]):
        with pytest.raises(ValueError, match=f"'class_weight' parameter of {model_class.__name__}"):
            model_class(class_weight=value).fit([[0.0], [1.0]], [0, 1])


EFFECTS = {
    "architecture": "joint",
    "max_depth": 1,
    "init": "random",
    "learning_rate": 0.03,
    "batch_size": 7,
    "max_iter": 1,
    "n_iter_no_change": 1,
    "warm_up": 0,
    "architecture_learning_rate": 0.0,
    "bud_learning_rate": 0.01,
    "level_max_iter": 1,
    "steepness": 1.0,
    "split_cost": 0.1,
    "prior": 20.0,
    "l1_regularization": 0.05,
    "l2_regularization": 0.05,
    "validation_fraction": 0.6,
    "random_state": 7,
}


@pytest.mark.parametrize(("model_class", "name"), with_parameters(EFFECTS))
def test_every_parameter_has_an_effect(model_class, name):
    X, y = problem(model_class, n=200, n_classes=2)
    start = small(model_class, max_iter=150 if name == "n_iter_no_change" else 40)
    if name in ("warm_up", "architecture_learning_rate"):
        start.set_params(split_cost=0.05)  # so that the shape is trained away from the complete tree
    before, after = (clone(start).set_params(**given).fit(X, y) for given in ({}, {name: EFFECTS[name]}))
    assert before.history_ != after.history_


@every
def test_fit_changes_no_parameter(model_class):
    X, y = problem(model_class)
    model = small(model_class, categorical_features=[1], random_state=np.random.RandomState(0))
    before = {name: value for name, value in model.get_params().items() if name != "random_state"}
    model.fit(np.round(X), y)
    after = model.get_params()
    assert all(after[name] is value for name, value in before.items())


@every
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_depth_is_a_limit(model_class, depth):
    X, y = problem(model_class, n=200)
    model = small(model_class, max_depth=depth).fit(X, y)
    # a node of a budding tree that is partly a leaf is there as two
    assert 1 <= model.get_depth() <= (2 * depth if model_class in BUDDING else depth)


# ------------------------------------------------------------------ rows given to validate on


@every
def test_validation_rows_may_be_given(model_class):
    X, y = problem(model_class)
    X_val, y_val = problem(model_class, seed=1)
    model = small(model_class).fit(X, y, X_val=X_val, y_val=y_val)
    assert model.get_n_leaves() > 1
    assert model.tree_.mass[0] == pytest.approx(len(X))
    other = small(model_class).fit(X, y, X_val=X_val, y_val=np.roll(y_val, 1))
    assert model.history_ != other.history_
    if model_class not in BUDDING:  # values are those of all rows
        assert small(model_class).fit(X, y).tree_.mass[0] == pytest.approx(len(X))


@every
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
    if is_classifier(model):
        with pytest.raises(ValueError, match="y_val has the class 7, which y does not have"):
            model.fit(X, y, X_val=X, y_val=np.where(y == 2, 7, y))


@classifiers
def test_validation_rows_may_lack_classes(model_class):
    X, y = problem(model_class, n=300)
    words = np.array(["c", "a", "b"])[y]
    part = words != "b"
    model = small(model_class, max_iter=60).fit(X, words, X_val=X[part], y_val=words[part])
    assert model.score(X[part], words[part]) > 0.5


# ------------------------------------------------------------------ targets


@regressors
def test_several_targets(model_class):
    X, y = problem(model_class, n=300)
    Y = np.column_stack([y, -2 * y])
    model = small(model_class, max_depth=4, max_iter=40).fit(X, Y)
    assert model.predict(X).shape == (300, 2)
    assert model.n_outputs_ == 2
    scores = 1 - ((model.predict(X) - Y) ** 2).mean(axis=0) / Y.var(axis=0)
    assert scores.min() > 0.3
    assert scores[0] == pytest.approx(scores[1], abs=0.02)
    column = small(model_class).fit(X, y[:, None])
    assert column.predict(X).shape == (300, 1)
    np.testing.assert_array_equal(column.predict(X)[:, 0], small(model_class).fit(X, y).predict(X))


@classifiers
def test_balanced_classes(model_class):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [1024, 128])
    X = rng.normal(size=(1152, 2)) + 1.2 * y[:, None]
    plain, balanced = (small(model_class, class_weight=w, max_iter=30).fit(X, y) for w in (None, "balanced"))
    recall = [np.mean(model.predict(X)[y == 1]) for model in (plain, balanced)]
    assert recall[1] > recall[0] + 0.1
    by_hand = small(model_class, class_weight={0: 1152 / 2048, 1: 1152 / 256}, max_iter=30).fit(X, y)
    np.testing.assert_array_equal(answer(balanced, X), answer(by_hand, X))


@classifiers
def test_classes_of_weight_zero_do_not_count(model_class):
    X, y = problem(model_class)
    model = small(model_class, class_weight={0: 1.0, 1: 1.0, 2: 0.0}).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2]
    assert 2 not in model.predict(X)
    with pytest.raises(ValueError, match="class_weight is zero for all classes"):
        small(model_class, class_weight={0: 0, 1: 0, 2: 0}).fit(X, y)


@classifiers
@pytest.mark.parametrize("n_classes", [2, 3])
def test_fuzzy_labels(model_class, n_classes):
    X, y = problem(model_class, n=400, n_classes=n_classes)
    sharp = (y[:, None] == np.arange(n_classes)).astype(float)
    one, other = small(model_class).fit(X, y), small(model_class).fit(X, sharp)
    assert_same_tree(one.tree_, other.tree_)
    blurred = 0.5 * sharp + 0.5 / n_classes
    sure, unsure = (small(model_class, max_iter=40).fit(X, shares) for shares in (sharp, blurred))
    assert np.mean(unsure.predict(X) == y) > 1 / n_classes + 0.1
    truth, less = (np.mean(answer(model, X)[np.arange(400), y]) for model in (sure, unsure))
    assert less < truth
    with pytest.raises(ValueError, match="class_weight needs class labels"):
        small(model_class, class_weight="balanced").fit(X, blurred)


# ------------------------------------------------------------------ tables


def frame(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "size": rng.normal(size=n), "city": rng.choice(["Oslo", "Rome", "Lima"], size=n),
        "kind": pd.Categorical(rng.choice(["a", "b"], size=n)), "age": rng.uniform(20, 80, size=n),
    })  # fmt: skip
    signal = X["size"] + 2.0 * (X["city"] == "Rome") - (X["kind"] == "a") + 0.1 * rng.normal(size=n)
    return X, signal


@every
def test_categories(model_class):
    X, signal = frame()
    y = np.where(signal > 0, "up", "down") if is_classifier(model_class()) else signal
    model = small(model_class, max_depth=4, max_iter=40).fit(X, y)
    assert model.score(X, y) > 0.75
    assert model.columns_.names == ("size", "city=Lima", "city=Oslo", "city=Rome", "kind=b", "age")
    importances = dict(zip(X.columns, model.feature_importances_, strict=True))
    assert importances["city"] > importances["age"]
    assert np.array_equal(model.predict(X.assign(city="Bern")), model.predict(X.assign(city=None)))


@every
def test_missing_values_count_as_the_mean(model_class):
    X, signal = frame()
    y = (signal > 0).astype(int) if is_classifier(model_class()) else signal
    X.loc[:30, "city"] = None
    X.loc[20:50, "size"] = np.nan
    model = small(model_class, max_depth=4, max_iter=40).fit(X, y)
    assert np.isfinite(answer(model, X)).all()
    assert model.score(X[51:], y[51:]) > 0.6
    gone = X.assign(size=np.nan)
    mean = model._scaling_.center[0]
    np.testing.assert_array_equal(answer(model, gone), answer(model, X.assign(size=mean)))


# ------------------------------------------------------------------ odd data

ODD = {
    "single row": ([[1.0, 2.0]], [1]),
    "two rows": ([[0.0, 1.0], [1.0, 1.0]], [0, 1]),
    "two equal rows": ([[0.0, 1.0], [0.0, 1.0]], [1, 1]),
    "two equal rows of two classes": ([[0.0, 1.0], [0.0, 1.0]], [0, 1]),
    "three rows": ([[0.0, 1.0], [1.0, np.nan], [2.0, 0.0]], [0, 1, 1]),
    "one class": (np.arange(20.0).reshape(10, 2), np.ones(10)),
    "a class for each row": (np.arange(20.0).reshape(10, 2), np.arange(10)),
    "constant columns": (np.full((10, 2), 3.0), [0, 1] * 5),
    "duplicates": (np.repeat([[0.0, 1.0], [1.0, 0.0]], 20, axis=0), np.repeat([0, 1], 20)),
    "contradicting duplicates": (np.zeros((40, 2)), np.arange(40) % 2),
    "all missing": (np.full((10, 2), np.nan), [0, 1] * 5),
    "smallest numbers": (np.arange(20.0).reshape(10, 2) * 5e-324, [0, 1] * 5),
    "largest numbers": (np.array([[1.7e308, -1.7e308], [-1.7e308, 1.7e308]] * 5), [0, 1] * 5),
    "all scales": (np.array([[0.0, 1e300], [1e-300, 1.0], [1e300, -1e300], [1.0, 0.0]] * 8), [0, 1, 1, 0] * 8),
}
WAYS = [{}, {"architecture": "joint"}, {"architecture": "gumbel", "warm_up": 0}, {"init": "random"}]
ODD_MODELS = [(m, way) for m in ALL for way in (WAYS if m in ONE_STAGE else [{}])]


@pytest.mark.parametrize(("model_class", "way"), ODD_MODELS)
@pytest.mark.parametrize(("X", "y"), ODD.values(), ids=ODD)
def test_odd_data(model_class, way, X, y):
    X, y = np.array(X), np.array(y)
    model = small(model_class, **way).fit(X, y)
    found = answer(model, X)
    assert np.isfinite(found).all()
    assert model.predict(X).shape == (len(X),)
    assert model.feature_importances_.sum() == pytest.approx(1.0) or not model.feature_importances_.any()
    if model_class not in BUDDING:
        assert model.tree_.mass[0] == pytest.approx(len(X))
    if is_classifier(model):
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert found.min() >= 0.0


@every
def test_what_is_plain_is_learned(model_class):
    for name in ("duplicates", "largest numbers"):
        X, y = (np.array(part) for part in ODD[name])
        X, y = np.tile(X, (4, 1)), np.tile(y, 4)
        assert np.abs(small(model_class, max_iter=200).fit(X, y).predict(X) - y).max() < 0.2
    X, y = (np.array(part) for part in ODD["contradicting duplicates"])
    assert answer(small(model_class).fit(X, y), X) == pytest.approx(0.5, abs=0.02)


# ------------------------------------------------------------------ the finished model


@every
def test_copies(model_class):
    X, y = problem(model_class)
    model = small(model_class).fit(X, y)
    expected = answer(model, X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(answer(again, X), expected)
    assert_same_tree(again.tree_, model.tree_)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert not hasattr(fresh, "tree_")
    for call in (fresh.predict, fresh.apply, fresh.memberships):
        with pytest.raises(NotFittedError):
            call(X)
    np.testing.assert_array_equal(answer(fresh.fit(X, y), X), expected)


@classifiers
def test_in_pipelines_and_searches(model_class):
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), small(model_class, max_iter=150))
    search = GridSearchCV(pipeline, {f"{model_class.__name__.lower()}__max_depth": [2, 3]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8


@every
def test_text(model_class):
    X, y = problem(model_class)
    model = small(model_class, max_depth=2).fit(X, y)
    assert len(export_text(model).splitlines()) == model.tree_.n_nodes


# ------------------------------------------------------------------ telling, and interrupts


@every
def test_progress_is_told_when_asked(model_class, capsys):
    X, y = problem(model_class)
    model = small(model_class, verbose=2).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    for line, step in zip(lines, [line for line in model.history_ if line["iteration"] > 0], strict=True):
        number = f"level {step['iteration']} of 3" if step["stage"] == "levels" else f"pass {step['iteration']} of 10"
        assert line.startswith(f"[{model_class.__name__}] {number}, train loss {step['train_loss']:.5g}, ")
        assert f"validation loss {step['validation_loss']:.5g}, {step['n_leaves']} leaves, " in line
    small(model_class).fit(X, y)
    assert capsys.readouterr().out == ""
    small(model_class, verbose=1).fit(X, y)
    assert len(capsys.readouterr().out.splitlines()) < len(lines)


@one_stage_both
def test_progress_of_a_warm_start(model_class, capsys):
    X, y = problem(model_class)
    model = small(model_class, warm_start=True, max_iter=2, verbose=2).fit(X, y)
    capsys.readouterr()
    model.fit(X, y)
    assert [line.split(", ")[0].split("] ")[1] for line in capsys.readouterr().out.splitlines()] == [
        "pass 3 of 4", "pass 4 of 4",
    ]  # fmt: skip


def stop_after(monkeypatch, module, name, after):
    """The loop of this name is interrupted when it is called for the next time."""
    run, numbers = getattr(module, name), iter(range(1000))

    def stop(*arguments):
        if next(numbers) == after:
            raise KeyboardInterrupt
        return run(*arguments)

    monkeypatch.setattr(module, name, stop)


@one_stage_both
@pytest.mark.parametrize("architecture", ["proximal", "joint", "gumbel"])
@pytest.mark.parametrize("after", [0, 1, 6])
def test_an_interrupt_leaves_the_best_pass_so_far(model_class, architecture, after, monkeypatch):
    X, y = problem(model_class)
    stop_after(monkeypatch, one_stage_training.loop, "train_pass", after)
    model = small(model_class, architecture=architecture, learning_rate=0.01)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    assert len(model.history_) == after + 1
    assert np.isfinite(answer(model, X)).all()
    assert model.tree_.mass[0] == pytest.approx(len(X))
    if after:
        for last in ("prune", "settle"):  # what comes after training is not done
            monkeypatch.setattr(one_stage, last, lambda *arguments: None)
        expected = small(model_class, architecture=architecture, learning_rate=0.01, max_iter=after).fit(X, y)
        assert_same_tree(model.tree_, expected.tree_)
        assert model.history_ == expected.history_
        monkeypatch.undo()
    model.fit(X, y)  # and it can be fitted again
    fresh = small(model_class, architecture=architecture, learning_rate=0.01).fit(X, y)
    assert_same_tree(model.tree_, fresh.tree_)


@one_stage_both
@pytest.mark.parametrize("after", [10, 12])
def test_an_interrupt_while_the_pruned_tree_settles(model_class, after, monkeypatch):
    X, y = problem(model_class)
    stop_after(monkeypatch, one_stage_training.loop, "train_pass", after)
    model = small(model_class)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    whole = small(model_class).fit(X, y)
    assert model.history_ == whole.history_
    assert len(model.history_) == 11
    assert np.array_equal(model.tree_.children_left, whole.tree_.children_left)
    assert np.isfinite(answer(model, X)).all()


@one_stage_both
def test_an_interrupted_fit_can_be_continued(model_class, monkeypatch):
    X, y = problem(model_class)
    model = small(model_class, warm_start=True)
    stop_after(monkeypatch, one_stage_training.loop, "train_pass", 3)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    before = min(validation_losses(model))
    model.fit(X, y)
    assert len(model.history_) > 5
    assert min(validation_losses(model)) <= before


@pytest.mark.parametrize("model_class", BUDDING)
@pytest.mark.parametrize("after", [0, 1, 6])
def test_an_interrupt_of_a_budding_tree(model_class, after, monkeypatch):
    X, y = problem(model_class)
    stop_after(monkeypatch, budding.loop, "budding_pass", after)
    model = small(model_class)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    assert len(model.history_) == after + 1
    assert np.isfinite(answer(model, X)).all()
    if after:
        assert_same_tree(model.tree_, small(model_class, max_iter=after).fit(X, y).tree_)


@pytest.mark.parametrize("model_class", END_TO_END)
@pytest.mark.parametrize(("after", "n_levels"), [(3, 1), (5, 1), (6, 2), (8, 2)])
def test_an_interrupt_of_an_end_to_end_tree_leaves_the_levels_that_are_done(model_class, after, n_levels, monkeypatch):
    X, y = problem(model_class)
    stop_after(monkeypatch, end_to_end.loop, "maximise_pass", after)
    model = small(model_class)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    # the same gates as in a training that is stopped after the last pass of these levels
    stop_after(monkeypatch, end_to_end.loop, "maximise_pass", 3 * n_levels)
    expected = small(model_class)
    with pytest.raises(KeyboardInterrupt):
        expected.fit(X, y)
    monkeypatch.undo()
    assert_same_tree(model.tree_, expected.tree_)
    assert 0 < model.get_depth() <= n_levels
    assert [line["iteration"] for line in model.history_] == list(range(1, n_levels + 1))
    assert model.tree_.mass[0] == pytest.approx(len(X))
    assert np.isfinite(answer(model, X)).all()
    whole = small(model_class).fit(X, y)
    np.testing.assert_array_equal(answer(model.fit(X, y), X), answer(whole, X))  # and it can be fitted again


@pytest.mark.parametrize("model_class", END_TO_END)
@pytest.mark.parametrize("after", [0, 1, 6])
def test_an_interrupt_of_an_end_to_end_tree_leaves_the_best_pass_so_far(model_class, after, monkeypatch):
    X, y = problem(model_class)
    stop_after(monkeypatch, end_to_end.loop, "maximise_pass", 9 + after)  # three levels of three passes
    model = small(model_class, learning_rate=0.1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.undo()
    assert model.tree_.mass[0] == pytest.approx(len(X))
    assert np.isfinite(answer(model, X)).all()
    geomspace = np.geomspace
    monkeypatch.setattr(np, "geomspace", lambda *arguments: geomspace(*arguments)[:after])  # a training that ends there
    expected = small(model_class, learning_rate=0.1).fit(X, y)
    assert_same_tree(model.tree_, expected.tree_)
    assert model.history_ == expected.history_
    assert len(validation_losses(model)) == after + 1


@pytest.mark.parametrize("model_class", END_TO_END)
@pytest.mark.parametrize("after", [0, 2])
def test_an_interrupt_of_an_end_to_end_tree_before_it_has_a_level(model_class, after, monkeypatch):
    X, y = problem(model_class)
    stop_after(monkeypatch, end_to_end.loop, "maximise_pass", after)
    model = small(model_class)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "tree_")
    assert not hasattr(model, "history_")
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_which_models_there_are():
    assert len({*ONE_STAGE, *BUDDING, *END_TO_END}) == 6
    assert OneStageTreeClassifier().get_params().keys() - OneStageTreeRegressor().get_params() == {"class_weight"}
