"""A plot of the rows in the leaves of a tree: their classes, or histograms of their targets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softwood.base import read_weights
from softwood.core.parameters import check_count
from softwood.explanations.nodes import node_table
from softwood.explanations.one_tree import read_targets
from softwood.fitted import FittedModel
from softwood.plots.drawing import (
    REST,
    colours,
    draws,
    in_lines,
    largest,
    legend_above,
    new_axes,
    rest_name,
    short,
    with_rest,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LEAVES = 12
_MOST_CLASSES = 10
_BINS = 20


@draws
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
        The model to draw.
    X : array-like or data frame of shape (n_rows, n_features_in)
        The rows.
    y : array-like of shape (n_rows,)
        Labels or targets of the rows.
    leaves : sequence of int or None, default=None
        The leaves to show. None shows all, or if there are more than 12, the 12 with the largest weight and the sum of
        the others.
    sample_weight : array-like of shape (n_rows,) or None, default=None
        Weights of the rows.
    output : int or None, default=None
        The target to draw, if there are several.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import LinearDiscriminantTreeClassifier
    >>> from softwood.plots import plot_leaf_distribution
    >>> iris = load_iris(as_frame=True)
    >>> model = LinearDiscriminantTreeClassifier(random_state=0).fit(iris.data, iris.target_names[iris.target])
    >>> ax = plot_leaf_distribution(model, iris.data, iris.target_names[iris.target])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['setosa', 'versicolor', 'virginica']
    """
    known = FittedModel.of(model, "plot_leaf_distribution")
    if known.is_bare:
        raise TypeError(f"plot_leaf_distribution takes a fitted estimator, not a SoftTree. Got {model!r}.")
    if y is None:
        raise ValueError("plot_leaf_distribution requires y to be passed, but the target y is None.")
    known.single_tree("plot_leaf_distribution")
    table = node_table(known, X, y, sample_weight)
    groups = _leaf_groups(table, leaves)
    weights = np.array([table["weight"][group].sum() for group in groups])
    ax = new_axes(max(4.8, 0.62 * len(groups) + 1.6), 4.4) if ax is None else ax
    if known.classes is not None:
        amounts = np.nan_to_num(table["weight"][:, None] * table["distribution"])
        sums = np.array([amounts[group].sum(axis=0) for group in groups])
        _draw_classes(ax, sums / np.where(weights > 0, weights, 1.0)[:, None], sums.sum(axis=0), known.outputs.names)
    else:
        _draw_histograms(ax, known, (X, y, sample_weight), groups, output)
    labels = [str(g[0]) if len(g) == 1 else f"{len(g)} others" for g in groups]
    ax.set_xticks(np.arange(len(groups)), [f"{a}\n({_short(w)})" for a, w in zip(labels, weights, strict=True)])
    ax.set(xlabel="leaf (weight of the rows)", xlim=(-0.6, len(groups) - 0.4))
    return ax


def _leaf_groups(table: dict[str, np.ndarray], leaves: Sequence[int] | None) -> list[np.ndarray]:
    """Leaves in each place of the picture: one leaf, or in the last place possibly all others."""
    known = table["node"][table["is_leaf"]]
    if leaves is None:
        shown, rest = largest(table["weight"][known], _MOST_LEAVES)
        groups = [known[[k]] for k in np.sort(shown)]
        return [*groups, known[rest]] if len(rest) else groups
    wanted = np.asarray(leaves)
    if wanted.ndim != 1 or len(wanted) == 0 or not np.all(np.isin(wanted, known)):
        shown_names = ", ".join(map(str, known[:10])) + (", ..." if len(known) > 10 else "")
        raise ValueError(f"The 'leaves' parameter must be numbers of leaves ({shown_names}). Got {leaves!r} instead.")
    return [np.array([leaf]) for leaf in wanted.tolist()]


def _short(number: float) -> str:
    """A weight in a few characters."""
    return f"{number:.0f}" if number == round(number) or number >= 100 else f"{number:.3g}"


def _draw_classes(ax: Any, parts: np.ndarray, totals: np.ndarray, names: tuple[str, ...]) -> None:
    """Stacked bars: the classes in each leaf (n_leaves, n_classes)."""
    shown, rest = largest(totals, _MOST_CLASSES)
    shown = np.sort(shown)
    palette = [*map(tuple, colours(len(shown))), *([REST] if len(rest) else [])]
    below = np.zeros(len(parts))
    labels = [short(names[k]) for k in shown] + rest_name(rest)
    for height, colour, label in zip(with_rest(parts, shown, rest).T, palette, labels, strict=True):
        ax.bar(np.arange(len(parts)), height, bottom=below, width=0.8, color=colour, label=label)
        below = below + height
    ax.set(ylabel="share of the class", ylim=(0.0, 1.0))
    legend_above(ax, labels)


def _draw_histograms(
    ax: Any, known: FittedModel, data: tuple[Any, Any, Any], groups: list[np.ndarray], output: int | None
) -> None:
    """A vertical histogram of the target in each leaf, and a line at the prediction of the leaf."""
    X, y, sample_weight = data
    tree = known.tree()
    column = _check_output(output, tree.n_outputs)
    shares = known.memberships(X, tree).tocsc()
    target = read_targets(known, y, shares.shape[0])[:, column]
    weights = read_weights(sample_weight, len(target))
    edges = np.histogram_bin_edges(target, bins=_BINS)
    for place, group in enumerate(groups):
        here = np.asarray(shares[:, group].sum(axis=1)).ravel() * weights
        counts, _ = np.histogram(target, bins=edges, weights=here)
        wide = 0.8 * counts / (counts.max() or 1.0)
        ax.barh(edges[:-1], wide, height=np.diff(edges), left=place - 0.4, align="edge", color=colours(1)[0])
        if len(group) == 1:
            ax.hlines(tree.value[group[0], column], place - 0.4, place + 0.4, color="black")
    ax.set_ylabel(in_lines(_target_name(y, column, tree.n_outputs)))


def _target_name(y: Any, column: int, n: int) -> str:
    if hasattr(y, "columns"):
        return str(y.columns[column])
    return str(getattr(y, "name", None) or "target") if n == 1 else f"target {column}"


def _check_output(output: Any, n: int) -> int:
    if output is None and n > 1:
        raise ValueError(f"The 'output' parameter must say which of the {n} targets to draw.")
    return check_count("plot_leaf_distribution", "output", 0 if output is None else output, low=0, high=n - 1)
