"""Checks of arrays, for the constructors of classes that compiled loops rely on."""

from __future__ import annotations

from typing import Any

import numpy as np

# Numbers that are checked at once, so that checks of large arrays need little memory.
_BLOCK = 2**18


def require_array(name: str, array: Any, dtype: Any, shape: tuple[int | None, ...]) -> np.ndarray:
    """Return the array; raise a ValueError unless it has this type and shape (None: any length)."""
    is_array = isinstance(array, np.ndarray) and array.dtype == dtype
    if is_array and array.shape == shape:
        return array
    is_right = is_array and array.ndim == len(shape)
    if not is_right or any(n is not None and n != m for n, m in zip(shape, array.shape, strict=True)):
        lengths = ", ".join("any" if n is None else str(n) for n in shape) + ("," if len(shape) == 1 else "")
        found = f"{array.shape} {array.dtype}" if isinstance(array, np.ndarray) else type(array).__name__
        raise ValueError(f"{name} must have shape ({lengths}) and type {np.dtype(dtype)}, got {found}.")
    return array


def all_finite(array: np.ndarray) -> bool:
    """Whether all numbers are finite."""
    flat = array.reshape(-1)
    return all(bool(np.isfinite(flat[k : k + _BLOCK]).all()) for k in range(0, len(flat), _BLOCK))


def is_within(array: np.ndarray, low: float, high: float) -> bool:
    """Whether all numbers are from `low` to `high`, and none is nan."""
    return array.size == 0 or bool(array.min() >= low and array.max() <= high)
