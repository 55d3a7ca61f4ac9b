"""The hard tree of the comparison: scikit-learn's, grown as long as the validation half gets better.

A split of a conventional tree does not depend on the other splits. So pre-pruning is a walk down the full tree: a node
keeps its split if that lowers the squared error of the validation rows there (of class frequencies: the Brier score);
if not, it is a leaf and nothing below it is looked at. Without pruning it is the full tree.
"""

from __future__ import annotations

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor


class PrePrunedTree:
    """Conventional tree with pre-pruning on validation rows; for numbers, or for two classes 0 and 1."""

    def __init__(self, *, is_class: bool, prune: bool = True, random_state: int = 0) -> None:
        kind = DecisionTreeClassifier if is_class else DecisionTreeRegressor
        self.is_class, self.prune = is_class, prune
        self.full = kind(random_state=random_state)

    def fit(self, X: np.ndarray, y: np.ndarray, X_val: np.ndarray, y_val: np.ndarray) -> PrePrunedTree:
        self.full.fit(X, y)
        tree = self.full.tree_
        self.left, self.right = tree.children_left.copy(), tree.children_right.copy()
        self.value = tree.value[:, 0, -1]  # mean, or frequency of class 1
        path = self.full.decision_path(X_val).tocsc()
        rows = [path.indices[path.indptr[node] : path.indptr[node + 1]] for node in range(tree.node_count)]
        error = np.array([((y_val[rows[node]] - self.value[node]) ** 2).sum() for node in range(tree.node_count)])
        pending, self.n_nodes = [0], 0
        while pending:
            node = pending.pop()
            self.n_nodes += 1
            left, right = self.left[node], self.right[node]
            if left >= 0 and (not self.prune or error[left] + error[right] < error[node]):
                pending += [left, right]
            else:
                self.left[node] = self.right[node] = -1
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        tree = self.full.tree_
        X = np.asarray(X, dtype=np.float32)  # as scikit-learn compares
        node = np.zeros(len(X), dtype=np.int64)
        inner = self.left[node] >= 0
        while inner.any():
            here = node[inner]
            x = X[inner, tree.feature[here]]
            goes_left = np.where(np.isnan(x), tree.missing_go_to_left[here] == 1, x <= tree.threshold[here])
            node[inner] = np.where(goes_left, self.left[here], self.right[here])
            inner = self.left[node] >= 0
        return (self.value[node] > 0.5).astype(int) if self.is_class else self.value[node]
