"""Plain Python: a module with the nodes of a model and one function, which needs nothing but the standard library."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from softwood.fitted import FittedModel

# The functions of every exported module, below its tables.
FUNCTIONS = '''
def encode(row):
    """The numbers that the gates read, nan where missing, of a row: a sequence, or a dict by column names."""
    point = []
    for column, category in FEATURES:
        name, categories = INPUTS[column]
        cell = row.get(name) if isinstance(row, dict) else row[column]
        if cell is None or cell != cell:
            point.append(math.nan)
        elif category is None:
            point.append(float(cell))
        elif cell in categories:
            point.append(1.0 if cell == categories[category] else 0.0)
        else:
            point.append(math.nan if UNKNOWN_IS_MISSING else 0.0)
    return point


def sigmoid(z):
    if z >= 0.0:
        return 1.0 / (1.0 + math.exp(-z))
    e = math.exp(z)
    return e / (1.0 + e)


def softmax(scores):
    highest = max(scores)
    powers = [math.exp(score - highest) for score in scores]
    total = sum(powers)
    return [power / total for power in powers]


def kernel_mass(t, x, width, shape):
    """Part of the kernel around x that lies at or below t."""
    edges, cdf = KERNELS[shape]
    distance = t - x
    if distance >= width * edges[-1]:
        return 1.0
    if distance <= width * edges[0]:
        return 0.0
    z = distance / width
    k = 1
    while k < len(edges) - 1 and z > edges[k]:
        k += 1
    return cdf[k - 1] + (cdf[k] - cdf[k - 1]) * (z - edges[k - 1]) / (edges[k] - edges[k - 1])


def weighted_sum(terms, bias, point):
    z = bias
    for j, weight in terms:
        x = point[j]
        z += weight * (FILL[j] if FILL is not None and x != x else x)
    return z


def oblique_part(gate, point):
    """Part of a row that goes left at a gate with a weighted sum."""
    if gate[0] == "blend":
        _, missing_left, j, threshold, width, blend, terms, bias = gate
    else:
        _, missing_left, terms, bias = gate
    z = weighted_sum(terms, bias, point)
    if z != z:
        return missing_left
    if gate[0] == "sigmoid":
        return sigmoid(z)
    if gate[0] == "oblique":
        return 1.0 if z > 0.0 else 0.0
    is_missing = point[j] != point[j]
    if is_missing and FILL is None:
        return missing_left
    test = missing_left if is_missing else float(point[j] <= threshold)
    r = min(max(z / width, -0.5), 0.5)
    return blend * (0.5 + 1.5 * r - 2.0 * r * r * r) + (1.0 - blend) * test


def leaf_shares(tree, point):
    """Iterate over the leaves that a row reaches: value and share."""
    # A cut is a gate that has divided the kernel of a feature: (feature, lower and upper end of the part that is left).
    cuts = []
    todo = [(0, 1.0, 0, None)]
    while todo:
        node, share, n_cuts, cut = todo.pop()
        del cuts[n_cuts:]
        if cut is not None:
            cuts.append(cut)
        while True:
            gate, left, right, value = tree[node]
            if gate is None:
                yield value, share
                break
            mass, lower, upper = None, 0.0, 1.0
            if gate[0] != "kernel":
                part = oblique_part(gate, point)
            else:
                _, part, j, threshold, width, shape = gate
                x = point[j]
                if x == x:
                    mass = kernel_mass(threshold, x, width, shape)
                    for feature, low, high in reversed(cuts):
                        if feature == j:
                            lower, upper = low, high
                            break
                    part = 1.0 if mass >= upper else 0.0 if mass <= lower else (mass - lower) / (upper - lower)
            if part >= 1.0 or part <= 0.0:
                node = left if part >= 1.0 else right
                continue
            to_left = share * part
            todo.append((right, share - to_left, len(cuts), None if mass is None else (j, mass, upper)))
            share = to_left
            if mass is not None:
                cuts.append((j, lower, mass))
            node = left


def predict(row):
    """Predictions for a row: a list of class probabilities, or of targets."""
    point = encode(row)
    total = [0.0] * len(BASE)
    for first, tree in TREES:
        own = [0.0] * N_VALUES
        for value, share in leaf_shares(tree, point):
            for k, v in enumerate(value):
                own[k] += share * v
        if TREE_LINK == "softmax":
            own = softmax(own)
        for k, v in enumerate(own):
            total[first + k] += v
    scores = [v * FACTOR + base for v, base in zip(total, BASE)]
    if LINK == "logistic":
        return [sigmoid(-scores[0]), sigmoid(scores[0])]
    if LINK == "softmax":
        return softmax(scores)
    if LINK == "exp":
        return [math.exp(min(score, 709.0)) for score in scores]
    return scores


def label(row):
    """The most probable class of a row; the first of several."""
    probabilities = predict(row)
    return CLASSES[probabilities.index(max(probabilities))]
'''


def to_python(model: Any) -> str:
    """The text of a Python module that predicts as the model does, row by row, without any package.

    Its ``predict(row)`` takes a sequence, or a dict by column names, and returns a list; ``label(row)`` returns the
    most probable class. None and nan are missing values.

    Parameters
    ----------
    model : fitted estimator, SoftTree, SoftForest or FittedModel
        The model to export.

    Returns
    -------
    str
        The text of the module.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.export import to_python
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KernelTreeClassifier(bandwidth=0.1, max_depth=2).fit(X, y)
    >>> module = {}
    >>> exec(to_python(model), module)
    >>> bool(np.allclose(module["predict"](X[70]), model.predict_proba(X[70:71])[0]))
    True
    """
    known = FittedModel.of(model, "to_python").portable().one_hot()
    forest, columns = known.forest, known.columns
    kernels = [(e.tolist(), c.tolist()) for e, c in zip(forest.shapes.edges, forest.shapes.cdfs, strict=True)]
    tables = {
        "INPUTS": list(zip(columns.inputs, columns.categories, strict=True)),
        "FEATURES": known.features,
        "UNKNOWN_IS_MISSING": not known.grows,
        "FILL": None if known.fill is None else known.fill.tolist(),
        "CLASSES": known.classes,
        "OUTPUTS": known.outputs.columns,
        "KERNELS": kernels,
        "TREE_LINK": forest.link,
        "FACTOR": forest.factor,
        "BASE": forest.base.tolist(),
        "LINK": known.link,
        "N_VALUES": forest.value.shape[1],
    }
    lines = [f'"""A {known.kind} as plain Python: predict(row)."""', "", "import math", ""]
    lines += [line for name, table in tables.items() for line in _wrapped(f"{name} = {table!r}")]
    lines.append("# first output of each tree, and its nodes: gate, left and right child, value of a leaf")
    lines.append("TREES = [")
    for number, first in enumerate(forest.output.tolist()):
        lines.append(f"    ({first}, [")
        part = range(int(forest.offsets[number]), int(forest.offsets[number + 1]))
        lines += [f"        {_node(forest, node)!r}," for node in part]
        lines.append("    ]),")
    lines.append("]")
    return "\n".join(lines) + "\n" + FUNCTIONS


def _wrapped(line: str) -> list[str]:
    """A line, or several if it can be broken within its brackets."""
    if len(line) <= 120 or "[" not in line or "'" in line or '"' in line:
        return [line]
    return textwrap.wrap(line, 120, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)


def _node(forest: Any, node: int) -> tuple:
    from softwood.trees.gates import Gate

    left, right = int(forest.children_left[node]), int(forest.children_right[node])
    if left < 0:
        return None, -1, -1, forest.value[node].tolist()
    kind, missing = forest.gate[node], float(forest.missing_left[node])
    test = (int(forest.feature[node]), float(forest.threshold[node]), float(forest.width[node]))
    if kind == Gate.KERNEL:
        return ("kernel", missing, *test, int(forest.kernel[node])), left, right, None
    used = np.flatnonzero(forest.weights[node])
    terms = [(int(j), float(forest.weights[node, j])) for j in used]
    bias = float(forest.bias[node])
    if kind == Gate.BLEND:
        return ("blend", missing, *test, float(forest.blend[node]), terms, bias), left, right, None
    return ("sigmoid" if kind == Gate.SIGMOID else "oblique", missing, terms, bias), left, right, None
