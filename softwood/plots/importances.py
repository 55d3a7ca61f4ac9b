"""A plot of the importances of columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softwood.plots.drawing import bars_height, check_most, draw_bars, draws, largest, new_axes, rest_name, with_rest
from softwood.trees.tree import SoftTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_IMPORTANCES = 20


@draws
def plot_importances(models: Any, *, n: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw the importances of the columns, for one model or for several side by side.

    Parameters
    ----------
    models : fitted model, or dict of str to fitted model
        Estimators with ``feature_importances_``, such as those of softwood and scikit-learn, or `SoftTree`, all with
        the same columns.
    n : int or None, default=None
        Number of columns to show, those with the largest importances; the others are added up. None shows 20.

    Examples
    --------
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
    most = check_most("plot_importances", n, _MOST_IMPORTANCES)
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
    shown, rest = largest(table.mean(axis=0), most)
    bars = with_rest(table, shown, rest).T
    ax = new_axes(6.4, bars_height(bars.shape)) if ax is None else ax
    draw_bars(ax, bars, [names[j] for j in shown] + rest_name(rest), list(map(str, many)))
    ax.set(xlabel="importance", xlim=(0.0, None))
    return ax


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
