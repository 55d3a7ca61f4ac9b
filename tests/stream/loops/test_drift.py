import numpy as np
import pytest

from softwood.compiled.stream import (
    add_to_window,
    bucket_place,
    clear_adwin,
    clear_ddm,
    clear_page_hinkley,
    drop_buckets,
    forget_oldest,
    has_cut,
    scan_adwin,
    scan_ddm,
    scan_page_hinkley,
    update_adwin,
    update_ddm,
    update_page_hinkley,
)
from softwood.stream.loops.drift import (
    A_BUCKETS,
    A_COUNTS,
    A_DELTA,
    A_FIRST_BUCKET,
    A_SQUARES,
    A_TOTAL,
    A_WIDTH,
    BOTH,
    D_DRIFT,
    D_LEAST,
    D_WARNING,
    DOWN,
    DRIFT,
    LAST,
    N_DDM,
    N_LEVELS,
    N_PAGE_HINKLEY,
    P_DELTA,
    UP,
)
from tests.reference.drift import PlainADWIN, plain_ddm, plain_page_hinkley

pytestmark = pytest.mark.tiny


def values(n, seed=0):
    """A mean that jumps."""
    rng = np.random.default_rng(seed)
    return rng.normal(np.repeat([0.0, 1.5, 0.2], n // 3), 0.5)


def adwin_state(delta=0.002, clock=32, max_buckets=5, least=5, grace=10, mode=BOTH):
    state = np.zeros(A_FIRST_BUCKET + 2 * N_LEVELS * (max_buckets + 1))
    state[A_DELTA : A_DELTA + 6] = delta, clock, max_buckets, least, grace, mode
    return state


def window(state):
    """Lengths and totals of all buckets, the oldest first."""
    found = []
    for level in range(N_LEVELS - 1, -1, -1):
        for k in range(int(state[A_COUNTS + level])):
            found.append((2**level, state[bucket_place(state, level, k)]))
    return found


@pytest.mark.parametrize(
    "settings", [(0.002, 32, 5, 5, 10), (0.3, 1, 2, 1, 0), (0.05, 3, 3, 4, 40)], ids=["default", "eager", "odd"]
)
def test_adwin_is_the_plain_one(settings):
    state, plain = adwin_state(*settings), PlainADWIN(*settings)
    n_alarms = 0
    for x in values(450):
        found = update_adwin(state, x)
        plain.update(x)
        assert (found == DRIFT) == plain.drift_detected == (state[LAST] == DRIFT)
        n_alarms += plain.drift_detected
        assert [n for n, _ in window(state)] == [len(bucket) for bucket in plain.buckets]
        np.testing.assert_allclose([total for _, total in window(state)], [sum(b) for b in plain.buckets], atol=1e-9)
        assert state[A_WIDTH] == len(plain.values)
        assert state[A_TOTAL] == pytest.approx(sum(plain.values), abs=1e-9)
        assert state[A_SQUARES] == pytest.approx(np.var(plain.values) * len(plain.values), abs=1e-6)
    assert n_alarms >= 2


def test_directions_of_adwin():
    rise, fall = [0.0] * 100 + [1.0] * 100, [1.0] * 100 + [0.0] * 100
    for mode, is_alarm in ((UP, [True, False]), (DOWN, [False, True]), (BOTH, [True, True])):
        for stream, expected in zip((rise, fall), is_alarm, strict=True):
            state = adwin_state(clock=1, mode=mode)
            assert any([update_adwin(state, x) == DRIFT for x in stream]) == expected
            # with or without an alarm, old values are gone
            assert state[A_TOTAL] / state[A_WIDTH] == pytest.approx(stream[-1], abs=0.1)


def test_parts_of_adwin():
    state = adwin_state(max_buckets=2)
    for x in (1.0, 2.0, 3.0, 4.0):
        add_to_window(state, x)
    assert window(state) == [(2, 3.0), (1, 3.0), (1, 4.0)]
    assert not has_cut(state)
    forget_oldest(state)
    assert window(state) == [(1, 3.0), (1, 4.0)]
    assert (state[A_WIDTH], state[A_TOTAL], state[A_SQUARES]) == (2.0, 7.0, pytest.approx(0.5))
    drop_buckets(state, 0, 1)
    assert window(state) == [(1, 4.0)]
    clear_adwin(state)
    assert window(state) == []
    assert state[A_BUCKETS] == 2.0
    for x in [0.0] * 40 + [1.0] * 40:
        add_to_window(state, x)
    assert has_cut(state)


@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("fading", [1.0, 0.99])
def test_page_hinkley_is_the_plain_one(mode, fading):
    state = np.zeros(N_PAGE_HINKLEY)
    clear_page_hinkley(state)
    state[P_DELTA - 1 : P_DELTA + 4] = 20, 0.05, 6.0, fading, mode
    stream = values(450)
    expected = plain_page_hinkley(stream, 20, 0.05, 6.0, fading, ["up", "down", "both"][mode])
    reference = state.copy()
    found = [i for i, x in enumerate(stream) if update_page_hinkley(state, x) == DRIFT]
    assert found == expected
    assert len(expected) >= 1
    out = np.zeros(len(stream), dtype=np.int64)
    scan_page_hinkley(reference, stream, out)
    assert np.flatnonzero(out == DRIFT).tolist() == expected


def test_ddm_is_the_plain_one():
    state = np.zeros(N_DDM)
    clear_ddm(state)
    state[[D_LEAST, D_WARNING, D_DRIFT]] = 20, 1.5, 2.5
    errors = (np.random.default_rng(0).random(450) < np.repeat([0.1, 0.6, 0.2], 150)).astype(float)
    expected = plain_ddm(errors, 20, 1.5, 2.5)
    reference = state.copy()
    assert [update_ddm(state, x) for x in errors] == expected
    assert {1, 2} <= set(expected)
    out = np.zeros(len(errors), dtype=np.int64)
    scan_ddm(reference, errors, out)
    assert out.tolist() == expected


def test_blocks_are_the_values_one_by_one():
    stream = values(600, seed=1)
    one, other = adwin_state(), adwin_state()
    out = np.zeros(len(stream), dtype=np.int64)
    scan_adwin(one, stream, out)
    assert out.tolist() == [update_adwin(other, x) for x in stream]
    assert out.any()
    np.testing.assert_array_equal(one, other)
