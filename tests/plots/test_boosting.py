"""Pictures of the losses of boosting."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from softwood import KernelBoostingClassifier, KernelBoostingRegressor, KernelTreeRegressor, SoftTreeRegressor
from softwood.plots import plot_loss, plot_search


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3))
    return X, X[:, 0] + 0.3 * rng.normal(size=160)


def lines_of(ax):
    return {line.get_label(): line.get_xydata() for line in ax.lines}


def test_losses_by_round(data):
    X, y = data
    model = KernelBoostingClassifier(bandwidth=0.2, max_iter=9, n_iter_no_change=9)
    model.fit(X[:100], y[:100] > 0, X_val=X[100:], y_val=y[100:] > 0)
    ax = plot_loss(model)
    drawn = lines_of(ax)
    rounds = np.arange(1, 10)
    np.testing.assert_allclose(drawn["training rows"], np.column_stack([rounds, -model.train_score_[1:]]))
    np.testing.assert_allclose(drawn["validation rows"], np.column_stack([rounds, -model.validation_score_[1:]]))
    np.testing.assert_allclose(drawn[f"this model, {model.n_iter_}"][:, 0], model.n_iter_)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("round", "loss")


def test_a_score_has_an_axis_of_its_own(data):
    X, y = data
    model = KernelBoostingClassifier(bandwidth=0.2, max_iter=5, n_iter_no_change=9, scoring="accuracy")
    model.fit(X[:100], y[:100] > 0, X_val=X[100:], y_val=y[100:] > 0)
    ax = plot_loss(model)
    (beside,) = (other for other in ax.figure.axes if other is not ax)
    np.testing.assert_allclose(beside.lines[0].get_ydata(), model.validation_score_[1:])
    assert beside.get_ylabel() == "score"


def test_losses_of_models_trained_by_gradient_descent(data):
    X, y = data
    mine = mpl.figure.Figure().subplots()
    ax = plot_loss(SoftTreeRegressor(random_state=0).fit(X, y), ax=mine)
    assert ax is mine
    assert "training rows" in lines_of(ax)


def test_the_search(data):
    X, y = data
    model = KernelBoostingRegressor(random_state=0).fit(X, y)
    ax = plot_search(model)
    curves = [line for line in ax.lines if not line.get_label().startswith("_")]
    assert len(curves) == len(model.search_)
    for line, trial in zip(curves, model.search_, strict=True):
        np.testing.assert_allclose(line.get_ydata(), trial["losses"][1:])
        assert line.get_xdata()[0] == pytest.approx(trial["learning_rate"])
        assert f"{trial['max_leaf_nodes']} leaves" in line.get_label()
    # the points are the smallest losses
    points = [line.get_xydata()[0] for line in ax.lines if line.get_label().startswith("_")]
    np.testing.assert_allclose([y for _, y in points], [trial["loss"] for trial in model.search_])


def test_models_without_losses(data):
    X, y = data
    with pytest.raises(ValueError, match="plot_loss needs a model with losses in history_; this KernelTreeRegressor"):
        plot_loss(KernelTreeRegressor().fit(X, y))
    with pytest.raises(ValueError, match="this KernelBoostingRegressor has no search_"):
        plot_search(KernelBoostingRegressor(bandwidth=0.1, max_iter=2).fit(X, y))
    for plot in (plot_loss, plot_search):
        with pytest.raises(NotFittedError):
            plot(KernelBoostingRegressor())
