"""Boosting for tests: its classes, small data and models, and comparisons."""

from functools import partial

import numpy as np

from softwood import KernelBoostingClassifier, KernelBoostingRegressor
from tests import models

BOTH = [KernelBoostingClassifier, KernelBoostingRegressor]
problem = partial(models.problem, n=120)


def small(model_class, **parameters):
    """A model of few rounds and small leaves, for small data."""
    return model_class(**{"max_iter": 8, "min_mass": 5.0, "bandwidth": 0.3, "random_state": 0, **parameters})


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
