import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from softwood import (
    BuddingTreeClassifier,
    EndToEndTreeClassifier,
    Gate,
    KernelForestClassifier,
    KernelTreeClassifier,
    KernelTreeRegressor,
    LinearDiscriminantTreeClassifier,
    OneStageTreeClassifier,
    SoftTree,
    SoftTreeClassifier,
    SoftTreeRegressor,
)
from softwood.explanations import node_table


@pytest.fixture
def tree():
    """Three leaves: at the root x0 + x1 > 0 goes left, then x0 - x1 > 0 right of it."""
    return SoftTree.from_nodes(
        children_left=[1, -1, 3, -1, -1],
        children_right=[2, -1, 4, -1, -1],
        gate=[Gate.OBLIQUE, -1, Gate.OBLIQUE, -1, -1],
        weights=[[1, 1], [0, 0], [1, -1], [0, 0], [0, 0]],
        value=[0.0, 1.0, 2.0, 3.0, 4.0],
        mass=[8.0, 2.0, 6.0, 4.0, 2.0],
        impurity=[0.5, 0.1, 0.4, 0.2, 0.0],
        n_features=2,
    )


X = np.array([[1.0, 1.0], [-1.0, -2.0], [-2.0, -1.0], [2.0, 0.0]])
FAMILIES = [
    BuddingTreeClassifier(random_state=0),
    EndToEndTreeClassifier(random_state=0, max_depth=2, max_iter=5),
    KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2),
    LinearDiscriminantTreeClassifier(random_state=0),
    OneStageTreeClassifier(random_state=0, max_depth=3, max_iter=10),
    SoftTreeClassifier(random_state=0),
]


def _rings(n=120):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, 2))
    return points, np.where(points @ [1.0, 2.0] > 0.2, "yes", "no")


def test_places_and_training_numbers(tree):
    table = node_table(tree)
    assert {name: table[name].tolist() for name in ("node", "parent", "depth", "side", "is_leaf")} == {
        "node": [0, 1, 2, 3, 4],
        "parent": [-1, 0, 0, 2, 2],
        "depth": [0, 1, 1, 2, 2],
        "side": ["root", "left", "right", "left", "right"],
        "is_leaf": [False, True, False, True, True],
    }
    assert table["mass_share"] == pytest.approx([1, 0.25, 0.75, 0.5, 0.25])
    assert np.array_equal(table["mass"], tree.mass)
    assert np.array_equal(table["impurity"], tree.impurity)
    assert np.array_equal(table["prediction"], tree.value)
    assert "weight" not in table
    table["mass"][0] = 0.0
    assert tree.mass[0] == 8.0  # the tree's own arrays are left alone


def test_rows_by_hand(tree):
    table = node_table(tree, X, [5.0, 6.0, 7.0, 9.0], sample_weight=[1, 2, 4, 3])
    assert table["n_rows"].tolist() == [4, 2, 2, 1, 1]
    assert table["weight"] == pytest.approx([10, 4, 6, 2, 4])
    assert table["weight_share"] == pytest.approx([1, 0.4, 0.6, 0.2, 0.4])
    assert table["target_mean"].ravel() == pytest.approx([7.2, 8, 40 / 6, 6, 7])


def test_nodes_without_rows(tree):
    table = node_table(tree, X[:1], [5.0])
    assert table["weight"].tolist() == [1, 1, 0, 0, 0]
    assert table["target_mean"].ravel() == pytest.approx([5, 5, np.nan, np.nan, np.nan], nan_ok=True)
    assert np.isnan(node_table(tree, X[:1], sample_weight=[0.0])["weight_share"]).all()


@pytest.mark.parametrize("model", FAMILIES, ids=lambda model: type(model).__name__)
def test_children_add_up_in_every_family(model):
    X, y = _rings()
    table = node_table(model.fit(X, y), X, y)
    inner = np.flatnonzero(~table["is_leaf"])
    tree = model.tree_
    assert len(inner)
    for name in ("mass", "weight", "mass_share", "weight_share"):
        below = table[name][tree.children_left[inner]] + table[name][tree.children_right[inner]]
        assert below == pytest.approx(table[name][inner])
    assert table["weight_share"][table["is_leaf"]].sum() == pytest.approx(1)
    assert table["distribution"][0] == pytest.approx([np.mean(y == "no"), np.mean(y == "yes")])
    known = table["weight"] > 0
    assert table["distribution"][known].sum(axis=1) == pytest.approx(1)
    assert table["prediction"].sum(axis=1) == pytest.approx(1)


def test_class_distribution_by_membership():
    X, y = _rings()
    model = SoftTreeClassifier(random_state=0).fit(X, y)
    weights = np.random.default_rng(1).random(len(y))
    table = node_table(model, X, y, weights)
    shares = model.memberships(X).toarray() * weights[:, None]
    assert table["distribution"][:, 1] == pytest.approx(shares[y == "yes"].sum(axis=0) / shares.sum(axis=0))
    assert table["weight"] == pytest.approx(shares.sum(axis=0))


def test_fuzzy_labels_and_orders_of_classes():
    X, y = _rings()
    model = LinearDiscriminantTreeClassifier(random_state=0).fit(X, y)
    expected = node_table(model, X, y)["distribution"]
    no = (y == "no").astype(float)
    for fuzzy in (np.column_stack([no, 1 - no]), pd.DataFrame({"yes": 1 - no, "no": no})):
        assert node_table(model, X, fuzzy)["distribution"] == pytest.approx(expected, nan_ok=True)
    only_yes = node_table(model, X, np.full(len(X), "yes"))["distribution"]
    assert only_yes[0].tolist() == [0, 1]


def test_frames_name_the_columns():
    X, y = _rings()
    model = LinearDiscriminantTreeClassifier(random_state=0).fit(X, y)
    frame = node_table(model, X, y, as_frame=True)
    table = node_table(model, X, y)
    assert list(frame.columns) == [
        "node", "parent", "depth", "side", "is_leaf", "mass", "mass_share", "impurity", "prediction[no]",
        "prediction[yes]", "n_rows", "weight", "weight_share", "distribution[no]", "distribution[yes]",
    ]  # fmt: skip
    assert np.array_equal(frame["prediction[yes]"], table["prediction"][:, 1])
    one = KernelTreeRegressor(refine=False, trend=None, bandwidth=0.2, max_depth=2).fit(X, X[:, 0])
    assert list(node_table(one, X, X[:, 0], as_frame=True).columns)[-5:] == [
        "prediction", "n_rows", "weight", "weight_share", "target_mean",
    ]  # fmt: skip
    two = SoftTreeRegressor(random_state=0, max_depth=2).fit(X, X)
    assert {"prediction[0]", "prediction[1]"} <= set(node_table(two, as_frame=True).columns)


def test_missing_pandas_is_answered_with_the_command(tree, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"needs pandas. Install it with: pip install pandas$"):
        node_table(tree, as_frame=True)


def test_ensembles_are_answered_with_what_to_do():
    forest = KernelForestClassifier(2, bandwidth=0.1).fit([[0.0], [1.0]], [0, 1])
    for model, one in ((forest, r"model\.forest_\[0\]"), (forest.forest_, r"model\[0\]")):
        with pytest.raises(
            TypeError, match=rf"node_table takes one tree, .* has 2\. .* node_table\({one}\)\. softwood"
        ):
            node_table(model)


@pytest.mark.parametrize("model", [DecisionTreeClassifier(), "tree"])
def test_models_without_a_tree(model):
    if not isinstance(model, str):
        model.fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError, match="node_table takes a fitted estimator of softwood, a SoftTree or a SoftForest"):
        node_table(model)


def test_wrong_arguments(tree):
    with pytest.raises(NotFittedError):
        node_table(SoftTreeClassifier())
    with pytest.raises(ValueError, match=r"^y is given without X"):
        node_table(tree, y=[1.0])
    with pytest.raises(ValueError, match=r"^sample_weight is given without X"):
        node_table(tree, sample_weight=[1.0])
    with pytest.raises(ValueError, match=r"X has 1 features, but SoftTree is expecting 2"):
        node_table(tree, X[:, :1])
    with pytest.raises(ValueError, match=r"y must have as many rows as X. Got 3 rows, X has 4"):
        node_table(tree, X, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"y must have 1 columns, one for each output of the SoftTree. Got 2"):
        node_table(tree, X, X)
    with pytest.raises(ValueError, match="sample_weight"):
        node_table(tree, X, sample_weight=[1.0])
    points, y = _rings()
    model = LinearDiscriminantTreeClassifier(random_state=0).fit(points, y)
    with pytest.raises(ValueError, match=r"y holds classes that were not seen in fit: \['maybe'\]"):
        node_table(model, points[:2], ["yes", "maybe"])
    with pytest.raises(ValueError, match="X has 1 features"):
        node_table(model, points[:, :1])
