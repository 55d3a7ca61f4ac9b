"""How fast shares of a row move between leaves when an input moves, by the kernels of the gates."""

from __future__ import annotations

import numpy as np

from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.nodes import KernelShapes


def shift_rates(forest: SoftForest) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``is_box`` and ``rates`` of `softwood.explanations.loops.certificates.Ensemble`, and bandwidths (n_features,)."""
    highest, moving, is_flat = _densities(forest.shapes)
    p, n_trees = forest.n_features, len(forest)
    is_box, rates = np.ones((n_trees, p), dtype=np.bool_), np.zeros((n_trees, p))
    bandwidths = np.full(p, np.inf)
    tree = np.repeat(np.arange(n_trees), forest.sizes)
    at = np.flatnonzero(forest.gate == Gate.KERNEL)
    place = (tree[at], forest.feature[at])
    with np.errstate(divide="ignore", over="ignore"):
        own = 0.5 * forest.width[at] / highest[forest.kernel[at]]
        mass = moving[forest.kernel[at]] / forest.width[at]
    np.minimum.at(bandwidths, forest.feature[at], own)
    smallest, largest = np.full((n_trees, p), np.inf), np.full((n_trees, p), -np.inf)
    first, last = np.full((n_trees, p), len(highest)), np.full((n_trees, p), -1)
    np.minimum.at(smallest, place, forest.width[at])
    np.maximum.at(largest, place, forest.width[at])
    np.minimum.at(first, place, forest.kernel[at])
    np.maximum.at(last, place, forest.kernel[at])
    np.maximum.at(rates, place, mass)
    is_mixed = (smallest < largest) | ((first < last) & (largest > 0))
    # The shares of gates with different kernels are not masses of one kernel: the shift has no bound.
    rates[is_mixed] = np.inf
    is_box &= ~is_mixed
    has_steps = np.zeros((n_trees, p), dtype=np.bool_)
    np.logical_or.at(has_steps, place, ~is_flat[forest.kernel[at]] & (forest.width[at] > 0))
    is_box &= ~has_steps
    blends = np.flatnonzero(forest.gate == Gate.BLEND)
    rates[tree[blends], forest.feature[blends]] = np.inf
    bandwidths[forest.feature[blends]] = np.nan
    if forest.weights is not None:
        rates[:] = np.inf  # no tree of a family has gates of both kinds
        bandwidths[np.any(forest.weights != 0, axis=0)] = np.nan
    return is_box, rates, bandwidths


def _densities(shapes: KernelShapes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each shape of half-width 1 its highest density, the mass that moves per unit, and whether it is one piece.

    A kernel that moves by a little moves half of the sum of the heights of its steps: for a kernel with one peak, the
    highest density.
    """
    highest, moving, is_flat = [], [], []
    for edges, cdf in zip(shapes.edges, shapes.cdfs, strict=True):
        lengths = np.diff(edges)
        densities = np.diff(cdf)[lengths > 0] / lengths[lengths > 0]
        steps = np.diff(np.concatenate([[0.0], densities, [0.0]]))
        highest.append(densities.max())
        moving.append(0.5 * np.abs(steps).sum())
        is_flat.append(len(densities) == 1)
    return np.array(highest), np.array(moving), np.array(is_flat)
