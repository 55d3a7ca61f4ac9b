"""Growing trees, pools and models for river in files."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from softwood.core.arrays import is_within, require_array
from softwood.core.columns import MAX_CATEGORIES
from softwood.core.dates import Dates
from softwood.files.errors import InvalidFileError
from softwood.files.estimators import check_labels, checked_parameters
from softwood.files.records import (
    build_date,
    build_record,
    check_entries,
    check_integer,
    check_type,
    date_state,
    record_state,
)
from softwood.files.values import check_name
from softwood.stream.adaptive_scores import AdaptiveScores
from softwood.stream.base import StreamModel
from softwood.stream.drift import DriftDetector
from softwood.stream.growing.arrays import Limits
from softwood.stream.growing.events import DriftEvent
from softwood.stream.growing.forest import GrowingForest
from softwood.stream.growing.hoeffding import HoeffdingClassTree, HoeffdingRealTree
from softwood.stream.growing.planting import SAVED, ForestRules, Recipe
from softwood.stream.growing.soft import SoftClassTree, SoftRealTree
from softwood.stream.growing.tree import GrowingTree
from softwood.stream.loops.forest import N_ADJUSTMENT
from softwood.stream.loops.layout import EVENT, N_SCALER_ROWS, Settings
from softwood.stream.pool import ModelPool

_INTEGERS = [name for name in EVENT.names or () if EVENT[name] == np.int64]
_NUMBERS = [name for name in EVENT.names or () if EVENT[name] == np.float64]

# Lengths of arrays in files of earlier releases
EARLIER_LENGTHS = {"settings": (23, 27, 29, 31, 34), "scaler": (4,), "target_scaler": (4,)}

# Growing trees


def growth_state(growth: GrowingTree) -> dict[str, Any]:
    """State of a growing tree; the log as two matrices, since containers hold no records."""
    arrays = growth.state()
    log = arrays.pop("log")
    seed = vars(growth).get("seed")
    return {
        "arrays": arrays,
        "log_integers": np.column_stack([log[name] for name in _INTEGERS]),
        "log_numbers": np.column_stack([log[name] for name in _NUMBERS]),
        "n_features": growth.n_features,
        "n_outputs": growth.n_outputs,
        **record_state(growth.limits),
        "seed": None if seed is None else int(seed),
        "unit": float(getattr(growth, "unit", 1.0)),
    }


def build_growth(kind: type[GrowingTree], state: dict[str, Any]) -> GrowingTree:
    """A checked growing tree."""
    entries = ("arrays", "log_integers", "log_numbers", "n_features", "n_outputs", "max_inner", "max_bytes")
    check_entries(state, [*entries, "seed", "unit"])
    arrays = check_type("arrays", state["arrays"], dict[str, np.ndarray])
    _bring_up_to_date(arrays)
    arrays.setdefault("detector", np.zeros(0))
    check_entries(arrays, [*(name for name in kind.axes if name not in kind.scratch), "settings"])
    n_features, n_outputs = (check_integer(name, state[name], 0, 2**31 - 1) for name in ("n_features", "n_outputs"))
    growth = kind.from_state({**arrays, "log": _log(state)}, _limits(state), n_features, n_outputs)
    _set_seed_and_unit(growth, state)
    return growth


def _bring_up_to_date(arrays: dict[str, Any]) -> None:
    """Add what files of earlier releases lack: settings and rows of scalers; 0 means the behaviour of that time."""
    for name, n_rows in (
        ("settings", len(Settings._fields)),
        ("scaler", N_SCALER_ROWS),
        ("target_scaler", N_SCALER_ROWS),
    ):
        array = arrays.get(name)
        if isinstance(array, np.ndarray) and array.ndim and len(array) in EARLIER_LENGTHS[name]:
            arrays[name] = np.concatenate([array, np.zeros((n_rows - len(array), *array.shape[1:]), array.dtype)])


def _limits(state: dict[str, Any]) -> Limits:
    return build_record(Limits, {name: state[name] for name in ("max_inner", "max_bytes")})


def _log(state: dict[str, Any]) -> np.ndarray:
    integers = require_array("log_integers", state["log_integers"], np.int64, (None, len(_INTEGERS)))
    numbers = require_array("log_numbers", state["log_numbers"], np.float64, (len(integers), len(_NUMBERS)))
    log = np.empty(len(integers), dtype=EVENT)
    for matrix, names in ((integers, _INTEGERS), (numbers, _NUMBERS)):
        for k, name in enumerate(names):
            log[name] = matrix[:, k]
    return log


def _set_seed_and_unit(growth: GrowingTree, state: dict[str, Any]) -> None:
    if state["seed"] is not None:
        if not hasattr(growth, "seed"):
            raise InvalidFileError("seed does not belong to this kind of tree")
        growth.seed = np.uint64(check_integer("seed", state["seed"], 0, 2**64 - 1))
    unit = check_type("unit", state["unit"], float)
    if not 0.0 < unit < math.inf or math.frexp(unit)[0] != 0.5 or not (unit == 1.0 or hasattr(growth, "unit")):
        raise InvalidFileError("unit must be a power of two")
    if unit != 1.0:
        growth.unit = float(unit)  # type: ignore[attr-defined]


# Forests


def forest_state(forest: GrowingForest) -> dict[str, Any]:
    """State of a growing forest; how its trees are made follows from the model's parameters."""
    return {
        "trees": list(forest.trees),
        "spares": list(forest.spares),
        "arrays": {name: getattr(forest, name) for name in SAVED},
        "drift_kinds": [event.kind for event in forest.drifts],
        "drift_rows": np.array([event.n_samples for event in forest.drifts], dtype=np.int64),
        "drift_trees": np.array([event.tree for event in forest.drifts], dtype=np.int64),
        "n_features": forest.n_features,
        "n_outputs": forest.n_outputs,
        "n_rows": forest.n_rows,
        "seed": int(forest.seed),
        "is_class": forest.classifies,
        "rules": record_state(forest.rules),
        "recipes": [_recipe_state(recipe) for recipe in forest.recipes],
    }


def _recipe_state(recipe: Recipe) -> dict[str, Any]:
    return {
        "kind": recipe.kind.__name__,
        "settings": np.array(recipe.settings, dtype=np.float64),
        **record_state(recipe.limits),
        "max_features": recipe.max_features,
    }


def build_forest_growth(kind: type[GrowingForest], state: dict[str, Any]) -> GrowingForest:
    """A checked growing forest."""
    names = ("trees", "spares", "arrays", "drift_kinds", "drift_rows", "drift_trees")
    check_entries(state, [*names, "n_features", "n_outputs", "n_rows", "seed", "is_class", "rules", "recipes"])
    is_class = check_type("is_class", state["is_class"], bool)
    recipes = [_build_recipe(recipe, is_class) for recipe in check_type("recipes", state["recipes"], list[dict])]
    if not recipes:
        raise InvalidFileError("a forest has no trees")
    n_features, n_outputs = (check_integer(name, state[name], 0, 2**31 - 1) for name in ("n_features", "n_outputs"))
    # an empty forest of one column, so that a large number in a damaged file costs no memory
    given = check_type("rules", state["rules"], dict)
    given.setdefault("adjusts", False)  # what files of earlier releases lack
    rules = build_record(ForestRules, given)
    forest = kind(recipes, rules, 1, 2, check_integer("seed", state["seed"]), is_class)
    forest.n_features, forest.n_outputs = n_features, n_outputs
    arrays = check_type("arrays", state["arrays"], dict)
    arrays.setdefault("target_scaler", np.zeros((N_SCALER_ROWS, 1)))
    arrays.setdefault("adjustment", np.zeros(N_ADJUSTMENT))
    trees = check_type("trees", state["trees"], list[GrowingTree])
    spares = check_type("spares", state["spares"], list[GrowingTree | None])
    forest.restore(trees, spares, check_entries(arrays, SAVED))
    forest.n_rows = check_integer("n_rows", state["n_rows"])
    forest.drifts = _drifts(state, len(recipes))
    return forest


def _build_recipe(state: dict[str, Any], is_class: bool) -> Recipe:
    check_entries(state, ["kind", "settings", "max_inner", "max_bytes", "max_features"])
    kinds: tuple[type[GrowingTree], ...] = (HoeffdingRealTree, SoftRealTree)
    if is_class:
        kinds = (HoeffdingClassTree, SoftClassTree)
    kind = next((kind for kind in kinds if kind.__name__ == state["kind"]), None)
    if kind is None:
        raise InvalidFileError("a forest has trees of an unknown kind")
    _bring_up_to_date(state)
    settings = require_array("settings", state["settings"], np.float64, (len(Settings._fields),))
    share = check_type("max_features", state["max_features"], float)
    return Recipe(kind, Settings(*settings.tolist()), _limits(state), share)


def _drifts(state: dict[str, Any], n_trees: int) -> list[DriftEvent]:
    kinds = check_type("drift_kinds", state["drift_kinds"], list[str])
    rows, trees = (require_array(name, state[name], np.int64, (len(kinds),)) for name in ("drift_rows", "drift_trees"))
    if set(kinds) - {"warning", "drift"} or not is_within(rows, 0, 2**62) or not is_within(trees, 0, n_trees - 1):
        raise InvalidFileError("the log of drifts is damaged")
    return [DriftEvent(*event) for event in zip(kinds, rows.tolist(), trees.tolist(), strict=True)]


# Detectors


def detector_state(detector: DriftDetector) -> dict[str, Any]:
    """State of a detector."""
    return {"parameters": detector.get_params(), "state": detector._state}


def build_detector(kind: Callable[..., DriftDetector], state: dict[str, Any]) -> DriftDetector:
    """A checked detector."""
    check_entries(state, ["parameters", "state"])
    detector = kind(**checked_parameters(kind, state["parameters"]))
    detector.restore(state["state"])
    return detector


# Pools

_DRAWN = ("models_", "losses_", "n_trained_", "_learners", "_state", "_n_in_period", "_classes")


def pool_state(pool: ModelPool) -> dict[str, Any]:
    """State of a pool; the models that it was made of are saved with what they have learned themselves, if anything."""
    parameters = pool.get_params(deep=False)
    parameters["models"] = list(pool.models)
    fitted = {name: getattr(pool, name) for name in _DRAWN} if hasattr(pool, "models_") else None
    return {"parameters": parameters, "fitted": fitted}


def build_pool(kind: type[ModelPool], state: dict[str, Any]) -> ModelPool:
    """A checked pool."""
    check_entries(state, ["parameters", "fitted"])
    pool = kind(**checked_parameters(kind, state["parameters"]))
    check_type("models", pool.models, list[StreamModel])
    fitted = state["fitted"]
    if fitted is None:
        return pool
    check_entries(check_type("fitted", fitted, dict), _DRAWN)
    models = check_type("models_", fitted["models_"], list[StreamModel])
    _check_turns(fitted, "losses_", "n_trained_", len(models), check_type("period", pool.period, int))
    if fitted["_classes"] is not None:
        check_labels("_classes", fitted["_classes"])
    pool.__dict__.update(fitted)
    return pool


def _check_turns(fitted: dict[str, Any], losses: str, trained: str, n: int, period: int) -> None:
    """Raise an error unless these are what a pool of `n` models keeps: losses, rows learned, learners, draws."""
    is_right = not np.isnan(require_array(losses, fitted[losses], np.float64, (n,))).any()
    if not is_right or not is_within(require_array(trained, fitted[trained], np.int64, (n,)), 0, 2**62):
        raise InvalidFileError("losses or numbers of rows of a pool are damaged")
    learners = require_array("_learners", fitted["_learners"], np.int64, (None,))
    if len(learners) == 0 or not is_within(learners, 0, n - 1) or len(set(learners.tolist())) < len(learners):
        raise InvalidFileError("_learners must be numbers of models of the pool")
    check_type("_state", fitted["_state"], np.random.RandomState)
    check_integer("_n_in_period", fitted["_n_in_period"], 0, period - 1)


# river


def river_state(model: Any) -> dict[str, Any]:
    """State of a model for river."""
    places = model._places
    return {
        "parameters": dict(model._get_params()),
        "numbers": dict(places.numbers),
        "categories": {key: dict(known) for key, known in places.categories.items()},
        "names": list(places.names),
        **(
            {"dates": {key: [date_state(date), at] for key, (date, at) in places.dates.items()}} if places.dates else {}
        ),
        "labels": list(model._codes) if hasattr(model, "_codes") else None,
        "growth": model._growth,
        **({} if model._errors is None else {"errors": model._errors}),
    }


def build_river(kind: Callable[..., Any], state: dict[str, Any]) -> Any:
    """A checked model for river."""
    check_entries(state, ["parameters", "numbers", "categories", "names", "labels", "growth"], ["dates", "errors"])
    model = kind(**checked_parameters(kind, state["parameters"]))
    if "errors" in state:
        model._errors = check_type("errors", state["errors"], AdaptiveScores)
    places = model._places
    places.numbers, places.categories, places.dates, places.names = _check_places(state)
    if (state["labels"] is None) == hasattr(model, "_codes"):
        raise InvalidFileError("labels do not belong to this kind of model")
    if state["labels"] is not None:
        labels = [check_name(label) for label in check_type("labels", state["labels"], list)]
        model._codes = {label: k for k, label in enumerate(labels)}
        if len(model._codes) < len(labels):
            raise InvalidFileError("labels has duplicates")
    growth = state["growth"]
    if growth is None:
        if places.names or state["labels"]:
            raise InvalidFileError("growth is missing")
        return model
    expected = type(model._estimator()._new_growth(1, 2, 0))
    n_outputs = len(state["labels"]) if state["labels"] is not None else 1
    if type(growth) is not expected or (growth.n_features, growth.n_outputs) != (len(places.names), n_outputs):
        raise InvalidFileError("growth does not match the model, its features or its labels")
    if isinstance(growth, GrowingForest):
        growth.n_jobs = model.n_jobs
    model._growth = growth
    model._set_rows()
    return model


# Names in files, and of the attributes.
_OF_RIVER_POOL = {"_models": "models_", "_losses": "losses_", "_n_trained": "n_trained_"} | {
    name: name for name in ("_learners", "_state", "_n_in_period")
}


def river_pool_state(pool: Any) -> dict[str, Any]:
    """State of a pool for river, whose models are softwood's: others are refused when the state is written."""
    return {
        "parameters": {**pool._get_params(), "models": list(pool.models)},
        "fitted": {name: getattr(pool, own) for name, own in _OF_RIVER_POOL.items()},
    }


def build_river_pool(kind: Callable[..., Any], state: dict[str, Any]) -> Any:
    """A checked pool for river."""
    check_entries(state, ["parameters", "fitted"])
    pool = kind(**checked_parameters(kind, state["parameters"]))
    fitted = check_entries(check_type("fitted", state["fitted"], dict), _OF_RIVER_POOL)
    models = check_type("_models", fitted["_models"], list)
    if [type(model) for model in models] != [type(model) for model in pool.models]:
        raise InvalidFileError("the models of a pool do not match its parameters")
    _check_turns(fitted, "_losses", "_n_trained", len(models), pool.period)
    pool.__dict__.update({own: fitted[name] for name, own in _OF_RIVER_POOL.items()})
    return pool


def _check_places(state: dict[str, Any]) -> tuple[dict, dict, dict, list[str]]:
    """Columns of numbers, of categories and of dates, and their names: each place must be there once."""
    numbers = check_type("numbers", state["numbers"], dict[Any, int])
    categories = check_type("categories", state["categories"], dict[Any, dict[Any, int]])
    names = check_type("names", state["names"], list[str])
    dates: dict[Any, tuple[Dates, int]] = {}
    for key, entry in check_type("dates", state.get("dates", {}), dict).items():
        if type(entry) is not list or len(entry) != 2:
            raise InvalidFileError("a date is not a pair")
        dates[key] = build_date(check_type("date", entry[0], dict)), check_integer("date", entry[1])
    found = list(numbers.values())
    for date, at in dates.values():
        found += range(at, at + len(date.parts))
    for known in categories.values():
        found += list(known.values())
        if len(known) > MAX_CATEGORIES:
            raise InvalidFileError("a feature has too many categories")
    if not all(type(at) is int for at in found) or sorted(found) != list(range(len(names))):
        raise InvalidFileError("features do not match their columns")
    return numbers, categories, dates, names
