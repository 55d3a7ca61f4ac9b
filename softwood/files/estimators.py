"""Estimators in files: their parameters, and what `fit` or `partial_fit` has set.

Every fitted attribute is listed here with the check that it must pass in a file. A new attribute of an estimator needs
a line in `ATTRIBUTES`; without one, saving the estimator is an error.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from softwood.core.columns import Columns
from softwood.core.losses import Loss
from softwood.files.checks import all_finite, check_array, check_entries, check_integer, check_type, is_within
from softwood.files.errors import NotSavableError
from softwood.files.values import check_name, damage
from softwood.gradient.data import Scaling
from softwood.gradient.one_stage_training import StagedTree
from softwood.kernel.prediction import Reading
from softwood.stream.growing.forest import GrowingForest
from softwood.stream.growing.tree import GrowingTree
from softwood.trees.forest import SoftForest
from softwood.trees.tree import SoftTree

__all__ = ["build_estimator", "check_labels", "estimator_state"]


def estimator_state(model: Any) -> dict[str, Any]:
    """State of an estimator: parameters, and fitted attributes if there are any."""
    parameters = model.get_params(deep=False)
    fitted = {name: value for name, value in vars(model).items() if name not in parameters}
    for name in fitted:
        if name not in ATTRIBUTES:
            what = (
                "callbacks; remove them with set_callbacks()" if name == "_skl_callbacks" else f"the attribute {name!r}"
            )
            raise NotSavableError(f"{type(model).__name__} cannot be saved: files do not hold {what}.")
    return {"parameters": parameters, "fitted": fitted}


def build_estimator(kind: Callable[..., Any], required: tuple[str, ...], state: dict[str, Any]) -> Any:
    """A checked estimator.

    Parameters
    ----------
    kind : its class
    required : names of the attributes that a fitted estimator of this class has; alternatives are separated by "|"
    state : as `estimator_state` gave it
    """
    check_entries(state, ["parameters", "fitted"])
    model = kind(**checked_parameters(kind, state["parameters"]))
    fitted = check_type(state["fitted"], dict, "fitted")
    if not fitted:
        return model
    for name, value in fitted.items():
        if name not in ATTRIBUTES:
            raise damage(f"the attribute {name[:50]!r} is not known")
        ATTRIBUTES[name](value, name)
    for names in (*required, *(("classes_",) if is_classifier(model) else ())):
        if not set(names.split("|")) & set(fitted):
            raise damage(f"the attribute {names!r} is missing")
    _check_together(is_classifier(model), fitted)
    model.__dict__.update(fitted)
    return model


def checked_parameters(kind: Callable[..., Any], parameters: Any) -> dict[str, Any]:
    """Parameters of a constructor; those that a file of an earlier release lacks get their defaults."""
    known = set(inspect.signature(kind).parameters)
    check_entries(check_type(parameters, dict, "parameters"), (), known)
    return parameters


def _check_together(is_class: bool, fitted: dict[str, Any]) -> None:
    """Check that the attributes describe the same columns and outputs."""
    columns: Columns = fitted["columns_"]
    n_encoded, n_inputs = len(columns.names), len(columns.inputs)
    if fitted["n_features_in_"] != n_inputs:
        raise damage("n_features_in_ is not the number of columns")
    if "feature_names_in_" in fitted and tuple(fitted["feature_names_in_"].tolist()) != columns.inputs:
        raise damage("feature_names_in_ are not the names of the columns")
    widths = {"bandwidths_": None, "_reading_": "widths", "_scaling_": "center"}
    for name, part in widths.items():
        if name in fitted and len(getattr(fitted[name], part) if part else fitted[name]) != n_encoded:
            raise damage(f"{name} does not fit the columns")
    n_outputs = None
    for name in ("tree_", "forest_", "_grown_", "growth_"):
        finished = fitted.get(name)
        if finished is None:
            continue
        if finished.n_features != n_encoded or n_outputs not in (None, finished.n_outputs):
            raise damage(f"{name} does not fit the columns or the outputs")
        n_outputs = finished.n_outputs
    loss = fitted.get("_loss_")
    if loss is not None:
        if loss.n_scores != n_outputs:
            raise damage("the loss does not fit the outputs")
        n_outputs = loss.predict(np.zeros((1, loss.n_scores))).reshape(1, -1).shape[1]
    n_expected = len(fitted["classes_"]) if is_class else fitted.get("n_outputs_", 1)
    if n_outputs != n_expected:
        raise damage("the number of outputs does not fit the classes or targets")
    if "_class_mass" in fitted and len(fitted["_class_mass"]) != n_expected:
        raise damage("_class_mass does not fit the classes")


# Checks of single attributes


def check_labels(labels: Any, name: str) -> None:
    """Raise an error unless these are class labels, (n_classes,)."""
    if not isinstance(labels, np.ndarray) or labels.ndim != 1 or len(labels) == 0:
        raise damage(f"{name} is no list of labels")
    if labels.dtype.kind == "f" and not all_finite(labels):
        raise damage(f"{name} holds nan or infinity")
    if labels.dtype.kind == "O":
        for label in labels.tolist():
            if check_name(label) != label:
                raise damage(f"{name} holds nan")
    if len(set(labels.tolist())) < len(labels):
        raise damage(f"{name} holds a label twice")


def _is(kind: type, *, or_none: bool = False) -> Callable[[Any, str], None]:
    def check(value: Any, name: str) -> None:
        if not (isinstance(value, kind) or (or_none and value is None)):
            raise damage(f"{name} is {type(value).__name__}, expected {kind.__name__}")

    return check


def _growth(value: Any, name: str) -> None:
    if not isinstance(value, GrowingTree | GrowingForest):
        raise damage(f"{name} is {type(value).__name__}, expected a growing tree or forest")


def _number(value: Any, name: str) -> None:
    if not isinstance(value, int | float | np.integer | np.floating) or isinstance(value, bool):
        raise damage(f"{name} is no number")


def _count(value: Any, name: str) -> None:
    check_integer(int(value) if isinstance(value, np.integer) else value, name)


def _numbers(value: Any, name: str) -> None:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiu":
        raise damage(f"{name} holds no numbers")


def _names(value: Any, name: str) -> None:
    check_array(value, object, (None,), name)
    if not all(type(text) is str for text in value.tolist()):
        raise damage(f"{name} holds something other than text")


def _widths(value: Any, name: str) -> None:
    if not is_within(check_array(value, np.float64, (None,), name), 0.0, np.inf):
        raise damage(f"{name} holds a number below 0")


def _masses(value: Any, name: str) -> None:
    if not all_finite(check_array(value, np.float64, (None,), name)) or np.any(value < 0.0):
        raise damage(f"{name} holds a number that is no weight")


def _history(value: Any, name: str) -> None:
    for line in check_type(value, list, name):
        for item in check_type(line, dict, f"a line of {name}").values():
            if item is not None and not isinstance(item, bool | int | float | str | np.generic):
                raise damage(f"{name} holds {type(item).__name__}")


def _candidate(value: Any, name: str) -> None:
    """A line of ``search_``: how a tree is trained, from which a warm start goes on."""
    numbers = ("l1_regularization", "l2_regularization", "gentle", "steep", "split_cost")
    flags = ("is_trained", "is_pure")
    line = check_entries(check_type(value, dict, name), ["init", *numbers, *flags, "loss", "n_splits"])
    check_type(line["init"], str, f"init of {name}")
    for part in flags:
        check_type(line[part], bool, f"{part} of {name}")
    for part in (*numbers, "loss", "n_splits"):
        check_type(line[part], float, f"{part} of {name}")
    for part in numbers:
        if not 0.0 <= line[part] < np.inf:
            raise damage(f"{part} of {name} is no number from 0 on")
    if line["gentle"] == 0.0:
        raise damage(f"gentle of {name} is 0")


def _trial(value: Any, name: str) -> None:
    """A line of ``search_`` of boosting."""
    limits = ("bandwidth", "max_leaf_nodes", "min_mass", "max_features")
    numbers = ("learning_rate", "n_rounds", "loss")
    line = check_entries(check_type(value, dict, name), ["stage", *limits, *numbers, "losses"])
    check_type(line["stage"], str, f"stage of {name}")
    for part in (*limits, *numbers):
        if line[part] is not None or part not in limits:
            _number(line[part], f"{part} of {name}")
    losses = check_type(line["losses"], list, f"losses of {name}")
    for loss in losses:
        check_type(loss, float, f"losses of {name}")
    if not 1 <= check_type(line["n_rounds"], int, f"n_rounds of {name}") < len(losses):
        raise damage(f"n_rounds of {name} is no round of losses")


def _search(value: Any, name: str) -> None:
    for line in check_type(value, list, name):
        is_trial = isinstance(line, dict) and "stage" in line
        (_trial if is_trial else _candidate)(line, f"a line of {name}")


def _count_or_none(value: Any, name: str) -> None:
    if value is not None:
        _count(value, name)


def _table(value: Any, name: str) -> None:
    for column in check_type(value, dict, name).values():
        _numbers(column, name)


def _unpruned(value: Any, name: str) -> None:
    if not isinstance(value, tuple) or [type(part) for part in value] != [StagedTree, Scaling]:
        raise damage(f"{name} is no tree and its scaling")
    if value[0].gates.shape[1] != len(value[1].center) + 1:
        raise damage(f"{name} is a tree with another number of columns than its scaling")


ATTRIBUTES: dict[str, Callable[[Any, str], object]] = {
    "_class_mass": _masses,
    "_grown_": _is(SoftForest, or_none=True),
    "_is_flat_": _is(bool),
    "_loss_": _is(Loss),
    "_reading_": _is(Reading),
    "_scaling_": _is(Scaling),
    "_seed_": _count,
    "_staged_": _is(StagedTree),
    "_unpruned_": _unpruned,
    "bandwidth_": _number,
    "bandwidths_": _widths,
    "chosen_": _candidate,
    "classes_": check_labels,
    "columns_": _is(Columns),
    "feature_names_in_": _names,
    "forest_": _is(SoftForest),
    "growth_": _growth,
    "history_": _history,
    "max_features_": _count,
    "max_leaf_nodes_": _count_or_none,
    "min_mass_": _number,
    "n_features_in_": _count,
    "n_iter_": _count,
    "n_outputs_": _count,
    "oob_decision_function_": _numbers,
    "oob_prediction_": _numbers,
    "oob_score_": _number,
    "search_": _search,
    "size_path_": _table,
    "train_score_": _numbers,
    "tree_": _is(SoftTree),
    "validation_score_": _numbers,
}
