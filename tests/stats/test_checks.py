import numpy as np
import pandas as pd
import polars as pl
import pytest

from softwood.stats import friedman_test, nemenyi_test, plot_critical_difference
from softwood.stats.checks import check_alpha, differences, read_scores

GOOD = [[0.8, 0.7], [0.9, 0.6], [0.5, 0.5]]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_name_the_models(frame):
    table, names = read_scores(frame({"soft": [0.8, 0.9, 0.5], "hard": [0.7, 0.6, 0.5]}))
    assert table.tolist() == GOOD
    assert names == ("soft", "hard")
    assert read_scores(GOOD)[1] == ("model 0", "model 1")
    assert read_scores(pd.DataFrame(GOOD))[1] == ("0", "1")


@pytest.mark.parametrize("function", [friedman_test, nemenyi_test, plot_critical_difference])
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0.8, 0.7], r"scores must be a table .* Got the shape \(2,\)"),
        ([[0.8, 0.7]], r"at least 2 data sets .* Got the shape \(1, 2\)"),
        ([[0.8], [0.7]], r"at least 2 models. Got the shape \(2, 1\)"),
        ([[0.8, 0.7], [0.9, np.nan]], "scores must not be missing. Got nan in row 1 of 'model 1'"),
        (pd.DataFrame({"a": [0.8, np.nan], "b": [1, 2]}), "Got nan in row 1 of 'a'"),
        (pd.DataFrame({"data": ["iris", "wine"], "b": [1, 2]}), "scores must be an array of numbers. .*'iris'"),
        ([[0.8, 0.7], [0.9]], "scores must be an array of numbers"),
        ([[0.8, None], [0.9, 0.8]], "scores must not be missing"),
    ],
)
def test_bad_scores_are_named(function, scores, message):
    with pytest.raises(ValueError, match=message):
        function(scores)


@pytest.mark.parametrize("alpha", [0, 1, -0.1, 1.5, np.nan, "0.05", True, np.array([0.05])])
def test_level_is_between_0_and_1(alpha):
    with pytest.raises(ValueError, match=r"The 'alpha' parameter must be a number in the range \(0, 1\). Got"):
        check_alpha(alpha)
    for function in (nemenyi_test, plot_critical_difference):
        with pytest.raises(ValueError, match="'alpha'"):
            function(GOOD, alpha=alpha)


def test_differences_are_free_of_rounding():
    a, b = np.array([0.3, 0.2, 1.1, 25.1, 0.7]), np.array([0.2, 0.1, 1.0, 25.0, 0.7 + 1e-16])
    assert differences(a, b).tolist() == [0.1, 0.1, 0.1, 0.1, 0.0]
    # whatever their size, and beside numbers of another size
    a, b = np.array([1e-9, 3e8, 0.0, -2e-40]), np.array([1.5e-9, 1e8, 0.0, 1e-40])
    assert differences(a, b) == pytest.approx([-5e-10, 2e8, 0.0, -3e-40], rel=1e-10, abs=0)
