"""Parameters as JSON and back."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.files.errors import InvalidFileError, NotSavableError
from softwood.files.kinds import KINDS
from softwood.files.values import Reader, Writer
from tests.files.test_round_trips import assert_same

numbers = st.one_of(st.integers(), st.floats(), st.booleans(), st.none(), st.text())
scalars = st.one_of(
    st.floats().map(np.float64), st.integers(0, 255).map(np.uint8), st.booleans().map(np.bool_), st.text().map(np.str_)
)
names = st.one_of(st.integers(-(2**63), 2**64 - 1), st.text(), st.booleans(), st.floats(allow_nan=False), st.none())
arrays = st.lists(st.floats()).map(np.array) | st.lists(numbers).map(lambda items: _objects(items))
values = st.recursive(
    numbers | scalars | arrays,
    lambda inner: (
        st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(names | st.tuples(names, names), inner)
    ),
    max_leaves=20,
)


def _objects(items):
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def again(value):
    writer = Writer(KINDS, "Test")
    content = json.loads(json.dumps(writer.write(value, "value"), allow_nan=False))
    return Reader(KINDS, writer.arrays).read_all(content)


@given(values)
def test_values_come_back_with_their_types(value):
    assert_same(value, again(value))


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308, 0.1, 2**70, "\ud800", "is", {"is": 1}]
)
def test_odd_values(value):
    found = again(value)
    assert_same(value, found)
    assert repr(found) == repr(value)


@pytest.mark.parametrize(
    "value", [print, int, object(), {1, 2}, b"x", 1j, lambda: 0, {"a": [np.sin]}, _objects([print])]
)
def test_what_is_no_plain_data(value):
    with pytest.raises(NotSavableError, match="Test cannot be saved: value"):
        again(value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"is": "float", "value": "1.0"}, "it holds '1.0' as a number"),
        ({"is": "float"}, "an entry 'value' is missing or invalid"),
        ({"is": "array", "array": 1}, "there is no array 1"),
        ({"is": "array", "array": -1}, "there is no array -1"),
        ({"is": "array", "array": True}, "an entry 'array' is missing or invalid"),
        ([{"is": "array", "array": 0}] * 2, "array 0 is referred to twice"),
        ([], "it has arrays that nothing refers to"),
        ({"is": "scalar", "array": 0}, "a number is stored as an array"),
        ({"is": "tuple", "items": 3}, "an entry 'items' is missing or invalid"),
        ({"is": "dict", "entries": [[1, 2], [1, 2]]}, "a dict has a duplicate key"),
        ({"is": "dict", "entries": [[1]]}, "an entry of a dict is not a pair"),
        ({"is": "dict", "entries": [[[1], 2]]}, "it holds list as a name or label"),
        ({"is": "dict", "entries": [[2**64, 2]]}, "more than 64 bits"),
        ({"is": "objects", "shape": [2], "items": [1]}, "the number of items"),
        ({"is": "objects", "shape": [-1], "items": []}, "has an invalid shape"),
        ({"is": "objects", "items": []}, "an array of objects is invalid"),
        ({"is": "os.system", "state": {}}, "it holds a 'os.system', which is not known"),
        ({"is": ["SoftTree"], "state": {}}, "which is not known"),
        ({"is": "SoftTree", "state": []}, "an entry 'state' is missing or invalid"),
        ({"is": "SoftTree", "state": {}}, "'bias' is missing"),
    ],
)
def test_content_that_is_wrong(content, message):
    with pytest.raises(InvalidFileError) as error:
        Reader(KINDS, [np.arange(3)]).read_all(content)
    assert message in str(error.value)


def test_content_that_is_nested_too_deeply():
    content = []
    for _ in range(100):
        content = [content]
    with pytest.raises(InvalidFileError, match="nested too deeply"):
        Reader(KINDS, []).read_all(content)
