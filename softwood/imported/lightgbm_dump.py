"""Models of LightGBM, from the JSON of `Booster.dump_model`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from softwood.imported.model import ImportedModel, check_trees, crisp_tree, read_json
from softwood.trees.forest import SoftForest
from softwood.trees.tree import SoftTree

# LightGBM takes numbers up to this size for zero.
ZERO = float(np.float32(1e-35))
# Every node has a bit for each category, up to the largest number.
MOST_CATEGORIES = 1 << 14
# Links by the name of the objective; None if it is a function that `ImportedModel` does not have.
LINKS: dict[str, str | None] = {
    "binary": "logistic",
    "multiclass": "softmax",
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "exp"),
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair", "quantile", "mape"), "identity"),
    **dict.fromkeys(("lambdarank", "rank_xendcg", "custom"), "identity"),
    **dict.fromkeys(("multiclassova", "cross_entropy", "cross_entropy_lambda"), None),
}


def read_lightgbm(model: Any, caller: str) -> ImportedModel:
    """Read a model; see `SoftForest.from_lightgbm`."""
    classes = np.asarray(model.classes_) if hasattr(model, "classes_") else None
    dump = _dump(model, caller)
    info = dump["tree_info"]
    check_trees(info, f"The model given to {caller}")
    n_scores, n_features = int(dump["num_tree_per_iteration"]), int(dump["max_feature_idx"]) + 1
    names = list(dump.get("feature_names", ()))
    trees = [_tree(entry["tree_structure"], n_features, names, caller) for entry in info]
    words = str(dump.get("objective", "")).split()
    objective = words[0] if words else "custom"  # a function of the user's has no name
    if objective not in LINKS:
        known = ", ".join(map(repr, sorted(LINKS)))
        raise ValueError(f"{caller} does not know the objective {objective!r} of this model. It knows {known}.")
    forest = SoftForest.sum(trees, np.arange(len(trees)) % n_scores, np.zeros(n_scores))
    if dump.get("average_output"):  # a random forest: the mean over the rounds
        forest = replace(forest, value=forest.value * (n_scores / len(trees)))
    link = LINKS[objective] if "sqrt" not in words else None
    if objective == "custom" and classes is not None:
        link = None
    if classes is None and link in ("logistic", "softmax"):
        classes = np.arange(max(2, n_scores))
    sigmoid = next((float(word.partition(":")[2]) for word in words if word.startswith("sigmoid:")), 1.0)
    return ImportedModel(forest, classes, link, " ".join(words) or objective, sigmoid if link == "logistic" else 1.0)


def _dump(model: Any, caller: str) -> Mapping:
    """The JSON of a model, of its text, or of an estimator or booster."""
    dump = model
    booster = getattr(model, "booster_", model)
    if hasattr(booster, "dump_model"):
        dump = booster.dump_model()
    elif isinstance(model, str | bytes):
        dump = read_json(model, caller)
    needed = {"tree_info", "num_tree_per_iteration", "max_feature_idx"}
    if not isinstance(dump, Mapping) or not needed <= set(dump):
        raise TypeError(
            f"{caller} takes a fitted LightGBM estimator, a Booster, or what its dump_model() gives, as an object or "
            f"as JSON text. Got {type(model).__name__}."
        )
    return dump


def _tree(structure: Mapping, n_features: int, names: list[str], caller: str) -> SoftTree:
    """Nested nodes as arrays, parents before children."""
    columns: dict[str, list] = {
        name: [] for name in ("left", "right", "feature", "threshold", "missing", "value", "mass", "set")
    }

    def add(node: Mapping) -> int:
        number = len(columns["left"])
        is_leaf = "leaf_value" in node
        if "leaf_const" in node or "leaf_coeff" in node:
            raise ValueError(f"{caller} takes trees with a number in each leaf; this model has linear_tree=True.")
        columns["left"].append(-1)
        columns["right"].append(-1)
        columns["value"].append(float(node["leaf_value"] if is_leaf else node.get("internal_value", 0.0)))
        columns["mass"].append(float(node.get("leaf_count" if is_leaf else "internal_count", np.nan)))
        columns["feature"].append(-1 if is_leaf else int(node["split_feature"]))
        by_set = not is_leaf and node["decision_type"] == "=="
        columns["set"].append(_categories(node, names, caller) if by_set else None)
        columns["threshold"].append(np.nan if is_leaf or by_set else _threshold(node, names, caller))
        # LightGBM sends a category to the right that is missing or that it does not know.
        columns["missing"].append(0.5 if is_leaf else 0.0 if by_set else _missing_left(node, names, caller))
        return number

    add(structure)
    pending = [(0, structure)]
    while pending:  # not by recursion: trees may be deep
        number, node = pending.pop()
        if "leaf_value" in node:
            continue
        for side in ("left", "right"):
            child = node[f"{side}_child"]
            columns[side][number] = add(child)
            pending.append((columns[side][number], child))
    return crisp_tree(
        left=columns["left"], right=columns["right"], feature=columns["feature"], threshold=columns["threshold"],
        missing_left=columns["missing"], value=columns["value"], n_features=n_features, mass=columns["mass"],
        sets=columns["set"],
    )  # fmt: skip


def _name(node: Mapping, names: list[str]) -> str:
    j = int(node["split_feature"])
    return names[j] if j < len(names) else str(j)


def _threshold(node: Mapping, names: list[str], caller: str) -> float:
    if node["decision_type"] != "<=":
        raise ValueError(
            f"{caller} knows the decisions '<=' and '=='; column {_name(node, names)!r} of this model has "
            f"{node['decision_type']!r}."
        )
    threshold = float(node["threshold"])
    if abs(threshold) <= ZERO:  # numbers this small count as zero
        return ZERO if threshold >= 0.0 else float(np.nextafter(-ZERO, -np.inf))
    return threshold


def _categories(node: Mapping, names: list[str], caller: str) -> list[int]:
    """Numbers of the categories that go left."""
    try:
        found = [int(number) for number in str(node["threshold"]).split("||")]
    except ValueError:
        found = [-1]
    if not all(0 <= number < MOST_CATEGORIES for number in found):
        raise ValueError(
            f"{caller} takes numbers of categories from 0 to {MOST_CATEGORIES - 1}; column {_name(node, names)!r} of "
            f"this model is divided by the set {node['threshold']!r}."
        )
    return found


def _missing_left(node: Mapping, names: list[str], caller: str) -> float:
    """Whether a missing value goes left."""
    is_zero_left = float(node["threshold"]) >= 0.0
    if node["missing_type"] == "None":  # it counts as zero
        return float(is_zero_left)
    if node["missing_type"] == "Zero" and is_zero_left != bool(node["default_left"]):
        raise ValueError(
            f"{caller} takes models in which zero is a number; this one has zero_as_missing, and sends zeros of column "
            f"{_name(node, names)!r} to the other side of a threshold."
        )
    return float(bool(node["default_left"]))
