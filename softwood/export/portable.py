"""The form of a fitted model that all exports read: trees, columns, classes and link, whatever the family."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from softwood.core.columns import Columns
from softwood.core.encoding import read_table
from softwood.core.losses import BinaryLogLoss, SeveralQuantilesError, SoftmaxLogLoss
from softwood.outputs import Outputs, final_link
from softwood.stream.encoding import read_growing_table
from softwood.trees.forest import SoftForest
from softwood.trees.gates import Gate
from softwood.trees.one_hot import one_hot_trees
from softwood.trees.tree import SoftTree

__all__ = ["FINAL_LINKS", "PortableModel"]

# What is done to the mean or the sum of the trees.
FINAL_LINKS = ("identity", "logistic", "softmax", "exp")
# `exp` takes nothing above this, as in `softwood.core.losses`.
LARGEST_LOG = 709.0
# Types of labels and categories that mean the same in every language.
PLAIN_TYPES = (str, bool, int, float)


class _TableReader(BaseEstimator):
    """What `read_table` asks of an estimator: the names of the columns."""

    def __init__(self, columns: Columns, has_names: bool) -> None:
        self.n_features_in_ = len(columns.inputs)
        if has_names:
            self.feature_names_in_ = np.array(columns.inputs, dtype=object)


@dataclass(frozen=True, eq=False, repr=False)
class PortableModel:
    """A fitted model without its family: what an export has to know to predict as the model does.

    Attributes
    ----------
    kind : name of the class of the model
    trees : its trees
    columns : encoding of the columns of a table
    has_names : whether the names of the columns were the user's
    grows : whether the table is encoded as those of streams: an unknown category is none of the known ones, while in
        other models it counts as a missing value
    fill : (n_features,) numbers in place of missing values in weighted sums, or None if a gate whose sum has a missing
        value divides the row by `missing_left`. A test of a missing value always does so, also within a blended gate.
        The trees of a forest on a stream have slightly different means; this is the mean of these.
    classes : labels, or None for real targets
    link : function of the mean or sum of the trees: "identity"; "logistic", from log odds to the probabilities of two
        classes; "softmax"; or "exp"
    """

    kind: str
    trees: SoftTree | SoftForest
    columns: Columns
    has_names: bool = False
    grows: bool = False
    fill: np.ndarray | None = None
    classes: tuple | None = None
    link: str = "identity"

    def __post_init__(self) -> None:
        if self.link not in FINAL_LINKS:
            raise ValueError(f"link must be one of {', '.join(map(repr, FINAL_LINKS))}, got {self.link!r}.")
        if self.classes is not None and len(self.classes) != self.n_outputs:
            raise ValueError(f"There must be a class for each of {self.n_outputs} outputs, got {len(self.classes)}.")
        if len(self.columns.names) != self.trees.n_features:
            raise ValueError(f"columns must describe {self.trees.n_features} features, got {len(self.columns.names)}.")
        labels = () if self.classes is None else self.classes
        of_columns = [label for known in self.columns.categories for label in known or ()]
        for what, values in (("A class", labels), ("A category", of_columns)):
            for value in values:
                if not isinstance(value, PLAIN_TYPES):
                    raise TypeError(
                        f"{what} of {self.kind} is {value!r}, of type {type(value).__name__}; exports take text, "
                        "numbers and truth values."
                    )

    @classmethod
    def of(cls, model: Any, caller: str = "PortableModel") -> PortableModel:
        """Read a fitted estimator, a river model, a `SoftTree` or a `SoftForest`; a `PortableModel` stays as it is.

        Parameters
        ----------
        caller : name of the function in error messages
        """
        if isinstance(model, PortableModel):
            return model
        if isinstance(model, SoftTree | SoftForest):
            return cls(type(model).__name__, model, _plain_columns(model.n_features))
        if hasattr(model, "best_model_"):  # a pool predicts with its best model
            check_is_fitted(model)
            return cls.of(model.best_model_, caller)
        if hasattr(model, "_places") and hasattr(model, "snapshot"):
            return _of_river(model)
        try:
            check_is_fitted(model)
        except TypeError:  # no estimator at all
            trees = None
        else:
            trees = getattr(model, "_finished", None)
        if not isinstance(trees, SoftTree | SoftForest):
            raise TypeError(
                f"{caller} takes a fitted estimator of softwood, a SoftTree or a SoftForest. Got {model!r}."
            )
        _refuse_other_predictions(model)
        grows = hasattr(model, "growth_")
        return cls(
            type(model).__name__,
            trees,
            model.columns_,
            has_names=hasattr(model, "feature_names_in_"),
            grows=grows,
            fill=_fill_of(model, trees),
            classes=tuple(np.asarray(model.classes_).tolist()) if is_classifier(model) else None,
            link=final_link(model),
        )

    # Reading it

    @property
    def forest(self) -> SoftForest:
        """The trees as a forest, of one tree if need be."""
        return SoftForest.mean([self.trees]) if isinstance(self.trees, SoftTree) else self.trees

    @property
    def n_outputs(self) -> int:
        """Number of predictions for a row."""
        return 2 if self.link == "logistic" else self.trees.n_outputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the predictions: those of the classes, or of the targets."""
        return self.named.columns

    @property
    def named(self) -> Outputs:
        """The outputs by name, those of the trees too."""
        return Outputs.of(self.classes, self.trees, self.link)

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

    def one_hot(self) -> PortableModel:
        """The model with categories as columns of zeros and ones: without gates that test sets of categories."""
        trees, columns = one_hot_trees(self.trees, self.columns)
        return self if trees is self.trees else replace(self, trees=trees, columns=columns)

    # Predicting with it

    def encode(self, X: Any) -> np.ndarray:
        """The rows of a table as the trees take them, (n_rows, n_features)."""
        reader = _TableReader(self.columns, self.has_names)
        if self.grows:
            matrix, _, _ = read_growing_table(reader, X, columns=self.columns, learn=False)
        else:
            matrix, _ = read_table(reader, X, reset=False, columns=self.columns)
        return matrix

    def predict(self, X: Any) -> np.ndarray:
        """Class probabilities, or targets, (n_rows, n_outputs)."""
        matrix, trees = self.encode(X), self.trees
        if self.fill is None:
            return self.linked(trees.predict(matrix))
        missing = np.isnan(matrix)
        filled = np.where(missing, self.fill, matrix)
        raw = trees.predict(filled)
        rows = missing.any(axis=1)
        if rows.any() and np.any(trees.gate == Gate.BLEND):
            each = [tree._linked(_blended(tree, filled[rows], missing[rows])) for tree in self.forest]
            raw[rows] = np.mean(each, axis=0)  # trees on streams, the only ones with such gates, are averaged
        return self.linked(raw)

    def labels(self, X: Any) -> np.ndarray:
        """The most probable class of each row, (n_rows,)."""
        if self.classes is None:
            raise ValueError(f"{self.kind} has no classes; use predict.")
        is_mixed = len({type(label) for label in self.classes}) > 1
        classes = np.array(self.classes, dtype=object if is_mixed else None)
        return classes[self.predict(X).argmax(axis=1)]

    def linked(self, raw: np.ndarray) -> np.ndarray:
        """The final link of scores, (n_rows, n_outputs)."""
        if self.link == "logistic":
            return BinaryLogLoss().predict(raw)
        if self.link == "softmax":
            return SoftmaxLogLoss(raw.shape[1]).predict(raw)
        return np.exp(np.minimum(raw, LARGEST_LOG)) if self.link == "exp" else raw

    def __repr__(self) -> str:
        return f"<PortableModel of {self.kind}: {self.trees!r}>"


def _plain_columns(n: int) -> Columns:
    names = tuple(f"x[{j}]" for j in range(n))
    return Columns(names, np.arange(n), (None,) * n, names)


def _fill_of(model: Any, trees: SoftTree | SoftForest) -> np.ndarray | None:
    """The numbers that the family puts in place of missing values, or None."""
    scaling = getattr(model, "_scaling_", None)
    if scaling is not None:
        return np.array(scaling.center, dtype=np.float64)
    return trees.center if hasattr(model, "growth_") else None


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


def _refuse_other_predictions(model: Any) -> None:
    """Raise an error if the model's predictions are not those of its trees."""
    name = type(model).__name__
    if isinstance(getattr(model, "_loss_", None), SeveralQuantilesError):
        raise ValueError(
            f"This {name} predicts several quantiles and sorts them, which exports do not do; fit a model for each "
            "quantile, or export its forest_."
        )
    marker = getattr(model, "missing", np.nan)  # of softened models
    if not np.isnan(marker):
        raise ValueError(
            f"This {name} counts {marker:g} as a missing value, which exports do not do. Set its parameter missing to "
            "nan, fit it again, and give the export nan, or what is missing in its language."
        )
    if hasattr(model, "growth_"):
        _refuse_leaf_models(model.growth_, name, "tree_")
    reading = getattr(model, "_reading_", None)
    if reading is not None and not reading.is_crisp:
        from softwood.kernel.data.measurement_errors import read_errors

        nowhere = np.empty((0, len(model.columns_.names)))
        errors = read_errors(model, reading.measurement_error, model.columns_, nowhere)
        if reading.cells(errors, nowhere) is not None:
            raise ValueError(
                f"The kernels of this {name} depend on the row, by a function given as measurement_error or as scale "
                "of a Kernel. Functions cannot be exported; fit it with numbers, or export its tree_ or forest_."
            )


def _refuse_leaf_models(growth: Any, name: str, tree: str) -> None:
    from softwood.stream.growing.forest import GrowingForest
    from softwood.stream.growing.hoeffding import HoeffdingTree
    from softwood.stream.loops.layout import (
        PLAIN,
    )

    if isinstance(growth, GrowingForest) and not growth.is_plain:
        raise ValueError(
            f"The trees of this {name} vote with weights, or predict with models in their leaves. Set voting='mean' "
            f"and soft_share=1, or export its {tree.replace('tree_', 'forest_')}, the plain mean of its trees."
        )
    if isinstance(growth, HoeffdingTree) and growth.settings.leaf_prediction != PLAIN:
        raise ValueError(
            f"The leaves of this {name} predict with models of their own. Set leaf_prediction to 'mc' (classes) or "
            f"'mean' (targets), or export its {tree}, whose leaves hold class shares or means."
        )


def _of_river(model: Any) -> PortableModel:
    """A model of `softwood.stream.river`."""
    tree, places, name = model.snapshot(), model._places, type(model).__name__
    _refuse_leaf_models(model._growth, name, "snapshot()")
    both = sorted(map(str, set(places.numbers) & set(places.categories)))
    if both:
        raise ValueError(f"Feature {both[0]!r} of {name} was a number in some rows and a category in others.")
    first: dict[Any, int] = dict(places.numbers)
    first |= {key: min(known.values()) for key, known in places.categories.items() if known}
    inputs = sorted(first, key=lambda key: first[key])
    source = np.empty(len(places.names), dtype=np.int64)
    categories: list[tuple | None] = []
    for j, key in enumerate(inputs):
        known = places.categories.get(key)
        source[[places.numbers[key]] if known is None else list(known.values())] = j
        categories.append(None if known is None else tuple(map(_plain, known)))
    columns = Columns(tuple(places.names), source, tuple(categories), tuple(map(str, inputs)))
    codes = getattr(model, "_codes", None)
    classes = None if codes is None else tuple(map(_plain, codes))
    return PortableModel(name, tree, columns, has_names=True, grows=True, fill=tree.center, classes=classes)


def _plain(label: Any) -> Any:
    """A label as a Python object, if it was one of numpy's."""
    return label.item() if isinstance(label, np.generic) else label
