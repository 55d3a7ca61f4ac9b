import sys
from dataclasses import replace

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Polygon
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.exceptions import NotFittedError

from softwood import (
    KernelBoostingClassifier,
    KernelForestClassifier,
    KernelTreeClassifier,
    KernelTreeRegressor,
    LinearDiscriminantTreeClassifier,
    SoftForest,
    SoftTreeClassifier,
    stream,
)
from softwood.plots import plot_tree
from softwood.stream import river
from tests.plots.pictures import no_overlap
from tests.reference.trees import ALL_GATES, random_tree

IRIS = load_iris(as_frame=True)
X, Y = IRIS.data, IRIS.target_names[IRIS.target]


@pytest.fixture(scope="module")
def iris():
    return KernelTreeClassifier(refine=False, trend=None, bandwidth=0.2, max_leaf_nodes=5).fit(X, Y)


@pytest.fixture(scope="module")
def digits():
    rows, y = load_digits(return_X_y=True)
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.3, random_state=0)
    return model.fit(rows[:1300], y[:1300]), rows


def texts_of(ax):
    return [text.get_text() for text in ax.texts]


def band_widths(ax):
    """Widths of the bands at their ends, in inches."""
    bands = [patch.get_xy() for patch in ax.patches if isinstance(patch, Polygon) and len(patch.get_xy()) > 5]
    return [float(np.ptp(band[band[:, 0] == band[:, 0].max(), 1])) for band in bands]


def test_gates_parts_and_leaves(iris):
    tree = iris.tree_
    ax = plot_tree(iris)
    texts = texts_of(ax)
    for node in np.flatnonzero(tree.children_left >= 0):
        name = X.columns[tree.feature[node]]
        assert f"{name} ≤ {tree.threshold[node]:.3g} ± {tree.width[node]:.3g}" in texts
    left = tree.mass[tree.children_left[0]] / tree.mass[0]
    assert texts[0] == f"yes {left:.2f}"
    assert texts[1] == f"no {1 - left:.2f}"
    leaves = np.flatnonzero(tree.children_left < 0)
    for leaf in leaves:
        best = tree.value[leaf].argmax()
        share = f"{100 * tree.mass[leaf] / tree.mass[0]:.0f} %"
        assert f"{iris.classes_[best]}: {tree.value[leaf, best]:.2f}, {share}" in texts
    assert [text.get_text() for text in ax.get_legend().get_texts()] == iris.classes_.tolist()
    assert no_overlap(ax)


def test_bands_are_as_wide_as_the_shares(iris):
    tree = iris.tree_
    by_mass = sorted(band_widths(plot_tree(iris)))
    # Shares of children of nodes, of those that are wide enough for a band.
    expected = sorted(m for m in tree.mass[1:] / tree.mass[0])
    by_mass = np.array(by_mass) / by_mass[-1] * expected[-1]
    assert by_mass == pytest.approx(expected[-len(by_mass) :], abs=1e-6)
    row = X.iloc[70]
    shares = iris.memberships(X.iloc[[70]]).toarray()[0]
    ax = plot_tree(iris, row)
    found = sorted(band_widths(ax))
    shown = sorted(shares[1:])[-len(found) :]
    assert np.array(found) / found[-1] == pytest.approx(np.array(shown) / shown[-1], abs=1e-6)
    assert any(text.endswith("of the row") for text in texts_of(ax))


@pytest.mark.parametrize("form", [lambda r: r, lambda r: r.to_numpy(), lambda r: r.to_dict(), lambda r: list(r),
                                  lambda r: r.to_frame().T])  # fmt: skip
def test_forms_of_a_row(iris, form):
    assert texts_of(plot_tree(iris, form(X.iloc[70]))) == texts_of(plot_tree(iris, X.iloc[[70]]))


def test_large_trees_are_collapsed(digits):
    model, rows = digits
    tree = model.tree_
    assert tree.n_leaves > 100
    ax = plot_tree(model)
    assert no_overlap(ax)
    hidden = [int(text.split("+ ")[1].split()[0]) for text in texts_of(ax) if "+ " in text]
    n_ends = sum(text.count(": ") for text in texts_of(ax))
    n_drawn = 2 * n_ends - 1
    assert n_drawn + sum(hidden) == tree.n_nodes
    shares = tree.mass / tree.mass[0]
    inner = tree.children_left >= 0
    assert n_drawn == 1 + 2 * np.sum(inner & (shares >= 0.02))
    one = plot_tree(model, rows[3])
    assert no_overlap(one)
    assert len(one.texts) < len(ax.texts)
    whole = plot_tree(model, min_share=0.0)
    assert sum(text.count(": ") for text in texts_of(whole)) == tree.n_leaves
    shallow = plot_tree(model, max_depth=2)
    assert sum(text.count(": ") for text in texts_of(shallow)) <= 4
    assert no_overlap(shallow)


def test_only_the_root():
    model = KernelTreeClassifier(refine=False, trend=None, max_depth=1, min_mass=1000.0, bandwidth=0.1).fit(X, Y)
    assert model.tree_.n_nodes == 1
    ax = plot_tree(model)
    assert len(ax.texts) == 1
    assert no_overlap(ax)


def test_oblique_gates():
    model = SoftTreeClassifier(max_depth=3, random_state=0).fit(X, Y)
    ax = plot_tree(model, X.iloc[70])
    tree = model.tree_
    heaviest = X.columns[tree.weight_sizes(0).argmax()]
    gate = next(text for text in texts_of(ax) if ">" in text)
    assert heaviest in gate.split("\n")[0]
    assert gate.endswith(f"+ 2 more > {-tree.bias[0]:.3g}".replace("-", "−"))
    assert no_overlap(ax)
    assert no_overlap(plot_tree(LinearDiscriminantTreeClassifier(random_state=0).fit(X, Y)))


@pytest.mark.parametrize("seed", range(3))
def test_bare_trees_of_all_gates(seed):
    tree = random_tree(seed, gates=ALL_GATES, n_outputs=1 + seed)
    ax = plot_tree(tree, [0.1, np.nan, 2.0], min_share=0.0)
    assert no_overlap(ax)
    assert ax.get_legend() is None
    if seed:  # values that are class probabilities have colours of classes
        classes = replace(tree, value=np.random.default_rng(seed).dirichlet(np.ones(1 + seed), tree.n_nodes))
        assert plot_tree(classes).get_legend() is not None


def test_trees_of_ensembles():
    forest = KernelForestClassifier(3, bandwidth=0.2, random_state=0).fit(X, Y)
    ax = plot_tree(forest, X.iloc[0], tree=2)
    assert ax.get_title() == "tree 2 of 3"
    assert no_overlap(ax)
    boosting = KernelBoostingClassifier(max_iter=4, max_leaf_nodes=6).fit(X, Y)
    ax = plot_tree(boosting, tree=7)
    assert ax.get_title() == "tree 7 of 12, score of versicolor (before the softmax)"
    assert ax.get_legend() is None
    bare = plot_tree(SoftForest.mean([random_tree(0), random_tree(1)]), tree=1)
    assert bare.get_title() == "tree 1 of 2"
    with pytest.raises(ValueError, match=r"'tree' parameter of plot_tree must be an int in the range \[0, 2\]"):
        plot_tree(forest, tree=3)


def test_targets():
    rows, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = KernelTreeRegressor(refine=False, trend=None, bandwidth=0.3, max_leaf_nodes=10).fit(rows, y)
    ax = plot_tree(model)
    assert no_overlap(ax)
    assert ax.get_legend() is None
    leaves = np.flatnonzero(model.tree_.children_left < 0)
    values = {f"{model.tree_.value[leaf, 0]:.3g}" for leaf in leaves}
    assert {text.split(",")[0] for text in texts_of(ax) if "%" in text} == values


def test_categories_and_long_names():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a column with quite a long name, and $x$": rng.normal(size=300)})
    table["city"] = rng.choice(["Rome", "Oslo", "Bonn"], 300)
    model = KernelTreeClassifier(refine=False, trend=None, bandwidth=0.1, max_depth=3).fit(
        table, (table["city"] == "Rome") | (table.iloc[:, 0] > 1)
    )
    ax = plot_tree(model)
    assert texts_of(ax)[2] == "city != Rome"
    assert texts_of(ax)[0].startswith("yes ")
    assert any(text.startswith("a column with q… and \\$x\\$ ≤ ") for text in texts_of(ax))
    assert no_overlap(ax)


def test_stream_models():
    rows, y = stream.SEA(seed=0).take(3000)
    model = stream.SoftHoeffdingTreeClassifier(random_state=0).fit(rows, y)
    ax = plot_tree(model, rows[0], max_depth=3)
    assert no_overlap(ax)
    assert any("α = " in text for text in texts_of(ax))
    leaves_with_models = stream.HoeffdingTreeClassifier(grace_period=50, leaf_prediction="nb").fit(rows, y)
    assert no_overlap(plot_tree(leaves_with_models))
    other = river.SoftHoeffdingTreeClassifier(seed=0, grace_period=50, tau=0.2)
    for row, label in zip(rows[:600], y[:600], strict=True):
        other.learn_one(dict(zip("abc", row, strict=True)), label)
    ax = plot_tree(other, dict(zip("abc", rows[0], strict=True)))
    assert no_overlap(ax)
    assert any(text[0] in "abc" for text in texts_of(ax))


def test_given_axes(iris):
    axes = Figure(figsize=(6, 3)).subplots(2)
    assert plot_tree(iris, ax=axes[0]) is axes[0]
    plot_tree(iris, X.iloc[3], ax=axes[1])
    for ax in axes:
        assert len({round(text.get_fontsize(), 6) for text in ax.texts}) == 2
        assert max(text.get_fontsize() for text in ax.texts) < 8
    assert matplotlib.pyplot.get_fignums() == []


def test_wrong_arguments(iris, monkeypatch):
    with pytest.raises(ValueError, match="'max_depth' parameter of plot_tree must be an int"):
        plot_tree(iris, max_depth=-1)
    with pytest.raises(ValueError, match="'min_share' parameter of plot_tree must be a number in the range"):
        plot_tree(iris, min_share=2.0)
    with pytest.raises(ValueError, match=r"'row' parameter of plot_tree must be a single row. Got 'a table of 2 rows'"):
        plot_tree(iris, X[:2])
    with pytest.raises(ValueError, match=r"'row' parameter of plot_tree must be a row of 4 values.* Got '3 values'"):
        plot_tree(iris, [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="'row' parameter of plot_tree must be a row with the column 'petal width"):
        plot_tree(iris, X.iloc[0].drop("petal width (cm)").to_dict())
    with pytest.raises(ValueError, match=r"must be a row of the columns 'sepal length.* Got 'colour' instead"):
        plot_tree(iris, {**X.iloc[0], "colour": 1})
    with pytest.raises(ValueError, match="'row' parameter of plot_tree must be a row of 4 values"):
        plot_tree(iris, "row")
    with pytest.raises(TypeError, match="plot_tree takes a fitted estimator of softwood, a SoftTree"):
        plot_tree("tree")
    with pytest.raises(NotFittedError):
        plot_tree(KernelTreeClassifier())
    monkeypatch.setitem(sys.modules, "matplotlib.textpath", None)
    with pytest.raises(ImportError, match=r'pip install "softwood\[plots\]"'):
        plot_tree(iris)
