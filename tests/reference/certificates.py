"""Bounds of a tree's prediction over a box, by recursion from the definitions."""

import numpy as np

from softwood.trees.gates import Gate
from tests.reference.kernels import cdf


def box_bounds(tree, shapes, low, high, is_box):
    """Bounds of the prediction over the box, (n_outputs,) each.

    Parameters
    ----------
    low, high : (p,) ends of the box, nan where a value is missing
    is_box : (p,) whether all gates of a feature have the same box
    """

    def descend(node, path):
        """Bounds below a node that is reached by the branches of `path`."""
        if tree.children_left[node] < 0:
            return tree.value[node], tree.value[node]
        least, most = _parts(tree, shapes, node, low, high, path, is_box)
        sides = []
        if most > 0:
            sides.append((tree.children_left[node], [*path, (node, True)]))
        if least < 1:
            sides.append((tree.children_right[node], [*path, (node, False)]))
        found = [descend(*side) for side in sides]
        if len(found) == 1:
            return found[0]
        mixtures = [[part * a + (1 - part) * b for a, b in zip(*found, strict=True)] for part in (least, most)]
        return np.minimum(mixtures[0][0], mixtures[1][0]), np.maximum(mixtures[0][1], mixtures[1][1])

    return descend(0, [])


def _parts(tree, shapes, node, low, high, path, is_box):
    """Smallest and largest part that goes left."""
    j = tree.feature[node]
    if tree.gate[node] == Gate.KERNEL:
        if np.isnan(low[j]):
            return tree.missing_left[node], tree.missing_left[node]
        ends = []
        for x in (low[j], high[j]):
            mass = {k: _mass(tree, shapes, k, x) for k in [node, *(k for k, _ in path)] if tree.feature[k] == j}
            kernel_gates = [(k, is_left) for k, is_left in path if tree.gate[k] == Gate.KERNEL and tree.feature[k] == j]
            lower = max([0.0, *(mass[k] for k, is_left in kernel_gates if not is_left)])
            upper = min([1.0, *(mass[k] for k, is_left in kernel_gates if is_left)])
            ends.append((lower, mass[node], upper))
        (lower, at, upper), (lower2, at2, upper2) = ends
        if is_box[j]:
            most = 1.0 if lower >= upper else np.clip((at - lower) / (upper - lower), 0, 1)
            least = 0.0 if lower2 >= upper2 else np.clip((at2 - lower2) / (upper2 - lower2), 0, 1)
            return least, most
        left, right = (at2 - lower, at - lower2), (upper2 - at, upper - at2)  # least and most mass on each side
        most = 0.0 if left[1] <= 0 else left[1] / (left[1] + max(right[0], 0.0))
        least = 1.0 if right[1] <= 0 else max(left[0], 0.0) / (max(left[0], 0.0) + right[1])
        return (least, most) if least <= most else (0.0, 1.0)
    weights = tree.weights[node]
    used = np.flatnonzero(weights)
    if np.isnan(low[used]).any() or (tree.gate[node] == Gate.BLEND and np.isnan(low[j])):
        return tree.missing_left[node], tree.missing_left[node]
    sums = [tree.bias[node] + sum(pick(weights[k] * low[k], weights[k] * high[k]) for k in used) for pick in (min, max)]
    if tree.gate[node] == Gate.SIGMOID:
        return tuple(1 / (1 + np.exp(-z)) for z in sums)
    if tree.gate[node] == Gate.OBLIQUE:
        return tuple(float(z > 0) for z in sums)
    steps = [0.5 + 1.5 * r - 2 * r**3 for r in np.clip(np.array(sums) / tree.width[node], -0.5, 0.5)]
    passes = [float(x <= tree.threshold[node]) for x in (high[j], low[j])]
    blend = tree.blend[node]
    return tuple(blend * step + (1 - blend) * test for step, test in zip(steps, passes, strict=True))


def _mass(tree, shapes, node, x):
    return float(cdf(tree.threshold[node], x, tree.width[node], shapes[tree.kernel[node]]))
