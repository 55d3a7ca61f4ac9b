"""Growing encoding of tables that come in blocks; that of dicts is tested with the models for river."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from softwood.core.columns import MAX_CATEGORIES
from tests.core.readers import GrowingReader


def parts(frame):
    yield frame({"size": [1.0, None], "town": ["Rome", "Oslo"], "flag": [True, False]})
    yield frame({"size": [3.0, 4.0, 5.0], "town": [None, "Lima", "Rome"], "flag": [None, True, True]})


@pytest.mark.tiny
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_new_categories_get_the_last_columns(frame):
    reader, nan = GrowingReader(), np.nan
    first, second = parts(frame)
    found = reader.read(first)
    assert reader.arrivals == [0, 0, 0, 1, 1]
    assert reader.columns_.names == ("size", "town=Rome", "flag=True", "town=Oslo", "flag=False")
    assert np.array_equal(found, [[1, 1, 1, 0, 0], [nan, 0, 0, 1, 1]], equal_nan=True)
    unknown = reader.read(second, learn=False)
    assert np.array_equal(
        unknown, [[3, nan, nan, nan, nan], [4, 0, 1, 0, 0], [5, 1, 1, 0, 0]], equal_nan=True
    )  # Lima is none of the known
    assert reader.arrivals == []
    found = reader.read(second)
    assert reader.arrivals == [1]
    assert reader.columns_.names == ("size", "town=Rome", "flag=True", "town=Oslo", "flag=False", "town=Lima")
    assert np.array_equal(found, np.column_stack([unknown, [nan, 1, 0]]), equal_nan=True)
    assert reader.columns_.source.tolist() == [0, 1, 2, 1, 2, 1]
    assert reader.columns_.categories == (None, ("Rome", "Oslo", "Lima"), (True, False))
    assert reader.columns_.add_up(np.arange(6.0)).tolist() == [0, 9, 6]
    assert found.dtype == np.float64
    assert found.flags.c_contiguous
    assert reader.read(first).shape == (2, 6)


@pytest.mark.tiny
def test_arrays_and_lists_in_parts():
    reader = GrowingReader(categorical_features=[1])
    reader.read(np.array([[0.5, 3.0], [np.nan, 4.0]]))
    assert reader.columns_.names == ("x[0]", "x[1]=3.0", "x[1]=4.0")
    assert reader.read([[1.5, 4.0]], learn=False).tolist() == [[1.5, 0, 1]]
    assert reader.read([[1.5, 9.0]], learn=False).tolist() == [[1.5, 0, 0]]
    assert np.isnan(reader.read([[None, np.nan]], learn=False)).all()
    for wrong in ([[1.0]], [[1.0, 2.0, 3.0]]):
        with pytest.raises(ValueError, match="is expecting 2 features"):
            reader.read(wrong)
    with pytest.raises(ValueError, match="0 sample"):
        reader.read(np.empty((0, 2)))
    with pytest.raises(ValueError, match=r"Column 'x\[0\]' .*infinity"):
        reader.read(np.array([[np.inf, 3.0]]))
    with pytest.raises(ValueError, match=r"Column 'x\[0\]' was expected to hold numbers for GrowingReader"):
        reader.read(np.array([["a", 3.0]], dtype=object))


@pytest.mark.tiny
def test_numbers_in_parts_are_read_as_they_are():
    reader = GrowingReader()
    X = np.array([[1.0, np.nan], [2.0, 3.0]])
    assert np.array_equal(reader.read(X), X, equal_nan=True)
    assert np.array_equal(reader.read(X.tolist()), X, equal_nan=True)
    assert reader.columns_.names == ("x[0]", "x[1]")


@pytest.mark.tiny
def test_text_that_is_all_missing_at_first():
    reader = GrowingReader()
    nothing = pd.DataFrame({"town": pd.Series([None, None], dtype="str")})
    assert reader.read(nothing).shape == (2, 0)
    assert reader.columns_.categories == ((),)
    assert reader.read(pd.DataFrame({"town": ["Rome"]}), learn=False).shape == (1, 0)
    assert reader.read(pd.DataFrame({"town": ["Rome", None]})).tolist()[0] == [1.0]
    assert reader.columns_.names == ("town=Rome",)


@pytest.mark.tiny
def test_too_many_categories_in_the_end():
    reader = GrowingReader()
    reader.read(pd.DataFrame({"id": [f"{i}" for i in range(MAX_CATEGORIES)]}))
    before = reader.columns_
    assert not reader.read(pd.DataFrame({"id": ["one more"]})).any()
    assert reader.columns_.names == before.names
    assert reader.read(pd.DataFrame({"id": ["one more", "0"]}), learn=False).sum() == 1.0
    with pytest.raises(ValueError, match="feature names should match"):
        reader.read(pd.DataFrame({"name": ["0"]}))
