"""Plain text of a finished tree; `softwood.export_text` adds the names of an estimator."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softwood.trees.gates import Gate
from softwood.trees.tree import SoftTree

# Categories that the text of a set lists.
_MOST_LISTED = 5
# Terms of an oblique gate that its text shows. A term whose size is below this part of the largest is left out.
_MOST_TERMS, _LEAST_SIZE = 3, 1e-3


def tree_text(
    tree: SoftTree,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    is_category: Sequence[bool] | None = None,
    categories: Sequence[Sequence | None] | None = None,
    max_depth: int | None = None,
    decimals: int = 3,
) -> str:
    """Draw the tree with one line per node: test, mass and value.

    Parameters
    ----------
    feature_names : names of the features; ``x[0]``, ``x[1]``, ... if None
    class_names : names of the classes, for trees whose values are class probabilities
    is_category : mask of the features that are 1 for a category and 0 otherwise; None: no feature is
    categories : for each feature None, or the categories whose numbers it holds; None: they have no names
    max_depth : largest depth to show; deeper nodes are only counted; None: all nodes are shown
    decimals : number of decimal places
    """
    names = [f"x[{j}]" for j in range(tree.n_features)] if feature_names is None else list(feature_names)
    masked = np.zeros(tree.n_features, dtype=bool) if is_category is None else np.asarray(is_category)
    values = tree.node_predictions
    lines: list[str] = []
    for node in tree.walk():
        depth = int(tree.depth[node])
        if max_depth is not None and depth > max_depth:
            continue
        indent = "|   " * (depth - 1) + ("|-- " if depth else "")
        side = side_text(tree, node, names, masked, decimals, categories) + "  " if depth else ""
        summary = _summary(tree, node, values[node], class_names, decimals)
        if max_depth is not None and depth == max_depth and tree.children_left[node] >= 0:
            summary += f" ... {sum(1 for _ in tree.walk(node)) - 1} nodes below"
        lines.append(f"{indent}{side}{summary}")
    return "\n".join(lines)


def set_text(
    tree: SoftTree, node: int, names: Sequence[str], categories: Sequence[Sequence | None] | None, is_left: bool = True
) -> str:
    """The test of a set of categories, such as ``city in {Bern, Rome}``, or what holds for the right child.

    If the categories are known and fewer of them are outside, these are listed: ``city != Oslo``. Other parameters are
    those of `tree_text`.
    """
    name, members = names[tree.feature[node]], tree.members(node).tolist()
    known = None if categories is None else categories[tree.feature[node]]
    is_in = is_left
    if known is not None:
        members = [c for c in members if c < len(known)]
        outside = [c for c in range(len(known)) if c not in members]
        if len(outside) < len(members):
            members, is_in = outside, not is_left
    shown = [str(c if known is None else known[c]) for c in members[:_MOST_LISTED]]
    if len(members) == 1:
        return f"{name} {'=' if is_in else '!='} {shown[0]}"
    more = f" + {len(members) - len(shown)} more" if len(members) > len(shown) else ""
    return f"{name} {'in' if is_in else 'not in'} {{{', '.join(shown)}{more}}}"


def side_text(
    tree: SoftTree,
    node: int,
    names: Sequence[str],
    is_category: Sequence[bool] | np.ndarray,
    decimals: int = 3,
    categories: Sequence[Sequence | None] | None = None,
) -> str:
    """The test that leads from its parent to a node, which is not the root; parameters are those of `tree_text`."""
    above = int(tree.parent[node])
    is_left = bool(node == tree.children_left[above])
    if tree.gate[above] == Gate.SUBSET:
        return set_text(tree, above, names, categories, is_left)
    if tree.gate[above] == Gate.KERNEL and is_category[tree.feature[above]]:
        return ("not " if is_left else "") + names[tree.feature[above]]
    return test_text(tree, above, names, decimals, ("<=", ">") if is_left else ("> ", "<="))


def test_text(tree: SoftTree, node: int, names: Sequence[str], decimals: int, signs: tuple[str, str]) -> str:
    """The test of a gate that is no set; `signs` are those of the test of a column, and of a weighted sum."""
    gate = tree.gate[node]
    text = ""
    if gate in (Gate.KERNEL, Gate.BLEND):
        text = f"{names[tree.feature[node]]} {signs[0]} {tree.threshold[node]:.{decimals}f}"
        if gate == Gate.KERNEL:
            width = tree.width[node]
            return text + (f" ±{width:.{decimals}g}" if width > 0 else "")
    oblique = f"{_oblique_text(tree, node, names, decimals)} {signs[1]} 0"
    return _blend_text(tree, node, text, oblique) if gate == Gate.BLEND else oblique


def largest_terms(tree: SoftTree, node: int, most: int = _MOST_TERMS) -> tuple[list[int], int]:
    """Features with the largest terms of an oblique gate, the largest first, and the number of further terms.

    The size of a term is its weight times the standard deviation of the feature, if that is known: a small weight may
    belong to a feature of large numbers. Terms that are zero, or as good as zero beside the largest, do not count.
    """
    sizes = tree.weight_sizes(node)
    order = np.argsort(-sizes, kind="stable")
    n = int(np.count_nonzero(sizes > _LEAST_SIZE * sizes.max()))
    return order[: min(n, most)].tolist(), max(n - most, 0)


def _oblique_text(tree: SoftTree, node: int, names: Sequence[str], digits: int) -> str:
    """The weighted sum of an oblique gate, such as ``-0.0013 area +0.25 texture + 4 more -1.5``.

    Numbers have significant digits and not decimal places: a weight is in units of its feature.
    """
    assert tree.weights is not None  # checked when the tree was made
    largest, n_more = largest_terms(tree, node)
    terms = [f"{tree.weights[node, j]:+.{digits}g} {names[j]}" for j in largest]
    more = [f"+ {n_more} more"] if n_more else []
    return " ".join([*terms, *more, f"{tree.bias[node]:+.{digits}g}"])


def _blend_text(tree: SoftTree, node: int, test: str, oblique: str) -> str:
    """The two parts of a blended gate with their weights; a part whose weight rounds to 0 is left out."""
    weights = f"{1 - tree.blend[node]:.2f}", f"{tree.blend[node]:.2f}"
    if "0.00" in weights:
        return oblique if weights[0] == "0.00" else test
    return f"{weights[0]} [{test}] + {weights[1]} [{oblique}]"


def _summary(tree: SoftTree, node: int, value: np.ndarray, class_names: Sequence[str] | None, decimals: int) -> str:
    mass = "" if np.isnan(tree.mass[node]) else f"mass {tree.mass[node]:.{max(decimals - 2, 0)}f}, "
    number = f"z.{decimals}f"  # no minus before a zero
    shown = ", ".join(f"{v:{number}}" for v in value[:8]) + (", ..." if len(value) > 8 else "")
    if class_names is not None:
        best = int(np.argmax(value))
        return f"[{mass}{class_names[best]}: {value[best]:{number}}]"
    return f"[{mass}value {shown}]"
