"""Gradient boosting of kernel trees: the estimators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from sklearn.metrics import d2_pinball_score
from sklearn.utils import Tags
from sklearn.utils.validation import column_or_1d

from softwood.base import ClassifierBase, RegressorBase
from softwood.core.estimators import estimator
from softwood.core.losses import Loss, loss_by_name
from softwood.core.parameters import check_choice, parameter_error
from softwood.core.targets import ClassTargets, RealTargets
from softwood.kernel.boosting_base import KernelBoosting


@estimator
class KernelBoostingClassifier(ClassifierBase, KernelBoosting):
    """Gradient boosting of histogram kernel trees, for classes.

    Each round adds a tree that is a second-order step on the log loss: with more than two classes one for each, and
    from eight classes on one for all of them. Every training point is spread out by a box, and predictions are averaged
    over a box around the point. This regularises the model: without crisp rounds, the learned function is continuous
    wherever the bandwidth is above 0.

    Parameters
    ----------
    loss : {"log_loss"}
        The loss to minimise.
    monotonic_cst : dict, array-like of int or None
        Monotonic constraints, by column or one for each column: 1 if the probability of the second class must not
        decrease in the column, -1 if it must not increase, 0 for no constraint. They are not available for more than
        two classes.
    l2_regularization : float or "auto"
        Added to the sum of second derivatives in every leaf. Larger values give smaller leaf values. 0 means no
        regularisation. "auto" is 1 if `max_iter` is "auto", otherwise 3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from softwood import KernelBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = KernelBoostingClassifier(max_iter=20, bandwidth=0.1).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    loss: Literal["log_loss"] = "log_loss"

    def _check_loss(self) -> None:
        check_choice(self, "loss", self.loss, ("log_loss",))

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
        """Raw scores: log odds of the second class, or one for each class.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Raw scores.
        """
        raw = self._raw(X, measurement_error=measurement_error)
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def predict_proba(self, X: Any, measurement_error: Any = None) -> np.ndarray:
        """Class probabilities."""
        raw = self._raw(X, measurement_error=measurement_error)
        return self._loss_.predict(raw)

    def predict(self, X: Any, measurement_error: Any = None) -> np.ndarray:
        """Most probable class of each row."""
        largest = self.predict_proba(X, measurement_error).argmax(axis=1)
        return self.classes_[largest]

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Raw scores after each round, as in `decision_function`.

        Yields
        ------
        ndarray of shape (n_rows,) or (n_rows, n_classes)
            Raw scores after one more round.
        """
        for raw in self._staged_raw(X):
            yield raw[:, 0] if raw.shape[1] == 1 else raw

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Class probabilities after each round.

        Yields
        ------
        ndarray of shape (n_rows, n_classes)
            Class probabilities after one more round.
        """
        for raw in self._staged_raw(X):
            yield self._loss_.predict(raw)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Most probable classes after each round.

        Yields
        ------
        ndarray of shape (n_rows,)
            Predicted labels after one more round.
        """
        for probabilities in self.staged_predict_proba(X):
            yield self.classes_[probabilities.argmax(axis=1)]


@estimator
class KernelBoostingRegressor(RegressorBase, KernelBoosting):
    """Gradient boosting of histogram kernel trees, for real targets.

    Each round adds a tree that is a second-order step on the loss. Every training point is spread out by a box, and
    predictions are averaged over a box around the point. This regularises the model: without crisp rounds, the learned
    function is continuous wherever the bandwidth is above 0.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "quantile", "poisson"}
        The loss to minimise. "absolute_error" estimates the median, "quantile" the quantile given by `quantile`, and
        "poisson" the mean of counts or other non-negative targets, with a log link.
    quantile : float, sequence of float or None
        The quantile to estimate, in (0, 1). Required if ``loss="quantile"``. With several in rising order, such as
        ``(0.05, 0.5, 0.95)``, there is a tree for each in every round (or one for all, see `multi_strategy`),
        predictions are of shape (n_rows, n_quantiles), in rising order, and `score` is the mean of their D² pinball
        scores.
    monotonic_cst : dict, array-like of int or None
        Monotonic constraints, by column or one for each column: 1 if the prediction must not decrease in the column, -1
        if it must not increase, 0 for no constraint. They are not available for several quantiles.

    Attributes
    ----------
    n_outputs_ : int
        Number of predicted values: 1, or the number of quantiles.

    Examples
    --------
    >>> import numpy as np
    >>> from softwood import KernelBoostingRegressor
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> model = KernelBoostingRegressor(bandwidth=0.1).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[np.pi / 2]])[0] - 1) < 0.05)
    True
    """

    loss: Literal["squared_error", "absolute_error", "quantile", "poisson"] = "squared_error"
    quantile: float | Sequence[float] | None = None

    def _check_loss(self) -> None:
        check_choice(self, "loss", self.loss, ("squared_error", "absolute_error", "quantile", "poisson"))
        if self.loss == "quantile":
            try:
                loss_by_name("quantile", quantile=_listed(self.quantile))
            except (TypeError, ValueError):
                expected = "a number between 0 and 1, or several in rising order, with loss='quantile'"
                raise parameter_error(self, "quantile", expected, self.quantile) from None
        elif self.quantile is not None:
            raise parameter_error(self, "quantile", f"None with loss={self.loss!r}", self.quantile)

    def _loss_and_targets(self, targets: RealTargets, y: Any, rows: np.ndarray) -> tuple[Loss, np.ndarray]:
        if targets.scaled.shape[1] > 1:
            raise ValueError(f"y must be one column of targets for boosting, got {targets.scaled.shape[1]}.")
        learned = column_or_1d(np.asarray(y, dtype=np.float64), warn=True)[rows]
        return loss_by_name(self.loss, quantile=_listed(self.quantile)), learned

    def predict(self, X: Any, measurement_error: Any = None) -> np.ndarray:
        """Predicted targets.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_quantiles)
            Predicted targets.
        """
        raw = self._raw(X, measurement_error=measurement_error)
        return self._loss_.predict(raw)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R² of the predictions; with several quantiles, the mean of their D² pinball scores.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            True targets.

        Returns
        -------
        float
            The score; 1 is the best.
        """
        quantiles = _listed(self.quantile)
        if not isinstance(quantiles, list):
            return super().score(X, y, sample_weight)
        scores = [
            d2_pinball_score(y, predicted, sample_weight=sample_weight, alpha=quantile)
            for quantile, predicted in zip(quantiles, self.predict(X).T, strict=True)
        ]
        return float(np.mean(scores))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predicted targets after each round.

        Yields
        ------
        ndarray of shape (n_rows,) or (n_rows, n_quantiles)
            Predicted targets after one more round.
        """
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
