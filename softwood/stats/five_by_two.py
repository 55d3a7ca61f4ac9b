"""Two models on one data set: Alpaydın's combined F test on five replications of two-fold cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import is_classifier
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold, cross_val_score
from sklearn.utils.multiclass import type_of_target

from softwood.stats.checks import differences, read_numbers


@dataclass(frozen=True, eq=False)
class FiveByTwoTest:
    """Result of `combined_5x2_f_test` or `compare_5x2`.

    Attributes
    ----------
    statistic : float
        Alpaydın's f, with 10 and 5 degrees of freedom.
    p_value : float
        Probability of a larger statistic for two models with the same error.
    differences : ndarray of shape (5, 2)
        Error of a minus error of b, for each replication and fold.
    """

    statistic: float
    p_value: float
    differences: np.ndarray

    @property
    def mean_difference(self) -> float:
        """Mean error of a minus mean error of b; negative if a is better."""
        return float(self.differences.mean())


def combined_5x2_f_test(errors_a: Any, errors_b: Any) -> FiveByTwoTest:
    """Test whether two models have the same error, from five replications of two-fold cross-validation.

    With p_ij the difference of the errors in fold j of replication i, and s_i² the variance of the two differences of
    replication i, f = Σ p_ij² / (2 Σ s_i²) has approximately the F distribution with 10 and 5 degrees of freedom.
    According to the paper, it has a lower type I error and more power than the t test on such folds. The test is
    conservative: if the differences were independent and normal, a true null hypothesis would be rejected at the level
    0.05 in 1.8 % of cases.

    If all differences are zero, f is 0 and the p-value is 1. If they are not all zero, but equal within each
    replication, f is infinite and the p-value is 0.

    Parameters
    ----------
    errors_a : array-like of shape (5, 2)
        Errors of the first model: a row for each replication and a column for each fold. Accuracies can be used as
        well.
    errors_b : array-like of shape (5, 2)
        Errors of the second model, from the same folds.

    Returns
    -------
    FiveByTwoTest
        Statistic and p-value.

    References
    ----------
    E. Alpaydın, Combined 5×2 cv F test for comparing supervised classification learning algorithms, Neural Computation
    11, 1999.

    Examples
    --------
    >>> from softwood.stats import combined_5x2_f_test
    >>> soft = [[0.12, 0.10], [0.13, 0.11], [0.10, 0.12], [0.11, 0.11], [0.12, 0.13]]
    >>> hard = [[0.16, 0.15], [0.15, 0.16], [0.16, 0.15], [0.14, 0.15], [0.17, 0.15]]
    >>> test = combined_5x2_f_test(soft, hard)
    >>> round(test.statistic, 2), round(test.p_value, 4), round(test.mean_difference, 3)
    (5.83, 0.0327, -0.039)
    """
    a, b = read_numbers("errors_a", errors_a), read_numbers("errors_b", errors_b)
    for name, errors in (("errors_a", a), ("errors_b", b)):
        if errors.shape != (5, 2):
            raise ValueError(f"{name} must have the shape (5, 2): replications, folds. Got {errors.shape}.")
    p = differences(a, b)
    squares, variances = float((p**2).sum()), float((p[:, 0] - p[:, 1]) @ (p[:, 0] - p[:, 1]) / 2)
    if squares == 0:
        f = 0.0
    else:
        f = squares / (2 * variances) if variances > 0 else np.inf
    return FiveByTwoTest(f, float(stats.f.sf(f, 10, 5)), p)


def compare_5x2(
    model_a: Any, model_b: Any, X: Any, y: Any, *, random_state: Any, scoring: Any = None, n_jobs: int | None = None
) -> FiveByTwoTest:
    """Cross-validate two models five times in two folds, and test whether they are equally good.

    Both models see the same folds, which keep the proportions of the classes if there are classes. See
    `combined_5x2_f_test` for the test. Each model is fitted ten times, on half of the rows.

    Parameters
    ----------
    model_a : classifier or regressor
        The first model. It is cloned and not changed. Set its own ``random_state`` to make it reproducible.
    model_b : classifier or regressor
        The second model, treated in the same way.
    X : array-like or data frame of shape (n_rows, n_features)
        The rows.
    y : array-like of shape (n_rows,)
        Labels or targets.
    random_state : int, RandomState instance or None
        Seed of the folds.
    scoring : str, callable or None, default=None
        A scorer of scikit-learn, for which higher is better. None uses the model's `score`: accuracy or R². The errors
        are the negative scores.
    n_jobs : int or None, default=None
        Number of folds to run in parallel, as in scikit-learn.

    Returns
    -------
    FiveByTwoTest
        Statistic and p-value.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from softwood.datasets import toy_classification
    >>> from softwood.stats import compare_5x2
    >>> X, y = toy_classification("moons", 200, random_state=0)
    >>> test = compare_5x2(DecisionTreeClassifier(random_state=0), DummyClassifier(), X, y, random_state=0)
    >>> test.p_value < 0.01, test.mean_difference < 0
    (True, True)
    """
    if is_classifier(model_a) != is_classifier(model_b):
        raise ValueError(
            "model_a and model_b must be two classifiers or two regressors. "
            f"Got {type(model_a).__name__} and {type(model_b).__name__}."
        )
    has_classes = is_classifier(model_a) and type_of_target(y) in ("binary", "multiclass")
    folds = (RepeatedStratifiedKFold if has_classes else RepeatedKFold)(
        n_splits=2, n_repeats=5, random_state=random_state
    )
    splits = list(folds.split(X, y))  # drawn once, because a RandomState would draw other folds for the second model
    score_a, score_b = (
        cross_val_score(model, X, y, cv=splits, scoring=scoring, n_jobs=n_jobs, error_score="raise").reshape(5, 2)
        for model in (model_a, model_b)
    )
    return combined_5x2_f_test(-score_a, -score_b)
