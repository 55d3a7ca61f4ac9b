import gzip
import sys
from collections.abc import Iterator

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from softwood.core.frames import Frame
from softwood.stream.evaluation.sources import Block, RowReader, open_stream

N = 2500


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": rng.normal(size=N),
            "city": rng.choice(["Oslo", "Rome"], N),
            "n": np.arange(N),
            "label": ["x", "y"] * 1250,
        }
    )


def test_lazy_frames_are_to_be_collected(frame):
    lazy = pl.from_pandas(frame).lazy()
    for stream, target in ((lazy, "label"), ((lazy.drop("label"), frame["label"]), None)):
        with pytest.raises(TypeError, match=r"stream is a LazyFrame, .* call \.collect\(\) .* to prequential"):
            open_stream(stream, target=target, block_size=10, max_samples=None)


class Codes:
    """A stream as those of softwood: codes of classes, without an end."""

    classes = np.array(["no", "yes"])
    feature_names = ("u", "v")

    def blocks(self, n_samples, block_size):
        for start in range(0, n_samples, block_size):
            rows = np.arange(start, min(start + block_size, n_samples))
            yield np.c_[rows, -rows], rows % 2


def read(stream, **options):
    blocks = list(open_stream(stream, **options).blocks)
    assert all(0 < len(block) <= options.get("block_size", 1000) for block in blocks)
    return blocks


def stacked(blocks):
    y = np.concatenate([block.y for block in blocks])
    if hasattr(blocks[0].rows, "iloc"):
        return pd.concat([block.rows for block in blocks]), y
    return np.concatenate([np.asarray(block.rows) for block in blocks]), y


def test_streams_of_softwood():
    source = open_stream(Codes(), block_size=40, max_samples=100)
    assert source.n_samples == 100
    assert source.feature_names == ("u", "v")
    assert source.find_classes().tolist() == ["no", "yes"]
    X, y = stacked(list(source.blocks))
    assert np.array_equal(X, np.c_[np.arange(100), -np.arange(100)])
    assert y.tolist() == ["no", "yes"] * 50


def test_streams_of_softwood_that_end():
    stream = Codes()
    stream.n_samples, stream.position = 70, 20
    assert open_stream(stream).n_samples == 50
    assert open_stream(stream, max_samples=10).n_samples == 10


def test_streams_without_an_end_need_one():
    with pytest.raises(ValueError, match="'max_samples' parameter of prequential must be an int for a stream without"):
        open_stream(Codes())


def test_arrays_are_sliced_not_copied():
    X, y = np.random.default_rng(0).normal(size=(N, 3)), np.arange(N)
    blocks = read((X, y))
    assert [len(block) for block in blocks] == [1000, 1000, 500]
    assert all(np.shares_memory(block.rows, X) and np.shares_memory(block.y, y) for block in blocks)
    assert [len(block) for block in read((X, y), block_size=300, max_samples=700)] == [300, 300, 100]
    assert read((X.astype(np.float32), y))[0].rows.dtype == np.float64
    assert read((X.tolist(), y.tolist()))[0].rows.dtype == np.float64


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_frames(frame, kind):
    table = kind(frame.to_dict("list"))
    X = table.drop(columns="label") if kind is pd.DataFrame else table.drop("label")
    for blocks in (read(table, target="label", block_size=600), read((X, table["label"]), block_size=600)):
        assert [len(block) for block in blocks] == [600] * 4 + [100]
        assert list(blocks[0].rows.columns) == ["a", "city", "n"]
        assert isinstance(blocks[0].rows, kind)
        assert np.concatenate([block.y for block in blocks]).tolist() == ["x", "y"] * 1250
        assert blocks[2].rows["n"].to_list() == list(range(1200, 1800))
    assert open_stream(table, target="label").find_classes().tolist() == ["x", "y"]


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".CSV"])
def test_csv_is_read_in_chunks(frame, tmp_path, suffix):
    path = tmp_path / f"data{suffix}"
    text = frame.to_csv(index=False).encode()
    path.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)
    for where in (path, str(path)):
        source = open_stream(where, target="label", block_size=700)
        assert isinstance(source.blocks, Iterator)
        assert source.n_samples is None
        assert source.find_classes() is None
        blocks = list(source.blocks)
        assert [len(block) for block in blocks] == [700, 700, 700, 400]
        X, y = stacked(blocks)
        X = X.reset_index(drop=True)
        pd.testing.assert_frame_equal(X, frame.drop(columns="label"), check_dtype=False, rtol=1e-12)
        assert y.tolist() == frame["label"].tolist()


def test_parquet_is_read_in_batches(frame, tmp_path, monkeypatch):
    path = tmp_path / "data.parquet"
    pq.write_table(pa.Table.from_pandas(frame), path, row_group_size=800)
    monkeypatch.setattr(pq, "read_table", None)
    monkeypatch.setattr(pq.ParquetFile, "read", None)
    source = open_stream(path, target="n", block_size=300)
    assert source.n_samples == N
    first = next(source.blocks)
    assert len(first) == 300
    blocks = [first, *source.blocks]
    assert max(len(block) for block in blocks) <= 300
    X, y = stacked(blocks)
    pd.testing.assert_frame_equal(X.reset_index(drop=True), frame.drop(columns="n"))
    assert np.array_equal(y, np.arange(N))


def test_not_even_a_row_group_is_in_memory(tmp_path):
    path = tmp_path / "data.parquet"
    values = np.random.default_rng(0).random(1_000_000)
    pq.write_table(pa.table({"a": values, "y": values}), path, row_group_size=1_000_000, use_dictionary=False)
    before = pa.total_allocated_bytes()
    source = open_stream(path, target="y")
    next(source.blocks)
    assert pa.total_allocated_bytes() - before < path.stat().st_size / 3


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_files_end_at_max_samples(frame, tmp_path, suffix):
    path = tmp_path / f"data{suffix}"
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    assert [len(block) for block in read(path, target="n", block_size=300, max_samples=700)] == [300, 300, 100]
    assert [len(block) for block in read(path, target="n", block_size=300, max_samples=600)] == [300, 300]


def test_pairs_are_asked_for_block_by_block():
    taken = []

    def pairs():
        for i in range(10**9):
            taken.append(i)
            yield {"a": i}, i % 2 == 0

    source = open_stream(pairs(), block_size=4)
    assert source.n_samples is None
    block = next(source.blocks)
    assert len(taken) == 4
    assert block.rows == [{"a": i} for i in range(4)]
    assert block.y.tolist() == [True, False, True, False]
    assert [len(block) for block in open_stream(pairs(), block_size=4, max_samples=10).blocks] == [4, 4, 2]


def test_pairs_of_arrays_and_lists_of_pairs():
    pairs = [(np.array([i, 1.5]), "ab"[i % 2]) for i in range(5)]
    assert open_stream(pairs).n_samples == 5
    X, y = stacked(read(pairs, block_size=2))
    assert np.array_equal(X, np.c_[np.arange(5), np.full(5, 1.5)])
    assert y.tolist() == list("ababa")


def test_labels_of_several_types_stay_apart():
    y = read([({}, 1), ({}, "1"), ({}, True)])[0].y
    assert y.tolist() == [1, "1", True]
    assert [type(value) for value in y] == [int, str, bool]


def test_dicts_with_keys_that_appear_become_a_table():
    reader = RowReader()
    rows = [{"b": 1}, {"a": 2.5, "b": True}, {"c": None}]
    table = reader.table(Block(rows, np.zeros(3)))
    assert table.dtype == np.float64
    np.testing.assert_array_equal(table, [[1, np.nan, np.nan], [1, 2.5, np.nan], [np.nan] * 3])
    np.testing.assert_array_equal(reader.table(Block([{"c": 3}], np.zeros(1))), [[np.nan, np.nan, 3]])
    with pytest.warns(UserWarning, match="not in the first block are left out: 'd', 'e'. A larger block_size"):
        table = reader.table(Block([{"d": 1, "e": 2, "a": 7}], np.zeros(1)))
    np.testing.assert_array_equal(table, [[np.nan, 7, np.nan]])
    reader.table(Block([{"f": 1}], np.zeros(1)))  # one warning is enough
    with pytest.raises(ValueError, match="no longer: could not convert string to float: 'Rome'"):
        reader.table(Block([{"a": "Rome"}], np.zeros(1)))


def test_dicts_with_text_become_a_frame():
    reader = RowReader()
    table = reader.table(Block([{"city": "Rome", "a": 1}, {"a": 2}], np.zeros(2)))
    assert list(table.columns) == ["city", "a"]
    assert table["city"].isna().tolist() == [False, True]
    assert list(reader.table(Block([{"a": 3}], np.zeros(1))).columns) == ["city", "a"]


def test_tables_become_dicts():
    y = np.zeros(2)
    X = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert RowReader().dicts(Block(X, y)) == [{0: 1.0, 1: 2.0}, {0: 3.0, 1: 4.0}]
    assert RowReader(("u", "v")).dicts(Block(X, y))[1] == {"u": 3.0, "v": 4.0}
    for kind in (pd.DataFrame, pl.DataFrame):
        assert RowReader().dicts(Block(kind({"a": [1, 2], "b": ["x", "y"]}), y))[1] == {"a": 2, "b": "y"}


def test_target_is_named(frame, tmp_path):
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    for stream in (path, frame, pl.DataFrame(frame.to_dict("list"))):
        with pytest.raises(ValueError, match=r"no target column 'lable'. The columns are 'a', 'city', 'n', 'label'"):
            read(stream, target="lable")
        with pytest.raises(ValueError, match="'target' parameter of prequential must be the name of a column"):
            read(stream)
    with pytest.raises(ValueError, match=r"'target' parameter of prequential must be None for .* Got 'y' instead"):
        read((np.zeros((2, 2)), [0, 1]), target="y")


def test_files_that_are_not_there_or_not_known(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file '.*nowhere\.csv'"):
        read(tmp_path / "nowhere.csv", target="y")
    (tmp_path / "data.xls").touch()
    with pytest.raises(ValueError, match=r"must end with \.csv, \.csv\.gz, \.parquet\. Got 'data\.xls'"):
        read(tmp_path / "data.xls", target="y")


@pytest.mark.parametrize("stream", [[], iter([]), (np.zeros((0, 2)), []), "no bytes", "no rows"])
def test_empty_streams(stream, tmp_path):
    target = None
    if isinstance(stream, str):
        (tmp_path / "data.csv").write_text("" if stream == "no bytes" else "x,y\n")
        stream, target = tmp_path / "data.csv", "y"
    with pytest.raises(ValueError, match="The stream is empty"):
        read(stream, target=target)


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ((np.zeros((3, 2)), [0, 1]), "Got 3 rows of X and 2 of y"),
        ((np.zeros(3), [0, 1, 2]), r"X must have two dimensions.* Got the shape \(3,\)"),
        ((np.zeros((3, 2)), np.zeros((3, 2))), r"y must have one dimension. Got the shape \(3, 2\)"),
        ((np.zeros((3, 2)), [0.0, np.nan, 1.0]), "Every row needs a target. Row 1 has none"),
        ([({}, 1), ({}, 1), ({}, None)], "Every row needs a target. Row 2 has none"),
        ([({}, 1), 3], r"made of pairs \(x, y\). Entry 1 is 3"),
        ([([1, 2], 1), ([1], 1)], r"In pair 1 its shape is \(1,\), and in pair 0 \(2,\)"),
        ([(np.zeros((2, 2)), 1)], r"In pair 0 its shape is \(2, 2\)"),
        ([("text", 1)], "must be a dict or a row of numbers. In pair 0 it is 'text'"),
        (3, "'stream' parameter of prequential must be a generator, .* Got 3 instead"),
        (np.zeros((3, 2)), "'stream' parameter of prequential must be a generator"),
    ],
)
def test_what_is_wrong_is_reported(stream, message):
    with pytest.raises(ValueError, match=message):
        read(stream)


def test_a_missing_package_is_named(frame, tmp_path, monkeypatch):
    frame.to_parquet(tmp_path / "data.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match=r'needs pyarrow. Install it with: pip install "softwood\[streams\]"'):
        open_stream(tmp_path / "data.parquet", target="label")


def test_csv_without_pandas(frame, tmp_path, monkeypatch):
    frame.to_csv(tmp_path / "data.csv", index=False)
    with_pandas = read(tmp_path / "data.csv", target="label", block_size=700)
    monkeypatch.setitem(sys.modules, "pandas", None)
    blocks = read(tmp_path / "data.csv", target="label", block_size=700)
    assert isinstance(blocks[0].rows, Frame)
    for one, other in zip(with_pandas, blocks, strict=True):
        assert one.y.tolist() == other.y.tolist()
        assert one.rows.to_dict("records") == other.rows.to_dicts()
