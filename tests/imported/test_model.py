import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from softwood.imported.model import float32_below, highest_double

SINGLES = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(SINGLES)
def test_highest_double_is_the_last_that_rounds_to_the_limit(limit):
    high = highest_double(limit)
    with np.errstate(over="ignore"):
        assert np.float32(high) <= np.float32(limit)
        above = np.float32(np.nextafter(high, np.inf))
    assert above > np.float32(limit) or high == np.finfo(np.float64).max


@given(st.floats(allow_nan=False, allow_infinity=False), SINGLES)
def test_rows_rounded_to_float32_go_the_same_way(threshold, x):
    limit = highest_double(float32_below(threshold))
    assert (np.float64(x) <= limit) == (np.float64(np.float32(x)) <= threshold)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_float32_below(number):
    below = float32_below(np.array([number]))[0]
    with np.errstate(over="ignore"):
        assert np.float64(below) <= number
        assert np.float64(np.nextafter(below, np.float32(np.inf))) > number or np.isinf(below)
