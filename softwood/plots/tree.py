"""Pictures of trees: bands from gate to gate, as wide as the part of the rows that goes along them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softwood.core.columns import Columns
from softwood.core.parameters import check_count, check_integer, check_number
from softwood.explanations.one_row import as_table
from softwood.export.portable import PortableModel
from softwood.outputs import Outputs, named_outputs
from softwood.plots.colours import REST, colours, drawing
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.text import largest_terms, set_text
from softwood.trees.tree import SoftTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DrawnTree", "draw_tree", "plot_tree", "read_drawn"]

_MOST_CLASSES = 10  # with a colour of their own
_LONGEST_NAME = 24
_MOST_WEIGHTS = 2  # of an oblique gate, in words
_FONT, _SMALLEST_FONT = 8.0, 2.0
_SLOT = 0.36  # inches for an end of the tree
_BAND, _BAND_PER_END, _WIDEST_BAND = 0.4, 0.012, 1.1  # width of the band of all rows, in inches
_BAR, _BAR_HEIGHT = 0.8, 0.17  # length and height of the bars of class probabilities
_MARGIN = 0.12
_STRETCH = 1.4  # largest factor by which given axes stretch a tree
_ROOM_FOR_TITLE = 0.94  # part of given axes that remains when a title is set


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
    model : fitted estimator, `SoftTree` or `SoftForest`
    row : dict, Series, array (n_features_in,) or table with one row, default=None
        Draw the shares of this row. None draws the training mass of the nodes.
    tree : int, default=0
        Number of the tree, in an ensemble.
    max_depth : int, default=None
        Largest depth to draw. None draws all levels.
    min_share : float, default=0.02
        The nodes below a node with a smaller share are not drawn but counted. 0 draws all of them.
    ax : matplotlib Axes to draw into; None creates a new figure, as large as the tree needs

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.plots import plot_tree
    >>> iris = load_iris(as_frame=True)
    >>> model = KernelTreeClassifier(bandwidth=0.2, max_leaf_nodes=4).fit(iris.data, iris.target_names[iris.target])
    >>> ax = plot_tree(model, iris.data.iloc[70])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['setosa', 'versicolor', 'virginica']
    """
    drawn = read_drawn(model, "plot_tree")
    check_integer("plot_tree", "max_depth", max_depth, low=0, or_none=True)
    check_number("plot_tree", "min_share", min_share, low=0.0, high=1.0)
    check_count("plot_tree", "tree", tree, low=0, high=drawn.n_trees - 1)
    drawn = drawn.of_tree(tree)
    weights = None
    if row is not None:
        weights = drawn.shares(as_table("plot_tree", row, drawn.columns.inputs, drawn.has_names, drawn.columns.keys))
    whose = "" if row is None else " of the row"
    ax = draw_tree(drawn, weights, max_depth=max_depth, min_share=min_share, ax=ax, whose=whose)
    which = f"tree {tree} of {drawn.n_trees}" if drawn.n_trees > 1 else ""
    title = ", ".join(filter(None, (which, drawn.of_score)))
    if title:
        ax.set_title(title, fontsize="medium")
    return ax


# What to draw


@dataclass(frozen=True)
class DrawnTree:
    """A tree with its names.

    Attributes
    ----------
    model : the estimator, or None for a bare tree
    trees : all trees of the model;  tree : the one to draw
    columns : encoding of the columns
    has_names : whether the model was fitted to a frame
    named : names of the outputs of the model
    is_class : whether the values of the tree are class probabilities
    """

    model: Any
    trees: SoftTree | SoftForest
    tree: SoftTree
    columns: Columns
    has_names: bool
    named: Outputs
    is_class: bool
    number: int = 0

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the classes or targets of the model."""
        return self.named.names

    @property
    def n_trees(self) -> int:
        """Number of trees of the model."""
        return len(self.trees) if isinstance(self.trees, SoftForest) else 1

    @cached_property
    def names(self) -> list[str]:
        """Names of the features, shortened."""
        return [_short(name) for name in self.columns.names]

    @property
    def of_score(self) -> str:
        """Words for the class that the values of a boosted tree are scores of."""
        labels = self.named.node_labels(self.trees, self.number)
        return "" if labels is None or self.is_class or len(labels) > 1 else f"{labels[0]} ({self.named.scale})"

    def of_tree(self, number: int) -> DrawnTree:
        """The same with the tree of this number."""
        if isinstance(self.trees, SoftTree):
            return self
        return replace(self, tree=self.trees[number], number=number)

    def shares(self, X: Any) -> np.ndarray:
        """Sum over rows of the share in each node, (n_nodes,)."""
        widths = None
        if self.model is None:
            points = self.tree._points(np.asarray(X, dtype=np.float64))
        elif hasattr(self.model, "_read_points"):
            points, widths = self.model._read_points(X)
        else:
            points = PortableModel.of(self.model, "plot_tree").encode(X)
        points = points[:, : self.tree.n_features]  # an earlier tree of a stream knows the first columns only
        widths = None if widths is None else widths[:, : self.tree.n_features]
        return np.asarray(self.tree.memberships(points, widths=widths).sum(axis=0)).ravel()


def read_drawn(model: Any, caller: str) -> DrawnTree:
    """Read a model; `caller` is the name of the function in error messages."""
    if isinstance(model, SoftTree | SoftForest):
        known = PortableModel.of(model, caller)
        tree = model if isinstance(model, SoftTree) else model[0]
        shares = tree.node_predictions
        is_class = tree.n_outputs > 1 and bool(np.all(shares >= 0) and np.allclose(shares.sum(axis=1), 1.0))
        return DrawnTree(None, model, tree, known.columns, False, known.named, is_class)
    if hasattr(model, "best_model_"):
        return read_drawn(model.best_model_, caller)
    if hasattr(model, "_places") and hasattr(model, "snapshot"):  # for river
        known = PortableModel.of(model, caller)
        tree = known.forest[0]
        return DrawnTree(model, tree, tree, known.columns, True, known.named, known.classes is not None)
    try:
        check_is_fitted(model)
    except TypeError:  # no estimator at all
        trees = None
    else:
        trees = getattr(model, "_finished", None)
    if not isinstance(trees, SoftTree | SoftForest):
        raise TypeError(f"{caller} takes a SoftTree or a fitted estimator of softwood with one. Got {model!r}.")
    tree = trees if isinstance(trees, SoftTree) else trees[0]
    named = named_outputs(model, trees)
    has_names = hasattr(model, "feature_names_in_")
    return DrawnTree(model, trees, tree, model.columns_, has_names, named, named.nodes_have_probabilities)


@dataclass(frozen=True)
class _Layout:
    """Nodes that are drawn, and where; coordinates are inches, y downwards.

    Attributes
    ----------
    inner : nodes that are drawn with their children
    ends : leaves, and nodes whose children are not drawn
    y : place of each node; each end has a slot, and a gate is in the middle of its children
    x : place of the gates of each level, and of the ends
    box : (n_levels,) width of the widest box of each level
    width, height : of all
    band : width of the band of all rows
    """

    inner: list[int]
    ends: list[int]
    y: dict[int, float]
    x: list[float]
    box: list[float]
    width: float
    height: float
    band: float


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
    parts = _left_parts(tree, weights)
    shares = _shares(tree, parts, weights)
    values = _values(tree, weights)
    inner, ends = _nodes(tree, shares, max_depth, min_share)
    gates = {k: _gate_text(drawn, k) for k in inner}
    labels = {k: _branch_texts(drawn, k, parts[k], sides) for k in inner}
    texts = {k: _end_text(drawn, k, values[k], shares[k], whose) for k in ends}
    layout = _place(tree, inner, ends, gates, labels, texts, shares)
    palette, shown = _palette(drawn, values[ends])
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


def _left_parts(tree: SoftTree, weights: np.ndarray | None) -> np.ndarray:
    """Part that goes to the left at each inner node, nan where it is not known, (n_nodes,)."""
    parts = np.full(tree.n_nodes, np.nan)
    for node in np.flatnonzero(tree.children_left >= 0):
        a, b = int(tree.children_left[node]), int(tree.children_right[node])
        if weights is not None:
            left, whole = weights[a], weights[node]
        else:
            left, whole = tree.mass[a], tree.mass[a] + tree.mass[b]
            # On streams, a child that has split has reset its mass; its share is what did not go to its sibling.
            a_is_leaf, b_is_leaf = tree.children_left[a] < 0, tree.children_left[b] < 0
            if a_is_leaf != b_is_leaf and tree.mass[node] >= whole:
                whole = tree.mass[node]
                left = tree.mass[a] if a_is_leaf else whole - tree.mass[b]
        if whole > 0:
            parts[node] = min(1.0, left / whole)
    return parts


def _shares(tree: SoftTree, parts: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Part of all rows in each node, (n_nodes,); nan below a node whose parts are not known."""
    if weights is not None:
        return weights / max(weights[0], 1e-300)
    shares = np.ones(tree.n_nodes)
    for node in tree.walk():
        if tree.children_left[node] >= 0:
            shares[tree.children_left[node]] = shares[node] * parts[node]
            shares[tree.children_right[node]] = shares[node] * (1.0 - parts[node])
    return shares


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


def _nodes(tree: SoftTree, shares: np.ndarray, max_depth: int | None, min_share: float) -> tuple[list[int], list[int]]:
    """Nodes that are drawn with their children, and ends, from top to bottom."""
    inner: list[int] = []
    ends: list[int] = []
    pending = [0]
    while pending:
        node = pending.pop()
        is_shallow = max_depth is None or tree.depth[node] < max_depth
        if tree.children_left[node] >= 0 and is_shallow and not shares[node] < min_share:
            inner.append(node)
            pending += [int(tree.children_right[node]), int(tree.children_left[node])]
        else:
            ends.append(node)
    return inner, ends


def _place(
    tree: SoftTree,
    inner: list[int],
    ends: list[int],
    gates: dict[int, str],
    labels: dict[int, tuple[str, str]],
    texts: dict[int, str],
    shares: np.ndarray,
) -> _Layout:
    """Each level is as wide as its widest box, and each gap as its widest label."""
    y = {node: _SLOT * (k + 0.5) for k, node in enumerate(ends)}
    for node in reversed(inner):
        y[node] = (y[int(tree.children_left[node])] + y[int(tree.children_right[node])]) / 2
    n_levels = 1 + max([int(tree.depth[node]) for node in inner], default=-1)
    box, gap = [0.0] * n_levels, [0.0] * n_levels
    for node in inner:
        d = int(tree.depth[node])
        box[d] = max(box[d], _text_width(gates[node], _FONT) + 0.16)
        gap[d] = max(gap[d], *(_text_width(label, 0.9 * _FONT) + 0.5 for label in labels[node]))
    x, at = [], _MARGIN
    for wide, free in zip(box, gap, strict=True):
        x.append(at + wide / 2)
        at += wide + free
    x.append(at)
    width = at + _BAR + 0.08 + max(_text_width(text, _FONT) for text in texts.values()) + _MARGIN
    # A large tree has wide bands, but that of an end stays within its slot.
    heaviest = float(np.nan_to_num(shares[ends]).max())
    band = min(_BAND + _BAND_PER_END * len(ends), _WIDEST_BAND, 0.85 * _SLOT / max(heaviest, 1e-9))
    return _Layout(inner, ends, y, x, box, width, _SLOT * len(ends), band)


def _text_width(text: str, size: float) -> float:
    """Width of the widest line in inches."""
    path = drawing("textpath").TextPath
    lines = [line for line in text.split("\n") if line]
    return max([float(path((0, 0), line, size=size).get_extents().width) for line in lines], default=0.0) / 72.0


# Words


def _short(name: str) -> str:
    name = str(name).replace("$", r"\$")  # no mathematics
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _gate_text(drawn: DrawnTree, node: int) -> str:
    """The test; for a gate that weighs columns those with the largest weights, for a blended gate also alpha."""
    tree, names = drawn.tree, drawn.names
    gate = tree.gate[node]
    if gate == Gate.SUBSET:
        return set_text(tree, node, names, drawn.columns.coded)
    if gate == Gate.KERNEL:
        name = names[tree.feature[node]]
        if drawn.columns.is_category[tree.feature[node]]:
            return name
        reach = f" ± {_number(tree.width[node])}" if tree.width[node] > 0 else ""
        return f"{name} ≤ {_number(tree.threshold[node])}{reach}"
    largest, n_more = largest_terms(tree, node, _MOST_WEIGHTS)
    if gate == Gate.BLEND:
        text = ", ".join(names[j] for j in largest) + (", …" if n_more else "")
        if tree.blend[node] < 1.0:
            text = f"{names[tree.feature[node]]} ≤ {_number(tree.threshold[node])}"
        return f"{text}\nα = {tree.blend[node]:.2f}"
    assert tree.weights is not None
    terms = [f"{_signed(tree.weights[node, j], k == 0)} {names[j]}" for k, j in enumerate(largest)]
    more = f"\n+ {n_more} more" if n_more else ""
    return f"{' '.join(terms) or '0'}{more} > {_number(-tree.bias[node])}"


def _signed(value: float, is_first: bool) -> str:
    sign = "−" if value < 0 else "" if is_first else "+"
    return f"{sign}{'' if is_first else ' '}{_number(abs(value))}"


def _branch_texts(drawn: DrawnTree, node: int, part: float, sides: tuple[str, str] | None) -> tuple[str, str]:
    """Words of the left and the right branch, with the part that goes there."""
    tree = drawn.tree
    if sides is None:
        is_category = tree.gate[node] == Gate.KERNEL and drawn.columns.is_category[tree.feature[node]]
        sides = ("no", "yes") if is_category else ("yes", "no")  # a category is a column of zeros and ones
    if np.isnan(part):
        return "", ""
    return f"{sides[0]} {part:.2f}", f"{sides[1]} {1.0 - part:.2f}"


def _end_text(drawn: DrawnTree, node: int, value: np.ndarray, share: float, whose: str) -> str:
    """Prediction of a leaf, or of the leaves below a node; its part of the rows; number of nodes not drawn."""
    tree = drawn.tree
    best = int(np.argmax(value))
    if drawn.is_class:
        words = [f"{_short(drawn.outputs[best])}: {value[best]:.2f}"]
    else:
        shown = ", ".join(_number(v) for v in value[:3])
        words = [shown + (", …" if len(value) > 3 else "")]
    if not np.isnan(share):
        words.append(_percent(share) + whose)
    if tree.children_left[node] >= 0:
        words.append(f"+ {_n_below(tree, node)} nodes")
    return ", ".join(words)


def _n_below(tree: SoftTree, node: int) -> int:
    n, pending = -1, [node]
    while pending:
        k = pending.pop()
        n += 1
        if tree.children_left[k] >= 0:
            pending += [int(tree.children_left[k]), int(tree.children_right[k])]
    return n


def _percent(share: float) -> str:
    return "< 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def _number(value: float) -> str:
    """A number in a few characters."""
    if 1000 <= abs(value) < 1e7:
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:.3g}".replace("-", "−")


# Drawing


def _palette(drawn: DrawnTree, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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


def _new_axes(layout: _Layout, drawn: DrawnTree, shown: np.ndarray) -> Any:
    """Axes of a new figure of the size that the tree needs, with room for a title and a legend."""
    lines = 0
    if drawn.is_class:
        longest = max(len(_short(drawn.outputs[k])) for k in shown)
        n_columns = _legend_columns(layout.width, longest, len(shown) + 1)
        lines = -(-(len(shown) + 1) // n_columns)
    above, below = 0.35 if drawn.n_trees > 1 or drawn.of_score else 0.08, 0.12 + 0.22 * lines
    height = above + layout.height + below
    figure = drawing("pyplot").figure(figsize=(layout.width, height))
    return figure.add_axes((0.0, below / height, 1.0, layout.height / height))


def _fit(ax: Any, layout: _Layout) -> float:
    """Set the limits of axes; return the factor on the font size, 1 in axes of the size that the tree needs.

    Larger axes give the tree more room, but not so much that it is distorted; the rest stays empty.
    """
    figure = ax.figure
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    extent = ax.get_window_extent()
    room = 1.0 if engine is None else _ROOM_FOR_TITLE
    wide, high = room * extent.width / figure.dpi, room * extent.height / figure.dpi
    scale = max(_SMALLEST_FONT / _FONT, min(1.0, wide / layout.width, high / layout.height))
    free_x = max(0.0, wide / (_STRETCH * scale) - layout.width) / 2
    free_y = max(0.0, high / (_STRETCH * scale) - layout.height) / 2
    ax.set(xlim=(-free_x, layout.width + free_x), ylim=(layout.height + free_y, -free_y))
    return scale


def _draw_branches(ax: Any, tree: SoftTree, layout: _Layout, node: int, shares: np.ndarray, paint: np.ndarray) -> None:
    """Bands to both children, which start side by side and are as wide as the share of the child."""
    d, y = int(tree.depth[node]), layout.y[node]
    start, stop = layout.x[d], layout.x[d] + layout.box[d] / 2 + _gap(layout, d)
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


def _gap(layout: _Layout, d: int) -> float:
    """Free space right of the boxes of a level."""
    after = layout.x[d + 1] - (layout.box[d + 1] / 2 if d + 1 < len(layout.box) else 0.0)
    return after - layout.x[d] - layout.box[d] / 2


def _draw_gate(
    ax: Any, tree: SoftTree, layout: _Layout, node: int, text: str, labels: tuple[str, str], scale: float
) -> None:
    """The box of a gate, and the words at its branches."""
    d, x, y = int(tree.depth[node]), layout.x[int(tree.depth[node])], layout.y[node]
    middle = x + layout.box[d] / 2 + 0.5 * _gap(layout, d)
    for label, child in zip(labels, (tree.children_left[node], tree.children_right[node]), strict=True):
        if label:
            patch = {"boxstyle": "square,pad=0.08", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
            at = y + 0.62 * (layout.y[int(child)] - y)
            ax.text(middle, at, label, ha="center", va="center", fontsize=0.85 * scale * _FONT, bbox=patch, zorder=2)
    box = {"boxstyle": "round,pad=0.3", "facecolor": "0.97", "edgecolor": "0.4", "linewidth": 0.8 * scale}
    ax.text(x, y, text, ha="center", va="center", fontsize=scale * _FONT, bbox=box, zorder=3, linespacing=1.1)


def _draw_end(
    ax: Any,
    drawn: DrawnTree,
    layout: _Layout,
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
        bar = patches.Rectangle((start, y - _BAR_HEIGHT / 2), _BAR * part, _BAR_HEIGHT, facecolor=colour, zorder=2)
        ax.add_patch(bar)
        start += _BAR * part
    is_cut = drawn.tree.children_left[node] >= 0
    style: dict[str, Any] = {"linestyle": "--", "linewidth": 1.1} if is_cut else {"linestyle": "-", "linewidth": 0.8}
    frame = patches.Rectangle((x, y - _BAR_HEIGHT / 2), _BAR, _BAR_HEIGHT, facecolor="none", edgecolor="0.25", **style)
    frame.set_zorder(3)
    ax.add_patch(frame)
    ax.text(x + _BAR + 0.08, y, text, ha="left", va="center", fontsize=scale * _FONT, zorder=3)


def _legend_columns(width: float, longest: int, n: int) -> int:
    return max(1, min(n, int(width / (0.45 + 0.075 * longest))))


def _draw_legend(ax: Any, names: tuple[str, ...], shown: np.ndarray, palette: np.ndarray, width: float) -> None:
    """Colours of the classes, of the most probable ones if there are many, below the tree of this width in inches."""
    width = min(width, ax.get_window_extent().width / ax.figure.dpi)
    patches = drawing("patches")
    handles = [patches.Patch(color=palette[k], label=_short(names[k])) for k in shown]
    if len(shown) < len(palette):
        handles.append(patches.Patch(color=REST, label=f"{len(palette) - len(shown)} others"))
    n = _legend_columns(width, max(len(handle.get_label()) for handle in handles), len(handles))
    ax.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=n, fontsize=_FONT, frameon=False)
