"""The complete soft tree on streams: parameters, shape, and the tree behind it."""

import numpy as np
import pytest

from softwood import export_text
from softwood.inspect.nodes import node_table
from softwood.stream import SEA
from tests.stream.asserts import assert_wrong_values_are_told_by_name
from tests.stream.test_model import COMPLETE, SmoothStepTreeClassifier, answer, learn, problem, small
from tests.stream.test_soft_hoeffding import check_snapshot

both = pytest.mark.parametrize("model_class", COMPLETE)

POSITIVE = [0.0, -1.0, None, np.nan, np.inf, "x", True]
WRONG = {
    "max_depth": [0, 13, -1, 2.0, None, "x", True],
    "gamma": POSITIVE,
    "learning_rate": POSITIVE,
    "bias": [0, None, "yes"],
    "batch_size": [0, -1, 2.0, None, True],
    "scaler_memory": [0.5, np.nan, "x"],
    "categorical_features": ["all", [5], ["x"]],
}


@both
@pytest.mark.parametrize("name", WRONG)
def test_wrong_values_are_told_by_name(model_class, name):
    assert_wrong_values_are_told_by_name(model_class, name, WRONG[name])


@both
def test_every_parameter_is_looked_at(model_class):
    assert set(model_class().get_params()) - {"class_weight", "random_state"} == set(WRONG)


EFFECTS = {
    "max_depth": 2, "gamma": 2.0, "learning_rate": 0.1, "bias": True, "batch_size": 5, "scaler_memory": 30.0,
    "random_state": 7,
}  # fmt: skip


@both
@pytest.mark.parametrize("name", EFFECTS)
def test_every_parameter_has_an_effect(model_class, name):
    X, y = problem(model_class)
    before, after = (learn(small(model_class, **given), X, y) for given in ({}, {name: EFFECTS[name]}))
    assert not np.array_equal(answer(before, X), answer(after, X))


@both
@pytest.mark.parametrize("depth", [1, 4, 12])
def test_the_tree_is_complete_and_stays_so(model_class, depth):
    X, y = problem(model_class, n=100)
    model = learn(small(model_class, max_depth=depth), X[:1], y[:1], **(
        {"classes": np.unique(y)} if model_class is SmoothStepTreeClassifier else {}
    ))  # fmt: skip
    size = model.nbytes_
    learn(model, X, y)
    assert model.get_n_leaves() == 2**depth
    assert model.get_depth() == depth
    assert model.nbytes_ == size
    assert model.log_ == []


@both
def test_bias(model_class):
    X, y = problem(model_class, n=1000)
    model = learn(small(model_class, bias=True), X + 3.0, y)
    check_snapshot(model, X[:100] + 3.0)


@both
def test_text_and_tables(model_class):
    X, y = problem(model_class, n=1000)
    model = learn(small(model_class, max_depth=2), X, y)
    assert len(export_text(model).splitlines()) == len(node_table(model)["node"]) == 7
    assert str(model.tree_)
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_it_learns_a_stream():
    X, y = SEA(seed=0).take(8000)
    predictions = SmoothStepTreeClassifier(random_state=0).test_then_train(X, y, classes=[0, 1])
    assert np.mean(predictions.argmax(axis=1)[2000:] == y[2000:]) > 0.94
