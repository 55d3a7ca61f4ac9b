"""Prediction surfaces over two columns, with the regions of a tree's leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from softwood.core.columns import column_titles
from softwood.core.encoding import read_table
from softwood.core.parameters import check_count
from softwood.plots.drawing import colours, drawing, draws, in_lines, short
from softwood.plots.partition import partition_lines
from softwood.plots.plane import limits, numbers, plane_table, two_columns
from softwood.trees.tree import SoftTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DEPTH = 0.75  # depth of the colour where a class is certain; below 1, so that points stand out


@draws
def plot_surface(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    features: Sequence | None = None,
    output: int | None = None,
    partition: bool = True,
    resolution: int = 200,
    ax: Axes | None = None,
) -> Axes:
    """Draw the predictions of a fitted model over two columns.

    Each class has a colour, which fades to white as the class probabilities become equal. The other columns are set to
    their median or most frequent category. If the model is a single tree of softwood, thin lines show the regions of
    its leaves, as in the crisp tree.

    Parameters
    ----------
    model : fitted classifier or regressor
        Any model with the methods of scikit-learn.
    X : array-like or data frame of shape (n_rows, n_features_in)
        Rows that determine the limits of the axes and the values of the other columns.
    y : array-like of shape (n_rows,) or None, default=None
        Labels or targets. If given, the rows are drawn as points in the colours of the surface.
    features : sequence of two int or str, or None, default=None
        Numbers or names of the columns of the axes. None uses the first two.
    output : int or None, default=None
        If given, draw only the probability of this class (its index in ``classes_``), or this one of several targets,
        with a colour bar.
    partition : bool, default=True
        Whether to draw the regions of the leaves.
    resolution : int, default=200
        Number of grid points along each axis.

    Examples
    --------
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.plots import plot_surface
    >>> from softwood.datasets import toy_classification
    >>> X, y = toy_classification("moons", random_state=0)
    >>> ax = plot_surface(KernelTreeClassifier(bandwidth=0.2).fit(X, y), X, y)
    >>> ax.get_xlabel()
    'x[0]'
    """
    collections = _matplotlib("collections")
    check_is_fitted(model)
    check_count("plot_surface", "resolution", resolution, low=2)
    X = X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(f"X must be a table of rows and columns. Got the shape {X.shape}.")
    names = column_titles(X)[0]
    pair = two_columns(features, X, "plot_surface")
    data = [numbers(X, j, names[j]) for j in pair]
    x_limits, y_limits = limits(data[0]), limits(data[1])
    xs, ys = np.linspace(*x_limits, resolution), np.linspace(*y_limits, resolution)
    table = plane_table(X, pair, (np.tile(xs, resolution), np.repeat(ys, resolution)))
    surface = _predictions(model, table, output).reshape(resolution, resolution, -1)

    ax = _matplotlib("pyplot").subplots()[1] if ax is None else ax
    how: dict[str, Any] = {"extent": (*x_limits, *y_limits), "origin": "lower", "aspect": "auto"}
    if is_classifier(model) and output is None:
        ax.imshow(_mixed(surface), **how)
    else:
        if is_classifier(model):
            how |= {"vmin": 0.0, "vmax": 1.0}
        image = ax.imshow(surface[..., 0], **how)
        figure: Any = ax.get_figure()
        bar = figure.colorbar(image, ax=ax)
        if is_classifier(model):
            bar.set_label(in_lines(f"probability of {model.classes_[output]}"))
    if partition and isinstance(getattr(model, "tree_", None), SoftTree):
        lines = _model_lines(model, table[:1], pair, (x_limits, y_limits))
        ax.add_collection(collections.LineCollection(lines, colors="0.3", linewidths=0.5), autolim=False)
    if y is not None:
        _draw_points(ax, model, data, y, output)
    ax.set(xlim=x_limits, ylim=y_limits, xlabel=in_lines(names[pair[0]]), ylabel=in_lines(names[pair[1]]))
    return ax


def _predictions(model: Any, table: Any, output: int | None) -> np.ndarray:
    """The values to draw: probabilities of all classes, or one number for each row, (n, n_outputs)."""
    if not is_classifier(model):
        values = np.asarray(model.predict(table), dtype=np.float64).reshape(len(table), -1)
        if output is None and values.shape[1] > 1:
            raise ValueError(f"The 'output' parameter must say which of the {values.shape[1]} targets to draw.")
    elif hasattr(model, "predict_proba"):
        values = np.asarray(model.predict_proba(table))
    else:
        values = (np.asarray(model.predict(table))[:, None] == model.classes_).astype(np.float64)
    if output is None:
        return values
    return values[:, [check_count("plot_surface", "output", output, low=0, high=values.shape[1] - 1)]]


def _model_lines(model: Any, row: Any, pair: tuple[int, int], ends: Any) -> list[np.ndarray]:
    """Borders of the leaves of an estimator's tree."""
    columns = model.columns_
    for j in pair:
        if not columns.is_number[j]:
            what = "dates" if columns.categories[j] is None else "categories"
            raise ValueError(f"Column {columns.inputs[j]!r} holds {what}; an axis of a surface needs numbers.")
    encoded, _ = read_table(model, row, reset=False, columns=columns)
    first, second = (int(np.flatnonzero(columns.source == j)[0]) for j in pair)
    return partition_lines(model.tree_, encoded[0], (first, second), ends)


def _draw_points(ax: Any, model: Any, data: list[np.ndarray], y: Any, output: int | None) -> None:
    values = np.asarray(y)
    if len(values) != len(data[0]):
        raise ValueError(f"y must have as many rows as X. Got {len(values)} rows, X has {len(data[0])}.")
    style: dict[str, Any] = {"s": 14, "edgecolors": "white", "linewidths": 0.5}
    is_matrix = values.ndim == 2 and values.shape[1] > 1
    if not is_classifier(model) or output is not None:
        if is_matrix:
            values = values[:, output or 0]
        elif is_classifier(model):
            values = values.ravel() == model.classes_[output]
        image = ax.images[-1]
        ax.scatter(*data, c=values.astype(np.float64), cmap=image.cmap, norm=image.norm, **style)
        return
    labels = model.classes_[values.argmax(axis=1)] if is_matrix else values.ravel()
    for name, colour in zip(model.classes_, colours(len(model.classes_)), strict=True):
        members = labels == name
        ax.scatter(data[0][members], data[1][members], color=colour, label=short(name), **style)


def _mixed(probabilities: np.ndarray) -> np.ndarray:
    """Colours (..., 3): white where all classes are equally probable, deep where one is certain."""
    n = probabilities.shape[-1]
    guess = 1 / n if n > 1 else 0.0
    strength = np.clip((probabilities - guess) / (1 - guess), 0.0, 1.0)
    return np.clip(1.0 - _DEPTH * strength @ (1.0 - colours(n)), 0.0, 1.0)


def _matplotlib(module: str) -> Any:
    return drawing(module, "Drawing a surface")
