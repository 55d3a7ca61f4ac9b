"""Boosting for tests: its classes, small data and models, and comparisons."""

from dataclasses import fields

import numpy as np

from softwood import KernelBoostingClassifier, KernelBoostingRegressor

BOTH = [KernelBoostingClassifier, KernelBoostingRegressor]


def problem(model_class, n=120, p=4, seed=0, n_classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    if model_class is KernelBoostingRegressor:
        return X, signal
    return X, np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))


def small(model_class, **parameters):
    """A model of few rounds and small leaves, for small data."""
    return model_class(**{"max_iter": 8, "min_mass": 5.0, "bandwidth": 0.3, "random_state": 0, **parameters})


def assert_same_forest(one, other):
    """To the last bit."""
    for field in fields(one):
        if field.name != "shapes":
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name), err_msg=field.name)


def few_values(X, n=200):
    """The columns as ranks of at most `n` values: then both libraries have the same bins."""
    return np.column_stack([np.searchsorted(np.quantile(x, np.linspace(0, 1, n)[1:-1]), x) for x in X.T]).astype(float)


def losses():
    """Rows, and targets for each loss of a regressor."""
    X, signal = problem(KernelBoostingRegressor, n=600)
    rng = np.random.default_rng(1)
    return few_values(X), {
        "squared_error": signal,
        "absolute_error": signal + rng.standard_t(2, size=600),
        "quantile": signal + rng.standard_t(2, size=600),
        "poisson": rng.poisson(np.exp(signal)).astype(float),
    }
