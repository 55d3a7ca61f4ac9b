"""The flat arrays that describe the nodes of one tree or of several trees."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from typing import Any, Self

import numpy as np
from scipy import sparse

from softwood.core.arrays import all_finite, is_within, require_array
from softwood.core.estimators import documented
from softwood.trees.gates import Gate
from softwood.trees.structure import check_structure, parents_and_depths

# Per-node arrays with their fixed types, so that a saved tree means the same everywhere.
NODE_TYPES = {
    "children_left": np.int32,
    "children_right": np.int32,
    "parent": np.int32,
    "depth": np.int32,
    "gate": np.int8,
    "feature": np.int32,
    "threshold": np.float64,
    "missing_left": np.float64,
    "width": np.float64,
    "kernel": np.int32,
    "blend": np.float64,
    "bias": np.float64,
    "mass": np.float64,
    "impurity": np.float64,
}


LINKS = ("identity", "softmax")


@dataclass(frozen=True)
class KernelShapes:
    """Tables of piecewise-constant kernel shapes, padded to one length.

    Attributes
    ----------
    edges : (n_shapes, max_edges) float64, edges in units of the half-width, the last one repeated
    cdfs : (n_shapes, max_edges) float64, distribution values at the edges, from 0 to 1
    """

    edges: np.ndarray
    cdfs: np.ndarray

    def __post_init__(self) -> None:
        edges = require_array("edges", self.edges, np.float64, (None, None))
        cdfs = require_array("cdfs", self.cdfs, np.float64, edges.shape)
        if edges.size == 0 or not all_finite(edges) or np.any(edges[:, 1:] < edges[:, :-1]):
            raise ValueError("edges of kernel shapes must be finite and rising.")
        if np.any(edges[:, 0] == edges[:, -1]):
            raise ValueError("Kernel shapes must have a width.")
        if np.any(cdfs[:, 0] != 0.0) or np.any(cdfs[:, -1] != 1.0) or not np.all(cdfs[:, 1:] >= cdfs[:, :-1]):
            raise ValueError("cdfs of kernel shapes must rise from 0 to 1.")

    @classmethod
    def of(cls, shapes: list[tuple[np.ndarray, np.ndarray]]) -> KernelShapes:
        """Build the tables from a list of (edges, cdf) pairs."""
        longest = max(len(edges) for edges, _ in shapes)
        rows = [[np.pad(side, (0, longest - len(side)), mode="edge") for side in shape] for shape in shapes]
        return cls(np.array([e for e, _ in rows], dtype=np.float64), np.array([c for _, c in rows], dtype=np.float64))

    def __len__(self) -> int:
        return len(self.edges)

    @classmethod
    @cache
    def box(cls) -> KernelShapes:
        """Only the box, the shape with number 0 in every table."""
        return cls.of([(np.array([-1.0, 1.0]), np.array([0.0, 1.0]))])


@documented
@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class NodeArrays:
    """The flat arrays of the nodes of one tree or of several trees, and quantities computed from them.

    Attributes
    ----------
    children_left : ndarray of shape (n_nodes,), int32
        Left child of each node. -1 at leaves.
    children_right : ndarray of shape (n_nodes,), int32
        Right child of each node. -1 at leaves.
    parent : ndarray of shape (n_nodes,), int32
        Parent of each node. -1 at the root.
    depth : ndarray of shape (n_nodes,), int32
        Depth of each node. 0 at the root.
    gate : ndarray of shape (n_nodes,), int8
        Kind of gate, see `softwood.Gate`. -1 at leaves.
    feature : ndarray of shape (n_nodes,), int32
        Feature that axis-aligned and blended gates test. -1 elsewhere.
    threshold : ndarray of shape (n_nodes,), float64
        Threshold of axis-aligned and blended gates. nan elsewhere.
    missing_left : ndarray of shape (n_nodes,), float64
        Share of a row that goes left if the gate's value is missing: the share of the node's training mass that went
        left.
    width : ndarray of shape (n_nodes,), float64
        Half-width of the kernel, or width of the smooth step of a blended gate.
    kernel : ndarray of shape (n_nodes,), int32
        Shape of the kernel: the number of a row of `shapes`.
    blend : ndarray of shape (n_nodes,), float64
        Weight of the oblique part of a blended gate, in [0, 1].
    bias : ndarray of shape (n_nodes,), float64
        Biases of sigmoid, oblique and blended gates.
    weights : ndarray of shape (n_nodes, n_features), float64, or None
        Weights of sigmoid, oblique and blended gates. None without such gates.
    value : ndarray of shape (n_nodes, n_outputs), float64
        Class probabilities, or means of the targets.
    mass : ndarray of shape (n_nodes,), float64
        Mass of the training rows in the node: weight times membership.
    impurity : ndarray of shape (n_nodes,), float64
        Impurity of the training rows in the node.
    n_features : int
        Number of features.
    shapes : KernelShapes
        Shapes of the kernels.
    link : {"identity", "softmax"}
        Function applied to the weighted sum of leaf values of a tree: "softmax" if the values are logarithms of class
        probabilities up to a constant.
    center : ndarray of shape (n_features,), float64, or None
        Means of the features. Contributions of oblique gates are relative to them. If None, they are relative to 0.
    scale : ndarray of shape (n_features,), float64, or None
        Standard deviations of the features. Importances, contributions and text use them to compare the weights of
        oblique gates. If None, the weights are compared unscaled.
    subsets : ndarray of shape (n_nodes, n_words), uint32, or None
        Sets of categories: bit ``c % 32`` of word ``c // 32`` is set if category number ``c`` goes left. None without
        such gates. Other numbers are missing values.

    Arguments of methods
    --------------------
    X : ndarray of shape (n_rows, n_features)
        The rows, nan where missing.
    widths : ndarray of shape (n_rows, n_features) or None
        Half-widths of the kernels of single cells, which replace those of the nodes except where they are nan.
    width_slopes : ndarray of shape (n_rows, n_features) or None
        Derivatives of the half-widths of single cells with respect to the values. None if these half-widths do not
        depend on the values.
    n_jobs : int or None
        Number of threads, each for a block of rows. The result does not depend on it.
    """

    children_left: np.ndarray
    children_right: np.ndarray
    parent: np.ndarray
    depth: np.ndarray
    gate: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    width: np.ndarray
    kernel: np.ndarray
    blend: np.ndarray
    bias: np.ndarray
    weights: np.ndarray | None
    value: np.ndarray
    mass: np.ndarray
    impurity: np.ndarray
    n_features: int
    shapes: KernelShapes = field(default_factory=KernelShapes.box)
    link: str = "identity"
    center: np.ndarray | None = None
    scale: np.ndarray | None = None
    subsets: np.ndarray | None = None

    @classmethod
    def from_nodes(cls, *, children_left: Any, children_right: Any, value: Any, **given: Any) -> Self:
        """Build a tree or forest from its structure and values; columns that are not given get neutral values.

        All families build their trees with this method. Arrays are copied, so later changes of the given arrays do not
        change the tree.

        Parameters
        ----------
        children_left : array-like of shape (n_nodes,)
            Left child of each node. -1 at leaves.
        children_right : array-like of shape (n_nodes,)
            Right child of each node. -1 at leaves.
        value : array-like of shape (n_nodes, n_outputs)
            Values of the nodes.
        **given : dict
            The other attributes. ``n_features`` is required, ``parent`` and ``depth`` are computed if not given.

        Returns
        -------
        SoftTree or SoftForest
            The tree or forest.
        """
        left, right = np.array(children_left, dtype=np.int32), np.array(children_right, dtype=np.int32)
        neutral: dict[str, Any] = {
            "gate": np.where(left >= 0, Gate.KERNEL, Gate.LEAF),
            "feature": -1,
            "threshold": np.nan,
            "missing_left": 0.5,
            "width": 0.0,
            "kernel": 0,
            "blend": 0.0,
            "bias": 0.0,
            "mass": np.nan,
            "impurity": np.nan,
        }
        names = {field.name for field in fields(cls)}
        unknown = sorted(set(given) - names)
        if unknown:
            raise TypeError(f"{cls.__name__} has no column {unknown[0]!r}; it has {', '.join(sorted(names))}.")
        if "parent" not in given or "depth" not in given:
            given["parent"], given["depth"] = parents_and_depths(left, right)
        columns: dict[str, Any] = {
            name: np.array(np.broadcast_to(np.asarray(column, dtype=NODE_TYPES[name]), len(left)))
            for name, column in (neutral | {key: given[key] for key in given if key in NODE_TYPES}).items()
        }
        others = {"weights": None} | {name: given[name] for name in given if name not in NODE_TYPES}
        for name in ("weights", "center", "scale"):
            if others.get(name) is not None:
                others[name] = np.array(others[name], dtype=np.float64, order="C")
        if others.get("subsets") is not None:
            others["subsets"] = np.array(others["subsets"], dtype=np.uint32, order="C")
        values = np.array(value, dtype=np.float64, order="C").reshape(len(left), -1)
        return cls(children_left=left, children_right=right, value=values, **columns, **others)

    @property
    def n_nodes(self) -> int:
        """Number of nodes, of all trees."""
        return len(self.children_left)

    @property
    def n_leaves(self) -> int:
        """Number of leaves, of all trees."""
        return int(np.sum(self.children_left < 0))

    @property
    def max_depth(self) -> int:
        """Depth of the deepest leaf; a lone root has depth 0."""
        return int(self.depth.max())

    @cached_property
    def is_crisp(self) -> bool:
        """Whether every point without missing values follows a single path, in each tree."""
        is_test = ((self.gate == Gate.KERNEL) & (self.width == 0)) | (self.gate == Gate.OBLIQUE)
        return bool(np.all(is_test | (self.gate == Gate.LEAF) | (self.gate == Gate.SUBSET)))

    @property
    def set_words(self) -> np.ndarray:
        """The sets of categories of all nodes, (n_nodes, n_words) uint32; without words if there are none."""
        return np.zeros((self.n_nodes, 0), np.uint32) if self.subsets is None else self.subsets

    def members(self, node: int) -> np.ndarray:
        """Numbers of the categories that go left at a node with a set of categories, rising.

        Parameters
        ----------
        node : int
            Number of the node.

        Returns
        -------
        ndarray of int
            Numbers of categories.
        """
        assert self.subsets is not None
        bits = np.unpackbits(self.subsets[node].astype("<u4").view(np.uint8), bitorder="little")
        return np.flatnonzero(bits)

    @cached_property
    def _is_sigmoid(self) -> bool:
        """Whether all gates are sigmoids and children come after their parents, as the faster loop requires."""
        inner = self.children_left >= 0
        is_sorted = np.all(np.minimum(self.children_left, self.children_right)[inner] > np.flatnonzero(inner))
        return bool(np.all(self.gate[inner] == Gate.SIGMOID) and is_sorted and inner.any())

    def with_kernel(self, widths: np.ndarray, kernels: np.ndarray, shapes: KernelShapes) -> Self:
        """The same nodes with other kernels, given as half-width and shape of each feature.

        Parameters
        ----------
        widths : ndarray of shape (n_features,)
            Half-width of each feature.
        kernels : ndarray of shape (n_features,)
            Shape of each feature: the number of a row of `shapes`.
        shapes : KernelShapes
            The shapes.

        Returns
        -------
        SoftTree or SoftForest
            The tree or forest with these kernels.
        """
        kernel_gates = self.gate == Gate.KERNEL
        width = np.where(kernel_gates, np.asarray(widths, dtype=np.float64)[self.feature], self.width)
        kernel = np.where(kernel_gates, np.asarray(kernels)[self.feature], 0).astype(np.int32)
        return replace(self, width=width, kernel=kernel, shapes=shapes)

    def crisp(self) -> Self:
        """The same nodes with crisp gates: kernel gates become tests of the threshold, sigmoids oblique tests."""
        width = np.where(self.gate == Gate.KERNEL, 0.0, self.width)
        gate = np.where(self.gate == Gate.SIGMOID, Gate.OBLIQUE, self.gate).astype(np.int8)
        return replace(self, width=width, gate=gate)

    def _check_nodes(self, offsets: np.ndarray) -> None:
        """Raise a ValueError unless the compiled loops can rely on the arrays, which do not check their indices.

        Parameters
        ----------
        offsets : (n_trees + 1,) where the nodes of each tree begin
        """
        n = len(self.children_left)
        for name, dtype in NODE_TYPES.items():
            require_array(name, getattr(self, name), dtype, (n,))
        if n == 0 or self.value.ndim != 2 or len(self.value) != n or self.value.shape[1] == 0:
            raise ValueError(
                f"value must have one row for each of {n} nodes (at least one), got shape {self.value.shape}."
            )
        if self.value.dtype != np.float64 or not all_finite(self.value):
            raise ValueError("value must be finite numbers of type float64.")
        check_structure(self.children_left, self.children_right, self.parent, self.depth, offsets)
        if not 0 <= self.n_features < 2**31:
            raise ValueError(f"n_features must be a number of columns, got {self.n_features}.")
        for name, array in (("center", self.center), ("scale", self.scale)):
            is_row = array is None or (array.shape == (self.n_features,) and array.dtype == np.float64)
            if not is_row or (array is not None and not all_finite(array)):
                raise ValueError(f"{name} must have {self.n_features} finite numbers, got {array}.")
        if self.link not in LINKS:
            raise ValueError(f"link must be one of {', '.join(map(repr, LINKS))}, got {self.link!r}.")
        self._check_gates()

    def _check_gates(self) -> None:
        n, inner = self.n_nodes, self.children_left >= 0
        if not is_within(self.gate, min(Gate), max(Gate)) or np.any((self.gate == Gate.LEAF) == inner):
            raise ValueError("Exactly the nodes with children must have a gate.")
        by_set, is_test = self.gate == Gate.SUBSET, (self.gate == Gate.KERNEL) | (self.gate == Gate.BLEND)
        # Nodes without a test may have any negative number, such as scikit-learn's -2 for leaves.
        is_column = np.all(self.feature < self.n_features) and np.all(self.feature[is_test | by_set] >= 0)
        if not is_column or not all_finite(self.threshold[is_test]):
            raise ValueError("Axis-aligned gates need a feature of the data and a finite threshold.")
        if not is_within(self.missing_left, 0.0, 1.0) or not is_within(self.blend, 0.0, 1.0):
            raise ValueError("missing_left and blend must be in [0, 1].")
        if not is_within(self.kernel, 0, len(self.shapes) - 1) or not is_within(self.width, 0.0, np.inf):
            raise ValueError("kernel must be a row of shapes, and width at least 0.")
        if self.weights is not None:
            if not all_finite(require_array("weights", self.weights, np.float64, (n, self.n_features))):
                raise ValueError("weights must be finite.")
        elif np.any(inner & (self.gate != Gate.KERNEL) & ~by_set):
            raise ValueError(f"Oblique gates need weights of shape ({n}, {self.n_features}).")
        if not all_finite(self.bias):
            raise ValueError("bias must be finite.")
        if self.subsets is not None:
            require_array("subsets", self.subsets, np.uint32, (n, None))
        if by_set.any() and (self.subsets is None or self.subsets.shape[1] == 0):
            raise ValueError(f"Gates of categories need subsets, one for each of {n} nodes.")

    # Passing to the compiled loops

    def memberships(self, X: np.ndarray, *, widths: np.ndarray | None = None) -> sparse.csr_array:
        """Share of each row in each node.

        Returns
        -------
        sparse array of shape (n_rows, n_nodes)
            The shares.
        """
        raise NotImplementedError

    def decision_path(self, X: np.ndarray, *, widths: np.ndarray | None = None) -> sparse.csr_array:
        """Indicator of the nodes that each row reaches.

        Returns
        -------
        sparse array of shape (n_rows, n_nodes)
            1 where a row reaches a node.
        """
        path = self.memberships(X, widths=widths)
        path.data = np.ones(len(path.data), dtype=np.int64)
        return path

    def _points(self, X: np.ndarray) -> np.ndarray:
        X = np.require(X, np.float64, ["C"])
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise ValueError(f"X must have shape (n_rows, {self.n_features}), got {X.shape}.")
        if self.subsets is not None:
            own = X[:, self._set_features]
            with np.errstate(invalid="ignore"):
                unknown = (own <= -1.0) | (own >= 32.0 * self.subsets.shape[1])
            if unknown.any():  # the tree does not know categories without a bit
                X = X.copy()
                X[:, self._set_features] = np.where(unknown, np.nan, own)
        return X

    @cached_property
    def _set_features(self) -> np.ndarray:
        """Features that are tested by sets of categories."""
        return np.unique(self.feature[self.gate == Gate.SUBSET])

    @cached_property
    def _gates(self) -> np.ndarray:
        """The nodes of a tree or forest of kernel gates as records `softwood.trees.loops.predict.GATE`, (n_nodes,)."""
        from softwood.trees.loops.predict import BY_SET, GATE

        is_leaf = self.children_left < 0
        gates = np.empty(self.n_nodes, GATE)
        with np.errstate(over="ignore"):
            for end, edge in (("low", -1), ("high", 0)):
                reach = self.width * self.shapes.edges[self.kernel, edge]
                gates[end] = np.where(is_leaf, np.nan, self.threshold - reach)
            # The threshold of a crisp gate belongs to the left.
            gates["high"] = np.maximum(gates["high"], np.nextafter(gates["low"], np.inf))
        for name, column in zip(("feature", "left", "right"), self._tests.T, strict=True):
            gates[name] = column
        gates["kernel"] = self.kernel
        by_set = self.gate == Gate.SUBSET
        gates["low"][by_set] = 0.0  # only nan has a meaning: leaves
        gates["kernel"][by_set] = BY_SET
        return gates

    @cached_property
    def _only_boxes(self) -> bool:
        """Whether the ends of the gates describe their kernels: all are boxes, of half-widths that do not overflow."""
        with np.errstate(over="ignore"):
            reach = self._gates["high"] - self._gates["low"]
        return len(self.shapes) == 1 and not np.any(np.isinf(reach))

    @cached_property
    def _height(self) -> int:
        """Number of levels of gates of the deepest tree."""
        return self.max_depth

    @property
    def _begin(self) -> np.ndarray | int:
        """For each node, the index of the first node of its tree, (n_nodes,); 0 in a single tree."""
        return 0

    @cached_property
    def _tests(self) -> np.ndarray:
        """Feature, left and right child of each node, (n_nodes, 3); leaves are their own children.

        In a forest, children are indices into the arrays of all trees.
        """
        is_leaf = self.children_left < 0
        tests = np.column_stack([self.feature, self.children_left + self._begin, self.children_right + self._begin])
        tests[is_leaf] = np.flatnonzero(is_leaf)[:, None]
        tests[is_leaf, 0] = 0
        return np.ascontiguousarray(tests, dtype=np.uint32)

    @cached_property
    def _crisp_thresholds(self) -> np.ndarray:
        """Threshold of each node, inf at leaves and nan at sets of categories."""
        return np.where(self.children_left < 0, np.inf, np.where(self.gate == Gate.SUBSET, np.nan, self.threshold))

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # without cached properties
