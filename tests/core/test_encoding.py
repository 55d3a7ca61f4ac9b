import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from softwood import KernelTreeClassifier
from softwood.core.columns import MAX_CATEGORIES
from tests.core.readers import GrowingReader, Reader


def messy_pandas():
    return pd.DataFrame(
        {
            "number": [1.5, np.nan, -2.0, 0.0],
            "whole": pd.array([1, 2, None, 4], dtype="Int64"),
            "kind": pd.Categorical(["b", None, "a", "b"], categories=["c", "b", "a"]),
            "word": ["x", "y", None, "z"],
            "flag": [True, False, True, True],
            "maybe": pd.array([True, None, False, False], dtype="boolean"),
            "loose": np.array([1, 2.5, None, 3], dtype=object),
        }
    )


def messy_polars():
    return pl.DataFrame(
        {
            "number": [1.5, None, -2.0, 0.0],
            "whole": [1, 2, None, 4],
            "kind": pl.Series(["b", None, "a", "b"], dtype=pl.Enum(["c", "b", "a"])),
            "word": ["x", "y", None, "z"],
            "flag": [True, False, True, True],
            "maybe": [True, None, False, False],
            "loose": [1.0, 2.5, None, 3.0],
        }
    )


@pytest.mark.tiny
@pytest.mark.parametrize("frame", [messy_pandas, messy_polars])
def test_messy_frames(frame):
    reader = Reader()
    matrix = reader.learn(frame())
    names = ("number", "whole", "kind=b", "word=x", "word=y", "word=z", "flag=True", "maybe=True", "loose")
    assert reader.columns_.names == names
    nan = np.nan
    expected = [
        [1.5, 1, 1, 1, 0, 0, 1, 1, 1],
        [nan, 2, nan, 0, 1, 0, 0, nan, 2.5],
        [-2, nan, 0, nan, nan, nan, 1, 0, nan],
        [0, 4, 1, 0, 0, 1, 1, 0, 3],
    ]
    assert np.array_equal(matrix, expected, equal_nan=True)
    assert matrix.dtype == np.float64
    assert matrix.flags.c_contiguous
    assert reader.columns_.categories[2] == ("a", "b")
    assert reader.columns_.categories[0] is None
    assert reader.columns_.source.tolist() == [0, 1, 2, 3, 3, 3, 4, 5, 6]
    assert reader.columns_.is_category.tolist() == [False, False, True, True, True, True, True, True, False]
    assert np.array_equal(reader.read(frame()), expected, equal_nan=True)


@pytest.mark.tiny
@pytest.mark.parametrize("frame", [messy_pandas, messy_polars])
def test_other_rows_are_read_with_what_was_learned(frame):
    reader = Reader()
    whole = reader.learn(frame())
    assert np.array_equal(reader.read(frame()[:1]), whole[:1], equal_nan=True)
    assert np.array_equal(reader.read(frame()[2:]), whole[2:], equal_nan=True)


@pytest.mark.tiny
def test_a_frame_of_numbers_is_the_array():
    array = np.array([[1.0, np.nan], [3.0, 4.0]])
    for X in (array, array.tolist(), pd.DataFrame(array), pl.DataFrame(array), array.astype(np.float32)):
        reader = Reader()
        assert np.array_equal(reader.learn(X), array, equal_nan=True)
    assert Reader().learn(np.array([[True], [False]])).tolist() == [[1], [0]]


@pytest.mark.tiny
def test_names():
    reader = Reader()
    reader.learn(np.zeros((2, 2)))
    assert reader.columns_.names == ("x[0]", "x[1]")
    reader.learn(pd.DataFrame(np.zeros((2, 2)), columns=["a", "b=c"]))
    assert reader.columns_.names == reader.columns_.inputs == ("a", "b=c")


@pytest.mark.tiny
def test_two_categories_take_one_column_and_one_takes_one():
    reader = Reader()
    matrix = reader.learn(pd.DataFrame({"a": ["u", "v", "u"], "b": ["w", "w", "w"]}))
    assert reader.columns_.names == ("a=v", "b=w")
    assert matrix.tolist() == [[0, 1], [1, 1], [0, 1]]


@pytest.mark.tiny
def test_a_column_without_any_category():
    reader = Reader()
    matrix = reader.learn(pd.DataFrame({"a": pd.Categorical([None, None]), "b": [1.0, 2.0]}))
    assert matrix.shape[0] == 2
    assert matrix[:, -1].tolist() == [1, 2]
    assert reader.columns_.add_up(np.ones(matrix.shape[1])).shape == (2,)


@pytest.mark.tiny
@pytest.mark.parametrize(
    "categorical", [["kind"], [1], np.array([False, True]), (1,), {1}, np.array([1]), [np.int32(1)], [False, True]]
)
def test_columns_named_as_categories(categorical):
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "kind": [10, 20, 30]})
    reader = Reader(categorical)
    reader.learn(frame)
    assert reader.columns_.names == ("size", "kind=10", "kind=20", "kind=30")
    if not isinstance(categorical, list) or categorical != ["kind"]:
        array = Reader(categorical)
        assert array.learn(frame.to_numpy()).tolist() == reader.read(frame).tolist()


@pytest.mark.tiny
def test_object_arrays():
    cells = np.array([[1, "a"], [None, "b"], [2.5, None], [np.nan, "c"]], dtype=object)
    reader = Reader([1])
    matrix = reader.learn(cells)
    nan = np.nan
    expected = [[1, 1, 0, 0], [nan, 0, 1, 0], [2.5, nan, nan, nan], [nan, 0, 0, 1]]
    assert np.array_equal(matrix, expected, equal_nan=True)
    assert np.array_equal(Reader().learn(cells[:, :1]), [[1], [nan], [2.5], [nan]], equal_nan=True)
    with pytest.raises(ValueError, match=r"Column 'x\[1\]' .* for Reader: could not convert string to float: 'a'"):
        Reader().learn(cells)


@pytest.mark.tiny
def test_none_takes_no_categories():
    with pytest.raises(ValueError, match="could not convert"):
        Reader(None).learn(pd.DataFrame({"a": ["u", "v"]}))


@pytest.mark.tiny
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("with_text", [False, True])
@pytest.mark.parametrize("value", [datetime.datetime(2024, 1, 1), datetime.timedelta(days=1)])
def test_dates_are_refused_by_name(frame, with_text, value):
    columns = {"size": [1.0, 2.0], "when": [value] * 2} | ({"word": ["u", "v"]} if with_text else {})
    with pytest.raises(ValueError, match="Column 'when' holds dates"):
        Reader().learn(frame(columns))


@pytest.mark.tiny
@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("with_text", [False, True])
def test_infinity_is_refused_by_name(value, with_text):
    frame = pd.DataFrame({"size": [1.0, np.nan], "weight": [0.0, value]})
    if with_text:
        frame["word"] = ["u", "v"]
    with pytest.raises(ValueError, match="Column 'weight' contains infinity"):
        Reader().learn(frame)
    with pytest.raises(ValueError, match=r"Column 'x\[1\]' contains infinity"):
        Reader().learn(frame[["size", "weight"]].to_numpy())


@pytest.mark.tiny
def test_huge_numbers_are_not_infinity():
    X = np.full((3, 2), 1.7e308)
    assert Reader().learn(X).max() == 1.7e308


@pytest.mark.tiny
def test_text_where_numbers_were_is_refused_by_name():
    reader = Reader()
    reader.learn(pd.DataFrame({"size": [1.0, 2.0], "word": ["u", "v"]}))
    with pytest.raises(ValueError, match="Column 'size' was expected to hold numbers for Reader: could not convert"):
        reader.read(pd.DataFrame({"size": ["big", "small"], "word": ["u", "v"]}))


@pytest.mark.tiny
@pytest.mark.parametrize("make", [np.array, lambda cells: np.array(cells, dtype=str), list])
def test_text_in_arrays_is_refused_by_name(make):
    X = make([[1.0, 2.0, 3.0], [1.0, 2.0, "abc"]])
    message = r"Column 'x\[2\]' was expected to hold numbers for \w*Reader: could not convert .* 'abc'"
    with pytest.raises(ValueError, match=message):
        Reader().learn(X)
    with pytest.raises(ValueError, match=message):
        GrowingReader().read(X)
    reader = Reader()
    reader.learn(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=message):
        reader.read(X)


@pytest.mark.tiny
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_text_in_frames_of_numbers_is_refused_by_name(frame):
    reader = Reader()
    reader.learn(frame({"size": [1.0, 2.0], "weight": [1.0, 2.0]}))
    with pytest.raises(ValueError, match=r"Column 'weight' was expected to hold numbers for Reader: .* 'heavy'"):
        reader.read(frame({"size": [1.0, 2.0], "weight": ["heavy", "light"]}))
    # what is wrong with the columns comes first
    with pytest.raises(ValueError, match="feature names should match"):
        reader.read(frame({"size": [1.0, 2.0], "colour": ["red", "blue"]}))


@pytest.mark.tiny
def test_other_objects_are_refused_by_name():
    cells = np.array([[1.0, 2.0], [1.0, {}]], dtype=object)
    with pytest.raises(TypeError, match=r"Column 'x\[1\]' holds a dict. A cell of this argument must be one string"):
        Reader().learn(cells)
    with pytest.raises(TypeError, match=r"Column 'b' holds a dict. A cell of this argument must be one string"):
        Reader().learn(pd.DataFrame(cells, columns=["a", "b"]))


@pytest.mark.tiny
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_all_kinds_of_missing_values_beside_numbers(missing):
    cells = np.array([[1.0, 2.0], [3, missing]], dtype=object)
    expected = [[1, 2], [3, np.nan]]
    for X in (cells, cells.tolist(), pd.DataFrame(cells, columns=["a", "b"])):
        reader = Reader()
        assert np.array_equal(reader.learn(X), expected, equal_nan=True)
        assert np.array_equal(reader.read(X), expected, equal_nan=True)
        assert np.array_equal(GrowingReader().read(X), expected, equal_nan=True)


@pytest.mark.tiny
@pytest.mark.parametrize("kind", ["datetime64[s]", "timedelta64[D]"])
def test_dates_in_arrays_are_refused_by_name(kind):
    X = np.arange(6).reshape(3, 2).astype(kind)
    for read in (Reader().learn, Reader([1]).learn):
        with pytest.raises(ValueError, match=r"Column 'x\[0\]' holds dates \("):
            read(X)
    assert Reader([0, 1]).learn(X).shape == (3, 6)  # as categories they are as good as any other
    reader = Reader()
    reader.learn(np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"Column 'x\[0\]' held numbers in fit, and holds dates now"):
        reader.read(X)


@pytest.mark.tiny
@pytest.mark.parametrize(
    "value",
    [
        datetime.datetime(2024, 1, 1), datetime.date(2024, 1, 1), datetime.timedelta(days=1), datetime.time(12),
        pd.Timestamp("2024-01-01"), pd.Period("2024-01"), np.datetime64("2024-01-01"), np.timedelta64(1, "D"),
    ],
)  # fmt: skip
def test_dates_among_objects_are_refused_by_name(value):
    cells = np.array([[1.0, 2.0], [3.0, None]], dtype=object)
    cells[1, 1] = value
    with pytest.raises(ValueError, match=r"Column 'x\[1\]' holds dates"):
        Reader().learn(cells)
    if not isinstance(value, np.generic):
        with pytest.raises(ValueError, match=r"Column 'x\[1\]' holds dates"):
            Reader().learn(cells.tolist())
    with pytest.raises(ValueError, match="Column 'when' holds dates"):
        Reader().learn(pd.DataFrame({"size": [1.0, 2.0], "when": cells[:, 1]}))


@pytest.mark.tiny
def test_a_lazy_frame_is_to_be_collected():
    lazy = pl.LazyFrame({"size": [1.0, 2.0], "word": ["u", "v"]})
    for read in (Reader().learn, GrowingReader().read, Reader(["word"]).learn):
        with pytest.raises(TypeError, match=r"X is a LazyFrame.* call \.collect\(\) .* \w*Reader"):
            read(lazy)
    reader = Reader()
    reader.learn(lazy.collect())
    with pytest.raises(TypeError, match=r"call \.collect\(\)"):
        reader.read(lazy)


@pytest.mark.tiny
@pytest.mark.parametrize("categorical", ["from_dtype", [0]])
@pytest.mark.parametrize("X", [[1.0, 2.0], np.zeros(2), pd.Series([1.0, 2.0]), pl.Series([1.0, 2.0])])
def test_a_single_column_is_no_table(categorical, X):
    for read in (Reader(categorical).learn, GrowingReader(categorical).read):
        with pytest.raises(ValueError, match=r"Expected 2D array|Expected a 2-dimensional container"):
            read(X)
    reader = Reader(categorical)
    reader.learn(np.zeros((2, 1)))
    with pytest.raises(ValueError, match=r"Expected 2D array|Expected a 2-dimensional container"):
        reader.read(X)


@pytest.mark.tiny
def test_lists_with_categories():
    rows = [[1.0, "a"], [2.5, "b"], [None, "c"]]
    reader = Reader([1])
    assert np.array_equal(reader.learn(rows), [[1, 1, 0, 0], [2.5, 0, 1, 0], [np.nan, 0, 0, 1]], equal_nan=True)
    assert reader.read(rows[1:2]).tolist() == [[2.5, 0, 1, 0]]


@pytest.mark.tiny
def test_unknown_categories_are_missing_values():
    reader = Reader()
    reader.learn(pd.DataFrame({"word": ["u", "v", "w"], "two": ["no", "yes", "no"], "x": [1.0, 2.0, 3.0]}))
    found = reader.read(pd.DataFrame({"word": ["u", "q"], "two": ["perhaps", "yes"], "x": [5.0, 6.0]}))
    nan = np.nan
    assert np.array_equal(found, [[1, 0, 0, nan, 5], [nan, nan, nan, 1, 6]], equal_nan=True)


@pytest.mark.tiny
def test_unknown_categories_are_refused_by_name():
    reader = Reader(handle_unknown="error")
    reader.learn(pd.DataFrame({"word": ["u", "v", "w"]}))
    with pytest.raises(ValueError, match=r"Column 'word' holds categories that were not seen in fit: \['q'\]"):
        reader.read(pd.DataFrame({"word": ["u", "q"]}))
    assert np.isnan(reader.read(pd.DataFrame({"word": ["u", None]}))[1]).all()


@pytest.mark.tiny
def test_too_many_categories_are_refused_by_name():
    words = [f"id{k}" for k in range(MAX_CATEGORIES + 1)]
    assert Reader().learn(pd.DataFrame({"word": words[1:]})).shape == (MAX_CATEGORIES, MAX_CATEGORIES)
    with pytest.raises(ValueError, match="Column 'word' has 256 different categories, more than the 255 that Reader"):
        Reader().learn(pd.DataFrame({"word": words}))


@pytest.mark.tiny
@pytest.mark.parametrize("frame", [messy_pandas, messy_polars])
def test_other_columns_than_at_fit(frame):
    reader = Reader()
    X = frame()
    reader.learn(X)
    names = list(X.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        reader.read(X[names[::-1]])
    with pytest.raises(ValueError, match="feature names should match"):
        reader.read(X[names[:-1]])
    numbers = Reader()
    numbers.learn(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="X has 4 features, but Reader is expecting 3 features"):
        numbers.read(np.zeros((2, 4)))


@pytest.mark.tiny
def test_no_rows_and_no_columns():
    for X in (np.empty((0, 2)), pd.DataFrame({"a": pd.Series([], dtype="str")})):
        with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
            Reader().learn(X)
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        Reader().learn(np.empty((3, 0)))
    with pytest.raises(ValueError, match="2D array"):
        Reader().learn(np.zeros(3))


@pytest.mark.tiny
@pytest.mark.parametrize(
    "wanted",
    [
        "all", "a", ["colour"], [7], [-1], np.array([True]), 3, 0, 1.5, True, object(), {"a": True}, [1.0], [[0]],
        [None], np.array([[0]]), np.array([[True, False]]), np.array(0), [[0], [0, 1]],
    ],
)  # fmt: skip
def test_wrong_categorical_features(wanted):
    with pytest.raises(ValueError, match="'categorical_features' parameter of Reader"):
        Reader(wanted).learn(pd.DataFrame({"a": ["u", "v"], "b": [1, 2]}))


def test_categories_in_a_model():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=200), "city": rng.choice(["Rome", "Oslo", "Lima"], size=200)})
    y = (frame["city"] == "Oslo").to_numpy()
    model = KernelTreeClassifier(bandwidth=0.5).fit(frame, y)
    assert model.bandwidths_.tolist() == [model.bandwidths_[0], 0]
    assert model.score(frame, y) == 1.0
    assert model.feature_importances_ == pytest.approx([0, 1], abs=1e-9)
    assert np.all(model.input_gradient(frame)[:, :, 1] == 0)
    # a missing city is any of them
    unknown = model.predict_proba(pd.DataFrame({"size": [0.0], "city": [None]}))
    assert unknown[0, 1] == pytest.approx(y.mean())


def test_identifiers_are_missing_in_fit_unless_they_are_named():
    words = [f"number {i}" for i in range(25)]
    frame = pd.DataFrame({"row": words, "few": words[:5] * 5, "city": [*words[:20], *[None] * 5]})
    matrix, reader = Reader().learn(frame), Reader(categorical_features=["row", "few", "city"])
    assert np.isnan(matrix[:, :25]).all()
    assert matrix[:, 25:30].sum() == 25
    assert np.isnan(matrix[:, 30:]).all()
    assert np.array_equal(reader.learn(frame)[:, :25].sum(axis=1), np.ones(25))
    assert not np.isnan(Reader().learn(frame[:19])).any()
    assert not np.isnan(Reader().learn(frame.assign(row=[*words[:24], words[0]]))[:, :24]).any()
