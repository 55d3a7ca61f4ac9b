import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from softwood import (
    BuddingTreeRegressor,
    EndToEndTreeRegressor,
    Gate,
    KernelTreeClassifier,
    LinearDiscriminantTreeClassifier,
    OneStageTreeRegressor,
    SoftTree,
    SoftTreeClassifier,
    SoftTreeRegressor,
)
from softwood.explanations import gate_contributions

FAMILIES = [
    BuddingTreeRegressor(random_state=0),
    EndToEndTreeRegressor(random_state=0, max_depth=2, max_iter=5),
    OneStageTreeRegressor(random_state=0, max_depth=3, max_iter=10),
    SoftTreeRegressor(random_state=0),
]


def _tree(**changes):
    """At the root 2 x0 - x1 + 1 > 0 goes left; right of it a sigmoid of x1."""
    columns = {
        "children_left": [1, -1, 3, -1, -1],
        "children_right": [2, -1, 4, -1, -1],
        "gate": [Gate.OBLIQUE, -1, Gate.SIGMOID, -1, -1],
        "weights": [[2, -1], [0, 0], [0, 1], [0, 0], [0, 0]],
        "bias": [1.0, 0, 0, 0, 0],
        "value": [0.0, 1.0, 2.0, 3.0, 4.0],
        "n_features": 2,
        "center": [1.0, 2.0],
    }
    return SoftTree.from_nodes(**(columns | changes))


X = np.array([[3.0, 3.0], [0.0, 4.0]])


def _table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=150),
            "city": rng.choice(["Rome", "Oslo", "Bonn"], size=150),
            "age": rng.normal(40, 10, size=150),
        }
    )
    frame.loc[3, "size"] = np.nan
    frame.loc[4, "city"] = None
    return frame, 2 * frame["size"].fillna(0) + (frame["city"] == "Rome") + 0.1 * frame["age"]


def test_by_hand():
    table = gate_contributions(_tree(), X)
    assert table["column"].tolist() == ["x[0]", "x[1]"]
    assert table["row"].tolist() == [0, 1, 1]
    assert table["node"].tolist() == [0, 0, 2]
    assert table["membership"].tolist() == [1, 1, 1]
    assert table["left"] == pytest.approx([1, 0, 1 / (1 + np.exp(-4))])
    assert table["offset"].tolist() == [1, 1, 2]
    assert table["contribution"].tolist() == [[4, -1], [-2, -2], [0, 2]]
    assert table["absolute"].tolist() == [[4, 1], [2, 2], [0, 2]]
    assert table["normalised"].tolist() == [[0.8, 0.2], [0.5, 0.5], [0, 1]]


def test_one_node_has_the_rows_that_reach_it():
    table = gate_contributions(_tree(), X, node=2)
    assert (table["row"].tolist(), table["node"].tolist()) == ([1], [2])
    assert gate_contributions(_tree(), X[:1], node=2)["contribution"].shape == (0, 2)


def test_without_a_center_and_with_blended_gates():
    table = gate_contributions(_tree(center=None), X, node=0)
    assert table["contribution"].tolist() == [[6, -3], [0, -4]]
    assert table["offset"].tolist() == [1, 1]
    blended = _tree(
        gate=[Gate.BLEND, -1, Gate.KERNEL, -1, -1],
        feature=[0, -1, 1, -1, -1],
        threshold=[1.0, np.nan, 3.0, np.nan, np.nan],
        blend=[0.25, 0, 0, 0, 0],
        width=[0.5, 0, 0, 0, 0],
    )
    table = gate_contributions(blended, X)
    assert table["node"].tolist() == [0, 0]  # the other gate tests a single column
    assert table["left"] == pytest.approx([0.25, 0.75])


def test_no_contribution_has_no_parts():
    table = gate_contributions(_tree(), [[1.0, 2.0]], node=0)
    assert table["normalised"].tolist() == [[0, 0]]


def test_a_lone_root_has_no_gates():
    root = SoftTree.from_nodes(children_left=[-1], children_right=[-1], value=[[0.25]], n_features=2)
    table = gate_contributions(root, X)
    assert len(table["row"]) == 0
    assert table["contribution"].shape == (0, 2)
    assert len(gate_contributions(root, X, as_frame=True)) == 0


@pytest.mark.parametrize("model", FAMILIES, ids=lambda model: type(model).__name__)
def test_contributions_add_up_to_the_gates_input(model):
    frame, y = _table()
    model.fit(frame, y)
    tree = model.tree_
    table = gate_contributions(model, frame)
    points = model._matrix(frame)
    row, node = table["row"], table["node"]
    inputs = (tree.weights[node] * points[row]).sum(axis=1) + tree.bias[node]
    assert table["contribution"].sum(axis=1) + table["offset"] == pytest.approx(inputs)
    at_center = tree.weights[node] @ tree.center + tree.bias[node]
    assert table["contribution"].sum(axis=1) == pytest.approx(inputs - at_center)
    if np.all(tree.gate[node] == Gate.OBLIQUE):
        assert np.array_equal(table["left"], (inputs > 0).astype(float))
    else:
        assert table["left"] == pytest.approx(1 / (1 + np.exp(-inputs)))
    shares = model.memberships(frame).toarray()
    inner = tree.children_left >= 0
    assert len(row) == np.count_nonzero(shares[:, inner])
    assert table["membership"] == pytest.approx(shares[row, node])
    sums = table["normalised"].sum(axis=1)
    assert np.all(np.isclose(sums, 1) | (table["absolute"].sum(axis=1) == 0))
    order = np.lexsort([node, tree.depth[node], row])
    assert np.array_equal(order, np.arange(len(row)))


def test_categories_are_added_up_and_missing_values_say_nothing():
    frame, y = _table()
    model = SoftTreeRegressor(random_state=0).fit(frame, y)
    table = gate_contributions(model, frame, node=0)
    assert table["column"].tolist() == ["size", "city", "age"]
    assert model.columns_.source.tolist() == [0, 1, 1, 1, 2]
    single = model.tree_.contributions(model._matrix(frame), 0)
    assert table["contribution"][:, 1] == pytest.approx(single[:, 1:4].sum(axis=1))
    assert table["contribution"][3, 0] == pytest.approx(0, abs=1e-12)
    assert table["contribution"][4, 1] == pytest.approx(0, abs=1e-12)
    assert np.array_equal(table["absolute"], np.abs(table["contribution"]))


def test_frame_has_a_line_for_each_column():
    frame = gate_contributions(_tree(), X, as_frame=True)
    assert list(frame.columns) == [
        "row", "node", "membership", "left", "offset", "column", "contribution", "absolute", "normalised",
    ]  # fmt: skip
    assert frame["column"].tolist() == ["x[0]", "x[1]"] * 3
    assert frame["contribution"].tolist() == [4, -1, -2, -2, 0, 2]
    assert frame["node"].tolist() == [0, 0, 0, 0, 2, 2]


def test_missing_pandas_is_answered_with_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install pandas$"):
        gate_contributions(_tree(), X, as_frame=True)


@pytest.mark.parametrize("node", [-1, 5, 1.0, True, "root"])
def test_unknown_nodes(node):
    with pytest.raises(ValueError, match=r"'node' parameter of .* must be an int in the range \[0, 4\]. Got"):
        gate_contributions(_tree(), X, node=node)


def test_nodes_without_an_oblique_gate():
    with pytest.raises(
        ValueError,
        match=r"'node' parameter of .* must be a node with an oblique gate. Node 1 is a leaf",
    ):
        gate_contributions(_tree(), X, node=1)
    mixed = _tree(
        gate=[Gate.OBLIQUE, -1, Gate.KERNEL, -1, -1],
        feature=[-1, -1, 1, -1, -1],
        threshold=[np.nan, np.nan, 3.0, np.nan, np.nan],
    )
    with pytest.raises(ValueError, match="Node 2 tests a single column"):
        gate_contributions(mixed, X, node=2)


@pytest.mark.parametrize("node", [None, 0])
def test_trees_without_oblique_gates(node):
    model = KernelTreeClassifier(bandwidth=0.1).fit(X, [0, 1])
    with pytest.raises(ValueError, match=r"'model' parameter .* oblique gates; each gate of this KernelTreeClassifier"):
        gate_contributions(model, X, node=node)


def test_wrong_rows_and_models():
    with pytest.raises(ValueError, match=r"X has 1 features, but SoftTree is expecting 2"):
        gate_contributions(_tree(), X[:, :1])
    with pytest.raises(NotFittedError):
        gate_contributions(SoftTreeClassifier(), X)
    model = LinearDiscriminantTreeClassifier(random_state=0).fit(np.arange(20.0).reshape(10, 2), [0] * 5 + [1] * 5)
    with pytest.raises(ValueError, match="X has 1 features"):
        gate_contributions(model, X[:, :1])
    with pytest.raises(TypeError, match="gate_contributions takes a fitted estimator of softwood, a SoftTree"):
        gate_contributions(3, X)
