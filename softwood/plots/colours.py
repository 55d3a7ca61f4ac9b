"""Colours of pictures, the import of matplotlib, and what the docstrings of functions that draw have in common."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from softwood.core.estimators import complete
from softwood.core.extras import require

__all__ = ["REST", "colours", "drawing", "draws"]

Function = TypeVar("Function")

# Seven colours that are easy to distinguish, also with colour blindness (Okabe and Ito).
_COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
REST = (0.75, 0.75, 0.75)  # colour of the sum of all others


_ARGUMENTS = {"ax": "matplotlib Axes or None\n    Axes to draw into. None creates a new figure."}
_RESULTS = "Returns\n-------\nmatplotlib Axes\n    The axes that were drawn into."


def draws(function: Function) -> Function:
    """A function that draws into its argument `ax` and returns these axes, which its docstring need not say."""
    complete(function, _ARGUMENTS, _RESULTS)
    return function


def colours(n: int) -> np.ndarray:
    """Colours of `n` classes, rows or columns, (n, 3)."""
    if n <= len(_COLOURS):
        return drawing("colors").to_rgba_array(_COLOURS[:n])[:, :3]
    return drawing("cm").turbo(np.linspace(0.05, 0.95, n))[:, :3]


def drawing(module: str, purpose: str = "Drawing") -> Any:
    """A module of matplotlib; if it is not installed, raises an error with the command that installs it."""
    return require(f"matplotlib.{module}", "plots", purpose)
