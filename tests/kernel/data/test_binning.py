import numpy as np
import pytest

from softwood.kernel.data.binning import FEW_BINS, NARROW, bin_features, merge_narrow_bins


def unpack(bins, j):
    part = slice(bins.offsets[j], bins.offsets[j + 1])
    return bins.values[part], bins.lows[part], bins.highs[part], bins.codes[:, j]


@pytest.mark.tiny
def test_a_bin_for_every_value():
    X = np.array([[3.0, 1.0], [1.0, np.nan], [3.0, 1.0], [-2.0, 1.0]])
    bins = bin_features(X, None, None)
    values, lows, highs, codes = unpack(bins, 0)
    assert values.tolist() == lows.tolist() == highs.tolist() == [-2, 1, 3]
    assert codes.tolist() == [2, 1, 2, 0]
    values, _, _, codes = unpack(bins, 1)
    assert values.tolist() == [1]
    assert codes.tolist() == [0, 1, 0, 0]  # one more than the last is missing
    assert bins.most == 3


@pytest.mark.tiny
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_bins", [2, 7, 255])
def test_quantile_bins(weighted, max_bins):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    X[:, 1] = np.exp(3 * X[:, 1])
    X[:50, 0] = np.nan
    weights = rng.choice([0.5, 1.0, 3.0], size=2000) if weighted else None
    bins = bin_features(X, weights, max_bins)
    w = np.ones(2000) if weights is None else weights
    for j in range(2):
        values, lows, highs, codes = unpack(bins, j)
        known = ~np.isnan(X[:, j])
        n = len(values)
        assert n == max_bins
        assert np.all(codes[~known] == n)
        assert np.all(np.diff(values) > 0)
        assert np.all(highs[:-1] < lows[1:])
        for b in range(n):
            here = X[codes == b, j]
            assert lows[b] == here.min()
            assert highs[b] == here.max()
            assert values[b] == pytest.approx(np.average(here, weights=w[codes == b]))
        masses = np.bincount(codes[known], weights=w[known])
        goal = w[known].sum() / max_bins
        assert np.all(np.abs(masses - goal) <= 2 * w.max())


@pytest.mark.tiny
def test_weights_are_repetitions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    weights = rng.integers(1, 5, size=300)
    rows = np.repeat(np.arange(300), weights)
    weighted, repeated = bin_features(X, weights.astype(float), 20), bin_features(X[rows], None, 20)
    assert np.array_equal(weighted.lows, repeated.lows)
    assert weighted.values == pytest.approx(repeated.values)
    assert np.array_equal(weighted.codes[rows], repeated.codes)


@pytest.mark.tiny
def test_heavy_ties_take_fewer_bins():
    x = np.concatenate([np.zeros(900), np.arange(1, 101.0)])
    bins = bin_features(x[:, None], None, 50)
    values, _, _, codes = unpack(bins, 0)
    assert len(values) < 50
    assert np.sum(codes == 0) == 900
    assert values[0] == 0.0


@pytest.mark.tiny
def test_values_that_are_almost_all_or_not_there():
    X = np.array([[np.nan, np.nan], [np.nan, 5.0], [np.nan, np.nan]])
    bins = bin_features(X, None, None)
    assert bins.offsets.tolist() == [0, 0, 1]
    assert bins.codes[:, 0].tolist() == [0, 0, 0]
    assert bins.codes[:, 1].tolist() == [1, 0, 1]


@pytest.mark.tiny
@pytest.mark.parametrize("scale", [1e300, 1e-300])
def test_any_scale(scale):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 1)) * scale
    bins = bin_features(X, None, 10)
    values, lows, highs, _ = unpack(bins, 0)
    assert np.all((lows <= values) & (values <= highs))
    assert values / scale == pytest.approx(unpack(bin_features(X / scale, None, 10), 0)[0])


@pytest.mark.tiny
@pytest.mark.parametrize(("n_values", "kind"), [(255, np.uint8), (256, np.uint32)])
def test_codes_take_as_little_room_as_they_can(n_values, kind):
    X = np.arange(n_values, dtype=float)[:, None]
    bins = bin_features(np.vstack([X, [[np.nan]]]), None, None)
    assert bins.codes.dtype == kind
    assert bins.codes[:, 0].tolist() == [*range(n_values), n_values]


def test_threads_do_not_matter():
    X = np.random.default_rng(0).normal(size=(500, 6))
    one, two = (bin_features(X, None, 30, n_jobs=k) for k in (1, 2))
    assert np.array_equal(one.codes, two.codes)
    assert np.array_equal(one.values, two.values)


@pytest.mark.tiny
@pytest.mark.parametrize("weighted", [False, True])
def test_narrow_bins_are_merged(weighted):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 5))
    X[:, 1] = np.exp(3 * X[:, 1])  # long tails are as they were
    X[:, 2] = np.round(X[:, 2], 1)  # few values
    X[:, 3] = rng.integers(0, 90, 500)  # categories
    X[::7, [0, 1]] = np.nan
    weights = rng.integers(0, 4, 500).astype(float) if weighted else np.ones(500)
    before = bin_features(X, weights, 100, n_categories=np.array([0, 0, 0, 90, 0]))
    widths = np.array([0.8, 0.8, 0.8, 0.8, 0.0])
    after = merge_narrow_bins(before, widths, weights)
    counts, old_counts = np.diff(after.offsets), np.diff(before.offsets)
    assert old_counts[2] <= FEW_BINS < old_counts[[0, 1, 3, 4]].min()
    np.testing.assert_array_equal(counts[2:], old_counts[2:])
    assert counts[0] < old_counts[0] / 2
    assert counts[1] < old_counts[1]
    for j in range(5):
        values, lows, highs, codes = unpack(after, j)
        known = ~np.isnan(X[:, j])
        assert np.all(codes[~known] == counts[j])
        assert np.all(highs[:-1] < lows[1:])
        old_values, _, _, old_codes = unpack(before, j)
        for b in range(counts[j]):
            rows = np.flatnonzero(codes == b)
            here, w = X[rows, j], weights[rows]
            assert lows[b] == here.min()
            assert highs[b] == here.max()
            assert np.ptp(old_values[old_codes[rows]]) <= NARROW * widths[j] * (1 + 1e-9)
            if w.any():
                assert values[b] == pytest.approx(np.average(here, weights=w))
    assert merge_narrow_bins(before, np.zeros(5), weights) is before


@pytest.mark.tiny
def test_bins_whose_distance_overflows_stay_apart():
    x = np.concatenate([np.linspace(-1, 1, 80) * 1.7e308, [0.1, 0.2]])[:, None]
    bins = bin_features(x, None, None)
    merged = merge_narrow_bins(bins, np.array([1.0]), np.ones(82))
    assert np.all(np.isfinite(merged.values))
    assert np.diff(merged.offsets)[0] in (81, 82)  # the two small values may be one
