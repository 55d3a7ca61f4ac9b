"""Gradient boosting of kernel trees: the estimators."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import column_or_1d

from softwood.base import ClassifierBase, RegressorBase
from softwood.density.boosting_base import KernelBoosting
from softwood.density.rounds import BoostingRules
from softwood.losses import Loss, loss_by_name
from softwood.parameters import check_choice, check_number, parameter_error
from softwood.targets import ClassTargets, RealTargets

__all__ = ["KernelBoostingClassifier", "KernelBoostingRegressor"]


@dataclass(kw_only=True, eq=False, repr=False)
class KernelBoostingClassifier(ClassifierBase, KernelBoosting):
    """Gradient boosting of histogram kernel trees, for classes.

    Each round adds a tree (with more than two classes, one for each) that is a second-order step down the log loss. Its
    training points are spread by boxes and its predictions averaged over them, which regularises: the function that is
    learned is continuous wherever the bandwidth is above 0.

    Parameters
    ----------
    loss : "log_loss", default="log_loss"
    learning_rate : float, default=0.1
        Factor of each tree's values.
    max_iter : int, default=100
        Largest number of rounds.
    bandwidth : float, sequence, dict, "auto", "silverman" or "loo", default="auto"
        Half-width of the boxes, in standard deviations of the columns: a number for all columns, one per column, or a
        dict by column (others 0); ``0`` is conventional boosting. ``"auto"`` chooses one number for all columns, 0
        among them, by held-out loss at a bounded cost; ``"silverman"`` and ``"loo"`` are rules for each column.
    bandwidth_decay : float in (0, 1], default=1.0
        Factor of the bandwidth from one round to the next: below 1, first rounds learn the rough shape, later ones
        what is sharp.
    prediction_kernel, prediction_bandwidth, bandwidth_unit
        As in `KernelTreeClassifier`.
    measurement_error : dict or array, default=None
        Known errors of columns, one number for each, as in `KernelTreeClassifier`.
    max_leaf_nodes : int or None, default=31
        Leaves of a tree, grown best first; None for no limit.
    max_depth : int, default=None
    min_mass : float, default=20.0
        Smallest weight, by membership, of a leaf.
    min_gain : float, default=0.0
        Smallest gain of a split: twice the decrease of the loss's second-order approximation.
    l2_regularization : float, default=0.0
        Added to the sum of second derivatives in every leaf.
    subsample : float in (0, 1], default=1.0
        Part of the rows drawn for each round, without replacement.
    max_features : int, float, "sqrt", "log2" or None, default=1.0
        Columns drawn for each tree.
    monotonic_cst : dict by column, or one of -1, 0, 1 for each, default=None
        Whether the prediction must fall or rise with a column; for two classes, the probability of the second.
    max_bins : int, default=255
    cutoff : float, default=1e-4
        A share of a point smaller than this goes to the larger side of its fork; a sum of trees needs it less exactly
        than a single tree.
    categorical_features, handle_unknown
        As in `KernelTreeClassifier`.
    early_stopping : bool or "auto", default="auto"
        Set a part of the rows aside as validation rows, stop when their loss falls no more, and keep the rounds up to
        the best one. "auto" does so above 10 000 rows. Validation rows can also be given to `fit`.
    validation_fraction : float, default=0.1
        Part of the rows that is set aside.
    n_iter_no_change : int, default=10
        Rounds without progress before it stops.
    tol : float, default=1e-7
        A fall of the loss that counts as progress.
    class_weight : dict or "balanced", default=None
    n_jobs : int, default=None
        Threads; the model does not depend on it.
    random_state : int or RandomState, default=None
    verbose : int, default=0
        1 prints the progress about once a second, 2 after every round.

    Attributes
    ----------
    forest_ : SoftForest
        The trees; their sum is the raw score, (n_rows, 1) for two classes.
    n_iter_ : int
        Number of rounds kept.
    bandwidth_ : float
        The chosen scale, if it was chosen.
    bandwidths_ : (n_encoded,) array
        Half-width of each column of the encoded table in the first round, in its own units.
    train_score_, validation_score_ : (n_rounds + 1,) arrays
        Minus the loss before the first round and after each, of training rows (20 000 of them, if there are more) and
        of validation rows; the latter is empty if there are none.
    feature_importances_ : (n_features_in,) array
        Part of each column in the gain of all splits.
    classes_ : (n_classes,) array

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

    def decision_function(self, X: Any) -> np.ndarray:
        """Raw scores: log odds of the second class (n_rows,), or one for each class (n_rows, n_classes)."""
        raw = self._raw(X)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, (n_rows, n_classes)."""
        raw = self._raw(X)
        return self._loss_.predict(raw)

    def predict(self, X: Any) -> np.ndarray:
        """Most probable class of each row, (n_rows,)."""
        largest = self.predict_proba(X).argmax(axis=1)
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

    As `KernelBoostingClassifier`, with other losses.

    Parameters
    ----------
    loss : "squared_error", "absolute_error", "quantile" or "poisson", default="squared_error"
        What is made small. "absolute_error" learns the median, "quantile" the quantile `quantile`, "poisson" the mean
        of counts or other targets of at least 0, through its logarithm.
    quantile : float in (0, 1), default=None
        With ``loss="quantile"``.
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
    quantile: float | None = None

    def _check_parameters(self) -> BoostingRules:
        check_choice(self, "loss", self.loss, ("squared_error", "absolute_error", "quantile", "poisson"))
        if self.loss == "quantile":
            value = self.quantile
            if value is None or check_number(self, "quantile", value, low=0.0, open_low=True, high=1.0) == 1.0:
                raise parameter_error(self, "quantile", "a number between 0 and 1 with loss='quantile'", value)
        elif self.quantile is not None:
            raise parameter_error(self, "quantile", f"None with loss={self.loss!r}", self.quantile)
        return super()._check_parameters()

    def _loss_and_targets(self, targets: RealTargets, y: Any, rows: np.ndarray) -> tuple[Loss, np.ndarray]:
        if targets.scaled.shape[1] > 1:
            raise ValueError(f"y must be one column of targets for boosting, got {targets.scaled.shape[1]}.")
        learned = column_or_1d(np.asarray(y, dtype=np.float64), warn=True)[rows]
        return loss_by_name(self.loss, quantile=self.quantile), learned

    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets, (n_rows,)."""
        raw = self._raw(X)
        return self._loss_.predict(raw)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predicted targets after each round, (n_rows,) each."""
        for raw in self._staged_raw(X):
            yield self._loss_.predict(raw)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        tags.target_tags.positive_only = self.loss == "poisson"
        return tags
