"""Records in files: classes whose state is their fields.

The fields of a dataclass give the entries of its state and their types. Its constructor checks the values. A few
classes are stored in another form; their functions are below.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import fields
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from softwood.core.arrays import require_array
from softwood.core.columns import Columns
from softwood.core.dates import Dates
from softwood.core.losses import Loss, loss_by_name
from softwood.files.errors import InvalidFileError
from softwood.files.values import check_name
from softwood.kernel.data.kernels import Kernel
from softwood.kernel.prediction import PredictionKernels


def record_state(record: Any) -> dict[str, Any]:
    """State of a record: its fields, without fields of later releases that are None."""
    state = {name: getattr(record, name) for name in _fields(record)}
    return {name: value for name, value in state.items() if value is not None or name not in LATER}


def build_record(kind: Callable[..., Any], state: dict[str, Any]) -> Any:
    """A record of this class, made by its constructor."""
    state = {name: value for name, value in state.items() if name not in DROPPED}
    check_entries(state, set(_fields(kind)) - LATER, LATER & set(_fields(kind)))
    for name, value in state.items():
        check_type(name, value, _types(kind)[name])
    return kind(**state)


# Fields that earlier releases did not have, and one that only they had (a cutoff of small shares).
LATER, DROPPED = {"subsets", "has_crisp_trees"}, {"cutoff"}


def _fields(kind: Any) -> list[str]:
    return [field.name for field in fields(kind) if field.init]


@cache
def _types(kind: Hashable) -> dict[str, Any]:
    return get_type_hints(kind)


# Checks of entries


def check_entries(state: dict[str, Any], required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Any]:
    """The state; an error if an entry is missing or unknown."""
    required = set(required)
    missing, unknown = required - set(state), set(state) - required - set(optional)
    if missing:
        raise InvalidFileError(f"{min(missing)!r} is missing")
    if unknown:
        raise InvalidFileError(f"{min(unknown)[:50]!r} is not known")
    return state


def check_type(name: str, value: Any, expected: Any) -> Any:
    """The value; an error unless it has the type of an annotation. An int is also a float."""
    if not _is_of(value, expected):
        wanted = expected.__name__ if isinstance(expected, type) else str(expected).replace("typing.", "")
        raise InvalidFileError(f"{name} is {type(value).__name__}, expected {wanted}")
    return value


def _is_of(value: Any, expected: Any) -> bool:
    if expected is Any:
        return True
    origin, arguments = get_origin(expected), get_args(expected)
    if origin in (Union, UnionType):
        return any(_is_of(value, one) for one in arguments)
    if origin is dict:
        return type(value) is dict and all(_is_of(item, arguments[1]) for item in value.values())
    if origin is list or (origin is tuple and arguments[-1] is ...):
        return type(value) is origin and all(_is_of(item, arguments[0]) for item in value)
    if origin is tuple:
        return type(value) is tuple and len(value) == len(arguments) and all(map(_is_of, value, arguments))
    if expected in (int, float):
        numbers = (int, np.integer) if expected is int else (int, float, np.integer, np.floating)
        return isinstance(value, numbers) and not isinstance(value, bool)
    return type(value) is expected if expected in (bool, str, list, dict, tuple) else isinstance(value, expected)


def check_integer(name: str, value: Any, low: int = 0, high: int = 2**62) -> int:
    """An int from `low` to `high`."""
    if type(value) is not int or not low <= value <= high:
        raise InvalidFileError(f"{name} must be an int from {low} to {high}")
    return value


# Columns


def columns_state(columns: Columns) -> dict[str, Any]:
    """State of an encoding. Names that are those of the table's columns are not repeated."""
    return {
        "names": None if columns.names == columns.inputs else list(columns.names),
        "inputs": list(columns.inputs),
        "source": columns.source,
        "categories": [None if known is None else list(known) for known in columns.categories],
        "handle_unknown": columns.handle_unknown,
        **({"as_codes": True} if columns.as_codes else {}),
        **({"keys": list(columns.keys)} if columns.keys is not None else {}),
        **({"dates": [None if date is None else date_state(date) for date in columns.dates]} if columns.dates else {}),
    }


def build_columns(kind: Callable[..., Columns], state: dict[str, Any]) -> Columns:
    """A checked encoding."""
    check_entries(state, ["names", "inputs", "source", "categories", "handle_unknown"], ["as_codes", "keys", "dates"])
    check_type("categories", state["categories"], list[list | None])
    for name in ("names", "inputs", "keys"):
        check_type(name, state.get(name), list | None)
        state[name] = None if state.get(name) is None else tuple(map(check_name, state[name]))
    state["categories"] = tuple(
        None if known is None else tuple(map(check_name, known)) for known in state["categories"]
    )
    state["dates"] = tuple(
        None if date is None else build_date(date)
        for date in check_type("dates", state.get("dates", []), list[dict | None])
    )
    state["names"] = state["inputs"] if state["names"] is None else state["names"]
    for name, value in state.items():
        check_type(name, value, _types(kind)[name])
    return kind(**state)


def date_state(date: Dates) -> dict[str, Any]:
    """State of the encoding of a column of dates."""
    return record_state(date) | {"parts": list(date.parts)}


def build_date(state: dict[str, Any]) -> Dates:
    """A checked encoding of a column of dates."""
    parts = check_type("parts", state.get("parts"), list[str])
    return build_record(Dates, state | {"parts": tuple(parts)})


# Kernels


def build_kernel(kind: type[Kernel], state: dict[str, Any]) -> Kernel:
    """A checked kernel, with exactly the numbers of the file."""
    check_entries(state, ["edges", "densities", "scale"])
    if state["scale"] is not None:
        raise InvalidFileError("scale of a kernel must be None")
    edges, densities = (require_array(name, state[name], np.float64, (None,)) for name in ("edges", "densities"))
    kernel = kind(edges, densities)
    if not np.allclose(kernel.densities, densities, rtol=1e-9, atol=0.0):
        raise InvalidFileError("densities of a kernel do not have the integral 1")
    object.__setattr__(kernel, "densities", densities)  # the constructor has normalised them again
    return kernel


def prediction_kernels_state(found: PredictionKernels) -> dict[str, Any]:
    """State of the prediction kernels. Columns mostly have the same kernel, which is written once."""
    different = list({id(kernel): kernel for kernel in found.kernels}.values())
    number = {id(kernel): k for k, kernel in enumerate(different)}
    places = np.array([number[id(kernel)] for kernel in found.kernels], dtype=np.int64)
    return record_state(found) | {"kernels": different, "places": places}


def build_prediction_kernels(kind: type[PredictionKernels], state: dict[str, Any]) -> PredictionKernels:
    """Checked prediction kernels."""
    kernels = check_type("kernels", state.get("kernels"), list[Kernel])
    places = require_array("places", state.pop("places", None), np.int64, (None,))
    if len(places) and not 0 <= places.min() <= places.max() < len(kernels):
        raise InvalidFileError("places must be numbers of kernels")
    return build_record(kind, state | {"kernels": [kernels[k] for k in places.tolist()]})


# Losses

LOSSES = {
    "SquaredError": "squared_error",
    "AbsoluteError": "absolute_error",
    "QuantileError": "quantile",
    "SeveralQuantilesError": "quantile",
    "PoissonDeviance": "poisson",
    "BinaryLogLoss": "log_loss",
    "SoftmaxLogLoss": "log_loss",
}


def loss_state(loss: Loss) -> dict[str, Any]:
    """State of a loss: what `loss_by_name` takes."""
    name = LOSSES[type(loss).__name__]
    n_classes = (2 if type(loss).__name__ == "BinaryLogLoss" else loss.n_scores) if name == "log_loss" else None
    quantile = getattr(loss, "quantile", None)
    quantile = list(quantile) if isinstance(quantile, tuple) else quantile
    return {"name": name, "n_classes": n_classes, "quantile": quantile}


def build_loss(kind: type[Loss], state: dict[str, Any]) -> Loss:
    """A checked loss."""
    check_entries(state, ["name", "n_classes", "quantile"])
    check_type("n_classes", state["n_classes"], int | None)
    check_type("quantile", state["quantile"], float | list[float] | None)
    loss = loss_by_name(check_type("name", state["name"], str), state["n_classes"], state["quantile"])
    if type(loss) is not kind or not 1 <= loss.n_scores < 2**31:
        raise InvalidFileError("a loss does not have the class of its kind")
    return loss


# Random numbers


def random_state(state: np.random.RandomState) -> dict[str, Any]:
    """State of a generator of random numbers."""
    _, keys, place, has_gauss, gauss = state.get_state(legacy=True)
    return {"keys": keys, "place": int(place), "has_gauss": int(has_gauss), "gauss": float(gauss)}


def build_random(kind: type[np.random.RandomState], state: dict[str, Any]) -> np.random.RandomState:
    """A checked generator."""
    check_entries(state, ["keys", "place", "has_gauss", "gauss"])
    keys = require_array("keys", state["keys"], np.uint32, (624,))
    place = check_integer("place", state["place"], 0, 624)
    has_gauss = check_integer("has_gauss", state["has_gauss"], 0, 1)
    gauss = check_type("gauss", state["gauss"], float)
    if not np.isfinite(gauss) or not keys.any():
        raise InvalidFileError("the state of a random generator is damaged")
    made = kind()
    made.set_state(("MT19937", keys, place, has_gauss, float(gauss)))
    return made
