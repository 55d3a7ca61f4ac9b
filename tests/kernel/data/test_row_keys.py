"""Numbers of rows by content."""

import numpy as np
import pytest

from softwood.kernel.data.row_keys import row_numbers


@pytest.mark.tiny
def test_numbers_of_rows_depend_on_their_content_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    X[3, 1] = np.nan
    X[7] = X[9]
    numbers = row_numbers(X, 5)
    order = rng.permutation(500)
    assert np.array_equal(row_numbers(X[order], 5), numbers[order])
    assert not np.any(row_numbers(X[:, [2, 0, 1]], 5) == numbers)
    nan = -X[3, 1]
    assert row_numbers(np.array([[nan]]), 1) == row_numbers(np.array([[np.nan]]), 1)
    assert numbers[7] == numbers[9]
    assert len(np.unique(numbers)) == 499
    assert not np.array_equal(row_numbers(X, 6), numbers)
    assert row_numbers(np.array([[0.0]]), 1) == row_numbers(np.array([[-0.0]]), 1)
    assert 0 <= numbers.min() <= numbers.max() < 1
    assert np.abs(np.histogram(numbers, bins=5, range=(0, 1))[0] - 100).max() < 45


@pytest.mark.tiny
@pytest.mark.parametrize("n_columns", [2, 3, 300])
def test_rows_of_zeros_and_ones_have_numbers_of_their_own(n_columns):
    """Values at other places are other rows: else all rows of a table of categories would be one."""
    for X in (np.eye(n_columns), 1.0 - np.eye(n_columns), np.tril(np.ones((n_columns, n_columns)))):
        assert len(np.unique(row_numbers(X, 0))) == n_columns
    rng = np.random.default_rng(0)
    values = rng.permuted(np.tile(np.arange(float(n_columns)), (100, 1)), axis=1)
    assert len(np.unique(row_numbers(values, 0))) == len(np.unique(values, axis=0))
