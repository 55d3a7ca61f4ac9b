"""Intervals and sets of all batch estimators: what they cover, and what they are."""

import itertools
import pickle
import warnings
from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import softwood
from tests.contract.specs import BATCH, over

batch_regressors = over([spec for spec in BATCH if not spec.is_classifier])
batch_classifiers = over([spec for spec in BATCH if spec.is_classifier])
every_batch = over(BATCH)


def _noisy(spec, n, seed):
    """Rows of four columns, and targets with noise that depends on one of them."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    noise = np.random.default_rng(seed + 1).normal(size=n) * (0.2 + (X[:, 2] > 0))
    return X, spec.targets(X[:, 0] + noise)


def _ends(model, X):
    return model.predict_set(X, 0.8) if hasattr(model, "predict_set") else model.predict_interval(X, 0.8)


def _covered(model, X, y, coverage, **options):
    if hasattr(model, "predict_set"):
        found = model.predict_set(X, coverage, **options)
        return found[np.arange(len(X)), np.searchsorted(model.classes_, y)]
    ends = model.predict_interval(X, coverage)
    return (ends[:, 0] <= y) & (y <= ends[:, 1])


@every_batch
def test_new_rows_are_covered(spec):
    """Within four standard deviations of the coverage, given 1 000 rows to calibrate and 2 000 to predict."""
    X, y = _noisy(spec, 3150, seed=3)
    model = spec.make().fit(X[:150], y[:150]).calibrate(X[150:1150], y[150:1150])
    for coverage in (0.8, 0.9, 0.95):
        options = {"allow_empty": True} if spec.is_classifier else {}
        found = _covered(model, X[1150:], y[1150:], coverage, **options).mean()
        error = np.sqrt(coverage * (1 - coverage) * (1 / 600 + 1 / 2000))
        assert found > coverage - 4 * error
        # probabilities of few leaves are equal for many rows, so sets may contain more
        assert spec.is_classifier or found < coverage + 4 * error + 0.002


@every_batch
def test_a_model_that_is_not_fitted_has_no_scores(spec):
    model = clone(spec.fitted())
    assert not hasattr(model, "calibration_")
    with pytest.raises(NotFittedError):
        _covered(model, *spec.table(), 0.9)


@every_batch
def test_scores_are_there_after_fit_or_the_error_says_what_to_do(spec):
    X, y = _noisy(spec, 150, seed=3)
    model = spec.make().fit(X, y)
    if hasattr(model, "calibration_"):
        found = _covered(model, X, y, 0.8)
        assert found.mean() > 0.6
        assert model.calibration_.weights.sum() <= 150 * (1 + 1e-12)
    else:
        with pytest.raises(NotFittedError, match=r"calibrate\(X, y\)"):
            _covered(model, X, y, 0.8)


@every_batch
def test_calibration_changes_no_prediction_and_ends_with_the_next_fit(spec):
    X, y = spec.table()
    model = spec.make().fit(X, y)
    before, scores = model.predict(X), getattr(model, "calibration_", None)
    assert model.calibrate(X, y) is model
    assert np.array_equal(model.predict(X), before)
    model.fit(X, y)
    found = getattr(model, "calibration_", None)
    assert (found is None) == (scores is None)
    if scores is not None:
        assert np.array_equal(found.scores, scores.scores)


@every_batch
def test_neither_files_nor_pickles_nor_copies_change_scores_or_hold_rows(spec, tmp_path):
    X, y = _noisy(spec, 150, seed=3)
    fitted = [spec.make().fit(X, y) for _ in range(3)]
    copies = [pickle.loads(pickle.dumps(fitted[0])), deepcopy(fitted[1])]
    softwood.save(fitted[2], tmp_path / "model")
    copies.append(softwood.load(tmp_path / "model"))
    assert not any("_held_out_" in vars(model) for model in copies)
    for model in copies:
        assert hasattr(model, "calibration_") == hasattr(fitted[0], "calibration_")
        if hasattr(model, "calibration_"):
            assert np.array_equal(_ends(model, X), _ends(fitted[0], X))


@batch_regressors
def test_intervals_are_nested_and_quantiles_rise(spec):
    X, y = _noisy(spec, 600, seed=5)
    model = spec.make().fit(X[:150], y[:150]).calibrate(X[150:], y[150:])
    ends = [model.predict_interval(X[:50], coverage) for coverage in (0.5, 0.8, 0.9)]
    for inner, outer in itertools.pairwise(ends):
        assert inner.shape == (50, 2)
        assert np.all(outer[:, 0] <= inner[:, 0])
        assert np.all(inner[:, 1] <= outer[:, 1])
    levels = np.array([0.9, 0.05, 0.5, 0.25])
    found = model.predict_quantiles(X[:50], levels)
    assert np.all(np.diff(found[:, np.argsort(levels)], axis=1) >= 0)
    assert np.array_equal(model.predict_quantiles(X[:50], 0.05), found[:, 1])
    distribution = model.predict_distribution(X[:50])
    assert len(distribution) == 50
    assert np.all(np.diff(distribution.values, axis=1) >= 0)
    places = np.linspace(distribution.values.min(), distribution.values.max(), 4001)
    cdf = np.array([distribution.cdf(place) for place in places])
    assert np.all(np.diff(cdf, axis=0) >= 0)
    by_parts = places[-1] - np.trapezoid(cdf, places, axis=0)
    assert by_parts == pytest.approx(distribution.mean, abs=0.02 * np.ptp(places))


@batch_classifiers
def test_sets_are_nested_and_never_empty_unless_asked_for(spec):
    X, y = _noisy(spec, 600, seed=5)
    model = spec.make().fit(X[:150], y[:150]).calibrate(X[150:], y[150:])
    found = [model.predict_set(X[:50], coverage) for coverage in (0.05, 0.5, 0.9)]
    for inner, outer in itertools.pairwise(found):
        assert inner.dtype == bool
        assert inner.shape == (50, 3)
        assert not np.any(inner & ~outer)
    assert found[0].any(axis=1).all()
    assert np.all(found[0][np.arange(50), model.predict_proba(X[:50]).argmax(axis=1)])
    assert not model.predict_set(X, 0.05, allow_empty=True).any(axis=1).all()


@every_batch
def test_weights_are_repetitions(spec):
    X, y = _noisy(spec, 300, seed=7)
    weights = np.random.default_rng(0).integers(0, 4, size=150)
    rows = np.repeat(np.arange(150), weights)
    model = spec.make().fit(X[:150], y[:150])
    weighted = clone(model).fit(X[:150], y[:150]).calibrate(X[150:], y[150:], weights)
    repeated = model.calibrate(X[150:][rows], y[150:][rows])
    if spec.is_classifier:
        assert np.array_equal(weighted.predict_set(X, 0.8), repeated.predict_set(X, 0.8))
    else:
        assert weighted.predict_interval(X, 0.8) == pytest.approx(repeated.predict_interval(X, 0.8))


@every_batch
def test_weights_are_repetitions_in_the_scores_of_a_fit(spec):
    X, y = _noisy(spec, 60, seed=7)
    weights = np.random.default_rng(0).integers(1, 4, size=60)
    rows = np.repeat(np.arange(60), weights)
    weighted, repeated = spec.make().fit(X, y, weights), spec.make().fit(X[rows], y[rows])
    assert hasattr(weighted, "calibration_") == hasattr(repeated, "calibration_")
    if hasattr(weighted, "calibration_"):
        masses = [model.calibration_.weights.sum() for model in (weighted, repeated)]
        assert masses[0] == pytest.approx(masses[1])
        if spec.is_classifier:
            assert np.array_equal(_ends(weighted, X), _ends(repeated, X))
        else:
            assert _ends(weighted, X) == pytest.approx(_ends(repeated, X), rel=1e-6)


@every_batch
def test_saved_calibrations_predict_the_same_bits(spec, tmp_path):
    X, y = _noisy(spec, 450, seed=9)
    model = spec.make().fit(X[:150], y[:150]).calibrate(X[150:], y[150:], by=1)
    softwood.save(model, tmp_path / "model")
    loaded = softwood.load(tmp_path / "model")
    name = "predict_set" if spec.is_classifier else "predict_interval"
    assert np.array_equal(getattr(model, name)(X), getattr(loaded, name)(X))


@every_batch
def test_few_rows_cover_by_everything_with_a_warning(spec):
    X, y = spec.table()
    model = spec.make().fit(X, y).calibrate(X[:5], y[:5])
    with pytest.warns(UserWarning, match=r"too few calibration rows for coverage=0.9"):
        found = model.predict_set(X) if spec.is_classifier else model.predict_interval(X)
    assert found.all() if spec.is_classifier else np.isinf(found).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _covered(model, X, y, 0.5)


@every_batch
@pytest.mark.parametrize("coverage", [0, 1, -0.1, "0.9", None, np.nan, True])
def test_coverage_is_between_0_and_1(spec, coverage):
    X, y = spec.table()
    model = spec.make().fit(X, y).calibrate(X, y)
    with pytest.raises(ValueError, match=r"coverage must be a number in the range \(0, 1\)"):
        _covered(model, X, y, coverage)
