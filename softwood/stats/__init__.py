"""Comparing models: tests of whether one model is better than another, or only appears so by chance.

Several models on several data sets: `friedman_test` tests whether they differ at all, `nemenyi_test` which pairs
differ, and `plot_critical_difference` draws average ranks and critical differences. Two models on several data sets:
`wilcoxon_signed_rank`. Two models on one data set: `compare_5x2`, which cross-validates, or `combined_5x2_f_test` if
the errors are already known. Two samples that are not paired: `rank_sum`. Several tests of one question: `holm`. This
package does not use other parts of softwood.
"""

from softwood.stats.adjustment import holm
from softwood.stats.diagram import plot_critical_difference
from softwood.stats.five_by_two import FiveByTwoTest, combined_5x2_f_test, compare_5x2
from softwood.stats.friedman import FriedmanTest, friedman_test
from softwood.stats.nemenyi import NemenyiTest, nemenyi_test
from softwood.stats.wilcoxon import RankTest, rank_sum, wilcoxon_signed_rank

__all__ = [
    "FiveByTwoTest",
    "FriedmanTest",
    "NemenyiTest",
    "RankTest",
    "combined_5x2_f_test",
    "compare_5x2",
    "friedman_test",
    "holm",
    "nemenyi_test",
    "plot_critical_difference",
    "rank_sum",
    "wilcoxon_signed_rank",
]
