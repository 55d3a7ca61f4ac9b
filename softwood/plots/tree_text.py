"""A tree to draw, and the words of its gates, branches and leaves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from softwood.explanations.explanation import percent_text
from softwood.fitted import FittedModel
from softwood.plots.drawing import short
from softwood.trees.gates import Gate
from softwood.trees.text import largest_terms, set_text
from softwood.trees.tree import SoftTree

LONGEST_NAME = 24
_MOST_WEIGHTS = 2  # of an oblique gate, in words


@dataclass(frozen=True)
class DrawnTree:
    """A tree to draw, with the names of its model.

    Attributes
    ----------
    known : the model;  tree : one of its trees, or an earlier one of a stream;  number : of this tree
    """

    known: FittedModel
    tree: SoftTree
    number: int = 0

    @cached_property
    def names(self) -> list[str]:
        """Names of the features, shortened."""
        return [short(name, LONGEST_NAME) for name in self.known.columns.names]

    @cached_property
    def is_class(self) -> bool:
        """Whether the values of the nodes are class probabilities."""
        return self.known.nodes_have_probabilities

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the classes or targets."""
        return self.known.outputs.names

    @property
    def of_score(self) -> str:
        """Words for the class that the values of a boosted tree are scores of."""
        labels = self.known.outputs.node_labels(self.known.trees, self.number)
        if labels is None or self.is_class or len(labels) > 1:
            return ""
        return f"{short(labels[0], 48)} ({self.known.outputs.scale})"

    def shares(self, X: Any) -> np.ndarray:
        """Sum over rows of the share in each node, (n_nodes,)."""
        return np.asarray(self.known.memberships(X, self.tree).sum(axis=0)).ravel()


def gate_text(drawn: DrawnTree, node: int) -> str:
    """The test; for a gate that weighs columns those with the largest weights, for a blended gate also alpha."""
    tree, names = drawn.tree, drawn.names
    gate = tree.gate[node]
    if gate == Gate.SUBSET:
        coded = [known and tuple(short(item, LONGEST_NAME) for item in known) for known in drawn.known.columns.coded]
        return set_text(tree, node, names, coded)
    if gate == Gate.KERNEL:
        name = names[tree.feature[node]]
        if drawn.known.columns.is_category[tree.feature[node]]:
            return name
        reach = f" ± {_number(tree.width[node])}" if tree.width[node] > 0 else ""
        return f"{name} ≤ {_number(tree.threshold[node])}{reach}"
    largest, n_more = largest_terms(tree, node, _MOST_WEIGHTS)
    if gate == Gate.BLEND:
        text = ", ".join(names[j] for j in largest) + (", …" if n_more else "")
        if tree.blend[node] < 1.0:
            text = f"{names[tree.feature[node]]} ≤ {_number(tree.threshold[node])}"
        return f"{text}\nα = {tree.blend[node]:.2f}"
    assert tree.weights is not None
    terms = [f"{_signed(tree.weights[node, j], k == 0)} {names[j]}" for k, j in enumerate(largest)]
    more = f"\n+ {n_more} more" if n_more else ""
    return f"{' '.join(terms) or '0'}{more} > {_number(-tree.bias[node])}"


def _signed(value: float, is_first: bool) -> str:
    sign = "−" if value < 0 else "" if is_first else "+"
    return f"{sign}{'' if is_first else ' '}{_number(abs(value))}"


def branch_texts(drawn: DrawnTree, node: int, part: float, sides: tuple[str, str] | None) -> tuple[str, str]:
    """Words of the left and the right branch, with the part that goes there."""
    tree = drawn.tree
    if sides is None:
        is_category = tree.gate[node] == Gate.KERNEL and drawn.known.columns.is_category[tree.feature[node]]
        sides = ("no", "yes") if is_category else ("yes", "no")  # a category is a column of zeros and ones
    if np.isnan(part):
        return "", ""
    return f"{sides[0]} {part:.2f}", f"{sides[1]} {1.0 - part:.2f}"


def end_text(drawn: DrawnTree, node: int, value: np.ndarray, share: float, whose: str) -> str:
    """Prediction of a leaf, or of the leaves below a node; its part of the rows; number of nodes not drawn."""
    tree = drawn.tree
    best = int(np.argmax(value))
    if drawn.is_class:
        words = [f"{short(drawn.outputs[best], LONGEST_NAME)}: {value[best]:.2f}"]
    else:
        shown = ", ".join(_number(v) for v in value[:3])
        words = [shown + (", …" if len(value) > 3 else "")]
    if not np.isnan(share):
        words.append(percent_text(share) + whose)
    if tree.children_left[node] >= 0:
        words.append(f"+ {sum(1 for _ in tree.walk(node)) - 1} nodes")
    return ", ".join(words)


def _number(value: float) -> str:
    """A number in a few characters."""
    if 1000 <= abs(value) < 1e7:
        return f"{value:,.0f}".replace("-", "−")
    return f"{value:.3g}".replace("-", "−")
