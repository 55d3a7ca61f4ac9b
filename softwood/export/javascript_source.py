"""JavaScript: the data of a model beside an evaluator that reads them, for node and for browsers."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import numpy as np

from softwood.fitted import FittedModel

# Entries with an element for each node that are arrays of the trees, by the name of the array.
NODE_ENTRIES = {
    "left": "children_left",
    "right": "children_right",
    "gate": "gate",
    "feature": "feature",
    "threshold": "threshold",
    "missingLeft": "missing_left",
    "width": "width",
    "kernel": "kernel",
    "blend": "blend",
    "bias": "bias",
    "value": "value",
}


def to_javascript(model: Any, *, name: str = "model") -> str:
    """A script that predicts as the model does, without dependencies.

    It defines ``softwood``, the functions of the evaluator, and a constant with the data of the model. With node's
    `require` it gives ``predict(row)``, ``label(row)``, ``softwood`` and ``model``. A row is an array, or an object by
    column names; null, undefined and NaN are missing values.

    Parameters
    ----------
    model : fitted estimator, SoftTree, SoftForest or FittedModel
        The model to export.
    name : str, default="model"
        Name of the constant.

    Returns
    -------
    str
        The script.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.export import to_javascript
    >>> model = KernelTreeClassifier(bandwidth=0.1, max_depth=2).fit(*load_iris(return_X_y=True))
    >>> "const iris = " in to_javascript(model, name="iris")
    True
    """
    if not (isinstance(name, str) and name.isascii() and name.isidentifier() and name != "softwood"):
        raise ValueError(f"The 'name' parameter of to_javascript must be a name of JavaScript. Got {name!r} instead.")
    # Neither the end of a script in a page nor a line separator may stand in the text.
    data = json.dumps(model_data(model, "to_javascript"), allow_nan=False).replace("<", "\\u003c")
    return (
        f"{evaluator_source()}\n"
        f"const {name} = {data};\n\n"
        'if (typeof module !== "undefined") {\n'
        "  module.exports = {\n"
        "    softwood,\n"
        f"    model: {name},\n"
        f"    predict: (row) => softwood.predict({name}, row),\n"
        f"    label: (row) => softwood.label({name}, row),\n"
        "  };\n"
        "}\n"
    )


def evaluator_source() -> str:
    """The text of evaluator.js, which predicts with the objects of `model_data`."""
    return files("softwood.export").joinpath("evaluator.js").read_text(encoding="utf-8")


def model_data(model: Any, caller: str = "model_data") -> dict[str, Any]:
    """What evaluator.js reads of a model, as plain lists and numbers; the file describes the entries."""
    known = FittedModel.of(model, caller).portable().one_hot()
    forest = known.forest
    inner = forest.children_left >= 0
    weights: list[list | None] = [None] * forest.n_nodes
    if forest.weights is not None:
        for node in np.flatnonzero(inner):
            used = np.flatnonzero(forest.weights[node])
            weights[node] = [used.tolist(), forest.weights[node, used].tolist()]
    nodes = {entry: getattr(forest, name).tolist() for entry, name in NODE_ENTRIES.items()}
    nodes["threshold"] = [None if np.isnan(t) else t for t in nodes["threshold"]]
    return {**common_entries(known), **nodes, "weights": weights}


def common_entries(known: FittedModel) -> dict[str, Any]:
    """The entries of `model_data` that have no element for each node."""
    forest, columns = known.forest, known.columns
    return {
        "kind": known.kind,
        "inputs": [
            {"name": name, "categories": None if categories is None else list(categories)}
            for name, categories in zip(columns.inputs, columns.categories, strict=True)
        ],
        "features": [[j, category] for j, category in known.features],
        "featureNames": list(columns.names),
        "unknownIsMissing": not known.grows,
        "fill": None if known.fill is None else known.fill.tolist(),
        "classes": None if known.classes is None else list(known.classes),
        "outputs": list(known.outputs.columns),
        "treeLink": forest.link,
        "base": forest.base.tolist(),
        "factor": forest.factor,
        "link": known.link,
        "kernels": [
            {"edges": edges.tolist(), "cdf": cdf.tolist()}
            for edges, cdf in zip(forest.shapes.edges, forest.shapes.cdfs, strict=True)
        ],
        "offsets": forest.offsets.tolist(),
        "first": forest.output.tolist(),
    }
