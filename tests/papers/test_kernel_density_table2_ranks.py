"""Ranks of the models of table 2, on made-up folds."""

import pytest

from papers.kernel_density.table2_ranks import draw_ranks, rank, rank_sections
from papers.kernel_density.table2_summary import read_published, summarise
from tests.papers.made_up import made_up_folds


def figures_of(points, spread=0.01):
    """Two folds around each mean; a dict from data set to {column: mean}."""
    folds = made_up_folds(
        {
            (name, column): [[mean - spread, mean + spread]]
            for name, row in points.items()
            for column, mean in row.items()
        }
    )
    return summarise(folds, {}, n_folds=2)


def group_of(figures, group):
    return [f for f in figures if f.group == group]


# standard error of each mean: 1 point
FIGURES = figures_of(
    {
        "iris": {"tree_kernel": 0.96, "forest_sklearn": 0.952, "xgboost": 0.94},
        "wine": {"tree_kernel": 0.9, "forest_sklearn": 0.95, "xgboost": 0.95},
        "glass": {"tree_kernel": 0.8, "forest_sklearn": 0.7, "xgboost": 0.6},
        "letter": {"tree_kernel": 0.8, "xgboost": 0.9},
    }
)


def test_best_and_within_one_standard_error():
    ranking = rank(group_of(FIGURES, "tuned"))
    assert ranking.columns == ["tree_kernel", "forest_sklearn", "xgboost"]
    assert ranking.best == {
        "iris": {"tree_kernel"}, "wine": {"forest_sklearn", "xgboost"}, "glass": {"tree_kernel"},
    }  # fmt: skip
    assert ranking.near == ranking.best | {"iris": {"tree_kernel", "forest_sklearn"}}


def test_only_data_sets_that_all_columns_have_are_ranked():
    ranking = rank(group_of(FIGURES, "tuned"))
    assert ranking.friedman.n_data_sets == 3
    assert ranking.friedman.ranks == pytest.approx([5 / 3, 5.5 / 3, 7.5 / 3])
    assert ranking.nemenyi.names == ("kernel tree", "scikit-learn's forest", "XGBoost")


def test_one_data_set_or_one_column_is_no_ranking():
    assert rank([]) is None
    one_set = figures_of({"iris": {"tree_kernel": 0.9, "xgboost": 0.8}})
    one_column = figures_of({"iris": {"tree_kernel": 0.9}, "wine": {"tree_kernel": 0.8}})
    for figures in (one_set, one_column):
        assert rank(group_of(figures, "tuned")) is None
        assert rank_sections(figures, {}, "images") == []


def test_page_marks_the_best_ranks_all_and_tells_what_is_left_out():
    text = "\n".join(rank_sections(FIGURES, {}, "../images"))
    assert "| iris | **96.0 ± 1.0** | *95.2 ± 1.0* | 94.0 ± 1.0 |" in text
    assert "| letter | 80.0 ± 1.0 |  | 90.0 ± 1.0 |" in text  # not complete, so no best
    assert "| kernel tree | 1.67 | 2 | 2 |" in text
    assert "| scikit-learn's forest | 1.83 | 1 | 2 |" in text
    assert "- Friedman's test of 3 models on 3 data sets: chi-square " in text
    assert "0 of 3 pairs of models are that far apart" in text
    assert "best kernel model against the best other: better on 2 of 3 data sets, worse on 1 (wine)." in text
    assert "- Not ranked, for not all models were run on them: letter." in text
    assert "- Not run: scikit-learn's tree, pruned, kernel tree read crisply, kernel forest," in text
    assert "](../images/kernel_density_ranks.png)" in text
    # of the models at their defaults, only those that the paper has, too, were run
    assert "](../images/kernel_density_ranks_defaults.png)" in text
    assert text.count("best kernel model against") == 1


def test_boosting_is_counted_apart_from_what_is_published():
    published = read_published()
    points = {}
    for (name, column), value in published.items():
        points.setdefault(name, {"boost_kernel": 0.995})[column] = value / 100
    text = "\n".join(rank_sections(figures_of(points, spread=0.002), published, "images"))
    # section 5 of the paper: better on 9 data sets, equal on 1
    counted = "better on 9 of 12 data sets, equal on 1 (pendigits), worse on 2 (spambase, satimage)."
    assert (
        f"Of the paper's models, the best kernel model against the best other: {counted} Published: {counted}" in text
    )
    assert "Of all models, the best kernel model against the best other: better on 12 of 12 data sets.\n" in text


def test_diagrams_are_drawn_of_what_can_be_ranked(tmp_path):
    draw_ranks(FIGURES, tmp_path)
    draw_ranks(figures_of({"iris": {"tree_kernel": 0.9, "xgboost": 0.8}}), tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {
        "kernel_density_ranks.png",
        "kernel_density_ranks_defaults.png",
    }
