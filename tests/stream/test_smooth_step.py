"""The complete soft tree on streams: shape, and the tree behind it."""

import numpy as np
import pytest

from softwood.stream import SEA
from tests.stream.test_model import COMPLETE, SmoothStepTreeClassifier, learn, problem, small
from tests.stream.test_soft_hoeffding import check_snapshot

both = pytest.mark.parametrize("model_class", COMPLETE)


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


def test_it_learns_a_stream():
    X, y = SEA(seed=0).take(8000)
    predictions = SmoothStepTreeClassifier(random_state=0).test_then_train(X, y, classes=[0, 1])
    assert np.mean(predictions.argmax(axis=1)[2000:] == y[2000:]) > 0.94
