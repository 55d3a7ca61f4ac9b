"""Pictures that are text: DOT, which Graphviz draws, and Mermaid, which Markdown pages show."""

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

# Light tones that people with colour-blindness can distinguish; further classes repeat them.
COLOURS = ("#cfe2f3", "#fde0b8", "#cdebd3", "#f6d3de", "#e6dcf2", "#f4efb5", "#d0eef0", "#e3d6c8")


def to_dot(model: Any, *, tree: int = 0, max_depth: int | None = None, decimals: int = 3) -> str:
    r"""Text of a tree for Graphviz: ``dot -Tsvg tree.dot``. The width of a branch shows how much of the mass it has.

    Parameters
    ----------
    model : fitted estimator, SoftTree, SoftForest or FittedModel
        The model to export.
    tree : int, default=0
        Number of the tree in an ensemble.
    max_depth : int or None, default=None
        Largest depth to show. None shows all nodes.
    decimals : int, default=3
        Number of decimal places.

    Returns
    -------
    str
        A graph in the DOT language.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.export import to_dot
    >>> iris = load_iris(as_frame=True)
    >>> model = KernelTreeClassifier(bandwidth=0.2, max_depth=1).fit(iris.data, iris.target_names[iris.target])
    >>> print(to_dot(model))
    digraph tree {
      node [shape=box, style="rounded,filled", fontname="sans-serif"];
      edge [fontname="sans-serif"];
      n0 [label="petal length (cm) ≤ 2.450 ±0.352\nmass 150.0\nsetosa: 0.333", fillcolor="#cfe2f3"];
      n0 -> n1 [label="yes 33%", penwidth=2.3];
      n0 -> n2 [label="no 67%", penwidth=3.7];
      n1 [label="mass 50.0\nsetosa: 1.000", fillcolor="#cfe2f3"];
      n2 [label="mass 100.0\nversicolor: 0.500", fillcolor="#fde0b8"];
    }
    """
    lines = [
        "digraph tree {",
        '  node [shape=box, style="rounded,filled", fontname="sans-serif"];',
        '  edge [fontname="sans-serif"];',
    ]
    for node in _nodes("to_dot", model, tree, max_depth, decimals):
        text = "\\n".join(map(_escaped_for_dot, node.lines))
        colour = COLOURS[0] if node.output is None else COLOURS[node.output % len(COLOURS)]
        lines.append(f'  n{node.number} [label="{text}", fillcolor="{colour}"];')
        for child, words, part in node.children:
            lines.append(f'  n{node.number} -> n{child} [label="{words} {part:.0%}", penwidth={1 + 4 * part:.1f}];')
    return "\n".join([*lines, "}"])


def _escaped_for_dot(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ").replace("\r", " ")


def to_mermaid(model: Any, *, tree: int = 0, max_depth: int | None = None, decimals: int = 3) -> str:
    """Text of a tree for a ``mermaid`` block of a Markdown page.

    Parameters
    ----------
    model : fitted estimator, SoftTree, SoftForest or FittedModel
        The model to export.
    tree : int, default=0
        Number of the tree in an ensemble.
    max_depth : int or None, default=None
        Largest depth to show. None shows all nodes.
    decimals : int, default=3
        Number of decimal places.

    Returns
    -------
    str
        A flowchart in Mermaid's language.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.export import to_mermaid
    >>> iris = load_iris(as_frame=True)
    >>> model = KernelTreeClassifier(bandwidth=0.2, max_depth=1).fit(iris.data, iris.target_names[iris.target])
    >>> print(to_mermaid(model))
    flowchart TD
      n0["petal length (cm) ≤ 2.450 ±0.352<br/>mass 150.0<br/>setosa#58; 0.333"]
      n0 -->|"yes 33%"| n1
      n0 -->|"no 67%"| n2
      n1["mass 50.0<br/>setosa#58; 1.000"]
      n2["mass 100.0<br/>versicolor#58; 0.500"]
    """
    lines = ["flowchart TD"]
    for node in _nodes("to_mermaid", model, tree, max_depth, decimals):
        text = "<br/>".join(map(_escaped_for_mermaid, node.lines))
        lines.append(f'  n{node.number}["{text}"]')
        lines += [f'  n{node.number} -->|"{words} {part:.0%}"| n{child}' for child, words, part in node.children]
    return "\n".join(lines)


def _escaped_for_mermaid(text: str) -> str:
    """All signs that mean something to Mermaid, to Markdown or to HTML, by their numbers."""
    is_plain = [c.isalnum() or c in " .,()[]+-=≤±" for c in text]
    return "".join(
        c if plain else " " if c in "\r\n" else f"#{ord(c)};" for c, plain in zip(text, is_plain, strict=True)
    )


@dataclass(frozen=True)
class _Node:
    """A node of a picture.

    Attributes
    ----------
    number : number of the node in its tree
    lines : its text
    output : number of its largest prediction, for colours; None if it has only one
    children : number of the child, words of the branch, and part of the node's mass that goes there; empty at leaves
    """

    number: int
    lines: tuple[str, ...]
    output: int | None
    children: tuple[tuple[int, str, float], ...]


def _nodes(caller: str, model: Any, number: int, max_depth: int | None, decimals: int) -> Iterator[_Node]:
    """The nodes of one tree of a model, parents before children; `caller` is the public function."""
    known = FittedModel.of(model, caller).portable()
    number = check_count(caller, "tree", number, low=0, high=len(known.forest) - 1)
    check_integer(caller, "max_depth", max_depth, low=0, or_none=True)
    check_count(caller, "decimals", decimals, low=0)
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
        if is_cut:
            lines.append("...")
        children = () if is_leaf or is_cut else _branches(known, tree, node)
        output = None if tree.n_outputs == 1 else best
        yield _Node(node, tuple(lines), output, children)


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
