"""A plot of the contributions of columns to an oblique gate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softwood.core.parameters import check_choice
from softwood.explanations.contributions import gate_contributions
from softwood.explanations.one_tree import check_node
from softwood.fitted import FittedModel
from softwood.plots.drawing import (
    REST,
    bars_height,
    check_most,
    colours,
    draw_bars,
    drawing,
    draws,
    largest,
    new_axes,
    rest_name,
    short,
    with_rest,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = {"bar": 10, "pie": 6}  # largest number of columns shown for a gate


@draws
def plot_gate_contributions(
    model: Any,
    X: Any,
    node: int = 0,
    *,
    rows: Sequence[int] | None = None,
    kind: str = "bar",
    n: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the contributions of the columns to the decision of an oblique gate.

    A bar that points to the left stands for a column that sends the row to the left child. The bar of the average row
    is the gate's sum for the average row; all bars of a row add up to the gate's sum for that row. A pie shows the
    absolute values of the contributions. See `gate_contributions` for the numbers.

    Parameters
    ----------
    model : fitted estimator with a tree of oblique gates, or SoftTree
        The model to draw.
    X : array-like or data frame of shape (n_rows, n_features_in)
        Rows to choose from.
    node : int, default=0
        The gate; 0 is the root.
    rows : sequence of int or None, default=None
        The rows to show. None shows the first three that reach the node.
    kind : {"bar", "pie"}, default="bar"
        Whether to draw bars, or a pie for each row.
    n : int or None, default=None
        Number of columns to show, those with the largest contributions; the others are added up. None shows 10 columns
        as bars, or 6 in a pie.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import LinearDiscriminantTreeClassifier
    >>> from softwood.plots import plot_gate_contributions
    >>> iris = load_iris(as_frame=True)
    >>> model = LinearDiscriminantTreeClassifier(random_state=0).fit(iris.data, iris.target)
    >>> ax = plot_gate_contributions(model, iris.data, rows=[0, 100])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['row 0: left', 'row 100: right']
    """
    known = FittedModel.of(model, "plot_gate_contributions")
    tree = known.single_tree("plot_gate_contributions")
    check_choice("plot_gate_contributions", "kind", kind, _MOST)
    most = check_most("plot_gate_contributions", n, _MOST[kind])
    gate = gate_contributions(known, X, node)
    node = check_node("plot_gate_contributions", tree, node)
    entries = _entries(gate, rows, node, len(known.encode(X)))
    shown, rest = largest(gate["normalised"][entries].mean(axis=0), most)
    names = [known.columns.inputs[j] for j in shown] + rest_name(rest)
    titles = [f"row {gate['row'][k]}: {_where(float(gate['left'][k]))}" for k in entries]
    if kind == "pie":
        sizes = with_rest(gate["normalised"][entries], shown, rest)
        ax = new_axes(2.4 * len(entries) + 1.0, 3.4) if ax is None else ax
        _draw_pies(ax, sizes, names, titles, bool(len(rest)))
        ax.set_title(f"Node {node}")
    else:
        average = "average row" if tree.center is not None else "bias"
        signed = with_rest(gate["contribution"][entries], shown, rest)
        signed = np.column_stack([signed, gate["offset"][entries]])
        ax = new_axes(6.4, bars_height(signed.T.shape)) if ax is None else ax
        draw_bars(ax, signed.T, [*names, average], titles)
        ax.xaxis.set_inverted(True)
        ax.axvline(0.0, color="0.3", linewidth=0.8)
        ax.set_xlabel(f"← to the left      contribution at node {node}      to the right →")
    return ax


def _entries(gate: dict[str, np.ndarray], rows: Sequence[int] | None, node: int, n_rows: int) -> list[int]:
    """Indices of the rows to draw among the entries of a gate."""
    place = {int(row): k for k, row in enumerate(gate["row"])}
    if rows is None:
        if not place:
            raise ValueError(f"The 'node' parameter must be a node that rows of X reach. No row reaches node {node}.")
        return list(range(min(3, len(place))))
    wanted = np.asarray(rows)
    if wanted.ndim != 1 or len(wanted) == 0 or wanted.dtype.kind not in "iu":
        raise ValueError(f"The 'rows' parameter must be numbers of rows of X. Got {rows!r} instead.")
    for row in wanted.tolist():
        if not 0 <= row < n_rows:
            raise ValueError(f"The 'rows' parameter must hold ints in the range [0, {n_rows - 1}]. Got {row} instead.")
        if row not in place:
            raise ValueError(f"The 'rows' parameter must hold rows that reach node {node}. Row {row} does not.")
    return [place[row] for row in wanted.tolist()]


def _where(left: float) -> str:
    if left in (0.0, 1.0):
        return "left" if left else "right"
    return f"{100 * left:.3g} % left"


def _draw_pies(ax: Any, sizes: np.ndarray, names: list[str], titles: list[str], has_rest: bool) -> None:
    """A pie for each row of sizes, side by side, with one legend."""
    palette = [*map(tuple, colours(len(names) - has_rest)), *([REST] if has_rest else [])]
    step = 2.5
    style: dict[str, Any] = {
        "startangle": 90,
        "counterclock": False,
        "pctdistance": 0.7,
        "textprops": {"color": "white", "fontsize": "small"},
        "wedgeprops": {"edgecolor": "white", "linewidth": 0.8},
    }
    for k, (parts, title) in enumerate(zip(sizes, titles, strict=True)):
        if parts.sum() > 0:
            ax.pie(parts, colors=palette, center=(step * k, 0.0), autopct=_percent, **style)
        else:  # the average row: an empty circle
            ax.pie([1.0], colors=["white"], center=(step * k, 0.0), wedgeprops={"edgecolor": "0.5"})
        ax.text(step * k, -1.2, title, ha="center", va="top")
    ax.set(xlim=(-1.25, step * (len(sizes) - 1) + 1.25), ylim=(-1.6, 1.2))
    patches = drawing("patches")
    handles = [patches.Patch(color=colour, label=short(name)) for colour, name in zip(palette, names, strict=True)]
    ax.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small", frameon=False)


def _percent(part: float) -> str:
    """Label of a piece of a pie; empty for small pieces."""
    return f"{part:.0f} %" if part >= 8 else ""
