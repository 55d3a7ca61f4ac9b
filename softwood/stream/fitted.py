"""Models on streams as `FittedModel`: their trees as they are now, and the growing trees that predict."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from softwood.core.columns import Columns
from softwood.fitted import FittedModel
from softwood.stream.encoding import read_growing_table
from softwood.stream.growing.forest import GrowingForest
from softwood.stream.growing.hoeffding import HoeffdingTree
from softwood.stream.loops.layout import PLAIN


def fitted_stream(model: Any) -> FittedModel:
    """A fitted model of `softwood.stream`."""
    trees, name = model._finished, type(model).__name__
    return FittedModel(
        name,
        trees,
        model.columns_,
        has_names=hasattr(model, "feature_names_in_"),
        growing_reader=read_growing_table,
        fill=trees.center,
        classes=tuple(np.asarray(model.classes_).tolist()) if is_classifier(model) else None,
        differs=_differs(model.growth_, name, "tree_"),
        gradient=model.input_gradient,
        growth=model.growth_,
    )


def fitted_river(model: Any) -> FittedModel:
    """A model of `softwood.stream.river` that has learned something."""
    trees, places, name = model.snapshot(), model._places, type(model).__name__
    kinds = (set(places.numbers), set(places.categories), set(places.dates))
    both = sorted(map(str, (kinds[0] & kinds[1]) | (kinds[0] & kinds[2]) | (kinds[1] & kinds[2])))
    if both:
        raise ValueError(
            f"Feature {both[0]!r} of {name} was of several kinds: a number, a category or a date in some rows, and "
            "another of these in others."
        )
    first: dict[Any, int] = dict(places.numbers)
    first |= {key: min(known.values()) for key, known in places.categories.items() if known}
    first |= {key: at for key, (_, at) in places.dates.items()}
    inputs = sorted(first, key=lambda key: first[key])
    source = np.empty(len(places.names), dtype=np.int64)
    categories: list[tuple | None] = []
    for j, key in enumerate(inputs):
        known = places.categories.get(key)
        if key in places.dates:
            date, at = places.dates[key]
            source[at : at + len(date.parts)] = j
        else:
            source[[places.numbers[key]] if known is None else list(known.values())] = j
        categories.append(None if known is None else tuple(map(_plain, known)))
    dates = tuple(places.dates[key][0] if key in places.dates else None for key in inputs) if places.dates else ()
    columns = Columns(tuple(places.names), source, tuple(categories), tuple(map(str, inputs)), dates=dates)
    codes = getattr(model, "_codes", None)
    answer = FittedModel(
        name,
        trees,
        columns,
        has_names=True,
        growing_reader=read_growing_table,
        in_any_order=True,
        fill=trees.center,
        classes=None if codes is None else tuple(map(_plain, codes)),
        differs=_differs(model._growth, name, "snapshot()"),
        gradient=lambda X: _gradient(model._growth, answer, X),
        growth=model._growth,
    )
    return answer


def _gradient(growth: Any, known: FittedModel, X: Any) -> np.ndarray:
    """Derivatives of the predictions, (n_rows, n_outputs, n_inputs); 0 for categories."""
    gradient = growth.input_gradient(known.encode(X))
    gradient[..., known.columns.is_step] = 0.0
    return known.columns.add_up(gradient)


def _differs(growth: Any, name: str, tree: str) -> str:
    """Why the trees alone do not predict what the model does; `tree` is what has a copy of them."""
    if isinstance(growth, GrowingForest) and not growth.is_plain:
        return (
            f"The trees of this {name} vote with weights, or predict with models in their leaves. Set voting='mean' "
            f"and soft_share=1, or export its {tree.replace('tree_', 'forest_')}, the plain mean of its trees."
        )
    if isinstance(growth, HoeffdingTree) and growth.settings.leaf_prediction != PLAIN:
        return (
            f"The leaves of this {name} predict with models of their own. Set leaf_prediction to 'mc' (classes) or "
            f"'mean' (targets), or export its {tree}, whose leaves hold class shares or means."
        )
    return ""


def _plain(label: Any) -> Any:
    """A label as a Python object, if it was one of numpy's."""
    return label.item() if isinstance(label, np.generic) else label
