"""Cost-complexity pruning of scikit-learn's trees, tuned by folds, with one fit per fold."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

INNER_FOLDS = 5


def tune_alpha(cart: Any, X: np.ndarray, y: np.ndarray, *, is_class: bool) -> float:
    """The `ccp_alpha` with the best mean score of five folds; of equal ones the largest.

    As a grid search over the geometric means of the alphas of all rows, but with one fit per fold: the pruned trees of
    a fold are nested, so the full tree and the alpha at which each node becomes a leaf give all of them.
    """
    alphas = np.maximum(cart.cost_complexity_pruning_path(X, y).ccp_alphas, 0.0)
    between = np.sqrt(alphas[:-1] * alphas[1:])
    candidates = np.unique(np.concatenate([[0.0], between]))
    folds = (StratifiedKFold if is_class else KFold)(INNER_FOLDS, shuffle=True, random_state=0)
    scores = np.zeros(len(candidates))
    for train, test in folds.split(X, y):
        fitted = clone(cart).fit(X[train], y[train])
        scores += scores_by_alpha(fitted, X[test], y[test], candidates)
    return float(candidates[np.flatnonzero(scores >= scores.max() - 1e-12)[-1]])


def scores_by_alpha(fitted: Any, X: np.ndarray, y: np.ndarray, alphas: np.ndarray) -> np.ndarray:
    """Scores of the fitted tree pruned with each of the `alphas`, as its `score` would tell them."""
    falls = leaf_alphas(fitted.tree_)
    answers = fitted.tree_.value[:, 0, 0]
    is_class = hasattr(fitted, "classes_")
    if is_class:
        answers = fitted.classes_[fitted.tree_.value[:, 0, :].argmax(axis=1)]
    paths = fitted.decision_path(X).tocsr()
    total = np.zeros(len(alphas))
    for i in range(len(y)):
        nodes = np.sort(paths.indices[paths.indptr[i] : paths.indptr[i + 1]])  # children have larger numbers
        # The row's leaf is the first node of its path that has become one: falls <= alpha.
        n_below = np.searchsorted(np.minimum.accumulate(falls[nodes])[::-1], alphas, side="right")
        found = answers[nodes[len(nodes) - n_below]]
        total += found != y[i] if is_class else (found - y[i]) ** 2
    return 1.0 - total / (len(y) if is_class else ((y - y.mean()) ** 2).sum())


def leaf_alphas(tree: Any) -> np.ndarray:
    """(n_nodes,) the smallest alpha with which each node is a leaf after cost-complexity pruning; -inf for leaves.

    Always the inner node is made a leaf whose subtree saves least per leaf.
    """
    left, right = tree.children_left, tree.children_right
    parent = np.full(tree.node_count, -1)
    for children in (left, right):
        parent[children[children >= 0]] = np.flatnonzero(children >= 0)
    cost = tree.impurity * tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    below, n_leaves = cost.copy(), np.ones(tree.node_count)
    is_inner = left >= 0
    for node in range(tree.node_count - 1, -1, -1):
        if is_inner[node]:
            below[node] = below[left[node]] + below[right[node]]
            n_leaves[node] = n_leaves[left[node]] + n_leaves[right[node]]
    links = np.full(tree.node_count, np.inf)
    links[is_inner] = (cost - below)[is_inner] / (n_leaves[is_inner] - 1)
    falls = np.where(is_inner, np.inf, -np.inf)
    alpha = -np.inf
    while np.isfinite(links[0]):
        node = int(links.argmin())
        alpha = falls[node] = max(alpha, links[node])
        links[node] = np.inf
        saved, fewer = cost[node] - below[node], n_leaves[node] - 1
        below[node], n_leaves[node] = cost[node], 1
        inside = [left[node], right[node]]
        while inside:  # nothing below is pruned any more
            child = inside.pop()
            links[child] = np.inf
            if left[child] >= 0 and not np.isfinite(falls[child]):
                inside += [left[child], right[child]]
        above = parent[node]
        while above >= 0:
            below[above] += saved
            n_leaves[above] -= fewer
            links[above] = (cost[above] - below[above]) / (n_leaves[above] - 1)
            above = parent[above]
    return falls
