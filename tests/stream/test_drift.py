"""Drift detectors: river's alarms, blocks, copies, and what is wrong."""

import copy
import pickle

import numpy as np
import pytest

import softwood
from softwood.stream import ADWIN, DDM, PageHinkley

DETECTORS = [ADWIN, PageHinkley, DDM]
every = pytest.mark.parametrize("kind", DETECTORS)


def errors(n=30_000, seed=0):
    """Rates of errors that jump, and one that creeps up."""
    rng = np.random.default_rng(seed)
    rates = np.concatenate([np.repeat([0.1, 0.35, 0.08, 0.5], n // 5), np.linspace(0.1, 0.4, n - 4 * (n // 5))])
    return (rng.random(n) < rates).astype(float)


def reals(n=30_000, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(np.repeat([0.0, 0.3, 3.0, -1.0, -1.1], n // 5), 1.0)


@pytest.mark.parametrize(
    ("kind", "settings", "stream"),
    [
        (ADWIN, {}, errors),
        (ADWIN, {"delta": 0.1, "clock": 1}, errors),
        (ADWIN, {"max_buckets": 3, "min_window_length": 2, "grace_period": 50, "clock": 7}, reals),
        (PageHinkley, {}, errors),
        (PageHinkley, {"mode": "up", "threshold": 20.0, "delta": 0.1}, reals),
        (PageHinkley, {"mode": "down", "alpha": 0.999, "min_instances": 100}, reals),
        (DDM, {}, errors),
        (DDM, {"warm_start": 100, "warning_threshold": 1.0, "drift_threshold": 2.0}, errors),
    ],
)
def test_alarms_are_those_of_river(kind, settings, stream):
    drift = pytest.importorskip("river.drift")
    peer = (drift.binary.DDM if kind is DDM else getattr(drift, kind.__name__))(**settings)
    detector, n_alarms = kind(**settings), 0
    for i, x in enumerate(stream().tolist()):
        detector.update(x)
        peer.update(x)
        assert detector.drift_detected == peer.drift_detected, i
        n_alarms += peer.drift_detected
        if kind is DDM:
            assert detector.warning_detected == peer.warning_detected, i
        if kind is ADWIN:
            assert detector.width == peer.width, i
            assert detector.estimation == pytest.approx(peer.estimation, rel=1e-12), i
            # what river calls the variance is the sum of squares about the mean
            assert detector.variance * peer.width == pytest.approx(peer.variance, rel=1e-6, abs=1e-9), i
    assert n_alarms >= 2
    assert detector.n_detections == n_alarms


@every
def test_blocks_copies_and_files_go_on_as_one(kind, tmp_path):
    stream = errors(5000)
    whole, parts = kind(), kind()
    expected = whole.update_many(stream)
    found = []
    for block in np.split(stream, [1, 7, 7, 1500, 3000]):
        found.append(parts.update_many(block))
        softwood.save(parts, tmp_path / "detector.softwood")
        loaded = softwood.load(tmp_path / "detector.softwood")
        parts = pickle.loads(pickle.dumps(copy.deepcopy(loaded)))
    assert np.concatenate(found).tolist() == expected.tolist()
    np.testing.assert_array_equal(parts._state, whole._state)
    assert parts.n_detections == expected.sum() > 0
    assert parts.get_params() == whole.get_params()
    assert whole.clone().n_detections == 0


@every
def test_values_that_are_none_leave_it_as_it_was(kind):
    detector = kind()
    detector.update_many(errors(500))
    before = detector._state.copy()
    for wrong in (np.nan, np.inf, -np.inf, "x", None, [1.0, 2.0], *([-0.5, 2.0] if kind is DDM else [])):
        with pytest.raises((ValueError, TypeError)):
            detector.update(wrong)
        with pytest.raises((ValueError, TypeError)):
            detector.update_many([0.0, wrong])
    with pytest.raises(ValueError, match="values must be a sequence of numbers"):
        detector.update_many([[0.0, 1.0]])
    np.testing.assert_array_equal(detector._state, before)
    assert detector.update_many([]).shape == (0,)


def test_huge_values_are_no_overflow():
    with np.errstate(all="raise"):
        for detector in (ADWIN(clock=1), PageHinkley()):
            detector.update_many([1e308, -1e308, 0.0] * 100)
            assert np.all(np.isfinite(detector._state))


def test_read_only_values():
    stream = errors(1000)
    stream.flags.writeable = False
    assert ADWIN().update_many(stream).tolist() == ADWIN().update_many(stream.tolist()).tolist()


@pytest.mark.parametrize(
    ("kind", "name", "wrong"),
    [
        (ADWIN, "delta", [0.0, 1.5, None, np.nan]),
        (ADWIN, "clock", [0, 1.5, None]),
        (ADWIN, "max_buckets", [1, 2.0, 10**6]),
        (ADWIN, "min_window_length", [0, None]),
        (ADWIN, "grace_period", [-1, 1.5]),
        (ADWIN, "mode", ["sideways", None]),
        (PageHinkley, "min_instances", [-1, None]),
        (PageHinkley, "delta", [-0.1, "x"]),
        (PageHinkley, "threshold", [-1.0, np.inf]),
        (PageHinkley, "alpha", [-0.1, 1.1]),
        (PageHinkley, "mode", ["sideways", None]),
        (DDM, "warm_start", [-1, 0.5]),
        (DDM, "warning_threshold", [-1.0, None]),
        (DDM, "drift_threshold", [-1.0, np.nan]),
    ],
)
def test_wrong_parameters(kind, name, wrong):
    for value in wrong:
        with pytest.raises(ValueError, match=f"The '{name}' parameter of {kind.__name__} must be"):
            kind(**{name: value})
