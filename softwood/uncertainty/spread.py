"""The local spread of a model's errors, learned from rows that the model did not learn from."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from softwood.trees.forest import SoftForest
from softwood.trees.tree import SoftTree
from softwood.uncertainty.folds import equal_rows

# Fewer rows than this get intervals of one width.
LEAST_ROWS = 60
# The forest that learns the size of errors. A tree draws a part of the rows, so that most trees have not seen a row:
# noise in the spread of held-out rows, which new rows do not have, makes intervals too wide.
N_TREES, DRAWN, MIN_LEAF, LEAF_PART, MAX_FEATURES, MOST_ROWS = 50, 0.4, 10, 0.005, 0.5, 20_000
# The few trees that stand for the forest, fitted one after the other to what the earlier ones leave of its predictions,
# so that intervals take little more time than predictions.
N_QUICK, QUICK_DEPTH, QUICK_MIN_LEAF, QUICK_RATE = 6, 7, 5, 0.5
# Errors count as at most this many units, and spreads as at least this part of one.
LARGEST, SMALLEST = 20.0, 0.1


@dataclass(frozen=True)
class Spread:
    """Estimate of the size of the error of each prediction.

    Attributes
    ----------
    unit : (n_outputs,) median size of the errors
    forest : function of the encoded row and its prediction: the expected size of the error in units; None: 1
    """

    unit: np.ndarray
    forest: SoftForest | None

    def __post_init__(self) -> None:
        if not np.all(self.unit > 0) or not np.all(np.isfinite(self.unit)):
            raise ValueError("unit must hold finite numbers above 0.")
        if self.forest is not None and self.forest.n_outputs != len(self.unit):
            raise ValueError("The forest of a spread must have an output for each unit.")

    def of(self, matrix: np.ndarray, predictions: np.ndarray) -> np.ndarray:
        """Spread of encoded rows with these predictions, (n, n_outputs)."""
        if self.forest is None:
            return np.broadcast_to(self.unit, predictions.shape)
        return np.maximum(self.forest.predict(_inputs(matrix, predictions)), SMALLEST) * self.unit


def constant_spread(errors: np.ndarray, weights: np.ndarray) -> Spread:
    """The same spread for all rows: the median size of the errors."""
    return Spread(_unit(errors, weights), None)


def learn_spread(
    matrix: np.ndarray, predictions: np.ndarray, errors: np.ndarray, weights: np.ndarray
) -> tuple[Spread, np.ndarray]:
    """Learn the spread from held-out rows.

    Returns
    -------
    spread : constant if there are too few rows
    own : (n, n_outputs) spread of each row by trees that have not seen it, nan where there are none
    """
    spread = constant_spread(errors, weights)
    inputs = _inputs(matrix, predictions)
    sizes = np.minimum(np.abs(errors) / spread.unit, LARGEST)
    # Equal rows count as one with their weight, so that none is in the bag while its double is out of it.
    first, place = equal_rows(np.hstack([inputs, sizes]))
    if len(first) < LEAST_ROWS or np.ptp(sizes) == 0:
        return spread, np.broadcast_to(spread.unit, errors.shape)
    from sklearn.ensemble import RandomForestRegressor  # slow to import

    mass = np.bincount(place, weights=weights)
    learned = np.sort(np.random.default_rng(0).permutation(len(first))[:MOST_ROWS])
    ranks, values = _ranks(inputs[first[learned]])
    forest = RandomForestRegressor(
        N_TREES, min_samples_leaf=max(MIN_LEAF, round(LEAF_PART * len(learned))), max_features=MAX_FEATURES,
        max_samples=DRAWN, oob_score=True, random_state=0,
    )  # fmt: skip
    target = sizes[first[learned]] + SMALLEST
    with warnings.catch_warnings():  # rows that are in the bag of every tree are left out below
        warnings.simplefilter("ignore", UserWarning)
        forest.fit(ranks, target[:, 0] if target.shape[1] == 1 else target, mass[learned])
    found = forest.predict(ranks).reshape(target.shape)
    spread = Spread(spread.unit, _with_values(_few_trees(ranks, found, mass[learned]), values))
    unseen = np.ones(len(first), dtype=bool)
    unseen[learned] = False
    own = np.full((len(first), errors.shape[1]), np.nan)
    own[learned] = np.asarray(forest.oob_prediction_).reshape(len(learned), -1)
    own[own < SMALLEST] = np.nan  # 0: no tree has left the row out
    own = own[place] * spread.unit
    if unseen.any():
        rows = unseen[place]
        own[rows] = spread.of(matrix[rows], predictions[rows])
    return spread, own


def _few_trees(inputs: np.ndarray, sizes: np.ndarray, weights: np.ndarray) -> SoftForest:
    """The sum of few trees that is close to these sizes of errors, (n, n_outputs)."""
    from sklearn.tree import DecisionTreeRegressor

    base = np.average(sizes, axis=0, weights=weights)
    rest, trees = sizes - base, []
    for _ in range(N_QUICK):
        tree = DecisionTreeRegressor(max_depth=QUICK_DEPTH, min_samples_leaf=QUICK_MIN_LEAF, random_state=0)
        rest -= QUICK_RATE * tree.fit(inputs, rest, weights).predict(inputs).reshape(rest.shape)
        read = SoftTree.from_sklearn(tree)
        trees.append(replace(read, value=QUICK_RATE * read.value))
    return SoftForest.sum(trees, np.zeros(N_QUICK), base)


def _inputs(matrix: np.ndarray, predictions: np.ndarray) -> np.ndarray:
    return np.hstack([matrix, predictions])


def _ranks(inputs: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """Numbers of the values of each column in rising order, which float32 can hold, and these values."""
    ranks, values = np.full(inputs.shape, np.nan), []
    for j, column in enumerate(inputs.T):
        is_known = ~np.isnan(column)
        known, ranks[is_known, j] = np.unique(column[is_known], return_inverse=True)
        values.append(known)
    return ranks, values


def _with_values(trees: SoftForest, values: list[np.ndarray]) -> SoftForest:
    """The trees with thresholds half-way between values, in place of ranks."""
    threshold = trees.threshold.copy()
    for j, known in enumerate(values):
        nodes = np.flatnonzero(trees.feature == j)
        left = np.clip(np.floor(threshold[nodes]), 0, max(len(known) - 1, 0)).astype(np.int64)
        right = np.minimum(left + 1, len(known) - 1)
        if len(nodes):
            middle = 0.5 * known[left] + 0.5 * known[right]
            threshold[nodes] = np.where(middle < known[right], middle, known[left])
    return replace(trees, threshold=threshold)


def _unit(errors: np.ndarray, weights: np.ndarray) -> np.ndarray:
    sizes = np.abs(errors)
    order = np.argsort(sizes, axis=0, kind="stable")
    total = np.cumsum(weights[order], axis=0)
    middle = (total < 0.5 * total[-1]).sum(axis=0)
    columns = np.arange(errors.shape[1])
    median = sizes[order[np.minimum(middle, len(errors) - 1), columns], columns]
    unit = np.where(median > 0, median, sizes.max(axis=0))
    return np.where(unit > 0, unit, 1.0)
