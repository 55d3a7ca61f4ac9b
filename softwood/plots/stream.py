"""Plots of trees on streams: the tree with its routing probabilities, and its growth along the stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from softwood.core.parameters import check_count, parameter_error
from softwood.fitted import FittedModel
from softwood.plots.drawing import colours, drawing, draws
from softwood.plots.tree import draw_tree
from softwood.plots.tree_text import DrawnTree
from softwood.stream.adapting import Adaptation
from softwood.trees.tree import SoftTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DRIFT = "#CC0000"
_ALARM = "#555555"


@draws
def plot_stream_tree(
    model: Any, ax: Axes | None = None, max_depth: int = 3, X: Any = None, *, tree: SoftTree | None = None
) -> Axes:
    """Draw a tree with its tests and the routing probabilities at its branches (figures 1 and 2 of the paper).

    This is `plot_tree` for rows of a stream and for snapshots.

    A box shows the test of a gate and alpha, the weight of the smooth step in it; a gate without a test shows the
    columns with the largest weights. ``P_L`` and ``P_R`` are the fractions of the mass of a node that go on to its left
    and right child. Bars show the class probabilities of the leaves; the bar of a node whose children are not drawn
    shows the mean of the leaves below it.

    Parameters
    ----------
    model : fitted estimator with a ``tree_``, or SoftTree
        The model to draw.
    max_depth : int, default=3
        Largest depth to draw.
    X : array-like or data frame of shape (n_rows, n_features_in), or None, default=None
        Rows over which the probabilities are averaged. If None, they are computed from the training mass of the nodes.
        A node resets its mass when it splits, so these masses belong to different periods of the stream; recent rows
        are more informative.
    tree : SoftTree or None, default=None
        A snapshot of the same model to draw, such as those of `adaptation`. None draws the current tree.

    Examples
    --------
    >>> from softwood.plots import plot_stream_tree
    >>> from softwood.stream import SEA, SoftHoeffdingTreeClassifier
    >>> X, y = SEA(seed=0).take(2_000)
    >>> model = SoftHoeffdingTreeClassifier(random_state=0).fit(X, y)
    >>> ax = plot_stream_tree(model, X=X)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0', '1']
    """
    max_depth = check_count("plot_stream_tree", "max_depth", max_depth, low=0)
    known = FittedModel.of(model, "plot_stream_tree")
    if tree is not None and not isinstance(tree, SoftTree):
        raise parameter_error("plot_stream_tree", "tree", "a SoftTree or None", tree)
    drawn = DrawnTree(known, known.tree() if tree is None else tree)
    weights = None if X is None else drawn.shares(X)
    whose = "" if X is None else " of rows"
    return draw_tree(drawn, weights, max_depth=max_depth, min_share=0.0, ax=ax, sides=("$P_L$", "$P_R$"), whose=whose)


def plot_growth(result: Adaptation, drifts: Sequence[float] | None = None, axes: Any = None) -> np.ndarray:
    """Draw how a model adapts along a stream: the norm of the gradient and the nodes added (figure 4 of the paper).

    Dashed lines are the alarms of the detector that watched the run.

    Parameters
    ----------
    result : Adaptation
        What `adaptation` returned.
    drifts : sequence of int or None, default=None
        Numbers of the rows at which the stream changes. They are drawn as red lines.
    axes : two matplotlib Axes or None, default=None
        Axes to draw into. None creates a new figure.

    Returns
    -------
    ndarray of shape (2,)
        The matplotlib Axes that were drawn into.

    Examples
    --------
    >>> from softwood.plots import plot_growth
    >>> from softwood.stream import Agrawal, SoftHoeffdingTreeClassifier
    >>> from softwood.stream import adaptation
    >>> stream = Agrawal(functions=(0, 2), drift_every=3000, seed=0)
    >>> result = adaptation(SoftHoeffdingTreeClassifier(random_state=0), stream, n_samples=6000)
    >>> axes = plot_growth(result, drifts=[3000])
    >>> axes[1].get_ylabel()
    'nodes added'
    >>> [text.get_text() for text in axes[0].get_legend().get_texts()]
    ['drift', 'alarm']
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
    # a forest loses nodes with the trees that it replaces
    axes[1].set_ylim(min(0.0, 1.08 * float(result.n_added.min())), max(1.0, 1.08 * float(result.n_added.max())))
    axes[1].yaxis.get_major_locator().set_params(integer=True)
    for ax in axes:
        ax.set_xlim(0, edges[-1])
        for k, drift in enumerate(lines):
            ax.axvline(drift, color=_DRIFT, linewidth=1.0, label="drift" if k == 0 else None)
        for k, alarm in enumerate(result.drifts):
            ax.axvline(alarm, color=_ALARM, linewidth=1.0, linestyle="--", label="alarm" if k == 0 else None)
    if len(lines) or len(result.drifts):
        axes[0].legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize="small", frameon=False)
    return axes
