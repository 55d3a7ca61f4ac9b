import math

import numpy as np
import pytest

from softwood.compiled.stream import (
    adjust_classes,
    adjust_reals,
    bound_targets,
    class_error,
    draw_count,
    draw_row,
    draw_weights,
    keep_columns,
    keep_columns_of_all,
    level_part,
    real_error,
    score_spare,
    vote_classes,
    vote_reals,
    watch,
    watch_row,
)
from softwood.stream.drift import ADWIN
from softwood.stream.loops.drift import DRIFT, NOTHING, WARNING
from softwood.stream.loops.forest import (
    EXCESS,
    FADING,
    LARGEST_POWER,
    LEARNED,
    LEAST_CURVATURE,
    LEAST_POWER,
    LEAST_VOTE,
    LEVEL_RATE,
    LOSS,
    N_ADJUSTMENT,
    N_LOSSES,
    N_SCORES,
    N_SIZES,
    SIZE,
    SKIPPED,
)
from softwood.stream.loops.layout import CENTRE, N_SCALER_ROWS, VARIANCE

pytestmark = pytest.mark.tiny


def detectors():
    return np.array([ADWIN(0.3, clock=1, mode="up")._state, ADWIN(0.01, clock=1, mode="up")._state])


def test_draws_are_a_poisson_distribution_by_number_of_row():
    n, rate = 4000, 3.0
    out = np.empty(n)
    draw_weights(np.uint64(5), 0, rate, np.ones(n), out)
    assert out.mean() == pytest.approx(rate, abs=0.15)
    assert out.var() == pytest.approx(rate, abs=0.3)
    assert np.mean(out == 0) == pytest.approx(math.exp(-rate), abs=0.02)
    # from any row on; rows of weight 0 have no number; a weight is a factor
    part = np.empty(5)
    draw_weights(np.uint64(5), 1000, rate, np.array([1.0, 0.0, 2.0, 1.0, 0.0]), part)
    assert part.tolist() == [out[1000], 0.0, 2 * out[1001], out[1002], 0.0]
    seeds, one = np.array([9, 5], dtype=np.uint64), np.empty(2)
    draw_row(seeds, 1001, rate, 2.0, one)
    assert one[1] == 2 * out[1001]
    draw_row(seeds, 1001, rate, 0.0, one)
    assert not one.any()
    assert [draw_count(np.uint64(5), k, rate, math.exp(-rate)) for k in range(20)] == out[:20].tolist()


def test_columns_that_are_not_seen_are_missing():
    points, out = np.arange(6.0).reshape(2, 3), np.empty((2, 3))
    keep_columns(points, np.array([1, 0, 1], dtype=np.uint8), out)
    np.testing.assert_array_equal(out, [[0.0, np.nan, 2.0], [3.0, np.nan, 5.0]])
    both, of_two = np.empty((2, 2, 3)), np.array([[1, 1, 1], [1, 0, 1]], dtype=np.uint8)
    keep_columns_of_all(points, of_two, both)
    np.testing.assert_array_equal(both, [points, out])


def test_targets_far_from_the_others_are_moved_towards_them():
    targets = np.random.default_rng(0).normal(5.0, 2.0, 40)
    targets[30] = -1e9
    scaler, out = np.zeros((N_SCALER_ROWS, 1)), np.empty(40)
    bound_targets(targets, np.where(np.arange(40) == 10, 0.0, 1.0), scaler, 6.0, out)
    usual = np.arange(40) != 30
    assert np.array_equal(out[usual], targets[usual])
    # the outlier itself has entered the scale as if it were at the limit
    known = np.delete(targets[:30], 10)
    reach = 6.0 * known.std()
    with_it = np.append(known, known.mean() - reach)
    assert out[30] == pytest.approx(with_it.mean() - 6.0 * with_it.std())
    assert scaler[CENTRE, 0] == pytest.approx(np.append(with_it, targets[31:]).mean(), abs=0.1)
    # parts make no difference
    parts, again = np.zeros((N_SCALER_ROWS, 1)), np.empty(40)
    for k in range(40):
        bound_targets(targets[k : k + 1], np.array([float(k != 10)]), parts, 6.0, again[k : k + 1])
    assert np.array_equal(again, out)
    assert np.array_equal(parts, scaler)
    # scales whose squares are no floats have no limit
    scaler, out = np.zeros((N_SCALER_ROWS, 1)), np.empty(3)
    huge = np.array([1e280, -1e280, 1e290])
    bound_targets(huge, np.ones(3), scaler, 1.0, out)
    assert np.array_equal(out, huge)
    assert np.isfinite(scaler[VARIANCE, 0])


def test_losses_fade():
    scores = np.zeros(N_SCORES)
    rows = [(0.8, 0), (0.3, 1), (0.9, 0), (0.0, 1)]
    losses = []
    for p, label in rows:
        outputs = np.array([[0.5, 0.5], [p, 1.0 - p] if label == 0 else [1.0 - p, p]])
        assert class_error(outputs, 1, label, 3.0, scores) == float(p < 0.5)
        losses.append(-math.log(max(p, 1e-3)))
    assert scores[LOSS] == pytest.approx(2 / 3 * np.mean(losses[:3]) + 1 / 3 * losses[3])
    assert scores[N_LOSSES] == 3.0
    scores = np.zeros(N_SCORES)
    found = [real_error(x, 1.0, 3.0, scores) for x in (1.0, 3.0, -1.0, 5.0)]
    assert scores[SIZE] == pytest.approx(np.mean([0.0, 2.0, 2.0, 4.0]))
    assert scores[N_SIZES] == 4.0
    assert scores[LOSS] == pytest.approx(2 / 3 * np.mean([0.0, 2.0, 2.0]) + 4 / 3)
    assert found == pytest.approx([0.0, 2 / (2 + 3 * 1), 2 / (2 + 3 * 4 / 3), 4 / (4 + 3 * 2)])


def rows_with_a_drift(n=120):
    """Probabilities of two classes that are right at first and wrong later."""
    outputs = np.tile([0.9, 0.1], (n, 1))
    labels = (np.arange(n) >= n // 2).astype(np.int64)
    return outputs, labels, np.ones(n)


def test_watching_stops_at_alarms_and_goes_on_there():
    outputs, labels, weights = rows_with_a_drift()
    weights[10] = 0.0
    state, scores, losses = detectors(), np.zeros(N_SCORES), np.empty(len(labels))
    found, start = [], 0
    while start < len(labels):
        start, what = watch(outputs, labels, None, weights, start, 50.0, state, scores, losses)
        found.append((start, what))
    kinds = [what for _, what in found]
    assert kinds[0] == WARNING
    assert DRIFT in kinds
    assert kinds[-1] == NOTHING
    assert all(60 < row < 90 for row, what in found if what != NOTHING)
    # row by row, with one loss before each row, and nothing of the row of weight 0
    reference, own = detectors(), np.zeros(N_SCORES)
    one = []
    for i in range(len(labels)):
        assert losses[i] == own[LOSS]
        what, loss = np.empty(1, dtype=np.int64), np.empty((1, 1))
        row = slice(i, i + 1)
        watch_row(outputs[None, row], labels[row], None, weights[row], 50.0, reference[None], own[None], loss, what)
        assert loss[0, 0] == losses[i]
        if what[0] != NOTHING:
            one.append((i + 1, what[0]))
    assert one == [each for each in found if each[1] != NOTHING]
    np.testing.assert_array_equal(reference, state)
    spare = np.zeros(N_SCORES)
    score_spare(outputs, labels, None, weights, 50.0, spare)
    np.testing.assert_array_equal(spare, own)


def test_watching_real_targets():
    rng = np.random.default_rng(0)
    outputs, targets = rng.normal(size=(200, 1)), np.zeros(200)
    targets[100:] = 30.0
    state, scores, losses = detectors(), np.zeros(N_SCORES), np.empty(200)
    start, what = 0, NOTHING
    while what != DRIFT:
        start, what = watch(outputs, None, targets, np.ones(200), start, 50.0, state, scores, losses)
    assert 100 < start < 150
    spare = np.zeros(N_SCORES)
    score_spare(outputs[:start], None, targets[:start], np.ones(start), 50.0, spare)
    np.testing.assert_array_equal(spare, scores)


def test_votes():
    rng = np.random.default_rng(0)
    outputs = rng.dirichlet(np.ones(3), size=(4, 5))
    outputs[0, 0] = [1.0, 0.0, 0.0]
    losses = rng.random((4, 5))
    out = np.empty((5, 3))
    vote_classes(outputs, losses, 2.0, out)
    weights = np.exp(-2.0 * losses)[:, :, None]
    expected = np.exp((weights * np.log(np.maximum(outputs, 1e-4))).sum(axis=0) / weights.sum(axis=0))
    np.testing.assert_allclose(out, expected / expected.sum(axis=1, keepdims=True), rtol=1e-12)
    reals, found = rng.normal(size=(4, 5, 1)), np.empty((5, 1))
    losses[2, 1] = 0.0
    vote_reals(reals, losses, 3.0, found)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = (losses.min(axis=0) / losses) ** 3.0
    weights[2, 1] = 1.0
    np.testing.assert_allclose(found[:, 0], (weights * reals[:, :, 0]).sum(axis=0) / weights.sum(axis=0), rtol=1e-12)
    assert found[1, 0] == reals[2, 1, 0]


def test_errors_that_last_are_added_to_votes():
    """Against sums over all past rows, that fade."""
    rng = np.random.default_rng(0)
    n = 300
    weights, targets, votes = (rng.random(n) > 0.1) * 2.0, np.zeros(n), rng.normal(size=n)
    for i in range(1, n):  # errors last in the first half alone
        targets[i] = votes[i] + (0.8 if i < n // 2 else -0.5) * (targets[i - 1] - votes[i - 1]) + 0.1 * rng.normal()
    out, adjustment = votes[:, None].copy(), np.zeros(N_ADJUSTMENT)
    adjust_reals(targets, weights, adjustment, out)
    errors, levels = [], [0.0]  # of the rows that count, and the level before each
    n_rows = 0
    for i in range(n + 1):
        part = 0.0
        fading = FADING ** np.arange(len(errors))[::-1]
        before = np.array(levels[:-1])
        if n_rows >= LEARNED and (before**2).sum() > 0.0:
            part = np.clip((fading * before * errors).sum() / (fading * before**2).sum(), 0.0, 1.0) * levels[-1]
        if i == n:
            assert level_part(adjustment) == pytest.approx(part)
            break
        assert out[i, 0] == pytest.approx(votes[i] + part)
        if weights[i] > 0.0:
            n_rows += 1
            if n_rows > SKIPPED:
                errors.append(targets[i] - votes[i])
                levels.append(levels[-1] + LEVEL_RATE * (errors[-1] - levels[-1]))
    assert (out[:60, 0] == votes[:60]).all()
    assert np.abs(out[100:150, 0] - targets[100:150]).mean() < 0.8 * np.abs(votes[100:150] - targets[100:150]).mean()
    # any division gives the same bits, rows to predict change nothing, and huge errors stay finite
    parts, again = votes[:, None].copy(), np.zeros(N_ADJUSTMENT)
    for rows in (slice(0, 77), slice(77, 78), slice(78, n)):
        adjust_reals(targets[rows], weights[rows], again, parts[rows])
        found = np.array([[1.0]])
        adjust_reals(None, None, again, found)
        assert found[0, 0] == 1.0 + level_part(again)
    np.testing.assert_array_equal(parts, out)
    np.testing.assert_array_equal(again, adjustment)
    adjust_reals(np.array([1e300, -1e300]), np.ones(2), again, np.array([[-1e300], [1e300]]))
    assert np.isfinite(again).all()


@pytest.mark.parametrize("truth", [0.5, 1.0, 2.5])
def test_the_power_of_the_votes_is_learned(truth):
    """Labels are drawn from the votes, raised to a power that the loop finds, by steps of Newton's method."""
    rng = np.random.default_rng(1)
    n = 3000
    votes = rng.dirichlet(np.ones(3), size=n)
    odds = votes**truth
    labels = (rng.random((n, 1)) > np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)).sum(axis=1)
    votes[5], labels[5] = [1.0, 0.0, 0.0], 1
    weights = (rng.random(n) > 0.1) * 3.0
    out, adjustment = votes.copy(), np.zeros(N_ADJUSTMENT)
    adjust_classes(labels, weights, adjustment, out)
    power, curvature = 1.0, 0.0
    for i in range(n):
        logs = np.log(np.maximum(votes[i], LEAST_VOTE))
        p = np.exp(power * (logs - logs.max()))
        p /= p.sum()
        assert out[i] == pytest.approx(p, abs=1e-9)
        if weights[i] > 0.0:
            curvature = FADING * curvature + (p * logs**2).sum() - (p * logs).sum() ** 2
            power = np.clip(
                power - ((p * logs).sum() - logs[labels[i]]) / max(curvature, LEAST_CURVATURE),
                LEAST_POWER,
                LARGEST_POWER,
            )
    assert 1.0 + adjustment[EXCESS] == pytest.approx(power)
    assert power == pytest.approx(truth, rel=0.15)
    parts, again = votes.copy(), np.zeros(N_ADJUSTMENT)
    for rows in (slice(0, 77), slice(77, 78), slice(78, n)):
        adjust_classes(labels[rows], weights[rows], again, parts[rows])
        before, found = again.copy(), votes[:1].copy()
        adjust_classes(None, None, again, found)
        assert found[0] == pytest.approx(votes[0] ** (1 + again[EXCESS]) / (votes[0] ** (1 + again[EXCESS])).sum())
        np.testing.assert_array_equal(again, before)
    np.testing.assert_array_equal(parts, out)
    np.testing.assert_array_equal(again, adjustment)
