"""Gradient-trained trees for tests: their classes, small data and models, and comparisons."""

from softwood import SoftTreeClassifier, SoftTreeRegressor

BOTH = [SoftTreeClassifier, SoftTreeRegressor]


def small(model_class, **parameters):
    """A model of few passes, for small data."""
    few = {"max_iter": 8, "max_leaf_nodes": 8, "refine": False, "validation_fraction": 0.25, "random_state": 0}
    return model_class(**{**few, **parameters})


def lines_of(model, stage):
    """The lines of the history of one stage, without that of the state before it."""
    return [line for line in model.history_ if line["stage"] == stage and line["iteration"] > 0]


def refine_losses(model):
    """Validation losses before, and after each joint pass."""
    return [line["validation_loss"] for line in model.history_ if line["stage"] == "refine"]
