"""The container: what goes in comes out, and what does not fit is refused before memory is taken."""

import io
import re
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from softwood.files.container import read_container, write_container
from softwood.files.errors import InvalidFileError
from tests.files.mutate import seal, split

TYPES = ["?", "i1", "u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<U3", "S5", "M8[D]", "m8[ns]"]


def written(content, arrays=()):
    file = io.BytesIO()
    write_container(file, content, list(arrays))
    return file.getvalue()


def read(data, folder):
    path = folder / "some.softwood"
    path.write_bytes(data)
    return read_container(path)


def refused(data, folder, message):
    with pytest.raises(InvalidFileError, match=re.escape(message)):
        read(data, folder)


@given(data=st.data())
def test_arrays_come_back(data, tmp_path_factory):
    shapes = arrays_of.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
    some = st.lists(st.sampled_from(TYPES).flatmap(lambda kind: arrays_of.arrays(np.dtype(kind), shapes)), max_size=4)
    given_arrays = data.draw(some)
    found = read(written({"x": 1}, given_arrays), tmp_path_factory.mktemp("one"))
    assert found.content == {"x": 1}
    assert len(found.arrays) == len(given_arrays)
    for one, other in zip(given_arrays, found.arrays, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()
        assert other.flags.c_contiguous
        assert other.flags.writeable
        assert other.flags.aligned


def test_every_order_of_bytes_and_of_axes(tmp_path):
    plain = np.arange(12.0).reshape(3, 4)
    for array in (plain, plain.astype(">f8"), np.asfortranarray(plain), plain[::-1].copy()[::-1]):
        found = read(written(None, [array]), tmp_path).arrays[0]
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, plain)
    assert written(None, [plain]) == written(None, [np.asfortranarray(plain.astype(">f8"))])


@pytest.mark.parametrize("array", [np.array([None]), np.array([1j]), np.zeros(2, dtype="i4,f8"), np.longdouble([1])])
def test_types_that_are_not_taken(array):
    with pytest.raises(TypeError, match="an array of type"):
        written(None, [array])


def test_arrays_begin_at_multiples_of_64():
    data = written([1], [np.full(3, 7, dtype=np.uint8), np.full(2, 9.0)])
    assert data.index(b"\7\7\7") % 64 == 0
    assert data.index(np.full(2, 9.0).tobytes()) % 64 == 0
    assert len(data) % 64 == 0


def test_all_bytes_count(tmp_path):
    data = written({"a": [1, 2.5, "x"]}, [np.arange(5), np.array(["ä", "bc"]), np.empty(0)])
    read(data, tmp_path)
    for k in range(len(data)):
        if 8 <= k < 12:  # versions that this reader may understand
            continue
        for bit in (1, 128):
            changed = bytearray(data)
            changed[k] ^= bit
            with pytest.raises(InvalidFileError):
                read(bytes(changed), tmp_path)
        with pytest.raises(InvalidFileError):
            read(data[:k], tmp_path)


def test_versions(tmp_path):
    data = bytearray(written([1]))
    data[8] = 7  # a later version that this reader understands
    assert read(bytes(data), tmp_path).content == [1]
    data[12] = 2
    refused(bytes(data), tmp_path, "it has format version 7, and this release")
    data[8], data[12] = 1, 0
    refused(bytes(data), tmp_path, "there is no format version 1 for readers from 0 on")


def sealed(entries, blocks=(), content=None):
    return seal({"library": "0", "arrays": entries, "content": content}, list(blocks))


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([["<f8", [10**14]]], "array 0 of shape (100000000000000,) does not fit into the file"),
        ([["<f8", [2**40, 2**40]]], "does not fit into the file"),
        ([["<f8", [2**48]]], "array 0 has the shape [281474976710656]"),
        ([["<f8", [2**40, 0]], ["<f8", [3]]], "the arrays do not fill the file"),
        ([["<f8", [-1]]], "array 0 has the shape [-1]"),
        ([["<f8", [1.0]]], "array 0 has the shape [1.0]"),
        ([["<f8", [True]]], "array 0 has the shape [True]"),
        ([["<f8", 8]], "array 0 has an invalid shape"),
        ([["<f8", [1] * 9]], "array 0 has an invalid shape"),
        ([["<f8"]], "array 0 has an unknown type"),
        ([["|O", [1]]], "array 0 has an unknown type"),
        ([["<U0", [10**9]]], "array 0 has an unknown type"),
        ([["<f16", [1]]], "array 0 has an unknown type"),
        ([["<M8[nothing]", [8]]], "array 0 has the type '<M8[nothing]', which is not known"),
        ([["f8,f8", [4]]], "array 0 has an unknown type"),
        ({"a": 1}, "'arrays' of its header must be a list"),
        ([["<f8", [7]]], "the arrays do not fill the file"),
    ],
)
def test_entries_that_do_not_fit(entries, message, tmp_path):
    refused(sealed(entries, [bytes(128)]), tmp_path, message)


def test_values_that_are_none(tmp_path):
    refused(sealed([["|b1", [1]]], [b"\2"]), tmp_path, "contains bools other than 0 and 1")
    refused(sealed([["<U1", [1]]], [b"\xff\xff\xff\xff"]), tmp_path, "contains invalid text")
    assert read(sealed([["<U1", [1]]], ["\U0010ffff".encode("utf-32-le")]), tmp_path).arrays[0][0] == "\U0010ffff"


def headers():
    good = b'{"library": "0", "arrays": [], "content": %s}'
    return {
        "no JSON": (b"{", "its header is not valid JSON"),
        "text": (b"x" * 300, "its header is not valid JSON"),
        "not ASCII": (good % '"é"'.encode(), "its header is not valid JSON"),
        "a list": (b"[]", "does not have the entries"),
        "more": (b'{"library": "0", "arrays": [], "content": 1, "x": 2}', "does not have the entries"),
        "twice": (good % b'{"a": 1, "a": 1}', "its header has a duplicate entry"),
        "nan": (good % b"NaN", "its header holds NaN"),
        "infinity": (good % b"-Infinity", "its header holds -Infinity"),
        "deep": (good % (b"[" * 200_000 + b"]" * 200_000), "its header"),
        "a long number": (good % (b"9" * 5000), "its header is not valid JSON"),
        "library": (b'{"library": 0, "arrays": [], "content": 1}', "'library' of its header must be a string"),
    }


@pytest.mark.parametrize(("header", "message"), headers().values(), ids=headers())
def test_headers(header, message, tmp_path):
    refused(seal(header, []), tmp_path, message)


@pytest.mark.parametrize("piece", [b"[],", b"{},", b'"",', b"0,", b"1.5,", b'{"":0},', b'"\\ud83d\\ude00aaaaaaa",'])
def test_headers_take_no_more_memory_than_the_file_allows(piece, tmp_path):
    header = b'{"library": "0", "arrays": [], "content": [' + piece * (8_000_000 // len(piece)) + b"0]}"
    path = tmp_path / "heavy.softwood"
    path.write_bytes(seal(header, []))
    tracemalloc.start()
    try:
        with suppress(InvalidFileError):
            read_container(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * path.stat().st_size + 50_000_000


def test_many_columns_are_not_too_many(tmp_path):
    names = [f"a rather long name of column {k}" for k in range(50_000)]
    assert read(written({"names": names, "inputs": names, "features": names}), tmp_path).content["names"] == names


def test_split_and_seal_of_the_tests_know_the_format(tmp_path):
    data = written({"x": [1]}, [np.arange(3), np.array(["a"])])
    assert seal(*split(data)) == data


def test_what_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_container(tmp_path / "nothing")
    with pytest.raises(IsADirectoryError):
        read_container(tmp_path)
    with pytest.raises(OSError, match="Not a regular file"):
        read_container("/dev/null")
    refused(b"", tmp_path, "it does not start with the signature of one")
