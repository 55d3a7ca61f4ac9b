"""Rows added to histograms of four columns, against sums by bin."""

import numpy as np
import pytest

from softwood.compiled.boosting import add_four, add_rows, are_neighbours
from softwood.kernel.rounds.loops.add_four import GROUP


@pytest.mark.tiny
@pytest.mark.parametrize("kind", [np.float64, np.int64])
def test_four_numbers_are_added_at_once(kind):
    rng = np.random.default_rng(0)
    table, block = rng.normal(scale=100, size=(2, 3, 4)).astype(kind), rng.normal(scale=100, size=(5, 4)).astype(kind)
    expected = table.copy()
    expected[1, 2] += block[3]
    add_four(table, 1, 2, *block[3])
    np.testing.assert_array_equal(table, expected)


@pytest.mark.tiny
@pytest.mark.parametrize(("first", "last"), [(5, 25), (7, 7)])
def test_rows_are_added_to_neighbouring_features(first, last):
    rng = np.random.default_rng(1)
    n, p, n_lines, j0, j1 = 40, GROUP + 6, 7, 2, GROUP + 5  # more than one group
    codes = rng.integers(0, n_lines, size=(n, p)).astype(np.uint8)
    rows, block = rng.permutation(n).astype(np.uint32), rng.integers(-99, 99, size=(31, 4))
    tables = np.ones((p, n_lines, 4), np.int64)
    expected = tables.copy()
    for k in range(first, last):
        for j in range(j0, j1):
            expected[j, codes[rows[k], j]] += block[k - first]
    add_rows(codes, rows, first, last, j0, j1, tables, block)
    np.testing.assert_array_equal(tables, expected)


@pytest.mark.tiny
def test_neighbours():
    features = np.array([1, 2, 3, 7, 6])
    assert are_neighbours(features, 0, 3)
    assert are_neighbours(features, 1, 2)
    assert not are_neighbours(features, 0, 4)
    assert not are_neighbours(features, 3, 5)
    assert not are_neighbours(features, 2, 2)
