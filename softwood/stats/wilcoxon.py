"""Wilcoxon's tests of two samples by ranks: paired (signed ranks) and not paired (rank sum)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from softwood.stats.checks import differences, read_numbers

_EXACT = 50  # largest number of ranks for which the p-value is exact


@dataclass(frozen=True)
class RankTest:
    """Result of `wilcoxon_signed_rank` or `rank_sum`.

    Attributes
    ----------
    statistic : float
        Statistic of the test.
    p_value : float
        Two-sided p-value.
    median_difference : float
        Median of the differences a - b.
    effect_size : float
        Rank-biserial correlation, from -1 to 1. It is positive if a has the larger numbers.
    """

    statistic: float
    p_value: float
    median_difference: float
    effect_size: float


def wilcoxon_signed_rank(a: Any, b: Any) -> RankTest:
    """Test whether one of two models is better over many data sets: Wilcoxon's signed-rank test.

    The differences are ranked by their absolute value, and the ranks of the positive and of the negative differences
    are summed. The statistic T is the smaller sum; the effect size is the difference of the sums divided by their
    total.

    Differences of zero are also ranked, and their ranks are divided evenly between the two sums (Demšar, section 3.1.3,
    except that none is left out if their number is odd); the p-value is that of Pratt's test. Differences that are
    equal up to rounding are ties and get the mean of their ranks. Up to 50 pairs, the p-value is exact, also with ties
    and zeros: it is the fraction of all assignments of signs for which the sums are at least as far apart. With more
    pairs, it is scipy's normal approximation with corrections for ties and continuity. If all differences are zero, it
    is 1.

    Parameters
    ----------
    a : array-like of shape (n,)
        Scores of the first model on the data sets.
    b : array-like of shape (n,)
        Scores of the second model on the same data sets, in the same order.

    Returns
    -------
    RankTest
        Statistic, p-value and size of the effect.

    References
    ----------
    J. Demšar, Statistical comparisons of classifiers over multiple data sets, JMLR 7, 2006.

    Examples
    --------
    >>> from softwood.stats import wilcoxon_signed_rank
    >>> soft = [0.81, 0.93, 0.67, 0.75, 0.88, 0.79]
    >>> hard = [0.78, 0.90, 0.67, 0.71, 0.86, 0.80]
    >>> wilcoxon_signed_rank(soft, hard)
    RankTest(statistic=2.5, p_value=0.125, median_difference=0.025, effect_size=0.76...)
    """
    a, b = _read_samples(a, b)
    if len(a) != len(b):
        raise ValueError(f"a and b must have the same length, because they are paired. Got {len(a)} and {len(b)}.")
    d = differences(a, b)
    ranks = stats.rankdata(np.abs(d))
    shared = ranks[d == 0].sum() / 2
    plus, minus = float(ranks[d > 0].sum() + shared), float(ranks[d < 0].sum() + shared)
    if not d.any():
        p_value = 1.0
    elif len(d) <= _EXACT:
        p_value = _signed_rank_p_value(ranks[d != 0], d[d != 0] > 0)
    else:
        p_value = float(stats.wilcoxon(d, zero_method="pratt", correction=True).pvalue)
    return RankTest(min(plus, minus), p_value, float(np.median(d)), (plus - minus) / (plus + minus))


def rank_sum(a: Any, b: Any) -> RankTest:
    """Test whether the numbers of one sample tend to be larger: the rank-sum test of Wilcoxon, Mann and Whitney.

    For samples that are not paired, such as the sizes of trees from different runs. Consider all pairs of one number
    from a and one number from b. The statistic U is the number of pairs in which the number from a is larger, where
    equal numbers count one half. The effect size is the fraction of pairs in which a is larger minus the fraction in
    which b is larger (Cliff's delta). The median difference is the median over all pairs (Hodges and Lehmann).

    Up to 50 numbers in total, the p-value is exact, also with ties: twice the fraction of all divisions of the numbers
    into samples of these sizes for which U is at least as extreme on the same side. With more numbers, it is scipy's
    normal approximation with corrections for ties and continuity. If all numbers are equal, it is 1.

    Parameters
    ----------
    a : array-like of shape (n_a,)
        Numbers of the first sample.
    b : array-like of shape (n_b,)
        Numbers of the second sample.

    Returns
    -------
    RankTest
        Statistic, p-value and size of the effect.

    Examples
    --------
    >>> from softwood.stats import rank_sum
    >>> rank_sum([11, 13, 9, 15, 13], [32, 30, 18, 40, 29])
    RankTest(statistic=0.0, p_value=0.0079..., median_difference=-18.0, effect_size=-1.0)
    """
    a, b = _read_samples(a, b)
    ranks = stats.rankdata(np.concatenate([a, b]))
    u = float(ranks[: len(a)].sum() - len(a) * (len(a) + 1) / 2)
    if np.all(ranks == ranks[0]):
        p_value = 1.0
    elif len(ranks) <= _EXACT:
        p_value = _rank_sum_p_value(ranks, len(a))
    else:
        p_value = float(stats.mannwhitneyu(a, b, method="asymptotic").pvalue)
    return RankTest(u, p_value, float(np.median(a[:, None] - b)), 2 * u / (len(a) * len(b)) - 1)


def _read_samples(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    samples = read_numbers("a", a), read_numbers("b", b)
    for name, sample in zip("ab", samples, strict=True):
        if sample.ndim != 1 or len(sample) < 2:
            raise ValueError(f"{name} must be a list of at least 2 numbers. Got the shape {sample.shape}.")
    return samples


def _signed_rank_p_value(ranks: np.ndarray, positive: np.ndarray) -> float:
    """Exact p-value of the sum of the positive ranks if all assignments of signs are equally likely."""
    steps = np.rint(2 * ranks).astype(int)  # whole numbers, so that sums can be indices
    probability = np.zeros(steps.sum() + 1)
    probability[0] = 1.0
    for step in steps:
        moved = np.zeros_like(probability)
        moved[step:] = probability[:-step]
        probability = (probability + moved) / 2
    return _both_tails(probability, steps[positive].sum())


def _rank_sum_p_value(ranks: np.ndarray, n_a: int) -> float:
    """Exact p-value of the sum of the first `n_a` ranks if all choices of `n_a` ranks are equally likely."""
    steps = np.rint(2 * ranks).astype(int)
    count = np.zeros((n_a + 1, steps.sum() + 1))  # number of ways to choose this many ranks with this sum
    count[0, 0] = 1.0
    for step in steps:
        count[1:, step:] += count[:-1, :-step].copy()
    return _both_tails(count[n_a] / count[n_a].sum(), steps[:n_a].sum())


def _both_tails(probability: np.ndarray, found: int) -> float:
    """Twice the smaller tail, as in scipy for distributions that may be asymmetric."""
    return float(min(2 * min(probability[: found + 1].sum(), probability[found:].sum()), 1.0))
