import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy
from joblib import parallel_config
from scipy import stats
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from softwood.datasets import toy_classification, toy_regression
from softwood.stats import combined_5x2_f_test, compare_5x2

errors = st_numpy.arrays(np.float64, (5, 2), elements=st.integers(0, 20).map(lambda i: i / 20))


@given(errors, errors)
def test_f_by_its_definition(a, b):
    test = combined_5x2_f_test(a, b)
    p = np.round(a - b, 10)
    variances = sum(np.var(row, ddof=1) for row in p)
    assert test.differences == pytest.approx(p)
    assert test.mean_difference == pytest.approx(p.mean())
    if not p.any():
        assert (test.statistic, test.p_value) == (0, 1)
    elif variances == 0:
        assert (test.statistic, test.p_value) == (np.inf, 0)
    else:
        assert test.statistic == pytest.approx((p**2).sum() / (2 * variances))
        assert test.statistic >= 0.5 - 1e-12
        assert test.p_value == pytest.approx(stats.f.sf(test.statistic, 10, 5))


@given(errors, errors)
def test_swapping_the_models_or_turning_errors_into_accuracies_changes_signs_alone(a, b):
    test = combined_5x2_f_test(a, b)
    for other in (combined_5x2_f_test(b, a), combined_5x2_f_test(1 - a, 1 - b)):
        assert other.statistic == pytest.approx(test.statistic)
        assert other.p_value == pytest.approx(test.p_value)
        assert np.array_equal(other.differences, -test.differences)


def test_the_test_is_cautious():
    # For independent normal differences f is half of 1 + F(5, 5), for the variances are parts of the sum of squares.
    level = stats.f.sf(2 * stats.f.ppf(0.95, 10, 5) - 1, 5, 5)
    assert level == pytest.approx(0.018, abs=5e-4)
    rng = np.random.default_rng(0)
    p_values = [combined_5x2_f_test(a, b).p_value for a, b in rng.normal(size=(2000, 2, 5, 2))]
    assert np.mean(np.array(p_values) < 0.05) == pytest.approx(level, abs=0.006)


def test_rounding_is_no_difference():
    a = np.full((5, 2), 0.1) + 0.2
    assert combined_5x2_f_test(a, np.full((5, 2), 0.3)).p_value == 1
    assert combined_5x2_f_test(a, np.full((5, 2), 0.2)).statistic == np.inf


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (
            np.zeros((2, 5)),
            np.zeros((5, 2)),
            r"errors_a must have the shape \(5, 2\): .* Got \(2, 5\)",
        ),
        (np.zeros((5, 2)), np.zeros(10), r"errors_b must have the shape .* Got \(10,\)"),
        (np.zeros((5, 2)), np.full((5, 2), np.nan), "errors_b must be finite numbers. Got nan"),
    ],
)
def test_bad_errors_are_named(a, b, message):
    with pytest.raises(ValueError, match=message):
        combined_5x2_f_test(a, b)


def test_comparison_by_hand():
    X, y = toy_classification("moons", 120, random_state=0)
    found = np.empty((2, 5, 2))
    draws = np.random.RandomState(3)
    for i in range(5):
        for j, (train, test) in enumerate(StratifiedKFold(2, shuffle=True, random_state=draws).split(X, y)):
            for m, model in enumerate([GaussianNB(), KNeighborsClassifier(3)]):
                found[m, i, j] = 1 - model.fit(X[train], y[train]).score(X[test], y[test])
    expected = combined_5x2_f_test(*found)
    for seed in (3, np.random.RandomState(3)):
        result = compare_5x2(GaussianNB(), KNeighborsClassifier(3), X, y, random_state=seed)
        assert result.differences == pytest.approx(expected.differences)
        assert result.p_value == pytest.approx(expected.p_value)


def test_comparison_does_not_depend_on_jobs_or_on_the_kind_of_table():
    X, y = toy_classification("gaussians", 90, random_state=0)
    one = compare_5x2(GaussianNB(), DummyClassifier(), X, y, random_state=0)
    with parallel_config("threading"):
        two = compare_5x2(GaussianNB(), DummyClassifier(), pd.DataFrame(X), y.astype(str), random_state=0, n_jobs=2)
    assert np.array_equal(one.differences, two.differences)
    assert one.mean_difference < 0
    assert one.p_value < 0.01


def test_a_model_does_not_differ_from_itself():
    X, y = toy_classification("moons", 60, random_state=0)
    assert compare_5x2(GaussianNB(), GaussianNB(), X, y, random_state=0).p_value == 1


def test_comparison_of_regressors_and_with_a_scorer():
    X, y = toy_regression("ramp", 80, random_state=0)
    for scoring in (None, "neg_mean_absolute_error"):
        result = compare_5x2(LinearRegression(), DummyRegressor(), X, y, random_state=0, scoring=scoring)
        assert result.mean_difference < 0
        assert result.p_value < 0.01


def test_models_of_two_kinds_are_refused():
    X, y = toy_classification("moons", 60, random_state=0)
    with pytest.raises(ValueError, match=r"two classifiers or two regressors. Got GaussianNB and LinearRegression"):
        compare_5x2(GaussianNB(), LinearRegression(), X, y, random_state=0)
