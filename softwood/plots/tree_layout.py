"""Which nodes of a tree are drawn, and where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from softwood.plots.drawing import drawing
from softwood.trees.tree import SoftTree

FONT = 8.0  # size in points
BAR = 0.8  # length of the bars of class probabilities, in inches
_SLOT = 0.36  # inches for an end of the tree
_BAND, _BAND_PER_END, _WIDEST_BAND = 0.4, 0.012, 1.1  # width of the band of all rows, in inches
_MARGIN = 0.12


@dataclass(frozen=True)
class Layout:
    """Nodes that are drawn, and where; coordinates are inches, y downwards.

    Attributes
    ----------
    ends : leaves, and nodes whose children are not drawn
    y : place of each node; each end has a slot, and a gate is in the middle of its children
    x : place of the gates of each level, and of the ends
    box : (n_levels,) width of the widest box of each level
    width, height : of all
    band : width of the band of all rows
    """

    ends: list[int]
    y: dict[int, float]
    x: list[float]
    box: list[float]
    width: float
    height: float
    band: float


def left_parts(tree: SoftTree, weights: np.ndarray | None) -> np.ndarray:
    """Part that goes to the left at each inner node, nan where it is not known, (n_nodes,)."""
    parts = np.full(tree.n_nodes, np.nan)
    for node in np.flatnonzero(tree.children_left >= 0):
        a, b = int(tree.children_left[node]), int(tree.children_right[node])
        if weights is not None:
            left, whole = weights[a], weights[node]
        else:
            left, whole = tree.mass[a], tree.mass[a] + tree.mass[b]
            # On streams, a child that has split has reset its mass; its share is what did not go to its sibling.
            a_is_leaf, b_is_leaf = tree.children_left[a] < 0, tree.children_left[b] < 0
            if a_is_leaf != b_is_leaf and tree.mass[node] >= whole:
                whole = tree.mass[node]
                left = tree.mass[a] if a_is_leaf else whole - tree.mass[b]
        if whole > 0:
            parts[node] = min(1.0, left / whole)
    return parts


def node_shares(tree: SoftTree, parts: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Part of all rows in each node, (n_nodes,); nan below a node whose parts are not known."""
    if weights is not None:
        return weights / max(weights[0], 1e-300)
    shares = np.ones(tree.n_nodes)
    for node in tree.walk():
        if tree.children_left[node] >= 0:
            shares[tree.children_left[node]] = shares[node] * parts[node]
            shares[tree.children_right[node]] = shares[node] * (1.0 - parts[node])
    return shares


def node_values(tree: SoftTree, weights: np.ndarray | None) -> np.ndarray:
    """Predictions of the leaves, and for inner nodes the mean over the leaves below, (n_nodes, n_outputs)."""
    values = tree.node_predictions.copy()
    amounts = np.nan_to_num(tree.mass if weights is None else weights).copy()
    for node in np.argsort(-tree.depth, kind="stable"):
        if tree.children_left[node] >= 0:
            children = [int(tree.children_left[node]), int(tree.children_right[node])]
            parts = amounts[children] if amounts[children].sum() > 0 else np.ones(2)
            values[node] = parts @ values[children] / parts.sum()
            amounts[node] = amounts[children].sum()
    return values


def nodes_to_draw(
    tree: SoftTree, shares: np.ndarray, max_depth: int | None, min_share: float
) -> tuple[list[int], list[int]]:
    """Nodes that are drawn with their children, and ends, from top to bottom."""
    inner: list[int] = []
    ends: list[int] = []
    pending = [0]
    while pending:
        node = pending.pop()
        is_shallow = max_depth is None or tree.depth[node] < max_depth
        if tree.children_left[node] >= 0 and is_shallow and not shares[node] < min_share:
            inner.append(node)
            pending += [int(tree.children_right[node]), int(tree.children_left[node])]
        else:
            ends.append(node)
    return inner, ends


def place(
    tree: SoftTree,
    inner: list[int],
    ends: list[int],
    gates: dict[int, str],
    labels: dict[int, tuple[str, str]],
    texts: dict[int, str],
    shares: np.ndarray,
) -> Layout:
    """Each level is as wide as its widest box, and each gap as its widest label."""
    y = {node: _SLOT * (k + 0.5) for k, node in enumerate(ends)}
    for node in reversed(inner):
        y[node] = (y[int(tree.children_left[node])] + y[int(tree.children_right[node])]) / 2
    n_levels = 1 + max([int(tree.depth[node]) for node in inner], default=-1)
    box, gap = [0.0] * n_levels, [0.0] * n_levels
    for node in inner:
        d = int(tree.depth[node])
        box[d] = max(box[d], _text_width(gates[node], FONT) + 0.16)
        gap[d] = max(gap[d], *(_text_width(label, 0.9 * FONT) + 0.5 for label in labels[node]))
    x, at = [], _MARGIN
    for wide, free in zip(box, gap, strict=True):
        x.append(at + wide / 2)
        at += wide + free
    x.append(at)
    width = at + BAR + 0.08 + max(_text_width(text, FONT) for text in texts.values()) + _MARGIN
    # A large tree has wide bands, but that of an end stays within its slot.
    heaviest = float(np.nan_to_num(shares[ends]).max())
    band = min(_BAND + _BAND_PER_END * len(ends), _WIDEST_BAND, 0.85 * _SLOT / max(heaviest, 1e-9))
    return Layout(ends, y, x, box, width, _SLOT * len(ends), band)


def gap_after(layout: Layout, d: int) -> float:
    """Free space right of the boxes of a level."""
    after = layout.x[d + 1] - (layout.box[d + 1] / 2 if d + 1 < len(layout.box) else 0.0)
    return after - layout.x[d] - layout.box[d] / 2


def _text_width(text: str, size: float) -> float:
    """Width of the widest line in inches."""
    path = drawing("textpath").TextPath
    lines = [line for line in text.split("\n") if line]
    return max([float(path((0, 0), line, size=size).get_extents().width) for line in lines], default=0.0) / 72.0
