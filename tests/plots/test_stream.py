import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from sklearn.exceptions import NotFittedError

from softwood import KernelTreeClassifier, SoftTreeClassifier
from softwood.plots import plot_growth, plot_stream_tree
from softwood.stream import (
    SEA,
    Agrawal,
    HoeffdingTreeClassifier,
    SmoothStepTreeClassifier,
    SoftHoeffdingTreeClassifier,
    SoftHoeffdingTreeRegressor,
)
from softwood.stream.adapting import Adaptation, adaptation
from tests.plots.pictures import no_overlap


@pytest.fixture(scope="module")
def table():
    stream = Agrawal(functions=(0, 2), drift_every=2000, seed=1)
    X, y = stream.take(4000)
    return pd.DataFrame(X, columns=stream.feature_names), np.where(y == 1, "accept", "refuse")


@pytest.fixture(scope="module")
def run(table):
    model = SoftHoeffdingTreeClassifier(random_state=0)
    return model, adaptation(model, table, window=500, snapshots=[2000])


def _texts(ax):
    return [text.get_text() for text in ax.texts]


# The tree


def test_tests_alphas_and_probabilities(table, run):
    model, _ = run
    X = table[0][-500:]
    ax = plot_stream_tree(model, X=X, max_depth=1)
    tree = model.tree_
    shares = model.memberships(X).toarray().mean(axis=0)
    left, right = tree.children_left[0], tree.children_right[0]
    texts = _texts(ax)
    assert texts[0] == f"$P_L$ {shares[left]:.2f}"
    assert texts[1] == f"$P_R$ {shares[right]:.2f}"
    assert f"α = {tree.blend[0]:.2f}" in texts[2]
    assert texts[2].split()[0].rstrip(",") in table[0].columns
    assert f"{100 * shares[left]:.0f} % of rows" in texts[3]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["accept", "refuse"]


def test_all_tests_are_shown(table, run):
    model, _ = run
    tree = model.tree_
    texts = _texts(plot_stream_tree(model, max_depth=3))
    for node in np.flatnonzero((tree.children_left >= 0) & (tree.depth < 3) & (tree.blend < 1)):
        name = table[0].columns[tree.feature[node]]
        assert any(text.startswith(f"{name} ≤ ") and f"α = {tree.blend[node]:.2f}" in text for text in texts)


def test_bars_are_class_probabilities(table):
    model = SoftHoeffdingTreeClassifier(max_depth=1, random_state=0).fit(*table)
    ax = plot_stream_tree(model)
    bars = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    widths = [[bar.get_width() for bar in bars[k : k + 2]] for k in (0, 3)]
    np.testing.assert_allclose(np.array(widths) / 0.8, model.tree_.node_predictions[1:])
    mass = model.tree_.mass
    assert _texts(ax)[0] == f"$P_L$ {mass[1] / (mass[1] + mass[2]):.2f}"


def test_nodes_that_are_cut_are_counted(run):
    model, _ = run
    ax = plot_stream_tree(model, max_depth=0)
    (text,) = _texts(ax)
    assert text.endswith(f"+ {model.tree_.n_nodes - 1} nodes")
    tree = model.tree_
    leaves = tree.children_left < 0
    mean = tree.mass[leaves] @ tree.node_predictions[leaves] / tree.mass[leaves].sum()
    np.testing.assert_allclose([bar.get_width() / 0.8 for bar in ax.patches[:2]], mean)


def test_snapshots_have_the_names_of_their_model(table, run):
    model, result = run
    before = plot_stream_tree(model, tree=result.snapshots[2000], X=table[0][:500])
    assert _texts(before) != _texts(plot_stream_tree(model, X=table[0][:500]))
    assert any("age ≤ " in text for text in _texts(before))
    bare = plot_stream_tree(result.snapshots[2000])
    assert any("x[2] ≤ " in text for text in _texts(bare))


@pytest.mark.parametrize("max_depth", [1, 2, 3, 4])
def test_nothing_overlaps(table, run, max_depth):
    model, result = run
    assert no_overlap(plot_stream_tree(model, X=table[0][:500], max_depth=max_depth))
    assert no_overlap(plot_stream_tree(model, tree=result.snapshots[2000], max_depth=max_depth))


def test_nothing_overlaps_side_by_side(table, run):
    model, result = run
    axes = matplotlib.pyplot.subplots(1, 2, figsize=(13, 4.5), layout="constrained")[1]
    plot_stream_tree(model, axes[0], tree=result.snapshots[2000], X=table[0][:2000]).set_title("before")
    plot_stream_tree(model, axes[1], X=table[0][2000:]).set_title("after")
    assert no_overlap(axes[0])
    assert no_overlap(axes[1])


def test_long_names_and_many_classes():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(6000, 4)) * 1e5, columns=[f"a column with a long name {j}" for j in range(4)])
    y = np.digitize(X.iloc[:, 0] + X.iloc[:, 1], np.linspace(-2e5, 2e5, 12))
    model = SoftHoeffdingTreeClassifier(random_state=0).fit(X, np.array([f"class number {k}" for k in range(13)])[y])
    assert model.tree_.max_depth >= 3
    ax = plot_stream_tree(model, X=X)
    assert no_overlap(ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == "3 others"


def test_other_trees(table):
    X, y = table
    for model in (
        HoeffdingTreeClassifier(grace_period=50),
        SmoothStepTreeClassifier(max_depth=3, random_state=0),
        KernelTreeClassifier(bandwidth=0.01, max_depth=3),
        SoftTreeClassifier(max_depth=2, random_state=0),
    ):
        ax = plot_stream_tree(model.fit(X[:400], y[:400]), X=X[:100])
        assert no_overlap(ax)
        assert ("α" in "".join(_texts(ax))) == isinstance(model, SmoothStepTreeClassifier)
    regressor = SoftHoeffdingTreeRegressor(random_state=0, grace_period=50).fit(X, X["age"])
    ax = plot_stream_tree(regressor, X=X[:100])
    assert no_overlap(ax)
    assert ax.get_legend() is None


def test_first_leaf_and_fresh_children():
    X, y = SEA(seed=0).take(2000)
    model = SoftHoeffdingTreeClassifier(random_state=0).partial_fit(X[:5], y[:5], classes=[0, 1])
    (text,) = _texts(plot_stream_tree(model))
    assert text[:3] in ("0: ", "1: ")
    at = next(n for n in range(5, 2000) if model.partial_fit(X[n : n + 1], y[n : n + 1]).tree_.n_nodes > 1)
    # a split that no row has passed yet has no probabilities to show
    assert len(_texts(plot_stream_tree(model))) == 3
    assert len(_texts(plot_stream_tree(model, X=X[: at + 1]))) == 5


def test_wrong_arguments_of_the_tree(table, run):
    model, _ = run
    with pytest.raises(ValueError, match="'max_depth' parameter of plot_stream_tree must be an int"):
        plot_stream_tree(model, max_depth=-1)
    with pytest.raises(ValueError, match="'tree' parameter of plot_stream_tree must be a SoftTree or None"):
        plot_stream_tree(model, tree="tree")
    with pytest.raises(TypeError, match="plot_stream_tree takes a fitted estimator of softwood, a SoftTree"):
        plot_stream_tree("tree")
    with pytest.raises(NotFittedError):
        plot_stream_tree(SoftHoeffdingTreeClassifier())


# Growth


def test_growth(run):
    _, result = run
    axes = plot_growth(result, drifts=[2000, 3000])
    assert axes.shape == (2,)
    np.testing.assert_array_equal(axes[0].patches[0].get_data().values, result.gradient_norm)
    np.testing.assert_array_equal(axes[1].patches[0].get_data().values, result.n_added)
    np.testing.assert_array_equal(axes[1].patches[0].get_data().edges, [0, *result.n_samples])
    alarms = result.drifts.tolist()
    assert len(alarms) > 0
    for ax in axes:
        assert [line.get_xdata()[0] for line in ax.lines] == [2000, 3000, *alarms]
        assert [line.get_color() for line in ax.lines] == ["#CC0000"] * 2 + ["#555555"] * len(alarms)
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == ["drift", "alarm"]
    assert [text.get_text() for text in plot_growth(result)[0].get_legend().get_texts()] == ["alarm"]
    nothing = replace(result, drifts=np.empty(0, dtype=np.int64))
    assert plot_growth(nothing)[0].get_legend() is None


def test_growth_without_growth():
    nothing = Adaptation(np.array([10]), np.array([0.0]), np.array([0.0]), np.array([1]), np.array([0]))
    assert plot_growth(nothing)[1].get_ylim() == (0.0, 1.0)


def test_wrong_arguments_of_growth(run):
    _, result = run
    with pytest.raises(ValueError, match="'result' parameter of plot_growth must be what adaptation returns"):
        plot_growth([1, 2])
    with pytest.raises(ValueError, match="'drifts' parameter of plot_growth"):
        plot_growth(result, drifts=3)
    with pytest.raises(ValueError, match="'axes' parameter of plot_growth must be two"):
        plot_growth(result, axes=Figure().subplots())


# Both


def test_given_axes_are_drawn_into_without_pyplot(run):
    model, result = run
    axes = Figure().subplots(3)
    assert plot_stream_tree(model, axes[0]) is axes[0]
    assert plot_growth(result, axes=axes[1:])[0] is axes[1]
    assert matplotlib.pyplot.get_fignums() == []


def test_missing_matplotlib_is_answered_with_the_command(run, monkeypatch):
    model, result = run
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    message = r'Drawing needs matplotlib. Install it with: pip install "softwood\[plots\]"'
    with pytest.raises(ImportError, match=message):
        plot_stream_tree(model)
    with pytest.raises(ImportError, match=message):
        plot_growth(result)
