"""Parameters and attributes as JSON and arrays, and back.

What JSON has no name for is an object with the entry ``is``: arrays and numpy's scalars by their number in the
container, tuples, dicts whose keys are not text, numbers that are not finite, and objects of the kinds that the
registry lists, by their state. Everything else is refused: functions above all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from softwood.files.container import storable
from softwood.files.errors import InvalidFileError, NotSavableError

IS = "is"
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
# Deeper than any model: a pool of models, their state, a kernel in a dict of parameters.
_MAX_DEPTH = 40


class Registry(Protocol):
    """The kinds of objects that a file may hold."""

    def state_of(self, value: Any) -> tuple[str, dict[str, Any]] | None:
        """Name of the kind of an object, and its state; None if it is of no kind that is known."""

    def builder(self, name: str) -> Callable[[dict[str, Any]], Any] | None:
        """Function that makes an object of the kind of this name from its state; None if there is no such kind.

        It raises a TypeError or ValueError if the state is wrong.
        """


@dataclass
class Writer:
    """Turns values into JSON.

    Attributes
    ----------
    registry : the kinds of objects
    owner : name of the model, for messages
    arrays : the arrays that the JSON refers to
    """

    registry: Registry
    owner: str
    arrays: list[np.ndarray] = field(default_factory=list)

    def write(self, value: Any, where: str) -> Any:
        """JSON of a value; `where` says where it is, for messages."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {IS: "float", "value": repr(value)}
        if kind is list:
            return [self.write(item, f"{where}[{k}]") for k, item in enumerate(value)]
        if kind is tuple:
            return {IS: "tuple", "items": [self.write(item, f"{where}[{k}]") for k, item in enumerate(value)]}
        if kind is dict:
            return self._write_dict(value, where)
        if isinstance(value, np.generic) and value.dtype.kind != "V":
            return {IS: "scalar", "array": self._add(np.asarray(value), where)}
        if kind is np.ndarray:
            return self._write_array(value, where)
        found = self.registry.state_of(value)
        if found is None:
            raise self._refusal(value, where)
        name, state = found
        return {IS: name, "state": self.write_state(state, where)}

    def write_state(self, state: dict[str, Any], where: str) -> dict[str, Any]:
        """JSON of the state of an object; parameters and attributes are named as the user knows them."""
        found = {}
        for key, part in state.items():
            if key in ("parameters", "fitted") and type(part) is dict:
                found[key] = self._write_plain(part, where)
            else:
                found[key] = self.write(part, _joined(where, key))
        return found

    def _write_plain(self, parts: dict[str, Any], where: str) -> dict[str, Any]:
        return {name: self.write(value, _joined(where, name)) for name, value in parts.items()}

    def _write_dict(self, value: dict, where: str) -> dict:
        if IS not in value and all(type(key) is str for key in value):
            return {key: self.write(item, f"{where}[{key!r}]") for key, item in value.items()}
        entries = [
            [self.write(key, f"a key of {where}"), self.write(item, f"{where}[{key!r}]")] for key, item in value.items()
        ]
        return {IS: "dict", "entries": entries}

    def _write_array(self, value: np.ndarray, where: str) -> dict:
        if value.dtype.kind != "O":
            return {IS: "array", "array": self._add(value, where)}
        items = [self.write(item, f"{where}[{k}]") for k, item in enumerate(value.ravel().tolist())]
        return {IS: "objects", "shape": list(value.shape), "items": items}

    def _add(self, array: np.ndarray, where: str) -> int:
        try:
            self.arrays.append(storable(array))
        except TypeError as error:
            raise NotSavableError(
                f"{self.owner} cannot be saved: {where} is {error}, which a file cannot hold."
            ) from None
        return len(self.arrays) - 1

    def _refusal(self, value: Any, where: str) -> NotSavableError:
        name = getattr(value, "__qualname__", None)
        what = f"the function {name}" if callable(value) and name else f"an object of {type(value).__qualname__}"
        if isinstance(value, type):
            what = f"the class {name}"
        return NotSavableError(
            f"{self.owner} cannot be saved: {where} is {what}, and files hold plain data, no code. {_advice(where)}"
        )


def _joined(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _advice(where: str) -> str:
    """What to do about an object that cannot be saved."""
    parameter = where.split(".")[0].split("[")[0]
    if "measurement_error" in where:
        return "Give the errors as numbers or arrays, or pass them to predict (measurement_error=...)."
    if where.endswith(".scale"):
        return "Use a Kernel without scale and pass the errors of single cells as measurement_error."
    if parameter in ("cv", "oob_score"):
        return (
            f"It was used in fit only: set_params({parameter}=...) with a number or a flag leaves the model as it is."
        )
    if "categories" in where or "classes_" in where or "labels" in where or "class_weight" in where:
        return "Use text, numbers or truth values for categories and labels."
    return f"Replace it by numbers or text, for example with set_params({parameter}=...), and save again."


@dataclass
class Reader:
    """Turns JSON into values, and trusts nothing.

    Attributes
    ----------
    registry : the kinds of objects
    arrays : the arrays of the file; each must be referred to once
    """

    registry: Registry
    arrays: list[np.ndarray]
    _is_used: list[bool] = field(init=False)
    _place: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._is_used = [False] * len(self.arrays)

    def read_all(self, content: Any) -> Any:
        """The value of the whole content; an error if arrays are left over."""
        try:
            value = self.read(content, 0)
        except InvalidFileError as error:
            place = f"in {'.'.join(self._place)[:200]}: " if self._place else ""
            raise InvalidFileError(f"{place}{error}") from None
        if not all(self._is_used):
            raise InvalidFileError("it has arrays that nothing refers to")
        return value

    def read(self, found: Any, depth: int) -> Any:
        """The value of a piece of JSON."""
        if depth > _MAX_DEPTH:
            raise InvalidFileError("its content is nested too deeply")
        if isinstance(found, list):
            return [self.read(item, depth + 1) for item in found]
        if not isinstance(found, dict):
            return found
        if IS not in found:
            return self._read_entries(found, depth)
        name, others = found[IS], {key: item for key, item in found.items() if key != IS}
        readers: Mapping[str, Any] = {
            "float": self._read_float,
            "tuple": self._read_tuple,
            "dict": self._read_dict,
            "scalar": self._read_scalar,
            "array": self._read_array,
            "objects": self._read_objects,
        }
        if isinstance(name, str) and name in readers:
            return readers[name](others, depth)
        build = self.registry.builder(name) if isinstance(name, str) else None
        if build is None:
            raise InvalidFileError(f"it holds a {str(name)[:50]!r}, which is not known")
        state = self._read_entries(self._part(others, "state", dict), depth)
        try:
            return build(state)
        except InvalidFileError:
            raise
        except (TypeError, ValueError) as error:  # of a constructor, which checks what it gets
            raise InvalidFileError(str(error).removesuffix(".")) from None

    def _read_entries(self, found: dict, depth: int) -> dict:
        value = {}
        for key, item in found.items():
            self._place.append(key)
            value[key] = self.read(item, depth + 1)
            self._place.pop()
        return value

    def _part(self, found: dict, key: str, kind: type) -> Any:
        """The only entry of an object."""
        if set(found) != {key} or type(found[key]) is not kind:
            raise InvalidFileError(f"an entry {key!r} is missing or invalid")
        return found[key]

    def _read_float(self, found: dict, depth: int) -> float:
        text = self._part(found, "value", str)
        if text not in _NOT_FINITE:
            raise InvalidFileError(f"it holds {text[:20]!r} as a number")
        return _NOT_FINITE[text]

    def _read_tuple(self, found: dict, depth: int) -> tuple:
        return tuple(self.read(item, depth + 1) for item in self._part(found, "items", list))

    def _read_dict(self, found: dict, depth: int) -> dict:
        value: dict = {}
        entries = self._part(found, "entries", list)
        for entry in entries:
            if not isinstance(entry, list) or len(entry) != 2:
                raise InvalidFileError("an entry of a dict is not a pair")
            key = check_name(self.read(entry[0], depth + 1))
            value[key] = self.read(entry[1], depth + 1)
        if len(value) < len(entries):
            raise InvalidFileError("a dict has a duplicate key")
        return value

    def _read_scalar(self, found: dict, depth: int) -> Any:
        array = self._use(found)
        if array.shape != ():
            raise InvalidFileError("a number is stored as an array with dimensions")
        return array[()]

    def _read_array(self, found: dict, depth: int) -> np.ndarray:
        return self._use(found)

    def _read_objects(self, found: dict, depth: int) -> np.ndarray:
        if set(found) != {"shape", "items"} or not isinstance(found["items"], list):
            raise InvalidFileError("an array of objects is invalid")
        shape, items = found["shape"], found["items"]
        if not isinstance(shape, list) or len(shape) > 2 or not all(type(n) is int and 0 <= n < 2**32 for n in shape):
            raise InvalidFileError("an array of objects has an invalid shape")
        if math.prod(shape) != len(items):
            raise InvalidFileError("the number of items of an array of objects does not match its shape")
        array = np.empty(len(items), dtype=object)
        for k, item in enumerate(items):
            array[k] = self.read(item, depth + 1)
        return array.reshape(shape)

    def _use(self, found: dict) -> np.ndarray:
        number = self._part(found, "array", int)
        if not 0 <= number < len(self.arrays):
            raise InvalidFileError(f"there is no array {number}")
        if self._is_used[number]:
            raise InvalidFileError(f"array {number} is referred to twice")
        self._is_used[number] = True
        return self.arrays[number]


def check_name(value: Any) -> Any:
    """A name, label or category: text, a number, a truth value, None or a tuple of these; an error otherwise."""
    if isinstance(value, tuple):
        return tuple(map(check_name, value))
    if value is not None and not isinstance(value, bool | int | float | str | bytes | np.generic):
        raise InvalidFileError(f"it holds {type(value).__name__} as a name or label")
    # Keys with the same hash would make a dict slow; there are few such numbers of 64 bits.
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise InvalidFileError("it holds a name or label of more than 64 bits")
    return value
