"""JSON with names of columns and classes, and back. The page on exports describes the format."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from softwood.core.columns import Columns
from softwood.core.parameters import check_integer
from softwood.fitted import FittedModel
from softwood.outputs import FINAL_LINKS
from softwood.stream.encoding import read_growing_table
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.nodes import LINKS, KernelShapes
from softwood.trees.tree import SoftTree

FORMAT, VERSION = "softwood-model", 1
LARGEST = float(np.finfo(np.float64).max)
GATES = {Gate.KERNEL: "kernel", Gate.SIGMOID: "sigmoid", Gate.OBLIQUE: "oblique", Gate.BLEND: "blend"}


def to_json(model: Any, *, indent: int | None = None) -> str:
    """Text of a model: columns, categories, classes, kernels, and the nodes of all trees.

    Numbers have all of their digits, so `from_json` gives a model with the same predictions.

    Parameters
    ----------
    model : fitted estimator, SoftTree, SoftForest or FittedModel
        The model to export.
    indent : int or None, default=None
        Number of spaces of each level, for people to read. None writes one line.

    Returns
    -------
    str
        JSON text.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.export import from_json, to_json
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelTreeClassifier(bandwidth=0.1, max_depth=2).fit(X, y)
    >>> bool((from_json(to_json(model)).predict(X) == model.predict_proba(X)).all())
    True
    """
    check_integer("to_json", "indent", indent, low=0, or_none=True)
    known = FittedModel.of(model, "to_json").portable().one_hot()
    trees, forest = known.trees, known.forest
    names = _distinct(known.columns.names)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "model": known.kind,
        "has_names": known.has_names,
        "inputs": _inputs(known),
        "unknown_category": "none" if known.grows else known.columns.handle_unknown,
        "features": [
            {"name": name, "input": j} | ({} if category is None else {"category": category})
            for name, (j, category) in zip(names, known.features, strict=True)
        ],
        "fill_missing": _list(known.fill),
        "center": _list(trees.center),
        "scale": _list(trees.scale),
        "classes": None if known.classes is None else list(known.classes),
        "kernels": [
            {"edges": _unpadded(edges), "cdf": cdf[: len(_unpadded(edges))].tolist()}
            for edges, cdf in zip(trees.shapes.edges, trees.shapes.cdfs, strict=True)
        ],
        "tree_link": trees.link,
        "combine": "one" if isinstance(trees, SoftTree) else "mean" if forest.is_mean else "sum",
        "base": forest.base.tolist(),
        "link": known.link,
        "trees": [
            {"output": int(first), "nodes": _nodes(tree, names)}
            for tree, first in zip(forest, forest.output, strict=True)
        ],
    }
    return json.dumps(document, indent=indent, allow_nan=False, ensure_ascii=False)


def _inputs(known: FittedModel) -> list[dict[str, Any]]:
    return [
        {"name": name, "type": "number"}
        if categories is None
        else {"name": name, "type": "category", "categories": list(categories)}
        for name, categories in zip(known.columns.inputs, known.columns.categories, strict=True)
    ]


def _distinct(names: tuple[str, ...]) -> list[str]:
    """The names, with a number where a name has been there before."""
    taken: set[str] = set()
    out = []
    for name in names:
        new, k = name, 1
        while new in taken:
            k += 1
            new = f"{name} ({k})"
        taken.add(new)
        out.append(new)
    return out


def _list(array: np.ndarray | None) -> list | None:
    return None if array is None else array.tolist()


def _unpadded(edges: np.ndarray) -> list[float]:
    """Edges of a kernel without the repetitions of the last one that fill its row of the table."""
    last = len(edges) - 1
    while last > 1 and edges[last] == edges[last - 1]:
        last -= 1
    return edges[: last + 1].tolist()


def _nodes(tree: SoftTree, names: list[str]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    for node in range(tree.n_nodes):
        kind = Gate(int(tree.gate[node]))
        entry: dict[str, Any] = {"value": tree.value[node].tolist()}
        for name in ("mass", "impurity"):
            if np.isfinite(getattr(tree, name)[node]):
                entry[name] = float(getattr(tree, name)[node])
        if kind != Gate.LEAF:
            entry = {"gate": GATES[kind]} | _test(tree, node, kind, names) | entry
        out.append(entry)
    return out


def _test(tree: SoftTree, node: int, kind: Gate, names: list[str]) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "left": int(tree.children_left[node]),
        "right": int(tree.children_right[node]),
        "missing_left": float(tree.missing_left[node]),
    }
    if kind in (Gate.KERNEL, Gate.BLEND):
        entry |= {"feature": names[tree.feature[node]], "threshold": float(tree.threshold[node])}
        entry["width"] = float(tree.width[node])
    if kind == Gate.KERNEL:
        entry["kernel"] = int(tree.kernel[node])
        return entry
    assert tree.weights is not None  # checked when the tree was made
    used = np.flatnonzero(tree.weights[node])
    entry |= {"weights": {names[j]: float(tree.weights[node, j]) for j in used}, "bias": float(tree.bias[node])}
    return entry | ({"blend": float(tree.blend[node])} if kind == Gate.BLEND else {})


# Back


def from_json(text: str | bytes | Mapping) -> FittedModel:
    """Read a model from the text of `to_json`, or from the object that a parser has made of it.

    Parameters
    ----------
    text : str, bytes or mapping
        Text of `to_json`, or the object that a parser has made of it.

    Returns
    -------
    FittedModel
        Its ``predict`` gives the predictions of the model, and ``trees`` is the `SoftTree` or `SoftForest`.
    """
    document = text
    if isinstance(text, str | bytes):
        try:
            document = json.loads(text, parse_constant=_refuse_constant)
        except RecursionError as error:
            raise ValueError("from_json got JSON that is nested too deeply.") from error
        except json.JSONDecodeError as error:
            raise ValueError(f"from_json got text that is no JSON: {error}.") from error
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise ValueError(f"from_json takes an object whose 'format' is {FORMAT!r}.")
    if document.get("version") != VERSION:
        raise ValueError(f"from_json reads version {VERSION} of the format. Got {document.get('version')!r} instead.")
    columns, features, has_names = _read_columns(document)
    trees = _read_trees(document, features)
    fill = _numbers_or_none(document, "fill_missing")
    if fill is not None and len(fill) != len(features):
        raise ValueError(f"'fill_missing' must have {len(features)} numbers, got {len(fill)}.")
    classes = _get(document, "classes", lambda v: v is None or isinstance(v, list), "a list, or null")
    return FittedModel(
        _get(document, "model", _is_text, "text"),
        trees,
        columns,
        has_names=has_names,
        growing_reader=read_growing_table if document["unknown_category"] == "none" else None,
        fill=fill,
        classes=None if classes is None else tuple(classes),
        link=_get(document, "link", lambda v: v in FINAL_LINKS, f"one of {FINAL_LINKS}"),
    )


def _refuse_constant(name: str) -> float:
    raise ValueError(f"from_json got {name}; all numbers must be finite.")


def _get(entry: Mapping, key: str, is_right: Callable[[Any], bool], expected: str, where: str = "") -> Any:
    """Entry of an object, checked."""
    if key not in entry:
        raise ValueError(f"{key!r} is missing{where}.")
    value = entry[key]
    try:
        ok = is_right(value)
    except TypeError:  # cannot be compared with what is allowed
        ok = False
    if not ok:
        raise ValueError(f"{key!r} must be {expected}{where}. Got {value!r} instead.")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _is_below(n: int) -> Callable[[Any], bool]:
    return lambda value: _is_count(value) and value < n


def _is_part(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _is_width(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_number, value))


def _numbers_or_none(entry: Mapping, key: str) -> np.ndarray | None:
    value = _get(entry, key, lambda v: v is None or _is_numbers(v), "a list of numbers, or null")
    return None if value is None else np.array(value, dtype=np.float64)


def _is_list_of_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, Mapping) for entry in value)


def _read_columns(document: Mapping) -> tuple[Columns, list[str], bool]:
    inputs = _get(document, "inputs", _is_list_of_objects, "a list of objects")
    names, categories = [], []
    for j, entry in enumerate(inputs):
        where = f" in input {j}"
        names.append(_get(entry, "name", _is_text, "text", where))
        kind = _get(entry, "type", lambda v: v in ("number", "category"), "'number' or 'category'", where)
        known = None
        if kind == "category":
            known = tuple(_get(entry, "categories", lambda v: isinstance(v, list), "a list", where))
        categories.append(known)
    unknown = ("missing", "error", "none")
    handle = _get(document, "unknown_category", lambda v: v in unknown, f"one of {unknown}")
    listed = _get(document, "features", _is_list_of_objects, "a list of objects")
    features, source, shown = [], [], []
    for k, entry in enumerate(listed):
        where = f" in feature {k}"
        features.append(_get(entry, "name", _is_text, "text", where))
        source.append(_get(entry, "input", _is_below(len(names)), "the number of an input", where))
        shown.append(entry.get("category"))
    if len(set(features)) < len(features):
        raise ValueError("The names of features must differ.")
    columns = Columns(
        tuple(features), np.array(source, dtype=np.int64), tuple(categories), tuple(names),
        "missing" if handle == "none" else handle,
    )  # fmt: skip
    _check_categories(columns, shown)
    has_names = _get(document, "has_names", lambda v: isinstance(v, bool), "true or false")
    return columns, features, has_names


def _check_categories(columns: Columns, shown: list[Any]) -> None:
    """Each input must have its features in the order of its categories, as encoded tables have them."""
    for j, known in enumerate(columns.categories):
        of_input = [shown[k] for k in np.flatnonzero(columns.source == j)]
        if known is None:
            allowed: list[list] = [[None]]
        else:
            allowed = [list(range(len(known)))] + ([[1]] if len(known) == 2 else [])
        if of_input not in allowed:
            raise ValueError(f"Input {j} must have the features of its categories, in their order. Got {of_input}.")


def _read_trees(document: Mapping, features: list[str]) -> SoftTree | SoftForest:
    kernels = _get(document, "kernels", lambda v: _is_list_of_objects(v) and len(v) > 0, "a list of objects")
    shapes = []
    for k, kernel in enumerate(kernels):
        edges = _get(kernel, "edges", lambda v: _is_numbers(v) and len(v) > 1, "two or more numbers", f" in kernel {k}")
        cdf = _get(kernel, "cdf", _is_numbers, "a list of numbers", f" in kernel {k}")
        rises = np.all(np.diff(edges) > 0) and np.all(np.diff(cdf) >= 0)
        if len(edges) != len(cdf) or not rises or cdf[0] != 0.0 or abs(cdf[-1] - 1.0) > 1e-9:
            raise ValueError(f"Kernel {k} must have rising edges and as many distribution values, from 0 to 1.")
        shapes.append((np.array(edges), np.array(cdf)))
    common = {
        "n_features": len(features),
        "shapes": KernelShapes.of(shapes),
        "link": _get(document, "tree_link", lambda v: v in LINKS, f"one of {LINKS}"),
        "center": _numbers_or_none(document, "center"),
        "scale": _numbers_or_none(document, "scale"),
    }
    listed = _get(document, "trees", lambda v: _is_list_of_objects(v) and len(v) > 0, "a list of objects")
    trees, output = [], []
    for t, entry in enumerate(listed):
        nodes = _get(entry, "nodes", lambda v: _is_list_of_objects(v) and len(v) > 0, "a list", f" in tree {t}")
        output.append(_get(entry, "output", _is_count, "a number of at least 0", f" in tree {t}"))
        try:
            trees.append(_read_tree(nodes, features, common, len(shapes)))
        except ValueError as error:
            raise ValueError(f"Tree {t}: {error}") from error
    base = _get(document, "base", _is_numbers, "a list of numbers")
    how = ("one", "mean", "sum")
    combine = _get(document, "combine", lambda v: v in how and (v != "one" or len(trees) == 1), f"one of {how}")
    if combine == "one":
        return trees[0]
    return SoftForest.sum(trees, output, base) if combine == "sum" else SoftForest.mean(trees)


def _read_tree(nodes: list[Mapping], features: list[str], common: dict[str, Any], n_shapes: int) -> SoftTree:
    n, place = len(nodes), {name: j for j, name in enumerate(features)}
    number = {name: kind for kind, name in GATES.items()}
    columns: dict[str, np.ndarray] = {
        "children_left": np.full(n, -1), "children_right": np.full(n, -1), "gate": np.full(n, int(Gate.LEAF)),
        "feature": np.full(n, -1), "kernel": np.zeros(n, dtype=np.int64), "threshold": np.full(n, np.nan),
        "missing_left": np.full(n, 0.5), "width": np.zeros(n), "bias": np.zeros(n), "blend": np.zeros(n),
        "mass": np.full(n, np.nan), "impurity": np.full(n, np.nan),
    }  # fmt: skip
    weights: np.ndarray | None = None
    values = []
    for k, entry in enumerate(nodes):
        where = f" in node {k}"
        values.append(_get(entry, "value", lambda v: _is_numbers(v) and len(v) > 0, "a list of numbers", where))
        for name in ("mass", "impurity"):
            if name in entry:
                columns[name][k] = _get(entry, name, _is_number, "a number", where)
        if "gate" not in entry:
            continue
        kind = number[_get(entry, "gate", lambda v: v in number, f"one of {tuple(number)}", where)]
        columns["gate"][k] = kind
        columns["children_left"][k] = _get(entry, "left", _is_below(n), "the number of a node", where)
        columns["children_right"][k] = _get(entry, "right", _is_below(n), "the number of a node", where)
        columns["missing_left"][k] = _get(entry, "missing_left", _is_part, "a number in [0, 1]", where)
        if kind in (Gate.KERNEL, Gate.BLEND):
            columns["feature"][k] = place[_get(entry, "feature", lambda v: v in place, "a feature", where)]
            columns["threshold"][k] = _get(entry, "threshold", _is_number, "a number", where)
            columns["width"][k] = _get(entry, "width", _is_width, "at least 0", where)
        if kind == Gate.KERNEL:
            columns["kernel"][k] = _get(entry, "kernel", _is_below(n_shapes), "the number of a kernel", where)
            continue
        if weights is None:
            weights = np.zeros((n, len(features)))
        given = _get(entry, "weights", lambda v: isinstance(v, Mapping), "an object of numbers by feature", where)
        for name in given:
            _get(place, name, lambda _: True, "a feature", f" among the features, but has a weight{where}")
            weights[k, place[name]] = _get(given, name, _is_number, "a number", where)
        columns["bias"][k] = _get(entry, "bias", _is_number, "a number", where)
        if kind == Gate.BLEND:
            columns["blend"][k] = _get(entry, "blend", _is_part, "a number in [0, 1]", where)
    if len(set(map(len, values))) > 1:
        raise ValueError("All values must have the same length.")
    return SoftTree.from_nodes(value=np.array(values, dtype=np.float64), weights=weights, **columns, **common)
