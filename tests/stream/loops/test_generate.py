"""Rows of streams against slow references that go sample by sample."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softwood.compiled.stream import (
    bounced,
    draw_application,
    fill_applications,
    loan_class,
    moved,
    perturb_application,
    scatter_around_centroids,
    turn_hyperplane,
)
from tests.reference import streams as slow

# numbers that floats add without rounding, so that both ways are exact
dyadic = st.integers(0, 2**12).map(lambda k: k / 2**12)


def moves_to_cover(distance, speed):
    return int(distance / speed) + 1


@pytest.mark.tiny
@given(dyadic, st.integers(1, 2**13).map(lambda k: k / 2**12))
def test_centroids_bounce_as_step_by_step(start, speed):
    first, swing = moves_to_cover(1 - start, speed), moves_to_cover(1.0, speed)
    expected = slow.bounced(start, speed, 300)
    assert [bounced(start, speed, first, swing, t) for t in range(301)] == expected


@pytest.mark.tiny
def test_centroids_come_back_after_any_time():
    first, swing = moves_to_cover(0.7, 0.03), moves_to_cover(1.0, 0.03)
    for t in range(first, first + 2 * swing):
        later = t + 2 * swing * 10**10
        assert bounced(0.3, 0.03, first, swing, later) == bounced(0.3, 0.03, first, swing, t)


@pytest.mark.tiny
def test_points_lie_around_the_place_of_their_centroid():
    rng = np.random.default_rng(0)
    centres, velocities = rng.integers(0, 64, (3, 2)) / 64, rng.integers(1, 32, (3, 2)) / 64
    first = np.floor((1 - centres) / velocities).astype(np.int64) + 1
    swing = np.floor(1 / velocities).astype(np.int64) + 1
    spreads, classes = np.array([0.5, 1.0, 2.0]), np.array([1, 0, 1])
    units, lengths, chosen = rng.random((20, 2)), rng.normal(size=20), rng.integers(0, 3, 20)
    units[4] = 0.5  # no direction at all
    X, y = units.copy(), np.empty(20, dtype=np.int64)
    scatter_around_centroids(X, y, chosen, lengths, 100, centres, velocities, first, swing, spreads, classes)
    assert y.tolist() == classes[chosen].tolist()
    for i, c in enumerate(chosen):
        place = np.array([slow.bounced(centres[c, j], velocities[c, j], 101 + i)[-1] for j in range(2)])
        side = 2 * units[i] - 1
        offset = side / np.linalg.norm(side) * lengths[i] * spreads[c] if i != 4 else 0.0
        assert X[i] == pytest.approx(place + offset, abs=1e-14)


@pytest.mark.tiny
@given(
    st.integers(1, 5), st.integers(0, 5), st.sampled_from([0.0, 1 / 64, 0.25]), st.floats(0, 1), st.floats(0, 1),
    st.integers(0, 10**6),
)  # fmt: skip
def test_hyperplanes_turn_as_step_by_step(n_features, n_drifting, magnitude, noise, turn_probability, seed):
    n_drifting, n_rows = min(n_drifting, n_features), 40
    # weights in 64ths, so that their changes are exact however they are added up
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 64, n_features) / 64
    X, flips, turns = rng.random((n_rows, n_features)), rng.random(n_rows), rng.random((n_rows, n_drifting))
    draws = iter([*weights, *np.column_stack([X, flips, turns]).ravel()])
    reference = slow.turning_hyperplane(lambda: next(draws), n_features, n_drifting, magnitude, noise, turn_probability)
    rows = list(islice(reference, n_rows))
    y = np.empty(n_rows, dtype=np.int64)
    steps, directions = np.zeros(n_drifting, dtype=np.int64), np.ones(n_drifting, dtype=np.int64)
    for part in (slice(0, 7), slice(7, n_rows)):
        assert (weights[:n_drifting] + magnitude * steps).tolist() == rows[part][0][2][:n_drifting]
        is_flipped, is_turned = flips[part] + 0.01 <= noise, turns[part] + 0.01 <= turn_probability
        flags = is_flipped.view(np.uint8), is_turned.view(np.uint8)
        turn_hyperplane(X[part], y[part], *flags, weights, magnitude, steps, directions)
    assert y.tolist() == [label for _, label, _ in rows]


@pytest.mark.tiny
@pytest.mark.parametrize("function", range(10))
@pytest.mark.parametrize("is_balanced", [False, True])
def test_applications_are_those_of_the_reference(function, is_balanced):
    n = 12 if function < 7 or not is_balanced else 2
    for perturbation in (0.0, 0.3):
        X, y = np.empty((n, 9)), np.empty(n, dtype=np.int64)
        functions = np.full(n, function)
        fill_applications(X, y, functions, perturbation, is_balanced, np.uint64(2**63 + 5), 10**10)
        for i in range(n):
            x, label, _ = slow.application(2**63 + 5, 10**10 + i, function, perturbation, is_balanced)
            assert X[i] == pytest.approx(x, rel=1e-14)
            assert y[i] == label


@pytest.mark.tiny
@pytest.mark.parametrize("function", range(10))
def test_loans_at_the_edges_of_the_rules(function):
    rng = np.random.default_rng(function)
    X = np.empty((80, 9))
    X[:, 0] = rng.choice([25_000, 50_000, 75_000, 99_999, 100_000, 125_000, 125_001, 30_001.5, 37_501.5], 80)
    X[:, 1] = rng.choice([0, 0, 10_000, 25_000], 80)
    X[:, 2] = rng.choice([39, 40, 59, 60], 80)
    X[:, 3] = rng.integers(0, 5, 80)
    X[:, 4:6] = 1
    X[:, 6] = rng.choice([0, 90_000], 80)
    X[:, 7] = rng.choice([19, 20, 30], 80)
    X[:, 8] = rng.choice([0, 75_000, 100_000, 300_000, 300_001, 499_999], 80)
    expected = [slow.loan_class(function, *X[i, :4], *X[i, 6:]) for i in range(80)]
    assert [loan_class(function, X, i) for i in range(80)] == expected


@pytest.mark.tiny
@given(st.integers(0, 2**64 - 1), st.sampled_from([0.0, 0.1, 1.0]))
def test_applications_are_drawn_and_moved_as_by_the_reference(seed, perturbation):
    X = np.full((2, 9), np.nan)
    draw_application(X, 1, np.uint64(seed))
    u = slow.draws(seed)
    assert X[1] == pytest.approx(slow.drawn(u), rel=1e-14)
    expected = slow.moved(slow.drawn(u), u, perturbation)
    perturb_application(X, 1, perturbation, np.uint64(seed))
    assert X[1] == pytest.approx(expected, rel=1e-14)
    assert np.isnan(X[0]).all()


@pytest.mark.tiny
@pytest.mark.parametrize("seed", [0, 5, 2**63 + 7])
def test_moved_numbers_are_within_the_span(seed):
    assert moved(5.0, 0.0, np.uint64(seed)) == 5.0
    assert moved(5.0, 3.0, np.uint64(seed)) == pytest.approx(5.0 + 3.0 * (2.0 * slow.to_unit(seed) - 1.0), rel=1e-14)
