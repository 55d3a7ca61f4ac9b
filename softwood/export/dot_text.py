"""DOT: the text that Graphviz draws."""

from __future__ import annotations

from typing import Any

from softwood.export.labels import labelled_nodes

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
    _, nodes = labelled_nodes("to_dot", model, tree, max_depth, decimals)
    lines = [
        "digraph tree {",
        '  node [shape=box, style="rounded,filled", fontname="sans-serif"];',
        '  edge [fontname="sans-serif"];',
    ]
    for node in nodes:
        text = "\\n".join(_escaped(line) for line in (*node.lines, *(["..."] if node.is_cut else [])))
        colour = COLOURS[0] if node.output is None else COLOURS[node.output % len(COLOURS)]
        lines.append(f'  n{node.number} [label="{text}", fillcolor="{colour}"];')
        for child, words, part in node.children:
            lines.append(f'  n{node.number} -> n{child} [label="{words} {part:.0%}", penwidth={1 + 4 * part:.1f}];')
    return "\n".join([*lines, "}"])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ").replace("\r", " ")
