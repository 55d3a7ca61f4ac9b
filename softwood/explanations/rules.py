"""Rules of leaves in words: the tests on the way to a leaf, those of the same column put together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from softwood.core.columns import Columns
from softwood.trees.gates import Gate
from softwood.trees.text import side_text
from softwood.trees.tree import SoftTree

# Categories that a rule lists.
_MOST_LISTED = 8


def leaf_rules(tree: SoftTree, leaf: int, columns: Columns, decimals: int = 3) -> list[str]:
    """What holds for the rows of a leaf, one line per column or oblique gate, in the order of the tests.

    The tests of a column become one interval, or one set of categories. ± is the half-width of the kernel; if the two
    ends differ in it, the larger one is shown.

    Parameters
    ----------
    decimals : number of significant digits of thresholds

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.explanations.rules import leaf_rules
    >>> iris = load_iris(as_frame=True)
    >>> model = KernelTreeClassifier(bandwidth=0.2, max_leaf_nodes=4).fit(iris.data, iris.target)
    >>> leaf_rules(model.tree_, 4, model.columns_)
    ['2.45 < petal length (cm) ≤ 5.25 ± 0.352', 'petal width (cm) ≤ 1.65 ± 0.152']
    """
    path = []
    node = leaf
    while tree.parent[node] >= 0:
        path.append(node)
        node = int(tree.parent[node])
    is_category = columns.is_category
    sets: dict[int, list[int]] = {}
    lines: dict[object, str] = {}
    ends: dict[int, tuple[float, float, float]] = {}
    for node in reversed(path):
        above = int(tree.parent[node])
        j, is_left = int(tree.feature[above]), bool(tree.children_left[above] == node)
        if tree.gate[above] == Gate.SUBSET:
            known = columns.coded[j] or range(32 * tree.set_words.shape[1])
            members = [c for c in tree.members(above).tolist() if c < len(known)]
            sets[j] = [c for c in sets.get(j, range(len(known))) if (c in members) == is_left]
            lines[j] = _set(columns.names[j], sets[j], known)
        elif tree.gate[above] != Gate.KERNEL:
            lines[node] = side_text(tree, node, columns.names, is_category, decimals)
        elif is_category[j]:
            lines[("category", j)] = ("not " if is_left else "") + columns.names[j]
        else:
            low, high, width = ends.get(j, (-np.inf, np.inf, 0.0))
            threshold = float(tree.threshold[above])
            low, high = (low, min(high, threshold)) if is_left else (max(low, threshold), high)
            ends[j] = low, high, max(width, float(tree.width[above]))
            lines[j] = _interval(columns.names[j], *ends[j], decimals)
    return list(lines.values())


def _set(name: str, members: list[int], known: Sequence) -> str:
    """The categories that a leaf takes, or those that it does not take if they are fewer."""
    outside = [c for c in range(len(known)) if c not in members]
    shown, words = (members, "in") if len(members) <= len(outside) else (outside, "not in")
    if len(shown) == 1:
        return f"{name} {'=' if words == 'in' else '≠'} {known[shown[0]]}"
    listed = ", ".join(str(known[c]) for c in shown[:_MOST_LISTED])
    more = f" and {len(shown) - _MOST_LISTED} more" if len(shown) > _MOST_LISTED else ""
    return f"{name} {words} {{{listed}{more}}}"


def _interval(name: str, low: float, high: float, width: float, decimals: int) -> str:
    reach = f" ± {width:.{decimals}g}" if width > 0 else ""
    digits = f".{max(decimals, 1)}g" if max(abs(v) for v in (low, high) if np.isfinite(v)) < 1e6 else ".4g"
    if low == -np.inf:
        return f"{name} ≤ {high:{digits}}{reach}"
    if high == np.inf:
        return f"{name} > {low:{digits}}{reach}"
    return f"{low:{digits}} < {name} ≤ {high:{digits}}{reach}"
