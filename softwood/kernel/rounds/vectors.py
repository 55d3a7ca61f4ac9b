"""Trees of boosting for all raw scores at once, with a vector of values in every leaf.

A round has one such tree. Its splits are those of a second-order step along a random direction of the raw scores, so
the search takes no longer than for one score, and directions of later rounds differ. Then every leaf gets the
second-order steps of all scores.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import softwood.compiled.boosting as loop
from softwood.core.threads import Threads
from softwood.kernel.rounds.newton import WORTH_DIVIDING, NewtonTree


def draw_direction(n_scores: int, seed: int, number: int) -> np.ndarray:
    """Direction of the raw scores for the tree of round `number`, (n_scores,), with a mean square of 1."""
    direction = np.random.default_rng([seed, number, 3]).normal(size=n_scores)
    return direction / np.sqrt(np.mean(direction**2))


def with_vectors(
    tree: NewtonTree, gradient: np.ndarray, hessian: np.ndarray, l2: float, threads: Threads | None
) -> NewtonTree:
    """The tree with second-order steps of all raw scores as values.

    Parameters
    ----------
    gradient, hessian : (n, n_scores) of the rows that the tree was grown on;  l2 : added to the hessian of every node
    """
    n_leaves, n_scores = len(tree.leaves), gradient.shape[1]
    sums = np.zeros((len(tree.nodes), 2, n_scores))

    def add(leaf: int, _: int) -> None:
        loop.add_vectors(leaf, leaf + 1, tree.leaves, tree.rows, tree.shares, gradient, hessian, sums)

    if threads is None or threads.n_threads == 1 or len(tree.rows) * n_scores < WORTH_DIVIDING:
        loop.add_vectors(0, n_leaves, tree.leaves, tree.rows, tree.shares, gradient, hessian, sums)
    else:
        threads.run(add, n_leaves)
    parent = tree.nodes["parent"].tolist()
    for line in range(len(parent) - 1, 0, -1):  # children come after their parents
        sums[parent[line]] += sums[line]
    g, h = sums[:, 0], sums[:, 1]
    return replace(tree, vectors=-g / (h + l2), gained=(g * g / h).sum(axis=1))
