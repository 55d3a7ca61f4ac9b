"""Shapley values: the part of each column in a prediction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from softwood.core.extras import require
from softwood.core.memory import check_fits
from softwood.core.parameters import check_count, check_flag, check_n_jobs, parameter_error
from softwood.explanations.shapley_exact import exact_values
from softwood.explanations.shapley_model import Points, absent_shares, has_products, read_points, used_columns
from softwood.explanations.shapley_sampling import MOST_ENUMERATED, can_enumerate, enumerated_values, sampled_values
from softwood.fitted import FittedModel
from softwood.trees.tree import SoftTree

_CALLER = "shapley_values"
_SHOWN_COLUMNS = 5


@dataclass(frozen=True, eq=False, repr=False)
class ShapleyValues:
    """Shapley values of some rows, as `shapley_values` computes them.

    ``base_values + values.sum(axis=1)`` is `prediction`, up to rounding.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_columns, n_outputs)
        Part of each column in the difference of the row's prediction from the base value.
    base_values : ndarray of shape (n_outputs,)
        Output if all columns are absent.
    prediction : ndarray of shape (n_rows, n_outputs)
        The explained outputs of the model.
    names : tuple of str
        Names of the columns.
    outputs : tuple of str
        Names of the outputs: classes or targets. If two classes have a single raw score, it is that of the second
        class.
    data : array-like or data frame
        The rows as given.
    standard_errors : ndarray of shape (n_rows, n_columns, n_outputs) or None
        Standard errors of sampled values; None if the values are exact.
    interactions : ndarray of shape (n_rows, n_columns, n_columns, n_outputs) or None
        Interactions of pairs of columns, half of each in both orders, with the main effects on the diagonal. The sum
        over the third axis is `values`.
    quantity : str
        What is explained: "probability", "prediction" (of targets) or "raw score", the output before the link.
    scale : str
        What raw scores are: "log odds", "before the softmax" or "logarithm of the prediction"; else empty.
    n_background : int or None
        Number of background rows; None for the path-dependent game.
    """

    values: np.ndarray
    base_values: np.ndarray
    prediction: np.ndarray
    names: tuple[str, ...]
    outputs: tuple[str, ...]
    data: Any
    standard_errors: np.ndarray | None
    interactions: np.ndarray | None
    quantity: str
    scale: str
    n_background: int | None

    @property
    def is_exact(self) -> bool:
        """Whether the values are exact up to rounding, not sampled."""
        return self.standard_errors is None

    def __len__(self) -> int:
        return len(self.values)

    def label(self, output: int) -> str:
        """What the values of an output, by its number, are parts of, such as "raw score of bee (log odds)".

        Parameters
        ----------
        output : int
            Number of the output.

        Returns
        -------
        str
            A label for axes.
        """
        text = self.quantity + self._of(output)
        return f"{text} ({self.scale})" if self.scale else text

    def _of(self, output: int) -> str:
        """Words for an output; empty for a single target, which has no name."""
        return "" if self.outputs[output] == "prediction" else f" of {self.outputs[output]}"

    def to_shap(self) -> Any:
        """The values as a ``shap.Explanation``, for the pictures of the package shap.

        With a single output, the last axis is dropped, as in shap.
        """
        shap = require("shap", None, "ShapleyValues.to_shap")
        n, _, q = self.values.shape
        base = np.tile(self.base_values, (n, 1))
        return shap.Explanation(
            values=self.values[:, :, 0] if q == 1 else self.values,
            base_values=base[:, 0] if q == 1 else base,
            data=_as_array(self.data),
            feature_names=list(self.names),
            output_names=None if q == 1 else list(self.outputs),
        )

    def __repr__(self) -> str:
        n, p, q = self.values.shape
        what = f"{self.quantity}{self._of(0) if q == 1 else ''}{', ' if self.scale else ''}{self.scale}"
        size = f"{_count(n, 'row')}, {_count(p, 'column')}, {_count(q, 'output')} ({what})"
        game = "absent columns are missing"
        if self.n_background is not None:
            game = _count(self.n_background, "background row")
        lines = [f"<ShapleyValues of {size}; {'exact' if self.is_exact else 'sampled'}, {game}>"]
        if n and p:
            sizes = np.abs(self.values).sum(axis=2).mean(axis=0)
            shown = np.argsort(-sizes, kind="stable")[:_SHOWN_COLUMNS]
            width = max(len(self.names[j]) for j in shown)
            lines += [f"  {self.names[j]:<{width}}  {sizes[j]:.4g}" for j in shown]
            lines += [f"  ... {p - len(shown)} more"] if p > len(shown) else []
        return "\n".join(lines)


def shapley_values(
    model: Any,
    X: Any,
    background: Any = None,
    *,
    interactions: bool = False,
    n_samples: int = 256,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> ShapleyValues:
    """Shapley values: the part of each column in the predictions.

    For each row, the prediction minus a base value is divided among the columns of the table. A category is one column,
    however many columns encode it. The value of a column is the change of the prediction when the column becomes known,
    averaged over all orders in which the columns can become known.

    What a prediction is if some columns are absent depends on `background`:

    - None (path-dependent game): absent columns are missing values, which a gate divides by the share of the training
      mass that went left. Models that send a missing value to one side as a whole (boosting, Hoeffding trees, trees of
      other packages) divide absent columns in the same way by the masses of the nodes, if these are known.
    - a table (interventional game): absent columns are taken from a row of the table; the mean over its rows.

    Explained are the outputs of the trees: class probabilities or targets, and the raw scores of models that apply a
    link to them, such as boosting or soft trees of classes.

    If all gates are kernel gates (kernel trees, forests, boosting, trees of other packages), the values are exact.
    Others are evaluated: for all sets of columns if this takes no more evaluations than sampling, which is exact too,
    else for random orders of the columns, with standard errors. Without a background, `predict` decides what becomes of
    their absent columns, as of missing values.

    Parameters
    ----------
    model : fitted estimator, SoftTree or SoftForest
        The model to explain.
    X : array-like or data frame of shape (n_rows, n_features_in)
        The rows to explain.
    background : array-like or data frame of shape (n_background, n_features_in), or None, default=None
        Rows that absent columns are taken from.
    interactions : bool, default=False
        Whether to compute the interactions of pairs of columns too; only for exact values.
    n_samples : int, default=256
        Number of orders for values that must be sampled, half of them reverses of the others. It is rounded up to a
        multiple of twice the number of background rows.
    random_state : int, RandomState instance or None, default=None
        Determines the sampled orders.
    n_jobs : int or None, default=None
        Number of threads, for parts of the rows. The values do not depend on it.

    Returns
    -------
    ShapleyValues
        Values, base values and predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from softwood import KernelTreeClassifier
    >>> from softwood.explanations import shapley_values
    >>> iris = load_iris(as_frame=True)
    >>> model = KernelTreeClassifier(bandwidth=0.3).fit(iris.data, iris.target_names[iris.target])
    >>> found = shapley_values(model, iris.data)
    >>> found.values.shape
    (150, 4, 3)
    >>> bool(abs(found.base_values + found.values.sum(axis=1) - found.prediction).max() < 1e-12)
    True
    """
    check_flag(_CALLER, "interactions", interactions)
    n_samples = check_count(_CALLER, "n_samples", n_samples, low=4)
    check_n_jobs(_CALLER, n_jobs)
    known = FittedModel.of(model, _CALLER)
    rows = read_points(known, X)
    others = None if background is None else _read_background(known, background)
    _check_size(known, len(rows[0]), interactions)
    values, errors, pairs = _computed(known, rows, others, interactions, n_samples, random_state, n_jobs)
    return ShapleyValues(
        values=values,
        base_values=_base_values(known, others),
        prediction=known.raw(*rows),
        names=tuple(known.columns.inputs),
        outputs=known.outputs.score_columns,
        data=X,
        standard_errors=errors,
        interactions=pairs,
        quantity=known.outputs.quantity,
        scale=known.outputs.scale,
        n_background=None if others is None else len(others[0]),
    )


def _check_size(known: FittedModel, n: int, interactions: bool) -> None:
    """Raise an error if the result does not fit into memory."""
    p, q, n_used = len(known.columns.inputs), known.outputs.n_scores, len(used_columns(known))
    shapes: list[tuple[int, ...]] = [(n, p, q)] if has_products(known) else [(n, p, q), (n, p, q)]  # standard errors
    caller, ways = _CALLER, []
    if interactions:
        shapes.insert(0, (n, p, p, q))
        caller, ways = f"{_CALLER} with interactions=True", ["set interactions=False"]
    if n_used < p:
        ways.append(f"fit the model to fewer columns, such as the {n_used:,} of {p:,} that it uses")
    check_fits(caller, *shapes, ways=ways)


def _computed(
    known: FittedModel,
    rows: Points,
    others: Points | None,
    interactions: bool,
    n_samples: int,
    random_state: Any,
    n_jobs: int | None,
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """Values, standard errors or None, and interactions or None, in the way that applies to the model."""
    if has_products(known):
        values, pairs = exact_values(known, rows, others, interactions, n_jobs)
        return values, None, pairs
    n_players, n_others = len(used_columns(known)), 1 if others is None else len(others[0])
    if can_enumerate(n_players, n_others, n_samples):
        values, pairs = enumerated_values(known, rows, others, interactions, n_jobs)
        return values, None, pairs
    if interactions:
        raise _no_interactions(n_players, n_others, n_samples)
    rng = np.random.default_rng(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    return *sampled_values(known, rows, others, n_samples, rng, n_jobs), None


def _read_background(known: FittedModel, background: Any) -> Points:
    try:
        others = read_points(known, background)
    except (TypeError, ValueError) as error:
        raise type(error)(f"The 'background' parameter of {_CALLER} must be a table like X: {error}") from error
    if len(others[0]) == 0:
        raise parameter_error(_CALLER, "background", "a table with at least one row", background)
    return others


def _base_values(known: FittedModel, others: Points | None) -> np.ndarray:
    """Output if all columns are absent, (n_outputs,)."""
    if others is not None:
        return known.raw(*others).mean(axis=0)
    nothing = np.full((1, known.trees.n_features), np.nan)
    if not has_products(known):
        return known.raw(nothing, None)[0]
    trees = replace(known.trees, missing_left=absent_shares(known.trees))
    return (trees.raw(nothing) if isinstance(trees, SoftTree) else trees.predict(nothing))[0]


def _no_interactions(n_players: int, n_others: int, n_samples: int) -> ValueError:
    text = (
        "The 'interactions' parameter of shapley_values must be False for this model: its values are sampled, because "
        f"it weighs several columns at once and has {n_players} of them."
    )
    if n_players <= MOST_ENUMERATED:
        least = -(-n_others * 2**n_players // (n_players + 1))
        text += f" All sets of columns would be evaluated with n_samples={least} or more. Got n_samples={n_samples}."
    return ValueError(text)


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _as_array(data: Any) -> np.ndarray:
    """The cells of a table."""
    return data.to_numpy() if hasattr(data, "to_numpy") else np.asarray(data)
