import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from softwood.stats import friedman_test, nemenyi_test
from softwood.stats.nemenyi import critical_difference
from tests.stats.printed import DEMSAR, ONE_STAGE
from tests.stats.strategies import tables

# Demšar 2006, table 5a: q for 2 to 10 models
CRITICAL_VALUES = {
    0.05: [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164],
    0.10: [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920],
}


@pytest.mark.parametrize("alpha", CRITICAL_VALUES)
def test_critical_values_are_those_of_demsars_table(alpha):
    for k, q in enumerate(CRITICAL_VALUES[alpha], start=2):
        # some of the printed ones are rounded, others cut off
        assert critical_difference(k, 20, alpha) / np.sqrt(k * (k + 1) / 120) == pytest.approx(q, abs=1e-3)


def test_demsars_example():
    test = nemenyi_test(DEMSAR)
    assert test.critical_difference == pytest.approx(1.25, abs=5e-3)
    assert (test.p_values > 0.05).all()
    test = nemenyi_test(DEMSAR, alpha=0.10)
    assert test.alpha == 0.10
    assert test.critical_difference == pytest.approx(1.12, abs=5e-3)
    assert np.argwhere(test.p_values < 0.10).tolist() == [[0, 1], [0, 3], [1, 0], [3, 0]]


def test_example_of_the_one_stage_tree_paper():
    p_values = nemenyi_test(ONE_STAGE).p_values[3]
    assert p_values[[0, 2]] == pytest.approx([0.0255, 0.0046], abs=5e-5)
    assert p_values[1] == pytest.approx(0.0001, abs=1e-4)  # there from a table of the studentized range


def test_two_models_are_compared_by_the_normal_distribution():
    test = nemenyi_test([[2, 1], [2, 1], [2, 1], [1, 2], [2, 1]])
    z = (test.ranks[1] - test.ranks[0]) / np.sqrt(2 * 3 / (6 * 5))
    assert test.p_values[0, 1] == pytest.approx(2 * stats.norm.sf(z))
    assert test.critical_difference == pytest.approx(stats.norm.ppf(0.975) * np.sqrt(0.2))


@given(tables, st.sampled_from([0.01, 0.05, 0.3]))
def test_p_values_and_critical_difference_agree(table, alpha):
    test = nemenyi_test(table, alpha=alpha)
    assert np.array_equal(test.ranks, friedman_test(table).ranks)
    assert np.array_equal(test.p_values, test.p_values.T)
    assert np.all(np.diag(test.p_values) == 1)
    assert np.all((test.p_values >= 0) & (test.p_values <= 1))
    apart = np.abs(test.ranks[:, None] - test.ranks)
    clear = np.abs(apart - test.critical_difference) > 1e-6
    assert np.array_equal((test.p_values < alpha)[clear], (apart > test.critical_difference)[clear])
    # swapping the first and the last model swaps their rows
    swapped = nemenyi_test(table[:, ::-1], alpha=alpha)
    assert swapped.p_values[::-1, ::-1] == pytest.approx(test.p_values)
    losses = nemenyi_test(-table, alpha=alpha, higher_is_better=False)
    assert np.array_equal(losses.p_values, test.p_values)


def test_clear_differences_have_p_values_near_0():
    test = nemenyi_test(np.tile(np.arange(4.0), (200, 1)))
    assert test.p_values[0, 3] == pytest.approx(0, abs=1e-12)
    assert test.ranks.tolist() == [4, 3, 2, 1]
