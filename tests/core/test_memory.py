import numpy as np
import pytest

import softwood
from softwood.core import memory
from softwood.explanations import shapley_values


@pytest.fixture
def little(monkeypatch):
    """A machine with a mebibyte of free memory."""
    monkeypatch.setattr(memory, "_SMALL", 0)
    monkeypatch.setattr(memory, "_available", lambda: 2**20)


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).normal(size=(60, 40))
    return softwood.KernelTreeClassifier(bandwidth=0.2, max_depth=2).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))


def test_interactions_of_many_columns_are_refused_before_they_are_computed():
    X = np.random.default_rng(0).normal(size=(30, 20_000))
    wide = softwood.KernelTreeRegressor(bandwidth=0.2, max_depth=2).fit(X, X[:, 0])
    with pytest.raises(MemoryError, match=r"shapley_values with interactions=True needs 1,490\.\d GiB for 500 rows"):
        shapley_values(wide, np.broadcast_to(X[0], (500, 20_000)), interactions=True)


def test_numbers_and_ways_out_are_named(model, little):
    rows = np.zeros((600, 40))
    n_used = len(set(model.tree_.feature[model.tree_.feature >= 0].tolist()))
    with pytest.raises(MemoryError) as caught:
        shapley_values(model, rows, interactions=True)
    text = str(caught.value)
    assert "its result has the shape (600, 40, 40, 3)" in text
    assert "0.0 GiB of free memory" in text
    assert "pass at most 26 rows at a time, or set interactions=False, or fit the model to fewer columns" in text
    assert f"such as the {n_used} of 40 that it uses" in text
    with pytest.raises(MemoryError, match=r"^shapley_values needs .* shape \(2000, 40, 3\).*at most 1,092 rows"):
        shapley_values(model, np.zeros((2000, 40)))
    assert shapley_values(model, rows[:26], interactions=True).interactions.shape == (26, 40, 40, 3)


def test_not_even_one_row(model, little, monkeypatch):
    monkeypatch.setattr(memory, "_available", lambda: 1000)
    with pytest.raises(MemoryError, match=r"You can set interactions=False, or fit the model"):
        shapley_values(model, np.zeros((1, 40)), interactions=True)
    with pytest.raises(MemoryError, match=r"You can fit the model to fewer columns\.$"):
        model.input_gradient(np.zeros((1, 40)))


def test_gradients(model, little):
    rows = np.zeros((2000, 40))
    forest = softwood.SoftForest.mean([model.tree_])
    for call in (model.input_gradient, model.tree_.input_gradient, forest.input_gradient):
        with pytest.raises(MemoryError, match=r"^input_gradient needs .* for 2,000 rows.* shape \(2000, 3, 40\)"):
            call(rows)
        assert call(rows[:500]).shape == (500, 3, 40)


def test_memory_of_this_machine():
    found = memory._available()
    assert found is None or found > 2**20
