"""One-stage, budding and end-to-end trees for tests: their classes, small data and models."""

from functools import partial

import numpy as np
from sklearn.base import is_classifier

from softwood import (
    BuddingTreeClassifier,
    BuddingTreeRegressor,
    EndToEndTreeClassifier,
    EndToEndTreeRegressor,
    OneStageTreeClassifier,
    OneStageTreeRegressor,
)

# One-stage trees as they are by default, and trained along sampled paths.
CRISP = [OneStageTreeClassifier, OneStageTreeRegressor]
SAMPLED = [partial(model_class, architecture="proximal") for model_class in CRISP]
BUDDING = [BuddingTreeClassifier, BuddingTreeRegressor]
END_TO_END = [EndToEndTreeClassifier, EndToEndTreeRegressor]
VALIDATED = SAMPLED + BUDDING + END_TO_END  # with validation rows in training
ALL = CRISP + VALIDATED
REGRESSORS = ALL[1::2]


def id_of(model_class):
    """The name of a test's parameter."""
    return f"{model_class.func.__name__}-sampled" if isinstance(model_class, partial) else model_class.__name__


def small(model_class, **parameters):
    """A model of few passes and little depth, for small data."""
    few = {"max_iter": 10, "max_depth": 3, "random_state": 0}
    if model_class in END_TO_END:
        few["level_max_iter"] = 3
    return model_class(**{**few, **parameters})


def validation_losses(model):
    """Of the passes over all gates, and of the state before."""
    return [line["validation_loss"] for line in model.history_ if line["stage"] != "levels"]


def loss_of(model, X, y):
    """Cross-entropy of class probabilities, or the squared error in variances of the target that was learned."""
    if is_classifier(model):
        found = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
        return -np.log(np.maximum(found, 1e-9)).mean()
    return np.mean((model.predict(X) - y) ** 2)
