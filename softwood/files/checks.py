"""Checks of what a file holds. Each returns the value, or raises an error that names it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from softwood.files.values import damage

__all__ = ["all_finite", "check_array", "check_entries", "check_integer", "check_type", "is_within"]

Value = TypeVar("Value")

# Rows looked at together, so that checks of large arrays need little memory.
_BLOCK = 2**18


def check_entries(state: dict[str, Any], required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Any]:
    """The state; an error if it lacks an entry or has another one."""
    required = set(required)
    missing, unknown = required - set(state), set(state) - required - set(optional)
    if missing:
        raise damage(f"{min(missing)!r} is missing")
    if unknown:
        raise damage(f"{min(unknown)[:50]!r} is not known")
    return state


def check_type(value: Any, kind: type[Value], name: str) -> Value:
    """A value of exactly this type."""
    if type(value) is not kind:
        raise damage(f"{name} is {type(value).__name__}, expected {kind.__name__}")
    return value


def check_integer(value: Any, name: str, low: int = 0, high: int = 2**62) -> int:
    """An int from `low` to `high`."""
    if type(value) is not int or not low <= value <= high:
        raise damage(f"{name} is no int from {low} to {high}")
    return value


def check_array(value: Any, dtype: Any, shape: tuple[int | None, ...], name: str) -> np.ndarray:
    """An array of this type and shape; None stands for any length."""
    if not isinstance(value, np.ndarray) or value.dtype != np.dtype(dtype):
        found = value.dtype if isinstance(value, np.ndarray) else type(value).__name__
        raise damage(f"{name} has type {found}, expected {np.dtype(dtype)}")
    if value.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, value.shape, strict=True)):
        raise damage(f"{name} has shape {value.shape}, expected {shape}")
    return value


def all_finite(array: np.ndarray) -> bool:
    """Whether all numbers are finite."""
    flat = array.reshape(-1)
    return all(bool(np.isfinite(flat[k : k + _BLOCK]).all()) for k in range(0, len(flat), _BLOCK))


def is_within(array: np.ndarray, low: float, high: float) -> bool:
    """Whether all numbers are from `low` to `high`, and none is nan."""
    return array.size == 0 or bool(array.min() >= low and array.max() <= high)
