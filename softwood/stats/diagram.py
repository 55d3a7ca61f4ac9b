"""The critical-difference diagram: average ranks on a line, and bars over models that do not differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from softwood.core.extras import require
from softwood.stats.checks import check_alpha
from softwood.stats.friedman import FriedmanTest, friedman_test
from softwood.stats.nemenyi import NemenyiTest, critical_difference

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Lengths are in units of the font size, and heights above the axis of ranks.
_TOP, _CD_TEXT, _CD_BAR, _TICK_TEXT, _TICK = 3.9, 2.7, 2.35, 0.55, 0.35
_FIRST_BAR, _BAR_STEP, _BAR_END = -0.85, 0.65, 0.2
_ROW_STEP, _BELOW = 1.45, 0.8
_LEADER, _GAP, _NAME_GAP = 0.7, 0.4, 0.7  # beyond the end of the axis, before a rank's number, after it
_THIN, _THICK, _BAR_WIDTH = 0.08, 0.12, 0.3
_SHORT_AXIS, _USUAL_AXIS, _TICK_STEP = 14.0, 26.0, 1.6


def plot_critical_difference(
    scores: Any, *, alpha: float | None = None, higher_is_better: bool = True, ax: Axes | None = None
) -> Axes:
    """Draw the average ranks of models, and which of them do not differ significantly.

    The models are marked on an axis of average ranks, the best at the right. The bar at the top has the length of the
    critical difference (CD) of `nemenyi_test`; models joined by a thick bar differ by less. The diagram is Demšar's
    (figure 1). Use `friedman_test` first to test whether there are differences at all.

    Parameters
    ----------
    scores : array-like or data frame of shape (n_data_sets, n_models), FriedmanTest or NemenyiTest
        One number for each model on each data set, or the result of a test. The columns of a frame name the models.
    alpha : float or None, default=None
        Level of significance. None uses the level of a `NemenyiTest`, and otherwise 0.05.
    higher_is_better : bool, default=True
        False for errors and losses. No effect if `scores` is the result of a test.
    ax : matplotlib Axes or None, default=None
        Axes to draw into. If the names do not fit into them, the font becomes smaller. None creates a new figure of a
        suitable size.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn into, with ranks as x and font sizes as y.

    References
    ----------
    J. Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006.

    Examples
    --------
    >>> from softwood.stats import plot_critical_difference
    >>> accuracy = [[0.81, 0.78, 0.80], [0.93, 0.90, 0.91], [0.67, 0.67, 0.62], [0.75, 0.71, 0.70], [0.88, 0.86, 0.87]]
    >>> ax = plot_critical_difference(accuracy)
    >>> [text.get_text() for text in ax.texts if text.get_text().startswith("CD")]
    ['CD = 1.48']
    """
    is_test = isinstance(scores, FriedmanTest | NemenyiTest)
    if alpha is None:
        alpha = scores.alpha if isinstance(scores, NemenyiTest) else 0.05
    alpha = check_alpha(alpha)
    test = scores if is_test else friedman_test(scores, higher_is_better=higher_is_better)
    distance = critical_difference(len(test.ranks), test.n_data_sets, alpha)
    order = np.argsort(test.ranks, kind="stable")
    ranks, names = test.ranks[order], [test.names[j] for j in order]
    groups = _groups(ranks, distance)

    is_new = ax is None
    ax = _matplotlib("pyplot").subplots()[1] if ax is None else ax
    ax.set_axis_off()
    first_row = _FIRST_BAR - _BAR_STEP * len(groups) - 0.5
    size, unit = _fit(ax, ranks, names, distance, first_row, is_new=is_new)
    _draw_axis(ax, len(ranks), distance, size)
    _draw_bars(ax, ranks, groups, size, unit)
    _draw_models(ax, ranks, names, first_row, size, unit)
    return ax


def _groups(ranks: np.ndarray, distance: float) -> list[tuple[int, int]]:
    """First and last index of each maximal run of sorted ranks that differ by less than the critical difference."""
    groups: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = int(np.searchsorted(ranks - rank, distance)) - 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def _fit(
    ax: Any, ranks: np.ndarray, names: list[str], distance: float, first_row: float, *, is_new: bool
) -> tuple[float, float]:
    """Set the limits of the axes so that all texts fit; returns the font size, and its length in units of ranks."""
    figure = ax.get_figure()
    size = float(_matplotlib().rcParams["font.size"])
    k, n_right = len(ranks), _n_right(len(ranks))
    beside = _LEADER + _GAP + _widest(ax, [f"{rank:.2f}" for rank in ranks], size) + _NAME_GAP
    right = beside + _widest(ax, names[:n_right], size) + _GAP
    left = beside + _widest(ax, names[n_right:], size) + _GAP
    bottom = first_row - _ROW_STEP * (n_right - 1) - _BELOW
    height = _TOP - bottom
    margins, step = left + right, _TICK_STEP * (k - 1)
    if is_new:
        points = size * np.array([margins + max(_USUAL_AXIS, step), height])
        figure.set_size_inches(points / 72)
        ax.set_position([0, 0, 1, 1])
    else:
        box = ax.get_window_extent()
        points = np.array([box.width, box.height]) * 72 / figure.dpi
        size = min(size, points[0] / (margins + max(_SHORT_AXIS, step)), points[1] / height)
    width, spare = points[0] / size, points[1] / size - height
    # If the critical difference is longer than the axis, its bar continues above the names at the right.
    longest = max(distance / (k - 1), 1.0)
    axis = min(width - margins, (width - left - _GAP) / longest)
    unit = (k - 1) / axis
    ax.set_xlim(k + left * unit, 1 - (width - left - axis) * unit)
    ax.set_ylim(bottom - spare / 2, _TOP + spare / 2)
    return size, unit


def _draw_axis(ax: Any, k: int, distance: float, size: float) -> None:
    """The axis of ranks, and above it the critical difference."""
    _line(ax, [1, k], [0, 0], _THICK * size)
    for rank in range(1, k + 1):
        _line(ax, [rank, rank], [0, _TICK], _THICK * size)
        ax.text(rank, _TICK_TEXT, str(rank), fontsize=size, ha="center", va="baseline")
    for half in np.arange(1.5, k):
        _line(ax, [half, half], [0, _TICK / 2], _THIN * size)
    _line(ax, [k, k - distance], [_CD_BAR, _CD_BAR], _THICK * size)
    for end in (k, k - distance):
        _line(ax, [end, end], [_CD_BAR - _TICK / 2, _CD_BAR + _TICK / 2], _THICK * size)
    ax.text(k - distance / 2, _CD_TEXT, f"CD = {distance:.2f}", fontsize=size, ha="center", va="baseline")


def _draw_bars(ax: Any, ranks: np.ndarray, groups: list[tuple[int, int]], size: float, unit: float) -> None:
    for level, (first, last) in enumerate(groups):
        y = _FIRST_BAR - _BAR_STEP * level
        ends = [ranks[first] - _BAR_END * unit, ranks[last] + _BAR_END * unit]
        _line(ax, ends, [y, y], _BAR_WIDTH * size)


def _draw_models(ax: Any, ranks: np.ndarray, names: list[str], first_row: float, size: float, unit: float) -> None:
    """Names at both sides, each with its rank and a line to its place on the axis; the outer ones are highest."""
    k, n_right = len(ranks), _n_right(len(ranks))
    number = _widest(ax, [f"{rank:.2f}" for rank in ranks], size)
    for place, (rank, name) in enumerate(zip(ranks, names, strict=True)):
        is_right = place < n_right
        y = first_row - _ROW_STEP * (place if is_right else k - 1 - place)
        end, sign, side = (1 - _LEADER * unit, 1, "left") if is_right else (k + _LEADER * unit, -1, "right")
        _line(ax, [rank, rank, end], [0, y, y], _THIN * size)
        # Texts keep their distance in points, so that they stay together when the figure is resized.
        style: dict[str, Any] = {"textcoords": "offset points", "fontsize": size, "ha": side, "va": "center"}
        ax.annotate(f"{rank:.2f}", (end, y), (sign * _GAP * size, 0), alpha=0.6, **style)
        ax.annotate(name, (end, y), (sign * (_GAP + number + _NAME_GAP) * size, 0), **style)


def _n_right(k: int) -> int:
    return (k + 1) // 2


def _widest(ax: Any, texts: list[str], size: float) -> float:
    """Width of the widest text, in units of the font size."""
    width = 0.0
    for text in texts:
        drawn = ax.text(0, 0, text, fontsize=size)
        width = max(width, drawn.get_window_extent().width * 72 / ax.get_figure().dpi / size)
        drawn.remove()
    return width


def _line(ax: Any, x: list[float], y: list[float], width: float) -> None:
    colour = _matplotlib().rcParams["text.color"]
    ax.plot(x, y, color=colour, linewidth=width, solid_capstyle="butt", solid_joinstyle="miter", clip_on=False)


def _matplotlib(module: str = "") -> Any:
    return require(f"matplotlib.{module}".rstrip("."), "plots", "Drawing critical differences")
