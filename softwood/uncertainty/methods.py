"""The methods of estimators for intervals, sets and distributions, and the calibration behind them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_array, check_consistent_length

from softwood.core.parameters import check_choice, check_integer
from softwood.core.tables import take_rows
from softwood.core.targets import read_classes
from softwood.core.weights import as_counts, read_weights, rows_with_weight
from softwood.uncertainty.calibration import Calibration, ErrorCalibration, ShareCalibration
from softwood.uncertainty.distribution import Distribution, check_levels
from softwood.uncertainty.folds import equal_rows, folds
from softwood.uncertainty.groups import Groups
from softwood.uncertainty.held_out import FEW_CELLS, HeldOut
from softwood.uncertainty.levels import check_coverage
from softwood.uncertainty.spread import LEAST_ROWS, Spread, constant_spread, learn_spread

# Without a spread from `fit`, this part of the rows for the calibration teaches it, and the others give the scores.
_TEACHING_PARTS = 3


class CalibratedModel:
    """An estimator that keeps scores of rows that it did not learn from.

    Most users never ask for intervals, so `fit` only keeps the rows, and the scores are computed at their first use.
    """

    _scores_: Calibration
    _spread_: Spread

    @property
    def calibration_(self) -> Calibration:
        """Scores of rows that the model did not learn from; only if `fit` has such rows, or after `calibrate`."""
        self.settle_scores()
        if "_scores_" not in vars(self):
            raise AttributeError(f"This {type(self).__name__} has no rows that it did not learn from.")
        return self._scores_

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None, *, cv: int | None = None, by: Any = None) -> Self:
        """Measure the errors of the model on rows that it did not learn from, for intervals and sets.

        The rows must be drawn like those to predict. Intervals and sets then contain the truth with at least the
        probability asked for, on average over rows and calibrations, whatever the distribution of the data (split
        conformal prediction).

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features_in)
            Rows that the model did not learn from. With `cv`, the training rows.
        y : array-like of shape (n_rows,) or (n_rows, n_targets)
            Labels or targets of these rows.
        sample_weight : array-like of shape (n_rows,) or None, default=None
            Weights of the rows. A weight of 2 has the same effect as repeating the row.
        cv : int or None, default=None
            If given, the rows are the training rows, divided into so many folds: a clone is fitted without each fold,
            and its errors on the fold are measured. This takes `cv` fits. The coverage is close to that asked for in
            practice; the guarantee is that of cross-conformal prediction, twice the rate of errors.
        by : int, str or None, default=None
            Column by whose values rows are divided into groups, each of which gets the coverage: one group for each
            category or number, or the quarters of a column of many numbers. "leaf" makes the leaves of a single tree
            the groups. None is one group.

        Returns
        -------
        estimator
            The estimator itself.
        """
        model: Any = self
        _ = model._finished
        self.settle_scores()
        if y is None:
            raise ValueError("calibrate needs the targets y of the rows. Got None instead.")
        X, y, sample_weight, _ = rows_with_weight(X, y, sample_weight)
        matrix, widths = model._read_points(X)
        check_consistent_length(matrix, y)
        weights = as_counts(read_weights(sample_weight, len(matrix)))
        groups, members = self._divided(matrix, by, X)
        if cv is None:
            predictions = self._calibrated_predictions(matrix, widths)
        else:
            folds = check_integer(self, "cv", cv, low=2)
            assert folds is not None
            predictions = self._predict_folds(X, y, sample_weight, matrix, folds)
        rows, found = self._scored(matrix, predictions, self._truth(y), weights, is_cross=cv is not None)
        if groups is not None and members is not None:
            found = replace(found, groups=groups, members=members[rows])
        self._scores_ = found
        return self

    def _hold_out(self, n_cells: int, found: Callable[[], HeldOut | None]) -> None:
        """Keep the held-out rows that `found` returns, if any.

        With few cells in the table, it is kept itself, and called when the rows are needed: in small tables, predicting
        them is a large part of a fit, and in large ones, what it needs for that is large. See `own_copies`.
        """
        kept = found if n_cells <= FEW_CELLS else found()
        if kept is not None:
            self._held_out_ = kept

    def rows_held_out(self) -> HeldOut | None:
        """Held-out rows that `fit` has kept, until the scores are computed."""
        kept: Any = vars(self).get("_held_out_")
        found: HeldOut | None = kept() if callable(kept) else kept
        if found is not None:
            self._held_out_ = found
        elif kept is not None:
            del self._held_out_
        return found

    def settle_scores(self) -> None:
        """Compute the scores of the rows that `fit` has kept, and drop the rows."""
        rows = self.rows_held_out()
        if rows is None:
            return
        found = self._scored(rows.matrix, rows.predictions, rows.truth, rows.weights, is_cross=True)[1]
        if isinstance(found, ErrorCalibration):
            self._spread_ = found.spread
            found = replace(found, scores=rows.scale * found.scores)
        self._scores_ = found
        vars(self).pop("_held_out_", None)

    def _drop_scores(self) -> None:
        """Forget the scores, which are those of another model."""
        for name in ("_held_out_", "_scores_", "_spread_"):
            vars(self).pop(name, None)

    def __copy__(self) -> Self:
        found = object.__new__(type(self))
        vars(found).update(vars(self))
        return found

    def __getstate__(self) -> Any:
        self.settle_scores()  # pickles hold no rows
        return super().__getstate__()

    def _calibration(self) -> Any:
        model: Any = self
        _ = model._finished
        if not self.has_scores:
            raise NotFittedError(
                f"This {type(self).__name__} has no rows that it did not learn from, which intervals, sets and "
                "distributions of errors need. Call calibrate(X, y) with such rows, or calibrate(X, y, cv=5) with the "
                "training rows."
            )
        return self.calibration_

    @property
    def has_scores(self) -> bool:
        """Whether intervals, sets and distributions of errors can be predicted."""
        return "_scores_" in vars(self) or self.rows_held_out() is not None

    def _calibrated_predictions(self, matrix: np.ndarray, widths: np.ndarray | None) -> np.ndarray:
        """Predictions for encoded rows, (n, n_outputs)."""
        model: Any = self
        found = np.asarray(model._predict_matrix(matrix, widths), dtype=np.float64)
        return found.reshape(len(matrix), -1)

    def _truth(self, y: Any) -> np.ndarray:
        """Targets (n, n_targets), or probabilities of the classes of this model (n, n_classes)."""
        raise NotImplementedError

    def _scored(
        self, matrix: np.ndarray, predictions: np.ndarray, truth: np.ndarray, weights: np.ndarray, *, is_cross: bool
    ) -> tuple[np.ndarray, Any]:
        """Rows that count, and the calibration with their scores; see `HeldOut`."""
        raise NotImplementedError

    def _aligned(self, predictions: np.ndarray, member: Any) -> np.ndarray:
        """Predictions of a clone in the columns of this model."""
        return predictions

    def _predict_folds(self, X: Any, y: Any, sample_weight: Any, matrix: np.ndarray, n_folds: int) -> np.ndarray:
        """Predictions of each row by a clone that is fitted without its fold."""
        out: np.ndarray | None = None
        for train, test in folds(matrix, n_folds):
            weights = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)[train]}
            member: Any = clone(self).fit(take_rows(X, train), take_rows(y, train), **weights)
            found = self._aligned(member._calibrated_predictions(*member._read_points(take_rows(X, test))), member)
            out = np.full((len(matrix), found.shape[1]), np.nan) if out is None else out
            out[test] = found
        assert out is not None
        return out

    def _divided(self, matrix: np.ndarray, by: Any, X: Any) -> tuple[Groups | None, np.ndarray | None]:
        """Groups by a column or by leaf, and the numbers of the rows' groups."""
        if by is None:
            return None, None
        model: Any = self
        if isinstance(by, str) and by == "leaf" and "leaf" not in model.columns_.inputs:
            groups = Groups.by_leaf(self._leaves(X))
        else:
            column = model.columns_.find(self, "by", by)
            places = np.flatnonzero(model.columns_.source == column)
            is_category = model.columns_.categories[column] is not None
            groups = Groups.by_column(matrix, places if is_category else places[:1], is_category=is_category)
        return groups, groups.members(matrix, self._leaves(X) if groups.is_by_leaf else None).astype(np.int64)

    def _leaves(self, X: Any, **conditions: Any) -> np.ndarray:
        model: Any = self
        leaves = model.apply(X, **conditions)
        if leaves.ndim > 1:
            raise ValueError(f"by='leaf' needs a model of one tree. {type(self).__name__} has several.")
        return leaves

    def _members(self, matrix: np.ndarray, X: Any, **conditions: Any) -> np.ndarray | None:
        """Numbers of the groups of rows to predict; None if there is one group."""
        groups = self._calibration().groups
        if groups is None:
            return None
        return groups.members(matrix, self._leaves(X, **conditions) if groups.is_by_leaf else None)


class CalibratedRegressor(CalibratedModel):
    """Intervals and distributions of regressors."""

    def predict_interval(self, X: Any, coverage: float = 0.9, **conditions: Any) -> np.ndarray:
        """Intervals that contain the target with this probability.

        An interval is as wide as the errors on similar rows that the model did not learn from. Each of its ends leaves
        out half of ``1 - coverage``.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features_in)
            The rows to predict.
        coverage : float, default=0.9
            Probability that an interval contains the target, in (0, 1).
        **conditions : dict
            Further arguments of `predict`, such as `measurement_error` of kernel models.

        Returns
        -------
        ndarray of shape (n_rows, 2), or (n_rows, 2, n_outputs_) for several targets
            Lower and upper ends. They are infinite, with a warning, if there are too few calibration rows.
        """
        coverage, calibration = check_coverage(coverage), self._calibration()
        matrix, predictions = self._point(X, **conditions)
        sources = self._outputs_at(0.5 - 0.5 * coverage), self._outputs_at(0.5 + 0.5 * coverage)
        members = self._members(matrix, X, **conditions)
        ends = calibration.ends(matrix, predictions, coverage, members, sources)
        return ends[:, :, 0] if self._is_one_target else ends

    def predict_quantiles(self, X: Any, quantiles: Any, *, source: str = "auto", **conditions: Any) -> np.ndarray:
        """Quantiles of the target of each row, in rising order if the levels are.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features_in)
            The rows to predict.
        quantiles : float or array-like of shape (n_quantiles,)
            Levels of the quantiles, from 0 to 1.
        source : {"auto", "errors", "leaves"}, default="auto"
            "errors": the prediction plus the errors on rows that the model did not learn from, times the local spread.
            "leaves": the targets that `keep_targets` has kept, with the memberships of the row as weights. "auto" is
            "errors" if the model is calibrated, else "leaves" if targets are kept.
        **conditions : dict
            Further arguments of `predict`, such as `measurement_error` of kernel models.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_quantiles)
            Quantiles.
        """
        levels = check_levels(quantiles)
        if self._uses_leaves(source):
            return self._leaf_distribution(X, **conditions).quantile(quantiles)
        calibration = self._calibration()
        self._check_one_target("predict_quantiles")
        matrix, predictions = self._point(X, **conditions)
        order = np.argsort(levels, kind="stable")
        outputs = np.array([self._outputs_at(level)[0] for level in levels[order].tolist()])
        found = np.sort(calibration.quantiles(matrix, predictions, levels[order], outputs), axis=1)
        out = np.empty_like(found)
        out[:, order] = found
        return out if np.ndim(quantiles) else out[:, 0]

    def predict_distribution(self, X: Any, *, source: str = "auto", **conditions: Any) -> Distribution:
        """Distribution of the target of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features_in)
            The rows to predict.
        source : {"auto", "errors", "leaves"}, default="auto"
            "errors": the prediction plus the errors on rows that the model did not learn from, times the local spread.
            "leaves": the targets that `keep_targets` has kept, with the memberships of the row as weights. "auto" is
            "errors" if the model is calibrated, else "leaves" if targets are kept.
        **conditions : dict
            Further arguments of `predict`, such as `measurement_error` of kernel models.

        Returns
        -------
        Distribution
            With the means, quantiles, distribution functions and scores of all rows.
        """
        if self._uses_leaves(source):
            return self._leaf_distribution(X, **conditions)
        calibration = self._calibration()
        self._check_one_target("predict_distribution")
        return calibration.distribution(*self._point(X, **conditions), self._quantiles())

    def _uses_leaves(self, source: str) -> bool:
        """Whether a distribution is that of the targets in the leaves."""
        check_choice(self, "source", source, ("auto", "errors", "leaves"))
        has_leaves = hasattr(self, "leaf_targets_")
        if source == "leaves" and not has_leaves:
            raise NotFittedError(
                f"This {type(self).__name__} has kept no targets. Call keep_targets(X, y) with the training rows of a "
                "kernel tree or forest."
            )
        return source == "leaves" or (source == "auto" and has_leaves and not self.has_scores)

    def _leaf_distribution(self, X: Any, **conditions: Any) -> Distribution:
        """Distributions from the targets in the leaves."""
        raise NotImplementedError

    def _point(self, X: Any, **conditions: Any) -> tuple[np.ndarray, np.ndarray]:
        """Encoded rows, and their predictions (n, n_outputs)."""
        model: Any = self
        matrix, widths = model._read_points(X, **conditions)
        return matrix, self._calibrated_predictions(matrix, widths)

    def _quantiles(self) -> np.ndarray | None:
        """Levels of the outputs, if these are quantiles of one target."""
        found = getattr(getattr(self, "_loss_", None), "quantile", None)
        return np.array(found) if isinstance(found, tuple) else None

    @property
    def _is_one_target(self) -> bool:
        model: Any = self
        return self._quantiles() is not None or bool(getattr(model, "_is_flat_", True))

    def _check_one_target(self, method: str) -> None:
        if not self._is_one_target and len(self._outputs_at(0.5)) > 1:
            raise ValueError(f"{method} needs a model of one target. This {type(self).__name__} has several.")

    def _outputs_at(self, level: float) -> np.ndarray:
        """For each target, the output that a quantile at this level is measured from."""
        quantiles = self._quantiles()
        if quantiles is None:
            return np.arange(self._calibration().scores.shape[1])
        return np.array([np.abs(quantiles - level).argmin()])

    def _truth(self, y: Any) -> np.ndarray:
        found = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        return found.reshape(len(found), -1)

    def _scored(
        self, matrix: np.ndarray, predictions: np.ndarray, truth: np.ndarray, weights: np.ndarray, *, is_cross: bool
    ) -> tuple[np.ndarray, ErrorCalibration]:
        n_targets = 1 if self._is_one_target else predictions.shape[1]
        if truth.shape[1] != n_targets:
            raise ValueError(f"y must have as many targets as in fit, {n_targets}. Got {truth.shape[1]}.")
        errors = truth - predictions
        rows = np.arange(len(matrix))
        if is_cross:
            spread, own = learn_spread(matrix, predictions, errors, weights)
        elif hasattr(self, "_spread_"):
            spread = self._spread_
            own = spread.of(matrix, predictions)
        else:
            spread = constant_spread(errors, weights)  # the unit of equal widths does not change the intervals
            if len(equal_rows(matrix)[0]) >= _TEACHING_PARTS * LEAST_ROWS:
                rows, taught = next(folds(matrix, _TEACHING_PARTS))
                spread = learn_spread(matrix[taught], predictions[taught], errors[taught], weights[taught])[0]
            own = spread.of(matrix[rows], predictions[rows])
        scores = errors[rows] / own
        kept = np.isfinite(scores).all(axis=1)
        rows = rows[kept]
        return rows, ErrorCalibration(np.ascontiguousarray(scores[kept]), weights[rows], None, None, is_cross, spread)


class CalibratedClassifier(CalibratedModel):
    """Sets of classifiers."""

    classes_: np.ndarray

    def predict_set(self, X: Any, coverage: float = 0.9, *, allow_empty: bool = False, **conditions: Any) -> np.ndarray:
        """Sets of classes that contain the class of a row with this probability.

        A set contains all classes whose probability is at least a bound, which comes from the probabilities of the true
        classes of rows that the model did not learn from.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features_in)
            The rows to predict.
        coverage : float, default=0.9
            Probability that a set contains the class, in (0, 1). If the model is right more often, sets of one class
            cover more.
        allow_empty : bool, default=False
            If False, a set contains the most probable class at least. If True, sets may be empty, which happens where
            the model is right more often than `coverage` asks for.
        **conditions : dict
            Further arguments of `predict`, such as `measurement_error` of kernel models.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), bool
            Which classes are in the set of each row, columns in the order of ``classes_``. All are, with a warning, if
            there are too few calibration rows.
        """
        coverage, calibration = check_coverage(coverage), self._calibration()
        model: Any = self
        matrix, widths = model._read_points(X, **conditions)
        probabilities = self._calibrated_predictions(matrix, widths)
        members = self._members(matrix, X, **conditions)
        return calibration.sets(probabilities, coverage, members, allow_empty=bool(allow_empty))

    def _aligned(self, predictions: np.ndarray, member: Any) -> np.ndarray:
        out = np.zeros((len(predictions), len(self.classes_)))
        out[:, np.searchsorted(self.classes_, member.classes_)] = predictions
        return out

    def _truth(self, y: Any) -> np.ndarray:
        is_named = np.ndim(y) < 2 or np.shape(y)[1] < 2 or hasattr(y, "columns")
        if is_named:
            return read_classes(y, self.classes_).matrix()
        shares, n_classes = read_classes(y).matrix(), len(self.classes_)  # columns in the order of the classes
        if shares.shape[1] != n_classes:
            raise ValueError(f"y must have a column for each of the {n_classes} classes. Got {shares.shape[1]}.")
        return shares

    def _scored(
        self, matrix: np.ndarray, predictions: np.ndarray, truth: np.ndarray, weights: np.ndarray, *, is_cross: bool
    ) -> tuple[np.ndarray, ShareCalibration]:
        rows, classes = np.nonzero(truth)  # a row of probabilities counts as a row of each class, with these weights
        scores = 1.0 - predictions[rows, classes]
        return rows, ShareCalibration(scores[:, None], weights[rows] * truth[rows, classes], None, None, is_cross)
