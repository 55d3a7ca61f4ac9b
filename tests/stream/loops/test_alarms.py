"""Alarms of growing trees, compared with the detector on its own and with plain means."""

import numpy as np
import pytest

from softwood.compiled.stream import learned, note_class, note_error, note_target
from softwood.stream.drift import ADWIN
from softwood.stream.growing.arrays import new_detector
from softwood.stream.loops.alarms import ALARM, BEFORE, MEMORY, N_SIZES, RECENT, SIZE
from softwood.stream.loops.layout import N_COUNTERS, N_EVENTS, Settings, TreeNodes

pytestmark = pytest.mark.tiny
DELTA = 0.01


def with_alarms(delta=DELTA):
    settings = Settings(drift_delta=delta)
    return TreeNodes(None, None, np.zeros(N_COUNTERS, dtype=np.int64), settings, new_detector(delta))


def errors(seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random(600) < np.repeat([0.1, 0.5, 0.1, 0.8], 150)).astype(float)


@pytest.mark.parametrize("seed", range(3))
def test_alarms_and_errors_on_both_sides_of_the_change(seed):
    tree = with_alarms()
    detector = tree.detector
    alone, window, n_alarms, recent = ADWIN(DELTA, mode="up"), [], 0, 0.0
    for i, x in enumerate(errors(seed)):
        recent += (x - recent) / min(i + 1, MEMORY)
        if alone.drift_detected:
            window = []
        window.append(x)
        alone.update(x)
        assert note_error(x, tree) == alone.drift_detected
        assert learned(i, tree)[:2] == (i, n_alarms > 0 or alone.drift_detected)
        if alone.drift_detected:
            n_alarms += 1
            assert detector[ALARM] == 1.0
            np.testing.assert_allclose(detector[BEFORE], np.mean(window[: -alone.width]), rtol=1e-12)
            np.testing.assert_allclose(detector[RECENT], recent, rtol=1e-12)
            assert detector[RECENT] > detector[BEFORE]
        window = window[-alone.width :]
    assert n_alarms >= 2


def test_classes_count_as_right_or_wrong():
    rng = np.random.default_rng(1)
    outputs, labels = rng.dirichlet(np.ones(3), 300), rng.integers(0, 3, 300)
    tree, other = with_alarms(), with_alarms()
    for i, (output, label) in enumerate(zip(outputs, labels, strict=True)):
        note_class(outputs, i, label, tree)
        note_error(float(output.argmax() != label), other)
    np.testing.assert_array_equal(tree.detector, other.detector)


def test_targets_count_by_the_mean_of_their_errors():
    rng = np.random.default_rng(2)
    sizes = np.concatenate([np.zeros(3), rng.exponential(size=200), rng.exponential(30.0, size=100)])
    tree, other = with_alarms(), with_alarms()
    detector, found = tree.detector, []
    for i, size in enumerate(sizes):
        mean = sizes[: i + 1].mean()
        note_error(size / (size + 3.0 * mean) if size > 0.0 else 0.0, other)
        found.append(note_target(1.0 + size, 1.0, tree))
    assert any(found[203:])
    assert not any(found[:203])
    np.testing.assert_allclose(detector[SIZE], sizes.mean())
    assert detector[N_SIZES] == len(sizes)
    np.testing.assert_allclose(detector[:SIZE], other.detector[:SIZE], rtol=1e-9, atol=1e-12)


def test_without_a_detector_nothing_is_noted():
    tree = with_alarms(0.0)
    assert len(tree.detector) == 0
    assert not note_error(1.0, tree)
    assert not note_class(np.array([[0.2, 0.8]]), 0, 0, tree)
    assert not note_target(5.0, 1.0, tree)


def test_what_a_loop_hands_back():
    tree = with_alarms()
    tree.counters[N_EVENTS] = 3
    assert learned(7, tree) == (7, False, 3)
    tree.detector[ALARM] = 1.0
    assert learned(8, tree) == (8, True, 3)
    assert learned(8, with_alarms(0.0)) == (8, False, 0)
