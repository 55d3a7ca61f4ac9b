from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from softwood.stats import rank_sum, wilcoxon_signed_rank
from tests.stats.printed import DEMSAR

few = st.lists(st.integers(-4, 4), min_size=2, max_size=9)
short = st.lists(st.integers(0, 5), min_size=2, max_size=5)


def by_all_signs(d):
    """p-value of the signed-rank test by trying all signs."""
    ranks = stats.rankdata(np.abs(d))
    found = abs((np.sign(d) * ranks).sum())
    sums = [abs((np.array(signs) * ranks)[d != 0].sum()) for signs in product([-1, 1], repeat=len(d))]
    return np.mean(np.array(sums) >= found)


def by_all_divisions(a, b):
    """p-value of the rank-sum test by trying all samples of these sizes."""
    ranks = stats.rankdata([*a, *b])
    sums = np.array([sum(chosen) for chosen in combinations(ranks, len(a))])
    found = ranks[: len(a)].sum()
    return min(1.0, 2 * min(np.mean(sums <= found), np.mean(sums >= found)))


@given(few)
def test_signed_rank_by_trying_all_signs(d):
    d = np.array(d)
    test = wilcoxon_signed_rank(d + 10, np.full(len(d), 10))
    assert test.p_value == pytest.approx(by_all_signs(d))
    assert test.median_difference == np.median(d)
    if d.any():
        assert test.statistic == stats.wilcoxon(d, zero_method="zsplit", method="exact").statistic


@pytest.mark.parametrize("n", [5, 20, 50])
def test_signed_rank_without_ties_is_that_of_scipy(n):
    a, b = np.random.default_rng(n).normal(size=(2, n))
    expected = stats.wilcoxon(a, b, method="exact")
    test = wilcoxon_signed_rank(a, b)
    assert test.statistic == expected.statistic
    assert test.p_value == pytest.approx(expected.pvalue, rel=1e-9)


def test_signed_rank_of_many_is_nearly_exact():
    rng = np.random.default_rng(0)
    d = rng.integers(-8, 10, size=51)
    many, fewer = wilcoxon_signed_rank(d, 0 * d), wilcoxon_signed_rank(d[:50], 0 * d[:50])
    assert many.p_value == stats.wilcoxon(d, zero_method="pratt", correction=True).pvalue
    approximate = stats.wilcoxon(d[:50], zero_method="pratt", correction=True, method="asymptotic").pvalue
    assert fewer.p_value == pytest.approx(approximate, rel=0.02)


def test_signed_rank_in_demsars_example():
    # table 2: the sums of ranks are 93 and 12
    test = wilcoxon_signed_rank(DEMSAR["C4.5+m"], DEMSAR["C4.5"])
    assert test.statistic == 12
    assert test.effect_size == pytest.approx((93 - 12) / 105)
    assert test.p_value < 0.05
    assert test.median_difference == pytest.approx(0.008)


@given(few, few)
def test_swapping_the_models_mirrors_the_signed_ranks(a, b):
    n = min(len(a), len(b))
    one, other = wilcoxon_signed_rank(a[:n], b[:n]), wilcoxon_signed_rank(b[:n], a[:n])
    assert one.statistic == other.statistic
    assert one.p_value == pytest.approx(other.p_value)
    assert one.median_difference == -other.median_difference
    assert one.effect_size == -other.effect_size
    assert -1 <= one.effect_size <= 1


@given(short, short)
def test_rank_sum_by_trying_all_divisions(a, b):
    test = rank_sum(a, b)
    pairs = np.array(a)[:, None] - np.array(b)
    assert test.p_value == pytest.approx(by_all_divisions(a, b))
    assert test.statistic == (pairs > 0).sum() + (pairs == 0).sum() / 2
    assert test.effect_size == pytest.approx(np.sign(pairs).mean())
    assert test.median_difference == np.median(pairs)
    mirrored = rank_sum(b, a)
    assert mirrored.p_value == pytest.approx(test.p_value)
    assert mirrored.effect_size == pytest.approx(-test.effect_size)
    assert mirrored.median_difference == -test.median_difference
    stretched = rank_sum(np.exp(a), np.exp(b))
    assert (stretched.statistic, stretched.p_value) == (test.statistic, test.p_value)


@pytest.mark.parametrize("sizes", [(4, 7), (25, 25), (3, 47)])
def test_rank_sum_without_ties_is_that_of_scipy(sizes):
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.7, size=sizes[0]), rng.normal(size=sizes[1])
    expected = stats.mannwhitneyu(a, b, method="exact")
    test = rank_sum(a, b)
    assert test.statistic == expected.statistic
    assert test.p_value == pytest.approx(expected.pvalue, rel=1e-9)


def test_rank_sum_of_many_is_nearly_exact():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 9, size=26), rng.integers(1, 11, size=25)
    assert rank_sum(a, b).p_value == stats.mannwhitneyu(a, b, method="asymptotic").pvalue
    approximate = stats.mannwhitneyu(a[:25], b, method="asymptotic").pvalue
    assert rank_sum(a[:25], b).p_value == pytest.approx(approximate, rel=0.05)


@pytest.mark.parametrize("n", [3, 60])
@pytest.mark.parametrize("function", [wilcoxon_signed_rank, rank_sum])
def test_equal_samples_do_not_differ(function, n):
    test = function(np.full(n, 0.3), np.full(n, 0.3))
    assert (test.p_value, test.median_difference, test.effect_size) == (1, 0, 0)


@pytest.mark.parametrize("function", [wilcoxon_signed_rank, rank_sum])
@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1, np.nan], [1, 2], "a must be finite numbers. Got nan"),
        ([1, 2], [1, np.inf], "b must be finite numbers. Got inf"),
        ([1], [1, 2], r"a must be a list of at least 2 numbers. Got the shape \(1,\)"),
        ([1, 2], [[1, 2]], r"b must be a list of at least 2 numbers. Got the shape \(1, 2\)"),
        ([1, 2], ["x", "y"], "b must be an array of numbers"),
    ],
)
def test_bad_samples_are_named(function, a, b, message):
    with pytest.raises(ValueError, match=message):
        function(a, b)


def test_pairs_need_equal_lengths():
    with pytest.raises(ValueError, match=r"a and b must have the same length, because they are paired. Got 2 and 3"):
        wilcoxon_signed_rank([1, 2], [1, 2, 3])
    assert rank_sum([1, 2], [1, 2, 3]).statistic == 2
