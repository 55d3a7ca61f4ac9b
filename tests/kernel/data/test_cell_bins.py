"""Bins of cells with half-widths of their own."""

import numpy as np
import pytest

from softwood.kernel.data import cell_bins
from softwood.kernel.data.binning import bin_features
from softwood.kernel.data.cell_bins import MOST_BINS, bin_cells


def table(n, *, seed=0, rounded=None, missing=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X = X if rounded is None else np.round(X, rounded)
    X[rng.random(X.shape) < missing] = np.nan
    cells = np.full((n, 3), np.nan)
    cells[:, 1] = rng.choice([0.1, 0.2, 0.7], n)
    cells[:, 2] = rng.gamma(1.0, size=n)
    return X, cells, rng.integers(1, 4, n).astype(float)


def columns(bins, reach, j):
    here = slice(bins.offsets[j], bins.offsets[j + 1])
    return bins.codes[:, j], bins.values[here], bins.lows[here], bins.highs[here], reach[here]


def test_few_pairs_have_a_bin_each():
    X, cells, weights = table(120, rounded=1)
    bins = bin_features(X, None, 255)
    found, reach = bin_cells(bins, np.array([0.5, 9.0, 9.0]), cells, weights)
    np.testing.assert_array_equal(found.codes[:, 0], bins.codes[:, 0])
    np.testing.assert_array_equal(columns(found, reach, 0)[4], 0.5)
    for j in (1, 2):
        codes, values, lows, highs, own = columns(found, reach, j)
        known = ~np.isnan(X[:, j])
        assert np.all(codes[~known] == len(values))
        np.testing.assert_array_equal(values[codes[known]], X[known, j])
        np.testing.assert_array_equal(own[codes[known]], cells[known, j])
        np.testing.assert_array_equal(lows, highs)
        assert np.all(np.diff(values) >= 0)
        assert len(values) == len(set(zip(X[known, j], cells[known, j], strict=True)))


@pytest.mark.parametrize("n", [2000, 300])
def test_many_pairs_are_grouped_by_half_width_and_value(n):
    X, cells, weights = table(n)
    found, reach = bin_cells(bin_features(X, None, 255), np.ones(3), cells, weights)
    assert found.codes.dtype == np.uint8
    for j in (1, 2):
        codes, values, lows, highs, own = columns(found, reach, j)
        known = ~np.isnan(X[:, j])
        assert 200 < len(values) <= MOST_BINS or n == 300
        for c in range(len(values)):
            here = codes == c
            x, w = X[here, j], weights[here]
            assert (lows[c], highs[c]) == (x.min(), x.max())
            assert values[c] == pytest.approx(np.average(x, weights=w))
            assert own[c] == pytest.approx(np.average(cells[here, j], weights=w), rel=1e-3)
        middle = np.abs(X[known, j]) < 1.5
        error = np.abs(values[codes[known]] - X[known, j])[middle]
        assert error.mean() < (0.02 if j == 1 else 0.08)
    # three half-widths remain as they are
    np.testing.assert_array_equal(columns(found, reach, 1)[4][found.codes[:, 1][~np.isnan(X[:, 1])]],
                                  cells[~np.isnan(X[:, 1]), 1])  # fmt: skip


def test_a_weight_is_a_repetition():
    X, cells, weights = table(700)
    again = np.repeat(np.arange(700), weights.astype(int))
    one, reach = bin_cells(bin_features(X, weights, 255), np.ones(3), cells, weights)
    many, other = bin_cells(bin_features(X[again], None, 255), np.ones(3), cells[again], np.ones(len(again)))
    np.testing.assert_array_equal(one.codes[again], many.codes)
    np.testing.assert_allclose(one.values, many.values)
    np.testing.assert_allclose(reach, other)


def test_all_half_widths_of_a_column_are_above_zero_or_none():
    X, cells, weights = table(300, missing=0.0)
    cells[:, 1] = 0.0
    cells[::2, 2] = 0.0
    cells[0, 2] = 1e12
    _, reach = bin_cells(bin_features(X, None, 255), np.ones(3), cells, weights)
    found, reach = bin_cells(bin_features(X, None, 255), np.ones(3), cells, weights)
    assert np.all(columns(found, reach, 1)[4] == 0.0)
    own = columns(found, reach, 2)[4]
    assert 0.0 < own.min() < 0.01 * cell_bins.N_REACHES


def test_a_column_without_values():
    X, cells, weights = table(50)
    X[:, 1] = np.nan
    found, reach = bin_cells(bin_features(X, None, 255), np.ones(3), cells, weights)
    assert found.offsets[2] == found.offsets[1]
    assert len(reach) == len(found.values)
    assert np.all(found.codes[:, 1] == 0)
