"""Adjusted p-values for several tests of one question."""

from __future__ import annotations

from typing import Any

import numpy as np

from softwood.stats.checks import read_numbers


def holm(p_values: Any) -> np.ndarray:
    """Adjust p-values by Holm's step-down procedure.

    All hypotheses with an adjusted p-value of at most alpha can be rejected: the probability that any true hypothesis
    is among them is at most alpha, however the tests depend on each other. The procedure is never less powerful than
    Bonferroni's correction.

    Parameters
    ----------
    p_values : array-like of shape (n_tests,)
        P-values in any order.

    Returns
    -------
    ndarray of shape (n_tests,)
        Adjusted p-values in the same order.

    References
    ----------
    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979.

    Examples
    --------
    >>> from softwood.stats import holm
    >>> holm([0.01, 0.5, 0.02, 0.03]).tolist()
    [0.04, 0.5, 0.06, 0.06]
    """
    p = read_numbers("p_values", p_values)
    if p.ndim != 1 or len(p) == 0:
        raise ValueError(f"p_values must be a list of at least 1 p-value. Got the shape {p.shape}.")
    if p.min() < 0 or p.max() > 1:
        raise ValueError(f"p_values must be in the range [0, 1]. Got {p[(p < 0) | (p > 1)][0]}.")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted
