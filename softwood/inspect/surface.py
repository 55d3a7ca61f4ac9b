"""Surfaces of predictions over two columns, with the partition of the plane that a tree makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from softwood.columns import is_missing_value, read_table
from softwood.extras import require
from softwood.gates import Gate
from softwood.tree import SoftTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["partition_lines", "plot_surface"]

# Colours of the classes in turn, told apart by most eyes (Okabe and Ito).
_COLOURS = np.array(
    [[0, 114, 178], [213, 94, 0], [0, 158, 115], [204, 121, 167], [230, 159, 0], [86, 180, 233], [0, 0, 0]]
) / 255  # fmt: skip
_MARGIN = 0.06  # of the data's range, on each side


def plot_surface(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    features: Sequence[int | str] = (0, 1),
    output: int | None = None,
    partition: bool = True,
    resolution: int = 200,
    ax: Axes | None = None,
) -> Axes:
    """Draw what a fitted model predicts over two columns.

    Classes have a colour each, which fades as the probability falls to that of a blind guess; white is "no idea". The
    other columns stand at their medians, or at their most frequent category. If the model is a single tree of softwood,
    thin lines show the regions of its leaves: those of the crisp tree, which a prediction kernel blurs.

    Parameters
    ----------
    model : any fitted classifier or regressor with the methods of scikit-learn
    X : (n_rows, n_features_in) array or data frame
        Rows that say how far the axes reach and what the other columns stand at.
    y : (n_rows,) labels or targets, default=None
        Given, the rows are drawn as points in the colours of the surface.
    features : two columns of numbers, by name or number, default=(0, 1)
    output : int, default=None
        Draw the probability of this class alone (a number: its place in ``classes_``), or this target of several, with
        a colour bar.
    partition : bool, default=True
        Whether to draw the regions of the leaves.
    resolution : int, default=200
        Points of the grid along each axis.
    ax : matplotlib Axes to draw into; None makes a new figure

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from softwood import KernelTreeClassifier, plot_surface
    >>> from softwood.datasets import toy_classification
    >>> X, y = toy_classification("moons", random_state=0)
    >>> ax = plot_surface(KernelTreeClassifier(bandwidth=0.2).fit(X, y), X, y)
    >>> ax.get_xlabel()
    'x[0]'
    """
    pyplot = require("matplotlib.pyplot", "plots", "Drawing a surface")
    check_is_fitted(model)
    if resolution < 2:
        raise ValueError(f"The 'resolution' parameter must be an int in the range [2, inf). Got {resolution} instead.")
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    if X.ndim != 2 if isinstance(X, np.ndarray) else len(X.shape) != 2:
        raise ValueError(f"X must be a table of rows and columns. Got an array of shape {X.shape}.")
    names = [str(name) for name in getattr(X, "columns", [f"x[{j}]" for j in range(X.shape[1])])]
    pair = _two_columns(features, names)
    data = [_numbers(X, j, names[j]) for j in pair]
    limits = [_limits(values) for values in data]
    xs, ys = (np.linspace(low, high, resolution) for low, high in limits)
    grid = _grid(X, pair, [np.tile(xs, resolution), np.repeat(ys, resolution)])
    surface, classes = _predictions(model, grid, output)

    if ax is None:
        ax = pyplot.subplots()[1]
    extent = (*limits[0], *limits[1])
    surface = surface.reshape(resolution, resolution, -1)
    shown: dict[str, Any] = {"extent": extent, "origin": "lower", "aspect": "auto", "interpolation": "nearest"}
    if classes is not None and output is None:
        ax.imshow(_mixed(surface), **shown)
    else:
        if classes is not None:
            shown.update(vmin=0.0, vmax=1.0)
        image = ax.imshow(surface[..., 0], **shown)
        ax.figure.colorbar(image, ax=ax, label=None if classes is None else f"probability of {classes[output or 0]}")
    tree = getattr(model, "tree_", None)
    if partition and isinstance(tree, SoftTree):
        row = _first_row(model, grid)
        encoded = pair if not hasattr(model, "columns_") else [_encoded(model, j) for j in pair]
        collections = require("matplotlib.collections", "plots", "Drawing a surface")
        lines = partition_lines(tree, row, (encoded[0], encoded[1]), (limits[0], limits[1]))
        ax.add_collection(collections.LineCollection(lines, colors="0.25", linewidths=0.6), autolim=False)
    if y is not None:
        _points(ax, data, y, classes, output)
    ax.set(xlim=limits[0], ylim=limits[1], xlabel=names[pair[0]], ylabel=names[pair[1]])
    return ax


def partition_lines(
    tree: SoftTree,
    row: np.ndarray,
    features: tuple[int, int],
    limits: tuple[tuple[float, float], tuple[float, float]],
) -> list[np.ndarray]:
    """Borders between the leaves of the crisp tree in a plane: line segments, each (2, 2).

    Parameters
    ----------
    row : (n_features,) where the plane lies; its entries at `features` do not matter
    features : the two features that vary in the plane
    limits : low and high of each

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import SoftTree
    >>> from softwood.inspect.surface import partition_lines
    >>> stump = SoftTree.from_nodes(children_left=[1, -1, -1], children_right=[2, -1, -1], feature=[1, -1, -1],
    ...     threshold=[0.5, np.nan, np.nan], value=[0, 0, 1], n_features=2)
    >>> partition_lines(stump, np.zeros(2), (0, 1), ((0, 1), (0, 1)))
    [array([[1. , 0.5],
           [0. , 0.5]])]
    """
    (x0, x1), (y0, y1) = limits
    corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], dtype=np.float64)
    lines: list[np.ndarray] = []
    pending = [(0, corners)]
    while pending:
        node, region = pending.pop()
        if tree.children_left[node] < 0:
            continue
        slope, start = _half_plane(tree, node, row, features)
        height = region @ slope + start  # above 0 goes left
        left, right, line = _cut(region, height)
        if line is not None:
            lines.append(line)
        if left is not None:
            pending.append((int(tree.children_left[node]), left))
        if right is not None:
            pending.append((int(tree.children_right[node]), right))
    return lines


def _half_plane(
    tree: SoftTree, node: int, row: np.ndarray, features: tuple[int, int]
) -> tuple[np.ndarray, float]:
    """The gate's border as slope (2,) and start of a linear function of the plane that is above 0 on the left side."""
    is_axis_aligned = tree.gate[node] == Gate.KERNEL or (tree.gate[node] == Gate.BLEND and tree.blend[node] < 0.5)
    if is_axis_aligned:
        weights = np.zeros(tree.n_features)
        weights[tree.feature[node]] = -1.0
        start = float(tree.threshold[node])
    else:
        assert tree.weights is not None  # checked when the tree was made
        weights, start = tree.weights[node], float(tree.bias[node])
    fixed = np.setdiff1d(np.flatnonzero(weights), features)
    start += float(weights[fixed] @ row[fixed])
    if np.isnan(start):  # a missing value: the larger side
        start = float(tree.missing_left[node]) - 0.5
        return np.zeros(2), start
    return weights[list(features)], start


def _cut(region: np.ndarray, height: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]:
    """Cut a convex region where `height` (at its corners) is 0: the part above, the part below, and the cut."""
    if np.all(height >= 0):
        return region, None, None
    if np.all(height <= 0):
        return None, region, None
    above, below, cut = [], [], []
    for k in range(len(region)):
        here, there = region[k], region[(k + 1) % len(region)]
        a, b = height[k], height[(k + 1) % len(region)]
        if a >= 0:
            above.append(here)
        if a <= 0:
            below.append(here)
        if a == 0:
            cut.append(here)
        if a * b < 0:
            crossing = here + (there - here) * (a / (a - b))
            for part in (above, below, cut):
                part.append(crossing)
    return np.array(above), np.array(below), np.array(cut)


# The table to predict


def _two_columns(features: Sequence[int | str], names: list[str]) -> list[int]:
    wanted = [features] if isinstance(features, str) else list(features)
    out = []
    for column in wanted:
        if isinstance(column, str) and column in names:
            out.append(names.index(column))
        elif isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < len(names):
            out.append(int(column))
        else:
            shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
            raise ValueError(
                f"The 'features' parameter must be two columns of X by name or number ({len(names)}: {shown}). "
                f"Got {column!r} instead."
            )
    if len(set(out)) != 2 or len(out) != 2:
        raise ValueError(f"The 'features' parameter must be two different columns of X. Got {features!r} instead.")
    return out


def _column(X: Any, j: int) -> Any:
    if hasattr(X, "iloc"):
        return X.iloc[:, j]
    return X.get_column(X.columns[j]) if hasattr(X, "get_column") else X[:, j]


def _numbers(X: Any, j: int, name: str) -> np.ndarray:
    """A column as floats, nan where it is missing."""
    values = np.asarray(_column(X, j), dtype=object)
    try:
        return np.array([np.nan if is_missing_value(v) else float(v) for v in values])
    except (TypeError, ValueError) as error:
        raise ValueError(f"Column {name!r} must hold numbers to be an axis of a surface: {error}.") from error


def _limits(values: np.ndarray) -> tuple[float, float]:
    known = values[np.isfinite(values)]
    if len(known) == 0:
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    margin = _MARGIN * (high - low) or 0.5
    return low - margin, high + margin


def _typical(values: np.ndarray) -> int:
    """Row with the median of a column, or with the most frequent value if it does not hold numbers."""
    known = np.array([k for k, v in enumerate(values) if not is_missing_value(v)], dtype=np.int64)
    if len(known) == 0:
        return 0
    try:
        order = np.argsort(values[known].astype(np.float64), kind="stable")
        return int(known[order[len(order) // 2]])
    except (TypeError, ValueError):
        _, first, counts = np.unique(values[known].astype(str), return_index=True, return_counts=True)
        return int(known[first[np.argmax(counts)]])


def _grid(X: Any, pair: list[int], places: list[np.ndarray]) -> Any:
    """A table of the kind of `X`: the two columns take the places, the others a typical value."""
    n = len(places[0])
    column = dict(zip(pair, places, strict=True))
    rows = {j: _typical(np.asarray(_column(X, j), dtype=object)) for j in range(X.shape[1]) if j not in column}
    if hasattr(X, "iloc"):  # pandas
        frame = X.iloc[np.zeros(n, dtype=np.int64)].reset_index(drop=True)
        for j in range(X.shape[1]):
            frame.isetitem(j, column[j] if j in column else X.iloc[np.full(n, rows[j]), j].array)
        return frame
    if hasattr(X, "get_column"):  # polars
        series = [X.get_column(name) for name in X.columns]
        return type(X)(
            [
                type(old)(old.name, column[j]) if j in column else old[np.full(n, rows[j])]
                for j, old in enumerate(series)
            ]
        )
    out = np.empty((n, X.shape[1]), dtype=X.dtype if X.dtype.kind in "fO" else np.float64)
    for j in range(X.shape[1]):
        out[:, j] = column[j] if j in column else X[rows[j], j]
    return out


def _encoded(model: Any, j: int) -> int:
    """Number of a column of numbers in the encoded table."""
    if model.columns_.categories[j] is not None:
        raise ValueError(f"Column {model.columns_.inputs[j]!r} holds categories; an axis of a surface needs numbers.")
    return int(np.flatnonzero(model.columns_.source == j)[0])


def _first_row(model: Any, grid: Any) -> np.ndarray:
    if not hasattr(model, "columns_"):
        return np.asarray(grid[:1], dtype=np.float64)[0]
    return read_table(model, grid[:1], reset=False, columns=model.columns_)[0][0]


# What is drawn


def _predictions(model: Any, grid: Any, output: int | None) -> tuple[np.ndarray, list[str] | None]:
    """Predictions (n, n_outputs), one if `output` is given, and for a classifier the names of its classes."""
    classes = None
    if is_classifier(model):
        classes = [str(name) for name in model.classes_]
        if hasattr(model, "predict_proba"):
            values = np.asarray(model.predict_proba(grid))
        else:
            values = (np.asarray(model.predict(grid))[:, None] == model.classes_).astype(np.float64)
    else:
        values = np.asarray(model.predict(grid), dtype=np.float64).reshape(len(grid), -1)
        if output is None and values.shape[1] > 1:
            raise ValueError(f"The 'output' parameter must say which of the {values.shape[1]} targets to draw.")
    if output is not None:
        if not 0 <= output < values.shape[1]:
            raise ValueError(
                f"The 'output' parameter must be an int in the range [0, {values.shape[1] - 1}]. Got {output} instead."
            )
        values = values[:, [output]]
    return values, classes


def _mixed(probabilities: np.ndarray) -> np.ndarray:
    """Colours (..., 3): white where all classes are equally probable, a class's own where it is certain."""
    n_classes = probabilities.shape[-1]
    if n_classes == 1:
        strength = probabilities
    else:
        strength = np.clip((probabilities - 1 / n_classes) / (1 - 1 / n_classes), 0.0, 1.0)
    return np.clip(1.0 - 0.75 * strength @ (1.0 - _colours(n_classes)), 0.0, 1.0)


def _colours(n: int) -> np.ndarray:
    return _COLOURS[np.arange(n) % len(_COLOURS)]


def _points(ax: Axes, data: list[np.ndarray], y: Any, classes: list[str] | None, output: int | None) -> None:
    values = np.asarray(y)
    if len(values) != len(data[0]):
        raise ValueError(f"y must have as many rows as X. Got {len(values)} and {len(data[0])}.")
    style: dict[str, Any] = {"s": 14, "edgecolors": "white", "linewidths": 0.5}
    if classes is None:
        column = values if values.ndim == 1 else values[:, output or 0]
        image = ax.images[0]
        ax.scatter(*data, c=column, cmap=image.cmap, norm=image.norm, **style)
        return
    numbers = values.argmax(axis=1) if values.ndim == 2 and values.shape[1] > 1 else None
    labels = values.astype(str).ravel()
    for k, name in enumerate(classes):
        members = labels == name if numbers is None else numbers == k
        if members.any():
            ax.scatter(*(column[members] for column in data), color=_colours(len(classes))[k], label=name, **style)
