"""A fitted model of any family in one form: its trees, columns, outputs and link.

Exports, explanations, plots, reports, the command line and PyTorch modules read a `FittedModel`. Each family of models
builds it in its method ``_as_fitted``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from softwood.core.columns import Columns
from softwood.core.encoding import check_columns, read_table
from softwood.core.estimators import documented
from softwood.core.losses import BinaryLogLoss, Loss, PoissonDeviance, SoftmaxLogLoss
from softwood.outputs import FINAL_LINKS, Outputs
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.one_hot import one_hot_trees
from softwood.trees.tree import SoftTree

# Types of labels and categories that mean the same in every language.
PLAIN_TYPES = (str, bool, int, float)


@dataclass(frozen=True)
class LinearPart:
    """A linear function of one feature, limited to a range: what a stump with a box kernel adds to a prediction.

    Attributes
    ----------
    feature : number of the feature
    slope : (n_outputs,) change of the outputs per unit of the feature
    center : value of the feature for which nothing is added
    low, high : the range; beyond it, the function has the value at its end
    """

    feature: int
    slope: np.ndarray
    center: float
    low: float
    high: float

    @classmethod
    def of(cls, stump: SoftTree) -> LinearPart:
        """The function of a stump with a box kernel."""
        low, high = stump.threshold[0] - stump.width[0], stump.threshold[0] + stump.width[0]
        first, last = stump.value[stump.children_left[0]], stump.value[stump.children_right[0]]
        slope = (last - first) / (high - low)
        steep = int(np.abs(slope).argmax())
        center = low if slope[steep] == 0 else low - first[steep] / slope[steep]
        return cls(int(stump.feature[0]), slope, float(center), float(low), float(high))


@documented
@dataclass(frozen=True, eq=False, repr=False)
class FittedModel:
    """A fitted model: its trees, and what is needed to predict with them as the model does.

    Attributes
    ----------
    kind : str
        Name of the class of the model.
    trees : SoftTree or SoftForest
        The trees.
    columns : Columns
        Encoding of the columns of a table.
    has_names : bool
        Whether the names of the columns were the user's.
    growing_reader : callable or None
        Function that encodes tables of streams, where an unknown category is none of the known ones. None for other
        models, where it counts as a missing value.
    in_any_order : bool
        Whether the model finds the columns of a data frame by name, and ignores others.
    missing : float
        Number that counts as a missing value besides nan. nan if there is none.
    fill : ndarray of shape (n_features,) or None
        Numbers in place of missing values in weighted sums. None if a gate whose sum has a missing value divides the
        row by `missing_left`. A test of a missing value always does so, also within a blended gate. The trees of a
        forest on a stream have slightly different means; this is the mean of these.
    classes : tuple or None
        Labels. None for real targets.
    link : {"identity", "logistic", "softmax", "exp"}
        Function of the mean or sum of the trees. "logistic" maps log odds to the probabilities of two classes.
    is_sorted : bool
        Whether the outputs are quantiles, which are sorted.
    differs : str
        Why an export of the trees would not predict what the model does. Empty if it would.
    cell_widths : callable or None
        Function from encoded rows to the half-widths of the kernels of single cells. None if the trees are all there
        is.
    gradient : callable or None
        Function from a table to the derivatives of the predictions, (n_rows, n_outputs, n_inputs). None if the trees
        are all there is.
    trend : int
        Number of trees at the end of the forest that make up a linear trend, see `linear_parts`.
    growth : object or None
        The growing tree or forest of a model on a stream, which predicts. None if the trees are all there is.

    Arguments of methods
    --------------------
    X : array-like or data frame of shape (n_rows, n_features_in)
        The rows to predict.
    points : ndarray of shape (n_rows, n_features)
        The encoded rows, nan where missing.
    """

    kind: str
    trees: SoftTree | SoftForest
    columns: Columns
    has_names: bool = False
    growing_reader: Callable[..., tuple[np.ndarray, Columns, Any]] | None = None
    in_any_order: bool = False
    missing: float = np.nan
    fill: np.ndarray | None = None
    classes: tuple | None = None
    link: str = "identity"
    is_sorted: bool = False
    differs: str = ""
    cell_widths: Callable[[np.ndarray], np.ndarray | None] | None = None
    gradient: Callable[[Any], np.ndarray] | None = None
    trend: int = 0
    growth: Any = None

    def __post_init__(self) -> None:
        if self.link not in FINAL_LINKS:
            raise ValueError(f"link must be one of {', '.join(map(repr, FINAL_LINKS))}, got {self.link!r}.")
        if self.classes is not None and len(self.classes) != self.n_outputs:
            raise ValueError(f"There must be a class for each of {self.n_outputs} outputs, got {len(self.classes)}.")
        if len(self.columns.names) != self.trees.n_features:
            raise ValueError(f"columns must describe {self.trees.n_features} features, got {len(self.columns.names)}.")

    @classmethod
    def of(cls, model: Any, caller: str = "FittedModel.of") -> FittedModel:
        """Read a fitted estimator, a river model, a `SoftTree` or a `SoftForest`; a `FittedModel` stays as it is.

        Parameters
        ----------
        model : fitted estimator, model for river, SoftTree, SoftForest or FittedModel
            The model.
        caller : str, default="FittedModel.of"
            Name of the function in error messages.

        Returns
        -------
        FittedModel
            The model, as exports and explanations read it.
        """
        if isinstance(model, FittedModel):
            return model
        if isinstance(model, SoftTree | SoftForest):
            names = tuple(f"x[{j}]" for j in range(model.n_features))
            columns = Columns(names, np.arange(model.n_features), (None,) * model.n_features, names)
            return cls(type(model).__name__, model, columns)
        answer = None if isinstance(model, type) else getattr(model, "_as_fitted", None)
        if answer is None:
            raise TypeError(
                f"{caller} takes a fitted estimator of softwood, a SoftTree or a SoftForest. Got {model!r}."
            )
        return answer()

    @property
    def grows(self) -> bool:
        """Whether its table is that of a stream, see `growing_reader`."""
        return self.growing_reader is not None

    # Trees

    @property
    def is_bare(self) -> bool:
        """Whether it is a tree or a forest without an estimator."""
        return self.kind in ("SoftTree", "SoftForest")

    @property
    def forest(self) -> SoftForest:
        """The trees as a forest, of one tree if need be."""
        return SoftForest.mean([self.trees]) if isinstance(self.trees, SoftTree) else self.trees

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return 1 if isinstance(self.trees, SoftTree) else len(self.trees)

    def tree(self, number: int = 0) -> SoftTree:
        """The tree of this number.

        Parameters
        ----------
        number : int, default=0
            Number of the tree.

        Returns
        -------
        SoftTree
            The tree.
        """
        return self.trees if isinstance(self.trees, SoftTree) else self.trees[number]

    def single_tree(self, caller: str, how: str = "") -> SoftTree:
        """The only tree, without a linear trend; an error for an ensemble, which says how to choose one of its trees.

        Parameters
        ----------
        caller : str
            Name of the function in the message.
        how : str, default=""
            Call that takes one tree of an ensemble, if `caller` has a parameter for it.

        Returns
        -------
        SoftTree
            The tree.
        """
        if self.n_trees - self.trend == 1:
            return self.tree()
        one = how or f"{caller}({'model[0]' if self.is_bare else 'model.forest_[0]'})"
        raise TypeError(
            f"{caller} takes one tree, and this {self.kind} has {self.n_trees}. Choose one, such as {one}. "
            "softwood.report(model) shows all trees, and softwood.explain(model, row) explains one prediction."
        )

    @property
    def linear_parts(self) -> list[LinearPart]:
        """The linear trend, column by column."""
        forest = self.forest
        return [LinearPart.of(forest[number]) for number in range(len(forest) - self.trend, len(forest))]

    # Outputs

    @property
    def n_outputs(self) -> int:
        """Number of predictions for a row."""
        return 2 if self.link == "logistic" else self.trees.n_outputs

    @property
    def outputs(self) -> Outputs:
        """The outputs by name, those of the trees too."""
        return Outputs.of(self.classes, self.trees, self.link)

    @property
    def nodes_have_probabilities(self) -> bool:
        """Whether the predictions of single nodes are class probabilities."""
        if not self.is_bare:
            return self.outputs.nodes_have_probabilities
        shares = self.tree().node_predictions
        return shares.shape[1] > 1 and bool(np.all(shares >= 0) and np.allclose(shares.sum(axis=1), 1.0))

    @property
    def importances(self) -> np.ndarray:
        """Decrease of impurity by each column, or its part in the decisions on a stream, (n_inputs,)."""
        found = self.trees.feature_importances() if self.growth is None else self.growth.importances()
        return self.columns.add_up(found)

    # Forms of it

    def alone(self) -> FittedModel:
        """The trees with this link and fill, without what only the model itself can compute."""
        return replace(self, missing=np.nan, is_sorted=False, differs="", cell_widths=None, gradient=None, growth=None)

    def portable(self) -> FittedModel:
        """`alone` for exports; an error if it predicts something else, or has labels of other types than plain ones.

        Parts of dates are columns of their own, which other programs compute.
        """
        if self.differs:
            raise ValueError(self.differs)
        of_columns = [label for known in self.columns.categories for label in known or ()]
        for what, values in (("A class", self.classes or ()), ("A category", of_columns)):
            for value in values:
                if not isinstance(value, PLAIN_TYPES):
                    raise TypeError(
                        f"{what} of {self.kind} is {value!r}, of type {type(value).__name__}; exports take text, "
                        "numbers and truth values."
                    )
        return replace(self.alone(), columns=self.columns.with_parts_of_dates())

    @property
    def features(self) -> list[tuple[int, int | None]]:
        """For each feature of the trees the column of the table, and the number of its category or None."""
        places: dict[int, list[int]] = {}
        for at, j in enumerate(self.columns.source.tolist()):
            places.setdefault(j, []).append(at)
        out: list[tuple[int, int | None]] = [(0, None)] * len(self.columns.names)
        for j, own in places.items():
            known = self.columns.categories[j]
            for k, at in enumerate(own):
                # Of two categories a table that does not grow shows the second only.
                has_own = known is not None and not self.columns.as_codes
                category = None if not has_own else k if len(own) == len(known or ()) else len(known or ()) - 1
                out[at] = (j, category)
        return out

    def one_hot(self) -> FittedModel:
        """The trees `alone`, with categories as columns of zeros and ones, and no gates that test sets of them."""
        trees, columns = one_hot_trees(self.trees, self.columns)
        return replace(self.alone(), trees=trees, columns=columns)

    # Rows

    def encode(self, X: Any) -> np.ndarray:
        """The rows of a table as the trees take them; missing values are nan.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            The encoded rows, nan where missing.
        """
        reader, X = self._reader(), self._own_columns(X)
        if self.growing_reader is not None:
            matrix, _, _ = self.growing_reader(reader, X, columns=self.columns, learn=False)
        else:
            matrix, _ = read_table(reader, X, reset=False, columns=self.columns)
        if not np.isnan(self.missing):  # compared as float32, as in XGBoost
            with np.errstate(over="ignore"):
                matrix = np.where(matrix.astype(np.float32) == np.float32(self.missing), np.nan, matrix)
        return np.ascontiguousarray(matrix)

    def check_columns(self, X: Any) -> None:
        """Raise an error if a table, which may be empty, has other columns than the model.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features_in)
            The table.
        """
        check_columns(self._reader(), self._own_columns(X), reset=False)

    def points(self, X: Any) -> tuple[np.ndarray, np.ndarray | None]:
        """Encoded rows, with nan where values are missing, and half-widths of single cells or None.

        Returns
        -------
        points : ndarray of shape (n_rows, n_features)
            The encoded rows.
        widths : ndarray of shape (n_rows, n_features) or None
            Half-widths of single cells.
        """
        matrix = self.encode(X)
        return matrix, None if self.cell_widths is None else self.cell_widths(matrix)

    def filled(self, points: np.ndarray) -> np.ndarray:
        """Encoded rows with the numbers that stand for missing values, if there are any.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Rows without missing values in weighted sums.
        """
        return points if self.fill is None else np.where(np.isnan(points), self.fill, points)

    def memberships(self, X: Any, tree: SoftTree) -> sparse.csr_array:
        """Share of each row in each node of a tree of the model.

        Parameters
        ----------
        tree : SoftTree
            A tree of the model.

        Returns
        -------
        sparse array of shape (n_rows, n_nodes)
            Shares.
        """
        points, widths = self.points(X)
        n = tree.n_features  # an earlier tree of a stream has the first columns only
        return tree.memberships(self.filled(points)[:, :n], widths=None if widths is None else widths[:, :n])

    def _reader(self) -> BaseEstimator:
        """What the functions that read tables take: an estimator with the names of the columns."""
        reader = type(self.kind, (BaseEstimator,), {})()  # messages contain the name of its class
        reader.n_features_in_ = len(self.columns.inputs)
        if self.has_names:
            reader.feature_names_in_ = np.array(self.columns.inputs, dtype=object)
        return reader

    def _own_columns(self, X: Any) -> Any:
        """The columns of a frame that the model takes; an array for trees, which do not know names."""
        if not hasattr(X, "columns"):
            return X
        if self.is_bare and not self.has_names:
            return np.asarray(X)
        return X[list(self.columns.inputs)] if self.in_any_order else X

    # Predictions

    def raw(self, points: np.ndarray, widths: np.ndarray | None = None) -> np.ndarray:
        """Outputs of the trees before all links, for encoded rows.

        Parameters
        ----------
        widths : ndarray of shape (n_rows, n_features) or None, default=None
            Half-widths of the kernels of single cells, which replace those of the nodes except where they are nan.

        Returns
        -------
        ndarray of shape (n_rows, n_scores)
            Scores.
        """
        if self.growth is not None:
            return self.growth.raw(points) if self._is_softmax_tree else self.growth.predict(points)
        filled = self.filled(points)
        if isinstance(self.trees, SoftTree):
            return self.trees.raw(filled, widths=widths)
        return self.trees.predict(filled, widths=widths)

    @property
    def _is_softmax_tree(self) -> bool:
        return isinstance(self.trees, SoftTree) and self.trees.link == "softmax"

    def predict(self, X: Any) -> np.ndarray:
        """Class probabilities, or targets.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            Predictions.
        """
        points, widths = self.points(X)
        if self.growth is not None:
            return self.growth.predict(points)
        filled = self.filled(points)
        raw = self.trees.predict(filled, widths=widths)
        missing = np.isnan(points)
        rows = missing.any(axis=1)
        if self.fill is not None and rows.any() and np.any(self.trees.gate == Gate.BLEND):
            each = [tree._linked(_blended(tree, filled[rows], missing[rows])) for tree in self.forest]
            raw[rows] = np.mean(each, axis=0)  # trees on streams, the only ones with such gates, are averaged
        return self.linked(raw)

    def labels(self, X: Any) -> np.ndarray:
        """The most probable class of each row.

        Returns
        -------
        ndarray of shape (n_rows,)
            Predicted labels.
        """
        if self.classes is None:
            raise ValueError(f"{self.kind} has no classes; use predict.")
        is_mixed = len({type(label) for label in self.classes}) > 1
        classes = np.array(self.classes, dtype=object if is_mixed else None)
        return classes[self.predict(X).argmax(axis=1)]

    def linked(self, raw: np.ndarray) -> np.ndarray:
        """The final link of scores.

        Parameters
        ----------
        raw : ndarray of shape (n_rows, n_scores)
            Scores.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            Predictions.
        """
        if self.link == "identity":
            return np.sort(raw, axis=1) if self.is_sorted else raw
        return self._loss.predict(raw).reshape(len(raw), -1)

    def input_gradient(self, X: Any) -> np.ndarray:
        """Derivatives of the predictions with respect to the columns.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs, n_inputs)
            Derivatives.
        """
        if self.gradient is not None:
            return self.gradient(X)
        points = self.filled(self.encode(X))
        gradient = self.trees.input_gradient(points)
        if self.link != "identity":
            gradient = self._loss.predict_gradient(self.trees.predict(points), gradient)
        gradient[..., self.columns.is_step] = 0.0
        return self.columns.add_up(gradient)

    @property
    def _loss(self) -> Loss:
        """The loss whose link makes the predictions."""
        if self.link == "logistic":
            return BinaryLogLoss()
        return SoftmaxLogLoss(self.trees.n_outputs) if self.link == "softmax" else PoissonDeviance()

    def __repr__(self) -> str:
        return f"<FittedModel of {self.kind}: {self.trees!r}>"


def _blended(tree: SoftTree, filled: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Sums of the leaf values of a tree of blended gates, for rows with missing values.

    The weighted sums are those of the filled rows, but a test of a missing value passes to the part `missing_left`.
    """
    assert tree.weights is not None
    assert np.isin(tree.gate, (Gate.LEAF, Gate.BLEND)).all()
    shares = np.zeros((len(filled), tree.n_nodes))
    shares[:, 0] = 1.0
    for node in tree.walk():
        if tree.children_left[node] < 0:
            continue
        j, half = tree.feature[node], 0.5
        part = np.clip((filled @ tree.weights[node] + tree.bias[node]) / tree.width[node], -half, half)
        step = half + 1.5 * part - 2.0 * part**3
        test = np.where(missing[:, j], tree.missing_left[node], filled[:, j] <= tree.threshold[node])
        left = shares[:, node] * (tree.blend[node] * step + (1.0 - tree.blend[node]) * test)
        shares[:, tree.children_left[node]] = left
        shares[:, tree.children_right[node]] = shares[:, node] - left
    leaf = tree.children_left < 0
    return shares[:, leaf] @ tree.value[leaf]
