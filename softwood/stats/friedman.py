"""Average ranks of several models over several data sets, and whether they differ more than by chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from softwood.stats.checks import read_scores


@dataclass(frozen=True, eq=False)
class FriedmanTest:
    """Result of `friedman_test`.

    Attributes
    ----------
    names : tuple of str
        Names of the models.
    ranks : ndarray of shape (n_models,)
        Average ranks, where 1 is the best.
    n_data_sets : int
        Number of data sets.
    statistic : float
        Friedman's chi-square with the correction for ties, with n_models - 1 degrees of freedom.
    p_value : float
        P-value of `statistic`.
    f_statistic : float
        Iman and Davenport's F, with n_models - 1 and (n_models - 1)(n_data_sets - 1) degrees of freedom.
    f_p_value : float
        P-value of `f_statistic`.
    """

    names: tuple[str, ...]
    ranks: np.ndarray
    n_data_sets: int
    statistic: float
    p_value: float
    f_statistic: float
    f_p_value: float


def friedman_test(scores: Any, *, higher_is_better: bool = True) -> FriedmanTest:
    """Test whether some of the models are better than others over many data sets.

    The models are ranked on each data set; models with equal scores get the mean of their ranks. If all models were
    equally good, their average ranks would differ only by chance. The chi-square statistic is known to be too
    conservative; Iman and Davenport's F is the better of the two (Demšar, section 3.2.2). If the scores are equal on
    every data set, both statistics are 0 and both p-values are 1. If all data sets rank the models in the same way, F
    is infinite and its p-value is 0.

    Parameters
    ----------
    scores : array-like or data frame of shape (n_data_sets, n_models)
        One number for each model on each data set. The columns of a frame name the models. Only the order within a row
        matters, so ``-inf`` can be used for a model that failed.
    higher_is_better : bool, default=True
        False for errors and losses.

    Returns
    -------
    FriedmanTest
        Average ranks, statistics and p-values.

    References
    ----------
    J. Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006.

    R. L. Iman and J. M. Davenport, Approximations of the critical region of the Friedman statistic, Communications in
    Statistics 9, 1980.

    Examples
    --------
    >>> from softwood.stats import friedman_test
    >>> accuracy = [[0.81, 0.78, 0.80], [0.93, 0.90, 0.91], [0.67, 0.67, 0.62], [0.75, 0.71, 0.70], [0.88, 0.86, 0.87]]
    >>> test = friedman_test(accuracy)
    >>> test.ranks.tolist()
    [1.1, 2.5, 2.4]
    >>> round(test.statistic, 3), round(test.f_p_value, 3)
    (6.421, 0.016)
    """
    table, names = read_scores(scores)
    n, k = table.shape
    ranks = stats.rankdata(-table if higher_is_better else table, axis=1)
    # Ranks are multiples of one half, so these two sums of squares are exact and may be compared.
    between = float(((ranks.sum(axis=0) - n * (k + 1) / 2) ** 2).sum())
    within = float(((ranks - (k + 1) / 2) ** 2).sum())
    chi_square = (k - 1) * between / within if within > 0 else 0.0
    if between < n * within:
        f = (n - 1) * between / (n * within - between)
    else:
        f = np.inf if within > 0 else 0.0
    return FriedmanTest(
        names=names,
        ranks=ranks.mean(axis=0),
        n_data_sets=n,
        statistic=chi_square,
        p_value=float(stats.chi2.sf(chi_square, k - 1)),
        f_statistic=f,
        f_p_value=float(stats.f.sf(f, k - 1, (k - 1) * (n - 1))),
    )
