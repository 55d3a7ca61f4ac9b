"""The histograms of boosting against plain sums."""

import numpy as np
import pytest

from softwood.compiled import boosting as loop
from softwood.kernel.rounds.loops.boost_histograms import BLOCK
from tests.reference.boosting import direct_sums

# ------------------------------------------------------------------ histograms


def random_rows(rng, n, p, n_bins):
    """Codes, the last bin for missing values; and hessian, gradient and weight of the rows."""
    codes = rng.integers(0, n_bins + 1, size=(n, p)).astype(np.uint8)
    return codes, np.column_stack([rng.random(n), rng.normal(size=n), rng.random(n) + 0.5])


@pytest.mark.tiny
@pytest.mark.parametrize("m", [0, 1, 40, BLOCK + 3])
@pytest.mark.parametrize("is_soft", [False, True])
def test_histograms_are_sums_by_bin(m, is_soft):
    rng = np.random.default_rng(m)
    codes, sums = random_rows(rng, m + 5, 8, n_bins=6)
    pile = rng.permutation(m + 5).astype(np.uint32)
    shares = rng.random(m + 5) if is_soft else None
    features = np.array([3, 0, 2, 7, 4, 5, 6])
    part = slice(2, m + 2)
    expected = direct_sums(codes, pile[part], shares[part] if is_soft else np.ones(m), sums, 6)
    # less than four at once, four, and some more; neighbours
    for first, last in ((2, 3), (1, 3), (0, 3), (0, 4), (1, 7), (0, 7), (4, 7)):
        table, block = np.ones((8, 7, 4)), np.zeros((BLOCK, 4))
        loop.add_histograms(codes, pile, 2, m, shares, sums, features, first, last, table, block)
        wanted = features[first:last]
        np.testing.assert_allclose(table[wanted], 1.0 + expected[wanted], rtol=1e-12, atol=1e-12)
        assert np.all(np.delete(table, wanted, axis=0) == 1.0), "features that are not asked for"


@pytest.mark.tiny
@pytest.mark.parametrize("is_soft", [False, True])
def test_rows_are_gathered_with_their_shares(is_soft):
    rng = np.random.default_rng(0)
    sums, pile, block = rng.normal(size=(9, 3)), rng.permutation(9).astype(np.uint32), np.full((4, 4), 7.0)
    shares = rng.random(9) if is_soft else None
    loop.gather_rows(pile, 2, 3, 6, shares, sums, block)
    at = slice(5, 8)
    np.testing.assert_array_equal(block[:3, :3], sums[pile[at]] * (shares[at, None] if is_soft else 1.0))
    assert np.all(block[3] == 7.0)
    assert np.all(block[:, 3] == 7.0)


@pytest.mark.tiny
def test_lines_of_one_feature_are_added():
    rng = np.random.default_rng(0)
    table, part = rng.normal(size=(2, 3, 5, 4))
    expected = table.copy()
    expected[1, :3] += part[1, :3]
    loop.add_histogram(table, part, 1, 3)
    np.testing.assert_array_equal(table, expected)


@pytest.mark.tiny
def test_lines_of_one_feature_are_cleared():
    table = np.ones((3, 5, 4))
    loop.clear_histogram(table, 1, 3)
    assert np.all(table[1, :3] == 0.0)
    assert table.sum() == 4 * (3 * 5 - 3)


@pytest.mark.tiny
@pytest.mark.parametrize("is_soft", [False, True])
def test_the_rest_is_the_whole_less_the_part(is_soft):
    """And histograms of parts of the rows add up."""
    rng = np.random.default_rng(0)
    codes, sums = random_rows(rng, 50, 3, n_bins=5)
    pile, features = rng.permutation(50).astype(np.uint32), np.arange(3)
    shares = rng.random(50) if is_soft else None
    whole, part, rest = np.zeros((3, 3, 6, 4))
    block = np.zeros((BLOCK, 4))
    for table, begin, m in ((whole, 0, 50), (part, 0, 20), (rest, 20, 30)):
        loop.add_histograms(codes, pile, begin, m, shares, sums, features, 0, 3, table, block)
    np.testing.assert_allclose(part + rest, whole, rtol=1e-12, atol=1e-12)
    loop.subtract_histogram(whole, part, 1, 5)
    np.testing.assert_allclose(whole[1, :5], rest[1, :5], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(whole[1, 5], (part + rest)[1, 5], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(whole[[0, 2]], (part + rest)[[0, 2]], rtol=1e-12, atol=1e-12)
