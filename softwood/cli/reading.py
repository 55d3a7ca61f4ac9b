"""The finished trees of a saved model, with the names that it knows."""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.cli.errors import UsageError
from softwood.outputs import Outputs, final_link
from softwood.trees.forest import SoftForest
from softwood.trees.tree import SoftTree

__all__ = ["finished_of", "names_of", "outputs_of", "tree_of"]


def finished_of(model: Any) -> SoftTree | SoftForest:
    """The tree or forest of an estimator, a pool, a model for river, or itself."""
    if isinstance(model, SoftTree | SoftForest):
        return model
    if hasattr(model, "best_model_"):
        return finished_of(model.best_model_)
    if hasattr(model, "forest_"):
        return model.forest_
    return model.tree_ if hasattr(model, "tree_") else model.snapshot()


def names_of(model: Any, finished: Any) -> tuple[list[str], list[str] | None, np.ndarray]:
    """Names of the encoded columns and of the classes, and which columns are categories."""
    model = getattr(model, "best_model_", model)
    classes = getattr(model, "classes_", None)
    labels = None if classes is None else [str(label) for label in classes.tolist()]
    if hasattr(model, "columns_"):
        return list(model.columns_.names), labels, model.columns_.is_category
    names = getattr(model, "feature_names", None) or [f"x[{j}]" for j in range(finished.n_features)]
    if hasattr(model, "_codes"):
        labels = [str(label) for label in model._codes]
    return list(names), labels, np.array(["=" in name for name in names], dtype=bool)


def outputs_of(model: Any, finished: SoftTree | SoftForest) -> Outputs:
    """Names of the outputs of the model and of its trees."""
    _, classes, _ = names_of(model, finished)
    return Outputs.of(classes, finished, final_link(getattr(model, "best_model_", model)))


def tree_of(finished: SoftTree | SoftForest, number: int | None) -> SoftTree:
    """The tree, or the tree of this number."""
    if isinstance(finished, SoftTree):
        if number not in (None, 0):
            raise UsageError(f"--tree: the model has one tree, number 0, got {number}.")
        return finished
    number = 0 if number is None else number
    if not 0 <= number < len(finished):
        raise UsageError(f"--tree: the model has trees 0 to {len(finished) - 1}, got {number}.")
    return finished[number]
