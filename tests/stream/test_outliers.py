"""Single outliers, and scales that change for good: soft trees get over the former and follow the latter."""

import numpy as np
import pytest

from softwood.stream import (
    AS_PUBLISHED,
    SmoothStepTreeClassifier,
    SmoothStepTreeRegressor,
    SoftHoeffdingTreeClassifier,
    SoftHoeffdingTreeRegressor,
)

regressors = pytest.mark.parametrize("model_class", [SoftHoeffdingTreeRegressor, SmoothStepTreeRegressor])
classifiers = pytest.mark.parametrize("model_class", [SoftHoeffdingTreeClassifier, SmoothStepTreeClassifier])


def real_stream(n):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 4))
    return X, 3 + 2 * np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


def class_stream(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)


def errors(model, X, y):
    return np.abs(model.test_then_train(X, y) - y)


def hits(model, X, y):
    return model.test_then_train(X, y, classes=[0, 1]).argmax(axis=1) == y


@regressors
@pytest.mark.parametrize("size", [1e4, 1e6, -1e12])
def test_one_huge_target_is_got_over(model_class, size):
    X, y = real_stream(12_000)
    usual = errors(model_class(random_state=0), X, y)
    y[2000] = size
    found = errors(model_class(random_state=0), X, y)
    assert found[2001:3000].mean() < 1.7 * usual[2001:3000].mean()
    assert found[-3000:].mean() < 1.3 * usual[-3000:].mean()


@classifiers
@pytest.mark.parametrize("at", [0, 3, 2000])
def test_one_huge_input_is_got_over(model_class, at):
    X, y = class_stream(8000)
    usual = hits(model_class(random_state=0), X, y)[-3000:].mean()
    X[at, 0] = 1e6
    assert hits(model_class(random_state=0), X, y)[-3000:].mean() > usual - 0.02


@regressors
def test_a_huge_first_target_is_got_over(model_class):
    X, y = real_stream(6000)
    usual = errors(model_class(random_state=0), X, y)[-3000:].mean()
    y[0] = 1e6
    assert errors(model_class(random_state=0), X, y)[-3000:].mean() < 1.4 * usual


@classifiers
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_a_column_that_gets_larger_for_good_is_followed(model_class, offset):
    X, y = class_stream(8000)
    X[5000:, 0] = 100 * X[5000:, 0] + offset
    found = hits(model_class(random_state=0), X, y)
    # a soft Hoeffding tree may have begun anew, and then learns the whole border again
    assert found[5600:6600].mean() > (0.93 if model_class is SmoothStepTreeClassifier else 0.8)
    assert found[7000:].mean() > 0.92
    if model_class is SoftHoeffdingTreeClassifier:
        assert hits(model_class(restart_rise=None, random_state=0), X, y)[5600:6600].mean() > 0.93


@regressors
def test_targets_that_get_larger_for_good_are_followed(model_class):
    X, y = real_stream(8000)
    before = errors(model_class(random_state=0), X[:5000], y[:5000])[-1000:].mean()
    y[5000:] *= 100
    assert errors(model_class(random_state=0), X, y)[-1000:].mean() < 100 * 1.5 * before


@pytest.mark.parametrize(
    "make",
    [
        lambda **p: SmoothStepTreeClassifier(outlier_limit=None, **p),
        lambda **p: SoftHoeffdingTreeClassifier(**AS_PUBLISHED, **p),
    ],
    ids=["complete", "published"],
)
def test_without_a_limit_means_are_those_of_all_values(make):
    X, y = class_stream(300)
    X[100, 0] = 1e6
    model = make(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.growth_.arrays["scaler"][1], X.mean(axis=0))
    np.testing.assert_allclose(model.growth_.arrays["scaler"][3], X.var(axis=0))
