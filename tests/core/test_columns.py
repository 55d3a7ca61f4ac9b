"""Columns by name and number."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from softwood.core.columns import Columns, column_titles, find_column


@pytest.mark.tiny
def test_columns_by_name_or_number():
    text = ("a", "b", "c")
    assert find_column("model", "kernel", "c", text) == 2
    assert find_column("model", "kernel", np.int64(1), text) == 1
    for wrong in ("d", 3, -1, True, 1.0, None, [0], np.zeros(2)):
        with pytest.raises(ValueError, match=r"'kernel' parameter of model .* by name or number \(3: 'a', 'b', 'c'\)"):
            find_column("model", "kernel", wrong, text)
    numbers = ("x[2]", "x[1]", "x[0]"), (2, 1, 0)
    assert [find_column("model", "kernel", name, *numbers) for name in (0, np.int64(2), 1.0, "x[1]")] == [2, 0, 1, 1]
    for wrong in (3, True, "2"):
        with pytest.raises(ValueError, match=r"'kernel' parameter of model .* by name \(3: 2, 1, 0\)"):
            find_column("model", "kernel", wrong, *numbers)
    tuples = ("('a', 1)", "('a', 2)"), (("a", 1), ("a", 2))
    assert [find_column("model", "kernel", name, *tuples) for name in (("a", 2), ("a", np.int64(1)), 1)] == [1, 0, 1]


@pytest.mark.tiny
def test_titles_of_columns():
    assert column_titles(np.zeros((1, 2))) == (("x[0]", "x[1]"), None)
    assert column_titles(pl.DataFrame({"a": [1], "b": [2]})) == (("a", "b"), None)
    frame = pd.DataFrame(np.zeros((1, 2)))
    assert column_titles(frame) == (("x[0]", "x[1]"), (0, 1))
    frame.columns = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
    assert column_titles(frame) == (("('a', 1)", "('b', 2)"), (("a", 1), ("b", 2)))
    frame.columns = pd.to_datetime(["2020-01-01", "2020-01-02"])
    assert column_titles(frame)[1] == ("2020-01-01 00:00:00", "2020-01-02 00:00:00")
    frame.columns = [np.nan, None]
    assert column_titles(frame)[1] == column_titles(frame.copy())[1]


@pytest.mark.tiny
def test_numbers_by_column_and_back():
    columns = Columns(("a", "b=u", "b=v", "b=w"), np.array([0, 1, 1, 1]), (None, ("u", "v", "w")), ("a", "b"))
    assert columns.add_up(np.array([1.0, 2, 3, 4])).tolist() == [1, 9]
    assert columns.spread(np.array([5.0, 6])).tolist() == [5, 6, 6, 6]
    assert columns.spread(np.array([[5.0, 6], [7, 8]])).tolist() == [[5, 6, 6, 6], [7, 8, 8, 8]]
