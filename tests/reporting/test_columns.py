"""Ranges of sliders, and rows to choose from."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softwood
from softwood import SoftTree
from softwood.fitted import FittedModel
from softwood.reporting.columns import column_facts, row_cells
from tests.export.models import fitted, fitted_to_frames, frame, mixed_tree


def test_only_columns_that_gates_read():
    tree = SoftTree.from_nodes(
        children_left=[1, -1, -1], children_right=[2, -1, -1], feature=[2, -1, -1], threshold=[1.0, np.nan, np.nan],
        width=[0.5, 0, 0], value=[[0.0], [0.0], [1.0]], n_features=4,
    )  # fmt: skip
    known = FittedModel.of(tree)
    (fact,) = column_facts(known, None, None)
    assert fact["input"] == 2
    assert fact["low"] <= 0.5 < 1.5 <= fact["high"]


def test_ranges_of_rows():
    known = FittedModel.of(mixed_tree())
    X = np.column_stack([np.arange(11.0), np.linspace(0, 1, 11), np.full(11, 3.0), np.full(11, np.nan)])
    facts = {fact["input"]: fact for fact in column_facts(known, X, np.array([0.1, 0.4, 0.3, 0.2]))}
    assert list(facts) == [1, 2, 3, 0]  # the most important first
    assert (facts[0]["low"], facts[0]["high"], facts[0]["isWhole"], facts[0]["start"]) == (0, 10, True, 5)
    np.testing.assert_allclose(facts[1]["quantiles"], [0.05, 0.25, 0.5, 0.75, 0.95])
    assert not facts[1]["isWhole"]
    assert facts[2]["low"] < 3 < facts[2]["high"]  # a constant column can be moved too
    assert facts[3]["quantiles"] == []
    assert facts[3]["low"] < facts[3]["high"]


@pytest.mark.parametrize("name", ["soft tree", "discriminant tree", "kernel tree, box", "soft Hoeffding tree"])
def test_ranges_without_rows_contain_the_thresholds(name):
    known = FittedModel.of(fitted()[name])
    for fact in column_facts(known, None, None):
        feature = fact["features"][0]
        thresholds = known.trees.threshold[known.trees.feature == feature]
        assert fact["low"] < fact["start"] < fact["high"]
        assert np.all((thresholds >= fact["low"]) & (thresholds <= fact["high"]))


@given(
    st.lists(
        st.tuples(st.floats(-9, 9), st.sampled_from(["a", "b", "c", None]), st.sampled_from(["x", "y", None])),
        min_size=1,
    )
)
def test_cells_of_rows_are_those_of_the_table(rows):
    table = pd.DataFrame(rows, columns=["n", "three", "two"]).astype({"three": object, "two": object})
    whole = pd.DataFrame({"n": [0.0, 1.0, 2.0], "three": ["a", "b", "c"], "two": ["x", "y", "x"]}).astype(table.dtypes)
    model = softwood.KernelTreeClassifier(bandwidth=0.1, categorical_features=["three", "two"]).fit(whole, [0, 1, 1])
    known = FittedModel.of(model).one_hot()
    cells = row_cells(known, known.encode(table))
    for i, (number, three, two) in enumerate(rows):
        assert cells[0][i] == number
        for cell, given_one, j in ((cells[1][i], three, 1), (cells[2][i], two, 2)):
            assert (cell is None) if given_one is None else (known.columns.categories[j][cell] == given_one)


def test_unknown_categories():
    batch, growing = fitted_to_frames()["kernel tree of a frame"], fitted_to_frames()["Hoeffding tree of a frame"]
    table = frame(3)
    table["city"] = ["Rome", "Bergen", None]
    for model, expected in ((batch, None), (growing, -1)):
        known = FittedModel.of(model).one_hot()
        cells = row_cells(known, known.encode(table))[list(table.columns).index("city")]
        assert cells[1:] == [expected, None]
        assert known.columns.categories[2][cells[0]] == "Rome"
