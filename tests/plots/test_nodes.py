import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from softwood import (
    Gate,
    KernelForestClassifier,
    KernelTreeClassifier,
    KernelTreeRegressor,
    LinearDiscriminantTreeClassifier,
    SoftTree,
    SoftTreeClassifier,
    SoftTreeRegressor,
)
from softwood.explanations import node_table
from softwood.plots import plot_gate_contributions, plot_importances, plot_leaf_distribution


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=["age", "size", "price"])
    return X, np.where(X["age"] + 2 * X["size"] > 0.3, "yes", "no")


@pytest.fixture(scope="module")
def soft(table):
    return SoftTreeClassifier(random_state=0).fit(*table)


@pytest.fixture(scope="module")
def crisp(table):
    return LinearDiscriminantTreeClassifier(random_state=0).fit(*table)


def _stump(n_features, **columns):
    return SoftTree.from_nodes(
        children_left=[1, -1, -1],
        children_right=[2, -1, -1],
        gate=[Gate.OBLIQUE, -1, -1],
        weights=np.vstack([np.arange(n_features, 0, -1.0), np.zeros((2, n_features))]),
        value=[0.0, 1.0, 2.0],
        n_features=n_features,
        **columns,
    )


def _names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def _legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# Contributions


def test_bars_of_a_gate(table, soft):
    X, _ = table
    ax = plot_gate_contributions(soft, X, rows=[0, 5])
    assert len(ax.patches) == 2 * 4  # three columns and the average row
    assert sorted(_names(ax)) == ["age", "average row", "price", "size"]
    assert _names(ax)[-1] == "average row"
    assert ax.xaxis_inverted()  # bars to the left draw to the left
    assert "node 0" in ax.get_xlabel()
    tree = soft.tree_
    row = X.to_numpy()[0]
    shares = 1 / (1 + np.exp(-(tree.weights[0] @ row + tree.bias[0])))
    assert _legend(ax)[0] == f"row 0: {100 * shares:.3g} % left"
    widths = [patch.get_width() for patch in ax.patches[:4]]
    assert sum(widths) == pytest.approx(tree.weights[0] @ row + tree.bias[0])


def test_rows_of_a_crisp_gate_go_left_or_right(table, crisp):
    X, _ = table
    ax = plot_gate_contributions(crisp, X)
    assert len(_legend(ax)) == 3
    assert {text.partition(": ")[2] for text in _legend(ax)} <= {"left", "right"}


def test_the_largest_columns_are_shown_and_the_rest_added_up():
    ax = plot_gate_contributions(_stump(15), np.ones((2, 15)), n=4, rows=[1])
    assert _names(ax) == ["x[0]", "x[1]", "x[2]", "x[3]", "11 others", "bias"]
    assert [patch.get_width() for patch in ax.patches] == [15, 14, 13, 12, 66, 0]
    assert len(_names(plot_gate_contributions(_stump(15), np.ones((2, 15))))) == 12  # ten, the rest, and the bias
    assert "others" not in " ".join(_names(plot_gate_contributions(_stump(5), np.ones((1, 5)), n=4)))  # not a rest of 1


def test_pies_of_a_gate(table, soft):
    X, _ = table
    ax = plot_gate_contributions(soft, X, kind="pie")
    assert len(ax.patches) == 3 * 3
    assert sorted(_legend(ax)) == ["age", "price", "size"]
    assert ax.get_title() == "Node 0"
    assert sum(text.get_text().startswith("row ") for text in ax.texts) == 3
    ax = plot_gate_contributions(_stump(9), np.ones((1, 9)), kind="pie")
    assert _legend(ax)[-1] == "3 others"
    assert len(ax.patches) == 7
    ax = plot_gate_contributions(_stump(2, center=np.ones(2)), np.ones((1, 2)), kind="pie")
    assert len(ax.patches) == 1  # nothing contributes: an empty circle


def test_wrong_arguments_of_contributions(table, crisp):
    X, y = table
    with pytest.raises(ValueError, match=r"'kind' parameter of .* must be one of 'bar', 'pie'. Got 'ring'"):
        plot_gate_contributions(crisp, X, kind="ring")
    with pytest.raises(
        ValueError,
        match=r"'n' parameter of .* must be an int in the range \[1, inf\) or None. Got 0",
    ):
        plot_gate_contributions(crisp, X, n=0)
    with pytest.raises(ValueError, match="'node' parameter"):
        plot_gate_contributions(crisp, X, 1000)
    with pytest.raises(ValueError, match="'node' parameter"):
        plot_gate_contributions(crisp, X, None)
    leaf = int(np.flatnonzero(crisp.tree_.children_left < 0)[0])
    with pytest.raises(ValueError, match=f"'node' parameter .* Node {leaf} is a leaf"):
        plot_gate_contributions(crisp, X, leaf)
    with pytest.raises(ValueError, match="'model' parameter must be a tree with oblique gates"):
        plot_gate_contributions(KernelTreeClassifier(bandwidth=0.1).fit(X, y), X)
    with pytest.raises(ValueError, match=r"'rows' parameter must hold ints in the range \[0, 119\]. Got 120"):
        plot_gate_contributions(crisp, X, rows=[120])
    for rows in ([], 3, [0.5], ["a"]):
        with pytest.raises(ValueError, match="'rows' parameter must be numbers of rows of X"):
            plot_gate_contributions(crisp, X, rows=rows)
    with pytest.raises(NotFittedError):
        plot_gate_contributions(SoftTreeClassifier(), X)


def test_rows_must_reach_the_gate():
    tree = SoftTree.from_nodes(
        children_left=[1, -1, 3, -1, -1],
        children_right=[2, -1, 4, -1, -1],
        gate=[Gate.OBLIQUE, -1, Gate.OBLIQUE, -1, -1],
        weights=[[1.0], [0], [1.0], [0], [0]],
        value=[0.0, 1, 2, 3, 4],
        n_features=1,
    )
    ax = plot_gate_contributions(tree, [[1.0], [-1.0]], 2)
    assert _legend(ax) == ["row 1: right"]
    with pytest.raises(ValueError, match=r"'rows' parameter must hold rows that reach node 2. Row 0 does not"):
        plot_gate_contributions(tree, [[1.0], [-1.0]], 2, rows=[0])
    with pytest.raises(ValueError, match=r"'node' parameter .* No row reaches node 2"):
        plot_gate_contributions(tree, [[1.0]], 2)


# Importances


def test_importances_side_by_side(table, soft):
    X, y = table
    cart = DecisionTreeClassifier(random_state=0).fit(X, y)
    ax = plot_importances({"soft": soft, "CART": cart})
    assert _legend(ax) == ["soft", "CART"]
    assert len(ax.patches) == 2 * 3
    mean = (soft.feature_importances_ + cart.feature_importances_) / 2
    order = np.argsort(-mean)
    assert _names(ax) == list(X.columns[order])
    assert [patch.get_width() for patch in ax.patches] == pytest.approx(
        [*soft.feature_importances_[order], *cart.feature_importances_[order]]
    )


def test_importances_of_one_model(soft, table):
    X, y = table
    assert _legend(plot_importances(soft)) == ["SoftTreeClassifier"]
    forest = KernelForestClassifier(3, bandwidth=0.1, random_state=0).fit(X.to_numpy(), y)
    assert sorted(_names(plot_importances(forest))) == ["x[0]", "x[1]", "x[2]"]
    # names that one model knows serve for all
    both = plot_importances({"array": forest, "frame": soft, "tree": soft.tree_})
    assert sorted(_names(both)) == ["age", "price", "size"]


def test_many_columns_are_added_up():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 30))
    model = RandomForestClassifier(10, random_state=0).fit(X, X[:, 0] > 0)
    ax = plot_importances(model, n=5)
    assert len(ax.patches) == 6
    assert _names(ax)[-1] == "25 others"
    assert sum(patch.get_width() for patch in ax.patches) == pytest.approx(1)
    assert _names(plot_importances(model))[-1] == "10 others"


def test_wrong_arguments_of_importances(table, soft):
    X, y = table
    with pytest.raises(ValueError, match="'models' parameter must hold at least one model"):
        plot_importances({})
    for model in (LogisticRegression().fit(X, y), "tree"):
        with pytest.raises(TypeError, match=r"'models' parameter .* feature_importances_. 'it' has none"):
            plot_importances({"it": model})
    with pytest.raises(NotFittedError):
        plot_importances(SoftTreeClassifier())
    with pytest.raises(NotFittedError):
        plot_importances(DecisionTreeClassifier())
    for other in (X[["age", "size"]], X.rename(columns={"age": "years"})):
        with pytest.raises(ValueError, match="models of the same columns; 'CART' has others than 'soft'"):
            plot_importances({"soft": soft, "CART": DecisionTreeClassifier().fit(other, y)})
    with pytest.raises(ValueError, match="'n' parameter"):
        plot_importances(soft, n=1.5)


# Leaves


def test_classes_in_leaves(table, soft):
    X, y = table
    ax = plot_leaf_distribution(soft, X, y)
    numbers = node_table(soft, X, y)
    leaves = np.flatnonzero(numbers["is_leaf"])
    assert _legend(ax) == ["no", "yes"]
    assert len(ax.patches) == 2 * len(leaves)
    heights = np.array([patch.get_height() for patch in ax.patches]).reshape(2, -1)
    assert np.allclose(heights.T, numbers["distribution"][leaves])
    assert [text.get_text().partition("\n")[0] for text in ax.get_xticklabels()] == [str(leaf) for leaf in leaves]


def test_chosen_leaves_and_weights(table, crisp):
    X, y = table
    leaves = np.flatnonzero(crisp.tree_.children_left < 0)[::-1]
    ax = plot_leaf_distribution(crisp, X, y, leaves=leaves, sample_weight=np.full(len(y), 2.0))
    weight = 2 * np.bincount(crisp.apply(X), minlength=crisp.tree_.n_nodes)
    assert [text.get_text() for text in ax.get_xticklabels()] == [f"{leaf}\n({weight[leaf]})" for leaf in leaves]


def test_many_leaves_and_classes_are_added_up():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.arange(200) % 14
    model = KernelTreeClassifier(bandwidth=0.01, max_leaf_nodes=None).fit(X, y)
    ax = plot_leaf_distribution(model, X, y)
    assert len(ax.patches) == 13 * 11
    assert _legend(ax)[-1] == "4 others"
    assert ax.get_xticklabels()[-1].get_text().startswith(f"{model.get_n_leaves() - 12} others")
    tops = np.array([patch.get_height() for patch in ax.patches]).reshape(11, 13).sum(axis=0)
    assert tops == pytest.approx(1)


def test_leaves_without_rows_are_empty(table, crisp):
    X, y = table
    ax = plot_leaf_distribution(crisp, X[:1], y[:1])
    assert sum(patch.get_height() for patch in ax.patches) == 1


def test_targets_in_leaves():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    model = KernelTreeRegressor(bandwidth=0, max_depth=1).fit(X, [1.0, 1.0, 5.0, 7.0])
    y = pd.Series([1.0, 1.0, 5.0, 7.0], name="price")
    ax = plot_leaf_distribution(model, X, y)
    assert ax.get_ylabel() == "price"
    assert len(ax.patches) == 2 * 20
    widths = np.array([patch.get_width() for patch in ax.patches]).reshape(2, 20)
    assert np.flatnonzero(widths[0]).tolist() == [0]
    assert widths[1][[13, 19]] == pytest.approx(0.8)
    lines = [line.get_segments()[0][0][1] for line in ax.collections]
    assert lines == [1.0, 6.0]


def test_one_of_several_targets(table):
    X, _ = table
    model = SoftTreeRegressor(random_state=0, max_depth=2).fit(X[["price"]], X[["age", "size"]])
    assert plot_leaf_distribution(model, X[["price"]], X[["age", "size"]], output=1).get_ylabel() == "size"
    array = X[["age", "size"]].to_numpy()
    assert plot_leaf_distribution(model, X[["price"]], array, output=0).get_ylabel() == "target 0"
    with pytest.raises(ValueError, match="'output' parameter must say which of the 2 targets"):
        plot_leaf_distribution(model, X[["price"]], array)
    with pytest.raises(ValueError, match=r"'output' parameter of .* must be an int in the range \[0, 1\]. Got 2"):
        plot_leaf_distribution(model, X[["price"]], array, output=2)


def test_wrong_arguments_of_leaves(table, crisp):
    X, y = table
    for leaves in ([0], [], 1, [1000], ["a"]):
        with pytest.raises(ValueError, match="'leaves' parameter must be numbers of leaves"):
            plot_leaf_distribution(crisp, X, y, leaves=leaves)
    with pytest.raises(ValueError, match="requires y"):
        plot_leaf_distribution(crisp, X, None)
    with pytest.raises(TypeError, match="takes a fitted estimator, not a SoftTree"):
        plot_leaf_distribution(crisp.tree_, X, y)
    with pytest.raises(NotFittedError):
        plot_leaf_distribution(SoftTreeClassifier(), X, y)
    with pytest.raises(ValueError, match=r"features|feature names"):
        plot_leaf_distribution(crisp, X[["age"]], y)


# All of them


def test_given_axes_are_drawn_into_without_pyplot(table, crisp):
    X, y = table
    axes = Figure().subplots(2, 2).ravel()
    assert plot_gate_contributions(crisp, X, ax=axes[0]) is axes[0]
    assert plot_gate_contributions(crisp, X, kind="pie", ax=axes[1]) is axes[1]
    assert plot_importances(crisp, ax=axes[2]) is axes[2]
    assert plot_leaf_distribution(crisp, X, y, ax=axes[3]) is axes[3]
    assert matplotlib.pyplot.get_fignums() == []


def test_labels_do_not_overlap(table, soft):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(80, 60)), columns=[f"a column with a long name {j}" for j in range(60)])
    model = DecisionTreeClassifier(random_state=0).fit(X, rng.integers(2, size=80))
    many = KernelTreeClassifier(bandwidth=0.1).fit(X, rng.integers(2, size=80))
    pictures = [
        (plot_importances({"one": model, "two": model}), "y"),
        (plot_gate_contributions(_stump(60), X), "y"),
        (plot_leaf_distribution(many, X, rng.integers(2, size=80)), "x"),
    ]
    for ax, side in pictures:
        ax.figure.canvas.draw()
        boxes = [text.get_window_extent() for text in getattr(ax, f"get_{side}ticklabels")()]
        assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[k + 1 :])


def test_missing_matplotlib_is_answered_with_the_command(table, soft, monkeypatch):
    X, y = table
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    message = r'Drawing needs matplotlib. Install it with: pip install "softwood\[plots\]"'
    with pytest.raises(ImportError, match=message):
        plot_gate_contributions(soft, X)
    with pytest.raises(ImportError, match=message):
        plot_importances(soft)
    with pytest.raises(ImportError, match=message):
        plot_leaf_distribution(soft, X, y)
