import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from softwood.stream.evaluation.measures import (
    AUROC,
    MAE,
    MEASURES,
    R2,
    RMSE,
    Accuracy,
    CrossEntropy,
    Kappa,
    SkillMeasure,
)

seeds = st.integers(0, 2**32 - 1)


def classes_of_random_rows(seed, n_classes, n=200):
    """Labels, and probabilities that know something of them; some are exactly 0 or 1, and there are ties."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    P = rng.dirichlet(np.full(n_classes, 0.3), n) + 0.5 * np.eye(n_classes)[y] * rng.random((n, 1))
    P = np.round(P / P.sum(axis=1, keepdims=True), 2)
    P[:5] = np.eye(n_classes)[rng.integers(0, n_classes, 5)]
    return y, P / P.sum(axis=1, keepdims=True), rng


def numbers_of_random_rows(seed, n=200):
    rng = np.random.default_rng(seed)
    y = rng.normal(rng.normal() * 100, 1, n)
    return y, y + rng.normal(size=n), rng


def random_rows_for(measure, seed):
    """Targets or classes, predictions as the measure takes them, and what drew them."""
    if measure.takes == "numbers":
        return numbers_of_random_rows(seed)
    y, P, rng = classes_of_random_rows(seed, 3)
    return y, rng.integers(0, 3, (len(y), 2)) if issubclass(measure, SkillMeasure) else P, rng


def value(measure, y, prediction, weights=None):
    measure.update(y, prediction, weights)
    return measure.get()


def area(y, score, weights=None):
    return metrics.roc_auc_score(y, score, sample_weight=weights)


@given(seed=seeds, n_classes=st.integers(2, 5), weighted=st.booleans())
def test_as_in_scikit_learn(seed, n_classes, weighted):
    y, P, rng = classes_of_random_rows(seed, n_classes)
    w = rng.exponential(size=len(y)) if weighted else None
    labels = P.argmax(axis=1)
    assert np.isclose(value(Accuracy(), y, P, w), metrics.accuracy_score(y, labels, sample_weight=w))
    assert np.isclose(value(Kappa(), y, P, w), metrics.cohen_kappa_score(y, labels, sample_weight=w))
    expected = np.average(-np.log(np.clip(P[np.arange(len(y)), y], 1e-15, 1)), weights=w)
    assert np.isclose(value(CrossEntropy(), y, P, w), expected)
    if n_classes == 2:
        assert abs(value(AUROC(), y, P, w) - area(y, P[:, 1], w)) < 1e-3
    else:
        expected = np.mean([area(y == k, P[:, k], w) for k in range(n_classes)])
        assert abs(value(AUROC(), y, P, w) - expected) < 1e-3


def test_cross_entropy_is_scikit_learns_log_loss():
    y, P, _ = classes_of_random_rows(0, 3)
    P = 0.9 * P + 0.1 / 3  # scikit-learn clips elsewhere
    assert np.isclose(value(CrossEntropy(), y, P), metrics.log_loss(y, P))


@given(seed=seeds, weighted=st.booleans())
def test_numbers_as_in_scikit_learn(seed, weighted):
    y, prediction, rng = numbers_of_random_rows(seed)
    w = rng.exponential(size=len(y)) if weighted else None
    assert np.isclose(value(R2(), y, prediction, w), metrics.r2_score(y, prediction, sample_weight=w))
    assert np.isclose(value(MAE(), y, prediction, w), metrics.mean_absolute_error(y, prediction, sample_weight=w))
    assert np.isclose(value(RMSE(), y, prediction, w), metrics.root_mean_squared_error(y, prediction, sample_weight=w))


@given(seed=seeds, centre=st.sampled_from([-15, -4, 0, 3, 10]), spread=st.sampled_from([0.1, 1, 10, 100]))
def test_areas_of_scores_that_crowd_somewhere(seed, centre, spread):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 3000)
    p = 1 / (1 + np.exp(-np.clip(centre + spread * (rng.normal(size=3000) + y), -700, 700)))
    assert abs(value(AUROC(), y, np.c_[1 - p, p]) - area(y, p)) < 1e-3


def test_areas_of_extreme_scores_are_exact():
    y = np.array([0, 0, 1, 1, 0, 1])
    p = np.array([0.0, 1e-300, 1e-200, 1 - 1e-12, 1 - 1e-15, 1.0])
    assert value(AUROC(), y, np.c_[1 - p, p]) == pytest.approx(area(y, p), abs=1e-12)
    only = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    assert value(AUROC(), y, np.c_[1 - only, only]) == pytest.approx(area(y, only), abs=1e-12)
    assert value(AUROC(), y, np.full((6, 2), 0.5)) == 0.5


@pytest.mark.parametrize("name", MEASURES)
@given(seed=seeds, cuts=st.lists(st.integers(0, 200), max_size=6))
def test_the_same_however_the_rows_are_cut(name, seed, cuts):
    measure = MEASURES[name]
    y, P, rng = random_rows_for(measure, seed)
    w = rng.exponential(size=200)
    at_once = value(measure(), y, P, w)
    in_parts, merged = measure(), measure()
    for rows in np.split(np.arange(200), sorted(cuts)):
        in_parts.update(y[rows], P[rows], w[rows])
        part = measure()
        part.update(y[rows], P[rows], w[rows])
        merged.merge(part)
    assert in_parts.get() == pytest.approx(at_once, rel=1e-12, abs=1e-12)
    assert merged.get() == pytest.approx(at_once, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", MEASURES)
@given(seed=seeds)
def test_a_weight_is_a_repetition(name, seed):
    measure = MEASURES[name]
    y, P, rng = random_rows_for(measure, seed)
    times = rng.integers(0, 4, len(y))
    repeated = value(measure(), np.repeat(y, times), np.repeat(P, times, axis=0))
    assert value(measure(), y, P, times) == pytest.approx(repeated, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", ["accuracy", "kappa", "cross_entropy", "auroc"])
@given(seed=seeds)
def test_classes_that_appear_later(name, seed):
    """A column that comes later is one of zeros before."""
    y, P, _ = classes_of_random_rows(seed, 4)
    P[:60, 2:] = 0
    P[60:120, 3] = 0
    P[:, 0] += 0.01
    measure, merged = MEASURES[name](), MEASURES[name]()
    for rows, n_columns in [(slice(0, 60), 2), (slice(60, 120), 3), (slice(120, 200), 4)]:
        measure.update(y[rows], P[rows, :n_columns])  # rows of classes that have no column yet are among them
        part = MEASURES[name]()
        part.update(y[rows], P[rows, :n_columns])
        merged.merge(part)
    expected = value(MEASURES[name](), y, P)
    assert measure.get() == pytest.approx(expected, rel=1e-12)
    assert merged.get() == pytest.approx(expected, rel=1e-12)
    few = MEASURES[name]()  # and the other way round: fewer classes than before
    few.update(y, P)
    few.update([0, 1], [[0.7, 0.3], [0.6, 0.4]])
    same = MEASURES[name]()
    same.update(y, P)
    same.update([0, 1], [[0.7, 0.3, 0, 0], [0.6, 0.4, 0, 0]])
    assert few.get() == pytest.approx(same.get(), rel=1e-12)


def test_a_class_without_a_column_has_the_smallest_probability():
    assert value(CrossEntropy(), [2], [[0.5, 0.5]]) == pytest.approx(-np.log(1e-15))
    assert value(CrossEntropy(), [0, 1], [[0.0, 0.0], [np.nan, 0.5]]) == pytest.approx(-np.log(1e-15) / 2)


def test_probabilities_are_divided_by_their_sum():
    assert value(CrossEntropy(), [0], [[3, 1]]) == pytest.approx(-np.log(0.75))
    y, P, rng = classes_of_random_rows(3, 2)
    assert value(AUROC(), y, P * rng.uniform(1, 9, (200, 1))) == pytest.approx(value(AUROC(), y, P), abs=1e-3)


@pytest.mark.parametrize("name", MEASURES)
def test_nothing_is_nan_and_reset_forgets(name):
    measure = MEASURES[name]()
    assert np.isnan(measure.get())
    measure.update(np.empty(0), np.empty(0) if measure.takes != "probabilities" else np.empty((0, 2)))
    assert np.isnan(measure.get())
    y, P = ([0, 1, 1], [[0.8, 0.2], [0.4, 0.6], [0.3, 0.7]])
    measure.update(y, np.array(P)[:, 1] if measure.takes == "numbers" else P)
    assert np.isfinite(measure.get())
    measure.reset()
    assert np.isnan(measure.get())


def test_what_is_not_defined_is_nan():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(value(Kappa(), [1, 1], [1, 1]))
        assert np.isnan(value(AUROC(), [1, 1], [[0.5, 0.5], [0.1, 0.9]]))
        assert np.isnan(value(AUROC(), [0], [[1.0]]))
        assert np.isnan(value(R2(), [0.1, 0.1, 0.1], [1, 2, 3]))
        assert np.isnan(value(R2(), [2.0], [1.0]))
        assert np.isnan(value(Accuracy(), [1, 1], [1, 1], [0, 0]))
        assert np.isnan(value(MAE(), [1.0], [np.nan]))


def test_targets_far_from_0_keep_their_digits():
    rng = np.random.default_rng(0)
    y = 1e8 + rng.normal(size=1000)
    prediction = y + rng.normal(size=1000)
    measure = R2()
    for rows in np.split(np.arange(1000), 50):
        measure.update(y[rows], prediction[rows])
    expected = 1 - np.mean((y - prediction) ** 2) / np.var(y)
    assert measure.get() == pytest.approx(expected, abs=1e-8)


def test_shapes_are_reported():
    with pytest.raises(ValueError, match=r"Accuracy takes y of shape \(n,\) .* \(2,\) and \(3,\)"):
        Accuracy().update([0, 1], [0, 1, 1])
    with pytest.raises(ValueError, match=r"AUROC takes probabilities of shape \(n, n_classes\). Got the shape \(2,\)"):
        AUROC().update([0, 1], [0, 1])
    with pytest.raises(ValueError, match=r"weights must have the shape \(2,\) of y. Got the shape \(1,\)"):
        MAE().update([0, 1], [0, 1], [1])
