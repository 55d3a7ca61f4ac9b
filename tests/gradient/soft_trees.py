"""Gradient-trained trees for tests: their classes, small data and models, and comparisons."""

from dataclasses import fields

import numpy as np
from sklearn.base import is_classifier

from softwood import SoftTreeClassifier, SoftTreeRegressor

BOTH = [SoftTreeClassifier, SoftTreeRegressor]


def problem(model_class, n=150, p=4, seed=0, n_classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    if model_class is SoftTreeRegressor:
        return X, signal
    return X, np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))


def small(model_class, **parameters):
    """A model of few passes, for small data."""
    few = {"max_iter": 8, "max_leaf_nodes": 8, "refine": False, "validation_fraction": 0.25, "random_state": 0}
    return model_class(**{**few, **parameters})


def answer(model, X):
    return model.predict_proba(X) if is_classifier(model) else model.predict(X)


def assert_same_tree(one, other):
    """To the last bit."""
    for field in fields(one):
        if field.name != "shapes":
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name), err_msg=field.name)


def lines_of(model, stage):
    """The lines of the history of one stage, without that of the state before it."""
    return [line for line in model.history_ if line["stage"] == stage and line["iteration"] > 0]


def refine_losses(model):
    """Validation losses before, and after each joint pass."""
    return [line["validation_loss"] for line in model.history_ if line["stage"] == "refine"]
