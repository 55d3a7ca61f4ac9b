"""Picture of how many rows intervals or sets cover, beside how many they were asked to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_consistent_length

from softwood.plots.drawing import drawing, draws, new_axes, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Width of the band around the diagonal, in standard deviations of a share.
BAND = 2.0


@draws
def plot_coverage(
    model: Any,
    X: Any,
    y: Any,
    *,
    coverages: Sequence[float] = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
    groups: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of rows that intervals or sets cover, against the coverage that was asked for.

    The band is two standard deviations of the share of so many rows around the diagonal.

    Parameters
    ----------
    model : fitted and calibrated classifier or regressor
        A model with `predict_interval` or `predict_set`.
    X : array-like or data frame of shape (n_rows, n_features_in)
        Rows that the model neither learned from nor was calibrated with.
    y : array-like of shape (n_rows,)
        Labels or targets of these rows.
    coverages : sequence of float, default=(0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
        The coverages to ask for.
    groups : array-like of shape (n_rows,) or None, default=None
        Name of the group of each row: there is a line for each group. None is one line for all rows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from softwood import KernelForestRegressor
    >>> from softwood.plots import plot_coverage
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = KernelForestRegressor(20, random_state=0).fit(X[:300], y[:300])
    >>> ax = plot_coverage(model, X[300:], y[300:])
    >>> ax.get_ylabel()
    'rows covered'
    """
    truth = np.asarray(y).reshape(-1)
    check_consistent_length(X, truth)
    names = np.zeros(len(truth), dtype=np.int64) if groups is None else np.asarray(groups)
    check_consistent_length(truth, names)
    covered = np.array([_covered(model, X, truth, coverage) for coverage in coverages])
    ax = new_axes(5.2, 4.6) if ax is None else ax
    wanted = np.asarray(coverages, dtype=np.float64)
    kinds = np.unique(names)
    error = BAND * np.sqrt(wanted * (1.0 - wanted) * len(kinds) / len(truth))
    ax.plot(wanted, wanted, color="0.6", linewidth=1.0, linestyle="--")
    ax.fill_between(wanted, wanted - error, np.minimum(wanted + error, 1.0), color="0.6", alpha=0.2, linewidth=0)
    shades = drawing("cm").viridis(np.linspace(0.15, 0.85, len(kinds)))
    for kind, shade in zip(kinds.tolist(), shades, strict=True):
        found = covered[:, names == kind].mean(axis=1)
        ax.plot(wanted, found, color=shade, marker="o", label=None if groups is None else short(kind))
    ax.set(xlabel="coverage asked for", ylabel="rows covered")
    if groups is not None:
        ax.legend(fontsize="small")
    return ax


def _covered(model: Any, X: Any, truth: np.ndarray, coverage: float) -> np.ndarray:
    """Whether each row is covered, (n,) bool."""
    if hasattr(model, "predict_set"):
        sets = model.predict_set(X, coverage)
        place = {label: k for k, label in enumerate(model.classes_.tolist())}
        return np.array(
            [label in place and sets[i, place[label]] for i, label in enumerate(truth.tolist())], dtype=bool
        )
    if not hasattr(model, "predict_interval"):
        raise TypeError(f"plot_coverage takes models with predict_interval or predict_set. Got {model!r}.")
    ends = model.predict_interval(X, coverage)
    if ends.ndim != 2:
        raise ValueError(f"plot_coverage takes models of one target. This {type(model).__name__} has several.")
    return (ends[:, 0] <= truth) & (truth <= ends[:, 1])
