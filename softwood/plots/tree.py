"""Plots of trees: bands from gate to gate, as wide as the part of the rows that goes along them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from softwood.core.parameters import check_count, check_integer, check_number
from softwood.explanations.one_row import as_table
from softwood.fitted import FittedModel
from softwood.plots.drawing import REST, colours, drawing, draws, short
from softwood.plots.tree_layout import (
    BAR,
    FONT,
    Layout,
    gap_after,
    left_parts,
    node_shares,
    node_values,
    nodes_to_draw,
    place,
)
from softwood.plots.tree_text import LONGEST_NAME, DrawnTree, branch_texts, end_text, gate_text
from softwood.trees.tree import SoftTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_CLASSES = 10  # with a colour of their own
_SMALLEST_FONT = 2.0
_BAR_HEIGHT = 0.17
_STRETCH = 1.4  # largest factor by which given axes stretch a tree
_PART_BELOW_TITLE = 0.94  # part of given axes that remains when a title is set


@draws
def plot_tree(
    model: Any,
    row: Any = None,
    *,
    tree: int = 0,
    max_depth: int | None = None,
    min_share: float = 0.02,
    ax: Axes | None = None,
) -> Axes:
    """Draw a tree from left to right, with bands that are as wide as the part of the rows that goes along them.

    A box shows the test of a gate. For kernel gates, ± is the half-width of the kernel: a row within this distance of
    the threshold goes partly to both sides. For gates that weigh several columns, the largest weights are shown. The
    numbers at the branches are the parts of the node that go there. Bars show the class probabilities of leaves; their
    colours, mixed, are those of the bands. The last number is the part of all rows in the leaf.

    Parameters
    ----------
    model : fitted estimator, SoftTree or SoftForest
        The model to draw.
    row : dict, Series, array-like of shape (n_features_in,), table with one row, or None, default=None
        Draw the shares of this row. None draws the training mass of the nodes.
    tree : int, default=0
        Number of the tree, in an ensemble.
    max_depth : int or None, default=None
        Largest depth to draw. None draws all levels.
    min_share : float, default=0.02
        The nodes below a node with a smaller share are not drawn but counted. 0 draws all of them.
    ax : matplotlib Axes or None, default=None
        Axes to draw into. None creates a new figure, as large as the tree needs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.plots import plot_tree
    >>> iris = load_iris(as_frame=True)
    >>> model = KernelTreeClassifier(bandwidth=0.2, max_leaf_nodes=4).fit(iris.data, iris.target_names[iris.target])
    >>> ax = plot_tree(model, iris.data.iloc[70])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['setosa', 'versicolor', 'virginica']
    """
    known = FittedModel.of(model, "plot_tree")
    check_integer("plot_tree", "max_depth", max_depth, low=0, or_none=True)
    check_number("plot_tree", "min_share", min_share, low=0.0, high=1.0)
    check_count("plot_tree", "tree", tree, low=0, high=known.n_trees - 1)
    drawn = DrawnTree(known, known.tree(tree), tree)
    weights = None
    if row is not None:
        weights = drawn.shares(as_table("plot_tree", row, known.columns.inputs, known.has_names, known.columns.keys))
    whose = "" if row is None else " of the row"
    ax = draw_tree(drawn, weights, max_depth=max_depth, min_share=min_share, ax=ax, whose=whose)
    which = "beside a linear trend" if known.trend else ""
    if known.n_trees - known.trend > 1 or tree > 0:
        which = f"tree {tree} of {known.n_trees}"
    title = ", ".join(filter(None, (which, drawn.of_score)))
    if title:
        ax.set_title(title, fontsize="medium")
    return ax


def draw_tree(
    drawn: DrawnTree,
    weights: np.ndarray | None,
    *,
    max_depth: int | None,
    min_share: float,
    ax: Axes | None,
    sides: tuple[str, str] | None = None,
    whose: str = "",
) -> Axes:
    """Draw a tree.

    Parameters
    ----------
    weights : (n_nodes,) sum of the shares of rows in each node; None: the training mass
    sides : words for the left and the right branch; None: yes and no
    whose : words after the share of a leaf
    """
    tree = drawn.tree
    parts = left_parts(tree, weights)
    shares = node_shares(tree, parts, weights)
    values = node_values(tree, weights)
    inner, ends = nodes_to_draw(tree, shares, max_depth, min_share)
    gates = {k: gate_text(drawn, k) for k in inner}
    labels = {k: branch_texts(drawn, k, parts[k], sides) for k in inner}
    texts = {k: end_text(drawn, k, values[k], shares[k], whose) for k in ends}
    layout = place(tree, inner, ends, gates, labels, texts, shares)
    palette, shown = _palette(values[ends])
    if ax is None:
        ax = _new_axes(layout, drawn, shown)
    ax.set_axis_off()
    if drawn.is_class:
        _draw_legend(ax, drawn.outputs, shown, palette, layout.width)
    scale = _fit(ax, layout)
    paint = _painter(drawn, values, values[ends], palette)
    for node in inner:
        _draw_branches(ax, tree, layout, node, shares, paint)
    for node in inner:
        _draw_gate(ax, tree, layout, node, gates[node], labels[node], scale)
    for node in ends:
        _draw_end(ax, drawn, layout, node, values[node], palette, paint, texts[node], scale)
    return ax


def _palette(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Colours of the outputs, and the outputs that have one of their own; `values` are those of the ends."""
    n = values.shape[1]
    shown = np.sort(np.argsort(-values.sum(axis=0), kind="stable")[:_MOST_CLASSES])
    palette = np.tile(REST, (n, 1))
    palette[shown] = colours(len(shown))
    return palette, shown


def _painter(drawn: DrawnTree, values: np.ndarray, ends: np.ndarray, palette: np.ndarray) -> np.ndarray:
    """Colour of each node, (n_nodes, 3): the mixture of its classes, or its first value between those of the ends."""
    if drawn.is_class:
        return np.clip(values @ palette, 0.0, 1.0)
    low, high = float(ends[:, 0].min()), float(ends[:, 0].max())
    place = (values[:, 0] - low) / (high - low) if high > low else np.full(len(values), 0.5)
    return drawing("cm").viridis(0.1 + 0.8 * np.clip(place, 0.0, 1.0))[:, :3]


def _new_axes(layout: Layout, drawn: DrawnTree, shown: np.ndarray) -> Any:
    """Axes of a new figure of the size that the tree needs, with space for a title and a legend."""
    lines = 0
    if drawn.is_class:
        longest = max(len(short(drawn.outputs[k], LONGEST_NAME)) for k in shown)
        n_columns = _legend_columns(layout.width, longest, len(shown) + 1)
        lines = -(-(len(shown) + 1) // n_columns)
    above, below = 0.35 if drawn.known.n_trees > 1 or drawn.of_score else 0.08, 0.12 + 0.22 * lines
    height = above + layout.height + below
    figure = drawing("pyplot").figure(figsize=(layout.width, height))
    return figure.add_axes((0.0, below / height, 1.0, layout.height / height))


def _fit(ax: Any, layout: Layout) -> float:
    """Set the limits of axes; return the factor on the font size, 1 in axes of the size that the tree needs.

    Larger axes stretch the tree, but not so much that it is distorted; the rest stays empty.
    """
    figure = ax.figure
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    extent = ax.get_window_extent()
    part = 1.0 if engine is None else _PART_BELOW_TITLE
    wide, high = part * extent.width / figure.dpi, part * extent.height / figure.dpi
    scale = max(_SMALLEST_FONT / FONT, min(1.0, wide / layout.width, high / layout.height))
    free_x = max(0.0, wide / (_STRETCH * scale) - layout.width) / 2
    free_y = max(0.0, high / (_STRETCH * scale) - layout.height) / 2
    ax.set(xlim=(-free_x, layout.width + free_x), ylim=(layout.height + free_y, -free_y))
    return scale


def _draw_branches(ax: Any, tree: SoftTree, layout: Layout, node: int, shares: np.ndarray, paint: np.ndarray) -> None:
    """Bands to both children, which start side by side and are as wide as the share of the child."""
    d, y = int(tree.depth[node]), layout.y[node]
    start, stop = layout.x[d], layout.x[d] + layout.box[d] / 2 + gap_after(layout, d)
    if node == 0:
        start -= layout.box[0] / 2 - 0.05
    steps = np.linspace(0.0, 1.0, 25)
    bend = layout.x[d] + layout.box[d] / 2 * 0.6
    xs = np.concatenate([[start], bend + (stop - bend) * steps])
    for side, child in ((-1.0, int(tree.children_left[node])), (1.0, int(tree.children_right[node]))):
        share = shares[child]
        is_known = not np.isnan(share)
        wide = layout.band * share if is_known else 0.0
        begin = y + side * (layout.band * shares[node] - wide) / 2 if is_known else y
        curve = begin + (layout.y[child] - begin) * (3 * steps**2 - 2 * steps**3)
        ys = np.concatenate([[begin], curve])
        end = layout.x[-1] if child in layout.ends else layout.x[int(tree.depth[child])]
        x_all, y_all = np.append(xs, end), np.append(ys, layout.y[child])
        if wide > 0.012:
            band = np.column_stack([np.r_[x_all, x_all[::-1]], np.r_[y_all - wide / 2, y_all[::-1] + wide / 2]])
            patch = drawing("patches").Polygon(band, facecolor=paint[child], alpha=0.55, edgecolor="none", zorder=1)
            ax.add_patch(patch)
        else:
            colour = "0.75" if share == 0 else paint[child]
            ax.plot(x_all, y_all, color=colour, linewidth=0.8, zorder=1, linestyle="-" if is_known else ":")


def _draw_gate(
    ax: Any, tree: SoftTree, layout: Layout, node: int, text: str, labels: tuple[str, str], scale: float
) -> None:
    """The box of a gate, and the words at its branches."""
    d, x, y = int(tree.depth[node]), layout.x[int(tree.depth[node])], layout.y[node]
    middle = x + layout.box[d] / 2 + 0.5 * gap_after(layout, d)
    for label, child in zip(labels, (tree.children_left[node], tree.children_right[node]), strict=True):
        if label:
            patch = {"boxstyle": "square,pad=0.08", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
            at = y + 0.62 * (layout.y[int(child)] - y)
            ax.text(middle, at, label, ha="center", va="center", fontsize=0.85 * scale * FONT, bbox=patch, zorder=2)
    box = {"boxstyle": "round,pad=0.3", "facecolor": "0.97", "edgecolor": "0.4", "linewidth": 0.8 * scale}
    ax.text(x, y, text, ha="center", va="center", fontsize=scale * FONT, bbox=box, zorder=3, linespacing=1.1)


def _draw_end(
    ax: Any,
    drawn: DrawnTree,
    layout: Layout,
    node: int,
    value: np.ndarray,
    palette: np.ndarray,
    paint: np.ndarray,
    text: str,
    scale: float,
) -> None:
    """A bar of class probabilities, or of the colour of the value, and its words; dashed if nodes are not drawn."""
    patches = drawing("patches")
    x, y = layout.x[-1], layout.y[node]
    parts = zip(value, palette, strict=True) if drawn.is_class else [(1.0, paint[node])]
    start = x
    for part, colour in parts:
        bar = patches.Rectangle((start, y - _BAR_HEIGHT / 2), BAR * part, _BAR_HEIGHT, facecolor=colour, zorder=2)
        ax.add_patch(bar)
        start += BAR * part
    is_cut = drawn.tree.children_left[node] >= 0
    style: dict[str, Any] = {"linestyle": "--", "linewidth": 1.1} if is_cut else {"linestyle": "-", "linewidth": 0.8}
    frame = patches.Rectangle((x, y - _BAR_HEIGHT / 2), BAR, _BAR_HEIGHT, facecolor="none", edgecolor="0.25", **style)
    frame.set_zorder(3)
    ax.add_patch(frame)
    ax.text(x + BAR + 0.08, y, text, ha="left", va="center", fontsize=scale * FONT, zorder=3)


def _legend_columns(width: float, longest: int, n: int) -> int:
    return max(1, min(n, int(width / (0.45 + 0.075 * longest))))


def _draw_legend(ax: Any, names: tuple[str, ...], shown: np.ndarray, palette: np.ndarray, width: float) -> None:
    """Colours of the classes, of the most probable ones if there are many, below the tree of this width in inches."""
    width = min(width, ax.get_window_extent().width / ax.figure.dpi)
    patches = drawing("patches")
    handles = [patches.Patch(color=palette[k], label=short(names[k], LONGEST_NAME)) for k in shown]
    if len(shown) < len(palette):
        handles.append(patches.Patch(color=REST, label=f"{len(palette) - len(shown)} others"))
    n = _legend_columns(width, max(len(handle.get_label()) for handle in handles), len(handles))
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=n, fontsize=FONT, frameon=False)
