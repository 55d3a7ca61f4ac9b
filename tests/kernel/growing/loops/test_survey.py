"""Passes over many rows: numbers by content, sums of columns."""

import numpy as np
import pytest

from softwood.compiled.growing import add_moments, key_rows, mix_bits
from softwood.kernel.data.row_keys import row_keys
from tests.reference import row_keys as reference


def awkward_rows(n=40, p=3):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-300, 300, size=(n, p))
    X[:, 1:][rng.random((n, p - 1)) < 0.2] = np.nan
    X[0], X[1], X[2], X[3] = 0.0, -0.0, -np.nan, np.finfo(float).max
    return X


@pytest.mark.tiny
@pytest.mark.parametrize("seed", [0, 7, 2**63 + 5])
def test_keys_are_those_of_the_reference(seed):
    X = awkward_rows()
    keys = np.empty(len(X), np.uint64)
    key_rows(X, X.view(np.uint64), np.uint64(seed), keys)
    np.testing.assert_array_equal(keys, reference.row_keys(X, seed))
    assert keys[0] == keys[1]
    assert len(np.unique(keys)) == len(X) - 1


def test_any_array_has_the_keys_of_its_rows():
    X = np.asfortranarray(awkward_rows())
    X.flags.writeable = False
    np.testing.assert_array_equal(row_keys(X, 3), reference.row_keys(X, 3))


@pytest.mark.tiny
def test_mixed_bits_are_those_of_whole_numbers_of_any_size():
    for start in (0, 1, 2**63, 2**64 - 1):
        z = start
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            z = (z ^ (z >> shift)) * factor % 2**64
        assert int(mix_bits(np.uint64(start))) == z ^ (z >> 31)


@pytest.mark.tiny
@pytest.mark.parametrize("exponent", [30, -3, 1060])
def test_moments_are_sums_of_rounded_numbers(exponent):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    weights = rng.random(30) * 2.0 ** (30 - exponent)
    middle, half = rng.normal(size=3), rng.random(3) + 0.5
    out = np.ones((3, 3), np.int64)
    add_moments(X, weights, middle, half, np.ldexp(1.0, [exponent // 2, exponent - exponent // 2]), out)
    for j in range(3):
        known = ~np.isnan(X[:, j])
        w, z = weights[known], X[known, j] / half[j] - middle[j]
        for power, values in enumerate((w, w * z, w * z * z)):
            assert out[power, j] == 1 + sum(int(np.rint(np.ldexp(value, exponent))) for value in values)
