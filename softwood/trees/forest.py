"""The finished ensemble: several trees side by side in the same flat arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse

from softwood.core.arrays import all_finite, is_within, require_array
from softwood.core.estimators import documented
from softwood.core.memory import check_fits
from softwood.core.parameters import check_n_jobs
from softwood.core.threads import Threads
from softwood.trees import sharing
from softwood.trees.gates import Gate
from softwood.trees.nodes import NODE_TYPES, NodeArrays
from softwood.trees.tree import SoftTree

# Smallest number of rows for which a separate thread is worthwhile.
_ROWS_PER_THREAD = 500
# What all trees of a forest have in common.
_COMMON = ("n_features", "shapes", "link", "center", "scale")


@documented
@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class SoftForest(NodeArrays):
    """Trees side by side: the arrays of `SoftTree`, one tree after the other.

    A prediction is ``base + factor * (sum of the trees' predictions)``: the mean of a forest, or the sum of a boosted
    ensemble. Nodes are numbered within their tree; node ``k`` of tree ``t`` is entry ``offsets[t] + k``.

    Attributes
    ----------
    offsets : ndarray of shape (n_trees + 1,), int64
        Where the nodes of each tree begin.
    output : ndarray of shape (n_trees,), int32
        First output that the values of each tree are added to: 0, except in boosting with one tree per class.
    base : ndarray of shape (n_outputs,), float64
        Start value that the trees are added to.
    is_mean : bool
        Whether the predictions of the trees are averaged or added up.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import SoftForest, SoftTree
    >>> stumps = [
    ...     SoftTree.from_nodes(
    ...         children_left=[1, -1, -1], children_right=[2, -1, -1], feature=[0, -1, -1],
    ...         threshold=[threshold, np.nan, np.nan], value=[[0.5], [0.0], [1.0]], n_features=1)
    ...     for threshold in (1.0, 2.0)]
    >>> SoftForest.mean(stumps).predict(np.array([[0.0], [1.5], [3.0]])).ravel()
    array([0. , 0.5, 1. ])
    """

    offsets: np.ndarray
    output: np.ndarray
    base: np.ndarray
    is_mean: bool

    @classmethod
    def mean(cls, trees: Sequence[SoftTree]) -> SoftForest:
        """A forest that predicts the mean of its trees.

        Parameters
        ----------
        trees : sequence of SoftTree
            The trees.

        Returns
        -------
        SoftForest
            The forest.
        """
        first = _first_of(trees)
        return cls._of(trees, np.zeros(len(trees), np.int32), np.zeros(first.n_outputs), True)

    @classmethod
    def sum(cls, trees: Sequence[SoftTree], output: Any, base: Any) -> SoftForest:
        """An ensemble that adds the predictions of its trees to a start value.

        Parameters
        ----------
        trees : sequence of SoftTree
            The trees.
        output : array-like of shape (n_trees,)
            First output that each tree adds to.
        base : array-like of shape (n_outputs,)
            The start value.

        Returns
        -------
        SoftForest
            The forest.
        """
        _first_of(trees)
        return cls._of(trees, np.asarray(output, dtype=np.int32), np.array(base, dtype=np.float64), False)

    @classmethod
    def _of(
        cls, parts: Sequence[SoftTree | SoftForest], output: np.ndarray, base: np.ndarray, is_mean: bool
    ) -> SoftForest:
        first = parts[0]
        sizes = np.concatenate([part.sizes if isinstance(part, SoftForest) else [part.n_nodes] for part in parts])
        arrays: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in [*NODE_TYPES, "value"]
        }
        weights = None
        if any(part.weights is not None for part in parts):
            none = [np.zeros((part.n_nodes, part.n_features)) for part in parts]
            weights = np.concatenate([z if p.weights is None else p.weights for p, z in zip(parts, none, strict=True)])
        subsets = None
        if any(part.subsets is not None for part in parts):
            most = max(part.set_words.shape[1] for part in parts)
            words = [np.pad(part.set_words, ((0, 0), (0, most - part.set_words.shape[1]))) for part in parts]
            subsets = np.concatenate(words)
        return cls(
            offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            output=output,
            base=base,
            is_mean=is_mean,
            weights=weights,
            subsets=subsets,
            **arrays,
            **{name: getattr(first, name) for name in _COMMON},
        )

    @classmethod
    def from_sklearn(cls, model: Any) -> SoftForest:
        """The trees of a fitted ensemble of scikit-learn, with the same predictions.

        Random forests and extra trees predict probabilities or targets; gradient boosting, of both kinds, predicts raw
        scores: the `decision_function` of a classifier, the targets of a regressor, or their logarithms if its loss is
        "poisson" or "gamma". Thresholds are those of float64 rows, as in `SoftTree.from_sklearn`.

        Parameters
        ----------
        model : fitted ensemble of scikit-learn
            The ensemble.

        Returns
        -------
        SoftForest
            The forest.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> from softwood import SoftForest
        >>> X, y = load_iris(return_X_y=True)
        >>> model = RandomForestClassifier(10, random_state=0).fit(X, y)
        >>> bool(np.allclose(SoftForest.from_sklearn(model).predict(X), model.predict_proba(X), rtol=0, atol=1e-12))
        True
        """
        from softwood.imported.scikit_learn import read_sklearn

        return cls._imported(read_sklearn(model, "SoftForest.from_sklearn").trees)

    @classmethod
    def from_lightgbm(cls, model: Any) -> SoftForest:
        """The trees of a LightGBM model, whose predictions are its raw scores.

        Parameters
        ----------
        model : fitted estimator, Booster, dict or str
            The model, or what ``Booster.dump_model()`` gives, as an object or as JSON text.

        Returns
        -------
        SoftForest
            The forest.
        """
        from softwood.imported.lightgbm_dump import read_lightgbm

        return cls._imported(read_lightgbm(model, "SoftForest.from_lightgbm").trees)

    @classmethod
    def from_xgboost(cls, model: Any) -> SoftForest:
        """The trees of an XGBoost model, whose predictions are its raw scores (margins).

        XGBoost adds up in float32; this forest adds up the same numbers in float64. In a forest only nan is a missing
        value, so an estimator with another value of `missing` is refused.

        Parameters
        ----------
        model : fitted estimator, Booster, dict or str
            The model, or what ``Booster.save_model("model.json")`` writes, as an object or as JSON text.

        Returns
        -------
        SoftForest
            The forest.
        """
        from softwood.imported.xgboost_dump import read_xgboost

        found = read_xgboost(model, "SoftForest.from_xgboost")
        if not np.isnan(found.missing):
            raise ValueError(
                f"This {type(model).__name__} has missing={found.missing:g}, but in a SoftForest only nan is a missing "
                f"value. Pass model.get_booster(), and rows with nan in place of {found.missing:g}; or use "
                "softwood.soften, which replaces it."
            )
        return cls._imported(found.trees)

    @classmethod
    def _imported(cls, trees: SoftTree | SoftForest) -> SoftForest:
        return cls.mean([trees]) if isinstance(trees, SoftTree) else trees

    def with_trees_of(self, other: SoftForest) -> SoftForest:
        """A forest with the trees of `self` followed by those of `other`; both must be means, or both sums.

        Parameters
        ----------
        other : SoftForest
            The forest whose trees are added.

        Returns
        -------
        SoftForest
            The forest.
        """
        _first_of([self, other])
        if self.is_mean != other.is_mean:
            raise ValueError("Both forests must be means of their trees, or both sums.")
        return self._of([self, other], np.concatenate([self.output, other.output]), self.base, self.is_mean)

    def with_categories(self, n_known: np.ndarray, n_categories: np.ndarray) -> SoftForest:
        """The same trees for columns with more categories, the last ones of which are new.

        A gate sends new categories to the child with the larger mass, like those that its node had no points of.

        Parameters
        ----------
        n_known : ndarray of shape (n_features,)
            Number of categories of each column before; 0 for numbers.
        n_categories : ndarray of shape (n_features,)
            Number of categories of each column now; 0 for numbers.

        Returns
        -------
        SoftForest
            The forest.
        """
        of_new = np.flatnonzero((self.gate == Gate.SUBSET) & (n_categories > n_known)[self.feature])
        if len(of_new) == 0:
            return self
        n_words = max(self.set_words.shape[1], -(-int(n_categories.max()) // 32))
        subsets = np.pad(self.set_words, ((0, 0), (0, n_words - self.set_words.shape[1])))
        begins = self.offsets[np.searchsorted(self.offsets, of_new, side="right") - 1]
        left, right = self.children_left[of_new], self.children_right[of_new]
        goes_left = self.mass[begins + left] > self.mass[begins + right]
        for node in of_new[goes_left].tolist():
            j = self.feature[node]
            for category in range(n_known[j], n_categories[j]):
                subsets[node, category // 32] |= np.uint32(1 << category % 32)
        return replace(self, subsets=subsets)

    def __post_init__(self) -> None:
        n, n_trees = len(self.children_left), len(self.offsets) - 1
        require_array("offsets", self.offsets, np.int64, (None,))
        if n_trees < 1 or self.offsets[0] != 0 or self.offsets[-1] != n or np.any(np.diff(self.offsets) < 1):
            raise ValueError(f"offsets must rise from 0 to the number of nodes, {n}.")
        self._check_nodes(self.offsets)
        if self.output.shape != (n_trees,) or self.output.dtype != np.int32 or np.any(self.output < 0):
            raise ValueError(f"output must hold a number of at least 0 for each of {n_trees} trees.")
        require_array("base", self.base, np.float64, (None,))
        if not is_within(self.output, 0, len(self.base) - self.value.shape[1]):
            raise ValueError("base must have an entry for each output that a tree adds to.")
        if not all_finite(self.base):
            raise ValueError("base must be finite.")
        if self.link != "identity" and not self.is_mean:
            raise ValueError("Trees with a link can be averaged, not added up.")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, number: int) -> SoftTree:
        """The tree with this number."""
        number = range(len(self))[number]
        part = slice(int(self.offsets[number]), int(self.offsets[number + 1]))
        names = [*NODE_TYPES, "value", "weights", "subsets"]
        arrays: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name)[part] for name in names
        }
        return SoftTree(**arrays, **{name: getattr(self, name) for name in _COMMON})

    def __iter__(self) -> Iterator[SoftTree]:
        return (self[number] for number in range(len(self)))

    def first(self, n_trees: int) -> SoftForest:
        """The ensemble of the first `n_trees` trees; a mean remains a mean.

        Parameters
        ----------
        n_trees : int
            Number of trees.

        Returns
        -------
        SoftForest
            The forest.
        """
        if not 1 <= n_trees <= len(self):
            raise ValueError(f"n_trees must be in the range [1, {len(self)}], got {n_trees}.")
        end = int(self.offsets[n_trees])
        given = [name for name in ("weights", "subsets") if getattr(self, name) is not None]
        names = [*NODE_TYPES, "value", *given]
        arrays = {name: getattr(self, name)[:end] for name in names}
        return replace(self, offsets=self.offsets[: n_trees + 1], output=self.output[:n_trees], **arrays)

    # Size

    @property
    def sizes(self) -> np.ndarray:
        """Number of nodes of each tree, (n_trees,)."""
        return np.diff(self.offsets)

    @property
    def n_outputs(self) -> int:
        """Length of a prediction: the number of classes or targets."""
        return len(self.base)

    @property
    def factor(self) -> float:
        """Factor on the sum of the trees' predictions."""
        return 1.0 / len(self) if self.is_mean else 1.0

    # Sharing

    def predict(self, X: np.ndarray, *, widths: np.ndarray | None = None, n_jobs: int | None = None) -> np.ndarray:
        """Sum or mean of the trees' predictions.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            Predictions.
        """
        out = self.sum_of(np.arange(len(self)), X, widths=widths, n_jobs=n_jobs)
        out *= self.factor
        out += self.base
        return out

    def sum_of(
        self, trees: np.ndarray, X: np.ndarray, *, widths: np.ndarray | None = None, n_jobs: int | None = None
    ) -> np.ndarray:
        """Sum of the predictions of the trees with these numbers, without `base` and `factor`.

        Parameters
        ----------
        trees : ndarray of int
            Numbers of the trees.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            Sums.
        """
        X = self._points(X)
        out = np.zeros((len(X), self.n_outputs))
        self._add_trees(X, widths, trees, out, n_jobs)
        return out

    def staged_predict(
        self, X: np.ndarray, *, widths: np.ndarray | None = None, step: int = 1, n_jobs: int | None = None
    ) -> Iterator[np.ndarray]:
        """Iterate over the predictions after every `step` trees; the last is `predict`.

        Parameters
        ----------
        step : int, default=1
            Number of trees between two predictions.

        Yields
        ------
        ndarray of shape (n_rows, n_outputs)
            Predictions of the first trees.
        """
        X = self._points(X)
        out = np.zeros((len(X), self.n_outputs))
        for begin in range(0, len(self), step):
            end = min(begin + step, len(self))
            self._add_trees(X, widths, np.arange(begin, end), out, n_jobs)
            yield out * (1.0 / end if self.is_mean else 1.0) + self.base

    def predict_largest(
        self, X: np.ndarray, *, widths: np.ndarray | None = None, n_jobs: int | None = None
    ) -> np.ndarray:
        """Output with the largest prediction for each row.

        Returns
        -------
        ndarray of shape (n_rows,)
            Numbers of outputs.
        """
        return self.predict(X, widths=widths, n_jobs=n_jobs).argmax(axis=1)

    def memberships(self, X: np.ndarray, *, widths: np.ndarray | None = None) -> sparse.csr_array:
        """Share of each row in each node of every tree."""
        return sparse.csr_array(sparse.hstack([tree.memberships(X, widths=widths) for tree in self], format="csr"))

    def apply(self, X: np.ndarray, *, widths: np.ndarray | None = None) -> np.ndarray:
        """Leaf with the largest share of each row in each tree, numbered within the tree.

        Returns
        -------
        ndarray of shape (n_rows, n_trees)
            Numbers of leaves.
        """
        return np.column_stack([tree.apply(X, widths=widths) for tree in self])

    def input_gradient(
        self, X: np.ndarray, *, widths: np.ndarray | None = None, width_slopes: np.ndarray | None = None
    ) -> np.ndarray:
        """Derivative of the prediction with respect to the row.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs, n_features)
            Derivatives.
        """
        X = self._points(X)
        check_fits("input_gradient", (len(X), self.n_outputs, self.n_features))
        out = np.zeros((len(X), self.n_outputs, self.n_features))
        for tree, first in zip(self, self.output, strict=True):
            gradient = tree.input_gradient(X, widths=widths, width_slopes=width_slopes)
            out[:, first : first + tree.n_outputs] += gradient
        return self.factor * out

    # Explaining

    def feature_importances(self) -> np.ndarray:
        """Decrease of impurity by each feature, normalised to a sum of 1; all 0 if no tree has a split.

        In a mean, all trees that have a split count equally, as in scikit-learn's forests. In a sum, each tree counts
        in proportion to its decrease.
        """
        if self.is_mean:
            total = np.sum([tree.feature_importances() for tree in self], axis=0)
        else:
            total = np.sum([tree.impurity_decreases() for tree in self], axis=0)
        return total / total.sum() if total.sum() > 0 else total

    def __repr__(self) -> str:
        return (
            f"<SoftForest of {len(self)} trees, {self.n_nodes} nodes, {self.n_leaves} leaves, "
            f"{self.n_features} features, {self.n_outputs} outputs>"
        )

    # Passing to the compiled loops

    def _add_trees(
        self, X: np.ndarray, widths: np.ndarray | None, trees: np.ndarray, out: np.ndarray, n_jobs: int | None
    ) -> None:
        """Add the predictions of some trees to `out`: rows in threads, trees one after the other."""
        check_n_jobs(self, n_jobs)
        n_parts = min(effective_n_jobs(n_jobs), max(1, len(X) // _ROWS_PER_THREAD))
        bounds = [*np.linspace(0, len(X), n_parts + 1).astype(np.int64)[:-1], None]  # open: all of `widths` is checked
        if widths is None and self.weights is None:
            sharing.prepare(self)  # once, before there are threads

        def add(number: int, worker: int) -> None:
            part = slice(bounds[number], bounds[number + 1])
            self._add_part(X[part], None if widths is None else widths[part], trees, out[part])

        with Threads(n_parts) as threads:
            threads.run(add, n_parts)

    def _add_part(self, X: np.ndarray, widths: np.ndarray | None, trees: np.ndarray, out: np.ndarray) -> None:
        """Predict each row with the fastest loop that applies to it; rounding does not depend on the other rows."""
        if self.weights is None and self.link == "identity":
            sharing.add_raw(self, sharing.Chosen(trees, self.offsets, self.output), X, widths, out)
            return
        for number in trees:
            tree, first = self[number], self.output[number]
            out[:, first : first + tree.n_outputs] += tree.predict(X, widths=widths)

    @property
    def _begin(self) -> np.ndarray:
        return np.repeat(self.offsets[:-1], self.sizes)


def _first_of(trees: Sequence[SoftTree | SoftForest]) -> SoftTree | SoftForest:
    """The first tree or forest; raises an error if the others cannot be combined with it."""
    if not trees:
        raise ValueError("A SoftForest needs at least one tree.")
    first = trees[0]
    for tree in trees[1:]:
        if tree.link != first.link:
            raise ValueError(
                f"All trees of a SoftForest must have the same link, got {first.link!r} and {tree.link!r}."
            )
        if (tree.n_features, tree.n_outputs) != (first.n_features, first.n_outputs):
            raise ValueError("All trees of a SoftForest must have the same features and number of outputs.")
        if tree.shapes is not first.shapes and not (
            np.array_equal(tree.shapes.edges, first.shapes.edges)
            and np.array_equal(tree.shapes.cdfs, first.shapes.cdfs)
        ):
            raise ValueError("All trees of a SoftForest must have the same table of kernel shapes.")
        for name in ("center", "scale"):
            if not _is_same(getattr(tree, name), getattr(first, name)):
                raise ValueError(
                    f"All trees of a SoftForest must have the same {name}: either None, or the same numbers. "
                    f"Got {getattr(first, name)} and {getattr(tree, name)}."
                )
    return first


def _is_same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))
