"""Scores of splits of boosting, and the best of many candidates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.compiled import boosting as loop
from softwood.kernel.rounds.loops.boost_scores import SCORE
from softwood.kernel.rounds.loops.boost_scores import Rules as LoopRules
from tests.reference.boosting import LEAF_LIMITS, Leaf

limits = st.sampled_from(LEAF_LIMITS)


@pytest.mark.tiny
@given(st.floats(-3, 3), st.floats(0.01, 5), st.sampled_from([0.0, 0.5, 10.0]), limits)
def test_a_leaf_has_the_best_value_within_its_limits(g, h, l2, ends):
    value, score = loop.leaf_value(g, h, l2, *ends), loop.score(g, h, l2, *ends)
    assert ends[0] <= value <= ends[1]

    def decrease(v):
        return -2.0 * (g * v + 0.5 * (h + l2) * v**2)

    assert score == pytest.approx(decrease(value), abs=1e-12)
    tried = np.clip(np.linspace(-5, 5, 101), *ends)
    assert score >= decrease(tried).max() - 1e-9
    if ends == (-np.inf, np.inf):
        assert score == pytest.approx(g**2 / (h + l2))


@pytest.mark.tiny
@given(
    st.tuples(st.floats(0.01, 5), st.floats(-3, 3)),
    st.tuples(st.floats(0.01, 5), st.floats(-3, 3)),
    st.sampled_from([0.0, 0.5]),
    limits,
    st.sampled_from([-1, 0, 1]),
)
def test_the_score_of_a_split_is_that_of_both_sides(left, right, l2, ends, direction):
    leaf = Leaf(0, 0, np.zeros(0), np.zeros(0), np.zeros(0), *ends)
    h, g = np.add(left, right)
    found = loop.split_score(*left, h, g, l2, (*ends, direction))
    rise = leaf.value(right, l2) - leaf.value(left, l2)
    if direction * rise < -1e-9:
        assert found == -np.inf
    elif direction == 0 or abs(rise) > 1e-9:
        assert found == pytest.approx(leaf.score(left, l2) + leaf.score(right, l2), rel=1e-9, abs=1e-9)


@pytest.mark.tiny
@pytest.mark.parametrize("ends", [(-np.inf, np.inf), (-0.2, 0.4)])
@pytest.mark.parametrize("direction", [0, 1])
def test_scores_of_candidates(ends, direction):
    rng = np.random.default_rng(0)
    lines = np.zeros((7, 12))
    lines[:2, 1:10] = np.sort(rng.random(9)), rng.normal(size=9)
    loop.score_candidates(lines, 1, 10, 1.5, 0.3, 0.1, (*ends, direction))
    expected = [loop.split_score(h, g, 1.5, 0.3, 0.1, (*ends, direction)) for h, g in lines[:2, 1:10].T]
    np.testing.assert_allclose(lines[SCORE, 1:10], expected, rtol=1e-12)
    assert not lines[SCORE, [0, 10, 11]].any()


@pytest.mark.tiny
@pytest.mark.parametrize(
    ("gradients", "before", "expected"),
    [
        ([9.0, 9.0, 0.1, 2.0, 1.0, 2.0, 9.0, 9.0], -np.inf, 3),  # the first and the last two have too little on a side
        ([9.0, 9.0, 0.1, 2.0, 1.0, 2.0 + 1e-14, 9.0, 9.0], -np.inf, 3),  # no better than the first, but for rounding
        ([9.0, 9.0, 0.1, 2.0, 1.0, 2.1, 9.0, 9.0], -np.inf, 5),
        ([9.0, 9.0, 0.1, 2.0, 1.0, 2.1, 9.0, 9.0], 99.0, -1),
    ],
)
def test_the_first_of_the_best_candidates_is_taken(gradients, before, expected):
    lines, out = np.full((7, 10), np.nan), np.full((2, 6), 7.0)
    lines[:3, 1:9] = np.full(8, 2.0), gradients, [0.5, 0.9, 1.5, 2.0, 2.0, 3.0, 3.2, 4.0]
    rules = LoopRules(9, 9, 1.0, 0.1, 0.0, 0.0, 0.0, True)
    out[1, 0] = before
    found = loop.best_candidate(
        lines, 1, 9, (4.0, 0.0, 4.0), (0.0, 4.0), rules, (-np.inf, np.inf, 0), out, 1
    )  # fmt: skip
    assert found == (expected + 1 if expected >= 0 else -1)
    assert np.all(out[0] == 7.0)
    if expected >= 0:
        np.testing.assert_array_equal(out[1, 2:5], lines[:3, found])
        assert out[1, 0] == pytest.approx(gradients[expected] ** 2)


@pytest.mark.tiny
@pytest.mark.parametrize("n", range(10))
def test_the_largest_of_some_scores(n):
    lines = np.full((7, n + 3), 99.0)
    scores = lines[SCORE, 2 : n + 2]
    scores[:] = np.random.default_rng(n).permutation(n)
    assert loop.largest_of(lines, 2, n + 2) == (n - 1 if n else -np.inf)
    if n > 1:
        scores[scores == n - 1] = np.nan
        assert loop.largest_of(lines, 2, n + 2) == n - 2
