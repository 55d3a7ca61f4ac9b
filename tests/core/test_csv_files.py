"""Tables from text, beside pandas."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.core.csv_files import MISSING, frames_of, parse_column, parse_labels
from softwood.core.frames import Frame


def read(text, **options):
    return list(frames_of(io.StringIO(text, newline=""), **options))


# Numbers that earlier versions of pandas read by default can be off in the last bit.
EXACT = {} if int(pd.__version__.partition(".")[0]) >= 3 else {"float_precision": "round_trip"}


def equal(array, series):
    """Whether a column is that of pandas."""
    is_missing = pd.isna(pd.Series(array)).to_numpy()
    if not np.array_equal(is_missing, series.isna().to_numpy()):
        return False
    return array[~is_missing].tolist() == series[~is_missing].tolist()


NUMBERS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr), st.integers(-(2**62), 2**62).map(str),
    st.sampled_from(["1e5", "-.5", "7.", "+3", "007", " 4", "inf", "-inf", "1E-3"]),
)  # fmt: skip
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n", exclude_categories=["Cs"]), max_size=6)
CELLS = {
    "numbers": NUMBERS,
    "whole": st.integers(-(2**62), 2**62).map(str),
    "flags": st.sampled_from(["True", "False", "true", "FALSE"]),
    "text": st.sampled_from(["Rome", "Oslo, N", 'a "b"', "1_000", "x\ny", "0x10", "à", "1,5"]),
}


@pytest.mark.parametrize("kind", CELLS)
@given(data=st.data())
def test_columns_are_those_of_pandas(kind, data):
    cell = st.one_of(CELLS[kind], st.sampled_from(sorted(MISSING)))
    cells = data.draw(st.lists(cell, min_size=1, max_size=8))
    text = pd.DataFrame({"a": pd.Series(cells, dtype=object), "b": "z"}).to_csv(index=False)
    (table,) = read(text)
    expected = pd.read_csv(io.StringIO(text), low_memory=False, **EXACT)
    assert equal(table["a"], expected["a"]), (table["a"], expected["a"])


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=5))
def test_text_is_kept(rows):
    frame = pd.DataFrame(rows, columns=["first", "second"]).assign(third="end")
    tables = read(frame.to_csv(index=False), as_text=["first", "second", "third"])
    assert tables[0]["first"].tolist() == frame["first"].tolist()
    assert tables[0]["second"].tolist() == frame["second"].tolist()


@pytest.mark.tiny
def test_dates():
    days = ["2020-01-31", "2020-02-29 12:30", "2020-02-29T12:30:05.25", "NA"]
    found = parse_column(days)
    assert found.dtype == "M8[us]"
    assert found[:3].tolist() == pd.to_datetime(days[:3], format="ISO8601").to_pydatetime().tolist()
    assert np.isnat(found[3])
    aware = parse_column(["2020-01-31 12:00+02:00", "2020-01-31T12:00Z"])
    assert [str(value) for value in aware] == ["2020-01-31 10:00:00+00:00", "2020-01-31 12:00:00+00:00"]
    for other in ("2020-02-30", "31.12.2020", "2020-01-31 12:00Z", "2020-1-5", "2020", "soon"):
        assert parse_column(["2020-01-31", other]).dtype == object


@pytest.mark.tiny
def test_blocks_and_columns():
    text = "a,b\n" + "".join(f"{k},x\n" for k in range(10))
    assert [len(table) for table in read(text, n_rows=4)] == [4, 4, 2]
    assert read(text, only=["b"])[0].columns == ["b"]
    assert read("") == read("\n\n") == read("a,b\n") == []
    assert [table.columns for table in read("\ufeffa,,b\n1,2,3\n")] == [["a", "Unnamed: 1", "b"]]
    short = read("a;b\n1,5;2\n\n2,5\n", separator=";", decimal=",")[0]
    assert short["a"].tolist() == [1.5, 2.5]
    assert short["b"].tolist()[0] == 2.0
    assert np.isnan(short["b"][1])


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2,3\n", "line 2 there are 3 cells, and 2 columns"),
        ("a,b,a\n1,2,3\n", "2 columns with the name 'a'; rename them"),
        ('a,b\n1,"2\n', "unexpected end of data"),
        ("a,b\n1,\0\n", "zero byte|NUL"),
    ],
)
def test_what_is_no_table(text, message):
    with pytest.raises(ValueError, match=message):
        read(text)


@pytest.mark.tiny
def test_labels():
    def found(cells, **options):
        return parse_labels(np.array(cells, dtype=object), **options)[0].tolist()

    assert found(["003", "004"]) == ["003", "004"]
    assert found(["003", "004"], task="regression") == [3, 4]
    assert found(["1", "2"]) == [1, 2]
    assert found(["1", "2"], classes=["1", "2"]) == ["1", "2"]
    assert found(["1", "1.0"], task="classification") == ["1", "1.0"]
    assert found(["NA", "SA", " "]) == ["NA", "SA", None]
    assert found(["True", "False"]) == [True, False]
    assert parse_labels(np.array(["NA", "SA"], dtype=object))[1] == ["NA"]


@pytest.mark.tiny
def test_frames():
    table = Frame({"a": np.arange(3.0), "b": np.array(["x", None, "y"], dtype=object)})
    assert table[["b"]].columns == table.drop(["a"]).columns == ["b"]
    assert table[np.array([2, 0])]["a"].tolist() == [2.0, 0.0]
    assert table[1:].to_dicts() == [{"a": 1.0, "b": None}, {"a": 2.0, "b": "y"}]
    assert np.asarray(table).tolist() == [[0.0, "x"], [1.0, None], [2.0, "y"]]
    assert np.asarray(table[["a"]]).dtype == np.float64
    with pytest.raises(ValueError, match="same length"):
        Frame({"a": np.arange(3), "b": np.arange(2)})


def test_arrow(tmp_path):
    table = pd.DataFrame({
        "day": pd.to_datetime(["2020-01-01", None]), "when": pd.to_datetime(["2020-01-01", None], utc=True),
        "kind": pd.Categorical(["u", None]), "n": pd.array([1, None], dtype="Int64"), "flag": [True, False],
        "word": ["a", None],
    })  # fmt: skip
    import pyarrow as pa

    found = Frame.from_arrow(pa.Table.from_pandas(table.set_axis([3, 4])))
    assert found.columns == list(table.columns)
    assert [str(dtype) for dtype in found.dtypes] == ["datetime64[us]", "object", "object", "float64", "bool", "object"]
    assert found["kind"].tolist() == ["u", None]
