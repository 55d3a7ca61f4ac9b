"""Numbers that do not depend on the division of rows: exact sums, whole numbers, draws by content."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.kernel.parts.numbers import (
    Largest,
    as_float,
    draw_counts,
    draw_keys,
    exact_sum,
    exponent_for,
    in_columns,
    is_drawn,
    merged,
    whole,
)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30), st.integers(0, 30))
def test_sums_are_exact(values, cut):
    array = np.array(values, dtype=np.float64)
    expected = sum(map(Fraction, values), Fraction(0))
    total = exact_sum(array)
    assert total == exact_sum(array[:cut]) + exact_sum(array[cut:])
    assert Fraction(total, 2**1127) == expected
    if abs(expected) < 2**1023:
        assert as_float(total, 3) == float(expected / 3)


@given(st.floats(1e-300, 1e300), st.integers(1, 10**9))
def test_sums_of_whole_numbers_fit_into_64_bits(largest, n):
    exponent = exponent_for(largest, n)
    most = whole(np.array([largest, -largest]), exponent)
    assert n * int(most[0]) <= 2**61
    assert n * int(most[1]) >= -(2**61)
    assert n * int(most[0]) >= 2**58  # hardly a bit is wasted
    assert exponent_for(0.0, n) == 0


def test_summaries_are_merged():
    first = [1, None, [2, (np.array([1, 2]), Largest(np.array([5.0, 1.0])))]]
    second = [10, None, [20, (np.array([3, 4]), Largest(np.array([2.0, 7.0])))]]
    n, nothing, (m, (array, (largest,))) = merged(first, second)
    assert (n, nothing, m) == (11, None, 22)
    assert array.tolist() == [4, 6]
    assert largest.tolist() == [5.0, 7.0]
    assert merged(None, 3) == merged(3, None) == 3


def test_draws_depend_on_the_content_and_the_seed():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 2)), rng.integers(0, 2, 20_000)
    X[:10], y[:10] = X[0], 1
    X[5] += 0.0
    y[9] = 0
    keys = draw_keys(X, y, 3)
    assert len(set(keys[:9].tolist())) == 1
    assert keys[9] != keys[0]
    order = rng.permutation(len(y))
    np.testing.assert_array_equal(draw_keys(X[order], y[order], 3), keys[order])
    for rate in (1.0, 0.3):
        counts = draw_counts(keys, rate, 7)
        expected = [np.exp(-rate) * rate**k / np.prod(np.arange(1, k + 1)) for k in range(4)]
        found = np.bincount(counts, minlength=4)[:4] / len(counts)
        np.testing.assert_allclose(found, expected, atol=0.015)
        assert np.mean(counts != draw_counts(keys, rate, 8)) > 0.2
    assert is_drawn(keys, 0.25, 7).mean() == pytest.approx(0.25, abs=0.02)
    assert in_columns(y).shape == (20_000, 1)
    assert in_columns(X).dtype == np.float64
