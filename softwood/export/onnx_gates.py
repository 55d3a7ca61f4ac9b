"""Parts of rows that go left at the gates of one level, with standard operators of ONNX.

Matrices have a column for each row of the table, and a row for each feature or node: to gather rows is many times
faster than to gather columns.
"""

from __future__ import annotations

import numpy as np

from softwood.export.onnx_builder import Builder
from softwood.fitted import FittedModel
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate

# Half-width and shape of a kernel, and a threshold that has cut it.
Cut = tuple[float, int]


def parts_of_level(
    builder: Builder, known: FittedModel, nodes: np.ndarray, points: str, has_missing: bool
) -> tuple[np.ndarray, str]:
    """Parts that go left at inner nodes.

    Returns
    -------
    nodes : the same, grouped by what their gates compute
    parts : (n_nodes, n_rows) in this order
    """
    forest = known.forest
    width = forest.width.astype(builder.dtype)  # a width may vanish in float32
    is_kernel = forest.gate[nodes] == Gate.KERNEL
    is_soft = is_kernel & (width[nodes] > 0)
    cuts = {node: _cuts_above(forest, node, width) for node in nodes[is_soft].tolist()}
    is_cut = np.array([bool(cuts.get(node, ((), ()))[0] or cuts.get(node, ((), ()))[1]) for node in nodes.tolist()])
    groups = {
        "crisp": nodes[is_kernel & ~is_soft],
        "free": nodes[is_soft & ~is_cut],
        "cut": nodes[is_soft & is_cut],
        "sums": nodes[~is_kernel],
    }
    found = []
    for name, own in groups.items():
        if not len(own):
            continue
        if name == "sums":
            part = _sums(builder, known, own, points, has_missing)
        else:
            x = builder.gather(points, forest.feature[own], axis=0)
            if name == "crisp":
                part = builder.real(builder.op("LessOrEqual", x, builder.column(forest.threshold[own])))
            else:
                part = _mass(builder, forest, x, forest.threshold[own], forest.width[own], forest.kernel[own])
                if name == "cut":
                    part = _part_of_rest(builder, forest, x, part, [cuts[node] for node in own.tolist()])
            if has_missing:
                part = builder.op("Where", builder.op("IsNaN", x), builder.column(forest.missing_left[own]), part)
        found.append(part)
    return np.concatenate(list(groups.values())), found[0] if len(found) == 1 else builder.op("Concat", *found, axis=0)


def _cuts_above(forest: SoftForest, node: int, width: np.ndarray) -> tuple[dict[Cut, float], dict[Cut, float]]:
    """Soft gates above a node that test the same feature: those it is left of, and those it is right of.

    The least mass of those on its right, and the greatest of those on its left, bound the node's part of the kernel. Of
    gates with the same kernel only the lowest, or the highest, threshold counts.
    """
    begin = int(forest._begin[node])
    j = forest.feature[node]
    uppers: dict[Cut, float] = {}
    lowers: dict[Cut, float] = {}
    child, at = node - begin, int(forest.parent[node])
    while at >= 0:
        above = begin + at
        if forest.gate[above] == Gate.KERNEL and forest.feature[above] == j and width[above] > 0:
            key, threshold = (float(forest.width[above]), int(forest.kernel[above])), float(forest.threshold[above])
            if forest.children_left[above] == child:
                uppers[key] = min(uppers.get(key, np.inf), threshold)
            else:
                lowers[key] = max(lowers.get(key, -np.inf), threshold)
        child, at = at, int(forest.parent[above])
    return uppers, lowers


def _part_of_rest(
    builder: Builder, forest: SoftForest, x: str, mass: str, cuts: list[tuple[dict[Cut, float], dict[Cut, float]]]
) -> str:
    """Part that goes left of what the gates above have left of the kernel."""
    upper, lower = (_bound(builder, forest, x, [sides[side] for sides in cuts], side) for side in range(2))
    one, none = builder.number(1.0), builder.number(0.0)
    part = builder.op("Div", builder.op("Sub", mass, lower), builder.op("Sub", upper, lower))
    part = builder.op("Where", builder.op("LessOrEqual", mass, lower), none, part)
    return builder.op("Where", builder.op("GreaterOrEqual", mass, upper), one, part)


def _bound(builder: Builder, forest: SoftForest, x: str, cuts: list[dict[Cut, float]], side: int) -> str:
    """Least mass (side 0) or greatest mass (side 1) at the thresholds of some gates, (n_nodes, n_rows)."""
    nowhere = -np.inf if side else np.inf
    bound: str | None = None
    for k in range(max(1, *map(len, cuts))):
        listed = [list(of_node.items())[k] if k < len(of_node) else ((1.0, 0), nowhere) for of_node in cuts]
        thresholds = np.array([threshold for _, threshold in listed])
        if not np.isfinite(thresholds).any():
            mass = builder.number(0.0 if side else 1.0)
        else:
            widths, kernels = (np.array([key[i] for key, _ in listed]) for i in range(2))
            mass = _mass(builder, forest, x, thresholds, widths, kernels)
        bound = mass if bound is None else builder.op("Max" if side else "Min", bound, mass)
    assert bound is not None
    return bound


def _mass(
    builder: Builder, forest: SoftForest, x: str, thresholds: np.ndarray, widths: np.ndarray, kernels: np.ndarray
) -> str:
    """Part of the kernels around `x` (n, n_rows) at or below thresholds, (n, n_rows)."""
    distance = _distance(builder, thresholds, x)
    edges, cdfs = forest.shapes.edges[kernels], forest.shapes.cdfs[kernels]
    out: str | None = None
    # A distribution function of straight pieces is a sum of ramps; that of the box has one.
    for k in range(edges.shape[1] - 1):
        length, rise = edges[:, k + 1] - edges[:, k], cdfs[:, k + 1] - cdfs[:, k]
        if not np.any((length > 0) & (rise > 0)):
            continue
        length = np.where(length > 0, length, 1.0)
        scaled = builder.op("Div", distance, builder.column(widths * length))
        ramp = builder.clip(builder.op("Sub", scaled, builder.column(edges[:, k] / length)))
        ramp = ramp if np.all(rise == 1.0) else builder.op("Mul", ramp, builder.column(rise))
        out = ramp if out is None else builder.op("Add", out, ramp)
    assert out is not None
    return out


def _distance(builder: Builder, thresholds: np.ndarray, x: str) -> str:
    """Thresholds less `x`; in float32 with what rounding takes off a threshold added again.

    Near a threshold the difference from its rounded value is exact, so a narrow kernel around a large number is as
    exact as its input.
    """
    distance = builder.op("Sub", builder.column(thresholds), x)
    rest = _rounded_off(builder, thresholds)
    return builder.op("Add", distance, builder.column(rest)) if rest.any() else distance


def _rounded_off(builder: Builder, numbers: np.ndarray) -> np.ndarray:
    """What rounding to the type of the graph takes off."""
    with np.errstate(invalid="ignore", over="ignore"):
        rest = numbers - numbers.astype(builder.dtype)
    return np.where(np.isfinite(rest), rest, 0.0)


def _sums(builder: Builder, known: FittedModel, nodes: np.ndarray, points: str, has_missing: bool) -> str:
    """Parts at gates with weighted sums."""
    forest = known.forest
    kinds = forest.gate[nodes]
    missing_left = builder.column(forest.missing_left[nodes])
    z, is_missing = _weighted_sums(builder, known, nodes, points, has_missing)
    part = ""
    if np.any(kinds == Gate.SIGMOID):
        part = builder.op("Sigmoid", z)
    if np.any(kinds == Gate.OBLIQUE):
        is_left = builder.real(builder.op("Greater", z, builder.number(0.0)))
        part = _choose(builder, kinds == Gate.OBLIQUE, is_left, part)
    is_blend = kinds == Gate.BLEND
    if np.any(is_blend):
        x = builder.gather(points, np.where(is_blend, forest.feature[nodes], 0), axis=0)
        threshold = np.where(is_blend, forest.threshold[nodes], 0.0)
        test = builder.real(builder.op("LessOrEqual", x, builder.column(threshold)))
        if has_missing and known.fill is not None:
            test = builder.op("Where", builder.op("IsNaN", x), missing_left, test)
        elif has_missing:
            no_test = builder.op("And", builder.op("IsNaN", x), builder.array(is_blend.reshape(-1, 1)))
            is_missing = builder.op("Or", is_missing, no_test)
        step = _smooth_step(builder, z, np.where(is_blend, forest.width[nodes], 1.0))
        blend = np.where(is_blend, forest.blend[nodes], 0.0)
        step, test = (
            builder.op("Mul", one, builder.column(weight)) for one, weight in ((step, blend), (test, 1.0 - blend))
        )
        part = _choose(builder, is_blend, builder.op("Add", step, test), part)
    return builder.op("Where", is_missing, missing_left, part) if is_missing else part


def _weighted_sums(
    builder: Builder, known: FittedModel, nodes: np.ndarray, points: str, has_missing: bool
) -> tuple[str, str]:
    """Weighted sums (n_nodes, n_rows), and where one of their values is missing; "" if missing values are filled.

    In float32 the sums are those of distances from the means, if they are known: products with large means would lose
    the digits that count.
    """
    forest = known.forest
    assert forest.weights is not None
    weights, bias = forest.weights[nodes], forest.bias[nodes]
    is_missing = ""
    is_nan = builder.op("IsNaN", points) if has_missing else ""
    center = np.zeros(forest.n_features) if forest.center is None else forest.center
    if builder.dtype == np.float64:
        center = np.zeros(forest.n_features)
    if center.any():
        points = builder.op("Sub", points, builder.column(center))
        points = builder.op("Sub", points, builder.column(_rounded_off(builder, center)))
        bias = bias + weights @ center
    if has_missing:
        filled = np.zeros(forest.n_features) if known.fill is None else known.fill - center
        points = builder.op("Where", is_nan, builder.column(filled), points)
        if known.fill is None:
            found = builder.op("MatMul", builder.constant(weights != 0), builder.real(is_nan))
            is_missing = builder.op("Greater", found, builder.number(0.5))
    z = builder.op("MatMul", builder.constant(weights), points)
    return builder.op("Add", z, builder.column(bias)), is_missing


def _choose(builder: Builder, mask: np.ndarray, part: str, other: str) -> str:
    """`part` in the columns of the mask, `other` elsewhere."""
    return builder.op("Where", builder.array(mask.reshape(-1, 1)), part, other) if other else part


def _smooth_step(builder: Builder, z: str, widths: np.ndarray) -> str:
    r = builder.clip(builder.op("Div", z, builder.column(widths)), -0.5, 0.5)
    square = builder.op("Mul", builder.op("Mul", r, r), builder.number(2.0))
    rest = builder.op("Mul", r, builder.op("Sub", builder.number(1.5), square))
    return builder.op("Add", rest, builder.number(0.5))
