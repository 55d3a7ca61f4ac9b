"""What tests of several folders share: small data, answers of models, and comparisons to the last bit."""

from dataclasses import fields

import numpy as np
import pytest
from sklearn.base import is_classifier


def problem(model_class, n=150, p=4, seed=0, n_classes=3):
    """Rows, and targets that depend on three of the columns: real numbers, or classes of the same size."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    if not is_classifier(model_class()):
        return X, signal
    return X, np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))


def answer(model, X, **conditions):
    """Class probabilities, or predictions."""
    return (model.predict_proba if is_classifier(model) else model.predict)(X, **conditions)


def finished(model):
    """The tree of a model, or its forest."""
    return model.forest_ if hasattr(model, "forest_") else model.tree_


def trees_of(model):
    return list(model.forest_) if hasattr(model, "forest_") else [model.tree_]


def assert_same_nodes(one, other):
    """Two trees, or two forests, are equal to the last bit."""
    assert type(one) is type(other)
    for field in fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if field.name == "shapes":
            np.testing.assert_array_equal(a.edges, b.edges)
            np.testing.assert_array_equal(a.cdfs, b.cdfs)
        else:
            np.testing.assert_array_equal(a, b, err_msg=field.name)


def assert_same_model(one, other):
    """Two fitted models have equal trees, and an equal history if they have one."""
    assert_same_nodes(finished(one), finished(other))
    assert getattr(one, "history_", None) == getattr(other, "history_", None)


def interrupted(model, X, y, owner, name, after=0):
    """A model whose fit is interrupted when a function of a module or class is called again after so many calls."""
    run, numbers = getattr(owner, name), iter(range(10**6))

    def stop(*arguments, **named):
        if next(numbers) == after:
            raise KeyboardInterrupt
        return run(*arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, stop)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    return model
