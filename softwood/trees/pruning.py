"""Cost-complexity pruning of finished trees, merging of leaves that predict the same class, and empty leaves."""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import Any

import numpy as np

from softwood.trees.gates import Gate
from softwood.trees.tree import SoftTree


def pruning_path(tree: SoftTree) -> tuple[np.ndarray, np.ndarray]:
    """Cost-complexity pruning down to the root: rising alphas, and the total impurity of the leaves at each alpha.

    Impurities are weighted by the node's fraction of the root's mass, as in scikit-learn.
    """
    alphas, impurities, _ = _prune_in_order(tree, np.inf)
    return alphas, impurities


def prune_cost_complexity(tree: SoftTree, alpha: float) -> SoftTree:
    """The smallest subtree that minimises impurity of the leaves plus `alpha` times their number."""
    _, _, cut = _prune_in_order(tree, alpha)
    return cut_below(tree, cut)


def merge_equal_leaves(tree: SoftTree) -> SoftTree:
    """Merge sibling leaves that predict the same class, repeatedly.

    Crisp decisions do not change; the probabilities become coarser.
    """
    winner = tree.value.argmax(axis=1)
    is_leaf = tree.children_left < 0
    cut = np.zeros(tree.n_nodes, dtype=bool)
    for node in list(tree.walk())[::-1]:
        if not is_leaf[node]:
            left, right = tree.children_left[node], tree.children_right[node]
            if is_leaf[left] and is_leaf[right] and winner[left] == winner[right]:
                # A node's own winner can differ from that of both children only by rounding.
                is_leaf[node] = cut[node] = winner[node] == winner[left]
    return cut_below(tree, cut)


def cut_below(tree: SoftTree, cut: np.ndarray) -> SoftTree:
    """Turn the nodes marked in `cut` into leaves and drop the nodes below them; the order of nodes is kept."""
    keep = np.zeros(tree.n_nodes, dtype=bool)
    becomes_leaf = np.zeros(tree.n_nodes, dtype=bool)
    pending = [0]
    while pending:
        node = pending.pop()
        keep[node] = True
        if cut[node] or tree.children_left[node] < 0:
            becomes_leaf[node] = True
        else:
            pending += [int(tree.children_left[node]), int(tree.children_right[node])]
    if keep.all():
        return tree
    number = np.cumsum(keep) - 1
    number = np.append(number, -1)  # so that the child -1 stays -1

    def column(name: str, at_leaf: float) -> np.ndarray:
        array = getattr(tree, name)[keep]
        array[becomes_leaf[keep]] = at_leaf
        return array

    def children(name: str) -> np.ndarray:
        return number[column(name, -1)].astype(np.int32)

    return replace(
        tree,
        children_left=children("children_left"),
        children_right=children("children_right"),
        parent=number[tree.parent[keep]].astype(np.int32),
        depth=tree.depth[keep],
        gate=column("gate", Gate.LEAF),
        feature=column("feature", -1),
        threshold=column("threshold", np.nan),
        missing_left=column("missing_left", 0.5),
        width=column("width", 0.0),
        kernel=column("kernel", 0),
        blend=column("blend", 0.0),
        bias=column("bias", 0.0),
        weights=None if tree.weights is None else tree.weights[keep],
        subsets=None if tree.subsets is None else np.where(becomes_leaf[keep, None], np.uint32(0), tree.subsets[keep]),
        value=tree.value[keep],
        mass=tree.mass[keep],
        impurity=tree.impurity[keep],
    )


def without_empty_nodes(tree: SoftTree) -> SoftTree:
    """Drop nodes without mass: the node beside one takes the place of the node above.

    A row with a share in the node above has it all in the node beside, so predictions of the rows of the masses stay.
    """
    left, right = tree.children_left, tree.children_right
    is_empty = tree.mass <= 0
    if not is_empty.any():
        return tree

    def standing(node: int) -> int:
        """The node, or the one below that takes its place."""
        while left[node] >= 0 and is_empty[left[node]] != is_empty[right[node]]:
            node = int(right[node] if is_empty[left[node]] else left[node])
        return node

    root = standing(0)
    parent, depth, children = {root: -1}, {root: 0}, {}
    pending = [root]
    while pending:
        node = pending.pop()
        if left[node] >= 0:
            children[node] = standing(int(left[node])), standing(int(right[node]))
            for child in children[node]:
                parent[child], depth[child] = node, depth[node] + 1
            pending += children[node]
    kept = np.array(sorted(parent))
    number = {-1: -1, **{int(node): i for i, node in enumerate(kept)}}
    below = np.array([[number[child] for child in children.get(int(node), (-1, -1))] for node in kept], dtype=np.int32)
    same = ("gate", "feature", "threshold", "missing_left", "width", "kernel", "blend", "bias", "weights", "subsets")
    own: dict[str, Any] = {}
    for name in (*same, "value", "mass", "impurity"):
        array = getattr(tree, name)
        own[name] = None if array is None else array[kept]
    return replace(
        tree,
        children_left=np.ascontiguousarray(below[:, 0]),
        children_right=np.ascontiguousarray(below[:, 1]),
        parent=np.array([number[parent[int(node)]] for node in kept], dtype=np.int32),
        depth=np.array([depth[int(node)] for node in kept], dtype=tree.depth.dtype),
        **own,
    )


def _prune_in_order(tree: SoftTree, alpha_max: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut the weakest links up to `alpha_max`; returns the path and which nodes became leaves."""
    n = tree.n_nodes
    own = tree.mass * tree.impurity / tree.mass[0]
    order = list(tree.walk())
    leaf_loss = own.copy()
    n_leaves = np.ones(n)
    is_inner = tree.children_left >= 0
    for node in order[::-1]:
        if is_inner[node]:
            left, right = tree.children_left[node], tree.children_right[node]
            leaf_loss[node] = leaf_loss[left] + leaf_loss[right]
            n_leaves[node] = n_leaves[left] + n_leaves[right]
    cut = np.zeros(n, dtype=bool)
    alphas, losses = [0.0], [leaf_loss[0]]
    alive = is_inner.copy()
    with np.errstate(divide="ignore", invalid="ignore"):
        link = np.where(alive, (own - leaf_loss) / (n_leaves - 1), np.inf)
    # One heap entry per change; entries that are out of date are skipped.
    heap = [(float(link[node]), int(node)) for node in np.flatnonzero(alive)]
    heapq.heapify(heap)
    while heap:
        strength, node = heapq.heappop(heap)
        if not alive[node] or strength != link[node]:
            continue
        if strength > alpha_max:
            break
        alpha = max(strength, alphas[-1], 0.0)
        cut[node] = True
        pending = [node]
        while pending:  # mark all nodes below as no longer candidates
            here = pending.pop()
            if alive[here]:
                alive[here] = False
                pending += [int(tree.children_left[here]), int(tree.children_right[here])]
        gone, loss = n_leaves[node] - 1, own[node] - leaf_loss[node]
        above = node
        while above >= 0:
            n_leaves[above] -= gone
            leaf_loss[above] += loss
            if alive[above]:
                link[above] = (own[above] - leaf_loss[above]) / (n_leaves[above] - 1)
                heapq.heappush(heap, (float(link[above]), above))
            above = int(tree.parent[above])
        if alpha > alphas[-1]:
            alphas.append(alpha)
            losses.append(leaf_loss[0])
        else:
            losses[-1] = leaf_loss[0]
    return np.array(alphas), np.array(losses), cut
