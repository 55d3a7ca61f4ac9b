"""Mermaid: text that Markdown pages show as a picture."""

from __future__ import annotations

from typing import Any

from softwood.export.labels import labelled_nodes


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
    _, nodes = labelled_nodes("to_mermaid", model, tree, max_depth, decimals)
    lines = ["flowchart TD"]
    for node in nodes:
        text = "<br/>".join(_escaped(line) for line in (*node.lines, *(["..."] if node.is_cut else [])))
        lines.append(f'  n{node.number}["{text}"]')
        lines += [f'  n{node.number} -->|"{words} {part:.0%}"| n{child}' for child, words, part in node.children]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    """All signs that mean something to Mermaid, to Markdown or to HTML, by their numbers."""
    is_plain = [c.isalnum() or c in " .,()[]+-=≤±" for c in text]
    return "".join(
        c if plain else " " if c in "\r\n" else f"#{ord(c)};" for c, plain in zip(text, is_plain, strict=True)
    )
