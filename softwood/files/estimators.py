"""Estimators in files: their parameters, and what `fit` or `partial_fit` has set.

A new fitted attribute needs its type in `ATTRIBUTES`; without it, saving the estimator is an error.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from softwood.core.arrays import is_within, require_array
from softwood.core.columns import Columns
from softwood.core.losses import Loss
from softwood.files.errors import InvalidFileError, NotSavableError
from softwood.files.records import check_entries, check_type
from softwood.files.values import check_name
from softwood.gradient.data import Scaling
from softwood.gradient.one_stage_training import StagedTree
from softwood.kernel.prediction import PredictionKernels
from softwood.stream.adaptive_scores import AdaptiveScores
from softwood.stream.growing.forest import GrowingForest
from softwood.stream.growing.tree import GrowingTree
from softwood.trees.forest import SoftForest
from softwood.trees.tree import SoftTree
from softwood.uncertainty.calibration import Calibration
from softwood.uncertainty.leaves import LeafTargets
from softwood.uncertainty.methods import CalibratedModel
from softwood.uncertainty.spread import Spread

_Plain = bool | int | float | str | np.generic | None
# Attributes that predictions and further training need.
_NEEDED: dict[str, Any] = {
    "_class_mass": np.ndarray,
    "_errors": AdaptiveScores | None,
    "_grown_": SoftForest | None,
    "_is_flat_": bool,
    "_loss_": Loss,
    "_reading_": PredictionKernels,
    "_scaling_": Scaling,
    "_seed_": int,
    "_spread_": Spread,
    "_staged_": StagedTree,
    "_unpruned_": tuple[StagedTree, Scaling],
    "bandwidths_": np.ndarray,
    "calibration_": Calibration,
    "classes_": np.ndarray,
    "columns_": Columns,
    "forest_": SoftForest,
    "growth_": GrowingTree | GrowingForest,
    "leaf_targets_": LeafTargets,
    "n_features_in_": int,
    "n_iter_": int,
    "n_outputs_": int,
    "tree_": SoftTree,
}
# Attributes that only report on the fit.
_REPORTED: dict[str, Any] = {
    "bandwidth_": float,
    "chosen_": dict[str, _Plain],
    "crisp_every_": int,
    "feature_names_in_": np.ndarray,
    "history_": list[dict[str, _Plain]],
    "max_features_": int,
    "max_leaf_nodes_": int | None,
    "min_mass_": float,
    "n_passes_": int,
    "n_trend_trees_": int,
    "oob_decision_function_": np.ndarray,
    "oob_prediction_": np.ndarray,
    "oob_score_": float,
    "search_": list[dict[str, _Plain | list[float]]],
    "size_path_": dict[str, np.ndarray],
    "train_score_": np.ndarray,
    "validation_score_": np.ndarray,
}
ATTRIBUTES = _NEEDED | _REPORTED
# Attributes that have another name in files, which never changes.
_NAMES_IN_FILES = {"_prediction_kernels_": "_reading_", "_scores_": "calibration_"}
_NAMES = {in_files: name for name, in_files in _NAMES_IN_FILES.items()}


def estimator_state(model: Any) -> dict[str, Any]:
    """State of an estimator: parameters, and fitted attributes if there are any."""
    parameters = model.get_params(deep=False)
    if isinstance(model, CalibratedModel):
        model.settle_scores()
    fitted = {_NAMES_IN_FILES.get(k, k): value for k, value in vars(model).items() if k not in parameters}
    for name in fitted:
        if name not in ATTRIBUTES:
            what = (
                "callbacks; remove them with set_callbacks()" if name == "_skl_callbacks" else f"the attribute {name!r}"
            )
            raise NotSavableError(f"{type(model).__name__} cannot be saved: files do not hold {what}.")
    return {"parameters": parameters, "fitted": fitted}


def build_estimator(kind: Callable[..., Any], state: dict[str, Any]) -> Any:
    """A checked estimator."""
    check_entries(state, ["parameters", "fitted"])
    model = kind(**checked_parameters(kind, state["parameters"]))
    fitted = check_type("fitted", state["fitted"], dict)
    if not fitted:
        return model
    check_entries(fitted, _required(model, fitted), ATTRIBUTES)
    for name, value in fitted.items():
        check_type(name, value, ATTRIBUTES[name])
    _check_together(is_classifier(model), fitted)
    model.__dict__.update({_NAMES.get(name, name): value for name, value in fitted.items()})
    return model


def checked_parameters(kind: Callable[..., Any], parameters: Any) -> dict[str, Any]:
    """Parameters of a constructor; those that a file of an earlier release lacks get their defaults."""
    return check_entries(check_type("parameters", parameters, dict), (), inspect.signature(kind).parameters)


def _required(model: Any, fitted: dict[str, Any]) -> set[str]:
    """What fitted estimators of this class have: the attributes that it declares, a tree or forest, columns."""
    declared = {_NAMES_IN_FILES.get(field.name, field.name) for field in fields(model) if not field.init} & set(_NEEDED)
    found = declared | {"columns_", "n_features_in_"} | ({"classes_"} if is_classifier(model) else set())
    return found if set(fitted) & {"forest_", "growth_"} else found | {"tree_"}


def _check_together(is_class: bool, fitted: dict[str, Any]) -> None:
    """Check that the attributes describe the same columns and outputs."""
    columns: Columns = fitted["columns_"]
    n_encoded = len(columns.names)
    if fitted["n_features_in_"] != len(columns.inputs):
        raise InvalidFileError("n_features_in_ is not the number of columns")
    if "feature_names_in_" in fitted and tuple(fitted["feature_names_in_"].tolist()) != columns.inputs:
        raise InvalidFileError("feature_names_in_ are not the names of the columns")
    widths = fitted.get("bandwidths_", np.zeros(n_encoded))
    if not is_within(require_array("bandwidths_", widths, np.float64, (n_encoded,)), 0.0, np.inf):
        raise InvalidFileError("bandwidths_ must be at least 0")
    unpruned, scaling = fitted.get("_unpruned_", (None, None))
    for name, length in (
        ("_reading_", len(fitted["_reading_"].widths) if "_reading_" in fitted else n_encoded),
        ("_scaling_", len(fitted["_scaling_"].center) if "_scaling_" in fitted else n_encoded),
        ("_unpruned_", n_encoded if unpruned is None else unpruned.gates.shape[1] - 1),
        ("_unpruned_", n_encoded if scaling is None else len(scaling.center)),
    ):
        if length != n_encoded:
            raise InvalidFileError(f"{name} does not fit the columns")
    n_outputs = None
    for name in ("tree_", "forest_", "_grown_", "growth_"):
        finished = fitted.get(name)
        if finished is None:
            continue
        if finished.n_features != n_encoded or n_outputs not in (None, finished.n_outputs):
            raise InvalidFileError(f"{name} does not fit the columns or the outputs")
        n_outputs = finished.n_outputs
    if not is_within(np.array([fitted.get("n_trend_trees_", 0)]), 0, len(fitted.get("forest_", [0])) - 1):
        raise InvalidFileError("n_trend_trees_ must leave a tree of forest_ that is not of the trend")
    kept = fitted.get("leaf_targets_")
    if kept is not None and len(kept.indptr) - 1 != _n_nodes(fitted):
        raise InvalidFileError("leaf_targets_ does not fit the trees")
    loss = fitted.get("_loss_")
    if loss is not None:
        if loss.n_scores != n_outputs:
            raise InvalidFileError("the loss does not fit the outputs")
        n_outputs = loss.predict(np.zeros((1, loss.n_scores))).reshape(1, -1).shape[1]
    if is_class:
        check_labels("classes_", fitted["classes_"])
    n_expected = len(fitted["classes_"]) if is_class else fitted.get("n_outputs_", 1)
    if n_outputs != n_expected:
        raise InvalidFileError("the number of outputs does not fit the classes or targets")
    masses = require_array("_class_mass", fitted.get("_class_mass", np.zeros(n_expected)), np.float64, (n_expected,))
    if not is_within(masses, 0.0, np.finfo(float).max):
        raise InvalidFileError("_class_mass must be finite numbers of at least 0")


def _n_nodes(fitted: dict[str, Any]) -> int:
    """Number of nodes whose targets are kept: of the tree, without a trend beside it, or of the forest."""
    return len((fitted["tree_"] if "tree_" in fitted else fitted["forest_"]).children_left)


def check_labels(name: str, labels: Any) -> None:
    """Raise an error unless these are class labels, (n_classes,)."""
    if not isinstance(labels, np.ndarray) or labels.ndim != 1 or len(labels) == 0:
        raise InvalidFileError(f"{name} must be an array of labels")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InvalidFileError(f"{name} contains nan or infinity")
    if labels.dtype.kind == "O":
        for label in labels.tolist():
            if check_name(label) != label:
                raise InvalidFileError(f"{name} contains nan")
    if len(set(labels.tolist())) < len(labels):
        raise InvalidFileError(f"{name} has duplicate labels")
