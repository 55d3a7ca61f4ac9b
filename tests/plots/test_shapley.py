"""Pictures of Shapley values show the values."""

from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.datasets import load_breast_cancer

import softwood
from softwood.explanations import shapley_values
from softwood.plots import plot_shapley, plot_shapley_dependence, plot_shapley_summary
from tests.explanations import shapley_models as models
from tests.reference.trees import ALL_GATES, random_points, random_tree

ALL = plot_shapley, plot_shapley_summary, lambda values, **more: plot_shapley_dependence(values, 0, **more)


@pytest.fixture(scope="module")
def of_frame():
    table = models.rows_for("tree of a frame", 60)
    return shapley_values(models.fitted("tree of a frame"), table)


@pytest.fixture(scope="module")
def wide():
    cancer = load_breast_cancer(as_frame=True)
    names = cancer.target_names[cancer.target]
    model = softwood.KernelForestClassifier(5, bandwidth=0.3, random_state=0).fit(cancer.data, names)
    return shapley_values(model, cancer.data[:50])


@pytest.fixture(scope="module")
def sampled():
    tree = random_tree(1, n_leaves=8, n_features=10, gates=ALL_GATES)
    return shapley_values(tree, random_points(1, 12, 10, 0.1), n_samples=20, random_state=0)


def texts_of(ax):
    return [text.get_text() for text in ax.texts]


# ------------------------------------------------------------------ one row


def test_bars_lead_from_the_base_value_to_the_prediction(of_frame):
    ax = plot_shapley(of_frame, row=7, output="1")
    own = of_frame.values[7, :, 1]
    order = np.argsort(-np.abs(own))
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(own[order].tolist())
    assert ax.patches[0].get_x() == pytest.approx(of_frame.base_values[1])
    last = ax.patches[-1]
    assert last.get_x() + last.get_width() == pytest.approx(of_frame.prediction[7, 1])
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert [name.partition(" = ")[0] for name in names] == [of_frame.names[j] for j in order]
    cells = of_frame.data.iloc[7]
    assert f"weight = {cells['weight']:.4g}" in names
    assert f"city = {cells['city']}" in names
    assert f" base value {of_frame.base_values[1]:.4g} " in texts_of(ax)
    assert ax.get_xlabel() == "probability of 1"
    assert {matplotlib.colors.to_hex(bar.get_facecolor()) for bar in ax.patches if bar.get_width() > 0} == {"#d55e00"}


def test_the_output_is_that_with_the_largest_prediction(of_frame):
    for row in (0, 5, 9):
        ax = plot_shapley(of_frame, row=row)
        assert ax.get_xlabel() == f"probability of {of_frame.prediction[row].argmax()}"


def test_missing_cells_are_named(of_frame):
    row = int(np.flatnonzero(of_frame.data["city"].isna())[0])
    ax = plot_shapley(of_frame, row=row)
    assert "city = missing" in [label.get_text() for label in ax.get_yticklabels()]


def test_other_columns_are_added_up(wide):
    ax = plot_shapley(wide, row=3, output="benign", n=4)
    own = wide.values[3, :, 0]
    order = np.argsort(-np.abs(own))
    assert len(ax.patches) == 5
    assert ax.patches[4].get_width() == pytest.approx(own[order[4:]].sum())
    assert ax.get_yticklabels()[4].get_text() == "26 others"


def test_standard_errors_are_written(sampled):
    ax = plot_shapley(sampled, row=2, output=1)
    assert sum(" ± " in text for text in texts_of(ax)) == 10
    largest = np.abs(sampled.values[2, :, 1]).argmax()
    value, error = sampled.values[2, largest, 1], sampled.standard_errors[2, largest, 1]
    assert f"{value:+.3g} ± {error:.2g}" in texts_of(ax)


# ------------------------------------------------------------------ all rows


def test_clouds_hold_all_values(of_frame):
    ax = plot_shapley_summary(of_frame, output=2)
    order = np.argsort(-np.abs(of_frame.values[:, :, 2]).mean(axis=0))
    assert [label.get_text() for label in ax.get_yticklabels()] == [of_frame.names[j] for j in order]
    drawn = np.concatenate([points.get_offsets() for points in ax.collections])
    for place, j in enumerate(order):
        own = drawn[np.abs(drawn[:, 1] - place) < 0.5]
        assert sorted(own[:, 0]) == pytest.approx(sorted(of_frame.values[:, j, 2]))
    assert len(drawn) == 60 * 4
    assert len(np.unique(np.round(drawn, 6), axis=0)) > 150, "points are kept apart"


def test_colours_are_places_of_cells(wide):
    ax = plot_shapley_summary(wide, n=3)
    top = wide.names.index(ax.get_yticklabels()[0].get_text())
    coloured = next(points for points in ax.collections if len(points.get_offsets()) and points.get_array() is not None)
    cells = wide.data.iloc[:, top].to_numpy()
    expected = np.searchsorted(np.unique(cells), cells) / (len(np.unique(cells)) - 1)
    assert np.asarray(coloured.get_array()) == pytest.approx(expected)
    assert ax.get_title() == "3 of 30 columns"
    assert ax.get_xlabel() == "Shapley value, probability of malignant"


# ------------------------------------------------------------------ one column


def test_values_stand_above_the_cells(wide):
    ax = plot_shapley_dependence(wide, "mean area", output="benign", by="mean texture")
    j = wide.names.index("mean area")
    drawn = np.concatenate([points.get_offsets() for points in ax.collections])
    expected = np.column_stack([wide.data["mean area"], wide.values[:, j, 0]])
    assert np.asarray(drawn) == pytest.approx(expected)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mean area", "Shapley value, probability of benign")
    assert [axes.get_ylabel() for axes in ax.figure.axes[1:]] == ["mean texture"]


def test_categories_and_missing_cells(of_frame):
    ax = plot_shapley_dependence(of_frame, "city", by="weight")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["Bern", "Bonn", "Oslo", "Rome", "missing"]
    drawn = np.concatenate([points.get_offsets() for points in ax.collections])
    counts = np.bincount(np.round(drawn[:, 0]).astype(int), minlength=5)
    cities = of_frame.data["city"].fillna("missing").value_counts()
    assert counts.tolist() == [cities[name] for name in ("Bern", "Bonn", "Oslo", "Rome", "missing")]
    ax = plot_shapley_dependence(of_frame, "size")
    crosses = [points for points in ax.collections if len(points.get_paths()[0].vertices) < 8]
    assert sum(len(points.get_offsets()) for points in crosses) == of_frame.data["size"].isna().sum() > 0
    assert max(points.get_offsets()[:, 0].max() for points in crosses) < of_frame.data["size"].min()


def test_bars_of_standard_errors(sampled):
    ax = plot_shapley_dependence(sampled, 3, output=0)
    bars = ax.collections[0].get_segments()
    assert len(bars) == 12
    heights = [bar[1, 1] - bar[0, 1] for bar in bars]
    assert heights == pytest.approx((2 * sampled.standard_errors[:, 3, 0]).tolist())


# ------------------------------------------------------------------ input


@pytest.mark.parametrize("draw", ALL)
def test_axes_are_those_given(draw, wide, of_frame):
    _, ax = pyplot.subplots()
    assert draw(wide, ax=ax) is ax
    draw(of_frame).figure.canvas.draw()


def test_other_tables():
    model, X = models.fitted("extra trees"), models.rows_for("extra trees", 12)
    import polars

    of_list = shapley_values(model, X.tolist())
    named = models.fitted("tree of a frame")
    table = models.rows_for("tree of a frame", 12)
    for values in (of_list, shapley_values(named, polars.from_pandas(table))):
        for draw in ALL:
            draw(values)


def test_all_cells_missing_or_equal():
    model = models.fitted("extra trees")
    for X in (np.full((3, 5), np.nan), np.ones((3, 5)), np.ones((1, 5))):
        for draw in ALL:
            draw(shapley_values(model, X)).figure.canvas.draw()


@pytest.mark.parametrize("draw", ALL)
def test_wrong_values(draw, of_frame):
    with pytest.raises(TypeError, match="takes the result of shapley_values"):
        draw(3)
    empty = replace(of_frame, values=of_frame.values[:0])
    with pytest.raises(ValueError, match="must have at least one row"):
        draw(empty)
    with pytest.raises(ValueError, match=r"'output' parameter .* must be one of '0', '1', '2', or a number below 3"):
        draw(of_frame, output="5")


def test_wrong_parameters(of_frame):
    with pytest.raises(ValueError, match=r"'row' parameter of plot_shapley must be an int in the range \[0, 59\]"):
        plot_shapley(of_frame, row=60)
    with pytest.raises(ValueError, match=r"'n' parameter of plot_shapley must be an int in the range \[1, inf\)"):
        plot_shapley(of_frame, n=0)
    with pytest.raises(
        ValueError, match=r"'feature' parameter of plot_shapley_dependence must be given for columns of X.* 'size'"
    ):
        plot_shapley_dependence(of_frame, "height")
    with pytest.raises(
        ValueError, match=r"'by' parameter of plot_shapley_dependence must be given for columns of X.* 'size'"
    ):
        plot_shapley_dependence(of_frame, "size", by=4)
