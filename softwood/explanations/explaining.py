"""One row explained: prediction, leaves, Shapley values, gradient and certificate together."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from softwood.core.parameters import check_count, check_integer
from softwood.core.tables import column_cells
from softwood.explanations.certificates import certified_radius
from softwood.explanations.explanation import Explanation, LeafShare, number_text, signed_text
from softwood.explanations.one_row import as_table
from softwood.explanations.rules import leaf_rules
from softwood.explanations.shapley import shapley_values
from softwood.fitted import FittedModel
from softwood.trees.forest import SoftForest
from softwood.uncertainty.levels import check_coverage
from softwood.uncertainty.methods import CalibratedModel

_CALLER = "explain"


def explain(
    model: Any,
    row: Any,
    *,
    output: int | None = None,
    tree: int | None = None,
    n_leaves: int = 3,
    n_columns: int = 10,
    coverage: float = 0.9,
    random_state: Any = 0,
) -> Explanation:
    """Explain the prediction for one row.

    The result prints as text, and as a table in notebooks. It contains the prediction; its interval or set of classes
    if the model has errors on held-out rows; the leaves that hold the
    largest shares of the row, with their rules in words; and for each column its Shapley value, the derivative of the
    prediction, and how far the input can be off before the class may change.

    Parameters
    ----------
    model : fitted estimator, SoftTree or SoftForest
        The model that predicts.
    row : dict, Series, array-like of shape (n_features_in,) or table with one row
        The row to explain.
    output : int or None, default=None
        Number of the class or target to explain. None explains the predicted class, or the first target.
    tree : int or None, default=None
        Number of the tree whose leaves are shown. None chooses: in a forest, the tree whose prediction is closest to
        that of the forest; in boosting, the tree with the largest part in the score.
    n_leaves : int, default=3
        Number of leaves to show.
    n_columns : int, default=10
        Number of columns to show, those with the largest Shapley values.
    coverage : float, default=0.9
        Probability that the interval or the set contains the truth, in (0, 1).
    random_state : int, RandomState instance or None, default=0
        For Shapley values that are sampled, see `shapley_values`.

    Returns
    -------
    Explanation
        The prediction and its reasons. It prints as text, and as a table in notebooks.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier, explain
    >>> iris = load_iris(as_frame=True)
    >>> model = KernelTreeClassifier(bandwidth=0.2, max_leaf_nodes=4).fit(iris.data, iris.target_names[iris.target])
    >>> print(explain(model, iris.data.iloc[70]))
    KernelTreeClassifier predicts virginica with probability 0.93; versicolor 0.07
    <BLANKLINE>
    leaves with the largest shares of the row
      99 %  virginica 0.95    petal length (cm) > 2.45 ± 0.352; petal width (cm) > 1.65 ± 0.152
       1 %  versicolor 0.96   2.45 < petal length (cm) ≤ 5.25 ± 0.352; petal width (cm) ≤ 1.65 ± 0.152
    <BLANKLINE>
    column             value  Shapley value  gradient  may be off by
    petal width (cm)     1.8         +0.372     +2.98          0.146
    petal length (cm)    4.8         +0.228         0           2.34
    sepal length (cm)    5.9              0         0       anything
    sepal width (cm)     3.2              0         0       anything
    <BLANKLINE>
    Shapley values add up from 0.3333, with no column known, to the probability of virginica, 0.9341
    the class is certain for errors of all readings of less than 0.959 bandwidths in sum
    """
    known = FittedModel.of(model, _CALLER)
    check_count(_CALLER, "n_leaves", n_leaves)
    check_count(_CALLER, "n_columns", n_columns)
    check_integer(_CALLER, "tree", tree, low=0, high=known.n_trees - 1, or_none=True)
    X = as_table(_CALLER, row, known.columns.inputs, known.has_names, known.columns.keys)
    certificates = certified_radius(known, X)
    prediction = certificates.predictions[0]
    check_integer(_CALLER, "output", output, low=0, high=len(prediction) - 1, or_none=True)
    interval, class_set = _uncertainty(model, X, check_coverage(coverage))
    is_class = len(prediction) > 1 and (known.nodes_have_probabilities or known.outputs.is_class)
    chosen = output if output is not None else int(prediction.argmax()) if is_class else 0
    number = _tree_to_show(known, X, chosen) if tree is None else tree
    return Explanation(
        kind=known.kind,
        columns=known.columns.inputs,
        cells=tuple(column_cells(X, j)[0][0] for j in range(X.shape[1])),
        outputs=known.outputs.names,
        prediction=prediction,
        is_class=is_class,
        output=chosen,
        tree=number,
        n_trees=known.n_trees - known.trend,
        leaves=_leaves(known, number, X, n_leaves, chosen),
        shapley=shapley_values(known, X, random_state=random_state),
        gradient=known.input_gradient(X)[0],
        certificates=certificates,
        n_columns=n_columns,
        trend=_trend(known, X) if known.trend else None,
        coverage=coverage,
        interval=interval,
        class_set=class_set,
        _named=known.outputs,
    )


def _uncertainty(model: Any, X: Any, coverage: float) -> tuple[np.ndarray | None, tuple[str, ...] | None]:
    """Interval (n_targets, 2), or set of classes, of the only row; None where the model has no scores."""
    if not isinstance(model, CalibratedModel) or not model.has_scores:
        return None, None
    found: Any = model
    with warnings.catch_warnings():  # of few rows: then the interval is infinite, and the set has all classes
        warnings.simplefilter("ignore", UserWarning)
        if hasattr(found, "predict_set"):
            is_in = found.predict_set(X, coverage)[0]
            return None, tuple(str(label) for label in found.classes_[is_in].tolist())
        return np.asarray(found.predict_interval(X, coverage)).reshape(2, -1).T, None


def _trend(known: FittedModel, X: Any) -> np.ndarray:
    """What is added to the trees of a model with a linear trend, (n_scores,)."""
    forest, (points, widths) = known.forest, known.points(X)
    n = len(forest)
    return (forest.base + forest.sum_of(np.arange(n - known.trend, n), points, widths=widths))[0]


def _tree_to_show(known: FittedModel, X: Any, output: int) -> int:
    """In a mean, the tree whose prediction is closest to that of all; in a sum, the one with the largest part."""
    forest = known.trees
    if not isinstance(forest, SoftForest) or known.n_trees - known.trend == 1:
        return 0
    points, widths = known.points(X)
    each = [tree.predict(known.filled(points), widths=widths)[0] for tree in forest]
    if forest.is_mean:
        return int(np.argmin([np.abs(values - np.mean(each, axis=0)).sum() for values in each]))
    outputs = forest.output[: known.n_trees - known.trend]
    own = [k for k, first in enumerate(outputs) if forest.n_outputs == 1 or first == output]
    return max(own, key=lambda k: abs(float(each[k][0]))) if own else 0


def _leaves(known: FittedModel, number: int, X: Any, n: int, output: int) -> tuple[LeafShare, ...]:
    """The `n` leaves of a tree with the largest shares of the row."""
    tree = known.tree(number)
    shares = np.where(tree.children_left < 0, known.memberships(X, tree).toarray()[0], 0.0)
    found = []
    for leaf in np.argsort(-shares, kind="stable")[:n]:
        if shares[leaf] > 0:
            value = tree.node_predictions[leaf]
            rules = tuple(leaf_rules(tree, int(leaf), known.columns))
            text = _leaf_text(known, number, value, output)
            found.append(LeafShare(int(leaf), float(shares[leaf]), value, rules, text))
    return tuple(found)


def _leaf_text(known: FittedModel, number: int, value: np.ndarray, output: int) -> str:
    """The prediction of a leaf in words: its class, the score of the explained output, or targets."""
    best, outputs = int(value.argmax()), known.outputs
    if known.nodes_have_probabilities:
        return f"{outputs.names[best]} {value[best]:.2f}"
    labels = outputs.node_labels(known.trees, number)
    if labels is None:
        return ", ".join(map(number_text, value[:3]))
    if outputs.n_scores == len(outputs.names):
        return f"{labels[best]} {signed_text(value[best])}"
    return f"score of {outputs.names[output]} {signed_text(float(outputs.of_output(value, output)))}"
