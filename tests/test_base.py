"""What estimators share: logarithms of probabilities, and targets of any size, also of pools."""

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.metrics import log_loss

import softwood
from softwood import stream

SMALL = {"n_estimators": 3, "max_iter": 5, "max_depth": 2, "random_state": 0}


def small(model_class, **parameters):
    known = model_class().get_params()
    return model_class(**{name: value for name, value in SMALL.items() if name in known} | parameters)


def problem(model_class, n=60):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, np.digitize(X[:, 0], [-0.5, 0.5]) if is_classifier(model_class()) else X[:, 0]


def test_a_probability_of_zero_has_no_warning():
    model = softwood.KernelTreeClassifier(bandwidth=0).fit([[0.0], [1.0]], [0, 1])
    assert model.predict_log_proba([[0.0]]).tolist() == [[0.0, -np.inf]]


def test_no_probability_is_above_1(monkeypatch):
    """A scorer of scikit-learn refuses what is above by rounding alone."""
    X, y = np.arange(4.0).reshape(4, 1), np.array([0, 0, 1, 1])
    model = softwood.KernelForestClassifier(bandwidth=0, n_estimators=3, random_state=0).fit(X, y)
    shares = np.tile([np.nextafter(1.0, 2.0), 0.0], (4, 1))
    monkeypatch.setattr(model, "_predict_matrix", lambda matrix, widths: shares)
    assert log_loss(y, model.predict_proba(X)) > 0
    assert model.predict_proba(X).max() == 1.0


@pytest.mark.parametrize("name", ["KernelTreeClassifier", "KernelForestClassifier", "KernelExtraTreesClassifier"])
def test_logarithms_with_known_errors(name):
    model_class = getattr(softwood, name)
    X, y = problem(model_class)
    model = small(model_class, bandwidth=0.1).fit(X, y)
    found = model.predict_log_proba(X, measurement_error={0: 0.5})
    assert np.exp(found) == pytest.approx(model.predict_proba(X, measurement_error={0: 0.5}))
    assert not np.allclose(np.exp(found), model.predict_proba(X))


def test_a_pool_has_logarithms_of_probabilities():
    X, y = problem(softwood.KernelTreeClassifier)
    pool = stream.ModelPool([stream.HoeffdingTreeClassifier(), stream.SmoothStepTreeClassifier()]).fit(X, y)
    assert np.exp(pool.predict_log_proba(X)) == pytest.approx(pool.predict_proba(X))
    assert not hasattr(stream.ModelPool([stream.HoeffdingTreeRegressor()]), "predict_log_proba")


def test_a_pool_takes_huge_targets():
    X, y = problem(softwood.KernelTreeRegressor)
    models = [stream.HoeffdingTreeRegressor(), stream.SmoothStepTreeRegressor(random_state=0)]
    pool = stream.ModelPool(models, random_state=0).fit(X, y * 1e300)
    assert np.abs(pool.predict(X) / 1e300).max() < 2.0 * np.abs(y).max()


def test_huge_targets_of_validation_rows():
    X, y = problem(softwood.KernelBoostingRegressor, n=200)
    scores = []
    for scale in (1.0, 2.0**990):
        model = small(softwood.KernelBoostingRegressor, bandwidth=0.3)
        model.fit(X[:100], y[:100] * scale, X_val=X[100:], y_val=y[100:] * scale)
        scores.append(model.validation_score_ / model.validation_score_[0])
        assert model.forest_.predict(X)[:, 0] == pytest.approx(model.predict(X))
    assert scores[1] == pytest.approx(scores[0])
