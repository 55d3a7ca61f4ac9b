"""Which pairs of several models differ over many data sets, by their average ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from softwood.stats.checks import check_alpha
from softwood.stats.friedman import friedman_test


@dataclass(frozen=True, eq=False)
class NemenyiTest:
    """Result of `nemenyi_test`.

    Attributes
    ----------
    names : tuple of str
        Names of the models.
    ranks : ndarray of shape (n_models,)
        Average ranks, where 1 is the best.
    n_data_sets : int
        Number of data sets.
    alpha : float
        Level of the critical difference.
    critical_difference : float
        Models whose average ranks are at least this far apart differ at the level alpha.
    p_values : ndarray of shape (n_models, n_models)
        One for each pair, already adjusted for the number of pairs; 1 on the diagonal.
    """

    names: tuple[str, ...]
    ranks: np.ndarray
    n_data_sets: int
    alpha: float
    critical_difference: float
    p_values: np.ndarray


def nemenyi_test(scores: Any, *, alpha: float = 0.05, higher_is_better: bool = True) -> NemenyiTest:
    """Compare all pairs of models by their average ranks over many data sets.

    Use it if `friedman_test` finds that there are differences. The difference of two average ranks, divided by its
    standard error, is compared with the studentized range of as many independent normal variables as there are models
    (Demšar, section 3.2.2). This adjusts for the number of pairs.

    Parameters
    ----------
    scores : array-like or data frame of shape (n_data_sets, n_models)
        One number for each model on each data set, as for `friedman_test`.
    alpha : float, default=0.05
        Level of significance for the family of all pairs.
    higher_is_better : bool, default=True
        False for errors and losses.

    Returns
    -------
    NemenyiTest
        Average ranks, critical difference and p-values of pairs.

    References
    ----------
    J. Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006.

    Examples
    --------
    >>> from softwood.stats import nemenyi_test
    >>> accuracy = [[0.81, 0.78, 0.80], [0.93, 0.90, 0.91], [0.67, 0.67, 0.62], [0.75, 0.71, 0.70], [0.88, 0.86, 0.87]]
    >>> test = nemenyi_test(accuracy)
    >>> round(test.critical_difference, 3)
    1.482
    >>> test.p_values.round(3).tolist()
    [[1.0, 0.069, 0.099], [0.069, 1.0, 0.986], [0.099, 0.986, 1.0]]
    """
    alpha = check_alpha(alpha)
    ranked = friedman_test(scores, higher_is_better=higher_is_better)
    k = len(ranked.ranks)
    distance = np.abs(ranked.ranks[:, None] - ranked.ranks) / _standard_error(k, ranked.n_data_sets)
    # For values above about 8, scipy computes the tail as 1 minus nearly 1, which can be slightly below 0.
    p_values = np.clip(stats.studentized_range.sf(np.sqrt(2) * distance, k, np.inf), 0.0, 1.0)
    np.fill_diagonal(p_values, 1.0)
    return NemenyiTest(
        names=ranked.names,
        ranks=ranked.ranks,
        n_data_sets=ranked.n_data_sets,
        alpha=alpha,
        critical_difference=critical_difference(k, ranked.n_data_sets, alpha),
        p_values=p_values,
    )


def critical_difference(n_models: int, n_data_sets: int, alpha: float) -> float:
    """The smallest difference of two average ranks that is significant, CD = q_alpha sqrt(k (k + 1) / 6 N)."""
    q = stats.studentized_range.ppf(1 - alpha, n_models, np.inf) / np.sqrt(2)
    return float(q * _standard_error(n_models, n_data_sets))


def _standard_error(n_models: int, n_data_sets: int) -> float:
    return float(np.sqrt(n_models * (n_models + 1) / (6 * n_data_sets)))
