"""Arrays as text: the bytes of the smallest type that holds them, in base64, for decoding.js."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

_INTEGERS = (np.int8, np.int16, np.int32)


def pack(array: np.ndarray) -> dict[str, Any]:
    """An array of numbers as a JSON object.

    ``{"all": value, "n": length}`` if all elements are equal, otherwise ``{"type": name, "bytes": text}`` with the
    little-endian bytes. Numbers with a fraction are float64, whole ones are of the smallest type that holds them.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood.reporting.arrays import pack
    >>> pack(np.array([0.5, 0.5]))
    {'all': 0.5, 'n': 2}
    >>> pack(np.array([1, 2]))
    {'type': 'int8', 'bytes': 'AQI='}
    """
    flat = np.ravel(array)
    if len(flat) > 1 and np.all(flat == flat[0]):
        return {"all": flat[0].item(), "n": len(flat)}
    if flat.dtype.kind == "f":
        flat = flat.astype("<f8")
    else:
        low, high = (int(flat.min()), int(flat.max())) if len(flat) else (0, 0)
        dtype = next(t for t in _INTEGERS if np.iinfo(t).min <= low and high <= np.iinfo(t).max)
        flat = flat.astype(np.dtype(dtype).newbyteorder("<"))
    return {"type": flat.dtype.name, "bytes": base64.b64encode(flat.tobytes()).decode("ascii")}


def pack_weights(weights: np.ndarray) -> dict[str, Any]:
    """Weights of oblique gates, (n_nodes, n_features): where each node begins, features, and weights that are not 0."""
    nodes, features = np.nonzero(weights)
    begin = np.searchsorted(nodes, np.arange(len(weights) + 1)).astype(np.int32)
    return {"begin": pack(begin), "features": pack(features), "weights": pack(weights[nodes, features])}
