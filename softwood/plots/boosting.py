"""Plots of the losses of boosting: by round, and of the trials that chose its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softwood.plots.drawing import drawing, draws, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@draws
def plot_loss(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the loss after each round of boosting, or after each pass of a model trained by gradient descent.

    There is a line for the training rows and one for the validation rows, if there were any; their score, if `scoring`
    names one, has an axis of its own. A vertical line shows the number of rounds that the model keeps.

    Parameters
    ----------
    model : fitted estimator with ``history_``
        The model whose training is drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from softwood import KernelBoostingClassifier
    >>> from softwood.plots import plot_loss
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = KernelBoostingClassifier(max_iter=20, bandwidth=0.1)
    >>> ax = plot_loss(model.fit(X[::2], y[::2], X_val=X[1::2], y_val=y[1::2]))
    >>> [line.get_label() for line in ax.lines][:2]
    ['training rows', 'validation rows']
    """
    check_is_fitted(model)
    lines = [line for line in getattr(model, "history_", []) if "train_loss" in line]
    if not lines:
        raise ValueError(f"plot_loss needs a model with losses in history_; this {type(model).__name__} has none.")
    lines = [line for line in lines if line["stage"] == lines[-1]["stage"]]
    ax = new_axes(6.4, 4.2) if ax is None else ax
    for name, label, shade in (
        ("train_loss", "training rows", "#999999"),
        ("validation_loss", "validation rows", "#1f77b4"),
    ):
        shown = [(line["iteration"], line[name]) for line in lines if name in line]
        if shown:
            ax.plot(*zip(*shown, strict=True), color=shade, label=label)
    scores = [(line["iteration"], line["validation_score"]) for line in lines if "validation_score" in line]
    if scores:
        beside = ax.twinx()
        (drawn,) = beside.plot(*zip(*scores, strict=True), color="#1f77b4")
        beside.set_ylabel("score")
        ax.plot([], [], color=drawn.get_color(), label="score of the validation rows")
    n_kept = getattr(model, "n_iter_", None)
    if n_kept is not None:
        ax.axvline(n_kept, color="0.3", linestyle="--", linewidth=1.0, label=f"this model, {n_kept}")
    ax.set(xlabel="round" if lines[-1]["stage"] == "boost" else "pass", ylabel="loss")
    ax.legend(fontsize="small")
    return ax


@draws
def plot_search(model: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the held-out losses of the trials that chose bandwidth, leaves and rounds of boosting.

    Trials have a large learning rate; the dashed line is the run with the learning rate of the model, which decides on
    the number of rounds. Rounds are counted in units of the learning rate, so that all runs can be compared. The point
    on each line is its smallest loss.

    Parameters
    ----------
    model : fitted KernelBoostingClassifier or KernelBoostingRegressor
        A model with ``search_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelBoostingClassifier
    >>> from softwood.plots import plot_search
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plot_search(KernelBoostingClassifier(random_state=0).fit(X, y))
    >>> ax.get_ylabel()
    'held-out loss'
    """
    check_is_fitted(model)
    trials = getattr(model, "search_", None)
    if not trials:
        raise ValueError(
            "plot_search needs a boosting model that has chosen its bandwidth, leaves or rounds; "
            f"this {type(model).__name__} has no search_."
        )
    ax = new_axes(6.4, 4.2) if ax is None else ax
    shades = drawing("cm").viridis(np.linspace(0.0, 0.9, len(trials)))
    for trial, shade in zip(trials, shades, strict=True):
        losses = np.asarray(trial["losses"])[1:]
        steps = trial["learning_rate"] * np.arange(1, len(losses) + 1)
        style = {"linestyle": "--", "color": "black"} if trial["stage"] == "rounds" else {"color": shade}
        ax.plot(steps, losses, linewidth=1.2, label=_label(trial), **style)
        best = trial["n_rounds"] - 1
        ax.plot(steps[best], losses[best], marker="o", markersize=4, color=style["color"])
    # The end of the curves is what decides; their beginning would make it invisible.
    smallest = [trial["loss"] for trial in trials]
    best, worst, start = min(smallest), max(smallest), max(trial["losses"][0] for trial in trials)
    margin = 0.1 * (start - worst)
    if margin > 0:
        ax.set_ylim(best - 0.2 * margin, worst + margin)
    ax.set(xlabel="rounds × learning rate", ylabel="held-out loss")
    ax.legend(fontsize="small")
    return ax


def _label(trial: dict[str, Any]) -> str:
    bandwidth, leaves = trial["bandwidth"], trial["max_leaf_nodes"]
    words = [] if bandwidth is None else [f"bandwidth {bandwidth:g}"]
    if trial["crisp_every"]:
        words.append(f"one round of {trial['crisp_every']} crisp")
    if trial.get("trend"):  # older models have none
        words.append("linear trend")
    words.append("any number of leaves" if leaves is None else f"{leaves} leaves")
    words += {
        "min_mass": [f"mass {trial['min_mass']:g}"],
        "categories": [f"categories: {trial['categories']}"],
        "n_features": [f"{trial['max_features']} columns"],
        "rounds": [f"{trial['n_rounds']} rounds"],
    }.get(trial["stage"], [])
    return ", ".join(words)
