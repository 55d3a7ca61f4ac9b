"""Packed arrays hold the numbers, bit by bit, in few bytes."""

import base64

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from softwood.reporting.arrays import pack, pack_weights


def unpack(packed):
    if "all" in packed:
        return np.full(packed["n"], packed["all"])
    return np.frombuffer(base64.b64decode(packed["bytes"]), dtype=np.dtype(packed["type"]).newbyteorder("<"))


@given(arrays(np.float64, st.integers(0, 20), elements=st.floats(allow_nan=False)))
def test_numbers(values):
    np.testing.assert_array_equal(unpack(pack(values)), values)


@given(arrays(np.int64, st.integers(0, 20), elements=st.integers(-(2**31), 2**31 - 1)))
def test_whole_numbers_take_the_smallest_type(values):
    packed = pack(values)
    np.testing.assert_array_equal(unpack(packed), values)
    if "type" in packed and len(values):
        size = np.dtype(packed["type"]).itemsize
        smaller = {4: np.int16, 2: np.int8}.get(size)
        if smaller is not None:
            assert values.min() < np.iinfo(smaller).min or values.max() > np.iinfo(smaller).max


@given(
    arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.sampled_from([0.0, 0.0, 1.5, -2.0]))
)
def test_weights(weights):
    packed = pack_weights(weights)
    begin, features, values = (unpack(packed[name]).astype(np.float64) for name in ("begin", "features", "weights"))
    found = np.zeros_like(weights)
    for node in range(len(weights)):
        own = slice(int(begin[node]), int(begin[node + 1]))
        found[node, features[own].astype(int)] = values[own]
    np.testing.assert_array_equal(found, weights)
