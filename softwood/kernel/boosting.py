"""Gradient boosting of kernel trees: the estimators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import d2_pinball_score
from sklearn.utils import Tags
from sklearn.utils.validation import column_or_1d

from softwood.base import ClassifierBase, RegressorBase
from softwood.core.losses import Loss, loss_by_name
from softwood.core.parameters import check_choice, parameter_error
from softwood.core.targets import ClassTargets, RealTargets
from softwood.kernel.boosting_base import KernelBoosting
from softwood.kernel.rounds.rounds import BoostingRules

__all__ = ["KernelBoostingClassifier", "KernelBoostingRegressor"]


@dataclass(kw_only=True, eq=False, repr=False)
class KernelBoostingClassifier(ClassifierBase, KernelBoosting):
    """Gradient boosting of histogram kernel trees, for classes.

    Each round adds a tree (with more than two classes, one tree per class) that is a second-order step on the log
    loss. Every training point is spread out by a box, and predictions are averaged over a box around the point. This
    regularises the model: the learned function is continuous wherever the bandwidth is above 0.

    Parameters
    ----------
    loss : "log_loss", default="log_loss"
        The loss to minimise.
    learning_rate : float, default=0.1
        Factor on the leaf values of each tree. Smaller values need more rounds.
    max_iter : int or "auto", default="auto"
        Largest number of rounds. "auto" chooses it by held-out loss, in folds if the table is small; the model is then
        fitted to all rows. If there are validation rows that stop the training early, these decide, and "auto" allows
        500 rounds for a learning rate of 0.1, more for smaller rates.
    bandwidth : float, sequence, dict, "auto", "silverman" or "loo", default="auto"
        Half-width of the boxes, in units of `bandwidth_unit`. Larger values give smoother predictions and slower fits;
        0 gives conventional boosting. Either one number for all columns, one number per column, a dict by column
        (columns that it leaves out get 0), or a rule. "auto" chooses one number of standard deviations for all columns,
        possibly 0, by held-out loss at a bounded cost. "silverman" and "loo" are rules for each column, as in
        `KernelTreeClassifier`.
    bandwidth_decay : float in (0, 1], default=1.0
        Factor on the bandwidth after each round. Below 1, the first rounds learn smooth structure and later rounds
        learn sharper details.
    prediction_kernel, prediction_bandwidth, bandwidth_unit
        As in `KernelTreeClassifier`.
    measurement_error : dict or array, default=None
        Known measurement errors of columns, one number per column, as in `KernelTreeClassifier`.
    max_leaf_nodes : int, "auto" or None, default="auto"
        Largest number of leaves of a tree. Trees grow best first. "auto" chooses 31 or 8 by held-out loss if
        `max_iter` is "auto"; otherwise it is 31. None means no limit.
    max_depth : int, default=None
        Largest depth of a tree. None means no limit.
    min_mass : float or "auto", default="auto"
        Smallest mass (weight times membership) of a leaf. Larger values give smaller trees. "auto" chooses 20 or 5 if
        `max_iter` is "auto"; otherwise it is 20.
    min_gain : float, default=0.0
        A node is split only if the gain is larger than this. The gain is twice the decrease of the second-order
        approximation of the loss.
    l2_regularization : float or "auto", default="auto"
        Added to the sum of second derivatives in every leaf. Larger values give smaller leaf values; 0 means no
        regularisation. "auto" is 3, and with ``loss="poisson"`` 3 times the mean target.
    subsample : float in (0, 1], default=1.0
        Fraction of the rows drawn without replacement for each round.
    max_features : int, float, "auto", "sqrt", "log2" or None, default="auto"
        Number of columns drawn for each tree; a float is a fraction of all columns. "auto" chooses all or one half if
        `max_iter` is "auto"; otherwise it is all. None uses all.
    monotonic_cst : dict by column, or one of -1, 0, 1 for each, default=None
        Monotonic constraints: 1 if the prediction must not decrease in a column, -1 if it must not increase, 0 for no
        constraint. They apply to the probability of the second class and are not available for more than two classes.
    max_bins : int, default=255
        Largest number of bins per column. If a column has more than 64, neighbours are merged within an eighth of the
        half-width of the kernel, which hides where in them a value lies.
    cutoff : float, default=1e-4
        If a split would send less than this share of a training row to one side, that part goes to the other side.
        Larger values are faster and less exact. Predictions have no cutoff.
    categorical_features, dates, handle_unknown
        As in `KernelTreeClassifier`.
    early_stopping : bool or "auto", default="auto"
        If True, set some of the rows aside as validation rows, stop when their loss no longer falls, and keep the
        rounds up to the best one. "auto" does so above 10 000 rows if `max_iter` is a number. You can also pass
        validation rows to `fit`.
    scoring : str, callable or "loss", default="loss"
        What decides on the number of rounds, by early stopping or with ``max_iter="auto"``: the loss, or a scorer as in
        `sklearn.metrics.make_scorer`, which must take `sample_weight` if rows or classes have weights. Bandwidth and
        number of leaves are always chosen by the loss.
    validation_fraction : float, default=0.1
        Fraction of the rows that early stopping sets aside as validation rows.
    n_iter_no_change : int, default=10
        Stop after this many rounds in a row in which the validation loss does not fall by more than `tol`.
    tol : float, default=1e-7
        Smallest decrease of the validation loss that counts as an improvement.
    class_weight : dict or "balanced", default=None
        Weights of the classes. "balanced" gives all classes the same total weight.
    growth : "node" or "level", default="node"
        As in `KernelTreeClassifier`. With "level", leaves are limited level by level: trees do not grow best first.
    n_jobs : int, default=None
        Number of threads. The model does not depend on it.
    random_state : int or RandomState, default=None
        Controls the validation rows, the choice of the bandwidth, and the rows and columns drawn for each tree.
    verbose : int, default=0
        If 1, print progress about once per second; if 2 or more, print every step.

    Attributes
    ----------
    forest_ : SoftForest
        The trees; their sum is the raw score, (n_rows, 1) for two classes.
    n_iter_ : int
        Number of rounds kept.
    bandwidth_ : float
        The chosen bandwidth in standard deviations, if `bandwidth` is "auto".
    max_leaf_nodes_, min_mass_, max_features_ : int or None, float, int
        The chosen or given limits of trees, and number of columns of the encoded table that is drawn for each.
    search_ : list of dicts
        The trials that chose what was "auto", in their order: ``stage``, ``bandwidth``, ``max_leaf_nodes``,
        ``min_mass``, ``max_features``, ``learning_rate``, ``n_rounds`` with the smallest held-out ``loss``, and
        ``losses`` before the first round and after each round. `softwood.plots.plot_search` draws them.
    bandwidths_ : (n_encoded,) array
        Half-width of each column of the encoded table in the first round, in the column's own units.
    train_score_, validation_score_ : (n_rounds + 1,) arrays
        Negative loss on the training rows (on a sample of 20 000, if there are more) and on the validation rows, before
        the first round and after each round; on the validation rows, what `scoring` names. ``validation_score_`` is
        empty if there are no validation rows.
    history_ : list of dicts
        One line per step, with keys such as ``stage``, ``iteration``, ``train_loss`` and ``validation_loss``.
    feature_importances_ : (n_features_in,) array
        Gain of the splits on each column, normalised to a sum of 1.
    classes_ : (n_classes,) array
        The class labels.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from softwood import KernelBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = KernelBoostingClassifier(max_iter=20, bandwidth=0.1).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    loss: str = "log_loss"

    def _check_parameters(self) -> BoostingRules:
        check_choice(self, "loss", self.loss, ("log_loss",))
        return super()._check_parameters()

    def _loss_and_targets(self, targets: ClassTargets, y: Any, rows: np.ndarray) -> tuple[Loss, np.ndarray]:
        n_classes = len(targets.classes)
        if n_classes == 1:
            raise ValueError("y holds one class only; boosting needs at least two.")
        learned = targets.labels if targets.shares is None else targets.shares
        assert learned is not None
        if n_classes == 2:
            learned = (learned if targets.shares is None else learned[:, 1]).astype(np.float64)
        return loss_by_name("log_loss", n_classes=n_classes), learned

    def decision_function(self, X: Any, measurement_error: Any = None) -> np.ndarray:
        """Raw scores: log odds of the second class (n_rows,), or one for each class (n_rows, n_classes).

        Parameters
        ----------
        X : (n_rows, n_features_in) array or data frame
        measurement_error : dict or array, default=None
            Measurement errors of these rows: one number per column, or one per cell, (n_rows,) in a dict or
            (n_rows, n_features_in). They replace the `measurement_error` of the constructor in these columns.
        """
        raw = self._raw(X, measurement_error=measurement_error)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict_proba(self, X: Any, measurement_error: Any = None) -> np.ndarray:
        """Class probabilities, (n_rows, n_classes); `measurement_error` as in `decision_function`."""
        raw = self._raw(X, measurement_error=measurement_error)
        return self._loss_.predict(raw)

    def predict(self, X: Any, measurement_error: Any = None) -> np.ndarray:
        """Most probable class of each row, (n_rows,); `measurement_error` as in `decision_function`."""
        largest = self.predict_proba(X, measurement_error).argmax(axis=1)
        return self.classes_[largest]

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Raw scores after each round, as in `decision_function`."""
        for raw in self._staged_raw(X):
            yield raw[:, 0] if raw.shape[1] == 1 else raw

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Class probabilities after each round, (n_rows, n_classes) each."""
        for raw in self._staged_raw(X):
            yield self._loss_.predict(raw)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Most probable classes after each round, (n_rows,) each."""
        for probabilities in self.staged_predict_proba(X):
            yield self.classes_[probabilities.argmax(axis=1)]


@dataclass(kw_only=True, eq=False, repr=False)
class KernelBoostingRegressor(RegressorBase, KernelBoosting):
    """Gradient boosting of histogram kernel trees, for real targets.

    Like `KernelBoostingClassifier`, but with losses for real targets.

    Parameters
    ----------
    loss : "squared_error", "absolute_error", "quantile" or "poisson", default="squared_error"
        The loss to minimise. "absolute_error" estimates the median, "quantile" the quantile given by `quantile`, and
        "poisson" the mean of counts or other non-negative targets, with a log link.
    quantile : float in (0, 1), or several in rising order, default=None
        The quantile to estimate. Required if ``loss="quantile"``. With several, such as ``(0.05, 0.5, 0.95)``, there is
        a tree for each in every round, predictions are (n_rows, n_quantiles), in rising order, and `score` is the mean
        of their D² pinball scores.
    learning_rate, max_iter, ..., verbose
        As in `KernelBoostingClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import KernelBoostingRegressor
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> model = KernelBoostingRegressor(bandwidth=0.1).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[np.pi / 2]])[0] - 1) < 0.05)
    True
    """

    loss: str = "squared_error"
    quantile: Any = None

    def _check_parameters(self) -> BoostingRules:
        check_choice(self, "loss", self.loss, ("squared_error", "absolute_error", "quantile", "poisson"))
        if self.loss == "quantile":
            try:
                loss_by_name("quantile", quantile=_listed(self.quantile))
            except (TypeError, ValueError):
                expected = "a number between 0 and 1, or several in rising order, with loss='quantile'"
                raise parameter_error(self, "quantile", expected, self.quantile) from None
        elif self.quantile is not None:
            raise parameter_error(self, "quantile", f"None with loss={self.loss!r}", self.quantile)
        return super()._check_parameters()

    def _loss_and_targets(self, targets: RealTargets, y: Any, rows: np.ndarray) -> tuple[Loss, np.ndarray]:
        if targets.scaled.shape[1] > 1:
            raise ValueError(f"y must be one column of targets for boosting, got {targets.scaled.shape[1]}.")
        learned = column_or_1d(np.asarray(y, dtype=np.float64), warn=True)[rows]
        return loss_by_name(self.loss, quantile=_listed(self.quantile)), learned

    def _results(self, *args: Any) -> dict[str, Any]:
        return {**super()._results(*args), "n_outputs_": 1 if np.ndim(self.quantile) == 0 else len(self.quantile)}

    def predict(self, X: Any, measurement_error: Any = None) -> np.ndarray:
        """Predicted targets, (n_rows,), or (n_rows, n_quantiles).

        Parameters
        ----------
        X : (n_rows, n_features_in) array or data frame
        measurement_error : dict or array, default=None
            Measurement errors of these rows: one number per column, or one per cell, (n_rows,) in a dict or
            (n_rows, n_features_in). They replace the `measurement_error` of the constructor in these columns.
        """
        raw = self._raw(X, measurement_error=measurement_error)
        return self._loss_.predict(raw)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions; with several quantiles, the mean of their D² pinball scores."""
        if np.ndim(self.quantile) == 0:
            return super().score(X, y, sample_weight)
        scores = [
            d2_pinball_score(y, predicted, sample_weight=sample_weight, alpha=quantile)
            for quantile, predicted in zip(self.quantile, self.predict(X).T, strict=True)
        ]
        return float(np.mean(scores))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predicted targets after each round, (n_rows,) or (n_rows, n_quantiles) each."""
        for raw in self._staged_raw(X):
            yield self._loss_.predict(raw)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        tags.target_tags.positive_only = self.loss == "poisson"
        return tags


def _listed(quantile: Any) -> Any:
    """Several quantiles, in an array or another sequence, as a list."""
    return list(quantile) if np.ndim(quantile) else quantile
