"""Trees and ensembles of scikit-learn: decision trees, forests, extra trees, and both kinds of gradient boosting.

Only public attributes are used, with one exception: there is no public way to the nodes of histogram gradient boosting,
so `_histogram_nodes` reads a private attribute.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.validation import check_is_fitted

from softwood.imported.model import ImportedModel, crisp_tree, float32_below, highest_double
from softwood.trees.forest import SoftForest
from softwood.trees.tree import SoftTree

TREES = (DecisionTreeClassifier, DecisionTreeRegressor)
FORESTS = (RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor)
BOOSTING = (GradientBoostingClassifier, GradientBoostingRegressor)
HISTOGRAM_BOOSTING = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)


def read_sklearn(model: Any, caller: str = "read_sklearn") -> ImportedModel:
    """Read a fitted model; see `SoftTree.from_sklearn` and `SoftForest.from_sklearn`."""
    known = (*TREES, *FORESTS, *BOOSTING, *HISTOGRAM_BOOSTING)
    if not isinstance(model, known):
        raise TypeError(
            f"{caller} takes decision trees, random forests, extra trees and gradient boosting of scikit-learn. "
            f"Got {model!r}."
        )
    check_is_fitted(model)
    classes = _classes(model, caller) if is_classifier(model) else None
    if isinstance(model, TREES):
        return ImportedModel(_plain_tree(model.tree_, classes is not None), classes)
    if isinstance(model, FORESTS):
        trees = [_plain_tree(member.tree_, classes is not None) for member in model.estimators_]
        return ImportedModel(SoftForest.mean(trees), classes)
    if isinstance(model, BOOSTING):
        return _boosting(model, classes, caller)
    return _histogram_boosting(model, classes, caller)


def _classes(model: Any, caller: str) -> np.ndarray:
    if isinstance(model.classes_, list):
        raise ValueError(f"{caller} takes classifiers of one target. Got {model!r}, which has {len(model.classes_)}.")
    return np.asarray(model.classes_)


def _plain_tree(tree: Any, is_class: bool, factor: float = 1.0) -> SoftTree:
    """A tree of scikit-learn, whose rows are rounded to float32."""
    value = tree.value[:, 0, :] if is_class else tree.value[:, :, 0]
    return crisp_tree(
        left=tree.children_left,
        right=tree.children_right,
        feature=tree.feature,
        threshold=highest_double(float32_below(tree.threshold)),
        missing_left=tree.missing_go_to_left,
        value=value * factor,
        n_features=int(tree.n_features),
        mass=tree.weighted_n_node_samples,
        impurity=tree.impurity,
    )


def _boosting(model: Any, classes: np.ndarray | None, caller: str) -> ImportedModel:
    if model.init is not None and model.init != "zero" and not isinstance(model.init, DummyClassifier | DummyRegressor):
        raise ValueError(
            f"{caller} takes gradient boosting that starts from a constant. Got {model!r}, which starts from the "
            "predictions of another model (init)."
        )
    rounds, n_scores = model.estimators_.shape
    trees = [_plain_tree(member.tree_, False, model.learning_rate) for member in model.estimators_.ravel()]
    output = np.tile(np.arange(n_scores), rounds)
    forest = _with_base(SoftForest.sum(trees, output, np.zeros(n_scores)), _scores(model, classes))
    if classes is None:
        return ImportedModel(forest, None, "identity", model.loss)
    link = "logistic" if n_scores == 1 else "softmax"
    # With the exponential loss, a score is half of the log odds.
    return ImportedModel(forest, classes, link, model.loss, 2.0 if model.loss == "exponential" else 1.0)


def _histogram_boosting(model: Any, classes: np.ndarray | None, caller: str) -> ImportedModel:
    if model.is_categorical_ is not None and np.any(model.is_categorical_):
        column = int(np.argmax(model.is_categorical_))
        raise ValueError(
            f"{caller} takes models of numbers; column {column} of this {type(model).__name__} is divided by sets of "
            "categories. Encode categories as numbers before it."
        )
    trees = [
        crisp_tree(
            left=np.where(nodes["is_leaf"], -1, nodes["left"].astype(np.int64)),
            right=nodes["right"].astype(np.int64),
            feature=nodes["feature_idx"],
            threshold=nodes["num_threshold"],
            missing_left=nodes["missing_go_to_left"],
            value=nodes["value"],
            n_features=model.n_features_in_,
            mass=nodes["count"],
        )
        for nodes in _histogram_nodes(model)
    ]
    n_scores = model.n_trees_per_iteration_
    output = np.tile(np.arange(n_scores), len(trees) // n_scores)
    has_log = classes is None and model.loss in ("poisson", "gamma")
    forest = SoftForest.sum(trees, output, np.zeros(n_scores))
    forest = _with_base(forest, np.log(_scores(model, classes)) if has_log else _scores(model, classes))
    if classes is None:
        return ImportedModel(forest, None, "exp" if has_log else "identity", model.loss)
    return ImportedModel(forest, classes, "logistic" if n_scores == 1 else "softmax", model.loss)


def _histogram_nodes(model: Any) -> list[np.ndarray]:
    """The nodes of all trees, one round after the other: record arrays of scikit-learn.

    The private attribute is the only way to them; the other packages can write their trees as text.
    """
    return [predictor.nodes for of_round in model._predictors for predictor in of_round]


def _scores(model: Any, classes: np.ndarray | None) -> np.ndarray:
    """Raw scores, or targets, of a row of zeros, (n_scores,)."""
    with warnings.catch_warnings():  # the row has no column names, and needs none
        warnings.simplefilter("ignore", UserWarning)
        row = np.zeros((1, model.n_features_in_))
        found = model.predict(row) if classes is None else model.decision_function(row)
    return np.asarray(found, dtype=np.float64).reshape(-1)


def _with_base(forest: SoftForest, scores: np.ndarray) -> SoftForest:
    """The forest with the start value that gives a row of zeros these scores."""
    return replace(forest, base=scores - forest.predict(np.zeros((1, forest.n_features)))[0])
