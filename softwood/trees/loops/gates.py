"""Oblique gates: value and derivative with respect to ``z = weights @ x + bias``."""

import numpy as np

LEAF, KERNEL, SIGMOID, OBLIQUE, BLEND, SUBSET = -1, 0, 1, 2, 3, 4


def sigmoid(z):
    """Logistic function, without overflow, and without a branch: on which side of a gate a point is cannot be predicted."""
    e = np.exp(-abs(z))
    return (1.0 if z >= 0.0 else e) / (1.0 + e)


def smooth_step(z, width):
    """0 below -width / 2, 1 above width / 2, a cubic between (Soft Hoeffding tree: S with gamma = width)."""
    if z <= -0.5 * width:
        return 0.0
    if z >= 0.5 * width:
        return 1.0
    r = z / width
    return 0.5 + 1.5 * r - 2.0 * r * r * r


def smooth_step_slope(z, width):
    """Derivative of `smooth_step`."""
    if z <= -0.5 * width or z >= 0.5 * width:
        return 0.0
    r = z / width
    return (1.5 - 6.0 * r * r) / width


def oblique_share(kind, z, width, blend, passes):
    """Share that goes left; `passes` is the outcome of a blended gate's axis-aligned test."""
    if kind == SIGMOID:
        return sigmoid(z)
    if kind == OBLIQUE:
        return 1.0 if z > 0.0 else 0.0
    return blend * smooth_step(z, width) + (1.0 - blend) * (1.0 if passes else 0.0)


def oblique_slope(kind, z, width, blend):
    """Derivative of `oblique_share` with respect to `z`."""
    if kind == SIGMOID:
        s = sigmoid(z)
        return s * (1.0 - s)
    if kind == OBLIQUE:
        return 0.0
    return blend * smooth_step_slope(z, width)
