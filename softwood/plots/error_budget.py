"""A plot of the budget of measurement errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from softwood.explanations.error_costs import ErrorBudget
from softwood.plots.drawing import bars_height, check_most, draw_bars, draws, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_COLUMNS = 15


@draws
def plot_error_budget(budget: ErrorBudget, *, n: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw what the measurement error of each column costs, and what halving it would gain.

    The lines at the ends of the bars are one standard error to each side.

    Parameters
    ----------
    budget : ErrorBudget
        What `softwood.explanations.error_budget` returns.
    n : int or None, default=None
        Number of columns to show, those that gain most. None shows 15.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.explanations import error_budget
    >>> from softwood.plots import plot_error_budget
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = KernelTreeClassifier(measurement_error=[0.2, 0.2, 0.2, 0.2], random_state=0).fit(X[::2], y[::2])
    >>> ax = plot_error_budget(error_budget(model, X[1::2], y[1::2]))
    >>> len(ax.patches)
    8
    """
    if not isinstance(budget, ErrorBudget):
        raise TypeError(f"plot_error_budget takes what softwood.explanations.error_budget returns. Got {budget!r}.")
    shown = budget.order[: check_most("plot_error_budget", n, _MOST_COLUMNS)]
    bars = np.column_stack([budget.cost, budget.gain])[shown]
    ax = new_axes(6.4, bars_height(bars.shape)) if ax is None else ax
    names = [f"{budget.columns[j]} ± {budget.errors[j]:.3g}" for j in shown]
    draw_bars(ax, bars, names, ["cost of the error", "gain if it is halved"])
    places = np.array([[bar.get_y() + bar.get_height() / 2 for bar in group] for group in ax.containers[-2:]])
    errors = np.column_stack([budget.cost_error, budget.gain_error])[shown]
    for k, place in enumerate(places):
        ax.errorbar(bars[:, k], place, xerr=errors[:, k], fmt="none", ecolor="0.3", elinewidth=1, capsize=2)
    ax.axvline(0.0, color="0.5", linewidth=0.8)
    ax.set(xlabel=f"mean loss ({budget.loss_name})")
    return ax
