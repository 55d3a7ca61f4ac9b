"""Pictures of trees on streams: the tree with its routing probabilities, and its growth along the stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from softwood.gates import Gate
from softwood.inspect.colours import REST, colours, drawing
from softwood.inspect.reading import TreeReading, read_model
from softwood.parameters import check_count, parameter_error
from softwood.stream.adapting import Adaptation
from softwood.tree import SoftTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_growth", "plot_stream_tree"]

_DRIFT = "#CC0000"
_MOST_CLASSES = 10  # with a colour of their own
_LONGEST_NAME = 20
_LARGEST_FONT, _SMALLEST_FONT = 9.0, 2.0
_SLOT, _LEVEL = 1.3, 1.25  # inches for a leaf, and for a level
_CHARACTER = 0.6  # width of a character in units of the font size, on average
_BAR = 0.13  # height of a leaf's bar in levels


def plot_stream_tree(
    model: Any, ax: Axes | None = None, max_depth: int = 3, X: Any = None, *, tree: SoftTree | None = None
) -> Axes:
    """Draw a tree with its tests and the routing probabilities at its edges (figures 1 and 2 of the paper).

    A box shows the test of a gate and alpha, the weight of the smooth step in it; a gate without a test shows the
    columns with the largest weights. ``P_L`` and ``P_R`` are the fractions of the mass of a node that go on to its left
    and right child. Bars show the class probabilities of the leaves; the bar of a node whose children are not drawn
    shows the mean of the leaves below it.

    Parameters
    ----------
    model : fitted estimator with a ``tree_``, or `SoftTree`
    ax : matplotlib Axes to draw into; None creates a new figure
    max_depth : largest depth to draw, default=3
    X : (n_rows, n_features_in) array or data frame, default=None
        Rows over which the probabilities are averaged. If None, they are computed from the training mass of the nodes.
        A node resets its mass when it splits, so these masses belong to different periods of the stream; recent rows
        are more informative.
    tree : `SoftTree`, default=None
        A snapshot of the same model to draw, such as those of `adaptation`. None draws the current tree.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from softwood.inspect.stream_figures import plot_stream_tree
    >>> from softwood.stream import SEA, SoftHoeffdingTreeClassifier
    >>> X, y = SEA(seed=0).take(2_000)
    >>> model = SoftHoeffdingTreeClassifier(random_state=0).fit(X, y)
    >>> ax = plot_stream_tree(model, X=X)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0', '1']
    """
    max_depth = check_count("plot_stream_tree", "max_depth", max_depth, low=0)
    reading = read_model(model, "plot_stream_tree")
    if tree is None:
        tree = reading.tree
    elif not isinstance(tree, SoftTree):
        raise parameter_error("plot_stream_tree", "tree", "a SoftTree or None", tree)
    picture = _layout(tree, max_depth)
    weights = _row_weights(reading, tree, X)
    left = _left_parts(tree, weights)
    is_class = tree.n_outputs > 1 if reading.is_class is None else reading.is_class
    values = _values(tree, weights)
    names = _short_names(reading)
    inner = {k: _gate_text(tree, k, names) for k in picture.inner}
    ends = {k: _end_text(reading, tree, k, values[k], is_class, weights) for k in picture.ends}
    if ax is None:
        n_slots, n_levels = max(3, picture.n_slots), picture.depth + 1.1
        size = (_SLOT * n_slots, _LEVEL * n_levels)
        ax = drawing("pyplot").subplots(figsize=size, layout="constrained")[1]
    palette = None
    if is_class:
        shown = np.sort(np.argsort(-values[picture.ends].sum(axis=0), kind="stable")[:_MOST_CLASSES])
        palette = np.tile(REST, (tree.n_outputs, 1))
        palette[shown] = colours(len(shown))
        _draw_legend(ax, reading.outputs, shown, palette)
    _draw_tree(ax, tree, picture, left, inner, ends, values, palette)
    return ax


def plot_growth(result: Adaptation, drifts: Sequence[float] | None = None, axes: Any = None) -> np.ndarray:
    """Draw how a model adapts along a stream: the norm of the gradient and the nodes added (figure 4 of the paper).

    Parameters
    ----------
    result : `Adaptation`, as returned by `adaptation`
    drifts : numbers of the rows at which the stream changes, default=None
        They are drawn as red lines.
    axes : two matplotlib Axes to draw into; None creates a new figure

    Returns
    -------
    (2,) array of matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from softwood.inspect.stream_figures import plot_growth
    >>> from softwood.stream import Agrawal, SoftHoeffdingTreeClassifier
    >>> from softwood.stream.adapting import adaptation
    >>> stream = Agrawal(functions=(0, 2), drift_every=3000, seed=0)
    >>> result = adaptation(SoftHoeffdingTreeClassifier(random_state=0), stream, n_samples=6000)
    >>> axes = plot_growth(result, drifts=[3000])
    >>> axes[1].get_ylabel()
    'nodes added'
    """
    if not isinstance(result, Adaptation):
        raise parameter_error("plot_growth", "result", "what adaptation returns", result)
    lines = np.empty(0) if drifts is None else np.asarray(drifts, dtype=np.float64)
    if lines.ndim != 1:
        raise parameter_error("plot_growth", "drifts", "numbers of rows, or None", drifts)
    if axes is None:
        axes = drawing("pyplot").subplots(2, 1, figsize=(7.0, 4.4), sharex=True, layout="constrained")[1]
    axes = np.ravel(axes)
    if len(axes) != 2:
        raise parameter_error("plot_growth", "axes", "two matplotlib Axes, or None", axes)
    edges = np.concatenate([[0], result.n_samples])
    blue, green = colours(3)[[0, 2]]
    axes[0].stairs(result.gradient_norm, edges, baseline=None, color=blue, linewidth=1.4)
    axes[0].set_ylabel(r"$\|\partial L / \partial T\|$")
    axes[0].set_ylim(0.0, 1.08 * float(result.gradient_norm.max()) or 1.0)
    axes[1].stairs(result.n_added, edges, color=green, fill=True)
    axes[1].set(ylabel="nodes added", xlabel="rows")
    axes[1].set_ylim(0.0, max(1.0, 1.08 * float(result.n_added.max())))
    axes[1].yaxis.get_major_locator().set_params(integer=True)
    for ax in axes:
        ax.set_xlim(0, edges[-1])
        for k, drift in enumerate(lines):
            ax.axvline(drift, color=_DRIFT, linewidth=1.0, label="drift" if k == 0 else None)
    if len(lines):
        axes[0].legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize="small", frameon=False)
    return axes


# What to show


@dataclass(frozen=True)
class _Picture:
    """Nodes that are drawn, and where.

    Attributes
    ----------
    inner : nodes that are drawn with their children
    ends : leaves, and nodes whose children are too deep
    x : position of each node in slots; each end has its own slot, and a parent is in the middle of its children
    depth : depth of the deepest node that is drawn
    """

    inner: list[int]
    ends: list[int]
    x: dict[int, float]
    depth: int

    @property
    def n_slots(self) -> int:
        return len(self.ends)


def _layout(tree: SoftTree, max_depth: int) -> _Picture:
    inner: list[int] = []
    ends: list[int] = []
    x: dict[int, float] = {}
    pending = [0]
    while pending:  # depth first, the left child first: slots are numbered from left to right
        node = pending.pop()
        if tree.children_left[node] >= 0 and tree.depth[node] < max_depth:
            inner.append(node)
            pending += [int(tree.children_right[node]), int(tree.children_left[node])]
        else:
            x[node] = len(ends) + 0.5
            ends.append(node)
    for node in reversed(inner):
        x[node] = (x[int(tree.children_left[node])] + x[int(tree.children_right[node])]) / 2
    return _Picture(inner, ends, x, max(int(tree.depth[node]) for node in ends))


def _row_weights(reading: TreeReading, tree: SoftTree, X: Any) -> np.ndarray | None:
    """Sum of the shares of rows in each node, (n_nodes,); None without rows."""
    if X is None:
        return None
    points, widths = reading.points(X)
    points = points[:, : tree.n_features]  # columns that came later are the last
    return np.asarray(tree.memberships(points, widths=widths).sum(axis=0)).ravel()


def _left_parts(tree: SoftTree, weights: np.ndarray | None) -> np.ndarray:
    """Part that goes to the left at each inner node, nan where it is not known, (n_nodes,)."""
    parts = np.full(tree.n_nodes, np.nan)
    for node in np.flatnonzero(tree.children_left >= 0):
        a, b = int(tree.children_left[node]), int(tree.children_right[node])
        if weights is not None:
            left, whole = weights[a], weights[node]
        else:
            left, whole = tree.mass[a], tree.mass[a] + tree.mass[b]
            # A child that has split has reset its mass; its share is what did not go to its sibling.
            a_is_leaf, b_is_leaf = tree.children_left[a] < 0, tree.children_left[b] < 0
            if a_is_leaf != b_is_leaf and tree.mass[node] >= whole:
                whole = tree.mass[node]
                left = tree.mass[a] if a_is_leaf else whole - tree.mass[b]
        if whole > 0:
            parts[node] = min(1.0, left / whole)
    return parts


def _values(tree: SoftTree, weights: np.ndarray | None) -> np.ndarray:
    """Predictions of the leaves, and for inner nodes the mean over the leaves below, (n_nodes, n_outputs)."""
    values = tree.node_predictions.copy()
    amounts = np.nan_to_num(tree.mass if weights is None else weights).copy()
    for node in np.argsort(-tree.depth, kind="stable"):
        if tree.children_left[node] >= 0:
            children = [int(tree.children_left[node]), int(tree.children_right[node])]
            parts = amounts[children] if amounts[children].sum() > 0 else np.ones(2)
            values[node] = parts @ values[children] / parts.sum()
            amounts[node] = amounts[children].sum()
    return values


def _short_names(reading: TreeReading) -> list[str]:
    names = reading.columns if reading.model is None else reading.model.columns_.names
    return [name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…" for name in map(str, names)]


def _gate_text(tree: SoftTree, node: int, names: list[str]) -> str:
    """The test and alpha; for a gate without a test, the columns with the largest weights."""
    gate = tree.gate[node]
    if gate == Gate.KERNEL or (gate == Gate.BLEND and tree.blend[node] < 1.0):
        text = f"{names[tree.feature[node]]} ≤ {_number(tree.threshold[node])}"
    else:
        sizes = tree.weight_sizes(node)
        largest = [names[j] for j in np.argsort(-sizes, kind="stable")[:2] if sizes[j] > 0]
        text = ", ".join(largest) + (", …" if np.count_nonzero(sizes) > 2 else "")
    return f"{text}\nα = {tree.blend[node]:.2f}" if gate == Gate.BLEND else text


def _end_text(
    reading: TreeReading,
    tree: SoftTree,
    node: int,
    value: np.ndarray,
    is_class: bool,
    weights: np.ndarray | None,
) -> str:
    """Prediction of a leaf, or of the leaves below a node; its fraction of the rows; number of nodes not drawn."""
    best = int(np.argmax(value))
    lines = [f"{reading.outputs[best][:_LONGEST_NAME]}: {value[best]:.2f}" if is_class else _number(value[0])]
    if weights is not None:
        lines.append(f"{100 * weights[node] / max(weights[0], 1.0):.0f} % of rows")
    if tree.children_left[node] >= 0:
        lines.append(f"+ {_n_below(tree, node)} nodes")
    return "\n".join(lines)


def _n_below(tree: SoftTree, node: int) -> int:
    n, pending = -1, [node]
    while pending:
        k = pending.pop()
        n += 1
        if tree.children_left[k] >= 0:
            pending += [int(tree.children_left[k]), int(tree.children_right[k])]
    return n


def _number(value: float) -> str:
    """A number in a few characters."""
    if 1000 <= abs(value) < 1e7:
        return f"{value:,.0f}"
    return f"{value:.3g}"


# Drawing


def _draw_tree(
    ax: Any,
    tree: SoftTree,
    picture: _Picture,
    left: np.ndarray,
    inner: dict[int, str],
    ends: dict[int, str],
    values: np.ndarray,
    palette: np.ndarray | None,
) -> None:
    """Edges with their probabilities, boxes of gates, and bars of leaves."""
    margin = max(0.0, (3 - picture.n_slots) / 2)
    ax.set(xlim=(-margin, picture.n_slots + margin), ylim=(-picture.depth - 0.55, 0.25))
    ax.set_axis_off()
    size = _font_size(ax, list(inner.values()), list(ends.values()))
    for node, text in inner.items():
        x, y = picture.x[node], -float(tree.depth[node])
        for side, child in (("L", tree.children_left[node]), ("R", tree.children_right[node])):
            part = left[node] if side == "L" else 1.0 - left[node]
            end = y - 1.0 + (_BAR if int(child) in ends and palette is not None else 0.0)
            _draw_edge(ax, (x, y), (picture.x[int(child)], end), side, part, size)
        box = {"boxstyle": "round,pad=0.35", "facecolor": "0.96", "edgecolor": "0.4", "linewidth": 0.8}
        ax.text(x, y, text, ha="center", va="center", fontsize=size, bbox=box, zorder=3)
    for node, text in ends.items():
        x, y = picture.x[node], -float(tree.depth[node])
        if palette is not None:
            _draw_bar(ax, x, y, values[node], palette, is_cut=tree.children_left[node] >= 0)
            ax.text(x, y - 0.04, text, ha="center", va="top", fontsize=0.92 * size, linespacing=1.25, zorder=3)
        else:
            box = {"boxstyle": "square,pad=0.3", "facecolor": "white", "edgecolor": "0.4", "linewidth": 0.8}
            ax.text(x, y, text, ha="center", va="center", fontsize=0.92 * size, bbox=box, zorder=3)


def _font_size(ax: Any, inner: list[str], ends: list[str]) -> float:
    """The largest font size at which texts do not overlap, estimated from their lengths."""
    extent = ax.get_window_extent()
    points = 72.0 / ax.figure.dpi
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    slot, level = points * extent.width / (x1 - x0), points * extent.height / (y1 - y0)
    # A box of a gate has two slots, a leaf has one; labels of two edges are at least half a slot apart.
    limits = [_LARGEST_FONT, level / 6.5, 0.55 * slot / (7 * _CHARACTER)]
    limits += [1.95 * slot / (_CHARACTER * _longest(inner) + 1.0)] if inner else []
    limits += [0.98 * slot / (_CHARACTER * _longest(ends))] if ends else []
    return max(_SMALLEST_FONT, min(limits))


def _longest(texts: list[str]) -> int:
    return max(len(line) for text in texts for line in text.split("\n"))


def _draw_edge(
    ax: Any, start: tuple[float, float], stop: tuple[float, float], side: str, part: float, size: float
) -> None:
    """A line, thicker the more goes along it, with its probability a little below the middle."""
    known = not np.isnan(part)
    width = 0.6 + 3.4 * part if known else 0.6
    ax.plot(*zip(start, stop, strict=True), color="0.6", linewidth=width, solid_capstyle="round", zorder=1,
            linestyle="-" if known else ":")  # fmt: skip
    if known:
        x, y = (0.42 * a + 0.58 * b for a, b in zip(start, stop, strict=True))
        patch = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none"}
        label = f"$P_{side}$ {part:.2f}"
        ax.text(x, y, label, ha="center", va="center", fontsize=0.9 * size, bbox=patch, zorder=2)


def _draw_bar(ax: Any, x: float, y: float, value: np.ndarray, palette: np.ndarray, *, is_cut: bool) -> None:
    """Class probabilities side by side; dashed if there are nodes below that are not drawn."""
    patches = drawing("patches")
    start, width = x - 0.4, 0.8
    for part, colour in zip(value, palette, strict=True):
        ax.add_patch(patches.Rectangle((start, y), width * part, _BAR, facecolor=colour, edgecolor="none", zorder=2))
        start += width * part
    style = {"linestyle": "--", "linewidth": 1.2} if is_cut else {"linestyle": "-", "linewidth": 0.8}
    frame = patches.Rectangle((x - 0.4, y), width, _BAR, facecolor="none", edgecolor="0.25", zorder=3, **style)
    ax.add_patch(frame)


def _draw_legend(ax: Any, names: tuple[str, ...], shown: np.ndarray, palette: np.ndarray) -> None:
    """Colours of the classes, of the most probable ones if there are many, below the tree."""
    patches = drawing("patches")
    handles = [patches.Patch(color=palette[k], label=names[k]) for k in shown]
    if len(shown) < len(palette):
        handles.append(patches.Patch(color=REST, label=f"{len(palette) - len(shown)} others"))
    n = max(1, min(len(handles), 80 // (max(len(handle.get_label()) for handle in handles) + 6)))
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=n, fontsize="small", frameon=False)
