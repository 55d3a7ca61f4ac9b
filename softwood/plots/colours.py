"""Colours of pictures, and the import of matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.core.extras import require

__all__ = ["REST", "colours", "drawing"]

# Seven colours that are easy to distinguish, also with colour blindness (Okabe and Ito).
_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
REST = (0.75, 0.75, 0.75)  # colour of the sum of all others


def colours(n: int) -> np.ndarray:
    """Colours of `n` classes, rows or columns, (n, 3)."""
    if n <= len(_COLOURS):
        return drawing("colors").to_rgba_array(_COLOURS[:n])[:, :3]
    return drawing("cm").turbo(np.linspace(0.05, 0.95, n))[:, :3]


def drawing(module: str, purpose: str = "Drawing") -> Any:
    """A module of matplotlib; if it is not installed, raises an error with the command that installs it."""
    return require(f"matplotlib.{module}", "plots", purpose)
