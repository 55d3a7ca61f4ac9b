"""How points are shared among the nodes of trees: which compiled loop is used for which rows.

A tree is treated as a forest of one tree: `nodes` are the `NodeArrays` of either.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from softwood.trees.loops.predict import Lists
    from softwood.trees.nodes import NodeArrays
    from softwood.trees.tree import SoftTree

# Rows that `add_kernel_trees` takes at once: enough for lists of several rows in the lower nodes of large trees, and so
# few that their values and predictions stay in the processor's cache.
_LEAST_BLOCK, _LARGEST_BLOCK = 1024, 4096
# Features of the widest tables whose blocks it copies: the path of a row reads only few values of wider ones.
_WIDEST_COPY = 128
# Entries of the lists of all levels together, which limits the blocks of very deep trees.
_MOST_ENTRIES = 2**21
# Rows that `predict_sigmoid` takes at once.
_SIGMOID_BLOCK = 32

Loop = Callable[[np.ndarray, np.ndarray], None]


class Chosen(NamedTuple):
    """Some trees of a forest: their numbers, where the nodes of each tree begin, and its first output."""

    trees: np.ndarray
    offsets: np.ndarray
    output: np.ndarray


def memberships(tree: SoftTree, X: np.ndarray, widths: np.ndarray | None) -> sparse.csr_array:
    """Share of each row in each node, sparse (n_rows, n_nodes)."""
    from softwood.compiled.trees import member_rows

    indptr = np.zeros(len(X) + 1, dtype=np.int64)
    arguments = walk_arguments(tree, slice(None), X, widths)
    member_rows(*arguments, indptr, np.empty(0, np.int32), np.empty(0))
    np.cumsum(indptr, out=indptr)
    # With an empty array of indices, the loop only counts: keep at least one entry.
    indices = np.empty(max(1, indptr[-1]), dtype=np.int32)
    data = np.empty(max(1, indptr[-1]))
    member_rows(*arguments, indptr, indices, data)
    matrix = sparse.csr_array((data[: indptr[-1]], indices[: indptr[-1]], indptr), shape=(len(X), tree.n_nodes))
    matrix.sort_indices()
    return matrix


def gradients(tree: SoftTree, X: np.ndarray, widths: np.ndarray | None, width_slopes: np.ndarray | None) -> np.ndarray:
    """Derivative of the raw prediction with respect to the row, (n_rows, n_outputs, n_features)."""
    from softwood.compiled.trees import gradient_rows

    out = np.zeros((len(X), tree.n_outputs, tree.n_features))
    gradient_rows(*walk_arguments(tree, slice(None), X, widths), tree.value, tree.parent, width_slopes, out)
    return out


def add_raw(nodes: NodeArrays, chosen: Chosen, X: np.ndarray, widths: np.ndarray | None, out: np.ndarray) -> None:
    """Add the sums of leaf values weighted by shares, of some trees, to `out` (n_rows, n_outputs).

    Parameters
    ----------
    widths : (n_rows, n_features) half-widths of single cells, or None; with twice as many columns, the second half is
        for trees without kernels
    """
    if widths is not None and widths.shape[1] > nodes.n_features:
        begin, end = chosen.offsets[chosen.trees], chosen.offsets[chosen.trees + 1]
        has_kernels = np.array([_has_kernels(nodes, slice(*ends)) for ends in zip(begin, end, strict=True)])
        for are_these, own in zip((has_kernels, ~has_kernels), np.split(widths, 2, axis=1), strict=True):
            if are_these.any():
                add_raw(nodes, chosen._replace(trees=chosen.trees[are_these]), X, own, out)
    elif nodes.weights is not None:
        _add_walks(nodes, chosen, X, widths, out)
    elif widths is not None:
        _add_kernel(nodes, chosen, X, out, _checked(widths, X))
    elif nodes.is_crisp:
        _by_missing_values(X, out, partial(_add_crisp, nodes, chosen), partial(_add_kernel, nodes, chosen))
    else:
        _add_kernel(nodes, chosen, X, out)


def prepare(nodes: NodeArrays) -> None:
    """Compute what the loops need besides the arrays of the nodes, so that threads find it ready."""
    _ = (nodes._tests, nodes._crisp_thresholds) if nodes.is_crisp else (nodes._only_boxes, nodes._height)


def _add_walks(nodes: NodeArrays, chosen: Chosen, X: np.ndarray, widths: np.ndarray | None, out: np.ndarray) -> None:
    """The general loop, for all kinds of gates."""
    from softwood.compiled.trees import predict_rows

    trees, offsets, output = chosen
    for tree in trees:
        own = slice(int(offsets[tree]), int(offsets[tree + 1]))
        found = np.zeros((len(X), nodes.value.shape[1]))
        predict_rows(*walk_arguments(nodes, own, X, widths), nodes.value[own], found)
        out[:, output[tree] : output[tree] + found.shape[1]] += found


def _add_crisp(nodes: NodeArrays, chosen: Chosen, X: np.ndarray, out: np.ndarray) -> None:
    """Trees of crisp axis-aligned tests, rows without missing values."""
    from softwood.compiled.trees import add_crisp_trees

    add_crisp_trees(X, *chosen, nodes._tests, nodes._crisp_thresholds, nodes.subsets, nodes.value, out)


def _add_kernel(
    nodes: NodeArrays, chosen: Chosen, X: np.ndarray, out: np.ndarray, widths: np.ndarray | None = None
) -> None:
    """Trees of kernel gates."""
    from softwood.compiled.trees import add_kernel_trees
    from softwood.trees.loops.predict import KernelTrees

    arrays = KernelTrees(
        nodes._gates, nodes.missing_left, nodes.threshold, nodes.width, nodes.shapes.edges, nodes.shapes.cdfs,
        nodes._only_boxes, nodes.set_words,
    )  # fmt: skip
    largest = int(np.diff(chosen.offsets)[chosen.trees].max(initial=0))
    block = min(_LARGEST_BLOCK, max(_LEAST_BLOCK, 4 * largest), max(1, _MOST_ENTRIES // (nodes._height + 2)))
    block = min(block, max(1, len(X)))
    lists = kernel_lists(block, nodes._height, nodes.n_features)
    copy = np.empty((block if nodes.n_features <= _WIDEST_COPY else 0, nodes.n_features))
    add_kernel_trees(X, widths, *chosen, block, arrays, lists, nodes.value, copy, out)


def sigmoid_predictions(tree: SoftTree, X: np.ndarray) -> np.ndarray:
    """Predictions of a tree of sigmoid gates, (n_rows, n_outputs); nan for rows with missing values."""
    from softwood.compiled.trees import predict_sigmoid

    size = min(max(1, len(X)), _SIGMOID_BLOCK)
    batch, scratch = np.empty((tree.n_features, size)), np.empty((2, tree.n_nodes, size))
    out = np.empty((len(X), tree.n_outputs))
    predict_sigmoid(
        X, tree.children_left, tree.children_right, tree._sigmoid_gates, tree.value, tree.link == "softmax", batch,
        scratch[0], scratch[1], out,
    )  # fmt: skip
    return out


def crisp_leaves(tree: SoftTree, X: np.ndarray) -> np.ndarray | None:
    """The one leaf of each row, (n_rows,), in a tree of crisp axis-aligned tests; None if a value is missing."""
    from softwood.compiled.trees import crisp_leaves_fast

    if _has_missing(X):
        return None
    leaves = np.empty(len(X), dtype=np.int32)
    crisp_leaves_fast(X, tree._tests, tree._crisp_thresholds, tree.subsets, leaves)
    return leaves


def _has_missing(X: np.ndarray) -> bool:
    """Whether a value is missing, or so huge that the sum overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return not np.isfinite(X.sum())


def _by_missing_values(X: np.ndarray, out: np.ndarray, fast: Loop, slow: Loop) -> None:
    """Fill `out` with `fast` for rows without missing values, and with `slow` for the others.

    Neither the time nor the rounding of a row depends on the other rows.
    """
    if not _has_missing(X):
        fast(X, out)
        return
    is_whole = np.isfinite(X).all(axis=1)
    for rows, loop in ((is_whole, fast), (~is_whole, slow)):
        part = out[rows]
        loop(X[rows], part)
        out[rows] = part


# Arguments of the compiled loops


def walk_arguments(nodes: NodeArrays, part: slice, X: np.ndarray, widths: np.ndarray | None) -> tuple:
    """Arguments of the loops of `softwood.trees.loops.walk` for the tree whose nodes are this part of `nodes`."""
    from softwood.trees.loops.walk import Nodes, Scratch

    if widths is not None:
        if widths.shape[1] > nodes.n_features:
            widths = np.split(widths, 2, axis=1)[0 if _has_kernels(nodes, part) else 1]
        widths = _checked(widths, X)
    left = nodes.children_left[part]
    height, n_nodes = int(nodes.depth[part].max()) + 1, len(left)
    tree = Nodes(
        left, nodes.children_right[part], nodes.gate[part], nodes.feature[part], nodes.threshold[part],
        nodes.missing_left[part], nodes.width[part], nodes.blend[part], nodes.bias[part], nodes.kernel[part],
        nodes.shapes.edges, nodes.shapes.cdfs, nodes.set_words[part],
    )  # fmt: skip
    scratch = Scratch(
        np.stack([np.zeros(nodes.n_features), np.ones(nodes.n_features)]), np.empty((height, 4)),
        np.empty(height, np.int32), np.empty(n_nodes, np.int32), np.empty(n_nodes),
    )  # fmt: skip
    return X, tree, None if nodes.weights is None else nodes.weights[part], widths, scratch


def _has_kernels(nodes: NodeArrays, part: slice) -> bool:
    """Whether any gate of the tree whose nodes are this part of `nodes` has a kernel."""
    return bool(nodes.width[part].any())


def _checked(widths: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Half-widths of single cells, as the loops take them."""
    widths = np.ascontiguousarray(widths, dtype=np.float64)
    if widths.shape != X.shape or np.any(widths < 0):
        raise ValueError(f"widths must have shape {X.shape} and be at least 0 (nan: the tree's own).")
    return widths


def kernel_lists(block: int, height: int, n_features: int) -> Lists:
    """Scratch space of `softwood.trees.loops.predict.add_kernel_trees`."""
    from softwood.trees.loops.predict import ITEM, Lists

    return Lists(
        np.empty(block * (height + 2), ITEM), np.empty(2 * block + 1, ITEM), np.empty((height + 1, 5), np.int64),
        np.full((2, n_features), -1, np.int64),
    )  # fmt: skip
