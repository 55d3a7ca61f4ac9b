"""Sums of products against those of numpy."""

import numpy as np
import pytest

from softwood.compiled.trees import dot, dot_rows


@pytest.mark.tiny
@pytest.mark.parametrize("n", [*range(20), 57, 100])
def test_sums_of_products(n):
    rng = np.random.default_rng(n)
    one, other = rng.normal(size=(3, n + 2)), rng.normal(size=(4, n + 1))
    expected = one[1, :n] @ other[3, :n]
    assert dot(one, 1, other[3], n) == pytest.approx(expected)
    assert dot_rows(one, 1, other, 3, n) == dot(one, 1, other[3], n)


@pytest.mark.tiny
@pytest.mark.parametrize("n", [1, 8, 11])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_so(n, value):
    for place in range(n):
        table = np.ones((1, n))
        table[0, place] = value
        assert np.array_equal(dot(table, 0, np.ones(n), n), value, equal_nan=True)
