"""Growing trees, pools and models for river in files."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from softwood.core.columns import MAX_CATEGORIES
from softwood.files.checks import check_array, check_entries, check_integer, check_type, is_within
from softwood.files.detectors import check_window
from softwood.files.estimators import check_labels, checked_parameters
from softwood.files.values import check_name, damage
from softwood.stream.base import StreamModel
from softwood.stream.growing.arrays import Limits, new_detector
from softwood.stream.growing.events import DriftEvent
from softwood.stream.growing.forest import GrowingForest
from softwood.stream.growing.hoeffding import HoeffdingClassTree, HoeffdingRealTree
from softwood.stream.growing.planting import ForestRules, Recipe
from softwood.stream.growing.soft import SoftClassTree, SoftRealTree
from softwood.stream.growing.tree import GrowingTree
from softwood.stream.loops.alarms import N_SIZES, N_WINDOW, SIZE
from softwood.stream.loops.drift import A_DELTA, A_TOTAL
from softwood.stream.loops.forest import N_SCORES
from softwood.stream.loops.layout import (
    EVENT,
    N_SCALER_ROWS,
    SCALED_WEIGHT,
    VARIANCE,
    Settings,
)
from softwood.stream.pool import ModelPool

__all__ = [
    "build_forest_growth",
    "build_growth",
    "build_pool",
    "build_river",
    "build_river_pool",
    "forest_state",
    "growth_state",
    "pool_state",
    "river_pool_state",
    "river_state",
]

_INTEGERS = [name for name in EVENT.names or () if EVENT[name] == np.int64]
_NUMBERS = [name for name in EVENT.names or () if EVENT[name] == np.float64]

# Lines of arrays in files of earlier releases
EARLIER_LINES = {"settings": (23, 27), "scaler": (4,), "target_scaler": (4,)}

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
        "max_inner": growth.limits.max_inner,
        "max_bytes": growth.limits.max_bytes,
        "seed": None if seed is None else int(seed),
        "unit": float(getattr(growth, "unit", 1.0)),
    }


def build_growth(kind: type[GrowingTree], state: dict[str, Any]) -> GrowingTree:
    """A checked growing tree."""
    entries = ("arrays", "log_integers", "log_numbers", "n_features", "n_outputs", "max_inner", "max_bytes")
    check_entries(state, [*entries, "seed", "unit"])
    arrays = check_type(state["arrays"], dict, "arrays")
    _bring_up_to_date(arrays)
    arrays.setdefault("detector", np.zeros(0))
    check_entries(arrays, [*(name for name in kind.axes if name not in kind.scratch), "settings"])
    for name, array in arrays.items():
        check_type(array, np.ndarray, name)
    n_features = check_integer(state["n_features"], "n_features", 0, 2**31 - 1)
    n_outputs = check_integer(state["n_outputs"], "n_outputs", 0, 2**31 - 1)
    limits = Limits(*(_limit(state[name], name) for name in ("max_inner", "max_bytes")))
    try:
        growth = kind.from_state({**arrays, "log": _log(state)}, limits, n_features, n_outputs)
    except ValueError as error:
        raise damage(str(error)) from None
    _check_alarms(growth.arrays["detector"], growth.settings.drift_delta)
    _set_seed_and_unit(growth, state)
    return growth


def _check_alarms(detector: np.ndarray, delta: float) -> None:
    """Raise an error unless the detector of a tree is one that its loops can go on with."""
    if delta <= 0.0:
        return
    try:
        new = new_detector(delta)
    except ValueError as error:
        raise damage(str(error)) from None
    check_window(detector[:N_WINDOW])
    if not np.array_equal(detector[A_DELTA:A_TOTAL], new[A_DELTA:A_TOTAL]):
        raise damage("the detector of a tree does not fit its settings")
    if not is_within(detector[N_WINDOW:], -1e300, 1e300) or detector[SIZE] < 0.0 or detector[N_SIZES] < 0.0:
        raise damage("the detector of a tree holds numbers that it cannot hold")


def _bring_up_to_date(arrays: dict[str, Any]) -> None:
    """Add what files of earlier releases lack: settings and lines of scalers, whose 0 is what they did then."""
    for name, n_lines in (
        ("settings", len(Settings._fields)),
        ("scaler", N_SCALER_ROWS),
        ("target_scaler", N_SCALER_ROWS),
    ):
        array = arrays.get(name)
        if isinstance(array, np.ndarray) and array.ndim and len(array) in EARLIER_LINES[name]:
            arrays[name] = np.concatenate([array, np.zeros((n_lines - len(array), *array.shape[1:]), array.dtype)])


def _limit(value: Any, name: str) -> float:
    if type(value) not in (int, float) or not value >= 0.0:
        raise damage(f"{name} is no limit")
    return value


def _log(state: dict[str, Any]) -> np.ndarray:
    integers = check_array(state["log_integers"], np.int64, (None, len(_INTEGERS)), "log_integers")
    numbers = check_array(state["log_numbers"], np.float64, (len(integers), len(_NUMBERS)), "log_numbers")
    log = np.empty(len(integers), dtype=EVENT)
    for matrix, names in ((integers, _INTEGERS), (numbers, _NUMBERS)):
        for k, name in enumerate(names):
            log[name] = matrix[:, k]
    return log


def _set_seed_and_unit(growth: GrowingTree, state: dict[str, Any]) -> None:
    if state["seed"] is not None:
        if not hasattr(growth, "seed"):
            raise damage("seed does not belong to this kind of tree")
        growth.seed = np.uint64(check_integer(state["seed"], "seed", 0, 2**64 - 1))
    unit = check_type(state["unit"], float, "unit")
    if not 0.0 < unit < math.inf or math.frexp(unit)[0] != 0.5 or not (unit == 1.0 or hasattr(growth, "unit")):
        raise damage("unit is no power of two")
    if unit != 1.0:
        growth.unit = unit  # type: ignore[attr-defined]


# Forests

_OF_TREES = ("columns", "spare_columns", "scores", "spare_scores", "detectors", "n_planted")


def forest_state(forest: GrowingForest) -> dict[str, Any]:
    """State of a growing forest; how its trees are made follows from the model's parameters."""
    return {
        "trees": list(forest.trees),
        "spares": list(forest.spares),
        "arrays": {name: getattr(forest, name) for name in (*_OF_TREES, "is_category", "target_scaler")},
        "drift_kinds": [event.kind for event in forest.drifts],
        "drift_rows": np.array([event.n_samples for event in forest.drifts], dtype=np.int64),
        "drift_trees": np.array([event.tree for event in forest.drifts], dtype=np.int64),
        "n_features": forest.n_features,
        "n_outputs": forest.n_outputs,
        "n_rows": forest.n_rows,
        "seed": int(forest.seed),
        "is_class": forest.classifies,
        "rules": asdict(forest.rules),
        "recipes": [_recipe_state(recipe) for recipe in forest.recipes],
    }


def _recipe_state(recipe: Recipe) -> dict[str, Any]:
    return {
        "kind": recipe.kind.__name__,
        "settings": np.array(recipe.settings, dtype=np.float64),
        "max_inner": recipe.limits.max_inner,
        "max_bytes": recipe.limits.max_bytes,
        "max_features": recipe.max_features,
    }


def build_forest_growth(state: dict[str, Any]) -> GrowingForest:
    """A checked growing forest."""
    names = ("trees", "spares", "arrays", "drift_kinds", "drift_rows", "drift_trees")
    check_entries(state, [*names, "n_features", "n_outputs", "n_rows", "seed", "is_class", "rules", "recipes"])
    is_class = check_type(state["is_class"], bool, "is_class")
    recipes = [_build_recipe(recipe, is_class) for recipe in check_type(state["recipes"], list, "recipes")]
    if not recipes:
        raise damage("a forest is without trees")
    n_features = check_integer(state["n_features"], "n_features", 0, 2**31 - 1)
    n_outputs = check_integer(state["n_outputs"], "n_outputs", 0, 2**31 - 1)
    rules, seed = _build_rules(state["rules"]), check_integer(state["seed"], "seed", 0, 2**62)
    trees, spares = check_type(state["trees"], list, "trees"), check_type(state["spares"], list, "spares")
    if len(trees) != len(recipes) or len(spares) != len(recipes):
        raise damage("a forest has more or fewer trees than places")
    for recipe, tree, spare in zip(recipes, trees, spares, strict=True):
        for grown in (tree, spare):
            if grown is None and grown is spare:
                continue
            if type(grown) is not recipe.kind or (grown.n_features, grown.n_outputs) != (n_features, n_outputs):
                raise damage("a tree does not fit its forest")
    # an empty forest of one column, so that a large number in a damaged file costs no memory
    forest = GrowingForest(recipes, rules, 1, 2, seed, is_class)
    forest.n_features, forest.n_outputs = n_features, n_outputs
    forest.trees, forest.spares = list(trees), list(spares)
    _set_arrays(forest, check_type(state["arrays"], dict, "arrays"))
    forest.n_rows = check_integer(state["n_rows"], "n_rows", 0, 2**62)
    forest.drifts = _drifts(state, len(recipes))
    return forest


def _build_rules(state: Any) -> ForestRules:
    numbers = check_entries(check_type(state, dict, "rules"), [part.name for part in fields(ForestRules)])
    for name, number in numbers.items():
        if number is None and name.endswith("delta"):
            continue
        if type(number) not in (int, float) or not 0.0 <= number < math.inf:
            raise damage(f"{name} is no number from 0 on")
        if (name.endswith("delta") and not 0.0 < number <= 1.0) or (name == "rate" and number > 100.0):
            raise damage(f"{name} is out of its range")
        if name == "memory" and number < 1.0:
            raise damage(f"{name} is out of its range")
    return ForestRules(**numbers)


def _build_recipe(state: Any, is_class: bool) -> Recipe:
    check_entries(check_type(state, dict, "a recipe"), ["kind", "settings", "max_inner", "max_bytes", "max_features"])
    kinds: tuple[type[GrowingTree], ...] = (HoeffdingRealTree, SoftRealTree)
    if is_class:
        kinds = (HoeffdingClassTree, SoftClassTree)
    kind = next((kind for kind in kinds if kind.__name__ == state["kind"]), None)
    if kind is None:
        raise damage("a forest has a kind of trees that it cannot have")
    _bring_up_to_date(state)
    values = check_array(state["settings"], np.float64, (len(Settings._fields),), "settings")
    settings = Settings(*values.tolist())
    if np.isnan(values).any() or min(settings) < 0.0 or not 1.0 <= max(1.0, settings.batch_size) <= 2**53:
        raise damage("settings of a tree are damaged")
    limits = Limits(*(_limit(state[name], name) for name in ("max_inner", "max_bytes")))
    share = check_type(state["max_features"], float, "max_features")
    if not 0.0 < share <= 1.0:
        raise damage("max_features is no share")
    return Recipe(kind, settings, limits, share)


def _set_arrays(forest: GrowingForest, arrays: dict[str, Any]) -> None:
    arrays.setdefault("target_scaler", np.zeros((N_SCALER_ROWS, 1)))  # files of earlier releases have none
    check_entries(arrays, [*_OF_TREES, "is_category", "target_scaler"])
    n, n_features = len(forest.recipes), forest.n_features
    for name in ("columns", "spare_columns"):
        check_array(arrays[name], np.bool_, (n, n_features), name)
    for name in ("scores", "spare_scores"):
        if not is_within(check_array(arrays[name], np.float64, (n, N_SCORES), name), 0.0, 1e300):
            raise damage(f"{name} holds numbers that it cannot hold")
    detectors = check_array(arrays["detectors"], np.float64, forest.detectors.shape, "detectors")
    if not np.array_equal(detectors[:, :, A_DELTA:A_TOTAL], forest.detectors[:, :, A_DELTA:A_TOTAL]):
        raise damage("the detectors do not fit the rules")
    for state in detectors.reshape(-1, detectors.shape[2]):
        check_window(state)
    if not is_within(check_array(arrays["n_planted"], np.int64, (n,), "n_planted"), 1, 2**62):
        raise damage("n_planted is damaged")
    is_category = check_array(arrays["is_category"], np.int64, (n_features,), "is_category")
    if not all(np.array_equal(tree.arrays["is_category"], is_category) for tree in forest.trees):
        raise damage("is_category is not that of the trees")
    scaler = check_array(arrays["target_scaler"], np.float64, (N_SCALER_ROWS, 1), "target_scaler")
    if not np.isfinite(scaler).all() or scaler[SCALED_WEIGHT, 0] < 0.0 or scaler[VARIANCE, 0] < 0.0:
        raise damage("target_scaler holds numbers that it cannot hold")
    for name, array in arrays.items():
        setattr(forest, name, array)


def _drifts(state: dict[str, Any], n_trees: int) -> list[DriftEvent]:
    kinds = check_type(state["drift_kinds"], list, "drift_kinds")
    rows = check_array(state["drift_rows"], np.int64, (len(kinds),), "drift_rows")
    trees = check_array(state["drift_trees"], np.int64, (len(kinds),), "drift_trees")
    if (
        set(map(str, kinds)) - {"warning", "drift"}
        or not is_within(rows, 0, 2**62)
        or not is_within(trees, 0, n_trees - 1)
    ):
        raise damage("the log of drifts is damaged")
    return [DriftEvent(*event) for event in zip(kinds, rows.tolist(), trees.tolist(), strict=True)]


# Pools

_DRAWN = ("models_", "losses_", "n_trained_", "_learners", "_state", "_n_in_period", "_classes")


def pool_state(pool: ModelPool) -> dict[str, Any]:
    """State of a pool; the models that it was made of are saved with what they have learned themselves, if anything."""
    parameters = pool.get_params(deep=False)
    parameters["models"] = list(pool.models)
    fitted = {name: getattr(pool, name) for name in _DRAWN} if hasattr(pool, "models_") else None
    return {"parameters": parameters, "fitted": fitted}


def build_pool(state: dict[str, Any]) -> ModelPool:
    """A checked pool."""
    check_entries(state, ["parameters", "fitted"])
    parameters = checked_parameters(ModelPool, state["parameters"])
    models = check_type(parameters.get("models"), list, "models")
    if not all(isinstance(model, StreamModel) for model in models):
        raise damage("a pool holds something other than stream models")
    pool = ModelPool(**parameters)
    fitted = state["fitted"]
    if fitted is None:
        return pool
    check_entries(check_type(fitted, dict, "fitted"), _DRAWN)
    n = len(check_type(fitted["models_"], list, "models_"))
    if n == 0 or not all(isinstance(model, StreamModel) for model in fitted["models_"]):
        raise damage("a pool holds something other than stream models")
    _check_turns(fitted["losses_"], fitted["n_trained_"], fitted["_learners"], n)
    check_type(fitted["_state"], np.random.RandomState, "_state")
    period = parameters.get("period", 1)
    if type(period) is not int or check_integer(fitted["_n_in_period"], "_n_in_period") >= period:
        raise damage("a pool is beyond the end of its period")
    if fitted["_classes"] is not None:
        check_labels(fitted["_classes"], "_classes")
    pool.__dict__.update(fitted)
    return pool


def _check_turns(losses: Any, trained: Any, learners: Any, n: int) -> None:
    """Raise an error unless these are losses of a pool of `n` models, rows that they have learned, and learners."""
    losses = check_array(losses, np.float64, (n,), "losses")
    trained = check_array(trained, np.int64, (n,), "n_trained")
    learners = check_array(learners, np.int64, (None,), "_learners")
    if np.isnan(losses).any() or not is_within(trained, 0, 2**62):
        raise damage("losses or numbers of rows of a pool are wrong")
    if len(learners) == 0 or not is_within(learners, 0, n - 1) or len(set(learners.tolist())) < len(learners):
        raise damage("a pool has learners that are not there")


# river


def river_state(model: Any) -> dict[str, Any]:
    """State of a model for river."""
    places = model._places
    return {
        "parameters": dict(model._get_params()),
        "numbers": dict(places.numbers),
        "categories": {key: dict(known) for key, known in places.categories.items()},
        "names": list(places.names),
        "labels": list(model._codes) if hasattr(model, "_codes") else None,
        "growth": model._growth,
    }


def build_river(kind: Callable[..., Any], state: dict[str, Any]) -> Any:
    """A checked model for river."""
    check_entries(state, ["parameters", "numbers", "categories", "names", "labels", "growth"])
    try:
        model = kind(**checked_parameters(kind, state["parameters"]))
    except (TypeError, ValueError) as error:  # the constructor checks the parameters
        raise damage(str(error)) from None
    places = model._places
    places.numbers, places.categories, places.names = _check_places(state)
    if (state["labels"] is None) == hasattr(model, "_codes"):
        raise damage("labels do not belong to this kind of model")
    if state["labels"] is not None:
        labels = [check_name(label) for label in check_type(state["labels"], list, "labels")]
        model._codes = {label: k for k, label in enumerate(labels)}
        if len(model._codes) < len(labels):
            raise damage("a label is there twice")
    growth = state["growth"]
    if growth is None:
        if places.names or state["labels"]:
            raise damage("growth is missing")
        return model
    expected = type(model._estimator()._new_growth(1, 2, 0))
    n_outputs = len(state["labels"]) if state["labels"] is not None else 1
    if type(growth) is not expected or (growth.n_features, growth.n_outputs) != (len(places.names), n_outputs):
        raise damage("growth does not fit the model, its features or its labels")
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
    try:
        pool = kind(**checked_parameters(kind, state["parameters"]))
    except (TypeError, ValueError) as error:  # the constructor checks the parameters
        raise damage(str(error)) from None
    fitted = check_entries(check_type(state["fitted"], dict, "fitted"), _OF_RIVER_POOL)
    models = check_type(fitted["_models"], list, "_models")
    if [type(model) for model in models] != [type(model) for model in pool.models]:
        raise damage("the models of a pool are not those that it was made of")
    _check_turns(fitted["_losses"], fitted["_n_trained"], fitted["_learners"], len(models))
    check_type(fitted["_state"], np.random.RandomState, "_state")
    if check_integer(fitted["_n_in_period"], "_n_in_period") >= pool.period:
        raise damage("a pool is beyond the end of its period")
    pool.__dict__.update({own: fitted[name] for name, own in _OF_RIVER_POOL.items()})
    return pool


def _check_places(state: dict[str, Any]) -> tuple[dict, dict, list[str]]:
    """Columns of numbers, columns of categories, and their names: each place must be there once."""
    numbers = check_type(state["numbers"], dict, "numbers")
    categories = check_type(state["categories"], dict, "categories")
    names = check_type(state["names"], list, "names")
    found = list(numbers.values())
    for known in categories.values():
        found += list(check_type(known, dict, "categories").values())
        if len(known) > MAX_CATEGORIES:
            raise damage("a feature has too many categories")
    if not all(type(at) is int for at in found) or sorted(found) != list(range(len(names))):
        raise damage("features and their places do not fit together")
    if not all(type(name) is str for name in names):
        raise damage("names are no text")
    return numbers, categories, names
