"""Picture of how the number of leaves and the bandwidth of a kernel tree were chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softwood.plots.drawing import drawing, draws, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@draws
def plot_size_path(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the held-out loss by the number of leaves, with a line for each bandwidth.

    The band is one standard error around the line of the chosen bandwidth. A vertical line shows the size of the tree.
    A tree of more than 2 000 rows is compared on samples, and has more leaves than the best tree of a sample.

    Parameters
    ----------
    model : fitted KernelTreeClassifier or KernelTreeRegressor
        A tree whose size was chosen from the data.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.plots import plot_size_path
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot_size_path(KernelTreeClassifier(random_state=0).fit(X, y))
    >>> ax.get_xlabel()
    'leaves'
    """
    check_is_fitted(model)
    path = getattr(model, "size_path_", None)
    if path is None:
        raise ValueError(
            "plot_size_path needs a kernel tree with max_leaf_nodes='auto' or 'small'; "
            f"this {type(model).__name__} has no size_path_."
        )
    if not len(path["loss"]):
        raise ValueError("plot_size_path: there were too few different rows to compare sizes.")
    ax = new_axes(6.4, 4.2) if ax is None else ax
    # A bandwidth that was given and not chosen is the only one, and the path counts it in units of itself.
    scales = np.unique(path["bandwidth"])
    is_chosen = len(scales) > 1 or scales[0] == getattr(model, "bandwidth_", np.nan)
    chosen = model.bandwidth_ if is_chosen else scales[0]
    shades = drawing("cm").viridis(np.linspace(0.0, 0.9, len(scales)))
    for scale, shade in zip(scales, shades, strict=True):
        rows = path["bandwidth"] == scale
        sizes, losses = path["max_leaf_nodes"][rows], path["loss"][rows]
        label = f"bandwidth {scale:g}" if is_chosen else "as given"
        ax.plot(sizes, losses, color=shade, linewidth=2.2 if scale == chosen else 1.0, label=label)
        if scale == chosen:
            errors = path["standard_error"][rows]
            ax.fill_between(sizes, losses - errors, losses + errors, color=shade, alpha=0.15, linewidth=0)
    n_leaves = model.get_n_leaves()
    ax.axvline(n_leaves, color="0.3", linestyle="--", linewidth=1.0, label=f"this tree, {n_leaves} leaves")
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_formatter(drawing("ticker").ScalarFormatter())
    ax.set(xlabel="leaves", ylabel="held-out loss")
    ax.legend(fontsize="small")
    return ax
