"""Words of nodes and branches, for the pictures that are text: DOT and Mermaid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from softwood.core.parameters import check_count, check_integer
from softwood.fitted import FittedModel
from softwood.trees.gates import Gate
from softwood.trees.text import set_text, test_text
from softwood.trees.tree import SoftTree


@dataclass(frozen=True)
class LabelledNode:
    """A node of a picture.

    Attributes
    ----------
    number : number of the node in its tree
    lines : its text
    output : number of its largest prediction, for colours; None if it has only one
    size : its largest prediction, or its only one
    children : number of the child, words of the branch, and part of the node's mass that goes there; empty at leaves
    is_cut : whether the nodes below it are not shown
    """

    number: int
    lines: tuple[str, ...]
    output: int | None
    size: float
    children: tuple[tuple[int, str, float], ...]
    is_cut: bool


def labelled_nodes(
    caller: str, model: Any, tree: int, max_depth: int | None, decimals: int
) -> tuple[FittedModel, Iterator[LabelledNode]]:
    """The nodes of one tree of a model, parents before children, with what is written on them.

    Parameters
    ----------
    caller : name of the public function, for errors
    tree : number of the tree
    max_depth : depth of the deepest nodes to show, or None
    decimals : decimal places
    """
    known = FittedModel.of(model, caller).portable()
    forest = known.forest
    number = check_count(caller, "tree", tree, low=0, high=len(forest) - 1)
    check_integer(caller, "max_depth", max_depth, low=0, or_none=True)
    check_count(caller, "decimals", decimals, low=0)
    return known, _nodes(known, number, max_depth, decimals)


def _nodes(known: FittedModel, number: int, max_depth: int | None, decimals: int) -> Iterator[LabelledNode]:
    # The values of boosted trees are parts of scores, which have no link of their own.
    tree, labels = known.forest[number], known.outputs.node_labels(known.trees, number)
    values = tree.node_predictions
    for node in tree.walk():
        depth = int(tree.depth[node])
        if max_depth is not None and depth > max_depth:
            continue
        is_leaf = tree.children_left[node] < 0
        is_cut = not is_leaf and depth == max_depth
        lines = [] if is_leaf else [_test(known, tree, node, decimals)]
        if np.isfinite(tree.mass[node]):
            lines.append(f"mass {tree.mass[node]:.{max(decimals - 2, 0)}f}")
        best = int(np.argmax(values[node]))
        if labels is not None:
            lines.append(f"{labels[best]}: {values[node, best]:z.{decimals}f}")
        else:
            shown = ", ".join(f"{v:z.{decimals}f}" for v in values[node, :8])
            lines.append(f"value {shown}{', ...' if tree.n_outputs > 8 else ''}")
        children = () if is_leaf or is_cut else _branches(known, tree, node)
        output = None if tree.n_outputs == 1 else best
        yield LabelledNode(node, tuple(lines), output, float(values[node, best]), children, is_cut)


def _branches(known: FittedModel, tree: SoftTree, node: int) -> tuple[tuple[int, str, float], ...]:
    left, right = int(tree.children_left[node]), int(tree.children_right[node])
    total = tree.mass[left] + tree.mass[right]
    part = float(tree.mass[left] / total) if total > 0 else 0.5
    is_category = tree.gate[node] == Gate.KERNEL and known.columns.is_category[tree.feature[node]]
    words = ("no", "yes") if is_category else ("yes", "no")  # a category is a column of zeros and ones
    return (left, words[0], part), (right, words[1], 1.0 - part)


def _test(known: FittedModel, tree: SoftTree, node: int, decimals: int) -> str:
    gate, names = tree.gate[node], known.columns.names
    if gate == Gate.SUBSET:
        return set_text(tree, node, names, known.columns.coded)
    if gate == Gate.KERNEL and known.columns.is_category[tree.feature[node]]:
        return names[tree.feature[node]]
    return test_text(tree, node, names, decimals, ("≤", ">"))
