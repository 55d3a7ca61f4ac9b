"""Bars, legends, and the largest of many columns, the others added up."""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.core.parameters import check_integer
from softwood.plots.colours import colours, drawing

__all__ = ["bars_height", "check_most", "draw_bars", "largest", "legend_above", "new_axes", "rest_name", "with_rest"]


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


def new_axes(width: float, height: float) -> Any:
    """Axes of a new figure."""
    return drawing("pyplot").subplots(figsize=(width, height), layout="constrained")[1]


def bars_height(shape: tuple[int, ...]) -> float:
    """Height of a figure for (n_names, n_series) bars."""
    return 1.6 + shape[0] * max(0.3, 0.14 * shape[1])


def draw_bars(ax: Any, bars: np.ndarray, names: list[str], series: list[str]) -> None:
    """Horizontal bars (n_names, n_series), the first name on top, with a legend of the series."""
    n, m = bars.shape
    thick = 0.8 / m
    for k, (label, colour) in enumerate(zip(series, colours(m), strict=True)):
        ax.barh(np.arange(n) + (k + 0.5) * thick - 0.4, bars[:, k], height=thick, color=colour, label=label)
    ax.set_yticks(np.arange(n), names)
    ax.set_ylim(n - 0.4, -0.6)
    legend_above(ax, series)


def legend_above(ax: Any, labels: list[str]) -> None:
    """A legend above the bars, in as many columns as fit."""
    columns = max(1, min(len(labels), 60 // (max(map(len, labels)) + 5)))
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, fontsize="small", frameon=False)
