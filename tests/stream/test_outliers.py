"""Single outliers, and scales that change for good: soft trees get over the former and follow the latter."""

import numpy as np
import pytest

import softwood
from softwood import stream
from softwood.stream import (
    HoeffdingTreeClassifier,
    SmoothStepTreeClassifier,
    SmoothStepTreeRegressor,
    SoftHoeffdingTreeClassifier,
    SoftHoeffdingTreeRegressor,
    StreamForestClassifier,
    StreamForestRegressor,
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
@pytest.mark.parametrize("size", [1e4, 1e6, -1e12, 1e200, -1e308])
def test_one_huge_target_is_got_over(model_class, size):
    X, y = real_stream(12_000)
    usual = errors(model_class(random_state=0), X, y)
    y[2000] = size
    found = errors(model_class(random_state=0), X, y)
    assert found[2001:3000].mean() < 1.7 * usual[2001:3000].mean()
    assert found[-3000:].mean() < 1.3 * usual[-3000:].mean()


@pytest.mark.parametrize("soft_share", [0.0, 0.3])
@pytest.mark.parametrize("size", [1e4, -1e12, 1e300])
def test_forests_get_over_one_huge_target(soft_share, size):
    X, y = real_stream(4000)
    usual = errors(StreamForestRegressor(6, soft_share=soft_share, random_state=0), X, y)
    y[1000] = size
    found = errors(StreamForestRegressor(6, soft_share=soft_share, random_state=0), X, y)
    assert found[1001:1500].mean() < 3.0 * usual[1001:1500].mean()
    assert found[-1500:].mean() < 1.5 * usual[-1500:].mean()


def test_targets_that_get_huge_for_good_are_followed():
    X, y = real_stream(3000)
    y[1000:] *= 1e200
    for model in (SoftHoeffdingTreeRegressor(random_state=0), StreamForestRegressor(4, random_state=0)):
        found = errors(model, X, y)
        assert found[-500:].mean() < 2e200


@pytest.mark.parametrize("make", [HoeffdingTreeClassifier, lambda: StreamForestClassifier(6, random_state=0)])
@pytest.mark.parametrize("size", [1e6, 1e200, -1e308])
def test_crisp_trees_get_over_one_huge_input(make, size):
    X, y = class_stream(4000)
    usual = hits(make(), X, y)[-1000:].mean()
    X[1000, 0] = size
    model = make()
    found = model.test_then_train(X, y, classes=[0, 1])
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.mean(found[-1000:].argmax(axis=1) == y[-1000:]) > usual - 0.05
    # a value with the density 0 in all classes says nothing
    np.testing.assert_allclose(model.predict_proba(X[1000:1001]).sum(), 1.0)


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


@pytest.mark.parametrize("family", ["SoftHoeffdingTree", "HoeffdingTree", "SmoothStepTree", "StreamForest"])
@pytest.mark.parametrize("side", ["Classifier", "Regressor"])
def test_the_largest_numbers_leave_a_model_that_can_be_saved(family, side, tmp_path):
    X, y = class_stream(1500)
    # as some programs write a missing value
    for at, size in ((100, 1.7e308), (101, -1.7e308), (300, 1e300), (700, 1e160), (705, 5e-324), (801, -1.7e308)):
        X[at, 0], X[at + 1, 1] = size, -size
    seed = {} if family == "HoeffdingTree" else {"random_state": 0}
    model = getattr(stream, family + side)(**seed)
    found = model.test_then_train(X, y, **({"classes": [0, 1]} if side == "Classifier" else {}))
    assert np.isfinite(found).all()
    softwood.save(model, tmp_path / "model.softwood")
    assert np.array_equal(softwood.load(tmp_path / "model.softwood").predict(X), model.predict(X))


@classifiers
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_a_column_that_gets_larger_for_good_is_followed(model_class, offset):
    X, y = class_stream(8000)
    X[5000:, 0] = 100 * X[5000:, 0] + offset
    found = hits(model_class(random_state=0), X, y)
    # a soft Hoeffding tree may have restarted, and then learns the whole border again
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
        lambda **p: SoftHoeffdingTreeClassifier.as_published(**p),
    ],
    ids=["complete", "published"],
)
def test_without_a_limit_means_are_those_of_all_values(make):
    X, y = class_stream(300)
    X[100, 0] = 1e6
    model = make(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.growth_.arrays["scaler"][1], X.mean(axis=0))
    np.testing.assert_allclose(model.growth_.arrays["scaler"][3], X.var(axis=0))
