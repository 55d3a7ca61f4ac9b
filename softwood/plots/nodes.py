"""Pictures of oblique trees: contributions to a gate, importances of columns, and the content of leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softwood.base import read_weights
from softwood.explanations.contributions import gate_contributions
from softwood.explanations.nodes import node_table
from softwood.explanations.reading import TreeReading, check_node, read_model
from softwood.plots.colours import REST, colours, drawing
from softwood.trees.tree import SoftTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_gate_contributions", "plot_importances", "plot_leaf_distribution"]

_MOST = {"bar": 10, "pie": 6}  # largest number of columns shown for a gate
_MOST_IMPORTANCES = 20
_MOST_LEAVES = 12
_MOST_CLASSES = 10
_BINS = 20


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
    model : fitted estimator with a tree of oblique gates, or `SoftTree`
    X : (n_rows, n_features_in) array or data frame
    node : int, default=0
        The gate; 0 is the root.
    rows : numbers of rows of `X`, default=None
        The rows to show. None shows the first three that reach the node.
    kind : "bar" or "pie", default="bar"
        Whether to draw bars, or a pie for each row.
    n : int, default=None
        Number of columns to show, those with the largest contributions; the others are added up. None shows 10 columns
        as bars, or 6 in a pie.
    ax : matplotlib Axes to draw into; None creates a new figure

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from softwood import LinearDiscriminantTreeClassifier
    >>> from softwood.plots import plot_gate_contributions
    >>> iris = load_iris(as_frame=True)
    >>> model = LinearDiscriminantTreeClassifier(random_state=0).fit(iris.data, iris.target)
    >>> ax = plot_gate_contributions(model, iris.data, rows=[0, 100])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['row 0: left', 'row 100: right']
    """
    reading = read_model(model, "plot_gate_contributions")
    if kind not in _MOST:
        raise ValueError(f"The 'kind' parameter must be one of 'bar', 'pie'. Got {kind!r} instead.")
    most = _check_count(n, _MOST[kind])
    gate = gate_contributions(model, X, node)
    node = check_node(reading.tree, node)
    entries = _entries(gate, rows, node, len(reading.points(X)[0]))
    shown, rest = _largest(gate["normalised"][entries].mean(axis=0), most)
    names = [reading.columns[j] for j in shown] + _rest_name(rest)
    titles = [f"row {gate['row'][k]}: {_where(float(gate['left'][k]))}" for k in entries]
    if kind == "pie":
        sizes = _with_rest(gate["normalised"][entries], shown, rest)
        ax = _new_axes(2.4 * len(entries) + 1.0, 3.4) if ax is None else ax
        _draw_pies(ax, sizes, names, titles, bool(len(rest)))
        ax.set_title(f"Node {node}")
    else:
        average = "average row" if reading.tree.center is not None else "bias"
        signed = _with_rest(gate["contribution"][entries], shown, rest)
        signed = np.column_stack([signed, gate["offset"][entries]])
        ax = _new_axes(6.4, _height(signed.T.shape)) if ax is None else ax
        _draw_bars(ax, signed.T, [*names, average], titles)
        ax.xaxis.set_inverted(True)
        ax.axvline(0.0, color="0.3", linewidth=0.8)
        ax.set_xlabel(f"← to the left      contribution at node {node}      to the right →")
    return ax


def plot_importances(models: Any, *, n: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw the importances of the columns, for one model or for several side by side.

    Parameters
    ----------
    models : a fitted model, or a dict from names to models
        Estimators with ``feature_importances_``, such as those of softwood and scikit-learn, or `SoftTree`, all with
        the same columns.
    n : int, default=None
        Number of columns to show, those with the largest importances; the others are added up. None shows 20.
    ax : matplotlib Axes to draw into; None creates a new figure

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from softwood import LinearDiscriminantTreeClassifier
    >>> from softwood.plots import plot_importances
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> models = {"oblique": LinearDiscriminantTreeClassifier(random_state=0), "CART": DecisionTreeClassifier()}
    >>> ax = plot_importances({name: model.fit(X, y) for name, model in models.items()})
    >>> len(ax.patches)
    8
    """
    many = models if isinstance(models, Mapping) else {type(models).__name__: models}
    if not many:
        raise ValueError("The 'models' parameter must hold at least one model. Got an empty dict instead.")
    most = _check_count(n, _MOST_IMPORTANCES)
    names: list[str] | None = None
    columns: list[np.ndarray] = []
    for label, model in many.items():
        values, own = _importances(label, model)
        if (columns and len(values) != len(columns[0])) or (names and own and names != own):
            first = next(iter(many))
            raise ValueError(
                f"The 'models' parameter must hold models of the same columns; {label!r} has others than {first!r}."
            )
        columns.append(values)
        names = names or own
    names = names or [f"x[{j}]" for j in range(len(columns[0]))]
    table = np.array(columns)
    shown, rest = _largest(table.mean(axis=0), most)
    bars = _with_rest(table, shown, rest).T
    ax = _new_axes(6.4, _height(bars.shape)) if ax is None else ax
    _draw_bars(ax, bars, [names[j] for j in shown] + _rest_name(rest), list(map(str, many)))
    ax.set(xlabel="importance", xlim=(0.0, None))
    return ax


def plot_leaf_distribution(
    model: Any,
    X: Any,
    y: Any,
    *,
    leaves: Sequence[int] | None = None,
    sample_weight: Any = None,
    output: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the content of the leaves: the classes of the rows, or a histogram of their targets.

    The number in parentheses below each leaf is the total weight times membership of the rows in it. Histograms are
    drawn vertically and scaled so that the largest bin fills the width of the leaf. A black line marks the prediction
    of the leaf.

    Parameters
    ----------
    model : fitted estimator with a ``tree_``
    X : (n_rows, n_features_in) array or data frame
    y : (n_rows,) labels or targets
    leaves : numbers of leaves, default=None
        The leaves to show. None shows all, or if there are more than 12, the 12 with the largest weight and the sum of
        the others.
    sample_weight : (n_rows,) weights, default=None
    output : int, default=None
        The target to draw, if there are several.
    ax : matplotlib Axes to draw into; None creates a new figure

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from sklearn.datasets import load_iris
    >>> from softwood import LinearDiscriminantTreeClassifier
    >>> from softwood.plots import plot_leaf_distribution
    >>> iris = load_iris(as_frame=True)
    >>> model = LinearDiscriminantTreeClassifier(random_state=0).fit(iris.data, iris.target_names[iris.target])
    >>> ax = plot_leaf_distribution(model, iris.data, iris.target_names[iris.target])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['setosa', 'versicolor', 'virginica']
    """
    reading = read_model(model, "plot_leaf_distribution")
    if reading.is_class is None:
        raise TypeError(f"plot_leaf_distribution takes a fitted estimator, not a SoftTree. Got {model!r}.")
    if y is None:
        raise ValueError("plot_leaf_distribution requires y to be passed, but the target y is None.")
    table = node_table(model, X, y, sample_weight)
    groups = _leaf_groups(table, leaves)
    weights = np.array([table["weight"][group].sum() for group in groups])
    ax = _new_axes(max(4.8, 0.62 * len(groups) + 1.6), 4.4) if ax is None else ax
    if reading.is_class:
        amounts = np.nan_to_num(table["weight"][:, None] * table["distribution"])
        sums = np.array([amounts[group].sum(axis=0) for group in groups])
        _draw_classes(ax, sums / np.where(weights > 0, weights, 1.0)[:, None], sums.sum(axis=0), reading.outputs.names)
    else:
        _draw_histograms(ax, reading, (X, y, sample_weight), groups, output)
    labels = [str(g[0]) if len(g) == 1 else f"{len(g)} others" for g in groups]
    ax.set_xticks(np.arange(len(groups)), [f"{a}\n({_short(w)})" for a, w in zip(labels, weights, strict=True)])
    ax.set(xlabel="leaf (weight of the rows)", xlim=(-0.6, len(groups) - 0.4))
    return ax


# What to show


def _check_count(n: Any, default: int) -> int:
    if n is None:
        return default
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
        raise ValueError(f"The 'n' parameter must be an int in the range [1, inf) or None. Got {n!r} instead.")
    return int(n)


def _largest(sizes: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the largest sizes, largest first, and of the rest; the rest never consists of a single one."""
    order = np.argsort(-sizes, kind="stable")
    return (order, order[:0]) if len(order) <= most + 1 else (order[:most], order[most:])


def _with_rest(table: np.ndarray, shown: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Columns to show, and the sum of the rest if there is one."""
    return np.column_stack([table[:, shown], table[:, rest].sum(axis=1)]) if len(rest) else table[:, shown]


def _rest_name(rest: np.ndarray) -> list[str]:
    return [f"{len(rest)} others"] if len(rest) else []


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


def _importances(label: Any, model: Any) -> tuple[np.ndarray, list[str] | None]:
    """Importances of a model, and the names of its columns if it knows them."""
    if isinstance(model, SoftTree):
        return model.feature_importances(), None
    if hasattr(model, "fit"):
        check_is_fitted(model)
    values = getattr(model, "feature_importances_", None)
    if values is None:
        raise TypeError(f"The 'models' parameter must hold models with feature_importances_. {label!r} has none.")
    names = getattr(model, "feature_names_in_", None)
    return np.asarray(values, dtype=np.float64), None if names is None else [str(name) for name in names]


def _leaf_groups(table: dict[str, np.ndarray], leaves: Sequence[int] | None) -> list[np.ndarray]:
    """Leaves in each place of the picture: one leaf, or in the last place possibly all others."""
    known = table["node"][table["is_leaf"]]
    if leaves is None:
        shown, rest = _largest(table["weight"][known], _MOST_LEAVES)
        groups = [known[[k]] for k in np.sort(shown)]
        return [*groups, known[rest]] if len(rest) else groups
    wanted = np.asarray(leaves)
    if wanted.ndim != 1 or len(wanted) == 0 or not np.all(np.isin(wanted, known)):
        shown_names = ", ".join(map(str, known[:10])) + (", ..." if len(known) > 10 else "")
        raise ValueError(f"The 'leaves' parameter must be numbers of leaves ({shown_names}). Got {leaves!r} instead.")
    return [np.array([leaf]) for leaf in wanted.tolist()]


def _where(left: float) -> str:
    if left in (0.0, 1.0):
        return "left" if left else "right"
    return f"{100 * left:.3g} % left"


def _percent(part: float) -> str:
    """Label of a piece of a pie; empty for small pieces."""
    return f"{part:.0f} %" if part >= 8 else ""


def _short(number: float) -> str:
    """A weight in a few characters."""
    return f"{number:.0f}" if number == round(number) or number >= 100 else f"{number:.3g}"


# Drawing


def _new_axes(width: float, height: float) -> Any:
    return drawing("pyplot").subplots(figsize=(width, height), layout="constrained")[1]


def _height(shape: tuple[int, ...]) -> float:
    """Height of a figure with room for (n_names, n_series) bars."""
    return 1.6 + shape[0] * max(0.3, 0.14 * shape[1])


def _draw_bars(ax: Any, bars: np.ndarray, names: list[str], series: list[str]) -> None:
    """Horizontal bars (n_names, n_series), the first name on top, with a legend of the series."""
    n, m = bars.shape
    thick = 0.8 / m
    for k, (label, colour) in enumerate(zip(series, colours(m), strict=True)):
        ax.barh(np.arange(n) + (k + 0.5) * thick - 0.4, bars[:, k], height=thick, color=colour, label=label)
    ax.set_yticks(np.arange(n), names)
    ax.set_ylim(n - 0.4, -0.6)
    _legend_above(ax, series)


def _legend_above(ax: Any, labels: list[str]) -> None:
    """A legend above the bars, in as many columns as fit."""
    columns = max(1, min(len(labels), 60 // (max(map(len, labels)) + 5)))
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=columns, fontsize="small", frameon=False)


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
    handles = [patches.Patch(color=colour, label=name) for colour, name in zip(palette, names, strict=True)]
    ax.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small", frameon=False)


def _draw_classes(ax: Any, parts: np.ndarray, totals: np.ndarray, names: tuple[str, ...]) -> None:
    """Stacked bars: the classes in each leaf (n_leaves, n_classes)."""
    shown, rest = _largest(totals, _MOST_CLASSES)
    shown = np.sort(shown)
    palette = [*map(tuple, colours(len(shown))), *([REST] if len(rest) else [])]
    below = np.zeros(len(parts))
    labels = [names[k] for k in shown] + _rest_name(rest)
    for height, colour, label in zip(_with_rest(parts, shown, rest).T, palette, labels, strict=True):
        ax.bar(np.arange(len(parts)), height, bottom=below, width=0.8, color=colour, label=label)
        below = below + height
    ax.set(ylabel="share of the class", ylim=(0.0, 1.0))
    _legend_above(ax, labels)


def _draw_histograms(
    ax: Any, reading: TreeReading, data: tuple[Any, Any, Any], groups: list[np.ndarray], output: int | None
) -> None:
    """A vertical histogram of the target in each leaf, and a line at the prediction of the leaf."""
    X, y, sample_weight = data
    column = _check_output(output, reading.tree.n_outputs)
    shares = reading.memberships(X).tocsc()
    target = reading.targets(y, shares.shape[0])[:, column]
    weights = read_weights(sample_weight, len(target))
    edges = np.histogram_bin_edges(target, bins=_BINS)
    for place, group in enumerate(groups):
        here = np.asarray(shares[:, group].sum(axis=1)).ravel() * weights
        counts, _ = np.histogram(target, bins=edges, weights=here)
        wide = 0.8 * counts / (counts.max() or 1.0)
        ax.barh(edges[:-1], wide, height=np.diff(edges), left=place - 0.4, align="edge", color=colours(1)[0])
        if len(group) == 1:
            ax.hlines(reading.tree.value[group[0], column], place - 0.4, place + 0.4, color="black")
    ax.set_ylabel(_target_name(y, column, reading.tree.n_outputs))


def _target_name(y: Any, column: int, n: int) -> str:
    if hasattr(y, "columns"):
        return str(y.columns[column])
    return str(getattr(y, "name", None) or "target") if n == 1 else f"target {column}"


def _check_output(output: Any, n: int) -> int:
    if output is None and n > 1:
        raise ValueError(f"The 'output' parameter must say which of the {n} targets to draw.")
    if output is None:
        return 0
    if not isinstance(output, int | np.integer) or isinstance(output, bool) or not 0 <= output < n:
        raise ValueError(f"The 'output' parameter must be an int in the range [0, {n - 1}]. Got {output!r} instead.")
    return int(output)
