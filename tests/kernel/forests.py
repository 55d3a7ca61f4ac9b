"""Forests for tests: their classes, small data, and comparisons."""

from dataclasses import fields

import numpy as np
from sklearn.base import is_classifier

from softwood import (
    KernelExtraTreesClassifier,
    KernelExtraTreesRegressor,
    KernelForestClassifier,
    KernelForestRegressor,
)

CLASSIFIERS = [KernelForestClassifier, KernelExtraTreesClassifier]
REGRESSORS = [KernelForestRegressor, KernelExtraTreesRegressor]
ALL = CLASSIFIERS + REGRESSORS
BAGGED = [KernelForestClassifier, KernelForestRegressor]


def problem(model_class, n=80, p=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    return X, np.digitize(signal, [-0.5, 0.7]) if model_class in CLASSIFIERS else signal


def answer(model, X, **conditions):
    """Probabilities, or predictions."""
    return (model.predict_proba if is_classifier(model) else model.predict)(X, **conditions)


def assert_same_forest(one, other):
    """To the last bit."""
    for field in fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name == "shapes":
            np.testing.assert_array_equal(a.edges, b.edges)
            np.testing.assert_array_equal(a.cdfs, b.cdfs)
        else:
            np.testing.assert_array_equal(a, b, err_msg=field.name)


def differs(one, other):
    """Whether two forests have other nodes."""
    return len(one.threshold) != len(other.threshold) or not np.array_equal(
        one.threshold, other.threshold, equal_nan=True
    )
