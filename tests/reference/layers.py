"""Trees of layers, row by row and gate by gate, in plain Python."""

import math

import numpy as np

from softwood.trees.gates import Gate
from softwood.trees.loops.layout import (
    BIAS,
    BLEND_AT,
    FEATURE,
    KIND,
    LEFT,
    MISSING_LEFT,
    RIGHT,
    SHAPE,
    THRESHOLD,
    WIDTH,
)


def kernel_mass(distance, width, edges, cdf):
    if width == 0:
        return float(distance >= 0)
    return float(np.interp(distance / width, edges, cdf))


def smooth_step(z, width):
    u = min(max(z / width, -0.5), 0.5)
    return 0.5 + 1.5 * u - 2 * u**3


def part_of(x, gate, bounds, trees, weights, numbers):
    """Part that goes left; `bounds` are, for each feature, the ends of the kernel that is in play."""
    kind, feature = trees.table[gate, KIND], trees.table[gate, FEATURE]
    threshold, width, blend = numbers[gate, [THRESHOLD, WIDTH, BLEND_AT]]
    if kind == Gate.KERNEL:
        if math.isnan(x[feature]):
            return numbers[gate, MISSING_LEFT], None
        shape = trees.table[gate, SHAPE]
        mass = kernel_mass(threshold - x[feature], width, trees.edges[shape], trees.cdfs[shape])
        low, high = bounds.get(feature, (0.0, 1.0))
        return (1.0 if mass >= high else 0.0 if mass <= low else (mass - low) / (high - low)), mass
    needed = weights[gate] != 0
    if np.isnan(x[needed]).any() or (kind == Gate.BLEND and math.isnan(x[feature])):
        return numbers[gate, MISSING_LEFT], None
    z = float(weights[gate][needed] @ x[needed]) + numbers[gate, BIAS]
    if kind == Gate.SIGMOID:
        return 1 / (1 + math.exp(-z)), None
    if kind == Gate.OBLIQUE:
        return float(z > 0), None
    return blend * smooth_step(z, width) + (1 - blend) * (x[feature] <= threshold), None


def shares(x, t, trees, weights, numbers):
    """Shares of a row in the gates and in the leaves of a tree that it reaches, by their numbers."""
    gates, leaves = {}, {}

    def go(code, share, bounds):
        if code < 0:
            leaves[-1 - code] = share
            return
        gates[code] = share
        part, mass = part_of(x, code, bounds, trees, weights, numbers)
        feature = trees.table[code, FEATURE]
        low, high = bounds.get(feature, (0.0, 1.0))
        if part > 0:
            go(
                trees.table[code, LEFT],
                share * part,
                bounds | ({} if mass is None else {feature: (low, min(mass, high))}),
            )
        if part < 1:
            below = bounds | ({} if mass is None else {feature: (max(mass, low), high)})
            go(trees.table[code, RIGHT], share - share * part, below)

    is_lone = trees.gates[t] == trees.gates[t + 1]
    go(-1 - trees.leaves[t] if is_lone else trees.gates[t], 1.0, {})
    return gates, leaves


def sums(points, trees, weights, numbers, value):
    """Sums of leaf values weighted by shares, (n, n_trees, n_outputs)."""
    out = np.zeros((len(points), len(trees.gates) - 1, value.shape[1]))
    for i, x in enumerate(points):
        for t in range(out.shape[1]):
            for leaf, share in shares(x, t, trees, weights, numbers)[1].items():
                out[i, t] += share * value[leaf]
    return out


def numeric_slopes(function, array, step=1e-6):
    """Derivative of a function of no arguments by each number of an array that it reads, by central differences."""
    slopes = np.zeros(array.shape)
    for at in np.ndindex(array.shape):
        before = array[at]
        if np.isnan(before):
            continue
        array[at] = before + step
        above = function()
        array[at] = before - step
        slopes[at] = (above - function()) / (2 * step)
        array[at] = before
    return slopes
