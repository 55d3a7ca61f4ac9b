"""What plots share: the import of matplotlib, axes, colours, bars, legends, and the largest of many columns."""

from __future__ import annotations

import textwrap
from typing import Any, TypeVar

import numpy as np

from softwood.core.estimators import complete
from softwood.core.extras import require
from softwood.core.parameters import check_integer

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


def check_most(caller: str, n: Any, default: int) -> int:
    """Check the number of columns to show; None is the default."""
    return check_integer(caller, "n", n, low=1, or_none=True) or default


def largest(sizes: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the largest sizes, largest first, and of the rest; the rest never consists of a single one."""
    order = np.argsort(-sizes, kind="stable")
    return (order, order[:0]) if len(order) <= most + 1 else (order[:most], order[most:])


def with_rest(table: np.ndarray, shown: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Columns to show, and the sum of the rest if there is one."""
    return np.column_stack([table[:, shown], table[:, rest].sum(axis=1)]) if len(rest) else table[:, shown]


def rest_name(rest: np.ndarray) -> list[str]:
    """Name of the sum of the rest, if there is one."""
    return [f"{len(rest)} others"] if len(rest) else []


def short(name: Any, most: int = 32) -> str:
    """A name of at most so many characters, without its middle if it is longer, and no mathematics for matplotlib."""
    text = str(name)
    if len(text) > most:
        end = most // 3
        text = f"{text[: most - 1 - end]}…{text[-end:]}"
    return text.replace("$", r"\$")


def in_lines(text: str) -> str:
    """A label of an axis in lines that fit, and no mathematics for matplotlib."""
    return textwrap.fill(text, 40).replace("$", r"\$")


def new_axes(width: float, height: float) -> Any:
    """Axes of a new figure."""
    return drawing("pyplot").subplots(figsize=(width, height), layout="constrained")[1]


def bars_height(shape: tuple[int, ...]) -> float:
    """Height of a figure for (n_names, n_series) bars."""
    return 1.6 + shape[0] * max(0.3, 0.14 * shape[1])


def draw_bars(ax: Any, bars: np.ndarray, names: list[str], series: list[str]) -> None:
    """Horizontal bars (n_names, n_series), the first name on top, with a legend of the series."""
    names, series = [short(name) for name in names], [short(label) for label in series]
    n, m = bars.shape
    thick = 0.8 / m
    for k, (label, colour) in enumerate(zip(series, colours(m), strict=True)):
        ax.barh(np.arange(n) + (k + 0.5) * thick - 0.4, bars[:, k], height=thick, color=colour, label=label)
    ax.set_yticks(np.arange(n), names)
    ax.set_ylim(n - 0.4, -0.6)
    legend_above(ax, series)


def legend_above(ax: Any, labels: list[str]) -> None:
    """A legend above the bars, in as many columns as fit; `labels` are short."""
    columns = max(1, min(len(labels), 60 // (max(map(len, labels)) + 5)))
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, fontsize="small", frameon=False)
