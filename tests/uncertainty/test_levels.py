"""The rule of quantiles against a slow one that counts rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.uncertainty.levels import quantiles_of_new, upper_bound


def slow_bound(scores, level):
    """The smallest score that so many of n + 1 scores do not exceed, if that of the new row is infinite."""
    for score in sorted(scores):
        if sum(other <= score for other in scores) >= level * (len(scores) + 1) - 1e-9:
            return score
    return np.inf


@given(
    st.lists(st.integers(-5, 5), min_size=1, max_size=40),
    st.sampled_from([0.05, 0.1, 0.5, 0.75, 0.8, 0.9, 0.95, 0.99]),
)
def test_bounds(scores, level):
    found = upper_bound(np.array(scores, dtype=float), np.ones(len(scores)), level)
    assert found == slow_bound(scores, level)


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 4)), min_size=1, max_size=20), st.floats(0.05, 0.95))
def test_a_weight_is_repetition(rows, level):
    scores, weights = np.array(rows, dtype=float).T
    repeated = np.repeat(scores, weights.astype(int))
    assert upper_bound(scores, weights, level) == upper_bound(repeated, np.ones(len(repeated)), level)


def test_ranks_are_exact():
    """(99 + 1) * 0.9 is a bit more than 90 in floats."""
    scores = np.arange(1.0, 100.0)
    assert upper_bound(scores, np.ones(99), 0.9) == 90.0
    assert upper_bound(scores, np.ones(99), 0.99) == 99.0
    assert upper_bound(scores, np.ones(99), 0.991) == np.inf
    assert upper_bound(np.empty(0), np.empty(0), 0.5) == np.inf


def test_a_new_score_is_below_the_bound_as_often_as_asked_for():
    """Over 20 000 repetitions with 19 scores: between the level and the level plus 1 / 20."""
    rng = np.random.default_rng(0)
    for level in (0.8, 0.9, 0.95):
        scores = rng.exponential(size=(20_000, 20))
        bounds = np.array([upper_bound(own[:-1], np.ones(19), level) for own in scores])
        assert (scores[:, -1] <= bounds).mean() == pytest.approx(np.ceil(20 * level - 1e-9) / 20, abs=0.008)


def test_quantiles_between_scores():
    scores = np.array([3.0, 1.0, 2.0])
    assert quantiles_of_new(scores, np.ones(3), np.array([0.25, 0.5, 0.625])).tolist() == [1.0, 2.0, 2.5]
    assert quantiles_of_new(scores, np.ones(3), np.array([0.0, 1.0])).tolist() == [1.0, 3.0]
