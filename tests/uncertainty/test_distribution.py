"""Distributions against their definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.uncertainty.distribution import Distribution


def slow_crps(values, weights, y):
    """Mean distance from the truth minus half the mean distance between two draws."""
    apart = np.abs(values[:, None] - values[None, :])
    return weights @ np.abs(values - y) - 0.5 * weights @ apart @ weights


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 5)), min_size=1, max_size=9),
    st.floats(-12, 12),
)
def test_one_row(pairs, y):
    values, weights = np.array(sorted(pairs), dtype=float).T
    weights /= weights.sum()
    found = Distribution(values[None], weights[None])
    assert found.crps([y])[0] == pytest.approx(slow_crps(values, weights, y), abs=1e-9)
    assert found.mean[0] == pytest.approx(values @ weights)
    assert found.cdf(y)[0] == pytest.approx(weights[values <= y].sum())
    for level in (0.0, 0.3, 0.5, 1.0):
        place = found.quantile(level)[0]
        assert weights[values <= place].sum() >= level - 1e-8
        assert weights[values < place].sum() <= level + 1e-8


def test_shared_values_and_shared_weights():
    rng = np.random.default_rng(0)
    values, weights = np.sort(rng.normal(size=(3, 5)), axis=1), rng.dirichlet(np.ones(5), size=3)
    y = rng.normal(size=3)
    for one in (Distribution(values, weights[:1]), Distribution(values[:1], weights)):
        full = Distribution(np.broadcast_to(one.values, (3, 5)).copy(), np.broadcast_to(one.weights, (3, 5)).copy())
        assert len(one) == 3
        assert np.array_equal(one.mean, full.mean)
        assert np.array_equal(one.cdf(y), full.cdf(y))
        assert np.array_equal(one.crps(y), full.crps(y))
        assert np.array_equal(one.quantile([0.2, 0.7]), full.quantile([0.2, 0.7]))


@pytest.mark.parametrize("levels", [-0.1, [0.5, 1.1], [np.nan], [], [[0.5]]])
def test_levels_are_numbers_from_0_to_1(levels):
    with pytest.raises(ValueError, match="Quantiles must be numbers from 0 to 1"):
        Distribution(np.zeros((1, 1)), np.ones((1, 1))).quantile(levels)
