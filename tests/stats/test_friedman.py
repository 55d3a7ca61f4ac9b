import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from softwood.stats import friedman_test
from tests.stats.printed import DEMSAR, ONE_STAGE
from tests.stats.strategies import tables


@given(tables)
def test_statistic_is_that_of_scipy(table):
    test = friedman_test(table)
    if table.shape[1] == 2:  # scipy wants three models or more
        ahead = np.sign(table[:, 0] - table[:, 1])
        n = np.count_nonzero(ahead)
        assert test.statistic == pytest.approx(ahead.sum() ** 2 / n if n else 0)
    elif (table == table[:, :1]).all():
        assert (test.statistic, test.p_value, test.f_statistic, test.f_p_value) == (0, 1, 0, 1)
    else:
        expected = stats.friedmanchisquare(*table.T)
        assert test.statistic == pytest.approx(expected.statistic, abs=1e-12)
        assert test.p_value == pytest.approx(expected.pvalue)


@given(tables)
def test_f_is_that_of_an_analysis_of_variance_of_the_ranks(table):
    n, k = table.shape
    test = friedman_test(table)
    ranks = stats.rankdata(-table, axis=1)
    residual = ((ranks - ranks.mean(axis=0)) ** 2).sum() / ((n - 1) * (k - 1))
    model = n * ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum() / (k - 1)
    if residual > 1e-12:
        assert test.f_statistic == pytest.approx(model / residual)
        assert test.f_p_value == pytest.approx(stats.f.sf(model / residual, k - 1, (n - 1) * (k - 1)))
    elif model > 0:
        assert test.f_statistic == np.inf
        assert test.f_p_value == 0


@given(tables, st.permutations(range(6)))
def test_ranks_add_up_and_only_order_matters(table, order):
    k = table.shape[1]
    test = friedman_test(table)
    assert test.n_data_sets == len(table)
    assert test.ranks.sum() == pytest.approx(k * (k + 1) / 2)
    stretched = friedman_test(np.exp(3 * table) - 7)
    assert np.array_equal(test.ranks, stretched.ranks)
    assert test.statistic == stretched.statistic
    losses = friedman_test(-table, higher_is_better=False)
    assert np.array_equal(test.ranks, losses.ranks)
    worst_first = friedman_test(table, higher_is_better=False)
    assert worst_first.ranks == pytest.approx(k + 1 - test.ranks)
    assert worst_first.f_statistic == pytest.approx(test.f_statistic)
    order = [j for j in order if j < k]
    swapped = friedman_test(table[:, order])
    assert np.array_equal(swapped.ranks, test.ranks[order])
    assert swapped.f_p_value == test.f_p_value


def test_demsars_example():
    test = friedman_test(DEMSAR)
    assert test.names == ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")
    assert test.ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    # the printed statistics are without the correction for ties
    n, k = DEMSAR.shape
    chi_square = 12 * n / (k * (k + 1)) * ((test.ranks**2).sum() - k * (k + 1) ** 2 / 4)
    assert chi_square == pytest.approx(9.28, abs=5e-3)
    assert (n - 1) * chi_square / (n * (k - 1) - chi_square) == pytest.approx(3.69, abs=5e-3)
    assert test.statistic > chi_square
    assert test.statistic == pytest.approx(stats.friedmanchisquare(*DEMSAR.to_numpy().T).statistic)


def test_example_of_the_one_stage_tree_paper():
    test = friedman_test(ONE_STAGE)
    assert test.statistic == pytest.approx(19.837209, abs=5e-7)
    assert test.p_value == pytest.approx(0.00018, abs=5e-6)
