"""Finished trees and forests in files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from softwood.files.checks import all_finite, check_array, check_entries, check_integer, check_type, is_within
from softwood.files.values import damage
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.tree import LINKS, NODE_TYPES, KernelShapes, SoftTree

__all__ = ["build_forest", "build_shapes", "build_tree", "forest_state", "shapes_state", "tree_state"]

_GATES = np.array(sorted(Gate), dtype=np.int8)


def shapes_state(shapes: KernelShapes) -> dict[str, Any]:
    """State of a table of kernel shapes."""
    return {"edges": shapes.edges, "cdfs": shapes.cdfs}


def build_shapes(state: dict[str, Any]) -> KernelShapes:
    """A checked table of kernel shapes."""
    check_entries(state, ["edges", "cdfs"])
    edges = check_array(state["edges"], np.float64, (None, None), "edges")
    cdfs = check_array(state["cdfs"], np.float64, edges.shape, "cdfs")
    if len(edges) < 1 or edges.shape[1] < 2:
        raise damage("a table of kernel shapes is empty")
    if not all_finite(edges) or np.any(np.diff(edges, axis=1) < 0) or np.any(edges[:, 0] >= edges[:, -1]):
        raise damage("edges of a kernel shape do not rise")
    if not is_within(cdfs, 0.0, 1.0) or np.any(np.diff(cdfs, axis=1) < 0):
        raise damage("cdfs of a kernel shape do not rise from 0 to 1")
    if np.any(cdfs[:, 0] != 0.0) or np.any(cdfs[:, -1] != 1.0):
        raise damage("cdfs of a kernel shape do not rise from 0 to 1")
    return KernelShapes(edges, cdfs)


def tree_state(tree: SoftTree) -> dict[str, Any]:
    """State of a tree: all of its attributes."""
    return _state(tree)


def forest_state(forest: SoftForest) -> dict[str, Any]:
    """State of a forest: all of its attributes."""
    return _state(forest)


def _state(nodes: SoftTree | SoftForest) -> dict[str, Any]:
    """All attributes; sets of categories only if there are some, so that earlier versions read the other files."""
    state = {field.name: getattr(nodes, field.name) for field in fields(nodes)}
    if state["subsets"] is None:
        del state["subsets"]
    return state


def _check_names(state: dict[str, Any], kind: type) -> None:
    check_entries(state, [field.name for field in fields(kind) if field.name != "subsets"], ["subsets", "cutoff"])
    state.pop("cutoff", None)  # files written before 0.2: small shares were given to the other side in predicting, too


def build_tree(state: dict[str, Any]) -> SoftTree:
    """A checked tree."""
    _check_names(state, SoftTree)
    n = _check_nodes(state)
    _check_structure(state, np.array([0, n]))
    return _made(SoftTree, state)


def build_forest(state: dict[str, Any]) -> SoftForest:
    """A checked forest."""
    _check_names(state, SoftForest)
    n = _check_nodes(state)
    offsets = check_array(state["offsets"], np.int64, (None,), "offsets")
    if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != n or np.any(np.diff(offsets) < 1):
        raise damage("offsets do not rise from 0 to the number of nodes")
    output = check_array(state["output"], np.int32, (len(offsets) - 1,), "output")
    base = check_array(state["base"], np.float64, (None,), "base")
    check_type(state["is_mean"], bool, "is_mean")
    if not all_finite(base) or not is_within(output, 0, len(base) - state["value"].shape[1]):
        raise damage("output and base do not fit the values")
    _check_structure(state, offsets)
    return _made(SoftForest, state)


def _made(kind: Callable[..., Any], state: dict[str, Any]) -> Any:
    try:
        return kind(**state)
    except ValueError as error:
        raise damage(str(error)) from None


def _check_nodes(state: dict[str, Any]) -> int:
    """Check types, shapes and ranges of all that trees and forests share; returns the number of nodes."""
    n = len(check_array(state["children_left"], np.int32, (None,), "children_left"))
    if n == 0:
        raise damage("there are no nodes")
    for name, dtype in NODE_TYPES.items():
        check_array(state[name], dtype, (n,), name)
    given = state["n_features"]  # numbers of numpy stay what they are
    n_features = check_integer(int(given) if isinstance(given, np.integer) else given, "n_features", 0, 2**31 - 1)
    value = check_array(state["value"], np.float64, (n, None), "value")
    if value.shape[1] < 1 or not all_finite(value):
        raise damage("value has no outputs, or is not finite")
    check_type(state["shapes"], KernelShapes, "shapes")
    if check_type(state["link"], str, "link") not in LINKS:
        raise damage(f"link is none of {', '.join(LINKS)}")
    for name in ("center", "scale"):
        if state[name] is not None and not all_finite(check_array(state[name], np.float64, (n_features,), name)):
            raise damage(f"{name} is not finite")
    _check_gates(state, n, n_features)
    return n


def _check_gates(state: dict[str, Any], n: int, n_features: int) -> None:
    gate, inner = state["gate"], state["children_left"] >= 0
    if not np.isin(gate, _GATES).all() or np.any((gate == Gate.LEAF) == inner):
        raise damage("gate does not fit the children")
    has_test = (gate == Gate.KERNEL) | (gate == Gate.BLEND)
    by_set = gate == Gate.SUBSET
    feature = state["feature"]
    if not is_within(feature, -1, n_features - 1) or np.any(feature[has_test | by_set] < 0):
        raise damage("feature is no column of the data")
    if not np.isfinite(state["threshold"][has_test]).all():
        raise damage("threshold is not finite")
    for name in ("missing_left", "blend"):
        if not is_within(state[name], 0.0, 1.0):
            raise damage(f"{name} is not in [0, 1]")
    if not is_within(state["width"], 0.0, np.inf) or not all_finite(state["bias"]):
        raise damage("width or bias is wrong")
    if not is_within(state["kernel"], 0, len(state["shapes"]) - 1):
        raise damage("kernel is no row of shapes")
    for name in ("mass", "impurity"):  # nan where they are not known
        if np.isinf(state[name]).any():
            raise damage(f"{name} is infinite")
    if state["weights"] is not None:
        if not all_finite(check_array(state["weights"], np.float64, (n, n_features), "weights")):
            raise damage("weights are not finite")
    elif np.any(inner & ~by_set & (gate != Gate.KERNEL)):
        raise damage("weights are missing")
    subsets = state.get("subsets")
    if subsets is not None:
        check_array(subsets, np.uint32, (n, None), "subsets")
    if by_set.any() and (subsets is None or subsets.shape[1] == 0):
        raise damage("subsets are missing")


def _check_structure(state: dict[str, Any], offsets: np.ndarray) -> None:
    """Check that the nodes from each offset to the next are one tree, whose root comes first.

    Every other node has a parent that has it as a child, and is one level deeper: so each is reached from the root, and
    there are no cycles. There are as many children as nodes that are no roots, so no node is the child of two.
    """
    left, right, parent, depth = (state[name] for name in ("children_left", "children_right", "parent", "depth"))
    sizes = np.diff(offsets).astype(np.int32)
    size = np.repeat(sizes, sizes)
    inner = np.flatnonzero(left >= 0)
    is_inside = all(bool(np.all((child >= -1) & (child < size))) for child in (left, right))
    if not is_inside or not np.array_equal(left < 0, right < 0) or 2 * len(inner) != len(left) - len(sizes):
        raise damage("children do not make trees")
    begin = np.repeat(offsets[:-1], sizes)[inner]
    number = (inner - begin).astype(np.int32)
    for child in (left[inner] + begin, right[inner] + begin):
        if not np.array_equal(parent[child], number) or not np.array_equal(depth[child], depth[inner] + 1):
            raise damage("children, parent and depth do not make trees")
    roots = offsets[:-1]
    if np.any(left[inner] == right[inner]) or np.any(parent[roots] != -1) or np.any(depth[roots] != 0):
        raise damage("children, parent and depth do not make trees")
