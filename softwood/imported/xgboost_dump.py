"""Models of XGBoost, from the JSON of `Booster.save_model` and `Booster.save_raw`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from softwood.imported.model import ImportedModel, check_trees, crisp_tree, highest_double, read_json
from softwood.trees.forest import SoftForest
from softwood.trees.tree import SoftTree

# By objective: the function from a raw score to the scale of `base_score`, and that to a prediction. The latter is None
# where `ImportedModel` has no such link: targets between 0 and 1, and classes without probabilities.
OBJECTIVES: dict[str, tuple[str, str | None]] = {
    "binary:logistic": ("logistic", "logistic"),
    "reg:logistic": ("logistic", None),
    **dict.fromkeys(("binary:logitraw", "binary:hinge"), ("identity", None)),
    **dict.fromkeys(("multi:softprob", "multi:softmax"), ("identity", "softmax")),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie", "survival:aft", "survival:cox"), ("exp", "exp")),
    **dict.fromkeys(
        (
            "reg:squarederror", "reg:linear", "reg:squaredlogerror", "reg:absoluteerror", "reg:quantileerror",
            "reg:pseudohubererror", "rank:ndcg", "rank:map", "rank:pairwise",
        ),
        ("identity", "identity"),
    ),
}  # fmt: skip


def read_xgboost(model: Any, caller: str) -> ImportedModel:
    """Read a model; see `SoftForest.from_xgboost`."""
    learner = _learner(model, caller)
    booster, drop = learner["gradient_booster"], None
    if booster["name"] == "dart":
        booster, drop = booster["gbtree"], booster["weight_drop"]
    if booster["name"] != "gbtree":
        raise ValueError(f"{caller} takes models of trees. Got the booster {booster['name']!r}.")
    listed = booster["model"]["trees"]
    check_trees(listed, f"The model given to {caller}")
    parameters = learner["learner_model_param"]
    n_features, n_scores = int(parameters["num_feature"]), max(1, int(parameters["num_class"]))
    n_scores = max(n_scores, int(parameters.get("num_target", 1)))
    names = list(learner.get("feature_names", ()))
    trees = [
        _tree(entry, n_features, names, caller, 1.0 if drop is None else drop[t]) for t, entry in enumerate(listed)
    ]
    objective = str(learner["objective"]["name"])
    if objective not in OBJECTIVES:
        known = ", ".join(map(repr, sorted(OBJECTIVES)))
        raise ValueError(f"{caller} does not know the objective {objective!r} of this model. It knows {known}.")
    scale, link = OBJECTIVES[objective]
    start = np.array(_numbers(parameters["base_score"]), dtype=np.float32).astype(np.float64)
    base = np.broadcast_to(_margin(start, scale), n_scores)
    forest = SoftForest.sum(trees, booster["model"]["tree_info"], base)
    if link == "logistic" and n_scores > 1:
        objective, link = f"{objective} of {n_scores} targets", None
    classes = None
    if link in ("logistic", "softmax"):
        classes = np.asarray(model.classes_) if hasattr(model, "classes_") else np.arange(max(2, n_scores))
    missing = getattr(model, "missing", None)  # of an estimator; boosters do not know it
    return ImportedModel(forest, classes, link, objective, missing=np.nan if missing is None else float(missing))


def _margin(start: np.ndarray, scale: str) -> np.ndarray:
    """The start value as a raw score."""
    if scale == "logistic":
        return np.log(start) - np.log1p(-start)
    return np.log(start) if scale == "exp" else start


def _numbers(text: Any) -> list[float]:
    """A number, or several of them in brackets, as text."""
    return [float(part) for part in str(text).strip("[]").split(",")]


def _learner(model: Any, caller: str) -> Mapping:
    """The JSON of a model, of its text, or of an estimator or booster."""
    document = model
    if hasattr(model, "get_booster"):
        booster = model.get_booster()
        best = getattr(model, "best_iteration", None)  # estimators predict with the rounds up to the best one
        model = booster if best is None else booster[: best + 1]
    if hasattr(model, "save_raw"):
        document = bytes(model.save_raw(raw_format="json"))
    if isinstance(document, list):
        raise TypeError(f"{caller} got the text of get_dump(), which lacks the start value; use save_raw('json').")
    if isinstance(document, str | bytes | bytearray):
        document = read_json(document, caller)
    learner = document.get("learner") if isinstance(document, Mapping) else None
    needed = {"gradient_booster", "learner_model_param", "objective"}
    if not isinstance(learner, Mapping) or not needed <= set(learner):
        raise TypeError(
            f"{caller} takes a fitted XGBoost estimator, a Booster, or what its save_model('model.json') writes, as an "
            f"object or as JSON text. Got {type(model).__name__}."
        )
    return learner


def _tree(entry: Mapping, n_features: int, names: list[str], caller: str, factor: float) -> SoftTree:
    """A tree; rows are rounded to float32 and go left if they are below a threshold."""
    if int(entry["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise ValueError(f"{caller} takes trees with one number in each leaf; this model has multi_output_tree.")
    left, right = (np.array(entry[f"{side}_children"], dtype=np.int64) for side in ("left", "right"))
    # Pruned nodes stay in the arrays; the others get new numbers.
    kept = [0]
    for node in kept:
        if left[node] >= 0:
            kept += [int(left[node]), int(right[node])]
    nodes = np.array(kept)
    number = np.full(len(left), -1)
    number[nodes] = np.arange(len(nodes))
    is_leaf = left[nodes] < 0
    feature = np.array(entry["split_indices"], dtype=np.int64)[nodes]
    is_category = np.array(entry.get("split_type", np.zeros(len(left))), dtype=np.int64)[nodes] != 0
    if np.any(is_category & ~is_leaf):
        j = int(feature[is_category & ~is_leaf][0])
        raise ValueError(
            f"{caller} takes models of numbers; column {names[j] if names else j!r} of this one is divided by sets of "
            "categories. Train it with categories encoded as numbers."
        )
    conditions = np.array(entry["split_conditions"], dtype=np.float32)[nodes]
    inner_values = np.array(entry.get("base_weights", np.zeros(len(left))), dtype=np.float64)[nodes]
    return crisp_tree(
        left=np.where(is_leaf, -1, number[left[nodes]]),
        right=np.where(is_leaf, -1, number[right[nodes]]),
        feature=feature,
        threshold=highest_double(np.nextafter(conditions, np.float32(-np.inf))),
        missing_left=np.array(entry["default_left"], dtype=np.float64)[nodes],
        value=np.where(is_leaf, conditions.astype(np.float64), inner_values) * factor,
        n_features=n_features,
        mass=np.array(entry.get("sum_hessian", np.full(len(left), np.nan)), dtype=np.float64)[nodes],
    )
