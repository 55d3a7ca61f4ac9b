"""Boosting as a user meets it: quantiles, limits, slopes, little data, scales, interrupts."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from softwood import KernelBoostingClassifier, KernelBoostingRegressor
from softwood.kernel.rounds import newton
from tests.callbacks import Recorder, interrupt, require_callbacks
from tests.kernel.boosts import BOTH, problem, small
from tests.models import answer, assert_same_nodes, interrupted


@pytest.mark.parametrize(
    ("loss", "quantile"),
    [("quantile", None), ("quantile", 0.0), ("quantile", 1.0), ("quantile", "x"), ("squared_error", 0.5)],
)
def test_wrong_quantiles_are_told_by_name(loss, quantile):
    with pytest.raises(ValueError, match=r"'quantile' parameter of KernelBoostingRegressor must be .* Got"):
        KernelBoostingRegressor(loss=loss, quantile=quantile).fit([[0.0], [1.0]], [0, 1])


# ------------------------------------------------------------------ the finished model


@pytest.mark.parametrize("model_class", BOTH)
def test_importances(model_class):
    X, y = problem(model_class, n=300)
    model = small(model_class, max_iter=20).fit(X, y)
    found = model.feature_importances_
    assert found.sum() == pytest.approx(1.0)
    total = np.sum([tree.impurity_decreases() for tree in model.forest_], axis=0)
    np.testing.assert_allclose(found, total / total.sum())
    assert found.argmax() == 0
    assert found.argmin() == 3
    lone = small(model_class, min_mass=1000.0).fit(X, y)
    assert lone.feature_importances_.tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize("model_class", BOTH)
@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e9, 1e150])
def test_any_scale(model_class, scale):
    X, y = problem(model_class)
    for bandwidth in (0.0, 0.3):
        expected = answer(small(model_class, bandwidth=bandwidth).fit(X, y), X)
        found = answer(small(model_class, bandwidth=bandwidth).fit(X * scale, y), X * scale)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
        if model_class is KernelBoostingRegressor:
            size = max(scale, 1e-100)  # squares of gradients must not vanish
            found = small(model_class, bandwidth=bandwidth).fit(X, y * size).predict(X)
            np.testing.assert_allclose(found / size, expected, rtol=1e-6, atol=1e-6)


# ------------------------------------------------------------------ telling, and interrupts


@pytest.mark.parametrize("model_class", BOTH)
@pytest.mark.parametrize("parameters", [{}, {"prediction_kernel": "triangle"}, {"early_stopping": True}])
def test_an_interrupt_leaves_a_working_model(model_class, parameters):
    require_callbacks()
    X, y = problem(model_class)
    model = small(model_class, **parameters).set_callbacks(Recorder(3, then=interrupt))
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    expected = small(model_class, max_iter=3, **parameters).fit(X, y)
    assert model.n_iter_ == expected.n_iter_
    assert_same_nodes(model.forest_, expected.forest_)
    np.testing.assert_array_equal(answer(model, X), answer(expected, X))
    assert len(list(model.staged_predict(X))) == model.n_iter_


def test_an_interrupt_within_a_round_leaves_those_that_are_complete():
    X, y = problem(KernelBoostingClassifier)
    # two rounds of three trees, and one more
    model = interrupted(small(KernelBoostingClassifier), X, y, newton.NewtonGrower, "grow", 7)
    assert model.n_iter_ == 2
    assert_same_nodes(model.forest_, small(KernelBoostingClassifier, max_iter=2).fit(X, y).forest_)


@pytest.mark.parametrize("bandwidth", [0.3, "auto"])
def test_an_interrupt_before_the_first_round_leaves_nothing(bandwidth):
    X, y = problem(KernelBoostingRegressor)
    model = interrupted(small(KernelBoostingRegressor, bandwidth=bandwidth), X, y, newton.NewtonGrower, "grow")
    with pytest.raises(NotFittedError):
        model.predict(X)
