"""Random trees."""

from dataclasses import replace

import numpy as np

from softwood.trees.gates import Gate
from softwood.trees.nodes import KernelShapes
from softwood.trees.tree import SoftTree
from tests.reference.kernels import SHAPES, table

ALL_GATES = (Gate.KERNEL, Gate.SIGMOID, Gate.OBLIQUE, Gate.BLEND)


def random_children(rng, n_leaves):
    """Left and right children of a binary tree of random form, -1 at leaves."""
    left, right = [-1], [-1]
    for _ in range(n_leaves - 1):
        leaf = int(rng.choice(np.flatnonzero(np.array(left) < 0)))
        left[leaf], right[leaf] = len(left), len(left) + 1
        left += [-1, -1]
        right += [-1, -1]
    return np.array(left, np.int32), np.array(right, np.int32)


def random_tree(seed, *, n_leaves=12, n_features=3, n_outputs=2, gates=(Gate.KERNEL,), shapes=SHAPES, widths="any"):
    """A tree of random form with random tests.

    Parameters
    ----------
    widths : "any" (by node, some 0), a number, or one for each feature
    """
    rng = np.random.default_rng(seed)
    left, right = random_children(rng, n_leaves)
    n = len(left)
    inner = left >= 0
    gate = np.where(inner, rng.choice([int(g) for g in gates], size=n), Gate.LEAF)
    has_test = (gate == Gate.KERNEL) | (gate == Gate.BLEND)
    feature = np.where(has_test, rng.integers(n_features, size=n), -1)
    if isinstance(widths, str):
        width = rng.choice([0.0, 0.3, 1.0, 4.0], size=n)
    else:
        width = np.broadcast_to(widths, n_features)[feature]
    by_feature = rng.integers(len(shapes), size=n_features)
    width = np.where(gate == Gate.BLEND, 2.0, width)
    oblique = any(g != Gate.KERNEL for g in gates)
    masses = rng.random(n) + 0.1
    for node in range(n - 1, -1, -1):
        if inner[node]:
            masses[node] = masses[left[node]] + masses[right[node]]
    return SoftTree.from_nodes(
        children_left=left,
        children_right=right,
        gate=gate,
        feature=feature,
        threshold=np.where(has_test, rng.normal(size=n), np.nan),
        missing_left=rng.random(n),
        width=np.where(inner, width, 0.0),
        kernel=np.where(has_test, by_feature[feature], 0),
        weights=rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < 0.7) if oblique else None,
        bias=rng.normal(size=n) if oblique else 0.0,
        blend=np.where(gate == Gate.BLEND, rng.random(n), 0.0),
        value=rng.normal(size=(n, n_outputs)),
        mass=masses,
        impurity=rng.random(n),
        n_features=n_features,
        shapes=KernelShapes.of([table(shape) for shape in shapes]),
    )


def with_sets(tree, seed, feature=1, n_categories=40):
    """The tree with random sets of categories in place of the kernel gates of one feature."""
    rng = np.random.default_rng(seed)
    by_set = (tree.gate == Gate.KERNEL) & (tree.feature == feature)
    bits = rng.random((tree.n_nodes, n_categories)) < 0.5
    subsets = np.zeros((tree.n_nodes, -(-n_categories // 32)), np.uint32)
    for node, category in zip(*np.nonzero(bits & by_set[:, None]), strict=True):
        subsets[node, category // 32] |= np.uint32(1 << category % 32)
    return replace(
        tree,
        gate=np.where(by_set, Gate.SUBSET, tree.gate).astype(np.int8),
        threshold=np.where(by_set, np.nan, tree.threshold),
        width=np.where(by_set, 0.0, tree.width),
        kernel=np.where(by_set, 0, tree.kernel).astype(np.int32),
        subsets=subsets,
    )


def points_with_categories(seed, n, p, feature=1, n_categories=40, missing=0.2):
    """Points whose column `feature` holds numbers of categories."""
    X = random_points(seed, n, p, missing)
    numbers = np.random.default_rng(seed).integers(0, n_categories, n)
    X[:, feature] = np.where(np.isnan(X[:, feature]), np.nan, numbers)
    return X


def random_points(seed, n, p, missing=0.0):
    """Standard normal points, some cells missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X[rng.random((n, p)) < missing] = np.nan
    return X
