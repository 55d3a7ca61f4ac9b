"""Checkpoints: save a stream model in mid-stream, and go on later, bit for bit.

A checkpoint is a zip file of plain arrays (numpy's npz) and a text in JSON; reading one runs no code.
"""

from __future__ import annotations

import json
import os
import secrets
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from softwood.columns import Columns
from softwood.loops.stream_layout import FIRST_KEY, N_KEYS, N_NODES, N_SLOT_KEYS, OWNER, PARENT, SLOT
from softwood.stream.model import StreamModel
from softwood.stream.pool import ModelPool

__all__ = ["load_checkpoint", "save_checkpoint"]

FORMAT, VERSION = "softwood stream checkpoint", 2
# What reading a file of another kind, or a damaged one, may end with.
DAMAGES = (
    ValueError, LookupError, EOFError, OSError, TypeError, AttributeError, ArithmeticError, MemoryError,
    NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def save_checkpoint(model: Any, path: str | os.PathLike) -> None:
    """Save a model; the file appears only when it is complete.

    Parameters
    ----------
    model : a model of `softwood.stream` or `softwood.stream.river`, or a `ModelPool`
    path : of the file

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from softwood.stream import SEA, SoftHoeffdingTreeClassifier, load_checkpoint, save_checkpoint
    >>> X, y = SEA(seed=0).take(600)
    >>> model = SoftHoeffdingTreeClassifier(random_state=0).partial_fit(X[:300], y[:300], classes=[0, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_checkpoint(model, pathlib.Path(folder) / "model.npz")
    ...     again = load_checkpoint(pathlib.Path(folder) / "model.npz")
    >>> expected = model.partial_fit(X[300:], y[300:]).predict_proba(X)
    >>> bool((again.partial_fit(X[300:], y[300:]).predict_proba(X) == expected).all())
    True
    """
    path = Path(path)
    arrays: dict[str, np.ndarray] = {}
    header = {"format": FORMAT, "version": VERSION, "model": _describe(model, "", arrays)}
    try:
        text = json.dumps(header)
    except TypeError as error:
        raise ValueError(
            f"{type(model).__name__} has a parameter or label that a checkpoint cannot hold: {error}."
        ) from error
    arrays["header"] = np.array(text)
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    try:
        with open(part, "xb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def load_checkpoint(path: str | os.PathLike) -> Any:
    """Read a model that `save_checkpoint` has saved; an error that says so if the file is damaged."""
    try:
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        header = json.loads(str(arrays["header"]))
        if header["format"] != FORMAT:
            raise ValueError(f"it is {header['format']!r}")
        if header["version"] != VERSION:
            raise ValueError(f"it has version {header['version']}, and this release reads version {VERSION}")
        return _build(header["model"], "", arrays)
    except FileNotFoundError:
        raise
    except DAMAGES as error:
        raise ValueError(f"{str(path)!r} is no softwood checkpoint, or it is damaged: {error}.") from error


def _describe(model: Any, prefix: str, arrays: dict[str, np.ndarray]) -> dict:
    """What a file says of a model; its arrays are added to `arrays`."""
    if isinstance(model, ModelPool):
        return _describe_pool(model, prefix, arrays)
    if isinstance(model, StreamModel):
        return _describe_estimator(model, prefix, arrays)
    if type(model).__module__ == "softwood.stream.river":
        return _describe_river(model, prefix, arrays)
    raise ValueError(f"save_checkpoint takes stream models of softwood, not {type(model).__name__}.")


def _build(described: dict, prefix: str, arrays: dict[str, np.ndarray]) -> Any:
    kind = described["kind"]
    builders = {"estimator": _build_estimator, "pool": _build_pool, "river": _build_river}
    if kind not in builders:
        raise ValueError(f"it holds a {kind!r}")
    return builders[kind](described, prefix, arrays)


# Growing trees


def _describe_growth(growth: Any, prefix: str, arrays: dict[str, np.ndarray]) -> dict | None:
    if growth is None:
        return None
    arrays |= {prefix + name: array for name, array in growth.state().items()}
    seed = getattr(growth, "seed", None)
    return {
        "n_features": growth.n_features,
        "n_outputs": growth.n_outputs,
        "seed": None if seed is None else int(seed),
        "unit": getattr(growth, "unit", 1.0),
        "arrays": sorted(growth.state()),
    }


def _build_growth(model: Any, described: dict, prefix: str, arrays: dict[str, np.ndarray]) -> Any:
    growth = model._new_growth(described["n_features"], described["n_outputs"], described["seed"] or 0)
    growth.restore({name: arrays[prefix + name] for name in described["arrays"]})
    if described["seed"] is not None:
        growth.seed = np.uint64(described["seed"])
    if described.get("unit", 1.0) != 1.0:
        growth.unit = float(described["unit"])
    _check_growth(growth)
    return growth


def _check_growth(growth: Any) -> None:
    """An error if an array points to a place that is not there: the loops would follow it."""
    nodes, slots, counters = (growth.arrays[name] for name in ("nodes", "slots", "counters"))
    if not 0 < counters[N_NODES] <= len(nodes) or counters.min() < 0:
        raise ValueError("the numbers of nodes do not fit the arrays")
    growth.snapshot()  # an error if the nodes in use do not make one tree
    nodes = nodes[: counters[N_NODES]]
    n_keys = growth.n_outputs if "keys" in growth.arrays else 0
    within = [
        (nodes[:, PARENT], -1, len(nodes)),
        (nodes[:, SLOT], -1, len(slots)),
        (nodes[:, N_KEYS], -1, n_keys + 1),
        (slots[:, OWNER], -1, len(nodes)),
        (slots[:, N_SLOT_KEYS], 0, growth.n_outputs + 1),
        (slots[:, FIRST_KEY:], 0, growth.n_outputs),
    ]
    if "keys" in growth.arrays:
        within.append((growth.arrays["keys"], 0, growth.n_outputs))
    for found, low, end in within:
        if found.size and not low <= found.min() <= found.max() < end:
            raise ValueError("an array points to a place that is not there")
    owned = np.flatnonzero(nodes[:, SLOT] >= 0)
    if not np.array_equal(slots[nodes[owned, SLOT], OWNER], owned):
        raise ValueError("nodes and their statistics do not fit together")


# Labels and names keep their types


def _typed(value: Any) -> list:
    if isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, bool | int | float | str | None):
        raise ValueError(f"A checkpoint cannot hold the name or label {value!r}; use text or numbers.")
    return [type(value).__name__, value]


def _untyped(pair: list) -> Any:
    kind, value = pair
    return float(value) if kind == "float" else value


def _typed_labels(labels: np.ndarray) -> dict:
    return {"type": labels.dtype.str, "labels": [_typed(label) for label in labels.tolist()]}


def _untyped_labels(described: dict) -> np.ndarray:
    return np.array([_untyped(label) for label in described["labels"]], dtype=described["type"])


# Estimators


def _parameters(model: Any) -> dict:
    parameters = model.get_params(deep=False)
    state = parameters.get("random_state")
    if state is not None and not isinstance(state, int | np.integer):
        # The seed has been drawn; what comes is in the arrays.
        parameters["random_state"] = None
    weights = parameters.get("class_weight")
    if isinstance(weights, dict):
        parameters["class_weight"] = {"dict": [[_typed(k), float(v)] for k, v in weights.items()]}
    plain = np.generic | np.ndarray
    return {name: value.tolist() if isinstance(value, plain) else value for name, value in parameters.items()}


def _describe_estimator(model: StreamModel, prefix: str, arrays: dict[str, np.ndarray]) -> dict:
    from softwood import stream

    if type(model) is not getattr(stream, type(model).__name__, None):
        raise ValueError(f"save_checkpoint takes stream models of softwood, not {type(model).__name__}.")
    described: dict[str, Any] = {"kind": "estimator", "class": type(model).__name__, "parameters": _parameters(model)}
    if hasattr(model, "classes_"):
        described["classes"] = _typed_labels(model.classes_)
        arrays[prefix + "class_mass"] = model._class_mass
    if not hasattr(model, "growth_"):
        return described
    columns = model.columns_
    described["columns"] = {
        "names": list(columns.names),
        "source": columns.source.tolist(),
        "inputs": list(columns.inputs),
        "categories": [None if c is None else [_typed(v) for v in c] for c in columns.categories],
        "n_features_in": model.n_features_in_,
        "has_names": hasattr(model, "feature_names_in_"),
    }
    described["growth"] = _describe_growth(model.growth_, prefix, arrays)
    return described


def _build_estimator(described: dict, prefix: str, arrays: dict[str, np.ndarray]) -> StreamModel:
    from softwood import stream

    if described["class"] not in stream.__all__:
        raise ValueError(f"it holds a {described['class']!r}, which is not known")
    parameters = described["parameters"]
    if isinstance(parameters.get("class_weight"), dict):
        parameters["class_weight"] = {_untyped(k): v for k, v in parameters["class_weight"]["dict"]}
    model = getattr(stream, described["class"])(**parameters)
    if "classes" in described:
        model.classes_ = _untyped_labels(described["classes"])
        model._class_mass = arrays[prefix + "class_mass"]
    if "growth" in described:
        columns = described["columns"]
        model.columns_ = Columns(
            tuple(columns["names"]), np.array(columns["source"], dtype=np.int64),
            tuple(None if c is None else tuple(_untyped(v) for v in c) for c in columns["categories"]),
            tuple(columns["inputs"]),
        )  # fmt: skip
        model.n_features_in_ = columns["n_features_in"]
        if columns["has_names"]:
            model.feature_names_in_ = np.array(columns["inputs"], dtype=object)
        model.growth_ = _build_growth(model, described["growth"], prefix, arrays)
    return model


# Pools


def _describe_pool(pool: ModelPool, prefix: str, arrays: dict[str, np.ndarray]) -> dict:
    options = {name: value for name, value in pool.get_params(deep=False).items() if name != "models"}
    described: dict[str, Any] = {"kind": "pool", "options": options}
    described["models"] = [_describe(clone(model), "", {}) for model in pool.models]
    if hasattr(pool, "models_"):
        name, keys, *rest = pool._state.get_state(legacy=True)
        arrays[prefix + "draws"] = keys
        arrays[prefix + "losses"] = pool.losses_
        arrays[prefix + "n_trained"] = pool.n_trained_
        arrays[prefix + "learners"] = pool._learners
        described["fitted"] = [_describe(m, f"{prefix}{k}/", arrays) for k, m in enumerate(pool.models_)]
        described["draws"] = [name, *[float(r) if isinstance(r, float) else int(r) for r in rest]]
        described["n_in_period"] = pool._n_in_period
        described["classes"] = None if pool._classes is None else _typed_labels(pool._classes)
    return described


def _build_pool(described: dict, prefix: str, arrays: dict[str, np.ndarray]) -> ModelPool:
    pool = ModelPool([_build(model, "", {}) for model in described["models"]], **described["options"])
    if "fitted" in described:
        pool.models_ = [_build(m, f"{prefix}{k}/", arrays) for k, m in enumerate(described["fitted"])]
        pool.losses_, pool.n_trained_ = arrays[prefix + "losses"], arrays[prefix + "n_trained"]
        pool._learners = arrays[prefix + "learners"]
        pool._state = np.random.RandomState()
        name, *rest = described["draws"]
        pool._state.set_state((name, arrays[prefix + "draws"], *rest))
        pool._n_in_period = described["n_in_period"]
        pool._classes = None if described["classes"] is None else _untyped_labels(described["classes"])
    return pool


# river


def _describe_river(model: Any, prefix: str, arrays: dict[str, np.ndarray]) -> dict:
    places = model._places
    return {
        "kind": "river",
        "class": type(model).__name__,
        "parameters": model._get_params(),
        "numbers": [[_typed(key), at] for key, at in places.numbers.items()],
        "categories": [
            [_typed(key), [[_typed(value), at] for value, at in known.items()]]
            for key, known in places.categories.items()
        ],
        "names": places.names,
        "labels": [_typed(label) for label in getattr(model, "_codes", {})],
        "growth": _describe_growth(model._growth, prefix, arrays),
    }


def _build_river(described: dict, prefix: str, arrays: dict[str, np.ndarray]) -> Any:
    from softwood.stream import river

    if described["class"] not in river.__all__:
        raise ValueError(f"it holds a {described['class']!r}, which is not known")
    model = getattr(river, described["class"])(**described["parameters"])
    places = model._places
    places.numbers = {_untyped(key): at for key, at in described["numbers"]}
    places.categories = {
        _untyped(key): {_untyped(value): at for value, at in known} for key, known in described["categories"]
    }
    places.names = described["names"]
    if described["labels"]:
        model._codes = {_untyped(label): k for k, label in enumerate(described["labels"])}
    if described["growth"] is not None:
        model._growth = _build_growth(model._estimator(), described["growth"], prefix, arrays)
        model._row = np.empty((1, len(places)))
    return model
