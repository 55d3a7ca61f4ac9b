"""Kernels by definition: the mass of a piecewise-constant density below a point, added up piece by piece."""

from typing import NamedTuple

import numpy as np


class Shape(NamedTuple):
    """Edges in units of the half-width, and the density between neighbouring ones up to a factor."""

    edges: tuple
    densities: tuple


BOX = Shape((-1.0, 1.0), (1.0,))
STAIRS = Shape((-1.5, -0.5, 0.5, 1.5), (1.0, 2.0, 1.0))
LATE = Shape((-0.25, 0.0, 2.0), (3.0, 0.5))  # asymmetric
HOLLOW = Shape((-1.0, -0.5, 0.25, 1.0), (1.0, 0.0, 2.0))  # no mass in the middle
ASIDE = Shape((0.5, 1.0, 1.5), (1.0, 1.0))  # does not cover the point itself, and two equal pieces
SHAPES = (BOX, STAIRS, LATE, HOLLOW, ASIDE)


def table(shape):
    """Edges and distribution values at the edges, as the loops take a kernel."""
    edges = np.array(shape.edges)
    masses = np.array(shape.densities) * np.diff(edges)
    return edges, np.concatenate([[0.0], np.cumsum(masses)]) / masses.sum()


def cdf(t, x, width, shape=BOX):
    """F(t, x): part of the kernel around `x` that lies at or below `t`; arrays are combined by broadcasting."""
    t, x, width = np.broadcast_arrays(t, x, width)
    below = total = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        for left, right, density in zip(shape.edges[:-1], shape.edges[1:], shape.densities, strict=True):
            start, stop = x + width * left, x + width * right
            below = below + density * (right - left) * np.clip((t - start) / (stop - start), 0.0, 1.0)
            total += density * (right - left)
    return np.where(width == 0, np.where(x <= t, 1.0, 0.0), below / total)[()]


def interval_mass(x, width, lo, hi, shape=BOX):
    """F(hi, x) - F(lo, x): membership of `x` in the interval (lo, hi]."""
    return cdf(hi, x, width, shape) - cdf(lo, x, width, shape)


def left_share(t, x, width, lo, hi, shape=BOX):
    """Of the part of `x` in (lo, hi], the share at or below `t`."""
    inside = interval_mass(x, width, lo, hi, shape)
    return np.clip((cdf(t, x, width, shape) - cdf(lo, x, width, shape)) / inside, 0.0, 1.0)


def density(t, x, width, shape=BOX):
    """Derivative of F(t, x) by `t`, between the edges."""
    if width == 0:
        return 0.0
    total = sum(d * (b - a) for a, b, d in zip(shape.edges[:-1], shape.edges[1:], shape.densities, strict=True))
    for left, right, d in zip(shape.edges[:-1], shape.edges[1:], shape.densities, strict=True):
        if x + width * left < t < x + width * right:
            return d / total / width
    return 0.0


def draw(rng, x, width, shape, n):
    """`n` points from the kernel around `x`."""
    masses = np.array(shape.densities) * np.diff(shape.edges)
    piece = rng.choice(len(masses), size=n, p=masses / masses.sum())
    left, right = np.array(shape.edges[:-1])[piece], np.array(shape.edges[1:])[piece]
    return x + width * (left + (right - left) * rng.random(n))
