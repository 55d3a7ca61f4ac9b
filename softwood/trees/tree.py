"""The finished tree that every family produces.

Everything after growing (predicting, explaining, drawing, saving) works on this class. Its basic operation is sharing:
a point belongs to each node to a degree, its membership, and the memberships of the leaves add up to 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from softwood.core.estimators import documented
from softwood.core.losses import softmax_gradient
from softwood.core.memory import check_fits
from softwood.trees import sharing
from softwood.trees.gates import Gate
from softwood.trees.nodes import NodeArrays


@documented
@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class SoftTree(NodeArrays):
    """A finished tree, as flat arrays with one entry per node; node 0 is the root.

    Examples
    --------
    A stump that sends half of a point to each side at its threshold:

    >>> import numpy as np
    >>> from softwood import SoftTree
    >>> tree = SoftTree.from_nodes(
    ...     children_left=[1, -1, -1], children_right=[2, -1, -1], gate=[0, -1, -1], feature=[0, -1, -1],
    ...     threshold=[1.5, np.nan, np.nan], width=[1.0, 0, 0], value=[[0.5], [0.0], [1.0]], n_features=1)
    >>> tree.predict(np.array([[0.0], [1.5], [2.0]])).ravel()
    array([0.  , 0.5 , 0.75])
    """

    def __post_init__(self) -> None:
        self._check_nodes(np.array([0, len(self.children_left)]))

    @classmethod
    def from_sklearn(cls, model: Any) -> SoftTree:
        """The tree of a fitted decision tree or extra tree of scikit-learn, with the same predictions.

        scikit-learn rounds rows to float32 before it compares them with a threshold. The thresholds of the tree are
        moved, by less than half of the distance of float32 numbers, so that rows of float64 go to the same leaves.

        Parameters
        ----------
        model : fitted DecisionTree or ExtraTree of scikit-learn
            The tree.

        Returns
        -------
        SoftTree
            The tree.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from softwood import SoftTree
        >>> X, y = load_iris(return_X_y=True)
        >>> model = DecisionTreeClassifier(max_depth=3).fit(X, y)
        >>> bool((SoftTree.from_sklearn(model).predict(X) == model.predict_proba(X)).all())
        True
        """
        from softwood.imported.scikit_learn import read_sklearn

        trees = read_sklearn(model, "SoftTree.from_sklearn").trees
        if not isinstance(trees, SoftTree):
            raise TypeError(f"{type(model).__name__} has several trees; use SoftForest.from_sklearn.")
        return trees

    # Size

    @property
    def n_outputs(self) -> int:
        """Length of a value: the number of classes or targets."""
        return self.value.shape[1]

    # Sharing

    def memberships(self, X: np.ndarray, *, widths: np.ndarray | None = None) -> sparse.csr_array:
        """Share of each row in each node."""
        X = self._points(X)
        return sharing.memberships(self, X, widths)

    def predict(self, X: np.ndarray, *, widths: np.ndarray | None = None) -> np.ndarray:
        """Predictions: the sum of the leaf values weighted by the shares, passed through the link.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            Predictions.
        """
        if widths is not None or not self._is_sigmoid:
            return self._linked(self.raw(X, widths=widths))
        X = self._points(X)
        out = sharing.sigmoid_predictions(self, X)
        rest = np.isnan(out[:, 0])  # a value is missing
        if rest.any():
            out[rest] = self._linked(self.raw(X[rest]))
        return out

    def raw(self, X: np.ndarray, *, widths: np.ndarray | None = None) -> np.ndarray:
        """Sum of the leaf values weighted by the shares, before the link.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            Sums.
        """
        X = self._points(X)
        out = np.zeros((len(X), self.n_outputs))
        only = np.zeros(1, dtype=np.int64)
        chosen = sharing.Chosen(only, np.array([0, self.n_nodes]), only.astype(np.int32))
        sharing.add_raw(self, chosen, X, widths, out)
        return out

    def predict_largest(self, X: np.ndarray, *, widths: np.ndarray | None = None) -> np.ndarray:
        """Output with the largest prediction for each row: the number of the most probable class.

        Returns
        -------
        ndarray of shape (n_rows,)
            Numbers of outputs.
        """
        if widths is None and self.weights is None and self.is_crisp:
            leaves = sharing.crisp_leaves(self, self._points(X))
            if leaves is not None:
                return self.value.argmax(axis=1)[leaves]
        return self.raw(X, widths=widths).argmax(axis=1)  # the link does not change which output is largest

    def apply(self, X: np.ndarray, *, widths: np.ndarray | None = None) -> np.ndarray:
        """Leaf with the largest share of each row, the first of several such leaves.

        Returns
        -------
        ndarray of shape (n_rows,)
            Numbers of leaves.
        """
        shares = self.memberships(X, widths=widths)
        leaves = np.flatnonzero(self.children_left < 0)
        return leaves[np.asarray(shares[:, leaves].argmax(axis=1)).ravel()]

    def input_gradient(
        self, X: np.ndarray, *, widths: np.ndarray | None = None, width_slopes: np.ndarray | None = None
    ) -> np.ndarray:
        """Derivative of the prediction with respect to the row.

        It is zero where the prediction is locally constant, which is everywhere in a crisp tree. At breakpoints of the
        kernels, where the left and the right derivative differ, it is one of the two.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs, n_features)
            Derivatives.
        """
        X = self._points(X)
        check_fits("input_gradient", (len(X), self.n_outputs, self.n_features))
        out = sharing.gradients(self, X, widths, width_slopes)
        return out if self.link == "identity" else softmax_gradient(self.predict(X, widths=widths), out)

    def _linked(self, raw: np.ndarray) -> np.ndarray:
        if self.link == "identity":
            return raw
        powers = np.exp(raw - raw.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)

    @property
    def node_predictions(self) -> np.ndarray:
        """Prediction of each node if it were a leaf: its value passed through the link, (n_nodes, n_outputs)."""
        return self._linked(self.value)

    # Explaining

    def feature_importances(self) -> np.ndarray:
        """Decrease of impurity by each feature, weighted by mass, normalised to a sum of 1 (all 0 for a lone root).

        The decrease at an oblique gate is divided among the features in proportion to the sizes of their weights; see
        `weight_sizes`.
        """
        decreases = self.impurity_decreases()
        total = decreases.sum()
        return decreases / total if total > 0 else decreases

    def impurity_decreases(self) -> np.ndarray:
        """Decrease of mass times impurity by each feature, (n_features,)."""
        importances = np.zeros(self.n_features)
        inner = np.flatnonzero(self.children_left >= 0)
        left, right = self.children_left[inner], self.children_right[inner]
        loss = self.mass * self.impurity
        decrease = np.maximum(loss[inner] - loss[left] - loss[right], 0.0)
        if self.weights is None:
            np.add.at(importances, self.feature[inner], decrease)
        else:
            for node, amount in zip(inner, decrease, strict=True):
                oblique = 1.0 if self.gate[node] in (Gate.SIGMOID, Gate.OBLIQUE) else float(self.blend[node])
                size = self.weight_sizes(int(node))
                tests_one = self.gate[node] in (Gate.KERNEL, Gate.SUBSET)
                if not tests_one and size.sum() > 0:
                    importances += amount * oblique * size / size.sum()
                if tests_one or self.gate[node] == Gate.BLEND:
                    importances[self.feature[node]] += amount * (1.0 - oblique)
        return importances

    def weight_sizes(self, node: int) -> np.ndarray:
        """Absolute weights of an oblique gate, for features in standard deviations if ``scale`` is known.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        ndarray of shape (n_features,)
            Sizes of the weights.
        """
        assert self.weights is not None
        size = np.abs(self.weights[node])
        return size if self.scale is None else size * self.scale

    def contributions(self, X: np.ndarray, node: int) -> np.ndarray:
        """Contribution of each feature to the decision of an oblique gate, for each row.

        The contribution of feature j is ``w_j (x_j - center_j)``. Positive contributions send the row to the left;
        missing values contribute 0.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Contributions.
        """
        X = self._points(X)
        if self.weights is None or self.gate[node] in (Gate.LEAF, Gate.KERNEL, Gate.SUBSET):
            raise ValueError(f"Node {node} has no oblique gate.")
        moved = X if self.center is None else X - self.center
        return np.nan_to_num(moved * self.weights[node], nan=0.0)

    def walk(self, node: int = 0) -> Iterator[int]:
        """Iterate over a node and those below it depth first, left before right.

        Parameters
        ----------
        node : int, default=0
            Number of the first node; 0 is the root.

        Yields
        ------
        int
            Numbers of the nodes.
        """
        pending = [node]
        while pending:
            node = pending.pop()
            yield node
            if self.children_left[node] >= 0:
                pending += [int(self.children_right[node]), int(self.children_left[node])]

    def __repr__(self) -> str:
        return (
            f"<SoftTree of {self.n_nodes} nodes, {self.n_leaves} leaves, depth {self.max_depth}, "
            f"{self.n_features} features, {self.n_outputs} outputs>"
        )

    def __str__(self) -> str:
        from softwood.trees.text import tree_text

        return tree_text(self)

    # Passing to the compiled loops

    @cached_property
    def _sigmoid_gates(self) -> np.ndarray:
        """Weights of each node, followed by its bias, (n_nodes, n_features + 1)."""
        assert self.weights is not None
        return np.ascontiguousarray(np.column_stack([self.weights, self.bias]))
