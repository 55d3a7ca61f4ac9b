"""Plots of Shapley values: one row, all rows, one column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from softwood.core.columns import column_titles, find_column
from softwood.core.parameters import check_count, parameter_error
from softwood.core.tables import column_cells
from softwood.explanations.shapley import ShapleyValues
from softwood.plots.drawing import REST, check_most, drawing, draws, in_lines, largest, new_axes, rest_name, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UP, _DOWN = "#D55E00", "#0072B2"
_MOST_COLUMNS = 10
_POINT = 12.0  # area of a point
_LANE = 0.38  # half of the height of a column's cloud of points
_BINS = 60


@draws
def plot_shapley(
    values: ShapleyValues,
    row: int = 0,
    *,
    output: int | str | None = None,
    n: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the way from the base value to the prediction of one row, a bar for each column.

    Parameters
    ----------
    values : ShapleyValues
        What `shapley_values` returned.
    row : int, default=0
        Number of the row.
    output : int, str or None, default=None
        Number or name of the output. None: the output with the largest prediction for this row.
    n : int or None, default=None
        Number of columns to show, those with the largest values; the others are added up. None shows 10.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.explanations import shapley_values
    >>> from softwood.plots import plot_shapley
    >>> iris = load_iris(as_frame=True)
    >>> model = KernelTreeClassifier(bandwidth=0.3).fit(iris.data, iris.target_names[iris.target])
    >>> ax = plot_shapley(shapley_values(model, iris.data), row=100)
    >>> ax.get_xlabel()
    'probability of virginica'
    """
    _check_values("plot_shapley", values)
    number = check_count("plot_shapley", "row", row, low=0, high=len(values) - 1)
    column = int(values.prediction[number].argmax()) if output is None else _output(values, output, "plot_shapley")
    own = values.values[number, :, column]
    shown, rest = largest(np.abs(own), check_most("plot_shapley", n, _MOST_COLUMNS))
    cells = [_cell_text(_cells(values.data, j)[number]) for j in shown]
    names = [f"{short(values.names[j], 32)} = {short(cell, 16)}" for j, cell in zip(shown, cells, strict=True)]
    names += rest_name(rest)
    bars = np.append(own[shown], own[rest].sum()) if len(rest) else own[shown]
    ends = values.base_values[column] + np.cumsum(bars)
    starts = ends - bars
    ax = new_axes(6.4, 1.8 + 0.34 * len(bars)) if ax is None else ax
    places = np.arange(len(bars))
    ax.barh(places, bars, left=starts, color=[_UP if bar > 0 else _DOWN for bar in bars], height=0.7)
    for place, end in enumerate(ends[:-1]):
        ax.plot([end, end], [place + 0.35, place + 0.65], color="0.5", linewidth=0.8)
    texts = [f"{bar:+.3g}" for bar in bars]
    if values.standard_errors is not None:
        errors = values.standard_errors[number, shown, column]
        texts[: len(shown)] = [f"{text} ± {error:.2g}" for text, error in zip(texts, errors, strict=False)]
    _write_sizes(ax, texts, bars, starts, ends)
    middle = np.mean(ax.get_xlim())
    last = values.quantity if values.scale else "prediction"
    for x, text, y in (
        (values.base_values[column], "base value", -0.75),
        (values.prediction[number, column], last, len(bars) - 0.25),
    ):
        ax.axvline(x, color="0.3", linewidth=0.8, linestyle=":")
        align = "left" if x < middle else "right"
        ax.text(x, y, f" {text} {x:.4g} ", ha=align, va="center", fontsize="small", color="0.3")
    ax.set_yticks(places, names)
    ax.set_ylim(len(bars) + 0.2, -1.2)
    ax.set_xlabel(in_lines(values.label(column)))
    return ax


@draws
def plot_shapley_summary(
    values: ShapleyValues, *, output: int | str | None = None, n: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw the values of all rows, a cloud of points for each column, the columns with the largest values on top.

    The colour of a point is the place of the row's cell among those of the column, from the smallest (blue) to the
    largest (orange). Missing values and categories are grey.

    Parameters
    ----------
    values : ShapleyValues
        What `shapley_values` returned.
    output : int, str or None, default=None
        Number or name of the output. None: the last one, which is the second of two classes.
    n : int or None, default=None
        Number of columns to show, those with the largest mean absolute value. None shows 10.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.explanations import shapley_values
    >>> from softwood.plots import plot_shapley_summary
    >>> iris = load_iris(as_frame=True)
    >>> model = KernelTreeClassifier(bandwidth=0.3).fit(iris.data, iris.target_names[iris.target])
    >>> ax = plot_shapley_summary(shapley_values(model, iris.data), output="setosa")
    >>> [text.get_text() for text in ax.get_yticklabels()][0]
    'petal length (cm)'
    """
    _check_values("plot_shapley_summary", values)
    column = _output(values, output, "plot_shapley_summary")
    table = values.values[:, :, column]
    shown, rest = largest(np.abs(table).mean(axis=0), check_most("plot_shapley_summary", n, _MOST_COLUMNS))
    ax = new_axes(6.4, 1.6 + 0.42 * len(shown)) if ax is None else ax
    ax.axvline(0.0, color="0.3", linewidth=0.8)
    span = float(np.ptp(table[:, shown])) or 1.0
    points = None
    for place, j in enumerate(shown):
        x = table[:, j]
        y = place + _LANE * _spread(x, span)
        rank = _ranks(_cells(values.data, j))
        grey = np.isnan(rank)
        ax.scatter(x[grey], y[grey], s=_POINT, color=REST, linewidths=0)
        points = ax.scatter(
            x[~grey], y[~grey], s=_POINT, c=rank[~grey], cmap=_colour_map(), vmin=0.0, vmax=1.0, linewidths=0
        )
    ax.set_yticks(np.arange(len(shown)), [short(values.names[j]) for j in shown])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlabel(in_lines(f"Shapley value, {values.label(column)}"))
    if len(rest):
        ax.set_title(f"{len(shown)} of {len(values.names)} columns", fontsize="medium")
    if points is not None:
        _explain_colours(ax, points, "value of the column")
    return ax


@draws
def plot_shapley_dependence(
    values: ShapleyValues,
    feature: int | str,
    *,
    by: int | str | None = None,
    output: int | str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the values of one column against its cells, a point for each row.

    Rows in which the cell is missing are drawn as crosses at the left. Sampled values have bars of one standard error.

    Parameters
    ----------
    values : ShapleyValues
        What `shapley_values` returned.
    feature : int or str
        Number or name of the column.
    by : int, str or None, default=None
        Number or name of another column, whose cells give the points their colours, as in `plot_shapley_summary`.
    output : int, str or None, default=None
        Number or name of the output. None: the last one, which is the second of two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.explanations import shapley_values
    >>> from softwood.plots import plot_shapley_dependence
    >>> iris = load_iris(as_frame=True)
    >>> model = KernelTreeClassifier(bandwidth=0.3).fit(iris.data, iris.target_names[iris.target])
    >>> ax = plot_shapley_dependence(shapley_values(model, iris.data), "petal width (cm)", output="setosa")
    >>> ax.get_xlabel()
    'petal width (cm)'
    """
    _check_values("plot_shapley_dependence", values)
    caller = "plot_shapley_dependence"
    keys = column_titles(values.data)[1] if hasattr(values.data, "columns") else None
    j = find_column(caller, "feature", feature, values.names, keys)
    column = _output(values, output, caller)
    y = values.values[:, j, column]
    x, labels = _positions(_cells(values.data, j))
    known = ~np.isnan(x)
    if labels is not None:
        x = x + 0.7 * _LANE * _spread(y, float(np.ptp(y)) or 1.0, groups=x)
    elif known.any():
        x = np.where(known, x, x[known].min() - 0.06 * (np.ptp(x[known]) or 1.0))
    ax = new_axes(6.4, 4.0) if ax is None else ax
    ax.axhline(0.0, color="0.3", linewidth=0.8)
    if values.standard_errors is not None:
        ax.errorbar(x, y, values.standard_errors[:, j, column], fmt="none", ecolor="0.8", elinewidth=0.8, zorder=0)
    _draw_points(ax, values, x, y, known, None if by is None else find_column(caller, "by", by, values.names, keys))
    if labels is not None:
        ax.set_xticks(np.arange(len(labels)), [short(label, 24) for label in labels])
        if sum(map(len, labels)) > 70:
            ax.tick_params(axis="x", labelrotation=90)
    ax.set_xlabel(in_lines(values.names[j]))
    ax.set_ylabel(in_lines(f"Shapley value, {values.label(column)}"))
    return ax


# What to show


def _check_values(caller: str, values: Any) -> None:
    if not isinstance(values, ShapleyValues):
        raise TypeError(f"{caller} takes the result of shapley_values. Got {values!r}.")
    if len(values) == 0:
        raise ValueError(f"The 'values' parameter of {caller} must have at least one row.")


def _output(values: ShapleyValues, output: Any, caller: str) -> int:
    return len(values.outputs) - 1 if output is None else _number_of(values.outputs, output, "output", caller)


def _number_of(names: tuple[str, ...], wanted: Any, parameter: str, caller: str) -> int:
    """Number of an output that is given by name or number."""
    if isinstance(wanted, str) and wanted in names:
        return names.index(wanted)
    is_number = isinstance(wanted, int | np.integer) and not isinstance(wanted, bool)
    if not is_number or not 0 <= wanted < len(names):
        some = ", ".join(map(repr, names[:5])) + (", ..." if len(names) > 5 else "")
        raise parameter_error(caller, parameter, f"one of {some}, or a number below {len(names)}", wanted)
    return int(wanted)


# Cells of the table


def _cells(data: Any, j: int) -> np.ndarray:
    """Cells of a column, (n_rows,) objects, None where missing."""
    values, is_missing = column_cells(data if hasattr(data, "shape") else np.array(data, dtype=object), j)
    cells = values.astype(object)
    cells[is_missing] = None
    return cells


def _cell_text(cell: Any) -> str:
    if cell is None:
        return "missing"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _numbers(cells: np.ndarray) -> np.ndarray | None:
    """Cells as numbers, nan where missing; None for categories."""
    if any(isinstance(cell, str | bool) for cell in cells):
        return None
    try:
        return np.array([np.nan if cell is None else float(cell) for cell in cells])
    except (TypeError, ValueError):
        return None


def _positions(cells: np.ndarray) -> tuple[np.ndarray, list[str] | None]:
    """Place of each cell on the axis, and the labels of the places if they are categories."""
    numbers = _numbers(cells)
    if numbers is not None:
        return numbers, None
    labels = sorted({str(cell) for cell in cells if cell is not None})
    if any(cell is None for cell in cells):
        labels.append("missing")
    return np.array([labels.index(_cell_text(cell)) for cell in cells], dtype=np.float64), labels


def _ranks(cells: np.ndarray) -> np.ndarray:
    """Place of each cell among the different ones, from 0 to 1; nan for missing values and categories."""
    numbers = _numbers(cells)
    if numbers is None:
        return np.full(len(cells), np.nan)
    known = np.unique(numbers[~np.isnan(numbers)])
    ranks = np.searchsorted(known, numbers) / max(1, len(known) - 1)
    return np.where(np.isnan(numbers), np.nan, ranks)


# Drawing


def _colour_map() -> Any:
    return drawing("colors").LinearSegmentedColormap.from_list("low to high", [_DOWN, "#B8B8C8", _UP])


def _explain_colours(ax: Any, points: Any, label: str) -> None:
    """A bar beside the axes with the colours of points."""
    bar = ax.figure.colorbar(points, ax=ax, ticks=[0.0, 1.0], aspect=30, pad=0.02)
    bar.set_ticklabels(["low", "high"])
    bar.set_label(label, labelpad=-8)
    bar.outline.set_visible(False)


def _spread(x: np.ndarray, span: float, groups: np.ndarray | None = None) -> np.ndarray:
    """Offsets from -1 to 1 that keep points of nearly the same `x` apart: as wide as there are many of them."""
    bins = np.floor((x - x.min()) / span * _BINS).astype(np.int64)
    if groups is not None:
        bins = bins + (_BINS + 2) * np.unique(groups, return_inverse=True)[1]
    _, bin_of, counts = np.unique(bins, return_inverse=True, return_counts=True)
    out = np.zeros(len(x))
    for k, count in enumerate(counts):
        within = np.flatnonzero(bin_of == k)
        # alternately to both sides, so that neighbours are apart
        order = np.arange(count)
        steps = np.where(order % 2 == 0, order // 2, -(order // 2 + 1))
        out[within] = steps / max(1.0, counts.max() / 2, 6.0)
    return out


def _write_sizes(ax: Any, texts: list[str], bars: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> None:
    """The size of each bar beside its end, with space for it at the sides."""
    low, high = min(starts.min(), ends.min()), max(starts.max(), ends.max())
    unit = 0.02 * ((high - low) or 1.0)
    for place, (text, bar, end) in enumerate(zip(texts, bars, ends, strict=True)):
        side, align = (unit, "left") if bar > 0 else (-unit, "right")
        ax.text(end + side, place, text, ha=align, va="center", fontsize="small")
    space = unit * (3 + max(map(len, texts)))
    ax.set_xlim(low - space, high + space)


def _draw_points(ax: Any, values: ShapleyValues, x: np.ndarray, y: np.ndarray, known: np.ndarray, by: Any) -> None:
    rank = np.full(len(x), np.nan) if by is None else _ranks(_cells(values.data, by))
    plain, colour = np.isnan(rank), _DOWN if by is None else REST
    for chosen, marker in ((known, "o"), (~known, "x")):
        some = chosen & plain
        ax.scatter(x[some], y[some], s=_POINT, color=colour, marker=marker, linewidths=0 if marker == "o" else 1)
        some = chosen & ~plain
        if some.any():
            points = ax.scatter(
                x[some], y[some], s=_POINT, c=rank[some], cmap=_colour_map(), vmin=0.0, vmax=1.0, marker=marker,
                linewidths=0 if marker == "o" else 1,
            )  # fmt: skip
            if marker == "o":
                _explain_colours(ax, points, short(values.names[by]))
